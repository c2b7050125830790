//! What a job prints and writes, how long it runs, how its parts reach each other, and tests.

use crate::choices::{LauncherKind, OutputChoice, TransportChoice};
use crate::values::{address, local_address, number, path, ports, time, time_limit, window};
use clap::{Args, ValueHint};
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

/// What is printed and written.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub struct Output {
    /// Put the rank's number before each line
    #[arg(short = 'l', long, alias = "l")]
    pub prepend_rank: bool,
    /// Put a pattern before each line
    ///
    /// %r in PATTERN is the rank's number, %h the host on which it is, %% a percent sign. Wins
    /// over --prepend-rank. Default: nothing.
    #[arg(long, value_name = "PATTERN")]
    pub prepend_pattern: Option<String>,
    /// Print the exit code of every rank
    ///
    /// On standard output at the end of the job, by hosts: `Exit codes: [node1] 0,0 [node2] 0,1`. A
    /// rank that a signal has killed has 128 and the signal's number; one without an end has `-`.
    #[arg(long)]
    pub print_all_exitcodes: bool,
    /// When output is printed
    ///
    /// Several words may be joined: lines,committed.
    #[arg(long, value_enum, default_value = "raw", value_name = "HOW", value_delimiter = ',')]
    pub output: Vec<OutputChoice>,
    /// Write the standard output of each rank to a file
    ///
    /// %r in PATTERN is the rank's number, %h its host, %% a percent sign.
    #[arg(long, value_name = "PATTERN", value_hint = ValueHint::FilePath)]
    pub outfile_pattern: Option<String>,
    /// Write the standard error of each rank to a file
    ///
    /// PATTERN is as in --outfile-pattern.
    #[arg(long, value_name = "PATTERN", value_hint = ValueHint::FilePath)]
    pub errfile_pattern: Option<String>,
    /// Write what happened to a file
    ///
    /// At the end of the job: failures, recoveries, images, messages, and when each was. A FILE
    /// that ends in .html is a page to look at, with the timeline of the ranks; any other is JSON.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, value_parser = path)]
    pub report: Option<PathBuf>,
    /// Write a timeline for Perfetto or Chrome
    ///
    /// A JSON file in the trace event format, written at the end of the job: what each rank did,
    /// its calls of MPI, pauses of images, failures, waves. Where calls come fast, ranks record
    /// some of them, and all that wait for long. Open it at ui.perfetto.dev or chrome://tracing. A
    /// FILE that ends in .otlp.json is written for OpenTelemetry collectors.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, value_parser = path)]
    pub trace: Option<PathBuf>,
    /// Show messages in the timeline of --trace
    ///
    /// As arrows from the sender to the receiver, with determinants and markers of waves. Where
    /// messages come fast, ranks record some of them, and both ends of each.
    #[arg(long, requires = "trace")]
    pub trace_messages: bool,
    /// Draw a space-time diagram of a recorded run
    ///
    /// TRACE is a file of --trace with --trace-messages. The picture is SVG, on standard output:
    /// ranks are lines, messages are arrows between them. Runs nothing.
    #[arg(long, value_name = "TRACE", value_hint = ValueHint::FilePath, value_parser = path)]
    pub diagram: Option<PathBuf>,
    /// The part of the run that --diagram shows
    ///
    /// Two times since the start of the job: 1.2s,1400ms. Default: the whole run.
    #[arg(long, value_name = "FROM,TO", value_parser = window, requires = "diagram")]
    pub window: Option<(Duration, Duration)>,
    /// Print a line about the job so often
    ///
    /// And a summary at its end. 0: no lines. Default: 10m with -v or --job-dir and in batch
    /// systems, where standard error is no terminal; otherwise no lines.
    #[arg(long, value_name = "TIME", value_parser = time_limit)]
    pub progress: Option<Duration>,
    /// Show the state of the job to Prometheus
    ///
    /// At http://IP:PORT/metrics while the job runs.
    #[arg(long, value_name = "IP:PORT", value_parser = address)]
    pub metrics: Option<SocketAddr>,
    /// Show the job as a web page
    ///
    /// At http://IP:PORT/ while the job runs; PORT alone means 127.0.0.1:PORT. On a loopback
    /// address the page is for you. On another address it needs the token that is printed.
    #[arg(long, value_name = "IP:PORT", value_parser = local_address)]
    pub dashboard: Option<SocketAddr>,
    /// Show the job on the whole terminal
    ///
    /// As ftmpi-top does, while the job runs; q leaves the screen. What is printed meanwhile comes
    /// afterwards. The job has no standard input.
    #[arg(long)]
    pub ui: bool,
    /// Print more about what happens
    #[arg(short, long)]
    pub verbose: bool,
}

