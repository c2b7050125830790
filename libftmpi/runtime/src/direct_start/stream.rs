//! The connection to a process manager: a socket that the launcher left open, or that is called.
//!
//! Guarantees: never more than the limit is held for an answer. A launcher that is gone gives an
//! error, not a signal.

use super::{Result, StartError};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// Bytes of one answer: Hydra's texts have 1024 at the most.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// A socket, of whichever kind: reading and writing are the same system calls.
#[derive(Debug)]
pub(super) struct Stream {
    socket: UnixStream,
    /// What was read beyond the last answer.
    ahead: Vec<u8>,
}

impl Stream {
    /// Over the descriptor that `variable` names.
    pub(super) fn inherited(text: &str) -> Result<Self> {
        let number = text.trim().parse().ok().filter(|number| *number > 2);
        let number: i32 = number.ok_or_else(|| {
            io::Error::new(ErrorKind::InvalidInput, format!("PMI_FD={text} is no descriptor"))
        })?;
        // SAFETY: a plain system call. What this process starts must not talk to the launcher.
        if unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
            return Err(io::Error::last_os_error().into());
        }
        // SAFETY: the descriptor is open, and the launcher left it open for this library.
        let descriptor = unsafe { OwnedFd::from_raw_fd(number) };
        Ok(Self::new(descriptor))
    }

    /// Calls `HOST:PORT`.
    pub(super) fn call(address: &str) -> Result<Self> {
        let socket = TcpStream::connect(address)?;
        socket.set_nodelay(true)?;
        Ok(Self::new(socket.into()))
    }

    pub(super) fn new(descriptor: OwnedFd) -> Self {
        Self { socket: descriptor.into(), ahead: Vec::new() }
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.socket.write_all(bytes)?)
    }

    fn read_more(&mut self) -> Result<()> {
        let mut some = [0; 4096];
        loop {
            match self.socket.read(&mut some) {
                Ok(0) => return Err(io::Error::from(ErrorKind::UnexpectedEof).into()),
                Ok(count) => {
                    self.ahead.extend_from_slice(&some[..count]);
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The next line, without its end.
    pub(super) fn line(&mut self) -> Result<String> {
        let mut seen = 0;
        loop {
            if let Some(end) = self.ahead[seen..].iter().position(|&byte| byte == b'\n') {
                let line = self.ahead.drain(..=seen + end).collect::<Vec<_>>();
                return Ok(String::from_utf8_lossy(&line[..line.len() - 1]).into_owned());
            }
            seen = self.ahead.len();
            if seen > ANSWER_BYTES_MAX {
                return Err(StartError::Answer("a line that does not end".into()));
            }
            self.read_more()?;
        }
    }

    /// The next message of exactly so many bytes.
    pub(super) fn exactly(&mut self, bytes: usize) -> Result<String> {
        if bytes > ANSWER_BYTES_MAX {
            return Err(StartError::Answer(format!("a message of {bytes} bytes")));
        }
        while self.ahead.len() < bytes {
            self.read_more()?;
        }
        let message = self.ahead.drain(..bytes).collect::<Vec<_>>();
        Ok(String::from_utf8_lossy(&message).into_owned())
    }
}

/// A text as a part of a message: what has a meaning there becomes a blank.
pub(super) fn plain(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_graphic() && !";=".contains(c);
    text.chars().take(400).map(|c| if is_plain(c) { c } else { ' ' }).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A stream, and its other end, where the answers lie already.
    pub(in crate::direct_start) fn answering(answers: &[u8]) -> (Stream, UnixStream) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(answers).unwrap();
        (Stream::new(ours.into()), theirs)
    }

    #[test]
    fn lines_and_messages_are_cut_where_they_end() {
        let (mut stream, theirs) = answering(b"one\ntwo\n123456rest");
        assert_eq!(stream.line().unwrap(), "one");
        assert_eq!(stream.line().unwrap(), "two");
        assert_eq!(stream.exactly(6).unwrap(), "123456");
        drop(theirs);
        assert!(matches!(stream.line(), Err(StartError::Io(_))), "it is gone");
        assert!(stream.send(b"x").is_err(), "an error, not a signal");
    }

    #[test]
    fn an_answer_without_end_is_not_kept() {
        let (mut stream, mut theirs) = answering(b"");
        let flood = std::thread::spawn(move || while theirs.write_all(&[b'x'; 4096]).is_ok() {});
        assert!(matches!(stream.line(), Err(StartError::Answer(_))));
        assert!(stream.ahead.len() <= ANSWER_BYTES_MAX + 4096);
        assert!(matches!(stream.exactly(1 << 30), Err(StartError::Answer(_))));
        drop(stream);
        flood.join().unwrap();
    }

    #[test]
    fn a_descriptor_that_is_none_is_an_error() {
        for text in ["", "x", "-1", "1", "99999"] {
            assert!(Stream::inherited(text).is_err(), "{text}");
        }
    }
}
