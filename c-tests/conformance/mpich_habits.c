/* Properties that programs written for MPICH rely on, or that newer versions of the standard
 * require. All of them were found by running MPICH's own test programs. Not compared, because
 * Debian's MPICH 4.0 is older than some of them. */
#include "../check.h"

static int me, size;

/* MPI-4.1, 6.7.2: a key exists as long as an attribute under it, and a copy of its handle may be
 * used. */
static int refuses(MPI_Comm c, int key, void *extra, void *value, void *copy, int *flag)
{
    (void)c, (void)key, (void)extra, (void)value, (void)copy, (void)flag;
    return MPI_ERR_OTHER;
}
static int deleted;
static int counts_deletions(MPI_Comm c, int key, void *value, void *extra)
{
    (void)c, (void)key, (void)value, (void)extra;
    deleted++;
    return MPI_SUCCESS;
}
static void keys(void)
{
    int key, copy, found, value = 5;
    void *there;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(check_comm, key, &value);
    copy = key;
    MPI_Comm_free_keyval(&key);
    EQUAL(key, MPI_KEYVAL_INVALID);
    key = copy;
    MPI_Comm_free_keyval(&key);
    MPI_Comm_get_attr(check_comm, copy, &there, &found);
    CHECK(found && there == &value, "the attribute is gone with its key");
    EQUAL(MPI_Comm_delete_attr(check_comm, copy), MPI_SUCCESS);
    CHECK(MPI_Comm_get_attr(check_comm, copy, &there, &found) != MPI_SUCCESS, "nothing holds the key any more");
    MPI_Comm comm, again = check_comm;
    MPI_Comm_dup(check_comm, &comm);
    MPI_Comm_create_keyval(refuses, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(comm, key, &value);
    CHECK(MPI_Comm_dup(comm, &again) != MPI_SUCCESS, "a copy function refused");
    CHECK(again == MPI_COMM_NULL, "there is no copy");
    MPI_Comm_delete_attr(comm, key);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_free(&comm);
    /* An object that cannot be freed keeps its attributes. */
    MPI_Comm own[2] = {MPI_COMM_WORLD, MPI_COMM_SELF};
    int class;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, counts_deletions, &key, NULL);
    for (int i = 0; i < 2; i++) {
        MPI_Comm_set_attr(own[i], key, &value);
        MPI_Error_class(MPI_Comm_disconnect(&own[i]), &class);
        EQUAL(class, MPI_ERR_COMM);
        MPI_Error_class(MPI_Comm_free(&own[i]), &class);
        EQUAL(class, MPI_ERR_COMM);
        EQUAL(deleted, i);
        CHECK(own[i] != MPI_COMM_NULL, "it is gone");
        MPI_Comm_get_attr(own[i], key, &there, &found);
        CHECK(found && there == &value, "its attribute is gone");
        MPI_Comm_delete_attr(own[i], key);
        EQUAL(deleted, i + 1);
    }
    MPI_Comm_free_keyval(&key);
}

/* MPI-4.1, 7.4.4 and 7.4.2: known hints are kept, others ignored. A duplicate has none. */
static void hints(void)
{
    MPI_Info in, out;
    MPI_Comm one, two;
    char text[20];
    int found;
    MPI_Info_create(&in);
    MPI_Info_set(in, "mpi_assert_no_any_tag", "true");
    MPI_Info_set(in, "mpi_no_such_hint", "true");
    MPI_Comm_dup_with_info(check_comm, in, &one);
    MPI_Info_delete(in, "mpi_assert_no_any_tag");
    MPI_Info_set(in, "mpi_assert_exact_length", "true");
    MPI_Comm_set_info(one, in);
    MPI_Comm_get_info(one, &out);
    MPI_Info_get(out, "mpi_assert_no_any_tag", 19, text, &found);
    CHECK(found && !strcmp(text, "true"), "a hint that was set before stays");
    MPI_Info_get(out, "mpi_assert_exact_length", 19, text, &found);
    CHECK(found, "a hint is kept");
    MPI_Info_get(out, "mpi_no_such_hint", 19, text, &found);
    CHECK(!found, "an unknown hint is ignored");
    MPI_Info_free(&out);
    MPI_Comm_dup(one, &two);
    MPI_Comm_get_info(two, &out);
    MPI_Info_get_nkeys(out, &found);
    EQUAL(found, 0);
    MPI_Info_free(&out);
    MPI_Info_free(&in);
    MPI_Comm_free(&one);
    MPI_Comm_free(&two);
}

