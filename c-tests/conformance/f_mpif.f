C Chapter 17, fixed form with mpif.h: point-to-point, status arrays, IN_PLACE and STATUS_IGNORE
C by their addresses, derived types over common blocks, user operations, attributes, handlers.
      program fmpif
      implicit none
      include 'mpif.h'
      integer ierr, me, n, errors, all
      errors = 0
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, me, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, n, ierr)
      call p2p(me, n, errors)
      call coll(me, n, errors)
      call types(me, n, errors)
      call objects(me, n, errors)
      call MPI_ALLREDUCE(errors, all, 1, MPI_INTEGER, MPI_SUM,
     &     MPI_COMM_WORLD, ierr)
      if (me .eq. 0) then
         if (all .eq. 0) then
            print '(a,i0,a)', 'f_mpif on ', n, ': ok'
         else
            print '(a,i0,a)', 'f_mpif: ', all, ' mismatches'
         end if
      end if
      call MPI_FINALIZE(ierr)
      if (all .ne. 0) stop 1
      end

      subroutine check(ok, text, errors)
      implicit none
      logical ok
      character*(*) text
      integer errors
      if (.not. ok) then
         errors = errors + 1
         write (0, '(a,a)') 'FAIL f_mpif.f: ', text
      end if
      end

      subroutine p2p(me, n, errors)
      implicit none
      include 'mpif.h'
      integer me, n, errors, ierr, to, from, i, cnt, req(4), idx
      integer st(MPI_STATUS_SIZE), sts(MPI_STATUS_SIZE, 4)
      integer, volatile :: out(4), in(4)
      double precision a(1000), b(1000)
      logical flag
      to = mod(me + 1, n)
      from = mod(me + n - 1, n)
      do i = 1, 1000
         a(i) = me * 1000d0 + i
         b(i) = -1d0
      end do
      call MPI_SENDRECV(a, 1000, MPI_DOUBLE_PRECISION, to, 5, b, 1000,
     &     MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, MPI_ANY_TAG,
     &     MPI_COMM_WORLD, st, ierr)
      call check(ierr .eq. MPI_SUCCESS, 'sendrecv', errors)
      call check(st(MPI_SOURCE) .eq. from, 'status source', errors)
      call check(st(MPI_TAG) .eq. 5, 'status tag', errors)
      call MPI_GET_COUNT(st, MPI_DOUBLE_PRECISION, cnt, ierr)
      call check(cnt .eq. 1000, 'count', errors)
      do i = 1, 1000
         if (b(i) .ne. from * 1000d0 + i) then
            call check(.false., 'data', errors)
         end if
      end do
      do i = 1, 2
         out(i) = 10 * me + i
         call MPI_IRECV(in(i), 1, MPI_INTEGER, from, i,
     &        MPI_COMM_WORLD, req(i), ierr)
         call MPI_ISEND(out(i), 1, MPI_INTEGER, to, i,
     &        MPI_COMM_WORLD, req(i + 2), ierr)
      end do
      call MPI_WAITALL(4, req, sts, ierr)
      call check(sts(MPI_TAG, 2) .eq. 2, 'waitall status', errors)
      call check(in(1) .eq. 10 * from + 1, 'waitall data', errors)
      call check(req(1) .eq. MPI_REQUEST_NULL, 'request', errors)
      call MPI_IRECV(in, 1, MPI_INTEGER, from, 9, MPI_COMM_WORLD,
     &     req(1), ierr)
      req(2) = MPI_REQUEST_NULL
      call MPI_TEST(req(2), flag, MPI_STATUS_IGNORE, ierr)
      call check(flag, 'test of none', errors)
      call MPI_SEND(out, 1, MPI_INTEGER, MPI_PROC_NULL, 9,
     &     MPI_COMM_WORLD, ierr)
      call MPI_ISEND(out, 1, MPI_INTEGER, to, 9, MPI_COMM_WORLD,
     &     req(2), ierr)
      do i = 1, 2
         call MPI_WAITANY(2, req, idx, MPI_STATUS_IGNORE, ierr)
         call check(idx .eq. 1 .or. idx .eq. 2, 'waitany', errors)
      end do
      call MPI_WAITANY(2, req, idx, MPI_STATUS_IGNORE, ierr)
