/* Memory that ranks share (MPI_Win_allocate_shared). A word in it tells whose turn it is. The
 * ranks wait for their turn with and without calls, store into each other's parts, and accumulate
 * to each other. They create and free a second window again and again. The memory of each rank must
 * agree with the shared memory at every step. An image of one rank that is a moment older than
 * another's shows at once. With `--threads` another thread of each rank does the same without any
 * call. */
#define _GNU_SOURCE
#include "order.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { PACE_US = 1500, CELLS = 1500, TAG = 3, SOMETIMES = 40 };

struct part {
    _Atomic uint64_t turn;            /* of rank 0: the rank whose turn it is */
    uint64_t done;                    /* number of turns that its rank had */
    int64_t sum;                      /* accumulated by other ranks */
    _Atomic uint64_t before, after;   /* of the rank's thread */
    uint64_t cells[CELLS];
};

static struct part **part;
static int n, me, right, left;
static _Atomic int over;

static void fail(const char *what, long long a, long long b)
{
    fprintf(stderr, "rank %d: %s: %lld and %lld\n", me, what, a, b);
    MPI_Abort(MPI_COMM_WORLD, 9);
}

/* Two words that are always equal or differ by one, and never older than the value that this
 * thread read of its neighbour. */
static void *without_calls(void *unused)
{
    uint64_t own = 0, seen = 0;
    (void)unused;
    while (!over) {
        uint64_t theirs = part[left]->after;
        if (theirs < seen)
            fail("the neighbour's thread went back", (long long)theirs, (long long)seen);
        seen = theirs;
        if (part[me]->before != own || part[me]->after != own)
            fail("another thread's words", (long long)part[me]->after, (long long)own);
        own = (own > seen ? own : seen) + 1;
        part[me]->before = own;
        part[me]->after = own;
        for (int i = 0; i < 200 && !over; i++)
            sched_yield();
    }
    return NULL;
}

/* The value that rank r adds to its neighbour's cell i in its turn k. */
static uint64_t gift(int k, int r, int i)
{
    return (uint64_t)(k + 1) * (uint64_t)(r + 3) + (uint64_t)i;
}

static void turn(int k, MPI_Win win, uint64_t *expected)
{
    uint64_t mine = (uint64_t)k * (uint64_t)n + (uint64_t)me;
    while (part[0]->turn != mine) {
        if (part[0]->turn > mine)
            fail("another rank had my turn", (long long)part[0]->turn, (long long)mine);
        /* One wait in three makes no call. */
        if (k % 3)
            MPI_Win_sync(win);
        sched_yield();
    }
    if (part[me]->done != (uint64_t)k)
        fail("turns had and counted", (long long)part[me]->done, k);
    /* The left neighbour has added in this round already, except for the first rank. */
    int given = me == 0 ? k : k + 1;
    for (int i = 0; i < CELLS; i++) {
        if (given > 0)
            expected[i] += gift(given - 1, left, i);
        if (part[me]->cells[i] != expected[i])
            fail("cells", (long long)part[me]->cells[i], (long long)expected[i]);
        part[right]->cells[i] += gift(k, me, i);
    }
    part[me]->done++;
    saw((long long)part[me]->cells[k % CELLS]);
    part[0]->turn = mine + 1;
}

static void second_window(MPI_Comm host)
{
    long *mine, *first;
    MPI_Win win;
    MPI_Aint bytes;
    int unit;
    MPI_Win_allocate_shared((me + 1) * (MPI_Aint)sizeof *mine, sizeof *mine, MPI_INFO_NULL, host, &mine, &win);
    MPI_Win_shared_query(win, 0, &bytes, &unit, &first);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    for (int i = 0; i <= me; i++)
        mine[i] = 100 * me + i;
    MPI_Win_sync(win);
    MPI_Barrier(host);
    MPI_Win_sync(win);
    /* The parts of all ranks are contiguous. */
    for (int r = 0, at = 0; r < n; r++)
        for (int i = 0; i <= r; i++, at++)
            if (first[at] != 100 * r + i)
                fail("second window", first[at], 100 * r + i);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    order_begin(&argc, &argv, "shared_memory");
    int threads = 0, count = rounds(PACE_US);
    for (int i = 1; i < argc; i++)
        threads |= !strcmp(argv[i], "--threads");
    MPI_Comm host;
    MPI_Win win;
    struct part *own;
    uint64_t *expected = calloc(CELLS, sizeof *expected);
    pthread_t thread;
    MPI_Comm_split_type(check_comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &n);
    MPI_Comm_rank(host, &me);
    right = (me + 1) % n;
    left = (me + n - 1) % n;
    /* A part may begin anywhere within a page. */
    MPI_Win_allocate_shared((MPI_Aint)sizeof *own + 64 * me, 1, MPI_INFO_NULL, host, &own, &win);
    part = malloc((size_t)n * sizeof *part);
    for (int r = 0; r < n; r++) {
        MPI_Aint bytes;
        int unit;
        MPI_Win_shared_query(win, r, &bytes, &unit, &part[r]);
    }
    MPI_Barrier(host);
    if (threads)
        pthread_create(&thread, NULL, without_calls, NULL);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    int64_t sum = 0;
    for (int k = 0; k < count; k++) {
        turn(k, win, expected);
        if (k % 4 == 1) {
            int64_t one = k + me;
            MPI_Accumulate(&one, 1, MPI_INT64_T, right, offsetof(struct part, sum), 1, MPI_INT64_T, MPI_SUM, win);
            MPI_Win_flush(right, win);
            MPI_Barrier(host);
            sum += k + left;
            MPI_Win_sync(win);
            if (part[me]->sum != sum)
                fail("accumulated", part[me]->sum, sum);
            MPI_Barrier(host);
        }
        if (k % SOMETIMES == SOMETIMES / 2)
            second_window(host);
        if (k % 2) {
            uint64_t out = order_view, in;
            int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
            MPI_Sendrecv(&out, 1, MPI_UINT64_T, to, TAG, &in, 1, MPI_UINT64_T, from, TAG, check_comm, MPI_STATUS_IGNORE);
            sent(to, &out, sizeof out);
            got(from, &in, sizeof in);
        }
        pause_us(PACE_US / 2);
    }
    MPI_Win_unlock_all(win);
    over = 1;
    if (threads)
        pthread_join(thread, NULL);
    MPI_Win_free(&win);
    MPI_Comm_free(&host);
    return order_end();
}
