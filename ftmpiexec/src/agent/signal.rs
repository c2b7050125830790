//! The boot library's signal: wakes a rank that computes, so that a control message does not wait
//! for the next MPI call.

use std::os::fd::{AsFd, OwnedFd};

/// A rank's process, held so that its number cannot pass to another one unnoticed.
#[derive(Debug)]
pub struct Kick {
    pid: u32,
    handle: OwnedFd,
}

impl Kick {
    /// For this process; `None` if there is none.
    pub fn new(pid: u32) -> Option<Self> {
        let raw = rustix::process::Pid::from_raw(i32::try_from(pid).ok()?)?;
        let handle = rustix::process::pidfd_open(raw, rustix::process::PidfdFlags::empty()).ok()?;
        Some(Self { pid, handle })
    }

    /// Queues the signal on the main thread, unless the process has ended.
    pub fn send(&self, signal: i32) {
        let mut poll = [rustix::event::PollFd::from_borrowed_fd(
            self.handle.as_fd(),
            rustix::event::PollFlags::IN,
        )];
        let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        // A pidfd is readable once its process has ended.
        if !matches!(rustix::event::poll(&mut poll, Some(&now)), Ok(0)) {
            return;
        }
        // SAFETY: `info` is a valid, zeroed siginfo_t that the kernel only reads.
        unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            info.si_signo = signal;
            info.si_code = libc::SI_QUEUE;
            let pid = self.pid as libc::pid_t;
            libc::syscall(libc::SYS_rt_tgsigqueueinfo, pid, pid, signal, &raw const info);
        }
    }
}
