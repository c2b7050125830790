//! The launcher: carries out what the dispatcher decides.
//!
//! Guarantees: the launcher starts agents and servers and ends them, however the job ends. Every
//! report goes to the dispatcher, and only the dispatcher decides. Text of the ranks is printed
//! once. Two signals at most end everything.
//!
//! | module | subject |
//! | --- | --- |
//! | [`preflight`] | what can fail before anything starts |
//! | [`events`], [`commands`] | what the launcher waits for; the dispatcher's commands |
//! | [`agents`], [`agent_link`], [`agent_process`] | the agents of the hosts |
//! | [`child_lines`] | lines and end of a process that the launcher started |
//! | [`reports`], [`rank_output`], [`input`] | what ranks report, print and read |
//! | [`network`] | links that are down |
//! | [`joining_nodes`] | nodes that join a Slurm allocation |
//! | [`new_processes`], [`ports`] | what ranks ask: new processes, ports, names |
//! | [`joins`] | processes that other commands bring |
//! | [`servers`], [`scheduling`] | the servers and the checkpoint scheduler |
//! | [`job_store`], [`restart_discovery`] | what a later launcher needs, and finds |
//! | [`restore_check`] | whether images fit their hosts |
//! | [`stopping`], [`ending`] | signals, time limits, and the end of the job |
//! | [`batch_log`], [`recording`] | what a job says by itself; its history |
//! | [`faults`] | `--inject` |
//! | [`control`], [`job_status`], [`observed`] | users who ask (`ftmpi-ctl`); stalls |
//! | [`page_links`], [`metrics_state`] | users who ask for metrics |
//! | [`notices`] | every sentence about failures and recoveries |
//! | [`protocol_advice`] | what `--protocol auto` chose, and whether another protocol is better |

mod agent_link;
mod agent_process;
mod agents;
mod batch_log;
mod child_lines;
mod commands;
mod control;
mod discovered;
mod ending;
mod events;
mod faults;
mod input;
mod job_status;
mod job_store;
mod joining_nodes;
mod joins;
mod metrics_state;
mod network;
mod new_processes;
mod observed;
mod oversubscription;
mod page_links;
mod ports;
mod preflight;
mod protocol_advice;
mod rank_output;
mod recording;
mod reports;
mod restart_discovery;
mod restore_check;
mod scheduling;
mod servers;
mod settings;
pub mod signals;
mod start_waits;
mod starts;
mod status_text;
mod stopping;
mod termination;

use crate::agent_protocol::{Job, RankOrder, ToAgent};
use crate::cli::{Plan, Reason, warnings_of_standbys};
use crate::history::History;
use crate::history::calls::Calls;
use crate::job_dir::JobDir;
use crate::output::{Printer, Style};
use crate::report::Recorder;
use crate::tuning::TICK;
use crate::{mpir, notices};
use agents::{AgentKeys, Agents};
use anyhow::Context;
use batch_log::BatchLog;
use events::LauncherEvent;
use faults::Injection;
use ftmpi_protocols::dispatcher::{Asker, Dispatcher, Input};
use ftmpi_protocols::stall::StallWatch;
use ftmpi_servers::job_control::Registration;
use ftmpi_transport::auth::{JobKey, Listener};
use ftmpi_wire::control::LoadedObject;
use ftmpi_wire::new_processes::JobQuestion;
use ftmpi_wire::{Incarnation, Rank};
use input::StandardInput;
use job_store::JobStore;
use network::Network;
use observed::Observed;
use preflight::{Prepared, check_programs};
use rank_output::RankOutput;
use restart_discovery::Discovery;
use servers::Servers;
use signals::Signals;
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::io::IsTerminal;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use stopping::RunState;
use termination::Terminations;
use tokio::sync::mpsc;

