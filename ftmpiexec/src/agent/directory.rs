//! Where ranks, agents and servers are.

use ftmpi_wire::{Incarnation, Rank};
use std::collections::BTreeSet;
use std::net::SocketAddr;

/// An incarnation of a rank.
pub type RankKey = (Rank, Incarnation);

/// See the module. Connecting tasks read the directory again before each attempt.
#[derive(Debug, Clone, Default)]
pub struct Directory {
    /// Address of each host's agent.
    pub agents: Vec<Option<SocketAddr>>,
    /// Host of each rank.
    pub host_of: Vec<u32>,
    /// Incarnation of each rank.
    pub incarnations: Vec<Incarnation>,
    /// Ranks of worlds that have ended.
    pub gone: BTreeSet<Rank>,
    /// Event logger of each rank.
    pub event_loggers: Vec<SocketAddr>,
    /// Checkpoint server of each rank.
    pub checkpoint_servers: Vec<SocketAddr>,
    /// Hosts to which the way counts as cut (fault injection).
    pub cut_off: BTreeSet<u32>,
}

impl Directory {
    /// The incarnation of a rank; `None` if the job has no such rank.
    pub fn incarnation(&self, rank: Rank) -> Option<Incarnation> {
        self.incarnations.get(rank.index()).copied()
    }

    /// Whether the way to the host of this rank counts as cut.
    pub fn is_cut_off(&self, rank: Rank) -> bool {
        self.host_of.get(rank.index()).is_some_and(|host| self.cut_off.contains(host))
    }

    /// Whether this is the newest incarnation of its rank that is known here.
    pub fn is_current(&self, (rank, incarnation): RankKey) -> bool {
        self.incarnation(rank) == Some(incarnation)
    }
}
