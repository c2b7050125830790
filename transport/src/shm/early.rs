//! Pieces that are announced before they are whole.
//!
//! Until the reader knows of a piece that it waits for, and gets the first lines of it, its writer
//! has long written the others. The copy into the ring costs no time then. The line that announces
//! the piece says how much of it is there. In the place of its last whole word lies one that is not
//! zero when everything is there. The word that belongs there is in the announcement.
//!
//! Guarantees: nothing is read before it is there. A reader whose writer does not go on (it was
//! displaced, or died) waits for some microseconds only. Then it is free to do something else, and
//! may sleep: the frame ends later, or with its channel.

use super::KIND_EARLY;
use super::copy::{copy_piece, copy_small};
use super::direction::*;
use super::read::{Next, Reader, kind_of};
use super::tuning::*;
use super::write::{Writer, tag_of};
use crate::incoming::{FrameReceiver, Incoming};
use ftmpi_wire::Header;
use std::sync::atomic::{AtomicU64, Ordering};

/// The last bytes of a piece are in the line that announces it.
const LAST_BYTES: usize = 16;

/// The contents of an announcement.
struct Early {
    /// Where it lies in the bulk area.
    position: u64,
    /// So many bytes were there when it was announced.
    first: usize,
    /// That it was read is to be published at once.
    asks: bool,
}

/// Bytes of a piece of `len` bytes that are there when it is announced.
#[inline]
fn first_of(len: usize) -> usize {
    (len / 4) & !(LINE - 1)
}

/// Place of the word in a piece of `len` bytes that says that it is whole.
#[inline]
fn word_of(len: u64) -> u64 {
    (len - 8) & !7
}

impl Direction {
    /// The word that says that a piece is whole: not zero.
    #[inline]
    fn end_word(self, position: u64, len: u64) -> &'static AtomicU64 {
        self.word_of_bulk(position.wrapping_add(word_of(len)))
    }
}

impl Writer {
    /// Writes a piece and announces it when the first of it is there.
    ///
    /// # Safety
    /// The line at `written` is ours. So are `header.len` bytes of the bulk area from `position`
    /// on, where a line begins and which do not cross its end. `payload` points to as many readable
    /// bytes, [`EARLY_MIN`] to [`EARLY_MAX`].
    #[inline]
    pub(super) unsafe fn write_early(
        &mut self,
        header: &Header,
        payload: *const u8,
        position: u64,
    ) {
        let len = header.len as usize;
        let (first, word) = (first_of(len), word_of(header.len) as usize);
        let whole = self.out.end_word(position, header.len);
        // (An earlier lap may have left anything there.)
        whole.store(0, Ordering::Relaxed);
        // SAFETY: `first` < `word` < `len`; the rest as the caller promises.
        unsafe {
            let to = self.out.bulk(position);
            ftmpi_copy::owned(payload, to, first);
            ftmpi_copy::demote(to, first.min(DEMOTED_MAX as usize));
            self.write_head(header);
            let line = self.out.line(self.written).cast::<u64>();
            line.add(4).write(position);
            line.add(5).write((first as u64) << 1 | u64::from(self.asks(position, header.len)));
            copy_small(payload.add(len - LAST_BYTES), line.add(6).cast(), LAST_BYTES);
            self.publish(self.written, KIND_EARLY);
            ftmpi_copy::owned(payload.add(first), to.add(first), word - first);
            whole.store(tag_of(self.written) | KIND_EARLY << 32, Ordering::Release);
            ftmpi_copy::demote(to.add(first), (word - first).min(DEMOTED_LATE));
            ftmpi_copy::demote(to.add(word), 1);
        }
    }
}

