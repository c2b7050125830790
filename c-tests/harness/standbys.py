"""Tests standbys: they take the place of ranks that die, on one host and on several, and whatever is killed when, the
job ends with the right answer.

Hosts are this machine. A script stands for ssh, as in `recoveries`."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

from . import build, recoveries
from .core import TESTS, Setting, kill, problem_of, run
from .jobs import RANKS, TCP, Jobs, judge_with_faults, program_pids

STANDBY = ["--standby", "all", "--ckpt-interval", "400ms"]
TAKES = "takes its place, with image "
# The descriptor of the image that a process reads (`fds::IMAGE`): a standby has it open until it goes on.
IMAGE = 1002


def is_standby(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}/fd/{IMAGE}")


class Killer:
    """Kills leaders, standbys, both at once, or a leader and soon after it the process that takes its place."""

    def __init__(self, program: Path, seed: int, kinds: list[str], count: int, every: float = 1.0):
        self.program, self.random = program, random.Random(seed)
        self.kinds, self.left, self.every = kinds, count, every
        self.next = time.monotonic() + every
        self.standbys = 0

    def __call__(self, process) -> None:
        if self.left <= 0 or time.monotonic() < self.next:
            return
        pids = program_pids(process.pid, self.program)
        standbys = [pid for pid in pids if is_standby(pid)]
        leaders = [pid for pid in pids if pid not in standbys]
        if len(leaders) < RANKS or not standbys:
            return
        kind = self.random.choice(self.kinds)
        if kind == "standby":
            kill([self.random.choice(standbys)])
        elif kind == "both":
            kill([self.random.choice(leaders), *standbys])
        elif kind == "all":
            kill(leaders)
        else:
            kill([self.random.choice(leaders)])
        if kind == "again":
            # The process that has just gone on, or is about to.
            time.sleep(self.random.uniform(0, 0.04))
            kill([pid for pid in standbys if not is_standby(pid)] or [self.random.choice(standbys)])
        self.standbys += kind in ("standby", "both", "again")
        self.left -= kind != "standby"
        self.next = time.monotonic() + self.every * self.random.uniform(0.5, 1.5)


def random_kills(setting: Setting, runs: int, seconds: float) -> None:
    """Programs whose leaders and standbys are killed at random moments."""
    jobs = Jobs(setting, seconds)
    names = ["master_worker", "traffic", "waitany", "lines", "one_sided", "cg", "probe_loop", "shared_file"]
    kinds = [["leader"], ["leader", "standby", "both", "again"], ["again"], ["all", "standby", "leader"]]
    protocols = [["pessimistic"], ["pessimistic"], ["causal"], ["channel-memory"], ["optimistic"]]
    for number in range(runs):
        seed = setting.seed + number
        name, what, protocol = (some[number % len(some)] for some in (names, kinds, protocols))
        mode = TCP if number % 3 == 2 else []
        test = f"standbys: {name}, seed {seed}, {' '.join(protocol)}, killed: {' '.join(what)} {' '.join(mode)}"
        prepared = jobs.prepare(test, name, seed)
        if prepared is None:
            continue
        job, where, file = prepared.job, prepared.where, prepared.report
        said = []

        def execute(arguments: list):
            outcome = run([*setting.mpiexec(RANKS, "--protocol", *protocol, *STANDBY, *mode, "--report", file), *arguments],
                          timeout=max(setting.timeout, 10 * seconds), cwd=where,
                          meanwhile=Killer(job.program, seed, what, 3))
            said.append(outcome.err)
            return outcome

        problem, note = judge_with_faults(job, file, 2, execute)
        promoted = said[-1].count(TAKES) if said else 0
        setting.results.check(test, problem, f"{note}, {promoted} promoted")


# An image every two seconds: a kill in the middle finds the standbys ready, also on a busy machine.
CALM = ["--protocol", "pessimistic", "--standby", "all", "--ckpt-interval", "2s"]


def kill_at(*faults: tuple[float, str]) -> list[str]:
    return [word for second, what in faults for word in ("--inject", f"kill:{what},at={round(second * 1000)}ms")]


def on_hosts(setting: Setting, full: bool) -> None:
    """A rank, and a host, are lost: standbys on other hosts take their places."""
    one = kill_at((3.5, "rank=1"))
    recoveries.check(setting, recoveries.Case("the standby of a rank is on a spare host, and takes its place",
                                              "h1:2\nh2:2\nh3:4 spare\n", [*CALM, *one]),
                     {0: "h1", 1: "h3", 2: "h2", 3: "h2"}, ("its standby on h3 " + TAKES, "[process: promote]"),
                     recovery=("process", "promote"), seconds=2)
    if not full:
        return
    recoveries.check(setting, recoveries.Case("without a spare host, standbys are on hosts of other ranks",
                                              "h1:2\nh2:2\n", [*CALM, *one]),
                     {0: "h1", 1: "h2", 2: "h2", 3: "h2"}, ("its standby on h2 " + TAKES,))
    quick = ["--recovery", recoveries.recovery_file(setting, recoveries.QUICK)]
    recoveries.check(setting, recoveries.Case("a host is lost, and its ranks go on in their standbys",
                                              "h1:2\nh2:2\n", [*CALM, *quick, *kill_at((3.5, "agent=h1"))],
                                              hosts={"h1": "once down"}),
                     dict.fromkeys(range(4), "h2"), ("ranks 0-1 move to h2",), recovery=("physical", "promote"), seconds=3)
    three = kill_at((3.5, "rank=1"), (7.5, "rank=1"), (11.5, "rank=2"))
    recoveries.check(setting, recoveries.Case("standbys are made again", "h1:2\nh2:2\n", [*CALM, *three],
                                              program=["130"]),
                     {0: "h1", 1: "h1", 2: "h1", 3: "h2"}, ("its standby on h2 " + TAKES, "its standby on h1 " + TAKES))


def given_up(setting: Setting) -> None:
    """A program of which there can be no second process goes on without a standby."""
    test = "a program with a socket has no standby, and restarts from its image"
    program, made = build.build(setting, TESTS / "programs" / "listens.c")
    if program is None:
        setting.results.bad(test, made.output_tail())
        return
    outcome = run([*setting.mpiexec(2, "--protocol", "pessimistic", *STANDBY, "--inject", "kill:rank=1,at=2s"),
                   program, "30"], timeout=60, cwd=setting.new_folder("standbys"))
    problem = problem_of(outcome, expected_text="both listen")
    text = "rank 1 has no standby any more: on localhost, the program has a socket"
    if problem is None and text not in outcome.err:
        problem = f"`{text}` is not said: {outcome.output_tail()}"
    if problem is None and "rank 1 is back from image" not in outcome.err:
        problem = f"rank 1 is not restarted from an image: {outcome.output_tail()}"
    setting.results.check(test, problem, f"{outcome.seconds:.1f} s")


def refused(setting: Setting) -> None:
    for options, text in (
        (["--protocol", "coordinated", "--standby", "all"],
         "--standby has no effect under --protocol coordinated; drop it, or use it under pessimistic"),
        (["--protocol", "pessimistic", "--standby", "0,4"], "--standby: there is no rank 4; the last one is 1"),
        (["--protocol", "pessimistic", "--standby", "some"], "--standby: `some` is not a list of ranks"),
        (["--protocol", "pessimistic", "--ckpt", "off", "--standby", "all"], "--standby is for images"),
    ):
        outcome = run([*setting.mpiexec(2, *options), "true"], timeout=20)
        problem = None if outcome.code == 2 and text in outcome.err else outcome.output_tail()
        setting.results.check(f"standbys: {' '.join(options)} is refused", problem)


def standbys(setting: Setting, runs: int) -> None:
    """`runs`: runs with random kills; with one, only a part of the rest."""
    if not setting.dist_is_built():
        return
    refused(setting)
    given_up(setting)
    on_hosts(setting, runs > 1)
    random_kills(setting, runs, 3)
