//! What the launcher stores for a later launcher: the plan and the progress of the job.
//!
//! Guarantees: the plan of a continued job stays as it was until a rank of this run starts, because
//! this run may be a mistake. A change that is stored late costs at most what a later launcher
//! would find out again. So a thread stores such changes: the launcher goes on, and hears its
//! agents, while the file server of the job's directory does not answer.

use crate::agent_protocol::{ActualCommand, ProcessId};
use crate::cpu_baseline::CpuBaseline;
use crate::job_dir::plan_file::Saved;
use crate::job_dir::progress::Progress;
use crate::job_dir::{JobDir, JobDirError};
use crate::machine::Machine;
use crate::restore_facts::RestoreFacts;
use crate::tuning::RETURNING_FILES_MAX;
use ftmpi_wire::new_processes::World;
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::collections::HashSet;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Plan and progress of the job; without fault tolerance there is no directory and no progress.
#[derive(Debug)]
pub struct JobStore {
    directory: Option<JobDir>,
    saved: Saved,
    plan_changed: bool,
    /// A thread stores the plan as it was a moment ago.
    storing: Storing,
    /// Files in [`Saved::files`].
    files: HashSet<String>,
    /// There are new files. They are stored once a second: a program may make very many.
    files_changed: bool,
    /// The first wave that was committed in this run.
    first_wave: Option<ImageNo>,
    progress: Option<Progress>,
}

impl JobStore {
    /// Continues from what is stored.
    pub fn new(directory: Option<JobDir>, saved: Saved, progress: Option<Progress>) -> Self {
        let files = saved.files.iter().cloned().collect();
        Self {
            directory,
            saved,
            plan_changed: false,
            storing: Storing::default(),
            files,
            files_changed: false,
            first_wave: None,
            progress,
        }
    }

    /// The plan.
    pub fn saved(&self) -> &Saved {
        &self.saved
    }

    /// The progress, if it is kept.
    pub fn progress(&mut self) -> Option<&mut Progress> {
        self.progress.as_mut()
    }

    /// The job's directory, if it has one.
    pub fn directory(&self) -> Option<&JobDir> {
        self.directory.as_ref()
    }

    /// Takes the job's directory out, for the end of the job.
    pub fn take_directory(&mut self) -> Option<JobDir> {
        if self.storing.is_begun() {
            // What has changed since would be stored next.
            let _ = self.save_changes();
        }
        self.directory.take()
    }

    /// The job's directory, if it is ours to remove.
    pub fn temporary(&self) -> Option<PathBuf> {
        self.directory.as_ref().and_then(JobDir::temporary)
    }

    /// Stores the plan.
    ///
    /// # Errors
    /// The plan cannot be stored.
    pub fn save(&mut self) -> anyhow::Result<()> {
        // An older plan must not come after this one.
        let before = self.storing.wait();
        match &self.directory {
            Some(directory) => Ok(directory.save(&self.saved)?),
            None => Ok(before?),
        }
    }

    /// Stores the plan, if it has changed since it was stored last.
    ///
    /// # Errors
    /// The plan cannot be stored.
    pub fn save_changes(&mut self) -> anyhow::Result<()> {
        match std::mem::take(&mut self.plan_changed) {
            true => self.save(),
            false => Ok(self.storing.wait()?),
        }
    }

    /// Has a thread store the plan, if it has changed since it was stored last. The thread of an
    /// earlier call may still be at work: then the next call tries again.
    ///
    /// # Errors
    /// What an earlier call has begun could not be stored.
    pub fn save_soon(&mut self) -> anyhow::Result<()> {
        if self.storing.is_at_work() {
            return Ok(());
        }
        let before = self.storing.wait();
        if std::mem::take(&mut self.plan_changed)
            && let Some(directory) = &self.directory
        {
            let (path, saved) = (directory.path().to_owned(), self.saved.clone());
            self.plan_changed = !self.storing.begin(move || JobDir::save_in(&path, &saved));
        }
        Ok(before?)
    }

    /// Has new files stored with the next changes.
    pub fn every_second(&mut self) {
        self.plan_changed |= std::mem::take(&mut self.files_changed);
    }

    /// The file of the progress, if it has changed: a task with time syncs it.
    pub fn take_unsynced(&mut self) -> Option<Arc<File>> {
        self.progress.as_mut().and_then(Progress::take_unsynced)
    }

    /// Syncs the progress.
    pub fn sync(&mut self) {
        if let Some(file) = self.take_unsynced() {
            let _ = file.sync_data();
        }
    }

    /// Stores whether the job is oversubscribed. `false`: that could not be stored.
    pub fn store_oversubscribed(&mut self) -> anyhow::Result<()> {
        self.saved.oversubscribed = true;
        let stored = self.save();
        self.saved.oversubscribed = stored.is_ok();
        stored
    }

    /// A rank begins again on this host, and its program hears that.
    pub fn set_node(&mut self, rank: Rank, host: u32) {
        // Processes that joined the job have none.
        if let Some(node) = self.saved.node_of.get_mut(rank.index()) {
            self.plan_changed |= std::mem::replace(node, host) != host;
        }
    }

    /// Processes join the job.
    pub fn world_begins(&mut self, world: World) {
        self.saved.worlds.push(world);
        self.plan_changed = true;
    }

    /// A rank opens a port or publishes a name.
    pub fn has_ports(&mut self) {
        self.plan_changed |= !std::mem::replace(&mut self.saved.had_ports, true);
    }

