"""ABARIS: what components cost, and what the right detectors are worth where processes or a switch fail often."""

from __future__ import annotations

import csv
import io
import re
import statistics

from harness.core import run

from .lab import LABELS, TINY, Job, Lab
from .model import MEASURED, SIMULATED, Claim, Figure, Missing, Row, Rows, paper, row

PAPER_NAME = "abaris"
USUAL, REPEATED, SWITCH = "PROC'nPHY", "PROC-PHY-REP", "PROC-PHY-SW"
NO_FAULTS = "no faults"
BASE = '{ name = "process", recovery = "restart" }, { name = "physical", recovery = "migrate", patience = "0s" }'
DETECTORS = {
    USUAL: f"[{BASE}]",
    REPEATED: f'[{{ name = "repeated", count = 2, window = "1h", recovery = "migrate" }}, {BASE}]',
    SWITCH: f'[{{ name = "network", share = 0.25, window = "1h", recovery = "migrate" }}, {BASE}]',
}
# Group a, where ranks begin and faults happen, and group b, each on a switch of its own.
GROUPS = tuple(f"{group}{n}:1 switch={group}" for group in "ab" for n in (1, 2, 3, 4))


ONE_RULE = ('[[rule]]\ndetectors = [{ name = "process", recovery = "RECOVERY" }, '
            '{ name = "physical", recovery = "migrate", patience = "0s" }]\n')


def recovery_file(detectors: str) -> str:
    return f'oversubscribe = false\nretry = "1s"\n\n[[rule]]\ndetectors = {DETECTORS[detectors]}\n'


# ---- table 1 ----------------------------------------------------------------------------------------------------------

# What is done, after what, and the word of the report for it.
CASES = {
    "RESTART, process": ("restart", "kill:rank=1,at=1s", "restart"),
    "MIGRATE, process": ("migrate", "kill:rank=1,at=1s", "migrate"),
    "MIGRATE, host": ("restart", "host:a2,at=1s,for=ever", "migrate"),
}
PHASES = ("detect_ms", "restore_ms", "catch_up_ms")


def recoveries(lab: Lab) -> list[Row]:
    """What each recovery costs, and whether it needs another host."""
    program, arguments = lab.kernel(TINY, seconds=3) if lab.tiny else lab.kernel("cg", times=PASSES)
    jobs = {name: Job(program, arguments, 4, ("--protocol", "pessimistic", "--ckpt-interval", "300ms", "--inject", fault),
                      machines=GROUPS, recovery=ONE_RULE.replace("RECOVERY", recovery))
            for name, (recovery, fault, _) in CASES.items()}
    found = lab.measure(list(jobs.values()))
    rows = []
    for name, job in jobs.items():
        failures = [r.report["failures"] for r in found[job]]
        if any(len(each) != 1 for each in failures):
            raise Missing(f"{name}: {[len(each) for each in failures]} failures, not one in each round")
        rows.append(row("cost", name, "ms", [sum(each[0][phase] or 0 for phase in PHASES) for each in failures], "ms"))
        wanted = [each[0]["recovery"] == CASES[name][2] for each in failures]
        rows.append(row("recovered so", name, "rounds", [float(all(wanted))], ""))
        rows.append(row("further hosts", name, "hosts", [float(each[0]["recovery"] == "migrate") for each in failures], "hosts"))
    return rows


def recoveries_claims(rows: Rows) -> list[Claim]:
    def value(panel: str, name: str) -> float:
        return rows.of(MEASURED, panel=panel, series=name)[0].value

    claims = [Claim(f"{name}: {value('cost', name):.0f} ms, {value('further hosts', name):g} further hosts", None)
              for name in CASES]
    return [Claim("RESTART and MIGRATE survive a fault of a process, MIGRATE that of a host",
                  all(r.value == 1 for r in rows.of(MEASURED, panel="recovered so")), True), *claims]


# ---- table 3 ---------------------------------------------------------------------------------------------------------

