#!/usr/bin/env python3
"""Runs the tests with random input under many seeds: fuzz.py [--rounds N] [--first SEED] [PACKAGE ...]

`make check` runs these tests under one seed, so that its verdict on a commit stays the same. This program looks for
failures under other seeds. A failure is printed with its seed and the smallest input that fails. The exit code is the
number of packages that failed."""
import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
CARGO = os.environ.get("CARGO", "cargo")


def test_programs(wanted):
    """The package name, the folder and the program of the unit tests, for every package with tests of this kind."""
    built = subprocess.run(
        [CARGO, "test", "--workspace", "--lib", "--bins", "--no-run", "--message-format", "json"],
        cwd=TOP, stdout=subprocess.PIPE, text=True, check=True,
    )
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message.get("reason") != "compiler-artifact" or not message.get("executable"):
            continue
        folder = Path(message["manifest_path"]).parent
        name = message["target"]["name"]
        if not message["profile"]["test"] or (wanted and name not in wanted):
            continue
        if any("proptest!" in f.read_text() for f in folder.glob("src/**/*.rs")):
            yield name, folder, message["executable"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=50, help="seeds to try (default 50)")
    parser.add_argument("--first", type=int, default=1, help="the first seed (default 1)")
    parser.add_argument("packages", nargs="*", help="test programs, as ftmpi_core; all of them if none is named")
    args = parser.parse_args()
    failed = 0
    for name, folder, program in test_programs(args.packages):
        bad = []
        for seed in range(args.first, args.first + args.rounds):
            environment = {**os.environ, "PROPTEST_RNG_SEED": str(seed), "RUST_BACKTRACE": "0"}
            end = subprocess.run(
                [program, "--quiet"], cwd=folder, env=environment, text=True, errors="replace",
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )
            if end.returncode != 0:
                bad.append(seed)
                print(f"FAIL  {name}, PROPTEST_RNG_SEED={seed}\n{end.stdout[-4000:]}", flush=True)
        failed += bool(bad)
        if not bad:
            print(f"ok    {name}: {args.rounds} seeds from {args.first}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
