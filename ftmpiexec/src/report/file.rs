//! The files of `--report`: JSON, or a page to look at (`.html`).
//!
//! The file has the fields of [`RunReport`], which are also those of `--metrics`, and what only a
//! whole run has: the history, the time of all ranks, and how the job was started. Values of
//! variables and arguments of programs are not in it: they may be secret.

use super::Recorder;
use super::contents::RunReport;
use super::summary::Summary;
use crate::cli::Plan;
use crate::history::History;
use crate::history::calls::{Calls, MpiTime};
use crate::history::view::{RankTime, Timeline, seconds};
use crate::pages;
use ftmpi_protocols::dispatcher::Dispatcher;
use ftmpi_wire::status::Counters;
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// The contents of the file.
#[derive(Debug, Serialize)]
pub struct FileReport {
    #[serde(flatten)]
    run: RunReport,
    version: &'static str,
    /// Seconds since 1970 when the launcher began.
    began: f64,
    /// Files of the programs, without their arguments.
    programs: Vec<String>,
    options: Vec<String>,
    summary: Vec<String>,
    /// Time of all ranks in each state.
    rank_time: RankTime,
    /// Time of each rank in each function of MPI, with `--trace`.
    mpi_time: Vec<MpiTime>,
    rank_counters: Vec<Counters>,
    timeline: Timeline,
}

impl Recorder {
    /// Everything that is known at the end of a job, or now.
    pub fn whole(
        &self,
        plan: &Plan,
        dispatcher: &Dispatcher,
        (history, calls): (&History, &Calls),
        (wall, exit_code): (Duration, i32),
    ) -> FileReport {
        let sum = |of: fn(&Counters) -> u64| Duration::from_nanos(self.latest.iter().map(of).sum());
        let paused = Duration::from_nanos(self.pauses.total);
        let summary = Summary::new(plan, (self, history), dispatcher, wall, exit_code);
        let since_1970 = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
        let programs = plan.programs.iter().filter_map(|part| part.command.first());
        FileReport {
            run: self.report(dispatcher, history, wall, exit_code),
            version: env!("CARGO_PKG_VERSION"),
            began: seconds(since_1970.saturating_sub(wall)),
            programs: programs.map(ToString::to_string).collect(),
            options: without_values(&plan.options),
            summary: summary.lines(),
            rank_time: RankTime::new(history, wall, paused, sum(|c| c.gate_wait_ns)),
            mpi_time: calls.times(),
            rank_counters: self.latest.clone(),
            timeline: Timeline::new((history, calls), plan.placement.len(), wall),
        }
    }
}

/// The options in their one form, without the values of variables.
fn without_values(options: &[String]) -> Vec<String> {
    let mut shown = Vec::with_capacity(options.len());
    let mut hide = 0;
    for option in options {
        if hide == 1 {
            shown.push("…".to_owned());
        } else {
            shown.push(option.clone());
        }
        hide = match option.as_str() {
            "--env" | "--genv" if hide == 0 => 2,
            _ => i32::max(hide - 1, 0),
        };
    }
    shown
}

/// Writes the file.
///
/// # Errors
/// It cannot be written.
pub fn write(path: &Path, report: &FileReport) -> std::io::Result<()> {
    let is_page = path
        .extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("html") || end.eq_ignore_ascii_case("htm"));
    let text = match is_page {
        true => pages::report(&serde_json::to_value(report)?),
        false => serde_json::to_string_pretty(report)? + "\n",
    };
    std::fs::write(path, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_variables_are_not_shown() {
        let options =
            ["-n", "4", "--genv", "TOKEN", "secret", "--env", "A", "--env", "--report", "r"];
        let options: Vec<String> = options.iter().map(ToString::to_string).collect();
        let shown = without_values(&options).join(" ");
        assert_eq!(shown, "-n 4 --genv TOKEN … --env A … --report r");
    }
}
