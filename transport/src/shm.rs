//! Channels between ranks of one host: a shared segment with a ring in each direction.
//!
//! A ring is a sequence of 64-byte *lines*, and a separate *bulk* area. The first word of a line
//! carries its position (plus one) and is stored last. So a reader polls one cache line and gets
//! header and small payload with it. A line of an earlier lap, and the payload in it, can never be
//! taken for a new one. Two of the shortest frames that follow each other share a line. The second
//! half of the line has its own first word, which is empty until then. Larger payloads go through
//! the bulk area in chunks. Lines announce the chunks, while the writer already copies the next
//! one. Or the reader fetches the payload with the kernel's single copy, where that is quicker
//! (`single_copy_policy`, `single_copy`).
//!
//! Guarantees: first-in first-out. A writer that dies leaves no half-published frame. The head of
//! an inline frame is published after the rest of it. A frame that is in chunks, offered or
//! announced early ends with its channel. A hostile writer is bounded: offsets and lengths are
//! checked against the segment.
//!
//! | part | what |
//! | --- | --- |
//! | [`Channel`] | one end: a writer and a reader, and what both know |
//! | `write`, `pieces` | the writing half: room, laps, lines, chunks; whole pieces |
//! | `read` | the reading half |
//! | `single_copy`, `single_copy_policy` | offers of the writer, fetches of the reader; when |
//! | `pace` | copies through the cache or past it |
//! | `long_laps` | rings longer than the nearest caches |
//! | `early` | pieces that are announced before they are whole, in both halves |
//! | `direction`, `copy`, `tuning` | where things lie, short copies, constants |

mod copy;
mod direction;
mod early;
#[cfg(test)]
mod early_tests;
#[cfg(test)]
mod laps_tests;
mod long_laps;
mod pace;
mod pieces;
mod read;
mod single_copy;
mod single_copy_policy;
#[cfg(test)]
mod single_copy_tests;
#[cfg(test)]
mod tests;
mod tuning;
mod write;

pub use self::direction::segment_bytes;
use self::direction::*;
use self::read::Reader;
pub use self::single_copy::begin_incarnation;
pub use self::tuning::EAGER_MAX;
use self::write::Writer;
use crate::incoming::FrameReceiver;
use ftmpi_wire::header::Exact;
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

/// The reader sleeps and waits for frames.
const SLEEPS: u32 = 1;
/// The reader sleeps and waits for frames, and for room as well.
const SLEEPS_FOR_ROOM: u32 = 2;

/// One end of a channel.
pub struct Channel<T> {
    writer: Writer,
    reader: Reader<T>,
}

