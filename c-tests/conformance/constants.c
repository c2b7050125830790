/* Prints every constant, handle and layout that is compiled into applications. The output must
 * equal that of a program compiled with another header of the same ABI. */
#include "../check.h"
#include <stddef.h>

#define N(x) printf("%s %lld\n", #x, (long long)(x))
#define H(x) printf("%s %08x\n", #x, (unsigned)(x))
#define P(x) printf("%s %lld\n", #x, (long long)(intptr_t)(x))

static void numbers(void)
{
    N(MPI_SUCCESS); N(MPI_ERR_BUFFER); N(MPI_ERR_COUNT); N(MPI_ERR_TYPE); N(MPI_ERR_TAG);
    N(MPI_ERR_COMM); N(MPI_ERR_RANK); N(MPI_ERR_ROOT); N(MPI_ERR_TRUNCATE); N(MPI_ERR_GROUP);
    N(MPI_ERR_OP); N(MPI_ERR_REQUEST); N(MPI_ERR_TOPOLOGY); N(MPI_ERR_DIMS); N(MPI_ERR_ARG);
    N(MPI_ERR_OTHER); N(MPI_ERR_UNKNOWN); N(MPI_ERR_INTERN); N(MPI_ERR_IN_STATUS);
    N(MPI_ERR_PENDING); N(MPI_ERR_KEYVAL); N(MPI_ERR_NO_MEM); N(MPI_ERR_INFO);
    N(MPI_ERR_UNSUPPORTED_OPERATION); N(MPI_ERR_LASTCODE);
    N(MPI_ANY_SOURCE); N(MPI_ANY_TAG); N(MPI_PROC_NULL); N(MPI_ROOT); N(MPI_UNDEFINED);
    N(MPI_KEYVAL_INVALID); N(MPI_BSEND_OVERHEAD); N(MPI_IDENT); N(MPI_CONGRUENT); N(MPI_SIMILAR);
    N(MPI_UNEQUAL); N(MPI_GRAPH); N(MPI_CART); N(MPI_DIST_GRAPH); N(MPI_TAG_UB); N(MPI_HOST);
    N(MPI_IO); N(MPI_WTIME_IS_GLOBAL); N(MPI_UNIVERSE_SIZE); N(MPI_LASTUSEDCODE); N(MPI_APPNUM);
    N(MPI_MAX_PROCESSOR_NAME); N(MPI_MAX_ERROR_STRING); N(MPI_MAX_PORT_NAME);
    N(MPI_MAX_OBJECT_NAME); N(MPI_MAX_INFO_KEY); N(MPI_MAX_INFO_VAL);
    N(MPI_MAX_LIBRARY_VERSION_STRING); N(MPI_THREAD_SINGLE); N(MPI_THREAD_FUNNELED);
    N(MPI_THREAD_SERIALIZED); N(MPI_THREAD_MULTIPLE); N(MPI_ORDER_C); N(MPI_ORDER_FORTRAN);
    N(MPI_DISTRIBUTE_BLOCK); N(MPI_DISTRIBUTE_CYCLIC); N(MPI_DISTRIBUTE_NONE);
    N(MPI_DISTRIBUTE_DFLT_DARG); N(MPI_COMBINER_NAMED); N(MPI_COMBINER_DUP);
    N(MPI_COMBINER_CONTIGUOUS); N(MPI_COMBINER_VECTOR); N(MPI_COMBINER_HVECTOR);
    N(MPI_COMBINER_INDEXED); N(MPI_COMBINER_HINDEXED); N(MPI_COMBINER_INDEXED_BLOCK);
    N(MPI_COMBINER_STRUCT); N(MPI_COMBINER_SUBARRAY); N(MPI_COMBINER_DARRAY);
    N(MPI_COMBINER_RESIZED); N(MPI_COMM_TYPE_SHARED); N(MPI_LOCK_EXCLUSIVE); N(MPI_LOCK_SHARED);
    N(MPI_MODE_RDONLY); N(MPI_MODE_RDWR); N(MPI_MODE_CREATE); N(MPI_SEEK_SET);
    P(MPI_BOTTOM); P(MPI_IN_PLACE); P(MPI_STATUS_IGNORE); P(MPI_STATUSES_IGNORE);
    P(MPI_UNWEIGHTED == MPI_WEIGHTS_EMPTY); P(MPI_ARGV_NULL); P(MPI_ERRCODES_IGNORE);
}

