//! What an option acts on, and under which protocols that exists.

use ftmpi_wire::{Logging, ProtocolTraits, Recovery};

/// What an option acts on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Restarts and images.
    Recovery,
    /// Restarts, or the recovery `ignore`.
    RecoveryOrIgnore,
    /// Ranks that return alone from an image.
    Alone,
    /// A log of receptions, which a replay repeats.
    Replay,
    /// Payloads in the memory of their senders.
    SenderLog,
    /// An event logger.
    Logger,
    /// `--protocol channel-memory`.
    ChannelMemory,
    /// Causal logging.
    Causal,
    /// Optimistic logging.
    Optimistic,
    /// Waves of images.
    Waves,
    /// Clusters of ranks.
    Clusters,
}

impl Needs {
    /// Where it works, in words after "use it under".
    pub fn works(self) -> &'static str {
        match self {
            Self::Recovery => "any protocol but none",
            Self::RecoveryOrIgnore => {
                "any protocol but none, or with the recovery `ignore` (--recovery ignore)"
            }
            Self::Alone => "pessimistic, replicated, causal, optimistic or channel-memory",
            Self::Replay => {
                "pessimistic, replicated, causal, optimistic, channel-memory or hierarchical"
            }
            Self::SenderLog => "pessimistic, replicated, causal, optimistic or hierarchical",
            Self::Logger => {
                "pessimistic, replicated, causal, optimistic or hierarchical, with --event-logger on"
            }
            Self::ChannelMemory => "--protocol channel-memory",
            Self::Causal => "--protocol causal, or hierarchical with --between causal",
            Self::Optimistic => "--protocol optimistic, or hierarchical with --between optimistic",
            Self::Waves => "--protocol coordinated or hierarchical",
            Self::Clusters => "--protocol hierarchical",
        }
    }

    /// Whether a protocol with these facts has it.
    pub fn met_by(self, traits: ProtocolTraits) -> bool {
        let library = traits.logging == Logging::Library;
        match self {
            Self::Recovery | Self::RecoveryOrIgnore => traits.is_fault_tolerant(),
            Self::Alone => traits.is_fault_tolerant() && !traits.in_waves(),
            // The hooks of a library may use these, however it recovers.
            Self::Replay | Self::SenderLog if library => traits.is_fault_tolerant(),
            Self::Replay => traits.replays(),
            Self::SenderLog => traits.replays() && !traits.memory,
            Self::Logger => traits.has_event_logger(),
            Self::ChannelMemory => traits.memory,
            Self::Causal => traits.logging == Logging::Causal,
            Self::Optimistic => traits.logging == Logging::Optimistic,
            // A library that recovers in waves has no settings of ours for them.
            Self::Waves => traits.in_waves() && !library,
            Self::Clusters => traits.recovery == Recovery::ClusterWaves,
        }
    }
}
