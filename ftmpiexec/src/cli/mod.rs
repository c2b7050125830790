//! The command line: as users of Hydra know it, and what is ours.

mod choices;
mod config_file;
mod environment;
#[cfg(test)]
mod hostile_tests;
mod locality;
mod machinefile;
mod normalize;
mod plan;
mod protocol;

pub use choices::*;
pub use locality::own_address_towards;
pub use machinefile::{Machine, ServerDuty};
pub use plan::{Plan, Starter};

use crate::binding::{BindTo, Unit};
use clap::parser::ValueSource;
use clap::{Args, CommandFactory, FromArgMatches, Parser};
use std::collections::HashSet;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Without --protocol the job is fault-tolerant: a rank that dies is started again from its last
image and catches up, while the others go on (protocol pessimistic, an image every 30 s).

Examples:
  ftmpiexec -n 4 ./prog                          four ranks here, fault-tolerant
  ftmpiexec -n 4 --protocol none ./prog          as fast as it can be; a failure ends the job
  ftmpiexec -hosts a,b -ppn 2 -n 4 ./prog        two ranks on each of two hosts, by ssh
  ftmpiexec -n 1 ./master : -n 3 ./worker        two programs in one job (MPMD)
  ftmpiexec -n 4 --inject kill:rank=2,at=3s --report run.json ./prog
                                                 kill rank 2 after 3 s and write what happened
  ftmpiexec -n 4 --job-dir job ./prog            can be continued after the death of everything:
  ftmpiexec --restart job                        same program and options, unless others are given
  ftmpiexec --doctor ./prog                      look for what could stand in the way

Machine file (-f), one host a line:
  host[:slots] [event-logger[=RANKS]] [checkpoint-server[=RANKS]]
for example
  node1:4
  node2:4
  store:0  event-logger=0-3,6  checkpoint-server   (no ranks; RANKS: which ones it serves)
Servers that no line names run where ftmpiexec runs.

Protocols (--protocol): pessimistic: no message leaves before the events that it depends on are in
the event logger · causal: nobody waits, such events travel with the messages until they are there;
--piggyback vcausal (quickest to choose; default), manetho or logon (choose fewest);
--event-logger off: no server, but whoever restarts asks all other ranks for its events ·
channel-memory: messages go through servers that store them, so ranks need no way to one another and
a restart nothing from any rank; machine file: an event-logger is a channel memory then ·
optimistic: nobody waits and only dependencies travel; who depends on what a failed rank had not
logged yet rolls back to an image as well ·
hierarchical: waves of images inside clusters of ranks, logs between them; a failure returns the
ranks of one cluster, all others go on

Faults (--inject, repeatable): kill:rank=2,at=3s · kill:every=2s,count=10,seed=7 ·
  kill:rank=all,at=5s · kill:rank=1,point=NAME,nth=500 · kill:server=event-logger,at=2s · kill:server=event-logger,number=1,at=2s · kill:server=channel-memory,at=2s ·
  kill:server=checkpoint-scheduler,every=1s ·
  kill:agent=HOST,at=2s · delay:logger=50ms
Points: init, log-sent, log-acknowledged, ring-read, rendezvous, wave, image, replay (it begins),
replay-step (an answer is repeated), acted (a file was changed), finalize-begin, finalize, finalize-end, exit

SIGTERM (with --job-dir or --grace) and SIGUSR1 take a last image of every rank, keep the job directory,
say how to go on, and end with code 75. SIGINT (Ctrl-C), and SIGTERM without these options, end the job.

Exit code: the program's (the first rank whose code is not 0); 127: no such program; 126: it cannot
be run; 128 + signal: it was killed and could not be brought back.";

/// Starts MPI programs and keeps them running when ranks, servers or hosts die.
#[derive(Debug, Parser)]
#[command(
    name = "ftmpiexec",
    version,
    after_help = EXAMPLES,
    override_usage = "ftmpiexec [options] -n N program [arguments] [: -n M program2 [arguments] ...]"
)]
pub struct Cli {
    #[command(flatten)]
    pub part: Part,

