//! The boot library's signal. It wakes a rank that computes, so that a control message does not
//! wait for the next MPI call.

use std::os::fd::OwnedFd;

/// A rank's process, held so that no other process can get its number unnoticed.
#[derive(Debug)]
pub struct WakeSignal {
    pid: u32,
    /// `None` where a container refuses such handles. Then the process is known by its handler.
    handle: Option<OwnedFd>,
}

impl WakeSignal {
    /// For this process; `None` if there is none.
    pub fn new(pid: u32) -> Option<Self> {
        let raw = rustix::process::Pid::from_raw(i32::try_from(pid).ok()?)?;
        match rustix::process::pidfd_open(raw, rustix::process::PidfdFlags::empty()) {
            Ok(handle) => Some(Self { pid, handle: Some(handle) }),
            Err(rustix::io::Errno::SRCH) => None,
            Err(_) => Some(Self { pid, handle: None }),
        }
    }

    /// Queues the signal on the main thread, unless the process has ended.
    pub fn send(&self, signal: i32) {
        if self.handle.as_ref().is_some_and(has_ended) {
            return;
        }
        let Ok(status) = std::fs::read_to_string(format!("/proc/{}/status", self.pid)) else {
            return;
        };
        if !catches(&status, signal) || is_traced(&status) {
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

/// One field of a process's status.
fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

/// Whether a debugger is attached to a process. It would stop at the signal, or end the program
/// there. Such a rank reads its messages in its next MPI call.
fn is_traced(status: &str) -> bool {
    field(status, "TracerPid").is_some_and(|pid| pid != "0")
}

/// A handle is readable once its process has ended.
fn has_ended(handle: &OwnedFd) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    !matches!(poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&now)), Ok(0))
}

/// Whether a process has a handler for a signal. A rank without the boot library has none, and the
/// signal would end it: its program unset `LD_PRELOAD`, or is set-user-id.
fn catches(status: &str, signal: i32) -> bool {
    let caught = field(status, "SigCgt");
    let mask = caught.and_then(|text| u64::from_str_radix(text, 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status_of(pid: u32) -> String {
        std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap()
    }

    #[test]
    fn a_process_under_a_debugger_gets_no_signal() {
        assert!(!is_traced(&status_of(std::process::id())));
        assert!(is_traced("Name:\tx\nTracerPid:\t17\nUid:\t0\n"));
        assert!(!is_traced("Name:\tx\nTracerPid:\t0\nUid:\t0\n"));
    }

    #[test]
    fn a_process_without_a_handler_is_left_alone() {
        let mut child = std::process::Command::new("sleep").arg("30").spawn().unwrap();
        let signal = libc::SIGRTMAX() - 2;
        assert!(!catches(&status_of(child.id()), signal));
        WakeSignal::new(child.id()).unwrap().send(signal);
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert_eq!(child.try_wait().unwrap(), None, "it still runs");
        child.kill().unwrap();
        child.wait().unwrap();
        // The runtime of this process handles this one.
        assert!(catches(&status_of(std::process::id()), libc::SIGSEGV));
    }
}
