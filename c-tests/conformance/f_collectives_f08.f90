! Chapters 6 and 8 from `use mpi_f08`: all collectives, also on neighbourhoods, blocking,
! non-blocking and persistent, with counts of the default kind and of MPI_COUNT_KIND.
program f_collectives_f08
  use mpi_f08
  implicit none
  integer :: me, n, errors, total, left, right
  type(MPI_Comm) :: ring, graph
  type(MPI_Datatype) :: pair(2)
  errors = 0
  pair = MPI_INTEGER
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  call MPI_Cart_create(MPI_COMM_WORLD, 1, [n], [.true.], .false., ring)
  call MPI_Cart_shift(ring, 0, 1, left, right)
  call check(left == modulo(me - 1, n) .and. right == modulo(me + 1, n), 'MPI_Cart_shift', 0)
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, [left, right], [1, 1], 2, [left, right], [1, 1], &
      MPI_INFO_NULL, .false., graph)
  call small
  call large
  call MPI_Comm_free(ring)
  call MPI_Comm_free(graph)
  call MPI_Allreduce(errors, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (me == 0) then
    if (total == 0) then
      print '(a,i0,a)', 'f_collectives_f08 on ', n, ': ok'
    else
      print '(a,i0,a)', 'f_collectives_f08: ', total, ' mismatches'
    end if
  end if
  call MPI_Finalize()
  if (total /= 0) stop 1
contains
  subroutine check(ok, text, form)
    logical, intent(in) :: ok
    character(*), intent(in) :: text
    integer, intent(in) :: form
    if (.not. ok) then
      errors = errors + 1
      write (0, '(a,a,a,i0,a,i0)') 'FAIL f_collectives_f08.f90: ', text, ', form ', form, ' on rank ', me
    end if
  end subroutine

  ! Completes a call in this form. A persistent call runs twice with the same result.
  subroutine finish(form, request)
    integer, intent(in) :: form
    type(MPI_Request), intent(inout) :: request
    if (form == 3) then
      call MPI_Start(request)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
      call MPI_Start(request)
    end if
    if (form >= 2) call MPI_Wait(request, MPI_STATUS_IGNORE)
    if (form == 3) call MPI_Request_free(request)
    if (form >= 2) call check(request == MPI_REQUEST_NULL, 'request', form)
  end subroutine

  subroutine small
    integer, parameter :: ck = kind(0), ak = kind(0)
    include 'collectives_f08.inc'
  end subroutine

  subroutine large
    integer, parameter :: ck = MPI_COUNT_KIND, ak = MPI_ADDRESS_KIND
    include 'collectives_f08.inc'
  end subroutine
end program
