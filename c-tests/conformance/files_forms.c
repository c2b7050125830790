/* Chapter 14: reading and writing in all forms: blocking, non-blocking, split, with `int` and
 * with `MPI_Count`, by offset, by the individual and by the shared pointer. Each form writes
 * with one call and reads with another. Every byte is checked. */
#include "../check.h"

enum { N = 40 };

static char path[300];
static MPI_File f;
static int out[N], in[N], me, n;
static MPI_Status st;

static void prepare(int key)
{
    for (int i = 0; i < N; i++)
        out[i] = 100000 * key + 1000 * me + i;
    memset(in, 0, sizeof in);
    memset(&st, 0, sizeof st);
}

static void all_there(const char *how, int key, int rank)
{
    int many = -1;
    MPI_Get_count(&st, MPI_INT, &many);
    CHECK(many == N, "%s: %d values instead of %d", how, many, N);
    for (int i = 0; i < N; i++)
        if (in[i] != 100000 * key + 1000 * rank + i) {
            CHECK(0, "%s: value %d is %d", how, i, in[i]);
            break;
        }
    note_bytes(in, sizeof in);
}

static void wait(MPI_Request *q)
{
    MPI_Wait(q, &st);
}

/* All ranks see everything that was written. */
static void settle(void)
{
    int many = -1;
    MPI_Get_count(&st, MPI_INT, &many);
    EQUAL(many, N);
    MPI_File_sync(f);
    MPI_Barrier(check_comm);
    MPI_File_sync(f);
}

static MPI_Offset place(int rank)
{
    return (MPI_Offset)rank * N;
}

/* By offset: written at the rank's own place, read at the neighbour's. */
static void by_offset(void)
{
    MPI_Request q;
    int other = (me + 1) % n;
    MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    for (int form = 0; form < 8; form++) {
        prepare(form);
        switch (form) {
        case 0: MPI_File_write_at_c(f, place(me), out, N, MPI_INT, &st); break;
        case 1: MPI_File_write_at_all(f, place(me), out, N, MPI_INT, &st); break;
        case 2: MPI_File_write_at_all_c(f, place(me), out, N, MPI_INT, &st); break;
        case 3: MPI_File_iwrite_at(f, place(me), out, N, MPI_INT, &q); wait(&q); break;
        case 4: MPI_File_iwrite_at_c(f, place(me), out, N, MPI_INT, &q); wait(&q); break;
        case 5: MPI_File_iwrite_at_all(f, place(me), out, N, MPI_INT, &q); wait(&q); break;
        case 6: MPI_File_iwrite_at_all_c(f, place(me), out, N, MPI_INT, &q); wait(&q); break;
        default:
            MPI_File_write_at_all_begin_c(f, place(me), out, N, MPI_INT);
            MPI_File_write_at_all_end(f, out, &st);
        }
        settle();
        switch (form) {
        case 0: MPI_File_read_at_c(f, place(other), in, N, MPI_INT, &st); break;
        case 1: MPI_File_read_at_all_c(f, place(other), in, N, MPI_INT, &st); break;
        case 2: MPI_File_iread_at_c(f, place(other), in, N, MPI_INT, &q); wait(&q); break;
        case 3: MPI_File_iread_at_all(f, place(other), in, N, MPI_INT, &q); wait(&q); break;
        case 4: MPI_File_iread_at_all_c(f, place(other), in, N, MPI_INT, &q); wait(&q); break;
        case 5:
            MPI_File_read_at_all_begin_c(f, place(other), in, N, MPI_INT);
            MPI_File_read_at_all_end(f, in, &st);
            break;
        default: MPI_File_read_at_all(f, place(other), in, N, MPI_INT, &st); break;
        }
        all_there("by offset", form, other);
        MPI_Barrier(check_comm);
    }
    prepare(9);
    MPI_File_write_at_all_begin(f, place(me), out, N, MPI_INT);
    MPI_File_write_at_all_end(f, out, &st);
    settle();
    MPI_File_read_at(f, place(other), in, N, MPI_INT, &st);
    all_there("split", 9, other);
    MPI_Barrier(check_comm);
    section("by offset");
}

