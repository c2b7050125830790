//! How a writer copies into a ring: through its cache or past it.
//!
//! Between two processors that share a cache, a copy through the cache is fastest: the reader finds
//! it there. Where they do not (another core complex, another socket), every line of the ring is
//! fetched back twice: from the reader's cache before it is written, and from the writer's before
//! it is read. Stores past the caches are quicker there. Which case it is cannot be asked for, and
//! changes when ranks move. It shows in the time that a chunk takes its writer *and* its reader.
//! Stores past the caches are always quick for their writer, and the reader then waits for memory.
//! So each writer tries both, in turns that grow rare. It asks its reader how long the chunks of a
//! trial took there, and takes the way with the smaller sum.
//!
//! Chunks and whole pieces are two questions, with a choice each: pieces are short.
//!
//! It is a question only where a copy through the cache fetches the lines that it writes. Where the
//! string instruction takes them whole ([`ftmpi_copy::takes_lines_whole`]) it is never slower than
//! stores past the caches, and a ring has no pace. (Measurements: `docs/performance/log.md`,
//! "Shared-memory rings".)
//!
//! A pure machine: call [`Pace::took`] or [`Pace::passed`] for each chunk; [`Pace::past_caches`]
//! answers.

use super::tuning::{
    PACE_COUNTED as COUNTED, PACE_PAUSE_MAX as PAUSE_MAX, PACE_PAUSE_MIN as PAUSE_MIN,
    PACE_TRIAL as TRIAL, PACE_TRIAL_MAX as TRIAL_MAX,
};

/// How a chunk, or a whole piece, was written, for its reader.
#[derive(Debug, Clone, Copy)]
pub(super) struct How {
    /// Its reader is to publish at once that it has read it.
    pub(super) asks: bool,
    /// Its reader is to say how long it took.
    pub(super) timed: bool,
    /// It went past its writer's caches: its lines come from memory, and are read forwards.
    pub(super) past_caches: bool,
}

impl How {
    #[inline]
    pub(super) fn to_word(self) -> u64 {
        u64::from(self.timed) | u64::from(self.asks) << 1 | u64::from(self.past_caches) << 2
    }

    #[inline]
    pub(super) fn of_word(word: u64) -> Self {
        Self { timed: word & 1 != 0, asks: word & 2 != 0, past_caches: word & 4 != 0 }
    }
}

/// A reader's answer: the line of a chunk, or of a `piece`, and how many ticks it took.
pub(super) fn pack(line: u32, piece: bool, ticks: u64) -> u64 {
    u64::from(line) << 32 | u64::from(piece) << 31 | ticks.min(u64::from(u32::MAX >> 1))
}

/// The line and the ticks of an answer. One of the other kind says nothing about ticks.
pub(super) fn unpack(word: u64, piece: bool) -> (u32, u64) {
    let (line, same) = ((word >> 32) as u32, (word >> 31 & 1 != 0) == piece);
    (line, if same { word & u64::from(u32::MAX >> 1) } else { u64::MAX })
}

/// A writer's choice.
#[derive(Debug)]
pub struct Pace {
    past_caches: bool,
    /// Best times of a chunk in this turn: the writer's, the reader's.
    best: u64,
    theirs: u64,
    /// Their sum in the last turn of the other way, if it is over.
    other: Option<u64>,
    /// Chunks of this turn, or until the next trial.
    count: u32,
    /// The line of the first chunk that counts.
    since: u32,
    pause: u32,
    trial: bool,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            past_caches: false,
            best: u64::MAX,
            theirs: u64::MAX,
            other: None,
            count: 0,
            since: 0,
            pause: PAUSE_MIN,
            trial: true,
        }
    }
}

impl Pace {
    /// Begins past the caches.
    #[cfg(test)]
    pub(super) fn past() -> Self {
        Self { past_caches: true, ..Self::default() }
    }

    /// Whether the next chunk is to be copied past the caches.
    #[inline]
    #[must_use]
    pub fn past_caches(&self) -> bool {
        self.past_caches
    }

    /// Whether times are wanted: [`Pace::took`], or [`Pace::passed`].
    #[inline]
    #[must_use]
    pub fn is_trial(&self) -> bool {
        self.trial
    }

    /// A chunk was copied of which no time was taken.
    #[inline]
    pub fn passed(&mut self) {
        if !self.trial {
            self.count -= 1;
            if self.count == 0 {
                // The settled way is measured again, then the other.
                (self.trial, self.other) = (true, None);
                self.begin();
            }
        }
    }

