//! A file that is written from begin to end, around the page cache where the system allows it.
//!
//! An image is as large as a process, and nobody reads it soon. In the page cache it would displace
//! what programs use, and cost a copy and often fresh pages. Complete blocks go to the disk at
//! once, on a thread of their own. The rest goes through the page cache at the end. Without direct
//! access everything goes through the page cache. The disk begins to work long before the end in
//! that case, too.
//!
//! Guarantees: writes happen in the order of the file, one at a time. After an error nothing is
//! reported as good. [`Appender::finish`] returns when everything is durable, or fails.

use super::pieces::Piece;
use super::store_file::StoreFile;
use crate::tuning::files::{BLOCK_BYTES, WAITING_BLOCKS, WRITEBACK_BYTES};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::JoinHandle;

/// Alignment of direct writes, in the file and in memory.
pub(super) const ALIGNMENT: usize = 4096;

/// Writes one file.
#[derive(Debug)]
pub struct Appender {
    file: StoreFile,
    /// Bytes that were appended.
    bytes: u64,
    way: Way,
}

#[derive(Debug)]
enum Way {
    /// Not decided yet: less than a block came so far.
    Undecided(Block),
    Direct(Direct),
    Cached(Cached),
    /// A write failed, and was reported.
    Failed,
}

impl Appender {
    /// Begins at the start of an empty file.
    #[must_use]
    pub fn new(file: StoreFile) -> Self {
        let way = match file.files.volatile {
            true => Way::Cached(Cached::default()),
            false => Way::Undecided(Block::new()),
        };
        Self { file, bytes: 0, way }
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Appends bytes. A later call may report the failure.
    ///
    /// # Errors
    /// The disk is full, or fails.
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

    /// Appends a piece as [`Self::push`] does, without a copy where the disk takes it directly.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub fn push_piece(&mut self, piece: Piece) -> io::Result<()> {
        let len = piece.bytes().len();
        if let Way::Undecided(block) = &self.way
            && block.filled == 0
            && len >= BLOCK_BYTES
        {
            self.decide()?;
        }
        match &mut self.way {
            Way::Direct(direct) if direct.takes(&piece) => {
                let done = direct.push_piece(piece);
                if done.is_err() {
                    self.way = Way::Failed;
                }
                self.bytes += len as u64;
                done
            }
            _ => self.push(piece.bytes()),
        }
    }

    /// Chooses how to write, when the first block is full or a piece as large comes first.
    fn decide(&mut self) -> io::Result<()> {
        let Way::Undecided(block) = std::mem::replace(&mut self.way, Way::Failed) else {
            return Err(failed());
        };
        self.way = match Direct::begin(&self.file) {
            Some(mut direct) => {
                if block.is_full() {
                    direct.give(block)?;
                }
                Way::Direct(direct)
            }
            None => {
                let mut cached = Cached::default();
                if block.is_full() {
                    cached.write(&self.file, block.bytes(), block.offset)?;
                }
                Way::Cached(cached)
            }
        };
        Ok(())
    }

    /// Gives the file up. Returns when nobody writes to it any more.
    pub fn give_up(&mut self) {
        self.way = Way::Failed;
    }

