/* Every collective in all its forms: with `int` and with `MPI_Count`, blocking, non-blocking and
 * persistent (started twice). The blocking form with `int` is the reference: other programs of
 * this folder check that form against a model. All other forms must write the same bytes. */
#include "../check.h"

enum { MAX = 4096 };

static unsigned char want[MAX], got[MAX];
static int n, me, comparable = 1;

/* The same starting point for every form. */
static void fresh(void *buffer)
{
    memset(buffer, 0x5a, MAX);
}

static void same(const char *form)
{
    CHECK(!memcmp(got, want, MAX), "%s writes something else", form);
    memset(got, 0x5a, MAX);
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
        CHECK(*q != MPI_REQUEST_NULL, "%s is gone after a round", form);
        same(form);
    }
    MPI_Request_free(q);
}

/* `Name` and `name`, with the arguments up to the communicator, for `int` and for `MPI_Count`.
 * Both name the output `out`. */
#define ALL(Name, name, comm, SMALL, LARGE)                             \
    do {                                                                \
        MPI_Request q;                                                  \
        void *out = want;                                               \
        fresh(want);                                                    \
        fresh(got);                                                     \
        EQUAL(MPI_##Name(IDENT SMALL, comm), MPI_SUCCESS);              \
        out = got;                                                      \
        EQUAL(MPI_##Name##_c(IDENT LARGE, comm), MPI_SUCCESS);          \
        same(#Name "_c");                                               \
        EQUAL(MPI_I##name(IDENT SMALL, comm, &q), MPI_SUCCESS);         \
        once(&q);                                                       \
        same("I" #name);                                                \
        EQUAL(MPI_I##name##_c(IDENT LARGE, comm, &q), MPI_SUCCESS);     \
        once(&q);                                                       \
        same("I" #name "_c");                                           \
        EQUAL(MPI_##Name##_init(IDENT SMALL, comm, MPI_INFO_NULL, &q), MPI_SUCCESS); \
        twice(&q, #Name "_init");                                       \
        EQUAL(MPI_##Name##_init_c(IDENT LARGE, comm, MPI_INFO_NULL, &q), MPI_SUCCESS); \
        twice(&q, #Name "_init_c");                                     \
        if (comparable)                                                 \
            note_bytes(want, MAX);                                      \
    } while (0)
#define IDENT(...) __VA_ARGS__

/* Counts, displacements and types of the irregular forms: rank i gives `1 + (i + j) % 3` values
 * to rank j. */
static int counts[16], places[16], back[16], back_places[16], byte_places[16], byte_back[16];
static MPI_Count lcounts[16], lback[16];
static MPI_Aint lplaces[16], lback_places[16], lbyte_places[16], lbyte_back[16];
static MPI_Datatype types[16];

static void layout(int others, int out_of, int into)
{
    int at = 0, from = 0;
    for (int i = 0; i < others; i++) {
        lcounts[i] = counts[i] = 1 + (out_of + i) % 3;
        lback[i] = back[i] = 1 + (into + i) % 3;
        lplaces[i] = places[i] = at;
        lback_places[i] = back_places[i] = from;
        lbyte_places[i] = byte_places[i] = 4 * at;
        lbyte_back[i] = byte_back[i] = 4 * from;
        types[i] = MPI_INT;
        at += counts[i];
        from += back[i];
    }
}

static void moves(void)
{
    int in[64], root = n - 1;
    for (int i = 0; i < 64; i++)
        in[i] = 1000 * me + i;
    layout(n, me, me);
    int mine = counts[0];
    ALL(Allgather, allgather, check_comm, (in, 3, MPI_INT, out, 3, MPI_INT), (in, 3, MPI_INT, out, 3, MPI_INT));
    ALL(Alltoall, alltoall, check_comm, (in, 2, MPI_INT, out, 2, MPI_INT), (in, 2, MPI_INT, out, 2, MPI_INT));
    ALL(Gather, gather, check_comm, (in, 3, MPI_INT, out, 3, MPI_INT, root), (in, 3, MPI_INT, out, 3, MPI_INT, root));
    ALL(Scatter, scatter, check_comm, (in, 3, MPI_INT, out, 3, MPI_INT, root), (in, 3, MPI_INT, out, 3, MPI_INT, root));
    /* The contribution of rank i to rank 0 is also its contribution to every other rank. */
    for (int i = 0; i < n; i++)
        lback[i] = back[i] = 1 + i % 3;
    for (int i = 0, at = 0; i < n; at += back[i++])
        lback_places[i] = back_places[i] = at;
    ALL(Allgatherv, allgatherv, check_comm, (in, mine, MPI_INT, out, back, back_places, MPI_INT),
        (in, mine, MPI_INT, out, lback, lback_places, MPI_INT));
    ALL(Gatherv, gatherv, check_comm, (in, mine, MPI_INT, out, back, back_places, MPI_INT, root),
        (in, mine, MPI_INT, out, lback, lback_places, MPI_INT, root));
    ALL(Scatterv, scatterv, check_comm, (in, back, back_places, MPI_INT, out, mine, MPI_INT, root),
        (in, lback, lback_places, MPI_INT, out, mine, MPI_INT, root));
    layout(n, me, me);
    ALL(Alltoallv, alltoallv, check_comm, (in, counts, places, MPI_INT, out, back, back_places, MPI_INT),
        (in, lcounts, lplaces, MPI_INT, out, lback, lback_places, MPI_INT));
    ALL(Alltoallw, alltoallw, check_comm, (in, counts, byte_places, types, out, back, byte_back, types),
        (in, lcounts, lbyte_places, types, out, lback, lbyte_back, types));
    section("moves");
}

/* The buffer of a broadcast is also its input. */
static void broadcast(void)
{
    MPI_Request q;
    int root = n / 2;
    for (int form = 0; form < 6; form++) {
        memset(got, me == root ? 7 : 0, MAX);
        switch (form) {
        case 0: MPI_Bcast(got, 100, MPI_INT, root, check_comm); break;
        case 1: MPI_Bcast_c(got, 100, MPI_INT, root, check_comm); break;
        case 2: MPI_Ibcast(got, 100, MPI_INT, root, check_comm, &q); once(&q); break;
        case 3: MPI_Ibcast_c(got, 100, MPI_INT, root, check_comm, &q); once(&q); break;
        case 4: MPI_Bcast_init(got, 100, MPI_INT, root, check_comm, MPI_INFO_NULL, &q); break;
        default: MPI_Bcast_init_c(got, 100, MPI_INT, root, check_comm, MPI_INFO_NULL, &q); break;
        }
        for (int round = 0; form >= 4 && round < 3; round++) {
            memset(got, me == root ? 7 : 0, MAX);
            MPI_Start(&q);
            MPI_Wait(&q, MPI_STATUS_IGNORE);
        }
        if (form >= 4)
            MPI_Request_free(&q);
        for (int i = 0; i < MAX; i++)
            if (got[i] != (i < 400 || me == root ? 7 : 0)) {
                CHECK(0, "form %d, byte %d is %d", form, i, got[i]);
                break;
            }
    }
    MPI_Ibarrier(check_comm, &q);
    once(&q);
    MPI_Barrier_init(check_comm, MPI_INFO_NULL, &q);
    for (int i = 0; i < 3; i++) {
        MPI_Start(&q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&q);
    section("broadcast");
}

static void reductions(void)
{
    long in[64];
    int root = n - 1, parts[16];
    MPI_Count lparts[16];
    for (int i = 0; i < 64; i++)
        in[i] = (me + 2) * (i + 1);
    for (int i = 0; i < n; i++)
        lparts[i] = parts[i] = i % 3;
    ALL(Allreduce, allreduce, check_comm, (in, out, 20, MPI_LONG, MPI_SUM), (in, out, 20, MPI_LONG, MPI_SUM));
    ALL(Reduce, reduce, check_comm, (in, out, 20, MPI_LONG, MPI_MAX, root), (in, out, 20, MPI_LONG, MPI_MAX, root));
    ALL(Scan, scan, check_comm, (in, out, 20, MPI_LONG, MPI_PROD), (in, out, 20, MPI_LONG, MPI_PROD));
    ALL(Exscan, exscan, check_comm, (in, out, 20, MPI_LONG, MPI_BXOR), (in, out, 20, MPI_LONG, MPI_BXOR));
    ALL(Reduce_scatter, reduce_scatter, check_comm, (in, out, parts, MPI_LONG, MPI_SUM),
        (in, out, lparts, MPI_LONG, MPI_SUM));
    ALL(Reduce_scatter_block, reduce_scatter_block, check_comm, (in, out, 2, MPI_LONG, MPI_MIN),
        (in, out, 2, MPI_LONG, MPI_MIN));
    long a[4] = {1, 2, 3, 4}, b[4] = {10, 20, 30, 40};
    MPI_Reduce_local_c(a, b, 4, MPI_LONG, MPI_SUM);
    EQUAL(b[3], 44);
    MPI_Reduce_local(a, b, 4, MPI_LONG, MPI_PROD);
    EQUAL(b[2], 99);
    section("reductions");
}

static void neighbours(MPI_Comm comm, const char *name)
{
    int in[64], sent[16], came[16], at_sent[16], at_came[16];
    MPI_Count lsent[16], lcame[16];
    MPI_Aint lat_sent[16], lat_came[16], byte_sent[16], byte_came[16];
    MPI_Datatype kinds[16];
    for (int i = 0; i < 64; i++)
        in[i] = 1000 * me + i;
    for (int i = 0; i < 16; i++) {
        lsent[i] = sent[i] = 2;
        lcame[i] = came[i] = 2;
        lat_sent[i] = at_sent[i] = 3 * i;
        lat_came[i] = at_came[i] = 4 * i;
        byte_sent[i] = 12 * i;
        byte_came[i] = 16 * i;
        kinds[i] = MPI_INT;
    }
    /* Where a rank is a neighbour twice, MPICH 4.0 confuses the two blocks. */
    comparable = n > 2;
    ALL(Neighbor_allgather, neighbor_allgather, comm, (in, 3, MPI_INT, out, 3, MPI_INT), (in, 3, MPI_INT, out, 3, MPI_INT));
    ALL(Neighbor_alltoall, neighbor_alltoall, comm, (in, 2, MPI_INT, out, 2, MPI_INT), (in, 2, MPI_INT, out, 2, MPI_INT));
    ALL(Neighbor_allgatherv, neighbor_allgatherv, comm, (in, 2, MPI_INT, out, came, at_came, MPI_INT),
        (in, 2, MPI_INT, out, lcame, lat_came, MPI_INT));
    ALL(Neighbor_alltoallv, neighbor_alltoallv, comm, (in, sent, at_sent, MPI_INT, out, came, at_came, MPI_INT),
        (in, lsent, lat_sent, MPI_INT, out, lcame, lat_came, MPI_INT));
    ALL(Neighbor_alltoallw, neighbor_alltoallw, comm, (in, sent, byte_sent, kinds, out, came, byte_came, kinds),
        (in, lsent, byte_sent, kinds, out, lcame, byte_came, kinds));
    section(name);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "coll_forms");
    n = check_size;
    me = check_rank;
    moves();
    broadcast();
    reductions();
    MPI_Comm ring, graph;
    int periodic = 1;
    MPI_Cart_create(check_comm, 1, &n, &periodic, 0, &ring);
    neighbours(ring, "on a ring");
    MPI_Comm_free(&ring);
    /* Each rank receives from the next two ranks. */
    int from[2] = {(me + 1) % n, (me + 2) % n}, to[2] = {(me + n - 1) % n, (me + 2 * n - 2) % n};
    MPI_Dist_graph_create_adjacent(check_comm, 2, from, MPI_UNWEIGHTED, 2, to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &graph);
    neighbours(graph, "on a graph");
    MPI_Comm_free(&graph);
    return check_end();
}
