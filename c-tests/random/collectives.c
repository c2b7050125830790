/*
 * Random collectives: communicators, roots, counts, datatypes on both sides, operations, in place
 * or not, blocking, non-blocking and persistent. The results are compared with a plain computation.
 * Every byte that must not change is checked, too.
 */
#include "model.h"
#include <unistd.h>

static struct random r;
static int style, round_now;
static int old_peer;
static char detail[80];
static MPI_Comm comms[4];
static int on_comm;

/* The three ways to run one collective. The persistent one runs twice where that gives the same
 * result. */
#define RUN(name, iname, again, ...)                                           \
    do {                                                                       \
        MPI_Request request_;                                                  \
        if (style == 0) {                                                      \
            MPI_##name(__VA_ARGS__, comm);                                     \
        } else if (style == 1) {                                               \
            MPI_##iname(__VA_ARGS__, comm, &request_);                         \
            MPI_Wait(&request_, MPI_STATUS_IGNORE);                            \
        } else if (style == 2) {                                               \
            int done_ = 0;                                                     \
            MPI_##iname(__VA_ARGS__, comm, &request_);                         \
            while (!done_)                                                     \
                MPI_Test(&request_, &done_, MPI_STATUS_IGNORE);                \
        } else {                                                               \
            MPI_##name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, &request_);    \
            for (int t_ = 0; t_ < 1 + (again); t_++) {                         \
                MPI_Start(&request_);                                          \
                MPI_Wait(&request_, MPI_STATUS_IGNORE);                        \
            }                                                                  \
            MPI_Request_free(&request_);                                       \
        }                                                                      \
    } while (0)

static void same(const void *got, const void *want, size_t bytes, const char *what)
{
    const unsigned char *g = got, *w = want;
    for (size_t i = 0; i < bytes; i++)
        if (g[i] != w[i]) {
            CHECK(0, "round %d, %s, style %d, communicator %d%s: byte %zu of %zu is %02x, must be %02x",
                  round_now, what, style, on_comm, detail, i, bytes, g[i], w[i]);
            return;
        }
}

/* The value that rank `from` sends to rank `to` in this round. */
static void words(unsigned char *out, size_t bytes, int from, int to)
{
    fill(out, bytes, (uint32_t)(round_now * 64 + from), (uint32_t)to);
}

/* A buffer of `blocks` elements of a type, with a copy of the expected content. */
struct buffer {
    struct memory is, want;
    const struct model *m;
};

static struct buffer buffer_for(const struct model *m, long blocks)
{
    struct buffer b = {memory_for(m, blocks), memory_for(m, blocks), m};
    fill(b.is.all, b.is.bytes, 3, 4);
    memcpy(b.want.all, b.is.all, b.is.bytes);
    return b;
}

static void buffer_done(struct buffer *b, const char *what)
{
    same(b->is.all, b->want.all, b->is.bytes, what);
    note_bytes(b->is.all, b->is.bytes);
    free(b->is.all);
    free(b->want.all);
}

static void put(struct memory x, const struct model *m, long at, long count, const unsigned char *data)
{
    scatter_by_model(m, count, x.base + at * model_extent(m), data, (size_t)-1);
}

/* Displacements for blocks of different lengths, not in the order of ranks. Returns the needed
 * size. */
static int places(int n, const int *counts, int *at)
{
    int here = 0, backwards = (int)below(&r, 2);
    for (int k = 0; k < n; k++) {
        int i = backwards ? n - 1 - k : k;
        at[i] = here;
        here += counts[i] + (int)below(&r, 2);
    }
    return here;
}

