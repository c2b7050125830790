/* Handles and statuses between C and Fortran, and (MPI-5.0) as integers: converted and converted
 * back for every kind. */
#include "../check.h"

/* Converts a handle to Fortran and back, and to an integer and back. */
#ifdef FTMPI_VERSION
#define THROUGH_INT(Kind, type, handle)                                                             \
    CHECK(MPI_##Kind##_fromint(MPI_##Kind##_toint(handle)) == (handle), #Kind " through an int")
#else
#define THROUGH_INT(Kind, type, handle) (void)0
#endif
#define ROUND(Kind, type, handle)                                                                   \
    do {                                                                                            \
        type h_ = (handle);                                                                         \
        CHECK(MPI_##Kind##_f2c(MPI_##Kind##_c2f(h_)) == h_, #Kind " through Fortran: %s", #handle); \
        THROUGH_INT(Kind, type, h_);                                                                \
    } while (0)

static void rounds(void)
{
    MPI_Comm comm;
    MPI_Group group;
    MPI_Datatype type;
    MPI_Info info;
    MPI_Op op;
    MPI_Win win;
    MPI_File file;
    MPI_Request q;
    MPI_Message message;
    MPI_Errhandler handler;
    MPI_Session session;
    MPI_Status st;
    char path[100];
    int word = 5, got = 0;
    long id = (long)(MPI_Wtime() * 1e6) % 100000000;
    MPI_Comm_dup(check_comm, &comm);
    ROUND(Comm, MPI_Comm, comm);
    ROUND(Comm, MPI_Comm, MPI_COMM_WORLD);
    ROUND(Comm, MPI_Comm, MPI_COMM_NULL);
    MPI_Comm_group(comm, &group);
    ROUND(Group, MPI_Group, group);
    ROUND(Group, MPI_Group, MPI_GROUP_EMPTY);
    MPI_Group_free(&group);
    MPI_Type_contiguous(3, MPI_INT, &type);
    ROUND(Type, MPI_Datatype, type);
    ROUND(Type, MPI_Datatype, MPI_DOUBLE);
    ROUND(Type, MPI_Datatype, MPI_DATATYPE_NULL);
    MPI_Type_free(&type);
    MPI_Info_create(&info);
    ROUND(Info, MPI_Info, info);
    ROUND(Info, MPI_Info, MPI_INFO_ENV);
    MPI_Info_free(&info);
    MPI_Op_create((MPI_User_function *)rounds, 1, &op);
    ROUND(Op, MPI_Op, op);
    ROUND(Op, MPI_Op, MPI_SUM);
    MPI_Op_free(&op);
    MPI_Win_create(&word, sizeof word, 1, MPI_INFO_NULL, comm, &win);
    ROUND(Win, MPI_Win, win);
    ROUND(Win, MPI_Win, MPI_WIN_NULL);
    MPI_Win_free(&win);
    snprintf(path, sizeof path, "/tmp/ftmpi-handles-%ld-%d", id, check_rank);
    MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                  &file);
    ROUND(File, MPI_File, file);
    ROUND(File, MPI_File, MPI_FILE_NULL);
    MPI_File_close(&file);
    MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)rounds, &handler);
    ROUND(Errhandler, MPI_Errhandler, handler);
    ROUND(Errhandler, MPI_Errhandler, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    ROUND(Session, MPI_Session, session);
    MPI_Session_finalize(&session);
    MPI_Isend(&word, 1, MPI_INT, check_rank, 0, comm, &q);
    ROUND(Request, MPI_Request, q);
    MPI_Mprobe(check_rank, 0, comm, &message, &st);
    ROUND(Message, MPI_Message, message);
    ROUND(Message, MPI_Message, MPI_MESSAGE_NO_PROC);
    MPI_Mrecv(&got, 1, MPI_INT, &message, &st);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    EQUAL(got, 5);
    MPI_Comm_free(&comm);
    section("rounds");
}

static void statuses(void)
{
    MPI_Status st, back;
    MPI_Fint numbers[16];
    int data[8] = {0}, more[8], n = -1;
    MPI_Sendrecv(data, 6, MPI_INT, check_rank, 9, more, 8, MPI_INT, check_rank, 9, check_comm, &st);
    MPI_Status_set_cancelled(&st, 0);
    EQUAL(MPI_Status_c2f(&st, numbers), MPI_SUCCESS);
    memset(&back, 0, sizeof back);
    EQUAL(MPI_Status_f2c(numbers, &back), MPI_SUCCESS);
    EQUAL(back.MPI_TAG, 9);
#ifdef FTMPI_VERSION /* Debian's MPICH has these functions in its Fortran library only. */
    MPI_Fint again[16];
    MPI_F08_status f08, other;
    int flag = -1;
    EQUAL(MPI_Status_f2f08(numbers, &f08), MPI_SUCCESS);
    EQUAL(MPI_Status_f082c(&f08, &back), MPI_SUCCESS);
    EQUAL(back.MPI_SOURCE, check_rank);
    EQUAL(back.MPI_TAG, 9);
    MPI_Get_count(&back, MPI_INT, &n);
    EQUAL(n, 6);
    MPI_Test_cancelled(&back, &flag);
    EQUAL(flag, 0);
    EQUAL(f08.MPI_TAG, 9);
    memset(&back, 0, sizeof back);
    EQUAL(MPI_Status_c2f08(&st, &other), MPI_SUCCESS);
    EQUAL(MPI_Status_f082f(&other, again), MPI_SUCCESS);
    EQUAL(MPI_Status_f2c(again, &back), MPI_SUCCESS);
#endif
    EQUAL(back.MPI_SOURCE, check_rank);
    MPI_Get_count(&back, MPI_INT, &n);
    EQUAL(n, 6);
    section("statuses");
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "handles");
    rounds();
    statuses();
    return check_end();
}
