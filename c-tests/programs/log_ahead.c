/* Rank 0 logs 32 MiB that it sends to rank 1 on another host, and waits for an answer. Rank 1 answers when rank 0 has
   touched more memory of the library than that: memory that its log will need next. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGES = 512, BYTES = 64 << 10, LOGGED = MESSAGES * BYTES >> 10, MORE = 5 << 10, LIMIT = 60 };
/* The library's part of the address space (libftmpi/abi/src/allocator.rs), which a sanitizer moves. */
static const unsigned long FIRST = 0x40000000000, LAST = 0x566e00000000;

/* KiB of the library's memory in this process that have been touched. */
static long touched(int pid)
{
    char line[512];
    unsigned long begin = 0, end;
    long sum = 0, kib;
    snprintf(line, sizeof line, "/proc/%d/smaps", pid);
    FILE *file = fopen(line, "r");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
            continue;
        if (begin >= FIRST && begin < LAST && sscanf(line, "Rss: %ld kB", &kib) == 1)
            sum += kib;
    }
    if (file)
        fclose(file);
    return sum;
}

int main(int argc, char **argv)
{
    static char data[BYTES];
    int rank, pid = getpid();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    memset(data, 1, sizeof data);
    if (rank == 0) {
        MPI_Send(&pid, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(&pid, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < MESSAGES; i++)
            MPI_Send(data, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(&pid, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(&pid, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        long more = -touched(pid);
        MPI_Send(&pid, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        for (int i = 0; i < MESSAGES; i++)
            MPI_Recv(data, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        const struct timespec pause = {0, 20000000};
        time_t begin = time(NULL);
        long now = touched(pid);
        for (; now + more < LOGGED + MORE && time(NULL) - begin < LIMIT; now = touched(pid))
            nanosleep(&pause, NULL);
        printf("%s: %ld KiB\n", now + more < LOGGED + MORE ? "not ready" : "ready", now + more);
        MPI_Send(&pid, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