/* MPI-4.0, 6.13: initialised in one order, started in any order. */
static void persistent_collectives(void)
{
    int a = 0, sum = 0, mine = me + 1;
    MPI_Request q[3];
    MPI_Bcast_init(&a, 1, MPI_INT, 0, check_comm, MPI_INFO_NULL, &q[0]);
    MPI_Barrier_init(check_comm, MPI_INFO_NULL, &q[1]);
    MPI_Allreduce_init(&mine, &sum, 1, MPI_INT, MPI_SUM, check_comm, MPI_INFO_NULL, &q[2]);
    for (int round = 0; round < 20; round++) {
        if (me == 0)
            a = 100 + round;
        for (int i = 0; i < 3; i++)
            MPI_Start(&q[(i + me + round) % 3]);
        MPI_Waitall(3, q, MPI_STATUSES_IGNORE);
        EQUAL(a, 100 + round);
        EQUAL(sum, size * (size + 1) / 2);
    }
    for (int i = 0; i < 3; i++)
        MPI_Request_free(&q[i]);
}

/* MPI-4.1, 3.8.4: the wait after a cancel is local, also for a send without a receive. */
static void cancelled_sends(void)
{
    enum { MANY = 1 << 19 };
    static int data[MANY];
    int cancelled;
    MPI_Request q;
    MPI_Status s;
    if (size < 2 || me > 1)
        return;
    if (me == 0) {
        for (int i = 0; i < MANY; i++)
            data[i] = i;
        MPI_Isend(data, MANY, MPI_INT, 1, 7, check_comm, &q);
        MPI_Cancel(&q);
        MPI_Wait(&q, &s);
        MPI_Test_cancelled(&s, &cancelled);
        EQUAL(cancelled, 0);
        for (int i = 0; i < MANY; i++)
            data[i] = -1;
        MPI_Send(data, 1, MPI_INT, 1, 8, check_comm);
    } else {
        MPI_Recv(data, 1, MPI_INT, 0, 8, check_comm, MPI_STATUS_IGNORE);
        MPI_Recv(data, MANY, MPI_INT, 0, 7, check_comm, MPI_STATUS_IGNORE);
        for (int i = 0; i < MANY; i++)
            if (data[i] != i) {
                EQUAL(data[i], i);
                break;
            }
    }
}

