/* Loops of Test, Testany, Testsome and Testall. Every message carries the number of tests that
 * found nothing: a replayed rank must get "not yet" exactly as often as before. */
#include "order.h"

enum { PACE_US = 900, OPEN = 4 };

struct message {
    int from, sequence, kind, negative;
    uint64_t view;
};

int main(int argc, char **argv)
{
    order_begin(&argc, &argv, "test_loop");
    int n = check_size, count = rounds(PACE_US), negative = 0;
    int to = (check_rank + 1) % n, from = (check_rank + n - 1) % n;
    for (int k = 0; k < count; k++) {
        struct message out[OPEN], in[OPEN];
        MPI_Request q[OPEN], s[OPEN];
        MPI_Status st[OPEN];
        int list[OPEN], flag, index, some;
        for (int i = 0; i < OPEN; i++)
            MPI_Irecv(&in[i], sizeof in[i], MPI_BYTE, i % 2 ? from : MPI_ANY_SOURCE, i,
                      MPI_COMM_WORLD, &q[i]);
        if (k % 5 == check_rank % 5)
            pause_us(PACE_US);
        for (int i = 0; i < OPEN; i++) {
            out[i] = (struct message){check_rank, k, i, negative, order_view};
            MPI_Isend(&out[i], sizeof out[i], MPI_BYTE, to, i, MPI_COMM_WORLD, &s[i]);
            sent_on(i, to, &out[i], sizeof out[i]);
        }
        for (int done = 0, spins = 0; done < OPEN;) {
            int before = done;
            switch (k % 4) {
            case 0:
                index = done;
                MPI_Test(&q[index], &flag, &st[0]);
                if (flag) {
                    got_on(index, from, &in[index], sizeof in[0]);
                    done++;
                }
                break;
            case 1:
                MPI_Testany(OPEN, q, &index, &flag, &st[0]);
                if (flag) {
                    CHECK(index >= 0 && index < OPEN, "Testany gave %d", index);
                    got_on(index, from, &in[index], sizeof in[0]);
                    done++;
                }
                break;
            case 2:
                MPI_Testsome(OPEN, q, &some, list, st);
                for (int i = 0; i < some; i++)
                    got_on(list[i], from, &in[list[i]], sizeof in[0]);
                saw(some);
                done += some;
                break;
            default:
                MPI_Testall(OPEN, q, &flag, st);
                if (flag) {
                    for (int i = 0; i < OPEN; i++)
                        got_on(i, from, &in[i], sizeof in[0]);
                    done = OPEN;
                }
            }
            if (done == before) {
                negative++;
                if (++spins % 4 == 0)
                    pause_us(100);
            }
        }
        saw(negative);
        for (int i = 0; i < OPEN; i++) {
            EQUAL(in[i].from, from);
            EQUAL(in[i].sequence, k);
            EQUAL(in[i].kind, i);
        }
        MPI_Waitall(OPEN, s, MPI_STATUSES_IGNORE);
        pause_us(PACE_US / 2);
    }
    return order_end();
}
