//! The agent of a host whose ranks another launcher started (`ftmpiexec --agent-of-ranks`): makes
//! their channels and their shared memory, as the agent of a job under ftmpiexec does.
//!
//! One of the ranks starts it (`libftmpi/runtime/src/direct_start`). It restarts nothing: when a
//! rank ends too early, it ends the others, and the launcher sees that.
//!
//! Guarantees: the agent ends with the last rank of its host; the one on rank 0's host, after all
//! other agents. No rank waits for another that is gone. What a launcher reads of the ranks is not
//! held open by an agent any longer than by its ranks.
//!
//! | module | subject |
//! | --- | --- |
//! | `members` | the ranks of this host |
//! | `channels` | their channels |
//! | `links` | the other agents |
//! | `course` | what all ranks wait for; when the job ends |

mod channels;
mod course;
mod links;
mod members;

use super::segments::Segments;
use crate::tuning::{
    DIRECT_KILL_AFTER, DIRECT_LINK_LIMIT, DIRECT_READ_LIMIT, DIRECT_READ_PAUSE, FAREWELL_FLUSH,
};
use anyhow::{Context, bail, ensure};
use channels::Channels;
use course::{Course, Input, Order};
use ftmpi_checkpoint::inheritance;
use ftmpi_options::ftmpiexec::hydra_variables;
use ftmpi_transport::auth::{Authenticated, JobKey, Listener};
use ftmpi_wire::control::{self, Events, FromRank, JobView, ProtocolConfig, ToRank};
use ftmpi_wire::direct_start::{
    AGENT_OPTION, Agents, Hosts, Ready, Setup, is_oversubscribed, subscription,
};
use ftmpi_wire::new_processes::World;
use ftmpi_wire::{Incarnation, ProtocolTraits, Rank};
use members::{Member, Newcomer};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// The second argument of the process that is the agent.
const SERVE: &str = "serve";
/// How long a process of this host may take to say who it is, and the rank that starts the agent to
/// collect what all ranks say.
const TELLING: Duration = Duration::from_secs(60);
/// Bytes of a message of the rank that starts the agent: what all ranks say of themselves.
const MESSAGE_BYTES_MAX: usize = 256 << 20;

/// What the agent waits for.
#[derive(Debug)]
enum Event {
    /// A process of this host has shown to be a rank.
    Newcomer(Newcomer),
    /// A rank sent a message.
    FromRank { rank: Rank, bytes: Vec<u8>, descriptors: Vec<OwnedFd> },
    /// A rank's process ended.
    RankGone(Rank),
    /// Time for another attempt to join two ranks.
    Join { from: Rank, to: Rank, pause: Duration },
    /// A socket to another host is there.
    Socket(RankSocket),
    /// On rank 0's host: another agent reports.
    FromAgent { host: u32, input: Input },
    /// On rank 0's host: another agent is gone.
    AgentGone(u32),
    /// Elsewhere: the agent of rank 0's host orders.
    Order(Order),
    /// Elsewhere: the agent of rank 0's host is gone, and why that is known.
    FirstGone(String),
}

/// A socket for a rank of this host.
#[derive(Debug)]
struct RankSocket {
    rank: Rank,
    peer: Rank,
    round: u32,
    socket: OwnedFd,
}

/// The way to the decisions about the job.
#[derive(Debug)]
enum Decisions {
    /// They are made here, and go to the agents of these hosts.
    Here { course: Course, agents: BTreeMap<u32, mpsc::UnboundedSender<Order>>, gone: usize },
    /// They are made on rank 0's host.
    There(mpsc::UnboundedSender<Input>),
}

/// The state of the agent.
struct NodeAgent {
    host: u32,
    setup: Setup,
    hosts: Hosts,
    /// Where the agents of all hosts are.
    agents: Vec<Vec<SocketAddr>>,
    key: JobKey,
    events: mpsc::UnboundedSender<Event>,
    members: BTreeMap<Rank, Member>,
    /// Ranks of this host.
    own_ranks: usize,
    /// Ranks on this machine.
    local_ranks: usize,
    channels: Channels,
    segments: Segments,
    decisions: Decisions,
    begin: Instant,
    /// Since when the job ends.
    ending: Option<Instant>,
    /// What all ranks get after one of them.
    last_order: Option<ToRank>,
    all_exiting: bool,
}

