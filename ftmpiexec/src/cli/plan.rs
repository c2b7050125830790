//! The command line, checked and complete: what the launcher works from.

use super::allocation::Allocation;
use super::effects;
use super::errors::PlanError;
use super::hints::Here;
use super::placement::{machines, merge, place, place_as_told, slots, universe};
use super::protocol_choice::{AUTO, Choice, Facts, shares_in_vain};
use super::starter::Starter;
use super::{CommandLine, environment, machinefile, protocol, recovery, standbys};
use crate::agent_protocol::{Commitment, Program};
use crate::binding::{Binding, BindingError, MemoryPolicy};
use crate::heartbeat::Times;
use crate::inject::Fault;
use crate::job_dir::plan_file::{EarlierRun, Saved};
use crate::locality;
use crate::machine::Machine;
use crate::os_text::OsText;
use crate::output::expand_pattern;
use crate::tuning::{IMAGE_COST_LIMIT, REPLICATED_COST_LIMIT};
use ftmpi_options::choices::{
    CpuBaselineChoice, ImageLogsChoice, ImagesChoice, OutputChoice, PolicyChoice, Switch,
    TransportChoice,
};
use ftmpi_options::ftmpiexec::{Cli, Part};
use ftmpi_protocols::judge::Policy;
use ftmpi_protocols::{registry, scheduler};
use ftmpi_transport::auth::JobKey;
use ftmpi_wire::ProtocolTraits;
use ftmpi_wire::control::ProtocolConfig;
use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

