/* What calls give for requests that are null or inactive, for messages and ranks that are none, for elements that are
 * received in part, and for promises of hints (MPI-5.0, 3.7.3, 3.7.5, 3.9, 3.2.6, 4.2.1, 7.1.5, 12.2.1). */
#include "../check.h"

enum { ITEMS = 3 };

/* A status as no call leaves it. */
static MPI_Status strange(void)
{
    MPI_Status s;
    memset(&s, 0, sizeof s);
    s.MPI_SOURCE = 77;
    s.MPI_TAG = 88;
    s.MPI_ERROR = 99;
    MPI_Status_set_elements(&s, MPI_INT, 5);
    MPI_Status_set_cancelled(&s, 1);
    return s;
}

static void is_empty(const MPI_Status *s, int line)
{
    int count = -1, elements = -1, cancelled = -1;
    MPI_Get_count(s, MPI_INT, &count);
    MPI_Get_elements(s, MPI_INT, &elements);
    MPI_Test_cancelled(s, &cancelled);
    CHECK(s->MPI_SOURCE == MPI_ANY_SOURCE && s->MPI_TAG == MPI_ANY_TAG && count == 0 && elements == 0 && cancelled == 0,
          "line %d: not the empty status: source %d, tag %d, count %d, elements %d, cancelled %d", line, s->MPI_SOURCE,
          s->MPI_TAG, count, elements, cancelled);
}

#define EMPTY(s) is_empty(&(s), __LINE__)

/* Each call that waits for requests, or asks about them, with requests that nothing will happen to. */
static void ask_all(MPI_Request *q, int keep)
{
    MPI_Request before[ITEMS];
    MPI_Status s[ITEMS];
    int flag, index, count, indices[ITEMS];
    memcpy(before, q, sizeof before);
    for (int i = 0; i < ITEMS; i++) {
        s[0] = strange();
        EQUAL(MPI_Wait(&q[i], &s[0]), MPI_SUCCESS);
        EMPTY(s[0]);
        EQUAL(s[0].MPI_ERROR, MPI_SUCCESS);
        s[0] = strange();
        flag = 0;
        EQUAL(MPI_Test(&q[i], &flag, &s[0]), MPI_SUCCESS);
        EQUAL(flag, 1);
        EMPTY(s[0]);
        EQUAL(s[0].MPI_ERROR, MPI_SUCCESS);
        s[0] = strange();
        flag = 0;
        EQUAL(MPI_Request_get_status(q[i], &flag, &s[0]), MPI_SUCCESS);
        EQUAL(flag, 1);
        EMPTY(s[0]);
        EQUAL(s[0].MPI_ERROR, MPI_SUCCESS);
    }
    index = 5;
    s[0] = strange();
    EQUAL(MPI_Waitany(ITEMS, q, &index, &s[0]), MPI_SUCCESS);
    EQUAL(index, MPI_UNDEFINED);
    EMPTY(s[0]);
    index = 5;
    flag = 0;
    s[0] = strange();
    EQUAL(MPI_Testany(ITEMS, q, &index, &flag, &s[0]), MPI_SUCCESS);
    EQUAL(flag, 1);
    EQUAL(index, MPI_UNDEFINED);
    EMPTY(s[0]);
    for (int i = 0; i < ITEMS; i++)
        s[i] = strange();
    EQUAL(MPI_Waitall(ITEMS, q, s), MPI_SUCCESS);
    for (int i = 0; i < ITEMS; i++) {
        EMPTY(s[i]);
        s[i] = strange();
    }
    flag = 0;
    EQUAL(MPI_Testall(ITEMS, q, &flag, s), MPI_SUCCESS);
    EQUAL(flag, 1);
    for (int i = 0; i < ITEMS; i++)
        EMPTY(s[i]);
    count = 5;
    EQUAL(MPI_Waitsome(ITEMS, q, &count, indices, s), MPI_SUCCESS);
    EQUAL(count, MPI_UNDEFINED);
    count = 5;
    EQUAL(MPI_Testsome(ITEMS, q, &count, indices, s), MPI_SUCCESS);
    EQUAL(count, MPI_UNDEFINED);
    EQUAL(memcmp(before, q, sizeof before), 0);
    EQUAL(q[0] == MPI_REQUEST_NULL, !keep);
    /* No requests at all. */
    EQUAL(MPI_Waitall(0, q, s), MPI_SUCCESS);
    EQUAL(MPI_Waitany(0, q, &index, &s[0]), MPI_SUCCESS);
    EQUAL(index, MPI_UNDEFINED);
    EQUAL(MPI_Testsome(0, q, &count, indices, s), MPI_SUCCESS);
    EQUAL(count, MPI_UNDEFINED);
    EQUAL(MPI_Testall(0, q, &flag, s), MPI_SUCCESS);
    EQUAL(flag, 1);
}

