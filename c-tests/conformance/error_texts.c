/* Chapter 9: wrong arguments, freed handles and short buffers give the right class and a text.
 * The text names the call, the error and the wrong value. Other libraries have other texts, so
 * only the classes are compared. */
#include "../check.h"
#include <limits.h>

static int ours, silent;

/* The call fails with this class, and its text has all these words. */
static void fails(int line, int code, const char *call, int want, const char *what, const char *value)
{
    int class = -1, n = 0;
    char text[MPI_MAX_ERROR_STRING] = "";
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &n);
    if (class != want)
        check_fail(__FILE__, line, "%s gave class %d, must be %d: %s", call, class, want, text);
    /* The numbers of classes are those of the binary interface. */
    if (!silent)
        note(class == want);
    if (ours && !(strstr(text, call) && strstr(text, what) && strstr(text, value)))
        check_fail(__FILE__, line, "'%s' must name %s, %s and %s", text, call, what, value);
}
/* Calls with which MPICH 4.0 dies or gives another result: only ftmpi makes them. */
#define OURS(...)           \
    do {                    \
        silent = 1;         \
        if (ours)           \
            FAILS(__VA_ARGS__); \
        silent = 0;         \
    } while (0)
#define FAILS(Name, arguments, want, what, value) fails(__LINE__, Name arguments, #Name, want, what, value)

static char size_text[20];

static void point_to_point(void)
{
    int x[4] = {0}, y[4] = {0}, me = check_rank, size = check_size;
    MPI_Request q;
    MPI_Status s;
    MPI_Comm w = check_comm, gone;
    FAILS(MPI_Send, (x, 1, MPI_INT, size, 0, w), MPI_ERR_RANK, "rank", size_text);
    FAILS(MPI_Send, (x, -1, MPI_INT, 0, 0, w), MPI_ERR_COUNT, "count", "-1");
    FAILS(MPI_Send, (x, 1, MPI_INT, 0, -5, w), MPI_ERR_TAG, "tag", "-5");
    FAILS(MPI_Send, (x, 1, MPI_DATATYPE_NULL, 0, 0, w), MPI_ERR_TYPE, "datatype", "NULL");
    FAILS(MPI_Ssend, (x, 1, MPI_INT, -44, 0, w), MPI_ERR_RANK, "rank", "-44");
    FAILS(MPI_Irecv, (x, -3, MPI_INT, 0, 0, w, &q), MPI_ERR_COUNT, "count", "-3");
    FAILS(MPI_Recv_init, (x, 1, MPI_INT, size, 0, w, &q), MPI_ERR_RANK, "rank", size_text);
    FAILS(MPI_Probe, (size, 0, w, &s), MPI_ERR_RANK, "rank", size_text);
    FAILS(MPI_Sendrecv, (x, 1, MPI_INT, me, -7, x + 1, 1, MPI_INT, me, 0, w, &s), MPI_ERR_TAG, "tag", "-7");
    MPI_Comm_dup(w, &gone);
    MPI_Comm kept = gone;
    MPI_Comm_free(&gone);
    OURS(MPI_Send, (x, 1, MPI_INT, me, 0, kept), MPI_ERR_COMM, "communicator", "");
    MPI_Datatype t;
    MPI_Type_contiguous(2, MPI_INT, &t);
    FAILS(MPI_Send, (x, 1, t, me, 0, w), MPI_ERR_TYPE, "commit", "");
    MPI_Datatype freed = t;
    MPI_Type_free(&t);
    OURS(MPI_Send, (x, 1, freed, me, 0, w), MPI_ERR_TYPE, "datatype", "");
    /* Four values into room for one value. */
    MPI_Isend(y, 4, MPI_INT, me, 3, w, &q);
    FAILS(MPI_Recv, (x, 1, MPI_INT, me, 3, w, &s), MPI_ERR_TRUNCATE, "tag", "3");
    MPI_Wait(&q, &s);
    MPI_Request none = MPI_REQUEST_NULL;
    FAILS(MPI_Start, (&none), MPI_ERR_REQUEST, "request", "");
    FAILS(MPI_Buffer_attach, (x, -9), MPI_ERR_ARG, "buffer", "-9");
    section("point to point");
}

