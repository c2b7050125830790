"""Measures what it costs to watch a job: `--trace`, and `--dashboard` with a viewer.

Every round runs each kernel plain and watched, in an order that is reversed from round to round. An overhead is the
median over the rounds of the quotient of two times of one round. The kernels are CG, a wavefront with the messages of LU,
and a ping-pong of 8 bytes, which makes calls as fast as a program can; with the sources of NAS also its CG and LU.

Times of runs differ by several per cent for other reasons. So the processor time of launcher, agents and servers is
measured, too: what they take more than in the plain run, as a share of all processors during the run. What a trace
costs within a call is counted by `c-tests/run.py speed`."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import statistics
import threading
from dataclasses import dataclass, field
from pathlib import Path

from harness import npb
from harness.core import KERNELS, Results, Setting, TESTS, descendants, run

PLAIN = "plain"
WAYS = (PLAIN, "--trace", "--dashboard", PLAIN + " again")
GOAL = 1.01


@dataclass
class Kernel:
    """A program, its number of ranks, its arguments, and the line with its time."""

    name: str
    source: Path
    ranks: int
    arguments: list[str]
    line: str = r"^(?:time| Time in seconds =) +([\d.]+)"
    seconds: dict[str, list[float]] = field(default_factory=dict)
    beside: dict[str, list[float]] = field(default_factory=dict)


def kernels(tiny: bool) -> list[Kernel]:
    here = Path(__file__).resolve().parent
    return [
        Kernel("CG", KERNELS / "cg.c", 2, ["--class", "S" if tiny else "W", "--repeat", "1" if tiny else "60"]),
        Kernel("CG, 4 ranks on 2 processors", KERNELS / "cg.c", 4, ["--class", "S", "--repeat", "1" if tiny else "240"]),
        Kernel("wavefront", TESTS / "kernels" / "wavefront.c", 2, ["--repeat", "2" if tiny else "600"]),
        Kernel("ping-pong of 8 bytes", here / "watching.c", 2, ["20000" if tiny else "20000000"]),
    ]


def nas_kernels(dist: Path, work: Path, sources: Path, results: Results, tiny: bool) -> list[Kernel]:
    """Programs of NAS on 2 ranks, from the folder NPB3.4-MPI."""
    suite, found = npb.Suite(Setting(dist, work, results), sources.resolve()), []
    for name, size in (("cg", "S" if tiny else "A"), ("lu", "S" if tiny else "W")):
        program, why = suite.build(name, size)
        if program is None:
            results.skip(f"NAS {name}.{size}", why)
        else:
            found.append(Kernel(f"NAS {name.upper()} class {size}", program, 2, []))
    return found


def compile_all(dist: Path, work: Path, chosen: list[Kernel], results: Results) -> dict[str, Path]:
    programs = {}
    for kernel in chosen:
        if kernel.source.suffix != ".c":
            programs[kernel.name] = kernel.source
            continue
        target = work / kernel.source.stem
        if not target.exists():
            made = run([dist / "bin" / "ftmpicc", "-O3", "-o", target, kernel.source, "-lm"], timeout=120)
            if made.code != 0:
                results.bad(kernel.name, made.output_tail())
                continue
        programs[kernel.name] = target
    return programs


def look(port: int, stop: threading.Event) -> None:
    """A viewer of the dashboard."""
    while not stop.wait(0.2):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            connection.request("GET", "/events", headers={"Host": "localhost"})
            answer = connection.getresponse()
            while not stop.is_set() and answer.readline():
                pass
        except OSError:
            pass
        finally:
            connection.close()


class Beside:
    """Processor time of launcher, agents and servers of one run."""

    def __init__(self) -> None:
        self.seconds: dict[int, float] = {}

    def look(self, launcher) -> None:
        for pid in (launcher.pid, *descendants(launcher.pid)):
            try:
                name, _, rest = Path("/proc", str(pid), "stat").read_text().partition("(")[2].rpartition(")")
            except OSError:
                continue
            if name.startswith("ftmpi"):
                fields = rest.split()
                self.seconds[pid] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def share(self, seconds: float) -> float:
        return sum(self.seconds.values()) / seconds / len(os.sched_getaffinity(0))


def one(dist: Path, work: Path, kernel: Kernel, program: Path, way: str) -> tuple[float | None, float, str]:
    """The time of one run and the share of processors beside it, or why there is none."""
    options, viewer, stop, beside = [], None, threading.Event(), Beside()
    if way == "--trace":
        options = ["--trace", work / "run.trace"]
    elif way == "--dashboard":
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        options = ["--dashboard", str(port)]
        viewer = threading.Thread(target=look, args=(port, stop), daemon=True)
        viewer.start()
    outcome = run([dist / "bin" / "ftmpiexec", "-n", str(kernel.ranks), *options, program, *kernel.arguments],
                  timeout=600, cwd=work, meanwhile=beside.look)
    stop.set()
    if viewer:
        viewer.join(15)
    found = re.search(kernel.line, outcome.out, re.M)
    if outcome.code != 0 or not found:
        return None, 0, outcome.output_tail()
    return float(found[1]), beside.share(outcome.seconds), ""


def overheads(kernel: Kernel) -> dict[str, dict[str, float]]:
    """For each way the median of the quotients, and the quartiles."""
    plain = kernel.seconds[PLAIN]
    table = {}
    for way, seconds in kernel.seconds.items():
        quotients = sorted(one / base for one, base in zip(seconds, plain))
        low, high = (statistics.quantiles(quotients, n=4)[::2] if len(quotients) > 1 else quotients * 2)
        more = [one - base for one, base in zip(kernel.beside[way], kernel.beside[PLAIN])]
        table[way] = {"seconds": statistics.median(seconds), "cost": statistics.median(quotients), "low": low, "high": high,
                      "beside": statistics.median(more)}
    return table


def measure(dist: Path, work: Path, results: Results, rounds: int, tiny: bool, out: Path, sources: Path | None = None) -> None:
    chosen = kernels(tiny) + (nas_kernels(dist, work, sources, results, tiny) if sources else [])
    programs = compile_all(dist, work, chosen, results)
    for number in range(rounds):
        for kernel in (kernel for kernel in chosen if kernel.name in programs):
            for way in WAYS if number % 2 == 0 else WAYS[::-1]:
                seconds, share, why = one(dist, work, kernel, programs[kernel.name], way)
                if seconds is None:
                    results.bad(f"{kernel.name}, {way}", why)
                    programs.pop(kernel.name)
                    break
                kernel.seconds.setdefault(way, []).append(seconds)
                kernel.beside.setdefault(way, []).append(share)
        print(f"round {number + 1} of {rounds}", flush=True)
    whole = {}
    for kernel in (kernel for kernel in chosen if kernel.name in programs):
        whole[kernel.name] = overheads(kernel)
        for way, row in whole[kernel.name].items():
            print(f"{kernel.name:<30} {way:<14} {row['seconds']:8.3f} s  x {row['cost']:.4f}  "
                  f"({row['low']:.4f} to {row['high']:.4f})  beside {100 * row['beside']:+.2f} % of the processors")
        results.good(kernel.name, f"goal: at most {GOAL}")
    if not tiny:
        out.mkdir(parents=True, exist_ok=True)
        (out / "watching.json").write_text(json.dumps(whole, indent=1))
        print(f"written: {out / 'watching.json'}")
