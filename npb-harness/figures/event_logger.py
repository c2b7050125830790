"""Event logger 2005: what an event logger does for three techniques of causal logging."""

from __future__ import annotations

from .lab import LABELS, TINY, Job, Lab, Result
from .model import PAPER, Claim, Figure, Missing, Row, Rows, growth, paper, row

PAPER_NAME = "event-logger-2005"
TECHNIQUES = ("vcausal", "manetho", "logon")
WITH, WITHOUT = "with logger", "without logger"
SERIES = tuple(f"{technique} {logger}" for logger in (WITH, WITHOUT) for technique in TECHNIQUES)
# Of the short form.
FEW = SERIES[::3]
DEFAULT = "our default"
VDUMMY = "none"
# Ranks of each kernel, as in the paper (figures 7 to 10).
RANKS = {"cg": (2, 4, 8, 16), "lu": (2, 4, 8, 16), "bt": (4, 9, 16)}
AS_THEY = ("--events", "all")


def causal(series: str, place: str) -> tuple[str, ...]:
    """The options of a series. The logger of the paper is on a host of its own, so there are no event rings."""
    technique, _, logger = series.partition(" ")
    options = ("--protocol", "causal", "--piggyback", technique, *AS_THEY)
    if logger == WITHOUT:
        return (*options, "--event-logger", "off")
    return options if place == "tcp" else (*options, "--event-rings", "off")


def netpipe(lab: Lab, options: tuple[str, ...], place: str) -> Job:
    repeats, most = ("20", "4096") if lab.tiny else ("600", str(1 << 20))
    return Job("netpipe", (repeats, most), 2, options, place)


def netpipe_jobs(lab: Lab) -> dict[str, Job]:
    place = lab.place("slow")
    jobs = {VDUMMY: netpipe(lab, ("--protocol", "none"), place)}
    jobs |= {series: netpipe(lab, causal(series, place), place) for series in (FEW if lab.tiny else SERIES)}
    jobs[DEFAULT] = netpipe(lab, ("--protocol", "causal"), place)
    return jobs


def raw(lab: Lab) -> list[dict[int, float]]:
    job = netpipe_jobs(lab)[VDUMMY]
    return lab.raw_tcp(job.place, int(job.arguments[0]), int(job.arguments[1]))


# ---- figure 6 --------------------------------------------------------------------------------------------------------

LATENCY = {"raw": 99.56, VDUMMY: 134.84, "vcausal with logger": 156.92, "manetho with logger": 156.80,
           "logon with logger": 155.83, "vcausal without logger": 165.17, "manetho without logger": 173.15,
           "logon without logger": 172.80}


def latency(lab: Lab) -> list[Row]:
    jobs = netpipe_jobs(lab)
    found = lab.measure(list(jobs.values()))
    rows = [row("latency", "ftmpi", "raw", [curve[1] for curve in raw(lab)], "us")]
    rows += [row("latency", "ftmpi", series, [r.pairs[1] for r in found[job]], "us") for series, job in jobs.items()]
    return rows + [paper("latency", "paper", name, value, "us") for name, value in LATENCY.items()]


def latency_claims(rows: Rows) -> list[Claim]:
    at = {r.x: r.value for r in rows.of("measured")}
    framework, protocol = at[VDUMMY] / at["raw"], at["vcausal with logger"] / at[VDUMMY]
    without = at["vcausal without logger"] / at["vcausal with logger"]
    return [
        Claim(f"framework over raw TCP: {framework:.2f} (goal: at most 1.05; paper: 1.35)", framework <= 1.05),
        Claim(f"causal over framework: {protocol:.2f} (goal: at most 1.05; paper: 1.16)", protocol <= 1.05),
        Claim(f"causal without a logger over causal with one: {without:.2f} (paper: 1.05)", without >= 1),
    ]


def bandwidth(lab: Lab) -> list[Row]:
    jobs = netpipe_jobs(lab)
    found = lab.measure(list(jobs.values()))
    curves = raw(lab)
    rows = [row("bandwidth", "raw", size, [size * 8 / curve[size] for curve in curves], "Mbit/s") for size in curves[0]]
    for series, job in jobs.items():
        for size in found[job][0].pairs:
            rows.append(row("bandwidth", series, size, [size * 8 / r.pairs[size] for r in found[job]], "Mbit/s"))
    return rows