    /// Ends the file. Returns when it is durable.
    ///
    /// # Errors
    /// The file may not be durable.
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

/// Memory that is aligned for direct writes.
#[derive(Debug)]
pub struct Block {
    memory: Vec<u8>,
    begin: usize,
    filled: usize,
    /// The offset in the file.
    offset: u64,
}

impl Block {
    pub(super) fn new() -> Self {
        let memory = vec![0; BLOCK_BYTES + ALIGNMENT];
        // An alignment that is out of reach would only make direct writes fail; they then go
        // through the cache.
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

    /// The part that is not filled.
    pub(super) fn room(&mut self) -> &mut [u8] {
        &mut self.memory[self.begin + self.filled..self.begin + BLOCK_BYTES]
    }

    /// Counts bytes that were filled in.
    pub(super) fn grow(&mut self, bytes: usize) {
        self.filled += bytes;
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.memory[self.begin..self.begin + self.filled]
    }
}

/// What the thread writes.
#[derive(Debug)]
enum Full {
    Block(Block),
    /// The first so many bytes of a piece, at this offset.
    Piece(Piece, usize, u64),
}

/// Writing around the page cache.
#[derive(Debug)]
struct Direct {
    /// The block that is being filled.
    block: Block,
    writer: Writer,
}

/// The thread that writes.
#[derive(Debug)]
struct Writer {
    full: Option<SyncSender<Full>>,
    /// Blocks that were written.
    empty: Receiver<Block>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Direct {
    /// `None`: the file system has no direct access.
    fn begin(file: &StoreFile) -> Option<Self> {
        let direct = OFlags::DIRECT.bits() as i32;
        let past = OpenOptions::new().write(true).custom_flags(direct).open(&file.path).ok()?;
        let ours = file.try_clone().ok()?;
        let (full, blocks) = mpsc::sync_channel::<Full>(WAITING_BLOCKS);
        let (give_back, empty) = mpsc::channel();
        let work = move || {
            let mut past = Some(past);
            for full in blocks {
                match full {
                    Full::Block(mut block) => {
                        write(&ours, &mut past, block.bytes(), block.offset)?;
                        block.filled = 0;
                        let _ = give_back.send(block);
                    }
                    Full::Piece(piece, len, offset) => {
                        write(&ours, &mut past, &piece.bytes()[..len], offset)?;
                    }
                }
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

    /// Whether a piece can go to the disk from where it is.
    fn takes(&self, piece: &Piece) -> bool {
        self.block.filled == 0
            && self.block.offset.is_multiple_of(ALIGNMENT as u64)
            && piece.direct_bytes() > 0
    }

    /// Hands a piece to the disk that [`Self::takes`] has admitted.
    fn push_piece(&mut self, piece: Piece) -> io::Result<()> {
        let (direct, offset) = (piece.direct_bytes(), self.block.offset);
        self.block.fill(&piece.bytes()[direct..]);
        self.block.offset = offset + direct as u64;
        self.send(Full::Piece(piece, direct, offset))
    }

    /// Hands a block to the disk.
    fn give(&mut self, block: Block) -> io::Result<()> {
        self.block.offset = block.offset + BLOCK_BYTES as u64;
        self.send(Full::Block(block))
    }

    fn send(&mut self, full: Full) -> io::Result<()> {
        let sent = self.writer.full.as_ref().map(|writer| writer.send(full));
        match sent {
            Some(Ok(())) => Ok(()),
            // The thread has ended, and knows why.
            _ => Err(self.writer.end().err().unwrap_or_else(failed)),
        }
    }

    /// Returns when all full blocks are written.
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
    /// Nothing writes any more when the caller goes on.
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Writing through the page cache.
#[derive(Debug, Default)]
struct Cached {
    ahead: Option<SyncAhead>,
    /// Bytes in the file when writing to the disk was requested last.
    wished: u64,
}

impl Cached {
    fn write(&mut self, file: &StoreFile, bytes: &[u8], offset: u64) -> io::Result<()> {
        file.write_all_at(bytes, offset)?;
        let end = offset + bytes.len() as u64;
        if end - self.wished >= WRITEBACK_BYTES && !file.files.volatile {
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

    /// To be called before the file is synced: an error that an early sync reported is not reported
    /// again.
    fn end(&mut self) -> io::Result<()> {
        self.ahead.take().map_or(Ok(()), SyncAhead::end)
    }
}

fn joined(thread: JoinHandle<io::Result<()>>) -> io::Result<()> {
    thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that writes panicked")))
}

/// Writes bytes: around the cache while that works, and through it from then on.
fn write(file: &StoreFile, past: &mut Option<File>, bytes: &[u8], offset: u64) -> io::Result<()> {
    let through = |to: &File| {
        let op = super::store_file::Op::Write { path: &file.path, offset, bytes };
        file.files.change(op, || to.write_all_at(bytes, offset))
    };
    if let Some(direct) = past {
        match through(direct) {
            // Some writes are impossible directly, for their alignment for example.
            Err(e) if e.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => *past = None,
            done => return done,
        }
    }
    through(&file.file)
}

/// Brings written bytes to the disk meanwhile, so that the last sync has little left to do. Nothing
/// is durable by that.
#[derive(Debug)]
struct SyncAhead {
    wish: SyncSender<()>,
    thread: JoinHandle<io::Result<()>>,
}

impl SyncAhead {
    fn begin(file: &StoreFile) -> io::Result<Self> {
        let file = file.file.try_clone()?;
        // One request at a time: while one is carried out, another one changes nothing.
        let (wish, wishes) = mpsc::sync_channel(1);
        let work = move || wishes.iter().try_for_each(|()| file.sync_data());
        let thread = std::thread::Builder::new().name("sync-ahead".into()).spawn(work)?;
        Ok(Self { wish, thread })
    }

    /// Requests that the bytes written so far go to the disk.
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
