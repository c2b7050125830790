/*
 * The common part of the kernels: options, exact arithmetic and the verdict. `--repeat N` runs N
 * passes. `--seconds T` runs for T seconds, on any machine: rank 0 looks at MPI's clock, which a
 * replay repeats, and sends the end with its verdict.
 *
 * The kernels have the communication patterns of the NAS benchmarks, but compute with integers
 * modulo 2^61 - 1. The patterns are the wavefront of LU, the pipelined line solves of BT and SP,
 * and the bucket sort of IS. So the result is the same number for any number of ranks, and any
 * lost, doubled or reordered message changes the result. Rank 0 computes the same serially and
 * compares after every pass.
 */
#ifndef FTMPI_TEST_KERNEL_H
#define FTMPI_TEST_KERNEL_H

#include <limits.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t word;
static const word PRIME = (UINT64_C(1) << 61) - 1;

static int me, size;
static long repeat = 1;
/* Seconds after which rank 0 ends the run; 0: after `repeat` passes. */
static double wanted;
/* Passes between two looks at the clock. The passes between them have no events. */
enum { CLOCK_EVERY = 4 };
static int edge = 0;

/* Passes differ, in a cycle of five, so that a message of an earlier pass is never right. */
enum { VARIANTS = 5 };
static word variant;
static word expected[VARIANTS];

__attribute__((unused)) static word times(word a, word b)
{
    unsigned __int128 p = (unsigned __int128)a * b;
    word r = (word)(p & PRIME) + (word)(p >> 61);
    return r >= PRIME ? r - PRIME : r;
}

__attribute__((unused)) static word plus(word a, word b)
{
    word r = a + b;
    return r >= PRIME ? r - PRIME : r;
}

/* A fixed value for a place. */
__attribute__((unused)) static word start_value(word i, word j, word k)
{
    word x = i * 1000003 + j * 10007 + k * 101 + 12345 + variant * UINT64_C(0x9e3779b9);
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x % PRIME;
}

static void kernel_begin(int *argc, char ***argv, int default_edge)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    edge = default_edge;
    for (int i = 1; i + 1 < *argc; i++) {
        if (!strcmp((*argv)[i], "--repeat"))
            repeat = strtol((*argv)[++i], NULL, 10);
        else if (!strcmp((*argv)[i], "--seconds")) {
            wanted = strtod((*argv)[++i], NULL);
            repeat = wanted > 0.0 ? LONG_MAX : 0;
        } else if (!strcmp((*argv)[i], "--edge"))
            edge = (int)strtol((*argv)[++i], NULL, 10);
    }
    if (repeat < 1 || edge < size || edge > 4096) {
        if (me == 0)
            fprintf(stderr, "--repeat and --seconds must be positive and --edge between the number of "
                            "ranks and 4096\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

static double kernel_start;

/* Fills in the expected result of every variant. Only rank 0 knows it. */
__attribute__((unused)) static void expect(word (*serial)(void))
{
    for (variant = 0; variant < VARIANTS && me == 0; variant++)
        expected[variant] = serial();
    variant = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    kernel_start = MPI_Wtime();   /* the time of the parallel part counts */
}

/* Verdict of one pass: the sum of all ranks against the serial one (known to rank 0). Under
 * --seconds the verdict may end the run. */
static int pass_right(long pass, word mine)
{
    word all[1] = {0}, *each = NULL;
    int right = 1, last = 0;
    if (me == 0)
        each = malloc(sizeof *each * (size_t)size);
    MPI_Gather(&mine, 1, MPI_UINT64_T, each, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (me == 0) {
        for (int r = 0; r < size; r++)
            all[0] = plus(all[0], each[r]);
        right = all[0] == expected[variant];
        if (!right)
            fprintf(stderr, "pass %ld: sum %llu, expected %llu\n", pass, (unsigned long long)all[0],
                    (unsigned long long)expected[variant]);
        free(each);
        if (wanted > 0.0 && pass % CLOCK_EVERY == 0)
            last = MPI_Wtime() - kernel_start >= wanted;
    }
    int verdict[2] = {right, last};
    MPI_Bcast(verdict, 2, MPI_INT, 0, MPI_COMM_WORLD);
    if (verdict[1])
        repeat = pass;
    return verdict[0];
}

static int kernel_end(const char *name, int good)
{
    double seconds = MPI_Wtime() - kernel_start;
    if (me == 0) {
        printf("%s: %ld passes on %d ranks\n", name, repeat, size);
        printf("time %.4f s\n", seconds);
        printf("%s\n", good ? "VERIFICATION SUCCESSFUL" : "VERIFICATION FAILED");
        fflush(stdout);
    }
    MPI_Finalize();
    return good ? 0 : 1;
}

/* First index of block b out of n. */
__attribute__((unused)) static int block(int total, int n, int b)
{
    return (int)((int64_t)total * b / n);
}

#endif
