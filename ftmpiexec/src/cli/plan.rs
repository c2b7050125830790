//! The command line, checked and complete: what the launcher works from.

use super::environment;
use super::locality;
use super::machinefile::{self, Machine};
use super::{
    Cli, CommandLine, ImageLogsChoice, ImagesChoice, LauncherKind, OutputChoice, Part,
    PolicyChoice, Switch, TransportChoice,
};
use crate::agent_protocol::{Commitment, Program};
use crate::binding::Binding;
use crate::inject::Fault;
use crate::job_dir::plan_file::{EarlierRun, Saved};
use crate::job_dir::progress::Progress;
use anyhow::{Context, bail};
use ftmpi_protocols::registry;
use ftmpi_protocols::scheduler::Policy;
use ftmpi_servers::image_store::address;
use ftmpi_transport::auth::JobKey;
use ftmpi_wire::ProtocolTraits;
use ftmpi_wire::control::ProtocolConfig;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How agents on other hosts are started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Starter {
    /// Everything is started here.
    Fork,
    /// By this command (ssh).
    Remote(Vec<String>),
}

/// Everything that the launcher must know.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Hosts, in order, without repetition.
    pub machines: Vec<Machine>,
    /// Host of each rank.
    pub placement: Vec<u32>,
    /// The parts of the command line.
    pub programs: Vec<Program>,
    /// Part of each rank.
    pub program_of: Vec<u32>,
    /// The protocol.
    pub protocol: ProtocolConfig,
    /// How many event loggers are started beside the launcher, if the machine file places none.
    pub event_loggers: u32,
    /// How many channel memories there are, if the machine file does not place them.
    pub channel_memories: u32,
    /// What follows from the protocol for the job.
    pub traits: ProtocolTraits,
    /// The cluster of each rank, if the ranks of a cluster return together to their last wave of
    /// images after a failure.
    pub clusters: Option<Vec<u32>>,
    /// When images are taken.
    pub ckpt_interval: Option<Duration>,
    /// Whose image is next.
    pub ckpt_policy: Policy,
    /// Where images go from the checkpoint servers, if anywhere: the folder of this job.
    pub object_store: Option<String>,
    /// Bytes that images may take on each checkpoint server.
    pub image_space: Option<u64>,
    /// A name that no other job has.
    pub job_id: String,
    /// Given by the user, or none.
    pub job_dir: Option<PathBuf>,
    /// Where the state of the job is told over HTTP.
    pub metrics: Option<std::net::SocketAddr>,
    /// Where the report goes.
    pub report: Option<PathBuf>,
    /// Sockets everywhere.
    pub force_tcp: bool,
    /// Ranks beside their event logger share memory with it.
    pub event_rings: bool,
    /// Of channel memories, in MiB: may be given anew when the job is continued, unlike the protocol's settings.
    pub memory_limit: Option<String>,
    /// Bytes that a rank's sender log may hold; 0: a share of memory.
    pub log_limit: u64,
    /// Bytes of memory for it that a rank touches when it begins.
    pub log_reserve: u64,
    /// Images leave out of the logs what the newest image of the receiver has.
    pub lean_images: bool,
    /// Which processors the ranks of a host may use, if not all.
    pub binding: Option<Binding>,
    /// In the whole job.
    pub max_restarts: u32,
    /// How long ranks wait for an event logger that cannot serve them.
    pub storage_patience: Duration,
    /// Faults to inject.
    pub faults: Vec<Fault>,
    /// Rank numbers before lines.
    pub prepend_rank: bool,
    /// Whole lines only.
    pub whole_lines: bool,
    /// Text is held until it is final; by what.
    pub commitment: Option<Commitment>,
    /// Images hold only what changed since an earlier one.
    pub incremental: bool,
    /// How they are compressed ([`ftmpi_checkpoint::container::Compression::of_level`]).
    pub compress: u8,
    /// Images are encrypted; with the key in this file, if it is not in the job's directory.
    pub encrypt_images: Option<Option<std::path::PathBuf>>,
    /// Where hosts keep images of their own, if they do.
    pub local_dir: Option<std::path::PathBuf>,
    /// Files for output and error of the ranks.
    pub file_patterns: [Option<String>; 2],
    /// How other hosts are reached.
    pub starter: Starter,
    /// Names of the hosts whose agents are not started here.
    remote: HashSet<String>,
    /// Path of ftmpiexec there.
    pub remote_path: PathBuf,
    /// Say more.
    pub verbose: bool,
    /// The options as given, for the plan of the job.
    pub options: Vec<String>,
    /// The job that is to be continued, if it is not a new one.
    pub continued: Option<Box<EarlierRun>>,
    /// How long the job may run; zero: for ever.
    pub timeout: Duration,
    /// For the last images after SIGTERM or SIGUSR1.
    pub grace: Duration,
    /// SIGTERM asks for them; else it ends the job.
    pub grace_at_sigterm: bool,
}

