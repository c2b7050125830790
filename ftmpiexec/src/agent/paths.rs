//! The ways between this host and others: whether they work, and what the other agents hear of the
//! launcher.
//!
//! The agent of a host whose ranks ask for channels to another host keeps one connection to the
//! agent there. The kernel probes it; where that is too slow, both agents write a byte now and
//! then. A rank would notice a broken way late or never: it may compute, and what it has sent waits
//! in the kernel for minutes.
//!
//! Guarantees: a way that has not worked for [`Times::path_limit`] is reported to the launcher
//! once, and once more when it works again. An agent that is merely slow is no broken way. The
//! dispatcher decides what a report means.

use super::Agent;
use super::broker::{Connector, refuse};
use super::directory::Directory;
use super::events::AgentEvent;
use super::launcher_link::LauncherLink;
use crate::agent_protocol::FromAgent;
use crate::heartbeat::Times;
use crate::tuning::{PATH_KERNEL_PROBES, RETRY_MOST};
use ftmpi_transport::auth::{self, Authenticated, JobKey, Problem};
use ftmpi_transport::silence;
use ftmpi_wire::Rank;
use ftmpi_wire::control::ToRank;
use ftmpi_wire::hello::{Purpose, Welcome};
use std::collections::HashSet;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Why a way does not work that was cut by `--inject`.
const INJECTED: &str = "cut by --inject";

/// The ways to other hosts.
#[derive(Debug, Default)]
pub struct Paths {
    /// Hosts whose way is watched from here.
    watched: HashSet<u32>,
    /// Hosts that the launcher hears, other than its own.
    witnesses: Vec<u32>,
    /// They are being asked.
    asking: bool,
}

impl Paths {
    /// The launcher hears these hosts.
    pub fn set_witnesses(&mut self, hosts: Vec<u32>) {
        self.witnesses = hosts;
    }
}

/// Since when a way has not worked, and why.
type Broken = (Instant, String);

impl Agent {
    /// A rank of this host wants a channel to a rank of that host.
    pub(super) fn watch_path(&mut self, host: u32) {
        if host != self.host && self.paths.watched.insert(host) {
            let purpose = Purpose::Path { host: self.host };
            tokio::spawn(keep_watch(host, purpose, self.connector(), self.link.clone()));
        }
    }

    /// The agent of another host watches the way to this one.
    pub(super) fn path_caller(&self, mut caller: Authenticated, host: u32) {
        if self.directory.borrow().cut_off.contains(&host) {
            return refuse(caller, Welcome::Later(INJECTED.into()));
        }
        let (mut directory, times) = (self.directory.subscribe(), self.times);
        tokio::spawn(async move {
            if caller.responder.answer(&mut caller.stream, Welcome::Yes).await.is_ok() {
                hold(caller.stream, host, &mut directory, times).await;
            }
        });
    }

    /// The agent of another host asks for how long the launcher has not answered.
    pub(super) fn say_silence(&self, mut caller: Authenticated) {
        let silence = self.lease.silence(Instant::now()).as_millis() as u64;
        let limit = self.times.ask_limit();
        tokio::spawn(async move {
            let said = async {
                caller.responder.answer(&mut caller.stream, Welcome::Yes).await.ok()?;
                caller.stream.write_all(&silence.to_le_bytes()).await.ok()
            };
            let _ = tokio::time::timeout(limit, said).await;
        });
    }

    /// Asks all other agents for how long the launcher has not answered them.
    pub(super) fn ask_others(&mut self) {
        if self.paths.asking {
            return;
        }
        let addresses: Option<Vec<SocketAddr>> = {
            let directory = self.directory.borrow();
            let others = self.paths.witnesses.iter().filter(|host| **host != self.host);
            others.map(|host| directory.agents.get(*host as usize).copied().flatten()).collect()
        };
        let Some(addresses) = addresses else { return };
        self.paths.asking = true;
        let (key, events, asked) = (self.key.clone(), self.events.clone(), Instant::now());
        let limit = self.times.ask_limit();
        tokio::spawn(async move {
            let mut asking = JoinSet::new();
            for address in addresses {
                asking.spawn(silence_at(address, key.clone(), limit));
            }
            let said: Option<Vec<Duration>> = asking.join_all().await.into_iter().collect();
            let shortest = said.and_then(|all| all.into_iter().min());
            let _ = events.send(AgentEvent::OthersSaid { asked, shortest });
        });
    }

    /// They were asked.
    pub(super) fn others_said(&mut self, asked: Instant, shortest: Option<Duration>) {
        self.paths.asking = false;
        self.lease.others_said(asked, shortest);
    }

