! Functions since MPI-4.1, sessions, and refused calls, from `use mpi_f08`.
module newer_callbacks
  use mpi_f08
  implicit none
  integer :: handled
  integer(kind=MPI_COUNT_KIND) :: added
contains
  subroutine wrong_session(session, code)
    type(MPI_Session) :: session
    integer :: code
    handled = code
  end subroutine
  subroutine convert(userbuf, datatype, count, filebuf, position, extra, ierr)
    use, intrinsic :: iso_c_binding, only: c_ptr
    type(c_ptr), value :: userbuf, filebuf
    type(MPI_Datatype) :: datatype
    integer :: count, ierr
    integer(kind=MPI_OFFSET_KIND) :: position
    integer(kind=MPI_ADDRESS_KIND) :: extra
    ierr = MPI_ERR_CONVERSION
  end subroutine
  ! In the file an integer has the other sign. Reading and writing use the same conversion.
  subroutine negate(userbuf, datatype, count, filebuf, position, extra, ierr)
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: userbuf, filebuf
    type(MPI_Datatype) :: datatype
    integer(kind=MPI_COUNT_KIND) :: count
    integer(kind=MPI_OFFSET_KIND) :: position
    integer(kind=MPI_ADDRESS_KIND) :: extra
    integer :: ierr
    integer, pointer :: here(:), there(:)
    call c_f_pointer(userbuf, here, [position + count])
    call c_f_pointer(filebuf, there, [count])
    if (extra == 1) there = -here(position + 1:)
    if (extra == 2) here(position + 1:) = -there
    ierr = merge(MPI_SUCCESS, MPI_ERR_CONVERSION, datatype == MPI_INTEGER)
  end subroutine
  subroutine add_many(invec, inoutvec, length, datatype)
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: invec, inoutvec
    integer(kind=MPI_COUNT_KIND) :: length
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    call c_f_pointer(invec, a, [length])
    call c_f_pointer(inoutvec, b, [length])
    if (datatype == MPI_INTEGER) b = a + b
    added = added + length
  end subroutine
  subroutine extent_of(datatype, extent, extra, ierr)
    type(MPI_Datatype) :: datatype
    integer(kind=MPI_ADDRESS_KIND) :: extent, extra
    integer :: ierr
    extent = 4
    ierr = MPI_SUCCESS
  end subroutine
end module

