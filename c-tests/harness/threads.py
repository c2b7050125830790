"""Threads that call at the same time, under protocols that log, with ranks that die.

A run counts only if the exit code is 0, the result is verified, `MPI_THREAD_MULTIPLE` was granted, and ranks died."""

from __future__ import annotations

from .auto import TWO_HOSTS
from .core import Setting, problem_of, run
from .jobs import RANKS, TCP, Jobs, judge_with_faults

# Messages and communicators; windows and a file.
PROGRAMS = ["thread_order", "thread_windows"]
PROTOCOLS = [
    ["pessimistic"],
    ["hierarchical", "--cluster", "2"],
    ["causal"],
    ["auto", *TWO_HOSTS],
    ["pessimistic", *TCP],
    ["auto"],
    ["optimistic"],
    ["hierarchical", "--cluster", "2", "--between", "causal", "--wave", "nonblocking"],
    ["causal", "--event-logger", "off"],
    ["pessimistic", "--event-rings", "off", "--events", "all"],
    ["pessimistic", "--ckpt", "off"],
    ["hierarchical", "--cluster", "2", "--between", "optimistic"],
]


# Without a logger, what all ranks together have seen since their images dies with them.
NO_LOGGER = ["causal", "--event-logger", "off"]


def faults(number: int, protocol: list[str], kills: int, seed: int) -> list[str]:
    """In every third run all ranks die at once: their replays need each other."""
    if number % 3 == 2 and protocol != NO_LOGGER:
        return ["kill:rank=all,at=1200ms", "kill:rank=all,at=2400ms"]
    return [f"kill:every=1s,count={kills},seed={seed}"]


def threads(setting: Setting, runs: int, seconds: float, kills: int = 8) -> None:
    """Runs `runs` runs. Protocols and programs take turns, and each run has a new seed."""
    if not setting.dist_is_built():
        return
    jobs = Jobs(setting, seconds)
    the_lock_of_another_thread(setting, jobs)
    for number in range(runs):
        seed, protocol = setting.seed + number, PROTOCOLS[number % len(PROTOCOLS)]
        program = PROGRAMS[(number + number // len(PROTOCOLS)) % len(PROGRAMS)]
        injections = faults(number, protocol, kills, seed)
        test = f"threads: {program}, seed {seed}, {' '.join(protocol)}"
        prepared = jobs.prepare(test, program, seed)
        if prepared is None:
            continue
        job, where, file = prepared.job, prepared.where, prepared.report
        options = ["--protocol", *protocol, "--ckpt-interval", "700ms", "--report", file,
                   *(word for injection in injections for word in ("--inject", injection))]
        problem, note = judge_with_faults(
            job, file, 1, lambda words: run([*setting.mpiexec(RANKS, *options), *words],
                                            timeout=max(setting.timeout, 10 * seconds), cwd=where), injections)
        setting.results.check(test, problem, note)


def the_lock_of_another_thread(setting: Setting, jobs: Jobs) -> None:
    """The target of a lock grants it late."""
    test = "threads: an operation waits for the lock that another thread has asked for"
    prepared = jobs.prepare(test, "thread_lock", setting.seed)
    if prepared is None:
        return
    outcome = run([*setting.mpiexec(2, "--protocol", "pessimistic"), *prepared.job.command(1)],
                  timeout=setting.timeout, cwd=prepared.where)
    setting.results.check(test, problem_of(outcome, expected_text="thread_lock on 2: ok"))
