//! The agent of a host (`ftmpiexec --agent`): starts, watches and kills the ranks of its host and
//! makes every connection for them.
//!
//! Guarantees: one thread owns the state and handles events one after the other; others start
//! processes and look at files of ranks, so that heartbeats go on meanwhile. The agent decides
//! nothing about recovery; the launcher's dispatcher does. When the launcher is gone, the agent
//! kills every process that came from it, and ends.
//!
//! | module | subject |
//! | --- | --- |
//! | [`launcher_link`], [`launcher_messages`] | the launcher and its orders |
//! | [`rank_link`], [`rank_messages`], [`control`] | control socket and messages of a rank |
//! | [`start`], [`starter`], [`spawn`] | how a process begins |
//! | [`standbys`], [`gate`] | processes that wait to take the place of their rank |
//! | [`rank_process`], [`process_end`] | a process until its end |
//! | [`kept_programs`], [`held`], [`looks`], [`plugins`] | what ranks execute, always the same |
//! | [`link_folder`] | the libraries of an earlier incarnation |
//! | [`from_caller`] | descriptors of the launcher's caller |
//! | [`checkpoint`], [`incremental_chains`], [`restore`], [`local`] | images |
//! | [`files`] | files that return to an image with their ranks |
//! | [`kept_files`], [`file_looks`], [`saved_files`] | files that images rest on |
//! | [`output`], [`output_hold`], [`output_commit`], [`output_window`] | what ranks write |
//! | [`broker`], [`segments`], [`clocks`] | channels, shared memory, clocks of event loggers |
//! | [`new_processes`] | processes that join the job, and questions to the launcher |
//! | [`direct`] | the agent of ranks that another launcher started |
//! | [`lease`], [`paths`] | how long ranks may run, and whether other hosts can be reached |
//! | [`cpu_binding`], [`external_load`] | processors |
//! | [`health`] | the health command |

mod actual_command;
mod broker;
mod calls;
mod checkpoint;
mod clocks;
mod control;
mod cpu_binding;
pub mod direct;
mod directory;
mod errors;
mod events;
mod external_load;
mod file_looks;
mod files;
mod from_caller;
mod gate;
mod health;
mod held;
mod image_cost;
mod image_packing;
mod image_results;
mod incremental_chains;
mod kept_files;
mod kept_programs;
mod launcher_link;
mod launcher_messages;
mod lease;
#[cfg(test)]
mod lease_model;
pub mod libraries;
mod link_folder;
mod local;
mod looks;
mod memory_binding;
mod memory_kills;
mod new_processes;
mod output;
mod output_commit;
mod output_hold;
mod output_window;
mod page;
mod paths;
mod plugins;
mod process_end;
mod processes;
mod rank_link;
mod rank_messages;
mod rank_output;
mod rank_process;
mod ranks;
mod restore;
mod saved_files;
mod segments;
mod signal;
pub mod spawn;
mod standbys;
mod start;
mod starter;
mod watched;

pub use page::sealed_memfd;
pub use processes::{started_at, state_of};

use crate::agent_protocol::{AgentSetup, FRAME_BYTES_MAX, FromAgent, Job, Report, ToAgent};
use crate::heartbeat::Times;
use crate::host_limits::HostLimits;
use crate::restore_facts::RestoreFacts;
use crate::tuning::{
    AGENT_START_LIMIT, DIRECTORY_REMOVAL_PAUSE, DIRECTORY_REMOVAL_TRIES, FAREWELL_FLUSH,
    IMAGE_MEMORY_BYTES, IMAGES_AT_ONCE, IMAGES_MEMORY_SHARE,
};
use anyhow::Context;
use broker::Broker;
use cpu_binding::CpuAssignments;
use directory::Directory;
use events::AgentEvent;
use external_load::ExternalLoad;
use from_caller::FromCaller;
use ftmpi_checkpoint::container::Secret;
use ftmpi_servers::host_memory;
use ftmpi_transport::auth::{JobKey, Listener};
use ftmpi_transport::framed::Framed;
use ftmpi_wire::status::word;
use launcher_link::{LauncherLink, read_orders, write_reports};
use lease::{Lease, Verdict};
use local::Local;
use memory_binding::KernelPolicy;
use rank_output::RankOutput;
use rank_process::RankProcess;
use ranks::Ranks;
use start::{StartOrder, begin_starter};
use starter::Starter;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, mpsc, watch};

