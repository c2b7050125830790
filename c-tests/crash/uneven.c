/* Rank 1 has much memory that changes and cannot be compressed, and the other ranks have little:
 * the image of rank 1 is the last one of every wave. Neighbours in a ring compare their step in
 * every round, so that a mixture of waves is detected. */
#include "order.h"

enum { PACE_US = 20000, TAG = 4, STRIDE = 512 };

int main(int argc, char **argv)
{
    order_begin(&argc, &argv, "uneven");
    size_t words = check_rank == 1 ? (size_t)32 << 20 : 1000;
    uint64_t *memory = malloc(words * sizeof *memory);
    uint64_t noise = UINT64_C(88172645463325252) + (uint64_t)check_rank;
    for (size_t i = 0; i < words; i++) {
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        memory[i] = noise;
    }
    MPI_Barrier(check_comm);
    int count = rounds(PACE_US);
    int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
    for (int k = 0; k < count; k++) {
        pause_us(PACE_US);
        for (size_t i = (size_t)k % STRIDE; i < words; i += STRIDE)
            memory[i] += (uint64_t)k;
        int mine = k, theirs = -1;
        MPI_Sendrecv(&mine, 1, MPI_INT, to, TAG, &theirs, 1, MPI_INT, from, TAG, check_comm,
                     MPI_STATUS_IGNORE);
        sent(to, &mine, sizeof mine);
        got(from, &theirs, sizeof theirs);
        CHECK(theirs == k, "rank %d is at step %d, this rank at step %d", from, theirs, k);
    }
    free(memory);
    return order_end();
}
