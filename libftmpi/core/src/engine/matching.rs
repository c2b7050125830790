//! Matching of receives and messages (MPI-4 §3.5), by hash of (context, source, tag).
//!
//! Guarantees: the non-overtaking rule; constant time for receives without wildcards, however many
//! others wait. In a replay, a receive that is pinned to a recorded message takes only that
//! message. A held receive takes nothing, and keeps from later receives what it would take.

use super::request::{Envelope, Source, Tag};
use super::slots::Slots;
use super::tuning::BINS;
use crate::ids::{MessageId, ReqId};
use ftmpi_protocols::protocol::Pin;
use ftmpi_wire::header::FLAG_SYNC;
use ftmpi_wire::{Header, Rank, Ssn};

const NIL: u32 = u32::MAX;

/// A posted receive.
#[derive(Debug, Clone)]
pub(super) struct Posted {
    pub request: ReqId,
    pub context: u32,
    pub source: Source,
    pub tag: Tag,
    /// Number of the receive, if the protocol asks for it; else 0.
    pub post: u64,
    pub pin: Pin,
    order: u64,
    next: u32,
    previous: u32,
}

/// What an unexpected message is.
#[derive(Debug)]
pub(super) enum Body {
    /// All of it is here.
    Whole(Vec<u8>),
    /// It is landing here.
    Landing(Vec<u8>),
    /// Announced by a request-to-send, or its landing was broken off.
    Announced,
}

/// An unexpected message.
#[derive(Debug)]
pub(super) struct Message {
    pub source: Rank,
    pub context: u32,
    pub tag: i32,
    pub ssn: Ssn,
    pub bytes: u64,
    pub sync: bool,
    pub body: Body,
    /// The receive that took it while it was landing.
    pub claimed: Option<ReqId>,
    /// The how many-th message that no receive took at once.
    number: u64,
    linked: bool,
    next: u32,
    previous: u32,
    all_next: u32,
    all_previous: u32,
}

impl Message {
    pub fn envelope(&self) -> Envelope {
        Envelope { source: self.source, tag: self.tag, bytes: self.bytes, ssn: self.ssn }
    }
}

/// First and last of a doubly linked list.
#[derive(Debug, Clone, Copy)]
struct List {
    first: u32,
    last: u32,
}

impl List {
    const EMPTY: Self = Self { first: NIL, last: NIL };
}

/// The two queues of MPI.
#[derive(Debug)]
pub(super) struct Matcher {
    posted: Slots<Posted>,
    exact: Box<[List; BINS]>,
    wild: List,
    order: u64,
    /// Receives that are posted.
    count: usize,
    held: usize,
    messages: Slots<Message>,
    bins: Box<[List; BINS]>,
    all: List,
    waiting: usize,
    kept: u64,
}

fn bin(context: u32, source: Rank, tag: i32) -> usize {
    let key = (u64::from(context) << 40) ^ (u64::from(source.0) << 24) ^ u64::from(tag as u32);
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as usize % BINS
}

impl Posted {
    /// Whether the envelope fits, pins aside.
    fn fits(&self, source: Rank, context: u32, tag: i32) -> bool {
        self.context == context
            && match self.source {
                Source::Any => true,
                Source::Rank(rank) => rank == source,
            }
            && match self.tag {
                Tag::Any => true,
                Tag::Is(t) => t == tag,
            }
    }

    fn bin(&self) -> Option<usize> {
        match (self.source, self.tag, self.pin) {
            (Source::Rank(source), Tag::Is(tag), Pin::Free) => Some(bin(self.context, source, tag)),
            _ => None,
        }
    }
}

impl Matcher {
    pub fn new() -> Self {
        Self {
            posted: Slots::new(),
            exact: Box::new([List::EMPTY; BINS]),
            wild: List::EMPTY,
            order: 0,
            count: 0,
            held: 0,
            messages: Slots::new(),
            bins: Box::new([List::EMPTY; BINS]),
            all: List::EMPTY,
            waiting: 0,
            kept: 0,
        }
    }

