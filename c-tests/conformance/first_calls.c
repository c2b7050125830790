/*
 * Chapters 11 and 15: calls that are allowed before MPI_Init, from several threads at once, as the
 * first calls of a process. One thread starts MPI, and the others wait.
 */
#include "../check.h"
#include <pthread.h>

enum { THREADS = 4 };

static pthread_barrier_t gate;
static MPI_Session sessions[THREADS];
static int sets[THREADS], failed[THREADS];

static void *first(void *argument)
{
    int me = (int)(intptr_t)argument, wrong = 0;
    pthread_barrier_wait(&gate);
#ifdef FTMPI_VERSION
    /* The peer gives other results for these calls. */
    MPI_Info info;
    char value[8];
    int flag = 0, provided = -1;
    if (me % 2 == 0) {
        wrong |= MPI_Info_create(&info);
        wrong |= MPI_Info_set(info, "number", me ? "two" : "none");
        wrong |= MPI_Info_get(info, "number", 7, value, &flag);
        wrong |= !flag || strcmp(value, me ? "two" : "none") != 0;
        wrong |= MPI_Info_free(&info);
    } else {
        wrong |= MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
        wrong |= provided < MPI_THREAD_SERIALIZED;
        wrong |= MPI_T_finalize();
    }
#endif
    wrong |= MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &sessions[me]);
    wrong |= MPI_Session_get_num_psets(sessions[me], MPI_INFO_NULL, &sets[me]);
    failed[me] = wrong;
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    MPI_Comm comms[THREADS];
    pthread_barrier_init(&gate, NULL, THREADS);
    for (int i = 1; i < THREADS; i++)
        pthread_create(&threads[i], NULL, first, (void *)(intptr_t)i);
    first(NULL);
    for (int i = 1; i < THREADS; i++)
        pthread_join(threads[i], NULL);

    for (int i = 0; i < THREADS; i++) {
        MPI_Group all;
        char tag[32];
        EQUAL(failed[i], 0);
        CHECK(sets[i] >= 2, "%d process sets", sets[i]);
        snprintf(tag, sizeof tag, "org.ftmpi.test.first.%d", i);
        MPI_Group_from_session_pset(sessions[i], "mpi://WORLD", &all);
        MPI_Comm_create_from_group(all, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comms[i]);
        MPI_Group_free(&all);
    }
    MPI_Comm_rank(comms[0], &check_rank);
    MPI_Comm_size(comms[0], &check_size);
    for (int i = 0; i < THREADS; i++) {
        int sum = -1;
        MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, comms[i]);
        EQUAL(sum, check_size * (check_size - 1) / 2);
    }
    int bad = check_errors;
    MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_SUM, comms[0]);
    if (check_rank == 0)
        printf("first calls on %d: %s\n", check_size, bad ? "mismatches" : "ok");
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_free(&comms[i]);
        MPI_Session_finalize(&sessions[i]);
    }
    return bad != 0;
}
