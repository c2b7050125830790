/* Heat in a rod: each rank holds a part, and exchanges its ends with its neighbours.
 *
 *   ftmpicc -O2 heat.c -o heat -lm
 *   ftmpiexec -n 4 ./heat              about 20 seconds; ./heat STEPS for another length
 *
 * This program does nothing about failures. Kill a rank while it runs: the last line stays the
 * same. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 200000, STEPS = 20000, REPORTS = 20 };

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long steps = argc > 1 ? atol(argv[1]) : STEPS;
    long every = steps / REPORTS > 0 ? steps / REPORTS : 1;
    int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    int right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;

    /* One cell more at each end: the neighbour's. */
    double *now = calloc(CELLS + 2, sizeof *now), *next = calloc(CELLS + 2, sizeof *next);
    if (!now || !next)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 1; i <= CELLS; i++)
        now[i] = sin(3.14159265358979 * ((double)rank * CELLS + i) / ((double)size * CELLS));

    for (long step = 1; step <= steps; step++) {
        MPI_Sendrecv(&now[1], 1, MPI_DOUBLE, left, 0, &now[CELLS + 1], 1, MPI_DOUBLE, right, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(&now[CELLS], 1, MPI_DOUBLE, right, 1, &now[0], 1, MPI_DOUBLE, left, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 1; i <= CELLS; i++)
            next[i] = now[i] + 0.25 * (now[i - 1] - 2 * now[i] + now[i + 1]);
        double *swap = now;
        now = next;
        next = swap;
        if (step % every == 0 || step == steps) {
            double mine = 0, all;
            for (int i = 1; i <= CELLS; i++)
                mine += now[i];
            MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
            if (rank == 0) {
                printf("step %ld of %ld: heat %.9e\n", step, steps, all);
                fflush(stdout);
            }
        }
    }
    MPI_Finalize();
    return 0;
}