impl<T: Copy> Channel<T> {
    /// Maps the segment behind descriptor `fd`, of so many `bytes` ([`bytes_of`]), at the fixed
    /// address `at` (inside a reserved window). `first` tells which of the two sides this is.
    ///
    /// # Errors
    /// The kernel refuses the mapping, or this is not the size of a segment.
    ///
    /// # Safety
    /// `at` is the start of `bytes` of address space that nothing else uses, and the segment is not
    /// shorter.
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
        let (out, into) = (Direction { base: out, bulk }, Direction { base: into, bulk });
        single_copy::introduce(out);
        Ok(Self { writer: Writer::new(out), reader: Reader::new(into) })
    }

    /// For a host with so many ranks: what each channel may use of its segment.
    #[must_use]
    pub fn among(mut self, ranks: usize) -> Self {
        self.writer.set_usual(usual_lap(ranks));
        self
    }

    /// For ranks that share fewer processors. A writer of a single copy would wait for its reader's
    /// turn on a processor; a writer that puts the payload into the ring does not. Many channels
    /// touch as few pages as they can.
    #[must_use]
    pub fn oversubscribed(mut self) -> Self {
        self.writer.set_oversubscribed();
        self.reader.fetches.disable();
        self
    }

    /// Hands over as much of a frame as fits; `begun` and `sent` keep its progress. `true` when all
    /// of it is on its way.
    ///
    /// # Safety
    /// `payload` points to `header.len` readable bytes, the same in every call for this frame.
    #[inline]
    pub unsafe fn push(
        &mut self,
        header: &Header,
        payload: *const u8,
        begun: &mut bool,
        sent: &mut u64,
    ) -> bool {
        // SAFETY: as the caller promises.
        unsafe { self.writer.push(header, payload, begun, sent) }
    }

    /// Takes back the payload of the frame that has begun. `true`: nobody reads it, and the frame
    /// goes on with what is given to the next [`push`](Self::push). `false`: its reader fetches it,
    /// and is through soon.
    pub fn withdraw(&mut self) -> bool {
        self.writer.withdraw()
    }

    /// Takes what has come. `true` if anything did.
    #[inline]
    pub fn poll<R: FrameReceiver<Token = T>>(&mut self, receiver: &mut R) -> bool {
        if self.reader.look().is_none() {
            self.writer.get_ready();
            return false;
        }
        self.reader.take(receiver)
    }

    /// Takes what has come, frame by frame, as long as it is whole and awaited. `true` if anything
    /// was.
    pub fn poll_expected<R: FrameReceiver<Token = T>>(&mut self, receiver: &mut R) -> bool {
        self.reader.take_expected(receiver)
    }

    /// Puts the payload of the next frame to `at`, if the frame does not come in chunks, has no
    /// flags, has this context and tag (any if none is given), has a number that is `fresh`, and
    /// fits. `blocks`: the begin of it may be put there while the rest comes.
    ///
    /// # Safety
    /// `at` is writable for `capacity` bytes.
    #[inline]
    pub unsafe fn take_exact(
        &mut self,
        context: u32,
        tag: Option<i32>,
        at: *mut u8,
        capacity: usize,
        blocks: bool,
        fresh: impl Fn(Ssn) -> bool,
    ) -> Exact {
        let Some(next) = self.reader.look() else {
            self.writer.get_ready();
            return Exact::Nothing;
        };
        let Some(header) = self.reader.matches(next, context, tag) else { return Exact::Other };
        // SAFETY: as the caller promises.
        unsafe { self.reader.take_matching(next, header, (at, capacity), blocks, fresh) }
    }

    /// Whether there is anything to take, and all of it.
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.reader.is_ready()
    }

    /// After a push: whether the reader's doorbell must be rung, since the reader sleeps. Says so
    /// once for a sleep: the caller that gets `true` must ring.
    ///
    /// The reader raises its flag, makes every processor see it (`membarrier`), and looks once more
    /// before it sleeps; so an ordinary load is enough here. A flag that is taken back late, when
    /// the reader sleeps again, does no harm either: the ring follows.
    #[inline]
    pub fn must_ring(&self) -> bool {
        std::sync::atomic::compiler_fence(Ordering::SeqCst);
        let sleeping = self.writer.out.sleeping();
        let sleeps = sleeping.load(Ordering::Relaxed) != 0;
        if sleeps {
            sleeping.store(0, Ordering::Relaxed);
        }
        sleeps
    }

    /// Whether the other side sleeps and waits for just the room that it has learnt of since the
    /// last question. Then its doorbell must be rung.
    #[inline]
    pub fn must_ring_for_room(&mut self) -> bool {
        let sleeping = self.writer.out.sleeping();
        if !self.reader.take_published() {
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
        self.writer.can_go_on()
    }

    /// Says whether the writer must ring our doorbell.
    pub fn set_sleeping(&self, sleeping: bool) {
        let word = match (sleeping, self.writer.is_stalled()) {
            (false, _) => 0,
            (true, false) => SLEEPS,
            (true, true) => SLEEPS_FOR_ROOM,
        };
        self.reader.into.sleeping().store(word, Ordering::Relaxed);
        if sleeping {
            fence(Ordering::SeqCst);
        }
    }

    /// The frame that is in the middle of landing, if the channel ends now.
    pub fn take_incoming(&mut self) -> Option<(Header, T)> {
        self.reader.incoming.take().map(|incoming| (incoming.header, incoming.token))
    }

    /// Where the segment is mapped, and how many bytes it has.
    #[must_use]
    pub fn mapping(&self) -> (*mut u8, usize) {
        let (out, into) = (self.writer.out.base, self.reader.into.base);
        (out.min(into), out.addr().abs_diff(into.addr()) * 2)
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
        "a shared segment has an unknown size: ftmpiexec and libmpi are of different versions; \
         install one version",
    )
}

/// The first line behind what lies at `position`. Nonsense that was written there gives nonsense,
/// which the writer does not believe.
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
