//! What else the module `mpi_f08` needs: operators on handles, procedures that are passed, and the
//! few calls whose arguments differ from those of `mpif.h`.
//!
//! The names are those that gfortran makes of the module procedures of MPICH's `mpi_f08_types` and
//! `mpi_f08_callbacks`. Programs compiled with its modules find them here. Our modules have the
//! same procedures, so programs compiled with ours find them too.

use core::ffi::{c_int, c_void};

use crate::c::{mpi, pmpi};
use crate::marshal::set;

/// Equality of handles: among themselves, and with the integers of `mpif.h` on either side.
macro_rules! operators {
    ($($kind:literal)*) => {$(
        operators! { @ ==, $kind, "_eq" }
        operators! { @ !=, $kind, "_neq" }
        operators! { @ ==, $kind, "_f08_eq_f" }
        operators! { @ !=, $kind, "_f08_neq_f" }
        operators! { @ ==, $kind, "_f_eq_f08" }
        operators! { @ !=, $kind, "_f_neq_f08" }
    )*};
    (@ $operator:tt, $kind:literal, $name:literal) => {
        const _: () = {
            #[unsafe(export_name = concat!("__mpi_f08_types_MOD_mpi_", $kind, $name))]
            unsafe extern "C" fn compare(a: *const c_int, b: *const c_int) -> c_int {
                // SAFETY: two handles, by reference.
                unsafe { c_int::from(*a $operator *b) }
            }
        };
    };
}

operators! {
    "comm" "datatype" "errhandler" "file" "group" "info" "message" "op" "request" "session" "win"
}

/// Conversions of statuses: the same five integers.
macro_rules! statuses {
    ($($name:literal)*) => {$(
        const _: () = {
            #[unsafe(export_name = $name)]
            unsafe extern "C" fn convert(from: *const [c_int; 5], to: *mut [c_int; 5], ierror: *mut c_int) {
                // SAFETY: two statuses, by reference.
                unsafe { *to = *from };
                set(ierror, 0);
            }
        };
    )*};
}

statuses! {
    "__mpi_f08_types_MOD_mpi_status_f2f08" "__mpi_f08_types_MOD_mpi_status_f082f"
}

/// `MPI_Sizeof` of MPICH's modules: one procedure for each type. (Ours have one for all.)
macro_rules! sizes {
    ($($name:literal: $size:literal;)*) => {$(
        const _: () = {
            #[unsafe(export_name = concat!("__mpi_", $name))]
            unsafe extern "C" fn size_of(_x: *const c_void, size: *mut c_int, ierror: *mut c_int) {
                // SAFETY: a reference to an integer.
                unsafe { *size = $size };
                set(ierror, 0);
            }
        };
    )*};
}

sizes! {
    "f08_types_MOD_mpi_sizeof_character": 1;
    "f08_types_MOD_mpi_sizeof_logical": 4;
    "f08_types_MOD_mpi_sizeof_xint8": 1;
    "f08_types_MOD_mpi_sizeof_xint16": 2;
    "f08_types_MOD_mpi_sizeof_xint32": 4;
    "f08_types_MOD_mpi_sizeof_xint64": 8;
    "f08_types_MOD_mpi_sizeof_xreal32": 4;
    "f08_types_MOD_mpi_sizeof_xreal64": 8;
    "f08_types_MOD_mpi_sizeof_xreal128": 16;
    "f08_types_MOD_mpi_sizeof_xcomplex32": 8;
    "f08_types_MOD_mpi_sizeof_xcomplex64": 16;
    "f08_types_MOD_mpi_sizeof_xcomplex128": 32;
    "sizeofs_MOD_mpi_sizeof_ch": 1;
    "sizeofs_MOD_mpi_sizeof_chv": 1;
    "sizeofs_MOD_mpi_sizeof_cx": 8;
    "sizeofs_MOD_mpi_sizeof_cxv": 8;
    "sizeofs_MOD_mpi_sizeof_d": 8;
    "sizeofs_MOD_mpi_sizeof_dv": 8;
    "sizeofs_MOD_mpi_sizeof_i": 4;
    "sizeofs_MOD_mpi_sizeof_iv": 4;
    "sizeofs_MOD_mpi_sizeof_i1": 1;
    "sizeofs_MOD_mpi_sizeof_i1v": 1;
    "sizeofs_MOD_mpi_sizeof_i2": 2;
    "sizeofs_MOD_mpi_sizeof_i2v": 2;
    "sizeofs_MOD_mpi_sizeof_i8": 8;
    "sizeofs_MOD_mpi_sizeof_i8v": 8;
    "sizeofs_MOD_mpi_sizeof_l": 4;
    "sizeofs_MOD_mpi_sizeof_lv": 4;
    "sizeofs_MOD_mpi_sizeof_r": 4;
    "sizeofs_MOD_mpi_sizeof_rv": 4;
}

