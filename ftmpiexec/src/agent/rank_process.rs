//! One life of one rank: from the process's start to its last byte of output.

use super::checkpoint::TakingImage;
use super::control::{Control, Datagram};
use super::incremental_chains::IncrementalChains;
use super::output::{self, OutputPipe};
use super::output_hold::OutputHold;
use super::page::Page;
use super::restore::{self, Restore};
use super::signal::WakeSignal;
use super::spawn::{self, Descriptors, SpawnError};
use super::watched::{watched, watched_for_reading};
use super::{Agent, AgentEvent, actual_command, processes};
use crate::agent_protocol::{ActualCommand, Commitment, FromAgent, How, ProcessId, Report, Start};
use ftmpi_checkpoint::boot_abi;
use ftmpi_wire::control::{self, ToRank};
use ftmpi_wire::status::word;
use ftmpi_wire::{ImageNo, Incarnation, ProtocolTraits, Rank};
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Child;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::io::unix::AsyncFd;
use tokio::sync::{mpsc, oneshot};

/// Between two requests to make text final.
const SETTLE_PAUSE: Duration = Duration::from_millis(20);
/// How long a rank may take to do so before it is woken again.
const SETTLE_PATIENCE: Duration = Duration::from_millis(250);
/// How long a process may live on after it closed its control socket unasked.
const CONTROL_GRACE: Duration = Duration::from_millis(500);
/// Closed sockets of processes that have nothing more to say about MPI are no failure.
const SIGNAL_CODE_BASE: i32 = 128;

/// A datagram on its way to a rank.
#[derive(Debug)]
pub struct Outgoing {
    bytes: Vec<u8>,
    descriptors: Vec<OwnedFd>,
    /// Wake the rank if it computes.
    wake: bool,
}

/// Standard input on its way to a process.
#[derive(Debug)]
pub struct Feed {
    /// Where the next byte for it is in all of the input.
    next: u64,
    pipe: mpsc::UnboundedSender<Vec<u8>>,
}

impl Feed {
    /// Takes what comes next. Anything else was meant for an earlier process of the same life, whose image was of
    /// no use, or is there already.
    pub fn take(&mut self, offset: u64, bytes: Vec<u8>) {
        if offset == self.next {
            self.next += bytes.len() as u64;
            let _ = self.pipe.send(bytes);
        }
    }
}

/// One life.
#[derive(Debug)]
pub struct RankProcess {
    pub rank: Rank,
    pub incarnation: Incarnation,
    pub page: Arc<Page>,
    /// The rank's doorbell; there once it said hello.
    pub doorbell: Option<OwnedFd>,
    pub input: Option<Feed>,
    pub image: Option<TakingImage>,
    pub start: Start,
    /// Text that is not final yet, if such text is held.
    pub hold: Option<Arc<OutputHold>>,
    /// The places of its output up to which it was asked to make everything final.
    settling: Option<[u64; 2]>,
    /// What had been written when its images were taken that are stored and not yet committed.
    pub written_of: Vec<(ImageNo, [u64; 2])>,
    /// What its next images may rest on.
    pub chains: IncrementalChains,
    outbox: mpsc::UnboundedSender<Outgoing>,
    wake: Arc<OnceLock<WakeSignal>>,
    child: Option<Child>,
    id: ProcessId,
    /// The file that was started.
    file: PathBuf,
    rank_pid: Option<u32>,
    resumed_from: Option<ImageNo>,
    exiting: bool,
    released: bool,
    /// It was to be killed.
    killed: bool,
    control_lost: bool,
    /// Its control connection does not do its work, though the rank has not closed it.
    broken: bool,
    exited: Vec<oneshot::Sender<()>>,
    undrained: u32,
    ending: Option<(How, Instant)>,
}

impl RankProcess {
    /// Whether the rank has said hello and lives.
    pub fn is_talking(&self) -> bool {
        self.rank_pid.is_some() && !self.is_over()
    }

    /// Whether its process has ended.
    pub fn is_over(&self) -> bool {
        self.ending.is_some()
    }

    /// Whether this process belongs to it and is not reaped yet.
    pub fn owns(&self, pid: u32) -> bool {
        self.child.is_some() && self.id.pid == pid
    }

