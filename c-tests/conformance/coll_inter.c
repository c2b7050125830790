/* Every collective between the two groups of an intercommunicator (chapter 6), in all forms:
 * with `int` and with `MPI_Count`, blocking, non-blocking and persistent (started twice), with a
 * root in either group. The expected data are computed from the ranks. */
#include "../check.h"

enum { MAX = 4096, WORDS = MAX / (int)sizeof(int) };

static int in[WORDS], want[WORDS], got[WORDS];
static MPI_Comm inter;
/* The even ranks of the world are one group, the odd ranks are the other. */
static int side, mine, others, rank;

/* The i-th value of rank `k` of group `of`. */
static int value(int of, int k, int i)
{
    return 10000 * (2 * k + of) + i;
}

static void fresh(int *buffer)
{
    for (int i = 0; i < WORDS; i++)
        buffer[i] = -7;
}

static void same(const char *form)
{
    for (int i = 0; i < WORDS; i++)
        if (got[i] != want[i]) {
            CHECK(0, "%s: word %d is %d, must be %d", form, i, got[i], want[i]);
            break;
        }
    fresh(got);
}

static void once(MPI_Request *q)
{
    MPI_Wait(q, MPI_STATUS_IGNORE);
    EQUAL(*q == MPI_REQUEST_NULL, 1);
}

static void twice(MPI_Request *q, const char *form)
{
    /* MPICH 4.0 writes wrong data in later rounds. */
    for (int k = peer_is_mpich_4_0(); k < 2; k++) {
        MPI_Start(q);
        MPI_Wait(q, MPI_STATUS_IGNORE);
        same(form);
    }
    MPI_Request_free(q);
}

