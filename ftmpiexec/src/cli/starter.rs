//! How agents and servers on other hosts are started.

use super::CommandLine;
use super::allocation::{Allocation, BatchSystem};
use super::errors::PlanError;
use crate::shell::shell_word;
use ftmpi_options::choices::LauncherKind;
use ftmpi_options::ftmpiexec::Cli;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// How other hosts are reached without `--rsh`.
const SSH: [&str; 6] = ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-x"];

/// A step of one process that shares its node with other steps. A node that fails, or a process
/// that fails, ends no other step. Binding processors is for the agent. The step is refused after
/// 30 s where the node is down.
const SRUN: [&str; 10] = [
    "--overlap",
    "--no-kill",
    "--kill-on-bad-exit=0",
    "--ntasks=1",
    "--nodes=1",
    "--cpu-bind=none",
    "--mpi=none",
    "--export=ALL",
    "--immediate=30",
    "--quiet",
];

/// Variables that `srun` takes for options. They describe the job's own steps, not an agent.
pub const NOT_FOR_SRUN: &[&str] = &[
    "SLURM_NTASKS",
    "SLURM_NPROCS",
    "SLURM_NTASKS_PER_NODE",
    "SLURM_NTASKS_PER_CORE",
    "SLURM_NTASKS_PER_SOCKET",
    "SLURM_NTASKS_PER_GPU",
    "SLURM_DISTRIBUTION",
    "SLURM_CPUS_PER_TASK",
    "SLURM_EXCLUSIVE",
    "SLURM_TRES_PER_TASK",
];

/// How agents and servers on other hosts are started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Starter {
    /// All agents start on this host.
    Fork,
    /// This command starts agents on other hosts (ssh).
    Remote(Vec<String>),
    /// Steps of a Slurm allocation: `srun`, or where it is, and more options for it.
    Srun(Vec<String>),
}

impl Starter {
    /// As the options say; in a Slurm allocation by `srun` if they say nothing.
    ///
    /// # Errors
    /// The options contradict each other, or there is no allocation.
    pub fn of(cli: &Cli, allocation: Option<&Allocation>) -> Result<Self, PlanError> {
        let slurm = allocation.is_some_and(|found| found.system == BatchSystem::Slurm);
        let more = cli.network.rsh_options.as_deref().unwrap_or_default();
        let with_more = |mut words: Vec<String>| {
            words.extend(more.split_whitespace().map(str::to_owned));
            words
        };
        let command: Option<Vec<String>> = cli
            .network
            .rsh
            .as_ref()
            .map(|command| command.split_whitespace().map(str::to_owned).collect());
        if command.as_ref().is_some_and(Vec::is_empty) {
            return Err(PlanError::value("--rsh", "the command is empty; write for example ssh"));
        }
        let is_srun = |words: &Vec<String>| Path::new(&words[0]).ends_with("srun");
        let srun = || vec!["srun".to_owned()];
        Ok(match (cli.network.launcher, command) {
            (LauncherKind::Fork, _) => Self::Fork,
            (LauncherKind::Slurm, _) if !slurm => {
                return Err(PlanError::value(
                    "--launcher slurm",
                    "this is not a Slurm allocation; call salloc or sbatch first, or write --launcher ssh",
                ));
            }
            (LauncherKind::Slurm, command) => Self::Srun(with_more(command.unwrap_or_else(srun))),
            (LauncherKind::Auto, None) if slurm => Self::Srun(srun()),
            (LauncherKind::Auto, Some(words)) if slurm && is_srun(&words) => {
                Self::Srun(with_more(words))
            }
            (_, Some(words)) => Self::Remote(with_more(words)),
            (_, None) => Self::Remote(with_more(SSH.map(str::to_owned).to_vec())),
        })
    }

    /// Refuses options of this command line that have no effect.
    ///
    /// # Errors
    /// There is such an option.
    pub fn check_options(&self, line: &CommandLine) -> Result<(), PlanError> {
        let what = match self {
            Self::Fork => "agents start on this host, without ssh (--launcher fork)",
            Self::Srun(_) if line.gave("launcher") || line.gave("rsh") => return Ok(()),
            Self::Srun(_) => "srun starts the agents, not ssh",
            Self::Remote(_) => return Ok(()),
        };
        // Options of ssh mean something else to srun: -p is a port, or a partition.
        let remedy = match self {
            Self::Srun(_) => "drop it, or write --launcher slurm or --launcher ssh",
            _ => "drop it, or write --launcher ssh",
        };
        match line.gave("rsh_options") {
            true => Err(PlanError::value("--rsh-options", format!("{what}; {remedy}"))),
            false => Ok(()),
        }
    }

