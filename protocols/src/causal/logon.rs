//! LogOn (Lee, Park, Yeom & Cho; event-logger-2005 §III-B2): events lie and travel in an order in
//! which none comes before one of its past. A piggyback is chosen in one walk from the newest event
//! backwards. An event that the receiver knows covers its past. An event that is not covered when
//! the walk reaches it is sent. The receiver adds it in one pass, as it comes; therefore events
//! cannot be factored by creator, and each carries its rank.
//!
//! The walk ends where everything older was sent before, or is known to have been known.

use super::encoding::{Reader, put, put_event};
use super::store::Store;
use super::technique::{Neighbours, Technique, Trouble};
use ftmpi_wire::{Determinant, EventNo, Rank};
use std::collections::VecDeque;

/// The technique.
#[derive(Debug)]
pub struct Logon {
    neighbours: Neighbours,
    size: usize,
    /// Every event that was added, in the order in which it was: none comes before its past.
    order: VecDeque<(Rank, EventNo)>,
    /// Place of the first of them.
    base: u64,
    /// Per peer: everything before this place is known to it.
    walked: Vec<u64>,
    /// For the walk: the last event of each creator that is covered.
    covered: Vec<EventNo>,
    /// For the walk: what is to be sent, newest first.
    chosen: Vec<(Rank, EventNo)>,
}

impl Logon {
    /// For a job of this size.
    #[must_use]
    pub fn new(size: usize) -> Self {
        Self {
            neighbours: Neighbours::new(size),
            size,
            order: VecDeque::new(),
            base: 0,
            walked: vec![0; size],
            covered: vec![EventNo(0); size],
            chosen: Vec::new(),
        }
    }

    /// Forgets places of events that are stable, when most are.
    fn tidy(&mut self, store: &Store) {
        while let Some(&(creator, number)) = self.order.front()
            && number <= store.stable(creator)
        {
            self.order.pop_front();
            self.base += 1;
        }
        if self.order.len() as u64 > 2 * store.held() + 1024 {
            // The places behind a gap move, so every walk begins again; that is rare.
            self.order.retain(|&(creator, number)| number > store.stable(creator));
            self.walked.fill(0);
        }
    }
}

impl Technique for Logon {
    fn build(&mut self, store: &Store, to: Rank, complete: bool, out: &mut Vec<u8>) -> u64 {
        self.tidy(store);
        let neighbour = self.neighbours.get(to);
        self.covered.copy_from_slice(&neighbour.known);
        if complete {
            self.covered[to.index()] = store.last(to);
        }
        self.chosen.clear();
        let begin = self.walked[to.index()].saturating_sub(self.base) as usize;
        for &(creator, number) in self.order.range(begin.min(self.order.len())..).rev() {
            let Some(event) = store.get(creator, number) else { continue };
            let covered = &mut self.covered[creator.index()];
            if number > *covered {
                self.chosen.push((creator, number));
            } else if let Determinant::Match { source, .. } = event.determinant
                && source.index() < self.size
            {
                let covered = &mut self.covered[source.index()];
                *covered = event.seen.max(*covered);
            }
        }
        for &(creator, number) in self.chosen.iter().rev() {
            let Some(event) = store.get(creator, number) else { continue };
            put(out, u64::from(creator.0));
            put(out, number.0);
            put_event(out, event, true);
        }
        for &creator in store.active() {
            if !complete || creator != to {
                neighbour.has(creator, store.last(creator));
            }
        }
        self.walked[to.index()] = self.base + self.order.len() as u64;
        self.chosen.len() as u64
    }

    fn merge(&mut self, store: &mut Store, from: Rank, mut bytes: Reader) -> Result<(), Trouble> {
        let neighbour = self.neighbours.get(from);
        while !bytes.is_empty() {
            let creator = bytes.rank(self.size)?;
            let number = bytes.event_number()?;
            let event = bytes.event()?;
            if neighbour.learn(store, creator, number, event)? {
                self.order.push_back((creator, number));
            }
        }
        // Who sends nothing builds nothing.
        self.tidy(store);
        Ok(())
    }

    fn added(&mut self, creator: Rank, number: EventNo) {
        self.order.push_back((creator, number));
    }

    fn begins(&mut self, peer: Rank, clocks: &[(Rank, EventNo)]) {
        self.neighbours.begins(peer, clocks);
        self.walked[peer.index()] = 0;
    }
}
