//! Whole pieces in the bulk area, and the lines that the next one will take.
//!
//! A payload of up to some KiB lies there in one piece, which its head names. Where a writer that
//! has waited can ask for lines ahead, pieces are announced early ([`early`](super::early)).

use super::direction::*;
use super::pace::{How, Pace};
use super::tuning::*;
use super::write::{Writer, gap_before};
use super::{KIND_WHOLE, end_of, ticks};
use ftmpi_wire::Header;

impl Writer {
    /// A frame goes through the bulk area in one piece of up to `piece_max` bytes. If its lines
    /// were `asked` for while its writer `waited`, the limit is [`EARLY_MAX`].
    ///
    /// # Safety
    /// `payload` points to `header.len` readable bytes.
    #[inline]
    pub(super) unsafe fn push_piece(
        &mut self,
        header: &Header,
        payload: *const u8,
        waited: bool,
        asked: bool,
    ) -> bool {
        let len = header.len;
        let pace = self.piece_pace.as_ref().filter(|_| len >= PACE_PIECE_MIN);
        let past_caches = pace.is_some_and(Pace::past_caches);
        let timed = pace.is_some_and(Pace::is_trial);
        let plain = asked || len <= OWNED_MAX;
        let shift = if plain || past_caches { 0 } else { ftmpi_copy::shift_for(payload) as u64 };
        let alone = waited && self.is_kept_apart(len);
        let bytes = if alone {
            (self.written_bulk + len).next_multiple_of(PAGE) - self.written_bulk
        } else {
            shift + len
        };
        // (Pieces that are kept apart go round by themselves: they need no longer laps.)
        if !self.room(1) || self.place_in_bulk(bytes, bytes, !alone).is_none() {
            return false;
        }
        let position = self.written_bulk + if alone { gap_before(len, bytes) } else { shift };
        if alone && plain && len >= EARLY_MIN {
            // SAFETY: one line is ours, `place_in_bulk` gave as many bytes to us, from the begin of
            // a line.
            unsafe { self.write_early(header, payload, position) };
            self.written += 1;
            self.written_bulk = end_of(position, len);
            self.expect_another(len, true);
            return true;
        }
        debug_assert!(len <= PIECE_MAX, "its reader would not take it");
        let begin = if timed { ticks() } else { 0 };
        // SAFETY: one line is ours, `place_in_bulk` gave as many bytes to us, and they do not cross
        // the end of the area.
        unsafe {
            let to = self.out.bulk(position);
            if past_caches {
                ftmpi_copy::stream(payload, to, len as usize);
            } else if plain {
                ftmpi_copy::owned(payload, to, len as usize);
            } else {
                ftmpi_copy::give(payload, to, len as usize);
                ftmpi_copy::settle();
            }
            if waited {
                ftmpi_copy::demote(to, len.min(DEMOTED_MAX) as usize);
            }
            self.write_head(header);
            let line = self.out.line(self.written).cast::<u64>();
            line.add(4).write(position);
            let asks = self.asks(position, len.max(APART));
            line.add(5).write(How { asks, timed, past_caches }.to_word());
        }
        if let Some(pace) = self.piece_pace.as_mut().filter(|_| len >= PACE_PIECE_MIN) {
            if timed {
                let took = ticks().wrapping_sub(begin) * CHUNK / len;
                let (at, theirs) = self.out.answer(true);
                pace.took(self.written as u32, took, at, theirs);
            } else {
                pace.passed();
            }
        }
        self.publish(self.written, KIND_WHOLE);
        self.written += 1;
        self.written_bulk = end_of(position, len.max(APART));
        self.expect_another(len, alone);
        true
    }

    /// Whether a frame of `len` bytes has its pages for itself and ends with them, if its writer
    /// has waited.
    #[inline]
    pub(super) fn is_kept_apart(&self, len: u64) -> bool {
        self.owns_ahead && !self.oversubscribed && (APART..=EARLY_MAX).contains(&len)
    }

    /// Whether the next piece of `len` bytes is copied past the caches.
    #[inline]
    fn goes_past_caches(&self, len: u64) -> bool {
        len >= PACE_PIECE_MIN && self.piece_pace.as_ref().is_some_and(Pace::past_caches)
    }

    /// The next message is often like the one of `len` bytes that was just written, and as much
    /// `alone`. So its lines of the bulk area are asked for beforehand. That happens while the
    /// writer waits ([`Writer::get_ready`]), if it waited before. Otherwise few lines are asked for
    /// at once, and come while the program goes on. What the program reads at this moment comes
    /// later for that.
    #[inline]
    pub(super) fn expect_another(&mut self, len: u64, alone: bool) {
        let at = self.out.in_bulk(self.written_bulk);
        let over = at + len.min(if alone { EARLY_MAX } else { self.piece_max }) > self.lap;
        let mut next = self.written_bulk + if over { self.out.bulk - at } else { 0 };
        if alone {
            next += gap_before(len, len.next_multiple_of(PAGE));
        }
        if self.owns_ahead && (alone || len > OWNED_MAX) {
            self.ahead = len.min(AHEAD_MAX) / LINE as u64;
            self.ahead_at = next;
        } else if len <= OWNED_MAX && !self.goes_past_caches(len) {
            for ahead in (0..len).step_by(LINE) {
                ftmpi_copy::own(self.out.bulk(next + ahead));
            }
        }
    }

    /// Asks for some of the lines that the next message will be written to.
    #[inline(never)]
    pub(super) fn own_ahead(&mut self) {
        for _ in 0..AHEAD_AT_ONCE.min(self.ahead) {
            let at = self.out.in_bulk(self.ahead_at);
            if at >= self.lap {
                self.ahead_at += self.out.bulk - at;
            }
            let line = LINE as u64;
            if self.ahead_at + line > self.unused && !self.room_from(self.ahead_at, line) {
                // The reader is not through with them.
                self.ahead = 0;
                return;
            }
            ftmpi_copy::own(self.out.bulk(self.ahead_at));
            self.ahead_at += line;
            self.ahead -= 1;
        }
    }
}
