//! The reading half.

use super::copy::{copy_piece, copy_small, copy_tail};
use super::direction::*;
use super::pace::{How, pack};
use super::single_copy::Fetches;
use super::tuning::*;
use super::{
    KIND_BULK, KIND_CHUNK, KIND_EARLY, KIND_INLINE, KIND_SHORT, KIND_SINGLE_COPY, KIND_WHOLE,
    end_of, ticks,
};
use crate::incoming::{FrameReceiver, Incoming};
use ftmpi_wire::header::{Exact, Kind};
use ftmpi_wire::{Header, Ssn};
use std::sync::atomic::Ordering;

/// What [`Reader::look`] found.
#[derive(Clone, Copy)]
pub(super) struct Next {
    /// Its first word.
    pub(super) word: u64,
    /// It is in the second half of the line before.
    second: bool,
}

/// The kind of a line, or of half of one.
#[inline]
pub(super) fn kind_of(word: u64) -> u64 {
    word >> 32 & 0xff
}

/// The reading half of one end.
pub(super) struct Reader<T> {
    pub(super) into: Direction,
    /// Lines that were read.
    pub(super) read: u64,
    /// A frame may come yet in the second half of the line before: the line is not consumed.
    half_read: bool,
    /// Bytes of bulk that were read, laps counted whole.
    read_bulk: u64,
    /// Lines and bytes of bulk that were published as consumed.
    published: u64,
    published_bulk: u64,
    /// Anything was published since the last question.
    published_any: bool,
    pub(super) incoming: Option<Incoming<T>>,
    pub(super) fetches: Fetches,
}

impl<T: Copy> Reader<T> {
    pub(super) fn new(into: Direction) -> Self {
        Self {
            into,
            read: 0,
            half_read: false,
            read_bulk: 0,
            published: 0,
            published_bulk: 0,
            published_any: false,
            incoming: None,
            fetches: Fetches::new(),
        }
    }

    /// Whether anything was published as consumed since the last question.
    #[inline]
    pub(super) fn take_published(&mut self) -> bool {
        std::mem::take(&mut self.published_any)
    }

    /// The next frame: the first word of its line, or of the second half of the line before.
    #[inline]
    pub(super) fn look(&self) -> Option<Next> {
        if self.half_read
            && let Some(next) = self.look_at_second()
        {
            return Some(next);
        }
        let word = self.into.tag(self.read).load(Ordering::Acquire);
        if word as u32 != (self.read as u32).wrapping_add(1) {
            return None;
        }
        // A second half is filled before the next line, or never.
        if self.half_read
            && let Some(next) = self.look_at_second()
        {
            return Some(next);
        }
        Some(Next { word, second: false })
    }

    #[inline]
    fn look_at_second(&self) -> Option<Next> {
        let word = self.into.second(self.read - 1).load(Ordering::Acquire);
        let there = word as u32 == self.read as u32 && kind_of(word) == KIND_SHORT;
        there.then_some(Next { word, second: true })
    }

    /// Takes what has come, frame by frame, as long as it is whole and awaited. `true` if anything
    /// was.
    pub(super) fn take_expected<R: FrameReceiver<Token = T>>(&mut self, receiver: &mut R) -> bool {
        let mut taken = 0;
        while taken < LINES
            && let Some(next) = self.look()
        {
            let kind = kind_of(next.word);
            if !matches!(kind, KIND_INLINE | KIND_WHOLE | KIND_EARLY | KIND_SHORT)
                || !Header::from_words(self.head_words(next))
                    .is_ok_and(|header| receiver.expects(&header))
            {
                break;
            }
            if kind != KIND_EARLY {
                self.take_head(receiver, next);
            } else if !self.take_early(receiver, next) {
                break;
            }
            self.publish_lines();
            taken += 1;
        }
        taken > 0
    }

    /// Where the half, or the line, begins.
    #[inline]
    pub(super) fn place(&self, next: Next) -> *const u64 {
        if next.second {
            self.into.second(self.read - 1).as_ptr()
        } else {
            self.into.tag(self.read).as_ptr()
        }
    }

