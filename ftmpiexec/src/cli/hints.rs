//! Variables of other launchers that do not hold where this command runs.
//!
//! Guarantees: a site sets such variables for all its hosts. So one that names a batch system that
//! is not there counts as not set, with a note for `--verbose`. An option that does so is an error,
//! unless the hosts are named: then no batch system is asked.

use super::CommandLine;
use super::allocation::{Allocation, AllocationError, BatchSystem};
use super::errors::PlanError;
use super::starter::Starter;
use crate::locality::address_of_interface;
use ftmpi_options::choices::{BatchSystemChoice, LauncherKind};
use ftmpi_options::ftmpiexec::Cli;

/// Where a command runs.
pub struct Here {
    /// The command line without variables that do not hold here.
    pub line: CommandLine,
    /// What a batch system gave.
    pub allocation: Option<Allocation>,
}

impl Here {
    /// Looks at this process's surroundings. `cli` gives all options of the job that follow from
    /// this command line: a job that goes on has saved ones.
    ///
    /// # Errors
    /// An option names a batch system that is not there, or the batch system says something that
    /// cannot be understood.
    pub fn look(line: &CommandLine, cli: impl Fn(&CommandLine) -> Cli) -> Result<Self, PlanError> {
        Self::with(line, cli, Allocation::current)
    }

    fn with(
        line: &CommandLine,
        cli: impl Fn(&CommandLine) -> Cli,
        current: impl Fn(BatchSystemChoice) -> Result<Option<Allocation>, AllocationError>,
    ) -> Result<Self, PlanError> {
        let mut line = line.clone();
        let is_named = line.gave("hosts") || line.gave("machinefile");
        let found = match current(cli(&line).placement.rmk) {
            Err(AllocationError::NotThere { .. }) if line.gave_by_variable("rmk") => {
                line = line.without_variable("rmk", "this is no allocation of it");
                current(BatchSystemChoice::Auto)
            }
            // A saved option: the job has its hosts.
            Err(AllocationError::NotThere { .. }) if !line.gave("rmk") => {
                current(BatchSystemChoice::Auto)
            }
            found => found,
        };
        let allocation = match found {
            Err(_) if is_named => None,
            found => found?,
        };
        let slurm = allocation.as_ref().is_some_and(|found| found.system == BatchSystem::Slurm);
        if line.gave_by_variable("launcher")
            && line.cli.network.launcher == LauncherKind::Slurm
            && !slurm
        {
            line = line.without_variable("launcher", "this is not a Slurm allocation");
        }
        let named = line.cli.network.interface.as_deref();
        if line.gave_by_variable("interface")
            && named.is_some_and(|name| address_of_interface(name).is_err())
        {
            line = line.without_variable("interface", "this host has no such interface");
        }
        let is_remote = || {
            let starter = Starter::of(&cli(&line), allocation.as_ref());
            matches!(starter, Ok(Starter::Remote(_)))
        };
        if line.gave_by_variable("rsh_options") && !is_remote() {
            line = line.without_variable("rsh_options", "agents are not started by ssh");
        }
        Ok(Self { line, allocation })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_options::ftmpiexec::read_with;

    fn line(text: &str, variables: &[(&str, &str)]) -> CommandLine {
        let get = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
        };
        read_with(text.split(' ').map(str::to_owned).collect(), get).unwrap()
    }

    /// Outside of any batch system, or within Slurm.
    fn look(line: &CommandLine, in_slurm: bool) -> Result<Here, PlanError> {
        let slurm = Allocation { system: BatchSystem::Slurm, machines: Vec::new(), ranks: None };
        Here::with(
            line,
            |line| line.cli.clone(),
            |wanted| match wanted {
                BatchSystemChoice::User => Ok(None),
                BatchSystemChoice::Auto => Ok(in_slurm.then(|| slurm.clone())),
                BatchSystemChoice::Slurm if in_slurm => Ok(Some(slurm.clone())),
                _ => Err(AllocationError::NotThere { name: "x".to_owned(), variable: "X" }),
            },
        )
    }

    #[test]
    fn a_variable_for_a_batch_system_that_is_not_there_counts_as_not_set() {
        for (variable, word) in [("HYDRA_RMK", "slurm"), ("I_MPI_HYDRA_BOOTSTRAP", "slurm")] {
            let line = line("ftmpiexec -n 2 ./p", &[(variable, word)]);
            let outside = look(&line, false).unwrap();
            assert!(outside.line.options.iter().all(|word| !word.contains("slurm")));
            assert!(outside.allocation.is_none());
            let [note] = outside.line.notes.as_slice() else { panic!("{:?}", outside.line.notes) };
            assert!(note.starts_with(&format!("{variable}={word} counts as not set")), "{note}");
            let inside = look(&line, true).unwrap();
            assert!(inside.line.notes.is_empty() && inside.allocation.is_some());
        }
        // Another batch system than the variable says.
        let other = line("ftmpiexec -n 2 ./p", &[("HYDRA_RMK", "pbs")]);
        assert!(look(&other, true).unwrap().allocation.is_some());
        let options = line("ftmpiexec -n 2 ./p", &[("HYDRA_LAUNCHER_EXTRA_ARGS", "-p 22")]);
        let by_srun = look(&options, true).unwrap().line;
        assert!(by_srun.cli.network.rsh_options.is_none() && by_srun.notes.len() == 1);
        let by_ssh = look(&options, false).unwrap().line;
        assert_eq!(by_ssh.cli.network.rsh_options.as_deref(), Some("-p 22"));
    }

    #[test]
    fn an_option_is_strict_unless_hosts_are_named() {
        assert!(look(&line("ftmpiexec --rmk pbs -n 2 ./p", &[]), false).is_err());
        assert!(look(&line("ftmpiexec --rmk pbs --hosts a -n 2 ./p", &[]), false).is_ok());
        assert!(
            look(&line("ftmpiexec --rmk pbs -n 2 ./p", &[("HYDRA_HOST_FILE", "f")]), false).is_ok()
        );
        // A saved option: the job has its hosts.
        let restart = line("ftmpiexec --restart d", &[]);
        let saved = line("ftmpiexec --rmk slurm -n 2 ./p", &[]).cli;
        let none = |wanted| match wanted {
            BatchSystemChoice::Auto => Ok(None),
            _ => Err(AllocationError::NotThere { name: "x".to_owned(), variable: "X" }),
        };
        assert!(Here::with(&restart, |_| saved.clone(), none).unwrap().allocation.is_none());
    }
}
