//! The library's own descriptors. A program may close descriptors that it did not open, as daemons
//! do; the library's stay open.

use crate::base::rank::{self, is_rank};
use crate::base::syscalls;
use core::ffi::c_int;
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use ftmpi_wire::control::fds;

/// From here on descriptors belong to the library ([`ftmpi_wire::control::fds`]). Some of the
/// library's are lower, if the program's limit on descriptors leaves no other place.
pub const FIRST_LIBRARY: i32 = fds::CONTROL;

/// The library's descriptors at start, until the runtime tells its list.
static AT_START: [AtomicU64; 16] = {
    let mut words = [const { AtomicU64::new(0) }; 16];
    words[fds::CONTROL as usize / 64] =
        AtomicU64::new(1 << (fds::CONTROL % 64) | 1 << (fds::STATUS % 64));
    words
};

const _: () = assert!(fds::CONTROL / 64 == 15 && fds::STATUS / 64 == 15);

/// The library's descriptors, one bit each. The words are in memory of the runtime that stays.
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
    // SAFETY: the caller of `keep_open` guarantees so many words that stay.
    unsafe { core::slice::from_raw_parts(WORDS.load(Ordering::Relaxed), count) }
}

/// The first descriptor of the library from `from` on.
pub fn next_of_library(from: u32) -> Option<u32> {
    let words = words();
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

pub fn in_the_rank() -> bool {
    is_rank() && !rank::is_forked()
}

pub fn is_library(fd: c_int) -> bool {
    let has_bit = |fd: u32| {
        words()
            .get(fd as usize / 64)
            .is_some_and(|word| word.load(Ordering::Relaxed) & 1 << (fd % 64) != 0)
    };
    u32::try_from(fd).is_ok_and(has_bit) && in_the_rank()
}

/// Keeps the library's descriptors from programs that the program executes.
pub fn mark_close_on_exec() {
    const CLOSE_RANGE_CLOEXEC: usize = 4;
    let first = FIRST_LIBRARY;
    // SAFETY: no memory involved.
    let marked =
        unsafe { syscalls::call!(libc::SYS_close_range, first, u32::MAX, CLOSE_RANGE_CLOEXEC) };
    if marked.is_err() {
        for fd in first..first + 64 {
            let _ = syscalls::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC as usize);
        }
    }
}

/// Moves a new descriptor to a number of the library's, so that all lower numbers stay free.
pub fn move_up(fd: i32) -> Result<i32, syscalls::Errno> {
    let moved = syscalls::fcntl(fd, libc::F_DUPFD_CLOEXEC, FIRST_LIBRARY as usize);
    syscalls::close(fd);
    moved
}
