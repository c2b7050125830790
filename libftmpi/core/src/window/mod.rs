//! One-sided communication (MPI-3.1, chapter 11) as active messages.
//!
//! The origin sends a [`request::Request`] in a context that belongs to the window alone; the
//! target carries it out and replies. Operations between fences are carried out in the target's own
//! fence, by rank and order of the origin. Nothing there depends on timing, and accumulates of
//! floating point numbers give the same bits in every run. All others are served whenever the
//! target is in the library, in an order that is recorded (`crate::engine`, `services`).
//!
//! Guarantees: operations of one origin are carried out in the order in which they were called. So
//! accumulates are ordered as the default of `accumulate_ordering` demands. Each is carried out at
//! once. Nothing outside the window is touched.
//!
//! | file | what |
//! | --- | --- |
//! | `request` | what goes over the wire |
//! | `locks` | who may access |
//! | `memory` | storing and combining |
//! | `serve` | the target's loop |
//! | `mpi::windows`, `mpi::epochs`, `mpi::one_sided` | the calls |

pub(crate) mod arrived;
pub mod locks;
pub mod memory;
pub mod request;
pub(crate) mod serve;

use crate::attribute::Attributes;
use crate::bail;
use crate::comm::Members;
use crate::error::{ErrorClass, Result};
use crate::ids::{CommId, ErrhandlerId, ReqId, WinId};
use crate::info::Info;
use crate::slab::Slab;
use crate::usermem::{ProgramMemory, UserPtr};
use arrived::Arrived;
use locks::Locks;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// How a window got its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavor {
    /// `MPI_Win_create`
    Create,
    /// `MPI_Win_allocate`
    Allocate,
    /// `MPI_Win_create_dynamic`
    Dynamic,
    /// `MPI_Win_allocate_shared`
    Shared,
}

/// What a member contributed to a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Part {
    /// Bytes.
    pub size: u64,
    /// Bytes of one unit of displacement.
    pub unit: i64,
    /// Where it begins in a segment that all share.
    pub begin: u64,
}

impl Part {
    /// Bytes from the begin of the part, if data of this span fit there.
    pub fn offset(&self, disp: i64, span: (i64, i64)) -> Result<i64> {
        let fits = || -> Option<i64> {
            let offset = disp.checked_mul(self.unit)?;
            let (low, high) = (offset.checked_add(span.0)?, offset.checked_add(span.1)?);
            (low >= 0 && high as u64 <= self.size).then_some(offset)
        };
        match fits() {
            Some(offset) => Ok(offset),
            None => bail!(
                RmaRange,
                "displacement {disp} (in units of {} bytes) with data from {} to {} is outside of a \
                 window of {} bytes",
                self.unit,
                span.0,
                span.1,
                self.size
            ),
        }
    }
}

/// Messages of one operation that this rank still waits for.
#[derive(Debug, Default)]
pub struct Transfer {
    /// The reply, and how many bytes it must have.
    pub reply: Option<(ReqId, u64)>,
    /// Data that are on their way.
    pub sends: Vec<ReqId>,
    /// What went wrong.
    pub error: Option<ErrorClass>,
}

/// Shared by the window and, if it has one, the request of the operation.
pub type SharedTransfer = Rc<RefCell<Transfer>>;

/// What this rank, as an origin, knows about one target.
#[derive(Debug, Default)]
pub struct TargetState {
    /// The target is locked by this rank; `true`: exclusively.
    pub lock: Option<bool>,
    /// The target was asked for the lock.
    pub asked: bool,
    /// Nothing may be done under the lock before the target has said that it granted it. Another
    /// thread may wait for that.
    pub grant_awaited: bool,
    /// Operations since the last fence.
    pub fenced: u64,
    /// Something was sent that no flush has asked about.
    pub unflushed: bool,
    /// Flushes that asked, and the last of them that was answered. Other threads may have to wait
    /// for the answer to a flush that one of them requested.
    pub flushes: u64,
    /// See `flushes`.
    pub flushed: u64,
    /// Operations with messages that are not complete.
    pub transfers: Vec<SharedTransfer>,
    /// Number of the last message with data apart.
    pub apart: u32,
}

/// An exposure epoch of this rank (between post and wait).
#[derive(Debug, Default)]
pub struct Exposure {
    /// Origins that have not completed yet.
    pub open: Vec<u32>,
}

