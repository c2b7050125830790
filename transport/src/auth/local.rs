//! Connections within a host that has no loopback device, such as a sandbox without a network.
//!
//! Where packets to 127.0.0.1 have no way, an address of the loopback network is the name of a Unix
//! socket: 127.0.0.1:4711 is the abstract socket `ftmpi-127.0.0.1:4711`. Such names live in the
//! network namespace and end with the socket, as ports do. Both sides prove the job's key on such a
//! connection, too.
//!
//! A Unix stream is handed on as Tokio's `TcpStream`: reading, writing and waiting are the same
//! system calls. Only questions for addresses and for options of TCP fail, with `InvalidInput` or
//! "not supported"; [`addresses`] answers the first.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net as unix;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

/// Ports for names of Unix sockets. Any would do.
const PORTS: std::ops::RangeInclusive<u16> = 20_000..=60_000;
/// Attempts to find a name that is free.
const ATTEMPTS: u32 = 1000;

/// A socket that listens.
#[derive(Debug)]
pub(super) enum Socket {
    /// The usual one.
    Tcp(TcpListener),
    /// On a host without loopback device, under the name of this address.
    Unix(UnixListener, SocketAddr),
}

impl Socket {
    /// Listens on one of these addresses.
    pub(super) async fn bind(addresses: &[SocketAddr]) -> io::Result<Self> {
        match addresses {
            [address] if address.ip().is_loopback() && !has_loopback() => bind_unix(*address),
            _ => TcpListener::bind(addresses).await.map(Self::Tcp),
        }
    }

    /// Where it listens.
    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Tcp(socket) => socket.local_addr(),
            Self::Unix(_, address) => Ok(*address),
        }
    }

    /// The next caller, and its address.
    pub(super) async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        match self {
            Self::Tcp(socket) => {
                let (stream, peer) = socket.accept().await?;
                Ok((stream, SocketAddr::new(peer.ip().to_canonical(), peer.port())))
            }
            Self::Unix(socket, address) => {
                let (stream, _) = socket.accept().await?;
                Ok((disguised(stream)?, SocketAddr::new(address.ip(), 0)))
            }
        }
    }
}

/// Whether packets to the loopback address have a way. No packet is sent: the routing table
/// answers.
fn has_loopback() -> bool {
    UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))
        .and_then(|socket| socket.connect((Ipv4Addr::LOCALHOST, 9)))
        .is_ok()
}

fn name(address: SocketAddr) -> io::Result<unix::SocketAddr> {
    unix::SocketAddr::from_abstract_name(format!("ftmpi-{address}"))
}

fn bind_unix(address: SocketAddr) -> io::Result<Socket> {
    let bind = |port| {
        let address = SocketAddr::new(address.ip(), port);
        let socket = unix::UnixListener::bind_addr(&name(address)?)?;
        socket.set_nonblocking(true)?;
        Ok(Socket::Unix(UnixListener::from_std(socket)?, address))
    };
    if address.port() != 0 {
        return bind(address.port());
    }
    let mut last = io::Error::from(io::ErrorKind::AddrInUse);
    for _ in 0..ATTEMPTS {
        match bind(rand::random_range(PORTS)) {
            Err(e) if e.kind() == io::ErrorKind::AddrInUse => last = e,
            other => return other,
        }
    }
    Err(last)
}

/// Connects to an address: by TCP or, within a host without loopback device, by a Unix socket.
pub(super) async fn connect(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let refused = match TcpStream::connect(addresses).await {
        Ok(stream) => {
            stream.set_nodelay(true)?;
            return Ok(stream);
        }
        Err(e) => e,
    };
    for address in addresses.iter().filter(|address| address.ip().is_loopback()) {
        let Ok(stream) = unix::UnixStream::connect_addr(&name(*address)?) else { continue };
        stream.set_nonblocking(true)?;
        return disguised(UnixStream::from_std(stream)?);
    }
    Err(refused)
}

fn disguised(stream: UnixStream) -> io::Result<TcpStream> {
    let descriptor = OwnedFd::from(stream.into_std()?);
    TcpStream::from_std(std::net::TcpStream::from(descriptor))
}

/// The addresses of both ends, ours first; those of a Unix socket are the loopback address.
#[must_use]
pub fn addresses(stream: &TcpStream) -> Option<(IpAddr, IpAddr)> {
    let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let is_unix = |e: &io::Error| e.kind() == io::ErrorKind::InvalidInput;
    match (stream.local_addr(), stream.peer_addr()) {
        (Ok(ours), Ok(theirs)) => Some((ours.ip().to_canonical(), theirs.ip().to_canonical())),
        (Err(e), _) if is_unix(&e) => Some((here, here)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn a_unix_socket_serves_under_a_loopback_address() {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = bind_unix(any).unwrap();
        let address = listener.address().unwrap();
        assert!(address.ip().is_loopback() && address.port() != 0);
        assert!(bind_unix(address).is_err(), "the name is taken");
        let calling = tokio::spawn(async move { connect(&[address]).await.unwrap() });
        let (mut here, peer) = listener.accept().await.unwrap();
        let mut there = calling.await.unwrap();
        assert_eq!((peer.ip(), addresses(&here)), (any.ip(), Some((any.ip(), any.ip()))));
        there.write_all(b"hello").await.unwrap();
        let mut text = [0; 5];
        here.read_exact(&mut text).await.unwrap();
        assert_eq!(&text, b"hello");
        drop(there);
        assert_eq!(here.read(&mut text).await.unwrap(), 0);
        // A server comes back at its address.
        drop((listener, here));
        bind_unix(address).unwrap();
    }
}