/// Everything that the launcher must know before it starts a job.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Hosts in their order, each once.
    pub machines: Vec<Machine>,
    /// Host of each rank.
    pub placement: Vec<u32>,
    /// The parts of the command line.
    pub programs: Vec<Program>,
    /// Index into `programs` for each rank.
    pub program_of: Vec<u32>,
    /// The protocol.
    pub protocol: ProtocolConfig,
    /// What `--protocol auto` chose, if that was asked for.
    pub choice: Option<Choice>,
    /// Number of event loggers on the launcher's host, where the machine file places none.
    pub event_loggers: u32,
    /// Number of channel memories, where the machine file places none.
    pub channel_memories: u32,
    /// What follows from the protocol for the job.
    pub traits: ProtocolTraits,
    /// The cluster of each rank, if the ranks of a cluster return together to their last wave of
    /// images after a failure.
    pub clusters: Option<Vec<u32>>,
    /// Time between two images of a rank; `None`: no images.
    pub ckpt_interval: Option<Duration>,
    /// Thousandths of the time that images may take before they come less often than that.
    pub image_cost_limit: Option<u32>,
    /// Which rank takes an image next.
    pub ckpt_policy: scheduler::Policy,
    /// Object store to which checkpoint servers copy images.
    pub object_store: Option<String>,
    /// Bytes that images may take on each checkpoint server.
    pub image_space: Option<u64>,
    /// A name that no other job has.
    pub job_id: String,
    /// Directory of `--job-dir` or `--restart`; `None`: a private one.
    pub job_dir: Option<PathBuf>,
    /// Address of the metrics.
    pub metrics: Option<std::net::SocketAddr>,
    /// Address of the dashboard.
    pub dashboard: Option<std::net::SocketAddr>,
    /// File of `--report`.
    pub report: Option<PathBuf>,
    /// File of `--trace`.
    pub trace: Option<PathBuf>,
    /// Messages are in it.
    pub trace_messages: bool,
    /// Time between two lines about the job; zero: none.
    pub progress: Option<Duration>,
    /// The launcher runs in an allocation of a batch system.
    pub in_batch_system: bool,
    /// Ranks of one host use sockets, too.
    pub force_tcp: bool,
    /// Ranks on the host of their event logger share memory with it.
    pub event_rings: bool,
    /// MiB that a channel memory keeps in main memory. Unlike the settings of the protocol it may
    /// change at `--restart`.
    pub memory_limit: Option<String>,
    /// Bytes that a rank's sender log may hold; 0: a share of memory.
    pub log_limit: u64,
    /// Bytes of its sender log that a rank touches in `MPI_Init`.
    pub log_reserve: u64,
    /// An image holds only the part of the sender log that the newest images of the peers need.
    pub lean_images: bool,
    /// Which processors the ranks of a host may use, if not all.
    pub binding: Option<Binding>,
    /// From which NUMA nodes ranks take memory, if the user says so.
    pub memory: Option<MemoryPolicy>,
    /// How many processes the job may have (`MPI_UNIVERSE_SIZE`).
    pub universe: u32,
    /// Failures in the whole job before it is given up.
    pub max_restarts: u32,
    /// Which ranks have a standby; none: no rank.
    pub standbys: Vec<bool>,
    /// Detectors and recoveries.
    pub recovery: Policy,
    /// Ranks on each host before the next one is used, if the user gave a number.
    pub ppn: Option<u32>,
    /// How long a server is waited for that does not answer or cannot store.
    pub storage_patience: Duration,
    /// How long silence may last.
    pub times: Times,
    /// How long hosts are waited for when all of them are silent at once.
    pub launcher_patience: Duration,
    /// Time without progress after which the user is told; zero: never.
    pub stall: Duration,
    /// The command that says whether a host is well, and the time between two of its runs.
    pub health: Option<(String, Duration)>,
    /// Faults to inject.
    pub faults: Vec<Fault>,
    /// The pattern before each line.
    pub prefix: Option<String>,
    /// Every rank's exit code is printed at the end.
    pub print_exit_codes: bool,
    /// Output is printed by whole lines.
    pub whole_lines: bool,
    /// What makes output final, where output waits until it is.
    pub commitment: Option<Commitment>,
    /// Most images hold only what changed since an earlier image.
    pub incremental: bool,
    /// How images are compressed ([`ftmpi_checkpoint::container::Compression::of_level`]).
    pub compress: u8,
    /// Which instructions ranks count on.
    pub cpu_baseline: CpuBaselineChoice,
    /// Images are encrypted; the file of the key, where it is not in the job directory.
    pub encrypt_images: Option<Option<PathBuf>>,
    /// Directory in which each host keeps images of its own ranks.
    pub local_dir: Option<PathBuf>,
    /// Patterns for the files of standard output and standard error.
    pub file_patterns: [Option<String>; 2],
    /// The address of this host that the others use, if the user names the network.
    pub interface: Option<IpAddr>,
    /// Ports on which launcher, agents and servers listen, if not any.
    pub port_range: Option<RangeInclusive<u16>>,
    /// How other hosts are reached.
    pub starter: Starter,
    /// Agents and servers that are started at the same time.
    pub launch_at_once: u32,
    /// Hosts whose agents or servers start by `starter`.
    remote: HashSet<String>,
    /// Path of ftmpiexec on other hosts.
    pub remote_path: PathBuf,
    /// Print more about what happens.
    pub verbose: bool,
    /// Options in their one form, for the plan file.
    pub options: Vec<String>,
    /// Lines about variables that do not count, for `--verbose`.
    pub notes: Vec<String>,
    /// The earlier run that `--restart` continues.
    pub continued: Option<Box<EarlierRun>>,
    /// Time after which the job ends; zero: no limit.
    pub timeout: Duration,
    /// Time for the last images after SIGTERM or SIGUSR1.
    pub grace: Duration,
    /// SIGTERM takes last images; otherwise it ends the job.
    pub grace_at_sigterm: bool,
}

/// Default of `--grace`.
const GRACE: Duration = Duration::from_secs(60);

/// Most ranks of one job: a job view must fit into one datagram.
pub const RANKS_MAX: usize = 16_384;

/// Shortest time between two images of a rank.
const CKPT_INTERVAL_MIN: Duration = Duration::from_millis(10);

/// The hosts of a job, and the allocation in which the launcher runs.
pub(super) struct Placed<'a> {
    /// The hosts.
    pub machines: Vec<Machine>,
    /// What a batch system gave.
    pub allocation: Option<&'a Allocation>,
}

impl Plan {
    /// The protocol as the command line asks for it.
    pub fn protocol_asked(&self) -> &str {
        match &self.choice {
            Some(_) => AUTO,
            None => &self.protocol.name,
        }
    }

    /// Whether a program calls `MPI_Win_allocate_shared`, and the protocol refuses that.
    pub fn shares_in_vain(&self) -> bool {
        shares_in_vain(self.traits, &self.placement, &self.programs)
    }

    /// Whether the agent of this host starts by `starter`.
    pub fn is_remote(&self, host: &str) -> bool {
        self.remote.contains(host)
    }

