//! The shortest way in: a receive of bytes from a named rank takes its message straight from the
//! channel, without a queue. The condition is that nothing else is posted or waits.
//!
//! A blocking receive waits there for a moment; one that does not block takes what has come
//! already. So a program that posts many receives of a stream takes its messages while it posts,
//! and not all of them at the end.
//!
//! Guarantees: it takes only what the ordinary way would have given to this very receive, and the
//! protocol learns the same. That is the next frame of that rank, whole, not a duplicate, and
//! nothing that is awaited or held. In every other case the ordinary way is taken.

use super::Engine;
use super::link::{DirectReceive, Exact, Link};
use super::request::{Completion, RecvData, Source, Tag};
use super::state::State;
use super::tuning::{DIRECT_LOOKS, DIRECT_TURNS};
use crate::ids::ReqId;
use ftmpi_protocols::protocol::Pin;
use ftmpi_wire::{Header, Rank};

/// What became of a receive that does not block.
#[derive(Debug, Clone, Copy)]
pub enum Receipt {
    /// Its message was there. (In another incarnation it may not be.)
    Came(Completion),
    /// It is posted.
    Posted(ReqId),
}

impl State {
    /// Whether nothing is in the way, receives and messages aside.
    #[inline]
    fn is_open(&self, from: Rank) -> bool {
        self.waves.are_open()
            && !self.hooks.memory
            && !self.waves.are_holding()
            && !self.landings.await_any()
            && !self.recovery.is_fetching()
            && self.channels.peer(from).phase.is_ready()
            && !(self.hooks.arrivals && self.protocol.refuses(from))
    }

    /// Whether nothing is in the way.
    #[inline]
    fn may_receive_directly(&self, from: Rank) -> bool {
        self.matcher.is_empty() && self.is_open(from)
    }
}

#[inline]
fn wanted(tag: Tag) -> Option<i32> {
    match tag {
        Tag::Is(tag) => Some(tag),
        Tag::Any => None,
    }
}

impl<L: Link> Engine<L> {
    /// `MPI_Recv`: posts a receive and waits for it.
    #[inline]
    pub fn recv(&mut self, into: RecvData, from: Source, context: u32, tag: Tag) -> Completion {
        let (post, pin) = self.state.number_post(from, context, tag);
        if pin == Pin::Free
            && let (RecvData::Bytes { ptr, len }, Source::Rank(rank)) = (&into, from)
            && self.state.may_receive_directly(rank)
            && !self.state.has_work()
        {
            let (into, capacity) = (*ptr, *len);
            let direct = DirectReceive {
                from: rank,
                context,
                tag: wanted(tag),
                into,
                capacity,
                blocks: true,
            };
            let (mut looks, mut turns) = (DIRECT_LOOKS * (self.link.looks() - 1), DIRECT_TURNS);
            loop {
                let received = &self.state.channels.peer(rank).received;
                match self.link.take_exact(&direct, |ssn| !received.contains(ssn)) {
                    Exact::Nothing => {}
                    Exact::Other => break,
                    Exact::Took(header) => return self.came_directly(rank, &header, post),
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
        if !state.rendezvous.is_empty() || self.tasks.any() || !self.windows.is_empty() {
            return false;
        }
        state.protocol.flush();
        state.commands_to_queues();
        !self.state.has_work() && self.link.give_turn()
    }

    /// `MPI_Irecv`, as a request in any case.
    pub fn irecv(&mut self, into: RecvData, from: Source, context: u32, tag: Tag) -> ReqId {
        match self.irecv_or_take(into, from, context, tag) {
            Receipt::Posted(request) => request,
            Receipt::Came(completion) => self.state.new_received(from, completion),
        }
    }

    /// `MPI_Cancel` of a receive that was complete at once. In another incarnation it may not be:
    /// what is recorded of it is what would be recorded of any other.
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
        context: u32,
        tag: Tag,
    ) -> Receipt {
        let (post, pin) = self.state.number_post(from, context, tag);
        if pin == Pin::Free
            && let (RecvData::Bytes { ptr, len }, Source::Rank(rank)) = (&into, from)
            && !self.state.has_work()
            && self.state.is_open(rank)
        {
            // Receives that were posted before take what has come for them. A message that nobody
            // waits for is not taken here: it would have to be stored.
            let mut is_open = true;
            if self.state.matcher.has_posted() {
                self.link.take_expected(&mut self.state, rank);
                is_open = self.state.is_open(rank) && !self.state.has_work();
            }
            if is_open && self.state.matcher.is_empty() {
                let (into, capacity, tag) = (*ptr, *len, wanted(tag));
                let direct =
                    DirectReceive { from: rank, context, tag, into, capacity, blocks: false };
                let received = &self.state.channels.peer(rank).received;
                let came = self.link.take_exact(&direct, |ssn| !received.contains(ssn));
                if let Exact::Took(header) = came {
                    return Receipt::Came(self.came_directly(rank, &header, post));
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
    fn came_directly(&mut self, from: Rank, header: &Header, post: u64) -> Completion {
        let state = &mut self.state;
        if state.hooks.arrivals {
            // What the protocol refuses does not come this way.
            state.protocol.on_arrival(from, header.ssn);
        }
        if state.tracks() {
            state.channels.peer_mut(from).received.insert(header.ssn);
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
