/* Chapter 12: MPI_Win_sync is a memory barrier of processes that share memory. Two processes
 * each store to a flag of their own and then read the other's flag. With a barrier between, at
 * least one of them finds the new value. */
#define _DEFAULT_SOURCE
#include "../check.h"
#include <sched.h>

enum { ROUNDS = 20000, APART = 128 / sizeof(int), FLAG = 0, SEEN = APART, STEP = 2 * APART, INTS = 3 * APART };

/* Both ranks are here. */
static void meet(volatile int *mine, volatile int *theirs, int step)
{
    __atomic_store_n(&mine[STEP], step, __ATOMIC_RELEASE);
    for (int looks = 0; __atomic_load_n(&theirs[STEP], __ATOMIC_ACQUIRE) < step; looks++)
        if (looks > 200)
            sched_yield();
}

static void flags(MPI_Comm pair)
{
    volatile int *mine, *theirs;
    int rank, class, unit, both_old = 0;
    MPI_Aint bytes;
    MPI_Win win;
    MPI_Comm_rank(pair, &rank);
    MPI_Comm_set_errhandler(pair, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Win_allocate_shared(INTS * sizeof(int), sizeof(int), MPI_INFO_NULL, pair, &mine, &win), &class);
    if (class != MPI_SUCCESS) {
        EQUAL(class, MPI_ERR_RMA_SHARED);
        return;
    }
    MPI_Win_shared_query(win, 1 - rank, &bytes, &unit, &theirs);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    mine[FLAG] = mine[SEEN] = mine[STEP] = 0;
    MPI_Win_sync(win);
    MPI_Barrier(pair);
    for (int k = 1; k <= ROUNDS; k++) {
        meet(mine, theirs, 2 * k - 1);
        mine[FLAG] = k;
        MPI_Win_sync(win);
        mine[SEEN] = theirs[FLAG];
        meet(mine, theirs, 2 * k);
        both_old += mine[SEEN] != k && theirs[SEEN] != k;
    }
    EQUAL(both_old, 0);
    MPI_Barrier(pair);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    MPI_Comm pair;
    int size;
    check_begin(&argc, &argv, "shared_sync");
    MPI_Comm_split(check_comm, check_rank < 2 ? 0 : MPI_UNDEFINED, check_rank, &pair);
    if (pair != MPI_COMM_NULL) {
        MPI_Comm_size(pair, &size);
        if (size == 2)
            flags(pair);
        MPI_Comm_free(&pair);
    }
    return check_end();
}
