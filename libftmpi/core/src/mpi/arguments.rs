//! Checks of the arguments of calls.

use super::{Mpi, TAG_UB};
use crate::arguments::{Peer, dense};
use crate::bail;
use crate::collective::Piece;
use crate::comm::Members;
use crate::datatype::TypeId;
use crate::engine::{Link, RecvData, SendData, Source, Tag};
use crate::error::Result;
use crate::ids::CommId;
use crate::usermem::UserPtr;
use ftmpi_wire::Rank;

/// A destination, found.
pub(super) enum Destination {
    /// This rank of the world, in this context.
    To(Rank, u32),
    /// `MPI_PROC_NULL`
    Nowhere,
}

/// A source, found.
pub(super) enum Origin {
    /// From there, in this context.
    From(Source, u32),
    /// `MPI_PROC_NULL`
    Nowhere,
}

#[inline]
pub(super) fn send_tag(tag: i32) -> Result<i32> {
    if tag < 0 {
        bail!(Tag, "tag is {tag}, must be between 0 and {TAG_UB}");
    }
    Ok(tag)
}

#[inline]
pub(super) fn recv_tag(tag: Tag) -> Result<Tag> {
    if let Tag::Is(value) = tag {
        send_tag(value)?;
    }
    Ok(tag)
}

#[cold]
fn bad_rank<T>(rank: u32, members: &Members) -> Result<T> {
    bail!(Rank, "rank {} is not in a communicator of size {}", rank as i32, members.peers().len())
}

#[inline]
pub(super) fn world_rank(members: &Members, rank: u32) -> Result<Rank> {
    match members.peers().world(rank) {
        Some(world) => Ok(world),
        None => bad_rank(rank, members),
    }
}

/// A count that may not be negative.
#[inline]
pub(super) fn number(what: &str, count: i64) -> Result<usize> {
    if count < 0 {
        bail!(Count, "{what} is {count}, must not be negative");
    }
    Ok(count as usize)
}

impl<L: Link> Mpi<L> {
    #[inline]
    pub(super) fn destination(&self, to: Peer, comm: CommId) -> Result<Destination> {
        let members = &self.comm(comm)?.members;
        match to {
            Peer::Rank(rank) => Ok(Destination::To(world_rank(members, rank)?, members.context)),
            Peer::ProcNull => Ok(Destination::Nowhere),
            Peer::Any | Peer::Root => bail!(Rank, "a message cannot be sent to MPI_ANY_SOURCE"),
        }
    }

    #[inline]
    pub(super) fn origin(&self, from: Peer, comm: CommId) -> Result<Origin> {
        let members = &self.comm(comm)?.members;
        match from {
            Peer::Rank(rank) => {
                Ok(Origin::From(Source::Rank(world_rank(members, rank)?), members.context))
            }
            Peer::Any => Ok(Origin::From(Source::Any, members.context)),
            Peer::ProcNull => Ok(Origin::Nowhere),
            Peer::Root => bail!(Rank, "MPI_ROOT is no source of a message"),
        }
    }

    /// A buffer argument of any type.
    pub(super) fn piece(&self, at: UserPtr, count: i64, datatype: TypeId) -> Result<Piece> {
        let count = number("count", count)?;
        let datatype = self.types.committed(datatype)?;
        match datatype.total_size(count as u64) {
            Some(0) => return Ok(Piece::bytes(at, 0)),
            Some(_) if at.is_null() && datatype.as_builtin().is_some() => {
                bail!(Buffer, "the buffer is a null pointer, but {count} elements are asked for")
            }
            Some(_) if datatype.span(count as u64).is_some() => {}
            _ => bail!(Count, "{count} elements of the datatype do not fit into memory"),
        }
        Ok(Piece::typed(at, count, datatype))
    }

    #[inline(always)]
    pub(super) fn outgoing(&self, at: UserPtr, count: i64, datatype: TypeId) -> Result<SendData> {
        match dense(at, count, datatype) {
            Some((ptr, len)) => Ok(SendData::Bytes { ptr, len }),
            None => Ok(self.piece(at, count, datatype)?.to_send()),
        }
    }

    #[inline(always)]
    pub(super) fn incoming(&self, at: UserPtr, count: i64, datatype: TypeId) -> Result<RecvData> {
        match dense(at, count, datatype) {
            Some((ptr, len)) => Ok(RecvData::Bytes { ptr, len }),
            None => Ok(self.piece(at, count, datatype)?.to_receive()),
        }
    }
}
