//! Options that accept a few words: the words, and what each of them means.

use clap::ValueEnum;
use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsStr;

/// How agents on other hosts are started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LauncherKind {
    /// By srun in a Slurm allocation, else by ssh (default)
    Auto,
    /// As steps of a Slurm allocation
    Slurm,
    /// By ssh, or the command of --rsh
    Ssh,
    /// All on this host, no matter what the hosts are called (for tests)
    Fork,
}

/// The batch system whose hosts a job takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BatchSystemChoice {
    /// The one in whose allocation ftmpiexec runs (default)
    Auto,
    /// None
    User,
    /// Slurm
    Slurm,
    /// PBS or Torque
    Pbs,
    /// LSF
    Lsf,
    /// Grid Engine
    Sge,
    /// Cobalt
    Cobalt,
}

/// How causal logging chooses the events that travel with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PiggybackChoice {
    /// The quickest choice (default)
    Vcausal,
    /// Few events, from a graph of events
    Manetho,
    /// Few events, in the order of their dependencies
    Logon,
}

/// What logs between clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BetweenChoice {
    /// As --protocol pessimistic (default)
    Pessimistic,
    /// As --protocol causal
    Causal,
    /// As --protocol optimistic
    Optimistic,
}

/// How ranks learn what other event loggers have stored (event-logger-2005, section VI).
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StableVectorChoice {
    /// The loggers inform each other, and each informs its ranks (default)
    Loggers,
    /// Each logger informs every host
    Broadcast,
    /// Messages carry the information from rank to rank (causal only)
    Piggyback,
}

/// When event loggers acknowledge events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AcknowledgeChoice {
    /// When they are in the logger's file: they survive the death of every process (default)
    Written,
    /// When they are on the disk: they survive a loss of power, at the price of a sync for each
    /// batch
    Durable,
}

/// How much of its sender log an image holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ImageLogsChoice {
    /// What the newest image of each peer needs
    Newest,
    /// Also what the image before it needs; images can be three times as large
    Both,
}

/// Which receptions are logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EventsChoice {
    /// Every reception
    All,
    /// Receptions that the program does not determine, such as those from MPI_ANY_SOURCE
    Nondeterministic,
}

/// Which rank takes an image next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PolicyChoice {
    /// Each rank at its own interval
    Periodic,
    /// One rank after the other
    RoundRobin,
    /// A rank that is drawn at random
    Random,
    /// The rank whose image frees most of the logs
    Payload,
    /// At an interval that follows from the measured cost of images and rate of failures
    YoungDaly,
}

/// What optimistic logging remembers of dependencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TrackingChoice {
    /// Dependencies on events that the event logger does not have yet (default)
    O2p,
    /// All dependencies, as older optimistic protocols do
    Standard,
}

/// How the images of a wave are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WaveChoice {
    /// Ranks empty the channels and hold messages back until the images are taken (default)
    Blocking,
    /// Images include the messages that are on their way; ranks go on
    Nonblocking,
}

/// Whether `MPI_Wtime` is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WtimeChoice {
    /// Times are logged, and a replay sees the same times
    Log,
    /// Times are not logged: fewer events, but a replay sees other times
    Free,
}

/// How ranks reach each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TransportChoice {
    /// Shared memory inside a host, TCP between hosts
    Auto,
    /// TCP everywhere
    Tcp,
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs, reason = "the help would repeat the words")]
pub enum Switch {
    On,
    Off,
}

/// Which instructions ranks count on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CpuBaselineChoice {
    /// Those of the host on which a rank begins (default)
    Off,
    /// Those that all hosts have which the job has at its start
    Auto,
    /// Those of this level: no AVX-512, and none of one maker only
    #[value(name = "x86-64-v3")]
    V3,
    /// Those of this level: AVX-512 without its extensions
    #[value(name = "x86-64-v4")]
    V4,
}

/// Where images are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ImagesChoice {
    /// With the checkpoint servers
    Remote,
    /// Also on the host of the rank, for a restart there without the servers
    #[value(name = "local+remote")]
    LocalAndRemote,
}

/// When the output of ranks is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputChoice {
    /// As it comes
    Raw,
    /// Whole lines only: ranks never mix within a line
    Lines,
    /// Only when no failure can make it untrue any more
    Committed,
}

/// Protocols, as `--protocol` accepts them, and what each does.
pub const PROTOCOLS: &[(&str, &str)] = &[
    (
        "auto",
        "Nothing that passes within a host is logged. One host: coordinated; several: hierarchical; one \
         rank on each host: pessimistic. An option that needs messages logged chooses pessimistic",
    ),
    (
        "pessimistic",
        "A message waits until the event logger has every event that it depends on. After a failure only \
         the failed rank restarts",
    ),
    (
        "replicated",
        "As pessimistic, with --standby all and frequent images (--ckpt-interval): a second process of \
         each rank, on another host if there is one, takes its place when it dies",
    ),
    (
        "causal",
        "No message waits: events travel with messages until the event logger has them. Only the failed \
         rank restarts",
    ),
    (
        "optimistic",
        "No message waits, and only dependencies travel. Ranks that depend on a lost event roll back, too",
    ),
    (
        "channel-memory",
        "Messages go through servers that store them. A restart needs nothing from other ranks",
    ),
    (
        "coordinated",
        "Nothing is logged. All ranks take images together, in waves, and all return to the last wave",
    ),
    (
        "hierarchical",
        "Waves inside clusters of ranks, logs between clusters. The cluster of the failed rank returns to \
         its last wave; the others go on",
    ),
    ("none", "No fault tolerance and no cost: a failure ends the job"),
    (PLUGIN_FORM, "A protocol of your own, from this shared library"),
];

/// How a protocol from a shared library is written.
const PLUGIN_FORM: &str = "plugin:FILE";

/// Accepts the names of [`PROTOCOLS`] and `plugin:FILE`.
#[derive(Debug, Clone)]
pub struct ProtocolName;

impl TypedValueParser for ProtocolName {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        let text = value.to_string_lossy();
        let known = PROTOCOLS.iter().any(|(name, _)| *name == text && *name != PLUGIN_FORM);
        if known || text.strip_prefix("plugin:").is_some_and(|file| !file.is_empty()) {
            return Ok(text.into_owned());
        }
        let mut error = clap::Error::new(ErrorKind::InvalidValue).with_cmd(command);
        let option = arg.map(ToString::to_string).unwrap_or_default();
        let names = PROTOCOLS.iter().map(|(name, _)| (*name).to_owned()).collect();
        error.insert(ContextKind::InvalidArg, ContextValue::String(option));
        error.insert(ContextKind::InvalidValue, ContextValue::String(text.into_owned()));
        error.insert(ContextKind::ValidValue, ContextValue::Strings(names));
        Err(error)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values = PROTOCOLS.iter().map(|(name, help)| PossibleValue::new(*name).help(*help));
        Some(Box::new(values))
    }
}

/// The word that an option accepts for this value.
pub fn name_of<T: ValueEnum>(value: T) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}