def bandwidth_claims(rows: Rows) -> list[Claim]:
    at = {name: rows.curve("bandwidth", name)[-1][1] for name in dict.fromkeys(r.series for r in rows.rows)}
    worst = min(value for name, value in at.items() if name in SERIES) / at[VDUMMY]
    return [Claim(f"largest message: the framework reaches {at[VDUMMY] / at['raw']:.2f} of raw TCP", at[VDUMMY] / at["raw"] >= 0.9),
            Claim(f"largest message: the slowest causal protocol reaches {worst:.2f} of the framework", worst >= 0.9)]


def share(lab: Lab) -> list[Row]:
    place = lab.place("slow")
    jobs = {series: Job("netpipe", ("50" if lab.tiny else "4999", "1", "only"), 2, causal(series, place), place)
            for series in (FEW if lab.tiny else SERIES)}
    found = lab.measure(list(jobs.values()))

    def of(result: Result) -> float:
        return 100 * result.counter("piggyback", "messages") / result.counter("messages", "sent")

    rows = [row("share", "ftmpi", series, [of(r) for r in found[job]], "%") for series, job in jobs.items()]
    return [*rows, paper("share", "paper", "vcausal with logger", 100 - 100 * 2397 / 4999, "%"),
            *(paper("share", "paper", f"{technique} without logger", 100, "%") for technique in TECHNIQUES)]


def share_claims(rows: Rows) -> list[Claim]:
    at = {r.x: r.value for r in rows.of("measured")}
    alone = min(value for name, value in at.items() if name.endswith(WITHOUT))
    return [Claim(f"without a logger every message carries events (smallest share: {alone:.0f} %)", alone >= 90, True),
            Claim(f"with a logger {at['vcausal with logger']:.0f} % do (paper: 52 %)",
                  at["vcausal with logger"] <= at["vcausal without logger"] + 1, True)]


# ---- figures 7, 8, 9 -------------------------------------------------------------------------------------------------

def kernel_jobs(lab: Lab) -> dict[tuple[str, int, str], Job]:
    """Every kernel on every number of ranks, in every variant."""
    jobs = {}
    for kernel, sizes in ({TINY: (4,)} if lab.tiny else RANKS).items():
        program, arguments = lab.kernel(kernel)
        for ranks in lab.sizes(sizes):
            variants = {VDUMMY: ("--protocol", "none"), DEFAULT: ("--protocol", "causal"),
                        **{series: causal(series, "tcp") for series in SERIES}}
            for series, options in variants.items():
                jobs[kernel, ranks, series] = Job(program, arguments, ranks, options, "tcp")
    return jobs


def of_kernels(lab: Lab, unit: str, value, leave_out: tuple[str, ...] = (VDUMMY,)) -> list[Row]:
    """A row for each kernel, number of ranks and variant. `value` is asked for each run."""
    jobs = {key: job for key, job in kernel_jobs(lab).items()}
    found = lab.measure(list(jobs.values()), min(lab.rounds, 3))
    return [row(LABELS[kernel], series, ranks, [value(r, ranks) for r in found[job]], unit)
            for (kernel, ranks, series), job in jobs.items() if series not in leave_out]


def volume(lab: Lab) -> list[Row]:
    def percent(result: Result, _: int) -> float:
        return 100 * result.counter("piggyback", "bytes") / max(result.counter("messages", "payload_bytes"), 1)

    return of_kernels(lab, "%", percent) + [
        paper("BT-like", "vcausal without logger", 16, 7, "%"), paper("CG", "vcausal without logger", 16, 12, "%"),
        paper("CG", "vcausal with logger", 16, 0.5, "%"), paper("LU-like", "vcausal without logger", 16, 51, "%"),
        paper("LU-like", "logon without logger", 16, 11, "%"), paper("LU-like", "manetho without logger", 16, 7, "%"),
    ]


