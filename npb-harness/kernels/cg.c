/*
 * NAS-style CG kernel in C and MPI.
 *
 * The conjugate-gradient benchmark of the NAS Parallel Benchmarks, written from its published
 * definition (NAS report RNR-94-007, section 2.3). It estimates the eigenvalue closest to a shift
 * of a large sparse symmetric matrix by inverse power iteration. Each system is solved with 25
 * steps of conjugate gradient.
 *
 * Guarantees: zeta is compared with the official verification value of the class (relative error at
 * most 1e-10) after every pass. The last line is `VERIFICATION SUCCESSFUL` (exit code 0) or
 * `VERIFICATION FAILED` (1).
 *
 * Parallel scheme: a 2-D grid of R x C ranks, C = R or C = 2R, so the number of ranks is a power of
 * two. Rank (r, c) owns row block r and column block c of the matrix and column block c of every
 * vector. A product is summed along the row of ranks by recursive doubling, and returned to the
 * column layout by one exchange with the transposed rank.
 *
 * Usage: cg [--class S|W|A|B] [--repeat N | --seconds T] [--quiet]
 *        cg S                       (the class alone works, too)
 *
 * --seconds ends with the first pass after T seconds by MPI's clock, for tests that kill ranks.
 */
#include <limits.h>
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CG_STEPS = 25, TAG_SUM = 11, TAG_VECTOR = 12, TAG_TRANSPOSE = 13 };

static const double RCOND = 0.1;

struct class_def {
    char name;
    int na;          /* order of the matrix */
    int nonzer;      /* random non-zeros in each generating vector */
    int niter;       /* outer iterations */
    double shift;
    double zeta;     /* official verification value */
};

static const struct class_def CLASSES[] = {
    {'S', 1400, 7, 15, 10.0, 8.5971775078648},
    {'W', 7000, 8, 15, 12.0, 10.362595087124},
    {'A', 14000, 11, 15, 20.0, 17.130235054029},
    {'B', 75000, 13, 75, 60.0, 22.712745482631},
};

/* ---- pseudo-random numbers: x(k+1) = 5^13 x(k) mod 2^46 ---------------- */

static uint64_t random_state;

static void random_seed(void) { random_state = 314159265u; }

static double random_next(void)
{
    const uint64_t mask = (UINT64_C(1) << 46) - 1;
    random_state = (random_state * UINT64_C(1220703125)) & mask;
    return (double)random_state * 0x1p-46;
}

/* ---- the grid ----------------------------------------------------------- */

struct grid {
    int size, me;
    int rows, cols, row, col;
    int log_cols;
    int transpose;            /* world rank of the transposed partner */
    int row_lo, row_hi;       /* my row block, half open */
    int col_lo, col_hi;       /* my column block, half open */
    int send_lo, send_hi;     /* the part of this row block that the partner needs */
};

static int block_start(int n, int blocks, int b)
{
    return (int)((int64_t)n * b / blocks);
}

static int grid_make(struct grid *g, int n)
{
    MPI_Comm_size(MPI_COMM_WORLD, &g->size);
    MPI_Comm_rank(MPI_COMM_WORLD, &g->me);
    int log2 = 0;
    while ((1 << log2) < g->size)
        log2++;
    if ((1 << log2) != g->size)
        return -1;
    g->rows = 1 << (log2 / 2);
    g->cols = g->size / g->rows;
    g->log_cols = log2 - log2 / 2;
    g->row = g->me / g->cols;
    g->col = g->me % g->cols;
    const int wide = g->cols / g->rows;   /* 1 or 2 column blocks per row block */
    g->transpose = (g->col / wide) * g->cols + g->row * wide + g->col % wide;
    g->row_lo = block_start(n, g->cols, g->row * wide);
    g->row_hi = block_start(n, g->cols, (g->row + 1) * wide);
    g->col_lo = block_start(n, g->cols, g->col);
    g->col_hi = block_start(n, g->cols, g->col + 1);
    const int wanted = g->row * wide + g->col % wide;
    g->send_lo = block_start(n, g->cols, wanted);
    g->send_hi = block_start(n, g->cols, wanted + 1);
    return 0;
}

static int row_partner(const struct grid *g, int step)
{
    return g->row * g->cols + (g->col ^ (1 << step));
}

/* The sum of a few scalars along the row of ranks. Every rank gets the same bits, because both
 * partners add the lower column's value first. */
