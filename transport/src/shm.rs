//! Channels between ranks of one host: a shared segment with a ring in each direction.
//!
//! A ring is a sequence of 64-byte *lines*, and a *bulk* area beside it. The first word of a line
//! carries its position (plus one) and is stored last, so a reader polls one cache line and gets
//! header and small payload with it; a line of an earlier lap, and the payload in it, can never be
//! taken for a new one. Larger payloads go through the bulk area in chunks, announced by lines,
//! while the writer already copies the next (peers.md: the pipelined double copy beats the kernel's
//! single copy by far).
//!
//! Guarantees: first-in first-out; a writer that dies leaves no half-published frame: the head of
//! an inline frame is published after the rest of it, and a frame in chunks ends with its channel.
//! A hostile writer is bounded: offsets and lengths are checked against the segment.

mod copy;
mod direction;
#[cfg(test)]
mod tests;

use self::copy::{copy_piece, copy_small, copy_tail};
pub use self::direction::SEGMENT_BYTES;
use self::direction::*;
use crate::pace::Pace;
use ftmpi_wire::header::Kind;
use ftmpi_wire::{Header, Ssn};
use std::io;
use std::sync::atomic::{Ordering, fence};

const KIND_INLINE: u64 = 1;
const KIND_BULK: u64 = 2;
const KIND_CHUNK: u64 = 3;
const KIND_TAIL: u64 = 4;
const KIND_WHOLE: u64 = 5;

/// What a reader does with frames.
pub trait Receiver {
    /// What it wants to be given back at the end of a frame.
    type Token: Copy;
    /// A frame begins: where is its payload to go, and how much of it fits?
    fn begin(&mut self, header: &Header) -> (*mut u8, usize, Self::Token);
    /// Its payload is there.
    fn end(&mut self, header: &Header, token: Self::Token);
}

/// What [`Channel::take_exact`] found.
#[derive(Debug, Clone, Copy)]
pub enum Exact {
    /// Nothing has come.
    Nothing,
    /// Something else is next.
    Other,
    /// The message.
    Took(Header),
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
    written_bulk: u64,
    out_consumed: u64,
    out_consumed_bulk: u64,
    into: Direction,
    read: u64,
    read_bulk: u64,
    told: u64,
    told_bulk: u64,
    /// Something was told since [`Channel::take_told`].
    told_anything: bool,
    /// The last push found no room.
    stalled: bool,
    pace: Pace,
    incoming: Option<Incoming<T>>,
}

impl<T: Copy> Channel<T> {
    /// Maps the segment behind descriptor `fd` at the fixed address `at` (inside a reserved
    /// window). `first` tells which of the two sides this is.
    ///
    /// # Errors
    /// The kernel refuses the mapping, or the segment is smaller than [`SEGMENT_BYTES`].
    ///
    /// # Safety
    /// `at` is the start of [`SEGMENT_BYTES`] of address space that nothing else uses.
    pub unsafe fn map(fd: i32, first: bool, at: *mut u8) -> io::Result<Self> {
        // SAFETY: an all-zero `stat` is valid and `fstat` fills it.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: `stat` lives over the call.
        if unsafe { libc::fstat(fd, &mut stat) } != 0 {
            return Err(io::Error::last_os_error());
        }
        if (stat.st_size as u64) < SEGMENT_BYTES as u64 {
            return Err(io::Error::other("the shared segment is too small"));
        }
        // SAFETY: the caller gives the range at `at` to us.
        let base = unsafe {
            libc::mmap(
                at.cast(),
                SEGMENT_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_FIXED,
                fd,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the mapping is `SEGMENT_BYTES` = two directions long.
        let (a, b) = (base.cast::<u8>(), unsafe { base.cast::<u8>().add(DIRECTION) });
        let (out, into) = if first { (a, b) } else { (b, a) };
        Ok(Self {
            out: Direction { base: out },
            written: 0,
            written_bulk: 0,
            out_consumed: 0,
            out_consumed_bulk: 0,
            into: Direction { base: into },
            read: 0,
            read_bulk: 0,
            told: 0,
            told_bulk: 0,
            told_anything: false,
            stalled: false,
            pace: Pace::default(),
            incoming: None,
        })
    }

    /// Hands over as much of a frame as fits; `begun` and `sent` keep its progress. `true` when it
    /// is whole on its way.
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
        let len = header.len as usize;
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
            self.stalled = false;
            return true;
        }
        // SAFETY: as the caller promises.
        let done = unsafe { self.push_long(header, payload, begun, sent) };
        self.stalled = !done;
        done
    }

