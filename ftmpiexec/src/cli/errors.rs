//! What is wrong with a job that a command line asks for: every text of it, as
//! "what happened; what to do". Options that cannot be read are in `ftmpi_options::errors`.

use super::allocation::AllocationError;
use super::needs::Needs;
use std::fmt::Display;
use std::path::PathBuf;
use thiserror::Error;

/// Why there is no plan.
#[derive(Debug, Error)]
pub enum PlanError {
    /// Nothing to run.
    #[error("which program? write it after the options: ftmpiexec -n 4 ./prog; more: ftmpiexec -h")]
    NoProgram,
    /// More ranks than there can be.
    #[error("-n: {ranks} ranks are too many; ftmpiexec starts at most {most}")]
    TooManyRanks {
        /// Asked for.
        ranks: u64,
        /// The limit.
        most: usize,
    },
    /// No ranks.
    #[error("-n: this job has no rank; write -n N with N from 1 on")]
    NoRanks,
    /// Hosts are named in two ways.
    #[error("--hosts and -f cannot be used together; drop one of them")]
    HostsTwice,
    /// No host.
    #[error("--hosts names no host; write for example --hosts a,b:2")]
    NoHost,
    /// What a batch system says.
    #[error(transparent)]
    Allocation(#[from] AllocationError),
    /// A list of hosts or a machine file that cannot be read.
    #[error("{place}: {what}")]
    Machines {
        /// `--hosts`, or the file.
        place: String,
        /// What is wrong with it.
        what: MachineError,
    },
    /// A file cannot be read.
    #[error("{what} {}: {error}; name a file that can be read", file.display())]
    File {
        /// What it is for.
        what: &'static str,
        /// Its name.
        file: PathBuf,
        /// The error of the system.
        error: std::io::Error,
    },
    /// All hosts are for servers.
    #[error("no host has a slot for a rank; give a host slots, as in --hosts a:2")]
    NoSlot,
    /// Hosts that may not have so many ranks.
    #[error(
        "-n: {ranks} ranks are more than the {most} that the hosts may have (max_slots); name more \
         hosts, or raise max_slots"
    )]
    Full {
        /// Ranks of the job.
        ranks: usize,
        /// What the hosts may have.
        most: usize,
    },
    /// A user for a host that no command reaches as a user.
    #[error("user={user} of host {host}: {what}; drop user={user}")]
    User {
        /// The host.
        host: String,
        /// The user.
        user: String,
        /// Why it has no effect.
        what: &'static str,
    },
    /// A file of `--recovery` that cannot be used.
    #[error("--recovery {}: {what}", file.display())]
    Recovery {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        what: super::recovery::RecoveryError,
    },
    /// An option that changes nothing under this protocol.
    #[error("{option} has no effect under --protocol {protocol}; drop it, or use it under {}", needs.works())]
    NoEffect {
        /// The option.
        option: String,
        /// The protocol.
        protocol: String,
        /// What it is for.
        needs: Needs,
    },
    /// Ranks that died are not ignored under this protocol.
    #[error(
        "{option} goes with --protocol none: under {protocol} a rank that dies comes back; write \
         --protocol none, or drop {option}"
    )]
    Ignores {
        /// The option.
        option: String,
        /// The protocol.
        protocol: String,
    },
    /// An option that changes nothing without another one.
    #[error("{option} has no effect without {other}; add {other} or drop {option}")]
    NeedsOther {
        /// The option.
        option: &'static str,
        /// The other one.
        other: &'static str,
    },
    /// Images are off.
    #[error("{0} is for images, and --ckpt off takes none; drop one of them")]
    NoImages(&'static str),
    /// An option whose value is refused.
    #[error("{option}: {what}")]
    Value {
        /// The option.
        option: &'static str,
        /// What is wrong, and what is accepted.
        what: String,
    },
    /// A policy for ranks, but waves.
    #[error(
        "--ckpt-policy chooses among ranks, and under --protocol {0} all ranks take their images \
         together; use periodic or young-daly"
    )]
    PolicyOfWaves(String),
    /// Text that nothing makes final.
    #[error(
        "--output committed needs images under --protocol {0}: only an image makes text final; drop \
         --ckpt off"
    )]
    CommittedWithoutImages(String),
    /// A number of servers that the machine file gives.
    #[error("{0} has no effect: the machine file places the event loggers; drop {0}")]
    Placed(&'static str),
    /// `--stable-vector` without anything to spread.
    #[error(
        "--stable-vector is for several event loggers under --protocol causal, optimistic, or hierarchical \
         --between causal|optimistic; add --event-loggers 2, or drop it"
    )]
    OneLogger,
    /// `--stable-vector piggyback` under optimistic logging.
    #[error(
        "--stable-vector piggyback does not work with optimistic logging: a rank that waits for its image \
         must learn what is stored also while nobody sends to it; use loggers or broadcast"
    )]
    PiggybackStableVector,
    /// A library that is no protocol.
    #[error("--protocol plugin:{}: {what}; name the shared library of a protocol", file.display())]
    Plugin {
        /// The library.
        file: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A variable with a name that cannot be one.
    #[error("`{0}` is not the name of a variable; write -env NAME VALUE or -env NAME=VALUE")]
    Variable(String),
    /// The system does not answer.
    #[error("{what}: {error}; check the system")]
    System {
        /// What was asked for.
        what: &'static str,
        /// Its answer.
        error: std::io::Error,
    },
    /// A program after `--restart`.
    #[error("--restart continues the job's own program; write no program after it")]
    RestartProgram,
    /// No such directory.
    #[error("--restart {}: {error}; name the directory of --job-dir", directory.display())]
    RestartDirectory {
        /// The directory.
        directory: PathBuf,
        /// The error of the system.
        error: std::io::Error,
    },
    /// `--auto-restart` after the end.
    #[error(
        "the job in {} has ended with exit code {code}; to run the program again name another \
         --job-dir, or remove that one", directory.display()
    )]
    HasEnded {
        /// The directory.
        directory: PathBuf,
        /// The exit code of the job.
        code: i32,
    },
    /// `--auto-restart` with another command.
    #[error(
        "--auto-restart: the job in {} runs another program or other arguments; write the same \
         command, or name another --job-dir", .0.display()
    )]
    OtherProgram(PathBuf),
    /// Another number of ranks.
    #[error("--restart: the job has {0} ranks, which cannot be changed; drop -n")]
    RestartRanks(usize),
    /// An option that is part of the job.
    #[error("--restart: {0} is part of the job and of its images; drop it")]
    RestartFixed(String),
    /// Options of the first start that cannot be read any more.
    #[error("--restart: the plan of the job has an option that this version does not read: {0}")]
    RestartOptions(String),
    /// Nothing to continue.
    #[error(
        "--restart: the job ran under --protocol none, which keeps nothing; start it again without --restart"
    )]
    RestartNothing,
    /// Processes had joined the job.
    #[error(
        "--restart: {0} processes had joined the job in {directory} by MPI_Comm_spawn, and a later launcher \
         cannot bring these back; start the job again without --restart",
        directory = .1.display()
    )]
    RestartGrown(u32, PathBuf),
    /// Ranks had opened ports or published names.
    #[error(
        "--restart: ranks of the job in {directory} had opened ports or published names, and a later launcher \
         does not know these; start the job again without --restart",
        directory = .0.display()
    )]
    RestartPorts(PathBuf),
    /// What is written in the directory of the job.
    #[error("--restart: {0:#}")]
    RestartPlan(anyhow::Error),
}

