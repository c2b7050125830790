"""Threads that call at the same time, under protocols that log, with ranks that die.

A run counts only if the exit code is 0, the result is verified, `MPI_THREAD_MULTIPLE` was granted, and ranks died."""

from __future__ import annotations

from .core import Setting, run
from .jobs import RANKS, TCP, Jobs, judge_with_faults

PROTOCOLS = [
    ["pessimistic"],
    ["hierarchical", "--cluster", "2"],
    ["causal"],
    ["pessimistic", *TCP],
    ["optimistic"],
    ["hierarchical", "--cluster", "2", "--between", "causal", "--wave", "nonblocking"],
    ["causal", "--event-logger", "off"],
    ["pessimistic", "--event-rings", "off", "--events", "all"],
    ["pessimistic", "--ckpt", "off"],
    ["hierarchical", "--cluster", "2", "--between", "optimistic"],
]


def threads(setting: Setting, runs: int, seconds: float, kills: int = 8) -> None:
    """Runs `runs` runs. Protocols take turns, and each run has a new seed."""
    if not setting.dist_is_built():
        return
    jobs = Jobs(setting, seconds)
    for number in range(runs):
        seed, protocol = setting.seed + number, PROTOCOLS[number % len(PROTOCOLS)]
        test = f"threads: seed {seed}, {' '.join(protocol)}"
        prepared = jobs.prepare(test, "thread_order", seed)
        if prepared is None:
            continue
        job, where, file = prepared.job, prepared.where, prepared.report
        options = ["--protocol", *protocol, "--ckpt-interval", "700ms",
                   "--inject", f"kill:every=1s,count={kills},seed={seed}", "--report", file]
        problem, note = judge_with_faults(
            job, file, 1, lambda words: run([*setting.mpiexec(RANKS, *options), *words],
                                            timeout=max(setting.timeout, 10 * seconds), cwd=where))
        setting.results.check(test, problem, note)
