//! The agents as the launcher sees them: started here or over ssh, connected, lost, started again.

use super::agent_link::{read_agent, write_agent};
use super::agent_process::{AgentStarter, run_agent_process};
use super::events::LauncherEvent;
use super::starts::{NOT_STARTED, Starts, Underway};
use super::{Launcher, notices};
use crate::agent::{started_at, state_of};
use crate::agent_protocol::{AgentSetup, FRAME_BYTES_MAX, FromAgent, ProcessId, ToAgent};
use crate::cli::Plan;
use crate::heartbeat::{MissedBeats, Seen, Times};
use crate::host_limits::HostLimits;
use crate::job_dir::progress::RankProgress;
use crate::locality::own_address_towards;
use crate::machine::Machine;
use crate::own_link;
use crate::restore_facts::RestoreFacts;
use crate::tuning::{AGENT_RESTART_LIMIT, AGENT_RESTARTS_MAX, AGENT_START_LIMIT};
use ftmpi_checkpoint::inheritance;
use ftmpi_protocols::dispatcher::Input;
use ftmpi_transport::auth::{self, Authenticated, JobKey};
use ftmpi_transport::framed::Framed;
use ftmpi_wire::Rank;
use ftmpi_wire::hello::{Purpose, Welcome};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};

/// What an agent says when it is ready.
#[derive(Debug)]
pub struct AgentReady {
    /// The port on which it accepts channels.
    pub port: u16,
    /// Its process.
    pub process: ProcessId,
    /// Processors that its ranks may use.
    pub processors: u32,
    /// What decides whether its host can restore images.
    pub restore_facts: Box<RestoreFacts>,
    /// What its ranks may use.
    pub limits: Box<HostLimits>,
}

/// One agent.
#[derive(Debug, Default)]
pub struct AgentState {
    /// Counts the starts of the agent.
    pub launch: u64,
    /// Missing heartbeats in a row.
    missed: MissedBeats,
    /// The process that was started (the agent, or its ssh) has not ended.
    pub child_runs: bool,
    /// The host is down (fault injection).
    pub down: bool,
    /// The connection is open: messages may be on their way.
    pub connected: bool,
    /// Processors of the host; 0: not known.
    pub processors: u32,
    /// What decides whether the host can restore images, once the agent has said so.
    pub restore_facts: Option<Box<RestoreFacts>>,
    /// What its ranks may use, once the agent has said so.
    pub limits: Option<Box<HostLimits>>,
    /// The leaders of the process groups of the host's ranks.
    pub processes: BTreeMap<Rank, ProcessId>,
    link: Option<mpsc::UnboundedSender<ToAgent>>,
    /// Our side of the connection, as the agent sees it.
    seen_as: Option<IpAddr>,
    peer: Option<IpAddr>,
    port: Option<u16>,
    process: Option<ProcessId>,
    kill: Option<oneshot::Sender<()>>,
    /// Its start, until it has connected.
    starting: Option<Underway>,
    failed_starts: u32,
    /// When the agent was lost, if it was up and has not come back.
    lost: Option<Instant>,
}

impl AgentState {
    /// Whether this start is the present one.
    pub fn is_launch(&self, launch: u64) -> bool {
        self.launch == launch
    }

    /// From a start to the first message.
    fn start_limit(&self) -> Duration {
        if self.lost.is_some() { AGENT_RESTART_LIMIT } else { AGENT_START_LIMIT }
    }

    /// Whether the agent has said that it is ready, and was not lost since.
    pub fn is_up(&self) -> bool {
        self.link.is_some() && self.port.is_some()
    }

    /// Heartbeats that are missing now.
    pub fn missed_beats(&self) -> u32 {
        self.missed.count()
    }

    /// Ends the agent's process and the connection to it.
    pub fn kill_hard(&mut self) {
        (self.link, self.starting) = (None, None);
        if let Some(kill) = self.kill.take() {
            let _ = kill.send(());
        }
    }
}

/// A host of the job.
#[derive(Debug)]
struct Host {
    name: String,
    /// Its agent is started over ssh.
    remote: bool,
}

