//! Real server processes in a temporary directory, and a rank as the event logger sees it.
#![allow(dead_code, reason = "each test file uses a part")]

pub mod throughput;

use ftmpi_transport::auth::{self, AuthError, JobKey};
use ftmpi_wire::event_log::Frame;
use ftmpi_wire::hello::Purpose;
use ftmpi_wire::{Determinant, EventNo, Incarnation, Rank};
use std::future::Future;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub const WITHIN: Duration = Duration::from_secs(5);

pub fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        tokio::time::timeout(Duration::from_secs(60), work).await.expect("the test hangs")
    })
}

/// A running server; killed when dropped.
pub struct Server {
    child: Child,
    stderr: Option<ChildStderr>,
    pub address: SocketAddr,
    pub key: JobKey,
}

impl Server {
    pub fn start(program: &str, dir: &Path, key: &JobKey, extra: &[&str]) -> Self {
        Self::without_dir(program, key, &[&["--dir", dir.to_str().unwrap()], extra].concat())
    }

    pub fn without_dir(program: &str, key: &JobKey, arguments: &[&str]) -> Self {
        let mut child = Command::new(program)
            .args(arguments)
            .env("FTMPI_KEY", key.to_hex())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let Some(address) = line.trim().strip_prefix("listening on ") else {
            let mut text = String::new();
            child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
            panic!("no announcement but {line:?}; {text}");
        };
        let address = address.parse().unwrap();
        let stderr = child.stderr.take();
        Self { child, stderr, address, key: key.clone() }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends SIGKILL. Returns the lines of the server.
    pub fn kill(mut self) -> String {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.said()
    }

    /// Sends SIGTERM; the server must end with success.
    pub fn end(mut self) -> String {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
        self.said()
    }

    fn said(&mut self) -> String {
        let mut text = String::new();
        self.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        text
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn event(n: u64) -> Determinant {
    Determinant::Clock { fails: (n % 7) as u32, bits: n.wrapping_mul(0x9e37_79b9_7f4a_7c15) }
}

pub fn events(range: std::ops::RangeInclusive<u64>) -> Vec<Determinant> {
    range.map(event).collect()
}

/// A rank's connection to its event logger.
pub struct RankConnection {
    pub stream: TcpStream,
    bytes: Vec<u8>,
}

impl RankConnection {
    pub async fn open(server: &Server, rank: u32, incarnation: u32) -> Result<Self, AuthError> {
        Self::open_with(server.address, &server.key, rank, incarnation).await
    }

    pub async fn open_with(
        address: SocketAddr,
        key: &JobKey,
        rank: u32,
        incarnation: u32,
    ) -> Result<Self, AuthError> {
        let purpose = Purpose::Events { rank: Rank(rank), incarnation: Incarnation(incarnation) };
        let stream = auth::connect(address, key, &purpose, WITHIN).await?;
        Ok(Self { stream, bytes: Vec::new() })
    }

    pub async fn send(&mut self, frame: &Frame) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        self.stream.write_all(&bytes).await
    }

    pub async fn append(&mut self, range: std::ops::RangeInclusive<u64>) -> std::io::Result<()> {
        let first = EventNo(*range.start());
        self.send(&Frame::Append { first, clock: EventNo(0), records: events(range) }).await
    }

    /// The next frame. `None` at the end of the connection, for any reason.
    pub async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some((frame, taken)) = Frame::decode(&self.bytes).unwrap() {
                self.bytes.drain(..taken);
                return Some(frame);
            }
            match self.stream.read_buf(&mut self.bytes).await {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// Waits until this event is written.
    pub async fn written(&mut self, last: u64) {
        loop {
            match self.next().await {
                Some(Frame::Ack { written, .. }) if written.0 >= last => return,
                Some(Frame::Ack { .. }) => {}
                other => panic!("{other:?} instead of an acknowledgement"),
            }
        }
    }

    /// Waits until this event is durable.
    pub async fn durable(&mut self, last: u64) {
        loop {
            match self.next().await {
                Some(Frame::Ack { durable, .. }) if durable.0 >= last => return,
                Some(Frame::Ack { .. }) => {}
                other => panic!("{other:?} instead of an acknowledgement"),
            }
        }
    }

    /// All stored events from this one on. `None` if the connection ends instead.
    pub async fn fetch(&mut self, from: u64) -> Option<Vec<Determinant>> {
        self.send(&Frame::Fetch { from: EventNo(from) }).await.ok()?;
        let mut all = Vec::new();
        loop {
            match self.next().await? {
                Frame::Events { first, records } => {
                    assert_eq!(first.0, from + all.len() as u64);
                    all.extend(records);
                }
                Frame::End { next } => {
                    assert_eq!(next.0, from + all.len() as u64);
                    return Some(all);
                }
                Frame::Ack { .. } => {}
                other => panic!("{other:?} in the answer to a fetch"),
            }
        }
    }
}

/// Connects like a port scanner, and worse. None of it may disturb the server.
pub async fn garbage(address: SocketAddr) -> Vec<TcpStream> {
    let mut open = Vec::new();
    for n in 0u32..200 {
        let Ok(mut stream) = TcpStream::connect(address).await else { continue };
        let noise: Vec<u8> =
            (0..n * 40).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let _ = match n % 5 {
            0 => Ok(()),
            1 => stream.write_all(&noise).await,
            2 => stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await,
            // The right beginning, and then nothing, or noise.
            3 => stream.write_all(b"ftmpi\r\n\0\x01\0\0\0").await,
            _ => stream.write_all(&[b"ftmpi\r\n\0\x01\0\0\0".as_slice(), &noise].concat()).await,
        };
        open.push(stream);
    }
    open
}
