//! Everything in a run that can fail before anything is started. Programs and output files are
//! checked, and the first message to the agents is put together.

use super::events::LauncherEvent;
use super::input::StandardInput;
use super::servers::Servers;
use super::{oversubscription, page_links};
use crate::agent_protocol::Job;
use crate::cli::Plan;
use crate::job_dir::JobDir;
use crate::job_dir::plan_file::Saved;
use crate::job_dir::progress::Progress;
use crate::output::{Files, Printer, writable};
use crate::program::{self, ProgramError};
use anyhow::Context;
use ftmpi_checkpoint::launch::StackLimit;
use ftmpi_transport::auth::JobKey;
use ftmpi_wire::Incarnation;
use ftmpi_wire::control::JobView;
use ftmpi_wire::new_processes::World;
use std::path::Path;
use tokio::sync::mpsc;

/// What a launcher begins with.
#[derive(Debug)]
pub(super) struct Prepared {
    pub image_key: Option<JobKey>,
    pub job: Job,
    pub servers: Servers,
    pub saved: Saved,
    /// Whether a host has more ranks than processors, if that is known.
    pub oversubscribed: Option<bool>,
    pub progress: Option<Progress>,
    /// Bytes of output and error of each rank that were printed.
    pub printed: Vec<[u64; 2]>,
    pub input: StandardInput,
}

impl Prepared {
    /// Prepares a run in a directory that this launcher has locked. Afterwards the directory of a
    /// new job has its plan; that of a continued job is as it was.
    ///
    /// # Errors
    /// What stands in the way of this run.
    pub fn new(
        plan: &Plan,
        job_dir: Option<&JobDir>,
        printer: &Printer,
        events: &mpsc::UnboundedSender<LauncherEvent>,
    ) -> anyhow::Result<Self> {
        let image_key = match (job_dir, &plan.encrypt_images) {
            (Some(directory), Some(file)) => Some(directory.image_key(file.as_deref())?),
            _ => None,
        };
        let size = plan.placement.len();
        let job = job(plan, job_dir)?;
        let servers = Servers::new(plan, job_dir, plan.is_anything_remote())?;
        let oversubscribed = oversubscription::known_at_once(plan);
        let mut saved = match &plan.continued {
            Some(earlier) => earlier.saved.clone(),
            None => plan.to_saved(job.local_rank_of.clone(), job.stack_limit),
        };
        saved.servers = servers.describe();
        saved.oversubscribed = oversubscribed.unwrap_or(false);
        saved.machines.clone_from(&plan.machines);
        saved.recovery.clone_from(&plan.recovery);
        saved.runs += u32::from(plan.continued.is_some());
        let progress = job_dir.map(|directory| directory.progress(size)).transpose()?;
        let known = progress.as_ref().filter(|_| plan.continued.is_some());
        let printed = known.map_or_else(
            || vec![[0; 2]; size],
            |progress| progress.ranks().iter().map(|rank| rank.printed).collect(),
        );
        let input_ended = known.map(Progress::input_ended);
        let input = StandardInput::new(job_dir, input_ended, events.clone())?;
        page_links::serve(plan, printer, events)?;
        if let Some(directory) = job_dir.filter(|_| plan.continued.is_none()) {
            directory.save(&saved)?;
        }
        // Last, because a new job empties the files that are there.
        printer.write_into(output_files(plan)?);
        Ok(Self { image_key, job, servers, saved, oversubscribed, progress, printed, input })
    }
}

/// A program that cannot be a rank.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadProgram {
    /// A word of the command line.
    #[error(transparent)]
    Word(ProgramError),
    /// The first rank of it, and the rank's host.
    #[error("rank {0} on {1}: {2}")]
    OfRank(usize, String, ProgramError),
}

impl BadProgram {
    /// Exit code of the job.
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Word(error) | Self::OfRank(_, _, error) => error.exit_code(),
        }
    }
}

/// Inspects the programs that run on this host. Agents of other hosts inspect theirs.
pub(super) fn check_programs(plan: &Plan) -> Result<(), BadProgram> {
    for (number, part) in plan.programs.iter().enumerate() {
        let host_of = |rank: usize| plan.machines[plan.placement[rank] as usize].name.clone();
        let here = (0..plan.placement.len()).find(|rank| {
            plan.program_of[*rank] as usize == number && !plan.is_remote(&host_of(*rank))
        });
        let directory = Path::new(&part.directory);
        let Some(rank) = here.filter(|_| directory.is_dir()) else { continue };
        let path = part.environment.iter().find(|(key, _)| key == "PATH");
        let path = path.map(|(_, value)| value.to_os()).unwrap_or_default();
        let found = program::find(&part.command[0].to_os(), directory, &path);
        match found.and_then(|file| program::inspect(&file, directory)) {
            Ok(_) => {}
            Err(error @ ProgramError::Option(_)) => return Err(BadProgram::Word(error)),
            Err(error) => return Err(BadProgram::OfRank(rank, host_of(rank), error)),
        }
    }
    Ok(())
}

