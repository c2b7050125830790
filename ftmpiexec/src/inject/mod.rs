//! Faults that the user asks for: `--inject kill:rank=2,at=3s` and similar.
//!
//! Guarantees: random choices come from the seed that the user gives, so that a run can be repeated
//! with the same kills. Nothing is injected that the user did not ask for.

mod clock;
mod parse;

pub use clock::{Due, FaultClock};
pub use parse::FaultError;

use crate::machine::Machine;
use ftmpi_faults::Model;
use ftmpi_protocols::judge::HostName;
use ftmpi_wire::Rank;
use std::time::Duration;

/// One fault of `--inject`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Kill ranks at certain times.
    KillRank {
        /// The ranks.
        whom: Whom,
        /// The times.
        when: When,
    },
    /// A rank kills itself at a named point.
    KillAtPoint {
        /// The rank; `None`: all ranks.
        rank: Option<Rank>,
        /// The name of the point.
        point: String,
        /// The rank dies when it comes there for the `nth` time.
        nth: u64,
        /// In every incarnation, not only in the first.
        again: bool,
    },
    /// Kill a server.
    KillServer {
        /// The kind of the server.
        kind: ServerKind,
        /// The number of the server, counted from 0; `None`: all of the kind.
        number: Option<usize>,
        /// The times.
        when: When,
    },
    /// Kill an agent and with it the ranks of its host.
    KillAgent {
        /// The name of the host.
        host: String,
        /// The times.
        when: When,
    },
    /// The event logger acknowledges later.
    DelayLogger(Duration),
    /// Each write and each sync of a server's files takes longer.
    SlowDisk(Duration),
    /// The process of a rank is stopped for a time.
    StopRank {
        /// The rank.
        rank: Rank,
        /// The time span.
        span: Span,
    },
    /// Faults that are drawn from rates.
    Model(Model),
    /// Two hosts do not reach each other for a time; the launcher reaches both.
    Cut {
        /// The names of the hosts, joined by a hyphen or a slash.
        ends: String,
        /// The time span.
        span: Span,
    },
    /// A host and the servers on it are down for a time.
    HostDown {
        /// The name of the host.
        host: String,
        /// The time span.
        span: Span,
    },
}

/// From when on, and how long, a state lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Its begin, counted from the moment when all ranks have started.
    pub at: Duration,
    /// How long it lasts; `None`: for ever.
    pub lasts: Option<Duration>,
}

/// The two hosts of a cut: their names, joined by a hyphen or by a slash. Names may have hyphens of
/// their own.
///
/// # Errors
/// The job has no two such hosts, or more than two.
pub fn ends_of(ends: &str, machines: &[Machine]) -> Result<[u32; 2], FaultError> {
    let number = |name: &str| machines.iter().position(|m| m.name == name).map(|n| n as u32);
    let pair = |(at, _): (usize, &str)| {
        let (a, b) = (number(&ends[..at])?, number(&ends[at + 1..])?);
        (a != b).then_some([a, b])
    };
    let mut pairs = ends.match_indices(['-', '/']).filter_map(pair);
    let first = pairs.next().ok_or_else(|| FaultError::NoSuchHosts(ends.to_owned()))?;
    let sorted = |[a, b]: [u32; 2]| (a.min(b), a.max(b));
    match pairs.find(|other| sorted(*other) != sorted(first)) {
        None => Ok(first),
        Some(other) => {
            let written =
                |pair: [u32; 2]| pair.map(|host| machines[host as usize].name.as_str()).join("/");
            Err(FaultError::ManySuchHosts(ends.to_owned(), written(first), written(other)))
        }
    }
}

/// The names of hosts and switches, as models of faults need them.
pub fn host_names(machines: &[Machine]) -> Vec<HostName> {
    let name = |m: &Machine| HostName { name: m.name.clone(), switch: m.switch.clone() };
    machines.iter().map(name).collect()
}

/// A kind of server.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub enum ServerKind {
    /// Event logger.
    EventLogger,
    /// Checkpoint server.
    CheckpointServer,
    /// Checkpoint scheduler.
    CheckpointScheduler,
    /// Channel memory, which is also the event logger of its ranks.
    ChannelMemory,
}

impl ServerKind {
    /// The name in messages and machine files.
    pub fn name(self) -> &'static str {
        match self {
            Self::EventLogger => "event-logger",
            Self::CheckpointServer => "checkpoint-server",
            Self::CheckpointScheduler => "checkpoint-scheduler",
            Self::ChannelMemory => "channel-memory",
        }
    }
}

/// The ranks that a fault kills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whom {
    /// This rank.
    Rank(Rank),
    /// All ranks at once.
    All,
    /// A rank drawn from the seed, another one each time.
    Random,
}

/// The named points of the library (`ftmpi_core::engine::Link::point`).
pub const POINTS: &[&str] = &[
    "init",
    "log-sent",
    "log-acknowledged",
    "ring-read",
    "rendezvous",
    "image",
    "replay",
    "replay-step",
    "acted",
    "question",
    "answer",
    "wave",
    "finalize-begin",
    "finalize",
    "finalize-end",
    "exit",
];

/// The times of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct When {
    /// The first time, counted from the moment when all ranks have started.
    pub first: Duration,
    /// The time between two kills; `None`: one kill only.
    pub every: Option<Duration>,
    /// The most kills.
    pub count: u64,
    /// The seed of random choices.
    pub seed: u64,
}
