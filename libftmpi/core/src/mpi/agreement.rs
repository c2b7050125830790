//! Exchanges between the members of a communicator that is being made.
//!
//! They run as ordinary schedules in the collective context of the parent, so that a replay repeats
//! them like everything else.

use super::{CommId, Mpi};
use crate::bail;
use crate::collective::{
    Blocks, Call, Elements, Operands, Piece, Plan, Root, Sides, Steps, address_of,
};
use crate::comm::Members;
use crate::datatype::{Builtin, Datatype};
use crate::engine::{Link, TaskId};
use crate::error::Result;
use crate::group::Group;
use crate::op::Op;
use crate::tuning::{CONTEXT_ATTEMPTS, CONTEXT_WORDS};
use crate::usermem::Scratch;

/// Tags of exchanges that the communicator does not count: negative, so that no counted collective
/// has them.
pub(super) fn private_tag(tag: i32) -> i32 {
    i32::MIN | (tag & TAG_BITS as i32) << 12
}

/// The bits of a tag that such an exchange has.
pub(super) const TAG_BITS: u32 = 0x7_ffff;

/// The members of an exchange, and its tag.
pub(super) struct Scope {
    pub group: Group,
    pub me: u32,
    /// The other group, which takes part.
    pub remote: Option<Group>,
    /// Context of collectives.
    pub context: u32,
    pub tag: i32,
}

/// A proposal is one value: no algorithm may cut it, since its last word is not combined like the
/// others.
fn proposal_type(words: usize) -> Result<Datatype> {
    Datatype::contiguous(words as i64, Datatype::builtin(Builtin::Uint64T))
}

impl<L: Link> Mpi<L> {
    /// All members of `comm`, in its next collective operation.
    pub(super) fn scope(&mut self, comm: CommId) -> Result<Scope> {
        let tag = self.next_tag(comm)?;
        self.blamed = comm;
        Ok(Scope::of(&self.comm(comm)?.members, tag))
    }

    /// Runs one call within the own group of the scope.
    pub(super) fn run_within(&mut self, scope: &Scope, call: &Call) -> Result<()> {
        let (pool, engine) = (&mut self.pool, &mut self.engine);
        let plan = Plan::new(engine, pool, &scope.group, scope.me, scope.context, scope.tag);
        let mut plan = plan.oversubscribed(self.oversubscribed.then_some(&*self.hosts));
        call.write(&mut plan);
        let schedule = plan.finish();
        self.run(schedule)
    }

    /// Runs one call between both groups of the scope.
    fn run_across(&mut self, scope: &Scope, remote: &Group, call: &Call) -> Result<()> {
        let (pool, engine) = (&mut self.pool, &mut self.engine);
        let plan = Plan::new(engine, pool, &scope.group, scope.me, scope.context, scope.tag);
        let mut plan = plan.oversubscribed(self.oversubscribed.then_some(&*self.hosts));
        let sides = Sides { local: &scope.group, me: scope.me, remote };
        call.write_between(&mut plan, sides);
        let schedule = plan.finish();
        self.run(schedule)
    }

    /// Combines the proposals for a context of all members, on both sides.
    fn combine(&mut self, scope: &Scope, words: &mut [u64]) -> Result<()> {
        let bytes = 8 * words.len();
        let (mut ours, mut theirs) = (self.pool.take(bytes), self.pool.take(bytes));
        let (at, far) = (address_of(&mut ours), address_of(&mut theirs));
        for (i, word) in words.iter().enumerate() {
            at.offset(8 * i as i64).store(*word);
        }
        let datatype = proposal_type(words.len())?;
        let elements = || Elements { datatype: datatype.clone(), count: 1 };
        let op = Op::Proposals;
        let within = Call::Allreduce { send: None, recv: at, elements: elements(), op };
        let mut answer = self.run_within(scope, &within);
        if let (Ok(()), Some(remote)) = (&answer, &scope.remote) {
            let across = Call::Allreduce { send: Some(at), recv: far, elements: elements(), op };
            answer = self.run_across(scope, remote, &across);
            if answer.is_ok() {
                op.apply(far, at, 1, &datatype)?;
            }
        }
        if answer.is_ok() {
            for (i, word) in words.iter_mut().enumerate() {
                *word = at.offset(8 * i as i64).load();
            }
        }
        self.pool.give_back(ours);
        self.pool.give_back(theirs);
        answer
    }

