//! The last lines of a job: what it survived, what that and its protection cost, and what would
//! cost less.
//!
//! Advice follows Young (1974) from what was measured, as the policy `young-daly` does: the cost of
//! an image is the time for which it stops its rank. The time between failures of what returns
//! together (a rank, a cluster, the job) is the time of the job times the number of these parts,
//! divided by one more than the failures that were seen. An interval T costs a share `cost/T` of
//! the time for images, and `T/2` for each failure.

use super::Recorder;
use super::losses::{Loss, losses, together};
use crate::cli::Plan;
use crate::history::History;
use crate::text::{count, option_time, percent, size, time};
use crate::tuning::batch_log::{FAILURES_NAMED, IMAGES_OF_RANK_MIN, WORTH_SAVING};
use ftmpi_protocols::dispatcher::Dispatcher;
use ftmpi_protocols::scheduler::Policy;
use std::collections::BTreeSet;
use std::time::Duration;

/// A failure in the last lines.
#[derive(Debug, Clone, PartialEq)]
pub struct Failed {
    rank: u32,
    at: Duration,
    loss: Option<Loss>,
}

/// What the last lines tell.
#[derive(Debug, Clone)]
pub struct Summary {
    wall: Duration,
    /// The job ended with exit code 0.
    well: bool,
    ranks: usize,
    failures: Vec<Failed>,
    servers_restarted: u32,
    images: u64,
    images_lost: u64,
    image_bytes: u64,
    /// Time that ranks stood still for images, and how often.
    paused: Duration,
    pauses: u64,
    /// The interval of images, and whether it followed from what was measured. None: no images.
    interval: Option<(Duration, bool)>,
    /// Parts of the job of which each returns on its own: ranks, or clusters.
    parts: usize,
    /// Failures of which each counts once, however many ranks a host took along.
    distinct: u32,
    /// How often full sender logs asked for images.
    logs_full: u64,
}

impl Summary {
    /// Of a job that has run for so long.
    pub fn new(
        plan: &Plan,
        (recorder, history): (&Recorder, &History),
        dispatcher: &Dispatcher,
        wall: Duration,
        code: i32,
    ) -> Self {
        let failures = dispatcher.failures();
        let mut moments: Vec<Duration> = failures.iter().map(|failure| failure.at).collect();
        moments.dedup();
        let failed = failures.iter().zip(losses(failures, history, recorder));
        Self {
            wall,
            well: code == 0,
            ranks: plan.placement.len(),
            failures: failed
                .map(|(failure, loss)| Failed { rank: failure.rank.0, at: failure.at, loss })
                .collect(),
            servers_restarted: recorder.servers_failed,
            images: recorder.images(),
            images_lost: recorder.images_failed,
            image_bytes: recorder.image_bytes,
            paused: Duration::from_nanos(recorder.pauses.total),
            pauses: recorder.pauses.count,
            interval: plan
                .ckpt_interval
                .map(|interval| (interval, finds_interval(plan, dispatcher, interval))),
            parts: recorder.clusters.as_ref().map_or(plan.placement.len(), |clusters| {
                clusters.iter().collect::<BTreeSet<_>>().len()
            }),
            distinct: moments.len() as u32,
            logs_full: recorder.logs_full,
        }
    }

    /// Whether anything failed that the user should hear of at the end.
    pub fn tells_of_failures(&self) -> bool {
        !self.failures.is_empty() || self.servers_restarted > 0
    }