    /// Whether [`Self::has_ports`] was called.
    pub fn had_ports(&self) -> bool {
        self.saved.had_ports
    }

    /// A host is to join the job.
    pub fn add_machine(&mut self, machine: Machine) {
        self.saved.machines.push(machine);
        self.plan_changed = true;
    }

    /// What the machine is, now that it has come.
    pub fn machine_joined(&mut self, host: usize, machine: &Machine) {
        if let Some(saved) = self.saved.machines.get_mut(host) {
            self.plan_changed |= *saved != *machine;
            saved.clone_from(machine);
        }
    }

    /// Ranks share memory: those of a host must stay together.
    pub fn set_shares_memory(&mut self) {
        self.plan_changed |= !std::mem::replace(&mut self.saved.shares_memory, true);
    }

    /// How a rank was executed, if not as the command line says.
    pub fn actual_command(&self, rank: Rank) -> Option<&ActualCommand> {
        self.saved.actual_commands.iter().find(|(known, _)| *known == rank).map(|(_, how)| how)
    }

    /// A rank was executed in another way than the command line says.
    pub fn set_actual_command(&mut self, rank: Rank, command: ActualCommand) {
        self.saved.actual_commands.retain(|(other, _)| *other != rank);
        self.saved.actual_commands.push((rank, command));
        self.plan_changed = true;
    }

    /// The ranks count on these instructions.
    pub fn set_cpu_baseline(&mut self, baseline: CpuBaseline) {
        self.saved.cpu_baseline = Some(baseline);
        self.plan_changed = true;
    }

    /// The newest image of a rank was taken on a host with these facts.
    pub fn set_image_facts(&mut self, rank: Rank, facts: &RestoreFacts) {
        self.plan_changed |= self.saved.image_facts.set(rank, facts);
    }

    /// Files that return to a wave with the ranks.
    pub fn returning_files(&self) -> &[String] {
        &self.saved.files
    }

    /// A file returns with the ranks from now on.
    pub fn add_returning_file(&mut self, path: String) {
        if self.files.len() < RETURNING_FILES_MAX && self.files.insert(path.clone()) {
            self.saved.files.push(path);
            self.files_changed = true;
        }
    }

    /// A file does not return with the ranks.
    pub fn remove_returning_file(&mut self, path: &str) {
        if self.files.remove(path) {
            self.saved.files.retain(|file| file != path);
            self.files_changed = true;
        }
    }

    /// An image of a wave was committed, and `oldest` is the oldest that is offered: files need not
    /// return to waves before it.
    pub fn wave_committed(&mut self, image: ImageNo, oldest: ImageNo) {
        // With one wave alone ranks may still return to the start.
        let alone = *self.first_wave.get_or_insert(image) == oldest && image == oldest;
        if !alone && oldest > self.saved.files_since {
            self.saved.files_since = oldest;
            self.files_changed = true;
        }
    }

    /// A rank has a new incarnation.
    pub fn set_incarnation(&mut self, rank: Rank, incarnation: Incarnation) {
        if let Some(progress) = &mut self.progress {
            progress.set_incarnation(rank, incarnation);
        }
    }

    /// The process of a rank runs on this host.
    pub fn set_process(&mut self, rank: Rank, host: u32, process: ProcessId) {
        if let Some(progress) = &mut self.progress {
            progress.set_process(rank, host, process);
        }
    }

    /// A stream of a rank was printed up to this position.
    pub fn printed(&mut self, rank: Rank, stream: u8, upto: u64) {
        if let Some(progress) = &mut self.progress {
            progress.printed(rank, stream, upto);
        }
    }

    /// Standard input is at its end.
    pub fn input_has_ended(&mut self) {
        if let Some(progress) = &mut self.progress {
            progress.input_has_ended();
        }
    }

    /// The job has ended with this exit code and cannot be continued, and that is on the disk.
    pub fn has_ended(&mut self, code: i32) {
        if let Some(progress) = &mut self.progress {
            progress.has_ended(code);
        }
        self.sync();
    }
}

/// The thread that stores a plan.
#[derive(Debug, Default)]
struct Storing(Option<JoinHandle<Result<(), JobDirError>>>);

impl Storing {
    /// Begins to store. `false`: there is no thread for that now.
    fn begin(&mut self, store: impl FnOnce() -> Result<(), JobDirError> + Send + 'static) -> bool {
        self.0 = std::thread::Builder::new().name("plan".into()).spawn(store).ok();
        self.0.is_some()
    }

    /// Whether something is being stored, or was and nobody has asked for the result.
    fn is_begun(&self) -> bool {
        self.0.is_some()
    }

    fn is_at_work(&self) -> bool {
        self.0.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Waits until it is stored.
    fn wait(&mut self) -> Result<(), JobDirError> {
        let Some(thread) = self.0.take() else { return Ok(()) };
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_plan_that_is_stored_slowly_holds_nobody_back_and_is_awaited_by_the_next() {
        let (go, gate) = mpsc::channel::<()>();
        let mut storing = Storing::default();
        assert!(!storing.is_begun() && storing.wait().is_ok());
        let path = PathBuf::from("/job");
        let error = JobDirError::PlanNotStored(path, "no room".to_owned());
        assert!(storing.begin(move || {
            // A file server that does not answer.
            let _ = gate.recv();
            Err(error)
        }));
        assert!(storing.is_at_work() && storing.is_begun());
        go.send(()).unwrap();
        assert!(storing.wait().unwrap_err().to_string().contains("no room"));
        assert!(!storing.is_begun());
    }
}
