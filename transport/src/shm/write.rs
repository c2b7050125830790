//! The writing half: frames in half a line, in lines, in one piece of bulk memory, in chunks.

use super::copy::{copy_small, copy_tail};
use super::direction::*;
use super::long_laps::{GRANTED, LongLap};
use super::pace::{How, Pace};
use super::single_copy::{OfferOutcome, Offers};
use super::tuning::*;
use super::{KIND_BULK, KIND_CHUNK, KIND_INLINE, KIND_SHORT, KIND_TAIL, end_of, ticks};
use ftmpi_wire::Header;
use std::sync::atomic::Ordering;

/// The writing half of one end.
pub(super) struct Writer {
    pub(super) out: Direction,
    /// Lines that were written.
    pub(super) written: u64,
    /// The second half of the last line is free.
    pub(super) half_free: bool,
    /// Bytes of bulk that were written, laps counted whole.
    pub(super) written_bulk: u64,
    /// Bytes of the bulk area that are used in turn.
    pub(super) lap: u64,
    /// Bytes of the bulk area that this channel may use in any case.
    pub(super) usual: u64,
    /// Bytes beyond, of those that all channels of the process have in common ([`long_laps`]).
    pub(super) long: LongLap,
    /// Bytes of a whole piece at the most.
    pub(super) piece_max: u64,
    /// Laps since the lap is so long.
    laps: u32,
    /// From the writer's position up to this one the area was never used.
    pub(super) unused: u64,
    /// Whether lines of the bulk area are asked for while the writer waits.
    pub(super) owns_ahead: bool,
    /// Lines that are yet to be asked for, and from where.
    pub(super) ahead: u64,
    pub(super) ahead_at: u64,
    /// Nothing had come at a look since the last push.
    waited: bool,
    /// Lines and bytes of bulk that the reader has consumed, as far as the writer knows.
    pub(super) consumed: u64,
    consumed_bulk: u64,
    /// The last push found no room.
    stalled: bool,
    /// Both ends may share one processor.
    pub(super) oversubscribed: bool,
    /// Whether to copy past the caches, where it is a question: chunks, and whole pieces.
    pub(super) pace: Option<Pace>,
    pub(super) piece_pace: Option<Pace>,
    pub(super) offers: Offers,
}

impl Writer {
    pub(super) fn new(out: Direction) -> Self {
        Self {
            out,
            written: 0,
            half_free: false,
            written_bulk: 0,
            lap: LAP_MIN,
            usual: out.bulk.min(BULK_USUAL),
            long: LongLap::of(&GRANTED),
            piece_max: if ftmpi_copy::takes_backwards() { PIECE_MAX } else { CHUNK_FIRST },
            laps: 0,
            unused: 0,
            owns_ahead: ftmpi_copy::owns_ahead(),
            ahead: 0,
            ahead_at: 0,
            waited: false,
            consumed: 0,
            consumed_bulk: 0,
            stalled: false,
            oversubscribed: false,
            pace: (!ftmpi_copy::takes_lines_whole()).then(Pace::default),
            piece_pace: ftmpi_copy::takes_backwards().then(Pace::default),
            offers: Offers::new(),
        }
    }

    /// The channel may use so many bytes of the bulk area.
    pub(super) fn set_usual(&mut self, bytes: u64) {
        self.usual = bytes.min(self.out.bulk);
    }

    /// Both ends may share one processor.
    pub(super) fn set_oversubscribed(&mut self) {
        self.oversubscribed = true;
        self.offers.disable();
    }

    /// Whether the last push found no room.
    pub(super) fn is_stalled(&self) -> bool {
        self.stalled
    }

    /// Whether a push that found no room may find some now.
    pub(super) fn can_go_on(&self) -> bool {
        self.stalled
            && (self.offers.may_be_withdrawn()
                || self.out.consumed_lines().load(Ordering::Acquire) != self.consumed
                || self.out.consumed_bulk().load(Ordering::Acquire) != self.consumed_bulk)
    }

    /// Nothing has come: a moment for what the next message out will need.
    #[inline]
    pub(super) fn get_ready(&mut self) {
        self.waited = true;
        if self.ahead > 0 {
            self.own_ahead();
        }
    }

