/* One-sided communication with active targets: windows of every kind, fences,
 * post-start-complete-wait; put, get, accumulate, get_accumulate, fetch_and_op,
 * compare_and_swap; derived datatypes on both sides; large and small data; attributes, names,
 * groups, info, error handlers. */
#include "../check.h"

enum { N = 64, LARGE = 40000 };

static int next_rank(void) { return (check_rank + 1) % check_size; }
static int last_rank(void) { return (check_rank + check_size - 1) % check_size; }

static void fences(void)
{
    long *memory;
    MPI_Win win;
    MPI_Win_allocate(N * sizeof *memory, sizeof *memory, MPI_INFO_NULL, check_comm, &memory, &win);
    for (int i = 0; i < N; i++)
        memory[i] = -1;
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    long mine[4] = {check_rank, 10 + check_rank, 20, 30};
    MPI_Put(mine, 4, MPI_LONG, next_rank(), 3, 4, MPI_LONG, win);
    MPI_Win_fence(0, win);
    EQUAL(memory[3], last_rank());
    EQUAL(memory[4], 10 + last_rank());
    EQUAL(memory[6], 30);
    EQUAL(memory[7], -1);
    long got[4] = {0};
    MPI_Get(got, 4, MPI_LONG, next_rank(), 3, 4, MPI_LONG, win);
    MPI_Win_fence(0, win);
    EQUAL(got[0], check_rank);
    EQUAL(got[1], 10 + check_rank);
    memory[0] = 100;
    MPI_Win_fence(0, win);
    /* all ranks add to rank 0; the result is the same in every order */
    long one = check_rank + 1, before = -5;
    MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win);
    MPI_Win_fence(0, win);
    if (check_rank == 0)
        EQUAL(memory[0], 100 + (long)check_size * (check_size + 1) / 2);
    note(memory[0]);
    MPI_Get_accumulate(NULL, 0, MPI_LONG, &before, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_NO_OP, win);
    MPI_Win_fence(0, win);
    EQUAL(before, 100 + (long)check_size * (check_size + 1) / 2);
    /* one rank adds after the other in one epoch: accumulates of one origin are ordered */
    memory[1] = 0;
    MPI_Win_fence(0, win);
    for (long k = 1; k <= 5; k++)
        MPI_Accumulate(&k, 1, MPI_LONG, next_rank(), 1, 1, MPI_LONG, k % 2 ? MPI_SUM : MPI_REPLACE, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    EQUAL(memory[1], 9);
    note(memory[1]);
    MPI_Win_free(&win);
    CHECK(win == MPI_WIN_NULL, "a freed window is not null");
    section("fences");
}

