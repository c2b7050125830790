//! The connection of one rank to a channel memory: messages in, answers and stored messages out.

use super::core::{Core, Out};
use crate::tuning::channel_memory::{
    FULL_DISK_PAUSE, OUT_BYTES, READ_BYTES_MAX, READ_BYTES_MIN, SHARED_MIN,
};
use ftmpi_protocols::event_log::ConnId;
use ftmpi_wire::{Header, Rank};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::sync::Notify;

enum Piece {
    Own(Vec<u8>),
    Shared(Rc<[u8]>),
}

#[derive(Default)]
struct Connection {
    input: Vec<u8>,
    /// Bytes of the input that were used.
    used: usize,
    out: VecDeque<Piece>,
    out_bytes: usize,
    /// Bytes of the first piece that were sent.
    sent: usize,
}

/// Serves the connection to its end.
pub(super) async fn serve(
    core: &RefCell<Core>,
    conn: ConnId,
    to: Rank,
    woken: &Notify,
    stream: &mut TcpStream,
) {
    // In all cases the rank connects again.
    let _ = Connection::default().run(core, conn, to, woken, stream).await;
}

fn put_header(out: &mut Vec<u8>, header: &Header) {
    for word in header.to_words() {
        out.extend_from_slice(&word.to_le_bytes());
    }
}

impl Connection {
    async fn run(
        &mut self,
        core: &RefCell<Core>,
        conn: ConnId,
        to: Rank,
        woken: &Notify,
        stream: &mut TcpStream,
    ) -> io::Result<()> {
        loop {
            if !core.borrow().is_open(conn) {
                return Ok(());
            }
            loop {
                let more = self.collect(core, conn, to)?;
                if !self.send(stream)? || !more {
                    break;
                }
            }
            let stuck = core.borrow().is_stuck();
            let interest = match (self.out.is_empty(), stuck) {
                (true, false) => Some(Interest::READABLE),
                (false, false) => Some(Interest::READABLE | Interest::WRITABLE),
                (false, true) => Some(Interest::WRITABLE),
                (true, true) => None,
            };
            let ready = async {
                match interest {
                    Some(interest) => stream.ready(interest).await.map(|ready| ready.is_readable()),
                    None => {
                        tokio::time::sleep(FULL_DISK_PAUSE).await;
                        Ok(false)
                    }
                }
            };
            tokio::select! {
                readable = ready => {
                    if readable? && !stuck && !self.receive(core, conn, stream)? {
                        return Ok(());
                    }
                }
                () = woken.notified() => {}
            }
        }
    }

    fn own(&mut self) -> &mut Vec<u8> {
        if !matches!(self.out.back(), Some(Piece::Own(_))) {
            self.out.push_back(Piece::Own(Vec::new()));
        }
        match self.out.back_mut() {
            Some(Piece::Own(bytes)) => bytes,
            _ => unreachable!("just pushed"),
        }
    }

    /// Encodes what is wanted. `true`: there may be more.
    fn collect(&mut self, core: &RefCell<Core>, conn: ConnId, to: Rank) -> io::Result<bool> {
        let mut core = core.borrow_mut();
        while self.out_bytes < OUT_BYTES {
            let next = core.next(conn, to).map_err(|()| io::Error::other("unreadable"))?;
            let Some(next) = next else { return Ok(false) };
            let before = self.own().len();
            match next {
                Out::Frame(header, payload) => {
                    put_header(self.own(), &header);
                    self.own().extend_from_slice(&payload);
                }
                Out::Record(record, payload) => {
                    put_header(self.own(), &record.announcement());
                    put_header(self.own(), &record.header);
                    if payload.len() < SHARED_MIN {
                        self.own().extend_from_slice(&payload);
                    } else {
                        self.out_bytes += payload.len() + self.own().len() - before;
                        self.out.push_back(Piece::Shared(payload));
                        continue;
                    }
                }
            }
            self.out_bytes += self.own().len() - before;
        }
        Ok(true)
    }

    /// Sends what the socket takes. `true`: everything was sent.
    fn send(&mut self, stream: &TcpStream) -> io::Result<bool> {
        while let Some(first) = self.out.front() {
            let bytes: &[u8] = match first {
                Piece::Own(bytes) => bytes,
                Piece::Shared(bytes) => bytes,
            };
            if self.sent == bytes.len() {
                self.out.pop_front();
                self.sent = 0;
                continue;
            }
            match stream.try_write(&bytes[self.sent..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.sent += count;
                    self.out_bytes -= count;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Reads what has come, gives complete frames to the machine, and writes them. `false`: the
    /// client has closed, or sent nonsense.
    fn receive(
        &mut self,
        core: &RefCell<Core>,
        conn: ConnId,
        stream: &TcpStream,
    ) -> io::Result<bool> {
        let mut open = true;
        let mut came = 0;
        while came < READ_BYTES_MAX {
            self.input.drain(..self.used);
            self.used = 0;
            self.input.reserve(self.missing().max(READ_BYTES_MIN));
            match stream.try_read_buf(&mut self.input) {
                Ok(0) => open = false,
                Ok(count) => {
                    came += count;
                    if !self.parse(&mut core.borrow_mut(), conn) {
                        return Ok(false);
                    }
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            break;
        }
        core.borrow_mut().flush();
        Ok(open)
    }

    fn header(&self) -> Option<Result<Header, ()>> {
        let head = self.input[self.used..].first_chunk::<{ Header::BYTES }>()?;
        let word = |i: usize| u64::from_le_bytes(head[i..i + 8].try_into().expect("8 bytes"));
        Some(Header::from_words([word(0), word(8), word(16)]).map_err(|_| ()))
    }

    /// Bytes that the current frame still needs, within reason.
    fn missing(&self) -> usize {
        let whole = match self.header() {
            Some(Ok(header)) => Header::BYTES + header.len.min(64 << 20) as usize,
            _ => 0,
        };
        whole.saturating_sub(self.input.len() - self.used)
    }

    fn parse(&mut self, core: &mut Core, conn: ConnId) -> bool {
        loop {
            let header = match self.header() {
                None => return true,
                Some(Err(())) => return false,
                Some(Ok(header)) => header,
            };
            let begin = self.used + Header::BYTES;
            let end = begin.saturating_add(header.len as usize);
            let Some(payload) = self.input.get(begin..end) else { return true };
            if !core.take(conn, &header, payload) {
                return false;
            }
            self.used = end;
        }
    }
}
