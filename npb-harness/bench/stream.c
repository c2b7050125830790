/* Streams from rank 0 to rank 1: windows of messages, each answered by one byte. The payload is written before each
 * window. The argument divides the number of windows. Prints one line `BYTES MICROSECONDS` (each message) for each
 * size.
 *
 *   stream turns SECONDS   instead: all ranks add up their numbers in turn, for so long; prints `turns N` */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 32, LARGEST = 1 << 22 };

static void stream(int me, int scale)
{
    MPI_Request request[WINDOW];
    char *data = malloc(LARGEST), done = 0;
    memset(data, 1, LARGEST);
    for (int n = 8; n <= LARGEST; n *= 8) {
        int windows = (n <= 4096 ? 4000 : n <= 65536 ? 600 : n < 1000000 ? 100 : 20) / scale + 4;
        double begin = 0;
        for (int w = -windows / 4 - 1; w < windows; w++) {
            if (w == 0)
                begin = MPI_Wtime();
            if (me == 0) {
                memset(data, w, n);
                for (int i = 0; i < WINDOW; i++)
                    MPI_Isend(data, n, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request[i]);
                MPI_Waitall(WINDOW, request, MPI_STATUSES_IGNORE);
                MPI_Recv(&done, 1, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else if (me == 1) {
                for (int i = 0; i < WINDOW; i++)
                    MPI_Irecv(data, n, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request[i]);
                MPI_Waitall(WINDOW, request, MPI_STATUSES_IGNORE);
                MPI_Send(&done, 1, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
            }
        }
        if (me == 0)
            printf("%d %.4f\n", n, (MPI_Wtime() - begin) / windows / WINDOW * 1e6);
    }
    free(data);
}

static void turns(int me, double seconds)
{
    double begin = MPI_Wtime();
    long count = 0, all;
    int on = 1;
    while (on) {
        long mine = me + count;
        MPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        on = MPI_Wtime() - begin < seconds;
        MPI_Bcast(&on, 1, MPI_INT, 0, MPI_COMM_WORLD);
        count++;
    }
    if (me == 0)
        printf("turns %ld\n", count);
}

int main(int argc, char **argv)
{
    int me;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (argc > 2 && !strcmp(argv[1], "turns"))
        turns(me, atof(argv[2]));
    else
        stream(me, argc > 1 ? atoi(argv[1]) : 1);
    MPI_Finalize();
    return 0;
}
