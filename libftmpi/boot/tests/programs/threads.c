/* Threads with all state that an image must bring back: locks of all kinds, waits of all kinds,
 * thread-local storage, signal stacks, names. Threads also begin and end.
 * usage: threads STEPS FOLDER (prints the same sum in any order of the threads) */
#include "rank.h"
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#define WORKERS 4
static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, recursive, checking, inheriting, robust;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t all;
static sem_t coins;
static uint64_t shared_sum, entries, readings;
static int steps;
static __thread uint64_t mine;

static uint64_t mix(uint64_t state, uint64_t word) { return (state ^ word) * 1099511628211ull; }

static uint64_t work(uint64_t word, int rounds)
{
    volatile double real = 1;
    for (int i = 0; i < rounds; i++) {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        real = real * 1.0000001 + (double)(word & 7) * 1e-9;
    }
    return word ^ (uint64_t)(real * 1e6);
}

static void make(pthread_mutex_t *mutex, int type, int protocol, int robustness)
{
    pthread_mutexattr_t how;
    pthread_mutexattr_init(&how);
    pthread_mutexattr_settype(&how, type);
    pthread_mutexattr_setprotocol(&how, protocol);
    pthread_mutexattr_setrobust(&how, robustness);
    require(pthread_mutex_init(mutex, &how) == 0);
}

static void *brief(void *argument)
{
    return (void *)work((uint64_t)argument, 200);
}

static void *cancelled(void *none)
{
    for (;;)
        pause();
    return none;
}

static struct timespec soon(long nanoseconds)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += nanoseconds;
    if (time.tv_nsec >= 1000000000) {
        time.tv_sec++;
        time.tv_nsec -= 1000000000;
    }
    return time;
}

static void step_of(int me, int step)
{
    mine = mix(mine, work(mine + step, 300));
    /* Held several times, during a computation. */
    require(pthread_mutex_lock(&recursive) == 0);
    require(pthread_mutex_lock(&recursive) == 0);
    shared_sum += work(step * WORKERS + me, 100);
    require(pthread_mutex_unlock(&recursive) == 0);
    require(pthread_mutex_lock(&checking) == 0);
    require(pthread_mutex_lock(&checking) == EDEADLK);
    __atomic_fetch_add(&entries, 1, __ATOMIC_RELAXED); /* under different locks */
    work(step, 100);
    require(pthread_mutex_unlock(&checking) == 0);
    require(pthread_mutex_unlock(&checking) == EPERM);
    require(pthread_mutex_unlock(&recursive) == 0);
    require(pthread_mutex_lock(&inheriting) == 0);
    __atomic_fetch_add(&entries, 1, __ATOMIC_RELAXED); /* under different locks */
    work(step, 100);
    require(pthread_mutex_unlock(&inheriting) == 0);
    require(pthread_mutex_lock(&robust) == 0);
    __atomic_fetch_add(&entries, 1, __ATOMIC_RELAXED); /* under different locks */
    work(step, 50);
    require(pthread_mutex_unlock(&robust) == 0);
    if (step % 3 == 0) {
        require(pthread_rwlock_wrlock(&table) == 0);
        require(pthread_rwlock_wrlock(&table) == EDEADLK);
        __atomic_fetch_add(&entries, 1, __ATOMIC_RELAXED); /* under different locks */
        work(step, 100);
        require(pthread_rwlock_unlock(&table) == 0);
    } else {
        require(pthread_rwlock_rdlock(&table) == 0);
        __atomic_fetch_add(&readings, 1, __ATOMIC_RELAXED);
        require(pthread_rwlock_unlock(&table) == 0);
    }
    struct timespec time = soon(300000);
    if (step % 5 == 0) {
        require(pthread_mutex_lock(&plain) == 0);
        int result = pthread_cond_timedwait(&turn, &plain, &time);
        require(result == 0 || result == ETIMEDOUT);
        require(pthread_mutex_unlock(&plain) == 0);
    } else if (step % 5 == 1) {
        require(sem_timedwait(&coins, &time) == -1 && errno == ETIMEDOUT);
        pthread_cond_broadcast(&turn);
    } else if (step % 5 == 2) {
        require(usleep(200) == 0);
    } else if (step % 20 == 3) {
        pthread_t thread;
        void *result;
        require(pthread_create(&thread, 0, brief, (void *)(uint64_t)step) == 0);
        require(pthread_join(thread, &result) == 0);
        mine = mix(mine, (uint64_t)result);
    } else if (step % 100 == 4) {
        pthread_t thread;
        void *result;
        require(pthread_create(&thread, 0, cancelled, 0) == 0);
        require(pthread_kill(thread, 0) == 0);
        require(pthread_cancel(thread) == 0);
        require(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    }
}

static void *worker(void *argument)
{
    int me = (int)(intptr_t)argument;
    char name[16], found[16];
    sprintf(name, "worker %d", me);
    require(prctl(PR_SET_NAME, name) == 0);
    stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 }, now;
    require(sigaltstack(&stack, 0) == 0);
    sigset_t set, old;
    sigfillset(&set);
    if (me % 2)
        require(pthread_sigmask(SIG_BLOCK, &set, 0) == 0);
    mine = me;
    for (int step = 0; step < steps; step++) {
        step_of(me, step);
        if (step % 50 == 49)
            pthread_barrier_wait(&all);
        if (step % 100 == 99) {
            require(prctl(PR_GET_NAME, found) == 0 && strcmp(name, found) == 0);
            require(sigaltstack(0, &now) == 0 && now.ss_sp == stack.ss_sp && now.ss_size == 65536);
            require(pthread_sigmask(SIG_BLOCK, 0, &old) == 0 && sigismember(&old, SIGUSR1) == me % 2);
        }
    }
    return (void *)mine;
}

int main(int argc, char **argv)
{
    require(argc == 3);
    steps = atoi(argv[1]);
    make(&recursive, PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
    make(&checking, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
    make(&inheriting, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED);
    make(&robust, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST);
    sem_init(&coins, 0, 0);
    pthread_barrier_init(&all, 0, WORKERS);
    be_a_rank();
    pthread_t threads[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        require(pthread_create(threads + i, 0, worker, (void *)(intptr_t)i) == 0);
    uint64_t sum = 0;
    for (int i = 0; i < WORKERS; i++) {
        void *result;
        require(pthread_join(threads[i], &result) == 0);
        sum += (uint64_t)result;
    }
    require(readings + entries == (uint64_t)steps * WORKERS * 4);
    printf("%016lx %016lx %lu\n", sum, shared_sum, entries);
    return 3;
}
