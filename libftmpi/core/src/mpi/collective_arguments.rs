//! The arguments of a collective, checked and resolved into what a schedule is made of.
//!
//! Guarantees (MPI-4.1, chapter 6): arguments that are not significant at this rank are not looked
//! at. A wrong argument is reported with its name and value before anything is sent.

use super::arguments::number;
use super::{Buffer, Counts, Peer};
use super::{Collective, CommId, Mpi};
use crate::bail;
use crate::collective::{Blocks, Call, Elements, Neighbors, Piece, Root, Spread, TypeRef};
use crate::comm::Members;
use crate::datatype::TypeId;
use crate::engine::Link;
use crate::error::Result;
use crate::op::{Op, OpId, Predefined};
use crate::topology::Topology;
use crate::usermem::UserPtr;
use std::rc::Rc;

/// A buffer that cannot be in place.
pub(super) fn address(buffer: Buffer, what: &str) -> Result<UserPtr> {
    match buffer {
        Buffer::At(at) => Ok(at),
        Buffer::InPlace => bail!(Buffer, "MPI_IN_PLACE cannot stand for the {what} buffer here"),
    }
}

/// A buffer that may be in place.
fn unless_in_place(buffer: Buffer) -> Option<UserPtr> {
    match buffer {
        Buffer::At(at) => Some(at),
        Buffer::InPlace => None,
    }
}

/// The part of this rank in a rooted call, and whether it is the root.
fn role(members: &Members, root: Peer) -> Result<(Root, bool)> {
    match (&members.remote, root) {
        (None, Peer::Rank(rank)) if rank < members.local.len() => {
            Ok((Root::Remote(rank as usize), rank == members.me))
        }
        (Some(remote), Peer::Rank(rank)) if rank < remote.len() => {
            Ok((Root::Remote(rank as usize), false))
        }
        (Some(_), Peer::Root) => Ok((Root::Me, true)),
        (Some(_), Peer::ProcNull) => Ok((Root::Bystander, false)),
        (_, Peer::Rank(rank)) => bail!(
            Root,
            "root {} is not in a communicator of size {}",
            rank as i32,
            members.peers().len()
        ),
        _ => bail!(Root, "this root is only possible on an intercommunicator"),
    }
}

fn nothing() -> Piece {
    Piece::bytes(UserPtr::BOTTOM, 0)
}

impl<L: Link> Mpi<L> {
    pub(super) fn operands(
        &self,
        count: i64,
        datatype: TypeId,
        op: OpId,
    ) -> Result<(Elements, Op)> {
        let op = **self.ops.get(op)?;
        let count = number("count", count)?;
        let datatype = self.types.committed(datatype)?;
        op.check(datatype)?;
        if datatype.span(count as u64).is_none() || datatype.total_size(count as u64).is_none() {
            bail!(Count, "{count} elements of the datatype do not fit into memory");
        }
        Ok((Elements { datatype: datatype.clone(), count }, op))
    }

    fn uniform(&self, base: UserPtr, count: i64, datatype: TypeId) -> Result<Blocks> {
        // Checks count and type for one block.
        self.piece(base, count, datatype)?;
        let datatype = self.types.committed(datatype)?.clone();
        Ok(Blocks { base, spread: Spread::Uniform { count: count as usize, datatype } })
    }

    fn counts(counts: Counts, n: usize) -> Result<Rc<[usize]>> {
        if counts.is_null() && n > 0 {
            bail!(Arg, "an array of counts is a null pointer");
        }
        (0..n).map(|i| number("a count", counts.get(i))).collect()
    }

    fn places(displacements: Counts, n: usize) -> Result<Rc<[i64]>> {
        if displacements.is_null() && n > 0 {
            bail!(Arg, "an array of displacements is a null pointer");
        }
        Ok((0..n).map(|i| displacements.get(i)).collect())
    }

