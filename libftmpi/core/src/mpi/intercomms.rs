//! Intercommunicators: making them and merging their groups (MPI-4.1, 7.6).

use super::agreement::{Scope, private_tag};
use super::{CommId, Mpi};
use crate::bail;
use crate::comm::{Members, combine};
use crate::engine::{Link, RecvData, SendData, SendMode, Source, Tag, is_of_faults};
use crate::error::{ErrorClass, MpiError, Result};
use crate::group::Group;
use crate::room;
use crate::tuning::{CONTEXT_ATTEMPTS, PROCESSES_MAX};
use ftmpi_wire::Rank;

/// Bytes that the leader of a group tells the other leader at most: a seed, and the processes.
const OFFER_BYTES_MAX: u64 = 8 + 4 * PROCESSES_MAX as u64;

/// What the members of a group hear of their leader.
fn the_other_leader_is_dead() -> MpiError {
    ErrorClass::ProcFailed.because("the leader of the other group has died")
}

/// The answer of the other leader. If that one has died, the own group is to hear of it before the
/// call ends.
fn unless_dead(answer: Result<Vec<u8>>, failed: &mut Option<MpiError>) -> Result<Vec<u8>> {
    match answer {
        Err(error) if is_of_faults(error.class) => {
            *failed = Some(error);
            Ok(Vec::new())
        }
        answer => answer,
    }
}

/// Between the leaders of two groups.
pub(super) struct Bridge {
    /// The leader's rank in the own group.
    pub leader: u32,
    /// At the leader: the other leader, and the context of their messages.
    pub far: Option<(Rank, u32)>,
    pub tag: i32,
}

impl<L: Link> Mpi<L> {
    /// `MPI_Intercomm_create`. `peer` and `remote_leader` matter at the local leader only.
    pub fn intercomm_create(
        &mut self,
        local: CommId,
        local_leader: u32,
        peer: CommId,
        remote_leader: u32,
        tag: i32,
    ) -> Result<CommId> {
        self.intercomm_create_apart(local, local_leader, (peer, remote_leader), tag, 0)
    }

    /// The same. `apart`: added to the context of `peer`, for calls that may run at the same time.
    pub(super) fn intercomm_create_apart(
        &mut self,
        local: CommId,
        local_leader: u32,
        (peer, remote_leader): (CommId, u32),
        tag: i32,
        apart: u32,
    ) -> Result<CommId> {
        let members = self.members(local)?;
        if members.remote.is_some() {
            bail!(Comm, "the local communicator is an intercommunicator");
        }
        if local_leader >= members.local.len() {
            bail!(Rank, "local leader {} is not in the communicator", local_leader as i32);
        }
        super::arguments::send_tag(tag)?;
        let leads = members.me == local_leader;
        let bridge = if leads {
            let peers = self.members(peer)?;
            let Some(world) = peers.peers().world(remote_leader) else {
                bail!(Rank, "remote leader {} is not in the communicator", remote_leader as i32);
            };
            Some((world, peers.collective_context() | apart))
        } else {
            None
        };
        self.join_groups(local, Bridge { leader: local_leader, far: bridge, tag: private_tag(tag) })
    }

    /// Makes the intercommunicator of two groups whose leaders can talk to each other.
    pub(super) fn join_groups(&mut self, local: CommId, bridge: Bridge) -> Result<CommId> {
        let members = self.members(local)?;
        let local_leader = bridge.leader;
        let scope = self.scope(local)?;
        // Both groups look for a context in the same places. Another thread's call has other
        // places.
        let own = u64::from(scope.context) << 32 | u64::from(scope.tag as u32);
        let (mut theirs, mut failed) = (Vec::new(), None);
        if let Some((world, context)) = bridge.far {
            let mut mine = own.to_le_bytes().to_vec();
            mine.extend(members.local.iter().flat_map(|rank| rank.0.to_le_bytes()));
            let traded = self.trade(world, context, bridge.tag, &mine);
            theirs = unless_dead(traded, &mut failed)?;
        }
        let mut len = (theirs.len() as u64).to_le_bytes();
        self.broadcast(&scope, local_leader, &mut len)?;
        let len = u64::from_le_bytes(len);
        if len == 0 {
            return Err(failed.unwrap_or_else(the_other_leader_is_dead));
        }
        if len > OFFER_BYTES_MAX || !room::grow(&mut theirs, len) {
            bail!(Intern, "the offer of the other group has {len} bytes");
        }
        self.broadcast(&scope, local_leader, &mut theirs)?;
        let Some((far_seed, far)) = theirs.split_first_chunk::<8>() else {
            bail!(Intern, "the offer of the other group is cut short");
        };
        let seed = own.wrapping_add(u64::from_le_bytes(*far_seed));
        let far: Vec<Rank> =
            far.as_chunks::<4>().0.iter().map(|r| Rank(u32::from_le_bytes(*r))).collect();
        self.meet(&far);
        let remote = Group::new(&far)?;
        if members.local.iter().any(|rank| remote.local(rank).is_some()) {
            bail!(Comm, "the two groups of an intercommunicator must be disjoint");
        }
        let context = self.agree_across(&scope, &bridge, seed)?;
        let (group, me) = (members.local.clone(), members.me);
        self.establish(local, Members { context, local: group, me, remote: Some(remote) })
    }

