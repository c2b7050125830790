use super::*;
use crate::files::{Files, Op, Pieces, Watch};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Fails the write with this number, and counts all writes.
#[derive(Debug)]
struct FailsOn {
    write: usize,
    errno: Errno,
    writes: AtomicUsize,
    /// Bytes of the write that failed.
    bytes: AtomicUsize,
    syncs: AtomicUsize,
}

impl FailsOn {
    fn new(write: usize, errno: Errno) -> Arc<Self> {
        let [writes, bytes, syncs] = [0; 3].map(AtomicUsize::new);
        Arc::new(Self { write, errno, writes, bytes, syncs })
    }
}

impl Watch for FailsOn {
    fn before(&self, op: Op<'_>) -> io::Result<()> {
        match op {
            Op::Write { bytes, .. }
                if self.writes.fetch_add(1, Ordering::SeqCst) + 1 == self.write =>
            {
                self.bytes.store(bytes.len(), Ordering::SeqCst);
                Err(self.errno.into())
            }
            Op::Sync(_) => {
                self.syncs.fetch_add(1, Ordering::SeqCst);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 % 251) as u8).collect()
}

/// The contents of the file after these pieces, or why there are none.
fn append(files: &Files, pieces: &[usize]) -> io::Result<Vec<u8>> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("file");
    let mut appender = Appender::new(files.create(&path)?);
    let all = bytes(pieces.iter().sum());
    let mut rest = &all[..];
    for &piece in pieces {
        let (now, later) = rest.split_at(piece);
        appender.push(now)?;
        rest = later;
    }
    appender.finish()?;
    std::fs::read(&path)
}

/// As [`append`], by pieces in aligned memory; every third one is a copy.
fn append_pieces(files: &Files, steps: &[usize]) -> io::Result<Vec<u8>> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("file");
    let mut appender = Appender::new(files.create(&path)?);
    let (all, mut pieces) = (bytes(steps.iter().sum()), Pieces::new(2 * BLOCK_BYTES));
    let mut rest = &all[..];
    for (number, &step) in steps.iter().enumerate() {
        let (now, later) = rest.split_at(step);
        pieces.memory().extend_from_slice(now);
        match pieces.take() {
            Some(piece) if number % 3 == 2 => appender.push(piece.bytes())?,
            Some(piece) => appender.push_piece(piece)?,
            None => {}
        }
        rest = later;
    }
    pieces.take_rest().map_or(Ok(()), |piece| appender.push_piece(piece))?;
    appender.finish()?;
    std::fs::read(&path)
}

proptest! {
    #[test]
    fn what_was_appended_is_there(pieces in prop::collection::vec(0usize..3 * BLOCK_BYTES, 0..12)) {
        let all = bytes(pieces.iter().sum());
        assert_eq!(append(&Files::default(), &pieces).unwrap(), all);
        assert_eq!(append(&Files::volatile(), &pieces).unwrap(), all);
        assert_eq!(append_pieces(&Files::default(), &pieces).unwrap(), all);
        assert_eq!(append_pieces(&Files::volatile(), &pieces).unwrap(), all);
    }

    /// A failing write is reported, wherever it is, and nothing is synced after it.
    #[test]
    fn a_write_that_fails_is_reported(
        pieces in prop::collection::vec(1usize..2 * BLOCK_BYTES, 1..12), write in 1usize..24,
    ) {
        for way in [append, append_pieces] {
            let watch = FailsOn::new(write, Errno::NOSPC);
            let done = way(&Files::watched(watch.clone()), &pieces);
            let failed = watch.writes.load(Ordering::SeqCst) >= write;
            assert_eq!(done.is_err(), failed, "{done:?}");
            assert_eq!(watch.syncs.load(Ordering::SeqCst), usize::from(!failed));
            if let Err(e) = done {
                assert_eq!(e.kind(), io::ErrorKind::StorageFull);
            }
        }
    }

    /// Bytes that a disk does not take directly go through the cache.
    #[test]
    fn a_block_that_is_refused_goes_the_other_way(
        pieces in prop::collection::vec(0usize..2 * BLOCK_BYTES, 0..12), write in 1usize..8,
    ) {
        let all = bytes(pieces.iter().sum());
        for way in [append, append_pieces] {
            let watch = FailsOn::new(write, Errno::INVAL);
            match way(&Files::watched(watch.clone()), &pieces) {
                Ok(found) => assert_eq!(found, all),
                // The rest at the end goes only through the cache.
                Err(_) => assert!(watch.bytes.load(Ordering::SeqCst) < BLOCK_BYTES),
            }
        }
    }
}

#[test]
fn whole_blocks_do_not_stay_in_memory() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    let file = Files::default().create(&path).unwrap();
    if Direct::begin(&file).is_none() {
        return;
    }
    let mut appender = Appender::new(file);
    appender.push(&bytes(10 * BLOCK_BYTES + 17)).unwrap();
    assert!(matches!(appender.way, Way::Direct(_)));
    appender.give_up();
    // Blocks that were handed over are there when nobody writes any more.
    assert_eq!(std::fs::read(&path).unwrap(), bytes(10 * BLOCK_BYTES));
    assert!(appender.push(&[1]).is_err() && appender.finish().is_err());
}

/// Pieces go to the disk from where they are.
#[test]
fn pieces_are_not_copied() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    let file = Files::default().create(&path).unwrap();
    if Direct::begin(&file).is_none() {
        return;
    }
    let mut appender = Appender::new(file);
    let mut pieces = Pieces::new(2 * BLOCK_BYTES);
    let all = bytes(6 * BLOCK_BYTES + 3 * ALIGNMENT + 17);
    for more in all.chunks(BLOCK_BYTES + 100) {
        pieces.memory().extend_from_slice(more);
        while let Some(piece) = pieces.take() {
            appender.push_piece(piece).unwrap();
        }
    }
    let filled = |appender: &Appender| match &appender.way {
        Way::Direct(direct) => direct.block.filled,
        other => panic!("{other:?}"),
    };
    assert_eq!(filled(&appender), 0);
    appender.push_piece(pieces.take_rest().unwrap()).unwrap();
    assert_eq!(filled(&appender), 17);
    appender.finish().unwrap();
    assert!(std::fs::read(&path).unwrap() == all);
}
