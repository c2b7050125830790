//! A listening socket that yields only callers that proved the job's key.
//!
//! Handshakes run side by side, so a silent caller delays nobody. Their number is bounded. When it
//! is reached, the oldest one that had its fair chance is dropped for the newcomer. If there is
//! none, newcomers wait in the kernel's queue. A flood of garbage thus costs a bounded number of
//! descriptors and a short delay.

use super::local::Socket;
use super::{AuthError, JobKey, Responder, accept};
use ftmpi_wire::hello::Purpose;
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::time::Duration;
use tokio::net::{TcpStream, ToSocketAddrs};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

/// Handshakes at a time.
const PENDING_MAX: usize = 128;
/// How long a handshake may take: a caller on an oversubscribed host waits for its turn several
/// times before it has said everything.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(20);
/// A handshake is not dropped for another one before this time.
const FAIR_CHANCE: Duration = Duration::from_millis(250);

/// A caller that proved the key and waits for an answer.
#[derive(Debug)]
pub struct Authenticated {
    /// The connection; not a byte after the handshake has been read.
    pub stream: TcpStream,
    /// Where the caller is.
    pub peer: SocketAddr,
    /// What it wants.
    pub purpose: Purpose,
    /// Owes it the answer.
    pub responder: Responder,
}

/// See the module's description.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
    key: JobKey,
    pending: JoinSet<Result<Authenticated, AuthError>>,
    /// Oldest first; finished ones are swept out when room is needed.
    order: VecDeque<(Instant, AbortHandle)>,
    /// Handshakes that failed since the start.
    rejected: u64,
}

impl Listener {
    /// Listens on `address`. On a host without loopback device an address of the loopback network
    /// is the name of a Unix socket.
    ///
    /// # Errors
    /// The address cannot be had.
    pub async fn bind(address: impl ToSocketAddrs, key: JobKey) -> io::Result<Self> {
        let addresses: Vec<_> = tokio::net::lookup_host(address).await?.collect();
        Ok(Self::on(Socket::bind(&addresses).await?, key))
    }

    /// As [`Listener::bind`], on a free port of a range; without one the system chooses.
    ///
    /// # Errors
    /// No port of the range is free, or the address cannot be had.
    pub async fn bind_within(
        ip: IpAddr,
        ports: Option<&RangeInclusive<u16>>,
        key: JobKey,
    ) -> io::Result<Self> {
        let Some(ports) = ports else { return Self::bind((ip, 0), key).await };
        // Processes that start at the same time begin at different ports.
        let begin = rand::random_range(ports.clone());
        for port in (begin..=*ports.end()).chain(*ports.start()..begin) {
            match Socket::bind(&[SocketAddr::new(ip, port)]).await {
                Ok(socket) => return Ok(Self::on(socket, key)),
                Err(e) if e.kind() == io::ErrorKind::AddrInUse => {}
                Err(e) => return Err(e),
            }
        }
        let (first, last) = (ports.start(), ports.end());
        let text = format!(
            "no port from {first} to {last} is free on this host; name more ports (--port-range)"
        );
        Err(io::Error::new(io::ErrorKind::AddrInUse, text))
    }

    fn on(socket: Socket, key: JobKey) -> Self {
        Self { socket, key, pending: JoinSet::new(), order: VecDeque::new(), rejected: 0 }
    }

    /// Where it listens.
    ///
    /// # Errors
    /// Never in practice.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.address()
    }

    /// Handshakes that failed since the start: scanners, other jobs.
    #[must_use]
    pub const fn rejected(&self) -> u64 {
        self.rejected
    }

    /// The next caller: `Ok` if it proved the key, `Err` if it did not, for the log (go on calling
    /// either way). The call may be cancelled at any time without losing a caller.
    ///
    /// # Errors
    /// One caller's failed handshake.
    pub async fn next(&mut self) -> Result<Authenticated, AuthError> {
        loop {
            let room = self.make_room();
            tokio::select! {
                Some(done) = self.pending.join_next() => match done {
                    Ok(Ok(caller)) => return Ok(caller),
                    Ok(Err(error)) => {
                        self.rejected += 1;
                        return Err(error);
                    }
                    // Dropped for a newcomer.
                    Err(_) => self.rejected += 1,
                },
                incoming = self.socket.accept(), if room => match incoming {
                    Ok((stream, peer)) => self.begin(stream, peer),
                    // Out of descriptors, or a caller that vanished: others must not suffer.
                    Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
                },
                () = tokio::time::sleep(FAIR_CHANCE), if !room => {}
            }
        }
    }

    fn begin(&mut self, stream: TcpStream, peer: SocketAddr) {
        let key = self.key.clone();
        let handle = self.pending.spawn(async move {
            let (stream, purpose, responder) = accept(stream, &key, HANDSHAKE_LIMIT).await?;
            Ok(Authenticated { stream, peer, purpose, responder })
        });
        self.order.push_back((Instant::now(), handle));
    }

    fn make_room(&mut self) -> bool {
        if self.pending.len() < PENDING_MAX {
            if self.order.len() > 2 * PENDING_MAX {
                self.order.retain(|(_, handle)| !handle.is_finished());
            }
            return true;
        }
        self.order.retain(|(_, handle)| !handle.is_finished());
        if let Some((since, oldest)) = self.order.front()
            && since.elapsed() >= FAIR_CHANCE
        {
            oldest.abort();
            self.order.pop_front();
        }
        false
    }
}
