/* A late receiver: many messages are sent to a rank while it is outside of MPI. Messages that
 * the rank has not received must be stored somewhere (under channel-memory on the memory's
 * disk), and must come in order, whichever rank dies in between. */
#include "order.h"

enum { PAUSE_US = 400000, MESSAGES = 12, BYTES = 200000, TAG = 3, ANSWER = 4 };

static void letter(unsigned char *b, int from, int round, int i)
{
    int head[4] = {from, round, i, from * 31 + round * 7 + i};
    memset(b, head[3] & 0xff, BYTES);
    memcpy(b, head, sizeof head);
}

static void receiver(int count)
{
    int n = check_size;
    unsigned char *b = malloc(BYTES), *expected = malloc(BYTES);
    int *next = calloc((size_t)n, sizeof *next);
    for (int k = 0; k < count; k++) {
        pause_us(PAUSE_US);
        memset(next, 0, (size_t)n * sizeof *next);
        for (int i = 0; i < (n - 1) * MESSAGES; i++) {
            MPI_Status s;
            MPI_Recv(b, BYTES, MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &s);
            int w = s.MPI_SOURCE;
            letter(expected, w, k, next[w]++);
            CHECK(!memcmp(b, expected, BYTES), "message %d of rank %d in round %d is wrong",
                  next[w] - 1, w, k);
            got(w, b, 16);
        }
        for (int w = 1; w < n; w++) {
            uint64_t view = order_view;
            MPI_Send(&view, sizeof view, MPI_BYTE, w, ANSWER, MPI_COMM_WORLD);
            sent(w, &view, sizeof view);
        }
    }
    free(next);
    free(expected);
    free(b);
}

static void sender(int count)
{
    unsigned char *b = malloc(BYTES);
    for (int k = 0; k < count; k++) {
        for (int i = 0; i < MESSAGES; i++) {
            letter(b, check_rank, k, i);
            /* The last message waits for its match. */
            if (i == MESSAGES - 1)
                MPI_Ssend(b, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
            else
                MPI_Send(b, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
            sent(0, b, 16);
        }
        uint64_t view;
        MPI_Recv(&view, sizeof view, MPI_BYTE, 0, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        got(0, &view, sizeof view);
    }
    free(b);
}

int main(int argc, char **argv)
{
    order_begin(&argc, &argv, "late");
    int count = rounds(PAUSE_US);
    CHECK(check_size >= 2, "needs 2 ranks");
    if (check_size >= 2) {
        if (check_rank == 0)
            receiver(count);
        else
            sender(count);
    }
    return order_end();
}
