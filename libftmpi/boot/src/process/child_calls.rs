//! Calls that take or give numbers of children and that are on their way.
//!
//! Guarantees: a call that is on its way is known until it returns. A call that its thread has left
//! without a return (a handler jumped away, the thread was cancelled) is known at most until the
//! thread uses that part of its stack again, or until the thread ends.
//!
//! A call has a mark in the frame of its function. Nobody else writes there before the function
//! returns: without the mark the call is over. The mark is read by a system call, because the stack
//! may be gone.

use crate::base::syscalls;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// Calls that have a place. More at the same time are only counted.
const PLACES: usize = 128;

/// A place that is being filled.
const CLAIMED: u64 = 1;

/// One call.
struct Place {
    /// Where its mark is; 0: the place is free.
    at: AtomicU64,
    mark: AtomicU32,
    thread: AtomicI32,
}

static CALLS: [Place; PLACES] =
    [const { Place { at: AtomicU64::new(0), mark: AtomicU32::new(0), thread: AtomicI32::new(0) } };
        PLACES];

/// Calls that found no place.
static WITHOUT_PLACE: AtomicU32 = AtomicU32::new(0);

static NEXT_MARK: AtomicU32 = AtomicU32::new(0);

/// The frame of a function with such a call: the mark lies in it.
pub struct Frame(UnsafeCell<u32>);

impl Frame {
    pub const fn new() -> Self {
        Self(UnsafeCell::new(0))
    }

    fn address(&self) -> u64 {
        self.0.get() as u64
    }
}

/// A call that takes numbers of children is on its way. Until its end there is no image with ended
/// children: the number may be the kernel's already, and a restored process has others.
pub struct Call<'a> {
    frame: &'a Frame,
    mark: u32,
    /// `None`: it is only counted.
    place: Option<&'static Place>,
}

impl<'a> Call<'a> {
    pub fn begin(frame: &'a Frame) -> Self {
        // (Odd, and not what a frame often holds.)
        let mark = NEXT_MARK.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b2) | 1;
        // SAFETY: nobody else has the frame.
        unsafe { frame.0.get().write_volatile(mark) };
        let (at, thread) = (frame.address(), syscalls::gettid());
        let place = claim(at, thread);
        match place {
            Some(place) => {
                place.thread.store(thread, Ordering::Relaxed);
                place.mark.store(mark, Ordering::Relaxed);
                place.at.store(at, Ordering::SeqCst);
            }
            None => {
                WITHOUT_PLACE.fetch_add(1, Ordering::SeqCst);
            }
        }
        Self { frame, mark, place }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        // SAFETY: as at the begin.
        unsafe { self.frame.0.get().write_volatile(0) };
        match self.place {
            // (A restored process has forgotten all calls.)
            Some(place) if place.mark.load(Ordering::Relaxed) == self.mark => {
                let at = self.frame.address();
                let _ = place.at.compare_exchange(at, 0, Ordering::SeqCst, Ordering::Relaxed);
            }
            Some(_) => {}
            None => {
                let less = |count: u32| Some(count.saturating_sub(1));
                let _ = WITHOUT_PLACE.fetch_update(Ordering::SeqCst, Ordering::Relaxed, less);
            }
        }
    }
}

/// A place for a call of this thread: a free one, or one whose call is over.
fn claim(at: u64, thread: i32) -> Option<&'static Place> {
    let take = |place: &'static Place, before: u64| {
        let result =
            place.at.compare_exchange(before, CLAIMED, Ordering::SeqCst, Ordering::Relaxed);
        result.is_ok().then_some(place)
    };
    // Two calls of a thread that are on their way have two frames.
    let left = CALLS.iter().find(|place| {
        place.at.load(Ordering::SeqCst) == at && place.thread.load(Ordering::Relaxed) == thread
    });
    left.and_then(|place| take(place, at))
        .or_else(|| CALLS.iter().find_map(|place| take(place, 0)))
        .or_else(|| {
            let over = |place: &Place| {
                let known = place.thread.load(Ordering::Relaxed);
                known == thread && !has_mark(place) || known != thread && has_ended(known)
            };
            CALLS.iter().find_map(|place| {
                let before = place.at.load(Ordering::SeqCst);
                (before > CLAIMED && over(place)).then(|| take(place, before)).flatten()
            })
        })
}

/// Whether a call is on its way.
pub fn any() -> bool {
    let is_under_way = |place: &Place| match place.at.load(Ordering::SeqCst) {
        0 => false,
        CLAIMED => true,
        _ => has_mark(place) && !has_ended(place.thread.load(Ordering::Relaxed)),
    };
    WITHOUT_PLACE.load(Ordering::SeqCst) != 0 || CALLS.iter().any(is_under_way)
}

/// No call is on its way: the process was restored from an image without such calls, or without
/// ended children.
pub fn forget_all() {
    WITHOUT_PLACE.store(0, Ordering::SeqCst);
    for place in &CALLS {
        place.at.store(0, Ordering::SeqCst);
        place.mark.store(0, Ordering::Relaxed);
    }
}

/// Whether the mark of a call is in its frame.
fn has_mark(place: &Place) -> bool {
    let (at, mark) = (place.at.load(Ordering::SeqCst), place.mark.load(Ordering::Relaxed));
    let (operation, no_time) = (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG, [0u64; 2]);
    // The kernel compares, and would wait for no time. EFAULT: the stack is gone.
    // SAFETY: the kernel checks the address; the time lives over the call.
    let waited = unsafe { syscalls::call!(libc::SYS_futex, at, operation, mark, no_time.as_ptr()) };
    !matches!(waited, Err(libc::EAGAIN | libc::EFAULT))
}

/// Whether this process has no such thread any more.
fn has_ended(thread: i32) -> bool {
    // SAFETY: no memory involved; the signal 0 is none.
    let found = unsafe { syscalls::call!(libc::SYS_tgkill, syscalls::getpid(), thread, 0) };
    found == Err(libc::ESRCH)
}
