/* Functions of the program that MPI calls, and that call MPI: operations (int and large count),
 * copy and delete functions of communicators and datatypes, and error handlers. Also the
 * large-count forms of common calls. */
#include "../check.h"

static int copies, deletes, handled, last_code;

static int copy_comm(MPI_Comm comm, int key, void *extra, void *in, void *out, int *keep)
{
    int size;
    MPI_Comm inner;
    (void)key;
    MPI_Comm_size(comm, &size);
    MPI_Comm_split(MPI_COMM_SELF, 0, 0, &inner); /* makes and frees objects during the call */
    MPI_Comm_free(&inner);
    EQUAL(size, check_size);
    copies++;
    *(void **)out = (char *)in + *(int *)extra;
    *keep = 1;
    return MPI_SUCCESS;
}

static int delete_comm(MPI_Comm comm, int key, void *value, void *extra)
{
    int size;
    (void)key, (void)value, (void)extra;
    MPI_Comm_size(comm, &size);
    deletes++;
    return MPI_SUCCESS;
}

static int copy_type(MPI_Datatype type, int key, void *extra, void *in, void *out, int *keep)
{
    int size;
    (void)key, (void)extra;
    MPI_Type_size(type, &size);
    EQUAL(size, 12);
    copies++;
    *(void **)out = in;
    *keep = 1;
    return MPI_SUCCESS;
}

static int delete_type(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type, (void)key, (void)value, (void)extra;
    deletes++;
    return MPI_SUCCESS;
}

static void handler(MPI_Comm *comm, int *code, ...)
{
    int size = -1, length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Comm_size(*comm, &size);
    EQUAL(size, check_size);
    MPI_Error_string(*code, text, &length);
    MPI_Error_class(*code, &last_code);
    handled++;
}

static void attributes(void)
{
    int step = 1, key, found = 0, marks[3];
    void *value = NULL;
    MPI_Comm dup;
    MPI_Comm_create_keyval(copy_comm, delete_comm, &key, &step);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, marks);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    EQUAL(copies, 1);
    MPI_Comm_get_attr(dup, key, &value, &found);
    CHECK(found && value == (char *)marks + 1, "the copy has another value");
    MPI_Comm_set_attr(dup, key, marks + 2);
    EQUAL(deletes, 1);
    MPI_Comm_free(&dup);
    EQUAL(deletes, 2);
    /* A predefined communicator stays, and its attributes stay as well. */
    int class = MPI_SUCCESS;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Comm_free(&world), &class);
    EQUAL(class, MPI_ERR_COMM);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    EQUAL(world, MPI_COMM_WORLD);
    EQUAL(deletes, 2);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    EQUAL(deletes, 3);
    MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &found);
    EQUAL(found, 0);
    MPI_Comm_free_keyval(&key);
    EQUAL(key, MPI_KEYVAL_INVALID);

    MPI_Datatype three, twin;
    copies = deletes = 0;
    MPI_Type_create_keyval(copy_type, delete_type, &key, NULL);
    MPI_Type_contiguous(3, MPI_INT, &three);
    MPI_Type_set_attr(three, key, marks);
    MPI_Type_dup(three, &twin);
    MPI_Type_get_attr(twin, key, &value, &found);
    CHECK(found && value == marks, "the duplicate has another value");
    MPI_Type_free(&twin);
    MPI_Type_free(&three);
    EQUAL(copies, 1);
    EQUAL(deletes, 2);
    MPI_Type_free_keyval(&key);
    note(copies + deletes);
}

static void errors(void)
{
    MPI_Errhandler mine;
    int word = 0;
    MPI_Comm_create_errhandler(handler, &mine);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine);
    MPI_Errhandler_free(&mine);
    EQUAL(mine, MPI_ERRHANDLER_NULL);
    struct {
        int count, to, tag, class;
        MPI_Datatype type;
        void *buffer;
    } bad[] = {
        {1, check_size + 5, 0, MPI_ERR_RANK, MPI_INT, &word},
        {-1, 0, 0, MPI_ERR_COUNT, MPI_INT, &word},
        {1, 0, -5, MPI_ERR_TAG, MPI_INT, &word},
        {1, 0, 0, MPI_ERR_TYPE, MPI_DATATYPE_NULL, &word},
        {1, 0, 0, MPI_ERR_BUFFER, MPI_INT, NULL},
    };
    for (int i = 0; i < 5; i++) {
        int class, before = handled;
        int code = MPI_Send(bad[i].buffer, bad[i].count, bad[i].type, bad[i].to, bad[i].tag, MPI_COMM_WORLD);
        MPI_Error_class(code, &class);
        EQUAL(class, bad[i].class);
        EQUAL(last_code, bad[i].class);
        EQUAL(handled, before + 1);
    }
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
    EQUAL(last_code, MPI_ERR_OTHER);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    note(handled);
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    int size;
    MPI_Type_size(*type, &size);
    for (int i = 0; i < *count * (size / 4); i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void add_large(void *in, void *inout, MPI_Count *count, MPI_Datatype *type)
{
    MPI_Count size;
    MPI_Type_size_c(*type, &size);
    for (MPI_Count i = 0; i < *count * (size / 4); i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void large(void)
{
    int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
    int mine[3] = {check_rank, 2 * check_rank, 1}, sum[3], got = -1;
    int want = check_size * (check_size - 1) / 2;
    MPI_Datatype three;
    MPI_Op op;
    MPI_Type_contiguous_c(3, MPI_INT, &three);
    MPI_Type_commit(&three);
    MPI_Op_create(add, 1, &op);
    MPI_Allreduce(mine, sum, 1, three, op, MPI_COMM_WORLD);
    EQUAL(sum[0], want);
    EQUAL(sum[2], check_size);
    MPI_Op_free(&op);
    EQUAL(op, MPI_OP_NULL);
    MPI_Op_create_c(add_large, 0, &op);
    memset(sum, 0, sizeof sum);
    MPI_Allreduce_c(mine, sum, 1, three, op, MPI_COMM_WORLD);
    EQUAL(sum[1], 2 * want);
    MPI_Op_free(&op);
    MPI_Type_free(&three);

    MPI_Request q;
    MPI_Status s;
    MPI_Count count = -1;
    MPI_Irecv_c(&got, 1, MPI_INT, from, 3, MPI_COMM_WORLD, &q);
    MPI_Send_c(&check_rank, 1, MPI_INT, to, 3, MPI_COMM_WORLD);
    MPI_Wait(&q, &s);
    EQUAL(got, from);
    MPI_Get_count_c(&s, MPI_INT, &count);
    EQUAL(count, 1);
    MPI_Count counts[64], sums = 0;
    MPI_Aint places[64];
    int all[64];
    for (int i = 0; i < check_size && i < 64; i++)
        counts[i] = 1, places[i] = check_size - 1 - i;
    if (check_size <= 64) {
        MPI_Allgatherv_c(&check_rank, 1, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD);
        for (int i = 0; i < check_size; i++) {
            EQUAL(all[i], check_size - 1 - i);
            sums += all[i];
        }
    }
    note(sums);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "callbacks");
    attributes();
    section("attributes");
    errors();
    section("errors");
    large();
    section("operations and large counts");
    return check_end();
}
