//! Which messages of one peer a rank has: everything up to a number, and some beyond it.
//!
//! This is what the restart handshake tells ("the highest contiguous number plus the holes"), what
//! drops duplicates, and what cuts the sender's log. Holes arise because a rendezvous may be
//! pending while a later message is complete.

use ftmpi_wire::{Ssn, header::Received as Wire};
use std::collections::BTreeSet;

/// A set of message numbers, starting at 1, nearly contiguous.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Received {
    contiguous: u64,
    beyond: BTreeSet<u64>,
}

impl Received {
    /// Has this message been received?
    #[inline]
    #[must_use]
    pub fn contains(&self, ssn: Ssn) -> bool {
        ssn.0 <= self.contiguous || (!self.beyond.is_empty() && self.beyond.contains(&ssn.0))
    }

    /// Adds a message; `false` if it was there already.
    #[inline]
    pub fn insert(&mut self, ssn: Ssn) -> bool {
        if ssn.0 == self.contiguous + 1 && self.beyond.is_empty() {
            self.contiguous = ssn.0;
            return true;
        }
        self.insert_beyond(ssn)
    }

    #[cold]
    fn insert_beyond(&mut self, ssn: Ssn) -> bool {
        if self.contains(ssn) {
            return false;
        }
        self.beyond.insert(ssn.0);
        while self.beyond.remove(&(self.contiguous + 1)) {
            self.contiguous += 1;
        }
        true
    }

    /// Everything up to and including this number is there.
    #[must_use]
    pub fn contiguous(&self) -> Ssn {
        Ssn(self.contiguous)
    }

    /// The greatest number that is there.
    #[must_use]
    pub fn last(&self) -> Ssn {
        Ssn(self.beyond.last().copied().unwrap_or(self.contiguous))
    }

    /// For the wire.
    #[must_use]
    pub fn to_wire(&self) -> Wire {
        Wire {
            contiguous: Ssn(self.contiguous),
            beyond: self.beyond.iter().map(|&n| Ssn(n)).collect(),
        }
    }

    /// From the wire; numbers that make no sense are dropped.
    #[must_use]
    pub fn from_wire(wire: &Wire) -> Self {
        let mut set = Self { contiguous: wire.contiguous.0, beyond: BTreeSet::new() };
        for ssn in &wire.beyond {
            set.insert(*ssn);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn behaves_like_a_set(numbers in proptest::collection::vec(1u64..40, 0..80)) {
            let mut set = Received::default();
            let mut model = BTreeSet::new();
            for n in numbers {
                prop_assert_eq!(set.insert(Ssn(n)), model.insert(n));
                for probe in 1..45 {
                    prop_assert_eq!(set.contains(Ssn(probe)), model.contains(&probe));
                }
                let first_hole = (1..).find(|k| !model.contains(k)).unwrap();
                prop_assert_eq!(set.contiguous(), Ssn(first_hole - 1));
                prop_assert_eq!(&Received::from_wire(&set.to_wire()), &set);
            }
        }
    }
}
