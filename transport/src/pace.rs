//! How a writer copies into a ring: through its cache or past it.
//!
//! Between two processors that share a cache, a copy through the cache is fastest: the reader finds
//! it there. Where they do not (another core complex, another socket), every line of the ring has to
//! be fetched back from the reader's cache before it is written, and then from the writer's before it
//! is read; 4 GB/s were measured so, and 12 with stores past the caches, against 19 and 11 between
//! neighbours. Which case it is cannot be asked for, changes when ranks move, and is seen in the time
//! that a copy takes. So each writer tries both, in turns that grow rare, and takes the faster.
//!
//! A pure machine: chunks and their times go in.

/// Chunks in a trial: the first half, in which the ring changes from one way to the other, does not
/// count.
const TRIAL: u32 = 48;
/// Chunks between trials, first and at the most: each that changes nothing doubles them.
const PAUSE_MIN: u32 = 512;
const PAUSE_MAX: u32 = 1 << 16;

/// A writer's choice.
#[derive(Debug)]
pub struct Pace {
    past_caches: bool,
    /// Best time of a chunk in this turn, and in the last one of the other way.
    best: u64,
    other: u64,
    /// Chunks left of this turn.
    left: u32,
    pause: u32,
    trial: bool,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            past_caches: false,
            best: u64::MAX,
            other: u64::MAX,
            left: TRIAL,
            pause: PAUSE_MIN,
            trial: true,
        }
    }
}

impl Pace {
    /// Whether the next chunk is to be copied past the caches.
    #[inline]
    #[must_use]
    pub fn past_caches(&self) -> bool {
        self.past_caches
    }

    /// The copy of a chunk took this long, scaled to a whole chunk.
    #[inline]
    pub fn took(&mut self, ticks: u64) {
        if self.trial && self.left <= TRIAL / 2 {
            self.best = self.best.min(ticks);
        }
        self.left -= 1;
        if self.left == 0 {
            self.turn();
        }
    }

    #[cold]
    fn turn(&mut self) {
        if !self.trial {
            // The settled way is measured anew, then the other.
            (self.trial, self.left, self.best, self.other) = (true, TRIAL, u64::MAX, u64::MAX);
            return;
        }
        if self.other == u64::MAX {
            (self.other, self.best) = (self.best, u64::MAX);
            self.past_caches = !self.past_caches;
            self.left = TRIAL;
            return;
        }
        // Back, unless this way is clearly faster.
        if self.best < self.other - self.other / 8 {
            self.pause = PAUSE_MIN;
        } else {
            self.past_caches = !self.past_caches;
            self.pause = (self.pause * 2).min(PAUSE_MAX);
        }
        (self.trial, self.left) = (false, self.pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Share of chunks, of the last half, that went past the caches.
    fn share(pace: &mut Pace, chunks: u32, through: u64, past: u64) -> f64 {
        let mut count = 0;
        for n in 0..chunks {
            count += u32::from(n >= chunks / 2 && pace.past_caches());
            pace.took(if pace.past_caches() { past } else { through } + u64::from(n % 7));
        }
        f64::from(count) / f64::from(chunks / 2)
    }

    #[test]
    fn neighbours_copy_through_the_cache_and_others_past_it() {
        assert!(share(&mut Pace::default(), 100_000, 1500, 3600) < 0.01);
        assert!(share(&mut Pace::default(), 100_000, 9000, 3600) > 0.99);
    }

    #[test]
    fn a_rank_that_moves_is_noticed() {
        let mut pace = Pace::default();
        assert!(share(&mut pace, 1_000_000, 1500, 3600) < 0.01);
        assert!(share(&mut pace, 1_000_000, 9000, 3600) > 0.99);
        assert!(share(&mut pace, 1_000_000, 1500, 3600) < 0.01);
    }

    #[test]
    fn equals_are_left_alone() {
        assert!(share(&mut Pace::default(), 1_000_000, 3000, 3000) < 0.01);
    }
}
