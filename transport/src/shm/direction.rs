//! Where things lie in a shared segment: per direction a control page, the lines, and the bulk
//! area.
//!
//! Guarantees: for any position the address lies inside the segment.

use super::tuning::{BULK_MAX, BULK_MIN, BULK_USUAL, LONG_RANKS};
use std::sync::atomic::{AtomicU32, AtomicU64};

pub(super) const LINE: usize = 64;
/// Lines in a ring.
pub(super) const LINES: u64 = 256;
/// Payload in the first line.
pub(super) const HEAD_BYTES: usize = 32;
/// Payload of a frame that takes half a line.
pub(super) const SHORT_BYTES: usize = 8;
/// Payload in each further line.
pub(super) const TAIL_BYTES: usize = 56;
/// Bytes of payload that go in lines; longer payloads go through the bulk area.
pub(super) const INLINE_MAX: usize = HEAD_BYTES + TAIL_BYTES;
/// Lines after which the reader publishes what it has consumed.
pub(super) const TELL_LINES: u64 = LINES / 4;

pub(super) const CONTROL: usize = 4096;
/// Bytes of a direction without its bulk area.
const REST: usize = CONTROL + LINES as usize * LINE;

/// Bytes of the segment of each pair on a host with so many ranks.
#[must_use]
pub fn segment_bytes(ranks: usize) -> usize {
    let usual = usual_lap(ranks);
    let bulk = match ftmpi_copy::ring_bytes() {
        Some(bytes) if ranks <= LONG_RANKS => bytes.clamp(usual, BULK_MAX),
        _ => usual,
    };
    segment_of(bulk)
}

/// Bytes of a segment with bulk areas of so many bytes.
pub(super) fn segment_of(bulk: u64) -> usize {
    2 * (REST + bulk as usize)
}

/// Bytes of the bulk area that each channel of a host with so many ranks may use.
pub(super) fn usual_lap(ranks: usize) -> u64 {
    match ranks {
        0..=8 => BULK_USUAL,
        9..=32 => BULK_USUAL / 2,
        _ => BULK_MIN,
    }
}

/// Bytes of the bulk areas in a segment of so many bytes, if that is the size of a segment.
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
        // modulo the ring), and is aligned. Shared memory is only accessed atomically or under the
        // ring's hand-over. The mapping outlives the channel that made this.
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

    /// Bytes of bulk after which the reader publishes what it has consumed.
    #[inline]
    pub(super) fn tell_bulk(self) -> u64 {
        self.bulk.min(BULK_USUAL) / 8
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

    /// Written by the reader when it was asked how long a chunk took ([`pace`](super::pace)), on a
    /// line of its own.
    #[inline]
    pub(super) fn pace(self) -> &'static AtomicU64 {
        self.word(256)
    }

    /// The reader's last answer, for chunks or for whole pieces.
    pub(super) fn answer(self, piece: bool) -> (u32, u64) {
        super::pace::unpack(self.pace().load(std::sync::atomic::Ordering::Relaxed), piece)
    }

    /// What became of the last payload that was offered ([`single_copy`](super::single_copy)); both
    /// ends write it.
    #[inline]
    pub(super) fn offer_state(self) -> &'static AtomicU64 {
        self.word(320)
    }

    /// Written by the reader: the sizes that are to be offered, a bit for each class
    /// ([`single_copy_policy`](super::single_copy_policy)).
    #[inline]
    pub(super) fn policy(self) -> &'static AtomicU64 {
        self.word(328)
    }

    /// Written once by the writer: who it is ([`single_copy`](super::single_copy)); the last word
    /// when the others are there.
    #[inline]
    pub(super) fn introduction(self) -> [&'static AtomicU64; 3] {
        [self.word(384), self.word(392), self.word(400)]
    }

    /// Written by the reader, on a separate cache line that changes only when the reader goes to
    /// sleep. It says whether the writer must ring the reader's doorbell, and whether also when the
    /// writer has only made room.
    #[inline]
    pub(super) fn sleeping(self) -> &'static AtomicU32 {
        // SAFETY: as in `word`; offset 128 is aligned and inside the control page.
        unsafe { &*self.base.add(128).cast::<AtomicU32>() }
    }
}
