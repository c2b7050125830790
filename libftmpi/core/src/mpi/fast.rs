//! Short blocking collectives on predefined types, straight to the engine.
//!
//! Guarantees: the messages are those that the schedules of [`crate::collective`] send, with the
//! same identities, so that ranks may differ in which way they take.

mod ways;

use super::{Collective, CommId, Mpi};
use crate::arguments::{Buffer, Counts, Peer, dense};
use crate::collective::{CROWD_MAX, PAIRWISE_RANKS, alltoall, gather, share_a_host, tag_of};
use crate::datatype::{Datatype, TypeId};
use crate::engine::Link;
use crate::error::Result;
use crate::op::{Op, OpId};
use crate::usermem::UserPtr;

/// Up to this many bytes in a message.
const SHORT_BYTES: usize = 8192;
/// Exchanges straight between all ranks: so many at most.
const DIRECT_RANKS: usize = 16;
/// Up to this many bytes in a message of such an exchange in a crowd. (Elsewhere receives are posted in time for
/// messages that are not short.)
const DIRECT_BYTES: usize = 64 << 10;

/// Where the block of each rank lies, and its bytes.
type BlockPlaces = [(UserPtr, usize); DIRECT_RANKS];

/// One collective of a communicator: where its messages belong.
#[derive(Clone, Copy)]
struct Line {
    comm: CommId,
    me: usize,
    size: usize,
    context: u16,
    tag: i32,
    /// Ranks of the communicator are those of the world.
    same_as_world: bool,
    /// See [`crate::collective::Plan::is_small_crowd`].
    crowded: bool,
}

/// What is combined.
#[derive(Clone, Copy)]
struct Operands {
    len: usize,
    count: usize,
    datatype: TypeId,
    op: Op,
}

/// The address of what a rank contributes, `None` if it is in place, if that has `len` bytes.
#[inline]
fn same_size(send: Buffer, count: i64, datatype: TypeId, len: usize) -> Option<Option<UserPtr>> {
    match send {
        Buffer::InPlace => Some(None),
        Buffer::At(at) => {
            let (at, bytes) = dense(at, count, datatype)?;
            (bytes == len).then_some(Some(at))
        }
    }
}

/// Where the blocks of `n` ranks lie, if all are of predefined types and have at most `limit` bytes.
#[inline]
fn places(
    base: UserPtr,
    counts: Counts,
    displacements: Counts,
    datatype: TypeId,
    (n, limit): (usize, usize),
) -> Option<BlockPlaces> {
    if n > DIRECT_RANKS || counts.is_null() || displacements.is_null() {
        return None;
    }
    let (_, extent) = dense(base, 1, datatype)?;
    let mut all = [(UserPtr::BOTTOM, 0); DIRECT_RANKS];
    for (i, block) in all.iter_mut().enumerate().take(n) {
        let at = base.offset(displacements.get(i).checked_mul(extent as i64)?);
        *block = dense(at, counts.get(i), datatype).filter(|&(_, len)| len <= limit)?;
    }
    Some(all)
}

/// Whether own data lie where block `me` of all does: an error, which the general path tells.
#[inline(always)]
fn is_aliased(own: Option<UserPtr>, all: UserPtr, me: usize, block: usize) -> bool {
    block > 0 && own == Some(all.offset((me * block) as i64))
}