    /// Fault injection: the way to another host is cut, or mended.
    pub(super) fn cut_off(&mut self, host: u32, cut: bool) {
        self.directory.send_modify(|directory| {
            match cut {
                true => directory.cut_off.insert(host),
                false => directory.cut_off.remove(&host),
            };
        });
        if !cut {
            return;
        }
        let there: Vec<Rank> = {
            let directory = self.directory.borrow();
            let ranks = directory.host_of.iter().enumerate().filter(|(_, of)| **of == host);
            ranks.map(|(rank, _)| Rank(rank as u32)).collect()
        };
        for process in self.ranks.all().filter(|process| process.is_connected()) {
            for &peer in &there {
                process.send(&ToRank::ChannelOver { peer }, Vec::new(), true);
            }
        }
    }
}

/// For how long the launcher has not answered the agent there.
async fn silence_at(address: SocketAddr, key: JobKey, limit: Duration) -> Option<Duration> {
    let asking = async {
        let purpose = Purpose::LauncherSilence;
        let mut stream = auth::connect(address, &key, &purpose, limit).await.ok()?;
        let mut millis = [0; 8];
        stream.read_exact(&mut millis).await.ok()?;
        Some(Duration::from_millis(u64::from_le_bytes(millis)))
    };
    tokio::time::timeout(limit, asking).await.ok().flatten()
}

/// Keeps a connection to the agent of that host, and reports when that is impossible.
async fn keep_watch(host: u32, purpose: Purpose, mut connector: Connector, link: LauncherLink) {
    let mut broken: Option<Broken> = None;
    let (mut reported, times) = (false, connector.times);
    while !connector.events.is_closed() {
        let (address, cut) = {
            let directory = connector.directory.borrow();
            let address = directory.agents.get(host as usize).copied().flatten();
            (address, directory.cut_off.contains(&host))
        };
        // An agent that is not up is the launcher's affair.
        let Some(address) = address else {
            tokio::time::sleep(RETRY_MOST).await;
            continue;
        };
        let begun = Instant::now();
        let why = if cut {
            INJECTED.to_owned()
        } else {
            match auth::connect(address, &connector.key, &purpose, times.path_attempt()).await {
                Ok(stream) => {
                    if std::mem::take(&mut reported) {
                        link.send(FromAgent::PathBack { host });
                    }
                    broken = hold(stream, host, &mut connector.directory, times).await;
                    String::new()
                }
                // A slow agent is no broken way: its kernel answers.
                Err(e) if kernel_answers(&e.problem, address, times).await => {
                    broken = None;
                    String::new()
                }
                Err(e) => e.problem.to_string(),
            }
        };
        if !why.is_empty() {
            broken.get_or_insert((begun, String::new())).1 = why;
        }
        if let Some((since, why)) = &broken
            && since.elapsed() >= times.path_limit()
            && !reported
        {
            reported = true;
            link.send(FromAgent::PathLost { host, why: why.clone() });
        }
        tokio::time::sleep(RETRY_MOST).await;
    }
}

/// Waits for the end of a connection. The result says why the way does not work, if it was not the
/// other side that closed it.
async fn hold(
    mut stream: TcpStream,
    host: u32,
    directory: &mut watch::Receiver<Directory>,
    times: Times,
) -> Option<Broken> {
    let limit = times.path_limit();
    silence::end_when_silent(stream.as_fd(), limit);
    let mut beat = tokio::time::interval(times.interval());
    beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut bytes = [0; 16];
    loop {
        tokio::select! {
            read = stream.read(&mut bytes) => {
                let error = match read {
                    Ok(0) => return None,
                    Ok(_) => continue,
                    Err(error) => error,
                };
                let silent = matches!(
                    error.kind(),
                    ErrorKind::TimedOut | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable
                );
                let since = Instant::now().checked_sub(limit)?;
                return silent.then(|| (since, format!("no answer ({error})")));
            }
            _ = beat.tick(), if limit < PATH_KERNEL_PROBES => {
                // What goes wrong is heard by the read.
                let _ = stream.try_write(&[0]);
            }
            changed = directory.changed() => {
                changed.ok()?;
                if directory.borrow().cut_off.contains(&host) {
                    return Some((Instant::now(), INJECTED.to_owned()));
                }
            }
        }
    }
}

/// Whether the host of an agent that was too slow for a handshake can be reached.
async fn kernel_answers(problem: &Problem, address: SocketAddr, times: Times) -> bool {
    if !matches!(problem, Problem::TimedOut(_)) {
        return false;
    }
    let connected = tokio::time::timeout(times.path_attempt(), TcpStream::connect(address)).await;
    matches!(connected, Ok(Ok(_)))
}
