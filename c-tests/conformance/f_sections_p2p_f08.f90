! Section 19.1.13: array sections with gaps as buffers of point-to-point calls that run on after the
! call, with datatypes that have holes. Also as buffers of partitioned communication, and of
! one-sided calls of one value. Each must have the same effect as with a contiguous array.
program f_sections_p2p_f08
  use mpi_f08
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  implicit none
  character(*), parameter :: program_name = 'f_sections_p2p_f08'
  ! An integer and two reals, with a hole between them.
  type mixed
    sequence
    integer :: whole
    integer :: unused
    double precision :: first, second
  end type
  integer, parameter :: size = 60
  integer :: me, n, errors, total, i, next, before
  type(MPI_Datatype) :: every_other, shifted, record
  type(MPI_Comm) :: comm
  errors = 0
  call MPI_Init()
  comm = MPI_COMM_WORLD
  call MPI_Comm_rank(comm, me)
  call MPI_Comm_size(comm, n)
  next = modulo(me + 1, n)
  before = modulo(me - 1, n)
  call MPI_Type_vector(3, 1, 2, MPI_INTEGER, every_other)
  call MPI_Type_commit(every_other)
  ! The second and the fourth of four elements.
  call MPI_Type_create_indexed_block(2, 1, [1, 3], MPI_INTEGER, shifted)
  call MPI_Type_commit(shifted)
  call MPI_Type_create_struct(2, [1, 2], [0_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND], &
    [MPI_INTEGER, MPI_DOUBLE_PRECISION], record)
  call MPI_Type_commit(record)
  call holes
  call started_again
  call columns
  call records
  call across
  call partitions(5, 6)
  call partitions(6, 5)
  call partitions(1, 30)
  call one_value
  call collected
  call refusals
  call MPI_Type_free(every_other)
  call MPI_Type_free(shifted)
  call MPI_Type_free(record)
  call MPI_Allreduce(errors, total, 1, MPI_INTEGER, MPI_SUM, comm)
  call print_outcome(total)
  call MPI_Finalize()
  if (total /= 0) stop 1
