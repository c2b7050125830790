/* Ping-pong over a bare TCP connection, as netpipe.c does it by MPI: what the network itself costs. Both sides wait in
 * the kernel. `rawtcp listen` prints its port; then `rawtcp ADDRESS PORT REPEATS MOST`. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static char buffer[(1 << 23) + 8];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int whole(int fd, size_t n, int out)
{
    for (size_t done = 0; done < n;) {
        ssize_t k = out ? send(fd, buffer + done, n - done, MSG_NOSIGNAL) : recv(fd, buffer + done, n - done, 0);
        if (k <= 0)
            return 0;
        done += (size_t)k;
    }
    return 1;
}

static int answer(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = INADDR_ANY};
    socklen_t length = sizeof a;
    int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&a, sizeof a) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&a, &length))
        return 1;
    printf("%d\n", ntohs(a.sin_port));
    fflush(stdout);
    int fd = accept(listener, NULL, NULL);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    uint32_t plan[2];
    while (recv(fd, plan, sizeof plan, MSG_WAITALL) == sizeof plan)
        for (uint32_t i = 0; i < plan[1]; i++)
            if (!whole(fd, plan[0], 0) || !whole(fd, plan[0], 1))
                return 1;
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2)
        return answer();
    if (argc != 5)
        return 2;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[2]))};
    inet_pton(AF_INET, argv[1], &a.sin_addr);
    int repeats = atoi(argv[3]), most = atoi(argv[4]), one = 1, fd = -1;
    for (int tries = 0; tries < 100; tries++) {
        fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0)
            break;
        close(fd);
        fd = -1;
        usleep(20000);
    }
    if (fd < 0)
        return 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    for (int n = 1; n <= most && n <= 1 << 23; n *= 2) {
        int rounds = (int)((double)repeats * 4096 / (4096 + n));
        rounds = rounds < 3 ? 3 : rounds;
        int warm = rounds / 10 + 1;
        uint32_t plan[2] = {(uint32_t)n, (uint32_t)(rounds + warm)};
        if (send(fd, plan, sizeof plan, 0) != sizeof plan)
            return 1;
        double begin = 0;
        for (int i = -warm; i < rounds; i++) {
            if (i == 0)
                begin = now();
            if (!whole(fd, (size_t)n, 1) || !whole(fd, (size_t)n, 0))
                return 1;
        }
        printf("%d %.4f\n", n, (now() - begin) / rounds / 2 * 1e6);
    }
    return 0;
}