C     MPICH 4.0 answers MPI_UNDEFINED + 1 here
      call check(idx .lt. 0, 'waitany of none', errors)
      call MPI_SEND_INIT(out(3), 1, MPI_INTEGER, to, 3,
     &     MPI_COMM_WORLD, req(1), ierr)
      call MPI_RECV_INIT(in(3), 1, MPI_INTEGER, from, 3,
     &     MPI_COMM_WORLD, req(2), ierr)
      do i = 1, 5
         out(3) = me + i
         call MPI_STARTALL(2, req, ierr)
         call MPI_WAITALL(2, req, MPI_STATUSES_IGNORE, ierr)
         call check(in(3) .eq. from + i, 'persistent', errors)
      end do
      call MPI_REQUEST_FREE(req(1), ierr)
      call MPI_REQUEST_FREE(req(2), ierr)
      call MPI_IPROBE(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, flag, st,
     &     ierr)
      call check(.not. flag, 'iprobe', errors)
      end

      subroutine addmod(in, inout, length, dtype)
      implicit none
      integer length, dtype, in(length), inout(length), i
      do i = 1, length
         inout(i) = mod(in(i) + inout(i), 1009)
      end do
      end

      subroutine coll(me, n, errors)
      implicit none
      include 'mpif.h'
      integer me, n, errors, ierr, i, op, x(10), y(10), s
      double precision d(2), e(2)
      logical l, m
      complex*16 c, r
      character*12 text
      integer g(64)
      external addmod
      do i = 1, 10
         x(i) = me + i
      end do
      call MPI_ALLREDUCE(x, y, 10, MPI_INTEGER, MPI_SUM,
     &     MPI_COMM_WORLD, ierr)
      s = n * (n - 1) / 2
      call check(y(3) .eq. s + 3 * n, 'allreduce', errors)
      call MPI_ALLREDUCE(MPI_IN_PLACE, x, 10, MPI_INTEGER, MPI_MAX,
     &     MPI_COMM_WORLD, ierr)
      call check(x(10) .eq. n - 1 + 10, 'allreduce in place', errors)
      text = 'nobody'
      if (me .eq. n - 1) text = 'hello world!'
      call MPI_BCAST(text, 12, MPI_CHARACTER, n - 1, MPI_COMM_WORLD,
     &     ierr)
      call check(text .eq. 'hello world!', 'bcast', errors)
      l = me .eq. 0
      call MPI_ALLREDUCE(l, m, 1, MPI_LOGICAL, MPI_LOR,
     &     MPI_COMM_WORLD, ierr)
      call check(m, 'logical or', errors)
      call MPI_ALLREDUCE(l, m, 1, MPI_LOGICAL, MPI_LAND,
     &     MPI_COMM_WORLD, ierr)
      call check(m .eqv. (n .eq. 1), 'logical and', errors)
      c = (1d0, 2d0)
      call MPI_ALLREDUCE(c, r, 1, MPI_DOUBLE_COMPLEX, MPI_SUM,
     &     MPI_COMM_WORLD, ierr)
      call check(r .eq. dcmplx(n, 2 * n), 'complex sum', errors)
      d(1) = mod(me * 5, 7)
      d(2) = me
      call MPI_ALLREDUCE(d, e, 1, MPI_2DOUBLE_PRECISION, MPI_MAXLOC,
     &     MPI_COMM_WORLD, ierr)
      do i = 0, n - 1
         if (mod(i * 5, 7) .gt. e(1)) then
            call check(.false., 'maxloc', errors)
         end if
      end do
      call MPI_OP_CREATE(addmod, .true., op, ierr)
      x(1) = 100 * me
      call MPI_ALLREDUCE(x, y, 1, MPI_INTEGER, op, MPI_COMM_WORLD,
     &     ierr)
      call check(y(1) .eq. mod(100 * s, 1009), 'own op', errors)
      call MPI_OP_FREE(op, ierr)
      call MPI_ALLGATHER(me, 1, MPI_INTEGER, g, 1, MPI_INTEGER,
     &     MPI_COMM_WORLD, ierr)
      do i = 1, n
         call check(g(i) .eq. i - 1, 'allgather', errors)
      end do
      call MPI_SCAN(me, s, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD,
     &     ierr)
      call check(s .eq. me * (me + 1) / 2, 'scan', errors)
      call MPI_BARRIER(MPI_COMM_WORLD, ierr)
      end

      subroutine types(me, n, errors)
      implicit none
      include 'mpif.h'
      integer me, n, errors, ierr, col, both, to, from, i, sz
      integer blocks(2), kinds(2), pos, st(MPI_STATUS_SIZE)
      integer(kind=MPI_ADDRESS_KIND) at(2), lb, extent
      real m(6, 5), v(6)
      integer ivalue
      double precision dvalue
      common /block/ dvalue, ivalue
      character buffer(100)
      to = mod(me + 1, n)
      from = mod(me + n - 1, n)
      do i = 1, 6
         m(i, 1) = 0
         m(3, min(i, 5)) = me + i
      end do
      call MPI_TYPE_VECTOR(5, 1, 6, MPI_REAL, col, ierr)
      call MPI_TYPE_COMMIT(col, ierr)
      do i = 1, 5
         m(3, i) = me * 10 + i
      end do
      call MPI_SENDRECV(m(3, 1), 1, col, to, 1, v, 5, MPI_REAL, from,
     &     1, MPI_COMM_WORLD, st, ierr)
      do i = 1, 5
         call check(v(i) .eq. from * 10 + i, 'row', errors)
      end do
      call MPI_TYPE_SIZE(col, sz, ierr)
      call check(sz .eq. 20, 'size', errors)
      call MPI_TYPE_GET_EXTENT(col, lb, extent, ierr)
      call check(lb .eq. 0 .and. extent .eq. 100, 'extent', errors)
      call MPI_TYPE_FREE(col, ierr)
      call MPI_GET_ADDRESS(dvalue, at(1), ierr)
      call MPI_GET_ADDRESS(ivalue, at(2), ierr)
      blocks(1) = 1
      blocks(2) = 1
      kinds(1) = MPI_DOUBLE_PRECISION
      kinds(2) = MPI_INTEGER
      call MPI_TYPE_CREATE_STRUCT(2, blocks, at, kinds, both, ierr)
      call MPI_TYPE_COMMIT(both, ierr)
      dvalue = 0
      ivalue = 0
      if (me .eq. 0) then
         dvalue = 2.5d0
         ivalue = 42
      end if
      call MPI_BCAST(MPI_BOTTOM, 1, both, 0, MPI_COMM_WORLD, ierr)
      call check(dvalue .eq. 2.5d0, 'bottom, double', errors)
      call check(ivalue .eq. 42, 'bottom, integer', errors)
      call MPI_TYPE_FREE(both, ierr)
      pos = 0
      call MPI_PACK(ivalue, 1, MPI_INTEGER, buffer, 100, pos,
     &     MPI_COMM_WORLD, ierr)
      call check(pos .eq. 4, 'pack', errors)
      ivalue = 0
      pos = 0
      call MPI_UNPACK(buffer, 100, pos, ivalue, 1, MPI_INTEGER,
     &     MPI_COMM_WORLD, ierr)
      call check(ivalue .eq. 42, 'unpack', errors)
      end

      subroutine objects(me, n, errors)
      implicit none
      include 'mpif.h'
      integer me, n, errors, ierr, comm, r, s, length, key, code, cls
      integer dims(2), coords(2), group, empty
      logical periods(2), flag
      integer(kind=MPI_ADDRESS_KIND) value
      character*(MPI_MAX_ERROR_STRING) text
      character*(MPI_MAX_PROCESSOR_NAME) name
      double precision t
      call MPI_COMM_SPLIT(MPI_COMM_WORLD, mod(me, 2), -me, comm, ierr)
      call MPI_COMM_SIZE(comm, s, ierr)
      call check(s .eq. (n + 1 - mod(me, 2)) / 2, 'split', errors)
      call MPI_COMM_FREE(comm, ierr)
      call check(comm .eq. MPI_COMM_NULL, 'free', errors)
      dims(1) = 0
      dims(2) = 0
      call MPI_DIMS_CREATE(n, 2, dims, ierr)
      periods(1) = .true.
      periods(2) = .false.
      call MPI_CART_CREATE(MPI_COMM_WORLD, 2, dims, periods, .false.,
     &     comm, ierr)
      call MPI_CART_COORDS(comm, me, 2, coords, ierr)
      call check(coords(1) * dims(2) + coords(2) .eq. me, 'coords',
     &     errors)
      call MPI_CART_GET(comm, 2, dims, periods, coords, ierr)
      call check(periods(1) .and. .not. periods(2), 'periods', errors)
      call MPI_COMM_CREATE_KEYVAL(MPI_COMM_DUP_FN,
     &     MPI_COMM_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND, ierr)
      value = 123456789012_MPI_ADDRESS_KIND
      call MPI_COMM_SET_ATTR(comm, key, value, ierr)
      value = 0
      call MPI_COMM_GET_ATTR(comm, key, value, flag, ierr)
      call check(flag .and. value .eq. 123456789012_MPI_ADDRESS_KIND,
     &     'attribute', errors)
      call MPI_COMM_FREE(comm, ierr)
      call MPI_COMM_GET_ATTR(MPI_COMM_WORLD, MPI_TAG_UB, value, flag,
     &     ierr)
      call check(flag .and. value .ge. 32767, 'tag ub', errors)
      call MPI_COMM_GROUP(MPI_COMM_WORLD, group, ierr)
      call MPI_GROUP_RANK(group, r, ierr)
      call check(r .eq. me, 'group rank', errors)
      call MPI_GROUP_EXCL(group, 0, r, empty, ierr)
      call MPI_GROUP_FREE(group, ierr)
      call MPI_COMM_SET_ERRHANDLER(MPI_COMM_WORLD, MPI_ERRORS_RETURN,
     &     ierr)
      call MPI_SEND(r, 1, MPI_INTEGER, n + 1, 0, MPI_COMM_WORLD, code)
      call MPI_ERROR_CLASS(code, cls, ierr)
      call check(cls .eq. MPI_ERR_RANK, 'error class', errors)
      text = ' '
      call MPI_ERROR_STRING(code, text, length, ierr)
      call check(length .gt. 0 .and. text(1:1) .ne. ' ',
     &     'error string', errors)
      call MPI_COMM_SET_ERRHANDLER(MPI_COMM_WORLD,
     &     MPI_ERRORS_ARE_FATAL, ierr)
      call MPI_GET_PROCESSOR_NAME(name, length, ierr)
      call check(length .gt. 0, 'processor name', errors)
      t = MPI_WTIME()
      call check(MPI_WTIME() .ge. t, 'wtime', errors)
      call check(MPI_WTICK() .gt. 0d0, 'wtick', errors)
      call MPI_INITIALIZED(flag, ierr)
      call check(flag, 'initialized', errors)
      end
