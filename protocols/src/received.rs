//! Which messages of one peer a rank has: all up to a number, and some beyond it.
//!
//! The restart handshake sends this ("the highest contiguous number plus the holes"). It also drops
//! duplicates and cuts the sender's log. Holes arise because a rendezvous may be pending while a
//! later message is complete.
//!
//! A channel has two sequences of numbers. Messages of the program are counted at its calls.
//! Replies to one-sided operations have the number that the *asking* rank gave the request
//! ([`reply_ssn`]). The moment of a reply depends on timing, so its place among the program's sends
//! does too.

use ftmpi_wire::{Ssn, header::Received as Wire};
use std::collections::BTreeMap;

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
    /// First and last number of each run behind the first hole. A rendezvous may be pending for as
    /// long as the program likes: what comes meanwhile must not cost memory by the message.
    beyond: BTreeMap<u64, u64>,
}

impl Lane {
    #[inline]
    fn contains(&self, n: u64) -> bool {
        n <= self.contiguous || (!self.beyond.is_empty() && self.is_beyond(n))
    }

    #[cold]
    fn is_beyond(&self, n: u64) -> bool {
        self.beyond.range(..=n).next_back().is_some_and(|(_, &last)| n <= last)
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
        self.insert_run(n, n);
        true
    }

    /// Adds the numbers from `first` to `last`, of which some may be there.
    fn insert_run(&mut self, mut first: u64, mut last: u64) {
        if first > last {
            return;
        }
        // Runs that overlap or touch become one.
        while let Some((&from, &to)) = self.beyond.range(..=last.saturating_add(1)).next_back()
            && to.saturating_add(1) >= first
        {
            self.beyond.remove(&from);
            (first, last) = (first.min(from), last.max(to));
        }
        if first <= self.contiguous.saturating_add(1) {
            self.contiguous = self.contiguous.max(last);
        } else {
            self.beyond.insert(first, last);
        }
    }

    /// How many are there.
    fn count(&self) -> u64 {
        let beyond = self.beyond.iter().map(|(first, last)| last - first + 1);
        beyond.fold(self.contiguous, u64::saturating_add)
    }

    /// The first number that is here and not in `other`.
    fn first_beyond(&self, other: &Self) -> Option<u64> {
        let front = (self.contiguous > 0).then_some((1, self.contiguous));
        let runs = front.into_iter().chain(self.beyond.iter().map(|(&first, &last)| (first, last)));
        runs.filter_map(|(first, last)| {
            let there = if first <= other.contiguous {
                Some(other.contiguous)
            } else {
                other.beyond.range(..=first).next_back().map(|(_, &to)| to)
            };
            match there {
                Some(there) if there >= last => None,
                // Runs are as long as can be: the number behind one is not there.
                Some(there) if there >= first => Some(there + 1),
                _ => Some(first),
            }
        })
        .next()
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

    /// Is something there although an earlier one is missing?
    #[must_use]
    pub fn has_holes(&self) -> bool {
        !(self.messages.beyond.is_empty() && self.replies.beyond.is_empty())
    }

    /// Is there something here that is not in `other`?
    #[must_use]
    pub fn exceeds(&self, other: &Self) -> bool {
        self.first_beyond(other).is_some()
    }

    /// The first message, or else reply, that is here and not in `other`.
    #[must_use]
    pub fn first_beyond(&self, other: &Self) -> Option<Ssn> {
        let message = self.messages.first_beyond(&other.messages).map(Ssn);
        message.or_else(|| self.replies.first_beyond(&other.replies).map(reply_ssn))
    }

    /// Adds all of `other`.
    pub fn absorb(&mut self, other: &Self) {
        for (lane, more) in
            [(&mut self.messages, &other.messages), (&mut self.replies, &other.replies)]
        {
            lane.insert_run(1, more.contiguous);
            for (&first, &last) in &more.beyond {
                lane.insert_run(first, last);
            }
        }
    }

    /// The greatest number of a message that is there.
    #[must_use]
    pub fn last(&self) -> Ssn {
        Ssn(self.messages.beyond.values().last().copied().unwrap_or(self.messages.contiguous))
    }

    /// For the wire.
    #[must_use]
    pub fn to_wire(&self) -> Wire {
        let beyond = self.messages.beyond.iter().map(|(&first, &last)| (Ssn(first), Ssn(last)));
        let replies = &self.replies.beyond;
        let replies = replies.iter().map(|(&first, &last)| (reply_ssn(first), reply_ssn(last)));
        Wire {
            contiguous: self.contiguous(),
            replies: self.contiguous_replies(),
            beyond: beyond.chain(replies).collect(),
        }
    }

    /// From the wire; numbers that make no sense are dropped.
    #[must_use]
    pub fn from_wire(wire: &Wire) -> Self {
        let lane = |ssn: Ssn| Lane { contiguous: ssn.0 & !REPLY, beyond: BTreeMap::new() };
        let mut set = Self { messages: lane(wire.contiguous), replies: lane(wire.replies) };
        for &(first, last) in &wire.beyond {
            match (is_reply(first), is_reply(last)) {
                (true, true) => set.replies.insert_run(first.0 & !REPLY, last.0 & !REPLY),
                (false, false) => set.messages.insert_run(first.0, last.0),
                _ => {}
            }
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

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
                prop_assert!(!set.exceeds(&set));
                prop_assert_eq!(set.count(), model.len() as u64);
                prop_assert_eq!(&Received::from_wire(&set.to_wire()), &set);
            }
        }

        #[test]
        fn are_compared_and_joined_like_sets(
            ours in proptest::collection::btree_set((any::<bool>(), 1u64..20), 0..30),
            theirs in proptest::collection::btree_set((any::<bool>(), 1u64..20), 0..30),
        ) {
            let ssn = |&(reply, n): &(bool, u64)| if reply { reply_ssn(n) } else { Ssn(n) };
            let set = |numbers: &BTreeSet<(bool, u64)>| {
                let mut set = Received::default();
                numbers.iter().for_each(|n| assert!(set.insert(ssn(n))));
                set
            };
            let (a, b) = (set(&ours), set(&theirs));
            prop_assert_eq!(a.first_beyond(&b), ours.difference(&theirs).next().map(ssn));
            let mut both = a;
            both.absorb(&b);
            prop_assert_eq!(both, set(&ours.union(&theirs).copied().collect()));
        }

        #[test]
        fn hostile_runs_do_no_harm(
            contiguous: u64,
            runs in proptest::collection::vec((any::<u64>(), any::<u64>()), 0..20),
        ) {
            let beyond = runs.into_iter().map(|(first, last)| (Ssn(first), Ssn(last))).collect();
            let set = Received::from_wire(&Wire { contiguous: Ssn(contiguous), replies: Ssn(0), beyond });
            prop_assert_eq!(&Received::from_wire(&set.to_wire()), &set);
            let _ = (set.count(), set.last(), set.exceeds(&Received::default()));
        }
    }
}
