/* Synchronous sends to other ranks that are cancelled, in a race with their receives. Each message is
 * received, or its send ends cancelled, and never both, also where ranks return to an image in
 * between. Some messages are announced first (longer than a channel takes at once).
 *
 * For protocols that do not replay: with the others no send to another rank is cancelled. */
#include "order.h"

enum { PACE_US = 12000, EACH = 4, SMALL = 8, LARGE = 1 << 16, END = -1 };

/* What came from one rank in a round. */
struct heard {
    unsigned received, cancelled;
    int ended;
};

static long all_cancelled, all_received;

/* Receives one message of this round; `matched`: by a matched probe, after which no cancel succeeds. */
static void take(int round, struct heard *heard, int matched)
{
    static int in[LARGE];
    MPI_Status s;
    if (matched) {
        MPI_Message message;
        MPI_Mprobe(MPI_ANY_SOURCE, round % 1000, MPI_COMM_WORLD, &message, &s);
        pause_us(300);
        MPI_Mrecv(in, LARGE, MPI_INT, &message, &s);
    } else {
        MPI_Recv(in, LARGE, MPI_INT, MPI_ANY_SOURCE, round % 1000, MPI_COMM_WORLD, &s);
    }
    struct heard *h = &heard[s.MPI_SOURCE];
    int count;
    MPI_Get_count(&s, MPI_INT, &count);
    EQUAL(in[1], round);
    if (in[0] == END) {
        h->ended = 1;
        h->cancelled = (unsigned)in[2];
        return;
    }
    CHECK((h->received >> in[0] & 1) == 0, "message %d of rank %d came twice", in[0], s.MPI_SOURCE);
    CHECK(in[count - 1] == round + in[0], "the payload of message %d is wrong", in[0]);
    h->received |= 1u << in[0];
    all_received++;
}

static void round_of(int round, struct random *r, int *buffers)
{
    int n = check_size;
    struct heard *heard = calloc((size_t)n, sizeof *heard);
    MPI_Request *sends = calloc((size_t)(n * EACH), sizeof *sends);
    for (int k = 0; k < EACH; k++)
        for (int i = 1; i < n; i++) {
            int to = (check_rank + i) % n, at = to * EACH + k;
            int *data = buffers + (size_t)at * LARGE, count = below(r, 3) ? SMALL : LARGE;
            data[0] = k;
            data[1] = round;
            data[count - 1] = round + k;
            MPI_Issend(data, count, MPI_INT, to, round % 1000, MPI_COMM_WORLD, &sends[at]);
        }
    for (unsigned i = below(r, 3); i > 0; i--)
        take(round, heard, (int)below(r, 2));
    for (int i = 1; i < n; i++) {
        int to = (check_rank + i) % n, end[3] = {END, round, 0};
        for (int k = EACH - 1; k >= 0; k--)
            MPI_Cancel(&sends[to * EACH + k]);
        for (int k = 0; k < EACH; k++) {
            MPI_Status s;
            int cancelled;
            MPI_Wait(&sends[to * EACH + k], &s);
            MPI_Test_cancelled(&s, &cancelled);
            end[2] |= cancelled << k;
            all_cancelled += cancelled;
        }
        MPI_Send(end, 3, MPI_INT, to, round % 1000, MPI_COMM_WORLD);
    }
    for (int from = 0; from < n; from++)
        while (from != check_rank && !heard[from].ended)
            take(round, heard, (int)below(r, 2));
    for (int from = 0; from < n; from++)
        if (from != check_rank)
            CHECK((heard[from].received ^ heard[from].cancelled) == (1u << EACH) - 1,
                  "of rank %d: received %x, cancelled %x in round %d", from, heard[from].received,
                  heard[from].cancelled, round);
    free(heard);
    free(sends);
}

int main(int argc, char **argv)
{
    order_begin(&argc, &argv, "cancelled");
    int count = rounds(PACE_US);
    struct random r = {order_seed * 31 + (uint64_t)check_rank + 1};
    int *buffers = calloc((size_t)check_size * EACH * LARGE, sizeof *buffers);
    for (int round = 0; round < count; round++) {
        round_of(round, &r, buffers);
        pause_us(PACE_US);
    }
    free(buffers);
    long mine[2] = {all_cancelled, all_received}, all[2];
    MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK(check_size < 2 || (all[0] > 0 && all[1] > 0), "%ld cancelled, %ld received", all[0], all[1]);
    return order_end();
}
