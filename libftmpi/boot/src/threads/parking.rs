//! How threads of the program agree to stand still, and to go on.

use crate::base::context_switch::ftmpi_boot_switch;
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls;
use crate::signals::pending_signals;
use crate::threads::thread_state::record_thread_state;
use core::sync::atomic::{AtomicU32, Ordering};
use ftmpi_checkpoint::stream::limit;

/// States of a thread: whoever is asked may be asked no more, unless it has claimed its place.
pub const ASKED: u32 = 1;

pub const CLAIMED: u32 = 2;

pub const PARKED: u32 = 3;

pub const REVOKED: u32 = 4;

/// One of [`Parking::round`]'s looks.
pub const LOOK: u32 = 2;

/// And one of its changes.
pub const CHANGE: u32 = 8;

/// The next value of [`Parking::round`], in which threads stand still or not.
pub fn next_round(round: u32, standing: bool) -> u32 {
    (round / CHANGE).wrapping_add(1).wrapping_mul(CHANGE) | u32::from(standing)
}

/// Waits while `word` is `value`, for `limit_ns` at the most.
pub fn futex_wait(word: &AtomicU32, value: u32, limit_ns: Option<u64>) {
    let time = limit_ns.map(|ns| [ns / 1_000_000_000, ns % 1_000_000_000]);
    let time = time.as_ref().map_or(core::ptr::null(), |time| time.as_ptr());
    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word and the time live over the call.
    let _ = unsafe { syscalls::call!(libc::SYS_futex, word.as_ptr(), operation, value, time) };
}

pub fn futex_wake(word: &AtomicU32) {
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word lives over the call.
    let _ = unsafe { syscalls::call!(libc::SYS_futex, word.as_ptr(), operation, i32::MAX) };
}

/// Lets them go on.
pub fn release(area: &ReservedArea) {
    let parking = area.parking();
    let round = parking.round.load(Ordering::SeqCst);
    if round & 1 == 1 {
        parking.round.store(next_round(round, false), Ordering::SeqCst);
        futex_wake(&parking.round);
    }
}

/// In the signal's handler: whether this thread is asked to stand still. If so it does, and this
/// returns when it may go on: in this life, or in a restored one.
pub fn park_if_asked(area: &ReservedArea, tid: i32) -> bool {
    let parking = area.parking();
    if parking.round.load(Ordering::SeqCst) & 1 == 0 {
        return false;
    }
    let count = (parking.count.load(Ordering::Acquire) as usize).min(limit::THREADS);
    let Some(at) = parking.tids[..count].iter().position(|t| t.load(Ordering::Relaxed) == tid)
    else {
        return false;
    };
    let state = &parking.states[at];
    if state.compare_exchange(ASKED, CLAIMED, Ordering::SeqCst, Ordering::SeqCst).is_err() {
        return false;
    }
    // SAFETY: the place in the table is this thread's until it says that it stands still.
    let thread = unsafe { &mut *area.threads().as_mut_ptr().add(at) };
    record_thread_state(thread);
    collect_signals(area, tid);
    // SAFETY: stays on this stack. Returns once in this life, and once in each restored one.
    let result = unsafe {
        ftmpi_boot_switch(&raw mut thread.resume, stay_parked, at as *mut core::ffi::c_void, 0)
    };
    if result == 1 {
        wait_at_gate(area);
    }
    true
}

/// Writes down the signals that wait for the calling thread, which keeps them.
fn collect_signals(area: &ReservedArea, tid: i32) {
    let parking = area.parking();
    if pending_signals::collect_own(area, &parking.signals).is_err() {
        parking.too_many.store(1, Ordering::SeqCst);
    }
    pending_signals::send_again(pending_signals::known(area, &parking.signals), tid);
}

/// Everything that must be kept of the thread is written down and on its stack.
extern "C" fn stay_parked(at: *mut core::ffi::c_void) -> isize {
    // SAFETY: only the shared words of the reserved area are used, and places of its tables that are ours alone.
    let area = unsafe { ReservedArea::take() };
    let parking = area.parking();
    let mut round = parking.round.load(Ordering::SeqCst);
    // Counted before it is said: who looks at the states counts anew from there on.
    parking.parked.fetch_add(1, Ordering::AcqRel);
    parking.states[at as usize].store(PARKED, Ordering::Release);
    futex_wake(&parking.parked);
    loop {
        // The round may have ended before we came here.
        while round & 1 == 1 && parking.round.load(Ordering::SeqCst) == round {
            futex_wait(&parking.round, round, None);
        }
        let now = parking.round.load(Ordering::SeqCst);
        if round & 1 == 0 || now / CHANGE != round / CHANGE {
            return 0;
        }
        round = now;
        collect_signals(&area, syscalls::gettid());
        parking.parked.fetch_add(1, Ordering::AcqRel);
        futex_wake(&parking.parked);
    }
}

/// The gate: the main thread, which comes last, says that all are there; the one that took the image lets
/// all go on.
const CLOSED: u32 = 0;

const COMPLETE: u32 = 1;

const OPEN: u32 = 2;

/// In a restored process, on the thread's own stack: waits until it may go on.
fn wait_at_gate(area: &ReservedArea) {
    let gate = &area.parking().gate;
    if syscalls::gettid() == syscalls::getpid() {
        gate.store(COMPLETE, Ordering::SeqCst);
        futex_wake(gate);
    }
    loop {
        match gate.load(Ordering::SeqCst) {
            OPEN => return,
            other => futex_wait(gate, other, None),
        }
    }
}

/// The same on the thread that took the image: it does something `first`, while all others wait.
pub fn open_gate(area: &ReservedArea, first: impl FnOnce()) {
    let gate = &area.parking().gate;
    if syscalls::gettid() != syscalls::getpid() {
        while gate.load(Ordering::SeqCst) == CLOSED {
            futex_wait(gate, CLOSED, None);
        }
    }
    first();
    gate.store(OPEN, Ordering::SeqCst);
    futex_wake(gate);
}