/// A window of this rank.
pub struct Window {
    /// The communicator of its own.
    pub comm: CommId,
    /// Its members.
    pub members: Rc<Members>,
    /// What each of them contributed.
    pub parts: Vec<Part>,
    /// How it got its memory.
    pub flavor: Flavor,
    /// Memory of this rank.
    pub base: UserPtr,
    /// It is ours.
    pub memory: Option<ProgramMemory>,
    /// It is a segment that all share: where that begins, and its length.
    pub segment: Option<(UserPtr, usize)>,
    /// Regions of a dynamic window: begin and length.
    pub attached: BTreeMap<usize, usize>,
    /// Begins of attached regions of 0 bytes: they only have to be detached.
    pub attached_empty: Vec<usize>,
    /// Others may lock it.
    pub lockable: bool,
    /// A counter of our own (`mpi::counters`): no epochs, no locks.
    pub counter: bool,
    /// A fence began an epoch.
    pub fenced: bool,
    /// Targets between start and complete.
    pub access: Option<Vec<u32>>,
    /// `MPI_Win_lock_all` was called, and `MPI_Win_unlock_all` not yet.
    pub locked_all: bool,
    /// Each member as a target.
    pub targets: Vec<TargetState>,
    /// The exposure epoch between post and wait.
    pub exposure: Option<Exposure>,
    /// Locks on our memory.
    pub locks: Locks,
    /// Errors to be reported to an origin, by its rank.
    pub faults: BTreeMap<u32, ErrorClass>,
    pub(crate) inbox: VecDeque<Arrived>,
    /// The error handler.
    pub errhandler: ErrhandlerId,
    /// Name given by the program.
    pub name: Vec<u8>,
    /// Hints given by the program.
    pub info: Info,
    /// Attributes of the program.
    pub attributes: Attributes,
    /// Values of the predefined attributes, whose addresses C programs get: size, unit of
    /// displacement, flavor, model.
    pub values: Box<Values>,
}

/// Size, unit of displacement, flavor, model.
pub type Values = (i64, i32, i32, i32);

/// Tags in the context of a window.
pub(crate) mod tags {
    /// Requests that are served at any time.
    pub const SERVICE: i32 = 0;
    /// Requests that wait for a fence.
    pub const FENCE: i32 = 1;
    /// Tag of the message to origins that may start: this rank has exposed its part of memory that
    /// all share.
    pub const POSTED: i32 = 2;
    const APART: i32 = 1 << 28;
    const REPLY: i32 = 1 << 29;

    /// The tag of data that do not go with their request.
    pub const fn apart(number: u32) -> i32 {
        APART | (number & 0x0fff_ffff) as i32
    }

    /// The tag of the reply to a request.
    pub const fn reply(number: u64) -> i32 {
        REPLY | (number & 0x0fff_ffff) as i32
    }
}

impl Window {
    /// Context of its messages.
    #[must_use]
    pub fn context(&self) -> u32 {
        self.members.context
    }

    /// Grants what can be granted; returns the ranks that get a lock.
    pub fn grant(&mut self) -> Vec<locks::Asker> {
        std::iter::from_fn(|| self.locks.grant()).collect()
    }
}

/// All windows of a rank.
#[derive(Default)]
pub struct Windows {
    table: Slab<Window>,
    /// Requests with a reply so far, by world rank of the target.
    requests: Vec<u64>,
    /// The last message that was looked at.
    looked: u64,
    /// Windows that were made since: their requests may be among earlier messages.
    unseen: Vec<WinId>,
}

impl Windows {
    /// Whether there is no window.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Enters a window.
    pub fn insert(&mut self, window: Window) -> Result<WinId> {
        let id = WinId(self.table.insert(window)?);
        self.unseen.push(id);
        Ok(id)
    }

    /// Takes a window out.
    pub fn remove(&mut self, id: WinId) -> Option<Window> {
        self.table.remove(id.0)
    }

    /// The window with this number.
    pub fn get(&self, id: WinId) -> Result<&Window> {
        match self.table.get(id.0) {
            Some(window) => Ok(window),
            None => bail!(Win, "there is no window number {}: was it freed?", id.0),
        }
    }

    /// The window with this number, to be changed.
    pub fn get_mut(&mut self, id: WinId) -> Result<&mut Window> {
        match self.table.get_mut(id.0) {
            Some(window) => Ok(window),
            None => bail!(Win, "there is no window number {}: was it freed?", id.0),
        }
    }

    /// The window whose communicator this is.
    #[must_use]
    pub fn of_comm(&self, comm: CommId) -> Option<WinId> {
        let found = self.table.iter().find(|(_, window)| window.comm == comm);
        found.map(|(id, _)| WinId(id))
    }

    /// The number of the next reply from a rank of the world.
    pub fn number_reply(&mut self, from: ftmpi_wire::Rank) -> u64 {
        let index = from.index();
        if self.requests.len() <= index {
            self.requests.resize(index + 1, 0);
        }
        self.requests[index] += 1;
        self.requests[index]
    }
}
