//! What a job says where nobody watches it: what protects it, a line from time to time, and a
//! summary at its end if it lasted for a minute.
//!
//! A job speaks if it has `-v` or `--job-dir`, or runs in a batch system. Other jobs are as silent
//! as under other launchers until something fails. `--progress` decides about the lines in between.

use super::Launcher;
use crate::cli::Plan;
use crate::report::summary::Summary;
use crate::text::{count, option_time, percent, size, time};
use crate::tuning::batch_log::{INTERVAL, SUMMARY_FROM};
use ftmpi_protocols::scheduler::Policy;
use std::io::IsTerminal;
use std::time::Duration;

/// When the next line about the job is due.
#[derive(Debug)]
pub struct BatchLog {
    every: Option<Duration>,
    due: Duration,
    /// The longest interval of images that was told.
    interval_told: Duration,
}

impl BatchLog {
    /// Of a job that begins.
    pub fn new(plan: &Plan) -> Self {
        Self::with(plan.progress, speaks(plan), std::io::stderr().is_terminal())
    }

    /// `asked`: the option; zero means never. A terminal has a live line.
    fn with(asked: Option<Duration>, speaks: bool, terminal: bool) -> Self {
        let every = match asked {
            Some(every) => Some(every).filter(|every| !every.is_zero()),
            None => (speaks && !terminal).then_some(INTERVAL),
        };
        let due = every.unwrap_or(Duration::MAX);
        Self { every, due, interval_told: Duration::ZERO }
    }

    /// Whether a line is due. The next one is due an interval later.
    fn take_due(&mut self, now: Duration) -> bool {
        let Some(every) = self.every.filter(|_| now >= self.due) else { return false };
        // A launcher that was stopped does not catch up on its lines.
        self.due = now + every;
        true
    }
}

/// Whether this job says what protects it.
pub fn speaks(plan: &Plan) -> bool {
    plan.verbose || plan.job_dir.is_some() || plan.in_batch_system
}

/// What protects this job, and how often.
pub fn protection(plan: &Plan) -> String {
    let name = &plan.protocol.name;
    if !plan.traits.is_fault_tolerant() {
        return match plan.recovery.ignores() {
            true => "protection: none; the others go on without a rank that dies".to_owned(),
            false => format!("protection: none; a rank that dies ends the job (--protocol {name})"),
        };
    }
    let clusters = plan.clusters.as_ref().map(|of| {
        let mut names = of.clone();
        names.sort_unstable();
        names.dedup();
        names.len()
    });
    let Some(interval) = plan.ckpt_interval else {
        let who = match clusters {
            None => "a rank that dies is restarted alone, from the start of the program",
            Some(1) => "after a death all ranks begin again",
            Some(_) => "after a death the ranks of its cluster begin again",
        };
        return format!("protection: {name}, without images (--ckpt off); {who}");
    };
    let who = match clusters {
        None if plan.standbys.contains(&true) => {
            "a rank that dies goes on in its standby, or is restarted alone"
        }
        None => "a rank that dies is restarted alone",
        Some(1) => "after a death all ranks return to the last wave",
        Some(_) => "after a death the ranks of its cluster return to their last wave",
    };
    let what = if clusters.is_some() { "a wave of images" } else { "an image of each rank" };
    let often = match plan.ckpt_policy {
        Policy::YoungDaly => {
            format!("first after {}, then as costs and failures ask for", option_time(interval))
        }
        _ => {
            let less = plan.image_cost_limit.map_or(String::new(), |limit| {
                format!(", or less often so that they cost at most {}", percent(thousandths(limit)))
            });
            format!("every {}{less}", option_time(interval))
        }
    };
    format!(
        "protection: {name}, {what} {often}; {who}, at most {} in all (--max-restarts)",
        count(plan.max_restarts, "restart")
    )
}

fn thousandths(number: u32) -> f64 {
    f64::from(number) / 1000.0
}

/// What a line in between tells.
#[derive(Debug)]
struct Progress {
    now: Duration,
    running: usize,
    ranks: usize,
    images: u64,
    bytes: u64,
    failures: usize,
    recovered: usize,
    servers: u32,
}

