/* Files: modes, sizes, views, the three kinds of pointers, blocking, non-blocking, collective and
 * split forms, atomic mode, representations, errors. */
#include "../check.h"
#include <unistd.h>

enum { N = 50 };

static char path[300];

static int class_of(int code)
{
    int class = 0;
    MPI_Error_class(code, &class);
    return class;
}

static void modes(void)
{
    MPI_File f;
    MPI_Offset size = -1;
    int code, flag = 0, amode = 0;
    code = MPI_File_open(check_comm, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &f);
    EQUAL(class_of(code), MPI_ERR_NO_SUCH_FILE);
    code = MPI_File_open(check_comm, path, MPI_MODE_RDWR | MPI_MODE_WRONLY, MPI_INFO_NULL, &f);
    EQUAL(class_of(code), MPI_ERR_AMODE);
    code = MPI_File_open(check_comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
    EQUAL(class_of(code), MPI_SUCCESS);
    MPI_File_get_amode(f, &amode);
    EQUAL(amode, MPI_MODE_CREATE | MPI_MODE_RDWR);
    MPI_File_get_size(f, &size);
    EQUAL(size, 0);
    MPI_File_set_size(f, 1000);
    MPI_File_get_size(f, &size);
    EQUAL(size, 1000);
    MPI_File_preallocate(f, 3000);
    MPI_File_get_size(f, &size);
    EQUAL(size, 3000);
    MPI_File_set_size(f, 10);
    MPI_File_get_size(f, &size);
    EQUAL(size, 10);
    MPI_Group group, world;
    int same = 0;
    MPI_File_get_group(f, &group);
    MPI_Comm_group(check_comm, &world);
    MPI_Group_compare(group, world, &same);
    EQUAL(same, MPI_IDENT);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    MPI_File_set_atomicity(f, 1);
    MPI_File_get_atomicity(f, &flag);
    EQUAL(flag, 1);
    MPI_Info info;
    MPI_File_get_info(f, &info);
    CHECK(info != MPI_INFO_NULL, "no info");
    MPI_Info_free(&info);
    MPI_File_close(&f);
    CHECK(f == MPI_FILE_NULL, "a closed file is not null");
    MPI_Barrier(check_comm);
    code = MPI_File_open(check_comm, path, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR,
                         MPI_INFO_NULL, &f);
    EQUAL(class_of(code), MPI_ERR_FILE_EXISTS);
    code = MPI_File_open(check_comm, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &f);
    EQUAL(class_of(code), MPI_SUCCESS);
    code = MPI_File_write(f, &size, 1, MPI_BYTE, MPI_STATUS_IGNORE);
    EQUAL(class_of(code), MPI_ERR_READ_ONLY);
    MPI_File_close(&f);
    MPI_Barrier(check_comm);
    if (check_rank == 0)
        MPI_File_delete(path, MPI_INFO_NULL);
    MPI_Barrier(check_comm);
    /* The value comes from MPI: an incarnation that repeats this call gets the value of the
     * first one. */
    code = MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &f);
    EQUAL(class_of(code), MPI_ERR_NO_SUCH_FILE);
    MPI_Barrier(check_comm);
    code = MPI_File_open(check_comm, path,
                         MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE,
                         MPI_INFO_NULL, &f);
    EQUAL(class_of(code), MPI_SUCCESS);
    code = MPI_File_read(f, &size, 1, MPI_BYTE, MPI_STATUS_IGNORE);
    EQUAL(class_of(code), MPI_ERR_ACCESS);
    MPI_File_close(&f);
    MPI_Barrier(check_comm);
    code = MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &f);
    EQUAL(class_of(code), MPI_ERR_NO_SUCH_FILE);
    MPI_Barrier(check_comm);
    section("modes");
}