contains
  include 'check.inc'

  ! The array of rank r.
  function values(r) result(a)
    integer, intent(in) :: r
    integer :: a(size)
    a = [(i + 100 * r, i = 1, size)]
  end function

  subroutine holes
    integer, asynchronous :: a(size), b(size)
    integer :: c(size), theirs(size), count
    type(MPI_Request) :: q(2)
    type(MPI_Status) :: s(2)
    ! Of the section a(1), a(3), a(5)…: the first, third and fifth element, then the sixth and so
    ! on. Two vectors take 5 + 5 elements.
    a = values(me)
    theirs = values(before)
    b = -1
    call MPI_Irecv(b(2:40:2), 2, every_other, before, 1, comm, q(1))
    call MPI_Isend(a(1:40:2), 2, every_other, next, 1, comm, q(2))
    call MPI_Waitall(2, q, s)
    c = -1
    c([2, 6, 10, 12, 16, 20]) = theirs([1, 5, 9, 11, 15, 19])
    call check(all(b == c), 'a datatype with holes')
    call MPI_Get_count(s(1), every_other, count)
    call check(count == 2, 'count')
    call MPI_Get_elements(s(1), every_other, count)
    call check(count == 6, 'elements')
    ! Backwards, with a lower bound of the data above zero, and in other modes.
    b = -1
    call MPI_Irecv(b(40:2:-2), 1, shifted, before, 2, comm, q(1))
    call MPI_Issend(a(1:40:3), 1, shifted, next, 2, comm, q(2))
    call MPI_Waitall(2, q, MPI_STATUSES_IGNORE)
    c = -1
    c([38, 34]) = theirs([4, 10])
    call check(all(b == c), 'backwards')
    ! The large count, and a message shorter than the receive.
    b = -1
    call MPI_Irecv(b(1:60:3), 3_MPI_COUNT_KIND, every_other, before, 3, comm, q(1))
    call MPI_Isend(a(1:7:2), 4_MPI_COUNT_KIND, MPI_INTEGER, next, 3, comm, q(2))
    call MPI_Waitall(2, q, s)
    c = -1
    c([1, 7, 13, 16]) = theirs([1, 3, 5, 7])
    call check(all(b == c), 'a part')
    call MPI_Get_elements(s(1), every_other, count)
    call check(count == 4, 'elements of a part')
    call MPI_Get_count(s(1), every_other, count)
    call check(count == MPI_UNDEFINED, 'count of a part')
    ! Both directions at once.
    b = -1
    call MPI_Isendrecv(a(1:40:2), 2, every_other, next, 4, b(2:40:2), 2, every_other, before, 4, comm, q(1))
    call MPI_Wait(q(1), MPI_STATUS_IGNORE)
    c = -1
    c([2, 6, 10, 12, 16, 20]) = theirs([1, 5, 9, 11, 15, 19])
    call check(all(b == c), 'isendrecv')
  end subroutine

  subroutine started_again
    integer, asynchronous :: a(size), b(size)
    integer :: c(size), theirs(size), k
    type(MPI_Request) :: q(2)
    call MPI_Recv_init(b(60:1:-3), 1, every_other, before, 5, comm, q(1))
    call MPI_Send_init(a(3:60:4), 1, every_other, next, 5, comm, q(2))
    do k = 1, 3
      a = values(me) * k
      theirs = values(before) * k
      b = -k
      call MPI_Startall(2, q)
      call MPI_Waitall(2, q, MPI_STATUSES_IGNORE)
      c = -k
      c([60, 54, 48]) = theirs([3, 11, 19])
      call check(all(b == c), 'persistent')
    end do
    call MPI_Request_free(q(1))
    call MPI_Request_free(q(2))
  end subroutine

  subroutine columns
    integer, asynchronous :: a(6, 10), b(6, 10)
    integer :: c(6, 10), theirs(6, 10)
    type(MPI_Request) :: q(2)
    a = reshape(values(me), [6, 10])
    theirs = reshape(values(before), [6, 10])
    ! Two and a third columns of a two-dimensional section: without holes, but not the whole
    ! section.
    b = -1
    call MPI_Irecv(b(2:6:2, 10:1:-3), 7, MPI_INTEGER, before, 6, comm, q(1))
    call MPI_Isend(a(1:5:2, 1:10:4), 7, MPI_INTEGER, next, 6, comm, q(2))
    call MPI_Waitall(2, q, MPI_STATUSES_IGNORE)
    c = -1
    c(2:6:2, 10) = theirs(1:5:2, 1)
    c(2:6:2, 7) = theirs(1:5:2, 5)
    c(2, 4) = theirs(1, 9)
    call check(all(b == c), 'a part of a matrix')
    ! A datatype that extends from one column into the next.
    b = -1
    call MPI_Irecv(b(1:4, 2:10:2), 2, every_other, before, 7, comm, q(1))
    call MPI_Isend(a(1:4, 2:10:2), 2, every_other, next, 7, comm, q(2))
    call MPI_Waitall(2, q, MPI_STATUSES_IGNORE)
    c = -1
    c(1:3:2, 2) = theirs(1:3:2, 2)
    c(1:2, 4) = theirs(1:2, 4)
    c(4, 4) = theirs(4, 4)
    c(2, 6) = theirs(2, 6)
    call check(all(b == c), 'columns')
  end subroutine

  subroutine records
    type(mixed), asynchronous :: a(9), b(9)
    type(MPI_Request) :: q(2)
    integer :: k
    do k = 1, 9
      a(k) = mixed(me * 10 + k, 77, me + k / 4d0, -k)
      b(k) = mixed(-1, -2, -3, -4)
    end do
    call MPI_Irecv(b(9:1:-2), 3, record, before, 8, comm, q(1))
    call MPI_Isend(a(1:9:3), 3, record, next, 8, comm, q(2))
    call MPI_Waitall(2, q, MPI_STATUSES_IGNORE)
    do k = 1, 9
      select case (k)
      case (5, 7, 9)
        call check(b(k)%whole == before * 10 + 1 + 3 * (9 - k) / 2 .and. b(k)%unused == -2 .and. &
          b(k)%second == -(1 + 3 * (9 - k) / 2), 'records')
      case default
        call check(b(k)%whole == -1 .and. b(k)%second == -4, 'records between')
      end select
    end do
  end subroutine

  ! Values that extend across gaps of the section.
  subroutine across
    integer, asynchronous :: a(size), b(size)
    integer :: c(size), theirs(size)
    type(MPI_Request) :: q(2)
    a = values(me)
    theirs = values(before)
    b = -1
    call MPI_Irecv(b(1:20:2), 3, MPI_DOUBLE_PRECISION, before, 9, comm, q(1))
    call MPI_Isend(a(1:60:5), 3, MPI_DOUBLE_PRECISION, next, 9, comm, q(2))
    call MPI_Waitall(2, q, MPI_STATUSES_IGNORE)
    c = -1
    c(1:11:2) = theirs(1:26:5)
    call check(all(b == c), 'values across gaps')
  end subroutine

  ! The same number of partitions and values, started three times. The other side has six partitions
  ! of five values.
  subroutine partitions(parts, each)
    integer, intent(in) :: parts, each
    integer, asynchronous :: a(2, size), b(size * 3)
    integer :: c(size * 3), theirs(2, size), k, p
    type(MPI_Request) :: q(2)
    logical :: flag
    call MPI_Precv_init(b(180:1:-6), 6, 5_MPI_COUNT_KIND, MPI_INTEGER, before, 10, comm, MPI_INFO_NULL, q(1))
    call MPI_Psend_init(a(2, 1:60:2), parts, int(each, MPI_COUNT_KIND), MPI_INTEGER, next, 10, comm, &
      MPI_INFO_NULL, q(2))
    do k = 1, 3
      a = -99
      b = -k
      theirs(2, :) = values(before) * k
      call MPI_Startall(2, q)
      do p = parts - 1, 0, -1
        ! The data that are marked as ready have just been written.
        a(2, 1 + 2 * p * each:2 * (p + 1) * each:2) = &
          [(k * (i + 100 * me), i = 1 + 2 * p * each, 2 * (p + 1) * each, 2)]
        call MPI_Pready(p, q(2))
      end do
      flag = .false.
      do while (.not. flag)
        call MPI_Parrived(q(1), 2, flag)
      end do
      call check(all(b(120:91:-6) == theirs(2, 21:30:2)), 'a partition that arrived')
      call MPI_Waitall(2, q, MPI_STATUSES_IGNORE)
      c = -k
      c(180:1:-6) = theirs(2, 1:60:2)
      call check(all(b == c), 'partitions')
    end do
    call MPI_Request_free(q(1))
    call MPI_Request_free(q(2))
    ! With holes: two vectors in each of two partitions, twenty elements of the section in all.
    call MPI_Precv_init(b(1:60:3), 4, 1_MPI_COUNT_KIND, every_other, before, 11, comm, MPI_INFO_NULL, q(1))
    call MPI_Psend_init(a(2, 1:60:3), 2, 2_MPI_COUNT_KIND, every_other, next, 11, comm, MPI_INFO_NULL, q(2))
    a(2, :) = values(me)
    theirs(2, :) = values(before)
    b = -1
    call MPI_Startall(2, q)
    call MPI_Pready_range(0, 1, q(2))
    call MPI_Waitall(2, q, MPI_STATUSES_IGNORE)
    c = -1
    do p = 0, 3
      do k = 0, 2
        i = 1 + 3 * (5 * p + 2 * k)
        c(i) = theirs(2, i)
      end do
    end do
    call check(all(b == c), 'partitions with holes')
    call MPI_Request_free(q(1))
    call MPI_Request_free(q(2))
  end subroutine

  ! One value is in one element, no matter what follows.
  subroutine one_value
    type(MPI_Win) :: win
    type(c_ptr) :: base
    integer, pointer :: there(:)
    integer, asynchronous :: a(10), b(10)
    call MPI_Win_allocate(8_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, comm, base, win)
    call c_f_pointer(base, there, [2])
    there = 1000 + me
    call MPI_Win_fence(0, win)
    a = 5
    b = -1
    call MPI_Fetch_and_op(a(1:9:2), b(2:10:2), MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, MPI_SUM, win)
    call MPI_Win_fence(0, win)
    call check(b(2) == 1000 + next .and. count(b == -1) == 9 .and. there(1) == 1005 + me, 'fetch_and_op')
    ! Origins with holes: the first and the third element of a section.
    a = [(i, i = 1, 10)]
    call MPI_Win_fence(0, win)
    call MPI_Accumulate(a(2:10:2), 1, shifted, next, 0_MPI_ADDRESS_KIND, 2, MPI_INTEGER, MPI_SUM, win)
    call MPI_Win_fence(0, win)
    call check(there(1) == 1005 + me + 4 .and. there(2) == 1000 + me + 8, 'accumulate')
    call MPI_Win_free(win)
  end subroutine

  ! Files: split, non-blocking, in another representation.
  subroutine collected
    type(MPI_File) :: fh
    type(MPI_Request) :: q
    integer, asynchronous :: a(size), b(size)
    integer :: c(size), ierror
    character(40) :: name
    write (name, '(a,i0)') 'f_sections_p2p_f08.', me
    a = values(me)
    call MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, fh)
    call MPI_File_set_view(fh, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'external32', MPI_INFO_NULL)
    call MPI_File_iwrite_at(fh, 0_MPI_OFFSET_KIND, a(1:60:2), 2, every_other, q)
    call MPI_Wait(q, MPI_STATUS_IGNORE)
    b = -1
    call MPI_File_read_at_all_begin(fh, 0_MPI_OFFSET_KIND, b(60:1:-2), 6, MPI_INTEGER)
    call MPI_File_read_at_all_end(fh, b(60:1:-2), MPI_STATUS_IGNORE)
    c = -1
    c([60, 58, 56, 54, 52, 50]) = a([1, 5, 9, 11, 15, 19])
    call check(all(b == c), 'a file')
    ! Bytes of a value that extends across a gap cannot be reversed.
    call MPI_File_iwrite_at(fh, 0_MPI_OFFSET_KIND, a(1:60:2), 2, MPI_DOUBLE_PRECISION, q, ierror)
    call check(ierror /= MPI_SUCCESS, 'values across gaps in a file')
    call MPI_File_close(fh)
    call MPI_File_delete(name, MPI_INFO_NULL)
  end subroutine

  ! A section that is too short is an error of the communicator, and has no effect.
  subroutine refusals
    integer :: ierror, class, length
    integer, asynchronous :: b(size)
    character(MPI_MAX_ERROR_STRING) :: text
    type(MPI_Comm) :: own
    type(MPI_Request) :: q
    call MPI_Comm_dup(MPI_COMM_SELF, own)
    call MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN)
    b = 7
    ierror = MPI_SUCCESS
    call MPI_Precv_init(b(1:40:2), 3, 7_MPI_COUNT_KIND, MPI_INTEGER, 0, 0, own, MPI_INFO_NULL, q, ierror)
    call MPI_Error_class(ierror, class)
    call check(class == MPI_ERR_BUFFER, 'partitions that do not fit')
    call MPI_Irecv(b(1:40:2), 21, MPI_INTEGER, 0, 0, own, q, ierror)
    call MPI_Error_class(ierror, class)
    call check(class == MPI_ERR_BUFFER, 'a section that is too short')
    call MPI_Error_string(ierror, text, length)
    call check(index(text(:length), 'section') > 0, 'text')
    call MPI_Irecv(b(1:40:2), 1, MPI_DATATYPE_NULL, 0, 0, own, q, ierror)
    call MPI_Error_class(ierror, class)
    call check(class == MPI_ERR_TYPE, 'no datatype')
    call MPI_Precv_init(b(1:40:2), -1, 7_MPI_COUNT_KIND, MPI_INTEGER, 0, 0, own, MPI_INFO_NULL, q, ierror)
    call check(ierror /= MPI_SUCCESS, 'a negative number of partitions')
    call check(all(b == 7), 'nothing is received')
    call MPI_Comm_free(own)
  end subroutine
end program
