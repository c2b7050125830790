//! The command line: as users of Hydra know it, and what is ours.

mod locality;
mod machinefile;
mod normalize;
mod plan;

pub use locality::own_address_towards;
pub use machinefile::{Machine, ServerDuty};
pub use plan::{Plan, Starter};

use clap::{Args, Parser, ValueEnum};
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
  ftmpiexec --doctor ./prog                      look for what could stand in the way

Machine file (-f), one host a line:
  host[:slots] [event-logger[=RANKS]] [checkpoint-server[=RANKS]]
for example
  node1:4
  node2:4
  store:0  event-logger=0-3,6  checkpoint-server   (no ranks; RANKS: which ones it serves)
Servers that no line names run where ftmpiexec runs.

Faults (--inject, repeatable): kill:rank=2,at=3s · kill:every=2s,count=10,seed=7 ·
  kill:rank=all,at=5s · kill:rank=1,point=NAME,nth=500 · kill:server=event-logger,at=2s ·
  kill:agent=HOST,at=2s · delay:logger=50ms
Points: init, log-sent, log-acknowledged, ring-read, rendezvous, image, replay, finalize-begin,
finalize, finalize-end, exit

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
    /// Put the rank's number before each line of its output
    #[arg(short = 'l', long, alias = "l")]
    pub prepend_rank: bool,
    /// How other hosts are reached; `fork` starts all agents here (for tests)
    #[arg(long, value_enum, default_value = "ssh", value_name = "HOW", alias = "bootstrap")]
    pub launcher: LauncherKind,
    /// The command used instead of ssh
    #[arg(long, value_name = "COMMAND", aliases = ["launcher-exec", "bootstrap-exec"])]
    pub rsh: Option<String>,
    /// Path of ftmpiexec on other hosts [default: the same as here]
    #[arg(long, value_name = "PATH")]
    pub remote_path: Option<PathBuf>,

    /// Fault tolerance: `pessimistic` (logs messages, restarts only what failed) or `none`
    #[arg(long, value_name = "NAME", default_value = "pessimistic")]
    pub protocol: String,
    /// Which receptions are logged
    #[arg(long, value_enum, default_value = "nondeterministic", value_name = "WHICH")]
    pub events: EventsChoice,
    /// Whether MPI_Wtime is logged, so that a replay sees the same times
    #[arg(long, value_enum, default_value = "log", value_name = "HOW")]
    pub wtime: WtimeChoice,
    /// Time from the end of one image's transfer to the next image of the same rank
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_time)]
    pub ckpt_interval: std::time::Duration,
    /// Images of processes: `off` replays from the start of the program instead
    #[arg(long, value_enum, default_value = "on", value_name = "ON/OFF")]
    pub ckpt: Switch,
    /// Where the servers keep events and images; kept after the job [default: a private directory
    /// below the current one, removed after success]
    #[arg(long, value_name = "DIR")]
    pub job_dir: Option<PathBuf>,
    /// Write what happened as JSON
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// `auto`: shared memory within a host; `tcp`: sockets everywhere
    #[arg(long, value_enum, default_value = "auto", value_name = "KIND")]
    pub transport: TransportChoice,
    /// Restarts of ranks in the whole job before it is given up
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub max_restarts: u32,
    /// MiB that the sender log of a rank may hold before images are taken early to cut it;
    /// 0: a quarter of the host's memory, shared among its ranks
    #[arg(long, value_name = "MIB", default_value_t = 0)]
    pub log_limit: u64,
    /// Inject a fault (see below)
    #[arg(long, value_name = "FAULT")]
    pub inject: Vec<String>,
    /// `raw`: output as it comes; `lines`: whole lines only, so that ranks never mix within one
    #[arg(long, value_enum, default_value = "raw", value_name = "HOW")]
    pub output: OutputChoice,
    /// Check what could stand in the way, and say what to do
    #[arg(long)]
    pub doctor: bool,
    /// Say more
    #[arg(short, long)]
    pub verbose: bool,

    /// Accepted for Hydra's sake; without effect
    #[arg(long, hide = true)]
    pub genvall: bool,
    #[arg(long, hide = true, value_name = "HOW")]
    pub bind_to: Option<String>,
    #[arg(long, hide = true, value_name = "HOW")]
    pub map_by: Option<String>,
    #[arg(long, hide = true, value_name = "NAME")]
    pub iface: Option<String>,
}

/// What each `:`-separated part may say.
#[derive(Debug, Args, Clone)]
pub struct Part {
    /// Number of ranks
    #[arg(short = 'n', long = "np", value_name = "N", default_value_t = 1)]
    pub ranks: u32,
    /// A variable for the ranks of this part
    #[arg(long, num_args = 2, value_names = ["NAME", "VALUE"])]
    pub env: Vec<String>,
    /// Working directory
    #[arg(long, value_name = "DIR", alias = "wd")]
    pub wdir: Option<PathBuf>,
    /// Accepted for Hydra's sake; without effect
    #[arg(long, hide = true)]
    pub envall: bool,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LauncherKind {
    Ssh,
    Fork,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EventsChoice {
    All,
    Nondeterministic,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WtimeChoice {
    Log,
    Free,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TransportChoice {
    Auto,
    Tcp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    On,
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputChoice {
    Raw,
    Lines,
}

/// Reads the command line; prints help or an error and ends the process where clap would.
///
/// # Errors
/// A command line that is well-formed but makes no sense, in one line.
pub fn parse(arguments: Vec<String>) -> anyhow::Result<(Cli, Vec<Part>)> {
    let mut groups = normalize::split_parts(arguments).into_iter();
    let first = normalize::options::<Cli>(groups.next().unwrap_or_default());
    let cli = Cli::parse_from(first);
    let mut parts = vec![cli.part.clone()];
    for group in groups {
        let arguments = std::iter::once("ftmpiexec".to_owned()).chain(group).collect();
        parts.push(LaterPart::parse_from(normalize::options::<LaterPart>(arguments)).part);
    }
    Ok((cli, parts))
}

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
    std::time::Duration::try_from_secs_f64(number * scale).map_err(|e| format!("`{text}`: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_line(line: &str) -> (Cli, Vec<Part>) {
        parse(line.split_whitespace().map(str::to_owned).collect()).unwrap()
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
        assert_eq!(parts[0].ranks, 2);
        assert_eq!(parts[0].env, ["B", "2"]);
        assert_eq!(parts[0].command, ["./prog", "-n", "7", "--x"]);
        assert_eq!(parts[1].ranks, 3);
        assert_eq!(parts[1].command, ["./other", "-l"]);
        let (cli, parts) = parse_line("ftmpiexec -n 4 --protocol none ./p");
        assert_eq!(cli.protocol, "none");
        assert_eq!((parts[0].ranks, parts[0].command.len()), (4, 1));
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
        assert!(parse_time("").is_err());
    }
}
