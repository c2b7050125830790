/* Going on without ranks that die: going_on CASE. Rank `size - 1` dies (in cases of several deaths, others
 * too); every other rank prints "ok CASE" when all that MPI answered is right. No case may wait for ever. */
#include "going_on.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- point to point ------------------------------------------------------------------------------- */

static void receive(void)
{
    int value = 7;
    if (rank == victim) {
        MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        die_soon();
    }
    /* Blocked before the death, and called after it. */
    CLASS(MPI_Recv(&value, 1, MPI_INT, victim, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
    CLASS(MPI_Recv(&value, 1, MPI_INT, victim, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
    if (rank == 0) {
        /* What had come whole before the death is received. */
        value = 0;
        CLASS(MPI_Recv(&value, 1, MPI_INT, victim, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
        CHECK(value == 7);
    }
    MPI_Request request;
    MPI_Status status;
    CLASS(MPI_Irecv(&value, 1, MPI_INT, victim, 2, MPI_COMM_WORLD, &request), MPI_SUCCESS);
    CLASS(MPI_Wait(&request, &status), MPIX_ERR_PROC_FAILED);
    CHECK(request == MPI_REQUEST_NULL);
    shrink_and_use(MPI_COMM_WORLD, living());
}

static void sends(void)
{
    int small = 1, count = 1 << 20;
    char *large = calloc(count, 1);
    if (rank == victim) {
        die_soon();
    }
    MPI_Request requests[3];
    /* A long message and a synchronous one wait for their receiver. */
    CLASS(MPI_Isend(large, count, MPI_CHAR, victim, 1, MPI_COMM_WORLD, &requests[0]), MPI_SUCCESS);
    CLASS(MPI_Issend(&small, 1, MPI_INT, victim, 2, MPI_COMM_WORLD, &requests[1]), MPI_SUCCESS);
    CLASS(MPI_Irecv(&small, 1, MPI_INT, victim, 3, MPI_COMM_WORLD, &requests[2]), MPI_SUCCESS);
    MPI_Status statuses[3];
    CLASS(MPI_Waitall(3, requests, statuses), MPI_ERR_IN_STATUS);
    for (int i = 0; i < 3; i++) {
        if (statuses[i].MPI_ERROR == MPI_ERR_PENDING) {
            CLASS(MPI_Wait(&requests[i], &statuses[i]), MPIX_ERR_PROC_FAILED);
        } else {
            CLASS(statuses[i].MPI_ERROR, MPIX_ERR_PROC_FAILED);
        }
    }
    CLASS(MPI_Send(&small, 1, MPI_INT, victim, 1, MPI_COMM_WORLD), MPIX_ERR_PROC_FAILED);
    CLASS(MPI_Ssend(&small, 1, MPI_INT, victim, 1, MPI_COMM_WORLD), MPIX_ERR_PROC_FAILED);
    CLASS(MPI_Send(large, count, MPI_CHAR, victim, 1, MPI_COMM_WORLD), MPIX_ERR_PROC_FAILED);
    CLASS(MPI_Sendrecv(&small, 1, MPI_INT, victim, 1, &count, 1, MPI_INT, victim, 1, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE),
          MPIX_ERR_PROC_FAILED);
    free(large);
    shrink_and_use(MPI_COMM_WORLD, living());
}

/* The victim dies in the middle of long messages, both ways. */
static void middle(void)
{
    int count = 64 << 20;
    char *data = malloc(count);
    memset(data, rank, count);
    if (rank == victim) {
        MPI_Request request;
        MPI_Isend(data, count, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &request);
        for (int i = 0; i < 3; i++) {
            int flag;
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        }
        die();
    }
    if (rank == 0) {
        int code = MPI_Recv(data, count, MPI_CHAR, victim, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) {
            CLASS(code, MPIX_ERR_PROC_FAILED);
        }
    } else {
        CLASS(MPI_Ssend(data, count, MPI_CHAR, victim, 1, MPI_COMM_WORLD), MPIX_ERR_PROC_FAILED);
    }
    free(data);
    shrink_and_use(MPI_COMM_WORLD, living());
}

static void any_source(void)
{
    int value = 0, flag;
    if (rank == victim) {
        die_soon();
    }
    MPI_Request request;
    MPI_Status status;
    CLASS(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request), MPI_SUCCESS);
    CLASS(MPI_Wait(&request, &status), MPIX_ERR_PROC_FAILED_PENDING);
    CHECK(request != MPI_REQUEST_NULL);
    /* Another rank may be ahead, and its message here. */
    int class = MPI_Test(&request, &flag, &status), early = class == MPI_SUCCESS;
    CHECK(early ? flag : class == MPIX_ERR_PROC_FAILED_PENDING);
    int other;
    CLASS(MPI_Recv(&other, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
    CLASS(MPI_Probe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
    /* Acknowledged: both wait for the living. */
    CLASS(MPIX_Comm_failure_ack(MPI_COMM_WORLD), MPI_SUCCESS);
    if (!early) {
        CLASS(MPI_Test(&request, &flag, &status), MPI_SUCCESS);
    }
    MPI_Group acked;
    CLASS(MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, &acked), MPI_SUCCESS);
    int n, of_group = 0, in_world;
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_size(acked, &n);
    CHECK(n == 1);
    MPI_Group_translate_ranks(acked, 1, &of_group, world, &in_world);
    CHECK(in_world == victim);
    if (living() > 1) {
        int next = (rank + 1) % living(), from = (rank + living() - 1) % living();
        CLASS(MPI_Send(&rank, 1, MPI_INT, next, 1, MPI_COMM_WORLD), MPI_SUCCESS);
        if (!flag) {
            CLASS(MPI_Wait(&request, &status), MPI_SUCCESS);
        }
        CHECK(value == from && status.MPI_SOURCE == from);
    } else {
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
    }
    shrink_and_use(MPI_COMM_WORLD, living());
}

static void probes(void)
{
    int flag = 0, code;
    if (rank == victim) {
        die_soon();
    }
    MPI_Status status;
    MPI_Message message;
    CLASS(MPI_Probe(victim, 1, MPI_COMM_WORLD, &status), MPIX_ERR_PROC_FAILED);
    CLASS(MPI_Mprobe(victim, 1, MPI_COMM_WORLD, &message, &status), MPIX_ERR_PROC_FAILED);
    CLASS(MPI_Iprobe(victim, 1, MPI_COMM_WORLD, &flag, &status), MPIX_ERR_PROC_FAILED);
    code = MPI_Improbe(victim, 1, MPI_COMM_WORLD, &flag, &message, &status);
    CLASS(code, MPIX_ERR_PROC_FAILED);
    shrink_and_use(MPI_COMM_WORLD, living());
}

/* Requests in lists, and persistent ones. */
static void lists(void)
{
    int a = 0, b = 0, index, count, indices[2];
    MPI_Request requests[2], again;
    MPI_Status statuses[2];
    if (rank == victim) {
        die_soon();
    }
    int other = living() > 1 ? (rank + 1) % living() : MPI_PROC_NULL;
    MPI_Irecv(&a, 1, MPI_INT, other == MPI_PROC_NULL ? rank : other, 9, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&b, 1, MPI_INT, victim, 1, MPI_COMM_WORLD, &requests[1]);
    CLASS(MPI_Waitany(2, requests, &index, &statuses[0]), MPIX_ERR_PROC_FAILED);
    CHECK(index == 1 && requests[1] == MPI_REQUEST_NULL);
    MPI_Irecv(&b, 1, MPI_INT, victim, 1, MPI_COMM_WORLD, &requests[1]);
    CLASS(MPI_Waitsome(2, requests, &count, indices, statuses), MPI_ERR_IN_STATUS);
    CHECK(count == 1 && indices[0] == 1);
    CLASS(statuses[0].MPI_ERROR, MPIX_ERR_PROC_FAILED);
    MPI_Irecv(&b, 1, MPI_INT, victim, 1, MPI_COMM_WORLD, &requests[1]);
    /* The first one never ends: the call does. */
    CLASS(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
    CHECK(statuses[0].MPI_ERROR == MPI_ERR_PENDING && requests[0] != MPI_REQUEST_NULL);
    CLASS(statuses[1].MPI_ERROR, MPIX_ERR_PROC_FAILED);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], &statuses[0]);
    MPI_Recv_init(&b, 1, MPI_INT, victim, 1, MPI_COMM_WORLD, &again);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&again);
        CLASS(MPI_Wait(&again, &statuses[0]), MPIX_ERR_PROC_FAILED);
    }
    MPI_Request_free(&again);
    shrink_and_use(MPI_COMM_WORLD, living());
}

static void partitioned(void)
{
    double data[4] = { 0 };
    MPI_Request request;
    MPI_Info info = MPI_INFO_NULL;
    if (rank == victim) {
        die_soon();
    }
    MPI_Precv_init(data, 4, 1, MPI_DOUBLE, victim, 1, MPI_COMM_WORLD, info, &request);
    MPI_Start(&request);
    CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
    MPI_Request_free(&request);
    MPI_Psend_init(data, 4, 1, MPI_DOUBLE, victim, 1, MPI_COMM_WORLD, info, &request);
    MPI_Start(&request);
    MPI_Pready_range(0, 3, request);
    CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
    MPI_Request_free(&request);
    shrink_and_use(MPI_COMM_WORLD, living());
}

/* ---- collectives ---------------------------------------------------------------------------------- */

/* Again and again until the death ends it: each call is right or fails, and at last it fails. */
static void collectives(int count)
{
    int *in = calloc((size_t)count * size, sizeof(int)), *out = calloc((size_t)count * size, sizeof(int));
    MPI_Comm comm[COLLECTIVES];
    for (int number = 0; number < COLLECTIVES; number++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm[number]);
    }
    int first = getpid() % COLLECTIVES;
    MPI_Bcast(&first, 1, MPI_INT, victim, MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) {
        CLASS(which(first, comm[first], count, in, out), MPI_SUCCESS);
    }
    if (rank == victim) {
        die();
    }
    for (int i = 0; i < COLLECTIVES; i++) {
        int number = (first + i) % COLLECTIVES, code, class = MPI_SUCCESS;
        for (int j = 0; j < size * count * 4; j++) {
            for (int k = 0; k < count * size; k++) {
                in[k] = 1;
            }
            code = which(number, comm[number], count, in, out);
            MPI_Error_class(code, &class);
            if (class != MPI_SUCCESS) {
                break;
            }
            if (number == 2) {
                CHECK(out[0] == size && out[count - 1] == size);
            }
        }
        /* A rank that only sends may have ended before the death was known. */
        if (class == MPI_SUCCESS) {
            await_deaths(comm[number], 1);
            MPI_Error_class(which(number, comm[number], count, in, out), &class);
        }
        CHECK(class == MPIX_ERR_PROC_FAILED);
    }
    free(in);
    free(out);
    shrink_and_use(MPI_COMM_WORLD, living());
}

static void collectives_short(void)
{
    collectives(1);
}

static void collectives_long(void)
{
    collectives(40000);
}

static void collectives_later(void)
{
    int in = 1, out = 0, flag = 0;
    MPI_Request requests[3];
    if (rank == victim) {
        die_soon();
    }
    CLASS(MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]), MPI_SUCCESS);
    CLASS(MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]), MPI_SUCCESS);
    CLASS(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
    MPI_Status status;
    int code;
    do {
        code = MPI_Test(&requests[1], &flag, &status);
    } while (code == MPI_SUCCESS && !flag);
    CLASS(code, MPIX_ERR_PROC_FAILED);
    CLASS(MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]), MPIX_ERR_PROC_FAILED);
    shrink_and_use(MPI_COMM_WORLD, living());
}

