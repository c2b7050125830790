/* The standard ABI: layouts, sizes and values that the MPI 5.0 standard fixes, by its own
 * numbers. Arguments of callbacks, statuses and attributes have these values, too. */
#include "../check.h"
#include <stddef.h>

#define IS(x, value) CHECK((intptr_t)(x) == (intptr_t)(value), "%s is %lld", #x, (long long)(intptr_t)(x))

static void layouts(void)
{
    EQUAL(sizeof(MPI_Status), 32);
    EQUAL(offsetof(MPI_Status, MPI_SOURCE), 0);
    EQUAL(offsetof(MPI_Status, MPI_TAG), 4);
    EQUAL(offsetof(MPI_Status, MPI_ERROR), 8);
    EQUAL(sizeof(MPI_Aint), sizeof(void *));
    EQUAL(sizeof(MPI_Count), 8);
    EQUAL(sizeof(MPI_Offset), 8);
    EQUAL(sizeof(MPI_Comm), sizeof(void *));
    EQUAL(sizeof(MPI_T_cb_safety), sizeof(int));
}

static void values(void)
{
    IS(MPI_VERSION, 5); IS(MPI_SUBVERSION, 0); IS(MPI_ABI_VERSION, 1); IS(MPI_ABI_SUBVERSION, 0);
    IS(MPI_OP_NULL, 0x20); IS(MPI_SUM, 0x21); IS(MPI_LXOR, 0x32); IS(MPI_NO_OP, 0x3d);
    IS(MPI_COMM_NULL, 0x100); IS(MPI_COMM_WORLD, 0x101); IS(MPI_COMM_SELF, 0x102);
    IS(MPI_GROUP_NULL, 0x108); IS(MPI_GROUP_EMPTY, 0x109); IS(MPI_WIN_NULL, 0x110);
    IS(MPI_FILE_NULL, 0x118); IS(MPI_SESSION_NULL, 0x120); IS(MPI_MESSAGE_NULL, 0x128);
    IS(MPI_MESSAGE_NO_PROC, 0x129); IS(MPI_INFO_NULL, 0x130); IS(MPI_INFO_ENV, 0x131);
    IS(MPI_ERRHANDLER_NULL, 0x140); IS(MPI_ERRORS_ARE_FATAL, 0x141); IS(MPI_ERRORS_ABORT, 0x142);
    IS(MPI_ERRORS_RETURN, 0x143); IS(MPI_REQUEST_NULL, 0x180); IS(MPI_DATATYPE_NULL, 0x200);
    IS(MPI_INT, 0x209); IS(MPI_DOUBLE, 0x214); IS(MPI_BYTE, 0x247); IS(MPI_UINT64_T, 0x259);
    IS(MPI_ANY_SOURCE, -1); IS(MPI_ANY_TAG, -2); IS(MPI_PROC_NULL, -3); IS(MPI_ROOT, -4);
    IS(MPI_UNDEFINED, -32766); IS(MPI_ERR_TRUNCATE, 15); IS(MPI_ERR_ABI, 62);
    IS(MPI_ERR_LASTCODE, 16383); IS(MPI_T_ERR_CANNOT_INIT, 1001); IS(MPI_THREAD_MULTIPLE, 4096);
    IS(MPI_BOTTOM, 0); IS(MPI_IN_PLACE, 1); IS(MPI_STATUS_IGNORE, 0); IS(MPI_UNWEIGHTED, 10);
    IS(MPI_COMM_DUP_FN, 1); IS(MPI_KEYVAL_INVALID, 0); IS(MPI_TAG_UB, 501); IS(MPI_WIN_MODEL, 605);
    IS(MPI_MODE_WRONLY, 256); IS(MPI_MODE_NOSUCCEED, 16384); IS(MPI_SEEK_SET, 403);
    IS(MPI_DISPLACEMENT_CURRENT, -1); IS(MPI_MAX_PORT_NAME, 1024); IS(MPI_BSEND_OVERHEAD, 512);
}

