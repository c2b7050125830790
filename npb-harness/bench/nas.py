"""Measures the cost of every protocol on the NAS Parallel Benchmarks, against our own `none` of the same round.

Every kernel runs once in every round with every variant. The order is reversed from round to round. A cost is the median
over the rounds of the quotient of two times of one round. A cost of several kernels is the geometric mean of their
costs. FT and IS move most bytes. They are not in that mean but listed separately, with the bytes in the logs and the
rate at which this machine copies bytes."""

from __future__ import annotations

import json
import math
import re
import statistics
from dataclasses import dataclass, field
from pathlib import Path

from harness import npb
from harness.core import Results, Setting, run

from .libraries import Library

NONE = "none"
APART = ("ft", "is")
ALL = ["--events", "all"]

# The arguments of `--protocol`. Where both kinds exist, only nondeterministic events are logged, as by default.
VARIANTS: dict[str, list[str]] = {
    NONE: ["none"],
    "default": ["auto"],
    "pessimistic": ["pessimistic"],
    "causal": ["causal"],
    "causal, no logger": ["causal", "--event-logger", "off"],
    "optimistic": ["optimistic"],
    "coordinated": ["coordinated"],
    "hierarchical": ["hierarchical", "--cluster", "2"],
    "channel-memory": ["channel-memory"],
    "pessimistic, all": ["pessimistic", *ALL],
    "causal, all": ["causal", *ALL],
    "optimistic, all": ["optimistic", *ALL],
}


@dataclass
class Cell:
    """One kernel with one variant: the seconds of each round, and values of the reports (images of each rank)."""

    seconds: list[float] = field(default_factory=list)
    images: list[int] = field(default_factory=list)
    logged: list[int] = field(default_factory=list)
    determinants: list[int] = field(default_factory=list)


def seconds_of(text: str) -> float | None:
    """The time of the timed part, as the kernel prints it."""
    found = re.search(r"Time in seconds\s*=\s*([\d.]+)", text)
    return float(found[1]) if found else None


class Runs:
    """All rounds of all kernels, and their table."""

    def __init__(self, setting: Setting, suite: npb.Suite, ranks: int, options: list[str], peers: list[Library]):
        self.setting, self.suite, self.ranks, self.options = setting, suite, ranks, options
        self.peers = {peer.name: peer for peer in peers}
        self.cells: dict[tuple[str, str], Cell] = {}
        self.copy_gb_s: float | None = None
        # The wanted number of images of each rank in a run. The first run without images gives the interval.
        self.images: int | None = None

    @property
    def results(self) -> Results:
        return self.setting.results

    def once(self, kernel: str, program: Path, variant: str) -> None:
        """Runs a kernel once. A run that does not verify is a failure of ours, or leaves the peer out."""
        folder = self.setting.new_folder("run")
        report_file, env = folder / "report.json", {}
        if variant in self.peers:
            command, env = self.peers[variant].command(self.ranks, False, [str(program)])
        else:
            command = [*self.setting.mpiexec(self.ranks, "--protocol", *VARIANTS[variant], *self.options,
                                             *self.interval(kernel, variant), "--report", report_file), program]
        outcome = run(command, timeout=self.setting.timeout, cwd=folder, env=env)
        problem, seconds = npb.verified(outcome), seconds_of(outcome.out)
        if problem or seconds is None:
            line = (f"{kernel} under {variant}", problem or "tells no time")
            (self.results.skip if variant in self.peers else self.results.bad)(*line)
            return
        cell = self.cells.setdefault((kernel, variant), Cell())
        cell.seconds.append(seconds)
        if variant not in self.peers:
            report = json.loads(report_file.read_text())
            cell.images.append(report["checkpoints"]["count"] // self.ranks)
            cell.logged.append(report["logs"]["peak_bytes"])
            cell.determinants.append(report["messages"]["determinants"])

    def interval(self, kernel: str, variant: str) -> list[str]:
        none = self.cells.get((kernel, NONE))
        if not self.images or variant == NONE or none is None:
            return []
        # The first images are spread over one interval.
        return ["--ckpt-interval", f"{max(100, int(none.seconds[0] * 1000 / (self.images + 0.4)))}ms"]

    def cost(self, kernel: str, variant: str) -> list[float]:
        """The quotients of all rounds in which both variants ran."""
        ours, none = self.cells.get((kernel, variant)), self.cells.get((kernel, NONE))
        return [a / b for a, b in zip(ours.seconds, none.seconds) if b > 0] if ours and none else []

    def mean(self, variant: str, kernels: list[str]) -> float | None:
        costs = [self.cost(kernel, variant) for kernel in kernels]
        if not costs or not all(costs):
            return None
        return math.exp(statistics.fmean(math.log(statistics.median(cost)) for cost in costs))

    def table(self, kernels: list[str], variants: list[str]) -> list[dict]:
        """One row for each variant."""
        together = [kernel for kernel in kernels if kernel.split(".")[0] not in APART]
        rows = []
        for variant in variants:
            row: dict = {"variant": variant, "mean": self.mean(variant, together)}
            for kernel in kernels:
                cell = self.cells.get((kernel, variant))
                if cell is None:
                    continue
                cost = self.cost(kernel, variant)
                row[f"{kernel} s"] = statistics.median(cell.seconds)
                if cost:
                    row[f"{kernel} cost"] = statistics.median(cost)
                    row[f"{kernel} low"], row[f"{kernel} high"] = min(cost), max(cost)
                for name in ("images", "logged", "determinants"):
                    if report := getattr(cell, name):
                        row[f"{kernel} {name}"] = int(statistics.median(report))
            rows.append(row)
        return rows

    def show(self, kernels: list[str], rows: list[dict]) -> None:
        lines = [["", *kernels, "geometric mean"], ["none [s]"]]
        base = next((row for row in rows if row["variant"] == NONE), {})
        lines[1] += [f"{base[f'{k} s']:.2f}" if f"{k} s" in base else "-" for k in kernels] + ["1"]
        for row in rows:
            if row["variant"] == NONE:
                continue
            cells = [row["variant"]]
            for kernel in kernels:
                key = f"{kernel} cost"
                cells.append(f"{row[key]:.3f} ({row[f'{kernel} low']:.2f}-{row[f'{kernel} high']:.2f})"
                             if key in row else "-")
            lines.append([*cells, f"{row['mean']:.3f}" if row["mean"] else "-"])
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        for line in lines:
            print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
        for kernel in kernels:
            for row in rows:
                logged = row.get(f"{kernel} logged", 0)
                if kernel.split(".")[0] in APART and logged:
                    copied = f", {logged / 1e9 / self.copy_gb_s:.2f} s of copying" if self.copy_gb_s else ""
                    print(f"{kernel} under {row['variant']}: at most {logged / 1e6:.0f} MB in the logs{copied}")
        few = [f"{kernel} under {row['variant']} ({row[f'{kernel} images']})" for row in rows for kernel in kernels
               if 0 < row.get(f"{kernel} images", 0) < 3]
        if few:
            print("fewer than three images of each rank: " + ", ".join(few))


def copy_rate() -> float:
    """GB/s of copying between two buffers that exceed every cache: the best of a few."""
    import time
    source, target = bytearray(b"x" * (256 << 20)), bytearray(256 << 20)
    best = math.inf
    for _ in range(4):
        begin = time.monotonic()
        target[:] = source
        best = min(best, time.monotonic() - begin)
    return len(source) / best / 1e9
