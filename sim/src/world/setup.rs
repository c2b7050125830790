//! The settings of a simulation, and its outcome.

use crate::mutants::Mutant;
use crate::programs::Program;
use crate::protocol_config::Variant;
use ftmpi_faults::Model;
use ftmpi_protocols::dispatcher::Place;
use ftmpi_protocols::event_log::Promise;

/// What is to be simulated.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Which protocol.
    pub variant: Variant,
    /// The cluster of each rank, where images are taken in waves.
    pub clusters: Vec<u32>,
    /// Everything random comes from this.
    pub seed: u64,
    /// Number of ranks.
    pub ranks: usize,
    /// What they run.
    pub program: Program,
    /// Every reception is logged.
    pub all_events: bool,
    /// Every crash is one of all ranks at once.
    pub together: bool,
    /// How many crashes there will be.
    pub crashes: u32,
    /// Ranks store events in a ring of their logger ([`rings`]).
    pub near: bool,
    /// The logger takes its time.
    pub slow_logger: bool,
    /// How often the logger dies and starts again from its files.
    pub logger_deaths: u32,
    /// At a quiet moment the logger's computer loses power.
    pub power_loss: bool,
    /// How often the whole job loses power: all ranks and all loggers at once.
    pub outages: u32,
    /// Loggers acknowledge what is durable, not what is written.
    pub promise: Promise,
    /// How many channel memories there are, where the protocol has them, and how often one dies.
    pub memories: (usize, u32),
    /// How often a channel breaks whose ends live on.
    pub breaks: u32,
    /// How many hosts there are, how often an agent dies with the ranks of its host, and how often
    /// the scheduler does.
    pub hosts: usize,
    #[allow(missing_docs)]
    pub agent_deaths: u32,
    #[allow(missing_docs)]
    pub scheduler_deaths: u32,
    /// How often the disk damages the end of a log.
    pub damages: u32,
    /// Images leave out of the logs what the newest image of each receiver has.
    pub lean_images: bool,
    /// How often a host breaks for ever.
    pub host_deaths: u32,
    /// How often two hosts do not reach each other.
    pub cuts: u32,
    /// Faults that are drawn from rates, in addition.
    pub model: Option<Model>,
    /// What each host can take after a failure, also hosts that have no ranks at the start.
    pub places: Vec<Place>,
    /// How long a lost host is tried before its ranks move, in milliseconds.
    pub patience: u64,
    /// How often a host is said to be about to fail, or sound again.
    pub suspicions: u32,
    /// How often the user suspends the job, which is then continued.
    pub suspensions: u32,
    /// How often somebody moves a rank, or empties a host.
    pub moves: u32,
    /// All ranks have standbys.
    pub standbys: bool,
    /// A deliberate bug.
    pub mutant: Option<Mutant>,
    /// Print what happens.
    pub trace: bool,
}

impl Setup {
    /// The host of a rank at the start: they are dealt out.
    #[must_use]
    pub fn host_of(&self, rank: usize) -> usize {
        rank % self.hosts
    }

    /// All hosts, also those without ranks at the start.
    #[must_use]
    pub fn all_hosts(&self) -> usize {
        self.hosts.max(self.places.len())
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// What each program returned.
    pub digests: Vec<u64>,
    /// Crashes that took place.
    pub crashes: u32,
    /// Images that were committed.
    pub images: u64,
    /// Waves that were complete.
    pub waves: u64,
    /// Incarnations that began from an image.
    pub restored: u32,
    /// Ranks that moved without a failure.
    pub moved: u64,
    /// Incarnations that began in a standby.
    pub promoted: u32,
    /// Incarnations that were rolled back.
    pub orphans: u64,
    /// Determinants that were replayed.
    pub replayed: u64,
    /// Events of the simulation.
    pub events: u64,
    /// The job was given up, as it had to be. A log or an image that a rank needed was damaged; in
    /// the case of the image, ranks died since whose newest images are lean.
    pub refused: bool,
}
