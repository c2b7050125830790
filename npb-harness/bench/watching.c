/* Two ranks send 8 bytes back and forth: watching COUNT */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 100000, i;
    double value = 0, begin;
    int me;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    for (i = 0; i < count && me < 2; i++) {
        if (me == (int)(i & 1)) MPI_Send(&value, 1, MPI_DOUBLE, !me, 0, MPI_COMM_WORLD);
        else MPI_Recv(&value, 1, MPI_DOUBLE, !me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (me == 0) printf("time %.4f s\n", MPI_Wtime() - begin);
    MPI_Finalize();
    return 0;
}
