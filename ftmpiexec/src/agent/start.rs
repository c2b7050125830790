//! How an incarnation begins: its image is fetched if it may have one, then its process is started
//! by the [`starter`](super::starter), and is followed from then on.

use super::control::Control;
use super::directory::RankKey;
use super::events::AgentEvent;
use super::from_caller::Given;
use super::image_results::{Restore, Stream};
use super::incremental_chains::IncrementalChains;
use super::kept_programs::SharedPrograms;
use super::output::{self, OutputPipe};
use super::output_hold::OutputHold;
use super::page::Page;
use super::rank_link::{read_rank, watch_exit, write_rank};
use super::rank_process::{InputFeed, Parts, RankProcess, Started};
use super::ranks::StartWish;
use super::restore;
use super::spawn::{self, Bound, Descriptors, SpawnError, Spawned};
use super::starter::Starter;
use super::watched::watched;
use super::{Agent, processes};
use crate::agent_protocol::{Job, ProcessId, Report, Start};
use ftmpi_protocols::dispatcher::ImageFacts;
use ftmpi_protocols::registry;
use ftmpi_wire::call_trace;
use ftmpi_wire::status::word;
use ftmpi_wire::{ImageNo, Incarnation, ProtocolTraits, Rank};
use rustix::thread::CpuSet;
use std::os::fd::OwnedFd;
use std::process::Child;
use std::sync::{Arc, OnceLock};
use tokio::io::unix::AsyncFd;
use tokio::sync::{mpsc, oneshot};

impl Agent {
    /// Begins an incarnation.
    pub(super) fn start(&mut self, start: Start) {
        let (rank, incarnation) = (start.rank, start.incarnation);
        if let Some(old) = self.ranks.remove(rank) {
            // The launcher knows that the old process is dead, or would not start another one. Make
            // sure.
            let (key, ended) = ((old.rank, old.incarnation), old.has_ended());
            self.bury(old);
            if !ended {
                self.note_death(key, true);
            }
        }
        self.ranks.cancel_fetch(rank);
        self.ranks.cancel_start(rank);
        let standby = self.standbys.take(&start);
        let checked = self.ranks.demands_checked(rank, incarnation);
        let files = self.files(&start);
        if incarnation == Incarnation(0) {
            return self.spawn(start, None);
        }
        if self.directory.borrow().checkpoint_servers.is_empty() {
            if start.files.is_empty() {
                return self.spawn(start, None);
            }
            self.ranks.fetch_began(rank, incarnation);
            tokio::spawn(restore::begin_without_images(start, files, self.events.clone()));
            return;
        }
        let source = restore::Source {
            kept_output: self.output.kept(rank, start.printed),
            checked,
            ..self.source_of_images()
        };
        if let Some(standby) = standby.filter(|_| !checked) {
            self.standbys.goes_on(rank, standby);
            self.ranks.fetch_began(rank, incarnation);
            let declared = restore::standby::begin(start, source, files, self.events.clone());
            tokio::spawn(declared);
            return;
        }
        let local = self.images.local.clone().filter(|_| !checked);
        self.ranks.fetch_began(rank, incarnation);
        tokio::spawn(restore::fetch(start, source, local, files, self.events.clone()));
    }

    /// Where images come from; nothing was written yet.
    pub(super) fn source_of_images(&self) -> restore::Source {
        restore::Source {
            kept_output: [0; 2],
            key: self.key.clone(),
            secret: self.images.secret.clone(),
            directory: self.directory.subscribe(),
            traits: self.job.as_ref().map_or(ProtocolTraits::NONE, |job| job.view.traits),
            checked: false,
            turns: self.images.restore_turns.clone(),
        }
    }

    /// The search for an image has ended: starts the process, unless the incarnation is void.
    pub(super) fn restore_ready(&mut self, restore: Restore) {
        let (rank, incarnation) = (restore.start.rank, restore.start.incarnation);
        if !self.directory.borrow().is_current((rank, incarnation))
            || !self.ranks.fetch_ended((rank, incarnation))
        {
            return;
        }
        for (image, why) in restore.unusable {
            self.link.report(rank, incarnation, Report::ImageUnusable { image, why });
        }
        match restore.outcome {
            Ok(stream) => self.spawn(restore.start, stream),
            Err(e) => {
                let report = Report::CannotStart { code: 1, why: e.to_string() };
                self.link.report(rank, incarnation, report);
            }
        }
    }

