//! The plan of a job that goes on: what an earlier launcher wrote down, with what this command line
//! changes.

use super::CommandLine;
use super::effects;
use super::errors::PlanError;
use super::hints::Here;
use super::placement::{machines, together};
use super::plan::{Placed, Plan, image_cost_limit};
use super::protocol_choice::{AUTO, Choice, Reason};
use super::standbys;
use crate::job_dir::plan_file::{EarlierRun, ImageFactsTable, Saved};
use crate::job_dir::progress::Progress;
use ftmpi_options::ftmpiexec::{Answer, FIXED_AT_RESTART};
use ftmpi_options::os_text;
use ftmpi_protocols::registry;
use ftmpi_servers::job_state::directory_of_job;
use ftmpi_wire::ImageNo;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

impl Plan {
    /// What the directory of a new job remembers of the self.
    pub fn to_saved(&self, local_rank_of: Vec<u32>, stack_limit: (u64, u64)) -> Saved {
        Saved {
            options: self.options.clone(),
            directory: std::env::current_dir().unwrap_or_default(),
            programs: self.programs.clone(),
            program_of: self.program_of.clone(),
            node_of: self.placement.clone(),
            local_rank_of,
            oversubscribed: false,
            shares_memory: false,
            worlds: Vec::new(),
            had_ports: false,
            files: Vec::new(),
            files_since: ImageNo(0),
            stack_limit,
            protocol: self.protocol.clone(),
            machines: self.machines.clone(),
            servers: Vec::new(),
            actual_commands: Vec::new(),
            runs: 1,
            job_id: self.job_id.clone(),
            cpu_baseline: None,
            image_facts: ImageFactsTable::default(),
            recovery: self.recovery.clone(),
        }
    }

    /// The plan of a job that an earlier launcher began. What its images depend on stays;
    /// everything else is as it was, or as this command line says. `same_line`: this is the command
    /// line that began the job (`--auto-restart`).
    ///
    /// # Errors
    /// The job cannot be continued, or not so.
    pub(super) fn continued(
        line: &CommandLine,
        directory: PathBuf,
        same_line: bool,
    ) -> Result<Self, PlanError> {
        if !same_line && line.parts.iter().any(|part| !part.command.is_empty()) {
            return Err(PlanError::RestartProgram);
        }
        let directory = directory
            .canonicalize()
            .map_err(|error| PlanError::RestartDirectory { directory, error })?;
        let directory = directory_of_job(&directory);
        let mut saved = Saved::read(&directory).map_err(PlanError::RestartPlan)?;
        if let (true, Some(code)) = (same_line, Progress::ended(&directory)) {
            return Err(PlanError::HasEnded { directory, code });
        }
        Progress::must_not_have_ended(&directory).map_err(|e| PlanError::RestartPlan(e.into()))?;
        if !saved.worlds.is_empty() {
            let joined = saved.worlds.iter().map(|world| world.size).sum();
            return Err(PlanError::RestartGrown(joined, directory));
        }
        if saved.had_ports {
            return Err(PlanError::RestartPorts(directory));
        }
        if same_line && !line.parts.iter().map(|part| &part.command).eq(saved.commands()) {
            return Err(PlanError::OtherProgram(directory));
        }
        let ranks = saved.program_of.len();
        if !same_line && line.cli.part.ranks.is_some_and(|given| given as usize != ranks) {
            return Err(PlanError::RestartRanks(ranks));
        }
        if let Some(fixed) = FIXED_AT_RESTART.iter().find(|fixed| !same_line && line.gave(fixed)) {
            return Err(PlanError::RestartFixed(format!("--{}", fixed.replace('_', "-"))));
        }
        let earlier = match ftmpi_options::ftmpiexec::read_saved(&saved.options) {
            Ok(earlier) => earlier,
            Err(Answer::Wrong(error)) => return Err(PlanError::RestartOptions(error.to_string())),
            Err(Answer::Help(_)) => return Err(PlanError::RestartOptions("--help".to_owned())),
        };
        let over = |line: &CommandLine| line.over(earlier.cli.clone());
        let Here { line, allocation } = Here::look(&line.after(&earlier), over)?;
        let line = &line;
        let keeps_interval = line.gave("ckpt_interval") || earlier.gave("ckpt_interval");
        let mut cli = standbys::replicated(Cow::Owned(over(line)), keeps_interval).into_owned();
        // What images depend on is what the first command line led to, also on other hosts.
        let choice = (cli.fault_tolerance.protocol == AUTO)
            .then(|| Choice { name: saved.protocol.name.clone(), reason: Reason::Continued });
        if let Some(choice) = &choice {
            cli.fault_tolerance.protocol.clone_from(&choice.name);
        }
        if !line.gave("recovery") {
            // The plan has what the file said; the file may have changed since.
            cli.fault_tolerance.recovery = None;
        }
        let machines = match machines(&line.cli, allocation.as_ref())? {
            Some(machines) => {
                saved.move_servers(&machines).map_err(PlanError::RestartPlan)?;
                if !line.gave("rankmap") {
                    // It was for other hosts.
                    cli.placement.rankmap = None;
                }
                machines
            }
            None => saved.machines.clone(),
        };
        let placed = Placed { machines, allocation: allocation.as_ref() };
        let mut plan =
            Self::build(&cli, &[], placed, saved.programs.clone(), saved.program_of.clone())?;
        plan.image_cost_limit = image_cost_limit(&cli, keeps_interval);
        plan.job_id.clone_from(&saved.job_id);
        if saved.shares_memory {
            plan.placement = together(&plan.machines, &saved.node_of);
        }
        plan.anchor_files(line, &saved);
        plan.starter.check_options(line)?;
        plan.notes.clone_from(&line.notes);
        if !plan.traits.is_fault_tolerant() {
            return Err(PlanError::RestartNothing);
        }
        let servers = saved.servers.iter().filter_map(|server| server.host.clone());
        plan.note_remote(servers);
        plan.choice = choice;
        if !line.gave("recovery") {
            plan.recovery = saved.recovery.clone();
        }
        plan.protocol = saved.protocol.clone();
        plan.traits = registry::traits(&plan.protocol);
        effects::check(&line.given(), &plan.protocol)?;
        plan.clusters = registry::clusters(&plan.protocol, ranks);
        plan.options = saved.options.clone();
        plan.job_dir = Some(directory.clone());
        plan.grace_at_sigterm = true;
        plan.continued = Some(Box::new(EarlierRun { directory, saved, same_line }));
        Ok(plan)
    }

    /// Files of the first command line are relative to its directory, not to this one.
    fn anchor_files(&mut self, line: &CommandLine, saved: &Saved) {
        if !line.gave("report") {
            self.report = self.report.take().map(|file| saved.directory.join(file));
        }
        for (pattern, given) in
            self.file_patterns.iter_mut().zip(["outfile_pattern", "errfile_pattern"])
        {
            if !line.gave(given)
                && let Some(pattern) = pattern
            {
                // The directory becomes part of a pattern, where % has a meaning.
                let directory = os_text::of_path(&saved.directory).replace('%', "%%");
                *pattern = os_text::of_path(&Path::new(&directory).join(&*pattern));
            }
        }
        if !line.gave("image_key")
            && let Some(Some(file)) = &mut self.encrypt_images
        {
            *file = saved.directory.join(&*file);
        }
    }
}
