//! Which messages of one peer a rank has: everything up to a number, and some beyond it.
//!
//! This is what the restart handshake tells ("the highest contiguous number plus the holes"), what
//! drops duplicates, and what cuts the sender's log. Holes arise because a rendezvous may be
//! pending while a later message is complete.
//!
//! A channel has two lanes of numbers: what the program sends is counted at its calls; replies to
//! one-sided operations have the number that the *asking* rank gave the request ([`reply_ssn`]),
//! because the moment at which they are made, and so their place among the program's sends, depends
//! on timing.

use ftmpi_wire::{Ssn, header::Received as Wire};
use std::collections::BTreeSet;

/// Set in the numbers of replies.
const REPLY: u64 = 1 << 63;

/// The number of the reply to the `request`-th request of a peer, counted from 1.
#[must_use]
pub const fn reply_ssn(request: u64) -> Ssn {
    Ssn(REPLY | request)
}

/// Is this the number of a reply?
#[must_use]
pub const fn is_reply(ssn: Ssn) -> bool {
    ssn.0 & REPLY != 0
}

/// A set of numbers, starting at 1, nearly contiguous.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Lane {
    contiguous: u64,
    beyond: BTreeSet<u64>,
}

impl Lane {
    #[inline]
    fn contains(&self, n: u64) -> bool {
        n <= self.contiguous || (!self.beyond.is_empty() && self.beyond.contains(&n))
    }

    #[inline]
    fn insert(&mut self, n: u64) -> bool {
        if n == self.contiguous + 1 && self.beyond.is_empty() {
            self.contiguous = n;
            return true;
        }
        self.insert_beyond(n)
    }

    #[cold]
    fn insert_beyond(&mut self, n: u64) -> bool {
        if self.contains(n) {
            return false;
        }
        self.beyond.insert(n);
        while self.beyond.remove(&(self.contiguous + 1)) {
            self.contiguous += 1;
        }
        true
    }

    /// How many are there.
    fn count(&self) -> u64 {
        self.contiguous + self.beyond.len() as u64
    }
}

/// The messages of one peer that are there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Received {
    messages: Lane,
    replies: Lane,
}

impl Received {
    /// Has this message been received?
    #[inline]
    #[must_use]
    pub fn contains(&self, ssn: Ssn) -> bool {
        if is_reply(ssn) {
            self.replies.contains(ssn.0 & !REPLY)
        } else {
            self.messages.contains(ssn.0)
        }
    }

    /// Adds a message; `false` if it was there already.
    #[inline]
    pub fn insert(&mut self, ssn: Ssn) -> bool {
        if is_reply(ssn) {
            self.replies.insert(ssn.0 & !REPLY)
        } else {
            self.messages.insert(ssn.0)
        }
    }

    /// Every message up to and including this number is there.
    #[must_use]
    pub fn contiguous(&self) -> Ssn {
        Ssn(self.messages.contiguous)
    }

    /// How many are there.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.messages.count() + self.replies.count()
    }

    /// The same for replies.
    #[must_use]
    pub fn contiguous_replies(&self) -> Ssn {
        reply_ssn(self.replies.contiguous)
    }

    /// Is this message among those up to the contiguous number of its lane?
    #[must_use]
    pub fn covers(&self, ssn: Ssn) -> bool {
        let end = if is_reply(ssn) { self.contiguous_replies() } else { self.contiguous() };
        ssn <= end
    }

    /// Does either lane reach farther than that of `other`?
    #[must_use]
    pub fn exceeds(&self, other: &Self) -> bool {
        self.messages.contiguous > other.messages.contiguous
            || self.replies.contiguous > other.replies.contiguous
    }

    /// The greatest number of a message that is there.
    #[must_use]
    pub fn last(&self) -> Ssn {
        Ssn(self.messages.beyond.last().copied().unwrap_or(self.messages.contiguous))
    }

    /// For the wire.
    #[must_use]
    pub fn to_wire(&self) -> Wire {
        let beyond = self.messages.beyond.iter().map(|&n| Ssn(n));
        let replies = self.replies.beyond.iter().map(|&n| reply_ssn(n));
        Wire {
            contiguous: self.contiguous(),
            replies: self.contiguous_replies(),
            beyond: beyond.chain(replies).collect(),
        }
    }

    /// From the wire; numbers that make no sense are dropped.
    #[must_use]
    pub fn from_wire(wire: &Wire) -> Self {
        let lane = |ssn: Ssn| Lane { contiguous: ssn.0 & !REPLY, beyond: BTreeSet::new() };
        let mut set = Self { messages: lane(wire.contiguous), replies: lane(wire.replies) };
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
        fn behaves_like_a_set(numbers in proptest::collection::vec((1u64..40, any::<bool>()), 0..120)) {
            let mut set = Received::default();
            let mut model = BTreeSet::new();
            let ssn = |n, reply: bool| if reply { reply_ssn(n) } else { Ssn(n) };
            for (n, reply) in numbers {
                prop_assert_eq!(set.insert(ssn(n, reply)), model.insert(ssn(n, reply)));
                for probe in 1..45 {
                    for reply in [false, true] {
                        let probe = ssn(probe, reply);
                        prop_assert_eq!(set.contains(probe), model.contains(&probe));
                    }
                }
                let hole = |reply| (1..).find(|&k| !model.contains(&ssn(k, reply))).unwrap();
                prop_assert_eq!(set.contiguous(), Ssn(hole(false) - 1));
                prop_assert_eq!(set.contiguous_replies(), reply_ssn(hole(true) - 1));
                prop_assert!(!set.covers(ssn(hole(true), true)) && !set.exceeds(&set));
                prop_assert_eq!(set.count(), model.len() as u64);
                prop_assert_eq!(&Received::from_wire(&set.to_wire()), &set);
            }
        }
    }
}