    /// The copy of the chunk that is announced in `line` took so many ticks, scaled to a whole
    /// chunk. The latest chunk that the reader has measured was announced in `at`, and took it
    /// `theirs`.
    pub fn took(&mut self, line: u32, ticks: u64, at: u32, theirs: u64) {
        self.count += 1;
        if self.count == COUNTED {
            self.since = line;
        }
        if self.count < COUNTED {
            return;
        }
        self.best = self.best.min(ticks);
        // Lines of an earlier turn are older.
        if at.wrapping_sub(self.since) <= line.wrapping_sub(self.since) {
            self.theirs = self.theirs.min(theirs);
        }
        let heard = self.theirs != u64::MAX;
        if self.count >= TRIAL && (heard || self.count >= TRIAL_MAX) {
            self.turn();
        }
    }

    #[cold]
    fn turn(&mut self) {
        // A reader that does not say how long it takes leaves things as they are.
        let sum = self.best.saturating_add(self.theirs);
        let Some(other) = self.other else {
            self.other = Some(sum);
            self.past_caches = !self.past_caches;
            self.begin();
            return;
        };
        // Back, unless this way is clearly faster.
        if sum < other - other / 8 {
            self.pause = PAUSE_MIN;
        } else {
            self.past_caches = !self.past_caches;
            self.pause = (self.pause * 2).min(PAUSE_MAX);
        }
        (self.trial, self.count) = (false, self.pause);
    }

    fn begin(&mut self) {
        (self.count, self.best, self.theirs) = (0, u64::MAX, u64::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ticks of a chunk for its writer and its reader, through the cache and past it.
    struct Times {
        through: (u64, u64),
        past: (u64, u64),
    }
    const NEIGHBOURS: Times = Times { through: (1500, 1500), past: (900, 4000) };
    const APART: Times = Times { through: (9000, 9000), past: (3600, 4000) };

    /// Share of chunks, of the last half, that went past the caches; the reader is `lag` chunks
    /// late.
    fn share(pace: &mut Pace, chunks: u32, times: &Times, lag: usize) -> f64 {
        let mut count = 0;
        let mut published = std::collections::VecDeque::new();
        let mut last = (u32::MAX, 0);
        for line in 0..chunks {
            let past = pace.past_caches();
            count += u32::from(line >= chunks / 2 && past);
            let noise = u64::from(line % 7);
            let (own, theirs) = if past { times.past } else { times.through };
            if !pace.is_trial() {
                pace.passed();
                continue;
            }
            published.push_back((line, theirs + noise));
            if published.len() > lag {
                last = published.pop_front().unwrap();
            }
            pace.took(line, own + noise, last.0, last.1);
        }
        f64::from(count) / f64::from(chunks / 2)
    }

    #[test]
    fn neighbours_copy_through_the_cache_and_others_past_it() {
        for lag in [0, 3, 16] {
            assert!(share(&mut Pace::default(), 100_000, &NEIGHBOURS, lag) < 0.01);
            assert!(share(&mut Pace::default(), 100_000, &APART, lag) > 0.98);
        }
    }

    #[test]
    fn an_answer_counts_for_its_own_kind() {
        for (line, ticks) in [(0, 0), (7, 1234), (u32::MAX, u64::from(u32::MAX >> 1))] {
            for piece in [false, true] {
                assert_eq!(unpack(pack(line, piece, ticks), piece), (line, ticks));
                assert_eq!(unpack(pack(line, piece, ticks), !piece), (line, u64::MAX));
            }
        }
        assert_eq!(unpack(pack(1, false, u64::MAX), false), (1, u64::from(u32::MAX >> 1)));
        for word in 0..8 {
            assert_eq!(How::of_word(word).to_word(), word);
        }
    }

    #[test]
    fn a_rank_that_moves_is_noticed() {
        let mut pace = Pace::default();
        assert!(share(&mut pace, 1_000_000, &NEIGHBOURS, 5) < 0.01);
        assert!(share(&mut pace, 1_000_000, &APART, 5) > 0.99);
        assert!(share(&mut pace, 1_000_000, &NEIGHBOURS, 5) < 0.01);
    }

    #[test]
    fn equals_are_left_alone() {
        let equal = Times { through: (3000, 3000), past: (3000, 3000) };
        assert!(share(&mut Pace::default(), 1_000_000, &equal, 2) < 0.01);
    }

    #[test]
    fn a_reader_that_says_nothing_changes_nothing() {
        let mut pace = Pace::default();
        for line in 0..100_000 {
            assert!(line < 1000 || !pace.past_caches() || pace.is_trial());
            if pace.is_trial() { pace.took(line, 1000, u32::MAX, 0) } else { pace.passed() }
        }
    }
}
