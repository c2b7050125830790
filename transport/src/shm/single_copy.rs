//! Payloads that their reader fetches from where they lie: one copy by the kernel instead of two
//! through the ring.
//!
//! Guarantees: what is taken is the payload of that very message, or nothing. In the same system
//! call the reader reads a word that only this incarnation of the writer knows and has published,
//! unless the message was offered just now. Whether the kernel permits that is tried beforehand,
//! without a message. What the kernel refuses all the same goes through the ring, and from then on
//! everything of that writer does. A writer that wants its buffer back takes it back
//! ([`Writer::withdraw`]), unless its reader fetches it at this moment. One word, which both change
//! only from the value that they know, decides between them. A send that need not wait for its
//! receiver does not wait for it here either. A payload that was not announced is taken back after
//! some microseconds, and copied into the ring.

use super::direction::Direction;
use super::read::Reader;
use super::single_copy_policy::{SingleCopyPolicy, class_of};
use super::tuning::{OFFER_FRESH, SINGLE_COPY_MIN, SINGLE_COPY_PATIENCE, SINGLE_COPY_PAUSE_MAX};
use super::write::Writer;
use super::{KIND_SINGLE_COPY, ticks};
use ftmpi_wire::Header;
use ftmpi_wire::header::Kind;
use std::sync::atomic::{AtomicU64, Ordering};

/// What became of a payload, apart from its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub(super) enum Fate {
    /// It waits for its reader.
    Offered = 1,
    /// Its reader fetches it, or has.
    Taken = 2,
    /// The kernel does not permit the fetch.
    Refused = 3,
    /// Its writer wants it back.
    Withdrawn = 4,
}

impl Fate {
    /// The fate of the payload that was offered in this line.
    pub(super) fn of(self, line: u64) -> u64 {
        line << 3 | self as u64
    }
}

/// Changes the fate of the payload in a line; `false` if it was not `from`.
fn change(direction: Direction, line: u64, from: Fate, to: Fate) -> bool {
    direction
        .offer_state()
        .compare_exchange(from.of(line), to.of(line), Ordering::AcqRel, Ordering::Acquire)
        .is_ok()
}

/// A payload that is offered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offer {
    pub(super) line: u64,
    /// When it was offered and how long the offer stands, in ticks, if its send need not wait for
    /// its receiver.
    limit: Option<(u64, u64)>,
}

/// What a writer knows of single copies.
#[derive(Debug)]
pub(super) struct Offers {
    pub(super) enabled: bool,
    /// The peer cannot fetch our payloads.
    pub(super) refused: bool,
    /// The payload that is offered.
    pub(super) offer: Option<Offer>,
    /// Payloads that fit into the ring and are not offered, and how many they were the last time.
    skip: u32,
    pause: u32,
}

impl Offers {
    pub(super) fn new() -> Self {
        // (Elsewhere there are no `ticks`, by which the policy measures.)
        let enabled = cfg!(target_arch = "x86_64");
        Self { enabled, refused: false, offer: None, skip: 0, pause: 0 }
    }

    /// Nothing is offered any more.
    pub(super) fn disable(&mut self) {
        self.enabled = false;
    }

    /// The payload that is offered.
    #[inline]
    pub(super) fn current(&self) -> Option<Offer> {
        self.offer
    }

    /// Whether a payload is offered that goes through the ring if its reader does not come.
    pub(super) fn may_be_withdrawn(&self) -> bool {
        self.offer.as_ref().is_some_and(|offer| offer.limit.is_some())
    }

    /// Whether a message that could as well go through the ring is offered.
    #[inline]
    fn take_turn(&mut self) -> bool {
        let offers = self.skip == 0;
        self.skip = self.skip.saturating_sub(1);
        offers
    }

    /// The reader has fetched the payload.
    fn fetched(&mut self) {
        self.pause = 0;
    }

    /// The offer was taken back.
    fn withdrawn(&mut self, offer: Offer) {
        self.offer = None;
        if offer.limit.is_some() {
            self.pause = (self.pause * 2).clamp(1, SINGLE_COPY_PAUSE_MAX);
            self.skip = self.pause;
        }
    }
}

/// What a reader knows of single copies.
#[derive(Debug)]
pub(super) struct Fetches {
    pub(super) enabled: bool,
    /// How long payloads are wanted, once there was one, and what the writer knows of it.
    policy: Option<Box<SingleCopyPolicy>>,
    published: u64,
    /// The writer, if its payloads can be fetched, once that was tried.
    pub(super) source: Option<Option<Peer>>,
}

impl Fetches {
    pub(super) fn new() -> Self {
        let enabled = cfg!(target_arch = "x86_64");
        Self { enabled, policy: None, published: 0, source: None }
    }

    /// Nothing is fetched any more.
    pub(super) fn disable(&mut self) {
        self.enabled = false;
    }
}

/// Who a writer is, as it has published.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer {
    process: i32,
    /// Where its word is, and what it says.
    word_at: u64,
    pub(super) word: u64,
}

/// The word of this incarnation; 0 if it has none yet.
static WORD: AtomicU64 = AtomicU64::new(0);

/// This process begins from an image: the word in it is that of an earlier incarnation.
pub fn begin_incarnation() {
    WORD.store(0, Ordering::Relaxed);
}

