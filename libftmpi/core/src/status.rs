//! The status of a message (MPI-4.1, 3.2.5).

use crate::arguments::Peer;
use crate::comm::Members;
use crate::engine::{Completion, Envelope, Tag};
use crate::error::ErrorClass;

/// A status in core terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// The sender, as a rank of the communicator.
    pub source: Peer,
    /// With which tag.
    pub tag: Tag,
    /// Bytes received.
    pub bytes: u64,
    /// It was cancelled.
    pub cancelled: bool,
    /// The error, if there was one.
    pub error: Option<ErrorClass>,
    /// There was no operation: the request was null or not started.
    pub no_operation: bool,
}

impl Status {
    /// The status of operations that have none (MPI-3.1, 3.7.3).
    pub const EMPTY: Self = Self {
        source: Peer::Any,
        tag: Tag::Any,
        bytes: 0,
        cancelled: false,
        error: None,
        no_operation: false,
    };
    /// The *empty status* of a request that is null or not started, to which `MPI_SUCCESS` belongs.
    pub const NO_OPERATION: Self = Self { no_operation: true, ..Self::EMPTY };
    /// The status of communication with `MPI_PROC_NULL`.
    pub const PROC_NULL: Self = Self { source: Peer::ProcNull, ..Self::EMPTY };

    /// The status of a receive on the communicator of `members`.
    #[inline]
    pub(crate) fn received(done: &Completion, members: &Members) -> Self {
        if done.cancelled {
            return Self { cancelled: true, error: done.error, ..Self::EMPTY };
        }
        Self {
            source: members.rank_of(done.source).map_or(Peer::Any, Peer::Rank),
            tag: Tag::Is(done.tag),
            bytes: done.bytes,
            cancelled: false,
            error: done.error,
            no_operation: false,
        }
    }

    /// The status of a send.
    #[inline]
    pub(crate) fn sent(done: &Completion) -> Self {
        Self { cancelled: done.cancelled, error: done.error, ..Self::EMPTY }
    }

    /// The status of a message that a probe saw.
    pub(crate) fn seen(envelope: &Envelope, members: &Members) -> Self {
        Self {
            source: members.rank_of(envelope.source).map_or(Peer::Any, Peer::Rank),
            tag: Tag::Is(envelope.tag),
            bytes: envelope.bytes,
            cancelled: false,
            error: None,
            no_operation: false,
        }
    }
}
