//! What a process has from the one that started it: signals that are ignored or blocked, and
//! descriptors.
//!
//! Guarantees: after [`reset_signals`] exit codes of children can be read and signals arrive,
//! whatever the caller did. After [`take_descriptors`] only processes that are meant get the
//! caller's descriptors.
#![allow(unsafe_code)]

use ftmpi_wire::control::fds;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Blocks no signal, and gives `SIGCHLD` its default action: a caller that ignores it would have
/// the kernel throw the exit codes of this process's children away. A file that reaches the limit
/// on its size (`ulimit -f`) becomes an error (`EFBIG`) instead of the end of the process;
/// [`crate::launch::prepare_child`] undoes that for ranks.
pub fn reset_signals() {
    // SAFETY: an all-zero set is valid and empty; no handler is involved.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// Whether this process ignores a signal.
#[must_use]
pub fn is_ignored(signal: i32) -> bool {
    // SAFETY: all zeros are a valid value, which the call replaces.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: only asks; `action` is valid for writing.
    let asked = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) };
    asked == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// Takes the descriptors that the caller passed on: those from 3 on that are not close-on-exec, and
/// below the numbers of the library. They become close-on-exec. To be called first in a process,
/// because nobody else may own a descriptor.
#[must_use]
pub fn take_descriptors() -> Vec<OwnedFd> {
    let Ok(list) = std::fs::read_dir("/proc/self/fd") else { return Vec::new() };
    let mut numbers: Vec<RawFd> = list
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|fd| (3..fds::CONTROL).contains(fd) && is_passed_on(*fd))
        .collect();
    numbers.sort_unstable();
    numbers.into_iter().map(take).collect()
}

/// Takes these of the descriptors that the caller passed on.
#[must_use]
pub fn take_these(numbers: &[RawFd]) -> Vec<OwnedFd> {
    numbers.iter().copied().filter(|fd| is_passed_on(*fd)).map(take).collect()
}

fn is_passed_on(fd: RawFd) -> bool {
    // SAFETY: no pointers; a descriptor that is not open is refused.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFD) };
    flags >= 0 && flags & libc::FD_CLOEXEC == 0
}

fn take(fd: RawFd) -> OwnedFd {
    // SAFETY: no pointers.
    unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
    // SAFETY: open, and without close-on-exec, so nothing of this process has opened it.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// Has a new process get these descriptors, under the same numbers.
pub fn pass_on(command: &mut std::process::Command, descriptors: &[OwnedFd]) {
    use std::os::unix::process::CommandExt;
    let numbers: Vec<RawFd> = descriptors.iter().map(AsRawFd::as_raw_fd).collect();
    // SAFETY: between fork and exec the closure makes system calls only.
    unsafe {
        command.pre_exec(move || {
            numbers.iter().for_each(|fd| keep_over_exec(*fd));
            Ok(())
        });
    }
}

/// A descriptor stays open when this process executes a program. Async-signal-safe.
pub fn keep_over_exec(fd: RawFd) {
    // SAFETY: no pointers.
    unsafe { libc::fcntl(fd, libc::F_SETFD, 0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_what_a_launcher_needs() {
        // SAFETY: signals of this process, which runs nothing else.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
        assert!(is_ignored(libc::SIGCHLD));
        reset_signals();
        assert!(!is_ignored(libc::SIGCHLD));
        assert!(std::process::Command::new("false").status().is_ok_and(|s| s.code() == Some(1)));
    }
}
