/*
 * Random datatypes with a model of each that does not use MPI's own arithmetic.
 *
 * A model is the typemap of the standard (MPI 4.1, section 5.1): the basic types in their order
 * with their displacements, and the bounds. Every constructor is modelled by the standard's
 * formula, element by element. So all data that are packed, sent or reduced through the datatype
 * can be compared byte by byte with a plain loop over the model.
 *
 * All ranks that begin with the same seed build the same types.
 */
#ifndef FTMPI_TEST_MODEL_H
#define FTMPI_TEST_MODEL_H

#include "../check.h"

/* Command line of the programs of this folder. */
static uint64_t random_seed = 1;
static int random_rounds = 40;
static long random_pause_us = 0;    /* after each round, so that a kill finds the program running */

struct basic {
    MPI_Datatype type;
    int bytes, align;
};

enum { BASICS = 12 };
static struct basic basics[BASICS];

__attribute__((unused)) static void model_begin(int argc, char **argv)
{
    struct basic all[BASICS] = {
        {MPI_CHAR, 1, 1},
        {MPI_SHORT, 2, 2},
        {MPI_INT, 4, 4},
        {MPI_DOUBLE, 8, 8},
        {MPI_LONG, 8, 8},
        {MPI_FLOAT, 4, 4},
        {MPI_BYTE, 1, 1},
        {MPI_UNSIGNED, 4, 4},
        {MPI_INT64_T, 8, 8},
        {MPI_UNSIGNED_SHORT, 2, 2},
        {MPI_INT8_T, 1, 1},
        {MPI_C_DOUBLE_COMPLEX, 16, 8},
    };
    memcpy(basics, all, sizeof all);
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seed") == 0)
            random_seed = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--rounds") == 0)
            random_rounds = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--pause-us") == 0)
            random_pause_us = atol(argv[i + 1]);
    }
}

struct piece {
    long at;
    int basic;
};

struct model {
    MPI_Datatype type;
    struct piece *pieces;
    int n;
    long lb, ub, align;
    int sticky; /* bounds were set, and are not those of the entries */
    char story[400];
};

enum { MOST_PIECES = 500 };

__attribute__((unused)) static long model_extent(const struct model *m) { return m->ub - m->lb; }

__attribute__((unused)) static long model_bytes(const struct model *m)
{
    long sum = 0;
    for (int i = 0; i < m->n; i++)
        sum += basics[m->pieces[i].basic].bytes;
    return sum;
}

__attribute__((unused)) static long true_lb(const struct model *m)
{
    long low = m->n ? m->pieces[0].at : 0;
    for (int i = 1; i < m->n; i++)
        if (m->pieces[i].at < low)
            low = m->pieces[i].at;
    return low;
}

__attribute__((unused)) static long true_ub(const struct model *m)
{
    long high = m->n ? m->pieces[0].at + basics[m->pieces[0].basic].bytes : 0;
    for (int i = 1; i < m->n; i++) {
        long end = m->pieces[i].at + basics[m->pieces[i].basic].bytes;
        if (end > high)
            high = end;
    }
    return high;
}

static int is_named(MPI_Datatype type)
{
    MPI_Count integers, addresses, counts, types;
    int combiner;
    MPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &combiner);
    return combiner == MPI_COMBINER_NAMED;
}

__attribute__((unused)) static void model_free(struct model *m)
{
    if (!is_named(m->type))
        MPI_Type_free(&m->type);
    free(m->pieces);
    m->pieces = NULL;
}

__attribute__((unused)) static struct model model_basic(int basic)
{
    struct model m = {.type = basics[basic].type, .n = 1, .ub = basics[basic].bytes,
                      .align = basics[basic].align};
    m.pieces = malloc(sizeof *m.pieces);
    m.pieces[0] = (struct piece){0, basic};
    snprintf(m.story, sizeof m.story, "b%d", basic);
    return m;
}

