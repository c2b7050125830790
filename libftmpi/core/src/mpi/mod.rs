//! The facade: everything of MPI above the engine, one method for each call.
//!
//! Arguments are in terms of the core (ids, addresses with their promise, [`Peer`], [`Tag`]). They
//! are checked here, so a front only decodes its handles and constants.
//!
//! Guarantees: every argument error is answered before anything is sent. Every answer that depends
//! on timing goes through [`Engine::decide`], so a replayed rank gets it again.
//!
//! | file | calls |
//! | --- | --- |
//! | `point` | send, receive, probe |
//! | `buffered` | `MPI_Bsend` and its buffer |
//! | `completion`, `completion_lists` | wait and test, for one request and for lists |
//! | `waitsome_record` | the record of the requests that a call chose |
//! | `request_free` | free, cancel |
//! | `inquiry`, `generalized` | status of requests that stay; requests that the program completes |
//! | `persistent`, `partitioned` | start; messages whose parts become ready one by one |
//! | `checks` | what is compared and reported on request |
//! | `sessions` | sessions, process sets, communicators from groups |
//! | `collectives`, `short_collectives` | all collectives; short ones |
//! | `going_on` | going on without ranks that have died |
//! | `communicators`, `agreement`, `intercomms` | making and freeing communicators |
//! | `properties` | names, error handlers, attributes, info |
//! | `topologies` | grids and graphs |
//! | `files`, `file_access`, `counters` | files |
//! | `windows`, `epochs`, `one_sided` | windows, their synchronisation, operations on them |

mod agreement;
mod arguments;
mod buffered;
mod checks;
mod collective_arguments;
mod collective_calls;
mod collectives;
mod communicators;
mod completion;
mod completion_lists;
mod counters;
mod epochs;
mod file_access;
mod file_effects;
mod file_together;
mod files;
mod generalized;
mod going_on;
mod inquiry;
mod intercomms;
mod new_processes;
mod one_sided;
mod partitioned;
mod persistent;
mod point;
mod properties;
mod request_free;
mod sessions;
mod short_collectives;
#[cfg(test)]
mod tests;
mod topologies;
mod waitsome_record;
mod windows;

pub use crate::request::agreement::Agreement;
pub use collective_calls::Collective;
pub use communicators::SplitType;
pub use completion_lists::TestAny;
pub use epochs::Assert;
pub use file_access::{FileBuffer, Pointer};
pub use files::Whence;
pub use new_processes::{JoinCard, Spawned, SpawnedPart};
pub use one_sided::{OneSided, OriginBuffer, TargetBuffer};
pub use partitioned::PartitionedBuffer;
pub use point::{Incoming, Outgoing};
pub use sessions::PROCESS_SETS;

pub use crate::arguments::{Buffer, Counts, Peer, SendKind};
pub use crate::bsend::BufferOwner;
pub use crate::engine::Tag;
pub use crate::errhandler::{Errhandler, Language};
pub use crate::ids::{CommId, ErrhandlerId, Message, Request, SessionId};
pub use crate::request::{CallbackKind, PendingCallback};
pub use crate::status::Status;

use crate::attribute::Keyvals;
use crate::bail;
use crate::bsend::BsendBuffers;
use crate::collective::Pool;
use crate::comm::{Comm, Contexts, Members};
use crate::datatype::TypeTable;
use crate::engine::{Engine, Link};
use crate::errhandler::Handlers;
use crate::error::Result;
use crate::file::Files;
use crate::group::{Group, GroupTable};
use crate::ids::{MessageId, WinId};
use crate::info::InfoTable;
use crate::op::OpTable;
use crate::request::partitioned::Partitions;
use crate::request::{Slot, Staging};
use crate::session::Session;
use crate::slab::Slab;
use std::rc::Rc;

/// The largest tag of a program (`MPI_TAG_UB`).
pub const TAG_UB: i32 = i32::MAX;

/// MPI of one rank.
pub struct Mpi<L: Link> {
    /// Carries messages.
    pub engine: Engine<L>,
    /// Datatypes.
    pub types: TypeTable,
    /// Reduction operations.
    pub ops: OpTable,
    /// Groups.
    pub groups: GroupTable,
    /// Hints.
    pub infos: InfoTable,
    /// Keys of attributes.
    pub keyvals: Keyvals,
    files: Files,
    comms: Slab<Comm>,
    contexts: Contexts,
    requests: Slab<Slot>,
    /// Memory that stands for the program's, of collectives under way and persistent ones.
    staged: Vec<(Request, Box<dyn Staging>)>,
    messages: Slab<(MessageId, CommId, Rc<Members>)>,
    pool: Pool,
    handlers: Handlers,
    bsend: BsendBuffers,
    partitions: Partitions,
    sessions: Slab<Session>,
    callbacks: Vec<PendingCallback>,
    /// Choices of `MPI_Waitsome` and its relatives that filled a record.
    turn: u64,
    checks: bool,
    /// The text for the collective that was completed last, if its comparison failed.
    error_text: Option<String>,
    /// Number of each rank's host, as this incarnation found it.
    hosts: Vec<u32>,
    /// Segments of shared memory that this rank has named.
    segments_named: u32,
    /// Some host has more ranks than processors.
    oversubscribed: bool,
    /// The number of this rank's host, as the program got it.
    host: Option<u32>,
    processor_name: Option<Vec<u8>>,
    /// The communicator with the processes that spawned this one, until it is freed.
    parent: Option<CommId>,
    /// Connections by `MPI_Comm_join` so far.
    joins: u32,
    blamed: CommId,
    last_status: Status,
}

