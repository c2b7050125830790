/* Values go round a ring STEPS times, with a sum over all ranks in each step; each rank can compute
 * all of them alone. Prints "fine". MICROSECONDS of sleep lie between two steps.
 *
 *   ring STEPS MICROSECONDS [overflow]     overflow: rank 1 writes behind an array (sanitizers)
 *
 * With -DPLUGIN the file is a library with the function `run`, and with -DHOST the program that
 * loads and unloads it: ring STEPS MICROSECONDS PLUGIN. */
#ifdef HOST
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *plugin = argc > 3 ? dlopen(argv[3], RTLD_NOW | RTLD_LOCAL) : 0;
    if (!plugin) {
        fprintf(stderr, "%s\n", dlerror());
        return 3;
    }
    int (*run)(int, char **) = (int (*)(int, char **))dlsym(plugin, "run");
    int wrong = run(argc, argv);
    dlclose(plugin);
    return wrong;
}
#else
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef PLUGIN
#define main run
#endif

int main(int argc, char **argv)
{
    int rank, size, any, wrong = 0;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int steps = argc > 1 ? atoi(argv[1]) : 100, pause = argc > 2 ? atoi(argv[2]) : 0;
    unsigned *all = malloc(size * sizeof *all), *next = malloc(size * sizeof *all);
    for (int i = 0; i < size; i++)
        all[i] = 77u * i + 1;
    for (int step = 0; step < steps; step++) {
        unsigned in = 0, sum = 0, expected = 0;
        MPI_Request request;
        MPI_Irecv(&in, 1, MPI_UNSIGNED, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &request);
        MPI_Send(&all[rank], 1, MPI_UNSIGNED, (rank + 1) % size, 3, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < size; i++) {
            next[i] = all[(i + size - 1) % size] * 1664525u + 1013904223u + step;
            expected += next[i];
        }
        wrong |= in != all[(rank + size - 1) % size];
        memcpy(all, next, size * sizeof *all);
        MPI_Allreduce(&all[rank], &sum, 1, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD);
        wrong |= sum != expected;
        if (pause)
            usleep(pause);
    }
    if (argc > 3 && strcmp(argv[3], "overflow") == 0 && rank == 1) {
        volatile int behind = size;
        all[behind] = 1;
    }
    free(all);
    free(next);
    MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        puts(any ? "wrong" : "fine");
    fflush(stdout);
    MPI_Finalize();
    return any;
}
#endif
