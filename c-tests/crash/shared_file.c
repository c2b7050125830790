/* A file that all ranks write and read together. Each round appends a stretch in which the
 * values of all ranks are interleaved, and reads what the others wrote in this stretch and in an
 * earlier round. The read values determine what is written next. No stretch is written twice, so
 * a replay may read it again. At the end rank 0 checks the whole file with the system's own
 * calls. */
#include "order.h"
#include <fcntl.h>
#include <unistd.h>

enum { PACE_US = 60000, PIECE = 3, PIECES = 40, EACH = PIECE * PIECES };

/* The value i of rank r in round k, computed from what the ranks had seen before. */
static uint64_t value(uint64_t seed, int r, int i)
{
    return (seed + (uint64_t)r + 1) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)i * 1000003u;
}

int main(int argc, char **argv)
{
    order_begin(&argc, &argv, "shared_file");
    int n = check_size, me = check_rank, count = rounds(PACE_US), bad = 0;
    uint64_t out[EACH], *in = malloc((size_t)n * EACH * sizeof *in), seed = 12345;
    uint64_t *seeds = malloc((size_t)count * sizeof *seeds);
    MPI_Aint turn = (MPI_Aint)sizeof *out * PIECE * n;
    MPI_Datatype piece, seen;
    MPI_File f;
    MPI_Status st;
    /* The name has no process id, because a restarted process has another one. */
    const char *path = "shared.data";
    MPI_Type_contiguous(PIECE, MPI_UINT64_T, &piece);
    MPI_Type_create_resized(piece, 0, turn, &seen);
    MPI_Type_commit(&seen);
    MPI_File_open(check_comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
    for (int k = 0; k < count; k++) {
        MPI_Offset stretch = (MPI_Offset)k * PIECES * turn;
        int many = 0;
        seeds[k] = seed;
        for (int i = 0; i < EACH; i++)
            out[i] = value(seed, me, i);
        MPI_File_set_view(f, stretch + (MPI_Offset)sizeof *out * PIECE * me, MPI_UINT64_T, seen, "native", MPI_INFO_NULL);
        if (k % 3 == 2) {
            MPI_File_write_all_begin(f, out, EACH, MPI_UINT64_T);
            MPI_File_write_all_end(f, out, &st);
        } else {
            MPI_File_write_all(f, out, EACH, MPI_UINT64_T, &st);
        }
        MPI_Get_count(&st, MPI_UINT64_T, &many);
        bad += many != EACH;
        /* Without MPI_File_sync: on one host written data are visible, and a disk is slow. */
        MPI_Barrier(check_comm);
        /* The right neighbour's values, collectively, then a whole stretch of some round. */
        int r = (me + 1) % n, old = (int)(seed % (uint64_t)(k + 1));
        MPI_File_set_view(f, stretch + (MPI_Offset)sizeof *out * PIECE * r, MPI_UINT64_T, seen, "native", MPI_INFO_NULL);
        MPI_File_read_all(f, in, EACH, MPI_UINT64_T, &st);
        MPI_Get_count(&st, MPI_UINT64_T, &many);
        bad += many != EACH;
        for (int i = 0; i < EACH; i++)
            bad += in[i] != value(seed, r, i);
        MPI_File_set_view(f, 0, MPI_UINT64_T, MPI_UINT64_T, "native", MPI_INFO_NULL);
        MPI_File_read_at_all(f, (MPI_Offset)old * n * EACH, in, n * EACH, MPI_UINT64_T, &st);
        for (int p = 0; p < PIECES; p++)
            for (int q = 0; q < n; q++)
                for (int i = 0; i < PIECE; i++)
                    bad += in[(p * n + q) * PIECE + i] != value(seeds[old], q, p * PIECE + i);
        seed = chain(seed, in, sizeof *in * (size_t)(n * EACH));
        saw((long long)seed);
        pause_us(PACE_US);
    }
    EQUAL(bad, 0);
    MPI_File_close(&f);
    MPI_Barrier(check_comm);
    if (me == 0) {
        int raw = open(path, O_RDONLY);
        bad = raw < 0;
        for (int k = 0; k < count && raw >= 0; k++) {
            bad += read(raw, in, sizeof *in * (size_t)(n * EACH)) != (ssize_t)(sizeof *in * (size_t)(n * EACH));
            for (int at = 0; at < n * EACH; at++)
                bad += in[at] != value(seeds[k], at / PIECE % n, at / PIECE / n * PIECE + at % PIECE);
        }
        EQUAL(bad, 0);
        close(raw);
        unlink(path);
    }
    MPI_Type_free(&piece);
    MPI_Type_free(&seen);
    free(in);
    free(seeds);
    return order_end();
}
