//! How threads of the program agree to stand still, and to go on.

use crate::base::context_switch::ftmpi_boot_switch;
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls;
use crate::signals::pending_signals;
use crate::threads::thread_state::record_thread_state;
use core::sync::atomic::{AtomicU32, Ordering};
use ftmpi_checkpoint::stream::limit;

/// States of a thread. A request can be revoked until the thread claims its entry.
pub const ASKED: u32 = 1;

pub const CLAIMED: u32 = 2;

pub const PARKED: u32 = 3;

pub const REVOKED: u32 = 4;

/// One look for signals, in [`Parking::round`](crate::base::tables::Parking::round).
pub const LOOK: u32 = 2;

/// One change of the lowest bit, in [`Parking::round`](crate::base::tables::Parking::round).
pub const CHANGE: u32 = 8;

/// The next value of [`Parking::round`](crate::base::tables::Parking::round), in which threads
/// stand still or not.
pub fn next_round(round: u32, standing: bool) -> u32 {
    (round / CHANGE).wrapping_add(1).wrapping_mul(CHANGE) | u32::from(standing)
}

/// Waits while `word` is `value`, for at most `limit_ns` nanoseconds.
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

/// Lets all threads go on.
pub fn release(area: &ReservedArea) {
    let parking = area.parking();
    let round = parking.round.load(Ordering::SeqCst);
    if round & 1 == 1 {
        parking.round.store(next_round(round, false), Ordering::SeqCst);
        futex_wake(&parking.round);
    }
}

/// Parks the calling thread if it is asked to stand still. Called in the signal's handler. Gives
/// true when the thread may go on, here or in a restored process.
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
    // SAFETY: the entry of the table is this thread's until the thread is marked as parked.
    let thread = unsafe { &mut *area.threads().as_mut_ptr().add(at) };
    record_thread_state(thread);
    collect_signals(area, tid);
    // SAFETY: stays on this stack. Returns once here, and once in each restored process.
    let result = unsafe {
        ftmpi_boot_switch(&raw mut thread.resume, stay_parked, at as *mut core::ffi::c_void, 0)
    };
    if result == 1 {
        wait_at_gate(area);
    }
    true
}

/// Writes down the pending signals of the calling thread, which keeps them.
fn collect_signals(area: &ReservedArea, tid: i32) {
    let parking = area.parking();
    if pending_signals::collect_own(area, &parking.signals).is_err() {
        parking.too_many.store(1, Ordering::SeqCst);
    }
    pending_signals::send_again(pending_signals::known(area, &parking.signals), tid);
}

/// Marks the thread as parked, and waits. The table and the thread's stack hold everything about
/// the thread.
extern "C" fn stay_parked(at: *mut core::ffi::c_void) -> isize {
    // SAFETY: only the shared words of the reserved area and this thread's own entries are used.
    let area = unsafe { ReservedArea::take() };
    let parking = area.parking();
    let mut round = parking.round.load(Ordering::SeqCst);
    // Counted first: the thread that reads the states counts again after this.
    parking.parked.fetch_add(1, Ordering::AcqRel);
    parking.states[at as usize].store(PARKED, Ordering::Release);
    futex_wake(&parking.parked);
    loop {
        // The round may have ended already.
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

/// States of the gate. The main thread comes last and marks the process as complete. The thread
/// that took the image opens the gate.
const CLOSED: u32 = 0;

const COMPLETE: u32 = 1;

const OPEN: u32 = 2;

/// Waits until the thread may go on. In a restored process, on the thread's own stack.
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

/// The same on the thread that took the image. It calls `first` while all others wait, and lets
/// them go on.
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
