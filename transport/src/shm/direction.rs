//! Where things lie in a shared segment: per direction a control page, the lines, and the bulk area.
//!
//! Guarantees: whatever position is asked for, the address lies inside the segment.

use std::sync::atomic::{AtomicU32, AtomicU64};

pub(super) const LINE: usize = 64;
/// Lines in a ring.
pub(super) const LINES: u64 = 256;
/// Bytes of the bulk area: the least and the most. Where few ranks share a host it is larger: lines that have left
/// the reader's nearest caches by the time they are written again cost their writer less (512 KiB instead of 256:
/// 16 to 64 KiB take 0.8 of the time, 1 MiB 0.8). With many ranks their pairs are many, and memory counts.
const BULK_MIN: u64 = 128 << 10;
const BULK_MAX: u64 = 512 << 10;
/// What is used of it at first.
pub(super) const LAP_MIN: u64 = 16 << 10;
/// After so many laps they are twice as long: then the pages that are touched for the first time cost little by what
/// was sent, and the longer lap is worth it (see above).
pub(super) const LAPS: u32 = 64;
/// Bytes of a chunk at the most.
pub(super) const CHUNK: u64 = 32 << 10;
/// Payloads of more bytes may be offer.
pub(super) const SINGLE_COPY_MIN: u64 = 8 << 10;
/// A writer waits so long for the reader of a lent payload that it could as well put into the ring, in ticks, and one
/// more for every second byte: some times what the ring would take. Who waits for the message is at it much sooner, or
/// when it has sent one of its own.
pub(super) const SINGLE_COPY_PATIENCE: u64 = 8 << 10;
/// Whoever did not come in time is not lent the next one, the next two, the next four, and so on, at the most so many.
pub(super) const SINGLE_COPY_PAUSE_MAX: u32 = 1 << 10;
/// Bytes of a chunk at the least, but for the last one.
pub(super) const CHUNK_FIRST: u64 = 8 << 10;
/// But for the first one of a message that somebody waits for (256 KiB: 17.5 µs instead of 18.2).
pub(super) const CHUNK_BEGIN: u64 = 4 << 10;
/// Messages up to this many bytes are written into lines that their writer has asked for when it sent the one
/// before. More of them are quicker with the string instruction, which fetches nothing (4 KiB between distant processors:
/// 0.82 µs instead of 0.96); or, if their lines were asked for while it waited, without.
pub(super) const OWNED_MAX: u64 = 2 << 10;
/// And read without it up to this many bytes, where lines are asked for while their writer waits.
pub(super) const VECTORS_MAX: u64 = 4 << 10;
/// What of the next message's lines is asked for while its writer waits for something, in bytes; and so many lines at a
/// time, between two looks. (Distant processors of Intel's, one way: 4 KiB 0.71 µs instead of 0.91, 8 KiB 1.15 instead of
/// 1.46, 64 KiB 4.05 instead of 5.8.)
pub(super) const AHEAD_MAX: u64 = 64 << 10;
pub(super) const AHEAD_AT_ONCE: u64 = 32;
/// So many bytes of a message are moved to the common cache by a writer that has waited, where the processor can: 256 B
/// take 0.23 µs instead of 0.29, 1 KiB 0.32 instead of 0.36, 4 KiB 0.65 instead of 0.70 (with all of it moved 0.85). In
/// windows of 64 the same messages would take twice the time.
pub(super) const DEMOTED_MAX: u64 = 768;
/// Such messages begin so far apart at least: a reader that takes one line of a pair gets the other one as
/// well, and one that takes two in a row the next two, from a writer that is about to fill them (128 B then
/// take 0.27 µs instead of 0.15).
pub(super) const APART: u64 = 256;
/// Longer ones of a writer that has waited end with a page, up to which the reader's processor asks for lines by itself
/// once it takes some in a row: those of the next message, which its writer had got just before (2 KiB 0.46 µs instead of
/// 0.58).
pub(super) const PAGE: u64 = 4096;
/// Payload in the first line.
pub(super) const HEAD_BYTES: usize = 32;
/// Payload of a frame that takes half a line.
pub(super) const SHORT_BYTES: usize = 8;
/// Payload in each further line.
pub(super) const TAIL_BYTES: usize = 56;
/// Payloads up to this go in lines; longer ones through the bulk area.
pub(super) const INLINE_MAX: usize = HEAD_BYTES + TAIL_BYTES;
/// The reader tells what it has consumed after this many lines.
pub(super) const TELL_LINES: u64 = LINES / 4;

pub(super) const CONTROL: usize = 4096;
/// Bytes of a direction without its bulk area.
const REST: usize = CONTROL + LINES as usize * LINE;

