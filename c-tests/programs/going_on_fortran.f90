! Going on without a rank, from Fortran: every subroutine of ULFM once. The last rank dies.
program going_on_fortran
  use mpi
  implicit none
  integer :: rank, n, left, later, request, group, flag, acked, ierr, class, total
  logical :: revoked

  call mpi_init(ierr)
  call mpi_comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, ierr)
  call mpi_comm_size(MPI_COMM_WORLD, n, ierr)
  if (rank == n - 1) call abort_here()
  call mpi_barrier(MPI_COMM_WORLD, ierr)
  call mpi_error_class(ierr, class, ierr)
  call check(class == MPIX_ERR_PROC_FAILED, 'a barrier')
  call mpix_comm_get_failed(MPI_COMM_WORLD, group, ierr)
  call mpi_group_size(group, total, ierr)
  call check(total == 1, 'get_failed')
  call mpix_comm_ack_failed(MPI_COMM_WORLD, 5, acked, ierr)
  call check(ierr == MPI_SUCCESS .and. acked == 1, 'ack_failed')
  call mpix_comm_failure_ack(MPI_COMM_WORLD, ierr)
  call check(ierr == MPI_SUCCESS, 'failure_ack')
  call mpix_comm_failure_get_acked(MPI_COMM_WORLD, group, ierr)
  call mpi_group_size(group, total, ierr)
  call check(total == 1, 'failure_get_acked')
  flag = 6 + rank
  call mpix_comm_agree(MPI_COMM_WORLD, flag, ierr)
  call check(ierr == MPI_SUCCESS .and. iand(flag, 6) == flag, 'agree')
  flag = 6 + rank ! Ranks 0 and 1 live.
  call mpix_comm_iagree(MPI_COMM_WORLD, flag, request, ierr)
  call mpi_wait(request, MPI_STATUS_IGNORE, ierr)
  call check(ierr == MPI_SUCCESS .and. flag == 6, 'iagree')
  call mpix_comm_shrink(MPI_COMM_WORLD, left, ierr)
  call mpi_comm_size(left, total, ierr)
  call check(total == n - 1, 'shrink')
  call mpix_comm_ishrink(MPI_COMM_WORLD, later, request, ierr)
  call mpi_wait(request, MPI_STATUS_IGNORE, ierr)
  call mpi_comm_size(later, total, ierr)
  call check(total == n - 1, 'ishrink')
  call mpi_barrier(later, ierr)
  call check(ierr == MPI_SUCCESS, 'a barrier of those who are left')
  call mpi_comm_set_errhandler(left, MPI_ERRORS_RETURN, ierr)
  call mpix_comm_revoke(left, ierr)
  call mpix_comm_is_revoked(left, revoked, ierr)
  call check(revoked, 'is_revoked')
  call mpi_barrier(left, ierr)
  call mpi_error_class(ierr, class, ierr)
  call check(class == MPIX_ERR_REVOKED, 'a barrier after a revocation')
  print '(a)', 'ok fortran'
  flush (6)
  call mpi_finalize(ierr)

contains

  subroutine check(right, what)
    logical, intent(in) :: right
    character(*), intent(in) :: what
    if (.not. right) then
       print '(2a)', 'wrong: ', what
       call mpi_abort(MPI_COMM_WORLD, 3, ierr)
    end if
  end subroutine check

  subroutine abort_here()
    interface
       function getpid() bind(c)
         use iso_c_binding
         integer(c_int) :: getpid
       end function getpid
       function kill(pid, number) bind(c)
         use iso_c_binding
         integer(c_int), value :: pid, number
         integer(c_int) :: kill
       end function kill
    end interface
    integer :: ignored
    ignored = kill(getpid(), 9)
  end subroutine abort_here
end program going_on_fortran
