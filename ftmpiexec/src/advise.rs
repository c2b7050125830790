//! `ftmpiexec --advise REPORT`: which protocol and which interval suit a program, from what an
//! earlier run measured and a rate of faults.
//!
//! The formula is [`ftmpi_protocols::fault_cost`], that of `ftmpi-sim scale`. What the report does
//! not say is assumed, and said. Nothing is started.

use crate::text;
use anyhow::{Context, bail};
use ftmpi_options::ftmpiexec::CommandLine;
use ftmpi_protocols::fault_cost::Costs;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// Bytes a second that a log copies into memory that was used before, and seconds for each message:
/// assumed, of the order of what `make bench` measures.
const LOG_BYTES_S: f64 = 8e9;
const LOG_MESSAGE_S: f64 = 30e-9;
/// What a report does not say: until a fault is noticed and its ranks have processes.
const NOTICED_S: f64 = 1.0;
/// What an image stops its rank where none was taken, and bytes a second that storing has.
const STOP_S: f64 = 0.05;
const STORED_S: f64 = 1.0;
/// Days between two faults of one host, if nothing is said.
const MTBF_DAYS: u64 = 365;

/// What a run measured.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Run {
    ranks: f64,
    hosts: f64,
    /// What an image stopped its rank, and how long the ranks waited for one another before it.
    stop_s: f64,
    wait_s: f64,
    /// Until one image was stored alone, and images were taken at all.
    stored_s: f64,
    images: bool,
    /// Bytes and messages that a rank sent in a second.
    bytes: f64,
    messages: f64,
    /// Share of the time in which sends waited for the event logger.
    gated: f64,
    noticed_s: f64,
    failures: f64,
}

/// A number that a report may have: anybody can write a file.
fn number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| (0.0..1e15).contains(number))
}

impl Run {
    fn of(report: &Value) -> anyhow::Result<Self> {
        let at = |path: &str| report.pointer(path).and_then(number).unwrap_or(0.0);
        let (ranks, wall) = (at("/ranks"), at("/wall_s"));
        if ranks < 1.0 || wall <= 0.0 {
            bail!("it is no file of --report run.json");
        }
        let count = at("/checkpoints/count");
        let hosts = report.pointer("/hosts").and_then(Value::as_array).map_or(1, Vec::len);
        let waves = at("/waves/complete");
        // The images of a wave share the servers.
        let together = if waves > 0.0 { (count / waves).max(1.0) } else { 1.0 };
        let failures = report.pointer("/failures").and_then(Value::as_array);
        let failures = failures.map_or(&[][..], Vec::as_slice);
        let took = |failure: &Value| {
            let ms = |field: &str| failure.get(field).and_then(number);
            Some((ms("detect_ms")? + ms("restore_ms")?) / 1e3)
        };
        let known: Vec<f64> = failures.iter().filter_map(took).collect();
        let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
        Ok(Self {
            ranks,
            hosts: hosts as f64,
            stop_s: if count > 0.0 { at("/checkpoints/pause_ms_mean") / 1e3 } else { STOP_S },
            wait_s: if waves > 0.0 { at("/waves/wait_ms") / 1e3 / count.max(1.0) } else { 0.0 },
            stored_s: match count > 0.0 {
                true => at("/checkpoints/duration_ms_mean") / 1e3 / together,
                false => STORED_S,
            },
            images: count > 0.0,
            bytes: at("/messages/payload_bytes") / ranks / wall,
            messages: at("/messages/sent") / ranks / wall,
            gated: at("/messages/gate_wait_ms") / 1e3 / ranks / wall,
            noticed_s: if known.is_empty() { NOTICED_S } else { mean },
            failures: failures.len() as f64,
        })
    }

    /// What logging costs, if this part of the messages is logged.
    fn logging(&self, part: f64) -> f64 {
        1.0 + part * (self.bytes / LOG_BYTES_S + self.messages * LOG_MESSAGE_S)
    }
}

