! MPI_BOTTOM, MPI_IN_PLACE, MPI_UNWEIGHTED and similar addresses from mpif.h.
program f_sentinels_mpif
  implicit none
  include 'mpif.h'
  integer :: requests(2), graph, from, into
  include 'sentinels.inc'
end program