/* Appends `count` copies of `old`, the first at `at`, and widens the bounds. */
static void append(struct model *m, const struct model *old, long at, long count)
{
    for (long i = 0; i < count; i++) {
        long shift = at + i * model_extent(old);
        m->pieces = realloc(m->pieces, (size_t)(m->n + old->n + 1) * sizeof *m->pieces);
        long lb = old->lb + shift, ub = old->ub + shift;
        if (m->n == 0) {
            m->lb = lb;
            m->ub = ub;
        } else {
            m->lb = lb < m->lb ? lb : m->lb;
            m->ub = ub > m->ub ? ub : m->ub;
        }
        for (int k = 0; k < old->n; k++) {
            m->pieces[m->n] = old->pieces[k];
            m->pieces[m->n++].at += shift;
        }
    }
    if (old->align > m->align)
        m->align = old->align;
    m->sticky |= old->sticky;
}

/* Sets the type's own bounds as explicit ones. Implementations differ for structures that mix
 * set and natural bounds. */
static void make_sticky(struct model *m)
{
    MPI_Datatype wider;
    MPI_Type_create_resized(m->type, m->lb, model_extent(m), &wider);
    if (!is_named(m->type))
        MPI_Type_free(&m->type);
    m->type = wider;
    m->sticky = 1;
}

static struct model model_random(struct random *r, int depth);

/* The indices that a process owns in one dimension of a distributed array. */
static int owned(int gsize, int distrib, int darg, int psize, int coordinate, int *list)
{
    int n = 0;
    if (distrib == MPI_DISTRIBUTE_NONE) {
        for (int i = 0; i < gsize; i++)
            list[n++] = i;
        return n;
    }
    int block = darg;
    if (darg == MPI_DISTRIBUTE_DFLT_DARG)
        block = distrib == MPI_DISTRIBUTE_BLOCK ? (gsize + psize - 1) / psize : 1;
    for (int i = 0; i < gsize; i++)
        if (i / block % psize == coordinate)
            list[n++] = i;
    return n;
}

/* A constructor over one old type. The new type's model is complete except for the description
 * and the flags. */
