! Allocatable arrays that are created, grow and are freed, and units that stay open: formatted,
! unformatted, direct, stream and scratch. Every step changes them and compares them with the
! expected state. Ends with `state units on P: ok`.
program units
  use mpi
  implicit none
  type cell
    real(8), allocatable :: values(:)
    character(:), allocatable :: name
  end type
  type(cell), allocatable :: cells(:)
  real(8), allocatable :: grid(:, :)
  real(8), pointer :: row(:)
  target :: grid
  integer :: me, ranks, error, step, steps, i, n, number, before, after, status(MPI_STATUS_SIZE)
  real(8) :: got, theirs
  character(64) :: name, line, word
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  steps = 100
  do i = 1, command_argument_count() - 1
    call get_command_argument(i, word)
    if (word == '--steps') then
      call get_command_argument(i + 1, word)
      read (word, *) steps
    end if
  end do
  write (name, '("units.", i0)') me
  open (11, file=trim(name)//'.text', action='readwrite', status='replace')
  open (12, file=trim(name)//'.direct', access='direct', form='unformatted', recl=8, status='replace')
  open (13, file=trim(name)//'.stream', access='stream', form='unformatted', status='replace')
  open (newunit=number, status='scratch', form='unformatted')
  allocate (cells(8))
  do step = 1, steps
    ! An array that changes its size, and cells whose components do.
    n = 10 + mod(step*7, 90)
    if (allocated(grid)) deallocate (grid)
    allocate (grid(n, 5))
    do i = 1, n
      grid(i, :) = value(step, i)
    end do
    row => grid(:, 3)
    i = 1 + mod(step, 8)
    cells(i)%values = [(value(step, n), n=1, 3 + mod(step, 50))]
    write (line, '("cell ", i0)') step
    cells(i)%name = trim(line)
    ! The units.
    write (11, '(i10, es24.16)') step, value(step, 1)
    write (12, rec=step) value(step, 2)
    write (13) value(step, 3)
    write (number) step, value(step, 4)
    before = mod(me + ranks - 1, ranks)
    after = mod(me + 1, ranks)
    call MPI_Sendrecv(value(step, me), 1, MPI_DOUBLE_PRECISION, after, 1, theirs, 1, MPI_DOUBLE_PRECISION, &
                      before, 1, MPI_COMM_WORLD, status, error)
    if (theirs /= value(step, before)) call bad('what the neighbour sent')
    call nap(1000)
    if (any(row /= [(value(step, i), i=1, size(row))])) call bad('an array')
    do n = max(1, step - 7), step
      i = 1 + mod(n, 8)
      if (size(cells(i)%values) /= 3 + mod(n, 50)) call bad('the size of a part')
      if (cells(i)%values(2) /= value(n, 2)) call bad('a part')
      write (line, '("cell ", i0)') n
      if (cells(i)%name /= trim(line)) call bad('a name')
    end do
    n = 1 + mod(step*13, step)
    read (12, rec=n) got
    if (got /= value(n, 2)) call bad('a record')
    read (13, pos=1 + 8*(n - 1)) got
    if (got /= value(n, 3)) call bad('the stream')
    read (13, pos=1 + 8*(step - 1)) got
    if (mod(step, 50) == 0) then
      rewind (11)
      do n = 1, step
        read (11, *) i, got
        if (i /= n .or. abs(got - value(n, 1)) > 1d-12) call bad('a line')
      end do
      rewind (number)
      do n = 1, step
        read (number) i, got
        if (i /= n .or. got /= value(n, 4)) call bad('the scratch unit')
      end do
    end if
  end do
  if (me == 0) print '("state units on ", i0, ": ok")', ranks
  call MPI_Finalize(error)
contains
  pure real(8) function value(step, i)
    integer, intent(in) :: step, i
    value = sin(real(step, 8)) + 1000*i
  end function
  subroutine nap(microseconds)
    use iso_c_binding
    integer, intent(in) :: microseconds
    interface
      integer(c_int) function usleep(many) bind(c)
        import c_int
        integer(c_int), value :: many
      end function
    end interface
    integer(c_int) :: ignored
    ignored = usleep(int(microseconds, c_int))
  end subroutine
  subroutine bad(what)
    character(*), intent(in) :: what
    write (0, '("FAIL rank ", i0, ", step ", i0, ": ", a)') me, step, what
    call MPI_Abort(MPI_COMM_WORLD, 1, error)
  end subroutine
end program
