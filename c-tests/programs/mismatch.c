/* Makes one error that MPI forbids, or leaves one object open. The argument names the case. With
 * FTMPI_CHECK=1 the library must report it. A wrong collective must end as an error on every
 * rank, not as a hang. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static int same(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* The collective calls that do not match. MPI_SUCCESS from any of them is wrong. */
static int collective(const char *what)
{
    int a[64] = {0}, b[64] = {0};
    if (same(what, "kind"))
        return rank == 0 ? MPI_Barrier(MPI_COMM_WORLD) : MPI_Bcast(a, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (same(what, "root"))
        return MPI_Bcast(a, 1, MPI_INT, rank == 0 ? 0 : 1, MPI_COMM_WORLD);
    if (same(what, "operation"))
        return MPI_Allreduce(a, b, 1, MPI_INT, rank == 0 ? MPI_SUM : MPI_MAX, MPI_COMM_WORLD);
    if (same(what, "length"))
        return MPI_Allreduce(a, b, rank == 0 ? 2 : 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (same(what, "type"))
        return MPI_Allreduce(a, b, 2, rank == 0 ? MPI_FLOAT : MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    /* Calls that do not wait: the request has the error. Another call that matches is active
     * meanwhile. */
    MPI_Request q[2];
    MPI_Status each[2];
    if (same(what, "later-fits")) {
        MPI_Iallreduce(a, b, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &q[0]);
        MPI_Ibcast(a + 2, 3, MPI_INT, 1, MPI_COMM_WORLD, &q[1]);
        return MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    }
    if (same(what, "later-kind")) {
        MPI_Iallreduce(a, b, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &q[0]);
        if (rank == 0)
            MPI_Ibarrier(MPI_COMM_WORLD, &q[1]);
        else
            MPI_Ibcast(a + 2, 3, MPI_INT, 1, MPI_COMM_WORLD, &q[1]);
        int code = MPI_Wait(&q[0], MPI_STATUS_IGNORE);
        return code == MPI_SUCCESS ? MPI_Wait(&q[1], MPI_STATUS_IGNORE) : -1;
    }
    if (same(what, "later-length")) {
        MPI_Ireduce(a, b, rank == 0 ? 2 : 3, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD, &q[0]);
        return MPI_Wait(&q[0], MPI_STATUS_IGNORE);
    }
    if (same(what, "later-among")) {
        MPI_Iallreduce(a, b, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &q[0]);
        MPI_Ibcast(a + 2, 3, MPI_INT, rank == 0 ? 0 : 1, MPI_COMM_WORLD, &q[1]);
        int code = MPI_Waitall(2, q, each);
        return code == MPI_ERR_IN_STATUS && each[0].MPI_ERROR == MPI_SUCCESS ? each[1].MPI_ERROR : code;
    }
    if (same(what, "now-and-later")) {
        if (rank == 0) {
            MPI_Ibarrier(MPI_COMM_WORLD, &q[0]);
            return MPI_Wait(&q[0], MPI_STATUS_IGNORE);
        }
        return MPI_Barrier(MPI_COMM_WORLD);
    }
    if (same(what, "persistent"))
        return MPI_Bcast_init(a, rank == 0 ? 2 : 3, MPI_INT, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &q[0]);
    return -1;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    static int word, got;
    MPI_Request q;
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (same(what, "request")) {
        MPI_Irecv(&got, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &q);
        MPI_Send(&word, 1, MPI_INT, rank, 1, MPI_COMM_WORLD);
    } else if (same(what, "message")) {
        MPI_Isend(&word, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &q);
        MPI_Request_free(&q);
    } else if (same(what, "communicator")) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    } else if (same(what, "freed")) {
        /* Two messages; one of them is received. */
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_name(comm, "the lost one");
        for (int i = 0; i < 2; i++) {
            MPI_Isend(&word, 1, MPI_INT, rank, i, comm, &q);
            MPI_Request_free(&q);
        }
        MPI_Recv(&got, 1, MPI_INT, rank, 1, comm, MPI_STATUS_IGNORE);
        MPI_Comm_free(&comm);
    } else if (!same(what, "nothing")) {
        char text[MPI_MAX_ERROR_STRING];
        int length = 0, class = 0;
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        int code = collective(what);
        if (code == -1)
            return 2;
        MPI_Error_class(code, &class);
        MPI_Error_string(code, text, &length);
        fprintf(stderr, "rank %d: %s\n", rank, code == MPI_SUCCESS ? "no error" : text);
        /* A rank that continues after such an error is in step with the others. */
        if (MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS)
            return 3;
    }
    MPI_Finalize();
    return 0;
}
