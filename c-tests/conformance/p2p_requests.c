/* Chapter 3: every Wait and Test, null and inactive requests, persistent requests of all
 * modes, Request_free, Request_get_status, many outstanding operations. */
#include "../check.h"

enum { MANY = 64, OUTSTANDING = 2000 };

static int to, from;

/* Posts MANY receives and sends of one int each; request i carries 1000 * sender + i. */
static void post(MPI_Request *r, MPI_Request *s, int *in, int *out)
{
    for (int i = 0; i < MANY; i++) {
        in[i] = -1;
        out[i] = 1000 * check_rank + i;
        MPI_Irecv(&in[i], 1, MPI_INT, from, i, MPI_COMM_WORLD, &r[i]);
    }
    for (int i = 0; i < MANY; i++)
        MPI_Isend(&out[i], 1, MPI_INT, to, i, MPI_COMM_WORLD, &s[i]);
}

static void verify(const int *in, const char *how)
{
    for (int i = 0; i < MANY; i++)
        CHECK(in[i] == 1000 * from + i, "%s: message %d is %d", how, i, in[i]);
}

static void good_status(const MPI_Status *s, int tag)
{
    int count = -1;
    EQUAL(s->MPI_SOURCE, from);
    EQUAL(s->MPI_TAG, tag);
    MPI_Get_count((MPI_Status *)s, MPI_INT, &count);
    EQUAL(count, 1);
}

static void waits_and_tests(void)
{
    MPI_Request r[MANY], s[MANY];
    MPI_Status st[MANY], one;
    int in[MANY], out[MANY], list[MANY], flag, index, n, done;

    post(r, s, in, out);
    for (int i = MANY - 1; i >= 0; i--) {
        MPI_Wait(&r[i], &one);
        good_status(&one, i);
    }
    MPI_Waitall(MANY, s, MPI_STATUSES_IGNORE);
    verify(in, "Wait");

    post(r, s, in, out);
    for (int i = 0; i < MANY; i++) {
        do
            MPI_Test(&r[i], &flag, &one);
        while (!flag);
        good_status(&one, i);
        CHECK(r[i] == MPI_REQUEST_NULL, "Test left a request");
    }
    MPI_Waitall(MANY, s, st);
    verify(in, "Test");

    post(r, s, in, out);
    MPI_Waitall(MANY, r, st);
    for (int i = 0; i < MANY; i++)
        good_status(&st[i], i);
    MPI_Waitall(MANY, s, MPI_STATUSES_IGNORE);
    verify(in, "Waitall");

    post(r, s, in, out);
    do
        MPI_Testall(MANY, r, &flag, st);
    while (!flag);
    for (int i = 0; i < MANY; i++)
        good_status(&st[i], i);
    do
        MPI_Testall(MANY, s, &flag, MPI_STATUSES_IGNORE);
    while (!flag);
    verify(in, "Testall");

    post(r, s, in, out);
    for (int i = 0; i < MANY; i++) {
        index = -7;
        MPI_Waitany(MANY, r, &index, &one);
        CHECK(index >= 0 && index < MANY, "Waitany gave index %d", index);
        if (index >= 0 && index < MANY)
            good_status(&one, index);
    }
    MPI_Waitany(MANY, r, &index, &one);
    EQUAL(index, MPI_UNDEFINED);
    MPI_Waitall(MANY, s, MPI_STATUSES_IGNORE);
    verify(in, "Waitany");

    post(r, s, in, out);
    for (done = 0; done < MANY;) {
        MPI_Testany(MANY, r, &index, &flag, &one);
        if (!flag)
            continue;
        CHECK(index >= 0 && index < MANY, "Testany gave index %d", index);
        if (index >= 0 && index < MANY)
            good_status(&one, index);
        done++;
    }
    MPI_Testany(MANY, r, &index, &flag, &one);
    EQUAL(flag, 1);
    EQUAL(index, MPI_UNDEFINED);
    MPI_Waitall(MANY, s, MPI_STATUSES_IGNORE);
    verify(in, "Testany");

    post(r, s, in, out);
    for (done = 0; done < MANY; done += n) {
        n = -5;
        MPI_Waitsome(MANY, r, &n, list, st);
        CHECK(n > 0 && n <= MANY, "Waitsome gave %d", n);
        if (n <= 0)
            break;
        for (int i = 0; i < n; i++)
            good_status(&st[i], list[i]);
    }
    MPI_Waitsome(MANY, r, &n, list, st);
    EQUAL(n, MPI_UNDEFINED);
    MPI_Waitall(MANY, s, MPI_STATUSES_IGNORE);
    verify(in, "Waitsome");

    post(r, s, in, out);
    for (done = 0; done < MANY; done += n) {
        MPI_Testsome(MANY, r, &n, list, st);
        for (int i = 0; i < n; i++)
            good_status(&st[i], list[i]);
    }
    MPI_Testsome(MANY, r, &n, list, st);
    EQUAL(n, MPI_UNDEFINED);
    MPI_Waitall(MANY, s, MPI_STATUSES_IGNORE);
    verify(in, "Testsome");
    note(MANY);
}

