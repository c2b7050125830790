//! Buffers for `MPI_Bsend` that the program attached (MPI-4.1, 3.6). The calls are in
//! `mpi::buffered`.

use crate::ids::{CommId, ReqId, SessionId};
use crate::usermem::{Scratch, UserPtr};
use std::collections::BTreeMap;

/// The object that a buffer is attached to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BufferOwner {
    /// `MPI_Buffer_attach`
    Process,
    /// `MPI_Comm_attach_buffer`
    Comm(CommId),
    /// `MPI_Session_attach_buffer`
    Session(SessionId),
}

pub(crate) struct Pending {
    /// The how many-th buffered send of this rank.
    pub(crate) number: u64,
    pub(crate) request: ReqId,
    pub(crate) copy: Scratch,
    pub(crate) bytes: usize,
}

/// One attached buffer and the sends that use it.
pub(crate) struct BsendBuffer {
    pub(crate) at: UserPtr,
    /// `None`: `MPI_BUFFER_AUTOMATIC`, as large as need be.
    pub(crate) size: Option<usize>,
    pub(crate) pending: Vec<Pending>,
    pub(crate) used: usize,
}

/// The attached buffers.
#[derive(Default)]
pub(crate) struct BsendBuffers {
    pub(crate) buffers: BTreeMap<BufferOwner, BsendBuffer>,
    pub(crate) sent: u64,
}
