//! Channels between ranks of one host: a shared segment with a ring in each direction.
//!
//! A ring is a sequence of 64-byte *lines*, and a *bulk* area beside it. The first word of a line
//! carries its position (plus one) and is stored last, so a reader polls one cache line and gets
//! header and small payload with it; a line of an earlier lap, and the payload in it, can never be
//! taken for a new one. Two of the shortest frames that follow each other share a line: the second half of it has a
//! first word of its own, which is empty until then. Larger payloads go through the bulk area in chunks, announced by lines,
//! while the writer already copies the next; or their reader fetches them with the kernel's single copy, where that is
//! quicker (`single_copy_policy`, `single_copy`).
//!
//! Guarantees: first-in first-out; a writer that dies leaves no half-published frame: the head of
//! an inline frame is published after the rest of it, and one that is in chunks, lent or announced early ends with its
//! channel.
//! A hostile writer is bounded: offsets and lengths are checked against the segment.

mod copy;
mod direction;
mod early;
#[cfg(test)]
mod early_tests;
mod read;
mod single_copy;
#[cfg(test)]
mod single_copy_tests;
#[cfg(test)]
mod tests;
mod write;

pub use self::direction::segment_bytes;
use self::direction::*;
pub use self::single_copy::begin_incarnation;
use self::single_copy::{Offer, Peer};
use crate::pace::Pace;
use crate::single_copy_policy::SingleCopyPolicy;
use ftmpi_wire::header::{Exact, Kind};
use ftmpi_wire::{Header, Ssn};
use std::io;
use std::sync::atomic::{Ordering, fence};

const KIND_INLINE: u64 = 1;
const KIND_BULK: u64 = 2;
const KIND_CHUNK: u64 = 3;
const KIND_TAIL: u64 = 4;
const KIND_WHOLE: u64 = 5;
/// In either half of a line.
const KIND_SHORT: u64 = 6;
/// A payload that its reader fetches.
const KIND_SINGLE_COPY: u64 = 7;
/// As [`KIND_WHOLE`], announced while its writer is still at the rest of it ([`early`]).
const KIND_EARLY: u64 = 8;

/// Somebody sleeps and waits for frames; and for room as well.
const SLEEPS: u32 = 1;
const SLEEPS_FOR_ROOM: u32 = 2;

/// What a reader does with frames.
pub trait Receiver {
    /// What it wants to be given back at the end of a frame.
    type Token: Copy;
    /// Whether this message is awaited, for [`Channel::poll_expected`].
    fn expects(&self, header: &Header) -> bool;
    /// A frame begins: where is its payload to go, and how much of it fits?
    fn begin(&mut self, header: &Header) -> (*mut u8, usize, Self::Token);
    /// Its payload is there.
    fn end(&mut self, header: &Header, token: Self::Token);
}

/// State of a frame that comes in chunks.
struct Incoming<T> {
    header: Header,
    at: *mut u8,
    capacity: usize,
    token: T,
    received: u64,
}

/// One end of a channel.
pub struct Channel<T> {
    out: Direction,
    written: u64,
    /// The second half of the line before is free.
    half_free: bool,
    written_bulk: u64,
    /// Of the bulk area so many bytes are used in turn.
    lap: u64,
    /// How often since the lap is so long.
    laps: u32,
    /// From the writer's position up to this one the area was never used.
    unused: u64,
    /// Whether lines of the bulk area are asked for while the writer waits; how many yet, and from where.
    owns_ahead: bool,
    ahead: u64,
    ahead_at: u64,
    /// Nothing had come at a look since the last push.
    waited: bool,
    out_consumed: u64,
    out_consumed_bulk: u64,
    into: Direction,
    read: u64,
    /// Something may come yet in the second half of the line before: it is not consumed.
    half_read: bool,
    read_bulk: u64,
    told: u64,
    told_bulk: u64,
    /// Something was told since [`Channel::must_ring_for_room`].
    told_anything: bool,
    /// The last push found no room.
    stalled: bool,
    /// Both ends may share one processor.
    oversubscribed: bool,
    /// Payloads may be single_copy, in either direction.
    single_copy: bool,
    /// The peer cannot fetch ours.
    refused: bool,
    /// The one that is.
    offer: Option<Offer>,
    /// So many that fit into the ring are not single_copy, and how many were not the last time.
    offers_to_skip: u32,
    offer_pause: u32,
    /// Whether to copy past the caches, where it is a question.
    pace: Option<Pace>,
    incoming: Option<Incoming<T>>,
    /// How long payloads are wanted, once there was one, and what the writer knows of it.
    policy: Option<Box<SingleCopyPolicy>>,
    policy_sent: u64,
    /// Whose payloads we can fetch, once it was tried.
    fetches: Option<Option<Peer>>,
}

