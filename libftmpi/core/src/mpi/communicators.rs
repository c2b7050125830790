//! Making, comparing and freeing communicators (MPI-4.1, 7.4).

use super::agreement::{Scope, private_tag};
use super::sessions::Apart;
use super::{BufferOwner, CommId, Mpi, Request, Status};
use crate::bail;
use crate::collective::address_of;
use crate::comm::{Comm, Members, Offer};
use crate::engine::Link;
use crate::error::{ErrorClass, Result};
use crate::group::{Comparison, Group, GroupId};
use crate::info::InfoId;
use crate::request::{Active, Duplicate, Slot};
use ftmpi_wire::Rank;
use std::rc::Rc;

/// How `MPI_Comm_split_type` splits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitType {
    /// By host (`MPI_COMM_TYPE_SHARED`).
    Shared,
}

impl<L: Link> Mpi<L> {
    /// `MPI_Comm_rank`
    #[inline]
    pub fn comm_rank(&self, comm: CommId) -> Result<u32> {
        Ok(self.comm(comm)?.members.me)
    }

    /// `MPI_Comm_size`
    #[inline]
    pub fn comm_size(&self, comm: CommId) -> Result<u32> {
        Ok(self.comm(comm)?.members.local.len())
    }

    /// `MPI_Comm_test_inter`
    pub fn comm_test_inter(&self, comm: CommId) -> Result<bool> {
        Ok(self.comm(comm)?.members.remote.is_some())
    }

    pub(super) fn remote(&self, comm: CommId) -> Result<&Group> {
        match &self.comm(comm)?.members.remote {
            Some(remote) => Ok(remote),
            None => bail!(Comm, "the communicator is no intercommunicator: it has no other group"),
        }
    }

    /// `MPI_Comm_remote_size`
    pub fn comm_remote_size(&self, comm: CommId) -> Result<u32> {
        Ok(self.remote(comm)?.len())
    }

    /// `MPI_Comm_group`
    pub fn comm_group(&mut self, comm: CommId) -> Result<GroupId> {
        let comm = self.comm(comm)?;
        let (group, session) = (comm.members.local.clone(), comm.session);
        self.groups.insert_of(group, session)
    }

    /// `MPI_Comm_remote_group`
    pub fn comm_remote_group(&mut self, comm: CommId) -> Result<GroupId> {
        let (group, session) = (self.remote(comm)?.clone(), self.comm(comm)?.session);
        self.groups.insert_of(group, session)
    }

    /// Entries that arrays of v- and w-collectives have on this communicator.
    pub fn peers(&self, comm: CommId) -> Result<usize> {
        Ok(self.comm(comm)?.members.peers().len() as usize)
    }

    /// `MPI_Comm_compare`
    pub fn comm_compare(&self, a: CommId, b: CommId) -> Result<Comparison> {
        let (first, second) = (&self.comm(a)?.members, &self.comm(b)?.members);
        if a == b {
            return Ok(Comparison::Identical);
        }
        let of = |x: &Group, y: &Group| match x.compare(y) {
            Comparison::Identical => Comparison::Congruent,
            other => other,
        };
        let local = of(&first.local, &second.local);
        Ok(match (&first.remote, &second.remote) {
            (None, None) => local,
            (Some(x), Some(y)) => match (local, of(x, y)) {
                (Comparison::Unequal, _) | (_, Comparison::Unequal) => Comparison::Unequal,
                (Comparison::Similar, _) | (_, Comparison::Similar) => Comparison::Similar,
                _ => Comparison::Congruent,
            },
            _ => Comparison::Unequal,
        })
    }

    /// Enters a new communicator.
    pub(super) fn establish(&mut self, parent: CommId, members: Members) -> Result<CommId> {
        self.contexts.take(members.context);
        self.meet_strangers(&members);
        let errhandler = self.inherited_errhandler(parent);
        let mut new = Comm::new(members, errhandler);
        self.engine.enter_group(&new.members);
        new.session = self.comm(parent).ok().and_then(|parent| parent.session);
        Ok(CommId(self.comms.insert(new)?))
    }