static void moving(MPI_Comm comm, int me, int n)
{
    struct model a, b;
    detail[0] = 0;
    do
        a = model_random(&r, (int)below(&r, 3));
    while (overlaps(&a, 2 * n + 8) && (model_free(&a), 1));
    b = model_same_signature(&r, &a, 1);
    MPI_Type_commit(&a.type);
    MPI_Type_commit(&b.type);
    size_t unit = (size_t)model_bytes(&a);
    int kind = (int)below(&r, 9), root = (int)below(&r, (uint32_t)n), count = (int)below(&r, 4);
    int in_place = below(&r, 3) == 0;
    unsigned char *data = malloc(unit * 8 + 1);
    int *counts = malloc((size_t)n * sizeof(int)), *at = malloc((size_t)n * sizeof(int));
    int *counts_b = malloc((size_t)n * sizeof(int)), *at_b = malloc((size_t)n * sizeof(int));
    int *bytes_a = malloc((size_t)n * sizeof(int)), *bytes_b = malloc((size_t)n * sizeof(int));
    MPI_Datatype *types_a = malloc((size_t)n * sizeof(MPI_Datatype));
    MPI_Datatype *types_b = malloc((size_t)n * sizeof(MPI_Datatype));
    uint32_t table = draw(&r);
    for (int i = 0; i < n; i++)
        counts[i] = (int)((table >> (i % 16)) & 3) % 3;
    struct buffer s, t;
    switch (kind) {
    case 0:
        if (me == root) {
            t = buffer_for(&a, count);
            words(data, unit * (size_t)count, root, 0);
            put(t.is, &a, 0, count, data);
            put(t.want, &a, 0, count, data);
            RUN(Bcast, Ibcast, 1, t.is.base, count, a.type, root);
        } else {
            t = buffer_for(&b, count);
            words(data, unit * (size_t)count, root, 0);
            put(t.want, &b, 0, count, data);
            RUN(Bcast, Ibcast, 1, t.is.base, count, b.type, root);
        }
        buffer_done(&t, "bcast");
        break;
    case 1: /* gather */
        s = buffer_for(&a, count);
        words(data, unit * (size_t)count, me, 0);
        put(s.is, &a, 0, count, data);
        put(s.want, &a, 0, count, data);
        if (me != root) {
            RUN(Gather, Igather, 1, s.is.base, count, a.type, NULL, 0, MPI_DATATYPE_NULL, root);
        } else {
            t = buffer_for(&b, (long)n * count);
            for (int i = 0; i < n; i++) {
                words(data, unit * (size_t)count, i, 0);
                put(t.want, &b, (long)i * count, count, data);
                if (i == me && in_place)
                    put(t.is, &b, (long)i * count, count, data);
            }
            if (in_place)
                RUN(Gather, Igather, 1, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, t.is.base, count, b.type, root);
            else
                RUN(Gather, Igather, 1, s.is.base, count, a.type, t.is.base, count, b.type, root);
            buffer_done(&t, "gather");
        }
        buffer_done(&s, "gather, sent");
        break;
    case 2: /* gatherv */
        s = buffer_for(&a, counts[me]);
        words(data, unit * (size_t)counts[me], me, 0);
        put(s.is, &a, 0, counts[me], data);
        put(s.want, &a, 0, counts[me], data);
        {
            int room = places(n, counts, at);
            if (me != root) {
                RUN(Gatherv, Igatherv, 1, s.is.base, counts[me], a.type, NULL, NULL, NULL, MPI_DATATYPE_NULL,
                    root);
            } else {
                t = buffer_for(&b, room);
                for (int i = 0; i < n; i++) {
                    words(data, unit * (size_t)counts[i], i, 0);
                    put(t.want, &b, at[i], counts[i], data);
                    if (i == me && in_place)
                        put(t.is, &b, at[i], counts[i], data);
                }
                if (in_place)
                    RUN(Gatherv, Igatherv, 1, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, t.is.base, counts, at,
                        b.type, root);
                else
                    RUN(Gatherv, Igatherv, 1, s.is.base, counts[me], a.type, t.is.base, counts, at, b.type,
                        root);
                buffer_done(&t, "gatherv");
            }
        }
        buffer_done(&s, "gatherv, sent");
        break;
    case 3: /* scatter and scatterv */
    case 4: {
        if (kind == 3)
            for (int i = 0; i < n; i++)
                counts[i] = count;
        int room = kind == 4 ? places(n, counts, at) : n * count;
        t = buffer_for(&b, counts[me]);
        words(data, unit * (size_t)counts[me], root, me);
        if (me != root || !in_place)
            put(t.want, &b, 0, counts[me], data);
        if (me == root) {
            s = buffer_for(&a, room);
            for (int i = 0; i < n; i++) {
                words(data, unit * (size_t)counts[i], root, i);
                put(s.is, &a, kind == 4 ? at[i] : i * count, counts[i], data);
                put(s.want, &a, kind == 4 ? at[i] : i * count, counts[i], data);
            }
        }
        void *to = me == root && in_place ? MPI_IN_PLACE : t.is.base;
        void *from = me == root ? s.is.base : NULL;
        MPI_Datatype sent = me == root ? a.type : MPI_DATATYPE_NULL;
        if (kind == 3)
            RUN(Scatter, Iscatter, 1, from, count, sent, to, count, b.type, root);
        else
            RUN(Scatterv, Iscatterv, 1, from, me == root ? counts : NULL, me == root ? at : NULL, sent, to,
                counts[me], b.type, root);
        buffer_done(&t, kind == 3 ? "scatter" : "scatterv");
        if (me == root)
            buffer_done(&s, "scatter, sent");
        break;
    }
    case 5: /* allgather and allgatherv */
    case 6: {
        if (kind == 5)
            for (int i = 0; i < n; i++)
                counts[i] = count;
        int room = kind == 6 ? places(n, counts, at) : n * count;
        s = buffer_for(&a, counts[me]);
        words(data, unit * (size_t)counts[me], me, 0);
        put(s.is, &a, 0, counts[me], data);
        put(s.want, &a, 0, counts[me], data);
        t = buffer_for(&b, room);
        for (int i = 0; i < n; i++) {
            words(data, unit * (size_t)counts[i], i, 0);
            put(t.want, &b, kind == 6 ? at[i] : i * count, counts[i], data);
            if (i == me && in_place)
                put(t.is, &b, kind == 6 ? at[i] : i * count, counts[i], data);
        }
        void *from = in_place ? MPI_IN_PLACE : s.is.base;
        if (kind == 5)
            RUN(Allgather, Iallgather, 1, from, in_place ? 0 : count, in_place ? MPI_DATATYPE_NULL : a.type,
                t.is.base, count, b.type);
        else
            RUN(Allgatherv, Iallgatherv, 1, from, in_place ? 0 : counts[me],
                in_place ? MPI_DATATYPE_NULL : a.type, t.is.base, counts, at, b.type);
        buffer_done(&t, kind == 5 ? "allgather" : "allgatherv");
        buffer_done(&s, "allgather, sent");
        break;
    }
    default: { /* alltoall, alltoallv, alltoallw */
        int which = (int)below(&r, 3);
        if (which == 0)
            for (int i = 0; i < n; i++)
                counts[i] = counts_b[i] = count;
        else
            /* From i to j as from j to i, because in place must be symmetric. */
            for (int i = 0; i < n; i++)
                counts[i] = counts_b[i] = (int)((table >> ((i + me) % 16)) & 3) % 3;
        int room_a = which ? places(n, counts, at) : n * count;
        int room_b = which ? places(n, counts_b, at_b) : n * count;
        if (which == 0)
            for (int i = 0; i < n; i++)
                at[i] = at_b[i] = i * count;
        s = buffer_for(&a, room_a);
        t = buffer_for(&b, room_b);
        for (int i = 0; i < n; i++) {
            words(data, unit * (size_t)counts[i], me, i);
            put(s.is, &a, at[i], counts[i], data);
            put(s.want, &a, at[i], counts[i], data);
            if (in_place)
                put(t.is, &b, at_b[i], counts[i], data);
            words(data, unit * (size_t)counts[i], i, me);
            put(t.want, &b, at_b[i], counts[i], data);
            bytes_a[i] = at[i] * (int)model_extent(&a);
            bytes_b[i] = at_b[i] * (int)model_extent(&b);
            types_a[i] = a.type;
            types_b[i] = b.type;
        }
        void *from = in_place ? MPI_IN_PLACE : s.is.base;
        if (which == 0)
            RUN(Alltoall, Ialltoall, !in_place, from, count, a.type, t.is.base, count, b.type);
        else if (which == 1)
            RUN(Alltoallv, Ialltoallv, !in_place, from, counts, at, a.type, t.is.base, counts_b, at_b, b.type);
        else
            RUN(Alltoallw, Ialltoallw, !in_place, from, counts, bytes_a, types_a, t.is.base, counts_b, bytes_b,
                types_b);
        buffer_done(&t, which == 0 ? "alltoall" : which == 1 ? "alltoallv" : "alltoallw");
        buffer_done(&s, "alltoall, sent");
    }
    }
    free(data), free(counts), free(at), free(counts_b), free(at_b);
    free(bytes_a), free(bytes_b), free(types_a), free(types_b);
    model_free(&a);
    model_free(&b);
}