    /// Whether anything starts on another host.
    pub fn is_anything_remote(&self) -> bool {
        !self.remote.is_empty()
    }

    /// Where launcher, agents and servers listen; `everywhere`: processes of other hosts call.
    pub fn listen_on(&self, everywhere: bool) -> IpAddr {
        match everywhere {
            false => Ipv4Addr::LOCALHOST.into(),
            true if self.remote.iter().any(|host| locality::is_ipv6_only(host)) => {
                Ipv6Addr::UNSPECIFIED.into()
            }
            true => Ipv4Addr::UNSPECIFIED.into(),
        }
    }

    /// Checks a command line and completes it.
    ///
    /// # Errors
    /// What makes no sense, in one line.
    pub fn of(line: &CommandLine) -> Result<Self, PlanError> {
        match (&line.cli.batch.restart, &line.cli.batch.job_dir) {
            (Some(directory), _) => Self::continued(line, directory.clone(), false),
            (None, Some(directory)) if line.cli.batch.auto_restart && Saved::is_in(directory) => {
                Self::continued(line, directory.clone(), true)
            }
            _ => Self::new(line),
        }
    }

    /// The plan of a new job.
    ///
    /// # Errors
    /// What makes no sense, in one line.
    pub fn new(line: &CommandLine) -> Result<Self, PlanError> {
        let Here { line, allocation } = Here::look(line, |line| line.cli.clone())?;
        let cli = recovery::without_cleanup(&line.cli, &line.given())?;
        let cli = standbys::replicated(cli, line.gave("ckpt_interval"));
        let (cli, parts) = (&*cli, &line.parts);
        let here = || machinefile::parse_list("localhost").unwrap_or_default();
        let named = machines(cli, allocation.as_ref())?;
        let ranks_asked = match &named {
            Some(named) => slots(cli, named, allocation.as_ref()),
            None => 1,
        };
        let machines = named.unwrap_or_else(here);
        let programs = programs(cli, parts)?;
        let ranks_of = |part: &Part| part.ranks.map_or(ranks_asked, u64::from);
        let ranks = parts.iter().map(ranks_of).fold(0, u64::saturating_add);
        if ranks > RANKS_MAX as u64 {
            return Err(PlanError::TooManyRanks { ranks, most: RANKS_MAX });
        }
        let program_of = parts
            .iter()
            .enumerate()
            .flat_map(|(number, part)| (0..ranks_of(part)).map(move |_| number as u32))
            .collect();
        let placed = Placed { machines, allocation: allocation.as_ref() };
        let plan = Self::build(cli, &line.given(), placed, programs, program_of)?;
        plan.starter.check_options(&line)?;
        let CommandLine { options, notes, .. } = line.clone();
        Ok(Self { options, notes, ..plan })
    }

    /// Takes note of the hosts whose agents or servers are started by `starter`.
    pub fn note_remote(&mut self, hosts: impl Iterator<Item = String>) {
        if self.starter != Starter::Fork {
            self.remote.extend(hosts.filter(|name| !locality::is_here(name)));
        }
    }

    /// Takes note of one that is known not to be this host.
    pub fn add_remote(&mut self, host: &str) {
        self.remote.insert(host.to_owned());
    }