    /// The lines.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.failed()];
        if self.interval.is_some() {
            lines.push(self.protection());
        }
        lines.extend(self.advice());
        lines.into_iter().map(|line| format!("summary: {line}")).collect()
    }

    fn failed(&self) -> String {
        let wall = time(self.wall);
        let servers = match self.servers_restarted {
            0 => String::new(),
            number => format!(", {} of servers", count(number, "restart")),
        };
        if self.failures.is_empty() {
            return format!("no rank failed in {wall}{servers}");
        }
        let survived = if self.well { "survived" } else { "seen" };
        let failures = count(self.failures.len() as u64, "failure");
        let lost = together(self.failures.iter().filter_map(|failed| failed.loss));
        let mut named: Vec<String> =
            self.failures.iter().take(FAILURES_NAMED).map(Failed::text).collect();
        let more = self.failures.len() - named.len();
        if more > 0 {
            named.push(format!("and {more} more"));
        }
        format!(
            "{failures} {survived} in {wall}{servers}; {} lost to {}: {}",
            time(lost),
            if self.failures.len() == 1 { "it" } else { "them" },
            named.join(", ")
        )
    }

    /// The part of the time of all ranks in which images stopped them.
    fn paused_share(&self) -> f64 {
        let all = self.wall.as_secs_f64() * self.ranks as f64;
        if all > 0.0 { self.paused.as_secs_f64() / all } else { 0.0 }
    }

    fn cost(&self) -> Duration {
        self.paused / u32::try_from(self.pauses.max(1)).unwrap_or(u32::MAX)
    }

    fn protection(&self) -> String {
        if self.images == 0 {
            let lost = match (self.images_lost, self.pauses) {
                (0, 0) => "the first was not due before the end".to_owned(),
                (0, _) => "the first was not stored before the end".to_owned(),
                (lost, _) => format!("{} lost", count(lost, "image")),
            };
            return format!("no image was stored: {lost}");
        }
        let lost = match self.images_lost {
            0 => String::new(),
            lost => format!(", {lost} lost"),
        };
        format!(
            "{} stored ({}){lost}; each stopped its rank for {}, which is {} of the time",
            count(self.images, "image"),
            size(self.image_bytes),
            time(self.cost()),
            percent(self.paused_share())
        )
    }

    /// The mean time between two images of a rank.
    fn actual_interval(&self) -> Duration {
        let of_rank = self.pauses as f64 / self.ranks.max(1) as f64;
        Duration::try_from_secs_f64(self.wall.as_secs_f64() / of_rank).unwrap_or(Duration::MAX)
    }

    /// The share of the time that images every `interval` cost, and failures.
    fn share(&self, interval: Duration, between: Duration) -> f64 {
        let images = self.cost().as_secs_f64() / interval.as_secs_f64();
        images + interval.as_secs_f64() / 2.0 / between.as_secs_f64()
    }

    fn advice(&self) -> Option<String> {
        let (set, by_itself) = self.interval?;
        if by_itself || self.pauses < IMAGES_OF_RANK_MIN * self.ranks as u64 {
            return None;
        }
        let actual = self.actual_interval();
        if self.logs_full > 0 && actual < set / 2 {
            return Some(format!(
                "sender logs filled up {} and asked for images: they came every {} instead of \
                 every {}; --log-limit gives the logs more room",
                count(self.logs_full, "time"),
                time(actual),
                option_time(set)
            ));
        }
        let parts = u32::try_from(self.parts.max(1)).unwrap_or(u32::MAX);
        let between = (self.wall / (self.distinct + 1)).saturating_mul(parts);
        let best = round(young(self.cost(), between));
        let saved = self.share(set, between) - self.share(best, between);
        if saved < WORTH_SAVING || (best < set && self.distinct == 0) {
            return None;
        }
        let whose = match self.parts {
            1 => "all ranks",
            parts if parts == self.ranks => "its rank",
            _ => "its cluster",
        };
        Some(format!(
            "with the failures of this job, images every {} cost {} of the time; --ckpt-interval {} \
             would cost {}, and a failure would lose at most {} of the work of {whose}",
            option_time(set),
            percent(self.share(set, between)),
            option_time(best),
            percent(self.share(best, between)),
            option_time(best)
        ))
    }
}

impl Failed {
    fn text(&self) -> String {
        let lost = self.loss.map_or("never back".to_owned(), |loss| time(loss.length()));
        format!("rank {} at {} {lost}", self.rank, time(self.at))
    }
}

/// Whether the interval of this job followed from what was measured.
fn finds_interval(plan: &Plan, dispatcher: &Dispatcher, set: Duration) -> bool {
    let is_longer = dispatcher.image_interval().is_some_and(|interval| interval > set);
    plan.ckpt_policy == Policy::YoungDaly || (plan.image_cost_limit.is_some() && is_longer)
}

/// √(2 · cost of an image · time between two failures).
fn young(cost: Duration, between: Duration) -> Duration {
    let best = (2.0 * cost.as_secs_f64() * between.as_secs_f64()).sqrt();
    Duration::try_from_secs_f64(best).unwrap_or(Duration::MAX)
}

