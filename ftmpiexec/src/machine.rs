//! A host of the job: its name, its slots, and the servers on it.

use ftmpi_wire::Rank;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Which ranks a server serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ServerDuty {
    /// All ranks that no other line names.
    Rest,
    /// These ranks.
    Ranks(BTreeSet<u32>),
}

impl ServerDuty {
    /// Whether the list of ranks has this rank.
    pub fn claims(&self, rank: Rank) -> bool {
        matches!(self, Self::Ranks(ranks) if ranks.contains(&rank.0))
    }
}

/// One host.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// Ranks on this host before the next host is used; 0: no rank.
    pub slots: Option<u32>,
    /// Event logger.
    pub event_logger: Option<ServerDuty>,
    /// Checkpoint server.
    pub checkpoint_server: Option<ServerDuty>,
    /// Ranks on this host at the most, also after failures.
    #[serde(default)]
    pub max_slots: Option<u32>,
    /// It has no ranks at the start, and is the first to take those of a lost host.
    #[serde(default)]
    pub spare: bool,
    /// The switch that it is connected to.
    #[serde(default)]
    pub switch: Option<String>,
    /// The user as whom ssh starts its agent and servers.
    #[serde(default)]
    pub user: Option<String>,
}

impl Machine {
    /// A host without attributes.
    pub fn new(name: String, slots: Option<u32>) -> Self {
        Self { name, slots, ..Self::default() }
    }

    /// Ranks that are placed there at the start before the next host is used.
    pub fn slots_at_start(&self, ppn: Option<u32>) -> u32 {
        match self.slots {
            _ if self.spare => 0,
            Some(0) => 0,
            slots => ppn.or(slots).unwrap_or(1),
        }
    }
}
