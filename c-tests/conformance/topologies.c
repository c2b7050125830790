/* Chapter 8: Cartesian and graph topologies. */
#include "../check.h"

static int n, me;

static void dims(void)
{
    for (int nodes = 1; nodes <= 64; nodes++)
        for (int d = 1; d <= 4; d++) {
            int v[4] = {0}, p = 1;
            MPI_Dims_create(nodes, d, v);
            for (int i = 0; i < d; i++) {
                p *= v[i];
                CHECK(i == 0 || v[i - 1] >= v[i], "Dims_create is not in order");
            }
            EQUAL(p, nodes);
            if (nodes <= 16 && d <= 2)
                for (int i = 0; i < d; i++)
                    note(v[i]);
        }
    int fixed[3] = {0, 3, 0};
    MPI_Dims_create(12, 3, fixed);
    EQUAL(fixed[1], 3);
    EQUAL(fixed[0] * fixed[2], 4);
    EQUAL(fixed[0], 2);
}

static void cartesian(void)
{
    int d[2] = {0, 0}, periods[2] = {1, 0}, got[2], p[2], c[2], kind, nd, rank, size;
    MPI_Comm cart, row, line;
    MPI_Dims_create(n, 2, d);
    MPI_Cart_create(MPI_COMM_WORLD, 2, d, periods, 0, &cart);
    MPI_Topo_test(cart, &kind);
    EQUAL(kind, MPI_CART);
    MPI_Topo_test(MPI_COMM_WORLD, &kind);
    EQUAL(kind, MPI_UNDEFINED);
    MPI_Cartdim_get(cart, &nd);
    EQUAL(nd, 2);
    MPI_Cart_get(cart, 2, got, p, c);
    EQUAL(got[0], d[0]);
    EQUAL(p[0], 1);
    EQUAL(p[1], 0);
    EQUAL(c[0], me / d[1]);
    EQUAL(c[1], me % d[1]);
    for (int r = 0; r < n; r++) {
        MPI_Cart_coords(cart, r, 2, c);
        EQUAL(c[0] * d[1] + c[1], r);
        MPI_Cart_rank(cart, c, &rank);
        EQUAL(rank, r);
    }
    int wrapped[2] = {-1, 0};
    MPI_Cart_rank(cart, wrapped, &rank);   /* periodic: wraps around */
    EQUAL(rank, (d[0] - 1) * d[1]);
    for (int step = -2; step <= 2; step++) {
        int source, dest;
        MPI_Cart_shift(cart, 0, step, &source, &dest);
        int row0 = me / d[1], col0 = me % d[1];
        EQUAL(dest, ((row0 + step + 4 * d[0]) % d[0]) * d[1] + col0);
        EQUAL(source, ((row0 - step + 4 * d[0]) % d[0]) * d[1] + col0);
        MPI_Cart_shift(cart, 1, step, &source, &dest);
        int to = col0 + step, from = col0 - step;
        EQUAL(dest, to < 0 || to >= d[1] ? MPI_PROC_NULL : row0 * d[1] + to);
        EQUAL(source, from < 0 || from >= d[1] ? MPI_PROC_NULL : row0 * d[1] + from);
        int in = -9;
        MPI_Sendrecv(&me, 1, MPI_INT, dest, 3, &in, 1, MPI_INT, source, 3, cart, MPI_STATUS_IGNORE);
        EQUAL(in, source == MPI_PROC_NULL ? -9 : source);
        note(dest);
    }
    int keep[2] = {0, 1};
    MPI_Cart_sub(cart, keep, &row);
    MPI_Comm_size(row, &size);
    MPI_Comm_rank(row, &rank);
    EQUAL(size, d[1]);
    EQUAL(rank, me % d[1]);
    MPI_Cartdim_get(row, &nd);
    EQUAL(nd, 1);
    MPI_Comm_free(&row);
    MPI_Comm_dup(cart, &row);   /* a duplicate keeps the topology */
    MPI_Topo_test(row, &kind);
    EQUAL(kind, MPI_CART);
    MPI_Comm_free(&row);
    MPI_Comm_free(&cart);
    /* a grid smaller than the communicator */
    int one[1] = {n > 1 ? n - 1 : 1}, no[1] = {0};
    MPI_Cart_create(MPI_COMM_WORLD, 1, one, no, 0, &line);
    if (n > 1 && me == n - 1) {
        CHECK(line == MPI_COMM_NULL, "a rank outside the grid got a communicator");
    } else {
        MPI_Comm_size(line, &size);
        EQUAL(size, one[0]);
        MPI_Barrier(line);
        MPI_Comm_free(&line);
    }
    MPI_Cart_map(MPI_COMM_WORLD, 1, one, no, &rank);
    CHECK(rank == MPI_UNDEFINED || (rank >= 0 && rank < one[0]), "Cart_map gave %d", rank);
}

/* A star: rank 0 in the middle. */
static void graph(void)
{
    int index[64], edges[128], nn, ne, kind, count, list[64], k = 0;
    index[0] = n - 1;
    for (int r = 1; r < n; r++)
        edges[k++] = r;
    for (int r = 1; r < n; r++) {
        index[r] = index[r - 1] + 1;
        edges[k++] = 0;
    }
    MPI_Comm star;
    MPI_Graph_create(MPI_COMM_WORLD, n, index, edges, 0, &star);
    MPI_Topo_test(star, &kind);
    EQUAL(kind, MPI_GRAPH);
    MPI_Graphdims_get(star, &nn, &ne);
    EQUAL(nn, n);
    EQUAL(ne, 2 * (n - 1));
    int gi[64], ge[128];
    MPI_Graph_get(star, 64, 128, gi, ge);
    for (int r = 0; r < n; r++)
        EQUAL(gi[r], index[r]);
    for (int i = 0; i < k; i++)
        EQUAL(ge[i], edges[i]);
    for (int r = 0; r < n; r++) {
        MPI_Graph_neighbors_count(star, r, &count);
        EQUAL(count, r ? 1 : n - 1);
        MPI_Graph_neighbors(star, r, count, list);
        for (int i = 0; i < count; i++)
            EQUAL(list[i], r ? 0 : i + 1);
        note(count);
    }
    int rank;
    MPI_Graph_map(MPI_COMM_WORLD, n, index, edges, &rank);
    CHECK(rank >= 0 && rank < n, "Graph_map gave %d", rank);
    MPI_Comm_free(&star);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "topologies");
    n = check_size;
    me = check_rank;
    dims();
    section("dims");
    cartesian();
    section("cartesian");
    graph();
    section("graph");
    return check_end();
}
