/* Programs of items: objects of the kernel that descriptors stand for. See items.h.
 * usage: torture_objects ITEM STEPS FOLDER */
#include "items.h"
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

/* An event loop: epoll watches a counter, a socket pair, a pipe, a timer, signals, another epoll, and
 * a file under a number that is another file's now. */
enum { COUNTER = 7, SOCKET = 1000001, PIPE, TIMER, SIGNAL, INNER, MOVED };
static int loop, inner, counter, pair[2], ends[2], timer, signals, inner_counter, moved, number_of_moved;
static long ticks;
static void watch(int epoll, int fd, uint32_t events, uint64_t data)
{
    struct epoll_event event = { .events = events, .data.u64 = data };
    require(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
}
static void epoll_begin(void)
{
    loop = epoll_create1(EPOLL_CLOEXEC);
    inner = epoll_create1(0);
    counter = eventfd(0, EFD_NONBLOCK);
    inner_counter = eventfd(0, EFD_NONBLOCK);
    moved = eventfd(0, EFD_NONBLOCK);
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0 && pipe2(ends, O_NONBLOCK) == 0);
    timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    require(sigprocmask(SIG_BLOCK, &one, 0) == 0);
    signals = signalfd(-1, &one, SFD_NONBLOCK | SFD_CLOEXEC);
    watch(loop, counter, EPOLLIN, COUNTER);
    watch(loop, pair[0], EPOLLIN | EPOLLET, SOCKET);
    watch(loop, ends[0], EPOLLIN | EPOLLONESHOT, PIPE);
    watch(loop, timer, EPOLLIN, TIMER);
    watch(loop, signals, EPOLLIN | EPOLLRDHUP, SIGNAL);
    watch(inner, inner_counter, EPOLLIN, 5);
    watch(loop, inner, EPOLLIN, INNER);
    number_of_moved = dup(moved);
    watch(loop, number_of_moved, EPOLLIN, MOVED);
    require(dup2(1, number_of_moved) == number_of_moved);
    struct itimerspec soon = { { 0, 5000000 }, { 0, 1000000 } };
    require(timerfd_settime(timer, 0, &soon, 0) == 0);
}
static void count(int fd, uint64_t add) { require(write(fd, &add, 8) == 8); }
static void epoll_step(int step)
{
    int kind = next() % 6, seen = 0, had_timer = 0;
    uint64_t word = next() | 1, got = 0;
    uint64_t wanted[] = { COUNTER, SOCKET, PIPE, SIGNAL, INNER, MOVED };
    switch (kind) {
    case 0: count(counter, step + 1); break;
    case 1: require(write(pair[1], &word, 8) == 8); break;
    case 2: require(write(ends[1], &word, 8) == 8); break;
    case 3: require(kill(getpid(), SIGUSR1) == 0); break;
    case 4: count(inner_counter, 3); break;
    case 5: count(moved, 4); break;
    }
    spin(300);
    while (!seen) {
        struct epoll_event events[8];
        int n = epoll_wait(loop, events, 8, 10000);
        require(n > 0);
        for (int i = 0; i < n; i++) {
            if (events[i].data.u64 == TIMER) {
                require(had_timer || read(timer, &got, 8) == 8);
                ticks += got;
                had_timer = 1;
                continue;
            }
            /* What is watched for changes may be told twice over a restore. */
            if (events[i].data.u64 == SOCKET && kind != 1)
                continue;
            require(events[i].data.u64 == wanted[kind] && events[i].events == EPOLLIN);
            seen = 1;
        }
    }
    struct signalfd_siginfo info;
    switch (kind) {
    case 0: require(read(counter, &got, 8) == 8 && got == (uint64_t)step + 1); break;
    case 1: require(read(pair[0], &got, 8) == 8 && got == word); break;
    case 2:
        require(read(ends[0], &got, 8) == 8 && got == word);
        struct epoll_event again = { .events = EPOLLIN | EPOLLONESHOT, .data.u64 = PIPE };
        require(epoll_ctl(loop, EPOLL_CTL_MOD, ends[0], &again) == 0);
        break;
    case 3: require(read(signals, &info, sizeof info) == sizeof info && info.ssi_signo == SIGUSR1); break;
    case 4: require(read(inner_counter, &got, 8) == 8 && got == 3); break;
    case 5: require(read(moved, &got, 8) == 8 && got == 4); break;
    }
    mix(word);
    /* A timer that expires at this moment has no time left until the kernel begins its next period. A
     * timer that was stopped has none for good. */
    struct itimerspec now = { 0 };
    for (int tries = 0; tries < 1000 && now.it_value.tv_nsec == 0; tries++)
        require(timerfd_gettime(timer, &now) == 0 && now.it_interval.tv_nsec == 5000000);
    require(now.it_value.tv_nsec > 0);
    require(fcntl(loop, F_GETFD) == FD_CLOEXEC && fcntl(inner, F_GETFD) == 0 && (fcntl(timer, F_GETFL) & O_NONBLOCK));
    require(fcntl(signals, F_GETFD) == FD_CLOEXEC && (fcntl(signals, F_GETFL) & O_NONBLOCK));
    if (step % 100 == 99)
        require(ticks > 0 || step < 1000);
}