/// The state of an agent.
pub struct Agent {
    /// Index of this host.
    host: u32,
    /// How long silence may last.
    times: Times,
    key: JobKey,
    /// `None` until the launcher sends it.
    job: Option<Arc<Job>>,
    /// Where ranks, agents and servers are.
    directory: watch::Sender<Directory>,
    /// The agent's own queue, for its tasks.
    events: mpsc::UnboundedSender<AgentEvent>,
    link: LauncherLink,
    lease: Lease,
    ranks: Ranks,
    standbys: standbys::Standbys,
    starter: Starter<StartOrder>,
    output: RankOutput,
    images: Images,
    hardware: Hardware,
    from_caller: FromCaller,
    broker: Broker,
    paths: paths::Paths,
    segments: segments::Segments,
    /// Files that images rest on.
    kept_files: kept_files::KeptFiles,
    memory_kills: memory_kills::MemoryKills,
    /// The programs of the job, as they were at first.
    kept_programs: kept_programs::SharedPrograms,
    /// Looks at files of ranks that enter `MPI_Init`.
    looks: looks::Looks,
    plugins: plugins::Plugins,
    /// What event loggers tell all hosts.
    clocks: clocks::Clocks,
    /// The present run of the health command.
    health: health::HealthProcess,
}

/// What is made before the agent.
struct Parts {
    events: mpsc::UnboundedSender<AgentEvent>,
    link: LauncherLink,
    starter: Starter<StartOrder>,
    looks: looks::Looks,
    programs: kept_programs::SharedPrograms,
}

/// What the agent needs for images of its ranks.
#[derive(Debug)]
struct Images {
    /// Seals and opens images, if they are encrypted.
    secret: Option<Secret>,
    /// Limits how many images are carried to their servers at a time.
    turns: Arc<Semaphore>,
    /// Limits how many ranks are restored at a time.
    restore_turns: Arc<Semaphore>,
    /// Copies of images on this host, if it keeps any.
    local: Option<Arc<Local>>,
}

/// The processors of this host.
#[derive(Debug)]
struct Hardware {
    /// How many processors the ranks may use.
    processors: u32,
    /// Bytes of memory that the processes of the host may use together.
    memory: u64,
    /// What programs outside of the job use of them.
    external_load: ExternalLoad,
    /// Which of them each rank may use, if not all.
    cpus: Option<CpuAssignments>,
    /// Where ranks take memory, if not where they touch it.
    memory_policy: Option<KernelPolicy>,
}

/// Why the loop of the agent ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EndCause {
    /// The launcher ordered it; `keep`: the job goes on later.
    Ordered { keep: bool },
    /// The launcher is gone, or this host is cut off from it.
    Abandoned,
}

/// How many images a host with this memory carries at the same time.
fn images_at_once(memory: u64) -> usize {
    let fit = memory / IMAGES_MEMORY_SHARE / IMAGE_MEMORY_BYTES;
    usize::try_from(fit).unwrap_or(IMAGES_AT_ONCE).clamp(1, IMAGES_AT_ONCE)
}

/// Runs an agent until the launcher has no more use for it.
///
/// # Errors
/// It could not begin: no setup, no connection to the launcher.
pub fn run() -> anyhow::Result<()> {
    // One thread: the state has one owner.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(run_agent());
    // Threads that still feed a restore may be blocked on a pipe. Do not wait for them.
    runtime.shutdown_background();
    result
}

