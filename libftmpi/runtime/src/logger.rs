//! The connection to the event logger: frames out through a buffer, frames in, all non-blocking. If
//! the logger is on this computer, there is an [event ring](ftmpi_transport::event_ring) as well:
//! what is put there is stored at once.
//!
//! Order: the logger looks into the ring before it takes a frame from the socket. So events on the
//! socket may follow events of the ring at any time. Events of the ring may follow events on the
//! socket only once these are acknowledged.

use crate::tuning::SOCKET_EVERY;
use ftmpi_transport::event_ring::{Put, Writer};
use ftmpi_wire::EventNo;
use ftmpi_wire::event_log::Frame;
use std::io;

/// The connection is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost;

/// A connection.
#[derive(Debug)]
pub struct Logger {
    fd: i32,
    out: Vec<u8>,
    sent: usize,
    into: Vec<u8>,
    filled: usize,
    /// Something was sent on the socket: look at every poll.
    expecting: bool,
    /// Until the socket is looked at nevertheless.
    until_socket: u32,
    ring: Option<Writer>,
    /// The last event that went to the socket and is not acknowledged.
    on_socket: Option<EventNo>,
    /// Something else that is answered there.
    asked: bool,
    /// The logger knows that the ring fills up.
    warned: bool,
    /// An encoded frame.
    frame: Vec<u8>,
}

impl Logger {
    /// Over the socket that the agent made.
    #[must_use]
    pub fn new(fd: i32) -> Self {
        // SAFETY: plain system calls on a descriptor of ours; `one` lives over the call.
        unsafe {
            let flags = libc::fcntl(fd, libc::F_GETFL);
            libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK);
            let one: i32 = 1;
            libc::setsockopt(
                fd,
                libc::IPPROTO_TCP,
                libc::TCP_NODELAY,
                (&raw const one).cast(),
                size_of::<i32>() as u32,
            );
        }
        Self {
            fd,
            out: Vec::new(),
            sent: 0,
            into: vec![0; 64 << 10],
            filled: 0,
            expecting: false,
            until_socket: SOCKET_EVERY,
            ring: None,
            on_socket: None,
            asked: false,
            warned: false,
            frame: Vec::new(),
        }
    }

    /// From now on there is a ring.
    pub fn use_ring(&mut self, ring: Writer) {
        self.ring = Some(ring);
    }

    /// Whether the socket is to be looked at now.
    #[inline]
    pub fn is_due(&mut self) -> bool {
        if self.expecting {
            return true;
        }
        self.until_socket -= 1;
        self.until_socket == 0
    }

    /// Something may have come.
    pub fn look_soon(&mut self) {
        self.until_socket = 1;
    }

    /// The descriptor.
    #[must_use]
    pub fn fd(&self) -> i32 {
        self.fd
    }

    /// Hands over a frame. `true`: it holds events, and they are stored. A connection that is gone
    /// shows at the next poll.
    pub fn send(&mut self, frame: &Frame) -> bool {
        match frame {
            Frame::Append { first, records, .. } if !records.is_empty() => {
                if self.store(frame) {
                    return true;
                }
                self.on_socket = Some(EventNo(first.0 + records.len() as u64 - 1));
            }
            Frame::Append { .. } | Frame::Fetch { .. } => self.asked = true,
            _ => {}
        }
        frame.encode(&mut self.out);
        self.expecting |= self.on_socket.is_some() || self.asked;
        self.flush();
        false
    }

    #[inline]
    fn store(&mut self, frame: &Frame) -> bool {
        let Some(ring) = &mut self.ring else { return false };
        if self.on_socket.is_some() {
            return false;
        }
        self.frame.clear();
        frame.encode(&mut self.frame);
        if ring.put(&self.frame) == Put::Refused {
            return false;
        }
        if ring.fills_up() {
            ring.look();
            let full = ring.fills_up();
            if full && !self.warned {
                Frame::LookIntoRing.encode(&mut self.out);
                self.flush();
            }
            self.warned = full;
        }
        true
    }

    /// What came on the socket; what is answered is not expected any more.
    fn came(&mut self, frame: &Frame) {
        match frame {
            Frame::Ack { written, .. } => {
                self.asked = false;
                self.on_socket = self.on_socket.filter(|last| last > written);
            }
            Frame::End { .. } => self.asked = false,
            Frame::Events { .. } => self.asked = true,
            _ => {}
        }
        // Without a ring everything is of interest, for ever.
        self.expecting = self.ring.is_none() || self.on_socket.is_some() || self.asked;
    }

    /// Sends what goes. `false`: the connection is gone.
    pub fn flush(&mut self) -> bool {
        while self.sent < self.out.len() {
            let rest = &self.out[self.sent..];
            // SAFETY: the slice lives over the call.
            let count = unsafe {
                libc::send(
                    self.fd,
                    rest.as_ptr().cast(),
                    rest.len(),
                    libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT,
                )
            };
            if count < 0 {
                let kind = io::Error::last_os_error().kind();
                return matches!(kind, io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted);
            }
            self.sent += count as usize;
        }
        self.out.clear();
        self.sent = 0;
        true
    }

    /// Hands over the frames that have come.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn poll(&mut self, mut take: impl FnMut(Frame)) -> Result<bool, Lost> {
        self.until_socket = SOCKET_EVERY;
        if !self.flush() {
            return Err(Lost);
        }
        let mut came = false;
        loop {
            let room = &mut self.into[self.filled..];
            // SAFETY: the slice lives over the call.
            let count = unsafe {
                libc::recv(self.fd, room.as_mut_ptr().cast(), room.len(), libc::MSG_DONTWAIT)
            };
            if count < 0 {
                let kind = io::Error::last_os_error().kind();
                return match kind {
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(came),
                    _ => Err(Lost),
                };
            }
            if count == 0 && !room.is_empty() {
                return Err(Lost);
            }
            self.filled += count as usize;
            let mut taken = 0;
            loop {
                match Frame::decode(&self.into[taken..self.filled]) {
                    Ok(Some((frame, bytes))) => {
                        taken += bytes;
                        came = true;
                        self.came(&frame);
                        take(frame);
                    }
                    Ok(None) => break,
                    Err(_) => return Err(Lost),
                }
            }
            self.into.copy_within(taken..self.filled, 0);
            self.filled -= taken;
            if self.filled == self.into.len() {
                // A frame of events may be larger than the buffer; its length is bounded.
                self.into.resize(self.into.len() * 2, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    /// What nobody asked for is read after a sleep and, later, without one: left on the socket it
    /// would end every sleep at once.
    #[test]
    fn what_comes_unasked_is_read() {
        let frame = Frame::EventRing { process: 1, descriptor: 2, cookie: 3 };
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        for slept in [true, false] {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            let mut logger = Logger::new(ours.as_raw_fd());
            theirs.write_all(&bytes).unwrap();
            if slept {
                logger.look_soon();
            }
            let polls = 1 + (0..=SOCKET_EVERY).find(|_| logger.is_due()).expect("looked at");
            assert_eq!(polls, if slept { 1 } else { SOCKET_EVERY });
            let mut came = Vec::new();
            assert_eq!(logger.poll(|frame| came.push(frame)), Ok(true));
            assert_eq!(came, std::slice::from_ref(&frame));
        }
    }
}
