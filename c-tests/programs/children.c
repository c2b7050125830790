/*
 * Ranks with children that wait: a forked helper behind two pipes, a filter that is another program,
 * and a stream of popen. Each child must be where it was when the image of its rank was taken.
 * Usage: children STEPS
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void require(int condition, const char *what, int step)
{
    if (condition)
        return;
    fprintf(stderr, "step %d: %s\n", step, what);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static int to_helper, from_helper, to_filter, from_filter;

static pid_t start(int *to, int *from, int is_filter)
{
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
        MPI_Abort(MPI_COMM_WORLD, 4);
    pid_t pid = fork();
    if (pid == 0) {
        close(in[1]);
        close(out[0]);
        if (is_filter) {
            dup2(in[0], 0);
            dup2(out[1], 1);
            close(in[0]);
            close(out[1]);
            execlp("cat", "cat", (char *)0);
            _exit(5);
        }
        uint64_t sum = 0, word;
        while (read(in[0], &word, sizeof word) == sizeof word) {
            sum = sum * 31 + word;
            if (write(out[1], &sum, sizeof sum) != sizeof sum)
                _exit(6);
        }
        _exit(7);
    }
    close(in[0]);
    close(out[1]);
    *to = in[1];
    *from = out[0];
    return pid;
}

int main(int argc, char **argv)
{
    int rank, size, steps = argc > 1 ? atoi(argv[1]) : 100, status;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char command[64], name[32];
    snprintf(name, sizeof name, "lines-%d", rank);
    snprintf(command, sizeof command, "cat >%s", name);
    /* (The helper has the end of the filter's pipe, too: it ends first.) */
    pid_t filter = start(&to_filter, &from_filter, 1);
    pid_t helper = start(&to_helper, &from_helper, 0);
    FILE *lines = popen(command, "w");
    require(filter > 0 && helper > 0 && lines != 0, "no children", -1);
    uint64_t sum = 0;
    for (int step = 0; step < steps; step++) {
        uint64_t word = (uint64_t)step * 7 + rank, heard = 0, all = 0;
        require(write(to_filter, &word, sizeof word) == sizeof word, "filter, write", step);
        require(write(to_helper, &word, sizeof word) == sizeof word, "helper, write", step);
        sum = sum * 31 + word;
        usleep(10000);
        MPI_Allreduce(&word, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        require(read(from_helper, &heard, sizeof heard) == sizeof heard && heard == sum, "helper, answer", step);
        require(read(from_filter, &heard, sizeof heard) == sizeof heard && heard == word, "filter, answer", step);
        require(waitpid(helper, &status, WNOHANG) == 0, "the helper has ended", step);
        fprintf(lines, "%d %lu\n", step, (unsigned long)all);
    }
    close(to_helper);
    close(to_filter);
    require(waitpid(helper, &status, 0) == helper && WEXITSTATUS(status) == 7, "the helper's code", steps);
    require(waitpid(filter, &status, 0) == filter && status == 0, "the filter's code", steps);
    require(pclose(lines) == 0, "the stream's code", steps);
    FILE *written = fopen(name, "r");
    int count = 0, step;
    unsigned long all;
    while (written && fscanf(written, "%d %lu", &step, &all) == 2 && step == count)
        count++;
    require(count == steps, "lines in the file", count);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("children of %d ranks: %lu\n", size, (unsigned long)sum);
    MPI_Finalize();
    return 0;
}