/* By the individual pointer, in a view of each n-th piece of four values. */
static void individual(void)
{
    MPI_Datatype four, seen;
    MPI_Request q;
    MPI_Offset at = -1;
    MPI_Type_contiguous(4, MPI_INT, &four);
    MPI_Type_create_resized(four, 0, 16 * n, &seen);
    MPI_Type_commit(&seen);
    MPI_File_set_view(f, 16 * me, MPI_INT, seen, "native", MPI_INFO_NULL);
    for (int form = 0; form < 7; form++) {
        prepare(10 + form);
        MPI_File_seek(f, 4, MPI_SEEK_SET);
        switch (form) {
        case 0: MPI_File_write_c(f, out, N, MPI_INT, &st); break;
        case 1: MPI_File_write_all_c(f, out, N, MPI_INT, &st); break;
        case 2: MPI_File_iwrite_c(f, out, N, MPI_INT, &q); wait(&q); break;
        case 3: MPI_File_iwrite_all(f, out, N, MPI_INT, &q); wait(&q); break;
        case 4: MPI_File_iwrite_all_c(f, out, N, MPI_INT, &q); wait(&q); break;
        case 5:
            MPI_File_write_all_begin(f, out, N, MPI_INT);
            MPI_File_write_all_end(f, out, &st);
            break;
        default:
            MPI_File_write_all_begin_c(f, out, N, MPI_INT);
            MPI_File_write_all_end(f, out, &st);
        }
        MPI_File_get_position(f, &at);
        EQUAL(at, 4 + N);
        settle();
        MPI_File_seek(f, -N, MPI_SEEK_CUR);
        switch (form) {
        case 0: MPI_File_read_c(f, in, N, MPI_INT, &st); break;
        case 1: MPI_File_read_all_c(f, in, N, MPI_INT, &st); break;
        case 2: MPI_File_iread(f, in, N, MPI_INT, &q); wait(&q); break;
        case 3: MPI_File_iread_c(f, in, N, MPI_INT, &q); wait(&q); break;
        case 4: MPI_File_iread_all(f, in, N, MPI_INT, &q); wait(&q); break;
        case 5: MPI_File_iread_all_c(f, in, N, MPI_INT, &q); wait(&q); break;
        default:
            MPI_File_read_all_begin_c(f, in, N, MPI_INT);
            MPI_File_read_all_end(f, in, &st);
        }
        all_there("individual", 10 + form, me);
        MPI_File_get_position(f, &at);
        EQUAL(at, 4 + N);
        MPI_Barrier(check_comm);
    }
    MPI_Type_free(&four);
    MPI_Type_free(&seen);
    MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    section("individual");
}

/* By the shared pointer: each piece is found whole at some place. In the ordered forms, at its
 * own place. */
static void shared(void)
{
    MPI_Request q;
    for (int form = 0; form < 3; form++) {
        prepare(20 + form);
        MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
        if (form == 0)
            MPI_File_write_ordered_c(f, out, N, MPI_INT, &st);
        else if (form == 1)
            MPI_File_write_ordered_begin(f, out, N, MPI_INT);
        else
            MPI_File_write_ordered_begin_c(f, out, N, MPI_INT);
        if (form > 0)
            MPI_File_write_ordered_end(f, out, &st);
        settle();
        MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
        if (form == 0)
            MPI_File_read_ordered_c(f, in, N, MPI_INT, &st);
        else
            MPI_File_read_ordered_begin_c(f, in, N, MPI_INT);
        if (form > 0)
            MPI_File_read_ordered_end(f, in, &st);
        all_there("ordered", 20 + form, me);
        MPI_Barrier(check_comm);
    }
    for (int form = 0; form < 4; form++) {
        prepare(30 + form);
        MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
        switch (form) {
        case 0: MPI_File_write_shared_c(f, out, N, MPI_INT, &st); break;
        case 1: MPI_File_iwrite_shared_c(f, out, N, MPI_INT, &q); wait(&q); break;
        case 2: MPI_File_iwrite_shared(f, out, N, MPI_INT, &q); wait(&q); break;
        default: MPI_File_write_shared(f, out, N, MPI_INT, &st); break;
        }
        settle();
        MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
        switch (form) {
        case 0: MPI_File_read_shared(f, in, N, MPI_INT, &st); break;
        case 1: MPI_File_read_shared_c(f, in, N, MPI_INT, &st); break;
        case 2: MPI_File_iread_shared(f, in, N, MPI_INT, &q); wait(&q); break;
        default: MPI_File_iread_shared_c(f, in, N, MPI_INT, &q); wait(&q); break;
        }
        /* The piece depends on timing: all ranks have different pieces. */
        int from = (in[0] - 100000 * (30 + form)) / 1000, ranks = 0, mine = 1 << (from % 30);
        memset(out, 0, sizeof out);
        for (int i = 0; i < N; i++)
            if (in[i] != 100000 * (30 + form) + 1000 * from + i) {
                CHECK(0, "shared, form %d: value %d is %d", form, i, in[i]);
                break;
            }
        MPI_Allreduce(&mine, &ranks, 1, MPI_INT, MPI_SUM, check_comm);
        EQUAL(ranks, (1 << n) - 1);
        MPI_Barrier(check_comm);
    }
    section("shared");
}

/* Hints are returned, at least those with a meaning everywhere. Also the extent of a type in the
 * file. */
static void properties(void)
{
    MPI_Info info, got;
    MPI_Count extent = 0;
    MPI_Aint small = 0;
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_nodes", "1");
    EQUAL(MPI_File_set_info(f, info), MPI_SUCCESS);
    EQUAL(MPI_File_get_info(f, &got), MPI_SUCCESS);
    CHECK(got != MPI_INFO_NULL, "no info");
    MPI_Info_free(&info);
    MPI_Info_free(&got);
#ifdef FTMPI_VERSION
    EQUAL(MPI_File_get_type_extent_c(f, MPI_DOUBLE, &extent), MPI_SUCCESS);
    EQUAL(extent, 8);
#else
    (void)extent;
#endif
    EQUAL(MPI_File_get_type_extent(f, MPI_DOUBLE, &small), MPI_SUCCESS);
    EQUAL(small, 8);
    section("properties");
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "files_forms");
    n = check_size;
    me = check_rank;
    /* In the working directory, under the same name in every incarnation of a rank (the process
     * id differs). */
    strcpy(path, "ftmpi-forms");
    MPI_File_open(check_comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f);
    by_offset();
    individual();
    shared();
    properties();
    MPI_File_close(&f);
    return check_end();
}
