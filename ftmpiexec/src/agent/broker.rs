//! Joins ranks: shared segments within a host, sockets through the other host's agent between
//! hosts, and connections to the event logger.
//!
//! Guarantees: a channel joins exactly the two lives that its wish named; wishes for a life that
//! has not said hello wait, wishes for a dead one are dropped; two wishes that cross make one
//! shared segment; every socket carries the round that it was asked for in, so that both sides
//! agree which of them are over; a wish that fails for want of descriptors or memory is tried again, since
//! its rank asks only once; nothing is left in the file system.

use super::page::sealed_memfd;
use super::{Agent, AgentEvent, Directory};
use crate::agent_protocol::{FromAgent, Report};
use ftmpi_transport::auth::{self, Authenticated, JobKey, Problem};
use ftmpi_transport::shm::segment_bytes;
use ftmpi_wire::control::{ChannelKind, ToRank};
use ftmpi_wire::hello::{Purpose, Welcome};
use ftmpi_wire::{Incarnation, Rank};
use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};

/// An answer of the other agent may wait for its rank to say hello.
const CALL_LIMIT: Duration = Duration::from_secs(20);
/// A caller whose rank does not come is sent away before its own limit, and calls again.
const WAIT_LIMIT: Duration = Duration::from_secs(15);
const RETRY_FIRST: Duration = Duration::from_millis(20);
const RETRY_MOST: Duration = Duration::from_secs(1);

type Peer = (Rank, Incarnation);

/// What is wished and what is done.
#[derive(Debug, Default)]
pub struct Broker {
    /// Wishes within this host, for ranks that have not said hello.
    waiting: Vec<(Peer, Peer)>,
    /// Pairs (smaller rank first) that have their segment.
    joined: HashSet<(Peer, Peer)>,
    /// Connections under way.
    connecting: HashSet<(Peer, Peer, u32)>,
    /// Callers from elsewhere, for ranks that have not said hello.
    callers: Vec<(Instant, Authenticated)>,
}

impl Broker {
    /// A life of this rank has ended.
    pub fn forget(&mut self, rank: Rank) {
        let about = |pair: &(Peer, Peer)| pair.0.0 == rank || pair.1.0 == rank;
        self.joined.retain(|pair| !about(pair));
        self.waiting.retain(|(from, _)| from.0 != rank);
        self.connecting.retain(|&(from, to, _)| !about(&(from, to)));
    }
}

fn ordered(a: Peer, b: Peer) -> (Peer, Peer) {
    if a.0 < b.0 { (a, b) } else { (b, a) }
}

impl Agent {
    /// A rank of this host wants a channel.
    pub(super) fn open(&mut self, from: Peer, to: Peer, round: u32) {
        if self.uses_memories() {
            if self.broker.connecting.insert((from, to, round)) {
                let directory = self.directory.subscribe();
                let (key, events) = (self.key.clone(), self.events.clone());
                tokio::spawn(connect_memory(from, to, round, key, directory, events));
            }
            return;
        }
        let (known, host) = {
            let directory = self.directory.borrow();
            let index = to.0.index();
            let Some(known) = directory.incarnations.get(index) else { return };
            (*known, directory.host_of[index])
        };
        if known > to.1 || from.0 == to.0 {
            return;
        }
        let force_tcp = self.job.as_ref().is_some_and(|job| job.view.force_tcp);
        if host != self.host || force_tcp {
            if self.broker.connecting.insert((from, to, round)) {
                let directory = self.directory.subscribe();
                let (key, events) = (self.key.clone(), self.events.clone());
                tokio::spawn(connect(from, to, round, key, directory, events));
            }
            return;
        }
        if self.broker.joined.contains(&ordered(from, to)) {
            return;
        }
        if self.process(to.0, to.1).is_some_and(|process| process.is_talking()) {
            self.join(from, to, RETRY_FIRST);
        } else {
            self.broker.waiting.push((from, to));
        }
    }

    /// Do ranks speak to channel memories instead of one another?
    fn uses_memories(&self) -> bool {
        self.job.as_ref().is_some_and(|job| job.view.traits.memory)
    }

    /// A rank of this host has said hello: serve who waited for it.
    pub(super) fn rank_is_there(&mut self, rank: Rank, incarnation: Incarnation) {
        let waiting = std::mem::take(&mut self.broker.waiting);
        for (from, to) in waiting {
            if to == (rank, incarnation) {
                // Within a host: there are no rounds.
                self.open(from, to, 0);
            } else {
                self.broker.waiting.push((from, to));
            }
        }
        self.look_at_waiting_callers();
    }

