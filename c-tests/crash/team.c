/* Threads compute in every rank while the main thread calls MPI (MPI_THREAD_FUNNELED). A team
 * waits at barriers for its next part, and hands tasks over a queue under a recursive mutex. The
 * field at the end is right only if every thread of a restored process continues where it was. */
#include "order.h"
#include <pthread.h>

enum { PACE_US = 1500, TEAM = 3, CELLS = 3000, TAG = 6 };

static double field[CELLS + 2], next[CELLS + 2];
static pthread_barrier_t begin, finish;
static pthread_mutex_t mutex;
static int stop, handed;
static __thread uint64_t steps_of_mine;

static void work(int me)
{
    int from = 1 + CELLS / TEAM * me, to = me == TEAM - 1 ? CELLS : from + CELLS / TEAM - 1;
    for (int i = from; i <= to; i++)
        next[i] = 0.25 * field[i - 1] + 0.5 * field[i] + 0.25 * field[i + 1];
    pthread_mutex_lock(&mutex);
    pthread_mutex_lock(&mutex);
    handed++;
    pthread_mutex_unlock(&mutex);
    CHECK(pthread_mutex_unlock(&mutex) == 0, "the recursive mutex is not mine any more");
    steps_of_mine++;
}

static void *member(void *argument)
{
    int me = (int)(intptr_t)argument;
    for (;;) {
        pthread_barrier_wait(&begin);
        if (stop)
            return (void *)(uintptr_t)steps_of_mine;
        work(me);
        pthread_barrier_wait(&finish);
    }
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    order_begin(&argc, &argv, "team");
    CHECK(provided >= MPI_THREAD_FUNNELED, "level %d", provided);
    int n = check_size, me = check_rank, count = rounds(PACE_US);
    int left = (me + n - 1) % n, right = (me + 1) % n;
    pthread_mutexattr_t how;
    pthread_mutexattr_init(&how);
    pthread_mutexattr_settype(&how, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&mutex, &how);
    pthread_barrier_init(&begin, NULL, TEAM);
    pthread_barrier_init(&finish, NULL, TEAM);
    pthread_t team[TEAM];
    for (int i = 1; i < TEAM; i++)
        pthread_create(&team[i], NULL, member, (void *)(intptr_t)i);
    for (int i = 0; i <= CELLS + 1; i++)
        field[i] = (me * CELLS + i) % 97;
    double total = 0, before = 0;
    for (int k = 0; k < count; k++) {
        MPI_Sendrecv(&field[CELLS], 1, MPI_DOUBLE, right, TAG, &field[0], 1, MPI_DOUBLE, left, TAG,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sent(right, &field[CELLS], sizeof(double));
        got(left, &field[0], sizeof(double));
        MPI_Sendrecv(&field[1], 1, MPI_DOUBLE, left, TAG, &field[CELLS + 1], 1, MPI_DOUBLE, right, TAG,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sent_on(1, left, &field[1], sizeof(double));
        got_on(1, right, &field[CELLS + 1], sizeof(double));
        pthread_barrier_wait(&begin);
        work(0);
        pthread_barrier_wait(&finish);
        memcpy(&field[1], &next[1], CELLS * sizeof(double));
        if (k % 16 == 0) {
            double mine = 0;
            for (int i = 1; i <= CELLS; i++)
                mine += field[i];
            MPI_Allreduce(&mine, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            /* Diffusion on a ring loses nothing. */
            CHECK(k == 0 || (total - before < 1e-6 && before - total < 1e-6), "round %d: %.9f was %.9f", k, total, before);
            before = total;
        }
        pause_us(PACE_US);
    }
    stop = 1;
    pthread_barrier_wait(&begin);
    for (int i = 1; i < TEAM; i++) {
        void *steps;
        pthread_join(team[i], &steps);
        EQUAL((int)(uintptr_t)steps, count);
    }
    EQUAL(handed, count * TEAM);
    return order_end();
}