static void collectives(void)
{
    double d = 0;
    int x[8] = {0}, size = check_size;
    MPI_Comm w = check_comm, c;
    MPI_Group g, h;
    FAILS(MPI_Bcast, (x, 1, MPI_INT, size, w), MPI_ERR_ROOT, "root", size_text);
    FAILS(MPI_Gather, (x, 1, MPI_INT, x, 1, MPI_INT, -9, w), MPI_ERR_ROOT, "root", "-9");
    FAILS(MPI_Reduce, (x, x + 4, 1, MPI_INT, MPI_OP_NULL, 0, w), MPI_ERR_OP, "operation", "NULL");
    OURS(MPI_Allreduce, (&d, x, 1, MPI_DOUBLE, MPI_BAND, w), MPI_ERR_OP, "MPI_BAND", "MPI_DOUBLE");
    OURS(MPI_Allreduce, (x, x + 4, -2, MPI_INT, MPI_SUM, w), MPI_ERR_COUNT, "count", "-2");
    OURS(MPI_Ibcast, (x, -8, MPI_INT, 0, w, &(MPI_Request){0}), MPI_ERR_COUNT, "count", "-8");
    OURS(MPI_Comm_split, (w, -17, 0, &c), MPI_ERR_ARG, "color", "-17");
    FAILS(MPI_Cart_create, (w, 1, &(int){size + 1}, x, 0, &c), MPI_ERR_ARG, "", "");
    FAILS(MPI_Comm_group, (MPI_COMM_NULL, &g), MPI_ERR_COMM, "communicator", "NULL");
    MPI_Comm_group(w, &g);
    FAILS(MPI_Group_incl, (g, 1, &(int){size}, &h), MPI_ERR_RANK, "rank", size_text);
    OURS(MPI_Group_incl, (g, 2, (int[]){0, 0}, &h), MPI_ERR_RANK, "0", "");
    MPI_Group_free(&g);
    MPI_Comm world = MPI_COMM_WORLD;
    FAILS(MPI_Comm_free, (&world), MPI_ERR_COMM, "MPI_COMM_WORLD", "");
    section("collectives");
}

static void types(void)
{
    MPI_Datatype t, i = MPI_INT;
    FAILS(MPI_Type_contiguous, (-4, MPI_INT, &t), MPI_ERR_COUNT, "count", "-4");
    OURS(MPI_Type_vector, (2, -6, 3, MPI_INT, &t), MPI_ERR_ARG, "block length", "-6");
    OURS(MPI_Type_create_subarray, (1, (int[]){4}, (int[]){3}, (int[]){2}, MPI_ORDER_C, MPI_INT, &t), MPI_ERR_ARG,
          "3", "2");
    FAILS(MPI_Type_create_subarray, (1, (int[]){4}, (int[]){3}, (int[]){1}, 12345, MPI_INT, &t), MPI_ERR_ARG,
          "order", "12345");
    FAILS(MPI_Type_free, (&i), MPI_ERR_TYPE, "MPI_INT", "");
    section("types");
}

static void objects(void)
{
    MPI_Info info;
    char key[MPI_MAX_INFO_KEY + 20];
    int keyval = MPI_KEYVAL_INVALID, flag;
    void *value;
    memset(key, 'k', sizeof key);
    key[sizeof key - 1] = 0;
    MPI_Info_create(&info);
    FAILS(MPI_Info_set, (info, key, "x"), MPI_ERR_INFO_KEY, "key", "");
    FAILS(MPI_Info_delete, (info, "absent"), MPI_ERR_INFO_NOKEY, "absent", "");
    FAILS(MPI_Info_get_nthkey, (info, 3, key), MPI_ERR_ARG, "3", "");
    MPI_Info_free(&info);
    FAILS(MPI_Comm_get_attr, (check_comm, keyval, &value, &flag), MPI_ERR_KEYVAL, "key", "");
    FAILS(MPI_Comm_set_name, (MPI_COMM_NULL, "x"), MPI_ERR_COMM, "communicator", "NULL");
    section("objects");
}

static void windows_and_files(void)
{
    int x[4] = {0};
    MPI_Win win;
    MPI_Win_create(x, sizeof x, sizeof *x, MPI_INFO_NULL, check_comm, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_fence(0, win);
    FAILS(MPI_Put, (x, 1, MPI_INT, check_size, 0, 1, MPI_INT, win), MPI_ERR_RANK, "rank", size_text);
    FAILS(MPI_Get, (x, -6, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_COUNT, "count", "-6");
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_File file;
    FAILS(MPI_File_open, (MPI_COMM_SELF, "no/such/folder/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
          MPI_ERR_NO_SUCH_FILE, "no/such/folder/file", "");
    FAILS(MPI_File_open, (MPI_COMM_SELF, "x", MPI_MODE_RDONLY | MPI_MODE_WRONLY, MPI_INFO_NULL, &file),
          MPI_ERR_AMODE, "mode", "");
    FAILS(MPI_File_delete, ("no-such-file", MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE, "no-such-file", "");
    section("windows and files");
}

int main(int argc, char **argv)
{
    int n;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    check_begin(&argc, &argv, "error_texts");
    MPI_Get_library_version(text, &n);
    ours = strstr(text, "ftmpi") != NULL;
    snprintf(size_text, sizeof size_text, "%d", check_size);
    MPI_Comm_set_errhandler(check_comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    point_to_point();
    collectives();
    types();
    objects();
    windows_and_files();
    return check_end();
}
