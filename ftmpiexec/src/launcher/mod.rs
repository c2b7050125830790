//! The launcher: carries out what the dispatcher decides.
//!
//! Guarantees: it starts agents and servers and ends them, however the job ends; everything that
//! it is told goes through the dispatcher, and only the dispatcher decides; text of the ranks is
//! printed once; two signals at most are needed to make everything go away.

mod agents;
mod control;
mod ending;
mod faults;
mod input;
mod metrics_state;
mod oversubscription;
mod preflight;
mod reports;
mod restart_discovery;
mod scheduling;
mod servers;
mod settings;
mod signals;
mod stopping;

use crate::agent::started_at;
use crate::agent_protocol::{ActualCommand, FromAgent, Job, ProcessId, RankOrder, Start, ToAgent};
use crate::cli::Plan;
use crate::inject::{FaultClock, ServerKind};
use crate::job_dir::JobDir;
use crate::job_dir::plan_file::Saved;
use crate::job_dir::progress::Progress;
use crate::output::{Printer, Style};
use crate::report::Recorder;
use agents::AgentState;
pub use agents::shell_word;
use anyhow::Context;
use ftmpi_protocols::dispatcher::{Command, Dispatcher, Input};
use ftmpi_servers::metrics::StateRequest;
use ftmpi_transport::auth::{Authenticated, JobKey, Listener};
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use input::StandardInput;
use preflight::{Ready, check_programs};
use servers::Servers;
use signals::Signals;
use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Heartbeats that an agent may miss (one a second) before it counts as lost.
const MISSED_BEATS_MAX: u32 = 10;
/// How long agents may take to kill their ranks at the end.
const FAREWELL: Duration = Duration::from_secs(5);
const TICK: Duration = Duration::from_millis(50);
/// Deaths of one rank at the same place before the program is held responsible.
const SAME_DEATH_MAX: u32 = 3;

/// What the launcher waits for.
#[derive(Debug)]
enum LauncherEvent {
    /// An agent spoke. `launch` tells which start of it.
    Agent { host: u32, launch: u64, message: Box<FromAgent> },
    /// Its connection ended.
    AgentGone { host: u32, launch: u64, why: String },
    /// Its process (or the ssh that started it) ended, or could not be started.
    AgentEnded { host: u32, launch: u64, why: String },
    /// It did not report in time.
    AgentLate { host: u32, launch: u64 },
    /// What it has to know cannot be told to it.
    AgentUnsendable { host: u32, launch: u64, why: String },
    /// A server listens.
    ServerUp { index: usize, launch: u64, address: SocketAddr },
    /// A line on a server's standard error.
    ServerLine { index: usize, launch: u64, text: String },
    /// A server has ended or could not be started.
    ServerEnded { index: usize, launch: u64, why: String },
    /// Time to start a server again.
    ServerAgain { index: usize },
    /// Text was printed; `false`: nobody reads it any more.
    Printed { host: u32, launch: u64, bytes: u32, read: bool, upto: Printed },
    /// The servers told what an earlier run had stored.
    Discovered(Result<Vec<restart_discovery::Found>, String>),
    /// From the connection with this number to the checkpoint scheduler.
    Scheduler { number: u64, event: scheduling::SchedulerEvent },
    /// Standard input; empty at its end.
    Input(Vec<u8>),
    /// Somebody asks for images now.
    ImagesWanted(mpsc::UnboundedSender<String>),
    /// Somebody wants to know the state of the job.
    StateWanted(StateRequest),
}

/// So much of a rank's stream is out.
#[derive(Debug, Clone, Copy)]
struct Printed {
    rank: Rank,
    stream: u8,
    bytes: u64,
}

struct Launcher {
    plan: Plan,
    key: JobKey,
    job: Job,
    listen: SocketAddr,
    dispatcher: Dispatcher,
    agents: Vec<AgentState>,
    servers: Servers,
    scheduling: scheduling::Link,
    job_dir: Option<JobDir>,
    /// What images are encrypted with, if they are.
    image_key: Option<JobKey>,
    /// What a later launcher must know.
    saved: Saved,
    /// What [`ftmpi_wire::control::JobView::oversubscribed`] says, once it is decided.
    oversubscribed: Option<bool>,
    saved_changed: bool,
    /// Files in [`Saved::files`], and whether there are new ones: a program may make very many.
    files: HashSet<String>,
    files_changed: bool,
    /// The first wave that was committed in this run.
    first_wave: Option<ImageNo>,
    progress: Option<Progress>,
    discovery_asked: bool,
    discovery_done: bool,
    printer: Printer,
    recorder: Recorder,
    input: StandardInput,
    printed: Vec<[u64; 2]>,
    /// How ranks were executed, where not as the command line says.
    actual_commands: HashMap<Rank, ActualCommand>,
    faults: FaultClock,
    /// Points that have killed their rank: (index of the fault, rank).
    fired: HashSet<(usize, Rank)>,
    no_image_reasons: HashSet<String>,
    begin: Instant,
    running_since: Option<Instant>,
    begun: bool,
    /// A rank was told to start.
    started: bool,
    events: mpsc::UnboundedSender<LauncherEvent>,
    outcome: Option<(i32, Option<String>, bool)>,
    interrupted: bool,
    /// Last images are being taken.
    suspending: bool,
    /// Who waits for images.
    requests: Vec<control::ImageRequest>,
}

