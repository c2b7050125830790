/* Sums over all ranks in steps of some milliseconds: steps STEPS MICROSECONDS. Rank 0 prints the sum, and each rank its
 * number. */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int steps = argc > 1 ? atoi(argv[1]) : 1, pause = argc > 2 ? atoi(argv[2]) : 0;
    double sum = 0;
    for (int step = 0; step < steps; step++) {
        double mine = rank + step, all = 0;
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        sum += all;
        if (pause)
            usleep((useconds_t)pause);
    }
    printf("rank %d of %d: %.0f\n", rank, size, sum);
    MPI_Finalize();
    return 0;
}
