/* Ranks that listen on sockets: listens STEPS. A second process of a rank could not have the same socket. */
#include <arpa/inet.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int me;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) || listen(fd, 4)
        || getsockname(fd, (struct sockaddr *)&address, &len))
        MPI_Abort(MPI_COMM_WORLD, 1);
    long sum = 0, steps = atol(argc > 1 ? argv[1] : "20");
    for (long step = 0; step < steps; step++) {
        usleep(100000);
        MPI_Allreduce(&step, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    }
    struct sockaddr_in now = {0};
    len = sizeof now;
    int same = !getsockname(fd, (struct sockaddr *)&now, &len) && now.sin_port == address.sin_port, all = 0;
    MPI_Allreduce(&same, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (me == 0 && all == 2 && sum == 2 * (steps - 1))
        printf("both listen\n");
    MPI_Finalize();
    return 0;
}
