//! The command line, checked and complete: what the launcher works from.

use super::locality;
use super::machinefile::{self, Machine};
use super::{
    Cli, EventsChoice, LauncherKind, OutputChoice, Part, Switch, TransportChoice, WtimeChoice,
};
use crate::inject::Fault;
use crate::orders::Program;
use anyhow::{Context, bail};
use ftmpi_wire::control::{Events, ProtocolConfig};
use std::collections::HashSet;
use std::path::PathBuf;
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
    /// Whether a failed rank can be restarted.
    pub fault_tolerant: bool,
    /// When images are taken.
    pub ckpt_interval: Option<Duration>,
    /// Given by the user, or none.
    pub job_dir: Option<PathBuf>,
    /// Where the report goes.
    pub report: Option<PathBuf>,
    /// Sockets everywhere.
    pub force_tcp: bool,
    /// Bytes that a rank's sender log may hold; 0: a share of memory.
    pub log_limit: u64,
    /// In the whole job.
    pub max_restarts: u32,
    /// Faults to inject.
    pub faults: Vec<Fault>,
    /// Rank numbers before lines.
    pub prepend_rank: bool,
    /// Whole lines only.
    pub whole_lines: bool,
    /// How other hosts are reached.
    pub starter: Starter,
    /// Names of the hosts whose agents are not started here.
    remote: HashSet<String>,
    /// Path of ftmpiexec there.
    pub remote_path: PathBuf,
    /// Say more.
    pub verbose: bool,
}

/// Ranks of one job at the most: what a job view may hold in one datagram.
const RANKS_MAX: usize = 16_384;

impl Plan {
    /// Whether the agent of this host is started by ssh.
    pub fn is_remote(&self, host: &str) -> bool {
        self.remote.contains(host)
    }

    /// Checks a command line and completes it.
    ///
    /// # Errors
    /// What makes no sense, in one line.
    pub fn new(cli: &Cli, parts: &[Part]) -> anyhow::Result<Self> {
        let mut machines = match (&cli.hosts, &cli.machinefile) {
            (Some(_), Some(_)) => bail!("-hosts and -f cannot be used together"),
            (Some(list), None) => {
                machinefile::parse_list(list).map_err(|e| anyhow::anyhow!("-hosts: {e}"))?
            }
            (None, Some(file)) => {
                let text = std::fs::read_to_string(file)
                    .with_context(|| format!("machine file {}", file.display()))?;
                machinefile::parse_file(&text)
                    .map_err(|e| anyhow::anyhow!("machine file {}: {e}", file.display()))?
            }
            (None, None) => {
                machinefile::parse_list("localhost").map_err(|e| anyhow::anyhow!("{e}"))?
            }
        };
        if machines.is_empty() {
            bail!("-hosts names no host");
        }
        machines = merge(machines);
        let programs = programs(cli, parts)?;
        let ranks: usize = parts.iter().map(|part| part.ranks as usize).sum();
        if ranks == 0 {
            bail!("-n must be at least 1");
        }
        if ranks > RANKS_MAX {
            bail!("{ranks} ranks are more than this version starts ({RANKS_MAX})");
        }
        let program_of = parts
            .iter()
            .enumerate()
            .flat_map(|(number, part)| (0..part.ranks).map(move |_| number as u32))
            .collect();
        let placement = place(&machines, ranks, cli.ppn)?;
        if !ftmpi_protocols::registry::NAMES.contains(&cli.protocol.as_str()) {
            bail!(
                "--protocol {}: there is {}",
                cli.protocol,
                ftmpi_protocols::registry::NAMES.join(" and ")
            );
        }
        let fault_tolerant = cli.protocol != "none";
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
        let remote = match starter {
            Starter::Fork => HashSet::new(),
            Starter::Remote(_) => {
                let names = machines.iter().map(|machine| machine.name.clone());
                names.filter(|name| !locality::is_here(name)).collect()
            }
        };
        let own = std::env::current_exe().context("where is this program?")?;
        Ok(Self {
            machines,
            placement,
            programs,
            program_of,
            protocol: ProtocolConfig {
                name: cli.protocol.clone(),
                events: match cli.events {
                    EventsChoice::All => Events::All,
                    EventsChoice::Nondeterministic => Events::Nondeterministic,
                },
                log_wtime: cli.wtime == WtimeChoice::Log,
                settings: Vec::new(),
            },
            fault_tolerant,
            ckpt_interval: (fault_tolerant && cli.ckpt == Switch::On).then_some(cli.ckpt_interval),
            job_dir: cli.job_dir.clone(),
            report: cli.report.clone(),
            force_tcp: cli.transport == TransportChoice::Tcp,
            log_limit: cli.log_limit.saturating_mul(1 << 20),
            max_restarts: cli.max_restarts,
            faults,
            prepend_rank: cli.prepend_rank,
            whole_lines: cli.output == OutputChoice::Lines,
            starter,
            remote,
            remote_path: cli.remote_path.clone().unwrap_or(own),
            verbose: cli.verbose,
        })
    }
}

/// A host that is named twice gives the sum of its slots.
fn merge(machines: Vec<Machine>) -> Vec<Machine> {
    let mut merged: Vec<Machine> = Vec::new();
    for machine in machines {
        match merged.iter_mut().find(|known| known.name == machine.name) {
            Some(known) => {
                known.slots = Some(known.slots.unwrap_or(1) + machine.slots.unwrap_or(1));
                known.event_logger = known.event_logger.take().or(machine.event_logger);
                known.checkpoint_server =
                    known.checkpoint_server.take().or(machine.checkpoint_server);
            }
            None => merged.push(machine),
        }
    }
    merged
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
        .collect();
    if round.is_empty() {
        bail!("no host has a slot for a rank");
    }
    Ok(round.iter().copied().cycle().take(ranks).collect())
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
            let mut environment: Vec<(String, String)> = std::env::vars_os()
                .filter_map(|(key, value)| {
                    Some((key.into_string().ok()?, value.into_string().ok()?))
                })
                .filter(|(key, _)| !key.starts_with("FTMPI_RANK") && key != "FTMPI_KEY")
                .collect();
            for pair in cli.genv.chunks_exact(2).chain(part.env.chunks_exact(2)) {
                if pair[0].is_empty() || pair[0].contains('=') {
                    bail!("`{}` is no name of a variable", pair[0]);
                }
                environment.retain(|(key, _)| *key != pair[0]);
                environment.push((pair[0].clone(), pair[1].clone()));
            }
            // The same order in every life: the stack's contents must not move.
            environment.sort();
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
}
