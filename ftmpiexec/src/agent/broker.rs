//! Joins ranks: shared segments within a host, sockets through the other host's agent between
//! hosts, and connections to the event logger.
//!
//! Guarantees:
//! - A channel joins exactly the two incarnations that its request named.
//! - A request for an incarnation that has not said hello waits; a request for a dead one is
//!   dropped.
//! - Two requests that cross make one shared segment.
//! - Every socket carries the round that it was asked for in, so that both sides agree which
//!   sockets are over.
//! - A request that fails for want of descriptors or memory is tried again, since its rank asks
//!   only once.
//! - Nothing is left in the file system.

use super::Agent;
use super::directory::{Directory, RankKey};
use super::events::{AgentEvent, NewSocket};
use super::launcher_link::LauncherLink;
use super::page::sealed_memfd;
use crate::agent_protocol::Report;
use crate::heartbeat::Times;
use crate::tuning::{CALL_LIMIT, CALLER_WAIT_LIMIT, RETRY_FIRST, RETRY_MOST};
use ftmpi_transport::auth::{self, Authenticated, JobKey, Problem};
use ftmpi_transport::shm::segment_bytes;
use ftmpi_transport::silence;
use ftmpi_wire::control::{ChannelKind, ToRank};
use ftmpi_wire::hello::{Purpose, Welcome};
use ftmpi_wire::{Incarnation, Rank};
use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};

/// The requests for channels, and the channels that were made.
#[derive(Debug, Default)]
pub struct Broker {
    /// Requests within this host for ranks that have not said hello.
    waiting: Vec<(RankKey, RankKey)>,
    /// Requests for ranks of which the launcher has not told yet.
    unknown: Vec<(RankKey, RankKey, u32)>,
    /// Pairs (smaller rank first) that have their segment.
    joined: HashSet<(RankKey, RankKey)>,
    /// Connections that are being made.
    connecting: HashSet<(RankKey, RankKey, u32)>,
    /// Callers from other hosts for ranks that have not said hello.
    callers: Vec<(Instant, Authenticated)>,
}

impl Broker {
    /// An incarnation of this rank has ended.
    pub fn forget(&mut self, rank: Rank) {
        let about = |pair: &(RankKey, RankKey)| pair.0.0 == rank || pair.1.0 == rank;
        self.joined.retain(|pair| !about(pair));
        self.waiting.retain(|(from, _)| from.0 != rank);
        self.connecting.retain(|&(from, to, _)| !about(&(from, to)));
    }
}

fn ordered(a: RankKey, b: RankKey) -> (RankKey, RankKey) {
    if a.0 < b.0 { (a, b) } else { (b, a) }
}

/// A channel that a rank of this host asked for.
#[derive(Debug, Clone, Copy)]
struct Request {
    from: RankKey,
    to: RankKey,
    round: u32,
}

/// What a connecting task needs.
#[derive(Debug)]
pub(super) struct Connector {
    pub(super) key: JobKey,
    pub(super) directory: watch::Receiver<Directory>,
    pub(super) events: mpsc::UnboundedSender<AgentEvent>,
    pub(super) times: Times,
}

/// Pauses between attempts: each twice as long as the one before, up to a limit.
#[derive(Debug)]
struct Backoff(Duration);

impl Backoff {
    fn new() -> Self {
        Self(RETRY_FIRST)
    }

    fn is_slow(&self) -> bool {
        self.0 == RETRY_MOST
    }

    async fn wait(&mut self) {
        tokio::time::sleep(self.0).await;
        self.0 = (self.0 * 2).min(RETRY_MOST);
    }
}

impl Agent {
    pub(super) fn connector(&self) -> Connector {
        let (key, directory) = (self.key.clone(), self.directory.subscribe());
        Connector { key, directory, events: self.events.clone(), times: self.times }
    }