    /// Hands over as much of a frame as fits; `begun` and `sent` keep its progress. `true` when all
    /// of it is on its way.
    ///
    /// # Safety
    /// `payload` points to `header.len` readable bytes, the same in every call for this frame.
    #[inline]
    pub(super) unsafe fn push(
        &mut self,
        header: &Header,
        payload: *const u8,
        begun: &mut bool,
        sent: &mut u64,
    ) -> bool {
        let len = header.len as usize;
        if len <= SHORT_BYTES && (self.half_free || self.room(1)) {
            // SAFETY: half a line is free, the payload fits into its last word.
            unsafe { self.push_short(header, payload) };
            return true;
        }
        if len <= HEAD_BYTES && self.room(1) {
            // SAFETY: one line is free (`room`), the payload fits into its last four words.
            unsafe {
                let line = self.out.line(self.written);
                let words = header.to_words();
                line.cast::<u64>().add(1).write(words[0]);
                line.cast::<u64>().add(2).write(words[1]);
                line.cast::<u64>().add(3).write(words[2]);
                copy_small(payload, line.add(32), len);
            }
            self.publish(self.written, KIND_INLINE);
            self.written += 1;
            self.half_free = false;
            self.stalled = false;
            return true;
        }
        // SAFETY: as the caller promises.
        let done = unsafe { self.push_long(header, payload, begun, sent) };
        self.stalled = !done;
        done
    }

    /// A frame that takes half a line: of the line before, or of a new one.
    ///
    /// # Safety
    /// There is room, and `payload` points to `header.len` ≤ [`SHORT_BYTES`] readable bytes.
    #[inline]
    unsafe fn push_short(&mut self, header: &Header, payload: *const u8) {
        let second = self.half_free;
        let position = if second { self.written - 1 } else { self.written };
        let tag = if second { self.out.second(position) } else { self.out.tag(position) };
        // SAFETY: the half is ours, four words from its tag on; the payload by the caller.
        unsafe {
            let half = tag.as_ptr();
            let words = header.to_words();
            half.add(1).write(words[0]);
            half.add(2).write(words[2]);
            copy_small(payload, half.add(3).cast(), header.len as usize);
        }
        if !second {
            // What an earlier lap left there could be anything.
            self.out.second(position).store(0, Ordering::Relaxed);
            self.written += 1;
        }
        tag.store(tag_of(position) | KIND_SHORT << 32 | header.len << 40, Ordering::Release);
        self.half_free = !second;
        self.stalled = false;
    }

    /// # Safety
    /// As [`push`](Self::push).
    #[inline(never)]
    unsafe fn push_long(
        &mut self,
        header: &Header,
        payload: *const u8,
        begun: &mut bool,
        sent: &mut u64,
    ) -> bool {
        self.half_free = false;
        // The reader may wait as well. One message of many on their way is quicker where it lies.
        let waited = std::mem::take(&mut self.waited);
        if header.len as usize <= INLINE_MAX {
            // SAFETY: as the caller promises.
            return unsafe { self.push_in_lines(header, payload, waited) };
        }
        // What was asked for is taken now.
        let asked = waited && self.owns_ahead && self.ahead == 0;
        self.ahead = 0;
        if header.len <= self.piece_max && !*begun {
            // SAFETY: as the caller promises.
            return unsafe { self.push_piece(header, payload, waited, asked) };
        }
        if let Some(offer) = self.offers.current() {
            match self.check_offer(offer) {
                OfferOutcome::Fetched => return true,
                OfferOutcome::Waits => return false,
                OfferOutcome::Ring => {}
            }
        } else if !*begun && self.wants_single_copy(header) {
            if !self.room(1) {
                return false;
            }
            // What is consumed from now on is news ([`Writer::can_go_on`]).
            self.learn_consumed();
            self.offer(header, payload);
            *begun = true;
            return false;
        }
        if !*begun && asked && self.is_kept_apart(header.len) {
            // SAFETY: as the caller promises.
            return unsafe { self.push_piece(header, payload, waited, asked) };
        }
        if !*begun {
            if !self.room(1) {
                return false;
            }
            // SAFETY: one line is ours.
            unsafe { self.write_head(header) };
            self.publish(self.written, KIND_BULK);
            self.written += 1;
            *begun = true;
        }
        while *sent < header.len {
            // SAFETY: as the caller promises; so much was sent of the payload.
            match unsafe { self.push_chunk(header.len, payload, *sent, waited) } {
                Some(chunk) => *sent += chunk,
                None => return false,
            }
        }
        self.expect_another(header.len, false);
        true
    }