async fn run_agent() -> anyhow::Result<()> {
    let line = setup_line(|line| std::io::stdin().read_line(line), AGENT_START_LIMIT)?;
    let setup: AgentSetup = serde_json::from_str(&line)
        .context("only ftmpiexec itself starts an agent, with a setup on standard input")?;
    drop(line);
    processes::kill_leftovers(&setup.leftovers);
    link_folder::remove_left_over();
    // Keeps the ranks' descriptor numbers free, to the end of the agent.
    let _reserved: Vec<OwnedFd> = spawn::reserve().context("descriptors")?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).ok();
    let key = JobKey::from_hex(&setup.key)?;
    let image_key = setup.image_key.as_deref().map(JobKey::from_hex).transpose()?;
    let secret = image_key.map(|key| Secret::new(key.bytes()));
    let mut listener = Listener::bind_within(setup.listen, setup.port_range.as_ref(), key.clone())
        .await
        .context("listening for channels")?;
    let stream = match launcher_link::connect(&setup, &key).await {
        Ok(stream) => stream,
        Err(unreachable) => {
            if let Some(directory) = setup.temporary.as_deref().filter(|dir| is_abandoned(dir)) {
                remove_when_unused(directory).await;
            }
            return Err(unreachable.into());
        }
    };
    let lease = Lease::new(&stream, setup.patience, setup.times, Instant::now());

    let (events, mut inbox) = mpsc::unbounded_channel();
    let (reports, outbox) = mpsc::unbounded_channel();
    let (reader, writer) =
        Framed::<TcpStream, FromAgent, ToAgent>::new(stream, FRAME_BYTES_MAX).split();
    tokio::spawn(read_orders(reader, events.clone()));
    let writing = tokio::spawn(write_reports(writer, outbox));
    let processors = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let link = LauncherLink::new(reports);
    link.send(FromAgent::Ready {
        port: listener.local_addr()?.port(),
        process: processes::own(),
        processors,
        restore_facts: Box::new(RestoreFacts::of_this_host()),
        limits: Box::new(HostLimits::of_this_host()),
    });
    ftmpi_servers::client::set_silence_limit(setup.times.connection());
    let starter = begin_starter(events.clone()).context("the thread that starts ranks")?;
    let programs = kept_programs::SharedPrograms::default();
    let looks = looks::Looks::begin(programs.clone(), events.clone());
    let looks = looks.context("the thread that looks at files of ranks")?;
    let parts = Parts { events, link, starter, looks, programs };
    let mut agent = Agent::new(&setup, key, parts, (secret, lease), processors);
    let cause = agent.serve(&mut inbox, &mut listener).await?;
    // After the death of its launcher a job in a directory of its own making is over.
    let goes_on = match cause {
        EndCause::Ordered { keep } => keep,
        EndCause::Abandoned => setup.temporary.is_none(),
    };
    if goes_on {
        agent.save_kept_files(false);
    }
    agent.kill_everything();
    if goes_on {
        agent.save_kept_files(true);
    }
    if cause == (EndCause::Ordered { keep: false }) {
        agent.release_held_output();
    }
    let local = agent.images.local.take();
    drop(agent);
    if let Some(local) = local {
        local.remove();
    }
    if let (EndCause::Abandoned, Some(directory)) = (cause, &setup.temporary) {
        remove_when_unused(directory).await;
    }
    // Let the last lines out. The launcher may be gone.
    let _ = tokio::time::timeout(FAREWELL_FLUSH, writing).await;
    Ok(())
}

/// The setup, which the launcher sends at once. The way to the launcher may break before that, and
/// then nobody would end the agent.
fn setup_line(
    read: impl FnOnce(&mut String) -> std::io::Result<usize> + Send + 'static,
    limit: Duration,
) -> anyhow::Result<String> {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::Builder::new().spawn(move || {
        let mut line = String::new();
        let _ = sender.send(read(&mut line).map(|_| line));
    })?;
    let line = receiver.recv_timeout(limit);
    let line = line.with_context(|| format!("no setup within {} s", limit.as_secs()))?;
    line.context("no setup on standard input")
}

/// Whether no launcher has the job's directory any more: its lock ends with its process.
fn is_abandoned(directory: &Path) -> bool {
    let lock = std::fs::File::open(directory.join("lock"));
    lock.is_ok_and(|lock| lock.try_lock().is_ok())
}

/// Removes the job's directory after the death of the launcher. The servers end with the launcher,
/// but not in the same instant.
async fn remove_when_unused(directory: &Path) {
    for _ in 0..DIRECTORY_REMOVAL_TRIES {
        match std::fs::remove_dir_all(directory) {
            Ok(()) => {}
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return,
            Err(_) => {}
        }
        tokio::time::sleep(DIRECTORY_REMOVAL_PAUSE).await;
    }
}

