//! The connection to the event logger: frames out through a buffer, frames in, all non-blocking.

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
    /// Something was appended that is not acknowledged: look at every poll.
    pub expecting: bool,
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
        Self { fd, out: Vec::new(), sent: 0, into: vec![0; 64 << 10], filled: 0, expecting: false }
    }

    /// The descriptor.
    #[must_use]
    pub fn fd(&self) -> i32 {
        self.fd
    }

    /// Queues a frame and sends what goes. `false`: the connection is gone.
    pub fn send(&mut self, frame: &Frame) -> bool {
        frame.encode(&mut self.out);
        self.expecting |= matches!(frame, Frame::Append { .. } | Frame::Fetch { .. });
        self.flush()
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
