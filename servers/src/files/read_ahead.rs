//! A file that is read from begin to end, around the page cache if it is not there.
//!
//! What was written around the cache ([`super::Appender`]) would be read through it, page after
//! page, for a single use. A thread reads the next blocks meanwhile. Cached files, and files
//! without direct access, are read as usual.

use super::append::Block;
use crate::tuning::files::{BLOCK_BYTES, READ_AHEAD_MIN_BLOCKS, WAITING_BLOCKS};
use rustix::fs::OFlags;
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use std::fs::File;
use std::io::{self, IoSliceMut, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{self, Receiver, Sender};

/// A file to read.
#[derive(Debug)]
pub enum Source {
    /// The file is read when bytes are asked for.
    Cached(File),
    /// The file is read ahead, and cannot be sought in.
    Ahead(Ahead),
}

impl Source {
    /// Reads from the start of the file, in the better way.
    #[must_use]
    pub fn sequential(file: File) -> Self {
        let len = file.metadata().map_or(0, |about| about.len());
        if len < READ_AHEAD_MIN_BLOCKS * BLOCK_BYTES as u64 || is_cached(&file, len) {
            return Self::Cached(file);
        }
        match file.try_clone().and_then(Ahead::begin) {
            Ok(ahead) => Self::Ahead(ahead),
            Err(_) => {
                // Both descriptors have the same flags.
                if let Ok(flags) = rustix::fs::fcntl_getfl(&file) {
                    let _ = rustix::fs::fcntl_setfl(&file, flags - OFlags::DIRECT);
                }
                Self::Cached(file)
            }
        }
    }
}

impl Read for Source {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Cached(file) => file.read(into),
            Self::Ahead(ahead) => ahead.read(into),
        }
    }
}

impl Seek for Source {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::Cached(file) => file.seek(to),
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

/// The blocks that a thread has read.
#[derive(Debug)]
pub struct Ahead {
    full: Receiver<io::Result<Block>>,
    /// Blocks to be filled again.
    empty: Sender<Block>,
    block: Option<Block>,
    /// Bytes of the block that were given.
    given: usize,
    ended: bool,
}

impl Ahead {
    fn begin(file: File) -> io::Result<Self> {
        let flags = rustix::fs::fcntl_getfl(&file)?;
        rustix::fs::fcntl_setfl(&file, flags | OFlags::DIRECT)?;
        let (send, full) = mpsc::sync_channel(WAITING_BLOCKS);
        let (empty, again) = mpsc::channel::<Block>();
        let work = move || {
            let mut at = 0;
            loop {
                let mut block = again.try_recv().unwrap_or_else(|_| Block::new());
                let outcome = fill(&file, &mut block, at);
                at += block.bytes().len() as u64;
                let is_last = outcome.is_err() || !block.is_full();
                // The reader may have stopped.
                if send.send(outcome.map(|()| block)).is_err() || is_last {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("read-ahead".into()).spawn(work)?;
        Ok(Self { full, empty, block: None, given: 0, ended: false })
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(block) = &self.block {
                let rest = &block.bytes()[self.given..];
                let count = rest.len().min(into.len());
                into[..count].copy_from_slice(&rest[..count]);
                self.given += count;
                if count > 0 || into.is_empty() {
                    return Ok(count);
                }
            }
            if self.ended {
                return Ok(0);
            }
            if let Some(block) = self.block.take() {
                let _ = self.empty.send(block);
            }
            let lost = |_| io::Error::other("the thread that reads is gone");
            let block = self.full.recv().map_err(lost)??;
            self.ended = !block.is_full();
            self.given = 0;
            self.block = Some(block);
        }
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
                loop {
                    let count = source.read(&mut piece).unwrap();
                    if count == 0 {
                        break;
                    }
                    all.extend_from_slice(&piece[..count]);
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