/// All agents of the job.
#[derive(Debug)]
pub struct Agents {
    hosts: Vec<Host>,
    states: Vec<AgentState>,
    key: JobKey,
    image_key: Option<JobKey>,
    /// Where the launcher listens.
    listen: SocketAddr,
    /// The launcher's address in the network that the user names.
    interface: Option<IpAddr>,
    /// Ports on which agents listen, if not any.
    port_range: Option<RangeInclusive<u16>>,
    /// How long silence may last.
    times: Times,
    /// How long agents hold on when none of them hears the launcher.
    patience: Option<Duration>,
    /// The job's directory, if agents on this machine remove it after the launcher's death.
    temporary: Option<PathBuf>,
    starter: AgentStarter,
    /// Descriptors that the caller of the launcher passed on, for ranks of this host.
    from_caller: Vec<OwnedFd>,
    /// The positions in their files before a rank has started.
    positions: Vec<u64>,
    starts: Starts,
    events: mpsc::UnboundedSender<LauncherEvent>,
}

/// What agents receive when they start.
#[derive(Debug)]
pub struct AgentKeys {
    /// The job's key.
    pub key: JobKey,
    /// The key of encrypted images.
    pub image_key: Option<JobKey>,
}

impl Agents {
    /// No agent has been started.
    pub fn new(
        plan: &Plan,
        keys: AgentKeys,
        listen: SocketAddr,
        temporary: Option<PathBuf>,
        (starts, events): (Starts, mpsc::UnboundedSender<LauncherEvent>),
    ) -> Self {
        let hosts: Vec<Host> = plan
            .machines
            .iter()
            .map(|machine| Host {
                name: machine.name.clone(),
                remote: plan.is_remote(&machine.name),
            })
            .collect();
        Self {
            states: hosts.iter().map(|_| AgentState::default()).collect(),
            hosts,
            key: keys.key,
            image_key: keys.image_key,
            listen,
            interface: plan.interface,
            port_range: plan.port_range.clone(),
            patience: own_link::agents_patience(plan.launcher_patience, plan.times),
            times: plan.times,
            temporary,
            starter: AgentStarter::new(plan),
            from_caller: Vec::new(),
            positions: Vec::new(),
            starts,
            events,
        }
    }

    /// A host joins the job; `target`: what the starter is told.
    pub fn add(&mut self, name: String, remote: bool, target: String) {
        self.starter.add(&name, target);
        self.hosts.push(Host { name, remote });
        self.states.push(AgentState::default());
    }

    /// Ranks of this host get these descriptors.
    pub fn set_from_caller(&mut self, descriptors: Vec<OwnedFd>) {
        let position = |fd| rustix::fs::seek(fd, rustix::fs::SeekFrom::Current(0)).unwrap_or(0);
        self.positions = descriptors.iter().map(position).collect();
        self.from_caller = descriptors;
    }

    /// Gives the agents the processes of an earlier run that may have outlived it. The agents kill
    /// them before anything starts on their hosts.
    pub fn give_leftovers(
        &mut self,
        machines_then: &[Machine],
        plan: &Plan,
        then: &[RankProgress],
    ) {
        for (rank, known) in then.iter().enumerate() {
            let Some((process, machine)) =
                known.process.zip(machines_then.get(known.host as usize))
            else {
                continue;
            };
            let place = match self.hosts.iter().position(|now| now.name == machine.name) {
                Some(found) => Some(found),
                // On this machine, under another name.
                None if !plan.is_remote(&machine.name) => {
                    self.hosts.iter().position(|now| !now.remote)
                }
                None => None,
            };
            if let Some(place) = place {
                self.states[place].processes.insert(Rank(rank as u32), process);
            }
        }
    }

    /// One agent.
    pub fn get(&self, host: u32) -> &AgentState {
        &self.states[host as usize]
    }

    /// As [`Agents::get`].
    pub fn get_mut(&mut self, host: u32) -> &mut AgentState {
        &mut self.states[host as usize]
    }

    /// All agents.
    pub fn all(&self) -> &[AgentState] {
        &self.states
    }

    /// As [`Agents::all`].
    pub fn all_mut(&mut self) -> &mut [AgentState] {
        &mut self.states
    }

    /// The name of a host.
    pub fn name(&self, host: u32) -> &str {
        &self.hosts[host as usize].name
    }