    /// Has the process of an incarnation started.
    fn spawn(&mut self, start: Start, image: Option<Stream>) {
        let key = (start.rank, start.incarnation);
        let image_no = image.as_ref().map(|image| image.facts.image);
        match self.prepare(start, image, None) {
            Ok(order) => {
                self.ranks.start_began(key);
                self.starter.order(order);
            }
            Err(error) => self.cannot_start(key, image_no, &error),
        }
    }

    /// A process was started, or could not be.
    pub(super) fn process_started(&mut self, outcome: StartOutcome) {
        self.starter.outcome_taken();
        let StartOutcome { prepared, started } = outcome;
        if let Some(serial) = prepared.standby {
            return self.standby_started(serial, prepared, started);
        }
        let key = (prepared.start.rank, prepared.start.incarnation);
        let image = prepared.facts.map(|facts| facts.image);
        let wanted = self.ranks.start_ended(key);
        let is_current = self.directory.borrow().is_current(key);
        match (started, wanted) {
            (Ok((child, _)), wanted) if wanted.is_none() || !is_current => {
                // Another incarnation has taken its place. The process is reaped as an orphan.
                processes::signal_group(child.id(), libc::SIGKILL);
            }
            (Ok(started), wanted) => match self.follow_process(prepared, started) {
                Ok(process) => {
                    self.runs(process);
                    if let Some(StartWish::Kill(signal)) = wanted {
                        self.kill(key.0, signal);
                    }
                }
                Err(error) => self.cannot_start(key, image, &error),
            },
            (Err(error), Some(_)) if is_current => self.cannot_start(key, image, &error),
            (Err(_), _) => {}
        }
    }

    /// The process of an incarnation runs.
    pub(super) fn runs(&mut self, process: RankProcess) {
        let (rank, incarnation) = (process.rank, process.incarnation);
        let consumed = process.page.get(word::STDIN_FED);
        let report = Report::Spawned { process: process.id(), consumed };
        self.memory_kills.watch(process.id().pid);
        self.ranks.insert(process);
        self.link.report(rank, incarnation, report);
    }

    pub(super) fn cannot_start(&self, key: RankKey, image: Option<ImageNo>, error: &SpawnError) {
        let code = error.exit_code();
        let mut why = error.to_string();
        if let Some(image) = image {
            why = format!("{why} (to continue image {image})");
        }
        self.link.report(key.0, key.1, Report::CannotStart { code, why });
    }

    /// Everything that a process needs before it is started; `standby`: the number of the standby
    /// that it is.
    pub(super) fn prepare(
        &mut self,
        start: Start,
        image: Option<Stream>,
        standby: Option<u64>,
    ) -> Result<StartOrder, SpawnError> {
        let system = |e: std::io::Error| SpawnError::System("the process of a rank".into(), e);
        let (control, control_end) = Control::pair().map_err(system)?;
        let traced = self.job.as_ref().is_some_and(|job| job.traced);
        let (page, status) = Page::create(traced).map_err(system)?;
        if self.job.as_ref().is_some_and(|job| job.trace_messages) {
            page.set(word::TRACE, call_trace::CALLS | call_trace::MESSAGES);
        }
        let (image, facts) = image.map_or((None, None), |s| (Some(s.pipe), Some(s.facts)));
        if let Some(facts) = facts {
            page.set(word::STDOUT_READ, facts.written[0]);
            page.set(word::STDERR_READ, facts.written[1]);
            page.set(word::STDIN_FED, facts.consumed);
        }
        let first = start.incarnation == Incarnation(0);
        let from_caller = self.from_caller.for_process(first);
        if !first && standby.is_none() {
            self.tell_withheld();
        }
        let descriptors = Descriptors {
            control: control_end,
            status,
            image,
            from_caller,
            fed: start.fed,
            standby: standby.is_some(),
        };
        let job = self.job.clone().expect("the launcher sends the job first");
        // A standby learns of both when it takes the place of its rank.
        let (cpus, died) = match standby {
            Some(_) => (None, 0),
            None => (self.cpus_of(start.rank), self.died_before((start.rank, start.incarnation))),
        };
        let prepared = Box::new(Prepared { start, control, page, facts, standby });
        let programs = self.kept_programs.clone();
        let bound = Bound { cpus, memory: self.hardware.memory_policy };
        Ok(StartOrder { job, programs, descriptors, died, bound, prepared })
    }