/* ---- reductions ---- */

/* 2x2 matrices modulo a prime: associative, not commutative. */
static void multiply(const uint32_t *a, const uint32_t *b, uint32_t *out)
{
    uint32_t m[4];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            m[2 * i + j] =
                (uint32_t)(((uint64_t)a[2 * i] * b[j] + (uint64_t)a[2 * i + 1] * b[2 + j]) % 65521);
    memcpy(out, m, sizeof m);
}

static void by_matrices(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++)
        multiply((uint32_t *)in + 4 * i, (uint32_t *)inout + 4 * i, (uint32_t *)inout + 4 * i);
}

static MPI_Datatype matrix;
static MPI_Op matrix_op;

enum { KINDS = 6 };
/* Kinds of elements: int, long, unsigned short, double, pair of int, matrix. */
static const int element_bytes[KINDS] = {4, 8, 2, 8, 8, 16};

static MPI_Datatype element_type(int kind)
{
    MPI_Datatype all[KINDS] = {MPI_INT, MPI_LONG, MPI_UNSIGNED_SHORT, MPI_DOUBLE, MPI_2INT, matrix};
    return all[kind];
}

static void element(int kind, int rank, int i, void *out)
{
    uint32_t v = (uint32_t)pattern((uint32_t)(rank * 8 + round_now), (uint32_t)i, 9) - 100u;
    switch (kind) {
    case 0: *(int *)out = (int)v; break;
    case 1: *(long *)out = (long)(int)v * 1000003; break;
    case 2: *(unsigned short *)out = (unsigned short)v; break;
    case 3: *(double *)out = (double)(int)v / 4; break;
    case 4: ((int *)out)[0] = (int)v % 5, ((int *)out)[1] = rank; break;
    default:
        for (int k = 0; k < 4; k++)
            ((uint32_t *)out)[k] = (v * 7u + (uint32_t)k * 13u) % 65521;
    }
}

