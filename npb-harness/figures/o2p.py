"""O2P 2009: optimistic logging whose determinants leave at once, against the standard kind."""

from __future__ import annotations

from .event_logger import AS_THEY, KERNELS_NOTE, VDUMMY
from .lab import LABELS, TINY, Job, Lab, Result
from .model import EXTRAPOLATED, MEASURED, SIMULATED, Claim, Figure, Row, Rows, growth, paper, row
from .scale import simulated

PAPER_NAME = "o2p-2009"
STANDARD, O2P, DEFAULT = "standard", "O2P", "our default"
TRACKED = (STANDARD, O2P)
KERNELS = ("cg", "lu", "bt", "is")


def options(series: str) -> tuple[str, ...]:
    return {VDUMMY: ("--protocol", "none"), DEFAULT: ("--protocol", "optimistic"),
            O2P: ("--protocol", "optimistic", *AS_THEY),
            STANDARD: ("--protocol", "optimistic", "--tracking", "standard", *AS_THEY)}[series]


def jobs_of(lab: Lab, sizes: tuple[int, ...], variants: tuple[str, ...]) -> dict[tuple[str, int, str], Job]:
    jobs = {}
    for kernel in (TINY,) if lab.tiny else KERNELS:
        program, arguments = lab.kernel(kernel)
        for ranks in (4,) if lab.tiny else lab.sizes(sizes):
            for series in variants:
                jobs[kernel, ranks, series] = Job(program, arguments, ranks, options(series), "tcp")
    return jobs


# ---- table 1 ---------------------------------------------------------------------------------------------------------

RATES = {"BT-like": 13, "CG": 256, "LU-like": 198}


def rates(lab: Lab) -> list[Row]:
    jobs = jobs_of(lab, lab.sizes((4, 8, 16))[-1:], (VDUMMY,))
    found = lab.measure(list(jobs.values()))
    rows = [row("rate", "ftmpi", LABELS[kernel], [r.counter("messages", "sent") / r.counter("wall_s") / ranks for r in found[job]],
                "messages/s") for (kernel, ranks, _), job in jobs.items()]
    return rows + [paper("rate", "paper", name, value, "messages/s") for name, value in RATES.items()]


def rates_claims(rows: Rows) -> list[Claim]:
    at = {r.x: r.value for r in rows.of(MEASURED)}
    return [Claim(f"{name}: {value:.0f} messages a second and rank" + (f" (paper: {RATES[name]})" if name in RATES else ""),
                  None) for name, value in at.items()]


# ---- figure 3 --------------------------------------------------------------------------------------------------------

def entries_of(result: Result) -> float:
    return result.counter("piggyback", "events") / max(result.counter("messages", "sent"), 1)


def entries(lab: Lab) -> list[Row]:
    jobs = jobs_of(lab, (4, 8, 16), (*TRACKED, DEFAULT))
    jobs = {key: job for key, job in jobs.items() if key[0] != "bt" or key[1] != 8}
    found = lab.measure(list(jobs.values()))
    return [row(LABELS[kernel], series, ranks, [entries_of(r) for r in found[job]], "entries/message")
            for (kernel, ranks, series), job in jobs.items()]


def entries_claims(rows: Rows) -> list[Claim]:
    claims = []
    for panel in rows.panels():
        n = max(r.x for r in rows.of(panel=panel))
        at = {series: rows.value(panel, series, n) for series in (*TRACKED, DEFAULT)}
        claims.append(Claim(f"{panel} on {n:.0f} ranks: {at[STANDARD]:.2f} entries a message, O2P {at[O2P]:.2f}, our default "
                            f"{at[DEFAULT]:.2f}", at[O2P] <= at[STANDARD] * 1.02, True))
        if len(rows.curve(panel, STANDARD)) > 1:
            exponent = growth(rows.curve(panel, STANDARD))
            claims.append(Claim(f"{panel}: standard grows as ranks^{exponent:.2f} (paper: linear)", exponent > 0.3))
    return claims


# ---- table 2 ---------------------------------------------------------------------------------------------------------

OVERHEADS = {"BT-like": (1.14, 0.98), "CG": (12.85, 12.01), "IS-like": (0.26, 0.13)}


def overheads(lab: Lab) -> list[Row]:
    jobs = jobs_of(lab, lab.sizes((4, 8, 16))[-1:], (VDUMMY, *TRACKED, DEFAULT))
    found = lab.measure(list(jobs.values()), lab.rounds)
    rows = []
    for (kernel, ranks, series), job in jobs.items():
        if series != VDUMMY:
            base = found[jobs[kernel, ranks, VDUMMY]]
            rows.append(row("overhead", series, LABELS[kernel],
                            [100 * (a.seconds / b.seconds - 1) for a, b in zip(found[job], base)], "%"))
    return rows + [paper("overhead", series, name, value, "%") for name, values in OVERHEADS.items()
                   for series, value in zip(TRACKED, values)]


