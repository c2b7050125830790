//! Pieces of a file in memory that the disk takes without a copy: one task makes them
//! ([`Pieces`]), another writes them ([`super::Appender::push_piece`]).
//!
//! Guarantees: memory that was written goes back to its maker, which fills it again without that
//! the kernel has to give new pages. Memory that is not aligned only costs a copy.

use super::append::ALIGNMENT;
use crate::tuning::files::BLOCK_BYTES;
use std::sync::mpsc::{self, Receiver, Sender};

/// Collects the bytes of a file.
#[derive(Debug)]
pub struct Pieces {
    memory: Vec<u8>,
    /// Bytes before those of the file, so that these are aligned.
    begin: usize,
    /// Bytes that are appended at a time, at most.
    step: usize,
    home: Sender<Vec<u8>>,
    back: Receiver<Vec<u8>>,
}

/// Consecutive bytes of a file. Its memory goes back to its maker in the end.
#[derive(Debug)]
pub struct Piece {
    memory: Vec<u8>,
    begin: usize,
    home: Sender<Vec<u8>>,
}

impl Pieces {
    /// Of a file to which at most `step` bytes are appended at a time.
    #[must_use]
    pub fn new(step: usize) -> Self {
        let (home, back) = mpsc::channel();
        let mut pieces = Self { memory: Vec::new(), begin: 0, step, home, back };
        pieces.renew();
        pieces
    }

    /// The memory to which the next bytes of the file are appended. What is there stays.
    pub fn memory(&mut self) -> &mut Vec<u8> {
        &mut self.memory
    }

    /// Takes what the disk can have, once it is enough for a write.
    pub fn take(&mut self) -> Option<Piece> {
        let len = self.memory.len() - self.begin;
        (len >= BLOCK_BYTES).then(|| self.cut(len - len % ALIGNMENT))
    }

    /// Takes all that is left.
    pub fn take_rest(&mut self) -> Option<Piece> {
        let len = self.memory.len() - self.begin;
        (len > 0).then(|| self.cut(len))
    }

    fn cut(&mut self, len: usize) -> Piece {
        let (memory, begin) = (std::mem::take(&mut self.memory), self.begin);
        self.renew();
        self.memory.extend_from_slice(&memory[begin + len..]);
        let mut piece = Piece { memory, begin, home: self.home.clone() };
        piece.memory.truncate(begin + len);
        piece
    }

    /// Begins with empty memory.
    fn renew(&mut self) {
        let most = ALIGNMENT + BLOCK_BYTES + self.step;
        self.memory = self.back.try_recv().unwrap_or_else(|_| Vec::with_capacity(most));
        self.memory.clear();
        // An alignment that is out of reach only costs a copy.
        self.begin = self.memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        self.memory.resize(self.begin, 0);
    }
}

impl Piece {
    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.memory[self.begin..]
    }

    /// How many of the first bytes can be written directly.
    pub(super) fn direct_bytes(&self) -> usize {
        let bytes = self.bytes();
        let is_aligned = bytes.as_ptr().addr().is_multiple_of(ALIGNMENT);
        if is_aligned { bytes.len() - bytes.len() % ALIGNMENT } else { 0 }
    }
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        // The maker may be gone.
        let _ = self.home.send(std::mem::take(&mut self.memory));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pieces_are_the_bytes_that_were_appended(
            steps in prop::collection::vec(0usize..3 * BLOCK_BYTES, 0..20), kept in 0usize..4,
        ) {
            let mut pieces = Pieces::new(2 * BLOCK_BYTES);
            let (mut all, mut found, mut held) = (Vec::new(), Vec::new(), Vec::new());
            for (number, step) in steps.into_iter().enumerate() {
                let more: Vec<u8> = (0..step).map(|at| (at * 7 + number) as u8).collect();
                all.extend_from_slice(&more);
                pieces.memory().extend_from_slice(&more);
                if let Some(piece) = pieces.take() {
                    prop_assert!(piece.bytes().len().is_multiple_of(ALIGNMENT));
                    if step <= 2 * BLOCK_BYTES {
                        prop_assert_eq!(piece.direct_bytes(), piece.bytes().len());
                    }
                    found.extend_from_slice(piece.bytes());
                    // Memory comes back in any order.
                    held.push(piece);
                    held.truncate(kept);
                }
            }
            found.extend(pieces.take_rest().iter().flat_map(|rest| rest.bytes().to_vec()));
            prop_assert!(found == all && pieces.take_rest().is_none());
        }
    }

    #[test]
    fn memory_is_used_again() {
        let mut pieces = Pieces::new(1);
        pieces.memory().resize(ALIGNMENT + BLOCK_BYTES, 1);
        let first = pieces.take().unwrap();
        let at = first.bytes().as_ptr();
        drop(first);
        // The memory that is being filled now was there before.
        for _ in 0..2 {
            pieces.memory().resize(ALIGNMENT + BLOCK_BYTES, 2);
            let next = pieces.take().unwrap();
            if next.bytes().as_ptr() == at {
                return;
            }
        }
        panic!("other memory");
    }
}
