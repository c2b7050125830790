/* One-sided communication with passive targets: locks of both kinds, lock_all, flushes, requests,
 * dynamic windows, atomic counters, mutual exclusion, polling on memory. */
#include "../check.h"
#include <unistd.h>

enum { ROUNDS = 40, LARGE = 30000 };

static int next_rank(void) { return (check_rank + 1) % check_size; }
static int last_rank(void) { return (check_rank + check_size - 1) % check_size; }

static void locks(void)
{
    int *memory;
    MPI_Win win;
    MPI_Win_allocate(16 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, check_comm, &memory, &win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, check_rank, 0, win);
    for (int i = 0; i < 16; i++)
        memory[i] = 0;
    MPI_Win_unlock(check_rank, win);
    MPI_Barrier(check_comm);
    int value[2] = {5 + check_rank, 6}, got[2] = {0};
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next_rank(), 0, win);
    MPI_Put(value, 2, MPI_INT, next_rank(), 1, 2, MPI_INT, win);
    MPI_Win_unlock(next_rank(), win);
    MPI_Barrier(check_comm);
    MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win);
    EQUAL(memory[1], 5 + last_rank());
    EQUAL(memory[2], 6);
    MPI_Win_unlock(check_rank, win);
    MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), MPI_MODE_NOCHECK, win);
    MPI_Get(got, 2, MPI_INT, next_rank(), 1, 2, MPI_INT, win);
    MPI_Win_unlock(next_rank(), win);
    EQUAL(got[0], 5 + check_rank);
    MPI_Win_free(&win);
    section("locks");
}

