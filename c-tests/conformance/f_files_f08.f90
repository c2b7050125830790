! Chapter 14 from `use mpi_f08`: all ways to read and write, and the queries of a file, with counts
! of the default kind and of MPI_COUNT_KIND.
module file_errors
  use mpi_f08
  implicit none
  integer :: handled
contains
  subroutine wrong_file(file, code)
    type(MPI_File) :: file
    integer :: code
    handled = code
  end subroutine
end module

program f_files_f08
  use mpi_f08
  use file_errors
  implicit none
  character(*), parameter :: program_name = 'f_files_f08'
  integer :: me, n, errors, total, left, right
  errors = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  left = modulo(me - 1, n)
  right = modulo(me + 1, n)
  call small
  call large
  call described
  call MPI_Allreduce(errors, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call print_outcome(total)
  call MPI_Finalize()
  if (total /= 0) stop 1
contains
  include 'check.inc'

  subroutine small
    integer, parameter :: ck = kind(0), ak = kind(0)
    include 'file_f08.inc'
  end subroutine

  subroutine large
    integer, parameter :: ck = MPI_COUNT_KIND, ak = MPI_ADDRESS_KIND
    include 'file_f08.inc'
  end subroutine

  subroutine described
    integer(kind=MPI_OFFSET_KIND) :: bytes, place
    integer(kind=MPI_ADDRESS_KIND) :: extent
    integer :: mode, members
    logical :: flag
    character(len=20) :: representation
    type(MPI_Datatype) :: etype, filetype
    type(MPI_Errhandler) :: handler, found
    type(MPI_File) :: file
    type(MPI_Group) :: group
    type(MPI_Info) :: info
    call MPI_File_open(MPI_COMM_WORLD, 'f_files_f08.more', MPI_MODE_RDWR + MPI_MODE_CREATE, MPI_INFO_NULL, file)
    call MPI_File_preallocate(file, 100_MPI_OFFSET_KIND)
    call MPI_File_get_size(file, bytes)
    call check(bytes == 100, 'MPI_File_preallocate')
    call MPI_File_set_size(file, 64_MPI_OFFSET_KIND)
    call MPI_File_get_size(file, bytes)
    call check(bytes == 64, 'MPI_File_set_size')
    call MPI_File_get_amode(file, mode)
    call check(mode == MPI_MODE_RDWR + MPI_MODE_CREATE, 'MPI_File_get_amode')
    call MPI_File_get_group(file, group)
    call MPI_Group_size(group, members)
    call check(members == n, 'MPI_File_get_group')
    call MPI_Group_free(group)
    call MPI_File_set_atomicity(file, .true.)
    call MPI_File_get_atomicity(file, flag)
    call check(flag, 'MPI_File_get_atomicity')
    call MPI_File_set_atomicity(file, .false.)
    call MPI_Info_create(info)
    call MPI_Info_set(info, 'cb_buffer_size', '65536')
    call MPI_File_set_info(file, info)
    call MPI_Info_free(info)
    call MPI_File_get_info(file, info)
    call check(info /= MPI_INFO_NULL, 'MPI_File_get_info')
    call MPI_Info_free(info)
    call MPI_Type_vector(2, 1, 3, MPI_INTEGER, filetype)
    call MPI_Type_commit(filetype)
    call MPI_File_set_view(file, 8_MPI_OFFSET_KIND, MPI_INTEGER, filetype, 'native', MPI_INFO_NULL)
    call MPI_File_get_byte_offset(file, 3_MPI_OFFSET_KIND, bytes)
    call check(bytes == 8 + 16 + 12, 'MPI_File_get_byte_offset')
    call MPI_Type_free(filetype)
    call MPI_File_get_view(file, place, etype, filetype, representation)
    call check(place == 8 .and. representation == 'native', 'MPI_File_get_view')
    call MPI_Type_free(filetype)
    call MPI_File_get_type_extent(file, MPI_INTEGER, extent)
    call check(extent == 4, 'MPI_File_get_type_extent')
    call MPI_File_seek(file, 5_MPI_OFFSET_KIND, MPI_SEEK_SET)
    call MPI_File_get_position(file, place)
    call check(place == 5, 'MPI_File_get_position')
    call MPI_File_create_errhandler(wrong_file, handler)
    call MPI_File_set_errhandler(file, handler)
    call MPI_File_get_errhandler(file, found)
    call check(found == handler, 'MPI_File_get_errhandler')
    handled = 0
    call MPI_File_call_errhandler(file, MPI_ERR_IO)
    call check(handled == MPI_ERR_IO, 'MPI_File_call_errhandler')
    call MPI_Errhandler_free(found)
    call MPI_Errhandler_free(handler)
    call MPI_File_close(file)
    if (me == 0) call MPI_File_delete('f_files_f08.more', MPI_INFO_NULL)
  end subroutine
end program
