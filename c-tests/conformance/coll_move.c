/* Chapter 6: collectives that move data: Barrier, Bcast, Gather, Scatter, Allgather, Alltoall,
 * their v- and w-forms, IN_PLACE, every root, odd sizes, derived datatypes, zero counts. */
#include "../check.h"

static const int COUNTS[] = {0, 1, 3, 17, 100, 1025, 20001};
enum { NCOUNTS = sizeof COUNTS / sizeof COUNTS[0] };

static int n, me;

static int *ints(size_t k)
{
    int *p = malloc(sizeof(int) * (k + 1));
    for (size_t i = 0; i <= k; i++)
        p[i] = -77;
    return p;
}

static int value(int owner, int to, int i) { return owner * 1000003 + to * 1009 + i; }

/* The number of elements in the share of rank r: uneven, some empty. */
static int share(int count, int r) { return count == 0 ? 0 : (r % 3 == 1 ? 0 : count / 2 + r); }

static void broadcast(int count)
{
    for (int root = 0; root < n; root++) {
        int *b = ints((size_t)count);
        if (me == root)
            for (int i = 0; i < count; i++)
                b[i] = value(root, 0, i);
        MPI_Bcast(b, count, MPI_INT, root, MPI_COMM_WORLD);
        for (int i = 0; i < count; i++)
            CHECK(b[i] == value(root, 0, i), "Bcast of %d from %d: element %d", count, root, i);
        CHECK(b[count] == -77, "Bcast wrote past the end");
        free(b);
    }
}

static void gather_scatter(int count)
{
    size_t c = (size_t)count, all = c * (size_t)n;
    for (int root = 0; root < n; root++)
        for (int in_place = 0; in_place < 2; in_place++) {
            int *one = ints(c), *many = ints(all);
            for (int i = 0; i < count; i++)
                one[i] = value(me, root, i);
            int direct = in_place && me == root;
            if (direct)
                memcpy(many + c * (size_t)root, one, sizeof(int) * c);
            MPI_Gather(direct ? MPI_IN_PLACE : one, count, MPI_INT, me == root ? many : NULL,
                       count, MPI_INT, root, MPI_COMM_WORLD);
            if (me == root)
                for (int r = 0; r < n; r++)
                    for (int i = 0; i < count; i++)
                        CHECK(many[(size_t)r * c + (size_t)i] == value(r, root, i),
                              "Gather of %d to %d: rank %d element %d", count, root, r, i);
            for (int i = 0; i < count; i++)
                one[i] = -1;
            if (direct)
                for (int i = 0; i < count; i++)
                    one[i] = value(me, root, i);
            MPI_Scatter(me == root ? many : NULL, count, MPI_INT, direct ? MPI_IN_PLACE : one,
                        count, MPI_INT, root, MPI_COMM_WORLD);
            for (int i = 0; i < count; i++)
                CHECK(one[i] == value(me, root, i), "Scatter of %d from %d", count, root);
            CHECK(one[count] == -77, "Scatter wrote past the end");
            free(one);
            free(many);
        }
}

