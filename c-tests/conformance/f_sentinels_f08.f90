! MPI_BOTTOM, MPI_IN_PLACE, MPI_UNWEIGHTED and similar addresses from `use mpi_f08`.
program f_sentinels_f08
  use mpi_f08
  implicit none
  type(MPI_Request) :: requests(2)
  type(MPI_Comm) :: graph
  type(MPI_Datatype) :: from, into
  include 'sentinels.inc'
end program
