//! Writing a schedule down.
//!
//! Guarantees: every rank of the communicator writes its part of the same plan, from arguments that
//! must agree by the standard (sizes in bytes, root, operation). Messages to one receiver are
//! reserved in the order in which the plan names them.

use super::data::{Operands, Piece};
use super::pool::{Pool, address_of};
use super::schedule::{Carrier, Schedule};
use super::step::Step;
use super::steps::Steps;
use crate::error::Result;
use crate::group::Group;
use crate::tuning::DIRECT_RANKS_MAX;
use crate::usermem::{Scratch, UserPtr};
use ftmpi_wire::Rank;

/// Bits of a tag that number messages within one operation.
const STEP_BITS: u32 = 12;

/// Bits of a tag that tell the collectives of a communicator apart.
const NUMBER_BITS: u32 = 18;

/// The tag of everything that belongs to the `sequence`-th collective of a communicator.
#[must_use]
pub fn tag_of(sequence: u32) -> i32 {
    ((sequence & ((1 << NUMBER_BITS) - 1)) << STEP_BITS) as i32
}

/// The tag of every round of the `number`-th persistent collective of a communicator. All ranks
/// make them in the same order, but each rank starts them in an order of its own (MPI-4.0, 6.13).
#[must_use]
pub fn persistent_tag_of(number: u32) -> i32 {
    tag_of(number) | (1 << (NUMBER_BITS + STEP_BITS))
}

/// The tag of message number `step` of the operation with this tag.
#[inline]
pub(super) const fn tag_of_step(tag: i32, step: usize) -> i32 {
    tag | (step & ((1 << STEP_BITS) - 1)) as i32
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
    /// This rank among `ranks`; it is none of them on the remote side of an intercommunicator.
    pub me: usize,
    /// How many ranks.
    pub size: usize,
    context: u32,
    tag: i32,
    /// Host of each rank of the world, if ranks outnumber processors.
    oversubscribed: Option<&'a [u32]>,
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
        context: u32,
        tag: i32,
    ) -> Self {
        let (steps, scratch) = pool.take_lists();
        let size = ranks.len() as usize;
        let me = me as usize;
        Self { carrier, pool, ranks, me, size, context, tag, oversubscribed: None, steps, scratch }
    }

    /// Says that ranks outnumber processors, and on which host each rank of the world is. All ranks
    /// are given the same, in all their incarnations.
    #[must_use]
    pub fn oversubscribed(self, hosts: Option<&'a [u32]>) -> Self {
        Self { oversubscribed: hosts, ..self }
    }

    /// From here on, ranks are those of `ranks`; this rank is number `me` of them, if it is one at
    /// all.
    pub fn turn_to(&mut self, ranks: &'a Group, me: u32) {
        self.ranks = ranks;
        self.size = ranks.len() as usize;
        self.me = me as usize;
    }

    fn world(&self, rank: usize) -> Rank {
        self.ranks.world(rank as u32).expect("a plan names ranks of its group only")
    }

    fn tag_at(&self, step: usize) -> i32 {
        tag_of_step(self.tag, step)
    }

    /// Goes on only if `verdict` accepts the contents of `all`. These are one word of each rank, as
    /// long as `mine`, which says what the rank calls.
    pub fn compare(&mut self, verdict: fn(&[u8], &[u8]) -> Result<()>, mine: &[u8], all: UserPtr) {
        self.fence();
        self.steps.push(Step::Compare { verdict, mine: mine.into(), all, ranks: self.size });
    }

    /// From here on, messages belong to another collective operation of the communicator.
    pub fn turn_to_tag(&mut self, tag: i32) {
        self.tag = tag;
    }

    /// The finished schedule.
    #[must_use]
    pub fn finish(self) -> Schedule<C::Request> {
        Schedule::new(self.context, self.steps, self.scratch)
    }
}

impl<C: Carrier> Steps for Plan<'_, C> {
    fn me(&self) -> usize {
        self.me
    }

    fn size(&self) -> usize {
        self.size
    }

    fn is_oversubscribed(&self) -> bool {
        self.oversubscribed.is_some_and(|host_of| share_a_host(self.ranks, host_of))
    }

    fn prefers_direct(&self) -> bool {
        self.size <= DIRECT_RANKS_MAX && self.is_oversubscribed()
    }

    fn send(&mut self, data: Piece, to: usize, step: usize) {
        let to = self.world(to);
        let ssn = self.carrier.reserve(to);
        self.steps.push(Step::Send { ssn, to, tag: self.tag_at(step), data });
    }

    fn recv(&mut self, into: Piece, from: usize, step: usize) {
        let from = self.world(from);
        self.steps.push(Step::Recv { from, tag: self.tag_at(step), into });
    }

    fn fence(&mut self) {
        self.steps.push(Step::Fence);
    }

    fn copy(&mut self, from: Piece, to: Piece) {
        if from.at != to.at || from.datatype.is_some() || to.datatype.is_some() {
            self.steps.push(Step::Copy { from, to });
        }
    }

    fn reduce(&mut self, what: Operands<'_>, count: usize, input: UserPtr, inout: UserPtr) {
        if count > 0 {
            let (op, datatype) = (*what.op, what.datatype.clone());
            self.steps.push(Step::Reduce { op, datatype, count, input, inout });
        }
    }

    fn scratch(&mut self, len: usize) -> UserPtr {
        let mut scratch = self.pool.take(len);
        let at = address_of(&mut scratch);
        self.scratch.push(scratch);
        at
    }
}
