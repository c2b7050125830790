/* Rank 1 takes as many MiB as the first argument says, and uses them, between two barriers. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int left = argc > 1 && rank == 1 ? atoi(argv[1]) : 0; left > 0; left--) {
        char *piece = malloc(1 << 20);
        if (piece == NULL)
            MPI_Abort(MPI_COMM_WORLD, 3);
        memset(piece, left, 1 << 20);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d: enough\n", rank);
    MPI_Finalize();
    return 0;
}
