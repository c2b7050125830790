//! Handlers of the program's signals, each entered through a few instructions of ours that count.
//!
//! Some calls of the C library end with `EINTR` after any handler, and [`crate::interpose::waits`] begins them again if it was
//! only our signal that woke them. Whether a handler of the program ran meanwhile cannot be seen from outside: one
//! that blocks all signals lets ours come only when it is over, behind the very call that it interrupted. So the
//! kernel is told of [`ftmpi_boot_handler`], which notes that a handler begins and jumps to the program's own; it
//! leaves nothing on the stack. Programs that ask for their actions get their own handlers back.
//!
//! A handler that runs on a signal stack of the program's keeps our signal off until it is over: such a stack may have
//! room for one frame and no more.
//!
//! What is installed with the bare system call is not counted: while there is such a handler, calls end with
//! `EINTR` after our signal, too. (A program that leaves a handler on a signal stack by `longjmp` without the mask keeps
//! our signal off in that thread until it sets its mask.)

use crate::base::syscalls;
use crate::interpose::waits;
use crate::life::{is_rank, next};
use core::arch::global_asm;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use ftmpi_checkpoint::boot_abi::SIGNAL;

/// The kernel's signals are 1 to 64.
const SIGNALS: usize = 65;
/// `SIG_HOLD` of `sigset`: the highest value that is no address. (`SIG_ERR` is the highest of all.)
const SPECIAL_MAX: usize = 2;
const SIG_ERR: usize = usize::MAX;

/// The program's own handlers, by signal. Read by [`ftmpi_boot_handler`].
static HANDLERS: [AtomicUsize; SIGNALS] = [const { AtomicUsize::new(0) }; SIGNALS];

// The arguments stay in their registers, and the return address on the stack. `ThreadNotes::handled` is the
// fourth word of the notes.
global_asm!(
    ".text",
    ".p2align 4",
    ".hidden ftmpi_boot_handler",
    ".globl ftmpi_boot_handler",
    ".type ftmpi_boot_handler,@function",
    "ftmpi_boot_handler:",
    "endbr64",
    "mov rax, qword ptr [rip + ftmpi_boot_thread_notes@GOTTPOFF]",
    "inc dword ptr fs:[rax + 12]",
    "movsxd rax, edi",
    "lea rcx, [rip + {handlers}]",
    "jmp qword ptr [rcx + rax * 8]",
    ".hidden ftmpi_boot_handler_end",
    ".globl ftmpi_boot_handler_end",
    "ftmpi_boot_handler_end:",
    ".size ftmpi_boot_handler, . - ftmpi_boot_handler",
    handlers = sym HANDLERS,
);

// SAFETY: never called from here.
unsafe extern "C" {
    fn ftmpi_boot_handler();
    fn ftmpi_boot_handler_end();
}

fn counting() -> usize {
    ftmpi_boot_handler as *const () as usize
}

/// Whether a thread that goes on at `ip` is at the begin of this handler, before any instruction of the program's.
pub fn begins(signal: c_int, handler: usize, ip: usize) -> bool {
    let end = ftmpi_boot_handler_end as *const () as usize;
    ip == handler || handler == counting() && ((handler..end).contains(&ip) || ip == noted(signal))
}

/// The handler to tell the kernel instead of the program's. Noted before: the signal may come as soon as the kernel
/// knows it.
fn instead(signal: c_int, handler: usize) -> usize {
    let real = handler > SPECIAL_MAX && handler != SIG_ERR && handler != counting();
    match HANDLERS.get(signal as usize) {
        Some(slot) if real && is_rank() => {
            slot.store(handler, Ordering::SeqCst);
            counting()
        }
        _ => handler,
    }
}

/// The program's handler, for what the kernel tells; `before`: what was noted before this call.
fn own(handler: usize, before: usize) -> usize {
    if handler == counting() { before } else { handler }
}

/// What is noted for a signal.
fn noted(signal: c_int) -> usize {
    HANDLERS.get(signal as usize).map_or(0, |slot| slot.load(Ordering::SeqCst))
}