/// Runs a job; the exit code.
///
/// # Errors
/// It could not begin.
pub fn run(plan: Plan) -> anyhow::Result<i32> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let code = runtime.block_on(run_job(plan));
    runtime.shutdown_background();
    code
}

async fn run_job(plan: Plan) -> anyhow::Result<i32> {
    if let Err(e) = check_programs(&plan) {
        eprintln!("ftmpiexec: {e}");
        return Ok(e.exit_code());
    }
    let style = Style { prepend_rank: plan.prepend_rank, whole_lines: plan.whole_lines };
    let printer = Printer::start(style);
    let mut signals = Signals::new()?;
    let key = JobKey::generate();
    let bind = if plan.is_anything_remote() { "0.0.0.0:0" } else { "127.0.0.1:0" };
    let mut listener = Listener::bind(bind, key.clone()).await.context("listening for agents")?;
    let listen = listener.local_addr()?;
    let job_dir = if plan.traits.is_fault_tolerant() { Some(JobDir::take(&plan)?) } else { None };
    let (events, mut inbox) = mpsc::unbounded_channel();
    let ready = match Ready::of(&plan, job_dir.as_ref(), &printer, &events) {
        Ok(ready) => ready,
        Err(why) => {
            // Nothing has begun in it.
            if let Some(directory) = job_dir {
                directory.discard(&printer);
            }
            return Err(why);
        }
    };
    if let Some(directory) = &job_dir {
        directory.announce(&plan, &printer);
    }
    let size = plan.placement.len();
    let mut launcher = Launcher {
        dispatcher: Dispatcher::new(settings::dispatcher_settings(&plan)),
        agents: ready.agents,
        servers: ready.servers,
        scheduling: scheduling::Link::default(),
        recorder: Recorder::new(&plan),
        input: ready.input,
        printed: ready.printed,
        actual_commands: ready.saved.actual_commands.iter().cloned().collect(),
        faults: FaultClock::new(&plan.faults, size as u32),
        fired: HashSet::new(),
        no_image_reasons: HashSet::new(),
        job: ready.job,
        begin: Instant::now(),
        running_since: None,
        begun: false,
        started: false,
        outcome: None,
        interrupted: false,
        suspending: false,
        requests: Vec::new(),
        plan,
        key,
        listen,
        job_dir,
        image_key: ready.image_key,
        files: ready.saved.files.iter().cloned().collect(),
        saved: ready.saved,
        oversubscribed: ready.oversubscribed,
        saved_changed: false,
        files_changed: false,
        first_wave: None,
        progress: ready.progress,
        discovery_asked: false,
        discovery_done: false,
        printer,
        events,
    };
    if let Some(directory) = &launcher.job_dir
        && let Err(e) = control::listen(directory.path(), launcher.events.clone())
    {
        launcher
            .printer
            .notice(format!("nobody can ask this job for images: no socket in its directory: {e}"));
    }
    launcher.servers.start_all(&launcher.key, &launcher.events);
    launcher.carry_out();
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut second = tokio::time::interval(Duration::from_secs(1));
    second.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while launcher.outcome.is_none() {
        tokio::select! {
            Some(event) = inbox.recv() => launcher.handle(event),
            caller = listener.next() => if let Ok(caller) = caller {
                launcher.agent_calls(caller).await;
            },
            _ = tick.tick() => launcher.tick(),
            _ = second.tick() => launcher.every_second(),
            signal = signals.next() => launcher.interrupt(signal),
        }
    }
    launcher.finish(inbox, signals).await
}

impl Launcher {
    fn now(&self) -> Duration {
        self.begin.elapsed()
    }

    fn notify_dispatcher(&mut self, input: Input) {
        let now = self.now();
        self.dispatcher.handle(now, input);
        self.carry_out();
    }