/* Names are bytes: a Latin-1 name differs from the name in which its invalid byte is replaced. */
static void encodings(void)
{
    MPI_File f;
    MPI_Offset size = 0;
    char latin[400], replaced[400];
    snprintf(latin, sizeof latin, "%s-m\xfcller-%d", path, check_rank);
    snprintf(replaced, sizeof replaced, "%s-m\xef\xbf\xbdller-%d", path, check_rank);
    EQUAL(class_of(MPI_File_open(MPI_COMM_SELF, replaced, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &f)),
          MPI_SUCCESS);
    MPI_File_set_size(f, 17);
    MPI_File_close(&f);
    EQUAL(class_of(MPI_File_open(MPI_COMM_SELF, latin, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &f)),
          MPI_SUCCESS);
    MPI_File_set_size(f, 4);
    MPI_File_get_size(f, &size);
    EQUAL(size, 4);
    MPI_File_close(&f);
    EQUAL(MPI_File_delete(latin, MPI_INFO_NULL), MPI_SUCCESS);
    EQUAL(class_of(MPI_File_open(MPI_COMM_SELF, latin, MPI_MODE_RDONLY, MPI_INFO_NULL, &f)), MPI_ERR_NO_SUCH_FILE);
    EQUAL(class_of(MPI_File_open(MPI_COMM_SELF, replaced, MPI_MODE_RDONLY, MPI_INFO_NULL, &f)), MPI_SUCCESS);
    MPI_File_get_size(f, &size);
    EQUAL(size, 17);
    MPI_File_close(&f);
    EQUAL(MPI_File_delete(replaced, MPI_INFO_NULL), MPI_SUCCESS);
    MPI_Barrier(check_comm);
}

/* The name of a file system before the path, as ROMIO has it: what open takes, delete takes, too. */
static void file_systems(void)
{
    MPI_File f;
    char name[400], plain[400];
    snprintf(plain, sizeof plain, "%s-kind-%d", path, check_rank);
    for (int capital = 0; capital < 2; capital++) {
        snprintf(name, sizeof name, "%s:%s", capital ? "UFS" : "ufs", plain);
        EQUAL(class_of(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f)),
              MPI_SUCCESS);
        MPI_File_close(&f);
        /* (By MPI: a replay does nothing to files again, and would look at what is there now.) */
        EQUAL(class_of(MPI_File_open(MPI_COMM_SELF, plain, MPI_MODE_RDONLY, MPI_INFO_NULL, &f)), MPI_SUCCESS);
        MPI_File_close(&f);
        EQUAL(class_of(MPI_File_delete(name, MPI_INFO_NULL)), MPI_SUCCESS);
        EQUAL(class_of(MPI_File_open(MPI_COMM_SELF, plain, MPI_MODE_RDONLY, MPI_INFO_NULL, &f)),
              MPI_ERR_NO_SUCH_FILE);
    }
    MPI_Barrier(check_comm);
}