PLAIN, PLUGIN, RECOVERY = "built in", "protocol as a component", "all detectors"
HOOKS = {"CG": 0.47}
# Times of runs differ by more than components cost. So instructions of a message are counted, which do not depend on other
# work, and set against the messages of a kernel. One instruction in a nanosecond is slow for these processors.
HOOK_ROUNDS = 3
HOOK_RANKS = 2
HOOK_S = 3.0
INSTRUCTIONS_S = 1e9
ALL_DETECTORS = ('[[rule]]\ndetectors = [{ name = "same-death" }, { name = "repeated" }, { name = "network" }, '
                 '{ name = "health" }, { name = "process" }, { name = "physical" }]\n')
HOOK_OPTIONS = {
    PLAIN: (("--protocol", "pessimistic"), ""),
    PLUGIN: (("--protocol", "plugin:DIST/lib/ftmpi/libftmpi_example_protocol.so"), ""),
    RECOVERY: (("--protocol", "pessimistic"), ALL_DETECTORS),
}


def instructions(lab: Lab, way: str) -> float:
    """Instructions of a message of 8 bytes, of sender and receiver together."""
    options, recovery = HOOK_OPTIONS[way]

    def count() -> dict:
        words = [word.replace("DIST", str(lab.dist)) for word in options]
        if recovery:
            file = lab.work / "detectors.toml"
            file.write_text(recovery)
            words += ["--recovery", str(file)]
        outcome = run([lab.dist / "bin" / "ftmpiexec", "-n", "2", "--ckpt", "off", *words, lab.program("instructions")],
                      timeout=120, cwd=lab.work)
        counts = dict(re.findall(r"^(send|receive) (\d+)$", outcome.out, re.M))
        if len(counts) != 2:
            raise Missing(f"instructions of a message, {way}: {outcome.output_tail()}")
        return {name: int(value) for name, value in counts.items()}

    return sum(lab.keep({"instructions": way}, 0, count).values())


def hooks(lab: Lab) -> list[Row]:
    jobs = {}
    for kernel in (TINY,) if lab.tiny else ("cg", "lu", "bt", "is"):
        program, arguments = lab.kernel(kernel)
        if not lab.tiny:
            first = Job(program, arguments, HOOK_RANKS, HOOK_OPTIONS[PLAIN][0])
            seconds = lab.measure([first], 1)[first][0].seconds
            program, arguments = lab.kernel(kernel, times=max(2, round(HOOK_S / seconds)))
        for way, (options, recovery) in HOOK_OPTIONS.items():
            jobs[kernel, way] = Job(program, arguments, HOOK_RANKS, options, recovery=recovery)
    found = lab.measure(list(jobs.values()), 1 if lab.tiny else max(lab.rounds, HOOK_ROUNDS))
    counts = {way: instructions(lab, way) for way in HOOK_OPTIONS}
    rows = [row("instructions of a message", way, "8 bytes", [count], "") for way, count in counts.items()]
    for (kernel, way), job in jobs.items():
        if way == PLAIN:
            continue
        plain = found[jobs[kernel, PLAIN]]
        rates = [r.counter("messages", "sent") / r.seconds / HOOK_RANKS for r in plain]
        rows.append(row("overhead by instructions", way, LABELS[kernel],
                        [100 * (counts[way] - counts[PLAIN]) * rate / INSTRUCTIONS_S for rate in rates], "%"))
        rows.append(row("overhead by time", way, LABELS[kernel],
                        [100 * (a.seconds / b.seconds - 1) for a, b in zip(found[job], plain)], "%"))
    return rows + [paper("overhead by instructions", RECOVERY, name, value, "%") for name, value in HOOKS.items()]