    /// A frame of up to [`INLINE_MAX`] bytes, in lines.
    ///
    /// # Safety
    /// `payload` points to `header.len` readable bytes.
    #[inline(always)]
    unsafe fn push_in_lines(&mut self, header: &Header, payload: *const u8, waited: bool) -> bool {
        let len = header.len as usize;
        let tails = len.saturating_sub(HEAD_BYTES).div_ceil(TAIL_BYTES) as u64;
        if !self.room(1 + tails) {
            return false;
        }
        // The head is published last: a reader that sees it sees the whole frame.
        for tail in 0..tails {
            let from = HEAD_BYTES + tail as usize * TAIL_BYTES;
            let position = self.written + 1 + tail;
            // SAFETY: `room` gave these lines to us; the source range lies in the payload.
            unsafe {
                copy_tail(
                    payload.add(from),
                    self.out.line(position).add(8),
                    TAIL_BYTES.min(len - from),
                );
            }
            let word = tag_of(position) | KIND_TAIL << 32;
            self.out.tag(position).store(word, Ordering::Relaxed);
            if waited {
                ftmpi_copy::demote(self.out.line(position), LINE);
            }
        }
        // SAFETY: as above, for the head.
        unsafe {
            self.write_head(header);
            copy_small(payload, self.out.line(self.written).add(32), len.min(HEAD_BYTES));
        }
        self.publish(self.written, KIND_INLINE);
        self.written += 1 + tails;
        // The next message is often like this one: its lines come here while the program goes on.
        for tail in 1..=tails {
            ftmpi_copy::own(self.out.line(self.written + tail));
        }
        true
    }

    /// The next chunk of a payload of `len` bytes, of which so many were `sent`; how many bytes it
    /// has. `None`: there is no room now.
    ///
    /// # Safety
    /// `payload` points to `len` readable bytes; `sent` is less.
    #[inline(always)]
    unsafe fn push_chunk(
        &mut self,
        len: u64,
        payload: *const u8,
        sent: u64,
        waited: bool,
    ) -> Option<u64> {
        // SAFETY: as the caller promises.
        let from = unsafe { payload.add(sent as usize) };
        let past_caches = self.pace.as_ref().is_some_and(Pace::past_caches);
        let shift = if past_caches { 0 } else { ftmpi_copy::shift_for(from) as u64 };
        let most = self.chunk_of(len, sent, waited).min(len - sent);
        if !self.room(1) {
            return None;
        }
        let least = shift + most.min(CHUNK_FIRST);
        let chunk = self.place_in_bulk(least, shift + most, true)? - shift;
        let position = self.written_bulk + shift;
        let timed = chunk >= CHUNK_FIRST && self.pace.as_ref().is_some_and(Pace::is_trial);
        let begin = if timed { ticks() } else { 0 };
        // SAFETY: `place_in_bulk` gave the chunk to us, it does not cross the end of the area, and
        // the source range lies in the payload.
        unsafe {
            let to = self.out.bulk(position);
            if past_caches {
                ftmpi_copy::stream(from, to, chunk as usize);
            } else {
                ftmpi_copy::give(from, to, chunk as usize);
                ftmpi_copy::settle();
            }
            let line = self.out.line(self.written).cast::<u64>();
            line.add(1).write(position);
            line.add(2).write(chunk);
            let asks = self.asks(position, chunk);
            line.add(3).write(How { asks, timed, past_caches }.to_word());
        }
        if let Some(pace) = &mut self.pace {
            if timed {
                let took = ticks().wrapping_sub(begin) * CHUNK / chunk;
                let (at, theirs) = self.out.answer(false);
                pace.took(self.written as u32, took, at, theirs);
            } else {
                pace.passed();
            }
        }
        self.publish(self.written, KIND_CHUNK);
        self.written += 1;
        // Chunks begin on cache lines, but for what their payload is shifted by.
        self.written_bulk = end_of(position, chunk);
        Some(chunk)
    }

    /// Bytes of the next chunk of a message of which so many were `sent`. There are four chunks, so
    /// that the reader begins early and the writer ends early. Their size stays within what a chunk
    /// is worth and what the nearest caches hold. Where it pays, a message that its reader waits
    /// for begins with a small chunk, and chunks double (also one that the end of a lap has cut).
    #[inline]
    fn chunk_of(&self, len: u64, sent: u64, waited: bool) -> u64 {
        let most = (len / 4).next_multiple_of(4 << 10).clamp(CHUNK_FIRST, CHUNK);
        let begins = self.owns_ahead && (waited || sent > 0);
        if begins { sent.next_multiple_of(4 << 10).clamp(CHUNK_BEGIN, most) } else { most }
    }

