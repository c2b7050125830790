! Section 19.1.13: array sections with gaps as buffers of non-blocking and persistent collectives,
! which run on after the call. Each must have the same effect as the blocking call with the same
! sections.
module f_sections_operation
  use mpi_f08
  implicit none
contains
  subroutine largest(invec, inoutvec, len, datatype)
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    if (datatype /= MPI_INTEGER) stop 2
    call c_f_pointer(invec, a, [len])
    call c_f_pointer(inoutvec, b, [len])
    b = max(a, b)
  end subroutine
end module

program f_sections_f08
  use mpi_f08
  use f_sections_operation
  implicit none
  character(*), parameter :: program_name = 'f_sections_f08'
  integer, parameter :: size = 60, cases = 14
  integer :: me, n, errors, total, i, k
  integer :: from(size), wanted(size), got(size), counts(4), places(4)
  character(*), parameter :: names(cases) = [character(20) :: 'gather', 'scatter', 'alltoall', 'alltoallv', &
    'allgatherv', 'reduce_scatter_block', 'reduce_scatter', 'allreduce', 'allgather', 'bcast', 'scan', 'reduce', &
    'user operation', 'matrix']
  type(MPI_Op) :: op
  ! At most four ranks, so that the sections are long enough.
  type(MPI_Comm) :: comm
  errors = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  call MPI_Comm_split(MPI_COMM_WORLD, me / 4, me, comm)
  call MPI_Op_create(largest, .true., op)
  counts = 3
  places = [9, 5, 1, 13]
  do k = 1, cases
    from = [(i + 100 * me, i = 1, size)]
    wanted = -1
    call blocking(k, wanted)
    got = -1
    call later(k, got)
    call check(all(got == wanted), names(k))
    got = -1
    call again(k, got)
    call check(all(got == wanted), trim(names(k))//', started twice')
  end do
  call MPI_Op_free(op)
  call MPI_Comm_free(comm)
  call MPI_Allreduce(errors, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call print_outcome(total)
  call MPI_Finalize()
  if (total /= 0) stop 1
contains
  include 'check.inc'

  subroutine blocking(which, b)
    integer, intent(in) :: which
    integer, intent(inout) :: b(size)
    integer :: m(6, 10)
    select case (which)
    case (1)
      call MPI_Gather(from(1:40:10), 4, MPI_INTEGER, b(1:40:2), 4, MPI_INTEGER, 0, comm)
    case (2)
      call MPI_Scatter(from(1:40:2), 3, MPI_INTEGER, b(1:40:3), 3, MPI_INTEGER, 0, comm)
    case (3)
      call MPI_Alltoall(from(1:40:2), 3, MPI_INTEGER, b(1:40:3), 3, MPI_INTEGER, comm)
    case (4)
      call MPI_Alltoallv(from(1:40:2), counts, places, MPI_INTEGER, b(40:1:-2), counts, places, MPI_INTEGER, &
        comm)
    case (5)
      call MPI_Allgatherv(from(1:40:2), 3, MPI_INTEGER, b(1:40:2), counts, places, MPI_INTEGER, comm)
    case (6)
      call MPI_Reduce_scatter_block(from(1:40:2), b(1:40:2), 3, MPI_INTEGER, MPI_SUM, comm)
    case (7)
      call MPI_Reduce_scatter(from(1:40:2), b(1:40:2), counts, MPI_INTEGER, MPI_SUM, comm)
    case (8)
      call MPI_Allreduce(from(1:40:2), b(1:40:4), 5, MPI_INTEGER, MPI_SUM, comm)
    case (9)
      call MPI_Allgather(from(1), 1, MPI_INTEGER, b(40:1:-7), 1, MPI_INTEGER, comm)
    case (10)
      b = from
      call MPI_Bcast(b(1:40:3), 7, MPI_INTEGER, 0, comm)
    case (11)
      call MPI_Scan(from(1:40:2), b(1:40:4), 5, MPI_INTEGER, MPI_SUM, comm)
    case (12)
      call MPI_Reduce(from(1:40:2), b(1:40:4), 5, MPI_INTEGER, MPI_SUM, 0, comm)
    case (13)
      call MPI_Allreduce(from, b(1:40:4), 5, MPI_INTEGER, op, comm)
    case (14)
      m = reshape(b, [6, 10])
      call MPI_Allgather(from(1:9:4), 3, MPI_INTEGER, m(2:6:2, 1:10:2), 3, MPI_INTEGER, comm)
      b = reshape(m, [size])
    end select
  end subroutine

  subroutine later(which, b)
    integer, intent(in) :: which
    integer, intent(inout), asynchronous :: b(size)
    integer, asynchronous :: m(6, 10)
    type(MPI_Request) :: q
    logical :: flag
    select case (which)
    case (1)
      call MPI_Igather(from(1:40:10), 4, MPI_INTEGER, b(1:40:2), 4, MPI_INTEGER, 0, comm, q)
    case (2)
      call MPI_Iscatter(from(1:40:2), 3, MPI_INTEGER, b(1:40:3), 3, MPI_INTEGER, 0, comm, q)
    case (3)
      call MPI_Ialltoall(from(1:40:2), 3, MPI_INTEGER, b(1:40:3), 3, MPI_INTEGER, comm, q)
    case (4)
      call MPI_Ialltoallv(from(1:40:2), counts, places, MPI_INTEGER, b(40:1:-2), counts, places, MPI_INTEGER, &
        comm, q)
    case (5)
      call MPI_Iallgatherv(from(1:40:2), 3, MPI_INTEGER, b(1:40:2), counts, places, MPI_INTEGER, comm, q)
    case (6)
      call MPI_Ireduce_scatter_block(from(1:40:2), b(1:40:2), 3, MPI_INTEGER, MPI_SUM, comm, q)
    case (7)
      call MPI_Ireduce_scatter(from(1:40:2), b(1:40:2), counts, MPI_INTEGER, MPI_SUM, comm, q)
    case (8)
      call MPI_Iallreduce(from(1:40:2), b(1:40:4), 5, MPI_INTEGER, MPI_SUM, comm, q)
    case (9)
      call MPI_Iallgather(from(1), 1, MPI_INTEGER, b(40:1:-7), 1, MPI_INTEGER, comm, q)
    case (10)
      b = from
      call MPI_Ibcast(b(1:40:3), 7, MPI_INTEGER, 0, comm, q)
    case (11)
      call MPI_Iscan(from(1:40:2), b(1:40:4), 5, MPI_INTEGER, MPI_SUM, comm, q)
    case (12)
      call MPI_Ireduce(from(1:40:2), b(1:40:4), 5, MPI_INTEGER, MPI_SUM, 0, comm, q)
    case (13)
      call MPI_Iallreduce(from, b(1:40:4), 5, MPI_INTEGER, op, comm, q)
    case (14)
      m = reshape(b, [6, 10])
      call MPI_Iallgather(from(1:9:4), 3, MPI_INTEGER, m(2:6:2, 1:10:2), 3, MPI_INTEGER, comm, q)
    end select
    if (modulo(which, 2) == 0) then
      ! Data of a request that is known to be complete are there.
      flag = .false.
      do while (.not. flag)
        call MPI_Request_get_status(q, flag, MPI_STATUS_IGNORE)
      end do
      if (which == 14) b = reshape(m, [size])
      call check(any(b /= -1) .or. which == 12, trim(names(which))//', get_status')
    end if
    call MPI_Wait(q, MPI_STATUS_IGNORE)
    if (which == 14) b = reshape(m, [size])
  end subroutine

  subroutine again(which, b)
    integer, intent(in) :: which
    integer, intent(inout), asynchronous :: b(size)
    integer, asynchronous :: m(6, 10)
    type(MPI_Request) :: q
    integer :: start
    m = reshape(b, [6, 10])
    ! The second start sends other values than the first.
    from = -from
    select case (which)
    case (1)
      call MPI_Gather_init(from(1:40:10), 4, MPI_INTEGER, b(1:40:2), 4, MPI_INTEGER, 0, comm, &
        MPI_INFO_NULL, q)
    case (2)
      call MPI_Scatter_init(from(1:40:2), 3, MPI_INTEGER, b(1:40:3), 3, MPI_INTEGER, 0, comm, &
        MPI_INFO_NULL, q)
    case (3)
      call MPI_Alltoall_init(from(1:40:2), 3, MPI_INTEGER, b(1:40:3), 3, MPI_INTEGER, comm, &
        MPI_INFO_NULL, q)
    case (4)
      call MPI_Alltoallv_init(from(1:40:2), counts, places, MPI_INTEGER, b(40:1:-2), counts, places, MPI_INTEGER, &
        comm, MPI_INFO_NULL, q)
    case (5)
      call MPI_Allgatherv_init(from(1:40:2), 3, MPI_INTEGER, b(1:40:2), counts, places, MPI_INTEGER, comm, &
        MPI_INFO_NULL, q)
    case (6)
      call MPI_Reduce_scatter_block_init(from(1:40:2), b(1:40:2), 3, MPI_INTEGER, MPI_SUM, comm, &
        MPI_INFO_NULL, q)
    case (7)
      call MPI_Reduce_scatter_init(from(1:40:2), b(1:40:2), counts, MPI_INTEGER, MPI_SUM, comm, &
        MPI_INFO_NULL, q)
    case (8)
      call MPI_Allreduce_init(from(1:40:2), b(1:40:4), 5, MPI_INTEGER, MPI_SUM, comm, MPI_INFO_NULL, q)
    case (9)
      call MPI_Allgather_init(from(1:2), 1, MPI_INTEGER, b(40:1:-7), 1, MPI_INTEGER, comm, MPI_INFO_NULL, q)
    case (10)
      b = from
      call MPI_Bcast_init(b(1:40:3), 7, MPI_INTEGER, 0, comm, MPI_INFO_NULL, q)
    case (11)
      call MPI_Scan_init(from(1:40:2), b(1:40:4), 5, MPI_INTEGER, MPI_SUM, comm, MPI_INFO_NULL, q)
    case (12)
      call MPI_Reduce_init(from(1:40:2), b(1:40:4), 5, MPI_INTEGER, MPI_SUM, 0, comm, MPI_INFO_NULL, q)
    case (13)
      call MPI_Allreduce_init(from, b(1:40:4), 5, MPI_INTEGER, op, comm, MPI_INFO_NULL, q)
    case (14)
      call MPI_Allgather_init(from(1:9:4), 3, MPI_INTEGER, m(2:6:2, 1:10:2), 3, MPI_INTEGER, comm, &
        MPI_INFO_NULL, q)
    end select
    do start = 1, 2
      if (start == 2) from = -from
      if (which == 10) b = from
      call MPI_Start(q)
      call MPI_Wait(q, MPI_STATUS_IGNORE)
    end do
    call MPI_Request_free(q)
    if (which == 14) b = reshape(m, [size])
  end subroutine
end program