/// What `--grace` is when it is not given.
const GRACE: Duration = Duration::from_secs(60);

/// Ranks of one job at the most: what a job view may hold in one datagram.
const RANKS_MAX: usize = 16_384;

impl Plan {
    /// Whether the agent of this host is started by ssh.
    pub fn is_remote(&self, host: &str) -> bool {
        self.remote.contains(host)
    }

    /// Whether anything is started on another machine.
    pub fn is_anything_remote(&self) -> bool {
        !self.remote.is_empty()
    }

    /// Checks a command line and completes it.
    ///
    /// # Errors
    /// What makes no sense, in one line.
    pub fn of(line: &CommandLine) -> anyhow::Result<Self> {
        match &line.cli.restart {
            Some(directory) => Self::continued(line, directory.clone()),
            None => Self::new(&line.cli, &line.parts, line.options.clone()),
        }
    }

    /// The plan of a new job.
    ///
    /// # Errors
    /// What makes no sense, in one line.
    pub fn new(cli: &Cli, parts: &[Part], options: Vec<String>) -> anyhow::Result<Self> {
        let machines = match machines(cli)? {
            Some(machines) => machines,
            None => machinefile::parse_list("localhost").map_err(|e| anyhow::anyhow!("{e}"))?,
        };
        let programs = programs(cli, parts)?;
        let slots = slots(cli, &machines);
        let ranks_of = |part: &Part| part.ranks.map_or(slots, u64::from);
        let ranks = parts.iter().map(ranks_of).fold(0, u64::saturating_add);
        if ranks > RANKS_MAX as u64 {
            bail!("{ranks} ranks are more than this version starts ({RANKS_MAX})");
        }
        let program_of = parts
            .iter()
            .enumerate()
            .flat_map(|(number, part)| (0..ranks_of(part)).map(move |_| number as u32))
            .collect();
        Ok(Self { options, ..Self::build(cli, machines, programs, program_of)? })
    }

