! Pi by the midpoint rule: each rank sums a part.
!
!   ftmpifort -O2 pi.f90 -o pi
!   ftmpiexec -n 4 ./pi
program pi
    use mpi_f08
    implicit none
    integer, parameter :: intervals = 50000000
    double precision :: width, mine, total, x
    integer :: rank, ranks, i

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    width = 1d0 / intervals
    mine = 0d0
    do i = rank + 1, intervals, ranks
        x = width * (i - 0.5d0)
        mine = mine + 4d0 / (1d0 + x * x)
    end do
    call MPI_Reduce(mine * width, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD)
    if (rank == 0) print '(a, f12.9)', 'pi is ', total
    call MPI_Finalize()
end program pi