/* Pairs of sockets of every kind with something in them, ends that are closed or shut down, a pipe
 * without a writer and one without a reader. */
static int pairs[3][2], alone, shut[2], drained, broken;
static const int kinds[3] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };
static uint64_t sent[3][2], received[3][2];
static void pairs_begin(void)
{
    for (int i = 0; i < 3; i++)
        require(socketpair(AF_UNIX, kinds[i] | SOCK_NONBLOCK | (i == 1 ? SOCK_CLOEXEC : 0), 0, pairs[i]) == 0);
    int other[2], size = 100000;
    require(setsockopt(pairs[0][0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size) == 0);
    struct timeval limit = { 7, 500000 };
    require(setsockopt(pairs[2][1], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
    require(socketpair(AF_UNIX, SOCK_STREAM, 0, other) == 0 && write(other[1], "last words", 10) == 10);
    require(close(other[1]) == 0);
    alone = other[0];
    require(socketpair(AF_UNIX, SOCK_STREAM, 0, shut) == 0 && write(shut[1], "before", 6) == 6);
    require(shutdown(shut[1], SHUT_WR) == 0);
    require(pipe(other) == 0 && write(other[1], "rest", 4) == 4 && close(other[1]) == 0);
    drained = other[0];
    require(pipe(other) == 0 && close(other[0]) == 0);
    broken = other[1];
}
static void pairs_step(int step)
{
    uint64_t words[40];
    for (int i = 0; i < 3; i++)
        for (int end = 0; end < 2; end++) {
            for (int n = next() % 4; n > 0; n--) {
                int many = 1 + next() % 40;
                /* A stream counts words, the others count messages. */
                for (int w = 0; w < many; w++)
                    words[w] = sent[i][end] + (i == 0 ? w : 0);
                ssize_t got = send(pairs[i][end], words, many * 8, MSG_DONTWAIT | MSG_NOSIGNAL);
                require(got > 0 ? got % 8 == 0 : errno == EAGAIN || errno == ENOBUFS);
                if (got > 0)
                    sent[i][end] += i == 0 ? got / 8 : 1;
            }
            for (int n = next() % 4; n > 0; n--) {
                ssize_t got = recv(pairs[i][!end], words, i == 0 ? 8 * (1 + next() % 40) : sizeof words, MSG_DONTWAIT);
                if (got < 0) {
                    require(errno == EAGAIN && received[i][end] == sent[i][end]);
                    continue;
                }
                require(got > 0 && got % 8 == 0);
                for (int w = 0; w < got / 8; w++)
                    require(words[w] == received[i][end] + (i == 0 ? w : 0));
                received[i][end] += i == 0 ? got / 8 : 1;
            }
            mix(sent[i][end] - received[i][end]);
        }
    char text[16];
    require(recv(alone, text, 16, MSG_PEEK) == 10 && memcmp(text, "last words", 10) == 0);
    require(send(alone, "x", 1, MSG_NOSIGNAL) == -1 && errno == EPIPE);
    require(recv(shut[0], text, 16, MSG_PEEK) == 6 && send(shut[1], "x", 1, MSG_NOSIGNAL) == -1 && errno == EPIPE);
    require(send(shut[0], "y", 1, MSG_NOSIGNAL) == 1 && recv(shut[1], text, 16, 0) == 1 && text[0] == 'y');
    struct pollfd hung[2] = { { drained, POLLIN, 0 }, { broken, POLLOUT, 0 } };
    require(poll(hung, 2, 0) == 2 && (hung[0].revents & (POLLIN | POLLHUP)) == (POLLIN | POLLHUP) && (hung[1].revents & POLLERR));
    int size = 0;
    socklen_t len = sizeof size;
    require(getsockopt(pairs[0][0], SOL_SOCKET, SO_SNDBUF, &size, &len) == 0 && size == 200000);
    struct timeval limit;
    len = sizeof limit;
    require(getsockopt(pairs[2][1], SOL_SOCKET, SO_RCVTIMEO, &limit, &len) == 0 && limit.tv_sec == 7 && limit.tv_usec == 500000);
    require(fcntl(pairs[1][0], F_GETFD) == FD_CLOEXEC && fcntl(pairs[0][1], F_GETFD) == 0);
    require((fcntl(pairs[2][0], F_GETFL) & O_NONBLOCK) && !(fcntl(alone, F_GETFL) & O_NONBLOCK));
    spin(step % 7 * 50);
}

/* Sockets that nobody is connected to: each still serves a client. */
static int tcp, udp, udp_to, named, unused, logger;
static struct sockaddr_in tcp_at, udp_at;
static struct sockaddr_un named_at = { AF_UNIX, "listener" };
static void sockets_begin(void)
{
    int one = 1, size = 50000;
    struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof any;
    tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    require(setsockopt(tcp, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0);
    require(setsockopt(tcp, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0);
    require(bind(tcp, (void *)&any, len) == 0 && listen(tcp, 5) == 0 && getsockname(tcp, (void *)&tcp_at, &len) == 0);
    udp = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    require(setsockopt(udp, SOL_SOCKET, SO_RCVBUF, &size, sizeof size) == 0);
    require(bind(udp, (void *)&any, len) == 0 && getsockname(udp, (void *)&udp_at, &len) == 0);
    udp_to = socket(AF_INET, SOCK_DGRAM, 0);
    require(connect(udp_to, (void *)&udp_at, sizeof udp_at) == 0);
    unlink("listener");
    named = socket(AF_UNIX, SOCK_STREAM, 0);
    require(bind(named, (void *)&named_at, sizeof named_at) == 0 && listen(named, 2) == 0);
    unused = socket(AF_INET6, SOCK_STREAM, 0);
    if (unused < 0)
        unused = socket(AF_INET, SOCK_STREAM, 0);
    logger = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    require(unused >= 0 && logger >= 0);
}
static void serve_one(int family, int listener, const void *at, socklen_t len)
{
    /* A connection makes an image impossible. */
    char got;
    int client = socket(family, SOCK_STREAM, 0);
    require(client >= 0 && connect(client, at, len) == 0);
    int server = accept(listener, 0, 0);
    require(server >= 0 && write(client, "q", 1) == 1 && read(server, &got, 1) == 1 && got == 'q');
    struct linger now = { 1, 0 };
    require(setsockopt(client, SOL_SOCKET, SO_LINGER, &now, sizeof now) == 0);
    close(client);
    close(server);
}
static void sockets_step(int step)
{
    int value = 0;
    socklen_t len = sizeof value;
    undisturbed(1);
    serve_one(AF_INET, tcp, &tcp_at, sizeof tcp_at);
    serve_one(AF_UNIX, named, &named_at, sizeof named_at);
    undisturbed(0);
    spin(500);
    undisturbed(1);
    uint64_t word = next(), got = 0;
    require(send(udp_to, &word, 8, 0) == 8 && recv(udp, &got, 8, 0) == 8 && got == word);
    undisturbed(0);
    struct sockaddr_in at;
    len = sizeof at;
    require(getsockname(tcp, (void *)&at, &len) == 0 && at.sin_port == tcp_at.sin_port);
    len = sizeof value;
    require(getsockopt(tcp, IPPROTO_TCP, TCP_NODELAY, &value, &len) == 0 && value == 1);
    require(getsockopt(udp, SOL_SOCKET, SO_RCVBUF, &value, &len) == 0 && value == 100000);
    require(fcntl(tcp, F_GETFD) == FD_CLOEXEC && fcntl(udp, F_GETFD) == 0 && (fcntl(udp, F_GETFL) & O_NONBLOCK));
    require(send(unused, "x", 1, MSG_NOSIGNAL) == -1 && (errno == EPIPE || errno == ENOTCONN));
    require(send(logger, "x", 1, MSG_NOSIGNAL) == -1 && errno == ENOTCONN);
    mix(step);
}

/* Timers in every state, descriptors of processes. */
static int fired, stopped, far, absolute, self, over;
static void times_begin(void)
{
    struct itimerspec soon = { .it_value.tv_nsec = 1 }, later = { .it_value.tv_sec = 5000, .it_interval.tv_sec = 77 };
    fired = timerfd_create(CLOCK_REALTIME, 0);
    stopped = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
    far = timerfd_create(CLOCK_MONOTONIC, 0);
    absolute = timerfd_create(CLOCK_MONOTONIC, 0);
    require(timerfd_settime(fired, 0, &soon, 0) == 0 && timerfd_settime(far, 0, &later, 0) == 0);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    later.it_value.tv_sec += now.tv_sec;
    require(timerfd_settime(absolute, TFD_TIMER_ABSTIME, &later, 0) == 0);
    self = syscall(SYS_pidfd_open, getpid(), 0);
    undisturbed(1);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    over = syscall(SYS_pidfd_open, child, 0);
    require(child > 0 && over >= 0 && waitpid(child, 0, 0) == child);
    undisturbed(0);
    require(self >= 0);
}
static void times_step(int step)
{
    struct itimerspec now;
    struct pollfd ready[5] = { { fired, POLLIN, 0 }, { stopped, POLLIN, 0 }, { far, POLLIN, 0 }, { self, POLLIN, 0 }, { over, POLLIN, 0 } };
    require(poll(ready, 5, 0) == 2 && ready[0].revents == POLLIN && (ready[4].revents & (POLLIN | POLLHUP)));
    require(timerfd_gettime(stopped, &now) == 0 && now.it_value.tv_sec == 0 && now.it_value.tv_nsec == 0);
    require(timerfd_gettime(far, &now) == 0 && now.it_value.tv_sec > 4700 && now.it_value.tv_sec <= 5000 && now.it_interval.tv_sec == 77);
    require(timerfd_gettime(absolute, &now) == 0 && now.it_value.tv_sec > 4700 && now.it_value.tv_sec <= 5000);
    if (step % 50 == 49) {
        uint64_t got = 0;
        struct itimerspec soon = { .it_value.tv_nsec = 1 };
        require(read(fired, &got, 8) == 8 && got == 1 && timerfd_settime(fired, 0, &soon, 0) == 0);
        usleep(1000);
    }
    require(syscall(SYS_pidfd_send_signal, self, 0, 0, 0) == 0 && syscall(SYS_pidfd_send_signal, over, 0, 0, 0) == -1);
    spin(400);
}

/* Watches of a file, of a folder, and of a file that may be gone when the process comes back. */
static int notes, notes_loop, of_file, of_folder;
static void touch(const char *name) { require(close(open(name, O_CREAT | O_RDWR, 0600)) == 0); }
static void inotify_begin(void)
{
    touch("first");
    touch("watched");
    mkdir("inbox", 0700);
    notes = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    undisturbed(1);
    int first = inotify_add_watch(notes, "first", IN_MODIFY);
    of_file = inotify_add_watch(notes, "watched", IN_MODIFY);
    require(notes >= 0 && first >= 0 && of_file > first && inotify_rm_watch(notes, first) == 0);
    of_folder = inotify_add_watch(notes, "inbox", IN_CREATE | IN_DELETE | IN_ONLYDIR);
    char text[256];
    require(of_folder > of_file && read(notes, text, sizeof text) > 0);
    undisturbed(0);
    notes_loop = epoll_create1(0);
    watch(notes_loop, notes, EPOLLIN, 1);
}
static void expect_event(int number, uint32_t mask, const char *name)
{
    /* One event at a time: they are read into the room that one needs. */
    _Alignas(struct inotify_event) char text[sizeof(struct inotify_event) + 16];
    struct inotify_event *event = (void *)text;
    size_t room = sizeof *event + (name ? 16 : 0);
    require(read(notes, text, room) == (ssize_t)room && event->wd == number && event->mask == mask);
    require(!name || strcmp(event->name, name) == 0);
}
static void inotify_step(int step)
{
    undisturbed(1);
    touch("fleeting");
    int fleeting = inotify_add_watch(notes, "fleeting", IN_DELETE_SELF);
    require(fleeting > 0 && fleeting != of_file && fleeting != of_folder);
    undisturbed(0);
    spin(500);
    undisturbed(1);
    unlink("fleeting");
    struct epoll_event ready;
    require(epoll_wait(notes_loop, &ready, 1, 10000) == 1);
    expect_event(fleeting, IN_DELETE_SELF, 0);
    expect_event(fleeting, IN_IGNORED, 0);
    undisturbed(0);
    spin(300);
    undisturbed(1);
    int fd = open("watched", O_WRONLY);
    require(pwrite(fd, &step, sizeof step, 0) == sizeof step && close(fd) == 0);
    expect_event(of_file, IN_MODIFY, 0);
    /* An incarnation that was killed may have left it. */
    if (unlink("inbox/letter") == 0)
        expect_event(of_folder, IN_DELETE, "letter");
    touch("inbox/letter");
    require(unlink("inbox/letter") == 0);
    expect_event(of_folder, IN_CREATE, "letter");
    expect_event(of_folder, IN_DELETE, "letter");
    char text[64];
    require(read(notes, text, sizeof text) == -1 && errno == EAGAIN);
    require(fcntl(notes, F_GETFD) == FD_CLOEXEC && (fcntl(notes, F_GETFL) & O_NONBLOCK));
    undisturbed(0);
    mix(step);
}

/* Shared memory of System V: private, by a key, marked for removal, with a part that is only read. */
enum { SEGMENTS = 3, WORDS = 1700 };
static int segments[SEGMENTS];
static uint64_t *memory[SEGMENTS], copy_of[SEGMENTS][WORDS];
static void remove_left_over(void)
{
    struct shmid_ds about;
    int last = shmctl(0, SHM_INFO, (void *)&about);
    for (int index = 0; index <= last; index++) {
        int number = shmctl(index, SHM_STAT, &about);
        if (number >= 0 && about.shm_segsz == WORDS * 8 && about.shm_perm.cuid == geteuid())
            syscall(SYS_shmctl, number, IPC_RMID, 0);
    }
}
static void segments_begin(void)
{
    remove_left_over();
    atexit(remove_left_over);
    for (int i = 0; i < SEGMENTS; i++) {
        segments[i] = shmget(i == 1 ? 0x66746d70 : IPC_PRIVATE, WORDS * 8, 0600 | IPC_CREAT | IPC_EXCL);
        require(segments[i] >= 0 && (memory[i] = shmat(segments[i], 0, 0)) != (void *)-1);
    }
    require(shmctl(segments[2], IPC_RMID, 0) == 0);
    require(mprotect(memory[2] + 512, 4096, PROT_READ) == 0);
}
static void segments_step(int step)
{
    for (int i = 0; i < SEGMENTS; i++) {
        require(memcmp(memory[i], copy_of[i], sizeof copy_of[i]) == 0);
        for (int n = 0; n < 20; n++) {
            int at = next() % WORDS;
            if (i == 2 && at >= 512 && at < 1024)
                continue;
            copy_of[i][at] = next();
            memory[i][at] = copy_of[i][at];
        }
        struct shmid_ds about;
        require(shmctl(segments[i], IPC_STAT, &about) == 0 && about.shm_segsz == WORDS * 8);
        require(!!(about.shm_perm.mode & SHM_DEST) == (i == 2));
        require(about.shm_perm.__key == (i == 1 ? 0x66746d70 : IPC_PRIVATE));
    }
    if (step % 10 == 0) {
        int i = step / 10 % 2;
        undisturbed(1);
        require(shmdt(memory[i]) == 0 && (memory[i] = shmat(segments[i], 0, 0)) != (void *)-1);
        require(i == 0 || shmget(0x66746d70, WORDS * 8, 0) == segments[1]);
        undisturbed(0);
    }
    if (step % 50 == 0) {
        int one = shmget(IPC_PRIVATE, 4096, 0600);
        for (int i = 0; i < SEGMENTS; i++)
            require(one >= 0 && one != segments[i]);
        require(shmctl(one, IPC_RMID, 0) == 0);
    }
    spin(200);
    mix(copy_of[step % SEGMENTS][step % WORDS]);
}

/* Semaphores and queues of System V. */
enum { QUEUES = 2, SEMAPHORES = 5, QUEUED = 6 };
static int set, queues[QUEUES];
static unsigned short values[SEMAPHORES];
static struct letter { long kind; uint64_t words[8]; } letters[QUEUES][QUEUED];
static int lengths[QUEUES][QUEUED], waiting[QUEUES];
static void remove_objects(void)
{
    semctl(set, 0, IPC_RMID);
    for (int i = 0; i < QUEUES; i++)
        msgctl(queues[i], IPC_RMID, 0);
}
static void objects_begin(void)
{
    int left = semget(0x66746d71, 0, 0);
    if (left >= 0)
        semctl(left, 0, IPC_RMID);
    for (int key = 0x66746d72; key <= 0x66746d73; key++)
        if ((left = msgget(key, 0)) >= 0)
            msgctl(left, IPC_RMID, 0);
    set = semget(0x66746d71, SEMAPHORES, 0600 | IPC_CREAT | IPC_EXCL);
    queues[0] = msgget(0x66746d73, 0600 | IPC_CREAT | IPC_EXCL);
    queues[1] = msgget(0x66746d72, 0600 | IPC_CREAT | IPC_EXCL);
    require(set >= 0 && queues[0] >= 0 && queues[1] >= 0 && atexit(remove_objects) == 0);
    require(semctl(set, 0, SETALL, values) == 0);
}
static void objects_step(int step)
{
    int i = next() % SEMAPHORES, q = next() % QUEUES;
    undisturbed(1);
    struct sembuf change = { i, values[i] > 0 && next() % 2 ? -1 : 1, 0 };
    require(semop(set, &change, 1) == 0);
    values[i] += change.sem_op;
    if (step % 20 == 19) {
        values[i] = next() % 100;
        require(semctl(set, i, SETVAL, values[i]) == 0);
    }
    undisturbed(0);
    spin(100);
    for (int k = 0; k < SEMAPHORES; k++)
        require(semctl(set, k, GETVAL) == values[k]);
    undisturbed(1);
    if (waiting[q] < QUEUED && next() % 3) {
        struct letter *letter = &letters[q][waiting[q]];
        int len = next() % sizeof letter->words;
        letter->kind = 1 + next() % 5;
        for (int k = 0; k < 8; k++)
            letter->words[k] = next();
        lengths[q][waiting[q]++] = len;
        require(msgsnd(queues[q], letter, len, IPC_NOWAIT) == 0);
    } else if (waiting[q]) {
        struct letter got;
        require(msgrcv(queues[q], &got, sizeof got.words, 0, IPC_NOWAIT) == lengths[q][0]);
        require(got.kind == letters[q][0].kind && memcmp(got.words, letters[q][0].words, lengths[q][0]) == 0);
        waiting[q]--;
        memmove(&letters[q][0], &letters[q][1], waiting[q] * sizeof letters[q][0]);
        memmove(&lengths[q][0], &lengths[q][1], waiting[q] * sizeof lengths[q][0]);
        mix(got.kind);
    }
    undisturbed(0);
    spin(100);
}

static const struct item items[] = {
    ITEM(epoll), ITEM(pairs), ITEM(sockets), ITEM(times), ITEM(inotify), ITEM(segments), ITEM(objects),
};

int main(int argc, char **argv)
{
    return run(argc, argv, items, sizeof items / sizeof *items);
}
