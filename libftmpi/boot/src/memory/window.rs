//! The window: addresses that the runtime uses for memory that it shares with others.

use crate::base::syscalls;
use crate::process::limits;
use ftmpi_checkpoint::boot_abi::{WINDOW_BASE, WINDOW_LEN};

/// Reserves the window, and gives its length in bytes. 0: there is no window.
pub fn reserve() -> usize {
    let mut len = WINDOW_LEN;
    // The program is to get most of what a limit on address space allows.
    let limit = limits::soft_limit(libc::RLIMIT_AS) as usize;
    while len > limit / 8 {
        len /= 2;
    }
    let flags = libc::MAP_PRIVATE | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    while len >= 1 << 28 {
        // SAFETY: MAP_FIXED_NOREPLACE replaces nothing.
        match unsafe { syscalls::map_anonymous(WINDOW_BASE, len, libc::PROT_NONE, flags) } {
            Ok(WINDOW_BASE) => return len,
            Ok(elsewhere) => {
                // SAFETY: just mapped.
                let _ = unsafe { syscalls::unmap(elsewhere, len) };
                return 0;
            }
            // The limit on address space is lower: a smaller window may fit.
            Err(libc::ENOMEM) => len /= 2,
            Err(_) => return 0,
        }
    }
    0
}
