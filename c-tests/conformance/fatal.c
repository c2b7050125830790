/* An error under MPI_ERRORS_ARE_FATAL ends the job with a code other than zero and one text on
 * standard error that names the call. */
#include "../check.h"

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "fatal");
    int word = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0)
        MPI_Send(&word, 1, MPI_INT, check_size + 5, 0, MPI_COMM_WORLD);
    MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 12345, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
}
