//! What `--protocol auto` chooses.
//!
//! Guarantees: the choice depends on the command line and on the placement of the ranks only, so
//! the same command makes the same choice. What passes within a host is not logged, unless an
//! option needs it: a copy into a log costs little beside a wire, and most of the speed of shared
//! memory.
//!
//! | ranks | images | choice | after a failure |
//! | --- | --- | --- | --- |
//! | on one host | on | `coordinated` | all ranks return to the last wave |
//! | on several hosts | on | `hierarchical`, hosts as clusters | the ranks of the host return |
//! | on several hosts, one on each | on | `pessimistic` | the failed rank returns |
//! | on several hosts, in shared memory | on | `coordinated` | all ranks return |
//! | on several hosts, spawning others | on | `coordinated` | all ranks return |
//! | anywhere | off | `coordinated` | all ranks begin again |
//!
//! Options steer the choice ([`Wish`]): what needs a log of receptions gets one, what needs images
//! of single ranks gets them, and what needs clusters gets clusters. Loads and stores in shared
//! memory (`MPI_Win_allocate_shared`) cannot be repeated from a log, also where those who share it
//! return together (`docs/internals/windows-and-files.md`). Processes that are spawned end before
//! the job where all ranks return together.

use super::effects;
use super::needs::Needs;
use crate::agent_protocol::Program;
use crate::inject::{Fault, ServerKind};
use crate::machine::Machine;
use crate::os_text::OsText;
use crate::program::{calls, find};
use crate::tuning::SCRIPT_BYTES_MAX;
use ftmpi_options::choices::{OutputChoice, PolicyChoice, Switch};
use ftmpi_options::ftmpiexec::Cli;
use ftmpi_wire::ProtocolTraits;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

/// The name of the protocol that leaves the choice to this module.
pub const AUTO: &str = "auto";

/// Points of the library that are reached only where receptions are logged.
const POINTS_OF_LOGS: [&str; 4] = ["log-sent", "log-acknowledged", "replay", "replay-step"];

/// The function that makes windows in memory that ranks share.
const SHARING: [&str; 1] = ["mpi_win_allocate_shared"];
/// The functions by which processes join a job, or meet in it.
const JOINING: [&str; 5] = [
    "mpi_comm_spawn",
    "mpi_comm_spawn_multiple",
    "mpi_open_port",
    "mpi_comm_connect",
    "mpi_comm_join",
];

/// What Python scripts say where they do that.
const JOINING_IN_PYTHON: [&str; 5] =
    ["mpi4py.futures", "MPIPoolExecutor", ".Spawn(", ".Spawn_multiple(", ".Open_port("];

/// What an option needs of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wish {
    /// A log of receptions, or a server for it.
    Log,
    /// Images of single ranks, at times of their own.
    SingleImages,
    /// Clusters of ranks.
    Clusters,
    /// Waves of images, or logs between clusters: where there are several hosts.
    ClustersOfHosts,
}

/// What the choice depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Hosts that have ranks.
    pub hosts: usize,
    /// Ranks on the host that has most of them.
    pub most_on_a_host: usize,
    /// Images are taken.
    pub images: bool,
    /// A program calls `MPI_Win_allocate_shared`.
    pub shares_memory: bool,
    /// A program calls `MPI_Comm_spawn`, or a function of ports.
    pub spawns: bool,
    /// What an option needs, and its text.
    pub wishes: Vec<(Wish, String)>,
}

/// Why a protocol was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// All ranks are on one host.
    OneHost,
    /// Ranks are on so many hosts.
    Hosts(usize),
    /// So many hosts have one rank each.
    OneEach(usize),
    /// Ranks of a host share memory, on several hosts.
    SharedMemory,
    /// The program has processes spawned, or connects at ports, on several hosts.
    NewProcesses,
    /// Images are off.
    NoImages,
    /// This option needs it.
    Option(String),
    /// The job began with it.
    Continued,
}

/// What `--protocol auto` chose, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The name of the protocol.
    pub name: String,
    /// Why.
    pub reason: Reason,
}

