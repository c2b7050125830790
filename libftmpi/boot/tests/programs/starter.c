/* A library whose constructor waits for a thread; the thread calls functions for the first time. */
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static int pair[2];

static void *call(void *none)
{
    struct timespec now;
    struct sigaction action;
    char byte = 0;
    clock_gettime(CLOCK_MONOTONIC, &now);
    sigaction(SIGUSR1, 0, &action);
    usleep(1);
    return write(pair[1], &byte, 1) == 1 ? none : none;
}

__attribute__((constructor)) static void start(void)
{
    pthread_t thread;
    char byte;
    if (pipe(pair) != 0 || pthread_create(&thread, 0, call, 0) != 0 || read(pair[0], &byte, 1) != 1)
        _exit(1);
    pthread_join(thread, 0);
}