def hooks_claims(rows: Rows) -> list[Claim]:
    def cost(way: str, name: str) -> float:
        return rows.value("overhead by instructions", way, name)

    kernels = dict.fromkeys(r.x for r in rows.of(MEASURED, panel="overhead by instructions"))
    calls = [rows.value("instructions of a message", way, "8 bytes") for way in (PLAIN, PLUGIN)]
    return [*(Claim(f"{name}: all detectors cost {cost(RECOVERY, name):.2f} % (paper: at most 0.5 %)", cost(RECOVERY, name) <= 1, True)
              for name in kernels),
            Claim(f"a message takes {calls[0]:.0f} instructions, and {calls[1]:.0f} where a library makes the protocol: at most "
                  f"{max(cost(PLUGIN, name) for name in kernels):.1f} % of a kernel's time", None)]


# ---- figures 4 and 6 -------------------------------------------------------------------------------------------------

# The paper's program. It must run so long that each host of group a fails several times: a detector that waits for a
# second fault of a host changes nothing in a run with one fault for each host.
PASSES = 8
WORK_S, INTERVAL_S = 12.0, 1.0


def program_of(lab: Lab) -> tuple[tuple[str, tuple[str, ...]], float | None]:
    """The program, and its time without faults. Work is fixed and so is the time between faults, so the program's length
    comes from a first run on this machine."""
    if lab.tiny:
        return lab.kernel(TINY, seconds=2), None
    base = lab.measure([Job(*lab.kernel("cg", times=PASSES), 4, PROTECTED, machines=GROUPS)], 1)
    seconds = next(iter(base.values()))[0].seconds
    passes = max(PASSES, round(PASSES * WORK_S / seconds))
    return lab.kernel("cg", times=passes), seconds * passes / PASSES


PROTECTED = ("--protocol", "coordinated", "--ckpt-interval", f"{INTERVAL_S:g}s", "--max-restarts", "100000")
# Seeds decide which faults come, and both sets of detectors get the same ones.
ROUNDS_MAX = 2


def faulted(lab: Lab, fitting: str, periods: tuple[float, ...], model: str) -> list[Row]:
    """Run times on this machine, the failures that struck, and those after which ranks moved. `model`: the faults, which
    come every PERIOD on average."""
    (program, arguments), alone = program_of(lab)
    options = (*PROTECTED[:3], "300ms", *PROTECTED[4:]) if lab.tiny else PROTECTED
    jobs = {}
    for detectors in (USUAL, fitting):
        for period in periods:
            jobs[detectors, period] = Job(
                program, arguments, 4, options, machines=GROUPS, recovery=recovery_file(detectors), may_hang=True,
                model="seed = SEED\n\n" + model.replace("PERIOD", f"{round(period * 1000)}ms"),
                timeout=30 * lab.patience if lab.tiny else 120)
    found = lab.measure(list(jobs.values()), min(lab.rounds, ROUNDS_MAX))
    rows = [row("virtual hosts", NO_FAULTS, period, [alone], "s") for period in periods if alone]
    for (detectors, period), job in jobs.items():
        ended = [r for r in found[job] if r.seconds is not None]
        if len(ended) == len(found[job]):
            rows.append(row("virtual hosts", detectors, period, [r.wall for r in ended], "s"))
        failures = [r.report.get("failures", []) for r in ended] or [[]]
        moved = [sum(failure.get("recovery") == "migrate" for failure in all_of_run) for all_of_run in failures]
        rows.append(row("failures", detectors, period, map(len, failures), "failures"))
        rows.append(row("moves", detectors, period, moved, "failures"))
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


# Each process on group a dies, or each host of group a is down for a moment, at random times. A host that is back takes
# ranks again, as in the paper: who knows nothing of switches moves ranks to any host that is free.
DEATHS = '[[process]]\nevery = "PERIOD"\nhosts = ["a*"]\n'
LOSSES = '[[host]]\nevery = "PERIOD"\nfor = "500ms"\nhosts = ["a*"]\n'


def processes(lab: Lab) -> list[Row]:
    periods = (2.0 * lab.patience,) if lab.tiny else (4.0, 6.0, 8.0)
    return [*simulation(lab, "processes", REPEATED), *faulted(lab, REPEATED, periods, DEATHS)]


