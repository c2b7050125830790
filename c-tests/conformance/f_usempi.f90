! Chapter 17, free form with `use mpi`: the module's constants and interfaces, allocatable arrays,
! sections, a halo exchange whose result is known, several kinds.
program f_usempi
  use mpi
  implicit none
  integer :: ierr, me, n, errors, all, provided
  errors = 0
  call MPI_Init_thread(MPI_THREAD_SINGLE, provided, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
  call constants
  call halo
  call kinds
  call v_forms
  call MPI_Allreduce(errors, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (me == 0) then
    if (all == 0) then
      print '(a,i0,a)', 'f_usempi on ', n, ': ok'
    else
      print '(a,i0,a)', 'f_usempi: ', all, ' mismatches'
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
      write (0, '(a,i0,2a)') 'FAIL f_usempi.f90: rank ', me, ': ', text
    end if
  end subroutine check

  subroutine constants
    integer :: version, sub
    call MPI_Get_version(version, sub, ierr)
    call check(version == MPI_VERSION .and. sub == MPI_SUBVERSION, 'version')
    call check(MPI_STATUS_SIZE == 5, 'status size')
    call check(MPI_ADDRESS_KIND == 8, 'address kind')
    call check(MPI_ANY_SOURCE == -2 .and. MPI_ANY_TAG == -1, 'wildcards')
    call check(provided >= MPI_THREAD_SINGLE, 'thread level')
  end subroutine constants

  subroutine halo
    integer, parameter :: m = 50, steps = 20
    double precision, allocatable :: u(:, :), v(:, :)
    double precision :: mine, total
    integer :: left, right, i, s, req(4), st(MPI_STATUS_SIZE, 4)
    left = merge(me - 1, MPI_PROC_NULL, me > 0)
    right = merge(me + 1, MPI_PROC_NULL, me + 1 < n)
    allocate (u(m, 0:m + 1), v(m, 0:m + 1))
    u = 0d0
    u(:, 1:m) = dble(me)
    do s = 1, steps
      call MPI_Irecv(u(1, 0), m, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, req(1), ierr)
      call MPI_Irecv(u(1, m + 1), m, MPI_DOUBLE_PRECISION, right, 2, MPI_COMM_WORLD, req(2), ierr)
      call MPI_Isend(u(1, m), m, MPI_DOUBLE_PRECISION, right, 1, MPI_COMM_WORLD, req(3), ierr)
      call MPI_Isend(u(1, 1), m, MPI_DOUBLE_PRECISION, left, 2, MPI_COMM_WORLD, req(4), ierr)
      call MPI_Waitall(4, req, st, ierr)
      v = u
      do i = 1, m
        v(:, i) = u(:, i - 1) + u(:, i + 1)
      end do
      where (v > 1d6) v = v - 1d6
      u(:, 1:m) = v(:, 1:m)
    end do
    mine = sum(u(:, 1:m))
    call MPI_Reduce(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
    if (me == 0) print '(a,f0.1)', 'halo sum ', total
    deallocate (u, v)
  end subroutine halo

  subroutine kinds
    integer(8) :: a, b
    real(8) :: x(4), y(4)
    complex :: c, d
    integer(2) :: h, k
    a = 2_8**40 + me
    call MPI_Allreduce(a, b, 1, MPI_INTEGER8, MPI_MAX, MPI_COMM_WORLD, ierr)
    call check(b == 2_8**40 + n - 1, 'integer(8)')
    x = me
    call MPI_Allreduce(x, y, 4, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD, ierr)
    call check(all_equal(y, dble(n*(n - 1)/2)), 'real(8)')
    c = (1.0, -1.0)
    call MPI_Allreduce(c, d, 1, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD, ierr)
    call check(d == cmplx(n, -n), 'complex')
    h = int(me, 2)
    call MPI_Allreduce(h, k, 1, MPI_INTEGER2, MPI_MIN, MPI_COMM_WORLD, ierr)
    call check(k == 0, 'integer(2)')
    call MPI_Allreduce(MPI_IN_PLACE, x, 4, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
    call check(all_equal(x, dble(n - 1)), 'in place')
  end subroutine kinds

  logical function all_equal(v, w)
    real(8), intent(in) :: v(:), w
    integer :: i
    all_equal = .true.
    do i = 1, size(v)
      all_equal = all_equal .and. v(i) == w
    end do
  end function all_equal

  subroutine v_forms
    integer, allocatable :: counts(:), at(:), mine(:), everything(:)
    integer :: r, i
    allocate (counts(n), at(n), mine(me + 1))
    at(1) = 0
    do r = 1, n
      counts(r) = r
      if (r > 1) at(r) = at(r - 1) + counts(r - 1)
    end do
    allocate (everything(n*(n + 1)/2))
    mine = 100*me
    call MPI_Allgatherv(mine, me + 1, MPI_INTEGER, everything, counts, at, MPI_INTEGER, &
                        MPI_COMM_WORLD, ierr)
    do r = 1, n
      do i = 1, r
        call check(everything(at(r) + i) == 100*(r - 1), 'allgatherv')
      end do
    end do
  end subroutine v_forms
end program f_usempi
