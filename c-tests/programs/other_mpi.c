/* A library of another MPI, as far as a test needs it: every process is alone. The file is compiled
 * under the names of real libraries. Only what `loads.c` calls is here. */
#ifndef ONLY_OPEN_PAL
int MPI_Init(int *argc, char ***argv) { (void)argc; (void)argv; return 0; }
int MPI_Finalize(void) { return 0; }
int MPI_Comm_rank(int comm, int *rank) { (void)comm; *rank = 0; return 0; }
int MPI_Comm_size(int comm, int *size) { (void)comm; *size = 1; return 0; }
#endif
