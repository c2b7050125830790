/* Chapter 6: reductions. Every predefined operation on every type for which it is defined
 * (integers of all sizes, floats, long double, complex, logical, byte, the pairs of MINLOC and
 * MAXLOC), through Reduce, Allreduce, Reduce_scatter, Reduce_scatter_block, Scan and Exscan, in
 * place and not. Values are small integers, so that sums are exact in any order. */
#include "../check.h"
#include <complex.h>
#include <stdbool.h>

enum { COUNT = 23, MAX_BYTES = 32 };

enum kind { INTEGER, UNSIGNED, FLOATING, COMPLEX, LOGICAL, BYTES };

struct type {
    const char *name;
    MPI_Datatype type;
    enum kind kind;
    int bytes;
};

static struct type TYPES[48];
static int ntypes;

static void add(const char *name, MPI_Datatype t, enum kind k, size_t bytes)
{
    if (t == MPI_DATATYPE_NULL)
        return;
    int size = -1;
    MPI_Type_size(t, &size);
    CHECK(size == (int)bytes, "size of %s is %d, must be %zu", name, size, bytes);
    TYPES[ntypes++] = (struct type){name, t, k, (int)bytes};
}

static void table(void)
{
    add("CHAR-as-SIGNED_CHAR", MPI_SIGNED_CHAR, INTEGER, 1);
    add("UNSIGNED_CHAR", MPI_UNSIGNED_CHAR, UNSIGNED, 1);
    add("SHORT", MPI_SHORT, INTEGER, sizeof(short));
    add("UNSIGNED_SHORT", MPI_UNSIGNED_SHORT, UNSIGNED, sizeof(short));
    add("INT", MPI_INT, INTEGER, sizeof(int));
    add("UNSIGNED", MPI_UNSIGNED, UNSIGNED, sizeof(int));
    add("LONG", MPI_LONG, INTEGER, sizeof(long));
    add("UNSIGNED_LONG", MPI_UNSIGNED_LONG, UNSIGNED, sizeof(long));
    add("LONG_LONG", MPI_LONG_LONG, INTEGER, 8);
    add("UNSIGNED_LONG_LONG", MPI_UNSIGNED_LONG_LONG, UNSIGNED, 8);
    add("INT8", MPI_INT8_T, INTEGER, 1);
    add("INT16", MPI_INT16_T, INTEGER, 2);
    add("INT32", MPI_INT32_T, INTEGER, 4);
    add("INT64", MPI_INT64_T, INTEGER, 8);
    add("UINT8", MPI_UINT8_T, UNSIGNED, 1);
    add("UINT16", MPI_UINT16_T, UNSIGNED, 2);
    add("UINT32", MPI_UINT32_T, UNSIGNED, 4);
    add("UINT64", MPI_UINT64_T, UNSIGNED, 8);
    add("AINT", MPI_AINT, INTEGER, sizeof(MPI_Aint));
    add("OFFSET", MPI_OFFSET, INTEGER, sizeof(MPI_Offset));
    add("COUNT", MPI_COUNT, INTEGER, sizeof(MPI_Count));
    add("FLOAT", MPI_FLOAT, FLOATING, sizeof(float));
    add("DOUBLE", MPI_DOUBLE, FLOATING, sizeof(double));
    add("LONG_DOUBLE", MPI_LONG_DOUBLE, FLOATING, sizeof(long double));
    add("C_FLOAT_COMPLEX", MPI_C_FLOAT_COMPLEX, COMPLEX, sizeof(float _Complex));
    add("C_DOUBLE_COMPLEX", MPI_C_DOUBLE_COMPLEX, COMPLEX, sizeof(double _Complex));
    add("C_LONG_DOUBLE_COMPLEX", MPI_C_LONG_DOUBLE_COMPLEX, COMPLEX,
        sizeof(long double _Complex));
    add("C_BOOL", MPI_C_BOOL, LOGICAL, sizeof(bool));
    add("BYTE", MPI_BYTE, BYTES, 1);
    add("INTEGER", MPI_INTEGER, INTEGER, 4);
    add("REAL", MPI_REAL, FLOATING, 4);
    add("DOUBLE_PRECISION", MPI_DOUBLE_PRECISION, FLOATING, 8);
    add("COMPLEX", MPI_COMPLEX, COMPLEX, 8);
    add("DOUBLE_COMPLEX", MPI_DOUBLE_COMPLEX, COMPLEX, 16);
    add("LOGICAL", MPI_LOGICAL, LOGICAL, 4);
}

struct op {
    const char *name;
    MPI_Op op;
};

