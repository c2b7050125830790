//! SIGTERM of a batch system, which sends it to every process of a job.
//!
//! Guarantees: a rank under a batch system outlives SIGTERM, if its program does not handle
//! SIGTERM, so that the launcher can have last images made. The agent ends ranks by SIGKILL.
//! SIGTERM that a process sends to itself ends it. What the rank starts has the default action:
//! `execve` resets handlers. The program sees the default action.

use crate::base::syscalls;
use crate::signals::sigreturn::return_from_signal;
use core::ffi::{CStr, c_char, c_int, c_void};

/// Variables of which a batch system sets one: Slurm, PBS and Torque, LSF, Grid Engine.
const VARIABLES: [&[u8]; 4] = [b"SLURM_JOB_ID=", b"PBS_JOBID=", b"LSB_JOBID=", b"PE_HOSTFILE="];

/// The handler, as the kernel knows it.
pub fn handler() -> usize {
    on_terminate as *const () as usize
}

/// Installs the handler if a batch system started this rank and SIGTERM has the default action.
///
/// # Safety
/// `envp` is an array of terminated texts that ends with a null pointer.
pub unsafe fn install(envp: *const *const c_char) {
    // SAFETY: by the caller.
    if !unsafe { is_in_batch(envp) } || handler_now() != libc::SIG_DFL as u64 {
        return;
    }
    set(handler() as u64);
}

/// # Safety
/// As [`install`].
unsafe fn is_in_batch(envp: *const *const c_char) -> bool {
    let mut at = envp;
    // SAFETY: the loop ends at the null pointer that ends the array.
    while !at.is_null() && unsafe { !(*at).is_null() } {
        // SAFETY: a terminated text.
        let text = unsafe { CStr::from_ptr(*at) }.to_bytes();
        if VARIABLES.iter().any(|variable| text.starts_with(variable)) {
            return true;
        }
        // SAFETY: the end is not reached yet.
        at = unsafe { at.add(1) };
    }
    false
}

/// The handler that the kernel has for SIGTERM.
fn handler_now() -> u64 {
    let mut action = [0u64; 4];
    let signal = libc::SIGTERM;
    // SAFETY: the kernel's struct sigaction is these four words; 8 is the size of a set.
    let _ = unsafe { syscalls::call!(libc::SYS_rt_sigaction, signal, 0, action.as_mut_ptr(), 8) };
    action[0]
}

fn set(handler: u64) {
    const SA_RESTORER: u64 = 0x0400_0000;
    let flags = (libc::SA_SIGINFO | libc::SA_RESTART) as u64 | SA_RESTORER;
    let action: [u64; 4] = [handler, flags, return_from_signal() as u64, 0];
    let signal = libc::SIGTERM;
    // SAFETY: the kernel's struct sigaction is these four words; the handler has the right type.
    let _ = unsafe { syscalls::call!(libc::SYS_rt_sigaction, signal, action.as_ptr(), 0, 8) };
}

extern "C" fn on_terminate(signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
    // SAFETY: the kernel's, valid until the handler returns.
    let (code, sender) = unsafe { ((*info).si_code, (*info).si_pid()) };
    let own = syscalls::getpid();
    if code <= 0 && sender == own {
        set(libc::SIG_DFL as u64);
        // SAFETY: no memory involved. The signal is blocked until the handler returns.
        let _ = unsafe { syscalls::call!(libc::SYS_tgkill, own, syscalls::gettid(), signal) };
    }
}
