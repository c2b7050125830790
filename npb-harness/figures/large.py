"""Large machines: the curves of the papers continued by the simulator, checked against real runs, and with faults."""

from __future__ import annotations

import csv
import io
import math
import tempfile
from pathlib import Path

from harness.core import run

from .event_logger import causal
from .lab import Job, Lab
from .model import EXTRAPOLATED, MEASURED, SIMULATED, Claim, Figure, Missing, Row, Rows, growth, row
from .scale import simulated

PAPER_NAME = "large"

# ---- the model against real runs -------------------------------------------------------------------------------------

CHECKED = {
    "vcausal-alone": causal("vcausal without logger", "tcp"),
    "manetho-alone": causal("manetho without logger", "tcp"),
    "vcausal": causal("vcausal with logger", "tcp"),
    "optimistic-standard": ("--protocol", "optimistic", "--tracking", "standard", "--events", "all"),
    "optimistic": ("--protocol", "optimistic", "--events", "all"),
    "pessimistic": ("--protocol", "pessimistic", "--events", "all"),
}
# What does not depend on the speed of this machine must agree so well. The rest is reported.
ERROR = 0.15
TIMELESS = ("vcausal-alone", "manetho-alone", "optimistic-standard")


def check(lab: Lab) -> list[Row]:
    sizes = [4] if lab.tiny else list(lab.sizes((4, 8, 16)))
    steps, step_ms, payload = (10, 5, 2048) if lab.tiny else (50, 20, 8192)
    jobs = {(variant, ranks): Job("halo", (str(steps), str(step_ms * 1000), str(payload)), ranks, options, "tcp")
            for variant, options in CHECKED.items() for ranks in sizes}
    found = lab.measure(list(jobs.values()))
    # The network of the model is what real ranks measured on their way to the logger and back.
    trips = [r.counter("event_logger", "round_trip_ms_mean") for (variant, _), job in jobs.items() if variant == "vcausal"
             for r in found[job]]
    latency = max(1, round(sum(trips) / len(trips) * 500))
    model = ("--steps", str(steps), "--step", f"{step_ms}ms", "--payload", str(payload), "--latency", f"{latency}us")
    rows = []
    for variant in CHECKED:
        table = simulated(lab, variant, sizes, model)
        for ranks in sizes:
            real = found[jobs[variant, ranks]]
            per_message = [r.counter("piggyback", "bytes") / r.counter("messages", "sent") for r in real]
            if variant != "pessimistic":
                rows.append(row("piggyback, B/message", f"{variant}, real", ranks, per_message, "B"))
                rows.append(row("piggyback, B/message", f"{variant}, simulated", ranks, [table[ranks]["piggyback B/msg"]], "B", SIMULATED))
            logged = [r.counter("messages", "payload_bytes") / ranks / steps for r in real]
            rows.append(row("payload logged, B/rank and step", f"{variant}, real", ranks, logged, "B"))
            rows.append(row("payload logged, B/rank and step", f"{variant}, simulated", ranks,
                            [table[ranks]["logged B/s/rank"] * table[ranks]["step ms"] / 1e3], "B", SIMULATED))
    return rows


def errors(rows: Rows, panel: str, variant: str) -> float:
    """The largest quotient of both, less one."""
    worst = 0.0
    for ranks, real in rows.curve(panel, f"{variant}, real"):
        model = rows.value(panel, f"{variant}, simulated", ranks, SIMULATED)
        worst = max(worst, math.exp(abs(math.log(model / real))) - 1 if model and real else 1.0)
    return worst


def check_claims(rows: Rows) -> list[Claim]:
    claims = []
    for variant in CHECKED:
        logged = errors(rows, "payload logged, B/rank and step", variant)
        claims.append(Claim(f"{variant}: payload logged differs by at most {100 * logged:.1f} %", logged <= ERROR, True))
        if variant != "pessimistic":
            error = errors(rows, "piggyback, B/message", variant)
            timeless = variant in TIMELESS
            claims.append(Claim(f"{variant}: piggyback differs by at most {100 * error:.0f} %"
                                + ("" if timeless else " (depends on the logger's answers)"), error <= ERROR, timeless))
    return claims


# ---- growth ----------------------------------------------------------------------------------------------------------

GROWN = ("pessimistic", "vcausal", "manetho", "logon", "vcausal-alone", "manetho-alone", "optimistic", "optimistic-standard",
         "blocking", "nonblocking", "hierarchical")
COLUMNS = {"piggyback B/msg": "B", "gate us": "us", "step/none": "times none", "events back ms": "ms", "recovery s": "s"}


