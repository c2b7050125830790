/* A program that does not go on: for the line about a stall, and for `ftmpi-ctl waits`.
 *
 *   stalls circle       each rank receives from the next one, and none sends
 *   stalls ended        rank 0 receives from rank 1, which is in MPI_Finalize
 *   stalls busy SECONDS rank 1 computes, and the others wait for it in MPI_Allreduce; then as rings, for 3 seconds
 *   stalls any SECONDS  rank 0 receives from any rank; the others come late
 *   stalls rings SECONDS ranks send a number in circles for so long
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void compute(double seconds) {
    volatile double x = 1;
    double end = MPI_Wtime() + seconds;
    while (MPI_Wtime() < end) {
        for (int i = 0; i < 1000000; i++) {
            x = x * 1.0000001 + 1e-9;
        }
    }
}

static void rings(double seconds, int next, int before) {
    double end = MPI_Wtime() + seconds;
    int value = 7, sum = 0, go = 1;
    while (go) {
        MPI_Sendrecv(&value, 1, MPI_INT, next, 1, &sum, 1, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        usleep(2000);
        go = MPI_Wtime() < end;
        MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv) {
    int rank, size, value = 7, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *mode = argc > 1 ? argv[1] : "rings";
    double seconds = argc > 2 ? atof(argv[2]) : 5;
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(mode, "circle") == 0) {
        MPI_Recv(&value, 1, MPI_INT, next, 40 + rank, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (strcmp(mode, "ended") == 0) {
        if (rank == 0) {
            MPI_Recv(&value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    } else if (strcmp(mode, "busy") == 0) {
        if (rank == 1) {
            compute(seconds);
        }
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        rings(3, next, before);
    } else if (strcmp(mode, "any") == 0) {
        if (rank == 0) {
            for (int i = 1; i < size; i++) {
                MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            }
        } else {
            compute(seconds);
            MPI_Send(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
        }
    } else {
        rings(seconds, next, before);
    }
    if (rank == 0) {
        printf("stalls: ok\n");
    }
    MPI_Finalize();
    return 0;
}
