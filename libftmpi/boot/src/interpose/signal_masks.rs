//! Functions about signal masks. They leave the agent's signal out.
//!
//! A thread that blocks the agent's signal, or takes it with `sigwait`, could not be stopped for
//! an image. (The C library itself blocks all signals for moments, which does no harm.) `raise`
//! and `pthread_sigqueue` reach a thread also if a restore changes its id meanwhile.

use crate::base::errno::errno;
use crate::base::rank::{self, is_rank};
use crate::interpose::interruption::again;
use crate::interpose::next_function::next;
use core::ffi::c_int;
use ftmpi_checkpoint::boot_abi::SIGNAL;
use libc::sigset_t;

/// The set without the agent's signal, in a rank.
///
/// # Safety
/// `set` is valid.
pub unsafe fn without_agent_signal(set: *const sigset_t) -> sigset_t {
    // SAFETY: by the caller; the first word of the set holds the signals 1 to 64.
    unsafe {
        let mut copy = *set;
        if is_rank() {
            *(&raw mut copy).cast::<u64>() &= !(1 << (SIGNAL - 1));
        }
        copy
    }
}

macro_rules! masking {
    ($($name:ident $text:expr;)*) => {$(
        /// See the manual.
        ///
        /// # Safety
        /// As there.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(how: c_int, set: *const sigset_t, old: *mut sigset_t) -> c_int {
            let next = next!($text, libc::ENOSYS, fn(c_int, *const sigset_t, *mut sigset_t) -> c_int);
            if set.is_null() || how == libc::SIG_UNBLOCK || !is_rank() {
                // SAFETY: by the caller.
                return unsafe { next(how, set, old) };
            }
            // SAFETY: by the caller.
            let set = unsafe { without_agent_signal(set) };
            // SAFETY: by the caller.
            unsafe { next(how, &raw const set, old) }
        }
    )*};
}

masking! {
    pthread_sigmask c"pthread_sigmask";
    sigprocmask c"sigprocmask";
}

/// See `sigsuspend(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigsuspend(set: *const sigset_t) -> c_int {
    let next = next!(c"sigsuspend", -1, fn(*const sigset_t) -> c_int);
    // SAFETY: by the caller.
    let set = unsafe { without_agent_signal(set) };
    // Only the agent's signal ended the call: call again.
    // SAFETY: by the caller.
    again(|| unsafe { next(&raw const set) })
}

/// See `sigwait(3)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigwait(set: *const sigset_t, signal: *mut c_int) -> c_int {
    let next = next!(c"sigwait", libc::ENOSYS, fn(*const sigset_t, *mut c_int) -> c_int);
    // SAFETY: by the caller.
    let set = unsafe { without_agent_signal(set) };
    // SAFETY: by the caller.
    unsafe { next(&raw const set, signal) }
}

/// See `pthread_attr_setsigmask_np(3)`: the mask that new threads begin with.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_attr_setsigmask_np(
    attributes: *mut libc::pthread_attr_t,
    set: *const sigset_t,
) -> c_int {
    let next = next!(
        c"pthread_attr_setsigmask_np",
        libc::ENOSYS,
        fn(*mut libc::pthread_attr_t, *const sigset_t) -> c_int
    );
    if set.is_null() || !is_rank() {
        // SAFETY: by the caller.
        return unsafe { next(attributes, set) };
    }
    // SAFETY: by the caller.
    let set = unsafe { without_agent_signal(set) };
    // SAFETY: by the caller.
    unsafe { next(attributes, &raw const set) }
}

/// See `raise(3)`. The C library asks for the thread's id and then uses it. After a restore in
/// between the id is another one. The calling thread always exists, so "no such thread" tells
/// that.
#[unsafe(no_mangle)]
pub extern "C" fn raise(signal: c_int) -> c_int {
    let next = next!(c"raise", -1, fn(c_int) -> c_int);
    loop {
        // SAFETY: no memory involved.
        let result = unsafe { next(signal) };
        if result == 0 || !is_rank() || errno() != libc::ESRCH {
            return result;
        }
    }
}

/// See `pthread_sigqueue(3)`. As [`raise`], but the other thread may have ended, so the call is
/// made again only after a restore.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_sigqueue(
    thread: libc::pthread_t,
    signal: c_int,
    value: libc::sigval,
) -> c_int {
    let next =
        next!(c"pthread_sigqueue", libc::ENOSYS, fn(libc::pthread_t, c_int, libc::sigval) -> c_int);
    loop {
        let restores = rank::restores();
        // SAFETY: by the caller.
        let result = unsafe { next(thread, signal, value) };
        if result == 0 || restores == rank::restores() {
            return result;
        }
    }
}
