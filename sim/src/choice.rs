//! Which protocol is under test, with which settings.

use crate::watched::Watched;
use ftmpi_protocols::causal::{Causal, Piggyback, Settings};
use ftmpi_protocols::channel_memory;
use ftmpi_protocols::coordinated::Coordinated;
use ftmpi_protocols::coordinated::blocking::Blocking;
use ftmpi_protocols::coordinated::nonblocking::NonBlocking;
use ftmpi_protocols::hierarchical::Hierarchical;
use ftmpi_protocols::optimistic::{self, Optimistic, Tracking};
use ftmpi_protocols::pessimistic::Pessimistic;
use ftmpi_protocols::protocol::Protocol;
use ftmpi_wire::{Incarnation, Rank};

/// A protocol and its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Choice {
    /// `pessimistic`
    Pessimistic,
    /// `channel-memory`
    ChannelMemory,
    /// `coordinated --wave blocking`
    Blocking,
    /// `coordinated --wave nonblocking`
    Nonblocking,
    /// `causal --piggyback vcausal`
    Vcausal,
    /// `causal --piggyback manetho`
    Manetho,
    /// `causal --piggyback logon`
    Logon,
    /// `causal --piggyback logon`, where the logger tells each rank of its own events only, as one
    /// of several would
    LogonCarried,
    /// `causal --piggyback vcausal --event-logger off`
    VcausalAlone,
    /// `causal --piggyback manetho --event-logger off`
    ManethoAlone,
    /// `causal --piggyback logon --event-logger off`
    LogonAlone,
    /// `optimistic --tracking o2p`
    Optimistic,
    /// `optimistic --tracking standard`
    OptimisticStandard,
    /// `hierarchical --wave blocking --between pessimistic`
    Hierarchical,
    /// `hierarchical --wave nonblocking --between pessimistic`
    HierarchicalNonblocking,
    /// `hierarchical --wave blocking --between causal`, vcausal
    HierarchicalCausal,
    /// `hierarchical --wave nonblocking --between causal --event-logger off`, manetho
    HierarchicalAlone,
}

impl Choice {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::Pessimistic,
        Self::ChannelMemory,
        Self::Blocking,
        Self::Nonblocking,
        Self::Vcausal,
        Self::Manetho,
        Self::Logon,
        Self::LogonCarried,
        Self::VcausalAlone,
        Self::ManethoAlone,
        Self::LogonAlone,
        Self::Optimistic,
        Self::OptimisticStandard,
        Self::Hierarchical,
        Self::HierarchicalNonblocking,
        Self::HierarchicalCausal,
        Self::HierarchicalAlone,
    ];

    /// Those with clusters.
    pub const HIERARCHICAL: [Self; 4] = [
        Self::Hierarchical,
        Self::HierarchicalNonblocking,
        Self::HierarchicalCausal,
        Self::HierarchicalAlone,
    ];

    /// What causal logging is to be, if it is that.
    #[must_use]
    pub fn causal(self, all: bool) -> Option<Settings> {
        let (piggyback, logger) = match self {
            Self::Pessimistic
            | Self::ChannelMemory
            | Self::Blocking
            | Self::Nonblocking
            | Self::Optimistic
            | Self::OptimisticStandard
            | Self::Hierarchical
            | Self::HierarchicalNonblocking => return None,
            Self::Vcausal | Self::HierarchicalCausal => (Piggyback::Vcausal, true),
            Self::Manetho => (Piggyback::Manetho, true),
            Self::Logon | Self::LogonCarried => (Piggyback::Logon, true),
            Self::VcausalAlone => (Piggyback::Vcausal, false),
            Self::ManethoAlone | Self::HierarchicalAlone => (Piggyback::Manetho, false),
            Self::LogonAlone => (Piggyback::Logon, false),
        };
        let carry = self == Self::LogonCarried;
        Some(Settings { all, clock: true, piggyback, logger, carry })
    }

    /// Does a failure return every rank to the last wave?
    #[must_use]
    pub fn is_coordinated(self) -> bool {
        matches!(self, Self::Blocking | Self::Nonblocking)
    }

    /// Do messages go through channel memories?
    #[must_use]
    pub fn has_memories(self) -> bool {
        self == Self::ChannelMemory
    }

    /// May ranks that have not failed be rolled back, each on its own?
    #[must_use]
    pub fn rolls_back(self) -> bool {
        matches!(self, Self::Optimistic | Self::OptimisticStandard)
    }

    /// Are there clusters of ranks that return together?
    #[must_use]
    pub fn has_clusters(self) -> bool {
        Self::HIERARCHICAL.contains(&self)
    }

    /// Are images taken in waves?
    #[must_use]
    pub fn in_waves(self) -> bool {
        self.is_coordinated() || self.has_clusters()
    }

    /// Whether there is an event logger.
    #[must_use]
    pub fn has_logger(self) -> bool {
        !self.is_coordinated() && self.causal(true).is_none_or(|settings| settings.logger)
    }

    /// The protocol of one rank, under the eyes of the world's judge; `clusters` names the cluster of
    /// each.
    #[must_use]
    pub fn make(
        self,
        all: bool,
        me: Rank,
        lives: &[Incarnation],
        clusters: &[u32],
    ) -> Box<dyn Protocol> {
        match self.rolls_back() {
            true => Box::new(Watched::new(self.optimistic(all, me, lives), me)),
            false => self.bare(all, me, lives, clusters),
        }
    }

    fn optimistic(self, all: bool, me: Rank, lives: &[Incarnation]) -> Optimistic {
        let tracking = match self {
            Self::OptimisticStandard => Tracking::Standard,
            _ => Tracking::O2p,
        };
        Optimistic::new(optimistic::Settings { all, clock: true, tracking }, me, lives)
    }

    /// The same, where there is no world.
    #[must_use]
    pub fn bare(
        self,
        all: bool,
        me: Rank,
        lives: &[Incarnation],
        clusters: &[u32],
    ) -> Box<dyn Protocol> {
        let waves: Box<dyn Protocol> = match self {
            Self::Nonblocking | Self::HierarchicalNonblocking | Self::HierarchicalAlone => {
                Box::new(Coordinated::new(NonBlocking))
            }
            _ => Box::new(Coordinated::new(Blocking)),
        };
        if self.is_coordinated() {
            return waves;
        }
        let logging: Box<dyn Protocol> = match self.causal(all) {
            None if self == Self::ChannelMemory => Box::new(channel_memory::protocol(all, true)),
            None if self.rolls_back() => Box::new(self.optimistic(all, me, lives)),
            None => Box::new(Pessimistic::new(all, true)),
            Some(settings) => Box::new(Causal::new(settings, me, lives)),
        };
        match self.has_clusters() {
            true => Box::new(Hierarchical::new(waves, logging, me, clusters)),
            false => logging,
        }
    }
}
