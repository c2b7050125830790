/*
 * A program of which somebody compiles another version while it runs. Every version says so in
 * every step: one job must be one version. Usage: program STEPS [PLUG-IN]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef PROGRAM_VERSION
#define PROGRAM_VERSION 1
#endif
#ifdef PLUGIN
#include <dlfcn.h>
static int (*library_version)(void);

/* As programs load their plug-ins. */
static void load(const char *path)
{
    void *plugin = dlopen(path, RTLD_NOW);
    library_version = plugin ? (int (*)(void))dlsym(plugin, "library_version") : 0;
    if (!library_version)
        MPI_Abort(MPI_COMM_WORLD, 9);
}
#else
int library_version(void);
static void load(const char *path) { (void)path; }
#endif

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    load(argv[argc - 1]);
    int me, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int step = 0; step < atoi(argv[1]); step++) {
        int mine = PROGRAM_VERSION + 100 * library_version(), all;
        usleep(5000);
        MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (mine != 101 || all != 101 * size) {
            printf("rank %d is version %d of the program in step %d\n", me, mine, step);
            fflush(stdout);
        }
        if (me == 0 && step == 20)
            fclose(fopen("twenty-steps", "w"));
    }
    if (me == 0)
        puts("one program");
    MPI_Finalize();
    return 0;
}
