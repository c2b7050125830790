/* Chapter 11, MPI_THREAD_MULTIPLE: threads of one process that need each other. One thread waits
 * in a receive for a message of another, also in a job with one process. Each thread completes
 * its own generalized requests while another waits for several. Functions of the program take a
 * lock (of an interpreter, for example) that another thread holds while it calls MPI. Where a
 * lower level is granted, the program does nothing. */
#define _DEFAULT_SOURCE
#include "../check.h"
#include <pthread.h>
#include <unistd.h>

enum { ROUNDS = 20, LONG = 400000 };

static MPI_Comm own;

/* ---- a message to the process itself -------------------------------------------------------- */

static void *receive(void *argument)
{
    int *in = argument;
    MPI_Recv(in, LONG, MPI_INT, check_rank, 1, own, MPI_STATUS_IGNORE);
    MPI_Send(in, 1, MPI_INT, check_rank, 2, own);
    return NULL;
}

static void to_oneself(void)
{
    int *in = malloc(LONG * sizeof *in), *out = malloc(LONG * sizeof *out), back;
    for (int round = 0; round < 6; round++) {
        int len = round % 2 ? LONG : 1;
        pthread_t thread;
        for (int i = 0; i < len; i++)
            out[i] = round + i;
        pthread_create(&thread, NULL, receive, in);
        usleep(10000);
        MPI_Send(out, len, MPI_INT, check_rank, 1, own);
        MPI_Recv(&back, 1, MPI_INT, check_rank, 2, own, MPI_STATUS_IGNORE);
        pthread_join(thread, NULL);
        EQUAL(back, round);
        EQUAL(in[len - 1], round + len - 1);
    }
    free(in);
    free(out);
}

/* ---- generalized requests ------------------------------------------------------------------- */

struct state {
    int number, queried, freed;
};

static int query(void *extra, MPI_Status *status)
{
    struct state *s = extra;
    s->queried++;
    MPI_Status_set_elements(status, MPI_INT, s->number);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = s->number;
    status->MPI_TAG = s->number + 1;
    return MPI_SUCCESS;
}

static int release(void *extra)
{
    struct state *s = extra;
    s->freed++;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    (void)extra;
    (void)complete;
    return MPI_SUCCESS;
}

static void complete_one(int number)
{
    struct state s = {.number = number};
    MPI_Request q;
    MPI_Status status;
    MPI_Grequest_start(query, release, cancel, &s, &q);
    MPI_Grequest_complete(q);
    MPI_Wait(&q, &status);
    EQUAL(s.queried, 1);
    EQUAL(s.freed, 1);
    EQUAL(status.MPI_SOURCE, number);
}

static void *complete(void *argument)
{
    MPI_Request *last = argument;
    usleep(2000);
    complete_one(100);
    MPI_Grequest_complete(*last);
    complete_one(200);
    return NULL;
}

static void of_several(void)
{
    enum { N = 4 };
    for (int round = 0; round < ROUNDS; round++) {
        struct state s[N];
        MPI_Request q[N], last;
        MPI_Status status[N];
        for (int i = 0; i < N; i++) {
            s[i] = (struct state){.number = i + 1};
            MPI_Grequest_start(query, release, cancel, &s[i], &q[i]);
            if (i < N - 1)
                MPI_Grequest_complete(q[i]);
        }
        last = q[N - 1];
        pthread_t thread;
        pthread_create(&thread, NULL, complete, &last);
        MPI_Waitall(N, q, status);
        pthread_join(thread, NULL);
        for (int i = 0; i < N; i++) {
            EQUAL(s[i].queried, 1);
            EQUAL(s[i].freed, 1);
            EQUAL(status[i].MPI_SOURCE, i + 1);
            EQUAL(status[i].MPI_TAG, i + 2);
        }
    }
}

/* ---- a lock of the program ------------------------------------------------------------------ */

static pthread_mutex_t interpreter = PTHREAD_MUTEX_INITIALIZER;
static int stop, key;

static void add(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int *x = in, *y = inout, size;
    pthread_mutex_lock(&interpreter);
    for (int i = 0; i < *len; i++)
        y[i] += x[i];
    pthread_mutex_unlock(&interpreter);
    MPI_Type_size(*type, &size);
    EQUAL(size, sizeof(int));
}

static int forget(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)keyval;
    (void)extra;
    pthread_mutex_lock(&interpreter);
    ++*(int *)value;
    pthread_mutex_unlock(&interpreter);
    return MPI_SUCCESS;
}

static int release_locked(void *extra)
{
    pthread_mutex_lock(&interpreter);
    int code = release(extra);
    pthread_mutex_unlock(&interpreter);
    return code;
}

static void *interpret(void *argument)
{
    (void)argument;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        int rank = -1;
        pthread_mutex_lock(&interpreter);
        usleep(200);
        MPI_Comm_rank(own, &rank);
        pthread_mutex_unlock(&interpreter);
        EQUAL(rank, check_rank);
        usleep(100);
    }
    return NULL;
}

static void with_a_lock(void)
{
    enum { LEN = 3000 };
    static int mine[LEN], sum[LEN], later[LEN];
    MPI_Op op;
    pthread_t thread;
    int deleted = 0;
    MPI_Op_create(add, 1, &op);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &key, NULL);
    pthread_create(&thread, NULL, interpret, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        int len = round % 2 ? LEN : 3, n = check_size;
        MPI_Request q;
        for (int i = 0; i < len; i++)
            mine[i] = check_rank + i;
        MPI_Iallreduce(mine, later, len, MPI_INT, op, own, &q);
        MPI_Allreduce(mine, sum, len, MPI_INT, op, own);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        for (int i = 0; i < len; i++) {
            EQUAL(sum[i], n * (n - 1) / 2 + n * i);
            EQUAL(later[i], sum[i]);
        }
        MPI_Reduce_local(mine, sum, len, MPI_INT, op);
        EQUAL(sum[0], n * (n - 1) / 2 + check_rank);
        MPI_Comm_set_attr(own, key, &deleted);
        MPI_Comm_delete_attr(own, key);
        EQUAL(deleted, round + 1);
        struct state s = {.number = round};
        MPI_Grequest_start(query, release_locked, cancel, &s, &q);
        MPI_Grequest_complete(q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        EQUAL(s.freed, 1);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    MPI_Comm_free_keyval(&key);
    MPI_Op_free(&op);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    check_begin(&argc, &argv, "threads_meet");
    MPI_Comm_dup(check_comm, &own);
    if (provided == MPI_THREAD_MULTIPLE) {
        to_oneself();
        of_several();
        with_a_lock();
    }
    MPI_Comm_free(&own);
    return check_end();
}
