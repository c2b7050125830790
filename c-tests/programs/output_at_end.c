/* Records each step in a file. At the end the output is longer than a pipe can hold.
 *
 * usage: output_at_end STEPS LINES */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, before = 0;
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int steps = atoi(argv[1]), lines = atoi(argv[2]);
    MPI_File_open(MPI_COMM_WORLD, "noted.data", MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
    for (int i = 1; i <= steps; i++) {
        /* A step that is already recorded was made twice; a missing step was lost. */
        if (i > 1)
            MPI_File_read_at(file, rank * 4, &before, 1, MPI_INT, MPI_STATUS_IGNORE);
        if (before != i - 1) {
            fprintf(stderr, "rank %d: step %d finds %d\n", rank, i, before);
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
        MPI_File_write_at(file, rank * 4, &i, 1, MPI_INT, MPI_STATUS_IGNORE);
        usleep(10000);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_File_close(&file);
    if (rank == 0)
        for (int i = 0; i < lines; i++)
            printf("line %d of the output at the end\n", i);
    MPI_Finalize();
    return 0;
}
