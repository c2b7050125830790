/* Like LU: a 2-D grid of ranks sweeps a cube plane by plane from one corner to the other and
 * back. Every plane needs the west and north edges of the same plane: many small messages in a
 * pipeline. Between the sweeps is a halo exchange of whole faces. */
#include "kernel.h"

enum { SWEEPS = 4 };

struct part {
    int rows, cols, row, col;           /* of the grid */
    int i0, i1, j0, j1, ni, nj, depth;  /* my block */
};

static word *cell(const struct part *p, word *a, int i, int j, int k)
{
    return &a[((size_t)k * (size_t)p->ni + (size_t)i) * (size_t)p->nj + (size_t)j];
}

/* One sweep over a block. West and north hold the edges from outside, for each plane. */
static void plane(const struct part *p, word *a, int k, int back, const word *west,
                  const word *north)
{
    for (int x = 0; x < p->ni; x++)
        for (int y = 0; y < p->nj; y++) {
            int i = back ? p->ni - 1 - x : x, j = back ? p->nj - 1 - y : y;
            int kk = back ? p->depth - 1 - k : k;
            word w = y ? *cell(p, a, i, back ? j + 1 : j - 1, kk) : west[i];
            word n = x ? *cell(p, a, back ? i + 1 : i - 1, j, kk) : north[j];
            word d = k ? *cell(p, a, i, j, back ? kk + 1 : kk - 1) : 1;
            word *c = cell(p, a, i, j, kk);
            *c = plus(times(plus(*c, 3), plus(w, 7)), plus(times(n, 5), d));
        }
}

static void init(const struct part *p, word *a)
{
    for (int k = 0; k < p->depth; k++)
        for (int i = 0; i < p->ni; i++)
            for (int j = 0; j < p->nj; j++)
                *cell(p, a, i, j, k) = start_value((word)(p->i0 + i), (word)(p->j0 + j), (word)k);
}

static word sum(const struct part *p, word *a)
{
    word s = 0;
    for (int k = 0; k < p->depth; k++)
        for (int i = 0; i < p->ni; i++)
            for (int j = 0; j < p->nj; j++)
                s = plus(s, times(*cell(p, a, i, j, k),
                                  start_value((word)(p->j0 + j), (word)(p->i0 + i), (word)(k + 1))));
    return s;
}

static word serial(void)
{
    struct part p = {1, 1, 0, 0, 0, edge, 0, edge, edge, edge, edge};
    word *a = malloc(sizeof *a * (size_t)edge * (size_t)edge * (size_t)edge);
    word *none = calloc((size_t)edge, sizeof *none);
    init(&p, a);
    for (int s = 0; s < SWEEPS; s++)
        for (int k = 0; k < edge; k++)
            plane(&p, a, k, s % 2, none, none);
    word r = sum(&p, a);
    free(a);
    free(none);
    return r;
}

static int neighbour(const struct part *p, int di, int dj)
{
    int r = p->row + di, c = p->col + dj;
    if (r < 0 || r >= p->rows || c < 0 || c >= p->cols)
        return MPI_PROC_NULL;
    return r * p->cols + c;
}

static word parallel(const struct part *p)
{
    word *a = malloc(sizeof *a * (size_t)p->ni * (size_t)p->nj * (size_t)p->depth);
    word *west = calloc((size_t)p->ni, sizeof *west), *north = calloc((size_t)p->nj, sizeof *north);
    word *east = calloc((size_t)p->ni, sizeof *east), *south = calloc((size_t)p->nj, sizeof *south);
    MPI_Request q[2];
    init(p, a);
    for (int s = 0; s < SWEEPS; s++) {
        int back = s % 2, d = back ? 1 : -1;
        int from_w = neighbour(p, 0, d), to_e = neighbour(p, 0, -d);
        int from_n = neighbour(p, d, 0), to_s = neighbour(p, -d, 0);
        memset(west, 0, sizeof *west * (size_t)p->ni);
        memset(north, 0, sizeof *north * (size_t)p->nj);
        for (int k = 0; k < p->depth; k++) {
            MPI_Recv(west, p->ni, MPI_UINT64_T, from_w, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Recv(north, p->nj, MPI_UINT64_T, from_n, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            plane(p, a, k, back, west, north);
            int kk = back ? p->depth - 1 - k : k;
            for (int i = 0; i < p->ni; i++)
                east[i] = *cell(p, a, i, back ? 0 : p->nj - 1, kk);
            for (int j = 0; j < p->nj; j++)
                south[j] = *cell(p, a, back ? 0 : p->ni - 1, j, kk);
            MPI_Send(east, p->ni, MPI_UINT64_T, to_e, 1, MPI_COMM_WORLD);
            MPI_Send(south, p->nj, MPI_UINT64_T, to_s, 2, MPI_COMM_WORLD);
        }
        /* whole faces go round in the four directions; each must equal its owner's face */
        size_t face = (size_t)p->ni * (size_t)p->depth;
        word *out = malloc(sizeof *out * face), *in = malloc(sizeof *in * (face + 64));
        for (int k = 0; k < p->depth; k++)
            for (int i = 0; i < p->ni; i++)
                out[(size_t)k * (size_t)p->ni + (size_t)i] = *cell(p, a, i, p->nj - 1, k);
        int left = neighbour(p, 0, -1), right = neighbour(p, 0, 1);
        MPI_Irecv(in, (int)face, MPI_UINT64_T, left, 9, MPI_COMM_WORLD, &q[0]);
        MPI_Isend(out, (int)face, MPI_UINT64_T, right, 9, MPI_COMM_WORLD, &q[1]);
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
        MPI_Irecv(out, (int)face, MPI_UINT64_T, right, 10, MPI_COMM_WORLD, &q[0]);
        MPI_Isend(in, (int)face, MPI_UINT64_T, left, 10, MPI_COMM_WORLD, &q[1]);
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
        for (int k = 0; k < p->depth; k++)
            for (int i = 0; i < p->ni; i++)
                if (out[(size_t)k * (size_t)p->ni + (size_t)i] != *cell(p, a, i, p->nj - 1, k)) {
                    fprintf(stderr, "rank %d: my face came back changed\n", me);
                    MPI_Abort(MPI_COMM_WORLD, 3);
                }
        free(out);
        free(in);
    }
    word r = sum(p, a);
    free(a);
    free(west);
    free(north);
    free(east);
    free(south);
    return r;
}

int main(int argc, char **argv)
{
    kernel_begin(&argc, &argv, 48);
    int dims[2] = {0, 0}, good = 1;
    MPI_Dims_create(size, 2, dims);
    struct part p = {.rows = dims[0], .cols = dims[1], .row = me / dims[1], .col = me % dims[1]};
    p.i0 = block(edge, p.rows, p.row);
    p.i1 = block(edge, p.rows, p.row + 1);
    p.j0 = block(edge, p.cols, p.col);
    p.j1 = block(edge, p.cols, p.col + 1);
    p.ni = p.i1 - p.i0;
    p.nj = p.j1 - p.j0;
    p.depth = edge;
    expect(serial);
    for (long pass = 1; pass <= repeat; pass++) {
        variant = (word)pass % VARIANTS;
        good = pass_right(pass, parallel(&p)) && good;
    }
    return kernel_end("wavefront", good);
}
