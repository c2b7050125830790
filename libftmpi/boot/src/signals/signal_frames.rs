//! Signals that were delivered before an image, but whose handlers had not begun.
//!
//! The kernel lays the frames of such signals first, and that of the agent's signal on top. The
//! `siginfo` of a signal tells the process that sent it. If that was this process, its id is
//! another one after a restore. The C library obeys its own signals (cancellation, changes of user)
//! only if they come from its process. Else a thread would never be cancelled, and a thread that
//! joins it would wait for ever. So the id is changed in the frame. Signals that are still pending:
//! [`crate::signals::pending_signals`].

use crate::base::syscalls;
use crate::signals::handlers;
use core::sync::atomic::{AtomicU64, Ordering};

/// The C library's own signals: for cancellation, and for changes of user and group.
const LIBRARY: core::ops::RangeInclusive<i32> = 32..=33;
/// Bytes at the begin of a handler of the C library in which it has not compared the ids yet.
const BEGIN: usize = 64;
/// The C library's code lies within this distance of its handlers, in bytes.
const NEAR: usize = 4 << 20;
/// The kernel's `struct rt_sigframe`: return address, `struct ucontext` (304 bytes), `siginfo`.
const CONTEXT: usize = 8;
const INFO: usize = CONTEXT + 304;
/// Words that a handler of the C library may have pushed where it compares the ids.
const PUSHED: usize = 8;
/// Frames on top of each other, at most: one for each signal.
const FRAMES: usize = 64;

/// The kernel's `struct sigaction`: handler, flags, restorer, mask.
type Action = [usize; 4];

fn action(signal: i32) -> Option<Action> {
    let mut action: Action = [0; 4];
    // SAFETY: valid for writing; 8 is the kernel's size of a set.
    let got = unsafe { syscalls::call!(libc::SYS_rt_sigaction, signal, 0, action.as_mut_ptr(), 8) };
    // (The kernel lays the whole frame, also for a handler that does not get the `siginfo`.)
    (got.is_ok() && action[0] > 1).then_some(action)
}

/// Whether a `siginfo` with this `si_code` tells the sender.
pub fn tells_sender(code: i32) -> bool {
    const SI_ASYNCNL: i32 = -60;
    matches!(code, libc::SI_USER | libc::SI_QUEUE | libc::SI_TKILL | libc::SI_MESGQ | SI_ASYNCNL)
}

/// Replaces the old id of this process in a `siginfo` (in words).
pub fn renumber_info(info: &mut [u64; 16], old: i32, new: i32) {
    let (code, sender) = (info[1] as i32, info[2] as i32);
    if tells_sender(code) && sender == old {
        info[2] = info[2] & !0xffff_ffff | u64::from(new as u32);
    }
}

/// Replaces the old id in the frames that lie below a frame of the agent's signal, in a restored
/// process.
///
/// # Safety
/// `context` is that of a signal frame of the calling thread, to which its handler will return.
#[cold]
pub unsafe fn renumber(context: &mut libc::ucontext_t, old: i32, new: i32) {
    // SAFETY: see below.
    let word = |at: usize| unsafe { (*(at as *const AtomicU64)).load(Ordering::Relaxed) as usize };
    let mut context: *mut libc::ucontext_t = context;
    for _ in 0..FRAMES {
        // SAFETY: by the caller, or found below.
        let registers = unsafe { &mut (*context).uc_mcontext.gregs };
        let (ip, sp) = (
            registers[libc::REG_RIP as usize] as usize,
            registers[libc::REG_RSP as usize] as usize,
        );
        // A handler that has not begun: the stack pointer points to its frame. If the program
        // calls the function, the return address is another.
        let entered = (1..=64).find_map(|signal| {
            action(signal).filter(|a| handlers::begins(signal, a[0], ip) && word(sp) == a[2])
        });
        if entered.is_some() {
            // SAFETY: the kernel laid this frame for the handler.
            unsafe {
                renumber_info(&mut *((sp + INFO) as *mut [u64; 16]), old, new);
                context = (sp + CONTEXT) as *mut libc::ucontext_t;
            }
            continue;
        }
        // A handler of the C library that has begun: it has asked for the id of the process, or
        // asks just now.
        let Some(action) = LIBRARY.filter_map(action).find(|action| {
            let begin = action[0]..action[0] + BEGIN;
            begin.contains(&ip) || ip.abs_diff(action[0]) < NEAR && begin.contains(&word(sp))
        }) else {
            return;
        };
        let Some(frame) = (0..PUSHED).map(|n| sp + 8 * n).find(|at| word(*at) == action[2]) else {
            return;
        };
        let number = at_system_call(ip).then_some(libc::REG_RAX as usize);
        for (at, register) in registers.iter_mut().enumerate().take(libc::REG_RSP as usize) {
            if *register == i64::from(old) && Some(at) != number {
                *register = i64::from(new);
            }
        }
        // SAFETY: as above.
        unsafe {
            renumber_info(&mut *((frame + INFO) as *mut [u64; 16]), old, new);
            context = (frame + CONTEXT) as *mut libc::ucontext_t;
        }
    }
}

/// Whether the next instruction is a system call.
fn at_system_call(ip: usize) -> bool {
    const SYSCALL: [u8; 2] = [0x0f, 0x05];
    // SAFETY: the processor is about to execute these bytes, code of the C library.
    unsafe { *(ip as *const [u8; 2]) == SYSCALL }
}

/// Replaces the old id of a thread in its registers, if the thread was in a function of the C
/// library about an owned lock. The function compares the id, or writes it.
///
/// Registers that a function preserves may hold any number of the program, and stay. All registers
/// at a system call stay as well: such a call gets no ids of threads of this process.
pub fn renumber_owner(context: &mut libc::ucontext_t, old: i32, new: i32) {
    const CHANGED: [i32; 9] = [
        libc::REG_RAX,
        libc::REG_RCX,
        libc::REG_RDX,
        libc::REG_RSI,
        libc::REG_RDI,
        libc::REG_R8,
        libc::REG_R9,
        libc::REG_R10,
        libc::REG_R11,
    ];
    if at_system_call(context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize) {
        return;
    }
    for register in CHANGED {
        let value = &mut context.uc_mcontext.gregs[register as usize];
        if *value == i64::from(old) {
            *value = i64::from(new);
        }
    }
}