    /// The plan of a job that an earlier launcher began: what its images depend on as it was then,
    /// the rest as it was or as this command line says.
    fn continued(line: &CommandLine, directory: PathBuf) -> anyhow::Result<Self> {
        if line.parts.iter().any(|part| !part.command.is_empty()) {
            bail!("--restart goes on with the job's own program and arguments: give none");
        }
        let directory = directory
            .canonicalize()
            .with_context(|| format!("--restart {}", directory.display()))?;
        let mut saved = Saved::read(&directory)?;
        Progress::must_not_have_ended(&directory)?;
        let ranks = saved.program_of.len();
        if line.cli.part.ranks.is_some_and(|given| given as usize != ranks) {
            bail!("--restart: the job has {ranks} ranks, which cannot be changed (-n)");
        }
        for fixed in [
            "env",
            "envlist",
            "envnone",
            "genv",
            "genvlist",
            "genvnone",
            "wdir",
            "protocol",
            "cluster",
            "between",
            "wave",
            "piggyback",
            "event_logger",
            "event_loggers",
            "stable_vector",
            "acknowledge",
            "events",
            "wtime",
            "channel_memories",
            "tracking",
            "object_store",
            "encrypt_images",
            "image_logs",
        ] {
            if line.gave(fixed) {
                bail!(
                    "--restart: --{} is part of the job and of its images and cannot be changed",
                    fixed.replace('_', "-")
                );
            }
        }
        let stored = std::iter::once("ftmpiexec".to_owned()).chain(saved.options.iter().cloned());
        let earlier = super::read(stored.collect())
            .map_err(|e| anyhow::anyhow!("--restart: the options in the job's plan: {e}"))?
            .cli;
        let cli = line.over(earlier);
        let machines = match machines(&line.cli)? {
            Some(machines) => {
                saved.move_servers(&machines)?;
                machines
            }
            None => saved.machines.clone(),
        };
        let mut plan =
            Self::build(&cli, machines, saved.programs.clone(), saved.program_of.clone())?;
        plan.job_id.clone_from(&saved.job_id);
        if saved.shares_memory {
            plan.placement = together(&plan.machines, &saved.node_of);
        }
        if !line.gave("report") {
            plan.report = plan.report.map(|file| saved.directory.join(file));
        }
        for (pattern, given) in
            plan.file_patterns.iter_mut().zip(["outfile_pattern", "errfile_pattern"])
        {
            if !line.gave(given)
                && let Some(pattern) = pattern
            {
                // (In what is a pattern, too.)
                let directory = saved.directory.to_string_lossy().replace('%', "%%");
                *pattern = Path::new(&directory).join(&*pattern).to_string_lossy().into_owned();
            }
        }
        if !line.gave("image_key")
            && let Some(Some(file)) = &mut plan.encrypt_images
        {
            *file = saved.directory.join(&*file);
        }
        if !plan.traits.is_fault_tolerant() {
            bail!("--restart: its protocol keeps nothing from which a job could go on");
        }
        let servers = saved.servers.iter().filter_map(|server| server.host.clone());
        plan.note_remote(servers);
        plan.protocol = saved.protocol.clone();
        plan.traits = registry::traits(&plan.protocol);
        plan.clusters = registry::clusters(&plan.protocol, ranks);
        plan.options = saved.options.clone();
        plan.job_dir = Some(directory.clone());
        plan.grace_at_sigterm = true;
        plan.continued = Some(Box::new(EarlierRun { directory, saved }));
        Ok(plan)
    }

    fn note_remote(&mut self, hosts: impl Iterator<Item = String>) {
        if self.starter != Starter::Fork {
            self.remote.extend(hosts.filter(|name| !locality::is_here(name)));
        }
    }

