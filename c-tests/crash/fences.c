/* Active targets: put and get between fences exchange the cells of a ring. All ranks accumulate
 * floating point numbers to all ranks, and neighbours expose memory to each other with post and
 * start. Later messages depend on received data. Large data take another path in the library. */
#include "order.h"

enum { PACE_US = 4000, TAG = 6, CELLS = 300, LARGE = 6000 };

int main(int argc, char **argv)
{
    order_begin(&argc, &argv, "fences");
    int n = check_size, me = check_rank, count = rounds(PACE_US), right = (me + 1) % n, left = (me + n - 1) % n;
    double *sums;
    uint64_t *cells, out[CELLS], in[CELLS];
    uint64_t *large = malloc(LARGE * sizeof *large);
    MPI_Win fenced, exposed;
    MPI_Group world, to, from;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "true");
    MPI_Win_allocate((n + LARGE) * (MPI_Aint)sizeof *sums, sizeof *sums, info, check_comm, &sums, &fenced);
    MPI_Win_allocate(3 * CELLS * sizeof *cells, sizeof *cells, MPI_INFO_NULL, check_comm, &cells, &exposed);
    MPI_Info_free(&info);
    memset(sums, 0, (size_t)(n + LARGE) * sizeof *sums);
    memset(cells, 0, 3 * CELLS * sizeof *cells);
    MPI_Comm_group(check_comm, &world);
    MPI_Group_incl(world, 1, &right, &to);
    MPI_Group_incl(world, 1, &left, &from);
    MPI_Win_fence(0, fenced);
    for (int k = 0; k < count; k++) {
        int size = k % 9 ? CELLS / 4 : CELLS, big = k % 20 == 7;
        for (int i = 0; i < n; i++) {
            double x = 1.0 / (double)(order_view % 1000 + 3 + (uint64_t)i);
            MPI_Accumulate(&x, 1, MPI_DOUBLE, i, 0, 1, MPI_DOUBLE, MPI_SUM, fenced);
        }
        for (int i = 0; i < LARGE; i++)
            large[i] = order_view + (uint64_t)i;
        if (big)
            MPI_Put(large, LARGE, MPI_UINT64_T, right, n, LARGE, MPI_UINT64_T, fenced);
        MPI_Win_fence(0, fenced);
        saw((long long)(sums[0] * 1e12));
        if (big) {
            uint64_t first = ((uint64_t *)sums)[n];
            int bad = 0;
            for (int i = 0; i < LARGE; i++)
                bad += ((uint64_t *)sums)[n + i] != first + (uint64_t)i;
            EQUAL(bad, 0);
            saw((long long)first);
        }
        MPI_Win_fence(0, fenced);

        for (int i = 0; i < size; i++)
            out[i] = order_view * (uint64_t)(i + 1);
        for (int i = 0; i < size; i++)
            cells[CELLS + i] = order_view + (uint64_t)i;
        MPI_Win_post(from, 0, exposed);
        MPI_Win_start(to, 0, exposed);
        MPI_Put(out, size, MPI_UINT64_T, right, 0, size, MPI_UINT64_T, exposed);
        MPI_Get(in, size, MPI_UINT64_T, right, CELLS, size, MPI_UINT64_T, exposed);
        MPI_Win_complete(exposed);
        if (k % 2) {
            MPI_Win_wait(exposed);
        } else {
            int flag = 0;
            while (!flag) {
                MPI_Win_test(exposed, &flag);
                saw(flag);
            }
        }
        sent_on(0, right, out, (size_t)size * sizeof *out);
        got_on(0, left, cells, (size_t)size * sizeof *cells);
        /* the data that the right neighbour exposed equal the data that it sent on the other
         * stream */
        sent_on(1, left, &cells[CELLS], (size_t)size * sizeof *cells);
        got_on(1, right, in, (size_t)size * sizeof *in);
        pause_us(PACE_US);
    }
    MPI_Win_fence(0, fenced);
    MPI_Group_free(&world);
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    MPI_Win_free(&fenced);
    MPI_Win_free(&exposed);
    free(large);
    return order_end();
}
