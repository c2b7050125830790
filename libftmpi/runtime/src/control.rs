//! The control socket: datagrams to and from the agent, with passed descriptors.
//!
//! The agent's death shows as the end of the socket; a rank without its agent cannot be reached or
//! restarted, so it ends at once (the dispatcher restarts it with its host).

use crate::world::fatal;
use ftmpi_wire::control::{self, FromRank, ToRank, fds};
use std::io;

/// Descriptors that may come with one message.
const PASSED_MAX: usize = 4;

/// The rank's end of the control socket.
#[derive(Debug)]
pub struct Control {
    fd: i32,
    buffer: Vec<u8>,
    /// The agent has spoken our language.
    understood: bool,
}

#[repr(C, align(8))]
struct Ancillary([u8; 64]);

impl Control {
    /// Over the descriptor that the agent left open.
    #[must_use]
    pub fn inherited() -> Self {
        Self { fd: fds::CONTROL, buffer: vec![0; control::DATAGRAM_BYTES_MAX], understood: false }
    }

    /// To sleep on.
    #[must_use]
    pub fn fd(&self) -> i32 {
        self.fd
    }

    /// Sends a message, with a descriptor if there is one to go along.
    pub fn send(&mut self, message: &FromRank, passed: Option<i32>) {
        let bytes = control::encode(message);
        let part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let mut ancillary = Ancillary([0; 64]);
        // SAFETY: all-zero is a valid `msghdr`.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_iov = (&raw const part).cast_mut();
        header.msg_iovlen = 1;
        if let Some(fd) = passed {
            header.msg_control = ancillary.0.as_mut_ptr().cast();
            // SAFETY: the buffer holds one control message of one descriptor (24 of 64 bytes), and
            // `msg_controllen` says so before `CMSG_FIRSTHDR` looks.
            unsafe {
                header.msg_controllen = libc::CMSG_SPACE(4) as usize;
                let first = libc::CMSG_FIRSTHDR(&header);
                (*first).cmsg_level = libc::SOL_SOCKET;
                (*first).cmsg_type = libc::SCM_RIGHTS;
                (*first).cmsg_len = libc::CMSG_LEN(4) as usize;
                libc::CMSG_DATA(first).cast::<i32>().write_unaligned(fd);
            }
        }
        loop {
            // SAFETY: everything that the header points to lives over the call.
            let sent = unsafe { libc::sendmsg(self.fd, &header, libc::MSG_NOSIGNAL) };
            if sent >= 0 {
                return;
            }
            match io::Error::last_os_error().raw_os_error() {
                Some(libc::EINTR | libc::EAGAIN | libc::ENOBUFS) => {}
                _ => agent_is_gone(),
            }
        }
    }

    /// Takes a message; `None` if there is none and `wait` is not set.
    pub fn receive(&mut self, wait: bool) -> Option<(ToRank, Vec<i32>)> {
        loop {
            let part = libc::iovec {
                iov_base: self.buffer.as_mut_ptr().cast(),
                iov_len: self.buffer.len(),
            };
            let mut ancillary = Ancillary([0; 64]);
            // SAFETY: all-zero is a valid `msghdr`.
            let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
            header.msg_iov = (&raw const part).cast_mut();
            header.msg_iovlen = 1;
            header.msg_control = ancillary.0.as_mut_ptr().cast();
            header.msg_controllen = ancillary.0.len();
            let flags = libc::MSG_CMSG_CLOEXEC | if wait { 0 } else { libc::MSG_DONTWAIT };
            // SAFETY: everything that the header points to lives over the call.
            let count = unsafe { libc::recvmsg(self.fd, &mut header, flags) };
            if count < 0 {
                match io::Error::last_os_error().raw_os_error() {
                    Some(libc::EINTR) => continue,
                    Some(libc::EAGAIN) => return None,
                    _ => agent_is_gone(),
                }
            }
            if count == 0 {
                agent_is_gone();
            }
            let passed = passed_descriptors(&header);
            match control::decode(&self.buffer[..count as usize]) {
                Ok(message) => {
                    self.understood = true;
                    return Some((message, passed));
                }
                // A message of another version: not for us; but all depends on the first one.
                Err(_) if self.understood => passed.into_iter().for_each(close),
                Err(error) => fatal(
                    "ftmpiexec says something that this libmpi does not understand: are both of the same \
                     version?",
                    &error,
                ),
            }
        }
    }
}

