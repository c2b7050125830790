//! Flags that a call looks at when it ends, and how deep the program is inside the library.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Set by the signal handler: the control socket has something that must not wait.
pub static URGENT: AtomicBool = AtomicBool::new(false);

/// The engine is called at the end of every call (`Link::report_call_ends`).
pub(crate) static REPORT_CALL_ENDS: AtomicBool = AtomicBool::new(false);

/// How deep the program is inside the library: calls, and calls from callbacks.
static DEPTH: AtomicU32 = AtomicU32::new(0);

/// How deep the program is inside the library.
#[inline(always)]
pub(crate) fn depth() -> u32 {
    DEPTH.load(Ordering::Relaxed)
}

/// Sets how deep the program is inside the library.
#[inline(always)]
pub(crate) fn set_depth(depth: u32) {
    DEPTH.store(depth, Ordering::Relaxed);
}

/// The calling thread lets others in, in the middle of a call; gives how deep it is inside.
pub(crate) fn step_out() -> u32 {
    DEPTH.swap(0, Ordering::Relaxed)
}

/// The calling thread goes on with its call.
pub(crate) fn step_in(depth: u32) {
    set_depth(depth);
}
