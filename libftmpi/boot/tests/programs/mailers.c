/* Pairs of threads send each other signals. Each signal must come once, in order, with its value.
 * usage: mailers STEPS FOLDER */
#include "rank.h"
#include <pthread.h>
#include <signal.h>

#define PAIRS 3
static int steps;
static pthread_t threads[2 * PAIRS];
static pthread_barrier_t all;

static void *mailer(void *argument)
{
    int me = (int)(intptr_t)argument;
    sigset_t mail;
    sigemptyset(&mail);
    sigaddset(&mail, SIGRTMIN + 1);
    require(pthread_sigmask(SIG_BLOCK, &mail, 0) == 0);
    pthread_barrier_wait(&all);
    for (int step = 0; step < steps; step++) {
        for (int turn = 0; turn < 2; turn++) {
            if (me % 2 == turn) {
                /* Two signals at once: the kernel queues them. */
                for (int i = 0; i < 2; i++)
                    require(pthread_sigqueue(threads[me ^ 1], SIGRTMIN + 1, (union sigval){ .sival_int = 2 * step + i }) == 0);
                continue;
            }
            for (int i = 0; i < 2; i++) {
                siginfo_t info;
                int signal;
                do
                    signal = sigwaitinfo(&mail, &info);
                while (signal < 0 && errno == EINTR);
                require(signal == SIGRTMIN + 1 && info.si_value.sival_int == 2 * step + i);
                require(info.si_code == SI_QUEUE);
            }
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    require(argc == 3);
    steps = atoi(argv[1]);
    pthread_barrier_init(&all, 0, 2 * PAIRS + 1);
    be_a_rank();
    for (int i = 0; i < 2 * PAIRS; i++)
        require(pthread_create(threads + i, 0, mailer, (void *)(intptr_t)i) == 0);
    pthread_barrier_wait(&all);
    for (int i = 0; i < 2 * PAIRS; i++)
        require(pthread_join(threads[i], 0) == 0);
    printf("%d\n", steps);
    return 3;
}