    /// Hosts, separated by commas, each `name` or `name:slots`
    #[arg(long, value_name = "LIST", alias = "host")]
    pub hosts: Option<String>,
    /// Machine file: hosts, their slots and servers (see below)
    #[arg(short = 'f', long, value_name = "FILE", aliases = ["hostfile", "f"])]
    pub machinefile: Option<PathBuf>,
    /// Ranks per host before the next host is used
    #[arg(long, value_name = "N", aliases = ["perhost"])]
    pub ppn: Option<u32>,
    /// A variable for all ranks
    #[arg(long, num_args = 2, value_names = ["NAME", "VALUE"])]
    pub genv: Vec<String>,
    /// Of this command's own environment, ranks get only these variables (separated by commas), with what
    /// a login gives (PATH, HOME, USER, LOGNAME, SHELL, LANG, TZ) and what -genv and -env say
    #[arg(long, value_name = "NAMES", overrides_with_all = ["genvlist", "genvnone", "genvall"])]
    pub genvlist: Option<String>,
    /// The same with no variable
    #[arg(long, overrides_with_all = ["genvlist", "genvnone", "genvall"])]
    pub genvnone: bool,
    /// The parts of the command, a line each with its options, program and arguments, instead of
    /// `:`; quotes as in a shell, comments after #
    #[arg(long, value_name = "FILE")]
    pub configfile: Option<PathBuf>,
    /// Put the rank's number before each line of its output
    #[arg(short = 'l', long, alias = "l")]
    pub prepend_rank: bool,
    /// Standard output of each rank into a file; %r is its number, %h its host
    #[arg(long, value_name = "PATTERN")]
    pub outfile_pattern: Option<String>,
    /// Standard error likewise
    #[arg(long, value_name = "PATTERN")]
    pub errfile_pattern: Option<String>,
    /// How other hosts are reached; `fork` starts all agents here (for tests)
    #[arg(long, value_enum, default_value = "ssh", value_name = "HOW", alias = "bootstrap")]
    pub launcher: LauncherKind,
    /// The command used instead of ssh
    #[arg(long, value_name = "COMMAND", aliases = ["launcher-exec", "bootstrap-exec"])]
    pub rsh: Option<String>,
    /// Path of ftmpiexec on other hosts [default: the same as here]
    #[arg(long, value_name = "PATH")]
    pub remote_path: Option<PathBuf>,