static void everything_to_all(void)
{
    /* every rank puts to every rank, also to itself */
    int n = check_size;
    int *memory = malloc(n * sizeof *memory), *got = malloc(n * sizeof *got);
    MPI_Win win;
    MPI_Win_create(memory, n * (MPI_Aint)sizeof *memory, sizeof *memory, MPI_INFO_NULL, check_comm, &win);
    for (int round = 0; round < 5; round++) {
        MPI_Win_fence(0, win);
        for (int to = 0; to < n; to++) {
            int value = 1000 * round + 10 * check_rank + to;
            MPI_Put(&value, 1, MPI_INT, to, check_rank, 1, MPI_INT, win);
        }
        MPI_Win_fence(0, win);
        for (int from = 0; from < n; from++)
            EQUAL(memory[from], 1000 * round + 10 * from + check_rank);
        for (int from = 0; from < n; from++)
            MPI_Get(&got[from], 1, MPI_INT, from, check_rank, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        for (int from = 0; from < n; from++)
            EQUAL(got[from], 1000 * round + 10 * check_rank + from);
    }
    MPI_Win_free(&win);
    free(memory);
    free(got);
    section("all to all");
}

static void datatypes(void)
{
    int memory[N], out[N], in[N];
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, check_comm, &win);
    MPI_Datatype column, odd, record, dup, resized;
    MPI_Type_vector(8, 1, 8, MPI_INT, &column);
    MPI_Type_commit(&column);
    int lengths[3] = {1, 2, 1}, places[3] = {7, 0, 4};
    MPI_Type_indexed(3, lengths, places, MPI_INT, &odd);
    MPI_Type_commit(&odd);
    MPI_Aint where[2] = {0, 12};
    int blocks[2] = {1, 2};
    MPI_Datatype members[2] = {MPI_INT, MPI_INT};
    MPI_Type_create_struct(2, blocks, where, members, &record);
    MPI_Type_commit(&record);
    MPI_Type_create_resized(record, 0, 40, &resized);
    MPI_Type_commit(&resized);
    MPI_Type_dup(odd, &dup);
    for (int i = 0; i < N; i++) {
        memory[i] = -i;
        out[i] = 100 * check_rank + i;
        in[i] = -9;
    }
    MPI_Win_fence(0, win);
    /* contiguous here, a column there */
    MPI_Put(out, 8, MPI_INT, next_rank(), 3 * (MPI_Aint)sizeof(int), 1, column, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < N; i++)
        EQUAL(memory[i], i % 8 == 3 ? 100 * last_rank() + i / 8 : -i);
    note_bytes(memory, sizeof memory);
    MPI_Win_fence(0, win);
    /* a column there, an indexed type here */
    MPI_Get(in, 2, dup, next_rank(), 3 * (MPI_Aint)sizeof(int), 1, column, win);
    MPI_Win_fence(0, win);
    EQUAL(in[7], 100 * check_rank);
    EQUAL(in[0], 100 * check_rank + 1);
    EQUAL(in[1], 100 * check_rank + 2);
    EQUAL(in[4], 100 * check_rank + 3);
    EQUAL(in[15], 100 * check_rank + 4);
    EQUAL(in[2], -9);
    note_bytes(in, sizeof in);
    for (int i = 0; i < N; i++)
        memory[i] = i;
    MPI_Win_fence(0, win);
    MPI_Accumulate(out, 2, resized, next_rank(), 0, 2, resized, MPI_SUM, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < N; i++) {
        int hit = i == 0 || i == 3 || i == 4 || i == 10 || i == 13 || i == 14;
        EQUAL(memory[i], hit ? i + 100 * last_rank() + i : i);
    }
    note_bytes(memory, sizeof memory);
    MPI_Win_fence(0, win);
    int before[4] = {0};
    MPI_Get_accumulate(out, 1, odd, before, 4, MPI_INT, next_rank(), 80, 1, odd, MPI_MAX, win);
    MPI_Win_fence(0, win);
    EQUAL(before[0], 27);
    EQUAL(before[1], 20);
    EQUAL(before[3], 24);
    note_bytes(memory, sizeof memory);
    MPI_Type_free(&column);
    MPI_Type_free(&odd);
    MPI_Type_free(&record);
    MPI_Type_free(&resized);
    MPI_Type_free(&dup);
    MPI_Win_free(&win);
    section("datatypes");
}

static void large(void)
{
    int *memory, *out = malloc(LARGE * sizeof *out), *in = malloc(LARGE * sizeof *in);
    MPI_Win win;
    MPI_Win_allocate(2 * LARGE * (MPI_Aint)sizeof *memory, sizeof *memory, MPI_INFO_NULL, check_comm,
                     &memory, &win);
    for (int i = 0; i < LARGE; i++)
        out[i] = check_rank * 7 + i;
    memset(memory, 0, 2 * LARGE * sizeof *memory);
    MPI_Datatype every;
    MPI_Type_vector(LARGE, 1, 2, MPI_INT, &every);
    MPI_Type_commit(&every);
    MPI_Win_fence(0, win);
    MPI_Put(out, LARGE, MPI_INT, next_rank(), 0, 1, every, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < LARGE; i++)
        if (memory[2 * i] != last_rank() * 7 + i || memory[2 * i + 1] != 0) {
            CHECK(0, "large put: element %d is %d", i, memory[2 * i]);
            break;
        }
    MPI_Win_fence(0, win);
    MPI_Accumulate(out, LARGE, MPI_INT, next_rank(), 1, 1, every, MPI_SUM, win);
    MPI_Get(in, LARGE, MPI_INT, last_rank(), 0, 1, every, win);
    MPI_Win_fence(0, win);
    int before = (last_rank() + check_size - 1) % check_size;
    for (int i = 0; i < LARGE; i++)
        if (memory[2 * i + 1] != last_rank() * 7 + i || in[i] != before * 7 + i) {
            CHECK(0, "large accumulate or get: element %d is %d, %d", i, memory[2 * i + 1], in[i]);
            break;
        }
    MPI_Type_free(&every);
    MPI_Win_free(&win);
    free(out);
    free(in);
    section("large");
}

