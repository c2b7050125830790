//! Processes that join a running job (`docs/internals/new-processes.md`): what ranks ask of the
//! launcher, and what everybody must know of those that joined.

use crate::{ProtocolTraits, Rank};
use serde::{Deserialize, Serialize};

/// Processes that were started together: the group of their `MPI_COMM_WORLD`. Their numbers in the
/// job follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct World {
    /// The number of its first process.
    pub first: u32,
    /// How many there are.
    pub size: u32,
    /// The process that asked for it; none: the job began with it, or a command of the user has
    /// brought it.
    pub parent: Option<Rank>,
}

impl World {
    /// The world that a job begins with.
    #[must_use]
    pub const fn first(size: u32) -> Self {
        Self { first: 0, size, parent: None }
    }

    /// Whether this process is in it.
    #[must_use]
    pub fn has(&self, process: Rank) -> bool {
        self.processes().contains(&process.0)
    }

    /// The numbers of its processes.
    #[must_use]
    pub fn processes(&self) -> std::ops::Range<u32> {
        self.first..self.first.saturating_add(self.size)
    }
}

/// Whether processes can join a job under a protocol with these traits: nothing is repaired, all
/// ranks return together, so that another execution asks for them again, or
/// [questions are repeated](are_repeated).
#[must_use]
pub const fn are_possible(traits: ProtocolTraits) -> bool {
    !traits.is_fault_tolerant() || traits.all_return() || are_repeated(traits)
}

/// Whether a replay asks again what its earlier incarnation had asked, and gets the same answers.
/// What led to a question is stable before it is asked.
#[must_use]
pub const fn are_repeated(traits: ProtocolTraits) -> bool {
    traits.replays() && traits.is_pessimistic() && !traits.memory
}

/// The number of a question: the `count`-th of its lane. Threads of a rank ask in lanes of their
/// own. So each question has its number again in another execution, whichever thread comes first.
#[must_use]
pub const fn question_number(lane: u32, count: u32) -> u64 {
    (lane as u64) << 32 | count as u64
}

/// The lane and the count of a question with this number.
#[must_use]
pub const fn lane_and_count(number: u64) -> (u32, u32) {
    ((number >> 32) as u32, number as u32)
}

/// Why they cannot, and what to do.
#[must_use]
pub fn impossible(protocol: &str) -> String {
    format!(
        "protocol {protocol} has no processes that join a running job, and no ports; start the job \
         with ftmpiexec --protocol coordinated, hierarchical or pessimistic"
    )
}

/// Why a socket of the program joins no processes where ranks are repeated, and what to do.
#[must_use]
pub fn no_sockets(protocol: &str) -> String {
    format!(
        "protocol {protocol} repeats ranks, and what passed through a socket of the program comes \
         only once; start the job with ftmpiexec --protocol coordinated, or use MPI_Comm_accept and \
         MPI_Comm_connect"
    )
}

/// The index of the world of a process among worlds in the order of their beginning.
#[must_use]
pub fn world_of(worlds: &[World], process: Rank) -> Option<usize> {
    worlds.iter().position(|world| world.has(process))
}

/// One command of `MPI_Comm_spawn_multiple`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnPart {
    /// Program and arguments.
    pub command: Vec<Vec<u8>>,
    /// How many processes.
    pub count: u32,
    /// Names of the hosts on which they may run; none: all hosts of the job.
    pub hosts: Vec<String>,
    /// The working directory; none: that of the process that asks.
    pub directory: Option<Vec<u8>>,
    /// Directories in which the program is looked for, before those of `PATH`.
    pub path: Option<Vec<u8>>,
    /// Variables, besides those of the process that asks.
    pub environment: Vec<(Vec<u8>, Vec<u8>)>,
}

/// What a rank asks of the launcher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobQuestion {
    /// Start processes. They are one world.
    Spawn {
        /// What they run, in the order of their ranks.
        parts: Vec<SpawnPart>,
    },
    /// This rank is about to send to that one, which it knows from a socket.
    Meet {
        /// The other one.
        process: Rank,
    },
    /// Make a port of this rank.
    OpenPort,
    /// The port is used no more.
    ClosePort {
        /// Its name.
        port: Vec<u8>,
    },
    /// Whose port it is.
    FindPort {
        /// Its name.
        port: Vec<u8>,
    },
    /// Give a port a name that the whole job knows.
    Publish {
        /// The name.
        service: Vec<u8>,
        /// The port.
        port: Vec<u8>,
    },
    /// Take the name back.
    Unpublish {
        /// The name.
        service: Vec<u8>,
        /// The port.
        port: Vec<u8>,
    },
    /// The port of this name.
    LookUp {
        /// The name.
        service: Vec<u8>,
    },
}

/// Why the launcher refuses: the error class of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// `MPI_ERR_SPAWN`
    Spawn,
    /// `MPI_ERR_PORT`
    Port,
    /// `MPI_ERR_SERVICE`
    Service,
    /// `MPI_ERR_NAME`
    Name,
    /// `MPI_ERR_UNSUPPORTED_OPERATION`
    Unsupported,
}

/// What the launcher answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobAnswer {
    /// All processes have called `MPI_Init`; this is the number of the first one.
    Spawned(Rank),
    /// The name of a port.
    Port(Vec<u8>),
    /// The rank that accepts at a port, and the number of the port.
    Owner(Rank, u32),
    /// It is done.
    Done,
    /// It is not done.
    Refused {
        /// What is wrong.
        refusal: Refusal,
        /// One line.
        why: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_repeated_where_what_led_to_them_is_stable() {
        use crate::{Logging, Recovery};
        let of = |recovery, logging, memory| {
            let traits = ProtocolTraits { recovery, logger: true, memory, logging };
            (are_possible(traits), are_repeated(traits))
        };
        let pessimistic = Logging::Pessimistic;
        assert_eq!(of(Recovery::None, Logging::None, false), (true, false));
        assert_eq!(of(Recovery::Waves, Logging::None, false), (true, false));
        assert_eq!(of(Recovery::Restart, pessimistic, false), (true, true));
        assert_eq!(of(Recovery::ClusterWaves, pessimistic, false), (true, true));
        assert_eq!(of(Recovery::Restart, pessimistic, true), (false, false));
        for logging in [Logging::Causal, Logging::Optimistic, Logging::Library] {
            assert_eq!(of(Recovery::Restart, logging, false), (false, false));
            assert_eq!(of(Recovery::ClusterWaves, logging, false), (false, false));
        }
    }

    #[test]
    fn a_number_has_its_lane_and_its_count() {
        for of in [(0, 0), (7, 9), (u32::MAX, u32::MAX)] {
            assert_eq!(lane_and_count(question_number(of.0, of.1)), of);
        }
    }

    #[test]
    fn every_process_has_one_world() {
        let later = World { first: 3, size: 2, parent: Some(Rank(1)) };
        let worlds = [World::first(3), later];
        let of = |process| world_of(&worlds, Rank(process));
        assert_eq!([of(0), of(2), of(3), of(4), of(5)], [Some(0), Some(0), Some(1), Some(1), None]);
    }
}
