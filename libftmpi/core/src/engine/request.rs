//! Requests of the engine: sends that are not out yet and receives.

use crate::datatype::Datatype;
use crate::error::ErrorClass;
use crate::usermem::UserPtr;
use ftmpi_wire::{Rank, Ssn};

/// The sender of a message (world rank).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// `MPI_ANY_SOURCE`
    Any,
    /// This rank.
    Rank(Rank),
}

/// The tag of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// `MPI_ANY_TAG`
    Any,
    /// This tag.
    Is(i32),
}

/// How a send completes. (Buffered mode is made of these by `mpi`.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendMode {
    /// When the payload may be reused.
    Standard,
    /// When the message was matched as well.
    Synchronous,
    /// As standard: the program says that the receive is posted.
    Ready,
}

/// The payload of a send, in memory of the program.
#[derive(Debug, Clone)]
pub enum SendData {
    /// One piece.
    Bytes {
        /// First byte.
        ptr: UserPtr,
        /// How many.
        len: usize,
    },
    /// `count` elements of a datatype.
    Typed {
        /// The buffer argument.
        ptr: UserPtr,
        /// Elements.
        count: u64,
        /// Their type.
        datatype: Datatype,
    },
    /// Bytes of the library.
    Owned(Vec<u8>),
}

/// Where a receive puts its payload, in memory of the program.
#[derive(Debug, Clone)]
pub enum RecvData {
    /// One piece.
    Bytes {
        /// First byte.
        ptr: UserPtr,
        /// How many fit.
        len: usize,
    },
    /// `count` elements of a datatype.
    Typed {
        /// The buffer argument.
        ptr: UserPtr,
        /// Elements.
        count: u64,
        /// Their type.
        datatype: Datatype,
    },
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The sender (world rank).
    pub source: Rank,
    /// Its tag.
    pub tag: i32,
    /// Bytes received.
    pub bytes: u64,
    /// It was cancelled.
    pub cancelled: bool,
    /// What went wrong with it.
    pub error: Option<ErrorClass>,
}

impl Completion {
    /// The completion of what is not complete yet, and of sends.
    pub(in crate::engine) const NOTHING: Self =
        Self { source: Rank(0), tag: 0, bytes: 0, cancelled: false, error: None };
}

/// What a probe sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Envelope {
    /// The sender (world rank).
    pub source: Rank,
    /// Its tag.
    pub tag: i32,
    /// Bytes of payload.
    pub bytes: u64,
    /// The number of the message at its sender.
    pub ssn: Ssn,
}

/// State of a request.
#[derive(Debug)]
pub(super) struct Request {
    pub kind: RequestKind,
    pub done: bool,
    /// `MPI_Request_free` was called: the request goes when it is done.
    pub detached: bool,
    pub completion: Completion,
}

/// The kind of a request.
#[derive(Debug)]
pub(super) enum RequestKind {
    /// A send: complete when the frame is out and, if `unacknowledged`, matched.
    Send { out: bool, unacknowledged: bool },
    /// A receive.
    Recv {
        into: RecvData,
        /// Packed bytes of a payload that is not one piece in memory.
        staging: Option<Vec<u8>>,
        /// Node in the matcher while it is posted.
        posted: Option<u32>,
        /// Where to look first while waiting.
        from: Source,
    },
}

impl Request {
    /// A request that is not complete.
    #[inline]
    pub fn new(kind: RequestKind) -> Self {
        Self { kind, done: false, detached: false, completion: Completion::NOTHING }
    }

    /// A receive has its message and is posted no more, wherever the payload may be.
    pub fn has_matched(&mut self) {
        if let RequestKind::Recv { posted, .. } = &mut self.kind {
            *posted = None;
        }
    }
}