#define IDENT(...) __VA_ARGS__
#define ALL(Name, name, SMALL, LARGE)                                            \
    do {                                                                         \
        MPI_Request q;                                                           \
        fresh(got);                                                              \
        EQUAL(MPI_##Name(IDENT SMALL, inter), MPI_SUCCESS);                      \
        same(#Name);                                                             \
        EQUAL(MPI_##Name##_c(IDENT LARGE, inter), MPI_SUCCESS);                  \
        same(#Name "_c");                                                        \
        EQUAL(MPI_I##name(IDENT SMALL, inter, &q), MPI_SUCCESS);                 \
        once(&q);                                                                \
        same("I" #name);                                                         \
        EQUAL(MPI_I##name##_c(IDENT LARGE, inter, &q), MPI_SUCCESS);             \
        once(&q);                                                                \
        same("I" #name "_c");                                                    \
        EQUAL(MPI_##Name##_init(IDENT SMALL, inter, MPI_INFO_NULL, &q), MPI_SUCCESS);   \
        twice(&q, #Name "_init");                                                \
        EQUAL(MPI_##Name##_init_c(IDENT LARGE, inter, MPI_INFO_NULL, &q), MPI_SUCCESS); \
        twice(&q, #Name "_init_c");                                              \
        note_bytes(want, MAX);                                                   \
    } while (0)

static int counts[16], places[16], back[16], back_places[16], byte_places[16], byte_back[16];
static MPI_Count lcounts[16], lback[16];
static MPI_Aint lplaces[16], lback_places[16], lbyte_places[16], lbyte_back[16];
static MPI_Datatype types[16];

static int between(int of_zero, int of_one)
{
    return 1 + (of_zero + 2 * of_one) % 3;
}

/* Counts and displacements to and from the other group. `to(i)` and `from(i)` are the counts. */
static void layout(int (*to)(int), int (*from)(int))
{
    for (int i = 0, at = 1, then = 1; i < 16; i++) {
        lcounts[i] = counts[i] = to(i);
        lback[i] = back[i] = from(i);
        lplaces[i] = places[i] = at;
        lback_places[i] = back_places[i] = then;
        lbyte_places[i] = byte_places[i] = at * (int)sizeof(int);
        lbyte_back[i] = byte_back[i] = then * (int)sizeof(int);
        types[i] = MPI_INT;
        at += counts[i] + 1;
        then += back[i] + 1;
    }
}

static int with(int i) { return side == 0 ? between(rank, i) : between(i, rank); }
static int by_rank(int i) { return 1 + i % 3; }

static void everybody(void)
{
    fresh(want);
    for (int k = 0; k < others; k++)
        for (int i = 0; i < 3; i++)
            want[3 * k + i] = value(1 - side, k, i);
    ALL(Allgather, allgather, (in, 3, MPI_INT, got, 3, MPI_INT), (in, 3, MPI_INT, got, 3, MPI_INT));
    layout(by_rank, by_rank);
    fresh(want);
    for (int k = 0; k < others; k++)
        for (int i = 0; i < back[k]; i++)
            want[back_places[k] + i] = value(1 - side, k, i);
    ALL(Allgatherv, allgatherv, (in, by_rank(rank), MPI_INT, got, back, back_places, MPI_INT),
        (in, by_rank(rank), MPI_INT, got, lback, lback_places, MPI_INT));
    fresh(want);
    for (int k = 0; k < others; k++)
        for (int i = 0; i < 2; i++)
            want[2 * k + i] = value(1 - side, k, 2 * rank + i);
    ALL(Alltoall, alltoall, (in, 2, MPI_INT, got, 2, MPI_INT), (in, 2, MPI_INT, got, 2, MPI_INT));
    /* Rank k of the other group sends the data at the displacement for this rank. */
    layout(with, with);
    fresh(want);
    for (int k = 0; k < others; k++) {
        int there = 1;
        for (int j = 0; j < rank; j++)
            there += (side == 0 ? between(j, k) : between(k, j)) + 1;
        for (int i = 0; i < back[k]; i++)
            want[back_places[k] + i] = value(1 - side, k, there + i);
    }
    ALL(Alltoallv, alltoallv, (in, counts, places, MPI_INT, got, back, back_places, MPI_INT),
        (in, lcounts, lplaces, MPI_INT, got, lback, lback_places, MPI_INT));
    ALL(Alltoallw, alltoallw, (in, counts, byte_places, types, got, back, byte_back, types),
        (in, lcounts, lbyte_places, types, got, lback, lbyte_back, types));
    section("everybody");
}

static void with_root(int of)
{
    /* The last rank of its group. */
    int in_group = side == of, last = (in_group ? mine : others) - 1;
    int is_root = in_group && rank == last;
    int root = is_root ? MPI_ROOT : in_group ? MPI_PROC_NULL : last;
    layout(by_rank, by_rank);
    fresh(want);
    for (int k = 0; is_root && k < others; k++)
        for (int i = 0; i < 3; i++)
            want[3 * k + i] = value(1 - side, k, i);
    ALL(Gather, gather, (in, 3, MPI_INT, got, 3, MPI_INT, root), (in, 3, MPI_INT, got, 3, MPI_INT, root));
    fresh(want);
    for (int k = 0; is_root && k < others; k++)
        for (int i = 0; i < back[k]; i++)
            want[back_places[k] + i] = value(1 - side, k, i);
    ALL(Gatherv, gatherv, (in, by_rank(rank), MPI_INT, got, back, back_places, MPI_INT, root),
        (in, by_rank(rank), MPI_INT, got, lback, lback_places, MPI_INT, root));
    fresh(want);
    for (int i = 0; !in_group && i < 3; i++)
        want[i] = value(of, last, 3 * rank + i);
    ALL(Scatter, scatter, (in, 3, MPI_INT, got, 3, MPI_INT, root), (in, 3, MPI_INT, got, 3, MPI_INT, root));
    fresh(want);
    for (int i = 0; !in_group && i < by_rank(rank); i++)
        want[i] = value(of, last, places[rank] + i);
    ALL(Scatterv, scatterv, (in, counts, places, MPI_INT, got, by_rank(rank), MPI_INT, root),
        (in, lcounts, lplaces, MPI_INT, got, by_rank(rank), MPI_INT, root));
    fresh(want);
    for (int i = 0; is_root && i < 40; i++)
        for (int k = want[i] = 0; k < others; k++)
            want[i] += value(1 - side, k, i);
    ALL(Reduce, reduce, (in, got, 40, MPI_INT, MPI_SUM, root), (in, got, 40, MPI_INT, MPI_SUM, root));
    /* A broadcast has one buffer for input or output. */
    for (int form = 0; form < 6; form++) {
        MPI_Request q;
        fresh(got);
        if (is_root)
            memcpy(got, in, MAX);
        memcpy(want, got, MAX);
        for (int i = 0; !in_group && i < 100; i++)
            want[i] = value(of, last, i);
        switch (form) {
        case 0: MPI_Bcast(got, 100, MPI_INT, root, inter); break;
        case 1: MPI_Bcast_c(got, 100, MPI_INT, root, inter); break;
        case 2: MPI_Ibcast(got, 100, MPI_INT, root, inter, &q); break;
        case 3: MPI_Ibcast_c(got, 100, MPI_INT, root, inter, &q); break;
        case 4: MPI_Bcast_init(got, 100, MPI_INT, root, inter, MPI_INFO_NULL, &q); break;
        default: MPI_Bcast_init_c(got, 100, MPI_INT, root, inter, MPI_INFO_NULL, &q); break;
        }
        if (form >= 4)
            MPI_Start(&q);
        if (form >= 2)
            MPI_Wait(&q, MPI_STATUS_IGNORE);
        if (form >= 4)
            MPI_Request_free(&q);
        same("a broadcast");
        note_bytes(want, MAX);
    }
    section(of ? "a root in the second group" : "a root in the first group");
}

static void reductions(void)
{
    fresh(want);
    for (int i = 0; i < 40; i++)
        for (int k = want[i] = 0; k < others; k++)
            want[i] += value(1 - side, k, i);
    ALL(Allreduce, allreduce, (in, got, 40, MPI_INT, MPI_SUM), (in, got, 40, MPI_INT, MPI_SUM));
    /* Both groups divide vectors of one length. */
    int total = 4 * mine * others, part = total / mine;
    fresh(want);
    for (int i = 0; i < part; i++)
        for (int k = want[i] = 0; k < others; k++)
            want[i] += value(1 - side, k, part * rank + i);
    ALL(Reduce_scatter_block, reduce_scatter_block, (in, got, part, MPI_INT, MPI_SUM),
        (in, got, part, MPI_INT, MPI_SUM));
    /* The first rank gets one element less, the last one more. */
    for (int i = 0; i < mine; i++)
        lcounts[i] = counts[i] = part - (mine > 1 && i == 0) + (mine > 1 && i == mine - 1);
    int at = part * rank - (mine > 1 && rank > 0);
    fresh(want);
    for (int i = 0; i < counts[rank]; i++)
        for (int k = want[i] = 0; k < others; k++)
            want[i] += value(1 - side, k, at + i);
    ALL(Reduce_scatter, reduce_scatter, (in, got, counts, MPI_INT, MPI_SUM), (in, got, lcounts, MPI_INT, MPI_SUM));
    section("reductions");
}

/* The root that the other ranks of this group name is a rank of the other group. The argument of
 * the root's group does not count, even if a rank of that group has the same number. */
static void leaves(void)
{
#ifdef FTMPI_VERSION
    int sent[2] = {value(side, rank, 0), value(side, rank, 1)}, came[32];
    for (int of = 0; of < 2; of++)
        for (int root = 0; root < (side == of ? mine : others); root++) {
            int who = side == of ? rank == root ? MPI_ROOT : MPI_PROC_NULL : root;
            int leaf = who != MPI_ROOT && who != MPI_PROC_NULL;
            MPI_Datatype at_root = leaf ? MPI_DATATYPE_NULL : MPI_INT;
            EQUAL(MPI_Gather(sent, 2, MPI_INT, leaf ? NULL : came, leaf ? -5 : 2, at_root, who, inter), MPI_SUCCESS);
            for (int k = 0; who == MPI_ROOT && k < others; k++)
                EQUAL(came[2 * k + 1], value(1 - side, k, 1));
            for (int i = 0; i < 32; i++)
                came[i] = who == MPI_ROOT ? 100 * root + i : -1;
            EQUAL(MPI_Scatter(leaf ? NULL : came, leaf ? -5 : 1, at_root, sent, 1, MPI_INT, who, inter), MPI_SUCCESS);
            if (leaf)
                EQUAL(sent[0], 100 * root + rank);
            sent[0] = value(side, rank, 0);
        }
#endif
}

/* What the others in the root's group give does not count. */
static void bystanders(void)
{
    for (int of = 0; of < 2; of++) {
        int in_group = side == of, last = (in_group ? mine : others) - 1;
        int is_root = in_group && rank == last;
        int root = is_root ? MPI_ROOT : in_group ? MPI_PROC_NULL : last;
        int none = root == MPI_PROC_NULL, sum = 0, all = 0;
        MPI_Datatype type = none ? MPI_BYTE : MPI_INT;
        EQUAL(MPI_Reduce(none ? NULL : &rank, none ? NULL : &sum, !none, type, MPI_SUM, root, inter), MPI_SUCCESS);
        for (int k = 0; is_root && k < others; k++)
            all += k;
        if (is_root)
            EQUAL(sum, all);
#ifdef FTMPI_VERSION
        /* Other MPIs look at the handles. */
        type = none ? MPI_DATATYPE_NULL : MPI_INT;
        MPI_Op op = none ? MPI_OP_NULL : MPI_MAX;
        EQUAL(MPI_Reduce(none ? MPI_IN_PLACE : &rank, &sum, none ? -1 : 1, type, op, root, inter), MPI_SUCCESS);
        if (is_root)
            EQUAL(sum, others - 1);
        EQUAL(MPI_Bcast(none ? NULL : &sum, none ? -1 : 1, type, root, inter), MPI_SUCCESS);
        if (root != MPI_ROOT && !none)
            EQUAL(sum, mine - 1);
#endif
    }
    section("bystanders");
}

static void barriers(void)
{
    MPI_Request q;
    MPI_Barrier(inter);
    MPI_Ibarrier(inter, &q);
    once(&q);
    MPI_Barrier_init(inter, MPI_INFO_NULL, &q);
    for (int k = 0; k < 2; k++) {
        MPI_Start(&q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&q);
    /* Two groups have no common order of ranks, so there is no scan. */
    int class = 0, code;
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    code = MPI_Scan(in, got, 1, MPI_INT, MPI_SUM, inter);
    MPI_Error_class(code, &class);
    EQUAL(class, MPI_ERR_COMM);
    code = MPI_Exscan(in, got, 1, MPI_INT, MPI_SUM, inter);
    MPI_Error_class(code, &class);
    EQUAL(class, MPI_ERR_COMM);
    section("barriers");
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "coll_inter");
    if (check_size > 1) {
        MPI_Comm local;
        side = check_rank % 2;
        MPI_Comm_split(check_comm, side, check_rank, &local);
        MPI_Intercomm_create(local, 0, check_comm, 1 - side, 7, &inter);
        MPI_Comm_rank(inter, &rank);
        MPI_Comm_size(inter, &mine);
        MPI_Comm_remote_size(inter, &others);
        for (int i = 0; i < WORDS; i++)
            in[i] = value(side, rank, i);
        everybody();
        with_root(0);
        with_root(1);
        reductions();
        barriers();
        leaves();
        bystanders();
        MPI_Comm_free(&inter);
        MPI_Comm_free(&local);
    }
    return check_end();
}
