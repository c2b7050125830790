/* Has a connection over the network to itself, of which no image can be made, and sends much more than
 * its sender log may hold. usage: no_images MIB */
#include <arpa/inet.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static void connect_to_itself(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (void *)&at, len) || listen(listener, 1) || getsockname(listener, (void *)&at, &len)
        || connect(client, (void *)&at, len))
        MPI_Abort(MPI_COMM_WORLD, 3);
}

int main(int argc, char **argv)
{
    enum { BYTES = 1 << 20 };
    int rank, right = 1;
    double longest = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    connect_to_itself();
    char *bytes = calloc(1, BYTES);
    for (int i = 0; i < atoi(argv[1]); i++) {
        if (rank == 0) {
            bytes[i] = (char)i;
            double begin = MPI_Wtime();
            MPI_Send(bytes, BYTES, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            double took = MPI_Wtime() - begin;
            longest = took > longest ? took : longest;
        } else if (rank == 1) {
            MPI_Recv(bytes, BYTES, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            right &= bytes[i] == (char)i;
        }
    }
    if (rank == 0)
        printf("longest send %d s\n", (int)longest);
    else if (rank == 1)
        printf("received: %s\n", right ? "ok" : "LOST");
    MPI_Finalize();
    return 0;
}