/// Bytes of the segment of each pair on a host with so many ranks.
#[must_use]
pub fn segment_bytes(ranks: usize) -> usize {
    let bulk = match ranks {
        0..=8 => BULK_MAX,
        9..=32 => BULK_MAX / 2,
        _ => BULK_MIN,
    };
    2 * (REST + bulk as usize)
}

/// Bytes of the bulk areas in a segment of so many bytes, if it is one of ours.
pub(super) fn bulk_of(segment: u64) -> Option<u64> {
    let bulk = (segment / 2).checked_sub(REST as u64)?;
    let sound = segment.is_multiple_of(2) && bulk.is_power_of_two();
    (sound && (BULK_MIN..=BULK_MAX).contains(&bulk)).then_some(bulk)
}

/// One direction, seen from either end.
#[derive(Clone, Copy)]
pub(super) struct Direction {
    pub(super) base: *mut u8,
    /// Bytes of the bulk area, a power of two.
    pub(super) bulk: u64,
}

impl Direction {
    #[inline]
    pub(super) fn word(self, offset: usize) -> &'static AtomicU64 {
        debug_assert!(offset.is_multiple_of(8) && offset < REST + self.bulk as usize);
        // SAFETY: the offset lies in the mapped segment (constants of this module, positions taken
        // modulo the ring), is aligned, and shared memory is only accessed atomically or under the
        // ring's hand-over; the mapping outlives the channel that made this.
        unsafe { &*self.base.add(offset).cast::<AtomicU64>() }
    }

    #[inline]
    pub(super) fn line(self, position: u64) -> *mut u8 {
        // SAFETY: the position is taken modulo the ring, so the line lies in the segment.
        unsafe { self.base.add(CONTROL + (position % LINES) as usize * LINE) }
    }

    #[inline]
    pub(super) fn tag(self, position: u64) -> &'static AtomicU64 {
        self.word(CONTROL + (position % LINES) as usize * LINE)
    }

    /// The first word of the second half of a line.
    #[inline]
    pub(super) fn second(self, position: u64) -> &'static AtomicU64 {
        self.word(CONTROL + (position % LINES) as usize * LINE + LINE / 2)
    }

    /// Place of a position in the bulk area.
    #[inline]
    pub(super) fn in_bulk(self, position: u64) -> u64 {
        position & (self.bulk - 1)
    }

    #[inline]
    pub(super) fn bulk(self, position: u64) -> *mut u8 {
        // SAFETY: the position is taken modulo the bulk area.
        unsafe { self.base.add(REST + self.in_bulk(position) as usize) }
    }

    /// A word of the bulk area; `position` is a multiple of eight.
    #[inline]
    pub(super) fn word_of_bulk(self, position: u64) -> &'static AtomicU64 {
        self.word(REST + self.in_bulk(position) as usize)
    }

    /// The reader tells what it has consumed after this many bytes of bulk.
    #[inline]
    pub(super) fn tell_bulk(self) -> u64 {
        self.bulk / 8
    }

    /// Written by the reader: lines, bytes of bulk.
    #[inline]
    pub(super) fn consumed_lines(self) -> &'static AtomicU64 {
        self.word(0)
    }

    #[inline]
    pub(super) fn consumed_bulk(self) -> &'static AtomicU64 {
        self.word(8)
    }

    /// Written by the reader when it was asked how long a chunk took ([`crate::pace`]), on a line of its own.
    #[inline]
    pub(super) fn pace(self) -> &'static AtomicU64 {
        self.word(256)
    }

    /// What became of the last payload that was lent ([`single_copy`](super::single_copy)); both write it.
    #[inline]
    pub(super) fn offer_state(self) -> &'static AtomicU64 {
        self.word(320)
    }

    /// Written by the reader: which sizes are to be single_copy, a bit of each class ([`crate::single_copy_policy`]).
    #[inline]
    pub(super) fn policy(self) -> &'static AtomicU64 {
        self.word(328)
    }

    /// Written once by the writer: who it is ([`single_copy`](super::single_copy)), the last of them when the others are there.
    #[inline]
    pub(super) fn introduction(self) -> [&'static AtomicU64; 3] {
        [self.word(384), self.word(392), self.word(400)]
    }

    /// Written by the reader, on a cache line of its own that changes only when it goes to sleep:
    /// whether the writer must ring its doorbell, and also when it has only made room.
    #[inline]
    pub(super) fn sleeping(self) -> &'static AtomicU32 {
        // SAFETY: as in `word`; offset 128 is aligned and inside the control page.
        unsafe { &*self.base.add(128).cast::<AtomicU32>() }
    }
}