/// A protocol under the rate of faults.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    protocol: &'static str,
    costs: Costs,
    what: &'static str,
}

/// Candidates for so many ranks on so many hosts.
fn candidates(run: &Run, ranks: f64, hosts: f64) -> Vec<Candidate> {
    let costs = |returning: f64, slowdown: f64, wait_s: f64| Costs {
        all_return: returning >= ranks,
        slowdown,
        stop_s: run.stop_s + wait_s,
        stored_s: run.stored_s * returning,
        all_stored_s: run.stored_s * ranks,
        noticed_s: run.noticed_s,
    };
    let host = ranks / hosts;
    let mut all = vec![Candidate {
        protocol: "coordinated",
        costs: costs(ranks, 1.0, run.wait_s),
        what: "all ranks return",
    }];
    if hosts > 1.0 && host > 1.0 {
        all.push(Candidate {
            protocol: "hierarchical",
            costs: costs(host, run.logging((ranks - host) / (ranks - 1.0)), run.wait_s),
            what: "the ranks of one host return",
        });
    }
    all.push(Candidate {
        protocol: "pessimistic",
        costs: costs(1.0, run.logging(1.0) + run.gated, 0.0),
        what: "one rank returns",
    });
    all.push(Candidate {
        protocol: "causal",
        costs: costs(1.0, run.logging(1.0), 0.0),
        what: "one rank returns; events travel with messages, which is not counted here",
    });
    all
}

/// Reads the report and prints the advice.
///
/// # Errors
/// The report cannot be read, or is none.
pub fn run(line: &CommandLine, report: &Path) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(report)
        .with_context(|| format!("--advise {}", report.display()))?;
    let report_json: Value = serde_json::from_str(&text)
        .with_context(|| format!("--advise {}: it is no JSON", report.display()))?;
    let run = Run::of(&report_json).with_context(|| format!("--advise {}", report.display()))?;
    let asked: u32 = line.parts.iter().filter_map(|part| part.ranks).sum();
    let ranks = if asked > 0 { f64::from(asked) } else { run.ranks };
    let hosts = line
        .cli
        .placement
        .hosts
        .as_ref()
        .map_or(run.hosts * ranks / run.ranks, |hosts| hosts.split(',').count() as f64);
    let mtbf = line.cli.testing.mtbf.unwrap_or(Duration::from_secs(MTBF_DAYS * 86_400));
    print!("{}", advice(&run, ranks, hosts.round().clamp(1.0, ranks), mtbf));
    Ok(())
}

fn advice(run: &Run, ranks: f64, hosts: f64, mtbf: Duration) -> String {
    let rate = hosts / mtbf.as_secs_f64().max(1e-3);
    let between = |rate: f64| text::time(Duration::from_secs_f64((1.0 / rate).min(1e10)));
    let image = |seconds: f64| text::time(Duration::from_secs_f64(seconds));
    let mut lines = vec![
        format!(
            "{} on {}; one host fails every {}, so the job has a failure every {}",
            text::count(ranks as u64, "rank"),
            text::count(hosts as u64, "host"),
            text::time(mtbf),
            between(rate)
        ),
        format!(
            "{}: an image stops its rank for {}, and is stored in {}; a rank sends {} in {} each \
             second; a failure is noticed and its ranks are restored in {}{}",
            if run.images { "measured" } else { "assumed, because the run took no image" },
            image(run.stop_s + run.wait_s),
            image(run.stored_s),
            text::size(run.bytes as u64),
            text::count(run.messages as u64, "message"),
            image(run.noticed_s),
            if run.failures > 0.0 { "" } else { " (assumed)" },
        ),
        "protocol       progress   interval   after a failure".to_owned(),
    ];
    let mut rows: Vec<(f64, String, &str)> = candidates(run, ranks, hosts)
        .into_iter()
        .map(|candidate| {
            let left = candidate.costs.left(rate);
            // Nobody gains by more precision than the model has.
            let period = Duration::from_secs_f64(two_digits(left.period_s).min(1e8));
            let row = format!(
                "{:<14} {:>8}   {:<8}   {}",
                candidate.protocol,
                format!("{:.2} %", 100.0 * left.efficiency),
                text::option_time(period),
                candidate.what
            );
            (left.efficiency, row, candidate.protocol)
        })
        .collect();
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (first, second) = (rows[0].0, rows[1].0);
    let best = rows[0].2;
    lines.extend(rows.into_iter().map(|(_, row, _)| row));
    lines.push(match first - second {
        gap if gap < 0.01 => format!("best: {best}, by less than 1 %: the default will do as well"),
        gap => format!("best: --protocol {best}, by {:.0} % of the time", 100.0 * gap),
    });
    lines.join("\n") + "\n"
}

