/* Two threads of rank 0 use rank 1 under MPI_Win_lock_all. The first operation asks for the lock and,
 * under protocols that log, waits until rank 1 has recorded that it granted it. The operation of the
 * other thread must not return before, since what follows it is done under the lock.
 *
 * Rank 1 has left MPI when the first file is there, and serves nothing until the second one is. A
 * third thread makes that after a while in which an operation that does not wait would return. */
#include "order.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { ROUNDS = 3, WHILE_US = 200000 };

static MPI_Win win;
static atomic_int served;
static char outside[32], go[32];

static void make(const char *file)
{
    close(open(file, O_CREAT | O_WRONLY, 0600));
}

static void await(const char *file)
{
    while (access(file, F_OK) != 0)
        pause_us(1000);
}

static void add_one(void)
{
    int64_t one = 1;
    MPI_Accumulate(&one, 1, MPI_INT64_T, 1, 0, 1, MPI_INT64_T, MPI_SUM, win);
    CHECK(atomic_load(&served), "an operation returned before the lock can have been granted");
}

static void *second(void *unused)
{
    (void)unused;
    pause_us(WHILE_US / 4);
    add_one();
    return NULL;
}

static void *third(void *unused)
{
    (void)unused;
    pause_us(WHILE_US);
    atomic_store(&served, 1);
    make(go);
    return NULL;
}

int main(int argc, char **argv)
{
    int granted;
    int64_t *memory;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
    order_begin(&argc, &argv, "thread_lock");
    EQUAL(granted, MPI_THREAD_MULTIPLE);
    MPI_Win_allocate(8, 8, MPI_INFO_NULL, check_comm, &memory, &win);
    *memory = 0;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t others[2];
        snprintf(outside, sizeof outside, "outside.%d", round);
        snprintf(go, sizeof go, "go.%d", round);
        MPI_Barrier(check_comm);
        if (check_rank == 0) {
            atomic_store(&served, 0);
            await(outside);
            MPI_Win_lock_all(0, win);
            pthread_create(&others[0], NULL, second, NULL);
            pthread_create(&others[1], NULL, third, NULL);
            add_one();
            pthread_join(others[0], NULL);
            pthread_join(others[1], NULL);
            MPI_Win_unlock_all(win);
        } else {
            make(outside);
            await(go);
        }
        MPI_Barrier(check_comm);
    }
    MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win);
    EQUAL(*memory, check_rank == 1 ? 2 * ROUNDS : 0);
    MPI_Win_unlock(check_rank, win);
    MPI_Win_free(&win);
    return order_end();
}