    /// Fault tolerance: `pessimistic`, `causal` and `channel-memory` (log messages, restart only what
    /// failed; see below), `optimistic` (and what depends on it), `coordinated` (images of all ranks in
    /// waves, all return to the last one), `hierarchical` (waves inside clusters of ranks, logs between
    /// them) or `none`
    #[arg(long, value_name = "NAME", default_value = "pessimistic")]
    pub protocol: String,
    /// hierarchical: which ranks form a cluster: those of one `host` (default), or so many
    /// consecutive ones
    #[arg(long, value_name = "host|N")]
    pub cluster: Option<String>,
    /// hierarchical: what logs between clusters [default: pessimistic]
    #[arg(long, value_enum, value_name = "PROTOCOL")]
    pub between: Option<BetweenChoice>,
    /// causal: how the events that travel with messages are chosen
    #[arg(long, value_enum, value_name = "HOW")]
    pub piggyback: Option<PiggybackChoice>,
    /// causal: without an event logger ranks hold one another's events
    #[arg(long, value_enum, value_name = "ON/OFF")]
    pub event_logger: Option<Switch>,
    /// How many event loggers the ranks are spread over; a machine file may place them instead
    /// [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=32))]
    pub event_loggers: Option<u32>,
    /// When event loggers acknowledge events: `written`, they survive the death of every process, and
    /// with one logger the loss of power (default); `durable`, a loss of power with several loggers,
    /// too, at the price of a sync of the disk for each batch
    #[arg(long, value_enum, value_name = "WHEN")]
    pub acknowledge: Option<AcknowledgeChoice>,
    /// Let ranks store events in memory that they share with an event logger of the same computer, instead
    /// of waiting for its acknowledgements; `off` measures a protocol as if its logger were elsewhere. Not
    /// with --transport tcp or --acknowledge durable
    #[arg(long, value_enum, value_name = "ON/OFF", default_value = "on")]
    pub event_rings: Switch,
    /// causal, optimistic, with several event loggers: how ranks hear what is written of the ranks of
    /// other loggers [default: loggers]
    #[arg(long, value_enum, value_name = "WAY")]
    pub stable_vector: Option<StableVectorChoice>,
    /// channel-memory: how many memories the ranks are spread over [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub channel_memories: Option<u32>,
    /// channel-memory: MiB of messages that each memory keeps for late receivers before it leaves
    /// them on its disk [default: 256]
    #[arg(long, value_name = "MIB")]
    pub memory_limit: Option<u64>,
    /// optimistic: `o2p` forgets dependencies when the event logger has what they are on (default);
    /// `standard` keeps them, as optimistic protocols before it did
    #[arg(long, value_enum, value_name = "HOW")]
    pub tracking: Option<TrackingChoice>,
    /// Waves of `coordinated` and `hierarchical`: `blocking` empties the channels and holds messages
    /// until the images
    /// are taken (default); `nonblocking` keeps what is under way and lets the program go on
    #[arg(long, value_enum, value_name = "KIND")]
    pub wave: Option<WaveChoice>,
    /// Which receptions are logged
    #[arg(long, value_enum, default_value = "nondeterministic", value_name = "WHICH")]
    pub events: EventsChoice,
    /// Whether MPI_Wtime is logged, so that a replay sees the same times
    #[arg(long, value_enum, default_value = "log", value_name = "HOW")]
    pub wtime: WtimeChoice,
    /// Time from the end of one image's transfer to the next image of the same rank; between waves,
    /// with `coordinated` and `hierarchical`
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_time)]
    pub ckpt_interval: std::time::Duration,
    /// Whose image is next, where ranks take theirs one by one: `periodic` (each on its own),
    /// `round-robin`, `random`, `payload` (whose image frees most of the logs); `young-daly`:
    /// the interval follows from the measured cost of images and rate of failures, also of waves
    #[arg(long, value_enum, default_value = "periodic", value_name = "POLICY")]
    pub ckpt_policy: PolicyChoice,
    /// Images of processes: `off` replays from the start of the program instead
    #[arg(long, value_enum, default_value = "on", value_name = "ON/OFF")]
    pub ckpt: Switch,
    /// Images hold only the memory that changed since an earlier one, with a whole one now and then;
    /// `off`: every image is whole
    #[arg(long, value_enum, default_value = "on", value_name = "ON/OFF")]
    pub ckpt_incremental: Switch,
    /// How images are compressed: 0 not at all, 1 LZ4, from 2 on Zstandard of that level, up to 19; by
    /// several processors at once where the ranks of a host leave some
    #[arg(long, default_value_t = 1, value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=19))]
    pub compress: u8,
    /// Encrypt the images: whoever has them without the key can neither read nor forge them
    #[arg(long)]
    pub encrypt_images: bool,
    /// Where the key is; made if it is not there. Keep it elsewhere than the images, and keep it: without
    /// it nobody can go on with the job [default: `image-key` in the job's directory]
    #[arg(long, value_name = "FILE")]
    pub image_key: Option<PathBuf>,
    /// Where images are: with the checkpoint servers, or also on the hosts of their ranks, so that
    /// ranks which begin again there need not ask the servers
    #[arg(long, value_enum, default_value = "remote", value_name = "WHERE")]
    pub images: ImagesChoice,
    /// Where hosts keep their own images, with `--images local+remote` [default: the system's
    /// temporary directory]
    #[arg(long, value_name = "DIR")]
    pub local_dir: Option<PathBuf>,
    /// Images go on from the checkpoint servers to this object store, in the background, and come back
    /// from there when a server has lost its disk: s3://BUCKET/PREFIX or file:///DIRECTORY. Credentials
    /// come from the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL)
    #[arg(long, value_name = "ADDRESS")]
    pub object_store: Option<String>,
    /// Images may take so many bytes on each checkpoint server (K, M, G, T: powers of 1024); room for
    /// three images of each of its ranks is needed, six with an object store [default: what the disk
    /// takes]
    #[arg(long, value_name = "BYTES", value_parser = ftmpi_servers::image_store::parse_bytes)]
    pub image_space: Option<u64>,
    /// Where the servers keep events and images; kept after the job [default: a private directory
    /// below the current one, removed after success]
    #[arg(long, value_name = "DIR")]
    pub job_dir: Option<PathBuf>,
    /// Go on with the job in this directory after all its processes are gone: same program, arguments
    /// and options; hosts and most options may be given anew
    #[arg(long, value_name = "DIR", conflicts_with = "job_dir")]
    pub restart: Option<PathBuf>,
    /// Time for the last images of all ranks after SIGTERM or SIGUSR1 [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub grace: Option<std::time::Duration>,
    /// Write what happened as JSON
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Tell the state of the job at http://ADDRESS/metrics, in the text form of Prometheus
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<std::net::SocketAddr>,
    /// `auto`: shared memory within a host; `tcp`: sockets everywhere
    #[arg(long, value_enum, default_value = "auto", value_name = "KIND")]
    pub transport: TransportChoice,
    /// Which processors each rank may use: a `hwthread`, `core`, `l3cache`, `numa` node or `socket` of its own (also
    /// several, as in `core:2`), those of a list in turn (`user:0,2,4`), or all of them (`none`, default)
    #[arg(long, value_name = "WHAT")]
    pub bind_to: Option<BindTo>,
    /// With --bind-to: successive ranks go to successive ones of these [default: what they are bound to]
    #[arg(long, value_name = "WHAT")]
    pub map_by: Option<Unit>,
    /// Restarts of ranks in the whole job before it is given up
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub max_restarts: u32,
    /// How long the job may run: then it is ended as by SIGTERM (with --job-dir or --grace it can be continued), or
    /// else with exit code 124
    #[arg(long, value_name = "TIME", env = "MPIEXEC_TIMEOUT", hide_env_values = true,
          value_parser = parse_limit, allow_hyphen_values = true)]
    pub timeout: Option<std::time::Duration>,
    /// How long ranks wait for an event logger whose disk is full or whose host is gone, before the
    /// job ends (it can be continued then)
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = parse_time)]
    pub storage_patience: std::time::Duration,
    /// MiB that the sender log of a rank may hold before images are taken early to cut it;
    /// 0: a quarter of the host's memory, shared among its ranks
    #[arg(long, value_name = "MIB", default_value_t = 0)]
    pub log_limit: u64,
    /// MiB of memory for its sender log that each rank touches in MPI_Init (no more than --log-limit): a
    /// log that grows meets pages for the first time, which can take longer than the copy into them
    #[arg(long, value_name = "MIB", default_value_t = 0)]
    pub log_reserve: u64,
    /// How much of its sender log the image of a rank holds: `newest`, what the newest image of each peer needs;
    /// `both`, also what the one before it needs, so that a damaged image and the deaths of several
    /// ranks may come together (images of programs that send much are up to three times as
    /// large). With --object-store always `both`
    #[arg(long, value_enum, value_name = "WHICH", default_value = "newest")]
    pub image_logs: ImageLogsChoice,
    /// Inject a fault (see below)
    #[arg(long, value_name = "FAULT")]
    pub inject: Vec<String>,
    /// `raw`: output as it comes; `lines`: whole lines only, so that ranks never mix within one;
    /// `committed`: only what no failure can make untrue any more; `lines,committed`: both
    #[arg(long, value_enum, default_value = "raw", value_name = "HOW", value_delimiter = ',')]
    pub output: Vec<OutputChoice>,
    /// Check what could stand in the way, and say what to do
    #[arg(long)]
    pub doctor: bool,
    /// Say more
    #[arg(short, long)]
    pub verbose: bool,

    /// All of it (default)
    #[arg(long, hide = true, overrides_with_all = ["genvlist", "genvnone", "genvall"])]
    pub genvall: bool,
    /// Accepted for Hydra's sake; without effect
    #[arg(long, hide = true, value_name = "NAME")]
    pub iface: Option<String>,
}