    /// The plan of these options; `given` are the fields that this command line sets.
    pub(super) fn build(
        cli: &Cli,
        given: &[&str],
        Placed { machines, allocation }: Placed<'_>,
        programs: Vec<Program>,
        program_of: Vec<u32>,
    ) -> Result<Self, PlanError> {
        if machines.is_empty() {
            return Err(PlanError::NoHost);
        }
        let machines = merge(machines);
        let ranks = program_of.len();
        check_size(ranks)?;
        let placement = placed_ranks(cli, &machines, ranks)?;
        let universe = universe(cli, &machines, ranks)?;
        let faults = faults(cli, ranks, &machines)?;
        let facts = || Facts::of(cli, given, &placement, &machines, &faults, &programs);
        let choice = protocol::choice(cli, facts);
        let mut protocol = protocol::config(cli, given, &placement, choice.as_ref())?;
        let event_loggers = protocol::event_loggers(cli, &machines, &mut protocol)?;
        let traits = registry::traits(&protocol);
        let clusters = registry::clusters(&protocol, ranks);
        check_companions(cli, given)?;
        let starter = Starter::of(cli, allocation)?;
        let mut plan = Self {
            machines,
            placement,
            programs,
            program_of,
            ckpt_policy: policy(cli, &protocol.name, clusters.is_some())?,
            commitment: commitment(cli, &protocol.name, traits)?,
            recovery: recovery::of(cli, &protocol.name, traits)?,
            standbys: standbys::of(cli, ranks)?,
            protocol,
            choice,
            event_loggers,
            channel_memories: cli.fault_tolerance.channel_memories.unwrap_or(1),
            traits,
            clusters,
            image_cost_limit: image_cost_limit(cli, given.contains(&"ckpt_interval")),
            ckpt_interval: (traits.is_fault_tolerant() && cli.checkpoints.ckpt == Switch::On)
                .then_some(cli.checkpoints.ckpt_interval),
            object_store: cli.storage.object_store.clone(),
            image_space: cli.storage.image_space,
            // The key is a secret; this one is not.
            job_id: JobKey::generate().to_hex()[..24].to_owned(),
            job_dir: cli.batch.job_dir.clone(),
            report: cli.output.report.clone(),
            trace: cli.output.trace.clone(),
            trace_messages: cli.output.trace_messages,
            progress: cli.output.progress,
            in_batch_system: allocation.is_some(),
            metrics: cli.output.metrics,
            dashboard: cli.output.dashboard,
            force_tcp: cli.network.transport == TransportChoice::Tcp,
            memory_limit: cli.fault_tolerance.memory_limit.map(|mib| mib.to_string()),
            event_rings: cli.fault_tolerance.event_rings == Switch::On
                && cli.network.transport != TransportChoice::Tcp,
            log_limit: cli.fault_tolerance.log_limit.saturating_mul(1 << 20),
            log_reserve: cli.fault_tolerance.log_reserve.saturating_mul(1 << 20),
            lean_images: lean_images(cli, traits),
            binding: binding(cli)?,
            memory: cli.placement.membind.as_ref().and_then(MemoryPolicy::of),
            universe,
            max_restarts: cli.fault_tolerance.max_restarts,
            ppn: cli.placement.ppn,
            storage_patience: cli.fault_tolerance.storage_patience,
            times: Times::of(cli.fault_tolerance.detect),
            launcher_patience: cli.fault_tolerance.launcher_patience,
            stall: cli.fault_tolerance.stall,
            health: health(cli),
            faults,
            prefix: prefix(cli)?,
            print_exit_codes: cli.output.print_all_exitcodes,
            whole_lines: cli.output.output.contains(&OutputChoice::Lines),
            incremental: cli.checkpoints.ckpt_incremental == Switch::On,
            compress: cli.checkpoints.compress,
            cpu_baseline: cli.checkpoints.cpu_baseline,
            encrypt_images: encryption(cli),
            local_dir: local_dir(cli),
            file_patterns: [cli.output.outfile_pattern.clone(), cli.output.errfile_pattern.clone()],
            interface: interface(cli)?,
            port_range: cli.network.port_range.clone(),
            starter,
            launch_at_once: cli.network.launch_at_once,
            remote: HashSet::new(),
            remote_path: remote_path(cli)?,
            verbose: cli.output.verbose,
            continued: None,
            options: Vec::new(),
            notes: Vec::new(),
            timeout: cli.batch.timeout.unwrap_or_default(),
            grace: cli.batch.grace.unwrap_or(GRACE),
            grace_at_sigterm: cli.batch.grace.is_some() || cli.batch.job_dir.is_some(),
        };
        let names: Vec<String> = plan.machines.iter().map(|it| it.name.clone()).collect();
        plan.note_remote(names.into_iter());
        plan.check_users().map(|()| plan)
    }

    /// Refuses users of hosts which nothing reaches as a user.
    fn check_users(&self) -> Result<(), PlanError> {
        for machine in &self.machines {
            let Some(user) = machine.user.clone() else { continue };
            let what = match &self.starter {
                Starter::Remote(_) if self.is_remote(&machine.name) => continue,
                Starter::Remote(_) => "this is the host of ftmpiexec, whose user it takes",
                Starter::Srun(_) => "srun starts agents as the user of the allocation",
                Starter::Fork => "--launcher fork starts all agents here",
            };
            return Err(PlanError::User { host: machine.name.clone(), user, what });
        }
        Ok(())
    }

