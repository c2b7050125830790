/* Chapter 5: derived datatypes (MPI-1 constructors and their modern names), extents and bounds,
 * pack and unpack, Get_elements, and random nested types with a check of every byte. */
#include "../check.h"
#include <stddef.h>

static int to, from;

static void bounds(const char *what, MPI_Datatype t, MPI_Aint lb, MPI_Aint extent, int size)
{
    MPI_Aint l = -1, e = -1, tl = -1, te = -1;
    int s = -1;
    MPI_Type_get_extent(t, &l, &e);
    MPI_Type_size(t, &s);
    CHECK(l == lb && e == extent && s == size, "%s: lb %ld extent %ld size %d, must be %ld %ld %d",
          what, (long)l, (long)e, s, (long)lb, (long)extent, size);
    MPI_Type_get_true_extent(t, &tl, &te);
    note(l);
    note(e);
    note(s);
    note(tl);
    note(te);
}

struct mixed {
    char c;
    double d;
    int i[3];
    short s;
};

static void constructors(void)
{
    MPI_Datatype a, b, c, d, e, f;
    MPI_Type_contiguous(5, MPI_INT, &a);
    bounds("contiguous", a, 0, 20, 20);
    MPI_Type_vector(3, 2, 4, MPI_INT, &b);
    bounds("vector", b, 0, 40, 24);
    MPI_Type_vector(3, 2, -4, MPI_INT, &c);
    bounds("vector backwards", c, -32, 40, 24);
    MPI_Type_create_hvector(4, 1, 10, MPI_SHORT, &d);
    bounds("hvector", d, 0, 32, 8);
    int len[3] = {2, 0, 1}, at[3] = {5, 100, -1};
    MPI_Type_indexed(3, len, at, MPI_DOUBLE, &e);
    bounds("indexed", e, -8, 64, 24);
    MPI_Type_create_indexed_block(3, 2, (int[]){8, 0, 4}, MPI_CHAR, &f);
    bounds("indexed block", f, 0, 10, 6);
    MPI_Type_free(&a);
    MPI_Type_free(&c);
    MPI_Type_free(&d);
    MPI_Type_free(&e);
    MPI_Type_free(&f);
    MPI_Type_vector(0, 2, 4, MPI_INT, &a);
    bounds("empty vector", a, 0, 0, 0);
    MPI_Type_free(&a);
    MPI_Type_contiguous(2, b, &a);   /* of a strided type */
    bounds("contiguous of vector", a, 0, 80, 48);
    MPI_Type_free(&a);
    MPI_Type_create_resized(b, -4, 64, &a);
    bounds("resized", a, -4, 64, 24);
    MPI_Type_dup(a, &c);
    bounds("dup", c, -4, 64, 24);
    MPI_Type_free(&c);
    MPI_Type_free(&a);
    MPI_Type_free(&b);

    struct mixed m;
    MPI_Aint base, where[4];
    MPI_Get_address(&m, &base);
    MPI_Get_address(&m.c, &where[0]);
    MPI_Get_address(&m.d, &where[1]);
    MPI_Get_address(m.i, &where[2]);
    MPI_Get_address(&m.s, &where[3]);
    for (int i = 0; i < 4; i++)
        where[i] -= base;
    MPI_Datatype parts[4] = {MPI_CHAR, MPI_DOUBLE, MPI_INT, MPI_SHORT};
    int lens[4] = {1, 1, 3, 1};
    MPI_Type_create_struct(4, lens, where, parts, &a);
    bounds("struct", a, 0, (MPI_Aint)sizeof(struct mixed), 1 + 8 + 12 + 2);   /* padded */
    MPI_Type_free(&a);
    int sizes[3] = {4, 5, 6}, sub[3] = {2, 3, 2}, start[3] = {1, 1, 3};
    MPI_Type_create_subarray(3, sizes, sub, start, MPI_ORDER_C, MPI_INT, &a);
    bounds("subarray", a, 0, 480, 48);
    MPI_Type_free(&a);
    int ni, na, nt, combiner;
    MPI_Type_vector(3, 2, 4, MPI_INT, &a);
    MPI_Type_get_envelope(a, &ni, &na, &nt, &combiner);
    EQUAL(combiner, MPI_COMBINER_VECTOR);
    EQUAL(ni, 3);
    int ints[3];
    MPI_Datatype inner;
    MPI_Type_get_contents(a, 3, 0, 1, ints, NULL, &inner);
    EQUAL(ints[0], 3);
    EQUAL(ints[2], 4);
    CHECK(inner == MPI_INT, "contents of a vector");
    MPI_Type_free(&a);
    MPI_Type_get_envelope(MPI_INT, &ni, &na, &nt, &combiner);
    EQUAL(combiner, MPI_COMBINER_NAMED);
}

