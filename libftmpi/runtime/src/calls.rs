//! Begin and end of every call of the program, and what is done between two calls.
//!
//! Guarantees: the engine is used by one thread at a time; the signal handler does what is urgent
//! only while no call is under way.

use crate::attention::{
    AT_CALL_BEGIN, AT_CALL_END, CALL_IS_TRACED, ORDER_THREADS, RECORD_CALLS, REPORT_CALL_ENDS,
    STEP_AT_END, TAKE_LOCK, URGENT, WAIT_IS_SHOWN, at_call_end, depth, has_steps, set_call,
    set_depth, set_has_steps, step_in, step_out,
};
use crate::call_trace;
use crate::job;
use crate::thread_order;
use crate::threads;
use ftmpi_core::engine::Link;
use std::sync::atomic::{Ordering, compiler_fence};

/// Begin of a call of this function.
#[inline]
pub fn enter(name: &'static &'static str) {
    let at_begin = AT_CALL_BEGIN.load(Ordering::Relaxed);
    if at_begin != 0 {
        return call_begins(at_begin, name);
    }
    set_depth(depth() + 1);
    set_call(name);
    compiler_fence(Ordering::SeqCst);
}

/// The begin of a call where other threads may be inside, or of one that may be recorded.
#[inline(never)]
fn call_begins(at_begin: u8, name: &'static &'static str) {
    if at_begin & TAKE_LOCK != 0 && !threads::is_mine() {
        threads::take();
        if thread_order::acts(name) {
            threads::news();
        }
    }
    set_depth(depth() + 1);
    set_call(name);
    compiler_fence(Ordering::SeqCst);
    // A call from a callback is part of another call.
    if at_begin & RECORD_CALLS != 0 && depth() == 1 {
        call_trace::begins(name);
    }
    if at_begin & ORDER_THREADS != 0 && depth() == 1 {
        set_has_steps(thread_order::concerns(name));
        // SAFETY: the calling thread has the lock.
        let job = unsafe { job::slot().as_mut() };
        if let Some(job) = job.filter(|_| has_steps()) {
            if job.engine.link.thread() == 0 {
                job.engine.link.give_up(format!(
                    "{name} is called by a thread that was not made by pthread_create: a replay \
                     could not tell which one it is; --protocol coordinated does not have to"
                ));
            }
            job.engine.call_begins(name);
        }
    }
}

/// From now on several threads may call at once, also before MPI has started. (A thread that is
/// inside by now has called `MPI_Init` for a level at which no other thread calls.)
pub fn let_threads_in() {
    threads::switch_on(false);
}

/// End of a call.
#[inline]
pub fn leave() {
    if URGENT.load(Ordering::Relaxed) {
        attend();
    }
    if AT_CALL_END.load(Ordering::Relaxed) != 0 {
        call_ends();
    }
    compiler_fence(Ordering::SeqCst);
    set_depth(depth() - 1);
    if threads::on() {
        return leave_shared();
    }
    // The signal may have come between the look and the store.
    if URGENT.load(Ordering::Relaxed) && depth() == 0 {
        on_signal();
    }
}

/// The end of a call where other threads may be waiting.
#[cold]
fn leave_shared() {
    if depth() > 0 {
        return;
    }
    pass_on();
    let awaited = threads::give();
    if awaited && AT_CALL_BEGIN.load(Ordering::Relaxed) & ORDER_THREADS != 0 {
        // A thread that tests again and again has let nobody in meanwhile.
        crate::sleep::give_way();
    }
    // The signal may have come between the look and now.
    if URGENT.load(Ordering::Relaxed) {
        attend_if_free();
    }
}

/// What this call has done may be what other threads wait for; one of them looks for all, if this
/// one did.
fn pass_on() {
    threads::pass_on(doorbell());
}

/// The doorbell of this rank, if it has one.
fn doorbell() -> Option<i32> {
    // SAFETY: the calling thread has the lock.
    let job = unsafe { job::slot().as_ref() };
    let sleeper = job.and_then(|job| job.engine.link.sleeper.as_ref());
    sleeper.map(|sleeper| sleeper.doorbell())
}

/// Runs a function of the program in the middle of a call. Other threads may come in meanwhile, as
/// they may where a call rests. The function may wait for something of a thread that waits for this
/// one (the lock of an interpreter).
///
/// The caller takes nothing of the job for unchanged afterwards, and what the function was given is
/// not the job's.
#[inline]
pub fn outside<R>(function: impl FnOnce() -> R) -> R {
    if !threads::lets_go_for_functions() {
        return function();
    }
    pass_on();
    let call = step_out();
    threads::give();
    let answer = function();
    threads::take();
    step_in(call);
    answer
}

/// Does what is urgent, unless another thread is inside, which will do it.
fn attend_if_free() {
    if threads::try_take() {
        threads::keep(true);
        set_depth(1);
        call_trace::no_call();
        attend();
        set_depth(0);
        threads::keep(false);
        threads::wake(doorbell());
        threads::give();
    }
}

/// A call of the program ends; one from a callback is part of another call.
#[cold]
fn call_ends() {
    if depth() != 1 {
        return;
    }
    // SAFETY: nobody else is inside.
    if let Some(job) = unsafe { job::slot().as_mut() } {
        let due = AT_CALL_END.load(Ordering::Relaxed);
        if due & STEP_AT_END != 0 && has_steps() {
            job.engine.step();
            set_has_steps(false);
        }
        if due & WAIT_IS_SHOWN != 0 {
            at_call_end(WAIT_IS_SHOWN, false);
            job.engine.link.hide_wait();
        }
        if due & REPORT_CALL_ENDS != 0 {
            job.engine.call_ends();
        }
    }
    if AT_CALL_END.load(Ordering::Relaxed) & CALL_IS_TRACED != 0 {
        call_trace::ends();
    }
}

/// Called by the boot library's signal handler, on the main thread.
pub(crate) extern "C" fn on_signal() {
    URGENT.store(true, Ordering::Relaxed);
    if threads::on() {
        return attend_if_free();
    }
    if depth() > 0 {
        return;
    }
    set_depth(1);
    call_trace::no_call();
    attend();
    set_depth(0);
}

/// Does at once what cannot wait for the next call: news of peers, an image. Only at the edge of
/// the library (one call deep), where no operation is half done.
#[cold]
fn attend() {
    if depth() != 1 {
        return;
    }
    // SAFETY: nobody else is inside.
    let Some(job) = (unsafe { job::slot().as_mut() }) else { return };
    job.engine.attend();
}
