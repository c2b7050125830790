//! When which rank takes its next image: the policies of `--ckpt-policy`.
//!
//! | policy | who, and when |
//! | --- | --- |
//! | periodic | every rank on its own, an interval after the end of its last image |
//! | round-robin | one rank after the other, so that each has its turn within an interval |
//! | random | one rank at a time, drawn: good where nothing is known (mpich-v-2006 §3.3.1) |
//! | payload | one rank at a time, the one whose image frees most of the others' logs |
//! | young-daly | as periodic, by the interval that Young's formula gives for what was measured |
//!
//! Calling convention: call the methods with what happened ([`Scheduler::ended`],
//! [`Scheduler::committed`], …), then ask [`Scheduler::take_due`] and [`Scheduler::wave_is_due`]
//! for what is due. Queries never change state. The caller passes in time and the seed; nothing
//! waits.
//!
//! Guarantees:
//! - At most one image of a rank is under way.
//! - The interval counts from the *end* of the last transfer, so a slow store never queues images.
//! - Where the cost is bounded ([`Settings::cost_limit`]), the interval grows until images take no
//!   more than that part of the time, and until standbys wait for most of it. It is never shorter
//!   than what was set.
//! - The first images are spread over one interval, and at most `at_once_max` ranks stream at the
//!   same time. So not all ranks reach the store together.
//!
//! What a rank has received since its last image is what the logs of others hold for it. `payload`
//! therefore needs one counter of each rank.
//!
//! The machine runs in `ftmpi-checkpoint-scheduler`. [`scheduler_process`] has both ends of that
//! connection.

pub mod scheduler_process;

use crate::tuning::{
    IMAGE_PATIENCE, INTERVAL_MAX, INTERVAL_MIN, LIMITED_INTERVAL_MAX, OLD_COSTS, READINGS_APART,
};
use ftmpi_wire::Rank;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Who is next, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Policy {
    /// Every rank on its own.
    #[default]
    Periodic,
    /// One after the other.
    RoundRobin,
    /// One at a time, drawn from this seed.
    Random(u64),
    /// One at a time, the one whose image frees most.
    Payload,
    /// As periodic; the interval follows from the cost of images and the rate of failures.
    YoungDaly,
}

impl Policy {
    /// One rank at a time is chosen.
    fn chooses(self) -> bool {
        matches!(self, Self::RoundRobin | Self::Random(_) | Self::Payload)
    }
}

/// Settings of the scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// From the end of one image's transfer to the beginning of the next (seconds of wall clock).
    pub interval: Duration,
    /// Images in transfer at the same time, over the whole job.
    pub at_once_max: usize,
    /// Who is next.
    pub policy: Policy,
    /// Images may take so many thousandths of the time; the interval grows with their cost, up to
    /// [`LIMITED_INTERVAL_MAX`]. `young-daly` has its own rule.
    pub cost_limit: Option<u32>,
}

/// The scheduler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scheduler {
    settings: Settings,
    due: Vec<Duration>,
    /// Since when an image is under way.
    under_way: Vec<Option<Duration>>,
    /// When the next wave of each cluster is due, where images are taken in waves.
    wave_due: Vec<Duration>,
    /// When the next rank is chosen, where one is chosen.
    choice_due: Duration,
    /// Who was chosen last.
    last: Rank,
    /// What each rank has received, in all and at its last image.
    received: Vec<[u64; 2]>,
    random: u64,
    /// By how much an image holds up its rank, of late.
    cost: Option<Duration>,
    /// How long a standby reads its image, of late.
    reading: Option<Duration>,
    /// Failures of which each counts once, however many ranks it took.
    failures: u32,
    failed_at: Option<Duration>,
    /// Parts of the job of which each returns on its own after a failure: ranks, or clusters.
    parts: u32,
}

impl Scheduler {
    /// A scheduler for `size` ranks whose job starts at time zero: rank `r` is first due after
    /// `(r + 1) / size` of the interval.
    #[must_use]
    pub fn new(settings: Settings, size: u32) -> Self {
        let share = settings.interval / size.max(1);
        let random = match settings.policy {
            Policy::Random(seed) => seed | 1,
            _ => 1,
        };
        Self {
            settings,
            due: (0..size).map(|rank| settings.interval * (rank + 1) / size.max(1)).collect(),
            under_way: vec![None; size as usize],
            wave_due: vec![settings.interval],
            choice_due: share,
            last: Rank(size.saturating_sub(1)),
            received: vec![[0; 2]; size as usize],
            random,
            cost: None,
            reading: None,
            failures: 0,
            failed_at: None,
            parts: size.max(1),
        }
    }

