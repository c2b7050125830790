//! Limits on resources (`setrlimit`).

use crate::base::syscalls;
use core::sync::atomic::{AtomicU64, Ordering};
use ftmpi_checkpoint::stream::{LIMITS, ProcessState};

/// The limits that this process was started with, in this incarnation: soft and hard.
static LIMITS_AT_START: [[AtomicU64; 2]; LIMITS] =
    [const { [const { AtomicU64::new(0) }; 2] }; LIMITS];

/// A soft limit of this process (`u64::MAX`: no limit).
pub fn soft_limit(which: u32) -> u64 {
    limits(which)[0]
}

/// A soft and a hard limit of this process (`u64::MAX`: no limit).
fn limits(which: u32) -> [u64; 2] {
    let mut limit = [u64::MAX; 2];
    // SAFETY: valid for writing; 0 is this process, no new limit.
    let _ = unsafe { syscalls::call!(libc::SYS_prlimit64, 0, which, 0, limit.as_mut_ptr()) };
    limit
}

/// Soft limit on the stack.
pub fn stack_limit() -> u64 {
    soft_limit(libc::RLIMIT_STACK)
}

/// Hard limit on the stack.
pub fn stack_limit_max() -> u64 {
    limits(libc::RLIMIT_STACK)[1]
}

/// Sets the soft limit on the stack. The limit at the start of the process decided where the stack
/// lies.
pub fn set_stack_limit(soft: u64) {
    let [_, hard] = limits(libc::RLIMIT_STACK);
    let limit = [soft.min(hard), hard];
    // SAFETY: valid for reading; 0 is this process.
    let _ =
        unsafe { syscalls::call!(libc::SYS_prlimit64, 0, libc::RLIMIT_STACK, limit.as_ptr(), 0) };
}

/// Remembers the limits that this process was started with.
pub fn remember_start() {
    for (which, slot) in LIMITS_AT_START.iter().enumerate() {
        for (slot, limit) in slot.iter().zip(limits(which as u32)) {
            slot.store(limit, Ordering::Relaxed);
        }
    }
}

/// The soft limit on the stack with which this incarnation began: it decided where the stack lies.
pub fn stack_limit_at_start() -> u64 {
    LIMITS_AT_START[libc::RLIMIT_STACK as usize][0].load(Ordering::Relaxed)
}

/// Writes down the limits of this process, and those at its start.
pub fn gather(process: &mut ProcessState) {
    // The limit at the start: the program may change its limit, but the stack lies where the first
    // one decided.
    process.stack_limit = stack_limit_at_start();
    for (which, slot) in LIMITS_AT_START.iter().enumerate() {
        process.limits[which] = limits(which as u32);
        process.limits_at_start[which] = slot.each_ref().map(|slot| slot.load(Ordering::Relaxed));
    }
}

/// The limits that this process has now count as those at the start of the image.
pub fn take_as_start(process: &mut ProcessState) {
    for (which, start) in process.limits_at_start.iter_mut().enumerate() {
        *start = limits(which as u32);
    }
}

/// Sets limits that the program had changed, after everything that they could hinder.
pub fn restore_limits(process: &ProcessState) {
    for which in 0..LIMITS {
        let ([soft, hard], [old_soft, old_hard]) =
            (process.limits[which], process.limits_at_start[which]);
        if (soft, hard) == (old_soft, old_hard) {
            continue;
        }
        let here = limits(which as u32);
        let mut limit = here;
        if soft != old_soft {
            limit[0] = soft;
        }
        // A higher hard limit takes a privilege. If this host allows less, the process gets less.
        for new_hard in [if hard == old_hard { here[1] } else { hard }, here[1]] {
            limit = [limit[0].min(new_hard), new_hard];
            // SAFETY: valid for reading; 0 is this process.
            if unsafe { syscalls::call!(libc::SYS_prlimit64, 0, which, limit.as_ptr(), 0) }.is_ok()
            {
                break;
            }
        }
    }
}