    fn carry_out(&mut self) {
        // Ranks ask for their servers at once: these come first.
        if !self.begun && !self.dispatcher.has_ended() {
            if !self.servers.all_up() {
                return;
            }
            if self.plan.continued.is_some() && !self.discovery_done {
                return self.start_discovery();
            }
            self.begun = true;
        }
        while let Some(command) = self.dispatcher.next_command() {
            match command {
                Command::StartAgent { host } => self.start_agent(host),
                Command::Announce { rank, incarnation, host } => {
                    self.job.view.incarnations[rank.index()] = incarnation;
                    self.job.view.host_of[rank.index()] = host;
                    if let Some(progress) = &mut self.progress {
                        progress.set_incarnation(rank, incarnation);
                    }
                    self.to_all(&ToAgent::Announce { rank, incarnation, host });
                }
                Command::Start { rank, incarnation, host, images, or_beginning, no_newer } => {
                    self.starts();
                    if images.is_empty() && self.plan.traits.all_return() {
                        // The agent tells the program so (`view_for`).
                        let node = &mut self.saved.node_of[rank.index()];
                        self.saved_changed |= std::mem::replace(node, host) != host;
                    }
                    let start = Start {
                        rank,
                        incarnation,
                        images: images.into_iter().map(Into::into).collect(),
                        or_beginning,
                        no_newer,
                        printed: self.printed[rank.index()],
                        fed: rank == Rank(0),
                        inject: self.points_for(rank),
                        actual_command: self.actual_commands.get(&rank).cloned(),
                        oversubscribed: self.oversubscribed(),
                        files: self.saved.files.clone(),
                        files_since: self.saved.files_since,
                    };
                    self.to_agent(host, ToAgent::Start(start));
                }
                Command::Schedule(word) => self.scheduling.say(word),
                Command::TakeImage { rank, incarnation, image, keep } => {
                    self.order_rank(rank, incarnation, RankOrder::TakeImage { image, keep });
                }
                Command::Kill { rank, incarnation } => {
                    // No point of fault injection did this.
                    self.recorder.killed(rank, incarnation, self.begin.elapsed());
                    let (host, _) = self.dispatcher.location(rank);
                    self.to_agent(host, ToAgent::Kill { rank, signal: libc::SIGKILL });
                }
                Command::WaveOver(over) => {
                    self.recorder.wave_over(&over);
                    if self.plan.verbose {
                        let (wave, seconds) = (over.wave, over.took.as_secs_f64());
                        let megabytes = over.bytes as f64 / 1e6;
                        let what = if over.complete.is_some() { "complete" } else { "void" };
                        self.printer.notice(format!(
                            "wave {wave} is {what} after {seconds:.2} s, {megabytes:.1} MB"
                        ));
                    }
                }
                Command::ImageCommitted { rank, incarnation, image, oldest } => {
                    // With one wave alone ranks may still return to the beginning.
                    let alone = *self.first_wave.get_or_insert(image) == oldest && image == oldest;
                    if self.job.view.files != 0 && !alone && oldest > self.saved.files_since {
                        self.saved.files_since = oldest;
                        self.files_changed = true;
                    }
                    self.order_rank(rank, incarnation, RankOrder::ImageCommitted { image, oldest });
                }
                Command::ImageFailed { rank, incarnation, image } => {
                    self.order_rank(rank, incarnation, RankOrder::ImageFailed(image));
                }
                Command::AllFinalized { rank, incarnation } => {
                    self.order_rank(rank, incarnation, RankOrder::AllFinalized);
                }
                Command::AllExiting { rank, incarnation } => {
                    self.order_rank(rank, incarnation, RankOrder::AllExiting);
                }
                Command::Die { rank, incarnation, code } => {
                    self.order_rank(rank, incarnation, RankOrder::Die(code));
                }
                Command::Say(line) => self.printer.notice(line),
                Command::End { code, text, keep } => self.outcome = Some((code, text, keep)),
            }
        }
    }

    /// A rank starts: all hosts and servers of this run have been there. Until then the plan of the run before
    /// stands, for this one may be a mistake.
    fn starts(&mut self) {
        if !std::mem::replace(&mut self.started, true) && self.plan.continued.is_some() {
            self.save();
        }
    }

    /// Whether there is anything in the job's directory that a later launcher could go on with.
    fn has_begun(&self) -> bool {
        self.started || self.plan.continued.is_some()
    }

    fn save(&mut self) {
        if let Some(directory) = &self.job_dir
            && let Err(e) = directory.save(&self.saved)
        {
            self.printer.notice(format!("{e:#}; the job goes on, but cannot be continued later"));
        }
    }

    fn order_rank(&mut self, rank: Rank, incarnation: Incarnation, order: RankOrder) {
        let (host, _) = self.dispatcher.location(rank);
        self.to_agent(host, ToAgent::Forward { rank, incarnation, order });
    }

