! Data that pass between Fortran and C: attributes that one language sets and the other reads or
! copies, and the extra state of generalized requests. The Fortran code calls the C functions by
! their own symbols.
module f_languages_callbacks
  use, intrinsic :: iso_c_binding
  use mpi, only: MPI_ADDRESS_KIND, MPI_SUCCESS, MPI_UNDEFINED, MPI_STATUS_SIZE, MPI_SOURCE, MPI_TAG, MPI_BYTE
  implicit none
  ! The values that callbacks saw. The C copy function lets the copy point to `fresh`.
  integer(c_int) :: c_copied = 0, c_deleted = 0
  integer(c_int), target :: fresh = 0
  integer(MPI_ADDRESS_KIND) :: f_deleted = 0
  interface
    integer(c_int) function c_keyval(copy, delete, key, state) bind(C, name='PMPI_Comm_create_keyval')
      import
      type(c_funptr), value :: copy, delete
      integer(c_int) :: key
      type(c_ptr), value :: state
    end function
    integer(c_int) function c_set(comm, key, val) bind(C, name='PMPI_Comm_set_attr')
      import
      integer(c_int), value :: comm, key
      type(c_ptr), value :: val
    end function
    integer(c_int) function c_get(comm, key, val, flag) bind(C, name='PMPI_Comm_get_attr')
      import
      integer(c_int), value :: comm, key
      type(c_ptr) :: val
      integer(c_int) :: flag
    end function
    integer(c_int) function c_type_set(t, key, val) bind(C, name='PMPI_Type_set_attr')
      import
      integer(c_int), value :: t, key
      type(c_ptr), value :: val
    end function
    integer(c_int) function c_type_get(t, key, val, flag) bind(C, name='PMPI_Type_get_attr')
      import
      integer(c_int), value :: t, key
      type(c_ptr) :: val
      integer(c_int) :: flag
    end function
    integer(c_int) function c_win_set(win, key, val) bind(C, name='PMPI_Win_set_attr')
      import
      integer(c_int), value :: win, key
      type(c_ptr), value :: val
    end function
    integer(c_int) function c_win_get(win, key, val, flag) bind(C, name='PMPI_Win_get_attr')
      import
      integer(c_int), value :: win, key
      type(c_ptr) :: val
      integer(c_int) :: flag
    end function
    ! `MPI_COMM_DUP_FN` of mpi.h.
    integer(c_int) function c_dup(object, key, state, val, new, flag) bind(C, name='MPIR_Dup_fn')
      import
      integer(c_int), value :: object, key
      type(c_ptr), value :: state, val
      type(c_ptr) :: new
      integer(c_int) :: flag
    end function
  end interface