static int construct(struct random *r, struct model *m, const struct model *old)
{
    long extent = model_extent(old);
    int large = (int)below(r, 3) == 0, n = 1 + (int)below(r, 4), kind = (int)below(r, 12);
    int lengths[8], displacements[8], all_equal = 1 + (int)below(r, 3);
    MPI_Aint addresses[8];
    MPI_Count lengths_c[8], displacements_c[8];
    long at = (long)below(r, 3) * 8 - 8;
    for (int i = 0; i < n; i++) {
        int length = kind == 6 || kind == 7 ? all_equal : (int)below(r, 4);
        lengths[i] = length;
        lengths_c[i] = length;
        /* In multiples of the old extent, or in bytes: never overlapping earlier blocks. */
        displacements[i] = (int)at;
        addresses[i] = at * extent + (kind == 5 || kind == 7 ? (long)below(r, 3) * 4 : 0);
        displacements_c[i] = kind == 5 || kind == 7 ? addresses[i] : at;
        at += length + 1 + (long)below(r, 3);
    }
    int blocks = 1 + (int)below(r, 3), length = 1 + (int)below(r, 3);
    int stride = length + (int)below(r, 3);
    if (below(r, 5) == 0)
        stride = -stride;
    long bytes = (long)stride * extent + (stride > 0 ? 1 : -1) * (long)below(r, 3) * 4;
    switch (kind) {
    case 0:
        MPI_Type_dup(old->type, &m->type);
        append(m, old, 0, 1);
        break;
    case 1:
        if (large)
            MPI_Type_contiguous_c(n, old->type, &m->type);
        else
            MPI_Type_contiguous(n, old->type, &m->type);
        append(m, old, 0, n);
        break;
    case 2:
        if (large)
            MPI_Type_vector_c(blocks, length, stride, old->type, &m->type);
        else
            MPI_Type_vector(blocks, length, stride, old->type, &m->type);
        for (int i = 0; i < blocks; i++)
            append(m, old, (long)i * stride * extent, length);
        break;
    case 3:
        if (large)
            MPI_Type_create_hvector_c(blocks, length, bytes, old->type, &m->type);
        else
            MPI_Type_create_hvector(blocks, length, bytes, old->type, &m->type);
        for (int i = 0; i < blocks; i++)
            append(m, old, (long)i * bytes, length);
        break;
    case 4:
        if (large)
            MPI_Type_indexed_c(n, lengths_c, displacements_c, old->type, &m->type);
        else
            MPI_Type_indexed(n, lengths, displacements, old->type, &m->type);
        for (int i = 0; i < n; i++)
            append(m, old, (long)displacements[i] * extent, lengths[i]);
        break;
    case 5:
        if (large)
            MPI_Type_create_hindexed_c(n, lengths_c, displacements_c, old->type, &m->type);
        else
            MPI_Type_create_hindexed(n, lengths, addresses, old->type, &m->type);
        for (int i = 0; i < n; i++)
            append(m, old, (long)addresses[i], lengths[i]);
        break;
    case 6:
        if (large)
            MPI_Type_create_indexed_block_c(n, all_equal, displacements_c, old->type, &m->type);
        else
            MPI_Type_create_indexed_block(n, all_equal, displacements, old->type, &m->type);
        for (int i = 0; i < n; i++)
            append(m, old, (long)displacements[i] * extent, all_equal);
        break;
    case 7:
        if (large)
            MPI_Type_create_hindexed_block_c(n, all_equal, displacements_c, old->type, &m->type);
        else
            MPI_Type_create_hindexed_block(n, all_equal, addresses, old->type, &m->type);
        for (int i = 0; i < n; i++)
            append(m, old, (long)addresses[i], all_equal);
        break;
    case 8: {
        long lb = old->lb - 8 * (long)below(r, 3), wider = extent + 8 * (long)below(r, 4);
        if (below(r, 8) == 0)
            wider = extent / 2 + 1; /* copies overlap */
        if (large)
            MPI_Type_create_resized_c(old->type, lb, wider, &m->type);
        else
            MPI_Type_create_resized(old->type, lb, wider, &m->type);
        append(m, old, 0, 1);
        m->lb = lb;
        m->ub = lb + wider;
        m->sticky = 1;
        break;
    }
    case 9:
    case 10: {
        int dims = 1 + (int)below(r, 3), c = (int)below(r, 2);
        int sizes[3], part[3], from[3], whole = 1;
        MPI_Count sizes_c[3], part_c[3], from_c[3];
        for (int d = 0; d < dims; d++) {
            part[d] = 1 + (int)below(r, 3);
            from[d] = (int)below(r, 3);
            sizes[d] = part[d] + from[d] + (int)below(r, 2);
            sizes_c[d] = sizes[d], part_c[d] = part[d], from_c[d] = from[d];
            whole *= sizes[d];
        }
        int order = c ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
        if (large)
            MPI_Type_create_subarray_c(dims, sizes_c, part_c, from_c, order, old->type, &m->type);
        else
            MPI_Type_create_subarray(dims, sizes, part, from, order, old->type, &m->type);
        int total = 1;
        for (int d = 0; d < dims; d++)
            total *= part[d];
        for (int e = 0; e < total; e++) {
            int rest = e;
            long linear = 0, step = 1;
            for (int k = 0; k < dims; k++) { /* the fastest dimension first */
                int d = c ? dims - 1 - k : k;
                linear += (rest % part[d] + from[d]) * step;
                rest /= part[d];
                step *= sizes[d];
            }
            append(m, old, linear * extent, 1);
        }
        m->lb = 0;
        m->ub = whole * extent;
        m->sticky = 1;
        break;
    }
    default: {
        int dims = 1 + (int)below(r, 2), c = (int)below(r, 2), processes = 1;
        int gsizes[2], distribs[2], dargs[2], psizes[2], whole = 1;
        MPI_Count gsizes_c[2];
        for (int d = 0; d < dims; d++) {
            gsizes[d] = 2 + (int)below(r, 6);
            psizes[d] = 1 + (int)below(r, 2);
            int what = (int)below(r, 3);
            distribs[d] = what == 0   ? MPI_DISTRIBUTE_BLOCK
                          : what == 1 ? MPI_DISTRIBUTE_CYCLIC
                                      : MPI_DISTRIBUTE_NONE;
            dargs[d] = MPI_DISTRIBUTE_DFLT_DARG;
            if (what == 1 && below(r, 2))
                dargs[d] = 1 + (int)below(r, 2);
            if (what == 2)
                psizes[d] = 1;
            gsizes_c[d] = gsizes[d];
            processes *= psizes[d];
            whole *= gsizes[d];
        }
        int rank = (int)below(r, (uint32_t)processes), order = c ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
        if (large)
            MPI_Type_create_darray_c(processes, rank, dims, gsizes_c, distribs, dargs, psizes, order,
                                     old->type, &m->type);
        else
            MPI_Type_create_darray(processes, rank, dims, gsizes, distribs, dargs, psizes, order,
                                   old->type, &m->type);
        int list[2][8], many[2], coordinate[2], rest = rank;
        for (int d = dims - 1; d >= 0; d--) { /* processes are always in C order */
            coordinate[d] = rest % psizes[d];
            rest /= psizes[d];
            many[d] = owned(gsizes[d], distribs[d], dargs[d], psizes[d], coordinate[d], list[d]);
        }
        int total = many[0] * (dims == 2 ? many[1] : 1);
        for (int e = 0; e < total; e++) {
            int index = e;
            long linear = 0, step = 1;
            for (int k = 0; k < dims; k++) {
                int d = c ? dims - 1 - k : k;
                linear += list[d][index % many[d]] * step;
                index /= many[d];
                step *= gsizes[d];
            }
            append(m, old, linear * extent, 1);
        }
        m->lb = 0;
        m->ub = whole * extent;
        m->sticky = 1;
        break;
    }
    }
    return kind;
}