/// Runs the agent; `argument` is what follows [`AGENT_OPTION`].
///
/// # Errors
/// It could not begin; the rank that starts it is told why.
pub fn run(argument: Option<&str>) -> anyhow::Result<()> {
    if argument != Some(SERVE) {
        // So that the rank has no child that ends after it, and signals of a terminal do not end
        // the agent before its ranks.
        let own = std::env::current_exe().context("finding this program")?;
        Command::new(own).args([AGENT_OPTION, SERVE]).process_group(0).spawn()?;
        return Ok(());
    }
    // What the program had open when it called MPI_Init.
    drop(inheritance::take_descriptors());
    let listener = std::io::stdin().as_fd().try_clone_to_owned()?;
    let mut starter = UnixStream::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    starter.set_read_timeout(Some(TELLING))?;
    let setup: Setup = control::decode(&receive(&mut starter)?)?;
    let cpus: rustix::thread::CpuSet = all_processors();
    // The rank may have a single processor, and uses it.
    let _ = rustix::thread::sched_setaffinity(None, &cpus);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(setup, listener, starter))
}

fn all_processors() -> rustix::thread::CpuSet {
    let mut cpus = rustix::thread::CpuSet::new();
    (0..rustix::thread::CpuSet::MAX_CPU).for_each(|cpu| cpus.set(cpu));
    cpus
}

/// Waits until the launcher has read what was written to the standard error: it ends all ranks when
/// one has ended, and throws away what it has not read.
fn until_errors_are_read() {
    let end = Instant::now() + DIRECT_READ_LIMIT;
    let errors = std::io::stderr();
    while rustix::io::ioctl_fionread(&errors).is_ok_and(|unread| unread > 0) && Instant::now() < end
    {
        std::thread::sleep(DIRECT_READ_PAUSE);
    }
    std::thread::sleep(DIRECT_READ_PAUSE);
}

