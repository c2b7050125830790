//! The agent's end of a rank's control socket: whole datagrams, with descriptors.
//!
//! Guarantees: a datagram is sent whole or not at all, in order. If the system lacks memory or
//! descriptors to send one, the agent waits. Received descriptors are owned and closed on every
//! path. A datagram that is too long or carries too many descriptors is an error of that rank only.
//! Each datagram of a pair says who sent it, by the number that the process has here: in a
//! container it has another one.

use super::watched::watched;
use crate::tuning::SHORTAGE_PAUSE;
use ftmpi_wire::control::DATAGRAM_BYTES_MAX;
use rustix::io::{Errno, FdFlags};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use tokio::io::unix::AsyncFd;

/// The most descriptors of one datagram.
const DESCRIPTORS_MAX: usize = 4;

/// One datagram with its descriptors.
#[derive(Debug)]
pub struct Datagram {
    /// The message.
    pub bytes: Vec<u8>,
    /// Descriptors that came with it.
    pub descriptors: Vec<OwnedFd>,
    /// The process that sent it, on a socket of [`Control::pair`].
    pub sender: Option<u32>,
}

/// The agent's end.
#[derive(Debug)]
pub struct Control {
    socket: AsyncFd<OwnedFd>,
}

impl Control {
    /// A pair: the agent's end, and the rank's end, which blocks.
    ///
    /// # Errors
    /// No descriptors are left.
    pub fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        // Before the first datagram: none may come without its sender.
        rustix::net::sockopt::set_socket_passcred(&ours, true)?;
        Ok((Self::of(ours)?, theirs))
    }

    /// The agent's end of a socket whose other end a process has opened.
    ///
    /// # Errors
    /// The event loop cannot watch it.
    pub fn of(ours: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&ours, true)?;
        // A job view may fill a whole datagram; the default buffer just holds one.
        rustix::net::sockopt::set_socket_send_buffer_size(&ours, 4 * DATAGRAM_BYTES_MAX).ok();
        Ok(Self { socket: watched(ours)? })
    }

    /// Sends one datagram, waiting for room.
    ///
    /// # Errors
    /// The rank is gone, or the datagram is too long.
    pub async fn send(&self, bytes: &[u8], descriptors: &[OwnedFd]) -> io::Result<()> {
        let fds: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
        loop {
            let mut ready = self.socket.writable().await?;
            let sent = ready.try_io(|socket| {
                let mut space =
                    [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
                let mut control = SendAncillaryBuffer::new(&mut space);
                if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(&fds)) {
                    return Err(io::Error::other("too many descriptors for one datagram"));
                }
                rustix::net::sendmsg(
                    socket,
                    &[IoSlice::new(bytes)],
                    &mut control,
                    SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
                )
                .map_err(io::Error::from)
            });
            match sent {
                Ok(Ok(_)) => return Ok(()),
                Ok(Err(e)) if e.kind() == io::ErrorKind::Interrupted => {}
                Ok(Err(e)) if is_short(&e) => tokio::time::sleep(SHORTAGE_PAUSE).await,
                Ok(Err(e)) => return Err(e),
                Err(_would_block) => {}
            }
        }
    }

    /// The next datagram; `None` when the rank's end was closed.
    ///
    /// # Errors
    /// A datagram out of bounds, or the socket broke.
    pub async fn receive(&self) -> io::Result<Option<Datagram>> {
        loop {
            let mut ready = self.socket.readable().await?;
            match ready.try_io(|socket| receive_now(socket.as_fd())) {
                Ok(Err(e)) if e.kind() == io::ErrorKind::Interrupted => {}
                // A killed rank that left datagrams unread resets the connection.
                Ok(Err(e)) if e.raw_os_error() == Some(Errno::CONNRESET.raw_os_error()) => {
                    return Ok(None);
                }
                Ok(result) => return result,
                Err(_would_block) => {}
            }
        }
    }
}

/// Whether this is a shortage that passes: of memory, or of descriptors that other processes have
/// not received yet.
fn is_short(error: &io::Error) -> bool {
    let short = [Errno::TOOMANYREFS, Errno::NOBUFS, Errno::NOMEM];
    Errno::from_io_error(error).is_some_and(|errno| short.contains(&errno))
}

fn receive_now(socket: std::os::fd::BorrowedFd<'_>) -> io::Result<Option<Datagram>> {
    let mut bytes = vec![0; DATAGRAM_BYTES_MAX];
    let mut space =
        [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX), ScmCredentials(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let got = rustix::net::recvmsg(
        socket,
        &mut [IoSliceMut::new(&mut bytes)],
        &mut control,
        RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC,
    )?;
    let (mut descriptors, mut sender) = (Vec::new(), None);
    for message in control.drain() {
        match message {
            RecvAncillaryMessage::ScmRights(fds) => descriptors.extend(fds),
            RecvAncillaryMessage::ScmCredentials(who) => {
                sender = u32::try_from(who.pid.as_raw_nonzero().get()).ok();
            }
            _ => {}
        }
    }
    if got.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC) {
        return Err(io::Error::other("a datagram longer than allowed"));
    }
    if got.bytes == 0 && descriptors.is_empty() {
        return Ok(None);
    }
    bytes.truncate(got.bytes);
    for fd in &descriptors {
        rustix::io::fcntl_setfd(fd, FdFlags::CLOEXEC)?;
    }
    Ok(Some(Datagram { bytes, descriptors, sender }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn datagrams_and_descriptors_arrive_and_the_end_is_seen() {
        let (control, rank) = Control::pair().unwrap();
        let (read, write) = rustix::pipe::pipe().unwrap();
        control.send(b"take this", &[write]).await.unwrap();
        let got = receive_now(rank.as_fd()).unwrap().unwrap();
        assert_eq!(got.bytes, b"take this");
        rustix::io::write(&got.descriptors[0], b"x").unwrap();
        let mut byte = [0];
        rustix::io::read(&read, &mut byte).unwrap();
        assert_eq!(&byte, b"x");
        rustix::net::send(&rank, b"thanks", SendFlags::empty()).unwrap();
        let got = control.receive().await.unwrap().unwrap();
        assert_eq!((got.bytes, got.sender), (b"thanks".to_vec(), Some(std::process::id())));
        drop(rank);
        assert!(control.receive().await.unwrap().is_none());
    }
}
