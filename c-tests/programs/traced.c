/* What a trace must show: many short calls, long waits among them, and calls of two threads.
   Rank 0 polls `COUNT` times in each of `ROUNDS` rounds, then waits for rank 1, which sleeps first. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 4, COUNT = 300000 };

static void nap(double seconds)
{
    struct timespec time = { (time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9) };
    while (nanosleep(&time, &time)) {}
}

static void *other(void *argument)
{
    int round, got;
    (void)argument;
    for (round = 0; round < ROUNDS; round++) MPI_Recv(&got, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return NULL;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 && strcmp(argv[1], "threads") == 0, wanted, granted, rank, round, i, flag, got = 0;
    pthread_t thread;
    wanted = threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, wanted, &granted);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (granted < wanted) {
        printf("no threads\n");
        MPI_Finalize();
        return 0;
    }
    if (threads && rank == 0) pthread_create(&thread, NULL, other, NULL);
    for (round = 0; round < ROUNDS; round++) {
        if (rank == 0) {
            for (i = 0; i < COUNT; i++) MPI_Comm_rank(MPI_COMM_WORLD, &flag);
            MPI_Recv(&got, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            nap(0.6);
            if (threads) {
                MPI_Send(&round, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
                nap(0.05);
            }
            MPI_Send(&round, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (threads && rank == 0) pthread_join(thread, NULL);
    if (rank == 0) printf("all rounds\n");
    MPI_Finalize();
    return 0;
}
