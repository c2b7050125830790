//! The connection between an agent and its launcher.
//!
//! Guarantees: reports arrive in the order in which they were sent; a launcher whose host vanished
//! is noticed by keep-alive probes or by the [`super::lease`].

use super::events::AgentEvent;
use crate::agent_protocol::{AgentSetup, FromAgent, Report, ToAgent};
use crate::heartbeat::Times;
use crate::tuning::{KEEP_ALIVE_PROBES, LAUNCHER_CONNECT_LIMIT};
use ftmpi_transport::auth::{self, JobKey};
use ftmpi_transport::framed::{FrameReader, FrameWriter};
use ftmpi_wire::hello::Purpose;
use ftmpi_wire::{Incarnation, Rank};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

/// Sends messages to the launcher; clones send over the same connection.
#[derive(Debug, Clone)]
pub struct LauncherLink(mpsc::UnboundedSender<FromAgent>);

impl LauncherLink {
    /// Messages go into this queue, which [`write_reports`] empties.
    pub fn new(queue: mpsc::UnboundedSender<FromAgent>) -> Self {
        Self(queue)
    }

    /// Sends a message. A launcher that is gone receives nothing.
    pub fn send(&self, message: FromAgent) {
        let _ = self.0.send(message);
    }

    /// Reports what happened to an incarnation.
    pub fn report(&self, rank: Rank, incarnation: Incarnation, report: Report) {
        self.send(FromAgent::Rank { rank, incarnation, report });
    }

    /// Has the launcher print a line for the user.
    pub fn notice(&self, line: String) {
        self.send(FromAgent::Notice(line));
    }
}

/// The launcher cannot be reached.
#[derive(Debug, thiserror::Error)]
#[error("the launcher cannot be reached: {0}")]
pub struct Unreachable(String);

/// Connects to the launcher and proves that this agent has the job's key.
///
/// # Errors
/// No address of the launcher answers.
pub async fn connect(setup: &AgentSetup, key: &JobKey) -> Result<TcpStream, Unreachable> {
    let purpose = Purpose::Agent { host: setup.host };
    let mut problems = Vec::new();
    // ssh knows under which address this host sees the launcher's host.
    let seen_from_here = std::env::var("SSH_CONNECTION")
        .ok()
        .and_then(|text| text.split(' ').next()?.parse().ok())
        .zip(setup.launcher.first())
        .map(|(ip, launcher)| SocketAddr::new(ip, launcher.port()));
    // Slurm names the host where srun was called. It is tried last: it may be a host on the way.
    let of_srun = std::env::var("SLURM_LAUNCH_NODE_IPADDR")
        .ok()
        .and_then(|text| text.parse().ok())
        .zip(setup.launcher.first())
        .map(|(ip, launcher)| SocketAddr::new(ip, launcher.port()))
        .filter(|address| !setup.launcher.contains(address));
    let others = |address: Option<SocketAddr>| address.filter(|_| !setup.only_there).into_iter();
    let told = setup.launcher.iter().copied();
    let addresses: Vec<_> = others(seen_from_here).chain(told).chain(others(of_srun)).collect();
    // On an oversubscribed host a handshake may be given up that only had no turn.
    for address in addresses.iter().chain(&addresses).copied() {
        match auth::connect(address, key, &purpose, LAUNCHER_CONNECT_LIMIT).await {
            Ok(stream) => {
                keep_alive(&stream, setup.times);
                return Ok(stream);
            }
            Err(e) => {
                let problem = format!("{}: {}", e.peer, e.problem);
                if !problems.contains(&problem) {
                    problems.push(problem);
                }
            }
        }
    }
    Err(Unreachable(problems.join("; ")))
}

/// Has the kernel probe the connection: a launcher whose host vanished sends no goodbye.
pub(super) fn keep_alive(stream: &TcpStream, times: Times) {
    use rustix::net::sockopt;
    let (idle, pause) = (times.detect(), times.detect() / 2);
    let [idle, pause] = [idle, pause].map(|time| time.max(Duration::from_secs(1)));
    let _ = sockopt::set_socket_keepalive(stream, true);
    let _ = sockopt::set_tcp_keepidle(stream, idle);
    let _ = sockopt::set_tcp_keepintvl(stream, pause);
    let _ = sockopt::set_tcp_keepcnt(stream, KEEP_ALIVE_PROBES);
}

/// Turns the launcher's messages into events, to the end of the connection.
pub async fn read_orders<R: AsyncRead + Unpin>(
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

/// Sends the agent's messages; several that wait together go in one write.
pub async fn write_reports<W: AsyncWrite + Unpin>(
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
