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

use crate::base::rank::is_rank;
use crate::base::syscalls;
use core::arch::global_asm;
use core::ffi::c_int;
use core::sync::atomic::{AtomicUsize, Ordering};
use ftmpi_checkpoint::boot_abi::SIGNAL;

/// The kernel's signals are 1 to 64.
const SIGNALS: usize = 65;

/// `SIG_HOLD` of `sigset`: the highest value that is no address. (`SIG_ERR` is the highest of all.)
pub const SPECIAL_MAX: usize = 2;

pub const SIG_ERR: usize = usize::MAX;

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
pub fn instead(signal: c_int, handler: usize) -> usize {
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
pub fn own(handler: usize, before: usize) -> usize {
    if handler == counting() { before } else { handler }
}

/// What is noted for a signal.
pub fn noted(signal: c_int) -> usize {
    HANDLERS.get(signal as usize).map_or(0, |slot| slot.load(Ordering::SeqCst))
}

pub fn note(signal: c_int, handler: usize) {
    if let Some(slot) = HANDLERS.get(signal as usize) {
        slot.store(handler, Ordering::SeqCst);
    }
}

pub const OURS: u64 = 1 << (SIGNAL - 1);

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
