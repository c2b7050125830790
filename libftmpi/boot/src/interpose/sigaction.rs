//! Functions that set the handler of a signal ([`crate::signals::handlers`]).

use crate::base::errno::set_errno;
use crate::base::rank::is_rank;
use crate::interpose::next_function::next;
use crate::signals::handlers::{
    AGENT_SIGNAL, SIG_ERR, SPECIAL_MAX, handler_for_kernel, handler_for_program, note, noted,
};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU64, Ordering};
use ftmpi_checkpoint::boot_abi::SIGNAL;

/// Signals (bit 0: signal 1) to whose masks the agent's signal was added. The program does not see
/// it.
static ADDED: AtomicU64 = AtomicU64::new(0);

fn bit(signal: c_int) -> u64 {
    1u64.checked_shl(signal.wrapping_sub(1) as u32).unwrap_or(0)
}

/// The first word of a set, which holds the signals 1 to 64.
fn word(set: &mut libc::sigset_t) -> &mut u64 {
    // SAFETY: a set is an array of such words.
    unsafe { &mut *(&raw mut *set).cast::<u64>() }
}

/// See `sigaction(2)`. A program cannot change the action of the agent's signal, nor those of the
/// C library's own signals.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaction(
    signal: c_int,
    action: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    let next = next!(c"sigaction", -1, fn(c_int, *const c_void, *mut c_void) -> c_int);
    if !is_rank() {
        // SAFETY: by the caller.
        return unsafe { next(signal, action.cast(), old.cast()) };
    }
    if signal == SIGNAL && !action.is_null() {
        set_errno(libc::EINVAL);
        return -1;
    }
    let before = noted(signal);
    let added = ADDED.load(Ordering::SeqCst) & bit(signal) != 0;
    let (mut room, mut adds) = (None, added);
    if !action.is_null() {
        // SAFETY: by the caller.
        let room = room.insert(unsafe { *action });
        room.sa_sigaction = handler_for_kernel(signal, room.sa_sigaction);
        let mask = word(&mut room.sa_mask);
        adds = room.sa_flags & libc::SA_ONSTACK != 0 && *mask & AGENT_SIGNAL == 0;
        if adds {
            *mask |= AGENT_SIGNAL;
        }
    }
    let given = room.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
    // SAFETY: by the caller; the copy lives over the call.
    let result = unsafe { next(signal, given.cast(), old.cast()) };
    if result != 0 {
        note(signal, before);
        return result;
    }
    if adds != added {
        ADDED.fetch_xor(bit(signal), Ordering::SeqCst);
    }
    if !old.is_null() {
        // SAFETY: by the caller; `next` has filled it.
        let old = unsafe { &mut *old };
        old.sa_sigaction = handler_for_program(old.sa_sigaction, before);
        if added {
            *word(&mut old.sa_mask) &= !AGENT_SIGNAL;
        }
    }
    result
}

macro_rules! handling {
    ($($name:ident $text:expr;)*) => {$(
        /// See the manual; as [`sigaction`].
        ///
        /// # Safety
        /// As there.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(signal: c_int, handler: usize) -> usize {
            let next = next!($text, SIG_ERR, fn(c_int, usize) -> usize);
            if signal == SIGNAL && is_rank() {
                set_errno(libc::EINVAL);
                return SIG_ERR;
            }
            let before = noted(signal);
            let given = handler_for_kernel(signal, handler);
            // SAFETY: by the caller.
            let result = unsafe { next(signal, given) };
            if result == SIG_ERR {
                note(signal, before);
            } else if handler != SPECIAL_MAX {
                ADDED.fetch_and(!bit(signal), Ordering::SeqCst);
            }
            handler_for_program(result, before)
        }
    )*};
}

handling! {
    signal c"signal";
    bsd_signal c"bsd_signal";
    ssignal c"ssignal";
    sysv_signal c"sysv_signal";
    __sysv_signal c"__sysv_signal";
    sigset c"sigset";
}
