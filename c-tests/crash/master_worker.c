/* A master takes work from any rank (ANY_SOURCE, ANY_TAG) and answers with the place in its
 * order and the hash chain of all work before. The workers keep the answers. At the end, the
 * master's order must agree with all acknowledgements. */
#include "order.h"

enum { PACE_US = 700, BIG = 60000 };

struct request {
    int worker, sequence, tag, extra;   /* extra bytes follow */
};
struct answer {
    int index, pad;
    uint64_t chain;
};

static unsigned char body[BIG + sizeof(struct request)];

static void master(int count)
{
    int workers = check_size - 1, total = workers * count;
    struct answer *order = calloc((size_t)total + 1, sizeof *order);
    struct request *log = calloc((size_t)total + 1, sizeof *log);
    int *next = calloc((size_t)check_size, sizeof *next);
    uint64_t h = 1;
    for (int i = 0; i < total; i++) {
        MPI_Status s;
        int bytes = 0;
        MPI_Recv(body, sizeof body, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
        MPI_Get_count(&s, MPI_BYTE, &bytes);
        struct request r;
        memcpy(&r, body, sizeof r);
        EQUAL(bytes, (int)sizeof r + r.extra);
        EQUAL(r.worker, s.MPI_SOURCE);
        EQUAL(r.tag, s.MPI_TAG);
        EQUAL(r.sequence, next[r.worker]++);
        CHECK(wrong_at(body + sizeof r, (size_t)r.extra, (uint32_t)r.worker, (uint32_t)r.sequence) < 0,
              "request %d of worker %d is damaged", r.sequence, r.worker);
        h = chain(h, &r, sizeof r);
        got(s.MPI_SOURCE, body, (size_t)bytes);
        log[i] = r;
        order[i].index = i;
        order[i].chain = h;
        MPI_Send(&order[i], sizeof order[i], MPI_BYTE, r.worker, r.tag % 7, MPI_COMM_WORLD);
        sent(r.worker, &order[i], sizeof order[i]);
    }
    /* compares the answers that the workers got with the master's order now */
    struct answer *acked = calloc((size_t)count + 1, sizeof *acked);
    for (int w = 1; w <= workers; w++) {
        MPI_Recv(acked, (int)sizeof *acked * count, MPI_BYTE, w, 100, check_comm, MPI_STATUS_IGNORE);
        for (int k = 0; k < count; k++) {
            int at = acked[k].index;
            CHECK(at >= 0 && at < total, "worker %d was given the place %d", w, at);
            if (at < 0 || at >= total)
                continue;
            CHECK(log[at].worker == w && log[at].sequence == k,
                  "place %d was promised to request %d of worker %d, and now holds request %d of %d",
                  at, k, w, log[at].sequence, log[at].worker);
            CHECK(order[at].chain == acked[k].chain,
                  "the order before place %d is not the one that worker %d received", at, w);
        }
    }
    free(acked);
    free(order);
    free(log);
    free(next);
}

static void worker(int count)
{
    struct random r = {order_seed * 1000 + (uint64_t)check_rank};
    struct answer *acked = calloc((size_t)count + 1, sizeof *acked);
    for (int k = 0; k < count; k++) {
        struct request q = {check_rank, k, (int)below(&r, 1000), (int)below(&r, 64)};
        if (below(&r, 100) == 0)
            q.extra = (int)below(&r, BIG);
        memcpy(body, &q, sizeof q);
        fill(body + sizeof q, (size_t)q.extra, (uint32_t)check_rank, (uint32_t)k);
        MPI_Send(body, (int)sizeof q + q.extra, MPI_BYTE, 0, q.tag, MPI_COMM_WORLD);
        sent(0, body, sizeof q + (size_t)q.extra);
        MPI_Recv(&acked[k], sizeof acked[k], MPI_BYTE, 0, q.tag % 7, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        got(0, &acked[k], sizeof acked[k]);
        CHECK(k == 0 || acked[k].index > acked[k - 1].index, "the master's order ran backwards");
        pause_us(PACE_US);
    }
    MPI_Send(acked, (int)sizeof *acked * count, MPI_BYTE, 0, 100, check_comm);
    free(acked);
}

int main(int argc, char **argv)
{
    order_begin(&argc, &argv, "master_worker");
    int count = rounds(PACE_US);
    if (check_rank == 0)
        master(count);
    else
        worker(count);
    return order_end();
}
