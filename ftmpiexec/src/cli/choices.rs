//! What options may be set to.

use clap::ValueEnum;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LauncherKind {
    Ssh,
    Fork,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PiggybackChoice {
    Vcausal,
    Manetho,
    Logon,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BetweenChoice {
    Pessimistic,
    Causal,
    Optimistic,
}

/// The ways of event-logger-2005, §VI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StableVectorChoice {
    /// The loggers tell each other, and each its ranks
    Loggers,
    /// Each logger tells every host
    Broadcast,
    /// Messages carry it from rank to rank (causal only)
    Piggyback,
}

/// When event loggers acknowledge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AcknowledgeChoice {
    /// What is in the logger's file
    Written,
    /// What is on stable storage
    Durable,
}

/// Which images of a peer the logs in an image reach back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ImageLogsChoice {
    Newest,
    Both,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EventsChoice {
    All,
    Nondeterministic,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PolicyChoice {
    Periodic,
    RoundRobin,
    Random,
    Payload,
    YoungDaly,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TrackingChoice {
    O2p,
    Standard,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WaveChoice {
    Blocking,
    Nonblocking,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WtimeChoice {
    Log,
    Free,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TransportChoice {
    Auto,
    Tcp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    On,
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ImagesChoice {
    Remote,
    #[value(name = "local+remote")]
    LocalAndRemote,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputChoice {
    Raw,
    Lines,
    Committed,
}