    #[inline(never)]
    unsafe fn push_long(
        &mut self,
        header: &Header,
        payload: *const u8,
        begun: &mut bool,
        sent: &mut u64,
    ) -> bool {
        let len = header.len as usize;
        if len <= INLINE_MAX {
            let tails = len.saturating_sub(HEAD_BYTES).div_ceil(TAIL_BYTES) as u64;
            if !self.room(1 + tails) {
                return false;
            }
            // The head is published last: who sees it sees the whole frame.
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
                let word = u64::from((position as u32).wrapping_add(1)) | KIND_TAIL << 32;
                self.out.tag(position).store(word, Ordering::Relaxed);
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
                own(self.out.line(self.written + tail));
            }
            return true;
        }
        let to_end = BULK - self.written_bulk % BULK;
        let shift = if len > OWNED_MAX { ftmpi_copy::shift_for(payload) as u64 } else { 0 };
        if header.len <= CHUNK_FIRST.min(to_end - shift) && !*begun {
            if !self.room(1) || !self.room_bulk(shift + header.len) {
                return false;
            }
            let position = self.written_bulk + shift;
            // SAFETY: one line is ours, `room_bulk` gave as many bytes to us, and they do not cross the
            // end of the area.
            unsafe {
                copy_piece(payload, self.out.bulk(position), len, len);
                self.write_head(header);
                self.out.line(self.written).cast::<u64>().add(4).write(position);
            }
            self.publish(self.written, KIND_WHOLE);
            self.written += 1;
            self.written_bulk = end_of(position, header.len.max(APART));
            if len <= OWNED_MAX {
                for next in (0..header.len).step_by(LINE) {
                    own(self.out.bulk(self.written_bulk + next));
                }
            }
            return true;
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
            let to_end = BULK - self.written_bulk % BULK;
            // SAFETY: so much was sent of the payload.
            let from = unsafe { payload.add(*sent as usize) };
            let left = header.len - *sent;
            let shift = ftmpi_copy::shift_for(from) as u64;
            // Small ones first, so that the reader begins early.
            let chunk = CHUNK.min(CHUNK_FIRST + *sent).min(left).min(to_end - shift);
            if !self.room(1) || !self.room_bulk(shift + chunk) {
                return false;
            }
            let position = self.written_bulk + shift;
            let timed = self.pace.is_trial() && chunk >= CHUNK_FIRST;
            let begin = if timed { ticks() } else { 0 };
            // SAFETY: `room_bulk` gave the chunk to us, it does not cross the end of the area, and
            // the source range lies in the payload.
            unsafe {
                let to = self.out.bulk(position);
                if self.pace.past_caches() {
                    ftmpi_copy::stream(from, to, chunk as usize);
                } else {
                    ftmpi_copy::across(from, to, chunk as usize);
                }
                let line = self.out.line(self.written).cast::<u64>();
                line.add(1).write(position);
                line.add(2).write(chunk);
                line.add(3).write(u64::from(timed));
            }
            if timed {
                let took = ticks().wrapping_sub(begin) * CHUNK / chunk;
                let (at, theirs) = unpack_pace(self.out.pace().load(Ordering::Relaxed));
                self.pace.took(self.written as u32, took, at, theirs);
            } else {
                self.pace.passed();
            }
            self.publish(self.written, KIND_CHUNK);
            self.written += 1;
            // Chunks begin on cache lines, but for what their payload is shifted by.
            self.written_bulk = end_of(position, chunk);
            *sent += chunk;
        }
        true
    }

    /// # Safety
    /// The line at `written` is ours.
    unsafe fn write_head(&mut self, header: &Header) {
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
    fn publish(&self, position: u64, kind: u64) {
        let word = u64::from((position as u32).wrapping_add(1)) | kind << 32;
        self.out.tag(position).store(word, Ordering::Release);
    }

    #[inline]
    fn room(&mut self, lines: u64) -> bool {
        if self.written + lines - self.out_consumed <= LINES {
            return true;
        }
        let consumed = self.out.consumed_lines().load(Ordering::Acquire);
        // A reader that claims more than was written is not believed.
        if consumed <= self.written {
            self.out_consumed = self.out_consumed.max(consumed);
        }
        self.written + lines - self.out_consumed <= LINES
    }

    fn room_bulk(&mut self, bytes: u64) -> bool {
        if self.written_bulk + bytes - self.out_consumed_bulk <= BULK {
            return true;
        }
        let consumed = self.out.consumed_bulk().load(Ordering::Acquire);
        if consumed <= self.written_bulk {
            self.out_consumed_bulk = self.out_consumed_bulk.max(consumed);
        }
        self.written_bulk + bytes - self.out_consumed_bulk <= BULK
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

    /// Whether the other side has learnt since the last question that there is room again: if it
    /// sleeps ([`Channel::must_ring`]), it may wait for just that.
    #[inline]
    pub fn take_told(&mut self) -> bool {
        std::mem::take(&mut self.told_anything)
    }

    /// Whether a push that found no room may find some now.
    #[must_use]
    pub fn can_go_on(&self) -> bool {
        self.stalled
            && (self.out.consumed_lines().load(Ordering::Acquire) != self.out_consumed
                || self.out.consumed_bulk().load(Ordering::Acquire) != self.out_consumed_bulk)
    }

    /// Says whether the writer must ring our doorbell.
    pub fn set_sleeping(&self, sleeping: bool) {
        self.into.sleeping().store(u32::from(sleeping), Ordering::Relaxed);
        if sleeping {
            fence(Ordering::SeqCst);
        }
    }

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
        // SAFETY: the line is published and ours until we tell that it is consumed.
        let words = unsafe {
            let line = line.cast::<u64>();
            [line.add(1).read(), line.add(2).read(), line.add(3).read()]
        };
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
            return Exact::Took(header);
        }
        // SAFETY: the payload begins in the head's line, and fits.
        unsafe { copy_small(line.add(32), at, len.min(HEAD_BYTES)) };
        self.read += 1;
        if len > HEAD_BYTES {
            // SAFETY: as above, for the rest.
            self.read += unsafe { self.copy_tails(at, len, len) };
        }
        if self.read - self.told >= TELL_LINES {
            self.told = self.read;
            self.told_anything = true;
            self.into.consumed_lines().store(self.read, Ordering::Release);
        }
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
            if self.read - self.told >= TELL_LINES {
                self.told = self.read;
                self.told_anything = true;
                self.into.consumed_lines().store(self.read, Ordering::Release);
            }
        }
    }

    #[inline]
    fn take_head<R: Receiver<Token = T>>(&mut self, receiver: &mut R, kind: u64) {
        let line = self.into.line(self.read);
        // SAFETY: the line is published and ours until we tell that it is consumed.
        let words = unsafe {
            let line = line.cast::<u64>();
            [line.add(1).read(), line.add(2).read(), line.add(3).read()]
        };
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
        if len > CHUNK_FIRST || position % BULK + len > BULK {
            return;
        }
        // SAFETY: the payload lies in the bulk area (checked) and was written before its line; the
        // landing has room for `capacity` bytes.
        unsafe {
            let fits = (len as usize).min(capacity);
            copy_piece(self.into.bulk(position), at, fits, len as usize);
        };
        self.read_bulk = end_of(position, len.max(APART));
        if self.read_bulk.wrapping_sub(self.told_bulk) >= TELL_BULK {
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
        let crosses = position % BULK + chunk.min(BULK) > BULK;
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
        if whole || self.read_bulk.wrapping_sub(self.told_bulk) >= TELL_BULK {
            self.tell();
        }
        if whole && let Some(done) = self.incoming.take() {
            receiver.end(&done.header, done.token);
        }
    }

    /// The frame that is in the middle of landing, if the channel ends now.
    pub fn take_incoming(&mut self) -> Option<(Header, T)> {
        self.incoming.take().map(|incoming| (incoming.header, incoming.token))
    }

    /// Where the segment is mapped.
    #[must_use]
    pub fn base(&self) -> *mut u8 {
        self.out.base.min(self.into.base)
    }
}

/// The first line behind what lies at `position`. Nonsense that was written there gives nonsense, which the
/// writer does not believe.
fn end_of(position: u64, len: u64) -> u64 {
    position.wrapping_add(len).wrapping_add(LINE as u64 - 1) & !(LINE as u64 - 1)
}

/// Which line announced a chunk, and how long it took to read it.
fn pack_pace(line: u32, ticks: u64) -> u64 {
    u64::from(line) << 32 | ticks.min(u64::from(u32::MAX))
}

fn unpack_pace(word: u64) -> (u32, u64) {
    ((word >> 32) as u32, word & u64::from(u32::MAX))
}

/// Asks for the cache line at `at`, to write it soon.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn own(at: *mut u8) {
    // SAFETY: a hint that changes nothing and cannot fault, whatever the address.
    unsafe { std::arch::asm!("prefetchw [{}]", in(reg) at, options(nostack, preserves_flags)) };
}

#[cfg(not(target_arch = "x86_64"))]
fn own(_: *mut u8) {}

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