impl Agent {
    fn new(
        setup: &AgentSetup,
        key: JobKey,
        parts: Parts,
        (secret, lease): (Option<Secret>, Lease),
        processors: u32,
    ) -> Self {
        let Parts { events, link, starter, looks, programs } = parts;
        let memory = host_memory::of_this_host();
        let turns = Arc::new(Semaphore::new(images_at_once(memory)));
        let restore_turns = Arc::new(Semaphore::new(restore::side_by_side(processors)));
        Self {
            host: setup.host,
            times: setup.times,
            key,
            job: None,
            directory: watch::Sender::new(Directory::default()),
            events,
            link,
            lease,
            ranks: Ranks::default(),
            standbys: standbys::Standbys::default(),
            starter,
            output: RankOutput::new(),
            images: Images { secret, turns, restore_turns, local: None },
            hardware: Hardware {
                processors,
                memory,
                external_load: ExternalLoad::default(),
                cpus: None,
                memory_policy: None,
            },
            from_caller: FromCaller::take(&setup.from_caller),
            broker: Broker::default(),
            paths: paths::Paths::default(),
            segments: segments::Segments::default(),
            kept_files: kept_files::KeptFiles::new(),
            memory_kills: memory_kills::MemoryKills::default(),
            kept_programs: programs,
            looks,
            plugins: plugins::Plugins::default(),
            clocks: clocks::Clocks::default(),
            health: health::HealthProcess::default(),
        }
    }

    /// Handles events until there is a reason to end.
    async fn serve(
        &mut self,
        inbox: &mut mpsc::UnboundedReceiver<AgentEvent>,
        listener: &mut Listener,
    ) -> anyhow::Result<EndCause> {
        let mut beat = tokio::time::interval(self.times.interval());
        beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut second = tokio::time::interval(Duration::from_secs(1));
        second.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut terminate =
            tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        loop {
            tokio::select! {
                Some(event) = inbox.recv() => match event {
                    AgentEvent::Order(order) => match *order {
                        ToAgent::Stop { keep } => return Ok(EndCause::Ordered { keep }),
                        order => self.on_order(order),
                    },
                    AgentEvent::LauncherGone => return Ok(EndCause::Abandoned),
                    event => self.handle(event),
                },
                caller = listener.next() => if let Ok(caller) = caller {
                    let _ = self.events.send(AgentEvent::Incoming(Box::new(caller)));
                },
                _ = beat.tick() => {
                    match self.lease.look(Instant::now()) {
                        Verdict::Over => return Ok(EndCause::Abandoned),
                        Verdict::AskOthers => self.ask_others(),
                        Verdict::RunOn => {}
                    }
                    self.lease.beat(Instant::now());
                    self.link.send(FromAgent::Heartbeat { answered: self.lease.answered() });
                }
                _ = second.tick() => self.every_second(),
                // Batch systems send SIGTERM to all processes of a job. The launcher decides what
                // that means.
                _ = terminate.recv() => self.link.send(FromAgent::Terminate),
            }
        }
    }

