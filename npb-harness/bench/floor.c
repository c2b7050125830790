/*
 * The lowest times that a message passing library can reach on this machine: two processes, no
 * library. Both sides poll.
 *
 *   floor tcp   ping-pong over a loopback TCP socket, non-blocking, TCP_NODELAY
 *   floor shm   ping-pong of 64-byte records through shared memory
 *   floor near  the same in its shortest form: the current distance of the processors
 *   floor log   one process: copies of a payload, one behind the other, into memory that was used
 *               before, as a sender log has to make them
 *
 * Prints one line `BYTES MICROSECONDS` (one way) for each size.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void move(int fd, char *p, size_t n, int out)
{
    for (size_t done = 0; done < n;) {
        ssize_t k = out ? send(fd, p + done, n - done, MSG_DONTWAIT | MSG_NOSIGNAL)
                        : recv(fd, p + done, n - done, MSG_DONTWAIT);
        if (k > 0)
            done += (size_t)k;
        else if (k == 0 || (errno != EAGAIN && errno != EINTR))
            die("socket");
    }
}

static void tcp(void)
{
    static const int sizes[] = {8, 2048, 32768, 65536, 1048576};
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&a, sizeof a) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&a, &len))
        die("listen");
    pid_t child = fork();
    if (child < 0)
        die("fork");
    int fd;
    if (child == 0) {
        fd = socket(AF_INET, SOCK_STREAM, 0);
        if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof a))
            die("connect");
    } else {
        fd = accept(listener, NULL, NULL);
        if (fd < 0)
            die("accept");
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    char *buffer = calloc(1, 1 << 20);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        size_t n = (size_t)sizes[s];
        int rounds = n > 100000 ? 300 : 8000;
        double begin = 0;
        for (int i = -rounds / 10; i < rounds; i++) {
            if (i == 0)
                begin = now();
            if (child) {
                move(fd, buffer, n, 1);
                move(fd, buffer, n, 0);
            } else {
                move(fd, buffer, n, 0);
                move(fd, buffer, n, 1);
            }
        }
        if (child)
            printf("%zu %.4f\n", n, (now() - begin) / rounds / 2 * 1e6);
    }
    if (child) {
        fflush(stdout);
        waitpid(child, NULL, 0);
    } else {
        _exit(0);
    }
}

struct record {
    _Alignas(64) _Atomic uint64_t sequence;
    char payload[56];
};

static void shm(uint64_t rounds)
{
    enum { SLOTS = 64 };
    struct record *r = mmap(NULL, sizeof *r * 2 * SLOTS, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (r == MAP_FAILED)
        die("mmap");
    pid_t child = fork();
    if (child < 0)
        die("fork");
    struct record *out = child ? r : r + SLOTS, *in = child ? r + SLOTS : r;
    char payload[8] = {0};
    double begin = now();
    for (uint64_t i = 1; i <= rounds; i++) {
        struct record *o = &out[i % SLOTS], *n = &in[i % SLOTS];
        if (child) {
            memcpy(o->payload, payload, 8);
            atomic_store_explicit(&o->sequence, i, memory_order_release);
        }
        for (unsigned spins = 0; atomic_load_explicit(&n->sequence, memory_order_acquire) != i;)
            if (++spins > 100000) {
                sched_yield();
                spins = 0;
            }
        memcpy(payload, n->payload, 8);
        if (!child) {
            memcpy(o->payload, payload, 8);
            atomic_store_explicit(&o->sequence, i, memory_order_release);
        }
    }
    if (!child)
        _exit(0);
    printf("8 %.4f\n", (now() - begin) / (double)rounds / 2 * 1e6);
    waitpid(child, NULL, 0);
}

static void log_copies(void)
{
    enum { LOG = 256 << 20, MOST = 4 << 20 };
    char *log = mmap(NULL, LOG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *payload = malloc(MOST);
    if (log == MAP_FAILED || !payload)
        die("memory");
    madvise(log, LOG, MADV_HUGEPAGE);
    memset(log, 1, LOG);
    memset(payload, 2, MOST);
    size_t at = 0;
    for (size_t n = 8; n <= MOST; n *= 2) {
        int rounds = n <= 4096 ? 20000 : (int)((64 << 20) / n);
        double begin = now();
        for (int i = 0; i < rounds; i++) {
            if (at + n > LOG)
                at = 0;
            memcpy(log + at, payload, n);
            at += n;
        }
        printf("%zu %.4f\n", n, (now() - begin) / rounds * 1e6);
    }
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "tcp"))
        tcp();
    else if (argc == 2 && !strcmp(argv[1], "shm"))
        shm(400000);
    else if (argc == 2 && !strcmp(argv[1], "near"))
        shm(20000);
    else if (argc == 2 && !strcmp(argv[1], "log"))
        log_copies();
    else {
        fprintf(stderr, "usage: floor tcp|shm|near|log\n");
        return 2;
    }
    return 0;
}
