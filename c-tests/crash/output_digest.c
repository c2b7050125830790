/* Rank 0 prints its messages at once, in the order in which it receives them. The printed text
 * must be consistent over all incarnations of rank 0: at the end rank 0 prints the digest of all
 * lines that it remembers. Run with --output committed. With --memory rank 0 prints the values that
 * the others have put into its memory by then. A reading of an unchanged value must be repeated by
 * the next incarnation, too. */
#include "order.h"
#include <inttypes.h>

enum { PACE_US = 2000 };

static uint64_t print_line(uint64_t digest, int a, int b, int c)
{
    int line[3] = {a, b, c};
    printf("received %d %d %d\n", a, b, c);
    fflush(stdout);
    return chain(digest, line, sizeof line);
}

static uint64_t memory(uint64_t digest, int count, struct random *r)
{
    volatile int *values;
    MPI_Win win;
    MPI_Win_allocate(check_size * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, (void *)&values, &win);
    for (int i = 0; i < check_size; i++)
        values[i] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int k = 0; k < count; k++) {
        if (check_rank == 0) {
            MPI_Win_sync(win);
            digest = print_line(digest, k, k % check_size, values[k % check_size]);
            pause_us(PACE_US);
        } else if (k % 16 == 0) {
            int value = (int)below(r, 1000000);
            MPI_Put(&value, 1, MPI_INT, 0, check_rank, 1, MPI_INT, win);
            MPI_Win_flush(0, win);
            pause_us((long)below(r, 32 * PACE_US));
        }
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    return digest;
}

int main(int argc, char **argv)
{
    order_begin(&argc, &argv, "output_digest");
    int windows = 0;
    for (int i = 1; i < argc; i++)
        windows |= !strcmp(argv[i], "--memory");
    struct random r = {order_seed * 104729 + (uint64_t)check_rank};
    int count = rounds(PACE_US), workers = check_size - 1;
    uint64_t digest = 1;
    if (check_rank == 0) {
        printf("output begins\n");
        fflush(stdout);
    }
    if (windows)
        digest = memory(digest, count, &r);
    if (check_rank == 0) {
        for (int k = 0; !windows && k < count * workers; k++) {
            int value;
            MPI_Status s;
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &s);
            got(s.MPI_SOURCE, &value, sizeof value);
            digest = print_line(digest, k, s.MPI_SOURCE, value);
            /* sometimes long after the last line: the line must not have to wait for the next
             * call */
            if (k % 500 == 499)
                pause_us(300000);
        }
        printf("digest %016" PRIx64 "\n", digest);
        fflush(stdout);
    } else {
        for (int k = 0; !windows && k < count; k++) {
            int value = (int)below(&r, 1000000);
            MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
            sent(0, &value, sizeof value);
            pause_us((long)below(&r, 2 * PACE_US));
        }
    }
    return order_end();
}