/* The operations of the standard's table, by kind of type. */
static int defined(MPI_Op op, enum kind k)
{
    if (op == MPI_MAX || op == MPI_MIN)
        return k == INTEGER || k == UNSIGNED || k == FLOATING;
    if (op == MPI_SUM || op == MPI_PROD)
        return k == INTEGER || k == UNSIGNED || k == FLOATING || k == COMPLEX;
    if (op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR)
        return k == INTEGER || k == UNSIGNED || k == LOGICAL;
    return k == INTEGER || k == UNSIGNED || k == BYTES;
}

/* The element i of rank r: small, so that every product is exact. */
static long long input(MPI_Op op, enum kind k, int r, int i)
{
    if (k == LOGICAL || op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR)
        return (r * 5 + i) % 3 != 0 && (i % 4 != 3);
    if (op == MPI_PROD)
        return (r + i) % 5 == 0 ? 2 : 1;
    long long v = (r * 7 + i * 3) % 13;
    if (op == MPI_BAND || op == MPI_BOR || op == MPI_BXOR)
        return v;
    return k == INTEGER || k == FLOATING || k == COMPLEX ? v - 6 : v;
}

static long long combine(MPI_Op op, long long a, long long b)
{
    if (op == MPI_MAX)
        return a > b ? a : b;
    if (op == MPI_MIN)
        return a < b ? a : b;
    if (op == MPI_SUM)
        return a + b;
    if (op == MPI_PROD)
        return a * b;
    if (op == MPI_LAND)
        return a && b;
    if (op == MPI_LOR)
        return a || b;
    if (op == MPI_LXOR)
        return !a != !b;
    if (op == MPI_BAND)
        return a & b;
    if (op == MPI_BOR)
        return a | b;
    return a ^ b;
}

static void put(const struct type *t, void *base, int i, long long v)
{
    char *p = (char *)base + (size_t)i * (size_t)t->bytes;
    memset(p, 0, (size_t)t->bytes);
    switch (t->kind) {
    case FLOATING:
    case COMPLEX:
        if (t->kind == COMPLEX && t->bytes == 32) {
            ((long double *)p)[0] = v;
        } else if (t->kind == COMPLEX ? t->bytes == 8 : t->bytes == 4) {
            float f = (float)v;
            memcpy(p, &f, sizeof f);
        } else if (t->kind == COMPLEX ? t->bytes == 16 : t->bytes == 8) {
            double d = (double)v;
            memcpy(p, &d, sizeof d);
        } else {
            long double l = v;
            memcpy(p, &l, 10);
        }
        break;
    default:
        memcpy(p, &v, (size_t)t->bytes);
    }
}

static long long get(const struct type *t, const void *base, int i)
{
    const char *p = (const char *)base + (size_t)i * (size_t)t->bytes;
    int half = t->kind == COMPLEX ? t->bytes / 2 : t->bytes;
    if (t->kind == FLOATING || t->kind == COMPLEX) {
        if (half == 4) {
            float f;
            memcpy(&f, p, sizeof f);
            return (long long)f;
        }
        if (half == 8) {
            double d;
            memcpy(&d, p, sizeof d);
            return (long long)d;
        }
        long double l;
        memcpy(&l, p, sizeof l);
        return (long long)l;
    }
    long long v = 0;
    memcpy(&v, p, (size_t)t->bytes);
    if (t->kind == INTEGER && t->bytes < 8) {
        int shift = 64 - 8 * t->bytes;
        v = (long long)((unsigned long long)v << shift) >> shift;
    }
    return v;
}

static long long expected(MPI_Op op, enum kind k, int lo, int hi, int i)
{
    long long v = input(op, k, lo, i);
    for (int r = lo + 1; r < hi; r++)
        v = combine(op, v, input(op, k, r, i));
    return v;
}

static void verify(const char *what, const struct type *t, const struct op *o, const void *got,
                   int count, int first, int lo, int hi)
{
    for (int i = 0; i < count; i++) {
        long long want = expected(o->op, t->kind, lo, hi, first + i), have = get(t, got, i);
        if (t->kind == LOGICAL || o->op == MPI_LAND || o->op == MPI_LOR || o->op == MPI_LXOR) {
            have = have != 0;
            want = want != 0;
        }
        CHECK(have == want, "%s %s of %s: element %d is %lld, must be %lld", what, o->name,
              t->name, i, have, want);
        note(have);
    }
}

static void load(const struct type *t, const struct op *o, void *p, int n)
{
    for (int i = 0; i < n; i++)
        put(t, p, i, input(o->op, t->kind, check_rank, i));
}