/// The time below this one that people would write.
fn round(interval: Duration) -> Duration {
    const SECONDS: [u64; 17] =
        [2, 5, 10, 15, 20, 30, 45, 60, 120, 180, 300, 600, 900, 1200, 1800, 3600, 7200];
    let below = SECONDS.iter().rev().find(|seconds| interval >= Duration::from_secs(**seconds));
    Duration::from_secs(below.copied().unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    /// Four ranks for 1000 s, with an image of each every 5 s that stops it for 0.2 s.
    fn summary() -> Summary {
        Summary {
            wall: 1000 * S,
            well: true,
            ranks: 4,
            failures: Vec::new(),
            servers_restarted: 0,
            images: 800,
            images_lost: 0,
            image_bytes: 40_000_000,
            paused: 160 * S,
            pauses: 800,
            interval: Some((5 * S, false)),
            parts: 1,
            distinct: 0,
            logs_full: 0,
        }
    }

    fn failed(rank: u32, at: u32, to: u32) -> Failed {
        Failed { rank, at: at * S, loss: Some(Loss { from: at * S, to: to * S }) }
    }

    #[test]
    fn a_job_without_failures_says_what_its_protection_cost() {
        let lines = summary().lines();
        assert_eq!(lines[0], "summary: no rank failed in 16 m 40 s");
        assert_eq!(
            lines[1],
            "summary: 800 images stored (40 MB); each stopped its rank for 0.20 s, which is 4.0 % \
             of the time"
        );
        // √(2 · 0.2 · 1000) = 20
        assert!(lines[2].contains("--ckpt-interval 20s would cost 2.0 %"), "{}", lines[2]);
        assert!(!summary().tells_of_failures());
    }

    #[test]
    fn failures_are_named_with_what_each_cost_and_overlaps_count_once() {
        let failures = vec![failed(2, 100, 103), failed(1, 102, 104)];
        let mut summary = Summary { failures, servers_restarted: 1, ..summary() };
        assert_eq!(
            summary.lines()[0],
            "summary: 2 failures survived in 16 m 40 s, 1 restart of servers; 4.00 s lost to them: \
             rank 2 at 1 m 40 s 3.00 s, rank 1 at 1 m 42 s 2.00 s"
        );
        summary.failures = (0..9).map(|rank| failed(rank, 10, 11)).collect();
        summary.failures[0].loss = None;
        summary.well = false;
        let line = &summary.lines()[0];
        assert!(line.starts_with("summary: 9 failures seen in") && line.ends_with("and 4 more"));
        assert!(line.contains("rank 0 at 10.0 s never back"), "{line}");
    }

    #[test]
    fn advice_is_given_where_it_is_worth_it_and_known() {
        let advice = |change: fn(&mut Summary)| {
            let mut summary = summary();
            change(&mut summary);
            summary.advice()
        };
        assert!(advice(|_| ()).is_some());
        assert_eq!(advice(|s| s.interval = Some((20 * S, false))), None, "it is best already");
        assert_eq!(advice(|s| s.interval = Some((5 * S, true))), None, "young-daly");
        assert_eq!(advice(|s| (s.pauses, s.paused) = (11, 11 * S)), None, "too few images");
        assert_eq!(advice(|s| s.interval = Some((300 * S, false))), None, "nothing failed");
        let shorter = advice(|s| {
            s.interval = Some((300 * S, false));
            s.distinct = 4;
        });
        // √(2 · 0.2 · 200) = 9
        let shorter = shorter.unwrap();
        assert!(shorter.contains("--ckpt-interval 5s") && shorter.contains("of all ranks"));
        let alone = advice(|s| s.parts = 4).unwrap();
        // √(2 · 0.2 · 4000) = 40
        assert!(alone.contains("--ckpt-interval 30s") && alone.contains("of its rank"), "{alone}");
        let full = advice(|s| (s.logs_full, s.interval) = (7, Some((60 * S, false))));
        assert!(full.unwrap().contains("every 5.00 s instead of every 1m; --log-limit"));
    }

    #[test]
    fn intervals_are_rounded_down_to_what_people_write() {
        let rounded = [0.3, 4.9, 9.0, 119.0, 1e6].map(|at| round(Duration::from_secs_f64(at)));
        assert_eq!(rounded, [S, 2 * S, 5 * S, 60 * S, 7200 * S]);
    }
}
