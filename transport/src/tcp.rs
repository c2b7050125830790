//! Channels between hosts (or within one, with `--transport tcp`): a connected, authenticated,
//! non-blocking socket that the agent made. Only raw `send` and `recv` here.
//!
//! A frame is the 24-byte header, little-endian, and the payload. A small frame costs one system
//! call on each side, together with what a causal protocol puts before it. A payload that is larger
//! than what was read along with its header goes straight to its landing place.

mod tuning;

pub use self::tuning::EAGER_MAX;
use self::tuning::{AHEAD_MAX, BUFFER, DIRECT_MIN, READS_PER_LOOK, WITH_HEADER};
use crate::incoming::{FrameReceiver, Incoming};
use ftmpi_wire::Header;
use ftmpi_wire::header::Kind;
use std::io;

/// One end of a channel.
pub struct Channel<T> {
    fd: i32,
    buffer: Box<[u8]>,
    from: usize,
    to: usize,
    incoming: Option<Incoming<T>>,
    /// The last payload went straight to its landing place.
    direct: bool,
    trash: Box<[u8]>,
    header_sent: usize,
    head: [u8; Header::BYTES],
    /// Bytes that leave before the next frame, and how many of them have left.
    ahead: Vec<u8>,
    ahead_sent: usize,
}

/// What a push or a poll found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All of the frame is on its way, or something was taken.
    Done,
    /// Nothing more leaves or comes now.
    Nothing,
    /// The connection is gone.
    Lost,
}

fn head_of(header: &Header) -> [u8; Header::BYTES] {
    let mut head = [0; Header::BYTES];
    for (bytes, word) in head.chunks_exact_mut(8).zip(header.to_words()) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    head
}

/// `None`: nothing now; an error: the connection is gone.
fn try_io(result: isize) -> io::Result<Option<usize>> {
    if result >= 0 {
        return Ok(Some(result as usize));
    }
    let error = io::Error::last_os_error();
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
        _ => Err(error),
    }
}

