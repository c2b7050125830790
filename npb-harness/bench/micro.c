/* Small measurements that run under every MPI library, with buffers that were written before.
 *
 *   micro rate          8-byte messages a second, in windows of 64, rank 0 to rank 1
 *   micro matching N    one-way time of 8 bytes while N other receives are posted, and while N
 *                       other messages wait unexpected, on either side
 *   micro memory        private written memory of rank 0 after MPI_Init, and after messages with
 *                       all other ranks
 *   micro empty         nothing: the time of start and end
 *
 * Prints lines `NAME VALUE`. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 64, OTHER = 1000 };

static int me, ranks;

static double ping_pong(int rounds)
{
    char out[8] = "message", in[8];
    double best = 1e9;
    for (int part = 0; part < 10; part++) {
        double begin = MPI_Wtime();
        for (int i = 0; i < rounds / 10; i++) {
            if (me == 0) {
                MPI_Send(out, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
                MPI_Recv(in, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else if (me == 1) {
                MPI_Recv(in, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(out, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
            }
        }
        double time = (MPI_Wtime() - begin) / (rounds / 10) / 2 * 1e6;
        if (time < best)
            best = time;
    }
    return best;
}

static void rate(void)
{
    static char data[WINDOW][64];
    MPI_Request request[WINDOW];
    char go = 1;
    double best = 0;
    memset(data, 1, sizeof data);
    for (int part = 0; part < 20; part++) {
        int windows = 500;
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        for (int w = 0; w < windows; w++) {
            for (int i = 0; i < WINDOW; i++) {
                if (me == 0)
                    MPI_Isend(data[i], 8, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &request[i]);
                else
                    MPI_Irecv(data[i], 8, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &request[i]);
            }
            MPI_Waitall(WINDOW, request, MPI_STATUSES_IGNORE);
            if (me == 0)
                MPI_Recv(&go, 1, MPI_BYTE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            else
                MPI_Send(&go, 1, MPI_BYTE, 0, 3, MPI_COMM_WORLD);
        }
        double now = windows * (double)WINDOW / (MPI_Wtime() - begin);
        if (now > best)
            best = now;
    }
    if (me == 0)
        printf("ns_per_message %.2f\n", 1e9 / best);
}

static void matching(int count)
{
    MPI_Request *request = malloc(sizeof *request * count);
    char byte = 0, *into = malloc(count);
    int peer = 1 - me;
    double alone = ping_pong(20000);
    for (int i = 0; i < count; i++)
        MPI_Irecv(&into[i], 1, MPI_BYTE, peer, OTHER + i, MPI_COMM_WORLD, &request[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    double posted = ping_pong(20000);
    for (int i = count - 1; i >= 0; i--)
        MPI_Send(&byte, 1, MPI_BYTE, peer, OTHER + i, MPI_COMM_WORLD);
    MPI_Waitall(count, request, MPI_STATUSES_IGNORE);
    for (int i = 0; i < count; i++)
        MPI_Send(&byte, 1, MPI_BYTE, peer, OTHER + i, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    double unexpected = ping_pong(20000);
    for (int i = count - 1; i >= 0; i--)
        MPI_Recv(&byte, 1, MPI_BYTE, peer, OTHER + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (me == 0)
        printf("alone %.4f\nposted %.4f\nunexpected %.4f\n", alone, posted, unexpected);
}

static long own_memory(void)
{
    char line[256];
    long value = 0, kib;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Private_Dirty: %ld", &kib) == 1)
            value = kib;
    if (file)
        fclose(file);
    return value;
}

static void memory(void)
{
    long before = own_memory();
    int *out = calloc(ranks, sizeof *out), *in = calloc(ranks, sizeof *in);
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0)
        printf("after_init %ld\nafter_alltoall %ld\n", before, own_memory());
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "empty";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!strcmp(what, "rate"))
        rate();
    else if (!strcmp(what, "matching"))
        matching(argc > 2 ? atoi(argv[2]) : 10000);
    else if (!strcmp(what, "memory"))
        memory();
    MPI_Finalize();
    return 0;
}