contains
  ! Keeps its argument, and counts in the original.
  integer(c_int) function c_counts(object, key, state, val, new, flag) bind(C)
    integer(c_int), value :: object, key
    type(c_ptr), value :: state, val
    type(c_ptr) :: new
    integer(c_int) :: flag
    integer(c_int), pointer :: number
    call c_f_pointer(val, number)
    c_copied = number
    number = number + 1
    new = val
    flag = 1
    c_counts = 0
  end function

  ! Points to a variable of its own.
  integer(c_int) function c_makes(object, key, state, val, new, flag) bind(C)
    integer(c_int), value :: object, key
    type(c_ptr), value :: state, val
    type(c_ptr) :: new
    integer(c_int) :: flag
    integer(c_int), pointer :: number
    call c_f_pointer(val, number)
    fresh = number*10
    new = c_loc(fresh)
    flag = 1
    c_makes = 0
  end function

  integer(c_int) function c_delete(object, key, val, state) bind(C)
    integer(c_int), value :: object, key
    type(c_ptr), value :: val, state
    integer(c_int), pointer :: number
    call c_f_pointer(val, number)
    c_deleted = number
    c_delete = 0
  end function

  subroutine adds_one(object, key, extra, val, new, flag, ierror)
    integer :: object, key, ierror
    integer(MPI_ADDRESS_KIND) :: extra, val, new
    logical :: flag
    new = val + 1
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine

  subroutine old_adds_one(object, key, extra, val, new, flag, ierror)
    integer :: object, key, extra, val, new, ierror
    logical :: flag
    new = val + 1
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine

  subroutine f_delete(object, key, val, extra, ierror)
    integer :: object, key, ierror
    integer(MPI_ADDRESS_KIND) :: val, extra
    f_deleted = val
    ierror = MPI_SUCCESS
  end subroutine

  subroutine old_f_delete(object, key, val, extra, ierror)
    integer :: object, key, val, extra, ierror
    f_deleted = val
    ierror = MPI_SUCCESS
  end subroutine

  subroutine query(extra, status, ierror)
    integer(MPI_ADDRESS_KIND) :: extra
    integer :: status(MPI_STATUS_SIZE), ierror
    status(MPI_SOURCE) = MPI_UNDEFINED
    status(MPI_TAG) = MPI_UNDEFINED
    call MPI_Status_set_cancelled(status, .false., ierror)
    call MPI_Status_set_elements(status, MPI_BYTE, 0, ierror)
    extra = extra + 100
    ierror = MPI_SUCCESS
  end subroutine

  subroutine release(extra, ierror)
    integer(MPI_ADDRESS_KIND) :: extra
    integer :: ierror
    extra = extra + 10
    ierror = MPI_SUCCESS
  end subroutine

  subroutine cancel(extra, complete, ierror)
    integer(MPI_ADDRESS_KIND) :: extra
    logical :: complete
    integer :: ierror
    extra = extra + 1
    ierror = MPI_SUCCESS
  end subroutine
end module

