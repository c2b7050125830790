#!/usr/bin/env python3
"""Shortens the output of `make check`: a line a minute, the times of the steps, the failures, and the summary.

Reads standard input to its end in any case, so that the writer never waits for long."""
import re
import sys
import time

# The pattern of a failure, and the number of lines that follow and belong to it. A panic has its message on the next
# lines.
FAILED = [
    (re.compile(r"^(FAIL  |check: .*: FAILED|failed: )"), 0),
    (re.compile(r"^test .* \.\.\. FAILED$"), 0),
    (re.compile(r"^thread .* panicked at"), 2),
    (re.compile(r"^(proptest: |Test failed: |minimal failing input)"), 6),
    (re.compile(r"^error(\[|:)"), 8),
    (re.compile(r"^make: \*\*\*"), 0),
]
PANIC = re.compile(r"^thread '([^']*)'.* panicked at (.*)")
DONE = re.compile(r"^(ok    |test .* \.\.\. ok$|check: .*: ok)")
# The duration of a step or a suite.
STEP = re.compile(r"^(check: step |suite )")
# From this line on every line is printed.
SUMMARY = re.compile(r"^(what failed:|check: benchmark, tiny)")
LONGEST = 1500


def main():
    begin = time.monotonic()
    printed, tests, more, summary = begin, 0, 0, False
    # The search for the smallest input that fails panics many times at one place.
    panics = set()
    last = ""
    for line in sys.stdin.buffer:
        line = line.decode(errors="replace").rstrip("\n")
        last = line
        tests += bool(DONE.match(line))
        summary = summary or bool(SUMMARY.match(line))
        panic = PANIC.match(line)
        for pattern, lines in FAILED:
            if pattern.match(line) and not (panic and panic.groups() in panics):
                more = max(more, lines + 1)
        if panic:
            panics.add(panic.groups())
        if more or summary or STEP.match(line):
            more = max(0, more - 1)
            print(line[:LONGEST], flush=True)
            last = ""
        now = time.monotonic()
        if now - printed >= 60:
            printed = now
            print(f"ci: {(now - begin) / 60:.0f} min, {tests} tests passed; {line[:100]}", flush=True)
    if last:
        print(last[:LONGEST], flush=True)


if __name__ == "__main__":
    main()