    /// What the command that reaches other hosts is told: the host, or `USER@HOST`.
    pub fn target(&self, host: &str) -> String {
        let known = self.machines.iter().find(|machine| machine.name == host);
        match known.and_then(|machine| machine.user.as_ref()) {
            Some(user) => format!("{user}@{host}"),
            None => host.to_owned(),
        }
    }
}

fn check_size(ranks: usize) -> Result<(), PlanError> {
    match ranks {
        0 => Err(PlanError::NoRanks),
        1..=RANKS_MAX => Ok(()),
        _ => Err(PlanError::TooManyRanks { ranks: ranks as u64, most: RANKS_MAX }),
    }
}

/// The address of this host in the network that the user names.
fn interface(cli: &Cli) -> Result<Option<IpAddr>, PlanError> {
    let found = cli.network.interface.as_deref().map(locality::address_of_interface).transpose();
    found.map_err(|what| PlanError::value("--interface", what))
}

/// Whether images are encrypted, and the file of their key, if the user names one.
fn encryption(cli: &Cli) -> Option<Option<PathBuf>> {
    cli.checkpoints.encrypt_images.then(|| cli.checkpoints.image_key.clone())
}

/// The host of each rank.
fn placed_ranks(cli: &Cli, machines: &[Machine], ranks: usize) -> Result<Vec<u32>, PlanError> {
    match &cli.placement.rankmap {
        Some(map) => place_as_told(machines, ranks, map),
        None => place(machines, ranks, cli.placement.ppn),
    }
}

/// Whether images hold only the part of the sender log that the newest images of the peers need.
fn lean_images(cli: &Cli, traits: ProtocolTraits) -> bool {
    // The object store may hold an older image than the newest one. Without a logger a rank that
    // returns to an older image than it must can take another course than its peers have seen.
    cli.checkpoints.image_logs == ImageLogsChoice::Newest
        && cli.storage.object_store.is_none()
        && traits.logger
}

/// What stands before each line of a rank.
fn prefix(cli: &Cli) -> Result<Option<String>, PlanError> {
    let own = cli.output.prepend_rank.then(|| "[%r] ".to_owned());
    let pattern = cli.output.prepend_pattern.clone().or(own);
    if let Some(pattern) = &pattern {
        expand_pattern(pattern, 0, "")
            .map_err(|what| PlanError::value("--prepend-pattern", what))?;
    }
    Ok(pattern)
}

/// The health command, and the time between two of its runs.
fn health(cli: &Cli) -> Option<(String, Duration)> {
    let command = cli.fault_tolerance.health_command.clone();
    command.map(|command| (command, cli.fault_tolerance.health_interval))
}

/// Options that need another one, and options for images where none are taken.
fn check_companions(cli: &Cli, given: &[&str]) -> Result<(), PlanError> {
    binding(cli)?;
    if cli.checkpoints.ckpt_interval < CKPT_INTERVAL_MIN {
        return Err(PlanError::value(
            "--ckpt-interval",
            "at least 10ms is needed; write for example 30s",
        ));
    }
    let (images, own_disk) = (cli.checkpoints.ckpt == Switch::On, ImagesChoice::LocalAndRemote);
    for (option, is_set) in [
        ("--object-store", cli.storage.object_store.is_some()),
        ("--image-space", cli.storage.image_space.is_some()),
    ] {
        if is_set && !images {
            return Err(PlanError::NoImages(option));
        }
    }
    for (option, other, alone) in [
        ("--image-key", "--encrypt-images", !cli.checkpoints.encrypt_images),
        ("--local-dir", "--images local+remote", cli.storage.images != own_disk),
        ("--map-by", "--bind-to", cli.placement.bind_to.is_none()),
    ] {
        let field = option.trim_start_matches('-').replace('-', "_");
        if alone && given.contains(&field.as_str()) {
            return Err(PlanError::NeedsOther { option, other });
        }
    }
    Ok(())
}

