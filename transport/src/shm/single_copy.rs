//! Payloads that their reader fetches from where they lie: one copy by the kernel instead of two through the ring.
//!
//! Guarantees: what is taken is the payload of that very message, or nothing: in the same system call the reader reads a
//! word that only this life of the writer knows and has told it, unless the message was sent just now. Whether the kernel lets it is tried beforehand, without
//! a message; what it refuses all the same goes through the ring, and from then on everything of that writer does. A
//! writer that wants its buffer back takes it back ([`Channel::withdraw`]), unless its reader
//! is fetching it at this moment: one word, which both change only from what they know it to be, decides between them.
//! A send that need not wait for its receiver does not wait for it here either: a payload that was not announced is taken
//! back after some microseconds, and copied into the ring.

use super::direction::{Direction, SINGLE_COPY_MIN, SINGLE_COPY_PATIENCE, SINGLE_COPY_PAUSE_MAX};
use super::{Channel, Header, Kind, ticks};
use crate::single_copy_policy::{SingleCopyPolicy, class_of};
use std::sync::atomic::{AtomicU64, Ordering};

/// What became of a payload, beside its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub(super) enum Fate {
    /// It waits for its reader.
    Offered = 1,
    /// Its reader is at it.
    Taken = 2,
    /// The kernel does not let its reader.
    Refused = 3,
    /// Its writer wants it back.
    Withdrawn = 4,
}

impl Fate {
    /// Of the payload that was lent in this line.
    pub(super) fn of(self, line: u64) -> u64 {
        line << 3 | self as u64
    }
}

/// Changes the fate of the payload in a line; `false` if it was not what it was thought to be.
fn change(direction: Direction, line: u64, from: Fate, to: Fate) -> bool {
    direction
        .offer_state()
        .compare_exchange(from.of(line), to.of(line), Ordering::AcqRel, Ordering::Acquire)
        .is_ok()
}

/// A payload that is offer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offer {
    pub(super) line: u64,
    /// When it was single_copy, and how long it is at the most, if its send need not wait for its receiver.
    limit: Option<(u64, u64)>,
}

impl Offer {
    /// It goes through the ring if its reader does not come.
    pub(super) fn may_be_withdrawn(&self) -> bool {
        self.limit.is_some()
    }
}

/// Who a writer is: what it has introduced itself with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer {
    process: i32,
    /// Where its word is, and what it says.
    word_at: u64,
    pub(super) word: u64,
}

/// What was lent so many ticks ago, or less, is still this process's: within a fraction of a millisecond no number of a
/// process comes round again. Its word need not be read (0.16 µs).
const FRESH: u64 = 1 << 20;

/// The word of this life; 0 if it has none yet.
static WORD: AtomicU64 = AtomicU64::new(0);

/// This process begins from an image: the word in it is that of an earlier life.
pub fn begin_incarnation() {
    WORD.store(0, Ordering::Relaxed);
}

/// The word of this life, if the kernel has random numbers.
fn word() -> Option<u64> {
    let known = WORD.load(Ordering::Relaxed);
    if known != 0 {
        return Some(known);
    }
    let mut word = 0u64;
    // SAFETY: eight bytes of ours.
    if unsafe { libc::getrandom((&raw mut word).cast(), 8, libc::GRND_NONBLOCK) } != 8 {
        return None;
    }
    // Another thread may have been first.
    match WORD.compare_exchange(0, word | 1, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => Some(word | 1),
        Err(theirs) => Some(theirs),
    }
}

impl Peer {
    /// This process.
    fn this() -> Option<Self> {
        let word = word()?;
        // SAFETY: always allowed.
        let process = unsafe { libc::getpid() };
        Some(Self { process, word_at: WORD.as_ptr().expose_provenance() as u64, word })
    }

    /// Fetches `len` bytes from `payload` on; `false` if they could not be had. `known`: it is this process for sure.
    ///
    /// # Safety
    /// `to` is writable for `len` bytes.
    unsafe fn fetch(&self, payload: u64, to: *mut u8, len: usize, known: bool) -> bool {
        /// Less than what the kernel does in one call.
        const MOST: usize = 1 << 30;
        let (first, more) = if known { (1, 0) } else { (0, 8) };
        let mut done = 0;
        while done < len {
            let part = (len - done).min(MOST);
            let mut word = 0u64;
            let ours = [
                libc::iovec { iov_base: (&raw mut word).cast(), iov_len: 8 },
                // SAFETY: within what the caller gives to us.
                libc::iovec { iov_base: unsafe { to.add(done) }.cast(), iov_len: part },
            ];
            let from = |at: u64, iov_len| libc::iovec {
                iov_base: std::ptr::without_provenance_mut(at as usize),
                iov_len,
            };
            let theirs = [from(self.word_at, 8), from(payload.wrapping_add(done as u64), part)];
            let (ours, theirs) = (&ours[first..], &theirs[first..]);
            let count = ours.len() as u64;
            // SAFETY: both lists live over the call; the kernel checks the other side.
            let got = unsafe {
                libc::process_vm_readv(
                    self.process,
                    ours.as_ptr(),
                    count,
                    theirs.as_ptr(),
                    count,
                    0,
                )
            };
            if got != part as isize + more || !known && word != self.word {
                return false;
            }
            done += part;
        }
        true
    }
}

/// Frames with what the program sends.
#[inline]
fn is_message(kind: Kind) -> bool {
    matches!(kind, Kind::Eager | Kind::Data)
}

/// Tells the reader who we are, so that it can try whether it may read there.
pub(super) fn introduce(out: Direction) {
    let Some(this) = Peer::this() else { return };
    let [process, at, word] = out.introduction();
    process.store(this.process as u64, Ordering::Relaxed);
    at.store(this.word_at, Ordering::Relaxed);
    word.store(this.word, Ordering::Release);
}

