//! Tells whether only the agent's signal ended a wait of the program.

use crate::base::errno::errno;
use crate::threads::thread_notes;
use core::ffi::c_int;
use core::sync::atomic::Ordering;

/// How often this thread was woken so far.
pub struct WakeCount {
    ours: u32,
    handlers: u32,
}

impl WakeCount {
    pub fn now() -> Self {
        let notes = thread_notes::of_caller();
        Self {
            ours: notes.interruptions.load(Ordering::Relaxed),
            handlers: notes.handled.load(Ordering::Relaxed),
        }
    }

    /// Whether the agent's signal has woken the thread since then, and no handler of the program
    /// ran.
    pub fn only_by_agent_signal(&self) -> bool {
        let now = Self::now();
        now.ours != self.ours && now.handlers == self.handlers
    }
}

/// Calls again as long as only the agent's signal ended the call.
pub fn again(mut call: impl FnMut() -> c_int) -> c_int {
    loop {
        let before = WakeCount::now();
        let result = call();
        if result != -1 || errno() != libc::EINTR || !before.only_by_agent_signal() {
            return result;
        }
    }
}