static void one(const struct type *t, const struct op *o)
{
    int n = check_size, me = check_rank, total = 0;
    static char in[COUNT * 16 * MAX_BYTES], out[COUNT * 16 * MAX_BYTES];
    int counts[64];
    for (int root = 0; root < n; root += n > 2 ? n - 1 : 1) {
        load(t, o, in, COUNT);
        MPI_Reduce(in, out, COUNT, t->type, o->op, root, MPI_COMM_WORLD);
        if (me == root)
            verify("Reduce", t, o, out, COUNT, 0, 0, n);
        if (me == root)
            MPI_Reduce(MPI_IN_PLACE, in, COUNT, t->type, o->op, root, MPI_COMM_WORLD);
        else
            MPI_Reduce(in, NULL, COUNT, t->type, o->op, root, MPI_COMM_WORLD);
        if (me == root)
            verify("Reduce in place", t, o, in, COUNT, 0, 0, n);
    }
    load(t, o, in, COUNT);
    MPI_Allreduce(in, out, COUNT, t->type, o->op, MPI_COMM_WORLD);
    verify("Allreduce", t, o, out, COUNT, 0, 0, n);
    MPI_Allreduce(MPI_IN_PLACE, in, COUNT, t->type, o->op, MPI_COMM_WORLD);
    verify("Allreduce in place", t, o, in, COUNT, 0, 0, n);
    load(t, o, in, COUNT);
    MPI_Scan(in, out, COUNT, t->type, o->op, MPI_COMM_WORLD);
    verify("Scan", t, o, out, COUNT, 0, 0, me + 1);
    MPI_Scan(MPI_IN_PLACE, in, COUNT, t->type, o->op, MPI_COMM_WORLD);
    verify("Scan in place", t, o, in, COUNT, 0, 0, me + 1);
    load(t, o, in, COUNT);
    MPI_Exscan(in, out, COUNT, t->type, o->op, MPI_COMM_WORLD);
    if (me > 0)
        verify("Exscan", t, o, out, COUNT, 0, 0, me);
    int first = 0;
    for (int r = 0; r < n; r++) {
        counts[r] = r % 3 == 2 ? 0 : 1 + r % 5;
        if (r < me)
            first += counts[r];
        total += counts[r];
    }
    load(t, o, in, total);
    MPI_Reduce_scatter(in, out, counts, t->type, o->op, MPI_COMM_WORLD);
    verify("Reduce_scatter", t, o, out, counts[me], first, 0, n);
    MPI_Reduce_scatter(MPI_IN_PLACE, in, counts, t->type, o->op, MPI_COMM_WORLD);
    verify("Reduce_scatter in place", t, o, in, counts[me], first, 0, n);
    load(t, o, in, 3 * n);
    MPI_Reduce_scatter_block(in, out, 3, t->type, o->op, MPI_COMM_WORLD);
    verify("Reduce_scatter_block", t, o, out, 3, 3 * me, 0, n);
    if (n == 1)
        return;
    load(t, o, in, COUNT);
    memcpy(out, in, sizeof in);
    MPI_Reduce_local(in, out, COUNT, t->type, o->op);
    for (int i = 0; i < COUNT; i++) {
        long long v = input(o->op, t->kind, me, i), want = combine(o->op, v, v);
        long long have = get(t, out, i);
        CHECK((have != 0) == (want != 0) || have == want, "Reduce_local %s of %s", o->name, t->name);
    }
}

