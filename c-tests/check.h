/*
 * The basis of every test program of this tree.
 *
 * Guarantees: a test that finds a mismatch prints one line on standard error (file, line, rank,
 * text). The program then ends with a code other than zero on every rank. Standard output has only
 * the lines of rank 0, in an order that does not depend on timing. So the same program under
 * another MPI must print the same bytes.
 *
 * `note_*` adds a value that a rank saw to a digest. `section` gathers the digests of all ranks and
 * prints one line. A program must not note values that may legally differ between implementations,
 * such as rounding of sums and texts.
 */
#ifndef FTMPI_TEST_CHECK_H
#define FTMPI_TEST_CHECK_H

#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_rank, check_size, check_errors;
static uint64_t check_digest = UINT64_C(0xcbf29ce484222325);
static MPI_Comm check_comm = MPI_COMM_NULL;
static const char *check_name = "?";

enum { CHECK_LINES = 12 };

__attribute__((format(printf, 3, 4), unused)) static void
check_fail(const char *file, int line, const char *format, ...)
{
    if (check_errors++ >= CHECK_LINES)
        return;
    char text[400];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fprintf(stderr, "FAIL %s:%d: rank %d of %d: %s\n", file, line, check_rank, check_size, text);
    fflush(stderr);
}

#define CHECK(condition, ...)                                  \
    do {                                                       \
        if (!(condition))                                      \
            check_fail(__FILE__, __LINE__, __VA_ARGS__);       \
    } while (0)

/* Two integers that must be equal. */
#define EQUAL(got, want)                                                            \
    do {                                                                            \
        long long got_ = (long long)(got), want_ = (long long)(want);               \
        if (got_ != want_)                                                          \
            check_fail(__FILE__, __LINE__, "%s is %lld, must be %lld", #got, got_,  \
                       want_);                                                      \
    } while (0)

__attribute__((unused)) static void note_bytes(const void *data, size_t bytes)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < bytes; i++)
        check_digest = (check_digest ^ p[i]) * UINT64_C(0x100000001b3);
}

__attribute__((unused)) static void note(long long value)
{
    note_bytes(&value, sizeof value);
}

__attribute__((unused)) static void section(const char *name)
{
    uint64_t *all = calloc((size_t)check_size, sizeof *all);
    uint64_t sum = 0;
    MPI_Gather(&check_digest, (int)sizeof check_digest, MPI_BYTE, all, (int)sizeof *all, MPI_BYTE,
               0, check_comm);
    if (check_rank == 0) {
        for (int i = 0; i < check_size; i++)
            sum = (sum ^ all[i]) * UINT64_C(0x100000001b3) + (uint64_t)i;
        printf("%s: %016llx\n", name, (unsigned long long)sum);
        fflush(stdout);
    }
    free(all);
}

__attribute__((unused)) static void check_begin(int *argc, char ***argv, const char *name)
{
    int initialised;
    check_name = name;
    MPI_Initialized(&initialised);
    if (!initialised)
        MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &check_size);
    MPI_Comm_dup(MPI_COMM_WORLD, &check_comm);
}

/* Ends the program on every rank with the same verdict. */
__attribute__((unused)) static int check_end(void)
{
    int all = 0;
    MPI_Allreduce(&check_errors, &all, 1, MPI_INT, MPI_SUM, check_comm);
    if (check_rank == 0) {
        if (all == 0)
            printf("%s on %d: ok\n", check_name, check_size);
        else
            printf("%s on %d: %d mismatches\n", check_name, check_size, all);
        fflush(stdout);
    }
    MPI_Comm_free(&check_comm);
    MPI_Finalize();
    return all == 0 ? 0 : 1;
}

/* Some checks are right by the standard and fail with the MPICH 4.0 that Debian ships. The same
 * programs are compared with MPICH, so they leave those checks out there. */
__attribute__((unused)) static int peer_is_mpich_4_0(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int n = 0;
    MPI_Get_library_version(text, &n);
    return strstr(text, "MPICH") != NULL && strstr(text, "4.0.") != NULL;
}

/* A byte that depends on everything that a program may confuse. */
__attribute__((unused)) static unsigned char pattern(uint32_t a, uint32_t b, uint32_t i)
{
    uint32_t h = a * 2654435761u ^ (b + 0x9e3779b9u) * 40503u ^ i * 2246822519u;
    h ^= h >> 15;
    h *= 2246822519u;
    h ^= h >> 13;
    return (unsigned char)h;
}

__attribute__((unused)) static void fill(void *p, size_t n, uint32_t a, uint32_t b)
{
    unsigned char *c = p;
    for (size_t i = 0; i < n; i++)
        c[i] = pattern(a, b, (uint32_t)i);
}

/* Index of the first wrong byte, or -1. */
__attribute__((unused)) static long long wrong_at(const void *p, size_t n, uint32_t a, uint32_t b)
{
    const unsigned char *c = p;
    for (size_t i = 0; i < n; i++)
        if (c[i] != pattern(a, b, (uint32_t)i))
            return (long long)i;
    return -1;
}

/* A small generator of our own, because the C library's generator differs between systems. */
struct random {
    uint64_t state;
};

__attribute__((unused)) static uint32_t draw(struct random *r)
{
    r->state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = r->state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ (z >> 31)) >> 16);
}

__attribute__((unused)) static uint32_t below(struct random *r, uint32_t n)
{
    return n ? draw(r) % n : 0;
}

#endif
