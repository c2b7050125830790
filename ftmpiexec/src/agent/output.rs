//! The pipes of a rank: standard output and error to the launcher, standard input from it.
//!
//! Guarantees: every byte has a position in all that the program ever wrote, over all incarnations.
//! A byte that an earlier incarnation delivered is not sent again. A read and its count appear to
//! the rank as one step (`ftmpi_wire::status`, the `*_BUSY` words). Lines of the boot library,
//! which come before a restored program goes on, are not the program's text and have no position in
//! it. A launcher that cannot print holds back the rank's output and nothing else.

use super::events::AgentEvent;
use super::launcher_link::LauncherLink;
use super::output_hold::OutputHold;
use super::output_window::{Forwarded, Window};
use super::page::Page;
use super::watched::watched;
use crate::agent_protocol::{FromAgent, Report};
use crate::tuning::OUTPUT_CHUNK_BYTES;
use ftmpi_wire::status::word;
use ftmpi_wire::{Incarnation, Rank};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use tokio::io::unix::AsyncFd;
use tokio::sync::{mpsc, oneshot};

/// One pipe that the rank writes and the agent reads.
#[derive(Debug)]
pub struct OutputPipe {
    /// The agent's end, non-blocking.
    pub pipe: AsyncFd<OwnedFd>,
    /// 0: standard output, 1: standard error.
    pub stream: u8,
    /// The rank that writes.
    pub rank: Rank,
    /// The rank's incarnation.
    pub incarnation: Incarnation,
    /// The rank's status page.
    pub page: Arc<Page>,
    /// What has left this agent.
    pub forwarded: Forwarded,
    /// Holds text until it is final, if text is held.
    pub hold: Option<Arc<OutputHold>>,
    /// Receives [`AgentEvent::TextHeld`].
    pub events: mpsc::UnboundedSender<AgentEvent>,
}

/// What one read gave.
enum ReadOutcome {
    Bytes {
        /// Lines of the boot library.
        boot: Vec<u8>,
        /// Position of the program's text.
        offset: u64,
        /// The program's text.
        text: Vec<u8>,
    },
    Nothing,
    End,
}

/// What is known of the end of the process that writes the pipe.
struct Drain {
    /// Bytes that were in the pipe when the process ended, and are not read yet.
    rest: Option<usize>,
    drained: Option<oneshot::Sender<()>>,
}

impl Drain {
    fn is_over(&self) -> bool {
        self.rest == Some(0)
    }

    fn report(&mut self) {
        if let Some(drained) = self.drained.take() {
            let _ = drained.send(());
        }
    }
}

impl OutputPipe {
    fn busy_word(&self) -> usize {
        if self.stream == 0 { word::STDOUT_BUSY } else { word::STDERR_BUSY }
    }

    fn read_word(&self) -> usize {
        if self.stream == 0 { word::STDOUT_READ } else { word::STDERR_READ }
    }

    /// How many of the `count` bytes that were just read are lines of the boot library. The library
    /// counts its bytes before it writes them, and writes them before the program goes on: they
    /// come first.
    fn boot_bytes(&self, count: usize) -> usize {
        if self.stream == 0 {
            return 0;
        }
        let read = self.page.get(word::BOOT_STDERR_READ);
        let bytes = self.page.get(word::BOOT_STDERR).saturating_sub(read).min(count as u64);
        self.page.set(word::BOOT_STDERR_READ, read + bytes);
        bytes as usize
    }

    /// Bytes in the pipe.
    fn unread(&self) -> usize {
        rustix::io::ioctl_fionread(self.pipe.get_ref()).map_or(0, |bytes| bytes as usize)
    }

    fn read(&self) -> ReadOutcome {
        let mut bytes = vec![0; OUTPUT_CHUNK_BYTES];
        let sequence = self.page.get(self.busy_word());
        self.page.set(self.busy_word(), sequence + 1);
        let offset = self.page.get(self.read_word());
        let result = loop {
            match rustix::io::read(self.pipe.get_ref(), &mut bytes) {
                Err(Errno::INTR) => {}
                other => break other,
            }
        };
        let mut boot = 0;
        if let Ok(count) = result {
            boot = self.boot_bytes(count);
            self.page.set(self.read_word(), offset + (count - boot) as u64);
        }
        self.page.set(self.busy_word(), sequence + 2);
        match result {
            Ok(0) => ReadOutcome::End,
            Ok(count) => {
                bytes.truncate(count);
                let text =
                    if boot == 0 { std::mem::take(&mut bytes) } else { bytes.split_off(boot) };
                ReadOutcome::Bytes { boot: bytes, offset, text }
            }
            Err(Errno::AGAIN) => ReadOutcome::Nothing,
            Err(_) => ReadOutcome::End,
        }
    }

    /// The part that no earlier incarnation delivered, if there is any.
    fn fresh(&self, offset: u64, mut bytes: Vec<u8>) -> Option<(u64, Vec<u8>)> {
        let end = offset + bytes.len() as u64;
        let before = self.forwarded.advance(self.stream as usize, end);
        if before >= end || bytes.is_empty() {
            return None;
        }
        let skip = before.saturating_sub(offset);
        bytes.drain(..skip as usize);
        Some((offset + skip, bytes))
    }

    /// Holds or sends what was read. `permit` is the room that was taken for it.
    fn deliver(
        &self,
        outcome: (Vec<u8>, u64, Vec<u8>),
        permit: impl Sized,
        (link, window): (&LauncherLink, &Window),
    ) {
        let (boot, offset, text) = outcome;
        for line in String::from_utf8_lossy(&boot).lines() {
            link.notice(line.strip_prefix("ftmpi: ").unwrap_or(line).to_owned());
        }
        if let Some(hold) = &self.hold {
            if hold.push(self.stream, offset, text) {
                let (rank, incarnation) = (self.rank, self.incarnation);
                let _ = self.events.send(AgentEvent::TextHeld { rank, incarnation });
            }
        } else if let Some((offset, bytes)) = self.fresh(offset, text) {
            // The launcher gives the room back when it has printed the bytes.
            drop(permit);
            window.sent(bytes.len());
            let (rank, stream) = (self.rank, self.stream);
            link.send(FromAgent::Output { rank, stream, offset, bytes });
        }
    }

