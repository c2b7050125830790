//! What the program asked of `mlockall`. The kernel does not tell it.

use crate::base::syscalls;
use core::sync::atomic::{AtomicI32, Ordering};

/// The flags of `mlockall` (`MCL_*`) that are in effect.
pub static LOCKED: AtomicI32 = AtomicI32::new(0);

/// Whether the program has locked all memory that there was.
pub fn locks_all() -> bool {
    LOCKED.load(Ordering::Relaxed) & libc::MCL_CURRENT != 0
}

/// Locks the memory of a restored process, if the program had. If the limit of this host is lower,
/// the memory stays unlocked.
pub fn restore_locked() {
    let flags = LOCKED.load(Ordering::Relaxed);
    // The memory of the image is there already. Pages that do not exist yet are not made: the
    // program may have mapped them after its call, and there may be no room.
    let there = flags & libc::MCL_CURRENT;
    let coming = flags & !libc::MCL_CURRENT;
    for flags in [there | if there == 0 { 0 } else { libc::MCL_ONFAULT }, coming] {
        if flags & (libc::MCL_CURRENT | libc::MCL_FUTURE) != 0 {
            // SAFETY: no memory is lost.
            let _ = unsafe { syscalls::call!(libc::SYS_mlockall, flags) };
        }
    }
}
