/* The parts of a command that `:` separates: each process knows its part. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size, flag = 0, *part = NULL, all[16];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &part, &flag);
    int mine = flag ? *part * 100 + argc : -1;
    MPI_Gather(&mine, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0)
        for (int i = 0; i < size && i < 16; i++)
            printf("%d%c", all[i], i + 1 < size ? ' ' : '\n');
    MPI_Finalize();
    return 0;
}