    /// A rank of this host wants a channel.
    pub(super) fn open(&mut self, from: RankKey, to: RankKey, round: u32) {
        let request = Request { from, to, round };
        if self.uses_memories() {
            if self.broker.connecting.insert((from, to, round)) {
                tokio::spawn(connect_memory(request, self.connector()));
            }
            return;
        }
        let (known, host) = {
            let directory = self.directory.borrow();
            let Some(known) = directory.incarnation(to.0) else {
                return self.broker.unknown.push((from, to, round));
            };
            if directory.gone.contains(&to.0) {
                return;
            }
            (known, directory.host_of[to.0.index()])
        };
        if known > to.1 || from.0 == to.0 {
            return;
        }
        let force_tcp = self.job.as_ref().is_some_and(|job| job.view.force_tcp);
        if host != self.host || force_tcp {
            if self.broker.connecting.insert((from, to, round)) {
                tokio::spawn(connect_peer(request, self.connector()));
            }
            return self.watch_path(host);
        }
        if self.broker.joined.contains(&ordered(from, to)) {
            return;
        }
        if self.ranks.connected(to).is_some() {
            self.join(from, to, RETRY_FIRST);
        } else {
            self.broker.waiting.push((from, to));
        }
    }

    /// The launcher has told of more ranks: serves the requests that waited for that.
    pub(super) fn look_at_unknown(&mut self) {
        for (from, to, round) in std::mem::take(&mut self.broker.unknown) {
            self.open(from, to, round);
        }
    }

    /// Whether ranks talk to channel memories instead of one another.
    fn uses_memories(&self) -> bool {
        self.job.as_ref().is_some_and(|job| job.view.traits.memory)
    }

    /// A rank of this host has said hello: serves the requests that waited for it.
    pub(super) fn rank_is_connected(&mut self, key: RankKey) {
        let waiting = std::mem::take(&mut self.broker.waiting);
        for (from, to) in waiting {
            if to == key {
                // Within a host there are no rounds.
                self.open(from, to, 0);
            } else {
                self.broker.waiting.push((from, to));
            }
        }
        self.look_at_waiting_callers();
    }

