/* remade --steps N: windows on changing communicators, files, persistent requests and sessions, made, used and freed in
 * every step. The numbers of freed objects are given again. A rank that repeats everything finds all later messages
 * there at once, and each object must take its own. Rank 0 prints one line. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, size, bad;

static void want(const char *what, int step, int got, int wanted)
{
    if (got == wanted)
        return;
    printf("rank %d, step %d: %s is %d, not %d\n", me, step, what, got, wanted);
    bad = 1;
}

/* Reads what the next rank of the communicator stored in its part. */
static void window(MPI_Comm comm, int step)
{
    int rank, ranks, mine[4], got = -1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    int next = (rank + 1) % ranks;
    MPI_Win win;
    mine[2] = step * 100 + rank;
    MPI_Win_create(mine, sizeof mine, sizeof(int), MPI_INFO_NULL, comm, &win);
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    MPI_Get(&got, 1, MPI_INT, next, 2, 1, MPI_INT, win);
    MPI_Win_unlock(next, win);
    MPI_Barrier(comm);
    MPI_Win_free(&win);
    want("a value of a window", step, got, step * 100 + next);
}

/* The first rank of a duplicate receives from any. */
static void communicator(MPI_Comm comm, int step)
{
    MPI_Comm copy;
    int rank, ranks, sum = 0;
    MPI_Comm_dup(comm, &copy);
    MPI_Comm_rank(copy, &rank);
    MPI_Comm_size(copy, &ranks);
    int word = step;
    if (rank > 0)
        MPI_Send(&word, 1, MPI_INT, 0, 1, copy);
    for (int i = 1; rank == 0 && i < ranks; i++) {
        MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 1, copy, MPI_STATUS_IGNORE);
        sum += word;
    }
    MPI_Comm_free(&copy);
    want("the sum of the messages", step, rank == 0 ? sum : 0, rank == 0 ? step * (ranks - 1) : 0);
}

static void persistent(int step)
{
    int out = step, in = -1;
    MPI_Request both[2];
    MPI_Recv_init(&in, 1, MPI_INT, (me + size - 1) % size, 2, MPI_COMM_WORLD, &both[0]);
    MPI_Send_init(&out, 1, MPI_INT, (me + 1) % size, 2, MPI_COMM_WORLD, &both[1]);
    MPI_Startall(2, both);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    MPI_Request_free(&both[0]);
    MPI_Request_free(&both[1]);
    want("what a persistent request received", step, in, step);
}

static void file(int step)
{
    MPI_File file;
    MPI_Offset end;
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    MPI_File_open(MPI_COMM_WORLD, "remade.file", mode, MPI_INFO_NULL, &file);
    MPI_File_write_shared(file, &step, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_get_position_shared(file, &end);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_close(&file);
    want("the shared pointer", step, (int)end, (int)sizeof(int) * size);
}

static void session(int step)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int least = -1;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "remade", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    MPI_Allreduce(&step, &least, 1, MPI_INT, MPI_MIN, comm);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    want("the least step", step, least, step);
}

int main(int argc, char **argv)
{
    int steps = 100, any = 0;
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], "--steps"))
            steps = atoi(argv[i + 1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm two[2];
    MPI_Comm_split(MPI_COMM_WORLD, me / 2, me, &two[0]);
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &two[1]);
    for (int step = 1; step <= steps; step++) {
        window(two[step % 2], step);
        communicator(two[step % 2], step);
        if (step % 4 == 1)
            persistent(step);
        if (step % 32 == 2)
            file(step);
        if (step % 16 == 3)
            session(step);
    }
    MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (me == 0 && !any)
        printf("%d steps\n", steps);
    MPI_Finalize();
    return any;
}