    /// # Safety
    /// The line at `written` is ours.
    pub(super) unsafe fn write_head(&mut self, header: &Header) {
        let words = header.to_words();
        // SAFETY: the caller owns the line.
        unsafe {
            let line = self.out.line(self.written).cast::<u64>();
            line.add(1).write(words[0]);
            line.add(2).write(words[1]);
            line.add(3).write(words[2]);
        }
    }

    #[inline]
    pub(super) fn publish(&self, position: u64, kind: u64) {
        self.out.tag(position).store(tag_of(position) | kind << 32, Ordering::Release);
    }

    #[inline]
    pub(super) fn room(&mut self, lines: u64) -> bool {
        if self.written + lines - self.consumed <= LINES {
            return true;
        }
        self.learn_consumed();
        self.written + lines - self.consumed <= LINES
    }

    /// Finds room in the bulk area at `written_bulk`: for `most` bytes in one piece, or for the
    /// rest of this lap if that is `least` or more. Returns the number of bytes. `None`: there is
    /// none now.
    ///
    /// As long as the reader is fast, a lap goes through the beginning of the area only. A page
    /// that was never touched costs a page fault on either side, which takes longer than the copy.
    /// Where the reader has not yet made room the lap grows, into what no lap has used before. It
    /// also grows with the time, if that is worth it (`grows`) or the lap is too short for eight
    /// messages.
    pub(super) fn place_in_bulk(&mut self, least: u64, most: u64, grows: bool) -> Option<u64> {
        loop {
            let at = self.out.in_bulk(self.written_bulk);
            let begin = self.written_bulk - at;
            let left = self.lap.saturating_sub(at);
            if left >= least {
                let bytes = most.min(left);
                if self.written_bulk + bytes <= self.unused
                    || self.room_from(self.written_bulk, bytes)
                {
                    return Some(bytes);
                }
            } else if self.room_from(begin + self.out.bulk, most) {
                self.written_bulk = begin + self.out.bulk;
                self.laps += u32::from(grows || 8 * most > self.lap);
                if self.laps >= if self.lap < self.usual { LAPS } else { LONG_LAPS } {
                    self.lengthen();
                }
                continue;
            }
            if self.lap >= self.usual {
                return None;
            }
            self.written_bulk = begin + self.lap;
            self.lap *= 2;
            self.laps = 0;
            self.unused = begin + self.lap;
        }
    }

    /// Laps of this length have paid for themselves.
    #[cold]
    fn lengthen(&mut self) {
        self.laps = 0;
        let next = (2 * self.lap).min(self.out.bulk);
        let fits = next <= self.usual
            || !self.oversubscribed && self.long.is_granted(next - self.lap.max(self.usual));
        if fits {
            self.lap = next;
        }
    }

    /// Whether the reader is to publish at once that it has taken what lies at `position`. It does
    /// so in the middle of a lap, so that the lap's beginning can be used again at its end. (After
    /// a jump to the beginning the reader publishes by itself.)
    #[inline]
    pub(super) fn asks(&self, position: u64, len: u64) -> bool {
        let (half, at) = (self.lap / 2, self.out.in_bulk(position));
        at < half && at + (end_of(position, len) - position) >= half
    }

    /// Whether these bytes of the bulk area are the writer's.
    #[inline]
    pub(super) fn room_from(&mut self, position: u64, bytes: u64) -> bool {
        if position + bytes - self.consumed_bulk <= self.out.bulk {
            return true;
        }
        self.learn_consumed();
        position + bytes - self.consumed_bulk <= self.out.bulk
    }

    /// Learns how far the reader is, in lines and in bulk memory. [`Writer::can_go_on`] compares
    /// both: a writer that knew only of the one that it was short of would take the other for news,
    /// and never sleep.
    #[inline(never)]
    pub(super) fn learn_consumed(&mut self) {
        // A reader that claims more than was written is not believed.
        let consumed = self.out.consumed_lines().load(Ordering::Acquire);
        if consumed <= self.written {
            self.consumed = self.consumed.max(consumed);
        }
        let consumed = self.out.consumed_bulk().load(Ordering::Acquire);
        if consumed <= self.written_bulk {
            self.consumed_bulk = self.consumed_bulk.max(consumed);
        }
    }
}

/// What comes before a frame of `len` bytes that ends with the `bytes` it is given, but for less
/// than a line.
#[inline]
pub(super) fn gap_before(len: u64, bytes: u64) -> u64 {
    (bytes - len) & !(LINE as u64 - 1)
}

/// What the first word of the line at a position begins with.
pub(super) fn tag_of(position: u64) -> u64 {
    u64::from((position as u32).wrapping_add(1))
}