static void v_forms(int count)
{
    int *counts = ints((size_t)n), *at = ints((size_t)n), total = 0;
    for (int r = n - 1; r >= 0; r--) {   /* displacements run backwards, with gaps */
        counts[r] = share(count, r);
        at[r] = total;
        total += counts[r] + 2;
    }
    for (int root = 0; root < n; root++)
        for (int in_place = 0; in_place < 2; in_place++) {
            int mine = counts[me], direct = in_place && me == root;
            int *one = ints((size_t)mine), *many = ints((size_t)total);
            for (int i = 0; i < mine; i++)
                one[i] = value(me, root, i);
            if (direct)
                memcpy(many + at[me], one, sizeof(int) * (size_t)mine);
            MPI_Gatherv(direct ? MPI_IN_PLACE : one, mine, MPI_INT, many, counts, at, MPI_INT, root,
                        MPI_COMM_WORLD);
            if (me == root)
                for (int r = 0; r < n; r++) {
                    for (int i = 0; i < counts[r]; i++)
                        CHECK(many[at[r] + i] == value(r, root, i), "Gatherv to %d", root);
                    CHECK(many[at[r] + counts[r]] == -77, "Gatherv wrote into a gap");
                }
            if (!direct)
                for (int i = 0; i < mine; i++)
                    one[i] = -1;
            MPI_Scatterv(many, counts, at, MPI_INT, direct ? MPI_IN_PLACE : one, mine, MPI_INT,
                         root, MPI_COMM_WORLD);
            for (int i = 0; i < mine; i++)
                CHECK(one[i] == value(me, root, i), "Scatterv from %d", root);
            CHECK(one[mine] == -77, "Scatterv wrote past the end");
            free(one);
            free(many);
        }
    for (int in_place = 0; in_place < 2; in_place++) {
        int mine = counts[me];
        int *one = ints((size_t)mine), *many = ints((size_t)total);
        for (int i = 0; i < mine; i++)
            one[i] = value(me, 0, i);
        if (in_place)
            memcpy(many + at[me], one, sizeof(int) * (size_t)mine);
        MPI_Allgatherv(in_place ? MPI_IN_PLACE : one, mine, MPI_INT, many, counts, at, MPI_INT,
                       MPI_COMM_WORLD);
        for (int r = 0; r < n; r++) {
            for (int i = 0; i < counts[r]; i++)
                CHECK(many[at[r] + i] == value(r, 0, i), "Allgatherv: rank %d element %d", r, i);
            CHECK(many[at[r] + counts[r]] == -77, "Allgatherv wrote into a gap");
        }
        free(one);
        free(many);
    }
    free(counts);
    free(at);
}

static void all_to_all(int count)
{
    size_t c = (size_t)count, all = c * (size_t)n;
    int *out = ints(all), *in = ints(all), *one = ints(c), *many = ints(all);
    for (int in_place = 0; in_place < 2; in_place++) {
        for (int r = 0; r < n; r++)
            for (int i = 0; i < count; i++) {
                out[(size_t)r * c + (size_t)i] = value(me, r, i);
                in[(size_t)r * c + (size_t)i] = in_place ? value(me, r, i) : -1;
            }
        MPI_Alltoall(in_place ? MPI_IN_PLACE : out, count, MPI_INT, in, count, MPI_INT,
                     MPI_COMM_WORLD);
        for (int r = 0; r < n; r++)
            for (int i = 0; i < count; i++)
                CHECK(in[(size_t)r * c + (size_t)i] == value(r, me, i), "Alltoall of %d", count);
        for (int i = 0; i < count; i++)
            one[i] = value(me, 9, i);
        if (in_place)
            memcpy(many + c * (size_t)me, one, sizeof(int) * c);
        MPI_Allgather(in_place ? MPI_IN_PLACE : one, count, MPI_INT, many, count, MPI_INT,
                      MPI_COMM_WORLD);
        for (int r = 0; r < n; r++)
            for (int i = 0; i < count; i++)
                CHECK(many[(size_t)r * c + (size_t)i] == value(r, 9, i), "Allgather of %d", count);
        CHECK(in[all] == -77 && many[all] == -77, "wrote past the end");
        memset(many, 0, sizeof(int) * all);
    }
    free(out);
    free(in);
    free(one);
    free(many);
}

/* Rank a sends share(count, a + b) elements to rank b. */
static void all_to_all_v(int count)
{
    int *sc = ints((size_t)n), *rc = ints((size_t)n), *sd = ints((size_t)n), *rd = ints((size_t)n);
    int st = 0, rt = 0;
    for (int r = 0; r < n; r++) {
        sc[r] = share(count, me + r);
        sd[r] = st;
        st += sc[r] + 1;
        rc[r] = share(count, r + me);
        rd[r] = rt;
        rt += rc[r] + 1;
    }
    int *out = ints((size_t)st), *in = ints((size_t)rt);
    for (int r = 0; r < n; r++)
        for (int i = 0; i < sc[r]; i++)
            out[sd[r] + i] = value(me, r, i);
    MPI_Alltoallv(out, sc, sd, MPI_INT, in, rc, rd, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < n; r++) {
        for (int i = 0; i < rc[r]; i++)
            CHECK(in[rd[r] + i] == value(r, me, i), "Alltoallv: from %d element %d", r, i);
        CHECK(in[rd[r] + rc[r]] == -77, "Alltoallv wrote into a gap");
    }
    /* in place: the counts are symmetric here */
    for (int r = 0; r < n; r++)
        for (int i = 0; i < rc[r]; i++)
            in[rd[r] + i] = value(me, r, i);
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, in, rc, rd, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < n; r++)
        for (int i = 0; i < rc[r]; i++)
            CHECK(in[rd[r] + i] == value(r, me, i), "Alltoallv in place: from %d", r);
    /* w: displacements in bytes, a type for each partner */
    MPI_Datatype *types = malloc(sizeof *types * (size_t)n);
    for (int r = 0; r < n; r++) {
        types[r] = MPI_INT;
        sd[r] *= (int)sizeof(int);
        rd[r] *= (int)sizeof(int);
    }
    memset(in, 0, sizeof(int) * (size_t)rt);
    MPI_Alltoallw(out, sc, sd, types, in, rc, rd, types, MPI_COMM_WORLD);
    for (int r = 0; r < n; r++)
        for (int i = 0; i < rc[r]; i++)
            CHECK(in[rd[r] / (int)sizeof(int) + i] == value(r, me, i), "Alltoallw: from %d", r);
    free(sc);
    free(rc);
    free(sd);
    free(rd);
    free(out);
    free(in);
    free(types);
}