    /// Whether the agent of a host is started over ssh.
    pub fn is_remote(&self, host: u32) -> bool {
        self.hosts[host as usize].remote
    }

    /// Whether this start of an agent is the present one.
    pub fn is_launch(&self, host: u32, launch: u64) -> bool {
        self.get(host).is_launch(launch)
    }

    /// Sends a message to an agent, if it is connected.
    pub fn send(&self, host: u32, message: ToAgent) {
        if let Some(link) = &self.get(host).link {
            let _ = link.send(message);
        }
    }

    /// Sends a message to all agents.
    pub fn broadcast(&self, message: &ToAgent) {
        for host in 0..self.states.len() as u32 {
            self.send(host, message.clone());
        }
    }

    /// The process of an agent that is up, for fault injection.
    pub fn process(&self, host: u32) -> Option<ProcessId> {
        self.get(host).process.filter(|_| self.get(host).is_up())
    }

    /// Counts a heartbeat that each agent owes; the agents that owe too many, with their launches.
    pub fn count_heartbeats(&mut self) -> Vec<(u32, u64)> {
        let (times, states) = (self.times, self.states.iter_mut().zip(&self.hosts).enumerate());
        states
            .filter(|(_, (state, _))| state.is_up())
            .filter_map(|(number, (state, host))| {
                let process = state.process.filter(|_| !host.remote);
                let lost = state.missed.interval_passed(times, || look_at(process));
                lost.then_some((number as u32, state.launch))
            })
            .collect()
    }

    /// A heartbeat of an agent came, and is answered.
    pub fn heartbeat(&mut self, host: u32, number: u64) {
        self.get_mut(host).missed.reset();
        self.send(host, ToAgent::HeartbeatReceived { number });
    }

    /// Starts the agent of a host.
    pub fn start(&mut self, host: u32) {
        let remote = self.is_remote(host);
        let state = &mut self.states[host as usize];
        state.kill_hard();
        state.launch += 1;
        state.missed.reset();
        state.port = None;
        state.child_runs = true;
        let launch = state.launch;
        let leftovers = state.processes.values().copied().collect();
        let (kill, killed) = oneshot::channel();
        state.kill = Some(kill);
        if state.down {
            let why = "the host is down (--inject)".to_owned();
            let _ = self.events.send(LauncherEvent::AgentEnded { host, launch, why });
            return;
        }
        let limit = state.start_limit();
        let local = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let name = &self.hosts[host as usize].name;
        let address = match remote {
            true => self.interface.or_else(|| own_address_towards(name)).unwrap_or(local),
            false => local,
        };
        let setup = AgentSetup {
            key: self.key.to_hex(),
            image_key: self.image_key.as_ref().map(JobKey::to_hex),
            host,
            launcher: vec![SocketAddr::new(address, self.listen.port())],
            only_there: self.interface.is_some(),
            leftovers,
            listen: self.listen.ip(),
            port_range: self.port_range.clone(),
            times: self.times,
            patience: self.patience.filter(|_| remote),
            temporary: self.temporary.clone().filter(|_| !remote),
            from_caller: match remote {
                true => Vec::new(),
                false => {
                    let numbers = self.from_caller.iter().map(AsRawFd::as_raw_fd);
                    numbers.zip(self.positions.iter().copied()).collect()
                }
            },
        };
        let line = match serde_json::to_string(&setup) {
            Ok(line) => line + "\n",
            Err(e) => {
                let why = e.to_string();
                let _ = self.events.send(LauncherEvent::AgentEnded { host, launch, why });
                return;
            }
        };
        let mut command = self.starter.command(name, remote);
        if !remote && !self.from_caller.is_empty() {
            inheritance::pass_on(command.as_std_mut(), &self.from_caller);
        }
        let (underway, turn) = self.starts.ask();
        self.states[host as usize].starting = Some(underway);
        let (events, mut killed) = (self.events.clone(), killed);
        tokio::spawn(async move {
            if !turn.comes(&mut killed).await {
                let why = NOT_STARTED.to_owned();
                let _ = events.send(LauncherEvent::AgentEnded { host, launch, why });
                return;
            }
            let late = events.clone();
            tokio::spawn(async move {
                tokio::time::sleep(limit).await;
                let _ = late.send(LauncherEvent::AgentLate { host, launch });
            });
            let why = run_agent_process(command, line, killed).await;
            let _ = events.send(LauncherEvent::AgentEnded { host, launch, why });
        });
    }

