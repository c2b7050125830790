//! The agent of a host (`ftmpiexec --agent`): starts, watches and kills the ranks of its host and
//! makes every connection for them.
//!
//! Guarantees: one thread touches the state, events are handled one after the other; nothing here
//! decides about recovery (that is the launcher's dispatcher); when the launcher is gone, every
//! process that came from this agent is killed and it ends.

mod actual_command;
mod broker;
mod checkpoint;
mod clocks;
mod control;
mod cpu_binding;
mod external_load;
mod files;
mod incremental_chains;
mod lease;
mod local;
mod output;
mod output_hold;
mod page;
mod processes;
pub mod program;
mod rank_messages;
mod rank_process;
mod restore;
mod segments;
mod signal;
pub mod spawn;
mod watched;

pub use page::sealed_memfd;
pub use processes::started_at;

use crate::agent_protocol::{AgentSetup, FRAME_BYTES_MAX, FromAgent, Job, Report, ToAgent};
use anyhow::Context;
use broker::Broker;
use control::Datagram;
use ftmpi_checkpoint::container::Secret;
use ftmpi_transport::auth::{self, Authenticated, JobKey, Listener};
use ftmpi_transport::framed::{FrameReader, FrameWriter, Framed};
use ftmpi_wire::hello::Purpose;
use ftmpi_wire::status::word;
use ftmpi_wire::{EventNo, Incarnation, Rank};
use lease::Lease;
use output::{Forwarded, Window};
use output_hold::OutputHold;
use rank_process::RankProcess;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, mpsc, watch};

/// What the agent waits for.
#[derive(Debug)]
pub enum AgentEvent {
    /// The launcher spoke.
    Order(Box<ToAgent>),
    /// The launcher is gone.
    LauncherGone,
    /// A rank spoke.
    FromRank {
        rank: Rank,
        incarnation: Incarnation,
        datagram: Datagram,
    },
    /// A rank's control socket closed (or sent what it must not).
    ControlClosed {
        rank: Rank,
        incarnation: Incarnation,
        /// Of the process that it belonged to: a life whose image is no good tries again with another.
        pid: u32,
        why: Option<String>,
    },
    /// A rank has been silent since its control socket closed.
    ControlGrace {
        rank: Rank,
        incarnation: Incarnation,
        pid: u32,
    },
    /// A rank's process is gone (not yet reaped).
    Exited {
        rank: Rank,
        incarnation: Incarnation,
    },
    /// Its output has been read to the end.
    Drained {
        rank: Rank,
        incarnation: Incarnation,
    },
    /// Text of a rank is held until it is final: see that it becomes so.
    HeldText {
        rank: Rank,
        incarnation: Incarnation,
    },
    /// Time to see whether it did.
    Unsettled {
        rank: Rank,
        incarnation: Incarnation,
    },
    /// Something to tell the launcher about a life, if it still lives.
    Report {
        rank: Rank,
        incarnation: Incarnation,
        report: Report,
    },
    /// Two ranks of this host could not be joined a while ago.
    JoinAgain {
        from: (Rank, Incarnation),
        to: (Rank, Incarnation),
        /// How long to wait if they still cannot.
        pause: Duration,
    },
    /// A channel that a rank asked for is connected.
    Connected {
        rank: Rank,
        incarnation: Incarnation,
        peer: Rank,
        peer_incarnation: Incarnation,
        round: u32,
        socket: OwnedFd,
    },
    /// Another agent's rank asks for a channel.
    Incoming(Box<Authenticated>),
    /// The answer *yes* has been sent to it.
    Accepted {
        rank: Rank,
        incarnation: Incarnation,
        peer: Rank,
        peer_incarnation: Incarnation,
        round: u32,
        socket: OwnedFd,
    },
    /// A connection to the event logger.
    /// An event logger told all hosts what is written of its ranks.
    Clocks(Vec<(Rank, EventNo)>),
    LoggerConnected {
        rank: Rank,
        incarnation: Incarnation,
        socket: OwnedFd,
    },
    /// The image for a restart is there (or not): start the process.
    RestoreReady(Box<restore::Restore>),
    /// An image of a rank was stored or lost.
    ImageDone {
        rank: Rank,
        incarnation: Incarnation,
        done: Box<checkpoint::Done>,
    },
}

