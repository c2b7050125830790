//! Standard input for rank 0, kept for its later incarnations.
//!
//! Guarantees: each incarnation is fed from the byte at which its image stands. Nothing is read
//! from the user before the program can take it. With fault tolerance, a file in the job's
//! directory keeps what was read; without it nothing is kept.
//!
//! A continued job is fed what was read before, then what the new launcher reads. If standard input
//! is a regular file, the launcher takes it for the same file and continues where reading stopped.

use super::events::LauncherEvent;
use super::{Launcher, notices};
use crate::agent_protocol::ToAgent;
use crate::job_dir::JobDir;
use crate::tuning::{INPUT_PIECE_BYTES, INPUT_WINDOW_BYTES};
use ftmpi_protocols::dispatcher::Input;
use ftmpi_wire::{Incarnation, Rank};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};
use tokio::sync::mpsc as async_mpsc;

#[derive(Debug)]
enum Store {
    /// Everything that was ever read.
    File(File),
    /// What was read and not passed on yet.
    Memory(VecDeque<u8>),
}

/// The launcher's standard input.
#[derive(Debug)]
pub struct StandardInput {
    store: Store,
    /// Bytes read from the user, and kept.
    read: u64,
    /// Bytes that could not be kept, and since when.
    waiting: Option<(Vec<u8>, Instant)>,
    ended: bool,
    /// The job is continued.
    again: bool,
    /// The incarnation that is fed, and up to which position.
    fed: Option<Incarnation>,
    sent: u64,
    end_sent: bool,
    unconfirmed: u64,
    /// Asks the reading thread for one more piece.
    ask: Option<std::sync::mpsc::SyncSender<()>>,
    asked: bool,
    events: async_mpsc::UnboundedSender<LauncherEvent>,
}

impl StandardInput {
    /// Nothing is read yet. `ended`: `None` for a new job; for a continued one, whether its input
    /// was at its end.
    pub fn new(
        job_dir: Option<&JobDir>,
        ended: Option<bool>,
        events: async_mpsc::UnboundedSender<LauncherEvent>,
    ) -> io::Result<Self> {
        let store = match job_dir {
            Some(directory) => Store::File(directory.input()?),
            None => Store::Memory(VecDeque::new()),
        };
        let read = match &store {
            Store::File(file) => file.metadata()?.len(),
            Store::Memory(_) => 0,
        };
        Ok(Self {
            store,
            read,
            waiting: None,
            ended: ended.unwrap_or(false),
            again: ended.is_some(),
            fed: None,
            sent: 0,
            end_sent: false,
            unconfirmed: 0,
            ask: None,
            asked: false,
            events,
        })
    }

    /// Rank 0 begins an incarnation and has consumed so much of its input.
    pub fn begin_incarnation(&mut self, incarnation: Incarnation, consumed: u64) {
        self.fed = Some(incarnation);
        if self.again && consumed > self.read {
            // Input that an image had consumed was lost with the power. No rank asks for it again.
            self.read = consumed;
        }
        self.sent = consumed.min(self.read);
        self.end_sent = false;
        self.unconfirmed = 0;
        if self.ask.is_none() && !self.ended {
            self.start_reading();
        }
    }

    /// Input of the user arrived; no bytes mean its end. After an error the bytes wait
    /// ([`Self::try_again`]), and no more is read.
    ///
    /// # Errors
    /// The bytes cannot be kept.
    pub fn arrived(&mut self, bytes: Vec<u8>) -> io::Result<()> {
        if bytes.is_empty() {
            self.asked = false;
            self.ended = true;
            self.ask = None;
            return Ok(());
        }
        let kept = match &mut self.store {
            Store::File(file) => file.write_all_at(&bytes, self.read),
            Store::Memory(held) => {
                held.extend(&bytes);
                Ok(())
            }
        };
        if let Err(e) = kept {
            self.waiting = Some((bytes, Instant::now()));
            return Err(e);
        }
        self.asked = false;
        self.read += bytes.len() as u64;
        Ok(())
    }

    /// Keeps the bytes that wait, if there are any.
    pub fn try_again(&mut self) -> Option<io::Result<()>> {
        let (bytes, since) = self.waiting.take()?;
        let result = self.arrived(bytes);
        if let Some((_, begun)) = &mut self.waiting {
            *begun = since;
        }
        Some(result)
    }

    /// For how long input could not be kept.
    pub fn trouble(&self) -> Duration {
        self.waiting.as_ref().map_or(Duration::ZERO, |(_, since)| since.elapsed())
    }

    /// The program's pipe took so many bytes.
    pub fn taken(&mut self, incarnation: Incarnation, bytes: u32) {
        if self.fed == Some(incarnation) {
            self.unconfirmed = self.unconfirmed.saturating_sub(u64::from(bytes));
        }
    }

    /// The pieces for this incarnation that can be sent now, with their positions. An empty piece
    /// is the end.
    pub fn next_pieces(&mut self, incarnation: Incarnation) -> io::Result<Vec<(u64, Vec<u8>)>> {
        let mut pieces = Vec::new();
        if self.fed != Some(incarnation) {
            return Ok(pieces);
        }
        while self.sent < self.read && self.unconfirmed < INPUT_WINDOW_BYTES {
            let count = (self.read - self.sent).min(INPUT_PIECE_BYTES as u64) as usize;
            let piece = match &mut self.store {
                Store::File(file) => {
                    let mut piece = vec![0; count];
                    file.read_exact_at(&mut piece, self.sent)?;
                    piece
                }
                Store::Memory(held) => held.drain(..count).collect(),
            };
            pieces.push((self.sent, piece));
            self.sent += count as u64;
            self.unconfirmed += count as u64;
        }
        if self.sent == self.read {
            if self.ended && !self.end_sent {
                self.end_sent = true;
                pieces.push((self.sent, Vec::new()));
            } else if !self.ended && !self.asked && self.unconfirmed < INPUT_WINDOW_BYTES {
                self.asked = self.ask.as_ref().is_some_and(|ask| ask.try_send(()).is_ok());
            }
        }
        Ok(pieces)
    }

