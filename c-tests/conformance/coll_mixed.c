/* Chapter 6: short and long collectives in which ranks describe the same data in different ways:
 * as elements of a predefined type, as elements of a derived type, or in place. A library with a
 * shorter path for one of these must send the same messages on both paths. The sizes are around
 * every limit. */
#include "../check.h"

static MPI_Datatype pair;
static int me, n;

/* Whether this rank uses derived types in this round. */
static int derived(int rank, int round) { return (rank * 7 + round * 5 + rank * round) % 3 == 0; }

static int value(int rank, int i) { return rank * 100003 + i * 17 + 5; }

static void describe(int ints, int round, int *count, MPI_Datatype *type)
{
    int use = ints % 2 == 0 && derived(me, round);
    *count = use ? ints / 2 : ints;
    *type = use ? pair : MPI_INT;
}

static void bcast(int ints, int round)
{
    int root = round % n, count, *data = malloc(ints * sizeof(int) + 1);
    MPI_Datatype type;
    for (int i = 0; i < ints; i++)
        data[i] = me == root ? value(root, i + round) : -1;
    describe(ints, round, &count, &type);
    MPI_Bcast(data, count, type, root, MPI_COMM_WORLD);
    for (int i = 0; i < ints; i++)
        EQUAL(data[i], value(root, i + round));
    note_bytes(data, ints * sizeof(int));
    free(data);
}

static void gather_all(int ints, int round)
{
    int count, send_count, *all = malloc((size_t)ints * n * sizeof(int) + 1), *mine = malloc(ints * sizeof(int) + 1);
    MPI_Datatype type, send_type;
    for (int i = 0; i < ints * n; i++)
        all[i] = -1;
    for (int i = 0; i < ints; i++)
        mine[i] = all[me * ints + i] = value(me, i);
    describe(ints, round, &count, &type);
    describe(ints, round + 1, &send_count, &send_type);
    if ((me + round) % 4 == 1)
        MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, count, type, MPI_COMM_WORLD);
    else
        MPI_Allgather(mine, send_count, send_type, all, count, type, MPI_COMM_WORLD);
    for (int r = 0; r < n; r++)
        for (int i = 0; i < ints; i++)
            EQUAL(all[r * ints + i], value(r, i));
    note_bytes(all, (size_t)ints * n * sizeof(int));
    free(all);
    free(mine);
}

static void all_to_all(int ints, int round)
{
    int count, *out = malloc((size_t)ints * n * sizeof(int) + 1), *in = malloc((size_t)ints * n * sizeof(int) + 1);
    MPI_Datatype type;
    for (int i = 0; i < ints * n; i++) {
        out[i] = value(me, i);
        in[i] = -1;
    }
    describe(ints, round, &count, &type);
    MPI_Alltoall(out, count, type, in, count, type, MPI_COMM_WORLD);
    for (int r = 0; r < n; r++)
        for (int i = 0; i < ints; i++)
            EQUAL(in[r * ints + i], value(r, me * ints + i));
    note_bytes(in, (size_t)ints * n * sizeof(int));
    free(out);
    free(in);
}

static void gather(int ints, int round)
{
    int root = (round + 2) % n, count, *all = malloc((size_t)ints * n * sizeof(int) + 1), *mine = malloc(ints * sizeof(int) + 1);
    MPI_Datatype type;
    for (int i = 0; i < ints * n; i++)
        all[i] = -1;
    for (int i = 0; i < ints; i++)
        mine[i] = all[me * ints + i] = value(me, i);
    describe(ints, round, &count, &type);
    if (me == root && round % 2)
        MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, count, type, root, MPI_COMM_WORLD);
    else
        MPI_Gather(mine, count, type, me == root ? all : NULL, count, type, root, MPI_COMM_WORLD);
    for (int r = 0; r < n && me == root; r++)
        for (int i = 0; i < ints; i++)
            EQUAL(all[r * ints + i], value(r, i));
    note_bytes(all, (size_t)ints * n * sizeof(int));
    free(all);
    free(mine);
}

