/* Chapters 9 and 15: calls before Init and after Finalize, versions, timers, the profiling
 * interface (our own MPI_Send and MPI_Barrier over PMPI_), buffers, memory. */
#include "../check.h"
#include <unistd.h>

static int sends, barriers;

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    sends++;
    return PMPI_Send(buffer, count, type, dest, tag, comm);
}

int MPI_Barrier(MPI_Comm comm)
{
    barriers++;
    return PMPI_Barrier(comm);
}

static void timers(void)
{
    double tick = MPI_Wtick(), last = MPI_Wtime();
    CHECK(tick > 0 && tick <= 1e-3, "Wtick is %g", tick);
    for (int i = 0; i < 1000; i++) {
        double now = PMPI_Wtime();
        CHECK(now >= last, "Wtime ran backwards");
        last = now;
    }
    double before = MPI_Wtime();
    usleep(50000);
    double slept = MPI_Wtime() - before;
    CHECK(slept >= 0.049 && slept < 20, "50 ms took %g s by Wtime", slept);
}

static void buffers(void)
{
    enum { EACH = 1000, MANY = 20 };
    int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
    int room = MANY * (EACH + MPI_BSEND_OVERHEAD), size = 0, bytes = 0, class;
    char *space = malloc((size_t)room), out[EACH], in[EACH], *back = NULL;
    MPI_Pack_size(EACH, MPI_CHAR, MPI_COMM_WORLD, &bytes);
    CHECK(bytes >= EACH, "Pack_size");
    for (int round = 0; round < 3; round++) {
        MPI_Buffer_attach(space, room);
        for (int i = 0; i < MANY; i++) {
            fill(out, EACH, (uint32_t)check_rank, (uint32_t)(round * MANY + i));
            MPI_Bsend(out, EACH, MPI_CHAR, to, i, MPI_COMM_WORLD);
            memset(out, 0, EACH);   /* the buffer is free at once */
        }
        for (int i = MANY - 1; i >= 0; i--) {
            MPI_Recv(in, EACH, MPI_CHAR, from, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(wrong_at(in, EACH, (uint32_t)from, (uint32_t)(round * MANY + i)) < 0,
                  "buffered message %d", i);
        }
        MPI_Buffer_detach(&back, &size);   /* waits until all messages have left */
        CHECK(back == space && size == room, "detach gave another buffer");
        memset(space, 0, (size_t)room);
    }
    /* too small a buffer */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Buffer_attach(space, 100 + MPI_BSEND_OVERHEAD);
    int code = MPI_Bsend(out, EACH, MPI_CHAR, to, 1, MPI_COMM_WORLD);
    MPI_Error_class(code, &class);
    EQUAL(class, MPI_ERR_BUFFER);
    MPI_Buffer_detach(&back, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    free(space);
}

int main(int argc, char **argv)
{
    int flag = 7, version = 0, sub = -1, len = 0;
    char name[MPI_MAX_PROCESSOR_NAME], text[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Initialized(&flag);
    int before = flag;
    MPI_Finalized(&flag);
    int gone = flag;
    MPI_Get_version(&version, &sub);
    MPI_Get_library_version(text, &len);
    int named = len > 0 && (int)strlen(text) == len;

    check_begin(&argc, &argv, "environment");
    EQUAL(before, 0);
    EQUAL(gone, 0);
    EQUAL(version, MPI_VERSION);
    EQUAL(sub, MPI_SUBVERSION);
    CHECK(named, "library version");
    CHECK(argc == 1 && argv[0] != NULL, "arguments");
    MPI_Initialized(&flag);
    EQUAL(flag, 1);
    MPI_Finalized(&flag);
    EQUAL(flag, 0);
    MPI_Is_thread_main(&flag);
    EQUAL(flag, 1);
    MPI_Query_thread(&flag);
    CHECK(flag >= MPI_THREAD_SINGLE && flag <= MPI_THREAD_MULTIPLE, "thread level %d", flag);
    MPI_Get_processor_name(name, &len);
    CHECK(len > 0 && (int)strlen(name) == len, "processor name");
    section("before and after Init");
    timers();
    section("timers");
    int word = check_rank;
    MPI_Request q;
    MPI_Irecv(&word, 1, MPI_INT, check_rank, 1, MPI_COMM_WORLD, &q);
    MPI_Send(&check_rank, 1, MPI_INT, check_rank, 1, MPI_COMM_WORLD);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(&check_rank, &word, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    EQUAL(sends, 1);      /* collectives must not go through our wrapper */
    EQUAL(barriers, 1);
    MPI_Pcontrol(1);
    section("profiling");
    buffers();
    section("buffers");
    void *memory = NULL;
    MPI_Alloc_mem(100000, MPI_INFO_NULL, &memory);
    CHECK(memory != NULL, "Alloc_mem");
    memset(memory, 1, 100000);
    MPI_Free_mem(memory);
    int code = check_end();
    MPI_Finalized(&flag);
    if (!flag || code)
        return 1;
    MPI_Initialized(&flag);
    return flag ? 0 : 1;
}