/// The faults of `--inject`, which must name what this job has.
fn faults(cli: &Cli, ranks: usize, machines: &[Machine]) -> Result<Vec<Fault>, PlanError> {
    let wrong = |what| PlanError::value("--inject", what);
    let mut faults = Vec::new();
    for text in &cli.testing.inject {
        let fault = Fault::parse(text).map_err(wrong)?;
        fault.check(ranks as u32, machines).map_err(wrong)?;
        faults.push(fault);
    }
    Ok(faults)
}

/// Which processors ranks are bound to.
fn binding(cli: &Cli) -> Result<Option<Binding>, PlanError> {
    let wrong = |option| move |what: BindingError| PlanError::value(option, what);
    let to = cli.placement.bind_to.as_deref().map(str::parse).transpose();
    let by = cli.placement.map_by.as_deref().map(str::parse).transpose();
    let (to, by) = (to.map_err(wrong("--bind-to"))?, by.map_err(wrong("--map-by"))?);
    Ok(Binding::of(to.as_ref(), by))
}

/// What makes text final, if it is to be held until then.
fn commitment(
    cli: &Cli,
    name: &str,
    traits: ProtocolTraits,
) -> Result<Option<Commitment>, PlanError> {
    match cli.checkpoints.ckpt {
        _ if !cli.output.output.contains(&OutputChoice::Committed) => Ok(None),
        _ if !traits.is_fault_tolerant() => Err(effects::committed_under_none(name)),
        _ if traits.is_pessimistic() => Ok(Some(Commitment::Events)),
        Switch::Off => Err(PlanError::CommittedWithoutImages(name.to_owned())),
        Switch::On => Ok(Some(Commitment::Images)),
    }
}

/// The path of this program on other hosts.
fn remote_path(cli: &Cli) -> Result<PathBuf, PlanError> {
    if let Some(path) = &cli.network.remote_path {
        return Ok(path.clone());
    }
    std::env::current_exe()
        .map_err(|error| PlanError::System { what: "the path of this program", error })
}

/// How many thousandths of the time images may take. An interval that the user gives is kept
/// whatever the images cost.
pub(super) fn image_cost_limit(cli: &Cli, keeps_interval: bool) -> Option<u32> {
    let is_bounded = !keeps_interval && cli.checkpoints.ckpt_policy != PolicyChoice::YoungDaly;
    is_bounded.then_some(match cli.fault_tolerance.protocol.as_str() {
        registry::REPLICATED => REPLICATED_COST_LIMIT,
        _ => IMAGE_COST_LIMIT,
    })
}

/// Where each host keeps images of its own ranks, if it does.
fn local_dir(cli: &Cli) -> Option<PathBuf> {
    let storage = &cli.storage;
    (storage.images == ImagesChoice::LocalAndRemote)
        .then(|| storage.local_dir.clone().unwrap_or_else(std::env::temp_dir))
}

/// Whose image is next.
fn policy(cli: &Cli, protocol: &str, waves: bool) -> Result<scheduler::Policy, PlanError> {
    use scheduler::Policy;
    let policy = match cli.checkpoints.ckpt_policy {
        PolicyChoice::Periodic => Policy::Periodic,
        PolicyChoice::RoundRobin => Policy::RoundRobin,
        PolicyChoice::Random => Policy::Random(u64::from(std::process::id())),
        PolicyChoice::Payload => Policy::Payload,
        PolicyChoice::YoungDaly => Policy::YoungDaly,
    };
    if waves && !matches!(policy, Policy::Periodic | Policy::YoungDaly) {
        return Err(PlanError::PolicyOfWaves(protocol.to_owned()));
    }
    Ok(policy)
}

/// What each part of the command line runs, with which environment, and where.
///
/// # Errors
/// A part has no program, or a variable has no name.
pub fn programs(cli: &Cli, parts: &[Part]) -> Result<Vec<Program>, PlanError> {
    let here = std::env::current_dir()
        .map_err(|error| PlanError::System { what: "the working directory", error })?;
    parts
        .iter()
        .map(|part| {
            if part.command.is_empty() {
                return Err(PlanError::NoProgram);
            }
            let directory = here.join(part.wdir.clone().unwrap_or_default());
            let environment = environment::of_part(cli, part, std::env::vars_os())?;
            Ok(Program {
                command: part.command.iter().map(|word| OsText::of_word(word)).collect(),
                environment,
                // Without a slash at the end.
                directory: directory.components().collect(),
                search: None,
            })
        })
        .collect()
}
