/* Chapter 15 and the ABI of MPI-5.0: categories, counters that are written and reset, events,
 * and queries of the interface. The variables differ between libraries, so the program checks
 * the rules. */
#include "../check.h"

static void categories(void)
{
    int n = 0, stamp = -1, again = -1, index = -1, some[64], events = -1;
    EQUAL(MPI_T_category_changed(&stamp), MPI_SUCCESS);
    EQUAL(MPI_T_category_changed(&again), MPI_SUCCESS);
    EQUAL(stamp, again);
    MPI_T_category_get_num(&n);
    for (int i = 0; i < n && i < 20; i++) {
        char name[200];
        int room = sizeof name, cvars = 0, pvars = 0, cats = 0;
        MPI_T_category_get_info(i, name, &room, NULL, NULL, &cvars, &pvars, &cats);
        EQUAL(MPI_T_category_get_index(name, &index), MPI_SUCCESS);
        EQUAL(index, i);
        EQUAL(MPI_T_category_get_categories(i, cats < 64 ? cats : 64, some), MPI_SUCCESS);
        EQUAL(MPI_T_category_get_num_events(i, &events), MPI_SUCCESS);
        EQUAL(MPI_T_category_get_events(i, 0, some), MPI_SUCCESS);
    }
    EQUAL(MPI_T_category_get_index("no such category", &index), MPI_T_ERR_INVALID_NAME);
    EQUAL(MPI_T_category_get_info(n, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
}

#ifdef FTMPI_VERSION
static void counters(void)
{
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    int index = -1, count = 0, readonly = -1, continuous = -1, class = -1;
    unsigned long long value = 0, later = 0;
    int x = 0, y = 0;
    MPI_T_pvar_session_create(&session);
    EQUAL(MPI_T_pvar_get_index("ftmpi_messages_sent", MPI_T_PVAR_CLASS_COUNTER, &index), MPI_SUCCESS);
    MPI_T_pvar_get_info(index, NULL, NULL, NULL, &class, NULL, NULL, NULL, NULL, NULL, &readonly, &continuous, NULL);
    EQUAL(class, MPI_T_PVAR_CLASS_COUNTER);
    EQUAL(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count), MPI_SUCCESS);
    EQUAL(MPI_T_pvar_read(session, handle, &value), MPI_SUCCESS);
    MPI_Sendrecv(&x, 1, MPI_INT, check_rank, 0, &y, 1, MPI_INT, check_rank, 0, check_comm, MPI_STATUS_IGNORE);
    EQUAL(MPI_T_pvar_read(session, handle, &later), MPI_SUCCESS);
    EQUAL(later - value, 1);
    /* A read-only variable cannot be changed, and a continuous one cannot be stopped. */
    EQUAL(readonly, 1);
    EQUAL(MPI_T_pvar_write(session, handle, &value), MPI_T_ERR_PVAR_NO_WRITE);
    EQUAL(MPI_T_pvar_reset(session, handle), MPI_T_ERR_PVAR_NO_WRITE);
    EQUAL(MPI_T_pvar_readreset(session, handle, &value), MPI_T_ERR_PVAR_NO_ATOMIC);
    EQUAL(continuous, 1);
    EQUAL(MPI_T_pvar_stop(session, handle), MPI_T_ERR_PVAR_NO_STARTSTOP);
    EQUAL(MPI_T_pvar_handle_free(session, &handle), MPI_SUCCESS);
    EQUAL(MPI_T_pvar_session_free(&session), MPI_SUCCESS);
}

/* There are no events: every call about events is refused with the standard's error. */
static void events(void)
{
    int n = -1, index = -1, room = 0;
    MPI_Count stamp = 0;
    MPI_T_event_registration none = NULL;
    MPI_T_event_instance instance = NULL;
    MPI_Info info = MPI_INFO_NULL;
    char word[8];
    EQUAL(MPI_T_source_get_num(&n), MPI_SUCCESS);
    EQUAL(n, 0);
    EQUAL(MPI_T_source_get_info(0, word, &room, word, &room, NULL, NULL, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
    EQUAL(MPI_T_source_get_timestamp(0, &stamp), MPI_T_ERR_INVALID_INDEX);
    EQUAL(MPI_T_event_get_index("no such event", &index), MPI_T_ERR_INVALID_NAME);
    EQUAL(MPI_T_event_get_info(0, word, &room, NULL, NULL, NULL, NULL, NULL, NULL, word, &room, NULL),
          MPI_T_ERR_INVALID_INDEX);
    EQUAL(MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, &none), MPI_T_ERR_INVALID_INDEX);
    EQUAL(MPI_T_event_handle_get_info(none, &info), MPI_T_ERR_INVALID_HANDLE);
    EQUAL(MPI_T_event_handle_set_info(none, info), MPI_T_ERR_INVALID_HANDLE);
    EQUAL(MPI_T_event_handle_free(none, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
    EQUAL(MPI_T_event_register_callback(none, MPI_T_CB_REQUIRE_NONE, info, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
    EQUAL(MPI_T_event_callback_get_info(none, MPI_T_CB_REQUIRE_NONE, &info), MPI_T_ERR_INVALID_HANDLE);
    EQUAL(MPI_T_event_callback_set_info(none, MPI_T_CB_REQUIRE_NONE, info), MPI_T_ERR_INVALID_HANDLE);
    EQUAL(MPI_T_event_set_dropped_handler(none, NULL), MPI_T_ERR_INVALID_HANDLE);
    EQUAL(MPI_T_event_read(instance, 0, word), MPI_T_ERR_INVALID_HANDLE);
    EQUAL(MPI_T_event_copy(instance, word), MPI_T_ERR_INVALID_HANDLE);
    EQUAL(MPI_T_event_get_timestamp(instance, &stamp), MPI_T_ERR_INVALID_HANDLE);
    EQUAL(MPI_T_event_get_source(instance, &index), MPI_T_ERR_INVALID_HANDLE);
}

static void interface(void)
{
    MPI_Info info = MPI_INFO_NULL;
    char value[20] = "";
    int flag = 0, size = 0, set = 0, yes = 9, no = 9;
    EQUAL(MPI_Abi_get_version(&size, &set), MPI_SUCCESS);
    EQUAL(MPI_Abi_get_info(&info), MPI_SUCCESS);
    MPI_Info_get(info, "mpi_aint_size", sizeof value - 1, value, &flag);
    CHECK(flag && atoi(value) == (int)sizeof(MPI_Aint), "the size of MPI_Aint is '%s'", value);
    MPI_Info_free(&info);
    EQUAL(MPI_Abi_get_fortran_info(&info), MPI_SUCCESS);
    MPI_Info_get(info, "mpi_integer_size", sizeof value - 1, value, &flag);
    MPI_Type_size(MPI_INTEGER, &size);
    CHECK(flag && atoi(value) == size, "the size of INTEGER is '%s'", value);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Abi_set_fortran_info(info) != MPI_SUCCESS, "other Fortran types were taken");
    MPI_Info_free(&info);
    EQUAL(MPI_Abi_get_fortran_booleans(sizeof yes, &yes, &no, &set), MPI_SUCCESS);
    EQUAL(set, 1);
    EQUAL(yes, 1);
    EQUAL(no, 0);
    CHECK(MPI_Abi_set_fortran_booleans(sizeof yes, &no, &yes) != MPI_SUCCESS, "other truth values were taken");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    EQUAL(MPI_Get_hw_resource_info(&info), MPI_SUCCESS);
    CHECK(info != MPI_INFO_NULL, "no info of the hardware");
    MPI_Info_free(&info);
}
#endif

int main(int argc, char **argv)
{
    int provided;
    check_begin(&argc, &argv, "tools_forms");
    EQUAL(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    categories();
#ifdef FTMPI_VERSION
    counters();
    events();
    interface();
#endif
    EQUAL(MPI_T_finalize(), MPI_SUCCESS);
    return check_end();
}