/// What each `:`-separated part may say.
#[derive(Debug, Args, Clone)]
pub struct Part {
    /// Number of ranks [default: 1; as many as there are slots, if hosts are named]
    #[arg(short = 'n', long = "np", value_name = "N")]
    pub ranks: Option<u32>,
    /// A variable for the ranks of this part
    #[arg(long, num_args = 2, value_names = ["NAME", "VALUE"])]
    pub env: Vec<String>,
    /// As -genvlist, for the ranks of this part
    #[arg(long, value_name = "NAMES", overrides_with_all = ["envlist", "envnone", "envall"])]
    pub envlist: Option<String>,
    /// As -genvnone, for the ranks of this part
    #[arg(long, overrides_with_all = ["envlist", "envnone", "envall"])]
    pub envnone: bool,
    /// All variables for the ranks of this part, whatever -genvlist and -genvnone say
    #[arg(long, overrides_with_all = ["envlist", "envnone", "envall"])]
    pub envall: bool,
    /// Working directory
    #[arg(long, value_name = "DIR", alias = "wd")]
    pub wdir: Option<PathBuf>,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    pub command: Vec<String>,
}

/// A part after the first `:`.
#[derive(Debug, Parser)]
#[command(name = "ftmpiexec … :", disable_help_flag = true)]
struct LaterPart {
    #[command(flatten)]
    part: Part,
}

