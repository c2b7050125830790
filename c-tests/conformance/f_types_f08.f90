! Chapter 5 from `use mpi_f08`: all constructors, the contents of a type, packing, names, kinds of
! Fortran, and operations. Counts are of the default kind and of MPI_COUNT_KIND.
program f_types_f08
  use mpi_f08
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  implicit none
  character(*), parameter :: program_name = 'f_types_f08'
  integer :: me, n, errors, total, left, right
  errors = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  left = modulo(me - 1, n)
  right = modulo(me + 1, n)
  call small
  call large
  call contents
  call contents_large
  call portable
  call portable_large
  call named
  call kinds_of_fortran
  call functions
  call MPI_Allreduce(errors, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call print_outcome(total)
  call MPI_Finalize()
  if (total /= 0) stop 1
contains
  include 'check.inc'

  subroutine small
    integer, parameter :: ck = kind(0), ak = kind(0)
    include 'types_f08.inc'
  end subroutine

  subroutine large
    integer, parameter :: ck = MPI_COUNT_KIND, ak = MPI_ADDRESS_KIND
    include 'types_f08.inc'
  end subroutine

  ! The elements that a datatype takes from 1, 2, 3 ..., sent to the rank itself. The type is freed.
  subroutine picks(t, want, text)
    type(MPI_Datatype), intent(inout) :: t
    integer, intent(in) :: want(:)
    character(*), intent(in) :: text
    integer, asynchronous :: source(24), got(24)
    integer :: i, count
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    source = [(i, i = 1, 24)]
    got = 0
    call MPI_Type_commit(t)
    call MPI_Irecv(got, 24, MPI_INTEGER, 0, 1, MPI_COMM_SELF, request)
    call MPI_Send(source, 1, t, 0, 1, MPI_COMM_SELF)
    call MPI_Wait(request, status)
    call MPI_Get_count(status, MPI_INTEGER, count)
    call check(count == size(want), text // ': how many')
    call check(all(got(1:size(want)) == want) .and. got(size(want) + 1) == 0, text)
    call MPI_Type_free(t)
    call check(t == MPI_DATATYPE_NULL, text // ': freed')
  end subroutine

  subroutine contents
    integer :: ints(8), n_ints, n_places, n_types, combiner
    integer(kind=MPI_ADDRESS_KIND) :: places(2)
    type(MPI_Datatype) :: t, types(2)
    call MPI_Type_create_hindexed(2, [3, 1], [8_MPI_ADDRESS_KIND, 80_MPI_ADDRESS_KIND], MPI_REAL, t)
    call MPI_Type_get_envelope(t, n_ints, n_places, n_types, combiner)
    call check(n_ints == 3 .and. n_places == 2 .and. n_types == 1, 'MPI_Type_get_envelope')
    call check(combiner == MPI_COMBINER_HINDEXED, 'combiner')
    call MPI_Type_get_contents(t, 8, 2, 2, ints, places, types)
    call check(all(ints(1:3) == [2, 3, 1]) .and. all(places == [8, 80]), 'MPI_Type_get_contents')
    call check(types(1) == MPI_REAL, 'the type in it')
    call MPI_Type_free(t)
  end subroutine

  subroutine contents_large
    integer :: combiner, ints(8)
    integer(kind=MPI_COUNT_KIND) :: n_ints, n_places, n_counts, n_types, counts(8)
    integer(kind=MPI_COUNT_KIND), parameter :: eight = 8, two = 2, many = 5000000000_MPI_COUNT_KIND
    integer(kind=MPI_ADDRESS_KIND) :: places(8)
    type(MPI_Datatype) :: t, types(8)
    call MPI_Type_contiguous(many, MPI_CHARACTER, t)
    call MPI_Type_get_envelope(t, n_ints, n_places, n_counts, n_types, combiner)
    call check(n_ints == 0 .and. n_places == 0 .and. n_counts == 1 .and. n_types == 1, 'a large envelope')
    call MPI_Type_get_contents(t, eight, eight, eight, eight, ints, places, counts, types)
    call check(counts(1) == many .and. types(1) == MPI_CHARACTER, 'large contents')
    call MPI_Type_size_x(t, n_ints)
    call check(n_ints == many, 'MPI_Type_size_x')
    call MPI_Type_get_extent_x(t, n_ints, n_counts)
    call check(n_ints == 0 .and. n_counts == many, 'MPI_Type_get_extent_x')
    call MPI_Type_get_true_extent_x(t, n_ints, n_counts)
    call check(n_ints == 0 .and. n_counts == many, 'MPI_Type_get_true_extent_x')
    call MPI_Type_free(t)
  end subroutine

  ! external32: big endian
  subroutine portable
    integer :: values(3), back(3)
    integer(kind=MPI_ADDRESS_KIND) :: room, place
    character :: packed(12)
    values = [1, 256, -2]
    call MPI_Pack_external_size('external32', 3, MPI_INTEGER, room)
    call check(room == 12, 'MPI_Pack_external_size')
    place = 0
    call MPI_Pack_external('external32', values, 3, MPI_INTEGER, packed, room, place)
    call check(place == 12 .and. all(ichar(packed(1:8)) == [0, 0, 0, 1, 0, 0, 1, 0]), 'MPI_Pack_external')
    place = 0
    call MPI_Unpack_external('external32', packed, room, place, back, 3, MPI_INTEGER)
    call check(all(back == values), 'MPI_Unpack_external')
  end subroutine

  subroutine portable_large
    double precision :: values(2), back(2)
    integer(kind=MPI_COUNT_KIND) :: room, place
    integer(kind=MPI_COUNT_KIND), parameter :: two = 2
    character :: packed(16)
    values = [1d0, -2d0]
    call MPI_Pack_external_size('external32', two, MPI_DOUBLE_PRECISION, room)
    call check(room == 16, 'MPI_Pack_external_size, large')
    place = 0
    call MPI_Pack_external('external32', values, two, MPI_DOUBLE_PRECISION, packed, room, place)
    call check(all(ichar(packed(1:3)) == [63, 240, 0]), 'MPI_Pack_external, large')
    place = 0
    call MPI_Unpack_external('external32', packed, room, place, back, two, MPI_DOUBLE_PRECISION)
    call check(all(back == values), 'MPI_Unpack_external, large')
  end subroutine

  subroutine named
    type(MPI_Datatype) :: t, u
    character(len=MPI_MAX_OBJECT_NAME) :: name
    integer :: length, values(4)
    integer(kind=MPI_ADDRESS_KIND) :: first, second, between
    integer(kind=MPI_COUNT_KIND) :: elements
    type(MPI_Status) :: status
    call MPI_Type_contiguous(2, MPI_INTEGER, t)
    call MPI_Type_set_name(t, 'two integers')
    call MPI_Type_get_name(t, name, length)
    call check(length == 12 .and. name == 'two integers', 'MPI_Type_get_name')
    call MPI_Type_dup(t, u)
    call MPI_Type_get_name(MPI_INTEGER, name, length)
    call check(name == 'MPI_INTEGER', 'the name of MPI_INTEGER')
    call MPI_Type_free(t)
    call MPI_Type_commit(u)
    call MPI_Sendrecv([1, 2], 1, u, 0, 1, values, 1, u, 0, 1, MPI_COMM_SELF, status)
    call check(all(values(1:2) == [1, 2]), 'MPI_Type_dup')
    call MPI_Get_elements_x(status, u, elements)
    call check(elements == 2, 'MPI_Get_elements_x')
    call MPI_Status_set_elements_x(status, MPI_INTEGER, 6_MPI_COUNT_KIND)
    call MPI_Get_elements_x(status, u, elements)
    call check(elements == 6, 'MPI_Status_set_elements_x')
    call MPI_Type_free(u)
    call MPI_Get_address(values(1), first)
    call MPI_Get_address(values(3), second)
    between = MPI_Aint_diff(second, first)
    call check(between == 8 .and. MPI_Aint_add(first, between) == second, 'MPI_Aint_diff and MPI_Aint_add')
  end subroutine

  subroutine kinds_of_fortran
    type(MPI_Datatype) :: t
    integer :: bytes
    call MPI_Type_create_f90_real(12, MPI_UNDEFINED, t)
    call MPI_Type_size(t, bytes)
    call check(bytes == 8, 'MPI_Type_create_f90_real')
    call MPI_Type_create_f90_complex(5, 20, t)
    call MPI_Type_size(t, bytes)
    call check(bytes == 8, 'MPI_Type_create_f90_complex')
    call MPI_Type_create_f90_integer(10, t)
    call MPI_Type_size(t, bytes)
    call check(bytes == 8, 'MPI_Type_create_f90_integer')
    call MPI_Type_match_size(MPI_TYPECLASS_REAL, 4, t)
    call check(t == MPI_REAL4 .or. t == MPI_REAL, 'MPI_Type_match_size')
  end subroutine

  subroutine functions
    type(MPI_Op) :: op
    logical :: flag
    integer :: r
    call MPI_Op_create(product_of, .false., op)
    call MPI_Op_commutative(op, flag)
    call check(.not. flag, 'MPI_Op_commutative of ours')
    call MPI_Op_commutative(MPI_SUM, flag)
    call check(flag, 'MPI_Op_commutative of MPI_SUM')
    call MPI_Allreduce(2, r, 1, MPI_INTEGER, op, MPI_COMM_WORLD)
    call check(r == 2 ** n, 'an operation of the program')
    call MPI_Op_free(op)
    call check(op == MPI_OP_NULL, 'MPI_Op_free')
  end subroutine

  subroutine product_of(a, b, len, datatype)
    type(c_ptr), value :: a, b
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: x(:), y(:)
    call c_f_pointer(a, x, [len])
    call c_f_pointer(b, y, [len])
    y = x * y
  end subroutine
end program
