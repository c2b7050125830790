"""ABARIS: what components cost, and what the right detectors are worth where processes or a switch fail often."""

from __future__ import annotations

import csv
import io
import statistics

from harness.core import run

from .lab import LABELS, TINY, Job, Lab
from .model import MEASURED, SIMULATED, Claim, Figure, Missing, Row, Rows, paper, row

PAPER_NAME = "abaris"
USUAL, REPEATED, SWITCH = "PROC'nPHY", "PROC-PHY-REP", "PROC-PHY-SW"
BASE = '{ name = "process", recovery = "restart" }, { name = "physical", recovery = "migrate", patience = "0s" }'
DETECTORS = {
    USUAL: f"[{BASE}]",
    REPEATED: f'[{{ name = "repeated", count = 2, window = "1h", recovery = "migrate" }}, {BASE}]',
    SWITCH: f'[{{ name = "network", share = 0.25, window = "1h", recovery = "migrate" }}, {BASE}]',
}
# Group a, where ranks begin and faults happen, and group b, each on a switch of its own.
GROUPS = tuple(f"{group}{n}:1 switch={group}" for group in "ab" for n in (1, 2, 3, 4))


def recovery_file(detectors: str) -> str:
    return f'oversubscribe = false\nretry = "1s"\n\n[[rule]]\ndetectors = {DETECTORS[detectors]}\n'


# ---- table 3 ---------------------------------------------------------------------------------------------------------

PLAIN, PLUGIN, RECOVERY = "built in", "protocol as a component", "all detectors"
HOOKS = {"CG": 0.47}


def hooks(lab: Lab) -> list[Row]:
    everything = ('[[rule]]\ndetectors = [{ name = "same-death" }, { name = "repeated" }, { name = "network" }, '
                  '{ name = "health" }, { name = "process" }, { name = "physical" }]\n')
    jobs = {}
    for kernel in (TINY,) if lab.tiny else ("cg", "lu", "bt", "is"):
        program, arguments = lab.kernel(kernel)
        jobs[kernel, PLAIN] = Job(program, arguments, 4, ("--protocol", "pessimistic"))
        jobs[kernel, PLUGIN] = Job(program, arguments, 4,
                                   ("--protocol", "plugin:DIST/lib/ftmpi/libftmpi_example_protocol.so"))
        jobs[kernel, RECOVERY] = Job(program, arguments, 4, ("--protocol", "pessimistic"), recovery=everything)
    found = lab.measure(list(jobs.values()))
    rows = [row("overhead", name, LABELS[kernel],
                [100 * (a.seconds / b.seconds - 1) for a, b in zip(found[job], found[jobs[kernel, PLAIN]])], "%")
            for (kernel, name), job in jobs.items() if name != PLAIN]
    return rows + [paper("overhead", RECOVERY, name, value, "%") for name, value in HOOKS.items()]


def hooks_claims(rows: Rows) -> list[Claim]:
    return [Claim(f"{name}: a protocol as a component costs {rows.value('overhead', PLUGIN, name):.1f} %, all detectors "
                  f"{rows.value('overhead', RECOVERY, name):.1f} % (paper: at most 0.5 %)",
                  max(rows.value("overhead", kind, name) for kind in (PLUGIN, RECOVERY)) <= 1)
            for name in dict.fromkeys(r.x for r in rows.of(MEASURED))]


# ---- figures 4 and 6 -------------------------------------------------------------------------------------------------

# The paper's program. One pass of class A takes some seconds on two processors.
PASSES = 8


def program_of(lab: Lab) -> tuple[str, tuple[str, ...]]:
    return lab.kernel(TINY, seconds=2) if lab.tiny else lab.kernel("cg", times=PASSES)


def faulted(lab: Lab, fitting: str, periods: tuple[float, ...], model: str) -> list[Row]:
    """Run times on this machine, and the ranks that moved. `model`: the faults, which come every PERIOD on average."""
    program, arguments = program_of(lab)
    interval = "300ms" if lab.tiny else "2s"
    jobs = {}
    for detectors in (USUAL, fitting):
        for period in periods:
            jobs[detectors, period] = Job(
                program, arguments, 4, ("--protocol", "coordinated", "--ckpt-interval", interval, "--max-restarts", "100000"),
                machines=GROUPS, recovery=recovery_file(detectors), may_hang=True,
                model="seed = SEED\n\n" + model.replace("PERIOD", f"{round(period * 1000)}ms"),
                timeout=30 * lab.patience if lab.tiny else 180)
    found = lab.measure(list(jobs.values()))
    rows = []
    for (detectors, period), job in jobs.items():
        ended = [r for r in found[job] if r.seconds is not None]
        if len(ended) == len(found[job]):
            rows.append(row("virtual hosts", detectors, period, [r.wall for r in ended], "s"))
        moved = [sum(failure.get("recovery") == "migrate" for failure in r.report.get("failures", [])) for r in ended]
        rows.append(row("ranks that moved", detectors, period, moved or [0], "ranks"))
    return rows


