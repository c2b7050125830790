/* Several threads of every rank call at the same time (MPI_THREAD_MULTIPLE). Two of them serve: both
 * take requests of anybody from the same queue, so that timing decides which of them gets a request.
 * Two others ask the ranks in turn, and also communicate on communicators of their own. Each thread
 * puts all that it saw into its messages: which message it took, how often it tested in vain, what
 * Waitany chose. A replay whose threads come in another order sends other messages than the partners
 * have received from the earlier incarnation.
 *
 * Threads meet in MPI only. What they received is summed up, because the requests of one rank reach
 * several threads. */
#include "order.h"
#include <pthread.h>

enum { PACE_US = 1500, CLIENTS = 2, THREADS = 4, REQUEST = 7, ANSWER = 100, LARGE = 40000 };

struct message {
    int from, thread, sequence, bytes;
    uint64_t view;
};

struct thread {
    int number, count;
    uint64_t view, random;
    MPI_Comm own;
    struct message *out, *in;
};

static MPI_Comm meeting;

static uint64_t number_below(struct thread *t, uint64_t limit)
{
    t->random ^= t->random << 13;
    t->random ^= t->random >> 7;
    t->random ^= t->random << 17;
    return (t->random >> 11) % limit;
}

static void sees(struct thread *t, long long what)
{
    t->view = chain(t->view, &what, sizeof what);
}

static uint64_t hash(const struct message *m)
{
    return chain(88172645463325252u, m, (size_t)m->bytes);
}

static void took(struct thread *t, const struct message *m, const MPI_Status *status)
{
    int bytes;
    MPI_Get_count(status, MPI_BYTE, &bytes);
    EQUAL(m->from, status->MPI_SOURCE);
    EQUAL(m->bytes, bytes);
    t->view = chain(t->view, m, (size_t)m->bytes);
    __atomic_fetch_add(&order_got[m->from * STREAMS + m->thread], hash(m), __ATOMIC_RELAXED);
}

/* A message of this length; a sequence below zero ends a server. */
static void write_message(struct thread *t, int k, int to, int bytes)
{
    memset(t->out, k, (size_t)bytes);
    *t->out = (struct message){check_rank, t->number, k, bytes, t->view};
    __atomic_fetch_add(&order_sent[to * STREAMS + t->number], hash(t->out), __ATOMIC_RELAXED);
}

static int length(struct thread *t)
{
    return number_below(t, 12) == 0 ? LARGE : (int)sizeof(struct message) + (int)number_below(t, 300);
}

/* Receives in one of five ways; `sent` is a send of this thread that may be under way. */
static void receive(struct thread *t, int tag, MPI_Comm comm, MPI_Request *sent)
{
    MPI_Request q[2] = {*sent, MPI_REQUEST_NULL};
    MPI_Status status;
    MPI_Message message;
    int flag = 0, index, vain = 0;
    switch (number_below(t, 5)) {
    case 0:
        MPI_Recv(t->in, LARGE, MPI_BYTE, MPI_ANY_SOURCE, tag, comm, &status);
        break;
    case 1:
        MPI_Irecv(t->in, LARGE, MPI_BYTE, MPI_ANY_SOURCE, tag, comm, &q[1]);
        do {
            MPI_Waitany(2, q, &index, &status);
            sees(t, index);
        } while (index != 1);
        break;
    case 2:
        MPI_Mprobe(MPI_ANY_SOURCE, tag, comm, &message, &status);
        MPI_Mrecv(t->in, LARGE, MPI_BYTE, &message, &status);
        break;
    case 3:
        MPI_Irecv(t->in, LARGE, MPI_BYTE, MPI_ANY_SOURCE, tag, comm, &q[1]);
        for (MPI_Test(&q[1], &flag, &status); !flag; MPI_Test(&q[1], &flag, &status)) {
            vain++;
            pause_us(200);
        }
        break;
    default:
        for (;;) {
            MPI_Improbe(MPI_ANY_SOURCE, tag, comm, &flag, &message, &status);
            if (flag)
                break;
            vain++;
            pause_us(200);
        }
        MPI_Mrecv(t->in, LARGE, MPI_BYTE, &message, &status);
    }
    *sent = q[0];
    sees(t, vain);
    took(t, t->in, &status);
}

