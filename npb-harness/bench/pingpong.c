/* Ping-pong between ranks 0 and 1. With a second argument the payload is written before each
 * message, because an unchanged payload stays in the reader's cache, unlike a real program's.
 * The first argument divides the number of messages. Prints one line `BYTES MICROSECONDS` (one
 * way) for each size. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int me, scale = argc > 1 ? atoi(argv[1]) : 1, written = argc > 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    char *out = malloc(1 << 22), *in = malloc(1 << 22);
    memset(out, 1, 1 << 22);
    memset(in, 1, 1 << 22);
    for (int n = 8; n <= 1 << 22; n *= 2) {
        int rounds = (n <= 4096 ? 80000 : n <= 65536 ? 12000 : n < 1000000 ? 1600 : 240);
        rounds = rounds / (scale < 1 ? 1 : scale) + 10;
        double begin = 0;
        /* The start of a job is not over in its first hundredths of a second. */
        int warm = n == 8 && scale < 50 ? 100000 : rounds / 10;
        for (int i = -warm; i < rounds; i++) {
            if (i == 0)
                begin = MPI_Wtime();
            if (me == 0) {
                if (written)
                    memset(out, i, n);
                MPI_Send(out, n, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
                MPI_Recv(in, n, MPI_BYTE, 1, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else if (me == 1) {
                MPI_Recv(in, n, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                if (written)
                    memset(out, i, n);
                MPI_Send(out, n, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
            }
        }
        if (me == 0)
            printf("%d %.4f\n", n, (MPI_Wtime() - begin) / rounds / 2 * 1e6);
    }
    MPI_Finalize();
    return 0;
}
