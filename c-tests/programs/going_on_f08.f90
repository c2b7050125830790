! Going on without a rank, with `use mpi_f08`: every subroutine of ULFM once. The last rank dies.
program going_on_f08
  use mpi_f08
  use, intrinsic :: iso_c_binding, only: c_int
  implicit none
  interface
     function getpid() bind(c)
       import :: c_int
       integer(c_int) :: getpid
     end function getpid
     function kill(pid, number) bind(c)
       import :: c_int
       integer(c_int), value :: pid, number
       integer(c_int) :: kill
     end function kill
  end interface
  type(MPI_Comm) :: left, later
  type(MPI_Group) :: group
  type(MPI_Request) :: request
  integer :: rank, n, flag, acked, ierr, class, total
  logical :: revoked

  call MPI_Init()
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  if (rank == n - 1) ierr = kill(getpid(), 9)
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  call MPI_Error_class(ierr, class)
  call check(class == MPIX_ERR_PROC_FAILED, 'a barrier')
  call MPIX_Comm_get_failed(MPI_COMM_WORLD, group)
  call MPI_Group_size(group, total)
  call check(total == 1, 'get_failed')
  call MPIX_Comm_ack_failed(MPI_COMM_WORLD, 5, acked)
  call check(acked == 1, 'ack_failed')
  call MPIX_Comm_failure_ack(MPI_COMM_WORLD)
  call PMPIX_Comm_failure_get_acked(MPI_COMM_WORLD, group)
  call MPI_Group_size(group, total)
  call check(total == 1, 'failure_get_acked')
  flag = 6 + rank
  call MPIX_Comm_agree(MPI_COMM_WORLD, flag, ierr)
  call check(ierr == MPI_SUCCESS .and. iand(flag, 6) == flag, 'agree')
  flag = 6 + rank ! Ranks 0 and 1 live.
  call MPIX_Comm_iagree(MPI_COMM_WORLD, flag, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  call check(ierr == MPI_SUCCESS .and. flag == 6, 'iagree')
  call MPIX_Comm_shrink(MPI_COMM_WORLD, left)
  call MPIX_Comm_ishrink(MPI_COMM_WORLD, later, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call MPI_Comm_size(later, total)
  call check(total == n - 1, 'ishrink')
  call MPI_Comm_size(left, total)
  call check(total == n - 1, 'shrink')
  call MPI_Comm_set_errhandler(left, MPI_ERRORS_RETURN)
  call MPIX_Comm_revoke(left)
  call MPIX_Comm_is_revoked(left, revoked)
  call check(revoked, 'is_revoked')
  call MPI_Barrier(left, ierr)
  call MPI_Error_class(ierr, class)
  call check(class == MPIX_ERR_REVOKED, 'a barrier after a revocation')
  print '(a)', 'ok fortran'
  flush (6)
  call MPI_Finalize()

contains

  subroutine check(right, what)
    logical, intent(in) :: right
    character(*), intent(in) :: what
    if (.not. right) then
       print '(2a)', 'wrong: ', what
       call MPI_Abort(MPI_COMM_WORLD, 3)
    end if
  end subroutine check
end program going_on_f08