def overheads_claims(rows: Rows) -> list[Claim]:
    claims = []
    for name in dict.fromkeys(r.x for r in rows.of(MEASURED)):
        at = {series: rows.value("overhead", series, name) for series in (*TRACKED, DEFAULT)}
        claims.append(Claim(f"{name}: standard {at[STANDARD]:.1f} %, O2P {at[O2P]:.1f} %, our default {at[DEFAULT]:.1f} % "
                            "(goal: at most 3 %)", at[O2P] <= 3))
        claims.append(Claim(f"{name}: standard costs at least as much as O2P", at[STANDARD] >= at[O2P]))
    return claims


# ---- saturation of the logger ----------------------------------------------------------------------------------------

# A logger of the paper's: one thread, some ten thousand determinants a second.
SLOW_LOGGER = ("--logger-rate", "200000", "--bandwidth", "125M")


def saturation(lab: Lab) -> list[Row]:
    sizes = [4, 16, 64] if lab.tiny else [4, 8, 16, 32, 64, 128, 256]
    rows = []
    for name, per_server in (("one logger", "1000000"), ("a logger for 16 ranks", "16")):
        for variant in ("optimistic", "optimistic-standard"):
            found = simulated(lab, variant, sizes, (*SLOW_LOGGER, "--per-server", per_server))
            series = f"{O2P if variant == 'optimistic' else STANDARD}, {name}"
            for ranks, values in found.items():
                rows.append(row("piggyback", series, ranks, [values["piggyback B/msg"]], "B/message",
                                EXTRAPOLATED if values["extrapolated"] else SIMULATED))
    program, arguments = lab.kernel(TINY if lab.tiny else "cg")
    loggers = (1,) if lab.tiny else (1, 2, 4)
    jobs = {(count, ranks): Job(program, arguments, ranks, (*options(O2P), "--event-loggers", str(count)), "tcp")
            for count in loggers for ranks in ((4,) if lab.tiny else lab.sizes((4, 8, 16)))}
    found = lab.measure(list(jobs.values()))
    rows += [row("round trip to the logger", f"kernel, {count} logger{'s' if count > 1 else ''}", ranks,
                 [r.counter("event_logger", "round_trip_ms_mean") for r in found[job]], "ms")
             for (count, ranks), job in jobs.items()]
    return rows


def saturation_claims(rows: Rows) -> list[Claim]:
    at = {series: rows.curve("piggyback", series, SIMULATED) for series in dict.fromkeys(r.series for r in rows.of(SIMULATED))}
    small = {series: curve[0][1] for series, curve in at.items()}
    large = {series: curve[-1][1] for series, curve in at.items()}
    n = at[f"{O2P}, one logger"][-1][0]
    return [
        Claim(f"on {at[f'{O2P}, one logger'][0][0]:.0f} ranks O2P moves {small[f'{O2P}, one logger']:.0f} B a message, standard "
              f"{small[f'{STANDARD}, one logger']:.0f} B",
              small[f"{O2P}, one logger"] < small[f"{STANDARD}, one logger"], True),
        Claim(f"on {n:.0f} ranks one slow logger leaves O2P {large[f'{O2P}, one logger']:.0f} B a message: several leave "
              f"{large[f'{O2P}, a logger for 16 ranks']:.0f} B",
              large[f"{O2P}, a logger for 16 ranks"] <= large[f"{O2P}, one logger"], True),
    ]


FIGURES = [
    Figure(PAPER_NAME, "table1", "Messages a second and rank (table 1)", "", "messages/s", rates, ("ftmpi",), rates_claims, "bars",
           setting=f"Up to 16 ranks. {KERNELS_NOTE}", why="The rate says how hard a kernel tries the logger. It depends on the machine."),
    Figure(PAPER_NAME, "3", "Entries of the dependency vector with each message", "ranks", "entries", entries,
           (*TRACKED, DEFAULT), entries_claims, log="x", setting=f"The paper goes from 4 to 128 ranks. {KERNELS_NOTE}",
           why="By default only events that the program does not determine are logged, so nothing depends on a logger that is "
               "behind."),
    Figure(PAPER_NAME, "table2", "Overhead without failures (table 2)", "", "%", overheads, (*TRACKED, DEFAULT),
           overheads_claims, "bars", setting=f"Up to 16 ranks; IS-like stands beside the paper's FT. {KERNELS_NOTE}",
           why="With sixteen ranks on two processors the logger takes processor time from the ranks. On a cluster it has a "
               "host of its own."),
    Figure(PAPER_NAME, "saturation", "Saturation of the event logger (section 4.3)", "ranks", "", saturation,
           tuple(f"{t}, {l}" for t in (O2P, STANDARD) for l in ("one logger", "a logger for 16 ranks")), saturation_claims,
           log="xy", setting="Simulated with a logger of 200,000 determinants a second over Gigabit Ethernet, beside the "
                             "round trip of real loggers under CG."),
]
