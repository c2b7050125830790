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
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use tokio::io::unix::AsyncFd;

/// The most descriptors of one datagram.
const DESCRIPTORS_MAX: usize = 4;
/// Room for the control messages of one datagram: its descriptors, and its sender. (Words, because
/// messages are aligned.)
// SAFETY: arithmetic only.
const CONTROL_WORDS: usize = unsafe {
    (libc::CMSG_SPACE((DESCRIPTORS_MAX * size_of::<RawFd>()) as u32)
        + libc::CMSG_SPACE(size_of::<libc::ucred>() as u32)) as usize
}
.div_ceil(size_of::<u64>());

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

fn receive_now(socket: BorrowedFd<'_>) -> io::Result<Option<Datagram>> {
    let mut bytes = vec![0; DATAGRAM_BYTES_MAX];
    let mut space = [0; CONTROL_WORDS];
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let mut head = head_of(&mut space);
    (head.msg_iov, head.msg_iovlen) = (&raw mut part, 1);
    let flags = libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
    // SAFETY: the header leads to the two buffers, which live over the call.
    let count = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut head, flags) };
    let Ok(count) = usize::try_from(count) else { return Err(io::Error::last_os_error()) };
    // SAFETY: the kernel has filled the buffer just now.
    let (descriptors, sender) = unsafe { control_messages(&head) };
    if head.msg_flags & (libc::MSG_TRUNC | libc::MSG_CTRUNC) != 0 {
        return Err(io::Error::other("a datagram longer than allowed"));
    }
    if count == 0 && descriptors.is_empty() {
        return Ok(None);
    }
    bytes.truncate(count);
    Ok(Some(Datagram { bytes, descriptors, sender }))
}

/// A header with this room for control messages.
fn head_of(space: &mut [u64; CONTROL_WORDS]) -> libc::msghdr {
    // SAFETY: plain integers and pointers, of which zeros mean none.
    let mut head: libc::msghdr = unsafe { std::mem::zeroed() };
    head.msg_control = space.as_mut_ptr().cast();
    head.msg_controllen = size_of_val(space);
    head
}

/// The descriptors of a datagram, and its sender. The number of a sender is a plain integer: the
/// kernel writes 0 for a process that this PID namespace does not show.
///
/// # Safety
/// The kernel has filled the room of the header, and nobody owns the descriptors yet.
unsafe fn control_messages(head: &libc::msghdr) -> (Vec<OwnedFd>, Option<u32>) {
    let (mut descriptors, mut sender) = (Vec::new(), None);
    // SAFETY: by the caller, here and below: messages lie within the room, with their lengths.
    let mut message = unsafe { libc::CMSG_FIRSTHDR(head) };
    while !message.is_null() {
        // SAFETY: as above.
        let it = unsafe { &*message };
        // SAFETY: as above.
        let (data, begin) = unsafe { (libc::CMSG_DATA(message), libc::CMSG_LEN(0) as usize) };
        let len = it.cmsg_len.saturating_sub(begin);
        match (it.cmsg_level, it.cmsg_type) {
            (libc::SOL_SOCKET, libc::SCM_RIGHTS) => {
                for at in 0..len / size_of::<RawFd>() {
                    // SAFETY: as above; each number is a new descriptor of this process.
                    let fd = unsafe {
                        OwnedFd::from_raw_fd(data.cast::<RawFd>().add(at).read_unaligned())
                    };
                    descriptors.push(fd);
                }
            }
            (libc::SOL_SOCKET, libc::SCM_CREDENTIALS) if len >= size_of::<libc::ucred>() => {
                // SAFETY: as above; all bit patterns are numbers.
                let who = unsafe { data.cast::<libc::ucred>().read_unaligned() };
                sender = u32::try_from(who.pid).ok().filter(|pid| *pid != 0);
            }
            _ => {}
        }
        // SAFETY: as above.
        message = unsafe { libc::CMSG_NXTHDR(head, message) };
    }
    (descriptors, sender)
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
    #[test]
    fn a_sender_that_is_not_visible_here_has_no_number() {
        for (pid, known) in [(0, None), (-1, None), (41, Some(41))] {
            let mut space = [0; CONTROL_WORDS];
            let mut head = head_of(&mut space);
            // SAFETY: there is room for such a message.
            let (descriptors, sender) = unsafe {
                let size = size_of::<libc::ucred>() as u32;
                head.msg_controllen = libc::CMSG_SPACE(size) as usize;
                let message = libc::CMSG_FIRSTHDR(&raw const head);
                (*message).cmsg_level = libc::SOL_SOCKET;
                (*message).cmsg_type = libc::SCM_CREDENTIALS;
                (*message).cmsg_len = libc::CMSG_LEN(size) as usize;
                let who = libc::ucred { pid, uid: 0, gid: 0 };
                libc::CMSG_DATA(message).cast::<libc::ucred>().write_unaligned(who);
                control_messages(&head)
            };
            assert_eq!((descriptors.len(), sender), (0, known));
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn too_many_descriptors_are_closed_and_refused() {
        let (control, rank) = Control::pair().unwrap();
        let (read, write) = rustix::pipe::pipe().unwrap();
        let mut space =
            [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX + 1))];
        let mut message = SendAncillaryBuffer::new(&mut space);
        let fds = [write.as_fd(); DESCRIPTORS_MAX + 1];
        assert!(message.push(SendAncillaryMessage::ScmRights(&fds)));
        rustix::net::sendmsg(&rank, &[IoSlice::new(b"x")], &mut message, SendFlags::empty())
            .unwrap();
        assert!(control.receive().await.is_err());
        drop(write);
        assert_eq!(rustix::io::read(&read, &mut [0]), Ok(0), "no descriptor is left");
    }
}
