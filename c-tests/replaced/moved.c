/*
 * A program whose libraries lie at other paths when the job goes on. It calls a library that it is
 * linked with, and a plug-in that it has loaded. Usage: moved STEPS PLUG-IN
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int library_version(void);

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    void *plug_in = dlopen(argv[2], RTLD_NOW);
    int (*of_plug_in)(void) = plug_in ? (int (*)(void))dlsym(plug_in, "library_version") : NULL;
    if (of_plug_in == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    int me, size, wrong = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int step = 0; step < atoi(argv[1]); step++) {
        int mine = library_version() + 10 * of_plug_in(), all;
        usleep(5000);
        MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        wrong += all != 21 * size;
    }
    if (me == 0)
        printf("%d wrong steps\n", wrong);
    MPI_Finalize();
    return 0;
}