/// Who the writer is, if we may read what it has introduced itself with.
fn may_fetch(into: Direction) -> Option<Peer> {
    let [process, at, word] = into.introduction();
    let word = word.load(Ordering::Acquire);
    let process = i32::try_from(process.load(Ordering::Relaxed)).ok()?;
    let peer = Peer { process, word_at: at.load(Ordering::Relaxed), word };
    let mut byte = 0u8;
    // SAFETY: one byte of ours.
    let may = word != 0 && unsafe { peer.fetch(peer.word_at, &raw mut byte, 1, false) };
    may.then_some(peer)
}

/// How far a payload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OfferOutcome {
    /// Its reader has it.
    Fetched,
    /// It may yet.
    Waits,
    /// It goes through the ring.
    Ring,
}

impl<T: Copy> Channel<T> {
    /// Whether the reader wants to fetch this one: a message of the program.
    #[inline]
    pub(super) fn wants_single_copy(&mut self, header: &Header) -> bool {
        if header.len <= SINGLE_COPY_MIN
            || !self.single_copy
            || self.refused
            || !is_message(header.kind)
        {
            return false;
        }
        let wanted =
            self.out.policy().load(Ordering::Relaxed) >> class_of(SINGLE_COPY_MIN, header.len) & 1;
        if wanted == 1 && header.kind != Kind::Data && self.offers_to_skip > 0 {
            self.offers_to_skip -= 1;
            return false;
        }
        wanted == 1
    }

    /// Lends a payload.
    #[inline(never)]
    pub(super) fn offer(&mut self, header: &Header, payload: *const u8) {
        // What the program has written past its caches is on its way for its own processor only.
        #[cfg(target_arch = "x86_64")]
        // SAFETY: always allowed.
        unsafe {
            std::arch::x86_64::_mm_sfence();
        }
        let now = ticks();
        // SAFETY: one line is ours, the caller has seen to that.
        unsafe {
            self.write_head(header);
            let line = self.out.line(self.written).cast::<u64>();
            line.add(4).write(payload.expose_provenance() as u64);
            line.add(5).write(now);
        }
        self.out.offer_state().store(Fate::Offered.of(self.written), Ordering::Relaxed);
        self.publish(self.written, super::KIND_SINGLE_COPY);
        let limit =
            (header.kind != Kind::Data).then_some((now, SINGLE_COPY_PATIENCE + header.len / 2));
        self.offer = Some(Offer { line: self.written, limit });
        self.written += 1;
    }

    /// What has become of the payload that is offer.
    pub(super) fn check_offer(&mut self, offer: Offer) -> OfferOutcome {
        self.learn_consumed();
        if self.out_consumed <= offer.line {
            let late = offer.limit.is_some_and(|(since, most)| ticks().wrapping_sub(since) > most);
            if !late || !self.withdraw() {
                return OfferOutcome::Waits;
            }
            return OfferOutcome::Ring;
        }
        self.offer = None;
        if self.out.offer_state().load(Ordering::Acquire) == Fate::Taken.of(offer.line) {
            self.offer_pause = 0;
            return OfferOutcome::Fetched;
        }
        self.refused = true;
        OfferOutcome::Ring
    }

    /// The payload of the frame that has begun is to be free. `true`: nobody reads it, the frame goes on with whatever is
    /// given to the next [`push`](Self::push). `false`: its reader is fetching it, and will be through with it soon.
    pub fn withdraw(&mut self) -> bool {
        let Some(offer) = self.offer else { return true };
        let withdrawn = change(self.out, offer.line, Fate::Offered, Fate::Withdrawn);
        if withdrawn {
            self.offer = None;
            if offer.may_be_withdrawn() {
                self.offer_pause = (self.offer_pause * 2).clamp(1, SINGLE_COPY_PAUSE_MAX);
                self.offers_to_skip = self.offer_pause;
            }
        }
        withdrawn
    }

    /// Takes the payload that was lent in the line that was just read; `false`: it comes through the ring.
    ///
    /// # Safety
    /// `line` is that line, `at` is writable for `len` bytes.
    pub(super) unsafe fn fetch_offer(&mut self, line: *const u64, at: *mut u8, len: usize) -> bool {
        let position = self.read - 1;
        if !change(self.into, position, Fate::Offered, Fate::Taken) {
            return false;
        }
        // SAFETY: the line is ours until we tell that it is consumed.
        let (payload, since) = unsafe { (line.add(4).read(), line.add(5).read()) };
        let known = ticks().wrapping_sub(since) < FRESH;
        // SAFETY: by the caller.
        let fetched =
            self.peer().is_some_and(|peer| unsafe { peer.fetch(payload, at, len, known) });
        if !fetched {
            self.into.offer_state().store(Fate::Refused.of(position), Ordering::Release);
        }
        fetched
    }

    /// The writer, if its payloads can be fetched; this is tried once.
    pub(super) fn peer(&mut self) -> Option<Peer> {
        let into = self.into;
        *self.fetches.get_or_insert_with(|| may_fetch(into))
    }

    /// A payload has come: tells the writer how such ones are wanted.
    pub(super) fn note_received(&mut self, header: &Header, single_copy: bool) {
        if self.single_copy && is_message(header.kind) {
            if self.peer().is_none() {
                return;
            }
            let ring = self.into.bulk;
            let policy = self
                .policy
                .get_or_insert_with(|| Box::new(SingleCopyPolicy::new(SINGLE_COPY_MIN, ring)));
            let bits = policy.took(header.len, single_copy, ticks());
            if bits != self.policy_sent {
                self.policy_sent = bits;
                self.into.policy().store(bits, Ordering::Relaxed);
            }
        }
    }
}
