//! The dependency vector (o2p-2009 §3.3, fig. 2): for each rank, the last state interval that this
//! rank's state depends on, as long as that interval may still be lost. Only changes are sent
//! (Singhal and Kshemkalyani 1992).

use super::history::Interval;
use ftmpi_wire::Rank;

/// A vector. Entries that are empty cost nothing.
#[derive(Debug)]
pub struct Vector {
    entries: Vec<Option<Interval>>,
    /// When each was raised last, counted in changes.
    raised: Vec<u64>,
    changes: u64,
    /// Ranks whose entry is not empty.
    live: Vec<Rank>,
}

impl Vector {
    /// An empty one.
    #[must_use]
    pub fn new(size: usize) -> Self {
        Self { entries: vec![None; size], raised: vec![0; size], changes: 0, live: Vec::new() }
    }

    /// All entries become empty. What was sent to which peer is forgotten with them.
    pub fn reset(&mut self) {
        self.entries.fill(None);
        self.live.clear();
    }

    /// An entry.
    #[inline]
    #[must_use]
    pub fn get(&self, rank: Rank) -> Option<Interval> {
        self.entries[rank.index()]
    }

    /// Times that an entry was raised.
    #[inline]
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// The state now depends on this interval, too.
    #[inline]
    pub fn raise(&mut self, rank: Rank, to: Interval) {
        let entry = &mut self.entries[rank.index()];
        if entry.is_none_or(|known| known < to) {
            if entry.is_none() {
                self.live.push(rank);
            }
            *entry = Some(to);
            self.changes += 1;
            self.raised[rank.index()] = self.changes;
        }
    }

    /// Nothing that this entry stands for can be lost any more.
    #[inline]
    pub fn clear(&mut self, rank: Rank) {
        if self.entries[rank.index()].take().is_some() {
            self.live.retain(|&live| live != rank);
        }
    }

    /// Clears the entries of which this is true.
    pub fn clear_where(&mut self, mut over: impl FnMut(Rank, Interval) -> bool) {
        let entries = &mut self.entries;
        self.live.retain(|&rank| {
            let entry = &mut entries[rank.index()];
            entry.take_if(|interval| over(rank, *interval)).is_none()
        });
    }

    /// Entries that are not empty.
    pub fn entries(&self) -> impl Iterator<Item = (Rank, Interval)> + '_ {
        self.live.iter().filter_map(|&rank| Some((rank, self.get(rank)?)))
    }

    /// Entries that are not empty and were raised after so many changes.
    pub fn raised_since(&self, told: u64) -> impl Iterator<Item = (Rank, Interval)> + '_ {
        self.entries().filter(move |&(rank, _)| self.raised[rank.index()] > told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_wire::{EventNo, Incarnation};

    fn at(incarnation: u32, place: u64) -> Interval {
        Interval { incarnation: Incarnation(incarnation), place: EventNo(place) }
    }

    #[test]
    fn only_what_was_raised_since_is_sent() {
        let mut vector = Vector::new(4);
        vector.raise(Rank(2), at(0, 7));
        vector.raise(Rank(1), at(0, 3));
        let told = vector.changes();
        vector.raise(Rank(2), at(0, 6));
        assert_eq!(vector.changes(), told, "it is behind what is known");
        vector.raise(Rank(2), at(1, 1));
        assert_eq!(vector.raised_since(told).collect::<Vec<_>>(), [(Rank(2), at(1, 1))]);
        vector.clear_where(|rank, interval| rank == Rank(2) && interval <= at(1, 1));
        assert_eq!(vector.entries().collect::<Vec<_>>(), [(Rank(1), at(0, 3))]);
        vector.clear(Rank(1));
        vector.raise(Rank(1), at(0, 3));
        assert_eq!(vector.raised_since(told).count(), 1);
        vector.reset();
        assert_eq!(vector.entries().count(), 0);
    }
}
