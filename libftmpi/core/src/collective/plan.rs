//! Writing a schedule down.
//!
//! Guarantees: every rank of the communicator writes its part of the same plan, from arguments that
//! MPI demands to agree (sizes in bytes, root, operation); messages to one receiver are reserved in
//! the order in which the plan names them.

use super::CROWD_MAX;
use super::data::{Elements, Piece, TypeRef};
use super::pool::{Pool, lend};
use super::schedule::{Carrier, Schedule, Step};
use crate::error::Result;
use crate::group::Group;

use crate::op::Op;
use crate::usermem::{Scratch, UserPtr};
use ftmpi_wire::Rank;

/// Bits of a tag that number messages within one operation.
const STEP_BITS: u32 = 12;

/// What tells the collectives of a communicator apart.
const NUMBER_BITS: u32 = 18;

/// The tag of everything that belongs to the `sequence`-th collective of a communicator.
#[must_use]
pub fn tag_of(sequence: u32) -> i32 {
    ((sequence & ((1 << NUMBER_BITS) - 1)) << STEP_BITS) as i32
}

/// The tag of every round of the persistent collective that was the `number`-th to be made on a communicator: ranks
/// make them in the same order, but each starts them in an order of its own (MPI-4.0, 6.13).
#[must_use]
pub fn persistent_tag_of(number: u32) -> i32 {
    tag_of(number) | (1 << (NUMBER_BITS + STEP_BITS))
}

/// Whether these ranks are on one host, as far as that is known.
pub(crate) fn share_a_host(ranks: &Group, host_of: &[u32]) -> bool {
    let mut hosts = ranks.iter().map(|rank| host_of.get(rank.index()));
    let first = hosts.next().flatten();
    first.is_some() && hosts.all(|host| host == first)
}

/// A schedule being written.
pub struct Plan<'a, C: Carrier> {
    carrier: &'a mut C,
    pool: &'a mut Pool,
    ranks: &'a Group,
    /// This rank among `ranks`; on the remote side of an intercommunicator there is none.
    pub me: usize,
    /// How many ranks.
    pub size: usize,
    context: u16,
    tag: i32,
    /// Host of each rank of the world, where ranks outnumber processors.
    crowd: Option<&'a [u32]>,
    steps: Vec<Step>,
    scratch: Vec<Scratch>,
}

impl<'a, C: Carrier> Plan<'a, C> {
    /// A plan among `ranks`, of which this is number `me`.
    pub fn new(
        carrier: &'a mut C,
        pool: &'a mut Pool,
        ranks: &'a Group,
        me: u32,
        context: u16,
        tag: i32,
    ) -> Self {
        let (steps, scratch) = pool.take_lists();
        let size = ranks.len() as usize;
        let me = me as usize;
        Self { carrier, pool, ranks, me, size, context, tag, crowd: None, steps, scratch }
    }

    /// Tells that ranks outnumber processors, and on which host each rank of the world is, if it is so. All
    /// ranks must be told the same, in all their lives.
    #[must_use]
    pub fn in_crowd(self, crowd: Option<&'a [u32]>) -> Self {
        Self { crowd, ..self }
    }

    /// Whether the ranks share a host, and its processors with one another. What costs is then not how much
    /// one of them does, nor when, but how often one must wait for another, which runs in its place.
    #[must_use]
    pub fn is_crowded(&self) -> bool {
        self.crowd.is_some_and(|host_of| share_a_host(self.ranks, host_of))
    }

    /// The same, of so few ranks that each may talk to all.
    #[must_use]
    pub fn is_small_crowd(&self) -> bool {
        self.size <= CROWD_MAX && self.is_crowded()
    }

    /// From here on, ranks are those of `ranks`, of which this is number `me` (if at all).
    pub fn turn_to(&mut self, ranks: &'a Group, me: u32) {
        self.ranks = ranks;
        self.size = ranks.len() as usize;
        self.me = me as usize;
    }

    /// Sends `data` to rank `to`, as message number `step` of the operation.
    pub fn send(&mut self, data: Piece, to: usize, step: usize) {
        let to = self.world(to);
        let ssn = self.carrier.reserve(to);
        self.steps.push(Step::Send { ssn, to, tag: self.tag_at(step), data });
    }

    /// Receives message number `step` of the operation from rank `from`.
    pub fn recv(&mut self, into: Piece, from: usize, step: usize) {
        let from = self.world(from);
        self.steps.push(Step::Recv { from, tag: self.tag_at(step), into });
    }

    fn world(&self, rank: usize) -> Rank {
        self.ranks.world(rank as u32).expect("a plan names ranks of its group only")
    }

    fn tag_at(&self, step: usize) -> i32 {
        self.tag | (step & ((1 << STEP_BITS) - 1)) as i32
    }

    /// Waits for everything above.
    pub fn fence(&mut self) {
        self.steps.push(Step::Fence);
    }

    /// Goes on only if `verdict` says of the `ranks` words of `mine`'s length that have come to `all` that all call
    /// what this rank does.
    pub fn compare(&mut self, verdict: fn(&[u8], &[u8]) -> Result<()>, mine: &[u8], all: UserPtr) {
        self.fence();
        self.steps.push(Step::Compare { verdict, mine: mine.into(), all, ranks: self.size });
    }

    /// From here on, messages belong to another collective operation of the communicator.
    pub fn turn_to_tag(&mut self, tag: i32) {
        self.tag = tag;
    }

    /// Copies, repacking.
    pub fn copy(&mut self, from: Piece, to: Piece) {
        if from.at != to.at || from.datatype.is_some() || to.datatype.is_some() {
            self.steps.push(Step::Copy { from, to });
        }
    }

    /// `inout = input op inout` on `count` elements.
    pub fn reduce(
        &mut self,
        op: &Op,
        datatype: &TypeRef,
        count: usize,
        input: UserPtr,
        inout: UserPtr,
    ) {
        if count > 0 {
            let (op, datatype) = (*op, datatype.clone());
            self.steps.push(Step::Reduce { op, datatype, count, input, inout });
        }
    }

    /// `len` bytes that live as long as the schedule.
    pub fn scratch(&mut self, len: usize) -> UserPtr {
        let mut scratch = self.pool.take(len);
        let at = lend(&mut scratch);
        self.scratch.push(scratch);
        at
    }

    /// Room for `count` elements that lie as the program's do.
    pub fn elements(&mut self, like: &Elements, count: usize) -> UserPtr {
        let (len, origin) = like.span(count);
        self.scratch(len).offset(origin)
    }

    /// The finished schedule.
    #[must_use]
    pub fn finish(self) -> Schedule<C::Request> {
        Schedule::new(self.context, self.steps, self.scratch)
    }
}