/// The choice.
pub fn choose(facts: &Facts) -> Choice {
    let wish = |kind: Wish| facts.wishes.iter().find(|(wish, _)| *wish == kind);
    let of = |name: &str, reason| Choice { name: name.to_owned(), reason };
    let by = |name, option: &str| of(name, Reason::Option(option.to_owned()));
    let several = facts.hosts > 1;
    if let Some((_, option)) = wish(Wish::SingleImages) {
        return by("pessimistic", option);
    }
    if let Some((_, option)) = wish(Wish::Clusters) {
        return by("hierarchical", option);
    }
    if let Some((_, option)) = wish(Wish::Log)
        && !(several && facts.images)
    {
        return by("pessimistic", option);
    }
    // Where no image cuts a log, it would hold all that the job ever sends.
    if !facts.images {
        return of("coordinated", Reason::NoImages);
    }
    let steered = wish(Wish::Log).or(wish(Wish::ClustersOfHosts)).is_some();
    if several && facts.most_on_a_host > 1 && facts.shares_memory && !steered {
        return of("coordinated", Reason::SharedMemory);
    }
    if several && facts.spawns && !steered {
        return of("coordinated", Reason::NewProcesses);
    }
    match (several, facts.most_on_a_host) {
        (false, _) => of("coordinated", Reason::OneHost),
        (true, 1) => match wish(Wish::ClustersOfHosts) {
            Some((_, option)) => by("hierarchical", option),
            None => of("pessimistic", Reason::OneEach(facts.hosts)),
        },
        (true, _) => of("hierarchical", Reason::Hosts(facts.hosts)),
    }
}

impl Facts {
    /// The facts of this command line; `given` are the fields that it sets.
    pub fn of(
        cli: &Cli,
        given: &[&str],
        placement: &[u32],
        machines: &[Machine],
        faults: &[Fault],
        programs: &[Program],
    ) -> Self {
        let (hosts, most_on_a_host) = counted(placement);
        Self {
            hosts,
            most_on_a_host,
            images: cli.checkpoints.ckpt == Switch::On,
            shares_memory: programs.iter().any(|program| calls_one(program, &SHARING)),
            spawns: programs
                .iter()
                .any(|program| calls_one(program, &JOINING) || script_spawns(program)),
            wishes: wishes(cli, given, machines, faults),
        }
    }
}

/// Hosts that have ranks, and ranks on the host that has most of them.
fn counted(placement: &[u32]) -> (usize, usize) {
    let mut ranks_on: BTreeMap<u32, usize> = BTreeMap::new();
    for host in placement {
        *ranks_on.entry(*host).or_default() += 1;
    }
    (ranks_on.len(), ranks_on.into_values().max().unwrap_or(0))
}

/// Whether a program makes windows in memory that ranks share, where the protocol refuses that.
pub fn shares_in_vain(traits: ProtocolTraits, placement: &[u32], programs: &[Program]) -> bool {
    let shares = |program: &Program| calls_one(program, &SHARING);
    traits.replays() && counted(placement).1 > 1 && programs.iter().any(shares)
}

/// Whether a program calls one of these functions. A program that is not found is reported by
/// others.
fn calls_one(program: &Program, functions: &[&str]) -> bool {
    let path = program.search_path();
    let file = program.command.first().map(OsText::to_os);
    file.and_then(|name| find(&name, &program.directory, &path).ok())
        .is_some_and(|file| functions.iter().any(|function| calls(&file, function)))
}

/// Whether the Python script of this command line, or a module or text in its place, has processes
/// spawned. What the script imports is not looked at, and neither are the script's own arguments.
fn script_spawns(program: &Program) -> bool {
    let words: Vec<OsString> = program.command.iter().map(OsText::to_os).collect();
    let Some(first) = words.first() else { return false };
    let name = Path::new(first).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let code = |line: &str| JOINING_IN_PYTHON.iter().any(|word| line.contains(word));
    let says =
        |text: &str| text.lines().any(|line| !line.trim_start().starts_with('#') && code(line));
    let script_says = |word: &OsString| {
        let file = program.directory.join(word);
        let facts = std::fs::metadata(&file).ok().filter(|facts| facts.is_file())?;
        let is_short = facts.len() <= SCRIPT_BYTES_MAX;
        Some(
            is_short
                && std::fs::read(&file).is_ok_and(|text| says(&String::from_utf8_lossy(&text))),
        )
    };
    if name.ends_with(".py") {
        return script_says(first).unwrap_or(false);
    }
    if !name.starts_with("python") {
        return false;
    }
    let mut rest = words[1..].iter();
    while let Some(word) = rest.next() {
        let text = word.to_string_lossy();
        match text.as_ref() {
            "-c" => return rest.next().is_some_and(|code| says(&code.to_string_lossy())),
            // A module may run a script that follows (mpi4py, pytest).
            "-m" => {
                if rest.next().is_some_and(|module| says(&module.to_string_lossy())) {
                    return true;
                }
            }
            "-W" | "-X" => drop(rest.next()),
            option if option.starts_with('-') => {
                if says(option) {
                    return true;
                }
            }
            _ => {
                if let Some(says) = script_says(word) {
                    return says;
                }
            }
        }
    }
    false
}

