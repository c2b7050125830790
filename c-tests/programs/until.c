/* Ranks that go on until somebody makes a file: until FILE [MB [socket]]. They say every tenth step, and check what they
   receive and the memory that they hold (so many MB that do not compress). With `socket` each listens on one: then there
   can be no second process of it. Nobody may die between the making of the file and the end. */
#include <arpa/inet.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static unsigned long mixed(unsigned long x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ul;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebul;
    return x ^ (x >> 31);
}

static void listens(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 4))
        MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int me, size, over = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    size_t words = (argc > 2 ? strtoul(argv[2], NULL, 10) : 0) << 17;
    unsigned long *memory = malloc(words * sizeof *memory + 1);
    for (size_t at = 0; at < words; at++)
        memory[at] = mixed(at + me);
    if (argc > 3 && !strcmp(argv[3], "socket"))
        listens();
    int left = (me + size - 1) % size;
    for (long step = 0; !over; step++) {
        if (step % 10 == 0) {
            printf("rank %d at step %ld\n", me, step);
            fflush(stdout);
        }
        usleep(20000);
        if (me == 0)
            over = access(argv[1], F_OK) == 0;
        MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
        long own = step * size + me, got = -1, sum = 0, wanted = step * size * size + (long)size * (size - 1) / 2;
        MPI_Sendrecv(&own, 1, MPI_LONG, (me + 1) % size, 7, &got, 1, MPI_LONG, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Allreduce(&got, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        if (got != step * size + left || sum != wanted) {
            printf("rank %d got %ld at step %ld, all got %ld\n", me, got, step, sum);
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
    }
    for (size_t at = 0; at < words; at++)
        if (memory[at] != mixed(at + me)) {
            printf("rank %d: its memory is another one\n", me);
            MPI_Abort(MPI_COMM_WORLD, 4);
        }
    printf("rank %d is right\n", me);
    MPI_Finalize();
    return 0;
}
