! MPI_BOTTOM, MPI_IN_PLACE, MPI_UNWEIGHTED and similar addresses from `use mpi`.
program f_sentinels
  use mpi
  implicit none
  integer :: requests(2), graph, from, into
  include 'sentinels.inc'
end program
