//! Shared and exclusive locks on the memory of this rank (MPI-3.1, 11.5.3).
//!
//! Readers overtake a writer that waits for readers. The holder may wait for what the other reader
//! does under its lock. `MPI_Win_lock_all` asks a target only when something is done there, later
//! than the program sees it. While a rank holds the lock from before, that costs the writer
//! nothing. Readers that only take over from each other may do so [`LOCK_PASSES`] times. Such
//! readers look at a value until the writer sets it.
//!
//! Guarantees: an exclusive holder is alone. Writers are served in their order, and none waits for
//! ever for readers that give the lock back. What is granted depends only on the order of requests
//! and releases, so a replay grants the same.

use crate::tuning::LOCK_PASSES;
use std::collections::VecDeque;

/// The rank that asked for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asker {
    /// Its rank in the window.
    pub rank: u32,
    /// Does it want to be alone?
    pub exclusive: bool,
    /// Number of the reply that it waits for; 0: of none.
    pub reply: u64,
}

#[derive(Debug, Clone, Copy)]
struct Holder {
    rank: u32,
    exclusive: bool,
    overtook: bool,
}

/// Locks on one window of one rank.
#[derive(Debug, Default)]
pub struct Locks {
    holders: Vec<Holder>,
    queue: VecDeque<Asker>,
    /// See [`LOCK_PASSES`].
    passes: u32,
}

impl Locks {
    /// Asks for a lock.
    pub fn ask(&mut self, asker: Asker) {
        self.queue.push_back(asker);
    }

    /// Gives a lock back; `false` if this rank has none.
    pub fn release(&mut self, rank: u32) -> bool {
        let at = self.holders.iter().position(|holder| holder.rank == rank);
        at.map(|at| self.holders.swap_remove(at)).is_some()
    }

    /// The next lock that can be granted; it is.
    pub fn grant(&mut self) -> Option<Asker> {
        let at = match self.holders.first() {
            None => 0,
            Some(holder) if holder.exclusive => return None,
            Some(_) => self.queue.iter().position(|asker| !asker.exclusive)?,
        };
        // A waiting rank before the first reader is a writer.
        let overtook = at > 0;
        if overtook && self.holders.iter().all(|holder| holder.overtook) {
            if self.passes >= LOCK_PASSES {
                return None;
            }
            self.passes += 1;
        }
        let asker = self.queue.remove(at)?;
        if asker.exclusive {
            self.passes = 0;
        }
        self.holders.push(Holder { rank: asker.rank, exclusive: asker.exclusive, overtook });
        Some(asker)
    }

    /// Has this rank a lock?
    #[must_use]
    pub fn holds(&self, rank: u32) -> bool {
        self.holders.iter().any(|holder| holder.rank == rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(locks: &mut Locks, rank: u32, exclusive: bool) {
        locks.ask(Asker { rank, exclusive, reply: 0 });
    }

    fn granted(locks: &mut Locks) -> Vec<u32> {
        std::iter::from_fn(|| locks.grant()).map(|asker| asker.rank).collect()
    }

    #[test]
    fn readers_share_and_writers_are_alone_and_in_order() {
        let mut locks = Locks::default();
        for (rank, exclusive) in [(0, false), (1, false), (2, true), (3, true), (4, false)] {
            ask(&mut locks, rank, exclusive);
        }
        // The last one may be what the first one waits for.
        assert_eq!(granted(&mut locks), [0, 1, 4]);
        assert!(locks.release(0) && !locks.release(0));
        assert!(locks.release(4) && granted(&mut locks).is_empty() && locks.holds(1));
        assert!(locks.release(1));
        assert_eq!(granted(&mut locks), [2]);
        ask(&mut locks, 5, false);
        assert!(granted(&mut locks).is_empty());
        assert!(locks.release(2));
        assert_eq!(granted(&mut locks), [3]);
        assert!(locks.release(3));
        assert_eq!(granted(&mut locks), [5]);
    }

    #[test]
    fn who_holds_it_from_before_lets_any_number_of_readers_overtake() {
        let mut locks = Locks::default();
        ask(&mut locks, 0, false);
        assert_eq!(granted(&mut locks), [0]);
        ask(&mut locks, 1, true);
        for _ in 0..3 * LOCK_PASSES {
            ask(&mut locks, 2, false);
            assert_eq!(granted(&mut locks), [2]);
            assert!(locks.release(2) && granted(&mut locks).is_empty());
        }
        assert!(locks.release(0));
        assert_eq!(granted(&mut locks), [1]);
    }

    #[test]
    fn readers_that_take_over_from_each_other_do_not_starve_a_writer() {
        let mut locks = Locks::default();
        ask(&mut locks, 0, false);
        assert_eq!(granted(&mut locks), [0]);
        ask(&mut locks, 9, true);
        let mut holder = 0;
        for _ in 0..=LOCK_PASSES {
            let next = 1 - holder;
            ask(&mut locks, next, false);
            assert_eq!(granted(&mut locks), [next]);
            assert!(locks.release(holder) && granted(&mut locks).is_empty());
            holder = next;
        }
        ask(&mut locks, 1 - holder, false);
        assert!(granted(&mut locks).is_empty());
        assert!(locks.release(holder));
        assert_eq!(granted(&mut locks), [9]);
        assert!(locks.release(9));
        assert_eq!(granted(&mut locks), [1 - holder]);
    }
}
