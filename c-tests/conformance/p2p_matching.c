/* Chapter 3: probe, wildcards, order, truncation, cancel, sendrecv, messages to the rank itself,
 * separation of communicators, the largest tag. */
#include "../check.h"

static int to, from;

static void probes(void)
{
    int out[9] = {0}, flag = 0, count = -1;
    MPI_Status s;
    for (int i = 0; i < 9; i++)
        out[i] = check_rank + i;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &s);
    EQUAL(flag, 0);
    MPI_Barrier(check_comm);
    MPI_Request q[9];
    for (int i = 0; i < 9; i++)
        MPI_Isend(out, i + 1, MPI_INT, to, 30 + i, MPI_COMM_WORLD, &q[i]);
    for (int i = 8; i >= 0; i--) {
        if (i % 2) {
            do
                MPI_Iprobe(i % 3 ? from : MPI_ANY_SOURCE, 30 + i, MPI_COMM_WORLD, &flag, &s);
            while (!flag);
        } else {
            MPI_Probe(i % 3 ? MPI_ANY_SOURCE : from, 30 + i, MPI_COMM_WORLD, &s);
        }
        EQUAL(s.MPI_SOURCE, from);
        EQUAL(s.MPI_TAG, 30 + i);
        MPI_Get_count(&s, MPI_INT, &count);
        EQUAL(count, i + 1);
        MPI_Get_count(&s, MPI_DOUBLE, &count);
        EQUAL(count, (i + 1) % 2 ? MPI_UNDEFINED : (i + 1) / 2);
        int in[9];
        MPI_Recv(in, i + 1, MPI_INT, s.MPI_SOURCE, s.MPI_TAG, MPI_COMM_WORLD, &s);
        EQUAL(in[i], from + i);
    }
    MPI_Waitall(9, q, MPI_STATUSES_IGNORE);
    /* a probe with two wildcards shows the first message of the only sender */
    for (int i = 0; i < 5; i++)
        MPI_Isend(&out[i], 1, MPI_INT, to, 50 + i, MPI_COMM_WORLD, &q[i]);
    for (int i = 0; i < 5; i++) {
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
        EQUAL(s.MPI_TAG, 50 + i);
        int in = -1;
        MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
        EQUAL(s.MPI_TAG, 50 + i);
        EQUAL(in, from + i);
    }
    MPI_Waitall(5, q, MPI_STATUSES_IGNORE);
    MPI_Barrier(check_comm);
}