/* Empty messages have no type. */
static void no_type(void)
{
    MPI_Status s;
    MPI_Request q;
    MPI_Message m;
    const MPI_Datatype none = MPI_DATATYPE_NULL;
    int n = size, left = (me + n - 1) % n, right = (me + 1) % n;
    int *zeros = calloc(n, sizeof *zeros), *in = calloc(n, sizeof *in);
    MPI_Datatype *types = malloc(n * sizeof *types), *from = malloc(n * sizeof *from);
    EQUAL(MPI_Bcast(NULL, 0, none, 0, check_comm), MPI_SUCCESS);
    EQUAL(MPI_Sendrecv_replace(NULL, 0, none, right, 4, left, 4, check_comm, &s), MPI_SUCCESS);
    EQUAL(s.MPI_SOURCE, left);
    EQUAL(MPI_Isendrecv_replace(NULL, 0, none, right, 5, left, 5, check_comm, &q), MPI_SUCCESS);
    MPI_Wait(&q, &s);
    EQUAL(s.MPI_SOURCE, left);
    for (int later = 0; later < 2; later++) {
        MPI_Isend(NULL, 0, none, right, 6, check_comm, &q);
        MPI_Mprobe(left, 6, check_comm, &m, &s);
        if (later) {
            MPI_Request r;
            EQUAL(MPI_Imrecv(NULL, 0, none, &m, &r), MPI_SUCCESS);
            MPI_Wait(&r, &s);
        } else {
            EQUAL(MPI_Mrecv(NULL, 0, none, &m, &s), MPI_SUCCESS);
        }
        EQUAL(s.MPI_SOURCE, left);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
    }
    EQUAL(MPI_Psend_init(NULL, 1, 0, none, right, 7, check_comm, MPI_INFO_NULL, &q), MPI_SUCCESS);
    MPI_Request_free(&q);
    EQUAL(MPI_Precv_init(NULL, 1, 0, none, left, 7, check_comm, MPI_INFO_NULL, &q), MPI_SUCCESS);
    MPI_Request_free(&q);
    /* Each rank sends to the right neighbour, with no type for any other rank. */
    int *sent = calloc(n, sizeof *sent), *came = calloc(n, sizeof *came);
    for (int i = 0; i < n; i++)
        types[i] = from[i] = none, in[i] = -1;
    types[right] = from[left] = MPI_INT;
    sent[right] = came[left] = 1;
    EQUAL(MPI_Alltoallw(&me, sent, zeros, types, in, came, zeros, from, check_comm), MPI_SUCCESS);
    EQUAL(in[0], left);
    MPI_Comm ring;
    MPI_Cart_create(check_comm, 1, &n, (int[]){1}, 0, &ring);
    EQUAL(MPI_Neighbor_allgather(NULL, 0, none, NULL, 0, none, ring), MPI_SUCCESS);
    EQUAL(MPI_Neighbor_alltoall(NULL, 0, none, NULL, 0, none, ring), MPI_SUCCESS);
    MPI_Comm_free(&ring);
    /* MPICH wants a type for the other ranks. */
    int class;
    MPI_Error_class(MPI_Allgather(NULL, 0, none, NULL, 0, none, check_comm), &class);
    EQUAL(class, MPI_ERR_TYPE);
    MPI_Error_class(MPI_Bcast(&n, 1, none, 0, check_comm), &class);
    EQUAL(class, MPI_ERR_TYPE);
    free(zeros), free(in), free(types), free(sent), free(came), free(from);
    MPI_Sendrecv(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0,
                 check_comm, &s);
    EQUAL(s.MPI_SOURCE, MPI_PROC_NULL);
    MPI_Sendrecv(NULL, 0, MPI_DATATYPE_NULL, (me + 1) % size, 3, NULL, 0, MPI_DATATYPE_NULL,
                 (me + size - 1) % size, 3, check_comm, &s);
    EQUAL(s.MPI_SOURCE, (me + size - 1) % size);
}

/* A rank without neighbours on one side has no buffer for that side. */
static void no_neighbours(void)
{
    MPI_Comm star;
    int n = size, in = 0, *all = malloc(n * sizeof *all), *leaves = malloc(n * sizeof *leaves), class;
    for (int i = 0; i < n; i++)
        leaves[i] = i + 1, all[i] = 10 + i;
    /* Only rank 0 sends to all others, which only receive. */
    MPI_Dist_graph_create_adjacent(check_comm, me > 0, (int[]){0}, MPI_UNWEIGHTED, me > 0 ? 0 : n - 1, leaves,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &star);
    MPI_Comm_set_errhandler(star, MPI_ERRORS_RETURN);
    void *send = me == 0 && n > 1 ? all : NULL, *recv = me > 0 ? &in : NULL;
    EQUAL(MPI_Neighbor_allgather(send, 1, MPI_INT, recv, 1, MPI_INT, star), MPI_SUCCESS);
    EQUAL(in, me > 0 ? 10 : 0);
    EQUAL(MPI_Neighbor_alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, star), MPI_SUCCESS);
    EQUAL(in, me > 0 ? 9 + me : 0);
    in = 0;
    EQUAL(MPI_Neighbor_allgatherv(send, 1, MPI_INT, recv, (int[]){1}, (int[]){0}, MPI_INT, star), MPI_SUCCESS);
    EQUAL(in, me > 0 ? 10 : 0);
    /* Wrong arguments are reported all the same. */
    if (me > 0) {
        MPI_Error_class(MPI_Neighbor_allgather(NULL, -1, MPI_INT, &in, 1, MPI_INT, star), &class);
        EQUAL(class, MPI_ERR_COUNT);
        MPI_Error_class(MPI_Neighbor_alltoall(NULL, 1, MPI_DATATYPE_NULL, &in, 1, MPI_INT, star), &class);
        EQUAL(class, MPI_ERR_TYPE);
    }
    MPI_Comm_free(&star);
    free(all), free(leaves);
}

