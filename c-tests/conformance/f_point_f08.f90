! Chapters 3 and 4 from `use mpi_f08`: all modes, probes, several requests, partitions, with counts
! of the default kind and of MPI_COUNT_KIND.
program f_point_f08
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  character(*), parameter :: program_name = 'f_point_f08'
  integer :: me, n, errors, total, left, right
  errors = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  left = modulo(me - 1, n)
  right = modulo(me + 1, n)
  call small
  call large
  call several
  call looking
  call partitions
  call failing
  call MPI_Allreduce(errors, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call print_outcome(total)
  call MPI_Finalize()
  if (total /= 0) stop 1
contains
  include 'check.inc'

  subroutine small
    integer, parameter :: ck = kind(0), ak = kind(0)
    include 'point_f08.inc'
  end subroutine

  subroutine large
    integer, parameter :: ck = MPI_COUNT_KIND, ak = MPI_ADDRESS_KIND
    include 'point_f08.inc'
  end subroutine

  ! Several requests of which some or all complete.
  subroutine several
    integer, asynchronous :: r(3), s(3)
    integer :: i, index, outcount, indices(3), left_over
    logical :: flag
    type(MPI_Request) :: requests(3), sends(3)
    type(MPI_Status) :: statuses(3), status
    s = [me, me + 100, me + 200]
    do i = 1, 3
      call MPI_Recv_init(r(i), 1, MPI_INTEGER, left, i, MPI_COMM_WORLD, requests(i))
      call MPI_Send_init(s(i), 1, MPI_INTEGER, right, i, MPI_COMM_WORLD, sends(i))
    end do
    call MPI_Testany(3, requests, index, flag, status)
    call check(flag .and. index == MPI_UNDEFINED, 'MPI_Testany of what is not active')
    call MPI_Startall(3, requests)
    call MPI_Startall(3, sends)
    left_over = 3
    do while (left_over > 0)
      call MPI_Waitsome(3, requests, outcount, indices, statuses)
      do i = 1, outcount
        call check(r(indices(i)) == left + 100 * (indices(i) - 1), 'MPI_Waitsome')
        call check(statuses(i)%MPI_TAG == indices(i), 'a status of MPI_Waitsome')
      end do
      left_over = left_over - outcount
    end do
    call MPI_Waitall(3, sends, MPI_STATUSES_IGNORE)
    r = -1
    call MPI_Startall(3, requests)
    call MPI_Startall(3, sends)
    left_over = 3
    do while (left_over > 0)
      call MPI_Testsome(3, requests, outcount, indices, statuses)
      left_over = left_over - outcount
    end do
    call check(all(r == [left, left + 100, left + 200]), 'MPI_Testsome')
    call MPI_Waitall(3, sends, MPI_STATUSES_IGNORE)
    r = -1
    call MPI_Startall(3, requests)
    call MPI_Startall(3, sends)
    do i = 1, 3
      call MPI_Waitany(3, requests, index, status)
      call check(r(index) == left + 100 * (index - 1), 'MPI_Waitany')
    end do
    call MPI_Waitall(3, sends, MPI_STATUSES_IGNORE)
    call MPI_Start(requests(2))
    call MPI_Request_get_status(requests(2), flag, status)
    call check(.not. flag, 'MPI_Request_get_status before')
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Start(sends(2))
    flag = .false.
    do while (.not. flag)
      call MPI_Request_get_status(requests(2), flag, status)
    end do
    call check(status%MPI_SOURCE == left .and. status%MPI_TAG == 2, 'MPI_Request_get_status')
    call MPI_Wait(requests(2), status)
    call MPI_Wait(sends(2), status)
    do i = 1, 3
      call MPI_Request_free(requests(i))
      call MPI_Request_free(sends(i))
    end do
  end subroutine

  ! Probes and cancelling.
  subroutine looking
    integer, asynchronous :: s, r
    logical :: flag
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    s = 7 * me
    call MPI_Isend(s, 1, MPI_INTEGER, right, 40, MPI_COMM_WORLD, request)
    call MPI_Probe(MPI_ANY_SOURCE, 40, MPI_COMM_WORLD, status)
    call check(status%MPI_SOURCE == left .and. status%MPI_TAG == 40, 'MPI_Probe')
    call MPI_Iprobe(left, MPI_ANY_TAG, MPI_COMM_WORLD, flag, status)
    call check(flag .and. status%MPI_TAG == 40, 'MPI_Iprobe')
    call MPI_Recv(r, 1, MPI_INTEGER, left, 40, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(r == 7 * left, 'what was probed')
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Irecv(r, 1, MPI_INTEGER, left, 41, MPI_COMM_WORLD, request)
    call MPI_Cancel(request)
    call MPI_Wait(request, status)
    call MPI_Test_cancelled(status, flag)
    call check(flag, 'MPI_Cancel of a receive that nothing comes for')
    call MPI_Status_set_cancelled(status, .false.)
    call MPI_Test_cancelled(status, flag)
    call check(.not. flag, 'MPI_Status_set_cancelled')
  end subroutine

  ! Chapter 4: a message in four parts. The parts become ready one by one, in a list and in a range.
  subroutine partitions
    integer, asynchronous :: s(8), r(8)
    integer :: i, round
    integer(kind=MPI_COUNT_KIND), parameter :: two = 2
    logical :: flag
    type(MPI_Request) :: send, receive
    call MPI_Psend_init(s, 4, two, MPI_INTEGER, right, 50, MPI_COMM_WORLD, MPI_INFO_NULL, send)
    call MPI_Precv_init(r, 4, two, MPI_INTEGER, left, 50, MPI_COMM_WORLD, MPI_INFO_NULL, receive)
    do round = 1, 2
      s = [(1000 * round + 10 * me + i, i = 1, 8)]
      r = -1
      call MPI_Start(receive)
      call MPI_Start(send)
      call MPI_Pready(2, send)
      call MPI_Pready_list(1, [0], send)
      call MPI_Pready_range(3, 3, send)
      call MPI_Pready(1, send)
      flag = .false.
      do while (.not. flag)
        call MPI_Parrived(receive, 3, flag)
      end do
      call check(r(7) == 1000 * round + 10 * left + 7, 'MPI_Parrived')
      call MPI_Wait(send, MPI_STATUS_IGNORE)
      call MPI_Wait(receive, MPI_STATUS_IGNORE)
      call check(all(r == [(1000 * round + 10 * left + i, i = 1, 8)]), 'all parts')
    end do
    call MPI_Request_free(send)
    call MPI_Request_free(receive)
  end subroutine

  subroutine handler(comm, code)
    type(MPI_Comm) :: comm
    integer :: code
    if (comm == MPI_COMM_NULL) error stop 'handler without communicator'
    code = MPI_ERR_OTHER
  end subroutine

  ! A request that ended with an error is reported like any other: its index, and that it is
  ! complete.
  subroutine failing
    integer, asynchronous :: r, s(2)
    integer :: way, code, class, wanted, index, outcount, indices(2), looks
    logical :: flag
    type(MPI_Comm) :: comm
    type(MPI_Errhandler) :: errhandler
    type(MPI_Request) :: requests(2)
    type(MPI_Status) :: status, statuses(2)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)
    call MPI_Comm_create_errhandler(handler, errhandler)
    s = [1, 2]
    do way = 1, 16
      ! In the second half a handler changes the code.
      if (way == 9) call MPI_Comm_set_errhandler(comm, errhandler)
      requests(1) = MPI_REQUEST_NULL
      call MPI_Irecv(r, 1, MPI_INTEGER, me, 60, comm, requests(2))
      call MPI_Send(s, 2, MPI_INTEGER, me, 60, comm)
      index = -5
      indices = -5
      outcount = -5
      flag = .false.
      wanted = MPI_ERR_TRUNCATE
      do looks = 1, 100000
        select case (modulo(way - 1, 8))
        case (0)
          call MPI_Waitany(2, requests, index, status, code)
          flag = .true.
        case (1)
          call MPI_Testany(2, requests, index, flag, status, code)
        case (2)
          call MPI_Test(requests(2), flag, status, code)
        case (3)
          call MPI_Testall(2, requests, flag, statuses, code)
          wanted = MPI_ERR_IN_STATUS
        case (4)
          call MPI_Waitsome(2, requests, outcount, indices, statuses, code)
          flag = .true.
          wanted = MPI_ERR_IN_STATUS
        case (5)
          call MPI_Testsome(2, requests, outcount, indices, statuses, code)
          flag = outcount > 0
          wanted = MPI_ERR_IN_STATUS
        case (6)
          call MPI_Request_get_status(requests(2), flag, status, code)
        case (7)
          call MPI_Wait(requests(2), status, code)
          flag = .true.
        end select
        if (flag .or. code /= MPI_SUCCESS) exit
      end do
      call check(flag, 'a request that failed is complete')
      call MPI_Error_class(code, class)
      call check(class == merge(MPI_ERR_OTHER, wanted, way > 8), 'the code of a request that failed')
      if (modulo(way - 1, 8) < 2) call check(index == 2, 'the index of a request that failed')
      if (any(modulo(way - 1, 8) == [4, 5])) then
        call check(outcount == 1 .and. indices(1) == 2, 'the indices of requests that failed')
        call check(statuses(1)%MPI_TAG == 60, 'the status of a request that failed')
      end if
      if (requests(2) /= MPI_REQUEST_NULL) call MPI_Wait(requests(2), status, code)
    end do
    ! A call that fails before it reports anything leaves everything unchanged.
    index = -5
    flag = .true.
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    call MPI_Waitany(-1, requests, index, status, code)
    call check(code /= MPI_SUCCESS .and. index == -5, 'MPI_Waitany of less than nothing')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
    call MPI_Errhandler_free(errhandler)
    call MPI_Comm_free(comm)
  end subroutine
end program