    /// Enters a communicator of `group` alone, if this rank is in it.
    pub(super) fn establish_group(
        &mut self,
        parent: CommId,
        context: u32,
        group: Group,
    ) -> Result<Option<CommId>> {
        let Some(me) = group.local(self.engine.me()) else { return Ok(None) };
        let members = Members { context, local: group, me, remote: None };
        self.establish(parent, members).map(Some)
    }

    /// `MPI_Comm_dup`, without attributes: the front copies those. Hints are not copied (MPI-4.0,
    /// 7.4.2).
    pub fn comm_dup(&mut self, comm: CommId) -> Result<CommId> {
        self.duplicate(comm)
    }

    /// `MPI_Comm_dup_with_info`
    pub fn comm_dup_with_info(&mut self, comm: CommId, info: Option<InfoId>) -> Result<CommId> {
        if let Some(info) = info {
            self.infos.get(info)?;
        }
        let new = self.duplicate(comm)?;
        if let Some(info) = info {
            self.comm_set_info(new, info)?;
        }
        Ok(new)
    }

    pub(super) fn duplicate(&mut self, comm: CommId) -> Result<CommId> {
        let old = self.members(comm)?;
        let topology = self.comm(comm)?.topology.clone();
        let scope = self.scope(comm)?;
        let context = self.agree(&scope)?;
        let members =
            Members { context, local: old.local.clone(), me: old.me, remote: old.remote.clone() };
        let new = self.establish(comm, members)?;
        self.comm_mut(new)?.topology = topology;
        Ok(new)
    }

    /// `MPI_Comm_idup`, without attributes. The new communicator must not be used before the
    /// request is complete.
    pub fn comm_idup(&mut self, comm: CommId) -> Result<(CommId, Request)> {
        let parent = self.members(comm)?;
        let old = self.comm_mut(comm)?;
        let (topology, session) = (old.topology.clone(), old.session);
        let scope = self.scope(comm)?;
        let errhandler = self.inherited_errhandler(comm);
        let members = Members {
            context: parent.context,
            local: parent.local.clone(),
            me: parent.me,
            remote: parent.remote.clone(),
        };
        let mut new = Comm::new(members, errhandler);
        new.topology = topology;
        new.session = session;
        let new = CommId(self.comms.insert(new)?);
        let offer = self.contexts.offer(parent.context, self.comm(comm)?.sequence);
        let (task, masks) = self.start_agreement(&scope, &offer.proposal)?;
        let duplicate = Duplicate { task, new, parent, offer, masks };
        let request = self.new_request(Slot::once(comm, Active::Duplicate(Box::new(duplicate))))?;
        Ok((new, request))
    }

    /// The agreement of a `MPI_Comm_idup` is there: gives the communicator its context.
    pub(super) fn duplicated(&mut self, mut duplicate: Duplicate) -> Status {
        let schedule = self.engine.take_schedule(duplicate.task);
        let mut error = schedule.and_then(|schedule| schedule.dismantle(&mut self.pool));
        let at = address_of(&mut duplicate.masks[0]);
        let combined: [u64; Offer::WORDS] = std::array::from_fn(|i| at.offset(8 * i as i64).load());
        for scratch in duplicate.masks {
            self.pool.give_back(scratch);
        }
        self.contexts.withdraw(&duplicate.offer);
        let context = self.contexts.outcome(&duplicate.offer, &combined);
        match (context, self.comms.get_mut(duplicate.new.0)) {
            (Some(context), Some(new)) if error.is_none() => {
                self.contexts.take(context);
                let parent = duplicate.parent;
                new.members = Rc::new(Members {
                    context,
                    local: parent.local.clone(),
                    me: parent.me,
                    remote: parent.remote.clone(),
                });
                self.engine.enter_group(&new.members);
            }
            (_, None) => {}
            _ => error = error.or(Some(ErrorClass::Other)),
        }
        Status { error, ..Status::EMPTY }
    }