    /// As [`agree`](Self::agree), for two groups that share no communicator yet.
    fn agree_across(&mut self, scope: &Scope, bridge: &Bridge, seed: u64) -> Result<u32> {
        for attempt in 0..CONTEXT_ATTEMPTS {
            let sequence = (seed as u32).wrapping_add(attempt.wrapping_mul(0x9e37_79b9));
            let offer = self.contexts.offer((seed >> 32) as u32, sequence);
            let mut combined = offer.proposal;
            let answer = self.combine_across(scope, bridge, &mut combined);
            self.contexts.withdraw(&offer);
            answer?;
            if let Some(context) = self.contexts.outcome(&offer, &combined) {
                return Ok(context);
            }
        }
        let mut combined = self.contexts.proposal(0, self.contexts.words());
        self.combine_across(scope, bridge, &mut combined)?;
        match self.contexts.lowest(0, &combined) {
            Some(context) => Ok(context),
            None => {
                bail!(Other, "no context id is free on all members: free communicators not used")
            }
        }
    }

    /// Combines the proposals of both groups.
    fn combine_across(
        &mut self,
        scope: &Scope,
        bridge: &Bridge,
        proposal: &mut [u64],
    ) -> Result<()> {
        let words = |bytes: &[u8]| -> Vec<u64> {
            bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
        };
        let mine: Vec<u8> = proposal.iter().flat_map(|w| w.to_le_bytes()).collect();
        let all = self.collect_within(scope, &mine)?;
        for one in all.chunks_exact(mine.len()) {
            combine(proposal, &words(one));
        }
        let (mut theirs, mut failed) = (vec![0; mine.len()], None);
        if let Some((world, context)) = bridge.far {
            let ours: Vec<u8> = proposal.iter().flat_map(|w| w.to_le_bytes()).collect();
            let swapped = self.swap(world, context, bridge.tag, &ours, ours.len());
            let swapped = unless_dead(swapped, &mut failed)?;
            if failed.is_none() {
                theirs = swapped;
                theirs.push(1);
            }
        }
        theirs.resize(8 * proposal.len() + 1, 0);
        self.broadcast(scope, bridge.leader, &mut theirs)?;
        if theirs.pop() != Some(1) {
            return Err(failed.unwrap_or_else(the_other_leader_is_dead));
        }
        combine(proposal, &words(&theirs));
        Ok(())
    }

    /// Exchanges byte strings with one process.
    fn trade(&mut self, with: Rank, context: u32, tag: i32, mine: &[u8]) -> Result<Vec<u8>> {
        let len = (mine.len() as u64).to_le_bytes();
        let theirs = self.swap(with, context, tag, &len, 8)?;
        let mut len = [0; 8];
        len.copy_from_slice(&theirs);
        let len = u64::from_le_bytes(len);
        if len > OFFER_BYTES_MAX {
            bail!(Intern, "the offer of the other group has {len} bytes");
        }
        self.swap(with, context, tag, mine, len as usize)
    }

    /// Sends `mine` and receives `len` bytes.
    fn swap(
        &mut self,
        with: Rank,
        context: u32,
        tag: i32,
        mine: &[u8],
        len: usize,
    ) -> Result<Vec<u8>> {
        let (mut out, mut into) = (self.pool.take(mine.len()), self.pool.take(len));
        let (from, to) =
            (crate::collective::address_of(&mut out), crate::collective::address_of(&mut into));
        from.write(mine);
        let recv = self.engine.irecv(
            RecvData::Bytes { ptr: to, len },
            Source::Rank(with),
            context,
            Tag::Is(tag),
        );
        let data = SendData::Bytes { ptr: from, len: mine.len() };
        if let Some(send) = self.engine.isend(data, with, context, tag, SendMode::Standard) {
            self.engine.wait(send);
        }
        let done = self.engine.wait(recv);
        self.engine.step();
        let mut theirs = vec![0; len];
        to.read(&mut theirs);
        self.pool.give_back(out);
        self.pool.give_back(into);
        match done.error {
            Some(error) => Err(error.into()),
            None => Ok(theirs),
        }
    }

    /// `MPI_Intercomm_merge`: the group that says `high` comes last. If both say the same, the
    /// group with the smaller first process comes first.
    pub fn intercomm_merge(&mut self, inter: CommId, high: bool) -> Result<CommId> {
        let members = self.members(inter)?;
        let remote = self.remote(inter)?.clone();
        let scope = self.scope(inter)?;
        let theirs = self.collect_across(&scope, &remote, &[u8::from(high)])?;
        let their_high = theirs.first().is_some_and(|&flag| flag != 0);
        let context = self.agree(&scope)?;
        let we_come_first =
            if high == their_high { members.local.world(0) < remote.world(0) } else { !high };
        let (first, second) =
            if we_come_first { (&members.local, &remote) } else { (&remote, &members.local) };
        let all: Vec<Rank> = first.iter().chain(second.iter()).collect();
        match self.establish_group(inter, context, Group::new(&all)?)? {
            Some(new) => Ok(new),
            None => bail!(Intern, "this process is in neither group"),
        }
    }
}