/// What connecting tasks look at while they retry.
#[derive(Debug, Clone, Default)]
pub struct Directory {
    /// Agents by host.
    pub agents: Vec<Option<SocketAddr>>,
    /// Host of each rank.
    pub host_of: Vec<u32>,
    /// Life of each rank.
    pub incarnations: Vec<Incarnation>,
    /// Event logger of each rank.
    pub event_loggers: Vec<SocketAddr>,
    /// Checkpoint server of each rank.
    pub checkpoint_servers: Vec<SocketAddr>,
}

/// The state of an agent.
pub struct Agent {
    host: u32,
    key: JobKey,
    /// What images are sealed and opened with, if they are.
    secret: Option<Secret>,
    job: Option<Job>,
    processes: BTreeMap<Rank, RankProcess>,
    /// Lives whose images are being fetched.
    starting: BTreeMap<Rank, Incarnation>,
    /// Lives that found an image damaged which nobody had checked before.
    checked: BTreeMap<Rank, Incarnation>,
    forwarded: BTreeMap<Rank, Forwarded>,
    /// What lives that were killed had said and was not final: their last words, if no other life
    /// comes after them.
    dead_holds: BTreeMap<Rank, Arc<OutputHold>>,
    /// When ranks last died, where the others go on ([`ftmpi_wire::control::RankEnv::died`]).
    deaths: BTreeMap<Rank, u64>,
    broker: Broker,
    segments: segments::Segments,
    /// What event loggers tell all hosts.
    clocks: clocks::Clocks,
    directory: watch::Sender<Directory>,
    window: Window,
    /// Whose turn it is to be carried to its server.
    images_at_once: Arc<Semaphore>,
    /// Copies of images on this host.
    local: Option<Arc<local::Local>>,
    events: mpsc::UnboundedSender<AgentEvent>,
    link: mpsc::UnboundedSender<FromAgent>,
    /// How long the ranks of this host may run.
    lease: Lease,
    processors: u32,
    external_load: external_load::ExternalLoad,
    /// Where ranks are bound, if they are.
    cpus: Option<cpu_binding::CpuAssignments>,
    /// Keeps the ranks' descriptor numbers free.
    _reserved: Vec<OwnedFd>,
}

/// Runs an agent until the launcher has no more use for it.
///
/// # Errors
/// It could not begin: no setup, no connection to the launcher.
pub fn run() -> anyhow::Result<()> {
    // One thread: ranks get the death signal when the *thread* that started them ends.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(run_agent());
    // Threads that still feed a restore may be blocked on a pipe: do not wait for them.
    runtime.shutdown_background();
    result
}