/// The state of the launcher.
struct Launcher {
    plan: Plan,
    /// What every agent receives first.
    job: Job,
    key: JobKey,
    begin: Instant,
    run: RunState,
    terminations: Terminations,
    dispatcher: Dispatcher,
    agents: Agents,
    servers: Servers,
    network: Network,
    scheduling: scheduling::Link,
    discovery: Discovery,
    store: JobStore,
    printer: Printer,
    output: RankOutput,
    input: StandardInput,
    recorder: Recorder,
    history: History,
    /// Calls of MPI, with `--trace`.
    calls: Calls,
    batch_log: BatchLog,
    /// What debuggers see.
    mpir: mpir::Table,
    injection: Injection,
    ports: ports::Ports,
    /// New processes for which there are no hosts yet.
    asked_for: Vec<new_processes::Asked>,
    joins: joins::Joins,
    /// Questions of ranks that wait until no wave is under way.
    held_questions: VecDeque<(Asker, JobQuestion)>,
    /// Who waits for images.
    requests: control::ImageRequests,
    /// Who waits for something else.
    pending: control::Pending,
    /// The entry of this launcher among those that run here.
    registration: Option<Registration>,
    observed: Observed,
    stalls: StallWatch,
    /// Whether some host has more ranks than processors, once that is decided.
    oversubscribed: Option<bool>,
    /// Ranks that have called `MPI_Init`.
    in_mpi: BTreeSet<Rank>,
    /// How the last incarnation of each rank ended, as an exit code.
    exit_codes: BTreeMap<Rank, i32>,
    /// An image could not be used because a file of the program is gone.
    file_gone: bool,
    /// What the first incarnation of each rank had loaded.
    loaded: BTreeMap<Rank, Vec<LoadedObject>>,
    /// Reasons for a rank without images that were printed.
    no_image_reasons: HashSet<String>,
    /// It was printed that full logs gave up a rank without images.
    unprotected_said: bool,
    /// The user sees a terminal, or wants to see more.
    asked_for_details: bool,
    /// It was printed that the ranks exchange little.
    exchange_said: bool,
    /// MPI libraries that are not ours and that ranks have loaded: each is told once.
    other_mpis: HashSet<String>,
    /// Lines about hosts and images that do not fit: each is told once.
    misfits_told: HashSet<String>,
    /// The launcher's own queue, for its tasks.
    events: mpsc::UnboundedSender<LauncherEvent>,
}

/// Runs a job; the result is the exit code. `from_caller`: descriptors for the ranks of this host.
///
/// # Errors
/// The job could not begin.
pub fn run(plan: Plan, from_caller: Vec<OwnedFd>) -> anyhow::Result<i32> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let code = runtime.block_on(run_job(plan, from_caller));
    runtime.shutdown_background();
    code
}

async fn run_job(plan: Plan, from_caller: Vec<OwnedFd>) -> anyhow::Result<i32> {
    if let Err(e) = check_programs(&plan) {
        eprintln!("ftmpiexec: {e}");
        return Ok(e.exit_code());
    }
    ftmpi_servers::client::set_silence_limit(plan.times.connection());
    let printer = Printer::start(style(&plan));
    let mut signals = Signals::new()?;
    let key = JobKey::generate();
    let ip = plan.listen_on(plan.is_anything_remote());
    let mut listener = Listener::bind_within(ip, plan.port_range.as_ref(), key.clone())
        .await
        .context("listening for agents")?;
    preflight::check_output_files(&plan)?;
    let directory = match plan.traits.is_fault_tolerant() {
        true => Some(JobDir::take(plan.continued.as_deref(), plan.job_dir.as_deref())?),
        false => None,
    };
    let (events, mut inbox) = mpsc::unbounded_channel();
    let prepared = match Prepared::new(&plan, directory.as_ref(), &printer, &events) {
        Ok(prepared) => prepared,
        Err(e) => {
            // Nothing has begun in the directory.
            if let Some(Err(e)) = directory.map(JobDir::discard) {
                printer.notice(e.to_string());
            }
            return Err(e);
        }
    };
    // Scripts that look at the text of a program need not know of a private directory, nor of a
    // choice that does what the guide says.
    let asked = batch_log::speaks(&plan) || std::io::stderr().is_terminal();
    if let Some(directory) = &directory
        && (asked || directory.temporary().is_none())
    {
        printer.notice(directory.describe(plan.ckpt_interval.is_some()));
    }
    if let Some(choice) = &plan.choice
        && (asked || choice.reason == Reason::NoImages)
    {
        printer.notice(protocol_advice::chosen(choice));
    }
    if plan.shares_in_vain() {
        printer.notice(protocol_advice::shares_in_vain(&plan.protocol.name));
    }
    for line in warnings_of_standbys(&plan.standbys, &plan.machines) {
        printer.notice(line);
    }
    if batch_log::speaks(&plan) {
        printer.notice(batch_log::protection(&plan));
    }
    let listen = listener.local_addr()?;
    let mut launcher = Launcher::new(plan, (key, listen), prepared, directory, printer, events);
    launcher.agents.set_from_caller(from_caller);
    launcher.load_libraries();
    launcher.listen_for_users();
    joining_nodes::watch(&launcher.plan, &launcher.events);
    launcher.servers.start_all(&launcher.key, &launcher.events);
    launcher.carry_out();
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut second = tokio::time::interval(Duration::from_secs(1));
    second.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut beat = tokio::time::interval(launcher.plan.times.interval());
    beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while !launcher.run.is_over() {
        tokio::select! {
            Some(event) = inbox.recv() => launcher.handle(event),
            caller = listener.next() => if let Ok(caller) = caller {
                launcher.agents.accept(caller).await;
            },
            _ = tick.tick() => launcher.tick(),
            _ = second.tick() => launcher.every_second(),
            _ = beat.tick() => {
                launcher.look_at_heartbeats();
                launcher.look_at_paths();
            }
            signal = signals.next() => launcher.interrupt(signal),
        }
    }
    launcher.finish(inbox, signals).await
}

