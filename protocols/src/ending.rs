//! How processes end.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// It exited with this code.
    Code(i32),
    /// A signal killed it.
    Signal(i32),
    /// The kernel killed it because a limit of memory was reached.
    Memory(MemoryLimit),
    /// It closed its control socket unasked; its processes were then killed.
    ControlLost,
}

impl Ending {
    /// As an exit code, for what ends with the process.
    #[must_use]
    pub fn exit_code(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128 + signal,
            Self::Memory(_) => 128 + 9,
            Self::ControlLost => 1,
        }
    }
}

/// The limit of memory that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MemoryLimit {
    /// That of a control group, in bytes.
    Group(u64),
    /// The memory of the host.
    Host,
}

impl fmt::Display for MemoryLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Group(bytes) if bytes % (1 << 20) == 0 => {
                write!(f, "memory limit {} MiB (cgroup)", bytes >> 20)
            }
            Self::Group(bytes) => write!(f, "memory limit {bytes} bytes (cgroup)"),
            Self::Host => f.write_str("the memory of the host is full"),
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => match signal_name(*signal) {
                Some(name) => write!(f, "signal {signal} ({name})"),
                None => write!(f, "signal {signal}"),
            },
            Self::Memory(limit) => write!(f, "the kernel ({limit})"),
            Self::ControlLost => f.write_str("a broken connection to its agent"),
        }
    }
}

/// The usual name of a signal (x86-64 and AArch64 Linux).
#[must_use]
pub fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        10 => "SIGUSR1",
        11 => "SIGSEGV",
        12 => "SIGUSR2",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => return None,
    })
}