async fn run_agent() -> anyhow::Result<()> {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).context("no setup on standard input")?;
    let setup: AgentSetup = serde_json::from_str(&line)
        .context("this is started by ftmpiexec itself and expects its setup on standard input")?;
    drop(line);
    processes::kill_leftovers(&setup.leftovers);
    let reserved = spawn::reserve().context("descriptors")?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).ok();
    let key = JobKey::from_hex(&setup.key)?;
    let image_key = setup.image_key.as_deref().map(JobKey::from_hex).transpose()?;
    let secret = image_key.map(|key| Secret::new(key.bytes()));
    let bind = if setup.listen_everywhere { "0.0.0.0:0" } else { "127.0.0.1:0" };
    let mut listener = Listener::bind(bind, key.clone()).await.context("listening for channels")?;
    let stream = call_launcher(&setup, &key).await?;
    let lease = Lease::new(&stream, Instant::now());

    let (events, mut inbox) = mpsc::unbounded_channel();
    let (link, outbox) = mpsc::unbounded_channel();
    let (reader, writer) =
        Framed::<TcpStream, FromAgent, ToAgent>::new(stream, FRAME_BYTES_MAX).split();
    tokio::spawn(read_orders(reader, events.clone()));
    let writing = tokio::spawn(write_reports(writer, outbox));
    let processors = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let _ = link.send(FromAgent::Ready {
        port: listener.local_addr()?.port(),
        process: processes::own(),
        processors,
    });

    let mut agent = Agent {
        host: setup.host,
        key,
        secret,
        job: None,
        processes: BTreeMap::new(),
        starting: BTreeMap::new(),
        checked: BTreeMap::new(),
        forwarded: BTreeMap::new(),
        dead_holds: BTreeMap::new(),
        deaths: BTreeMap::new(),
        broker: Broker::default(),
        segments: segments::Segments::default(),
        clocks: clocks::Clocks::default(),
        directory: watch::Sender::new(Directory::default()),
        window: Window::new(),
        images_at_once: Arc::new(Semaphore::new(checkpoint::AT_ONCE)),
        local: None,
        events,
        link,
        lease,
        processors,
        external_load: external_load::ExternalLoad::default(),
        cpus: None,
        _reserved: reserved,
    };
    let mut beat = tokio::time::interval(Duration::from_secs(1));
    beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    let (told_to_stop, final_words) = loop {
        tokio::select! {
            Some(event) = inbox.recv() => match event {
                AgentEvent::Order(order) if matches!(*order, ToAgent::Stop { .. }) => {
                    let final_words = *order == ToAgent::Stop { keep: false };
                    break (true, final_words);
                }
                AgentEvent::LauncherGone => break (false, false),
                event => agent.handle(event),
            },
            caller = listener.next() => if let Ok(caller) = caller {
                let _ = agent.events.send(AgentEvent::Incoming(Box::new(caller)));
            },
            _ = beat.tick() => {
                if agent.lease.is_over(Instant::now()) {
                    break (false, false);
                }
                agent.beat();
            }
            // (The launcher may bring its ranks back.)
            _ = terminate.recv() => break (true, false),
        }
    };
    agent.kill_everything();
    if final_words {
        agent.release_held_output();
    }
    let local = agent.local.take();
    drop(agent);
    if let Some(local) = local {
        local.remove();
    }
    if let (false, Some(directory)) = (told_to_stop, &setup.temporary) {
        remove_after(directory).await;
    }
    // Let the last lines out; the launcher may be gone.
    let _ = tokio::time::timeout(Duration::from_millis(500), writing).await;
    Ok(())
}