static void scatter(int ints, int round)
{
    int root = round % n, count, *all = malloc((size_t)ints * n * sizeof(int) + 1), *mine = malloc(ints * sizeof(int) + 1);
    MPI_Datatype type;
    for (int i = 0; i < ints * n; i++)
        all[i] = value(root, i + round);
    for (int i = 0; i < ints; i++)
        mine[i] = me == root && round % 2 ? value(root, me * ints + i + round) : -1;
    describe(ints, round, &count, &type);
    if (me == root && round % 2)
        MPI_Scatter(all, count, type, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
    else
        MPI_Scatter(me == root ? all : NULL, count, type, mine, count, type, root, MPI_COMM_WORLD);
    for (int i = 0; i < ints; i++)
        EQUAL(mine[i], value(root, me * ints + i + round));
    note_bytes(mine, ints * sizeof(int));
    free(all);
    free(mine);
}

/* Blocks of different sizes, some empty, with gaps between them. */
static void gather_all_v(int ints, int round)
{
    int *counts = malloc(n * sizeof(int)), *displs = malloc(n * sizeof(int)), total = 0;
    for (int r = 0; r < n; r++) {
        counts[r] = (r + round) % 3 == 0 ? 0 : ints + r;
        displs[r] = total;
        total += counts[r] + 2;
    }
    int *all = malloc(total * sizeof(int) + 1), *mine = malloc((ints + n) * sizeof(int) + 1);
    for (int i = 0; i < total; i++)
        all[i] = -1;
    for (int i = 0; i < counts[me]; i++)
        mine[i] = all[displs[me] + i] = value(me, i);
    if ((me + round) % 4 == 1)
        MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, counts, displs, MPI_INT, MPI_COMM_WORLD);
    else
        MPI_Allgatherv(mine, counts[me], MPI_INT, all, counts, displs, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < n; r++) {
        for (int i = 0; i < counts[r]; i++)
            EQUAL(all[displs[r] + i], value(r, i));
        EQUAL(all[displs[r] + counts[r]], -1);
    }
    note_bytes(all, total * sizeof(int));
    free(counts);
    free(displs);
    free(all);
    free(mine);
}

static void reduce(int ints, int round)
{
    int root = (round + 1) % n, *out = malloc(ints * sizeof(int) + 1), *in = malloc(ints * sizeof(int) + 1);
    for (int i = 0; i < ints; i++) {
        out[i] = value(me, i);
        in[i] = me == root && round % 2 ? out[i] : -1;
    }
    if (me == root && round % 2)
        MPI_Reduce(MPI_IN_PLACE, in, ints, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    else
        MPI_Reduce(out, me == root ? in : NULL, ints, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    for (int i = 0; i < ints; i++) {
        EQUAL(out[i], value(me, i));
        if (me == root)
            EQUAL(in[i], value(0, i) * n + 100003 * (n * (n - 1) / 2));
    }
    note_bytes(in, ints * sizeof(int));
    free(out);
    free(in);
}

static void reduce_all(int ints, int round)
{
    int *out = malloc(ints * sizeof(int) + 1), *in = malloc(ints * sizeof(int) + 1);
    for (int i = 0; i < ints; i++) {
        out[i] = value(me, i);
        in[i] = round % 2 ? out[i] : -1;
    }
    MPI_Allreduce(round % 2 ? MPI_IN_PLACE : out, in, ints, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < ints; i++) {
        EQUAL(out[i], value(me, i));
        EQUAL(in[i], value(0, i) * n + 100003 * (n * (n - 1) / 2));
    }
    note_bytes(in, ints * sizeof(int));
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {0, 1, 2, 3, 8, 63, 64, 66, 512, 513, 1024, 2047, 2048, 2050, 4095, 4096, 4100, 9000, 40000};
    check_begin(&argc, &argv, "coll_mixed");
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    static void (*const calls[])(int, int) = {bcast, gather_all, all_to_all, reduce, reduce_all, gather, scatter, gather_all_v};
    static const char *const names[] = {"bcast", "allgather", "alltoall", "reduce", "allreduce", "gather", "scatter", "allgatherv"};
    for (int c = 0; c < 8; c++) {
        for (int s = 0; s < (int)(sizeof sizes / sizeof *sizes); s++)
            for (int round = 0; round < 4; round++)
                calls[c](sizes[s], round);
        section(names[c]);
    }
    /* Collectives one after the other without a pause, with roots and sizes in turn: none may
     * overtake another. */
    for (int round = 0; round < 300; round++)
        calls[round % 8](sizes[round % 12], round);
    MPI_Barrier(MPI_COMM_WORLD);
    section("in turn");
    MPI_Type_free(&pair);
    return check_end();
}