    /// The ranks that should begin an image now, most overdue first; each counts as under way from
    /// here on. `ready` says which can (alive, past `MPI_Init`, able to be captured).
    pub fn take_due(&mut self, now: Duration, ready: impl Fn(Rank) -> bool) -> Vec<Rank> {
        let busy =
            self.under_way.iter().flatten().filter(|since| now < **since + IMAGE_PATIENCE).count();
        let mut ranks: Vec<Rank> = (0..self.due.len() as u32)
            .map(Rank)
            .filter(|rank| self.under_way[rank.index()].is_none() && ready(*rank))
            .collect();
        if self.settings.policy.chooses() {
            ranks = self.choose(now, busy, &ranks).into_iter().collect();
        } else {
            ranks.retain(|rank| self.due[rank.index()] <= now);
            ranks.sort_by_key(|rank| (self.due[rank.index()], *rank));
            ranks.truncate(self.settings.at_once_max.saturating_sub(busy));
        }
        for rank in &ranks {
            self.begun(now, *rank);
        }
        ranks
    }

    /// An image of this rank is under way.
    fn begun(&mut self, now: Duration, rank: Rank) {
        self.under_way[rank.index()] = Some(now);
        self.last = rank;
    }

    fn choose(&mut self, now: Duration, busy: usize, ranks: &[Rank]) -> Option<Rank> {
        if now < self.choice_due || busy > 0 || ranks.is_empty() {
            return None;
        }
        let size = self.due.len() as u32;
        let chosen = match self.settings.policy {
            Policy::Payload => {
                // Among equals the one that waits longest.
                let age = |rank: Rank| (rank.0 + size - self.last.0 - 1) % size;
                ranks.iter().copied().max_by_key(|rank| (self.frees(*rank), size - age(*rank)))?
            }
            Policy::Random(_) => {
                self.random ^= self.random << 13;
                self.random ^= self.random >> 7;
                self.random ^= self.random << 17;
                ranks[(self.random >> 11) as usize % ranks.len()]
            }
            _ => {
                let after = ranks.iter().copied().find(|rank| *rank > self.last);
                after.unwrap_or(ranks[0])
            }
        };
        Some(chosen)
    }

    /// Bytes that an image of this rank lets the others' logs forget.
    fn frees(&self, rank: Rank) -> u64 {
        let [now, at_image] = self.received[rank.index()];
        now.saturating_sub(at_image)
    }

    /// The transfer of this rank's image is over, well or badly, or its incarnation ended.
    pub fn ended(&mut self, now: Duration, rank: Rank) {
        self.under_way[rank.index()] = None;
        let interval = self.interval(now);
        self.due[rank.index()] = now + interval;
        self.choice_due = now + interval / self.due.len().max(1) as u32;
    }

    /// This rank's image is durable.
    pub fn committed(&mut self, rank: Rank) {
        let [received, at_image] = &mut self.received[rank.index()];
        *at_image = *received;
    }

    /// What this rank has received in all.
    pub fn received(&mut self, rank: Rank, bytes: u64) {
        if let Some([received, at_image]) = self.received.get_mut(rank.index()) {
            *received = bytes;
            // A later incarnation counts from its image on.
            *at_image = bytes.min(*at_image);
        }
    }

    /// An image held up its rank for so long: it stood still, and what the image takes of the
    /// processors was missing to the rank. The costs of late count most.
    pub fn costs(&mut self, cost: Duration) {
        self.cost = Some(averaged(self.cost, cost));
    }

    /// A standby has read its image for so long, and is ready.
    pub fn read(&mut self, time: Duration) {
        self.reading = Some(averaged(self.reading, time));
    }

    /// Something failed that images are there for. Ranks that fail at the same moment went with one
    /// host.
    pub fn failed(&mut self, now: Duration) {
        if self.failed_at != Some(now) {
            self.failures += 1;
            self.failed_at = Some(now);
        }
    }