/* Different types on both sides of one collective: a strided column against plain ints. */
static void types(void)
{
    enum { ROWS = 5, COLS = 4 };
    MPI_Datatype column, spaced;
    MPI_Type_vector(ROWS, 1, COLS, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Type_create_resized(column, 0, sizeof(int), &spaced);
    MPI_Type_commit(&spaced);
    int m[ROWS][COLS], flat[ROWS], *all = ints((size_t)n * ROWS);
    for (int root = 0; root < n; root++) {
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLS; j++)
                m[i][j] = me == root ? value(root, i, j) : -1;
        if (me == root)
            MPI_Bcast(&m[0][2], 1, column, root, MPI_COMM_WORLD);
        else
            MPI_Bcast(flat, ROWS, MPI_INT, root, MPI_COMM_WORLD);
        for (int i = 0; i < ROWS && me != root; i++)
            EQUAL(flat[i], value(root, i, 2));
        for (int i = 0; i < ROWS; i++)
            m[i][1] = value(me, root, i);
        MPI_Gather(&m[0][1], 1, column, all, ROWS, MPI_INT, root, MPI_COMM_WORLD);
        if (me == root)
            for (int r = 0; r < n; r++)
                for (int i = 0; i < ROWS; i++)
                    EQUAL(all[r * ROWS + i], value(r, root, i));
    }
    /* allgather into columns of an n-column matrix */
    MPI_Datatype wide, slot;
    MPI_Type_vector(ROWS, 1, n, MPI_INT, &wide);
    MPI_Type_create_resized(wide, 0, sizeof(int), &slot);
    MPI_Type_commit(&slot);
    for (int i = 0; i < ROWS; i++)
        flat[i] = value(me, 3, i);
    MPI_Allgather(flat, ROWS, MPI_INT, all, 1, slot, MPI_COMM_WORLD);
    for (int i = 0; i < ROWS; i++)
        for (int r = 0; r < n; r++)
            EQUAL(all[i * n + r], value(r, 3, i));
    MPI_Type_free(&column);
    MPI_Type_free(&spaced);
    MPI_Type_free(&wide);
    MPI_Type_free(&slot);
    free(all);
}

