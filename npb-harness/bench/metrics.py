"""The measured values, and the table of ratios.

Every round measures every library once. A ratio is our value divided by the reference's value of the same round. The
reference is the best peer, a named peer, or the floor. The table shows the medians of the ratios and their spread."""

from __future__ import annotations

import csv
import statistics
from dataclasses import dataclass, field
from pathlib import Path

from .libraries import DEFAULT, LOGGED, OURS

BEST = "best peer"
FLOOR = "floor"
# Our ways to run a program: the library, the field of its goal, its name in the table.
WAYS = ((OURS, "goal", "none"), (LOGGED, "goal_logged", "logged"), (DEFAULT, "goal_default", "default"))


@dataclass
class Metric:
    """Smaller is better."""

    name: str
    unit: str = "us"
    against: str = BEST           # or the name of a library, or "floor"
    goal: float | None = None     # our value divided by the reference's, at most
    goal_logged: float | None = None
    goal_default: float | None = None
    values: dict[str, list[float]] = field(default_factory=dict)

    def add(self, library: str, value: float) -> None:
        self.values.setdefault(library, []).append(value)

    def reference(self) -> list[float]:
        if self.against != BEST:
            return self.values.get(self.against, [])
        peers = [v for n, v in self.values.items() if not n.startswith("ftmpi") and n != FLOOR]
        rounds = max((len(v) for v in peers), default=0)
        return [min(v[r] for v in peers if r < len(v)) for r in range(rounds)]


def rows(metrics: list[Metric]) -> list[dict]:
    """One row for each metric that has values of ours."""
    table = []
    for metric in metrics:
        if not any(metric.values.get(name) for name, _, _ in WAYS):
            continue
        row = {"metric": metric.name, "unit": metric.unit, "against": metric.against}
        for name, values in metric.values.items():
            row[name] = statistics.median(values)
        for name, field_name, _ in WAYS:
            goal = row[field_name] = getattr(metric, field_name)
            ours = metric.values.get(name, []) if name != metric.against else []
            ratios = [a / b for a, b in zip(ours, metric.reference()) if b > 0]
            if ratios:
                row[f"ratio {name}"] = statistics.median(ratios)
                row[f"low {name}"], row[f"high {name}"] = min(ratios), max(ratios)
            ratio = row.get(f"ratio {name}")
            row[f"met {name}"] = None if ratio is None or goal is None else ratio <= goal
        table.append(row)
    return table


def verdict(row: dict) -> str:
    """Whether the goals of a row are met, in words."""
    parts = []
    for name, field_name, kind in WAYS:
        met = row[f"met {name}"]
        if met is not None:
            by = "" if met else f" by {row[f'ratio {name}'] / row[field_name]:.2f}"
            parts.append(f"{kind} {'met' if met else 'missed' + by}")
    return ", ".join(parts)


def show(table: list[dict], names: list[str]) -> None:
    ways = [way for way in WAYS if any(f"ratio {way[0]}" in row for row in table)]
    lines = [["", *names, *(f"{kind} / ref." for _, _, kind in ways), "reference", "goals", ""]]
    for row in table:
        cells = [f"{row['metric']} [{row['unit']}]"]
        cells += [f"{row[n]:.3g}" if n in row else "-" for n in names]
        for name, _, _ in ways:
            key = f"ratio {name}"
            cells.append(f"{row[key]:.2f} ({row['low ' + name]:.2f}-{row['high ' + name]:.2f})"
                         if key in row else "-")
        goals = [f"{row[field_name]:.3g}" for _, field_name, _ in WAYS if row[field_name]]
        cells += [row["against"], " ".join(goals), verdict(row)]
        lines.append(cells)
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip(), flush=True)


def write_csv(table: list[dict], path: Path) -> None:
    fields = sorted({key for row in table for key in row}, key=lambda k: (k not in ("metric", "unit"), k))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fields)
        writer.writeheader()
        writer.writerows(table)


def label(size: int) -> str:
    """A number of bytes in the usual units."""
    for factor, unit in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= factor:
            return f"{size // factor} {unit}"
    return f"{size} B"
