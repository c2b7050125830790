/* Like IS: integer sort by buckets. Keys are drawn on each rank, counted into buckets
 * (Allreduce), sent to the rank that owns their bucket (Alltoall of counts, Alltoallv of keys), and
 * sorted there. Verified: the order within a rank, the order between neighbours, and the number and
 * sum of all keys. Also a weighted sum by rank that rank 0 has computed serially. */
#include "kernel.h"

enum { BUCKETS = 512, RANGE_BITS = 20 };

static uint32_t key(int rank, int i)
{
    uint64_t x = (variant + 1) * 1000003u + (uint64_t)rank * 7919u + (uint64_t)i * 2654435761u + 1;
    x ^= x >> 12;
    x *= UINT64_C(0x9e3779b97f4a7c15);
    x ^= x >> 29;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    /* not uniform: the mean of two draws, as in the benchmark */
    uint32_t a = (uint32_t)(x >> 44), b = (uint32_t)(x >> 20) & ((1u << RANGE_BITS) - 1);
    return (a + b) / 2;
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Sum over all keys of key times (global place + 1); equal keys are alike. */
static word weighted(const uint32_t *k, size_t n, word first)
{
    word s = 0;
    for (size_t i = 0; i < n; i++)
        s = plus(s, times(k[i] + 1u, first + i + 1));
    return s;
}

static int per_rank;

static word serial(void)
{
    size_t n = (size_t)per_rank * (size_t)size;
    uint32_t *all = malloc(sizeof *all * n);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < per_rank; i++)
            all[(size_t)r * (size_t)per_rank + (size_t)i] = key(r, i);
    qsort(all, n, sizeof *all, compare);
    word s = weighted(all, n, 0);
    free(all);
    return s;
}

int main(int argc, char **argv)
{
    kernel_begin(&argc, &argv, 64);
    int per = edge * edge * 4, good = 1;   /* keys on each rank */
    uint32_t *keys = malloc(sizeof *keys * (size_t)per), *out = malloc(sizeof *out * (size_t)per);
    per_rank = per;
    expect(serial);
    for (long pass = 1; pass <= repeat; pass++) {
        variant = (word)pass % VARIANTS;
        int local[BUCKETS] = {0}, total[BUCKETS], owner[BUCKETS], at[BUCKETS];
        int *sc = calloc((size_t)size, sizeof *sc), *rc = calloc((size_t)size, sizeof *rc);
        int *sd = calloc((size_t)size, sizeof *sd), *rd = calloc((size_t)size, sizeof *rd);
        for (int i = 0; i < per; i++) {
            keys[i] = key(me, i);
            local[keys[i] >> (RANGE_BITS - 9)]++;
        }
        MPI_Allreduce(local, total, BUCKETS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        int64_t seen = 0, before = 0;
        int sent = 0;
        for (int b = 0; b < BUCKETS; b++) {
            owner[b] = (int)(seen * size / ((int64_t)per * size));
            if (owner[b] >= size)
                owner[b] = size - 1;
            seen += total[b];
            if (owner[b] < me)
                before += total[b];
            at[b] = sent;
            sent += local[b];
            sc[owner[b]] += local[b];
        }
        for (int i = 0; i < per; i++)
            out[at[keys[i] >> (RANGE_BITS - 9)]++] = keys[i];
        MPI_Alltoall(sc, 1, MPI_INT, rc, 1, MPI_INT, MPI_COMM_WORLD);
        int got = 0;
        for (int r = 0, s = 0; r < size; r++) {
            sd[r] = s;
            rd[r] = got;
            s += sc[r];
            got += rc[r];
        }
        uint32_t *mine = malloc(sizeof *mine * ((size_t)got + 1));
        MPI_Alltoallv(out, sc, sd, MPI_UINT32_T, mine, rc, rd, MPI_UINT32_T, MPI_COMM_WORLD);
        qsort(mine, (size_t)got, sizeof *mine, compare);
        /* the neighbour's smallest key must not be below this rank's largest; empty ranks pass
         * it on */
        uint32_t largest = 0, mine_last = got ? mine[got - 1] : 0, below = 0;
        MPI_Scan(&mine_last, &largest, 1, MPI_UINT32_T, MPI_MAX, MPI_COMM_WORLD);
        MPI_Sendrecv(&largest, 1, MPI_UINT32_T, me + 1 < size ? me + 1 : MPI_PROC_NULL, 3, &below, 1,
                     MPI_UINT32_T, me > 0 ? me - 1 : MPI_PROC_NULL, 3, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        int ordered = got == 0 || me == 0 || below <= mine[0], all_ordered = 0;
        int64_t count = got, whole = 0;
        MPI_Allreduce(&ordered, &all_ordered, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
        MPI_Allreduce(&count, &whole, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        good = good && all_ordered && whole == (int64_t)per * size;
        good = pass_right(pass, weighted(mine, (size_t)got, (word)before)) && good;
        free(mine);
        free(sc);
        free(rc);
        free(sd);
        free(rd);
    }
    free(keys);
    free(out);
    return kernel_end("sort", good);
}
