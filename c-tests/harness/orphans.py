"""Orphans: optimistic logging, also between clusters of ranks, with a logger so slow that what a rank has
done last is lost with it.

A run counts only if it ended with 0 and verified its result, if at least one orphan was rolled back,
and if nobody else was (but the clusters of those that were): every rank has one process more than it failed
and was rolled back, and what an orphan says that it depended on is of an incarnation that ended."""

from __future__ import annotations

import re

from . import reports
from .core import Setting, run
from .jobs import RANKS, TCP, TOO_SOON, Jobs, long_enough, until_it_lasts

PROTOCOLS = [["optimistic", "--tracking", "o2p"], ["optimistic", "--tracking", "standard"],
             ["hierarchical", "--cluster", "2", "--between", "optimistic"]]
# Determinants of the last so many milliseconds never reach the log of a rank that dies.
DELAYS = ["60ms", "150ms", "30ms"]
PROGRAMS = ["waitany", "traffic", "probe_loop", "collectives", "cg", "test_loop", "master_worker"]
# Of a rank that returns because its image had less of its log than a peer needs whose newest image was damaged.
LEAN = "which a newer image of rank"
LOST = re.compile(r"it depends on event \d+ of (?:life|incarnation) (\d+) of rank (\d+), which was lost")


def orphans(setting: Setting, runs: int, programs: list[str], seconds: float, kills: int = 6) -> None:
    """`runs` runs; programs, delays, ways of tracking and transports in turn."""
    if not setting.ready():
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
        job, why = jobs.make(name, seed)
        if job is None:
            setting.results.bad(test, why)
            continue
        where = setting.fresh("run")
        file = where / "report.json"
        options = ["--protocol", *protocol, *mode, "--ckpt-interval", "1s",
                   "--inject", f"delay:logger={delay}",
                   "--inject", f"kill:every=2s,count={kills},seed={seed}", "--report", file]

        def attempt(factor: int) -> tuple[str | None, str]:
            problem, note = long_enough(
                job.lasting(factor), file, 1,
                lambda words: run([*setting.mpiexec(RANKS, *options), *words],
                                  timeout=max(setting.timeout, 10 * factor * seconds), cwd=where))
            what, _ = reports.read(file)
            if what is not None:
                note += f", {len(what.get('orphans', []))} orphans"
                problem = problem or wrong(what)
            return problem, note

        setting.results.check(test, *until_it_lasts(attempt))


def wrong(what: dict) -> str | None:
    """Whether somebody was rolled back, and rightly."""
    if not what["orphans"]:
        return f"{TOO_SOON}: nobody was rolled back"
    if what["piggyback"]["events"] == 0:
        return "no dependency was ever sent along"
    for orphan in what["orphans"]:
        if LEAN in orphan["cause"]:
            continue
        found = LOST.search(orphan["cause"])
        if not found:
            return f"an orphan that does not say of what: {orphan}"
        incarnation, rank = int(found[1]), int(found[2])
        if what["pids"][rank][-1]["incarnation"] <= incarnation:
            return f"rank {rank} is still the incarnation on which rank {orphan['rank']} depended"
    return None