static void offsets(void)
{
    MPI_File f;
    MPI_Status st;
    MPI_Request q;
    MPI_Offset at = -1;
    int out[N], in[N], n = 0, other = (check_rank + 1) % check_size;
    for (int i = 0; i < N; i++)
        out[i] = 1000 * check_rank + i;
    MPI_File_open(check_comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
    MPI_File_write_at(f, check_rank * (MPI_Offset)sizeof out, out, N, MPI_INT, &st);
    MPI_Get_count(&st, MPI_INT, &n);
    EQUAL(n, N);
    MPI_File_sync(f);
    MPI_Barrier(check_comm);
    MPI_File_sync(f);
    memset(in, 0, sizeof in);
    MPI_File_read_at(f, other * (MPI_Offset)sizeof in, in, N, MPI_INT, &st);
    for (int i = 0; i < N; i++)
        EQUAL(in[i], 1000 * other + i);
    /* at the end of the file the read returns fewer bytes than asked for */
    MPI_File_read_at(f, check_size * (MPI_Offset)sizeof in - 3 * (MPI_Offset)sizeof *in, in, N, MPI_INT, &st);
    MPI_Get_count(&st, MPI_INT, &n);
    EQUAL(n, 3);
    MPI_File_iread_at(f, other * (MPI_Offset)sizeof in, in, N, MPI_INT, &q);
    MPI_Wait(&q, &st);
    MPI_Get_count(&st, MPI_INT, &n);
    EQUAL(n, N);
    EQUAL(in[N - 1], 1000 * other + N - 1);
    MPI_File_read_at_all(f, other * (MPI_Offset)sizeof in, in, N, MPI_INT, &st);
    EQUAL(in[1], 1000 * other + 1);
    MPI_File_read_at_all_begin(f, check_rank * (MPI_Offset)sizeof in, in, N, MPI_INT);
    MPI_File_read_at_all_end(f, in, &st);
    EQUAL(in[2], 1000 * check_rank + 2);
    MPI_Barrier(check_comm);
    /* the individual pointer */
    MPI_File_seek(f, check_rank * (MPI_Offset)sizeof out, MPI_SEEK_SET);
    MPI_File_get_position(f, &at);
    EQUAL(at, check_rank * (long)sizeof out);
    MPI_File_write(f, out, N / 2, MPI_INT, &st);
    MPI_File_iwrite(f, out, N - N / 2, MPI_INT, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_File_get_position(f, &at);
    EQUAL(at, (check_rank + 1) * (long)sizeof out);
    MPI_File_seek(f, -(MPI_Offset)sizeof out, MPI_SEEK_CUR);
    MPI_File_read(f, in, N, MPI_INT, &st);
    EQUAL(in[0], out[0]);
    EQUAL(in[N / 2], out[0]);
    MPI_File_seek(f, -4, MPI_SEEK_END);
    MPI_File_get_position(f, &at);
    EQUAL(at, check_size * (long)sizeof out - 4);
    MPI_File_seek(f, 0, MPI_SEEK_SET);
    MPI_File_read_all(f, in, 2, MPI_INT, &st);
    MPI_File_read_all_begin(f, &in[2], 2, MPI_INT);
    MPI_File_read_all_end(f, &in[2], &st);
    MPI_File_get_position(f, &at);
    EQUAL(at, 4 * (long)sizeof(int));
    note_bytes(in, 4 * sizeof *in);
    MPI_File_close(&f);
    MPI_File_open(check_comm, path, MPI_MODE_WRONLY | MPI_MODE_APPEND, MPI_INFO_NULL, &f);
    MPI_File_get_position(f, &at);
    EQUAL(at, check_size * (long)sizeof out);
    MPI_File_close(&f);
    MPI_Barrier(check_comm);
    if (check_rank == 0)
        MPI_File_delete(path, MPI_INFO_NULL);
    MPI_Barrier(check_comm);
    section("offsets");
}

static void views(void)
{
    /* every rank sees each n-th block of three integers */
    MPI_File f;
    MPI_Status st;
    MPI_Datatype block, seen, column, e, v;
    MPI_Offset disp = 0, where = 0;
    char name[MPI_MAX_DATAREP_STRING];
    int out[N * 3], in[N * 3], n = 0;
    for (int i = 0; i < 3 * N; i++)
        out[i] = 10000 * check_rank + i;
    MPI_Type_contiguous(3, MPI_INT, &block);
    MPI_Type_commit(&block);
    MPI_Type_create_resized(block, 0, 12 * check_size, &seen);
    MPI_Type_commit(&seen);
    MPI_File_open(check_comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
    MPI_File_set_view(f, 8 + 12 * check_rank, MPI_INT, seen, "native", MPI_INFO_NULL);
    MPI_File_get_view(f, &disp, &e, &v, name);
    EQUAL(disp, 8 + 12 * check_rank);
    CHECK(e == MPI_INT && !strcmp(name, "native"), "view");
    MPI_Aint extent = 0;
    MPI_File_get_type_extent(f, MPI_INT, &extent);
    EQUAL(extent, 4);
    if (v != seen)
        MPI_Type_free(&v);
    MPI_File_get_byte_offset(f, 7, &where);
    EQUAL(where, 8 + 12 * check_rank + 2 * 12 * check_size + 4);
    MPI_File_write_all(f, out, 3 * N, MPI_INT, &st);
    MPI_Get_count(&st, MPI_INT, &n);
    EQUAL(n, 3 * N);
    MPI_File_sync(f);
    MPI_Barrier(check_comm);
    MPI_File_sync(f);
    memset(in, 0, sizeof in);
    MPI_File_read_at(f, 4, in, 8, MPI_INT, &st);
    for (int i = 0; i < 8; i++)
        EQUAL(in[i], out[4 + i]);
    MPI_File_seek(f, 0, MPI_SEEK_SET);
    /* with holes in memory, too */
    MPI_Type_vector(N, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    memset(in, 0, sizeof in);
    MPI_File_read(f, in, 1, column, &st);
    for (int i = 0; i < N; i++) {
        EQUAL(in[2 * i], out[i]);
        if (i)
            EQUAL(in[2 * i - 1], 0);
    }
    MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    MPI_Offset size = 0;
    MPI_File_get_size(f, &size);
    EQUAL(size, 8 + 12L * check_size * N);
    int *all = calloc((size_t)size, 1);
    MPI_File_read_at_all(f, 8, all, (int)size - 8, MPI_BYTE, &st);
    for (int i = 0; i < N; i++)
        for (int r = 0; r < check_size; r++)
            for (int k = 0; k < 3; k++)
                EQUAL(all[3 * (i * check_size + r) + k], 10000 * r + 3 * i + k);
    note_bytes(all, (size_t)size - 8);
    free(all);
    MPI_File_close(&f);
    MPI_Type_free(&block);
    MPI_Type_free(&seen);
    MPI_Type_free(&column);
    MPI_Barrier(check_comm);
    if (check_rank == 0)
        MPI_File_delete(path, MPI_INFO_NULL);
    MPI_Barrier(check_comm);
    section("views");
}

static void matrix(void)
{
    /* a matrix, distributed in rows by a subarray */
    MPI_File f;
    MPI_Datatype part;
    int sizes[2] = {4 * check_size, 6}, subsizes[2] = {4, 6}, starts[2] = {4 * check_rank, 0};
    double out[24], in[24];
    for (int i = 0; i < 24; i++)
        out[i] = 100 * check_rank + i;
    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &part);
    MPI_Type_commit(&part);
    MPI_File_open(check_comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
    MPI_File_set_view(f, 0, MPI_DOUBLE, part, "native", MPI_INFO_NULL);
    MPI_File_write_all(f, out, 24, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_seek(f, 0, MPI_SEEK_SET);
    MPI_File_read_all(f, in, 24, MPI_DOUBLE, MPI_STATUS_IGNORE);
    CHECK(!memcmp(in, out, sizeof in), "the matrix is another");
    MPI_File_close(&f);
    MPI_Type_free(&part);
    MPI_Barrier(check_comm);
    if (check_rank == 0)
        MPI_File_delete(path, MPI_INFO_NULL);
    MPI_Barrier(check_comm);
    section("matrix");
}

static void shared(void)
{
    MPI_File f;
    MPI_Status st;
    MPI_Offset at = -1;
    int n = check_size, out[4], in[4], *all = calloc((size_t)n * 8 + 8, sizeof *all);
    MPI_File_open(check_comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
    MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    /* in order of the ranks, with different lengths */
    int mine = 1 + check_rank % 3, before = 0, total = 0;
    for (int r = 0; r < n; r++) {
        if (r < check_rank)
            before += 1 + r % 3;
        total += 1 + r % 3;
    }
    for (int i = 0; i < 4; i++)
        out[i] = 100 * check_rank + i;
    MPI_File_write_ordered(f, out, mine, MPI_INT, &st);
    MPI_Barrier(check_comm);
    MPI_File_get_position_shared(f, &at);
    EQUAL(at, total);
    MPI_Barrier(check_comm);
    MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
    memset(in, 0, sizeof in);
    MPI_File_read_ordered(f, in, mine, MPI_INT, &st);
    for (int i = 0; i < mine; i++)
        EQUAL(in[i], 100 * check_rank + i);
    MPI_Barrier(check_comm);
    MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
    MPI_File_read_ordered_begin(f, in, mine, MPI_INT);
    MPI_File_read_ordered_end(f, in, &st);
    EQUAL(in[0], 100 * check_rank);
    /* in any order: nothing is overwritten, nothing is lost */
    MPI_Barrier(check_comm);
    MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
    MPI_Barrier(check_comm);
    for (int i = 0; i < 4; i++) {
        int value = 4 * check_rank + i;
        MPI_File_write_shared(f, &value, 1, MPI_INT, &st);
        MPI_Request q;
        value += 4 * n;
        MPI_File_iwrite_shared(f, &value, 1, MPI_INT, &q);
        MPI_Wait(&q, &st);
    }
    MPI_File_sync(f);
    MPI_Barrier(check_comm);
    MPI_File_sync(f);
    MPI_File_get_position_shared(f, &at);
    EQUAL(at, 8 * n);
    MPI_File_read_at(f, 0, all, 8 * n, MPI_INT, &st);
    int *hits = calloc((size_t)n * 8, sizeof *hits);
    for (int i = 0; i < 8 * n; i++)
        if (all[i] >= 0 && all[i] < 8 * n)
            hits[all[i]]++;
    for (int i = 0; i < 8 * n; i++)
        EQUAL(hits[i], 1);
    free(hits);
    MPI_Barrier(check_comm);
    MPI_File_seek_shared(f, -2, MPI_SEEK_END);
    MPI_File_get_position_shared(f, &at);
    EQUAL(at, 8 * n - 2);
    MPI_Barrier(check_comm);
    if (!peer_is_mpich_4_0()) {
        /* from the pointer's place when the last rank has called */
        MPI_File_seek_shared(f, 3, MPI_SEEK_SET);
        if (check_rank == n - 1) {
            usleep(20000);
            MPI_File_write_shared(f, out, 2, MPI_INT, &st);
        }
        MPI_File_seek_shared(f, 4, MPI_SEEK_CUR);
        MPI_File_get_position_shared(f, &at);
        EQUAL(at, 9);
        /* a call that fails on one rank fails on all, and no rank waits */
        CHECK(class_of(MPI_File_seek_shared(f, check_rank ? 1 : -1, MPI_SEEK_SET)) != MPI_SUCCESS,
              "some have left the others");
        MPI_File_get_position_shared(f, &at);
        EQUAL(at, 9);
        MPI_Barrier(check_comm);
    }
    MPI_File_close(&f);
    free(all);
    EQUAL(before >= 0, 1);
    MPI_Barrier(check_comm);
    if (check_rank == 0)
        MPI_File_delete(path, MPI_INFO_NULL);
    MPI_Barrier(check_comm);
    section("shared pointer");
}

static void atomic(void)
{
    /* overlapping accesses in atomic mode: each access is seen whole */
    MPI_File f;
    MPI_Status st;
    static char out[20000], in[20000];
    MPI_File_open(check_comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
    MPI_File_set_atomicity(f, 1);
    memset(out, 'a' + check_rank, sizeof out);
    MPI_File_write_at(f, 0, out, sizeof out, MPI_BYTE, &st);
    MPI_Barrier(check_comm);
    for (int k = 0; k < 5; k++) {
        MPI_File_write_at(f, 0, out, sizeof out, MPI_BYTE, &st);
        MPI_File_read_at(f, 0, in, sizeof in, MPI_BYTE, &st);
        int mixed = 0;
        for (size_t i = 0; i < sizeof in; i++)
            mixed += in[i] != in[0];
        EQUAL(mixed, 0);
    }
    MPI_File_close(&f);
    MPI_Barrier(check_comm);
    if (check_rank == 0)
        MPI_File_delete(path, MPI_INFO_NULL);
    MPI_Barrier(check_comm);
    section("atomic");
}

static void external(void)
{
    MPI_File f;
    int values[3] = {1, 0x01020304, check_rank}, back[3] = {0};
    unsigned char bytes[12];
    MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
    MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL);
    MPI_File_write_at(f, 0, values, 3, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_read_at(f, 0, back, 3, MPI_INT, MPI_STATUS_IGNORE);
    for (int i = 0; i < 3; i++)
        EQUAL(back[i], values[i]);
    MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    MPI_File_read_at(f, 0, bytes, 12, MPI_BYTE, MPI_STATUS_IGNORE);
    EQUAL(bytes[3], 1);
    EQUAL(bytes[4], 1);
    EQUAL(bytes[7], 4);
    MPI_File_close(&f);
    MPI_File_delete(path, MPI_INFO_NULL);
    section("external32");
}

static int handled;

static void handler(MPI_File *f, int *code, ...)
{
    (void)f;
    handled = class_of(*code);
}

static void handlers(void)
{
    MPI_Errhandler ours, got;
    MPI_File f;
    MPI_File_get_errhandler(MPI_FILE_NULL, &got);
    CHECK(got == MPI_ERRORS_RETURN, "the handler of no file");
    MPI_File_create_errhandler(handler, &ours);
    MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &f);
    MPI_File_set_errhandler(f, ours);
    MPI_File_seek(f, -1, MPI_SEEK_SET);
    EQUAL(handled, MPI_ERR_ARG);
    handled = 0;
    MPI_File_call_errhandler(f, MPI_ERR_OTHER);
    EQUAL(handled, MPI_ERR_OTHER);
    MPI_Errhandler_free(&ours);
    MPI_File_close(&f);
    section("handlers");
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "files");
    /* In the working directory, under the same name in every incarnation of a rank (the process
     * id differs). */
    strcpy(path, "ftmpi-files");
    modes();
    encodings();
    file_systems();
    offsets();
    views();
    matrix();
    shared();
    atomic();
    snprintf(path, sizeof path, "ftmpi-files-%d", check_rank);
    external();
    handlers();
    return check_end();
}