    /// The words of the next header.
    #[inline]
    pub(super) fn head_words(&self, next: Next) -> [u64; 3] {
        let place = self.place(next);
        // SAFETY: what is published is ours until we publish that it is consumed; a half has four
        // words.
        unsafe {
            if kind_of(next.word) == KIND_SHORT {
                [place.add(1).read(), next.word >> 40, place.add(2).read()]
            } else {
                [place.add(1).read(), place.add(2).read(), place.add(3).read()]
            }
        }
    }

    /// The next half, or line, was taken.
    #[inline]
    pub(super) fn advance(&mut self, next: Next) {
        self.half_read = !next.second && kind_of(next.word) == KIND_SHORT;
        self.read += u64::from(!next.second);
    }

    /// Publishes how many lines were read, now and then.
    #[inline]
    fn publish_lines(&mut self) {
        if self.consumed() - self.published >= TELL_LINES {
            self.published = self.consumed();
            self.published_any = true;
            self.into.consumed_lines().store(self.published, Ordering::Release);
        }
    }

    /// Lines of which nothing more is to be read.
    #[inline]
    fn consumed(&self) -> u64 {
        self.read - u64::from(self.half_read)
    }

    /// The header of the next frame as far as its first word shows it, if that is a message without
    /// flags with this context and tag (any if none is given).
    #[inline]
    pub(super) fn matches(&self, next: Next, context: u32, tag: Option<i32>) -> Option<Header> {
        // SAFETY: what is published is ours until we publish that it is consumed.
        let first = unsafe { self.place(next).add(1).read() };
        // As it was written, in one comparison.
        let header = Header {
            kind: Kind::Eager,
            flags: 0,
            context,
            tag: tag.unwrap_or((first >> 32) as i32),
            len: 0,
            ssn: Ssn(0),
        };
        (first == header.to_words()[0]).then_some(header)
    }

    /// If the next frame does not come in chunks, its number is `fresh`, and it fits into what is
    /// at `at`: puts its payload there. `blocks`: the begin of it may be put there while the rest
    /// comes.
    ///
    /// # Safety
    /// `at` is writable for `capacity` bytes; `header` is from [`matches`](Self::matches).
    #[inline]
    pub(super) unsafe fn take_matching(
        &mut self,
        next: Next,
        mut header: Header,
        (at, capacity): (*mut u8, usize),
        blocks: bool,
        fresh: impl Fn(Ssn) -> bool,
    ) -> Exact {
        let (kind, place) = (kind_of(next.word), self.place(next));
        if kind == KIND_SHORT {
            header.len = next.word >> 40;
            // SAFETY: as above; half a line has four words.
            header.ssn = Ssn(unsafe { place.add(2).read() });
            let len = header.len as usize;
            if len > SHORT_BYTES.min(capacity) || !fresh(header.ssn) {
                return Exact::Other;
            }
            // SAFETY: the payload fits where it lies and where it goes.
            unsafe { copy_small(place.add(3).cast(), at, len) };
            self.advance(next);
            self.publish_lines();
            return Exact::Took(header);
        }
        let most = match kind {
            KIND_INLINE => INLINE_MAX,
            KIND_WHOLE => PIECE_MAX as usize,
            // (What has begun to land goes on where it has.)
            KIND_EARLY if self.incoming.is_none() => EARLY_MAX as usize,
            _ => return Exact::Other,
        };
        // SAFETY: as above; a line has eight words.
        unsafe {
            header.len = place.add(2).read();
            header.ssn = Ssn(place.add(3).read());
        }
        let len = header.len as usize;
        if len > most.min(capacity) || !fresh(header.ssn) {
            return Exact::Other;
        }
        if kind == KIND_EARLY {
            if !blocks && !self.is_whole(next) {
                return Exact::Nothing;
            }
            // SAFETY: the line is ours, `at` has room for `capacity` bytes.
            if !unsafe { self.copy_early(place, at, header.len, capacity) } {
                return Exact::Other;
            }
            self.advance(next);
            self.publish_lines();
            if header.len > SINGLE_COPY_MIN {
                self.note_received(&header, false);
            }
            return Exact::Took(header);
        }
        self.advance(next);
        // SAFETY: the frame is ours, `at` has room for `capacity` bytes, and the payload fits.
        unsafe {
            if kind == KIND_WHOLE {
                self.copy_whole(place.cast(), at, header.len, capacity);
            } else {
                copy_small(place.add(4).cast(), at, len.min(HEAD_BYTES));
                if len > HEAD_BYTES {
                    self.read += self.copy_tails(at, len, len);
                }
            }
        }
        self.publish_lines();
        Exact::Took(header)
    }

