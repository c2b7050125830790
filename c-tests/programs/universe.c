/* Prints the size of the universe: MPI 5.0, section 11.10.1. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int *size, there, me;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &size, &there);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (me == 0)
        printf("universe %d\n", there ? *size : -1);
    MPI_Finalize();
    return 0;
}
