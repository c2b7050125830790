//! Which protocol is under test, with which settings: the [`Variant`]s.

use crate::observed::Observed;
use ftmpi_plugin::host::{Library, PLUGIN, Plugin, PluginError};
use ftmpi_plugin::messages;
use ftmpi_protocols::causal::{Causal, Piggyback, Settings};
use ftmpi_protocols::channel_memory;
use ftmpi_protocols::coordinated::Coordinated;
use ftmpi_protocols::coordinated::blocking::Blocking;
use ftmpi_protocols::coordinated::nonblocking::NonBlocking;
use ftmpi_protocols::hierarchical::Hierarchical;
use ftmpi_protocols::optimistic::{self, Optimistic, Tracking};
use ftmpi_protocols::pessimistic::Pessimistic;
use ftmpi_protocols::protocol::Protocol;
use ftmpi_wire::control::{Events, ProtocolConfig};
use ftmpi_wire::{Incarnation, Logging, ProtocolTraits, Rank, Recovery};
use std::path::Path;
use std::sync::OnceLock;

/// A library whose protocol runs instead of `pessimistic`.
static LIBRARY: OnceLock<Library> = OnceLock::new();

/// From here on this library's protocol runs where `pessimistic` would.
///
/// # Errors
/// It has none.
pub fn replace_pessimistic(file: &Path) -> Result<(), PluginError> {
    let _ = LIBRARY.set(Library::load(file)?);
    Ok(())
}

fn of_library(library: &Library, all: bool, me: Rank, incarnations: &[Incarnation]) -> Plugin {
    let events = if all { Events::All } else { Events::Nondeterministic };
    let settings = Vec::new();
    let config = ProtocolConfig { name: PLUGIN.into(), events, log_wtime: true, settings };
    let settings = messages::Settings { config, me, incarnations: incarnations.to_vec() };
    library.make(&settings).expect("a protocol that can be made once can be made again")
}

/// How ranks hear what is written of the ranks of other loggers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// There is one logger.
    One,
    /// Nobody needs to.
    Apart,
    /// From other ranks.
    Carried,
    /// The loggers send clocks to each other.
    Shared,
    /// Each logger sends clocks to every host.
    Broadcast,
}

/// A protocol and its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Variant {
    /// `pessimistic`
    Pessimistic,
    /// `pessimistic --event-loggers 2`
    PessimisticApart,
    /// `replicated`: all ranks have standbys (not one of [`Variant::ALL`]; others have them too)
    Replicated,
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
    /// `causal --piggyback logon --event-loggers 2 --stable-vector piggyback`
    LogonCarried,
    /// `causal --piggyback logon --event-loggers 2 --stable-vector loggers`
    LogonShared,
    /// `causal --piggyback vcausal --event-loggers 2 --stable-vector broadcast`
    VcausalBroadcast,
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
    /// `optimistic --tracking o2p --event-loggers 2 --stable-vector loggers`
    OptimisticShared,
    /// `optimistic --tracking o2p --event-loggers 2 --stable-vector broadcast`
    OptimisticBroadcast,
    /// `hierarchical --wave blocking --between pessimistic`
    Hierarchical,
    /// `hierarchical --wave nonblocking --between pessimistic`
    HierarchicalNonblocking,
    /// `hierarchical --wave blocking --between causal`, vcausal
    HierarchicalCausal,
    /// `hierarchical --wave nonblocking --between causal --event-logger off`, manetho
    HierarchicalAlone,
    /// `hierarchical --wave blocking --between optimistic --tracking o2p`
    HierarchicalOptimistic,
    /// `hierarchical --wave nonblocking --between optimistic --tracking standard`
    HierarchicalStandard,
}

impl Variant {
    /// All of them.
    pub const ALL: [Self; 24] = [
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
        Self::LogonShared,
        Self::VcausalBroadcast,
        Self::OptimisticShared,
        Self::OptimisticBroadcast,
        Self::PessimisticApart,
        Self::HierarchicalOptimistic,
        Self::HierarchicalStandard,
    ];

    /// Those whose costs grow in a way of their own: `scale` runs one logger.
    pub fn for_scale() -> impl Iterator<Item = Self> {
        let one = |variant: &Self| matches!(variant.spread(), Spread::One | Spread::Carried);
        Self::ALL.into_iter().filter(one)
    }

    /// Those with clusters.
    pub const HIERARCHICAL: [Self; 6] = [
        Self::Hierarchical,
        Self::HierarchicalNonblocking,
        Self::HierarchicalCausal,
        Self::HierarchicalAlone,
        Self::HierarchicalOptimistic,
        Self::HierarchicalStandard,
    ];

