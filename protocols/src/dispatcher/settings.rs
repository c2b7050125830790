//! The facts of a job that do not change while it runs.

use super::Place;
use crate::judge::Policy;
use crate::scheduler;
use ftmpi_wire::ProtocolTraits;
use std::time::Duration;

/// What the dispatcher must know of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Names of the hosts.
    pub hosts: Vec<String>,
    /// Host of each rank at the start.
    pub placement: Vec<u32>,
    /// Name of the protocol, for messages.
    pub protocol: String,
    /// What the protocol does after a failure.
    pub traits: ProtocolTraits,
    /// What each host can take; hosts beyond the list take any number of ranks.
    pub places: Vec<Place>,
    /// Failures in the whole job at the most.
    pub restarts_max: u32,
    /// Detectors and recoveries.
    pub recovery: Policy,
    /// The cluster of each rank, if images are taken in waves: after a failure the ranks of its
    /// cluster return to the last complete one.
    pub clusters: Option<Vec<u32>>,
    /// Which ranks have a standby; ranks beyond the list have none.
    pub standbys: Vec<bool>,
    /// Ranks of one host share memory: they move together.
    pub together: bool,
    /// How long a server is waited for that does not answer or cannot store.
    pub storage_patience: Duration,
    /// When images are taken; `None`: never.
    pub images: Option<scheduler::Settings>,
}