/// A command line.
#[derive(Debug)]
pub struct CommandLine {
    /// What is said once.
    pub cli: Cli,
    /// The `:`-separated parts.
    pub parts: Vec<Part>,
    /// The options of the first part, as they were given, without the program.
    pub options: Vec<String>,
    /// Names of the fields that were given, not left at their defaults.
    given: HashSet<String>,
}

impl CommandLine {
    /// Whether this option was given.
    pub fn gave(&self, field: &str) -> bool {
        self.given.contains(field)
    }

    /// The options of an earlier command line, where this one says nothing else.
    pub fn over(&self, mut earlier: Cli) -> Cli {
        let later = &self.cli;
        macro_rules! take {
            ($($field:ident),*) => {
                $(if self.gave(stringify!($field)) {
                    earlier.$field = later.$field.clone();
                })*
            };
        }
        if self.gave("hosts") || self.gave("machinefile") {
            (earlier.hosts, earlier.machinefile, earlier.ppn) = (None, None, None);
        }
        take!(hosts, machinefile, ppn, prepend_rank, launcher, rsh, remote_path, ckpt_interval);
        take!(
            ckpt,
            report,
            transport,
            max_restarts,
            log_limit,
            log_reserve,
            output,
            verbose,
            grace,
            doctor
        );
        take!(storage_patience, ckpt_incremental, compress, metrics, images, local_dir);
        take!(image_key, image_space, event_rings, timeout, bind_to, map_by);
        take!(outfile_pattern, errfile_pattern, ckpt_policy, memory_limit);
        // Faults belong to one run.
        earlier.inject = later.inject.clone();
        earlier
    }
}

/// Reads the command line; prints help or an error and ends the process where clap would.
pub fn parse(arguments: Vec<String>) -> CommandLine {
    read(arguments).unwrap_or_else(|error| error.exit())
}

