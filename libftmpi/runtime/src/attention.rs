//! Flags that a call looks at when it begins and ends, and how deep the program is inside the
//! library.

use crate::call_trace;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, Ordering};

/// Set by the signal handler: the control socket has something that must not wait.
pub static URGENT: AtomicBool = AtomicBool::new(false);

/// What there is to do at the begin of a call: [`TAKE_LOCK`], [`RECORD_CALLS`],
/// [`ORDER_THREADS`].
pub(crate) static AT_CALL_BEGIN: AtomicU8 = AtomicU8::new(0);
/// Calls take the lock of `threads`.
pub(crate) const TAKE_LOCK: u8 = 1;
/// Calls are recorded for a trace.
pub(crate) const RECORD_CALLS: u8 = 2;
/// The order of threads is recorded (`ftmpi_core::engine`, `steps`).
pub(crate) const ORDER_THREADS: u8 = 4;

/// Sets or clears a bit of [`AT_CALL_BEGIN`].
pub(crate) fn at_call_begin(bit: u8, wanted: bool) {
    if wanted {
        AT_CALL_BEGIN.fetch_or(bit, Ordering::SeqCst);
    } else {
        AT_CALL_BEGIN.fetch_and(!bit, Ordering::SeqCst);
    }
}

/// What there is to do at the end of a call: [`REPORT_CALL_ENDS`], [`WAIT_IS_SHOWN`],
/// [`CALL_IS_TRACED`], [`STEP_AT_END`].
pub(crate) static AT_CALL_END: AtomicU8 = AtomicU8::new(0);
/// The engine is called at the end of every call (`Link::report_call_ends`).
pub(crate) const REPORT_CALL_ENDS: u8 = 1;
/// The agent was told what this call waits for.
pub(crate) const WAIT_IS_SHOWN: u8 = 2;
/// This call is recorded for a trace.
pub(crate) const CALL_IS_TRACED: u8 = 4;
/// The end of a call may be a step of its thread.
pub(crate) const STEP_AT_END: u8 = 8;

/// Sets or clears a bit of [`AT_CALL_END`].
pub(crate) fn at_call_end(bit: u8, wanted: bool) {
    if wanted {
        AT_CALL_END.fetch_or(bit, Ordering::Relaxed);
    } else {
        AT_CALL_END.fetch_and(!bit, Ordering::Relaxed);
    }
}

/// The name of the function that the program called last.
static CALL: AtomicPtr<&'static str> = AtomicPtr::new(std::ptr::null_mut());

/// The program has called this function.
#[inline(always)]
pub(crate) fn set_call(name: &'static &'static str) {
    CALL.store(std::ptr::from_ref(name).cast_mut(), Ordering::Relaxed);
}

/// The name of the function that the program called last.
pub(crate) fn call() -> &'static str {
    // SAFETY: null, or what `set_call` was given, which lives for ever and is never written.
    unsafe { CALL.load(Ordering::Relaxed).as_ref() }.copied().unwrap_or_default()
}

/// How deep the program is inside the library: calls, and calls from callbacks.
static DEPTH: AtomicU32 = AtomicU32::new(0);

/// This call has a place in the order of threads.
static HAS_STEPS: AtomicBool = AtomicBool::new(false);

/// Whether this call has a place in the order of threads.
pub(crate) fn has_steps() -> bool {
    HAS_STEPS.load(Ordering::Relaxed)
}

/// Says so.
pub(crate) fn set_has_steps(has: bool) {
    HAS_STEPS.store(has, Ordering::Relaxed);
}

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

/// A call that is set aside while its thread lets others in.
pub(crate) struct SetAside {
    depth: u32,
    has_steps: bool,
    traced: Option<call_trace::Call>,
}

/// The calling thread lets others in, in the middle of a call.
pub(crate) fn step_out() -> SetAside {
    let traced = call_trace::set_aside();
    let has_steps = HAS_STEPS.swap(false, Ordering::Relaxed);
    SetAside { depth: DEPTH.swap(0, Ordering::Relaxed), has_steps, traced }
}

/// The calling thread goes on with its call.
pub(crate) fn step_in(call: SetAside) {
    set_depth(call.depth);
    set_has_steps(call.has_steps);
    call_trace::take_up(call.traced);
}