/// What is wrong with a list of hosts, or with a line of a machine file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MachineError {
    /// In a line of a file.
    #[error("line {number}: {what}")]
    Line {
        /// From 1 on.
        number: usize,
        /// What is wrong.
        what: Box<MachineError>,
    },
    /// Nothing in it.
    #[error("it names no host; write one host on each line, such as node1:4")]
    Empty,
    /// Not a number of slots.
    #[error("`{0}` is not a number of slots; write for example node1:4")]
    Slots(String),
    /// Not a name.
    #[error("`{0}` is not the name of a host; write for example node1 or node1:4")]
    Name(String),
    /// Not a list of ranks.
    #[error("`{0}` is not a list of ranks; write for example 0-3,6")]
    Ranks(String),
    /// A limit below the slots.
    #[error(
        "max_slots={most} is less than the {slots} slots of the host; raise it, or give fewer slots"
    )]
    MaxSlots {
        /// The limit.
        most: u32,
        /// The slots.
        slots: u32,
    },
    /// Not a name of a switch or a user.
    #[error("`{0}` has no name that can be used; write for example switch=rack1 or user=me")]
    Value(String),
    /// An interface of the network.
    #[error(
        "`{0}` is not supported for one host; write --interface NAME for the network of all hosts, and \
         drop {0}"
    )]
    Interface(String),
    /// Processors.
    #[error("`{0}` is not supported; use --bind-to for all hosts, and drop {0}")]
    Binding(String),
    /// Not a word for a host.
    #[error(
        "`{0}` is unknown; after the host come slots=N, max_slots=N, spare, switch=NAME, user=NAME, \
         event-logger[=RANKS] and checkpoint-server[=RANKS]"
    )]
    Word(String),
}

impl PlanError {
    /// The same where `--protocol auto` chose the protocol.
    pub fn under_auto(mut self) -> Self {
        if let Self::NoEffect { protocol, .. } = &mut self {
            *protocol = format!("auto, which is {protocol} here");
        }
        self
    }

    /// A value that is refused.
    pub fn value(option: &'static str, what: impl Display) -> Self {
        Self::Value { option, what: what.to_string() }
    }
}
