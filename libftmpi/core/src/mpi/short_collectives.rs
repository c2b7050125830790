//! The choice of the blocking collectives (MPI-4.1, chapter 6) that run at once, without a
//! schedule.
//!
//! A call is short if its messages are, and if its data are of predefined types whose values lie
//! contiguously. The algorithms are those of [`crate::collective`]; [`Short`] carries them out.
//!
//! Guarantees: a call with an argument that is wrong is never short, so that the general path
//! reports the error. The messages are those that a schedule sends, with the same identities: ranks
//! may differ in which path they take.

use super::{Collective, CommId, Mpi, Status};
use crate::arguments::{Buffer, Counts, Peer, dense};
use crate::collective::{
    CollectiveCall, Equal, Operands, Piece, Scattered, Short, allgather, allreduce, alltoall,
    barrier, bcast, gather, reduce, reduce_scatter, share_a_host, tag_of,
};
use crate::comm::Members;
use crate::datatype::{Datatype, TypeId};
use crate::engine::Link;
use crate::error::Result;
use crate::op::{Op, OpId};
use crate::tuning::{
    ALLTOALL_SHORT_BYTES, ALLTOALL_SHORT_RANKS, DIRECT_BYTES, DIRECT_RANKS_MAX, GATHER_TREE_RANKS,
    PAIRWISE_RANKS, SHORT_BYTES, SHORT_EXCHANGE_RANKS,
};
use crate::usermem::UserPtr;
use std::rc::Rc;

/// Where the block of each rank lies, and its bytes.
type BlockPlaces = [(UserPtr, usize); SHORT_EXCHANGE_RANKS];

/// A buffer argument with count and type.
type Data = (Buffer, i64, TypeId);

/// A buffer argument with counts, displacements and type.
type DataOfEach = (Buffer, Counts, Counts, TypeId);

/// The address of what a rank contributes, `None` if it is in place, if that has `len` bytes.
#[inline]
fn same_size((send, count, datatype): Data, len: usize) -> Option<Option<UserPtr>> {
    match send {
        Buffer::InPlace => Some(None),
        Buffer::At(at) => {
            let (at, bytes) = dense(at, count, datatype)?;
            (bytes == len).then_some(Some(at))
        }
    }
}

/// Where the blocks of `n` ranks lie, if all are of predefined types and have at most `limit`
/// bytes.
#[inline]
fn places(
    (base, counts, displacements, datatype): DataOfEach,
    (n, limit): (usize, usize),
) -> Option<BlockPlaces> {
    let Buffer::At(base) = base else { return None };
    if n > SHORT_EXCHANGE_RANKS || counts.is_null() || displacements.is_null() {
        return None;
    }
    let (_, extent) = dense(base, 1, datatype)?;
    let mut all = [(UserPtr::BOTTOM, 0); SHORT_EXCHANGE_RANKS];
    for (i, block) in all.iter_mut().enumerate().take(n) {
        let at = base.offset(displacements.get(i).checked_mul(extent as i64)?);
        *block = dense(at, counts.get(i), datatype).filter(|&(_, len)| len <= limit)?;
    }
    Some(all)
}

/// Whether own data lie where block `me` of all does: an error, which the general path reports.
#[inline(always)]
fn is_aliased(own: Option<UserPtr>, all: UserPtr, me: usize, block: usize) -> bool {
    block > 0 && own == Some(all.offset((me * block) as i64))
}

/// The data of a gather or a scatter at one rank.
struct Rooted {
    /// This rank's block; `None` at a root that has it in place.
    mine: Option<UserPtr>,
    /// The blocks of all ranks, at the root.
    all: Equal,
    root: usize,
}

impl Rooted {
    fn mine(&self) -> Option<Piece> {
        self.mine.map(|at| Piece::bytes(at, self.all.len))
    }
}

