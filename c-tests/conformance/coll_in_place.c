/* MPI_IN_PLACE in every collective that allows it (chapter 6), in all forms: with `int` and with
 * `MPI_Count`, blocking, non-blocking and persistent (started twice). The reference is the
 * ordinary call, which other programs of this folder check against a model. */
#include "../check.h"

enum { MAX = 4096, WORDS = MAX / (int)sizeof(int) };

/* The buffer before the call, the result of the ordinary call, and the actual result. */
static int start[WORDS], want[WORDS], got[WORDS];
static int n, me;

static void same(const char *form, int words)
{
    CHECK(!memcmp(got, want, (size_t)words * sizeof(int)), "%s in place writes something else", form);
    memcpy(got, start, MAX);
}

static void once(MPI_Request *q)
{
    MPI_Wait(q, MPI_STATUS_IGNORE);
    EQUAL(*q == MPI_REQUEST_NULL, 1);
}

static void twice(MPI_Request *q, const char *form, int words)
{
    /* MPICH 4.0 writes wrong data in later rounds. */
    for (int k = peer_is_mpich_4_0(); k < 2; k++) {
        memcpy(got, start, MAX);
        MPI_Start(q);
        MPI_Wait(q, MPI_STATUS_IGNORE);
        same(form, words);
    }
    MPI_Request_free(q);
}

/* Only the first `words` of the result count. USUAL writes to `want`; SMALL and LARGE work in
 * `got`. */