    /// Whether there is anything to take, and all of it.
    #[inline]
    pub(super) fn is_ready(&self) -> bool {
        self.look().is_some_and(|next| self.is_whole(next))
    }

    #[inline]
    pub(super) fn take<R: FrameReceiver<Token = T>>(&mut self, receiver: &mut R) -> bool {
        let mut any = false;
        for _ in 0..FRAMES_PER_LOOK {
            let Some(next) = self.look() else { break };
            if kind_of(next.word) == KIND_CHUNK {
                self.take_chunk(receiver);
            } else if kind_of(next.word) != KIND_EARLY {
                self.take_head(receiver, next);
            } else if !self.take_early(receiver, next) {
                break;
            }
            self.publish_lines();
            any = true;
        }
        any
    }

    #[inline]
    fn take_head<R: FrameReceiver<Token = T>>(&mut self, receiver: &mut R, next: Next) {
        let (kind, place, words) = (kind_of(next.word), self.place(next), self.head_words(next));
        self.advance(next);
        // A header that makes no sense is dropped with its line.
        let Ok(header) = Header::from_words(words) else { return };
        if kind == KIND_SINGLE_COPY {
            // The word comes to this processor meanwhile.
            ftmpi_copy::own(self.into.offer_state().as_ptr().cast());
        }
        let (at, capacity, token) = receiver.begin(&header);
        if kind == KIND_BULK {
            self.incoming = Some(Incoming { header, at, capacity, token, received: 0 });
            return;
        }
        if kind == KIND_SINGLE_COPY {
            // SAFETY: the line was just read, `at` has room for `capacity` bytes.
            let fetched =
                unsafe { self.fetch_offer(place, at, (header.len as usize).min(capacity)) };
            if !fetched {
                self.incoming = Some(Incoming { header, at, capacity, token, received: 0 });
            }
            self.publish();
            if fetched {
                self.note_received(&header, true);
                receiver.end(&header, token);
            }
            return;
        }
        if kind == KIND_WHOLE {
            // SAFETY: the line is ours, `at` has room for `capacity` bytes.
            unsafe { self.copy_whole(place.cast(), at, header.len, capacity) };
            receiver.end(&header, token);
            return;
        }
        if kind == KIND_SHORT {
            let fits = (header.len as usize).min(SHORT_BYTES).min(capacity);
            // SAFETY: the half is ours, `at` has room for `capacity` bytes.
            unsafe { copy_small(place.add(3).cast(), at, fits) };
            receiver.end(&header, token);
            return;
        }
        let len = (header.len as usize).min(INLINE_MAX);
        let fits = len.min(capacity);
        // SAFETY: `at` has room for `capacity` bytes; the payload begins in the head's line.
        unsafe { copy_small(place.add(4).cast(), at, fits.min(HEAD_BYTES)) };
        if len > HEAD_BYTES {
            // SAFETY: as above.
            self.read += unsafe { self.copy_tails(at, len, fits) };
        }
        receiver.end(&header, token);
    }

    /// Copies the part of a frame of `len` bytes in the lines behind its head, as far as it `fits`.
    /// Returns the number of these lines.
    ///
    /// # Safety
    /// `at` is writable for `fits` bytes; the head has been read.
    #[inline]
    unsafe fn copy_tails(&self, at: *mut u8, len: usize, fits: usize) -> u64 {
        let tails = (len - HEAD_BYTES).div_ceil(TAIL_BYTES);
        for tail in 0..tails {
            let from = HEAD_BYTES + tail * TAIL_BYTES;
            if from < fits {
                // SAFETY: the tails were written before the head was published; the rest as the
                // caller promises.
                unsafe {
                    copy_tail(
                        self.into.line(self.read + tail as u64).add(8),
                        at.add(from),
                        TAIL_BYTES.min(fits - from),
                    );
                }
            }
        }
        tails as u64
    }

