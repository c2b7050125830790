//! The pipes of a rank: standard output and error to the launcher, standard input from it.
//!
//! Guarantees: every byte is numbered by its place in all that the program ever wrote, over all
//! its lives, and a byte that an earlier life already delivered is not sent again; reads and
//! counts appear to the rank as one step (`ftmpi_wire::status`, the `*_BUSY` words); what the boot
//! layer says before a life goes on is not the program's text and takes no place in it; a launcher
//! that cannot print holds back the rank's output and nothing else.

use super::AgentEvent;
use super::output_hold::OutputHold;
use super::page::Page;
use super::watched::watched;
use crate::agent_protocol::{FromAgent, OUTPUT_WINDOW_BYTES, Report};
use ftmpi_wire::status::word;
use ftmpi_wire::{Incarnation, Rank};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::io::unix::AsyncFd;
use tokio::sync::{Semaphore, mpsc, oneshot};

const CHUNK_BYTES: usize = 32 << 10;

/// Bytes of a rank's output and error that have left this agent, over all lives.
pub type Forwarded = Arc<[AtomicU64; 2]>;

/// Room for output on the way to the launcher.
#[derive(Debug, Clone)]
pub struct Window(Arc<Semaphore>);

impl Window {
    /// An empty way.
    pub fn new() -> Self {
        Self(Arc::new(Semaphore::new(OUTPUT_WINDOW_BYTES)))
    }

    /// So many bytes are on their way.
    pub fn sent(&self, bytes: usize) {
        self.0.forget_permits(bytes);
    }

    /// The launcher has printed so many bytes; it cannot print more than it was sent.
    pub fn printed(&self, bytes: u32) {
        let missing = OUTPUT_WINDOW_BYTES.saturating_sub(self.0.available_permits());
        self.0.add_permits((bytes as usize).min(missing));
    }
}

/// One pipe that the rank writes and the agent reads.
#[derive(Debug)]
pub struct OutputPipe {
    /// The agent's end, non-blocking.
    pub pipe: AsyncFd<OwnedFd>,
    /// 0: output, 1: error.
    pub stream: u8,
    /// Whose.
    pub rank: Rank,
    /// The rank's page.
    pub page: Arc<Page>,
    /// What has left already.
    pub forwarded: Forwarded,
    /// Text is held here until it is final, if it is to be held.
    pub hold: Option<Arc<OutputHold>>,
    /// In which life.
    pub incarnation: Incarnation,
    /// Who asks the rank to make it final.
    pub events: mpsc::UnboundedSender<AgentEvent>,
}

enum Got {
    /// Words of the boot layer, and the program's text from that place on; either may be empty.
    Bytes(Vec<u8>, u64, Vec<u8>),
    Nothing,
    End,
}

impl OutputPipe {
    fn busy_word(&self) -> usize {
        if self.stream == 0 { word::STDOUT_BUSY } else { word::STDERR_BUSY }
    }

    fn read_word(&self) -> usize {
        if self.stream == 0 { word::STDOUT_READ } else { word::STDERR_READ }
    }

    /// How many of the `count` bytes that were just read are the boot layer's own. It counts them before it
    /// writes them, and writes them before the program goes on: they come first.
    fn boot_words(&self, count: usize) -> usize {
        if self.stream == 0 {
            return 0;
        }
        let read = self.page.get(word::BOOT_STDERR_READ);
        let words = self.page.get(word::BOOT_STDERR).saturating_sub(read).min(count as u64);
        self.page.set(word::BOOT_STDERR_READ, read + words);
        words as usize
    }

    /// Bytes in the pipe.
    fn unread(&self) -> usize {
        rustix::io::ioctl_fionread(self.pipe.get_ref()).map_or(0, |bytes| bytes as usize)
    }

