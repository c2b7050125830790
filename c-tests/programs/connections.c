/*
 * A server and a client that meet at a published port, once in each round, and processes that are
 * killed at a moment that is named. `connections WHERE FOLDER`: WHERE is the moment, in round 1;
 * FOLDER is where a process notes that it was killed, so that it is killed once.
 *
 * Rank 0 serves, rank 1 connects. The client prints one line for each round and the server prints
 * `ok`, whatever was killed: the same text as without a failure.
 *
 * Guarantee: a value that is wrong ends the job with code 3 and one line.
 */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
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

enum { ROUNDS = 3, TURNS = 60, SERVER = 0, CLIENT = 1 };

static const char *where, *folder;

/* Kills this process, once in all incarnations. (A directory does not return.) */
static void strike(const char *place, int round)
{
    char note[4096];
    if (round != 1 || strcmp(place, where) != 0)
        return;
    snprintf(note, sizeof note, "%s/killed", folder);
    if (mkdir(note, 0700) == 0)
        kill(getpid(), SIGKILL);
}

/* The name of a round: each has a port of its own. */
static void name(int round, char text[64])
{
    snprintf(text, 64, "round %d", round);
}

static void serve(int round)
{
    char port[MPI_MAX_PORT_NAME], service[64];
    MPI_Comm client;
    long value;
    name(round, service);
    MPI_Open_port(MPI_INFO_NULL, port);
    strike("opened", round);
    MPI_Publish_name(service, MPI_INFO_NULL, port);
    strike("published", round);
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &client);
    strike("accepted", round);
    for (int turn = 0; turn < TURNS; turn++) {
        MPI_Status status;
        MPI_Recv(&value, 1, MPI_LONG, MPI_ANY_SOURCE, MPI_ANY_TAG, client, &status);
        MUST(status.MPI_TAG == turn && value == 100 * round + turn);
        if (turn == TURNS / 2)
            strike("serving", round);
        value = value * 7 + 1;
        MPI_Send(&value, 1, MPI_LONG, 0, turn, client);
    }
    MPI_Comm_disconnect(&client);
    strike("served", round);
    MPI_Unpublish_name(service, MPI_INFO_NULL, port);
    MPI_Close_port(port);
    strike("closed", round);
}

static void ask(int round)
{
    char port[MPI_MAX_PORT_NAME], service[64];
    MPI_Comm server;
    long sum = 0;
    name(round, service);
    /* How often nobody has published it yet is another number each time. */
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    while (MPI_Lookup_name(service, MPI_INFO_NULL, port) != MPI_SUCCESS)
        usleep(1000);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    strike("found", round);
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &server);
    strike("connected", round);
    for (int turn = 0; turn < TURNS; turn++) {
        long value = 100 * round + turn;
        MPI_Send(&value, 1, MPI_LONG, 0, turn, server);
        if (turn == TURNS / 2)
            strike("asking", round);
        MPI_Recv(&value, 1, MPI_LONG, 0, turn, server, MPI_STATUS_IGNORE);
        MUST(value == (100 * round + turn) * 7 + 1);
        sum += value;
        usleep(2000);
    }
    MPI_Comm_disconnect(&server);
    strike("parted", round);
    printf("round %d: %ld\n", round, sum);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int rank;
    MUST(argc == 3);
    where = argv[1], folder = argv[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < ROUNDS; round++) {
        if (rank == SERVER)
            serve(round);
        else if (rank == CLIENT)
            ask(round);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == SERVER)
        printf("ok\n");
    MPI_Finalize();
    return 0;
}