/* What the library knows of Fortran. The Fortran interface itself is not in this library. */
static void fortran(void)
{
    static const struct { const char *key; MPI_Datatype type; int size; } types[] = {
        {"mpi_logical_size", MPI_LOGICAL, 0}, {"mpi_integer_size", MPI_INTEGER, 0},
        {"mpi_real_size", MPI_REAL, 0}, {"mpi_double_precision_size", MPI_DOUBLE_PRECISION, 0},
        {"mpi_logical1_supported", MPI_LOGICAL1, 1}, {"mpi_logical2_supported", MPI_LOGICAL2, 2},
        {"mpi_logical4_supported", MPI_LOGICAL4, 4}, {"mpi_logical8_supported", MPI_LOGICAL8, 8},
        {"mpi_logical16_supported", MPI_LOGICAL16, 16}, {"mpi_integer1_supported", MPI_INTEGER1, 1},
        {"mpi_integer2_supported", MPI_INTEGER2, 2}, {"mpi_integer4_supported", MPI_INTEGER4, 4},
        {"mpi_integer8_supported", MPI_INTEGER8, 8}, {"mpi_integer16_supported", MPI_INTEGER16, 16},
        {"mpi_real2_supported", MPI_REAL2, 2}, {"mpi_real4_supported", MPI_REAL4, 4},
        {"mpi_real8_supported", MPI_REAL8, 8}, {"mpi_real16_supported", MPI_REAL16, 16},
        {"mpi_complex4_supported", MPI_COMPLEX4, 4}, {"mpi_complex8_supported", MPI_COMPLEX8, 8},
        {"mpi_complex16_supported", MPI_COMPLEX16, 16}, {"mpi_complex32_supported", MPI_COMPLEX32, 32},
        {"mpi_double_complex_supported", MPI_DOUBLE_COMPLEX, 16},
    };
    MPI_Info info = MPI_INFO_NULL;
    int set = 0, yes = 9, no = 9;
    EQUAL(MPI_Abi_get_fortran_info(&info), MPI_SUCCESS);
    CHECK(info != MPI_INFO_NULL, "nothing is known of Fortran");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char value[20] = "";
        int flag = 0, size = 0, room = sizeof value;
        MPI_Info_get_string(info, types[i].key, &room, value, &flag);
        CHECK(flag, "%s is not told", types[i].key);
        MPI_Type_size(types[i].type, &size);
        if (types[i].size == 0)
            CHECK(atoi(value) == size, "%s is %s, the size is %d", types[i].key, value, size);
        else
            CHECK(size == (strcmp(value, "true") ? MPI_UNDEFINED : types[i].size), "%s is %s, the size is %d",
                  types[i].key, value, size);
    }
    EQUAL(MPI_Abi_get_fortran_booleans(sizeof yes, &yes, &no, &set), MPI_SUCCESS);
    EQUAL(set, 1);
    EQUAL(yes, 1);
    EQUAL(no, 0);
    /* Known is known: the program cannot set it. */
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    EQUAL(MPI_Abi_set_fortran_info(info), MPI_ERR_ABI);
    EQUAL(MPI_Abi_set_fortran_booleans(sizeof yes, &yes, &no), MPI_ERR_ABI);
    EQUAL(MPI_Abi_get_fortran_booleans(3, &yes, &no, &set), MPI_ERR_ARG);
    MPI_Info_free(&info);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void questions(void)
{
    int a, b, flag, *value;
    MPI_Get_version(&a, &b);
    EQUAL(a * 10 + b, 50);
    EQUAL(MPI_Abi_get_version(&a, &b), MPI_SUCCESS);
    EQUAL(a * 10 + b, 10);
    EQUAL(MPI_Comm_toint(MPI_COMM_WORLD), 0x101);
    EQUAL(MPI_Type_toint(MPI_INT), 0x209);
    CHECK(MPI_Type_fromint(0x209) == MPI_INT, "MPI_INT from its integer");
    MPI_Comm dup;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    CHECK(MPI_Comm_fromint(MPI_Comm_toint(dup)) == dup, "a communicator from its integer");
    MPI_Comm_free(&dup);
    CHECK(dup == MPI_COMM_NULL, "a freed communicator is %p", (void *)dup);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
    CHECK(flag && *value >= 32767, "the largest tag");
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag);
    CHECK(flag && *value >= MPI_ERR_LASTCODE, "the last code in use is %d", flag ? *value : -1);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &value, &flag);
    CHECK(!flag || *value >= 0 || *value == MPI_ANY_SOURCE || *value == MPI_PROC_NULL, "MPI_IO");
    MPI_File file;
    MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    CHECK((intptr_t)file >= 0x1000, "a file has the number %p of a predefined handle", (void *)file);
    CHECK(MPI_File_fromint(MPI_File_toint(file)) == file, "a file from its integer");
    MPI_File_get_amode(file, &a);
    EQUAL(a, MPI_MODE_WRONLY);
    MPI_File_close(&file);
    CHECK(file == MPI_FILE_NULL, "a closed file");
    MPI_Win win;
    void *base;
    MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_SELF, &base, &win);
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &value, &flag);
    EQUAL(*value, MPI_WIN_FLAVOR_ALLOCATE);
    MPI_Win_get_attr(win, MPI_WIN_MODEL, &value, &flag);
    CHECK(*value == MPI_WIN_UNIFIED || *value == MPI_WIN_SEPARATE, "the model is %d", *value);
    MPI_Win_free(&win);
    CHECK(win == MPI_WIN_NULL, "a freed window");
}

