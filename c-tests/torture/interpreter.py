"""A Python interpreter with extension modules: arrays of numpy, objects, generators, an open file, a thread, random
numbers, and mpi4py. Every step changes this state and compares it with the expected state."""

import random
import sys
import threading
import time

import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
me, ranks = world.rank, world.size
steps = int(sys.argv[sys.argv.index("--steps") + 1]) if "--steps" in sys.argv else 100


def bad(step: int, what: str) -> None:
    print(f"FAIL rank {me}, step {step}: {what}", file=sys.stderr, flush=True)
    world.Abort(1)


def counter():
    total = 0
    while True:
        total += yield total


matrix = numpy.eye(40)
turn = numpy.linalg.qr(numpy.arange(1600.0).reshape(40, 40) % 17 + numpy.eye(40))[0]
samples = numpy.random.default_rng(7 + me)
again = numpy.random.default_rng(7 + me)
dice = random.Random(3)
sums = counter()
next(sums)
table: dict[str, list[int]] = {}
lines = open(f"interpreter.{me}", "w+")
ticks = [0]


def tick() -> None:
    while True:
        ticks[0] += 1
        time.sleep(0.01)


threading.Thread(target=tick, daemon=True).start()
drawn = []
for step in range(steps):
    matrix = matrix @ turn
    drawn.append(float(samples.standard_normal()))
    table.setdefault(f"key {step % 97}", []).append(step)
    total = sums.send(step)
    lines.write(f"{step} {dice.random()!r}\n")
    theirs = numpy.empty(3)
    mine = numpy.array([me, step, total], float)
    world.Sendrecv(mine, (me + 1) % ranks, recvbuf=theirs, source=(me - 1) % ranks)
    if list(theirs) != [(me - 1) % ranks, step, step * (step + 1) / 2]:
        bad(step, "what the neighbour sent")
    if world.allreduce({"step": step}, op=lambda a, b: a if a == b else {}) != {"step": step}:
        bad(step, "an object that all sent")
    time.sleep(0.001)
    if abs(matrix @ matrix.T - numpy.eye(40)).max() > 1e-9:
        bad(step, "a product of orthogonal matrices")
    if table[f"key {step % 97}"] != list(range(step % 97, step + 1, 97)):
        bad(step, "a table")
    if step % 100 == 99:
        if drawn != list(numpy.atleast_1d(again.standard_normal(100))):
            bad(step, "random numbers")
        drawn.clear()
        lines.flush()
        lines.seek(0)
        known = random.Random(3)
        for number, line in enumerate(lines):
            if line != f"{number} {known.random()!r}\n":
                bad(step, "the open file")
        seen, until = ticks[0], time.monotonic() + 10
        while ticks[0] < seen + 2 and time.monotonic() < until:
            time.sleep(0.005)
        if ticks[0] < seen + 2:
            bad(step, "the thread stands still")
if me == 0:
    print(f"state interpreter on {ranks}: ok", flush=True)