#define PLACE(Name, name, words, USUAL, SMALL, LARGE)                            \
    do {                                                                         \
        MPI_Request q;                                                           \
        memcpy(want, start, MAX);                                                \
        memcpy(got, start, MAX);                                                 \
        EQUAL(MPI_##Name(IDENT USUAL, check_comm), MPI_SUCCESS);                 \
        EQUAL(MPI_##Name(IDENT SMALL, check_comm), MPI_SUCCESS);                 \
        same(#Name, words);                                                      \
        EQUAL(MPI_##Name##_c(IDENT LARGE, check_comm), MPI_SUCCESS);             \
        same(#Name "_c", words);                                                 \
        EQUAL(MPI_I##name(IDENT SMALL, check_comm, &q), MPI_SUCCESS);            \
        once(&q);                                                                \
        same("I" #name, words);                                                  \
        EQUAL(MPI_I##name##_c(IDENT LARGE, check_comm, &q), MPI_SUCCESS);        \
        once(&q);                                                                \
        same("I" #name "_c", words);                                             \
        EQUAL(MPI_##Name##_init(IDENT SMALL, check_comm, MPI_INFO_NULL, &q), MPI_SUCCESS);   \
        twice(&q, #Name "_init", words);                                         \
        EQUAL(MPI_##Name##_init_c(IDENT LARGE, check_comm, MPI_INFO_NULL, &q), MPI_SUCCESS); \
        twice(&q, #Name "_init_c", words);                                       \
        note_bytes(want, (size_t)(words) * sizeof(int));                         \
    } while (0)
#define IDENT(...) __VA_ARGS__
#define NOTHING MPI_IN_PLACE, 0, MPI_DATATYPE_NULL

static int in[WORDS];
static int counts[16], places[16], byte_places[16];
static MPI_Count lcounts[16];
static MPI_Aint lplaces[16], lbyte_places[16];
static MPI_Datatype types[16];

/* As many values in both directions of each pair, with gaps. */
static void pairs(void)
{
    for (int i = 0, at = 1; i < n; at += counts[i++] + 1) {
        lcounts[i] = counts[i] = 1 + (i + me) % 3;
        lplaces[i] = places[i] = at;
        lbyte_places[i] = byte_places[i] = at * (int)sizeof(int);
        types[i] = MPI_INT;
    }
}

/* The same number of values from each rank. MPICH 4.0 ignores displacements when a rank is
 * alone. */
static void ragged(void)
{
    for (int i = 0, at = n > 1; i < n; at += counts[i++] + 1) {
        lcounts[i] = counts[i] = 1 + i % 3;
        lplaces[i] = places[i] = at;
    }
}

static void blank(void)
{
    for (int i = 0; i < WORDS; i++)
        start[i] = -7;
}

/* `start` has this rank's own part where the result has that part. */
static void own(int at, int count)
{
    blank();
    memcpy(start + at, in, (size_t)count * sizeof(int));
}

static void all_to_all(void)
{
    own(3 * me, 3);
    PLACE(Allgather, allgather, WORDS, (in, 3, MPI_INT, want, 3, MPI_INT), (NOTHING, got, 3, MPI_INT),
          (NOTHING, got, 3, MPI_INT));
    ragged();
    own(places[me], counts[me]);
    PLACE(Allgatherv, allgatherv, WORDS, (in, counts[me], MPI_INT, want, counts, places, MPI_INT),
          (NOTHING, got, counts, places, MPI_INT), (NOTHING, got, lcounts, lplaces, MPI_INT));
    memcpy(start, in, MAX);
    PLACE(Alltoall, alltoall, WORDS, (start, 2, MPI_INT, want, 2, MPI_INT), (NOTHING, got, 2, MPI_INT),
          (NOTHING, got, 2, MPI_INT));
    pairs();
    PLACE(Alltoallv, alltoallv, WORDS, (start, counts, places, MPI_INT, want, counts, places, MPI_INT),
          (MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, got, counts, places, MPI_INT),
          (MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, got, lcounts, lplaces, MPI_INT));
    PLACE(Alltoallw, alltoallw, WORDS, (start, counts, byte_places, types, want, counts, byte_places, types),
          (MPI_IN_PLACE, NULL, NULL, NULL, got, counts, byte_places, types),
          (MPI_IN_PLACE, NULL, NULL, NULL, got, lcounts, lbyte_places, types));
    section("all to all");
}

static void rooted(int root)
{
    const void *from = me == root ? MPI_IN_PLACE : in;
    void *to = me == root ? MPI_IN_PLACE : got;
    own(3 * me, 3);
    PLACE(Gather, gather, WORDS, (in, 3, MPI_INT, want, 3, MPI_INT, root),
          (from, 3, MPI_INT, got, 3, MPI_INT, root), (from, 3, MPI_INT, got, 3, MPI_INT, root));
    ragged();
    own(places[me], counts[me]);
    PLACE(Gatherv, gatherv, WORDS, (in, counts[me], MPI_INT, want, counts, places, MPI_INT, root),
          (from, counts[me], MPI_INT, got, counts, places, MPI_INT, root),
          (from, counts[me], MPI_INT, got, lcounts, lplaces, MPI_INT, root));
    /* The root keeps its own part in place: nothing is written there. */
    int words = me == root ? 0 : WORDS;
    blank();
    PLACE(Scatter, scatter, words, (in, 3, MPI_INT, want, 3, MPI_INT, root),
          (in, 3, MPI_INT, to, 3, MPI_INT, root), (in, 3, MPI_INT, to, 3, MPI_INT, root));
    PLACE(Scatterv, scatterv, words, (in, counts, places, MPI_INT, want, counts[me], MPI_INT, root),
          (in, counts, places, MPI_INT, to, counts[me], MPI_INT, root),
          (in, lcounts, lplaces, MPI_INT, to, counts[me], MPI_INT, root));
    memcpy(start, in, MAX);
    words = me == root ? WORDS : 0;
    const void *given = me == root ? MPI_IN_PLACE : start;
    PLACE(Reduce, reduce, words, (start, want, 50, MPI_INT, MPI_SUM, root),
          (given, got, 50, MPI_INT, MPI_SUM, root), (given, got, 50, MPI_INT, MPI_SUM, root));
    section("rooted");
}

static void reductions(void)
{
    memcpy(start, in, MAX);
    PLACE(Allreduce, allreduce, WORDS, (start, want, 50, MPI_INT, MPI_MAX),
          (MPI_IN_PLACE, got, 50, MPI_INT, MPI_MAX), (MPI_IN_PLACE, got, 50, MPI_INT, MPI_MAX));
    PLACE(Scan, scan, WORDS, (start, want, 50, MPI_INT, MPI_SUM), (MPI_IN_PLACE, got, 50, MPI_INT, MPI_SUM),
          (MPI_IN_PLACE, got, 50, MPI_INT, MPI_SUM));
    /* Rank 0 has no result. */
    PLACE(Exscan, exscan, me ? WORDS : 0, (start, want, 50, MPI_INT, MPI_SUM),
          (MPI_IN_PLACE, got, 50, MPI_INT, MPI_SUM), (MPI_IN_PLACE, got, 50, MPI_INT, MPI_SUM));
    ragged();
    /* Behind the result the buffer may have any content. */
    PLACE(Reduce_scatter, reduce_scatter, counts[me], (start, want, counts, MPI_INT, MPI_SUM),
          (MPI_IN_PLACE, got, counts, MPI_INT, MPI_SUM), (MPI_IN_PLACE, got, lcounts, MPI_INT, MPI_SUM));
    PLACE(Reduce_scatter_block, reduce_scatter_block, 4, (start, want, 4, MPI_INT, MPI_BXOR),
          (MPI_IN_PLACE, got, 4, MPI_INT, MPI_BXOR), (MPI_IN_PLACE, got, 4, MPI_INT, MPI_BXOR));
    section("reductions");
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "coll_in_place");
    n = check_size, me = check_rank;
    for (int i = 0; i < WORDS; i++)
        in[i] = 100000 * me + i;
    all_to_all();
    for (int root = 0; root < n; root += n > 2 ? n - 1 : 1)
        rooted(root);
    reductions();
    return check_end();
}