    /// Makes one segment for both ranks, unless they have one. If that is impossible now, another
    /// attempt follows after a pause.
    pub(super) fn join(&mut self, from: RankKey, to: RankKey, pause: Duration) {
        let (first, second) = ordered(from, to);
        if self.broker.joined.contains(&(first, second)) {
            return;
        }
        let Err(e) = self.try_join(first, second) else { return };
        if e.kind() == io::ErrorKind::FileTooLarge {
            // A limit that another attempt meets, too.
            let report = Report::CannotStart { code: 1, why: e.to_string() };
            return self.link.report(first.0, first.1, report);
        }
        if pause == RETRY_FIRST {
            self.link.notice(format!(
                "ranks {} and {} cannot be joined through shared memory yet: {e}",
                first.0, second.0
            ));
        }
        let events = self.events.clone();
        tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            let pause = (pause * 2).min(RETRY_MOST);
            let _ = events.send(AgentEvent::JoinAgain { from, to, pause });
        });
    }

    fn try_join(&mut self, first: RankKey, second: RankKey) -> io::Result<()> {
        let get = |(rank, incarnation): RankKey| self.ranks.get(rank, incarnation);
        let (Some(a), Some(b)) = (get(first), get(second)) else { return Ok(()) };
        let (Some(bell_a), Some(bell_b)) = (&a.doorbell, &b.doorbell) else { return Ok(()) };
        let segment = sealed_memfd("ftmpi-channel", segment_bytes(self.local_ranks()) as u64)?;
        let channel = |peer: RankKey, first| ToRank::Channel {
            peer: peer.0,
            incarnation: peer.1,
            kind: ChannelKind::SharedMemory { first },
        };
        // A peer that came back waits for the log of the other rank. It must not wait for the next
        // MPI call of the other rank's program.
        let wake = first.1 > Incarnation(0) || second.1 > Incarnation(0);
        let for_a = vec![segment.try_clone()?, bell_b.try_clone()?];
        let for_b = vec![segment, bell_a.try_clone()?];
        a.send(&channel(second, true), for_a, wake);
        b.send(&channel(first, false), for_b, wake);
        self.broker.joined.insert((first, second));
        Ok(())
    }

    /// Gives a rank the socket to its peer.
    pub(super) fn hand_over_socket(&mut self, socket: NewSocket) {
        let NewSocket { rank, peer, round, socket } = socket;
        self.broker.connecting.remove(&(rank, peer, round));
        let stale = !self.directory.borrow().is_current(peer);
        if stale && !self.uses_memories() {
            return;
        }
        // A rank that computes reads nothing.
        silence::keep_alive(socket.as_fd(), self.times.connection());
        if let Some(process) = self.ranks.connected(rank) {
            let kind = ChannelKind::Tcp { round };
            let message = ToRank::Channel { peer: peer.0, incarnation: peer.1, kind };
            let wake = peer.1 > Incarnation(0) || rank.1 > Incarnation(0) || round > 0;
            process.send(&message, vec![socket], wake);
        }
    }

    /// The agent of another rank calls.
    pub(super) fn incoming(&mut self, caller: Authenticated) {
        match caller.purpose {
            Purpose::Path { host } => return self.path_caller(caller, host),
            Purpose::LauncherSilence => return self.say_silence(caller),
            Purpose::Channel { from, .. } if self.directory.borrow().is_cut_off(from) => {
                return refuse(caller, Welcome::Later("the way is cut (--inject)".into()));
            }
            _ => {}
        }
        self.broker.callers.push((Instant::now(), caller));
        self.look_at_waiting_callers();
    }

    /// Answers the callers whose ranks are there by now, or do not come.
    pub(super) fn look_at_waiting_callers(&mut self) {
        for (since, caller) in std::mem::take(&mut self.broker.callers) {
            let Purpose::Channel { from, from_incarnation, to, to_incarnation, round } =
                caller.purpose
            else {
                let why = "this is an agent: only channels are made here".into();
                refuse(caller, Welcome::No(why));
                continue;
            };
            let known = {
                let directory = self.directory.borrow();
                directory.incarnation(from).zip(directory.incarnation(to))
            };
            let Some((known_from, known_to)) = known else {
                refuse(caller, Welcome::No("there is no such rank".into()));
                continue;
            };
            if from_incarnation < known_from || to_incarnation < known_to {
                refuse(caller, Welcome::Stale);
                continue;
            }
            let connected = self.ranks.connected((to, to_incarnation)).is_some();
            if connected && from_incarnation == known_from {
                let request =
                    Request { from: (to, to_incarnation), to: (from, from_incarnation), round };
                tokio::spawn(welcome(caller, request, self.events.clone()));
            } else if since.elapsed() < CALLER_WAIT_LIMIT {
                self.broker.callers.push((since, caller));
            } else {
                refuse(caller, Welcome::No(format!("rank {to} is not there yet")));
            }
        }
    }

    /// A rank wants its event logger.
    pub(super) fn open_event_log(&mut self, rank: RankKey) {
        tokio::spawn(connect_logger(rank, self.connector(), self.link.clone()));
    }

    /// Gives a rank the connection to its event logger.
    pub(super) fn hand_over_event_log(&mut self, rank: RankKey, socket: OwnedFd) {
        // A logger always reads.
        silence::end_when_silent(socket.as_fd(), self.times.connection());
        if let Some(process) = self.ranks.connected(rank) {
            process.send(&ToRank::EventLog, vec![socket], rank.1 > Incarnation(0));
        }
    }
}

/// The raw descriptor of a connection, non-blocking, with nothing read ahead.
fn raw(stream: TcpStream) -> Option<OwnedFd> {
    Some(OwnedFd::from(stream.into_std().ok()?))
}

pub(super) fn refuse(mut caller: Authenticated, welcome: Welcome) {
    tokio::spawn(async move {
        let _ = caller.responder.answer(&mut caller.stream, welcome).await;
    });
}

async fn welcome(
    mut caller: Authenticated,
    request: Request,
    events: mpsc::UnboundedSender<AgentEvent>,
) {
    if caller.responder.answer(&mut caller.stream, Welcome::Yes).await.is_ok()
        && let Some(socket) = raw(caller.stream)
    {
        let Request { from: rank, to: peer, round } = request;
        let _ = events.send(AgentEvent::Accepted(NewSocket { rank, peer, round, socket }));
    }
}

impl Connector {
    /// Reports the socket that a request asked for. `false`: it cannot be used.
    fn report(&self, request: Request, stream: TcpStream) -> bool {
        let Some(socket) = raw(stream) else { return false };
        let Request { from: rank, to: peer, round } = request;
        let _ = self.events.send(AgentEvent::Connected(NewSocket { rank, peer, round, socket }));
        true
    }
}

