//! When a rank that waits makes memory ready for its sender log.
//!
//! Guarantees: a step is made when the rank has waited in vain for as long as the last step took.
//! So no message is delayed by more than it was waited for already. Between two steps the rank
//! looks for what has come. Nothing is due while the log wants nothing.

use super::super::tuning::{AHEAD_GUESS_NS, AHEAD_PIECE, AHEAD_SLOW_NS, AHEAD_TOOK_MAX_NS};
use ftmpi_protocols::log_memory::HUGE;

/// What a rank that waits may do for its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// Nothing yet, soon.
    Soon,
    /// A step.
    Now,
}

/// The wait, and what a step takes.
#[derive(Debug)]
pub(crate) struct LogAhead {
    /// Messages sent and received when the wait began.
    progress: u64,
    since_ns: u64,
    took_ns: u64,
    /// A huge page takes too long at once.
    small: bool,
}

impl LogAhead {
    pub fn new() -> Self {
        Self { progress: u64::MAX, since_ns: 0, took_ns: AHEAD_GUESS_NS, small: false }
    }

    /// The rank waits, after so many messages. What is due?
    pub fn waits(&mut self, progress: u64, now_ns: u64) -> Due {
        if self.progress != progress {
            (self.progress, self.since_ns) = (progress, now_ns);
        }
        let waited = now_ns.saturating_sub(self.since_ns);
        if waited < self.took_ns { Due::Soon } else { Due::Now }
    }

    /// Bytes of a step: a huge page at once, which costs the least, unless it takes too long.
    pub fn piece(&self) -> usize {
        if self.small { AHEAD_PIECE } else { HUGE }
    }

    /// Whether small pages are wanted.
    pub fn small(&self) -> bool {
        self.small
    }

    /// A step took so long.
    pub fn took(&mut self, ns: u64) {
        // Another process may have had the processor meanwhile.
        self.took_ns = ns.min(AHEAD_TOOK_MAX_NS);
        self.small |= ns > AHEAD_SLOW_NS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_comes_after_a_wait_as_long_as_the_last_one() {
        let mut ahead = LogAhead::new();
        assert_eq!(ahead.waits(7, 1_000_000), Due::Soon);
        assert_eq!(ahead.waits(7, 1_000_000 + AHEAD_GUESS_NS - 1), Due::Soon);
        assert_eq!(ahead.waits(7, 1_000_000 + AHEAD_GUESS_NS), Due::Now);
        ahead.took(10_000);
        // Something came: another wait.
        assert_eq!(ahead.waits(8, 2_000_000), Due::Soon);
        assert_eq!(ahead.waits(8, 2_010_000), Due::Now);
        ahead.took(300_000);
        assert_eq!(ahead.waits(9, 3_000_000), Due::Soon);
        assert_eq!(ahead.waits(9, 3_200_000), Due::Soon);
        assert_eq!(ahead.waits(9, 3_300_000), Due::Now);
    }

    #[test]
    fn steps_become_small_where_a_huge_page_takes_long() {
        let mut ahead = LogAhead::new();
        ahead.took(AHEAD_SLOW_NS);
        assert_eq!((ahead.piece(), ahead.small()), (HUGE, false));
        ahead.took(u64::MAX);
        assert_eq!((ahead.piece(), ahead.small()), (AHEAD_PIECE, true));
        // It does not wait for ever after a step in which the processor was gone.
        assert_eq!(ahead.waits(1, 5), Due::Soon);
        assert_eq!(ahead.waits(1, 5 + AHEAD_TOOK_MAX_NS), Due::Now);
    }
}
