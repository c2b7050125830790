/* Chapter 14: collective access to pieces that are interleaved with those of other processes,
 * under every hint for such access. A plain read checks each byte of the file. Each byte of a
 * collective read is checked, too. */
#include "../check.h"

enum { N = 3000 };

static char path[300];

/* The expected value i of rank r in the file. */
static int value(int r, int i, int key)
{
    return 1000000 * key + 10000 * r + i;
}

/* Every rank sees each n-th piece of `piece` values. All ranks write N values each and read them
 * back. */
static void pieces(int piece, MPI_Info info, int key)
{
    MPI_File f;
    MPI_Status st;
    MPI_Datatype block, seen;
    int *out = malloc(N * sizeof *out), *in = malloc(N * sizeof *in), many = 0;
    int mine = N / piece * piece;
    for (int i = 0; i < N; i++)
        out[i] = value(check_rank, i, key);
    MPI_Type_contiguous(piece, MPI_INT, &block);
    MPI_Type_create_resized(block, 0, (MPI_Aint)sizeof(int) * piece * check_size, &seen);
    MPI_Type_commit(&seen);
    MPI_File_open(check_comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &f);
    MPI_File_set_view(f, 20 + (MPI_Offset)sizeof(int) * piece * check_rank, MPI_INT, seen, "native", info);
    MPI_File_write_all(f, out, mine, MPI_INT, &st);
    MPI_Get_count(&st, MPI_INT, &many);
    EQUAL(many, mine);
    MPI_Offset at = 0, size = 0;
    MPI_File_get_position(f, &at);
    EQUAL(at, mine);
    MPI_File_sync(f);
    MPI_Barrier(check_comm);
    MPI_File_sync(f);
    MPI_File_get_size(f, &size);
    EQUAL(size, 20 + (long)sizeof(int) * mine * check_size);
    /* Collectively, from the middle of a piece, then beyond the end. */
    memset(in, 0, N * sizeof *in);
    MPI_File_read_at_all(f, 1, in, mine - 1, MPI_INT, &st);
    for (int i = 1; i < mine; i++)
        if (in[i - 1] != out[i]) {
            CHECK(0, "piece %d, hint %d: value %d is %d", piece, key, i, in[i - 1]);
            break;
        }
    memset(in, 0, N * sizeof *in);
    MPI_File_read_at_all(f, mine - 5, in, 50, MPI_INT, &st);
    MPI_Get_count(&st, MPI_INT, &many);
    EQUAL(in[4], out[mine - 1]);
    if (!peer_is_mpich_4_0()) { /* The status reports 50 values. */
        EQUAL(many, 5);
        EQUAL(in[5], 0);
    }
    /* Different lengths, one rank without data, holes in memory. */
    MPI_Datatype holes;
    MPI_Type_vector(40 + check_rank, 1, 2, MPI_INT, &holes);
    MPI_Type_commit(&holes);
    memset(in, 0, N * sizeof *in);
    MPI_File_read_at_all(f, 3, in, check_rank != check_size - 1, holes, &st);
    for (int i = 0; i < 40 + check_rank && check_rank != check_size - 1; i++) {
        EQUAL(in[2 * i], out[3 + i]);
        EQUAL(in[2 * i + 1], 0);
    }
    MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    unsigned char *all = malloc((size_t)size);
    MPI_File_read_at(f, 0, all, (int)size, MPI_BYTE, &st);
    for (int i = 0; i < 20; i++)
        EQUAL(all[i], 0);
    for (int r = 0; r < check_size; r++)
        for (int i = 0; i < mine; i++) {
            int here;
            memcpy(&here, all + 20 + sizeof(int) * (size_t)((i / piece * check_size + r) * piece + i % piece), sizeof here);
            if (here != value(r, i, key)) {
                CHECK(0, "piece %d, hint %d: value %d of rank %d is %d in the file", piece, key, i, r, here);
                i = mine;
            }
        }
    note_bytes(all, (size_t)size);
    free(all);
    free(out);
    free(in);
    MPI_Barrier(check_comm);
    MPI_File_close(&f);
    MPI_Type_free(&block);
    MPI_Type_free(&seen);
    MPI_Type_free(&holes);
    if (check_rank == 0)
        MPI_File_delete(path, MPI_INFO_NULL);
    MPI_Barrier(check_comm);
}

/* The data between the pieces of all ranks stay unchanged. */
static void between(void)
{
    MPI_File f;
    MPI_Datatype seen;
    int n = check_size, out[50], all[200 * 16 + 10];
    MPI_File_open(check_comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f);
    for (int i = 0; i < 100 * (n + 1); i++)
        all[i] = -i;
    if (check_rank == 0)
        MPI_File_write_at(f, 0, all, 100 * (n + 1) * (int)sizeof(int), MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_sync(f);
    MPI_Barrier(check_comm);
    MPI_File_sync(f);
    for (int i = 0; i < 50; i++)
        out[i] = value(check_rank, i, 7);
    /* One element in n + 1 belongs to no rank. */
    MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)sizeof(int) * (n + 1), &seen);
    MPI_Type_commit(&seen);
    MPI_File_set_view(f, (MPI_Offset)sizeof(int) * check_rank, MPI_INT, seen, "native", MPI_INFO_NULL);
    MPI_File_write_at_all(f, 20, out, 50, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_sync(f);
    MPI_Barrier(check_comm);
    MPI_File_sync(f);
    MPI_File_read_at_all(f, 0, all, 100 * (n + 1), MPI_INT, MPI_STATUS_IGNORE);
    for (int i = 0; i < 100 * (n + 1); i++) {
        int tile = i / (n + 1), r = i % (n + 1);
        int want = tile >= 20 && tile < 70 && r < n ? value(r, tile - 20, 7) : -i;
        if (all[i] != want) {
            CHECK(0, "place %d is %d, must be %d", i, all[i], want);
            break;
        }
    }
    MPI_Barrier(check_comm);
    MPI_File_close(&f);
    MPI_Type_free(&seen);
    section("between");
}

#ifdef FTMPI_VERSION
/* A call that fails on one process only: all others return from it. The peer hangs. */
static void one_fails(void)
{
    MPI_File f;
    int out = 5, code, class = 0;
    MPI_File_open(check_comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f);
    code = MPI_File_write_at_all(f, check_rank == 0 ? -1 : 4 * check_rank, &out, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_Error_class(code, &class);
    EQUAL(class, check_rank == 0 ? MPI_ERR_ARG : MPI_SUCCESS);
    MPI_File_close(&f);
}
#endif

int main(int argc, char **argv)
{
    static const char *const hints[][2] = {{"cb_nodes", "1"}, {"cb_nodes", "2"}, {"cb_buffer_size", "4096"},
                                           {"romio_cb_write", "disable"}, {"romio_cb_read", "disable"},
                                           {"romio_cb_write", "enable"}, {"romio_cb_read", "enable"}};
    check_begin(&argc, &argv, "files_together");
    /* In the working directory, under the same name in every incarnation of a rank (the process
     * id differs). */
    strcpy(path, "ftmpi-together");
    pieces(1, MPI_INFO_NULL, 1);
    pieces(7, MPI_INFO_NULL, 2);
    pieces(1000, MPI_INFO_NULL, 3);
    for (int i = 0; i < 7; i++) {
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, hints[i][0], hints[i][1]);
        pieces(3, info, 10 + i);
        MPI_Info_free(&info);
    }
    section("pieces");
    between();
#ifdef FTMPI_VERSION
    one_fails();
#endif
    return check_end();
}
