//! Notes about each thread, kept in its thread-local storage (`thread_notes.c`).

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Locks of one thread that the notes have room for.
const HELD_MAX: usize = 59;

/// The notes of a thread. The thread itself writes them, also in its signal handler. Others read
/// them only while the thread stands still.
#[repr(C)]
#[derive(Debug)]
pub struct ThreadNotes {
    /// How often the agent's signal woke a system call of this thread.
    pub interruptions: AtomicU32,
    held_count: AtomicU32,
    overflow: AtomicU32,
    /// How many handlers of the program this thread has begun ([`crate::signals::handlers`]).
    pub handled: AtomicU32,
    /// The lock that the thread takes or gives back in a function of this library; 0: none.
    inside: AtomicU64,
    /// Until when the thread waits in a function of this library ([`crate::time::clock_shift`]).
    /// The fields: the address of the time, with the number of the clock in its lowest bits;
    /// seconds; nanoseconds. 0: it does not wait.
    pub until: [AtomicU64; 3],
    held: [AtomicU64; HELD_MAX],
    /// See [`crate::threads::thread_numbers`].
    pub number: AtomicU32,
    /// Threads that this one has made.
    pub children: AtomicU32,
}

// SAFETY: the signature is that of the C side.
unsafe extern "C" {
    safe fn ftmpi_boot_thread_notes_here() -> *const ThreadNotes;
    static ftmpi_boot_notes_size: u64;
}

/// The notes of the calling thread.
pub fn of_caller() -> &'static ThreadNotes {
    // SAFETY: part of the thread's own block, which lives as long as the thread; atomics only.
    unsafe { &*ftmpi_boot_thread_notes_here() }
}

/// Whether Rust and C agree on the layout.
pub fn layout_is_right() -> bool {
    // SAFETY: a constant of our own object.
    unsafe { ftmpi_boot_notes_size == size_of::<ThreadNotes>() as u64 }
}

impl ThreadNotes {
    /// Notes that the thread may hold this lock from now on.
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

    /// Notes that the thread does not hold the lock any more.
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

    /// The thread enters a function of this library about this lock. Gives the lock before it,
    /// because a signal handler may have interrupted such a function. With that lock it leaves the
    /// function.
    pub fn enter(&self, lock: u64) -> u64 {
        let before = self.inside.load(Ordering::Relaxed);
        self.inside.store(lock, Ordering::Release);
        before
    }

    /// The lock about which the thread is in a function of this library.
    pub fn inside(&self) -> u64 {
        self.inside.load(Ordering::Acquire)
    }

    /// Whether the thread holds more locks than the notes have room for.
    pub fn is_full(&self) -> bool {
        self.overflow.load(Ordering::Relaxed) > 0
    }

    /// The locks that the thread may hold.
    pub fn held(&self) -> impl Iterator<Item = &AtomicU64> {
        self.held[..(self.held_count.load(Ordering::Acquire) as usize).min(HELD_MAX)].iter()
    }
}
