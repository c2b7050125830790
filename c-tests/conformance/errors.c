/* Chapter 9: error handlers, classes and strings. Wrong arguments give the right class. */
#include "../check.h"

static int handled, handled_class;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    handled++;
    MPI_Error_class(*code, &handled_class);
}

/* The call must fail with this class. */
#define FAILS(call, want)                                                                     \
    do {                                                                                      \
        int code_ = (call), class_ = -1;                                                      \
        MPI_Error_class(code_, &class_);                                                      \
        CHECK(class_ == (want), #call " gave class %d, must be %d", class_, (want));          \
        note(class_);                                                                         \
    } while (0)

static void arguments(void)
{
    int x = 0, flag;
    MPI_Request q;
    MPI_Status s;
    MPI_Comm c;
    MPI_Group g, h;
    MPI_Datatype t;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    FAILS(MPI_Send(&x, 1, MPI_INT, check_size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    FAILS(MPI_Send(&x, 1, MPI_INT, -77, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    FAILS(MPI_Send(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    FAILS(MPI_Send(&x, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    FAILS(MPI_Send(&x, 1, MPI_INT, 0, -5, MPI_COMM_WORLD), MPI_ERR_TAG);
    FAILS(MPI_Send(&x, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD), MPI_ERR_TAG);
    FAILS(MPI_Send(&x, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    FAILS(MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM);
    FAILS(MPI_Recv(&x, 1, MPI_INT, check_size, 0, MPI_COMM_WORLD, &s), MPI_ERR_RANK);
    FAILS(MPI_Irecv(&x, -3, MPI_INT, 0, 0, MPI_COMM_WORLD, &q), MPI_ERR_COUNT);
    FAILS(MPI_Isend(&x, 1, MPI_INT, 0, -9, MPI_COMM_WORLD, &q), MPI_ERR_TAG);
    FAILS(MPI_Iprobe(check_size + 3, 0, MPI_COMM_WORLD, &flag, &s), MPI_ERR_RANK);
    MPI_Type_contiguous(2, MPI_INT, &t);   /* not committed */
    FAILS(MPI_Send(&x, 1, t, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    MPI_Type_free(&t);
    FAILS(MPI_Bcast(&x, 1, MPI_INT, check_size, MPI_COMM_WORLD), MPI_ERR_ROOT);
    FAILS(MPI_Bcast(&x, -1, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    FAILS(MPI_Reduce(&x, &x, 1, MPI_INT, MPI_OP_NULL, 0, MPI_COMM_WORLD), MPI_ERR_OP);
    FAILS(MPI_Comm_dup(MPI_COMM_NULL, &c), MPI_ERR_COMM);
    MPI_Comm_group(MPI_COMM_WORLD, &g);
    FAILS(MPI_Group_incl(g, 1, &(int){check_size}, &h), MPI_ERR_RANK);
    MPI_Group_free(&g);
    FAILS(MPI_Type_contiguous(-1, MPI_INT, &t), MPI_ERR_COUNT);
    q = MPI_REQUEST_NULL;
    FAILS(MPI_Start(&q), MPI_ERR_REQUEST);
    FAILS(MPI_Cart_create(MPI_COMM_WORLD, 1, &(int){check_size + 1}, &x, 0, &c), MPI_ERR_ARG);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void handlers(void)
{
    MPI_Errhandler mine, got;
    MPI_Comm dup, child;
    int x = 0;
    MPI_Comm_create_errhandler(handler, &mine);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_set_errhandler(dup, mine);
    MPI_Comm_get_errhandler(dup, &got);
    CHECK(got == mine, "Comm_get_errhandler gave another handler");
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&mine);
    CHECK(mine == MPI_ERRHANDLER_NULL, "Errhandler_free left a handle");
    FAILS(MPI_Send(&x, 1, MPI_INT, check_size, 0, dup), MPI_ERR_RANK);
    EQUAL(handled, 1);
    EQUAL(handled_class, MPI_ERR_RANK);
    MPI_Comm_dup(dup, &child);   /* inherits */
    FAILS(MPI_Send(&x, 1, MPI_INT, 0, -7, child), MPI_ERR_TAG);
    EQUAL(handled, 2);
    EQUAL(handled_class, MPI_ERR_TAG);
    MPI_Comm_call_errhandler(child, MPI_ERR_OTHER);
    EQUAL(handled, 3);
    EQUAL(handled_class, MPI_ERR_OTHER);
    MPI_Comm_set_errhandler(child, MPI_ERRORS_RETURN);
    FAILS(MPI_Send(&x, 1, MPI_INT, 0, -7, child), MPI_ERR_TAG);
    EQUAL(handled, 3);
    MPI_Comm_free(&child);
    MPI_Comm_free(&dup);
    /* the old names */
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got);
    CHECK(got == MPI_ERRORS_ARE_FATAL, "the default handler is not MPI_ERRORS_ARE_FATAL");
}

#ifdef FTMPI_VERSION /* MPICH 4.0 always calls the world's handler, not the object's. */
static MPI_Comm handled_on;

static void own_handler(MPI_Comm *comm, int *code, ...)
{
    handled_on = *comm;
    handler(comm, code);
}

/* Errors that belong to no object go to the handler of MPI_COMM_SELF if it has one of its own,
 * and not to the communicator of a request that failed before. */
static void no_object(void)
{
    MPI_Errhandler mine;
    MPI_Comm dup;
    MPI_Request wrong[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int x[2] = {0}, flag, size, before = handled;
    MPI_Comm_create_errhandler(own_handler, &mine);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine);
    FAILS(MPI_Type_size(MPI_DATATYPE_NULL, &size), MPI_ERR_TYPE);
    EQUAL(handled, before + 1);
    CHECK(handled_on == MPI_COMM_WORLD, "not on the world, whose handler alone was set");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, mine);
    FAILS(MPI_Type_size(MPI_DATATYPE_NULL, &size), MPI_ERR_TYPE);
    FAILS(MPI_Group_size(MPI_GROUP_NULL, &size), MPI_ERR_GROUP);
    FAILS(MPI_Comm_size(MPI_COMM_NULL, &size), MPI_ERR_COMM);
    FAILS(MPI_Win_fence(0, MPI_WIN_NULL), MPI_ERR_WIN);
    EQUAL(handled, before + 5);
    CHECK(handled_on == MPI_COMM_SELF, "not on MPI_COMM_SELF");
    FAILS(MPI_Send(x, 1, MPI_INT, check_size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    EQUAL(handled, before + 5);
    MPI_Comm_dup(check_comm, &dup);
    MPI_Comm_set_errhandler(dup, mine);
    MPI_Irecv(x, 1, MPI_INT, check_rank, 3, dup, &wrong[0]);
    MPI_Send(x, 2, MPI_INT, check_rank, 3, dup);
    FAILS(MPI_Wait(&wrong[0], MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    CHECK(handled_on == dup, "not on the communicator of the request");
    FAILS(MPI_Testall(-1, wrong, &flag, MPI_STATUSES_IGNORE), MPI_ERR_COUNT);
    EQUAL(handled, before + 7);
    CHECK(handled_on == MPI_COMM_SELF, "on the communicator of an earlier request");
    MPI_Comm_free(&dup);
    MPI_Errhandler_free(&mine);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}
#endif

static void strings(void)
{
    static const int classes[] = {MPI_SUCCESS, MPI_ERR_BUFFER, MPI_ERR_COUNT, MPI_ERR_TYPE,
                                  MPI_ERR_TAG, MPI_ERR_COMM, MPI_ERR_RANK, MPI_ERR_ROOT,
                                  MPI_ERR_GROUP, MPI_ERR_OP, MPI_ERR_TOPOLOGY, MPI_ERR_DIMS,
                                  MPI_ERR_ARG, MPI_ERR_UNKNOWN, MPI_ERR_TRUNCATE, MPI_ERR_OTHER,
                                  MPI_ERR_INTERN, MPI_ERR_IN_STATUS, MPI_ERR_PENDING,
                                  MPI_ERR_REQUEST};
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        char text[MPI_MAX_ERROR_STRING];
        int n = 0, class = -1;
        MPI_Error_string(classes[i], text, &n);
        CHECK(n > 0 && n < MPI_MAX_ERROR_STRING && (int)strlen(text) == n, "text of class %d",
              classes[i]);
        MPI_Error_class(classes[i], &class);
        EQUAL(class, classes[i]);
        note(classes[i]);
    }
    int class, code, back;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Add_error_class(&class);
    CHECK(class > MPI_ERR_LASTCODE, "a new class is not above MPI_ERR_LASTCODE");
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, "the tea is cold");
    MPI_Error_class(code, &back);
    EQUAL(back, class);
    MPI_Error_string(code, text, &back);
    CHECK(!strcmp(text, "the tea is cold"), "own error string is '%s'", text);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "errors");
    arguments();
    section("arguments");
    handlers();
    section("handlers");
    strings();
    section("strings");
#ifdef FTMPI_VERSION
    no_object();
#endif
    return check_end();
}