program f_languages
  use mpi
  use f_languages_callbacks
  implicit none
  character(*), parameter :: program_name = 'f_languages'
  integer, parameter :: wide = MPI_ADDRESS_KIND
  integer(wide), parameter :: big = 2_wide**40 + 7
  integer :: ierr, me, n, errors, total
  errors = 0
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
  call reading
  call types
  call windows
  call keys_of_c
  call keys_of_fortran
  call requests
  call MPI_Allreduce(errors, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call print_outcome(total)
  call MPI_Finalize(ierr)
  if (total /= 0) stop 1
contains
  include 'check.inc'

  ! The value that C gets under a key of a communicator.
  type(c_ptr) function from_c(comm, key, text)
    integer, intent(in) :: comm, key
    character(*), intent(in) :: text
    integer(c_int) :: flag
    flag = 0
    from_c = c_null_ptr
    ierr = c_get(comm, key, from_c, flag)
    call check(ierr == MPI_SUCCESS .and. flag == 1 .and. c_associated(from_c), text//': C gets it')
  end function

  integer(c_int) function int_at(p)
    type(c_ptr), intent(in) :: p
    integer(c_int), pointer :: number
    int_at = -1
    if (.not. c_associated(p)) return
    call c_f_pointer(p, number)
    int_at = number
  end function

  integer(wide) function aint_at(p)
    type(c_ptr), intent(in) :: p
    integer(wide), pointer :: number
    aint_at = -1
    if (.not. c_associated(p)) return
    call c_f_pointer(p, number)
    aint_at = number
  end function

  integer(wide) function bits(p)
    type(c_ptr), intent(in) :: p
    bits = transfer(p, bits)
  end function

  ! The low half of the value.
  integer function low(val)
    integer(wide), intent(in) :: val
    integer :: halves(2)
    halves = transfer(val, halves)
    low = halves(1)
  end function

  integer function old_value(comm, key, text)
    integer, intent(in) :: comm, key
    character(*), intent(in) :: text
    logical :: flag
    old_value = -1
    call MPI_Attr_get(comm, key, old_value, flag, ierr)
    call check(flag, text//': MPI_Attr_get')
  end function

  integer(wide) function new_value(comm, key, text)
    integer, intent(in) :: comm, key
    character(*), intent(in) :: text
    logical :: flag
    new_value = -1
    call MPI_Comm_get_attr(comm, key, new_value, flag, ierr)
    call check(flag, text//': MPI_Comm_get_attr')
  end function

  subroutine reading
    integer :: key, others(20), i
    integer(c_int), target :: mine
    integer(wide) :: val
    type(c_ptr) :: first, again
    mine = 3
    call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, key, 0_wide, ierr)

    call MPI_Attr_put(MPI_COMM_SELF, key, -7, ierr)
    first = from_c(MPI_COMM_SELF, key, 'INTEGER')
    call check(int_at(first) == -7, 'INTEGER read in C')
    call check(old_value(MPI_COMM_SELF, key, 'INTEGER') == -7, 'INTEGER read again')
    call check(new_value(MPI_COMM_SELF, key, 'INTEGER') == -7_wide, 'INTEGER is sign-extended')

    val = -big
    call MPI_Comm_set_attr(MPI_COMM_SELF, key, val, ierr)
    first = from_c(MPI_COMM_SELF, key, 'address')
    call check(aint_at(first) == val, 'address-sized integer read in C')
    call check(new_value(MPI_COMM_SELF, key, 'address') == val, 'address-sized integer read again')
    call check(old_value(MPI_COMM_SELF, key, 'address') == -7, 'address-sized integer is cut')

    ! The address stays valid while other attributes are set and deleted.
    do i = 1, size(others)
      call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, others(i), 0_wide, ierr)
      call MPI_Comm_set_attr(MPI_COMM_SELF, others(i), int(i, wide), ierr)
    end do
    call MPI_Comm_delete_attr(MPI_COMM_SELF, others(1), ierr)
    again = from_c(MPI_COMM_SELF, key, 'address again')
    call check(c_associated(first, again) .and. aint_at(first) == val, 'the address remains')
    do i = 1, size(others)
      if (i > 1) call MPI_Comm_delete_attr(MPI_COMM_SELF, others(i), ierr)
      call MPI_Comm_free_keyval(others(i), ierr)
    end do

    ierr = c_set(MPI_COMM_SELF, key, c_loc(mine))
    first = from_c(MPI_COMM_SELF, key, 'pointer')
    call check(c_associated(first, c_loc(mine)), 'pointer read in C')
    call check(new_value(MPI_COMM_SELF, key, 'pointer') == bits(c_loc(mine)), 'pointer read in Fortran')
    call check(old_value(MPI_COMM_SELF, key, 'pointer') == low(bits(c_loc(mine))), 'pointer cut in Fortran')
    call MPI_Comm_delete_attr(MPI_COMM_SELF, key, ierr)
    call MPI_Comm_free_keyval(key, ierr)
  end subroutine

  subroutine types
    integer :: key, t, u
    integer(c_int), target :: mine
    integer(c_int) :: flag
    integer(wide) :: val
    logical :: found
    type(c_ptr) :: got
    mine = 5
    call MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, key, 0_wide, ierr)
    call MPI_Type_contiguous(2, MPI_INTEGER, t, ierr)
    call MPI_Type_set_attr(t, key, big, ierr)
    call MPI_Type_dup(t, u, ierr)
    ierr = c_type_get(u, key, got, flag)
    call check(flag == 1 .and. aint_at(got) == big, 'copy of a datatype read in C')
    call MPI_Type_free(u, ierr)
    ierr = c_type_set(t, key, c_loc(mine))
    call MPI_Type_dup(t, u, ierr)
    ierr = c_type_get(u, key, got, flag)
    call check(flag == 1 .and. c_associated(got, c_loc(mine)), 'pointer that Fortran copied')
    call MPI_Type_get_attr(u, key, val, found, ierr)
    call check(found .and. val == bits(c_loc(mine)), 'pointer of a datatype')
    call MPI_Type_free(u, ierr)
    call MPI_Type_free(t, ierr)
    call MPI_Type_free_keyval(key, ierr)
  end subroutine

  subroutine windows
    integer :: key, win
    integer(c_int), target :: mine
    integer(c_int) :: flag
    integer(wide) :: val
    logical :: found
    type(c_ptr) :: got
    mine = 6
    call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, f_delete, key, 0_wide, ierr)
    call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr)
    call MPI_Win_set_attr(win, key, big, ierr)
    ierr = c_win_get(win, key, got, flag)
    call check(flag == 1 .and. aint_at(got) == big, 'attribute of a window read in C')
    ierr = c_win_set(win, key, c_loc(mine))
    call check(f_deleted == big, 'attribute of a window deleted')
    call MPI_Win_get_attr(win, key, val, found, ierr)
    call check(found .and. val == bits(c_loc(mine)), 'pointer of a window')
    call MPI_Win_free(win, ierr)
    call check(f_deleted == bits(c_loc(mine)), 'pointer of a window deleted')
    call MPI_Win_free_keyval(key, ierr)
  end subroutine

  subroutine keys_of_c
    integer :: key, comm, copy
    integer(c_int), target :: mine
    type(c_ptr) :: original, got
    call MPI_Comm_dup(MPI_COMM_SELF, comm, ierr)

    ierr = c_keyval(c_funloc(c_dup), c_funloc(c_delete), key, c_null_ptr)
    call MPI_Attr_put(comm, key, -11, ierr)
    original = from_c(comm, key, 'C dup')
    call MPI_Comm_dup(comm, copy, ierr)
    got = from_c(copy, key, 'C dup')
    call check(.not. c_associated(got, original), 'the copy has an address of its own')
    call check(int_at(got) == -11, 'C copies an INTEGER')
    call check(old_value(copy, key, 'C dup') == -11, 'INTEGER that C copied')
    call MPI_Attr_put(comm, key, 12, ierr)
    call check(c_deleted == -11, 'C deletes an INTEGER')
    call check(old_value(copy, key, 'C dup') == -11, 'the copy has a value of its own')
    call MPI_Comm_free(copy, ierr)
    call MPI_Comm_set_attr(comm, key, big, ierr)
    call MPI_Comm_dup(comm, copy, ierr)
    call check(aint_at(from_c(copy, key, 'C dup')) == big, 'C copies an address-sized integer')
    call check(new_value(copy, key, 'C dup') == big, 'address-sized integer that C copied')
    call MPI_Comm_free(copy, ierr)
    call MPI_Comm_delete_attr(comm, key, ierr)
    call MPI_Comm_free_keyval(key, ierr)

    ! A value that a C function writes to the value's place is the new value.
    ierr = c_keyval(c_funloc(c_counts), c_funloc(c_delete), key, c_null_ptr)
    call MPI_Attr_put(comm, key, -1, ierr)
    call MPI_Comm_dup(comm, copy, ierr)
    call check(c_copied == -1, 'a C copy function sees the value')
    call check(new_value(comm, key, 'counted') == 0, 'and changes it')
    call check(new_value(copy, key, 'counted') == 0, 'before it is copied')
    call MPI_Comm_free(copy, ierr)
    call MPI_Comm_delete_attr(comm, key, ierr)
    call check(c_deleted == 0, 'a C delete function sees the value')
    mine = 20
    ierr = c_set(comm, key, c_loc(mine))
    call MPI_Comm_dup(comm, copy, ierr)
    call check(c_associated(from_c(copy, key, 'pointer'), c_loc(mine)) .and. mine == 21, 'all of it in C')
    call MPI_Comm_free(copy, ierr)
    call MPI_Comm_delete_attr(comm, key, ierr)
    call check(c_deleted == 21, 'a pointer deleted in C')
    call MPI_Comm_free_keyval(key, ierr)

    ! Another pointer is a value of C.
    ierr = c_keyval(c_funloc(c_makes), c_funloc(c_delete), key, c_null_ptr)
    call MPI_Attr_put(comm, key, 4, ierr)
    call MPI_Comm_dup(comm, copy, ierr)
    got = from_c(copy, key, 'made')
    call check(c_associated(got, c_loc(fresh)) .and. int_at(got) == 40, 'a C copy function makes a pointer')
    call check(new_value(copy, key, 'made') == bits(c_loc(fresh)), 'which Fortran gets')
    call MPI_Comm_free(copy, ierr)
    call check(c_deleted == 40, 'and C deletes')
    call MPI_Comm_free(comm, ierr)
    call MPI_Comm_free_keyval(key, ierr)
  end subroutine

  subroutine keys_of_fortran
    integer :: key, comm, copy
    integer(c_int), target :: mine
    call MPI_Comm_dup(MPI_COMM_SELF, comm, ierr)
    mine = 9

    call MPI_Comm_create_keyval(adds_one, f_delete, key, 0_wide, ierr)
    call MPI_Comm_set_attr(comm, key, big, ierr)
    call MPI_Comm_dup(comm, copy, ierr)
    call check(aint_at(from_c(copy, key, 'copied')) == big + 1, 'C reads what Fortran copied')
    call MPI_Comm_free(copy, ierr)
    call check(f_deleted == big + 1, 'Fortran deletes the copy')
    call MPI_Attr_put(comm, key, -3, ierr)
    call MPI_Comm_dup(comm, copy, ierr)
    call check(int_at(from_c(copy, key, 'copied')) == -2, 'C reads the INTEGER that Fortran copied')
    call MPI_Comm_free(copy, ierr)
    call check(f_deleted == -2, 'Fortran deletes the copied INTEGER')
    ierr = c_set(comm, key, c_loc(mine))
    call MPI_Comm_dup(comm, copy, ierr)
    call check(new_value(copy, key, 'pointer') == bits(c_loc(mine)) + 1, 'Fortran counts on a pointer')
    call MPI_Comm_free(copy, ierr)
    call MPI_Comm_delete_attr(comm, key, ierr)
    call check(f_deleted == bits(c_loc(mine)), 'Fortran deletes a pointer')
    call MPI_Comm_free_keyval(key, ierr)

    call MPI_Keyval_create(old_adds_one, old_f_delete, key, 0, ierr)
    call MPI_Attr_put(comm, key, -5, ierr)
    call MPI_Comm_dup(comm, copy, ierr)
    call check(int_at(from_c(copy, key, 'old')) == -4, 'C reads what an old procedure copied')
    call check(new_value(copy, key, 'old') == -4, 'and so does Fortran')
    call MPI_Comm_free(copy, ierr)
    call check(f_deleted == -4, 'an old procedure deletes')
    call MPI_Attr_delete(comm, key, ierr)
    call MPI_Keyval_free(key, ierr)

    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, 0_wide, ierr)
    ierr = c_set(comm, key, c_loc(mine))
    call MPI_Comm_dup(comm, copy, ierr)
    call check(c_associated(from_c(copy, key, 'handed on'), c_loc(mine)), 'a pointer handed on by Fortran')
    call MPI_Comm_free(copy, ierr)
    call MPI_Comm_free(comm, ierr)
    call MPI_Comm_free_keyval(key, ierr)
  end subroutine

  ! Callbacks get the variable itself.
  subroutine requests
    integer(wide), volatile :: state
    integer :: request, status(MPI_STATUS_SIZE)
    state = 1000
    call MPI_Grequest_start(query, release, cancel, state, request, ierr)
    state = 2000
    call MPI_Cancel(request, ierr)
    call check(state == 2001, 'cancel changes the extra state')
    call MPI_Grequest_complete(request, ierr)
    call MPI_Wait(request, status, ierr)
    call check(state == 2111, 'query and free change the extra state')
    call check(request == MPI_REQUEST_NULL, 'the request is freed')
  end subroutine
end program
