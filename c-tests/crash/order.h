/*
 * The common part of the crash programs. They run for about `--seconds T`, so that kills land in
 * them. They check the order that they saw against the order that their partners saw.
 *
 * Principle: a rank that is killed and replayed must repeat exactly what it did before, as far as
 * any other rank saw it. Every rank keeps a hash chain of all it sent to each partner, and of all
 * it received from each partner. The messages carry everything nondeterministic that the sender saw
 * before: the order of wildcard matches, the number of negative tests and probes, and clock
 * readings. A replayed rank that behaves differently has another chain of sent messages than its
 * partner's chain of received ones, because the partner kept the messages of the first incarnation.
 *
 * No program uses the clock to decide how long it runs, except `clock.c`, which tests the clock. A
 * round sleeps for a fixed time, and the number of rounds follows from `--seconds`.
 */
#ifndef FTMPI_TEST_ORDER_H
#define FTMPI_TEST_ORDER_H

#include "../check.h"
#include <time.h>

static double order_seconds = 1.0;
static uint64_t order_seed = 1;
static int order_first = -1;    /* this rank ends its process well before the others */
enum { STREAMS = 4 };   /* per partner: messages that may overtake go in different chains */
static uint64_t *order_sent, *order_got;
static uint64_t order_view = 88172645463325252u;   /* everything that this rank saw, in order */

static uint64_t chain(uint64_t h, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h ^ (h >> 29);
}

/* Adds a nondeterministic value that the program received. */
__attribute__((unused)) static void saw(long long what)
{
    order_view = chain(order_view, &what, sizeof what);
}

__attribute__((unused)) static void sent_on(int stream, int to, const void *data, size_t bytes)
{
    uint64_t *h = &order_sent[to * STREAMS + stream];
    *h = chain(*h, data, bytes);
}

__attribute__((unused)) static void got_on(int stream, int from, const void *data, size_t bytes)
{
    uint64_t *h = &order_got[from * STREAMS + stream];
    *h = chain(*h, data, bytes);
    saw(from);
    order_view = chain(order_view, data, bytes);
}

__attribute__((unused)) static void sent(int to, const void *data, size_t bytes)
{
    sent_on(0, to, data, bytes);
}

__attribute__((unused)) static void got(int from, const void *data, size_t bytes)
{
    got_on(0, from, data, bytes);
}

__attribute__((unused)) static void pause_us(long us)
{
    struct timespec t = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&t, NULL);
}

/* The number of rounds of `us` microseconds each that fill the wanted time. */
__attribute__((unused)) static int rounds(long us)
{
    double r = order_seconds * 1e6 / (double)us;
    return r < 3 ? 3 : r > 1e8 ? 100000000 : (int)r;
}

__attribute__((unused)) static void order_begin(int *argc, char ***argv, const char *name)
{
    check_begin(argc, argv, name);
    for (int i = 1; i < *argc; i++) {
        if (!strcmp((*argv)[i], "--seconds") && i + 1 < *argc)
            order_seconds = strtod((*argv)[++i], NULL);
        else if (!strcmp((*argv)[i], "--seed") && i + 1 < *argc)
            order_seed = strtoull((*argv)[++i], NULL, 10);
        else if (!strcmp((*argv)[i], "--first-to-exit") && i + 1 < *argc)
            order_first = (int)strtol((*argv)[++i], NULL, 10);
    }
    order_sent = calloc((size_t)check_size * STREAMS, sizeof *order_sent);
    order_got = calloc((size_t)check_size * STREAMS, sizeof *order_got);
}

/* Compares the sent messages of all ranks with the received messages of all ranks. */
__attribute__((unused)) static int order_end(void)
{
    uint64_t *theirs = calloc((size_t)check_size * STREAMS, sizeof *theirs);
    MPI_Alltoall(order_sent, STREAMS * (int)sizeof *order_sent, MPI_BYTE, theirs,
                 STREAMS * (int)sizeof *theirs, MPI_BYTE, check_comm);
    for (int i = 0; i < check_size * STREAMS; i++)
        CHECK(theirs[i] == order_got[i],
              "rank %d sent other messages than this rank received (stream %d): a replay went "
              "another way", i / STREAMS, i % STREAMS);
    free(theirs);
    free(order_sent);
    free(order_got);
    int first = order_first < 0 || order_first == check_rank;
    int verdict = check_end();
    if (!first)
        pause_us(2000000);
    return verdict;
}

#endif
