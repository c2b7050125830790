! Allocates, computes and writes in Fortran's own ways. usage: scribe STEPS FOLDER
program scribe
  use iso_c_binding
  implicit none
  interface
    subroutine begin() bind(c, name="ftmpi_test_begin")
    end subroutine
  end interface
  integer, parameter :: long = selected_int_kind(15)
  integer :: steps, step, n, i
  integer(long) :: state
  real(8), allocatable :: field(:), other(:)
  real(16) :: wide
  complex(8) :: turn
  character(len=256) :: argument
  character(len=:), allocatable :: text

  call get_command_argument(1, argument)
  read (argument, *) steps
  call get_command_argument(2, argument)
  call chdir(trim(argument))
  call begin()
  open (unit=10, file="text", status="replace", action="readwrite")
  open (unit=11, file="log", status="unknown", position="append", action="write")
  open (unit=12, file="direct", access="direct", recl=64, form="unformatted", status="replace")
  state = 12345
  wide = 0
  turn = (1, 0)
  do step = 1, steps
    state = mod(state * 1103515245_long + 12345_long, 2147483648_long)
    n = int(mod(state, 5000_long)) + 10
    allocate (field(n), other(n))
    do i = 1, n
      field(i) = sin(real(i, 8) * step)
    end do
    other = cshift(field, mod(n, 7)) * 1.000001d0
    wide = wide + sqrt(real(sum(other * field), 16) ** 2)
    turn = turn * exp(cmplx(0, 1d-3 * n, 8))
    text = repeat("ab", mod(n, 100))
    write (10, '(i8,1x,e24.16,1x,a)') step, field(n), text
    if (mod(step, 50) == 0) write (11, '(i0)') step
    write (12, rec=mod(step, 100) + 1) field(1:8)
    deallocate (field, other)
  end do
  write (*, '(f40.25,2f22.15,i12)') wide, turn, state
  close (10)
  close (11)
  close (12)
  call exit(3)
end program
