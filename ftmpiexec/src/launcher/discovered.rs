//! The servers' answers about an earlier run.

use ftmpi_wire::Incarnation;
use ftmpi_wire::image_store::RankImages;

/// Why the servers' answers cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiscoveryError {
    /// A server does not answer; it may be restarting. The text of the client.
    #[error("{0}")]
    Unreachable(String),
    /// Events of one logger may depend on lost events of another one.
    #[error(
        "the power of one of several event loggers was lost, and maybe events with it, so their \
         logs may not agree any more; start the job again, without --restart (one event logger for all ranks, or \
         --acknowledge durable, would have survived this)"
    )]
    PowerLost,
}

/// What the servers know of one rank.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// What the checkpoint server stores.
    pub stored: RankImages,
    /// The latest incarnation that the event logger knows.
    pub logged: Incarnation,
}