    /// A context that is free on all members. The caller takes it before it waits for anything.
    ///
    /// Other threads may look for contexts at the same time. Each call offers ids that no other
    /// call of this process offers, and other ids if the members have none of these in common.
    /// After that come the ids that every call may be offered.
    pub(super) fn agree(&mut self, scope: &Scope) -> Result<u32> {
        for attempt in 0..CONTEXT_ATTEMPTS {
            let seed = (scope.tag as u32).wrapping_add(attempt.wrapping_mul(0x9e37_79b9));
            let offer = self.contexts.offer(scope.context, seed);
            let mut combined = offer.proposal;
            let answer = self.combine(scope, &mut combined);
            self.contexts.withdraw(&offer);
            answer?;
            if let Some(context) = self.contexts.outcome(&offer, &combined) {
                return Ok(context);
            }
        }
        for from in (0..self.contexts.words()).step_by(CONTEXT_WORDS) {
            let mut combined = self.contexts.proposal(from, CONTEXT_WORDS);
            self.combine(scope, &mut combined)?;
            if let Some(context) = self.contexts.lowest(from, &combined) {
                return Ok(context);
            }
        }
        bail!(
            Other,
            "no context id is free on all members: too many communicators are alive, free those \
             that are not used"
        )
    }

    /// Starts the exchange of a `MPI_Comm_idup`. The first buffer holds the outcome when it is
    /// done.
    pub(super) fn start_agreement(
        &mut self,
        scope: &Scope,
        offered: &[u64],
    ) -> Result<(TaskId, [Scratch; 2])> {
        let bytes = 8 * offered.len();
        let mut masks = [self.pool.take(bytes), self.pool.take(bytes)];
        let [at, far] = masks.each_mut().map(address_of);
        for (i, word) in offered.iter().enumerate() {
            at.offset(8 * i as i64).store(*word);
        }
        let datatype = &proposal_type(offered.len())?;
        let elements = Elements { datatype: datatype.clone(), count: 1 };
        let op = Op::Proposals;
        let (pool, engine) = (&mut self.pool, &mut self.engine);
        let plan = Plan::new(engine, pool, &scope.group, scope.me, scope.context, scope.tag);
        let mut plan = plan.oversubscribed(self.oversubscribed.then_some(&*self.hosts));
        let within = Call::Allreduce { send: None, recv: at, elements: elements.clone(), op };
        within.write(&mut plan);
        if let Some(remote) = &scope.remote {
            plan.fence();
            let sides = Sides { local: &scope.group, me: scope.me, remote };
            let across = Call::Allreduce { send: Some(at), recv: far, elements, op };
            across.write_between(&mut plan, sides);
            plan.fence();
            plan.reduce(Operands { datatype, count: 1, op: &op }, 1, far, at);
        }
        let schedule = Box::new(plan.finish());
        Ok((self.engine.start_schedule(schedule)?, masks))
    }

    /// The `mine` of every member, all of one length, in the order of the ranks of the own group.
    pub(super) fn collect_within(&mut self, scope: &Scope, mine: &[u8]) -> Result<Vec<u8>> {
        let (mut send, n) = (self.pool.take(mine.len()), scope.group.len() as usize);
        let mut recv = self.pool.take(mine.len() * n);
        let (at, all) = (address_of(&mut send), address_of(&mut recv));
        at.write(mine);
        let call = Call::Allgather {
            send: Some(Piece::bytes(at, mine.len())),
            recv: Blocks::bytes_each(all, mine.len()),
        };
        let answer = self.run_within(scope, &call);
        let mut out = vec![0; mine.len() * n];
        all.read(&mut out);
        self.pool.give_back(send);
        self.pool.give_back(recv);
        answer.map(|()| out)
    }

    /// The `mine` of every member of the other group.
    pub(super) fn collect_across(
        &mut self,
        scope: &Scope,
        remote: &Group,
        mine: &[u8],
    ) -> Result<Vec<u8>> {
        let (mut send, n) = (self.pool.take(mine.len()), remote.len() as usize);
        let mut recv = self.pool.take(mine.len() * n);
        let (at, all) = (address_of(&mut send), address_of(&mut recv));
        at.write(mine);
        let call = Call::Allgather {
            send: Some(Piece::bytes(at, mine.len())),
            recv: Blocks::bytes_each(all, mine.len()),
        };
        let answer = self.run_across(scope, remote, &call);
        let mut out = vec![0; mine.len() * n];
        all.read(&mut out);
        self.pool.give_back(send);
        self.pool.give_back(recv);
        answer.map(|()| out)
    }

    /// `data` of member `root` of the own group, at all.
    pub(super) fn broadcast(&mut self, scope: &Scope, root: u32, data: &mut [u8]) -> Result<()> {
        let mut copy = self.pool.take(data.len());
        let at = address_of(&mut copy);
        at.write(data);
        let call =
            Call::Bcast { data: Piece::bytes(at, data.len()), root: Root::Remote(root as usize) };
        let answer = self.run_within(scope, &call);
        at.read(data);
        self.pool.give_back(copy);
        answer
    }
}

impl Scope {
    pub(super) fn of(members: &Members, tag: i32) -> Self {
        Self {
            group: members.local.clone(),
            me: members.me,
            remote: members.remote.clone(),
            context: members.collective_context(),
            tag,
        }
    }
}
