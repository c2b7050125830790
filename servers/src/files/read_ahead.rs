//! A file that is read from begin to end, around the page cache if it is not there.
//!
//! What was written around the cache ([`super::Appender`]) would be read through it, page after
//! page, for a single use. Two threads read the next blocks meanwhile. Cached files, and files
//! without direct access, are read as usual. What is read ahead is given without a copy
//! ([`BufRead`]).

use super::append::Block;
use crate::tuning::files::{
    BLOCK_BYTES, READ_AHEAD_MIN_BLOCKS, READ_BYTES, READERS, WAITING_BLOCKS,
};
use rustix::fs::OFlags;
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use std::fs::File;
use std::io::{self, BufRead, IoSliceMut, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{self, Receiver, Sender};

/// A file to read.
#[derive(Debug)]
pub enum Source {
    /// The file is read when bytes are asked for.
    Cached(Cached),
    /// The file is read ahead, and cannot be sought in.
    Ahead(Ahead),
}

/// A file, and the bytes of it that were read for [`BufRead`].
#[derive(Debug)]
pub struct Cached {
    file: File,
    buffer: Vec<u8>,
    /// Bytes in the buffer, and those that were given.
    filled: usize,
    given: usize,
}

impl Cached {
    fn unread(&self) -> &[u8] {
        &self.buffer[self.given..self.filled]
    }

    fn fill(&mut self) -> io::Result<()> {
        if self.given == self.filled {
            self.buffer.resize(READ_BYTES, 0);
            (self.given, self.filled) = (0, 0);
            self.filled = self.file.read(&mut self.buffer)?;
        }
        Ok(())
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let unread = self.unread();
        if unread.is_empty() {
            return self.file.read(into);
        }
        let count = unread.len().min(into.len());
        into[..count].copy_from_slice(&unread[..count]);
        self.given += count;
        Ok(count)
    }

    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::Current(by) => SeekFrom::Current(by - self.unread().len() as i64),
            to => to,
        };
        (self.given, self.filled) = (0, 0);
        self.file.seek(to)
    }
}

impl Source {
    /// Reads when bytes are asked for.
    #[must_use]
    pub fn cached(file: File) -> Self {
        Self::Cached(Cached { file, buffer: Vec::new(), filled: 0, given: 0 })
    }

    /// Reads from the start of the file, in the better way.
    #[must_use]
    pub fn sequential(file: File) -> Self {
        let len = file.metadata().map_or(0, |about| about.len());
        if len < READ_AHEAD_MIN_BLOCKS * BLOCK_BYTES as u64 || is_cached(&file, len) {
            return Self::cached(file);
        }
        match file.try_clone().and_then(Ahead::begin) {
            Ok(ahead) => Self::Ahead(ahead),
            Err(_) => {
                // Both descriptors have the same flags.
                if let Ok(flags) = rustix::fs::fcntl_getfl(&file) {
                    let _ = rustix::fs::fcntl_setfl(&file, flags - OFlags::DIRECT);
                }
                Self::cached(file)
            }
        }
    }
}

impl BufRead for Source {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match self {
            Self::Cached(cached) => {
                cached.fill()?;
                Ok(cached.unread())
            }
            Self::Ahead(ahead) => {
                ahead.fill()?;
                Ok(ahead.unread())
            }
        }
    }

    fn consume(&mut self, bytes: usize) {
        match self {
            Self::Cached(cached) => cached.given += bytes,
            Self::Ahead(ahead) => ahead.given += bytes,
        }
    }
}

impl Read for Source {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Cached(cached) => cached.read(into),
            Self::Ahead(ahead) => ahead.read(into),
        }
    }
}