static void *serve(void *argument)
{
    struct thread *t = argument;
    MPI_Request sent = MPI_REQUEST_NULL;
    for (int k = 0;; k++) {
        receive(t, REQUEST, meeting, &sent);
        if (t->in->sequence < 0)
            break;
        /* The buffer of the last answer is used again. */
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
        int to = t->in->from, bytes = length(t);
        write_message(t, k, to, bytes);
        MPI_Isend(t->out, bytes, MPI_BYTE, to, ANSWER + t->in->thread, meeting, &sent);
    }
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    return NULL;
}

/* Threads make and free communicators at the same time. */
static void together(struct thread *t)
{
    uint64_t sum = 0;
    MPI_Comm other;
    MPI_Allreduce(&t->view, &sum, 1, MPI_UINT64_T, MPI_BXOR, t->own);
    sees(t, (long long)sum);
    MPI_Comm_dup(t->own, &other);
    MPI_Bcast(&sum, 1, MPI_UINT64_T, t->number % check_size, other);
    MPI_Barrier(other);
    MPI_Comm_free(&other);
}

static void *ask(void *argument)
{
    struct thread *t = argument;
    MPI_Request sent;
    for (int k = 0; k < t->count; k++) {
        int to = (check_rank + 1 + k % (check_size - 1)) % check_size, bytes = length(t);
        write_message(t, k, to, bytes);
        MPI_Isend(t->out, bytes, MPI_BYTE, to, REQUEST, meeting, &sent);
        receive(t, ANSWER + t->number, meeting, &sent);
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
        if (k % 4 == 3) {
            to = (check_rank + 1) % check_size;
            write_message(t, k, to, sizeof *t->out);
            MPI_Isend(t->out, sizeof *t->out, MPI_BYTE, to, k, t->own, &sent);
            receive(t, k, t->own, &sent);
            MPI_Wait(&sent, MPI_STATUS_IGNORE);
        }
        if (k % 16 == 15)
            together(t);
        pause_us(PACE_US);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int granted;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
    order_begin(&argc, &argv, "thread_order");
    EQUAL(granted, MPI_THREAD_MULTIPLE);
    if (granted != MPI_THREAD_MULTIPLE)
        MPI_Abort(MPI_COMM_WORLD, 1);
    struct thread threads[THREADS];
    pthread_t others[THREADS];
    MPI_Comm_dup(MPI_COMM_WORLD, &meeting);
    for (int i = 0; i < THREADS; i++) {
        threads[i] = (struct thread){i, rounds(PACE_US), 1, 0, MPI_COMM_NULL, malloc(LARGE),
                                     malloc(LARGE)};
        threads[i].random = order_seed * 1000003 + (uint64_t)(check_rank * THREADS + i) * 7919 + 1;
        MPI_Comm_dup(MPI_COMM_WORLD, &threads[i].own);
    }
    for (int i = 1; i < THREADS; i++)
        pthread_create(&others[i], NULL, i < CLIENTS ? ask : serve, &threads[i]);
    ask(&threads[0]);
    for (int i = 1; i < CLIENTS; i++)
        pthread_join(others[i], NULL);
    MPI_Barrier(check_comm);
    for (int i = CLIENTS; i < THREADS; i++) {
        write_message(&threads[0], -1, check_rank, sizeof *threads[0].out);
        MPI_Send(threads[0].out, sizeof *threads[0].out, MPI_BYTE, check_rank, REQUEST, meeting);
    }
    for (int i = CLIENTS; i < THREADS; i++)
        pthread_join(others[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_free(&threads[i].own);
        free(threads[i].out);
        free(threads[i].in);
    }
    MPI_Comm_free(&meeting);
    return order_end();
}
