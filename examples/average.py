"""Random walks whose mean is taken every round.

    pip install mpi4py
    ftmpiexec -n 4 python3 average.py [ROUNDS]

Python's random numbers are part of the process image, so a rank that is killed continues its own walk.
"""

import random
import sys
import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
walk = random.Random(comm.rank)
place = 0
for number in range(1, rounds + 1):
    place += sum(walk.choice((-1, 1)) for _ in range(100_000))
    mean = comm.allreduce(place) / comm.size
    if comm.rank == 0:
        print(f"round {number} of {rounds}: mean {mean:+.2f}", flush=True)
    time.sleep(0.2)
