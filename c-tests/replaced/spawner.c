/*
 * A program whose workers are compiled anew between two spawns: the second spawn starts the new
 * ones, and an old one that dies comes back as it was. Usage: spawner
 * Workers are ./worker, and ./worker2 takes their place.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef PROGRAM_VERSION
#define PROGRAM_VERSION 1
#endif

enum { TELL = 1, DIE, END, WORKERS = 2 };

static void work(MPI_Comm parent)
{
    for (;;) {
        int order, version = PROGRAM_VERSION;
        MPI_Recv(&order, 1, MPI_INT, 0, 0, parent, MPI_STATUS_IGNORE);
        if (order == END)
            return;
        /* Once: the next incarnation finds the folder. */
        if (order == DIE && mkdir("killed", 0700) == 0)
            raise(SIGKILL);
        MPI_Send(&version, 1, MPI_INT, 0, 0, parent);
    }
}

static void ask(MPI_Comm workers, int order)
{
    for (int worker = 0; worker < WORKERS; worker++) {
        int version;
        MPI_Send(&order, 1, MPI_INT, worker, 0, workers);
        if (order == END)
            continue;
        MPI_Recv(&version, 1, MPI_INT, worker, 0, workers, MPI_STATUS_IGNORE);
        printf(" %d", version);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm parent, old, new;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        work(parent);
        MPI_Finalize();
        return 0;
    }
    MPI_Comm_spawn("./worker", MPI_ARGV_NULL, WORKERS, MPI_INFO_NULL, 0, MPI_COMM_SELF, &old, MPI_ERRCODES_IGNORE);
    printf("versions");
    ask(old, TELL);
    rename("worker2", "worker");
    MPI_Comm_spawn("./worker", MPI_ARGV_NULL, WORKERS, MPI_INFO_NULL, 0, MPI_COMM_SELF, &new, MPI_ERRCODES_IGNORE);
    ask(new, TELL);
    ask(old, DIE);
    ask(new, TELL);
    printf("\n");
    ask(old, END);
    ask(new, END);
    MPI_Finalize();
    return 0;
}
