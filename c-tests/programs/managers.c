/*
 * A manager that has workers spawned, once in each round, and processes that are killed at a moment
 * that is named. `managers WHERE WHEN FOLDER`: WHERE is the moment, WHEN says whether a wave of
 * images is to come before it (`wave`: the program waits for one) or not (`now`), FOLDER is where a
 * process notes that it was killed, so that it is killed once.
 *
 * Rank 0 prints one line for each round and `ok` at the end, whatever was killed: the same text as
 * without a failure. Workers print a line each.
 *
 * Guarantee: a value that is wrong ends the job with code 3 and one line.
 */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MUST(condition)                                                               \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "FAIL %s:%d: %s\n", __FILE__, __LINE__, #condition);      \
            MPI_Abort(MPI_COMM_WORLD, 3);                                             \
        }                                                                             \
    } while (0)

enum { ROUNDS = 3, WORKERS = 2, TURNS = 40 };

static const char *where, *when, *folder;

/* Kills the process with this number, once in all incarnations. (A directory does not return.) */
static void strike(const char *place, int round, pid_t process)
{
    char note[4096];
    if (round != 1 || process == 0 || strcmp(place, where) != 0)
        return;
    snprintf(note, sizeof note, "%s/killed", folder);
    if (mkdir(note, 0700) == 0) {
        kill(process, SIGKILL);
        /* The signal for another process is on its way. */
        usleep(200000);
    }
}

/* The number of the manager's process, for its workers: in a link, since a file would return. */
static void show_manager(void)
{
    char link[4096], number[32];
    snprintf(link, sizeof link, "%s/manager", folder);
    snprintf(number, sizeof number, "%ld", (long)getpid());
    unlink(link);
    MUST(symlink(number, link) == 0);
}

static pid_t manager(void)
{
    char link[4096], number[32] = "0";
    snprintf(link, sizeof link, "%s/manager", folder);
    MUST(readlink(link, number, sizeof number - 1) > 0);
    return (pid_t)atol(number);
}

/* All of this communicator spend some time in MPI, so that waves come. */
static void spend(MPI_Comm comm)
{
    double begin = MPI_Wtime(), now;
    int go_on = strcmp(when, "wave") == 0, me;
    MPI_Comm_rank(comm, &me);
    while (go_on) {
        now = MPI_Wtime();
        go_on = now - begin < 1.2;
        MPI_Allreduce(MPI_IN_PLACE, &go_on, 1, MPI_INT, MPI_LAND, comm);
        usleep(2000);
    }
}

static long work(long task, int worker)
{
    return task * 31 + worker * 7 + 1;
}

static void worker(int argc, char **argv)
{
    MPI_Comm parent, all;
    int me, round = atoi(argv[4]);
    long task, result;
    MUST(argc == 5);
    strike("init", round, getpid());
    if (strcmp("manager-during", where) == 0)
        strike(where, round, manager());
    MPI_Init(NULL, NULL);
    MPI_Comm_get_parent(&parent);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    strike("worker-first", round, me == 1 ? getpid() : 0);
    MPI_Intercomm_merge(parent, 1, &all);
    spend(all);
    for (int turn = 0; turn < TURNS; turn++) {
        MPI_Recv(&task, 1, MPI_LONG, 0, 1, parent, MPI_STATUS_IGNORE);
        if (turn == TURNS / 2 && me == 1)
            strike("worker", round, getpid());
        result = work(task, me);
        MPI_Send(&result, 1, MPI_LONG, 0, 2, parent);
    }
    printf("worker %d of round %d\n", me, round);
    fflush(stdout);
    MPI_Comm_free(&all);
    if (round < ROUNDS - 1)
        MPI_Comm_disconnect(&parent);
    strike("worker-last", round, me == 0 ? getpid() : 0);
    MPI_Finalize();
}

static long serve(MPI_Comm inter, int round)
{
    long sum = 0, result;
    for (int turn = 0; turn < TURNS; turn++)
        for (int to = 0; to < WORKERS; to++) {
            long task = round * 1000 + turn * 10 + to;
            MPI_Send(&task, 1, MPI_LONG, to, 1, inter);
            if (turn == TURNS / 2 && to == 1)
                strike("manager", round, getpid());
            MPI_Recv(&result, 1, MPI_LONG, to, 2, inter, MPI_STATUS_IGNORE);
            MUST(result == work(task, to));
            sum += result;
        }
    return sum;
}

int main(int argc, char **argv)
{
    int worker_side = argc > 4, rank, size;
    MUST(argc >= 4);
    where = argv[1], when = argv[2], folder = argv[3];
    if (worker_side) {
        worker(argc, argv);
        return 0;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        char number[16];
        MPI_Comm inter, all;
        int codes[WORKERS], place;
        snprintf(number, sizeof number, "%d", round);
        char *arguments[] = {argv[1], argv[2], argv[3], number, NULL};
        spend(MPI_COMM_WORLD);
        if (rank == 0)
            show_manager();
        if (rank == size - 1)
            strike("before", round, getpid());
        MPI_Comm_spawn(argv[0], arguments, WORKERS, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes);
        MUST(codes[0] == MPI_SUCCESS && codes[WORKERS - 1] == MPI_SUCCESS);
        strike("manager-first", round, rank == 0 ? getpid() : 0);
        MPI_Intercomm_merge(inter, 0, &all);
        MPI_Comm_rank(all, &place);
        MUST(place == rank);
        spend(all);
        if (rank == 0) {
            sum += serve(inter, round);
            printf("round %d: %ld\n", round, sum);
            fflush(stdout);
        }
        MPI_Comm_free(&all);
        if (round < ROUNDS - 1)
            MPI_Comm_disconnect(&inter);
        strike("manager-last", round, rank == 0 ? getpid() : 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("ok\n");
    MPI_Finalize();
    return 0;
}
