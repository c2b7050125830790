//! A program may close descriptors that it never opened: all of them, as daemons do, or all that it does not
//! know. Those of the library stay open: `close` and its kin tell of them that they are not open, and copies do
//! not take their numbers. In a process that the program forked they are like all others.

use crate::base::errno::set_errno;
use crate::descriptors::library_descriptors::{in_the_rank, is_ours, next_of_ours};
use crate::interpose::next_function::next;
use core::ffi::{c_int, c_uint};

/// What is not open.
fn refuse() -> c_int {
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
    if is_ours(fd) {
        return refuse();
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
    if is_ours(new) {
        return refuse();
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
    if is_ours(new) {
        return refuse();
    }
    // SAFETY: by the caller.
    unsafe { next(old, new, flags) }
}

/// Calls for the ranges between those of ours, until one fails.
fn around_ours(first: u32, last: u32, mut call: impl FnMut(u32, u32) -> c_int) -> c_int {
    let mut from = first;
    while let Some(ours) = next_of_ours(from).filter(|ours| *ours <= last) {
        if ours > from {
            let result = call(from, ours - 1);
            if result != 0 {
                return result;
            }
        }
        from = ours + 1;
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
    // SAFETY: by the caller, of parts of the range.
    around_ours(first, last, |first, last| unsafe { next(first, last, flags) })
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