/* MPI-4.1, 6.2: the buffers of a collective must not overlap. */
static void same_memory(void)
{
    int n = size, *a = calloc(n, sizeof(int)), class;
    int *ones = malloc(n * sizeof(int)), *places = malloc(n * sizeof(int));
    for (int i = 0; i < n; i++)
        ones[i] = 1, places[i] = i;
#define ALIASED(call)                        \
    do {                                     \
        MPI_Error_class(call, &class);       \
        EQUAL(class, MPI_ERR_BUFFER);        \
    } while (0)
    ALIASED(MPI_Allreduce(a, a, n, MPI_INT, MPI_SUM, check_comm));
    ALIASED(MPI_Scan(a, a, n, MPI_INT, MPI_SUM, check_comm));
    ALIASED(MPI_Exscan(a, a, n, MPI_INT, MPI_SUM, check_comm));
    ALIASED(MPI_Allgather(a + me, 1, MPI_INT, a, 1, MPI_INT, check_comm));
    ALIASED(MPI_Allgatherv(a + me, 1, MPI_INT, a, ones, places, MPI_INT, check_comm));
    ALIASED(MPI_Alltoall(a, 1, MPI_INT, a, 1, MPI_INT, check_comm));
    ALIASED(MPI_Alltoallv(a, ones, places, MPI_INT, a, ones, places, MPI_INT, check_comm));
    ALIASED(MPI_Reduce_scatter_block(a, a, 1, MPI_INT, MPI_SUM, check_comm));
    ALIASED(MPI_Reduce_scatter(a, a, ones, MPI_INT, MPI_SUM, check_comm));
    ALIASED(MPI_Reduce_local(a, a, n, MPI_INT, MPI_SUM));
    ALIASED(MPI_Reduce_local(MPI_IN_PLACE, a, n, MPI_INT, MPI_SUM));
    if (me == 0) {
        ALIASED(MPI_Reduce(a, a, n, MPI_INT, MPI_SUM, 0, check_comm));
        ALIASED(MPI_Gather(a, 1, MPI_INT, a, 1, MPI_INT, 0, check_comm));
        ALIASED(MPI_Scatter(a, 1, MPI_INT, a, 1, MPI_INT, 0, check_comm));
    }
    MPI_Datatype gaps;
    int *wide = calloc(3 * n, sizeof(int));
    MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    ALIASED(MPI_Alltoall(wide, 1, gaps, wide, 1, gaps, check_comm));
    ALIASED(MPI_Allgather(wide + 3 * me, 1, gaps, wide, 1, gaps, check_comm));
    MPI_Type_free(&gaps);
    free(wide);
    /* Empty buffers do not overlap, and blocks of one array may be exchanged. */
    EQUAL(MPI_Allreduce(a, a, 0, MPI_INT, MPI_SUM, check_comm), MPI_SUCCESS);
    int *both = malloc(2 * n * sizeof(int)), *behind = malloc(n * sizeof(int));
    for (int i = 0; i < n; i++)
        both[i] = me, behind[i] = n + i;
    MPI_Alltoallv(both, ones, places, MPI_INT, both, ones, behind, MPI_INT, check_comm);
    for (int i = 0; i < n; i++)
        EQUAL(both[n + i], i);
    free(a), free(ones), free(places), free(both), free(behind);
}

