/* A task farm: rank 0 gives out tasks, and takes results in the order in which they come.
 *
 *   ftmpicc -O2 farm.c -o farm
 *   ftmpiexec -n 4 --protocol pessimistic --ckpt-interval 300ms --inject kill:rank=0,at=800ms \
 *             --trace run.trace --trace-messages ./farm
 *   ftmpiexec --diagram run.trace > run.svg
 *
 * Which result comes next depends on timing. When rank 0 is killed, its next incarnation takes the results in the
 * order that the event logger knows. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { TASK = 1, RESULT = 2, END = 3 };

/* Works for about so many seconds. */
static double work(int task, double seconds)
{
    double sum = 0, begin = MPI_Wtime();
    while (MPI_Wtime() - begin < seconds)
        for (int k = 1; k <= 20000; k++)
            sum += 1.0 / ((double)k * k + task);
    return sum > 0 ? task * 2.0 : 0;
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int tasks = argc > 1 ? atoi(argv[1]) : 40;
    if (size < 2) {
        if (rank == 0)
            printf("a task farm needs at least 2 ranks: ftmpiexec -n 4 ./farm\n");
        MPI_Finalize();
        return 1;
    }
    if (rank == 0) {
        int given = 0;
        double sum = 0;
        for (int worker = 1; worker < size; worker++) {
            int tag = given < tasks ? TASK : END;
            MPI_Send(&given, 1, MPI_INT, worker, tag, MPI_COMM_WORLD);
            given += tag == TASK;
        }
        for (int taken = 0; taken < tasks; taken++) {
            double result;
            MPI_Status status;
            MPI_Recv(&result, 1, MPI_DOUBLE, MPI_ANY_SOURCE, RESULT, MPI_COMM_WORLD, &status);
            sum += result;
            int tag = given < tasks ? TASK : END;
            MPI_Send(&given, 1, MPI_INT, status.MPI_SOURCE, tag, MPI_COMM_WORLD);
            given += tag == TASK;
        }
        printf("%d tasks, sum %.0f, expected %.0f\n", tasks, sum, (double)tasks * (tasks - 1));
    } else {
        for (;;) {
            int task;
            MPI_Status status;
            MPI_Recv(&task, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            if (status.MPI_TAG == END)
                break;
            double result = work(task, 0.1 + 0.01 * ((task * 7) % 5));
            MPI_Send(&result, 1, MPI_DOUBLE, 0, RESULT, MPI_COMM_WORLD);
        }
    }
    MPI_Finalize();
    return 0;
}