static void null_and_inactive(void)
{
    MPI_Request q[ITEMS] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int data[ITEMS] = {0}, all = 0, flag = 0;
    ask_all(q, 0);
    MPI_Send_init(&data[0], 1, MPI_INT, check_rank, 1, MPI_COMM_WORLD, &q[0]);
    MPI_Recv_init(&data[1], 1, MPI_INT, check_rank, 1, MPI_COMM_WORLD, &q[1]);
    MPI_Allreduce_init(&data[2], &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &q[2]);
    ask_all(q, 1);
    /* Inactive once more after a round. */
    MPI_Startall(ITEMS, q);
    MPI_Waitall(ITEMS, q, MPI_STATUSES_IGNORE);
    ask_all(q, 1);
    /* Among active ones, only these are counted. */
    int got = -1, count, index, indices[ITEMS];
    MPI_Status s[ITEMS], one = strange();
    MPI_Request mixed[ITEMS] = {MPI_REQUEST_NULL, q[1], MPI_REQUEST_NULL};
    MPI_Irecv(&got, 1, MPI_INT, check_rank, 2, MPI_COMM_WORLD, &mixed[2]);
    MPI_Send(&check_rank, 1, MPI_INT, check_rank, 2, MPI_COMM_WORLD);
    EQUAL(MPI_Waitany(ITEMS, mixed, &index, &one), MPI_SUCCESS);
    EQUAL(index, 2);
    EQUAL(one.MPI_SOURCE, check_rank);
    MPI_Irecv(&got, 1, MPI_INT, check_rank, 3, MPI_COMM_WORLD, &mixed[2]);
    MPI_Send(&check_rank, 1, MPI_INT, check_rank, 3, MPI_COMM_WORLD);
    EQUAL(MPI_Waitsome(ITEMS, mixed, &count, indices, s), MPI_SUCCESS);
    EQUAL(count, 1);
    EQUAL(indices[0], 2);
    /* A partitioned request that is inactive. */
    MPI_Request parts;
    MPI_Precv_init(data, 2, 1, MPI_INT, check_rank, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &parts);
    EQUAL(MPI_Parrived(parts, 0, &flag), MPI_SUCCESS);
    EQUAL(flag, 1);
    one = strange();
    EQUAL(MPI_Wait(&parts, &one), MPI_SUCCESS);
    EMPTY(one);
    MPI_Request_free(&parts);
    for (int i = 0; i < ITEMS; i++) {
        EQUAL(MPI_Request_free(&q[i]), MPI_SUCCESS);
        EQUAL(q[i] == MPI_REQUEST_NULL, 1);
    }
}