/// Calls the agent of the other rank until it answers or one of the two incarnations is over.
async fn connect_peer(request: Request, connector: Connector) {
    let Request { from, to, round } = request;
    let purpose = Purpose::Channel {
        from: from.0,
        from_incarnation: from.1,
        to: to.0,
        to_incarnation: to.1,
        round,
    };
    let mut backoff = Backoff::new();
    loop {
        let address = {
            let directory = connector.directory.borrow();
            if !directory.is_current(from)
                || directory.gone.contains(&to.0)
                || directory.incarnation(to.0).is_none_or(|known| known > to.1)
            {
                return;
            }
            let host = directory.host_of[to.0.index()] as usize;
            let address = directory.agents.get(host).copied().flatten();
            address.filter(|_| !directory.is_cut_off(to.0))
        };
        if connector.events.is_closed() {
            return;
        }
        if let Some(address) = address {
            // After an error: the other agent may not know this incarnation yet, or this agent not
            // the other one.
            if let Ok(stream) = auth::connect(address, &connector.key, &purpose, CALL_LIMIT).await
                && connector.report(request, stream)
            {
                return;
            }
        }
        backoff.wait().await;
    }
}

/// Calls the channel memory of a rank until it answers or the caller's incarnation is over.
async fn connect_memory(request: Request, connector: Connector) {
    let Request { from, to, .. } = request;
    let purpose = Purpose::Memory { from: from.0, incarnation: from.1, to: to.0 };
    let mut backoff = Backoff::new();
    loop {
        let address = {
            let directory = connector.directory.borrow();
            if !directory.is_current(from) {
                return;
            }
            directory.event_loggers.get(to.0.index()).copied()
        };
        if connector.events.is_closed() {
            return;
        }
        if let Some(address) = address {
            match auth::connect(address, &connector.key, &purpose, auth::TIME_LIMIT).await {
                Ok(stream) => {
                    if connector.report(request, stream) {
                        return;
                    }
                }
                Err(e) if matches!(e.problem, Problem::Stale) => return,
                // The connection for events goes to the same server and reports trouble that lasts.
                Err(_) => {}
            }
        }
        backoff.wait().await;
    }
}

/// Calls the event logger of a rank until it answers, refuses, or the incarnation is over. Reports
/// trouble that lasts.
async fn connect_logger(rank: RankKey, connector: Connector, link: LauncherLink) {
    let (number, incarnation) = rank;
    let purpose = Purpose::Events { rank: number, incarnation };
    let mut backoff = Backoff::new();
    let mut reported: Option<String> = None;
    loop {
        let (address, current) = {
            let directory = connector.directory.borrow();
            let address = directory.event_loggers.get(number.index()).copied();
            (address, directory.is_current(rank))
        };
        if !current || connector.events.is_closed() {
            return;
        }
        let Some(address) = address else {
            tokio::time::sleep(RETRY_MOST).await;
            continue;
        };
        let why = match auth::connect(address, &connector.key, &purpose, auth::TIME_LIMIT).await {
            Ok(stream) => {
                if reported.take().is_some() {
                    link.report(number, incarnation, Report::LoggerBack);
                }
                if let Some(socket) = raw(stream) {
                    let event = AgentEvent::LoggerConnected { rank: number, incarnation, socket };
                    let _ = connector.events.send(event);
                    return;
                }
                None
            }
            Err(e) => match e.problem {
                Problem::Stale => return,
                // Asking again would give the same answer.
                Problem::Refused(why) => {
                    let report = Report::LoggerTrouble { why, for_good: true };
                    return link.report(number, incarnation, report);
                }
                Problem::Hindered(why) => Some(why),
                // A logger that died is restarted before the pauses become this long.
                problem if backoff.is_slow() || !problem.is_transient() => {
                    Some(format!("{}: {problem}", e.peer))
                }
                _ => None,
            },
        };
        if let Some(why) = why.filter(|why| reported.as_ref() != Some(why)) {
            reported = Some(why.clone());
            let report = Report::LoggerTrouble { why, for_good: false };
            link.report(number, incarnation, report);
        }
        backoff.wait().await;
    }
}
