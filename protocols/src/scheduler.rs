//! When each rank takes its next image, without coordination.
//!
//! Guarantees: at most one image of a rank is under way; the interval counts from the *end* of the
//! last transfer, so a slow store never queues images behind each other; the first images are
//! spread over one interval, and at most `at_once_max` ranks stream at the same time, so that the
//! store is not hit by all ranks together. Time is passed in; nothing here waits.

use ftmpi_wire::Rank;
use std::time::Duration;

/// Settings of the periodic policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// From the end of one image's transfer to the beginning of the next (seconds of wall clock).
    pub interval: Duration,
    /// Images in transfer at the same time, over the whole job.
    pub at_once_max: usize,
}

/// The periodic scheduler.
#[derive(Debug)]
pub struct Scheduler {
    settings: Settings,
    due: Vec<Duration>,
    /// Since when an image is under way.
    under_way: Vec<Option<Duration>>,
}

/// A rank that has not delivered after this long (it may be stopped) no longer holds up the others.
const PATIENCE: Duration = Duration::from_secs(60);

impl Scheduler {
    /// A scheduler for `size` ranks whose job starts at time zero: rank `r` is first due after
    /// `(r + 1) / size` of the interval.
    #[must_use]
    pub fn new(settings: Settings, size: u32) -> Self {
        let due = (0..size).map(|rank| settings.interval * (rank + 1) / size.max(1)).collect();
        Self { settings, due, under_way: vec![None; size as usize] }
    }

    /// The ranks that should begin an image now, most overdue first; each counts as under way from
    /// here on. `ready` says which can (alive, past `MPI_Init`, able to be captured).
    pub fn take_due(&mut self, now: Duration, ready: impl Fn(Rank) -> bool) -> Vec<Rank> {
        let busy = self.under_way.iter().flatten().filter(|since| now < **since + PATIENCE).count();
        let mut ranks: Vec<Rank> = (0..self.due.len() as u32)
            .map(Rank)
            .filter(|rank| {
                self.under_way[rank.index()].is_none()
                    && self.due[rank.index()] <= now
                    && ready(*rank)
            })
            .collect();
        ranks.sort_by_key(|rank| (self.due[rank.index()], *rank));
        ranks.truncate(self.settings.at_once_max.saturating_sub(busy));
        for rank in &ranks {
            self.under_way[rank.index()] = Some(now);
        }
        ranks
    }

    /// The transfer of this rank's image is over, well or badly, or its life ended.
    pub fn ended(&mut self, now: Duration, rank: Rank) {
        self.under_way[rank.index()] = None;
        self.due[rank.index()] = now + self.settings.interval;
    }

    /// Every rank's next image is due at once: logs are to be cut.
    pub fn hasten(&mut self, now: Duration) {
        for due in &mut self.due {
            *due = now.min(*due);
        }
    }

    /// Whether an image of this rank is under way.
    #[must_use]
    pub fn is_under_way(&self, rank: Rank) -> bool {
        self.under_way[rank.index()].is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn first_images_are_spread_and_the_interval_counts_from_the_end() {
        let mut scheduler = Scheduler::new(Settings { interval: 4 * S, at_once_max: 8 }, 4);
        assert_eq!(scheduler.take_due(S / 2, |_| true), vec![]);
        assert_eq!(scheduler.take_due(S, |_| true), vec![Rank(0)]);
        assert_eq!(scheduler.take_due(2 * S, |_| true), vec![Rank(1)]);
        scheduler.ended(3 * S, Rank(0));
        assert_eq!(scheduler.take_due(6 * S, |_| true), vec![Rank(2), Rank(3)]);
        assert_eq!(scheduler.take_due(7 * S, |_| true), vec![Rank(0)]);
        assert!(scheduler.is_under_way(Rank(1)), "no second image before the first has ended");
    }

    #[test]
    fn no_more_than_allowed_at_once_and_the_longest_waiting_first() {
        let mut scheduler = Scheduler::new(Settings { interval: S, at_once_max: 2 }, 4);
        assert_eq!(scheduler.take_due(9 * S, |rank| rank != Rank(0)), vec![Rank(1), Rank(2)]);
        assert_eq!(scheduler.take_due(9 * S, |_| true), vec![]);
        scheduler.ended(9 * S, Rank(1));
        assert_eq!(scheduler.take_due(9 * S, |_| true), vec![Rank(0)]);
        assert_eq!(scheduler.take_due(9 * S + PATIENCE, |_| true), vec![Rank(3), Rank(1)]);
    }
}