/* Both buffers begin at the same address, but their types alternate: nothing overlaps. */
static void interleaved(void)
{
    int *u = ints((size_t)n * 4), *ones = ints((size_t)n), *ones_too = ints((size_t)n), *at = ints((size_t)n);
    MPI_Datatype even, odd, *evens = malloc(sizeof *evens * (size_t)n), *odds = malloc(sizeof *odds * (size_t)n);
    MPI_Type_indexed(2, (int[]){1, 1}, (int[]){0, 2}, MPI_INT, &even);
    MPI_Type_indexed(2, (int[]){1, 1}, (int[]){1, 3}, MPI_INT, &odd);
    MPI_Type_commit(&even);
    MPI_Type_commit(&odd);
    for (int r = 0; r < n; r++) {
        ones[r] = ones_too[r] = 1;
        at[r] = 4 * r * (int)sizeof(int);
        evens[r] = even;
        odds[r] = odd;
        u[4 * r] = value(me, r, 0);
        u[4 * r + 2] = value(me, r, 1);
    }
    MPI_Alltoallw(u, ones, at, evens, u, ones_too, at, odds, MPI_COMM_WORLD);
    for (int r = 0; r < n; r++) {
        EQUAL(u[4 * r + 1], value(r, me, 0));
        EQUAL(u[4 * r + 3], value(r, me, 1));
        EQUAL(u[4 * r], value(me, r, 0));
    }
    MPI_Type_free(&even);
    MPI_Type_free(&odd);
    /* and everything from MPI_BOTTOM */
    MPI_Aint far[2];
    MPI_Datatype here, there;
    int mine[2] = {value(me, 0, 7), value(me, 0, 8)}, *all = ints((size_t)n * 2);
    MPI_Get_address(&mine[0], &far[0]);
    MPI_Get_address(&mine[1], &far[1]);
    /* two runs, not one */
    MPI_Type_create_hindexed(2, (int[]){1, 1}, (MPI_Aint[]){far[1], far[0]}, MPI_INT, &here);
    MPI_Type_commit(&here);
    MPI_Get_address(&all[0], &far[0]);
    MPI_Get_address(&all[n], &far[1]);
    MPI_Type_create_hindexed(2, (int[]){1, 1}, far, MPI_INT, &odd);
    MPI_Type_create_resized(odd, 0, sizeof(int), &there);
    MPI_Type_commit(&there);
    MPI_Allgather(MPI_BOTTOM, 1, here, MPI_BOTTOM, 1, there, MPI_COMM_WORLD);
    for (int r = 0; r < n; r++) {
        EQUAL(all[r], value(r, 0, 8));
        EQUAL(all[n + r], value(r, 0, 7));
    }
    MPI_Type_free(&odd);
    MPI_Type_free(&here);
    MPI_Type_free(&there);
    free(u);
    free(ones);
    free(ones_too);
    free(at);
    free(evens);
    free(odds);
    free(all);
}

/* Collectives on several communicators, mixed with wildcard receives posted before them. */
static void mixed(void)
{
    MPI_Comm half, back;
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &half);
    MPI_Comm_split(MPI_COMM_WORLD, 0, n - me, &back);
    int in = -1, sum = 0, got, hr, hs, br;
    MPI_Request q;
    MPI_Comm_rank(half, &hr);
    MPI_Comm_size(half, &hs);
    MPI_Comm_rank(back, &br);
    EQUAL(br, n - 1 - me);
    MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &q);
    for (int i = 0; i < 30; i++) {
        got = me + i;
        MPI_Bcast(&got, 1, MPI_INT, i % hs, half);
        EQUAL(got % 2, (me + i) % 2);
        MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, back);
        EQUAL(sum, n * (n - 1) / 2);
        MPI_Barrier(i % 2 ? half : MPI_COMM_WORLD);
        if (i == 15)
            MPI_Send(&me, 1, MPI_INT, (me + 1) % n, 3, MPI_COMM_WORLD);
    }
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    EQUAL(in, (me + n - 1) % n);
    MPI_Comm_free(&half);
    MPI_Comm_free(&back);
}

/* No rank leaves a barrier before the last one has entered: the late rank sends a message to a
 * witness first. */
static void barrier(void)
{
    for (int late = 0; late < n; late++) {
        int witness = (late + 1) % n, flag = 0, word = 0;
        if (me == late)
            MPI_Ssend(&word, n > 1 ? 1 : 0, MPI_INT, n > 1 ? witness : MPI_PROC_NULL, 60,
                      MPI_COMM_WORLD);
        if (me == witness && n > 1)
            MPI_Recv(&word, 1, MPI_INT, late, 60, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Iprobe(late, 60, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        EQUAL(flag, 0);
    }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "coll_move");
    n = check_size;
    me = check_rank;
    barrier();
    section("barrier");
    for (int k = 0; k < NCOUNTS; k++)
        broadcast(COUNTS[k]);
    broadcast(300000);
    section("broadcast");
    for (int k = 0; k < NCOUNTS - 1; k++)
        gather_scatter(COUNTS[k]);
    section("gather and scatter");
    for (int k = 0; k < NCOUNTS - 1; k++)
        v_forms(COUNTS[k]);
    section("v-forms");
    for (int k = 0; k < NCOUNTS; k++)
        all_to_all(COUNTS[k]);
    section("all to all");
    for (int k = 0; k < NCOUNTS; k++)
        all_to_all_v(COUNTS[k]);
    section("all to all v and w");
    types();
    section("types");
    interleaved();
    section("interleaved");
    mixed();
    section("mixed");
    return check_end();
}
