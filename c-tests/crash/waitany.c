/* Several receives are open at once (one for each partner and one for any rank). Waitany and
 * Waitsome decide which is served next. The served receives and their order go into every
 * answer. */
#include "order.h"

enum { PACE_US = 800, TAG_DIRECT = 1, TAG_ANY = 2, TAG_ANSWER = 3 };

struct message {
    int from, sequence, kind, pad;
    uint64_t view;
};

/* Rank 0 serves all workers. Every worker has two messages in flight: one for the receive that
 * names the worker, and one for the receive that names no rank. */
static void middle(int count)
{
    int n = check_size, workers = n - 1, open = 2 * workers;
    MPI_Request *q = malloc(sizeof *q * (size_t)(open + 1));
    MPI_Status *st = malloc(sizeof *st * (size_t)(open + 1));
    struct message *in = calloc((size_t)open + 1, sizeof *in);
    int *list = malloc(sizeof *list * (size_t)(open + 1));
    int left = 2 * workers * count, *posted = calloc((size_t)open + 1, sizeof *posted);
    int anys = 0;
    for (int w = 0; w < workers; w++) {
        MPI_Irecv(&in[w], sizeof in[w], MPI_BYTE, w + 1, TAG_DIRECT, MPI_COMM_WORLD, &q[w]);
        MPI_Irecv(&in[workers + w], sizeof in[w], MPI_BYTE, MPI_ANY_SOURCE, TAG_ANY, MPI_COMM_WORLD,
                  &q[workers + w]);
        posted[w]++;
        anys++;
    }
    for (int turn = 0; left > 0; turn++) {
        int k = 0;
        if (turn % 3 == 0) {
            MPI_Waitsome(open, q, &k, list, st);
            saw(1000 + k);
        } else {
            MPI_Waitany(open, q, &list[0], &st[0]);
            k = 1;
        }
        CHECK(k > 0, "nothing is open and %d messages are missing", left);
        if (k <= 0)
            break;
        for (int i = 0; i < k; i++, left--) {
            int at = list[i];
            struct message m = in[at];
            saw(at);
            EQUAL(m.from, st[i].MPI_SOURCE);
            EQUAL(m.kind, st[i].MPI_TAG);
            got_on(m.kind, m.from, &m, sizeof m);
            struct message a = {0, m.sequence, TAG_ANSWER + m.kind, 0, order_view};
            MPI_Send(&a, sizeof a, MPI_BYTE, m.from, a.kind, MPI_COMM_WORLD);
            sent_on(m.kind, m.from, &a, sizeof a);
            if (at < workers && posted[at] < count) {
                posted[at]++;
                MPI_Irecv(&in[at], sizeof in[at], MPI_BYTE, at + 1, TAG_DIRECT, MPI_COMM_WORLD,
                          &q[at]);
            } else if (at >= workers && anys < workers * count) {
                anys++;
                MPI_Irecv(&in[at], sizeof in[at], MPI_BYTE, MPI_ANY_SOURCE, TAG_ANY, MPI_COMM_WORLD,
                          &q[at]);
            }
        }
    }
    free(q);
    free(st);
    free(in);
    free(list);
    free(posted);
}

static void partner(int count)
{
    for (int k = 0; k < count; k++) {
        struct message a[2], out[2];
        MPI_Request q[4];
        for (int i = 0; i < 2; i++) {
            out[i] = (struct message){check_rank, k, i ? TAG_ANY : TAG_DIRECT, 0, order_view};
            MPI_Irecv(&a[i], sizeof a[i], MPI_BYTE, 0, TAG_ANSWER + out[i].kind, MPI_COMM_WORLD,
                      &q[i]);
        }
        for (int i = 0; i < 2; i++) {
            int j = (k + i + check_rank) % 2;
            MPI_Isend(&out[j], sizeof out[j], MPI_BYTE, 0, out[j].kind, MPI_COMM_WORLD, &q[2 + j]);
        }
        int index;
        for (int done = 0; done < 4; done++) {
            MPI_Waitany(4, q, &index, MPI_STATUS_IGNORE);
            saw(index);
            if (index < 2) {
                EQUAL(a[index].sequence, k);
                got_on(a[index].kind - TAG_ANSWER, 0, &a[index], sizeof a[index]);
            } else {
                sent_on(out[index - 2].kind, 0, &out[index - 2], sizeof out[0]);
            }
        }
        pause_us(PACE_US);
    }
}

int main(int argc, char **argv)
{
    order_begin(&argc, &argv, "waitany");
    int count = rounds(PACE_US);
    if (check_rank == 0)
        middle(count);
    else
        partner(count);
    return order_end();
}
