//! Several event loggers tell each other what is written of their ranks (`--stable-vector loggers`), and
//! whoever else wants to know (`broadcast`: the agents of the hosts).
//!
//! Guarantees: whoever connects is told everything from the beginning, then what changes, in its order;
//! a logger that was restarted is connected to again by those who listen to it; what one logger heard of
//! another it tells to ranks, never to a third one.

use super::core::Core;
use ftmpi_protocols::event_log::ConnId;
use ftmpi_transport::auth::{self, Authenticated, JobKey};
use ftmpi_wire::event_log::Frame;
use ftmpi_wire::hello::{Purpose, Welcome};
use ftmpi_wire::{EventNo, Rank};
use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

const CONNECT_LIMIT: Duration = Duration::from_secs(5);
const AGAIN: Duration = Duration::from_millis(100);
/// News are gathered so long: a round trip of a rank with its logger takes about as much.
const GATHER: Duration = Duration::from_micros(200);

/// The loggers that this one listens to.
#[derive(Debug, Default)]
pub(super) struct PeerLoggers {
    addresses: Vec<SocketAddr>,
    listening: Vec<JoinHandle<()>>,
}

impl Drop for PeerLoggers {
    fn drop(&mut self) {
        self.listening.iter().for_each(JoinHandle::abort);
    }
}

impl PeerLoggers {
    /// These and no others; on the local set of tasks.
    pub fn are(&mut self, addresses: Vec<SocketAddr>, core: &Rc<RefCell<Core>>, key: &JobKey) {
        if self.addresses == addresses {
            return;
        }
        let listen = |address: &SocketAddr| {
            let (address, core, key) = (*address, core.clone(), key.clone());
            tokio::task::spawn_local(async move {
                let heard = |clocks: &[(Rank, EventNo)]| core.borrow_mut().clocks_from_peer(clocks);
                listen(address, &key, heard).await;
            })
        };
        let listening = addresses.iter().map(listen).collect();
        *self = Self { addresses, listening };
    }
}

/// Hands over what a logger says is written of its ranks, for ever: a connection that breaks is made
/// again.
pub async fn listen(address: SocketAddr, key: &JobKey, mut heard: impl FnMut(&[(Rank, EventNo)])) {
    loop {
        let purpose = Purpose::Clocks;
        if let Ok(stream) = auth::connect(address, key, &purpose, CONNECT_LIMIT).await {
            crate::socket_options::end_when_peer_vanishes(&stream, crate::client::SILENCE_LIMIT);
            hear(stream, &mut heard).await;
        }
        tokio::time::sleep(AGAIN).await;
    }
}

async fn hear(mut stream: TcpStream, heard: &mut impl FnMut(&[(Rank, EventNo)])) {
    let mut bytes = Vec::new();
    loop {
        match Frame::decode(&bytes) {
            Ok(Some((Frame::Stable { clocks }, taken))) => {
                heard(&clocks);
                bytes.drain(..taken);
            }
            Ok(None) => match stream.read_buf(&mut bytes).await {
                Ok(1..) => {}
                Ok(0) | Err(_) => return,
            },
            Ok(Some(_)) | Err(_) => return,
        }
    }
}

/// Tells a caller what is written of the ranks of this logger, as it changes.
pub(super) async fn tell(core: Rc<RefCell<Core>>, conn: ConnId, caller: Authenticated) {
    let Authenticated { mut stream, responder, .. } = caller;
    crate::socket_options::end_when_peer_vanishes(&stream, crate::client::SILENCE_LIMIT);
    if responder.answer(&mut stream, Welcome::Yes).await.is_err() {
        return;
    }
    let mut changes = core.borrow_mut().peer_subscribed(conn);
    let mut bytes = Vec::new();
    let mut rest = [0];
    loop {
        bytes.clear();
        core.borrow_mut().clocks_for_peer(conn, &mut bytes);
        if stream.write_all(&bytes).await.is_err() {
            break;
        }
        tokio::select! {
            changed = changes.changed() => if changed.is_err() { break },
            // It never speaks: this is its end.
            _ = stream.read(&mut rest) => break,
        }
        tokio::time::sleep(GATHER).await;
    }
    core.borrow_mut().peer_left(conn);
}