/// Reads a command line.
///
/// # Errors
/// Help that was asked for, or what is wrong.
pub fn read(arguments: Vec<String>) -> Result<CommandLine, clap::Error> {
    let mut groups = normalize::split_parts(arguments);
    let mut first = normalize::options::<Cli>(std::mem::take(&mut groups[0]));
    let mut rest = groups.split_off(1);
    let mut matches = Cli::command().try_get_matches_from(&first)?;
    if let Some(file) = matches.get_one::<PathBuf>("configfile") {
        let command = Cli::from_arg_matches(&matches)?.part.command;
        let parts = config_file::parts(file, !command.is_empty() || !rest.is_empty())
            .map_err(|what| Cli::command().error(clap::error::ErrorKind::ValueValidation, what))?;
        let mut lines = parts.into_iter();
        // What is said once may be said in front of the file and in its first line.
        config_file::forget(&mut first);
        first.extend(lines.next().unwrap_or_default());
        first = normalize::options::<Cli>(first);
        rest = lines.collect();
        matches = Cli::command().try_get_matches_from(&first)?;
    }
    let cli = Cli::from_arg_matches(&matches)?;
    let given = matches
        .ids()
        .map(clap::Id::as_str)
        .filter(|id| matches.value_source(id) == Some(ValueSource::CommandLine))
        .map(str::to_owned)
        .collect();
    let program = cli.part.command.len();
    let options = first.get(1..first.len() - program).unwrap_or_default().to_vec();
    let mut parts = vec![cli.part.clone()];
    for group in rest {
        let arguments = std::iter::once("ftmpiexec".to_owned()).chain(group).collect();
        parts.push(LaterPart::try_parse_from(normalize::options::<LaterPart>(arguments))?.part);
    }
    Ok(CommandLine { cli, parts, options, given })
}

/// No time that is given is longer: points in time can be computed with it.
const TIME_MAX: std::time::Duration = std::time::Duration::from_secs(100 * 365 * 86_400);

/// `30s`, `500ms`, `2m`, `1h`, or a number of seconds.
///
/// # Errors
/// What was wrong with it.
pub fn parse_time(text: &str) -> Result<std::time::Duration, String> {
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let scale = match unit {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("`{unit}` is no unit of time; use ms, s, m or h")),
    };
    let number: f64 =
        number.parse().map_err(|_| format!("`{text}` is no time; try 30s or 500ms"))?;
    let time = std::time::Duration::try_from_secs_f64(number * scale);
    time.ok()
        .filter(|time| *time <= TIME_MAX)
        .ok_or_else(|| format!("`{text}` is more than a hundred years"))
}

