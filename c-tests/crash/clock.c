/* The clock is a nondeterministic input: rank 0 decides by MPI_Wtime how long it runs, and sends
 * its readings to the other ranks. No rank may see time run backwards. A replayed rank must not
 * stop earlier or later than before. */
#include "order.h"

enum { PACE_US = 1000 };

struct reading {
    double now;
    int round, go;
};

int main(int argc, char **argv)
{
    order_begin(&argc, &argv, "clock");
    double start = MPI_Wtime(), last = start, last_of[64] = {0};
    int go = 1;
    for (int k = 0; go; k++) {
        struct reading mine, theirs;
        int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
        mine.now = MPI_Wtime();
        mine.round = k;
        CHECK(mine.now >= last, "Wtime ran backwards by %g s in round %d", last - mine.now, k);
        last = mine.now;
        if (check_rank == 0)
            go = mine.now - start < order_seconds;
        MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
        mine.go = go;
        MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, to, 1, &theirs, sizeof theirs, MPI_BYTE, from, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sent(to, &mine, sizeof mine);
        got(from, &theirs, sizeof theirs);
        EQUAL(theirs.round, k);
        EQUAL(theirs.go, go);
        CHECK(theirs.now >= last_of[from % 64], "the neighbour's time ran backwards");
        last_of[from % 64] = theirs.now;
        pause_us(PACE_US);
    }
    return order_end();
}