    fn handle(&mut self, event: LauncherEvent) {
        match event {
            LauncherEvent::Agent { host, launch, message } => {
                if self.agents[host as usize].is_launch(launch) {
                    self.on_agent_message(host, *message);
                }
            }
            LauncherEvent::AgentGone { host, launch, why } => self.agent_gone(host, launch, &why),
            LauncherEvent::AgentEnded { host, launch, why } => self.agent_ended(host, launch, why),
            LauncherEvent::AgentLate { host, launch } => self.agent_late(host, launch),
            LauncherEvent::AgentUnsendable { host, launch, why } => {
                self.on_unsendable(host, launch, &why)
            }
            LauncherEvent::ServerUp { index, launch, address } => {
                match self.servers.is_up(index, launch, address) {
                    Ok(Some(ServerKind::CheckpointScheduler)) => self.scheduler_listens(address),
                    Ok(_) => {}
                    Err(text) => return self.cannot_go_on(text),
                }
                self.on_server_line(index, launch, None);
                self.carry_out();
                self.send_servers();
            }
            LauncherEvent::ServerLine { index, launch, text } => {
                self.on_server_line(index, launch, Some(text));
            }
            LauncherEvent::ServerEnded { index, launch, why } => {
                self.server_ended(index, launch, &why)
            }
            LauncherEvent::ServerAgain { index } => {
                self.servers.start(index, &self.key, &self.events);
            }
            LauncherEvent::Scheduler { number, event } => self.on_scheduler(number, event),
            LauncherEvent::Discovered(past) => self.on_discovery(past),
            LauncherEvent::ImagesWanted(tell) => self.images_wanted(tell),
            LauncherEvent::StateWanted(request) => {
                let _ = request.send(self.metrics_state());
            }
            LauncherEvent::Printed { host, launch, bytes, read, upto } => {
                self.printed(host, launch, bytes, upto, read);
                if !read {
                    // As a program that writes into a closed pipe.
                    let code = 128 + libc::SIGPIPE;
                    self.notify_dispatcher(Input::Stop { code, text: String::new() });
                }
            }
            LauncherEvent::Input(bytes) => {
                if let Some(progress) = self.progress.as_mut().filter(|_| bytes.is_empty()) {
                    progress.input_has_ended();
                }
                if let Err(e) = self.input.arrived(bytes) {
                    self.printer.notice(format!(
                        "standard input cannot be kept in the job's directory: {e}; no more of it is \
                         read until it can"
                    ));
                }
                self.pump_input();
            }
        }
    }

    fn tick(&mut self) {
        self.notify_dispatcher(Input::Tick);
        match self.input.try_again() {
            Some(Ok(())) => self.pump_input(),
            Some(Err(e)) if self.input.trouble() > self.plan.storage_patience => {
                let text = format!("standard input cannot be kept in the job's directory: {e}");
                self.notify_dispatcher(Input::GiveUp { code: 1, text });
            }
            Some(Err(_)) | None => {}
        }
        if self.started && std::mem::take(&mut self.saved_changed) {
            self.save();
        }
        if let Some(since) = self.running_since {
            for due in self.faults.take_due(since.elapsed()) {
                self.inject(due);
            }
        }
    }

    fn every_second(&mut self) {
        self.look_at_the_time_limit();
        self.saved_changed |= std::mem::take(&mut self.files_changed);
        for host in 0..self.agents.len() as u32 {
            let agent = &mut self.agents[host as usize];
            if !agent.is_up() {
                continue;
            }
            agent.missed += 1;
            if agent.missed > MISSED_BEATS_MAX {
                let launch = agent.launch;
                self.agent_gone(host, launch, "its agent has been silent for 10 s");
            }
        }
        if let Some(progress) = &mut self.progress {
            if let Some(file) = progress.take_unsynced() {
                tokio::task::spawn_blocking(move || file.sync_data());
            }
            if let Some(e) = progress.take_trouble() {
                self.printer.notice(format!(
                    "how far the job has come cannot be stored: {e}; the job goes on, but if this \
                     launcher dies, a later one may repeat output (told once)"
                ));
            }
        }
        let failures = self.dispatcher.failures();
        let back = failures.iter().filter(|failure| failure.caught_up_at.is_some()).count();
        self.printer.status(format!(
            "{} s · {} of {} ranks running · {} images · {} failures · {} recovered",
            self.begin.elapsed().as_secs(),
            self.recorder.running(),
            self.plan.placement.len(),
            self.recorder.images(),
            failures.len(),
            back
        ));
    }
}
