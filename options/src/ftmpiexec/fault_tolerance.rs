//! Protocols and their settings.

use crate::choices::{
    AcknowledgeChoice, BetweenChoice, EventsChoice, PiggybackChoice, ProtocolName,
    StableVectorChoice, Switch, TrackingChoice, WaveChoice, WtimeChoice,
};
use crate::values::{U32_MAX, detect, number, path, time, time_limit};
use clap::{Args, ValueHint};
use std::path::PathBuf;
use std::time::Duration;

/// What happens when a rank dies.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Fault tolerance")]
pub struct FaultTolerance {
    /// How the job survives failures
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = ProtocolName)]
    pub protocol: String,
    /// Failures before the job is given up
    ///
    /// Each death of a rank counts, and the loss of a host counts once.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = number::<u32>(0, U32_MAX, 10))]
    pub max_restarts: u32,
    /// Ranks that have a standby
    ///
    /// A standby is a second process of a rank, on another host if one takes it. It has read the
    /// newest image of the rank and waits; after a failure it repeats what the rank did since.
    /// RANKS are numbers of ranks, such as 0-3,6 (2: rank 2, not two standbys), or `all`: one
    /// standby of each rank. A standby needs as much memory as its rank. For protocols under which
    /// a rank returns alone. Default: none; under --protocol replicated all.
    #[arg(long, value_name = "RANKS")]
    pub standby: Option<String>,
    /// Which failure is repaired how
    ///
    /// FILE names detectors and recoveries, for all ranks and hosts or for some. `show` prints a
    /// file with the defaults. `ignore`: the others go on without a rank that dies, and learn of
    /// it by errors; with --protocol none only. Default: as the file that `show` prints.
    #[arg(long, value_name = "FILE|show|ignore", value_hint = ValueHint::FilePath, value_parser = path)]
    pub recovery: Option<PathBuf>,
    /// Go on without ranks that die
    ///
    /// As --protocol none --recovery ignore.
    #[arg(long, visible_alias = "dac")]
    pub disable_auto_cleanup: bool,
    /// Which receptions are logged
    ///
    /// For protocols that log messages.
    #[arg(long, value_enum, default_value = "nondeterministic", value_name = "WHICH")]
    pub events: EventsChoice,
    /// Whether MPI_Wtime is logged
    ///
    /// For protocols that log messages.
    #[arg(long, value_enum, default_value = "log", value_name = "HOW")]
    pub wtime: WtimeChoice,
    /// MiB that the sender log of a rank may hold
    ///
    /// When half of it is in use, ranks take their images early, so that the log can be cut. When
    /// it is full, sends wait. 0 means a quarter of the memory of the host, or of its control group
    /// if that has less, shared among its ranks. For protocols that log messages.
    #[arg(long, value_name = "MIB", default_value_t = 0, value_parser = number::<u64>(0, u64::MAX, 512))]
    pub log_limit: u64,
    /// MiB of its sender log that a rank touches in MPI_Init
    ///
    /// The first messages are then as fast as later ones, because memory that a log meets for the
    /// first time is slow. At most --log-limit. For protocols that log messages.
    #[arg(long, value_name = "MIB", default_value_t = 0, value_parser = number::<u64>(0, u64::MAX, 512))]
    pub log_reserve: u64,
    /// Number of event loggers
    ///
    /// The ranks are spread over them. From 1 to 32. A machine file can place event loggers
    /// instead. Default: 1.
    #[arg(long, value_name = "N", value_parser = number::<u32>(1, 32, 2))]
    pub event_loggers: Option<u32>,
    /// When event loggers acknowledge events
    ///
    /// One event logger also survives a loss of power with `written`; several need `durable` for
    /// that.
    #[arg(long, value_enum, value_name = "WHEN")]
    pub acknowledge: Option<AcknowledgeChoice>,
    /// Store events in memory shared with the event logger
    ///
    /// Ranks on the host of their event logger then wait for no acknowledgement. `off` measures a
    /// protocol as if the event logger were on another host. Not with --transport tcp or
    /// --acknowledge durable.
    #[arg(
        long,
        value_enum,
        value_name = "on|off",
        default_value = "on",
        hide_possible_values = true
    )]
    pub event_rings: Switch,
    /// How long a server is waited for that cannot store or does not answer
    ///
    /// The wait begins when its disk is full, its host is gone, or it cannot be started again. Then
    /// the job ends with exit code 75, and --restart can continue it. For all servers but the
    /// checkpoint scheduler, which nobody waits for.
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = time)]
    pub storage_patience: Duration,
    /// Longest silence of a host that is not lost
    ///
    /// Then its ranks begin on another host. Heartbeats are sent ten times as often, once a second
    /// at least. All other limits of silence follow: of connections, of the way between two hosts,
    /// of servers. At least 1s: shorter silences are common on busy hosts and networks.
    #[arg(long, value_name = "TIME", default_value = "6s", value_parser = detect)]
    pub detect: Duration,
    /// How long hosts are waited for when all of them are silent at once
    ///
    /// Then it is the link of the launcher's own host that is down. The ranks go on meanwhile.
    /// Below 1.3 times --detect nothing is waited for: each silent host is lost. For jobs with two
    /// or more other hosts.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time)]
    pub launcher_patience: Duration,
    /// Say who waits for whom after this time without progress
    ///
    /// One line names the ranks, the calls and since when they wait. A circle of waits is called a
    /// deadlock. 0 means never.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time_limit)]
    pub stall: Duration,
    /// Command that says whether a host is well
    ///
    /// The agent of each host runs it with sh -c. An exit code that is not 0 means that the host
    /// may fail soon: its ranks move to other hosts. The last line that it prints is the reason.
    /// Default: none.
    #[arg(long, value_name = "COMMAND")]
    pub health_command: Option<String>,
    /// Time between two runs of --health-command
    ///
    /// A run that takes longer than this time, or than 30s, is ended, and the host counts as bad.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time)]
    pub health_interval: Duration,
    /// How events that travel with messages are chosen
    ///
    /// For --protocol causal and --between causal.
    #[arg(long, value_enum, value_name = "HOW")]
    pub piggyback: Option<PiggybackChoice>,
    /// Whether there is an event logger
    ///
    /// Without one, ranks hold the events of each other. For --protocol causal and --between
    /// causal. Default: on.
    #[arg(long, value_enum, value_name = "on|off", hide_possible_values = true)]
    pub event_logger: Option<Switch>,
    /// How ranks learn what several event loggers have stored
    ///
    /// For causal and optimistic logging with --event-loggers 2 or more.
    #[arg(long, value_enum, value_name = "HOW")]
    pub stable_vector: Option<StableVectorChoice>,
    /// Which dependencies optimistic logging remembers
    ///
    /// For --protocol optimistic and --between optimistic.
    #[arg(long, value_enum, value_name = "HOW")]
    pub tracking: Option<TrackingChoice>,
    /// Number of channel memories
    ///
    /// The ranks are spread over them. From 1 to 1024. For --protocol channel-memory. Default: 1.
    #[arg(long, value_name = "N", value_parser = number::<u32>(1, 1024, 2))]
    pub channel_memories: Option<u32>,
    /// MiB of messages that a channel memory keeps in main memory
    ///
    /// Messages for late receivers beyond this limit stay on its disk. For --protocol
    /// channel-memory. Default: 256, and less where a host or its control group has little memory.
    #[arg(long, value_name = "MIB", value_parser = number::<u64>(0, u64::MAX, 256))]
    pub memory_limit: Option<u64>,
    /// How the images of a wave are taken
    ///
    /// For --protocol coordinated and hierarchical.
    #[arg(long, value_enum, value_name = "KIND")]
    pub wave: Option<WaveChoice>,
    /// Which ranks form a cluster
    ///
    /// host: the ranks of one host. N: so many consecutive ranks. For --protocol hierarchical.
    /// Default: host.
    #[arg(long, value_name = "host|N")]
    pub cluster: Option<String>,
    /// What logs between clusters
    ///
    /// For --protocol hierarchical.
    #[arg(long, value_enum, value_name = "PROTOCOL")]
    pub between: Option<BetweenChoice>,
}