    /// Its process, once it said hello.
    pub fn pid(&self) -> Option<u32> {
        self.rank_pid
    }

    /// Puts a message on its way.
    pub fn send(&self, message: &ToRank, descriptors: Vec<OwnedFd>, wake: bool) {
        let bytes = control::encode(message);
        let _ = self.outbox.send(Outgoing { bytes, descriptors, wake });
    }

    /// It said hello as this process.
    pub fn set_hello(&mut self, pid: u32, doorbell: OwnedFd) {
        self.rank_pid = Some(pid);
        self.doorbell = Some(doorbell);
        if let Some(wake) = WakeSignal::new(pid) {
            let _ = self.wake.set(wake);
        }
    }

    /// How its process was executed, if not as the command line says.
    pub fn actual_command(&self) -> Option<ActualCommand> {
        // A restored process shows the way of its restart; the launcher has the original.
        if self.resumed_from.is_some() {
            return None;
        }
        actual_command::find(self.rank_pid?, self.id.pid, &self.file)
    }

    /// The program's file, for whoever looks at its images.
    pub fn program(&self) -> String {
        self.file.display().to_string()
    }

    /// Whether an MPI program said hello.
    pub fn has_a_process(&self) -> bool {
        self.rank_pid.is_some()
    }

    /// It told that its program ends.
    pub fn is_exiting(&mut self) {
        self.exiting = true;
    }

    /// It was told that all have ended: its end is in order.
    pub fn release(&mut self) {
        self.released = true;
    }
}

impl Agent {
    /// Begins a life: fetches its image if it may have one, then starts the process.
    pub(super) fn start(&mut self, start: Start) {
        if let Some(old) = self.processes.remove(&start.rank) {
            // The launcher knows that it is dead, or would not start another; make sure.
            self.bury(old);
        }
        self.starting.remove(&start.rank);
        let checked = self.checked.get(&start.rank) == Some(&start.incarnation);
        let files = self.files(&start);
        if start.incarnation == Incarnation(0) {
            return self.spawn(start, None);
        }
        if self.directory.borrow().checkpoint_servers.is_empty() {
            if start.files.is_empty() {
                return self.spawn(start, None);
            }
            self.starting.insert(start.rank, start.incarnation);
            tokio::spawn(restore::begin_anew(start, files, self.events.clone()));
            return;
        }
        let local = self.local.clone().filter(|_| !checked);
        let forwarded = self.forwarded.entry(start.rank).or_default();
        let mut told = start.printed;
        for (told, stream) in told.iter_mut().zip(forwarded.iter()) {
            *told = (*told).max(stream.load(Ordering::SeqCst));
        }
        if let Some(hold) = self.dead_holds.get(&start.rank) {
            told = std::array::from_fn(|stream| told[stream].max(hold.ends()[stream]));
        }
        let source = restore::Source {
            told,
            key: self.key.clone(),
            secret: self.secret.clone(),
            directory: self.directory.subscribe(),
            traits: self.job.as_ref().map_or(ProtocolTraits::NONE, |job| job.view.traits),
            checked,
        };
        self.starting.insert(start.rank, start.incarnation);
        tokio::spawn(restore::fetch(start, source, local, files, self.events.clone()));
    }

    pub(super) fn restore_ready(&mut self, restore: Restore) {
        let (rank, incarnation) = (restore.start.rank, restore.start.incarnation);
        if self.directory.borrow().incarnations.get(rank.index()) != Some(&incarnation)
            || self.starting.get(&rank) != Some(&incarnation)
        {
            return;
        }
        self.starting.remove(&rank);
        for (image, why) in restore.unusable {
            self.report(rank, incarnation, Report::ImageUnusable { image, why });
        }
        match restore.outcome {
            Ok(stream) => self.spawn(restore.start, stream),
            Err(why) => self.report(rank, incarnation, Report::CannotStart { code: 1, why }),
        }
    }

