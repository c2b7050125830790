/* Threads change their user and threads are cancelled, all the time. The C library sends signals
 * of its own for both, and obeys such a signal only if its own process sent it.
 * usage: cancels STEPS FOLDER */
#include "rank.h"
#include <pthread.h>

#define WORKERS 3
static int steps;
static volatile int users_changed;

static void *waits(void *none)
{
    for (;;)
        pause();
    return none;
}

static void *computes(void *none)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);
    for (volatile long i = 0;; i++)
        ;
    return none;
}

static void *worker(void *argument)
{
    long cancelled = 0;
    /* A thread that ends at this moment may hang in the C library (2.36), also without ftmpi. */
    while (!users_changed)
        usleep(100);
    for (int step = 0; step < steps; step++) {
        pthread_t thread;
        void *result;
        require(pthread_create(&thread, 0, step % 2 ? waits : computes, 0) == 0);
        if (step % 3 == 0)
            usleep(100);
        require(pthread_cancel(thread) == 0);
        require(pthread_join(thread, &result) == 0);
        cancelled += result == PTHREAD_CANCELED;
    }
    return (void *)cancelled;
}

int main(int argc, char **argv)
{
    require(argc == 3);
    steps = atoi(argv[1]);
    be_a_rank();
    pthread_t threads[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        require(pthread_create(threads + i, 0, worker, 0) == 0);
    for (int step = 0; step < 4 * steps; step++)
        require(setreuid(getuid(), geteuid()) == 0 && setregid(getgid(), getegid()) == 0);
    users_changed = 1;
    long sum = 0;
    for (int i = 0; i < WORKERS; i++) {
        void *result;
        require(pthread_join(threads[i], &result) == 0);
        sum += (long)result;
    }
    printf("%ld\n", sum);
    return 3;
}