/* A handler may change the returned code. Where no handler was set, the world's counts. */
static void mends(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    *code = MPI_SUCCESS;
}
static void handlers(void)
{
    MPI_Comm comm, cart = check_comm;
    MPI_Win win;
    MPI_Errhandler mine;
    int x = 0, class, dims[1] = {size + 1}, periods[1] = {0};
    MPI_Error_class(MPI_Cart_create(check_comm, 1, dims, periods, 0, &cart), &class);
    EQUAL(class, MPI_ERR_ARG);
    CHECK(cart == MPI_COMM_NULL, "there is no grid");
    MPI_Win_create(&x, sizeof x, 1, MPI_INFO_NULL, check_comm, &win);
    MPI_Error_class(MPI_Win_set_attr(win, MPI_KEYVAL_INVALID, &x), &class);
    EQUAL(class, MPI_ERR_KEYVAL);
    MPI_Win_free(&win);
    MPI_Comm_dup(check_comm, &comm);
    MPI_Comm_create_errhandler(mends, &mine);
    MPI_Comm_set_errhandler(comm, mine);
    MPI_Errhandler_free(&mine);
    EQUAL(MPI_Send(&x, 1, MPI_INT, size, 0, comm), MPI_SUCCESS);
    MPI_Comm_free(&comm);
}

/* All requests are complete, one with an error. */
static void testall(void)
{
    int a[4] = {0}, flag = 0, class = MPI_SUCCESS;
    MPI_Request q[2];
    MPI_Status s[2];
    MPI_Irecv(a, 1, MPI_INT, me, 1, check_comm, &q[0]);
    MPI_Irecv(a + 2, 1, MPI_INT, me, 2, check_comm, &q[1]);
    int b[2] = {1, 2};
    MPI_Send(b, 1, MPI_INT, me, 1, check_comm);
    MPI_Send(b, 2, MPI_INT, me, 2, check_comm);
    while (!flag)
        MPI_Error_class(MPI_Testall(2, q, &flag, s), &class);
    EQUAL(class, MPI_ERR_IN_STATUS);
    EQUAL(s[0].MPI_ERROR, MPI_SUCCESS);
    MPI_Error_class(s[1].MPI_ERROR, &class);
    EQUAL(class, MPI_ERR_TRUNCATE);
}

static void windows(void)
{
    /* Memory that was attached in two parts without a gap is one region. */
    static int memory[64];
    int values[64], next = (me + 1) % size, unit, class;
    MPI_Aint at, *all = malloc(size * sizeof *all), bytes;
    MPI_Win win;
    void *base;
    MPI_Get_address(memory, &at);
    MPI_Allgather(&at, 1, MPI_AINT, all, 1, MPI_AINT, check_comm);
    MPI_Win_create_dynamic(MPI_INFO_NULL, check_comm, &win);
    MPI_Win_attach(win, memory, sizeof memory / 2);
    MPI_Win_attach(win, memory + 32, sizeof memory / 2);
    MPI_Barrier(check_comm);
    for (int i = 0; i < 64; i++)
        values[i] = 100 * me + i;
    MPI_Win_lock_all(0, win);
    EQUAL(MPI_Put(values, 40, MPI_INT, next, all[next] + 10 * sizeof(int), 40, MPI_INT, win), MPI_SUCCESS);
    EQUAL(MPI_Win_flush(next, win), MPI_SUCCESS);
    MPI_Win_unlock_all(win);
    MPI_Barrier(check_comm);
    for (int i = 0; i < 40; i++)
        EQUAL(memory[10 + i], 100 * ((me + size - 1) % size) + i);
    MPI_Win_detach(win, memory);
    MPI_Win_detach(win, memory + 32);
    MPI_Win_free(&win);
    free(all);
    /* Memory that loads and stores can reach. */
    int mine = 7, got = 0;
    MPI_Win_create(&mine, sizeof mine, 4, MPI_INFO_NULL, check_comm, &win);
    EQUAL(MPI_Win_shared_query(win, me, &bytes, &unit, &base), MPI_SUCCESS);
    CHECK(base == &mine && bytes == sizeof mine && unit == 4, "my own part of the window");
    if (size > 1) {
        MPI_Win_shared_query(win, next, &bytes, &unit, &base);
        CHECK(base == NULL && bytes == 0, "another's part cannot be reached");
    }
    /* A lock ends an epoch of fences. */
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_fence(0, win);
    MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win);
    MPI_Win_unlock(me, win);
    MPI_Error_class(MPI_Get(&got, 1, MPI_INT, me, 0, 1, MPI_INT, win), &class);
    EQUAL(class, MPI_ERR_RMA_SYNC);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    /* A rank that locks its own part again and again sees the operations of other ranks on that
     * part. */
    if (size > 1) {
        MPI_Barrier(check_comm);
        if (me == 1) {
            int nine = 9;
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
            MPI_Put(&nine, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
            MPI_Win_unlock(0, win);
        }
        while (me == 0 && got != 9) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
            MPI_Get(&got, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
            MPI_Win_unlock(0, win);
        }
    }
    MPI_Win_free(&win);
}

