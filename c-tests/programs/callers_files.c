/*
 * Steps of messages, for programs that are started in odd surroundings.
 *
 * Argument 1: the number of steps. With more arguments each step takes 20 ms. With arguments 2 to
 * 5 rank 0 also uses descriptors of the launcher's caller: a file with a line for each step (2), a
 * pipe with the text "once" (3), which is read in step 0, and a pipe for writing (4), which gets the
 * number of steps at the end. A process that begins again must find the file at the right line, and
 * each use of the pipe for reading must fail. Argument 5 is a file for the note that the first
 * process has read the pipe. With argument 6 the first process of rank 0 kills itself in step 30,
 * and makes a file of that name before.
 */
#include <errno.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void require(int condition, const char *what, int step)
{
    if (condition)
        return;
    fprintf(stderr, "step %d: %s (%s)\n", step, what, strerror(errno));
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* The lines of the file have four bytes each. */
static void read_line(int fd, int step)
{
    char line[5] = "";
    require(read(fd, line, 4) == 4, "the file ends", step);
    require(atoi(line) == step, "another line of the file", step);
}

static void read_pipe(int fd, int step, const char *note)
{
    char text[8] = "";
    if (access(note, F_OK) == 0) {
        errno = 0;
        require(read(fd, text, sizeof text) < 0 && errno == EBADF, "a second process reads", step);
        return;
    }
    require(read(fd, text, sizeof text) == 4 && !strcmp(text, "once"), "no text in the pipe", step);
    FILE *made = fopen(note, "w");
    require(made && fclose(made) == 0, "the note", step);
}

int main(int argc, char **argv)
{
    int rank, size, steps = argc > 1 ? atoi(argv[1]) : 20;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long sum = 0;
    for (int step = 0; step < steps; step++) {
        long mine = (long)(rank + 1) * (step + 1), from_left = 0, all = 0;
        MPI_Sendrecv(&mine, 1, MPI_LONG, (rank + 1) % size, 1, &from_left, 1, MPI_LONG,
                     MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Allreduce(&from_left, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        sum += all;
        if (argc > 5 && rank == 0) {
            if (step == 0)
                read_pipe(atoi(argv[3]), step, argv[5]);
            read_line(atoi(argv[2]), step);
            if (step == 30 && argc > 6 && access(argv[6], F_OK) != 0) {
                FILE *made = fopen(argv[6], "w");
                require(made && fclose(made) == 0, "the note", step);
                raise(SIGKILL);
            }
        }
        if (argc > 2)
            usleep(20000);
    }
    if (argc > 5 && rank == 0) {
        char text[8] = "";
        errno = 0;
        require(read(atoi(argv[3]), text, 1) < 0 && errno == EBADF, "the pipe can be read", steps);
        int count = snprintf(text, sizeof text, "%d\n", steps);
        require(write(atoi(argv[4]), text, (size_t)count) == count, "the pipe for writing", steps);
    }
    require(sum == (long)size * (size + 1) / 2 * steps * (steps + 1) / 2, "a wrong sum", steps);
    if (rank == 0)
        puts("right");
    MPI_Finalize();
    return 0;
}
