/* MPI_THREAD_MULTIPLE: threads of every rank communicate at the same time, each on a
 * communicator of its own, and all on a common one with a tag each. They block in receives that
 * another thread's message ends, make communicators, and wait in collectives. Where a lower level
 * is granted (a protocol that would have to replay the order of threads), the threads do the same
 * one after the other. The results are equal. */
#include "../check.h"
#include <pthread.h>

enum { THREADS = 3, ROUNDS = 60, LONG = 20000 };

static MPI_Comm own[THREADS], common;
static uint64_t results[THREADS];
static int problems;

static void *work(void *argument)
{
    int t = (int)(intptr_t)argument, n = check_size, me = check_rank;
    uint64_t digest = (uint64_t)t + 1;
    int *out = malloc(LONG * sizeof *out), *in = malloc(LONG * sizeof *in);
    for (int k = 0; k < ROUNDS; k++) {
        int to = (me + 1 + k % (n > 1 ? n - 1 : 1)) % n, from = (me - 1 - k % (n > 1 ? n - 1 : 1) + 2 * n) % n;
        int len = k % 7 == 3 ? LONG : 1 + k;
        for (int i = 0; i < len; i++)
            out[i] = me * 1000003 + t * 10007 + k * 31 + i;
        MPI_Request q[2];
        MPI_Status st;
        MPI_Comm on = k % 2 ? own[t] : common;
        MPI_Irecv(in, LONG, MPI_INT, from, 10 + t, on, &q[0]);
        if (k % 5 == 4)
            MPI_Issend(out, len, MPI_INT, to, 10 + t, on, &q[1]);
        else
            MPI_Isend(out, len, MPI_INT, to, 10 + t, on, &q[1]);
        MPI_Wait(&q[0], &st);
        MPI_Wait(&q[1], MPI_STATUS_IGNORE);
        int count;
        MPI_Get_count(&st, MPI_INT, &count);
        for (int i = 0; i < len; i++)
            if (in[i] != from * 1000003 + t * 10007 + k * 31 + i || count != len || st.MPI_TAG != 10 + t)
                __atomic_store_n(&problems, 1 + k, __ATOMIC_RELAXED);
        digest = (digest ^ (uint64_t)in[len - 1]) * UINT64_C(0x100000001b3);
        int sum = 0, mine = me + k * t;
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, own[t]);
        if (sum != n * (n - 1) / 2 + n * k * t)
            __atomic_store_n(&problems, 1000 + k, __ATOMIC_RELAXED);
        if (k % 6 == 5) {
            /* A probe that another thread's message must not end. */
            MPI_Request request;
            MPI_Isend(&mine, 1, MPI_INT, to, 100 + t, common, &request);
            MPI_Probe(from, 100 + t, common, &st);
            MPI_Recv(&sum, 1, MPI_INT, from, 100 + t, common, MPI_STATUS_IGNORE);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            if (sum != from + k * t)
                __atomic_store_n(&problems, 2000 + k, __ATOMIC_RELAXED);
        }
        if (k % 10 == 9) {
            /* All threads at once make communicators of different parents. */
            MPI_Comm made;
            MPI_Comm_dup(own[t], &made);
            mine = me * (t + 1);
            MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, made);
            if (sum != (t + 1) * (n * (n - 1) / 2))
                __atomic_store_n(&problems, 3000 + k, __ATOMIC_RELAXED);
            MPI_Comm_free(&made);
        }
        if (k % 15 == 14 && n > 1) {
            /* The same with intercommunicators between the even and the odd ranks. */
            MPI_Comm half, inter, all;
            int far, size;
            MPI_Comm_split(own[t], me % 2, me, &half);
            MPI_Intercomm_create(half, 0, own[t], 1 - me % 2, 50 + t % 2, &inter);
            MPI_Comm_remote_size(inter, &far);
            mine = t + 1;
            MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter);
            if (far != (me % 2 ? (n + 1) / 2 : n / 2) || sum != far * (t + 1))
                __atomic_store_n(&problems, 4000 + k, __ATOMIC_RELAXED);
            MPI_Intercomm_merge(inter, me % 2, &all);
            MPI_Comm_size(all, &size);
            MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, all);
            if (size != n || sum != n * (t + 1))
                __atomic_store_n(&problems, 5000 + k, __ATOMIC_RELAXED);
            MPI_Comm_free(&all);
            MPI_Comm_free(&inter);
            MPI_Comm_free(&half);
        }
        if (k % 4 == 1)
            MPI_Barrier(own[t]);
    }
    free(out);
    free(in);
    results[t] = digest;
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, asked;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Query_thread(&asked);
    check_begin(&argc, &argv, "threads");
    EQUAL(asked, provided);
    MPI_Comm_dup(MPI_COMM_WORLD, &common);
    for (int t = 0; t < THREADS; t++)
        MPI_Comm_dup(MPI_COMM_WORLD, &own[t]);
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++) {
        pthread_create(&threads[t], NULL, work, (void *)(intptr_t)t);
        if (provided < MPI_THREAD_MULTIPLE)
            pthread_join(threads[t], NULL);
    }
    for (int t = 0; t < THREADS; t++) {
        if (provided == MPI_THREAD_MULTIPLE)
            pthread_join(threads[t], NULL);
        note((long long)results[t]);
    }
    EQUAL(problems, 0);
    section("threads");
    for (int t = 0; t < THREADS; t++)
        MPI_Comm_free(&own[t]);
    MPI_Comm_free(&common);
    return check_end();
}
