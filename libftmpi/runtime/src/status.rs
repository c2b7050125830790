//! The page that the rank shares with its agent (`ftmpi_wire::status`).

use ftmpi_wire::call_trace;
use ftmpi_wire::control::fds;
use ftmpi_wire::status::{PAGE_BYTES, Phase, word};
use std::sync::atomic::{AtomicU64, Ordering};

/// Maps the ring for records of calls, which lies behind the page, at `at` inside the reserved
/// window.
pub(crate) fn map_call_ring(at: *mut u8) -> Option<&'static [AtomicU64]> {
    // SAFETY: the caller gives so much memory at `at`; the descriptor is the agent's memfd.
    let ring = unsafe {
        libc::mmap(
            at.cast(),
            call_trace::BYTES,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_FIXED,
            fds::STATUS,
            PAGE_BYTES as libc::off_t,
        )
    };
    if ring == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the mapping is so long (the agent has sealed the memfd), aligned, and stays for the
    // life of the process. A restored process makes a new one before it looks.
    Some(unsafe { std::slice::from_raw_parts(ring.cast(), call_trace::WORDS) })
}

/// The page, or nothing in a process without an agent.
#[derive(Debug, Clone, Copy)]
pub struct StatusPage(Option<&'static [AtomicU64; PAGE_BYTES / 8]>);

impl StatusPage {
    /// For a process without an agent.
    pub const NONE: Self = Self(None);

    /// Maps the page that the agent left open, at `at` inside the reserved window.
    pub fn map(at: *mut u8) -> Self {
        // SAFETY: the caller gives one page at `at`; the descriptor is the agent's memfd.
        let page = unsafe {
            libc::mmap(
                at.cast(),
                PAGE_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_FIXED,
                fds::STATUS,
                0,
            )
        };
        if page == libc::MAP_FAILED {
            return Self::NONE;
        }
        // SAFETY: the mapping is a page long, aligned, and stays for the life of the process. A
        // restored process makes a new one before it looks.
        Self(Some(unsafe { &*page.cast() }))
    }

    /// Sets a word that the rank writes.
    #[inline]
    pub fn set(self, index: usize, value: u64) {
        if let Some(page) = self.0 {
            page[index].store(value, Ordering::Relaxed);
        }
    }

    /// As [`StatusPage::set`], in the order of the program.
    pub fn set_ordered(self, index: usize, value: u64) {
        if let Some(page) = self.0 {
            page[index].store(value, Ordering::SeqCst);
        }
    }

    /// A word that the agent writes.
    #[inline]
    #[must_use]
    pub fn get(self, index: usize) -> u64 {
        self.0.map_or(0, |page| page[index].load(Ordering::Acquire))
    }

    /// Publishes what the rank does.
    pub fn phase(self, phase: Phase) {
        self.set(word::PHASE, phase as u64);
    }

    /// Bytes that the program has written to a standard stream, or read from one. This is the
    /// agent's count, corrected by the bytes in the pipe. `busy` is odd while the agent counts.
    #[must_use]
    pub fn stream_position(self, fd: i32, busy: usize, count: usize, reading: bool) -> u64 {
        let Some(page) = self.0 else { return 0 };
        for _ in 0..1_000_000 {
            let before = page[busy].load(Ordering::Acquire);
            let counted = page[count].load(Ordering::Acquire);
            // Output of the boot layer, if it still lies before the program's.
            let others = match count {
                word::STDERR_READ => page[word::BOOT_STDERR]
                    .load(Ordering::Acquire)
                    .saturating_sub(page[word::BOOT_STDERR_READ].load(Ordering::Acquire)),
                _ => 0,
            };
            let mut unread: i32 = 0;
            // SAFETY: FIONREAD stores an int.
            let failed = unsafe { libc::ioctl(fd, libc::FIONREAD, &mut unread) } != 0;
            if before % 2 == 0 && page[busy].load(Ordering::Acquire) == before {
                let unread = if failed { 0 } else { unread.max(0) as u64 };
                let unread = unread.saturating_sub(others);
                return if reading { counted.saturating_sub(unread) } else { counted + unread };
            }
            // SAFETY: a plain system call; the agent needs the processor to finish counting.
            unsafe { libc::sched_yield() };
        }
        page[count].load(Ordering::Relaxed)
    }
}
