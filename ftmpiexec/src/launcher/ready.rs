//! All of a run that can fail before anything is started.

use super::agents::{self, AgentState};
use super::begin::{job, output_files};
use super::input::StandardInput;
use super::servers::Servers;
use super::{Event, control, crowd};
use crate::cli::Plan;
use crate::job_dir::JobDir;
use crate::job_dir::plan_file::Saved;
use crate::job_dir::progress::Progress;
use crate::orders::Job;
use crate::output::Printer;
use ftmpi_transport::auth::JobKey;
use tokio::sync::mpsc;

/// What a launcher begins with.
pub(super) struct Ready {
    pub image_key: Option<JobKey>,
    pub job: Job,
    pub servers: Servers,
    pub saved: Saved,
    /// Whether a host has more ranks than processors, if that is known.
    pub crowded: Option<bool>,
    pub progress: Option<Progress>,
    pub agents: Vec<AgentState>,
    pub printed: Vec<[u64; 2]>,
    pub input: StandardInput,
}

impl Ready {
    /// The directory is ours. A new job's plan is in it afterwards; that of a continued one is as it was.
    ///
    /// # Errors
    /// Whatever is in the way of this run.
    pub fn of(
        plan: &Plan,
        job_dir: Option<&JobDir>,
        printer: &Printer,
        events: &mpsc::UnboundedSender<Event>,
    ) -> anyhow::Result<Self> {
        let image_key = match (job_dir, &plan.encrypt_images) {
            (Some(directory), Some(file)) => Some(directory.image_key(file.as_deref())?),
            _ => None,
        };
        let size = plan.placement.len();
        let job = job(plan)?;
        let servers = Servers::new(plan, job_dir, plan.is_anything_remote())?;
        let mut saved = match &plan.continued {
            Some(past) => past.saved.clone(),
            None => Saved::new(plan, job.local_rank_of.clone(), job.stack_limit),
        };
        saved.servers = servers.describe();
        let crowded = crowd::known_at_once(plan);
        saved.crowded = crowded.unwrap_or(false);
        let progress = job_dir.map(|directory| directory.progress(size)).transpose()?;
        let mut agents: Vec<AgentState> =
            plan.machines.iter().map(|_| AgentState::default()).collect();
        if let (Some(past), Some(progress)) = (&plan.continued, &progress) {
            agents::give_leftovers(&mut agents, plan, &past.saved.machines, progress.ranks());
        }
        saved.machines.clone_from(&plan.machines);
        saved.runs += u32::from(plan.continued.is_some());
        let known = progress.as_ref().filter(|_| plan.continued.is_some());
        let printed = known.map_or_else(
            || vec![[0; 2]; size],
            |progress| progress.ranks().iter().map(|rank| rank.printed).collect(),
        );
        let input_ended = known.map(Progress::input_ended);
        let input = StandardInput::new(job_dir, input_ended, events.clone())?;
        if let Some(address) = plan.metrics {
            control::tell_metrics(address, printer, events)?;
        }
        if let Some(directory) = job_dir.filter(|_| plan.continued.is_none()) {
            directory.save(&saved)?;
        }
        // Last: files that are there begin anew.
        printer.write_into(output_files(plan)?);
        Ok(Self { image_key, job, servers, saved, crowded, progress, agents, printed, input })
    }
}
