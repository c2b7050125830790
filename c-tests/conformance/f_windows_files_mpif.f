C Chapters 12 and 14 in fixed form with mpif.h: a window with fences, a file with an explicit offset.
      program fwin
      implicit none
      include 'mpif.h'
      integer ierr, me, n, errors, all, win, fh, i
      integer memory(4), got(4), status(MPI_STATUS_SIZE)
      integer(kind=MPI_ADDRESS_KIND) bytes, at
      integer(kind=MPI_OFFSET_KIND) offset
      errors = 0
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, me, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, n, ierr)
      do i = 1, 4
         memory(i) = 10 * me + i
      end do
      bytes = 16
      call MPI_WIN_CREATE(memory, bytes, 4, MPI_INFO_NULL,
     &     MPI_COMM_WORLD, win, ierr)
      call MPI_WIN_FENCE(0, win, ierr)
      at = 0
      call MPI_GET(got, 4, MPI_INTEGER, mod(me + 1, n), at, 4,
     &     MPI_INTEGER, win, ierr)
      call MPI_WIN_FENCE(0, win, ierr)
      do i = 1, 4
         if (got(i) .ne. 10 * mod(me + 1, n) + i) errors = errors + 1
      end do
      call MPI_WIN_FREE(win, ierr)
      if (win .ne. MPI_WIN_NULL) errors = errors + 1
      call MPI_FILE_OPEN(MPI_COMM_WORLD, 'f_mpif.data',
     &     ior(MPI_MODE_CREATE, ior(MPI_MODE_RDWR,
     &     MPI_MODE_DELETE_ON_CLOSE)), MPI_INFO_NULL, fh, ierr)
      if (ierr .ne. MPI_SUCCESS) errors = errors + 1
      offset = 16 * me
      call MPI_FILE_WRITE_AT_ALL(fh, offset, memory, 4, MPI_INTEGER,
     &     status, ierr)
      call MPI_FILE_SYNC(fh, ierr)
      call MPI_BARRIER(MPI_COMM_WORLD, ierr)
      offset = 16 * mod(me + 1, n)
      call MPI_FILE_READ_AT(fh, offset, got, 4, MPI_INTEGER,
     &     MPI_STATUS_IGNORE, ierr)
      do i = 1, 4
         if (got(i) .ne. 10 * mod(me + 1, n) + i) errors = errors + 1
      end do
      call MPI_BARRIER(MPI_COMM_WORLD, ierr)
      call MPI_FILE_CLOSE(fh, ierr)
      call MPI_ALLREDUCE(errors, all, 1, MPI_INTEGER, MPI_SUM,
     &     MPI_COMM_WORLD, ierr)
      if (me .eq. 0) then
         print '(a,i0,a,i0)', 'f_windows_files_mpif on ', n,
     &        ': mismatches ', all
      end if
      call MPI_FINALIZE(ierr)
      if (all .ne. 0) stop 1
      end