    fn read(&self) -> Got {
        let mut bytes = vec![0; CHUNK_BYTES];
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
            boot = self.boot_words(count);
            self.page.set(self.read_word(), offset + (count - boot) as u64);
        }
        self.page.set(self.busy_word(), sequence + 2);
        match result {
            Ok(0) => Got::End,
            Ok(count) => {
                bytes.truncate(count);
                let text =
                    if boot == 0 { std::mem::take(&mut bytes) } else { bytes.split_off(boot) };
                Got::Bytes(bytes, offset, text)
            }
            Err(Errno::AGAIN) => Got::Nothing,
            Err(_) => Got::End,
        }
    }

    /// The part that no earlier life delivered, if there is any.
    fn fresh(&self, offset: u64, mut bytes: Vec<u8>) -> Option<(u64, Vec<u8>)> {
        let end = offset + bytes.len() as u64;
        let before = self.forwarded[self.stream as usize].fetch_max(end, Ordering::SeqCst);
        if before >= end || bytes.is_empty() {
            return None;
        }
        let skip = before.saturating_sub(offset);
        bytes.drain(..skip as usize);
        Some((offset + skip, bytes))
    }

    /// Reads until the end. When `exited` fires (the process is gone), what is left in the pipe is
    /// forwarded and `drained` told; the end itself may never come if a child of the program still
    /// holds the pipe.
    pub async fn forward(
        self,
        link: mpsc::UnboundedSender<FromAgent>,
        window: Window,
        mut exited: oneshot::Receiver<()>,
        drained: oneshot::Sender<()>,
    ) {
        let mut drained = Some(drained);
        // Bytes of the process that were in the pipe when it was gone, and are not read.
        let mut rest = None;
        loop {
            if rest == Some(0)
                && let Some(drained) = drained.take()
            {
                let _ = drained.send(());
            }
            let mut permit = None;
            // What is left of a process does not wait for a reader: nobody would learn that it is gone.
            if rest.is_none_or(|rest| rest == 0) {
                let room = async {
                    if let Some(hold) = self.hold.as_ref().filter(|_| rest.is_none()) {
                        hold.has_room(self.stream).await;
                    }
                    window.0.acquire_many(CHUNK_BYTES as u32).await
                };
                tokio::select! {
                    room = room => permit = match room {
                        Ok(room) => Some(room),
                        Err(_) => return,
                    },
                    _ = &mut exited, if rest.is_none() => {
                        rest = Some(self.unread());
                        continue;
                    }
                }
            }
            match self.read() {
                Got::Bytes(boot, offset, bytes) => {
                    rest = rest.map(|rest| rest.saturating_sub(boot.len() + bytes.len()));
                    for line in String::from_utf8_lossy(&boot).lines() {
                        let line = line.strip_prefix("ftmpi: ").unwrap_or(line);
                        let _ = link.send(FromAgent::Notice(line.to_owned()));
                    }
                    if let Some(hold) = &self.hold {
                        if hold.push(self.stream, offset, bytes) {
                            let (rank, incarnation) = (self.rank, self.incarnation);
                            let _ = self.events.send(AgentEvent::HeldText { rank, incarnation });
                        }
                    } else if let Some((offset, bytes)) = self.fresh(offset, bytes) {
                        // Given back when the launcher has printed them.
                        drop(permit);
                        window.sent(bytes.len());
                        let (rank, stream) = (self.rank, self.stream);
                        let _ = link.send(FromAgent::Output { rank, stream, offset, bytes });
                    }
                }
                Got::End => return,
                Got::Nothing => {
                    drop(permit);
                    if rest.is_some()
                        && let Some(drained) = drained.take()
                    {
                        let _ = drained.send(());
                    }
                    // The mark of readiness is cleared first and the pipe read afterwards, so
                    // nothing that comes in between is missed.
                    tokio::select! {
                        guard = self.pipe.readable() => match guard {
                            Ok(mut guard) => guard.clear_ready(),
                            Err(_) => return,
                        },
                        _ = &mut exited, if rest.is_none() => rest = Some(self.unread()),
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
                // The program closed its input: the rest is nobody's.
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
    async fn words_of_the_boot_layer_take_no_place_in_the_text() {
        let words = b"ftmpi: rank 3: the image is damaged\n";
        let (page, _fd) = Page::create().unwrap();
        page.set(word::STDERR_READ, 100);
        page.set(word::BOOT_STDERR, words.len() as u64);
        let page = Arc::new(page);
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        rustix::io::write(&writer, words).unwrap();
        rustix::io::write(&writer, b"text").unwrap();
        drop(writer);
        rustix::io::ioctl_fionbio(&reader, true).unwrap();
        let forwarded: Forwarded = Arc::new([AtomicU64::new(0), AtomicU64::new(102)]);
        let pipe = OutputPipe {
            pipe: watched(reader).unwrap(),
            stream: 1,
            rank: Rank(3),
            page: page.clone(),
            forwarded: forwarded.clone(),
            hold: None,
            incarnation: Incarnation(1),
            events: mpsc::unbounded_channel().0,
        };
        let (link, mut sent) = mpsc::unbounded_channel();
        let (_exits, exited) = oneshot::channel();
        pipe.forward(link, Window::new(), exited, oneshot::channel().0).await;
        let Some(FromAgent::Notice(line)) = sent.recv().await else { panic!("nothing was said") };
        assert_eq!(line, "rank 3: the image is damaged");
        let Some(FromAgent::Output { stream: 1, offset, bytes, .. }) = sent.recv().await else {
            panic!("no text came")
        };
        assert_eq!((offset, bytes.as_slice()), (102, b"xt".as_slice()));
        assert!(sent.recv().await.is_none());
        assert_eq!(page.get(word::STDERR_READ), 104);
        assert_eq!(forwarded[1].load(Ordering::SeqCst), 104);
    }
}