    /// Nothing is posted, nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0 && self.waiting == 0
    }

    /// Posts a receive that found no message; returns its node.
    pub fn post(
        &mut self,
        request: ReqId,
        context: u32,
        source: Source,
        tag: Tag,
        post: u64,
        pin: Pin,
    ) -> u32 {
        self.order += 1;
        self.count += 1;
        self.held += usize::from(pin == Pin::Held);
        let entry = Posted {
            request,
            context,
            source,
            tag,
            post,
            pin,
            order: self.order,
            next: NIL,
            previous: NIL,
        };
        let bin_index = entry.bin();
        let at = self.posted.insert(entry);
        let list = match bin_index {
            Some(bin) => &mut self.exact[bin],
            None => &mut self.wild,
        };
        self.posted.get_mut(at).previous = list.last;
        if list.last == NIL {
            list.first = at;
        } else {
            self.posted.get_mut(list.last).next = at;
        }
        list.last = at;
        at
    }

    /// Whether a receive is posted.
    #[inline]
    pub fn has_posted(&self) -> bool {
        self.count > 0
    }

    /// Takes a posted receive out.
    pub fn unpost(&mut self, at: u32) -> Posted {
        let entry = self.posted.get(at).clone();
        let list = match entry.bin() {
            Some(bin) => &mut self.exact[bin],
            None => &mut self.wild,
        };
        match entry.previous {
            NIL => list.first = entry.next,
            previous => self.posted.get_mut(previous).next = entry.next,
        }
        match entry.next {
            NIL => list.last = entry.previous,
            next => self.posted.get_mut(next).previous = entry.previous,
        }
        self.held -= usize::from(entry.pin == Pin::Held);
        self.count -= 1;
        self.posted.remove(at)
    }

    /// Number of a posted receive.
    pub fn number_of(&self, at: u32) -> u64 {
        self.posted.get(at).post
    }

    /// The receive that takes a message which has come; it is taken out.
    pub fn arrive(&mut self, source: Rank, context: u32, tag: i32, ssn: Ssn) -> Option<Posted> {
        self.taker(source, context, tag, ssn).map(|at| self.unpost(at))
    }

    /// The posted receive that takes such a message.
    pub fn taker(&self, source: Rank, context: u32, tag: i32, ssn: Ssn) -> Option<u32> {
        let mut exact = self.exact[bin(context, source, tag)].first;
        while exact != NIL && !self.posted.get(exact).fits(source, context, tag) {
            exact = self.posted.get(exact).next;
        }
        let limit = if exact == NIL { u64::MAX } else { self.posted.get(exact).order };
        let mut wild = self.wild.first;
        while wild != NIL {
            let entry = self.posted.get(wild);
            if entry.order > limit {
                break;
            }
            if entry.fits(source, context, tag) {
                match entry.pin {
                    Pin::Free => return Some(wild),
                    Pin::To(s, n) if s == source && n == ssn => return Some(wild),
                    Pin::To(..) => {}
                    Pin::Held => return None,
                }
            }
            wild = entry.next;
        }
        if exact == NIL { None } else { Some(exact) }
    }

    /// Whether an earlier held receive would take it.
    fn is_held(&self, message: &Message) -> bool {
        if self.held == 0 {
            return false;
        }
        let mut at = self.wild.first;
        while at != NIL {
            let entry = self.posted.get(at);
            if entry.pin == Pin::Held && entry.fits(message.source, message.context, message.tag) {
                return true;
            }
            at = entry.next;
        }
        false
    }

    /// The first waiting message that such a receive takes, still in place.
    pub fn find(&self, context: u32, source: Source, tag: Tag, pin: Pin) -> Option<MessageId> {
        if self.waiting == 0 || pin == Pin::Held {
            return None;
        }
        if let (Source::Rank(source), Tag::Is(tag)) = (source, tag) {
            let mut at = self.bins[bin(context, source, tag)].first;
            while at != NIL {
                let m = self.messages.get(at);
                if m.source == source && m.context == context && m.tag == tag {
                    if self.is_held(m) {
                        return None;
                    }
                    return Some(MessageId(at));
                }
                at = m.next;
            }
            return None;
        }
        let mut at = self.all.first;
        while at != NIL {
            let m = self.messages.get(at);
            let fits = m.context == context
                && (source == Source::Any || source == Source::Rank(m.source))
                && (tag == Tag::Any || tag == Tag::Is(m.tag))
                && match pin {
                    Pin::To(s, n) => m.source == s && m.ssn == n,
                    _ => !self.is_held(m),
                };
            if fits {
                return Some(MessageId(at));
            }
            at = m.all_next;
        }
        None
    }

    /// The message with this identity, if it waits unmatched.
    pub fn find_identity(&self, source: Rank, ssn: Ssn) -> Option<MessageId> {
        let mut at = self.all.first;
        while at != NIL {
            let m = self.messages.get(at);
            if m.source == source && m.ssn == ssn {
                return Some(MessageId(at));
            }
            at = m.all_next;
        }
        None
    }

    /// Whether no receive has taken the message with this identity; a matched probe may have it.
    pub fn is_unreceived(&self, source: Rank, ssn: Ssn) -> bool {
        let mut messages = self.messages.iter();
        messages.any(|m| m.source == source && m.ssn == ssn && m.claimed.is_none())
    }

    /// A message of `bytes` bytes that no receive takes yet.
    pub fn keep(&mut self, source: Rank, header: &Header, bytes: u64, body: Body) -> MessageId {
        let Header { context, tag, ssn, flags, .. } = *header;
        let bin_index = bin(context, source, tag);
        self.kept += 1;
        let at = self.messages.insert(Message {
            source,
            context,
            tag,
            ssn,
            bytes,
            sync: flags & FLAG_SYNC != 0,
            body,
            claimed: None,
            number: self.kept,
            linked: true,
            next: NIL,
            previous: self.bins[bin_index].last,
            all_next: NIL,
            all_previous: self.all.last,
        });
        match self.bins[bin_index].last {
            NIL => self.bins[bin_index].first = at,
            last => self.messages.get_mut(last).next = at,
        }
        self.bins[bin_index].last = at;
        match self.all.last {
            NIL => self.all.first = at,
            last => self.messages.get_mut(last).all_next = at,
        }
        self.all.last = at;
        self.waiting += 1;
        MessageId(at)
    }

    /// Takes a message out of matching; it stays alive (landing, or for a matched probe).
    pub fn unlink(&mut self, id: MessageId) {
        let (bin_index, next, previous, all_next, all_previous) = {
            let m = self.messages.get_mut(id.0);
            if !std::mem::take(&mut m.linked) {
                return;
            }
            (bin(m.context, m.source, m.tag), m.next, m.previous, m.all_next, m.all_previous)
        };
        match previous {
            NIL => self.bins[bin_index].first = next,
            p => self.messages.get_mut(p).next = next,
        }
        match next {
            NIL => self.bins[bin_index].last = previous,
            n => self.messages.get_mut(n).previous = previous,
        }
        match all_previous {
            NIL => self.all.first = all_next,
            p => self.messages.get_mut(p).all_next = all_next,
        }
        match all_next {
            NIL => self.all.last = all_previous,
            n => self.messages.get_mut(n).all_previous = all_previous,
        }
        self.waiting -= 1;
    }

    /// Whether receives can find the message.
    pub fn is_linked(&self, id: MessageId) -> bool {
        self.messages.get(id.0).linked
    }

    /// Ends a message.
    pub fn remove(&mut self, id: MessageId) -> Message {
        self.unlink(id);
        self.messages.remove(id.0)
    }

    pub fn message(&self, id: MessageId) -> &Message {
        self.messages.get(id.0)
    }

    pub fn message_mut(&mut self, id: MessageId) -> &mut Message {
        self.messages.get_mut(id.0)
    }

    /// The posted receive of this node.
    pub fn posted_at(&self, at: u32) -> &Posted {
        self.posted.get(at)
    }

    /// Nodes of all posted receives, in the order in which they were posted.
    pub fn posted(&self) -> Vec<u32> {
        let mut nodes = self.posted.keys();
        nodes.sort_by_key(|&at| self.posted.get(at).order);
        nodes
    }

    /// Gives every posted receive a new pin, each at its place in the order.
    pub fn repin(&mut self, mut pin: impl FnMut(&Posted) -> Pin) {
        let nodes = self.posted();
        *self.exact = [List::EMPTY; BINS];
        self.wild = List::EMPTY;
        self.held = 0;
        for node in nodes {
            let pin = pin(self.posted.get(node));
            self.held += usize::from(pin == Pin::Held);
            self.posted.get_mut(node).pin = pin;
            let list = match self.posted.get(node).bin() {
                Some(bin) => &mut self.exact[bin],
                None => &mut self.wild,
            };
            let last = std::mem::replace(&mut list.last, node);
            if last == NIL {
                list.first = node;
            } else {
                self.posted.get_mut(last).next = node;
            }
            let entry = self.posted.get_mut(node);
            (entry.previous, entry.next) = (last, NIL);
        }
    }

    /// The number of the last message that was kept.
    #[inline]
    pub fn kept(&self) -> u64 {
        self.kept
    }

    /// The waiting messages behind this number, in the order in which they came.
    pub fn waiting_behind(&self, number: u64) -> Vec<MessageId> {
        let mut out = Vec::new();
        let mut at = self.all.last;
        while at != NIL && self.messages.get(at).number > number {
            out.push(MessageId(at));
            at = self.messages.get(at).all_previous;
        }
        out.reverse();
        out
    }

    /// All waiting messages, in the order in which they came.
    pub fn waiting(&self) -> Vec<MessageId> {
        let mut out = Vec::with_capacity(self.waiting);
        let mut at = self.all.first;
        while at != NIL {
            out.push(MessageId(at));
            at = self.messages.get(at).all_next;
        }
        out
    }
}
