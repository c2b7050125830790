//! Locks that name their owner by thread id: recursive, error-checking, robust and
//! priority-inheriting mutexes, and read-write locks held for writing. Threads of a restored
//! process have new ids, and could not unlock what they had locked.
//!
//! The functions in [`crate::interpose::locks`] note such locks. Plain mutexes pass with one
//! comparison. [`repair`] writes the new ids into the locks that were held. Locks that a program
//! makes itself from ids of the kernel (`gettid`) are not repaired.
//!
//! The C library reads the thread's id before it waits for a robust or priority-inheriting mutex,
//! and writes it into the lock afterwards. If the image was taken during the wait, that is an old
//! id. The function that was called first notices the restore, and writes the new id ([`claim`]).
//! At the end of `pthread_cond_wait` the C library waits for such a lock by itself: then there is
//! no image ([`refuse_taking`]).
//!
//! The layouts are those of glibc on x86-64, which are part of its binary interface.

use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls;
use crate::threads::thread_notes::ThreadNotes;
use crate::threads::thread_state::new_tid;
use core::ffi::c_void;
use core::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use ftmpi_checkpoint::stream::Thread;

/// `pthread_mutex_t`.
#[repr(C)]
#[derive(Debug)]
pub struct Mutex {
    pub lock: AtomicU32,
    pub count: AtomicU32,
    pub owner: AtomicI32,
    pub users: AtomicU32,
    pub kind: AtomicI32,
}

/// `pthread_rwlock_t`.
#[repr(C)]
#[derive(Debug)]
pub struct RwLock {
    pub readers: [u32; 6],
    pub writer: AtomicI32,
    pub shared: u32,
}

/// Marks the note of a read-write lock. (Locks are aligned.)
pub const RW: u64 = 1;

/// Marks a note whose lock is to be repaired.
const MINE: u64 = 2;

pub const RECURSIVE: i32 = 1;

const PRIORITY: i32 = 16 | 32;

impl Mutex {
    /// Whether the lock names its owner.
    #[inline(always)]
    pub fn is_named(&self) -> bool {
        // The kind without the bits for "shared between processes" and lock elision. 0 is plain, 3
        // adaptive.
        !matches!(self.kind.load(Ordering::Relaxed) & 127, 0 | 3)
    }
}

/// Whether the calling thread holds the lock, after it failed to lock it once more.
pub fn is_owner(lock: *mut c_void, tag: u64) -> bool {
    let tid = syscalls::gettid();
    // SAFETY: the caller of the failed call guarantees that the lock exists.
    unsafe {
        if tag == RW {
            (*lock.cast::<RwLock>()).writer.load(Ordering::Relaxed) == tid
        } else {
            (*lock.cast::<Mutex>()).owner.load(Ordering::Relaxed) == tid
        }
    }
}

/// Writes the new ids of threads into the locks that they held, while no other thread runs.
///
/// # Safety
/// The notes are those of `threads`, in this process.
pub unsafe fn repair(threads: &[Thread]) {
    // First all locks are found, then all are changed: a new id may be the old id of another
    // thread.
    for change in [false, true] {
        for thread in threads.iter().filter(|thread| thread.notes != 0) {
            // SAFETY: by the caller; restored with the thread's own block.
            let notes = unsafe { &*(thread.notes as *const ThreadNotes) };
            let Some(new) = new_tid(thread) else { continue };
            for held in notes.held() {
                let note = held.load(Ordering::Relaxed);
                // SAFETY: the thread has noted the lock and not removed the note, so the lock
                // exists. (No program may destroy a lock that is held.)
                unsafe {
                    if change {
                        held.store(note & !MINE, Ordering::Relaxed);
                        if note & MINE != 0 {
                            rename(note & !MINE, thread.tid, new);
                        }
                    } else if is_held(note, thread.tid) {
                        held.store(note | MINE, Ordering::Relaxed);
                    }
                }
            }
        }
    }
}

