//! News between event loggers: each tells the others what is stable of its ranks (`--stable-vector
//! loggers`), and tells the agents of the hosts as well (`broadcast`).
//!
//! Guarantees: a subscriber hears everything from the beginning, then every change in order. A
//! subscriber connects again to a logger that was restarted. What a logger hears from another one
//! goes to ranks, never to a third logger.

use super::core::Core;
use crate::tuning::event_logger::{PEER_CONNECT_LIMIT, PEER_GATHER, PEER_RETRY};
use ftmpi_protocols::event_log::ConnId;
use ftmpi_transport::auth::{self, Authenticated, JobKey};
use ftmpi_wire::event_log::Frame;
use ftmpi_wire::hello::{Purpose, Welcome};
use ftmpi_wire::{EventNo, Rank};
use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

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
    /// Subscribes to these loggers and to no others, on the local set of tasks.
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

/// Hands over what a logger says is stable of its ranks, for ever. A connection that breaks is made
/// again.
pub async fn listen(address: SocketAddr, key: &JobKey, mut heard: impl FnMut(&[(Rank, EventNo)])) {
    loop {
        let purpose = Purpose::Clocks;
        if let Ok(stream) = auth::connect(address, key, &purpose, PEER_CONNECT_LIMIT).await {
            crate::socket_options::end_when_peer_vanishes(&stream);
            hear(stream, &mut heard).await;
        }
        tokio::time::sleep(PEER_RETRY).await;
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

/// Sends a subscriber what is stable of the ranks of this logger, as it changes.
pub(super) async fn tell(core: Rc<RefCell<Core>>, conn: ConnId, caller: Authenticated) {
    let Authenticated { mut stream, responder, .. } = caller;
    crate::socket_options::end_when_peer_vanishes(&stream);
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
            // A subscriber never sends: a read returns at the end of the connection.
            _ = stream.read(&mut rest) => break,
        }
        tokio::time::sleep(PEER_GATHER).await;
    }
    core.borrow_mut().peer_left(conn);
}