fn note(signal: c_int, handler: usize) {
    if let Some(slot) = HANDLERS.get(signal as usize) {
        slot.store(handler, Ordering::SeqCst);
    }
}

/// Signals (bit 0: signal 1) to whose masks ours was added, which the program need not know.
static ADDED: AtomicU64 = AtomicU64::new(0);
const OURS: u64 = 1 << (SIGNAL - 1);

fn bit(signal: c_int) -> u64 {
    1u64.checked_shl(signal.wrapping_sub(1) as u32).unwrap_or(0)
}

/// The first word of a set is the kernel's signals 1 to 64.
fn word(set: &mut libc::sigset_t) -> &mut u64 {
    // SAFETY: a set is an array of such words.
    unsafe { &mut *(&raw mut *set).cast::<u64>() }
}

/// A signal's handler and flags, as the kernel has them.
fn kernels(signal: c_int) -> (usize, u64) {
    let mut action = [0u64; 4];
    // SAFETY: the kernel's struct sigaction is these four words; 8 is the size of a set.
    let _ = unsafe { syscalls::call!(libc::SYS_rt_sigaction, signal, 0, action.as_mut_ptr(), 8) };
    (action[0] as usize, action[1])
}

/// Whether a handler that is not counted may have run: one of the program's, or one of the C library's for a signal that is
/// `coming`.
pub fn any_uncounted(coming: u64) -> bool {
    /// For cancellation, and for changes of user and group; ours.
    const LIBRARYS: u64 = 1 << 31 | 1 << 32 | OURS;
    each(!LIBRARYS | coming).any(|signal| {
        let (handler, _) = kernels(signal);
        handler > SPECIAL_MAX && handler != counting()
    })
}

/// Whether one of these has a handler after which calls end with `EINTR`.
pub fn has_interrupting(signals: u64) -> bool {
    each(signals).any(|signal| {
        let (handler, flags) = kernels(signal);
        handler > SPECIAL_MAX && flags & libc::SA_RESTART as u64 == 0
    })
}

fn each(signals: u64) -> impl Iterator<Item = c_int> {
    (1..=64).filter(move |signal| signals >> (signal - 1) & 1 != 0)
}

/// See `sigaction(2)`. Our signal's action is not the program's to change, as those of the C
/// library's own signals are not.
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
        waits::set_errno(libc::EINVAL);
        return -1;
    }
    let before = noted(signal);
    let added = ADDED.load(Ordering::SeqCst) & bit(signal) != 0;
    let (mut room, mut adds) = (None, added);
    if !action.is_null() {
        // SAFETY: by the caller.
        let room = room.insert(unsafe { *action });
        room.sa_sigaction = instead(signal, room.sa_sigaction);
        let mask = word(&mut room.sa_mask);
        adds = room.sa_flags & libc::SA_ONSTACK != 0 && *mask & OURS == 0;
        if adds {
            *mask |= OURS;
        }
    }
    let told = room.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
    // SAFETY: by the caller; the copy lives over the call.
    let result = unsafe { next(signal, told.cast(), old.cast()) };
    if result != 0 {
        note(signal, before);
        return result;
    }
    if adds != added {
        ADDED.fetch_xor(bit(signal), Ordering::SeqCst);
    }
    if !old.is_null() {
        // SAFETY: by the caller; it was filled.
        let old = unsafe { &mut *old };
        old.sa_sigaction = own(old.sa_sigaction, before);
        if added {
            *word(&mut old.sa_mask) &= !OURS;
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
                waits::set_errno(libc::EINVAL);
                return SIG_ERR;
            }
            let before = noted(signal);
            let told = instead(signal, handler);
            // SAFETY: by the caller.
            let result = unsafe { next(signal, told) };
            if result == SIG_ERR {
                note(signal, before);
            } else if handler != SPECIAL_MAX {
                ADDED.fetch_and(!bit(signal), Ordering::SeqCst);
            }
            own(result, before)
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
