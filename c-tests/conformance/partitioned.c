/* Chapter 4: partitioned point-to-point communication. */
#include "../check.h"

static struct random dice = {.state = 20261};

static void shuffle(int *order, int n)
{
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = (int)below(&dice, (uint32_t)i + 1), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
}

/* The same bytes in `parts` parts here and in `others` parts at the other rank, for several
 * rounds. */
static void ring(int parts, int others, size_t bytes, int rounds)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    char *out = malloc(bytes + 1), *in = malloc(bytes + 1);
    int *order = malloc((size_t)parts * sizeof *order), flag;
    MPI_Request q[2];
    MPI_Status status[2];
    MPI_Psend_init(out, parts, (MPI_Count)(bytes / (size_t)parts), MPI_BYTE, right, 5, check_comm,
                   MPI_INFO_NULL, &q[0]);
    MPI_Precv_init(in, others, (MPI_Count)(bytes / (size_t)others), MPI_BYTE, left, 5, check_comm,
                   MPI_INFO_NULL, &q[1]);
    for (int round = 0; round < rounds; round++) {
        fill(out, bytes, (uint32_t)check_rank, (uint32_t)round);
        memset(in, 0, bytes);
        MPI_Startall(2, q);
        shuffle(order, parts);
        for (int i = 0; i < parts; i++) {
            if (i == parts - 1 && bytes > 0) {
                /* A rank before this line has not made all its parts ready. */
                MPI_Test(&q[0], &flag, MPI_STATUS_IGNORE);
                EQUAL(flag, 0);
            }
            MPI_Pready(order[i], q[0]);
        }
        for (int i = 0; i < others; i += 3) {
            size_t each = bytes / (size_t)others;
            for (flag = 0; !flag;)
                MPI_Parrived(q[1], i, &flag);
            for (size_t b = (size_t)i * each; b < ((size_t)i + 1) * each; b++)
                if (in[b] != (char)pattern((uint32_t)left, (uint32_t)round, (uint32_t)b)) {
                    CHECK(0, "part %d of round %d: byte %zu is not there", i, round, b);
                    break;
                }
        }
        MPI_Waitall(2, q, status);
        EQUAL(wrong_at(in, bytes, (uint32_t)left, (uint32_t)round), -1);
        int n;
        MPI_Get_count(&status[1], MPI_BYTE, &n);
        EQUAL(n, bytes);
        EQUAL(status[1].MPI_SOURCE, left);
        EQUAL(status[1].MPI_TAG, 5);
        note_bytes(in, bytes);
    }
    MPI_Request_free(&q[0]);
    MPI_Request_free(&q[1]);
    free(out);
    free(in);
    free(order);
}

/* Several channels of one tag match in the order of their inits, in any order in which they are
 * started. A part may be waited for before the next part is made ready. */
static void channels(void)
{
    enum { N = 3, PARTS = 4 };
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    int out[N][PARTS], in[N][PARTS], flag = 0;
    MPI_Request s[N], r[N];
    for (int i = 0; i < N; i++)
        MPI_Psend_init(out[i], PARTS, 1, MPI_INT, right, 8, check_comm, MPI_INFO_NULL, &s[i]);
    for (int i = 0; i < N; i++)
        MPI_Precv_init(in[i], PARTS, 1, MPI_INT, left, 8, check_comm, MPI_INFO_NULL, &r[i]);
    for (int i = N - 1; i >= 0; i--)
        MPI_Start(&s[i]);
    MPI_Start(&r[1]);
    for (int i = N - 1; i >= 0; i--)
        for (int p = 0; p < PARTS; p++) {
            out[i][p] = 1000 * check_rank + 10 * i + p;
            MPI_Pready(p, s[i]);
        }
    MPI_Wait(&r[1], MPI_STATUS_IGNORE);
    MPI_Start(&r[0]);
    MPI_Start(&r[2]);
    MPI_Wait(&r[2], MPI_STATUS_IGNORE);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    for (int i = 0; i < N; i++)
        for (int p = 0; p < PARTS; p++)
            EQUAL(in[i][p], 1000 * left + 10 * i + p);
    MPI_Waitall(N, s, MPI_STATUSES_IGNORE);
    MPI_Start(&s[0]);
    MPI_Start(&r[0]);
    for (int p = 0; p < PARTS; p++) {
        MPI_Pready_range(p, p, s[0]);
#ifdef FTMPI_VERSION /* The peer sends nothing before all parts are ready. */
        for (flag = 0; !flag;)
            MPI_Parrived(r[0], p, &flag);
#endif
    }
    MPI_Wait(&s[0], MPI_STATUS_IGNORE);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    (void)flag;
    for (int i = 0; i < N; i++) {
        MPI_Request_free(&s[i]);
        MPI_Request_free(&r[i]);
    }
}

