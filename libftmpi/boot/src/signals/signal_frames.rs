//! Signals that were delivered before an image, but whose handlers had not begun: the kernel lays
//! their frames first and the engine's signal on top. What came with such a signal tells the number of
//! the process that sent it. Where that was this process itself, a restored one has another number
//! now, and the C library obeys its own signals (it cancels threads and changes users with them) only if
//! they come from its process: a thread would never notice that it was cancelled, and whoever joins it
//! would wait for ever. (Signals that still waited for delivery: [`crate::signals::pending_signals`].)

use crate::base::syscalls;
use crate::signals::handlers;
use core::sync::atomic::{AtomicU64, Ordering};

/// The C library's own signals: for cancellation, and for changes of user and group.
const LIBRARY: core::ops::RangeInclusive<i32> = 32..=33;
/// Code at the begin of a handler of the C library in which it has not compared the numbers yet.
const BEGIN: usize = 64;
/// The C library's code lies in less than this about its handlers.
const NEAR: usize = 4 << 20;
/// The kernel's `struct rt_sigframe`: return address, `struct ucontext` (304 bytes), `siginfo`.
const CONTEXT: usize = 8;
const INFO: usize = CONTEXT + 304;
/// What a handler of the C library may have pushed where it compares: in words.
const PUSHED: usize = 8;
/// Frames on top of each other: one for each signal.
const FRAMES: usize = 64;

/// The kernel's `struct sigaction`: handler, flags, restorer, mask.
type Action = [usize; 4];

fn action(signal: i32) -> Option<Action> {
    let mut action: Action = [0; 4];
    // SAFETY: valid for writing; 8 is the kernel's size of a set.
    let got = unsafe { syscalls::call!(libc::SYS_rt_sigaction, signal, 0, action.as_mut_ptr(), 8) };
    // (The kernel lays the whole frame also for a handler that is not told what came.)
    (got.is_ok() && action[0] > 1).then_some(action)
}

/// Whether somebody tells his number with a signal of this code (`si_code`).
pub fn tells_sender(code: i32) -> bool {
    const SI_ASYNCNL: i32 = -60;
    matches!(code, libc::SI_USER | libc::SI_QUEUE | libc::SI_TKILL | libc::SI_MESGQ | SI_ASYNCNL)
}

/// Writes the new number of this process for the old one into what came with a signal (`siginfo_t` in
/// words).
pub fn renumber_info(info: &mut [u64; 16], old: i32, new: i32) {
    let (code, sender) = (info[1] as i32, info[2] as i32);
    if tells_sender(code) && sender == old {
        info[2] = info[2] & !0xffff_ffff | u64::from(new as u32);
    }
}

/// The same for signals whose frames lie below a frame of the engine's signal, in a restored process.
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
        // A handler that has not begun: its frame is what the stack pointer points to. Where it would be
        // called by the program the return address is another.
        let entered = (1..=64).find_map(|signal| {
            action(signal).filter(|a| handlers::begins(signal, a[0], ip) && word(sp) == a[2])
        });
        if entered.is_some() {
            // SAFETY: the frame that the kernel laid for this handler.
            unsafe {
                renumber_info(&mut *((sp + INFO) as *mut [u64; 16]), old, new);
                context = (sp + CONTEXT) as *mut libc::ucontext_t;
            }
            continue;
        }
        // One of the C library's that has: it has asked, or asks just now, for the number.
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
    // SAFETY: the processor is about to execute what lies there, code of the C library.
    unsafe { *(ip as *const [u8; 2]) == SYSCALL }
}

/// A thread that was in a function of the C library about a lock that names its owner may have its old
/// number in a register, to compare or to write. (Not in those that a function leaves as they are: they may
/// have any number of the program.)
/// Nor where it begins a system call, again perhaps: what that is given are no numbers of threads of ours.
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
