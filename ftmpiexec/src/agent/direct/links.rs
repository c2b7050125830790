//! Connections between the agents of a job that another launcher started: every agent reports to
//! the one on rank 0's host, and calls the others for channels of its ranks.
//!
//! Guarantees: both sides prove the job's key. An address that leads elsewhere is passed over.

use super::course::{Input, Order};
use super::{Event, RankSocket};
use crate::agent::launcher_link::keep_alive;
use crate::heartbeat::Times;
use crate::locality::own_address_towards;
use crate::tuning::{CALL_LIMIT, DIRECT_LINK_LIMIT, RETRY_FIRST, RETRY_MOST};
use ftmpi_transport::auth::{self, Authenticated, JobKey};
use ftmpi_transport::framed::{FrameReader, FrameWriter, Framed};
use ftmpi_transport::silence;
use ftmpi_wire::hello::{Purpose, Welcome};
use ftmpi_wire::{Incarnation, Rank};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;
use tokio::io::WriteHalf;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Bytes of a message between agents.
const FRAME_BYTES_MAX: usize = 64 << 10;
/// A public address that is nobody's, for the way out of this host.
const ELSEWHERE: &str = "192.0.2.1";

/// This host's addresses as others may see them, the best one first.
pub fn own_addresses(others: &[String], port: u16, one_machine: bool) -> Vec<SocketAddr> {
    let local = IpAddr::V4(Ipv4Addr::LOCALHOST);
    if one_machine {
        return vec![SocketAddr::new(local, port)];
    }
    // A packet to another host leaves from the address that the host can answer to. Hosts of one
    // job lie in few networks, so a few of them tell.
    let ways = others.iter().take(8).map(String::as_str).chain([ELSEWHERE]);
    let mut found: Vec<IpAddr> = ways.filter_map(own_address_towards).collect();
    let name = rustix::system::uname();
    let own = (name.nodename().to_string_lossy().into_owned(), 0).to_socket_addrs();
    found.extend(own.into_iter().flatten().map(|address| address.ip()));
    let mut seen = BTreeSet::new();
    found.retain(|ip| !ip.to_canonical().is_loopback() && seen.insert(*ip));
    if found.is_empty() {
        found.push(local);
    }
    found.into_iter().map(|ip| SocketAddr::new(ip.to_canonical(), port)).collect()
}

/// Connects to one of these addresses.
async fn connect(
    addresses: &[SocketAddr],
    key: &JobKey,
    purpose: &Purpose,
) -> Result<TcpStream, String> {
    let mut problems = Vec::new();
    for address in addresses {
        match auth::connect(*address, key, purpose, CALL_LIMIT).await {
            Ok(stream) => return Ok(stream),
            Err(e) => problems.push(e.to_string()),
        }
    }
    Err(problems.join("; "))
}

/// Connects to the agent of rank 0's host, and carries what is reported and ordered.
pub async fn report_to_first(
    (host, addresses): (u32, Vec<SocketAddr>),
    key: JobKey,
    reports: mpsc::UnboundedReceiver<Input>,
    events: mpsc::UnboundedSender<Event>,
) {
    let until = Instant::now() + DIRECT_LINK_LIMIT;
    let mut pause = RETRY_FIRST;
    let stream = loop {
        match connect(&addresses, &key, &Purpose::Agent { host }).await {
            Ok(stream) => break stream,
            Err(why) if Instant::now() > until => {
                let why = format!("the agent of rank 0's host cannot be reached: {why}");
                let _ = events.send(Event::FirstGone(why));
                return;
            }
            Err(_) => tokio::time::sleep(pause).await,
        }
        pause = (pause * 2).min(RETRY_MOST);
    };
    keep_alive(&stream, Times::default());
    let (reader, writer) = Framed::<TcpStream, Input, Order>::new(stream, FRAME_BYTES_MAX).split();
    let writing = tokio::spawn(write(writer, reports));
    read(reader, |order| events.send(Event::Order(order)).is_ok()).await;
    writing.abort();
    let _ = events.send(Event::FirstGone("the agent of rank 0's host is gone".into()));
}

/// On rank 0's host: the agent of another host is there.
pub fn accept_agent(
    mut caller: Authenticated,
    host: u32,
    events: mpsc::UnboundedSender<Event>,
) -> mpsc::UnboundedSender<Order> {
    let (outbox, orders) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        if caller.responder.answer(&mut caller.stream, Welcome::Yes).await.is_ok() {
            keep_alive(&caller.stream, Times::default());
            let framed = Framed::<TcpStream, Order, Input>::new(caller.stream, FRAME_BYTES_MAX);
            let (reader, writer) = framed.split();
            let writing = tokio::spawn(write(writer, orders));
            read(reader, |input| events.send(Event::FromAgent { host, input }).is_ok()).await;
            writing.abort();
        }
        let _ = events.send(Event::AgentGone(host));
    });
    outbox
}

async fn read<T: serde::de::DeserializeOwned>(
    mut reader: FrameReader<tokio::io::ReadHalf<TcpStream>, T>,
    mut take: impl FnMut(T) -> bool,
) {
    while let Ok(Some(message)) = reader.recv().await {
        if !take(message) {
            return;
        }
    }
}

async fn write<T: serde::Serialize>(
    mut writer: FrameWriter<WriteHalf<TcpStream>, T>,
    mut queue: mpsc::UnboundedReceiver<T>,
) {
    while let Some(message) = queue.recv().await {
        if writer.send(&message).await.is_err() {
            return;
        }
    }
}

/// Calls the agent of the other rank until it answers, and reports the socket.
pub async fn connect_peer(
    (from, to, round): (Rank, Rank, u32),
    addresses: Vec<SocketAddr>,
    key: JobKey,
    events: mpsc::UnboundedSender<Event>,
) {
    let purpose = Purpose::Channel {
        from,
        from_incarnation: Incarnation(0),
        to,
        to_incarnation: Incarnation(0),
        round,
    };
    let mut pause = RETRY_FIRST;
    while !events.is_closed() {
        if let Ok(stream) = connect(&addresses, &key, &purpose).await
            && let Some(socket) = raw(stream)
        {
            let socket = RankSocket { rank: from, peer: to, round, socket };
            let _ = events.send(Event::Socket(socket));
            return;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(RETRY_MOST);
    }
}

/// Answers a caller whose rank is here.
pub fn welcome(
    mut caller: Authenticated,
    (rank, peer, round): (Rank, Rank, u32),
    events: mpsc::UnboundedSender<Event>,
) {
    tokio::spawn(async move {
        if caller.responder.answer(&mut caller.stream, Welcome::Yes).await.is_ok()
            && let Some(socket) = raw(caller.stream)
        {
            let _ = events.send(Event::Socket(RankSocket { rank, peer, round, socket }));
        }
    });
}

/// Refuses a caller.
pub fn refuse(mut caller: Authenticated, why: String) {
    tokio::spawn(async move {
        let _ = caller.responder.answer(&mut caller.stream, Welcome::No(why)).await;
    });
}

/// Sends a message again after a pause.
pub fn later(event: Event, pause: Duration, events: mpsc::UnboundedSender<Event>) {
    tokio::spawn(async move {
        tokio::time::sleep(pause).await;
        let _ = events.send(event);
    });
}

/// The descriptor of a connection, with nothing read ahead.
fn raw(stream: TcpStream) -> Option<OwnedFd> {
    silence::keep_alive(stream.as_fd(), Times::default().connection());
    Some(OwnedFd::from(stream.into_std().ok()?))
}