static void operations(void)
{
    /* each predefined operation on types of each kind that allows the operation */
    static const MPI_Op ops[] = {MPI_MAX, MPI_MIN, MPI_SUM, MPI_PROD, MPI_LAND, MPI_BAND, MPI_LOR,
                                 MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_REPLACE};
    for (unsigned k = 0; k < sizeof ops / sizeof *ops; k++) {
        long memory[8];
        MPI_Win win;
        MPI_Win_create(memory, sizeof memory, sizeof(long), MPI_INFO_NULL, check_comm, &win);
        for (int i = 0; i < 8; i++)
            memory[i] = i + 3;
        MPI_Win_fence(0, win);
        long out[8], old[8];
        for (int i = 0; i < 8; i++)
            out[i] = (i * 5 + check_rank) % 11;
        MPI_Get_accumulate(out, 8, MPI_LONG, old, 8, MPI_LONG, next_rank(), 0, 8, MPI_LONG, ops[k], win);
        MPI_Win_fence(0, win);
        for (int i = 0; i < 8; i++)
            EQUAL(old[i], i + 3);
        note_bytes(memory, sizeof memory);
        MPI_Win_free(&win);
    }
    struct { double value; int index; } pairs[3], ours[3];
    memset(pairs, 0, sizeof pairs);
    memset(ours, 0, sizeof ours);
    MPI_Win win;
    MPI_Win_create(pairs, sizeof pairs, sizeof *pairs, MPI_INFO_NULL, check_comm, &win);
    for (int i = 0; i < 3; i++) {
        pairs[i].value = 5;
        pairs[i].index = 50 + i;
        ours[i].value = 4 + i;
        ours[i].index = check_rank;
    }
    MPI_Win_fence(0, win);
    MPI_Accumulate(ours, 3, MPI_DOUBLE_INT, next_rank(), 0, 3, MPI_DOUBLE_INT, MPI_MAXLOC, win);
    MPI_Win_fence(0, win);
    EQUAL(pairs[0].index, 50);
    EQUAL(pairs[1].index, last_rank());
    EQUAL(pairs[2].index, last_rank());
    CHECK(pairs[2].value == 6, "MAXLOC gives %g", pairs[2].value);
    MPI_Win_free(&win);
    section("operations");
}

static void post_start(void)
{
    /* every rank exposes memory to its left neighbour and accesses its right one, in several
     * epochs */
    double memory[4], out[4], got[4], old = 0;
    MPI_Win win;
    MPI_Group world, target, origin;
    MPI_Win_create(memory, sizeof memory, sizeof(double), MPI_INFO_NULL, check_comm, &win);
    MPI_Win_get_group(win, &world);
    int size = -1;
    MPI_Group_size(world, &size);
    EQUAL(size, check_size);
    int to = next_rank(), from = last_rank();
    MPI_Group_incl(world, 1, &to, &target);
    MPI_Group_incl(world, 1, &from, &origin);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 4; i++) {
            memory[i] = i;
            out[i] = 10 * round + check_rank + i;
        }
        MPI_Win_post(origin, 0, win);
        MPI_Win_start(target, 0, win);
        MPI_Put(out, 2, MPI_DOUBLE, to, 0, 2, MPI_DOUBLE, win);
        MPI_Accumulate(&out[2], 1, MPI_DOUBLE, to, 2, 1, MPI_DOUBLE, MPI_SUM, win);
        MPI_Fetch_and_op(&out[3], &old, MPI_DOUBLE, to, 2, MPI_SUM, win);
        MPI_Get(got, 1, MPI_DOUBLE, to, 3, 1, MPI_DOUBLE, win);
        MPI_Win_complete(win);
        CHECK(got[0] == 3, "round %d: got %g", round, got[0]);
        CHECK(old == 2 + out[2], "round %d: fetched %g", round, old);
        if (round % 2) {
            MPI_Win_wait(win);
        } else {
            int flag = 0;
            while (!flag)
                MPI_Win_test(win, &flag);
        }
        CHECK(memory[0] == 10 * round + from && memory[1] == 10 * round + from + 1,
              "round %d: put %g %g", round, memory[0], memory[1]);
        CHECK(memory[2] == 2 + 2 * (10 * round + from) + 5, "round %d: summed %g", round, memory[2]);
    }
    MPI_Group_free(&world);
    MPI_Group_free(&target);
    MPI_Group_free(&origin);
    MPI_Win_free(&win);
    section("post and start");
}

