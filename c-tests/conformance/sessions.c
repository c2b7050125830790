/* Chapter 11: a program that never calls MPI_Init, only sessions. */
#include "../check.h"

static int errors_seen;

static void on_error(MPI_Session *session, int *code, ...)
{
    (void)session;
    (void)code;
    errors_seen++;
}

static MPI_Comm comm_of(MPI_Session session, const char *set, const char *tag)
{
    MPI_Group group;
    MPI_Comm comm;
    MPI_Group_from_session_pset(session, set, &group);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    return comm;
}

int main(void)
{
    int flag = -1, bad = 0;
    MPI_Info info;
    MPI_Errhandler handler;
    MPI_Session session, second;
    MPI_Initialized(&flag);
    EQUAL(flag, 0);
#ifdef FTMPI_VERSION
    /* These calls are allowed before all others. The peer gives other results. */
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_SINGLE");
    MPI_Session_create_errhandler(on_error, &handler);
    MPI_Session_init(info, handler, &session);
    MPI_Info_free(&info);
#else
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Session_create_errhandler(on_error, &handler);
#endif

    int sets = 0, world = -1, self = -1;
    MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets);
    CHECK(sets >= 2, "%d process sets", sets);
    for (int i = 0; i < sets; i++) {
        char name[MPI_MAX_PSET_NAME_LEN];
        int len = 0;
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &len, NULL);
        CHECK(len > 1 && len <= (int)sizeof name, "length %d", len);
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &len, name);
        EQUAL(strlen(name) + 1, len);
        if (strcmp(name, "mpi://WORLD") == 0)
            world = i;
        if (strcmp(name, "mpi://SELF") == 0)
            self = i;
    }
    CHECK(world >= 0 && self >= 0, "world %d, self %d", world, self);

    check_comm = comm_of(session, "mpi://WORLD", "org.ftmpi.test.world");
    MPI_Comm_rank(check_comm, &check_rank);
    MPI_Comm_size(check_comm, &check_size);
    char value[32];
    MPI_Session_get_pset_info(session, "mpi://WORLD", &info);
    MPI_Info_get(info, "mpi_size", 31, value, &flag);
    EQUAL(flag, 1);
    EQUAL(atoi(value), check_size);
    MPI_Info_free(&info);

    int sum = 0, n;
    MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, check_comm);
    EQUAL(sum, check_size * (check_size - 1) / 2);
    MPI_Comm one = comm_of(session, "mpi://SELF", "self");
    MPI_Comm_size(one, &n);
    EQUAL(n, 1);
    MPI_Comm_free(&one);

    /* Groups that do not overlap make communicators at the same time. Then the two halves
     * communicate. */
    if (check_size > 1) {
        MPI_Group all, half, other;
        int split = check_size / 2, low = check_rank < split;
        int first[3] = {0, split - 1, 1}, last[3] = {split, check_size - 1, 1};
        MPI_Comm_group(check_comm, &all);
        MPI_Group_range_incl(all, 1, low ? &first : &last, &half);
        MPI_Group_range_incl(all, 1, low ? &last : &first, &other);
        MPI_Comm mine, inter;
        MPI_Comm_create_from_group(half, low ? "low" : "high", MPI_INFO_NULL, MPI_ERRORS_RETURN, &mine);
        MPI_Comm_size(mine, &n);
        EQUAL(n, low ? split : check_size - split);
        MPI_Intercomm_create_from_groups(half, 0, other, 0, "both", MPI_INFO_NULL,
                                         MPI_ERRORS_ARE_FATAL, &inter);
        MPI_Comm_remote_size(inter, &n);
        EQUAL(n, low ? check_size - split : split);
        int theirs = 0;
        MPI_Allreduce(&(int){1}, &theirs, 1, MPI_INT, MPI_SUM, inter);
        EQUAL(theirs, n);
        MPI_Comm_free(&inter);
        MPI_Comm_free(&mine);
        MPI_Group_free(&half);
        MPI_Group_free(&other);
        MPI_Group_free(&all);
    }

