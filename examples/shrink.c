/* Going on without ranks that die (ULFM): pi by random points, thrown by the ranks that are left.
 *
 *   ftmpicc -O2 shrink.c -o shrink
 *   ftmpiexec -n 4 -disable-auto-cleanup --inject kill:rank=2,at=1s ./shrink
 *
 * Without the option ftmpi brings a dead rank back, and this program never learns of a death. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { POINTS = 20000000, ROUNDS = 40 };

/* How many of so many random points lie in a quarter of a circle. */
static long throw_points(long points, uint64_t *random)
{
    long inside = 0;
    for (long i = 0; i < points; i++) {
        double place[2];
        for (int k = 0; k < 2; k++) {
            *random ^= *random << 13, *random ^= *random >> 7, *random ^= *random << 17;
            place[k] = (double)(*random >> 11) / ((uint64_t)1 << 53);
        }
        inside += place[0] * place[0] + place[1] * place[1] < 1;
    }
    return inside;
}

/* The communicator of those that are left. */
static MPI_Comm without_the_dead(MPI_Comm comm)
{
    MPI_Comm left;
    MPIX_Comm_shrink(comm, &left);
    int rank, size;
    MPI_Comm_rank(left, &rank);
    MPI_Comm_size(left, &size);
    if (rank == 0)
        printf("%d ranks are left\n", size);
    return left;
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;
    MPI_Comm comm = MPI_COMM_WORLD;
    /* By default an error ends the program. */
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &rank);
    uint64_t random = 88172645463325252u + (uint64_t)rank * 1181783497276652981u;

    long inside = 0, thrown = 0;
    for (int round = 0; round < rounds;) {
        long mine[2] = { throw_points(POINTS, &random), POINTS }, all[2];
        int code = MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, comm);
        /* A death may come when some ranks have the sum and others do not. The agreement tells all
         * ranks the same: whether every rank has it. */
        int good = code == MPI_SUCCESS;
        if (MPIX_Comm_agree(comm, &good) != MPI_SUCCESS || !good) {
            comm = without_the_dead(comm);
            continue; /* the round is done again */
        }
        inside += all[0], thrown += all[1];
        round++;
    }
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (rank == 0)
        printf("pi is about %.3f, by %d ranks at the end\n", 4.0 * (double)inside / (double)thrown, size);
    MPI_Finalize();
    return 0;
}
