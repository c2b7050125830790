/* Ranks that some launcher started do a little of everything together: together [WHAT]
 *   (nothing)      messages of all sizes, collectives, shared memory, a file; each rank prints a line
 *   abort CODE     rank 1 calls MPI_Abort while the others wait
 *   die            rank 1 kills itself while the others wait
 *   compute        rank 1 kills itself while the others compute and call nothing
 *   leave          rank 1 ends without MPI_Finalize
 *   child          rank 0 starts this program once more, as a job of its own
 *   ftmpiexec PATH [OPTION]  rank 1 starts this launcher with three ranks of this program */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

static void fail(const char *what)
{
    printf("rank %d of %d: wrong: %s\n", rank, size, what);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* Every rank sends to every other: small, eager, and long. */
static void exchange(int count)
{
    int *out = malloc(count * sizeof *out), *in = malloc((size_t)count * size * sizeof *in);
    MPI_Request *all = malloc(2 * size * sizeof *all);
    for (int i = 0; i < count; i++)
        out[i] = rank * 1000 + i;
    for (int peer = 0; peer < size; peer++) {
        MPI_Irecv(in + (size_t)peer * count, count, MPI_INT, peer, 1, MPI_COMM_WORLD, &all[peer]);
        MPI_Isend(out, count, MPI_INT, peer, 1, MPI_COMM_WORLD, &all[size + peer]);
    }
    MPI_Waitall(2 * size, all, MPI_STATUSES_IGNORE);
    for (int peer = 0; peer < size; peer++)
        for (int i = 0; i < count; i++)
            if (in[(size_t)peer * count + i] != peer * 1000 + i)
                fail("a message");
    free(out);
    free(in);
    free(all);
}

static int shared_memory(void)
{
    MPI_Comm host;
    MPI_Win window;
    int here, many, *mine, *first, unit;
    MPI_Aint bytes;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &here);
    MPI_Comm_size(host, &many);
    MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, host, &mine, &window);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
    *mine = here + 1;
    MPI_Win_sync(window);
    MPI_Barrier(host);
    MPI_Win_sync(window);
    MPI_Win_shared_query(window, 0, &bytes, &unit, &first);
    for (int i = 0; i < many; i++)
        if (first[i] != i + 1)
            fail("shared memory");
    MPI_Barrier(host);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Comm_free(&host);
    return many;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    exchange(1);
    exchange(5000);
    exchange(300000);
    int on_host = shared_memory(), sum;
    for (int i = 0; i < 1000; i++) {
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (sum != size * (size - 1) / 2)
            fail("a sum");
    }
    if (!strcmp(what, "abort") && rank == 1)
        MPI_Abort(MPI_COMM_WORLD, atoi(argv[2]));
    if ((!strcmp(what, "die") || !strcmp(what, "compute")) && rank == 1)
        kill(getpid(), SIGKILL);
    if (!strcmp(what, "leave") && rank == 1)
        exit(0);
    if (!strcmp(what, "compute"))
        for (volatile double x = 0;; x += 1)
            ;
    if (!strcmp(what, "child") && rank == 0 && (!argv[0] || system(argv[0]) != 0))
        fail("a job of its own");
    if (!strcmp(what, "ftmpiexec") && rank == 1) {
        char command[4096];
        snprintf(command, sizeof command, "%s %s -n 3 %s", argv[2], argc > 3 ? argv[3] : "", argv[0]);
        if (system(command) != 0)
            fail("a job of ftmpiexec");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d of %d: together, %d here\n", rank, size, on_host);
    MPI_Finalize();
    return 0;
}
