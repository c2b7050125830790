//! Tells whether a wait of the program was ended by the signal of this library alone.

use crate::base::errno::errno;
use crate::threads::thread_notes;
use core::ffi::c_int;
use core::sync::atomic::Ordering;

/// What this thread was woken by so far.
pub struct Woken {
    ours: u32,
    handlers: u32,
}

impl Woken {
    pub fn now() -> Self {
        let notes = thread_notes::mine();
        Self {
            ours: notes.interruptions.load(Ordering::Relaxed),
            handlers: notes.handled.load(Ordering::Relaxed),
        }
    }

    /// Whether our signal woke it since, and no handler of the program ran.
    pub fn only_by_us(&self) -> bool {
        let now = Self::now();
        now.ours != self.ours && now.handlers == self.handlers
    }
}

/// Calls until the result is not one that our signal caused.
pub fn again(mut call: impl FnMut() -> c_int) -> c_int {
    loop {
        let before = Woken::now();
        let result = call();
        if result != -1 || errno() != libc::EINTR || !before.only_by_us() {
            return result;
        }
    }
}