#define COMBINE(T)                                                                        \
    do {                                                                                  \
        T x_, y_, z_;                                                                     \
        memcpy(&x_, a, sizeof x_), memcpy(&y_, b, sizeof y_);                             \
        switch (op) {                                                                     \
        case 0: z_ = (T)(x_ + y_); break;                                                 \
        case 1: z_ = x_ > y_ ? x_ : y_; break;                                            \
        case 2: z_ = x_ < y_ ? x_ : y_; break;                                            \
        default: z_ = 0;                                                                  \
        }                                                                                 \
        memcpy(out, &z_, sizeof z_);                                                      \
    } while (0)
#define COMBINE_BITS(T)                                                                   \
    do {                                                                                  \
        T x_, y_, z_;                                                                     \
        memcpy(&x_, a, sizeof x_), memcpy(&y_, b, sizeof y_);                             \
        switch (op) {                                                                     \
        case 3: z_ = x_ & y_; break;                                                      \
        case 4: z_ = x_ | y_; break;                                                      \
        case 5: z_ = x_ ^ y_; break;                                                      \
        case 6: z_ = x_ && y_; break;                                                     \
        case 7: z_ = x_ || y_; break;                                                     \
        case 8: z_ = !x_ != !y_; break;                                                   \
        default: z_ = (T)((T)x_ * y_);                                                    \
        }                                                                                 \
        memcpy(out, &z_, sizeof z_);                                                      \
    } while (0)

