//! Which programs run, how many ranks, where, and with which environment.

use clap::{Args, ValueHint};
use std::path::PathBuf;

use crate::choices::BatchSystemChoice;
use crate::places::{MemoryBinding, RankMap, Universe, memory_binding, rank_map, universe};
use crate::values::{U32_MAX, number, path};

/// What each `:`-separated part of the command line may say.
#[derive(Debug, Clone, Args)]
pub struct Part {
    /// Number of ranks
    ///
    /// Default: 1; with --hosts or -f as many as the hosts have slots.
    #[arg(short = 'n', long = "np", value_name = "N", help_heading = "Placement",
          value_parser = number::<u32>(1, U32_MAX, 4))]
    pub ranks: Option<u32>,
    /// Working directory of the ranks
    ///
    /// Default: the directory in which ftmpiexec is started.
    #[arg(long, value_name = "DIR", visible_alias = "wd", value_hint = ValueHint::DirPath,
          help_heading = "Placement", value_parser = path)]
    pub wdir: Option<PathBuf>,
    /// Set a variable for the ranks of this part
    ///
    /// NAME=VALUE works, too. May be repeated.
    #[arg(long, num_args = 2, value_names = ["NAME", "VALUE"], allow_hyphen_values = true,
          help_heading = "Environment")]
    pub env: Vec<String>,
    /// Pass only these variables to the ranks of this part
    ///
    /// As --genvlist, for one part of the command line.
    #[arg(long, value_name = "NAMES", overrides_with_all = ["envlist", "envnone", "envall"],
          help_heading = "Environment")]
    pub envlist: Option<String>,
    /// Pass no variables to the ranks of this part
    ///
    /// As --genvnone, for one part of the command line.
    #[arg(long, overrides_with_all = ["envlist", "envnone", "envall"], help_heading = "Environment")]
    pub envnone: bool,
    /// Pass all variables to the ranks of this part
    ///
    /// Wins over --genvlist and --genvnone.
    #[arg(long, overrides_with_all = ["envlist", "envnone", "envall"], help_heading = "Environment")]
    pub envall: bool,
    /// The program and its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM",
          value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<String>,
}

/// Where ranks run.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Placement")]
pub struct Placement {
    /// Hosts, such as a,b:2 (b has two slots)
    ///
    /// Ranks fill the slots of the first host, then of the next one, and begin again at the first.
    /// A host without a number has one slot. Default: this host.
    #[arg(long, value_name = "LIST", visible_alias = "host", value_hint = ValueHint::Hostname)]
    pub hosts: Option<String>,
    /// Machine file: hosts, their slots, servers
    ///
    /// --help placement shows an example. Not together with --hosts.
    #[arg(short = 'f', long, value_name = "FILE", visible_alias = "hostfile", alias = "f",
          value_hint = ValueHint::FilePath, value_parser = path)]
    pub machinefile: Option<PathBuf>,
    /// Ranks on each host before the next host is used
    ///
    /// Wins over the slots of the hosts, except over 0 slots. Default: the slots.
    #[arg(long, value_name = "N", visible_aliases = ["perhost", "npernode"],
          value_parser = number::<u32>(1, U32_MAX, 2))]
    pub ppn: Option<u32>,
    /// The host of each rank, by its number from 0 on
    ///
    /// 0,0,1,1: two ranks on the first host, two on the second. (0,2,2) means the same: from host 0
    /// on, 2 hosts with 2 ranks each. Default: ranks fill the slots of the hosts.
    #[arg(long, value_name = "MAP", conflicts_with = "ppn", value_parser = rank_map)]
    pub rankmap: Option<RankMap>,
    /// What MPI_UNIVERSE_SIZE says
    ///
    /// A number from the number of ranks on; SYSTEM: as many processes as the hosts have slots;
    /// INFINITE: the largest number. Default: SYSTEM.
    #[arg(long, value_name = "SIZE", value_parser = universe)]
    pub usize: Option<Universe>,
    /// Batch system that gives the hosts
    ///
    /// Where neither --hosts nor -f names hosts. user: none.
    #[arg(long, value_enum, default_value = "auto", value_name = "SYSTEM")]
    pub rmk: BatchSystemChoice,
    /// Bind each rank to processors of its own
    ///
    /// hwthread, core, l3cache, numa or socket: one of these for each rank; core:2 means two cores.
    /// user:0,2,4: these processors, one after the other. none: all processors. The binding also
    /// holds for ranks that restart, here or on another host. Default: none.
    #[arg(long, value_name = "WHAT")]
    pub bind_to: Option<String>,
    /// Order in which ranks are bound
    ///
    /// Successive ranks go to successive units of this kind: hwthread, core, l3cache, numa or
    /// socket, also with a number. Works with --bind-to. Default: the unit of --bind-to.
    #[arg(long, value_name = "WHAT")]
    pub map_by: Option<String>,
    /// From which NUMA nodes ranks take memory
    ///
    /// bind:0,1: from these only; interleave:0-3: from these in turn (interleave:all); none: where
    /// a rank first touches memory. Default: none.
    #[arg(long, value_name = "POLICY", value_parser = memory_binding)]
    pub membind: Option<MemoryBinding>,
    /// Read the parts of the command line from a file
    ///
    /// Each line is a part with its options, program and arguments. Lines are quoted as in a shell;
    /// comments begin with #. A backslash at the end continues a line. Replaces the `:` on the
    /// command line.
    #[arg(long, value_name = "FILE", visible_alias = "app", value_hint = ValueHint::FilePath,
          value_parser = path)]
    pub configfile: Option<PathBuf>,
}

/// Which variables all ranks get.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Environment")]
pub struct Environment {
    /// Set a variable for all ranks
    ///
    /// NAME=VALUE works, too. May be repeated.
    #[arg(long, num_args = 2, value_names = ["NAME", "VALUE"], allow_hyphen_values = true)]
    pub genv: Vec<String>,
    /// Pass only these variables to the ranks
    ///
    /// NAMES is separated by commas. Ranks always get PATH, HOME, USER, LOGNAME, SHELL, LANG, TZ,
    /// and what --genv and --env set. Default: all variables are passed.
    #[arg(long, value_name = "NAMES", overrides_with_all = ["genvlist", "genvnone", "genvall"])]
    pub genvlist: Option<String>,
    /// Pass no variables to the ranks
    ///
    /// The exceptions are those of --genvlist.
    #[arg(long, overrides_with_all = ["genvlist", "genvnone", "genvall"])]
    pub genvnone: bool,
    /// Pass all variables to the ranks (default)
    #[arg(long, overrides_with_all = ["genvlist", "genvnone", "genvall"])]
    pub genvall: bool,
}