    fn checked_sizes<'t>(
        counts: &[usize],
        types: impl IntoIterator<Item = &'t TypeRef>,
    ) -> Result<()> {
        for (&count, datatype) in counts.iter().zip(types) {
            let count = count as u64;
            if datatype.span(count).is_none() || datatype.total_size(count).is_none() {
                bail!(Count, "{count} elements of the datatype do not fit into memory");
            }
        }
        Ok(())
    }

    fn varied(
        &self,
        base: UserPtr,
        counts: Counts,
        displacements: Counts,
        datatype: TypeId,
        n: usize,
    ) -> Result<Blocks> {
        let datatype = self.types.committed(datatype)?.clone();
        let (counts, displacements) = (Self::counts(counts, n)?, Self::places(displacements, n)?);
        Self::checked_sizes(&counts, std::iter::repeat_n(&datatype, n))?;
        Ok(Blocks { base, spread: Spread::Varied { counts, displacements, datatype } })
    }

    fn mixed(
        &self,
        base: UserPtr,
        counts: Counts,
        displacements: Counts,
        types: &[TypeId],
        n: usize,
    ) -> Result<Blocks> {
        if types.len() != n {
            bail!(Arg, "{} datatypes are given for {n} blocks", types.len());
        }
        let datatypes: Rc<[TypeRef]> =
            types.iter().map(|&id| self.types.committed(id).cloned()).collect::<Result<_>>()?;
        let (counts, displacements) = (Self::counts(counts, n)?, Self::places(displacements, n)?);
        Self::checked_sizes(&counts, datatypes.iter())?;
        Ok(Blocks { base, spread: Spread::Mixed { counts, displacements, datatypes } })
    }

    /// One block for all destinations of a neighbourhood. If there are none, the buffer is not
    /// looked at.
    fn neighbor_piece(&self, at: UserPtr, count: i64, datatype: TypeId, n: usize) -> Result<Piece> {
        if n > 0 {
            return self.piece(at, count, datatype);
        }
        number("count", count)?;
        self.types.committed(datatype)?;
        Ok(nothing())
    }

    /// The same for blocks one after the other.
    fn neighbor_blocks(
        &self,
        at: UserPtr,
        count: i64,
        datatype: TypeId,
        n: usize,
    ) -> Result<Blocks> {
        if n > 0 {
            return self.uniform(at, count, datatype);
        }
        number("count", count)?;
        self.types.committed(datatype)?;
        self.no_blocks()
    }

    fn no_blocks(&self) -> Result<Blocks> {
        let byte = TypeId::builtin(crate::datatype::Builtin::Byte);
        self.uniform(UserPtr::BOTTOM, 0, byte)
    }

    fn neighbors(&self, comm: CommId) -> Result<Neighbors> {
        let me = self.comm_rank(comm)?;
        let Some(topology) = self.topology(comm)? else {
            bail!(Topology, "the communicator has no topology, so that no rank has neighbours");
        };
        let (sources, destinations) = topology.neighbors(me);
        if let Topology::Cart(_) = topology {
            let sides: Vec<_> = sources
                .as_chunks::<2>()
                .0
                .iter()
                .map(|[below, above]| (below.map(|r| r as usize), above.map(|r| r as usize)))
                .collect();
            return Ok(Neighbors::grid(&sides));
        }
        let ranks =
            |list: &[Option<u32>]| list.iter().flatten().map(|&r| r as usize).collect::<Vec<_>>();
        Ok(Neighbors::graph(&ranks(&sources), &ranks(&destinations)))
    }

    /// Checks arguments and looks objects up.
    pub(super) fn resolve(
        &self,
        comm: CommId,
        members: &Members,
        what: &Collective<'_>,
    ) -> Result<Call> {
        use Collective as C;
        let call = match what {
            C::Barrier => Call::Barrier,
            C::Bcast { .. }
            | C::Gather { .. }
            | C::Gatherv { .. }
            | C::Scatter { .. }
            | C::Scatterv { .. } => self.resolve_rooted(members, what)?,
            C::Allgather { .. }
            | C::Allgatherv { .. }
            | C::Alltoall { .. }
            | C::Alltoallv { .. }
            | C::Alltoallw { .. } => self.resolve_exchange(members, what)?,
            C::Reduce { .. }
            | C::Allreduce { .. }
            | C::Scan { .. }
            | C::Exscan { .. }
            | C::ReduceScatter { .. }
            | C::ReduceScatterBlock { .. } => self.resolve_reduction(members, what)?,
            C::NeighborAllgather { .. }
            | C::NeighborAllgatherv { .. }
            | C::NeighborAlltoall { .. }
            | C::NeighborAlltoallv { .. }
            | C::NeighborAlltoallw { .. } => self.resolve_neighborhood(comm, what)?,
        };
        if members.remote.is_some() && !call.works_between_groups() {
            bail!(Comm, "this collective (or MPI_IN_PLACE) is not defined on an intercommunicator");
        }
        if members.remote.is_none() && call.is_aliased(members.me as usize) {
            bail!(Buffer, "the send and the receive buffer are the same memory: use MPI_IN_PLACE");
        }
        Ok(call)
    }

    /// Broadcast, gather and scatter.
    fn resolve_rooted(&self, members: &Members, what: &Collective<'_>) -> Result<Call> {
        let n = members.peers().len() as usize;
        Ok(match *what {
            Collective::Bcast { buffer, count, datatype, root } => {
                let (root, _) = role(members, root)?;
                let data = if root == Root::Bystander {
                    nothing()
                } else {
                    self.piece(buffer, count, datatype)?
                };
                Call::Bcast { data, root }
            }
            Collective::Gather {
                send,
                send_count,
                send_type,
                recv,
                recv_count,
                recv_type,
                root,
            } => {
                let (root, here) = role(members, root)?;
                let send = self.contribution(send, send_count, send_type, root, here, members)?;
                let recv = if here {
                    self.uniform(address(recv, "receive")?, recv_count, recv_type)?
                } else {
                    self.no_blocks()?
                };
                Call::Gather { send, recv, root, uniform: true }
            }
            Collective::Gatherv {
                send,
                send_count,
                send_type,
                recv,
                recv_counts,
                recv_displs,
                recv_type,
                root,
            } => {
                let (root, here) = role(members, root)?;
                let send = self.contribution(send, send_count, send_type, root, here, members)?;
                let recv = if here {
                    self.varied(address(recv, "receive")?, recv_counts, recv_displs, recv_type, n)?
                } else {
                    self.no_blocks()?
                };
                Call::Gather { send, recv, root, uniform: false }
            }
            Collective::Scatter {
                send,
                send_count,
                send_type,
                recv,
                recv_count,
                recv_type,
                root,
            } => {
                let (root, here) = role(members, root)?;
                let recv = self.contribution(recv, recv_count, recv_type, root, here, members)?;
                let send = if here {
                    self.uniform(address(send, "send")?, send_count, send_type)?
                } else {
                    self.no_blocks()?
                };
                Call::Scatter { send, recv, root, uniform: true }
            }
            Collective::Scatterv {
                send,
                send_counts,
                send_displs,
                send_type,
                recv,
                recv_count,
                recv_type,
                root,
            } => {
                let (root, here) = role(members, root)?;
                let recv = self.contribution(recv, recv_count, recv_type, root, here, members)?;
                let send = if here {
                    self.varied(address(send, "send")?, send_counts, send_displs, send_type, n)?
                } else {
                    self.no_blocks()?
                };
                Call::Scatter { send, recv, root, uniform: false }
            }
            _ => unreachable!("resolve() gives this function its own family only"),
        })
    }

    /// Allgather and all-to-all.
    fn resolve_exchange(&self, members: &Members, what: &Collective<'_>) -> Result<Call> {
        let n = members.peers().len() as usize;
        Ok(match *what {
            Collective::Allgather { send, send_count, send_type, recv, recv_count, recv_type } => {
                Call::Allgather {
                    send: self.piece_unless_in_place(send, send_count, send_type)?,
                    recv: self.uniform(address(recv, "receive")?, recv_count, recv_type)?,
                }
            }
            Collective::Allgatherv {
                send,
                send_count,
                send_type,
                recv,
                recv_counts,
                recv_displs,
                recv_type,
            } => Call::Allgather {
                send: self.piece_unless_in_place(send, send_count, send_type)?,
                recv: self.varied(
                    address(recv, "receive")?,
                    recv_counts,
                    recv_displs,
                    recv_type,
                    n,
                )?,
            },
            Collective::Alltoall { send, send_count, send_type, recv, recv_count, recv_type } => {
                let send = match unless_in_place(send) {
                    Some(at) => Some(self.uniform(at, send_count, send_type)?),
                    None => None,
                };
                let recv = self.uniform(address(recv, "receive")?, recv_count, recv_type)?;
                Call::Alltoall { send, recv }
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
                let send = match unless_in_place(send) {
                    Some(at) => Some(self.varied(at, send_counts, send_displs, send_type, n)?),
                    None => None,
                };
                let at = address(recv, "receive")?;
                let recv = self.varied(at, recv_counts, recv_displs, recv_type, n)?;
                Call::Alltoall { send, recv }
            }
            Collective::Alltoallw {
                send,
                send_counts,
                send_displs,
                send_types,
                recv,
                recv_counts,
                recv_displs,
                recv_types,
            } => {
                let send = match unless_in_place(send) {
                    Some(at) => Some(self.mixed(at, send_counts, send_displs, send_types, n)?),
                    None => None,
                };
                let at = address(recv, "receive")?;
                let recv = self.mixed(at, recv_counts, recv_displs, recv_types, n)?;
                Call::Alltoall { send, recv }
            }
            _ => unreachable!("resolve() gives this function its own family only"),
        })
    }

    /// Reductions and scans.
    fn resolve_reduction(&self, members: &Members, what: &Collective<'_>) -> Result<Call> {
        Ok(match *what {
            Collective::Reduce { send, recv, count, datatype, op, root } => {
                let (root, here) = role(members, root)?;
                if root == Root::Bystander {
                    return self.no_reduction();
                }
                let (elements, op) = self.operands(count, datatype, op)?;
                let send = match unless_in_place(send) {
                    Some(at) => Some(at),
                    None if here => None,
                    None => bail!(Buffer, "MPI_IN_PLACE is possible at the root only"),
                };
                let recv = if here { address(recv, "receive")? } else { UserPtr::BOTTOM };
                Call::Reduce { send, recv, elements, op, root }
            }
            Collective::Allreduce { send, recv, count, datatype, op } => {
                let (elements, op) = self.operands(count, datatype, op)?;
                let recv = address(recv, "receive")?;
                Call::Allreduce { send: unless_in_place(send), recv, elements, op }
            }
            Collective::Scan { send, recv, count, datatype, op }
            | Collective::Exscan { send, recv, count, datatype, op } => {
                let (elements, op) = self.operands(count, datatype, op)?;
                Call::Scan {
                    send: unless_in_place(send),
                    recv: address(recv, "receive")?,
                    elements,
                    op,
                    inclusive: matches!(what, Collective::Scan { .. }),
                }
            }
            Collective::ReduceScatter { send, recv, recv_counts, datatype, op } => {
                let counts = Self::counts(recv_counts, members.local.len() as usize)?;
                self.reduce_scatter(send, recv, counts, datatype, op)?
            }
            Collective::ReduceScatterBlock { send, recv, recv_count, datatype, op } => {
                let count = number("recvcount", recv_count)?;
                let counts: Rc<[usize]> = vec![count; members.local.len() as usize].into();
                self.reduce_scatter(send, recv, counts, datatype, op)?
            }
            _ => unreachable!("resolve() gives this function its own family only"),
        })
    }

    /// The part of a rank in the root's group that is not the root.
    fn no_reduction(&self) -> Result<Call> {
        let byte = TypeId::builtin(crate::datatype::Builtin::Byte);
        let elements = Elements { datatype: self.types.committed(byte)?.clone(), count: 0 };
        let (send, recv, op) = (UserPtr::BOTTOM, UserPtr::BOTTOM, Op::Predefined(Predefined::Sum));
        Ok(Call::Reduce { send: Some(send), recv, elements, op, root: Root::Bystander })
    }

    /// Collectives with the neighbours of a topology.
    fn resolve_neighborhood(&self, comm: CommId, what: &Collective<'_>) -> Result<Call> {
        let neighbors = self.neighbors(comm)?;
        Ok(match *what {
            Collective::NeighborAllgather {
                send,
                send_count,
                send_type,
                recv,
                recv_count,
                recv_type,
            } => {
                let (at, n) = (address(send, "send")?, neighbors.destinations.len());
                let send = self.neighbor_piece(at, send_count, send_type, n)?;
                let (at, n) = (address(recv, "receive")?, neighbors.sources.len());
                let recv = self.neighbor_blocks(at, recv_count, recv_type, n)?;
                Call::NeighborAllgather { neighbors, send, recv }
            }
            Collective::NeighborAllgatherv {
                send,
                send_count,
                send_type,
                recv,
                recv_counts,
                recv_displs,
                recv_type,
            } => {
                let (at, n) = (address(send, "send")?, neighbors.destinations.len());
                let send = self.neighbor_piece(at, send_count, send_type, n)?;
                let (at, n) = (address(recv, "receive")?, neighbors.sources.len());
                let recv = self.varied(at, recv_counts, recv_displs, recv_type, n)?;
                Call::NeighborAllgather { neighbors, send, recv }
            }
            Collective::NeighborAlltoall {
                send,
                send_count,
                send_type,
                recv,
                recv_count,
                recv_type,
            } => {
                let (at, n) = (address(send, "send")?, neighbors.destinations.len());
                let send = self.neighbor_blocks(at, send_count, send_type, n)?;
                let (at, n) = (address(recv, "receive")?, neighbors.sources.len());
                let recv = self.neighbor_blocks(at, recv_count, recv_type, n)?;
                Call::NeighborAlltoall { neighbors, send, recv }
            }
            Collective::NeighborAlltoallv {
                send,
                send_counts,
                send_displs,
                send_type,
                recv,
                recv_counts,
                recv_displs,
                recv_type,
            } => {
                let (from, n) = (address(send, "send")?, neighbors.destinations.len());
                let send = self.varied(from, send_counts, send_displs, send_type, n)?;
                let (to, n) = (address(recv, "receive")?, neighbors.sources.len());
                let recv = self.varied(to, recv_counts, recv_displs, recv_type, n)?;
                Call::NeighborAlltoall { neighbors, send, recv }
            }
            Collective::NeighborAlltoallw {
                send,
                send_counts,
                send_displs,
                send_types,
                recv,
                recv_counts,
                recv_displs,
                recv_types,
            } => {
                let (from, n) = (address(send, "send")?, neighbors.destinations.len());
                let send = self.mixed(from, send_counts, send_displs, send_types, n)?;
                let (to, n) = (address(recv, "receive")?, neighbors.sources.len());
                let recv = self.mixed(to, recv_counts, recv_displs, recv_types, n)?;
                Call::NeighborAlltoall { neighbors, send, recv }
            }
            _ => unreachable!("resolve() gives this function its own family only"),
        })
    }

    /// This rank's own block of a gather or scatter; `None`: it is in place.
    fn contribution(
        &self,
        buffer: Buffer,
        count: i64,
        datatype: TypeId,
        root: Root,
        here: bool,
        members: &Members,
    ) -> Result<Option<Piece>> {
        // On an intercommunicator only the group without the root contributes.
        if members.remote.is_some() && !matches!(root, Root::Remote(_)) {
            return Ok(Some(nothing()));
        }
        match buffer {
            Buffer::At(at) => self.piece(at, count, datatype).map(Some),
            Buffer::InPlace if here => Ok(None),
            Buffer::InPlace => bail!(Buffer, "MPI_IN_PLACE is possible at the root only"),
        }
    }

    fn piece_unless_in_place(
        &self,
        buffer: Buffer,
        count: i64,
        datatype: TypeId,
    ) -> Result<Option<Piece>> {
        match unless_in_place(buffer) {
            Some(at) => self.piece(at, count, datatype).map(Some),
            None => Ok(None),
        }
    }

    fn reduce_scatter(
        &self,
        send: Buffer,
        recv: Buffer,
        counts: Rc<[usize]>,
        datatype: TypeId,
        op: OpId,
    ) -> Result<Call> {
        let total = counts.iter().try_fold(0usize, |sum, &count| sum.checked_add(count));
        let Some(total) = total.and_then(|total| i64::try_from(total).ok()) else {
            bail!(Count, "the counts add up to too much");
        };
        let (elements, op) = self.operands(total, datatype, op)?;
        let recv = address(recv, "receive")?;
        Ok(Call::ReduceScatter { send: unless_in_place(send), recv, elements, counts, op })
    }
}