impl<L: Link> Mpi<L> {
    /// Runs the call if it is one of the short ones.
    #[inline]
    pub(super) fn fast_collective(
        &mut self,
        comm: CommId,
        what: &Collective<'_>,
    ) -> Option<Result<()>> {
        match *what {
            Collective::Barrier => {
                let line = self.line(comm)?;
                Some(self.fast_barrier(line))
            }
            Collective::Bcast { buffer, count, datatype, root: Peer::Rank(root) } => {
                let (at, len) = dense(buffer, count, datatype)?;
                if len > SHORT_BYTES || root >= self.comm_size(comm).ok()? {
                    return None;
                }
                let line = self.line(comm)?;
                Some(match len {
                    0 => Ok(()),
                    _ => self.fast_bcast(line, at, len, root as usize),
                })
            }
            Collective::Allreduce { send, recv: Buffer::At(recv), count, datatype, op } => {
                let (at, len) = dense(recv, count, datatype)?;
                if len > SHORT_BYTES {
                    return None;
                }
                let op = self.combines(op, datatype)?;
                if let Buffer::At(from) = send {
                    dense(from, count, datatype)?;
                    if from == at {
                        return None;
                    }
                }
                let line = self.line(comm)?;
                if len == 0 {
                    return Some(Ok(()));
                }
                if let Buffer::At(from) = send {
                    from.copy_to(at, len);
                }
                Some(self.fast_allreduce(line, at, len, count as usize, datatype, op))
            }
            Collective::Reduce { send, recv, count, datatype, op, root: Peer::Rank(root) } => {
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
                let op = self.combines(op, datatype)?;
                let line = self.line(comm)?;
                if len == 0 {
                    return Some(Ok(()));
                }
                let what = Operands { len, count: count as usize, datatype, op };
                Some(self.fast_reduce(line, mine, result, what, root as usize))
            }
            Collective::Allgather {
                send,
                send_count,
                send_type,
                recv: Buffer::At(recv),
                recv_count,
                recv_type,
            } => {
                let (recv, block) = dense(recv, recv_count, recv_type)?;
                let send = same_size(send, send_count, send_type, block)?;
                let n = self.own_ranks(comm)?;
                let fits = if self.is_small_crowd(comm) && n > 2 {
                    block <= DIRECT_BYTES && n <= DIRECT_RANKS
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
                let line = self.line(comm)?;
                Some(match block {
                    0 => Ok(()),
                    _ => self.fast_allgather(line, send, recv, block),
                })
            }
            Collective::Alltoall {
                send: send @ Buffer::At(_),
                send_count,
                send_type,
                recv: Buffer::At(recv),
                recv_count,
                recv_type,
            } => {
                let (recv, block) = dense(recv, recv_count, recv_type)?;
                let send = same_size(send, send_count, send_type, block)??;
                let (n, limit) = self.exchange_limits(comm)?;
                let short = n >= alltoall::SHORT_RANKS && block <= alltoall::SHORT_BYTES;
                if block > limit || short && block > 0 && limit == SHORT_BYTES {
                    return None;
                }
                if is_aliased(Some(send), recv, 0, block) {
                    return None;
                }
                let line = self.line(comm)?;
                Some(match block {
                    0 => Ok(()),
                    _ => self.fast_alltoall(line, send, recv, block),
                })
            }
            Collective::Allgatherv {
                send,
                send_count,
                send_type,
                recv: Buffer::At(recv),
                recv_counts,
                recv_displs,
                recv_type,
            } => {
                let (n, limit) = self.exchange_limits(comm)?;
                if n != 2 && limit == SHORT_BYTES {
                    return None;
                }
                let blocks = places(recv, recv_counts, recv_displs, recv_type, (n, limit))?;
                let me = self.comm(comm).ok()?.members.me as usize;
                let send = same_size(send, send_count, send_type, blocks[me].1)?;
                if is_aliased(send, blocks[me].0, 0, blocks[me].1) {
                    return None;
                }
                let line = self.line(comm)?;
                Some(self.fast_allgatherv(line, send, &blocks))
            }
            Collective::Alltoallv {
                send: Buffer::At(send),
                send_counts,
                send_displs,
                send_type,
                recv: Buffer::At(recv),
                recv_counts,
                recv_displs,
                recv_type,
            } => {
                let (n, limit) = self.exchange_limits(comm)?;
                let out = places(send, send_counts, send_displs, send_type, (n, limit))?;
                let into = places(recv, recv_counts, recv_displs, recv_type, (n, limit))?;
                let me = self.comm(comm).ok()?.members.me as usize;
                let ((from, len), (to, room)) = (out[me], into[me]);
                if len != room || is_aliased(Some(from), to, 0, len) {
                    return None;
                }
                let line = self.line(comm)?;
                Some(self.fast_alltoallv(line, &out, &into))
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
                let n = self.comm_size(comm).ok()?;
                if n as usize >= gather::TREE_RANKS || root >= n {
                    return None;
                }
                let (mine, all, len) = if self.comm(comm).ok()?.members.me == root {
                    let Buffer::At(all) = recv else { return None };
                    let (all, len) = dense(all, recv_count, recv_type)?;
                    let mine = same_size(send, send_count, send_type, len)?;
                    if is_aliased(mine, all, root as usize, len) {
                        return None;
                    }
                    (mine, all, len)
                } else {
                    let Buffer::At(mine) = send else { return None };
                    let (mine, len) = dense(mine, send_count, send_type)?;
                    (Some(mine), UserPtr::BOTTOM, len)
                };
                if len > SHORT_BYTES {
                    return None;
                }
                let line = self.line(comm)?;
                Some(match len {
                    0 => Ok(()),
                    _ => self.fast_gather(line, mine, all, len, root as usize),
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
                let n = self.comm_size(comm).ok()?;
                if n as usize >= gather::TREE_RANKS || root >= n {
                    return None;
                }
                let (mine, all, len) = if self.comm(comm).ok()?.members.me == root {
                    let Buffer::At(all) = send else { return None };
                    let (all, len) = dense(all, send_count, send_type)?;
                    let mine = same_size(recv, recv_count, recv_type, len)?;
                    if is_aliased(mine, all, root as usize, len) {
                        return None;
                    }
                    (mine, all, len)
                } else {
                    let Buffer::At(mine) = recv else { return None };
                    let (mine, len) = dense(mine, recv_count, recv_type)?;
                    (Some(mine), UserPtr::BOTTOM, len)
                };
                if len > SHORT_BYTES {
                    return None;
                }
                let line = self.line(comm)?;
                Some(match len {
                    0 => Ok(()),
                    _ => self.fast_scatter(line, mine, all, len, root as usize),
                })
            }
            Collective::ReduceScatter { send, recv, recv_counts, datatype, op } => {
                if recv_counts.is_null() {
                    return None;
                }
                let count_of = |rank| recv_counts.get(rank);
                self.fast_reduction_spread(comm, (send, recv), count_of, datatype, op)
            }
            Collective::ReduceScatterBlock { send, recv, recv_count, datatype, op } => {
                self.fast_reduction_spread(comm, (send, recv), |_| recv_count, datatype, op)
            }
            _ => None,
        }
    }

    /// `MPI_Reduce_scatter`, if all blocks are short.
    fn fast_reduction_spread(
        &mut self,
        comm: CommId,
        (send, recv): (Buffer, Buffer),
        count_of: impl Fn(usize) -> i64,
        datatype: TypeId,
        op: OpId,
    ) -> Option<Result<()>> {
        let n = self.own_ranks(comm).filter(|&n| n <= PAIRWISE_RANKS)?;
        let Buffer::At(result) = recv else { return None };
        let op = self.combines(op, datatype)?;
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
        let count = blocks[me].1 / size;
        let what = Operands { len: blocks[me].1, count, datatype, op };
        let line = self.line(comm)?;
        Some(self.fast_reduce_scatter(line, &blocks, result, in_place, what))
    }

    /// A predefined operation that works on this predefined type, in any order of operands.
    #[inline]
    fn combines(&self, op: OpId, datatype: TypeId) -> Option<Op> {
        let op = **self.ops.get(op).ok()?;
        let builtin = Datatype::builtin(datatype.as_builtin()?);
        (matches!(op, Op::Predefined(_)) && op.commutes() && op.check(builtin).is_ok())
            .then_some(op)
    }

    /// See [`crate::collective::Plan::is_small_crowd`].
    #[inline]
    fn is_small_crowd(&mut self, comm: CommId) -> bool {
        self.crowded && self.is_on_one_host(comm)
    }

    fn is_on_one_host(&mut self, comm: CommId) -> bool {
        let Some(entry) = self.comms.get_mut(comm.0) else { return false };
        let (members, hosts) = (&entry.members.local, &self.hosts);
        *entry.on_one_host.get_or_insert_with(|| {
            members.len() as usize <= CROWD_MAX && share_a_host(members, hosts)
        })
    }

    /// For exchanges straight between all: how many ranks there are, and up to which length of messages.
    #[inline]
    fn exchange_limits(&mut self, comm: CommId) -> Option<(usize, usize)> {
        let n = self.own_ranks(comm).filter(|&n| n <= DIRECT_RANKS)?;
        Some((n, if self.is_small_crowd(comm) { DIRECT_BYTES } else { SHORT_BYTES }))
    }

    /// How many ranks an intracommunicator has.
    #[inline]
    fn own_ranks(&self, comm: CommId) -> Option<usize> {
        let members = &self.comm(comm).ok()?.members;
        members.remote.is_none().then_some(members.local.len() as usize)
    }

    /// The next collective of an intracommunicator.
    #[inline]
    fn line(&mut self, comm: CommId) -> Option<Line> {
        let world = self.engine.size();
        let crowded = self.is_small_crowd(comm);
        let entry = self.comms.get_mut(comm.0)?;
        let members = &entry.members;
        if members.remote.is_some() {
            return None;
        }
        entry.sequence = entry.sequence.wrapping_add(1);
        Some(Line {
            comm,
            me: members.me as usize,
            size: members.local.len() as usize,
            context: members.collective_context(),
            tag: tag_of(entry.sequence),
            same_as_world: comm == CommId::WORLD && members.local.len() == world,
            crowded,
        })
    }
}