def simulation(lab: Lab, environment: str, fitting: str) -> list[Row]:
    if lab.simulator is None:
        raise Missing("ftmpi-sim is not built: cargo build --release -p ftmpi-sim")
    words = ["detectors", "--environment", environment, "--seeds", "5" if lab.tiny else "25"]

    def once() -> dict:
        outcome = run([lab.simulator, *words], timeout=600)
        if outcome.code != 0:
            raise Missing(f"ftmpi-sim {' '.join(words)}: {outcome.output_tail()}")
        return {"csv": outcome.out}

    lines = [line for line in lab.keep({"simulated": words}, 0, once)["csv"].splitlines() if not line.startswith("#")]
    hours: dict[tuple[str, float], list[float]] = {}
    for line in csv.DictReader(io.StringIO("\n".join(lines))):
        key = (USUAL if line["detectors"] == "usual" else fitting, float(line["period s"]) / 60)
        hours.setdefault(key, []).append(float(line["seconds"]) / 3600)
    return [row("simulated", detectors, minutes, values, "h", SIMULATED) for (detectors, minutes), values in hours.items()]


# Each process on group a dies, or each host of group a is down for a while, at random times.
DEATHS = '[[process]]\nevery = "PERIOD"\nhosts = ["a*"]\n'
LOSSES = '[[host]]\nevery = "PERIOD"\nfor = "4s"\nhosts = ["a*"]\n'


def processes(lab: Lab) -> list[Row]:
    periods = (2.0 * lab.patience,) if lab.tiny else (8.0, 16.0, 32.0)
    return [*simulation(lab, "processes", REPEATED), *faulted(lab, REPEATED, periods, DEATHS)]


def switch(lab: Lab) -> list[Row]:
    periods = (4.0 * lab.patience,) if lab.tiny else (16.0, 32.0, 64.0)
    return [*simulation(lab, "switch", SWITCH), *faulted(lab, SWITCH, periods, LOSSES)]


def worth(rows: Rows, fitting: str, promised: str) -> list[Claim]:
    """What the fitting set saves, simulated and on this machine."""
    claims = []
    both = [(x, value, rows.value("simulated", fitting, x, SIMULATED)) for x, value in rows.curve("simulated", USUAL, SIMULATED)]
    savings = [100 * (1 - mine / usual) for _, usual, mine in both]
    claims.append(Claim(f"simulated: {fitting} takes {min(savings):.0f} to {max(savings):.0f} % less time (paper: {promised})",
                        statistics.median(savings) > 0 and min(savings) > -5, True))
    for x, usual in rows.curve("virtual hosts", USUAL):
        mine = rows.value("virtual hosts", fitting, x)
        if mine:
            claims.append(Claim(f"virtual hosts, a fault of each host every {x:g} s: {usual:.1f} s with {USUAL}, {mine:.1f} s with "
                                f"{fitting}, {100 * (1 - mine / usual):.0f} % less (paper: {promised})", mine <= usual))
    for x, _ in rows.curve("ranks that moved", fitting):
        if rows.value("virtual hosts", USUAL, x) is None and rows.value("virtual hosts", fitting, x):
            claims.append(Claim(f"virtual hosts, a fault of each host every {x:g} s: only {fitting} ends", None))
    return claims


# How many faults a run has depends on its length, so these claims depend on the machine's speed.
def processes_claims(rows: Rows) -> list[Claim]:
    moved = [value for _, value in rows.curve("ranks that moved", REPEATED)]
    stayed = [value for _, value in rows.curve("ranks that moved", USUAL)]
    return [*worth(rows, REPEATED, "7 to 40 %"),
            Claim(f"virtual hosts: up to {max(moved):.0f} ranks move with {REPEATED}, {max(stayed):.0f} with {USUAL}",
                  max(moved) >= 1 and max(stayed) == 0)]


def switch_claims(rows: Rows) -> list[Claim]:
    return [*worth(rows, SWITCH, "18 to 35 %"),
            Claim("virtual hosts: ranks of lost hosts move",
                  all(max(value for _, value in rows.curve("ranks that moved", name)) >= 1 for name in (USUAL, SWITCH)))]


SETTING = ("Simulated: the judge of a job, 16 ranks, a fault of each host of group a in so many minutes, times as in the paper, "
           "two hours of work and an image every ten minutes (the paper does not state these). Virtual hosts: CG of "
           f"class A, {PASSES} passes, 4 ranks under coordinated, an image every 2 s, seconds instead of minutes, real deaths and moves "
           "(`--inject model:FILE`).")
WHY = ("Savings depend on work and interval. With faults that are too frequent the usual set makes no progress, so its time is the "
       "limit of 15 hours, as in the paper.")

FIGURES = [
    Figure(PAPER_NAME, "table3", "What components cost (table 3)", "", "%", hooks, (PLUGIN, RECOVERY), hooks_claims, "bars",
           setting="Four ranks over shared memory, against the built-in pessimistic protocol with the default detectors. The "
                   "paper compares its hooks, without components, with MPICH."),
    Figure(PAPER_NAME, "4", "Frequent faults of processes", "time between faults (simulated: minutes, else seconds)", "", processes,
           (USUAL, REPEATED), processes_claims, setting=SETTING, why=WHY),
    Figure(PAPER_NAME, "6", "A bad switch", "time between faults (simulated: minutes, else seconds)", "", switch, (USUAL, SWITCH),
           switch_claims, setting=SETTING, why=WHY),
]
