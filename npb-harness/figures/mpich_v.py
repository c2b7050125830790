"""MPICH-V 2006: the four families of protocols side by side, without faults and with more and more of them."""

from __future__ import annotations

from .event_logger import KERNELS_NOTE, VDUMMY, causal, netpipe, raw
from .lab import LABELS, TINY, Job, Lab
from .model import Claim, Figure, Row, Rows, row

PAPER_NAME = "mpich-v-2006"
V1, V2, CAUSAL, VCL = "V1 channel-memory", "V2 pessimistic", "causal", "Vcl nonblocking"
LOCAL = "Vcl with local images"
DEFAULT = "our default"
PROTOCOLS = (V1, V2, CAUSAL, VCL, DEFAULT)
RANKS = {"cg": (4, 16), "lu": (4, 16), "bt": (4, 16), "is": (4, 16)}


def options(name: str, place: str, ranks: int = 2) -> tuple[str, ...]:
    """The options of a protocol, as the paper has it. Our default is pessimistic logging of what the program does not
    determine."""
    rings = () if place == "tcp" else ("--event-rings", "off")
    return {
        VDUMMY: ("--protocol", "none"),
        V1: ("--protocol", "channel-memory", "--channel-memories", str(max(1, ranks // 4))),
        V2: ("--protocol", "pessimistic", "--events", "all", *rings),
        CAUSAL: causal("vcausal with logger", place),
        VCL: ("--protocol", "coordinated", "--wave", "nonblocking"),
        LOCAL: ("--protocol", "coordinated", "--wave", "nonblocking", "--images", "local+remote"),
        DEFAULT: ("--protocol", "pessimistic"),
    }[name]


# ---- figure 7 --------------------------------------------------------------------------------------------------------

def ping_pong(lab: Lab, value, unit: str, panel: str) -> list[Row]:
    place = lab.place("slow")
    # The memories of the network of hosts are on the launcher's host: a host of their own.
    jobs = {name: netpipe(lab, options(name, place), place) for name in (VDUMMY, *PROTOCOLS)}
    found = lab.measure(list(jobs.values()))
    curves = raw(lab)
    rows = [row(panel, "raw", size, [value(size, curve[size]) for curve in curves], unit) for size in curves[0]]
    for name, job in jobs.items():
        rows += [row(panel, name, size, [value(size, r.pairs[size]) for r in found[job]], unit) for size in found[job][0].pairs]
    return rows


def latency(lab: Lab) -> list[Row]:
    return ping_pong(lab, lambda size, us: us, "us", "latency")


def bandwidth(lab: Lab) -> list[Row]:
    return ping_pong(lab, lambda size, us: size * 8 / us, "Mbit/s", "bandwidth")


def latency_claims(rows: Rows) -> list[Claim]:
    at = {name: rows.value("latency", name, 1) for name in (VDUMMY, *PROTOCOLS)}
    return [
        Claim(f"one byte: V1 takes {at[V1] / at[VDUMMY]:.2f} of the framework (paper: a high constant factor)", at[V1] > at[VDUMMY]),
        Claim(f"one byte: V2 takes {at[V2] / at[CAUSAL]:.2f} of causal (paper: clearly more)", at[V2] > at[CAUSAL]),
        Claim(f"one byte: our default takes {at[DEFAULT] / at[VDUMMY]:.2f} of the framework", at[DEFAULT] <= 1.05 * at[VDUMMY]),
    ]


def bandwidth_claims(rows: Rows) -> list[Claim]:
    at = {name: rows.curve("bandwidth", name)[-1][1] for name in (VDUMMY, *PROTOCOLS)}
    return [Claim(f"largest message: V1 reaches {at[V1] / at[VDUMMY]:.2f} of the framework (paper: half)", at[V1] < 0.75 * at[VDUMMY]),
            *(Claim(f"largest message: {name} reaches {at[name] / at[VDUMMY]:.2f} of the framework", at[name] > 0.9 * at[VDUMMY])
              for name in (V2, CAUSAL, VCL))]


# ---- figure 8 --------------------------------------------------------------------------------------------------------

def nas(lab: Lab) -> list[Row]:
    jobs = {}
    for kernel, sizes in ({TINY: (4,)} if lab.tiny else RANKS).items():
        program, arguments = lab.kernel(kernel)
        for ranks in lab.sizes(sizes):
            for name in (VDUMMY, *PROTOCOLS):
                jobs[kernel, ranks, name] = Job(program, arguments, ranks, options(name, "tcp", ranks), "tcp")
    found = lab.measure(list(jobs.values()))
    return [row(f"{LABELS[kernel]}, {ranks} ranks", "ftmpi", name,
                [a.seconds / b.seconds for a, b in zip(found[job], found[jobs[kernel, ranks, VDUMMY]])], "times none")
            for (kernel, ranks, name), job in jobs.items() if name != VDUMMY]


def nas_claims(rows: Rows) -> list[Claim]:
    claims = []
    for panel in rows.panels():
        at = {r.x: r.value for r in rows.of(panel=panel)}
        claims.append(Claim(f"{panel}: causal {at[CAUSAL]:.3f}, Vcl {at[VCL]:.3f} of none (paper: as none)",
                            max(at[CAUSAL], at[VCL]) <= 1.1))
        claims.append(Claim(f"{panel}: V2 {at[V2]:.3f} against causal {at[CAUSAL]:.3f} (paper: V2 is slower)", at[V2] >= at[CAUSAL]))
        claims.append(Claim(f"{panel}: our default {at[DEFAULT]:.3f} of none", at[DEFAULT] <= 1.05))
    return claims


# ---- figure 9 --------------------------------------------------------------------------------------------------------

FAULTED = (V1, V2, CAUSAL, VCL, LOCAL)
ENDS = "shortest interval of faults that ends"


def fault_jobs(lab: Lab) -> dict[tuple[str, float], Job]:
    """Each protocol under each interval of faults in seconds. 0: no faults."""
    program, arguments = lab.kernel(TINY, seconds=0.8) if lab.tiny else lab.kernel("cg")
    place = lab.place("slow")
    names = (V2, VCL) if lab.tiny else FAULTED
    every, interval = ((0, 0.4 * lab.patience), "50ms") if lab.tiny else ((0, 16, 8, 4, 2, 1), "1s")
    jobs = {}
    for name in names:
        for seconds in every:
            faults = ("--inject", f"kill:every={round(seconds * 1000)}ms,count=10000,seed=SEED", "--max-restarts", "100000")
            jobs[name, seconds] = Job(program, arguments, 4, (*options(name, place, 4), "--ckpt-interval", interval,
                                                              *(faults if seconds else ())), place,
                                      timeout=40 * lab.patience if lab.tiny else 75, may_hang=seconds > 0)
    return jobs


def faults(lab: Lab) -> list[Row]:
    jobs = fault_jobs(lab)
    found = lab.measure(list(jobs.values()), max(1, lab.rounds // 3))
    base = [r.wall for r in found[jobs[VCL, 0]]]
    rows, ends = [], {}
    for (name, seconds), job in jobs.items():
        walls = [(r.wall / b, r.seconds is not None) for r, b in zip(found[job], base)]
        per_minute = 60 / seconds if seconds else 0
        if all(ended for _, ended in walls):
            rows.append(row("slowdown", name, per_minute, [100 * wall for wall, _ in walls], "% of Vcl without faults"))
            if seconds:
                ends[name] = min(seconds, ends.get(name, seconds))
    return rows + [row(ENDS, name, 0, [value], "s") for name, value in ends.items()]


def faults_claims(rows: Rows) -> list[Claim]:
    ends = {r.series: r.value for r in rows.of(panel=ENDS)}
    claims = [Claim(f"{name}: ends down to one fault in {seconds:g} s", None) for name, seconds in ends.items()]
    if V1 in ends and VCL in ends:
        logging = min(ends.get(name, 1e9) for name in (V1, V2, CAUSAL))
        claims.append(Claim(f"logging ends down to {logging:g} s, coordination with remote images to {ends[VCL]:g} s",
                            logging <= ends[VCL]))
    # The short form has one interval, and every run ends.
    wanted = (V2, VCL) if V1 not in {r.series for r in rows.rows} else ()
    claims += [Claim(f"{name} ends under faults", name in ends, True) for name in wanted]
    return claims


FIGURES = [
    Figure(PAPER_NAME, "7a", "Latency of a ping-pong", "bytes", "us", latency, ("raw", VDUMMY, *PROTOCOLS), latency_claims,
           log="xy", setting="Hosts in network namespaces at 100 Mbit/s. Raw is a bare TCP connection.",
           why="V2 waits for the logger's acknowledgement before each send. Our default logs only what the program does not "
               "determine: a receive from a named rank needs no event, so nothing waits."),
    Figure(PAPER_NAME, "7b", "Bandwidth of a ping-pong", "bytes", "Mbit/s", bandwidth, ("raw", VDUMMY, *PROTOCOLS),
           bandwidth_claims, log="xy", setting="As figure 7a."),
    Figure(PAPER_NAME, "8", "Kernels under each protocol", "", "time by that of none", nas, ("ftmpi",), nas_claims, "bars",
           setting=KERNELS_NOTE),
    Figure(PAPER_NAME, "9", "Run time by the frequency of faults", "faults a minute", "% of Vcl without faults", faults,
           FAULTED, faults_claims, log="y", tiny=(V2, VCL),
           setting="CG class A on 4 ranks, images every second, random ranks die. The paper has BT class B on 25 nodes and "
                   "images every few minutes. A run that has not ended after 75 s makes no progress. One round of each.",
           why="The paper's images take minutes, ours tenths of a second, so progress ends at faults in seconds instead of "
               "minutes."),
]