impl<T: Copy> Reader<T> {
    /// The contents of the announcement at `place` of a piece of `len` bytes, if they can be true.
    ///
    /// # Safety
    /// It is a line that was published, and ours.
    #[inline]
    unsafe fn early(&self, place: *const u64, len: u64) -> Option<Early> {
        // SAFETY: a line has eight words.
        let (position, first) = unsafe { (place.add(4).read(), place.add(5).read()) };
        let sound = (EARLY_MIN..=EARLY_MAX).contains(&len)
            && position.is_multiple_of(LINE as u64)
            && self.into.in_bulk(position) + len <= self.into.bulk
            && first >> 1 < word_of(len);
        sound.then_some(Early { position, first: (first >> 1) as usize, asks: first & 1 != 0 })
    }

    /// Whether all is there of what was announced, if it was early. (Nonsense counts as whole: it
    /// is dropped when it is taken.)
    #[inline]
    pub(super) fn is_whole(&self, next: Next) -> bool {
        if kind_of(next.word) != KIND_EARLY {
            return true;
        }
        let len = self.head_words(next)[1];
        // SAFETY: what is published is ours until we publish that it is consumed.
        let early = unsafe { self.early(self.place(next), len) };
        early.is_none_or(|early| {
            self.into.end_word(early.position, len).load(Ordering::Acquire) != 0
        })
    }

    /// Takes an early piece. `false`: the rest of it is not there yet, and it goes on landing where
    /// it has begun to.
    pub(super) fn take_early<R: FrameReceiver<Token = T>>(
        &mut self,
        receiver: &mut R,
        next: Next,
    ) -> bool {
        let (place, words) = (self.place(next), self.head_words(next));
        // A header that makes no sense is dropped with its line.
        let Ok(header) = Header::from_words(words) else {
            self.advance(next);
            return true;
        };
        if self.incoming.as_ref().is_some_and(|begun| begun.header != header) {
            // Nothing comes between the parts of another frame.
            self.advance(next);
            return true;
        }
        let incoming = self.incoming.take().unwrap_or_else(|| {
            let (at, capacity, token) = receiver.begin(&header);
            Incoming { header, at, capacity, token, received: 0 }
        });
        // SAFETY: the line is ours, the landing has room for its capacity.
        if !unsafe { self.copy_early(place, incoming.at, header.len, incoming.capacity) } {
            self.incoming = Some(incoming);
            return false;
        }
        self.advance(next);
        if header.len > SINGLE_COPY_MIN {
            self.note_received(&header, false);
        }
        receiver.end(&incoming.header, incoming.token);
        true
    }

    /// Copies an early piece of `len` bytes, as far as it fits, the first of it while the rest
    /// comes. `false`: the rest did not come in time, and the piece has to be copied once more.
    ///
    /// # Safety
    /// `place` is its announcement, published and ours; `at` is writable for `capacity` bytes.
    #[inline(never)]
    pub(super) unsafe fn copy_early(
        &mut self,
        place: *const u64,
        at: *mut u8,
        len: u64,
        capacity: usize,
    ) -> bool {
        // SAFETY: as the caller promises.
        let Some(early) = (unsafe { self.early(place, len) }) else { return true };
        let from = self.into.bulk(early.position);
        let whole = self.into.end_word(early.position, len);
        let fits = (len as usize).min(capacity);
        let (first, word) = (early.first.min(fits), (word_of(len) as usize).min(fits));
        // SAFETY: the piece lies in the bulk area (checked), and `first` bytes of it were written
        // before its line.
        unsafe { copy_piece(from, at, first, len) };
        let mut looks = 0;
        while whole.load(Ordering::Acquire) == 0 {
            looks += 1;
            if looks == EARLY_LOOKS {
                return false;
            }
            if looks > EARLY_LOOKS_IN_A_ROW {
                std::hint::spin_loop();
            }
        }
        // SAFETY: all of it was written before its last word. The announcement has the bytes from
        // there on, and the landing has room for what fits.
        unsafe {
            copy_piece(from.add(first), at.add(first), word - first, len);
            if fits > word {
                let before = len as usize - LAST_BYTES;
                copy_small(place.add(6).cast::<u8>().add(word - before), at.add(word), fits - word);
            }
        }
        self.piece_was_read(early.position, len, early.asks);
        true
    }
}
