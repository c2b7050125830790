/* Generalized requests, the index of a request that failed, statuses of requests that stay, and
 * buffers for MPI_Bsend of MPI-4.1. */
#include "../check.h"

struct state {
    int queried, freed, cancelled, saw_complete, count, fail;
};

static int query(void *extra, MPI_Status *status)
{
    struct state *s = extra;
    s->queried++;
    MPI_Status_set_elements(status, MPI_INT, s->count);
    MPI_Status_set_cancelled(status, s->cancelled);
    status->MPI_SOURCE = 7;
    status->MPI_TAG = 9;
    return s->fail ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int release(void *extra)
{
    struct state *s = extra;
    s->freed++;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    struct state *s = extra;
    s->cancelled = 1;
    s->saw_complete = complete;
    return MPI_SUCCESS;
}

static void one_request(void)
{
    struct state s = {.count = 5};
    MPI_Request q;
    MPI_Status status;
    int flag, n;
    MPI_Grequest_start(query, release, cancel, &s, &q);
    MPI_Test(&q, &flag, &status);
    EQUAL(flag, 0);
    EQUAL(s.queried, 0);
    MPI_Request_get_status(q, &flag, &status);
    EQUAL(flag, 0);
    MPI_Grequest_complete(q);
    MPI_Request_get_status(q, &flag, &status);
    EQUAL(flag, 1);
    EQUAL(s.queried, 1);
    EQUAL(s.freed, 0);
    MPI_Wait(&q, &status);
    EQUAL(q == MPI_REQUEST_NULL, 1);
    EQUAL(s.queried, 2);
    EQUAL(s.freed, 1);
    MPI_Get_elements(&status, MPI_INT, &n);
    EQUAL(n, 5);
    EQUAL(status.MPI_SOURCE, 7);
    EQUAL(status.MPI_TAG, 9);

    /* Cancelled, then complete, with the status ignored. */
    struct state c = {.count = 1};
    MPI_Grequest_start(query, release, cancel, &c, &q);
    MPI_Cancel(&q);
    EQUAL(c.cancelled, 1);
    EQUAL(c.saw_complete, 0);
    MPI_Grequest_complete(q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    EQUAL(c.freed, 1);

    /* Freed before completion: the free function is called at the completion. */
    struct state f = {.count = 1};
    MPI_Grequest_start(query, release, cancel, &f, &q);
    MPI_Request kept = q;
    MPI_Request_free(&q);
    EQUAL(q == MPI_REQUEST_NULL, 1);
    EQUAL(f.freed, peer_is_mpich_4_0() ? f.freed : 0);
    MPI_Grequest_complete(kept);
    EQUAL(f.freed, 1);
    EQUAL(f.queried, 0);
}

static void among_others(void)
{
    enum { N = 3 };
    struct state s[N] = {{.count = 10}, {.count = 20}, {.count = 30}};
    MPI_Request q[N + 1];
    MPI_Status status[N + 1];
    int in = -1, out = check_rank, n, index, flag;
    for (int i = 0; i < N; i++)
        MPI_Grequest_start(query, release, cancel, &s[i], &q[i]);
    MPI_Irecv(&in, 1, MPI_INT, check_rank, 3, check_comm, &q[N]);
    MPI_Grequest_complete(q[1]);
    MPI_Waitany(N, q, &index, status);
    EQUAL(index, 1);
    EQUAL(s[1].freed, 1);
    MPI_Get_elements(status, MPI_INT, &n);
    EQUAL(n, 20);
    MPI_Testall(N + 1, q, &flag, status);
    EQUAL(flag, 0);
    MPI_Send(&out, 1, MPI_INT, check_rank, 3, check_comm);
    MPI_Grequest_complete(q[0]);
    MPI_Grequest_complete(q[2]);
    MPI_Waitall(N + 1, q, status);
    EQUAL(in, check_rank);
    for (int i = 0; i < N; i += 2) {
        MPI_Get_elements(&status[i], MPI_INT, &n);
        EQUAL(n, 10 * (i + 1));
        EQUAL(s[i].freed, 1);
    }
    EQUAL(status[N].MPI_TAG, 3);
}

/* A query function that fails: MPI_Wait returns the function's code, and the status of
 * MPI_Waitall contains it. */
static void failing(void)
{
    struct state s = {.fail = 1};
    MPI_Request q[2];
    MPI_Status status[2];
    int class;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Grequest_start(query, release, cancel, &s, &q[0]);
    MPI_Grequest_complete(q[0]);
    MPI_Error_class(MPI_Wait(&q[0], status), &class);
    EQUAL(class, MPI_ERR_OTHER);
    EQUAL(s.freed, 1);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* The index of a request that failed is returned. */
static void truncated(void)
{
    char in[2][4], out[8] = "abcdefg";
    MPI_Request q[2];
    MPI_Status status;
    int index = -5, class, flag = 0;
    MPI_Comm_set_errhandler(check_comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* MPICH: the world's */
    for (int test = 0; test < 2; test++) {
        MPI_Irecv(in[0], 4, MPI_CHAR, check_rank, 50, check_comm, &q[0]);
        MPI_Irecv(in[1], 4, MPI_CHAR, check_rank, 51, check_comm, &q[1]);
        MPI_Request sent;
        MPI_Isend(out, 8, MPI_CHAR, check_rank, 51, check_comm, &sent);
        int code = MPI_SUCCESS;
        index = -5;
        if (test)
            for (flag = 0; !flag;)
                code = MPI_Testany(2, q, &index, &flag, &status);
        else
            code = MPI_Waitany(2, q, &index, &status);
        MPI_Error_class(code, &class);
        EQUAL(class, MPI_ERR_TRUNCATE);
        EQUAL(index, 1);
        EQUAL(status.MPI_TAG, 51);
        EQUAL(q[1] == MPI_REQUEST_NULL, 1);
        MPI_Send(out, 4, MPI_CHAR, check_rank, 50, check_comm);
        MPI_Wait(&q[0], &status);
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
    }
    MPI_Comm_set_errhandler(check_comm, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

#ifdef FTMPI_VERSION /* The peer is older than MPI-4.1. */
static void staying(void)
{
    enum { N = 4 };
    int in[N], out = 8, index = -1, flag = -1, some, indices[N];
    MPI_Request q[N];
    MPI_Status status[N];
    for (int i = 0; i < N; i++)
        MPI_Irecv(&in[i], 1, MPI_INT, check_rank, 60 + i, check_comm, &q[i]);
    MPI_Request_get_status_any(N, q, &index, &flag, status);
    EQUAL(flag, 0);
    EQUAL(index, MPI_UNDEFINED);
    MPI_Request_get_status_some(N, q, &some, indices, status);
    EQUAL(some, 0);
    MPI_Send(&out, 1, MPI_INT, check_rank, 62, check_comm);
    for (flag = 0; !flag;)
        MPI_Request_get_status_any(N, q, &index, &flag, status);
    EQUAL(index, 2);
    EQUAL(status->MPI_TAG, 62);
    EQUAL(in[2], 8);
    for (some = 0; !some;)
        MPI_Request_get_status_some(N, q, &some, indices, status);
    EQUAL(some, 1);
    EQUAL(indices[0], 2);
    MPI_Request_get_status_all(N, q, &flag, status);
    EQUAL(flag, 0);
    for (int i = 0; i < N; i++)
        if (i != 2)
            MPI_Send(&out, 1, MPI_INT, check_rank, 60 + i, check_comm);
    for (flag = 0; !flag;)
        MPI_Request_get_status_all(N, q, &flag, status);
    for (int i = 0; i < N; i++) {
        EQUAL(q[i] != MPI_REQUEST_NULL, 1);
        EQUAL(status[i].MPI_TAG, 60 + i);
    }
    MPI_Waitall(N, q, status);
    for (int i = 0; i < N; i++)
        EQUAL(status[i].MPI_TAG, 60 + i);
    MPI_Request_get_status_any(N, q, &index, &flag, status);
    EQUAL(flag, 1);
    EQUAL(index, MPI_UNDEFINED);
    MPI_Request_get_status_some(N, q, &some, indices, status);
    EQUAL(some, MPI_UNDEFINED);
}

static void buffers(void)
{
    enum { BYTES = 300000 };
    static char one[BYTES + MPI_BSEND_OVERHEAD], two[BYTES + MPI_BSEND_OVERHEAD];
    char *data = malloc(BYTES), *in = malloc(BYTES);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    void *address;
    int size;
    fill(data, BYTES, (uint32_t)check_rank, 1);
    MPI_Buffer_attach(one, sizeof one);
    MPI_Comm_attach_buffer(check_comm, two, sizeof two);
    MPI_Bsend(data, BYTES, MPI_BYTE, right, 1, check_comm);
    MPI_Bsend(data, BYTES, MPI_BYTE, right, 2, MPI_COMM_WORLD);
    memset(data, 0, BYTES);
    MPI_Request flushed[2], got;
    MPI_Buffer_iflush(&flushed[0]);
    MPI_Comm_iflush_buffer(check_comm, &flushed[1]);
    MPI_Irecv(in, BYTES, MPI_BYTE, left, 1, check_comm, &got);
    MPI_Wait(&got, MPI_STATUS_IGNORE);
    EQUAL(wrong_at(in, BYTES, (uint32_t)left, 1), -1);
    MPI_Recv(in, BYTES, MPI_BYTE, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EQUAL(wrong_at(in, BYTES, (uint32_t)left, 1), -1);
    MPI_Waitall(2, flushed, MPI_STATUSES_IGNORE);
    MPI_Buffer_flush();
    MPI_Comm_flush_buffer(check_comm);
    MPI_Buffer_detach(&address, &size);
    EQUAL(address == one, 1);
    EQUAL(size, sizeof one);
    MPI_Comm_detach_buffer(check_comm, &address, &size);
    EQUAL(address == two, 1);
    EQUAL(size, sizeof two);
    MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0);
    MPI_Bsend(in, BYTES, MPI_BYTE, right, 3, check_comm);
    MPI_Recv(data, BYTES, MPI_BYTE, left, 3, check_comm, MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&address, &size);
    EQUAL(address == MPI_BUFFER_AUTOMATIC, 1);
    free(data);
    free(in);
}
#endif

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "generalized");
    one_request();
    among_others();
    failing();
    truncated();
#ifdef FTMPI_VERSION
    staying();
    buffers();
#endif
    return check_end();
}
