/* Non-blocking collectives overlap with each other and with wildcard receives. Waitany,
 * Waitsome, Testsome and Testall decide which is served next. The served requests and their
 * order go into every later message and contribution. From time to time a communicator is
 * duplicated meanwhile. */
#include "order.h"

enum { PACE_US = 1200, TAG = 4, LONG = 3000, ALLTOALL = 0, SUM, BARRIER, RECV, SEND = RECV + 2, LAST = SEND + 2 };

struct message {
    int from, round;
    uint64_t view;
};

static struct message *out, *in, outgoing[2], incoming[2];
static int ours[LONG], sum[LONG];

static void served(int what, int round, const MPI_Status *st)
{
    int n = check_size;
    saw(what);
    if (what == ALLTOALL) {
        for (int s = 0; s < n; s++) {
            EQUAL(in[s].from, s);
            EQUAL(in[s].round, round);
            got_on(0, s, &in[s], sizeof in[s]);
        }
    } else if (what == SUM) {
        int size = round % 5 ? 3 : LONG;
        for (int i = 0; i < size; i++)
            CHECK(sum[i] == n * (n - 1) / 2 + n * (round + i), "round %d: Iallreduce", round);
    } else if (what == RECV || what == RECV + 1) {
        struct message m = incoming[what - RECV];
        EQUAL(m.from, st->MPI_SOURCE);
        got_on(1, m.from, &m, sizeof m);
    }
}

static void serve(MPI_Request *q, int round)
{
    MPI_Status st[LAST];
    int list[LAST], k, flag = 0, left = LAST;
    while (left > 0) {
        switch (round % 4) {
        case 0:
            MPI_Waitany(LAST, q, &list[0], &st[0]);
            k = 1;
            break;
        case 1:
            MPI_Waitsome(LAST, q, &k, list, st);
            break;
        case 2:
            MPI_Testsome(LAST, q, &k, list, st);
            saw(100 + k);
            break;
        default:
            MPI_Testall(LAST, q, &flag, st);
            saw(200 + flag);
            k = flag ? LAST : 0;
            for (int i = 0; i < k; i++)
                list[i] = i;
        }
        CHECK(k >= 0, "round %d: nothing is open, %d requests are missing", round, left);
        if (k < 0)
            return;
        for (int i = 0; i < k; i++, left--)
            served(list[i], round, &st[i]);
    }
}

int main(int argc, char **argv)
{
    order_begin(&argc, &argv, "overlap");
    int n = check_size, me = check_rank, count = rounds(PACE_US);
    out = calloc((size_t)n, sizeof *out);
    in = calloc((size_t)n, sizeof *in);
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    for (int k = 0; k < count; k++) {
        MPI_Request q[LAST], duplicate = MPI_REQUEST_NULL;
        MPI_Comm made = MPI_COMM_NULL;
        int size = k % 5 ? 3 : LONG;
        for (int i = 0; i < size; i++)
            ours[i] = me + k + i;
        for (int d = 0; d < n; d++) {
            out[d] = (struct message){me, k, order_view};
            sent_on(0, d, &out[d], sizeof out[d]);
        }
        MPI_Ialltoall(out, sizeof *out, MPI_BYTE, in, sizeof *in, MPI_BYTE, MPI_COMM_WORLD, &q[ALLTOALL]);
        for (int i = 0; i < 2; i++) {
            int to = (me + 1 + i) % n;
            MPI_Irecv(&incoming[i], sizeof incoming[i], MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD,
                      &q[RECV + i]);
            outgoing[i] = (struct message){me, k, order_view};
            MPI_Isend(&outgoing[i], sizeof outgoing[i], MPI_BYTE, to, TAG, MPI_COMM_WORLD, &q[SEND + i]);
            sent_on(1, to, &outgoing[i], sizeof outgoing[i]);
        }
        MPI_Iallreduce(ours, sum, size, MPI_INT, MPI_SUM, other, &q[SUM]);
        MPI_Ibarrier(MPI_COMM_WORLD, &q[BARRIER]);
        if (k % 7 == 0)
            MPI_Comm_idup(other, &made, &duplicate);
        serve(q, k);
        if (made != MPI_COMM_NULL) {
            int all = 0;
            MPI_Wait(&duplicate, MPI_STATUS_IGNORE);
            MPI_Allreduce(&me, &all, 1, MPI_INT, MPI_SUM, made);
            EQUAL(all, n * (n - 1) / 2);
            MPI_Comm_free(&made);
        }
        pause_us(PACE_US);
    }
    MPI_Comm_free(&other);
    free(out);
    free(in);
    return order_end();
}
