//! Arguments of calls in core terms, and their checks.

use super::{CommId, Mpi, TAG_UB};
use crate::bail;
use crate::collective::Piece;
use crate::comm::Members;
use crate::datatype::{Builtin, TypeId};
use crate::engine::{Link, RecvData, SendData, Source, Tag};
use crate::error::Result;
use crate::usermem::UserPtr;
use ftmpi_wire::Rank;

/// A rank argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// A rank of the communicator. Not checked yet: a negative number that is no constant of the
    /// front arrives as a huge one.
    Rank(u32),
    /// `MPI_PROC_NULL`
    ProcNull,
    /// `MPI_ANY_SOURCE`
    Any,
    /// `MPI_ROOT`
    Root,
}

/// How a send is to complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendKind {
    /// `MPI_Send`
    Standard,
    /// `MPI_Bsend`
    Buffered,
    /// `MPI_Ssend`
    Synchronous,
    /// `MPI_Rsend`
    Ready,
}

/// A buffer argument of a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffer {
    /// This address.
    At(UserPtr),
    /// `MPI_IN_PLACE`
    InPlace,
}

/// An array argument of counts or displacements, one for each process.
#[derive(Debug, Clone, Copy)]
pub struct Counts {
    at: UserPtr,
    wide: bool,
}

impl Counts {
    /// An array of `int`.
    ///
    /// # Safety
    /// It has one entry for each process that the call is about, until the call returns.
    #[must_use]
    pub unsafe fn i32(at: *const i32) -> Self {
        // SAFETY: as promised by the caller.
        Self { at: unsafe { UserPtr::new(at.cast()) }, wide: false }
    }

    /// An array of `MPI_Count` or `MPI_Aint`.
    ///
    /// # Safety
    /// As for [`Counts::i32`].
    #[must_use]
    pub unsafe fn i64(at: *const i64) -> Self {
        // SAFETY: as promised by the caller.
        Self { at: unsafe { UserPtr::new(at.cast()) }, wide: true }
    }

    /// Entry number `i`.
    #[must_use]
    pub fn get(&self, i: usize) -> i64 {
        if self.wide {
            self.at.offset(8 * i as i64).load::<i64>()
        } else {
            i64::from(self.at.offset(4 * i as i64).load::<i32>())
        }
    }

    /// Whether the address is null.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.at.is_null()
    }
}

/// Size of each predefined type whose values lie contiguously; 0 for the others.
static DENSE: [u8; 256] = {
    let mut sizes = [0; 256];
    let mut i = 0;
    while i < Builtin::ALL.len() {
        let builtin = Builtin::ALL[i];
        if builtin.size() == builtin.extent() {
            sizes[builtin as usize] = builtin.size() as u8;
        }
        i += 1;
    }
    sizes
};

/// A destination, found.
pub(super) enum Destination {
    /// This rank of the world, in this context.
    To(Rank, u16),
    /// `MPI_PROC_NULL`
    Nowhere,
}

/// A source, found.
pub(super) enum Origin {
    /// From there, in this context.
    From(Source, u16),
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

/// Address and length of a buffer of a predefined contiguous type: the fast way.
#[inline(always)]
pub(super) fn dense(at: UserPtr, count: i64, datatype: TypeId) -> Option<(UserPtr, usize)> {
    let size = *DENSE.get(datatype.0 as usize)?;
    if size == 0 || !(0..=i64::from(i32::MAX)).contains(&count) || (at.is_null() && count > 0) {
        return None;
    }
    Some((at, count as usize * usize::from(size)))
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