/// A time, or none at all: 0, and what other launchers mean by it, -1.
fn parse_limit(text: &str) -> Result<std::time::Duration, String> {
    if text == "-1" { Ok(std::time::Duration::ZERO) } else { parse_time(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_line(line: &str) -> (Cli, Vec<Part>) {
        let line = command_line(line);
        (line.cli, line.parts)
    }

    fn command_line(line: &str) -> CommandLine {
        parse(line.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn a_continued_job_keeps_its_options_unless_others_are_given() {
        let line = "ftmpiexec -n 2 -hosts a,b -ppn 2 --ckpt-interval 9s -l --inject kill:rank=1,at=1s \
                    ./prog -hosts x";
        let first = command_line(line);
        assert_eq!(first.options.last().map(String::as_str), Some("kill:rank=1,at=1s"));
        let stored = std::iter::once("ftmpiexec".to_owned()).chain(first.options);
        let merged = |line: &str| command_line(line).over(parse(stored.clone().collect()).cli);
        let same = merged("ftmpiexec --restart d");
        assert_eq!((same.hosts.as_deref(), same.ppn), (Some("a,b"), Some(2)));
        assert_eq!((same.ckpt_interval.as_secs(), same.prepend_rank), (9, true));
        assert!(same.inject.is_empty(), "a fault is not repeated");
        let other = merged("ftmpiexec --restart d -f hosts --ckpt-interval 30s");
        assert_eq!((other.hosts.as_deref(), other.ppn), (None, None));
        assert_eq!(other.machinefile, Some("hosts".into()));
        assert_eq!(other.ckpt_interval.as_secs(), 30);
    }

    #[test]
    fn hydra_command_lines_are_understood() {
        let (cli, parts) = parse_line(
            "ftmpiexec -np 2 -hosts a,b:3 -ppn 2 -genv A 1 -env B 2 -prepend-rank -wdir /tmp \
             ./prog -n 7 --x : -n 3 -env C 3 ./other -l",
        );
        assert_eq!(cli.hosts.as_deref(), Some("a,b:3"));
        assert_eq!(cli.ppn, Some(2));
        assert_eq!(cli.genv, ["A", "1"]);
        assert!(cli.prepend_rank);
        assert_eq!(parts.len(), 2);
        assert_eq!(parts[0].ranks, Some(2));
        assert_eq!(parts[0].env, ["B", "2"]);
        assert_eq!(parts[0].command, ["./prog", "-n", "7", "--x"]);
        assert_eq!(parts[1].ranks, Some(3));
        assert_eq!(parts[1].command, ["./other", "-l"]);
        let (cli, parts) = parse_line("ftmpiexec -n 4 --protocol none ./p");
        assert_eq!(cli.protocol, "none");
        assert_eq!((parts[0].ranks, parts[0].command.len()), (Some(4), 1));
        let (cli, _) = parse_line("ftmpiexec -l -n 2 -machinefile hosts hostname");
        assert!(cli.prepend_rank);
        assert_eq!(cli.machinefile, Some("hosts".into()));
    }

    #[test]
    fn times_have_units() {
        assert_eq!(parse_time("1.5s").unwrap().as_millis(), 1500);
        assert_eq!(parse_time("50ms").unwrap().as_millis(), 50);
        assert_eq!(parse_time("2m").unwrap().as_secs(), 120);
        assert!(parse_time("3 parsecs").is_err());
        assert!(parse_time("99999999999999999999h").unwrap_err().contains("hundred years"));
        assert!(parse_time("").is_err());
    }

    #[test]
    fn a_variable_may_be_one_word() {
        let (cli, parts) = parse_line(
            "ftmpiexec -genv A=1 -genv B b=2 -np 2 -env C= --env=D=x=y ./prog -env E=1 : -env F=3 ./q",
        );
        assert_eq!(cli.genv, ["A", "1", "B", "b=2"]);
        assert_eq!(parts[0].env, ["C", "", "D", "x=y"]);
        assert_eq!(parts[0].command, ["./prog", "-env", "E=1"]);
        assert_eq!(parts[1].env, ["F", "3"]);
    }

    #[test]
    fn a_file_names_the_parts() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "-n 2 -l ./a 'b c'\n# more\n-n 1 -env X 1 ./d\n").unwrap();
        let path = file.path().to_str().unwrap();
        let line = command_line(&format!("ftmpiexec -genv A 1 -configfile {path}"));
        assert_eq!((line.cli.genv.len(), line.cli.prepend_rank), (2, true));
        let parts: Vec<_> = line.parts.iter().map(|part| (part.ranks, &part.command)).collect();
        assert_eq!(parts[0], (Some(2), &vec!["./a".to_owned(), "b c".to_owned()]));
        assert_eq!(parts[1], (Some(1), &vec!["./d".to_owned()]));
        assert_eq!(line.options, ["--genv", "A", "1", "-n", "2", "-l"], "as without the file");
        for wrong in ["-configfile FILE ./x", "-configfile FILE : ./x", "-configfile /no/such"] {
            let line = format!("ftmpiexec {}", wrong.replace("FILE", path));
            assert!(read(line.split_whitespace().map(str::to_owned).collect()).is_err(), "{line}");
        }
    }

    #[test]
    fn without_a_number_there_are_as_many_ranks_as_slots() {
        let ranks = |line: &str| {
            let line = command_line(line);
            Plan::of(&line).unwrap().program_of.len()
        };
        assert_eq!(ranks("ftmpiexec ./p"), 1);
        assert_eq!(ranks("ftmpiexec -hosts a:2,b ./p"), 3);
        assert_eq!(ranks("ftmpiexec -hosts a:2,b -ppn 4 ./p"), 8);
        assert_eq!(ranks("ftmpiexec -hosts a:2,b -n 1 ./p"), 1);
    }
}