/// Jobs that outlive their processes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Batch jobs")]
pub struct Batch {
    /// Keep the job here, for --restart
    ///
    /// Events and images go to this directory and stay there after the job. A directory that exists
    /// keeps its mode: if other users can look into it, the job lies in ftmpi-job below it.
    /// Default: a private directory below the current one, or below TMPDIR where that cannot be
    /// written. It is removed after success.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, value_parser = path)]
    pub job_dir: Option<PathBuf>,
    /// Continue the job of a --job-dir
    ///
    /// Program, arguments, environment, ranks and protocol stay as they are. Hosts and most other
    /// options may change: write them after --restart DIR.
    #[arg(long, value_name = "DIR", conflicts_with = "job_dir", value_hint = ValueHint::DirPath,
          value_parser = path)]
    pub restart: Option<PathBuf>,
    /// Continue the job of --job-dir, or begin it
    ///
    /// The same command line begins the job, and continues it after an end that can be continued.
    /// Where the job has ended for good, nothing runs, and the exit code is the job's.
    #[arg(long, requires = "job_dir", conflicts_with = "restart")]
    pub auto_restart: bool,
    /// Start processes that join a running job
    ///
    /// They are a world of their own in that job: MPI_Comm_connect, MPI_Lookup_name and the like
    /// reach its other processes. JOB is the directory of the job, the process number of its
    /// ftmpiexec, or `latest`: the job of yours that began last on this host. Protocol, images and
    /// hosts are those of the job. What the processes print comes here, and their exit code is the
    /// one of this command. Default: a job of its own.
    #[arg(long, value_name = "JOB", conflicts_with_all = ["job_dir", "restart"],
          value_hint = ValueHint::DirPath)]
    pub join: Option<String>,
    /// Time for the last images after SIGTERM or SIGUSR1
    ///
    /// With --grace or --job-dir SIGTERM takes a last image of every rank before the job ends.
    /// Default: 60s.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub grace: Option<Duration>,
    /// End the job after this time
    ///
    /// With --job-dir or --grace it ends as by SIGTERM and can be continued; otherwise with exit
    /// code 124. 0 or -1: no limit. The variable MPIEXEC_TIMEOUT (seconds) does the same. Default:
    /// no limit.
    #[arg(long, value_name = "TIME", env = "MPIEXEC_TIMEOUT", hide_env = true,
          value_parser = time_limit)]
    pub timeout: Option<Duration>,
}

