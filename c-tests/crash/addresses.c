/* Addresses are answers, too: addresses of memory that the program allocates, and of a window's
 * memory. Each rank sends the addresses of its blocks to its right neighbour. In a replay all
 * messages to a rank come at once, so the library needs other memory at other times than in the
 * first incarnation. The program's memory must have the same addresses, or the replay sends
 * other messages than the first incarnation. */
#include "order.h"

enum { PACE_US = 4000, LARGE = 48 << 10, BLOCKS = 5, TAG = 8, TALK = 9 };

struct where {
    uint64_t block, window, attached, view;
};

int main(int argc, char **argv)
{
    order_begin(&argc, &argv, "addresses");
    int n = check_size, me = check_rank, right = (me + 1) % n, left = (me + n - 1) % n, count = rounds(PACE_US);
    struct random r = {order_seed * 104729 + (uint64_t)me};
    char *blocks[BLOCKS] = {0}, *out = malloc(LARGE), *in = malloc(LARGE), *base, *mine;
    memset(out, me, LARGE);
    MPI_Win dynamic;
    MPI_Win_create_dynamic(MPI_INFO_NULL, check_comm, &dynamic);
    MPI_Win_lock_all(0, dynamic);
    for (int k = 0; k < count; k++) {
        MPI_Sendrecv(out, LARGE, MPI_BYTE, right, TAG, in, LARGE, MPI_BYTE, left, TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        EQUAL(in[LARGE - 1], left);
        char **block = &blocks[k % BLOCKS];
        size_t size = 100000 + below(&r, 900000);
        free(*block);
        *block = malloc(size);
        (*block)[size - 1] = 1;
        struct where here = {(uint64_t)(uintptr_t)*block, 0, 0, order_view}, there;
        if (k % 16 == 3) {
            /* the addresses of a window's memory and of attached memory: the neighbour writes
             * there */
            MPI_Win win;
            MPI_Win_allocate(10000 + (MPI_Aint)below(&r, 400000), 1, MPI_INFO_NULL, check_comm, &base, &win);
            here.window = (uint64_t)(uintptr_t)base;
            mine = calloc(1, 300000);
            MPI_Win_attach(dynamic, mine, 300000);
            MPI_Aint at;
            MPI_Get_address(mine, &at);
            here.attached = (uint64_t)at;
            MPI_Aint target;
            MPI_Sendrecv(&at, 1, MPI_AINT, left, TALK, &target, 1, MPI_AINT, right, TALK, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            int word = k + me;
            MPI_Put(&word, 1, MPI_INT, right, target + 4000, 1, MPI_INT, dynamic);
            MPI_Win_flush(right, dynamic);
            MPI_Barrier(check_comm);
            MPI_Win_sync(dynamic);
            EQUAL(*(volatile int *)(mine + 4000), k + left);
            MPI_Win_detach(dynamic, mine);
            free(mine);
            MPI_Win_free(&win);
        }
        MPI_Sendrecv(&here, sizeof here, MPI_BYTE, right, TAG, &there, sizeof there, MPI_BYTE, left, TAG,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sent(right, &here, sizeof here);
        got(left, &there, sizeof there);
        pause_us(PACE_US);
    }
    MPI_Win_unlock_all(dynamic);
    MPI_Win_free(&dynamic);
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    free(out);
    free(in);
    return order_end();
}