static void files(void)
{
    const char *name = "habits.data";
    MPI_File f;
    MPI_Datatype block, type;
    int class, got[4] = {0}, mine[2] = {me, 10 + me};
    MPI_File_open(check_comm, name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &f);
    /* The last process sees no part of the file. */
    int none = me == size - 1 && size > 1, ranks = size > 1 ? size - 1 : 1;
    MPI_Type_contiguous(none ? 0 : 1, MPI_INT, &block);
    MPI_Type_create_resized(block, 0, ranks * sizeof(int), &type);
    MPI_Type_commit(&type);
    MPI_File_set_view(f, none ? 0 : me * sizeof(int), MPI_INT, type, "native", MPI_INFO_NULL);
    MPI_File_write_all(f, mine, none ? 0 : 2, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_read_at_all(f, ranks - 1, got, 2, MPI_INT, MPI_STATUS_IGNORE);
    EQUAL(got[0], ranks - 1);
    EQUAL(got[1], 10);
    /* An error at one process is an error everywhere, and no process waits. */
    int back[2] = {3, 0}, lengths[2] = {1, 1};
    MPI_Datatype wrong;
    MPI_Type_indexed(2, lengths, back, MPI_INT, &wrong);
    MPI_Type_commit(&wrong);
    MPI_Error_class(MPI_File_set_view(f, 0, MPI_INT, me == 0 ? wrong : MPI_INT, "native", MPI_INFO_NULL), &class);
    EQUAL(class, MPI_ERR_IO);
    MPI_File_close(&f);
    /* Data that are only read may be seen twice. */
    int twice[2] = {0, 1}, over[2] = {2, 1};
    MPI_Datatype overlaps;
    MPI_Type_indexed(2, over, twice, MPI_INT, &overlaps);
    MPI_Type_commit(&overlaps);
    MPI_File_open(check_comm, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &f);
    EQUAL(MPI_File_set_view(f, 0, MPI_INT, overlaps, "native", MPI_INFO_NULL), MPI_SUCCESS);
    MPI_File_read_all(f, got, 3, MPI_INT, MPI_STATUS_IGNORE);
    EQUAL(got[1], got[2]);
    MPI_File_close(&f);
    MPI_Barrier(check_comm);
    if (me == 0)
        MPI_File_delete(name, MPI_INFO_NULL);
    MPI_Type_free(&block);
    MPI_Type_free(&type);
    MPI_Type_free(&wrong);
    MPI_Type_free(&overlaps);
}

int main(int argc, char **argv)
{
    MPI_Info before, after;
    MPI_Info_create(&before);
    MPI_Info_set(before, "key", "value");
    check_begin(&argc, &argv, "mpich_habits");
    me = check_rank, size = check_size;
    MPI_Comm_set_errhandler(check_comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    keys();
    hints();
    persistent_collectives();
    cancelled_sends();
    no_type();
    no_neighbours();
    same_memory();
    handlers();
    testall();
    windows();
    files();
    section("all");
    int code = check_end(), found = 0;
    /* MPI-4.1, 11.4.1: info objects exist after the end of MPI. */
    char text[10] = "";
    MPI_Info_dup(before, &after);
    MPI_Info_get(after, "key", 9, text, &found);
    MPI_Info_free(&before);
    MPI_Info_free(&after);
    return found && !strcmp(text, "value") ? code : 1;
}