static int structure(struct random *r, struct model *m, int depth)
{
    enum { MOST = 4 };
    int n = 1 + (int)below(r, MOST), lengths[MOST], large = (int)below(r, 3) == 0, sticky = 0;
    MPI_Aint at[MOST];
    MPI_Count lengths_c[MOST], at_c[MOST];
    MPI_Datatype types[MOST];
    struct model parts[MOST];
    for (int i = 0; i < n; i++) {
        parts[i] = model_random(r, depth - 1);
        sticky |= parts[i].sticky;
    }
    long here = (long)below(r, 3) * 8 - 8;
    for (int i = 0; i < n; i++) {
        if (sticky && !parts[i].sticky)
            make_sticky(&parts[i]);
        types[i] = parts[i].type;
        lengths[i] = 1 + (int)below(r, 2);
        /* Begins behind all earlier blocks, for any bounds of the part. */
        at[i] = here - true_lb(&parts[i]) + (long)below(r, 2) * 8;
        here = at[i] + true_ub(&parts[i]) + (lengths[i] - 1) * model_extent(&parts[i]);
        here = (here + 7) / 8 * 8;
        lengths_c[i] = lengths[i];
        at_c[i] = at[i];
    }
    if (large)
        MPI_Type_create_struct_c(n, lengths_c, at_c, types, &m->type);
    else
        MPI_Type_create_struct(n, lengths, at, types, &m->type);
    for (int i = 0; i < n; i++) {
        append(m, &parts[i], (long)at[i], lengths[i]);
        model_free(&parts[i]);
    }
    long over = model_extent(m) % m->align;
    /* Arrays of structures keep their members aligned. Implementations differ in whether set
     * bounds of a part are padded, too. */
    m->ub += over ? m->align - over : 0;
    if (m->sticky)
        make_sticky(m);
    return 20;
}

/* A new type with a model. Neither the type nor the types that it is made of are committed. */
static struct model model_random(struct random *r, int depth)
{
    if (depth <= 0 || below(r, 6) == 0)
        return model_basic((int)below(r, BASICS));
    for (;;) {
        struct model m = {.align = 1};
        int kind;
        char story[sizeof m.story] = "";
        if (below(r, 4) == 0) {
            kind = structure(r, &m, depth);
        } else {
            struct model old = model_random(r, depth - 1);
            kind = construct(r, &m, &old);
            memcpy(story, old.story, sizeof story);
            model_free(&old);
        }
        story[sizeof story - 16] = 0;
        snprintf(m.story, sizeof m.story, "%d(%.*s)", kind, (int)sizeof m.story - 16, story);
        if (m.n > 0 && m.n <= MOST_PIECES && model_extent(&m) > 0)
            return m;
        model_free(&m);
    }
}

/* Another type with the signature of `count` elements of `m`: one structure with the entries
 * elsewhere. */
