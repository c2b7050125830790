! MPI-3.0 and later in `use mpi`: types, operators and conversions of `mpi_f08` (MPI-4.1, 19.1.3)
! and the keywords of the standard. Also Fortran types by precision and range, including those of
! the x87.
program f_newer_usempi
  use mpi
  implicit none
  integer :: ierr, me, n, errors, all
  errors = 0
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
  call types
  call keywords
  call precisions
  call MPI_Allreduce(errors, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (me == 0) then
    if (all == 0) then
      print '(a,i0,a)', 'f_newer_usempi on ', n, ': ok'
    else
      print '(a,i0,a)', 'f_newer_usempi: ', all, ' mismatches'
    end if
  end if
  call MPI_Finalize(ierr)
  if (all /= 0) stop 1

contains

  subroutine check(ok, text)
    logical, intent(in) :: ok
    character(*), intent(in) :: text
    if (.not. ok) then
      errors = errors + 1
      write (0, '(a,i0,2a)') 'FAIL f_newer_usempi.f90: rank ', me, ': ', text
    end if
  end subroutine check

  subroutine types
    type(MPI_Comm) :: comm, other
    type(MPI_Status) :: status, back
    type(MPI_Datatype) :: datatype
    integer :: old(MPI_STATUS_SIZE), again(MPI_STATUS_SIZE), x
    comm%MPI_VAL = MPI_COMM_WORLD
    other = comm
    call check(comm == other .and. comm == MPI_COMM_WORLD .and. MPI_COMM_WORLD == comm, 'equal')
    other%MPI_VAL = MPI_COMM_SELF
    call check(comm /= other .and. other /= MPI_COMM_WORLD, 'different')
    datatype = MPI_Datatype(MPI_INTEGER)
    call check(datatype == MPI_INTEGER, 'datatype')
    call MPI_Sendrecv(me, 1, MPI_INTEGER, me, 5, x, 1, MPI_INTEGER, me, 5, MPI_COMM_WORLD, old, ierr)
    call MPI_Status_f2f08(f_status=old, f08_status=status, ierror=ierr)
    call check(status%MPI_SOURCE == me .and. status%MPI_TAG == 5, 'status for mpi_f08')
    back = status
    call MPI_Status_f082f(f08_status=back, f_status=again)
    call check(.not. any(again /= old), 'status from mpi_f08')
  end subroutine types

  subroutine keywords
    integer :: requests(1), place, x, comm, got(2), edges(2)
    integer :: places(1), neighbours(2)
    logical :: flag
    call MPI_Irecv(x, 1, MPI_INTEGER, me, 0, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Send(me, 1, MPI_INTEGER, me, 0, MPI_COMM_WORLD, ierr)
    call MPI_Waitany(count=1, array_of_requests=requests, index=place, status=MPI_STATUS_IGNORE, ierror=ierr)
    call check(place == 1, 'index of MPI_Waitany')
    call MPI_Testany(count=1, array_of_requests=requests, index=place, flag=flag, status=MPI_STATUS_IGNORE, &
                     ierror=ierr)
    call check(flag .and. place == MPI_UNDEFINED, 'index of MPI_Testany')
    call MPI_Request_get_status_any(count=1, array_of_requests=requests, index=place, flag=flag, &
                                    status=MPI_STATUS_IGNORE, ierror=ierr)
    call check(flag .and. place == MPI_UNDEFINED, 'index of MPI_Request_get_status_any')
    places = 1
    edges(1) = 0
    call MPI_Graph_create(comm_old=MPI_COMM_SELF, nnodes=1, index=places, edges=edges, reorder=.false., &
                          comm_graph=comm, ierror=ierr)
    got = -1
    call MPI_Graph_get(comm=comm, maxindex=1, maxedges=1, index=got, edges=neighbours, ierror=ierr)
    call check(got(1) == 1 .and. neighbours(1) == 0, 'MPI_Graph_get')
    call MPI_Graph_map(comm=comm, nnodes=1, index=places, edges=edges, newrank=place, ierror=ierr)
    call check(place == 0, 'MPI_Graph_map')
    call MPI_Comm_free(comm, ierr)
  end subroutine keywords

  ! MPI computes with the kind that the compiler selects for a precision or a range.
  subroutine precisions
    integer, parameter :: k = selected_real_kind(18), far = selected_real_kind(r=4000)
    real(k) :: x, total
    complex(k) :: z, sum
    real(far) :: y, largest
    real(selected_real_kind(20)) :: q, most
    integer :: datatype, bytes
    call MPI_Type_create_f90_real(18, MPI_UNDEFINED, datatype, ierr)
    call MPI_Type_size(datatype, bytes, ierr)
    call check(bytes == storage_size(x) / 8, 'size')
    x = 1.0_k / (me + 3)
    call MPI_Allreduce(x, total, 1, datatype, MPI_MAX, MPI_COMM_WORLD, ierr)
    call check(total == 1.0_k / 3, 'the largest of precision 18')
    call MPI_Allreduce(real(me, k), total, 1, datatype, MPI_SUM, MPI_COMM_WORLD, ierr)
    call check(total == n * (n - 1) / 2, 'a sum of precision 18')
    call MPI_Type_create_f90_real(MPI_UNDEFINED, 4000, datatype, ierr)
    y = -scale(1.0_far, 3000 + me)
    call MPI_Allreduce(y, largest, 1, datatype, MPI_MAX, MPI_COMM_WORLD, ierr)
    call check(largest == -scale(1.0_far, 3000), 'the largest of range 4000')
    call MPI_Type_create_f90_complex(16, 308, datatype, ierr)
    z = cmplx(me, 1, k)
    call MPI_Allreduce(z, sum, 1, datatype, MPI_SUM, MPI_COMM_WORLD, ierr)
    call check(sum == cmplx(n * (n - 1) / 2, n, k), 'a complex sum')
    call MPI_Type_create_f90_real(20, MPI_UNDEFINED, datatype, ierr)
    q = 1 / real(me + 3, kind(q))
    call MPI_Allreduce(q, most, 1, datatype, MPI_MAX, MPI_COMM_WORLD, ierr)
    call check(most == 1 / real(3, kind(q)), 'the largest of precision 20')
  end subroutine precisions
end program f_newer_usempi