    /// A process that holds the job's key calls.
    pub async fn accept(&mut self, mut caller: Authenticated) {
        let Purpose::Agent { host } = caller.purpose else {
            let why = Welcome::No("this is a launcher: only agents call here".into());
            let _ = caller.responder.answer(&mut caller.stream, why).await;
            return;
        };
        let expected = self.states.get_mut(host as usize).filter(|state| state.link.is_none());
        let Some(state) = expected else {
            let why = Welcome::No("no agent of that host is expected".into());
            let _ = caller.responder.answer(&mut caller.stream, why).await;
            return;
        };
        if caller.responder.answer(&mut caller.stream, Welcome::Yes).await.is_err() {
            return;
        }
        state.seen_as = auth::addresses(&caller.stream).map(|(ours, _)| ours);
        state.peer = Some(caller.peer.ip());
        let launch = state.launch;
        let (link, outbox) = mpsc::unbounded_channel();
        state.link = Some(link);
        (state.connected, state.starting) = (true, None);
        let framed = Framed::<TcpStream, ToAgent, FromAgent>::new(caller.stream, FRAME_BYTES_MAX);
        let (reader, writer) = framed.split();
        tokio::spawn(read_agent(reader, host, launch, self.events.clone()));
        tokio::spawn(write_agent(writer, outbox, (host, launch), self.events.clone()));
    }

    /// An agent is ready.
    pub fn set_ready(&mut self, host: u32, ready: AgentReady) {
        let state = self.get_mut(host);
        state.port = Some(ready.port);
        state.process = Some(ready.process);
        state.processors = ready.processors;
        state.restore_facts = Some(ready.restore_facts);
        state.limits = Some(ready.limits);
        state.missed.reset();
        (state.failed_starts, state.lost) = (0, None);
        // The agent has killed the processes that it was given.
        state.processes.clear();
    }

    /// Tells each agent where the others are, as seen from its host.
    pub fn introduce(&self) {
        for (host, from) in self.states.iter().enumerate().filter(|(_, from)| from.is_up()) {
            let seen_as = from.seen_as;
            let addresses = self.states.iter().map(|to| {
                let (peer, port) = (to.peer?, to.port?);
                // An agent on the launcher's host has the launcher's address.
                let ip = if peer.is_loopback() { seen_as? } else { peer };
                Some(SocketAddr::new(ip, port))
            });
            self.send(host as u32, ToAgent::Agents(addresses.collect()));
        }
    }

    /// Our address as the agent of a host sees it, once the agent has connected.
    pub fn seen_as(&self, host: u32) -> Option<IpAddr> {
        self.get(host).seen_as
    }

    /// The address of a host in the network that the user names, once its agent has connected.
    pub fn in_network(&self, name: &str) -> Option<IpAddr> {
        let mut hosts = self.hosts.iter().zip(&self.states);
        let known = hosts.find(|(host, _)| host.name == name && host.remote)?;
        known.1.peer.filter(|_| self.interface.is_some())
    }

    /// An agent that was up is lost. `false`: that is known, or another start of it runs.
    fn lose(&mut self, host: u32, launch: u64) -> bool {
        let remote = self.is_remote(host);
        let state = self.get_mut(host);
        if !state.is_launch(launch) || !state.is_up() {
            return false;
        }
        state.connected = false;
        state.kill_hard();
        state.port = None;
        state.lost = Some(Instant::now());
        if !remote {
            state.kill_leftovers();
        }
        true
    }

    /// A start of an agent failed. `true`: there is hope, and it is started again.
    fn retry_start(&mut self, host: u32) -> bool {
        let state = self.get_mut(host);
        state.kill_hard();
        state.failed_starts += 1;
        let hopeful = state.lost.is_some_and(|since| since.elapsed() < AGENT_RESTART_LIMIT)
            && state.failed_starts < AGENT_RESTARTS_MAX;
        if hopeful {
            self.start(host);
        }
        hopeful
    }
}