impl<L: Link> Mpi<L> {
    /// Runs the call if it is a short one.
    #[inline]
    pub(super) fn short_collective(
        &mut self,
        comm: CommId,
        what: &Collective<'_>,
    ) -> Option<Result<()>> {
        if self.engine.orders_threads() {
            // Messages of a schedule have their numbers before the first wait.
            return None;
        }
        match *what {
            Collective::Barrier => self.at_once(comm, |p| barrier::barrier(p)),
            Collective::Bcast { buffer, count, datatype, root: Peer::Rank(root) } => {
                self.short_bcast(comm, (buffer, count, datatype), root)
            }
            Collective::Allreduce { send, recv: Buffer::At(recv), count, datatype, op } => {
                self.short_allreduce(comm, (send, recv), (count, datatype), op)
            }
            Collective::Reduce { send, recv, count, datatype, op, root: Peer::Rank(root) } => {
                self.short_reduce(comm, (send, recv), (count, datatype), op, root)
            }
            Collective::Allgather { send, send_count, send_type, recv, recv_count, recv_type } => {
                let own = (send, send_count, send_type);
                self.short_allgather(comm, own, (recv, recv_count, recv_type))
            }
            Collective::Alltoall { send, send_count, send_type, recv, recv_count, recv_type } => {
                let out = (send, send_count, send_type);
                self.short_alltoall(comm, out, (recv, recv_count, recv_type))
            }
            Collective::Allgatherv {
                send,
                send_count,
                send_type,
                recv,
                recv_counts,
                recv_displs,
                recv_type,
            } => {
                let all = (recv, recv_counts, recv_displs, recv_type);
                self.short_allgatherv(comm, (send, send_count, send_type), all)
            }
            Collective::Alltoallv {
                send,
                send_counts,
                send_displs,
                send_type,
                recv,
                recv_counts,
                recv_displs,
                recv_type,
            } => {
                let out = (send, send_counts, send_displs, send_type);
                self.short_alltoallv(comm, out, (recv, recv_counts, recv_displs, recv_type))
            }
            Collective::Gather {
                send,
                send_count,
                send_type,
                recv,
                recv_count,
                recv_type,
                root: Peer::Rank(root),
            } => {
                let (mine, all) = ((send, send_count, send_type), (recv, recv_count, recv_type));
                let data = self.rooted(comm, mine, all, root)?;
                self.at_once(comm, |p| {
                    gather::gather(p, data.mine().as_ref(), &data.all, data.root, true);
                })
            }
            Collective::Scatter {
                send,
                send_count,
                send_type,
                recv,
                recv_count,
                recv_type,
                root: Peer::Rank(root),
            } => {
                let (mine, all) = ((recv, recv_count, recv_type), (send, send_count, send_type));
                let data = self.rooted(comm, mine, all, root)?;
                self.at_once(comm, |p| {
                    gather::scatter(p, &data.all, data.mine().as_ref(), data.root, true);
                })
            }
            Collective::ReduceScatter { send, recv, recv_counts, datatype, op } => {
                if recv_counts.is_null() {
                    return None;
                }
                let count_of = |rank| recv_counts.get(rank);
                self.short_reduce_scatter(comm, (send, recv), count_of, datatype, op)
            }
            Collective::ReduceScatterBlock { send, recv, recv_count, datatype, op } => {
                self.short_reduce_scatter(comm, (send, recv), |_| recv_count, datatype, op)
            }
            _ => None,
        }
    }

    #[inline]
    fn short_bcast(
        &mut self,
        comm: CommId,
        (buffer, count, datatype): (UserPtr, i64, TypeId),
        root: u32,
    ) -> Option<Result<()>> {
        let (at, len) = dense(buffer, count, datatype)?;
        if len > SHORT_BYTES || root >= self.comm_size(comm).ok()? {
            return None;
        }
        self.at_once(comm, |p| bcast::bcast(p, &Piece::bytes(at, len), root as usize))
    }

    #[inline]
    fn short_allreduce(
        &mut self,
        comm: CommId,
        (send, recv): (Buffer, UserPtr),
        (count, datatype): (i64, TypeId),
        op: OpId,
    ) -> Option<Result<()>> {
        let (recv, len) = dense(recv, count, datatype)?;
        if len > SHORT_BYTES {
            return None;
        }
        let (op, datatype_ref) = self.combines(op, datatype)?;
        let send = match send {
            Buffer::InPlace => None,
            Buffer::At(from) => {
                dense(from, count, datatype)?;
                if from == recv {
                    return None;
                }
                Some(from)
            }
        };
        let what = Operands { datatype: datatype_ref, count: count as usize, op: &op };
        self.at_once(comm, |p| allreduce::allreduce(p, send, recv, what))
    }

    #[inline]
    fn short_reduce(
        &mut self,
        comm: CommId,
        (send, recv): (Buffer, Buffer),
        (count, datatype): (i64, TypeId),
        op: OpId,
        root: u32,
    ) -> Option<Result<()>> {
        let at_root = self.comm(comm).ok()?.members.me == root;
        let (result, _) = match recv {
            Buffer::At(at) if at_root => dense(at, count, datatype)?,
            _ if at_root => return None,
            _ => (UserPtr::BOTTOM, 0),
        };
        let (mine, len) = match send {
            Buffer::At(at) if at_root && at == result => return None,
            Buffer::At(at) => dense(at, count, datatype)?,
            Buffer::InPlace if at_root => dense(result, count, datatype)?,
            Buffer::InPlace => return None,
        };
        if len > SHORT_BYTES || root >= self.comm_size(comm).ok()? {
            return None;
        }
        let (op, datatype) = self.combines(op, datatype)?;
        let what = Operands { datatype, count: count as usize, op: &op };
        self.at_once(comm, |p| reduce::reduce(p, Some(mine), result, what, root as usize))
    }