    fn build(
        cli: &Cli,
        machines: Vec<Machine>,
        programs: Vec<Program>,
        program_of: Vec<u32>,
    ) -> anyhow::Result<Self> {
        if machines.is_empty() {
            bail!("-hosts names no host");
        }
        let machines = merge(machines);
        let ranks = program_of.len();
        if ranks == 0 {
            bail!("-n must be at least 1");
        }
        if ranks > RANKS_MAX {
            bail!("{ranks} ranks are more than this version starts ({RANKS_MAX})");
        }
        let placement = place(&machines, ranks, cli.ppn)?;
        let mut protocol = super::protocol::config(cli, &placement)?;
        let event_loggers = super::protocol::event_loggers(cli, &machines, &mut protocol)?;
        let traits = registry::traits(&protocol);
        let clusters = registry::clusters(&protocol, ranks);
        if cli.ckpt_interval < Duration::from_millis(10) {
            bail!("--ckpt-interval must be at least 10ms");
        }
        let faults =
            cli.inject.iter().map(|text| Fault::parse(text)).collect::<Result<Vec<_>, _>>();
        let faults = faults.map_err(|e| anyhow::anyhow!("--inject {e}"))?;
        for fault in &faults {
            fault.check(ranks as u32, &machines).map_err(|e| anyhow::anyhow!("--inject {e}"))?;
        }
        let starter = match (cli.launcher, &cli.rsh) {
            (LauncherKind::Fork, _) => Starter::Fork,
            (LauncherKind::Ssh, Some(command)) if command.trim().is_empty() => {
                bail!("--rsh is empty: which command reaches other hosts?")
            }
            (LauncherKind::Ssh, Some(command)) => {
                Starter::Remote(command.split_whitespace().map(str::to_owned).collect())
            }
            (LauncherKind::Ssh, None) => Starter::Remote(
                ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-x"]
                    .map(str::to_owned)
                    .to_vec(),
            ),
        };
        if cli.image_key.is_some() && !cli.encrypt_images {
            bail!("--image-key is the key of --encrypt-images, which this job does not have");
        }
        if let Some(address) = &cli.object_store {
            check_object_store(cli, traits, address)?;
        }
        if cli.image_space.is_some() && !takes_images(cli, traits) {
            bail!("--image-space is for images, and this job takes none");
        }
        let names: Vec<String> = machines.iter().map(|machine| machine.name.clone()).collect();
        let own = std::env::current_exe().context("where is this program?")?;
        let mut plan = Self {
            machines,
            placement,
            programs,
            program_of,
            protocol,
            event_loggers,
            channel_memories: cli.channel_memories.unwrap_or(1),
            traits,
            ckpt_policy: policy(cli, clusters.is_some())?,
            clusters,
            ckpt_interval: takes_images(cli, traits).then_some(cli.ckpt_interval),
            object_store: cli.object_store.clone(),
            image_space: cli.image_space,
            // The key is a secret; this one is not.
            job_id: JobKey::generate().to_hex()[..24].to_owned(),
            job_dir: cli.job_dir.clone(),
            report: cli.report.clone(),
            metrics: cli.metrics,
            force_tcp: cli.transport == TransportChoice::Tcp,
            memory_limit: cli.memory_limit.map(|mib| mib.to_string()),
            event_rings: cli.event_rings == Switch::On && cli.transport != TransportChoice::Tcp,
            log_limit: cli.log_limit.saturating_mul(1 << 20),
            log_reserve: cli.log_reserve.saturating_mul(1 << 20),
            // What is in the object store may be older than the newest image; and without a logger a life that
            // returns to an older image than it must may take another course than others have seen.
            lean_images: cli.image_logs == ImageLogsChoice::Newest
                && cli.object_store.is_none()
                && traits.logger,
            binding: Binding::of(cli.bind_to.as_ref(), cli.map_by),
            max_restarts: cli.max_restarts,
            storage_patience: cli.storage_patience,
            faults,
            prepend_rank: cli.prepend_rank,
            whole_lines: cli.output.contains(&OutputChoice::Lines),
            commitment: commitment(cli, traits)?,
            incremental: cli.ckpt_incremental == Switch::On,
            compress: cli.compress,
            encrypt_images: cli.encrypt_images.then(|| cli.image_key.clone()),
            local_dir: (cli.images == ImagesChoice::LocalAndRemote)
                .then(|| cli.local_dir.clone().unwrap_or_else(std::env::temp_dir)),
            file_patterns: [cli.outfile_pattern.clone(), cli.errfile_pattern.clone()],
            starter,
            remote: HashSet::new(),
            remote_path: cli.remote_path.clone().unwrap_or(own),
            verbose: cli.verbose,
            options: Vec::new(),
            continued: None,
            timeout: cli.timeout.unwrap_or_default(),
            grace: cli.grace.unwrap_or(GRACE),
            grace_at_sigterm: cli.grace.is_some() || cli.job_dir.is_some(),
        };
        plan.note_remote(names.into_iter());
        Ok(plan)
    }
}

