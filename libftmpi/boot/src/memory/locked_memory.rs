//! What the program asked of `mlockall`, which the kernel tells nobody.

use crate::base::syscalls;
use core::sync::atomic::{AtomicI32, Ordering};

/// What the program has asked of `mlockall` (`MCL_*`). Not to be had from the kernel: an image child
/// has no locked memory.
pub static LOCKED: AtomicI32 = AtomicI32::new(0);

/// Whether all that there was is locked.
pub fn locks_all() -> bool {
    LOCKED.load(Ordering::Relaxed) & libc::MCL_CURRENT != 0
}

/// Locks the memory of a restored process, if the program had. Where less is allowed it is not.
pub fn restore_locked() {
    let flags = LOCKED.load(Ordering::Relaxed);
    // What the image brought is there; nothing else is made now, which could be more than there is
    // room for: perhaps the program has mapped it after its call.
    let there = flags & libc::MCL_CURRENT;
    let coming = flags & !libc::MCL_CURRENT;
    for flags in [there | if there == 0 { 0 } else { libc::MCL_ONFAULT }, coming] {
        if flags & (libc::MCL_CURRENT | libc::MCL_FUTURE) != 0 {
            // SAFETY: no memory is lost.
            let _ = unsafe { syscalls::call!(libc::SYS_mlockall, flags) };
        }
    }
}
