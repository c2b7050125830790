/* Memory that the ranks of a host share, on several hosts, and threads: each rank writes into the part of its neighbour
 * on the host and tells the sum to all ranks. `shared_hosts MILLISECONDS`. Rank 0 prints the granted level of thread
 * support, and `sum: ok`. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int granted, me, ranks, place, near, sum = 0, right = 1;
    int rounds = (argc > 1 ? atoi(argv[1]) : 1000) / 10;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm host;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &place);
    MPI_Comm_size(host, &near);
    int *mine, *other, unit;
    MPI_Aint size;
    MPI_Win window;
    MPI_Win_allocate_shared(sizeof *mine, sizeof *mine, MPI_INFO_NULL, host, &mine, &window);
    MPI_Win_shared_query(window, (place + 1) % near, &size, &unit, &other);
    *mine = 0;
    MPI_Win_fence(0, window);
    for (int i = 0; i < rounds; i++) {
        *other += me + 1;
        MPI_Win_fence(0, window);
        MPI_Allreduce(mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        right &= sum == (i + 1) * ranks * (ranks + 1) / 2;
        usleep(10000);
    }
    if (me == 0)
        printf("granted: %s\nsum: %s\n", granted == MPI_THREAD_MULTIPLE ? "multiple" : "less", right ? "ok" : "wrong");
    MPI_Win_free(&window);
    MPI_Comm_free(&host);
    MPI_Finalize();
    return !right;
}