    /// Copies the payload of a frame that lies in the bulk area in one piece, as far as it fits.
    ///
    /// # Safety
    /// `line` is the frame's head, published and ours; `at` is writable for `capacity` bytes.
    #[inline(never)]
    unsafe fn copy_whole(&mut self, line: *const u8, at: *mut u8, len: u64, capacity: usize) {
        // SAFETY: the line is ours.
        let (position, how) =
            unsafe { (line.cast::<u64>().add(4).read(), line.cast::<u64>().add(5).read()) };
        let how = How::of_word(how);
        if len > PIECE_MAX || self.into.in_bulk(position) + len > self.into.bulk {
            return;
        }
        let begin = if how.timed { ticks() } else { 0 };
        // SAFETY: the payload lies in the bulk area (checked) and was written before its line; the
        // landing has room for `capacity` bytes.
        unsafe {
            let (from, fits) = (self.into.bulk(position), (len as usize).min(capacity));
            if how.past_caches {
                ftmpi_copy::owned(from, at, fits);
            } else {
                copy_piece(from, at, fits, len);
            }
        };
        if how.timed {
            self.answer(true, begin, len);
        }
        self.piece_was_read(position, len, how.asks);
    }

    /// A piece of `len` bytes at `position` was read. That is published if its writer `asks` for
    /// it, or if enough was read.
    #[inline]
    pub(super) fn piece_was_read(&mut self, position: u64, len: u64, asks: bool) {
        self.read_bulk = end_of(position, len.max(APART));
        if asks || self.read_bulk.wrapping_sub(self.published_bulk) >= self.into.tell_bulk() {
            self.publish();
        }
    }

    /// Publishes what has been consumed.
    pub(super) fn publish(&mut self) {
        self.published_bulk = self.read_bulk;
        self.published = self.consumed();
        self.published_any = true;
        self.into.consumed_bulk().store(self.read_bulk, Ordering::Release);
        self.into.consumed_lines().store(self.published, Ordering::Release);
    }

    /// Says how long it took to read the chunk, or the whole piece, of the line before.
    fn answer(&self, piece: bool, begin: u64, len: u64) {
        let took = ticks().wrapping_sub(begin).saturating_mul(CHUNK) / len.max(1);
        let line = (self.read as u32).wrapping_sub(1);
        self.into.pace().store(pack(line, piece, took), Ordering::Relaxed);
    }

    #[inline(never)]
    fn take_chunk<R: FrameReceiver<Token = T>>(&mut self, receiver: &mut R) {
        // SAFETY: the line is published and ours until we publish that it is consumed.
        let (position, chunk, how) = unsafe {
            let line = self.into.line(self.read).cast::<u64>();
            (line.add(1).read(), line.add(2).read(), How::of_word(line.add(3).read()))
        };
        self.read += 1;
        self.half_read = false;
        let Some(incoming) = &mut self.incoming else { return };
        let bulk = self.into.bulk;
        let crosses = self.into.in_bulk(position) + chunk.min(bulk) > bulk;
        if chunk > CHUNK || crosses || incoming.received + chunk > incoming.header.len {
            return;
        }
        let from = incoming.received as usize;
        let begin = if how.timed { ticks() } else { 0 };
        if from < incoming.capacity {
            // SAFETY: the chunk lies in the bulk area (checked) and was written before its line;
            // the landing has room for `capacity` bytes.
            unsafe {
                let (source, at) = (self.into.bulk(position), incoming.at.add(from));
                let fits = (chunk as usize).min(incoming.capacity - from);
                if how.past_caches || incoming.header.len > BACKWARDS_MAX {
                    ftmpi_copy::across(source, at, fits);
                } else {
                    ftmpi_copy::take(source, at, fits);
                }
            }
        }
        incoming.received += chunk;
        if how.timed && chunk > 0 {
            self.answer(false, begin, chunk);
        }
        let Some(incoming) = &mut self.incoming else { return };
        self.read_bulk = end_of(position, chunk);
        let whole = incoming.received == incoming.header.len;
        if whole
            || how.asks
            || self.read_bulk.wrapping_sub(self.published_bulk) >= self.into.tell_bulk()
        {
            self.publish();
        }
        if whole && let Some(done) = self.incoming.take() {
            if done.header.len > SINGLE_COPY_MIN {
                self.note_received(&done.header, false);
            }
            receiver.end(&done.header, done.token);
        }
    }
}
