//! The program's signal handlers. A few instructions of this library count each one that begins.
//!
//! Some calls of the C library end with `EINTR` after any handler. [`crate::interpose::waits`]
//! begins such a call again if only the agent's signal woke it. Whether a handler of the program
//! ran meanwhile cannot be seen from outside. If the handler blocks all signals, the agent's signal
//! comes only after the handler, behind the call that the handler interrupted. So the kernel gets
//! [`ftmpi_boot_handler`], which counts and jumps to the program's handler. It leaves nothing on
//! the stack. A program that asks for its actions gets its own handlers.
//!
//! A handler on a signal stack of the program blocks the agent's signal until it ends, because such
//! a stack may have room for one frame only.
//!
//! A handler that is installed by the bare system call is not counted. As long as there is one,
//! calls end with `EINTR` after the agent's signal, too. A program may leave a handler on a signal
//! stack by `longjmp` without the mask. It then blocks the agent's signal in that thread until it
//! sets its mask.

use crate::base::rank::is_rank;
use crate::base::syscalls;
use crate::signals::batch_signal;
use core::arch::global_asm;
use core::ffi::c_int;
use core::sync::atomic::{AtomicUsize, Ordering};
use ftmpi_checkpoint::boot_abi::SIGNAL;

/// The kernel's signals are 1 to 64.
const SIGNALS: usize = 65;

/// `SIG_HOLD` of `sigset`: the highest of the special values. (`SIG_ERR` is the highest value of
/// all.)
pub const SPECIAL_MAX: usize = 2;

pub const SIG_ERR: usize = usize::MAX;

/// The program's own handlers, by signal. [`ftmpi_boot_handler`] reads them.
static HANDLERS: [AtomicUsize; SIGNALS] = [const { AtomicUsize::new(0) }; SIGNALS];

// The arguments stay in their registers, and the return address stays on the stack.
// `ThreadNotes::handled` is the fourth word of the notes.
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

fn counting_handler() -> usize {
    ftmpi_boot_handler as *const () as usize
}

/// Whether a thread that goes on at `ip` is at the begin of this handler, before any instruction
/// of the program.
pub fn begins(signal: c_int, handler: usize, ip: usize) -> bool {
    let end = ftmpi_boot_handler_end as *const () as usize;
    ip == handler
        || handler == counting_handler() && ((handler..end).contains(&ip) || ip == noted(signal))
}

/// The handler that the kernel gets instead of the program's. The program's is noted first: the
/// signal may come as soon as the kernel knows the new action.
pub fn handler_for_kernel(signal: c_int, handler: usize) -> usize {
    let real = handler > SPECIAL_MAX && handler != SIG_ERR && handler != counting_handler();
    match HANDLERS.get(signal as usize) {
        Some(slot) if real && is_rank() => {
            slot.store(handler, Ordering::SeqCst);
            counting_handler()
        }
        _ => handler,
    }
}

/// The program's handler, for what the kernel tells. `before`: what was noted before this call.
pub fn handler_for_program(handler: usize, before: usize) -> usize {
    match handler {
        _ if handler == counting_handler() => before,
        _ if handler == batch_signal::handler() => libc::SIG_DFL,
        _ => handler,
    }
}

/// The program's handler that is noted for a signal.
pub fn noted(signal: c_int) -> usize {
    HANDLERS.get(signal as usize).map_or(0, |slot| slot.load(Ordering::SeqCst))
}

pub fn note(signal: c_int, handler: usize) {
    if let Some(slot) = HANDLERS.get(signal as usize) {
        slot.store(handler, Ordering::SeqCst);
    }
}

pub const AGENT_SIGNAL: u64 = 1 << (SIGNAL - 1);

/// Handler and flags of a signal in the kernel.
fn in_kernel(signal: c_int) -> (usize, u64) {
    let mut action = [0u64; 4];
    // SAFETY: the kernel's struct sigaction is these four words; 8 is the size of a set.
    let _ = unsafe { syscalls::call!(libc::SYS_rt_sigaction, signal, 0, action.as_mut_ptr(), 8) };
    (action[0] as usize, action[1])
}

/// Whether a handler that is not counted may have run: one of the program, or one of the C library
/// for a signal in `coming`.
pub fn any_uncounted(coming: u64) -> bool {
    /// The C library's signals for cancellation and for changes of user and group; the agent's
    /// signal.
    const NOT_THE_PROGRAMS: u64 = 1 << 31 | 1 << 32 | AGENT_SIGNAL;
    each(!NOT_THE_PROGRAMS | coming).any(|signal| {
        let (handler, _) = in_kernel(signal);
        handler > SPECIAL_MAX && handler != counting_handler() && handler != batch_signal::handler()
    })
}

/// Whether one of the signals has a handler that ends calls with `EINTR`.
pub fn has_interrupting(signals: u64) -> bool {
    each(signals).any(|signal| {
        let (handler, flags) = in_kernel(signal);
        handler > SPECIAL_MAX && flags & libc::SA_RESTART as u64 == 0
    })
}

fn each(signals: u64) -> impl Iterator<Item = c_int> {
    (1..=64).filter(move |signal| signals >> (signal - 1) & 1 != 0)
}
