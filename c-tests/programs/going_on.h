/* What the cases of going_on.c share: checks, deaths, and the proof that those who are left can go on. */
#ifndef GOING_ON_H
#define GOING_ON_H
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static int rank, size, victim;
static const char *name;

static void wrong(const char *what, int line)
{
    fprintf(stderr, "rank %d: %s: line %d: %s\n", rank, name, line, what);
    MPI_Abort(MPI_COMM_WORLD, 3);
}
#define CHECK(condition) ((condition) ? (void)0 : wrong(#condition, __LINE__))
#define CLASS(call, wanted) check_class(call, wanted, #call, __LINE__)

static void check_class(int code, int wanted, const char *what, int line)
{
    int class;
    MPI_Error_class(code, &class);
    if (class != wanted) {
        char text[MPI_MAX_ERROR_STRING];
        int length;
        MPI_Error_string(code, text, &length);
        fprintf(stderr, "class %d (%s), not %d\n", class, text, wanted);
        wrong(what, line);
    }
}

static void die(void)
{
    raise(SIGKILL);
}

/* The victim dies when the others have had time to wait. */
static void die_soon(void)
{
    usleep(100000);
    die();
}

static int living(void)
{
    return size - 1;
}

/* Waits until this rank knows of so many deaths. */
static void await_deaths(MPI_Comm comm, int count)
{
    int known = 0;
    while (known < count) {
        MPI_Group group;
        CLASS(MPIX_Comm_get_failed(comm, &group), MPI_SUCCESS);
        MPI_Group_size(group, &known);
        MPI_Group_free(&group);
    }
}

/* What is left works: a reduction and a ring on a shrunk communicator. */
static void use(MPI_Comm comm, int members)
{
    int me, n, one = 1, sum = 0, from = -1;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    CHECK(n == members);
    CLASS(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
    CHECK(sum == members);
    CLASS(MPI_Sendrecv(&me, 1, MPI_INT, (me + 1) % n, 5, &from, 1, MPI_INT, (me + n - 1) % n, 5, comm,
                       MPI_STATUS_IGNORE),
          MPI_SUCCESS);
    CHECK(from == (me + n - 1) % n);
}

static void shrink_and_use(MPI_Comm comm, int members)
{
    MPI_Comm left;
    CLASS(MPIX_Comm_shrink(comm, &left), MPI_SUCCESS);
    use(left, members);
    MPI_Comm_free(&left);
}

/* One of two members of a communicator aborts: both end. */
static void aborts(void)
{
    MPI_Comm part = MPI_COMM_NULL;

    /* The split may fail at others: the members may be gone before it ends there. */
    MPI_Comm_split(MPI_COMM_WORLD, rank >= size - 2, rank, &part);
    if (rank == victim) {
        MPI_Abort(part, 7);
    }
    while (rank == victim - 1) {
        pause();
    }
    CLASS(MPI_Barrier(MPI_COMM_WORLD), MPIX_ERR_PROC_FAILED);
    shrink_and_use(MPI_COMM_WORLD, size - 2);
    if (part != MPI_COMM_NULL) {
        MPI_Comm_free(&part);
    }
}

/* A collective operation, by its number. */
static int which(int number, MPI_Comm comm, int count, int *in, int *out)
{
    int n;
    MPI_Comm_size(comm, &n);
    switch (number) {
    case 0: return MPI_Barrier(comm);
    case 1: return MPI_Bcast(in, count, MPI_INT, 0, comm);
    case 2: return MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, comm);
    case 3: return MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, 0, comm);
    case 4: return MPI_Allgather(in, count, MPI_INT, out, count, MPI_INT, comm);
    case 5: return MPI_Alltoall(in, count, MPI_INT, out, count, MPI_INT, comm);
    case 6: return MPI_Gather(in, count, MPI_INT, out, count, MPI_INT, n - 1, comm);
    case 7: return MPI_Scatter(in, count, MPI_INT, out, count, MPI_INT, n - 1, comm);
    case 8: return MPI_Scan(in, out, count, MPI_INT, MPI_SUM, comm);
    case 9: return MPI_Exscan(in, out, count, MPI_INT, MPI_SUM, comm);
    default: return MPI_Reduce_scatter_block(in, out, count, MPI_INT, MPI_SUM, comm);
    }
}
#define COLLECTIVES 11

#endif