/// How text of the ranks is printed.
fn style(plan: &Plan) -> Style {
    let host = |host: &u32| plan.machines[*host as usize].name.clone();
    Style {
        prefix: plan.prefix.clone(),
        hosts: plan.placement.iter().map(host).collect(),
        whole_lines: plan.whole_lines,
    }
}

impl Launcher {
    fn new(
        plan: Plan,
        (key, listen): (JobKey, std::net::SocketAddr),
        prepared: Prepared,
        directory: Option<JobDir>,
        printer: Printer,
        events: mpsc::UnboundedSender<LauncherEvent>,
    ) -> Self {
        let Prepared { job, image_key, servers, saved, oversubscribed, progress, .. } = prepared;
        let starts = servers.starts().clone();
        let keys = AgentKeys { key: key.clone(), image_key };
        let temporary = directory.as_ref().and_then(JobDir::temporary);
        let programs =
            plan.program_of.iter().map(|&program| plan.programs[program as usize].path());
        let programs = programs.collect();
        let mut agents = Agents::new(&plan, keys, listen, temporary, (starts, events.clone()));
        if let (Some(earlier), Some(progress)) = (&plan.continued, &progress) {
            agents.give_leftovers(&earlier.saved.machines, &plan, progress.ranks());
        }
        Self {
            dispatcher: Dispatcher::new(settings::dispatcher_settings(&plan)),
            agents,
            servers,
            network: Network::new(plan.machines.len(), plan.launcher_patience, plan.times),
            scheduling: scheduling::Link::default(),
            discovery: Discovery::default(),
            store: JobStore::new(directory, saved, progress),
            output: RankOutput::new(prepared.printed),
            input: prepared.input,
            recorder: Recorder::new(&plan),
            history: History::new(plan.placement.len()),
            calls: Calls::default(),
            batch_log: BatchLog::new(&plan),
            mpir: mpir::Table::new(programs),
            injection: Injection::new(&plan),
            ports: ports::Ports::new(&plan.job_id),
            asked_for: Vec::new(),
            joins: joins::Joins::default(),
            held_questions: VecDeque::new(),
            requests: control::ImageRequests::default(),
            pending: control::Pending::default(),
            registration: None,
            observed: Observed::new(plan.placement.len(), plan.machines.len()),
            stalls: StallWatch::new(plan.stall),
            oversubscribed,
            in_mpi: BTreeSet::new(),
            exit_codes: BTreeMap::new(),
            file_gone: false,
            loaded: BTreeMap::new(),
            no_image_reasons: HashSet::new(),
            unprotected_said: false,
            asked_for_details: plan.verbose || std::io::stderr().is_terminal(),
            exchange_said: false,
            other_mpis: HashSet::new(),
            misfits_told: HashSet::new(),
            job,
            key,
            begin: Instant::now(),
            run: RunState::default(),
            terminations: Terminations::default(),
            plan,
            printer,
            events,
        }
    }

    /// Time since the launcher began.
    fn now(&self) -> Duration {
        self.begin.elapsed()
    }

    /// Hands an input to the dispatcher and carries out its commands.
    fn notify_dispatcher(&mut self, input: Input) {
        let now = self.now();
        self.dispatcher.handle(now, input);
        self.carry_out();
        self.answer_held();
        self.answer_pending();
    }

