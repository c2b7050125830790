/* Chapter 12: one-sided calls with `MPI_Count`, windows of memory that the library allocates,
 * and hints. */
#include "../check.h"

static int right;

static void operations(MPI_Win win, long *mine)
{
    MPI_Request q;
    long values[4], old[4], fetched[4];
    for (int i = 0; i < 8; i++)
        mine[i] = 100 * check_rank + i;
    for (int i = 0; i < 4; i++)
        values[i] = 1000 + i;
    MPI_Win_fence(0, win);
    MPI_Put_c(values, 2, MPI_LONG, right, 0, 2, MPI_LONG, win);
    MPI_Accumulate_c(values, 2, MPI_LONG, right, 2, 2, MPI_LONG, MPI_SUM, win);
    MPI_Get_c(fetched, 2, MPI_LONG, right, 4, 2, MPI_LONG, win);
    MPI_Get_accumulate_c(values, 2, MPI_LONG, old, 2, MPI_LONG, right, 6, 2, MPI_LONG, MPI_REPLACE, win);
    MPI_Win_fence(0, win);
    EQUAL(mine[0], 1000);
    EQUAL(mine[2], 1000 + 100 * check_rank + 2);
    EQUAL(mine[7], 1001);
    EQUAL(fetched[1], 100 * right + 5);
    EQUAL(old[0], 100 * right + 6);
    note_bytes(mine, 8 * sizeof *mine);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_lock_all(0, win);
    MPI_Rput_c(values, 1, MPI_LONG, right, 0, 1, MPI_LONG, win, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Win_flush(right, win);
    MPI_Raccumulate_c(values, 1, MPI_LONG, right, 0, 1, MPI_LONG, MPI_SUM, win, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Win_flush(right, win);
    MPI_Rget_c(fetched, 1, MPI_LONG, right, 0, 1, MPI_LONG, win, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    EQUAL(fetched[0], 2000);
    MPI_Rget_accumulate_c(values, 1, MPI_LONG, old, 1, MPI_LONG, right, 0, 1, MPI_LONG, MPI_SUM, win, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    EQUAL(old[0], 2000);
    MPI_Win_unlock_all(win);
    MPI_Barrier(check_comm);
    MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win);
    EQUAL(mine[0], 3000);
    MPI_Win_unlock(check_rank, win);
}

static void windows(void)
{
    MPI_Win win;
    long memory[8], *mine = NULL;
    MPI_Info info;
    char value[20] = "";
    int flag = -1;
    MPI_Win_create_c(memory, sizeof memory, sizeof(long), MPI_INFO_NULL, check_comm, &win);
    operations(win, memory);
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "false");
    EQUAL(MPI_Win_set_info(win, info), MPI_SUCCESS);
    MPI_Info_free(&info);
    MPI_Win_get_info(win, &info);
    MPI_Info_get(info, "no_locks", sizeof value - 1, value, &flag);
    CHECK(flag && !strcmp(value, "false"), "no_locks is '%s'", value);
    MPI_Info_free(&info);
    MPI_Win_free(&win);
    MPI_Win_allocate_c(8 * sizeof(long), sizeof(long), MPI_INFO_NULL, check_comm, &mine, &win);
    operations(win, mine);
    MPI_Win_free(&win);
    section("windows");
}

/* Parts of shared memory that need not be contiguous begin on the requested alignment. */
static void boundaries(MPI_Comm node)
{
#ifdef FTMPI_VERSION
    MPI_Win win;
    MPI_Info info;
    char *mine = NULL, *first = NULL;
    MPI_Aint bytes = 0;
    int unit = 0;
    MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN);
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", "true");
    MPI_Info_set(info, "mpi_minimum_memory_alignment", "1024");
    if (MPI_Win_allocate_shared(40, 1, info, node, &mine, &win) == MPI_SUCCESS) {
        EQUAL((uintptr_t)mine % 1024, 0);
        MPI_Win_fence(0, win);
        memset(mine, 'x', 40);
        MPI_Win_fence(0, win);
        MPI_Win_shared_query(win, 0, &bytes, &unit, &first);
        CHECK(bytes == 40 && first[39] == 'x', "the first part");
        MPI_Win_fence(0, win);
        MPI_Win_free(&win);
    }
    MPI_Info_free(&info);
#endif
}

/* Features that MPICH 4.0 lacks: several hints at once, alignment of memory, and memory that
 * is not available. */
static void hints(void)
{
#ifdef FTMPI_VERSION
    MPI_Win win = MPI_WIN_NULL;
    MPI_Info info;
    MPI_Comm comm;
    char value[20] = "";
    int flag = 0, class = 0;
    void *mine = NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "same_size", "true");
    MPI_Info_set(info, "mpi_minimum_memory_alignment", "8192");
    EQUAL(MPI_Alloc_mem(100, info, &mine), MPI_SUCCESS);
    EQUAL((uintptr_t)mine % 8192, 0);
    memset(mine, 1, 100);
    MPI_Free_mem(mine);
    MPI_Win_allocate(100, 1, info, check_comm, &mine, &win);
    EQUAL((uintptr_t)mine % 8192, 0);
    MPI_Win_fence(0, win);
    MPI_Put(&check_rank, 1, MPI_INT, right, 96, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    EQUAL(((int *)mine)[24], (check_rank + check_size - 1) % check_size);
    MPI_Info_delete(info, "same_size");
    MPI_Info_set(info, "no_locks", "true");
    MPI_Info_set(info, "same_disp_unit", "true");
    MPI_Win_set_info(win, info);
    MPI_Info_free(&info);
    MPI_Win_get_info(win, &info);
    MPI_Info_get(info, "same_size", sizeof value - 1, value, &flag);
    CHECK(flag && !strcmp(value, "true"), "same_size is '%s'", value);
    MPI_Info_get(info, "same_disp_unit", sizeof value - 1, value, &flag);
    CHECK(flag && !strcmp(value, "true"), "same_disp_unit is '%s'", value);
    MPI_Info_get(info, "no_locks", sizeof value - 1, value, &flag);
    CHECK(flag && !strcmp(value, "false"), "no_locks is '%s', but there are locks", value);
    MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win);
    MPI_Win_unlock(check_rank, win);
    MPI_Info_free(&info);
    MPI_Win_free(&win);

    MPI_Comm_dup(check_comm, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Aint size = check_rank == check_size - 1 ? (MPI_Aint)1 << 52 : 100;
    MPI_Error_class(MPI_Win_allocate(size, 1, MPI_INFO_NULL, comm, &mine, &win), &class);
    EQUAL(class, MPI_ERR_NO_MEM);
    EQUAL(MPI_Win_allocate(100, 1, MPI_INFO_NULL, comm, &mine, &win), MPI_SUCCESS);
    MPI_Win_free(&win);
    MPI_Comm_free(&comm);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Win_allocate_shared((MPI_Aint)1 << 52, 1, MPI_INFO_NULL, comm, &mine, &win), &class);
    EQUAL(class, MPI_ERR_NO_MEM);
    MPI_Comm_free(&comm);
#endif
}