fn two_digits(seconds: f64) -> f64 {
    let unit = 10f64.powf(seconds.max(1.0).log10().floor() - 1.0);
    ((seconds / unit).round() * unit).round().max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report() -> Value {
        json!({
            "ranks": 8, "wall_s": 100.0, "hosts": ["a", "b"],
            "checkpoints": { "count": 80, "pause_ms_mean": 20.0, "duration_ms_mean": 4000.0 },
            "waves": { "complete": 10, "wait_ms": 80.0 },
            "messages": { "sent": 80_000, "payload_bytes": 800_000_000u64, "gate_wait_ms": 0.0 },
            "failures": [{ "detect_ms": 500.0, "restore_ms": 1500.0 }, { "detect_ms": null }],
        })
    }

    fn hours(number: u64) -> Duration {
        Duration::from_secs(3600 * number)
    }

    #[test]
    fn a_report_says_what_images_messages_and_failures_cost() {
        let run = Run::of(&report()).unwrap();
        assert_eq!((run.stop_s, run.wait_s, run.stored_s), (0.02, 0.001, 0.5));
        assert_eq!((run.bytes, run.messages, run.noticed_s), (1e6, 100.0, 2.0));
        assert!(Run::of(&json!({ "ranks": 0 })).is_err());
        assert!(Run::of(&json!({ "ranks": -1, "wall_s": 1e300 })).is_err());
        let odd = json!({
            "ranks": 2, "wall_s": 1e-300,
            "checkpoints": { "count": 1, "pause_ms_mean": -1.0, "duration_ms_mean": 1e300 },
            "failures": [{ "detect_ms": -5.0, "restore_ms": 1.0 }],
        });
        advice(&Run::of(&odd).unwrap(), 2.0, 1.0, hours(1));
        let plain = Run::of(&json!({ "ranks": 2, "wall_s": 1.0 })).unwrap();
        assert_eq!((plain.images, plain.stop_s, plain.noticed_s), (false, STOP_S, NOTICED_S));
    }

    #[test]
    fn coordination_is_best_where_faults_are_rare_and_logs_where_they_are_many() {
        let mut run = Run::of(&report()).unwrap();
        run.bytes = 400e6;
        let best = |mtbf| {
            let text = advice(&run, 64.0, 8.0, mtbf);
            text.lines().nth(3).unwrap().split_whitespace().next().unwrap().to_owned()
        };
        assert_eq!(best(hours(1_000_000)), "coordinated");
        assert!(["pessimistic", "causal"].contains(&best(Duration::from_secs(600)).as_str()));
    }

    #[test]
    fn the_advice_says_what_was_assumed() {
        let plain = Run::of(&json!({ "ranks": 2, "wall_s": 1.0 })).unwrap();
        let text = advice(&plain, 2.0, 1.0, hours(100));
        assert!(
            text.contains("assumed, because the run took no image") && text.contains("(assumed)")
        );
        assert!(!text.contains("hierarchical"), "one host has no clusters");
        assert!(text.contains("the job has a failure every 100 h 00 m"), "{text}");
    }
}
