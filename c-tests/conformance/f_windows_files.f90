! Chapters 12 and 14 from `use mpi`: windows and files.
program f_windows_files
  use mpi
  use, intrinsic :: iso_c_binding
  implicit none
  character(*), parameter :: program_name = 'f_windows_files', blanks = '  '
#define HANDLE(kind) integer
#define STATUS(name) integer :: name(MPI_STATUS_SIZE)
#include "windows_files.inc"
