/* flood ROUNDS: each rank sends 64 KiB to the next rank in every round, and checks what comes from the rank before. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 64 << 10 };
static unsigned char out[BYTES], in[BYTES];

int main(int argc, char **argv)
{
    int rank, size, rounds = argc > 1 ? atoi(argv[1]) : 100;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < BYTES; i++)
            out[i] = (unsigned char)(i * 31 + round + rank);
        MPI_Sendrecv(out, BYTES, MPI_BYTE, next, 1, in, BYTES, MPI_BYTE, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < BYTES; i++)
            if (in[i] != (unsigned char)(i * 31 + round + before)) {
                printf("rank %d, round %d: byte %d is wrong\n", rank, round, i);
                MPI_Abort(MPI_COMM_WORLD, 3);
            }
    }
    if (rank == 0)
        printf("flood of %d rounds: ok\n", rounds);
    MPI_Finalize();
    return 0;
}
