/* Ping-pong between ranks 0 and 1 in the manner of NetPIPE: sizes in powers of two, each also three bytes
 * smaller and larger. `netpipe REPEATS MOST [ONLY]`: so many messages of a small size, fewer of large ones; the
 * largest size in bytes; with ONLY no other size than MOST. Prints `BYTES MICROSECONDS` (one way) for each size. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double one_size(int me, char *out, char *in, int n, int rounds)
{
    double begin = 0;
    for (int i = -(rounds / 10 + 1); i < rounds; i++) {
        if (i == 0)
            begin = MPI_Wtime();
        if (me == 0) {
            MPI_Send(out, n, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(in, n, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (me == 1) {
            MPI_Recv(in, n, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(out, n, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
    }
    return (MPI_Wtime() - begin) / rounds / 2 * 1e6;
}

int main(int argc, char **argv)
{
    int me, repeats = argc > 1 ? atoi(argv[1]) : 1000, most = argc > 2 ? atoi(argv[2]) : 1 << 20;
    int only = argc > 3;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    char *out = malloc((size_t)most + 3), *in = malloc((size_t)most + 3);
    memset(out, 1, (size_t)most + 3);
    memset(in, 1, (size_t)most + 3);
    for (int base = only ? most : 1; base <= most; base *= 2)
        for (int near = -3; near <= 3; near += 3) {
            int n = base + near;
            if (near != 0 && (base < 8 || only))
                continue;
            int rounds = (int)((double)repeats * 4096 / (4096 + n));
            double time = one_size(me, out, in, n, rounds < 3 ? 3 : rounds);
            if (me == 0)
                printf("%d %.4f\n", n, time);
        }
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