/// Stands where no communicator is to blame.
const NOBODY: CommId = CommId(u32::MAX);

impl<L: Link> Mpi<L> {
    /// MPI over `engine`. `hosts[i]` is the host on which rank `i` was started (only equality
    /// counts). `oversubscribed`: a host then had more ranks than processors. All ranks are given
    /// the same, in all incarnations.
    pub fn new(engine: Engine<L>, hosts: Vec<u32>, oversubscribed: bool) -> Self {
        let size = engine.size();
        let me = engine.me();
        let mut contexts = Contexts::default();
        let (mut engine, mut comms) = (engine, Slab::new());
        let world = Members { context: 0, local: Group::identity(size), me: me.0, remote: None };
        let only = Group::new(&[me]).expect("one member is not listed twice");
        let alone = Members { context: 2, local: only, me: 0, remote: None };
        for (members, name) in [(world, "MPI_COMM_WORLD"), (alone, "MPI_COMM_SELF")] {
            contexts.take(members.context);
            let mut comm = Comm::new(members, ErrhandlerId::DEFAULT);
            comm.name = name.into();
            engine.enter_group(&comm.members);
            // An empty table has room: the numbers are 0 and 1.
            let _ = comms.insert(comm);
        }
        Self {
            engine,
            types: TypeTable::default(),
            ops: OpTable::default(),
            groups: GroupTable::default(),
            infos: InfoTable::default(),
            keyvals: Keyvals::default(),
            files: Files::default(),
            comms,
            contexts,
            requests: Slab::new(),
            staged: Vec::new(),
            messages: Slab::new(),
            pool: Pool::default(),
            handlers: Handlers::default(),
            bsend: BsendBuffers::default(),
            partitions: Partitions::default(),
            sessions: Slab::new(),
            callbacks: Vec::new(),
            turn: 0,
            checks: false,
            error_text: None,
            hosts,
            segments_named: 0,
            oversubscribed,
            host: None,
            processor_name: None,
            parent: None,
            joins: 0,
            blamed: NOBODY,
            last_status: Status::EMPTY,
        }
    }

    /// So few pairs of context ids that they are given again soon, and so many generations that are
    /// told apart: for tests, before there is another communicator than those of the standard.
    pub fn narrow_contexts(&mut self, pairs: u32, generations: u64) {
        self.contexts = Contexts::narrow(pairs, generations);
        for (_, comm) in self.comms.iter() {
            self.contexts.take(comm.members.context);
        }
    }

    /// The communicator of the request that failed last: whose error handler is to be asked.
    #[must_use]
    pub fn blamed(&self) -> CommId {
        if self.comms.contains(self.blamed.0) { self.blamed } else { self.of_no_object() }
    }

    /// A call on requests begins: what fails before it comes to one has nothing to do with an
    /// earlier one.
    #[inline]
    pub fn clear_blame(&mut self) {
        self.blamed = NOBODY;
    }

    /// The window of that request, if it was of a one-sided operation: no program has a request on
    /// the communicator of a window.
    #[must_use]
    pub fn blamed_win(&self) -> Option<WinId> {
        self.engine.windows.of_comm(self.blamed)
    }

    /// The status of the operation that failed last.
    #[must_use]
    pub fn last_status(&self) -> Status {
        self.last_status
    }

    #[inline]
    fn comm(&self, id: CommId) -> Result<&Comm> {
        match self.comms.get(id.0) {
            Some(comm) => Ok(comm),
            None => bail!(Comm, "there is no communicator number {}: was it freed?", id.0),
        }
    }

    fn comm_mut(&mut self, id: CommId) -> Result<&mut Comm> {
        match self.comms.get_mut(id.0) {
            Some(comm) => Ok(comm),
            None => bail!(Comm, "there is no communicator number {}: was it freed?", id.0),
        }
    }

    fn members(&self, id: CommId) -> Result<Rc<Members>> {
        Ok(Rc::clone(&self.comm(id)?.members))
    }

    /// The number of requests that are still open, for a warning: they must be complete before
    /// `MPI_Finalize` ends.
    #[must_use]
    pub fn open_requests(&self) -> usize {
        self.requests.iter().filter(|(_, slot)| slot.is_open()).count()
    }
}
