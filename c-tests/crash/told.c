/* Rank 0 prints what it received in the order in which it received it, at once; who reads the text
 * must read one story, whatever life of rank 0 wrote it: at the end rank 0 prints the digest of all
 * that it has told, as it remembers it. Run with --output committed. */
#include "order.h"
#include <inttypes.h>

enum { PACE_US = 2000 };

int main(int argc, char **argv)
{
    order_begin(&argc, &argv, "told");
    struct random r = {order_seed * 104729 + (uint64_t)check_rank};
    int count = rounds(PACE_US), workers = check_size - 1;
    uint64_t story = 1;
    if (check_rank == 0) {
        printf("told begins\n");
        fflush(stdout);
        for (int k = 0; k < count * workers; k++) {
            int value;
            MPI_Status s;
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &s);
            got(s.MPI_SOURCE, &value, sizeof value);
            int line[3] = {k, s.MPI_SOURCE, value};
            story = chain(story, line, sizeof line);
            printf("told %d %d %d\n", line[0], line[1], line[2]);
            fflush(stdout);
            /* sometimes long after the last word: it must not have to wait for the next call */
            if (k % 500 == 499)
                pause_us(300000);
        }
        printf("story %016" PRIx64 "\n", story);
        fflush(stdout);
    } else {
        for (int k = 0; k < count; k++) {
            int value = (int)below(&r, 1000000);
            MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
            sent(0, &value, sizeof value);
            pause_us((long)below(&r, 2 * PACE_US));
        }
    }
    return order_end();
}
