/* The names of MPI libraries: which of them are ours under another name, and which are strangers. */
#pragma once

/* The library of ours that stands for the file NAME (a path or a bare name): "libmpi.so.12",
 * "libmpifort.so.12" or "libmpi_abi.so.1". Null: NAME is no library with the binary interface of
 * MPICH or of the standard. FINAL is the last part of the file that NAME leads to, for a name
 * without a version; null if nobody knows. */
const char *ftmpi_loads_ours(const char *name, const char *final);

/* Whether the file is some library of MPI, of any maker. */
int ftmpi_loads_is_mpi(const char *name);

/* The part of a path behind the last slash. */
const char *ftmpi_loads_last_part(const char *path);
