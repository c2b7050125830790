"""Measures what it costs to watch a job: `--trace`, and `--dashboard` with a viewer.

Every round runs each kernel plain and watched, in an order that is reversed from round to round. An overhead is the
median over the rounds of the quotient of two times of one round. The kernels are CG, a wavefront with the messages of LU,
and a ping-pong of 8 bytes, which makes calls as fast as a program can."""

from __future__ import annotations

import http.client
import json
import re
import socket
import statistics
import threading
from dataclasses import dataclass, field
from pathlib import Path

from harness.core import KERNELS, Results, TESTS, run

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
    line: str = r"^time ([\d.]+) s"
    seconds: dict[str, list[float]] = field(default_factory=dict)


def kernels(tiny: bool) -> list[Kernel]:
    here = Path(__file__).resolve().parent
    return [
        Kernel("CG", KERNELS / "cg.c", 2, ["--class", "S" if tiny else "W", "--repeat", "1" if tiny else "12"]),
        Kernel("CG, 4 ranks on 2 processors", KERNELS / "cg.c", 4, ["--class", "S", "--repeat", "1" if tiny else "60"]),
        Kernel("wavefront", TESTS / "kernels" / "wavefront.c", 2, ["--repeat", "2" if tiny else "150"]),
        Kernel("ping-pong of 8 bytes", here / "watching.c", 2, ["20000" if tiny else "20000000"]),
    ]


def compile_all(dist: Path, work: Path, chosen: list[Kernel], results: Results) -> dict[str, Path]:
    programs = {}
    for kernel in chosen:
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


def one(dist: Path, work: Path, kernel: Kernel, program: Path, way: str) -> tuple[float | None, str]:
    """The time of one run, or why there is none."""
    options, viewer, stop = [], None, threading.Event()
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
                  timeout=600, cwd=work)
    stop.set()
    if viewer:
        viewer.join(15)
    found = re.search(kernel.line, outcome.out, re.M)
    return (float(found[1]), "") if outcome.code == 0 and found else (None, outcome.output_tail())


def overheads(kernel: Kernel) -> dict[str, dict[str, float]]:
    """For each way the median of the quotients, and the quartiles."""
    plain = kernel.seconds[PLAIN]
    table = {}
    for way, seconds in kernel.seconds.items():
        quotients = sorted(one / base for one, base in zip(seconds, plain))
        low, high = (statistics.quantiles(quotients, n=4)[::2] if len(quotients) > 1 else quotients * 2)
        table[way] = {"seconds": statistics.median(seconds), "cost": statistics.median(quotients), "low": low, "high": high}
    return table


def measure(dist: Path, work: Path, results: Results, rounds: int, tiny: bool, out: Path) -> None:
    chosen = kernels(tiny)
    programs = compile_all(dist, work, chosen, results)
    for number in range(rounds):
        for kernel in (kernel for kernel in chosen if kernel.name in programs):
            for way in WAYS if number % 2 == 0 else WAYS[::-1]:
                seconds, why = one(dist, work, kernel, programs[kernel.name], way)
                if seconds is None:
                    results.bad(f"{kernel.name}, {way}", why)
                    programs.pop(kernel.name)
                    break
                kernel.seconds.setdefault(way, []).append(seconds)
        print(f"round {number + 1} of {rounds}", flush=True)
    whole = {}
    for kernel in (kernel for kernel in chosen if kernel.name in programs):
        whole[kernel.name] = overheads(kernel)
        for way, row in whole[kernel.name].items():
            print(f"{kernel.name:<30} {way:<14} {row['seconds']:8.3f} s  x {row['cost']:.4f}  "
                  f"({row['low']:.4f} to {row['high']:.4f})")
        results.good(kernel.name, f"goal: at most {GOAL}")
    if not tiny:
        out.mkdir(parents=True, exist_ok=True)
        (out / "watching.json").write_text(json.dumps(whole, indent=1))
        print(f"written: {out / 'watching.json'}")
