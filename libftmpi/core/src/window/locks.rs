//! Who may access the memory of this rank: shared and exclusive locks, first come, first served.
//!
//! Guarantees: an exclusive holder is alone; nobody overtakes, hence nobody starves; what is granted
//! depends only on the order of requests and releases, so that a replay grants the same.

use std::collections::VecDeque;

/// Who asked for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asker {
    /// Its rank in the window.
    pub rank: u32,
    /// Does it want to be alone?
    pub exclusive: bool,
    /// Number of the reply that it waits for; 0: of none.
    pub reply: u64,
}

/// Locks on one window of one rank.
#[derive(Debug, Default)]
pub struct Locks {
    holders: Vec<(u32, bool)>,
    queue: VecDeque<Asker>,
}

impl Locks {
    /// Asks for a lock.
    pub fn ask(&mut self, asker: Asker) {
        self.queue.push_back(asker);
    }

    /// Gives a lock back; `false` if this rank has none.
    pub fn release(&mut self, rank: u32) -> bool {
        let at = self.holders.iter().position(|holder| holder.0 == rank);
        at.map(|at| self.holders.swap_remove(at)).is_some()
    }

    /// The next lock that can be granted; it is.
    pub fn grant(&mut self) -> Option<Asker> {
        let first = *self.queue.front()?;
        let alone = first.exclusive || self.holders.first().is_some_and(|holder| holder.1);
        if alone && !self.holders.is_empty() {
            return None;
        }
        self.queue.pop_front();
        self.holders.push((first.rank, first.exclusive));
        Some(first)
    }

    /// Has this rank a lock?
    #[must_use]
    pub fn holds(&self, rank: u32) -> bool {
        self.holders.iter().any(|holder| holder.0 == rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_share_and_nobody_overtakes() {
        let mut locks = Locks::default();
        let ask = |rank, exclusive| Asker { rank, exclusive, reply: 0 };
        let granted = |locks: &mut Locks| {
            std::iter::from_fn(|| locks.grant()).map(|asker| asker.rank).collect::<Vec<_>>()
        };
        for (rank, exclusive) in [(0, false), (1, false), (2, true), (3, false)] {
            locks.ask(ask(rank, exclusive));
        }
        assert_eq!(granted(&mut locks), [0, 1]);
        assert!(locks.release(0) && !locks.release(0));
        assert!(granted(&mut locks).is_empty() && locks.holds(1));
        assert!(locks.release(1));
        assert_eq!(granted(&mut locks), [2]);
        assert!(locks.release(2));
        assert_eq!(granted(&mut locks), [3]);
    }
}
