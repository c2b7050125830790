//! Threads in containers whose filter of system calls is older than the C library.
//!
//! Such filters (Docker before 20.10.10, old libseccomp) refuse `clone3` with "not permitted". The
//! C library falls back to `clone` only if the call does not exist, so no thread can be created.
//!
//! Guarantees: after [`allow`] this process and all that it starts create threads as on a kernel
//! without `clone3`. A filter of our own answers that the call does not exist. The kernel takes the
//! error number of the filter that was installed last.
#![allow(unsafe_code)]

use std::io;

/// The program of our filter: one system call does not exist, all others go on to the other
/// filters.
fn filter() -> [libc::sock_filter; 4] {
    let step = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let not_there = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
    [
        // The number of the call is the first word.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, libc::SYS_clone3 as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, not_there),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

/// Whether a filter refuses to create threads.
fn is_refused() -> bool {
    // SAFETY: the kernel refuses arguments of no size before it looks at them.
    let answer = unsafe { libc::syscall(libc::SYS_clone3, std::ptr::null::<u8>(), 0_usize) };
    answer < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

/// Makes threads possible. To be called before the first one.
///
/// # Errors
/// A filter forbids threads, and another filter is forbidden, too.
pub fn allow() -> io::Result<()> {
    if !is_refused() {
        return Ok(());
    }
    let mut steps = filter();
    let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    let install = || {
        // SAFETY: the program lives over the call, which copies it.
        unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) }
    };
    // Without privileges a process must give up those of set-user-ID programs first.
    let give_up_privileges = || {
        // SAFETY: numbers only.
        unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }
    };
    if install() == 0 || give_up_privileges() == 0 && install() == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}