static void star(void)
{
    /* all ranks write to rank 0, which exposes memory to all of them */
    int *memory = calloc(check_size, sizeof *memory);
    MPI_Win win;
    MPI_Win_create(memory, check_size * (MPI_Aint)sizeof *memory, sizeof *memory, MPI_INFO_NULL,
                   check_comm, &win);
    MPI_Group world, zero, others;
    MPI_Comm_group(check_comm, &world);
    int nought = 0;
    MPI_Group_incl(world, 1, &nought, &zero);
    MPI_Group_excl(world, 1, &nought, &others);
    for (int round = 1; round <= 3; round++) {
        if (check_rank == 0) {
            MPI_Win_post(others, 0, win);
            MPI_Win_wait(win);
            for (int i = 1; i < check_size; i++)
                EQUAL(memory[i], 100 * round + i);
        } else {
            int value = 100 * round + check_rank;
            MPI_Win_start(zero, 0, win);
            MPI_Put(&value, 1, MPI_INT, 0, check_rank, 1, MPI_INT, win);
            MPI_Win_complete(win);
        }
    }
    MPI_Group_free(&world);
    MPI_Group_free(&zero);
    MPI_Group_free(&others);
    MPI_Win_free(&win);
    free(memory);
    section("star");
}

static int copied, deleted, handled;

static int copy_attribute(MPI_Win win, int key, void *state, void *in, void *out, int *flag)
{
    (void)win, (void)key, (void)state, (void)in, (void)out;
    copied++;
    *flag = 0;
    return MPI_SUCCESS;
}

static int delete_attribute(MPI_Win win, int key, void *value, void *state)
{
    (void)win, (void)key, (void)value, (void)state;
    deleted++;
    return MPI_SUCCESS;
}

static void handler(MPI_Win *win, int *code, ...)
{
    int class = 0;
    (void)win;
    MPI_Error_class(*code, &class);
    handled = class;
}

static void properties(void)
{
    double memory[10];
    MPI_Win win;
    MPI_Info info, used;
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "true");
    MPI_Win_create(memory, sizeof memory, 4, info, check_comm, &win);
    MPI_Info_free(&info);
    void *base;
    MPI_Aint *size;
    int *number, flag = 0, key;
    MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag);
    CHECK(flag && base == memory, "MPI_WIN_BASE");
    MPI_Win_get_attr(win, MPI_WIN_SIZE, &size, &flag);
    CHECK(flag && *size == sizeof memory, "MPI_WIN_SIZE");
    MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &number, &flag);
    CHECK(flag && *number == 4, "MPI_WIN_DISP_UNIT");
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &number, &flag);
    CHECK(flag && *number == MPI_WIN_FLAVOR_CREATE, "MPI_WIN_CREATE_FLAVOR");
    MPI_Win_get_attr(win, MPI_WIN_MODEL, &number, &flag);
    CHECK(flag && (*number == MPI_WIN_UNIFIED || *number == MPI_WIN_SEPARATE), "MPI_WIN_MODEL");
    MPI_Win_create_keyval(copy_attribute, delete_attribute, &key, NULL);
    MPI_Win_set_attr(win, key, &key);
    MPI_Win_get_attr(win, key, &base, &flag);
    CHECK(flag && base == &key, "an attribute of the program");
    MPI_Win_delete_attr(win, key);
    EQUAL(deleted, 1);
    MPI_Win_get_attr(win, key, &base, &flag);
    EQUAL(flag, 0);
    MPI_Win_set_attr(win, key, &key);
    MPI_Win_set_name(win, "the window");
    char name[MPI_MAX_OBJECT_NAME];
    int length = 0;
    MPI_Win_get_name(win, name, &length);
    CHECK(!strcmp(name, "the window") && length == 10, "name '%s'", name);
    MPI_Win_get_info(win, &used);
    char value[20] = "";
    MPI_Info_get(used, "no_locks", 19, value, &flag);
    CHECK(flag && !strcmp(value, "true"), "no_locks is '%s'", value);
    MPI_Info_free(&used);

    MPI_Errhandler ours, got;
    MPI_Win_create_errhandler(handler, &ours);
    MPI_Win_get_errhandler(win, &got);
    CHECK(got == MPI_ERRORS_ARE_FATAL, "the first handler");
    MPI_Win_set_errhandler(win, ours);
    int one = 1;
    MPI_Win_fence(0, win);
    /* A rank that does not exist. (Not every MPI checks for places outside of the window.) */
    MPI_Put(&one, 1, MPI_INT, check_size + 3, 0, 1, MPI_INT, win);
    EQUAL(handled, MPI_ERR_RANK);
    handled = 0;
    int code = MPI_Put(&one, -1, MPI_INT, 0, 0, 1, MPI_INT, win);
    CHECK(code != MPI_SUCCESS, "a negative count is taken");
    EQUAL(handled, MPI_ERR_COUNT);
    MPI_Put(&one, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    handled = 0;
    MPI_Win_call_errhandler(win, MPI_ERR_OTHER);
    EQUAL(handled, MPI_ERR_OTHER);
    MPI_Errhandler_free(&ours);
    MPI_Win_free(&win);
    EQUAL(deleted, 2);
    EQUAL(copied, 0);
    MPI_Win_free_keyval(&key);
    EQUAL(key, MPI_KEYVAL_INVALID);
    section("properties");
}

