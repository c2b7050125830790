//! Whether a long payload is fetched by its reader, with one copy by the kernel, or goes through
//! the ring.
//!
//! Neither is better as such. The ring takes two copies, on two processors at a time, between
//! caches. The kernel takes one, by the reader alone, line by line out of the writer's cache. The
//! kernel's copy is quicker where the payload was not touched since it was sent last, where both
//! ranks send at the same time, or where they share too few processors. The ring is quicker where
//! the writer has just written the payload.
//!
//! So the reader measures both: the time from one message of a size to the next. That is what the
//! program waits for, with all the costs of either way on either side. It does so in trials that
//! grow rare, for each size by itself, and publishes for the writer what it wants. Where messages
//! are so rare that it makes no difference, the ring stays.
//!
//! A pure machine: call [`SingleCopyPolicy::took`] with what came and when; it answers what to
//! publish.

use super::tuning::{
    POLICY_BETTER as BETTER, POLICY_CLASSES as CLASSES, POLICY_MISSES as MISSES, POLICY_ODD as ODD,
    POLICY_ODD_TURNS as ODD_TURNS, POLICY_PAUSE_MAX as PAUSE_MAX, POLICY_PAUSE_MIN as PAUSE_MIN,
    POLICY_TURN as TURN, POLICY_TURNS as TURNS, POLICY_WARM as WARM, POLICY_WORSE as WORSE,
};

/// What one reader wants for messages of one size.
#[derive(Debug, Clone, Copy)]
struct Choice {
    /// What the reader has chosen, and what the writer knows now.
    chosen: bool,
    single_copy: bool,
    trial: bool,
    /// Turns of this trial that are over, and the shortest by the ring and by the kernel.
    turns: u32,
    best: [u64; 2],
    /// Messages of this turn that do not count.
    warm: u32,
    /// When the last of them had come.
    since: u64,
    /// Intervals of this turn.
    count: u32,
    misses: u32,
    /// Messages until the next trial, and how many they were when the last one ended.
    left: u32,
    pause: u32,
    /// Turns in a row that took another time than in the last trial, and whether this trial began
    /// for that. The last number: from how many messages after the last trial on the next one may
    /// begin for that.
    odd: u32,
    at_once: bool,
    patience: u32,
}

impl Choice {
    const fn new() -> Self {
        Self {
            chosen: false,
            single_copy: false,
            trial: true,
            turns: 0,
            best: [u64::MAX; 2],
            warm: WARM,
            since: 0,
            count: 0,
            misses: 0,
            left: 0,
            pause: PAUSE_MIN,
            odd: 0,
            at_once: false,
            patience: 0,
        }
    }

    fn took(&mut self, single_copy: bool, time: u64, lap: u32) {
        if !self.trial {
            self.watch(time);
            self.at_once = self.odd >= ODD_TURNS && self.pause - self.left >= self.patience;
            if self.left == 0 || self.at_once {
                (self.trial, self.turns, self.best) = (true, 0, [u64::MAX; 2]);
                self.begin_turn(lap);
            }
            return;
        }
        if single_copy != self.single_copy {
            return self.missed();
        }
        if self.warm > 0 {
            self.warm -= 1;
            self.since = time;
            return;
        }
        self.count += 1;
        if self.count < TURN {
            return;
        }
        let best = &mut self.best[usize::from(single_copy)];
        *best = time.wrapping_sub(self.since).min(*best);
        self.turns += 1;
        let [ring, kernel] = self.best.map(|ticks| ticks as f64);
        let (now, other) = if self.chosen { (kernel, ring) } else { (ring, kernel) };
        let hopeless = self.turns == 2 && other > now * WORSE;
        if self.turns < TURNS && !hopeless {
            self.single_copy = !self.single_copy;
            return self.begin_turn(lap);
        }
        self.end_trial(other < now * BETTER);
        self.since = time;
    }

    /// Between trials.
    fn watch(&mut self, now: u64) {
        self.left -= 1;
        self.count += 1;
        if self.count < TURN {
            return;
        }
        let took = now.wrapping_sub(self.since) as f64;
        let known = self.best[usize::from(self.chosen)] as f64;
        let odd = took > known * ODD || took * ODD < known;
        self.odd = if odd { self.odd + 1 } else { 0 };
        (self.count, self.since) = (0, now);
    }

    /// The writer did not know yet, or could not, or its reader came too late.
    fn missed(&mut self) {
        (self.warm, self.count) = (self.warm.max(1), 0);
        self.misses += 1;
        if self.misses > MISSES {
            self.end_trial(self.chosen);
        }
    }

    fn begin_turn(&mut self, lap: u32) {
        (self.count, self.misses) = (0, 0);
        self.warm = if self.single_copy { WARM } else { lap.max(WARM) };
    }

    fn end_trial(&mut self, changes: bool) {
        self.chosen ^= changes;
        self.single_copy = self.chosen;
        self.pause = if changes { PAUSE_MIN } else { (self.pause * 2).min(PAUSE_MAX) };
        self.patience = match (changes, self.at_once) {
            (true, _) => 0,
            (false, true) => (self.patience * 2).clamp(PAUSE_MIN, PAUSE_MAX),
            (false, false) => self.patience,
        };
        (self.trial, self.left, self.count, self.odd) = (false, self.pause, 0, 0);
    }
}

/// What one reader wants.
#[derive(Debug)]
pub struct SingleCopyPolicy {
    choices: [Choice; CLASSES],
    least: u64,
    lap: u64,
}

impl SingleCopyPolicy {
    /// For payloads of more than `least` bytes, a power of two, and a ring of `lap` bytes.
    #[must_use]
    pub const fn new(least: u64, lap: u64) -> Self {
        Self { choices: [Choice::new(); CLASSES], least, lap }
    }