static void sum_scalars(const struct grid *g, double *v, int count)
{
    double other[4];
    for (int s = 0; s < g->log_cols; s++) {
        int partner = row_partner(g, s);
        MPI_Request request;
        MPI_Irecv(other, count, MPI_DOUBLE, partner, TAG_SUM, MPI_COMM_WORLD, &request);
        MPI_Send(v, count, MPI_DOUBLE, partner, TAG_SUM, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < count; i++)
            v[i] = g->me < partner ? v[i] + other[i] : other[i] + v[i];
    }
}

/* ---- the matrix ---------------------------------------------------------- */

struct matrix {
    int *start;      /* row starts, row_hi - row_lo + 1 of them */
    int *column;     /* relative to col_lo */
    double *value;
};

static void *must(void *p, const char *what)
{
    if (!p) {
        fprintf(stderr, "cg: out of memory for %s\n", what);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return p;
}

/* One generating vector: `nonzer` distinct random positions with random values, and 0.5 at
 * position `own` (added if it was not drawn). */
static int generating_vector(int n, int nonzer, int own, int *position, double *value)
{
    int power = 1, count = 0;
    while (power < n)
        power *= 2;
    while (count < nonzer) {
        double v = random_next();
        int at = (int)(power * random_next());
        if (at >= n)
            continue;
        int seen = 0;
        for (int k = 0; k < count && !seen; k++)
            seen = position[k] == at;
        if (seen)
            continue;
        position[count] = at;
        value[count++] = v;
    }
    for (int k = 0; k < count; k++)
        if (position[k] == own) {
            value[k] = 0.5;
            return count;
        }
    position[count] = own;
    value[count] = 0.5;
    return count + 1;
}

/* A = sum over i of ratio^i x_i x_i^T, plus (rcond - shift) on the diagonal. Every rank draws
 * the whole stream and keeps the part that falls into its block. */
static void matrix_make(struct matrix *m, const struct class_def *c, const struct grid *g)
{
    const int n = c->na, width = c->nonzer + 1, rows = g->row_hi - g->row_lo;
    const int cols = g->col_hi - g->col_lo;
    int *position = must(malloc(sizeof(int) * (size_t)n * width), "positions");
    double *value = must(malloc(sizeof(double) * (size_t)n * width), "values");
    int *length = must(malloc(sizeof(int) * (size_t)n), "lengths");
    size_t *first = must(calloc((size_t)rows + 1, sizeof(size_t)), "row starts");

    for (int i = 0; i < n; i++)
        length[i] = generating_vector(n, c->nonzer, i, position + (size_t)i * width,
                                      value + (size_t)i * width);
    for (int i = 0; i < n; i++) {
        const int *p = position + (size_t)i * width;
        int in_cols = 0;
        for (int b = 0; b < length[i]; b++)
            in_cols += p[b] >= g->col_lo && p[b] < g->col_hi;
        for (int a = 0; a < length[i]; a++)
            if (p[a] >= g->row_lo && p[a] < g->row_hi)
                first[p[a] - g->row_lo + 1] += (size_t)in_cols;
    }
    for (int r = 0; r < rows; r++)
        first[r + 1] += first[r];

    int *column = must(malloc(sizeof(int) * (first[rows] + 1)), "columns");
    double *entry = must(malloc(sizeof(double) * (first[rows] + 1)), "entries");
    size_t *fill = must(malloc(sizeof(size_t) * ((size_t)rows + 1)), "fill marks");
    memcpy(fill, first, sizeof(size_t) * ((size_t)rows + 1));
    const double ratio = pow(RCOND, 1.0 / n);
    double weight = 1.0;
    for (int i = 0; i < n; i++, weight *= ratio) {
        const int *p = position + (size_t)i * width;
        const double *v = value + (size_t)i * width;
        for (int a = 0; a < length[i]; a++) {
            if (p[a] < g->row_lo || p[a] >= g->row_hi)
                continue;
            for (int b = 0; b < length[i]; b++) {
                if (p[b] < g->col_lo || p[b] >= g->col_hi)
                    continue;
                double x = v[b] * (v[a] * weight);
                if (p[a] == i && p[b] == i)
                    x += RCOND - c->shift;
                size_t k = fill[p[a] - g->row_lo]++;
                column[k] = p[b] - g->col_lo;
                entry[k] = x;
            }
        }
    }
    free(position);
    free(value);
    free(length);

    /* Adds up entries at the same place, then sorts each row by column, in place. */
    m->start = must(malloc(sizeof(int) * ((size_t)rows + 1)), "row starts");
    size_t *where = must(malloc(sizeof(size_t) * ((size_t)cols + 1)), "marks");
    for (int j = 0; j < cols; j++)
        where[j] = SIZE_MAX;
    size_t out = 0;
    for (int r = 0; r < rows; r++) {
        size_t row = out;
        for (size_t k = first[r]; k < first[r + 1]; k++) {
            size_t w = where[column[k]];
            if (w != SIZE_MAX && w >= row && w < out && column[w] == column[k]) {
                entry[w] += entry[k];
            } else {
                where[column[k]] = out;
                column[out] = column[k];
                entry[out++] = entry[k];
            }
        }
        for (size_t k = row; k < out; k++)
            where[column[k]] = SIZE_MAX;
        for (size_t k = row + 1; k < out; k++) {
            int ck = column[k];
            double ek = entry[k];
            size_t h = k;
            for (; h > row && column[h - 1] > ck; h--) {
                column[h] = column[h - 1];
                entry[h] = entry[h - 1];
            }
            column[h] = ck;
            entry[h] = ek;
        }
        m->start[r] = (int)row;
    }
    m->start[rows] = (int)out;
    m->column = must(realloc(column, sizeof(int) * (out + 1)), "columns");
    m->value = must(realloc(entry, sizeof(double) * (out + 1)), "entries");
    free(where);
    free(first);
    free(fill);
}

/* ---- the solver ----------------------------------------------------------- */

struct work {
    double *x, *z, *p, *q, *r;   /* column layout */
    double *w, *other;           /* row layout, and the partner's share */
};

/* q = A p */
static void multiply(const struct grid *g, const struct matrix *m, const double *p,
                     double *q, struct work *k)
{
    const int rows = g->row_hi - g->row_lo, cols = g->col_hi - g->col_lo;
    for (int i = 0; i < rows; i++) {
        double sum = 0.0;
        for (int e = m->start[i]; e < m->start[i + 1]; e++)
            sum += m->value[e] * p[m->column[e]];
        k->w[i] = sum;
    }
    for (int s = 0; s < g->log_cols; s++) {
        int partner = row_partner(g, s);
        MPI_Request request;
        MPI_Irecv(k->other, rows, MPI_DOUBLE, partner, TAG_VECTOR, MPI_COMM_WORLD, &request);
        MPI_Send(k->w, rows, MPI_DOUBLE, partner, TAG_VECTOR, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < rows; i++)
            k->w[i] += k->other[i];
    }
    const double *mine = k->w + (g->send_lo - g->row_lo);
    if (g->transpose == g->me) {
        memcpy(q, mine, sizeof(double) * (size_t)cols);
    } else {
        MPI_Request request;
        MPI_Irecv(q, cols, MPI_DOUBLE, g->transpose, TAG_TRANSPOSE, MPI_COMM_WORLD, &request);
        MPI_Send(mine, g->send_hi - g->send_lo, MPI_DOUBLE, g->transpose, TAG_TRANSPOSE,
                 MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static double dot(const struct grid *g, const double *a, const double *b)
{
    double sum = 0.0;
    for (int i = 0; i < g->col_hi - g->col_lo; i++)
        sum += a[i] * b[i];
    sum_scalars(g, &sum, 1);
    return sum;
}

/* Solves A z = x with 25 steps; returns the norm of the residual. */
static double conjugate_gradient(const struct grid *g, const struct matrix *m, struct work *k)
{
    const int cols = g->col_hi - g->col_lo;
    for (int i = 0; i < cols; i++) {
        k->z[i] = 0.0;
        k->r[i] = k->p[i] = k->x[i];
    }
    double rho = dot(g, k->r, k->r);
    for (int step = 0; step < CG_STEPS; step++) {
        multiply(g, m, k->p, k->q, k);
        double alpha = rho / dot(g, k->p, k->q);
        for (int i = 0; i < cols; i++) {
            k->z[i] += alpha * k->p[i];
            k->r[i] -= alpha * k->q[i];
        }
        double before = rho;
        rho = dot(g, k->r, k->r);
        double beta = rho / before;
        for (int i = 0; i < cols; i++)
            k->p[i] = k->r[i] + beta * k->p[i];
    }
    multiply(g, m, k->z, k->q, k);
    double sum = 0.0;
    for (int i = 0; i < cols; i++) {
        double d = k->x[i] - k->q[i];
        sum += d * d;
    }
    sum_scalars(g, &sum, 1);
    return sqrt(sum);
}

/* One outer iteration; returns zeta. */
static double power_step(const struct class_def *c, const struct grid *g,
                         const struct matrix *m, struct work *k, double *residual)
{
    const int cols = g->col_hi - g->col_lo;
    *residual = conjugate_gradient(g, m, k);
    double sums[2] = {0.0, 0.0};
    for (int i = 0; i < cols; i++) {
        sums[0] += k->x[i] * k->z[i];
        sums[1] += k->z[i] * k->z[i];
    }
    sum_scalars(g, sums, 2);
    double norm = 1.0 / sqrt(sums[1]);
    for (int i = 0; i < cols; i++)
        k->x[i] = norm * k->z[i];
    return c->shift + 1.0 / sums[0];
}

static void ones(const struct grid *g, double *x)
{
    for (int i = 0; i < g->col_hi - g->col_lo; i++)
        x[i] = 1.0;
}

/* ---- the program ------------------------------------------------------------ */

static double *vector(int n)
{
    return must(calloc((size_t)n + 1, sizeof(double)), "a vector");
}

static const struct class_def *find_class(const char *name)
{
    for (size_t i = 0; i < sizeof CLASSES / sizeof CLASSES[0]; i++)
        if (name[0] == CLASSES[i].name && name[1] == '\0')
            return &CLASSES[i];
    return NULL;
}

static int usage(int me, const char *why)
{
    if (me == 0)
        fprintf(stderr, "cg: %s\nusage: cg [--class S|W|A|B] [--repeat N | --seconds T] [--quiet]\n", why);
    MPI_Finalize();
    return 2;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int me = 0, quiet = 0;
    long repeat = 1;
    double wanted = 0.0;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    const struct class_def *c = &CLASSES[0];
    for (int i = 1; i < argc; i++) {
        const char *name = NULL;
        if (!strcmp(argv[i], "--quiet")) {
            quiet = 1;
        } else if (!strcmp(argv[i], "--repeat") && i + 1 < argc) {
            repeat = strtol(argv[++i], NULL, 10);
        } else if (!strcmp(argv[i], "--seconds") && i + 1 < argc) {
            wanted = strtod(argv[++i], NULL);
        } else if (!strcmp(argv[i], "--class") && i + 1 < argc) {
            name = argv[++i];
        } else {
            name = argv[i];
        }
        if (name && !(c = find_class(name)))
            return usage(me, "unknown class or option");
    }
    if (wanted > 0.0)
        repeat = LONG_MAX;
    if (repeat < 1)
        return usage(me, "--repeat needs a positive number");

    struct grid g;
    if (grid_make(&g, c->na) != 0)
        return usage(me, "the number of ranks must be a power of two");
    if (me == 0 && !quiet) {
        printf("CG class %c: %d rows, %d iterations, %d ranks (%d x %d), ", c->name, c->na, c->niter,
               g.size, g.rows, g.cols);
        if (wanted > 0.0)
            printf("%.1f s\n", wanted);
        else
            printf("%ld pass%s\n", repeat, repeat == 1 ? "" : "es");
        fflush(stdout);
    }

    random_seed();
    random_next();   /* the definition draws one number before the matrix */
    struct matrix m;
    matrix_make(&m, c, &g);
    const int rows = g.row_hi - g.row_lo, cols = g.col_hi - g.col_lo;
    struct work k = {vector(cols), vector(cols), vector(cols), vector(cols),
                     vector(cols), vector(rows), vector(rows)};

    double residual, worst = 0.0, seconds = 0.0;
    int good = 1;
    ones(&g, k.x);
    power_step(c, &g, &m, &k, &residual);   /* untimed: touches all pages */
    for (long pass = 1; pass <= repeat; pass++) {
        double zeta = 0.0;
        ones(&g, k.x);
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        for (int it = 1; it <= c->niter; it++)
            zeta = power_step(c, &g, &m, &k, &residual);
        double mine = MPI_Wtime() - begin, slowest = 0.0;
        MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        seconds += slowest;
        double error = fabs(zeta - c->zeta) / c->zeta;
        /* False for NaN, too. Rank 0 alone knows the time, and says whether another pass comes. */
        int mine_right[2] = {error <= 1e-10, me != 0 || wanted <= 0.0 || seconds < wanted};
        int all[2] = {0, 0};
        MPI_Allreduce(mine_right, all, 2, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
        good = good && all[0];
        if (!all[1])
            repeat = pass;
        if (!(error <= worst))
            worst = error;
        if (me == 0 && !quiet) {
            printf("pass %ld: zeta %.13f, expected %.13f, residual %.3e\n", pass, zeta,
                   c->zeta, residual);
            fflush(stdout);
        }
    }
    if (me == 0) {
        if (!quiet)
            printf("time %.3f s, worst relative error %.2e\n", seconds, worst);
        printf("%s\n", good ? "VERIFICATION SUCCESSFUL" : "VERIFICATION FAILED");
        fflush(stdout);
    }
    free(m.start);
    free(m.column);
    free(m.value);
    free(k.x);
    free(k.z);
    free(k.p);
    free(k.q);
    free(k.r);
    free(k.w);
    free(k.other);
    MPI_Finalize();
    return good ? 0 : 1;
}
