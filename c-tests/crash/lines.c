/* Prints numbered lines from every rank and reads numbers from standard input. A continued job
 * must neither lose nor repeat a line, and must not read a number twice.
 *
 * In every round each rank sends its number to rank 0. Rank 0 takes the numbers in any order and
 * sends each rank an answer that depends on that order. It reads one number of its input if there
 * is one. The last line is a sum over all numbers read. */
#include "order.h"

enum { PACE_US = 4000 };

int main(int argc, char **argv)
{
    order_begin(&argc, &argv, "lines");
    int count = rounds(PACE_US), open = 1;
    long long sum = 0, numbers = 0;
    long long *next = calloc((size_t)check_size, sizeof *next);
    for (int k = 0; k < count; k++) {
        long long mine = (long long)k * 1000 + check_rank, answer = 0;
        if (check_rank == 0) {
            long long number = 0;
            if (open && scanf("%lld", &number) == 1) {
                sum += number * (++numbers % 7 + 1);
            } else {
                open = 0;
            }
            for (int i = 1; i < check_size; i++) {
                MPI_Status st;
                MPI_Recv(&mine, 1, MPI_LONG_LONG, MPI_ANY_SOURCE, 1, check_comm, &st);
                got(st.MPI_SOURCE, &mine, sizeof mine);
                /* A rank that has its answer may be one round ahead. */
                EQUAL(mine, next[st.MPI_SOURCE]++ * 1000 + st.MPI_SOURCE);
                answer = (long long)(order_view >> 1);
                MPI_Send(&answer, 1, MPI_LONG_LONG, st.MPI_SOURCE, 2, check_comm);
                sent(st.MPI_SOURCE, &answer, sizeof answer);
            }
        } else {
            MPI_Send(&mine, 1, MPI_LONG_LONG, 0, 1, check_comm);
            sent(0, &mine, sizeof mine);
            MPI_Recv(&answer, 1, MPI_LONG_LONG, 0, 2, check_comm, MPI_STATUS_IGNORE);
            got(0, &answer, sizeof answer);
        }
        printf("line %d %d\n", check_rank, k);
        fflush(stdout);
        pause_us(PACE_US / 2);
    }
    if (check_rank == 0)
        printf("read %lld numbers, sum %lld, %d rounds\n", numbers, sum, count);
    free(next);
    return order_end();
}
