//! The end of an image that streams into a process: at once, or, for a standby, when the process is
//! to take the place of its rank.
//!
//! Guarantees: without its last record no image is whole, so a standby does not go on before the
//! gate opens. A gate that is given up closes the pipe, and the standby ends. If more than the
//! last record of an image is missing, nothing more passes.

use super::events::AgentEvent;
use super::restore::Turn;
use crate::tuning::STANDBY_LOOK;
use ftmpi_checkpoint::stream::{RECORD_MAGIC, RecordHeader, Totals, kind};
use ftmpi_wire::Rank;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use tokio::sync::mpsc::UnboundedSender;

/// Bytes of the last record.
const END_BYTES: usize = size_of::<RecordHeader>() + size_of::<Totals>();

/// What holds the end of an image back.
pub struct Gate {
    opened: Receiver<()>,
    /// The standby, for [`AgentEvent::StandbyFilled`].
    rank: Rank,
    serial: u64,
    events: UnboundedSender<AgentEvent>,
    /// The turn among restores, until the image is read.
    turn: Turn,
}

/// Opens a gate; dropped, it gives the gate up.
#[derive(Debug)]
pub struct Opener(Sender<()>);

impl Opener {
    /// The process may go on.
    pub fn open(self) {
        let _ = self.0.send(());
    }
}

impl Gate {
    /// A gate for this standby, and what opens it.
    pub fn new(rank: Rank, serial: u64, events: UnboundedSender<AgentEvent>) -> (Self, Opener) {
        let (open, opened) = channel();
        (Self { opened, rank, serial, events, turn: None }, Opener(open))
    }

    /// Keeps a turn until the image is read.
    pub fn hold(&mut self, turn: Turn) {
        self.turn = turn;
    }

    /// Tells the agent when the pipe is empty; `true` when the gate opens, `false` when it is given
    /// up.
    fn wait(mut self, pipe: &File) -> bool {
        loop {
            match self.opened.recv_timeout(STANDBY_LOOK) {
                Ok(()) => return true,
                Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if rustix::io::ioctl_fionread(pipe).is_ok_and(|unread| unread == 0) {
                break;
            }
        }
        self.turn = None;
        let (rank, serial) = (self.rank, self.serial);
        let _ = self.events.send(AgentEvent::StandbyFilled { rank, serial });
        self.opened.recv().is_ok()
    }
}

/// The pipe to a process that reads its image.
pub struct Outlet {
    pipe: File,
    gate: Option<Gate>,
    /// What may be the last record.
    held: Vec<u8>,
}

impl Outlet {
    /// Into this pipe.
    pub fn new(pipe: OwnedFd, gate: Option<Gate>) -> Self {
        Self { pipe: File::from(pipe), gate, held: Vec::new() }
    }

    /// Writes the next bytes of the raw stream.
    ///
    /// # Errors
    /// Nobody reads them.
    pub fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.gate.is_none() {
            return self.pipe.write_all(bytes);
        }
        // Of all that has come, the last bytes stay here.
        let goes = (self.held.len() + bytes.len()).saturating_sub(END_BYTES);
        let of_held = goes.min(self.held.len());
        self.pipe.write_all(&self.held[..of_held])?;
        self.held.drain(..of_held);
        self.pipe.write_all(&bytes[..goes - of_held])?;
        self.held.extend_from_slice(&bytes[goes - of_held..]);
        Ok(())
    }

    /// All bytes have come: the end follows, when it may.
    pub fn end(mut self) {
        let Some(gate) = self.gate.take() else { return };
        if is_end(&self.held) && gate.wait(&self.pipe) {
            let _ = self.pipe.write_all(&self.held);
        }
    }
}

/// Whether these bytes are the last record of an image.
fn is_end(bytes: &[u8]) -> bool {
    let word = |at: usize| bytes.get(at..at + 4).and_then(|word| word.try_into().ok());
    let word = |at: usize| word(at).map(u32::from_ne_bytes);
    bytes.len() == END_BYTES && word(0) == Some(RECORD_MAGIC) && word(4) == Some(kind::END)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::time::Duration;

    fn image(len: usize) -> Vec<u8> {
        let mut bytes: Vec<u8> = (0..len).map(|at| at as u8).collect();
        bytes.extend(RECORD_MAGIC.to_ne_bytes());
        bytes.extend(kind::END.to_ne_bytes());
        bytes.resize(len + END_BYTES, 7);
        bytes
    }

    /// Writes in pieces of so many bytes; what is read before the gate opens, and in all.
    fn through(bytes: &[u8], piece: usize, open: bool) -> (usize, Vec<u8>) {
        let (mut read, write) = io::pipe().unwrap();
        let (events, mut inbox) = tokio::sync::mpsc::unbounded_channel();
        let (gate, opener) = Gate::new(Rank(1), 5, events);
        let whole = bytes.to_vec();
        let writer = std::thread::spawn(move || {
            let mut outlet = Outlet::new(OwnedFd::from(write), Some(gate));
            whole.chunks(piece).for_each(|piece| outlet.write_all(piece).unwrap());
            outlet.end();
        });
        let mut early = vec![0; bytes.len().saturating_sub(END_BYTES)];
        read.read_exact(&mut early).unwrap();
        let mut all = early.clone();
        if inbox.blocking_recv().is_some() {
            std::thread::sleep(Duration::from_millis(20));
            let unread = rustix::io::ioctl_fionread(&read).unwrap();
            assert_eq!(unread, 0, "the end waits");
        }
        if open {
            opener.open()
        } else {
            drop(opener)
        }
        read.read_to_end(&mut all).unwrap();
        writer.join().unwrap();
        (early.len(), all)
    }

    #[test]
    fn the_end_of_an_image_waits_for_the_gate() {
        let bytes = image(3000);
        for piece in [1, 7, 47, 48, 49, 1000, 5000] {
            let (early, all) = through(&bytes, piece, true);
            assert_eq!(early, 3000);
            assert!(all == bytes, "pieces of {piece}");
        }
        let (_, all) = through(&bytes, 100, false);
        assert_eq!(all.len(), 3000, "given up");
    }

    #[test]
    fn an_image_that_breaks_off_does_not_pass() {
        let bytes = image(3000);
        let (_, all) = through(&bytes[..2900], 100, true);
        assert_eq!(all.len(), 2900 - END_BYTES);
    }

    #[test]
    fn without_a_gate_everything_passes() {
        let (mut read, write) = io::pipe().unwrap();
        let mut outlet = Outlet::new(OwnedFd::from(write), None);
        outlet.write_all(b"image").unwrap();
        outlet.end();
        let mut all = Vec::new();
        read.read_to_end(&mut all).unwrap();
        assert_eq!(all, b"image");
    }
}
