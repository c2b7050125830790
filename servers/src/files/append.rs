//! A file that is written from its begin to its end, past the page cache where the system lets us.
//!
//! An image is as large as a process, and nobody reads it soon: in the page cache it would drive out what
//! programs use, and cost a copy and often fresh pages (on a virtual machine whose host has to find them that
//! takes five times as long as the disk). Whole blocks go to the disk at once, on a thread of their own, beside
//! what the caller does; the rest at the end, and everything on a file system without direct access, through
//! the page cache. Then the disk begins to work long before the end, too.
//!
//! Guarantees: writes happen in the order of the file, one at a time; after an error nothing is said to be
//! good; [`Appender::finish`] returns when everything is durable, or fails.

use super::StoreFile;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::JoinHandle;

/// What goes to the disk at once.
pub(super) const BLOCK_BYTES: usize = if cfg!(test) { 8 << 10 } else { 1 << 20 };
/// Where direct writes may begin, in the file and in memory.
pub(super) const ALIGNMENT: usize = 4096;
/// Blocks that wait for the disk; as many again are being written or filled.
const WAITING: usize = 2;
/// Through the page cache: the disk is reminded after so many bytes.
const AHEAD_BYTES: u64 = 32 << 20;

/// See the module's description.
#[derive(Debug)]
pub struct Appender {
    file: StoreFile,
    /// Bytes that were appended.
    bytes: u64,
    way: Way,
}

#[derive(Debug)]
enum Way {
    /// Not decided: less than a block came so far.
    Undecided(Block),
    Direct(Direct),
    Cached(Cached),
    /// It failed, and said so.
    Failed,
}

impl Appender {
    /// At the begin of a file that is empty.
    #[must_use]
    pub fn new(file: StoreFile) -> Self {
        let way = match file.files.volatile {
            true => Way::Cached(Cached::default()),
            false => Way::Undecided(Block::new()),
        };
        Self { file, bytes: 0, way }
    }

    /// Where it was made.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Appends; what fails may be told by a later call.
    ///
    /// # Errors
    /// The disk is full, or worse.
    pub fn push(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let end = self.bytes + bytes.len() as u64;
        if let Way::Undecided(block) = &mut self.way {
            bytes = &bytes[block.fill(bytes)..];
            if block.is_full() {
                self.decide()?;
            }
        }
        let done = match &mut self.way {
            Way::Undecided(_) => Ok(()),
            Way::Direct(direct) => direct.push(bytes),
            Way::Cached(cached) => cached.write(&self.file, bytes, end - bytes.len() as u64),
            Way::Failed => Err(failed()),
        };
        if done.is_err() {
            self.way = Way::Failed;
        }
        self.bytes = end;
        done
    }

    /// The first block is full.
    fn decide(&mut self) -> io::Result<()> {
        let Way::Undecided(block) = std::mem::replace(&mut self.way, Way::Failed) else {
            return Err(failed());
        };
        self.way = match Direct::begin(&self.file) {
            Some(mut direct) => {
                direct.give(block)?;
                Way::Direct(direct)
            }
            None => {
                let mut cached = Cached::default();
                cached.write(&self.file, block.bytes(), block.offset)?;
                Way::Cached(cached)
            }
        };
        Ok(())
    }

    /// Nothing of it is wanted any more; returns when nobody writes to it.
    pub fn give_up(&mut self) {
        self.way = Way::Failed;
    }

    /// That was all: returns when it is durable.
    ///
    /// # Errors
    /// It is not.
    pub fn finish(&mut self) -> io::Result<()> {
        let rest = match std::mem::replace(&mut self.way, Way::Failed) {
            Way::Undecided(block) => Some(block),
            Way::Direct(mut direct) => {
                direct.end()?;
                Some(direct.block)
            }
            Way::Cached(mut cached) => {
                cached.end()?;
                None
            }
            Way::Failed => return Err(failed()),
        };
        if let Some(rest) = rest.filter(|rest| rest.filled > 0) {
            self.file.write_all_at(rest.bytes(), rest.offset)?;
        }
        self.file.sync()
    }
}

fn failed() -> io::Error {
    io::Error::other("an earlier write failed")
}

/// Memory that begins where direct writes may.
#[derive(Debug)]
pub struct Block {
    memory: Vec<u8>,
    begin: usize,
    filled: usize,
    /// In the file.
    offset: u64,
}

impl Block {
    pub(super) fn new() -> Self {
        let memory = vec![0; BLOCK_BYTES + ALIGNMENT];
        // (An answer that is out of reach would only make the writes fail, and go the other way.)
        let begin = memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Self { memory, begin, filled: 0, offset: 0 }
    }

    /// Takes the first of these bytes.
    fn fill(&mut self, bytes: &[u8]) -> usize {
        let take = bytes.len().min(BLOCK_BYTES - self.filled);
        let at = self.begin + self.filled;
        self.memory[at..at + take].copy_from_slice(&bytes[..take]);
        self.filled += take;
        take
    }

    pub(super) fn is_full(&self) -> bool {
        self.filled == BLOCK_BYTES
    }

    pub(super) fn clear(&mut self) {
        self.filled = 0;
    }

    /// What is not filled.
    pub(super) fn room(&mut self) -> &mut [u8] {
        &mut self.memory[self.begin + self.filled..self.begin + BLOCK_BYTES]
    }