static void other_windows(void)
{
    /* parts of different size and unit, and a window on a smaller communicator */
    short *memory;
    MPI_Win win;
    int mine = 8 * (check_rank + 1);
    MPI_Win_allocate(mine * 2, check_rank % 2 ? 2 : 1, MPI_INFO_NULL, check_comm, &memory, &win);
    memset(memory, 0, (size_t)mine * 2);
    MPI_Win_fence(0, win);
    short value = (short)(7 + check_rank);
    int to = next_rank(), unit = to % 2 ? 2 : 1;
    MPI_Put(&value, 1, MPI_SHORT, to, (8 * (to + 1) - 1) * 2 / unit, 1, MPI_SHORT, win);
    MPI_Win_fence(0, win);
    EQUAL(memory[mine - 1], 7 + last_rank());
    MPI_Win_free(&win);
    MPI_Comm half;
    MPI_Comm_split(check_comm, check_rank % 2, -check_rank, &half);
    int rank, size, sum = 0;
    MPI_Comm_rank(half, &rank);
    MPI_Comm_size(half, &size);
    MPI_Win_create(&sum, sizeof sum, sizeof sum, MPI_INFO_NULL, half, &win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < size; i++)
        MPI_Accumulate(&check_rank, 1, MPI_INT, i, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    int want = 0;
    for (int i = check_rank % 2; i < check_size; i += 2)
        want += i;
    EQUAL(sum, want);
    MPI_Win_free(&win);
    MPI_Comm_free(&half);
    section("other windows");
}

/* A target type that is much longer than the data: a list of very many blocks. */
static void long_type(void)
{
    enum { BLOCKS = 2200000 };
    char *memory, *data = NULL;
    int last = check_size - 1, *places = NULL;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Win win;
    MPI_Aint bytes = check_rank == last ? 2 * BLOCKS : 0;
    MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, check_comm, &memory, &win);
    for (MPI_Aint i = 0; i < bytes; i++)
        memory[i] = -1;
    if (check_rank == 0) {
        data = malloc(BLOCKS);
        places = malloc(BLOCKS * sizeof *places);
        for (int i = 0; i < BLOCKS; i++) {
            data[i] = (char)(i % 101);
            places[i] = 2 * i + i * 7 % 5 % 2;
        }
        MPI_Type_create_indexed_block(BLOCKS, 1, places, MPI_CHAR, &type);
        MPI_Type_commit(&type);
    }
    for (int locked = 0; locked < 2; locked++) {
        if (!locked)
            MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
        if (check_rank == 0) {
            if (locked)
                MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last, 0, win);
            if (locked)
                MPI_Accumulate(data, BLOCKS, MPI_CHAR, last, 0, 1, type, MPI_REPLACE, win);
            else
                MPI_Put(data, BLOCKS, MPI_CHAR, last, 0, 1, type, win);
            if (locked)
                MPI_Win_unlock(last, win);
        }
        if (!locked)
            MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        MPI_Barrier(check_comm);
        int wrong = 0;
        if (check_rank == last && locked) {
            MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win);
            MPI_Win_unlock(last, win);
        }
        for (int i = 0; check_rank == last && i < BLOCKS; i++) {
            int at = i * 7 % 5 % 2;
            wrong += memory[2 * i + at] != i % 101 || memory[2 * i + !at] != -1;
            memory[2 * i + at] = -1;
        }
        EQUAL(wrong, 0);
        MPI_Barrier(check_comm);
    }
    if (check_rank == 0)
        MPI_Type_free(&type);
    free(places);
    free(data);
    MPI_Win_free(&win);
    section("a long type");
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "rma_active");
    fences();
    everything_to_all();
    datatypes();
    large();
    operations();
    post_start();
    star();
    properties();
    other_windows();
    long_type();
    return check_end();
}