impl<T: Copy> Channel<T> {
    /// Maps the segment behind descriptor `fd`, of so many `bytes` ([`bytes_of`]), at the fixed address `at`
    /// (inside a reserved window). `first` tells which of the two sides this is.
    ///
    /// # Errors
    /// The kernel refuses the mapping, or this is not the size of a segment.
    ///
    /// # Safety
    /// `at` is the start of `bytes` of address space that nothing else uses, and the segment is not shorter.
    pub unsafe fn map(fd: i32, first: bool, at: *mut u8, bytes: usize) -> io::Result<Self> {
        let bulk = bulk_of(bytes as u64).ok_or_else(no_segment)?;
        // SAFETY: the caller gives the range at `at` to us.
        let base = unsafe {
            libc::mmap(
                at.cast(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_FIXED,
                fd,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the mapping is two directions long.
        let (a, b) = (base.cast::<u8>(), unsafe { base.cast::<u8>().add(bytes / 2) });
        let (out, into) = if first { (a, b) } else { (b, a) };
        single_copy::introduce(Direction { base: out, bulk });
        Ok(Self {
            out: Direction { base: out, bulk },
            written: 0,
            half_free: false,
            written_bulk: 0,
            lap: LAP_MIN,
            laps: 0,
            unused: 0,
            owns_ahead: ftmpi_copy::owns_ahead(),
            ahead: 0,
            ahead_at: 0,
            waited: false,
            out_consumed: 0,
            out_consumed_bulk: 0,
            into: Direction { base: into, bulk },
            read: 0,
            half_read: false,
            read_bulk: 0,
            told: 0,
            told_bulk: 0,
            told_anything: false,
            stalled: false,
            oversubscribed: false,
            // (Elsewhere there are no `ticks`, by which it is measured.)
            single_copy: cfg!(target_arch = "x86_64"),
            refused: false,
            offer: None,
            offers_to_skip: 0,
            offer_pause: 0,
            pace: (!ftmpi_copy::takes_lines_whole()).then(Pace::default),
            incoming: None,
            policy: None,
            policy_sent: 0,
            fetches: None,
        })
    }

    /// For ranks that share fewer processors: a writer of what is lent waits for its reader's turn on one of them, and one
    /// that puts it into the ring does not; and many channels touch as few pages as they can.
    #[must_use]
    pub fn oversubscribed(mut self) -> Self {
        self.single_copy = false;
        self.oversubscribed = true;
        self
    }

    /// After a push: must the reader's doorbell be rung, since it sleeps? Says so once for a sleep:
    /// who is told must ring.
    ///
    /// The reader raises its flag, makes every processor see it (`membarrier`), and looks once
    /// more before it sleeps; so an ordinary load is enough here. A flag that is taken back late, when
    /// the reader sleeps again, does no harm either: the ring follows.
    #[inline]
    pub fn must_ring(&self) -> bool {
        std::sync::atomic::compiler_fence(Ordering::SeqCst);
        let sleeps = self.out.sleeping().load(Ordering::Relaxed) != 0;
        if sleeps {
            self.out.sleeping().store(0, Ordering::Relaxed);
        }
        sleeps
    }

    /// Whether the other side has learnt since the last question that there is room again, sleeps, and waits for just
    /// that: then its doorbell must be rung.
    #[inline]
    pub fn must_ring_for_room(&mut self) -> bool {
        let sleeping = self.out.sleeping();
        if !std::mem::take(&mut self.told_anything) {
            return false;
        }
        std::sync::atomic::compiler_fence(Ordering::SeqCst);
        let waits = sleeping.load(Ordering::Relaxed) == SLEEPS_FOR_ROOM;
        if waits {
            sleeping.store(0, Ordering::Relaxed);
        }
        waits
    }

    /// Whether a push that found no room may find some now.
    #[must_use]
    pub fn can_go_on(&self) -> bool {
        self.stalled
            && (self.offer.as_ref().is_some_and(Offer::may_be_withdrawn)
                || self.out.consumed_lines().load(Ordering::Acquire) != self.out_consumed
                || self.out.consumed_bulk().load(Ordering::Acquire) != self.out_consumed_bulk)
    }

    /// Says whether the writer must ring our doorbell.
    pub fn set_sleeping(&self, sleeping: bool) {
        let word = match (sleeping, self.stalled) {
            (false, _) => 0,
            (true, false) => SLEEPS,
            (true, true) => SLEEPS_FOR_ROOM,
        };
        self.into.sleeping().store(word, Ordering::Relaxed);
        if sleeping {
            fence(Ordering::SeqCst);
        }
    }

    /// The frame that is in the middle of landing, if the channel ends now.
    pub fn take_incoming(&mut self) -> Option<(Header, T)> {
        self.incoming.take().map(|incoming| (incoming.header, incoming.token))
    }

    /// Where the segment is mapped, and how many bytes it has.
    #[must_use]
    pub fn mapping(&self) -> (*mut u8, usize) {
        (
            self.out.base.min(self.into.base),
            self.out.base.addr().abs_diff(self.into.base.addr()) * 2,
        )
    }
}

/// Bytes of the segment behind descriptor `fd`.
///
/// # Errors
/// It is none, or the kernel does not say.
pub fn bytes_of(fd: i32) -> io::Result<usize> {
    // SAFETY: an all-zero `stat` is valid and `fstat` fills it.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `stat` lives over the call.
    if unsafe { libc::fstat(fd, &mut stat) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let bytes = u64::try_from(stat.st_size).unwrap_or(0);
    bulk_of(bytes).map(|_| bytes as usize).ok_or_else(no_segment)
}

fn no_segment() -> io::Error {
    io::Error::other(
        "this is not the size of a shared segment: ftmpiexec and libmpi are of different versions?",
    )
}

/// The first line behind what lies at `position`. Nonsense that was written there gives nonsense, which the
/// writer does not believe.
fn end_of(position: u64, len: u64) -> u64 {
    position.wrapping_add(len).wrapping_add(LINE as u64 - 1) & !(LINE as u64 - 1)
}

#[cfg(target_arch = "x86_64")]
fn ticks() -> u64 {
    // SAFETY: reads the time-stamp counter.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn ticks() -> u64 {
    // Copies past the caches are not implemented there: both ways are the same.
    0
}