program f_newer_f08
  use mpi_f08
  use newer_callbacks
  use, intrinsic :: iso_c_binding, only: c_ptr, c_loc, c_associated
  implicit none
  character(*), parameter :: program_name = 'f_newer_f08'
  integer :: me, n, errors, total, left, right
  errors = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  left = modulo(me - 1, n)
  right = modulo(me + 1, n)
  call attached
  call automatic
  call both_ways
  call statuses
  call sessions
  call refused
  call various
  call large_callbacks
  call MPI_Allreduce(errors, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call print_outcome(total)
  call MPI_Finalize()
  if (total /= 0) stop 1
contains
  include 'check.inc'


  ! Compared as numbers, because gfortran 12 takes a c_ptr from another procedure for different from
  ! any local variable.
  logical function is_at(pointer, variable)
    type(c_ptr), intent(in) :: pointer
    type(*), dimension(..), asynchronous :: variable
    integer(kind=MPI_ADDRESS_KIND) :: at
    call MPI_Get_address(variable, at)
    is_at = transfer(pointer, at) == at
  end function

  ! Buffers of a communicator and of a session, and flushing them.
  subroutine attached
    integer, asynchronous :: s, r
    integer :: bytes
    integer(kind=MPI_COUNT_KIND) :: many
    character, asynchronous, target :: space(4000), more(4000)
    type(c_ptr) :: back
    type(MPI_Comm) :: comm
    type(MPI_Request) :: request
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_attach_buffer(comm, space, 4000)
    s = me + 3
    call MPI_Bsend(s, 1, MPI_INTEGER, right, 1, comm)
    call MPI_Recv(r, 1, MPI_INTEGER, left, 1, comm, MPI_STATUS_IGNORE)
    call check(r == left + 3, 'a buffer of a communicator')
    call MPI_Comm_flush_buffer(comm)
    call MPI_Comm_iflush_buffer(comm, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Comm_detach_buffer(comm, back, bytes)
    call check(bytes == 4000 .and. is_at(back, space), 'MPI_Comm_detach_buffer')
    many = 4000
    call MPI_Comm_attach_buffer(comm, more, many)
    many = 0
    call MPI_Comm_detach_buffer(comm, back, many)
    call check(many == 4000, 'MPI_Comm_detach_buffer, large')
    call MPI_Comm_free(comm)
    call MPI_Buffer_attach(space, 4000)
    call MPI_Bsend(s, 1, MPI_INTEGER, right, 2, MPI_COMM_WORLD)
    call MPI_Recv(r, 1, MPI_INTEGER, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Buffer_flush
    call MPI_Buffer_iflush(request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Buffer_detach(back, bytes)
    call check(bytes == 4000 .and. is_at(back, space), 'MPI_Buffer_detach')
  end subroutine

  ! The library's own buffer grows as needed.
  subroutine automatic
    integer, asynchronous :: s(1000), r(1000)
    integer :: bytes
    type(c_ptr) :: back
    call MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0)
    s = me
    call MPI_Bsend(s, 1000, MPI_INTEGER, right, 3, MPI_COMM_WORLD)
    call MPI_Recv(r, 1000, MPI_INTEGER, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(r == left), 'MPI_BUFFER_AUTOMATIC')
    call MPI_Buffer_detach(back, bytes)
    call check(c_associated(back, c_loc(MPI_BUFFER_AUTOMATIC)), 'MPI_BUFFER_AUTOMATIC, detached')
  end subroutine

  subroutine both_ways
    integer, asynchronous :: s, r
    integer(kind=MPI_COUNT_KIND), parameter :: one = 1
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    integer :: count
    s = 11 * me
    call MPI_Isendrecv(s, 1, MPI_INTEGER, right, 4, r, 1, MPI_INTEGER, left, 4, MPI_COMM_WORLD, request)
    call MPI_Wait(request, status)
    call check(r == 11 * left, 'MPI_Isendrecv')
    call MPI_Isendrecv_replace(s, 1, MPI_INTEGER, right, 5, left, 5, MPI_COMM_WORLD, request)
    call MPI_Wait(request, status)
    call check(s == 11 * left, 'MPI_Isendrecv_replace')
    s = 12 * me
    call MPI_Isendrecv(s, one, MPI_INTEGER, right, 6, r, one, MPI_INTEGER, left, 6, MPI_COMM_WORLD, request)
    call MPI_Wait(request, status)
    call check(r == 12 * left, 'MPI_Isendrecv, large')
    call MPI_Isendrecv_replace(s, one, MPI_INTEGER, right, 7, left, 7, MPI_COMM_WORLD, request)
    call MPI_Wait(request, status)
    call check(s == 12 * left, 'MPI_Isendrecv_replace, large')
    call MPI_Status_set_elements(status, MPI_INTEGER, 3 * one)
    call MPI_Get_count(status, MPI_INTEGER, count)
    call check(count == 3, 'MPI_Status_set_elements, large')
  end subroutine

  subroutine statuses
    integer, asynchronous :: r(2), s(2)
    integer :: value, index, outcount, indices(2), i
    logical :: flag
    type(MPI_Request) :: requests(2), sends(2)
    type(MPI_Status) :: status, several(2)
    call MPI_Request_get_status_any(0, requests, index, flag, status)
    call check(flag .and. index == MPI_UNDEFINED, 'MPI_Request_get_status_any of none')
    s = [me, me + 50]
    do i = 1, 2
      call MPI_Irecv(r(i), 1, MPI_INTEGER, left, 10 + i, MPI_COMM_WORLD, requests(i))
      call MPI_Isend(s(i), 1, MPI_INTEGER, right, 10 + i, MPI_COMM_WORLD, sends(i))
    end do
    flag = .false.
    do while (.not. flag)
      call MPI_Request_get_status_all(2, requests, flag, several)
    end do
    call check(all(r == [left, left + 50]), 'MPI_Request_get_status_all')
    call check(several(2)%MPI_TAG == 12, 'a status of MPI_Request_get_status_all')
    call MPI_Request_get_status_some(2, requests, outcount, indices, several)
    call check(outcount == 2 .and. all(indices == [1, 2]), 'MPI_Request_get_status_some')
    call MPI_Request_get_status_any(2, requests, index, flag, status)
    call check(flag .and. (index == 1 .or. index == 2), 'MPI_Request_get_status_any')
    call MPI_Waitall(2, requests, several)
    call MPI_Waitall(2, sends, MPI_STATUSES_IGNORE)
    call MPI_Status_get_source(several(1), value)
    call check(value == left, 'MPI_Status_get_source')
    call MPI_Status_get_tag(several(1), value)
    call check(value == 11, 'MPI_Status_get_tag')
    call MPI_Status_get_error(several(1), value)
    call check(value == MPI_SUCCESS, 'MPI_Status_get_error')
    call MPI_Status_set_source(status, 5)
    call MPI_Status_set_tag(status, 6)
    call MPI_Status_set_error(status, MPI_ERR_TRUNCATE)
    call check(status%MPI_SOURCE == 5 .and. status%MPI_TAG == 6 .and. status%MPI_ERROR == MPI_ERR_TRUNCATE, &
        'MPI_Status_set_source and its like')
  end subroutine

  subroutine sessions
    type(MPI_Session) :: session
    type(MPI_Info) :: info
    type(MPI_Group) :: group, mine, theirs
    type(MPI_Comm) :: comm, inter
    type(MPI_Errhandler) :: handler, found
    type(MPI_Request) :: request
    type(c_ptr) :: back
    character(len=MPI_MAX_PSET_NAME_LEN) :: name
    character(len=20) :: value
    character, asynchronous, target :: space(3000)
    integer :: sets, length, members, total_of, bytes, i
    integer(kind=MPI_COUNT_KIND) :: many
    logical :: flag, world
    call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session)
    call MPI_Session_get_info(session, info)
    call MPI_Info_free(info)
    call MPI_Session_get_num_psets(session, MPI_INFO_NULL, sets)
    world = .false.
    do i = 0, sets - 1
      length = MPI_MAX_PSET_NAME_LEN
      call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, length, name)
      world = world .or. name == 'mpi://WORLD'
    end do
    call check(sets >= 2 .and. world, 'MPI_Session_get_nth_pset')
    call MPI_Session_get_pset_info(session, 'mpi://WORLD', info)
    call MPI_Info_get(info, 'mpi_size', 20, value, flag)
    read (value, *) members
    call check(flag .and. members == n, 'MPI_Session_get_pset_info')
    call MPI_Info_free(info)
    call MPI_Group_from_session_pset(session, 'mpi://WORLD', group)
    call MPI_Comm_create_from_group(group, 'a tag', MPI_INFO_NULL, MPI_ERRORS_RETURN, comm)
    call MPI_Allreduce(1, total_of, 1, MPI_INTEGER, MPI_SUM, comm)
    call check(total_of == n, 'MPI_Comm_create_from_group')
    call MPI_Comm_free(comm)
    if (n > 1) then
      call MPI_Group_incl(group, 1, [0], mine)
      call MPI_Group_excl(group, 1, [0], theirs)
      if (me == 0) then
        call MPI_Intercomm_create_from_groups(mine, 0, theirs, 0, 'two', MPI_INFO_NULL, MPI_ERRORS_RETURN, inter)
      else
        call MPI_Intercomm_create_from_groups(theirs, 0, mine, 0, 'two', MPI_INFO_NULL, MPI_ERRORS_RETURN, inter)
      end if
      call MPI_Comm_remote_size(inter, members)
      call check(members == merge(n - 1, 1, me == 0), 'MPI_Intercomm_create_from_groups')
      call MPI_Comm_free(inter)
      call MPI_Group_free(mine)
      call MPI_Group_free(theirs)
    end if
    call MPI_Group_free(group)
    call MPI_Session_attach_buffer(session, space, 3000)
    call MPI_Session_flush_buffer(session)
    call MPI_Session_iflush_buffer(session, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Session_detach_buffer(session, back, bytes)
    call check(bytes == 3000 .and. is_at(back, space), 'MPI_Session_detach_buffer')
    many = 3000
    call MPI_Session_attach_buffer(session, space, many)
    many = 0
    call MPI_Session_detach_buffer(session, back, many)
    call check(many == 3000, 'MPI_Session_detach_buffer, large')
    call MPI_Session_create_errhandler(wrong_session, handler)
    call MPI_Session_set_errhandler(session, handler)
    call MPI_Session_get_errhandler(session, found)
    call check(found == handler, 'MPI_Session_get_errhandler')
    handled = 0
    call MPI_Session_call_errhandler(session, MPI_ERR_SESSION)
    call check(handled == MPI_ERR_SESSION, 'MPI_Session_call_errhandler')
    call MPI_Errhandler_free(found)
    call MPI_Errhandler_free(handler)
    call MPI_Session_finalize(session)
    call check(session == MPI_SESSION_NULL, 'MPI_Session_finalize')
  end subroutine

  ! Calls about ports and names that cannot succeed: every call reports so.
  subroutine refused
    character(len=MPI_MAX_PORT_NAME) :: port
    character(len=32) :: service
    type(MPI_Comm) :: comm
    integer :: code, me
    port = 'nowhere'
    call MPI_Comm_rank(MPI_COMM_WORLD, me)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPI_Open_port(MPI_INFO_NULL, port, code)
    ! (Protocols that keep logs offer none.)
    if (code == MPI_SUCCESS) then
      call MPI_Close_port(port, code)
      call check(code == MPI_SUCCESS, 'MPI_Close_port of an open port')
    end if
    port = 'nowhere'
    call MPI_Close_port(port, code)
    call check(code /= MPI_SUCCESS, 'MPI_Close_port')
    write (service, '(a,i0)') 'service ', me
    call MPI_Publish_name(service, MPI_INFO_NULL, port, code)
    if (code == MPI_SUCCESS) then
      call MPI_Unpublish_name(service, MPI_INFO_NULL, port, code)
      call check(code == MPI_SUCCESS, 'MPI_Unpublish_name of a name')
    end if
    call MPI_Lookup_name('service', MPI_INFO_NULL, port, code)
    call check(code /= MPI_SUCCESS, 'MPI_Lookup_name')
    call MPI_Unpublish_name('service', MPI_INFO_NULL, port, code)
    call check(code /= MPI_SUCCESS, 'MPI_Unpublish_name')
    call MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, comm, code)
    call check(code /= MPI_SUCCESS, 'MPI_Comm_accept')
    call MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, comm, code)
    call check(code /= MPI_SUCCESS, 'MPI_Comm_connect')
    call MPI_Comm_join(0, comm, code)
    call check(code /= MPI_SUCCESS, 'MPI_Comm_join')
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
  end subroutine

  subroutine various
    type(MPI_Info) :: info
    type(MPI_Datatype) :: pair
    integer :: class, code, ierr
    call MPI_Get_hw_resource_info(info)
    call check(info /= MPI_INFO_NULL, 'MPI_Get_hw_resource_info')
    call MPI_Info_free(info)
    call MPI_Type_get_value_index(MPI_DOUBLE_PRECISION, MPI_INTEGER, pair)
    call check(pair == MPI_DATATYPE_NULL .or. pair /= MPI_INTEGER, 'MPI_Type_get_value_index')
    call MPI_Add_error_class(class)
    call MPI_Add_error_code(class, code)
    call MPI_Add_error_string(code, 'a text')
    call MPI_Remove_error_string(code)
    call MPI_Remove_error_code(code)
    call MPI_Remove_error_class(class, ierr)
    call check(ierr == MPI_SUCCESS, 'MPI_Remove_error_class')
    call MPI_Register_datarep('of this program', convert, convert, extent_of, 0_MPI_ADDRESS_KIND, ierr)
    call check(ierr == MPI_SUCCESS, 'MPI_Register_datarep')
    call MPI_Register_datarep('without conversion', MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_of, &
      0_MPI_ADDRESS_KIND, ierr)
    call check(ierr == MPI_SUCCESS, 'MPI_Register_datarep without functions')
  end subroutine

  ! Procedures with large counts: only the name of the call tells them from the others.
  subroutine large_callbacks
    integer :: k, mine(6), sums(6), raw(6), code
    type(MPI_Op) :: op
    added = 0
    call MPI_Op_create_c(add_many, .true., op)
    mine = [(me + k, k = 1, 6)]
    call MPI_Allreduce(mine, sums, 6, MPI_INTEGER, op, MPI_COMM_WORLD)
    call check(all(sums == [(n * (n - 1) / 2 + n * k, k = 1, 6)]), 'MPI_Op_create_c')
    call MPI_Allreduce(MPI_IN_PLACE, added, 1, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD)
    call check(n == 1 .or. (added > 0 .and. modulo(added, 6_MPI_COUNT_KIND) == 0), 'the lengths it is given')
    call MPI_Op_free(op)
    call MPI_Register_datarep_c('as written', MPI_CONVERSION_FN_NULL_C, negate, extent_of, 1_MPI_ADDRESS_KIND, code)
    call check(code == MPI_SUCCESS, 'MPI_Register_datarep_c to write')
    call MPI_Register_datarep_c('as read', negate, MPI_CONVERSION_FN_NULL_C, extent_of, 2_MPI_ADDRESS_KIND, code)
    call check(code == MPI_SUCCESS, 'MPI_Register_datarep_c to read')
    call PMPI_Register_datarep_c('as it is', MPI_CONVERSION_FN_NULL_C, MPI_CONVERSION_FN_NULL_C, extent_of, &
      0_MPI_ADDRESS_KIND, code)
    call check(code == MPI_SUCCESS, 'PMPI_Register_datarep_c')
    call through('as written', mine)
    call through('native', raw)
    call check(all(raw == -mine), 'a function that converts while writing')
    call through('as it is', raw)
    call check(all(raw == -mine), 'MPI_CONVERSION_FN_NULL_C')
    call through('as written', raw)
    call check(all(raw == -mine), 'MPI_CONVERSION_FN_NULL_C for reading only')
    call through('as read', raw)
    call check(all(raw == mine), 'a function that converts while reading')
  end subroutine

  ! The first call writes the numbers, later calls read them.
  subroutine through(representation, numbers)
    character(*), intent(in) :: representation
    integer, intent(inout) :: numbers(:)
    logical, save :: written = .false.
    type(MPI_File) :: file
    integer(kind=MPI_OFFSET_KIND) :: place
    call MPI_File_open(MPI_COMM_WORLD, 'f_newer_f08.numbers', MPI_MODE_RDWR + MPI_MODE_CREATE, MPI_INFO_NULL, file)
    call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, representation, MPI_INFO_NULL)
    place = me * size(numbers)
    if (written) then
      numbers = 0
      call MPI_File_read_at(file, place, numbers, size(numbers), MPI_INTEGER, MPI_STATUS_IGNORE)
    else
      call MPI_File_write_at(file, place, numbers, size(numbers), MPI_INTEGER, MPI_STATUS_IGNORE)
    end if
    written = .true.
    call MPI_File_close(file)
    if (representation == 'as read' .and. me == 0) call MPI_File_delete('f_newer_f08.numbers', MPI_INFO_NULL)
  end subroutine
end program
