//! Notes about each thread, kept in its thread-local storage (`notes.c`).

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Locks of one thread that can be noted.
const HELD_MAX: usize = 59;

/// What is kept of a thread. Written by the thread itself (also in its signal handler), read by
/// others only while it stands still.
#[repr(C)]
#[derive(Debug)]
pub struct ThreadNotes {
    /// How often our signal woke a system call of this thread.
    pub interruptions: AtomicU32,
    held_count: AtomicU32,
    overflow: AtomicU32,
    /// How many handlers of the program this thread has begun ([`crate::signals::handlers`]).
    pub handled: AtomicU32,
    /// The lock that the thread takes or gives back in a function of ours; 0: none.
    inside: AtomicU64,
    /// Until when it waits in a function of ours ([`crate::time::clock_shift`]): where that time is (and by which clock), and what it
    /// is; 0: it does not.
    pub until: [AtomicU64; 3],
    held: [AtomicU64; HELD_MAX],
}

// SAFETY: the signature is that of the C side.
unsafe extern "C" {
    safe fn ftmpi_boot_thread_notes_here() -> *const ThreadNotes;
    static ftmpi_boot_notes_size: u64;
}

/// Those of the calling thread.
pub fn mine() -> &'static ThreadNotes {
    // SAFETY: part of the thread's own block, which lives as long as the thread runs; atomics only.
    unsafe { &*ftmpi_boot_thread_notes_here() }
}

/// Whether both sides agree on the layout.
pub fn layout_is_right() -> bool {
    // SAFETY: a constant of our own object.
    unsafe { ftmpi_boot_notes_size == size_of::<ThreadNotes>() as u64 }
}

impl ThreadNotes {
    /// The calling thread may hold this lock from now on.
    pub fn add(&self, lock: u64) {
        let count = self.held_count.load(Ordering::Relaxed) as usize;
        if self.held[..count.min(HELD_MAX)]
            .iter()
            .any(|known| known.load(Ordering::Relaxed) == lock)
        {
            return;
        }
        if count < HELD_MAX {
            self.held[count].store(lock, Ordering::Relaxed);
            self.held_count.store(count as u32 + 1, Ordering::Release);
        } else {
            self.overflow.store(self.overflow.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    /// It does not hold it any more.
    pub fn remove(&self, lock: u64) {
        let count = (self.held_count.load(Ordering::Relaxed) as usize).min(HELD_MAX);
        let held = &self.held[..count];
        if let Some(at) = held.iter().rposition(|known| known.load(Ordering::Relaxed) == lock) {
            held[at].store(held[count - 1].load(Ordering::Relaxed), Ordering::Relaxed);
            self.held_count.store(count as u32 - 1, Ordering::Release);
        } else {
            let more = self.overflow.load(Ordering::Relaxed);
            self.overflow.store(more.saturating_sub(1), Ordering::Relaxed);
        }
    }

    /// It enters a function of ours about this lock (or, with what this gave, leaves it). Gives the
    /// lock before it: a handler of a signal may have come between.
    pub fn enter(&self, lock: u64) -> u64 {
        let before = self.inside.load(Ordering::Relaxed);
        self.inside.store(lock, Ordering::Release);
        before
    }

    /// About which lock it is in a function of ours.
    pub fn inside(&self) -> u64 {
        self.inside.load(Ordering::Acquire)
    }

    /// Whether it held more locks than can be noted.
    pub fn is_full(&self) -> bool {
        self.overflow.load(Ordering::Relaxed) > 0
    }

    /// What it may hold.
    pub fn held(&self) -> impl Iterator<Item = &AtomicU64> {
        self.held[..(self.held_count.load(Ordering::Acquire) as usize).min(HELD_MAX)].iter()
    }
}