def largest(rows: Rows, panel: str) -> float:
    return max(r.x for r in rows.of("measured", panel=panel))


def volume_claims(rows: Rows) -> list[Claim]:
    claims = []
    for panel in rows.panels():
        n = largest(rows, panel)
        at = {series: rows.value(panel, series, n) for series in SERIES}
        for technique in TECHNIQUES:
            both = at[f"{technique} {WITH}"], at[f"{technique} {WITHOUT}"]
            claims.append(Claim(f"{panel} on {n:.0f} ranks, {technique}: {both[0]:.3g} % with a logger, {both[1]:.3g} % without",
                                both[0] <= both[1] * 1.25, True))
        graphs = max(at[f"{technique} {WITHOUT}"] for technique in ("manetho", "logon"))
        alone = at[f"vcausal {WITHOUT}"]
        if n > 2:
            claims.append(Claim(f"{panel} on {n:.0f} ranks without a logger: graphs move {graphs:.3g} %, vcausal {alone:.3g} %",
                                graphs <= alone))
    return claims


def computing(lab: Lab) -> list[Row]:
    rows = []
    for part, name in (("build_ms", "send"), ("merge_ms", "receive")):
        of = of_kernels(lab, "s", lambda result, _, part=part: result.counter("piggyback", part) / 1e3)
        rows += [Row(f"{r.panel}, {name}", *(getattr(r, c) for c in ("series", "x", "value", "low", "high", "rounds", "unit")))
                 for r in of]
    return rows


# Figure 8 b: percent of the run time.
PERCENT = {
    "BT-like": {4: (0, 0, 0, 0.2, 0.7, 0.2), 9: (0.2, 0.3, 0.3, 1.6, 3, 2.6), 16: (0.7, 1.3, 1.2, 7.8, 11.8, 12.5)},
    "CG": {2: (0, 0, 0.1, 0.2, 1.7, 0.3), 4: (0.1, 0.3, 0.3, 1, 5.1, 1), 8: (1, 2.5, 1.6, 6.8, 15, 11.2)},
    "LU-like": {2: (0, 0, 0, 0.5, 0.7, 0.5), 4: (0.2, 0.4, 0.4, 2.9, 3.8, 3.8), 8: (0.9, 1.6, 1.4, 9.9, 12.2, 15)},
}


def computing_share(lab: Lab) -> list[Row]:
    def percent(result: Result, ranks: int) -> float:
        spent = result.counter("piggyback", "build_ms") + result.counter("piggyback", "merge_ms")
        return 100 * spent / 1e3 / (result.counter("wall_s") * ranks)

    return of_kernels(lab, "%", percent) + [
        paper(panel, series, ranks, value, "%")
        for panel, sizes in PERCENT.items() for ranks, values in sizes.items() for series, value in zip(SERIES, values)]


def computing_claims(rows: Rows) -> list[Claim]:
    claims = []
    for panel in rows.panels():
        n = largest(rows, panel)
        at = {series: rows.value(panel, series, n) for series in SERIES}
        best = min(("vcausal", "manetho", "logon"), key=lambda t: at[f"{t} {WITHOUT}"])
        claims.append(Claim(f"{panel} on {n:.0f} ranks without a logger: {best} computes least (paper: vcausal)", best == "vcausal"))
        both = [max(at[f"{t} {logger}"] for t in TECHNIQUES) for logger in (WITH, WITHOUT)]
        claims.append(Claim(f"{panel} on {n:.0f} ranks: at most {both[0]:.2g} with a logger, {both[1]:.2g} without",
                            both[0] <= both[1]))
    return claims


def nas(lab: Lab) -> list[Row]:
    jobs = kernel_jobs(lab)
    found = lab.measure(list(jobs.values()), min(lab.rounds, 3))
    rows = []
    for (kernel, ranks, series), job in jobs.items():
        base = found[jobs[kernel, ranks, VDUMMY]]
        if series != VDUMMY:
            rows.append(row(LABELS[kernel], series, ranks,
                            [a.seconds / b.seconds for a, b in zip(found[job], base)], "times none"))
    return rows