    fn spawn(&mut self, start: Start, image: Option<restore::Stream>) {
        let (rank, incarnation) = (start.rank, start.incarnation);
        let image_no = image.as_ref().map(|image| image.facts.image);
        match self.try_spawn(start, image) {
            Ok(process) => {
                let consumed = process.page.get(word::STDIN_FED);
                let id = process.id;
                self.processes.insert(rank, process);
                self.report(rank, incarnation, Report::Spawned { process: id, consumed });
            }
            Err(error) => {
                let code = error.exit_code();
                let mut why = error.to_string();
                if let Some(image) = image_no {
                    why = format!("{why} (to continue image {image})");
                }
                self.report(rank, incarnation, Report::CannotStart { code, why });
            }
        }
    }

    fn try_spawn(
        &mut self,
        start: Start,
        image: Option<restore::Stream>,
    ) -> Result<RankProcess, SpawnError> {
        let system = |e: std::io::Error| SpawnError::System("the process of a rank".into(), e);
        let (rank, incarnation) = (start.rank, start.incarnation);
        let job = self.job.as_ref().expect("the launcher sends the job first");
        let (control, control_end) = Control::pair().map_err(system)?;
        let (page, status) = Page::create().map_err(system)?;
        let (image, facts) = image.map_or((None, None), |s| (Some(s.pipe), Some(s.facts)));
        if let Some(facts) = facts {
            page.set(word::STDOUT_READ, facts.written[0]);
            page.set(word::STDERR_READ, facts.written[1]);
            page.set(word::STDIN_FED, facts.consumed);
        }
        let fed = start.fed;
        let descriptors = Descriptors { control: control_end, status, image, fed };
        let on = self.cpus.as_mut().and_then(|cpus| {
            let number = if job.one_machine { rank.0 } else { job.local_rank_of[rank.index()] };
            let has =
                |other| self.processes.contains_key(&other) || self.starting.contains_key(&other);
            cpus.of(rank, number as usize, has)
        });
        let died = self.deaths.get(&rank).copied().unwrap_or(0);
        let (mut child, file) = spawn::spawn(job, &start, &descriptors, died, on)?;
        drop(descriptors);
        let page = Arc::new(page);
        let pid = child.id();
        let id = ProcessId { pid, started: processes::started_at(pid).unwrap_or(0) };

        let input = child.stdin.take().and_then(|pipe| {
            let pipe = OwnedFd::from(pipe);
            rustix::io::ioctl_fionbio(&pipe, true).ok()?;
            let (send, receive) = mpsc::unbounded_channel();
            let key = (rank, incarnation);
            tokio::spawn(output::feed(pipe, page.clone(), receive, key, self.events.clone()));
            Some(Feed { next: page.get(word::STDIN_FED), pipe: send })
        });
        // The old life's text up to an image that is durable is final. The rest the new one says again, or
        // something better.
        let dead_holds = self.dead_holds.remove(&rank);
        if let (Some(hold), Some(facts)) = (dead_holds, facts) {
            hold.release(facts.written);
        }
        let forwarded = self.forwarded.entry(rank).or_default().clone();
        for (stream, printed) in forwarded.iter().zip(start.printed) {
            stream.fetch_max(printed, Ordering::SeqCst);
        }
        let told = std::array::from_fn(|stream| forwarded[stream].load(Ordering::SeqCst));
        let lost = facts.map_or(0, |facts| restore::ahead(facts.written, told));
        if lost > 0 {
            let _ = self.link.send(FromAgent::Notice(format!(
                "rank {rank}: up to {lost} bytes of its output were not printed and are lost"
            )));
        }
        let hold = job.commitment.map(|_| {
            let (link, window) = (self.link.clone(), self.window.clone());
            Arc::new(OutputHold::new(rank, forwarded.clone(), link, window))
        });
        let pipes =
            [child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from)];
        let mut exited = Vec::new();
        for (stream, pipe) in pipes.into_iter().flatten().enumerate() {
            exited.push(self.follow(OutputPipe {
                pipe: nonblocking(pipe).map_err(system)?,
                stream: stream as u8,
                rank,
                page: page.clone(),
                forwarded: forwarded.clone(),
                hold: hold.clone(),
                incarnation,
                events: self.events.clone(),
            }));
        }

