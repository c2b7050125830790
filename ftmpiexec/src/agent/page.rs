//! The agent's view of a rank's status page (`ftmpi_wire::status`), and of the ring of calls behind
//! it (`ftmpi_wire::call_trace`): a sealed `memfd`.
//!
//! Guarantees: the page cannot shrink under the mapping; every word is read and written as one
//! atomic; it stays readable after the rank died.

use crate::agent_protocol::{Doing, Report};
use ftmpi_wire::call_trace;
use ftmpi_wire::status::{Counters, PAGE_BYTES, STRANGER_BYTES, word};
use ftmpi_wire::waiting;
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};
use std::io;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// A mapped status page.
#[derive(Debug)]
pub struct Page {
    words: NonNull<AtomicU64>,
    bytes: usize,
}

// SAFETY: the page is only ever touched through atomics, and unmapped once, by `drop`.
unsafe impl Send for Page {}
// SAFETY: as above.
unsafe impl Sync for Page {}

impl Page {
    /// A fresh page of zeros, and the descriptor for the rank. `traced`: the rank records its calls
    /// behind it.
    ///
    /// # Errors
    /// No memory or no descriptors are left.
    pub fn create(traced: bool) -> io::Result<(Self, OwnedFd)> {
        let bytes = PAGE_BYTES + if traced { call_trace::BYTES } else { 0 };
        let fd = sealed_memfd("ftmpi-status", bytes as u64)?;
        // SAFETY: a new mapping at an address that the kernel chooses; its size is sealed.
        let at = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                &fd,
                0,
            )?
        };
        let words = NonNull::new(at.cast()).ok_or_else(|| io::Error::other("mapped at zero"))?;
        let page = Self { words, bytes };
        page.set(word::TRACE, if traced { call_trace::CALLS } else { 0 });
        Ok((page, fd))
    }

    /// How many words it has.
    pub fn words(&self) -> usize {
        self.bytes / 8
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        assert!(index < self.words(), "a status page has {} words", self.words());
        // SAFETY: within the mapping (checked above), aligned, mapped as long as `self` lives.
        unsafe { self.words.add(index).as_ref() }
    }

    /// Reads one word.
    #[must_use]
    pub fn get(&self, index: usize) -> u64 {
        self.word(index).load(Ordering::Acquire)
    }

    /// Writes one of the agent's words.
    pub fn set(&self, index: usize, value: u64) {
        self.word(index).store(value, Ordering::SeqCst);
    }

    /// For the launcher: what the rank does and has counted. `letter`: the state of its process.
    #[must_use]
    pub fn report(&self, letter: Option<char>) -> Report {
        let counters = Box::new(self.counters());
        let doing = Doing {
            letter,
            waiting: waiting::load(|index| self.get(index)),
            polls: self.get(word::POLLS),
        };
        Report::Counters { phase: self.get(word::PHASE), counters, doing: Box::new(doing) }
    }

    /// The number of the fault by which the rank killed itself, if it did.
    #[must_use]
    pub fn fault(&self) -> Option<u32> {
        (self.get(word::FAULT) as u32).checked_sub(1)
    }

    /// An MPI library that is not ours: the process that has loaded the library, and its path.
    #[must_use]
    pub fn stranger(&self) -> Option<(u32, String)> {
        let pid = u32::try_from(self.get(word::STRANGER_PID)).ok().filter(|pid| *pid != 0)?;
        let words = (0..STRANGER_BYTES / 8).map(|at| self.get(word::STRANGER + at));
        let bytes = words.flat_map(u64::to_ne_bytes).take_while(|byte| *byte != 0).collect();
        Some((
            pid,
            String::from_utf8(bytes)
                .unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()),
        ))
    }

    /// What the rank counted.
    #[must_use]
    pub fn counters(&self) -> Counters {
        Counters::load(|index| self.get(index))
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: mapped by `create` with this size, and no borrow of it is left.
        let _ = unsafe { rustix::mm::munmap(self.words.as_ptr().cast(), self.bytes) };
    }
}

/// Why there is no shared memory.
#[derive(Debug, thiserror::Error)]
enum SharedMemory {
    /// The system refuses it.
    #[error("shared memory (memfd_create): {0}")]
    Refused(io::Error),
    /// The limit on the size of a file holds for shared memory, too.
    #[error(
        "shared memory of {} KiB is larger than the limit on the size of a file; raise it (ulimit -f)",
        .0 / 1024
    )]
    TooLarge(u64),
}

impl From<SharedMemory> for io::Error {
    fn from(error: SharedMemory) -> Self {
        let kind = match &error {
            SharedMemory::Refused(e) => e.kind(),
            SharedMemory::TooLarge(_) => io::ErrorKind::FileTooLarge,
        };
        Self::new(kind, error)
    }
}

/// Anonymous shared memory of this size, all zeros, that can neither shrink nor grow. It has no
/// name in the file system, so nothing is left when processes die.
///
/// # Errors
/// No memory or no descriptors are left.
pub fn sealed_memfd(name: &str, bytes: u64) -> io::Result<OwnedFd> {
    let about = |e: rustix::io::Errno| io::Error::from(e);
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let fd = rustix::fs::memfd_create(name, flags).map_err(|e| SharedMemory::Refused(about(e)))?;
    rustix::fs::ftruncate(&fd, bytes).map_err(|e| match about(e) {
        e if e.kind() == io::ErrorKind::FileTooLarge => SharedMemory::TooLarge(bytes),
        e => SharedMemory::Refused(e),
    })?;
    rustix::fs::fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(fd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_see_the_same_words_and_the_page_cannot_shrink() {
        let (page, fd) = Page::create(false).unwrap();
        let written = Counters { log_bytes: 7, ..Counters::default() };
        written.store(|index, value| {
            rustix::io::pwrite(&fd, &value.to_ne_bytes(), (index * 8) as u64).unwrap();
        });
        assert_eq!(page.counters(), written);
        page.set(word::STDOUT_READ, 9);
        let mut bytes = [0; 8];
        rustix::io::pread(&fd, &mut bytes, (word::STDOUT_READ * 8) as u64).unwrap();
        assert_eq!(u64::from_ne_bytes(bytes), 9);
        assert!(rustix::fs::ftruncate(&fd, 0).is_err());
        assert_eq!(page.stranger(), None);
        rustix::io::pwrite(&fd, b"/x/libmpi.so.40\0", (word::STRANGER * 8) as u64).unwrap();
        let pid = (word::STRANGER_PID * 8) as u64;
        rustix::io::pwrite(&fd, &7u64.to_ne_bytes(), pid).unwrap();
        assert_eq!(page.stranger(), Some((7, "/x/libmpi.so.40".into())));
    }

    /// The auditor is in C and has these numbers for itself.
    #[test]
    fn the_auditor_knows_the_page() {
        let source = include_str!("../../../libftmpi/boot/src/loads/audit.c");
        for (name, number) in [
            ("STATUS_FD", ftmpi_wire::control::fds::STATUS as usize),
            ("STATUS_BYTES", PAGE_BYTES),
            ("STRANGER_PID_WORD", word::STRANGER_PID),
            ("STRANGER_WORD", word::STRANGER),
            ("STRANGER_BYTES", STRANGER_BYTES),
        ] {
            let line = format!("#define {name} {number}\n");
            assert!(source.contains(&line), "{line}");
        }
    }
}
