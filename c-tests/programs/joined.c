/*
 * A server, and clients that other commands bring into its job (`ftmpiexec --join`).
 *
 *   joined server FOLDER CLIENTS MOMENT   accepts so many clients, one after the other
 *   joined client FOLDER NUMBER MOMENT    looks up the server, connects, asks, disconnects
 *   joined exit|abort|crash|early FOLDER  fails without having met anybody
 *   joined late FOLDER                    ends with code 5 after MPI_Finalize
 *   joined unknown FOLDER                 looks up a name that nobody has published
 *
 * All ranks of both sides talk to each other. At MOMENT the last rank of the command is killed, in
 * round 1 of a server and in any client; FOLDER is where it notes that, so that it is killed once.
 * The texts are the same as without a failure.
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

enum { TURNS = 40 };

static const char *moment, *folder;
static int rank, size;

/* Kills the last process of this world, once in all incarnations. (A directory does not return.) */
static void strike(const char *place)
{
    char note[4096];
    if (rank != size - 1 || strcmp(place, moment) != 0)
        return;
    snprintf(note, sizeof note, "%s/killed", folder);
    if (mkdir(note, 0700) == 0)
        kill(getpid(), SIGKILL);
}

/* Every rank of each side has a value from every rank of the other one, in each turn. */
static long talk(MPI_Comm other, int number, const char *half)
{
    int far;
    long sum = 0;
    MPI_Comm_remote_size(other, &far);
    for (int turn = 0; turn < TURNS; turn++) {
        long mine = 1000 * number + 10 * turn + rank, theirs;
        for (int to = 0; to < far; to++)
            MPI_Send(&mine, 1, MPI_LONG, to, turn, other);
        for (int from = 0; from < far; from++) {
            MPI_Status status;
            MPI_Recv(&theirs, 1, MPI_LONG, MPI_ANY_SOURCE, turn, other, &status);
            MUST(theirs == 1000 * number + 10 * turn + status.MPI_SOURCE);
            sum += theirs * 3 + status.MPI_SOURCE;
        }
        if (turn == TURNS / 2)
            strike(half);
        usleep(2000);
    }
    return sum;
}

static void serve(int clients)
{
    char port[MPI_MAX_PORT_NAME], name[4096];
    long total = 0, all;
    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Publish_name("joined", MPI_INFO_NULL, port);
        snprintf(name, sizeof name, "%s/ready", folder);
        mkdir(name, 0700);
    }
    for (int number = 0; number < clients; number++) {
        MPI_Comm client;
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &client);
        strike(number == 1 ? "accepted" : "");
        total += talk(client, number, number == 1 ? "serving" : "");
        MPI_Comm_disconnect(&client);
        strike(number == 1 ? "served" : "");
    }
    MPI_Reduce(&total, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Unpublish_name("joined", MPI_INFO_NULL, port);
        MPI_Close_port(port);
        printf("served %d: %ld\n", clients, all);
    }
}

static void ask(int number)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm server, parent;
    long sum, all;
    MPI_Comm_get_parent(&parent);
    MUST(parent == MPI_COMM_NULL);
    strike("begun");
    if (rank == 0)
        MPI_Lookup_name("joined", MPI_INFO_NULL, port);
    strike("found");
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &server);
    strike("connected");
    sum = talk(server, number, "asking");
    MPI_Comm_disconnect(&server);
    strike("parted");
    MPI_Reduce(&sum, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("client %d: %ld\n", number, all);
}

int main(int argc, char **argv)
{
    MUST(argc >= 3);
    const char *what = argv[1];
    folder = argv[2], moment = argc > 4 ? argv[4] : "never";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(what, "server") == 0)
        serve(atoi(argv[3]));
    else if (strcmp(what, "client") == 0)
        ask(atoi(argv[3]));
    else if (strcmp(what, "exit") == 0 && rank == 0)
        _exit(9);
    else if (strcmp(what, "abort") == 0 && rank == 0)
        MPI_Abort(MPI_COMM_WORLD, 7);
    else if (strcmp(what, "crash") == 0 && rank == 0)
        kill(getpid(), SIGSEGV);
    else if (strcmp(what, "unknown") == 0) {
        char port[MPI_MAX_PORT_NAME];
        MPI_Lookup_name("nobody has this", MPI_INFO_NULL, port);
    } else if (strcmp(what, "wait") == 0) {
        printf("waits\n");
        fflush(stdout);
    }
    if (strcmp(what, "server") != 0 && strcmp(what, "client") != 0 && strcmp(what, "late") != 0)
        MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(what, "wait") == 0)
        for (;;)
            pause();
    MPI_Finalize();
    return strcmp(what, "late") == 0 ? 5 : 0;
}