def large(lab: Lab) -> list[Row]:
    sizes, most = ([16, 64, 256], 64) if lab.tiny else ([16, 64, 256, 1024, 4096, 16384, 65536, 131072], 256)
    rows = []
    for variant in ("pessimistic", "vcausal", "vcausal-alone", "nonblocking") if lab.tiny else GROWN:
        for ranks, values in simulated(lab, variant, sizes, ("--most", "1000000"), most).items():
            source = EXTRAPOLATED if values["extrapolated"] else SIMULATED
            rows += [row(name, variant, ranks, [values[name]], unit, source) for name, unit in COLUMNS.items() if values[name] > 0]
    return rows


def large_claims(rows: Rows) -> list[Claim]:
    run_at = {name: rows.curve("piggyback B/msg", name, SIMULATED) for name in ("vcausal", "vcausal-alone")}
    first = {name: curve[0][1] for name, curve in run_at.items()}
    recovery = {name: rows.curve("recovery s", name, SIMULATED)[-1][1] for name in ("nonblocking", "pessimistic")}
    alone = growth(rows.curve("events back ms", "vcausal-alone", SIMULATED))
    with_logger = growth(rows.curve("events back ms", "vcausal", SIMULATED))
    return [
        Claim(f"16 ranks: a logger leaves {100 * first['vcausal'] / first['vcausal-alone']:.0f} % of the piggyback",
              first["vcausal"] < 0.5 * first["vcausal-alone"], True),
        Claim(f"events come back in ranks^{with_logger:.2f} with a logger, ranks^{alone:.2f} without", with_logger < alone, True),
        Claim(f"a fault costs {recovery['nonblocking']:.0f} s where all return, {recovery['pessimistic']:.0f} s where one does",
              recovery["nonblocking"] > recovery["pessimistic"], True),
    ]


# ---- faults ----------------------------------------------------------------------------------------------------------

def efficiency(lab: Lab, variants: tuple[str, ...], sizes: list[int], mtbfs: list[str], model: tuple[str, ...],
               most: int = 256) -> list[dict]:
    """Lines of `ftmpi-sim scale --faults-csv`."""
    if lab.simulator is None:
        raise Missing("ftmpi-sim is not built: cargo build --release -p ftmpi-sim")
    lines = []
    for variant in variants:
        words = ["scale", "--protocol", variant, "--sizes", ",".join(map(str, sizes)), "--run", str(most), *model,
                 "--mtbf", ",".join(mtbfs)]

        def once(words=words) -> dict:
            with tempfile.TemporaryDirectory(dir=lab.work) as folder:
                file = Path(folder) / "faults.csv"
                outcome = run([lab.simulator, *words, "--faults-csv", file], timeout=1800)
                if outcome.code != 0:
                    raise Missing(f"ftmpi-sim {' '.join(words)}: {outcome.output_tail()}")
                return {"csv": file.read_text()}

        lines += csv.DictReader(io.StringIO(lab.keep({"simulated": words}, 0, once)["csv"]))
    return lines


WAVES, LOGS = "nonblocking", "vcausal"
CASES = {
    "32 ranks, a server": (32, "32"),
    "256 ranks, a server for 256": (256, "256"),
}
HOURS = [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100]


def crossing(lab: Lab) -> list[Row]:
    rows = []
    for panel, (ranks, per_server) in CASES.items():
        if lab.tiny and ranks > 32:
            continue
        model = ("--bandwidth", "12.5M", "--latency", "60us", "--image", "1G", "--per-server", per_server, "--steps", "4")
        mtbfs = [f"{hours * ranks:g}h" for hours in HOURS]
        for line in efficiency(lab, (WAVES, LOGS), [ranks], mtbfs, model):
            hours = float(line["mtbf s"]) / 3600 / ranks
            rows.append(row(panel, line["protocol"], round(hours, 4), [100 * float(line["efficiency"])], "% of the time", SIMULATED))
    return rows


def crosses(rows: Rows, panel: str) -> float | None:
    """The time between faults of the job at which both leave the same, in hours."""
    both = list(zip(rows.curve(panel, WAVES, SIMULATED), rows.curve(panel, LOGS, SIMULATED)))
    better = [x for (x, waves), (_, logs) in both if waves > logs]
    return min(better) if better else None