/// Asks the agent something and waits for its answer, without memory of its own: for moments at which other
/// threads stand still wherever they are. Nothing else may be on its way. The length of the answer, and the
/// descriptor that came along.
pub fn ask(request: &[u8], answer: &mut [u8]) -> (usize, Option<i32>) {
    let part = libc::iovec { iov_base: answer.as_mut_ptr().cast(), iov_len: answer.len() };
    let mut ancillary = Ancillary([0; 64]);
    // SAFETY: the request lives over the call.
    let sent = || unsafe {
        libc::send(fds::CONTROL, request.as_ptr().cast(), request.len(), libc::MSG_NOSIGNAL)
    };
    while sent() < 0 {
        match io::Error::last_os_error().raw_os_error() {
            Some(libc::EINTR | libc::EAGAIN | libc::ENOBUFS) => {}
            _ => agent_is_gone(),
        }
    }
    loop {
        // SAFETY: all-zero is a valid `msghdr`.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_iov = (&raw const part).cast_mut();
        header.msg_iovlen = 1;
        header.msg_control = ancillary.0.as_mut_ptr().cast();
        header.msg_controllen = ancillary.0.len();
        // SAFETY: everything that the header points to lives over the call.
        let count = unsafe { libc::recvmsg(fds::CONTROL, &mut header, libc::MSG_CMSG_CLOEXEC) };
        if count > 0 {
            let mut passed = None;
            // SAFETY: as in `passed_descriptors`; at most one descriptor comes with an answer.
            unsafe {
                let first = libc::CMSG_FIRSTHDR(&header);
                if !first.is_null()
                    && (*first).cmsg_level == libc::SOL_SOCKET
                    && (*first).cmsg_type == libc::SCM_RIGHTS
                    && (*first).cmsg_len >= libc::CMSG_LEN(4) as usize
                {
                    passed = Some(own(libc::CMSG_DATA(first).cast::<i32>().read_unaligned()));
                }
            }
            return (count as usize, passed);
        }
        if io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
            agent_is_gone();
        }
    }
}

/// The descriptors that came along, moved to where the library keeps its own.
fn passed_descriptors(header: &libc::msghdr) -> Vec<i32> {
    let mut passed = Vec::new();
    // SAFETY: the kernel filled the control buffer; the macros walk it within `msg_controllen`, and
    // a descriptor is read only where `cmsg_len` says that it is.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(header);
        while !message.is_null() {
            if (*message).cmsg_level == libc::SOL_SOCKET && (*message).cmsg_type == libc::SCM_RIGHTS
            {
                let bytes = (*message).cmsg_len - libc::CMSG_LEN(0) as usize;
                let data = libc::CMSG_DATA(message).cast::<i32>();
                for i in 0..(bytes / 4).min(PASSED_MAX) {
                    passed.push(own(data.add(i).read_unaligned()));
                }
            }
            message = libc::CMSG_NXTHDR(header, message);
        }
    }
    passed
}

/// Moves a descriptor out of the program's way.
#[must_use]
pub fn own(fd: i32) -> i32 {
    // SAFETY: a plain system call on a descriptor of ours.
    let move_up = || unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, fds::FIRST_OWN) };
    let mut high = move_up();
    if high < 0 {
        high = with_all_descriptors(move_up);
    }
    if high < 0 {
        return fd;
    }
    close(fd);
    high
}

/// Does something for which the program may have left no descriptors: its own limit on their number may be below
/// ours. Up to the hard limit everybody may have them.
fn with_all_descriptors(act: impl Fn() -> i32) -> i32 {
    let mut own = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: valid for writing.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut own) } != 0 {
        return -1;
    }
    let all = libc::rlimit { rlim_cur: own.rlim_max, ..own };
    // SAFETY: valid for reading.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const all) } != 0 {
        return -1;
    }
    let result = act();
    let mut meanwhile = all;
    // SAFETY: one valid for reading, one for writing; 0 is this process.
    unsafe { libc::prlimit(0, libc::RLIMIT_NOFILE, &raw const own, &raw mut meanwhile) };
    if (meanwhile.rlim_cur, meanwhile.rlim_max) != (all.rlim_cur, all.rlim_max) {
        // Another thread has just set its own.
        // SAFETY: valid for reading.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const meanwhile) };
    }
    result
}

/// Closes a descriptor of ours.
pub fn close(fd: i32) {
    // SAFETY: a plain system call on a descriptor that the caller owns.
    unsafe { libc::close(fd) };
}

fn agent_is_gone() -> ! {
    // SAFETY: ends the process; nothing is left to do.
    unsafe { libc::_exit(1) }
}