    /// The words that run a command on a host; `None`: nothing is started on other hosts.
    pub fn words(&self, host: &str, command: &[&OsStr]) -> Option<Vec<OsString>> {
        match self {
            Self::Fork => None,
            // The words pass through a shell of that host.
            Self::Remote(rsh) => {
                let command = command.iter().map(|word| shell_word(word));
                let host = [OsString::from(host)];
                Some(rsh.iter().map(OsString::from).chain(host).chain(command).collect())
            }
            Self::Srun(srun) => {
                let (srun, more) = (srun.iter().take(1), srun.iter().skip(1));
                let options = srun.map(OsString::from).chain(SRUN.iter().map(OsString::from));
                let node = ["--nodelist", host, "--"].map(OsString::from);
                let command = command.iter().map(OsString::from);
                Some(options.chain(more.map(OsString::from)).chain(node).chain(command).collect())
            }
        }
    }

    /// Variables that the command of [`Starter::words`] must not see.
    pub fn hidden_variables(&self) -> &'static [&'static str] {
        if matches!(self, Self::Srun(_)) { NOT_FOR_SRUN } else { &[] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_options::ftmpiexec::read;

    #[test]
    fn options_for_ssh_stand_before_the_host() {
        let words = ["ftmpiexec", "--rsh-options=-p 2222", "./p"].map(str::to_owned).to_vec();
        let starter = Starter::of(&read(words).unwrap().cli, None).unwrap();
        let words = starter.words("n1", &["true".as_ref()]).unwrap();
        assert_eq!(words[words.len() - 5..], ["-x", "-p", "2222", "n1", "true"]);
    }

    #[test]
    fn srun_may_be_elsewhere_and_get_more_options() {
        let allocation =
            Allocation { system: BatchSystem::Slurm, machines: Vec::new(), ranks: None };
        let words = |options: &str| {
            let line = format!("ftmpiexec {options} ./p");
            let words = line.split_whitespace().map(str::to_owned).collect();
            let line = read(words).unwrap();
            let starter = Starter::of(&line.cli, Some(&allocation)).unwrap();
            starter.check_options(&line).map_err(|error| error.to_string())?;
            Ok::<_, String>(starter.words("n1", &["true".as_ref()]).unwrap())
        };
        for launcher in ["", "--launcher slurm"] {
            let words = words(&format!("{launcher} -launcher-exec /opt/srun")).unwrap();
            assert_eq!(
                (words[0].to_str(), words[1].to_str()),
                (Some("/opt/srun"), Some("--overlap"))
            );
        }
        let found = words("--launcher slurm --rsh-options=--mem=0").unwrap();
        assert_eq!(found[0], "srun");
        assert_eq!(found[found.len() - 5..], ["--mem=0", "--nodelist", "n1", "--", "true"]);
        assert!(words("--rsh-options=-p 2222").is_err(), "meant for ssh");
        assert_eq!(words("--rsh ssh").unwrap(), ["ssh", "n1", "true"]);
    }

    #[test]
    fn options_for_ssh_are_refused_where_nothing_calls_it() {
        let check = |starter: &Starter, words: &str| {
            let words = format!("ftmpiexec {words} ./p");
            let line = read(words.split_whitespace().map(str::to_owned).collect()).unwrap();
            starter.check_options(&line).map_err(|error| error.to_string())
        };
        for starter in [Starter::Srun(vec!["srun".into()]), Starter::Fork] {
            let error = check(&starter, "--rsh-options=-v").unwrap_err();
            assert!(error.starts_with("--rsh-options: "), "{error}");
            assert_eq!(check(&starter, ""), Ok(()));
        }
        assert_eq!(check(&Starter::Remote(Vec::new()), "--rsh-options=-v"), Ok(()));
    }

    #[test]
    fn ssh_gets_words_for_a_shell_and_srun_gets_words() {
        let command = ["/a b/ftmpiexec".as_ref(), "--agent".as_ref()];
        let ssh = Starter::Remote(vec!["ssh".into(), "-x".into()]).words("n1", &command).unwrap();
        assert_eq!(ssh, ["ssh", "-x", "n1", "'/a b/ftmpiexec'", "--agent"]);
        let srun = Starter::Srun(vec!["srun".into()]).words("n1", &command).unwrap();
        assert_eq!(srun[0], "srun");
        assert_eq!(srun[srun.len() - 5..], ["--nodelist", "n1", "--", "/a b/ftmpiexec", "--agent"]);
        assert_eq!(Starter::Fork.words("n1", &command), None);
    }
}