/* The standard's empty status. */
static void empty(const MPI_Status *s)
{
    int count = -1, cancelled = -1;
    EQUAL(s->MPI_SOURCE, MPI_ANY_SOURCE);
    EQUAL(s->MPI_TAG, MPI_ANY_TAG);
    MPI_Get_count((MPI_Status *)s, MPI_INT, &count);
    EQUAL(count, 0);
    MPI_Test_cancelled((MPI_Status *)s, &cancelled);
    EQUAL(cancelled, 0);
#ifdef FTMPI_VERSION /* The peer leaves it alone. */
    EQUAL(s->MPI_ERROR, MPI_SUCCESS);
#endif
}

static void null_requests(void)
{
    MPI_Request q[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status s, all[3];
    int flag = 0, index = 0, n = 0, list[3];
    memset(&s, 0x33, sizeof s);
    MPI_Wait(&q[0], &s);
    empty(&s);
    memset(&s, 0x33, sizeof s);
    MPI_Test(&q[0], &flag, &s);
    EQUAL(flag, 1);
    empty(&s);
    memset(&s, 0x33, sizeof s);
    MPI_Request_get_status(q[0], &flag, &s);
    EQUAL(flag, 1);
    empty(&s);
    memset(all, 0x33, sizeof all);
    MPI_Waitall(3, q, all);
    for (int i = 0; i < 3; i++)
        empty(&all[i]);
    flag = 0;
    MPI_Testall(3, q, &flag, all);
    EQUAL(flag, 1);
    memset(&s, 0x33, sizeof s);
    MPI_Waitany(3, q, &index, &s);
    EQUAL(index, MPI_UNDEFINED);
    empty(&s);
    MPI_Waitany(0, NULL, &index, &s);
    EQUAL(index, MPI_UNDEFINED);
    MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
    MPI_Testsome(3, q, &n, list, all);
    EQUAL(n, MPI_UNDEFINED);
}

static void persistent(void)
{
    enum { ROUNDS = 20 };
    int out[4], in[4], need = 4 * ((int)sizeof(int) + MPI_BSEND_OVERHEAD) + 64;
    void *room = malloc((size_t)need), *back;
    int size;
    MPI_Request s[4], r[4], q;
    MPI_Status st[4], one;
    MPI_Buffer_attach(room, need);
    MPI_Send_init(&out[0], 1, MPI_INT, to, 0, MPI_COMM_WORLD, &s[0]);
    MPI_Bsend_init(&out[1], 1, MPI_INT, to, 1, MPI_COMM_WORLD, &s[1]);
    MPI_Ssend_init(&out[2], 1, MPI_INT, to, 2, MPI_COMM_WORLD, &s[2]);
    MPI_Rsend_init(&out[3], 1, MPI_INT, to, 3, MPI_COMM_WORLD, &s[3]);
    for (int i = 0; i < 4; i++)
        MPI_Recv_init(&in[i], 1, MPI_INT, from, i, MPI_COMM_WORLD, &r[i]);
    int flag = 0;
    memset(&one, 0x33, sizeof one);
    MPI_Test(&r[0], &flag, &one);   /* inactive */
    EQUAL(flag, 1);
    empty(&one);
    memset(&one, 0x33, sizeof one);
    MPI_Wait(&s[2], &one);
    empty(&one);
    memset(&one, 0x33, sizeof one);
    MPI_Request_get_status(s[2], &flag, &one);
    EQUAL(flag, 1);
    empty(&one);
    for (int k = 0; k < ROUNDS; k++) {
        for (int i = 0; i < 4; i++) {
            in[i] = -1;
            out[i] = 100000 * check_rank + 10 * k + i;
        }
        MPI_Startall(4, r);
        MPI_Barrier(MPI_COMM_WORLD);
        if (k % 2) {
            MPI_Startall(4, s);
        } else {
            for (int i = 0; i < 4; i++)
                MPI_Start(&s[i]);
        }
        MPI_Waitall(4, s, MPI_STATUSES_IGNORE);
        if (k % 3 == 0) {
            int seen = 0, index;
            for (int i = 0; i < 4; i++) {
                MPI_Waitany(4, r, &index, &one);
                seen |= 1 << index;
                good_status(&one, index);
            }
            EQUAL(seen, 15);
        } else {
            MPI_Waitall(4, r, st);
            for (int i = 0; i < 4; i++)
                good_status(&st[i], i);
        }
        for (int i = 0; i < 4; i++) {
            EQUAL(in[i], 100000 * from + 10 * k + i);
            CHECK(r[i] != MPI_REQUEST_NULL, "a persistent request vanished");
        }
    }
    for (int i = 0; i < 4; i++) {
        MPI_Request_free(&s[i]);
        MPI_Request_free(&r[i]);
        CHECK(s[i] == MPI_REQUEST_NULL && r[i] == MPI_REQUEST_NULL, "Request_free left a handle");
    }
    MPI_Send_init(out, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &q);
    MPI_Start(&q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Request_free(&q);
    MPI_Buffer_detach(&back, &size);
    free(room);
    note(ROUNDS);
}

/* A freed active request still completes. */
static void freed(void)
{
    int out = check_rank + 5, in = -1;
    MPI_Request q, r;
    MPI_Irecv(&in, 1, MPI_INT, from, 70, MPI_COMM_WORLD, &r);
    MPI_Isend(&out, 1, MPI_INT, to, 70, MPI_COMM_WORLD, &q);
    MPI_Request_free(&q);
    CHECK(q == MPI_REQUEST_NULL, "Request_free left a handle");
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    EQUAL(in, from + 5);
    MPI_Barrier(MPI_COMM_WORLD);

    int flag = 0;
    MPI_Status s;
    MPI_Irecv(&in, 1, MPI_INT, from, 71, MPI_COMM_WORLD, &r);
    MPI_Request_get_status(r, &flag, &s);
    EQUAL(flag, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(&out, 1, MPI_INT, to, 71, MPI_COMM_WORLD, &q);
    while (!flag)
        MPI_Request_get_status(r, &flag, &s);
    EQUAL(s.MPI_TAG, 71);
    CHECK(r != MPI_REQUEST_NULL, "Request_get_status freed the request");
    MPI_Wait(&r, &s);
    EQUAL(s.MPI_TAG, 71);
    MPI_Wait(&q, MPI_STATUS_IGNORE);

    /* A request that failed reports so, like MPI_Test, and stays. */
    int code = MPI_SUCCESS, class = -1, two[2] = {7, 8};
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Irecv(&in, 1, MPI_INT, from, 72, MPI_COMM_WORLD, &r);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(two, 2, MPI_INT, to, 72, MPI_COMM_WORLD);
    for (flag = 0; !flag && code == MPI_SUCCESS;)
        code = MPI_Request_get_status(r, &flag, &s);
    MPI_Error_class(code, &class);
    EQUAL(class, MPI_ERR_TRUNCATE);
    CHECK(r != MPI_REQUEST_NULL, "Request_get_status freed the request");
    MPI_Error_class(MPI_Wait(&r, &s), &class);
    EQUAL(class, MPI_ERR_TRUNCATE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* Thousands of operations at once, received in another order than sent. */
static void outstanding(void)
{
    MPI_Request *q = malloc(sizeof *q * 2 * OUTSTANDING);
    int *out = malloc(sizeof *out * OUTSTANDING), *in = malloc(sizeof *in * OUTSTANDING);
    for (int i = 0; i < OUTSTANDING; i++) {
        out[i] = check_rank * OUTSTANDING + i;
        MPI_Isend(&out[i], 1, MPI_INT, to, i, MPI_COMM_WORLD, &q[i]);
    }
    for (int i = 0; i < OUTSTANDING; i++) {
        int tag = (i * 7 + 3) % OUTSTANDING;
        MPI_Irecv(&in[tag], 1, MPI_INT, from, tag, MPI_COMM_WORLD, &q[OUTSTANDING + i]);
    }
    MPI_Waitall(2 * OUTSTANDING, q, MPI_STATUSES_IGNORE);
    for (int i = 0; i < OUTSTANDING; i++)
        CHECK(in[i] == from * OUTSTANDING + i, "outstanding message %d is %d", i, in[i]);
    /* and large messages, rendezvous in both directions at once */
    enum { BIG = 12, BYTES = 300000 };
    unsigned char *bo = malloc((size_t)BIG * BYTES), *bi = malloc((size_t)BIG * BYTES);
    for (int i = 0; i < BIG; i++) {
        fill(bo + (size_t)i * BYTES, BYTES, (uint32_t)check_rank, (uint32_t)i);
        MPI_Isend(bo + (size_t)i * BYTES, BYTES, MPI_BYTE, to, i, MPI_COMM_WORLD, &q[i]);
    }
    for (int i = 0; i < BIG; i++)
        MPI_Irecv(bi + (size_t)(BIG - 1 - i) * BYTES, BYTES, MPI_BYTE, from, BIG - 1 - i,
                  MPI_COMM_WORLD, &q[BIG + i]);
    MPI_Waitall(2 * BIG, q, MPI_STATUSES_IGNORE);
    for (int i = 0; i < BIG; i++)
        CHECK(wrong_at(bi + (size_t)i * BYTES, BYTES, (uint32_t)from, (uint32_t)i) < 0,
              "big outstanding message %d is wrong", i);
    free(bo);
    free(bi);
    free(q);
    free(out);
    free(in);
}

/* MPI-4.1, 3.7.5: a program that waits for some of many requests, over and over, learns of each
 * request at some time, however many are complete every time. */
static void fair(void)
{
    enum { LIST = 90, CALLS = 2000 };
    MPI_Request q[LIST];
    MPI_Status s[LIST];
    int in[LIST], completed[LIST] = {0}, indices[LIST], n, missing = LIST, calls = 0;
    for (int i = 0; i < LIST; i++) {
        MPI_Irecv(&in[i], 1, MPI_INT, check_rank, i, check_comm, &q[i]);
        MPI_Send(&i, 1, MPI_INT, check_rank, i, check_comm);
    }
    for (; missing > 0 && calls < CALLS; calls++) {
        if (calls % 2)
            MPI_Testsome(LIST, q, &n, indices, s);
        else
            MPI_Waitsome(LIST, q, &n, indices, s);
        CHECK(calls % 2 || n > 0, "Waitsome completes nothing");
        for (int k = 0; k < n; k++) {
            int i = indices[k];
            EQUAL(in[i], i);
            EQUAL(s[k].MPI_TAG, i);
            missing -= !completed[i]++;
            MPI_Irecv(&in[i], 1, MPI_INT, check_rank, i, check_comm, &q[i]);
            MPI_Send(&i, 1, MPI_INT, check_rank, i, check_comm);
        }
    }
    EQUAL(missing, 0);
    MPI_Waitall(LIST, q, MPI_STATUSES_IGNORE);
    /* A request that completes at its start does not hide the other. */
    int got = -1, seven = 7;
    MPI_Irecv(&got, 1, MPI_INT, check_rank, 200, check_comm, &q[1]);
    MPI_Send(&seven, 1, MPI_INT, check_rank, 200, check_comm);
    for (calls = 0; got != 7 || q[1] != MPI_REQUEST_NULL; calls++) {
        MPI_Irecv(in, 1, MPI_INT, MPI_PROC_NULL, 0, check_comm, &q[0]);
        if (calls % 2)
            MPI_Testsome(2, q, &n, indices, s);
        else
            MPI_Waitsome(2, q, &n, indices, s);
        CHECK(n > 0 && q[0] == MPI_REQUEST_NULL, "a receive of nothing is complete");
        if (calls == CALLS)
            break;
    }
    CHECK(calls < CALLS, "the other request never completes");
    MPI_Wait(&q[1], MPI_STATUS_IGNORE);
    EQUAL(got, 7);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "p2p_requests");
    to = (check_rank + 1) % check_size;
    from = (check_rank + check_size - 1) % check_size;
    waits_and_tests();
    section("waits and tests");
    null_requests();
    section("null requests");
    persistent();
    section("persistent");
    freed();
    section("freed");
    outstanding();
    section("outstanding");
    fair();
    section("fair");
    return check_end();
}