    /// The members of a group argument, all of which must be in `within`.
    fn subgroup(&self, group: GroupId, within: &Group) -> Result<Group> {
        let group = self.groups.get(group)?;
        if let Some(stranger) = group.iter().find(|&rank| within.local(rank).is_none()) {
            bail!(Group, "process {stranger} of the group is not in the communicator");
        }
        Ok(group.clone())
    }

    /// `MPI_Comm_create`; `None`: `MPI_COMM_NULL`.
    pub fn comm_create(&mut self, comm: CommId, group: GroupId) -> Result<Option<CommId>> {
        let old = self.members(comm)?;
        let group = self.subgroup(group, &old.local)?;
        let scope = self.scope(comm)?;
        let Some(remote) = &old.remote else {
            let context = self.agree(&scope)?;
            return self.establish_group(comm, context, group);
        };
        // Each side sends the other the place of each member in its group.
        let place = group.local(self.engine.me());
        let mine = place.unwrap_or(u32::MAX).to_le_bytes();
        let places = self.collect_across(&scope, remote, &mine)?;
        // The last exchange: nothing may wait between it and `establish`.
        let context = self.agree(&scope)?;
        let mut chosen: Vec<(u32, Rank)> = Vec::new();
        for (i, place) in numbers_of(&places).enumerate() {
            if let (true, Some(world)) = (place != u32::MAX, remote.world(i as u32)) {
                chosen.push((place, world));
            }
        }
        chosen.sort_unstable();
        let far: Vec<Rank> = chosen.into_iter().map(|(_, world)| world).collect();
        match place {
            Some(me) if !far.is_empty() => {
                let remote = Some(Group::new(&far)?);
                self.establish(comm, Members { context, local: group, me, remote }).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// `MPI_Comm_create_group`: collective over the group only.
    pub fn comm_create_group(
        &mut self,
        comm: CommId,
        group: GroupId,
        tag: i32,
    ) -> Result<Option<CommId>> {
        let old = self.members(comm)?;
        if old.remote.is_some() {
            bail!(Comm, "MPI_Comm_create_group is not defined on an intercommunicator");
        }
        super::arguments::send_tag(tag)?;
        let group = self.subgroup(group, &old.local)?;
        let Some(me) = group.local(self.engine.me()) else { return Ok(None) };
        // Only a death in the group matters, and a revocation of the communicator.
        let goes_on = self.engine.goes_on();
        let apart = if goes_on { Apart::of(&tag.to_le_bytes()).context } else { 0 };
        if goes_on && self.engine.is_revoked(old.context) {
            return Err(self.fault(comm, ErrorClass::Revoked));
        }
        let scope = Scope {
            group: group.clone(),
            me,
            remote: None,
            context: old.collective_context() ^ apart,
            tag: private_tag(tag),
        };
        let exchange = Rc::new(Members {
            context: scope.context & !1,
            local: group.clone(),
            me,
            remote: None,
        });
        if goes_on {
            self.engine.enter_group(&exchange);
        }
        self.blamed = comm;
        let context = self.agree(&scope)?;
        self.establish_group(comm, context, group)
    }

    /// `MPI_Comm_split`; `color` is `None` for `MPI_UNDEFINED`.
    pub fn comm_split(
        &mut self,
        comm: CommId,
        color: Option<i32>,
        key: i32,
    ) -> Result<Option<CommId>> {
        if let Some(color) = color.filter(|&color| color < 0) {
            bail!(Arg, "color is {color}, must not be negative (or be MPI_UNDEFINED)");
        }
        self.split(comm, color, key)
    }

    pub(super) fn split(
        &mut self,
        comm: CommId,
        color: Option<i32>,
        key: i32,
    ) -> Result<Option<CommId>> {
        let old = self.members(comm)?;
        let scope = self.scope(comm)?;
        let mut mine = [0; 8];
        mine[..4].copy_from_slice(&color.unwrap_or(-1).to_le_bytes());
        mine[4..].copy_from_slice(&key.to_le_bytes());
        let near = self.collect_within(&scope, &mine)?;
        let far = match &old.remote {
            Some(remote) => Some(self.collect_across(&scope, remote, &mine)?),
            None => None,
        };
        let context = self.agree(&scope)?;
        let Some(color) = color else { return Ok(None) };
        let local = same_color(&near, &old.local, color)?;
        let (Some(remote), Some(far)) = (&old.remote, &far) else {
            return self.establish_group(comm, context, local);
        };
        let remote = same_color(far, remote, color)?;
        let me = local.local(self.engine.me());
        match me {
            Some(me) if !remote.is_empty() => {
                let members = Members { context, local, me, remote: Some(remote) };
                self.establish(comm, members).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// `MPI_Comm_split_type`; `split` is `None` for `MPI_UNDEFINED`.
    pub fn comm_split_type(
        &mut self,
        comm: CommId,
        split: Option<SplitType>,
        key: i32,
    ) -> Result<Option<CommId>> {
        let host = self.observed_host();
        self.split(comm, split.map(|SplitType::Shared| (host & 0x7fff_ffff) as i32), key)
    }

    /// The number of this rank's host; in a later incarnation, on another host, still the number of
    /// the first one. The numbers of other ranks come in their messages, which a replay repeats
    /// anyway.
    fn observed_host(&mut self) -> u32 {
        match self.host {
            Some(host) => host,
            None => {
                let live = self.hosts.get(self.engine.me().index()).copied().unwrap_or(0);
                let host = self.observed(u64::from(live)) as u32;
                self.host = Some(host);
                host
            }
        }
    }

    /// Whether the program may free it. To be asked before the delete functions of its attributes
    /// run: of one that stays they must not.
    pub fn comm_may_go(&self, comm: CommId) -> Result<()> {
        match comm {
            CommId::WORLD | CommId::SELF => {
                let name = if comm == CommId::WORLD { "MPI_COMM_WORLD" } else { "MPI_COMM_SELF" };
                bail!(Comm, "{name} is a predefined communicator and cannot be freed")
            }
            _ => self.comm(comm).map(|_| ()),
        }
    }

    /// `MPI_Comm_free`, after the front has dealt with the attributes. Communication under way goes
    /// on, except in the communicator's buffer: that is detached, and belongs to the program again
    /// when the call returns (MPI-4.1, 3.6).
    pub fn comm_free(&mut self, comm: CommId) -> Result<()> {
        self.comm_may_go(comm)?;
        if self.buffer_detach(BufferOwner::Comm(comm))?.is_some() {
            // Others may have taken contexts since the wait.
            self.engine.step();
        }
        if let Some(mut old) = self.comms.remove(comm.0) {
            for call in old.attributes.deletions(&self.keyvals) {
                old.attributes.remove(&mut self.keyvals, call.keyval);
            }
            self.release_errhandler(old.errhandler);
            self.contexts.release(Rc::clone(&old.members));
            self.part_with_strangers(comm, &old.members);
        }
        Ok(())
    }

    /// `MPI_Comm_disconnect`: waits for communication under way on the communicator.
    pub fn comm_disconnect(&mut self, comm: CommId) -> Result<()> {
        self.comm_may_go(comm)?;
        let members = self.members(comm)?;
        // The holders of the members: this call, the table, and requests of which only the engine's
        // part goes on without the program.
        while Rc::strong_count(&members) > 2 && !self.engine.schedules_rest() {
            self.engine.block();
        }
        drop(members);
        self.engine.step();
        self.comm_free(comm)
    }
}

/// Little-endian words of 64 bits.
fn numbers_of(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word))
}

/// The members that chose this color, in order of key, then of rank.
fn same_color(choices: &[u8], group: &Group, color: i32) -> Result<Group> {
    let mut chosen: Vec<(i32, u32)> = Vec::new();
    let (pairs, _) = choices.as_chunks::<8>();
    for (rank, pair) in pairs.iter().enumerate() {
        let mut both = numbers_of(pair).map(|word| word as i32);
        if let (Some(its), Some(key)) = (both.next(), both.next())
            && its == color
        {
            chosen.push((key, rank as u32));
        }
    }
    chosen.sort_unstable();
    let world: Vec<Rank> = chosen.into_iter().filter_map(|(_, rank)| group.world(rank)).collect();
    Group::new(&world)
}
