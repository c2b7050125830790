/*
 * Random traffic: sizes, tags, communicators, send modes, ways to receive, wildcards, datatypes and
 * orders are mixed. The program checks every byte of every message, and that no message overtook
 * another.
 *
 * All ranks draw the same plan, so each rank knows what every other rank sends. In one round a rank
 * receives on one communicator in one of four ways: source and tag named, either one open, or both
 * open. So a wildcard never takes a message that a named receive waits for. Barriers separate the
 * rounds.
 */
#include "model.h"
#include <unistd.h>

enum { COMMS = 3, MOST = 60, TAGS = 4 };

struct message {
    int from, to, comm, tag, bytes, mode, typed, way;
};

static MPI_Comm comms[COMMS];
static int place[COMMS][64]; /* world rank at a rank of the communicator */
static int mine[COMMS];      /* my rank there */
static MPI_Datatype spaced;  /* pairs of bytes with gaps: the same signature as bytes */

static int rank_in(int comm, int world)
{
    for (int i = 0; i < check_size; i++)
        if (place[comm][i] == world)
            return i;
    return MPI_PROC_NULL;
}

/* The words of message number `id`: the number is first, so that a wildcard identifies its
 * message. */
static void words(unsigned char *out, const struct message *m, int round, int id)
{
    fill(out, (size_t)m->bytes, (uint32_t)(round * MOST + id), (uint32_t)random_seed);
    if (m->bytes >= 4)
        memcpy(out, &id, 4);
}

static void spread(unsigned char *wide, const unsigned char *narrow, int bytes)
{
    for (int i = 0; i < bytes; i++)
        wide[i / 2 * 5 + i % 2] = narrow[i];
}

/* An operation of the program, which may not run while the program is in the middle of other
 * work. */
static void heaviest(void *in, void *out, int *n, MPI_Datatype *type)
{
    (void)type;
    int *one = in, *other = out, *copy = malloc(sizeof(int) * (size_t)*n);
    for (int i = 0; i < *n; i++)
        copy[i] = one[i] > other[i] ? one[i] : other[i];
    memcpy(other, copy, sizeof(int) * (size_t)*n);
    free(copy);
}