    /// A payload of so many bytes has come at the time `now`. Gives what to publish for the writer:
    /// a bit for each class.
    pub fn took(&mut self, bytes: u64, single_copy: bool, now: u64) -> u64 {
        let lap = (self.lap / bytes.max(1)) as u32;
        self.choices[class_of(self.least, bytes)].took(single_copy, now, lap);
        self.choices.iter().rev().fold(0, |bits, choice| bits << 1 | u64::from(choice.single_copy))
    }
}

/// The class of a payload.
#[must_use]
pub fn class_of(least: u64, bytes: u64) -> usize {
    (bytes.saturating_sub(1) / least)
        .checked_ilog2()
        .map_or(0, |class| class as usize)
        .min(CLASSES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes `count` messages of a size, with the time that each way takes; gives how many were
    /// single copies.
    fn run(
        policy: &mut SingleCopyPolicy,
        count: usize,
        bytes: u64,
        ring: u64,
        kernel: u64,
    ) -> usize {
        run_of(policy, count, bytes, |n, single_copy| {
            (single_copy, if single_copy { kernel } else { ring } + n % 7)
        })
    }

    /// As [`run`], where `comes` says what the writer does.
    fn run_of(
        policy: &mut SingleCopyPolicy,
        count: usize,
        bytes: u64,
        mut comes: impl FnMut(u64, bool) -> (bool, u64),
    ) -> usize {
        let (mut bits, mut now) = (0, 0);
        (0..count)
            .filter(|n| {
                let single_copy = bits >> class_of(policy.least, bytes) & 1 == 1;
                let (did, took) = comes(*n as u64, single_copy);
                now += took;
                bits = policy.took(bytes, did, now);
                single_copy
            })
            .count()
    }

    #[test]
    fn the_better_way_is_taken_and_found_again_when_it_changes() {
        let mut policy = SingleCopyPolicy::new(8 << 10, 512 << 10);
        assert!(run(&mut policy, 1000, 1 << 20, 1000, 500) > 900);
        assert!(
            run(&mut policy, 1000, 300 << 10, 500, 1000) < 60,
            "another size is another question"
        );
        assert!(run(&mut policy, 10_000, 1 << 20, 500, 1000) < 5000, "it has become the worse one");
        assert!(run(&mut policy, 100_000, 1 << 20, 500, 1000) < 1000);
    }

    #[test]
    fn payloads_for_which_it_makes_no_difference_go_through_the_ring() {
        let mut policy = SingleCopyPolicy::new(8 << 10, 512 << 10);
        assert!(run(&mut policy, 100_000, 1 << 20, 100_500, 100_000) < 1000);
    }

    #[test]
    fn one_long_interval_decides_nothing() {
        let mut policy = SingleCopyPolicy::new(8 << 10, 512 << 10);
        let slow = |n: u64, single_copy| {
            (single_copy, if single_copy { 500 } else { 1000 + u64::from(n == 20) * 50_000 })
        };
        assert!(run_of(&mut policy, 1000, 1 << 20, slow) > 900);
        let slow = |n: u64, single_copy| {
            (single_copy, if single_copy { 1000 } else { 500 + u64::from(n == 5) * 50_000 })
        };
        assert!(run_of(&mut policy, 1000, 300 << 10, slow) < 60);
    }

    #[test]
    fn a_program_that_does_something_else_is_noticed() {
        let mut policy = SingleCopyPolicy::new(8 << 10, 512 << 10);
        assert!(run(&mut policy, 50_000, 1 << 20, 500, 1000) < 500);
        assert!(run(&mut policy, 1000, 1 << 20, 1500, 500) > 800);
        assert!(run(&mut policy, 1000, 1 << 20, 500, 1000) < 200);
    }

    #[test]
    fn irregular_intervals_are_no_news_in_the_long_run() {
        let mut policy = SingleCopyPolicy::new(8 << 10, 512 << 10);
        let comes = |n: u64, single_copy| {
            (
                single_copy,
                if (n / 100).is_multiple_of(2) { 1000 } else { 100 }
                    * if single_copy { 2 } else { 1 },
            )
        };
        assert!(run_of(&mut policy, 100_000, 1 << 20, comes) < 2000);
    }

    #[test]
    fn a_ring_is_measured_when_it_is_warm() {
        let mut policy = SingleCopyPolicy::new(8 << 10, 512 << 10);
        // The first messages after single copies, up to once around the ring.
        let mut cold = 32;
        let mut comes = |_, single_copy| {
            cold = if single_copy { 32 } else { u64::saturating_sub(cold, 1) };
            (single_copy, if single_copy { 750 } else { 500 + 500 * cold.min(1) })
        };
        assert!(run_of(&mut policy, 10_000, 16 << 10, &mut comes) < 200);
    }

    #[test]
    fn a_writer_that_does_not_offer_is_asked_seldom() {
        let mut policy = SingleCopyPolicy::new(8 << 10, 512 << 10);
        assert!(run_of(&mut policy, 100_000, 1 << 20, |_, _| (false, 100)) < 5000);
    }

    #[test]
    fn classes_begin_behind_their_powers() {
        let class = |bytes| class_of(256 << 10, bytes);
        assert_eq!([class(1), class(256 << 10), class((256 << 10) + 1)], [0, 0, 0]);
        assert_eq!([class(512 << 10), class((512 << 10) + 1), class(1 << 20)], [0, 1, 1]);
        assert_eq!([class(u64::MAX), class(64 << 20)], [CLASSES - 1, 7]);
    }
}
