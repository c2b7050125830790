/* Passive targets: tickets of a shared counter, sums of floating point numbers whose bits depend
 * on the order, read-add-write under an exclusive lock, and reads of each rank in its own memory
 * while other ranks change that memory. Every value that a rank saw goes into its later messages
 * and puts. A replay that serves the ranks in another order, or at another call, sends other
 * messages than the first incarnation. */
#include "order.h"

enum { PACE_US = 3000, TAG = 6, TICKET = 0, SUM = 1, TOTAL = 2, VIEW = 3, WORDS = 8 };

static void look(MPI_Win win, const volatile int64_t *memory)
{
    /* the rank's own memory, which other ranks may be changing */
    MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win);
    for (int i = 0; i < WORDS; i++)
        saw(memory[i]);
    MPI_Win_unlock(check_rank, win);
}

int main(int argc, char **argv)
{
    order_begin(&argc, &argv, "one_sided");
    int n = check_size, me = check_rank, count = rounds(PACE_US);
    int64_t *memory, *all;
    MPI_Win win, open;
    MPI_Win_allocate(WORDS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, check_comm, &memory, &win);
    MPI_Win_allocate(n * (MPI_Aint)sizeof *all, sizeof *all, MPI_INFO_NULL, check_comm, &all, &open);
    memset(memory, 0, WORDS * sizeof *memory);
    memset(all, 0, n * sizeof *all);
    MPI_Barrier(check_comm);
    MPI_Win_lock_all(0, open);
    int64_t drawn = 0;
    struct random r = {order_seed * 7919 + (uint64_t)me};
    for (int k = 0; k < count; k++) {
        int to = (int)below(&r, (uint32_t)n);
        switch (below(&r, 4)) {
        case 0: {
            int64_t one = 1, ticket = -1;
            MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win);
            MPI_Fetch_and_op(&one, &ticket, MPI_INT64_T, to, TICKET, MPI_SUM, win);
            MPI_Win_unlock(to, win);
            saw(ticket);
            drawn++;
            break;
        }
        case 1: {
            double x = 1.0 / (double)(3 + below(&r, 1000)), before = 0;
            MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win);
            MPI_Get_accumulate(&x, 1, MPI_DOUBLE, &before, 1, MPI_DOUBLE, to, SUM, 1, MPI_DOUBLE,
                               MPI_SUM, win);
            MPI_Win_flush(to, win);
            saw((long long)(before * 1e15));
            MPI_Win_unlock(to, win);
            break;
        }
        case 2: {
            int64_t value[2] = {0, 0};
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, win);
            MPI_Get(value, 2, MPI_INT64_T, to, TOTAL, 2, MPI_INT64_T, win);
            MPI_Win_flush_local(to, win);
            saw(value[1]);
            value[0]++;
            value[1] = (int64_t)order_view;
            MPI_Put(value, 2, MPI_INT64_T, to, TOTAL, 2, MPI_INT64_T, win);
            MPI_Win_unlock(to, win);
            drawn += 1000000;
            break;
        }
        default: {
            /* within the open window the only order is that of arrival */
            int64_t view = (int64_t)order_view;
            MPI_Accumulate(&view, 1, MPI_INT64_T, to, me, 1, MPI_INT64_T, MPI_REPLACE, open);
            if (k % 3 == 0)
                MPI_Win_flush(to, open);
            MPI_Win_sync(open);
            for (int i = 0; i < n; i++)
                saw(((volatile int64_t *)all)[i]);
        }
        }
        if (k % 4 == 1)
            look(win, memory);
        if (k % 3 == 2) {
            /* each round has a message to the next rank */
            struct { int64_t round; uint64_t view; } mine = {k, order_view}, theirs;
            MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, (me + 1) % n, TAG, &theirs, sizeof theirs, MPI_BYTE,
                         (me + n - 1) % n, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            sent((me + 1) % n, &mine, sizeof mine);
            got((me + n - 1) % n, &theirs, sizeof theirs);
            EQUAL(theirs.round, k);
        }
        pause_us(PACE_US);
    }
    MPI_Win_unlock_all(open);
    MPI_Barrier(check_comm);
    MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win);
    int64_t there = memory[TICKET] + 1000000 * memory[TOTAL], sums[2] = {0, 0}, ours[2] = {drawn, there};
    MPI_Win_unlock(me, win);
    MPI_Allreduce(ours, sums, 2, MPI_INT64_T, MPI_SUM, check_comm);
    CHECK(sums[0] == sums[1], "drawn %lld, counted %lld", (long long)sums[0], (long long)sums[1]);
    MPI_Win_free(&win);
    MPI_Win_free(&open);
    return order_end();
}