    #[inline]
    fn short_allgather(
        &mut self,
        comm: CommId,
        own: Data,
        (recv, recv_count, recv_type): Data,
    ) -> Option<Result<()>> {
        let Buffer::At(recv) = recv else { return None };
        let (recv, block) = dense(recv, recv_count, recv_type)?;
        let send = same_size(own, block)?;
        let n = self.own_ranks(comm)?;
        let fits = if self.prefers_direct(comm) && n > 2 {
            block <= DIRECT_BYTES && n <= SHORT_EXCHANGE_RANKS
        } else {
            block <= SHORT_BYTES && block * n <= 4 * SHORT_BYTES
        };
        if !fits {
            return None;
        }
        let me = self.comm(comm).ok()?.members.me as usize;
        if is_aliased(send, recv, me, block) {
            return None;
        }
        let all = Equal { base: recv, len: block };
        self.at_once(comm, |p| {
            let send = send.map(|at| Piece::bytes(at, block));
            allgather::allgather(p, send.as_ref(), &all);
        })
    }

    #[inline]
    fn short_alltoall(
        &mut self,
        comm: CommId,
        out: Data,
        (recv, recv_count, recv_type): Data,
    ) -> Option<Result<()>> {
        let Buffer::At(recv) = recv else { return None };
        let (recv, block) = dense(recv, recv_count, recv_type)?;
        let send = same_size(out, block)??;
        let (n, limit) = self.exchange_limits(comm)?;
        let packed = n >= ALLTOALL_SHORT_RANKS && block <= ALLTOALL_SHORT_BYTES;
        if block > limit || packed && block > 0 && limit == SHORT_BYTES {
            return None;
        }
        if is_aliased(Some(send), recv, 0, block) {
            return None;
        }
        let (out, into) = (Equal { base: send, len: block }, Equal { base: recv, len: block });
        self.at_once(comm, |p| alltoall::alltoall(p, Some(&out), &into))
    }

    #[inline]
    fn short_allgatherv(&mut self, comm: CommId, own: Data, all: DataOfEach) -> Option<Result<()>> {
        let (n, limit) = self.exchange_limits(comm)?;
        if n != 2 && limit == SHORT_BYTES {
            return None;
        }
        let blocks = places(all, (n, limit))?;
        let me = self.comm(comm).ok()?.members.me as usize;
        let (place, len) = blocks[me];
        let send = same_size(own, len)?;
        if is_aliased(send, place, 0, len) {
            return None;
        }
        self.at_once(comm, |p| {
            let send = send.map(|at| Piece::bytes(at, len));
            allgather::allgather(p, send.as_ref(), &Scattered(&blocks));
        })
    }

    #[inline]
    fn short_alltoallv(
        &mut self,
        comm: CommId,
        out: DataOfEach,
        into: DataOfEach,
    ) -> Option<Result<()>> {
        let (n, limit) = self.exchange_limits(comm)?;
        let (out, into) = (places(out, (n, limit))?, places(into, (n, limit))?);
        let me = self.comm(comm).ok()?.members.me as usize;
        let ((from, len), (to, room)) = (out[me], into[me]);
        if len != room || is_aliased(Some(from), to, 0, len) {
            return None;
        }
        self.at_once(comm, |p| alltoall::alltoall(p, Some(&Scattered(&out)), &Scattered(&into)))
    }

    /// The data of a gather or a scatter, if it is short and goes straight between root and ranks.
    #[inline]
    fn rooted(
        &self,
        comm: CommId,
        mine: Data,
        (all, count, datatype): Data,
        root: u32,
    ) -> Option<Rooted> {
        let n = self.comm_size(comm).ok()?;
        if n as usize >= GATHER_TREE_RANKS || root >= n {
            return None;
        }
        let (mine, base, len) = if self.comm(comm).ok()?.members.me == root {
            let Buffer::At(all) = all else { return None };
            let (all, len) = dense(all, count, datatype)?;
            let mine = same_size(mine, len)?;
            if is_aliased(mine, all, root as usize, len) {
                return None;
            }
            (mine, all, len)
        } else {
            let (Buffer::At(at), count, datatype) = mine else { return None };
            let (at, len) = dense(at, count, datatype)?;
            (Some(at), UserPtr::BOTTOM, len)
        };
        (len <= SHORT_BYTES).then_some(Rooted {
            mine,
            all: Equal { base, len },
            root: root as usize,
        })
    }

