/* Ranks that know on which host they run, although all hosts are this machine: the command that starts their agent has
   set the variable ON.

   whereabouts STEPS            all ranks go on for so many tenths of a second, and say at the end where they are
   whereabouts STEPS sick HOST  rank 1 dies of SIGBUS at step 10 on this host, as if its memory were bad; on all: `all`
   whereabouts STEPS greedy     rank 1 takes all memory at step 10 */
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The value of ON in the environment of the agent, the parent of this process. */
static const char *host(void)
{
    static char text[1 << 16];
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)getppid());
    FILE *file = fopen(path, "r");
    if (!file)
        return "?";
    size_t bytes = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[bytes] = 0;
    for (char *word = text; word < text + bytes; word += strlen(word) + 1)
        if (!strncmp(word, "ON=", 3))
            return word + 3;
    return "?";
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int me, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *what = argc > 2 ? argv[2] : "well", *where = argc > 3 ? argv[3] : "all";
    long sum = 0, steps = atol(argc > 1 ? argv[1] : "20");
    for (long step = 0; step < steps; step++) {
        usleep(100000);
        MPI_Allreduce(&step, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        if (me == 1 && step == 10 && !strcmp(what, "sick") && (!strcmp(where, "all") || !strcmp(where, host())))
            raise(SIGBUS);
        if (me == 1 && step == 10 && !strcmp(what, "greedy"))
            for (size_t bytes = 1 << 20;;) {
                char *more = malloc(bytes);
                if (more)
                    memset(more, 1, bytes);
            }
    }
    printf("rank %d runs on %s%s\n", me, host(), sum == (steps - 1) * size ? "" : ", wrong sum");
    MPI_Finalize();
    return 0;
}
