//! Several threads of the program in the library: one lock around it, which every call takes, and
//! lets go while it waits. The lock is on only where `MPI_Init_thread` granted
//! `MPI_THREAD_SERIALIZED` or more, or was not called by the process's first thread. Without it a
//! call costs one predicted branch.
//!
//! (There, and with `SERIALIZED`, the program takes care that threads do not meet. The engine's
//! signal comes on the main thread all the same.)
//!
//! A call that waits lets others in where the engine would rest: between two steps, where an image
//! could be taken, too. One of the threads that wait looks for all of them: it spins or yields, and
//! then sleeps on the doorbell and the descriptors. The others sleep on a counter. A thread that
//! has done something for them moves the counter when it rests or leaves. A thread that has looked
//! in vain wakes nobody: threads that woke each other would never sleep.

use crate::attention::{AT_CALL_BEGIN, TAKE_LOCK, at_call_begin};
use libc::c_int;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

/// Several threads may be in calls at the same time (`MPI_THREAD_MULTIPLE`).
static MANY: AtomicBool = AtomicBool::new(false);
/// 0: free, 1: taken, 2: taken, and somebody may wait.
static LOCK: AtomicU32 = AtomicU32::new(0);
/// The thread that has it (its `pthread_self`, which is never 0).
static OWNER: AtomicUsize = AtomicUsize::new(0);
/// Threads that sleep on [`MOVED`].
static SLEEPERS: AtomicU32 = AtomicU32::new(0);
/// Counts what may have been done for those that wait.
static MOVED: AtomicU32 = AtomicU32::new(0);
/// Something was done since the last [`wake`] that others may wait for.
static NEWS: AtomicBool = AtomicBool::new(false);
/// The thread that looks for all that wait (its `pthread_self`); 0: none.
static LOOKER: AtomicUsize = AtomicUsize::new(0);
/// The thread inside keeps the lock also while it waits: it is the main thread in its signal
/// handler. There it could not be stopped for an image that another thread takes.
static KEPT: AtomicBool = AtomicBool::new(false);
/// A thread sleeps on doorbell and descriptors.
static POLLER: AtomicBool = AtomicBool::new(false);

/// Whether calls take the lock.
#[inline(always)]
pub fn on() -> bool {
    AT_CALL_BEGIN.load(Ordering::Relaxed) & TAKE_LOCK != 0
}

fn me() -> usize {
    // SAFETY: no precondition.
    unsafe { libc::pthread_self() as usize }
}

/// From now on calls take the lock; the calling thread has it, if it is inside a call.
pub fn switch_on(inside: bool) {
    if on() {
        return;
    }
    if inside {
        LOCK.store(1, Ordering::SeqCst);
        OWNER.store(me(), Ordering::SeqCst);
    }
    at_call_begin(TAKE_LOCK, true);
}

/// From now on several threads may be in calls at the same time.
pub fn let_many_in() {
    MANY.store(true, Ordering::Relaxed);
}

/// Whether others may come in while a function of the program runs. Not where threads never meet:
/// no thread wants to come in there, and what a protocol repeats must not begin to depend on it.
pub fn lets_go_for_functions() -> bool {
    MANY.load(Ordering::Relaxed) && is_mine() && may_let_go()
}

/// Whether other threads of the process may call while this one waits.
pub fn others_may_come_in() -> bool {
    // Two links of the directory are its own; one is that of this thread.
    let alone = |tasks: std::fs::Metadata| tasks.nlink() <= 3;
    MANY.load(Ordering::Relaxed) && !std::fs::metadata("/proc/self/task").is_ok_and(alone)
}

/// Whether the calling thread has the lock.
pub fn is_mine() -> bool {
    OWNER.load(Ordering::Relaxed) == me()
}

fn futex(word: &AtomicU32, operation: c_int, value: u32, time: Option<&libc::timespec>) {
    let time = time.map_or(std::ptr::null(), |time| time as *const libc::timespec);
    let operation = operation | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: word and time live over the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, time) };
}

/// Takes the lock if it is free.
pub fn try_take() -> bool {
    if LOCK.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
        return false;
    }
    OWNER.store(me(), Ordering::Relaxed);
    true
}

/// Takes the lock.
pub fn take() {
    if try_take() {
        return;
    }
    take_slowly();
}

