/*
 * Files that are removed, renamed and made anew in every step, while images rest on them. Usage:
 * files plain|rename|mpi STEPS
 *
 * A rank that begins again between the moment when it closes a file and the moment when it opens the file again by its name
 * finds what is there now (docs/reference/limits.md). It leaves that file out.
 */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECES = 10, INTS = 2048, PAUSE_US = 2000 };

static int me, size, piece[INTS];
/* The process that closed the file last. */
static pid_t closed_by;

static void wrong(const char *what, int step)
{
    printf("rank %d, step %d: wrong: %s (errno %d)\n", me, step, what, errno);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static void fill(int step, int part, int rank)
{
    for (int k = 0; k < INTS; k++)
        piece[k] = step * 1000 + part * 10 + rank + k;
}

static void expect(int step, int part, int rank)
{
    for (int k = 0; k < INTS; k++)
        if (piece[k] != step * 1000 + part * 10 + rank + k)
            wrong("data", step);
}

static void write_all(int fd, int step)
{
    for (int part = 0; part < PIECES; part++) {
        usleep(PAUSE_US);
        fill(step, part, me);
        if (write(fd, piece, sizeof piece) != sizeof piece)
            wrong("write", step);
    }
    closed_by = getpid();
    close(fd);
}

static void read_all(const char *name, int step)
{
    int fd = open(name, O_RDONLY);
    if (getpid() != closed_by) {
        close(fd);
        return;
    }
    for (int part = 0; part < PIECES; part++) {
        usleep(PAUSE_US);
        if (read(fd, piece, sizeof piece) != sizeof piece)
            wrong("read", step);
        expect(step, part, me);
    }
    close(fd);
}

static void plain(int step)
{
    char name[32];
    snprintf(name, sizeof name, "scratch.%d", me);
    write_all(open(name, O_CREAT | O_RDWR | O_TRUNC, 0644), step);
    read_all(name, step);
    unlink(name);
}

static void renamed(int step)
{
    char name[32], temporary[32];
    snprintf(name, sizeof name, "data.%d", me);
    snprintf(temporary, sizeof temporary, "data.%d.tmp", me);
    write_all(open(temporary, O_CREAT | O_WRONLY | O_TRUNC, 0644), step);
    if (rename(temporary, name) != 0 && getpid() == closed_by)
        wrong("rename", step);
    read_all(name, step);
}

static void of_mpi(int step)
{
    MPI_File file;
    int next = (me + 1) % size;
    if (MPI_File_open(MPI_COMM_WORLD, "shared", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file))
        wrong("open", step);
    for (int part = 0; part < PIECES; part++) {
        usleep(PAUSE_US);
        fill(step, part, me);
        MPI_File_write_at(file, (MPI_Offset)(part * size + me) * sizeof piece, piece, INTS, MPI_INT, MPI_STATUS_IGNORE);
    }
    MPI_File_close(&file);
    MPI_Barrier(MPI_COMM_WORLD);
    if (MPI_File_open(MPI_COMM_WORLD, "shared", MPI_MODE_RDONLY, MPI_INFO_NULL, &file))
        wrong("open", step);
    for (int part = 0; part < PIECES; part++) {
        usleep(PAUSE_US);
        MPI_File_read_at(file, (MPI_Offset)(part * size + next) * sizeof piece, piece, INTS, MPI_INT, MPI_STATUS_IGNORE);
        expect(step, part, next);
    }
    MPI_File_close(&file);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0)
        MPI_File_delete("shared", MPI_INFO_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int steps = argc > 2 ? atoi(argv[2]) : 10;
    for (int step = 0; step < steps; step++) {
        if (argv[1][0] == 'p')
            plain(step);
        else if (argv[1][0] == 'r')
            renamed(step);
        else
            of_mpi(step);
        int sum;
        MPI_Allreduce(&step, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (sum != step * size)
            wrong("sum", step);
    }
    if (me == 0)
        puts("all files right");
    MPI_Finalize();
    return 0;
}
