! Chapters 12 and 14 from `use mpi_f08`: windows (created and allocated, fences, locks, accumulate, fetch_and_op,
! groups of exposure, attributes) and files (views, explicit, individual, shared and collective access).
program f_windows_files_f08
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: ierr, me, n, errors, total
  errors = 0
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
  call created
  call allocated
  call groups
  call files
  call MPI_Allreduce(errors, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (me == 0) then
    if (total == 0) then
      print '(a,i0,a)', 'f_windows_files_f08 on ', n, ': ok'
    else
      print '(a,i0,a)', 'f_windows_files_f08: ', total, ' mismatches'
    end if
  end if
  call MPI_Finalize(ierr)
  if (total /= 0) stop 1
contains
  subroutine check(ok, text)
    logical, intent(in) :: ok
    character(*), intent(in) :: text
    if (.not. ok) then
      errors = errors + 1
      write (0, '(a,a,a,i0)') 'FAIL f_windows_files_f08.f90: ', text, ' on rank ', me
    end if
  end subroutine

  subroutine created
    integer, asynchronous :: memory(0:9), got(3)
    type(MPI_Win) :: win
    integer :: i, next, previous, model
    integer(kind=MPI_ADDRESS_KIND) :: bytes, at, value
    logical :: flag
    next = mod(me + 1, n)
    previous = mod(me + n - 1, n)
    memory = [(100 * me + i, i = 0, 9)]
    bytes = 40
    call MPI_Win_create(memory, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr)
    call check(ierr == MPI_SUCCESS .and. win /= MPI_WIN_NULL, 'created')
    call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, flag, ierr)
    call check(flag .and. value == bytes, 'size of the window')
    call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, value, flag, ierr)
    call check(flag .and. value == 4, 'unit of the window')
    call MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, value, flag, ierr)
    call check(flag .and. value == MPI_WIN_FLAVOR_CREATE, 'flavor')
    call MPI_Win_get_attr(win, MPI_WIN_MODEL, value, flag, ierr)
    model = int(value)
    call check(model == MPI_WIN_UNIFIED .or. model == MPI_WIN_SEPARATE, 'model')
    call MPI_Win_fence(MPI_MODE_NOPRECEDE, win, ierr)
    at = 2
    call MPI_Get(got, 3, MPI_INTEGER, next, at, 3, MPI_INTEGER, win, ierr)
    call MPI_Win_fence(0, win, ierr)
    call check(all_equal(got, [(100 * next + i, i = 2, 4)]), 'got')
    got = [7, 8, 9]
    at = 0
    call MPI_Put(got, 3, MPI_INTEGER, next, at, 3, MPI_INTEGER, win, ierr)
    at = 9
    call MPI_Accumulate(me + 1, 1, MPI_INTEGER, 0, at, 1, MPI_INTEGER, MPI_SUM, win, ierr)
    call MPI_Win_fence(MPI_MODE_NOSUCCEED, win, ierr)
    call check(all_equal(memory(0:2), [7, 8, 9]), 'put')
    if (me == 0) call check(memory(9) == 9 + n * (n + 1) / 2, 'accumulated')
    call MPI_Win_free(win, ierr)
    call check(win == MPI_WIN_NULL, 'freed')
    call check(previous >= 0, 'neighbour')
  end subroutine

  logical function all_equal(a, b) result(same)
    integer, intent(in) :: a(:), b(:)
    same = size(a) == size(b)
    if (same) same = all(a == b)
  end function

  subroutine allocated
    type(MPI_Win) :: win
    integer, asynchronous :: mine, was, step
    integer :: target
    integer(kind=MPI_ADDRESS_KIND) :: bytes, at
    type(c_ptr) :: base
    integer, pointer :: memory(:)
    bytes = 16
    call MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierr)
    call c_f_pointer(base, memory, [4])
    memory = 0
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    at = 1
    step = 1
    target = 0
    call MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win, ierr)
    call MPI_Fetch_and_op(step, was, MPI_INTEGER, target, at, MPI_SUM, win, ierr)
    call MPI_Win_flush(target, win, ierr)
    call check(was >= 0 .and. was < n, 'fetched')
    call MPI_Win_unlock(target, win, ierr)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win, ierr)
    call MPI_Get(mine, 1, MPI_INTEGER, target, at, 1, MPI_INTEGER, win, ierr)
    call MPI_Win_unlock(target, win, ierr)
    call check(mine == n, 'counted')
    call MPI_Win_free(win, ierr)
  end subroutine

  subroutine groups
    type(MPI_Win) :: win
    type(MPI_Group) :: world, one
    integer :: from(1), to(1), i
    integer, asynchronous :: value
    integer(kind=MPI_ADDRESS_KIND) :: bytes, at
    value = -1
    bytes = 4
    call MPI_Win_create(value, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr)
    call MPI_Comm_group(MPI_COMM_WORLD, world, ierr)
    from(1) = mod(me + n - 1, n)
    to(1) = mod(me + 1, n)
    call MPI_Group_incl(world, 1, from, one, ierr)
    call MPI_Win_post(one, 0, win, ierr)
    call MPI_Group_free(one, ierr)
    call MPI_Group_incl(world, 1, to, one, ierr)
    call MPI_Win_start(one, 0, win, ierr)
    at = 0
    i = 1000 + me
    call MPI_Put(i, 1, MPI_INTEGER, to(1), at, 1, MPI_INTEGER, win, ierr)
    call MPI_Win_complete(win, ierr)
    call MPI_Win_wait(win, ierr)
    call MPI_F_sync_reg(value)
    call check(value == 1000 + from(1), 'put under groups')
    call MPI_Group_free(one, ierr)
    call MPI_Group_free(world, ierr)
    call MPI_Win_free(win, ierr)
  end subroutine

  subroutine files
    type(MPI_File) :: fh
    type(MPI_Datatype) :: filetype, etype, seen
    type(MPI_Status) :: status
    type(MPI_Request) :: request
    integer :: i, count, mode
    integer, asynchronous :: block(4), back(4)
    integer(kind=MPI_OFFSET_KIND) :: at, bytes, disp
    character(len=40) :: representation
    character(len=*), parameter :: name = 'f_windows_files_f08.data  '
    call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, fh, ierr)
    call check(ierr == MPI_SUCCESS, 'opened')
    bytes = 0
    call MPI_File_set_size(fh, bytes, ierr)
    call MPI_File_get_amode(fh, mode, ierr)
    call check(iand(mode, MPI_MODE_RDWR) /= 0, 'mode')
    block = [(10 * me + i, i = 1, 4)]
    at = 16 * me
    call MPI_File_write_at_all(fh, at, block, 4, MPI_INTEGER, status, ierr)
    call MPI_Get_count(status, MPI_INTEGER, count, ierr)
    call check(count == 4, 'written')
    call MPI_File_sync(fh, ierr)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    at = 16 * mod(me + 1, n)
    call MPI_File_iread_at(fh, at, back, 4, MPI_INTEGER, request, ierr)
    call MPI_Wait(request, status, ierr)
    call check(all_equal(back, [(10 * mod(me + 1, n) + i, i = 1, 4)]), 'read of a neighbour')
    call MPI_File_get_size(fh, bytes, ierr)
    call check(bytes == 16 * n, 'size of the file')
    ! Each rank has its own column of a matrix with a row of n.
    call MPI_Type_vector(4, 1, n, MPI_INTEGER, filetype, ierr)
    call MPI_Type_commit(filetype, ierr)
    disp = 4 * me
    call MPI_File_set_view(fh, disp, MPI_INTEGER, filetype, 'native', MPI_INFO_NULL, ierr)
    call MPI_File_get_view(fh, disp, etype, seen, representation, ierr)
    call check(disp == 4 * me .and. etype == MPI_INTEGER .and. representation == 'native', 'view')
    call MPI_File_write_all(fh, block, 4, MPI_INTEGER, status, ierr)
    at = 0
    call MPI_File_seek(fh, at, MPI_SEEK_SET, ierr)
    back = 0
    call MPI_File_read_all(fh, back, 4, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
    call check(all_equal(back, block), 'column')
    call MPI_File_get_position(fh, at, ierr)
    call check(at == 4, 'position')
    call MPI_Type_free(filetype, ierr)
    disp = 0
    call MPI_File_set_view(fh, disp, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, ierr)
    call MPI_File_write_ordered(fh, block, 4, MPI_INTEGER, status, ierr)
    at = 4 * me
    call MPI_File_read_at(fh, at, back, 4, MPI_INTEGER, status, ierr)
    call check(all_equal(back, block), 'in order')
    call MPI_File_get_position_shared(fh, at, ierr)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    call check(at == 4 * n, 'shared position')
    call MPI_File_close(fh, ierr)
    call check(fh == MPI_FILE_NULL, 'closed')
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    if (me == 0) then
      call MPI_File_delete(name, MPI_INFO_NULL, ierr)
      call check(ierr == MPI_SUCCESS, 'deleted')
    end if
    call MPI_File_open(MPI_COMM_SELF, '/nowhere/at/all', MPI_MODE_RDONLY, MPI_INFO_NULL, fh, ierr)
    call check(ierr /= MPI_SUCCESS, 'a file that is not there')
    call MPI_Error_class(ierr, i, ierr)
    call check(i == MPI_ERR_NO_SUCH_FILE, 'class of its error')
  end subroutine
end program
