/*
 * Chapter 11: sessions that are opened after the end of the world model. MPI_Finalize ends only the
 * world model that MPI_Init began (MPI-4.1, 11.2 and 11.3).
 */
#include "../check.h"

static int errors_seen;

static void on_error(MPI_Session *session, int *code, ...)
{
    (void)session;
    (void)code;
    errors_seen++;
}

/* Opens a session, passes numbers around a ring of all processes, and closes the session. */
static void round_of(int number)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int rank, size, flag = -1, got = -1, sum = 0;
    char tag[32];
    snprintf(tag, sizeof tag, "round %d", number);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Finalized(&flag);
    EQUAL(flag, 1);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    EQUAL(rank, check_rank);
    EQUAL(size, check_size);
    for (int i = 0; i < 50; i++) {
        int mine = number * 1000 + i * check_size + rank, left = (rank + size - 1) % size;
        MPI_Sendrecv(&mine, 1, MPI_INT, (rank + 1) % size, i, &got, 1, MPI_INT,
                     i % 2 ? left : MPI_ANY_SOURCE, i, comm, MPI_STATUS_IGNORE);
        EQUAL(got, number * 1000 + i * check_size + left);
    }
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    EQUAL(sum, size * (size - 1) / 2);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
}

int main(int argc, char **argv)
{
    int flag = -1, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &check_size);
    MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EQUAL(sum, check_size * (check_size - 1) / 2);
    MPI_Finalize();
#ifdef FTMPI_VERSION
    /* Debian's peer ends the program here. */
    for (int number = 1; number <= 3; number++)
        round_of(number);
    /* A session that cannot be opened, between sessions that can. */
    MPI_Session session = MPI_SESSION_NULL;
    MPI_Errhandler handler;
    MPI_Session_create_errhandler(on_error, &handler);
    CHECK(MPI_Session_init((MPI_Info)0x7fffff00, handler, &session) != MPI_SUCCESS, "%s", "a wrong info was taken");
    EQUAL(errors_seen, 1);
    MPI_Errhandler_free(&handler);
    round_of(4);
#else
    (void)round_of;
    (void)on_error;
    (void)errors_seen;
#endif
    MPI_Finalized(&flag);
    EQUAL(flag, 1);
    if (check_rank == 0)
        printf("sessions after the end on %d: %s\n", check_size, check_errors ? "mismatches" : "ok");
    return check_errors ? 1 : 0;
}