    /// The time between images: as set, or longer where their cost is bounded, or √(2 · cost of an
    /// image · time between failures of what returns together). A rank that returns alone fails
    /// more seldom than the job, so its images may be as much further apart: n ranks then stop a
    /// coupled program n times an interval. The number of failures counts one more than was seen,
    /// so a job without failures takes ever fewer images.
    ///
    /// (Young, CACM 17(9), 1974; Daly, FGCS 22(3), 2006.)
    #[must_use]
    pub fn interval(&self, now: Duration) -> Duration {
        if self.settings.policy != Policy::YoungDaly {
            let Some(limit) = self.settings.cost_limit else { return self.settings.interval };
            let cost = self.cost.unwrap_or_default().as_secs_f64();
            // Each part of the job holds up the others in its turn.
            let least = cost * f64::from(self.parts) * 1000.0 / f64::from(limit.max(1));
            let least = Duration::try_from_secs_f64(least).unwrap_or(LIMITED_INTERVAL_MAX);
            let least = least.max(self.reading.unwrap_or_default() * READINGS_APART);
            return self.settings.interval.max(least.min(LIMITED_INTERVAL_MAX));
        }
        let Some(cost) = self.cost else { return self.settings.interval };
        let cost = cost.as_secs_f64();
        let between = now.as_secs_f64() * f64::from(self.parts) / f64::from(self.failures + 1);
        let best = Duration::try_from_secs_f64((2.0 * cost * between).sqrt());
        best.unwrap_or(INTERVAL_MAX).clamp(INTERVAL_MIN, INTERVAL_MAX)
    }

    /// Every rank's next image is due at once: logs are to be cut.
    pub fn hasten(&mut self, now: Duration) {
        for due in &mut self.due {
            *due = now.min(*due);
        }
        for due in &mut self.wave_due {
            *due = now.min(*due);
        }
        self.choice_due = now.min(self.choice_due);
    }

    /// So many clusters take images in waves of their own; their first ones are spread over one
    /// interval.
    #[must_use]
    pub fn with_clusters(mut self, clusters: usize) -> Self {
        let count = clusters.max(1) as u32;
        if clusters > 0 {
            self.parts = count;
        }
        self.wave_due = (1..=count).map(|nth| self.settings.interval * nth / count).collect();
        self
    }

    /// So many ranks have joined the job, and so many clusters: their first images are due after
    /// one interval.
    pub fn grow(&mut self, now: Duration, ranks: u32, clusters: u32) {
        let first = now + self.interval(now);
        let size = self.due.len() + ranks as usize;
        self.due.resize(size, first);
        self.under_way.resize(size, None);
        self.received.resize(size, [0; 2]);
        self.wave_due.resize(self.wave_due.len() + clusters as usize, first);
        self.parts += if clusters > 0 { clusters } else { ranks };
    }

    /// The next wave of this cluster is due at once.
    pub fn hasten_wave(&mut self, now: Duration, cluster: usize) {
        let due = &mut self.wave_due[cluster];
        *due = now.min(*due);
    }

    /// Should a wave of this cluster begin now?
    #[must_use]
    pub fn wave_is_due(&self, now: Duration, cluster: usize) -> bool {
        now >= self.wave_due[cluster]
    }

    /// A wave of this cluster is over, well or badly: the interval counts from here.
    pub fn wave_ended(&mut self, now: Duration, cluster: usize) {
        self.wave_due[cluster] = now + self.interval(now);
    }

    /// This rank's next image is due at once.
    pub fn hasten_one(&mut self, now: Duration, rank: Rank) {
        let due = &mut self.due[rank.index()];
        *due = now.min(*due);
        self.choice_due = now.min(self.choice_due);
    }

    /// Whether an image of this rank is under way.
    #[must_use]
    pub fn is_under_way(&self, rank: Rank) -> bool {
        self.under_way.get(rank.index()).is_some_and(Option::is_some)
    }
}