static int class_of(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

/* Calls that need a request. */
static void null_is_wrong(void)
{
    MPI_Request none = MPI_REQUEST_NULL, two[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    EQUAL(class_of(MPI_Cancel(&none)), MPI_ERR_REQUEST);
    EQUAL(class_of(MPI_Request_free(&none)), MPI_ERR_REQUEST);
    EQUAL(class_of(MPI_Start(&none)), MPI_ERR_REQUEST);
    EQUAL(class_of(MPI_Startall(2, two)), MPI_ERR_REQUEST);
    EQUAL(class_of(MPI_Pready(0, none)), MPI_ERR_REQUEST);
}

/* The rank and the message that are none. */
static void nobody(void)
{
    int data = 7, flag = 0, count = -1;
    MPI_Status s = strange();
    MPI_Request q;
    MPI_Message message;
    EQUAL(MPI_Recv(&data, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &s), MPI_SUCCESS);
    MPI_Get_count(&s, MPI_INT, &count);
    CHECK(s.MPI_SOURCE == MPI_PROC_NULL && s.MPI_TAG == MPI_ANY_TAG && count == 0, "a receive from nobody");
    s = strange();
    MPI_Irecv(&data, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &q);
    MPI_Wait(&q, &s);
    MPI_Get_count(&s, MPI_INT, &count);
    CHECK(s.MPI_SOURCE == MPI_PROC_NULL && s.MPI_TAG == MPI_ANY_TAG && count == 0, "an immediate receive from nobody");
    s = strange();
    MPI_Improbe(MPI_PROC_NULL, 5, MPI_COMM_WORLD, &flag, &message, &s);
    CHECK(flag == 1 && message == MPI_MESSAGE_NO_PROC && s.MPI_SOURCE == MPI_PROC_NULL, "a probe of nobody");
    s = strange();
    MPI_Mrecv(&data, 1, MPI_INT, &message, &s);
    CHECK(message == MPI_MESSAGE_NULL && s.MPI_SOURCE == MPI_PROC_NULL && s.MPI_TAG == MPI_ANY_TAG, "a message of nobody");
    MPI_Sendrecv(&data, 1, MPI_INT, MPI_PROC_NULL, 0, &data, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &s);
    EQUAL(s.MPI_SOURCE, MPI_PROC_NULL);
    EQUAL(data, 7);
}

/* Elements of a message that ends within a value of the type. */
static void elements_of(const char *what, MPI_Datatype type, int bytes, int elements, int count)
{
    char data[256] = {0};
    MPI_Status s;
    int got = -2, values = -2;
    MPI_Count many = -2;
    MPI_Type_commit(&type);
    MPI_Sendrecv(data, bytes, MPI_BYTE, check_rank, 6, data, 256, MPI_BYTE, check_rank, 6, MPI_COMM_WORLD, &s);
    MPI_Get_elements(&s, type, &got);
    MPI_Get_count(&s, type, &values);
    MPI_Get_elements_c(&s, type, &many);
    CHECK(got == elements && values == count && many == elements,
          "%s, %d bytes: %d elements (%lld), %d values, must be %d and %d", what, bytes, got, (long long)many, values,
          elements, count);
    MPI_Type_free(&type);
}

static void elements(void)
{
    MPI_Datatype type;
    const int U = MPI_UNDEFINED, lengths[2] = {1, 2};
    const MPI_Aint places[2] = {0, 8};
    const MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
    struct { int bytes, elements, count; } ints[] = {{0, 0, 0}, {4, 1, U}, {12, 3, 1}, {16, 4, U}, {24, 6, 2}, {6, U, U},
                                                      {14, U, U}};
    for (int i = 0; i < 7; i++) {
        int b = ints[i].bytes, e = ints[i].elements, c = ints[i].count;
        MPI_Type_contiguous(3, MPI_INT, &type);
        elements_of("contiguous", type, b, e, c);
        MPI_Type_vector(3, 1, 2, MPI_INT, &type);
        elements_of("vector", type, b, e, c);
        MPI_Type_create_hvector(3, 1, 8, MPI_INT, &type);
        elements_of("hvector", type, b, e, c);
        MPI_Type_indexed(2, lengths, (int[]){0, 3}, MPI_INT, &type);
        elements_of("indexed", type, b, e, c);
        MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &type);
        elements_of("hindexed", type, b, e, c);
        MPI_Type_create_indexed_block(3, 1, (int[]){0, 2, 4}, MPI_INT, &type);
        elements_of("indexed block", type, b, e, c);
        MPI_Type_create_subarray(1, (int[]){5}, (int[]){3}, (int[]){1}, MPI_ORDER_C, MPI_INT, &type);
        elements_of("subarray", type, b, e, c);
    }
    /* An int and two doubles. */
    struct { int bytes, elements, count; } mixed[] = {{0, 0, 0}, {4, 1, U}, {12, 2, U}, {20, 3, 1}, {24, 4, U}, {32, 5, U},
                                                       {2, U, U}, {8, U, U}, {16, U, U}, {22, U, U}, {30, U, U}};
    for (int i = 0; i < 11; i++) {
        MPI_Type_create_struct(2, lengths, places, types, &type);
        elements_of("struct", type, mixed[i].bytes, mixed[i].elements, mixed[i].count);
    }
    /* Pairs count as two. */
    MPI_Type_dup(MPI_DOUBLE_INT, &type);
    elements_of("pair", type, 12, 2, 1);
    MPI_Type_dup(MPI_DOUBLE_INT, &type);
    elements_of("pair", type, 8, 1, U);
    MPI_Type_dup(MPI_DOUBLE_INT, &type);
    elements_of("pair", type, 20, 3, U);
    MPI_Type_dup(MPI_DOUBLE_INT, &type);
    elements_of("pair", type, 10, U, U);
}

/* A message that is longer than the receive, also by a part of an element. */
static void truncation(void)
{
    char data[64] = {0};
    int numbers[4];
    for (int bytes = 8; bytes <= 11; bytes++) {
        MPI_Status s;
        MPI_Request q;
        MPI_Irecv(numbers, 2, MPI_INT, check_rank, 7, MPI_COMM_WORLD, &q);
        MPI_Send(data, bytes, MPI_BYTE, check_rank, 7, MPI_COMM_WORLD);
        EQUAL(class_of(MPI_Wait(&q, &s)), bytes > 8 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
        MPI_Send(data, bytes, MPI_BYTE, check_rank, 8, MPI_COMM_WORLD);
        EQUAL(class_of(MPI_Recv(numbers, 2, MPI_INT, check_rank, 8, MPI_COMM_WORLD, &s)),
              bytes > 8 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    }
}

/* Hints are promises that may be broken where nothing depends on them. */
static void promises(void)
{
    MPI_Info info;
    MPI_Win win;
    int *mine, *first, unit;
    MPI_Aint bytes;
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "true");
    MPI_Win_allocate_shared(sizeof *mine, sizeof *mine, info, MPI_COMM_SELF, &mine, &win);
    EQUAL(MPI_Win_lock_all(MPI_MODE_NOCHECK, win), MPI_SUCCESS);
    *mine = 5;
    MPI_Win_sync(win);
    MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &first);
    EQUAL(*first, 5);
    EQUAL(MPI_Win_unlock_all(win), MPI_SUCCESS);
    EQUAL(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_SUCCESS);
    EQUAL(MPI_Win_unlock(0, win), MPI_SUCCESS);
    MPI_Win_free(&win);
    MPI_Info_free(&info);
}

/* A send that is cancelled before it is matched, and a receive. */
static void cancelled(void)
{
    int data = 1, flag = 0;
    MPI_Request q;
    MPI_Status s;
    MPI_Irecv(&data, 1, MPI_INT, check_rank, 9, MPI_COMM_WORLD, &q);
    MPI_Cancel(&q);
    MPI_Wait(&q, &s);
    MPI_Test_cancelled(&s, &flag);
    EQUAL(flag, 1);
    MPI_Issend(&data, 1, MPI_INT, check_rank, 9, MPI_COMM_WORLD, &q);
    MPI_Cancel(&q);
    MPI_Wait(&q, &s);
    MPI_Test_cancelled(&s, &flag);
    EQUAL(flag, 1);
    MPI_Iprobe(check_rank, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    EQUAL(flag, 0);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "nothing");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    null_and_inactive();
    null_is_wrong();
    nobody();
    elements();
    truncation();
    promises();
    cancelled();
    section("nothing");
    return check_end();
}
