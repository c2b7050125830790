/* Collectives without end: the seed draws roots, operations, sizes and communicators. Every
 * result is checked. One of the operations is a user operation that does not commute. */
#include "order.h"

enum { PACE_US = 1500, LARGEST = 20000 };

static void join(void *in, void *inout, int *len, MPI_Datatype *type)
{
    uint64_t *a = in, *b = inout;   /* (x, y): h -> x h + y, composed in the order of the ranks */
    (void)type;
    for (int i = 0; i < *len / 2; i++) {
        uint64_t x = a[2 * i] * b[2 * i], y = a[2 * i + 1] * b[2 * i] + b[2 * i + 1];
        b[2 * i] = x;
        b[2 * i + 1] = y;
    }
}

int main(int argc, char **argv)
{
    order_begin(&argc, &argv, "collectives");
    struct random r = {order_seed * 104729};   /* the same on every rank */
    int n = check_size, me = check_rank, count = rounds(PACE_US);
    static int a[LARGEST * 2], b[LARGEST * 2];
    MPI_Comm half;
    MPI_Op op;
    MPI_Datatype pair;
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half);
    int hn, hme;
    MPI_Comm_size(half, &hn);
    MPI_Comm_rank(half, &hme);
    MPI_Op_create(join, 0, &op);
    MPI_Type_contiguous(2, MPI_UINT64_T, &pair);
    MPI_Type_commit(&pair);
    for (int k = 0; k < count; k++) {
        int what = (int)below(&r, 7), root = (int)below(&r, (uint32_t)n);
        int size = below(&r, 20) ? (int)below(&r, 50) : (int)below(&r, LARGEST / (uint32_t)n);
        for (int i = 0; i < size; i++)
            a[i] = me * 7 + i + k;
        switch (what) {
        case 0:
            MPI_Bcast(a, size, MPI_INT, root, MPI_COMM_WORLD);
            for (int i = 0; i < size; i++)
                CHECK(a[i] == root * 7 + i + k, "round %d: Bcast", k);
            break;
        case 1:
            MPI_Allreduce(a, b, size, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
            for (int i = 0; i < size; i++)
                CHECK(b[i] == 7 * n * (n - 1) / 2 + n * (i + k), "round %d: Allreduce", k);
            break;
        case 2:
            MPI_Reduce(a, b, size, MPI_INT, MPI_MAX, root, MPI_COMM_WORLD);
            for (int i = 0; i < size && me == root; i++)
                CHECK(b[i] == 7 * (n - 1) + i + k, "round %d: Reduce", k);
            break;
        case 3:
            size = size % (LARGEST / n);
            MPI_Allgather(a, size, MPI_INT, b, size, MPI_INT, MPI_COMM_WORLD);
            for (int s = 0; s < n; s++)
                for (int i = 0; i < size; i++)
                    CHECK(b[s * size + i] == s * 7 + i + k, "round %d: Allgather", k);
            break;
        case 4:
            size = size % (LARGEST / n);
            for (int i = 0; i < size * n; i++)
                a[i] = me * 1000 + i + k;
            MPI_Alltoall(a, size, MPI_INT, b, size, MPI_INT, MPI_COMM_WORLD);
            for (int s = 0; s < n; s++)
                for (int i = 0; i < size; i++)
                    CHECK(b[s * size + i] == s * 1000 + me * size + i + k, "round %d: Alltoall", k);
            break;
        case 5: {
            MPI_Allreduce(a, b, size, MPI_INT, MPI_MIN, half);
            for (int i = 0; i < size; i++)
                CHECK(b[i] == 7 * (me % 2) + i + k, "round %d: Allreduce in a half", k);
            MPI_Barrier(MPI_COMM_WORLD);
            break;
        }
        default: {
            uint64_t x[2] = {(uint64_t)me * 2 + 3, (uint64_t)(k + me)}, y[2], want[2] = {3, (uint64_t)k};
            MPI_Op_free(&op);   /* a new communicator, so that images hold handles of every age */
            MPI_Op_create(join, 0, &op);
            MPI_Allreduce(x, y, 2, MPI_UINT64_T, op, half == MPI_COMM_NULL ? half : MPI_COMM_WORLD);
            for (int s = 1; s < n; s++) {
                uint64_t sx = (uint64_t)s * 2 + 3, sy = (uint64_t)(k + s);
                want[1] = want[1] * sx + sy;
                want[0] *= sx;
            }
            CHECK(y[0] == want[0] && y[1] == want[1], "round %d: operation of our own", k);
        }
        }
        if (k % 2)
            pause_us(2 * PACE_US);
    }
    MPI_Type_free(&pair);
    MPI_Op_free(&op);
    MPI_Comm_free(&half);
    return order_end();
}
