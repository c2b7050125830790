//! Names of objects: what a front's handles are decoded into, and what the engine hands out.
//!
//! Guarantees: a [`Request`] has the number that the common MPICH ABI uses for its handle. A front
//! for that ABI hands an array of the program's requests over without a copy. All other ids are
//! plain indices. This module imports nothing of the crate.

/// A communicator: index into the facade's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommId(pub u32);

impl CommId {
    /// `MPI_COMM_WORLD`.
    pub const WORLD: Self = Self(0);
    /// `MPI_COMM_SELF`.
    pub const SELF: Self = Self(1);
}

/// An error handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ErrhandlerId(pub u32);

impl ErrhandlerId {
    /// `MPI_ERRORS_ARE_FATAL`.
    pub const FATAL: Self = Self(0);
    /// `MPI_ERRORS_RETURN`.
    pub const RETURN: Self = Self(1);
    /// `MPI_ERRORS_ABORT` of MPI-4.
    pub const ABORT: Self = Self(2);
    /// The program has set none: `MPI_ERRORS_ARE_FATAL`, but once `MPI_COMM_WORLD` has one, that.
    /// So it is in MPICH, and programs that set the world's handler after they made communicators
    /// rely on it.
    pub const DEFAULT: Self = Self(3);

    /// `MPI::ERRORS_THROW_EXCEPTIONS` of the C++ bindings of MPICH: the call returns the error, and
    /// the bindings throw.
    pub const THROW: Self = Self(u32::MAX);

    /// The handler that the program gets to see.
    #[must_use]
    pub fn or_fatal(self) -> Self {
        if self == Self::DEFAULT { Self::FATAL } else { self }
    }
}

/// A session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(pub u32);

/// A request, by its MPICH handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Request(pub u32);

impl Request {
    /// `MPI_REQUEST_NULL`.
    pub const NULL: Self = Self(0x2c00_0000);
    /// A request that was complete when it was made (an eager send, communication with
    /// `MPI_PROC_NULL`). All of these share it, and it needs no slot. In another incarnation of the
    /// rank the same send may get a slot, so that no decision may depend on the difference.
    pub const DONE: Self = Self(0x6c00_0000);
    const LIVE: u32 = 0xac00_0000;
    const INDEX: u32 = 0x03ff_ffff;

    /// The request in slot `index`.
    #[must_use]
    pub const fn at(index: u32) -> Self {
        Self(Self::LIVE | (index & Self::INDEX))
    }

    /// The slot, if this is neither `NULL` nor `DONE` nor no request at all.
    #[must_use]
    pub const fn index(self) -> Option<u32> {
        if self.0 & !Self::INDEX == Self::LIVE { Some(self.0 & Self::INDEX) } else { None }
    }
}

/// A message that `MPI_Mprobe` took out of matching, by its MPICH handle (which is a request's).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Message(pub u32);

impl Message {
    /// `MPI_MESSAGE_NULL`.
    pub const NULL: Self = Self(0x2c00_0000);
    /// `MPI_MESSAGE_NO_PROC`: "received" from `MPI_PROC_NULL`.
    pub const NO_PROC: Self = Self(0x6c00_0000);
}

/// A window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WinId(pub u32);

/// A file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// A request of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReqId(pub u32);

/// A message that was taken out of matching by a matched probe, or waits unexpected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MessageId(pub u32);

/// A schedule that was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskId(pub(crate) u32);
