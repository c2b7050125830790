"""Blocking and non-blocking waves 2008: what coordinated images cost by servers, processes, waves and sizes."""

from __future__ import annotations

from .event_logger import VDUMMY
from .lab import TINY, Job, Lab, Result
from .model import SIMULATED, Claim, Figure, Row, Rows, row, slope
from .scale import simulated

PAPER_NAME = "blocking-vs-nonblocking-2008"
BLOCKING, NONBLOCKING = "blocking", "nonblocking"
KINDS = (BLOCKING, NONBLOCKING)
NEVER = "1h"


def job(lab: Lab, kind: str, ranks: int, interval: str, place: str, times: int, servers: int = 1) -> Job:
    """CG, so many times; in the short form some kernel for so many tenths of a second."""
    program, arguments = lab.kernel(TINY, seconds=times / 10) if lab.tiny else lab.kernel("cg", times=times)
    wave = ("--protocol", "none") if kind == VDUMMY else (
        "--protocol", "coordinated", "--wave", kind, "--ckpt-interval", interval)
    return Job(program, arguments, ranks, wave, place, servers=servers)


def waves_of(result: Result) -> float:
    return result.counter("waves", "complete")


# ---- figure 5 --------------------------------------------------------------------------------------------------------

def servers(lab: Lab) -> list[Row]:
    place = lab.place("slow")
    # Without hosts of their own the number of servers changes nothing.
    counts = (1, 2, 4) if place == "slow" else (1,)
    times, interval, ranks = (8, "20ms", 4) if lab.tiny else (1, "1s", lab.sizes((4, 8))[-1])
    jobs = {(kind, count): job(lab, kind, ranks, interval, place, times, count) for kind in KINDS for count in counts}
    found = lab.measure(list(jobs.values()))
    rows = []
    for (kind, count), each in jobs.items():
        rows.append(row("time", kind, count, [r.seconds for r in found[each]], "s"))
        rows.append(row("waves", kind, count, [waves_of(r) for r in found[each]], "waves"))
    return rows


def servers_claims(rows: Rows) -> list[Claim]:
    claims = [Claim("waves complete", all(r.value >= 1 for r in rows.of(panel="waves")), True)]
    for kind in KINDS:
        curve = rows.curve("time", kind)
        if len(curve) > 1:
            change = curve[-1][1] / curve[0][1]
            text = f"{kind}: {curve[-1][0]} servers take {change:.2f} of the time with one"
            claims.append(Claim(text + (" (paper: less)" if kind == BLOCKING else " (paper: the same)"),
                                change <= 1 if kind == BLOCKING else 0.9 <= change <= 1.1))
    return claims


# ---- figure 6 --------------------------------------------------------------------------------------------------------

def processes(lab: Lab) -> list[Row]:
    intervals, sizes, times = ((("20ms",), (4,), 8) if lab.tiny else
                               (("2s", "1s", "500ms", "250ms"), (4, 8, 16), 3))
    jobs = {(kind, ranks, interval): job(lab, kind, ranks, interval, "tcp", times)
            for interval in intervals for kind in (VDUMMY, *KINDS) for ranks in lab.sizes(sizes)}
    found = lab.measure(list(dict.fromkeys(jobs.values())), min(lab.rounds, 2))
    return [row(f"every {interval}", kind, ranks, [r.seconds for r in found[each]], "s")
            for (kind, ranks, interval), each in jobs.items()]


def processes_claims(rows: Rows) -> list[Claim]:
    claims = []
    for panel in rows.panels():
        for kind in KINDS:
            costs = [value / rows.value(panel, VDUMMY, ranks) for ranks, value in rows.curve(panel, kind)]
            claims.append(Claim(f"{panel}, {kind}: {min(costs):.2f} to {max(costs):.2f} of the time without images, for all "
                                "numbers of ranks", max(costs) <= 1.25))
    return claims


# ---- figures 7 and 8 -------------------------------------------------------------------------------------------------

