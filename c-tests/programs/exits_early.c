/* Rank 0 ends by `_exit` after MPI_Finalize without waiting for other ranks, which still
 * compute. When one of them is killed, the messages of rank 0 to that rank are needed again. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size, word = 7;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) {
        for (int to = 1; to < size; to++)
            MPI_Send(&word, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
        MPI_Finalize();
        _exit(0);
    }
    MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    for (int i = 0; i < 25; i++)
        usleep(100000);
    printf("rank %d got %d\n", rank, word);
    return 0;
}
