/* Kind `loop` of state.c, which includes this file. */
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

/* An event loop, as runtime libraries of languages have it: epoll watches a pair of sockets, a
 * counter, a timer, signals and a listening socket; something waits in the pair at all times. */
static int loop, ends[2], wake, tick, told, listener;
static void watch(int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event))
        bad("epoll_ctl");
}
static void loop_begin(void)
{
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    struct itimerspec every = {{0, 2000000}, {0, 2000000}};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    loop = epoll_create1(EPOLL_CLOEXEC);
    wake = eventfd(0, EFD_NONBLOCK);
    tick = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (sigprocmask(SIG_BLOCK, &one, NULL) || (told = signalfd(-1, &one, SFD_NONBLOCK)) < 0
        || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) || timerfd_settime(tick, 0, &every, NULL)
        || bind(listener, (void *)&at, sizeof at) || listen(listener, 4))
        bad("the event loop");
    int all[] = {ends[0], wake, tick, told, listener};
    for (int i = 0; i < 5; i++)
        watch(all[i]);
    for (long n = -16; n < 0; n++)
        if (write(ends[1], &n, sizeof n) != sizeof n)
            bad("write to the pair");
}
static void loop_step(void)
{
    long got;
    uint64_t count = (uint64_t)step + 1;
    int wanted = step % 2 ? wake : told, seen = 0;
    struct signalfd_siginfo info;
    if (step % 2 ? write(wake, &count, 8) != 8 : kill(getpid(), SIGUSR1) != 0)
        bad("what wakes the loop");
    while (!seen) {
        struct epoll_event ready[8];
        int n = epoll_wait(loop, ready, 8, 5000);
        if (n <= 0)
            bad("nothing woke the loop");
        for (int i = 0; i < n; i++) {
            uint64_t fired;
            if (ready[i].data.fd == tick && read(tick, &fired, 8) != 8)
                bad("the timer");
            if (ready[i].data.fd == listener || ready[i].data.fd == (step % 2 ? told : wake))
                bad("who woke the loop");
            seen |= ready[i].data.fd == wanted;
        }
    }
    if (step % 2 ? read(wake, &count, 8) != 8 || count != (uint64_t)step + 1
                 : read(told, &info, sizeof info) != sizeof info || info.ssi_signo != SIGUSR1)
        bad("what woke the loop");
    if (write(ends[1], &step, sizeof step) != sizeof step || read(ends[0], &got, sizeof got) != sizeof got)
        bad("the pair of sockets");
    if (got != step - 16)
        bad("what waited in the pair");
}
