//! What travels with messages, and messages that are refused because their sender is an orphan.

use ftmpi_wire::{Rank, Ssn};
use serde::{Deserialize, Serialize};

/// What becomes of a message that arrived?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ArrivalVerdict {
    /// Match it.
    Accept,
    /// Its sender's state was rolled back: drop it.
    Orphan,
}

/// The part of a protocol that adds to messages.
pub trait Piggybacking {
    /// Whether there may be a piggyback for this peer: something was added since the last one.
    fn has_piggyback(&self, _to: Rank) -> bool {
        true
    }

    /// A message, or another frame that reveals a match, is about to leave. Appends what the peer
    /// must know first; that travels as a frame of its own directly before. The engine asks when
    /// the frame really leaves, so a frame that is sent again carries what is known then.
    fn piggyback(&mut self, _to: Rank, _out: &mut Vec<u8>) {}

    /// A peer's piggyback has arrived.
    fn on_piggyback(&mut self, _from: Rank, _piggyback: &[u8]) {}

    /// A message, or another frame that reveals a match, has arrived and is no duplicate.
    fn on_arrival(&mut self, _from: Rank, _ssn: Ssn) -> ArrivalVerdict {
        ArrivalVerdict::Accept
    }

    /// Everything that arrives from this peer is an orphan for now.
    fn refuses(&self, _from: Rank) -> bool {
        false
    }
}
