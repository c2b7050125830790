! Modules of `use mpi_f08` of ftmpi. Generated from include/mpi_preamble.h, include/mpi.table and include/mpix.table.
module mpi_f08_types
  implicit none
  public
  type, bind(C) :: MPI_Comm
    integer :: MPI_VAL
  end type MPI_Comm
  type, bind(C) :: MPI_Datatype
    integer :: MPI_VAL
  end type MPI_Datatype
  type, bind(C) :: MPI_Errhandler
    integer :: MPI_VAL
  end type MPI_Errhandler
  type, bind(C) :: MPI_File
    integer :: MPI_VAL
  end type MPI_File
  type, bind(C) :: MPI_Group
    integer :: MPI_VAL
  end type MPI_Group
  type, bind(C) :: MPI_Info
    integer :: MPI_VAL
  end type MPI_Info
  type, bind(C) :: MPI_Message
    integer :: MPI_VAL
  end type MPI_Message
  type, bind(C) :: MPI_Op
    integer :: MPI_VAL
  end type MPI_Op
  type, bind(C) :: MPI_Request
    integer :: MPI_VAL
  end type MPI_Request
  type, bind(C) :: MPI_Session
    integer :: MPI_VAL
  end type MPI_Session
  type, bind(C) :: MPI_Win
    integer :: MPI_VAL
  end type MPI_Win
  type, bind(C) :: MPI_Status
    integer :: count_lo
    integer :: count_hi_and_cancelled
    integer :: MPI_SOURCE
    integer :: MPI_TAG
    integer :: MPI_ERROR
  end type MPI_Status
  interface operator(==)
    module procedure mpi_Comm_eq
    module procedure mpi_Comm_f08_eq_f
    module procedure mpi_Comm_f_eq_f08
    module procedure mpi_Datatype_eq
    module procedure mpi_Datatype_f08_eq_f
    module procedure mpi_Datatype_f_eq_f08
    module procedure mpi_Errhandler_eq
    module procedure mpi_Errhandler_f08_eq_f
    module procedure mpi_Errhandler_f_eq_f08
    module procedure mpi_File_eq
    module procedure mpi_File_f08_eq_f
    module procedure mpi_File_f_eq_f08
    module procedure mpi_Group_eq
    module procedure mpi_Group_f08_eq_f
    module procedure mpi_Group_f_eq_f08
    module procedure mpi_Info_eq
    module procedure mpi_Info_f08_eq_f
    module procedure mpi_Info_f_eq_f08
    module procedure mpi_Message_eq
    module procedure mpi_Message_f08_eq_f
    module procedure mpi_Message_f_eq_f08
    module procedure mpi_Op_eq
    module procedure mpi_Op_f08_eq_f
    module procedure mpi_Op_f_eq_f08
    module procedure mpi_Request_eq
    module procedure mpi_Request_f08_eq_f
    module procedure mpi_Request_f_eq_f08
    module procedure mpi_Session_eq
    module procedure mpi_Session_f08_eq_f
    module procedure mpi_Session_f_eq_f08
    module procedure mpi_Win_eq
    module procedure mpi_Win_f08_eq_f
    module procedure mpi_Win_f_eq_f08
  end interface
  interface operator(/=)
    module procedure mpi_Comm_neq
    module procedure mpi_Comm_f08_neq_f
    module procedure mpi_Comm_f_neq_f08
    module procedure mpi_Datatype_neq
    module procedure mpi_Datatype_f08_neq_f
    module procedure mpi_Datatype_f_neq_f08
    module procedure mpi_Errhandler_neq
    module procedure mpi_Errhandler_f08_neq_f
    module procedure mpi_Errhandler_f_neq_f08
    module procedure mpi_File_neq
    module procedure mpi_File_f08_neq_f
    module procedure mpi_File_f_neq_f08
    module procedure mpi_Group_neq
    module procedure mpi_Group_f08_neq_f
    module procedure mpi_Group_f_neq_f08
    module procedure mpi_Info_neq
    module procedure mpi_Info_f08_neq_f
    module procedure mpi_Info_f_neq_f08
    module procedure mpi_Message_neq
    module procedure mpi_Message_f08_neq_f
    module procedure mpi_Message_f_neq_f08
    module procedure mpi_Op_neq
    module procedure mpi_Op_f08_neq_f
    module procedure mpi_Op_f_neq_f08
    module procedure mpi_Request_neq
    module procedure mpi_Request_f08_neq_f
    module procedure mpi_Request_f_neq_f08
    module procedure mpi_Session_neq
    module procedure mpi_Session_f08_neq_f
    module procedure mpi_Session_f_neq_f08
    module procedure mpi_Win_neq
    module procedure mpi_Win_f08_neq_f
    module procedure mpi_Win_f_neq_f08
  end interface
contains
  elemental logical function mpi_Comm_eq(x, y)
    type(MPI_Comm), intent(in) :: x
    type(MPI_Comm), intent(in) :: y
    mpi_Comm_eq = x%MPI_VAL == y%MPI_VAL
  end function
  elemental logical function mpi_Comm_neq(x, y)
    type(MPI_Comm), intent(in) :: x
    type(MPI_Comm), intent(in) :: y
    mpi_Comm_neq = x%MPI_VAL /= y%MPI_VAL
  end function
  elemental logical function mpi_Comm_f08_eq_f(x, y)
    type(MPI_Comm), intent(in) :: x
    integer, intent(in) :: y
    mpi_Comm_f08_eq_f = x%MPI_VAL == y
  end function
  elemental logical function mpi_Comm_f08_neq_f(x, y)
    type(MPI_Comm), intent(in) :: x
    integer, intent(in) :: y
    mpi_Comm_f08_neq_f = x%MPI_VAL /= y
  end function
  elemental logical function mpi_Comm_f_eq_f08(x, y)
    integer, intent(in) :: x
    type(MPI_Comm), intent(in) :: y
    mpi_Comm_f_eq_f08 = x == y%MPI_VAL
  end function
  elemental logical function mpi_Comm_f_neq_f08(x, y)
    integer, intent(in) :: x
    type(MPI_Comm), intent(in) :: y
    mpi_Comm_f_neq_f08 = x /= y%MPI_VAL
  end function
  elemental logical function mpi_Datatype_eq(x, y)
    type(MPI_Datatype), intent(in) :: x
    type(MPI_Datatype), intent(in) :: y
    mpi_Datatype_eq = x%MPI_VAL == y%MPI_VAL
  end function
  elemental logical function mpi_Datatype_neq(x, y)
    type(MPI_Datatype), intent(in) :: x
    type(MPI_Datatype), intent(in) :: y
    mpi_Datatype_neq = x%MPI_VAL /= y%MPI_VAL
  end function
  elemental logical function mpi_Datatype_f08_eq_f(x, y)
    type(MPI_Datatype), intent(in) :: x
    integer, intent(in) :: y
    mpi_Datatype_f08_eq_f = x%MPI_VAL == y
  end function
  elemental logical function mpi_Datatype_f08_neq_f(x, y)
    type(MPI_Datatype), intent(in) :: x
    integer, intent(in) :: y
    mpi_Datatype_f08_neq_f = x%MPI_VAL /= y
  end function
  elemental logical function mpi_Datatype_f_eq_f08(x, y)
    integer, intent(in) :: x
    type(MPI_Datatype), intent(in) :: y
    mpi_Datatype_f_eq_f08 = x == y%MPI_VAL
  end function
  elemental logical function mpi_Datatype_f_neq_f08(x, y)
    integer, intent(in) :: x
    type(MPI_Datatype), intent(in) :: y
    mpi_Datatype_f_neq_f08 = x /= y%MPI_VAL
  end function
  elemental logical function mpi_Errhandler_eq(x, y)
    type(MPI_Errhandler), intent(in) :: x
    type(MPI_Errhandler), intent(in) :: y
    mpi_Errhandler_eq = x%MPI_VAL == y%MPI_VAL
  end function
  elemental logical function mpi_Errhandler_neq(x, y)
    type(MPI_Errhandler), intent(in) :: x
    type(MPI_Errhandler), intent(in) :: y
    mpi_Errhandler_neq = x%MPI_VAL /= y%MPI_VAL
  end function
  elemental logical function mpi_Errhandler_f08_eq_f(x, y)
    type(MPI_Errhandler), intent(in) :: x
    integer, intent(in) :: y
    mpi_Errhandler_f08_eq_f = x%MPI_VAL == y
  end function
  elemental logical function mpi_Errhandler_f08_neq_f(x, y)
    type(MPI_Errhandler), intent(in) :: x
    integer, intent(in) :: y
    mpi_Errhandler_f08_neq_f = x%MPI_VAL /= y
  end function
  elemental logical function mpi_Errhandler_f_eq_f08(x, y)
    integer, intent(in) :: x
    type(MPI_Errhandler), intent(in) :: y
    mpi_Errhandler_f_eq_f08 = x == y%MPI_VAL
  end function
  elemental logical function mpi_Errhandler_f_neq_f08(x, y)
    integer, intent(in) :: x
    type(MPI_Errhandler), intent(in) :: y
    mpi_Errhandler_f_neq_f08 = x /= y%MPI_VAL
  end function
  elemental logical function mpi_File_eq(x, y)
    type(MPI_File), intent(in) :: x
    type(MPI_File), intent(in) :: y
    mpi_File_eq = x%MPI_VAL == y%MPI_VAL
  end function
  elemental logical function mpi_File_neq(x, y)
    type(MPI_File), intent(in) :: x
    type(MPI_File), intent(in) :: y
    mpi_File_neq = x%MPI_VAL /= y%MPI_VAL
  end function
  elemental logical function mpi_File_f08_eq_f(x, y)
    type(MPI_File), intent(in) :: x
    integer, intent(in) :: y
    mpi_File_f08_eq_f = x%MPI_VAL == y
  end function
  elemental logical function mpi_File_f08_neq_f(x, y)
    type(MPI_File), intent(in) :: x
    integer, intent(in) :: y
    mpi_File_f08_neq_f = x%MPI_VAL /= y
  end function
  elemental logical function mpi_File_f_eq_f08(x, y)
    integer, intent(in) :: x
    type(MPI_File), intent(in) :: y
    mpi_File_f_eq_f08 = x == y%MPI_VAL
  end function
  elemental logical function mpi_File_f_neq_f08(x, y)
    integer, intent(in) :: x
    type(MPI_File), intent(in) :: y
    mpi_File_f_neq_f08 = x /= y%MPI_VAL
  end function
  elemental logical function mpi_Group_eq(x, y)
    type(MPI_Group), intent(in) :: x
    type(MPI_Group), intent(in) :: y
    mpi_Group_eq = x%MPI_VAL == y%MPI_VAL
  end function
  elemental logical function mpi_Group_neq(x, y)
    type(MPI_Group), intent(in) :: x
    type(MPI_Group), intent(in) :: y
    mpi_Group_neq = x%MPI_VAL /= y%MPI_VAL
  end function
  elemental logical function mpi_Group_f08_eq_f(x, y)
    type(MPI_Group), intent(in) :: x
    integer, intent(in) :: y
    mpi_Group_f08_eq_f = x%MPI_VAL == y
  end function
  elemental logical function mpi_Group_f08_neq_f(x, y)
    type(MPI_Group), intent(in) :: x
    integer, intent(in) :: y
    mpi_Group_f08_neq_f = x%MPI_VAL /= y
  end function
  elemental logical function mpi_Group_f_eq_f08(x, y)
    integer, intent(in) :: x
    type(MPI_Group), intent(in) :: y
    mpi_Group_f_eq_f08 = x == y%MPI_VAL
  end function
  elemental logical function mpi_Group_f_neq_f08(x, y)
    integer, intent(in) :: x
    type(MPI_Group), intent(in) :: y
    mpi_Group_f_neq_f08 = x /= y%MPI_VAL
  end function
  elemental logical function mpi_Info_eq(x, y)
    type(MPI_Info), intent(in) :: x
    type(MPI_Info), intent(in) :: y
    mpi_Info_eq = x%MPI_VAL == y%MPI_VAL
  end function
  elemental logical function mpi_Info_neq(x, y)
    type(MPI_Info), intent(in) :: x
    type(MPI_Info), intent(in) :: y
    mpi_Info_neq = x%MPI_VAL /= y%MPI_VAL
  end function
  elemental logical function mpi_Info_f08_eq_f(x, y)
    type(MPI_Info), intent(in) :: x
    integer, intent(in) :: y
    mpi_Info_f08_eq_f = x%MPI_VAL == y
  end function
  elemental logical function mpi_Info_f08_neq_f(x, y)
    type(MPI_Info), intent(in) :: x
    integer, intent(in) :: y
    mpi_Info_f08_neq_f = x%MPI_VAL /= y
  end function
  elemental logical function mpi_Info_f_eq_f08(x, y)
    integer, intent(in) :: x
    type(MPI_Info), intent(in) :: y
    mpi_Info_f_eq_f08 = x == y%MPI_VAL
  end function
  elemental logical function mpi_Info_f_neq_f08(x, y)
    integer, intent(in) :: x
    type(MPI_Info), intent(in) :: y
    mpi_Info_f_neq_f08 = x /= y%MPI_VAL
  end function
  elemental logical function mpi_Message_eq(x, y)
    type(MPI_Message), intent(in) :: x
    type(MPI_Message), intent(in) :: y
    mpi_Message_eq = x%MPI_VAL == y%MPI_VAL
  end function
  elemental logical function mpi_Message_neq(x, y)
    type(MPI_Message), intent(in) :: x
    type(MPI_Message), intent(in) :: y
    mpi_Message_neq = x%MPI_VAL /= y%MPI_VAL
  end function
  elemental logical function mpi_Message_f08_eq_f(x, y)
    type(MPI_Message), intent(in) :: x
    integer, intent(in) :: y
    mpi_Message_f08_eq_f = x%MPI_VAL == y
  end function
  elemental logical function mpi_Message_f08_neq_f(x, y)
    type(MPI_Message), intent(in) :: x
    integer, intent(in) :: y
    mpi_Message_f08_neq_f = x%MPI_VAL /= y
  end function
  elemental logical function mpi_Message_f_eq_f08(x, y)
    integer, intent(in) :: x
    type(MPI_Message), intent(in) :: y
    mpi_Message_f_eq_f08 = x == y%MPI_VAL
  end function
  elemental logical function mpi_Message_f_neq_f08(x, y)
    integer, intent(in) :: x
    type(MPI_Message), intent(in) :: y
    mpi_Message_f_neq_f08 = x /= y%MPI_VAL
  end function
  elemental logical function mpi_Op_eq(x, y)
    type(MPI_Op), intent(in) :: x
    type(MPI_Op), intent(in) :: y
    mpi_Op_eq = x%MPI_VAL == y%MPI_VAL
  end function
  elemental logical function mpi_Op_neq(x, y)
    type(MPI_Op), intent(in) :: x
    type(MPI_Op), intent(in) :: y
    mpi_Op_neq = x%MPI_VAL /= y%MPI_VAL
  end function
  elemental logical function mpi_Op_f08_eq_f(x, y)
    type(MPI_Op), intent(in) :: x
    integer, intent(in) :: y
    mpi_Op_f08_eq_f = x%MPI_VAL == y
  end function
  elemental logical function mpi_Op_f08_neq_f(x, y)
    type(MPI_Op), intent(in) :: x
    integer, intent(in) :: y
    mpi_Op_f08_neq_f = x%MPI_VAL /= y
  end function
  elemental logical function mpi_Op_f_eq_f08(x, y)
    integer, intent(in) :: x
    type(MPI_Op), intent(in) :: y
    mpi_Op_f_eq_f08 = x == y%MPI_VAL
  end function
  elemental logical function mpi_Op_f_neq_f08(x, y)
    integer, intent(in) :: x
    type(MPI_Op), intent(in) :: y
    mpi_Op_f_neq_f08 = x /= y%MPI_VAL
  end function
  elemental logical function mpi_Request_eq(x, y)
    type(MPI_Request), intent(in) :: x
    type(MPI_Request), intent(in) :: y
    mpi_Request_eq = x%MPI_VAL == y%MPI_VAL
  end function
  elemental logical function mpi_Request_neq(x, y)
    type(MPI_Request), intent(in) :: x
    type(MPI_Request), intent(in) :: y
    mpi_Request_neq = x%MPI_VAL /= y%MPI_VAL
  end function
  elemental logical function mpi_Request_f08_eq_f(x, y)
    type(MPI_Request), intent(in) :: x
    integer, intent(in) :: y
    mpi_Request_f08_eq_f = x%MPI_VAL == y
  end function
  elemental logical function mpi_Request_f08_neq_f(x, y)
    type(MPI_Request), intent(in) :: x
    integer, intent(in) :: y
    mpi_Request_f08_neq_f = x%MPI_VAL /= y
  end function
  elemental logical function mpi_Request_f_eq_f08(x, y)
    integer, intent(in) :: x
    type(MPI_Request), intent(in) :: y
    mpi_Request_f_eq_f08 = x == y%MPI_VAL
  end function
  elemental logical function mpi_Request_f_neq_f08(x, y)
    integer, intent(in) :: x
    type(MPI_Request), intent(in) :: y
    mpi_Request_f_neq_f08 = x /= y%MPI_VAL
  end function
  elemental logical function mpi_Session_eq(x, y)
    type(MPI_Session), intent(in) :: x
    type(MPI_Session), intent(in) :: y
    mpi_Session_eq = x%MPI_VAL == y%MPI_VAL
  end function
  elemental logical function mpi_Session_neq(x, y)
    type(MPI_Session), intent(in) :: x
    type(MPI_Session), intent(in) :: y
    mpi_Session_neq = x%MPI_VAL /= y%MPI_VAL
  end function
  elemental logical function mpi_Session_f08_eq_f(x, y)
    type(MPI_Session), intent(in) :: x
    integer, intent(in) :: y
    mpi_Session_f08_eq_f = x%MPI_VAL == y
  end function
  elemental logical function mpi_Session_f08_neq_f(x, y)
    type(MPI_Session), intent(in) :: x
    integer, intent(in) :: y
    mpi_Session_f08_neq_f = x%MPI_VAL /= y
  end function
  elemental logical function mpi_Session_f_eq_f08(x, y)
    integer, intent(in) :: x
    type(MPI_Session), intent(in) :: y
    mpi_Session_f_eq_f08 = x == y%MPI_VAL
  end function
  elemental logical function mpi_Session_f_neq_f08(x, y)
    integer, intent(in) :: x
    type(MPI_Session), intent(in) :: y
    mpi_Session_f_neq_f08 = x /= y%MPI_VAL
  end function
  elemental logical function mpi_Win_eq(x, y)
    type(MPI_Win), intent(in) :: x
    type(MPI_Win), intent(in) :: y
    mpi_Win_eq = x%MPI_VAL == y%MPI_VAL
  end function
  elemental logical function mpi_Win_neq(x, y)
    type(MPI_Win), intent(in) :: x
    type(MPI_Win), intent(in) :: y
    mpi_Win_neq = x%MPI_VAL /= y%MPI_VAL
  end function
  elemental logical function mpi_Win_f08_eq_f(x, y)
    type(MPI_Win), intent(in) :: x
    integer, intent(in) :: y
    mpi_Win_f08_eq_f = x%MPI_VAL == y
  end function
  elemental logical function mpi_Win_f08_neq_f(x, y)
    type(MPI_Win), intent(in) :: x
    integer, intent(in) :: y
    mpi_Win_f08_neq_f = x%MPI_VAL /= y
  end function
  elemental logical function mpi_Win_f_eq_f08(x, y)
    integer, intent(in) :: x
    type(MPI_Win), intent(in) :: y
    mpi_Win_f_eq_f08 = x == y%MPI_VAL
  end function
  elemental logical function mpi_Win_f_neq_f08(x, y)
    integer, intent(in) :: x
    type(MPI_Win), intent(in) :: y
    mpi_Win_f_neq_f08 = x /= y%MPI_VAL
  end function
  subroutine MPI_Status_f2f08(f_status, f08_status, ierror)
    integer, intent(in) :: f_status(5)
    type(MPI_Status), intent(out) :: f08_status
    integer, optional, intent(out) :: ierror
    f08_status = MPI_Status(f_status(1), f_status(2), f_status(3), f_status(4), f_status(5))
    if (present(ierror)) ierror = 0
  end subroutine
  subroutine MPI_Status_f082f(f08_status, f_status, ierror)
    type(MPI_Status), intent(in) :: f08_status
    integer, intent(out) :: f_status(5)
    integer, optional, intent(out) :: ierror
    f_status = [f08_status%count_lo, f08_status%count_hi_and_cancelled, f08_status%MPI_SOURCE, &
      f08_status%MPI_TAG, f08_status%MPI_ERROR]
    if (present(ierror)) ierror = 0
  end subroutine
end module mpi_f08_types
module mpi_f08_callbacks
  use mpi_f08_types
  implicit none
  public
  abstract interface
    subroutine MPI_User_function(invec, inoutvec, len, datatype)
      use, intrinsic :: iso_c_binding, only: c_ptr
      import
      type(c_ptr), value :: invec, inoutvec
      integer :: len
      type(MPI_Datatype) :: datatype
    end subroutine
    subroutine MPI_User_function_c(invec, inoutvec, len, datatype)
      use, intrinsic :: iso_c_binding, only: c_ptr
      import
      type(c_ptr), value :: invec, inoutvec
      integer(kind=8) :: len
      type(MPI_Datatype) :: datatype
    end subroutine
    subroutine MPI_Comm_copy_attr_function(oldcomm, comm_keyval, extra_state, attribute_val_in, &
        attribute_val_out, flag, ierror)
      import
      type(MPI_Comm) :: oldcomm
      integer :: comm_keyval, ierror
      integer(kind=8) :: extra_state, attribute_val_in, attribute_val_out
      logical :: flag
    end subroutine
    subroutine MPI_Comm_delete_attr_function(comm, comm_keyval, attribute_val, extra_state, ierror)
      import
      type(MPI_Comm) :: comm
      integer :: comm_keyval, ierror
      integer(kind=8) :: attribute_val, extra_state
    end subroutine
    subroutine MPI_Type_copy_attr_function(oldtype, type_keyval, extra_state, attribute_val_in, &
        attribute_val_out, flag, ierror)
      import
      type(MPI_Datatype) :: oldtype
      integer :: type_keyval, ierror
      integer(kind=8) :: extra_state, attribute_val_in, attribute_val_out
      logical :: flag
    end subroutine
    subroutine MPI_Type_delete_attr_function(datatype, type_keyval, attribute_val, extra_state, ierror)
      import
      type(MPI_Datatype) :: datatype
      integer :: type_keyval, ierror
      integer(kind=8) :: attribute_val, extra_state
    end subroutine
    subroutine MPI_Win_copy_attr_function(oldwin, win_keyval, extra_state, attribute_val_in, &
        attribute_val_out, flag, ierror)
      import
      type(MPI_Win) :: oldwin
      integer :: win_keyval, ierror
      integer(kind=8) :: extra_state, attribute_val_in, attribute_val_out
      logical :: flag
    end subroutine
    subroutine MPI_Win_delete_attr_function(win, win_keyval, attribute_val, extra_state, ierror)
      import
      type(MPI_Win) :: win
      integer :: win_keyval, ierror
      integer(kind=8) :: attribute_val, extra_state
    end subroutine
    subroutine MPI_Comm_errhandler_function(comm, error_code)
      import
      type(MPI_Comm) :: comm
      integer :: error_code
    end subroutine
    subroutine MPI_File_errhandler_function(file, error_code)
      import
      type(MPI_File) :: file
      integer :: error_code
    end subroutine
    subroutine MPI_Win_errhandler_function(win, error_code)
      import
      type(MPI_Win) :: win
      integer :: error_code
    end subroutine
    subroutine MPI_Session_errhandler_function(session, error_code)
      import
      type(MPI_Session) :: session
      integer :: error_code
    end subroutine
    subroutine MPI_Grequest_query_function(extra_state, status, ierror)
      import
      integer(kind=8) :: extra_state
      type(MPI_Status) :: status
      integer :: ierror
    end subroutine
    subroutine MPI_Grequest_free_function(extra_state, ierror)
      integer(kind=8) :: extra_state
      integer :: ierror
    end subroutine
    subroutine MPI_Grequest_cancel_function(extra_state, complete, ierror)
      integer(kind=8) :: extra_state
      logical :: complete
      integer :: ierror
    end subroutine
    subroutine MPI_Datarep_extent_function(datatype, extent, extra_state, ierror)
      import
      type(MPI_Datatype) :: datatype
      integer(kind=8) :: extent, extra_state
      integer :: ierror
    end subroutine
    subroutine MPI_Datarep_conversion_function(userbuf, datatype, count, filebuf, position, &
        extra_state, ierror)
      use, intrinsic :: iso_c_binding, only: c_ptr
      import
      type(c_ptr), value :: userbuf, filebuf
      type(MPI_Datatype) :: datatype
      integer :: count, ierror
      integer(kind=8) :: position, extra_state
    end subroutine
    subroutine MPI_Datarep_conversion_function_c(userbuf, datatype, count, filebuf, position, &
        extra_state, ierror)
      use, intrinsic :: iso_c_binding, only: c_ptr
      import
      type(c_ptr), value :: userbuf, filebuf
      type(MPI_Datatype) :: datatype
      integer(kind=8) :: count
      integer(kind=8) :: position, extra_state
      integer :: ierror
    end subroutine
  end interface
  interface
    subroutine MPI_COMM_DUP_FN(oldcomm, comm_keyval, extra_state, attribute_val_in, &
        attribute_val_out, flag, ierror)
      import
      type(MPI_Comm) :: oldcomm
      integer :: comm_keyval, ierror
      integer(kind=8) :: extra_state, attribute_val_in, attribute_val_out
      logical :: flag
    end subroutine
    subroutine MPI_COMM_NULL_COPY_FN(oldcomm, comm_keyval, extra_state, attribute_val_in, &
        attribute_val_out, flag, ierror)
      import
      type(MPI_Comm) :: oldcomm
      integer :: comm_keyval, ierror
      integer(kind=8) :: extra_state, attribute_val_in, attribute_val_out
      logical :: flag
    end subroutine
    subroutine MPI_COMM_NULL_DELETE_FN(comm, comm_keyval, attribute_val, extra_state, ierror)
      import
      type(MPI_Comm) :: comm
      integer :: comm_keyval, ierror
      integer(kind=8) :: attribute_val, extra_state
    end subroutine
    subroutine MPI_TYPE_DUP_FN(oldtype, type_keyval, extra_state, attribute_val_in, &
        attribute_val_out, flag, ierror)
      import
      type(MPI_Datatype) :: oldtype
      integer :: type_keyval, ierror
      integer(kind=8) :: extra_state, attribute_val_in, attribute_val_out
      logical :: flag
    end subroutine
    subroutine MPI_TYPE_NULL_COPY_FN(oldtype, type_keyval, extra_state, attribute_val_in, &
        attribute_val_out, flag, ierror)
      import
      type(MPI_Datatype) :: oldtype
      integer :: type_keyval, ierror
      integer(kind=8) :: extra_state, attribute_val_in, attribute_val_out
      logical :: flag
    end subroutine
    subroutine MPI_TYPE_NULL_DELETE_FN(datatype, type_keyval, attribute_val, extra_state, ierror)
      import
      type(MPI_Datatype) :: datatype
      integer :: type_keyval, ierror
      integer(kind=8) :: attribute_val, extra_state
    end subroutine
    subroutine MPI_WIN_DUP_FN(oldwin, win_keyval, extra_state, attribute_val_in, &
        attribute_val_out, flag, ierror)
      import
      type(MPI_Win) :: oldwin
      integer :: win_keyval, ierror
      integer(kind=8) :: extra_state, attribute_val_in, attribute_val_out
      logical :: flag
    end subroutine
    subroutine MPI_WIN_NULL_COPY_FN(oldwin, win_keyval, extra_state, attribute_val_in, &
        attribute_val_out, flag, ierror)
      import
      type(MPI_Win) :: oldwin
      integer :: win_keyval, ierror
      integer(kind=8) :: extra_state, attribute_val_in, attribute_val_out
      logical :: flag
    end subroutine
    subroutine MPI_WIN_NULL_DELETE_FN(win, win_keyval, attribute_val, extra_state, ierror)
      import
      type(MPI_Win) :: win
      integer :: win_keyval, ierror
      integer(kind=8) :: attribute_val, extra_state
    end subroutine
    subroutine MPI_CONVERSION_FN_NULL(userbuf, datatype, count, filebuf, position, extra_state, ierror)
      use, intrinsic :: iso_c_binding, only: c_ptr
      import
      type(c_ptr), value :: userbuf, filebuf
      type(MPI_Datatype) :: datatype
      integer :: count, ierror
      integer(kind=8) :: position, extra_state
    end subroutine
    subroutine MPI_CONVERSION_FN_NULL_C(userbuf, datatype, count, filebuf, position, extra_state, ierror)
      use, intrinsic :: iso_c_binding, only: c_ptr
      import
      type(c_ptr), value :: userbuf, filebuf
      type(MPI_Datatype) :: datatype
      integer(kind=8) :: count
      integer(kind=8) :: position, extra_state
      integer :: ierror
    end subroutine
  end interface
end module mpi_f08_callbacks
module mpi_f08
  use, intrinsic :: iso_c_binding, only: c_ptr, c_int
  use mpi_f08_types
  use mpi_f08_callbacks
  implicit none
  public
  private :: c_ptr, c_int
      INTEGER MPI_ADDRESS_KIND
      PARAMETER (MPI_ADDRESS_KIND=8)
      INTEGER MPI_OFFSET_KIND
      PARAMETER (MPI_OFFSET_KIND=8)
      INTEGER MPI_COUNT_KIND
      PARAMETER (MPI_COUNT_KIND=8)
      INTEGER MPI_INTEGER_KIND
      PARAMETER (MPI_INTEGER_KIND=4)
      INTEGER MPI_STATUS_SIZE
      PARAMETER (MPI_STATUS_SIZE=5)
      INTEGER MPI_SOURCE
      PARAMETER (MPI_SOURCE=3)
      INTEGER MPI_TAG
      PARAMETER (MPI_TAG=4)
      INTEGER MPI_ERROR
      PARAMETER (MPI_ERROR=5)
      LOGICAL MPI_SUBARRAYS_SUPPORTED
      PARAMETER (MPI_SUBARRAYS_SUPPORTED=.TRUE.)
      LOGICAL MPI_ASYNC_PROTECTS_NONBLOCKING
      PARAMETER (MPI_ASYNC_PROTECTS_NONBLOCKING=.TRUE.)
      INTEGER MPI_VERSION
      PARAMETER (MPI_VERSION=5)
      INTEGER MPI_SUBVERSION
      PARAMETER (MPI_SUBVERSION=0)
      type(MPI_Comm), parameter :: MPI_COMM_NULL = MPI_Comm(67108864)
      type(MPI_Comm), parameter :: MPI_COMM_WORLD = MPI_Comm(1140850688)
      type(MPI_Comm), parameter :: MPI_COMM_SELF = MPI_Comm(1140850689)
      type(MPI_Group), parameter :: MPI_GROUP_NULL = MPI_Group(134217728)
      type(MPI_Group), parameter :: MPI_GROUP_EMPTY = MPI_Group(1207959552)
      type(MPI_Errhandler), parameter :: MPI_ERRHANDLER_NULL = MPI_Errhandler(335544320)
      type(MPI_Errhandler), parameter :: MPI_ERRORS_ARE_FATAL = MPI_Errhandler(1409286144)
      type(MPI_Errhandler), parameter :: MPI_ERRORS_RETURN = MPI_Errhandler(1409286145)
      type(MPI_Errhandler), parameter :: MPI_ERRORS_ABORT = MPI_Errhandler(1409286147)
      type(MPI_Info), parameter :: MPI_INFO_NULL = MPI_Info(469762048)
      type(MPI_Info), parameter :: MPI_INFO_ENV = MPI_Info(1543503873)
      type(MPI_Win), parameter :: MPI_WIN_NULL = MPI_Win(536870912)
      type(MPI_Request), parameter :: MPI_REQUEST_NULL = MPI_Request(738197504)
      type(MPI_Message), parameter :: MPI_MESSAGE_NULL = MPI_Message(738197504)
      type(MPI_Message), parameter :: MPI_MESSAGE_NO_PROC = MPI_Message(1811939328)
      type(MPI_Session), parameter :: MPI_SESSION_NULL = MPI_Session(939524096)
      type(MPI_File), parameter :: MPI_FILE_NULL = MPI_File(0)
      type(MPI_Op), parameter :: MPI_OP_NULL = MPI_Op(402653184)
      type(MPI_Op), parameter :: MPI_MAX = MPI_Op(1476395009)
      type(MPI_Op), parameter :: MPI_MIN = MPI_Op(1476395010)
      type(MPI_Op), parameter :: MPI_SUM = MPI_Op(1476395011)
      type(MPI_Op), parameter :: MPI_PROD = MPI_Op(1476395012)
      type(MPI_Op), parameter :: MPI_LAND = MPI_Op(1476395013)
      type(MPI_Op), parameter :: MPI_BAND = MPI_Op(1476395014)
      type(MPI_Op), parameter :: MPI_LOR = MPI_Op(1476395015)
      type(MPI_Op), parameter :: MPI_BOR = MPI_Op(1476395016)
      type(MPI_Op), parameter :: MPI_LXOR = MPI_Op(1476395017)
      type(MPI_Op), parameter :: MPI_BXOR = MPI_Op(1476395018)
      type(MPI_Op), parameter :: MPI_MINLOC = MPI_Op(1476395019)
      type(MPI_Op), parameter :: MPI_MAXLOC = MPI_Op(1476395020)
      type(MPI_Op), parameter :: MPI_REPLACE = MPI_Op(1476395021)
      type(MPI_Op), parameter :: MPI_NO_OP = MPI_Op(1476395022)
      type(MPI_Datatype), parameter :: MPI_DATATYPE_NULL = MPI_Datatype(201326592)
      type(MPI_Datatype), parameter :: MPI_CHAR = MPI_Datatype(1275068673)
      type(MPI_Datatype), parameter :: MPI_UNSIGNED_CHAR = MPI_Datatype(1275068674)
      type(MPI_Datatype), parameter :: MPI_SIGNED_CHAR = MPI_Datatype(1275068696)
      type(MPI_Datatype), parameter :: MPI_SHORT = MPI_Datatype(1275068931)
      type(MPI_Datatype), parameter :: MPI_UNSIGNED_SHORT = MPI_Datatype(1275068932)
      type(MPI_Datatype), parameter :: MPI_INT = MPI_Datatype(1275069445)
      type(MPI_Datatype), parameter :: MPI_UNSIGNED = MPI_Datatype(1275069446)
      type(MPI_Datatype), parameter :: MPI_LONG = MPI_Datatype(1275070471)
      type(MPI_Datatype), parameter :: MPI_UNSIGNED_LONG = MPI_Datatype(1275070472)
      type(MPI_Datatype), parameter :: MPI_LONG_LONG_INT = MPI_Datatype(1275070473)
      type(MPI_Datatype), parameter :: MPI_LONG_LONG = MPI_Datatype(1275070473)
      type(MPI_Datatype), parameter :: MPI_UNSIGNED_LONG_LONG = MPI_Datatype(1275070489)
      type(MPI_Datatype), parameter :: MPI_FLOAT = MPI_Datatype(1275069450)
      type(MPI_Datatype), parameter :: MPI_DOUBLE = MPI_Datatype(1275070475)
      type(MPI_Datatype), parameter :: MPI_LONG_DOUBLE = MPI_Datatype(1275072524)
      type(MPI_Datatype), parameter :: MPI_WCHAR = MPI_Datatype(1275069454)
      type(MPI_Datatype), parameter :: MPI_C_BOOL = MPI_Datatype(1275068735)
      type(MPI_Datatype), parameter :: MPI_C_FLOAT_COMPLEX = MPI_Datatype(1275070528)
      type(MPI_Datatype), parameter :: MPI_C_COMPLEX = MPI_Datatype(1275070528)
      type(MPI_Datatype), parameter :: MPI_C_DOUBLE_COMPLEX = MPI_Datatype(1275072577)
      type(MPI_Datatype), parameter :: MPI_C_LONG_DOUBLE_COMPLEX = MPI_Datatype(1275076674)
      type(MPI_Datatype), parameter :: MPI_INT8_T = MPI_Datatype(1275068727)
      type(MPI_Datatype), parameter :: MPI_INT16_T = MPI_Datatype(1275068984)
      type(MPI_Datatype), parameter :: MPI_INT32_T = MPI_Datatype(1275069497)
      type(MPI_Datatype), parameter :: MPI_INT64_T = MPI_Datatype(1275070522)
      type(MPI_Datatype), parameter :: MPI_UINT8_T = MPI_Datatype(1275068731)
      type(MPI_Datatype), parameter :: MPI_UINT16_T = MPI_Datatype(1275068988)
      type(MPI_Datatype), parameter :: MPI_UINT32_T = MPI_Datatype(1275069501)
      type(MPI_Datatype), parameter :: MPI_UINT64_T = MPI_Datatype(1275070526)
      type(MPI_Datatype), parameter :: MPI_CXX_BOOL = MPI_Datatype(1275068723)
      type(MPI_Datatype), parameter :: MPI_CXX_FLOAT_COMPLEX = MPI_Datatype(1275070516)
      type(MPI_Datatype), parameter :: MPI_CXX_DOUBLE_COMPLEX = MPI_Datatype(1275072565)
      type(MPI_Datatype), parameter :: MPI_CXX_LONG_DOUBLE_COMPLEX = MPI_Datatype(1275076662)
      type(MPI_Datatype), parameter :: MPI_BYTE = MPI_Datatype(1275068685)
      type(MPI_Datatype), parameter :: MPI_PACKED = MPI_Datatype(1275068687)
      type(MPI_Datatype), parameter :: MPI_AINT = MPI_Datatype(1275070531)
      type(MPI_Datatype), parameter :: MPI_OFFSET = MPI_Datatype(1275070532)
      type(MPI_Datatype), parameter :: MPI_COUNT = MPI_Datatype(1275070533)
      type(MPI_Datatype), parameter :: MPI_LB = MPI_Datatype(1275068432)
      type(MPI_Datatype), parameter :: MPI_UB = MPI_Datatype(1275068433)
      type(MPI_Datatype), parameter :: MPI_CHARACTER = MPI_Datatype(1275068698)
      type(MPI_Datatype), parameter :: MPI_INTEGER = MPI_Datatype(1275069467)
      type(MPI_Datatype), parameter :: MPI_REAL = MPI_Datatype(1275069468)
      type(MPI_Datatype), parameter :: MPI_LOGICAL = MPI_Datatype(1275069469)
      type(MPI_Datatype), parameter :: MPI_COMPLEX = MPI_Datatype(1275070494)
      type(MPI_Datatype), parameter :: MPI_DOUBLE_PRECISION = MPI_Datatype(1275070495)
      type(MPI_Datatype), parameter :: MPI_DOUBLE_COMPLEX = MPI_Datatype(1275072546)
      type(MPI_Datatype), parameter :: MPI_INTEGER1 = MPI_Datatype(1275068717)
      type(MPI_Datatype), parameter :: MPI_INTEGER2 = MPI_Datatype(1275068975)
      type(MPI_Datatype), parameter :: MPI_INTEGER4 = MPI_Datatype(1275069488)
      type(MPI_Datatype), parameter :: MPI_INTEGER8 = MPI_Datatype(1275070513)
      type(MPI_Datatype), parameter :: MPI_INTEGER16 = MPI_Datatype(1275072562)
      type(MPI_Datatype), parameter :: MPI_REAL2 = MPI_Datatype(1275068966)
      type(MPI_Datatype), parameter :: MPI_REAL4 = MPI_Datatype(1275069479)
      type(MPI_Datatype), parameter :: MPI_REAL8 = MPI_Datatype(1275070505)
      type(MPI_Datatype), parameter :: MPI_REAL16 = MPI_Datatype(1275072555)
      type(MPI_Datatype), parameter :: MPI_COMPLEX4 = MPI_Datatype(1275069486)
      type(MPI_Datatype), parameter :: MPI_COMPLEX8 = MPI_Datatype(1275070504)
      type(MPI_Datatype), parameter :: MPI_COMPLEX16 = MPI_Datatype(1275072554)
      type(MPI_Datatype), parameter :: MPI_COMPLEX32 = MPI_Datatype(1275076652)
      type(MPI_Datatype), parameter :: MPI_LOGICAL1 = MPI_Datatype(1275068743)
      type(MPI_Datatype), parameter :: MPI_LOGICAL2 = MPI_Datatype(1275069000)
      type(MPI_Datatype), parameter :: MPI_LOGICAL4 = MPI_Datatype(1275069513)
      type(MPI_Datatype), parameter :: MPI_LOGICAL8 = MPI_Datatype(1275070538)
      type(MPI_Datatype), parameter :: MPI_LOGICAL16 = MPI_Datatype(1275072587)
      type(MPI_Datatype), parameter :: MPI_FLOAT_INT = MPI_Datatype(-1946157056)
      type(MPI_Datatype), parameter :: MPI_DOUBLE_INT = MPI_Datatype(-1946157055)
      type(MPI_Datatype), parameter :: MPI_LONG_INT = MPI_Datatype(-1946157054)
      type(MPI_Datatype), parameter :: MPI_SHORT_INT = MPI_Datatype(-1946157053)
      type(MPI_Datatype), parameter :: MPI_LONG_DOUBLE_INT = MPI_Datatype(-1946157052)
      type(MPI_Datatype), parameter :: MPI_2INT = MPI_Datatype(1275070486)
      type(MPI_Datatype), parameter :: MPI_2INTEGER = MPI_Datatype(1275070496)
      type(MPI_Datatype), parameter :: MPI_2REAL = MPI_Datatype(1275070497)
      type(MPI_Datatype), parameter :: MPI_2DOUBLE_PRECISION = MPI_Datatype(1275072547)
      INTEGER MPI_PROC_NULL
      PARAMETER (MPI_PROC_NULL=-1)
      INTEGER MPI_ANY_SOURCE
      PARAMETER (MPI_ANY_SOURCE=-2)
      INTEGER MPI_ROOT
      PARAMETER (MPI_ROOT=-3)
      INTEGER MPI_ANY_TAG
      PARAMETER (MPI_ANY_TAG=-1)
      INTEGER MPI_UNDEFINED
      PARAMETER (MPI_UNDEFINED=-32766)
      INTEGER MPI_KEYVAL_INVALID
      PARAMETER (MPI_KEYVAL_INVALID=603979776)
      INTEGER MPI_BSEND_OVERHEAD
      PARAMETER (MPI_BSEND_OVERHEAD=96)
      INTEGER MPI_MAX_PROCESSOR_NAME
      PARAMETER (MPI_MAX_PROCESSOR_NAME=127)
      INTEGER MPI_MAX_LIBRARY_VERSION_STRING
      PARAMETER (MPI_MAX_LIBRARY_VERSION_STRING=8191)
      INTEGER MPI_MAX_ERROR_STRING
      PARAMETER (MPI_MAX_ERROR_STRING=511)
      INTEGER MPI_MAX_PORT_NAME
      PARAMETER (MPI_MAX_PORT_NAME=255)
      INTEGER MPI_MAX_OBJECT_NAME
      PARAMETER (MPI_MAX_OBJECT_NAME=127)
      INTEGER MPI_MAX_STRINGTAG_LEN
      PARAMETER (MPI_MAX_STRINGTAG_LEN=255)
      INTEGER MPI_MAX_PSET_NAME_LEN
      PARAMETER (MPI_MAX_PSET_NAME_LEN=255)
      INTEGER MPI_MAX_INFO_KEY
      PARAMETER (MPI_MAX_INFO_KEY=254)
      INTEGER MPI_MAX_INFO_VAL
      PARAMETER (MPI_MAX_INFO_VAL=1023)
      INTEGER MPI_MAX_DATAREP_STRING
      PARAMETER (MPI_MAX_DATAREP_STRING=127)
      INTEGER MPI_IDENT
      PARAMETER (MPI_IDENT=0)
      INTEGER MPI_CONGRUENT
      PARAMETER (MPI_CONGRUENT=1)
      INTEGER MPI_SIMILAR
      PARAMETER (MPI_SIMILAR=2)
      INTEGER MPI_UNEQUAL
      PARAMETER (MPI_UNEQUAL=3)
      INTEGER MPI_THREAD_SINGLE
      PARAMETER (MPI_THREAD_SINGLE=0)
      INTEGER MPI_THREAD_FUNNELED
      PARAMETER (MPI_THREAD_FUNNELED=1)
      INTEGER MPI_THREAD_SERIALIZED
      PARAMETER (MPI_THREAD_SERIALIZED=2)
      INTEGER MPI_THREAD_MULTIPLE
      PARAMETER (MPI_THREAD_MULTIPLE=3)
      INTEGER MPI_GRAPH
      PARAMETER (MPI_GRAPH=1)
      INTEGER MPI_CART
      PARAMETER (MPI_CART=2)
      INTEGER MPI_DIST_GRAPH
      PARAMETER (MPI_DIST_GRAPH=3)
      INTEGER MPI_COMM_TYPE_SHARED
      PARAMETER (MPI_COMM_TYPE_SHARED=1)
      INTEGER MPI_COMM_TYPE_HW_GUIDED
      PARAMETER (MPI_COMM_TYPE_HW_GUIDED=2)
      INTEGER MPI_COMM_TYPE_HW_UNGUIDED
      PARAMETER (MPI_COMM_TYPE_HW_UNGUIDED=3)
      INTEGER MPI_COMM_TYPE_RESOURCE_GUIDED
      PARAMETER (MPI_COMM_TYPE_RESOURCE_GUIDED=4)
      INTEGER MPI_TAG_UB
      PARAMETER (MPI_TAG_UB=1681915906)
      INTEGER MPI_HOST
      PARAMETER (MPI_HOST=1681915908)
      INTEGER MPI_IO
      PARAMETER (MPI_IO=1681915910)
      INTEGER MPI_WTIME_IS_GLOBAL
      PARAMETER (MPI_WTIME_IS_GLOBAL=1681915912)
      INTEGER MPI_UNIVERSE_SIZE
      PARAMETER (MPI_UNIVERSE_SIZE=1681915914)
      INTEGER MPI_LASTUSEDCODE
      PARAMETER (MPI_LASTUSEDCODE=1681915916)
      INTEGER MPI_APPNUM
      PARAMETER (MPI_APPNUM=1681915918)
      INTEGER MPI_WIN_BASE
      PARAMETER (MPI_WIN_BASE=1711276034)
      INTEGER MPI_WIN_SIZE
      PARAMETER (MPI_WIN_SIZE=1711276036)
      INTEGER MPI_WIN_DISP_UNIT
      PARAMETER (MPI_WIN_DISP_UNIT=1711276038)
      INTEGER MPI_WIN_CREATE_FLAVOR
      PARAMETER (MPI_WIN_CREATE_FLAVOR=1711276040)
      INTEGER MPI_WIN_MODEL
      PARAMETER (MPI_WIN_MODEL=1711276042)
      INTEGER MPI_COMBINER_NAMED
      PARAMETER (MPI_COMBINER_NAMED=1)
      INTEGER MPI_COMBINER_DUP
      PARAMETER (MPI_COMBINER_DUP=2)
      INTEGER MPI_COMBINER_CONTIGUOUS
      PARAMETER (MPI_COMBINER_CONTIGUOUS=3)
      INTEGER MPI_COMBINER_VECTOR
      PARAMETER (MPI_COMBINER_VECTOR=4)
      INTEGER MPI_COMBINER_HVECTOR_INTEGER
      PARAMETER (MPI_COMBINER_HVECTOR_INTEGER=5)
      INTEGER MPI_COMBINER_HVECTOR
      PARAMETER (MPI_COMBINER_HVECTOR=6)
      INTEGER MPI_COMBINER_INDEXED
      PARAMETER (MPI_COMBINER_INDEXED=7)
      INTEGER MPI_COMBINER_HINDEXED_INTEGER
      PARAMETER (MPI_COMBINER_HINDEXED_INTEGER=8)
      INTEGER MPI_COMBINER_HINDEXED
      PARAMETER (MPI_COMBINER_HINDEXED=9)
      INTEGER MPI_COMBINER_INDEXED_BLOCK
      PARAMETER (MPI_COMBINER_INDEXED_BLOCK=10)
      INTEGER MPI_COMBINER_STRUCT_INTEGER
      PARAMETER (MPI_COMBINER_STRUCT_INTEGER=11)
      INTEGER MPI_COMBINER_STRUCT
      PARAMETER (MPI_COMBINER_STRUCT=12)
      INTEGER MPI_COMBINER_SUBARRAY
      PARAMETER (MPI_COMBINER_SUBARRAY=13)
      INTEGER MPI_COMBINER_DARRAY
      PARAMETER (MPI_COMBINER_DARRAY=14)
      INTEGER MPI_COMBINER_F90_REAL
      PARAMETER (MPI_COMBINER_F90_REAL=15)
      INTEGER MPI_COMBINER_F90_COMPLEX
      PARAMETER (MPI_COMBINER_F90_COMPLEX=16)
      INTEGER MPI_COMBINER_F90_INTEGER
      PARAMETER (MPI_COMBINER_F90_INTEGER=17)
      INTEGER MPI_COMBINER_RESIZED
      PARAMETER (MPI_COMBINER_RESIZED=18)
      INTEGER MPI_COMBINER_HINDEXED_BLOCK
      PARAMETER (MPI_COMBINER_HINDEXED_BLOCK=19)
      INTEGER MPI_COMBINER_VALUE_INDEX
      PARAMETER (MPI_COMBINER_VALUE_INDEX=20)
      INTEGER MPI_TYPECLASS_REAL
      PARAMETER (MPI_TYPECLASS_REAL=1)
      INTEGER MPI_TYPECLASS_INTEGER
      PARAMETER (MPI_TYPECLASS_INTEGER=2)
      INTEGER MPI_TYPECLASS_COMPLEX
      PARAMETER (MPI_TYPECLASS_COMPLEX=3)
      INTEGER MPI_ORDER_C
      PARAMETER (MPI_ORDER_C=56)
      INTEGER MPI_ORDER_FORTRAN
      PARAMETER (MPI_ORDER_FORTRAN=57)
      INTEGER MPI_DISTRIBUTE_BLOCK
      PARAMETER (MPI_DISTRIBUTE_BLOCK=121)
      INTEGER MPI_DISTRIBUTE_CYCLIC
      PARAMETER (MPI_DISTRIBUTE_CYCLIC=122)
      INTEGER MPI_DISTRIBUTE_NONE
      PARAMETER (MPI_DISTRIBUTE_NONE=123)
      INTEGER MPI_DISTRIBUTE_DFLT_DARG
      PARAMETER (MPI_DISTRIBUTE_DFLT_DARG=-49767)
      INTEGER MPI_WIN_FLAVOR_CREATE
      PARAMETER (MPI_WIN_FLAVOR_CREATE=1)
      INTEGER MPI_WIN_FLAVOR_ALLOCATE
      PARAMETER (MPI_WIN_FLAVOR_ALLOCATE=2)
      INTEGER MPI_WIN_FLAVOR_DYNAMIC
      PARAMETER (MPI_WIN_FLAVOR_DYNAMIC=3)
      INTEGER MPI_WIN_FLAVOR_SHARED
      PARAMETER (MPI_WIN_FLAVOR_SHARED=4)
      INTEGER MPI_WIN_SEPARATE
      PARAMETER (MPI_WIN_SEPARATE=1)
      INTEGER MPI_WIN_UNIFIED
      PARAMETER (MPI_WIN_UNIFIED=2)
      INTEGER MPI_LOCK_EXCLUSIVE
      PARAMETER (MPI_LOCK_EXCLUSIVE=234)
      INTEGER MPI_LOCK_SHARED
      PARAMETER (MPI_LOCK_SHARED=235)
      INTEGER MPI_MODE_NOCHECK
      PARAMETER (MPI_MODE_NOCHECK=1024)
      INTEGER MPI_MODE_NOSTORE
      PARAMETER (MPI_MODE_NOSTORE=2048)
      INTEGER MPI_MODE_NOPUT
      PARAMETER (MPI_MODE_NOPUT=4096)
      INTEGER MPI_MODE_NOPRECEDE
      PARAMETER (MPI_MODE_NOPRECEDE=8192)
      INTEGER MPI_MODE_NOSUCCEED
      PARAMETER (MPI_MODE_NOSUCCEED=16384)
      INTEGER MPI_MODE_CREATE
      PARAMETER (MPI_MODE_CREATE=1)
      INTEGER MPI_MODE_RDONLY
      PARAMETER (MPI_MODE_RDONLY=2)
      INTEGER MPI_MODE_WRONLY
      PARAMETER (MPI_MODE_WRONLY=4)
      INTEGER MPI_MODE_RDWR
      PARAMETER (MPI_MODE_RDWR=8)
      INTEGER MPI_MODE_DELETE_ON_CLOSE
      PARAMETER (MPI_MODE_DELETE_ON_CLOSE=16)
      INTEGER MPI_MODE_UNIQUE_OPEN
      PARAMETER (MPI_MODE_UNIQUE_OPEN=32)
      INTEGER MPI_MODE_EXCL
      PARAMETER (MPI_MODE_EXCL=64)
      INTEGER MPI_MODE_APPEND
      PARAMETER (MPI_MODE_APPEND=128)
      INTEGER MPI_MODE_SEQUENTIAL
      PARAMETER (MPI_MODE_SEQUENTIAL=256)
      INTEGER MPI_SEEK_SET
      PARAMETER (MPI_SEEK_SET=600)
      INTEGER MPI_SEEK_CUR
      PARAMETER (MPI_SEEK_CUR=602)
      INTEGER MPI_SEEK_END
      PARAMETER (MPI_SEEK_END=604)
      INTEGER(KIND=MPI_OFFSET_KIND) MPI_DISPLACEMENT_CURRENT
      PARAMETER (MPI_DISPLACEMENT_CURRENT=-54278278)
      INTEGER MPI_SUCCESS
      PARAMETER (MPI_SUCCESS=0)
      INTEGER MPI_ERR_BUFFER
      PARAMETER (MPI_ERR_BUFFER=1)
      INTEGER MPI_ERR_COUNT
      PARAMETER (MPI_ERR_COUNT=2)
      INTEGER MPI_ERR_TYPE
      PARAMETER (MPI_ERR_TYPE=3)
      INTEGER MPI_ERR_TAG
      PARAMETER (MPI_ERR_TAG=4)
      INTEGER MPI_ERR_COMM
      PARAMETER (MPI_ERR_COMM=5)
      INTEGER MPI_ERR_RANK
      PARAMETER (MPI_ERR_RANK=6)
      INTEGER MPI_ERR_ROOT
      PARAMETER (MPI_ERR_ROOT=7)
      INTEGER MPI_ERR_GROUP
      PARAMETER (MPI_ERR_GROUP=8)
      INTEGER MPI_ERR_OP
      PARAMETER (MPI_ERR_OP=9)
      INTEGER MPI_ERR_TOPOLOGY
      PARAMETER (MPI_ERR_TOPOLOGY=10)
      INTEGER MPI_ERR_DIMS
      PARAMETER (MPI_ERR_DIMS=11)
      INTEGER MPI_ERR_ARG
      PARAMETER (MPI_ERR_ARG=12)
      INTEGER MPI_ERR_UNKNOWN
      PARAMETER (MPI_ERR_UNKNOWN=13)
      INTEGER MPI_ERR_TRUNCATE
      PARAMETER (MPI_ERR_TRUNCATE=14)
      INTEGER MPI_ERR_OTHER
      PARAMETER (MPI_ERR_OTHER=15)
      INTEGER MPI_ERR_INTERN
      PARAMETER (MPI_ERR_INTERN=16)
      INTEGER MPI_ERR_IN_STATUS
      PARAMETER (MPI_ERR_IN_STATUS=17)
      INTEGER MPI_ERR_PENDING
      PARAMETER (MPI_ERR_PENDING=18)
      INTEGER MPI_ERR_REQUEST
      PARAMETER (MPI_ERR_REQUEST=19)
      INTEGER MPI_ERR_ACCESS
      PARAMETER (MPI_ERR_ACCESS=20)
      INTEGER MPI_ERR_AMODE
      PARAMETER (MPI_ERR_AMODE=21)
      INTEGER MPI_ERR_BAD_FILE
      PARAMETER (MPI_ERR_BAD_FILE=22)
      INTEGER MPI_ERR_CONVERSION
      PARAMETER (MPI_ERR_CONVERSION=23)
      INTEGER MPI_ERR_DUP_DATAREP
      PARAMETER (MPI_ERR_DUP_DATAREP=24)
      INTEGER MPI_ERR_FILE_EXISTS
      PARAMETER (MPI_ERR_FILE_EXISTS=25)
      INTEGER MPI_ERR_FILE_IN_USE
      PARAMETER (MPI_ERR_FILE_IN_USE=26)
      INTEGER MPI_ERR_FILE
      PARAMETER (MPI_ERR_FILE=27)
      INTEGER MPI_ERR_INFO
      PARAMETER (MPI_ERR_INFO=28)
      INTEGER MPI_ERR_INFO_KEY
      PARAMETER (MPI_ERR_INFO_KEY=29)
      INTEGER MPI_ERR_INFO_VALUE
      PARAMETER (MPI_ERR_INFO_VALUE=30)
      INTEGER MPI_ERR_INFO_NOKEY
      PARAMETER (MPI_ERR_INFO_NOKEY=31)
      INTEGER MPI_ERR_IO
      PARAMETER (MPI_ERR_IO=32)
      INTEGER MPI_ERR_NAME
      PARAMETER (MPI_ERR_NAME=33)
      INTEGER MPI_ERR_NO_MEM
      PARAMETER (MPI_ERR_NO_MEM=34)
      INTEGER MPI_ERR_NOT_SAME
      PARAMETER (MPI_ERR_NOT_SAME=35)
      INTEGER MPI_ERR_NO_SPACE
      PARAMETER (MPI_ERR_NO_SPACE=36)
      INTEGER MPI_ERR_NO_SUCH_FILE
      PARAMETER (MPI_ERR_NO_SUCH_FILE=37)
      INTEGER MPI_ERR_PORT
      PARAMETER (MPI_ERR_PORT=38)
      INTEGER MPI_ERR_QUOTA
      PARAMETER (MPI_ERR_QUOTA=39)
      INTEGER MPI_ERR_READ_ONLY
      PARAMETER (MPI_ERR_READ_ONLY=40)
      INTEGER MPI_ERR_SERVICE
      PARAMETER (MPI_ERR_SERVICE=41)
      INTEGER MPI_ERR_SPAWN
      PARAMETER (MPI_ERR_SPAWN=42)
      INTEGER MPI_ERR_UNSUPPORTED_DATAREP
      PARAMETER (MPI_ERR_UNSUPPORTED_DATAREP=43)
      INTEGER MPI_ERR_UNSUPPORTED_OPERATION
      PARAMETER (MPI_ERR_UNSUPPORTED_OPERATION=44)
      INTEGER MPI_ERR_WIN
      PARAMETER (MPI_ERR_WIN=45)
      INTEGER MPI_ERR_BASE
      PARAMETER (MPI_ERR_BASE=46)
      INTEGER MPI_ERR_LOCKTYPE
      PARAMETER (MPI_ERR_LOCKTYPE=47)
      INTEGER MPI_ERR_KEYVAL
      PARAMETER (MPI_ERR_KEYVAL=48)
      INTEGER MPI_ERR_RMA_CONFLICT
      PARAMETER (MPI_ERR_RMA_CONFLICT=49)
      INTEGER MPI_ERR_RMA_SYNC
      PARAMETER (MPI_ERR_RMA_SYNC=50)
      INTEGER MPI_ERR_SIZE
      PARAMETER (MPI_ERR_SIZE=51)
      INTEGER MPI_ERR_DISP
      PARAMETER (MPI_ERR_DISP=52)
      INTEGER MPI_ERR_ASSERT
      PARAMETER (MPI_ERR_ASSERT=53)
      INTEGER MPI_ERR_RMA_RANGE
      PARAMETER (MPI_ERR_RMA_RANGE=55)
      INTEGER MPI_ERR_RMA_ATTACH
      PARAMETER (MPI_ERR_RMA_ATTACH=56)
      INTEGER MPI_ERR_RMA_SHARED
      PARAMETER (MPI_ERR_RMA_SHARED=57)
      INTEGER MPI_ERR_RMA_FLAVOR
      PARAMETER (MPI_ERR_RMA_FLAVOR=58)
      INTEGER MPI_ERR_SESSION
      PARAMETER (MPI_ERR_SESSION=75)
      INTEGER MPI_ERR_PROC_ABORTED
      PARAMETER (MPI_ERR_PROC_ABORTED=76)
      INTEGER MPI_ERR_VALUE_TOO_LARGE
      PARAMETER (MPI_ERR_VALUE_TOO_LARGE=77)
      INTEGER MPI_ERR_ERRHANDLER
      PARAMETER (MPI_ERR_ERRHANDLER=80)
      INTEGER MPI_ERR_ABI
      PARAMETER (MPI_ERR_ABI=81)
      INTEGER MPIX_ERR_PROC_FAILED
      PARAMETER (MPIX_ERR_PROC_FAILED=101)
      INTEGER MPIX_ERR_PROC_FAILED_PENDING
      PARAMETER (MPIX_ERR_PROC_FAILED_PENDING=102)
      INTEGER MPIX_ERR_REVOKED
      PARAMETER (MPIX_ERR_REVOKED=103)
      INTEGER MPI_ERR_LASTCODE
      PARAMETER (MPI_ERR_LASTCODE=1073741823)
  integer(c_int), bind(C, name='MPIR_F08_MPI_BOTTOM'), target :: MPI_BOTTOM
  integer(c_int), bind(C, name='MPIR_F08_MPI_IN_PLACE'), target :: MPI_IN_PLACE
  type(MPI_Status), bind(C, name='MPIR_F08_MPI_STATUS_IGNORE_OBJ'), target :: MPI_STATUS_IGNORE
  type(MPI_Status), bind(C, name='MPIR_F08_MPI_STATUSES_IGNORE_OBJ'), target :: MPI_STATUSES_IGNORE(1)
  integer :: MPI_UNWEIGHTED(1), MPI_WEIGHTS_EMPTY(1), ftmpi_statuses_ignore(5), MPI_ERRCODES_IGNORE(1)
  integer, target :: MPI_BUFFER_AUTOMATIC(1)
  character(len=1) :: MPI_ARGVS_NULL(1,1), MPI_ARGV_NULL(1)
  private :: ftmpi_statuses_ignore
  common /MPIFCMB5/ MPI_UNWEIGHTED
  common /MPIFCMB9/ MPI_WEIGHTS_EMPTY
  common /MPIFCMBA/ MPI_BUFFER_AUTOMATIC
  common /MPIPRIV2/ ftmpi_statuses_ignore, MPI_ERRCODES_IGNORE
  common /MPIPRIVC/ MPI_ARGVS_NULL, MPI_ARGV_NULL
  save /MPIFCMB5/, /MPIFCMB9/, /MPIFCMBA/, /MPIPRIV2/, /MPIPRIVC/
interface MPI_Abort
subroutine MPI_Abort_f08(comm, errorcode, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: errorcode
integer, optional, intent(out) :: ierror
end subroutine MPI_Abort_f08
end interface MPI_Abort
interface PMPI_Abort
subroutine PMPIR_Abort_f08(comm, errorcode, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: errorcode
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Abort_f08
end interface PMPI_Abort
interface MPI_Alloc_mem
subroutine MPI_Alloc_mem_f08(size, info, baseptr, ierror)
import
implicit none
integer(kind=MPI_ADDRESS_KIND), intent(in) :: size
type(MPI_Info), intent(in) :: info
type(c_ptr), intent(out) :: baseptr
integer, optional, intent(out) :: ierror
end subroutine MPI_Alloc_mem_f08
end interface MPI_Alloc_mem
interface PMPI_Alloc_mem
subroutine PMPIR_Alloc_mem_f08(size, info, baseptr, ierror)
import
implicit none
integer(kind=MPI_ADDRESS_KIND), intent(in) :: size
type(MPI_Info), intent(in) :: info
type(c_ptr), intent(out) :: baseptr
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Alloc_mem_f08
end interface PMPI_Alloc_mem
interface MPI_Finalize
subroutine MPI_Finalize_f08(ierror)
import
implicit none
integer, optional, intent(out) :: ierror
end subroutine MPI_Finalize_f08
end interface MPI_Finalize
interface PMPI_Finalize
subroutine PMPIR_Finalize_f08(ierror)
import
implicit none
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Finalize_f08
end interface PMPI_Finalize
interface MPI_Finalized
subroutine MPI_Finalized_f08(flag, ierror)
import
implicit none
logical, intent(out) :: flag
integer, optional, intent(out) :: ierror
end subroutine MPI_Finalized_f08
end interface MPI_Finalized
interface PMPI_Finalized
subroutine PMPIR_Finalized_f08(flag, ierror)
import
implicit none
logical, intent(out) :: flag
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Finalized_f08
end interface PMPI_Finalized
interface MPI_Free_mem
subroutine MPI_Free_mem_f08ts(base, ierror)
import
implicit none
type(*), dimension(..) :: base
integer, optional, intent(out) :: ierror
end subroutine MPI_Free_mem_f08ts
end interface MPI_Free_mem
interface PMPI_Free_mem
subroutine PMPIR_Free_mem_f08ts(base, ierror)
import
implicit none
type(*), dimension(..) :: base
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Free_mem_f08ts
end interface PMPI_Free_mem
interface MPI_Get_hw_resource_info
subroutine MPI_Get_hw_resource_info_f08(hw_info, ierror)
import
implicit none
type(MPI_Info), intent(out) :: hw_info
integer, optional, intent(out) :: ierror
end subroutine MPI_Get_hw_resource_info_f08
end interface MPI_Get_hw_resource_info
interface PMPI_Get_hw_resource_info
subroutine PMPIR_Get_hw_resource_info_f08(hw_info, ierror)
import
implicit none
type(MPI_Info), intent(out) :: hw_info
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Get_hw_resource_info_f08
end interface PMPI_Get_hw_resource_info
interface MPI_Get_library_version
subroutine MPI_Get_library_version_f08(version, resultlen, ierror)
import
implicit none
character(len=*), intent(out) :: version
integer, intent(out) :: resultlen
integer, optional, intent(out) :: ierror
end subroutine MPI_Get_library_version_f08
end interface MPI_Get_library_version
interface PMPI_Get_library_version
subroutine PMPIR_Get_library_version_f08(version, resultlen, ierror)
import
implicit none
character(len=*), intent(out) :: version
integer, intent(out) :: resultlen
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Get_library_version_f08
end interface PMPI_Get_library_version
interface MPI_Get_processor_name
subroutine MPI_Get_processor_name_f08(name, resultlen, ierror)
import
implicit none
character(len=*), intent(out) :: name
integer, intent(out) :: resultlen
integer, optional, intent(out) :: ierror
end subroutine MPI_Get_processor_name_f08
end interface MPI_Get_processor_name
interface PMPI_Get_processor_name
subroutine PMPIR_Get_processor_name_f08(name, resultlen, ierror)
import
implicit none
character(len=*), intent(out) :: name
integer, intent(out) :: resultlen
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Get_processor_name_f08
end interface PMPI_Get_processor_name
interface MPI_Get_version
subroutine MPI_Get_version_f08(version, subversion, ierror)
import
implicit none
integer, intent(out) :: version
integer, intent(out) :: subversion
integer, optional, intent(out) :: ierror
end subroutine MPI_Get_version_f08
end interface MPI_Get_version
interface PMPI_Get_version
subroutine PMPIR_Get_version_f08(version, subversion, ierror)
import
implicit none
integer, intent(out) :: version
integer, intent(out) :: subversion
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Get_version_f08
end interface PMPI_Get_version
interface MPI_Init
subroutine MPI_Init_f08(ierror)
import
implicit none
integer, optional, intent(out) :: ierror
end subroutine MPI_Init_f08
end interface MPI_Init
interface PMPI_Init
subroutine PMPIR_Init_f08(ierror)
import
implicit none
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Init_f08
end interface PMPI_Init
interface MPI_Init_thread
subroutine MPI_Init_thread_f08(required, provided, ierror)
import
implicit none
integer, intent(in) :: required
integer, intent(out) :: provided
integer, optional, intent(out) :: ierror
end subroutine MPI_Init_thread_f08
end interface MPI_Init_thread
interface PMPI_Init_thread
subroutine PMPIR_Init_thread_f08(required, provided, ierror)
import
implicit none
integer, intent(in) :: required
integer, intent(out) :: provided
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Init_thread_f08
end interface PMPI_Init_thread
interface MPI_Initialized
subroutine MPI_Initialized_f08(flag, ierror)
import
implicit none
logical, intent(out) :: flag
integer, optional, intent(out) :: ierror
end subroutine MPI_Initialized_f08
end interface MPI_Initialized
interface PMPI_Initialized
subroutine PMPIR_Initialized_f08(flag, ierror)
import
implicit none
logical, intent(out) :: flag
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Initialized_f08
end interface PMPI_Initialized
interface MPI_Is_thread_main
subroutine MPI_Is_thread_main_f08(flag, ierror)
import
implicit none
logical, intent(out) :: flag
integer, optional, intent(out) :: ierror
end subroutine MPI_Is_thread_main_f08
end interface MPI_Is_thread_main
interface PMPI_Is_thread_main
subroutine PMPIR_Is_thread_main_f08(flag, ierror)
import
implicit none
logical, intent(out) :: flag
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Is_thread_main_f08
end interface PMPI_Is_thread_main
interface MPI_Pcontrol
subroutine MPI_Pcontrol_f08(level, ierror)
import
implicit none
integer, intent(in) :: level
integer, optional :: ierror
end subroutine MPI_Pcontrol_f08
end interface MPI_Pcontrol
interface PMPI_Pcontrol
subroutine PMPIR_Pcontrol_f08(level, ierror)
import
implicit none
integer, intent(in) :: level
integer, optional :: ierror
end subroutine PMPIR_Pcontrol_f08
end interface PMPI_Pcontrol
interface MPI_Query_thread
subroutine MPI_Query_thread_f08(provided, ierror)
import
implicit none
integer, intent(out) :: provided
integer, optional, intent(out) :: ierror
end subroutine MPI_Query_thread_f08
end interface MPI_Query_thread
interface PMPI_Query_thread
subroutine PMPIR_Query_thread_f08(provided, ierror)
import
implicit none
integer, intent(out) :: provided
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Query_thread_f08
end interface PMPI_Query_thread
interface MPI_Wtick
function MPI_Wtick_f08() result(answer)
import
implicit none
double precision :: answer
end function MPI_Wtick_f08
end interface MPI_Wtick
interface PMPI_Wtick
function PMPIR_Wtick_f08() result(answer)
import
implicit none
double precision :: answer
end function PMPIR_Wtick_f08
end interface PMPI_Wtick
interface MPI_Wtime
function MPI_Wtime_f08() result(answer)
import
implicit none
double precision :: answer
end function MPI_Wtime_f08
end interface MPI_Wtime
interface PMPI_Wtime
function PMPIR_Wtime_f08() result(answer)
import
implicit none
double precision :: answer
end function PMPIR_Wtime_f08
end interface PMPI_Wtime
interface MPI_Bsend
subroutine MPI_Bsend_f08ts(buf, count, datatype, dest, tag, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Bsend_f08ts
subroutine MPI_Bsend_f08ts_large(buf, count, datatype, dest, tag, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Bsend_f08ts_large
end interface MPI_Bsend
interface PMPI_Bsend
subroutine PMPIR_Bsend_f08ts(buf, count, datatype, dest, tag, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Bsend_f08ts
subroutine PMPIR_Bsend_f08ts_large(buf, count, datatype, dest, tag, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Bsend_f08ts_large
end interface PMPI_Bsend
interface MPI_Bsend_init
subroutine MPI_Bsend_init_f08ts(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Bsend_init_f08ts
subroutine MPI_Bsend_init_f08ts_large(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Bsend_init_f08ts_large
end interface MPI_Bsend_init
interface PMPI_Bsend_init
subroutine PMPIR_Bsend_init_f08ts(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Bsend_init_f08ts
subroutine PMPIR_Bsend_init_f08ts_large(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Bsend_init_f08ts_large
end interface PMPI_Bsend_init
interface MPI_Buffer_attach
subroutine MPI_Buffer_attach_f08ts(buffer, size, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buffer
integer, intent(in) :: size
integer, optional, intent(out) :: ierror
end subroutine MPI_Buffer_attach_f08ts
subroutine MPI_Buffer_attach_f08ts_large(buffer, size, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buffer
integer(kind=MPI_COUNT_KIND), intent(in) :: size
integer, optional, intent(out) :: ierror
end subroutine MPI_Buffer_attach_f08ts_large
end interface MPI_Buffer_attach
interface PMPI_Buffer_attach
subroutine PMPIR_Buffer_attach_f08ts(buffer, size, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buffer
integer, intent(in) :: size
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Buffer_attach_f08ts
subroutine PMPIR_Buffer_attach_f08ts_large(buffer, size, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buffer
integer(kind=MPI_COUNT_KIND), intent(in) :: size
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Buffer_attach_f08ts_large
end interface PMPI_Buffer_attach
interface MPI_Buffer_detach
subroutine MPI_Buffer_detach_f08(buffer_addr, size, ierror)
import
implicit none
type(c_ptr), intent(out) :: buffer_addr
integer, intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine MPI_Buffer_detach_f08
subroutine MPI_Buffer_detach_f08_large(buffer_addr, size, ierror)
import
implicit none
type(c_ptr), intent(out) :: buffer_addr
integer(kind=MPI_COUNT_KIND), intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine MPI_Buffer_detach_f08_large
end interface MPI_Buffer_detach
interface PMPI_Buffer_detach
subroutine PMPIR_Buffer_detach_f08(buffer_addr, size, ierror)
import
implicit none
type(c_ptr), intent(out) :: buffer_addr
integer, intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Buffer_detach_f08
subroutine PMPIR_Buffer_detach_f08_large(buffer_addr, size, ierror)
import
implicit none
type(c_ptr), intent(out) :: buffer_addr
integer(kind=MPI_COUNT_KIND), intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Buffer_detach_f08_large
end interface PMPI_Buffer_detach
interface MPI_Buffer_flush
subroutine MPI_Buffer_flush_f08(ierror)
import
implicit none
integer, optional, intent(out) :: ierror
end subroutine MPI_Buffer_flush_f08
end interface MPI_Buffer_flush
interface PMPI_Buffer_flush
subroutine PMPIR_Buffer_flush_f08(ierror)
import
implicit none
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Buffer_flush_f08
end interface PMPI_Buffer_flush
interface MPI_Buffer_iflush
subroutine MPI_Buffer_iflush_f08(request, ierror)
import
implicit none
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Buffer_iflush_f08
end interface MPI_Buffer_iflush
interface PMPI_Buffer_iflush
subroutine PMPIR_Buffer_iflush_f08(request, ierror)
import
implicit none
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Buffer_iflush_f08
end interface PMPI_Buffer_iflush
interface MPI_Cancel
subroutine MPI_Cancel_f08(request, ierror)
import
implicit none
type(MPI_Request), intent(inout) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Cancel_f08
end interface MPI_Cancel
interface PMPI_Cancel
subroutine PMPIR_Cancel_f08(request, ierror)
import
implicit none
type(MPI_Request), intent(inout) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Cancel_f08
end interface PMPI_Cancel
interface MPI_Get_count
subroutine MPI_Get_count_f08(status, datatype, count, ierror)
import
implicit none
type(MPI_Status), intent(in) :: status
type(MPI_Datatype), intent(in) :: datatype
integer, intent(out) :: count
integer, optional, intent(out) :: ierror
end subroutine MPI_Get_count_f08
subroutine MPI_Get_count_f08_large(status, datatype, count, ierror)
import
implicit none
type(MPI_Status), intent(in) :: status
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_COUNT_KIND), intent(out) :: count
integer, optional, intent(out) :: ierror
end subroutine MPI_Get_count_f08_large
end interface MPI_Get_count
interface PMPI_Get_count
subroutine PMPIR_Get_count_f08(status, datatype, count, ierror)
import
implicit none
type(MPI_Status), intent(in) :: status
type(MPI_Datatype), intent(in) :: datatype
integer, intent(out) :: count
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Get_count_f08
subroutine PMPIR_Get_count_f08_large(status, datatype, count, ierror)
import
implicit none
type(MPI_Status), intent(in) :: status
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_COUNT_KIND), intent(out) :: count
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Get_count_f08_large
end interface PMPI_Get_count
interface MPI_Grequest_complete
subroutine MPI_Grequest_complete_f08(request, ierror)
import
implicit none
type(MPI_Request), intent(in) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Grequest_complete_f08
end interface MPI_Grequest_complete
interface PMPI_Grequest_complete
subroutine PMPIR_Grequest_complete_f08(request, ierror)
import
implicit none
type(MPI_Request), intent(in) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Grequest_complete_f08
end interface PMPI_Grequest_complete
interface MPI_Grequest_start
subroutine MPI_Grequest_start_f08(query_fn, free_fn, cancel_fn, extra_state, request, ierror)
import
implicit none
procedure(MPI_Grequest_query_function) :: query_fn
procedure(MPI_Grequest_free_function) :: free_fn
procedure(MPI_Grequest_cancel_function) :: cancel_fn
integer(kind=MPI_ADDRESS_KIND), intent(in) :: extra_state
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Grequest_start_f08
end interface MPI_Grequest_start
interface PMPI_Grequest_start
subroutine PMPIR_Grequest_start_f08(query_fn, free_fn, cancel_fn, extra_state, request, ierror)
import
implicit none
procedure(MPI_Grequest_query_function) :: query_fn
procedure(MPI_Grequest_free_function) :: free_fn
procedure(MPI_Grequest_cancel_function) :: cancel_fn
integer(kind=MPI_ADDRESS_KIND), intent(in) :: extra_state
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Grequest_start_f08
end interface PMPI_Grequest_start
interface MPI_Ibsend
subroutine MPI_Ibsend_f08ts(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Ibsend_f08ts
subroutine MPI_Ibsend_f08ts_large(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Ibsend_f08ts_large
end interface MPI_Ibsend
interface PMPI_Ibsend
subroutine PMPIR_Ibsend_f08ts(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Ibsend_f08ts
subroutine PMPIR_Ibsend_f08ts_large(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Ibsend_f08ts_large
end interface PMPI_Ibsend
interface MPI_Improbe
subroutine MPI_Improbe_f08(source, tag, comm, flag, message, status, ierror)
import
implicit none
integer, intent(in) :: source
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
logical, intent(out) :: flag
type(MPI_Message), intent(out) :: message
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_Improbe_f08
end interface MPI_Improbe
interface PMPI_Improbe
subroutine PMPIR_Improbe_f08(source, tag, comm, flag, message, status, ierror)
import
implicit none
integer, intent(in) :: source
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
logical, intent(out) :: flag
type(MPI_Message), intent(out) :: message
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Improbe_f08
end interface PMPI_Improbe
interface MPI_Imrecv
subroutine MPI_Imrecv_f08ts(buf, count, datatype, message, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Message), intent(inout) :: message
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Imrecv_f08ts
subroutine MPI_Imrecv_f08ts_large(buf, count, datatype, message, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Message), intent(inout) :: message
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Imrecv_f08ts_large
end interface MPI_Imrecv
interface PMPI_Imrecv
subroutine PMPIR_Imrecv_f08ts(buf, count, datatype, message, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Message), intent(inout) :: message
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Imrecv_f08ts
subroutine PMPIR_Imrecv_f08ts_large(buf, count, datatype, message, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Message), intent(inout) :: message
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Imrecv_f08ts_large
end interface PMPI_Imrecv
interface MPI_Iprobe
subroutine MPI_Iprobe_f08(source, tag, comm, flag, status, ierror)
import
implicit none
integer, intent(in) :: source
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
logical, intent(out) :: flag
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_Iprobe_f08
end interface MPI_Iprobe
interface PMPI_Iprobe
subroutine PMPIR_Iprobe_f08(source, tag, comm, flag, status, ierror)
import
implicit none
integer, intent(in) :: source
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
logical, intent(out) :: flag
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Iprobe_f08
end interface PMPI_Iprobe
interface MPI_Irecv
subroutine MPI_Irecv_f08ts(buf, count, datatype, source, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: source
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Irecv_f08ts
subroutine MPI_Irecv_f08ts_large(buf, count, datatype, source, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: source
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Irecv_f08ts_large
end interface MPI_Irecv
interface PMPI_Irecv
subroutine PMPIR_Irecv_f08ts(buf, count, datatype, source, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: source
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Irecv_f08ts
subroutine PMPIR_Irecv_f08ts_large(buf, count, datatype, source, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: source
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Irecv_f08ts_large
end interface PMPI_Irecv
interface MPI_Irsend
subroutine MPI_Irsend_f08ts(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Irsend_f08ts
subroutine MPI_Irsend_f08ts_large(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Irsend_f08ts_large
end interface MPI_Irsend
interface PMPI_Irsend
subroutine PMPIR_Irsend_f08ts(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Irsend_f08ts
subroutine PMPIR_Irsend_f08ts_large(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Irsend_f08ts_large
end interface PMPI_Irsend
interface MPI_Isend
subroutine MPI_Isend_f08ts(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Isend_f08ts
subroutine MPI_Isend_f08ts_large(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Isend_f08ts_large
end interface MPI_Isend
interface PMPI_Isend
subroutine PMPIR_Isend_f08ts(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Isend_f08ts
subroutine PMPIR_Isend_f08ts_large(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Isend_f08ts_large
end interface PMPI_Isend
interface MPI_Isendrecv
subroutine MPI_Isendrecv_f08ts(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, &
    recvtype, source, recvtag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
integer, intent(in) :: dest
integer, intent(in) :: sendtag
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: source
integer, intent(in) :: recvtag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Isendrecv_f08ts
subroutine MPI_Isendrecv_f08ts_large(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, &
    recvcount, recvtype, source, recvtag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
integer, intent(in) :: dest
integer, intent(in) :: sendtag
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: source
integer, intent(in) :: recvtag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Isendrecv_f08ts_large
end interface MPI_Isendrecv
interface PMPI_Isendrecv
subroutine PMPIR_Isendrecv_f08ts(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, &
    recvtype, source, recvtag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
integer, intent(in) :: dest
integer, intent(in) :: sendtag
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: source
integer, intent(in) :: recvtag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Isendrecv_f08ts
subroutine PMPIR_Isendrecv_f08ts_large(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, &
    recvcount, recvtype, source, recvtag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
integer, intent(in) :: dest
integer, intent(in) :: sendtag
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: source
integer, intent(in) :: recvtag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Isendrecv_f08ts_large
end interface PMPI_Isendrecv
interface MPI_Isendrecv_replace
subroutine MPI_Isendrecv_replace_f08ts(buf, count, datatype, dest, sendtag, source, recvtag, comm, &
    request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: sendtag
integer, intent(in) :: source
integer, intent(in) :: recvtag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Isendrecv_replace_f08ts
subroutine MPI_Isendrecv_replace_f08ts_large(buf, count, datatype, dest, sendtag, source, recvtag, &
    comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: sendtag
integer, intent(in) :: source
integer, intent(in) :: recvtag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Isendrecv_replace_f08ts_large
end interface MPI_Isendrecv_replace
interface PMPI_Isendrecv_replace
subroutine PMPIR_Isendrecv_replace_f08ts(buf, count, datatype, dest, sendtag, source, recvtag, &
    comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: sendtag
integer, intent(in) :: source
integer, intent(in) :: recvtag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Isendrecv_replace_f08ts
subroutine PMPIR_Isendrecv_replace_f08ts_large(buf, count, datatype, dest, sendtag, source, &
    recvtag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: sendtag
integer, intent(in) :: source
integer, intent(in) :: recvtag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Isendrecv_replace_f08ts_large
end interface PMPI_Isendrecv_replace
interface MPI_Issend
subroutine MPI_Issend_f08ts(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Issend_f08ts
subroutine MPI_Issend_f08ts_large(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Issend_f08ts_large
end interface MPI_Issend
interface PMPI_Issend
subroutine PMPIR_Issend_f08ts(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Issend_f08ts
subroutine PMPIR_Issend_f08ts_large(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Issend_f08ts_large
end interface PMPI_Issend
interface MPI_Mprobe
subroutine MPI_Mprobe_f08(source, tag, comm, message, status, ierror)
import
implicit none
integer, intent(in) :: source
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Message), intent(out) :: message
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_Mprobe_f08
end interface MPI_Mprobe
interface PMPI_Mprobe
subroutine PMPIR_Mprobe_f08(source, tag, comm, message, status, ierror)
import
implicit none
integer, intent(in) :: source
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Message), intent(out) :: message
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Mprobe_f08
end interface PMPI_Mprobe
interface MPI_Mrecv
subroutine MPI_Mrecv_f08ts(buf, count, datatype, message, status, ierror)
import
implicit none
type(*), dimension(..) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Message), intent(inout) :: message
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_Mrecv_f08ts
subroutine MPI_Mrecv_f08ts_large(buf, count, datatype, message, status, ierror)
import
implicit none
type(*), dimension(..) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Message), intent(inout) :: message
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_Mrecv_f08ts_large
end interface MPI_Mrecv
interface PMPI_Mrecv
subroutine PMPIR_Mrecv_f08ts(buf, count, datatype, message, status, ierror)
import
implicit none
type(*), dimension(..) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Message), intent(inout) :: message
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Mrecv_f08ts
subroutine PMPIR_Mrecv_f08ts_large(buf, count, datatype, message, status, ierror)
import
implicit none
type(*), dimension(..) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Message), intent(inout) :: message
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Mrecv_f08ts_large
end interface PMPI_Mrecv
interface MPI_Parrived
subroutine MPI_Parrived_f08(request, partition, flag, ierror)
import
implicit none
type(MPI_Request), intent(in) :: request
integer, intent(in) :: partition
logical, intent(out) :: flag
integer, optional, intent(out) :: ierror
end subroutine MPI_Parrived_f08
end interface MPI_Parrived
interface PMPI_Parrived
subroutine PMPIR_Parrived_f08(request, partition, flag, ierror)
import
implicit none
type(MPI_Request), intent(in) :: request
integer, intent(in) :: partition
logical, intent(out) :: flag
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Parrived_f08
end interface PMPI_Parrived
interface MPI_Pready
subroutine MPI_Pready_f08(partition, request, ierror)
import
implicit none
integer, intent(in) :: partition
type(MPI_Request), intent(in) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Pready_f08
end interface MPI_Pready
interface PMPI_Pready
subroutine PMPIR_Pready_f08(partition, request, ierror)
import
implicit none
integer, intent(in) :: partition
type(MPI_Request), intent(in) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Pready_f08
end interface PMPI_Pready
interface MPI_Pready_list
subroutine MPI_Pready_list_f08(length, array_of_partitions, request, ierror)
import
implicit none
integer, intent(in) :: length
integer, intent(in) :: array_of_partitions(*)
type(MPI_Request), intent(in) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Pready_list_f08
end interface MPI_Pready_list
interface PMPI_Pready_list
subroutine PMPIR_Pready_list_f08(length, array_of_partitions, request, ierror)
import
implicit none
integer, intent(in) :: length
integer, intent(in) :: array_of_partitions(*)
type(MPI_Request), intent(in) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Pready_list_f08
end interface PMPI_Pready_list
interface MPI_Pready_range
subroutine MPI_Pready_range_f08(partition_low, partition_high, request, ierror)
import
implicit none
integer, intent(in) :: partition_low
integer, intent(in) :: partition_high
type(MPI_Request), intent(in) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Pready_range_f08
end interface MPI_Pready_range
interface PMPI_Pready_range
subroutine PMPIR_Pready_range_f08(partition_low, partition_high, request, ierror)
import
implicit none
integer, intent(in) :: partition_low
integer, intent(in) :: partition_high
type(MPI_Request), intent(in) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Pready_range_f08
end interface PMPI_Pready_range
interface MPI_Precv_init
subroutine MPI_Precv_init_f08ts(buf, partitions, count, datatype, dest, tag, comm, info, request, &
    ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: partitions
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Precv_init_f08ts
end interface MPI_Precv_init
interface PMPI_Precv_init
subroutine PMPIR_Precv_init_f08ts(buf, partitions, count, datatype, dest, tag, comm, info, request, &
    ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: partitions
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Precv_init_f08ts
end interface PMPI_Precv_init
interface MPI_Probe
subroutine MPI_Probe_f08(source, tag, comm, status, ierror)
import
implicit none
integer, intent(in) :: source
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_Probe_f08
end interface MPI_Probe
interface PMPI_Probe
subroutine PMPIR_Probe_f08(source, tag, comm, status, ierror)
import
implicit none
integer, intent(in) :: source
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Probe_f08
end interface PMPI_Probe
interface MPI_Psend_init
subroutine MPI_Psend_init_f08ts(buf, partitions, count, datatype, dest, tag, comm, info, request, &
    ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: partitions
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Psend_init_f08ts
end interface MPI_Psend_init
interface PMPI_Psend_init
subroutine PMPIR_Psend_init_f08ts(buf, partitions, count, datatype, dest, tag, comm, info, request, &
    ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: partitions
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Psend_init_f08ts
end interface PMPI_Psend_init
interface MPI_Recv
subroutine MPI_Recv_f08ts(buf, count, datatype, source, tag, comm, status, ierror)
import
implicit none
type(*), dimension(..) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: source
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_Recv_f08ts
subroutine MPI_Recv_f08ts_large(buf, count, datatype, source, tag, comm, status, ierror)
import
implicit none
type(*), dimension(..) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: source
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_Recv_f08ts_large
end interface MPI_Recv
interface PMPI_Recv
subroutine PMPIR_Recv_f08ts(buf, count, datatype, source, tag, comm, status, ierror)
import
implicit none
type(*), dimension(..) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: source
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Recv_f08ts
subroutine PMPIR_Recv_f08ts_large(buf, count, datatype, source, tag, comm, status, ierror)
import
implicit none
type(*), dimension(..) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: source
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Recv_f08ts_large
end interface PMPI_Recv
interface MPI_Recv_init
subroutine MPI_Recv_init_f08ts(buf, count, datatype, source, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: source
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Recv_init_f08ts
subroutine MPI_Recv_init_f08ts_large(buf, count, datatype, source, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: source
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Recv_init_f08ts_large
end interface MPI_Recv_init
interface PMPI_Recv_init
subroutine PMPIR_Recv_init_f08ts(buf, count, datatype, source, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: source
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Recv_init_f08ts
subroutine PMPIR_Recv_init_f08ts_large(buf, count, datatype, source, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: source
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Recv_init_f08ts_large
end interface PMPI_Recv_init
interface MPI_Request_free
subroutine MPI_Request_free_f08(request, ierror)
import
implicit none
type(MPI_Request), intent(inout) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Request_free_f08
end interface MPI_Request_free
interface PMPI_Request_free
subroutine PMPIR_Request_free_f08(request, ierror)
import
implicit none
type(MPI_Request), intent(inout) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Request_free_f08
end interface PMPI_Request_free
interface MPI_Request_get_status
subroutine MPI_Request_get_status_f08(request, flag, status, ierror)
import
implicit none
type(MPI_Request), intent(in) :: request
logical, intent(out) :: flag
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_Request_get_status_f08
end interface MPI_Request_get_status
interface PMPI_Request_get_status
subroutine PMPIR_Request_get_status_f08(request, flag, status, ierror)
import
implicit none
type(MPI_Request), intent(in) :: request
logical, intent(out) :: flag
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Request_get_status_f08
end interface PMPI_Request_get_status
interface MPI_Request_get_status_all
subroutine MPI_Request_get_status_all_f08(count, array_of_requests, flag, array_of_statuses, ierror)
import
implicit none
integer, intent(in) :: count
type(MPI_Request), intent(in) :: array_of_requests(*)
logical, intent(out) :: flag
type(MPI_Status) :: array_of_statuses(*)
integer, optional, intent(out) :: ierror
end subroutine MPI_Request_get_status_all_f08
end interface MPI_Request_get_status_all
interface PMPI_Request_get_status_all
subroutine PMPIR_Request_get_status_all_f08(count, array_of_requests, flag, array_of_statuses, &
    ierror)
import
implicit none
integer, intent(in) :: count
type(MPI_Request), intent(in) :: array_of_requests(*)
logical, intent(out) :: flag
type(MPI_Status) :: array_of_statuses(*)
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Request_get_status_all_f08
end interface PMPI_Request_get_status_all
interface MPI_Request_get_status_any
subroutine MPI_Request_get_status_any_f08(count, array_of_requests, index, flag, status, ierror)
import
implicit none
integer, intent(in) :: count
type(MPI_Request), intent(in) :: array_of_requests(*)
integer, intent(out) :: index
logical, intent(out) :: flag
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_Request_get_status_any_f08
end interface MPI_Request_get_status_any
interface PMPI_Request_get_status_any
subroutine PMPIR_Request_get_status_any_f08(count, array_of_requests, index, flag, status, ierror)
import
implicit none
integer, intent(in) :: count
type(MPI_Request), intent(in) :: array_of_requests(*)
integer, intent(out) :: index
logical, intent(out) :: flag
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Request_get_status_any_f08
end interface PMPI_Request_get_status_any
interface MPI_Request_get_status_some
subroutine MPI_Request_get_status_some_f08(incount, array_of_requests, outcount, array_of_indices, &
    array_of_statuses, ierror)
import
implicit none
integer, intent(in) :: incount
type(MPI_Request), intent(in) :: array_of_requests(*)
integer, intent(out) :: outcount
integer, intent(out) :: array_of_indices(*)
type(MPI_Status) :: array_of_statuses(*)
integer, optional, intent(out) :: ierror
end subroutine MPI_Request_get_status_some_f08
end interface MPI_Request_get_status_some
interface PMPI_Request_get_status_some
subroutine PMPIR_Request_get_status_some_f08(incount, array_of_requests, outcount, &
    array_of_indices, array_of_statuses, ierror)
import
implicit none
integer, intent(in) :: incount
type(MPI_Request), intent(in) :: array_of_requests(*)
integer, intent(out) :: outcount
integer, intent(out) :: array_of_indices(*)
type(MPI_Status) :: array_of_statuses(*)
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Request_get_status_some_f08
end interface PMPI_Request_get_status_some
interface MPI_Rsend
subroutine MPI_Rsend_f08ts(buf, count, datatype, dest, tag, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Rsend_f08ts
subroutine MPI_Rsend_f08ts_large(buf, count, datatype, dest, tag, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Rsend_f08ts_large
end interface MPI_Rsend
interface PMPI_Rsend
subroutine PMPIR_Rsend_f08ts(buf, count, datatype, dest, tag, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Rsend_f08ts
subroutine PMPIR_Rsend_f08ts_large(buf, count, datatype, dest, tag, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Rsend_f08ts_large
end interface PMPI_Rsend
interface MPI_Rsend_init
subroutine MPI_Rsend_init_f08ts(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Rsend_init_f08ts
subroutine MPI_Rsend_init_f08ts_large(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Rsend_init_f08ts_large
end interface MPI_Rsend_init
interface PMPI_Rsend_init
subroutine PMPIR_Rsend_init_f08ts(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Rsend_init_f08ts
subroutine PMPIR_Rsend_init_f08ts_large(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Rsend_init_f08ts_large
end interface PMPI_Rsend_init
interface MPI_Send
subroutine MPI_Send_f08ts(buf, count, datatype, dest, tag, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Send_f08ts
subroutine MPI_Send_f08ts_large(buf, count, datatype, dest, tag, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Send_f08ts_large
end interface MPI_Send
interface PMPI_Send
subroutine PMPIR_Send_f08ts(buf, count, datatype, dest, tag, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Send_f08ts
subroutine PMPIR_Send_f08ts_large(buf, count, datatype, dest, tag, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Send_f08ts_large
end interface PMPI_Send
interface MPI_Send_init
subroutine MPI_Send_init_f08ts(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Send_init_f08ts
subroutine MPI_Send_init_f08ts_large(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Send_init_f08ts_large
end interface MPI_Send_init
interface PMPI_Send_init
subroutine PMPIR_Send_init_f08ts(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Send_init_f08ts
subroutine PMPIR_Send_init_f08ts_large(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Send_init_f08ts_large
end interface PMPI_Send_init
interface MPI_Sendrecv
subroutine MPI_Sendrecv_f08ts(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, &
    recvtype, source, recvtag, comm, status, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
integer, intent(in) :: dest
integer, intent(in) :: sendtag
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: source
integer, intent(in) :: recvtag
type(MPI_Comm), intent(in) :: comm
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_Sendrecv_f08ts
subroutine MPI_Sendrecv_f08ts_large(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, &
    recvcount, recvtype, source, recvtag, comm, status, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
integer, intent(in) :: dest
integer, intent(in) :: sendtag
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: source
integer, intent(in) :: recvtag
type(MPI_Comm), intent(in) :: comm
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_Sendrecv_f08ts_large
end interface MPI_Sendrecv
interface PMPI_Sendrecv
subroutine PMPIR_Sendrecv_f08ts(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, &
    recvtype, source, recvtag, comm, status, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
integer, intent(in) :: dest
integer, intent(in) :: sendtag
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: source
integer, intent(in) :: recvtag
type(MPI_Comm), intent(in) :: comm
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Sendrecv_f08ts
subroutine PMPIR_Sendrecv_f08ts_large(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, &
    recvcount, recvtype, source, recvtag, comm, status, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
integer, intent(in) :: dest
integer, intent(in) :: sendtag
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: source
integer, intent(in) :: recvtag
type(MPI_Comm), intent(in) :: comm
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Sendrecv_f08ts_large
end interface PMPI_Sendrecv
interface MPI_Sendrecv_replace
subroutine MPI_Sendrecv_replace_f08ts(buf, count, datatype, dest, sendtag, source, recvtag, comm, &
    status, ierror)
import
implicit none
type(*), dimension(..) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: sendtag
integer, intent(in) :: source
integer, intent(in) :: recvtag
type(MPI_Comm), intent(in) :: comm
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_Sendrecv_replace_f08ts
subroutine MPI_Sendrecv_replace_f08ts_large(buf, count, datatype, dest, sendtag, source, recvtag, &
    comm, status, ierror)
import
implicit none
type(*), dimension(..) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: sendtag
integer, intent(in) :: source
integer, intent(in) :: recvtag
type(MPI_Comm), intent(in) :: comm
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_Sendrecv_replace_f08ts_large
end interface MPI_Sendrecv_replace
interface PMPI_Sendrecv_replace
subroutine PMPIR_Sendrecv_replace_f08ts(buf, count, datatype, dest, sendtag, source, recvtag, comm, &
    status, ierror)
import
implicit none
type(*), dimension(..) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: sendtag
integer, intent(in) :: source
integer, intent(in) :: recvtag
type(MPI_Comm), intent(in) :: comm
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Sendrecv_replace_f08ts
subroutine PMPIR_Sendrecv_replace_f08ts_large(buf, count, datatype, dest, sendtag, source, recvtag, &
    comm, status, ierror)
import
implicit none
type(*), dimension(..) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: sendtag
integer, intent(in) :: source
integer, intent(in) :: recvtag
type(MPI_Comm), intent(in) :: comm
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Sendrecv_replace_f08ts_large
end interface PMPI_Sendrecv_replace
interface MPI_Ssend
subroutine MPI_Ssend_f08ts(buf, count, datatype, dest, tag, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Ssend_f08ts
subroutine MPI_Ssend_f08ts_large(buf, count, datatype, dest, tag, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Ssend_f08ts_large
end interface MPI_Ssend
interface PMPI_Ssend
subroutine PMPIR_Ssend_f08ts(buf, count, datatype, dest, tag, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Ssend_f08ts
subroutine PMPIR_Ssend_f08ts_large(buf, count, datatype, dest, tag, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Ssend_f08ts_large
end interface PMPI_Ssend
interface MPI_Ssend_init
subroutine MPI_Ssend_init_f08ts(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Ssend_init_f08ts
subroutine MPI_Ssend_init_f08ts_large(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Ssend_init_f08ts_large
end interface MPI_Ssend_init
interface PMPI_Ssend_init
subroutine PMPIR_Ssend_init_f08ts(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Ssend_init_f08ts
subroutine PMPIR_Ssend_init_f08ts_large(buf, count, datatype, dest, tag, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: dest
integer, intent(in) :: tag
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Ssend_init_f08ts_large
end interface PMPI_Ssend_init
interface MPI_Start
subroutine MPI_Start_f08(request, ierror)
import
implicit none
type(MPI_Request), intent(inout) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Start_f08
end interface MPI_Start
interface PMPI_Start
subroutine PMPIR_Start_f08(request, ierror)
import
implicit none
type(MPI_Request), intent(inout) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Start_f08
end interface PMPI_Start
interface MPI_Startall
subroutine MPI_Startall_f08(count, array_of_requests, ierror)
import
implicit none
integer, intent(in) :: count
type(MPI_Request), intent(inout) :: array_of_requests(*)
integer, optional, intent(out) :: ierror
end subroutine MPI_Startall_f08
end interface MPI_Startall
interface PMPI_Startall
subroutine PMPIR_Startall_f08(count, array_of_requests, ierror)
import
implicit none
integer, intent(in) :: count
type(MPI_Request), intent(inout) :: array_of_requests(*)
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Startall_f08
end interface PMPI_Startall
interface MPI_Status_get_error
subroutine MPI_Status_get_error_f08(status, error, ierror)
import
implicit none
type(MPI_Status), intent(in) :: status
integer, intent(out) :: error
integer, optional, intent(out) :: ierror
end subroutine MPI_Status_get_error_f08
end interface MPI_Status_get_error
interface PMPI_Status_get_error
subroutine PMPIR_Status_get_error_f08(status, error, ierror)
import
implicit none
type(MPI_Status), intent(in) :: status
integer, intent(out) :: error
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Status_get_error_f08
end interface PMPI_Status_get_error
interface MPI_Status_get_source
subroutine MPI_Status_get_source_f08(status, source, ierror)
import
implicit none
type(MPI_Status), intent(in) :: status
integer, intent(out) :: source
integer, optional, intent(out) :: ierror
end subroutine MPI_Status_get_source_f08
end interface MPI_Status_get_source
interface PMPI_Status_get_source
subroutine PMPIR_Status_get_source_f08(status, source, ierror)
import
implicit none
type(MPI_Status), intent(in) :: status
integer, intent(out) :: source
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Status_get_source_f08
end interface PMPI_Status_get_source
interface MPI_Status_get_tag
subroutine MPI_Status_get_tag_f08(status, tag, ierror)
import
implicit none
type(MPI_Status), intent(in) :: status
integer, intent(out) :: tag
integer, optional, intent(out) :: ierror
end subroutine MPI_Status_get_tag_f08
end interface MPI_Status_get_tag
interface PMPI_Status_get_tag
subroutine PMPIR_Status_get_tag_f08(status, tag, ierror)
import
implicit none
type(MPI_Status), intent(in) :: status
integer, intent(out) :: tag
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Status_get_tag_f08
end interface PMPI_Status_get_tag
interface MPI_Status_set_cancelled
subroutine MPI_Status_set_cancelled_f08(status, flag, ierror)
import
implicit none
type(MPI_Status) :: status
logical, intent(in) :: flag
integer, optional, intent(out) :: ierror
end subroutine MPI_Status_set_cancelled_f08
end interface MPI_Status_set_cancelled
interface PMPI_Status_set_cancelled
subroutine PMPIR_Status_set_cancelled_f08(status, flag, ierror)
import
implicit none
type(MPI_Status) :: status
logical, intent(in) :: flag
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Status_set_cancelled_f08
end interface PMPI_Status_set_cancelled
interface MPI_Status_set_error
subroutine MPI_Status_set_error_f08(status, error, ierror)
import
implicit none
type(MPI_Status) :: status
integer, intent(in) :: error
integer, optional, intent(out) :: ierror
end subroutine MPI_Status_set_error_f08
end interface MPI_Status_set_error
interface PMPI_Status_set_error
subroutine PMPIR_Status_set_error_f08(status, error, ierror)
import
implicit none
type(MPI_Status) :: status
integer, intent(in) :: error
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Status_set_error_f08
end interface PMPI_Status_set_error
interface MPI_Status_set_source
subroutine MPI_Status_set_source_f08(status, source, ierror)
import
implicit none
type(MPI_Status) :: status
integer, intent(in) :: source
integer, optional, intent(out) :: ierror
end subroutine MPI_Status_set_source_f08
end interface MPI_Status_set_source
interface PMPI_Status_set_source
subroutine PMPIR_Status_set_source_f08(status, source, ierror)
import
implicit none
type(MPI_Status) :: status
integer, intent(in) :: source
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Status_set_source_f08
end interface PMPI_Status_set_source
interface MPI_Status_set_tag
subroutine MPI_Status_set_tag_f08(status, tag, ierror)
import
implicit none
type(MPI_Status) :: status
integer, intent(in) :: tag
integer, optional, intent(out) :: ierror
end subroutine MPI_Status_set_tag_f08
end interface MPI_Status_set_tag
interface PMPI_Status_set_tag
subroutine PMPIR_Status_set_tag_f08(status, tag, ierror)
import
implicit none
type(MPI_Status) :: status
integer, intent(in) :: tag
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Status_set_tag_f08
end interface PMPI_Status_set_tag
interface MPI_Test
subroutine MPI_Test_f08(request, flag, status, ierror)
import
implicit none
type(MPI_Request), intent(inout) :: request
logical, intent(out) :: flag
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_Test_f08
end interface MPI_Test
interface PMPI_Test
subroutine PMPIR_Test_f08(request, flag, status, ierror)
import
implicit none
type(MPI_Request), intent(inout) :: request
logical, intent(out) :: flag
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Test_f08
end interface PMPI_Test
interface MPI_Test_cancelled
subroutine MPI_Test_cancelled_f08(status, flag, ierror)
import
implicit none
type(MPI_Status), intent(in) :: status
logical, intent(out) :: flag
integer, optional, intent(out) :: ierror
end subroutine MPI_Test_cancelled_f08
end interface MPI_Test_cancelled
interface PMPI_Test_cancelled
subroutine PMPIR_Test_cancelled_f08(status, flag, ierror)
import
implicit none
type(MPI_Status), intent(in) :: status
logical, intent(out) :: flag
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Test_cancelled_f08
end interface PMPI_Test_cancelled
interface MPI_Testall
subroutine MPI_Testall_f08(count, array_of_requests, flag, array_of_statuses, ierror)
import
implicit none
integer, intent(in) :: count
type(MPI_Request), intent(inout) :: array_of_requests(*)
logical, intent(out) :: flag
type(MPI_Status) :: array_of_statuses(*)
integer, optional, intent(out) :: ierror
end subroutine MPI_Testall_f08
end interface MPI_Testall
interface PMPI_Testall
subroutine PMPIR_Testall_f08(count, array_of_requests, flag, array_of_statuses, ierror)
import
implicit none
integer, intent(in) :: count
type(MPI_Request), intent(inout) :: array_of_requests(*)
logical, intent(out) :: flag
type(MPI_Status) :: array_of_statuses(*)
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Testall_f08
end interface PMPI_Testall
interface MPI_Testany
subroutine MPI_Testany_f08(count, array_of_requests, index, flag, status, ierror)
import
implicit none
integer, intent(in) :: count
type(MPI_Request), intent(inout) :: array_of_requests(*)
integer, intent(out) :: index
logical, intent(out) :: flag
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_Testany_f08
end interface MPI_Testany
interface PMPI_Testany
subroutine PMPIR_Testany_f08(count, array_of_requests, index, flag, status, ierror)
import
implicit none
integer, intent(in) :: count
type(MPI_Request), intent(inout) :: array_of_requests(*)
integer, intent(out) :: index
logical, intent(out) :: flag
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Testany_f08
end interface PMPI_Testany
interface MPI_Testsome
subroutine MPI_Testsome_f08(incount, array_of_requests, outcount, array_of_indices, &
    array_of_statuses, ierror)
import
implicit none
integer, intent(in) :: incount
type(MPI_Request), intent(inout) :: array_of_requests(*)
integer, intent(out) :: outcount
integer, intent(out) :: array_of_indices(*)
type(MPI_Status) :: array_of_statuses(*)
integer, optional, intent(out) :: ierror
end subroutine MPI_Testsome_f08
end interface MPI_Testsome
interface PMPI_Testsome
subroutine PMPIR_Testsome_f08(incount, array_of_requests, outcount, array_of_indices, &
    array_of_statuses, ierror)
import
implicit none
integer, intent(in) :: incount
type(MPI_Request), intent(inout) :: array_of_requests(*)
integer, intent(out) :: outcount
integer, intent(out) :: array_of_indices(*)
type(MPI_Status) :: array_of_statuses(*)
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Testsome_f08
end interface PMPI_Testsome
interface MPI_Wait
subroutine MPI_Wait_f08(request, status, ierror)
import
implicit none
type(MPI_Request), intent(inout) :: request
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_Wait_f08
end interface MPI_Wait
interface PMPI_Wait
subroutine PMPIR_Wait_f08(request, status, ierror)
import
implicit none
type(MPI_Request), intent(inout) :: request
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Wait_f08
end interface PMPI_Wait
interface MPI_Waitall
subroutine MPI_Waitall_f08(count, array_of_requests, array_of_statuses, ierror)
import
implicit none
integer, intent(in) :: count
type(MPI_Request), intent(inout) :: array_of_requests(*)
type(MPI_Status) :: array_of_statuses(*)
integer, optional, intent(out) :: ierror
end subroutine MPI_Waitall_f08
end interface MPI_Waitall
interface PMPI_Waitall
subroutine PMPIR_Waitall_f08(count, array_of_requests, array_of_statuses, ierror)
import
implicit none
integer, intent(in) :: count
type(MPI_Request), intent(inout) :: array_of_requests(*)
type(MPI_Status) :: array_of_statuses(*)
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Waitall_f08
end interface PMPI_Waitall
interface MPI_Waitany
subroutine MPI_Waitany_f08(count, array_of_requests, index, status, ierror)
import
implicit none
integer, intent(in) :: count
type(MPI_Request), intent(inout) :: array_of_requests(*)
integer, intent(out) :: index
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_Waitany_f08
end interface MPI_Waitany
interface PMPI_Waitany
subroutine PMPIR_Waitany_f08(count, array_of_requests, index, status, ierror)
import
implicit none
integer, intent(in) :: count
type(MPI_Request), intent(inout) :: array_of_requests(*)
integer, intent(out) :: index
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Waitany_f08
end interface PMPI_Waitany
interface MPI_Waitsome
subroutine MPI_Waitsome_f08(incount, array_of_requests, outcount, array_of_indices, &
    array_of_statuses, ierror)
import
implicit none
integer, intent(in) :: incount
type(MPI_Request), intent(inout) :: array_of_requests(*)
integer, intent(out) :: outcount
integer, intent(out) :: array_of_indices(*)
type(MPI_Status) :: array_of_statuses(*)
integer, optional, intent(out) :: ierror
end subroutine MPI_Waitsome_f08
end interface MPI_Waitsome
interface PMPI_Waitsome
subroutine PMPIR_Waitsome_f08(incount, array_of_requests, outcount, array_of_indices, &
    array_of_statuses, ierror)
import
implicit none
integer, intent(in) :: incount
type(MPI_Request), intent(inout) :: array_of_requests(*)
integer, intent(out) :: outcount
integer, intent(out) :: array_of_indices(*)
type(MPI_Status) :: array_of_statuses(*)
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Waitsome_f08
end interface PMPI_Waitsome
interface MPI_Aint_add
function MPI_Aint_add_f08(base, disp) result(answer)
import
implicit none
integer(kind=MPI_ADDRESS_KIND), intent(in) :: base
integer(kind=MPI_ADDRESS_KIND), intent(in) :: disp
integer(kind=MPI_ADDRESS_KIND) :: answer
end function MPI_Aint_add_f08
end interface MPI_Aint_add
interface PMPI_Aint_add
function PMPIR_Aint_add_f08(base, disp) result(answer)
import
implicit none
integer(kind=MPI_ADDRESS_KIND), intent(in) :: base
integer(kind=MPI_ADDRESS_KIND), intent(in) :: disp
integer(kind=MPI_ADDRESS_KIND) :: answer
end function PMPIR_Aint_add_f08
end interface PMPI_Aint_add
interface MPI_Aint_diff
function MPI_Aint_diff_f08(addr1, addr2) result(answer)
import
implicit none
integer(kind=MPI_ADDRESS_KIND), intent(in) :: addr1
integer(kind=MPI_ADDRESS_KIND), intent(in) :: addr2
integer(kind=MPI_ADDRESS_KIND) :: answer
end function MPI_Aint_diff_f08
end interface MPI_Aint_diff
interface PMPI_Aint_diff
function PMPIR_Aint_diff_f08(addr1, addr2) result(answer)
import
implicit none
integer(kind=MPI_ADDRESS_KIND), intent(in) :: addr1
integer(kind=MPI_ADDRESS_KIND), intent(in) :: addr2
integer(kind=MPI_ADDRESS_KIND) :: answer
end function PMPIR_Aint_diff_f08
end interface PMPI_Aint_diff
interface MPI_Get_address
subroutine MPI_Get_address_f08ts(location, address, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: location
integer(kind=MPI_ADDRESS_KIND), intent(out) :: address
integer, optional, intent(out) :: ierror
end subroutine MPI_Get_address_f08ts
end interface MPI_Get_address
interface PMPI_Get_address
subroutine PMPIR_Get_address_f08ts(location, address, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: location
integer(kind=MPI_ADDRESS_KIND), intent(out) :: address
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Get_address_f08ts
end interface PMPI_Get_address
interface MPI_Get_elements
subroutine MPI_Get_elements_f08(status, datatype, count, ierror)
import
implicit none
type(MPI_Status), intent(in) :: status
type(MPI_Datatype), intent(in) :: datatype
integer, intent(out) :: count
integer, optional, intent(out) :: ierror
end subroutine MPI_Get_elements_f08
subroutine MPI_Get_elements_f08_large(status, datatype, count, ierror)
import
implicit none
type(MPI_Status), intent(in) :: status
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_COUNT_KIND), intent(out) :: count
integer, optional, intent(out) :: ierror
end subroutine MPI_Get_elements_f08_large
end interface MPI_Get_elements
interface PMPI_Get_elements
subroutine PMPIR_Get_elements_f08(status, datatype, count, ierror)
import
implicit none
type(MPI_Status), intent(in) :: status
type(MPI_Datatype), intent(in) :: datatype
integer, intent(out) :: count
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Get_elements_f08
subroutine PMPIR_Get_elements_f08_large(status, datatype, count, ierror)
import
implicit none
type(MPI_Status), intent(in) :: status
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_COUNT_KIND), intent(out) :: count
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Get_elements_f08_large
end interface PMPI_Get_elements
interface MPI_Get_elements_x
subroutine MPI_Get_elements_x_f08(status, datatype, count, ierror)
import
implicit none
type(MPI_Status), intent(in) :: status
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_COUNT_KIND), intent(out) :: count
integer, optional, intent(out) :: ierror
end subroutine MPI_Get_elements_x_f08
end interface MPI_Get_elements_x
interface PMPI_Get_elements_x
subroutine PMPIR_Get_elements_x_f08(status, datatype, count, ierror)
import
implicit none
type(MPI_Status), intent(in) :: status
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_COUNT_KIND), intent(out) :: count
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Get_elements_x_f08
end interface PMPI_Get_elements_x
interface MPI_Pack
subroutine MPI_Pack_f08ts(inbuf, incount, datatype, outbuf, outsize, position, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: inbuf
integer, intent(in) :: incount
type(MPI_Datatype), intent(in) :: datatype
type(*), dimension(..) :: outbuf
integer, intent(in) :: outsize
integer, intent(inout) :: position
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Pack_f08ts
subroutine MPI_Pack_f08ts_large(inbuf, incount, datatype, outbuf, outsize, position, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: inbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: incount
type(MPI_Datatype), intent(in) :: datatype
type(*), dimension(..) :: outbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: outsize
integer(kind=MPI_COUNT_KIND), intent(inout) :: position
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Pack_f08ts_large
end interface MPI_Pack
interface PMPI_Pack
subroutine PMPIR_Pack_f08ts(inbuf, incount, datatype, outbuf, outsize, position, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: inbuf
integer, intent(in) :: incount
type(MPI_Datatype), intent(in) :: datatype
type(*), dimension(..) :: outbuf
integer, intent(in) :: outsize
integer, intent(inout) :: position
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Pack_f08ts
subroutine PMPIR_Pack_f08ts_large(inbuf, incount, datatype, outbuf, outsize, position, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: inbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: incount
type(MPI_Datatype), intent(in) :: datatype
type(*), dimension(..) :: outbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: outsize
integer(kind=MPI_COUNT_KIND), intent(inout) :: position
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Pack_f08ts_large
end interface PMPI_Pack
interface MPI_Pack_external
subroutine MPI_Pack_external_f08ts(datarep, inbuf, incount, datatype, outbuf, outsize, position, &
    ierror)
import
implicit none
character(len=*), intent(in) :: datarep
type(*), dimension(..), intent(in) :: inbuf
integer, intent(in) :: incount
type(MPI_Datatype), intent(in) :: datatype
type(*), dimension(..) :: outbuf
integer(kind=MPI_ADDRESS_KIND), intent(in) :: outsize
integer(kind=MPI_ADDRESS_KIND), intent(inout) :: position
integer, optional, intent(out) :: ierror
end subroutine MPI_Pack_external_f08ts
subroutine MPI_Pack_external_f08ts_large(datarep, inbuf, incount, datatype, outbuf, outsize, &
    position, ierror)
import
implicit none
character(len=*), intent(in) :: datarep
type(*), dimension(..), intent(in) :: inbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: incount
type(MPI_Datatype), intent(in) :: datatype
type(*), dimension(..) :: outbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: outsize
integer(kind=MPI_COUNT_KIND), intent(inout) :: position
integer, optional, intent(out) :: ierror
end subroutine MPI_Pack_external_f08ts_large
end interface MPI_Pack_external
interface PMPI_Pack_external
subroutine PMPIR_Pack_external_f08ts(datarep, inbuf, incount, datatype, outbuf, outsize, position, &
    ierror)
import
implicit none
character(len=*), intent(in) :: datarep
type(*), dimension(..), intent(in) :: inbuf
integer, intent(in) :: incount
type(MPI_Datatype), intent(in) :: datatype
type(*), dimension(..) :: outbuf
integer(kind=MPI_ADDRESS_KIND), intent(in) :: outsize
integer(kind=MPI_ADDRESS_KIND), intent(inout) :: position
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Pack_external_f08ts
subroutine PMPIR_Pack_external_f08ts_large(datarep, inbuf, incount, datatype, outbuf, outsize, &
    position, ierror)
import
implicit none
character(len=*), intent(in) :: datarep
type(*), dimension(..), intent(in) :: inbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: incount
type(MPI_Datatype), intent(in) :: datatype
type(*), dimension(..) :: outbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: outsize
integer(kind=MPI_COUNT_KIND), intent(inout) :: position
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Pack_external_f08ts_large
end interface PMPI_Pack_external
interface MPI_Pack_external_size
subroutine MPI_Pack_external_size_f08(datarep, incount, datatype, size, ierror)
import
implicit none
character(len=*), intent(in) :: datarep
integer, intent(in) :: incount
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_ADDRESS_KIND), intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine MPI_Pack_external_size_f08
subroutine MPI_Pack_external_size_f08_large(datarep, incount, datatype, size, ierror)
import
implicit none
character(len=*), intent(in) :: datarep
integer(kind=MPI_COUNT_KIND), intent(in) :: incount
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_COUNT_KIND), intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine MPI_Pack_external_size_f08_large
end interface MPI_Pack_external_size
interface PMPI_Pack_external_size
subroutine PMPIR_Pack_external_size_f08(datarep, incount, datatype, size, ierror)
import
implicit none
character(len=*), intent(in) :: datarep
integer, intent(in) :: incount
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_ADDRESS_KIND), intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Pack_external_size_f08
subroutine PMPIR_Pack_external_size_f08_large(datarep, incount, datatype, size, ierror)
import
implicit none
character(len=*), intent(in) :: datarep
integer(kind=MPI_COUNT_KIND), intent(in) :: incount
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_COUNT_KIND), intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Pack_external_size_f08_large
end interface PMPI_Pack_external_size
interface MPI_Pack_size
subroutine MPI_Pack_size_f08(incount, datatype, comm, size, ierror)
import
implicit none
integer, intent(in) :: incount
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Comm), intent(in) :: comm
integer, intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine MPI_Pack_size_f08
subroutine MPI_Pack_size_f08_large(incount, datatype, comm, size, ierror)
import
implicit none
integer(kind=MPI_COUNT_KIND), intent(in) :: incount
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Comm), intent(in) :: comm
integer(kind=MPI_COUNT_KIND), intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine MPI_Pack_size_f08_large
end interface MPI_Pack_size
interface PMPI_Pack_size
subroutine PMPIR_Pack_size_f08(incount, datatype, comm, size, ierror)
import
implicit none
integer, intent(in) :: incount
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Comm), intent(in) :: comm
integer, intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Pack_size_f08
subroutine PMPIR_Pack_size_f08_large(incount, datatype, comm, size, ierror)
import
implicit none
integer(kind=MPI_COUNT_KIND), intent(in) :: incount
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Comm), intent(in) :: comm
integer(kind=MPI_COUNT_KIND), intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Pack_size_f08_large
end interface PMPI_Pack_size
interface MPI_Status_set_elements
subroutine MPI_Status_set_elements_f08(status, datatype, count, ierror)
import
implicit none
type(MPI_Status) :: status
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: count
integer, optional, intent(out) :: ierror
end subroutine MPI_Status_set_elements_f08
subroutine MPI_Status_set_elements_f08_large(status, datatype, count, ierror)
import
implicit none
type(MPI_Status) :: status
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_COUNT_KIND), intent(in) :: count
integer, optional, intent(out) :: ierror
end subroutine MPI_Status_set_elements_f08_large
end interface MPI_Status_set_elements
interface PMPI_Status_set_elements
subroutine PMPIR_Status_set_elements_f08(status, datatype, count, ierror)
import
implicit none
type(MPI_Status) :: status
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: count
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Status_set_elements_f08
subroutine PMPIR_Status_set_elements_f08_large(status, datatype, count, ierror)
import
implicit none
type(MPI_Status) :: status
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_COUNT_KIND), intent(in) :: count
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Status_set_elements_f08_large
end interface PMPI_Status_set_elements
interface MPI_Status_set_elements_x
subroutine MPI_Status_set_elements_x_f08(status, datatype, count, ierror)
import
implicit none
type(MPI_Status) :: status
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_COUNT_KIND), intent(in) :: count
integer, optional, intent(out) :: ierror
end subroutine MPI_Status_set_elements_x_f08
end interface MPI_Status_set_elements_x
interface PMPI_Status_set_elements_x
subroutine PMPIR_Status_set_elements_x_f08(status, datatype, count, ierror)
import
implicit none
type(MPI_Status) :: status
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_COUNT_KIND), intent(in) :: count
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Status_set_elements_x_f08
end interface PMPI_Status_set_elements_x
interface MPI_Type_commit
subroutine MPI_Type_commit_f08(datatype, ierror)
import
implicit none
type(MPI_Datatype), intent(inout) :: datatype
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_commit_f08
end interface MPI_Type_commit
interface PMPI_Type_commit
subroutine PMPIR_Type_commit_f08(datatype, ierror)
import
implicit none
type(MPI_Datatype), intent(inout) :: datatype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_commit_f08
end interface PMPI_Type_commit
interface MPI_Type_contiguous
subroutine MPI_Type_contiguous_f08(count, oldtype, newtype, ierror)
import
implicit none
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_contiguous_f08
subroutine MPI_Type_contiguous_f08_large(count, oldtype, newtype, ierror)
import
implicit none
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_contiguous_f08_large
end interface MPI_Type_contiguous
interface PMPI_Type_contiguous
subroutine PMPIR_Type_contiguous_f08(count, oldtype, newtype, ierror)
import
implicit none
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_contiguous_f08
subroutine PMPIR_Type_contiguous_f08_large(count, oldtype, newtype, ierror)
import
implicit none
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_contiguous_f08_large
end interface PMPI_Type_contiguous
interface MPI_Type_create_darray
subroutine MPI_Type_create_darray_f08(size, rank, ndims, array_of_gsizes, array_of_distribs, &
    array_of_dargs, array_of_psizes, order, oldtype, newtype, ierror)
import
implicit none
integer, intent(in) :: size
integer, intent(in) :: rank
integer, intent(in) :: ndims
integer, intent(in) :: array_of_gsizes(*)
integer, intent(in) :: array_of_distribs(*)
integer, intent(in) :: array_of_dargs(*)
integer, intent(in) :: array_of_psizes(*)
integer, intent(in) :: order
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_create_darray_f08
subroutine MPI_Type_create_darray_f08_large(size, rank, ndims, array_of_gsizes, array_of_distribs, &
    array_of_dargs, array_of_psizes, order, oldtype, newtype, ierror)
import
implicit none
integer, intent(in) :: size
integer, intent(in) :: rank
integer, intent(in) :: ndims
integer(kind=MPI_COUNT_KIND), intent(in) :: array_of_gsizes(*)
integer, intent(in) :: array_of_distribs(*)
integer, intent(in) :: array_of_dargs(*)
integer, intent(in) :: array_of_psizes(*)
integer, intent(in) :: order
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_create_darray_f08_large
end interface MPI_Type_create_darray
interface PMPI_Type_create_darray
subroutine PMPIR_Type_create_darray_f08(size, rank, ndims, array_of_gsizes, array_of_distribs, &
    array_of_dargs, array_of_psizes, order, oldtype, newtype, ierror)
import
implicit none
integer, intent(in) :: size
integer, intent(in) :: rank
integer, intent(in) :: ndims
integer, intent(in) :: array_of_gsizes(*)
integer, intent(in) :: array_of_distribs(*)
integer, intent(in) :: array_of_dargs(*)
integer, intent(in) :: array_of_psizes(*)
integer, intent(in) :: order
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_create_darray_f08
subroutine PMPIR_Type_create_darray_f08_large(size, rank, ndims, array_of_gsizes, &
    array_of_distribs, array_of_dargs, array_of_psizes, order, oldtype, newtype, ierror)
import
implicit none
integer, intent(in) :: size
integer, intent(in) :: rank
integer, intent(in) :: ndims
integer(kind=MPI_COUNT_KIND), intent(in) :: array_of_gsizes(*)
integer, intent(in) :: array_of_distribs(*)
integer, intent(in) :: array_of_dargs(*)
integer, intent(in) :: array_of_psizes(*)
integer, intent(in) :: order
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_create_darray_f08_large
end interface PMPI_Type_create_darray
interface MPI_Type_create_f90_complex
subroutine MPI_Type_create_f90_complex_f08(p, r, newtype, ierror)
import
implicit none
integer, intent(in) :: p
integer, intent(in) :: r
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_create_f90_complex_f08
end interface MPI_Type_create_f90_complex
interface PMPI_Type_create_f90_complex
subroutine PMPIR_Type_create_f90_complex_f08(p, r, newtype, ierror)
import
implicit none
integer, intent(in) :: p
integer, intent(in) :: r
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_create_f90_complex_f08
end interface PMPI_Type_create_f90_complex
interface MPI_Type_create_f90_integer
subroutine MPI_Type_create_f90_integer_f08(r, newtype, ierror)
import
implicit none
integer, intent(in) :: r
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_create_f90_integer_f08
end interface MPI_Type_create_f90_integer
interface PMPI_Type_create_f90_integer
subroutine PMPIR_Type_create_f90_integer_f08(r, newtype, ierror)
import
implicit none
integer, intent(in) :: r
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_create_f90_integer_f08
end interface PMPI_Type_create_f90_integer
interface MPI_Type_create_f90_real
subroutine MPI_Type_create_f90_real_f08(p, r, newtype, ierror)
import
implicit none
integer, intent(in) :: p
integer, intent(in) :: r
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_create_f90_real_f08
end interface MPI_Type_create_f90_real
interface PMPI_Type_create_f90_real
subroutine PMPIR_Type_create_f90_real_f08(p, r, newtype, ierror)
import
implicit none
integer, intent(in) :: p
integer, intent(in) :: r
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_create_f90_real_f08
end interface PMPI_Type_create_f90_real
interface MPI_Type_create_hindexed
subroutine MPI_Type_create_hindexed_f08(count, array_of_blocklengths, array_of_displacements, &
    oldtype, newtype, ierror)
import
implicit none
integer, intent(in) :: count
integer, intent(in) :: array_of_blocklengths(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: array_of_displacements(*)
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_create_hindexed_f08
subroutine MPI_Type_create_hindexed_f08_large(count, array_of_blocklengths, array_of_displacements, &
    oldtype, newtype, ierror)
import
implicit none
integer(kind=MPI_COUNT_KIND), intent(in) :: count
integer(kind=MPI_COUNT_KIND), intent(in) :: array_of_blocklengths(*)
integer(kind=MPI_COUNT_KIND), intent(in) :: array_of_displacements(*)
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_create_hindexed_f08_large
end interface MPI_Type_create_hindexed
interface PMPI_Type_create_hindexed
subroutine PMPIR_Type_create_hindexed_f08(count, array_of_blocklengths, array_of_displacements, &
    oldtype, newtype, ierror)
import
implicit none
integer, intent(in) :: count
integer, intent(in) :: array_of_blocklengths(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: array_of_displacements(*)
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_create_hindexed_f08
subroutine PMPIR_Type_create_hindexed_f08_large(count, array_of_blocklengths, &
    array_of_displacements, oldtype, newtype, ierror)
import
implicit none
integer(kind=MPI_COUNT_KIND), intent(in) :: count
integer(kind=MPI_COUNT_KIND), intent(in) :: array_of_blocklengths(*)
integer(kind=MPI_COUNT_KIND), intent(in) :: array_of_displacements(*)
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_create_hindexed_f08_large
end interface PMPI_Type_create_hindexed
interface MPI_Type_create_hindexed_block
subroutine MPI_Type_create_hindexed_block_f08(count, blocklength, array_of_displacements, oldtype, &
    newtype, ierror)
import
implicit none
integer, intent(in) :: count
integer, intent(in) :: blocklength
integer(kind=MPI_ADDRESS_KIND), intent(in) :: array_of_displacements(*)
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_create_hindexed_block_f08
subroutine MPI_Type_create_hindexed_block_f08_large(count, blocklength, array_of_displacements, &
    oldtype, newtype, ierror)
import
implicit none
integer(kind=MPI_COUNT_KIND), intent(in) :: count
integer(kind=MPI_COUNT_KIND), intent(in) :: blocklength
integer(kind=MPI_COUNT_KIND), intent(in) :: array_of_displacements(*)
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_create_hindexed_block_f08_large
end interface MPI_Type_create_hindexed_block
interface PMPI_Type_create_hindexed_block
subroutine PMPIR_Type_create_hindexed_block_f08(count, blocklength, array_of_displacements, &
    oldtype, newtype, ierror)
import
implicit none
integer, intent(in) :: count
integer, intent(in) :: blocklength
integer(kind=MPI_ADDRESS_KIND), intent(in) :: array_of_displacements(*)
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_create_hindexed_block_f08
subroutine PMPIR_Type_create_hindexed_block_f08_large(count, blocklength, array_of_displacements, &
    oldtype, newtype, ierror)
import
implicit none
integer(kind=MPI_COUNT_KIND), intent(in) :: count
integer(kind=MPI_COUNT_KIND), intent(in) :: blocklength
integer(kind=MPI_COUNT_KIND), intent(in) :: array_of_displacements(*)
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_create_hindexed_block_f08_large
end interface PMPI_Type_create_hindexed_block
interface MPI_Type_create_hvector
subroutine MPI_Type_create_hvector_f08(count, blocklength, stride, oldtype, newtype, ierror)
import
implicit none
integer, intent(in) :: count
integer, intent(in) :: blocklength
integer(kind=MPI_ADDRESS_KIND), intent(in) :: stride
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_create_hvector_f08
subroutine MPI_Type_create_hvector_f08_large(count, blocklength, stride, oldtype, newtype, ierror)
import
implicit none
integer(kind=MPI_COUNT_KIND), intent(in) :: count
integer(kind=MPI_COUNT_KIND), intent(in) :: blocklength
integer(kind=MPI_COUNT_KIND), intent(in) :: stride
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_create_hvector_f08_large
end interface MPI_Type_create_hvector
interface PMPI_Type_create_hvector
subroutine PMPIR_Type_create_hvector_f08(count, blocklength, stride, oldtype, newtype, ierror)
import
implicit none
integer, intent(in) :: count
integer, intent(in) :: blocklength
integer(kind=MPI_ADDRESS_KIND), intent(in) :: stride
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_create_hvector_f08
subroutine PMPIR_Type_create_hvector_f08_large(count, blocklength, stride, oldtype, newtype, ierror)
import
implicit none
integer(kind=MPI_COUNT_KIND), intent(in) :: count
integer(kind=MPI_COUNT_KIND), intent(in) :: blocklength
integer(kind=MPI_COUNT_KIND), intent(in) :: stride
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_create_hvector_f08_large
end interface PMPI_Type_create_hvector
interface MPI_Type_create_indexed_block
subroutine MPI_Type_create_indexed_block_f08(count, blocklength, array_of_displacements, oldtype, &
    newtype, ierror)
import
implicit none
integer, intent(in) :: count
integer, intent(in) :: blocklength
integer, intent(in) :: array_of_displacements(*)
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_create_indexed_block_f08
subroutine MPI_Type_create_indexed_block_f08_large(count, blocklength, array_of_displacements, &
    oldtype, newtype, ierror)
import
implicit none
integer(kind=MPI_COUNT_KIND), intent(in) :: count
integer(kind=MPI_COUNT_KIND), intent(in) :: blocklength
integer(kind=MPI_COUNT_KIND), intent(in) :: array_of_displacements(*)
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_create_indexed_block_f08_large
end interface MPI_Type_create_indexed_block
interface PMPI_Type_create_indexed_block
subroutine PMPIR_Type_create_indexed_block_f08(count, blocklength, array_of_displacements, oldtype, &
    newtype, ierror)
import
implicit none
integer, intent(in) :: count
integer, intent(in) :: blocklength
integer, intent(in) :: array_of_displacements(*)
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_create_indexed_block_f08
subroutine PMPIR_Type_create_indexed_block_f08_large(count, blocklength, array_of_displacements, &
    oldtype, newtype, ierror)
import
implicit none
integer(kind=MPI_COUNT_KIND), intent(in) :: count
integer(kind=MPI_COUNT_KIND), intent(in) :: blocklength
integer(kind=MPI_COUNT_KIND), intent(in) :: array_of_displacements(*)
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_create_indexed_block_f08_large
end interface PMPI_Type_create_indexed_block
interface MPI_Type_create_resized
subroutine MPI_Type_create_resized_f08(oldtype, lb, extent, newtype, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: oldtype
integer(kind=MPI_ADDRESS_KIND), intent(in) :: lb
integer(kind=MPI_ADDRESS_KIND), intent(in) :: extent
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_create_resized_f08
end interface MPI_Type_create_resized
interface PMPI_Type_create_resized
subroutine PMPIR_Type_create_resized_f08(oldtype, lb, extent, newtype, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: oldtype
integer(kind=MPI_ADDRESS_KIND), intent(in) :: lb
integer(kind=MPI_ADDRESS_KIND), intent(in) :: extent
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_create_resized_f08
end interface PMPI_Type_create_resized
interface MPI_Type_create_struct
subroutine MPI_Type_create_struct_f08(count, array_of_blocklengths, array_of_displacements, &
    array_of_types, newtype, ierror)
import
implicit none
integer, intent(in) :: count
integer, intent(in) :: array_of_blocklengths(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: array_of_displacements(*)
type(MPI_Datatype), intent(in) :: array_of_types(*)
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_create_struct_f08
subroutine MPI_Type_create_struct_f08_large(count, array_of_blocklengths, array_of_displacements, &
    array_of_types, newtype, ierror)
import
implicit none
integer(kind=MPI_COUNT_KIND), intent(in) :: count
integer(kind=MPI_COUNT_KIND), intent(in) :: array_of_blocklengths(*)
integer(kind=MPI_COUNT_KIND), intent(in) :: array_of_displacements(*)
type(MPI_Datatype), intent(in) :: array_of_types(*)
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_create_struct_f08_large
end interface MPI_Type_create_struct
interface PMPI_Type_create_struct
subroutine PMPIR_Type_create_struct_f08(count, array_of_blocklengths, array_of_displacements, &
    array_of_types, newtype, ierror)
import
implicit none
integer, intent(in) :: count
integer, intent(in) :: array_of_blocklengths(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: array_of_displacements(*)
type(MPI_Datatype), intent(in) :: array_of_types(*)
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_create_struct_f08
subroutine PMPIR_Type_create_struct_f08_large(count, array_of_blocklengths, array_of_displacements, &
    array_of_types, newtype, ierror)
import
implicit none
integer(kind=MPI_COUNT_KIND), intent(in) :: count
integer(kind=MPI_COUNT_KIND), intent(in) :: array_of_blocklengths(*)
integer(kind=MPI_COUNT_KIND), intent(in) :: array_of_displacements(*)
type(MPI_Datatype), intent(in) :: array_of_types(*)
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_create_struct_f08_large
end interface PMPI_Type_create_struct
interface MPI_Type_create_subarray
subroutine MPI_Type_create_subarray_f08(ndims, array_of_sizes, array_of_subsizes, array_of_starts, &
    order, oldtype, newtype, ierror)
import
implicit none
integer, intent(in) :: ndims
integer, intent(in) :: array_of_sizes(*)
integer, intent(in) :: array_of_subsizes(*)
integer, intent(in) :: array_of_starts(*)
integer, intent(in) :: order
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_create_subarray_f08
subroutine MPI_Type_create_subarray_f08_large(ndims, array_of_sizes, array_of_subsizes, &
    array_of_starts, order, oldtype, newtype, ierror)
import
implicit none
integer, intent(in) :: ndims
integer(kind=MPI_COUNT_KIND), intent(in) :: array_of_sizes(*)
integer(kind=MPI_COUNT_KIND), intent(in) :: array_of_subsizes(*)
integer(kind=MPI_COUNT_KIND), intent(in) :: array_of_starts(*)
integer, intent(in) :: order
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_create_subarray_f08_large
end interface MPI_Type_create_subarray
interface PMPI_Type_create_subarray
subroutine PMPIR_Type_create_subarray_f08(ndims, array_of_sizes, array_of_subsizes, &
    array_of_starts, order, oldtype, newtype, ierror)
import
implicit none
integer, intent(in) :: ndims
integer, intent(in) :: array_of_sizes(*)
integer, intent(in) :: array_of_subsizes(*)
integer, intent(in) :: array_of_starts(*)
integer, intent(in) :: order
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_create_subarray_f08
subroutine PMPIR_Type_create_subarray_f08_large(ndims, array_of_sizes, array_of_subsizes, &
    array_of_starts, order, oldtype, newtype, ierror)
import
implicit none
integer, intent(in) :: ndims
integer(kind=MPI_COUNT_KIND), intent(in) :: array_of_sizes(*)
integer(kind=MPI_COUNT_KIND), intent(in) :: array_of_subsizes(*)
integer(kind=MPI_COUNT_KIND), intent(in) :: array_of_starts(*)
integer, intent(in) :: order
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_create_subarray_f08_large
end interface PMPI_Type_create_subarray
interface MPI_Type_dup
subroutine MPI_Type_dup_f08(oldtype, newtype, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_dup_f08
end interface MPI_Type_dup
interface PMPI_Type_dup
subroutine PMPIR_Type_dup_f08(oldtype, newtype, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_dup_f08
end interface PMPI_Type_dup
interface MPI_Type_free
subroutine MPI_Type_free_f08(datatype, ierror)
import
implicit none
type(MPI_Datatype), intent(inout) :: datatype
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_free_f08
end interface MPI_Type_free
interface PMPI_Type_free
subroutine PMPIR_Type_free_f08(datatype, ierror)
import
implicit none
type(MPI_Datatype), intent(inout) :: datatype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_free_f08
end interface PMPI_Type_free
interface MPI_Type_get_contents
subroutine MPI_Type_get_contents_f08(datatype, max_integers, max_addresses, max_datatypes, &
    array_of_integers, array_of_addresses, array_of_datatypes, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: max_integers
integer, intent(in) :: max_addresses
integer, intent(in) :: max_datatypes
integer, intent(out) :: array_of_integers(*)
integer(kind=MPI_ADDRESS_KIND), intent(out) :: array_of_addresses(*)
type(MPI_Datatype), intent(out) :: array_of_datatypes(*)
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_get_contents_f08
subroutine MPI_Type_get_contents_f08_large(datatype, max_integers, max_addresses, max_large_counts, &
    max_datatypes, array_of_integers, array_of_addresses, array_of_large_counts, &
    array_of_datatypes, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_COUNT_KIND), intent(in) :: max_integers
integer(kind=MPI_COUNT_KIND), intent(in) :: max_addresses
integer(kind=MPI_COUNT_KIND), intent(in) :: max_large_counts
integer(kind=MPI_COUNT_KIND), intent(in) :: max_datatypes
integer, intent(out) :: array_of_integers(*)
integer(kind=MPI_ADDRESS_KIND), intent(out) :: array_of_addresses(*)
integer(kind=MPI_COUNT_KIND), intent(out) :: array_of_large_counts(*)
type(MPI_Datatype), intent(out) :: array_of_datatypes(*)
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_get_contents_f08_large
end interface MPI_Type_get_contents
interface PMPI_Type_get_contents
subroutine PMPIR_Type_get_contents_f08(datatype, max_integers, max_addresses, max_datatypes, &
    array_of_integers, array_of_addresses, array_of_datatypes, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: max_integers
integer, intent(in) :: max_addresses
integer, intent(in) :: max_datatypes
integer, intent(out) :: array_of_integers(*)
integer(kind=MPI_ADDRESS_KIND), intent(out) :: array_of_addresses(*)
type(MPI_Datatype), intent(out) :: array_of_datatypes(*)
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_get_contents_f08
subroutine PMPIR_Type_get_contents_f08_large(datatype, max_integers, max_addresses, &
    max_large_counts, max_datatypes, array_of_integers, array_of_addresses, array_of_large_counts, &
    array_of_datatypes, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_COUNT_KIND), intent(in) :: max_integers
integer(kind=MPI_COUNT_KIND), intent(in) :: max_addresses
integer(kind=MPI_COUNT_KIND), intent(in) :: max_large_counts
integer(kind=MPI_COUNT_KIND), intent(in) :: max_datatypes
integer, intent(out) :: array_of_integers(*)
integer(kind=MPI_ADDRESS_KIND), intent(out) :: array_of_addresses(*)
integer(kind=MPI_COUNT_KIND), intent(out) :: array_of_large_counts(*)
type(MPI_Datatype), intent(out) :: array_of_datatypes(*)
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_get_contents_f08_large
end interface PMPI_Type_get_contents
interface MPI_Type_get_envelope
subroutine MPI_Type_get_envelope_f08(datatype, num_integers, num_addresses, num_datatypes, &
    combiner, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
integer, intent(out) :: num_integers
integer, intent(out) :: num_addresses
integer, intent(out) :: num_datatypes
integer, intent(out) :: combiner
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_get_envelope_f08
subroutine MPI_Type_get_envelope_f08_large(datatype, num_integers, num_addresses, num_large_counts, &
    num_datatypes, combiner, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_COUNT_KIND), intent(out) :: num_integers
integer(kind=MPI_COUNT_KIND), intent(out) :: num_addresses
integer(kind=MPI_COUNT_KIND), intent(out) :: num_large_counts
integer(kind=MPI_COUNT_KIND), intent(out) :: num_datatypes
integer, intent(out) :: combiner
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_get_envelope_f08_large
end interface MPI_Type_get_envelope
interface PMPI_Type_get_envelope
subroutine PMPIR_Type_get_envelope_f08(datatype, num_integers, num_addresses, num_datatypes, &
    combiner, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
integer, intent(out) :: num_integers
integer, intent(out) :: num_addresses
integer, intent(out) :: num_datatypes
integer, intent(out) :: combiner
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_get_envelope_f08
subroutine PMPIR_Type_get_envelope_f08_large(datatype, num_integers, num_addresses, &
    num_large_counts, num_datatypes, combiner, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_COUNT_KIND), intent(out) :: num_integers
integer(kind=MPI_COUNT_KIND), intent(out) :: num_addresses
integer(kind=MPI_COUNT_KIND), intent(out) :: num_large_counts
integer(kind=MPI_COUNT_KIND), intent(out) :: num_datatypes
integer, intent(out) :: combiner
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_get_envelope_f08_large
end interface PMPI_Type_get_envelope
interface MPI_Type_get_extent
subroutine MPI_Type_get_extent_f08(datatype, lb, extent, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_ADDRESS_KIND), intent(out) :: lb
integer(kind=MPI_ADDRESS_KIND), intent(out) :: extent
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_get_extent_f08
end interface MPI_Type_get_extent
interface PMPI_Type_get_extent
subroutine PMPIR_Type_get_extent_f08(datatype, lb, extent, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_ADDRESS_KIND), intent(out) :: lb
integer(kind=MPI_ADDRESS_KIND), intent(out) :: extent
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_get_extent_f08
end interface PMPI_Type_get_extent
interface MPI_Type_get_extent_x
subroutine MPI_Type_get_extent_x_f08(datatype, lb, extent, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_COUNT_KIND), intent(out) :: lb
integer(kind=MPI_COUNT_KIND), intent(out) :: extent
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_get_extent_x_f08
end interface MPI_Type_get_extent_x
interface PMPI_Type_get_extent_x
subroutine PMPIR_Type_get_extent_x_f08(datatype, lb, extent, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_COUNT_KIND), intent(out) :: lb
integer(kind=MPI_COUNT_KIND), intent(out) :: extent
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_get_extent_x_f08
end interface PMPI_Type_get_extent_x
interface MPI_Type_get_name
subroutine MPI_Type_get_name_f08(datatype, type_name, resultlen, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
character(len=*), intent(out) :: type_name
integer, intent(out) :: resultlen
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_get_name_f08
end interface MPI_Type_get_name
interface PMPI_Type_get_name
subroutine PMPIR_Type_get_name_f08(datatype, type_name, resultlen, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
character(len=*), intent(out) :: type_name
integer, intent(out) :: resultlen
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_get_name_f08
end interface PMPI_Type_get_name
interface MPI_Type_get_true_extent
subroutine MPI_Type_get_true_extent_f08(datatype, true_lb, true_extent, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_ADDRESS_KIND), intent(out) :: true_lb
integer(kind=MPI_ADDRESS_KIND), intent(out) :: true_extent
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_get_true_extent_f08
end interface MPI_Type_get_true_extent
interface PMPI_Type_get_true_extent
subroutine PMPIR_Type_get_true_extent_f08(datatype, true_lb, true_extent, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_ADDRESS_KIND), intent(out) :: true_lb
integer(kind=MPI_ADDRESS_KIND), intent(out) :: true_extent
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_get_true_extent_f08
end interface PMPI_Type_get_true_extent
interface MPI_Type_get_true_extent_x
subroutine MPI_Type_get_true_extent_x_f08(datatype, true_lb, true_extent, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_COUNT_KIND), intent(out) :: true_lb
integer(kind=MPI_COUNT_KIND), intent(out) :: true_extent
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_get_true_extent_x_f08
end interface MPI_Type_get_true_extent_x
interface PMPI_Type_get_true_extent_x
subroutine PMPIR_Type_get_true_extent_x_f08(datatype, true_lb, true_extent, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_COUNT_KIND), intent(out) :: true_lb
integer(kind=MPI_COUNT_KIND), intent(out) :: true_extent
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_get_true_extent_x_f08
end interface PMPI_Type_get_true_extent_x
interface MPI_Type_get_value_index
subroutine MPI_Type_get_value_index_f08(value_type, index_type, pair_type, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: value_type
type(MPI_Datatype), intent(in) :: index_type
type(MPI_Datatype), intent(out) :: pair_type
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_get_value_index_f08
end interface MPI_Type_get_value_index
interface PMPI_Type_get_value_index
subroutine PMPIR_Type_get_value_index_f08(value_type, index_type, pair_type, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: value_type
type(MPI_Datatype), intent(in) :: index_type
type(MPI_Datatype), intent(out) :: pair_type
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_get_value_index_f08
end interface PMPI_Type_get_value_index
interface MPI_Type_indexed
subroutine MPI_Type_indexed_f08(count, array_of_blocklengths, array_of_displacements, oldtype, &
    newtype, ierror)
import
implicit none
integer, intent(in) :: count
integer, intent(in) :: array_of_blocklengths(*)
integer, intent(in) :: array_of_displacements(*)
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_indexed_f08
subroutine MPI_Type_indexed_f08_large(count, array_of_blocklengths, array_of_displacements, &
    oldtype, newtype, ierror)
import
implicit none
integer(kind=MPI_COUNT_KIND), intent(in) :: count
integer(kind=MPI_COUNT_KIND), intent(in) :: array_of_blocklengths(*)
integer(kind=MPI_COUNT_KIND), intent(in) :: array_of_displacements(*)
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_indexed_f08_large
end interface MPI_Type_indexed
interface PMPI_Type_indexed
subroutine PMPIR_Type_indexed_f08(count, array_of_blocklengths, array_of_displacements, oldtype, &
    newtype, ierror)
import
implicit none
integer, intent(in) :: count
integer, intent(in) :: array_of_blocklengths(*)
integer, intent(in) :: array_of_displacements(*)
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_indexed_f08
subroutine PMPIR_Type_indexed_f08_large(count, array_of_blocklengths, array_of_displacements, &
    oldtype, newtype, ierror)
import
implicit none
integer(kind=MPI_COUNT_KIND), intent(in) :: count
integer(kind=MPI_COUNT_KIND), intent(in) :: array_of_blocklengths(*)
integer(kind=MPI_COUNT_KIND), intent(in) :: array_of_displacements(*)
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_indexed_f08_large
end interface PMPI_Type_indexed
interface MPI_Type_match_size
subroutine MPI_Type_match_size_f08(typeclass, size, datatype, ierror)
import
implicit none
integer, intent(in) :: typeclass
integer, intent(in) :: size
type(MPI_Datatype), intent(out) :: datatype
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_match_size_f08
end interface MPI_Type_match_size
interface PMPI_Type_match_size
subroutine PMPIR_Type_match_size_f08(typeclass, size, datatype, ierror)
import
implicit none
integer, intent(in) :: typeclass
integer, intent(in) :: size
type(MPI_Datatype), intent(out) :: datatype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_match_size_f08
end interface PMPI_Type_match_size
interface MPI_Type_set_name
subroutine MPI_Type_set_name_f08(datatype, type_name, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
character(len=*), intent(in) :: type_name
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_set_name_f08
end interface MPI_Type_set_name
interface PMPI_Type_set_name
subroutine PMPIR_Type_set_name_f08(datatype, type_name, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
character(len=*), intent(in) :: type_name
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_set_name_f08
end interface PMPI_Type_set_name
interface MPI_Type_size
subroutine MPI_Type_size_f08(datatype, size, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
integer, intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_size_f08
subroutine MPI_Type_size_f08_large(datatype, size, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_COUNT_KIND), intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_size_f08_large
end interface MPI_Type_size
interface PMPI_Type_size
subroutine PMPIR_Type_size_f08(datatype, size, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
integer, intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_size_f08
subroutine PMPIR_Type_size_f08_large(datatype, size, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_COUNT_KIND), intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_size_f08_large
end interface PMPI_Type_size
interface MPI_Type_size_x
subroutine MPI_Type_size_x_f08(datatype, size, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_COUNT_KIND), intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_size_x_f08
end interface MPI_Type_size_x
interface PMPI_Type_size_x
subroutine PMPIR_Type_size_x_f08(datatype, size, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_COUNT_KIND), intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_size_x_f08
end interface PMPI_Type_size_x
interface MPI_Type_vector
subroutine MPI_Type_vector_f08(count, blocklength, stride, oldtype, newtype, ierror)
import
implicit none
integer, intent(in) :: count
integer, intent(in) :: blocklength
integer, intent(in) :: stride
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_vector_f08
subroutine MPI_Type_vector_f08_large(count, blocklength, stride, oldtype, newtype, ierror)
import
implicit none
integer(kind=MPI_COUNT_KIND), intent(in) :: count
integer(kind=MPI_COUNT_KIND), intent(in) :: blocklength
integer(kind=MPI_COUNT_KIND), intent(in) :: stride
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_vector_f08_large
end interface MPI_Type_vector
interface PMPI_Type_vector
subroutine PMPIR_Type_vector_f08(count, blocklength, stride, oldtype, newtype, ierror)
import
implicit none
integer, intent(in) :: count
integer, intent(in) :: blocklength
integer, intent(in) :: stride
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_vector_f08
subroutine PMPIR_Type_vector_f08_large(count, blocklength, stride, oldtype, newtype, ierror)
import
implicit none
integer(kind=MPI_COUNT_KIND), intent(in) :: count
integer(kind=MPI_COUNT_KIND), intent(in) :: blocklength
integer(kind=MPI_COUNT_KIND), intent(in) :: stride
type(MPI_Datatype), intent(in) :: oldtype
type(MPI_Datatype), intent(out) :: newtype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_vector_f08_large
end interface PMPI_Type_vector
interface MPI_Unpack
subroutine MPI_Unpack_f08ts(inbuf, insize, position, outbuf, outcount, datatype, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: inbuf
integer, intent(in) :: insize
integer, intent(inout) :: position
type(*), dimension(..) :: outbuf
integer, intent(in) :: outcount
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Unpack_f08ts
subroutine MPI_Unpack_f08ts_large(inbuf, insize, position, outbuf, outcount, datatype, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: inbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: insize
integer(kind=MPI_COUNT_KIND), intent(inout) :: position
type(*), dimension(..) :: outbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: outcount
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Unpack_f08ts_large
end interface MPI_Unpack
interface PMPI_Unpack
subroutine PMPIR_Unpack_f08ts(inbuf, insize, position, outbuf, outcount, datatype, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: inbuf
integer, intent(in) :: insize
integer, intent(inout) :: position
type(*), dimension(..) :: outbuf
integer, intent(in) :: outcount
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Unpack_f08ts
subroutine PMPIR_Unpack_f08ts_large(inbuf, insize, position, outbuf, outcount, datatype, comm, &
    ierror)
import
implicit none
type(*), dimension(..), intent(in) :: inbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: insize
integer(kind=MPI_COUNT_KIND), intent(inout) :: position
type(*), dimension(..) :: outbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: outcount
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Unpack_f08ts_large
end interface PMPI_Unpack
interface MPI_Unpack_external
subroutine MPI_Unpack_external_f08ts(datarep, inbuf, insize, position, outbuf, outcount, datatype, &
    ierror)
import
implicit none
character(len=*), intent(in) :: datarep
type(*), dimension(..), intent(in) :: inbuf
integer(kind=MPI_ADDRESS_KIND), intent(in) :: insize
integer(kind=MPI_ADDRESS_KIND), intent(inout) :: position
type(*), dimension(..) :: outbuf
integer, intent(in) :: outcount
type(MPI_Datatype), intent(in) :: datatype
integer, optional, intent(out) :: ierror
end subroutine MPI_Unpack_external_f08ts
subroutine MPI_Unpack_external_f08ts_large(datarep, inbuf, insize, position, outbuf, outcount, &
    datatype, ierror)
import
implicit none
character(len=*), intent(in) :: datarep
type(*), dimension(..), intent(in) :: inbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: insize
integer(kind=MPI_COUNT_KIND), intent(inout) :: position
type(*), dimension(..) :: outbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: outcount
type(MPI_Datatype), intent(in) :: datatype
integer, optional, intent(out) :: ierror
end subroutine MPI_Unpack_external_f08ts_large
end interface MPI_Unpack_external
interface PMPI_Unpack_external
subroutine PMPIR_Unpack_external_f08ts(datarep, inbuf, insize, position, outbuf, outcount, &
    datatype, ierror)
import
implicit none
character(len=*), intent(in) :: datarep
type(*), dimension(..), intent(in) :: inbuf
integer(kind=MPI_ADDRESS_KIND), intent(in) :: insize
integer(kind=MPI_ADDRESS_KIND), intent(inout) :: position
type(*), dimension(..) :: outbuf
integer, intent(in) :: outcount
type(MPI_Datatype), intent(in) :: datatype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Unpack_external_f08ts
subroutine PMPIR_Unpack_external_f08ts_large(datarep, inbuf, insize, position, outbuf, outcount, &
    datatype, ierror)
import
implicit none
character(len=*), intent(in) :: datarep
type(*), dimension(..), intent(in) :: inbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: insize
integer(kind=MPI_COUNT_KIND), intent(inout) :: position
type(*), dimension(..) :: outbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: outcount
type(MPI_Datatype), intent(in) :: datatype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Unpack_external_f08ts_large
end interface PMPI_Unpack_external
interface MPI_Allgather
subroutine MPI_Allgather_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, &
    ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Allgather_f08ts
subroutine MPI_Allgather_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
    comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Allgather_f08ts_large
end interface MPI_Allgather
interface PMPI_Allgather
subroutine PMPIR_Allgather_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, &
    ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Allgather_f08ts
subroutine PMPIR_Allgather_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
    comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Allgather_f08ts_large
end interface PMPI_Allgather
interface MPI_Allgather_init
subroutine MPI_Allgather_init_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
    comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Allgather_init_f08ts
subroutine MPI_Allgather_init_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
    recvtype, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Allgather_init_f08ts_large
end interface MPI_Allgather_init
interface PMPI_Allgather_init
subroutine PMPIR_Allgather_init_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
    comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Allgather_init_f08ts
subroutine PMPIR_Allgather_init_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
    recvtype, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Allgather_init_f08ts_large
end interface PMPI_Allgather_init
interface MPI_Allgatherv
subroutine MPI_Allgatherv_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
    recvtype, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Allgatherv_f08ts
subroutine MPI_Allgatherv_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
    recvtype, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Allgatherv_f08ts_large
end interface MPI_Allgatherv
interface PMPI_Allgatherv
subroutine PMPIR_Allgatherv_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
    recvtype, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Allgatherv_f08ts
subroutine PMPIR_Allgatherv_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
    recvtype, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Allgatherv_f08ts_large
end interface PMPI_Allgatherv
interface MPI_Allgatherv_init
subroutine MPI_Allgatherv_init_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
    recvtype, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Allgatherv_init_f08ts
subroutine MPI_Allgatherv_init_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcounts, &
    displs, recvtype, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Allgatherv_init_f08ts_large
end interface MPI_Allgatherv_init
interface PMPI_Allgatherv_init
subroutine PMPIR_Allgatherv_init_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
    recvtype, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Allgatherv_init_f08ts
subroutine PMPIR_Allgatherv_init_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcounts, &
    displs, recvtype, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Allgatherv_init_f08ts_large
end interface PMPI_Allgatherv_init
interface MPI_Allreduce
subroutine MPI_Allreduce_f08ts(sendbuf, recvbuf, count, datatype, op, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
type(*), dimension(..) :: recvbuf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Allreduce_f08ts
subroutine MPI_Allreduce_f08ts_large(sendbuf, recvbuf, count, datatype, op, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Allreduce_f08ts_large
end interface MPI_Allreduce
interface PMPI_Allreduce
subroutine PMPIR_Allreduce_f08ts(sendbuf, recvbuf, count, datatype, op, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
type(*), dimension(..) :: recvbuf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Allreduce_f08ts
subroutine PMPIR_Allreduce_f08ts_large(sendbuf, recvbuf, count, datatype, op, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Allreduce_f08ts_large
end interface PMPI_Allreduce
interface MPI_Allreduce_init
subroutine MPI_Allreduce_init_f08ts(sendbuf, recvbuf, count, datatype, op, comm, info, request, &
    ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Allreduce_init_f08ts
subroutine MPI_Allreduce_init_f08ts_large(sendbuf, recvbuf, count, datatype, op, comm, info, &
    request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Allreduce_init_f08ts_large
end interface MPI_Allreduce_init
interface PMPI_Allreduce_init
subroutine PMPIR_Allreduce_init_f08ts(sendbuf, recvbuf, count, datatype, op, comm, info, request, &
    ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Allreduce_init_f08ts
subroutine PMPIR_Allreduce_init_f08ts_large(sendbuf, recvbuf, count, datatype, op, comm, info, &
    request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Allreduce_init_f08ts_large
end interface PMPI_Allreduce_init
interface MPI_Alltoall
subroutine MPI_Alltoall_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, &
    ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Alltoall_f08ts
subroutine MPI_Alltoall_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
    comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Alltoall_f08ts_large
end interface MPI_Alltoall
interface PMPI_Alltoall
subroutine PMPIR_Alltoall_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, &
    ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Alltoall_f08ts
subroutine PMPIR_Alltoall_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
    comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Alltoall_f08ts_large
end interface PMPI_Alltoall
interface MPI_Alltoall_init
subroutine MPI_Alltoall_init_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
    comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Alltoall_init_f08ts
subroutine MPI_Alltoall_init_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
    recvtype, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Alltoall_init_f08ts_large
end interface MPI_Alltoall_init
interface PMPI_Alltoall_init
subroutine PMPIR_Alltoall_init_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
    comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Alltoall_init_f08ts
subroutine PMPIR_Alltoall_init_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
    recvtype, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Alltoall_init_f08ts_large
end interface PMPI_Alltoall_init
interface MPI_Alltoallv
subroutine MPI_Alltoallv_f08ts(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, &
    rdispls, recvtype, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer, intent(in) :: sendcounts(*)
integer, intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Alltoallv_f08ts
subroutine MPI_Alltoallv_f08ts_large(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, &
    rdispls, recvtype, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Alltoallv_f08ts_large
end interface MPI_Alltoallv
interface PMPI_Alltoallv
subroutine PMPIR_Alltoallv_f08ts(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, &
    rdispls, recvtype, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer, intent(in) :: sendcounts(*)
integer, intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Alltoallv_f08ts
subroutine PMPIR_Alltoallv_f08ts_large(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, &
    rdispls, recvtype, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Alltoallv_f08ts_large
end interface PMPI_Alltoallv
interface MPI_Alltoallv_init
subroutine MPI_Alltoallv_init_f08ts(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, &
    rdispls, recvtype, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcounts(*)
integer, intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Alltoallv_init_f08ts
subroutine MPI_Alltoallv_init_f08ts_large(sendbuf, sendcounts, sdispls, sendtype, recvbuf, &
    recvcounts, rdispls, recvtype, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Alltoallv_init_f08ts_large
end interface MPI_Alltoallv_init
interface PMPI_Alltoallv_init
subroutine PMPIR_Alltoallv_init_f08ts(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, &
    rdispls, recvtype, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcounts(*)
integer, intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Alltoallv_init_f08ts
subroutine PMPIR_Alltoallv_init_f08ts_large(sendbuf, sendcounts, sdispls, sendtype, recvbuf, &
    recvcounts, rdispls, recvtype, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Alltoallv_init_f08ts_large
end interface PMPI_Alltoallv_init
interface MPI_Alltoallw
subroutine MPI_Alltoallw_f08ts(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, &
    rdispls, recvtypes, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer, intent(in) :: sendcounts(*)
integer, intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtypes(*)
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtypes(*)
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Alltoallw_f08ts
subroutine MPI_Alltoallw_f08ts_large(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, &
    rdispls, recvtypes, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtypes(*)
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtypes(*)
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Alltoallw_f08ts_large
end interface MPI_Alltoallw
interface PMPI_Alltoallw
subroutine PMPIR_Alltoallw_f08ts(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, &
    rdispls, recvtypes, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer, intent(in) :: sendcounts(*)
integer, intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtypes(*)
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtypes(*)
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Alltoallw_f08ts
subroutine PMPIR_Alltoallw_f08ts_large(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, &
    recvcounts, rdispls, recvtypes, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtypes(*)
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtypes(*)
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Alltoallw_f08ts_large
end interface PMPI_Alltoallw
interface MPI_Alltoallw_init
subroutine MPI_Alltoallw_init_f08ts(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, &
    rdispls, recvtypes, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcounts(*)
integer, intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtypes(*)
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtypes(*)
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Alltoallw_init_f08ts
subroutine MPI_Alltoallw_init_f08ts_large(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, &
    recvcounts, rdispls, recvtypes, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtypes(*)
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtypes(*)
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Alltoallw_init_f08ts_large
end interface MPI_Alltoallw_init
interface PMPI_Alltoallw_init
subroutine PMPIR_Alltoallw_init_f08ts(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, &
    rdispls, recvtypes, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcounts(*)
integer, intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtypes(*)
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtypes(*)
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Alltoallw_init_f08ts
subroutine PMPIR_Alltoallw_init_f08ts_large(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, &
    recvcounts, rdispls, recvtypes, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtypes(*)
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtypes(*)
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Alltoallw_init_f08ts_large
end interface PMPI_Alltoallw_init
interface MPI_Barrier
subroutine MPI_Barrier_f08(comm, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Barrier_f08
end interface MPI_Barrier
interface PMPI_Barrier
subroutine PMPIR_Barrier_f08(comm, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Barrier_f08
end interface PMPI_Barrier
interface MPI_Barrier_init
subroutine MPI_Barrier_init_f08(comm, info, request, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Barrier_init_f08
end interface MPI_Barrier_init
interface PMPI_Barrier_init
subroutine PMPIR_Barrier_init_f08(comm, info, request, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Barrier_init_f08
end interface PMPI_Barrier_init
interface MPI_Bcast
subroutine MPI_Bcast_f08ts(buffer, count, datatype, root, comm, ierror)
import
implicit none
type(*), dimension(..) :: buffer
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Bcast_f08ts
subroutine MPI_Bcast_f08ts_large(buffer, count, datatype, root, comm, ierror)
import
implicit none
type(*), dimension(..) :: buffer
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Bcast_f08ts_large
end interface MPI_Bcast
interface PMPI_Bcast
subroutine PMPIR_Bcast_f08ts(buffer, count, datatype, root, comm, ierror)
import
implicit none
type(*), dimension(..) :: buffer
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Bcast_f08ts
subroutine PMPIR_Bcast_f08ts_large(buffer, count, datatype, root, comm, ierror)
import
implicit none
type(*), dimension(..) :: buffer
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Bcast_f08ts_large
end interface PMPI_Bcast
interface MPI_Bcast_init
subroutine MPI_Bcast_init_f08ts(buffer, count, datatype, root, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buffer
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Bcast_init_f08ts
subroutine MPI_Bcast_init_f08ts_large(buffer, count, datatype, root, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buffer
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Bcast_init_f08ts_large
end interface MPI_Bcast_init
interface PMPI_Bcast_init
subroutine PMPIR_Bcast_init_f08ts(buffer, count, datatype, root, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buffer
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Bcast_init_f08ts
subroutine PMPIR_Bcast_init_f08ts_large(buffer, count, datatype, root, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buffer
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Bcast_init_f08ts_large
end interface PMPI_Bcast_init
interface MPI_Exscan
subroutine MPI_Exscan_f08ts(sendbuf, recvbuf, count, datatype, op, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
type(*), dimension(..) :: recvbuf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Exscan_f08ts
subroutine MPI_Exscan_f08ts_large(sendbuf, recvbuf, count, datatype, op, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Exscan_f08ts_large
end interface MPI_Exscan
interface PMPI_Exscan
subroutine PMPIR_Exscan_f08ts(sendbuf, recvbuf, count, datatype, op, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
type(*), dimension(..) :: recvbuf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Exscan_f08ts
subroutine PMPIR_Exscan_f08ts_large(sendbuf, recvbuf, count, datatype, op, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Exscan_f08ts_large
end interface PMPI_Exscan
interface MPI_Exscan_init
subroutine MPI_Exscan_init_f08ts(sendbuf, recvbuf, count, datatype, op, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Exscan_init_f08ts
subroutine MPI_Exscan_init_f08ts_large(sendbuf, recvbuf, count, datatype, op, comm, info, request, &
    ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Exscan_init_f08ts_large
end interface MPI_Exscan_init
interface PMPI_Exscan_init
subroutine PMPIR_Exscan_init_f08ts(sendbuf, recvbuf, count, datatype, op, comm, info, request, &
    ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Exscan_init_f08ts
subroutine PMPIR_Exscan_init_f08ts_large(sendbuf, recvbuf, count, datatype, op, comm, info, &
    request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Exscan_init_f08ts_large
end interface PMPI_Exscan_init
interface MPI_Gather
subroutine MPI_Gather_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm, &
    ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Gather_f08ts
subroutine MPI_Gather_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, &
    comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Gather_f08ts_large
end interface MPI_Gather
interface PMPI_Gather
subroutine PMPIR_Gather_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, &
    comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Gather_f08ts
subroutine PMPIR_Gather_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
    root, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Gather_f08ts_large
end interface PMPI_Gather
interface MPI_Gather_init
subroutine MPI_Gather_init_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, &
    comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Gather_init_f08ts
subroutine MPI_Gather_init_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
    root, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Gather_init_f08ts_large
end interface MPI_Gather_init
interface PMPI_Gather_init
subroutine PMPIR_Gather_init_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
    root, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Gather_init_f08ts
subroutine PMPIR_Gather_init_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
    recvtype, root, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Gather_init_f08ts_large
end interface PMPI_Gather_init
interface MPI_Gatherv
subroutine MPI_Gatherv_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, &
    root, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Gatherv_f08ts
subroutine MPI_Gatherv_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
    recvtype, root, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Gatherv_f08ts_large
end interface MPI_Gatherv
interface PMPI_Gatherv
subroutine PMPIR_Gatherv_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, &
    root, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Gatherv_f08ts
subroutine PMPIR_Gatherv_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
    recvtype, root, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Gatherv_f08ts_large
end interface PMPI_Gatherv
interface MPI_Gatherv_init
subroutine MPI_Gatherv_init_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
    recvtype, root, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Gatherv_init_f08ts
subroutine MPI_Gatherv_init_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
    recvtype, root, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Gatherv_init_f08ts_large
end interface MPI_Gatherv_init
interface PMPI_Gatherv_init
subroutine PMPIR_Gatherv_init_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
    recvtype, root, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Gatherv_init_f08ts
subroutine PMPIR_Gatherv_init_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcounts, &
    displs, recvtype, root, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Gatherv_init_f08ts_large
end interface PMPI_Gatherv_init
interface MPI_Iallgather
subroutine MPI_Iallgather_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, &
    request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Iallgather_f08ts
subroutine MPI_Iallgather_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
    comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Iallgather_f08ts_large
end interface MPI_Iallgather
interface PMPI_Iallgather
subroutine PMPIR_Iallgather_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, &
    request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Iallgather_f08ts
subroutine PMPIR_Iallgather_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
    comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Iallgather_f08ts_large
end interface PMPI_Iallgather
interface MPI_Iallgatherv
subroutine MPI_Iallgatherv_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
    recvtype, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Iallgatherv_f08ts
subroutine MPI_Iallgatherv_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
    recvtype, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Iallgatherv_f08ts_large
end interface MPI_Iallgatherv
interface PMPI_Iallgatherv
subroutine PMPIR_Iallgatherv_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
    recvtype, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Iallgatherv_f08ts
subroutine PMPIR_Iallgatherv_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
    recvtype, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Iallgatherv_f08ts_large
end interface PMPI_Iallgatherv
interface MPI_Iallreduce
subroutine MPI_Iallreduce_f08ts(sendbuf, recvbuf, count, datatype, op, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Iallreduce_f08ts
subroutine MPI_Iallreduce_f08ts_large(sendbuf, recvbuf, count, datatype, op, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Iallreduce_f08ts_large
end interface MPI_Iallreduce
interface PMPI_Iallreduce
subroutine PMPIR_Iallreduce_f08ts(sendbuf, recvbuf, count, datatype, op, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Iallreduce_f08ts
subroutine PMPIR_Iallreduce_f08ts_large(sendbuf, recvbuf, count, datatype, op, comm, request, &
    ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Iallreduce_f08ts_large
end interface PMPI_Iallreduce
interface MPI_Ialltoall
subroutine MPI_Ialltoall_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, &
    request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Ialltoall_f08ts
subroutine MPI_Ialltoall_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
    comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Ialltoall_f08ts_large
end interface MPI_Ialltoall
interface PMPI_Ialltoall
subroutine PMPIR_Ialltoall_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, &
    request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Ialltoall_f08ts
subroutine PMPIR_Ialltoall_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
    comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Ialltoall_f08ts_large
end interface PMPI_Ialltoall
interface MPI_Ialltoallv
subroutine MPI_Ialltoallv_f08ts(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, &
    rdispls, recvtype, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcounts(*)
integer, intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Ialltoallv_f08ts
subroutine MPI_Ialltoallv_f08ts_large(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, &
    rdispls, recvtype, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Ialltoallv_f08ts_large
end interface MPI_Ialltoallv
interface PMPI_Ialltoallv
subroutine PMPIR_Ialltoallv_f08ts(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, &
    rdispls, recvtype, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcounts(*)
integer, intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Ialltoallv_f08ts
subroutine PMPIR_Ialltoallv_f08ts_large(sendbuf, sendcounts, sdispls, sendtype, recvbuf, &
    recvcounts, rdispls, recvtype, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Ialltoallv_f08ts_large
end interface PMPI_Ialltoallv
interface MPI_Ialltoallw
subroutine MPI_Ialltoallw_f08ts(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, &
    rdispls, recvtypes, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcounts(*)
integer, intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtypes(*)
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtypes(*)
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Ialltoallw_f08ts
subroutine MPI_Ialltoallw_f08ts_large(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, &
    rdispls, recvtypes, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtypes(*)
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtypes(*)
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Ialltoallw_f08ts_large
end interface MPI_Ialltoallw
interface PMPI_Ialltoallw
subroutine PMPIR_Ialltoallw_f08ts(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, &
    rdispls, recvtypes, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcounts(*)
integer, intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtypes(*)
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtypes(*)
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Ialltoallw_f08ts
subroutine PMPIR_Ialltoallw_f08ts_large(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, &
    recvcounts, rdispls, recvtypes, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtypes(*)
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtypes(*)
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Ialltoallw_f08ts_large
end interface PMPI_Ialltoallw
interface MPI_Ibarrier
subroutine MPI_Ibarrier_f08(comm, request, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Ibarrier_f08
end interface MPI_Ibarrier
interface PMPI_Ibarrier
subroutine PMPIR_Ibarrier_f08(comm, request, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Ibarrier_f08
end interface PMPI_Ibarrier
interface MPI_Ibcast
subroutine MPI_Ibcast_f08ts(buffer, count, datatype, root, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buffer
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Ibcast_f08ts
subroutine MPI_Ibcast_f08ts_large(buffer, count, datatype, root, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buffer
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Ibcast_f08ts_large
end interface MPI_Ibcast
interface PMPI_Ibcast
subroutine PMPIR_Ibcast_f08ts(buffer, count, datatype, root, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buffer
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Ibcast_f08ts
subroutine PMPIR_Ibcast_f08ts_large(buffer, count, datatype, root, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: buffer
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Ibcast_f08ts_large
end interface PMPI_Ibcast
interface MPI_Iexscan
subroutine MPI_Iexscan_f08ts(sendbuf, recvbuf, count, datatype, op, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Iexscan_f08ts
subroutine MPI_Iexscan_f08ts_large(sendbuf, recvbuf, count, datatype, op, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Iexscan_f08ts_large
end interface MPI_Iexscan
interface PMPI_Iexscan
subroutine PMPIR_Iexscan_f08ts(sendbuf, recvbuf, count, datatype, op, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Iexscan_f08ts
subroutine PMPIR_Iexscan_f08ts_large(sendbuf, recvbuf, count, datatype, op, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Iexscan_f08ts_large
end interface PMPI_Iexscan
interface MPI_Igather
subroutine MPI_Igather_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, &
    comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Igather_f08ts
subroutine MPI_Igather_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
    root, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Igather_f08ts_large
end interface MPI_Igather
interface PMPI_Igather
subroutine PMPIR_Igather_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, &
    comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Igather_f08ts
subroutine PMPIR_Igather_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
    root, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Igather_f08ts_large
end interface PMPI_Igather
interface MPI_Igatherv
subroutine MPI_Igatherv_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, &
    root, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Igatherv_f08ts
subroutine MPI_Igatherv_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
    recvtype, root, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Igatherv_f08ts_large
end interface MPI_Igatherv
interface PMPI_Igatherv
subroutine PMPIR_Igatherv_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
    recvtype, root, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Igatherv_f08ts
subroutine PMPIR_Igatherv_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
    recvtype, root, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Igatherv_f08ts_large
end interface PMPI_Igatherv
interface MPI_Ireduce
subroutine MPI_Ireduce_f08ts(sendbuf, recvbuf, count, datatype, op, root, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Ireduce_f08ts
subroutine MPI_Ireduce_f08ts_large(sendbuf, recvbuf, count, datatype, op, root, comm, request, &
    ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Ireduce_f08ts_large
end interface MPI_Ireduce
interface PMPI_Ireduce
subroutine PMPIR_Ireduce_f08ts(sendbuf, recvbuf, count, datatype, op, root, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Ireduce_f08ts
subroutine PMPIR_Ireduce_f08ts_large(sendbuf, recvbuf, count, datatype, op, root, comm, request, &
    ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Ireduce_f08ts_large
end interface PMPI_Ireduce
interface MPI_Ireduce_scatter
subroutine MPI_Ireduce_scatter_f08ts(sendbuf, recvbuf, recvcounts, datatype, op, comm, request, &
    ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Ireduce_scatter_f08ts
subroutine MPI_Ireduce_scatter_f08ts_large(sendbuf, recvbuf, recvcounts, datatype, op, comm, &
    request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Ireduce_scatter_f08ts_large
end interface MPI_Ireduce_scatter
interface PMPI_Ireduce_scatter
subroutine PMPIR_Ireduce_scatter_f08ts(sendbuf, recvbuf, recvcounts, datatype, op, comm, request, &
    ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Ireduce_scatter_f08ts
subroutine PMPIR_Ireduce_scatter_f08ts_large(sendbuf, recvbuf, recvcounts, datatype, op, comm, &
    request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Ireduce_scatter_f08ts_large
end interface PMPI_Ireduce_scatter
interface MPI_Ireduce_scatter_block
subroutine MPI_Ireduce_scatter_block_f08ts(sendbuf, recvbuf, recvcount, datatype, op, comm, &
    request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Ireduce_scatter_block_f08ts
subroutine MPI_Ireduce_scatter_block_f08ts_large(sendbuf, recvbuf, recvcount, datatype, op, comm, &
    request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Ireduce_scatter_block_f08ts_large
end interface MPI_Ireduce_scatter_block
interface PMPI_Ireduce_scatter_block
subroutine PMPIR_Ireduce_scatter_block_f08ts(sendbuf, recvbuf, recvcount, datatype, op, comm, &
    request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Ireduce_scatter_block_f08ts
subroutine PMPIR_Ireduce_scatter_block_f08ts_large(sendbuf, recvbuf, recvcount, datatype, op, comm, &
    request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Ireduce_scatter_block_f08ts_large
end interface PMPI_Ireduce_scatter_block
interface MPI_Iscan
subroutine MPI_Iscan_f08ts(sendbuf, recvbuf, count, datatype, op, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Iscan_f08ts
subroutine MPI_Iscan_f08ts_large(sendbuf, recvbuf, count, datatype, op, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Iscan_f08ts_large
end interface MPI_Iscan
interface PMPI_Iscan
subroutine PMPIR_Iscan_f08ts(sendbuf, recvbuf, count, datatype, op, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Iscan_f08ts
subroutine PMPIR_Iscan_f08ts_large(sendbuf, recvbuf, count, datatype, op, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Iscan_f08ts_large
end interface PMPI_Iscan
interface MPI_Iscatter
subroutine MPI_Iscatter_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, &
    comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Iscatter_f08ts
subroutine MPI_Iscatter_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
    root, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Iscatter_f08ts_large
end interface MPI_Iscatter
interface PMPI_Iscatter
subroutine PMPIR_Iscatter_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, &
    comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Iscatter_f08ts
subroutine PMPIR_Iscatter_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
    root, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Iscatter_f08ts_large
end interface PMPI_Iscatter
interface MPI_Iscatterv
subroutine MPI_Iscatterv_f08ts(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, &
    root, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcounts(*)
integer, intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Iscatterv_f08ts
subroutine MPI_Iscatterv_f08ts_large(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, &
    recvtype, root, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Iscatterv_f08ts_large
end interface MPI_Iscatterv
interface PMPI_Iscatterv
subroutine PMPIR_Iscatterv_f08ts(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, &
    recvtype, root, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcounts(*)
integer, intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Iscatterv_f08ts
subroutine PMPIR_Iscatterv_f08ts_large(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, &
    recvtype, root, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Iscatterv_f08ts_large
end interface PMPI_Iscatterv
interface MPI_Reduce
subroutine MPI_Reduce_f08ts(sendbuf, recvbuf, count, datatype, op, root, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
type(*), dimension(..) :: recvbuf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Reduce_f08ts
subroutine MPI_Reduce_f08ts_large(sendbuf, recvbuf, count, datatype, op, root, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Reduce_f08ts_large
end interface MPI_Reduce
interface PMPI_Reduce
subroutine PMPIR_Reduce_f08ts(sendbuf, recvbuf, count, datatype, op, root, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
type(*), dimension(..) :: recvbuf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Reduce_f08ts
subroutine PMPIR_Reduce_f08ts_large(sendbuf, recvbuf, count, datatype, op, root, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Reduce_f08ts_large
end interface PMPI_Reduce
interface MPI_Reduce_init
subroutine MPI_Reduce_init_f08ts(sendbuf, recvbuf, count, datatype, op, root, comm, info, request, &
    ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Reduce_init_f08ts
subroutine MPI_Reduce_init_f08ts_large(sendbuf, recvbuf, count, datatype, op, root, comm, info, &
    request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Reduce_init_f08ts_large
end interface MPI_Reduce_init
interface PMPI_Reduce_init
subroutine PMPIR_Reduce_init_f08ts(sendbuf, recvbuf, count, datatype, op, root, comm, info, &
    request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Reduce_init_f08ts
subroutine PMPIR_Reduce_init_f08ts_large(sendbuf, recvbuf, count, datatype, op, root, comm, info, &
    request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Reduce_init_f08ts_large
end interface PMPI_Reduce_init
interface MPI_Reduce_local
subroutine MPI_Reduce_local_f08ts(inbuf, inoutbuf, count, datatype, op, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: inbuf
type(*), dimension(..) :: inoutbuf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
integer, optional, intent(out) :: ierror
end subroutine MPI_Reduce_local_f08ts
subroutine MPI_Reduce_local_f08ts_large(inbuf, inoutbuf, count, datatype, op, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: inbuf
type(*), dimension(..) :: inoutbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
integer, optional, intent(out) :: ierror
end subroutine MPI_Reduce_local_f08ts_large
end interface MPI_Reduce_local
interface PMPI_Reduce_local
subroutine PMPIR_Reduce_local_f08ts(inbuf, inoutbuf, count, datatype, op, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: inbuf
type(*), dimension(..) :: inoutbuf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Reduce_local_f08ts
subroutine PMPIR_Reduce_local_f08ts_large(inbuf, inoutbuf, count, datatype, op, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: inbuf
type(*), dimension(..) :: inoutbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Reduce_local_f08ts_large
end interface PMPI_Reduce_local
interface MPI_Reduce_scatter
subroutine MPI_Reduce_scatter_f08ts(sendbuf, recvbuf, recvcounts, datatype, op, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcounts(*)
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Reduce_scatter_f08ts
subroutine MPI_Reduce_scatter_f08ts_large(sendbuf, recvbuf, recvcounts, datatype, op, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Reduce_scatter_f08ts_large
end interface MPI_Reduce_scatter
interface PMPI_Reduce_scatter
subroutine PMPIR_Reduce_scatter_f08ts(sendbuf, recvbuf, recvcounts, datatype, op, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcounts(*)
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Reduce_scatter_f08ts
subroutine PMPIR_Reduce_scatter_f08ts_large(sendbuf, recvbuf, recvcounts, datatype, op, comm, &
    ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Reduce_scatter_f08ts_large
end interface PMPI_Reduce_scatter
interface MPI_Reduce_scatter_block
subroutine MPI_Reduce_scatter_block_f08ts(sendbuf, recvbuf, recvcount, datatype, op, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Reduce_scatter_block_f08ts
subroutine MPI_Reduce_scatter_block_f08ts_large(sendbuf, recvbuf, recvcount, datatype, op, comm, &
    ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Reduce_scatter_block_f08ts_large
end interface MPI_Reduce_scatter_block
interface PMPI_Reduce_scatter_block
subroutine PMPIR_Reduce_scatter_block_f08ts(sendbuf, recvbuf, recvcount, datatype, op, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Reduce_scatter_block_f08ts
subroutine PMPIR_Reduce_scatter_block_f08ts_large(sendbuf, recvbuf, recvcount, datatype, op, comm, &
    ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Reduce_scatter_block_f08ts_large
end interface PMPI_Reduce_scatter_block
interface MPI_Reduce_scatter_block_init
subroutine MPI_Reduce_scatter_block_init_f08ts(sendbuf, recvbuf, recvcount, datatype, op, comm, &
    info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Reduce_scatter_block_init_f08ts
subroutine MPI_Reduce_scatter_block_init_f08ts_large(sendbuf, recvbuf, recvcount, datatype, op, &
    comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Reduce_scatter_block_init_f08ts_large
end interface MPI_Reduce_scatter_block_init
interface PMPI_Reduce_scatter_block_init
subroutine PMPIR_Reduce_scatter_block_init_f08ts(sendbuf, recvbuf, recvcount, datatype, op, comm, &
    info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Reduce_scatter_block_init_f08ts
subroutine PMPIR_Reduce_scatter_block_init_f08ts_large(sendbuf, recvbuf, recvcount, datatype, op, &
    comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Reduce_scatter_block_init_f08ts_large
end interface PMPI_Reduce_scatter_block_init
interface MPI_Reduce_scatter_init
subroutine MPI_Reduce_scatter_init_f08ts(sendbuf, recvbuf, recvcounts, datatype, op, comm, info, &
    request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Reduce_scatter_init_f08ts
subroutine MPI_Reduce_scatter_init_f08ts_large(sendbuf, recvbuf, recvcounts, datatype, op, comm, &
    info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Reduce_scatter_init_f08ts_large
end interface MPI_Reduce_scatter_init
interface PMPI_Reduce_scatter_init
subroutine PMPIR_Reduce_scatter_init_f08ts(sendbuf, recvbuf, recvcounts, datatype, op, comm, info, &
    request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Reduce_scatter_init_f08ts
subroutine PMPIR_Reduce_scatter_init_f08ts_large(sendbuf, recvbuf, recvcounts, datatype, op, comm, &
    info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Reduce_scatter_init_f08ts_large
end interface PMPI_Reduce_scatter_init
interface MPI_Scan
subroutine MPI_Scan_f08ts(sendbuf, recvbuf, count, datatype, op, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
type(*), dimension(..) :: recvbuf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Scan_f08ts
subroutine MPI_Scan_f08ts_large(sendbuf, recvbuf, count, datatype, op, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Scan_f08ts_large
end interface MPI_Scan
interface PMPI_Scan
subroutine PMPIR_Scan_f08ts(sendbuf, recvbuf, count, datatype, op, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
type(*), dimension(..) :: recvbuf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Scan_f08ts
subroutine PMPIR_Scan_f08ts_large(sendbuf, recvbuf, count, datatype, op, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Scan_f08ts_large
end interface PMPI_Scan
interface MPI_Scan_init
subroutine MPI_Scan_init_f08ts(sendbuf, recvbuf, count, datatype, op, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Scan_init_f08ts
subroutine MPI_Scan_init_f08ts_large(sendbuf, recvbuf, count, datatype, op, comm, info, request, &
    ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Scan_init_f08ts_large
end interface MPI_Scan_init
interface PMPI_Scan_init
subroutine PMPIR_Scan_init_f08ts(sendbuf, recvbuf, count, datatype, op, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Scan_init_f08ts
subroutine PMPIR_Scan_init_f08ts_large(sendbuf, recvbuf, count, datatype, op, comm, info, request, &
    ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Op), intent(in) :: op
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Scan_init_f08ts_large
end interface PMPI_Scan_init
interface MPI_Scatter
subroutine MPI_Scatter_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, &
    comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Scatter_f08ts
subroutine MPI_Scatter_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
    root, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Scatter_f08ts_large
end interface MPI_Scatter
interface PMPI_Scatter
subroutine PMPIR_Scatter_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, &
    comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Scatter_f08ts
subroutine PMPIR_Scatter_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
    root, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Scatter_f08ts_large
end interface PMPI_Scatter
interface MPI_Scatter_init
subroutine MPI_Scatter_init_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, &
    comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Scatter_init_f08ts
subroutine MPI_Scatter_init_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
    root, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Scatter_init_f08ts_large
end interface MPI_Scatter_init
interface PMPI_Scatter_init
subroutine PMPIR_Scatter_init_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
    root, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Scatter_init_f08ts
subroutine PMPIR_Scatter_init_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
    recvtype, root, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Scatter_init_f08ts_large
end interface PMPI_Scatter_init
interface MPI_Scatterv
subroutine MPI_Scatterv_f08ts(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, &
    root, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer, intent(in) :: sendcounts(*)
integer, intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Scatterv_f08ts
subroutine MPI_Scatterv_f08ts_large(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, &
    recvtype, root, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Scatterv_f08ts_large
end interface MPI_Scatterv
interface PMPI_Scatterv
subroutine PMPIR_Scatterv_f08ts(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, &
    recvtype, root, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer, intent(in) :: sendcounts(*)
integer, intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Scatterv_f08ts
subroutine PMPIR_Scatterv_f08ts_large(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, &
    recvtype, root, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Scatterv_f08ts_large
end interface PMPI_Scatterv
interface MPI_Scatterv_init
subroutine MPI_Scatterv_init_f08ts(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, &
    recvtype, root, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcounts(*)
integer, intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Scatterv_init_f08ts
subroutine MPI_Scatterv_init_f08ts_large(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, &
    recvtype, root, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Scatterv_init_f08ts_large
end interface MPI_Scatterv_init
interface PMPI_Scatterv_init
subroutine PMPIR_Scatterv_init_f08ts(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, &
    recvtype, root, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcounts(*)
integer, intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Scatterv_init_f08ts
subroutine PMPIR_Scatterv_init_f08ts_large(sendbuf, sendcounts, displs, sendtype, recvbuf, &
    recvcount, recvtype, root, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Scatterv_init_f08ts_large
end interface PMPI_Scatterv_init
interface MPI_Ineighbor_allgather
subroutine MPI_Ineighbor_allgather_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
    recvtype, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Ineighbor_allgather_f08ts
subroutine MPI_Ineighbor_allgather_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
    recvtype, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Ineighbor_allgather_f08ts_large
end interface MPI_Ineighbor_allgather
interface PMPI_Ineighbor_allgather
subroutine PMPIR_Ineighbor_allgather_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
    recvtype, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Ineighbor_allgather_f08ts
subroutine PMPIR_Ineighbor_allgather_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
    recvtype, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Ineighbor_allgather_f08ts_large
end interface PMPI_Ineighbor_allgather
interface MPI_Ineighbor_allgatherv
subroutine MPI_Ineighbor_allgatherv_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcounts, &
    displs, recvtype, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Ineighbor_allgatherv_f08ts
subroutine MPI_Ineighbor_allgatherv_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcounts, &
    displs, recvtype, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Ineighbor_allgatherv_f08ts_large
end interface MPI_Ineighbor_allgatherv
interface PMPI_Ineighbor_allgatherv
subroutine PMPIR_Ineighbor_allgatherv_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcounts, &
    displs, recvtype, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Ineighbor_allgatherv_f08ts
subroutine PMPIR_Ineighbor_allgatherv_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, &
    recvcounts, displs, recvtype, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Ineighbor_allgatherv_f08ts_large
end interface PMPI_Ineighbor_allgatherv
interface MPI_Ineighbor_alltoall
subroutine MPI_Ineighbor_alltoall_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
    comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Ineighbor_alltoall_f08ts
subroutine MPI_Ineighbor_alltoall_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
    recvtype, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Ineighbor_alltoall_f08ts_large
end interface MPI_Ineighbor_alltoall
interface PMPI_Ineighbor_alltoall
subroutine PMPIR_Ineighbor_alltoall_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
    recvtype, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Ineighbor_alltoall_f08ts
subroutine PMPIR_Ineighbor_alltoall_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
    recvtype, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Ineighbor_alltoall_f08ts_large
end interface PMPI_Ineighbor_alltoall
interface MPI_Ineighbor_alltoallv
subroutine MPI_Ineighbor_alltoallv_f08ts(sendbuf, sendcounts, sdispls, sendtype, recvbuf, &
    recvcounts, rdispls, recvtype, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcounts(*)
integer, intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Ineighbor_alltoallv_f08ts
subroutine MPI_Ineighbor_alltoallv_f08ts_large(sendbuf, sendcounts, sdispls, sendtype, recvbuf, &
    recvcounts, rdispls, recvtype, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Ineighbor_alltoallv_f08ts_large
end interface MPI_Ineighbor_alltoallv
interface PMPI_Ineighbor_alltoallv
subroutine PMPIR_Ineighbor_alltoallv_f08ts(sendbuf, sendcounts, sdispls, sendtype, recvbuf, &
    recvcounts, rdispls, recvtype, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcounts(*)
integer, intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Ineighbor_alltoallv_f08ts
subroutine PMPIR_Ineighbor_alltoallv_f08ts_large(sendbuf, sendcounts, sdispls, sendtype, recvbuf, &
    recvcounts, rdispls, recvtype, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Ineighbor_alltoallv_f08ts_large
end interface PMPI_Ineighbor_alltoallv
interface MPI_Ineighbor_alltoallw
subroutine MPI_Ineighbor_alltoallw_f08ts(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, &
    recvcounts, rdispls, recvtypes, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtypes(*)
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtypes(*)
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Ineighbor_alltoallw_f08ts
subroutine MPI_Ineighbor_alltoallw_f08ts_large(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, &
    recvcounts, rdispls, recvtypes, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtypes(*)
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtypes(*)
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Ineighbor_alltoallw_f08ts_large
end interface MPI_Ineighbor_alltoallw
interface PMPI_Ineighbor_alltoallw
subroutine PMPIR_Ineighbor_alltoallw_f08ts(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, &
    recvcounts, rdispls, recvtypes, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtypes(*)
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtypes(*)
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Ineighbor_alltoallw_f08ts
subroutine PMPIR_Ineighbor_alltoallw_f08ts_large(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, &
    recvcounts, rdispls, recvtypes, comm, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtypes(*)
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtypes(*)
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Ineighbor_alltoallw_f08ts_large
end interface PMPI_Ineighbor_alltoallw
interface MPI_Neighbor_allgather
subroutine MPI_Neighbor_allgather_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
    comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Neighbor_allgather_f08ts
subroutine MPI_Neighbor_allgather_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
    recvtype, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Neighbor_allgather_f08ts_large
end interface MPI_Neighbor_allgather
interface PMPI_Neighbor_allgather
subroutine PMPIR_Neighbor_allgather_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
    recvtype, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Neighbor_allgather_f08ts
subroutine PMPIR_Neighbor_allgather_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
    recvtype, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Neighbor_allgather_f08ts_large
end interface PMPI_Neighbor_allgather
interface MPI_Neighbor_allgather_init
subroutine MPI_Neighbor_allgather_init_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
    recvtype, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Neighbor_allgather_init_f08ts
subroutine MPI_Neighbor_allgather_init_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, &
    recvcount, recvtype, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Neighbor_allgather_init_f08ts_large
end interface MPI_Neighbor_allgather_init
interface PMPI_Neighbor_allgather_init
subroutine PMPIR_Neighbor_allgather_init_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
    recvtype, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Neighbor_allgather_init_f08ts
subroutine PMPIR_Neighbor_allgather_init_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, &
    recvcount, recvtype, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Neighbor_allgather_init_f08ts_large
end interface PMPI_Neighbor_allgather_init
interface MPI_Neighbor_allgatherv
subroutine MPI_Neighbor_allgatherv_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
    recvtype, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Neighbor_allgatherv_f08ts
subroutine MPI_Neighbor_allgatherv_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcounts, &
    displs, recvtype, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Neighbor_allgatherv_f08ts_large
end interface MPI_Neighbor_allgatherv
interface PMPI_Neighbor_allgatherv
subroutine PMPIR_Neighbor_allgatherv_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcounts, &
    displs, recvtype, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Neighbor_allgatherv_f08ts
subroutine PMPIR_Neighbor_allgatherv_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcounts, &
    displs, recvtype, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Neighbor_allgatherv_f08ts_large
end interface PMPI_Neighbor_allgatherv
interface MPI_Neighbor_allgatherv_init
subroutine MPI_Neighbor_allgatherv_init_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcounts, &
    displs, recvtype, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Neighbor_allgatherv_init_f08ts
subroutine MPI_Neighbor_allgatherv_init_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, &
    recvcounts, displs, recvtype, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Neighbor_allgatherv_init_f08ts_large
end interface MPI_Neighbor_allgatherv_init
interface PMPI_Neighbor_allgatherv_init
subroutine PMPIR_Neighbor_allgatherv_init_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcounts, &
    displs, recvtype, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Neighbor_allgatherv_init_f08ts
subroutine PMPIR_Neighbor_allgatherv_init_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, &
    recvcounts, displs, recvtype, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: displs(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Neighbor_allgatherv_init_f08ts_large
end interface PMPI_Neighbor_allgatherv_init
interface MPI_Neighbor_alltoall
subroutine MPI_Neighbor_alltoall_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
    comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Neighbor_alltoall_f08ts
subroutine MPI_Neighbor_alltoall_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
    recvtype, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Neighbor_alltoall_f08ts_large
end interface MPI_Neighbor_alltoall
interface PMPI_Neighbor_alltoall
subroutine PMPIR_Neighbor_alltoall_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
    recvtype, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Neighbor_alltoall_f08ts
subroutine PMPIR_Neighbor_alltoall_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
    recvtype, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Neighbor_alltoall_f08ts_large
end interface PMPI_Neighbor_alltoall
interface MPI_Neighbor_alltoall_init
subroutine MPI_Neighbor_alltoall_init_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
    recvtype, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Neighbor_alltoall_init_f08ts
subroutine MPI_Neighbor_alltoall_init_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
    recvtype, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Neighbor_alltoall_init_f08ts_large
end interface MPI_Neighbor_alltoall_init
interface PMPI_Neighbor_alltoall_init
subroutine PMPIR_Neighbor_alltoall_init_f08ts(sendbuf, sendcount, sendtype, recvbuf, recvcount, &
    recvtype, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Neighbor_alltoall_init_f08ts
subroutine PMPIR_Neighbor_alltoall_init_f08ts_large(sendbuf, sendcount, sendtype, recvbuf, &
    recvcount, recvtype, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcount
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcount
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Neighbor_alltoall_init_f08ts_large
end interface PMPI_Neighbor_alltoall_init
interface MPI_Neighbor_alltoallv
subroutine MPI_Neighbor_alltoallv_f08ts(sendbuf, sendcounts, sdispls, sendtype, recvbuf, &
    recvcounts, rdispls, recvtype, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer, intent(in) :: sendcounts(*)
integer, intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Neighbor_alltoallv_f08ts
subroutine MPI_Neighbor_alltoallv_f08ts_large(sendbuf, sendcounts, sdispls, sendtype, recvbuf, &
    recvcounts, rdispls, recvtype, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Neighbor_alltoallv_f08ts_large
end interface MPI_Neighbor_alltoallv
interface PMPI_Neighbor_alltoallv
subroutine PMPIR_Neighbor_alltoallv_f08ts(sendbuf, sendcounts, sdispls, sendtype, recvbuf, &
    recvcounts, rdispls, recvtype, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer, intent(in) :: sendcounts(*)
integer, intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Neighbor_alltoallv_f08ts
subroutine PMPIR_Neighbor_alltoallv_f08ts_large(sendbuf, sendcounts, sdispls, sendtype, recvbuf, &
    recvcounts, rdispls, recvtype, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Neighbor_alltoallv_f08ts_large
end interface PMPI_Neighbor_alltoallv
interface MPI_Neighbor_alltoallv_init
subroutine MPI_Neighbor_alltoallv_init_f08ts(sendbuf, sendcounts, sdispls, sendtype, recvbuf, &
    recvcounts, rdispls, recvtype, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcounts(*)
integer, intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Neighbor_alltoallv_init_f08ts
subroutine MPI_Neighbor_alltoallv_init_f08ts_large(sendbuf, sendcounts, sdispls, sendtype, recvbuf, &
    recvcounts, rdispls, recvtype, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Neighbor_alltoallv_init_f08ts_large
end interface MPI_Neighbor_alltoallv_init
interface PMPI_Neighbor_alltoallv_init
subroutine PMPIR_Neighbor_alltoallv_init_f08ts(sendbuf, sendcounts, sdispls, sendtype, recvbuf, &
    recvcounts, rdispls, recvtype, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcounts(*)
integer, intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
integer, intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Neighbor_alltoallv_init_f08ts
subroutine PMPIR_Neighbor_alltoallv_init_f08ts_large(sendbuf, sendcounts, sdispls, sendtype, &
    recvbuf, recvcounts, rdispls, recvtype, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtype
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtype
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Neighbor_alltoallv_init_f08ts_large
end interface PMPI_Neighbor_alltoallv_init
interface MPI_Neighbor_alltoallw
subroutine MPI_Neighbor_alltoallw_f08ts(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, &
    recvcounts, rdispls, recvtypes, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer, intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtypes(*)
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtypes(*)
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Neighbor_alltoallw_f08ts
subroutine MPI_Neighbor_alltoallw_f08ts_large(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, &
    recvcounts, rdispls, recvtypes, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtypes(*)
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtypes(*)
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Neighbor_alltoallw_f08ts_large
end interface MPI_Neighbor_alltoallw
interface PMPI_Neighbor_alltoallw
subroutine PMPIR_Neighbor_alltoallw_f08ts(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, &
    recvcounts, rdispls, recvtypes, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer, intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtypes(*)
type(*), dimension(..) :: recvbuf
integer, intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtypes(*)
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Neighbor_alltoallw_f08ts
subroutine PMPIR_Neighbor_alltoallw_f08ts_large(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, &
    recvcounts, rdispls, recvtypes, comm, ierror)
import
implicit none
type(*), dimension(..), intent(in) :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtypes(*)
type(*), dimension(..) :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtypes(*)
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Neighbor_alltoallw_f08ts_large
end interface PMPI_Neighbor_alltoallw
interface MPI_Neighbor_alltoallw_init
subroutine MPI_Neighbor_alltoallw_init_f08ts(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, &
    recvcounts, rdispls, recvtypes, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtypes(*)
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtypes(*)
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Neighbor_alltoallw_init_f08ts
subroutine MPI_Neighbor_alltoallw_init_f08ts_large(sendbuf, sendcounts, sdispls, sendtypes, &
    recvbuf, recvcounts, rdispls, recvtypes, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtypes(*)
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtypes(*)
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Neighbor_alltoallw_init_f08ts_large
end interface MPI_Neighbor_alltoallw_init
interface PMPI_Neighbor_alltoallw_init
subroutine PMPIR_Neighbor_alltoallw_init_f08ts(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, &
    recvcounts, rdispls, recvtypes, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer, intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtypes(*)
type(*), dimension(..), asynchronous :: recvbuf
integer, intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtypes(*)
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Neighbor_alltoallw_init_f08ts
subroutine PMPIR_Neighbor_alltoallw_init_f08ts_large(sendbuf, sendcounts, sdispls, sendtypes, &
    recvbuf, recvcounts, rdispls, recvtypes, comm, info, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: sendbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: sendcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: sdispls(*)
type(MPI_Datatype), intent(in) :: sendtypes(*)
type(*), dimension(..), asynchronous :: recvbuf
integer(kind=MPI_COUNT_KIND), intent(in) :: recvcounts(*)
integer(kind=MPI_ADDRESS_KIND), intent(in) :: rdispls(*)
type(MPI_Datatype), intent(in) :: recvtypes(*)
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Neighbor_alltoallw_init_f08ts_large
end interface PMPI_Neighbor_alltoallw_init
interface MPI_Op_commutative
subroutine MPI_Op_commutative_f08(op, commute, ierror)
import
implicit none
type(MPI_Op), intent(in) :: op
logical, intent(out) :: commute
integer, optional, intent(out) :: ierror
end subroutine MPI_Op_commutative_f08
end interface MPI_Op_commutative
interface PMPI_Op_commutative
subroutine PMPIR_Op_commutative_f08(op, commute, ierror)
import
implicit none
type(MPI_Op), intent(in) :: op
logical, intent(out) :: commute
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Op_commutative_f08
end interface PMPI_Op_commutative
interface MPI_Op_create
subroutine MPI_Op_create_f08(user_fn, commute, op, ierror)
import
implicit none
procedure(MPI_User_function) :: user_fn
logical, intent(in) :: commute
type(MPI_Op), intent(out) :: op
integer, optional, intent(out) :: ierror
end subroutine MPI_Op_create_f08
end interface MPI_Op_create
interface PMPI_Op_create
subroutine PMPIR_Op_create_f08(user_fn, commute, op, ierror)
import
implicit none
procedure(MPI_User_function) :: user_fn
logical, intent(in) :: commute
type(MPI_Op), intent(out) :: op
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Op_create_f08
end interface PMPI_Op_create
interface MPI_Op_create_c
subroutine MPI_Op_create_f08_large(user_fn, commute, op, ierror)
import
implicit none
procedure(MPI_User_function_c) :: user_fn
logical, intent(in) :: commute
type(MPI_Op), intent(out) :: op
integer, optional, intent(out) :: ierror
end subroutine MPI_Op_create_f08_large
end interface MPI_Op_create_c
interface PMPI_Op_create_c
subroutine PMPIR_Op_create_f08_large(user_fn, commute, op, ierror)
import
implicit none
procedure(MPI_User_function_c) :: user_fn
logical, intent(in) :: commute
type(MPI_Op), intent(out) :: op
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Op_create_f08_large
end interface PMPI_Op_create_c
interface MPI_Op_free
subroutine MPI_Op_free_f08(op, ierror)
import
implicit none
type(MPI_Op), intent(inout) :: op
integer, optional, intent(out) :: ierror
end subroutine MPI_Op_free_f08
end interface MPI_Op_free
interface PMPI_Op_free
subroutine PMPIR_Op_free_f08(op, ierror)
import
implicit none
type(MPI_Op), intent(inout) :: op
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Op_free_f08
end interface PMPI_Op_free
interface MPI_Group_compare
subroutine MPI_Group_compare_f08(group1, group2, result, ierror)
import
implicit none
type(MPI_Group), intent(in) :: group1
type(MPI_Group), intent(in) :: group2
integer, intent(out) :: result
integer, optional, intent(out) :: ierror
end subroutine MPI_Group_compare_f08
end interface MPI_Group_compare
interface PMPI_Group_compare
subroutine PMPIR_Group_compare_f08(group1, group2, result, ierror)
import
implicit none
type(MPI_Group), intent(in) :: group1
type(MPI_Group), intent(in) :: group2
integer, intent(out) :: result
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Group_compare_f08
end interface PMPI_Group_compare
interface MPI_Group_difference
subroutine MPI_Group_difference_f08(group1, group2, newgroup, ierror)
import
implicit none
type(MPI_Group), intent(in) :: group1
type(MPI_Group), intent(in) :: group2
type(MPI_Group), intent(out) :: newgroup
integer, optional, intent(out) :: ierror
end subroutine MPI_Group_difference_f08
end interface MPI_Group_difference
interface PMPI_Group_difference
subroutine PMPIR_Group_difference_f08(group1, group2, newgroup, ierror)
import
implicit none
type(MPI_Group), intent(in) :: group1
type(MPI_Group), intent(in) :: group2
type(MPI_Group), intent(out) :: newgroup
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Group_difference_f08
end interface PMPI_Group_difference
interface MPI_Group_excl
subroutine MPI_Group_excl_f08(group, n, ranks, newgroup, ierror)
import
implicit none
type(MPI_Group), intent(in) :: group
integer, intent(in) :: n
integer, intent(in) :: ranks(*)
type(MPI_Group), intent(out) :: newgroup
integer, optional, intent(out) :: ierror
end subroutine MPI_Group_excl_f08
end interface MPI_Group_excl
interface PMPI_Group_excl
subroutine PMPIR_Group_excl_f08(group, n, ranks, newgroup, ierror)
import
implicit none
type(MPI_Group), intent(in) :: group
integer, intent(in) :: n
integer, intent(in) :: ranks(*)
type(MPI_Group), intent(out) :: newgroup
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Group_excl_f08
end interface PMPI_Group_excl
interface MPI_Group_free
subroutine MPI_Group_free_f08(group, ierror)
import
implicit none
type(MPI_Group), intent(inout) :: group
integer, optional, intent(out) :: ierror
end subroutine MPI_Group_free_f08
end interface MPI_Group_free
interface PMPI_Group_free
subroutine PMPIR_Group_free_f08(group, ierror)
import
implicit none
type(MPI_Group), intent(inout) :: group
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Group_free_f08
end interface PMPI_Group_free
interface MPI_Group_incl
subroutine MPI_Group_incl_f08(group, n, ranks, newgroup, ierror)
import
implicit none
type(MPI_Group), intent(in) :: group
integer, intent(in) :: n
integer, intent(in) :: ranks(*)
type(MPI_Group), intent(out) :: newgroup
integer, optional, intent(out) :: ierror
end subroutine MPI_Group_incl_f08
end interface MPI_Group_incl
interface PMPI_Group_incl
subroutine PMPIR_Group_incl_f08(group, n, ranks, newgroup, ierror)
import
implicit none
type(MPI_Group), intent(in) :: group
integer, intent(in) :: n
integer, intent(in) :: ranks(*)
type(MPI_Group), intent(out) :: newgroup
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Group_incl_f08
end interface PMPI_Group_incl
interface MPI_Group_intersection
subroutine MPI_Group_intersection_f08(group1, group2, newgroup, ierror)
import
implicit none
type(MPI_Group), intent(in) :: group1
type(MPI_Group), intent(in) :: group2
type(MPI_Group), intent(out) :: newgroup
integer, optional, intent(out) :: ierror
end subroutine MPI_Group_intersection_f08
end interface MPI_Group_intersection
interface PMPI_Group_intersection
subroutine PMPIR_Group_intersection_f08(group1, group2, newgroup, ierror)
import
implicit none
type(MPI_Group), intent(in) :: group1
type(MPI_Group), intent(in) :: group2
type(MPI_Group), intent(out) :: newgroup
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Group_intersection_f08
end interface PMPI_Group_intersection
interface MPI_Group_range_excl
subroutine MPI_Group_range_excl_f08(group, n, ranges, newgroup, ierror)
import
implicit none
type(MPI_Group), intent(in) :: group
integer, intent(in) :: n
integer, intent(in) :: ranges(3,*)
type(MPI_Group), intent(out) :: newgroup
integer, optional, intent(out) :: ierror
end subroutine MPI_Group_range_excl_f08
end interface MPI_Group_range_excl
interface PMPI_Group_range_excl
subroutine PMPIR_Group_range_excl_f08(group, n, ranges, newgroup, ierror)
import
implicit none
type(MPI_Group), intent(in) :: group
integer, intent(in) :: n
integer, intent(in) :: ranges(3,*)
type(MPI_Group), intent(out) :: newgroup
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Group_range_excl_f08
end interface PMPI_Group_range_excl
interface MPI_Group_range_incl
subroutine MPI_Group_range_incl_f08(group, n, ranges, newgroup, ierror)
import
implicit none
type(MPI_Group), intent(in) :: group
integer, intent(in) :: n
integer, intent(in) :: ranges(3,*)
type(MPI_Group), intent(out) :: newgroup
integer, optional, intent(out) :: ierror
end subroutine MPI_Group_range_incl_f08
end interface MPI_Group_range_incl
interface PMPI_Group_range_incl
subroutine PMPIR_Group_range_incl_f08(group, n, ranges, newgroup, ierror)
import
implicit none
type(MPI_Group), intent(in) :: group
integer, intent(in) :: n
integer, intent(in) :: ranges(3,*)
type(MPI_Group), intent(out) :: newgroup
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Group_range_incl_f08
end interface PMPI_Group_range_incl
interface MPI_Group_rank
subroutine MPI_Group_rank_f08(group, rank, ierror)
import
implicit none
type(MPI_Group), intent(in) :: group
integer, intent(out) :: rank
integer, optional, intent(out) :: ierror
end subroutine MPI_Group_rank_f08
end interface MPI_Group_rank
interface PMPI_Group_rank
subroutine PMPIR_Group_rank_f08(group, rank, ierror)
import
implicit none
type(MPI_Group), intent(in) :: group
integer, intent(out) :: rank
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Group_rank_f08
end interface PMPI_Group_rank
interface MPI_Group_size
subroutine MPI_Group_size_f08(group, size, ierror)
import
implicit none
type(MPI_Group), intent(in) :: group
integer, intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine MPI_Group_size_f08
end interface MPI_Group_size
interface PMPI_Group_size
subroutine PMPIR_Group_size_f08(group, size, ierror)
import
implicit none
type(MPI_Group), intent(in) :: group
integer, intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Group_size_f08
end interface PMPI_Group_size
interface MPI_Group_translate_ranks
subroutine MPI_Group_translate_ranks_f08(group1, n, ranks1, group2, ranks2, ierror)
import
implicit none
type(MPI_Group), intent(in) :: group1
integer, intent(in) :: n
integer, intent(in) :: ranks1(*)
type(MPI_Group), intent(in) :: group2
integer, intent(out) :: ranks2(*)
integer, optional, intent(out) :: ierror
end subroutine MPI_Group_translate_ranks_f08
end interface MPI_Group_translate_ranks
interface PMPI_Group_translate_ranks
subroutine PMPIR_Group_translate_ranks_f08(group1, n, ranks1, group2, ranks2, ierror)
import
implicit none
type(MPI_Group), intent(in) :: group1
integer, intent(in) :: n
integer, intent(in) :: ranks1(*)
type(MPI_Group), intent(in) :: group2
integer, intent(out) :: ranks2(*)
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Group_translate_ranks_f08
end interface PMPI_Group_translate_ranks
interface MPI_Group_union
subroutine MPI_Group_union_f08(group1, group2, newgroup, ierror)
import
implicit none
type(MPI_Group), intent(in) :: group1
type(MPI_Group), intent(in) :: group2
type(MPI_Group), intent(out) :: newgroup
integer, optional, intent(out) :: ierror
end subroutine MPI_Group_union_f08
end interface MPI_Group_union
interface PMPI_Group_union
subroutine PMPIR_Group_union_f08(group1, group2, newgroup, ierror)
import
implicit none
type(MPI_Group), intent(in) :: group1
type(MPI_Group), intent(in) :: group2
type(MPI_Group), intent(out) :: newgroup
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Group_union_f08
end interface PMPI_Group_union
interface MPI_Comm_attach_buffer
subroutine MPI_Comm_attach_buffer_f08ts(comm, buffer, size, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(*), dimension(..), asynchronous :: buffer
integer, intent(in) :: size
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_attach_buffer_f08ts
subroutine MPI_Comm_attach_buffer_f08ts_large(comm, buffer, size, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(*), dimension(..), asynchronous :: buffer
integer(kind=MPI_COUNT_KIND), intent(in) :: size
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_attach_buffer_f08ts_large
end interface MPI_Comm_attach_buffer
interface PMPI_Comm_attach_buffer
subroutine PMPIR_Comm_attach_buffer_f08ts(comm, buffer, size, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(*), dimension(..), asynchronous :: buffer
integer, intent(in) :: size
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_attach_buffer_f08ts
subroutine PMPIR_Comm_attach_buffer_f08ts_large(comm, buffer, size, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(*), dimension(..), asynchronous :: buffer
integer(kind=MPI_COUNT_KIND), intent(in) :: size
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_attach_buffer_f08ts_large
end interface PMPI_Comm_attach_buffer
interface MPI_Comm_compare
subroutine MPI_Comm_compare_f08(comm1, comm2, result, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm1
type(MPI_Comm), intent(in) :: comm2
integer, intent(out) :: result
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_compare_f08
end interface MPI_Comm_compare
interface PMPI_Comm_compare
subroutine PMPIR_Comm_compare_f08(comm1, comm2, result, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm1
type(MPI_Comm), intent(in) :: comm2
integer, intent(out) :: result
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_compare_f08
end interface PMPI_Comm_compare
interface MPI_Comm_create
subroutine MPI_Comm_create_f08(comm, group, newcomm, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Group), intent(in) :: group
type(MPI_Comm), intent(out) :: newcomm
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_create_f08
end interface MPI_Comm_create
interface PMPI_Comm_create
subroutine PMPIR_Comm_create_f08(comm, group, newcomm, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Group), intent(in) :: group
type(MPI_Comm), intent(out) :: newcomm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_create_f08
end interface PMPI_Comm_create
interface MPI_Comm_create_group
subroutine MPI_Comm_create_group_f08(comm, group, tag, newcomm, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Group), intent(in) :: group
integer, intent(in) :: tag
type(MPI_Comm), intent(out) :: newcomm
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_create_group_f08
end interface MPI_Comm_create_group
interface PMPI_Comm_create_group
subroutine PMPIR_Comm_create_group_f08(comm, group, tag, newcomm, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Group), intent(in) :: group
integer, intent(in) :: tag
type(MPI_Comm), intent(out) :: newcomm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_create_group_f08
end interface PMPI_Comm_create_group
interface MPI_Comm_detach_buffer
subroutine MPI_Comm_detach_buffer_f08(comm, buffer_addr, size, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(c_ptr), intent(out) :: buffer_addr
integer, intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_detach_buffer_f08
subroutine MPI_Comm_detach_buffer_f08_large(comm, buffer_addr, size, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(c_ptr), intent(out) :: buffer_addr
integer(kind=MPI_COUNT_KIND), intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_detach_buffer_f08_large
end interface MPI_Comm_detach_buffer
interface PMPI_Comm_detach_buffer
subroutine PMPIR_Comm_detach_buffer_f08(comm, buffer_addr, size, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(c_ptr), intent(out) :: buffer_addr
integer, intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_detach_buffer_f08
subroutine PMPIR_Comm_detach_buffer_f08_large(comm, buffer_addr, size, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(c_ptr), intent(out) :: buffer_addr
integer(kind=MPI_COUNT_KIND), intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_detach_buffer_f08_large
end interface PMPI_Comm_detach_buffer
interface MPI_Comm_dup
subroutine MPI_Comm_dup_f08(comm, newcomm, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Comm), intent(out) :: newcomm
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_dup_f08
end interface MPI_Comm_dup
interface PMPI_Comm_dup
subroutine PMPIR_Comm_dup_f08(comm, newcomm, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Comm), intent(out) :: newcomm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_dup_f08
end interface PMPI_Comm_dup
interface MPI_Comm_dup_with_info
subroutine MPI_Comm_dup_with_info_f08(comm, info, newcomm, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Comm), intent(out) :: newcomm
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_dup_with_info_f08
end interface MPI_Comm_dup_with_info
interface PMPI_Comm_dup_with_info
subroutine PMPIR_Comm_dup_with_info_f08(comm, info, newcomm, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Comm), intent(out) :: newcomm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_dup_with_info_f08
end interface PMPI_Comm_dup_with_info
interface MPI_Comm_flush_buffer
subroutine MPI_Comm_flush_buffer_f08(comm, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_flush_buffer_f08
end interface MPI_Comm_flush_buffer
interface PMPI_Comm_flush_buffer
subroutine PMPIR_Comm_flush_buffer_f08(comm, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_flush_buffer_f08
end interface PMPI_Comm_flush_buffer
interface MPI_Comm_free
subroutine MPI_Comm_free_f08(comm, ierror)
import
implicit none
type(MPI_Comm), intent(inout) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_free_f08
end interface MPI_Comm_free
interface PMPI_Comm_free
subroutine PMPIR_Comm_free_f08(comm, ierror)
import
implicit none
type(MPI_Comm), intent(inout) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_free_f08
end interface PMPI_Comm_free
interface MPI_Comm_get_info
subroutine MPI_Comm_get_info_f08(comm, info_used, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(out) :: info_used
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_get_info_f08
end interface MPI_Comm_get_info
interface PMPI_Comm_get_info
subroutine PMPIR_Comm_get_info_f08(comm, info_used, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(out) :: info_used
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_get_info_f08
end interface PMPI_Comm_get_info
interface MPI_Comm_get_name
subroutine MPI_Comm_get_name_f08(comm, comm_name, resultlen, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
character(len=*), intent(out) :: comm_name
integer, intent(out) :: resultlen
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_get_name_f08
end interface MPI_Comm_get_name
interface PMPI_Comm_get_name
subroutine PMPIR_Comm_get_name_f08(comm, comm_name, resultlen, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
character(len=*), intent(out) :: comm_name
integer, intent(out) :: resultlen
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_get_name_f08
end interface PMPI_Comm_get_name
interface MPI_Comm_group
subroutine MPI_Comm_group_f08(comm, group, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Group), intent(out) :: group
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_group_f08
end interface MPI_Comm_group
interface PMPI_Comm_group
subroutine PMPIR_Comm_group_f08(comm, group, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Group), intent(out) :: group
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_group_f08
end interface PMPI_Comm_group
interface MPI_Comm_idup
subroutine MPI_Comm_idup_f08(comm, newcomm, request, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Comm), intent(out) :: newcomm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_idup_f08
end interface MPI_Comm_idup
interface PMPI_Comm_idup
subroutine PMPIR_Comm_idup_f08(comm, newcomm, request, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Comm), intent(out) :: newcomm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_idup_f08
end interface PMPI_Comm_idup
interface MPI_Comm_idup_with_info
subroutine MPI_Comm_idup_with_info_f08(comm, info, newcomm, request, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Comm), intent(out) :: newcomm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_idup_with_info_f08
end interface MPI_Comm_idup_with_info
interface PMPI_Comm_idup_with_info
subroutine PMPIR_Comm_idup_with_info_f08(comm, info, newcomm, request, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
type(MPI_Comm), intent(out) :: newcomm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_idup_with_info_f08
end interface PMPI_Comm_idup_with_info
interface MPI_Comm_iflush_buffer
subroutine MPI_Comm_iflush_buffer_f08(comm, request, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_iflush_buffer_f08
end interface MPI_Comm_iflush_buffer
interface PMPI_Comm_iflush_buffer
subroutine PMPIR_Comm_iflush_buffer_f08(comm, request, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_iflush_buffer_f08
end interface PMPI_Comm_iflush_buffer
interface MPI_Comm_rank
subroutine MPI_Comm_rank_f08(comm, rank, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(out) :: rank
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_rank_f08
end interface MPI_Comm_rank
interface PMPI_Comm_rank
subroutine PMPIR_Comm_rank_f08(comm, rank, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(out) :: rank
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_rank_f08
end interface PMPI_Comm_rank
interface MPI_Comm_remote_group
subroutine MPI_Comm_remote_group_f08(comm, group, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Group), intent(out) :: group
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_remote_group_f08
end interface MPI_Comm_remote_group
interface PMPI_Comm_remote_group
subroutine PMPIR_Comm_remote_group_f08(comm, group, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Group), intent(out) :: group
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_remote_group_f08
end interface PMPI_Comm_remote_group
interface MPI_Comm_remote_size
subroutine MPI_Comm_remote_size_f08(comm, size, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_remote_size_f08
end interface MPI_Comm_remote_size
interface PMPI_Comm_remote_size
subroutine PMPIR_Comm_remote_size_f08(comm, size, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_remote_size_f08
end interface PMPI_Comm_remote_size
interface MPI_Comm_set_info
subroutine MPI_Comm_set_info_f08(comm, info, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_set_info_f08
end interface MPI_Comm_set_info
interface PMPI_Comm_set_info
subroutine PMPIR_Comm_set_info_f08(comm, info, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Info), intent(in) :: info
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_set_info_f08
end interface PMPI_Comm_set_info
interface MPI_Comm_set_name
subroutine MPI_Comm_set_name_f08(comm, comm_name, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
character(len=*), intent(in) :: comm_name
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_set_name_f08
end interface MPI_Comm_set_name
interface PMPI_Comm_set_name
subroutine PMPIR_Comm_set_name_f08(comm, comm_name, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
character(len=*), intent(in) :: comm_name
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_set_name_f08
end interface PMPI_Comm_set_name
interface MPI_Comm_size
subroutine MPI_Comm_size_f08(comm, size, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_size_f08
end interface MPI_Comm_size
interface PMPI_Comm_size
subroutine PMPIR_Comm_size_f08(comm, size, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_size_f08
end interface PMPI_Comm_size
interface MPI_Comm_split
subroutine MPI_Comm_split_f08(comm, color, key, newcomm, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: color
integer, intent(in) :: key
type(MPI_Comm), intent(out) :: newcomm
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_split_f08
end interface MPI_Comm_split
interface PMPI_Comm_split
subroutine PMPIR_Comm_split_f08(comm, color, key, newcomm, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: color
integer, intent(in) :: key
type(MPI_Comm), intent(out) :: newcomm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_split_f08
end interface PMPI_Comm_split
interface MPI_Comm_split_type
subroutine MPI_Comm_split_type_f08(comm, split_type, key, info, newcomm, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: split_type
integer, intent(in) :: key
type(MPI_Info), intent(in) :: info
type(MPI_Comm), intent(out) :: newcomm
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_split_type_f08
end interface MPI_Comm_split_type
interface PMPI_Comm_split_type
subroutine PMPIR_Comm_split_type_f08(comm, split_type, key, info, newcomm, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: split_type
integer, intent(in) :: key
type(MPI_Info), intent(in) :: info
type(MPI_Comm), intent(out) :: newcomm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_split_type_f08
end interface PMPI_Comm_split_type
interface MPI_Comm_test_inter
subroutine MPI_Comm_test_inter_f08(comm, flag, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
logical, intent(out) :: flag
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_test_inter_f08
end interface MPI_Comm_test_inter
interface PMPI_Comm_test_inter
subroutine PMPIR_Comm_test_inter_f08(comm, flag, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
logical, intent(out) :: flag
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_test_inter_f08
end interface PMPI_Comm_test_inter
interface MPI_Intercomm_create
subroutine MPI_Intercomm_create_f08(local_comm, local_leader, peer_comm, remote_leader, tag, &
    newintercomm, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: local_comm
integer, intent(in) :: local_leader
type(MPI_Comm), intent(in) :: peer_comm
integer, intent(in) :: remote_leader
integer, intent(in) :: tag
type(MPI_Comm), intent(out) :: newintercomm
integer, optional, intent(out) :: ierror
end subroutine MPI_Intercomm_create_f08
end interface MPI_Intercomm_create
interface PMPI_Intercomm_create
subroutine PMPIR_Intercomm_create_f08(local_comm, local_leader, peer_comm, remote_leader, tag, &
    newintercomm, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: local_comm
integer, intent(in) :: local_leader
type(MPI_Comm), intent(in) :: peer_comm
integer, intent(in) :: remote_leader
integer, intent(in) :: tag
type(MPI_Comm), intent(out) :: newintercomm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Intercomm_create_f08
end interface PMPI_Intercomm_create
interface MPI_Intercomm_merge
subroutine MPI_Intercomm_merge_f08(intercomm, high, newintracomm, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: intercomm
logical, intent(in) :: high
type(MPI_Comm), intent(out) :: newintracomm
integer, optional, intent(out) :: ierror
end subroutine MPI_Intercomm_merge_f08
end interface MPI_Intercomm_merge
interface PMPI_Intercomm_merge
subroutine PMPIR_Intercomm_merge_f08(intercomm, high, newintracomm, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: intercomm
logical, intent(in) :: high
type(MPI_Comm), intent(out) :: newintracomm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Intercomm_merge_f08
end interface PMPI_Intercomm_merge
interface MPI_Cart_coords
subroutine MPI_Cart_coords_f08(comm, rank, maxdims, coords, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: rank
integer, intent(in) :: maxdims
integer, intent(out) :: coords(*)
integer, optional, intent(out) :: ierror
end subroutine MPI_Cart_coords_f08
end interface MPI_Cart_coords
interface PMPI_Cart_coords
subroutine PMPIR_Cart_coords_f08(comm, rank, maxdims, coords, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: rank
integer, intent(in) :: maxdims
integer, intent(out) :: coords(*)
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Cart_coords_f08
end interface PMPI_Cart_coords
interface MPI_Cart_create
subroutine MPI_Cart_create_f08(comm_old, ndims, dims, periods, reorder, comm_cart, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm_old
integer, intent(in) :: ndims
integer, intent(in) :: dims(*)
logical, intent(in) :: periods(*)
logical, intent(in) :: reorder
type(MPI_Comm), intent(out) :: comm_cart
integer, optional, intent(out) :: ierror
end subroutine MPI_Cart_create_f08
end interface MPI_Cart_create
interface PMPI_Cart_create
subroutine PMPIR_Cart_create_f08(comm_old, ndims, dims, periods, reorder, comm_cart, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm_old
integer, intent(in) :: ndims
integer, intent(in) :: dims(*)
logical, intent(in) :: periods(*)
logical, intent(in) :: reorder
type(MPI_Comm), intent(out) :: comm_cart
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Cart_create_f08
end interface PMPI_Cart_create
interface MPI_Cart_get
subroutine MPI_Cart_get_f08(comm, maxdims, dims, periods, coords, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: maxdims
integer, intent(out) :: dims(*)
logical, intent(out) :: periods(*)
integer, intent(out) :: coords(*)
integer, optional, intent(out) :: ierror
end subroutine MPI_Cart_get_f08
end interface MPI_Cart_get
interface PMPI_Cart_get
subroutine PMPIR_Cart_get_f08(comm, maxdims, dims, periods, coords, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: maxdims
integer, intent(out) :: dims(*)
logical, intent(out) :: periods(*)
integer, intent(out) :: coords(*)
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Cart_get_f08
end interface PMPI_Cart_get
interface MPI_Cart_map
subroutine MPI_Cart_map_f08(comm, ndims, dims, periods, newrank, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: ndims
integer, intent(in) :: dims(*)
logical, intent(in) :: periods(*)
integer, intent(out) :: newrank
integer, optional, intent(out) :: ierror
end subroutine MPI_Cart_map_f08
end interface MPI_Cart_map
interface PMPI_Cart_map
subroutine PMPIR_Cart_map_f08(comm, ndims, dims, periods, newrank, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: ndims
integer, intent(in) :: dims(*)
logical, intent(in) :: periods(*)
integer, intent(out) :: newrank
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Cart_map_f08
end interface PMPI_Cart_map
interface MPI_Cart_rank
subroutine MPI_Cart_rank_f08(comm, coords, rank, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: coords(*)
integer, intent(out) :: rank
integer, optional, intent(out) :: ierror
end subroutine MPI_Cart_rank_f08
end interface MPI_Cart_rank
interface PMPI_Cart_rank
subroutine PMPIR_Cart_rank_f08(comm, coords, rank, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: coords(*)
integer, intent(out) :: rank
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Cart_rank_f08
end interface PMPI_Cart_rank
interface MPI_Cart_shift
subroutine MPI_Cart_shift_f08(comm, direction, disp, rank_source, rank_dest, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: direction
integer, intent(in) :: disp
integer, intent(out) :: rank_source
integer, intent(out) :: rank_dest
integer, optional, intent(out) :: ierror
end subroutine MPI_Cart_shift_f08
end interface MPI_Cart_shift
interface PMPI_Cart_shift
subroutine PMPIR_Cart_shift_f08(comm, direction, disp, rank_source, rank_dest, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: direction
integer, intent(in) :: disp
integer, intent(out) :: rank_source
integer, intent(out) :: rank_dest
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Cart_shift_f08
end interface PMPI_Cart_shift
interface MPI_Cart_sub
subroutine MPI_Cart_sub_f08(comm, remain_dims, newcomm, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
logical, intent(in) :: remain_dims(*)
type(MPI_Comm), intent(out) :: newcomm
integer, optional, intent(out) :: ierror
end subroutine MPI_Cart_sub_f08
end interface MPI_Cart_sub
interface PMPI_Cart_sub
subroutine PMPIR_Cart_sub_f08(comm, remain_dims, newcomm, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
logical, intent(in) :: remain_dims(*)
type(MPI_Comm), intent(out) :: newcomm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Cart_sub_f08
end interface PMPI_Cart_sub
interface MPI_Cartdim_get
subroutine MPI_Cartdim_get_f08(comm, ndims, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(out) :: ndims
integer, optional, intent(out) :: ierror
end subroutine MPI_Cartdim_get_f08
end interface MPI_Cartdim_get
interface PMPI_Cartdim_get
subroutine PMPIR_Cartdim_get_f08(comm, ndims, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(out) :: ndims
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Cartdim_get_f08
end interface PMPI_Cartdim_get
interface MPI_Dims_create
subroutine MPI_Dims_create_f08(nnodes, ndims, dims, ierror)
import
implicit none
integer, intent(in) :: nnodes
integer, intent(in) :: ndims
integer, intent(inout) :: dims(*)
integer, optional, intent(out) :: ierror
end subroutine MPI_Dims_create_f08
end interface MPI_Dims_create
interface PMPI_Dims_create
subroutine PMPIR_Dims_create_f08(nnodes, ndims, dims, ierror)
import
implicit none
integer, intent(in) :: nnodes
integer, intent(in) :: ndims
integer, intent(inout) :: dims(*)
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Dims_create_f08
end interface PMPI_Dims_create
interface MPI_Dist_graph_create
subroutine MPI_Dist_graph_create_f08(comm_old, n, sources, degrees, destinations, weights, info, &
    reorder, comm_dist_graph, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm_old
integer, intent(in) :: n
integer, intent(in) :: sources(*)
integer, intent(in) :: degrees(*)
integer, intent(in) :: destinations(*)
integer, intent(in) :: weights(*)
type(MPI_Info), intent(in) :: info
logical, intent(in) :: reorder
type(MPI_Comm), intent(out) :: comm_dist_graph
integer, optional, intent(out) :: ierror
end subroutine MPI_Dist_graph_create_f08
end interface MPI_Dist_graph_create
interface PMPI_Dist_graph_create
subroutine PMPIR_Dist_graph_create_f08(comm_old, n, sources, degrees, destinations, weights, info, &
    reorder, comm_dist_graph, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm_old
integer, intent(in) :: n
integer, intent(in) :: sources(*)
integer, intent(in) :: degrees(*)
integer, intent(in) :: destinations(*)
integer, intent(in) :: weights(*)
type(MPI_Info), intent(in) :: info
logical, intent(in) :: reorder
type(MPI_Comm), intent(out) :: comm_dist_graph
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Dist_graph_create_f08
end interface PMPI_Dist_graph_create
interface MPI_Dist_graph_create_adjacent
subroutine MPI_Dist_graph_create_adjacent_f08(comm_old, indegree, sources, sourceweights, &
    outdegree, destinations, destweights, info, reorder, comm_dist_graph, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm_old
integer, intent(in) :: indegree
integer, intent(in) :: sources(*)
integer, intent(in) :: sourceweights(*)
integer, intent(in) :: outdegree
integer, intent(in) :: destinations(*)
integer, intent(in) :: destweights(*)
type(MPI_Info), intent(in) :: info
logical, intent(in) :: reorder
type(MPI_Comm), intent(out) :: comm_dist_graph
integer, optional, intent(out) :: ierror
end subroutine MPI_Dist_graph_create_adjacent_f08
end interface MPI_Dist_graph_create_adjacent
interface PMPI_Dist_graph_create_adjacent
subroutine PMPIR_Dist_graph_create_adjacent_f08(comm_old, indegree, sources, sourceweights, &
    outdegree, destinations, destweights, info, reorder, comm_dist_graph, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm_old
integer, intent(in) :: indegree
integer, intent(in) :: sources(*)
integer, intent(in) :: sourceweights(*)
integer, intent(in) :: outdegree
integer, intent(in) :: destinations(*)
integer, intent(in) :: destweights(*)
type(MPI_Info), intent(in) :: info
logical, intent(in) :: reorder
type(MPI_Comm), intent(out) :: comm_dist_graph
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Dist_graph_create_adjacent_f08
end interface PMPI_Dist_graph_create_adjacent
interface MPI_Dist_graph_neighbors
subroutine MPI_Dist_graph_neighbors_f08(comm, maxindegree, sources, sourceweights, maxoutdegree, &
    destinations, destweights, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: maxindegree
integer, intent(out) :: sources(*)
integer :: sourceweights(*)
integer, intent(in) :: maxoutdegree
integer, intent(out) :: destinations(*)
integer :: destweights(*)
integer, optional, intent(out) :: ierror
end subroutine MPI_Dist_graph_neighbors_f08
end interface MPI_Dist_graph_neighbors
interface PMPI_Dist_graph_neighbors
subroutine PMPIR_Dist_graph_neighbors_f08(comm, maxindegree, sources, sourceweights, maxoutdegree, &
    destinations, destweights, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: maxindegree
integer, intent(out) :: sources(*)
integer :: sourceweights(*)
integer, intent(in) :: maxoutdegree
integer, intent(out) :: destinations(*)
integer :: destweights(*)
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Dist_graph_neighbors_f08
end interface PMPI_Dist_graph_neighbors
interface MPI_Dist_graph_neighbors_count
subroutine MPI_Dist_graph_neighbors_count_f08(comm, indegree, outdegree, weighted, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(out) :: indegree
integer, intent(out) :: outdegree
logical, intent(out) :: weighted
integer, optional, intent(out) :: ierror
end subroutine MPI_Dist_graph_neighbors_count_f08
end interface MPI_Dist_graph_neighbors_count
interface PMPI_Dist_graph_neighbors_count
subroutine PMPIR_Dist_graph_neighbors_count_f08(comm, indegree, outdegree, weighted, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(out) :: indegree
integer, intent(out) :: outdegree
logical, intent(out) :: weighted
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Dist_graph_neighbors_count_f08
end interface PMPI_Dist_graph_neighbors_count
interface MPI_Graph_create
subroutine MPI_Graph_create_f08(comm_old, nnodes, index, edges, reorder, comm_graph, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm_old
integer, intent(in) :: nnodes
integer, intent(in) :: index(*)
integer, intent(in) :: edges(*)
logical, intent(in) :: reorder
type(MPI_Comm), intent(out) :: comm_graph
integer, optional, intent(out) :: ierror
end subroutine MPI_Graph_create_f08
end interface MPI_Graph_create
interface PMPI_Graph_create
subroutine PMPIR_Graph_create_f08(comm_old, nnodes, index, edges, reorder, comm_graph, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm_old
integer, intent(in) :: nnodes
integer, intent(in) :: index(*)
integer, intent(in) :: edges(*)
logical, intent(in) :: reorder
type(MPI_Comm), intent(out) :: comm_graph
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Graph_create_f08
end interface PMPI_Graph_create
interface MPI_Graph_get
subroutine MPI_Graph_get_f08(comm, maxindex, maxedges, index, edges, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: maxindex
integer, intent(in) :: maxedges
integer, intent(out) :: index(*)
integer, intent(out) :: edges(*)
integer, optional, intent(out) :: ierror
end subroutine MPI_Graph_get_f08
end interface MPI_Graph_get
interface PMPI_Graph_get
subroutine PMPIR_Graph_get_f08(comm, maxindex, maxedges, index, edges, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: maxindex
integer, intent(in) :: maxedges
integer, intent(out) :: index(*)
integer, intent(out) :: edges(*)
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Graph_get_f08
end interface PMPI_Graph_get
interface MPI_Graph_map
subroutine MPI_Graph_map_f08(comm, nnodes, index, edges, newrank, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: nnodes
integer, intent(in) :: index(*)
integer, intent(in) :: edges(*)
integer, intent(out) :: newrank
integer, optional, intent(out) :: ierror
end subroutine MPI_Graph_map_f08
end interface MPI_Graph_map
interface PMPI_Graph_map
subroutine PMPIR_Graph_map_f08(comm, nnodes, index, edges, newrank, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: nnodes
integer, intent(in) :: index(*)
integer, intent(in) :: edges(*)
integer, intent(out) :: newrank
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Graph_map_f08
end interface PMPI_Graph_map
interface MPI_Graph_neighbors
subroutine MPI_Graph_neighbors_f08(comm, rank, maxneighbors, neighbors, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: rank
integer, intent(in) :: maxneighbors
integer, intent(out) :: neighbors(*)
integer, optional, intent(out) :: ierror
end subroutine MPI_Graph_neighbors_f08
end interface MPI_Graph_neighbors
interface PMPI_Graph_neighbors
subroutine PMPIR_Graph_neighbors_f08(comm, rank, maxneighbors, neighbors, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: rank
integer, intent(in) :: maxneighbors
integer, intent(out) :: neighbors(*)
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Graph_neighbors_f08
end interface PMPI_Graph_neighbors
interface MPI_Graph_neighbors_count
subroutine MPI_Graph_neighbors_count_f08(comm, rank, nneighbors, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: rank
integer, intent(out) :: nneighbors
integer, optional, intent(out) :: ierror
end subroutine MPI_Graph_neighbors_count_f08
end interface MPI_Graph_neighbors_count
interface PMPI_Graph_neighbors_count
subroutine PMPIR_Graph_neighbors_count_f08(comm, rank, nneighbors, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: rank
integer, intent(out) :: nneighbors
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Graph_neighbors_count_f08
end interface PMPI_Graph_neighbors_count
interface MPI_Graphdims_get
subroutine MPI_Graphdims_get_f08(comm, nnodes, nedges, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(out) :: nnodes
integer, intent(out) :: nedges
integer, optional, intent(out) :: ierror
end subroutine MPI_Graphdims_get_f08
end interface MPI_Graphdims_get
interface PMPI_Graphdims_get
subroutine PMPIR_Graphdims_get_f08(comm, nnodes, nedges, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(out) :: nnodes
integer, intent(out) :: nedges
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Graphdims_get_f08
end interface PMPI_Graphdims_get
interface MPI_Topo_test
subroutine MPI_Topo_test_f08(comm, status, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(out) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_Topo_test_f08
end interface MPI_Topo_test
interface PMPI_Topo_test
subroutine PMPIR_Topo_test_f08(comm, status, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(out) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Topo_test_f08
end interface PMPI_Topo_test
interface MPI_Comm_create_keyval
subroutine MPI_Comm_create_keyval_f08(comm_copy_attr_fn, comm_delete_attr_fn, comm_keyval, &
    extra_state, ierror)
import
implicit none
procedure(MPI_Comm_copy_attr_function) :: comm_copy_attr_fn
procedure(MPI_Comm_delete_attr_function) :: comm_delete_attr_fn
integer, intent(out) :: comm_keyval
integer(kind=MPI_ADDRESS_KIND), intent(in) :: extra_state
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_create_keyval_f08
end interface MPI_Comm_create_keyval
interface PMPI_Comm_create_keyval
subroutine PMPIR_Comm_create_keyval_f08(comm_copy_attr_fn, comm_delete_attr_fn, comm_keyval, &
    extra_state, ierror)
import
implicit none
procedure(MPI_Comm_copy_attr_function) :: comm_copy_attr_fn
procedure(MPI_Comm_delete_attr_function) :: comm_delete_attr_fn
integer, intent(out) :: comm_keyval
integer(kind=MPI_ADDRESS_KIND), intent(in) :: extra_state
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_create_keyval_f08
end interface PMPI_Comm_create_keyval
interface MPI_Comm_delete_attr
subroutine MPI_Comm_delete_attr_f08(comm, comm_keyval, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: comm_keyval
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_delete_attr_f08
end interface MPI_Comm_delete_attr
interface PMPI_Comm_delete_attr
subroutine PMPIR_Comm_delete_attr_f08(comm, comm_keyval, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: comm_keyval
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_delete_attr_f08
end interface PMPI_Comm_delete_attr
interface MPI_Comm_free_keyval
subroutine MPI_Comm_free_keyval_f08(comm_keyval, ierror)
import
implicit none
integer, intent(inout) :: comm_keyval
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_free_keyval_f08
end interface MPI_Comm_free_keyval
interface PMPI_Comm_free_keyval
subroutine PMPIR_Comm_free_keyval_f08(comm_keyval, ierror)
import
implicit none
integer, intent(inout) :: comm_keyval
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_free_keyval_f08
end interface PMPI_Comm_free_keyval
interface MPI_Comm_get_attr
subroutine MPI_Comm_get_attr_f08(comm, comm_keyval, attribute_val, flag, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: comm_keyval
integer(kind=MPI_ADDRESS_KIND), intent(out) :: attribute_val
logical, intent(out) :: flag
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_get_attr_f08
end interface MPI_Comm_get_attr
interface PMPI_Comm_get_attr
subroutine PMPIR_Comm_get_attr_f08(comm, comm_keyval, attribute_val, flag, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: comm_keyval
integer(kind=MPI_ADDRESS_KIND), intent(out) :: attribute_val
logical, intent(out) :: flag
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_get_attr_f08
end interface PMPI_Comm_get_attr
interface MPI_Comm_set_attr
subroutine MPI_Comm_set_attr_f08(comm, comm_keyval, attribute_val, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: comm_keyval
integer(kind=MPI_ADDRESS_KIND), intent(in) :: attribute_val
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_set_attr_f08
end interface MPI_Comm_set_attr
interface PMPI_Comm_set_attr
subroutine PMPIR_Comm_set_attr_f08(comm, comm_keyval, attribute_val, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: comm_keyval
integer(kind=MPI_ADDRESS_KIND), intent(in) :: attribute_val
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_set_attr_f08
end interface PMPI_Comm_set_attr
interface MPI_Type_create_keyval
subroutine MPI_Type_create_keyval_f08(type_copy_attr_fn, type_delete_attr_fn, type_keyval, &
    extra_state, ierror)
import
implicit none
procedure(MPI_Type_copy_attr_function) :: type_copy_attr_fn
procedure(MPI_Type_delete_attr_function) :: type_delete_attr_fn
integer, intent(out) :: type_keyval
integer(kind=MPI_ADDRESS_KIND), intent(in) :: extra_state
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_create_keyval_f08
end interface MPI_Type_create_keyval
interface PMPI_Type_create_keyval
subroutine PMPIR_Type_create_keyval_f08(type_copy_attr_fn, type_delete_attr_fn, type_keyval, &
    extra_state, ierror)
import
implicit none
procedure(MPI_Type_copy_attr_function) :: type_copy_attr_fn
procedure(MPI_Type_delete_attr_function) :: type_delete_attr_fn
integer, intent(out) :: type_keyval
integer(kind=MPI_ADDRESS_KIND), intent(in) :: extra_state
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_create_keyval_f08
end interface PMPI_Type_create_keyval
interface MPI_Type_delete_attr
subroutine MPI_Type_delete_attr_f08(datatype, type_keyval, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: type_keyval
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_delete_attr_f08
end interface MPI_Type_delete_attr
interface PMPI_Type_delete_attr
subroutine PMPIR_Type_delete_attr_f08(datatype, type_keyval, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: type_keyval
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_delete_attr_f08
end interface PMPI_Type_delete_attr
interface MPI_Type_free_keyval
subroutine MPI_Type_free_keyval_f08(type_keyval, ierror)
import
implicit none
integer, intent(inout) :: type_keyval
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_free_keyval_f08
end interface MPI_Type_free_keyval
interface PMPI_Type_free_keyval
subroutine PMPIR_Type_free_keyval_f08(type_keyval, ierror)
import
implicit none
integer, intent(inout) :: type_keyval
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_free_keyval_f08
end interface PMPI_Type_free_keyval
interface MPI_Type_get_attr
subroutine MPI_Type_get_attr_f08(datatype, type_keyval, attribute_val, flag, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: type_keyval
integer(kind=MPI_ADDRESS_KIND), intent(out) :: attribute_val
logical, intent(out) :: flag
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_get_attr_f08
end interface MPI_Type_get_attr
interface PMPI_Type_get_attr
subroutine PMPIR_Type_get_attr_f08(datatype, type_keyval, attribute_val, flag, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: type_keyval
integer(kind=MPI_ADDRESS_KIND), intent(out) :: attribute_val
logical, intent(out) :: flag
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_get_attr_f08
end interface PMPI_Type_get_attr
interface MPI_Type_set_attr
subroutine MPI_Type_set_attr_f08(datatype, type_keyval, attribute_val, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: type_keyval
integer(kind=MPI_ADDRESS_KIND), intent(in) :: attribute_val
integer, optional, intent(out) :: ierror
end subroutine MPI_Type_set_attr_f08
end interface MPI_Type_set_attr
interface PMPI_Type_set_attr
subroutine PMPIR_Type_set_attr_f08(datatype, type_keyval, attribute_val, ierror)
import
implicit none
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: type_keyval
integer(kind=MPI_ADDRESS_KIND), intent(in) :: attribute_val
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Type_set_attr_f08
end interface PMPI_Type_set_attr
interface MPI_Add_error_class
subroutine MPI_Add_error_class_f08(errorclass, ierror)
import
implicit none
integer, intent(out) :: errorclass
integer, optional, intent(out) :: ierror
end subroutine MPI_Add_error_class_f08
end interface MPI_Add_error_class
interface PMPI_Add_error_class
subroutine PMPIR_Add_error_class_f08(errorclass, ierror)
import
implicit none
integer, intent(out) :: errorclass
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Add_error_class_f08
end interface PMPI_Add_error_class
interface MPI_Add_error_code
subroutine MPI_Add_error_code_f08(errorclass, errorcode, ierror)
import
implicit none
integer, intent(in) :: errorclass
integer, intent(out) :: errorcode
integer, optional, intent(out) :: ierror
end subroutine MPI_Add_error_code_f08
end interface MPI_Add_error_code
interface PMPI_Add_error_code
subroutine PMPIR_Add_error_code_f08(errorclass, errorcode, ierror)
import
implicit none
integer, intent(in) :: errorclass
integer, intent(out) :: errorcode
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Add_error_code_f08
end interface PMPI_Add_error_code
interface MPI_Add_error_string
subroutine MPI_Add_error_string_f08(errorcode, string, ierror)
import
implicit none
integer, intent(in) :: errorcode
character(len=*), intent(in) :: string
integer, optional, intent(out) :: ierror
end subroutine MPI_Add_error_string_f08
end interface MPI_Add_error_string
interface PMPI_Add_error_string
subroutine PMPIR_Add_error_string_f08(errorcode, string, ierror)
import
implicit none
integer, intent(in) :: errorcode
character(len=*), intent(in) :: string
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Add_error_string_f08
end interface PMPI_Add_error_string
interface MPI_Comm_call_errhandler
subroutine MPI_Comm_call_errhandler_f08(comm, errorcode, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: errorcode
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_call_errhandler_f08
end interface MPI_Comm_call_errhandler
interface PMPI_Comm_call_errhandler
subroutine PMPIR_Comm_call_errhandler_f08(comm, errorcode, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: errorcode
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_call_errhandler_f08
end interface PMPI_Comm_call_errhandler
interface MPI_Comm_create_errhandler
subroutine MPI_Comm_create_errhandler_f08(comm_errhandler_fn, errhandler, ierror)
import
implicit none
procedure(MPI_Comm_errhandler_function) :: comm_errhandler_fn
type(MPI_Errhandler), intent(out) :: errhandler
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_create_errhandler_f08
end interface MPI_Comm_create_errhandler
interface PMPI_Comm_create_errhandler
subroutine PMPIR_Comm_create_errhandler_f08(comm_errhandler_fn, errhandler, ierror)
import
implicit none
procedure(MPI_Comm_errhandler_function) :: comm_errhandler_fn
type(MPI_Errhandler), intent(out) :: errhandler
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_create_errhandler_f08
end interface PMPI_Comm_create_errhandler
interface MPI_Comm_get_errhandler
subroutine MPI_Comm_get_errhandler_f08(comm, errhandler, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Errhandler), intent(out) :: errhandler
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_get_errhandler_f08
end interface MPI_Comm_get_errhandler
interface PMPI_Comm_get_errhandler
subroutine PMPIR_Comm_get_errhandler_f08(comm, errhandler, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Errhandler), intent(out) :: errhandler
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_get_errhandler_f08
end interface PMPI_Comm_get_errhandler
interface MPI_Comm_set_errhandler
subroutine MPI_Comm_set_errhandler_f08(comm, errhandler, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Errhandler), intent(in) :: errhandler
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_set_errhandler_f08
end interface MPI_Comm_set_errhandler
interface PMPI_Comm_set_errhandler
subroutine PMPIR_Comm_set_errhandler_f08(comm, errhandler, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Errhandler), intent(in) :: errhandler
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_set_errhandler_f08
end interface PMPI_Comm_set_errhandler
interface MPI_Errhandler_free
subroutine MPI_Errhandler_free_f08(errhandler, ierror)
import
implicit none
type(MPI_Errhandler), intent(inout) :: errhandler
integer, optional, intent(out) :: ierror
end subroutine MPI_Errhandler_free_f08
end interface MPI_Errhandler_free
interface PMPI_Errhandler_free
subroutine PMPIR_Errhandler_free_f08(errhandler, ierror)
import
implicit none
type(MPI_Errhandler), intent(inout) :: errhandler
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Errhandler_free_f08
end interface PMPI_Errhandler_free
interface MPI_Error_class
subroutine MPI_Error_class_f08(errorcode, errorclass, ierror)
import
implicit none
integer, intent(in) :: errorcode
integer, intent(out) :: errorclass
integer, optional, intent(out) :: ierror
end subroutine MPI_Error_class_f08
end interface MPI_Error_class
interface PMPI_Error_class
subroutine PMPIR_Error_class_f08(errorcode, errorclass, ierror)
import
implicit none
integer, intent(in) :: errorcode
integer, intent(out) :: errorclass
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Error_class_f08
end interface PMPI_Error_class
interface MPI_Error_string
subroutine MPI_Error_string_f08(errorcode, string, resultlen, ierror)
import
implicit none
integer, intent(in) :: errorcode
character(len=*), intent(out) :: string
integer, intent(out) :: resultlen
integer, optional, intent(out) :: ierror
end subroutine MPI_Error_string_f08
end interface MPI_Error_string
interface PMPI_Error_string
subroutine PMPIR_Error_string_f08(errorcode, string, resultlen, ierror)
import
implicit none
integer, intent(in) :: errorcode
character(len=*), intent(out) :: string
integer, intent(out) :: resultlen
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Error_string_f08
end interface PMPI_Error_string
interface MPI_Remove_error_class
subroutine MPI_Remove_error_class_f08(errorclass, ierror)
import
implicit none
integer, intent(in) :: errorclass
integer, optional, intent(out) :: ierror
end subroutine MPI_Remove_error_class_f08
end interface MPI_Remove_error_class
interface PMPI_Remove_error_class
subroutine PMPIR_Remove_error_class_f08(errorclass, ierror)
import
implicit none
integer, intent(in) :: errorclass
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Remove_error_class_f08
end interface PMPI_Remove_error_class
interface MPI_Remove_error_code
subroutine MPI_Remove_error_code_f08(errorcode, ierror)
import
implicit none
integer, intent(in) :: errorcode
integer, optional, intent(out) :: ierror
end subroutine MPI_Remove_error_code_f08
end interface MPI_Remove_error_code
interface PMPI_Remove_error_code
subroutine PMPIR_Remove_error_code_f08(errorcode, ierror)
import
implicit none
integer, intent(in) :: errorcode
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Remove_error_code_f08
end interface PMPI_Remove_error_code
interface MPI_Remove_error_string
subroutine MPI_Remove_error_string_f08(errorcode, ierror)
import
implicit none
integer, intent(in) :: errorcode
integer, optional, intent(out) :: ierror
end subroutine MPI_Remove_error_string_f08
end interface MPI_Remove_error_string
interface PMPI_Remove_error_string
subroutine PMPIR_Remove_error_string_f08(errorcode, ierror)
import
implicit none
integer, intent(in) :: errorcode
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Remove_error_string_f08
end interface PMPI_Remove_error_string
interface MPI_Info_create
subroutine MPI_Info_create_f08(info, ierror)
import
implicit none
type(MPI_Info), intent(out) :: info
integer, optional, intent(out) :: ierror
end subroutine MPI_Info_create_f08
end interface MPI_Info_create
interface PMPI_Info_create
subroutine PMPIR_Info_create_f08(info, ierror)
import
implicit none
type(MPI_Info), intent(out) :: info
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Info_create_f08
end interface PMPI_Info_create
interface MPI_Info_create_env
subroutine MPI_Info_create_env_f08(info, ierror)
import
implicit none
type(MPI_Info), intent(out) :: info
integer, optional, intent(out) :: ierror
end subroutine MPI_Info_create_env_f08
end interface MPI_Info_create_env
interface PMPI_Info_create_env
subroutine PMPIR_Info_create_env_f08(info, ierror)
import
implicit none
type(MPI_Info), intent(out) :: info
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Info_create_env_f08
end interface PMPI_Info_create_env
interface MPI_Info_delete
subroutine MPI_Info_delete_f08(info, key, ierror)
import
implicit none
type(MPI_Info), intent(in) :: info
character(len=*), intent(in) :: key
integer, optional, intent(out) :: ierror
end subroutine MPI_Info_delete_f08
end interface MPI_Info_delete
interface PMPI_Info_delete
subroutine PMPIR_Info_delete_f08(info, key, ierror)
import
implicit none
type(MPI_Info), intent(in) :: info
character(len=*), intent(in) :: key
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Info_delete_f08
end interface PMPI_Info_delete
interface MPI_Info_dup
subroutine MPI_Info_dup_f08(info, newinfo, ierror)
import
implicit none
type(MPI_Info), intent(in) :: info
type(MPI_Info), intent(out) :: newinfo
integer, optional, intent(out) :: ierror
end subroutine MPI_Info_dup_f08
end interface MPI_Info_dup
interface PMPI_Info_dup
subroutine PMPIR_Info_dup_f08(info, newinfo, ierror)
import
implicit none
type(MPI_Info), intent(in) :: info
type(MPI_Info), intent(out) :: newinfo
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Info_dup_f08
end interface PMPI_Info_dup
interface MPI_Info_free
subroutine MPI_Info_free_f08(info, ierror)
import
implicit none
type(MPI_Info), intent(inout) :: info
integer, optional, intent(out) :: ierror
end subroutine MPI_Info_free_f08
end interface MPI_Info_free
interface PMPI_Info_free
subroutine PMPIR_Info_free_f08(info, ierror)
import
implicit none
type(MPI_Info), intent(inout) :: info
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Info_free_f08
end interface PMPI_Info_free
interface MPI_Info_get
subroutine MPI_Info_get_f08(info, key, valuelen, value, flag, ierror)
import
implicit none
type(MPI_Info), intent(in) :: info
character(len=*), intent(in) :: key
integer, intent(in) :: valuelen
character(len=*), intent(out) :: value
logical, intent(out) :: flag
integer, optional, intent(out) :: ierror
end subroutine MPI_Info_get_f08
end interface MPI_Info_get
interface PMPI_Info_get
subroutine PMPIR_Info_get_f08(info, key, valuelen, value, flag, ierror)
import
implicit none
type(MPI_Info), intent(in) :: info
character(len=*), intent(in) :: key
integer, intent(in) :: valuelen
character(len=*), intent(out) :: value
logical, intent(out) :: flag
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Info_get_f08
end interface PMPI_Info_get
interface MPI_Info_get_nkeys
subroutine MPI_Info_get_nkeys_f08(info, nkeys, ierror)
import
implicit none
type(MPI_Info), intent(in) :: info
integer, intent(out) :: nkeys
integer, optional, intent(out) :: ierror
end subroutine MPI_Info_get_nkeys_f08
end interface MPI_Info_get_nkeys
interface PMPI_Info_get_nkeys
subroutine PMPIR_Info_get_nkeys_f08(info, nkeys, ierror)
import
implicit none
type(MPI_Info), intent(in) :: info
integer, intent(out) :: nkeys
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Info_get_nkeys_f08
end interface PMPI_Info_get_nkeys
interface MPI_Info_get_nthkey
subroutine MPI_Info_get_nthkey_f08(info, n, key, ierror)
import
implicit none
type(MPI_Info), intent(in) :: info
integer, intent(in) :: n
character(len=*), intent(out) :: key
integer, optional, intent(out) :: ierror
end subroutine MPI_Info_get_nthkey_f08
end interface MPI_Info_get_nthkey
interface PMPI_Info_get_nthkey
subroutine PMPIR_Info_get_nthkey_f08(info, n, key, ierror)
import
implicit none
type(MPI_Info), intent(in) :: info
integer, intent(in) :: n
character(len=*), intent(out) :: key
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Info_get_nthkey_f08
end interface PMPI_Info_get_nthkey
interface MPI_Info_get_string
subroutine MPI_Info_get_string_f08(info, key, buflen, value, flag, ierror)
import
implicit none
type(MPI_Info), intent(in) :: info
character(len=*), intent(in) :: key
integer, intent(inout) :: buflen
character(len=*), intent(out) :: value
logical, intent(out) :: flag
integer, optional, intent(out) :: ierror
end subroutine MPI_Info_get_string_f08
end interface MPI_Info_get_string
interface PMPI_Info_get_string
subroutine PMPIR_Info_get_string_f08(info, key, buflen, value, flag, ierror)
import
implicit none
type(MPI_Info), intent(in) :: info
character(len=*), intent(in) :: key
integer, intent(inout) :: buflen
character(len=*), intent(out) :: value
logical, intent(out) :: flag
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Info_get_string_f08
end interface PMPI_Info_get_string
interface MPI_Info_get_valuelen
subroutine MPI_Info_get_valuelen_f08(info, key, valuelen, flag, ierror)
import
implicit none
type(MPI_Info), intent(in) :: info
character(len=*), intent(in) :: key
integer, intent(out) :: valuelen
logical, intent(out) :: flag
integer, optional, intent(out) :: ierror
end subroutine MPI_Info_get_valuelen_f08
end interface MPI_Info_get_valuelen
interface PMPI_Info_get_valuelen
subroutine PMPIR_Info_get_valuelen_f08(info, key, valuelen, flag, ierror)
import
implicit none
type(MPI_Info), intent(in) :: info
character(len=*), intent(in) :: key
integer, intent(out) :: valuelen
logical, intent(out) :: flag
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Info_get_valuelen_f08
end interface PMPI_Info_get_valuelen
interface MPI_Info_set
subroutine MPI_Info_set_f08(info, key, value, ierror)
import
implicit none
type(MPI_Info), intent(in) :: info
character(len=*), intent(in) :: key
character(len=*), intent(in) :: value
integer, optional, intent(out) :: ierror
end subroutine MPI_Info_set_f08
end interface MPI_Info_set
interface PMPI_Info_set
subroutine PMPIR_Info_set_f08(info, key, value, ierror)
import
implicit none
type(MPI_Info), intent(in) :: info
character(len=*), intent(in) :: key
character(len=*), intent(in) :: value
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Info_set_f08
end interface PMPI_Info_set
interface MPI_Accumulate
subroutine MPI_Accumulate_f08ts(origin_addr, origin_count, origin_datatype, target_rank, &
    target_disp, target_count, target_datatype, op, win, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer, intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer, intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Op), intent(in) :: op
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Accumulate_f08ts
subroutine MPI_Accumulate_f08ts_large(origin_addr, origin_count, origin_datatype, target_rank, &
    target_disp, target_count, target_datatype, op, win, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer(kind=MPI_COUNT_KIND), intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer(kind=MPI_COUNT_KIND), intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Op), intent(in) :: op
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Accumulate_f08ts_large
end interface MPI_Accumulate
interface PMPI_Accumulate
subroutine PMPIR_Accumulate_f08ts(origin_addr, origin_count, origin_datatype, target_rank, &
    target_disp, target_count, target_datatype, op, win, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer, intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer, intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Op), intent(in) :: op
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Accumulate_f08ts
subroutine PMPIR_Accumulate_f08ts_large(origin_addr, origin_count, origin_datatype, target_rank, &
    target_disp, target_count, target_datatype, op, win, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer(kind=MPI_COUNT_KIND), intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer(kind=MPI_COUNT_KIND), intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Op), intent(in) :: op
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Accumulate_f08ts_large
end interface PMPI_Accumulate
interface MPI_Compare_and_swap
subroutine MPI_Compare_and_swap_f08ts(origin_addr, compare_addr, result_addr, datatype, &
    target_rank, target_disp, win, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
type(*), dimension(..), asynchronous :: compare_addr
type(*), dimension(..), asynchronous :: result_addr
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Compare_and_swap_f08ts
end interface MPI_Compare_and_swap
interface PMPI_Compare_and_swap
subroutine PMPIR_Compare_and_swap_f08ts(origin_addr, compare_addr, result_addr, datatype, &
    target_rank, target_disp, win, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
type(*), dimension(..), asynchronous :: compare_addr
type(*), dimension(..), asynchronous :: result_addr
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Compare_and_swap_f08ts
end interface PMPI_Compare_and_swap
interface MPI_Fetch_and_op
subroutine MPI_Fetch_and_op_f08ts(origin_addr, result_addr, datatype, target_rank, target_disp, op, &
    win, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
type(*), dimension(..), asynchronous :: result_addr
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
type(MPI_Op), intent(in) :: op
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Fetch_and_op_f08ts
end interface MPI_Fetch_and_op
interface PMPI_Fetch_and_op
subroutine PMPIR_Fetch_and_op_f08ts(origin_addr, result_addr, datatype, target_rank, target_disp, &
    op, win, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
type(*), dimension(..), asynchronous :: result_addr
type(MPI_Datatype), intent(in) :: datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
type(MPI_Op), intent(in) :: op
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Fetch_and_op_f08ts
end interface PMPI_Fetch_and_op
interface MPI_Get
subroutine MPI_Get_f08ts(origin_addr, origin_count, origin_datatype, target_rank, target_disp, &
    target_count, target_datatype, win, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer, intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer, intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Get_f08ts
subroutine MPI_Get_f08ts_large(origin_addr, origin_count, origin_datatype, target_rank, &
    target_disp, target_count, target_datatype, win, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer(kind=MPI_COUNT_KIND), intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer(kind=MPI_COUNT_KIND), intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Get_f08ts_large
end interface MPI_Get
interface PMPI_Get
subroutine PMPIR_Get_f08ts(origin_addr, origin_count, origin_datatype, target_rank, target_disp, &
    target_count, target_datatype, win, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer, intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer, intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Get_f08ts
subroutine PMPIR_Get_f08ts_large(origin_addr, origin_count, origin_datatype, target_rank, &
    target_disp, target_count, target_datatype, win, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer(kind=MPI_COUNT_KIND), intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer(kind=MPI_COUNT_KIND), intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Get_f08ts_large
end interface PMPI_Get
interface MPI_Get_accumulate
subroutine MPI_Get_accumulate_f08ts(origin_addr, origin_count, origin_datatype, result_addr, &
    result_count, result_datatype, target_rank, target_disp, target_count, target_datatype, op, &
    win, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer, intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
type(*), dimension(..), asynchronous :: result_addr
integer, intent(in) :: result_count
type(MPI_Datatype), intent(in) :: result_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer, intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Op), intent(in) :: op
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Get_accumulate_f08ts
subroutine MPI_Get_accumulate_f08ts_large(origin_addr, origin_count, origin_datatype, result_addr, &
    result_count, result_datatype, target_rank, target_disp, target_count, target_datatype, op, &
    win, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer(kind=MPI_COUNT_KIND), intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
type(*), dimension(..), asynchronous :: result_addr
integer(kind=MPI_COUNT_KIND), intent(in) :: result_count
type(MPI_Datatype), intent(in) :: result_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer(kind=MPI_COUNT_KIND), intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Op), intent(in) :: op
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Get_accumulate_f08ts_large
end interface MPI_Get_accumulate
interface PMPI_Get_accumulate
subroutine PMPIR_Get_accumulate_f08ts(origin_addr, origin_count, origin_datatype, result_addr, &
    result_count, result_datatype, target_rank, target_disp, target_count, target_datatype, op, &
    win, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer, intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
type(*), dimension(..), asynchronous :: result_addr
integer, intent(in) :: result_count
type(MPI_Datatype), intent(in) :: result_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer, intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Op), intent(in) :: op
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Get_accumulate_f08ts
subroutine PMPIR_Get_accumulate_f08ts_large(origin_addr, origin_count, origin_datatype, &
    result_addr, result_count, result_datatype, target_rank, target_disp, target_count, &
    target_datatype, op, win, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer(kind=MPI_COUNT_KIND), intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
type(*), dimension(..), asynchronous :: result_addr
integer(kind=MPI_COUNT_KIND), intent(in) :: result_count
type(MPI_Datatype), intent(in) :: result_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer(kind=MPI_COUNT_KIND), intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Op), intent(in) :: op
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Get_accumulate_f08ts_large
end interface PMPI_Get_accumulate
interface MPI_Put
subroutine MPI_Put_f08ts(origin_addr, origin_count, origin_datatype, target_rank, target_disp, &
    target_count, target_datatype, win, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer, intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer, intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Put_f08ts
subroutine MPI_Put_f08ts_large(origin_addr, origin_count, origin_datatype, target_rank, &
    target_disp, target_count, target_datatype, win, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer(kind=MPI_COUNT_KIND), intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer(kind=MPI_COUNT_KIND), intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Put_f08ts_large
end interface MPI_Put
interface PMPI_Put
subroutine PMPIR_Put_f08ts(origin_addr, origin_count, origin_datatype, target_rank, target_disp, &
    target_count, target_datatype, win, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer, intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer, intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Put_f08ts
subroutine PMPIR_Put_f08ts_large(origin_addr, origin_count, origin_datatype, target_rank, &
    target_disp, target_count, target_datatype, win, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer(kind=MPI_COUNT_KIND), intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer(kind=MPI_COUNT_KIND), intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Put_f08ts_large
end interface PMPI_Put
interface MPI_Raccumulate
subroutine MPI_Raccumulate_f08ts(origin_addr, origin_count, origin_datatype, target_rank, &
    target_disp, target_count, target_datatype, op, win, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer, intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer, intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Op), intent(in) :: op
type(MPI_Win), intent(in) :: win
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Raccumulate_f08ts
subroutine MPI_Raccumulate_f08ts_large(origin_addr, origin_count, origin_datatype, target_rank, &
    target_disp, target_count, target_datatype, op, win, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer(kind=MPI_COUNT_KIND), intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer(kind=MPI_COUNT_KIND), intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Op), intent(in) :: op
type(MPI_Win), intent(in) :: win
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Raccumulate_f08ts_large
end interface MPI_Raccumulate
interface PMPI_Raccumulate
subroutine PMPIR_Raccumulate_f08ts(origin_addr, origin_count, origin_datatype, target_rank, &
    target_disp, target_count, target_datatype, op, win, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer, intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer, intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Op), intent(in) :: op
type(MPI_Win), intent(in) :: win
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Raccumulate_f08ts
subroutine PMPIR_Raccumulate_f08ts_large(origin_addr, origin_count, origin_datatype, target_rank, &
    target_disp, target_count, target_datatype, op, win, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer(kind=MPI_COUNT_KIND), intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer(kind=MPI_COUNT_KIND), intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Op), intent(in) :: op
type(MPI_Win), intent(in) :: win
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Raccumulate_f08ts_large
end interface PMPI_Raccumulate
interface MPI_Rget
subroutine MPI_Rget_f08ts(origin_addr, origin_count, origin_datatype, target_rank, target_disp, &
    target_count, target_datatype, win, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer, intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer, intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Win), intent(in) :: win
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Rget_f08ts
subroutine MPI_Rget_f08ts_large(origin_addr, origin_count, origin_datatype, target_rank, &
    target_disp, target_count, target_datatype, win, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer(kind=MPI_COUNT_KIND), intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer(kind=MPI_COUNT_KIND), intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Win), intent(in) :: win
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Rget_f08ts_large
end interface MPI_Rget
interface PMPI_Rget
subroutine PMPIR_Rget_f08ts(origin_addr, origin_count, origin_datatype, target_rank, target_disp, &
    target_count, target_datatype, win, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer, intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer, intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Win), intent(in) :: win
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Rget_f08ts
subroutine PMPIR_Rget_f08ts_large(origin_addr, origin_count, origin_datatype, target_rank, &
    target_disp, target_count, target_datatype, win, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer(kind=MPI_COUNT_KIND), intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer(kind=MPI_COUNT_KIND), intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Win), intent(in) :: win
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Rget_f08ts_large
end interface PMPI_Rget
interface MPI_Rget_accumulate
subroutine MPI_Rget_accumulate_f08ts(origin_addr, origin_count, origin_datatype, result_addr, &
    result_count, result_datatype, target_rank, target_disp, target_count, target_datatype, op, &
    win, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer, intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
type(*), dimension(..), asynchronous :: result_addr
integer, intent(in) :: result_count
type(MPI_Datatype), intent(in) :: result_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer, intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Op), intent(in) :: op
type(MPI_Win), intent(in) :: win
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Rget_accumulate_f08ts
subroutine MPI_Rget_accumulate_f08ts_large(origin_addr, origin_count, origin_datatype, result_addr, &
    result_count, result_datatype, target_rank, target_disp, target_count, target_datatype, op, &
    win, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer(kind=MPI_COUNT_KIND), intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
type(*), dimension(..), asynchronous :: result_addr
integer(kind=MPI_COUNT_KIND), intent(in) :: result_count
type(MPI_Datatype), intent(in) :: result_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer(kind=MPI_COUNT_KIND), intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Op), intent(in) :: op
type(MPI_Win), intent(in) :: win
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Rget_accumulate_f08ts_large
end interface MPI_Rget_accumulate
interface PMPI_Rget_accumulate
subroutine PMPIR_Rget_accumulate_f08ts(origin_addr, origin_count, origin_datatype, result_addr, &
    result_count, result_datatype, target_rank, target_disp, target_count, target_datatype, op, &
    win, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer, intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
type(*), dimension(..), asynchronous :: result_addr
integer, intent(in) :: result_count
type(MPI_Datatype), intent(in) :: result_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer, intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Op), intent(in) :: op
type(MPI_Win), intent(in) :: win
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Rget_accumulate_f08ts
subroutine PMPIR_Rget_accumulate_f08ts_large(origin_addr, origin_count, origin_datatype, &
    result_addr, result_count, result_datatype, target_rank, target_disp, target_count, &
    target_datatype, op, win, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer(kind=MPI_COUNT_KIND), intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
type(*), dimension(..), asynchronous :: result_addr
integer(kind=MPI_COUNT_KIND), intent(in) :: result_count
type(MPI_Datatype), intent(in) :: result_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer(kind=MPI_COUNT_KIND), intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Op), intent(in) :: op
type(MPI_Win), intent(in) :: win
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Rget_accumulate_f08ts_large
end interface PMPI_Rget_accumulate
interface MPI_Rput
subroutine MPI_Rput_f08ts(origin_addr, origin_count, origin_datatype, target_rank, target_disp, &
    target_count, target_datatype, win, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer, intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer, intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Win), intent(in) :: win
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Rput_f08ts
subroutine MPI_Rput_f08ts_large(origin_addr, origin_count, origin_datatype, target_rank, &
    target_disp, target_count, target_datatype, win, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer(kind=MPI_COUNT_KIND), intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer(kind=MPI_COUNT_KIND), intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Win), intent(in) :: win
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Rput_f08ts_large
end interface MPI_Rput
interface PMPI_Rput
subroutine PMPIR_Rput_f08ts(origin_addr, origin_count, origin_datatype, target_rank, target_disp, &
    target_count, target_datatype, win, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer, intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer, intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Win), intent(in) :: win
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Rput_f08ts
subroutine PMPIR_Rput_f08ts_large(origin_addr, origin_count, origin_datatype, target_rank, &
    target_disp, target_count, target_datatype, win, request, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: origin_addr
integer(kind=MPI_COUNT_KIND), intent(in) :: origin_count
type(MPI_Datatype), intent(in) :: origin_datatype
integer, intent(in) :: target_rank
integer(kind=MPI_ADDRESS_KIND), intent(in) :: target_disp
integer(kind=MPI_COUNT_KIND), intent(in) :: target_count
type(MPI_Datatype), intent(in) :: target_datatype
type(MPI_Win), intent(in) :: win
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Rput_f08ts_large
end interface PMPI_Rput
interface MPI_Win_allocate
subroutine MPI_Win_allocate_f08(size, disp_unit, info, comm, baseptr, win, ierror)
import
implicit none
integer(kind=MPI_ADDRESS_KIND), intent(in) :: size
integer, intent(in) :: disp_unit
type(MPI_Info), intent(in) :: info
type(MPI_Comm), intent(in) :: comm
type(c_ptr), intent(out) :: baseptr
type(MPI_Win), intent(out) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_allocate_f08
subroutine MPI_Win_allocate_f08_large(size, disp_unit, info, comm, baseptr, win, ierror)
import
implicit none
integer(kind=MPI_ADDRESS_KIND), intent(in) :: size
integer(kind=MPI_ADDRESS_KIND), intent(in) :: disp_unit
type(MPI_Info), intent(in) :: info
type(MPI_Comm), intent(in) :: comm
type(c_ptr), intent(out) :: baseptr
type(MPI_Win), intent(out) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_allocate_f08_large
end interface MPI_Win_allocate
interface PMPI_Win_allocate
subroutine PMPIR_Win_allocate_f08(size, disp_unit, info, comm, baseptr, win, ierror)
import
implicit none
integer(kind=MPI_ADDRESS_KIND), intent(in) :: size
integer, intent(in) :: disp_unit
type(MPI_Info), intent(in) :: info
type(MPI_Comm), intent(in) :: comm
type(c_ptr), intent(out) :: baseptr
type(MPI_Win), intent(out) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_allocate_f08
subroutine PMPIR_Win_allocate_f08_large(size, disp_unit, info, comm, baseptr, win, ierror)
import
implicit none
integer(kind=MPI_ADDRESS_KIND), intent(in) :: size
integer(kind=MPI_ADDRESS_KIND), intent(in) :: disp_unit
type(MPI_Info), intent(in) :: info
type(MPI_Comm), intent(in) :: comm
type(c_ptr), intent(out) :: baseptr
type(MPI_Win), intent(out) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_allocate_f08_large
end interface PMPI_Win_allocate
interface MPI_Win_allocate_shared
subroutine MPI_Win_allocate_shared_f08(size, disp_unit, info, comm, baseptr, win, ierror)
import
implicit none
integer(kind=MPI_ADDRESS_KIND), intent(in) :: size
integer, intent(in) :: disp_unit
type(MPI_Info), intent(in) :: info
type(MPI_Comm), intent(in) :: comm
type(c_ptr), intent(out) :: baseptr
type(MPI_Win), intent(out) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_allocate_shared_f08
subroutine MPI_Win_allocate_shared_f08_large(size, disp_unit, info, comm, baseptr, win, ierror)
import
implicit none
integer(kind=MPI_ADDRESS_KIND), intent(in) :: size
integer(kind=MPI_ADDRESS_KIND), intent(in) :: disp_unit
type(MPI_Info), intent(in) :: info
type(MPI_Comm), intent(in) :: comm
type(c_ptr), intent(out) :: baseptr
type(MPI_Win), intent(out) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_allocate_shared_f08_large
end interface MPI_Win_allocate_shared
interface PMPI_Win_allocate_shared
subroutine PMPIR_Win_allocate_shared_f08(size, disp_unit, info, comm, baseptr, win, ierror)
import
implicit none
integer(kind=MPI_ADDRESS_KIND), intent(in) :: size
integer, intent(in) :: disp_unit
type(MPI_Info), intent(in) :: info
type(MPI_Comm), intent(in) :: comm
type(c_ptr), intent(out) :: baseptr
type(MPI_Win), intent(out) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_allocate_shared_f08
subroutine PMPIR_Win_allocate_shared_f08_large(size, disp_unit, info, comm, baseptr, win, ierror)
import
implicit none
integer(kind=MPI_ADDRESS_KIND), intent(in) :: size
integer(kind=MPI_ADDRESS_KIND), intent(in) :: disp_unit
type(MPI_Info), intent(in) :: info
type(MPI_Comm), intent(in) :: comm
type(c_ptr), intent(out) :: baseptr
type(MPI_Win), intent(out) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_allocate_shared_f08_large
end interface PMPI_Win_allocate_shared
interface MPI_Win_attach
subroutine MPI_Win_attach_f08ts(win, base, size, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
type(*), dimension(..), asynchronous :: base
integer(kind=MPI_ADDRESS_KIND), intent(in) :: size
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_attach_f08ts
end interface MPI_Win_attach
interface PMPI_Win_attach
subroutine PMPIR_Win_attach_f08ts(win, base, size, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
type(*), dimension(..), asynchronous :: base
integer(kind=MPI_ADDRESS_KIND), intent(in) :: size
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_attach_f08ts
end interface PMPI_Win_attach
interface MPI_Win_call_errhandler
subroutine MPI_Win_call_errhandler_f08(win, errorcode, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
integer, intent(in) :: errorcode
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_call_errhandler_f08
end interface MPI_Win_call_errhandler
interface PMPI_Win_call_errhandler
subroutine PMPIR_Win_call_errhandler_f08(win, errorcode, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
integer, intent(in) :: errorcode
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_call_errhandler_f08
end interface PMPI_Win_call_errhandler
interface MPI_Win_complete
subroutine MPI_Win_complete_f08(win, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_complete_f08
end interface MPI_Win_complete
interface PMPI_Win_complete
subroutine PMPIR_Win_complete_f08(win, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_complete_f08
end interface PMPI_Win_complete
interface MPI_Win_create
subroutine MPI_Win_create_f08ts(base, size, disp_unit, info, comm, win, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: base
integer(kind=MPI_ADDRESS_KIND), intent(in) :: size
integer, intent(in) :: disp_unit
type(MPI_Info), intent(in) :: info
type(MPI_Comm), intent(in) :: comm
type(MPI_Win), intent(out) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_create_f08ts
subroutine MPI_Win_create_f08ts_large(base, size, disp_unit, info, comm, win, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: base
integer(kind=MPI_ADDRESS_KIND), intent(in) :: size
integer(kind=MPI_ADDRESS_KIND), intent(in) :: disp_unit
type(MPI_Info), intent(in) :: info
type(MPI_Comm), intent(in) :: comm
type(MPI_Win), intent(out) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_create_f08ts_large
end interface MPI_Win_create
interface PMPI_Win_create
subroutine PMPIR_Win_create_f08ts(base, size, disp_unit, info, comm, win, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: base
integer(kind=MPI_ADDRESS_KIND), intent(in) :: size
integer, intent(in) :: disp_unit
type(MPI_Info), intent(in) :: info
type(MPI_Comm), intent(in) :: comm
type(MPI_Win), intent(out) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_create_f08ts
subroutine PMPIR_Win_create_f08ts_large(base, size, disp_unit, info, comm, win, ierror)
import
implicit none
type(*), dimension(..), asynchronous :: base
integer(kind=MPI_ADDRESS_KIND), intent(in) :: size
integer(kind=MPI_ADDRESS_KIND), intent(in) :: disp_unit
type(MPI_Info), intent(in) :: info
type(MPI_Comm), intent(in) :: comm
type(MPI_Win), intent(out) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_create_f08ts_large
end interface PMPI_Win_create
interface MPI_Win_create_dynamic
subroutine MPI_Win_create_dynamic_f08(info, comm, win, ierror)
import
implicit none
type(MPI_Info), intent(in) :: info
type(MPI_Comm), intent(in) :: comm
type(MPI_Win), intent(out) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_create_dynamic_f08
end interface MPI_Win_create_dynamic
interface PMPI_Win_create_dynamic
subroutine PMPIR_Win_create_dynamic_f08(info, comm, win, ierror)
import
implicit none
type(MPI_Info), intent(in) :: info
type(MPI_Comm), intent(in) :: comm
type(MPI_Win), intent(out) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_create_dynamic_f08
end interface PMPI_Win_create_dynamic
interface MPI_Win_create_errhandler
subroutine MPI_Win_create_errhandler_f08(win_errhandler_fn, errhandler, ierror)
import
implicit none
procedure(MPI_Win_errhandler_function) :: win_errhandler_fn
type(MPI_Errhandler), intent(out) :: errhandler
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_create_errhandler_f08
end interface MPI_Win_create_errhandler
interface PMPI_Win_create_errhandler
subroutine PMPIR_Win_create_errhandler_f08(win_errhandler_fn, errhandler, ierror)
import
implicit none
procedure(MPI_Win_errhandler_function) :: win_errhandler_fn
type(MPI_Errhandler), intent(out) :: errhandler
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_create_errhandler_f08
end interface PMPI_Win_create_errhandler
interface MPI_Win_create_keyval
subroutine MPI_Win_create_keyval_f08(win_copy_attr_fn, win_delete_attr_fn, win_keyval, extra_state, &
    ierror)
import
implicit none
procedure(MPI_Win_copy_attr_function) :: win_copy_attr_fn
procedure(MPI_Win_delete_attr_function) :: win_delete_attr_fn
integer, intent(out) :: win_keyval
integer(kind=MPI_ADDRESS_KIND), intent(in) :: extra_state
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_create_keyval_f08
end interface MPI_Win_create_keyval
interface PMPI_Win_create_keyval
subroutine PMPIR_Win_create_keyval_f08(win_copy_attr_fn, win_delete_attr_fn, win_keyval, &
    extra_state, ierror)
import
implicit none
procedure(MPI_Win_copy_attr_function) :: win_copy_attr_fn
procedure(MPI_Win_delete_attr_function) :: win_delete_attr_fn
integer, intent(out) :: win_keyval
integer(kind=MPI_ADDRESS_KIND), intent(in) :: extra_state
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_create_keyval_f08
end interface PMPI_Win_create_keyval
interface MPI_Win_delete_attr
subroutine MPI_Win_delete_attr_f08(win, win_keyval, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
integer, intent(in) :: win_keyval
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_delete_attr_f08
end interface MPI_Win_delete_attr
interface PMPI_Win_delete_attr
subroutine PMPIR_Win_delete_attr_f08(win, win_keyval, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
integer, intent(in) :: win_keyval
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_delete_attr_f08
end interface PMPI_Win_delete_attr
interface MPI_Win_detach
subroutine MPI_Win_detach_f08ts(win, base, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
type(*), dimension(..), asynchronous :: base
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_detach_f08ts
end interface MPI_Win_detach
interface PMPI_Win_detach
subroutine PMPIR_Win_detach_f08ts(win, base, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
type(*), dimension(..), asynchronous :: base
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_detach_f08ts
end interface PMPI_Win_detach
interface MPI_Win_fence
subroutine MPI_Win_fence_f08(assert, win, ierror)
import
implicit none
integer, intent(in) :: assert
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_fence_f08
end interface MPI_Win_fence
interface PMPI_Win_fence
subroutine PMPIR_Win_fence_f08(assert, win, ierror)
import
implicit none
integer, intent(in) :: assert
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_fence_f08
end interface PMPI_Win_fence
interface MPI_Win_flush
subroutine MPI_Win_flush_f08(rank, win, ierror)
import
implicit none
integer, intent(in) :: rank
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_flush_f08
end interface MPI_Win_flush
interface PMPI_Win_flush
subroutine PMPIR_Win_flush_f08(rank, win, ierror)
import
implicit none
integer, intent(in) :: rank
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_flush_f08
end interface PMPI_Win_flush
interface MPI_Win_flush_all
subroutine MPI_Win_flush_all_f08(win, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_flush_all_f08
end interface MPI_Win_flush_all
interface PMPI_Win_flush_all
subroutine PMPIR_Win_flush_all_f08(win, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_flush_all_f08
end interface PMPI_Win_flush_all
interface MPI_Win_flush_local
subroutine MPI_Win_flush_local_f08(rank, win, ierror)
import
implicit none
integer, intent(in) :: rank
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_flush_local_f08
end interface MPI_Win_flush_local
interface PMPI_Win_flush_local
subroutine PMPIR_Win_flush_local_f08(rank, win, ierror)
import
implicit none
integer, intent(in) :: rank
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_flush_local_f08
end interface PMPI_Win_flush_local
interface MPI_Win_flush_local_all
subroutine MPI_Win_flush_local_all_f08(win, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_flush_local_all_f08
end interface MPI_Win_flush_local_all
interface PMPI_Win_flush_local_all
subroutine PMPIR_Win_flush_local_all_f08(win, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_flush_local_all_f08
end interface PMPI_Win_flush_local_all
interface MPI_Win_free
subroutine MPI_Win_free_f08(win, ierror)
import
implicit none
type(MPI_Win), intent(inout) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_free_f08
end interface MPI_Win_free
interface PMPI_Win_free
subroutine PMPIR_Win_free_f08(win, ierror)
import
implicit none
type(MPI_Win), intent(inout) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_free_f08
end interface PMPI_Win_free
interface MPI_Win_free_keyval
subroutine MPI_Win_free_keyval_f08(win_keyval, ierror)
import
implicit none
integer, intent(inout) :: win_keyval
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_free_keyval_f08
end interface MPI_Win_free_keyval
interface PMPI_Win_free_keyval
subroutine PMPIR_Win_free_keyval_f08(win_keyval, ierror)
import
implicit none
integer, intent(inout) :: win_keyval
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_free_keyval_f08
end interface PMPI_Win_free_keyval
interface MPI_Win_get_attr
subroutine MPI_Win_get_attr_f08(win, win_keyval, attribute_val, flag, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
integer, intent(in) :: win_keyval
integer(kind=MPI_ADDRESS_KIND), intent(out) :: attribute_val
logical, intent(out) :: flag
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_get_attr_f08
end interface MPI_Win_get_attr
interface PMPI_Win_get_attr
subroutine PMPIR_Win_get_attr_f08(win, win_keyval, attribute_val, flag, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
integer, intent(in) :: win_keyval
integer(kind=MPI_ADDRESS_KIND), intent(out) :: attribute_val
logical, intent(out) :: flag
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_get_attr_f08
end interface PMPI_Win_get_attr
interface MPI_Win_get_errhandler
subroutine MPI_Win_get_errhandler_f08(win, errhandler, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
type(MPI_Errhandler), intent(out) :: errhandler
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_get_errhandler_f08
end interface MPI_Win_get_errhandler
interface PMPI_Win_get_errhandler
subroutine PMPIR_Win_get_errhandler_f08(win, errhandler, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
type(MPI_Errhandler), intent(out) :: errhandler
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_get_errhandler_f08
end interface PMPI_Win_get_errhandler
interface MPI_Win_get_group
subroutine MPI_Win_get_group_f08(win, group, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
type(MPI_Group), intent(out) :: group
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_get_group_f08
end interface MPI_Win_get_group
interface PMPI_Win_get_group
subroutine PMPIR_Win_get_group_f08(win, group, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
type(MPI_Group), intent(out) :: group
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_get_group_f08
end interface PMPI_Win_get_group
interface MPI_Win_get_info
subroutine MPI_Win_get_info_f08(win, info_used, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
type(MPI_Info), intent(out) :: info_used
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_get_info_f08
end interface MPI_Win_get_info
interface PMPI_Win_get_info
subroutine PMPIR_Win_get_info_f08(win, info_used, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
type(MPI_Info), intent(out) :: info_used
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_get_info_f08
end interface PMPI_Win_get_info
interface MPI_Win_get_name
subroutine MPI_Win_get_name_f08(win, win_name, resultlen, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
character(len=*), intent(out) :: win_name
integer, intent(out) :: resultlen
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_get_name_f08
end interface MPI_Win_get_name
interface PMPI_Win_get_name
subroutine PMPIR_Win_get_name_f08(win, win_name, resultlen, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
character(len=*), intent(out) :: win_name
integer, intent(out) :: resultlen
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_get_name_f08
end interface PMPI_Win_get_name
interface MPI_Win_lock
subroutine MPI_Win_lock_f08(lock_type, rank, assert, win, ierror)
import
implicit none
integer, intent(in) :: lock_type
integer, intent(in) :: rank
integer, intent(in) :: assert
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_lock_f08
end interface MPI_Win_lock
interface PMPI_Win_lock
subroutine PMPIR_Win_lock_f08(lock_type, rank, assert, win, ierror)
import
implicit none
integer, intent(in) :: lock_type
integer, intent(in) :: rank
integer, intent(in) :: assert
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_lock_f08
end interface PMPI_Win_lock
interface MPI_Win_lock_all
subroutine MPI_Win_lock_all_f08(assert, win, ierror)
import
implicit none
integer, intent(in) :: assert
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_lock_all_f08
end interface MPI_Win_lock_all
interface PMPI_Win_lock_all
subroutine PMPIR_Win_lock_all_f08(assert, win, ierror)
import
implicit none
integer, intent(in) :: assert
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_lock_all_f08
end interface PMPI_Win_lock_all
interface MPI_Win_post
subroutine MPI_Win_post_f08(group, assert, win, ierror)
import
implicit none
type(MPI_Group), intent(in) :: group
integer, intent(in) :: assert
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_post_f08
end interface MPI_Win_post
interface PMPI_Win_post
subroutine PMPIR_Win_post_f08(group, assert, win, ierror)
import
implicit none
type(MPI_Group), intent(in) :: group
integer, intent(in) :: assert
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_post_f08
end interface PMPI_Win_post
interface MPI_Win_set_attr
subroutine MPI_Win_set_attr_f08(win, win_keyval, attribute_val, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
integer, intent(in) :: win_keyval
integer(kind=MPI_ADDRESS_KIND), intent(in) :: attribute_val
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_set_attr_f08
end interface MPI_Win_set_attr
interface PMPI_Win_set_attr
subroutine PMPIR_Win_set_attr_f08(win, win_keyval, attribute_val, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
integer, intent(in) :: win_keyval
integer(kind=MPI_ADDRESS_KIND), intent(in) :: attribute_val
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_set_attr_f08
end interface PMPI_Win_set_attr
interface MPI_Win_set_errhandler
subroutine MPI_Win_set_errhandler_f08(win, errhandler, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
type(MPI_Errhandler), intent(in) :: errhandler
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_set_errhandler_f08
end interface MPI_Win_set_errhandler
interface PMPI_Win_set_errhandler
subroutine PMPIR_Win_set_errhandler_f08(win, errhandler, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
type(MPI_Errhandler), intent(in) :: errhandler
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_set_errhandler_f08
end interface PMPI_Win_set_errhandler
interface MPI_Win_set_info
subroutine MPI_Win_set_info_f08(win, info, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
type(MPI_Info), intent(in) :: info
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_set_info_f08
end interface MPI_Win_set_info
interface PMPI_Win_set_info
subroutine PMPIR_Win_set_info_f08(win, info, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
type(MPI_Info), intent(in) :: info
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_set_info_f08
end interface PMPI_Win_set_info
interface MPI_Win_set_name
subroutine MPI_Win_set_name_f08(win, win_name, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
character(len=*), intent(in) :: win_name
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_set_name_f08
end interface MPI_Win_set_name
interface PMPI_Win_set_name
subroutine PMPIR_Win_set_name_f08(win, win_name, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
character(len=*), intent(in) :: win_name
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_set_name_f08
end interface PMPI_Win_set_name
interface MPI_Win_shared_query
subroutine MPI_Win_shared_query_f08(win, rank, size, disp_unit, baseptr, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
integer, intent(in) :: rank
integer(kind=MPI_ADDRESS_KIND), intent(out) :: size
integer, intent(out) :: disp_unit
type(c_ptr), intent(out) :: baseptr
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_shared_query_f08
subroutine MPI_Win_shared_query_f08_large(win, rank, size, disp_unit, baseptr, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
integer, intent(in) :: rank
integer(kind=MPI_ADDRESS_KIND), intent(out) :: size
integer(kind=MPI_ADDRESS_KIND), intent(out) :: disp_unit
type(c_ptr), intent(out) :: baseptr
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_shared_query_f08_large
end interface MPI_Win_shared_query
interface PMPI_Win_shared_query
subroutine PMPIR_Win_shared_query_f08(win, rank, size, disp_unit, baseptr, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
integer, intent(in) :: rank
integer(kind=MPI_ADDRESS_KIND), intent(out) :: size
integer, intent(out) :: disp_unit
type(c_ptr), intent(out) :: baseptr
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_shared_query_f08
subroutine PMPIR_Win_shared_query_f08_large(win, rank, size, disp_unit, baseptr, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
integer, intent(in) :: rank
integer(kind=MPI_ADDRESS_KIND), intent(out) :: size
integer(kind=MPI_ADDRESS_KIND), intent(out) :: disp_unit
type(c_ptr), intent(out) :: baseptr
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_shared_query_f08_large
end interface PMPI_Win_shared_query
interface MPI_Win_start
subroutine MPI_Win_start_f08(group, assert, win, ierror)
import
implicit none
type(MPI_Group), intent(in) :: group
integer, intent(in) :: assert
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_start_f08
end interface MPI_Win_start
interface PMPI_Win_start
subroutine PMPIR_Win_start_f08(group, assert, win, ierror)
import
implicit none
type(MPI_Group), intent(in) :: group
integer, intent(in) :: assert
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_start_f08
end interface PMPI_Win_start
interface MPI_Win_sync
subroutine MPI_Win_sync_f08(win, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_sync_f08
end interface MPI_Win_sync
interface PMPI_Win_sync
subroutine PMPIR_Win_sync_f08(win, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_sync_f08
end interface PMPI_Win_sync
interface MPI_Win_test
subroutine MPI_Win_test_f08(win, flag, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
logical, intent(out) :: flag
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_test_f08
end interface MPI_Win_test
interface PMPI_Win_test
subroutine PMPIR_Win_test_f08(win, flag, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
logical, intent(out) :: flag
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_test_f08
end interface PMPI_Win_test
interface MPI_Win_unlock
subroutine MPI_Win_unlock_f08(rank, win, ierror)
import
implicit none
integer, intent(in) :: rank
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_unlock_f08
end interface MPI_Win_unlock
interface PMPI_Win_unlock
subroutine PMPIR_Win_unlock_f08(rank, win, ierror)
import
implicit none
integer, intent(in) :: rank
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_unlock_f08
end interface PMPI_Win_unlock
interface MPI_Win_unlock_all
subroutine MPI_Win_unlock_all_f08(win, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_unlock_all_f08
end interface MPI_Win_unlock_all
interface PMPI_Win_unlock_all
subroutine PMPIR_Win_unlock_all_f08(win, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_unlock_all_f08
end interface PMPI_Win_unlock_all
interface MPI_Win_wait
subroutine MPI_Win_wait_f08(win, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine MPI_Win_wait_f08
end interface MPI_Win_wait
interface PMPI_Win_wait
subroutine PMPIR_Win_wait_f08(win, ierror)
import
implicit none
type(MPI_Win), intent(in) :: win
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Win_wait_f08
end interface PMPI_Win_wait
interface MPI_Close_port
subroutine MPI_Close_port_f08(port_name, ierror)
import
implicit none
character(len=*), intent(in) :: port_name
integer, optional, intent(out) :: ierror
end subroutine MPI_Close_port_f08
end interface MPI_Close_port
interface PMPI_Close_port
subroutine PMPIR_Close_port_f08(port_name, ierror)
import
implicit none
character(len=*), intent(in) :: port_name
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Close_port_f08
end interface PMPI_Close_port
interface MPI_Comm_accept
subroutine MPI_Comm_accept_f08(port_name, info, root, comm, newcomm, ierror)
import
implicit none
character(len=*), intent(in) :: port_name
type(MPI_Info), intent(in) :: info
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Comm), intent(out) :: newcomm
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_accept_f08
end interface MPI_Comm_accept
interface PMPI_Comm_accept
subroutine PMPIR_Comm_accept_f08(port_name, info, root, comm, newcomm, ierror)
import
implicit none
character(len=*), intent(in) :: port_name
type(MPI_Info), intent(in) :: info
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Comm), intent(out) :: newcomm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_accept_f08
end interface PMPI_Comm_accept
interface MPI_Comm_connect
subroutine MPI_Comm_connect_f08(port_name, info, root, comm, newcomm, ierror)
import
implicit none
character(len=*), intent(in) :: port_name
type(MPI_Info), intent(in) :: info
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Comm), intent(out) :: newcomm
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_connect_f08
end interface MPI_Comm_connect
interface PMPI_Comm_connect
subroutine PMPIR_Comm_connect_f08(port_name, info, root, comm, newcomm, ierror)
import
implicit none
character(len=*), intent(in) :: port_name
type(MPI_Info), intent(in) :: info
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Comm), intent(out) :: newcomm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_connect_f08
end interface PMPI_Comm_connect
interface MPI_Comm_disconnect
subroutine MPI_Comm_disconnect_f08(comm, ierror)
import
implicit none
type(MPI_Comm), intent(inout) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_disconnect_f08
end interface MPI_Comm_disconnect
interface PMPI_Comm_disconnect
subroutine PMPIR_Comm_disconnect_f08(comm, ierror)
import
implicit none
type(MPI_Comm), intent(inout) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_disconnect_f08
end interface PMPI_Comm_disconnect
interface MPI_Comm_get_parent
subroutine MPI_Comm_get_parent_f08(parent, ierror)
import
implicit none
type(MPI_Comm), intent(out) :: parent
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_get_parent_f08
end interface MPI_Comm_get_parent
interface PMPI_Comm_get_parent
subroutine PMPIR_Comm_get_parent_f08(parent, ierror)
import
implicit none
type(MPI_Comm), intent(out) :: parent
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_get_parent_f08
end interface PMPI_Comm_get_parent
interface MPI_Comm_join
subroutine MPI_Comm_join_f08(fd, intercomm, ierror)
import
implicit none
integer, intent(in) :: fd
type(MPI_Comm), intent(out) :: intercomm
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_join_f08
end interface MPI_Comm_join
interface PMPI_Comm_join
subroutine PMPIR_Comm_join_f08(fd, intercomm, ierror)
import
implicit none
integer, intent(in) :: fd
type(MPI_Comm), intent(out) :: intercomm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_join_f08
end interface PMPI_Comm_join
interface MPI_Comm_spawn
subroutine MPI_Comm_spawn_f08(command, argv, maxprocs, info, root, comm, intercomm, &
    array_of_errcodes, ierror)
import
implicit none
character(len=*), intent(in) :: command
character(len=*), intent(in) :: argv(*)
integer, intent(in) :: maxprocs
type(MPI_Info), intent(in) :: info
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Comm), intent(out) :: intercomm
integer :: array_of_errcodes(*)
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_spawn_f08
end interface MPI_Comm_spawn
interface PMPI_Comm_spawn
subroutine PMPIR_Comm_spawn_f08(command, argv, maxprocs, info, root, comm, intercomm, &
    array_of_errcodes, ierror)
import
implicit none
character(len=*), intent(in) :: command
character(len=*), intent(in) :: argv(*)
integer, intent(in) :: maxprocs
type(MPI_Info), intent(in) :: info
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Comm), intent(out) :: intercomm
integer :: array_of_errcodes(*)
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_spawn_f08
end interface PMPI_Comm_spawn
interface MPI_Comm_spawn_multiple
subroutine MPI_Comm_spawn_multiple_f08(count, array_of_commands, array_of_argv, array_of_maxprocs, &
    array_of_info, root, comm, intercomm, array_of_errcodes, ierror)
import
implicit none
integer, intent(in) :: count
character(len=*), intent(in) :: array_of_commands(*)
character(len=*), intent(in) :: array_of_argv(count,*)
integer, intent(in) :: array_of_maxprocs(*)
type(MPI_Info), intent(in) :: array_of_info(*)
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Comm), intent(out) :: intercomm
integer :: array_of_errcodes(*)
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_spawn_multiple_f08
end interface MPI_Comm_spawn_multiple
interface PMPI_Comm_spawn_multiple
subroutine PMPIR_Comm_spawn_multiple_f08(count, array_of_commands, array_of_argv, &
    array_of_maxprocs, array_of_info, root, comm, intercomm, array_of_errcodes, ierror)
import
implicit none
integer, intent(in) :: count
character(len=*), intent(in) :: array_of_commands(*)
character(len=*), intent(in) :: array_of_argv(count,*)
integer, intent(in) :: array_of_maxprocs(*)
type(MPI_Info), intent(in) :: array_of_info(*)
integer, intent(in) :: root
type(MPI_Comm), intent(in) :: comm
type(MPI_Comm), intent(out) :: intercomm
integer :: array_of_errcodes(*)
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_spawn_multiple_f08
end interface PMPI_Comm_spawn_multiple
interface MPI_Lookup_name
subroutine MPI_Lookup_name_f08(service_name, info, port_name, ierror)
import
implicit none
character(len=*), intent(in) :: service_name
type(MPI_Info), intent(in) :: info
character(len=*), intent(out) :: port_name
integer, optional, intent(out) :: ierror
end subroutine MPI_Lookup_name_f08
end interface MPI_Lookup_name
interface PMPI_Lookup_name
subroutine PMPIR_Lookup_name_f08(service_name, info, port_name, ierror)
import
implicit none
character(len=*), intent(in) :: service_name
type(MPI_Info), intent(in) :: info
character(len=*), intent(out) :: port_name
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Lookup_name_f08
end interface PMPI_Lookup_name
interface MPI_Open_port
subroutine MPI_Open_port_f08(info, port_name, ierror)
import
implicit none
type(MPI_Info), intent(in) :: info
character(len=*), intent(out) :: port_name
integer, optional, intent(out) :: ierror
end subroutine MPI_Open_port_f08
end interface MPI_Open_port
interface PMPI_Open_port
subroutine PMPIR_Open_port_f08(info, port_name, ierror)
import
implicit none
type(MPI_Info), intent(in) :: info
character(len=*), intent(out) :: port_name
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Open_port_f08
end interface PMPI_Open_port
interface MPI_Publish_name
subroutine MPI_Publish_name_f08(service_name, info, port_name, ierror)
import
implicit none
character(len=*), intent(in) :: service_name
type(MPI_Info), intent(in) :: info
character(len=*), intent(in) :: port_name
integer, optional, intent(out) :: ierror
end subroutine MPI_Publish_name_f08
end interface MPI_Publish_name
interface PMPI_Publish_name
subroutine PMPIR_Publish_name_f08(service_name, info, port_name, ierror)
import
implicit none
character(len=*), intent(in) :: service_name
type(MPI_Info), intent(in) :: info
character(len=*), intent(in) :: port_name
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Publish_name_f08
end interface PMPI_Publish_name
interface MPI_Unpublish_name
subroutine MPI_Unpublish_name_f08(service_name, info, port_name, ierror)
import
implicit none
character(len=*), intent(in) :: service_name
type(MPI_Info), intent(in) :: info
character(len=*), intent(in) :: port_name
integer, optional, intent(out) :: ierror
end subroutine MPI_Unpublish_name_f08
end interface MPI_Unpublish_name
interface PMPI_Unpublish_name
subroutine PMPIR_Unpublish_name_f08(service_name, info, port_name, ierror)
import
implicit none
character(len=*), intent(in) :: service_name
type(MPI_Info), intent(in) :: info
character(len=*), intent(in) :: port_name
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Unpublish_name_f08
end interface PMPI_Unpublish_name
interface MPI_Comm_create_from_group
subroutine MPI_Comm_create_from_group_f08(group, stringtag, info, errhandler, newcomm, ierror)
import
implicit none
type(MPI_Group), intent(in) :: group
character(len=*), intent(in) :: stringtag
type(MPI_Info), intent(in) :: info
type(MPI_Errhandler), intent(in) :: errhandler
type(MPI_Comm), intent(out) :: newcomm
integer, optional, intent(out) :: ierror
end subroutine MPI_Comm_create_from_group_f08
end interface MPI_Comm_create_from_group
interface PMPI_Comm_create_from_group
subroutine PMPIR_Comm_create_from_group_f08(group, stringtag, info, errhandler, newcomm, ierror)
import
implicit none
type(MPI_Group), intent(in) :: group
character(len=*), intent(in) :: stringtag
type(MPI_Info), intent(in) :: info
type(MPI_Errhandler), intent(in) :: errhandler
type(MPI_Comm), intent(out) :: newcomm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Comm_create_from_group_f08
end interface PMPI_Comm_create_from_group
interface MPI_Group_from_session_pset
subroutine MPI_Group_from_session_pset_f08(session, pset_name, newgroup, ierror)
import
implicit none
type(MPI_Session), intent(in) :: session
character(len=*), intent(in) :: pset_name
type(MPI_Group), intent(out) :: newgroup
integer, optional, intent(out) :: ierror
end subroutine MPI_Group_from_session_pset_f08
end interface MPI_Group_from_session_pset
interface PMPI_Group_from_session_pset
subroutine PMPIR_Group_from_session_pset_f08(session, pset_name, newgroup, ierror)
import
implicit none
type(MPI_Session), intent(in) :: session
character(len=*), intent(in) :: pset_name
type(MPI_Group), intent(out) :: newgroup
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Group_from_session_pset_f08
end interface PMPI_Group_from_session_pset
interface MPI_Intercomm_create_from_groups
subroutine MPI_Intercomm_create_from_groups_f08(local_group, local_leader, remote_group, &
    remote_leader, stringtag, info, errhandler, newintercomm, ierror)
import
implicit none
type(MPI_Group), intent(in) :: local_group
integer, intent(in) :: local_leader
type(MPI_Group), intent(in) :: remote_group
integer, intent(in) :: remote_leader
character(len=*), intent(in) :: stringtag
type(MPI_Info), intent(in) :: info
type(MPI_Errhandler), intent(in) :: errhandler
type(MPI_Comm), intent(out) :: newintercomm
integer, optional, intent(out) :: ierror
end subroutine MPI_Intercomm_create_from_groups_f08
end interface MPI_Intercomm_create_from_groups
interface PMPI_Intercomm_create_from_groups
subroutine PMPIR_Intercomm_create_from_groups_f08(local_group, local_leader, remote_group, &
    remote_leader, stringtag, info, errhandler, newintercomm, ierror)
import
implicit none
type(MPI_Group), intent(in) :: local_group
integer, intent(in) :: local_leader
type(MPI_Group), intent(in) :: remote_group
integer, intent(in) :: remote_leader
character(len=*), intent(in) :: stringtag
type(MPI_Info), intent(in) :: info
type(MPI_Errhandler), intent(in) :: errhandler
type(MPI_Comm), intent(out) :: newintercomm
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Intercomm_create_from_groups_f08
end interface PMPI_Intercomm_create_from_groups
interface MPI_Session_attach_buffer
subroutine MPI_Session_attach_buffer_f08ts(session, buffer, size, ierror)
import
implicit none
type(MPI_Session), intent(in) :: session
type(*), dimension(..), asynchronous :: buffer
integer, intent(in) :: size
integer, optional, intent(out) :: ierror
end subroutine MPI_Session_attach_buffer_f08ts
subroutine MPI_Session_attach_buffer_f08ts_large(session, buffer, size, ierror)
import
implicit none
type(MPI_Session), intent(in) :: session
type(*), dimension(..), asynchronous :: buffer
integer(kind=MPI_COUNT_KIND), intent(in) :: size
integer, optional, intent(out) :: ierror
end subroutine MPI_Session_attach_buffer_f08ts_large
end interface MPI_Session_attach_buffer
interface PMPI_Session_attach_buffer
subroutine PMPIR_Session_attach_buffer_f08ts(session, buffer, size, ierror)
import
implicit none
type(MPI_Session), intent(in) :: session
type(*), dimension(..), asynchronous :: buffer
integer, intent(in) :: size
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Session_attach_buffer_f08ts
subroutine PMPIR_Session_attach_buffer_f08ts_large(session, buffer, size, ierror)
import
implicit none
type(MPI_Session), intent(in) :: session
type(*), dimension(..), asynchronous :: buffer
integer(kind=MPI_COUNT_KIND), intent(in) :: size
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Session_attach_buffer_f08ts_large
end interface PMPI_Session_attach_buffer
interface MPI_Session_call_errhandler
subroutine MPI_Session_call_errhandler_f08(session, errorcode, ierror)
import
implicit none
type(MPI_Session), intent(in) :: session
integer, intent(in) :: errorcode
integer, optional, intent(out) :: ierror
end subroutine MPI_Session_call_errhandler_f08
end interface MPI_Session_call_errhandler
interface PMPI_Session_call_errhandler
subroutine PMPIR_Session_call_errhandler_f08(session, errorcode, ierror)
import
implicit none
type(MPI_Session), intent(in) :: session
integer, intent(in) :: errorcode
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Session_call_errhandler_f08
end interface PMPI_Session_call_errhandler
interface MPI_Session_create_errhandler
subroutine MPI_Session_create_errhandler_f08(session_errhandler_fn, errhandler, ierror)
import
implicit none
procedure(MPI_Session_errhandler_function) :: session_errhandler_fn
type(MPI_Errhandler), intent(out) :: errhandler
integer, optional, intent(out) :: ierror
end subroutine MPI_Session_create_errhandler_f08
end interface MPI_Session_create_errhandler
interface PMPI_Session_create_errhandler
subroutine PMPIR_Session_create_errhandler_f08(session_errhandler_fn, errhandler, ierror)
import
implicit none
procedure(MPI_Session_errhandler_function) :: session_errhandler_fn
type(MPI_Errhandler), intent(out) :: errhandler
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Session_create_errhandler_f08
end interface PMPI_Session_create_errhandler
interface MPI_Session_detach_buffer
subroutine MPI_Session_detach_buffer_f08(session, buffer_addr, size, ierror)
import
implicit none
type(MPI_Session), intent(in) :: session
type(c_ptr), intent(out) :: buffer_addr
integer, intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine MPI_Session_detach_buffer_f08
subroutine MPI_Session_detach_buffer_f08_large(session, buffer_addr, size, ierror)
import
implicit none
type(MPI_Session), intent(in) :: session
type(c_ptr), intent(out) :: buffer_addr
integer(kind=MPI_COUNT_KIND), intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine MPI_Session_detach_buffer_f08_large
end interface MPI_Session_detach_buffer
interface PMPI_Session_detach_buffer
subroutine PMPIR_Session_detach_buffer_f08(session, buffer_addr, size, ierror)
import
implicit none
type(MPI_Session), intent(in) :: session
type(c_ptr), intent(out) :: buffer_addr
integer, intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Session_detach_buffer_f08
subroutine PMPIR_Session_detach_buffer_f08_large(session, buffer_addr, size, ierror)
import
implicit none
type(MPI_Session), intent(in) :: session
type(c_ptr), intent(out) :: buffer_addr
integer(kind=MPI_COUNT_KIND), intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Session_detach_buffer_f08_large
end interface PMPI_Session_detach_buffer
interface MPI_Session_finalize
subroutine MPI_Session_finalize_f08(session, ierror)
import
implicit none
type(MPI_Session), intent(inout) :: session
integer, optional, intent(out) :: ierror
end subroutine MPI_Session_finalize_f08
end interface MPI_Session_finalize
interface PMPI_Session_finalize
subroutine PMPIR_Session_finalize_f08(session, ierror)
import
implicit none
type(MPI_Session), intent(inout) :: session
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Session_finalize_f08
end interface PMPI_Session_finalize
interface MPI_Session_flush_buffer
subroutine MPI_Session_flush_buffer_f08(session, ierror)
import
implicit none
type(MPI_Session), intent(in) :: session
integer, optional, intent(out) :: ierror
end subroutine MPI_Session_flush_buffer_f08
end interface MPI_Session_flush_buffer
interface PMPI_Session_flush_buffer
subroutine PMPIR_Session_flush_buffer_f08(session, ierror)
import
implicit none
type(MPI_Session), intent(in) :: session
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Session_flush_buffer_f08
end interface PMPI_Session_flush_buffer
interface MPI_Session_get_errhandler
subroutine MPI_Session_get_errhandler_f08(session, errhandler, ierror)
import
implicit none
type(MPI_Session), intent(in) :: session
type(MPI_Errhandler), intent(out) :: errhandler
integer, optional, intent(out) :: ierror
end subroutine MPI_Session_get_errhandler_f08
end interface MPI_Session_get_errhandler
interface PMPI_Session_get_errhandler
subroutine PMPIR_Session_get_errhandler_f08(session, errhandler, ierror)
import
implicit none
type(MPI_Session), intent(in) :: session
type(MPI_Errhandler), intent(out) :: errhandler
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Session_get_errhandler_f08
end interface PMPI_Session_get_errhandler
interface MPI_Session_get_info
subroutine MPI_Session_get_info_f08(session, info_used, ierror)
import
implicit none
type(MPI_Session), intent(in) :: session
type(MPI_Info), intent(out) :: info_used
integer, optional, intent(out) :: ierror
end subroutine MPI_Session_get_info_f08
end interface MPI_Session_get_info
interface PMPI_Session_get_info
subroutine PMPIR_Session_get_info_f08(session, info_used, ierror)
import
implicit none
type(MPI_Session), intent(in) :: session
type(MPI_Info), intent(out) :: info_used
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Session_get_info_f08
end interface PMPI_Session_get_info
interface MPI_Session_get_nth_pset
subroutine MPI_Session_get_nth_pset_f08(session, info, n, pset_len, pset_name, ierror)
import
implicit none
type(MPI_Session), intent(in) :: session
type(MPI_Info), intent(in) :: info
integer, intent(in) :: n
integer, intent(inout) :: pset_len
character(len=*), intent(out) :: pset_name
integer, optional, intent(out) :: ierror
end subroutine MPI_Session_get_nth_pset_f08
end interface MPI_Session_get_nth_pset
interface PMPI_Session_get_nth_pset
subroutine PMPIR_Session_get_nth_pset_f08(session, info, n, pset_len, pset_name, ierror)
import
implicit none
type(MPI_Session), intent(in) :: session
type(MPI_Info), intent(in) :: info
integer, intent(in) :: n
integer, intent(inout) :: pset_len
character(len=*), intent(out) :: pset_name
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Session_get_nth_pset_f08
end interface PMPI_Session_get_nth_pset
interface MPI_Session_get_num_psets
subroutine MPI_Session_get_num_psets_f08(session, info, npset_names, ierror)
import
implicit none
type(MPI_Session), intent(in) :: session
type(MPI_Info), intent(in) :: info
integer, intent(out) :: npset_names
integer, optional, intent(out) :: ierror
end subroutine MPI_Session_get_num_psets_f08
end interface MPI_Session_get_num_psets
interface PMPI_Session_get_num_psets
subroutine PMPIR_Session_get_num_psets_f08(session, info, npset_names, ierror)
import
implicit none
type(MPI_Session), intent(in) :: session
type(MPI_Info), intent(in) :: info
integer, intent(out) :: npset_names
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Session_get_num_psets_f08
end interface PMPI_Session_get_num_psets
interface MPI_Session_get_pset_info
subroutine MPI_Session_get_pset_info_f08(session, pset_name, info, ierror)
import
implicit none
type(MPI_Session), intent(in) :: session
character(len=*), intent(in) :: pset_name
type(MPI_Info), intent(out) :: info
integer, optional, intent(out) :: ierror
end subroutine MPI_Session_get_pset_info_f08
end interface MPI_Session_get_pset_info
interface PMPI_Session_get_pset_info
subroutine PMPIR_Session_get_pset_info_f08(session, pset_name, info, ierror)
import
implicit none
type(MPI_Session), intent(in) :: session
character(len=*), intent(in) :: pset_name
type(MPI_Info), intent(out) :: info
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Session_get_pset_info_f08
end interface PMPI_Session_get_pset_info
interface MPI_Session_iflush_buffer
subroutine MPI_Session_iflush_buffer_f08(session, request, ierror)
import
implicit none
type(MPI_Session), intent(in) :: session
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_Session_iflush_buffer_f08
end interface MPI_Session_iflush_buffer
interface PMPI_Session_iflush_buffer
subroutine PMPIR_Session_iflush_buffer_f08(session, request, ierror)
import
implicit none
type(MPI_Session), intent(in) :: session
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Session_iflush_buffer_f08
end interface PMPI_Session_iflush_buffer
interface MPI_Session_init
subroutine MPI_Session_init_f08(info, errhandler, session, ierror)
import
implicit none
type(MPI_Info), intent(in) :: info
type(MPI_Errhandler), intent(in) :: errhandler
type(MPI_Session), intent(out) :: session
integer, optional, intent(out) :: ierror
end subroutine MPI_Session_init_f08
end interface MPI_Session_init
interface PMPI_Session_init
subroutine PMPIR_Session_init_f08(info, errhandler, session, ierror)
import
implicit none
type(MPI_Info), intent(in) :: info
type(MPI_Errhandler), intent(in) :: errhandler
type(MPI_Session), intent(out) :: session
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Session_init_f08
end interface PMPI_Session_init
interface MPI_Session_set_errhandler
subroutine MPI_Session_set_errhandler_f08(session, errhandler, ierror)
import
implicit none
type(MPI_Session), intent(in) :: session
type(MPI_Errhandler), intent(in) :: errhandler
integer, optional, intent(out) :: ierror
end subroutine MPI_Session_set_errhandler_f08
end interface MPI_Session_set_errhandler
interface PMPI_Session_set_errhandler
subroutine PMPIR_Session_set_errhandler_f08(session, errhandler, ierror)
import
implicit none
type(MPI_Session), intent(in) :: session
type(MPI_Errhandler), intent(in) :: errhandler
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Session_set_errhandler_f08
end interface PMPI_Session_set_errhandler
interface MPI_File_call_errhandler
subroutine MPI_File_call_errhandler_f08(fh, errorcode, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer, intent(in) :: errorcode
integer, optional, intent(out) :: ierror
end subroutine MPI_File_call_errhandler_f08
end interface MPI_File_call_errhandler
interface PMPI_File_call_errhandler
subroutine PMPIR_File_call_errhandler_f08(fh, errorcode, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer, intent(in) :: errorcode
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_call_errhandler_f08
end interface PMPI_File_call_errhandler
interface MPI_File_close
subroutine MPI_File_close_f08(fh, ierror)
import
implicit none
type(MPI_File), intent(inout) :: fh
integer, optional, intent(out) :: ierror
end subroutine MPI_File_close_f08
end interface MPI_File_close
interface PMPI_File_close
subroutine PMPIR_File_close_f08(fh, ierror)
import
implicit none
type(MPI_File), intent(inout) :: fh
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_close_f08
end interface PMPI_File_close
interface MPI_File_create_errhandler
subroutine MPI_File_create_errhandler_f08(file_errhandler_fn, errhandler, ierror)
import
implicit none
procedure(MPI_File_errhandler_function) :: file_errhandler_fn
type(MPI_Errhandler), intent(out) :: errhandler
integer, optional, intent(out) :: ierror
end subroutine MPI_File_create_errhandler_f08
end interface MPI_File_create_errhandler
interface PMPI_File_create_errhandler
subroutine PMPIR_File_create_errhandler_f08(file_errhandler_fn, errhandler, ierror)
import
implicit none
procedure(MPI_File_errhandler_function) :: file_errhandler_fn
type(MPI_Errhandler), intent(out) :: errhandler
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_create_errhandler_f08
end interface PMPI_File_create_errhandler
interface MPI_File_delete
subroutine MPI_File_delete_f08(filename, info, ierror)
import
implicit none
character(len=*), intent(in) :: filename
type(MPI_Info), intent(in) :: info
integer, optional, intent(out) :: ierror
end subroutine MPI_File_delete_f08
end interface MPI_File_delete
interface PMPI_File_delete
subroutine PMPIR_File_delete_f08(filename, info, ierror)
import
implicit none
character(len=*), intent(in) :: filename
type(MPI_Info), intent(in) :: info
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_delete_f08
end interface PMPI_File_delete
interface MPI_File_get_amode
subroutine MPI_File_get_amode_f08(fh, amode, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer, intent(out) :: amode
integer, optional, intent(out) :: ierror
end subroutine MPI_File_get_amode_f08
end interface MPI_File_get_amode
interface PMPI_File_get_amode
subroutine PMPIR_File_get_amode_f08(fh, amode, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer, intent(out) :: amode
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_get_amode_f08
end interface PMPI_File_get_amode
interface MPI_File_get_atomicity
subroutine MPI_File_get_atomicity_f08(fh, flag, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
logical, intent(out) :: flag
integer, optional, intent(out) :: ierror
end subroutine MPI_File_get_atomicity_f08
end interface MPI_File_get_atomicity
interface PMPI_File_get_atomicity
subroutine PMPIR_File_get_atomicity_f08(fh, flag, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
logical, intent(out) :: flag
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_get_atomicity_f08
end interface PMPI_File_get_atomicity
interface MPI_File_get_byte_offset
subroutine MPI_File_get_byte_offset_f08(fh, offset, disp, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
integer(kind=MPI_OFFSET_KIND), intent(out) :: disp
integer, optional, intent(out) :: ierror
end subroutine MPI_File_get_byte_offset_f08
end interface MPI_File_get_byte_offset
interface PMPI_File_get_byte_offset
subroutine PMPIR_File_get_byte_offset_f08(fh, offset, disp, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
integer(kind=MPI_OFFSET_KIND), intent(out) :: disp
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_get_byte_offset_f08
end interface PMPI_File_get_byte_offset
interface MPI_File_get_errhandler
subroutine MPI_File_get_errhandler_f08(file, errhandler, ierror)
import
implicit none
type(MPI_File), intent(in) :: file
type(MPI_Errhandler), intent(out) :: errhandler
integer, optional, intent(out) :: ierror
end subroutine MPI_File_get_errhandler_f08
end interface MPI_File_get_errhandler
interface PMPI_File_get_errhandler
subroutine PMPIR_File_get_errhandler_f08(file, errhandler, ierror)
import
implicit none
type(MPI_File), intent(in) :: file
type(MPI_Errhandler), intent(out) :: errhandler
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_get_errhandler_f08
end interface PMPI_File_get_errhandler
interface MPI_File_get_group
subroutine MPI_File_get_group_f08(fh, group, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(MPI_Group), intent(out) :: group
integer, optional, intent(out) :: ierror
end subroutine MPI_File_get_group_f08
end interface MPI_File_get_group
interface PMPI_File_get_group
subroutine PMPIR_File_get_group_f08(fh, group, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(MPI_Group), intent(out) :: group
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_get_group_f08
end interface PMPI_File_get_group
interface MPI_File_get_info
subroutine MPI_File_get_info_f08(fh, info_used, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(MPI_Info), intent(out) :: info_used
integer, optional, intent(out) :: ierror
end subroutine MPI_File_get_info_f08
end interface MPI_File_get_info
interface PMPI_File_get_info
subroutine PMPIR_File_get_info_f08(fh, info_used, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(MPI_Info), intent(out) :: info_used
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_get_info_f08
end interface PMPI_File_get_info
interface MPI_File_get_position
subroutine MPI_File_get_position_f08(fh, offset, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(out) :: offset
integer, optional, intent(out) :: ierror
end subroutine MPI_File_get_position_f08
end interface MPI_File_get_position
interface PMPI_File_get_position
subroutine PMPIR_File_get_position_f08(fh, offset, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(out) :: offset
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_get_position_f08
end interface PMPI_File_get_position
interface MPI_File_get_position_shared
subroutine MPI_File_get_position_shared_f08(fh, offset, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(out) :: offset
integer, optional, intent(out) :: ierror
end subroutine MPI_File_get_position_shared_f08
end interface MPI_File_get_position_shared
interface PMPI_File_get_position_shared
subroutine PMPIR_File_get_position_shared_f08(fh, offset, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(out) :: offset
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_get_position_shared_f08
end interface PMPI_File_get_position_shared
interface MPI_File_get_size
subroutine MPI_File_get_size_f08(fh, size, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine MPI_File_get_size_f08
end interface MPI_File_get_size
interface PMPI_File_get_size
subroutine PMPIR_File_get_size_f08(fh, size, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_get_size_f08
end interface PMPI_File_get_size
interface MPI_File_get_type_extent
subroutine MPI_File_get_type_extent_f08(fh, datatype, extent, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_ADDRESS_KIND), intent(out) :: extent
integer, optional, intent(out) :: ierror
end subroutine MPI_File_get_type_extent_f08
end interface MPI_File_get_type_extent
interface PMPI_File_get_type_extent
subroutine PMPIR_File_get_type_extent_f08(fh, datatype, extent, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(MPI_Datatype), intent(in) :: datatype
integer(kind=MPI_ADDRESS_KIND), intent(out) :: extent
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_get_type_extent_f08
end interface PMPI_File_get_type_extent
interface MPI_File_get_view
subroutine MPI_File_get_view_f08(fh, disp, etype, filetype, datarep, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(out) :: disp
type(MPI_Datatype), intent(out) :: etype
type(MPI_Datatype), intent(out) :: filetype
character(len=*), intent(out) :: datarep
integer, optional, intent(out) :: ierror
end subroutine MPI_File_get_view_f08
end interface MPI_File_get_view
interface PMPI_File_get_view
subroutine PMPIR_File_get_view_f08(fh, disp, etype, filetype, datarep, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(out) :: disp
type(MPI_Datatype), intent(out) :: etype
type(MPI_Datatype), intent(out) :: filetype
character(len=*), intent(out) :: datarep
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_get_view_f08
end interface PMPI_File_get_view
interface MPI_File_iread
subroutine MPI_File_iread_f08ts(fh, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_File_iread_f08ts
subroutine MPI_File_iread_f08ts_large(fh, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_File_iread_f08ts_large
end interface MPI_File_iread
interface PMPI_File_iread
subroutine PMPIR_File_iread_f08ts(fh, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_iread_f08ts
subroutine PMPIR_File_iread_f08ts_large(fh, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_iread_f08ts_large
end interface PMPI_File_iread
interface MPI_File_iread_all
subroutine MPI_File_iread_all_f08ts(fh, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_File_iread_all_f08ts
subroutine MPI_File_iread_all_f08ts_large(fh, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_File_iread_all_f08ts_large
end interface MPI_File_iread_all
interface PMPI_File_iread_all
subroutine PMPIR_File_iread_all_f08ts(fh, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_iread_all_f08ts
subroutine PMPIR_File_iread_all_f08ts_large(fh, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_iread_all_f08ts_large
end interface PMPI_File_iread_all
interface MPI_File_iread_at
subroutine MPI_File_iread_at_f08ts(fh, offset, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_File_iread_at_f08ts
subroutine MPI_File_iread_at_f08ts_large(fh, offset, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_File_iread_at_f08ts_large
end interface MPI_File_iread_at
interface PMPI_File_iread_at
subroutine PMPIR_File_iread_at_f08ts(fh, offset, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_iread_at_f08ts
subroutine PMPIR_File_iread_at_f08ts_large(fh, offset, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_iread_at_f08ts_large
end interface PMPI_File_iread_at
interface MPI_File_iread_at_all
subroutine MPI_File_iread_at_all_f08ts(fh, offset, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_File_iread_at_all_f08ts
subroutine MPI_File_iread_at_all_f08ts_large(fh, offset, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_File_iread_at_all_f08ts_large
end interface MPI_File_iread_at_all
interface PMPI_File_iread_at_all
subroutine PMPIR_File_iread_at_all_f08ts(fh, offset, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_iread_at_all_f08ts
subroutine PMPIR_File_iread_at_all_f08ts_large(fh, offset, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_iread_at_all_f08ts_large
end interface PMPI_File_iread_at_all
interface MPI_File_iread_shared
subroutine MPI_File_iread_shared_f08ts(fh, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_File_iread_shared_f08ts
subroutine MPI_File_iread_shared_f08ts_large(fh, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_File_iread_shared_f08ts_large
end interface MPI_File_iread_shared
interface PMPI_File_iread_shared
subroutine PMPIR_File_iread_shared_f08ts(fh, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_iread_shared_f08ts
subroutine PMPIR_File_iread_shared_f08ts_large(fh, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_iread_shared_f08ts_large
end interface PMPI_File_iread_shared
interface MPI_File_iwrite
subroutine MPI_File_iwrite_f08ts(fh, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_File_iwrite_f08ts
subroutine MPI_File_iwrite_f08ts_large(fh, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_File_iwrite_f08ts_large
end interface MPI_File_iwrite
interface PMPI_File_iwrite
subroutine PMPIR_File_iwrite_f08ts(fh, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_iwrite_f08ts
subroutine PMPIR_File_iwrite_f08ts_large(fh, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_iwrite_f08ts_large
end interface PMPI_File_iwrite
interface MPI_File_iwrite_all
subroutine MPI_File_iwrite_all_f08ts(fh, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_File_iwrite_all_f08ts
subroutine MPI_File_iwrite_all_f08ts_large(fh, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_File_iwrite_all_f08ts_large
end interface MPI_File_iwrite_all
interface PMPI_File_iwrite_all
subroutine PMPIR_File_iwrite_all_f08ts(fh, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_iwrite_all_f08ts
subroutine PMPIR_File_iwrite_all_f08ts_large(fh, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_iwrite_all_f08ts_large
end interface PMPI_File_iwrite_all
interface MPI_File_iwrite_at
subroutine MPI_File_iwrite_at_f08ts(fh, offset, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_File_iwrite_at_f08ts
subroutine MPI_File_iwrite_at_f08ts_large(fh, offset, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_File_iwrite_at_f08ts_large
end interface MPI_File_iwrite_at
interface PMPI_File_iwrite_at
subroutine PMPIR_File_iwrite_at_f08ts(fh, offset, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_iwrite_at_f08ts
subroutine PMPIR_File_iwrite_at_f08ts_large(fh, offset, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_iwrite_at_f08ts_large
end interface PMPI_File_iwrite_at
interface MPI_File_iwrite_at_all
subroutine MPI_File_iwrite_at_all_f08ts(fh, offset, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_File_iwrite_at_all_f08ts
subroutine MPI_File_iwrite_at_all_f08ts_large(fh, offset, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_File_iwrite_at_all_f08ts_large
end interface MPI_File_iwrite_at_all
interface PMPI_File_iwrite_at_all
subroutine PMPIR_File_iwrite_at_all_f08ts(fh, offset, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_iwrite_at_all_f08ts
subroutine PMPIR_File_iwrite_at_all_f08ts_large(fh, offset, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_iwrite_at_all_f08ts_large
end interface PMPI_File_iwrite_at_all
interface MPI_File_iwrite_shared
subroutine MPI_File_iwrite_shared_f08ts(fh, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_File_iwrite_shared_f08ts
subroutine MPI_File_iwrite_shared_f08ts_large(fh, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPI_File_iwrite_shared_f08ts_large
end interface MPI_File_iwrite_shared
interface PMPI_File_iwrite_shared
subroutine PMPIR_File_iwrite_shared_f08ts(fh, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_iwrite_shared_f08ts
subroutine PMPIR_File_iwrite_shared_f08ts_large(fh, buf, count, datatype, request, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_iwrite_shared_f08ts_large
end interface PMPI_File_iwrite_shared
interface MPI_File_open
subroutine MPI_File_open_f08(comm, filename, amode, info, fh, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
character(len=*), intent(in) :: filename
integer, intent(in) :: amode
type(MPI_Info), intent(in) :: info
type(MPI_File), intent(out) :: fh
integer, optional, intent(out) :: ierror
end subroutine MPI_File_open_f08
end interface MPI_File_open
interface PMPI_File_open
subroutine PMPIR_File_open_f08(comm, filename, amode, info, fh, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
character(len=*), intent(in) :: filename
integer, intent(in) :: amode
type(MPI_Info), intent(in) :: info
type(MPI_File), intent(out) :: fh
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_open_f08
end interface PMPI_File_open
interface MPI_File_preallocate
subroutine MPI_File_preallocate_f08(fh, size, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: size
integer, optional, intent(out) :: ierror
end subroutine MPI_File_preallocate_f08
end interface MPI_File_preallocate
interface PMPI_File_preallocate
subroutine PMPIR_File_preallocate_f08(fh, size, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: size
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_preallocate_f08
end interface PMPI_File_preallocate
interface MPI_File_read
subroutine MPI_File_read_f08ts(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_File_read_f08ts
subroutine MPI_File_read_f08ts_large(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_File_read_f08ts_large
end interface MPI_File_read
interface PMPI_File_read
subroutine PMPIR_File_read_f08ts(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_read_f08ts
subroutine PMPIR_File_read_f08ts_large(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_read_f08ts_large
end interface PMPI_File_read
interface MPI_File_read_all
subroutine MPI_File_read_all_f08ts(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_File_read_all_f08ts
subroutine MPI_File_read_all_f08ts_large(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_File_read_all_f08ts_large
end interface MPI_File_read_all
interface PMPI_File_read_all
subroutine PMPIR_File_read_all_f08ts(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_read_all_f08ts
subroutine PMPIR_File_read_all_f08ts_large(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_read_all_f08ts_large
end interface PMPI_File_read_all
interface MPI_File_read_all_begin
subroutine MPI_File_read_all_begin_f08ts(fh, buf, count, datatype, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, optional, intent(out) :: ierror
end subroutine MPI_File_read_all_begin_f08ts
subroutine MPI_File_read_all_begin_f08ts_large(fh, buf, count, datatype, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, optional, intent(out) :: ierror
end subroutine MPI_File_read_all_begin_f08ts_large
end interface MPI_File_read_all_begin
interface PMPI_File_read_all_begin
subroutine PMPIR_File_read_all_begin_f08ts(fh, buf, count, datatype, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_read_all_begin_f08ts
subroutine PMPIR_File_read_all_begin_f08ts_large(fh, buf, count, datatype, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_read_all_begin_f08ts_large
end interface PMPI_File_read_all_begin
interface MPI_File_read_all_end
subroutine MPI_File_read_all_end_f08ts(fh, buf, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..) :: buf
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_File_read_all_end_f08ts
end interface MPI_File_read_all_end
interface PMPI_File_read_all_end
subroutine PMPIR_File_read_all_end_f08ts(fh, buf, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..) :: buf
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_read_all_end_f08ts
end interface PMPI_File_read_all_end
interface MPI_File_read_at
subroutine MPI_File_read_at_f08ts(fh, offset, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_File_read_at_f08ts
subroutine MPI_File_read_at_f08ts_large(fh, offset, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_File_read_at_f08ts_large
end interface MPI_File_read_at
interface PMPI_File_read_at
subroutine PMPIR_File_read_at_f08ts(fh, offset, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_read_at_f08ts
subroutine PMPIR_File_read_at_f08ts_large(fh, offset, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_read_at_f08ts_large
end interface PMPI_File_read_at
interface MPI_File_read_at_all
subroutine MPI_File_read_at_all_f08ts(fh, offset, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_File_read_at_all_f08ts
subroutine MPI_File_read_at_all_f08ts_large(fh, offset, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_File_read_at_all_f08ts_large
end interface MPI_File_read_at_all
interface PMPI_File_read_at_all
subroutine PMPIR_File_read_at_all_f08ts(fh, offset, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_read_at_all_f08ts
subroutine PMPIR_File_read_at_all_f08ts_large(fh, offset, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_read_at_all_f08ts_large
end interface PMPI_File_read_at_all
interface MPI_File_read_at_all_begin
subroutine MPI_File_read_at_all_begin_f08ts(fh, offset, buf, count, datatype, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, optional, intent(out) :: ierror
end subroutine MPI_File_read_at_all_begin_f08ts
subroutine MPI_File_read_at_all_begin_f08ts_large(fh, offset, buf, count, datatype, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, optional, intent(out) :: ierror
end subroutine MPI_File_read_at_all_begin_f08ts_large
end interface MPI_File_read_at_all_begin
interface PMPI_File_read_at_all_begin
subroutine PMPIR_File_read_at_all_begin_f08ts(fh, offset, buf, count, datatype, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_read_at_all_begin_f08ts
subroutine PMPIR_File_read_at_all_begin_f08ts_large(fh, offset, buf, count, datatype, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_read_at_all_begin_f08ts_large
end interface PMPI_File_read_at_all_begin
interface MPI_File_read_at_all_end
subroutine MPI_File_read_at_all_end_f08ts(fh, buf, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..) :: buf
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_File_read_at_all_end_f08ts
end interface MPI_File_read_at_all_end
interface PMPI_File_read_at_all_end
subroutine PMPIR_File_read_at_all_end_f08ts(fh, buf, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..) :: buf
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_read_at_all_end_f08ts
end interface PMPI_File_read_at_all_end
interface MPI_File_read_ordered
subroutine MPI_File_read_ordered_f08ts(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_File_read_ordered_f08ts
subroutine MPI_File_read_ordered_f08ts_large(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_File_read_ordered_f08ts_large
end interface MPI_File_read_ordered
interface PMPI_File_read_ordered
subroutine PMPIR_File_read_ordered_f08ts(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_read_ordered_f08ts
subroutine PMPIR_File_read_ordered_f08ts_large(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_read_ordered_f08ts_large
end interface PMPI_File_read_ordered
interface MPI_File_read_ordered_begin
subroutine MPI_File_read_ordered_begin_f08ts(fh, buf, count, datatype, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, optional, intent(out) :: ierror
end subroutine MPI_File_read_ordered_begin_f08ts
subroutine MPI_File_read_ordered_begin_f08ts_large(fh, buf, count, datatype, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, optional, intent(out) :: ierror
end subroutine MPI_File_read_ordered_begin_f08ts_large
end interface MPI_File_read_ordered_begin
interface PMPI_File_read_ordered_begin
subroutine PMPIR_File_read_ordered_begin_f08ts(fh, buf, count, datatype, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_read_ordered_begin_f08ts
subroutine PMPIR_File_read_ordered_begin_f08ts_large(fh, buf, count, datatype, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_read_ordered_begin_f08ts_large
end interface PMPI_File_read_ordered_begin
interface MPI_File_read_ordered_end
subroutine MPI_File_read_ordered_end_f08ts(fh, buf, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..) :: buf
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_File_read_ordered_end_f08ts
end interface MPI_File_read_ordered_end
interface PMPI_File_read_ordered_end
subroutine PMPIR_File_read_ordered_end_f08ts(fh, buf, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..) :: buf
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_read_ordered_end_f08ts
end interface PMPI_File_read_ordered_end
interface MPI_File_read_shared
subroutine MPI_File_read_shared_f08ts(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_File_read_shared_f08ts
subroutine MPI_File_read_shared_f08ts_large(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_File_read_shared_f08ts_large
end interface MPI_File_read_shared
interface PMPI_File_read_shared
subroutine PMPIR_File_read_shared_f08ts(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_read_shared_f08ts
subroutine PMPIR_File_read_shared_f08ts_large(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_read_shared_f08ts_large
end interface PMPI_File_read_shared
interface MPI_File_seek
subroutine MPI_File_seek_f08(fh, offset, whence, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
integer, intent(in) :: whence
integer, optional, intent(out) :: ierror
end subroutine MPI_File_seek_f08
end interface MPI_File_seek
interface PMPI_File_seek
subroutine PMPIR_File_seek_f08(fh, offset, whence, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
integer, intent(in) :: whence
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_seek_f08
end interface PMPI_File_seek
interface MPI_File_seek_shared
subroutine MPI_File_seek_shared_f08(fh, offset, whence, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
integer, intent(in) :: whence
integer, optional, intent(out) :: ierror
end subroutine MPI_File_seek_shared_f08
end interface MPI_File_seek_shared
interface PMPI_File_seek_shared
subroutine PMPIR_File_seek_shared_f08(fh, offset, whence, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
integer, intent(in) :: whence
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_seek_shared_f08
end interface PMPI_File_seek_shared
interface MPI_File_set_atomicity
subroutine MPI_File_set_atomicity_f08(fh, flag, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
logical, intent(in) :: flag
integer, optional, intent(out) :: ierror
end subroutine MPI_File_set_atomicity_f08
end interface MPI_File_set_atomicity
interface PMPI_File_set_atomicity
subroutine PMPIR_File_set_atomicity_f08(fh, flag, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
logical, intent(in) :: flag
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_set_atomicity_f08
end interface PMPI_File_set_atomicity
interface MPI_File_set_errhandler
subroutine MPI_File_set_errhandler_f08(file, errhandler, ierror)
import
implicit none
type(MPI_File), intent(in) :: file
type(MPI_Errhandler), intent(in) :: errhandler
integer, optional, intent(out) :: ierror
end subroutine MPI_File_set_errhandler_f08
end interface MPI_File_set_errhandler
interface PMPI_File_set_errhandler
subroutine PMPIR_File_set_errhandler_f08(file, errhandler, ierror)
import
implicit none
type(MPI_File), intent(in) :: file
type(MPI_Errhandler), intent(in) :: errhandler
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_set_errhandler_f08
end interface PMPI_File_set_errhandler
interface MPI_File_set_info
subroutine MPI_File_set_info_f08(fh, info, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(MPI_Info), intent(in) :: info
integer, optional, intent(out) :: ierror
end subroutine MPI_File_set_info_f08
end interface MPI_File_set_info
interface PMPI_File_set_info
subroutine PMPIR_File_set_info_f08(fh, info, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(MPI_Info), intent(in) :: info
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_set_info_f08
end interface PMPI_File_set_info
interface MPI_File_set_size
subroutine MPI_File_set_size_f08(fh, size, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: size
integer, optional, intent(out) :: ierror
end subroutine MPI_File_set_size_f08
end interface MPI_File_set_size
interface PMPI_File_set_size
subroutine PMPIR_File_set_size_f08(fh, size, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: size
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_set_size_f08
end interface PMPI_File_set_size
interface MPI_File_set_view
subroutine MPI_File_set_view_f08(fh, disp, etype, filetype, datarep, info, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: disp
type(MPI_Datatype), intent(in) :: etype
type(MPI_Datatype), intent(in) :: filetype
character(len=*), intent(in) :: datarep
type(MPI_Info), intent(in) :: info
integer, optional, intent(out) :: ierror
end subroutine MPI_File_set_view_f08
end interface MPI_File_set_view
interface PMPI_File_set_view
subroutine PMPIR_File_set_view_f08(fh, disp, etype, filetype, datarep, info, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: disp
type(MPI_Datatype), intent(in) :: etype
type(MPI_Datatype), intent(in) :: filetype
character(len=*), intent(in) :: datarep
type(MPI_Info), intent(in) :: info
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_set_view_f08
end interface PMPI_File_set_view
interface MPI_File_sync
subroutine MPI_File_sync_f08(fh, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer, optional, intent(out) :: ierror
end subroutine MPI_File_sync_f08
end interface MPI_File_sync
interface PMPI_File_sync
subroutine PMPIR_File_sync_f08(fh, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_sync_f08
end interface PMPI_File_sync
interface MPI_File_write
subroutine MPI_File_write_f08ts(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), intent(in) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_File_write_f08ts
subroutine MPI_File_write_f08ts_large(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), intent(in) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_File_write_f08ts_large
end interface MPI_File_write
interface PMPI_File_write
subroutine PMPIR_File_write_f08ts(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), intent(in) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_write_f08ts
subroutine PMPIR_File_write_f08ts_large(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), intent(in) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_write_f08ts_large
end interface PMPI_File_write
interface MPI_File_write_all
subroutine MPI_File_write_all_f08ts(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), intent(in) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_File_write_all_f08ts
subroutine MPI_File_write_all_f08ts_large(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), intent(in) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_File_write_all_f08ts_large
end interface MPI_File_write_all
interface PMPI_File_write_all
subroutine PMPIR_File_write_all_f08ts(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), intent(in) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_write_all_f08ts
subroutine PMPIR_File_write_all_f08ts_large(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), intent(in) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_write_all_f08ts_large
end interface PMPI_File_write_all
interface MPI_File_write_all_begin
subroutine MPI_File_write_all_begin_f08ts(fh, buf, count, datatype, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, optional, intent(out) :: ierror
end subroutine MPI_File_write_all_begin_f08ts
subroutine MPI_File_write_all_begin_f08ts_large(fh, buf, count, datatype, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), intent(in) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, optional, intent(out) :: ierror
end subroutine MPI_File_write_all_begin_f08ts_large
end interface MPI_File_write_all_begin
interface PMPI_File_write_all_begin
subroutine PMPIR_File_write_all_begin_f08ts(fh, buf, count, datatype, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_write_all_begin_f08ts
subroutine PMPIR_File_write_all_begin_f08ts_large(fh, buf, count, datatype, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), intent(in) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_write_all_begin_f08ts_large
end interface PMPI_File_write_all_begin
interface MPI_File_write_all_end
subroutine MPI_File_write_all_end_f08ts(fh, buf, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), intent(in) :: buf
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_File_write_all_end_f08ts
end interface MPI_File_write_all_end
interface PMPI_File_write_all_end
subroutine PMPIR_File_write_all_end_f08ts(fh, buf, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), intent(in) :: buf
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_write_all_end_f08ts
end interface PMPI_File_write_all_end
interface MPI_File_write_at
subroutine MPI_File_write_at_f08ts(fh, offset, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..), intent(in) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_File_write_at_f08ts
subroutine MPI_File_write_at_f08ts_large(fh, offset, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..), intent(in) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_File_write_at_f08ts_large
end interface MPI_File_write_at
interface PMPI_File_write_at
subroutine PMPIR_File_write_at_f08ts(fh, offset, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..), intent(in) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_write_at_f08ts
subroutine PMPIR_File_write_at_f08ts_large(fh, offset, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..), intent(in) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_write_at_f08ts_large
end interface PMPI_File_write_at
interface MPI_File_write_at_all
subroutine MPI_File_write_at_all_f08ts(fh, offset, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..), intent(in) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_File_write_at_all_f08ts
subroutine MPI_File_write_at_all_f08ts_large(fh, offset, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..), intent(in) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_File_write_at_all_f08ts_large
end interface MPI_File_write_at_all
interface PMPI_File_write_at_all
subroutine PMPIR_File_write_at_all_f08ts(fh, offset, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..), intent(in) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_write_at_all_f08ts
subroutine PMPIR_File_write_at_all_f08ts_large(fh, offset, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..), intent(in) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_write_at_all_f08ts_large
end interface PMPI_File_write_at_all
interface MPI_File_write_at_all_begin
subroutine MPI_File_write_at_all_begin_f08ts(fh, offset, buf, count, datatype, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, optional, intent(out) :: ierror
end subroutine MPI_File_write_at_all_begin_f08ts
subroutine MPI_File_write_at_all_begin_f08ts_large(fh, offset, buf, count, datatype, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..), intent(in) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, optional, intent(out) :: ierror
end subroutine MPI_File_write_at_all_begin_f08ts_large
end interface MPI_File_write_at_all_begin
interface PMPI_File_write_at_all_begin
subroutine PMPIR_File_write_at_all_begin_f08ts(fh, offset, buf, count, datatype, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_write_at_all_begin_f08ts
subroutine PMPIR_File_write_at_all_begin_f08ts_large(fh, offset, buf, count, datatype, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
type(*), dimension(..), intent(in) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_write_at_all_begin_f08ts_large
end interface PMPI_File_write_at_all_begin
interface MPI_File_write_at_all_end
subroutine MPI_File_write_at_all_end_f08ts(fh, buf, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), intent(in) :: buf
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_File_write_at_all_end_f08ts
end interface MPI_File_write_at_all_end
interface PMPI_File_write_at_all_end
subroutine PMPIR_File_write_at_all_end_f08ts(fh, buf, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), intent(in) :: buf
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_write_at_all_end_f08ts
end interface PMPI_File_write_at_all_end
interface MPI_File_write_ordered
subroutine MPI_File_write_ordered_f08ts(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), intent(in) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_File_write_ordered_f08ts
subroutine MPI_File_write_ordered_f08ts_large(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), intent(in) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_File_write_ordered_f08ts_large
end interface MPI_File_write_ordered
interface PMPI_File_write_ordered
subroutine PMPIR_File_write_ordered_f08ts(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), intent(in) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_write_ordered_f08ts
subroutine PMPIR_File_write_ordered_f08ts_large(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), intent(in) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_write_ordered_f08ts_large
end interface PMPI_File_write_ordered
interface MPI_File_write_ordered_begin
subroutine MPI_File_write_ordered_begin_f08ts(fh, buf, count, datatype, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, optional, intent(out) :: ierror
end subroutine MPI_File_write_ordered_begin_f08ts
subroutine MPI_File_write_ordered_begin_f08ts_large(fh, buf, count, datatype, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), intent(in) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, optional, intent(out) :: ierror
end subroutine MPI_File_write_ordered_begin_f08ts_large
end interface MPI_File_write_ordered_begin
interface PMPI_File_write_ordered_begin
subroutine PMPIR_File_write_ordered_begin_f08ts(fh, buf, count, datatype, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), asynchronous :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_write_ordered_begin_f08ts
subroutine PMPIR_File_write_ordered_begin_f08ts_large(fh, buf, count, datatype, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), intent(in) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_write_ordered_begin_f08ts_large
end interface PMPI_File_write_ordered_begin
interface MPI_File_write_ordered_end
subroutine MPI_File_write_ordered_end_f08ts(fh, buf, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), intent(in) :: buf
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_File_write_ordered_end_f08ts
end interface MPI_File_write_ordered_end
interface PMPI_File_write_ordered_end
subroutine PMPIR_File_write_ordered_end_f08ts(fh, buf, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), intent(in) :: buf
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_write_ordered_end_f08ts
end interface PMPI_File_write_ordered_end
interface MPI_File_write_shared
subroutine MPI_File_write_shared_f08ts(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), intent(in) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_File_write_shared_f08ts
subroutine MPI_File_write_shared_f08ts_large(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), intent(in) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine MPI_File_write_shared_f08ts_large
end interface MPI_File_write_shared
interface PMPI_File_write_shared
subroutine PMPIR_File_write_shared_f08ts(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), intent(in) :: buf
integer, intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_write_shared_f08ts
subroutine PMPIR_File_write_shared_f08ts_large(fh, buf, count, datatype, status, ierror)
import
implicit none
type(MPI_File), intent(in) :: fh
type(*), dimension(..), intent(in) :: buf
integer(kind=MPI_COUNT_KIND), intent(in) :: count
type(MPI_Datatype), intent(in) :: datatype
type(MPI_Status) :: status
integer, optional, intent(out) :: ierror
end subroutine PMPIR_File_write_shared_f08ts_large
end interface PMPI_File_write_shared
interface MPI_Register_datarep
subroutine MPI_Register_datarep_f08(datarep, read_conversion_fn, write_conversion_fn, &
    dtype_file_extent_fn, extra_state, ierror)
import
implicit none
character(len=*), intent(in) :: datarep
procedure(MPI_Datarep_conversion_function) :: read_conversion_fn
procedure(MPI_Datarep_conversion_function) :: write_conversion_fn
procedure(MPI_Datarep_extent_function) :: dtype_file_extent_fn
integer(kind=MPI_ADDRESS_KIND), intent(in) :: extra_state
integer, optional, intent(out) :: ierror
end subroutine MPI_Register_datarep_f08
end interface MPI_Register_datarep
interface PMPI_Register_datarep
subroutine PMPIR_Register_datarep_f08(datarep, read_conversion_fn, write_conversion_fn, &
    dtype_file_extent_fn, extra_state, ierror)
import
implicit none
character(len=*), intent(in) :: datarep
procedure(MPI_Datarep_conversion_function) :: read_conversion_fn
procedure(MPI_Datarep_conversion_function) :: write_conversion_fn
procedure(MPI_Datarep_extent_function) :: dtype_file_extent_fn
integer(kind=MPI_ADDRESS_KIND), intent(in) :: extra_state
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Register_datarep_f08
end interface PMPI_Register_datarep
interface MPI_Register_datarep_c
subroutine MPI_Register_datarep_f08_large(datarep, read_conversion_fn, write_conversion_fn, &
    dtype_file_extent_fn, extra_state, ierror)
import
implicit none
character(len=*), intent(in) :: datarep
procedure(MPI_Datarep_conversion_function_c) :: read_conversion_fn
procedure(MPI_Datarep_conversion_function_c) :: write_conversion_fn
procedure(MPI_Datarep_extent_function) :: dtype_file_extent_fn
integer(kind=MPI_ADDRESS_KIND), intent(in) :: extra_state
integer, optional, intent(out) :: ierror
end subroutine MPI_Register_datarep_f08_large
end interface MPI_Register_datarep_c
interface PMPI_Register_datarep_c
subroutine PMPIR_Register_datarep_f08_large(datarep, read_conversion_fn, write_conversion_fn, &
    dtype_file_extent_fn, extra_state, ierror)
import
implicit none
character(len=*), intent(in) :: datarep
procedure(MPI_Datarep_conversion_function_c) :: read_conversion_fn
procedure(MPI_Datarep_conversion_function_c) :: write_conversion_fn
procedure(MPI_Datarep_extent_function) :: dtype_file_extent_fn
integer(kind=MPI_ADDRESS_KIND), intent(in) :: extra_state
integer, optional, intent(out) :: ierror
end subroutine PMPIR_Register_datarep_f08_large
end interface PMPI_Register_datarep_c
interface MPIX_Comm_ack_failed
subroutine MPIX_Comm_ack_failed_f08(comm, num_to_ack, num_acked, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: num_to_ack
integer, intent(out) :: num_acked
integer, optional, intent(out) :: ierror
end subroutine MPIX_Comm_ack_failed_f08
end interface MPIX_Comm_ack_failed
interface PMPIX_Comm_ack_failed
subroutine PMPIXR_Comm_ack_failed_f08(comm, num_to_ack, num_acked, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(in) :: num_to_ack
integer, intent(out) :: num_acked
integer, optional, intent(out) :: ierror
end subroutine PMPIXR_Comm_ack_failed_f08
end interface PMPIX_Comm_ack_failed
interface MPIX_Comm_agree
subroutine MPIX_Comm_agree_f08(comm, flag, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(inout) :: flag
integer, optional, intent(out) :: ierror
end subroutine MPIX_Comm_agree_f08
end interface MPIX_Comm_agree
interface PMPIX_Comm_agree
subroutine PMPIXR_Comm_agree_f08(comm, flag, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(inout) :: flag
integer, optional, intent(out) :: ierror
end subroutine PMPIXR_Comm_agree_f08
end interface PMPIX_Comm_agree
interface MPIX_Comm_failure_ack
subroutine MPIX_Comm_failure_ack_f08(comm, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPIX_Comm_failure_ack_f08
end interface MPIX_Comm_failure_ack
interface PMPIX_Comm_failure_ack
subroutine PMPIXR_Comm_failure_ack_f08(comm, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIXR_Comm_failure_ack_f08
end interface PMPIX_Comm_failure_ack
interface MPIX_Comm_failure_get_acked
subroutine MPIX_Comm_failure_get_acked_f08(comm, failedgrp, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Group), intent(out) :: failedgrp
integer, optional, intent(out) :: ierror
end subroutine MPIX_Comm_failure_get_acked_f08
end interface MPIX_Comm_failure_get_acked
interface PMPIX_Comm_failure_get_acked
subroutine PMPIXR_Comm_failure_get_acked_f08(comm, failedgrp, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Group), intent(out) :: failedgrp
integer, optional, intent(out) :: ierror
end subroutine PMPIXR_Comm_failure_get_acked_f08
end interface PMPIX_Comm_failure_get_acked
interface MPIX_Comm_get_failed
subroutine MPIX_Comm_get_failed_f08(comm, failedgrp, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Group), intent(out) :: failedgrp
integer, optional, intent(out) :: ierror
end subroutine MPIX_Comm_get_failed_f08
end interface MPIX_Comm_get_failed
interface PMPIX_Comm_get_failed
subroutine PMPIXR_Comm_get_failed_f08(comm, failedgrp, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Group), intent(out) :: failedgrp
integer, optional, intent(out) :: ierror
end subroutine PMPIXR_Comm_get_failed_f08
end interface PMPIX_Comm_get_failed
interface MPIX_Comm_iagree
subroutine MPIX_Comm_iagree_f08(comm, flag, request, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(inout), asynchronous, target :: flag
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPIX_Comm_iagree_f08
end interface MPIX_Comm_iagree
interface PMPIX_Comm_iagree
subroutine PMPIXR_Comm_iagree_f08(comm, flag, request, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, intent(inout), asynchronous, target :: flag
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIXR_Comm_iagree_f08
end interface PMPIX_Comm_iagree
interface MPIX_Comm_is_revoked
subroutine MPIX_Comm_is_revoked_f08(comm, flag, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
logical, intent(out) :: flag
integer, optional, intent(out) :: ierror
end subroutine MPIX_Comm_is_revoked_f08
end interface MPIX_Comm_is_revoked
interface PMPIX_Comm_is_revoked
subroutine PMPIXR_Comm_is_revoked_f08(comm, flag, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
logical, intent(out) :: flag
integer, optional, intent(out) :: ierror
end subroutine PMPIXR_Comm_is_revoked_f08
end interface PMPIX_Comm_is_revoked
interface MPIX_Comm_ishrink
subroutine MPIX_Comm_ishrink_f08(comm, newcomm, request, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Comm), intent(out) :: newcomm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine MPIX_Comm_ishrink_f08
end interface MPIX_Comm_ishrink
interface PMPIX_Comm_ishrink
subroutine PMPIXR_Comm_ishrink_f08(comm, newcomm, request, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Comm), intent(out) :: newcomm
type(MPI_Request), intent(out) :: request
integer, optional, intent(out) :: ierror
end subroutine PMPIXR_Comm_ishrink_f08
end interface PMPIX_Comm_ishrink
interface MPIX_Comm_revoke
subroutine MPIX_Comm_revoke_f08(comm, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine MPIX_Comm_revoke_f08
end interface MPIX_Comm_revoke
interface PMPIX_Comm_revoke
subroutine PMPIXR_Comm_revoke_f08(comm, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
integer, optional, intent(out) :: ierror
end subroutine PMPIXR_Comm_revoke_f08
end interface PMPIX_Comm_revoke
interface MPIX_Comm_shrink
subroutine MPIX_Comm_shrink_f08(comm, newcomm, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Comm), intent(out) :: newcomm
integer, optional, intent(out) :: ierror
end subroutine MPIX_Comm_shrink_f08
end interface MPIX_Comm_shrink
interface PMPIX_Comm_shrink
subroutine PMPIXR_Comm_shrink_f08(comm, newcomm, ierror)
import
implicit none
type(MPI_Comm), intent(in) :: comm
type(MPI_Comm), intent(out) :: newcomm
integer, optional, intent(out) :: ierror
end subroutine PMPIXR_Comm_shrink_f08
end interface PMPIX_Comm_shrink
interface MPI_Sizeof
subroutine MPI_Sizeof_f08ts(x, size, ierror)
implicit none
type(*), dimension(..) :: x
integer, intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine MPI_Sizeof_f08ts
end interface MPI_Sizeof
interface MPI_F_sync_reg
subroutine MPI_F_sync_reg_f08(buf)
implicit none
type(*), dimension(..), asynchronous :: buf
end subroutine MPI_F_sync_reg_f08
end interface MPI_F_sync_reg
end module mpi_f08
