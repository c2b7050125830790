//! The way out of a ring.

use super::copy::{copy_piece, copy_small, copy_tail};
use super::direction::*;
use super::*;

impl<T: Copy> Channel<T> {
    /// Takes what has come. `true` if anything did.
    #[inline]
    pub fn poll<R: Receiver<Token = T>>(&mut self, receiver: &mut R) -> bool {
        let expected = (self.read as u32).wrapping_add(1);
        if self.into.tag(self.read).load(Ordering::Acquire) as u32 != expected {
            return false;
        }
        self.take(receiver);
        true
    }

    /// Takes what has come, frame by frame, as long as it is whole and awaited. `true` if anything was.
    pub fn poll_expected<R: Receiver<Token = T>>(&mut self, receiver: &mut R) -> bool {
        let first = self.read;
        while self.read - first < LINES {
            let word = self.into.tag(self.read).load(Ordering::Acquire);
            let kind = word >> 32;
            if word as u32 != (self.read as u32).wrapping_add(1)
                || (kind != KIND_INLINE && kind != KIND_WHOLE)
                || !Header::from_words(self.head_words())
                    .is_ok_and(|header| receiver.expects(&header))
            {
                break;
            }
            self.take_head(receiver, kind);
            self.tell_lines();
        }
        self.read != first
    }

    /// The words of the header in the next line.
    #[inline]
    fn head_words(&self) -> [u64; 3] {
        // SAFETY: the caller has seen that the line is published: it is ours until we tell that it is consumed.
        unsafe {
            let line = self.into.line(self.read).cast::<u64>();
            [line.add(1).read(), line.add(2).read(), line.add(3).read()]
        }
    }

    /// Tells the writer how many lines were read, now and then.
    #[inline]
    fn tell_lines(&mut self) {
        if self.read - self.told >= TELL_LINES {
            self.told = self.read;
            self.told_anything = true;
            self.into.consumed_lines().store(self.read, Ordering::Release);
        }
    }

    /// If the next frame does not come in chunks, has this context and tag (any if none is given), no flags, and a number that
    /// is `fresh`, and fits: puts its payload to `at`.
    ///
    /// # Safety
    /// `at` is writable for `capacity` bytes.
    #[inline]
    pub unsafe fn take_exact(
        &mut self,
        context: u16,
        tag: Option<i32>,
        at: *mut u8,
        capacity: usize,
        fresh: impl Fn(Ssn) -> bool,
    ) -> Exact {
        let word = self.into.tag(self.read).load(Ordering::Acquire);
        if word as u32 != (self.read as u32).wrapping_add(1) {
            return Exact::Nothing;
        }
        let kind = word >> 32;
        if kind != KIND_INLINE && kind != KIND_WHOLE {
            return Exact::Other;
        }
        let line = self.into.line(self.read);
        let words = self.head_words();
        let Ok(header) = Header::from_words(words) else { return Exact::Other };
        let len = header.len as usize;
        if header.kind != Kind::Eager
            || header.flags != 0
            || header.context != context
            || tag.is_some_and(|tag| header.tag != tag)
            || len > capacity
            || (kind == KIND_INLINE && len > INLINE_MAX)
            || !fresh(header.ssn)
        {
            return Exact::Other;
        }
        if kind == KIND_WHOLE {
            self.read += 1;
            // SAFETY: the line is ours, `at` has room for `capacity` bytes.
            unsafe { self.copy_whole(line, at, header.len, capacity) };
            self.tell_lines();
            return Exact::Took(header);
        }
        // SAFETY: the payload begins in the head's line, and fits.
        unsafe { copy_small(line.add(32), at, len.min(HEAD_BYTES)) };
        self.read += 1;
        if len > HEAD_BYTES {
            // SAFETY: as above, for the rest.
            self.read += unsafe { self.copy_tails(at, len, len) };
        }
        self.tell_lines();
        Exact::Took(header)
    }

    /// Is there anything to take?
    #[inline]
    pub fn is_ready(&self) -> bool {
        let expected = (self.read as u32).wrapping_add(1);
        self.into.tag(self.read).load(Ordering::Acquire) as u32 == expected
    }

    #[inline]
    fn take<R: Receiver<Token = T>>(&mut self, receiver: &mut R) {
        // A bound, so that one busy writer does not keep us from the others.
        for _ in 0..64 {
            let word = self.into.tag(self.read).load(Ordering::Acquire);
            if word as u32 != (self.read as u32).wrapping_add(1) {
                break;
            }
            match word >> 32 {
                KIND_CHUNK => self.take_chunk(receiver),
                kind => self.take_head(receiver, kind),
            }
            self.tell_lines();
        }
    }