/* Rank 0 receives from any rank. Messages of one sender with one tag come in order. */
static void wildcards(void)
{
    enum { EACH = 100 };
    if (check_rank == 0) {
        int *next = calloc((size_t)check_size * 3, sizeof *next);
        for (int i = 0; i < (check_size - 1) * EACH; i++) {
            int in[2];
            MPI_Status s;
            MPI_Recv(in, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
            CHECK(s.MPI_SOURCE > 0 && s.MPI_SOURCE < check_size, "source %d", s.MPI_SOURCE);
            CHECK(s.MPI_TAG >= 0 && s.MPI_TAG < 3, "tag %d", s.MPI_TAG);
            EQUAL(in[0], s.MPI_SOURCE);
            int *n = &next[s.MPI_SOURCE * 3 + s.MPI_TAG];
            CHECK(in[1] >= *n, "messages of one sender overtook each other");
            *n = in[1] + 1;
        }
        free(next);
    } else {
        for (int i = 0; i < EACH; i++) {
            int out[2] = {check_rank, i};
            MPI_Send(out, 2, MPI_INT, 0, i % 3, MPI_COMM_WORLD);
        }
    }
    MPI_Barrier(check_comm);
    /* wildcard tag: order of the pair is kept over all tags and sizes */
    enum { MIXED = 60 };
    MPI_Request q[MIXED];
    unsigned char *out = malloc((size_t)MIXED * 40000), *in = malloc(40000);
    for (int i = 0; i < MIXED; i++) {
        int bytes = i % 4 == 3 ? 40000 : 16 * i;
        fill(out + (size_t)i * 40000, (size_t)bytes, (uint32_t)check_rank, (uint32_t)i);
        MPI_Isend(out + (size_t)i * 40000, bytes, MPI_BYTE, to, i * 5, MPI_COMM_WORLD, &q[i]);
    }
    for (int i = 0; i < MIXED; i++) {
        int bytes = i % 4 == 3 ? 40000 : 16 * i, count;
        MPI_Status s;
        MPI_Recv(in, 40000, MPI_BYTE, from, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
        EQUAL(s.MPI_TAG, i * 5);
        MPI_Get_count(&s, MPI_BYTE, &count);
        EQUAL(count, bytes);
        CHECK(wrong_at(in, (size_t)bytes, (uint32_t)from, (uint32_t)i) < 0, "message %d", i);
    }
    MPI_Waitall(MIXED, q, MPI_STATUSES_IGNORE);
    free(out);
    free(in);
    /* receives are matched in the order of posting */
    int got[4] = {-1, -1, -1, -1}, word[4];
    MPI_Request r[4];
    MPI_Irecv(&got[0], 1, MPI_INT, from, 1, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(&got[1], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &r[1]);
    MPI_Irecv(&got[2], 1, MPI_INT, from, MPI_ANY_TAG, MPI_COMM_WORLD, &r[2]);
    MPI_Irecv(&got[3], 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &r[3]);
    MPI_Barrier(check_comm);
    static const int tags[4] = {1, 1, 1, 1};
    for (int i = 0; i < 4; i++) {
        word[i] = 10 * check_rank + i;
        MPI_Isend(&word[i], 1, MPI_INT, to, tags[i], MPI_COMM_WORLD, &q[i]);
    }
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    MPI_Waitall(4, q, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 4; i++)
        EQUAL(got[i], 10 * from + i);
}

static void truncation(void)
{
    int out[8] = {1, 2, 3, 4, 5, 6, 7, 8}, in[8], class = -1, code;
    MPI_Request q, r;
    MPI_Status s;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int late = 0; late < 2; late++) {
        memset(in, 0, sizeof in);
        if (late) {
            MPI_Isend(out, 8, MPI_INT, to, 3, MPI_COMM_WORLD, &q);
            MPI_Probe(from, 3, MPI_COMM_WORLD, &s);
            code = MPI_Recv(in, 4, MPI_INT, from, 3, MPI_COMM_WORLD, &s);
        } else {
            MPI_Irecv(in, 4, MPI_INT, from, 3, MPI_COMM_WORLD, &r);
            MPI_Barrier(check_comm);
            MPI_Isend(out, 8, MPI_INT, to, 3, MPI_COMM_WORLD, &q);
            code = MPI_Wait(&r, &s);
        }
        CHECK(code != MPI_SUCCESS, "a message that is too long was taken");
        MPI_Error_class(code, &class);
        EQUAL(class, MPI_ERR_TRUNCATE);
        EQUAL(in[4], 0);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
    }
    /* in Waitall the error hides in the status */
    MPI_Request two[2];
    MPI_Status st[2];
    MPI_Irecv(in, 8, MPI_INT, from, 4, MPI_COMM_WORLD, &two[0]);
    MPI_Irecv(in, 2, MPI_INT, from, 5, MPI_COMM_WORLD, &two[1]);
    MPI_Barrier(check_comm);
    MPI_Send(out, 3, MPI_INT, to, 4, MPI_COMM_WORLD);
    MPI_Isend(out, 3, MPI_INT, to, 5, MPI_COMM_WORLD, &q);
    code = MPI_Waitall(2, two, st);
    MPI_Error_class(code, &class);
    EQUAL(class, MPI_ERR_IN_STATUS);
    EQUAL(st[0].MPI_ERROR, MPI_SUCCESS);
    MPI_Error_class(st[1].MPI_ERROR, &class);
    EQUAL(class, MPI_ERR_TRUNCATE);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Barrier(check_comm);
}

static void cancel(void)
{
    int word = 1, flag = 0;
    MPI_Request q;
    MPI_Status s;
    MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 999, MPI_COMM_WORLD, &q);
    MPI_Cancel(&q);
    MPI_Wait(&q, &s);
    MPI_Test_cancelled(&s, &flag);
    EQUAL(flag, 1);
    /* too late: the message has arrived */
    MPI_Irecv(&word, 1, MPI_INT, from, 998, MPI_COMM_WORLD, &q);
    MPI_Barrier(check_comm);
    int out = 77;
    MPI_Ssend(&out, 1, MPI_INT, check_size == 1 ? MPI_PROC_NULL : to, 998, MPI_COMM_WORLD);
    MPI_Barrier(check_comm);
    MPI_Cancel(&q);
    MPI_Wait(&q, &s);
    MPI_Test_cancelled(&s, &flag);
    if (check_size > 1) {
        EQUAL(flag, 0);
        EQUAL(word, 77);
    } else {
        EQUAL(flag, 1);
    }
    /* the cancelled receive takes nothing from a later one */
    MPI_Irecv(&word, 1, MPI_INT, from, 997, MPI_COMM_WORLD, &q);
    MPI_Cancel(&q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Barrier(check_comm);
    int got = -1;
    MPI_Sendrecv(&check_rank, 1, MPI_INT, to, 997, &got, 1, MPI_INT, from, 997, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    EQUAL(got, from);
#ifdef FTMPI_VERSION /* With the peer the wait lasts for ever. */
    /* A synchronous send that nobody receives. To this rank itself it is cancelled. */
    MPI_Issend(&out, 1, MPI_INT, check_rank, 996, MPI_COMM_WORLD, &q);
    MPI_Cancel(&q);
    MPI_Wait(&q, &s);
    MPI_Test_cancelled(&s, &flag);
    EQUAL(flag, 1);
    MPI_Iprobe(check_rank, 996, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    EQUAL(flag, 0);
    /* With a receive it is too late. */
    MPI_Request r;
    word = 0;
    MPI_Irecv(&word, 1, MPI_INT, check_rank, 996, MPI_COMM_WORLD, &r);
    MPI_Issend(&out, 1, MPI_INT, check_rank, 996, MPI_COMM_WORLD, &q);
    MPI_Cancel(&q);
    MPI_Wait(&q, &s);
    MPI_Test_cancelled(&s, &flag);
    EQUAL(flag, 0);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    EQUAL(word, 77);
    /* To another rank: it is cancelled, or where a replay may come the wait returns before there is
     * a receive. */
    if (check_size > 1) {
        MPI_Ssend_init(&out, 1, MPI_INT, to, 995, MPI_COMM_WORLD, &q);
        MPI_Start(&q);
        MPI_Cancel(&q);
        MPI_Wait(&q, &s);
        int cancelled, theirs;
        MPI_Test_cancelled(&s, &cancelled);
        MPI_Request_free(&q);
        MPI_Sendrecv(&cancelled, 1, MPI_INT, to, 994, &theirs, 1, MPI_INT, from, 994,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Iprobe(from, 995, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        EQUAL(flag, !theirs);
        if (!theirs)
            MPI_Recv(&word, 1, MPI_INT, from, 995, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
#endif
}

static void exchanges(void)
{
    static const int sizes[] = {0, 1, 100, 20000, 500000};
    for (int k = 0; k < 5; k++) {
        int n = sizes[k], count;
        unsigned char *out = malloc((size_t)n + 1), *in = malloc((size_t)n + 1);
        MPI_Status s;
        fill(out, (size_t)n, (uint32_t)check_rank, 8);
        MPI_Sendrecv(out, n, MPI_BYTE, to, k, in, n, MPI_BYTE, from, k, MPI_COMM_WORLD, &s);
        CHECK(wrong_at(in, (size_t)n, (uint32_t)from, 8) < 0, "Sendrecv of %d bytes", n);
        EQUAL(s.MPI_SOURCE, from);
        MPI_Sendrecv_replace(out, n, MPI_BYTE, to, k, from, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
        CHECK(wrong_at(out, (size_t)n, (uint32_t)from, 8) < 0, "Sendrecv_replace of %d bytes", n);
        MPI_Get_count(&s, MPI_BYTE, &count);
        EQUAL(count, n);
        EQUAL(s.MPI_TAG, k);
        free(out);
        free(in);
    }
    /* a chain whose ends have no neighbour */
    int left = check_rank ? check_rank - 1 : MPI_PROC_NULL;
    int right = check_rank + 1 < check_size ? check_rank + 1 : MPI_PROC_NULL;
    int in = -1;
    MPI_Sendrecv(&check_rank, 1, MPI_INT, right, 0, &in, 1, MPI_INT, left, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    EQUAL(in, check_rank - 1);
}

static void oneself(void)
{
    int out[3] = {1, 2, 3}, in[3] = {0}, flag;
    MPI_Request q[3];
    MPI_Status s;
    for (int i = 0; i < 3; i++)
        MPI_Isend(&out[i], 1, MPI_INT, 0, 7, MPI_COMM_SELF, &q[i]);
    MPI_Iprobe(0, 7, MPI_COMM_SELF, &flag, &s);
    EQUAL(flag, 1);
    for (int i = 0; i < 3; i++)
        MPI_Recv(&in[i], 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_SELF, &s);
    MPI_Waitall(3, q, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 3; i++)
        EQUAL(in[i], out[i]);
    enum { BIG = 2000000 };
    unsigned char *bo = malloc(BIG), *bi = malloc(BIG);
    fill(bo, BIG, (uint32_t)check_rank, 1);
    MPI_Isend(bo, BIG, MPI_BYTE, check_rank, 8, MPI_COMM_WORLD, &q[0]);
    MPI_Recv(bi, BIG, MPI_BYTE, check_rank, 8, MPI_COMM_WORLD, &s);
    MPI_Wait(&q[0], MPI_STATUS_IGNORE);
    CHECK(wrong_at(bi, BIG, (uint32_t)check_rank, 1) < 0, "a big message to oneself");
    MPI_Irecv(bi, BIG, MPI_BYTE, check_rank, 9, MPI_COMM_WORLD, &q[1]);
    MPI_Issend(bo, BIG, MPI_BYTE, check_rank, 9, MPI_COMM_WORLD, &q[0]);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    free(bo);
    free(bi);
}

/* The same source and tag on three communicators never mix. */
static void separation(void)
{
    MPI_Comm a, b;
    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    MPI_Comm_dup(a, &b);
    int out[3] = {1, 2, 3}, in[3] = {0};
    MPI_Request q[3];
    MPI_Isend(&out[0], 1, MPI_INT, to, 4, MPI_COMM_WORLD, &q[0]);
    MPI_Isend(&out[1], 1, MPI_INT, to, 4, a, &q[1]);
    MPI_Isend(&out[2], 1, MPI_INT, to, 4, b, &q[2]);
    MPI_Recv(&in[2], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, b, MPI_STATUS_IGNORE);
    MPI_Recv(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, a, MPI_STATUS_IGNORE);
    MPI_Recv(&in[0], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(3, q, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 3; i++)
        EQUAL(in[i], i + 1);
    MPI_Comm_free(&a);
    MPI_Comm_free(&b);
    int *ub = NULL, flag = 0, got = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &ub, &flag);
    CHECK(flag && *ub >= 32767, "MPI_TAG_UB");
    MPI_Status s;
    MPI_Sendrecv(&check_rank, 1, MPI_INT, to, *ub, &got, 1, MPI_INT, from, *ub, MPI_COMM_WORLD, &s);
    EQUAL(s.MPI_TAG, *ub);
    EQUAL(got, from);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "p2p_matching");
    to = (check_rank + 1) % check_size;
    from = (check_rank + check_size - 1) % check_size;
    probes();
    section("probes");
    wildcards();
    section("wildcards and order");
    truncation();
    section("truncation");
    cancel();
    section("cancel");
    exchanges();
    section("exchanges");
    oneself();
    section("oneself");
    separation();
    section("separation");
    return check_end();
}