fn receive(starter: &mut UnixStream) -> anyhow::Result<Vec<u8>> {
    let mut length = [0; 4];
    starter.read_exact(&mut length).context("only libmpi starts such an agent")?;
    let length = u32::from_le_bytes(length) as usize;
    ensure!(length <= MESSAGE_BYTES_MAX, "a message of {length} bytes");
    let mut bytes = vec![0; length];
    starter.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn answer(starter: &mut UnixStream, ready: &Ready) -> std::io::Result<()> {
    let bytes = control::encode(ready);
    starter.write_all(&(bytes.len() as u32).to_le_bytes())?;
    starter.write_all(&bytes)
}

/// The socket for other hosts.
async fn listen(key: &JobKey) -> std::io::Result<Listener> {
    let ports = hydra_variables::port_range(|name| std::env::var(name).ok());
    // IPv6 takes callers of both kinds, where there is any.
    match Listener::bind_within(Ipv6Addr::UNSPECIFIED.into(), ports.as_ref(), key.clone()).await {
        Ok(listener) => Ok(listener),
        Err(_) => {
            Listener::bind_within(Ipv4Addr::UNSPECIFIED.into(), ports.as_ref(), key.clone()).await
        }
    }
}

async fn serve(setup: Setup, socket: OwnedFd, mut starter: UnixStream) -> anyhow::Result<()> {
    let key = JobKey::from_bytes(setup.job.key);
    let hosts = Hosts::of(&setup.cards);
    let Some(&host) = hosts.host_of.get(setup.rank as usize) else { bail!("no card of the rank") };
    let mut listener = None;
    let addresses = if setup.job.version != env!("CARGO_PKG_VERSION") {
        let own = env!("CARGO_PKG_VERSION");
        Err(format!("it is ftmpi {own}, and libmpi is {}: install one", setup.job.version))
    } else if hosts.names.len() == 1 {
        Ok(Vec::new())
    } else {
        match listen(&key).await {
            Ok(bound) => {
                let port = bound.local_addr()?.port();
                listener = Some(bound);
                let machine = setup.cards[0].machine;
                let one = setup.cards.iter().all(|card| card.machine == machine);
                let mut others = hosts.names.clone();
                others.remove(host as usize);
                Ok(links::own_addresses(&others, port, one))
            }
            Err(e) => Err(format!("no socket for the other hosts: {e}")),
        }
    };
    let is_ready = addresses.is_ok();
    answer(&mut starter, &Ready { addresses })?;
    if !is_ready {
        return Ok(());
    }
    // All ranks meet before this message. The rank is gone if they never do.
    starter.set_read_timeout(None)?;
    let Ok(message) = receive(&mut starter) else { return Ok(()) };
    let agents: Agents = control::decode(&message)?;
    ensure!(agents.addresses.len() == hosts.names.len(), "an agent of each host");
    drop(starter);

    let (events, inbox) = mpsc::unbounded_channel();
    tokio::spawn(members::take_callers(socket, setup.job.key, events.clone()));
    let mut agent = NodeAgent::new((host, hosts), setup, agents, (key, events));
    agent.run(inbox, listener).await
}

impl NodeAgent {
    fn new(
        (host, hosts): (u32, Hosts),
        setup: Setup,
        agents: Agents,
        (key, events): (JobKey, mpsc::UnboundedSender<Event>),
    ) -> Self {
        let first = hosts.host_of[0];
        let decisions = if host == first {
            let names = hosts.host_of.iter().map(|&host| hosts.names[host as usize].clone());
            let (course, agents) = (Course::new(names.collect()), BTreeMap::new());
            Decisions::Here { course, agents, gone: 0 }
        } else {
            let (reports, outbox) = mpsc::unbounded_channel();
            let place = (host, agents.addresses[first as usize].clone());
            tokio::spawn(links::report_to_first(place, key.clone(), outbox, events.clone()));
            Decisions::There(reports)
        };
        let machine = setup.cards[setup.rank as usize].machine;
        Self {
            own_ranks: hosts.host_of.iter().filter(|other| **other == host).count(),
            local_ranks: subscription(machine, &setup.cards).0 as usize,
            host,
            setup,
            hosts,
            agents: agents.addresses,
            key,
            events,
            members: BTreeMap::new(),
            channels: Channels::default(),
            segments: Segments::default(),
            decisions,
            begin: Instant::now(),
            ending: None,
            last_order: None,
            all_exiting: false,
        }
    }

    async fn run(
        &mut self,
        mut inbox: mpsc::UnboundedReceiver<Event>,
        mut listener: Option<Listener>,
    ) -> anyhow::Result<()> {
        let mut beat = tokio::time::interval(Duration::from_millis(500));
        // Launchers signal all processes of a job. The ranks decide what that means.
        let _ignored =
            [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
        while !self.is_over() {
            let call = async {
                match &mut listener {
                    Some(listener) => listener.next().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                Some(event) = inbox.recv() => self.handle(event),
                caller = call => if let Ok(caller) = caller { self.incoming(caller) },
                _ = beat.tick() => self.beat(),
            }
        }
        // What was said last is on its way.
        tokio::time::sleep(FAREWELL_FLUSH.min(Duration::from_millis(100))).await;
        Ok(())
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Newcomer(newcomer) => self.newcomer(newcomer),
            Event::FromRank { rank, bytes, descriptors } => {
                match control::decode::<FromRank>(&bytes) {
                    Ok(message) => self.on_rank_message(rank, message, descriptors),
                    Err(e) => eprintln!("ftmpi: rank {rank}: {e}; is its libmpi of this version?"),
                }
            }
            Event::RankGone(rank) => {
                if let Some(member) = self.members.get_mut(&rank) {
                    member.is_gone = true;
                    self.report(Input::Gone(rank));
                }
            }
            Event::Join { from, to, pause } => self.join(from, to, pause),
            Event::Socket(socket) => self.hand_over(socket),
            Event::FromAgent { host, input } => {
                let about = match &input {
                    Input::Finalizing(rank) | Input::Exiting(rank) | Input::Gone(rank) => *rank,
                    Input::Abort { rank, .. } => *rank,
                    Input::Failed { .. } => return self.report(input),
                };
                if self.hosts.host_of.get(about.index()) == Some(&host) {
                    self.report(input);
                }
            }
            Event::AgentGone(host) => self.agent_is_gone(host),
            Event::Order(order) => self.obey(&order),
            Event::FirstGone(why) => {
                if !self.all_exiting && self.ending.is_none() {
                    eprintln!("ftmpi: {why}: the job ends");
                    self.obey(&Order::End { code: 1, by: None, why: String::new() });
                }
            }
        }
    }

    fn newcomer(&mut self, newcomer: Newcomer) {
        let rank = newcomer.rank;
        let here = self.hosts.host_of.get(rank.index()) == Some(&self.host);
        if !here || self.members.contains_key(&rank) {
            return newcomer.refuse(format!("this host has no such rank that is missing: {rank}"));
        }
        match newcomer.welcome(&self.events) {
            Ok(member) => {
                self.members.insert(rank, member);
            }
            Err(e) => self.fail(format!("rank {rank} gets no status page: {e}")),
        }
    }

    fn on_rank_message(&mut self, rank: Rank, message: FromRank, descriptors: Vec<OwnedFd>) {
        match message {
            FromRank::Hello { .. } => {
                let view = ToRank::Welcome(Box::new(self.view_for(rank)));
                let Some(member) = self.members.get_mut(&rank) else { return };
                member.doorbell = descriptors.into_iter().next();
                member.send(&view, Vec::new());
                if self.ending.is_some() {
                    member.send(&ToRank::Die { code: 1 }, Vec::new());
                }
                if member.doorbell.is_some() {
                    self.serve_those_that_waited(rank);
                }
            }
            FromRank::Open { peer, round, .. } => self.open(rank, peer, round),
            FromRank::Segment { name, bytes, takers } => {
                let (why, passed) = match self.segments.take((name, Incarnation(0)), bytes, takers)
                {
                    Ok(memory) => (None, vec![memory]),
                    Err(e) => (Some(e.to_string()), Vec::new()),
                };
                if let Some(member) = self.members.get(&rank) {
                    member.send(&ToRank::Segment { name, why }, passed);
                }
            }
            FromRank::SegmentOver { name } => self.segments.over((name, Incarnation(0))),
            FromRank::Finalizing => self.report(Input::Finalizing(rank)),
            FromRank::Exiting { .. } => self.report(Input::Exiting(rank)),
            FromRank::Abort { code, text } => self.report(Input::Abort { rank, code, text }),
            FromRank::Warning { text } => eprintln!("ftmpi: rank {rank}: {text}"),
            FromRank::NeedFile { file } => {
                if let Some(member) = self.members.get(&rank) {
                    member.send(&ToRank::KeptFile { file }, Vec::new());
                }
            }
            // There are no images, no event logger and no incarnations.
            _ => {}
        }
    }

    /// Nobody can serve the ranks of this host any more.
    fn fail(&mut self, why: String) {
        let why = format!("{}: {why}", self.hosts.names[self.host as usize]);
        self.report(Input::Failed { host: self.host, why });
    }

    /// Tells whoever decides.
    fn report(&mut self, input: Input) {
        match &mut self.decisions {
            Decisions::There(reports) => {
                let _ = reports.send(input);
            }
            Decisions::Here { course, agents, .. } => {
                if let Some(order) = course.on(input) {
                    if let Order::End { why, .. } = &order {
                        eprintln!("ftmpi: {why}");
                        until_errors_are_read();
                    }
                    for agent in agents.values() {
                        let _ = agent.send(order.clone());
                    }
                    self.obey(&order);
                }
            }
        }
    }

    /// On rank 0's host: the agent of another host calls.
    fn agent_calls(&mut self, caller: Authenticated, host: u32) {
        let events = self.events.clone();
        match &mut self.decisions {
            Decisions::Here { agents, .. }
                if (host as usize) < self.hosts.names.len() && !agents.contains_key(&host) =>
            {
                let outbox = links::accept_agent(caller, host, events);
                if self.ending.is_some() {
                    let _ = outbox.send(Order::End { code: 1, by: None, why: String::new() });
                }
                agents.insert(host, outbox);
            }
            _ => links::refuse(caller, "this is not the agent of rank 0's host".into()),
        }
    }

    fn agent_is_gone(&mut self, host: u32) {
        let Decisions::Here { gone, .. } = &mut self.decisions else { return };
        *gone += 1;
        let ranks: Vec<Rank> = (0..)
            .zip(&self.hosts.host_of)
            .filter(|(_, on)| **on == host)
            .map(|(rank, _)| Rank(rank))
            .collect();
        for rank in ranks {
            self.report(Input::Gone(rank));
        }
    }

    fn obey(&mut self, order: &Order) {
        let message = match order {
            Order::AllFinalized => ToRank::AllFinalized,
            Order::AllExiting => {
                self.all_exiting = true;
                ToRank::AllExiting
            }
            Order::End { code, by, .. } => {
                self.ending.get_or_insert_with(Instant::now);
                let message = ToRank::Die { code: *code };
                if let Some(by) = by {
                    if let Some(member) = self.members.get(by) {
                        member.send(&message, Vec::new());
                    }
                    self.last_order = Some(message);
                    return;
                }
                message
            }
        };
        for member in self.members.values() {
            member.send(&message, Vec::new());
        }
    }

    fn beat(&mut self) {
        self.look_at_callers();
        if self.ending.is_none() && self.begin.elapsed() > DIRECT_LINK_LIMIT {
            let missing = self.own_ranks - self.members.len();
            if missing > 0 {
                self.fail(format!("{missing} of its ranks do not come"));
            } else if let Decisions::Here { agents, .. } = &self.decisions
                && agents.len() + 1 < self.hosts.names.len()
            {
                self.fail("the agents of some hosts do not come".into());
            }
        }
        if self.ending.is_some_and(|since| since.elapsed() > DIRECT_KILL_AFTER / 2)
            && let Some(message) = self.last_order.take()
        {
            for member in self.members.values() {
                member.send(&message, Vec::new());
            }
        }
        if self.ending.is_some_and(|since| since.elapsed() > DIRECT_KILL_AFTER) {
            for member in self.members.values().filter(|member| !member.is_gone) {
                member.kill();
            }
        }
    }

    /// Whether nobody needs this agent any more.
    fn is_over(&self) -> bool {
        let has_ended = self.ending.is_some_and(|since| since.elapsed() > 2 * DIRECT_KILL_AFTER);
        let all_came = self.members.len() == self.own_ranks || self.ending.is_some();
        let ranks_left = self.members.values().any(|member| !member.is_gone);
        let agents_left = match &self.decisions {
            Decisions::Here { gone, .. } => *gone + 1 < self.hosts.names.len(),
            Decisions::There(_) => false,
        };
        has_ended || all_came && !ranks_left && (!agents_left || self.ending.is_some())
    }

    /// What this rank must know of its job.
    fn view_for(&self, rank: Rank) -> JobView {
        let size = self.setup.cards.len();
        let (ranks, cpus) = subscription(self.setup.cards[rank.index()].machine, &self.setup.cards);
        JobView {
            size: size as u32,
            worlds: vec![World::first(size as u32)],
            gone: Vec::new(),
            past: ftmpi_wire::ImageNo(0),
            universe: size as u32,
            job: 0,
            host_of: self.hosts.host_of.clone(),
            node_of: self.hosts.host_of.clone(),
            hosts: self.hosts.names.clone(),
            incarnations: vec![Incarnation(0); size],
            app_number: self.members.get(&rank).map_or(0, |member| member.app_number),
            goes_on: false,
            news: Vec::new(),
            protocol: ProtocolConfig {
                name: "none".into(),
                events: Events::Nondeterministic,
                log_wtime: false,
                settings: Vec::new(),
            },
            traits: ProtocolTraits::NONE,
            processors: cpus,
            local_ranks: ranks,
            retained: Vec::new(),
            inject: Vec::new(),
            force_tcp: false,
            images: false,
            log_limit: 0,
            log_reserve: 0,
            lean_images: false,
            epoch: self.setup.job.epoch,
            files: 0,
            oversubscribed: is_oversubscribed(&self.setup.cards),
        }
    }
}
