"""What a figure is: rows of numbers, what a reader should see in them, and how they are drawn.

Every figure has the same columns. `source` says where a number comes from: `measured` on this machine, `simulated` by
the production machines, `extrapolated` from those, or `paper`."""

from __future__ import annotations

import csv
import math
import statistics
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

MEASURED, SIMULATED, EXTRAPOLATED, PAPER = "measured", "simulated", "extrapolated", "paper"


class Missing(Exception):
    """A figure cannot be made on this machine. The text says why."""


@dataclass(frozen=True)
class Row:
    """One number: the median of the rounds, with the smallest and the largest."""

    panel: str
    series: str
    x: float | str
    value: float
    low: float
    high: float
    rounds: int
    unit: str
    source: str = MEASURED


COLUMNS = [column.name for column in fields(Row)]


@dataclass(frozen=True)
class Claim:
    """What a reader should see in a figure. A claim that is `certain` does not depend on this machine's speed or load:
    where it does not hold, the command fails. `holds` is None for a value that is only told."""

    text: str
    holds: bool | None
    certain: bool = False


@dataclass
class Figure:
    """One figure or table of a paper."""

    paper: str
    number: str
    title: str
    x: str
    y: str
    measure: Callable          # of a Lab: the rows
    series: tuple[str, ...]    # what must have rows
    claims: Callable[[Rows], list[Claim]]
    kind: str = "lines"        # or "bars"
    log: str = ""              # the axes with logarithms: "x", "y", "xy"
    setting: str = ""          # what differs from the paper's experiment
    why: str = ""              # where the differences come from
    tiny: tuple[str, ...] = () # the series of the short form, if it has fewer

    @property
    def name(self) -> str:
        return f"{self.paper}/{self.number}"

    @property
    def file(self) -> str:
        return f"{self.paper}-{self.number}"

    def about(self) -> dict:
        """What drawing and the page need."""
        names = ("paper", "number", "title", "x", "y", "kind", "log", "setting", "why")
        return {name: getattr(self, name) for name in names} | {"name": self.name, "file": self.file}


@dataclass
class Rows:
    """The rows of a figure, to be asked for values."""

    rows: list[Row] = field(default_factory=list)

    def of(self, source: str | None = None, **wanted) -> list[Row]:
        return [row for row in self.rows if (source is None or row.source == source)
                and all(getattr(row, name) == value for name, value in wanted.items())]

    def value(self, panel: str, series: str, x: float | str, source: str = MEASURED) -> float | None:
        found = self.of(source, panel=panel, series=series, x=x)
        return found[0].value if found else None

    def curve(self, panel: str, series: str, *sources: str) -> list[tuple[float, float]]:
        wanted = sources or (MEASURED,)
        return sorted((row.x, row.value) for row in self.rows
                      if row.panel == panel and row.series == series and row.source in wanted)

    def panels(self) -> list[str]:
        """The panels with numbers of ours."""
        return list(dict.fromkeys(row.panel for row in self.rows if row.source != PAPER))


def row(panel: str, series: str, x: float | str, values: Iterable[float], unit: str, source: str = MEASURED) -> Row:
    """The row of these values, of one round each."""
    values = list(values)
    if not values:
        raise Missing(f"{panel}, {series}, {x}: there is no value")
    return Row(panel, series, x, statistics.median(values), min(values), max(values), len(values), unit, source)


def paper(panel: str, series: str, x: float | str, value: float, unit: str) -> Row:
    """A number of the paper. Its rounds are not known one by one."""
    return Row(panel, series, x, value, value, value, 0, unit, PAPER)


def write_csv(rows: list[Row], file: Path) -> None:
    with file.open("w", newline="") as out:
        writer = csv.DictWriter(out, COLUMNS)
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


def problem_of_csv(series: tuple[str, ...], rows: list[Row], file: Path) -> str | None:
    """The problem of a written file, or None."""
    with file.open(newline="") as text:
        read = list(csv.DictReader(text))
    if len(read) != len(rows):
        return f"{len(read)} rows instead of {len(rows)}"
    for number, line in enumerate(read):
        if list(line) != COLUMNS or None in line.values():
            return f"row {number + 1} has other columns than {', '.join(COLUMNS)}"
        values = [float(line[name]) for name in ("value", "low", "high")]
        if not all(math.isfinite(value) for value in values):
            return f"row {number + 1} has no finite value"
        if not values[1] <= values[0] <= values[2]:
            return f"row {number + 1}: the median is outside of low and high"
    ours = {line["series"] for line in read if line["source"] != PAPER}
    absent = [name for name in series if name not in ours]
    return f"no row of {', '.join(absent)}" if absent else None


def growth(curve: list[tuple[float, float]]) -> float:
    """The exponent of the power law between the first and the last point of a curve."""
    (x0, y0), (x1, y1) = curve[0], curve[-1]
    if min(x0, y0, x1, y1) <= 0 or x0 == x1:
        return 0.0
    return math.log(y1 / y0) / math.log(x1 / x0)


def slope(points: list[tuple[float, float]]) -> float:
    """The slope of the straight line of least squares."""
    mean_x, mean_y = (statistics.fmean(values) for values in zip(*points))
    width = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / width if width else 0.0