static void exclusion(void)
{
    /* read, add, write under an exclusive lock: nothing is lost */
    long *memory;
    MPI_Win win;
    MPI_Win_allocate(check_rank == 0 ? sizeof *memory : 0, sizeof *memory, MPI_INFO_NULL, check_comm,
                     &memory, &win);
    if (check_rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        memory[0] = 0;
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(check_comm);
    for (int i = 0; i < ROUNDS; i++) {
        long value = -1;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Get(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
        MPI_Win_flush(0, win);
        value += 3;
        MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(check_comm);
    if (check_rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        EQUAL(memory[0], 3L * ROUNDS * check_size);
        MPI_Win_unlock(0, win);
    }
    MPI_Win_free(&win);
    section("exclusion");
}

static void counters(void)
{
    /* tickets: every number is drawn once */
    int *memory, total = ROUNDS * check_size;
    MPI_Win win;
    MPI_Win_allocate(check_rank == 0 ? (total + 2) * (MPI_Aint)sizeof *memory : 0, sizeof *memory,
                     MPI_INFO_NULL, check_comm, &memory, &win);
    if (check_rank == 0)
        memset(memory, 0, (size_t)(total + 2) * sizeof *memory);
    MPI_Barrier(check_comm);
    MPI_Win_lock_all(0, win);
    int last = -1;
    for (int i = 0; i < ROUNDS; i++) {
        int one = 1, ticket = -1;
        MPI_Fetch_and_op(&one, &ticket, MPI_INT, 0, 0, MPI_SUM, win);
        MPI_Win_flush(0, win);
        CHECK(ticket > last && ticket < total, "ticket %d after %d", ticket, last);
        last = ticket;
        MPI_Accumulate(&one, 1, MPI_INT, 0, 2 + ticket, 1, MPI_INT, MPI_SUM, win);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(check_comm);
    if (check_rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        EQUAL(memory[0], total);
        for (int i = 0; i < total; i++)
            EQUAL(memory[2 + i], 1);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(check_comm);
    /* a spin lock of compare and swap around a plain counter */
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < 8; i++) {
        int zero = 0, mine = check_rank + 1, seen = -1, value = -1;
        do {
            MPI_Compare_and_swap(&mine, &zero, &seen, MPI_INT, 0, 1, win);
            MPI_Win_flush(0, win);
        } while (seen != 0);
        MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        MPI_Win_flush(0, win);
        value++;
        MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        MPI_Win_flush(0, win);
        MPI_Fetch_and_op(&zero, &seen, MPI_INT, 0, 1, MPI_REPLACE, win);
        MPI_Win_flush(0, win);
        EQUAL(seen, mine);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(check_comm);
    if (check_rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        EQUAL(memory[0], total + 8 * check_size);
        MPI_Win_unlock(0, win);
    }
    MPI_Win_free(&win);
    section("counters");
}

static void requests(void)
{
    int *memory, *out = malloc(LARGE * sizeof *out), *in = malloc(LARGE * sizeof *in);
    MPI_Win win;
    MPI_Win_allocate(LARGE * (MPI_Aint)sizeof *memory, sizeof *memory, MPI_INFO_NULL, check_comm, &memory,
                     &win);
    memset(memory, 0, LARGE * sizeof *memory);
    for (int i = 0; i < LARGE; i++)
        out[i] = check_rank + 3 * i;
    MPI_Barrier(check_comm);
    MPI_Win_lock_all(0, win);
    MPI_Request q[4];
    MPI_Status st;
    MPI_Rput(out, LARGE, MPI_INT, next_rank(), 0, LARGE, MPI_INT, win, &q[0]);
    MPI_Wait(&q[0], &st);
    memset(out, 1, LARGE * sizeof *out);
    MPI_Win_flush(next_rank(), win);
    MPI_Rget(in, LARGE, MPI_INT, next_rank(), 0, LARGE, MPI_INT, win, &q[0]);
    MPI_Wait(&q[0], MPI_STATUS_IGNORE);
    for (int i = 0; i < LARGE; i++)
        if (in[i] != check_rank + 3 * i) {
            CHECK(0, "Rget: element %d is %d", i, in[i]);
            break;
        }
    int add[2] = {1000, 2000}, old[2] = {0}, more = 7, was = 0;
    MPI_Raccumulate(add, 2, MPI_INT, next_rank(), 4, 2, MPI_INT, MPI_SUM, win, &q[0]);
    MPI_Rget_accumulate(add, 2, MPI_INT, old, 2, MPI_INT, next_rank(), 4, 2, MPI_INT, MPI_SUM, win, &q[1]);
    MPI_Rput(&more, 1, MPI_INT, next_rank(), 100, 1, MPI_INT, win, &q[2]);
    MPI_Rget(&was, 1, MPI_INT, next_rank(), 200, 1, MPI_INT, win, &q[3]);
    MPI_Waitall(4, q, MPI_STATUSES_IGNORE);
    EQUAL(old[0], check_rank + 12 + 1000);
    EQUAL(old[1], check_rank + 15 + 2000);
    EQUAL(was, check_rank + 600);
    MPI_Win_flush_local_all(win);
    MPI_Win_flush_all(win);
    MPI_Rget(&was, 1, MPI_INT, next_rank(), 100, 1, MPI_INT, win, &q[0]);
    int flag = 0;
    while (!flag)
        MPI_Test(&q[0], &flag, MPI_STATUS_IGNORE);
    EQUAL(was, 7);
    MPI_Win_unlock_all(win);
    MPI_Barrier(check_comm);
    note_bytes(memory, LARGE * sizeof *memory);
    MPI_Win_free(&win);
    free(out);
    free(in);
    section("requests");
}

static void dynamic(void)
{
    MPI_Win win;
    MPI_Win_create_dynamic(MPI_INFO_NULL, check_comm, &win);
    int *a = malloc(100 * sizeof *a), *b = malloc(100 * sizeof *b);
    MPI_Win_attach(win, a, 100 * sizeof *a);
    MPI_Win_attach(win, b, 100 * sizeof *b);
    for (int i = 0; i < 100; i++)
        a[i] = b[i] = i + check_rank;
    MPI_Aint mine[2], *all = malloc(2 * check_size * sizeof *all);
    MPI_Get_address(a, &mine[0]);
    MPI_Get_address(b, &mine[1]);
    MPI_Allgather(mine, 2, MPI_AINT, all, 2, MPI_AINT, check_comm);
    int to = next_rank(), value = 99, got = 0;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, win);
    MPI_Put(&value, 1, MPI_INT, to, MPI_Aint_add(all[2 * to], 8), 1, MPI_INT, win);
    MPI_Get(&got, 1, MPI_INT, to, MPI_Aint_add(all[2 * to + 1], 40), 1, MPI_INT, win);
    MPI_Win_unlock(to, win);
    EQUAL(got, 10 + to);
    MPI_Barrier(check_comm);
    EQUAL(a[2], 99);
    void *base = &base;
    int flag = 0;
    MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag);
    CHECK(flag && base == MPI_BOTTOM, "MPI_WIN_BASE of a dynamic window");
    MPI_Win_detach(win, a);
    MPI_Win_detach(win, b);
    /* also without data */
    EQUAL(MPI_Win_attach(win, a, 0), MPI_SUCCESS);
    EQUAL(MPI_Win_detach(win, a), MPI_SUCCESS);
    MPI_Win_free(&win);
    free(a);
    free(b);
    free(all);
    section("dynamic");
}

static void polling(void)
{
    /* one rank sets a flag behind its data, the other polls its own memory until the flag is set */
    volatile int *memory;
    MPI_Win win;
    MPI_Win_allocate(4 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, check_comm, (void *)&memory, &win);
    for (int i = 0; i < 4; i++)
        memory[i] = 0;
    MPI_Barrier(check_comm);
    MPI_Win_lock_all(0, win);
    for (int round = 1; round <= 10; round++) {
        int data = 100 * round + check_rank;
        MPI_Put(&data, 1, MPI_INT, next_rank(), 1, 1, MPI_INT, win);
        MPI_Win_flush(next_rank(), win);
        MPI_Accumulate(&round, 1, MPI_INT, next_rank(), 0, 1, MPI_INT, MPI_REPLACE, win);
        MPI_Win_flush(next_rank(), win);
        while (memory[0] != round) {
            int flag;
            MPI_Win_sync(win);
            MPI_Iprobe(MPI_ANY_SOURCE, 77, check_comm, &flag, MPI_STATUS_IGNORE);
        }
        MPI_Win_sync(win);
        EQUAL(memory[1], 100 * round + last_rank());
        MPI_Barrier(check_comm);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    section("polling");
}

/* Two ranks that hold a shared lock may wait for each other, although a third rank waits for an
 * exclusive lock. */
static void readers(void)
{
    enum { HOLDER = 1, WRITER = 2, READER = 3 };
    int memory[2] = {0}, one = 1, got = -1;
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, check_comm, &win);
    MPI_Barrier(check_comm);
    if (check_size > READER && (check_rank == HOLDER || check_rank == READER)) {
        MPI_Win_lock_all(0, win);
        if (check_rank == HOLDER) {
            MPI_Get(&got, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
            MPI_Win_flush(0, win);
            MPI_Send(NULL, 0, MPI_INT, WRITER, 1, check_comm);
            MPI_Recv(NULL, 0, MPI_INT, READER, 2, check_comm, MPI_STATUS_IGNORE);
        } else {
            MPI_Send(NULL, 0, MPI_INT, WRITER, 1, check_comm);
            MPI_Recv(NULL, 0, MPI_INT, WRITER, 3, check_comm, MPI_STATUS_IGNORE);
            usleep(50000);
            MPI_Get(&got, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
            MPI_Win_flush(0, win);
            EQUAL(got, 0);
            MPI_Send(NULL, 0, MPI_INT, HOLDER, 2, check_comm);
        }
        MPI_Win_unlock_all(win);
    } else if (check_size > READER && check_rank == WRITER) {
        MPI_Recv(NULL, 0, MPI_INT, HOLDER, 1, check_comm, MPI_STATUS_IGNORE);
        MPI_Recv(NULL, 0, MPI_INT, READER, 1, check_comm, MPI_STATUS_IGNORE);
        MPI_Send(NULL, 0, MPI_INT, READER, 3, check_comm);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Put(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(check_comm);
    if (check_size > READER && check_rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        EQUAL(memory[0], 1);
        MPI_Win_unlock(0, win);
    }
    MPI_Win_free(&win);
    section("readers");
}

/* All ranks poll until a rank with an exclusive lock has written. */
static void look_until(void)
{
    int memory = 0, one = 1, got = 0;
    MPI_Win win;
    MPI_Win_create(&memory, sizeof memory, sizeof memory, MPI_INFO_NULL, check_comm, &win);
    MPI_Barrier(check_comm);
    if (check_rank == check_size - 1) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Put(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
    }
    while (got == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Get(&got, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
    }
    EQUAL(got, 1);
    MPI_Win_free(&win);
    section("look until");
}

/* Loads and stores in shared memory, where the protocol allows them, belong to the epochs in
 * which they are made. */
static void shared_memory(void)
{
    MPI_Comm node;
    MPI_Win win;
    int me, n, unit, class = 0;
    volatile long *mine = NULL, *first = NULL, *right = NULL;
    MPI_Aint bytes;
    MPI_Comm_split_type(check_comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &me);
    MPI_Comm_size(node, &n);
    MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN);
    int code = MPI_Win_allocate_shared(4 * sizeof(long), sizeof(long), MPI_INFO_NULL, node, (void *)&mine, &win);
    MPI_Error_class(code, &class);
    if (class != MPI_SUCCESS) {
        EQUAL(class, MPI_ERR_RMA_SHARED);
        MPI_Comm_free(&node);
        section("shared memory");
        return;
    }
    MPI_Win_shared_query(win, 0, &bytes, &unit, (void *)&first);
    MPI_Win_shared_query(win, (me + 1) % n, &bytes, &unit, (void *)&right);
    for (int i = 0; i < 4; i++)
        mine[i] = 0;
    MPI_Win_fence(0, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    for (int i = 0; i < 10; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        long before = first[0];
        usleep(100);
        first[0] = before + 1;
        first[1]++;
        MPI_Win_unlock(0, win);
        MPI_Win_lock_all(0, win);
        EQUAL(first[0], first[1]);
        MPI_Win_unlock_all(win);
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        EQUAL(first[1], first[0]);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(node);
    EQUAL(first[0], 10L * n);
    MPI_Group all, target, origin;
    int to = (me + 1) % n, from = (me + n - 1) % n;
    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, 1, &to, &target);
    MPI_Group_incl(all, 1, &from, &origin);
    for (int round = 1; round <= 10; round++) {
        usleep(200 * ((me + round) % 3));
        mine[2] = round;
        MPI_Win_post(origin, 0, win);
        MPI_Win_start(target, 0, win);
        EQUAL(right[2], round);
        right[3] = 10 * round + me;
        MPI_Win_complete(win);
        MPI_Win_wait(win);
        EQUAL(mine[3], 10 * round + from);
    }
    MPI_Group_free(&all);
    MPI_Group_free(&target);
    MPI_Group_free(&origin);
    MPI_Barrier(node);
    usleep(1000 * (n - me));
    mine[2] = 77;
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    if (!peer_is_mpich_4_0())
        EQUAL(right[2], 77);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_free(&win);
    MPI_Comm_free(&node);
    section("shared memory");
}

static int error_class;

static void handler(MPI_Win *win, int *code, ...)
{
    (void)win;
    MPI_Error_class(*code, &error_class);
}

/* An operation that a target refuses is an error of the window, and of no later epoch. (Other
 * MPIs write to any memory.) */
static void refused(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, to = next_rank(), got = -1, value = 40 + check_rank, code;
    MPI_Get_library_version(version, &length);
    if (check_size > 1 && strstr(version, "ftmpi")) {
        static int memory, other;
        MPI_Win win;
        MPI_Request q;
        MPI_Errhandler mine;
        MPI_Win_create_errhandler(handler, &mine);
        MPI_Win_create_dynamic(MPI_INFO_NULL, check_comm, &win);
        MPI_Win_attach(win, &memory, sizeof memory);
        MPI_Aint places[2], *all = malloc(2 * check_size * sizeof *all);
        MPI_Get_address(&memory, &places[0]);
        MPI_Get_address(&other, &places[1]);
        MPI_Allgather(places, 2, MPI_AINT, all, 2, MPI_AINT, check_comm);
        MPI_Win_set_errhandler(win, mine);
        MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win);
        MPI_Rget(&got, 1, MPI_INT, to, all[2 * to + 1], 1, MPI_INT, win, &q);
        code = MPI_Wait(&q, MPI_STATUS_IGNORE);
        CHECK(code != MPI_SUCCESS, "memory outside of the window was got");
        EQUAL(error_class, MPI_ERR_RMA_RANGE);
        MPI_Win_unlock(to, win);
        MPI_Barrier(check_comm);
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        MPI_Win_fence(0, win);
        MPI_Get(&got, 1, MPI_INT, to, all[2 * to + 1], 1, MPI_INT, win);
        code = MPI_Win_fence(0, win);
        MPI_Error_class(code, &error_class);
        EQUAL(error_class, MPI_ERR_RMA_RANGE);
        EQUAL(MPI_Put(&value, 1, MPI_INT, to, all[2 * to], 1, MPI_INT, win), MPI_SUCCESS);
        EQUAL(MPI_Win_fence(MPI_MODE_NOSUCCEED, win), MPI_SUCCESS);
        EQUAL(memory, 40 + last_rank());
        MPI_Win_detach(win, &memory);
        MPI_Win_free(&win);
        MPI_Errhandler_free(&mine);
        free(all);
    }
    section("refused");
}

static void wrong(void)
{
    int memory[4] = {0}, one = 1;
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, check_comm, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    int class = 0, code = MPI_Put(&one, 1, MPI_INT, check_rank, 0, 1, MPI_INT, win);
    CHECK(code != MPI_SUCCESS, "a put outside of an epoch is taken");
    MPI_Error_class(code, &class);
    EQUAL(class, MPI_ERR_RMA_SYNC);
    code = MPI_Win_unlock(0, win);
    CHECK(code != MPI_SUCCESS, "an unlock without a lock is taken");
    MPI_Error_class(code, &class);
    EQUAL(class, MPI_ERR_RMA_SYNC);
    code = MPI_Win_lock(17, 0, 0, win);
    MPI_Error_class(code, &class);
    if (!peer_is_mpich_4_0())
        EQUAL(class, MPI_ERR_LOCKTYPE);
    MPI_Win_free(&win);
    section("wrong");
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "rma_passive");
    locks();
    exclusion();
    counters();
    requests();
    dynamic();
    polling();
    readers();
    look_until();
    shared_memory();
    refused();
    wrong();
    return check_end();
}