def crossing_claims(rows: Rows) -> list[Claim]:
    claims = []
    for panel in dict.fromkeys(r.panel for r in rows.rows):
        dead = [x for x, value in rows.curve(panel, WAVES, SIMULATED) if value < 5]
        alive = {x: value for x, value in rows.curve(panel, LOGS, SIMULATED)}
        theirs = "an hour" if panel.startswith("32") else "ten hours"
        at = max(dead) if dead else 0
        claims.append(Claim(f"{panel}: coordination leaves less than 5 % at a fault in {at:g} h (paper: stops at {theirs}); "
                            f"logging leaves {alive.get(at, 0):.0f} % there", bool(dead) and alive[at] >= 5, True))
        meet = crosses(rows, panel)
        claims.append(Claim(f"{panel}: coordination is better from a fault in "
                            + (f"{meet:g} h on" if meet else f"more than {HOURS[-1]} h on"), None))
    return claims


MAPPED = ("pessimistic", "vcausal", "optimistic", "blocking", "nonblocking", "hierarchical")
YEARS = {"a month": "30d", "a year": "365d", "ten years": "3650d"}


def which(lab: Lab) -> list[Row]:
    sizes, most = ([16, 64, 256], 64) if lab.tiny else ([16, 64, 256, 1024, 4096, 16384, 65536, 131072], 256)
    rows = []
    names = {float(text[:-1]) * 86400: name for name, text in YEARS.items()}
    for line in efficiency(lab, MAPPED, sizes, list(YEARS.values()), (), most):
        source = EXTRAPOLATED if line["extrapolated"] == "true" else SIMULATED
        rows.append(row(f"a rank fails once in {names[float(line['mtbf s'])]}", line["protocol"], float(line["ranks"]),
                        [100 * float(line["efficiency"])], "% of the time", source))
    return rows


def which_claims(rows: Rows) -> list[Claim]:
    claims = []
    for panel in dict.fromkeys(r.panel for r in rows.rows):
        parts = []
        for ranks in sorted({r.x for r in rows.of(panel=panel)}):
            best = max(rows.of(panel=panel, x=ranks), key=lambda r: r.value)
            parts.append(f"{ranks:.0f}: {best.series} ({best.value:.0f} %)")
        claims.append(Claim(f"{panel}: {'; '.join(parts)}", None))
    many = [rows.curve(panel, WAVES, SIMULATED, EXTRAPOLATED) for panel in dict.fromkeys(r.panel for r in rows.rows)]
    claims.append(Claim("more ranks or more faults leave no more of the time to waves over all ranks",
                        all(a[1] >= b[1] - 1e-9 for curve in many for a, b in zip(curve, curve[1:]))
                        and all(a[1] <= b[1] + 1e-9 for less, more in zip(many, many[1:]) for a, b in zip(less, more)), True))
    return claims


FIGURES = [
    Figure(PAPER_NAME, "check", "The model against real runs", "ranks", "", check,
           tuple(f"{variant}, {kind}" for variant in CHECKED for kind in ("real", "simulated")), check_claims, log="xy",
           setting="The program of the simulator on real ranks, over TCP on this machine. Computing is sleeping, so that ranks "
                   "do not wait for processors. The latency of the model is half of the measured round trip to the logger.",
           why="With a logger the volume depends on when its answers come. The model has one latency for all of them; on a busy "
               "machine they differ widely."),
    Figure(PAPER_NAME, "growth", "The papers' curves on large machines", "ranks", "", large, GROWN, large_claims, log="xy",
           tiny=("pessimistic", "vcausal", "vcausal-alone", "nonblocking"),
           setting="10 Gbit/s, images of 1 GiB every ten minutes, an event logger and a checkpoint server for 256 ranks. Up to 256 "
                   "ranks the machines run; beyond, each curve continues along a power law (dotted)."),
    Figure(PAPER_NAME, "crossing", "Coordination and logging by the time between faults", "hours between two faults of the job",
           "% of the time", crossing, (WAVES, LOGS), crossing_claims, log="x",
           setting="The extrapolation of MPICH-V 2006 (section 4.3.2): images of 1 GB over 100 Mbit/s, 32 ranks (the paper: 25) with "
                   "one server, and 256 ranks with one server (250). What is left of the time, with the best interval of images."),
    Figure(PAPER_NAME, "which", "Which protocol at which size and failure rate", "ranks", "% of the time", which, MAPPED, which_claims,
           log="x", setting="The model of `growth`. Failures are independent; images are stored without slowing the ranks.",
           why="Where a logger gets more than its rate, its part of the model grows without bound. Extrapolated values of "
               "causal and optimistic logging beyond some thousand ranks say that one such logger for 256 ranks is too few."),
]