/// The word of this incarnation, if the kernel has random numbers.
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

    /// Fetches `len` bytes from `payload` on; `false` if the kernel does not give them. `known`:
    /// the process is certainly the same.
    ///
    /// # Safety
    /// `to` is writable for `len` bytes.
    unsafe fn fetch(&self, payload: u64, to: *mut u8, len: usize, known: bool) -> bool {
        /// Bytes of one call: less than what the kernel does in one.
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

/// Publishes who this process is, so that the reader can try whether it may read there.
pub(super) fn introduce(out: Direction) {
    let Some(this) = Peer::this() else { return };
    let [process, at, word] = out.introduction();
    process.store(this.process as u64, Ordering::Relaxed);
    at.store(this.word_at, Ordering::Relaxed);
    word.store(this.word, Ordering::Release);
}

/// Who the writer is, if we may read the word that it has published.
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
    /// Its reader may come yet.
    Waits,
    /// It goes through the ring.
    Ring,
}

impl Writer {
    /// Whether the reader wants to fetch this frame: a message of the program.
    #[inline]
    pub(super) fn wants_single_copy(&mut self, header: &Header) -> bool {
        let may = header.len > SINGLE_COPY_MIN && self.offers.enabled && !self.offers.refused;
        if !may || !is_message(header.kind) {
            return false;
        }
        let policy = self.out.policy().load(Ordering::Relaxed);
        let wanted = policy >> class_of(SINGLE_COPY_MIN, header.len) & 1 == 1;
        wanted && (header.kind == Kind::Data || self.offers.take_turn())
    }

    /// Offers a payload. One line is free.
    #[inline(never)]
    pub(super) fn offer(&mut self, header: &Header, payload: *const u8) {
        // What the program has written past its caches is on its way for its own processor only.
        #[cfg(target_arch = "x86_64")]
        // SAFETY: always allowed.
        unsafe {
            std::arch::x86_64::_mm_sfence();
        }
        let now = ticks();
        // SAFETY: one line is ours, as the caller promises.
        unsafe {
            self.write_head(header);
            let line = self.out.line(self.written).cast::<u64>();
            line.add(4).write(payload.expose_provenance() as u64);
            line.add(5).write(now);
        }
        self.out.offer_state().store(Fate::Offered.of(self.written), Ordering::Relaxed);
        self.publish(self.written, KIND_SINGLE_COPY);
        let patience = SINGLE_COPY_PATIENCE + header.len / 2;
        let limit = (header.kind != Kind::Data).then_some((now, patience));
        self.offers.offer = Some(Offer { line: self.written, limit });
        self.written += 1;
    }

    /// What has become of the payload that is offered.
    pub(super) fn check_offer(&mut self, offer: Offer) -> OfferOutcome {
        self.learn_consumed();
        if self.consumed <= offer.line {
            let late = offer.limit.is_some_and(|(since, most)| ticks().wrapping_sub(since) > most);
            if !late || !self.withdraw() {
                return OfferOutcome::Waits;
            }
            return OfferOutcome::Ring;
        }
        self.offers.offer = None;
        if self.out.offer_state().load(Ordering::Acquire) == Fate::Taken.of(offer.line) {
            self.offers.fetched();
            return OfferOutcome::Fetched;
        }
        self.offers.refused = true;
        OfferOutcome::Ring
    }

    /// Takes back the payload of the frame that has begun: see
    /// [`Channel::withdraw`](super::Channel).
    pub(super) fn withdraw(&mut self) -> bool {
        let Some(offer) = self.offers.offer else { return true };
        let withdrawn = change(self.out, offer.line, Fate::Offered, Fate::Withdrawn);
        if withdrawn {
            self.offers.withdrawn(offer);
        }
        withdrawn
    }
}

impl<T: Copy> Reader<T> {
    /// Fetches the payload that was offered in the line that was just read; `false`: it comes
    /// through the ring.
    ///
    /// # Safety
    /// `line` is that line, `at` is writable for `len` bytes.
    pub(super) unsafe fn fetch_offer(&mut self, line: *const u64, at: *mut u8, len: usize) -> bool {
        let position = self.read - 1;
        if !change(self.into, position, Fate::Offered, Fate::Taken) {
            return false;
        }
        // SAFETY: the line is ours until we publish that it is consumed.
        let (payload, since) = unsafe { (line.add(4).read(), line.add(5).read()) };
        let known = ticks().wrapping_sub(since) < OFFER_FRESH;
        // SAFETY: by the caller.
        let fetched =
            self.source().is_some_and(|peer| unsafe { peer.fetch(payload, at, len, known) });
        if !fetched {
            self.into.offer_state().store(Fate::Refused.of(position), Ordering::Release);
        }
        fetched
    }

    /// The writer, if its payloads can be fetched; this is tried once.
    pub(super) fn source(&mut self) -> Option<Peer> {
        let into = self.into;
        *self.fetches.source.get_or_insert_with(|| may_fetch(into))
    }

    /// A long payload has come: publishes how such payloads are wanted.
    pub(super) fn note_received(&mut self, header: &Header, single_copy: bool) {
        if !self.fetches.enabled || !is_message(header.kind) || self.source().is_none() {
            return;
        }
        let ring = self.into.bulk;
        let policy = self
            .fetches
            .policy
            .get_or_insert_with(|| Box::new(SingleCopyPolicy::new(SINGLE_COPY_MIN, ring)));
        let bits = policy.took(header.len, single_copy, ticks());
        if bits != self.fetches.published {
            self.fetches.published = bits;
            self.into.policy().store(bits, Ordering::Relaxed);
        }
    }
}
