! Chapter 12 from `use mpi_f08`: all operations, epochs and objects of windows, with counts of the
! default kind and of MPI_COUNT_KIND.
module window_errors
  use mpi_f08
  implicit none
  integer :: handled
contains
  subroutine wrong_window(win, code)
    type(MPI_Win) :: win
    integer :: code
    handled = code
  end subroutine
end module

program f_one_sided_f08
  use mpi_f08
  use window_errors
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  implicit none
  character(*), parameter :: program_name = 'f_one_sided_f08'
  integer :: me, n, errors, total, left, right
  errors = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  left = modulo(me - 1, n)
  right = modulo(me + 1, n)
  call small
  call large
  call dynamic
  call exposed
  call flushed
  call described
  call MPI_Allreduce(errors, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call print_outcome(total)
  call MPI_Finalize()
  if (total /= 0) stop 1
contains
  include 'check.inc'

  subroutine small
    integer, parameter :: ck = kind(0), ak = kind(0)
    include 'win_f08.inc'
  end subroutine

  subroutine large
    integer, parameter :: ck = MPI_COUNT_KIND, ak = MPI_ADDRESS_KIND
    include 'win_f08.inc'
  end subroutine

  ! Memory that is attached later. Other ranks get its address in a message.
  subroutine dynamic
    integer, asynchronous :: mine(4), s
    integer(kind=MPI_ADDRESS_KIND) :: at, there
    type(MPI_Win) :: win
    mine = 0
    s = me + 5
    call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_attach(win, mine, 16_MPI_ADDRESS_KIND)
    call MPI_Get_address(mine, at)
    call MPI_Sendrecv(at, 1, MPI_AINT, left, 1, there, 1, MPI_AINT, right, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Win_fence(0, win)
    there = MPI_Aint_add(there, 8_MPI_ADDRESS_KIND)
    call MPI_Put(s, 1, MPI_INTEGER, right, there, 1, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call check(mine(3) == left + 5, 'MPI_Win_attach')
    call MPI_Win_detach(win, mine)
    call MPI_Win_free(win)
  end subroutine

  ! Post, start, complete, wait; and test instead of wait.
  subroutine exposed
    integer, asynchronous :: mine(2), s
    integer(kind=MPI_ADDRESS_KIND) :: at
    logical :: flag
    type(MPI_Group) :: world, origin, target
    type(MPI_Win) :: win
    mine = 0
    s = 3 * me
    call MPI_Win_create(mine, 8_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_get_group(win, world)
    call MPI_Group_incl(world, 1, [left], origin)
    call MPI_Group_incl(world, 1, [right], target)
    at = 0
    call MPI_Win_post(origin, 0, win)
    call MPI_Win_start(target, 0, win)
    call MPI_Put(s, 1, MPI_INTEGER, right, at, 1, MPI_INTEGER, win)
    call MPI_Win_complete(win)
    call MPI_Win_wait(win)
    call check(mine(1) == 3 * left, 'MPI_Win_wait')
    at = 1
    call MPI_Win_post(origin, 0, win)
    call MPI_Win_start(target, 0, win)
    call MPI_Accumulate(s, 1, MPI_INTEGER, right, at, 1, MPI_INTEGER, MPI_SUM, win)
    call MPI_Win_complete(win)
    flag = .false.
    do while (.not. flag)
      call MPI_Win_test(win, flag)
    end do
    call check(mine(2) == 3 * left, 'MPI_Win_test')
    call MPI_Group_free(world)
    call MPI_Group_free(origin)
    call MPI_Group_free(target)
    call MPI_Win_free(win)
  end subroutine

  subroutine flushed
    integer, asynchronous :: mine(2), s, was, compare
    integer(kind=MPI_ADDRESS_KIND) :: at
    type(MPI_Win) :: win
    mine = [0, 17]
    call MPI_Win_create(mine, 8_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_lock_all(0, win)
    s = 1
    at = 0
    call MPI_Fetch_and_op(s, was, MPI_INTEGER, 0, at, MPI_SUM, win)
    call MPI_Win_flush_local(0, win)
    call MPI_Win_flush(0, win)
    call check(was >= 0 .and. was < n, 'MPI_Fetch_and_op')
    call MPI_Win_sync(win)
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Fetch_and_op(s, was, MPI_INTEGER, 0, at, MPI_NO_OP, win)
    call MPI_Win_flush_local_all(win)
    call MPI_Win_flush_all(win)
    call check(was == n, 'everybody added one')
    at = 1
    compare = 17
    s = 100 + me
    call MPI_Compare_and_swap(s, compare, was, MPI_INTEGER, right, at, win)
    call MPI_Win_flush(right, win)
    call check(was == 17, 'MPI_Compare_and_swap')
    call MPI_Win_unlock_all(win)
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win)
    call check(mine(2) == 100 + left, 'what was swapped in')
    call MPI_Win_unlock(me, win)
    call MPI_Win_free(win)
  end subroutine

  subroutine described
    integer, asynchronous :: mine(2)
    integer :: key, length, code
    integer(kind=MPI_ADDRESS_KIND) :: value
    character(len=MPI_MAX_OBJECT_NAME) :: name
    character(len=20) :: text
    logical :: flag
    type(MPI_Errhandler) :: handler, found
    type(MPI_Info) :: info
    type(MPI_Win) :: win
    call MPI_Info_create(info)
    call MPI_Info_set(info, 'no_locks', 'true')
    call MPI_Win_create(mine, 8_MPI_ADDRESS_KIND, 4, info, MPI_COMM_WORLD, win)
    call MPI_Win_set_info(win, info)
    call MPI_Info_free(info)
    call MPI_Win_get_info(win, info)
    call MPI_Info_get(info, 'no_locks', 20, text, flag)
    call check(flag .and. text == 'true', 'MPI_Win_get_info')
    call MPI_Info_free(info)
    call MPI_Win_set_name(win, 'a window')
    call MPI_Win_get_name(win, name, length)
    call check(length == 8 .and. name == 'a window', 'MPI_Win_get_name')
    call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND)
    value = 12345678901_MPI_ADDRESS_KIND
    call MPI_Win_set_attr(win, key, value)
    value = 0
    call MPI_Win_get_attr(win, key, value, flag)
    call check(flag .and. value == 12345678901_MPI_ADDRESS_KIND, 'MPI_Win_get_attr')
    call MPI_Win_delete_attr(win, key)
    call MPI_Win_get_attr(win, key, value, flag)
    call check(.not. flag, 'MPI_Win_delete_attr')
    call MPI_Win_free_keyval(key)
    call check(key == MPI_KEYVAL_INVALID, 'MPI_Win_free_keyval')
    call MPI_Win_create_errhandler(wrong_window, handler)
    call MPI_Win_set_errhandler(win, handler)
    call MPI_Win_get_errhandler(win, found)
    call check(found == handler, 'MPI_Win_get_errhandler')
    handled = 0
    call MPI_Win_call_errhandler(win, MPI_ERR_ASSERT)
    call check(handled == MPI_ERR_ASSERT, 'MPI_Win_call_errhandler')
    call MPI_Errhandler_free(found)
    call MPI_Errhandler_free(handler)
    call MPI_Win_free(win)
  end subroutine
end program