/// A mean in which what was measured of late counts most.
fn averaged(old: Option<Duration>, new: Duration) -> Duration {
    (old.unwrap_or(new) * (OLD_COSTS - 1) + new) / OLD_COSTS
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    fn scheduler(policy: Policy, size: u32) -> Scheduler {
        Scheduler::new(Settings { interval: 4 * S, at_once_max: 8, policy, cost_limit: None }, size)
    }

    #[test]
    fn first_images_are_spread_and_the_interval_counts_from_the_end() {
        let mut scheduler = scheduler(Policy::Periodic, 4);
        assert_eq!(scheduler.take_due(S / 2, |_| true), vec![]);
        assert_eq!(scheduler.take_due(S, |_| true), vec![Rank(0)]);
        assert_eq!(scheduler.take_due(2 * S, |_| true), vec![Rank(1)]);
        scheduler.ended(3 * S, Rank(0));
        assert_eq!(scheduler.take_due(6 * S, |_| true), vec![Rank(2), Rank(3)]);
        assert_eq!(scheduler.take_due(7 * S, |_| true), vec![Rank(0)]);
        assert!(scheduler.is_under_way(Rank(1)), "no second image before the first has ended");
    }

    #[test]
    fn ranks_that_join_take_their_first_image_after_an_interval() {
        let mut scheduler = scheduler(Policy::Periodic, 1).with_clusters(1);
        scheduler.grow(S, 1, 1);
        assert_eq!(scheduler.take_due(4 * S, |_| true), vec![Rank(0)]);
        assert_eq!(scheduler.take_due(5 * S, |_| true), vec![Rank(1)]);
        assert!(!scheduler.wave_is_due(4 * S, 1) && scheduler.wave_is_due(5 * S, 1));
    }

    #[test]
    fn no_more_than_allowed_at_once_and_the_longest_waiting_first() {
        let settings =
            Settings { interval: S, at_once_max: 2, policy: Policy::Periodic, cost_limit: None };
        let mut scheduler = Scheduler::new(settings, 4);
        assert_eq!(scheduler.take_due(9 * S, |rank| rank != Rank(0)), vec![Rank(1), Rank(2)]);
        assert_eq!(scheduler.take_due(9 * S, |_| true), vec![]);
        scheduler.ended(9 * S, Rank(1));
        assert_eq!(scheduler.take_due(9 * S, |_| true), vec![Rank(0)]);
        assert_eq!(scheduler.take_due(9 * S + IMAGE_PATIENCE, |_| true), vec![Rank(3), Rank(1)]);
    }

    /// Who is chosen when each image takes half a second.
    fn chosen(scheduler: &mut Scheduler, count: usize, ready: impl Fn(Rank) -> bool) -> Vec<u32> {
        let mut order = Vec::new();
        let mut now = Duration::ZERO;
        while order.len() < count {
            now += S / 4;
            for rank in scheduler.take_due(now, &ready) {
                order.push(rank.0);
                assert!(scheduler.take_due(now + 3 * S, &ready).is_empty(), "one at a time");
                scheduler.committed(rank);
                scheduler.ended(now + S / 2, rank);
            }
        }
        order
    }

    #[test]
    fn round_robin_gives_everybody_a_turn_and_passes_over_who_cannot() {
        assert_eq!(
            chosen(&mut scheduler(Policy::RoundRobin, 3), 7, |_| true),
            [0, 1, 2, 0, 1, 2, 0]
        );
        let order = chosen(&mut scheduler(Policy::RoundRobin, 3), 4, |rank| rank != Rank(1));
        assert_eq!(order, [0, 2, 0, 2]);
    }

    #[test]
    fn random_draws_everybody_and_the_same_from_the_same_seed() {
        let draw = |seed| chosen(&mut scheduler(Policy::Random(seed), 4), 60, |_| true);
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        for rank in 0..4 {
            let count = draw(7).into_iter().filter(|drawn| *drawn == rank).count();
            assert!((5..30).contains(&count), "rank {rank} was drawn {count} times of 60");
        }
    }

    #[test]
    fn payload_takes_who_has_received_most_since_its_image() {
        let mut scheduler = scheduler(Policy::Payload, 3);
        scheduler.received(Rank(1), 500);
        scheduler.received(Rank(2), 900);
        scheduler.received(Rank(0), 100);
        assert_eq!(chosen(&mut scheduler, 3, |_| true), [2, 1, 0]);
        scheduler.received(Rank(2), 950);
        scheduler.received(Rank(1), 501);
        // A new incarnation from an image counts from what it had then.
        scheduler.received(Rank(0), 0);
        scheduler.received(Rank(0), 30);
        scheduler.choice_due = Duration::ZERO;
        assert_eq!(chosen(&mut scheduler, 2, |_| true), [2, 0]);
    }

    #[test]
    fn clusters_have_waves_of_their_own_spread_over_the_interval() {
        let mut scheduler = scheduler(Policy::Periodic, 8).with_clusters(4);
        let due = |s: &Scheduler, at: u32| -> Vec<bool> {
            (0..4).map(|cluster| s.wave_is_due(at * S, cluster)).collect()
        };
        assert_eq!(due(&scheduler, 2), [true, true, false, false]);
        scheduler.wave_ended(2 * S, 0);
        assert_eq!(due(&scheduler, 5), [false, true, true, true]);
        scheduler.hasten(3 * S);
        assert_eq!(due(&scheduler, 3), [true; 4]);
    }

    #[test]
    fn the_interval_of_young_follows_cost_and_failures() {
        let mut scheduler = scheduler(Policy::YoungDaly, 2).with_clusters(1);
        assert_eq!(scheduler.interval(500 * S), 4 * S, "nothing is measured yet");
        scheduler.costs(2 * S);
        // √(2 · 2 s · 10 000 s)
        assert_eq!(scheduler.interval(10_000 * S), 200 * S);
        (0..3).for_each(|second| scheduler.failed(second * S));
        assert_eq!(scheduler.interval(10_000 * S), 100 * S);
        assert_eq!(scheduler.interval(Duration::ZERO), INTERVAL_MIN);
        scheduler.wave_ended(10_000 * S, 0);
        assert!(!scheduler.wave_is_due(10_099 * S, 0) && scheduler.wave_is_due(10_100 * S, 0));
    }

    #[test]
    fn a_lost_host_is_one_failure() {
        let mut scheduler = scheduler(Policy::YoungDaly, 8).with_clusters(1);
        scheduler.costs(2 * S);
        (0..8).for_each(|_| scheduler.failed(5000 * S));
        (0..8).for_each(|_| scheduler.failed(7000 * S));
        // √(2 · 2 s · 10 000 s / 3)
        assert_eq!(scheduler.interval(10_000 * S).as_secs(), 115);
    }

    #[test]
    fn ranks_that_return_alone_take_fewer_images_than_ranks_that_return_together() {
        let mut alone = scheduler(Policy::YoungDaly, 16);
        let mut clusters = scheduler(Policy::YoungDaly, 16).with_clusters(4);
        for scheduler in [&mut alone, &mut clusters] {
            scheduler.costs(S / 2);
        }
        // √(2 · 0.5 s · 1600 s · 16), √(2 · 0.5 s · 1600 s · 4)
        assert_eq!(alone.interval(1600 * S), 160 * S);
        assert_eq!(clusters.interval(1600 * S), 80 * S);
    }

    fn bounded(size: u32) -> Scheduler {
        let policy = Policy::Periodic;
        Scheduler::new(
            Settings { interval: 30 * S, at_once_max: 8, policy, cost_limit: Some(20) },
            size,
        )
    }

    #[test]
    fn where_the_cost_is_bounded_dear_images_come_less_often() {
        let mut scheduler = bounded(4).with_clusters(1);
        assert_eq!(scheduler.interval(S), 30 * S, "nothing is measured yet");
        scheduler.costs(S / 10);
        assert_eq!(scheduler.interval(S), 30 * S, "cheap images come as set");
        let mut dear = bounded(4).with_clusters(1);
        dear.costs(2 * S);
        // 2 s are two hundredths of 100 s.
        assert_eq!(dear.interval(S), 100 * S);
        dear.wave_ended(50 * S, 0);
        assert!(!dear.wave_is_due(149 * S, 0) && dear.wave_is_due(150 * S, 0));
        dear.costs(1000 * S);
        assert_eq!(dear.interval(S), LIMITED_INTERVAL_MAX, "a failure must not cost hours");
    }

    #[test]
    fn parts_of_the_job_share_the_bound_and_old_costs_fade() {
        let mut scheduler = bounded(8).with_clusters(4);
        scheduler.costs(S / 2);
        assert_eq!(scheduler.interval(S), 100 * S);
        (0..200).for_each(|_| scheduler.costs(S / 100));
        assert_eq!(scheduler.interval(S), 30 * S, "the program uses less memory now");
    }

    #[test]
    fn where_the_cost_is_bounded_standbys_wait_for_most_of_the_time() {
        let mut bounded = bounded(4);
        bounded.read(S / 10);
        assert_eq!(bounded.interval(S), 30 * S);
        (0..200).for_each(|_| bounded.read(10 * S));
        assert!(bounded.interval(S) > 49 * S && bounded.interval(S) <= 50 * S);
        let mut as_set = scheduler(Policy::Periodic, 4);
        as_set.read(10 * S);
        assert_eq!(as_set.interval(S), 4 * S);
    }
}