static void statuses(void)
{
    MPI_Status s;
    int flag, n;
    MPI_Request r;
    memset(&s, 0x55, sizeof s);
    MPI_Recv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
    EQUAL(s.MPI_SOURCE, MPI_PROC_NULL);
    EQUAL(s.MPI_TAG, MPI_ANY_TAG);
    MPI_Irecv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &r);
    MPI_Cancel(&r);
    MPI_Wait(&r, &s);
    MPI_Test_cancelled(&s, &flag);
    EQUAL(flag, 1);
    CHECK(r == MPI_REQUEST_NULL, "a request that is done");
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int four[4] = {1, 2, 3, 4};
    MPI_Isend(four, 4, MPI_INT, 0, 1, MPI_COMM_SELF, &r);
    int code = MPI_Recv(four, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_SELF, &s), class;
    MPI_Error_class(code, &class);
    EQUAL(class, MPI_ERR_TRUNCATE);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    /* -2 is a wildcard of the MPICH ABI, and no rank here. */
    MPI_Error_class(MPI_Send(four, 1, MPI_INT, -2, 1, MPI_COMM_SELF), &class);
    EQUAL(class, MPI_ERR_RANK);
    MPI_Error_class(MPI_Recv(four, 1, MPI_INT, -2, 1, MPI_COMM_SELF, &s), &class);
    EQUAL(class, MPI_ERR_RANK);
    MPI_Status_set_elements(&s, MPI_INT, 3);
    MPI_Get_count(&s, MPI_INT, &n);
    EQUAL(n, 3);
}

static int calls;

static void operation(void *in, void *inout, int *count, MPI_Datatype *type)
{
    calls += *type == MPI_INT && *count == 1;
    *(int *)inout += *(int *)in;
}

static void failed(MPI_Comm *comm, int *code, ...)
{
    int class;
    MPI_Error_class(*code, &class);
    calls += *comm == MPI_COMM_SELF && class == MPI_ERR_TAG;
}

static int copied(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    calls += comm == MPI_COMM_SELF && key == *(int *)extra;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int deleted(MPI_Comm comm, int key, void *value, void *extra)
{
    calls += comm != MPI_COMM_NULL && key == *(int *)extra && value == (void *)&calls;
    return MPI_SUCCESS;
}

static int query(void *extra, MPI_Status *s)
{
    calls += extra == (void *)&calls;
    s->MPI_SOURCE = MPI_ANY_SOURCE;
    s->MPI_TAG = 12;
    MPI_Status_set_elements(s, MPI_INT, 2);
    MPI_Status_set_cancelled(s, 0);
    return MPI_SUCCESS;
}

static int released(void *extra)
{
    calls += extra == (void *)&calls;
    return MPI_SUCCESS;
}

static int cancelled(void *extra, int complete)
{
    (void)extra, (void)complete;
    return MPI_SUCCESS;
}

static void callbacks(void)
{
    int one = 1, sum = 0, key, flag;
    void *value;
    MPI_Op op;
    MPI_Op_create(operation, 1, &op);
    MPI_Reduce_local(&one, &sum, 1, MPI_INT, op);
    EQUAL(calls, 1);
    EQUAL(sum, 1);
    MPI_Op_free(&op);
    CHECK(op == MPI_OP_NULL, "a freed operation");

    MPI_Errhandler handler, got;
    MPI_Comm_create_errhandler(failed, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Send(&one, 1, MPI_INT, 0, -7, MPI_COMM_SELF);
    EQUAL(calls, 2);
    MPI_Comm_get_errhandler(MPI_COMM_SELF, &got);
    CHECK(got == handler, "the handler that was set");
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler);

    MPI_Comm_create_keyval(copied, deleted, &key, &key);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &calls);
    MPI_Comm dup;
    MPI_Comm_dup(MPI_COMM_SELF, &dup);
    EQUAL(calls, 3);
    MPI_Comm_get_attr(dup, key, &value, &flag);
    CHECK(flag && value == (void *)&calls, "the copied attribute");
    MPI_Comm_free(&dup);
    EQUAL(calls, 4);
    MPI_Comm_delete_attr(MPI_COMM_SELF, key);
    EQUAL(calls, 5);
    MPI_Comm_free_keyval(&key);
    EQUAL(key, MPI_KEYVAL_INVALID);

    MPI_Request r;
    MPI_Status s;
    MPI_Grequest_start(query, released, cancelled, &calls, &r);
    MPI_Grequest_complete(r);
    MPI_Wait(&r, &s);
    EQUAL(calls, 7);
    EQUAL(s.MPI_TAG, 12);
    EQUAL(s.MPI_SOURCE, MPI_ANY_SOURCE);
}