/// # Safety
/// The lock exists.
unsafe fn is_held(note: u64, tid: i32) -> bool {
    // SAFETY: by the caller.
    unsafe {
        if note & RW != 0 {
            return (*((note & !RW) as *const RwLock)).writer.load(Ordering::Relaxed) == tid;
        }
        let mutex = &*(note as *const Mutex);
        let word = mutex.lock.load(Ordering::Relaxed);
        mutex.owner.load(Ordering::Relaxed) == tid
            || (mutex.kind.load(Ordering::Relaxed) & PRIORITY != 0
                && (word & TID_MASK) as i32 == tid)
    }
}

/// Writes the calling thread's id into a lock that it has taken with an old id.
///
/// # Safety
/// The lock exists, and the calling thread holds it.
#[cold]
pub unsafe fn claim(note: u64) {
    /// The last owner of a robust mutex has died, and nobody has repaired its data yet.
    const INCONSISTENT: i32 = i32::MAX;
    let tid = syscalls::gettid();
    // SAFETY: by the caller.
    unsafe {
        if note & RW != 0 {
            (*((note & !RW) as *const RwLock)).writer.store(tid, Ordering::Relaxed);
            return;
        }
        let mutex = &*(note as *const Mutex);
        if mutex.owner.load(Ordering::Relaxed) != INCONSISTENT {
            mutex.owner.store(tid, Ordering::Relaxed);
        }
        if mutex.kind.load(Ordering::Relaxed) & PRIORITY != 0 {
            // Other threads may note at the same time that they wait.
            let word = &mutex.lock;
            let mut old = word.load(Ordering::Relaxed);
            while let Err(now) = word.compare_exchange_weak(
                old,
                old & !TID_MASK | tid as u32,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                old = now;
            }
        }
    }
}

/// Refuses an image while a thread takes or gives back a robust mutex inside `pthread_cond_wait`,
/// where no function of this library notices the restore. This is soon over.
pub fn refuse_taking(area: &ReservedArea, threads: &[Thread]) -> Result<(), Refused> {
    /// `struct robust_list_head`: first entry; offset from an entry to its lock; the entry that is
    /// being added or removed, whose lowest bit has another meaning.
    type Head = [u64; 3];
    /// The thread's block has more bytes than this, and the C library's list lies in it. Other
    /// lists are not known.
    const BLOCK: u64 = 2000;
    for thread in threads {
        let at = thread.robust_head.wrapping_sub(thread.fs_base);
        if at > BLOCK || thread.robust_len != size_of::<Head>() as u64 || thread.notes == 0 {
            continue;
        }
        // SAFETY: in the block of a thread that stands still.
        let [_, offset, pending] = unsafe { *(thread.robust_head as *const Head) };
        let lock = (pending & !1).wrapping_add(offset);
        // SAFETY: the thread itself told the address, and stands still.
        let inside = unsafe { (*(thread.notes as *const ThreadNotes)).inside() };
        if pending != 0 && lock != inside {
            return Err(area.refuse(Refusal::TakingRobustMutex { tid: thread.tid }));
        }
    }
    Ok(())
}

/// `FUTEX_TID_MASK`
const TID_MASK: u32 = 0x3fff_ffff;

/// # Safety
/// The lock exists, and the thread with the old id holds it.
unsafe fn rename(note: u64, old: i32, new: i32) {
    // SAFETY: by the caller.
    unsafe {
        if note & RW != 0 {
            (*((note & !RW) as *const RwLock)).writer.store(new, Ordering::Relaxed);
            return;
        }
        let mutex = &*(note as *const Mutex);
        if mutex.owner.load(Ordering::Relaxed) == old {
            mutex.owner.store(new, Ordering::Relaxed);
        }
        let word = mutex.lock.load(Ordering::Relaxed);
        if mutex.kind.load(Ordering::Relaxed) & PRIORITY != 0 && (word & TID_MASK) as i32 == old {
            mutex.lock.store(word & !TID_MASK | new as u32, Ordering::Relaxed);
        }
    }
}