static void combine(int kind, int op, const void *a, const void *b, void *out)
{
    if (kind == 5) {
        multiply(a, b, out);
    } else if (kind == 4) {
        int x[2], y[2];
        memcpy(x, a, sizeof x), memcpy(y, b, sizeof y);
        int first = op == 0 ? x[0] > y[0] : x[0] < y[0];
        if (x[0] == y[0])
            first = x[1] < y[1];
        memcpy(out, first ? x : y, sizeof x);
    } else if (kind == 3) {
        COMBINE(double);
    } else if (op < 3) {
        if (kind == 0)
            COMBINE(int);
        else if (kind == 1)
            COMBINE(long);
        else
            COMBINE(unsigned short);
    } else {
        if (kind == 0)
            COMBINE_BITS(int);
        else if (kind == 1)
            COMBINE_BITS(long);
        else
            COMBINE_BITS(unsigned short);
    }
}

static void reducing(MPI_Comm comm, int me, int n)
{
    int kind = (int)below(&r, KINDS), call = (int)below(&r, 6), root = (int)below(&r, (uint32_t)n);
    int in_place = below(&r, 3) == 0, size = element_bytes[kind];
    int count = below(&r, 4) ? (int)below(&r, 20) : (int)below(&r, 3000);
    int op = (int)below(&r, kind == 5 ? 1 : kind == 4 ? 2 : kind == 3 ? 3 : 9);
    if (old_peer && kind == 2 && op < 3)
        op = 0; /* it compares unsigned short as if they had a sign */
    MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_MIN, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR};
    MPI_Op with = kind == 5 ? matrix_op : kind == 4 ? (op == 0 ? MPI_MAXLOC : MPI_MINLOC) : ops[op];
    MPI_Datatype type = element_type(kind);
    int *counts = malloc((size_t)n * sizeof(int)), first = 0, mine = count;
    snprintf(detail, sizeof detail, ", elements of kind %d, operation %d, in place %d", kind, op, in_place);
    uint32_t table = draw(&r);
    if (call >= 4) { /* reduce_scatter: the vector is the sum of the parts */
        int total = 0;
        count %= 64;
        for (int i = 0; i < n; i++) {
            counts[i] = call == 4 ? (int)((table >> (i % 16)) & 7) : count;
            if (i < me)
                first += counts[i];
            total += counts[i];
        }
        mine = counts[me];
        count = total;
    }
    size_t bytes = (size_t)count * (size_t)size;
    unsigned char *send = malloc(bytes + 32), *recv = malloc(bytes + 32), *want = malloc(bytes + 32);
    unsigned char *kept = malloc(bytes + 32), part[16];
    fill(recv, bytes + 32, 8, 8);
    for (int i = 0; i < count; i++)
        element(kind, me, i, send + i * size);
    memset(send + bytes, 0x5a, 32);
    memcpy(kept, send, bytes + 32);
    if (in_place)
        memcpy(recv, send, bytes);
    memcpy(want, recv, bytes + 32);
    /* The ranks of the result: all, those up to this rank, or those before this rank. */
    int last = call == 2 ? me : call == 3 ? me - 1 : n - 1;
    int gets = call == 0 ? me == root : last >= 0;
    for (int i = 0; gets && i < mine; i++) {
        int at = first + i;
        unsigned char sum[16];
        element(kind, 0, at, sum);
        for (int k = 1; k <= last; k++) {
            element(kind, k, at, part);
            combine(kind, op, sum, part, sum);
        }
        memcpy(want + i * size, sum, (size_t)size);
    }
    void *from = in_place ? MPI_IN_PLACE : send;
    static const char *const names[] = {"reduce", "allreduce", "scan", "exscan", "reduce_scatter",
                                        "reduce_scatter_block"};
    switch (call) {
    case 0:
        if (me != root)
            RUN(Reduce, Ireduce, !in_place, send, NULL, count, type, with, root);
        else
            RUN(Reduce, Ireduce, !in_place, from, recv, count, type, with, root);
        /* In place, a second start would add the result of the first. So all ranks begin another
         * one. */
        if (style == 3 && in_place) {
            MPI_Request request;
            unsigned char *again = malloc(bytes + 32);
            memcpy(again, send, bytes);
            MPI_Reduce_init(me == root ? MPI_IN_PLACE : send, me == root ? again : NULL, count, type, with,
                            root, comm, MPI_INFO_NULL, &request);
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Request_free(&request);
            if (me == root)
                same(again, want, bytes, "reduce, again");
            free(again);
        }
        break;
    case 1: RUN(Allreduce, Iallreduce, !in_place, from, recv, count, type, with); break;
    case 2: RUN(Scan, Iscan, !in_place, from, recv, count, type, with); break;
    case 3: RUN(Exscan, Iexscan, !in_place, from, recv, count, type, with); break;
    case 4: RUN(Reduce_scatter, Ireduce_scatter, !in_place, from, recv, counts, type, with); break;
    default:
        RUN(Reduce_scatter_block, Ireduce_scatter_block, !in_place, from, recv, mine, type, with);
    }
    same(send, kept, bytes + 32, "what was sent to a reduction");
    if (in_place && call >= 4) /* the rest of the vector may be anything */
        same(recv, want, (size_t)mine * (size_t)size, names[call]);
    else if (!(call == 3 && me == 0)) /* undefined there */
        same(recv, want, bytes + 32, names[call]);
    note_bytes(recv, call == 3 && me == 0 ? 0 : (size_t)mine * (size_t)size);
    free(send), free(recv), free(want), free(kept), free(counts);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "collectives");
    model_begin(argc, argv);
    r.state = random_seed * 7919;
    old_peer = peer_is_mpich_4_0();
    if (check_rank == 0)
        printf("seed %llu\n", (unsigned long long)random_seed);
    MPI_Type_contiguous(4, MPI_UINT32_T, &matrix);
    MPI_Type_commit(&matrix);
    MPI_Op_create(by_matrices, 0, &matrix_op);
    MPI_Comm_dup(check_comm, &comms[0]);
    MPI_Comm_split(check_comm, 0, -check_rank, &comms[1]);
    MPI_Comm_split(check_comm, check_rank % 2, check_rank, &comms[2]);
    MPI_Comm_split(check_comm, check_rank == 0, -check_rank, &comms[3]);
    for (round_now = 0; round_now < random_rounds; round_now++) {
        on_comm = (int)below(&r, 4);
        /* Persistent collectives of that MPICH lose their communicator. */
        style = (int)below(&r, 4) % (old_peer ? 3 : 4);
        int reduction = (int)below(&r, 2), me, n;
        struct random before = r;
        MPI_Comm_rank(comms[on_comm], &me);
        MPI_Comm_size(comms[on_comm], &n);
        if (reduction)
            reducing(comms[on_comm], me, n);
        else
            moving(comms[on_comm], me, n);
        /* Groups of different sizes drew differently. */
        r = before;
        for (int i = 0; i < 5; i++)
            draw(&r);
        if (random_pause_us)
            usleep((useconds_t)random_pause_us);
    }
    for (int i = 0; i < 4; i++)
        MPI_Comm_free(&comms[i]);
    MPI_Op_free(&matrix_op);
    MPI_Type_free(&matrix);
    section("collectives");
    return check_end();
}