impl<T: Copy> Channel<T> {
    /// Takes over the socket; makes it non-blocking and undelayed.
    ///
    /// # Errors
    /// It is no socket.
    pub fn new(fd: i32) -> io::Result<Self> {
        let one: i32 = 1;
        // SAFETY: plain system calls on a descriptor; `one` lives over the call.
        let failed = unsafe {
            let flags = libc::fcntl(fd, libc::F_GETFL);
            flags < 0
                || libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK) < 0
                || libc::setsockopt(
                    fd,
                    libc::IPPROTO_TCP,
                    libc::TCP_NODELAY,
                    (&raw const one).cast(),
                    size_of::<i32>() as u32,
                ) < 0
                    // A Unix socket, on a host without loopback device, delays nothing.
                    && io::Error::last_os_error().raw_os_error() != Some(libc::EOPNOTSUPP)
        };
        if failed {
            return Err(io::Error::last_os_error());
        }
        Ok(Self::over(fd))
    }

    /// A channel over a socket that is non-blocking.
    fn over(fd: i32) -> Self {
        Self {
            fd,
            buffer: vec![0; BUFFER].into_boxed_slice(),
            from: 0,
            to: 0,
            incoming: None,
            direct: false,
            trash: Box::new([]),
            header_sent: 0,
            head: [0; Header::BYTES],
            ahead: Vec::new(),
            ahead_sent: 0,
        }
    }

    /// The descriptor, to sleep on.
    #[must_use]
    pub fn fd(&self) -> i32 {
        self.fd
    }

    /// Hands over as much of a frame as the socket takes; `begun` and `sent` keep its progress.
    ///
    /// # Safety
    /// `payload` points to `header.len` readable bytes, the same in every call for this frame.
    pub unsafe fn push(
        &mut self,
        header: &Header,
        payload: *const u8,
        begun: &mut bool,
        sent: &mut u64,
    ) -> Outcome {
        if !*begun {
            *begun = true;
            self.head = head_of(header);
            self.header_sent = 0;
            if header.kind == Kind::Piggyback && header.len <= AHEAD_MAX && self.ahead.is_empty() {
                self.ahead.extend_from_slice(&self.head);
                // SAFETY: by the caller.
                let payload = unsafe { std::slice::from_raw_parts(payload, header.len as usize) };
                self.ahead.extend_from_slice(payload);
                *sent = header.len;
                return Outcome::Done;
            }
        }
        loop {
            let ahead = &self.ahead[self.ahead_sent..];
            let head = &self.head[self.header_sent..];
            let left = (header.len - *sent) as usize;
            if head.is_empty() && left == 0 {
                return Outcome::Done;
            }
            let parts = [
                libc::iovec { iov_base: ahead.as_ptr().cast_mut().cast(), iov_len: ahead.len() },
                libc::iovec { iov_base: head.as_ptr().cast_mut().cast(), iov_len: head.len() },
                libc::iovec {
                    // SAFETY: `sent` ≤ `len`, and the caller gives `len` bytes.
                    iov_base: unsafe { payload.add(*sent as usize) }.cast_mut().cast(),
                    iov_len: left,
                },
            ];
            // SAFETY: all-zero is a valid `msghdr`.
            let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
            let skipped = usize::from(ahead.is_empty());
            message.msg_iov = parts[skipped..].as_ptr().cast_mut();
            message.msg_iovlen = parts.len() - skipped;
            // SAFETY: the vector and what it points to live over the call.
            let result = unsafe {
                libc::sendmsg(self.fd, &message, libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT)
            };
            match try_io(result) {
                Ok(Some(mut count)) => {
                    if !ahead.is_empty() {
                        let of_ahead = count.min(ahead.len());
                        count -= of_ahead;
                        self.ahead_sent += of_ahead;
                        if self.ahead_sent == self.ahead.len() {
                            self.ahead.clear();
                            self.ahead_sent = 0;
                        }
                    }
                    let of_head = count.min(Header::BYTES - self.header_sent);
                    self.header_sent += of_head;
                    *sent += (count - of_head) as u64;
                }
                Ok(None) => return Outcome::Nothing,
                Err(_) => return Outcome::Lost,
            }
        }
    }

    fn receive(&mut self, at: *mut u8, len: usize) -> io::Result<Option<usize>> {
        // SAFETY: the callers give `len` writable bytes.
        let result = unsafe { libc::recv(self.fd, at.cast(), len, libc::MSG_DONTWAIT) };
        match try_io(result)? {
            Some(0) if len > 0 => Err(io::ErrorKind::UnexpectedEof.into()),
            other => Ok(other),
        }
    }

    /// Takes what has come.
    pub fn poll<R: FrameReceiver<Token = T>>(&mut self, receiver: &mut R) -> Outcome {
        let mut outcome = Outcome::Nothing;
        for _ in 0..READS_PER_LOOK {
            match self.parse(receiver) {
                Ok(true) => outcome = Outcome::Done,
                Ok(false) => {}
                Err(_) => return Outcome::Lost,
            }
            let mut most = BUFFER;
            let read = match &self.incoming {
                Some(incoming)
                    if self.direct || incoming.header.len - incoming.received >= DIRECT_MIN =>
                {
                    self.direct = true;
                    self.receive_direct()
                }
                _ => {
                    if std::mem::take(&mut self.direct) {
                        most = WITH_HEADER;
                    }
                    self.buffer.copy_within(self.from..self.to, 0);
                    (self.to, self.from) = (self.to - self.from, 0);
                    let room = &mut self.buffer[self.to..];
                    let (at, len) = (room.as_mut_ptr(), room.len().min(most));
                    self.receive(at, len).inspect(|count| self.to += count.unwrap_or(0))
                }
            };
            match read {
                Ok(Some(count)) => {
                    outcome = Outcome::Done;
                    // After a short read the socket is mostly empty: this saves the next call.
                    if count < most / 2 {
                        return self.parse(receiver).map_or(Outcome::Lost, |_| outcome);
                    }
                }
                Ok(None) => return outcome,
                Err(_) => {
                    let _ = self.parse(receiver);
                    return Outcome::Lost;
                }
            }
        }
        outcome
    }

    /// Reads a large payload straight to its landing place; what is beyond the capacity is dropped.
    fn receive_direct(&mut self) -> io::Result<Option<usize>> {
        let Some(incoming) = &self.incoming else { return Ok(None) };
        let left = (incoming.header.len - incoming.received) as usize;
        let from = incoming.received as usize;
        let (at, len) = if from < incoming.capacity {
            // SAFETY: the landing has room for `capacity` bytes.
            (unsafe { incoming.at.add(from) }, left.min(incoming.capacity - from))
        } else {
            if self.trash.is_empty() {
                self.trash = vec![0; BUFFER].into_boxed_slice();
            }
            (self.trash.as_mut_ptr(), left.min(BUFFER))
        };
        let read = self.receive(at, len)?;
        if let (Some(count), Some(incoming)) = (read, &mut self.incoming) {
            incoming.received += count as u64;
        }
        Ok(read)
    }

    /// Takes what is in the buffer; whether that was anything.
    fn parse<R: FrameReceiver<Token = T>>(&mut self, receiver: &mut R) -> io::Result<bool> {
        let mut any = false;
        while self.step(receiver)? {
            any = true;
        }
        Ok(any)
    }

    /// Takes one step in the buffer; `false` if more bytes are needed.
    #[inline]
    fn step<R: FrameReceiver<Token = T>>(&mut self, receiver: &mut R) -> io::Result<bool> {
        let held = &self.buffer[self.from..self.to];
        let Some(incoming) = &mut self.incoming else {
            let Some(head) = held.first_chunk::<{ Header::BYTES }>() else { return Ok(false) };
            let word = |i: usize| u64::from_le_bytes(head[i..i + 8].try_into().expect("8 bytes"));
            // Behind a header that makes no sense nobody knows where the next one begins: what
            // follows would be read at the wrong place. It stays where it is; a new connection
            // begins at a frame.
            let Ok(header) = Header::from_words([word(0), word(8), word(16)]) else {
                return Err(io::ErrorKind::InvalidData.into());
            };
            self.from += Header::BYTES;
            let (at, capacity, token) = receiver.begin(&header);
            self.incoming = Some(Incoming { header, at, capacity, token, received: 0 });
            return Ok(true);
        };
        let left = (incoming.header.len - incoming.received) as usize;
        let count = left.min(held.len());
        let from = incoming.received as usize;
        if count > 0 && from < incoming.capacity {
            // SAFETY: the landing has room for `capacity` bytes.
            unsafe {
                ftmpi_copy::copy_apart(
                    held.as_ptr(),
                    incoming.at.add(from),
                    count.min(incoming.capacity - from),
                );
            }
        }
        self.from += count;
        incoming.received += count as u64;
        if incoming.received < incoming.header.len {
            return Ok(false);
        }
        if let Some(done) = self.incoming.take() {
            receiver.end(&done.header, done.token);
        }
        Ok(true)
    }

    /// The frame that is in the middle of landing, if the channel ends now.
    pub fn take_incoming(&mut self) -> Option<(Header, T)> {
        self.incoming.take().map(|incoming| (incoming.header, incoming.token))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_wire::{Ssn, header::Kind};
    use std::os::fd::IntoRawFd;
    use std::os::unix::net::UnixStream;

    struct Collect {
        buffer: Vec<u8>,
        limit: usize,
        got: Vec<(Header, Vec<u8>)>,
    }

    impl FrameReceiver for Collect {
        type Token = ();
        fn expects(&self, _: &Header) -> bool {
            false
        }
        fn begin(&mut self, header: &Header) -> (*mut u8, usize, ()) {
            self.buffer = vec![0; (header.len as usize).min(self.limit)];
            (self.buffer.as_mut_ptr(), self.buffer.len(), ())
        }
        fn end(&mut self, header: &Header, (): ()) {
            self.got.push((*header, self.buffer.clone()));
        }
    }

    #[test]
    fn frames_of_every_size_arrive_in_order_and_the_end_is_noticed() {
        let (a, b) = UnixStream::pair().unwrap();
        let (mut a, mut b) =
            (Channel::<()>::over(a.into_raw_fd()), Channel::<()>::over(b.into_raw_fd()));
        let mut sink = Collect { buffer: Vec::new(), limit: 300_000, got: Vec::new() };
        let sizes = [0usize, 1, 5000, 40_000, 65_536, 70_000, 1_000_000, 3];
        for (ssn, &size) in sizes.iter().enumerate() {
            let payload: Vec<u8> = (0..size).map(|i| (i * 7 + ssn) as u8).collect();
            let header = Header {
                kind: Kind::Eager,
                flags: 0,
                context: 0,
                tag: 1,
                len: size as u64,
                ssn: Ssn(ssn as u64),
            };
            let (mut begun, mut sent) = (false, 0);
            // SAFETY: the payload lives over the loop.
            while unsafe { a.push(&header, payload.as_ptr(), &mut begun, &mut sent) }
                != Outcome::Done
            {
                b.poll(&mut sink);
            }
            while sink.got.is_empty() {
                b.poll(&mut sink);
            }
            let (got_header, got) = sink.got.remove(0);
            assert_eq!(got_header, header);
            assert!(got == payload[..size.min(300_000)], "size {size}");
        }
        // SAFETY: closes the test's own descriptor.
        unsafe { libc::close(a.fd()) };
        assert_eq!(b.poll(&mut sink), Outcome::Lost);
    }

    #[test]
    fn a_piggyback_goes_out_with_the_frame_behind_it() {
        let (a, b) = UnixStream::pair().unwrap();
        let (mut a, mut b) =
            (Channel::<()>::over(a.into_raw_fd()), Channel::<()>::over(b.into_raw_fd()));
        let mut sink = Collect { buffer: Vec::new(), limit: 1 << 20, got: Vec::new() };
        let mut expected = Vec::new();
        // Until the socket is full, in the middle of a piggyback, too.
        for round in 0..60_u64 {
            for (kind, size) in [(Kind::Piggyback, 90 + round * 300), (Kind::Eager, 40_000)] {
                let payload: Vec<u8> = (0..size).map(|i| (i * 3 + round) as u8).collect();
                let (flags, context, tag, ssn) = (0, 0, 1, Ssn(round));
                let header = Header { kind, flags, context, tag, len: size, ssn };
                let (mut begun, mut sent) = (false, 0);
                // SAFETY: the payload lives over the loop.
                while unsafe { a.push(&header, payload.as_ptr(), &mut begun, &mut sent) }
                    != Outcome::Done
                {
                    b.poll(&mut sink);
                }
                if kind == Kind::Piggyback && round == 0 {
                    assert_eq!(b.poll(&mut sink), Outcome::Nothing, "it waits");
                }
                expected.push((header, payload));
            }
        }
        while sink.got.len() < expected.len() {
            b.poll(&mut sink);
        }
        assert!(sink.got == expected);
    }

    #[test]
    fn a_header_without_sense_ends_the_connection() {
        use std::io::Write;
        let (mut a, b) = UnixStream::pair().unwrap();
        let mut b = Channel::<()>::over(b.into_raw_fd());
        let mut sink = Collect { buffer: Vec::new(), limit: 1 << 20, got: Vec::new() };
        let (flags, context, tag, ssn) = (0, 0, 1, Ssn(0));
        let header = Header { kind: Kind::Eager, flags, context, tag, len: 3, ssn };
        a.write_all(&head_of(&header)).unwrap();
        a.write_all(b"abc").unwrap();
        // What follows would pass for a frame.
        a.write_all(&[0xff; Header::BYTES]).unwrap();
        a.write_all(&head_of(&header)).unwrap();
        a.write_all(b"xyz").unwrap();
        for _ in 0..3 {
            assert_eq!(b.poll(&mut sink), Outcome::Lost);
        }
        assert!(sink.got == [(header, b"abc".to_vec())]);
    }
}
