"""Tests orphans of optimistic logging, also between clusters of ranks. The logger is so slow that the latest
determinants of a rank are lost with the rank.

A run counts only if the exit code is 0, the result is verified, and at least one orphan was rolled back. No other rank
may be rolled back, except those of an orphan's cluster. Every rank has one process more than it has failures and
rollbacks. The incarnation that an orphan depends on must have ended."""

from __future__ import annotations

import re

from . import reports
from .core import Setting, run
from .jobs import RANKS, TCP, TOO_SOON, Jobs, judge_with_faults, retry_with_more_work

PROTOCOLS = [["optimistic", "--tracking", "o2p"], ["optimistic", "--tracking", "standard"],
             ["hierarchical", "--cluster", "2", "--between", "optimistic"]]
# Determinants of the last milliseconds before a death do not reach the log.
DELAYS = ["60ms", "150ms", "30ms"]
PROGRAMS = ["waitany", "traffic", "probe_loop", "collectives", "cg", "test_loop", "master_worker"]
# A rank returns because a peer lost its newest image and needs more of the rank's log than the rank's image has.
SHORT_LOG = "which a newer image of rank"
LOST = re.compile(r"it depends on event \d+ of incarnation (\d+) of rank (\d+), which was lost")


def orphans(setting: Setting, runs: int, programs: list[str], seconds: float, kills: int = 6) -> None:
    """Runs `runs` runs. Programs, delays, ways of tracking and transports take turns."""
    if not setting.dist_is_built():
        return
    jobs = Jobs(setting, seconds)
    names = programs or PROGRAMS
    for number in range(runs):
        seed, name = setting.seed + number, names[number % len(names)]
        delay = DELAYS[number % len(DELAYS)]
        protocol = PROTOCOLS[number % len(PROTOCOLS)]
        mode = ["--events", "all"] if number % 4 < 3 or name in ("cg", "collectives") else []
        mode += TCP if number % 4 == 3 else []
        test = f"orphans: {name}, seed {seed}, logger {delay} {' '.join(protocol + mode)}"
        prepared = jobs.prepare(test, name, seed)
        if prepared is None:
            continue
        job, where, file = prepared.job, prepared.where, prepared.report
        options = ["--protocol", *protocol, *mode, "--ckpt-interval", "1s",
                   "--inject", f"delay:logger={delay}",
                   "--inject", f"kill:every=2s,count={kills},seed={seed}", "--report", file]

        def attempt(factor: int) -> tuple[str | None, str]:
            problem, note = judge_with_faults(
                job.with_more_work(factor), file, 1,
                lambda words: run([*setting.mpiexec(RANKS, *options), *words],
                                  timeout=max(setting.timeout, 10 * factor * seconds), cwd=where))
            report, _ = reports.read(file)
            if report is not None:
                note += f", {len(report.get('orphans', []))} orphans"
                problem = problem or rollback_problem(report)
            return problem, note

        setting.results.check(test, *retry_with_more_work(attempt))


def rollback_problem(report: dict) -> str | None:
    """Checks that a rank was rolled back, and for a valid reason."""
    if not report["orphans"]:
        return f"{TOO_SOON}: no rank was rolled back"
    if report["piggyback"]["events"] == 0:
        return "no dependency was ever sent along"
    for orphan in report["orphans"]:
        if SHORT_LOG in orphan["cause"]:
            continue
        found = LOST.search(orphan["cause"])
        if not found:
            return f"an orphan that does not say of what: {orphan}"
        incarnation, rank = int(found[1]), int(found[2])
        if report["pids"][rank][-1]["incarnation"] <= incarnation:
            return f"rank {rank} is still the incarnation on which rank {orphan['rank']} depended"
    return None
