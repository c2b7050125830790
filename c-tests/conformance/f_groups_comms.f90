! Chapters 7 to 11 from `use mpi`: groups, communicators, topologies, attributes, errors, infos, the
! environment.
module communicator_errors
  implicit none
  integer :: handled
contains
  subroutine wrong_communicator(comm, code)
    integer :: comm, code
    handled = code
  end subroutine
end module

program f_groups_comms
  use mpi
  use communicator_errors
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  implicit none
  character(*), parameter :: program_name = 'f_groups_comms'
  integer :: ierr, me, n, errors, total, left, right
  errors = 0
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
  left = modulo(me - 1, n)
  right = modulo(me + 1, n)
  call groups
  call communicators
  call between
  call grid
  call graph
  call attributes
  call errors_of_the_program
  call infos
  call memory_and_threads
  call MPI_Allreduce(errors, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call print_outcome(total)
  call MPI_Finalize(ierr)
  if (total /= 0) stop 1
contains
  include 'check.inc'


  subroutine groups
    integer :: world, evens, rest, both, again, result, size_of, ranks(1), i, ranges(3, 1)
    call MPI_Comm_group(MPI_COMM_WORLD, world, ierr)
    ranges(:, 1) = [0, n - 1, 2]
    call MPI_Group_range_incl(world, 1, ranges, evens, ierr)
    call MPI_Group_range_excl(world, 1, ranges, rest, ierr)
    call MPI_Group_size(evens, size_of, ierr)
    call check(size_of == (n + 1) / 2, 'MPI_Group_range_incl')
    call MPI_Group_size(rest, size_of, ierr)
    call check(size_of == n / 2, 'MPI_Group_range_excl')
    call MPI_Group_union(evens, rest, both, ierr)
    call MPI_Group_compare(both, world, result, ierr)
    call check(result == merge(MPI_IDENT, MPI_SIMILAR, n <= 2), 'MPI_Group_union')
    call MPI_Group_difference(both, rest, again, ierr)
    call MPI_Group_compare(again, evens, result, ierr)
    call check(result == MPI_IDENT, 'MPI_Group_difference')
    call MPI_Group_free(again, ierr)
    call MPI_Group_intersection(world, evens, again, ierr)
    call MPI_Group_compare(again, evens, result, ierr)
    call check(result == MPI_IDENT, 'MPI_Group_intersection')
    call MPI_Group_translate_ranks(world, 1, [me], evens, ranks, ierr)
    call check(ranks(1) == merge(me / 2, MPI_UNDEFINED, mod(me, 2) == 0), 'MPI_Group_translate_ranks')
    call MPI_Group_rank(rest, i, ierr)
    call check(i == merge(me / 2, MPI_UNDEFINED, mod(me, 2) == 1), 'MPI_Group_rank')
    call MPI_Group_free(again, ierr)
    call MPI_Group_free(both, ierr)
    call MPI_Group_excl(world, 1, [0], both, ierr)
    call MPI_Group_size(both, size_of, ierr)
    call check(size_of == n - 1, 'MPI_Group_excl')
    call MPI_Group_free(both, ierr)
    call MPI_Group_incl(world, 1, [n - 1], both, ierr)
    call MPI_Group_rank(both, i, ierr)
    call check(i == merge(0, MPI_UNDEFINED, me == n - 1), 'MPI_Group_incl')
    call MPI_Group_free(both, ierr)
    call MPI_Group_free(evens, ierr)
    call MPI_Group_free(rest, ierr)
    call MPI_Group_free(world, ierr)
  end subroutine

  subroutine communicators
    integer :: group, comm, other, info, result, size_of, length, request
    character(len=MPI_MAX_OBJECT_NAME) :: name
    character(len=10) :: value
    logical :: flag
    call MPI_Comm_group(MPI_COMM_WORLD, group, ierr)
    call MPI_Comm_create(MPI_COMM_WORLD, group, comm, ierr)
    call MPI_Comm_compare(comm, MPI_COMM_WORLD, result, ierr)
    call check(result == MPI_CONGRUENT, 'MPI_Comm_create')
    call MPI_Comm_create_group(comm, group, 3, other, ierr)
    call MPI_Comm_size(other, size_of, ierr)
    call check(size_of == n, 'MPI_Comm_create_group')
    call MPI_Comm_free(other, ierr)
    call MPI_Group_free(group, ierr)
    call MPI_Comm_idup(comm, other, request, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    call MPI_Comm_compare(comm, other, result, ierr)
    call check(result == MPI_CONGRUENT, 'MPI_Comm_idup')
    call MPI_Comm_disconnect(other, ierr)
    call check(other == MPI_COMM_NULL, 'MPI_Comm_disconnect')
    call MPI_Info_create(info, ierr)
    call MPI_Info_set(info, 'mpi_assert_no_any_tag', 'true', ierr)
    call MPI_Comm_dup_with_info(comm, info, other, ierr)
    call MPI_Comm_set_info(other, info, ierr)
    call MPI_Info_free(info, ierr)
    call MPI_Comm_get_info(other, info, ierr)
    call MPI_Info_get(info, 'mpi_assert_no_any_tag', 10, value, flag, ierr)
    call check(flag .and. value == 'true', 'MPI_Comm_get_info')
    call MPI_Comm_free(other, ierr)
    call MPI_Comm_idup_with_info(comm, info, other, request, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    call MPI_Info_free(info, ierr)
    call MPI_Comm_set_name(other, 'the other one', ierr)
    call MPI_Comm_get_name(other, name, length, ierr)
    call check(length == 13 .and. name == 'the other one', 'MPI_Comm_get_name')
    call MPI_Comm_free(other, ierr)
    call MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, me, MPI_INFO_NULL, other, ierr)
    call MPI_Comm_size(other, size_of, ierr)
    call check(size_of == n, 'MPI_Comm_split_type')
    call MPI_Comm_free(other, ierr)
    call MPI_Comm_split(comm, mod(me, 2), -me, other, ierr)
    call MPI_Comm_size(other, size_of, ierr)
    call check(size_of == (n + 1 - mod(me, 2)) / 2, 'MPI_Comm_split')
    call MPI_Comm_free(other, ierr)
    call MPI_Comm_get_parent(other, ierr)
    call check(other == MPI_COMM_NULL, 'MPI_Comm_get_parent')
    call MPI_Comm_dup(comm, other, ierr)
    call MPI_Barrier(other, ierr)
    call MPI_Comm_free(other, ierr)
    call MPI_Comm_free(comm, ierr)
  end subroutine

  ! Even ranks on one side, odd ones on the other.
  subroutine between
    integer :: mine, inter, merged, size_of, group, r(0:n), i
    logical :: flag
    call MPI_Comm_split(MPI_COMM_WORLD, mod(me, 2), me, mine, ierr)
    call MPI_Comm_test_inter(mine, flag, ierr)
    call check(.not. flag, 'MPI_Comm_test_inter of one group')
    if (n > 1) then
      call MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD, 1 - mod(me, 2), 9, inter, ierr)
      call MPI_Comm_test_inter(inter, flag, ierr)
      call check(flag, 'MPI_Comm_test_inter')
      call MPI_Comm_remote_size(inter, size_of, ierr)
      call check(size_of == (n + mod(me, 2)) / 2, 'MPI_Comm_remote_size')
      call MPI_Comm_remote_group(inter, group, ierr)
      call MPI_Group_size(group, i, ierr)
      call check(i == size_of, 'MPI_Comm_remote_group')
      call MPI_Group_free(group, ierr)
      r = -1
      call MPI_Allgather(me, 1, MPI_INTEGER, r, 1, MPI_INTEGER, inter, ierr)
      call check(all(r(0:size_of - 1) == [(2 * i + 1 - mod(me, 2), i = 0, size_of - 1)]), 'between two groups')
      call MPI_Intercomm_merge(inter, mod(me, 2) == 1, merged, ierr)
      call MPI_Comm_rank(merged, i, ierr)
      call check(i == merge(me / 2, (n + 1) / 2 + me / 2, mod(me, 2) == 0), 'MPI_Intercomm_merge')
      call MPI_Comm_free(merged, ierr)
      call MPI_Comm_free(inter, ierr)
    end if
    call MPI_Comm_free(mine, ierr)
  end subroutine

  subroutine grid
    integer :: cart, row, dims(2), coords(2), rank, from, into, kind_of, new_rank, size_of
    logical :: periods(2)
    dims = 0
    call MPI_Dims_create(n, 2, dims, ierr)
    call check(product(dims) == n .and. dims(1) >= dims(2), 'MPI_Dims_create')
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.true., .false.], .false., cart, ierr)
    call MPI_Topo_test(cart, kind_of, ierr)
    call check(kind_of == MPI_CART, 'MPI_Topo_test')
    call MPI_Cartdim_get(cart, size_of, ierr)
    call check(size_of == 2, 'MPI_Cartdim_get')
    call MPI_Cart_get(cart, 2, dims, periods, coords, ierr)
    call check(periods(1) .and. .not. periods(2), 'MPI_Cart_get')
    call MPI_Cart_rank(cart, coords, rank, ierr)
    call check(rank == me, 'MPI_Cart_rank')
    call MPI_Cart_coords(cart, n - 1, 2, coords, ierr)
    call check(all(coords == dims - 1), 'MPI_Cart_coords')
    call MPI_Cart_shift(cart, 1, 1, from, into, ierr)
    call MPI_Cart_coords(cart, me, 2, coords, ierr)
    call check(from == merge(MPI_PROC_NULL, me - 1, coords(2) == 0), 'MPI_Cart_shift')
    call MPI_Cart_sub(cart, [.true., .false.], row, ierr)
    call MPI_Comm_size(row, size_of, ierr)
    call check(size_of == dims(1), 'MPI_Cart_sub')
    call MPI_Comm_free(row, ierr)
    call MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, new_rank, ierr)
    call check(new_rank >= 0 .and. new_rank < n, 'MPI_Cart_map')
    call MPI_Comm_free(cart, ierr)
  end subroutine

  ! Each rank is the neighbour of the next two ranks.
  subroutine graph
    integer :: comm, index(n), edges(2 * n), i, nodes, many, neighbours(2), new_rank
    integer :: got_index(n), got_edges(2 * n)
    index = [(2 * i, i = 1, n)]
    edges = [(modulo(i - 1, n), modulo(i + 1, n), i = 0, n - 1)]
    call MPI_Graph_create(MPI_COMM_WORLD, n, index, edges, .false., comm, ierr)
    call MPI_Graphdims_get(comm, nodes, many, ierr)
    call check(nodes == n .and. many == 2 * n, 'MPI_Graphdims_get')
    call MPI_Graph_get(comm, n, 2 * n, got_index, got_edges, ierr)
    call check(all(got_index == index) .and. all(got_edges == edges), 'MPI_Graph_get')
    call MPI_Graph_neighbors_count(comm, me, many, ierr)
    call check(many == 2, 'MPI_Graph_neighbors_count')
    call MPI_Graph_neighbors(comm, me, 2, neighbours, ierr)
    call check(all(neighbours == [left, right]), 'MPI_Graph_neighbors')
    call MPI_Graph_map(MPI_COMM_WORLD, n, index, edges, new_rank, ierr)
    call check(new_rank >= 0 .and. new_rank < n, 'MPI_Graph_map')
    call MPI_Comm_free(comm, ierr)
  end subroutine

  subroutine attributes
    integer :: key, t, u, comm
    integer(kind=MPI_ADDRESS_KIND) :: value
    logical :: flag
    call MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND, ierr)
    call MPI_Type_contiguous(2, MPI_REAL, t, ierr)
    value = 77777777777_MPI_ADDRESS_KIND
    call MPI_Type_set_attr(t, key, value, ierr)
    call MPI_Type_dup(t, u, ierr)
    value = 0
    call MPI_Type_get_attr(u, key, value, flag, ierr)
    call check(flag .and. value == 77777777777_MPI_ADDRESS_KIND, 'MPI_Type_get_attr')
    call MPI_Type_delete_attr(u, key, ierr)
    call MPI_Type_get_attr(u, key, value, flag, ierr)
    call check(.not. flag, 'MPI_Type_delete_attr')
    call MPI_Type_free(t, ierr)
    call MPI_Type_free(u, ierr)
    call MPI_Type_free_keyval(key, ierr)
    call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND, ierr)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    call MPI_Comm_set_attr(comm, key, value, ierr)
    call MPI_Comm_delete_attr(comm, key, ierr)
    call MPI_Comm_get_attr(comm, key, value, flag, ierr)
    call check(.not. flag, 'MPI_Comm_delete_attr')
    call MPI_Comm_free(comm, ierr)
    call MPI_Comm_free_keyval(key, ierr)
    call check(key == MPI_KEYVAL_INVALID, 'MPI_Comm_free_keyval')
  end subroutine

  subroutine errors_of_the_program
    integer :: class, code, length, found, handler, again
    character(len=MPI_MAX_ERROR_STRING) :: text
    call MPI_Add_error_class(class, ierr)
    call MPI_Add_error_code(class, code, ierr)
    call MPI_Add_error_string(code, 'out of cheese', ierr)
    call MPI_Error_string(code, text, length, ierr)
    call check(text == 'out of cheese' .and. length == 13, 'MPI_Error_string')
    call MPI_Error_class(code, found, ierr)
    call check(found == class, 'MPI_Error_class')
    call MPI_Comm_create_errhandler(wrong_communicator, handler, ierr)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, handler, ierr)
    call MPI_Comm_get_errhandler(MPI_COMM_SELF, again, ierr)
    call check(again == handler, 'MPI_Comm_get_errhandler')
    handled = 0
    call MPI_Comm_call_errhandler(MPI_COMM_SELF, code, ierr)
    call check(handled == code, 'MPI_Comm_call_errhandler')
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierr)
    call MPI_Errhandler_free(again, ierr)
    call MPI_Errhandler_free(handler, ierr)
    call check(handler == MPI_ERRHANDLER_NULL, 'MPI_Errhandler_free')
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL, ierr)
  end subroutine

  subroutine infos
    integer :: info, other, keys, length
    character(len=MPI_MAX_INFO_KEY) :: key
    character(len=20) :: value
    logical :: flag
    call MPI_Info_create(info, ierr)
    call MPI_Info_set(info, 'colour', ' blue ', ierr)
    call MPI_Info_set(info, 'size', 'large', ierr)
    call MPI_Info_dup(info, other, ierr)
    call MPI_Info_delete(info, 'colour', ierr)
    call MPI_Info_get_nkeys(info, keys, ierr)
    call check(keys == 1, 'MPI_Info_delete')
    call MPI_Info_get_nkeys(other, keys, ierr)
    call check(keys == 2, 'MPI_Info_dup')
    call MPI_Info_get_nthkey(other, 1, key, ierr)
    call check(key == 'size', 'MPI_Info_get_nthkey')
    call MPI_Info_get_valuelen(other, 'size', length, flag, ierr)
    call check(flag .and. length == 5, 'MPI_Info_get_valuelen')
    call MPI_Info_get(other, 'colour', 20, value, flag, ierr)
    call check(flag .and. value == 'blue', 'MPI_Info_get')
    length = 20
    call MPI_Info_get_string(other, 'size', length, value, flag, ierr)
    call check(flag .and. value == 'large', 'MPI_Info_get_string')
    call MPI_Info_free(info, ierr)
    call MPI_Info_free(other, ierr)
    call MPI_Info_create_env(info, ierr)
    call MPI_Info_get(info, 'thread_level', 20, value, flag, ierr)
    call check(ierr == MPI_SUCCESS, 'MPI_Info_create_env')
    call MPI_Info_free(info, ierr)
  end subroutine

  subroutine memory_and_threads
    integer :: level
    integer(kind=MPI_ADDRESS_KIND) :: bytes
    logical :: flag
    type(c_ptr) :: base
    real, pointer :: values(:)
    bytes = 400
    call MPI_Alloc_mem(bytes, MPI_INFO_NULL, base, ierr)
    call c_f_pointer(base, values, [100])
    values = 2.5
    call check(sum(values) == 250.0, 'MPI_Alloc_mem')
    call MPI_Free_mem(values, ierr)
    call check(ierr == MPI_SUCCESS, 'MPI_Free_mem')
    call MPI_Query_thread(level, ierr)
    call check(level >= MPI_THREAD_SINGLE .and. level <= MPI_THREAD_MULTIPLE, 'MPI_Query_thread')
    call MPI_Is_thread_main(flag, ierr)
    call check(flag, 'MPI_Is_thread_main')
    call MPI_Finalized(flag, ierr)
    call check(.not. flag, 'MPI_Finalized')
    call MPI_Pcontrol(0)
    call check(MPI_Wtime() >= 0 .and. MPI_Wtick() > 0, 'MPI_Wtick')
    if (errors > 1000) call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
  end subroutine
end program
