/* Like BT: a cube is cut into slabs. A forward elimination along the cut dimension passes from
 * rank to rank in batches (non-blocking, several in flight), and a back substitution passes the
 * other way. Between the two directions, all-to-all transposes the slabs, so that every
 * dimension is once the cut dimension. */
#include "kernel.h"

enum { BATCHES = 8 };

/* Lines run along i; a[i][l] with l over the lines. One step in each direction: */
static word forward(word before, word x) { return plus(times(before, 3), plus(x, 11)); }
static word backward(word after, word x) { return plus(times(after, 5), times(x, 2)); }

static word initial(int i, int l) { return start_value((word)i, (word)l, 9); }

static word weight(int i, int l) { return start_value((word)l, (word)i, 17); }

/* The serial answer, for ROUNDS rounds of: solve along i, then transpose i with the high half of
 * the line number (lines = edge * edge, l = j * edge + k; transpose i and j). */
enum { ROUNDS = 3 };

static word serial(void)
{
    size_t lines = (size_t)edge * (size_t)edge;
    word *a = malloc(sizeof *a * lines * (size_t)edge), *b = malloc(sizeof *b * lines * (size_t)edge);
    for (int i = 0; i < edge; i++)
        for (size_t l = 0; l < lines; l++)
            a[(size_t)i * lines + l] = initial(i, (int)l);
    for (int r = 0; r < ROUNDS; r++) {
        for (size_t l = 0; l < lines; l++) {
            word v = 1;
            for (int i = 0; i < edge; i++)
                v = a[(size_t)i * lines + l] = forward(v, a[(size_t)i * lines + l]);
            v = 2;
            for (int i = edge - 1; i >= 0; i--)
                v = a[(size_t)i * lines + l] = backward(v, a[(size_t)i * lines + l]);
        }
        for (int i = 0; i < edge; i++)
            for (int j = 0; j < edge; j++)
                memcpy(&b[(size_t)j * lines + (size_t)i * (size_t)edge],
                       &a[(size_t)i * lines + (size_t)j * (size_t)edge], sizeof *a * (size_t)edge);
        word *x = a;
        a = b;
        b = x;
    }
    word s = 0;
    for (int i = 0; i < edge; i++)
        for (size_t l = 0; l < lines; l++)
            s = plus(s, times(a[(size_t)i * lines + l], weight(i, (int)l)));
    free(a);
    free(b);
    return s;
}

/* One direction of the solve over my slab, batch by batch. */
static void solve(word *a, int mine, size_t lines, int back)
{
    int from = back ? me + 1 : me - 1, to = back ? me - 1 : me + 1;
    if (from < 0 || from >= size)
        from = MPI_PROC_NULL;
    if (to < 0 || to >= size)
        to = MPI_PROC_NULL;
    word *in = malloc(sizeof *in * lines), *out = malloc(sizeof *out * lines);
    MPI_Request rq[BATCHES], sq[BATCHES];
    for (int b = 0; b < BATCHES; b++) {
        size_t lo = lines * (size_t)b / BATCHES, hi = lines * (size_t)(b + 1) / BATCHES;
        MPI_Irecv(in + lo, (int)(hi - lo), MPI_UINT64_T, from, b, MPI_COMM_WORLD, &rq[b]);
    }
    for (int b = 0; b < BATCHES; b++) {
        size_t lo = lines * (size_t)b / BATCHES, hi = lines * (size_t)(b + 1) / BATCHES;
        MPI_Wait(&rq[b], MPI_STATUS_IGNORE);
        for (size_t l = lo; l < hi; l++) {
            word v = from == MPI_PROC_NULL ? (back ? 2 : 1) : in[l];
            for (int x = 0; x < mine; x++) {
                size_t i = (size_t)(back ? mine - 1 - x : x);
                word *c = &a[i * lines + l];
                v = *c = back ? backward(v, *c) : forward(v, *c);
            }
            out[l] = v;
        }
        MPI_Isend(out + lo, (int)(hi - lo), MPI_UINT64_T, to, b, MPI_COMM_WORLD, &sq[b]);
    }
    MPI_Waitall(BATCHES, sq, MPI_STATUSES_IGNORE);
    free(in);
    free(out);
}

/* a[i][j][k] with i cut becomes a[j][i][k] with j cut. */
static word *transpose(word *a, int mine)
{
    size_t lines = (size_t)edge * (size_t)edge, e = (size_t)edge;
    int *sc = malloc(sizeof *sc * (size_t)size), *sd = malloc(sizeof *sd * (size_t)size);
    int *rc = malloc(sizeof *rc * (size_t)size), *rd = malloc(sizeof *rd * (size_t)size);
    word *out = malloc(sizeof *out * lines * (size_t)mine + 8);
    word *in = malloc(sizeof *in * lines * (size_t)mine + 8);
    size_t at = 0, back = 0;
    for (int r = 0; r < size; r++) {
        int j0 = block(edge, size, r), j1 = block(edge, size, r + 1);
        sd[r] = (int)at;
        rd[r] = (int)back;
        for (int j = j0; j < j1; j++)
            for (int i = 0; i < mine; i++, at += e)
                memcpy(out + at, a + (size_t)i * lines + (size_t)j * e, sizeof *a * e);
        sc[r] = (int)at - sd[r];
        rc[r] = (j1 - j0) * mine * edge;
        back += (size_t)rc[r];
    }
    MPI_Alltoallv(out, sc, sd, MPI_UINT64_T, in, rc, rd, MPI_UINT64_T, MPI_COMM_WORLD);
    /* from rank r: [my j][its i][k] */
    for (int r = 0; r < size; r++) {
        int i0 = block(edge, size, r), n = block(edge, size, r + 1) - i0;
        for (int j = 0; j < mine; j++)
            memcpy(a + (size_t)j * lines + (size_t)i0 * e,
                   in + (size_t)rd[r] + (size_t)j * (size_t)n * e, sizeof *a * (size_t)n * e);
    }
    free(sc);
    free(sd);
    free(rc);
    free(rd);
    free(out);
    free(in);
    return a;
}

int main(int argc, char **argv)
{
    kernel_begin(&argc, &argv, 40);
    size_t lines = (size_t)edge * (size_t)edge;
    int i0 = block(edge, size, me), mine = block(edge, size, me + 1) - i0, good = 1;
    expect(serial);
    word *a = malloc(sizeof *a * lines * (size_t)mine);
    for (long pass = 1; pass <= repeat; pass++) {
        variant = (word)pass % VARIANTS;
        for (int i = 0; i < mine; i++)
            for (size_t l = 0; l < lines; l++)
                a[(size_t)i * lines + l] = initial(i0 + i, (int)l);
        for (int r = 0; r < ROUNDS; r++) {
            solve(a, mine, lines, 0);
            solve(a, mine, lines, 1);
            a = transpose(a, mine);
        }
        word s = 0;
        for (int i = 0; i < mine; i++)
            for (size_t l = 0; l < lines; l++)
                s = plus(s, times(a[(size_t)i * lines + l], weight(i0 + i, (int)l)));
        good = pass_right(pass, s) && good;
    }
    free(a);
    return kernel_end("pipeline", good);
}
