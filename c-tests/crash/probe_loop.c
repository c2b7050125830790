/* All ranks write to all ranks, and look for messages with Iprobe(ANY_SOURCE, ANY_TAG) between
 * sends. A message carries the order in which its sender took messages before, and the number of
 * probes that found nothing. */
#include "order.h"

enum { PACE_US = 1000, MOST = 30000 };

struct head {
    int from, sequence, bytes, negative;
    uint64_t view;
};

static unsigned char out[MOST + sizeof(struct head)], in[MOST + sizeof(struct head)];
static int negative;
static int *next;

/* One probe, which receives the message if there is one. Returns whether there was one. */
static int take(int blocking)
{
    MPI_Status s;
    int flag = 1, bytes = 0;
    if (blocking)
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
    else
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &s);
    if (!flag) {
        negative++;
        return 0;
    }
    MPI_Get_count(&s, MPI_BYTE, &bytes);
    CHECK(bytes >= (int)sizeof(struct head) && bytes <= (int)sizeof in, "%d bytes", bytes);
    int source = s.MPI_SOURCE, tag = s.MPI_TAG;
    MPI_Recv(in, bytes, MPI_BYTE, source, tag, MPI_COMM_WORLD, &s);
    struct head h;
    memcpy(&h, in, sizeof h);
    EQUAL(h.from, source);
    EQUAL(h.bytes, bytes);
    EQUAL(h.sequence % 1000, tag);
    EQUAL(h.sequence, next[source]++);
    CHECK(wrong_at(in + sizeof h, (size_t)bytes - sizeof h, (uint32_t)source,
                   (uint32_t)h.sequence) < 0, "message %d of rank %d is damaged", h.sequence, source);
    got(source, in, (size_t)bytes);
    return 1;
}

int main(int argc, char **argv)
{
    order_begin(&argc, &argv, "probe_loop");
    next = calloc((size_t)check_size, sizeof *next);
    int *mine = calloc((size_t)check_size, sizeof *mine);
    struct random r = {order_seed * 7919 + (uint64_t)check_rank};
    int count = rounds(PACE_US), received = 0;
    /* each rank sends one message a round to its k-th neighbour, so all ranks get the same
     * number */
    for (int k = 0; k < count && check_size > 1; k++) {
        int to = (check_rank + 1 + k % (check_size - 1)) % check_size;
        struct head h = {check_rank, mine[to]++, 0, negative, order_view};
        int extra = below(&r, 60) == 0 ? (int)below(&r, MOST) : (int)below(&r, 100);
        h.bytes = (int)sizeof h + extra;
        memcpy(out, &h, sizeof h);
        fill(out + sizeof h, (size_t)extra, (uint32_t)check_rank, (uint32_t)h.sequence);
        MPI_Request q;
        MPI_Isend(out, h.bytes, MPI_BYTE, to, h.sequence % 1000, MPI_COMM_WORLD, &q);
        sent(to, out, (size_t)h.bytes);
        int done = 0, tries = 0;
        while (!done) {
            received += take(0);
            MPI_Test(&q, &done, MPI_STATUS_IGNORE);
            saw(done);
            if (!done && ++tries % 8 == 0)
                pause_us(50);
        }
        for (int i = 0; i < 3; i++)
            received += take(0);
        saw(negative);
        pause_us(PACE_US);
    }
    while (received < (check_size > 1 ? count : 0))
        received += take(1);
    free(next);
    free(mine);
    return order_end();
}