/// Whether images can go to an object store, and to this one.
fn check_object_store(cli: &Cli, traits: ProtocolTraits, address: &str) -> anyhow::Result<()> {
    address::check_address(address).map_err(anyhow::Error::msg)?;
    if !takes_images(cli, traits) {
        bail!("--object-store is for images, and this job takes none");
    }
    Ok(())
}

fn takes_images(cli: &Cli, traits: ProtocolTraits) -> bool {
    traits.is_fault_tolerant() && cli.ckpt == Switch::On
}

/// What makes text final, if it is to be held until then.
fn commitment(cli: &Cli, traits: ProtocolTraits) -> anyhow::Result<Option<Commitment>> {
    if !traits.is_fault_tolerant() || !cli.output.contains(&OutputChoice::Committed) {
        return Ok(None);
    }
    if traits.pessimistic {
        return Ok(Some(Commitment::Events));
    }
    if cli.ckpt == Switch::Off {
        bail!(
            "--output committed: under the protocol {} only an image makes text final, and images \
             are off",
            cli.protocol
        );
    }
    Ok(Some(Commitment::Images))
}

/// Whose image is next.
fn policy(cli: &Cli, waves: bool) -> anyhow::Result<Policy> {
    let policy = match cli.ckpt_policy {
        PolicyChoice::Periodic => Policy::Periodic,
        PolicyChoice::RoundRobin => Policy::RoundRobin,
        PolicyChoice::Random => Policy::Random(u64::from(std::process::id())),
        PolicyChoice::Payload => Policy::Payload,
        PolicyChoice::YoungDaly => Policy::YoungDaly,
    };
    let of_waves = matches!(policy, Policy::Periodic | Policy::YoungDaly);
    if waves && !of_waves {
        bail!(
            "--ckpt-policy chooses among ranks, and under --protocol {} they take their images \
             together: use periodic or young-daly",
            cli.protocol
        );
    }
    Ok(policy)
}

/// The hosts that the command line names, if it does.
fn machines(cli: &Cli) -> anyhow::Result<Option<Vec<Machine>>> {
    Ok(match (&cli.hosts, &cli.machinefile) {
        (Some(_), Some(_)) => bail!("-hosts and -f cannot be used together"),
        (Some(list), None) => {
            Some(machinefile::parse_list(list).map_err(|e| anyhow::anyhow!("-hosts: {e}"))?)
        }
        (None, Some(file)) => {
            let text = std::fs::read_to_string(file)
                .with_context(|| format!("machine file {}", file.display()))?;
            let machines = machinefile::parse_file(&text)
                .map_err(|e| anyhow::anyhow!("machine file {}: {e}", file.display()))?;
            Some(machines)
        }
        (None, None) => None,
    })
}

/// A host that is named twice gives the sum of its slots.
fn merge(machines: Vec<Machine>) -> Vec<Machine> {
    let mut merged: Vec<Machine> = Vec::new();
    for machine in machines {
        match merged.iter_mut().find(|known| known.name == machine.name) {
            Some(known) => {
                let slots = known.slots.unwrap_or(1).saturating_add(machine.slots.unwrap_or(1));
                known.slots = Some(slots);
                known.event_logger = known.event_logger.take().or(machine.event_logger);
                known.checkpoint_server =
                    known.checkpoint_server.take().or(machine.checkpoint_server);
            }
            None => merged.push(machine),
        }
    }
    merged
}

/// How many ranks there are if the command line does not say: as under Hydra as many as the hosts that it
/// names have slots.
fn slots(cli: &Cli, machines: &[Machine]) -> u64 {
    if cli.hosts.is_none() && cli.machinefile.is_none() {
        return 1;
    }
    let slots = machines.iter().map(|machine| match (machine.slots, cli.ppn) {
        (Some(0), _) => 0,
        (slots, ppn) => u64::from(ppn.or(slots).unwrap_or(1)),
    });
    slots.sum::<u64>().max(1)
}

