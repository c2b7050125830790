/* Prints how many bytes the sender log of each rank may hold, as the tools interface says. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, provided, index, count;
    unsigned long long bytes = 0;
    MPI_T_cvar_handle handle;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS
        || MPI_T_cvar_get_index("ftmpi_log_limit", &index) != MPI_SUCCESS
        || MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS
        || MPI_T_cvar_read(handle, &bytes) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 3);
    printf("rank %d: %llu\n", rank, bytes);
    MPI_T_cvar_handle_free(&handle);
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
