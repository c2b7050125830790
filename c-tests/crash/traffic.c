/* Random traffic: every rank derives the same list of messages for a round from the seed
 * (source, destination, communicator, tag, size, mode, way of receiving), sends and receives its
 * share in a random order, and checks every byte. */
#include "order.h"

enum { PACE_US = 4000, PER_ROUND = 24, COMMS = 3, SMALL = 300, MEDIUM = 20000, LARGE = 800000 };

struct plan {
    int from, to, comm, tag, bytes, mode, any;
};

static MPI_Comm comms[COMMS];

static void draw_round(struct plan *p, struct random *r, int round)
{
    for (int i = 0; i < PER_ROUND; i++) {
        int kind = (int)below(r, 40);
        p[i].from = (int)below(r, (uint32_t)check_size);
        p[i].to = (int)below(r, (uint32_t)check_size);
        p[i].comm = (int)below(r, COMMS);
        p[i].tag = round % 1000 * PER_ROUND + i;   /* no other message nearby has this tag */
        p[i].bytes = (int)below(r, kind == 0 ? LARGE : kind < 6 ? MEDIUM : SMALL);
        p[i].mode = (int)below(r, 3);   /* standard, synchronous, buffered */
        p[i].any = (int)below(r, 3);
    }
}

/* The rank in one of the communicators: the second is reversed, the third shifted. */
static int rank_in(int comm, int world)
{
    return comm == 0 ? world : comm == 1 ? check_size - 1 - world : (world + 1) % check_size;
}

int main(int argc, char **argv)
{
    order_begin(&argc, &argv, "traffic");
    struct random r = {order_seed * 15485863};
    struct random own = {order_seed * 32452843 + (uint64_t)check_rank};
    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_split(MPI_COMM_WORLD, 0, check_size - check_rank, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, (check_rank + 1) % check_size, &comms[2]);
    int room = PER_ROUND * (MEDIUM + MPI_BSEND_OVERHEAD), size;
    void *space = malloc((size_t)room), *back;
    MPI_Buffer_attach(space, room);
    unsigned char *out[PER_ROUND], *in[PER_ROUND];
    int count = rounds(PACE_US);
    long long bytes = 0, messages = 0;
    for (int k = 0; k < count; k++) {
        struct plan p[PER_ROUND];
        int order[2 * PER_ROUND], work = 0, open = 0, who[2 * PER_ROUND];
        MPI_Request q[2 * PER_ROUND];
        draw_round(p, &r, k);
        for (int i = 0; i < PER_ROUND; i++) {
            out[i] = in[i] = NULL;
            bytes += p[i].bytes;
            messages++;
            if (p[i].to == check_rank)
                order[work++] = i;
            if (p[i].from == check_rank)
                order[work++] = PER_ROUND + i;
        }
        for (int i = work - 1; i > 0; i--) {
            int j = (int)below(&own, (uint32_t)i + 1), x = order[i];
            order[i] = order[j];
            order[j] = x;
        }
        for (int w = 0; w < work; w++) {
            int i = order[w] % PER_ROUND, c = p[i].comm;
            if (order[w] < PER_ROUND) {
                in[i] = malloc((size_t)p[i].bytes + 1);
                in[i][p[i].bytes] = 0x77;
                int source = p[i].any == 0 ? MPI_ANY_SOURCE : rank_in(c, p[i].from);
                MPI_Irecv(in[i], p[i].bytes, MPI_BYTE, source, p[i].tag, comms[c], &q[open]);
            } else {
                out[i] = malloc((size_t)p[i].bytes + 1);
                fill(out[i], (size_t)p[i].bytes, (uint32_t)(p[i].from * 1000 + p[i].to),
                     (uint32_t)(k * PER_ROUND + i));
                int to = rank_in(c, p[i].to), mode = p[i].bytes > MEDIUM ? 0 : p[i].mode;
                if (mode == 0)
                    MPI_Isend(out[i], p[i].bytes, MPI_BYTE, to, p[i].tag, comms[c], &q[open]);
                else if (mode == 1)
                    MPI_Issend(out[i], p[i].bytes, MPI_BYTE, to, p[i].tag, comms[c], &q[open]);
                else
                    MPI_Ibsend(out[i], p[i].bytes, MPI_BYTE, to, p[i].tag, comms[c], &q[open]);
            }
            who[open++] = order[w];
        }
        for (int left = open; left > 0;) {
            int list[2 * PER_ROUND], n = 0;
            MPI_Status st[2 * PER_ROUND];
            if (k % 3 == 0) {
                MPI_Waitall(open, q, st);
                n = left;
                for (int i = 0; i < n; i++)
                    list[i] = i;
            } else if (k % 3 == 1) {
                MPI_Waitsome(open, q, &n, list, st);
            } else {
                MPI_Waitany(open, q, &list[0], &st[0]);
                n = 1;
            }
            CHECK(n > 0, "nothing is open");
            if (n <= 0)
                break;
            left -= n;
            for (int x = 0; x < n; x++) {
                saw(list[x]);
                if (who[list[x]] >= PER_ROUND)
                    continue;
                int i = who[list[x]], c = p[i].comm, got_bytes = -1;
                MPI_Get_count(&st[x], MPI_BYTE, &got_bytes);
                EQUAL(got_bytes, p[i].bytes);
                EQUAL(st[x].MPI_SOURCE, rank_in(c, p[i].from));
                EQUAL(st[x].MPI_TAG, p[i].tag);
            }
        }
        for (int i = 0; i < PER_ROUND; i++) {
            if (in[i]) {
                long long at = wrong_at(in[i], (size_t)p[i].bytes,
                                        (uint32_t)(p[i].from * 1000 + p[i].to),
                                        (uint32_t)(k * PER_ROUND + i));
                CHECK(at < 0, "round %d, message %d of %d bytes from %d: byte %lld is wrong", k, i,
                      p[i].bytes, p[i].from, at);
                CHECK(in[i][p[i].bytes] == 0x77, "wrote past the end");
                got(p[i].from, in[i], (size_t)p[i].bytes);
            }
            if (out[i])
                sent(p[i].to, out[i], (size_t)p[i].bytes);
            free(in[i]);
            free(out[i]);
        }
        if (k % 4 == 3) {
            MPI_Buffer_detach(&back, &size);
            MPI_Buffer_attach(space, room);
        }
        pause_us(PACE_US / 2);
    }
    MPI_Buffer_detach(&back, &size);
    free(space);
    for (int c = 1; c < COMMS; c++)
        MPI_Comm_free(&comms[c]);
    if (check_rank == 0)
        printf("%lld messages, %lld bytes, seed %llu\n", messages, bytes,
               (unsigned long long)order_seed);
    return order_end();
}