#ifdef FTMPI_VERSION
    /* Errors of a session go to its handler. */
    MPI_Group none;
    MPI_Group_from_session_pset(session, "no such set", &none);
    EQUAL(errors_seen, 1);
    MPI_Session_call_errhandler(session, MPI_ERR_OTHER);
    EQUAL(errors_seen, 2);
    int class = MPI_SUCCESS;
    MPI_Session wrong;
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_SOME");
    MPI_Error_class(MPI_Session_init(info, MPI_ERRORS_RETURN, &wrong), &class);
    EQUAL(class, MPI_ERR_INFO_VALUE);
    MPI_Info_free(&info);
    char buffer[1000];
    void *address;
    MPI_Session_attach_buffer(session, buffer, sizeof buffer);
    MPI_Bsend(&check_rank, 1, MPI_INT, check_rank, 0, check_comm);
    MPI_Recv(&n, 1, MPI_INT, check_rank, 0, check_comm, MPI_STATUS_IGNORE);
    MPI_Session_flush_buffer(session);
    MPI_Session_detach_buffer(session, &address, &n);
    EQUAL(n, sizeof buffer);
    /* A communicator belongs to the session of its group, although another session is younger. */
    MPI_Session young;
    MPI_Group all, part;
    MPI_Comm child;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &young);
    MPI_Session_attach_buffer(session, buffer, sizeof buffer);
    MPI_Comm_group(check_comm, &all);
    MPI_Group_incl(all, 1, &check_rank, &part);
    MPI_Comm_create_from_group(part, "child", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &child);
    EQUAL(MPI_Bsend(&check_rank, 1, MPI_INT, 0, 0, child), MPI_SUCCESS);
    MPI_Recv(&n, 1, MPI_INT, 0, 0, child, MPI_STATUS_IGNORE);
    MPI_Session_detach_buffer(session, &address, &n);
    MPI_Group_free(&part);
    MPI_Group_free(&all);
    MPI_Comm_free(&child);
    /* A freed communicator frees its own buffer, too: the next communicator with its number has
     * none. */
    child = comm_of(young, "mpi://WORLD", "with a buffer");
    MPI_Comm_attach_buffer(child, buffer, sizeof buffer);
    int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
    MPI_Bsend(&check_rank, 1, MPI_INT, to, 0, child);
    MPI_Recv(&n, 1, MPI_INT, from, 0, child, MPI_STATUS_IGNORE);
    EQUAL(n, from);
    MPI_Comm_free(&child);
    child = comm_of(young, "mpi://WORLD", "without a buffer");
    EQUAL(MPI_Comm_attach_buffer(child, buffer, sizeof buffer), MPI_SUCCESS);
    MPI_Comm_detach_buffer(child, &address, &n);
    EQUAL(n, sizeof buffer);
    MPI_Comm_free(&child);
    MPI_Session_finalize(&young);
#endif
    section("sessions");
    bad = check_errors;
    MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_SUM, check_comm);
    MPI_Comm_free(&check_comm);
    MPI_Errhandler_free(&handler);
    MPI_Session_finalize(&session);
    EQUAL(session == MPI_SESSION_NULL, 1);
    MPI_Initialized(&flag);
    EQUAL(flag, 0);

    /* Once more: a library may open and close sessions at any time. */
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &second);
    MPI_Comm again = comm_of(second, "mpi://WORLD", "again");
    sum = 0;
    MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, again);
    EQUAL(sum, check_size * (check_size - 1) / 2);
    if (check_rank == 0)
        printf("sessions on %d: %s\n", check_size, bad + check_errors ? "mismatches" : "ok");
    MPI_Comm_free(&again);
    MPI_Session_finalize(&second);
    return bad + check_errors ? 1 : 0;
}