    fn start_reading(&mut self) {
        let stdin = io::stdin();
        // Reading the terminal from the background would stop the launcher. (Where the terminal is
        // nobody's, as in some containers, there may be no process group to ask for.)
        let is_ours = |group| group == rustix::process::getpgrp();
        if stdin.is_terminal() && !rustix::termios::tcgetpgrp(&stdin).is_ok_and(is_ours) {
            self.ended = true;
            return;
        }
        if self.again && self.read > 0 && rustix::fs::fstat(&stdin).is_ok_and(is_regular) {
            let _ = rustix::fs::seek(&stdin, rustix::fs::SeekFrom::Start(self.read));
        }
        let (ask, asked) = std::sync::mpsc::sync_channel(1);
        let events = self.events.clone();
        // A thread of its own, because a read of the terminal cannot be cancelled.
        std::thread::spawn(move || {
            let mut stdin = io::stdin().lock();
            while asked.recv().is_ok() {
                let mut piece = vec![0; INPUT_PIECE_BYTES];
                let count = loop {
                    match stdin.read(&mut piece) {
                        Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                        other => break other.unwrap_or(0),
                    }
                };
                piece.truncate(count);
                if events.send(LauncherEvent::Input(piece)).is_err() || count == 0 {
                    return;
                }
            }
        });
        self.ask = Some(ask);
    }
}

impl Launcher {
    /// Input of the user arrived; no bytes mean its end.
    pub(super) fn input_arrived(&mut self, bytes: Vec<u8>) {
        if bytes.is_empty() {
            self.store.input_has_ended();
        }
        if let Err(e) = self.input.arrived(bytes) {
            self.printer.notice(notices::input_waits(&e));
        }
        self.pump_input();
    }

    /// Tries again to keep input. Gives the job up when the storage's patience is over.
    pub(super) fn retry_input(&mut self) {
        match self.input.try_again() {
            Some(Ok(())) => self.pump_input(),
            Some(Err(e)) if self.input.trouble() > self.plan.storage_patience => {
                let text = notices::input_lost(&e);
                self.notify_dispatcher(Input::GiveUp { code: 1, text });
            }
            Some(Err(_)) | None => {}
        }
    }

    /// Sends rank 0 what it can take now.
    pub(super) fn pump_input(&mut self) {
        let rank = Rank(0);
        let (host, incarnation) = self.dispatcher.location(rank);
        match self.input.next_pieces(incarnation) {
            Ok(pieces) => {
                for (offset, bytes) in pieces {
                    self.agents.send(host, ToAgent::Input { rank, incarnation, offset, bytes });
                }
            }
            Err(e) => self.printer.notice(notices::input_unreadable(&e)),
        }
    }
}

fn is_regular(about: rustix::fs::Stat) -> bool {
    rustix::fs::FileType::from_raw_mode(about.st_mode).is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_incarnation_is_fed_from_where_its_image_stands() {
        let (events, _inbox) = async_mpsc::unbounded_channel();
        let mut input = StandardInput::new(None, None, events).unwrap();
        input.store = Store::File(tempfile::tempfile().unwrap());
        input.arrived(b"hello world".to_vec()).unwrap();
        input.arrived(Vec::new()).unwrap();
        input.begin_incarnation(Incarnation(0), 0);
        let pieces = input.next_pieces(Incarnation(0)).unwrap();
        assert_eq!(pieces, [(0, b"hello world".to_vec()), (11, Vec::new())]);
        assert!(input.next_pieces(Incarnation(0)).unwrap().is_empty());
        input.begin_incarnation(Incarnation(1), 6);
        assert!(
            input.next_pieces(Incarnation(0)).unwrap().is_empty(),
            "the old incarnation gets nothing"
        );
        let pieces = input.next_pieces(Incarnation(1)).unwrap();
        assert_eq!(pieces, [(6, b"world".to_vec()), (11, Vec::new())]);
    }

    #[test]
    fn input_that_cannot_be_kept_waits_and_nothing_is_left_out() {
        let (events, _inbox) = async_mpsc::unbounded_channel();
        let mut input = StandardInput::new(None, None, events).unwrap();
        // As on a full disk: every write fails.
        input.store = Store::File(File::open("/dev/null").unwrap());
        input.asked = true;
        assert!(input.try_again().is_none());
        input.arrived(b"hello".to_vec()).unwrap_err();
        assert!(input.asked, "no more is read");
        input.try_again().unwrap().unwrap_err();
        std::thread::sleep(Duration::from_millis(2));
        assert!(input.trouble() >= Duration::from_millis(2));
        input.store = Store::File(tempfile::tempfile().unwrap());
        input.try_again().unwrap().unwrap();
        assert!(!input.asked && input.try_again().is_none() && input.trouble().is_zero());
        input.arrived(b" world".to_vec()).unwrap();
        input.begin_incarnation(Incarnation(0), 0);
        assert_eq!(input.next_pieces(Incarnation(0)).unwrap(), [(0, b"hello world".to_vec())]);
    }
}