    /// Has its agent pass an order on to a rank.
    fn order_rank(&mut self, rank: Rank, incarnation: Incarnation, order: RankOrder) {
        let (host, _) = self.dispatcher.location(rank);
        self.agents.send(host, ToAgent::Forward { rank, incarnation, order });
    }

    fn handle(&mut self, event: LauncherEvent) {
        match event {
            LauncherEvent::Agent { host, launch, message } => {
                if self.agents.is_launch(host, launch) {
                    self.on_agent_message(host, *message);
                }
            }
            LauncherEvent::AgentGone { host, launch, why } => self.agent_gone(host, launch, why),
            LauncherEvent::AgentEnded { host, launch, why } => self.agent_ended(host, launch, why),
            LauncherEvent::AgentLate { host, launch } => self.agent_late(host, launch),
            LauncherEvent::AgentUnsendable { host, launch, why } => {
                self.on_unsendable(host, launch, &why);
            }
            LauncherEvent::ServerUp { index, launch, address } => {
                self.server_up(index, launch, address);
            }
            LauncherEvent::ServerLine { index, launch, text } => {
                self.on_server_line(index, launch, Some(text));
            }
            LauncherEvent::ServerStorage { index, launch, trouble } => {
                self.server_storage(index, launch, trouble);
            }
            LauncherEvent::LogsNeedRoom { index, launch, why } => {
                self.logs_need_room(index, launch, &why);
            }
            LauncherEvent::ServerPinged { index, launch, trouble } => {
                self.server_pinged(index, launch, trouble);
            }
            LauncherEvent::ServerEnded { index, launch, why } => {
                self.server_ended(index, launch, &why);
            }
            LauncherEvent::RestartServer { index } => {
                self.servers.start(index, &self.key, &self.events);
            }
            LauncherEvent::Scheduler { number, event } => self.on_scheduler(number, event),
            LauncherEvent::Discovered(found) => self.on_discovery(found),
            LauncherEvent::ImagesWanted(answers) => self.images_wanted(answers),
            LauncherEvent::Asked { verb, answers } => self.asked(verb, answers),
            LauncherEvent::JoinAsked { request, lines } => self.join_asked(*request, lines),
            LauncherEvent::StateWanted(question, request) => self.state_wanted(question, request),
            LauncherEvent::NodesJoined(nodes) => self.nodes_joined(nodes),
            LauncherEvent::Notice(line) => self.printer.notice(line),
            LauncherEvent::Printed { host, launch, bytes, upto, delivery } => {
                self.printed((host, launch), bytes, upto, delivery);
                self.look_at_delivery(upto.stream, delivery);
            }
            LauncherEvent::Input(bytes) => self.input_arrived(bytes),
        }
    }

    fn tick(&mut self) {
        self.notify_dispatcher(Input::Tick);
        self.retry_input();
        if self.run.started {
            let saved = self.store.save_soon();
            self.report_unsaved(saved);
        }
        let dispatcher = &self.dispatcher;
        for due in self.injection.take_due(|rank| dispatcher.location(rank).0) {
            self.inject(due);
        }
    }

    fn every_second(&mut self) {
        self.look_at_the_time_limit();
        self.look_at_the_start();
        self.store.every_second();
        self.look_at_servers();
        if let Some(file) = self.store.take_unsynced() {
            tokio::task::spawn_blocking(move || file.sync_data());
        }
        if let Some(e) = self.store.progress().and_then(|progress| progress.take_trouble()) {
            self.printer.notice(notices::progress_lost(&e));
        }
        self.observe_all();
        self.look_for_stalls();
        self.show_status();
        self.look_at_batch_log();
    }

    fn show_status(&self) {
        let failures = self.dispatcher.failures();
        let recovered = failures.iter().filter(|failure| failure.caught_up_at.is_some()).count();
        self.printer.status(status_text::status(&status_text::Status {
            seconds: self.begin.elapsed().as_secs(),
            running: self.recorder.running(),
            ranks: self.plan.placement.len(),
            images: self.recorder.images(),
            failures: failures.len(),
            recovered,
        }));
    }

    /// Tells the user that the plan of the job could not be stored.
    fn report_unsaved(&self, saved: anyhow::Result<()>) {
        if let Err(e) = saved {
            self.printer.notice(notices::plan_unsaved(&e));
        }
    }
}
