/* Closes every descriptor that it did not open, again and again, as daemons do. The library's
 * descriptors stay open. A process that the program forks closes all descriptors. usage:
 * closes_all STEPS */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FROM = 3, FIRST_OF_OURS = 1000, UP_TO = 1100 };

/* The number of descriptors from FIRST_OF_OURS on that are still open after all were closed. */
static int close_all(int how)
{
    int left = 0;
    switch (how % 3) {
    case 0:
        for (int fd = FROM; fd < UP_TO; fd++)
            if (close(fd) == -1 && errno != EBADF)
                return -1;
        break;
    case 1:
        if (close_range(FROM, ~0u, 0) != 0)
            return -1;
        break;
    default:
        closefrom(FROM);
    }
    for (int fd = FIRST_OF_OURS; fd < UP_TO; fd++)
        left += fcntl(fd, F_GETFD) != -1;
    return left;
}

int main(int argc, char **argv)
{
    int rank, size, ours, all;
    /* Like the first action of daemons. */
    ours = close_all(2) > 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int steps = atoi(argv[1]);
    for (int i = 0; i < steps; i++) {
        usleep(10000);
        ours &= close_all(i) > 0 && fcntl(FROM, F_GETFD) == -1;
        /* The two control connections: no copy takes their numbers. */
        ours &= dup2(1, FIRST_OF_OURS) == -1 && dup3(1, FIRST_OF_OURS + 1, 0) == -1;
        if (i % 20 == 0) {
            int status = -1;
            pid_t child = fork();
            if (child == 0)
                _exit(close_all(0) != 0);
            ours &= child > 0 && waitpid(child, &status, 0) == child && status == 0;
        }
        MPI_Allreduce(&ours, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("everything closed on %d: %s\n", size, all ? "ok" : "LOST");
    MPI_Finalize();
    return !all;
}