def nas_claims(rows: Rows) -> list[Claim]:
    claims = []
    for panel in rows.panels():
        n = largest(rows, panel)
        at = {series: rows.value(panel, series, n) for series in (*SERIES, DEFAULT)}
        claims.append(Claim(f"{panel} on {n:.0f} ranks: vcausal {at['vcausal with logger']:.3f} with a logger, "
                            f"{at['vcausal without logger']:.3f} without, our default {at[DEFAULT]:.3f}",
                            at["vcausal with logger"] <= at["vcausal without logger"] * 1.02))
    return claims


# ---- figure 10 -------------------------------------------------------------------------------------------------------

RECOVERY = {
    "BT-like": {4: (9.608, 32.475), 9: (16.592, 97.253), 16: (21.168, 183.531), 25: (32.364, 330.857)},
    "CG": {2: (78.681, 80.75), 4: (81.699, 118.579), 8: (93.266, 510.867), 16: (92.835, 832.226)},
    "LU-like": {2: (37.588, 42.537), 4: (76.813, 219.121), 8: (58.616, 360.208), 16: (42.59, 505.52)},
}


def recovery(lab: Lab) -> list[Row]:
    seconds, at = (0.8, "400ms") if lab.tiny else (3, "1500ms")
    jobs = {}
    for kernel, sizes in ({TINY: (4,)} if lab.tiny else {**RANKS, "bt": (4, 9, 16, 25)}).items():
        program, arguments = lab.kernel(kernel, seconds)
        for ranks in lab.sizes(sizes):
            for logger in (WITH, WITHOUT):
                options = (*causal(f"vcausal {logger}", "tcp"), "--ckpt", "off", "--inject", f"kill:rank=0,at={at}")
                jobs[kernel, ranks, logger] = Job(program, arguments, ranks, options, "tcp")
    found = lab.measure(list(jobs.values()))
    rows = []
    for (kernel, ranks, logger), job in jobs.items():
        lists = [r.report["recovered"] for r in found[job] if r.report["recovered"]]
        if not lists:
            raise Missing(f"rank 0 of {kernel} on {ranks} ranks did not die before the end")
        rows.append(row(LABELS[kernel], logger, ranks, [each[0]["ms"] for each in lists], "ms"))
    return rows + [paper(panel, series, ranks, value, "ms") for panel, sizes in RECOVERY.items()
                   for ranks, values in sizes.items() for series, value in zip((WITH, WITHOUT), values)]


def recovery_claims(rows: Rows) -> list[Claim]:
    claims = [Claim("the new rank has its events back, with and without a logger",
                    all(r.value >= 0 for r in rows.of("measured")), True)]
    for panel in rows.panels():
        n = largest(rows, panel)
        ours, theirs = rows.value(panel, WITH, n), rows.value(panel, WITH, n, PAPER)
        if theirs:
            claims.append(Claim(f"{panel} on {n:.0f} ranks: {ours:.1f} ms with a logger (goal: a tenth of the paper's {theirs:.1f} ms)",
                                ours <= theirs / 10))
        exponents = [growth(rows.curve(panel, logger)) for logger in (WITH, WITHOUT)]
        claims.append(Claim(f"{panel}: the time grows as ranks^{exponents[0]:.2f} with a logger, ranks^{exponents[1]:.2f} without",
                            exponents[0] <= exponents[1]))
    return claims


# ---- the three ways to spread the vector (section VI) ----------------------------------------------------------------

WAYS = ("loggers", "broadcast", "piggyback")


def vector(lab: Lab) -> list[Row]:
    loggers = (2,) if lab.tiny else (2, 4)
    program, arguments = lab.kernel(TINY if lab.tiny else "cg")
    ranks = 4 if lab.tiny else lab.sizes((4, 8))[-1]
    jobs = {(way, count): Job(program, arguments, ranks,
                              (*causal("vcausal with logger", "tcp"), "--event-loggers", str(count), "--stable-vector", way), "tcp")
            for way in WAYS for count in loggers}
    found = lab.measure(list(jobs.values()))
    rows = []
    for (way, count), job in jobs.items():
        rows.append(row("piggyback", way, count, [100 * r.counter("piggyback", "bytes") / r.counter("messages", "payload_bytes")
                                                  for r in found[job]], "%"))
        rows.append(row("told by loggers", way, count,
                        [r.counter("event_logger", "clock_bytes_told") / r.counter("wall_s") / 1e3 for r in found[job]], "kB/s"))
    return rows


