//! Acts like an agent that has a standby of a rank: the image is read while the rank runs, and the
//! last record of it comes when the rank is dead.

use super::{Job, Process};
use ftmpi_checkpoint::boot_abi::EXIT_IMAGE_MISFIT;
use ftmpi_checkpoint::stream::{RecordHeader, Totals};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Bytes of the last record of an image.
pub const END_BYTES: usize = size_of::<RecordHeader>() + size_of::<Totals>();

/// Lets the last record of an image pass.
pub struct Gate {
    opened: Receiver<()>,
    filled: Arc<AtomicBool>,
}

impl Gate {
    /// Waits until the gate opens; `false`: it never will.
    pub fn wait(&self, pipe: &impl AsRawFd) -> bool {
        loop {
            match self.opened.recv_timeout(Duration::from_millis(1)) {
                Ok(()) => return true,
                Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) => {}
            }
            let mut unread = 1;
            // SAFETY: one number is written.
            let asked = unsafe { libc::ioctl(pipe.as_raw_fd(), libc::FIONREAD, &raw mut unread) };
            if asked == 0 && unread == 0 {
                self.filled.store(true, Ordering::SeqCst);
            }
        }
    }
}

/// A standby.
pub struct Standby {
    process: Process,
    open: Sender<()>,
    filled: Arc<AtomicBool>,
}

impl Job {
    /// Starts a standby of the incarnation that will continue this image.
    pub fn start_standby(&self, incarnation: u32, image: &[u8]) -> Standby {
        let (open, opened) = channel();
        let filled = Arc::new(AtomicBool::new(false));
        let gate = Gate { opened, filled: filled.clone() };
        let process = self.start_as(incarnation, Some(image), Some(gate));
        Standby { process, open, filled }
    }
}

impl Standby {
    /// The rank is dead: the process goes on as its next incarnation. None: there could be no
    /// standby, which the process has said.
    pub fn promote(mut self, limit: Duration) -> Option<Process> {
        let begun = Instant::now();
        while !self.filled.load(Ordering::SeqCst) {
            assert!(begun.elapsed() < limit, "the standby reads its image");
            if self.process.child.try_wait().unwrap().is_some() {
                drop(self.open);
                let end = self.process.end(limit);
                assert_eq!(end.code, Some(EXIT_IMAGE_MISFIT), "{end:?}");
                // (Files that are not at their paths any more only the agent has.)
                let known = ["which a second process cannot have", "that it was when the image"];
                assert!(known.iter().any(|why| end.err.contains(why)), "{end:?}");
                return None;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.open.send(()).unwrap();
        Some(self.process)
    }

    /// The rank has ended: there is no next incarnation.
    pub fn give_up(mut self, limit: Duration) {
        drop(self.open);
        let _ = self.process.child.kill();
        self.process.end(limit);
    }
}
