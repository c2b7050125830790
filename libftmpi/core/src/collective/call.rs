//! A collective call with all its arguments resolved. A schedule is written from it: once for a
//! blocking or non-blocking call, at every start for a persistent one.

use super::data::{Blocks, Elements, PerRank, Piece};
use super::inter::{self, Root, Sides};
use super::neighbor::{self, Neighbors};
use super::plan::Plan;
use super::schedule::Carrier;
use super::{allgather, allreduce, alltoall, barrier, bcast, gather, reduce, reduce_scatter, scan};
use crate::op::Op;
use crate::usermem::UserPtr;
use std::rc::Rc;

/// The call. Roots are [`Root::Remote`] with a rank of the communicator's only group, if it is an
/// intracommunicator. Pieces and addresses that are `None` are in place.
#[derive(Clone)]
#[allow(missing_docs)]
pub enum Call {
    Barrier,
    Bcast {
        data: Piece,
        root: Root,
    },
    Gather {
        send: Option<Piece>,
        recv: Blocks,
        root: Root,
        uniform: bool,
    },
    Scatter {
        send: Blocks,
        recv: Option<Piece>,
        root: Root,
        uniform: bool,
    },
    Allgather {
        send: Option<Piece>,
        recv: Blocks,
    },
    Alltoall {
        send: Option<Blocks>,
        recv: Blocks,
    },
    Reduce {
        send: Option<UserPtr>,
        recv: UserPtr,
        elements: Elements,
        op: Op,
        root: Root,
    },
    Allreduce {
        send: Option<UserPtr>,
        recv: UserPtr,
        elements: Elements,
        op: Op,
    },
    Scan {
        send: Option<UserPtr>,
        recv: UserPtr,
        elements: Elements,
        op: Op,
        inclusive: bool,
    },
    ReduceScatter {
        send: Option<UserPtr>,
        recv: UserPtr,
        elements: Elements,
        counts: Rc<[usize]>,
        op: Op,
    },
    NeighborAllgather {
        neighbors: Neighbors,
        send: Piece,
        recv: Blocks,
    },
    NeighborAlltoall {
        neighbors: Neighbors,
        send: Blocks,
        recv: Blocks,
    },
}

impl Call {
    /// Whether the program gave the same memory for its own data and for their target, on an
    /// intracommunicator. MPI forbids it (MPI-4.1, 6.2 and 2.5.1); the program means
    /// `MPI_IN_PLACE`.
    #[must_use]
    pub fn is_aliased(&self, me: usize) -> bool {
        // Elements that other types select at the same address may lie between each other.
        let same = |from: &Piece, to: &Piece| {
            from.at == to.at && !from.is_empty() && !to.is_empty() && from.is_laid_out_as(to)
        };
        let here = |root: &Root| matches!(root, Root::Remote(rank) if *rank == me);
        match self {
            Call::Gather { send: Some(send), recv, root, .. } if here(root) => {
                same(send, &recv.piece(me))
            }
            Call::Scatter { send, recv: Some(recv), root, .. } if here(root) => {
                same(&send.piece(me), recv)
            }
            Call::Allgather { send: Some(send), recv } => same(send, &recv.piece(me)),
            Call::Alltoall { send: Some(send), recv } => same(&send.piece(me), &recv.piece(me)),
            Call::Reduce { send: Some(send), recv, elements, root, .. } if here(root) => {
                send == recv && elements.count > 0
            }
            Call::Allreduce { send: Some(send), recv, elements, .. }
            | Call::Scan { send: Some(send), recv, elements, .. } => {
                send == recv && elements.count > 0
            }
            Call::ReduceScatter { send: Some(send), recv, counts, .. } => {
                send == recv && counts.iter().any(|&count| count > 0)
            }
            _ => false,
        }
    }

    /// Writes this rank's part down, on an intracommunicator.
    pub fn write<C: Carrier>(&self, p: &mut Plan<'_, C>) {
        match self {
            Call::Barrier => barrier::barrier(p),
            Call::Bcast { data, root } => bcast::bcast(p, data, rank_of(*root)),
            Call::Gather { send, recv, root, uniform } => {
                gather::gather(p, send.as_ref(), recv, rank_of(*root), *uniform);
            }
            Call::Scatter { send, recv, root, uniform } => {
                gather::scatter(p, send, recv.as_ref(), rank_of(*root), *uniform);
            }
            Call::Allgather { send, recv } => allgather::allgather(p, send.as_ref(), recv),
            Call::Alltoall { send, recv } => alltoall::alltoall(p, send.as_ref(), recv),
            Call::Reduce { send, recv, elements, op, root } => {
                reduce::reduce(p, *send, *recv, elements.with(op), rank_of(*root));
            }
            Call::Allreduce { send, recv, elements, op } => {
                allreduce::allreduce(p, *send, *recv, elements.with(op));
            }
            Call::Scan { send, recv, elements, op, inclusive } => {
                scan::scan(p, *send, *recv, elements.with(op), *inclusive);
            }
            Call::ReduceScatter { send, recv, elements, counts, op } => {
                reduce_scatter::reduce_scatter(p, *send, *recv, counts, elements.with(op));
            }
            Call::NeighborAllgather { neighbors, send, recv } => {
                neighbor::allgather(p, neighbors, send, recv);
            }
            Call::NeighborAlltoall { neighbors, send, recv } => {
                neighbor::alltoall(p, neighbors, send, recv);
            }
        }
    }

    /// Writes this rank's part down, on an intercommunicator. Calls that MPI does not define there
    /// have been refused before; they write nothing.
    pub fn write_between<'a, C: Carrier>(&self, p: &mut Plan<'a, C>, sides: Sides<'a>) {
        match self {
            Call::Barrier => inter::barrier(p, sides),
            Call::Bcast { data, root } => inter::bcast(p, sides, data, *root),
            Call::Gather { send: Some(send), recv, root, .. } => {
                inter::gather(p, sides, send, recv, *root);
            }
            Call::Scatter { send, recv: Some(recv), root, .. } => {
                inter::scatter_out(p, sides, send, recv, *root);
            }
            Call::Allgather { send: Some(send), recv } => inter::allgather(p, sides, send, recv),
            Call::Alltoall { send: Some(send), recv } => inter::alltoall(p, sides, send, recv),
            Call::Reduce { send: Some(send), recv, elements, op, root } => {
                inter::reduce_out(p, sides, *send, *recv, elements.with(op), *root);
            }
            Call::Allreduce { send: Some(send), recv, elements, op } => {
                inter::allreduce(p, sides, *send, *recv, elements.with(op));
            }
            Call::ReduceScatter { send: Some(send), recv, elements, counts, op } => {
                inter::reduce_scatter(p, sides, *send, *recv, counts, elements.with(op));
            }
            _ => {}
        }
    }

    /// Whether MPI defines this call on intercommunicators.
    #[must_use]
    pub fn works_between_groups(&self) -> bool {
        !matches!(
            self,
            Call::Scan { .. }
                | Call::NeighborAllgather { .. }
                | Call::NeighborAlltoall { .. }
                | Call::Gather { send: None, .. }
                | Call::Scatter { recv: None, .. }
                | Call::Allgather { send: None, .. }
                | Call::Alltoall { send: None, .. }
                | Call::Reduce { send: None, .. }
                | Call::Allreduce { send: None, .. }
                | Call::ReduceScatter { send: None, .. }
        )
    }
}

/// The root's rank on an intracommunicator.
fn rank_of(root: Root) -> usize {
    match root {
        Root::Remote(rank) => rank,
        Root::Me | Root::Bystander => unreachable!("roots are checked when a call is resolved"),
    }
}