/* Making communicators. A group without the dead makes one. */
static void making(void)
{
    MPI_Comm new;
    MPI_Group world, left;
    if (rank == victim) {
        die_soon();
    }
    CLASS(MPI_Comm_dup(MPI_COMM_WORLD, &new), MPIX_ERR_PROC_FAILED);
    CLASS(MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &new), MPIX_ERR_PROC_FAILED);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_excl(world, 1, &victim, &left);
    CLASS(MPI_Comm_create_group(MPI_COMM_WORLD, left, 3, &new), MPI_SUCCESS);
    use(new, living());
    MPI_Comm_free(&new);
    shrink_and_use(MPI_COMM_WORLD, living());
}

/* The leader of the other group dies: all members of this group hear of it. */
static void intercomms(void)
{
    MPI_Comm local, inter;
    MPI_Comm_split(MPI_COMM_WORLD, rank == victim, rank, &local);
    MPI_Comm_set_errhandler(local, MPI_ERRORS_RETURN);
    if (rank == victim) {
        die_soon();
    }
    CLASS(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, victim, 3, &inter), MPIX_ERR_PROC_FAILED);
    use(local, living());
    shrink_and_use(MPI_COMM_WORLD, living());
}

/* Access together to a file that is open. */
static void files(void)
{
    int value = rank;
    MPI_File file;
    CLASS(MPI_File_open(MPI_COMM_WORLD, "going_on.data", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                        MPI_INFO_NULL, &file),
          MPI_SUCCESS);
    if (rank == victim) {
        die_soon();
    }
    CLASS(MPI_File_write_at_all(file, 4 * rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
    CLASS(MPI_File_write_at(file, 4 * rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
    shrink_and_use(MPI_COMM_WORLD, living());
}

/* ---- windows -------------------------------------------------------------------------------------- */

static void windows(void)
{
    int *base, value = rank;
    MPI_Win win;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_fence(0, win);
    if (rank == victim) {
        die_soon();
    }
    MPI_Put(&value, 1, MPI_INT, victim, 0, 1, MPI_INT, win);
    CLASS(MPI_Win_fence(0, win), MPIX_ERR_PROC_FAILED);
    CLASS(MPI_Win_free(&win), MPI_SUCCESS);
    shrink_and_use(MPI_COMM_WORLD, living());
}

static void locks(void)
{
    int *base, value = rank;
    MPI_Win win;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    if (rank == victim) {
        /* It dies with a lock of rank 0. */
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        MPI_Win_flush(0, win);
        MPI_Barrier(MPI_COMM_WORLD);
        die_soon();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int code = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    if (code == MPI_SUCCESS) {
        MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        code = MPI_Win_unlock(0, win);
    }
    CLASS(code, MPIX_ERR_PROC_FAILED);
    shrink_and_use(MPI_COMM_WORLD, living());
}

static void exposures(void)
{
    int *base, value = rank;
    MPI_Win win;
    MPI_Group world, one;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &victim, &one);
    if (rank == victim) {
        die_soon();
    }
    /* Exposed to the victim, which never accesses. */
    CLASS(MPI_Win_post(one, 0, win), MPI_SUCCESS);
    CLASS(MPI_Win_wait(win), MPIX_ERR_PROC_FAILED);
    CLASS(MPI_Win_start(one, 0, win), MPI_SUCCESS);
    MPI_Put(&value, 1, MPI_INT, victim, 0, 1, MPI_INT, win);
    int code = MPI_Win_complete(win);
    CHECK(code == MPI_SUCCESS || code == MPIX_ERR_PROC_FAILED);
    shrink_and_use(MPI_COMM_WORLD, living());
}

/* ---- revocation, agreement, shrink ---------------------------------------------------------------- */

/* Rank 0 revokes; the others wait for messages that never come. */
static void revocation(void)
{
    int value, flag = 0;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (rank == 0) {
        usleep(50000);
        CLASS(MPIX_Comm_revoke(comm), MPI_SUCCESS);
        CLASS(MPIX_Comm_revoke(comm), MPI_SUCCESS);
    } else {
        int from = rank == 1 ? MPI_ANY_SOURCE : 0;
        CLASS(MPI_Recv(&value, 1, MPI_INT, from, 1, comm, MPI_STATUS_IGNORE), MPIX_ERR_REVOKED);
    }
    CLASS(MPIX_Comm_is_revoked(comm, &flag), MPI_SUCCESS);
    CHECK(flag);
    CLASS(MPI_Send(&value, 1, MPI_INT, rank, 1, comm), MPIX_ERR_REVOKED);
    CLASS(MPI_Barrier(comm), MPIX_ERR_REVOKED);
    CLASS(MPI_Iprobe(0, 1, comm, &flag, MPI_STATUS_IGNORE), MPIX_ERR_REVOKED);
    /* Agreement and shrink work on it, and other communicators are not concerned. */
    flag = rank == 0 ? 6 : 3;
    CLASS(MPIX_Comm_agree(comm, &flag), MPI_SUCCESS);
    CHECK(flag == (size > 1 ? 2 : 6));
    shrink_and_use(comm, size);
    CLASS(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
    MPI_Comm_free(&comm);
}

/* Rank 1 begins when rank 0 has revoked MPI_COMM_WORLD already (see main). */
static void late(void)
{
    int value;
    if (rank == 0) {
        CLASS(MPIX_Comm_revoke(MPI_COMM_WORLD), MPI_SUCCESS);
    } else {
        CLASS(MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPIX_ERR_REVOKED);
    }
    shrink_and_use(MPI_COMM_WORLD, size);
}

static void agree(void)
{
    int flag = 15 & ~(1 << rank % 4), all = 15;
    for (int i = 0; i < size; i++) {
        all &= 15 & ~(1 << i % 4);
    }
    CLASS(MPIX_Comm_agree(MPI_COMM_WORLD, &flag), MPI_SUCCESS);
    CHECK(flag == all);
    if (rank == victim) {
        die_soon();
    }
    flag = 1;
    CLASS(MPIX_Comm_agree(MPI_COMM_WORLD, &flag), MPIX_ERR_PROC_FAILED);
    CHECK(flag == 1);
    /* Not acknowledged by all: an error at all. */
    if (rank == 0) {
        CLASS(MPIX_Comm_failure_ack(MPI_COMM_WORLD), MPI_SUCCESS);
    }
    flag = rank;
    CLASS(MPIX_Comm_agree(MPI_COMM_WORLD, &flag), living() > 1 ? MPIX_ERR_PROC_FAILED : MPI_SUCCESS);
    CHECK(flag == 0);
    int acked = 0;
    CLASS(MPIX_Comm_ack_failed(MPI_COMM_WORLD, 1, &acked), MPI_SUCCESS);
    CHECK(acked == 1);
    MPI_Request request;
    flag = 3;
    CLASS(MPIX_Comm_iagree(MPI_COMM_WORLD, &flag, &request), MPI_SUCCESS);
    CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    CHECK(flag == 3);
    shrink_and_use(MPI_COMM_WORLD, living());
}

/* All but one die, one after the other, each in the middle of something else. */
static void repeatedly(void)
{
    MPI_Comm comm = MPI_COMM_WORLD, next;
    for (int left = size; left > 1; left--) {
        int me, n, flag = 1, code;
        MPI_Comm_rank(comm, &me);
        MPI_Comm_size(comm, &n);
        CHECK(n == left);
        int moment = left % 4, last = me == n - 1;
        if (last && moment == 0) {
            die();
        }
        if (moment == 1) {
            if (last) {
                MPI_Request request;
                MPIX_Comm_iagree(comm, &flag, &request);
                die();
            }
            MPIX_Comm_agree(comm, &flag);
        }
        if (moment == 2 && last) {
            MPI_Request request;
            MPI_Comm new;
            MPIX_Comm_ishrink(comm, &new, &request);
            die();
        }
        if (moment == 3 && last) {
            MPIX_Comm_revoke(comm);
            die();
        }
        do {
            code = MPI_Barrier(comm);
        } while (code == MPI_SUCCESS);
        MPIX_Comm_revoke(comm);
        do {
            CLASS(MPIX_Comm_shrink(comm, &next), MPI_SUCCESS);
            MPI_Comm_size(next, &n);
            flag = n == left - 1;
        } while (n == left);
        CHECK(flag);
        comm = next;
    }
    printf("ok %s\n", name);
    fflush(stdout);
}

/* A request for a shrink, and deaths between its begin and its end. */
static void shrink_later(void)
{
    MPI_Comm new;
    MPI_Request request;
    if (rank == victim) {
        die_soon();
    }
    CLASS(MPIX_Comm_ishrink(MPI_COMM_WORLD, &new, &request), MPI_SUCCESS);
    CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    use(new, living());
    MPI_Comm_free(&new);
}

/* ---- ways to end ---------------------------------------------------------------------------------- */

static void leaves(void)
{
    if (rank == victim) {
        exit(strcmp(name, "leaves") == 0 ? 0 : 5);
    }
    CLASS(MPI_Barrier(MPI_COMM_WORLD), MPIX_ERR_PROC_FAILED);
    shrink_and_use(MPI_COMM_WORLD, living());
}

static void fatal(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    if (rank == victim) {
        die_soon();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    puts("a barrier without a rank came back");
}

static void finalize(void)
{
    if (rank == victim) {
        die_soon();
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    { "receive", receive }, { "sends", sends }, { "middle", middle }, { "any-source", any_source },
    { "probes", probes }, { "lists", lists }, { "partitioned", partitioned },
    { "collectives-short", collectives_short }, { "collectives-long", collectives_long },
    { "collectives-later", collectives_later }, { "making", making }, { "intercomms", intercomms },
    { "files", files }, { "windows", windows },
    { "locks", locks }, { "exposures", exposures }, { "revoke", revocation }, { "late", late }, { "agree", agree },
    { "repeatedly", repeatedly }, { "shrink-later", shrink_later }, { "leaves", leaves },
    { "leaves-with-code", leaves }, { "aborts", aborts }, { "fatal", fatal }, { "finalize", finalize },
};

int main(int argc, char **argv)
{
    const char *number = getenv("PMI_RANK");
    if (argc > 1 && strcmp(argv[1], "late") == 0 && number != NULL && strcmp(number, "1") == 0) {
        usleep(500000);
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    victim = size - 1;
    name = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(cases[i].name, name) == 0) {
            cases[i].run();
            if (cases[i].run != repeatedly) {
                printf("ok %s\n", name);
            }
            fflush(stdout);
            MPI_Finalize();
            return 0;
        }
    }
    fprintf(stderr, "there is no case %s\n", name);
    return 2;
}
