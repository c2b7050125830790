/* Chapter 15: the tools interface before, during and after MPI. The variables depend on the
 * library, so the program checks only the rules. */
#include "../check.h"

static unsigned long long counter(MPI_T_pvar_session session, const char *name)
{
    int n, index = -1, class = -1;
    MPI_T_pvar_get_num(&n);
    for (int i = 0; i < n; i++) {
        char text[100];
        int room = sizeof text;
        MPI_T_pvar_get_info(i, text, &room, NULL, &class, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
        if (strcmp(text, name) == 0) {
            index = i;
            break;
        }
    }
    if (index < 0)
        return 0;
    MPI_T_pvar_handle handle;
    int count = 0, found = -1;
    unsigned long long value = 0;
    EQUAL(MPI_T_pvar_get_index(name, class, &found), MPI_SUCCESS);
    EQUAL(found, index);
    EQUAL(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count), MPI_SUCCESS);
    EQUAL(count, 1);
    EQUAL(MPI_T_pvar_read(session, handle, &value), MPI_SUCCESS);
    EQUAL(MPI_T_pvar_handle_free(session, &handle), MPI_SUCCESS);
    return value;
}

static void all_variables(void)
{
    int n = -1, sum = 0;
    EQUAL(MPI_T_cvar_get_num(&n), MPI_SUCCESS);
    for (int i = 0; i < n; i++) {
        char name[200], text[20], described[2000];
        int room = sizeof name, small = 4, long_room = sizeof described, full = 0, verbosity, bind, scope;
        MPI_Datatype type;
        MPI_T_enum values;
        EQUAL(MPI_T_cvar_get_info(i, name, &room, &verbosity, &type, &values, described, &long_room,
                                  &bind, &scope), MPI_SUCCESS);
        EQUAL(strlen(name) + 1, room);
        EQUAL(MPI_T_cvar_get_info(i, NULL, &full, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_SUCCESS);
        EQUAL(full, room);
        EQUAL(MPI_T_cvar_get_info(i, text, &small, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_SUCCESS);
        CHECK(strncmp(text, name, 3) == 0 && text[3] == 0, "cut name %s of %s", text, name);
        int index = -1;
        EQUAL(MPI_T_cvar_get_index(name, &index), MPI_SUCCESS);
        EQUAL(index, i);
        sum++;
    }
    EQUAL(sum, n);
    CHECK(MPI_T_cvar_get_info(n, NULL, &sum, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
              MPI_T_ERR_INVALID_INDEX, "an index that does not exist was taken");
    CHECK(MPI_T_cvar_get_index("no such variable", &n) == MPI_T_ERR_INVALID_NAME, "a name");
    EQUAL(MPI_T_category_get_num(&n), MPI_SUCCESS);
    for (int i = 0; i < n; i++) {
        char name[200];
        int room = sizeof name, cvars, pvars, cats, *list;
        EQUAL(MPI_T_category_get_info(i, name, &room, NULL, NULL, &cvars, &pvars, &cats), MPI_SUCCESS);
        list = malloc(sizeof(int) * (size_t)(cvars + pvars + 1));
        EQUAL(MPI_T_category_get_cvars(i, cvars, list), MPI_SUCCESS);
        for (int k = 0; k < cvars; k++)
            CHECK(list[k] >= 0, "cvar %d", list[k]);
        EQUAL(MPI_T_category_get_pvars(i, pvars, list), MPI_SUCCESS);
        free(list);
    }
}

#ifdef FTMPI_VERSION
/* A setting that each rank may change while it runs. */
static void changed(const char *name, unsigned long long to, unsigned long long wrong)
{
    int index, count, scope = -1;
    unsigned long long before = 7, now = 7;
    MPI_T_cvar_handle handle;
    EQUAL(MPI_T_cvar_get_index(name, &index), MPI_SUCCESS);
    MPI_T_cvar_get_info(index, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &scope);
    EQUAL(scope, MPI_T_SCOPE_LOCAL);
    EQUAL(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count), MPI_SUCCESS);
    EQUAL(MPI_T_cvar_read(handle, &before), MPI_SUCCESS);
    EQUAL(MPI_T_cvar_write(handle, &wrong), MPI_T_ERR_INVALID);
    EQUAL(MPI_T_cvar_write(handle, &to), MPI_SUCCESS);
    EQUAL(MPI_T_cvar_read(handle, &now), MPI_SUCCESS);
    EQUAL(now, to);
    MPI_Barrier(MPI_COMM_WORLD);
    EQUAL(MPI_T_cvar_write(handle, &before), MPI_SUCCESS);
    EQUAL(MPI_T_cvar_read(handle, &now), MPI_SUCCESS);
    EQUAL(now, before);
    EQUAL(MPI_T_cvar_handle_free(&handle), MPI_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
    int n, provided = -1;
    CHECK(MPI_T_cvar_get_num(&n) == MPI_T_ERR_NOT_INITIALIZED, "works before MPI_T_init_thread");
    EQUAL(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    EQUAL(MPI_T_cvar_get_num(&n), MPI_SUCCESS);
    check_begin(&argc, &argv, "tools_interface");
    EQUAL(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    all_variables();
    MPI_T_pvar_session session;
    EQUAL(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    unsigned long long before = counter(session, "ftmpi_messages_sent");
    int x = 1, y = 0;
    for (int i = 0; i < 5; i++) {
        MPI_Request q;
        MPI_Irecv(&y, 1, MPI_INT, check_rank, 0, check_comm, &q);
        MPI_Send(&x, 1, MPI_INT, check_rank, 0, check_comm);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
    }
    unsigned long long after = counter(session, "ftmpi_messages_sent");
#ifdef FTMPI_VERSION
    EQUAL(after - before, 5);
    int index, count;
    char text[64] = "";
    MPI_T_cvar_handle handle;
    MPI_T_enum values;
    EQUAL(MPI_T_cvar_get_index("ftmpi_protocol", &index), MPI_SUCCESS);
    EQUAL(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count), MPI_SUCCESS);
    EQUAL(count, sizeof text);
    EQUAL(MPI_T_cvar_read(handle, text), MPI_SUCCESS);
    CHECK(strlen(text) > 1, "protocol is %s", text);
    EQUAL(MPI_T_cvar_write(handle, text), MPI_T_ERR_CVAR_SET_NEVER);
    EQUAL(MPI_T_cvar_handle_free(&handle), MPI_SUCCESS);
    EQUAL(handle == MPI_T_CVAR_HANDLE_NULL, 1);
    /* The checks can be switched, by all ranks at the same place. */
    int on = -1, scope;
    if (MPI_T_cvar_get_index("ftmpi_check", &index) == MPI_SUCCESS) {
        MPI_T_cvar_get_info(index, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &scope);
        EQUAL(scope, MPI_T_SCOPE_ALL_EQ);
        EQUAL(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count), MPI_SUCCESS);
        EQUAL(MPI_T_cvar_read(handle, &on), MPI_SUCCESS);
        for (int round = 0; round < 2; round++) {
            int other = !on, now = -1;
            EQUAL(MPI_T_cvar_write(handle, &other), MPI_SUCCESS);
            EQUAL(MPI_T_cvar_read(handle, &now), MPI_SUCCESS);
            EQUAL(now, other);
            MPI_Barrier(MPI_COMM_WORLD);
            on = other;
        }
        EQUAL(MPI_T_cvar_handle_free(&handle), MPI_SUCCESS);
    } else
        CHECK(0, "ftmpi_check is no variable");
    changed("ftmpi_looks", 40, 0);
    changed("ftmpi_spin", 20, 1000001);
    changed("ftmpi_log_limit", 64 << 20, 5);

    EQUAL(MPI_T_cvar_get_index("ftmpi_events", &index), MPI_SUCCESS);
    MPI_T_cvar_get_info(index, NULL, NULL, NULL, NULL, &values, NULL, NULL, NULL, NULL);
    int value, room = sizeof text;
    EQUAL(MPI_T_enum_get_info(values, &n, text, &room), MPI_SUCCESS);
    EQUAL(n, 2);
    room = sizeof text;
    EQUAL(MPI_T_enum_get_item(values, 1, &value, text, &room), MPI_SUCCESS);
    EQUAL(strcmp(text, "all"), 0);
    EQUAL(MPI_T_event_get_num(&n), MPI_SUCCESS);
    EQUAL(n, 0);
    EQUAL(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
#else
    (void)before;
    (void)after;
#endif
    EQUAL(MPI_T_pvar_session_free(&session), MPI_SUCCESS);
    EQUAL(session == MPI_T_PVAR_SESSION_NULL, 1);
    EQUAL(MPI_T_finalize(), MPI_SUCCESS);
    EQUAL(MPI_T_cvar_get_num(&n), MPI_SUCCESS);
    int code = check_end();
    if (MPI_T_finalize() != MPI_SUCCESS || MPI_T_cvar_get_num(&n) != MPI_T_ERR_NOT_INITIALIZED)
        return 1;
    return code;
}