    /// Tells the user which descriptors of the caller ranks that begin again do not get.
    pub(super) fn tell_withheld(&mut self) {
        if let Some(notice) = self.from_caller.withheld() {
            self.link.notice(notice);
        }
    }

    /// Which processors a rank may use, if not all.
    pub(super) fn cpus_of(&mut self, rank: Rank) -> Option<CpuSet> {
        let (job, cpus) = (self.job.as_ref()?, self.hardware.cpus.as_mut()?);
        let number = if job.one_machine { rank.0 } else { job.local_rank_of[rank.index()] };
        cpus.assign(rank, number as usize, |other| self.ranks.is_here(other))
    }

    /// When the rank died whose incarnation is to begin (`RankEnv::died`).
    pub(super) fn died_before(&self, key: RankKey) -> u64 {
        let Some(job) = &self.job else { return 0 };
        let clusters = registry::clusters(&job.view.protocol, job.view.incarnations.len());
        self.ranks.died_before(key, |other| {
            // Nobody repeats what was written after the last rank of the cluster had died.
            clusters.as_ref().is_some_and(|all| {
                let [one, other] = [key.0, other].map(|rank| all.get(rank.index()));
                one.is_some() && one == other
            })
        })
    }

    /// Follows a process that was just started: its control socket, its output, its end.
    pub(super) fn follow_process(
        &mut self,
        prepared: Box<Prepared>,
        (mut child, spawned): (Child, Spawned),
    ) -> Result<RankProcess, SpawnError> {
        let system = |e: std::io::Error| SpawnError::System("the process of a rank".into(), e);
        let Prepared { start, control, page, facts, .. } = *prepared;
        let key = (start.rank, start.incarnation);
        for path in &spawned.replaced {
            self.tell_replaced(path);
        }
        let page = Arc::new(page);
        let pid = child.id();
        let id = ProcessId { pid, started: processes::started_at(pid).unwrap_or(0) };
        let input = child.stdin.take().and_then(|pipe| self.feed_input(pipe.into(), &page, &start));
        let hold = self.continue_output(&start, facts);
        let exit_senders = self.follow_output(&mut child, &start, &page, hold.as_ref())?;

        let wake = Arc::new(OnceLock::new());
        let (outbox, queue) = mpsc::unbounded_channel();
        let control = Arc::new(control);
        tokio::spawn(read_rank(control.clone(), key, pid, self.events.clone()));
        let wakes = (wake.clone(), page.clone());
        tokio::spawn(write_rank(control, queue, wakes, (key, pid), self.events.clone()));
        let exited = AgentEvent::Exited { rank: key.0, incarnation: key.1 };
        watch_exit(pid, exited, self.events.clone()).map_err(system)?;
        let incremental = self.job.as_ref().is_some_and(|job| job.incremental);
        Ok(RankProcess::new(Parts {
            start,
            started: Started { child, id, spawned },
            page,
            input,
            hold,
            chains: IncrementalChains::new(!incremental),
            outbox,
            wake,
            resumed_from: facts.map(|facts| facts.image),
            exit_senders,
        }))
    }

    /// Begins to feed standard input; `None` if the pipe cannot be used.
    fn feed_input(&self, pipe: OwnedFd, page: &Arc<Page>, start: &Start) -> Option<InputFeed> {
        rustix::io::ioctl_fionbio(&pipe, true).ok()?;
        let (send, receive) = mpsc::unbounded_channel();
        let key = (start.rank, start.incarnation);
        tokio::spawn(output::feed(pipe, page.clone(), receive, key, self.events.clone()));
        Some(InputFeed { next: page.get(word::STDIN_FED), pipe: send })
    }

    /// Joins the output of this incarnation to that of earlier ones, and tells the user what is
    /// lost. The result holds the new text, if text is held.
    fn continue_output(
        &mut self,
        start: &Start,
        image: Option<ImageFacts>,
    ) -> Option<Arc<OutputHold>> {
        let rank = start.rank;
        let written = image.map(|image| image.written);
        self.output.continue_from(rank, written);
        let forwarded = self.output.forwarded(rank);
        forwarded.advance_both(start.printed);
        let lost = written.map_or(0, |written| restore::lost_bytes(written, forwarded.both()));
        if lost > 0 {
            self.link.notice(format!(
                "rank {rank}: up to {} of its output were not printed and are lost",
                crate::text::count(lost, "byte")
            ));
        }
        let commitment = self.job.as_ref().and_then(|job| job.commitment);
        commitment.map(|_| {
            let (link, window) = (self.link.clone(), self.output.window.clone());
            Arc::new(OutputHold::new(rank, forwarded, link, window))
        })
    }

