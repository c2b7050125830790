/* Has one entry for each table of an image, and waits for its image. In a restored process it ends
 * with a code of its own. usage: rich FOLDER */
#include "rank.h"
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>

static void *other(void *nothing)
{
    for (;;)
        pause();
    return nothing;
}

int main(int argc, char **argv)
{
    require(argc == 2 && chdir(argv[1]) == 0);
    /* All signals but the agent's. */
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, 62);
    require(sigprocmask(SIG_BLOCK, &all, 0) == 0);
    pthread_t thread;
    require(pthread_create(&thread, 0, other, 0) == 0);
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
    timer_t timer;
    require(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    require(raise(SIGUSR2) == 0 && kill(getpid(), SIGURG) == 0);
    int ends[2];
    require(pipe(ends) == 0 && write(ends[1], "0123456789", 10) == 10);
    int memory = memfd_create("memory", 0);
    require(memory >= 0 && ftruncate(memory, 8192) == 0 && write(memory, "text", 4) == 4);
    char *mapped = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    require(mapped != MAP_FAILED);
    int gone = open("gone", O_CREAT | O_RDWR, 0600);
    require(gone >= 0 && write(gone, "also", 4) == 4 && unlink("gone") == 0);
    int log = open("log", O_CREAT | O_WRONLY | O_APPEND, 0600);
    require(log >= 0 && dup(log) >= 0 && dup(1) >= 0 && eventfd(3, 0) >= 0);
    require(open("/dev/null", O_RDWR) >= 0 && open(".", O_RDONLY | O_DIRECTORY) >= 0);
    int loop = epoll_create1(0);
    struct epoll_event watched = { .events = EPOLLIN };
    require(loop >= 0 && epoll_ctl(loop, EPOLL_CTL_ADD, ends[0], &watched) == 0);
    int pair[2];
    require(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && write(pair[1], "pair", 4) == 4);
    require(timerfd_create(CLOCK_MONOTONIC, 0) >= 0 && socket(AF_INET, SOCK_DGRAM, 0) >= 0);
    struct flock part = { .l_type = F_WRLCK, .l_len = 10 };
    require(fcntl(log, F_SETLK, &part) == 0);
    char *apart = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(apart != MAP_FAILED && madvise(apart, 4096, MADV_DONTFORK) == 0);
    be_a_rank();
    while (images_restored == 0)
        usleep(1000);
    require(write(1, "restored\n", 9) == 9);
    _exit(3);
}
