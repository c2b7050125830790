//! Functions that close or replace descriptors. The library's descriptors stay open.
//!
//! Programs close descriptors that they did not open: daemons close all of them. Here `close` and
//! the others tell that a descriptor of the library is not open, and `dup2` does not replace one.
//! In a process that the program forked, the library's descriptors are like all others.

use crate::base::errno::set_errno;
use crate::descriptors::library_descriptors::{in_the_rank, is_library, next_of_library};
use crate::interpose::next_function::next;
use core::ffi::{c_int, c_uint};

/// The answer for a descriptor that is not open.
fn not_open() -> c_int {
    set_errno(libc::EBADF);
    -1
}

/// See `close(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn close(fd: c_int) -> c_int {
    let next = next!(c"close", -1, fn(c_int) -> c_int);
    if is_library(fd) {
        return not_open();
    }
    // SAFETY: by the caller.
    unsafe { next(fd) }
}

/// See `dup2(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dup2(old: c_int, new: c_int) -> c_int {
    let next = next!(c"dup2", -1, fn(c_int, c_int) -> c_int);
    if is_library(new) {
        return not_open();
    }
    // SAFETY: by the caller.
    unsafe { next(old, new) }
}

/// See `dup3(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dup3(old: c_int, new: c_int, flags: c_int) -> c_int {
    let next = next!(c"dup3", -1, fn(c_int, c_int, c_int) -> c_int);
    if is_library(new) {
        return not_open();
    }
    // SAFETY: by the caller.
    unsafe { next(old, new, flags) }
}

/// Calls for the ranges between the library's descriptors, until a call fails.
fn around_library(first: u32, last: u32, mut call: impl FnMut(u32, u32) -> c_int) -> c_int {
    let mut from = first;
    while let Some(library) = next_of_library(from).filter(|library| *library <= last) {
        if library > from {
            let result = call(from, library - 1);
            if result != 0 {
                return result;
            }
        }
        from = library + 1;
    }
    if from <= last { call(from, last) } else { 0 }
}

/// See `close_range(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    let next = next!(c"close_range", -1, fn(c_uint, c_uint, c_int) -> c_int);
    if first > last || !in_the_rank() {
        // SAFETY: by the caller.
        return unsafe { next(first, last, flags) };
    }
    // SAFETY: by the caller, for parts of the range.
    around_library(first, last, |first, last| unsafe { next(first, last, flags) })
}

/// See `closefrom(3)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn closefrom(low: c_int) {
    let first = low.max(0) as u32;
    // SAFETY: by the caller.
    if unsafe { close_range(first, u32::MAX, 0) } == 0 {
        return;
    }
    // A kernel before 5.9.
    // SAFETY: takes no pointers.
    let most = unsafe { libc::sysconf(libc::_SC_OPEN_MAX) };
    for fd in i64::from(first)..most {
        // SAFETY: by the caller.
        unsafe { close(fd as c_int) };
    }
}