/// As Hydra: fill each host's slots, then the next host; begin again when all are full.
fn place(machines: &[Machine], ranks: usize, ppn: Option<u32>) -> anyhow::Result<Vec<u32>> {
    if ppn == Some(0) {
        bail!("-ppn must be at least 1");
    }
    let round: Vec<u32> = machines
        .iter()
        .enumerate()
        .flat_map(|(host, machine)| {
            let slots = match (machine.slots, ppn) {
                (Some(0), _) => 0,
                (_, Some(ppn)) => ppn,
                (Some(slots), None) => slots,
                (None, None) => 1,
            };
            std::iter::repeat_n(host as u32, slots as usize)
        })
        .take(ranks)
        .collect();
    if round.is_empty() {
        bail!("no host has a slot for a rank");
    }
    Ok(round.iter().copied().cycle().take(ranks).collect())
}

/// Where the ranks go if those of one host share memory: each of the hosts that they had at first becomes
/// part of one of these, the least loaded one.
fn together(machines: &[Machine], node_of: &[u32]) -> Vec<u32> {
    let mut load = vec![0; machines.len()];
    let mut host_of = BTreeMap::new();
    for node in node_of {
        host_of.entry(*node).or_insert_with(|| {
            let size = node_of.iter().filter(|other| *other == node).count();
            let able = (0..machines.len()).filter(|host| machines[*host].slots != Some(0));
            let host = able.min_by_key(|host| load[*host]).unwrap_or(0);
            load[host] += size;
            host as u32
        });
    }
    node_of.iter().map(|node| host_of[node]).collect()
}

fn programs(cli: &Cli, parts: &[Part]) -> anyhow::Result<Vec<Program>> {
    let here = std::env::current_dir().context("the working directory")?;
    parts
        .iter()
        .map(|part| {
            if part.command.is_empty() {
                bail!("which program? (ftmpiexec -n 4 ./prog; more: ftmpiexec --help)");
            }
            let directory = here.join(part.wdir.clone().unwrap_or_default());
            let here = std::env::vars_os().filter_map(|(key, value)| {
                Some((key.into_string().ok()?, value.into_string().ok()?))
            });
            let environment = environment::of_part(cli, part, here)?;
            let directory = directory
                .to_str()
                .with_context(|| format!("{} is not UTF-8", directory.display()))?
                .trim_end_matches('/');
            let directory = if directory.is_empty() { "/" } else { directory };
            Ok(Program {
                command: part.command.clone(),
                environment,
                directory: directory.to_owned(),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_fill_hosts_as_under_hydra() {
        let machines = machinefile::parse_list("a,b").unwrap();
        assert_eq!(place(&machines, 4, None).unwrap(), [0, 1, 0, 1]);
        assert_eq!(place(&machines, 4, Some(2)).unwrap(), [0, 0, 1, 1]);
        let machines = machinefile::parse_list("a:2,b:1,c:0").unwrap();
        assert_eq!(place(&machines, 5, None).unwrap(), [0, 0, 1, 0, 0]);
        assert!(place(&machinefile::parse_list("a:0").unwrap(), 1, None).is_err());
    }

    #[test]
    fn ranks_that_share_memory_stay_together_on_other_hosts() {
        let machines = |list| machinefile::parse_list(list).unwrap();
        assert_eq!(together(&machines("a,b"), &[0, 1, 0, 1]), [0, 1, 0, 1]);
        assert_eq!(together(&machines("a"), &[0, 1, 0, 1]), [0, 0, 0, 0]);
        assert_eq!(together(&machines("a,b,c"), &[0, 0, 1, 1]), [0, 0, 1, 1]);
        assert_eq!(together(&machines("a:0,b,c"), &[0, 0, 0, 1, 2]), [1, 1, 1, 2, 2]);
    }
}