#[cold]
fn take_slowly() {
    while LOCK.swap(2, Ordering::Acquire) != 0 {
        futex(&LOCK, libc::FUTEX_WAIT, 2, None);
    }
    OWNER.store(me(), Ordering::Relaxed);
}

/// Whether the lock may be let go in a wait.
pub fn may_let_go() -> bool {
    !KEPT.load(Ordering::Relaxed)
}

/// Keeps it also in waits, or not; what was so before.
pub fn keep(kept: bool) -> bool {
    KEPT.swap(kept, Ordering::Relaxed)
}

/// Gives it back; whether another thread may wait for it.
pub fn give() -> bool {
    OWNER.store(0, Ordering::Relaxed);
    let awaited = LOCK.swap(0, Ordering::Release) == 2;
    if awaited {
        futex(&LOCK, libc::FUTEX_WAKE, 1, None);
    }
    awaited
}

/// Something was done that other threads may wait for.
#[inline(always)]
pub fn news() {
    NEWS.store(true, Ordering::Relaxed);
}

/// Wakes all others if something was done that they may wait for. `doorbell` wakes the one that
/// polls.
pub fn wake(doorbell: Option<i32>) {
    if !NEWS.load(Ordering::Relaxed) {
        return;
    }
    NEWS.store(false, Ordering::Relaxed);
    wake_sleepers(i32::MAX as u32);
    if POLLER.load(Ordering::SeqCst)
        && let Some(doorbell) = doorbell
    {
        crate::sleep::ring(doorbell);
    }
}

fn wake_sleepers(most: u32) {
    MOVED.fetch_add(1, Ordering::SeqCst);
    if SLEEPERS.load(Ordering::SeqCst) > 0 {
        futex(&MOVED, libc::FUTEX_WAKE, most, None);
    }
}

/// The calling thread waits no more, or not inside of the library: as [`wake`], and another one
/// looks for all if this one did.
pub fn pass_on(doorbell: Option<i32>) {
    let looked = LOOKER.load(Ordering::Relaxed) == me();
    if looked {
        LOOKER.store(0, Ordering::Relaxed);
    }
    if looked && !NEWS.load(Ordering::Relaxed) {
        return wake_sleepers(1);
    }
    wake(doorbell);
}

/// Whether the calling thread looks for all that wait. It begins to do so if none does.
pub fn looks_for_all() -> bool {
    let (looker, me) = (LOOKER.load(Ordering::Relaxed), me());
    if looker == 0 {
        LOOKER.store(me, Ordering::Relaxed);
    }
    looker == 0 || looker == me
}

/// Lets another thread in, if one waits.
pub fn let_in() {
    if LOCK.load(Ordering::Relaxed) == 2 {
        give_way();
    }
}

/// Gives way to other threads and processes.
pub fn give_way() {
    let call = crate::attention::step_out();
    give();
    crate::sleep::give_way();
    take();
    crate::attention::step_in(call);
}

/// Sleeps without the lock, for 10 ms at the most. It sleeps in `poll`, on doorbell and
/// descriptors, if there are any and no other thread does so; otherwise until a thread calls
/// [`wake`].
///
/// Nothing that the lock guards may be used in `poll`, nor be taken for unchanged afterwards.
#[inline(never)]
pub fn sleep(poll: Option<impl FnOnce()>) {
    let poll = poll.filter(|_| !POLLER.swap(true, Ordering::SeqCst));
    let polls = poll.is_some();
    let moved = MOVED.load(Ordering::SeqCst);
    if !polls {
        SLEEPERS.fetch_add(1, Ordering::SeqCst);
    }
    let call = crate::attention::step_out();
    give();
    if let Some(poll) = poll {
        poll();
    } else {
        let time = libc::timespec { tv_sec: 0, tv_nsec: 10_000_000 };
        futex(&MOVED, libc::FUTEX_WAIT, moved, Some(&time));
    }
    take();
    // The thread that looks for all has ended in the middle of a call, or computes for long.
    if !polls && MOVED.load(Ordering::SeqCst) == moved && !POLLER.load(Ordering::SeqCst) {
        LOOKER.store(me(), Ordering::Relaxed);
    }
    crate::attention::step_in(call);
    if polls {
        POLLER.store(false, Ordering::SeqCst);
    } else {
        SLEEPERS.fetch_sub(1, Ordering::SeqCst);
    }
}