/// How hosts and ranks are reached.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Network")]
pub struct Network {
    /// How ranks reach each other
    #[arg(long, value_enum, default_value = "auto", value_name = "KIND")]
    pub transport: TransportChoice,
    /// How other hosts are reached
    #[arg(
        long,
        value_enum,
        default_value = "auto",
        value_name = "HOW",
        visible_alias = "bootstrap"
    )]
    pub launcher: LauncherKind,
    /// Agents and servers that are started at the same time
    ///
    /// A start is one connection of ssh (or of --rsh, or one srun), and counts until its agent or
    /// server has connected or its start has failed. Fewer suit a gateway that refuses many
    /// connections. From 1 to 10000.
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = number::<u32>(1, 10_000, 32))]
    pub launch_at_once: u32,
    /// Network interface between the hosts
    ///
    /// Its name on the host of ftmpiexec (ib0), or the address of that host there (10.1.0.1).
    /// Everything then connects to the addresses that the hosts have in that network. Default: the
    /// network on which ssh reaches the hosts.
    #[arg(long, value_name = "NAME", visible_alias = "iface")]
    pub interface: Option<String>,
    /// Ports on which everything listens
    ///
    /// For firewalls: launcher, agents and servers take free ports of the range. Each host needs
    /// one for its agent and one for each server; the host of ftmpiexec needs one more. Ranks
    /// listen nowhere. Default: the system chooses.
    #[arg(long, value_name = "FIRST-LAST", value_parser = ports)]
    pub port_range: Option<RangeInclusive<u16>>,
    /// Command that is used instead of ssh
    ///
    /// It is called with a host name and a command line. Default: ssh -o BatchMode=yes -o
    /// ConnectTimeout=15 -x. In a Slurm allocation, /PATH/srun is the srun that starts agents.
    #[arg(long, value_name = "COMMAND", visible_aliases = ["launcher-exec", "bootstrap-exec"],
          value_hint = ValueHint::CommandString)]
    pub rsh: Option<String>,
    /// More options for ssh, or for the command of --rsh
    ///
    /// Words are separated by spaces: '-p 2222 -i key'. With --launcher slurm for srun: '--mem=0'.
    /// Default: none.
    #[arg(long, value_name = "WORDS")]
    pub rsh_options: Option<String>,
    /// Path of ftmpiexec on other hosts
    ///
    /// Default: the same path as here.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath, value_parser = path)]
    pub remote_path: Option<PathBuf>,
}

/// Trying out.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Testing")]
pub struct Testing {
    /// Kill a rank or a server, or break a link, on purpose
    ///
    /// --help testing lists the faults. May be repeated.
    #[arg(long, value_name = "FAULT")]
    pub inject: Vec<String>,
    /// Check this machine, the hosts and the program
    ///
    /// Says what could stand in the way and what to do. Runs nothing. Exit code 1: a job would
    /// fail.
    #[arg(long)]
    pub doctor: bool,
    /// Say which protocol and interval suit a program
    ///
    /// From what an earlier run measured: REPORT is its file of --report run.json. -n and --hosts
    /// ask for other numbers of ranks and hosts. Runs nothing.
    #[arg(long, value_name = "REPORT", value_hint = ValueHint::FilePath, value_parser = path)]
    pub advise: Option<PathBuf>,
    /// Time between two failures of one host, for --advise
    ///
    /// Default: 8760h.
    #[arg(long, value_name = "TIME", value_parser = time, requires = "advise")]
    pub mtbf: Option<Duration>,
}

/// Words after `--help`, for completions.
pub const TOPICS: &[&str] = &[
    "all",
    "topics",
    "examples",
    "placement",
    "environment",
    "output",
    "fault-tolerance",
    "checkpoints",
    "storage",
    "batch",
    "network",
    "testing",
    "hydra",
    "help",
    "values",
    "exit-codes",
];

/// Help and version. `-h` and `--help` never reach the parser: the command line is searched for
/// them first.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Help")]
pub struct Help {
    /// Print the common options
    #[arg(short = 'h', action = clap::ArgAction::SetTrue)]
    pub short_help: bool,
    /// Print all options, one topic, or one option
    ///
    /// Topics: see the end of -h. An option may be written with or without dashes.
    #[arg(long, value_name = "TOPIC", num_args = 0..=1, default_missing_value = "all",
          value_parser = clap::builder::PossibleValuesParser::new(TOPICS), hide_possible_values = true)]
    pub help: Option<String>,
    /// Print the version
    #[arg(short = 'V', long, action = clap::ArgAction::Version)]
    pub version: Option<bool>,
}

/// Options that other launchers have and that change nothing here.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Hydra compatibility")]
pub struct Ignored {
    /// Accepted, without effect
    ///
    /// A host may always have more ranks than slots. (Open MPI)
    #[arg(long)]
    pub oversubscribe: bool,
    /// Accepted, without effect
    ///
    /// ftmpiexec does not ask who starts it. (Open MPI)
    #[arg(long)]
    pub allow_run_as_root: bool,
}
