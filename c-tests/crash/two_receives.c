/* A receive from any rank and a receive from one partner are open at the same time, in either
 * order of posting, and the partner sends twice. Which message goes to which receive depends on
 * the order of arrival. In this classical case, a replay that delays wildcard receives must not
 * let the named receive take the wrong message. */
#include "order.h"

enum { PACE_US = 1000, TAG = 4, ANSWER = 5 };

struct message {
    int from, sequence, which, pad;
    uint64_t view;
};

/* Ranks 1 .. n-1 send. Rank 0 has Irecv(ANY) and Irecv(b); b changes with the round. */
static void receiver(int count)
{
    int n = check_size, *next = calloc((size_t)n, sizeof *next);
    for (int k = 0; k < count; k++) {
        int b = 1 + k % (n - 1), need = n;   /* each rank once, b twice */
        struct message in[64];
        MPI_Request q[64];
        MPI_Status s;
        int taken[64] = {0};
        int first_any = k % 2, any = 0, named = 1;
        if (!first_any) {
            any = 1;
            named = 0;
        }
        for (int i = 0; i < need; i++) {
            int source = i == named ? b : MPI_ANY_SOURCE;
            MPI_Irecv(&in[i], sizeof in[i], MPI_BYTE, source, TAG, MPI_COMM_WORLD, &q[i]);
        }
        (void)any;
        for (int i = 0; i < need; i++) {
            int at;
            if (k % 3 == 0) {
                at = i;
                MPI_Wait(&q[at], &s);
            } else if (k % 3 == 1) {
                MPI_Waitany(need, q, &at, &s);
            } else {
                at = need - 1 - i;
                MPI_Wait(&q[at], &s);
            }
            saw(at);
            struct message m = in[at];
            EQUAL(m.from, s.MPI_SOURCE);
            CHECK(at != named || m.from == b, "a receive for %d took a message of %d", b, m.from);
            EQUAL(m.sequence, k);
            taken[m.from]++;
            saw(m.from * 64 + at);
        }
        for (int w = 1; w < n; w++) {
            EQUAL(taken[w], w == b ? 2 : 1);
            /* the number of the receive that each message went to is sent back to its sender */
            struct message a = {0, k, 0, 0, 0};
            int copies = 0;
            for (int i = 0; i < need; i++)
                if (in[i].from == w) {
                    a.which = a.which * 64 + i + 1;
                    /* two messages of one sender are matched in the order of sending */
                    EQUAL(in[i].which, copies);
                    copies++;
                    got(w, &in[i], sizeof in[i]);
                }
            a.view = order_view;
            MPI_Send(&a, sizeof a, MPI_BYTE, w, ANSWER, MPI_COMM_WORLD);
            sent(w, &a, sizeof a);
        }
    }
    free(next);
}

static void sender(int count)
{
    int n = check_size;
    struct random r = {order_seed * 31 + (uint64_t)check_rank};
    for (int k = 0; k < count; k++) {
        int times = check_rank == 1 + k % (n - 1) ? 2 : 1;
        for (int i = 0; i < times; i++) {
            struct message m = {check_rank, k, i, 0, order_view};
            if (below(&r, 4) == 0)
                pause_us((long)below(&r, 400));
            MPI_Send(&m, sizeof m, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
            sent(0, &m, sizeof m);
        }
        struct message a;
        MPI_Recv(&a, sizeof a, MPI_BYTE, 0, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        EQUAL(a.sequence, k);
        got(0, &a, sizeof a);
        pause_us(PACE_US);
    }
}

int main(int argc, char **argv)
{
    order_begin(&argc, &argv, "two_receives");
    int count = rounds(PACE_US);
    CHECK(check_size >= 2 && check_size <= 32, "needs 2 to 32 ranks");
    if (check_size >= 2) {
        if (check_rank == 0)
            receiver(count);
        else
            sender(count);
    }
    return order_end();
}