    /// One segment for both, unless there is one by now; if that is impossible, again after a pause.
    pub(super) fn join(&mut self, from: Peer, to: Peer, pause: Duration) {
        let (first, second) = ordered(from, to);
        if self.broker.joined.contains(&(first, second)) {
            return;
        }
        let Err(e) = self.try_join(first, second) else { return };
        if pause == RETRY_FIRST {
            self.notice(format!(
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

    fn try_join(&mut self, first: Peer, second: Peer) -> io::Result<()> {
        let (Some(a), Some(b)) = (self.process(first.0, first.1), self.process(second.0, second.1))
        else {
            return Ok(());
        };
        let (Some(bell_a), Some(bell_b)) = (&a.doorbell, &b.doorbell) else { return Ok(()) };
        let segment = sealed_memfd("ftmpi-channel", segment_bytes(self.local_ranks()) as u64)?;
        let channel = |peer: Peer, first| ToRank::Channel {
            peer: peer.0,
            incarnation: peer.1,
            kind: ChannelKind::SharedMemory { first },
        };
        // A peer that came back waits for nothing less than our log: it must not wait for the
        // program's next call.
        let wake = first.1 > Incarnation(0) || second.1 > Incarnation(0);
        let for_a = vec![segment.try_clone()?, bell_b.try_clone()?];
        let for_b = vec![segment, bell_a.try_clone()?];
        a.send(&channel(second, true), for_a, wake);
        b.send(&channel(first, false), for_b, wake);
        self.broker.joined.insert((first, second));
        Ok(())
    }

    /// A socket to another rank is there.
    pub(super) fn hand_over_socket(&mut self, rank: Peer, peer: Peer, round: u32, socket: OwnedFd) {
        self.broker.connecting.remove(&(rank, peer, round));
        let stale = self.directory.borrow().incarnations.get(peer.0.index()) != Some(&peer.1);
        if stale && !self.uses_memories() {
            return;
        }
        if let Some(process) = self.process(rank.0, rank.1).filter(|process| process.is_talking()) {
            let kind = ChannelKind::Tcp { round };
            let message = ToRank::Channel { peer: peer.0, incarnation: peer.1, kind };
            let wake = peer.1 > Incarnation(0) || rank.1 > Incarnation(0) || round > 0;
            process.send(&message, vec![socket], wake);
        }
    }

    /// The agent of another rank calls.
    pub(super) fn incoming(&mut self, caller: Authenticated) {
        self.broker.callers.push((Instant::now(), caller));
        self.look_at_waiting_callers();
    }

    pub(super) fn look_at_waiting_callers(&mut self) {
        for (since, caller) in std::mem::take(&mut self.broker.callers) {
            let Purpose::Channel { from, from_incarnation, to, to_incarnation, round } =
                caller.purpose
            else {
                let why = "this is an agent: only channels are made here".into();
                refuse(caller, Welcome::No(why));
                continue;
            };
            let (known_from, known_to) = {
                let directory = self.directory.borrow();
                let of = |rank: Rank| directory.incarnations.get(rank.index()).copied();
                match (of(from), of(to)) {
                    (Some(a), Some(b)) => (a, b),
                    _ => {
                        refuse(caller, Welcome::No("there is no such rank".into()));
                        continue;
                    }
                }
            };
            if from_incarnation < known_from || to_incarnation < known_to {
                refuse(caller, Welcome::Stale);
                continue;
            }
            let there =
                self.process(to, to_incarnation).is_some_and(|process| process.is_talking());
            if there && from_incarnation == known_from {
                let (rank, peer) = ((to, to_incarnation), (from, from_incarnation));
                tokio::spawn(welcome(caller, rank, peer, round, self.events.clone()));
            } else if since.elapsed() < WAIT_LIMIT {
                self.broker.callers.push((since, caller));
            } else {
                refuse(caller, Welcome::No(format!("rank {to} is not there yet")));
            }
        }
    }

    /// A rank wants its event logger.
    pub(super) fn open_event_log(&mut self, rank: Rank, incarnation: Incarnation) {
        let directory = self.directory.subscribe();
        let (key, events) = (self.key.clone(), self.events.clone());
        let link = self.link.clone();
        let report = move |report| {
            let _ = link.send(FromAgent::Rank { rank, incarnation, report });
        };
        tokio::spawn(async move {
            let mut pause = RETRY_FIRST;
            let mut told: Option<String> = None;
            loop {
                let (address, lives) = {
                    let directory = directory.borrow();
                    let lives = directory.incarnations.get(rank.index()) == Some(&incarnation);
                    (directory.event_loggers.get(rank.index()).copied(), lives)
                };
                if !lives || events.is_closed() {
                    return;
                }
                let Some(address) = address else {
                    tokio::time::sleep(RETRY_MOST).await;
                    continue;
                };
                let purpose = Purpose::Events { rank, incarnation };
                let why = match auth::connect(address, &key, &purpose, auth::TIME_LIMIT).await {
                    Ok(stream) => {
                        if told.take().is_some() {
                            report(Report::LoggerBack);
                        }
                        if let Some(socket) = raw(stream) {
                            let _ = events.send(AgentEvent::LoggerConnected {
                                rank,
                                incarnation,
                                socket,
                            });
                            return;
                        }
                        None
                    }
                    Err(e) => match e.problem {
                        Problem::Stale => return,
                        // Its own words, which the next question would not change.
                        Problem::Refused(why) => {
                            return report(Report::LoggerTrouble { why, for_good: true });
                        }
                        Problem::Hindered(why) => Some(why),
                        // A logger that died is there again before this.
                        problem if pause == RETRY_MOST || !problem.is_transient() => {
                            Some(format!("{}: {problem}", e.peer))
                        }
                        _ => None,
                    },
                };
                if let Some(why) = why.filter(|why| told.as_ref() != Some(why)) {
                    told = Some(why.clone());
                    report(Report::LoggerTrouble { why, for_good: false });
                }
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(RETRY_MOST);
            }
        });
    }

    pub(super) fn hand_over_event_log(
        &mut self,
        rank: Rank,
        incarnation: Incarnation,
        socket: OwnedFd,
    ) {
        if let Some(process) =
            self.process(rank, incarnation).filter(|process| process.is_talking())
        {
            process.send(&ToRank::EventLog, vec![socket], incarnation > Incarnation(0));
        }
    }
}

/// The raw descriptor of a connection, non-blocking, with nothing read ahead.
fn raw(stream: TcpStream) -> Option<OwnedFd> {
    Some(OwnedFd::from(stream.into_std().ok()?))
}

fn refuse(mut caller: Authenticated, welcome: Welcome) {
    tokio::spawn(async move {
        let _ = caller.responder.answer(&mut caller.stream, welcome).await;
    });
}

async fn welcome(
    mut caller: Authenticated,
    rank: Peer,
    peer: Peer,
    round: u32,
    events: mpsc::UnboundedSender<AgentEvent>,
) {
    if caller.responder.answer(&mut caller.stream, Welcome::Yes).await.is_ok()
        && let Some(socket) = raw(caller.stream)
    {
        let (rank, incarnation) = rank;
        let (peer, peer_incarnation) = peer;
        let event =
            AgentEvent::Accepted { rank, incarnation, peer, peer_incarnation, round, socket };
        let _ = events.send(event);
    }
}

/// Calls the agent of the other rank until it answers or one of the two lives is over.
async fn connect(
    from: Peer,
    to: Peer,
    round: u32,
    key: JobKey,
    directory: watch::Receiver<Directory>,
    events: mpsc::UnboundedSender<AgentEvent>,
) {
    let purpose = Purpose::Channel {
        from: from.0,
        from_incarnation: from.1,
        to: to.0,
        to_incarnation: to.1,
        round,
    };
    let mut pause = RETRY_FIRST;
    loop {
        let address = {
            let directory = directory.borrow();
            let process = |rank: Rank| directory.incarnations.get(rank.index()).copied();
            if process(from.0) != Some(from.1) || process(to.0).is_none_or(|known| known > to.1) {
                return;
            }
            let host = directory.host_of[to.0.index()] as usize;
            directory.agents.get(host).copied().flatten()
        };
        if events.is_closed() {
            return;
        }
        if let Some(address) = address {
            // On an error: its agent may not have heard of our new life yet, or we of its.
            if let Ok(stream) = auth::connect(address, &key, &purpose, CALL_LIMIT).await
                && let Some(socket) = raw(stream)
            {
                let (rank, incarnation) = from;
                let (peer, peer_incarnation) = to;
                let _ = events.send(AgentEvent::Connected {
                    rank,
                    incarnation,
                    peer,
                    peer_incarnation,
                    round,
                    socket,
                });
                return;
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(RETRY_MOST);
    }
}

/// Calls the memory of a rank until it answers or the caller's life is over.
async fn connect_memory(
    from: Peer,
    to: Peer,
    round: u32,
    key: JobKey,
    directory: watch::Receiver<Directory>,
    events: mpsc::UnboundedSender<AgentEvent>,
) {
    let purpose = Purpose::Memory { from: from.0, incarnation: from.1, to: to.0 };
    let mut pause = RETRY_FIRST;
    loop {
        let address = {
            let directory = directory.borrow();
            if directory.incarnations.get(from.0.index()) != Some(&from.1) {
                return;
            }
            directory.event_loggers.get(to.0.index()).copied()
        };
        if events.is_closed() {
            return;
        }
        if let Some(address) = address {
            match auth::connect(address, &key, &purpose, auth::TIME_LIMIT).await {
                Ok(stream) => {
                    if let Some(socket) = raw(stream) {
                        let _ = events.send(AgentEvent::Connected {
                            rank: from.0,
                            incarnation: from.1,
                            peer: to.0,
                            peer_incarnation: to.1,
                            round,
                            socket,
                        });
                        return;
                    }
                }
                Err(e) if matches!(e.problem, Problem::Stale) => return,
                // Trouble that lasts shows in the connection for events, which is to the same server.
                Err(_) => {}
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(RETRY_MOST);
    }
}
