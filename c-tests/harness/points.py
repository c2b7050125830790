"""Kills a rank at every named point of the library."""

from __future__ import annotations

import re
from pathlib import Path

from . import reports
from .core import ROOT, Setting, run
from .jobs import BLOCKING, LOGGING, NONBLOCKING, RANKS, Jobs, rank_failures, judge

# How often a point is passed before the kill: early and late. `log` points exist where determinants are.
NTH = {
    "acted": [1, 20],
    "init": [1],
    "exit": [1],
    "finalize-begin": [1],
    "finalize": [1],
    "finalize-end": [1],
    "image": [1, 2],
    "replay": [1],
    "replay-step": [1, 40],
    "wave": [1, 2],
}
OTHER_NTH = [1, 300]
# The suite `new-processes` has the programs that come to these.
ELSEWHERE = ["answer", "question"]


def points_of_library() -> list[str]:
    """The names of all points in the library's sources, so that no point is missing here."""
    names: set[str] = set()
    for folder in ("libftmpi", "transport", "checkpoint"):
        for file in (ROOT / folder).rglob("*.rs"):
            names.update(re.findall(r'\bpoint\(\s*"([a-z][a-z0-9-]+)"', file.read_text()))
    return sorted(names.difference(ELSEWHERE))


def points(setting: Setting, step: int = 1) -> None:
    """A rank dies at every named point, or at each `step`-th one: rank 0 and rank 1 in turn."""
    if not setting.dist_is_built():
        return
    names = points_of_library()
    if not names:
        setting.results.bad("points", "no named point was found in the sources of the library")
        return
    jobs = Jobs(setting, 3)
    in_waves = setting.protocol.startswith(("coordinated", "hierarchical"))
    for index, name in list(enumerate(names))[::step]:
        if name == "wave" and setting.protocol and not in_waves:
            continue
        for nth in NTH.get(name, OTHER_NTH):
            for rank in [index % 2] if not setting.full else [0, 1, RANKS - 1]:
                program = ["probe_loop", "waitany"][index % 2]
                if "rendezvous" in name:
                    program = "traffic"
                if name == "acted":
                    program = "shared_file"
                job, why = jobs.make(program, 1)
                test = f"point {name}, time {nth}, rank {rank}"
                if job is None:
                    setting.results.bad(test, why)
                    continue
                where = setting.new_folder("run")
                file = where / "report.json"
                usual = LOGGING if name != "wave" else BLOCKING if rank == 0 else NONBLOCKING
                options = ["--ckpt-interval", "700ms", "--report", file, *(setting.protocol_options() or usual)]
                arguments = list(job.arguments)
                replaying = name.startswith("replay")
                if replaying:
                    options += ["--inject", f"kill:rank={rank},at=2500ms"]
                if name == "replay-step":
                    # Without images everything since the start is replayed, so the replay is long enough.
                    options += ["--ckpt", "off"]
                if name == "exit":
                    # The other ranks are still busy: the rank that dies must come back to its exit.
                    arguments += ["--first-to-exit", str(rank)]
                options += ["--inject", f"kill:rank={rank},point={name},nth={nth}"]
                outcome = run(
                    [*setting.mpiexec(RANKS, *options), job.program, *arguments],
                    timeout=setting.timeout,
                    cwd=where,
                )
                problem, note = judge(outcome, file, job.expected_text, 2 if replaying else 1)
                if problem is None:
                    problem = deaths_problem(file, rank, replaying)
                setting.results.check(test, problem, note)


def deaths_problem(file: Path, rank: int, replaying: bool) -> str | None:
    """Checks that the deaths occurred where they were wanted: of that rank, and once more in its replay if asked for.
    The last incarnation must come to its end."""
    report, unread = reports.read(file)
    if report is None:
        return unread
    failures = rank_failures(report)
    if {failure["rank"] for failure in failures} != {rank}:
        return f"failures of other ranks than {rank}: {failures}"
    if failures[-1]["catch_up_ms"] is None:
        return f"the last incarnation never caught up: {failures[-1]}"
    if replaying and (len(failures) != 2 or failures[0]["catch_up_ms"] is not None):
        return f"the second death was not in the replay after the first: {failures}"
    return None
