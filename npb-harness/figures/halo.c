/* The program of `ftmpi-sim scale` (sim/src/scale/nodes.rs) on real ranks: each step computes, exchanges with the
 * neighbours of a cube, and adds up by recursive doubling. `halo STEPS MICROSECONDS PAYLOAD`, on a power of two of
 * ranks. Computing is sleeping, so that more ranks than processors run as if each had one. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FACES = 6, MOST = 1 << 20 };

static int neighbours(int me, int bits, int *halo)
{
    const int widths[3] = {(bits + 2) / 3, (bits + 1) / 3, bits / 3};
    int count = 0, shift = 0;
    for (int d = 0; d < 3; shift += widths[d++]) {
        const int side = 1 << widths[d], place = (me >> shift) & (side - 1);
        const int steps[2] = {1, side - 1};
        for (int s = 0; s < 2; s++) {
            const int other = (place + steps[s]) & (side - 1);
            const int peer = (me & ~((side - 1) << shift)) | (other << shift);
            int known = peer == me;
            for (int k = 0; k < count; k++)
                known |= halo[k] == peer;
            if (!known)
                halo[count++] = peer;
        }
    }
    return count;
}

int main(int argc, char **argv)
{
    int me, size, bits = 0, halo[FACES];
    const int steps = argc > 1 ? atoi(argv[1]) : 10, micros = argc > 2 ? atoi(argv[2]) : 1000;
    const int payload = argc > 3 ? atoi(argv[3]) : 8192;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    while (1 << (bits + 1) <= size)
        bits++;
    if (1 << bits != size || payload < 1 || payload > MOST) {
        fprintf(stderr, "halo: the number of ranks must be a power of two, the payload at most %d\n", MOST);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const int count = neighbours(me, bits, halo);
    char *out = malloc((size_t)payload), *in = malloc((size_t)payload);
    memset(out, 1, (size_t)payload);
    double sum = 0, wanted = (double)size;
    int good = 1;
    for (int step = 0; step < steps; step++) {
        const uint64_t differs = ((uint64_t)me * 0x9E3779B9u + (uint64_t)step * 0x85EBCA6Bu) % 1000;
        const long nanos = (long)micros * (long)(900 + differs / 5);
        const struct timespec pause = {nanos / 1000000000, nanos % 1000000000};
        nanosleep(&pause, NULL);
        MPI_Request sends[FACES];
        for (int k = 0; k < count; k++)
            MPI_Isend(out, payload, MPI_BYTE, halo[k], 1, MPI_COMM_WORLD, &sends[k]);
        for (int k = 0; k < count; k++)
            MPI_Recv(in, payload, MPI_BYTE, halo[k], 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Waitall(count, sends, MPI_STATUSES_IGNORE);
        sum = 1;
        for (int bit = 0; bit < bits; bit++) {
            double other = 0;
            MPI_Send(&sum, 1, MPI_DOUBLE, me ^ (1 << bit), 2, MPI_COMM_WORLD);
            MPI_Recv(&other, 1, MPI_DOUBLE, me ^ (1 << bit), 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            sum += other;
        }
        good &= sum == wanted;
    }
    if (me == 0)
        printf("VERIFICATION %s\n", good ? "SUCCESSFUL" : "FAILED");
    free(out);
    free(in);
    MPI_Finalize();
    return good ? 0 : 1;
}
