/* Chapter 6: operations of the user's own: commutative and not, on basic and derived types;
 * the order of a non-commutative operation is that of the ranks. */
#include "../check.h"

static int calls;

/* 2x2 matrices over the integers modulo a prime: associative, not commutative. */
enum { PRIME = 10007 };
struct matrix {
    int a[4];
};

static void multiply(void *in, void *inout, int *len, MPI_Datatype *type)
{
    struct matrix *x = in, *y = inout;
    (void)type;
    calls++;
    for (int i = 0; i < *len; i++) {
        struct matrix r;
        r.a[0] = (x[i].a[0] * y[i].a[0] + x[i].a[1] * y[i].a[2]) % PRIME;
        r.a[1] = (x[i].a[0] * y[i].a[1] + x[i].a[1] * y[i].a[3]) % PRIME;
        r.a[2] = (x[i].a[2] * y[i].a[0] + x[i].a[3] * y[i].a[2]) % PRIME;
        r.a[3] = (x[i].a[2] * y[i].a[1] + x[i].a[3] * y[i].a[3]) % PRIME;
        y[i] = r;
    }
}

static void add_mod(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int *x = in, *y = inout;
    calls++;
    CHECK(*type == MPI_INT, "the operation was given another type");
    for (int i = 0; i < *len; i++)
        y[i] = (x[i] + y[i]) % PRIME;
}

/* The program may have freed the type: the function can still use it. */
static void add_typed(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int *x = in, *y = inout, bytes = -1;
    CHECK(*type != MPI_DATATYPE_NULL, "the operation was given no type");
    MPI_Type_size(*type, &bytes);
    EQUAL(bytes, 3 * sizeof(int));
    for (int i = 0; i < *len * 3; i++)
        y[i] += x[i];
}

static void freed_types(void)
{
    enum { LEN = 2000 };
    static int in[3 * LEN], out[3 * LEN];
    MPI_Op op;
    MPI_Op_create(add_typed, 1, &op);
    for (int round = 0; round < 4; round++) {
        int len = round % 2 ? LEN : 1, n = check_size;
        MPI_Datatype three, other;
        MPI_Request q;
        MPI_Type_contiguous(3, MPI_INT, &three);
        MPI_Type_commit(&three);
        for (int i = 0; i < 3 * len; i++)
            in[i] = check_rank + i, out[i] = -1;
        if (round < 2)
            MPI_Iallreduce(in, out, len, three, op, MPI_COMM_WORLD, &q);
        else
            MPI_Ireduce_scatter_block(in, out, len, three, op, MPI_COMM_SELF, &q);
        MPI_Type_free(&three);
        /* Another operation takes the place of the freed one. */
        MPI_Type_contiguous(7, MPI_INT, &other);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        MPI_Type_free(&other);
        for (int i = 0; i < 3 * len; i++)
            EQUAL(out[i], round < 2 ? n * (n - 1) / 2 + n * i : check_rank + i);
    }
    MPI_Op_free(&op);
}

#if MPI_VERSION >= 4
static void freed_type_of_persistent(void)
{
    int in[3], out[3], n = check_size;
    MPI_Op op;
    MPI_Datatype three;
    MPI_Request q;
    MPI_Op_create(add_typed, 1, &op);
    MPI_Type_contiguous(3, MPI_INT, &three);
    MPI_Type_commit(&three);
    MPI_Allreduce_init(in, out, 1, three, op, MPI_COMM_WORLD, MPI_INFO_NULL, &q);
    MPI_Type_free(&three);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 3; i++)
            in[i] = check_rank + i + round, out[i] = -1;
        MPI_Start(&q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        for (int i = 0; i < 3; i++)
            EQUAL(out[i], n * (n - 1) / 2 + n * (i + round));
    }
    MPI_Request_free(&q);
    MPI_Op_free(&op);
}
#endif

static struct matrix element(int rank, int i)
{
    struct matrix m = {{(rank * 3 + i + 1) % PRIME, (rank + 2 * i) % PRIME, (i * i + rank) % PRIME,
                        (rank * rank + 5) % PRIME}};
    return m;
}

