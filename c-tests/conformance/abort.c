/* MPI_Abort from one rank ends all of them, with its code: expected exit code 7. */
#include "../check.h"
#include <unistd.h>

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "abort");
    if (check_rank == 0) {
        printf("aborting\n");
        fflush(stdout);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == check_size - 1)
        MPI_Abort(MPI_COMM_WORLD, 7);
    int word;
    MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 12345, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
}
