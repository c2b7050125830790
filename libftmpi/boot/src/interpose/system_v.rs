//! Semaphores and message queues of System V: notes which ones the program uses.

use crate::interpose::interruption::again;
use crate::interpose::next_function::next;
use crate::process::system_v::{QUEUES, SEMAPHORES};
use core::ffi::{c_int, c_long, c_void};

/// See `semop(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn semop(set: c_int, what: *mut c_void, count: usize) -> c_int {
    let next = next!(c"semop", -1, fn(c_int, *mut c_void, usize) -> c_int);
    SEMAPHORES.note(set);
    // SAFETY: by the caller.
    again(|| unsafe { next(set, what, count) })
}

/// See `semtimedop(2)`. (A wait that the agent's signal interrupts begins with its whole time
/// again.)
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn semtimedop(
    set: c_int,
    what: *mut c_void,
    count: usize,
    time: *const libc::timespec,
) -> c_int {
    let next =
        next!(c"semtimedop", -1, fn(c_int, *mut c_void, usize, *const libc::timespec) -> c_int);
    SEMAPHORES.note(set);
    // SAFETY: by the caller.
    again(|| unsafe { next(set, what, count, time) })
}

/// See `msgsnd(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn msgsnd(
    queue: c_int,
    message: *const c_void,
    len: usize,
    flags: c_int,
) -> c_int {
    let next = next!(c"msgsnd", -1, fn(c_int, *const c_void, usize, c_int) -> c_int);
    QUEUES.note(queue);
    // SAFETY: by the caller.
    again(|| unsafe { next(queue, message, len, flags) })
}

/// See `msgrcv(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn msgrcv(
    queue: c_int,
    message: *mut c_void,
    len: usize,
    kind: c_long,
    flags: c_int,
) -> isize {
    let next = next!(c"msgrcv", -1, fn(c_int, *mut c_void, usize, c_long, c_int) -> isize);
    QUEUES.note(queue);
    let mut got = -1;
    again(|| {
        // SAFETY: by the caller.
        got = unsafe { next(queue, message, len, kind, flags) };
        if got < 0 { -1 } else { 0 }
    });
    got
}
