#!/usr/bin/env python3
"""Measures the cost of each protocol on the NAS Parallel Benchmarks, paired with `none`, and a peer on the same
binaries.

The user has the sources (`NPB3.4-MPI` of NASA's NPB 3.4). They are copied and compiled by `ftmpifort` and `ftmpicc`.
The same binaries run with Intel MPI's runtime, if that is below `.peers/`.

    npb-harness/npb.py --npb NPB3.4-MPI [--rounds 5] [--kernels cg.A,mg.A,ft.A] [--ranks 4] [--out npb-results]
    npb-harness/npb.py --npb NPB3.4-MPI --protocols pessimistic,causal -- --ckpt-interval 5s

The arguments behind `--` go to every `ftmpiexec`. Output: costs.csv, costs.json and costs.svg. The exit code is other
than zero only when a run of ours failed or did not verify."""

from __future__ import annotations

import argparse
import csv
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

from bench.libraries import libraries  # noqa: E402
from bench.memory import touch_available  # noqa: E402
from bench.nas import NONE, VARIANTS, Runs, copy_rate  # noqa: E402
from harness import npb  # noqa: E402
from harness.core import Results, Setting, descendants, kill, run  # noqa: E402
from harness.imb import environment  # noqa: E402

KERNELS = "bt.A,cg.A,ep.A,lu.A,mg.A,sp.A,ft.A,is.A"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--npb", type=Path, required=True, help="the folder NPB3.4-MPI")
    parser.add_argument("--dist", type=Path, default=TOP / "dist")
    parser.add_argument("--peers", type=Path, default=TOP / ".peers")
    parser.add_argument("--kernels", default=KERNELS, help=f"kernels with their classes ({KERNELS})")
    parser.add_argument("--protocols", help="some of: " + "; ".join(VARIANTS) + " (separated by `;`; all of them)")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one run")
    parser.add_argument("--pause", type=float, default=0, help="seconds before each run: a virtual machine may be giving "
                        "the memory of the last run back to its host")
    parser.add_argument("--images", type=int, help="images of each rank in every run: the interval follows from the "
                        "time of the kernel with `none` in the first round")
    parser.add_argument("--work", type=Path, help="where the sources are compiled, to be used again")
    parser.add_argument("--out", type=Path, default=Path("npb-results"))
    parser.add_argument("options", nargs="*", help="for every ftmpiexec, after `--`")
    return parser.parse_args()


def write(runs: Runs, kernels: list[str], rows: list[dict], args: argparse.Namespace) -> None:
    args.out.mkdir(parents=True, exist_ok=True)
    with (args.out / "costs.csv").open("w", newline="") as file:
        names = sorted({key for row in rows for key in row}, key=lambda k: (k not in ("variant", "mean"), k))
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)
    about = {"processors": os.cpu_count(), "kernel": os.uname().release, "ranks": args.ranks,
             "rounds": args.rounds, "options": args.options, "copy GB/s": runs.copy_gb_s}
    seconds = [{"kernel": k, "variant": v, **vars(cell)} for (k, v), cell in runs.cells.items()]
    costs = {"about": about, "kernels": kernels, "table": rows, "runs": seconds}
    (args.out / "costs.json").write_text(json.dumps(costs, indent=1))
    folder, why = environment(args.peers.resolve(), "matplotlib")
    made = folder and run([folder / "bin" / "python", TOP / "npb-harness" / "bench" / "plots.py",
                           args.out / "costs.json", args.out], timeout=300)
    if not made or made.code != 0:
        runs.results.skip("plot", made.output_tail() if made else why)
    print("written: " + ", ".join(sorted(str(path) for path in args.out.iterdir())))


def main() -> int:
    args = arguments()
    results = Results()
    work = args.work or Path(tempfile.mkdtemp(prefix="ftmpi-npb."))
    work.mkdir(parents=True, exist_ok=True)
    setting = Setting(args.dist.resolve(), work.resolve(), results, timeout=args.timeout)
    try:
        if not setting.dist_is_built():
            return results.finish()
        suite = npb.Suite(setting, args.npb.resolve())
        if suite.problem:
            results.bad("sources", suite.problem)
            return results.finish()
        chosen = [name.strip() for name in args.protocols.split(";")] if args.protocols else list(VARIANTS)
        if unknown := [name for name in chosen if name not in VARIANTS]:
            results.bad("protocols", f"{', '.join(unknown)} unknown; there are: {'; '.join(VARIANTS)}")
            return results.finish()
        peers = [library for library in libraries(args.dist.resolve(), args.peers.resolve(), results, False)
                 if not library.is_ours]
        runs = Runs(setting, suite, args.ranks, args.options, peers)
        runs.copy_gb_s = copy_rate()
        runs.images = args.images
        variants = [NONE, *(name for name in chosen if name != NONE), *runs.peers]
        programs: dict[str, Path] = {}
        for kernel in args.kernels.split(","):
            name, _, size = kernel.partition(".")
            program, why = suite.build(name, size or "A")
            if program is None or not npb.allowed(name, args.ranks):
                results.skip(kernel, why or f"does not run on {args.ranks} ranks")
                continue
            programs[kernel] = program
        if not programs:
            results.bad("kernels", "none of them could be compiled")
            return results.finish()
        print(touch_available(), flush=True)
        for number in range(args.rounds):
            for kernel, program in programs.items():
                print(f"round {number + 1} of {args.rounds}: {kernel}", flush=True)
                for variant in variants if number % 2 == 0 else reversed(variants):
                    time.sleep(args.pause)
                    runs.once(kernel, program, variant)
        rows = runs.table(list(programs), variants)
        runs.show(list(programs), rows)
        write(runs, list(programs), rows, args)
        for row in rows:
            results.good(row["variant"], f"mean {row['mean']:.3f}" if row["mean"] else "")
    finally:
        kill(descendants(os.getpid()))
        if not args.work:
            shutil.rmtree(work, ignore_errors=True)
    return results.finish()


if __name__ == "__main__":
    sys.exit(main())