    /// What causal logging is to be, if it is that.
    #[must_use]
    pub fn causal(self, all: bool) -> Option<Settings> {
        let (piggyback, logger) = match self {
            Self::Pessimistic
            | Self::Replicated
            | Self::PessimisticApart
            | Self::ChannelMemory
            | Self::Blocking
            | Self::Nonblocking
            | Self::Optimistic
            | Self::OptimisticStandard
            | Self::OptimisticShared
            | Self::OptimisticBroadcast
            | Self::Hierarchical
            | Self::HierarchicalNonblocking
            | Self::HierarchicalOptimistic
            | Self::HierarchicalStandard => return None,
            Self::Vcausal | Self::VcausalBroadcast | Self::HierarchicalCausal => {
                (Piggyback::Vcausal, true)
            }
            Self::Manetho => (Piggyback::Manetho, true),
            Self::Logon | Self::LogonCarried | Self::LogonShared => (Piggyback::Logon, true),
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

    /// May ranks that have not failed be rolled back, each on its own or with its cluster?
    #[must_use]
    pub fn rolls_back(self) -> bool {
        matches!(
            self,
            Self::Optimistic
                | Self::OptimisticStandard
                | Self::OptimisticShared
                | Self::OptimisticBroadcast
                | Self::HierarchicalOptimistic
                | Self::HierarchicalStandard
        )
    }

    /// Does a message wait for the events before it to be written?
    #[must_use]
    pub fn sends_wait(self) -> bool {
        matches!(
            self,
            Self::Pessimistic
                | Self::Replicated
                | Self::PessimisticApart
                | Self::Hierarchical
                | Self::HierarchicalNonblocking
        )
    }

    /// How many loggers there are, and how ranks hear of those of others.
    #[must_use]
    pub fn spread(self) -> Spread {
        match self {
            Self::PessimisticApart => Spread::Apart,
            Self::LogonCarried => Spread::Carried,
            Self::LogonShared | Self::OptimisticShared => Spread::Shared,
            Self::VcausalBroadcast | Self::OptimisticBroadcast => Spread::Broadcast,
            _ => Spread::One,
        }
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

    /// What the registry has for the same protocol.
    #[must_use]
    pub fn traits(self) -> ProtocolTraits {
        let recovery = match (self.is_coordinated(), self.has_clusters()) {
            (true, _) => Recovery::Waves,
            (false, true) => Recovery::ClusterWaves,
            (false, false) => Recovery::Restart,
        };
        ProtocolTraits {
            recovery,
            logger: self.has_logger(),
            memory: self.has_memories(),
            logging: self.logging(),
        }
    }

    fn logging(self) -> Logging {
        match () {
            () if self.is_coordinated() => Logging::None,
            () if self.sends_wait() => Logging::Pessimistic,
            () if self.causal(true).is_some() => Logging::Causal,
            () => Logging::Optimistic,
        }
    }

    /// Whether there is an event logger.
    #[must_use]
    pub fn has_logger(self) -> bool {
        !self.is_coordinated() && self.causal(true).is_none_or(|settings| settings.logger)
    }

    /// The protocol of one rank, under the eyes of the world's judge; `clusters` names the cluster
    /// of each.
    #[must_use]
    pub fn make(
        self,
        all: bool,
        me: Rank,
        incarnations: &[Incarnation],
        clusters: &[u32],
    ) -> Box<dyn Protocol> {
        if !self.rolls_back() {
            return Box::new(Observed::new(self.bare(all, me, incarnations, clusters), me));
        }
        let logging = Box::new(Observed::optimistic(self.optimistic(all, me, incarnations), me));
        match self.has_clusters() {
            true => Box::new(Hierarchical::new(self.waves(), logging, me, clusters)),
            false => logging,
        }
    }

    fn waves(self) -> Box<dyn Protocol> {
        match self {
            Self::Nonblocking
            | Self::HierarchicalNonblocking
            | Self::HierarchicalAlone
            | Self::HierarchicalStandard => Box::new(Coordinated::new(NonBlocking)),
            _ => Box::new(Coordinated::new(Blocking)),
        }
    }

    fn optimistic(self, all: bool, me: Rank, incarnations: &[Incarnation]) -> Optimistic {
        let tracking = match self {
            Self::OptimisticStandard | Self::HierarchicalStandard => Tracking::Standard,
            _ => Tracking::O2p,
        };
        Optimistic::new(optimistic::Settings { all, clock: true, tracking }, me, incarnations)
    }

    /// The same, where there is no world.
    #[must_use]
    pub fn bare(
        self,
        all: bool,
        me: Rank,
        incarnations: &[Incarnation],
        clusters: &[u32],
    ) -> Box<dyn Protocol> {
        if self.is_coordinated() {
            return self.waves();
        }
        let logging: Box<dyn Protocol> = match self.causal(all) {
            None if self == Self::ChannelMemory => Box::new(channel_memory::protocol(all, true)),
            None if self.rolls_back() => Box::new(self.optimistic(all, me, incarnations)),
            None => match LIBRARY.get() {
                Some(library) => Box::new(of_library(library, all, me, incarnations)),
                None => Box::new(Pessimistic::new(all, true)),
            },
            Some(settings) => Box::new(Causal::new(settings, me, incarnations)),
        };
        match self.has_clusters() {
            true => Box::new(Hierarchical::new(self.waves(), logging, me, clusters)),
            false => logging,
        }
    }
}