impl Progress {
    fn line(&self) -> String {
        let failed = match (self.failures, self.failures - self.recovered) {
            (0, _) => "no failure".to_owned(),
            (failures, 0) => format!("{}, all recovered", count(failures, "failure")),
            (failures, open) => format!("{}, {open} not recovered yet", count(failures, "failure")),
        };
        let servers = match self.servers {
            0 => String::new(),
            number => format!(", {} of servers", count(number, "restart")),
        };
        format!(
            "{}: {} of {} running, {} ({}), {failed}{servers}",
            time(self.now),
            self.running,
            count(self.ranks, "rank"),
            count(self.images, "image"),
            size(self.bytes)
        )
    }
}

impl Launcher {
    /// Prints a line about the job, if one is due.
    pub(super) fn look_at_batch_log(&mut self) {
        let now = self.now();
        if !self.batch_log.take_due(now) {
            return;
        }
        let failures = self.dispatcher.failures();
        let line = Progress {
            now,
            running: self.recorder.running(),
            ranks: self.plan.placement.len(),
            images: self.recorder.images(),
            bytes: self.recorder.image_bytes(),
            failures: failures.len(),
            recovered: failures.iter().filter(|failure| failure.caught_up_at.is_some()).count(),
            servers: self.recorder.servers_restarted(),
        };
        self.printer.notice(line.line());
    }

    /// Tells once that images come much less often than set, because they cost much.
    pub(super) fn tell_interval(&mut self) {
        let (Some(set), Some(limit)) = (self.plan.ckpt_interval, self.plan.image_cost_limit) else {
            return;
        };
        let interval = self.dispatcher.image_interval().unwrap_or(set);
        if !speaks(&self.plan) || interval < 2 * set.max(self.batch_log.interval_told) {
            return;
        }
        self.batch_log.interval_told = interval;
        self.printer.notice(format!(
            "images are dear here: each rank has one every {} from now on, which costs {} of the \
             time at most (--ckpt-interval {} keeps to the interval)",
            option_time(Duration::from_secs(interval.as_secs())),
            percent(thousandths(limit)),
            option_time(set)
        ));
    }

    /// Prints what the job survived and what that cost: where something failed, where the user
    /// asked, and after a job that nobody watched for a minute.
    pub(super) fn print_summary(&self, wall: Duration, code: i32) {
        if !self.plan.traits.is_fault_tolerant() || !self.run.started {
            return;
        }
        let known = (&self.recorder, &self.history);
        let summary = Summary::new(&self.plan, known, &self.dispatcher, wall, code);
        let asked = self.plan.verbose || self.plan.progress.is_some();
        let unwatched = speaks(&self.plan) && wall >= SUMMARY_FROM;
        if summary.tells_of_failures() || asked || unwatched {
            for line in summary.lines() {
                self.printer.notice(line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn lines_come_where_nobody_watches_and_as_the_option_says() {
        let due = |asked, speaks, terminal, at: u32| {
            BatchLog::with(asked, speaks, terminal).take_due(at * S)
        };
        assert!(!due(None, true, false, 599) && due(None, true, false, 600));
        assert!(!due(None, true, true, 6000), "a terminal has a live line");
        assert!(!due(None, false, false, 6000), "a job without a word");
        assert!(due(Some(2 * S), false, true, 2));
        assert!(!due(Some(Duration::ZERO), true, false, 6000));
    }

    #[test]
    fn there_is_one_line_an_interval_at_most() {
        let mut log = BatchLog::with(Some(10 * S), true, false);
        let due: Vec<u32> = (0..60).filter(|at| log.take_due(*at * S)).collect();
        assert_eq!(due, [10, 20, 30, 40, 50]);
        assert!(log.take_due(500 * S) && !log.take_due(509 * S), "it does not catch up");
    }

    #[test]
    fn a_line_tells_how_far_recoveries_are() {
        let progress = Progress {
            now: 600 * S,
            running: 4,
            ranks: 4,
            images: 80,
            bytes: 1_200_000_000,
            failures: 0,
            recovered: 0,
            servers: 0,
        };
        let begin = "10 m 00 s: 4 of 4 ranks running, 80 images (1.2 GB), ";
        assert_eq!(progress.line(), format!("{begin}no failure"));
        let progress = Progress { failures: 2, recovered: 1, servers: 1, ..progress };
        let end = "2 failures, 1 not recovered yet, 1 restart of servers";
        assert_eq!(progress.line(), format!("{begin}{end}"));
        let progress = Progress { recovered: 2, servers: 0, ..progress };
        assert_eq!(progress.line(), format!("{begin}2 failures, all recovered"));
    }
}