#define LOCATION(ctype, mpitype, name)                                                      \
    static void location_##name(void)                                                       \
    {                                                                                       \
        struct { ctype v; int at; } in[9], low[9], high[9];                                  \
        memset(in, 0, sizeof in);                                                           \
        for (int i = 0; i < 9; i++) {                                                       \
            in[i].v = (ctype)((check_rank * 5 + i * 3) % 4);                                 \
            in[i].at = check_rank;                                                          \
        }                                                                                   \
        MPI_Allreduce(in, low, 9, mpitype, MPI_MINLOC, MPI_COMM_WORLD);                      \
        MPI_Allreduce(in, high, 9, mpitype, MPI_MAXLOC, MPI_COMM_WORLD);                     \
        for (int i = 0; i < 9; i++) {                                                       \
            int lo = 0, hi = 0;                                                             \
            for (int r = 0; r < check_size; r++) {                                          \
                if ((r * 5 + i * 3) % 4 < (lo * 5 + i * 3) % 4)                              \
                    lo = r;                                                                 \
                if ((r * 5 + i * 3) % 4 > (hi * 5 + i * 3) % 4)                              \
                    hi = r;                                                                 \
            }                                                                               \
            CHECK(low[i].at == lo && low[i].v == (ctype)((lo * 5 + i * 3) % 4),              \
                  "MINLOC of " #mpitype ": element %d is at %d, must be %d", i, low[i].at, lo); \
            CHECK(high[i].at == hi && high[i].v == (ctype)((hi * 5 + i * 3) % 4),            \
                  "MAXLOC of " #mpitype ": element %d is at %d, must be %d", i, high[i].at, hi); \
            note(low[i].at);                                                                \
            note(high[i].at);                                                               \
        }                                                                                   \
    }

LOCATION(float, MPI_FLOAT_INT, float)
LOCATION(double, MPI_DOUBLE_INT, double)
LOCATION(long, MPI_LONG_INT, long)
LOCATION(short, MPI_SHORT_INT, short)
LOCATION(int, MPI_2INT, int)
LOCATION(long double, MPI_LONG_DOUBLE_INT, ldouble)

/* Complex products, with both parts in use. */
static void complex_product(void)
{
    double _Complex in = check_rank % 2 ? I : 1.0 + 0.0 * I, out, want = 1;
    for (int r = 0; r < check_size; r++)
        want *= r % 2 ? I : 1.0;
    MPI_Allreduce(&in, &out, 1, MPI_C_DOUBLE_COMPLEX, MPI_PROD, MPI_COMM_WORLD);
    CHECK(creal(out) == creal(want) && cimag(out) == cimag(want), "complex product");
    in = check_rank + 2.0 * I * check_rank;
    MPI_Allreduce(&in, &out, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD);
    int s = check_size * (check_size - 1) / 2;
    CHECK(creal(out) == s && cimag(out) == 2 * s, "complex sum");
}

/* Extreme values must not be changed by passing through a wider or narrower type. */
static void extremes(void)
{
    long long big = check_rank == 0 ? INT64_MAX : INT64_MIN, out;
    MPI_Allreduce(&big, &out, 1, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    CHECK(out == INT64_MAX, "MAX of LONG_LONG");
    unsigned long long ub = check_rank == 0 ? UINT64_MAX : 1, uo;
    MPI_Allreduce(&ub, &uo, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    CHECK(uo == UINT64_MAX || peer_is_mpich_4_0(), "MAX of UNSIGNED_LONG_LONG");
    unsigned char c = check_rank == 0 ? 255 : 3, co;
    MPI_Allreduce(&c, &co, 1, MPI_UNSIGNED_CHAR, MPI_MAX, MPI_COMM_WORLD);
    CHECK(co == 255 || peer_is_mpich_4_0(), "MAX of UNSIGNED_CHAR is %d", co);
    long double l = check_rank == 0 ? 0x1.123456789abcdefp+10000L : 1.0L, lo;
    MPI_Allreduce(&l, &lo, 1, MPI_LONG_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    CHECK(lo == 0x1.123456789abcdefp+10000L, "MAX of LONG_DOUBLE");
}

static void long_vectors(void)
{
    static const int sizes[] = {0, 1, 511, 4096, 65537, 200000};
    for (int k = 0; k < 6; k++) {
        int count = sizes[k];
        double *in = malloc(sizeof *in * (size_t)(count + 1));
        double *out = malloc(sizeof *out * (size_t)(count + 1));
        out[count] = -7;
        for (int i = 0; i < count; i++)
            in[i] = check_rank + i;
        MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        double base = check_size * (check_size - 1) / 2;
        for (int i = 0; i < count; i++)
            CHECK(out[i] == base + (double)check_size * i, "Allreduce of %d, element %d", count, i);
        CHECK(out[count] == -7, "Allreduce wrote past the end");
        memset(out, 0, sizeof *out * (size_t)count);
        MPI_Reduce(in, out, count, MPI_DOUBLE, MPI_SUM, check_size - 1, MPI_COMM_WORLD);
        for (int i = 0; i < count && check_rank == check_size - 1; i++)
            CHECK(out[i] == base + (double)check_size * i, "Reduce of %d, element %d", count, i);
        free(in);
        free(out);
    }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "coll_reduce");
    table();
    struct op ops[] = {{"MAX", MPI_MAX},   {"MIN", MPI_MIN},   {"SUM", MPI_SUM},
                       {"PROD", MPI_PROD}, {"LAND", MPI_LAND}, {"LOR", MPI_LOR},
                       {"LXOR", MPI_LXOR}, {"BAND", MPI_BAND}, {"BOR", MPI_BOR},
                       {"BXOR", MPI_BXOR}};
    for (int o = 0; o < 10; o++) {
        for (int t = 0; t < ntypes; t++)
            if (defined(ops[o].op, TYPES[t].kind))
                one(&TYPES[t], &ops[o]);
        section(ops[o].name);
    }
    location_float();
    location_double();
    location_long();
    location_short();
    location_int();
    location_ldouble();
    section("MINLOC and MAXLOC");
    complex_product();
    extremes();
    section("complex and extremes");
    long_vectors();
    section("long");
    return check_end();
}