/// Procedures that a program passes, under the names of the module `mpi_f08_callbacks`.
macro_rules! passed {
    ($($name:literal = $target:path: ($($argument:ident),*);)*) => {$(
        const _: () = {
            #[unsafe(export_name = concat!("__mpi_f08_callbacks_MOD_", $name))]
            unsafe extern "C" fn passed($($argument: *mut c_void),*) {
                // SAFETY: the arguments are those of the procedure, by reference.
                unsafe { $target($($argument.cast()),*) }
            }
        };
    )*};
}

use crate::attributes as a;

passed! {
    "mpi_comm_dup_fn" = a::mpi_comm_dup_fn_: (x, k, s, i, o, f, e);
    "mpi_type_dup_fn" = a::mpi_type_dup_fn_: (x, k, s, i, o, f, e);
    "mpi_win_dup_fn" = a::mpi_win_dup_fn_: (x, k, s, i, o, f, e);
    "mpi_comm_null_copy_fn" = a::mpi_comm_null_copy_fn_: (x, k, s, i, o, f, e);
    "mpi_type_null_copy_fn" = a::mpi_type_null_copy_fn_: (x, k, s, i, o, f, e);
    "mpi_win_null_copy_fn" = a::mpi_win_null_copy_fn_: (x, k, s, i, o, f, e);
    "mpi_comm_null_delete_fn" = a::mpi_comm_null_delete_fn_: (x, k, v, s, e);
    "mpi_type_null_delete_fn" = a::mpi_type_null_delete_fn_: (x, k, v, s, e);
    "mpi_win_null_delete_fn" = a::mpi_win_null_delete_fn_: (x, k, v, s, e);
}

/// Detaching a buffer: in this module the program gets its address. (The forms with a large count
/// are as in C, and generated.)
macro_rules! detach {
    ($($name:ident $twin:ident: $call:ident ($($object:ident)?);)*) => {$(
        detach! { @ $name, mpi::$call, ($($object)?) }
        detach! { @ $twin, pmpi::$call, ($($object)?) }
    )*};
    (@ $name:ident, $call:path, ($($object:ident)?)) => {
        /// Does what its name says.
        ///
        /// # Safety
        /// Called by Fortran with references.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            $($object: *mut c_int,)? address: *mut *mut c_void, size: *mut c_int, ierror: *mut c_int,
        ) {
            // SAFETY: the caller's promise.
            unsafe {
                set(ierror, $call($(*$object,)? address.cast(), size));
                *address = crate::special::detached(*address);
            }
        }
    };
}

detach! {
    mpi_buffer_detach_f08_ pmpir_buffer_detach_f08_: Buffer_detach ();
    mpi_comm_detach_buffer_f08_ pmpir_comm_detach_buffer_f08_: Comm_detach_buffer (comm);
    mpi_session_detach_buffer_f08_ pmpir_session_detach_buffer_f08_: Session_detach_buffer (session);
}