SHM, TCP = "blocking, shared memory", "blocking, TCP"
VCL = "nonblocking, TCP"


def intervals_of(lab: Lab) -> tuple[tuple[str, ...], int]:
    return ((NEVER, "20ms"), 8) if lab.tiny else ((NEVER, "2s", "1s", "500ms", "250ms", "120ms"), 4)


def by_waves(lab: Lab, cases: dict[str, tuple[str, int, str]], panel: str) -> list[Row]:
    """Run time by the number of waves that the run had, for each case: kind, ranks, place."""
    intervals, times = intervals_of(lab)
    jobs = {(name, interval): job(lab, kind, ranks, interval, place, times)
            for name, (kind, ranks, place) in cases.items() for interval in intervals}
    found = lab.measure(list(jobs.values()))
    rows = []
    for (name, _), each in jobs.items():
        counts = sorted(waves_of(r) for r in found[each])
        rows.append(row(panel, name, counts[len(counts) // 2], [r.seconds for r in found[each]], "s"))
    return rows


def number(lab: Lab) -> list[Row]:
    return by_waves(lab, {SHM: (BLOCKING, 4, "here"), TCP: (BLOCKING, 4, "tcp"), VCL: (NONBLOCKING, 4, "tcp")}, "time")


def per_wave(rows: Rows, name: str) -> float:
    """Milliseconds that one wave adds."""
    return 1000 * slope(rows.curve("time", name))


def number_claims(rows: Rows) -> list[Claim]:
    costs = {name: per_wave(rows, name) for name in (SHM, TCP, VCL)}
    most = max(r.x for r in rows.rows)
    claims = [Claim(f"there are runs with and without waves (up to {most:.0f})", most >= 1 and min(r.x for r in rows.rows) == 0, True)]
    claims += [Claim(f"{name}: {cost:.1f} ms a wave", cost < 100) for name, cost in costs.items()]
    base = rows.curve("time", VCL)[0][1]
    claims.append(Claim(f"non-blocking hardly depends on waves: {100 * costs[VCL] / 1000 / base:.2f} % of the run a wave",
                        costs[VCL] / 1000 / base < 0.01))
    claims.append(Claim("a blocking wave costs more than a non-blocking one over TCP", costs[TCP] >= costs[VCL]))
    return claims


def system(lab: Lab) -> list[Row]:
    sizes = (4,) if lab.tiny else (2, 4, 8, 16)
    return by_waves(lab, {f"{ranks} ranks": (BLOCKING, ranks, "here") for ranks in lab.sizes(sizes)}, "time")


def system_claims(rows: Rows) -> list[Claim]:
    costs = {name: per_wave(rows, name) for name in dict.fromkeys(r.series for r in rows.rows)}
    listed = ", ".join(f"{cost:.1f} ms on {name}" for name, cost in costs.items())
    return [Claim(f"a wave costs {listed} (paper: the same slope for all)", max(costs.values()) < 100)]


# ---- figures 9 and 10 ------------------------------------------------------------------------------------------------

# The images of one rank of BT class B on 400 processes, and the paper's network between clusters.
GRID = ("--latency", "5ms", "--bandwidth", "12.5M", "--per-server", "4", "--image", "4M", "--step", "100ms", "--payload", "40K")
GRID_RUN_S = 100.0


def grid_wave(lab: Lab, ranks: int) -> tuple[float, str]:
    """Seconds of a blocking wave on so many ranks: markers by the machines, images by the model."""
    found = simulated(lab, "blocking", [ranks], GRID)[ranks]
    return found["wave ms"] / 1e3, SIMULATED


def grid_frequency(lab: Lab) -> list[Row]:
    ranks = 64 if lab.tiny else 512
    wave, source = grid_wave(lab, ranks)
    rows = []
    for interval in (10, 20, 30, 60, 120):
        # The next wave begins an interval after the last one has ended, and each holds communication for `wave`.
        count = int(GRID_RUN_S / interval)
        time = GRID_RUN_S + count * wave
        rows.append(row("by the time between waves", BLOCKING, interval, [time], "s", source))
        rows.append(row("by the number of waves", BLOCKING, count, [time], "s", source))
    return rows


def grid_frequency_claims(rows: Rows) -> list[Claim]:
    per = slope(rows.curve("by the number of waves", BLOCKING, SIMULATED))
    most = max(value for _, value in rows.curve("by the time between waves", BLOCKING, SIMULATED))
    # A marker has to cross the network, and an order before it.
    return [Claim(f"a wave holds communication for {1000 * per:.0f} ms, two latencies or more", per >= 0.0099, True),
            Claim(f"a wave every 10 s adds {100 * (most / GRID_RUN_S - 1):.2f} % to the run time", None)]


def grid_sizes(lab: Lab) -> list[Row]:
    rows = []
    for ranks in ((16, 64) if lab.tiny else (64, 128, 256, 512)):
        wave, source = grid_wave(lab, ranks)
        rows.append(row("wave", BLOCKING, ranks, [1000 * wave], "ms", source))
    for ranks in ((4,) if lab.tiny else lab.sizes((4, 16, 64))):
        # Real processes, as far as two processors go.
        each = job(lab, BLOCKING, ranks, "100ms" if lab.tiny else "1s", "tcp", 8 if lab.tiny else 1)
        found = lab.measure([each], 1)[each]
        rows.append(row("wave", "blocking, this machine", ranks, [r.counter("waves", "duration_ms_mean") for r in found], "ms"))
    return rows


def grid_sizes_claims(rows: Rows) -> list[Claim]:
    curve = rows.curve("wave", BLOCKING, SIMULATED)
    growth = curve[-1][1] / curve[0][1]
    return [Claim(f"from {curve[0][0]:.0f} to {curve[-1][0]:.0f} ranks a wave becomes {growth:.2f} times as long",
                  growth <= curve[-1][0] / curve[0][0], True)]


HERE = "Two processors run all ranks of CG class A."

FIGURES = [
    Figure(PAPER_NAME, "5", "Number of checkpoint servers", "checkpoint servers", "", servers, KINDS, servers_claims,
           setting="CG class A on up to 8 ranks, hosts in network namespaces at 100 Mbit/s, a second from wave to wave. The paper "
                   "has BT class B on 64 ranks and Gigabit Ethernet."),
    Figure(PAPER_NAME, "6", "Number of processes and four frequencies", "ranks", "s", processes, (VDUMMY, *KINDS),
           processes_claims, log="x", setting=f"{HERE} The paper has BT class B on 25 to 256 ranks."),
    Figure(PAPER_NAME, "7", "Number of waves", "waves", "s", number, (SHM, TCP, VCL), number_claims,
           setting=f"{HERE} 4 ranks. The paper has CG class C on 64 ranks and Myrinet.",
           why="Our channels are closed only until the images are taken, not until they are stored. Images are copied by a "
               "child process and hold only what changed, so a blocking wave costs milliseconds."),
    Figure(PAPER_NAME, "8", "Size of the system and number of waves", "waves", "s", system,
           ("2 ranks",), system_claims, setting=HERE, tiny=("4 ranks",)),
    Figure(PAPER_NAME, "9", "Frequency of waves at large scale", "", "s", grid_frequency, (BLOCKING,), grid_frequency_claims,
           setting="512 ranks simulated (the paper: 400), 5 ms and 100 Mbit/s between them. The machines run the markers. The "
                   "run time is computed from that, so it is linear in the number of waves by construction."),
    Figure(PAPER_NAME, "10", "Number of ranks at large scale", "ranks", "ms", grid_sizes, (BLOCKING,), grid_sizes_claims,
           log="xy", setting="As figure 9, beside real processes on this machine. The paper goes to 529 ranks."),
]