/// The servers end with the launcher, but not in the same instant.
async fn remove_after(directory: &std::path::Path) {
    for _ in 0..50 {
        match std::fs::remove_dir_all(directory) {
            Ok(()) => {}
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return,
            Err(_) => {}
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn call_launcher(setup: &AgentSetup, key: &JobKey) -> anyhow::Result<TcpStream> {
    let purpose = Purpose::Agent { host: setup.host };
    let mut problems = Vec::new();
    // ssh knows under which address the launcher's host was seen from here.
    let seen_from_here = std::env::var("SSH_CONNECTION")
        .ok()
        .and_then(|text| text.split(' ').next()?.parse().ok())
        .zip(setup.launcher.first())
        .map(|(ip, launcher)| SocketAddr::new(ip, launcher.port()));
    let addresses = seen_from_here.into_iter().chain(setup.launcher.iter().copied());
    for address in addresses {
        match auth::connect(address, key, &purpose, Duration::from_secs(10)).await {
            Ok(stream) => {
                keep_alive(&stream);
                return Ok(stream);
            }
            Err(e) => problems.push(e.to_string_with_cause()),
        }
    }
    anyhow::bail!("the launcher cannot be reached: {}", problems.join("; "))
}

/// A launcher whose host vanished sends no goodbye: the kernel must find out.
fn keep_alive(stream: &TcpStream) {
    use rustix::net::sockopt;
    let _ = sockopt::set_socket_keepalive(stream, true);
    let _ = sockopt::set_tcp_keepidle(stream, Duration::from_secs(10));
    let _ = sockopt::set_tcp_keepintvl(stream, Duration::from_secs(5));
    let _ = sockopt::set_tcp_keepcnt(stream, 4);
}

/// Error texts with their cause in the same line.
trait WithCause {
    fn to_string_with_cause(&self) -> String;
}

impl WithCause for auth::AuthError {
    fn to_string_with_cause(&self) -> String {
        format!("{}: {}", self.peer, self.problem)
    }
}

async fn read_orders<R: AsyncRead + Unpin>(
    mut reader: FrameReader<R, ToAgent>,
    events: mpsc::UnboundedSender<AgentEvent>,
) {
    while let Ok(Some(order)) = reader.recv().await {
        if events.send(AgentEvent::Order(Box::new(order))).is_err() {
            return;
        }
    }
    let _ = events.send(AgentEvent::LauncherGone);
}

async fn write_reports<W: AsyncWrite + Unpin>(
    mut writer: FrameWriter<W, FromAgent>,
    mut outbox: mpsc::UnboundedReceiver<FromAgent>,
) {
    while let Some(report) = outbox.recv().await {
        if writer.feed(&report).await.is_err() {
            return;
        }
        if outbox.is_empty() && writer.flush().await.is_err() {
            return;
        }
    }
    let _ = writer.flush().await;
}

impl Agent {
    fn handle(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::Order(order) => self.order(*order),
            AgentEvent::LauncherGone => {}
            AgentEvent::FromRank { rank, incarnation, datagram } => {
                self.on_rank_message(rank, incarnation, datagram);
            }
            AgentEvent::ControlClosed { rank, incarnation, pid, why } => {
                self.control_closed(rank, incarnation, pid, why);
            }
            AgentEvent::ControlGrace { rank, incarnation, pid } => {
                self.control_grace(rank, incarnation, pid);
            }
            AgentEvent::Exited { rank, incarnation } => self.exited(rank, incarnation),
            AgentEvent::Drained { rank, incarnation } => self.drained(rank, incarnation),
            AgentEvent::HeldText { rank, incarnation } => self.settle(rank, incarnation),
            AgentEvent::Unsettled { rank, incarnation } => self.unsettled(rank, incarnation),
            AgentEvent::Report { rank, incarnation, report } => {
                if self.process(rank, incarnation).is_some() {
                    self.report(rank, incarnation, report);
                }
            }
            AgentEvent::Connected { rank, incarnation, peer, peer_incarnation, round, socket }
            | AgentEvent::Accepted { rank, incarnation, peer, peer_incarnation, round, socket } => {
                let (rank, peer) = ((rank, incarnation), (peer, peer_incarnation));
                self.hand_over_socket(rank, peer, round, socket);
            }
            AgentEvent::JoinAgain { from, to, pause } => self.join(from, to, pause),
            AgentEvent::Incoming(caller) => self.incoming(*caller),
            AgentEvent::LoggerConnected { rank, incarnation, socket } => {
                self.hand_over_event_log(rank, incarnation, socket);
            }
            AgentEvent::Clocks(clocks) => self.on_stable_clocks(clocks),
            AgentEvent::RestoreReady(restore) => self.restore_ready(*restore),
            AgentEvent::ImageDone { rank, incarnation, done } => {
                self.image_done(rank, incarnation, *done);
            }
        }
    }

    fn order(&mut self, order: ToAgent) {
        match order {
            ToAgent::Job(job) => {
                self.directory.send_modify(|directory| {
                    directory.host_of.clone_from(&job.view.host_of);
                    directory.incarnations.clone_from(&job.view.incarnations);
                });
                if let Some(dir) = &job.local_images {
                    let dir = dir.join(format!("host-{}", self.host));
                    match local::Local::open(&dir) {
                        Ok(local) => self.local = Some(Arc::new(local)),
                        Err(e) => self.notice(format!(
                            "no images are kept on {}: {e:#} (see --local-dir); the servers have them",
                            self.host_name()
                        )),
                    }
                }
                self.cpus = job.binding.as_ref().map(cpu_binding::CpuAssignments::new);
                self.job = Some(*job);
                if self.cpus.as_ref().is_some_and(cpu_binding::CpuAssignments::is_empty) {
                    self.notice(format!(
                        "--bind-to: {} has none of these processors; its ranks are not bound",
                        self.host_name()
                    ));
                }
            }
            ToAgent::Agents(agents) => self.directory.send_modify(|d| d.agents = agents),
            ToAgent::Servers { event_loggers, checkpoint_servers } => {
                self.directory.send_modify(|directory| {
                    directory.event_loggers = event_loggers;
                    directory.checkpoint_servers = checkpoint_servers;
                });
                self.listen_to_loggers();
            }
            ToAgent::Start(start) => self.start(start),
            ToAgent::Announce { rank, incarnation, host } => self.announce(rank, incarnation, host),
            ToAgent::Forward { rank, incarnation, order } => self.forward(rank, incarnation, order),
            ToAgent::Kill { rank, signal } => self.kill(rank, signal),
            ToAgent::OutputPrinted(bytes) => self.window.printed(bytes),
            ToAgent::Input { rank, incarnation, offset, bytes } => {
                if let Some(process) = self.process_mut(rank, incarnation)
                    && let Some(input) = &mut process.input
                {
                    input.take(offset, bytes);
                }
            }
            ToAgent::Heard => self.lease.renew(Instant::now()),
            ToAgent::KillYourself => processes::signal_process(std::process::id(), libc::SIGKILL),
            ToAgent::ForgetFiles(files) => self.forget_files(&files),
            ToAgent::Stop { .. } => {}
        }
    }

    fn beat(&mut self) {
        processes::reap_orphans(|pid| self.processes.values().any(|process| process.owns(pid)));
        let _ = self.link.send(FromAgent::Heartbeat);
        self.report_external_load();
        for process in self.processes.values().filter(|process| !process.is_over()) {
            let report = process.page.report();
            let (rank, incarnation) = (process.rank, process.incarnation);
            let _ = self.link.send(FromAgent::Rank { rank, incarnation, report });
        }
    }

    /// Where ranks outnumber processors, how they should wait depends on who else uses them.
    fn report_external_load(&mut self) {
        let running = || self.processes.values().filter(|process| !process.is_over());
        let others = match self.processes.len() > self.processors as usize {
            true => self.external_load.look(running().filter_map(RankProcess::pid)),
            false => 0,
        };
        for process in running() {
            process.page.set(word::EXTERNAL_LOAD, others);
        }
    }

    fn process(&self, rank: Rank, incarnation: Incarnation) -> Option<&RankProcess> {
        self.processes.get(&rank).filter(|process| process.incarnation == incarnation)
    }

    fn process_mut(&mut self, rank: Rank, incarnation: Incarnation) -> Option<&mut RankProcess> {
        self.processes.get_mut(&rank).filter(|process| process.incarnation == incarnation)
    }

    /// How the job calls this host.
    fn host_name(&self) -> String {
        let hosts = self.job.as_ref().map(|job| &job.view.hosts);
        hosts.and_then(|hosts| hosts.get(self.host as usize)).cloned().unwrap_or_default()
    }

    fn report(&self, rank: Rank, incarnation: Incarnation, report: Report) {
        let _ = self.link.send(FromAgent::Rank { rank, incarnation, report });
    }

    fn notice(&self, line: String) {
        let _ = self.link.send(FromAgent::Notice(line));
    }
}