__attribute__((unused)) static struct model model_same_signature(struct random *r, const struct model *m,
                                                                 int count)
{
    int n = m->n * count, runs = 0;
    int *lengths = malloc((size_t)n * sizeof *lengths), *basic = malloc((size_t)n * sizeof *basic);
    MPI_Aint *at = malloc((size_t)n * sizeof *at);
    MPI_Datatype *types = malloc((size_t)n * sizeof(MPI_Datatype));
    for (int i = 0; i < n; i++) {
        int b = m->pieces[i % m->n].basic;
        if (runs && basic[runs - 1] == b && below(r, 8)) {
            lengths[runs - 1]++;
        } else {
            basic[runs] = b;
            lengths[runs++] = 1;
        }
    }
    /* Memory order is not the order of the entries. */
    int *order = malloc((size_t)runs * sizeof *order);
    for (int i = 0; i < runs; i++)
        order[i] = i;
    for (int i = runs - 1; i > 0 && below(r, 2); i--) {
        int j = (int)below(r, (uint32_t)i + 1), t = order[i];
        order[i] = order[j], order[j] = t;
    }
    long here = 0;
    for (int k = 0; k < runs; k++) {
        int i = order[k];
        at[i] = here;
        types[i] = basics[basic[i]].type;
        here += (long)lengths[i] * basics[basic[i]].bytes + (long)below(r, 3) * 8;
        here = (here + 7) / 8 * 8;
    }
    struct model b = {.align = 1};
    MPI_Type_create_struct(runs, lengths, at, types, &b.type);
    for (int i = 0; i < runs; i++) {
        struct model one = model_basic(basic[i]);
        append(&b, &one, (long)at[i], lengths[i]);
        model_free(&one);
    }
    long over = model_extent(&b) % b.align;
    if (over)
        b.ub += b.align - over;
    snprintf(b.story, sizeof b.story, "as %.300s", m->story);
    free(lengths), free(basic), free(at), free(types), free(order);
    return b;
}

/* The memory of `count` elements, with a margin on both sides. */
struct memory {
    unsigned char *all, *base; /* base: the address for MPI */
    size_t bytes;
};

enum { MARGIN = 64 };

__attribute__((unused)) static struct memory memory_for(const struct model *m, long count)
{
    long low = true_lb(m), high = true_ub(m), e = model_extent(m) * (count > 0 ? count - 1 : 0);
    struct memory x;
    x.bytes = (size_t)(high - low + e + 2 * MARGIN);
    x.all = malloc(x.bytes);
    x.base = x.all + MARGIN - low;
    return x;
}

/* Whether elements overlap in memory. If so, they may be sent but not received. */
__attribute__((unused)) static int overlaps(const struct model *m, long count)
{
    struct memory x = memory_for(m, count);
    memset(x.all, 0, x.bytes);
    int twice = 0;
    for (long c = 0; c < count; c++)
        for (int i = 0; i < m->n; i++)
            for (int b = 0; b < basics[m->pieces[i].basic].bytes; b++)
                twice |= x.base[c * model_extent(m) + m->pieces[i].at + b]++ > 0;
    free(x.all);
    return twice;
}

/* The packed data according to the model. Returns the bytes. */
__attribute__((unused)) static size_t gather_by_model(const struct model *m, long count,
                                                      const unsigned char *base, unsigned char *out)
{
    size_t n = 0;
    for (long c = 0; c < count; c++)
        for (int i = 0; i < m->n; i++) {
            int bytes = basics[m->pieces[i].basic].bytes;
            memcpy(out + n, base + c * model_extent(m) + m->pieces[i].at, (size_t)bytes);
            n += (size_t)bytes;
        }
    return n;
}

__attribute__((unused)) static void scatter_by_model(const struct model *m, long count,
                                                     unsigned char *base, const unsigned char *in,
                                                     size_t limit)
{
    size_t n = 0;
    for (long c = 0; c < count; c++)
        for (int i = 0; i < m->n; i++) {
            int bytes = basics[m->pieces[i].basic].bytes;
            if (n + (size_t)bytes > limit)
                return;
            memcpy(base + c * model_extent(m) + m->pieces[i].at, in + n, (size_t)bytes);
            n += (size_t)bytes;
        }
}

#endif
