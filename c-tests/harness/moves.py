"""Ranks that move between hosts under every protocol, by seeds: after a death, because their host is lost, and because
somebody asks for it. Hosts are virtual.

A run counts only if its exit code is 0, its result is verified, and a rank has moved for the reason that was drawn."""

from __future__ import annotations

import random
import time
from pathlib import Path

from . import reports
from .control import HOSTS, Control, on_host
from .core import Setting, problem_of, run
from .jobs import RANKS, TOO_SOON, Jobs, modes_of, retry_with_more_work

PROTOCOLS = [["auto"], ["pessimistic"], ["causal"], ["causal", "--piggyback", "manetho", "--event-logger", "off"],
             ["optimistic"], ["channel-memory"], ["coordinated"], ["coordinated", "--wave", "nonblocking"],
             ["hierarchical", "--cluster", "2"], ["hierarchical", "--cluster", "2", "--between", "causal"]]
PROGRAMS = ["master_worker", "waitany", "traffic", "cg", "probe_loop", "wavefront", "collectives", "test_loop", "sort"]
REASONS = ["death", "host", "asked"]
# A rank that dies begins on another host; a lost host's ranks do at once.
RECOVERY = """[[rule]]
detectors = [
    { name = "process", recovery = "migrate" },
    { name = "physical", patience = "500ms", recovery = "migrate" },
]
"""


class Asks:
    """Asks several times for the move of a rank, drawn at random, to another host."""

    def __init__(self, setting: Setting, draw: random.Random, count: int = 3):
        self.tool, self.draw, self.left = setting.dist / "bin" / "ftmpi-ctl", draw, count
        self.next = time.monotonic() + draw.uniform(0.3, 1.5)
        self.moved, self.refused = 0, ""

    def __call__(self, process) -> None:
        if self.left <= 0 or time.monotonic() < self.next:
            return
        control = Control(self.tool, process.pid)
        status = control.status()
        if not status or any(rank["state"] not in ("computing", "waiting", "blocked") for rank in status["ranks"]):
            return
        rank = self.draw.randrange(RANKS)
        to = self.draw.choice([name for name in "abc" if name != on_host(status, rank)])
        made = control.call("migrate", f"rank={rank}", f"to={to}")
        self.moved += made.returncode == 0
        # (Its program may have ended meanwhile.)
        if made.returncode and process.poll() is None:
            self.refused = (made.stdout + made.stderr).strip()[-300:]
        self.left -= 1
        self.next = time.monotonic() + self.draw.uniform(0.1, 1.0)


def moved_problem(report: dict, reason: str, asks: Asks) -> str | None:
    """Whether a rank has moved for this reason."""
    failures = report["failures"]
    if reason == "asked":
        if failures:
            return f"a move counts as a failure: {failures[:1]}"
        done = [move for move in report["migrations"] if move["outcome"] == "done"]
        return None if done and asks.moved else f"{TOO_SOON}: no rank has moved; {asks.refused}"
    wrong = [failure for failure in failures if failure["recovery"] not in ("migrate", "rollback", "none")]
    if wrong:
        return f"another recovery: {wrong[:1]}"
    if not any(failure["recovery"] == "migrate" for failure in failures):
        return f"{TOO_SOON}: no rank has moved after a failure: {failures}"
    return None


def moves(setting: Setting, runs: int, only: list[str], seconds: float) -> None:
    """Runs `runs` seeds of each protocol. Reasons and programs take turns. `only`: protocols with one of these words."""
    if not setting.dist_is_built():
        return
    jobs = Jobs(setting, seconds)
    file = setting.new_folder("recovery") / "recovery.toml"
    file.write_text(RECOVERY)
    for index, protocol in enumerate(PROTOCOLS):
        if only and not any(word in only for word in protocol):
            continue
        for seed in range(setting.seed, setting.seed + runs):
            one(setting, jobs, protocol, seed, PROGRAMS[(index + seed) % len(PROGRAMS)], file)


def one(setting: Setting, jobs: Jobs, protocol: list[str], seed: int, program: str, recovery: Path) -> None:
    reason = REASONS[seed % len(REASONS)]
    draw = random.Random(f"{seed} {protocol}")
    modes = modes_of(protocol[0]) if protocol[0] != "auto" else [[]]
    mode = modes[draw.randrange(len(modes))]
    test = f"moves: {' '.join([*protocol, *mode])}: {program}, {reason}, seed {seed}"
    prepared = jobs.prepare(test, program, seed)
    if prepared is None:
        return
    job, where, file = prepared.job, prepared.where, prepared.report
    options = [*HOSTS, "--protocol", *protocol, *mode, "--ckpt-interval", "600ms", "--report", file,
               "--recovery", recovery]
    at = f"at={draw.randint(700, 2200)}ms"
    if reason == "death":
        options += ["--inject", f"kill:rank={draw.randrange(RANKS)},{at}",
                    "--inject", f"kill:rank={draw.randrange(RANKS)},at={draw.randint(2200, 3000)}ms"]
    elif reason == "host":
        options += ["--inject", f"host:{draw.choice('ab')},{at}"]

    def attempt(factor: int) -> tuple[str | None, str]:
        asks = Asks(setting, draw)
        meanwhile = {"meanwhile": asks} if reason == "asked" else {}
        outcome = run([*setting.mpiexec(RANKS, *options), *job.command(factor)],
                      timeout=max(setting.timeout, 20 * factor * jobs.seconds), cwd=where, **meanwhile)
        problem = problem_of(outcome, expected_text=job.expected_text)
        report, unread = reports.read(file)
        problem = problem or (moved_problem(report, reason, asks) if report else unread)
        return problem, f"{outcome.seconds:.1f} s"

    problem, note = retry_with_more_work(attempt)
    if not setting.results.check(test, problem, note):
        where.rename(setting.work / f"failed-{seed}-{where.name}")
