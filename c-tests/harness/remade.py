"""Objects that are made and freed in every step, and ranks that die when many of them are gone."""

from __future__ import annotations

from . import reports
from .build import build
from .core import TESTS, Setting, problem_of, run
from .jobs import rank_failures

STEPS = 800
# Rank 1 dies when it stores so many batches of events: after some hundred steps.
NTH = 3000


def remade(setting: Setting) -> None:
    if not setting.dist_is_built():
        return
    program, failure = build(setting, TESTS / "crash" / "remade.c")
    if program is None:
        setting.results.bad("objects made anew", failure.output_tail() if failure else "not compiled")
        return
    # Without images a replay repeats every object that there was.
    for protocol in ("pessimistic", "causal", "optimistic", "channel-memory"):
        where = setting.new_folder("run")
        file = where / "report.json"
        options = ["--protocol", protocol, "--ckpt", "off", "--report", file,
                   "--inject", f"kill:rank=1,point=log-sent,nth={NTH}"]
        outcome = run([*setting.mpiexec(4, *options), program, "--steps", str(STEPS)],
                      timeout=min(setting.timeout, 60), cwd=where)
        problem = problem_of(outcome, 0, f"{STEPS} steps")
        report, unread = reports.read(file)
        if problem is None:
            problem = unread if report is None else None
        if problem is None and len(rank_failures(report)) != 1:
            problem = f"rank 1 did not die once: {rank_failures(report)}"
        setting.results.check(f"objects made anew, {protocol}, rank 1 dies", problem)
    two_faults_at_a_point(setting)


def two_faults_at_a_point(setting: Setting) -> None:
    """Each of two faults at one point fires once, though all ranks begin again after each."""
    program, _ = build(setting, TESTS / "crash" / "traffic.c")
    where = setting.new_folder("run")
    options = ["--protocol", "coordinated", "--ckpt-interval", "700ms", "--max-restarts", "6"]
    for rank in (1, 2):
        options += ["--inject", f"kill:rank={rank},point=rendezvous,nth=2"]
    outcome = run([*setting.mpiexec(4, *options), program, "--seconds", "1"], timeout=setting.timeout, cwd=where)
    setting.results.check("two faults at one point, coordinated", problem_of(outcome))
