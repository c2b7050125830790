//! Requests of the program: one slot for everything that can be waited for (MPI-4.1, 3.7).

pub(crate) mod agreement;
pub(crate) mod partitioned;

use crate::arguments::SendKind;
use crate::bsend::BufferOwner;
use crate::collective::{Call, Piece};
use crate::comm::{Members, Offer};
use crate::engine::{Source, Tag};
use crate::ids::{CommId, ReqId, TaskId};
use crate::status::Status;
use crate::usermem::Scratch;
use crate::window::SharedTransfer;
use agreement::Agreement;
use ftmpi_wire::Rank;
use partitioned::{PartitionedRecv, PartitionedSend, Parts};
use std::rc::Rc;

/// The operation of a request.
pub enum Active {
    /// A send of the engine.
    Send(ReqId),
    /// A send that was complete at once: in another incarnation of this rank it may not be.
    Sent,
    /// A receive of the engine, and whose ranks its status is in.
    Recv(ReqId, Rc<Members>),
    /// A receive whose message was there at once: in another incarnation of this rank it may not
    /// be.
    Came(Status),
    /// Both at once (`MPI_Isendrecv`), with the copy that is sent, if a copy is sent.
    Exchange {
        /// The send, unless it was complete at once.
        send: Option<ReqId>,
        /// The receive, unless it is from `MPI_PROC_NULL`.
        recv: Option<ReqId>,
        /// Whose ranks the status is in.
        members: Rc<Members>,
        /// Payload of the send, if it is a copy.
        copy: Option<Scratch>,
    },
    /// A collective, and the members whose context it uses.
    Schedule(TaskId, Rc<Members>),
    /// `MPI_Comm_idup`: the agreement on a context.
    Duplicate(Box<Duplicate>),
    /// `MPIX_Comm_iagree`, `MPIX_Comm_ishrink`
    Agreement(Box<Agreement>),
    /// A one-sided operation.
    OneSided(SharedTransfer),
    /// Complete in every incarnation: it was complete when it was made, or the program knows it.
    Known(Status),
    /// A generalized request: complete when the program says so.
    Generalized(Generalized),
    /// `MPI_Buffer_iflush`: complete when the buffered sends up to a number are out.
    Flush(BufferOwner, u64),
    /// The send half of partitioned communication.
    PartitionedSend(Box<PartitionedSend>),
    /// The receive half of partitioned communication.
    PartitionedRecv(Box<PartitionedRecv>),
}

/// A generalized request.
#[derive(Debug, Clone, Copy)]
pub struct Generalized {
    /// The functions of the program and their argument.
    pub callbacks: Callbacks,
    /// `MPI_Grequest_complete` was called.
    pub complete: bool,
    /// `MPI_Request_free` was called before that.
    pub released: bool,
}

/// The functions of a generalized request and their argument. Only a front knows how to call them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Callbacks {
    /// Fills in the status.
    pub query: usize,
    /// Frees what the program keeps for the request.
    pub free: usize,
    /// Called for `MPI_Cancel`.
    pub cancel: usize,
    /// `extra_state`
    pub state: usize,
}

/// The functions that are to be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallbackKind {
    /// The query function; the request stays.
    Query,
    /// The query and the free function: the request is gone.
    QueryAndFree,
    /// The request is gone, and its status is not wanted.
    Free,
}

/// Functions of the program that are to be called before the call returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingCallback {
    /// The functions.
    pub kind: CallbackKind,
    /// Their addresses.
    pub callbacks: Callbacks,
    /// The place of the status among the call's statuses.
    pub place: usize,
}

/// A communicator whose context is being agreed upon.
pub struct Duplicate {
    /// The exchange.
    pub task: TaskId,
    /// The communicator, which has no context of its own yet.
    pub new: CommId,
    /// The one that it is a duplicate of.
    pub parent: Rc<Members>,
    /// What this rank offered.
    pub offer: Offer,
    /// The offers of all ranks, when the exchange is complete, and room for those of the other
    /// group.
    pub masks: [Scratch; 2],
}

/// The operation that a persistent request begins at every start.
pub enum Template {
    /// A send.
    Send {
        /// How it completes.
        kind: SendKind,
        /// Payload.
        data: Piece,
        /// The destination and its context; `None`: `MPI_PROC_NULL`.
        to: Option<(Rank, u32)>,
        /// Its tag.
        tag: i32,
    },
    /// A receive.
    Recv {
        /// Place of the payload.
        into: Piece,
        /// The source and its context; `None`: `MPI_PROC_NULL`.
        from: Option<(Source, u32)>,
        /// With which tag.
        tag: Tag,
        /// Whose ranks the status is in.
        members: Rc<Members>,
    },
    /// A collective, and the tag of its messages.
    Collective(Box<Call>, i32, Rc<Members>),
    /// The send half of partitioned communication.
    PartitionedSend(Parts),
    /// The receive half of partitioned communication.
    PartitionedRecv(Parts),
}

/// Memory that stands for the program's during a collective: array sections of Fortran.
pub trait Staging {
    /// It is to begin (again): what is sent comes from the program.
    fn begin(&mut self);
    /// It is over: what was received goes to the program, once.
    fn end(&mut self);
}

/// A request of the program.
pub struct Slot {
    /// The communicator, for errors.
    pub comm: CommId,
    /// The operation; `None`: a persistent request that is not started.
    pub active: Option<Active>,
    /// For a persistent request.
    pub template: Option<Rc<Template>>,
}

/// The state of a request, as far as it is known without the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestState {
    /// Null, or not started.
    Inactive,
    /// Complete, in every incarnation of this rank.
    Known,
    /// Complete or not: that depends on timing.
    Open,
}

impl Slot {
    /// A request for one operation.
    #[must_use]
    pub fn once(comm: CommId, active: Active) -> Self {
        Self { comm, active: Some(active), template: None }
    }

    /// A persistent request.
    #[must_use]
    pub fn persistent(comm: CommId, template: Template) -> Self {
        Self { comm, active: None, template: Some(Rc::new(template)) }
    }

    /// The state that is known at once.
    #[must_use]
    pub fn state(&self) -> RequestState {
        match &self.active {
            None => RequestState::Inactive,
            Some(Active::Known(_) | Active::Generalized(Generalized { complete: true, .. })) => {
                RequestState::Known
            }
            Some(_) => RequestState::Open,
        }
    }

    /// Whether an operation is under way.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.active.is_some()
    }
}
