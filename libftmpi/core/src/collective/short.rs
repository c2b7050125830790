//! The executor of short blocking operations: every step is carried out at once.
//!
//! Guarantees: an operation allocates nothing once its lists have grown; the messages are those of
//! a [`Plan`](super::Plan) for the same call. What is sent leaves before anything is waited for, so
//! that a receive can take its message straight from the channel.
//!
//! Which calls are short says `mpi::short_collectives`.

use super::data::{Operands, Piece};
use super::plan::tag_of_step;
use super::pool::{Pool, ShortLists, address_of};
use super::step::Awaited;
use super::steps::Steps;
use crate::engine::{Engine, Link, SendMode, Source, Tag};
use crate::error::ErrorClass;
use crate::group::Group;
use crate::usermem::UserPtr;
use ftmpi_wire::Rank;

/// One collective of a communicator: its ranks, and where its messages belong.
#[derive(Clone, Copy)]
pub struct CollectiveCall<'a> {
    /// The ranks of the communicator.
    pub ranks: &'a Group,
    /// This rank among them.
    pub me: usize,
    /// How many there are.
    pub size: usize,
    /// Context of collectives.
    pub context: u32,
    /// Tag of the operation.
    pub tag: i32,
    /// Ranks of the communicator are those of the world.
    pub same_as_world: bool,
    /// See [`Steps::prefers_direct`].
    pub direct: bool,
}

/// An operation that is carried out while its algorithm runs.
pub struct Short<'a, L: Link> {
    engine: &'a mut Engine<L>,
    pool: &'a mut Pool,
    call: CollectiveCall<'a>,
    lists: ShortLists,
    error: Option<ErrorClass>,
}

impl<'a, L: Link> Short<'a, L> {
    /// Begins an operation.
    #[inline]
    pub fn new(engine: &'a mut Engine<L>, pool: &'a mut Pool, call: CollectiveCall<'a>) -> Self {
        let lists = pool.take_short_lists();
        Self { engine, pool, call, lists, error: None }
    }

    #[inline]
    fn world(&self, rank: usize) -> Rank {
        if self.call.same_as_world {
            return Rank(rank as u32);
        }
        self.call.ranks.world(rank as u32).expect("an algorithm names ranks of its group only")
    }

    /// Ends the operation; returns its first error.
    #[inline]
    pub fn finish(mut self) -> Option<ErrorClass> {
        self.fence();
        while let Some(scratch) = self.lists.scratch.pop() {
            self.pool.give_back(scratch);
        }
        self.pool.give_back_short_lists(self.lists);
        self.error
    }
}

impl<L: Link> Steps for Short<'_, L> {
    #[inline]
    fn me(&self) -> usize {
        self.call.me
    }

    #[inline]
    fn size(&self) -> usize {
        self.call.size
    }

    /// False for many ranks: on short messages the difference has no effect.
    #[inline]
    fn is_oversubscribed(&self) -> bool {
        self.call.direct
    }

    #[inline]
    fn prefers_direct(&self) -> bool {
        self.call.direct
    }

    #[inline]
    fn send(&mut self, data: Piece, to: usize, step: usize) {
        let (to, tag) = (self.world(to), tag_of_step(self.call.tag, step));
        let context = self.call.context;
        let sent = self.engine.isend(data.to_send(), to, context, tag, SendMode::Standard);
        if let Some(request) = sent {
            self.lists.sends.push(request);
        }
    }

    #[inline]
    fn recv(&mut self, into: Piece, from: usize, step: usize) {
        let (from, tag) = (self.world(from), tag_of_step(self.call.tag, step));
        self.lists.awaited.push(Awaited { from, tag, into });
    }

    #[inline]
    fn fence(&mut self) {
        for Awaited { from, tag, into } in self.lists.awaited.drain(..) {
            let (from, tag) = (Source::Rank(from), Tag::Is(tag));
            let done = self.engine.recv(into.to_receive(), from, self.call.context, tag);
            self.error = self.error.or(done.error);
        }
        for request in self.lists.sends.drain(..) {
            let done = self.engine.wait(request);
            self.error = self.error.or(done.error);
        }
    }

    #[inline]
    fn copy(&mut self, from: Piece, to: Piece) {
        if (from.at != to.at || from.datatype.is_some()) && !from.copy_to(&to) {
            self.error = self.error.or(Some(ErrorClass::Truncate));
        }
    }

    #[inline]
    fn reduce(&mut self, what: Operands<'_>, count: usize, input: UserPtr, inout: UserPtr) {
        if count > 0
            && let Err(error) = what.op.apply(input, inout, count, what.datatype)
        {
            self.error = self.error.or(Some(error.class));
        }
    }

    #[inline]
    fn scratch(&mut self, len: usize) -> UserPtr {
        let mut scratch = self.pool.take(len);
        let at = address_of(&mut scratch);
        self.lists.scratch.push(scratch);
        at
    }
}
