/* Waits in all ways that a signal ends, and must not notice the images. Prints the times.
 * usage: sleeper */
#include "rank.h"
#include <poll.h>
#include <signal.h>
#include <sys/select.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static volatile int alarms;
static void on_alarm(int signal) { (void)signal; alarms++; }

int main(void)
{
    be_a_rank();
    double start = now();
    struct timespec third = { 0, 333000000 };
    require(nanosleep(&third, 0) == 0);
    require(clock_nanosleep(CLOCK_MONOTONIC, 0, &third, 0) == 0);
    require(usleep(333000) == 0);
    require(sleep(1) == 0);
    require(poll(0, 0, 333) == 0);
    require(ppoll(0, 0, &third, 0) == 0);
    struct timeval time = { 0, 333000 };
    require(select(0, 0, 0, 0, &time) == 0);
    require(pselect(0, 0, 0, 0, &third, 0) == 0);
    require(images_taken >= 3 || images_restored > 0);
    double took = now() - start;
    /* A wait that begins anew after each image would never end. A busy machine ends waits late. */
    if (images_restored == 0 && (took < 3.33 || took > 5)) {
        fprintf(stderr, "took %f\n", took);
        return 1;
    }
    /* Signals of the program still wake it. */
    struct sigaction action = { .sa_handler = on_alarm };
    sigaction(SIGALRM, &action, 0);
    alarm(1);
    struct timespec left = { 9, 0 };
    require(nanosleep(&left, &left) == -1 && errno == EINTR && alarms == 1 && left.tv_sec >= 3);
    alarm(1);
    require(pause() == -1 && errno == EINTR && alarms == 2);
    printf("slept\n");
    return 0;
}
