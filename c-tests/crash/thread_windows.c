/* Several threads of every rank use windows and a file at the same time (MPI_THREAD_MULTIPLE), and send
 * messages meanwhile.
 *
 * - Tickets: all threads of all ranks draw from the counters of all ranks. Each value goes into the
 *   thread's next messages. The first operation with a rank in each epoch of lock_all asks for the
 *   lock, and other threads send to that rank while it waits.
 * - Messages: each thread exchanges messages with the same thread of its neighbours. All threads of a
 *   rank share the numbers of its messages, so a replay in another order sends other messages than
 *   the partners have.
 * - The file: threads append lines with the shared pointer, and write and read again a place of their
 *   own. Every line must be there once.
 *
 * Threads meet in MPI only. */
#include "order.h"
#include <pthread.h>

enum { PACE_US = 3000, THREADS = 3, EPOCH = 5, LINE = 32, TAG = 20 };

struct thread {
    int number, count, drawn, lines;
    uint64_t view, random;
    MPI_Win tickets;
    MPI_Comm own;
};

static MPI_Win common;
static MPI_File lines;

static uint32_t number_below(struct thread *t, uint32_t limit)
{
    t->random ^= t->random << 13;
    t->random ^= t->random >> 7;
    t->random ^= t->random << 17;
    return (uint32_t)((t->random >> 11) % limit);
}

static void sees(struct thread *t, const void *what, size_t bytes)
{
    t->view = chain(t->view, what, bytes);
}

/* Draws a ticket of one rank. */
static void drawn(struct thread *t, int to, MPI_Win win, int word)
{
    int64_t one = 1, ticket = -1;
    MPI_Fetch_and_op(&one, &ticket, MPI_INT64_T, to, word, MPI_SUM, win);
    MPI_Win_flush(to, win);
    CHECK(ticket >= 0, "no ticket came from rank %d", to);
    sees(t, &ticket, sizeof ticket);
    t->drawn++;
}

/* Tells the next rank what this thread has seen, and hears from the one before. */
static void tell(struct thread *t)
{
    struct { uint64_t view; int64_t thread; } mine = {t->view, t->number}, theirs;
    int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
    MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, to, TAG + t->number, &theirs, sizeof theirs, MPI_BYTE, from,
                 TAG + t->number, check_comm, MPI_STATUS_IGNORE);
    EQUAL(theirs.thread, t->number);
    order_sent[to * STREAMS + t->number] = chain(order_sent[to * STREAMS + t->number], &mine, sizeof mine);
    order_got[from * STREAMS + t->number] = chain(order_got[from * STREAMS + t->number], &theirs, sizeof theirs);
    sees(t, &theirs, sizeof theirs);
}

/* A line at the shared pointer; a value at a place of this thread alone. */
static void append(struct thread *t, int k)
{
    char line[LINE + 1];
    uint64_t back = 0;
    MPI_Offset place = ((MPI_Offset)1 << 24) + 8 * ((MPI_Offset)check_rank * THREADS + t->number);
    snprintf(line, sizeof line, "%8d%8d%14d\n\n", check_rank, t->number, k);
    MPI_File_write_shared(lines, line, LINE, MPI_BYTE, MPI_STATUS_IGNORE);
    t->lines++;
    MPI_File_write_at(lines, place, &t->view, 8, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_read_at(lines, place, &back, 8, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK(back == t->view, "thread %d reads what it did not write", t->number);
}

static void *work(void *argument)
{
    struct thread *t = argument;
    for (int k = 0; k < t->count; k++) {
        if (k % EPOCH == 0)
            MPI_Win_lock_all(0, t->tickets);
        drawn(t, (int)number_below(t, (uint32_t)check_size), t->tickets, 0);
        drawn(t, (int)number_below(t, (uint32_t)check_size), common, t->number);
        if (k % EPOCH == EPOCH - 1 || k == t->count - 1)
            MPI_Win_unlock_all(t->tickets);
        tell(t);
        if (k % 16 == 15)
            append(t, k);
        pause_us(PACE_US);
    }
    return NULL;
}

/* Rank 0 looks whether every line is in the file once. */
static void look(long wanted, int count)
{
    unsigned char *there = calloc((size_t)check_size * THREADS * (size_t)(count + 1), 1);
    char line[LINE + 1] = "";
    long right = 0;
    for (long i = 0; i < wanted; i++) {
        int rank = -1, thread = -1, k = -1;
        MPI_File_read_at(lines, i * LINE, line, LINE, MPI_BYTE, MPI_STATUS_IGNORE);
        if (sscanf(line, "%d%d%d", &rank, &thread, &k) == 3 && rank >= 0 && rank < check_size && thread >= 0 &&
            thread < THREADS && k >= 0 && k < count)
            right += !there[((size_t)rank * THREADS + (size_t)thread) * (size_t)(count + 1) + (size_t)k]++;
    }
    CHECK(right == wanted, "%ld of %ld lines are in the file", right, wanted);
    free(there);
}

int main(int argc, char **argv)
{
    int granted, count;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
    order_begin(&argc, &argv, "thread_windows");
    EQUAL(granted, MPI_THREAD_MULTIPLE);
    if (granted != MPI_THREAD_MULTIPLE)
        MPI_Abort(MPI_COMM_WORLD, 1);
    count = rounds(PACE_US);
    struct thread threads[THREADS];
    pthread_t others[THREADS];
    int64_t *memory[THREADS + 1], ours = 0, sum = 0;
    long wrote = 0, written = 0, drawn = 0, all = 0;
    MPI_File_open(check_comm, "lines.data", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &lines);
    MPI_Win_allocate(THREADS * 8, 8, MPI_INFO_NULL, check_comm, &memory[THREADS], &common);
    memset(memory[THREADS], 0, THREADS * 8);
    for (int i = 0; i < THREADS; i++) {
        threads[i] = (struct thread){.number = i, .count = count, .view = 1};
        threads[i].random = order_seed * 1000003 + (uint64_t)(check_rank * THREADS + i) * 7919 + 1;
        MPI_Win_allocate(8, 8, MPI_INFO_NULL, check_comm, &memory[i], &threads[i].tickets);
        *memory[i] = 0;
    }
    MPI_Barrier(check_comm);
    MPI_Win_lock_all(0, common);
    for (int i = 1; i < THREADS; i++)
        pthread_create(&others[i], NULL, work, &threads[i]);
    work(&threads[0]);
    for (int i = 1; i < THREADS; i++)
        pthread_join(others[i], NULL);
    MPI_Win_unlock_all(common);
    MPI_Barrier(check_comm);
    for (int i = 0; i < THREADS; i++) {
        ours += *memory[i] + memory[THREADS][i];
        drawn += threads[i].drawn;
        wrote += threads[i].lines;
    }
    MPI_Allreduce(&ours, &sum, 1, MPI_INT64_T, MPI_SUM, check_comm);
    MPI_Allreduce(&drawn, &all, 1, MPI_LONG, MPI_SUM, check_comm);
    MPI_Allreduce(&wrote, &written, 1, MPI_LONG, MPI_SUM, check_comm);
    CHECK(sum == all, "%ld tickets were drawn, %lld counted", all, (long long)sum);
    if (check_rank == 0)
        look(written, count);
    for (int i = 0; i < THREADS; i++)
        MPI_Win_free(&threads[i].tickets);
    MPI_Win_free(&common);
    MPI_File_close(&lines);
    if (check_rank == 0)
        MPI_File_delete("lines.data", MPI_INFO_NULL);
    return order_end();
}