    #[inline]
    fn take_head<R: Receiver<Token = T>>(&mut self, receiver: &mut R, kind: u64) {
        let line = self.into.line(self.read);
        let words = self.head_words();
        self.read += 1;
        // A header that makes no sense is dropped with its line.
        let Ok(header) = Header::from_words(words) else { return };
        let (at, capacity, token) = receiver.begin(&header);
        if kind == KIND_BULK {
            self.incoming = Some(Incoming { header, at, capacity, token, received: 0 });
            return;
        }
        if kind == KIND_WHOLE {
            // SAFETY: the line is ours, `at` has room for `capacity` bytes.
            unsafe { self.copy_whole(line, at, header.len, capacity) };
            receiver.end(&header, token);
            return;
        }
        let len = (header.len as usize).min(INLINE_MAX);
        let fits = len.min(capacity);
        // SAFETY: `at` has room for `capacity` bytes; the payload begins in the head's line.
        unsafe { copy_small(line.add(32), at, fits.min(HEAD_BYTES)) };
        if len > HEAD_BYTES {
            // SAFETY: as above.
            self.read += unsafe { self.copy_tails(at, len, fits) };
        }
        receiver.end(&header, token);
    }

    /// Copies what of a frame of `len` bytes lies in the lines behind its head, as far as it `fits`;
    /// the number of these lines.
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
        let position = unsafe { line.cast::<u64>().add(4).read() };
        if len > CHUNK_FIRST || self.into.in_bulk(position) + len > self.into.bulk {
            return;
        }
        // SAFETY: the payload lies in the bulk area (checked) and was written before its line; the
        // landing has room for `capacity` bytes.
        unsafe {
            let fits = (len as usize).min(capacity);
            copy_piece(self.into.bulk(position), at, fits, len as usize);
        };
        self.read_bulk = end_of(position, len.max(APART));
        if self.read_bulk.wrapping_sub(self.told_bulk) >= self.into.tell_bulk() {
            self.tell();
        }
    }

    /// Tells the writer what has been consumed.
    fn tell(&mut self) {
        self.told_bulk = self.read_bulk;
        self.told = self.read;
        self.told_anything = true;
        self.into.consumed_bulk().store(self.read_bulk, Ordering::Release);
        self.into.consumed_lines().store(self.read, Ordering::Release);
    }

    #[inline(never)]
    fn take_chunk<R: Receiver<Token = T>>(&mut self, receiver: &mut R) {
        // SAFETY: the line is published and ours until we tell that it is consumed.
        let (position, chunk, timed) = unsafe {
            let line = self.into.line(self.read).cast::<u64>();
            (line.add(1).read(), line.add(2).read(), line.add(3).read() != 0)
        };
        self.read += 1;
        let Some(incoming) = &mut self.incoming else { return };
        let bulk = self.into.bulk;
        let crosses = self.into.in_bulk(position) + chunk.min(bulk) > bulk;
        if chunk > CHUNK || crosses || incoming.received + chunk > incoming.header.len {
            return;
        }
        let from = incoming.received as usize;
        let begin = if timed { ticks() } else { 0 };
        if from < incoming.capacity {
            // SAFETY: the chunk lies in the bulk area (checked) and was written before its line;
            // the landing has room for `capacity` bytes.
            unsafe {
                ftmpi_copy::across(
                    self.into.bulk(position),
                    incoming.at.add(from),
                    (chunk as usize).min(incoming.capacity - from),
                );
            }
        }
        if timed && chunk > 0 {
            let took = ticks().wrapping_sub(begin).saturating_mul(CHUNK) / chunk;
            self.into
                .pace()
                .store(pack_pace((self.read as u32).wrapping_sub(1), took), Ordering::Relaxed);
        }
        incoming.received += chunk;
        self.read_bulk = end_of(position, chunk);
        let whole = incoming.received == incoming.header.len;
        if whole || self.read_bulk.wrapping_sub(self.told_bulk) >= self.into.tell_bulk() {
            self.tell();
        }
        if whole && let Some(done) = self.incoming.take() {
            receiver.end(&done.header, done.token);
        }
    }
}

/// Which line announced a chunk, and how long it took to read it.
fn pack_pace(line: u32, ticks: u64) -> u64 {
    u64::from(line) << 32 | ticks.min(u64::from(u32::MAX))
}