/* Loads and stores in shared memory: allowed by the protocol, or refused with a clear error. */
static void shared(MPI_Comm comm, int large)
{
    MPI_Win win;
    long *mine = NULL, *theirs = NULL, *first = NULL;
    int rank, size, code, class = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (large)
        code = MPI_Win_allocate_shared_c(4 * sizeof(long), sizeof(long), MPI_INFO_NULL, comm, &mine, &win);
    else
        code = MPI_Win_allocate_shared(4 * sizeof(long), sizeof(long), MPI_INFO_NULL, comm, &mine, &win);
    MPI_Error_class(code, &class);
    if (class != MPI_SUCCESS) {
        CHECK(size > 1, "refused for one process alone");
        EQUAL(class, MPI_ERR_RMA_SHARED);
        return;
    }
    MPI_Win_fence(0, win);
    for (int i = 0; i < 4; i++)
        mine[i] = 10 * rank + i;
    MPI_Win_fence(0, win);
    for (int r = 0; r < size; r++) {
        MPI_Aint bytes = 0;
        int unit = 0;
        if (large) {
#ifdef FTMPI_VERSION
            MPI_Aint wide = 0;
            MPI_Win_shared_query_c(win, r, &bytes, &wide, &theirs);
            unit = (int)wide;
#else
            MPI_Win_shared_query(win, r, &bytes, &unit, &theirs);
#endif
        } else {
            MPI_Win_shared_query(win, r, &bytes, &unit, &theirs);
        }
        EQUAL(bytes, 4 * sizeof(long));
        EQUAL(unit, sizeof(long));
        EQUAL(theirs[3], 10 * r + 3);
    }
    MPI_Aint bytes = 0;
    int unit = 0;
    MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &first);
    EQUAL(first[0], 0);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "rma_forms");
    right = (check_rank + 1) % check_size;
    windows();
    MPI_Comm node, alone;
    MPI_Comm_split_type(check_comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_dup(MPI_COMM_SELF, &alone);
    for (int large = 0; large < 2; large++) {
        shared(node, large);
        shared(alone, large);
    }
    boundaries(node);
    MPI_Comm_free(&node);
    MPI_Comm_free(&alone);
    section("shared");
    hints();
    return check_end();
}
