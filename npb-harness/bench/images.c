/* The cost of an image: memory that does not compress, bare copy-on-write children of the same
 * process that the images are compared with, and a program that runs for a while.
 *
 *   images steps MEGABYTES SECONDS               runs on; a bare child every second
 *   images rewrite MEGABYTES PASSES CHILDREN MS  writes to every page again and again; CHILDREN
 *                                                bare children, each of which exists for MS
 *
 * Prints `clone MILLISECONDS` (median), `steps N`, `rewrite SECONDS`. Compiled with -DPLAIN the
 * program needs no MPI and prints `ready` when its memory is filled. */
#define _GNU_SOURCE
#ifndef PLAIN
#include <mpi.h>
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double times[256];
static int count;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e3 + time.tv_nsec * 1e-6;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Without a signal at its end, so that only `gather` sees the end. */
static pid_t bare_child(unsigned milliseconds)
{
    double begin = now();
    pid_t child = syscall(SYS_clone, 0, 0, 0, 0, 0);
    if (child == 0) {
        usleep(milliseconds * 1000);
        _exit(0);
    }
    if (count < 256)
        times[count++] = now() - begin;
    return child;
}

static void gather(pid_t child)
{
    int status;
    syscall(SYS_wait4, child, &status, __WCLONE, 0);
}

int main(int argc, char **argv)
{
#ifndef PLAIN
    MPI_Init(&argc, &argv);
#endif
    int rewrite = argc > 1 && !strcmp(argv[1], "rewrite");
    size_t words = (argc > 2 ? strtoul(argv[2], 0, 10) : 64) << 17;
    double amount = argc > 3 ? strtod(argv[3], 0) : 1;
    int children = argc > 4 ? atoi(argv[4]) : 0;
    unsigned lifetime = argc > 5 ? atoi(argv[5]) : 0;
    uint64_t *memory = malloc(words * 8), x = 88172645463325252ull;
    for (size_t i = 0; i < words; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        memory[i] = x;
    }
#ifdef PLAIN
    puts("ready");
    fflush(stdout);
#endif
    if (rewrite) {
        double begin = now();
        long passes = (long)amount, every = children ? passes / children : 0;
        for (long pass = 0; pass < passes; pass++) {
            if (every && pass % every == every / 2)
                bare_child(lifetime);
            for (size_t i = 0; i < words; i += 8)
                memory[i] += pass;
        }
        printf("rewrite %.6f\n", (now() - begin) / 1e3);
        for (int i = 0; i < count; i++)
            gather(-1);
    } else {
        for (int i = 0; i < 5; i++)
            gather(bare_child(0));
        /* Without the clock, because a replay would need its values. */
        long steps = (long)(amount * 500), at = 0;
        for (long step = 0; step < steps; step++) {
            for (int i = 0; i < 64; i++, at = (at + 512 * 67) % (long)words)
                memory[at]++;
            usleep(2000);
            if (step % 500 == 250)
                gather(bare_child(0));
        }
        printf("steps %ld\n", steps);
    }
    if (count) {
        qsort(times, count, sizeof *times, by_value);
        printf("clone %.3f\n", times[count / 2]);
    }
    fflush(stdout);
#ifndef PLAIN
    MPI_Finalize();
#endif
    return 0;
}
