//! Communicators: members, contexts, and the properties that a program gives them (MPI-4.1, chapter
//! 7).

mod contexts;

pub use contexts::{Contexts, GENERATION_SHIFT, Offer, combine};

use crate::attribute::Attributes;
use crate::group::Group;
use crate::ids::{ErrhandlerId, SessionId};
use crate::info::Info;
use crate::topology::Topology;
use ftmpi_wire::Rank;
use std::rc::Rc;

/// The part of a communicator that never changes. Requests keep it alive.
#[derive(Debug)]
pub struct Members {
    /// Context of point-to-point messages; that of collectives is one more.
    pub context: u32,
    /// The group of this rank.
    pub local: Group,
    /// Its rank there.
    pub me: u32,
    /// The other group of an intercommunicator.
    pub remote: Option<Group>,
}

impl Members {
    /// The group that a rank argument names: the other one, if there is one.
    #[inline]
    #[must_use]
    pub fn peers(&self) -> &Group {
        self.remote.as_ref().unwrap_or(&self.local)
    }

    /// The context of collectives.
    #[must_use]
    pub fn collective_context(&self) -> u32 {
        self.context + 1
    }

    /// The rank by which the program knows `world`.
    #[inline]
    #[must_use]
    pub fn rank_of(&self, world: Rank) -> Option<u32> {
        self.peers().local(world)
    }
}

/// A communicator.
#[derive(Debug)]
pub struct Comm {
    /// The processes that belong to it.
    pub members: Rc<Members>,
    /// Collectives called so far.
    pub sequence: u32,
    /// Counts the persistent collectives that were made.
    pub persistent: u32,
    /// Whether its ranks share a host, once that was asked.
    pub on_one_host: Option<bool>,
    /// The error handler.
    pub errhandler: ErrhandlerId,
    /// Name given by the program.
    pub name: Vec<u8>,
    /// Hints given by the program.
    pub info: Info,
    /// Attributes of the program.
    pub attributes: Attributes,
    /// Virtual topology.
    pub topology: Option<Rc<Topology>>,
    /// The session that it comes from; none: the world.
    pub session: Option<SessionId>,
}

impl Comm {
    /// A communicator without name, attributes or topology.
    #[must_use]
    pub fn new(members: Members, errhandler: ErrhandlerId) -> Self {
        Self {
            members: Rc::new(members),
            sequence: 0,
            persistent: 0,
            on_one_host: None,
            errhandler,
            name: Vec::new(),
            info: Info::default(),
            attributes: Attributes::new(),
            topology: None,
            session: None,
        }
    }
}