static void contents(void)
{
    int sizes[2] = {8, 8}, distribs[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    int dargs[2] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, psizes[2] = {2, 2};
    int ints[32], ni, na, nd, combiner;
    MPI_Aint addresses[4];
    MPI_Datatype type, old[1];
    MPI_Type_create_darray(4, 1, 2, sizes, distribs, dargs, psizes, MPI_ORDER_FORTRAN, MPI_INT, &type);
    MPI_Type_get_envelope(type, &ni, &na, &nd, &combiner);
    EQUAL(combiner, MPI_COMBINER_DARRAY);
    EQUAL(ni, 12);
    MPI_Type_get_contents(type, ni, na, nd, ints, addresses, old);
    CHECK(old[0] == MPI_INT, "the old type");
    EQUAL(ints[5], MPI_DISTRIBUTE_BLOCK);
    EQUAL(ints[6], MPI_DISTRIBUTE_CYCLIC);
    EQUAL(ints[7], MPI_DISTRIBUTE_DFLT_DARG);
    EQUAL(ints[8], 2);
    EQUAL(ints[11], MPI_ORDER_FORTRAN);
    MPI_Type_free(&type);
    CHECK(type == MPI_DATATYPE_NULL, "a freed type");
}

static void many(void)
{
    /* More than fits into the space that needs no allocation. */
    enum { MANY = 200 };
    MPI_Request r[2 * MANY];
    MPI_Status s[2 * MANY];
    int in[MANY], out[MANY];
    for (int i = 0; i < MANY; i++) {
        out[i] = i * 3;
        MPI_Irecv(&in[i], 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_SELF, &r[i]);
        MPI_Isend(&out[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &r[MANY + i]);
    }
    EQUAL(MPI_Waitall(2 * MANY, r, s), MPI_SUCCESS);
    for (int i = 0; i < MANY; i++)
        CHECK(in[i] == i * 3 && s[i].MPI_TAG == i && s[i].MPI_SOURCE == 0 && r[i] == MPI_REQUEST_NULL,
              "request %d", i);
    int sum[2] = {check_rank, 1};
    MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_INT, MPI_SUM, check_comm);
    EQUAL(sum[1], check_size);
    EQUAL(sum[0], check_size * (check_size - 1) / 2);
    MPI_Comm graph;
    int next = (check_rank + 1) % check_size, prev = (check_rank + check_size - 1) % check_size;
    MPI_Dist_graph_create_adjacent(check_comm, 1, &prev, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &graph);
    int status, counts[1] = {1}, got = -1;
    MPI_Aint at[1] = {0};
    MPI_Datatype types[1] = {MPI_INT};
    MPI_Topo_test(graph, &status);
    EQUAL(status, MPI_DIST_GRAPH);
    MPI_Neighbor_alltoallw(&check_rank, counts, at, types, &got, counts, at, types, graph);
    EQUAL(got, prev);
    MPI_Comm_free(&graph);
}

/* Tags of communicators from groups: up to 1023 characters and the zero. */
static void string_tags(void)
{
    char tag[MPI_MAX_STRINGTAG_LEN + 1];
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm = MPI_COMM_NULL;
    int class = 0;
    memset(tag, 't', sizeof tag);
    tag[MPI_MAX_STRINGTAG_LEN] = 0;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://SELF", &group);
    MPI_Error_class(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm), &class);
    EQUAL(class, MPI_ERR_ARG);
    tag[MPI_MAX_STRINGTAG_LEN - 1] = 0;
    EQUAL(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm), MPI_SUCCESS);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "values");
    layouts();
    values();
    questions();
    fortran();
    statuses();
    callbacks();
    contents();
    many();
    string_tags();
    return check_end();
}
