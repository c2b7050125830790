//! The determinants that this rank knows and that are not known to be stable, of each rank in the
//! order of their numbers (event-logger-2005 §III-B: one sequence for each creator).
//!
//! Guarantees: the known events of a creator reach without a gap from the first event that is not
//! stable to the last one. An event never has two contents.

use ftmpi_wire::{Determinant, EventNo, Rank};
use std::collections::VecDeque;

/// A determinant, with the edge that the antecedence graph needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// What happened.
    pub determinant: Determinant,
    /// For a match: the last event of the message's sender that the receiver knew then. The
    /// receiver knew all that the sender knew at that event. 0: nothing is said.
    pub seen: EventNo,
}

/// Two histories of one rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Whose.
    pub creator: Rank,
    /// Which event has two contents.
    pub number: EventNo,
}

#[derive(Debug, Default)]
struct Sequence {
    /// All up to this one are stable.
    stable: EventNo,
    events: VecDeque<Event>,
}

impl Sequence {
    fn last(&self) -> EventNo {
        EventNo(self.stable.0 + self.events.len() as u64)
    }
}

/// What is known of all ranks.
#[derive(Debug)]
pub struct Store {
    sequences: Vec<Sequence>,
    /// Ranks of which anything is held.
    active: Vec<Rank>,
    /// Grows with every event that is added.
    version: u64,
    held: u64,
}

impl Store {
    /// Of a job of this size.
    #[must_use]
    pub fn new(size: usize) -> Self {
        let sequences = (0..size).map(|_| Sequence::default()).collect();
        Self { sequences, active: Vec::new(), version: 0, held: 0 }
    }

    /// Changes with every event that is added.
    #[inline]
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Number of events held.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.held
    }

    /// Ranks of which events are held.
    #[must_use]
    pub fn active(&self) -> &[Rank] {
        &self.active
    }

    /// Number of ranks.
    #[must_use]
    pub fn size(&self) -> usize {
        self.sequences.len()
    }

    /// Up to which event this rank's are known to be stable.
    #[inline]
    #[must_use]
    pub fn stable(&self, creator: Rank) -> EventNo {
        self.sequences[creator.index()].stable
    }

    /// The last event of this rank that is known.
    #[inline]
    #[must_use]
    pub fn last(&self, creator: Rank) -> EventNo {
        self.sequences[creator.index()].last()
    }

    /// The last event of this rank that is held; 0: none. A rank that holds an event knows its
    /// past. That does not follow for events that are only known to be stable.
    #[must_use]
    pub fn last_held(&self, creator: Rank) -> EventNo {
        let sequence = &self.sequences[creator.index()];
        if sequence.events.is_empty() { EventNo(0) } else { sequence.last() }
    }

    /// An event that is held.
    #[must_use]
    pub fn get(&self, creator: Rank, number: EventNo) -> Option<&Event> {
        let sequence = &self.sequences[creator.index()];
        sequence.events.get(number.0.checked_sub(sequence.stable.0 + 1)? as usize)
    }

    /// What is held of a rank behind `known`, and the number of the first of it.
    pub fn after(
        &self,
        creator: Rank,
        known: EventNo,
    ) -> (EventNo, impl ExactSizeIterator<Item = &Event>) {
        let sequence = &self.sequences[creator.index()];
        let skip = known.0.saturating_sub(sequence.stable.0).min(sequence.events.len() as u64);
        (EventNo(sequence.stable.0 + skip + 1), sequence.events.range(skip as usize..))
    }

    /// The next event of a rank.
    pub fn push(&mut self, creator: Rank, event: Event) -> EventNo {
        let sequence = &mut self.sequences[creator.index()];
        if sequence.events.is_empty() {
            self.active.push(creator);
        }
        sequence.events.push_back(event);
        self.held += 1;
        self.version += 1;
        sequence.last()
    }

    /// An event that a peer knows; `true` if it is new here. A rank that sends an event sends all
    /// unstable events before it, so what is missing before it is stable.
    ///
    /// # Errors
    /// It is known with another content.
    pub fn add(&mut self, creator: Rank, number: EventNo, event: Event) -> Result<bool, Conflict> {
        if number <= self.last(creator) {
            return match self.get(creator, number) {
                Some(known) if known.determinant != event.determinant => {
                    Err(Conflict { creator, number })
                }
                _ => Ok(false),
            };
        }
        if number > self.last(creator).next() {
            self.set_stable(creator, EventNo(number.0 - 1));
        }
        self.push(creator, event);
        Ok(true)
    }

    /// The events of this rank are stable up to this one: they are held no longer.
    pub fn set_stable(&mut self, creator: Rank, number: EventNo) {
        let sequence = &mut self.sequences[creator.index()];
        if number <= sequence.stable {
            return;
        }
        let gone = (number.0 - sequence.stable.0).min(sequence.events.len() as u64);
        sequence.events.drain(..gone as usize);
        sequence.stable = number;
        self.held -= gone;
        if gone > 0 && sequence.events.is_empty() {
            self.active.retain(|&rank| rank != creator);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(value: u64) -> Event {
        Event { determinant: Determinant::Outcome { fails: 0, value }, seen: EventNo(0) }
    }

    #[test]
    fn what_is_missing_before_a_known_event_is_stable() {
        let mut store = Store::new(2);
        let (a, n) = (Rank(1), EventNo);
        assert_eq!(store.add(a, n(1), event(1)), Ok(true));
        assert_eq!(store.add(a, n(1), event(1)), Ok(false));
        assert_eq!(store.add(a, n(1), event(2)), Err(Conflict { creator: a, number: n(1) }));
        assert_eq!(store.add(a, n(5), event(5)), Ok(true));
        assert_eq!((store.stable(a), store.last(a), store.held()), (n(4), n(5), 1));
        let (first, count) = {
            let (first, events) = store.after(a, n(2));
            (first, events.len())
        };
        assert_eq!((first, count), (n(5), 1));
        store.set_stable(a, n(7));
        assert_eq!((store.last(a), store.held(), store.active().len()), (n(7), 0, 0));
        assert_eq!(store.add(a, n(6), event(0)), Ok(false));
    }
}