    fn handle(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::Order(order) => self.on_order(*order),
            AgentEvent::LauncherGone => {}
            AgentEvent::FromRank { rank, incarnation, datagram } => {
                self.on_rank_message(rank, incarnation, datagram);
            }
            AgentEvent::Looked(key, found) => self.looked(key, found),
            AgentEvent::PluginsFound(found) => self.plugins_found(found),
            AgentEvent::ControlClosed { rank, incarnation, pid, why } => {
                self.control_closed((rank, incarnation), pid, why);
            }
            AgentEvent::ControlGrace { rank, incarnation, pid } => {
                self.control_grace((rank, incarnation), pid);
            }
            AgentEvent::Exited { rank, incarnation } => self.exited(rank, incarnation),
            AgentEvent::Drained { rank, incarnation } => self.drained(rank, incarnation),
            AgentEvent::TextHeld { rank, incarnation } => self.settle(rank, incarnation),
            AgentEvent::Unsettled { rank, incarnation } => self.unsettled(rank, incarnation),
            AgentEvent::Report { rank, incarnation, report } => {
                if self.ranks.get(rank, incarnation).is_some() {
                    self.link.report(rank, incarnation, report);
                }
            }
            AgentEvent::Connected(socket) | AgentEvent::Accepted(socket) => {
                self.hand_over_socket(socket);
            }
            AgentEvent::JoinAgain { from, to, pause } => self.join(from, to, pause),
            AgentEvent::Incoming(caller) => self.incoming(*caller),
            AgentEvent::LoggerConnected { rank, incarnation, socket } => {
                self.hand_over_event_log((rank, incarnation), socket);
            }
            AgentEvent::OthersSaid { asked, shortest } => self.others_said(asked, shortest),
            AgentEvent::StableClocks(clocks) => self.on_stable_clocks(clocks),
            AgentEvent::ProcessStarted(outcome) => self.process_started(*outcome),
            AgentEvent::StandbyFetched(fetched) => self.standby_fetched(*fetched),
            AgentEvent::StandbyFilled { rank, serial } => self.standby_filled(rank, serial),
            AgentEvent::StandbyExited { rank, serial } => self.standby_exited(rank, serial),
            AgentEvent::StandbyMayGo(restore) => self.standby_may_go(*restore),
            AgentEvent::Health { bad } => self.link.send(FromAgent::Health { bad }),
            AgentEvent::RestoreReady(restore) => self.restore_ready(*restore),
            AgentEvent::ImageDone { rank, incarnation, done } => {
                self.image_done(rank, incarnation, *done);
            }
        }
    }

    /// What is done every second.
    fn every_second(&mut self) {
        // A process that was just started is no orphan, though it is not known yet.
        if !self.starter.is_busy() {
            let of_rank = |pid| self.ranks.all().any(|process| process.owns(pid));
            let owned = |pid| of_rank(pid) || self.standbys.own(pid) || self.health.is(pid);
            processes::reap_orphans(owned);
        }
        self.measure_external_load();
        self.memory_kills.look(Instant::now());
        self.make_room_for_program();
        for process in self.ranks.running() {
            let report = process.page.report(process.pid().and_then(state_of));
            self.link.report(process.rank, process.incarnation, report);
            self.report_calls(process);
            if let Some(path) = process.other_mpi() {
                self.link.report(process.rank, process.incarnation, Report::OtherMpi { path });
            }
        }
        self.look_for_plugins();
    }

    /// Tells the launcher what the rank has recorded of its calls.
    fn report_calls(&self, process: &RankProcess) {
        let room = calls::room(self.ranks.count());
        if let Some(calls) = process.calls(room) {
            self.link.report(process.rank, process.incarnation, Report::Calls(Box::new(calls)));
        }
    }

    /// Writes onto the status pages how much of the processors programs outside of the job use.
    /// Where the host is oversubscribed, ranks wait in a way that depends on it.
    fn measure_external_load(&mut self) {
        let external = match self.ranks.count() > self.hardware.processors as usize {
            true => {
                let pids = self.ranks.running().filter_map(RankProcess::pid);
                self.hardware.external_load.sample(pids)
            }
            false => 0,
        };
        for process in self.ranks.running() {
            process.page.set(word::EXTERNAL_LOAD, external);
        }
    }

    /// How the job calls this host.
    fn host_name(&self) -> String {
        let hosts = self.job.as_ref().map(|job| &job.view.hosts);
        hosts.and_then(|hosts| hosts.get(self.host as usize)).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_host_carries_few_images_at_a_time() {
        assert_eq!(images_at_once(0), 1);
        assert_eq!(images_at_once(512 << 20), 8);
        assert_eq!(images_at_once(1 << 40), IMAGES_AT_ONCE);
    }

    #[test]
    fn an_agent_does_not_wait_for_its_setup_for_ever() {
        let never = |_: &mut String| loop {
            std::thread::park();
        };
        let error = setup_line(never, Duration::from_millis(20)).unwrap_err();
        assert!(error.to_string().contains("no setup within"), "{error}");
        let written = |line: &mut String| {
            line.push_str("{}");
            Ok(2)
        };
        assert_eq!(setup_line(written, Duration::from_secs(60)).unwrap(), "{}");
    }
}
