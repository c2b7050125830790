! Chapters 12 and 14 from `use mpi_f08`: windows and files.
program f_windows_files_f08
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  character(*), parameter :: program_name = 'f_windows_files_f08', blanks = ''
#define HANDLE(kind) type(kind)
#define STATUS(name) type(MPI_Status) :: name
#include "windows_files.inc"