        let wake = Arc::new(OnceLock::new());
        let (outbox, queue) = mpsc::unbounded_channel();
        let control = Arc::new(control);
        tokio::spawn(read_rank(control.clone(), rank, incarnation, pid, self.events.clone()));
        let key = (rank, incarnation, pid);
        let wakes = (wake.clone(), page.clone());
        tokio::spawn(write_rank(control, queue, wakes, key, self.events.clone()));
        watch_exit(pid, rank, incarnation, self.events.clone()).map_err(system)?;
        Ok(RankProcess {
            rank,
            incarnation,
            page,
            doorbell: None,
            input,
            image: None,
            start,
            hold,
            settling: None,
            written_of: Vec::new(),
            chains: IncrementalChains::new(!job.incremental),
            outbox,
            wake,
            child: Some(child),
            id,
            file,
            rank_pid: None,
            resumed_from: facts.map(|facts| facts.image),
            exiting: false,
            released: false,
            killed: false,
            control_lost: false,
            broken: false,
            undrained: exited.len() as u32,
            exited,
            ending: None,
        })
    }

    fn follow(&self, reader: OutputPipe) -> oneshot::Sender<()> {
        let (rank, incarnation) = (reader.rank, reader.incarnation);
        let (tell_exit, exit) = oneshot::channel();
        let (tell_drained, drained) = oneshot::channel();
        tokio::spawn(reader.forward(self.link.clone(), self.window.clone(), exit, tell_drained));
        let events = self.events.clone();
        tokio::spawn(async move {
            // Dropped at the end of the pipe: that counts as drained, too.
            let _ = drained.await;
            let _ = events.send(AgentEvent::Drained { rank, incarnation });
        });
        tell_exit
    }

    // ---- text that is not final -----------------------------------------------------------------

    /// Asks a rank whose text is held to make it final: all that it did before is to be stable.
    pub(super) fn settle(&mut self, rank: Rank, incarnation: Incarnation) {
        let by_events =
            self.job.as_ref().is_some_and(|job| job.commitment == Some(Commitment::Events));
        let Some(process) =
            self.process_mut(rank, incarnation).filter(|process| process.is_talking())
        else {
            return;
        };
        if by_events
            && process.settling.is_none()
            && process.hold.as_ref().is_some_and(|hold| !hold.is_empty())
        {
            let read = [word::STDOUT_READ, word::STDERR_READ].map(|index| process.page.get(index));
            process.settling = Some(read);
            process.send(&ToRank::Settle, Vec::new(), true);
            self.look_again(rank, incarnation);
        }
    }

    fn look_again(&self, rank: Rank, incarnation: Incarnation) {
        let events = self.events.clone();
        tokio::spawn(async move {
            tokio::time::sleep(SETTLE_PATIENCE).await;
            let _ = events.send(AgentEvent::Unsettled { rank, incarnation });
        });
    }

    /// A program that took the request in the middle of a call, and then computes, would answer
    /// at its next call: it is woken again. (The request itself is sent once, so that an answer
    /// can only be to that.)
    pub(super) fn unsettled(&mut self, rank: Rank, incarnation: Incarnation) {
        let Some(process) =
            self.process_mut(rank, incarnation).filter(|process| process.settling.is_some())
        else {
            return;
        };
        if let Some(wake) = process.wake.get() {
            wake.send(boot_abi::SIGNAL);
        }
        self.look_again(rank, incarnation);
    }

    /// It has done so.
    pub(super) fn settled(&mut self, rank: Rank, incarnation: Incarnation) {
        let events = self.events.clone();
        let Some(process) = self.process_mut(rank, incarnation) else { return };
        if let (Some(ends), Some(hold)) = (process.settling.take(), &process.hold) {
            hold.release(ends);
            // A program that prints all the time is not interrupted all the time.
            tokio::spawn(async move {
                tokio::time::sleep(SETTLE_PAUSE).await;
                let _ = events.send(AgentEvent::HeldText { rank, incarnation });
            });
        }
    }

    /// The job ends: what was held is all that there will ever be.
    pub(super) fn release_held_output(&mut self) {
        let living = self.processes.values().filter_map(|process| process.hold.as_ref());
        living.chain(self.dead_holds.values()).for_each(|hold| hold.release_all());
    }

    // ---- the end ------------------------------------------------------------------------------

    pub(super) fn control_closed(
        &mut self,
        rank: Rank,
        incarnation: Incarnation,
        pid: u32,
        why: Option<String>,
    ) {
        let events = self.events.clone();
        let Some(process) = self.process_with_pid(rank, incarnation, pid) else { return };
        // (Who has closed it, and is about to end, has said all.)
        process.broken |= why.is_some();
        if process.is_over() || process.released || process.exiting && !process.broken {
            return;
        }
        if let Some(why) = why {
            self.notice(format!("rank {rank}: its control connection broke ({why}); killing it"));
        }
        // Usually it is dying and its exit follows at once.
        tokio::spawn(async move {
            tokio::time::sleep(CONTROL_GRACE).await;
            let _ = events.send(AgentEvent::ControlGrace { rank, incarnation, pid });
        });
    }

    /// This life, if this is its process.
    fn process_with_pid(
        &mut self,
        rank: Rank,
        incarnation: Incarnation,
        pid: u32,
    ) -> Option<&mut RankProcess> {
        self.process_mut(rank, incarnation).filter(|process| process.id.pid == pid)
    }

    pub(super) fn control_grace(&mut self, rank: Rank, incarnation: Incarnation, pid: u32) {
        let Some(process) = self.process_with_pid(rank, incarnation, pid) else { return };
        let may_go_on = process.is_over() || process.released || process.exiting && !process.broken;
        if process.rank_pid.is_some() && !may_go_on {
            process.control_lost = true;
            processes::signal_group(process.id.pid, libc::SIGKILL);
        }
    }

    pub(super) fn exited(&mut self, rank: Rank, incarnation: Incarnation) {
        let Some(process) = self.process_mut(rank, incarnation) else { return };
        let Some(mut child) = process.child.take() else { return };
        // Not reaped yet, so the number of its group cannot belong to anybody else.
        processes::signal_group(process.id.pid, libc::SIGKILL);
        let how = match child.wait() {
            Ok(status) => match (status.code(), status.signal()) {
                _ if process.control_lost => How::ControlLost,
                // A wrapper script passes on the death of the rank below it as a code.
                (Some(code), _)
                    if code > SIGNAL_CODE_BASE
                        && !process.exiting
                        && process.rank_pid.is_some_and(|pid| pid != process.id.pid) =>
                {
                    How::Signal(code - SIGNAL_CODE_BASE)
                }
                (Some(code), _) => How::Code(code),
                (None, signal) => How::Signal(signal.unwrap_or(libc::SIGKILL)),
            },
            Err(_) => How::ControlLost,
        };
        process.ending = Some((how, Instant::now()));
        for tell in process.exited.drain(..) {
            let _ = tell.send(());
        }
        if self.job.as_ref().is_some_and(|job| !job.view.traits.in_waves()) {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            self.deaths.insert(rank, now.as_nanos() as u64);
        }
        self.broker.forget(rank);
        self.report_end_if_drained(rank);
    }

    pub(super) fn drained(&mut self, rank: Rank, incarnation: Incarnation) {
        if let Some(process) = self.process_mut(rank, incarnation) {
            process.undrained = process.undrained.saturating_sub(1);
            self.report_end_if_drained(rank);
        }
    }

    /// The end is told after the last byte of output, so that the launcher prints that first.
    fn report_end_if_drained(&mut self, rank: Rank) {
        let Some(process) = self.processes.get(&rank) else { return };
        let (Some((mut ending, at)), 0) = (process.ending, process.undrained) else { return };
        let process = self.processes.remove(&rank).expect("looked up above");
        let counters = process.page.report();
        self.report(rank, process.incarnation, counters);
        let tried = process.resumed_from.filter(|_| process.rank_pid.is_none());
        if let (How::Code(code), Some(_)) = (ending, tried)
            && unusable(code).is_some()
            && process.killed
        {
            ending = How::Signal(libc::SIGKILL);
        }
        if let (How::Code(code), Some(image)) = (ending, tried)
            && let Some(why) = unusable(code)
        {
            if code == boot_abi::EXIT_IMAGE_DAMAGED
                && self.checked.insert(rank, process.incarnation) != Some(process.incarnation)
            {
                // It came from a file that nobody had looked at as a whole. The server shall: it may have the
                // image elsewhere, too.
                return self.start(process.start);
            }
            // The new life never began: the same incarnation tries the next older image.
            self.report(
                rank,
                process.incarnation,
                Report::ImageUnusable { image, why: why.into() },
            );
            if code == boot_abi::EXIT_IMAGE_DAMAGED {
                let servers = self.directory.subscribe();
                tokio::spawn(restore::condemn(rank, image, self.key.clone(), servers));
            }
            let mut start = process.start;
            start.images.retain(|offered| offered.image < image);
            if start.images.is_empty() && !start.or_beginning {
                let why = format!("no image is left that can be restored (image {image}: {why})");
                return self.report(
                    rank,
                    process.incarnation,
                    Report::CannotStart { code: 1, why },
                );
            }
            return self.start(start);
        }
        if let Some(hold) = process.hold {
            if matches!(ending, How::Code(_)) || process.released {
                hold.release_all();
            } else {
                self.dead_holds.insert(rank, hold);
            }
        }
        let seen_ns = at.elapsed().as_nanos() as u64;
        self.report(rank, process.incarnation, Report::Ended { ending, seen_ns });
    }

    fn bury(&mut self, mut process: RankProcess) {
        processes::signal_group(process.id.pid, libc::SIGKILL);
        if let Some(mut child) = process.child.take() {
            let _ = child.wait();
        }
        self.broker.forget(process.rank);
    }

    /// Sends a signal to the process that is the rank (the wrapper, before that said hello). A life that was
    /// about to begin has ended with that.
    pub(super) fn kill(&mut self, rank: Rank, signal: i32) {
        if let Some(incarnation) = self.starting.remove(&rank) {
            let ending = How::Signal(signal);
            return self.report(rank, incarnation, Report::Ended { ending, seen_ns: 0 });
        }
        if let Some(process) = self.processes.get_mut(&rank) {
            // If its process has just ended, because its image is of no use, it must not begin another one.
            process.killed |= signal == libc::SIGKILL;
            if !process.is_over() {
                processes::signal_process(process.rank_pid.unwrap_or(process.id.pid), signal);
            }
        }
    }

    /// The end of this agent: no process stays behind.
    pub(super) fn kill_everything(&mut self) {
        for process in self.processes.values().filter(|process| process.child.is_some()) {
            processes::signal_group(process.id.pid, libc::SIGKILL);
        }
        processes::kill_descendants();
    }
}