/// Looks at the process of an agent, if it is on this host.
fn look_at(process: Option<ProcessId>) -> Seen {
    let Some(process) = process else { return Seen::Nothing };
    match state_of(process.pid) {
        // That it has ended is reported by whoever started it.
        _ if started_at(process.pid) != Some(process.started) => Seen::Running,
        Some('T' | 't') => Seen::Stopped,
        _ => Seen::Running,
    }
}

impl AgentState {
    /// Kills what an agent on this machine left when it died. Its ranks got the death signal; their
    /// children did not.
    fn kill_leftovers(&self) {
        for process in self.processes.values() {
            let gone_or_same =
                started_at(process.pid).is_none_or(|started| started == process.started);
            if gone_or_same && let Some(pid) = rustix::process::Pid::from_raw(process.pid as i32) {
                let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
            }
        }
    }
}

impl Launcher {
    pub(super) fn agent_ready(&mut self, host: u32, ready: AgentReady) {
        self.agents.set_ready(host, ready);
        self.agents.send(host, ToAgent::Job(Box::new(self.job.clone())));
        // Agents that were waited for can find each other now.
        self.agents.introduce();
        self.network.joined(host, self.agents.is_remote(host));
        self.tell_witnesses();
        self.send_servers();
        if self.run.started {
            self.check_restores(Some(host));
        }
        self.notify_dispatcher(Input::AgentUp { host });
    }

    /// Tells each agent where the servers are, as seen from its host.
    pub(super) fn send_servers(&mut self) {
        let agents = &self.agents;
        self.servers.move_into_network(|host| agents.in_network(host));
        if !self.servers.all_known() {
            return;
        }
        for host in 0..self.agents.all().len() as u32 {
            let Some(seen_as) = self.agents.seen_as(host) else { continue };
            let here = |address: SocketAddr| {
                if address.ip().is_unspecified() || address.ip().is_loopback() {
                    SocketAddr::new(seen_as, address.port())
                } else {
                    address
                }
            };
            let (event_loggers, checkpoint_servers) = self.servers.addresses(here);
            self.agents.send(host, ToAgent::Servers { event_loggers, checkpoint_servers });
        }
        self.introduce_loggers();
    }

    /// The connection of an agent ended.
    pub(super) fn agent_gone(&mut self, host: u32, launch: u64, why: String) {
        if self.agents.lose(host, launch) {
            self.host_left(host);
            self.notify_dispatcher(Input::AgentLost { host, why, silent: false });
        }
    }

    /// An agent owes too many heartbeats. What is left of one on this host is killed here, so there
    /// it is as if it had ended.
    pub(super) fn agent_silent(&mut self, host: u32, launch: u64) {
        if self.agents.lose(host, launch) {
            self.host_left(host);
            let (why, silent) =
                (notices::agent_silent(self.plan.times), self.agents.is_remote(host));
            self.notify_dispatcher(Input::AgentLost { host, why, silent });
        }
    }

    /// The process of an agent ended. Before the agent was up, that is a failed start.
    pub(super) fn agent_ended(&mut self, host: u32, launch: u64, why: String) {
        let state = self.agents.get_mut(host);
        if !state.is_launch(launch) {
            return;
        }
        state.child_runs = false;
        if state.is_up() {
            return self.agent_gone(host, launch, notices::agent_ended(&why));
        }
        if state.port.is_none() && state.kill.is_some() {
            self.agent_start_failed(host, why);
        }
    }

    pub(super) fn agent_late(&mut self, host: u32, launch: u64) {
        let state = self.agents.get(host);
        if state.is_launch(launch) && !state.is_up() && state.child_runs {
            self.agent_start_failed(host, notices::agent_late(state.start_limit()));
        }
    }

    /// A message cannot be sent to an agent, now or ever.
    pub(super) fn on_unsendable(&mut self, host: u32, launch: u64, why: &str) {
        if self.agents.is_launch(host, launch) {
            self.cannot_go_on(notices::agent_unsendable(self.agents.name(host), why));
        }
    }

    fn agent_start_failed(&mut self, host: u32, why: String) {
        if !self.agents.retry_start(host) {
            self.notify_dispatcher(Input::AgentFailed { host, why });
        }
    }
}
