//! The shortest way in: a receive of bytes from a named rank that comes while nothing else is posted or waits
//! takes its message straight from the channel, without a queue. A blocking one waits there for a moment; one
//! that does not block takes what has come already. So a program that posts many receives of a stream takes its
//! messages while it posts, and not all of them at the end.
//!
//! Guarantees: it takes only what the ordinary way would have given to this very receive (the next
//! frame of that rank, whole, not a duplicate, nothing that is awaited or held), and the protocol is
//! told the same. In every other case the ordinary way is taken.

use super::request::{Completion, RecvData, Source, Tag};
use super::{ChannelPhase, Engine, Link, State};
use crate::ids::ReqId;
use ftmpi_protocols::protocol::Pin;
use ftmpi_wire::{Header, Rank};

/// Looks at the channel before the receive is posted after all, for each of [`Link::looks`] but one: where
/// processors are not scarce about two microseconds in all, where they are one look.
const LOOKS: u32 = 4;

/// Turns that others have then, where processors are scarce, before the receive is posted. What is done on the
/// way to an ordinary rest takes longer than a turn of somebody who waits as well.
const TURNS: u32 = 2;

/// What [`Link::take_exact`] found.
#[derive(Debug, Clone, Copy)]
pub enum Exact {
    /// Nothing has come.
    Nothing,
    /// Something else is next, or this link cannot tell.
    Other,
    /// The message, which is in its place now.
    Took(Header),
}

/// What became of a receive that does not block.
#[derive(Debug, Clone, Copy)]
pub enum Receipt {
    /// Its message was there. (In another life it may not be.)
    Came(Completion),
    /// It is posted.
    Posted(ReqId),
}

impl State {
    /// Is nothing in the way, receives and messages aside?
    #[inline]
    fn is_open(&self, from: Rank) -> bool {
        self.short_way
            && !self.hooks.memory
            && self.waves.holding == 0
            && self.awaited.is_empty()
            && self.fetch.is_none()
            && self.peers[from.index()].phase == ChannelPhase::Ready
            && !(self.hooks.arrivals && self.protocol.refuses(from))
    }

    /// Is nothing in the way?
    #[inline]
    fn may_express(&self, from: Rank) -> bool {
        self.matcher.is_empty() && self.is_open(from)
    }
}

impl<L: Link> Engine<L> {
    /// `MPI_Recv`: posts a receive and waits for it.
    #[inline]
    pub fn recv(&mut self, into: RecvData, from: Source, context: u16, tag: Tag) -> Completion {
        let (post, pin) = self.state.number_post(from);
        if pin == Pin::Free
            && let (RecvData::Bytes { ptr, len }, Source::Rank(rank)) = (&into, from)
            && self.state.may_express(rank)
            && !self.state.has_work()
        {
            let (ptr, len) = (*ptr, *len);
            let wanted = match tag {
                Tag::Is(tag) => Some(tag),
                Tag::Any => None,
            };
            let (mut looks, mut turns) = (LOOKS * (self.link.looks() - 1), TURNS);
            loop {
                let received = &self.state.peers[rank.index()].received;
                match self.link.take_exact(rank, context, wanted, ptr, len, true, |ssn| {
                    !received.contains(ssn)
                }) {
                    Exact::Nothing => {}
                    Exact::Other => break,
                    Exact::Took(header) => return self.express_came(rank, &header, post),
                }
                if looks > 0 {
                    std::hint::spin_loop();
                    looks -= 1;
                } else if turns > 0 && self.may_give_turn() {
                    turns -= 1;
                } else {
                    break;
                }
            }
        }
        let request = self.state.post_numbered(into, from, context, tag, post, pin);
        if self.state.has_work() {
            self.work();
        }
        self.wait(request)
    }

    /// Gives others a turn, if nobody may wait for something else that this rank has to do.
    #[cold]
    fn may_give_turn(&mut self) -> bool {
        let state = &mut self.state;
        let nothing_pends = state.pending.is_empty() && state.unacknowledged.is_empty();
        if !nothing_pends || self.tasks.any() || !self.windows.is_empty() {
            return false;
        }
        state.protocol.flush();
        state.commands_to_queues();
        !self.state.has_work() && self.link.give_turn()
    }

    /// `MPI_Irecv`, as a request in any case.
    pub fn irecv(&mut self, into: RecvData, from: Source, context: u16, tag: Tag) -> ReqId {
        match self.irecv_or_take(into, from, context, tag) {
            Receipt::Posted(request) => request,
            Receipt::Came(completion) => self.state.new_received(from, completion),
        }
    }

    /// `MPI_Cancel` of a receive that was complete at once. In another life it may not be: what is recorded of it
    /// is what would be of any other.
    pub fn cancel_too_late(&mut self) {
        let none =
            Completion { source: self.state.me, tag: 0, bytes: 0, cancelled: false, error: None };
        let request = self.state.new_received(Source::Any, none);
        self.cancel(request);
        self.finish(request);
    }

    /// `MPI_Irecv`: posts a receive, unless its message is there.
    #[inline]
    pub fn irecv_or_take(
        &mut self,
        into: RecvData,
        from: Source,
        context: u16,
        tag: Tag,
    ) -> Receipt {
        let (post, pin) = self.state.number_post(from);
        if pin == Pin::Free
            && let (RecvData::Bytes { ptr, len }, Source::Rank(rank)) = (&into, from)
            && !self.state.has_work()
            && self.state.is_open(rank)
        {
            // What was posted before takes what has come for it; nothing is taken here that nobody waits for,
            // which would have to be stored.
            let mut is_open = true;
            if self.state.matcher.has_posted() {
                self.link.take_expected(&mut self.state, rank);
                is_open = self.state.is_open(rank) && !self.state.has_work();
            }
            if is_open && self.state.matcher.is_empty() {
                let wanted = match tag {
                    Tag::Is(tag) => Some(tag),
                    Tag::Any => None,
                };
                let received = &self.state.peers[rank.index()].received;
                let came = self.link.take_exact(rank, context, wanted, *ptr, *len, false, |ssn| {
                    !received.contains(ssn)
                });
                if let Exact::Took(header) = came {
                    return Receipt::Came(self.express_came(rank, &header, post));
                }
            }
        }
        let request = self.state.post_numbered(into, from, context, tag, post, pin);
        if self.state.has_work() {
            self.work();
        }
        Receipt::Posted(request)
    }

    // A call of its own would take a twentieth of all instructions of a receive.
    #[inline(always)]
    fn express_came(&mut self, from: Rank, header: &Header, post: u64) -> Completion {
        let state = &mut self.state;
        if state.hooks.arrivals {
            // Whoever is refused does not come this way.
            state.protocol.on_arrival(from, header.ssn);
        }
        if state.tracks() {
            state.peers[from.index()].received.insert(header.ssn);
        }
        state.record_match(Source::Rank(from), post, from, header.ssn);
        state.counters.messages_received += 1;
        state.counters.bytes_received += header.len;
        if !self.came_from(from) && self.state.has_work() {
            self.work();
        }
        Completion {
            source: from,
            tag: header.tag,
            bytes: header.len,
            cancelled: false,
            error: None,
        }
    }
}
