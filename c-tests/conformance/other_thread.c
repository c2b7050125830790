/* Chapter 11: the thread that calls MPI_Init and all other MPI functions need not be the first
 * of its process, at any level. Work that the library does by itself (a signal comes on the first
 * thread) must not run at the same time as a call. The program makes many short calls, with time
 * between them. */
#include "../check.h"
#include <pthread.h>

static int code, count;
static char **arguments;

static void *everything(void *argument)
{
    enum { ROUNDS = 3000, LEN = 50 };
    int level = -1, is_main = 0, in[LEN], out[LEN];
    volatile double x = 1;
    (void)argument;
    MPI_Init(&count, &arguments);
    check_begin(&count, &arguments, "other_thread");
    MPI_Query_thread(&level);
    EQUAL(level, MPI_THREAD_SINGLE);
    MPI_Is_thread_main(&is_main);
    EQUAL(is_main, 1);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    for (int k = 0; k < ROUNDS; k++) {
        MPI_Request q;
        for (int i = 0; i < LEN; i++)
            out[i] = check_rank * k + i;
        MPI_Irecv(in, LEN, MPI_INT, left, k % 5, check_comm, &q);
        MPI_Send(out, LEN, MPI_INT, right, k % 5, check_comm);
        for (int i = 0; i < 500; i++)
            x = x * 1.0000001 + 1e-9;
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        EQUAL(in[LEN - 1], left * k + LEN - 1);
        note(in[0]);
    }
    section("ring");
    code = check_end();
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    count = argc;
    arguments = argv;
    pthread_create(&thread, NULL, everything, NULL);
    pthread_join(thread, NULL);
    return code;
}