/// Checks that files which are written at the end can be written.
///
/// # Errors
/// Names the first file that cannot be written.
pub(super) fn check_output_files(plan: &Plan) -> anyhow::Result<()> {
    for (option, path) in [("--report", &plan.report), ("--trace", &plan.trace)] {
        let Some(path) = path else { continue };
        // The job's directory is made later.
        let parent = path.parent().filter(|parent| !parent.exists());
        if parent.is_some() && parent == plan.job_dir.as_deref() {
            continue;
        }
        writable(path).with_context(|| format!("{option} {}", path.display()))?;
    }
    Ok(())
}

/// The files for the output of the ranks.
fn output_files(plan: &Plan) -> anyhow::Result<[Files; 2]> {
    let host = |host: &u32| plan.machines[*host as usize].name.as_str();
    let hosts: Vec<&str> = plan.placement.iter().map(host).collect();
    let [out, err] = plan.file_patterns.each_ref().map(Option::as_deref);
    let again = plan.continued.is_some();
    Ok([
        Files::create("-outfile-pattern", out, &hosts, again)?,
        Files::create("-errfile-pattern", err, &hosts, again)?,
    ])
}

/// The first message to every agent.
fn job(plan: &Plan, job_dir: Option<&JobDir>) -> anyhow::Result<Job> {
    let size = plan.placement.len();
    let stack = StackLimit::current().context("the limit on the stack")?;
    let earlier = plan.continued.as_ref().map(|earlier| &earlier.saved);
    // Everything that an image may depend on is as it was at the first start.
    let node_of = earlier.map_or_else(|| plan.placement.clone(), |saved| saved.node_of.clone());
    let local_rank_of =
        earlier.map_or_else(|| numbers_on_hosts(plan), |saved| saved.local_rank_of.clone());
    let stack_limit = earlier.map_or((stack.soft, stack.hard), |saved| saved.stack_limit);
    Ok(Job {
        view: JobView {
            size: size as u32,
            worlds: vec![World::first(size as u32)],
            gone: Vec::new(),
            past: ftmpi_wire::ImageNo(0),
            universe: plan.universe,
            job: number_of_job(plan),
            host_of: plan.placement.clone(),
            node_of,
            hosts: plan.machines.iter().map(|machine| machine.name.clone()).collect(),
            incarnations: vec![Incarnation(0); size],
            app_number: 0,
            goes_on: plan.recovery.ignores(),
            news: Vec::new(),
            protocol: plan.protocol.clone(),
            traits: plan.traits,
            processors: 0,
            local_ranks: 0,
            oversubscribed: false,
            retained: Vec::new(),
            inject: Vec::new(),
            force_tcp: plan.force_tcp,
            images: plan.ckpt_interval.is_some(),
            log_limit: plan.log_limit,
            log_reserve: plan.log_reserve,
            lean_images: plan.lean_images,
            files: number_for_files(plan),
            epoch: std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs()),
        },
        programs: plan.programs.clone(),
        program_of: plan.program_of.clone(),
        local_rank_of,
        commitment: plan.commitment,
        incremental: plan.incremental,
        compress: plan.compress,
        image_space: plan.image_space,
        local_images: plan.local_dir.as_ref().map(|dir| dir.join(private_name())),
        directory: job_dir.map(|job_dir| job_dir.path().to_owned()),
        one_machine: !plan.machines.iter().any(|machine| plan.is_remote(&machine.name)),
        binding: plan.binding.clone(),
        memory: plan.memory.clone(),
        cpu_baseline: earlier.and_then(|saved| saved.cpu_baseline),
        health: plan.health.clone(),
        traced: plan.trace.is_some(),
        trace_messages: plan.trace_messages,
        stack_limit,
    })
}

/// Number of each rank on its host.
fn numbers_on_hosts(plan: &Plan) -> Vec<u32> {
    let mut on_host = vec![0u32; plan.machines.len()];
    let number = |host: &u32| {
        let next = &mut on_host[*host as usize];
        *next += 1;
        *next - 1
    };
    plan.placement.iter().map(number).collect()
}

/// Tells this job's journals of files from those of other jobs, in all its runs. 0 where files do
/// not return with the ranks.
fn number_for_files(plan: &Plan) -> u64 {
    if !plan.traits.all_return() {
        return 0;
    }
    number_of_job(plan)
}

/// A number that no other job has.
fn number_of_job(plan: &Plan) -> u64 {
    let digits = plan.job_id.get(..16).unwrap_or("1");
    u64::from_str_radix(digits, 16).unwrap_or(1).max(1)
}

/// A name that no other job has.
fn private_name() -> String {
    let now = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos());
    format!("ftmpi-images-{}-{now:x}", std::process::id())
}