static void handles(void)
{
    H(MPI_COMM_NULL); H(MPI_COMM_WORLD); H(MPI_COMM_SELF); H(MPI_GROUP_NULL); H(MPI_GROUP_EMPTY);
    H(MPI_REQUEST_NULL); H(MPI_OP_NULL); H(MPI_ERRHANDLER_NULL); H(MPI_ERRORS_ARE_FATAL);
    H(MPI_ERRORS_RETURN); H(MPI_INFO_NULL); H(MPI_INFO_ENV); H(MPI_WIN_NULL); H(MPI_MESSAGE_NULL);
    H(MPI_MESSAGE_NO_PROC);
    H(MPI_MAX); H(MPI_MIN); H(MPI_SUM); H(MPI_PROD); H(MPI_LAND); H(MPI_BAND); H(MPI_LOR);
    H(MPI_BOR); H(MPI_LXOR); H(MPI_BXOR); H(MPI_MINLOC); H(MPI_MAXLOC); H(MPI_REPLACE); H(MPI_NO_OP);
    H(MPI_DATATYPE_NULL); H(MPI_CHAR); H(MPI_SIGNED_CHAR); H(MPI_UNSIGNED_CHAR); H(MPI_BYTE);
    H(MPI_WCHAR); H(MPI_SHORT); H(MPI_UNSIGNED_SHORT); H(MPI_INT); H(MPI_UNSIGNED); H(MPI_LONG);
    H(MPI_UNSIGNED_LONG); H(MPI_FLOAT); H(MPI_DOUBLE); H(MPI_LONG_DOUBLE); H(MPI_LONG_LONG_INT);
    H(MPI_UNSIGNED_LONG_LONG); H(MPI_LONG_LONG); H(MPI_PACKED); H(MPI_LB); H(MPI_UB);
    H(MPI_FLOAT_INT); H(MPI_DOUBLE_INT); H(MPI_LONG_INT); H(MPI_SHORT_INT); H(MPI_2INT);
    H(MPI_LONG_DOUBLE_INT); H(MPI_COMPLEX); H(MPI_DOUBLE_COMPLEX); H(MPI_LOGICAL); H(MPI_REAL);
    H(MPI_DOUBLE_PRECISION); H(MPI_INTEGER); H(MPI_2INTEGER); H(MPI_2REAL);
    H(MPI_2DOUBLE_PRECISION); H(MPI_CHARACTER); H(MPI_REAL4); H(MPI_REAL8); H(MPI_REAL16);
    H(MPI_COMPLEX8); H(MPI_COMPLEX16); H(MPI_COMPLEX32); H(MPI_INTEGER1); H(MPI_INTEGER2);
    H(MPI_INTEGER4); H(MPI_INTEGER8); H(MPI_INT8_T); H(MPI_INT16_T); H(MPI_INT32_T); H(MPI_INT64_T);
    H(MPI_UINT8_T); H(MPI_UINT16_T); H(MPI_UINT32_T); H(MPI_UINT64_T); H(MPI_C_BOOL);
    H(MPI_C_COMPLEX); H(MPI_C_FLOAT_COMPLEX); H(MPI_C_DOUBLE_COMPLEX); H(MPI_C_LONG_DOUBLE_COMPLEX);
    H(MPI_AINT); H(MPI_OFFSET); H(MPI_COUNT); H(MPI_CXX_BOOL); H(MPI_CXX_FLOAT_COMPLEX);
    H(MPI_CXX_DOUBLE_COMPLEX); H(MPI_CXX_LONG_DOUBLE_COMPLEX);
}

static void layouts(void)
{
    N(sizeof(MPI_Status)); N(offsetof(MPI_Status, MPI_SOURCE)); N(offsetof(MPI_Status, MPI_TAG));
    N(offsetof(MPI_Status, MPI_ERROR)); N(sizeof(MPI_Aint)); N(sizeof(MPI_Offset));
    N(sizeof(MPI_Count)); N(sizeof(MPI_Comm)); N(sizeof(MPI_Datatype)); N(sizeof(MPI_Request));
    N(sizeof(MPI_Op)); N(sizeof(MPI_Group)); N(sizeof(MPI_Errhandler)); N(sizeof(MPI_Info));
    N(sizeof(MPI_Win)); N(sizeof(MPI_File)); N(sizeof(MPI_Fint)); N(sizeof(MPI_Message));
}

static void sizes(void)
{
    MPI_Datatype t[] = {MPI_CHAR, MPI_WCHAR, MPI_LONG_DOUBLE, MPI_FLOAT_INT, MPI_DOUBLE_INT,
                        MPI_LONG_INT, MPI_SHORT_INT, MPI_2INT, MPI_LONG_DOUBLE_INT, MPI_LOGICAL,
                        MPI_2REAL, MPI_2DOUBLE_PRECISION, MPI_REAL16, MPI_COMPLEX32, MPI_PACKED,
                        MPI_C_LONG_DOUBLE_COMPLEX, MPI_COUNT};
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        int size = -1, n = 0;
        MPI_Aint lb = -1, extent = -1, tlb = -1, te = -1;
        char name[MPI_MAX_OBJECT_NAME];
        MPI_Type_size(t[i], &size);
        MPI_Type_get_extent(t[i], &lb, &extent);
        MPI_Type_get_true_extent(t[i], &tlb, &te);
        MPI_Type_get_name(t[i], name, &n);
        printf("%s size %d lb %ld extent %ld true %ld %ld\n", name, size, (long)lb, (long)extent,
               (long)tlb, (long)te);
    }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "constants");
    if (check_rank == 0) {
        numbers();
        handles();
        layouts();
        sizes();
    }
    return check_end();
}
