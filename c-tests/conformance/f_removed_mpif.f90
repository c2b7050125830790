! Functions that MPI-3 removed or MPI-2 replaced, as old programs call them from `mpif.h`.
program f_removed_mpif
  implicit none
  character(*), parameter :: program_name = 'f_removed_mpif'
  include 'mpif.h'
  integer :: ierr, me, n, errors, total
  errors = 0
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
  call types
  call attributes
  call handlers
  call MPI_Allreduce(errors, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call print_outcome(total)
  call MPI_Finalize(ierr)
  if (total /= 0) stop 1
contains
  include 'check.inc'

  ! Sends one value of the type to the rank itself.
  subroutine picks(t, want, text)
    integer, intent(inout) :: t
    integer, intent(in) :: want(:)
    character(*), intent(in) :: text
    integer :: source(24), got(24), i, status(MPI_STATUS_SIZE)
    source = [(i, i = 1, 24)]
    got = 0
    call MPI_Type_commit(t, ierr)
    call MPI_Sendrecv(source, 1, t, 0, 1, got, 24, MPI_INTEGER, 0, 1, MPI_COMM_SELF, status, ierr)
    call check(all(got(1:size(want)) == want) .and. got(size(want) + 1) == 0, text)
    call MPI_Type_free(t, ierr)
  end subroutine

  subroutine types
    integer :: t, extent, lower, upper
    call MPI_Type_hvector(3, 1, 20, MPI_INTEGER, t, ierr)
    call picks(t, [1, 6, 11], 'MPI_Type_hvector')
    call MPI_Type_hindexed(2, [1, 2], [8, 40], MPI_INTEGER, t, ierr)
    call picks(t, [3, 11, 12], 'MPI_Type_hindexed')
    call MPI_Type_struct(2, [1, 2], [16, 48], [MPI_INTEGER, MPI_REAL], t, ierr)
    call picks(t, [5, 13, 14], 'MPI_Type_struct')
    call MPI_Type_indexed(2, [2, 1], [4, 0], MPI_INTEGER, t, ierr)
    call MPI_Type_extent(t, extent, ierr)
    call check(extent == 24, 'MPI_Type_extent')
    call MPI_Type_lb(t, lower, ierr)
    call MPI_Type_ub(t, upper, ierr)
    call check(lower == 0 .and. upper == 24, 'MPI_Type_lb and MPI_Type_ub')
    call picks(t, [5, 6, 1], 'MPI_Type_indexed')
    call placed
  end subroutine

  ! Addresses fit an integer only as differences.
  subroutine placed
    integer :: values(4), first, third
    common /here/ values
    call MPI_Address(values(1), first, ierr)
    call MPI_Address(values(3), third, ierr)
    call check(third - first == 8 .or. ierr /= MPI_SUCCESS, 'MPI_Address')
  end subroutine

  subroutine attributes
    integer :: key, comm, value
    logical :: flag
    call MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, key, 0, ierr)
    call MPI_Attr_put(MPI_COMM_SELF, key, 4711, ierr)
    call MPI_Comm_dup(MPI_COMM_SELF, comm, ierr)
    value = 0
    call MPI_Attr_get(comm, key, value, flag, ierr)
    call check(flag .and. value == 4711, 'MPI_Attr_get')
    call MPI_Attr_delete(comm, key, ierr)
    call MPI_Attr_get(comm, key, value, flag, ierr)
    call check(.not. flag, 'MPI_Attr_delete')
    call MPI_Attr_delete(MPI_COMM_SELF, key, ierr)
    call MPI_Keyval_free(key, ierr)
    call check(key == MPI_KEYVAL_INVALID, 'MPI_Keyval_free')
    call MPI_Comm_free(comm, ierr)
    call MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierr)
    call check(flag .and. value >= 32767, 'MPI_TAG_UB')
  end subroutine

  subroutine handlers
    integer :: handler, found, comm
    integer :: handled
    common /handler_calls/ handled
    external :: wrong
    call MPI_Comm_dup(MPI_COMM_SELF, comm, ierr)
    call MPI_Errhandler_create(wrong, handler, ierr)
    call MPI_Errhandler_set(comm, handler, ierr)
    call MPI_Errhandler_get(comm, found, ierr)
    call check(found == handler, 'MPI_Errhandler_get')
    handled = 0
    call MPI_Comm_call_errhandler(comm, MPI_ERR_TOPOLOGY, ierr)
    call check(handled == MPI_ERR_TOPOLOGY, 'MPI_Errhandler_set')
    call MPI_Errhandler_free(found, ierr)
    call MPI_Errhandler_free(handler, ierr)
    call MPI_Comm_free(comm, ierr)
  end subroutine
end program

subroutine wrong(comm, code)
  implicit none
  integer :: comm, code
  integer :: handled
  common /handler_calls/ handled
  handled = code
end subroutine
