//! Functions that execute another program in this process.
//!
//! A rank asks its children for their images by the agent's signal ([`crate::children`]). A program
//! that begins has no handler yet, and the signal would end the process. So the signal is blocked
//! until the constructor of the new program has installed the handler. (`posix_spawn`, `system` and
//! `popen` keep a thread of the rank inside of the kernel until the program is executed: meanwhile
//! there is no image.)

use crate::base::rank::is_rank;
use crate::base::syscalls;
use crate::interpose::next_function::next;
use core::arch::naked_asm;
use core::ffi::{c_char, c_int};
use ftmpi_checkpoint::boot_abi::SIGNAL;

// SAFETY: the signatures are those of `executes.c`, without the further arguments. `environ` is the
// C library's variable.
unsafe extern "C" {
    static environ: *const *const c_char;
    fn ftmpi_boot_execl();
    fn ftmpi_boot_execlp();
    fn ftmpi_boot_execle();
}

type List = *const *const c_char;

/// Executes the program while the signal is blocked. Comes back if that fails.
fn without_signal(execute: impl FnOnce() -> c_int) -> c_int {
    if !is_rank() {
        return execute();
    }
    let (only, mut old) = (1u64 << (SIGNAL - 1), 0u64);
    let (only_at, old_at) = (&raw const only, &raw mut old);
    // SAFETY: both words are valid; 8 is the kernel's size of a set.
    let _ =
        unsafe { syscalls::call!(libc::SYS_rt_sigprocmask, libc::SIG_BLOCK, only_at, old_at, 8) };
    let result = execute();
    syscalls::set_signal_mask(old);
    result
}

/// See `execve(2)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execve(path: *const c_char, arguments: List, variables: List) -> c_int {
    let next = next!(c"execve", -1, fn(*const c_char, List, List) -> c_int);
    // SAFETY: by the caller.
    without_signal(|| unsafe { next(path, arguments, variables) })
}

/// See `execv(3)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execv(path: *const c_char, arguments: List) -> c_int {
    // SAFETY: by the caller.
    unsafe { execve(path, arguments, environ) }
}

/// See `execvpe(3)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvpe(file: *const c_char, arguments: List, variables: List) -> c_int {
    let next = next!(c"execvpe", -1, fn(*const c_char, List, List) -> c_int);
    // SAFETY: by the caller.
    without_signal(|| unsafe { next(file, arguments, variables) })
}

/// See `execvp(3)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvp(file: *const c_char, arguments: List) -> c_int {
    // SAFETY: by the caller.
    unsafe { execvpe(file, arguments, environ) }
}

/// See `fexecve(3)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fexecve(fd: c_int, arguments: List, variables: List) -> c_int {
    let next = next!(c"fexecve", -1, fn(c_int, List, List) -> c_int);
    // SAFETY: by the caller.
    without_signal(|| unsafe { next(fd, arguments, variables) })
}

/// See `execl(3)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn execl() {
    naked_asm!("endbr64", "jmp {here}", here = sym ftmpi_boot_execl)
}

/// See `execlp(3)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn execlp() {
    naked_asm!("endbr64", "jmp {here}", here = sym ftmpi_boot_execlp)
}

/// See `execle(3)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn execle() {
    naked_asm!("endbr64", "jmp {here}", here = sym ftmpi_boot_execle)
}
