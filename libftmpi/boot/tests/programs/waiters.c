/* Threads that wait, nearly all the time, for locks that name their owner by thread id. A lock
 * that a thread takes after a restore must belong to it. usage: waiters STEPS FOLDER */
#include "rank.h"
#include <pthread.h>
#include <threads.h>
#include <time.h>

#define KINDS 9
#define WAITERS 2
static const struct { int type, protocol, robustness; } kinds[KINDS - 2] = {
    { PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST },
    { PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST },
    { PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST },
    { PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED },
    { PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_ROBUST },
    { PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED },
    { PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED },
};
static pthread_mutex_t mutexes[KINDS - 2];
static mtx_t ours;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static long taken[KINDS];
static int steps;

static void take(int kind, int way)
{
    struct timespec late;
    clock_gettime(CLOCK_REALTIME, &late);
    late.tv_sec += 100;
    if (kind == KINDS - 1)
        require((way ? mtx_timedlock(&ours, &late) : mtx_lock(&ours)) == thrd_success);
    else if (kind == KINDS - 2)
        require((way ? pthread_rwlock_timedwrlock(&table, &late) : pthread_rwlock_wrlock(&table)) == 0);
    else
        require((way ? pthread_mutex_timedlock(mutexes + kind, &late) : pthread_mutex_lock(mutexes + kind)) == 0);
}

static void give(int kind)
{
    taken[kind]++;
    if (kind == KINDS - 1)
        require(mtx_unlock(&ours) == thrd_success);
    else if (kind == KINDS - 2)
        require(pthread_rwlock_unlock(&table) == 0);
    else
        require(pthread_mutex_unlock(mutexes + kind) == 0);
}

static void *waiter(void *number)
{
    int kind = (int)(intptr_t)number / WAITERS, way = (int)(intptr_t)number % WAITERS;
    for (int step = 0; step < steps; step++) {
        take(kind, way);
        usleep(500); /* most images find one thread here and the other one waiting */
        give(kind);
    }
    return 0;
}

int main(int argc, char **argv)
{
    require(argc == 3);
    steps = atoi(argv[1]);
    for (int i = 0; i < KINDS - 2; i++) {
        pthread_mutexattr_t how;
        pthread_mutexattr_init(&how);
        pthread_mutexattr_settype(&how, kinds[i].type);
        pthread_mutexattr_setprotocol(&how, kinds[i].protocol);
        pthread_mutexattr_setrobust(&how, kinds[i].robustness);
        require(pthread_mutex_init(mutexes + i, &how) == 0);
    }
    require(mtx_init(&ours, mtx_recursive | mtx_timed) == thrd_success);
    be_a_rank();
    pthread_t threads[KINDS * WAITERS];
    for (int i = 0; i < KINDS * WAITERS; i++)
        require(pthread_create(threads + i, 0, waiter, (void *)(intptr_t)i) == 0);
    for (int i = 0; i < KINDS * WAITERS; i++)
        require(pthread_join(threads[i], 0) == 0);
    for (int i = 0; i < KINDS; i++)
        printf("%ld\n", taken[i]);
    return 3;
}