    /// So much of it is filled now.
    pub(super) fn grow(&mut self, bytes: usize) {
        self.filled += bytes;
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.memory[self.begin..self.begin + self.filled]
    }
}

/// The way past the page cache.
#[derive(Debug)]
struct Direct {
    /// The one that is being filled.
    block: Block,
    writer: Writer,
}

/// The thread that writes.
#[derive(Debug)]
struct Writer {
    full: Option<SyncSender<Block>>,
    /// Blocks that were written.
    empty: Receiver<Block>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Direct {
    /// `None`: there is none.
    fn begin(file: &StoreFile) -> Option<Self> {
        let direct = OFlags::DIRECT.bits() as i32;
        let past = OpenOptions::new().write(true).custom_flags(direct).open(&file.path).ok()?;
        let ours = file.try_clone().ok()?;
        let (full, blocks) = mpsc::sync_channel::<Block>(WAITING);
        let (give_back, empty) = mpsc::channel();
        let work = move || {
            let mut past = Some(past);
            for mut block in blocks {
                write(&ours, &mut past, &block)?;
                block.filled = 0;
                let _ = give_back.send(block);
            }
            Ok(())
        };
        let thread = std::thread::Builder::new().name("disk".into()).spawn(work).ok()?;
        let writer = Writer { full: Some(full), empty, thread: Some(thread) };
        Some(Self { block: Block::new(), writer })
    }

    fn push(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        loop {
            bytes = &bytes[self.block.fill(bytes)..];
            if !self.block.is_full() {
                return Ok(());
            }
            let next = self.writer.empty.try_recv().unwrap_or_else(|_| Block::new());
            let full = std::mem::replace(&mut self.block, next);
            self.give(full)?;
        }
    }

    /// To the disk; what comes now lies behind it.
    fn give(&mut self, block: Block) -> io::Result<()> {
        self.block.offset = block.offset + BLOCK_BYTES as u64;
        let sent = self.writer.full.as_ref().map(|full| full.send(block));
        match sent {
            Some(Ok(())) => Ok(()),
            // The thread has ended, and knows why.
            _ => Err(self.writer.end().err().unwrap_or_else(failed)),
        }
    }

    /// All full blocks are written.
    fn end(&mut self) -> io::Result<()> {
        self.writer.end()
    }
}

impl Writer {
    fn end(&mut self) -> io::Result<()> {
        self.full = None;
        self.thread.take().map_or(Ok(()), joined)
    }
}

impl Drop for Writer {
    /// Nothing writes any more when whoever gives up goes on.
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// The way through the page cache.
#[derive(Debug, Default)]
struct Cached {
    ahead: Option<SyncAhead>,
    /// Bytes when the disk was reminded last.
    wished: u64,
}

impl Cached {
    fn write(&mut self, file: &StoreFile, bytes: &[u8], offset: u64) -> io::Result<()> {
        file.write_all_at(bytes, offset)?;
        let end = offset + bytes.len() as u64;
        if end - self.wished >= AHEAD_BYTES && !file.files.volatile {
            self.wished = end;
            if self.ahead.is_none() {
                self.ahead = SyncAhead::begin(file).ok();
            }
            if let Some(ahead) = &self.ahead {
                ahead.wish();
            }
        }
        Ok(())
    }

    /// To be asked before the file is synced: what an early sync has told, a later one does not tell again.
    fn end(&mut self) -> io::Result<()> {
        self.ahead.take().map_or(Ok(()), SyncAhead::end)
    }
}

fn joined(thread: JoinHandle<io::Result<()>>) -> io::Result<()> {
    thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that writes panicked")))
}

/// A block to its place: past the cache while that works, and from then on through it.
fn write(file: &StoreFile, past: &mut Option<File>, block: &Block) -> io::Result<()> {
    let through = |to: &File| {
        let op = super::Op::Write { path: &file.path, offset: block.offset, bytes: block.bytes() };
        file.files.change(op, || to.write_all_at(block.bytes(), block.offset))
    };
    if let Some(direct) = past {
        match through(direct) {
            // What cannot be had directly, be it for its alignment.
            Err(e) if e.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => *past = None,
            done => return done,
        }
    }
    through(&file.file)
}

/// Somebody who brings to the disk what is written meanwhile, so that the last sync has little left to do.
/// Nothing is durable by that.
#[derive(Debug)]
struct SyncAhead {
    wish: SyncSender<()>,
    thread: JoinHandle<io::Result<()>>,
}

impl SyncAhead {
    fn begin(file: &StoreFile) -> io::Result<Self> {
        let file = file.file.try_clone()?;
        // One wish at a time: while one is carried out, another one changes nothing.
        let (wish, wishes) = mpsc::sync_channel(1);
        let work = move || wishes.iter().try_for_each(|()| file.sync_data());
        let thread = std::thread::Builder::new().name("sync-ahead".into()).spawn(work)?;
        Ok(Self { wish, thread })
    }

    /// What was written so far may go.
    fn wish(&self) {
        let _ = self.wish.try_send(());
    }

    fn end(self) -> io::Result<()> {
        drop(self.wish);
        joined(self.thread)
    }
}

#[cfg(test)]
#[path = "append_tests.rs"]
mod tests;