    /// Begins to read output and error; the result tells the readers of the process's end.
    fn follow_output(
        &mut self,
        child: &mut Child,
        start: &Start,
        page: &Arc<Page>,
        hold: Option<&Arc<OutputHold>>,
    ) -> Result<Vec<oneshot::Sender<()>>, SpawnError> {
        let system = |e: std::io::Error| SpawnError::System("the process of a rank".into(), e);
        let pipes =
            [child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from)];
        let forwarded = self.output.forwarded(start.rank);
        let mut exit_senders = Vec::new();
        for (stream, pipe) in pipes.into_iter().flatten().enumerate() {
            exit_senders.push(self.follow(OutputPipe {
                pipe: nonblocking(pipe).map_err(system)?,
                stream: stream as u8,
                rank: start.rank,
                incarnation: start.incarnation,
                page: page.clone(),
                forwarded: forwarded.clone(),
                hold: hold.cloned(),
                events: self.events.clone(),
            }));
        }
        Ok(exit_senders)
    }

    fn follow(&self, reader: OutputPipe) -> oneshot::Sender<()> {
        let (rank, incarnation) = (reader.rank, reader.incarnation);
        let (exit_sender, exit) = oneshot::channel();
        let (drain_sender, drained) = oneshot::channel();
        let window = self.output.window.clone();
        tokio::spawn(reader.forward(self.link.clone(), window, exit, drain_sender));
        let events = self.events.clone();
        tokio::spawn(async move {
            // The sender is dropped at the end of the pipe: that counts as drained.
            let _ = drained.await;
            let _ = events.send(AgentEvent::Drained { rank, incarnation });
        });
        exit_sender
    }
}

/// What the agent keeps of a process while the process is being started.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) start: Start,
    control: Control,
    pub(super) page: Page,
    /// The image that the process continues.
    facts: Option<ImageFacts>,
    /// The number of the standby that the process is.
    standby: Option<u64>,
}

/// A process that is to be started.
#[derive(Debug)]
pub(super) struct StartOrder {
    job: Arc<Job>,
    programs: SharedPrograms,
    descriptors: Descriptors,
    died: u64,
    bound: Bound,
    prepared: Box<Prepared>,
}

/// What came of a [`StartOrder`].
#[derive(Debug)]
pub(super) struct StartOutcome {
    prepared: Box<Prepared>,
    started: Result<(Child, Spawned), SpawnError>,
}

/// Begins the thread that starts processes, and sends what came of each order.
pub(super) fn begin_starter(
    events: mpsc::UnboundedSender<AgentEvent>,
) -> std::io::Result<Starter<StartOrder>> {
    Starter::begin(move |order: StartOrder| {
        let StartOrder { job, programs, mut descriptors, died, bound, prepared } = order;
        descriptors.from_caller.retain_mut(Given::open);
        mark_given(&prepared.page, &descriptors.from_caller);
        let started = spawn::spawn(&job, &prepared.start, &descriptors, died, bound, &programs);
        drop(descriptors);
        let outcome = Box::new(StartOutcome { prepared, started });
        if let Err(unsent) = events.send(AgentEvent::ProcessStarted(outcome))
            && let AgentEvent::ProcessStarted(outcome) = unsent.0
            && let Ok((child, _)) = outcome.started
        {
            // The agent has ended meanwhile.
            processes::signal_group(child.id(), libc::SIGKILL);
        }
    })
}

/// Tells the boot library of the new process which descriptors it is given.
fn mark_given(page: &Page, given: &[Given]) {
    for number in given.iter().filter_map(|given| usize::try_from(given.to).ok()) {
        let word = word::FROM_CALLER + number / 64;
        page.set(word, page.get(word) | 1 << (number % 64));
    }
}

fn nonblocking(pipe: OwnedFd) -> std::io::Result<AsyncFd<OwnedFd>> {
    rustix::io::ioctl_fionbio(&pipe, true)?;
    watched(pipe)
}
