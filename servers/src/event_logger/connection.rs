//! The connection of one rank: reads bursts of frames, sends acknowledgements and stored events.

use super::core::Core;
use super::link::Link;
use crate::tuning::event_logger::{READ_BYTES_MAX, READ_BYTES_MIN, REFUSAL_LIMIT};
use ftmpi_protocols::event_log::{ConnId, Input};
use ftmpi_wire::Rank;
use ftmpi_wire::event_log::Frame;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::time::Instant;

/// Serves the connection to its end.
pub(super) async fn serve(
    core: &RefCell<Core>,
    conn: ConnId,
    link: &Link,
    rank: Rank,
    stream: &mut TcpStream,
    delay: Duration,
) {
    let mut connection = Connection {
        rank,
        input: Received::default(),
        out: Vec::new(),
        sent: 0,
        late: VecDeque::new(),
    };
    // In all cases the rank connects again.
    let _ = connection.run(core, conn, link, stream, delay).await;
}

struct Connection {
    rank: Rank,
    input: Received,
    /// Bytes to be sent, from `sent` on.
    out: Vec<u8>,
    sent: usize,
    /// Frames that are taken later (fault injection). If the connection ends before, they are lost,
    /// like frames that a network still holds.
    late: VecDeque<(Instant, Frame)>,
}

/// Bytes that were received, from `taken` on.
#[derive(Default)]
struct Received {
    bytes: Vec<u8>,
    taken: usize,
}

impl Connection {
    async fn run(
        &mut self,
        core: &RefCell<Core>,
        conn: ConnId,
        link: &Link,
        stream: &mut TcpStream,
        delay: Duration,
    ) -> io::Result<()> {
        loop {
            self.take_late(core, conn);
            let ended = self.collect(core, conn, link);
            self.send(stream)?;
            if ended {
                // Give a refusal the time to leave.
                let leaving = async {
                    while self.sent < self.out.len() {
                        stream.writable().await?;
                        self.send(stream)?;
                    }
                    io::Result::Ok(())
                };
                let _ = tokio::time::timeout(REFUSAL_LIMIT, leaving).await;
                return Ok(());
            }
            let sending = self.sent < self.out.len();
            let streaming = link.wanted.borrow().stream.is_some();
            if streaming && !sending {
                // Other connections have their turn between two parts.
                tokio::task::yield_now().await;
                continue;
            }
            // A client that does not take answers is not read from: memory stays bounded.
            let interest = if sending { Interest::WRITABLE } else { Interest::READABLE };
            let due = self.late.front().map(|(due, ..)| *due);
            tokio::select! {
                ready = stream.ready(interest) => {
                    if ready?.is_readable() && !sending && !self.receive(core, conn, stream, delay)? {
                        return Ok(());
                    }
                }
                () = link.woken.notified() => {}
                () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {}
            }
        }
    }

    /// Encodes what is wanted. `true`: the connection ends.
    fn collect(&mut self, core: &RefCell<Core>, conn: ConnId, link: &Link) -> bool {
        if self.sent < self.out.len() {
            let wanted = link.wanted.borrow();
            if wanted.refuse {
                Frame::Refused.encode(&mut self.out);
            }
            return wanted.close || wanted.refuse;
        }
        self.out.clear();
        self.sent = 0;
        let (near, ack, stream) = {
            let mut wanted = link.wanted.borrow_mut();
            (wanted.near.take(), wanted.ack.take(), wanted.stream)
        };
        if let Some(near) = near {
            near.encode(&mut self.out);
        }
        if let Some((written, durable)) = ack {
            core.borrow_mut().stable_news(conn, &mut self.out);
            Frame::Ack { written, durable }.encode(&mut self.out);
        }
        if let Some((rank, from, next)) = stream {
            let after = if from < next {
                core.borrow_mut().read_events(conn, rank, from, next, &mut self.out)
            } else {
                Frame::End { next }.encode(&mut self.out);
                None
            };
            link.wanted.borrow_mut().stream = after.map(|after| (rank, after, next));
        }
        let wanted = link.wanted.borrow();
        if wanted.refuse {
            Frame::Refused.encode(&mut self.out);
        }
        wanted.close || wanted.refuse
    }

    /// Takes the frames that were held back for long enough.
    fn take_late(&mut self, core: &RefCell<Core>, conn: ConnId) {
        let now = Instant::now();
        if self.late.front().is_none_or(|(due, _)| *due > now) {
            return;
        }
        let mut core = core.borrow_mut();
        while let Some((_, frame)) = self.late.pop_front_if(|(due, _)| *due <= now) {
            core.feed(Input::Frame { conn, frame });
        }
        core.flush();
    }

    fn send(&mut self, stream: &TcpStream) -> io::Result<()> {
        while self.sent < self.out.len() {
            match stream.try_write(&self.out[self.sent..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(sent) => self.sent += sent,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// One read, all frames in it, one write to the file. `false`: the client has closed.
    fn receive(
        &mut self,
        core: &RefCell<Core>,
        conn: ConnId,
        stream: &TcpStream,
        delay: Duration,
    ) -> io::Result<bool> {
        let input = &mut self.input;
        input.bytes.drain(..input.taken);
        input.taken = 0;
        // The buffer grows with the load: only a full one is a reason for a larger one.
        if input.bytes.capacity() - input.bytes.len() < READ_BYTES_MIN {
            let more = input.bytes.capacity().clamp(READ_BYTES_MIN, READ_BYTES_MAX);
            input.bytes.reserve(more);
        }
        match stream.try_read_buf(&mut input.bytes) {
            Ok(0) => return Ok(false),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
            Err(error) => return Err(error),
        }
        let mut core = core.borrow_mut();
        // Events in the ring were stored before the frames here were sent.
        core.drain(self.rank);
        let good = loop {
            match Frame::decode(&input.bytes[input.taken..]) {
                Ok(Some((frame, taken))) => {
                    input.taken += taken;
                    let append = matches!(frame, Frame::Append { .. });
                    if !delay.is_zero() && (append || !self.late.is_empty()) {
                        self.late.push_back((Instant::now() + delay, frame));
                    } else {
                        core.feed(Input::Frame { conn, frame });
                    }
                }
                Ok(None) => break true,
                Err(error) => {
                    core.feed(Input::Malformed { conn, why: error.to_string() });
                    break false;
                }
            }
        };
        core.flush();
        Ok(good)
    }
}
