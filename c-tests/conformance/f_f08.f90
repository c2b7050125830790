! Chapter 19: `use mpi_f08`: types, optional ierror, sections with gaps in blocking and non-blocking
! calls, callbacks, large counts, operators, special addresses.
module callbacks
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: handled = 0, freed = 0, queried = 0
contains
  subroutine largest(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    if (datatype /= MPI_INTEGER) error stop 'datatype of an operation'
    call c_f_pointer(invec, a, [len])
    call c_f_pointer(inoutvec, b, [len])
    b = max(a, b)
  end subroutine
  subroutine handler(comm, code)
    type(MPI_Comm) :: comm
    integer :: code
    if (comm == MPI_COMM_NULL) error stop 'handler without communicator'
    if (code == MPI_SUCCESS) error stop 'handler without error'
    handled = handled + 1
  end subroutine
  subroutine copied(comm, key, extra, value_in, value_out, flag, ierr)
    type(MPI_Comm) :: comm
    integer :: key, ierr
    integer(kind=MPI_ADDRESS_KIND) :: extra, value_in, value_out
    logical :: flag
    value_out = value_in + extra
    flag = .true.
    ierr = MPI_SUCCESS
  end subroutine
  subroutine query(extra, status, ierr)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    type(MPI_Status) :: status
    integer :: ierr
    queried = queried + int(extra)
    call MPI_Status_set_elements(status, MPI_INTEGER, 3)
    call MPI_Status_set_cancelled(status, .false.)
    ierr = MPI_SUCCESS
  end subroutine
  subroutine release(extra, ierr)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    integer :: ierr
    freed = freed + int(extra)
    extra = extra + 40
    ierr = MPI_SUCCESS
  end subroutine
  subroutine cancel(extra, complete, ierr)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    logical :: complete
    integer :: ierr
    ierr = MPI_SUCCESS
  end subroutine
end module callbacks

program f_f08
  use mpi_f08
  use callbacks
  implicit none
  integer :: ierr, me, n, errors, all, left, right
  errors = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
  right = modulo(me + 1, n)
  left = modulo(me - 1, n)
  call handles
  call messages
  call sections
  call nonblocking
  call collectives
  call passed
  call types
  call large
  call MPI_Allreduce(errors, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (me == 0) then
    if (all == 0) then
      print '(a,i0,a)', 'f_f08 on ', n, ': ok'
    else
      print '(a,i0,a)', 'f_f08: ', all, ' mismatches'
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
      write (0, '(a,i0,2a)') 'FAIL f_f08.f90: rank ', me, ': ', text
    end if
  end subroutine check

  subroutine handles
    type(MPI_Comm) :: comm, copy
    type(MPI_Group) :: group
    type(MPI_Info) :: info
    character(len=MPI_MAX_OBJECT_NAME) :: name
    character(len=20) :: value
    integer :: length, outcome
    logical :: flag
    call check(MPI_COMM_WORLD == MPI_COMM_WORLD, 'equal')
    call check(MPI_COMM_WORLD /= MPI_COMM_SELF, 'not equal')
    call check(MPI_COMM_WORLD == MPI_COMM_WORLD%MPI_VAL, 'equal to an integer')
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    copy = comm
    call check(copy == comm .and. comm /= MPI_COMM_NULL, 'copy of a handle')
    call MPI_Comm_compare(comm, MPI_COMM_WORLD, outcome)
    call check(outcome == MPI_CONGRUENT, 'congruent')
    call MPI_Comm_set_name(comm, 'a name  ')
    call MPI_Comm_get_name(comm, name, length)
    call check(length == 6 .and. name == 'a name', 'name')
    call MPI_Comm_group(comm, group)
    call MPI_Group_size(group, length)
    call check(length == n, 'group')
    call MPI_Group_free(group)
    call check(group == MPI_GROUP_NULL, 'freed group')
    call MPI_Comm_free(comm)
    call check(comm == MPI_COMM_NULL, 'freed communicator')
    call MPI_Info_create(info)
    call MPI_Info_set(info, 'key', 'value 1')
    call MPI_Info_get(info, 'key', 20, value, flag)
    call check(flag .and. value == 'value 1', 'info')
    call MPI_Info_free(info)
  end subroutine handles

  subroutine messages
    integer :: out(4), in(4), count, size
    type(MPI_Status) :: status, several(2)
    type(MPI_Request) :: requests(2)
    integer :: old(MPI_STATUS_SIZE), index
    character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
    logical :: flag
    double precision :: d(3)
    character(len=5) :: c
    out = [me, me + 1, me + 2, me + 3]
    in = -1
    call MPI_Sendrecv(out, 4, MPI_INTEGER, right, 7, in, 4, MPI_INTEGER, left, 7, MPI_COMM_WORLD, status)
    call check(all4(in == [left, left + 1, left + 2, left + 3]), 'sendrecv')
    call check(status%MPI_SOURCE == left .and. status%MPI_TAG == 7, 'status')
    call MPI_Get_count(status, MPI_INTEGER, count)
    call check(count == 4, 'count')
    call MPI_Status_f082f(status, old)
    call check(old(MPI_SOURCE) == left .and. old(MPI_TAG) == 7, 'status for mpif.h')
    in = -1
    call MPI_Irecv(in, 2, MPI_INTEGER, left, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(out, 2, MPI_INTEGER, right, 1, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, several)
    call check(several(1)%MPI_TAG == 1 .and. in(2) == left + 1 .and. in(3) == -1, 'waitall')
    call check(requests(1) == MPI_REQUEST_NULL, 'null request')
    call MPI_Isend(out, 2, MPI_INTEGER, right, 1, MPI_COMM_WORLD, requests(2))
    call MPI_Recv(in(3:4), 2, MPI_INTEGER, left, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(in(4) == left + 1, 'recv')
    call MPI_Waitany(2, requests, index, MPI_STATUS_IGNORE)
    ! MPICH 4.0, with which this program is compared, counts from zero here.
    call MPI_Get_library_version(version, size)
    call check(index == 2 .or. version(1:5) /= 'ftmpi', 'index counts from one')
    call MPI_Testall(2, requests, flag, MPI_STATUSES_IGNORE)
    call check(flag, 'testall of null requests')
    call MPI_Sizeof(d, size)
    call check(size == 8, 'sizeof double')
    call MPI_Sizeof(c, size, ierr)
    call MPI_Sizeof(in, size, ierr)
    call check(size == 4 .and. ierr == MPI_SUCCESS, 'sizeof integer')
  end subroutine messages

  logical function all4(x)
    logical, intent(in) :: x(:)
    integer :: i
    all4 = .true.
    do i = 1, size(x)
      all4 = all4 .and. x(i)
    end do
  end function all4

  subroutine sections
    integer :: a(10, 8), b(10, 8), i, j
    real :: r(0:99)
    a = reshape([(1000*me + i, i = 1, 80)], [10, 8])
    b = -1
    ! A row with gaps is sent to a block of columns, and back.
    call MPI_Sendrecv(a(3, :), 8, MPI_INTEGER, right, 2, b(2:9:2, 1:7:6), 8, MPI_INTEGER, left, 2, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    do i = 1, 4
      call check(b(2*i, 1) == 1000*left + 3 + 10*(i - 1), 'section, first column')
      call check(b(2*i, 7) == 1000*left + 3 + 10*(i + 3), 'section, second column')
    end do
    call check(count(b /= -1) == 8, 'nothing outside the section')
    r = -1
    r(10:50:10) = [1., 2., 3., 4., 5.]*(me + 1)
    call MPI_Sendrecv(r(50:10:-10), 5, MPI_REAL, right, 3, r(61:99:2), 5, MPI_REAL, left, 3, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(abs(r(61) - 5*(left + 1)) < 1e-6 .and. abs(r(69) - (left + 1)) < 1e-6, 'backwards')
    call check(r(71) < 0 .and. r(62) < 0, 'a part of a section')
    b = 0
    do j = 1, 8
      b(1, j) = me + j
    end do
    call MPI_Bcast(b(1, :), 8, MPI_INTEGER, n - 1, MPI_COMM_WORLD)
    call check(b(1, 8) == n - 1 + 8 .and. b(2, 8) == 0, 'broadcast of a row')
  end subroutine sections

  subroutine nonblocking
    integer, asynchronous :: a(12, 5), b(12, 5)
    integer :: i
    type(MPI_Request) :: q(2)
    do i = 1, 5
      a(:, i) = [100*me + i, 100*me + i + 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    end do
    b = -7
    call MPI_Irecv(b(4:6:2, 2:5), 8, MPI_INTEGER, left, 9, MPI_COMM_WORLD, q(1))
    call MPI_Isend(a(1:2, 1:4), 8, MPI_INTEGER, right, 9, MPI_COMM_WORLD, q(2))
    call MPI_Waitall(2, q, MPI_STATUSES_IGNORE)
    do i = 1, 4
      call check(b(4, i + 1) == 100*left + i .and. b(6, i + 1) == 100*left + i + 10, 'gaps')
      call check(b(5, i + 1) == -7, 'between the gaps')
    end do
    call check(count(b /= -7) == 8, 'nothing in the gaps changes')
    b = -7
    call MPI_Recv_init(b(1, 1:5:2), 2, MPI_INTEGER, left, 10, MPI_COMM_WORLD, q(1))
    call MPI_Send_init(a(1, 1:5:2), 2, MPI_INTEGER, right, 10, MPI_COMM_WORLD, q(2))
    do i = 1, 2
      call MPI_Startall(2, q)
      call MPI_Waitall(2, q, MPI_STATUSES_IGNORE)
      call check(b(1, 1) == 100*left + 1 .and. b(1, 3) == 100*left + 3 .and. b(1, 5) == -7, 'persistent')
    end do
    call MPI_Request_free(q(1))
    call MPI_Request_free(q(2))
  end subroutine nonblocking

  subroutine collectives
    integer :: x(3), y(3), counts(n), places(n), i, value
    integer, allocatable :: every(:), part(:)
    type(MPI_Request) :: q
    logical :: flag
    x = [me, 2*me, 1]
    call MPI_Allreduce(MPI_IN_PLACE, x, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(x(1) == n*(n - 1)/2 .and. x(3) == n, 'in place')
    call MPI_Iallreduce([me, me, me], y, 3, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, q)
    call MPI_Wait(q, MPI_STATUS_IGNORE)
    call check(y(2) == n - 1, 'iallreduce')
    counts = [(i, i = 1, n)]
    places = [((i - 1)*i/2, i = 1, n)]
    allocate (every(n*(n + 1)/2), part(me + 1))
    part = me
    call MPI_Allgatherv(part, me + 1, MPI_INTEGER, every, counts, places, MPI_INTEGER, MPI_COMM_WORLD)
    do i = 1, n
      call check(every(places(i) + 1) == i - 1, 'allgatherv')
    end do
    call MPI_Exscan(me, value, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (me > 0) call check(value == me*(me - 1)/2, 'exscan')
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Initialized(flag)
    call check(flag, 'initialized')
  end subroutine collectives

  subroutine passed
    type(MPI_Op) :: op
    type(MPI_Errhandler) :: errhandler
    type(MPI_Comm) :: comm, other
    type(MPI_Request) :: q
    type(MPI_Status) :: status
    integer :: x, key, count
    integer(kind=MPI_ADDRESS_KIND) :: value
    integer(kind=MPI_ADDRESS_KIND), volatile :: state
    logical :: flag
    call MPI_Op_create(largest, .true., op)
    call MPI_Allreduce(me*3, x, 1, MPI_INTEGER, op, MPI_COMM_WORLD)
    call check(x == 3*(n - 1), 'operation of the program')
    call MPI_Op_free(op)
    call check(op == MPI_OP_NULL, 'freed operation')
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_create_errhandler(handler, errhandler)
    call MPI_Comm_set_errhandler(comm, errhandler)
    call MPI_Errhandler_free(errhandler)
    call MPI_Send(x, 1, MPI_INTEGER, n + 5, 0, comm, ierr)
    call check(handled == 1 .and. ierr /= MPI_SUCCESS, 'error handler')
    call MPI_Comm_create_keyval(copied, MPI_COMM_NULL_DELETE_FN, key, 5_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(comm, key, 37_MPI_ADDRESS_KIND)
    call MPI_Comm_dup(comm, other)
    call MPI_Comm_get_attr(other, key, value, flag)
    call check(flag .and. value == 42, 'attribute')
    call MPI_Comm_free_keyval(key)
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(comm, key, 11_MPI_ADDRESS_KIND)
    call MPI_Comm_free(other)
    call MPI_Comm_dup(comm, other)
    call MPI_Comm_get_attr(other, key, value, flag)
    call check(flag .and. value == 11, 'attribute that is duplicated')
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag)
    call check(flag .and. value >= 32767, 'largest tag')
    call MPI_Comm_free(other)
    call MPI_Comm_free(comm)
    call MPI_Comm_free_keyval(key)
    state = 2
    call MPI_Grequest_start(query, release, cancel, state, q)
    call MPI_Test(q, flag, status)
    call check(.not. flag, 'not complete')
    call MPI_Grequest_complete(q)
    call MPI_Wait(q, status)
    call MPI_Get_elements(status, MPI_INTEGER, count)
    call check(count == 3 .and. queried == 2 .and. freed == 2, 'generalized request')
    call check(state == 42, 'extra state is the variable itself')
  end subroutine passed

  subroutine types
    type :: point
      sequence
      double precision :: x
      integer :: k(2)
    end type
    type(point) :: p(4), r(4)
    type(MPI_Datatype) :: made, padded
    integer(kind=MPI_ADDRESS_KIND) :: base, first, second, lower, extent
    integer :: i, size, at, row(8), grid(8, 8)
    character(len=64) :: packed
    call MPI_Get_address(p(1), base)
    call MPI_Get_address(p(1)%k, first)
    call MPI_Get_address(p(2), second)
    call MPI_Type_create_struct(2, [1, 2], [0_MPI_ADDRESS_KIND, MPI_Aint_diff(first, base)], &
                                [MPI_DOUBLE_PRECISION, MPI_INTEGER], made)
    call MPI_Type_create_resized(made, 0_MPI_ADDRESS_KIND, MPI_Aint_diff(second, base), padded)
    call MPI_Type_commit(padded)
    call MPI_Type_get_extent(padded, lower, extent)
    call check(lower == 0 .and. extent == 16, 'extent')
    do i = 1, 4
      p(i)%x = me + i/8.d0
      p(i)%k = [i, me]
    end do
    call MPI_Sendrecv(p, 4, padded, right, 0, r, 4, padded, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(r(3)%x == left + 3/8.d0 .and. r(4)%k(2) == left .and. r(4)%k(1) == 4, 'structure')
    call MPI_Type_free(made)
    call MPI_Type_free(padded)
    call check(made == MPI_DATATYPE_NULL, 'freed type')
    grid = reshape([(i, i = 1, 64)], [8, 8])
    call MPI_Type_vector(8, 1, 8, MPI_INTEGER, made)
    call MPI_Type_commit(made)
    at = 0
    call MPI_Pack(grid(5, 1), 1, made, packed, 64, at, MPI_COMM_WORLD)
    call MPI_Type_size(made, size)
    call check(at == 32 .and. size == 32, 'pack')
    at = 0
    call MPI_Unpack(packed, 64, at, row, 8, MPI_INTEGER, MPI_COMM_WORLD)
    call check(row(8) == 61, 'unpack')
    call MPI_Type_free(made)
  end subroutine types

  subroutine large
    integer(kind=MPI_COUNT_KIND) :: count, got, size
    type(MPI_Status) :: status
    type(MPI_Datatype) :: made
    integer :: out(6), in(6)
    count = 6
    out = me
    call MPI_Sendrecv(out, count, MPI_INTEGER, right, 0, in, count, MPI_INTEGER, left, 0, MPI_COMM_WORLD, status)
    call check(in(6) == left, 'sendrecv with large counts')
    call MPI_Get_count(status, MPI_INTEGER, got)
    call check(got == 6, 'large count')
    call MPI_Type_contiguous(3000000000_MPI_COUNT_KIND, MPI_INTEGER, made)
    call MPI_Type_size(made, size)
    call check(size == 12000000000_MPI_COUNT_KIND, 'large type')
    call MPI_Type_free(made)
  end subroutine large
end program f_f08
