/* Loads an MPI library in one of several ways, and prints how many processes it sees.
 *
 *   loads open PATH      dlopen          loads namespace PATH   dlmopen
 *   loads call PATH      dlopen of a library that is linked to MPI and has the function `sizes`
 *   loads linked         MPI is linked (compiled with -DLINKED) */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#ifdef LIBRARY_OR_LINKED
int MPI_Init(int *, char ***);
int MPI_Finalize(void);
int MPI_Comm_rank(int, int *);
int MPI_Comm_size(int, int *);

/* MPI_COMM_WORLD of the common binary interface. */
int sizes(int *rank, int *size)
{
    MPI_Init(0, 0);
    MPI_Comm_rank(0x44000000, rank);
    MPI_Comm_size(0x44000000, size);
    return MPI_Finalize();
}
#endif

#ifndef LIBRARY
int main(int argc, char **argv)
{
    int rank = -1, size = -1;
#ifdef LIBRARY_OR_LINKED
    (void)argc;
    (void)argv;
    int wrong = sizes(&rank, &size);
#else
    int in_namespace = strcmp(argv[1], "namespace") == 0;
    int flags = RTLD_NOW | (in_namespace ? 0 : RTLD_GLOBAL);
    void *library = in_namespace ? dlmopen(LM_ID_NEWLM, argv[2], flags) : dlopen(argv[2], flags);
    if (argc < 3 || !library) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    int wrong = 0;
    if (strcmp(argv[1], "call") == 0) {
        int (*function)(int *, int *) = (int (*)(int *, int *))dlsym(library, "sizes");
        wrong = function(&rank, &size);
    } else {
        int (*init)(int *, char ***) = (int (*)(int *, char ***))dlsym(library, "MPI_Init");
        int (*end)(void) = (int (*)(void))dlsym(library, "MPI_Finalize");
        int (*ranks)(int, int *) = (int (*)(int, int *))dlsym(library, "MPI_Comm_rank");
        int (*sizes)(int, int *) = (int (*)(int, int *))dlsym(library, "MPI_Comm_size");
        init(0, 0);
        ranks(0x44000000, &rank);
        sizes(0x44000000, &size);
        wrong = end();
    }
#endif
    printf("rank %d of %d\n", rank, size);
    return wrong;
}
#endif