def vector_claims(rows: Rows) -> list[Claim]:
    told = {way: rows.curve("told by loggers", way)[-1][1] for way in WAYS}
    moved = {way: rows.curve("piggyback", way)[-1][1] for way in WAYS}
    least = min(moved, key=moved.get)
    return [Claim("loggers tell nobody where messages carry the vector", told["piggyback"] == 0, True),
            Claim(f"the smallest piggyback has `{least}`: {moved[least]:.3g} % of the payload", None)]


KERNELS_NOTE = ("CG is the NAS kernel in C. LU-like and BT-like have the messages of LU and BT and compute with integers. Two "
                "processors run all ranks, over TCP on one host.")

FIGURES = [
    Figure(PAPER_NAME, "6a", "Latency of a ping-pong", "", "us", latency, ("ftmpi",), latency_claims, "bars",
           setting="Hosts in network namespaces at 100 Mbit/s (tbf). Raw is a bare TCP connection; the paper's is MPICH-P4.",
           why="The paper's framework has a daemon beside each process, with two context switches for a message. Ours is a "
               "library inside the process. Our virtual network has no wire, so all times are shorter."),
    Figure(PAPER_NAME, "6b", "Bandwidth of a ping-pong", "bytes", "Mbit/s", bandwidth, ("raw", VDUMMY, *SERIES, DEFAULT),
           bandwidth_claims, log="xy", setting="As figure 6a.", tiny=("raw", VDUMMY, *FEW, DEFAULT)),
    Figure(PAPER_NAME, "share", "Share of messages with piggyback (section V-C)", "", "%", share, ("ftmpi",), share_claims,
           "bars", setting="Messages of one byte, 5000 in each direction.",
           why="With a logger the share depends on how soon its acknowledgements come: on a busy machine they come late."),
    Figure(PAPER_NAME, "7", "Piggyback, in percent of the payload", "ranks", "% of payload", volume, (*SERIES, DEFAULT),
           volume_claims, log="xy", setting=KERNELS_NOTE,
           why="Volume depends on the time between two messages against the logger's round trip. Here ranks share two "
               "processors and the logger with them, so acknowledgements come late when there are many ranks. Bytes "
               "include a header of 32 bytes for each piggyback."),
    Figure(PAPER_NAME, "8a", "Time to make and to read piggyback, all ranks", "ranks", "s", computing,
           (*SERIES, DEFAULT), computing_claims, log="xy", setting=KERNELS_NOTE),
    Figure(PAPER_NAME, "8b", "Time to make and to read piggyback, in percent of the run time", "ranks", "%",
           computing_share, (*SERIES, DEFAULT), computing_claims, log="x", setting=KERNELS_NOTE,
           why="The time is the clock's, so a rank that loses its processor inside of the computation counts the pause."),
    Figure(PAPER_NAME, "9", "Kernels under causal logging", "ranks", "time by that of none", nas, (*SERIES, DEFAULT),
           nas_claims, log="x", setting=KERNELS_NOTE),
    Figure(PAPER_NAME, "10", "Time to recover the events of rank 0", "ranks", "ms", recovery, (WITH, WITHOUT),
           recovery_claims, log="xy", setting="Rank 0 dies at half time and has no image. " + KERNELS_NOTE,
           why="A new incarnation asks all ranks, with a logger too, because any survivor may hold what the logger never "
               "got (docs/protocols/causal.md, Recovery). So the curve with a logger is not flat."),
    Figure(PAPER_NAME, "vector", "Three ways to spread what several loggers have stored (section VI)", "event loggers",
           "", vector, WAYS, vector_claims, "bars", setting="CG on up to 8 ranks. The paper names the three ways as future work."),
]
