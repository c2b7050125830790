/*
 * Files that MPI writes, reads, overwrites, truncates, deletes and creates again. After the death
 * of any rank and a return of the others to any point, each byte that is read is the byte that was
 * written last.
 *
 * In each round the ranks write stripes of a permanent file, and of a file that is created in every
 * round. They read what another rank wrote, overwrite it in place, truncate the file, let it grow,
 * and delete the other file. Only for protocols in which files return together with the ranks. A
 * protocol that logs messages refuses to replay a rank that read data which have been overwritten
 * since.
 */
#include "order.h"

enum { PACE_US = 20000, STRIPE = 3000, STRIPES = 4 };

static unsigned char buffer[STRIPE], back[STRIPE];

static MPI_Offset place(int rank, int stripe)
{
    return ((MPI_Offset)stripe * check_size + rank) * STRIPE;
}

static void write_stripe(MPI_File file, int stripe, int round)
{
    fill(buffer, STRIPE, (uint32_t)(round * 131 + stripe), (uint32_t)check_rank);
    MPI_File_write_at(file, place(check_rank, stripe), buffer, STRIPE, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void read_stripe(MPI_File file, int stripe, int round, int of)
{
    MPI_Status status;
    int count;
    memset(back, 0, sizeof back);
    MPI_File_read_at(file, place(of, stripe), back, STRIPE, MPI_BYTE, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    EQUAL(count, STRIPE);
    EQUAL(wrong_at(back, STRIPE, (uint32_t)(round * 131 + stripe), (uint32_t)of), -1);
    note_bytes(back, STRIPE);
}

int main(int argc, char **argv)
{
    order_begin(&argc, &argv, "scratch_files");
    int count = rounds(PACE_US);
    int modes = MPI_MODE_RDWR | MPI_MODE_CREATE;
    MPI_File stays, passes;
    MPI_File_open(check_comm, "stays.data", modes, MPI_INFO_NULL, &stays);
    for (int round = 0; round < count; round++) {
        int other = (check_rank + 1 + round) % check_size;
        MPI_Offset size;
        /* The data of the round before must be there; then they are overwritten. */
        if (round > 0)
            for (int i = 0; i < STRIPES; i++)
                read_stripe(stays, i, round - 1, other);
        MPI_Barrier(check_comm);
        for (int i = 0; i < STRIPES; i++)
            write_stripe(stays, i, round);
        /* A file that exists for one round; every third round requires that it is new. */
        int exclusive = round % 3 == 0 ? MPI_MODE_EXCL : 0;
        MPI_File_open(check_comm, "passes.data", modes | exclusive, MPI_INFO_NULL, &passes);
        MPI_File_get_size(passes, &size);
        EQUAL(size, 0);
        MPI_Barrier(check_comm);
        write_stripe(passes, 0, round);
        write_stripe(passes, 1, round + 1);
        MPI_Barrier(check_comm);
        read_stripe(passes, 0, round, other);
        pause_us(PACE_US);
        /* Truncated to the first stripes, then it grows again. */
        MPI_File_set_size(passes, (MPI_Offset)check_size * STRIPE);
        read_stripe(passes, 0, round, other);
        MPI_File_get_size(passes, &size);
        EQUAL(size, (MPI_Offset)check_size * STRIPE);
        MPI_Barrier(check_comm);
        write_stripe(passes, 1, round + 2);
        MPI_Barrier(check_comm);
        read_stripe(passes, 1, round + 2, other);
        MPI_Barrier(check_comm);
        MPI_File_close(&passes);
        if (check_rank == 0)
            MPI_File_delete("passes.data", MPI_INFO_NULL);
        MPI_Barrier(check_comm);
    }
    MPI_File_close(&stays);
    if (check_rank == 0)
        MPI_File_delete("stays.data", MPI_INFO_NULL);
    return order_end();
}