static struct matrix product(int lo, int hi, int i)
{
    struct matrix m = element(lo, i);
    int one = 1;
    MPI_Datatype none = MPI_DATATYPE_NULL;
    for (int r = lo + 1; r < hi; r++) {
        struct matrix x = element(r, i);
        multiply(&m, &x, &one, &none);
        m = x;
    }
    return m;
}

static void same(const char *what, const struct matrix *got, int count, int lo, int hi, int first)
{
    for (int i = 0; i < count; i++) {
        struct matrix want = product(lo, hi, first + i);
        CHECK(!memcmp(&want, &got[i], sizeof want), "%s: element %d of ranks %d..%d", what, i, lo, hi);
        note_bytes(&got[i], sizeof got[i]);
    }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "coll_userop");
    int n = check_size, me = check_rank, yes = -1;
    MPI_Op op, sum;
    MPI_Datatype type;
    MPI_Type_contiguous(4, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(multiply, 0, &op);
    MPI_Op_create(add_mod, 1, &sum);
    MPI_Op_commutative(op, &yes);
    EQUAL(yes, 0);
    MPI_Op_commutative(sum, &yes);
    EQUAL(yes, 1);
    MPI_Op_commutative(MPI_SUM, &yes);
    EQUAL(yes, 1);

    static const int counts[] = {1, 2, 31, 1000};
    for (int k = 0; k < 4; k++) {
        int count = counts[k];
        struct matrix *in = malloc(sizeof *in * (size_t)(count * n));
        struct matrix *out = malloc(sizeof *out * (size_t)(count * n));
        for (int i = 0; i < count * n; i++)
            in[i] = element(me, i);
        for (int root = 0; root < n; root++) {
            MPI_Reduce(in, out, count, type, op, root, MPI_COMM_WORLD);
            if (me == root)
                same("Reduce", out, count, 0, n, 0);
        }
        memcpy(out, in, sizeof *in * (size_t)count);
        MPI_Reduce(me == n - 1 ? MPI_IN_PLACE : out, me == n - 1 ? out : NULL, count, type, op,
                   n - 1, MPI_COMM_WORLD);
        if (me == n - 1)
            same("Reduce in place", out, count, 0, n, 0);
        MPI_Allreduce(in, out, count, type, op, MPI_COMM_WORLD);
        same("Allreduce", out, count, 0, n, 0);
        MPI_Scan(in, out, count, type, op, MPI_COMM_WORLD);
        same("Scan", out, count, 0, me + 1, 0);
        MPI_Exscan(in, out, count, type, op, MPI_COMM_WORLD);
        if (me > 0)
            same("Exscan", out, count, 0, me, 0);
        int *each = malloc(sizeof *each * (size_t)n);
        for (int r = 0; r < n; r++)
            each[r] = count;
        MPI_Reduce_scatter(in, out, each, type, op, MPI_COMM_WORLD);
        same("Reduce_scatter", out, count, 0, n, count * me);
        free(each);
        free(in);
        free(out);
    }
    section("not commutative");

    int ins[50], outs[50];
    for (int i = 0; i < 50; i++)
        ins[i] = me * 100 + i;
    MPI_Allreduce(ins, outs, 50, MPI_INT, sum, MPI_COMM_WORLD);
    for (int i = 0; i < 50; i++) {
        EQUAL(outs[i], (100 * n * (n - 1) / 2 + i * n) % PRIME);
        note(outs[i]);
    }
    CHECK(n == 1 || calls > 0, "the operation was never called");
    section("commutative");
    freed_types();
    section("freed types");
#if MPI_VERSION >= 4
    freed_type_of_persistent();
    section("freed types of persistent requests");
#endif

    /* a type with a hole: the operation sees elements at their extent */
    MPI_Op_free(&op);
    MPI_Op_free(&sum);
    CHECK(op == MPI_OP_NULL && sum == MPI_OP_NULL, "Op_free left a handle");
    MPI_Type_free(&type);
    return check_end();
}
