"""Kills ranks at random times, and ranks of chosen clusters, while programs run."""

from __future__ import annotations

import os
import random
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

from . import npb
from .core import Outcome, Setting, run
from .jobs import LOGGING, RANKS, TCP, WAVES, Jobs, judge_with_faults, modes_of, program_pids


class Killer:
    """Sends kill -9 from outside to random ranks at random times."""

    def __init__(self, program: Path, seed: int, every: float, count: int, together: bool = False, ranks: int = RANKS):
        self.program, self.random = program, random.Random(seed)
        self.every, self.left, self.together, self.ranks = every, count, together, ranks
        self.next = time.monotonic() + every
        self.done = 0

    def __call__(self, process) -> None:
        if self.left <= 0 or time.monotonic() < self.next:
            return
        pids = program_pids(process.pid, self.program)
        if len(pids) < self.ranks:
            return  # A rank is returning at this moment.
        for pid in pids if self.together else [self.random.choice(pids)]:
            try:
                os.kill(pid, signal.SIGKILL)
                self.done += 1
            except ProcessLookupError:
                pass
        self.left -= 1
        self.next = time.monotonic() + self.every * self.random.uniform(0.6, 1.4)


@dataclass
class Plan:
    """What `kills` runs. `programs`: these instead of all. `external`: kill -9 from outside in every run. `auto`:
    without `--protocol`, instead of under one that logs."""

    runs: int
    programs: list[str] = field(default_factory=list)
    external: bool = False
    seconds: float = 10
    npb_sources: Path | None = None
    waves: bool = False
    ranks: int = RANKS
    auto: bool = False


def kills(setting: Setting, plan: Plan) -> None:
    """Runs `plan.runs` runs. Programs and modes take turns, and each run has a new seed."""
    if not setting.dist_is_built():
        return
    jobs = Jobs(setting, plan.seconds, plan.ranks)
    names = plan.programs or ["cg", *Jobs.CRASH[:4], "wavefront", *Jobs.CRASH[4:-1], "pipeline", "sort"]
    suite = npb.Suite(setting, plan.npb_sources) if plan.npb_sources else None
    if suite and not plan.programs:
        names += ["npb-bt", "npb-lu", "npb-sp", "npb-cg"]
    for number in range(plan.runs):
        seed = setting.seed + number
        name = names[number % len(names)]
        protocol = setting.protocol_options() or ([] if plan.waves or plan.auto else LOGGING)
        modes = WAVES if plan.waves else modes_of(protocol[1] if protocol else "")
        mode = modes[number % len(modes)] if not plan.external else modes[number % 2]
        outside = plan.external or number % 5 == 4
        on = "" if plan.ranks == RANKS else f" on {plan.ranks}"
        test = " ".join([f"kills: {name}, seed {seed}{on}", *mode, *protocol])
        test += ", from outside" if outside else ""
        made = suite.job(name[4:], jobs) if name.startswith("npb-") and suite else None
        prepared = jobs.prepare(test, name, seed, made)
        if prepared is None:
            continue
        job, where, file = prepared.job, prepared.where, prepared.report
        least = 3 if plan.seconds >= 8 else 2
        options = ["--ckpt-interval", "1s", "--report", file, *mode, *protocol]
        if not outside:
            options += ["--inject", f"kill:every=2s,count=20,seed={seed}"]

        def execute(arguments: list) -> Outcome:
            return run(
                [*setting.mpiexec(plan.ranks, *options), *arguments],
                timeout=max(setting.timeout, 10 * max(plan.seconds, job.seconds)),
                cwd=where,
                meanwhile=Killer(job.program, seed, 2.0, 20, ranks=plan.ranks) if outside else None,
            )

        problem, note = judge_with_faults(job, file, least, execute, ranks=plan.ranks)
        left = sorted(path.name for path in where.glob(".*.ftmpi-*"))
        if problem is None and left:
            problem = f"left behind: {', '.join(left)[:200]}"
        setting.results.check(test, problem, note)


def clusters(setting: Setting) -> None:
    """Kills one rank, a whole cluster of two ranks, and one rank of each cluster. The ranks of these clusters return,
    and `process_count_problem` checks that no other rank has a new process. When two ranks of a cluster are killed at
    once, the return of the first may end the second."""
    if not setting.dist_is_built():
        return
    jobs = Jobs(setting, 3)
    two = ["--cluster", "2"]
    cases = [
        ("traffic", [*two], [(1, 1500)], 1),
        ("waitany", [*two, "--wave", "nonblocking", "--events", "all"], [(2, 2000), (3, 2000)], 2),
        ("master_worker", [*two, "--between", "causal", *TCP], [(2, 1500)], 1),
        ("test_loop", ["--cluster", "3", "--between", "causal", "--event-logger", "off"],
         [(0, 1000), (3, 2000)], 4),
        ("probe_loop", [*two, "--between", "optimistic", "--events", "all"], [(1, 1200), (2, 2200)], 2),
        ("one_sided", [*two, "--wave", "nonblocking"], [(1, 1500)], 1),
    ]
    for number, (name, options, faults, least) in enumerate(cases if not setting.full else cases * 4):
        injected = [f"kill:rank={rank},at={at}ms" for rank, at in faults]
        test = f"clusters: {name} {' '.join(options)}, {' '.join(injected)}"
        prepared = jobs.prepare(test, name, setting.seed + number)
        if prepared is None:
            continue
        job, where, file = prepared.job, prepared.where, prepared.report
        arguments = [*setting.mpiexec(RANKS, "--protocol", "hierarchical", *options, "--ckpt-interval",
                                  "700ms", "--report", file)]
        for fault in injected:
            arguments += ["--inject", fault]
        problem, note = judge_with_faults(
            job, file, least,
            lambda program: run([*arguments, *program], timeout=setting.timeout, cwd=where),
            injected)
        setting.results.check(test, problem, note)