struct receiving {
    MPI_Request request;
    unsigned char *data;
    int id, room, persistent, done;
};

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, "traffic");
    model_begin(argc, argv);
    struct random r = {random_seed * 104729};
    int world = check_size;
    if (check_rank == 0)
        printf("seed %llu\n", (unsigned long long)random_seed);
    if (world > 64)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_dup(check_comm, &comms[0]);
    MPI_Comm_split(check_comm, 0, -check_rank, &comms[1]);
    MPI_Comm_split(check_comm, 0, (check_rank * 7 + 3) % world, &comms[2]);
    for (int c = 0; c < COMMS; c++) {
        MPI_Comm_rank(comms[c], &mine[c]);
        MPI_Allgather(&check_rank, 1, MPI_INT, place[c], 1, MPI_INT, comms[c]);
    }
    MPI_Datatype row;
    MPI_Type_vector(1, 2, 2, MPI_BYTE, &row);
    MPI_Type_create_resized(row, 0, 5, &spaced);
    MPI_Type_free(&row);
    MPI_Type_commit(&spaced);
    MPI_Op heavy;
    MPI_Op_create(heaviest, 1, &heavy);
    int room = 1 << 24;
    void *attached = malloc((size_t)room);
    MPI_Buffer_attach(attached, room);
    long long received = 0;

    for (int round = 0; round < random_rounds; round++) {
        static struct message plan[MOST];
        int n = 1 + (int)below(&r, MOST);
        /* How each rank receives on each communicator: bit 0 any source, bit 1 any tag. */
        int open[COMMS][64];
        for (int c = 0; c < COMMS; c++)
            for (int k = 0; k < world; k++)
                open[c][k] = (int)below(&r, 4);
        for (int i = 0; i < n; i++) {
            struct message *m = &plan[i];
            m->from = (int)below(&r, (uint32_t)world);
            m->to = (int)below(&r, (uint32_t)world);
            m->comm = (int)below(&r, COMMS);
            m->tag = (int)below(&r, TAGS) * 11111;
            uint32_t size = below(&r, 8);
            m->bytes = size < 2 ? (int)below(&r, 8) * 2 : size < 6 ? (int)below(&r, 3000) * 2
                                                                   : (int)below(&r, 60000) * 2;
            m->mode = (int)below(&r, 8);
            m->typed = below(&r, 3) == 0;
            m->way = (int)below(&r, 6);
            if (open[m->comm][m->to] && m->bytes < 4)
                m->bytes = 4;
        }
        int order = (int)below(&r, 2); /* receives first or sends first */

        MPI_Request *sends = malloc(sizeof *sends * (size_t)n);
        unsigned char **buffers = calloc((size_t)n, sizeof *buffers);
        struct receiving *gets = calloc((size_t)n, sizeof *gets);
        int sent = 0, got = 0;
        MPI_Request never = MPI_REQUEST_NULL;
        char nothing[8];
        /* A reduction is active meanwhile, whenever its messages come. */
        int weights[2] = {round + check_rank, -check_rank}, heaviest_of_all[2];
        MPI_Request reduction;
        MPI_Iallreduce(weights, heaviest_of_all, 2, MPI_INT, heavy, comms[1], &reduction);
        if (round % 3 == 0) {
            int from = round % 2 ? MPI_ANY_SOURCE : round / 6 % world;
            MPI_Irecv(nothing, 8, MPI_BYTE, from, 7777777, comms[0], &never);
            MPI_Request to_nobody;
            MPI_Isend(nothing, 8, MPI_BYTE, MPI_PROC_NULL, 1, comms[0], &to_nobody);
            MPI_Wait(&to_nobody, MPI_STATUS_IGNORE);
        }
        for (int half = 0; half < 2; half++) {
            if ((half ^ order) == 0) {
                for (int i = 0; i < n; i++) {
                    struct message *m = &plan[i];
                    if (m->from != check_rank)
                        continue;
                    unsigned char *narrow = malloc((size_t)m->bytes + 1), *data = narrow;
                    words(narrow, m, round, i);
                    int count = m->bytes, to = rank_in(m->comm, m->to);
                    MPI_Datatype type = MPI_BYTE;
                    if (m->typed) {
                        data = calloc((size_t)m->bytes / 2 * 5 + 5, 1);
                        spread(data, narrow, m->bytes);
                        free(narrow);
                        count = m->bytes / 2;
                        type = spaced;
                    }
                    MPI_Comm on = comms[m->comm];
                    switch (m->mode) {
                    case 0: MPI_Issend(data, count, type, to, m->tag, on, &sends[sent]); break;
                    case 1: MPI_Ibsend(data, count, type, to, m->tag, on, &sends[sent]); break;
                    case 2:
                        MPI_Bsend(data, count, type, to, m->tag, on);
                        sends[sent] = MPI_REQUEST_NULL;
                        memset(data, 0, m->typed ? (size_t)count * 5 : (size_t)count);
                        break;
                    case 3:
                        MPI_Send_init(data, count, type, to, m->tag, on, &sends[sent]);
                        MPI_Start(&sends[sent]);
                        break;
                    case 4: MPI_Isend_c(data, count, type, to, m->tag, on, &sends[sent]); break;
                    case 5:
                        MPI_Ssend_init(data, count, type, to, m->tag, on, &sends[sent]);
                        MPI_Start(&sends[sent]);
                        break;
                    default: MPI_Isend(data, count, type, to, m->tag, on, &sends[sent]);
                    }
                    buffers[sent++] = data;
                }
            } else {
                for (int i = 0; i < n; i++) {
                    struct message *m = &plan[i];
                    if (m->to != check_rank)
                        continue;
                    struct receiving *g = &gets[got++];
                    int how = open[m->comm][check_rank];
                    int from = how & 1 ? MPI_ANY_SOURCE : rank_in(m->comm, m->from);
                    int tag = how & 2 ? MPI_ANY_TAG : m->tag;
                    g->id = i;
                    g->room = how ? 120000 : m->bytes;
                    g->data = malloc((size_t)g->room + 1);
                    MPI_Comm on = comms[m->comm];
                    MPI_Status status;
                    MPI_Message message;
                    int flag = 0;
                    /* A probe can wait only for messages that are sent by then. */
                    switch (order == 0 ? m->way : 4 + m->way % 2) {
                    case 0:
                        MPI_Probe(from, tag, on, &status);
                        MPI_Get_count(&status, MPI_BYTE, &flag);
                        CHECK(flag <= g->room, "round %d: probed %d bytes, room %d", round, flag, g->room);
                        MPI_Irecv(g->data, flag, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, on, &g->request);
                        break;
                    case 1:
                        MPI_Mprobe(from, tag, on, &message, &status);
                        MPI_Imrecv(g->data, g->room, MPI_BYTE, &message, &g->request);
                        break;
                    case 2:
                        while (!flag)
                            MPI_Improbe(from, tag, on, &flag, &message, &status);
                        MPI_Mrecv_c(g->data, g->room, MPI_BYTE, &message, &status);
                        g->request = MPI_REQUEST_NULL;
                        g->done = 1;
                        break;
                    case 3:
                        while (!flag)
                            MPI_Iprobe(from, tag, on, &flag, &status);
                        MPI_Irecv_c(g->data, g->room, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, on,
                                    &g->request);
                        break;
                    case 4: MPI_Irecv(g->data, g->room, MPI_BYTE, from, tag, on, &g->request); break;
                    default:
                        MPI_Recv_init(g->data, g->room, MPI_BYTE, from, tag, on, &g->request);
                        MPI_Start(&g->request);
                        g->persistent = 1;
                    }
                    if (g->done) {
                        /* Keeps the content of the status that a later wait would return. */
                        int bytes;
                        MPI_Get_count(&status, MPI_BYTE, &bytes);
                        g->room = bytes;
                        g->id = i | (rank_in(m->comm, place[m->comm][status.MPI_SOURCE]) << 8);
                        g->done = 1 + status.MPI_TAG;
                    }
                }
            }
        }
        /* Waits in a random order. */
        int *last = malloc(sizeof(int) * (size_t)(COMMS * 64 * (TAGS + 1)));
        for (int i = 0; i < COMMS * 64 * (TAGS + 1); i++)
            last[i] = -1;
        MPI_Status *statuses = malloc(sizeof *statuses * (size_t)(got + 1));
        MPI_Request *waits = malloc(sizeof *waits * (size_t)(got + 1));
        for (int k = 0; k < got; k++)
            waits[k] = gets[k].request;
        int wait_with = (int)below(&r, 4);
        if (wait_with == 0) {
            MPI_Waitall(got, waits, statuses);
        } else if (wait_with == 1) {
            for (;;) {
                int k;
                MPI_Status status;
                MPI_Waitany(got, waits, &k, &status);
                if (k == MPI_UNDEFINED)
                    break;
                statuses[k] = status;
            }
        } else if (wait_with == 2) {
            int out, *which = malloc(sizeof(int) * (size_t)(got + 1));
            MPI_Status *some = malloc(sizeof *some * (size_t)(got + 1));
            for (;;) {
                MPI_Waitsome(got, waits, &out, which, some);
                if (out == MPI_UNDEFINED)
                    break;
                for (int k = 0; k < out; k++)
                    statuses[which[k]] = some[k];
            }
            free(which), free(some);
        } else {
            for (int k = got - 1; k >= 0; k--)
                MPI_Wait(&waits[k], &statuses[k]);
        }
        for (int k = 0; k < got; k++) {
            struct receiving *g = &gets[k];
            int posted = g->id & 255, bytes, source, tag;
            struct message *m = &plan[posted];
            if (g->done) {
                bytes = g->room;
                source = g->id >> 8;
                tag = g->done - 1;
            } else {
                MPI_Get_count(&statuses[k], MPI_BYTE, &bytes);
                source = statuses[k].MPI_SOURCE;
                tag = statuses[k].MPI_TAG;
            }
            int how = open[m->comm][check_rank], id = posted;
            if (how) {
                memcpy(&id, g->data, 4);
                CHECK(id >= 0 && id < n, "round %d: message %d does not exist", round, id);
                if (id < 0 || id >= n)
                    continue;
                m = &plan[id];
            }
            CHECK(m->to == check_rank && m->comm == plan[posted].comm, "round %d: message %d is not for me",
                  round, id);
            CHECK(bytes == m->bytes, "round %d: message %d has %d bytes, must have %d", round, id, bytes,
                  m->bytes);
            CHECK(place[m->comm][source] == m->from && tag == m->tag, "round %d: message %d from %d, tag %d",
                  round, id, source, tag);
            unsigned char *want = malloc((size_t)m->bytes + 1);
            words(want, m, round, id);
            CHECK(bytes != m->bytes || memcmp(want, g->data, (size_t)bytes) == 0,
                  "round %d: message %d of %d bytes is wrong", round, id, bytes);
            free(want);
            /* In the order of sending, among the messages that match the receive. */
            int *before = &last[(m->comm * 64 + m->from) * (TAGS + 1) + (how & 2 ? TAGS : m->tag / 11111)];
            CHECK(id > *before, "round %d: message %d came after %d", round, id, *before);
            *before = id;
            received += bytes;
            note(how & 1 ? m->bytes : id);
            if (g->persistent)
                MPI_Request_free(&gets[k].request);
            free(g->data);
        }
        if (never != MPI_REQUEST_NULL) {
            MPI_Status status;
            int cancelled;
            MPI_Cancel(&never);
            MPI_Wait(&never, &status);
            MPI_Test_cancelled(&status, &cancelled);
            EQUAL(cancelled, 1);
        }
        int k = 0;
        for (int i = 0; i < n; i++) {
            if (plan[i].from != check_rank)
                continue;
            int persistent = plan[i].mode == 3 || plan[i].mode == 5;
            MPI_Wait(&sends[k], MPI_STATUS_IGNORE);
            if (persistent)
                MPI_Request_free(&sends[k]);
            free(buffers[k++]);
        }
        free(sends), free(buffers), free(gets), free(last), free(statuses), free(waits);
        MPI_Wait(&reduction, MPI_STATUS_IGNORE);
        EQUAL(heaviest_of_all[0], round + world - 1);
        EQUAL(heaviest_of_all[1], 0);
        MPI_Barrier(check_comm);
        if (random_pause_us)
            usleep((useconds_t)random_pause_us);
    }
    MPI_Buffer_detach(&attached, &room);
    free(attached);
    MPI_Type_free(&spaced);
    MPI_Op_free(&heavy);
    for (int c = 0; c < COMMS; c++)
        MPI_Comm_free(&comms[c]);
    MPI_Allreduce(MPI_IN_PLACE, &received, 1, MPI_LONG_LONG, MPI_SUM, check_comm);
    if (check_rank == 0)
        printf("%lld bytes\n", received);
    return check_end();
}
