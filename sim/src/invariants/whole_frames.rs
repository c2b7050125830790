//! A frame of which a part has left arrives whole before any other frame of its channel. Bytes of
//! another frame in between would make nonsense of both.

use super::broken;
use ftmpi_wire::{Header, Rank};

/// A rank sends this to a peer, to which a part of the frame with the words `begun` has left.
pub fn follows(rank: usize, to: Rank, header: &Header, begun: [u64; 3]) {
    if begun != header.to_words() {
        let how = format!("rank {rank} sends rank {to} {header:?} amid a frame of {begun:?}");
        broken("whole-frames", &how);
    }
}