/// What the options need, in the order in which the help has them.
fn wishes(
    cli: &Cli,
    given: &[&str],
    machines: &[Machine],
    faults: &[Fault],
) -> Vec<(Wish, String)> {
    let mut wishes = Vec::new();
    for (field, needs) in effects::TABLE.iter().filter(|(field, _)| given.contains(field)) {
        let wish = match needs {
            Needs::Replay | Needs::SenderLog | Needs::Logger => Wish::Log,
            Needs::Alone => Wish::SingleImages,
            Needs::Clusters if *field == "cluster" => Wish::Clusters,
            Needs::Clusters | Needs::Waves => Wish::ClustersOfHosts,
            _ => continue,
        };
        wishes.push((wish, effects::option_of(field)));
    }
    let policy = cli.checkpoints.ckpt_policy;
    if !matches!(policy, PolicyChoice::Periodic | PolicyChoice::YoungDaly) {
        wishes.push((Wish::SingleImages, "--ckpt-policy".to_owned()));
    }
    // Events make text final within milliseconds, waves within an interval.
    if cli.output.output.contains(&OutputChoice::Committed) {
        wishes.push((Wish::Log, "--output committed".to_owned()));
    }
    if machines.iter().any(|machine| machine.event_logger.is_some()) {
        wishes.push((Wish::Log, "event-logger in the machine file".to_owned()));
    }
    let concerns_log = |fault: &Fault| match fault {
        Fault::DelayLogger(_) => true,
        Fault::KillServer { kind, .. } => *kind == ServerKind::EventLogger,
        Fault::KillAtPoint { point, .. } => POINTS_OF_LOGS.contains(&point.as_str()),
        _ => false,
    };
    if faults.iter().any(concerns_log) {
        wishes.push((Wish::Log, "--inject".to_owned()));
    }
    wishes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    fn facts(hosts: usize, most_on_a_host: usize) -> Facts {
        let (shares_memory, spawns) = (false, false);
        Facts { hosts, most_on_a_host, images: true, shares_memory, spawns, wishes: Vec::new() }
    }

    fn with(facts: Facts, wishes: &[Wish]) -> Facts {
        Facts { wishes: wishes.iter().map(|wish| (*wish, "--it".to_owned())).collect(), ..facts }
    }

    fn chosen(facts: &Facts) -> (String, Reason) {
        let Choice { name, reason } = choose(facts);
        (name, reason)
    }

    /// The whole table, without options.
    #[test]
    fn hosts_and_images_decide() {
        let is = |facts: Facts, name: &str, reason: Reason| {
            assert_eq!(chosen(&facts), (name.to_owned(), reason), "{facts:?}");
        };
        is(facts(1, 1), "coordinated", Reason::OneHost);
        is(facts(1, 64), "coordinated", Reason::OneHost);
        is(facts(2, 1), "pessimistic", Reason::OneEach(2));
        is(facts(2, 2), "hierarchical", Reason::Hosts(2));
        is(facts(9, 3), "hierarchical", Reason::Hosts(9));
        for (hosts, most) in [(1, 4), (2, 1), (2, 2)] {
            let off = Facts { images: false, ..facts(hosts, most) };
            is(off, "coordinated", Reason::NoImages);
        }
        let sharing = |facts| Facts { shares_memory: true, ..facts };
        is(sharing(facts(1, 4)), "coordinated", Reason::OneHost);
        is(sharing(facts(2, 2)), "coordinated", Reason::SharedMemory);
        is(sharing(facts(2, 1)), "pessimistic", Reason::OneEach(2));
        is(with(sharing(facts(2, 2)), &[Wish::Log]), "hierarchical", Reason::Hosts(2));
        is(with(sharing(facts(2, 2)), &[Wish::ClustersOfHosts]), "hierarchical", Reason::Hosts(2));
        let spawning = |facts| Facts { spawns: true, ..facts };
        is(spawning(facts(1, 4)), "coordinated", Reason::OneHost);
        is(spawning(facts(2, 2)), "coordinated", Reason::NewProcesses);
        is(spawning(facts(2, 1)), "coordinated", Reason::NewProcesses);
        is(with(spawning(facts(2, 2)), &[Wish::Log]), "hierarchical", Reason::Hosts(2));
        is(with(spawning(facts(2, 1)), &[Wish::Log]), "pessimistic", Reason::OneEach(2));
        // `--doctor` has no ranks.
        is(facts(0, 0), "coordinated", Reason::OneHost);
    }

    #[test]
    fn options_steer() {
        let by_option = |facts: Facts, name: &str| {
            let expected = (name.to_owned(), Reason::Option("--it".to_owned()));
            assert_eq!(chosen(&facts), expected, "{facts:?}");
        };
        let unmoved = |facts: Facts| {
            let bare = Facts { wishes: Vec::new(), ..facts.clone() };
            assert_eq!(choose(&facts), choose(&bare), "{facts:?}");
        };
        let off = |hosts, most| Facts { images: false, ..facts(hosts, most) };
        by_option(with(facts(1, 4), &[Wish::Log]), "pessimistic");
        by_option(with(off(1, 4), &[Wish::Log]), "pessimistic");
        by_option(with(off(2, 4), &[Wish::Log]), "pessimistic");
        // Both of these log receptions.
        unmoved(with(facts(2, 4), &[Wish::Log]));
        unmoved(with(facts(2, 1), &[Wish::Log]));
        for (hosts, most) in [(1, 4), (2, 1), (2, 4)] {
            by_option(with(facts(hosts, most), &[Wish::SingleImages]), "pessimistic");
            by_option(with(facts(hosts, most), &[Wish::Clusters]), "hierarchical");
            by_option(with(facts(hosts, most), &[Wish::Log, Wish::Clusters]), "hierarchical");
        }
        by_option(with(facts(2, 1), &[Wish::ClustersOfHosts]), "hierarchical");
        unmoved(with(facts(1, 4), &[Wish::ClustersOfHosts]));
        unmoved(with(facts(2, 4), &[Wish::ClustersOfHosts]));
    }

    #[test]
    fn a_python_script_that_spawns_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let of = |script: &str, command: &[&str]| {
            std::fs::write(folder.path().join("pool.py"), script).unwrap();
            let command = command.iter().map(|word| OsText::from(OsStr::new(word))).collect();
            let (environment, search) = (Vec::new(), None);
            let directory = folder.path().to_owned();
            script_spawns(&Program { command, environment, directory, search })
        };
        let pool = "from mpi4py.futures import MPIPoolExecutor\n";
        assert!(of(pool, &["python3", "-B", "pool.py"]) && of(pool, &["./pool.py"]));
        assert!(of("MPI.COMM_SELF.Spawn('worker')", &["/usr/bin/python3.12", "pool.py", "7"]));
        assert!(of("", &["python3", "-m", "mpi4py.futures", "pool.py"]));
        assert!(!of("from mpi4py import MPI\n", &["python3", "pool.py"]));
        assert!(!of(pool, &["./solve", "pool.py"]) && !of(pool, &["python3", "other.py"]));
        assert!(of(pool, &["python3", "-m", "mpi4py", "-rc", "threads=0", "pool.py"]));
        assert!(of("", &["python3", "-X", "dev", "-c", "import mpi4py.futures"]));
        // What only speaks of it, or is an argument of another script.
        assert!(!of("# c.Spawn('worker') was here\n", &["python3", "pool.py"]));
        assert!(!of("", &["python3", "pool.py", "mpi4py.futures"]));
        std::fs::write(folder.path().join("notes.txt"), "c.Spawn('worker')").unwrap();
        assert!(!of("", &["python3", "pool.py", "notes.txt"]));
    }

    /// What a command line asks for, as this module reads it.
    #[test]
    fn wishes_of_options() {
        let of = |line: &str| {
            let words = std::iter::once("ftmpiexec").chain(line.split_whitespace());
            let line = ftmpi_options::ftmpiexec::read(words.map(str::to_owned).collect())
                .expect("it can be read");
            let faults: Vec<Fault> =
                line.cli.testing.inject.iter().map(|text| Fault::parse(text).unwrap()).collect();
            let wishes = wishes(&line.cli, &line.given(), &[], &faults);
            wishes.into_iter().map(|(wish, _)| wish).collect::<Vec<_>>()
        };
        for line in [
            "--events all ./p",
            "--wtime free ./p",
            "--log-reserve 5 ./p",
            "--image-logs both ./p",
            "--event-loggers 2 ./p",
            "--acknowledge durable ./p",
            "--event-rings off ./p",
            "--output committed ./p",
            "--inject delay:logger=5ms ./p",
            "--inject kill:server=event-logger,at=1s ./p",
            "--inject kill:rank=0,point=replay-step ./p",
        ] {
            assert_eq!(of(line), [Wish::Log], "{line}");
        }
        for line in [
            "./p",
            "--log-limit 5 ./p",
            "--ckpt-interval 5s ./p",
            "--ckpt-policy young-daly ./p",
            "--inject kill:rank=0,point=image ./p",
            "--inject kill:server=checkpoint-server,at=1s ./p",
            "--output lines ./p",
            // Refused later, with the protocol that has them.
            "--piggyback logon ./p",
            "--tracking o2p ./p",
            "--channel-memories 2 ./p",
        ] {
            assert_eq!(of(line), [], "{line}");
        }
        assert_eq!(of("--ckpt-policy payload ./p"), [Wish::SingleImages]);
        assert_eq!(of("--standby all ./p"), [Wish::SingleImages]);
        assert_eq!(of("--cluster 2 ./p"), [Wish::Clusters]);
        assert_eq!(of("--wave nonblocking ./p"), [Wish::ClustersOfHosts]);
        assert_eq!(of("--between causal ./p"), [Wish::ClustersOfHosts]);
    }
}
