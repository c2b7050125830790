//! Vcausal (event-logger-2005 §III-B1): for each peer and creator, the last event that the peer is
//! known to have. The event was sent to the peer or came from it. All later events are sent. That
//! is cheap to compute, and blind to what the peer has learned from others.

use super::encoding::{Reader, take_runs};
use super::store::Store;
use super::technique::{Neighbours, Technique, Trouble};
use ftmpi_wire::{EventNo, Rank};

/// The technique.
#[derive(Debug)]
pub struct Vcausal {
    neighbours: Neighbours,
    size: usize,
}

impl Vcausal {
    /// For a job of this size.
    #[must_use]
    pub fn new(size: usize) -> Self {
        Self { neighbours: Neighbours::new(size), size }
    }
}

impl Technique for Vcausal {
    fn build(&mut self, store: &Store, to: Rank, complete: bool, out: &mut Vec<u8>) -> u64 {
        let skip = complete.then_some(to);
        self.neighbours.get(to).put_missing(store, skip, false, out)
    }

    fn merge(&mut self, store: &mut Store, from: Rank, mut bytes: Reader) -> Result<(), Trouble> {
        let neighbour = self.neighbours.get(from);
        take_runs(&mut bytes, self.size, |creator, number, event| {
            neighbour.learn(store, creator, number, event)?;
            Ok(())
        })
    }

    fn begins(&mut self, peer: Rank, clocks: &[(Rank, EventNo)]) {
        self.neighbours.begins(peer, clocks);
    }
}
