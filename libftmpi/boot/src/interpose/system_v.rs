//! Semaphores, message queues and shared memory of System V: notes which ones the program uses, and
//! has a restored process know them by the same numbers.

use crate::interpose::interruption::again;
use crate::interpose::next_function::next;
use crate::process::system_v::{QUEUES, SEMAPHORES};
use crate::process::system_v_memory::SEGMENTS;
use core::ffi::{c_int, c_long, c_void};

/// See `shmget(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shmget(key: c_int, size: usize, flags: c_int) -> c_int {
    let next = next!(c"shmget", -1, fn(c_int, usize, c_int) -> c_int);
    // SAFETY: no memory involved.
    SEGMENTS.programs(unsafe { next(key, size, flags) })
}

/// See `shmat(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shmat(number: c_int, at: *const c_void, flags: c_int) -> *mut c_void {
    let failed = core::ptr::without_provenance_mut(usize::MAX);
    let next = next!(c"shmat", failed, fn(c_int, *const c_void, c_int) -> *mut c_void);
    // SAFETY: by the caller.
    unsafe { next(SEGMENTS.kernels(number), at, flags) }
}

/// See `shmctl(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shmctl(number: c_int, what: c_int, about: *mut c_void) -> c_int {
    let next = next!(c"shmctl", -1, fn(c_int, c_int, *mut c_void) -> c_int);
    // With other commands the number is an index, or of no meaning.
    let of_a_segment =
        [libc::IPC_RMID, libc::IPC_SET, libc::IPC_STAT, libc::SHM_LOCK, libc::SHM_UNLOCK];
    let kernels = if of_a_segment.contains(&what) { SEGMENTS.kernels(number) } else { number };
    // SAFETY: by the caller.
    unsafe { next(kernels, what, about) }
}

/// See `semget(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn semget(key: c_int, count: c_int, flags: c_int) -> c_int {
    let next = next!(c"semget", -1, fn(c_int, c_int, c_int) -> c_int);
    // SAFETY: no memory involved.
    SEMAPHORES.known.programs(unsafe { next(key, count, flags) })
}

/// See `semctl(2)`. The last argument is there or not, as the command wants.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn semctl(set: c_int, which: c_int, what: c_int, argument: usize) -> c_int {
    const SETVAL: c_int = 16;
    const SETALL: c_int = 17;
    /// `IPC_INFO`, `SEM_STAT`, `SEM_INFO`, `SEM_STAT_ANY`: the number is an index, or means
    /// nothing.
    const OF_NO_SET: [c_int; 4] = [3, 18, 19, 20];
    let next = next!(c"semctl", -1, fn(c_int, c_int, c_int, usize) -> c_int);
    let set = if OF_NO_SET.contains(&what) { set } else { SEMAPHORES.known.kernels(set) };
    if [SETVAL, SETALL].contains(&what) {
        SEMAPHORES.note(set);
    }
    // SAFETY: by the caller.
    unsafe { next(set, which, what, argument) }
}

/// Notes operations on a set. Gives the kernel's number.
///
/// # Safety
/// As for `semop`.
unsafe fn used(set: c_int, what: *const c_void, count: usize) -> c_int {
    /// `struct sembuf`
    #[repr(C)]
    struct Operation {
        which: u16,
        by: i16,
        flags: i16,
    }
    const UNDO: i16 = 0x1000;
    let set = SEMAPHORES.known.kernels(set);
    let operations: &[Operation] = if what.is_null() {
        &[]
    } else {
        // SAFETY: by the caller.
        unsafe { core::slice::from_raw_parts(what.cast(), count) }
    };
    if operations.iter().any(|one| one.flags & UNDO != 0) {
        SEMAPHORES.note_undone(set);
    } else {
        SEMAPHORES.note(set);
    }
    set
}

/// See `msgget(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn msgget(key: c_int, flags: c_int) -> c_int {
    let next = next!(c"msgget", -1, fn(c_int, c_int) -> c_int);
    // SAFETY: no memory involved.
    QUEUES.known.programs(unsafe { next(key, flags) })
}

/// See `msgctl(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn msgctl(queue: c_int, what: c_int, about: *mut c_void) -> c_int {
    /// `IPC_INFO`, `MSG_STAT`, `MSG_INFO`, `MSG_STAT_ANY`: the number is an index, or means
    /// nothing.
    const OF_NO_QUEUE: [c_int; 4] = [3, 11, 12, 13];
    let next = next!(c"msgctl", -1, fn(c_int, c_int, *mut c_void) -> c_int);
    let queue = if OF_NO_QUEUE.contains(&what) { queue } else { QUEUES.known.kernels(queue) };
    // SAFETY: by the caller.
    unsafe { next(queue, what, about) }
}

/// See `semop(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn semop(set: c_int, what: *mut c_void, count: usize) -> c_int {
    let next = next!(c"semop", -1, fn(c_int, *mut c_void, usize) -> c_int);
    // SAFETY: by the caller.
    let set = unsafe { used(set, what, count) };
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
    // SAFETY: by the caller.
    let set = unsafe { used(set, what, count) };
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
    let queue = QUEUES.known.kernels(queue);
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
    let queue = QUEUES.known.kernels(queue);
    QUEUES.note(queue);
    let mut got = -1;
    again(|| {
        // SAFETY: by the caller.
        got = unsafe { next(queue, message, len, kind, flags) };
        if got < 0 { -1 } else { 0 }
    });
    got
}
