//! The facts about a protocol that launcher, agents, servers and ranks decide by.
//!
//! Guarantees: no part of ftmpi compares the name of a protocol to learn such a fact.
//! `ftmpi_protocols::registry` makes the value, for a protocol from a library out of what the
//! library's table states. The launcher sends the value to every agent and rank with the
//! [`JobView`](crate::control::JobView).

use serde::{Deserialize, Serialize};

/// How a job comes back after the failure of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Recovery {
    /// The job ends.
    None,
    /// The failed rank starts again alone and repeats what was logged of it.
    Restart,
    /// All ranks return to the last complete wave. Nothing is repeated from a log.
    Waves,
    /// The ranks of the failed cluster return to its last complete wave. Messages between clusters
    /// are repeated from logs.
    ClusterWaves,
}

/// Which events ranks log, and when an event counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Logging {
    /// Nothing is logged.
    None,
    /// Every message waits for the events before it.
    Pessimistic,
    /// Every message carries the events before it that may be lost.
    Causal,
    /// Messages carry dependencies, and orphans roll back.
    Optimistic,
    /// A library decides, and promises nothing.
    Library,
}

/// The facts about one protocol with its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProtocolTraits {
    /// What happens after a failure.
    pub recovery: Recovery,
    /// A stable server stores the determinants of ranks: an event logger, or a channel memory.
    pub logger: bool,
    /// Messages go through stable channel memories instead of from rank to rank. Channel memories
    /// are also the event loggers of their ranks.
    pub memory: bool,
    /// What ranks log. Under clusters of waves: what they log between clusters, too.
    pub logging: Logging,
}

impl ProtocolTraits {
    /// No fault tolerance.
    pub const NONE: Self =
        Self { recovery: Recovery::None, logger: false, memory: false, logging: Logging::None };

    /// Whether a job survives the death of a rank.
    #[must_use]
    pub const fn is_fault_tolerant(self) -> bool {
        !matches!(self.recovery, Recovery::None)
    }

    /// Whether ranks take their images in waves and return to them together.
    #[must_use]
    pub const fn in_waves(self) -> bool {
        matches!(self.recovery, Recovery::Waves | Recovery::ClusterWaves)
    }

    /// Whether all ranks of the job return together. Then a new incarnation may take another
    /// course: hosts may change, and files return to the wave.
    #[must_use]
    pub const fn all_return(self) -> bool {
        matches!(self.recovery, Recovery::Waves)
    }

    /// Whether a new incarnation repeats from logs what the earlier incarnation did.
    #[must_use]
    pub const fn replays(self) -> bool {
        matches!(self.recovery, Recovery::Restart | Recovery::ClusterWaves)
    }

    /// Whether a state whose own events are stable is never rolled back.
    #[must_use]
    pub const fn is_pessimistic(self) -> bool {
        matches!(self.logging, Logging::Pessimistic)
    }

    /// Whether ranks keep the stable events of other ranks in mind, so that several event loggers
    /// have clocks to spread.
    #[must_use]
    pub const fn tracks_other_ranks(self) -> bool {
        matches!(self.logging, Logging::Causal | Logging::Optimistic)
    }

    /// Whether event loggers run, as servers of their own.
    #[must_use]
    pub const fn has_event_logger(self) -> bool {
        self.logger && !self.memory
    }

    /// Whether images that are newer than the one that a rank restarts from must be given up.
    ///
    /// In waves they belong to an abandoned wave. Without a logger nobody may know what the earlier
    /// incarnation received since its image, so the new one may take another course.
    #[must_use]
    pub const fn gives_up_newer_images(self) -> bool {
        self.in_waves() || (self.is_fault_tolerant() && !self.logger)
    }
}
