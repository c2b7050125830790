//! A program may close descriptors that it never opened: all of them, as daemons do, or all that it does not
//! know. Those of the library stay open: `close` and its kin tell of them that they are not open, and copies do
//! not take their numbers. In a process that the program forked they are like all others.

use crate::interpose::waits::set_errno;
use crate::life::{self, is_rank, next};
use core::ffi::{c_int, c_uint};
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use ftmpi_wire::control::fds;

/// Those that a rank finds open when it starts, as long as the runtime has not told more.
static AT_START: [AtomicU64; 16] = {
    let mut words = [const { AtomicU64::new(0) }; 16];
    words[fds::CONTROL as usize / 64] =
        AtomicU64::new(1 << (fds::CONTROL % 64) | 1 << (fds::STATUS % 64));
    words
};
const _: () = assert!(fds::CONTROL / 64 == 15 && fds::STATUS / 64 == 15);

/// Which are the library's, a bit each: memory of the runtime, for ever.
static WORDS: AtomicPtr<AtomicU64> = AtomicPtr::new(core::ptr::null_mut());
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// See [`ftmpi_checkpoint::boot_abi::BootTable::keep_open`].
pub extern "C" fn keep_open(words: *const AtomicU64, count: usize) {
    WORDS.store(words.cast_mut(), Ordering::Relaxed);
    COUNT.store(count, Ordering::Release);
}

fn words() -> &'static [AtomicU64] {
    let count = COUNT.load(Ordering::Acquire);
    if count == 0 {
        return &AT_START;
    }
    // SAFETY: by the caller of `keep_open` there are so many, for ever.
    unsafe { core::slice::from_raw_parts(WORDS.load(Ordering::Relaxed), count) }
}

/// The first descriptor of the library's from this one on.
fn next_of_ours(from: u32) -> Option<u32> {
    let words = words();
    let from = from.max(fds::CONTROL as u32);
    let mut index = from as usize / 64;
    let mut mask = u64::MAX << (from % 64);
    loop {
        let bits = words.get(index)?.load(Ordering::Relaxed) & mask;
        if bits != 0 {
            return Some(index as u32 * 64 + bits.trailing_zeros());
        }
        (index, mask) = (index + 1, u64::MAX);
    }
}

fn in_the_rank() -> bool {
    is_rank() && !life::is_forked()
}

fn is_ours(fd: c_int) -> bool {
    u32::try_from(fd).is_ok_and(|fd| next_of_ours(fd) == Some(fd)) && in_the_rank()
}

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
