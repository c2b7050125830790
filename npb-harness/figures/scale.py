"""Numbers of `ftmpi-sim scale`: the production machines on simulated time, beyond the ranks that this machine runs."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path

from harness.core import run

from .lab import Lab
from .model import Missing


def simulated(lab: Lab, variant: str, sizes: list[int], model: tuple[str, ...] = (), most: int = 0) -> dict[int, dict]:
    """For each number of ranks the columns of `ftmpi-sim scale`, under this model. Beyond `most` ranks the columns are
    continued by a power law, and `extrapolated` is true. 0: the machines run at every size."""
    if lab.simulator is None:
        raise Missing("ftmpi-sim is not built: cargo build --release -p ftmpi-sim")
    words = ["scale", "--protocol", variant, "--sizes", ",".join(map(str, sizes)), "--run", str(most or max(sizes)), *model]

    def once() -> dict:
        with tempfile.TemporaryDirectory(dir=lab.work) as folder:
            file = Path(folder) / "scale.csv"
            outcome = run([lab.simulator, *words, "--csv", file], timeout=1800)
            if outcome.code != 0:
                raise Missing(f"ftmpi-sim {' '.join(words)}: {outcome.output_tail()}")
            return {"model": outcome.out.splitlines()[0], "csv": file.read_text()}

    kept = lab.keep({"simulated": words}, 0, once)
    table = {}
    for line in csv.DictReader(io.StringIO(kept["csv"])):
        values = {name: float(value) for name, value in line.items() if name not in ("protocol", "ranks", "extrapolated")}
        table[int(line["ranks"])] = {**values, "extrapolated": line["extrapolated"] == "true"}
    return table