def switch(lab: Lab) -> list[Row]:
    periods = (4.0 * lab.patience,) if lab.tiny else (6.0, 8.0, 12.0)
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
            struck = [rows.value("failures", name, x) for name in (USUAL, fitting)]
            claims.append(Claim(f"virtual hosts, a fault of each host every {x:g} s: {usual:.1f} s and {struck[0]:g} failures with "
                                f"{USUAL}, {mine:.1f} s and {struck[1]:g} with {fitting}, {100 * (1 - mine / usual):.0f} % less time "
                                f"(paper: {promised})", mine < usual))
    for x, _ in rows.curve("failures", fitting):
        if rows.value("virtual hosts", USUAL, x) is None and rows.value("virtual hosts", fitting, x):
            claims.append(Claim(f"virtual hosts, a fault of each host every {x:g} s: only {fitting} ends", None))
    return claims


# How many faults a run has depends on its length, so these claims depend on the machine's speed.
def processes_claims(rows: Rows) -> list[Claim]:
    moved = [value for _, value in rows.curve("moves", REPEATED)]
    stayed = [value for _, value in rows.curve("moves", USUAL)]
    return [*worth(rows, REPEATED, "7 to 40 %"),
            Claim(f"virtual hosts: up to {max(moved):.0f} ranks move with {REPEATED}, {max(stayed):.0f} with {USUAL}",
                  max(moved) >= 1 and max(stayed) == 0)]


def switch_claims(rows: Rows) -> list[Claim]:
    return [*worth(rows, SWITCH, "18 to 35 %"),
            Claim("virtual hosts: ranks of lost hosts move",
                  all(max(value for _, value in rows.curve("moves", name)) >= 1 for name in (USUAL, SWITCH)))]


SETTING = ("Simulated: the judge of a job, 16 ranks, a fault of each host of group a in so many minutes, times as in the paper, "
           "two hours of work and an image every ten minutes (the paper does not state these). Virtual hosts: CG of "
           f"class A, {WORK_S:g} s of work, 4 ranks under coordinated, an image every {INTERVAL_S:g} s, seconds instead of minutes, real "
           "deaths and moves (`--inject model:FILE`). Both sets get the same faults.")
WHY = ("Savings depend on work and interval. With faults that are too frequent the usual set makes no progress, so its time is the "
       "limit of 15 hours, as in the paper. On virtual hosts each fault costs about the work since the last image and the return "
       "of four ranks; a set saves what faults it avoids.")

FIGURES = [
    Figure(PAPER_NAME, "table1", "What recoveries cost (table 1)", "", "", recoveries, tuple(CASES), recoveries_claims, "bars",
           setting="Four ranks under pessimistic on virtual hosts; from the death until the rank has caught up. The paper says: "
                   "IGNORE costs nothing, RESTART a medium amount, MIGRATE more and a host for each fault. IGNORE needs a program "
                   "that goes on without ranks, and repairs nothing.",
           why="Virtual hosts share a disk, so an image need not travel."),
    Figure(PAPER_NAME, "table3", "What components cost (table 3)", "", "%", hooks, (PLUGIN, RECOVERY), hooks_claims, "bars",
           setting=f"{HOOK_RANKS} ranks over shared memory, {HOOK_S:g} s each, against the built-in pessimistic protocol with "
                   "the default detectors. The paper compares its hooks, without components, with MPICH. Instructions of a message "
                   "are counted and set against the messages of a kernel, at one instruction in a nanosecond.",
           why="Detectors are asked after a failure only. What a protocol of a library is told crosses a table of C functions as "
               "encoded messages. Times differ by more than components cost, in either direction."),
    Figure(PAPER_NAME, "4", "Frequent faults of processes", "time between faults (simulated: minutes, else seconds)", "", processes,
           (USUAL, REPEATED), processes_claims, setting=SETTING, why=WHY),
    Figure(PAPER_NAME, "6", "A bad switch", "time between faults (simulated: minutes, else seconds)", "", switch, (USUAL, SWITCH),
           switch_claims, setting=SETTING, why=WHY),
]
