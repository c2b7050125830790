//! Arguments that are known by their address.
//!
//! `MPI_BOTTOM` and other special addresses are variables of Fortran common blocks. The program has
//! those blocks too, by the same names. The dynamic linker makes all libraries use one copy, the
//! program's: comparing addresses recognises them. Names and layout belong to the binary interface
//! of the MPICH family.

use core::ffi::{c_int, c_void};

/// A common block; aligned as the compilers align theirs.
#[repr(C, align(64))]
pub struct Common<const N: usize>([c_int; N]);

macro_rules! common {
    ($($name:ident: $length:literal, $doc:literal;)*) => {$(
        #[doc = $doc]
        #[unsafe(no_mangle)]
        #[allow(non_upper_case_globals)]
        pub static mut $name: Common<$length> = Common([0; $length]);
    )*};
}

common! {
    mpifcmb5_: 1, "`MPI_UNWEIGHTED`";
    mpifcmb9_: 1, "`MPI_WEIGHTS_EMPTY`";
    mpifcmba_: 1, "`MPI_BUFFER_AUTOMATIC`";
    mpipriv1_: 7, "`MPI_BOTTOM`, `MPI_IN_PLACE`, `MPI_STATUS_IGNORE(5)`";
    mpipriv2_: 6, "`MPI_STATUSES_IGNORE(5,1)`, `MPI_ERRCODES_IGNORE(1)`";
    mpiprivc_: 1, "characters: `MPI_ARGVS_NULL(1,1)`, `MPI_ARGV_NULL(1)`";
}

/// The address of element `i` of a common block, as the whole process sees it.
macro_rules! element {
    ($common:ident, $i:expr) => {
        (&raw mut $common).cast::<c_int>().wrapping_add($i)
    };
}

const C_IN_PLACE: *mut c_void = core::ptr::without_provenance_mut(usize::MAX);
const C_BUFFER_AUTOMATIC: *mut c_void = core::ptr::without_provenance_mut(usize::MAX - 1);
const C_STATUS_IGNORE: *mut c_void = core::ptr::without_provenance_mut(1);

// SAFETY: the signatures are those of the C side.
unsafe extern "C" {
    static MPI_UNWEIGHTED: *mut c_int;
    static MPI_WEIGHTS_EMPTY: *mut c_int;
}

#[cfg(not(test))]
// SAFETY: the types are those of the C side.
unsafe extern "C" {
    // Special addresses of the module mpi_f08.
    static mut MPIR_F08_MPI_BOTTOM: c_int;
    static mut MPIR_F08_MPI_IN_PLACE: c_int;
    static mut MPIR_F08_MPI_STATUS_IGNORE_OBJ: [c_int; 5];
    static mut MPIR_F08_MPI_STATUSES_IGNORE_OBJ: [c_int; 5];
    static mut MPI_F_STATUS_IGNORE: *mut c_int;
    static mut MPI_F_STATUSES_IGNORE: *mut c_int;
}

#[cfg(test)]
use of_the_c_library::*;

/// Gives the C library the addresses of Fortran's ignored statuses, for `MPI_Status_f2c`. Runs when
/// the library is loaded: the addresses are fixed from then on.
#[cfg(not(test))]
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = {
    extern "C" fn at_load() {
        // SAFETY: the variables belong to libmpi, which is loaded and relocated before this
        // library. No one else writes them, and no thread exists yet.
        unsafe {
            MPI_F_STATUS_IGNORE = element!(mpipriv1_, 2);
            MPI_F_STATUSES_IGNORE = element!(mpipriv2_, 0);
        }
    }
    at_load
};

/// A choice buffer for C.
#[inline(always)]
pub fn buffer(p: *mut c_void) -> *mut c_void {
    if p == element!(mpipriv1_, 0).cast() {
        core::ptr::null_mut()
    } else if p == element!(mpipriv1_, 1).cast() {
        C_IN_PLACE
    } else if p == element!(mpifcmba_, 0).cast() {
        C_BUFFER_AUTOMATIC
    } else {
        p
    }
}

/// The buffer's address that a detaching call of `mpi_f08` returns.
pub fn detached(p: *mut c_void) -> *mut c_void {
    if p == C_BUFFER_AUTOMATIC { element!(mpifcmba_, 0).cast() } else { p }
}

/// A choice buffer of `mpi_f08` as `buffer` expects it.
pub fn buffer_f08(p: *mut c_void) -> *mut c_void {
    if p == (&raw mut MPIR_F08_MPI_BOTTOM).cast() {
        element!(mpipriv1_, 0).cast()
    } else if p == (&raw mut MPIR_F08_MPI_IN_PLACE).cast() {
        element!(mpipriv1_, 1).cast()
    } else {
        p
    }
}

/// A status for C.
#[inline(always)]
pub fn status(p: *mut c_int) -> *mut c_void {
    if p == element!(mpipriv1_, 2) || p == (&raw mut MPIR_F08_MPI_STATUS_IGNORE_OBJ).cast() {
        C_STATUS_IGNORE
    } else {
        p.cast()
    }
}

/// An array of statuses for C. A program that gives the name for a single status is understood as
/// well.
#[inline(always)]
pub fn statuses(p: *mut c_int) -> *mut c_void {
    if p == element!(mpipriv2_, 0) || p == (&raw mut MPIR_F08_MPI_STATUSES_IGNORE_OBJ).cast() {
        C_STATUS_IGNORE
    } else {
        status(p)
    }
}

/// An array of error codes for C.
pub fn errcodes(p: *mut c_int) -> *mut c_int {
    if p == element!(mpipriv2_, 5) { core::ptr::null_mut() } else { p }
}

/// Is it `MPI_ARGV_NULL`?
pub fn is_argv_null(p: *const u8) -> bool {
    core::ptr::eq(p, element!(mpiprivc_, 0).cast::<u8>().wrapping_add(1))
}

/// Is it `MPI_ARGVS_NULL`?
pub fn is_argvs_null(p: *const u8) -> bool {
    core::ptr::eq(p, element!(mpiprivc_, 0).cast())
}

/// Weights of a distributed graph for C.
pub fn weights(p: *mut c_int) -> *mut c_int {
    // SAFETY: constants of libmpi, initialised when it was linked.
    unsafe {
        if p == element!(mpifcmb5_, 0) {
            MPI_UNWEIGHTED
        } else if p == element!(mpifcmb9_, 0) {
            MPI_WEIGHTS_EMPTY
        } else {
            p
        }
    }
}

/// Unit tests run without a C library: the loader would not find its variables.
#[cfg(test)]
mod of_the_c_library {
    use super::c_int;
    pub(super) static mut MPIR_F08_MPI_BOTTOM: c_int = 0;
    pub(super) static mut MPIR_F08_MPI_IN_PLACE: c_int = 0;
    pub(super) static mut MPIR_F08_MPI_STATUS_IGNORE_OBJ: [c_int; 5] = [0; 5];
    pub(super) static mut MPIR_F08_MPI_STATUSES_IGNORE_OBJ: [c_int; 5] = [0; 5];
}
