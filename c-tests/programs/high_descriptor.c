/* A descriptor with a number in the range of the library's own descriptors. It stays open as
 * long as the program runs, after any death, although no image can contain it.
 *
 * usage: high_descriptor NUMBER STEPS */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size, ours = 1, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int number = atoi(argv[1]), steps = atoi(argv[2]);
    int null = open("/dev/null", O_WRONLY);
    struct stat before, now;
    if (rank == 0 && (fstat(null, &before) || dup2(null, number) != number))
        MPI_Abort(MPI_COMM_WORLD, 3);
    for (int i = 0; i < steps; i++) {
        usleep(10000);
        if (rank == 0)
            ours &= fstat(number, &now) == 0 && now.st_rdev == before.st_rdev && write(number, "x", 1) == 1;
        MPI_Allreduce(&ours, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("descriptor %d on %d: %s\n", number, size, all ? "ok" : "LOST");
    MPI_Finalize();
    return !all;
}
