//! Error codes, truth values and indices between the languages (MPI-4.1, 19.3).

use core::ffi::c_int;

use crate::c::mpi;

const MPI_UNDEFINED: c_int = -32766;
/// More dimensions than any topology has; bounds a count that a program got wrong.
const DIMENSIONS: usize = 1 << 20;

/// Returns an error code; modern interfaces leave out the argument.
#[inline(always)]
pub fn set(ierror: *mut c_int, code: c_int) {
    if !ierror.is_null() {
        // SAFETY: Fortran passes an INTEGER.
        unsafe { *ierror = code };
    }
}

/// The value of a Fortran LOGICAL, as gfortran has it.
#[inline(always)]
pub fn logical(flag: c_int) -> c_int {
    (flag != 0) as c_int
}

/// The value of a variable that no call has written: neither a truth value, an index nor a number.
pub const UNWRITTEN: c_int = c_int::MIN;

/// Stores what a call wrote, for every return code. A call that reports a request with an error
/// also returns its index (MPI-4.1, 3.7.5), and an error handler may change the code.
///
/// # Safety
/// `p` points to an integer of the program.
#[inline(always)]
pub unsafe fn store_translated(
    p: *mut c_int,
    value: c_int,
    translate: impl FnOnce(c_int) -> c_int,
) {
    if value != UNWRITTEN {
        // SAFETY: the caller's promise.
        unsafe { *p = translate(value) };
    }
}

/// The index in Fortran.
#[inline(always)]
pub fn counted_from_one(index: c_int) -> c_int {
    if index == MPI_UNDEFINED { index } else { index.wrapping_add(1) }
}

/// Makes `count` indices that count from zero count from one.
///
/// # Safety
/// `p` points to that many integers, if `count` is positive.
pub unsafe fn from_one(p: *mut c_int, count: c_int) {
    if count > 0 {
        // SAFETY: the caller's promise.
        for index in unsafe { core::slice::from_raw_parts_mut(p, count as usize) } {
            *index = counted_from_one(*index);
        }
    }
}

/// Number of dimensions of a Cartesian communicator; 0 for any other. An error comes from the
/// function that asked.
///
/// # Safety
/// MPI is initialised.
pub unsafe fn cartdim(comm: c_int) -> c_int {
    let (mut kind, mut dimensions) = (0, 0);
    // SAFETY: both are results.
    unsafe {
        if mpi::Topo_test(comm, &raw mut kind) == 0 && kind == 2 {
            mpi::Cartdim_get(comm, &raw mut dimensions);
        }
    }
    dimensions
}

/// An array of truth values between the languages.
pub struct Logicals(Vec<c_int>);

impl Logicals {
    /// Room for `count` values, those of the Fortran array if `read`.
    ///
    /// # Safety
    /// `p` points to `count` LOGICALs.
    pub unsafe fn take(p: *const c_int, count: c_int, read: bool) -> Logicals {
        let count = usize::try_from(count).unwrap_or(0).min(DIMENSIONS);
        let mut flags = vec![0; count];
        if read && count > 0 {
            // SAFETY: the caller's promise.
            let given = unsafe { core::slice::from_raw_parts(p, count) };
            for (flag, &value) in flags.iter_mut().zip(given) {
                *flag = (value != 0) as c_int;
            }
        }
        Logicals(flags)
    }

    /// For the C function.
    pub fn as_mut_ptr(&mut self) -> *mut c_int {
        self.0.as_mut_ptr()
    }

    /// Gives the values to the Fortran array.
    ///
    /// # Safety
    /// `p` points to as many LOGICALs as were taken.
    pub unsafe fn give(&self, p: *mut c_int) {
        for (i, &flag) in self.0.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { *p.add(i) = logical(flag) };
        }
    }
}