fn nonblocking(pipe: OwnedFd) -> std::io::Result<AsyncFd<OwnedFd>> {
    rustix::io::ioctl_fionbio(&pipe, true)?;
    watched(pipe)
}

fn unusable(code: i32) -> Option<&'static str> {
    match code {
        boot_abi::EXIT_IMAGE_DAMAGED => Some("it is damaged or its stream broke off"),
        boot_abi::EXIT_IMAGE_MISFIT => {
            Some("it does not fit this machine, kernel, limit or program")
        }
        _ => None,
    }
}

async fn read_rank(
    control: Arc<Control>,
    rank: Rank,
    incarnation: Incarnation,
    pid: u32,
    events: mpsc::UnboundedSender<AgentEvent>,
) {
    let why = loop {
        match control.receive().await {
            Ok(Some(datagram)) => {
                let datagram = Datagram { ..datagram };
                if events.send(AgentEvent::FromRank { rank, incarnation, datagram }).is_err() {
                    return;
                }
            }
            Ok(None) => break None,
            Err(e) => break Some(e.to_string()),
        }
    };
    let _ = events.send(AgentEvent::ControlClosed { rank, incarnation, pid, why });
}

async fn write_rank(
    control: Arc<Control>,
    mut queue: mpsc::UnboundedReceiver<Outgoing>,
    (wake, page): (Arc<OnceLock<WakeSignal>>, Arc<Page>),
    (rank, incarnation, pid): (Rank, Incarnation, u32),
    events: mpsc::UnboundedSender<AgentEvent>,
) {
    while let Some(outgoing) = queue.recv().await {
        if let Err(e) = control.send(&outgoing.bytes, &outgoing.descriptors).await {
            // (A rank that is gone the other direction notices.)
            if !matches!(e.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) {
                let why = Some(format!("it cannot be told anything: {e}"));
                let _ = events.send(AgentEvent::ControlClosed { rank, incarnation, pid, why });
            }
            return;
        }
        drop(outgoing.descriptors);
        page.set(word::CONTROL_DATAGRAMS, page.get(word::CONTROL_DATAGRAMS).wrapping_add(1));
        if outgoing.wake
            && let Some(wake) = wake.get()
        {
            wake.send(boot_abi::SIGNAL);
        }
    }
}