    #[inline]
    fn short_reduce_scatter(
        &mut self,
        comm: CommId,
        (send, recv): (Buffer, Buffer),
        count_of: impl Fn(usize) -> i64,
        datatype: TypeId,
        op: OpId,
    ) -> Option<Result<()>> {
        let n = self.own_ranks(comm).filter(|&n| n <= PAIRWISE_RANKS)?;
        let Buffer::At(result) = recv else { return None };
        let (op, datatype_ref) = self.combines(op, datatype)?;
        let mut blocks = [(UserPtr::BOTTOM, 0); PAIRWISE_RANKS];
        let (from, in_place) = match send {
            Buffer::At(from) => (from, false),
            Buffer::InPlace => (result, true),
        };
        let mut next = from;
        for (rank, block) in blocks.iter_mut().enumerate().take(n) {
            *block =
                dense(next, count_of(rank), datatype).filter(|&(_, len)| len <= SHORT_BYTES)?;
            next = next.offset(block.1 as i64);
        }
        let me = self.comm(comm).ok()?.members.me as usize;
        let (_, size) = dense(from, 1, datatype)?;
        if !in_place && (from == result || result.is_null()) {
            return None;
        }
        let what = Operands { datatype: datatype_ref, count: blocks[me].1 / size, op: &op };
        let block = |i: usize| Piece::bytes(blocks[i].0, blocks[i].1);
        self.at_once(comm, |p| reduce_scatter::pairwise(p, block, result, in_place, what))
    }

    /// A predefined operation that works on this predefined type, in any order of operands.
    #[inline]
    fn combines(&self, op: OpId, datatype: TypeId) -> Option<(Op, &'static Datatype)> {
        let op = **self.ops.get(op).ok()?;
        let builtin = Datatype::builtin(datatype.as_builtin()?);
        (matches!(op, Op::Predefined(_)) && op.commutes() && op.check(builtin).is_ok())
            .then_some((op, builtin))
    }

    /// See [`crate::collective::Steps::prefers_direct`].
    #[inline]
    fn prefers_direct(&mut self, comm: CommId) -> bool {
        self.oversubscribed && self.is_on_one_host(comm)
    }

    fn is_on_one_host(&mut self, comm: CommId) -> bool {
        let Some(entry) = self.comms.get_mut(comm.0) else { return false };
        let (members, hosts) = (&entry.members.local, &self.hosts);
        *entry.on_one_host.get_or_insert_with(|| {
            members.len() as usize <= DIRECT_RANKS_MAX && share_a_host(members, hosts)
        })
    }

    /// The limits of exchanges straight between all: how many ranks there are, and the largest
    /// message in bytes.
    #[inline]
    fn exchange_limits(&mut self, comm: CommId) -> Option<(usize, usize)> {
        let n = self.own_ranks(comm).filter(|&n| n <= SHORT_EXCHANGE_RANKS)?;
        Some((n, if self.prefers_direct(comm) { DIRECT_BYTES } else { SHORT_BYTES }))
    }

    /// How many ranks an intracommunicator has.
    #[inline]
    fn own_ranks(&self, comm: CommId) -> Option<usize> {
        let members = &self.comm(comm).ok()?.members;
        members.remote.is_none().then_some(members.local.len() as usize)
    }

    /// Runs an algorithm as the next collective of an intracommunicator.
    #[inline]
    fn at_once(
        &mut self,
        comm: CommId,
        algorithm: impl FnOnce(&mut Short<'_, L>),
    ) -> Option<Result<()>> {
        let direct = self.prefers_direct(comm);
        let entry = self.comms.get_mut(comm.0)?;
        if entry.members.remote.is_some() {
            return None;
        }
        entry.sequence = entry.sequence.wrapping_add(1);
        let tag = tag_of(entry.sequence);
        // Other threads may change the table of communicators while this one waits.
        let members: Rc<Members> = Rc::clone(&entry.members);
        let size = members.local.len();
        let call = CollectiveCall {
            ranks: &members.local,
            me: members.me as usize,
            size: size as usize,
            context: members.collective_context(),
            tag,
            same_as_world: comm == CommId::WORLD && size == self.engine.size(),
            direct,
        };
        let mut steps = Short::new(&mut self.engine, &mut self.pool, call);
        algorithm(&mut steps);
        Some(match steps.finish() {
            None => Ok(()),
            Some(error) => {
                let status = Status { error: Some(error), ..Status::EMPTY };
                Err(self.failed(error, status, comm))
            }
        })
    }
}
