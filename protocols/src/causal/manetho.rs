//! Manetho (Elnozahy & Zwaenepoel; event-logger-2005 §III-B2): the antecedence graph. Before
//! anything is sent, the graph is crossed from the receiver's last known event. The creator of that
//! event knew everything in its past, no matter which rank sent the event to us. The rest is sent,
//! factored by creator as in vcausal.
//!
//! The past of a peer only grows. So its border is kept from one message to the next, and each
//! event is crossed once per peer.

use super::encoding::{Reader, take_runs};
use super::store::Store;
use super::technique::{Neighbour, Neighbours, Technique, Trouble};
use ftmpi_wire::{Determinant, EventNo, Rank};

/// The technique.
#[derive(Debug)]
pub struct Manetho {
    neighbours: Neighbours,
    size: usize,
    /// Events whose past is still to be crossed.
    ahead: Vec<(Rank, EventNo)>,
}

impl Manetho {
    /// For a job of this size.
    #[must_use]
    pub fn new(size: usize) -> Self {
        Self { neighbours: Neighbours::new(size), size, ahead: Vec::new() }
    }
}

/// Moves the border of what the peer knows past everything before its event `last`.
fn cross(
    store: &Store,
    peer: &mut Neighbour,
    creator: Rank,
    last: EventNo,
    ahead: &mut Vec<(Rank, EventNo)>,
) {
    ahead.push((creator, last));
    while let Some((creator, last)) = ahead.pop() {
        let known = peer.known[creator.index()];
        if creator.index() >= store.size() || last <= known {
            continue;
        }
        peer.known[creator.index()] = last;
        let (first, events) = store.after(creator, known);
        let new = (last.0 + 1).saturating_sub(first.0) as usize;
        for event in events.take(new) {
            if let Determinant::Match { source, .. } = event.determinant
                && source.index() < store.size()
                && event.seen > peer.known[source.index()]
            {
                ahead.push((source, event.seen));
            }
        }
    }
}

impl Technique for Manetho {
    fn build(&mut self, store: &Store, to: Rank, complete: bool, out: &mut Vec<u8>) -> u64 {
        let neighbour = self.neighbours.get(to);
        if complete {
            cross(store, neighbour, to, store.last(to), &mut self.ahead);
        }
        let skip = complete.then_some(to);
        neighbour.put_missing(store, skip, true, out)
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