/* Parts of a type with holes, made ready by list; to MPI_PROC_NULL. */
static void types(void)
{
    enum { PARTS = 6, EACH = 50 };
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    static int out[2 * PARTS * EACH], in[2 * PARTS * EACH];
    MPI_Datatype every_second;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &every_second);
    MPI_Type_commit(&every_second);
    for (int i = 0; i < 2 * PARTS * EACH; i++)
        out[i] = 100000 * check_rank + i, in[i] = -1;
    MPI_Request q[4];
    MPI_Psend_init(out, PARTS, EACH, every_second, right, 1, check_comm, MPI_INFO_NULL, &q[0]);
    MPI_Precv_init(in, PARTS / 2, 2 * EACH, every_second, left, 1, check_comm, MPI_INFO_NULL, &q[1]);
    MPI_Psend_init(out, 2, 1, MPI_INT, MPI_PROC_NULL, 1, check_comm, MPI_INFO_NULL, &q[2]);
    MPI_Precv_init(in, 2, 1, MPI_INT, MPI_PROC_NULL, 1, check_comm, MPI_INFO_NULL, &q[3]);
    MPI_Startall(4, q);
    int list[PARTS] = {5, 0, 3, 1, 4, 2}, both[2] = {1, 0};
    MPI_Pready_list(PARTS, list, q[0]);
    MPI_Pready_list(2, both, q[2]);
    MPI_Waitall(4, q, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2 * PARTS * EACH; i++)
        EQUAL(in[i], i % 2 ? -1 : 100000 * left + i);
    for (int i = 0; i < 4; i++)
        MPI_Request_free(&q[i]);
    MPI_Type_free(&every_second);
}

#ifdef FTMPI_VERSION
#define FAILS(call, want)                                                            \
    do {                                                                             \
        int class_ = -1;                                                             \
        MPI_Error_class((call), &class_);                                            \
        CHECK(class_ == (want), #call " gave class %d, must be %d", class_, (want)); \
    } while (0)

static void wrong(void)
{
    int x[4] = {0};
    MPI_Request q = MPI_REQUEST_NULL, p;
    MPI_Comm_set_errhandler(check_comm, MPI_ERRORS_RETURN);
    FAILS(MPI_Psend_init(x, 0, 1, MPI_INT, 0, 0, check_comm, MPI_INFO_NULL, &q), MPI_ERR_ARG);
    FAILS(MPI_Psend_init(x, 2, 1, MPI_INT, check_size, 0, check_comm, MPI_INFO_NULL, &q), MPI_ERR_RANK);
    FAILS(MPI_Precv_init(x, 2, 1, MPI_INT, MPI_ANY_SOURCE, 0, check_comm, MPI_INFO_NULL, &q), MPI_ERR_RANK);
    FAILS(MPI_Precv_init(x, 2, 1, MPI_INT, 0, MPI_ANY_TAG, check_comm, MPI_INFO_NULL, &q), MPI_ERR_TAG);
    MPI_Psend_init(x, 4, 1, MPI_INT, check_rank, 0, check_comm, MPI_INFO_NULL, &q);
    MPI_Precv_init(x, 4, 1, MPI_INT, check_rank, 0, check_comm, MPI_INFO_NULL, &p);
    FAILS(MPI_Pready(0, q), MPI_ERR_REQUEST);
    MPI_Start(&q);
    MPI_Start(&p);
    FAILS(MPI_Pready(4, q), MPI_ERR_ARG);
    MPI_Pready(1, q);
    FAILS(MPI_Pready(1, q), MPI_ERR_ARG);
    FAILS(MPI_Pready_range(0, 1, q), MPI_ERR_ARG);
    FAILS(MPI_Pready(0, p), MPI_ERR_REQUEST);
    MPI_Pready(0, q);
    MPI_Pready_range(2, 3, q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Wait(&p, MPI_STATUS_IGNORE);
    MPI_Request_free(&q);
    MPI_Request_free(&p);
    MPI_Comm_set_errhandler(check_comm, MPI_ERRORS_ARE_FATAL);
}
#endif

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "partitioned");
    ring(1, 1, 100, 2);
    ring(8, 8, 8000, 3);
    ring(12, 3, 60000, 3);
    ring(5, 10, 400000, 3);
    ring(3, 3, 0, 2);
    section("rings");
    channels();
    types();
#ifdef FTMPI_VERSION
    wrong();
#endif
    return check_end();
}