/* Sends a column of a matrix, receives it as a row, and sends a triangle through Sendrecv. */
static void traffic(void)
{
    enum { N = 40 };
    static double m[N][N], t[N][N], flat[N * N];
    MPI_Datatype column, triangle, all;
    MPI_Request q;
    MPI_Status s;
    int lens[N], at[N], count = 0;
    for (int i = 0; i < N; i++) {
        lens[i] = N - i;
        at[i] = i * N + i;
        for (int j = 0; j < N; j++) {
            m[i][j] = 10000 * from + 100 * i + j;
            t[i][j] = -1;
        }
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            m[i][j] += 10000 * (check_rank - from);
    MPI_Type_vector(N, 1, N, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    MPI_Type_indexed(N, lens, at, MPI_DOUBLE, &triangle);
    MPI_Type_commit(&triangle);
    MPI_Isend(&m[0][7], 1, column, to, 1, MPI_COMM_WORLD, &q);
    MPI_Recv(flat, N, MPI_DOUBLE, from, 1, MPI_COMM_WORLD, &s);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    for (int i = 0; i < N; i++)
        CHECK(flat[i] == 10000 * from + 100 * i + 7, "column, element %d", i);
    MPI_Sendrecv(m, 1, triangle, to, 2, t, 1, triangle, from, 2, MPI_COMM_WORLD, &s);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            CHECK(t[i][j] == (j >= i ? 10000 * from + 100 * i + j : -1), "triangle %d %d", i, j);
    MPI_Get_count(&s, triangle, &count);
    EQUAL(count, 1);
    MPI_Get_elements(&s, triangle, &count);
    EQUAL(count, N * (N + 1) / 2);
    /* a transpose: column type with the extent of one element, N of them, rendezvous size */
    MPI_Type_create_resized(column, 0, sizeof(double), &all);
    MPI_Type_commit(&all);
    MPI_Isend(m, N, all, to, 3, MPI_COMM_WORLD, &q);
    MPI_Recv(t, N * N, MPI_DOUBLE, from, 3, MPI_COMM_WORLD, &s);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            CHECK(t[i][j] == 10000 * from + 100 * j + i, "transpose %d %d", i, j);
    /* partial elements */
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    int three[3] = {1, 2, 3}, got[4];
    MPI_Sendrecv(three, 3, MPI_INT, to, 4, got, 2, pair, from, 4, MPI_COMM_WORLD, &s);
    MPI_Get_count(&s, pair, &count);
    EQUAL(count, MPI_UNDEFINED);
    MPI_Get_elements(&s, pair, &count);
    EQUAL(count, 3);
    /* absolute addresses */
    MPI_Datatype absolute;
    MPI_Aint where[2];
    int x = check_rank, y = check_rank + 1, u = 0;
    MPI_Get_address(&x, &where[0]);
    MPI_Get_address(&y, &where[1]);
    MPI_Type_create_hindexed(2, (int[]){1, 1}, where, MPI_INT, &absolute);
    MPI_Type_commit(&absolute);
    MPI_Isend(MPI_BOTTOM, 1, absolute, to, 5, MPI_COMM_WORLD, &q);
    MPI_Recv(got, 2, MPI_INT, from, 5, MPI_COMM_WORLD, &s);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    EQUAL(got[0], from);
    EQUAL(got[1], from + 1);
    /* a type freed while a message with it is in flight */
    MPI_Irecv(&u, 1, MPI_INT, from, 6, MPI_COMM_WORLD, &q);
    MPI_Request r;
    MPI_Datatype mine;
    MPI_Type_dup(MPI_INT, &mine);
    MPI_Type_commit(&mine);
    MPI_Isend(&x, 1, mine, to, 6, MPI_COMM_WORLD, &r);
    MPI_Type_free(&mine);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    EQUAL(u, from);
    MPI_Type_free(&absolute);
    MPI_Type_free(&pair);
    MPI_Type_free(&all);
    MPI_Type_free(&column);
    MPI_Type_free(&triangle);
}

static void packing(void)
{
    char buffer[1000];
    int position = 0, size = 0, a = 17 + check_rank, b[4] = {1, 2, 3, 4}, u = 0, v[4] = {0};
    double d = 2.5, w = 0;
    MPI_Status s;
    MPI_Pack_size(4, MPI_INT, MPI_COMM_WORLD, &size);
    CHECK(size >= 16, "Pack_size is %d", size);
    MPI_Pack(&a, 1, MPI_INT, buffer, 1000, &position, MPI_COMM_WORLD);
    MPI_Pack(&d, 1, MPI_DOUBLE, buffer, 1000, &position, MPI_COMM_WORLD);
    MPI_Datatype every;
    MPI_Type_vector(2, 1, 2, MPI_INT, &every);
    MPI_Type_commit(&every);
    MPI_Pack(b, 1, every, buffer, 1000, &position, MPI_COMM_WORLD);
    EQUAL(position, 20);
    char in[1000];
    MPI_Sendrecv(buffer, position, MPI_PACKED, to, 1, in, 1000, MPI_PACKED, from, 1, MPI_COMM_WORLD,
                 &s);
    int bytes, at = 0;
    MPI_Get_count(&s, MPI_PACKED, &bytes);
    EQUAL(bytes, position);
    MPI_Unpack(in, bytes, &at, &u, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Unpack(in, bytes, &at, &w, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Unpack(in, bytes, &at, v, 2, MPI_INT, MPI_COMM_WORLD);
    EQUAL(u, 17 + from);
    CHECK(w == 2.5, "unpacked %g", w);
    EQUAL(v[0], 1);
    EQUAL(v[1], 3);
    EQUAL(at, bytes);
    MPI_Type_free(&every);
}

/* ---- random types, each with a list of the bytes that the type covers --------------------- */

enum { MAP_LIMIT = 4000 };
struct shape {
    MPI_Datatype type;
    int basic;          /* not to be freed */
    int n;
    int at[MAP_LIMIT];  /* in type-map order */
    int lb, extent;
};

static void basic_shape(struct shape *s, struct random *r)
{
    static const int sizes[] = {1, 2, 4, 8, 4, 8};
    MPI_Datatype types[] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE, MPI_FLOAT, MPI_LONG};
    int k = (int)below(r, 6);
    s->type = types[k];
    s->basic = 1;
    s->n = s->extent = sizes[k];
    s->lb = 0;
    for (int i = 0; i < s->n; i++)
        s->at[i] = i;
}

/* Copies the map of `in`, moved by `offset` bytes. */
static void place(struct shape *out, const struct shape *in, int offset)
{
    for (int i = 0; i < in->n; i++)
        out->at[out->n++] = in->at[i] + offset;
}

/* Displacements never overlap: each block begins behind the block before. */
static int wrap(struct shape *s, struct random *r)
{
    static struct shape in;
    in = *s;
    int count = 1 + (int)below(r, 4), block = 1 + (int)below(r, 3), gap = (int)below(r, 3);
    if (in.n * count * block * 2 > MAP_LIMIT || in.extent * count * (block + gap) > 30000)
        return 0;
    s->n = 0;
    int kind = (int)below(r, 4), lens[8], at[8], k = 0;
    MPI_Aint hat[8];
    switch (kind) {
    case 0:
        MPI_Type_contiguous(count * block, in.type, &s->type);
        for (int i = 0; i < count * block; i++)
            place(s, &in, i * in.extent);
        s->extent = count * block * in.extent;
        break;
    case 1:
        MPI_Type_vector(count, block, block + gap, in.type, &s->type);
        for (int i = 0; i < count; i++)
            for (int j = 0; j < block; j++)
                place(s, &in, (i * (block + gap) + j) * in.extent);
        s->extent = ((count - 1) * (block + gap) + block) * in.extent;
        break;
    case 2:
        for (int i = 0; i < count; i++) {
            lens[i] = 1 + (int)below(r, 3);
            at[i] = k;
            k += lens[i] + gap;
        }
        for (int i = 0; i + 1 < count; i += 2) {   /* out of order */
            int x = lens[i], y = at[i];
            lens[i] = lens[i + 1];
            at[i] = at[i + 1];
            lens[i + 1] = x;
            at[i + 1] = y;
        }
        MPI_Type_indexed(count, lens, at, in.type, &s->type);
        k -= gap;
        for (int i = 0; i < count; i++)
            for (int j = 0; j < lens[i]; j++)
                place(s, &in, (at[i] + j) * in.extent);
        s->extent = k * in.extent;
        break;
    default:
        for (int i = 0; i < count; i++)
            hat[i] = (MPI_Aint)i * (block * in.extent + gap);
        for (int i = 0; i < count; i++)
            lens[i] = block;
        MPI_Type_create_hindexed(count, lens, hat, in.type, &s->type);
        for (int i = 0; i < count; i++)
            for (int j = 0; j < block; j++)
                place(s, &in, (int)hat[i] + j * in.extent);
        s->extent = (int)hat[count - 1] + block * in.extent;
    }
    if (!in.basic)
        MPI_Type_free(&in.type);
    s->basic = 0;
    return 1;
}

static void random_types(void)
{
    static struct shape s;
    for (int seed = 0; seed < 150; seed++) {
        struct random r = {(uint64_t)seed * 77 + 5};
        basic_shape(&s, &r);
        for (int depth = 1 + (int)below(&r, 4); depth > 0; depth--)
            wrap(&s, &r);
        MPI_Datatype t;
        MPI_Type_create_resized(s.type, 0, s.extent + 8, &t);   /* all ranks agree on the extent */
        MPI_Type_commit(&t);
        int size = -1, count = 1 + (int)below(&r, 5), span = (s.extent + 8) * count;
        MPI_Type_size(t, &size);
        EQUAL(size, s.n);
        unsigned char *out = malloc((size_t)span), *in = malloc((size_t)span), *flat, *mark;
        fill(out, (size_t)span, (uint32_t)check_rank, (uint32_t)seed);
        memset(in, 0xEE, (size_t)span);
        flat = malloc((size_t)(size * count));
        mark = calloc((size_t)span, 1);
        MPI_Sendrecv(out, count, t, to, seed, in, count, t, from, seed, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        for (int k = 0; k < count; k++)
            for (int i = 0; i < s.n; i++)
                mark[k * (s.extent + 8) + s.at[i]] = 1;
        for (int i = 0; i < span; i++) {
            unsigned char want = mark[i] ? pattern((uint32_t)from, (uint32_t)seed, (uint32_t)i) : 0xEE;
            CHECK(in[i] == want, "random type %d: byte %d of %d is %02x, must be %02x", seed, i, span,
                  in[i], want);
        }
        int position = 0, k = 0;
        MPI_Pack(out, count, t, flat, size * count, &position, MPI_COMM_WORLD);
        EQUAL(position, size * count);
        for (int c = 0; c < count; c++)
            for (int i = 0; i < s.n; i++, k++)
                CHECK(flat[k] == out[c * (s.extent + 8) + s.at[i]], "packed random type %d", seed);
        note_bytes(flat, (size_t)position);
        memset(in, 0xEE, (size_t)span);
        position = 0;
        MPI_Unpack(flat, size * count, &position, in, count, t, MPI_COMM_WORLD);
        for (int i = 0; i < span; i++)
            CHECK(in[i] == (mark[i] ? out[i] : 0xEE), "unpacked random type %d, byte %d", seed, i);
        free(out);
        free(in);
        free(flat);
        free(mark);
        MPI_Type_free(&t);
        if (!s.basic)
            MPI_Type_free(&s.type);
    }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "datatypes");
    to = (check_rank + 1) % check_size;
    from = (check_rank + check_size - 1) % check_size;
    constructors();
    section("constructors");
    traffic();
    section("traffic");
    packing();
    section("packing");
    random_types();
    section("random types");
    return check_end();
}
