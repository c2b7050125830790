"""Basic operations of mpi4py, each with its right answer: collectives of objects and of buffers, point-to-point with
wildcards, operations and attributes in Python, derived types, windows, files, topologies and errors.

Run as: ftmpiexec -n N python mpi4py_basics.py FILE
"""

import array
import sys

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
after, before = (rank + 1) % size, (rank - 1) % size

assert world.allreduce(rank) == size * (size - 1) // 2
assert world.bcast({"a": [1, 2, 3]} if rank == 0 else None) == {"a": [1, 2, 3]}
assert world.gather(rank * rank) == ([r * r for r in range(size)] if rank == 0 else None)
assert world.alltoall([(rank, r) for r in range(size)]) == [(r, rank) for r in range(size)]
assert world.scatter(list(range(size)) if rank == 0 else None) == rank
assert world.scan(1) == rank + 1

many = array.array("d", [float(rank)] * 1000)
total = array.array("d", [0.0] * 1000)
world.Allreduce(many, total, op=MPI.SUM)
assert set(total) == {float(sum(range(size)))}

status = MPI.Status()
request = world.isend(("word", rank), dest=after, tag=7)
assert world.recv(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status) == ("word", before)
request.wait()
assert (status.source, status.tag) == (before, 7)


def largest(x, y, datatype):
    x, y = memoryview(x).cast("i"), memoryview(y).cast("i")
    for i, value in enumerate(x):
        y[i] = max(value, y[i])


op = MPI.Op.Create(largest, True)
out = array.array("i", [0, 0])
world.Allreduce(array.array("i", [rank, 2 * rank]), out, op=op)
assert list(out) == [size - 1, 2 * (size - 1)]
op.Free()

column = MPI.INT.Create_vector(3, 1, 2).Commit()
got = array.array("i", [0] * 3)
world.Sendrecv([array.array("i", range(6)), 1, column], after, recvbuf=got, source=before)
assert list(got) == [0, 2, 4]
column.Free()

key = MPI.Comm.Create_keyval(copy_fn=True)
world.Set_attr(key, {"hello": 1})
dup = world.Dup()
assert dup.Get_attr(key) == {"hello": 1}
dup.Free()
MPI.Comm.Free_keyval(key)

win = MPI.Win.Allocate(80, 8, comm=world)
win.Fence()
win.Put([array.array("d", [rank + 1.0]), MPI.DOUBLE], after)
win.Fence()
assert memoryview(win.tomemory()).cast("d")[0] == before + 1.0
win.Fence()
win.Free()

file = MPI.File.Open(world, sys.argv[1], MPI.MODE_CREATE | MPI.MODE_RDWR)
file.Write_at_all(rank * 4, array.array("i", [rank]))
file.Sync()
world.Barrier()
all_of_it = array.array("i", [0] * size)
file.Read_at_all(0, all_of_it)
assert list(all_of_it) == list(range(size))
file.Close()

row = world.Create_cart([size], periods=[False])
assert row.Shift(0, 1)[1] == (rank + 1 if rank < size - 1 else MPI.PROC_NULL)
row.Free()

try:
    world.Send([array.array("i", [1]), MPI.INT], dest=size + 5)
    raise SystemExit("a rank that does not exist was accepted")
except MPI.Exception as error:
    assert error.Get_error_class() == MPI.ERR_RANK

world.Barrier()
if rank == 0:
    print(f"mpi4py on {size}: ok")
