//! `madvise`, `mlockall`, `munlockall`: notes what an image child cannot ask the kernel for.

use crate::base::errno::set_errno;
use crate::base::rank::is_rank;
use crate::base::syscalls;
use crate::interpose::next_function::next;
use crate::memory::{locked_memory::LOCKED, page_attributes};
use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering;

/// See `madvise(2)`; notes advice about forks. Otherwise it makes the system call only: allocators
/// call this function with their locks held.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn madvise(address: *mut c_void, len: usize, advice: c_int) -> c_int {
    if matches!(advice, libc::MADV_DONTFORK | libc::MADV_WIPEONFORK) && is_rank() {
        // Noted first: an image may be taken as soon as the kernel has the advice.
        page_attributes::note_fork_advice();
    }
    // SAFETY: by the caller.
    match unsafe { syscalls::call!(libc::SYS_madvise, address, len, advice) } {
        Ok(result) => result as c_int,
        Err(errno) => {
            set_errno(errno);
            -1
        }
    }
}

/// See the manual; notes the flags.
#[unsafe(no_mangle)]
pub extern "C" fn mlockall(flags: c_int) -> c_int {
    let next = next!(c"mlockall", -1, fn(c_int) -> c_int);
    // Memory that exists stays locked; the last call decides about new memory. Noted first: an
    // image may be taken as soon as the kernel has locked the memory.
    let before = LOCKED.load(Ordering::Relaxed);
    LOCKED.store(before & libc::MCL_CURRENT | flags, Ordering::Relaxed);
    // SAFETY: no memory involved.
    let result = unsafe { next(flags) };
    if result != 0 {
        LOCKED.store(before, Ordering::Relaxed);
    }
    result
}

/// See the manual; notes that nothing is locked.
#[unsafe(no_mangle)]
pub extern "C" fn munlockall() -> c_int {
    let next = next!(c"munlockall", -1, fn() -> c_int);
    // Noted first; the call does not fail.
    LOCKED.store(0, Ordering::Relaxed);
    // SAFETY: no memory is lost.
    unsafe { next() }
}