    /// Reads to the end of the pipe.
    ///
    /// When `exited` fires, the process has ended: what is left in the pipe is forwarded, and then
    /// `drained` fires. The end of the pipe itself may never come, because a child of the program
    /// may still hold the pipe.
    pub async fn forward(
        self,
        link: LauncherLink,
        window: Window,
        mut exited: oneshot::Receiver<()>,
        drained: oneshot::Sender<()>,
    ) {
        let mut drain = Drain { rest: None, drained: Some(drained) };
        loop {
            if drain.is_over() {
                drain.report();
            }
            let mut permit = None;
            // The rest of a process that has ended waits for no reader: else the launcher would not
            // learn of the end.
            if drain.rest.is_none_or(|rest| rest == 0) {
                let room = async {
                    if let Some(hold) = self.hold.as_ref().filter(|_| drain.rest.is_none()) {
                        hold.has_room(self.stream).await;
                    }
                    window.room(OUTPUT_CHUNK_BYTES).await
                };
                tokio::select! {
                    room = room => permit = match room {
                        Ok(room) => Some(room),
                        Err(_) => return,
                    },
                    _ = &mut exited, if drain.rest.is_none() => {
                        drain.rest = Some(self.unread());
                        continue;
                    }
                }
            }
            match self.read() {
                ReadOutcome::Bytes { boot, offset, text } => {
                    let read = boot.len() + text.len();
                    drain.rest = drain.rest.map(|rest| rest.saturating_sub(read));
                    self.deliver((boot, offset, text), permit, (&link, &window));
                }
                ReadOutcome::End => return,
                ReadOutcome::Nothing => {
                    drop(permit);
                    if drain.rest.is_some() {
                        drain.report();
                    }
                    // The mark of readiness is cleared before the pipe is read again: bytes that
                    // come in between are not missed.
                    tokio::select! {
                        guard = self.pipe.readable() => match guard {
                            Ok(mut guard) => guard.clear_ready(),
                            Err(_) => return,
                        },
                        _ = &mut exited, if drain.rest.is_none() => {
                            drain.rest = Some(self.unread());
                        }
                    }
                }
            }
        }
    }
}

/// Feeds standard input; an empty message is the end of the input.
pub async fn feed(
    pipe: OwnedFd,
    page: Arc<Page>,
    mut input: mpsc::UnboundedReceiver<Vec<u8>>,
    (rank, incarnation): (Rank, Incarnation),
    events: mpsc::UnboundedSender<AgentEvent>,
) {
    let Ok(pipe) = watched(pipe) else { return };
    while let Some(bytes) = input.recv().await {
        if bytes.is_empty() {
            return;
        }
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let Ok(mut guard) = pipe.writable().await else { return };
            let written = guard.try_io(|pipe| {
                let sequence = page.get(word::STDIN_BUSY);
                page.set(word::STDIN_BUSY, sequence + 1);
                let result = rustix::io::write(pipe, rest);
                if let Ok(count) = result {
                    page.set(word::STDIN_FED, page.get(word::STDIN_FED) + count as u64);
                }
                page.set(word::STDIN_BUSY, sequence + 2);
                result.map_err(io::Error::from)
            });
            match written {
                Ok(Ok(count)) => rest = &rest[count..],
                Ok(Err(e)) if e.kind() == io::ErrorKind::Interrupted => {}
                // The program closed its standard input.
                Ok(Err(_)) => return,
                Err(_would_block) => {}
            }
        }
        let report = Report::InputTaken(bytes.len() as u32);
        let _ = events.send(AgentEvent::Report { rank, incarnation, report });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_of_the_boot_library_have_no_position_in_the_text() {
        let boot_line = b"ftmpi: rank 3: the image is damaged\n";
        let (page, _fd) = Page::create(false).unwrap();
        page.set(word::STDERR_READ, 100);
        page.set(word::BOOT_STDERR, boot_line.len() as u64);
        let page = Arc::new(page);
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        rustix::io::write(&writer, boot_line).unwrap();
        rustix::io::write(&writer, b"text").unwrap();
        drop(writer);
        rustix::io::ioctl_fionbio(&reader, true).unwrap();
        let forwarded = Forwarded::default();
        forwarded.advance(1, 102);
        let pipe = OutputPipe {
            pipe: watched(reader).unwrap(),
            stream: 1,
            rank: Rank(3),
            incarnation: Incarnation(1),
            page: page.clone(),
            forwarded: forwarded.clone(),
            hold: None,
            events: mpsc::unbounded_channel().0,
        };
        let (link, mut sent) = mpsc::unbounded_channel();
        let (_exits, exited) = oneshot::channel();
        pipe.forward(LauncherLink::new(link), Window::new(), exited, oneshot::channel().0).await;
        let Some(FromAgent::Notice(line)) = sent.recv().await else { panic!("no notice came") };
        assert_eq!(line, "rank 3: the image is damaged");
        let Some(FromAgent::Output { stream: 1, offset, bytes, .. }) = sent.recv().await else {
            panic!("no text came")
        };
        assert_eq!((offset, bytes.as_slice()), (102, b"xt".as_slice()));
        assert!(sent.recv().await.is_none());
        assert_eq!(page.get(word::STDERR_READ), 104);
        assert_eq!(forwarded.get(1), 104);
    }
}
