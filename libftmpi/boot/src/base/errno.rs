//! `errno` of the C library, for the functions that stand before those of the C library.

use core::ffi::c_int;

#[inline]
pub fn errno() -> c_int {
    // SAFETY: the C library's own, valid in every thread.
    unsafe { *libc::__errno_location() }
}

#[inline]
pub fn set_errno(value: c_int) {
    // SAFETY: the C library's own, valid in every thread.
    unsafe { *libc::__errno_location() = value };
}