impl Seek for Source {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::Cached(cached) => cached.seek(to),
            Self::Ahead(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

/// Whether samples say that the file is in the page cache, or nothing can be said.
fn is_cached(file: &File, len: u64) -> bool {
    let mut byte = [0];
    (1..4).all(|quarter| {
        let mut into = [IoSliceMut::new(&mut byte)];
        let read = preadv2(file, &mut into, len / 4 * quarter, ReadWriteFlags::NOWAIT);
        read != Err(Errno::AGAIN)
    })
}

/// The blocks that threads have read. They take turns, so that the disk has the next read before it
/// has ended one.
#[derive(Debug)]
pub struct Ahead {
    readers: Vec<Reader>,
    /// The reader that has the next block.
    turn: usize,
    block: Option<Block>,
    /// Bytes of the block that were given.
    given: usize,
    ended: bool,
}

/// A thread that reads each block whose number has the same rest by [`READERS`].
#[derive(Debug)]
struct Reader {
    full: Receiver<io::Result<Block>>,
    /// Blocks to be filled again.
    empty: Sender<Block>,
}

impl Reader {
    fn begin(file: File, first: usize) -> io::Result<Self> {
        let (send, full) = mpsc::sync_channel(WAITING_BLOCKS / READERS);
        let (empty, again) = mpsc::channel::<Block>();
        let work = move || {
            for number in (first..).step_by(READERS) {
                let mut block = again.try_recv().unwrap_or_else(|_| Block::new());
                let outcome = fill(&file, &mut block, (number * BLOCK_BYTES) as u64);
                let is_last = outcome.is_err() || !block.is_full();
                // The reader may have stopped.
                if send.send(outcome.map(|()| block)).is_err() || is_last {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("read-ahead".into()).spawn(work)?;
        Ok(Self { full, empty })
    }
}

impl Ahead {
    fn begin(file: File) -> io::Result<Self> {
        let flags = rustix::fs::fcntl_getfl(&file)?;
        rustix::fs::fcntl_setfl(&file, flags | OFlags::DIRECT)?;
        let reader = |first| Reader::begin(file.try_clone()?, first);
        let readers = (0..READERS).map(reader).collect::<io::Result<_>>()?;
        Ok(Self { readers, turn: 0, block: None, given: 0, ended: false })
    }

    fn unread(&self) -> &[u8] {
        self.block.as_ref().map_or(&[], |block| &block.bytes()[self.given..])
    }

    /// Waits for the next block if everything before was given.
    fn fill(&mut self) -> io::Result<()> {
        while self.unread().is_empty() && !self.ended {
            let lost = || io::Error::other("an earlier read failed");
            let reader = self.readers.get(self.turn).ok_or_else(lost)?;
            self.turn = (self.turn + 1) % READERS;
            if let Some(block) = self.block.take() {
                let _ = reader.empty.send(block);
            }
            let block = reader.full.recv().unwrap_or_else(|_| Err(lost()));
            // Nothing follows what could not be read.
            let block = block.inspect_err(|_| self.readers.clear())?;
            self.ended = !block.is_full();
            self.given = 0;
            self.block = Some(block);
        }
        Ok(())
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.fill()?;
        let unread = self.unread();
        let count = unread.len().min(into.len());
        into[..count].copy_from_slice(&unread[..count]);
        self.given += count;
        Ok(count)
    }
}

/// Reads a complete block, or the rest of the file.
fn fill(file: &File, block: &mut Block, at: u64) -> io::Result<()> {
    block.clear();
    // A short read is at the end of the file, or was interrupted at the end of a disk block.
    loop {
        let offset = at + block.bytes().len() as u64;
        match file.read_at(block.room(), offset) {
            Ok(0) => return Ok(()),
            Ok(count) => block.grow(count),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
        if block.is_full() {
            return Ok(());
        }
        // Direct reads begin at multiples of the disk's blocks. After an odd length there is
        // nothing.
        if !block.bytes().len().is_multiple_of(super::append::ALIGNMENT) {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(len: usize) -> Vec<u8> {
        (0..len).map(|i| (i * 13 % 251) as u8).collect()
    }

    proptest! {
        #[test]
        fn what_is_read_ahead_is_the_file(
            len in 0usize..12 * BLOCK_BYTES, step in 1usize..3 * BLOCK_BYTES, rounded in any::<bool>(),
        ) {
            let len = if rounded { len / 4096 * 4096 } else { len };
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("file");
            std::fs::write(&path, bytes(len)).unwrap();
            let Ok(ahead) = Ahead::begin(File::open(&path).unwrap()) else { return Ok(()) };
            for mut source in [Source::Ahead(ahead), Source::sequential(File::open(&path).unwrap())] {
                let (mut all, mut piece) = (Vec::new(), vec![0; step]);
                for turn in 0.. {
                    let count = match turn % 3 {
                        0 => source.read(&mut piece).unwrap(),
                        _ => {
                            let there = source.fill_buf().unwrap();
                            let count = there.len().min(step);
                            piece[..count].copy_from_slice(&there[..count]);
                            source.consume(count);
                            count
                        }
                    };
                    if count == 0 {
                        break;
                    }
                    all.extend_from_slice(&piece[..count]);
                    if let (Source::Cached(_), 4) = (&source, turn % 5) {
                        assert_eq!(source.stream_position().unwrap(), all.len() as u64);
                    }
                }
                assert!(all == bytes(len));
                assert_eq!(source.read(&mut piece).unwrap(), 0);
            }
        }
    }

    #[test]
    fn nobody_waits_for_a_reader_that_goes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, bytes(20 * BLOCK_BYTES)).unwrap();
        let Ok(mut ahead) = Ahead::begin(File::open(&path).unwrap()) else { return };
        let mut first = [0; 10];
        assert_eq!(ahead.read(&mut first).unwrap(), 10);
        drop(ahead);
        // A cached file is read from the cache.
        assert!(matches!(Source::sequential(File::open(&path).unwrap()), Source::Cached(_)));
    }
}