/// Tells of a process's end before it is reaped.
fn watch_exit(
    pid: u32,
    rank: Rank,
    incarnation: Incarnation,
    events: mpsc::UnboundedSender<AgentEvent>,
) -> std::io::Result<()> {
    let pid = rustix::process::Pid::from_raw(pid as i32)
        .ok_or_else(|| std::io::Error::other("process number 0"))?;
    let handle = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::NONBLOCK)?;
    let handle = watched_for_reading(handle)?;
    tokio::spawn(async move {
        let _ = handle.readable().await;
        let _ = events.send(AgentEvent::Exited { rank, incarnation });
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_for_an_earlier_process_is_not_fed() {
        let (pipe, mut fed) = mpsc::unbounded_channel();
        let mut feed = Feed { next: 6, pipe };
        feed.take(12, b"late".to_vec());
        feed.take(6, b"world".to_vec());
        feed.take(6, b"world".to_vec());
        feed.take(0, b"hello ".to_vec());
        feed.take(11, b"!".to_vec());
        feed.take(12, Vec::new());
        let fed: Vec<_> = std::iter::from_fn(|| fed.try_recv().ok()).collect();
        assert_eq!(fed, [b"world".to_vec(), b"!".to_vec(), Vec::new()]);
    }

    #[tokio::test]
    async fn a_message_that_cannot_be_sent_ends_the_connection_with_a_reason() {
        let (control, _rank) = Control::pair().unwrap();
        let (outbox, queue) = mpsc::unbounded_channel();
        let (events, mut inbox) = mpsc::unbounded_channel();
        let bytes = vec![0; 64 << 20];
        outbox.send(Outgoing { bytes, descriptors: Vec::new(), wake: false }).unwrap();
        let key = (Rank(2), Incarnation(1), 77);
        let (page, _fd) = Page::create().unwrap();
        let page = Arc::new(page);
        write_rank(Arc::new(control), queue, (Arc::default(), page.clone()), key, events).await;
        assert_eq!(page.get(word::CONTROL_DATAGRAMS), 0);
        let Some(AgentEvent::ControlClosed { pid: 77, why: Some(why), .. }) = inbox.recv().await
        else {
            panic!("nobody heard of it")
        };
        assert!(why.contains("cannot be told"), "{why}");
    }

    #[tokio::test]
    async fn a_rank_that_has_gone_is_no_news_of_the_writer() {
        let (control, rank) = Control::pair().unwrap();
        drop(rank);
        let (outbox, queue) = mpsc::unbounded_channel();
        let (events, mut inbox) = mpsc::unbounded_channel();
        outbox.send(Outgoing { bytes: vec![1], descriptors: Vec::new(), wake: false }).unwrap();
        let key = (Rank(2), Incarnation(1), 77);
        let (page, _fd) = Page::create().unwrap();
        write_rank(Arc::new(control), queue, (Arc::default(), Arc::new(page)), key, events).await;
        assert!(inbox.recv().await.is_none());
    }

    #[tokio::test]
    async fn the_page_tells_of_a_message_that_is_there() {
        let (control, rank) = Control::pair().unwrap();
        let (outbox, queue) = mpsc::unbounded_channel();
        let (events, _inbox) = mpsc::unbounded_channel();
        for byte in 1..=2 {
            outbox
                .send(Outgoing { bytes: vec![byte], descriptors: Vec::new(), wake: false })
                .unwrap();
        }
        drop(outbox);
        let (page, _fd) = Page::create().unwrap();
        let page = Arc::new(page);
        let key = (Rank(2), Incarnation(1), 77);
        write_rank(Arc::new(control), queue, (Arc::default(), page.clone()), key, events).await;
        assert_eq!(page.get(word::CONTROL_DATAGRAMS), 2);
        let mut bytes = [0; 8];
        for byte in 1..=2 {
            assert_eq!(rustix::io::read(&rank, &mut bytes).unwrap(), 1);
            assert_eq!(bytes[0], byte);
        }
    }
}
