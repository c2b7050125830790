//! `ftmpiexec --advise REPORT`: which protocol and which interval suit a program, from what an
//! earlier run measured and a rate of faults.
//!
//! The formula is [`ftmpi_protocols::fault_cost`], that of `ftmpi-sim scale`. What the report has
//! comes from there: images and their times, waves, messages, waits for the event logger, failures
//! and how long they took. What a log costs is measured here and now, for messages of the run's
//! mean size. What is left is assumed. The advice says which is which. Nothing is started.

use crate::text;
use anyhow::{Context, bail};
use ftmpi_options::ftmpiexec::CommandLine;
use ftmpi_protocols::fault_cost::Costs;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

/// Seconds for the entry of a message in a log, beside its copy: of the order of what `make bench`
/// measures.
const LOG_ENTRY_S: f64 = 30e-9;
/// Where it is not known, how long it takes until a fault is noticed and its ranks have processes.
const NOTICED_S: f64 = 1.0;
/// Where no image was taken, what one stops its rank, and until it is stored.
const STOP_S: f64 = 0.05;
const STORED_S: f64 = 1.0;
/// Days between two faults of one host, if nothing is known.
const MTBF_DAYS: u64 = 365;
/// Bytes of the log with which the copy of a message is measured: more than caches hold.
const LOG_ROOM: usize = 32 << 20;
/// How long that is measured.
const LOG_MEASURED: Duration = Duration::from_millis(20);

/// What a run measured.
#[derive(Debug, Clone, PartialEq)]
struct Run {
    ranks: f64,
    hosts: f64,
    /// What an image stopped its rank, and how long the ranks waited for one another before it.
    stop_s: f64,
    wait_s: f64,
    /// Until one image was stored alone.
    stored_s: f64,
    /// Bytes and messages that a rank sent in a second.
    bytes: f64,
    messages: f64,
    /// What a log takes for a message.
    log_s: f64,
    /// Share of the time in which sends waited for the event logger.
    gated: f64,
    noticed_s: f64,
    /// Time between two failures of one host, if there were any that nobody had asked for.
    mtbf: Option<Duration>,
    /// What the run says, and what it does not.
    measured: Vec<String>,
    assumed: Vec<String>,
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
        let hosts = report.pointer("/hosts").and_then(Value::as_array).map_or(1, Vec::len) as f64;
        let mut run = Self {
            ranks,
            hosts,
            stop_s: STOP_S,
            wait_s: 0.0,
            stored_s: STORED_S,
            bytes: at("/messages/payload_bytes") / ranks / wall,
            messages: at("/messages/sent") / ranks / wall,
            log_s: 0.0,
            gated: at("/messages/gate_wait_ms") / 1e3 / ranks / wall,
            noticed_s: NOTICED_S,
            mtbf: None,
            measured: Vec::new(),
            assumed: Vec::new(),
        };
        run.learn_images(at);
        run.learn_messages(at);
        run.learn_failures(report, wall);
        Ok(run)
    }

    fn learn_images(&mut self, at: impl Fn(&str) -> f64) {
        let (count, waves) = (at("/checkpoints/count"), at("/waves/complete"));
        if count < 1.0 {
            let (stop, stored) = (short(STOP_S), short(STORED_S));
            self.assumed.push(format!(
                "an image stops its rank for {stop}, and is stored in {stored} (the run took none)"
            ));
            return;
        }
        // The images of a wave share the servers.
        let together = if waves > 0.0 { (count / waves).max(1.0) } else { 1.0 };
        self.stop_s = at("/checkpoints/pause_ms_mean") / 1e3;
        self.stored_s = at("/checkpoints/duration_ms_mean") / 1e3 / together;
        self.measured.push(format!(
            "an image of {} stops its rank for {}, and is stored in {}",
            text::size((at("/checkpoints/bytes") / count) as u64),
            short(self.stop_s),
            short(self.stored_s)
        ));
        if waves > 0.0 {
            self.wait_s = at("/waves/wait_ms") / 1e3 / count;
            self.measured
                .push(format!("ranks wait {} for the others' markers", short(self.wait_s)));
        } else {
            self.assumed.push("ranks do not wait for one another in a wave".to_owned());
        }
    }

    fn learn_messages(&mut self, at: impl Fn(&str) -> f64) {
        self.measured.push(format!(
            "a rank sends {} in {} each second",
            text::size(self.bytes as u64),
            text::count(self.messages as u64, "message")
        ));
        if at("/logs/peak_bytes") > 0.0 {
            let peak = at("/logs/peak_bytes") / self.ranks;
            self.measured.push(format!("a rank's log held {} at most", text::size(peak as u64)));
        }
        if at("/messages/determinants") > 0.0 {
            let share = text::percent(self.gated);
            self.measured.push(format!("sends wait for the event logger for {share} of the time"));
        } else {
            self.assumed
                .push("sends do not wait for an event logger (the run had none)".to_owned());
        }
    }

    fn learn_failures(&mut self, report: &Value, wall: f64) {
        let failures = report.pointer("/failures").and_then(Value::as_array);
        let failures = failures.map_or(&[][..], Vec::as_slice);
        let took = |failure: &Value| {
            let ms = |field: &str| failure.get(field).and_then(number);
            // The image is fetched meanwhile, which the formula counts by itself.
            let restored = (ms("restore_ms")? / 1e3 - self.stored_s).max(0.0);
            Some(ms("detect_ms")? / 1e3 + restored)
        };
        let known: Vec<f64> = failures.iter().filter_map(took).collect();
        if known.is_empty() {
            let noticed = short(NOTICED_S);
            self.assumed.push(format!("a failure is noticed, and its ranks started, in {noticed}"));
        } else {
            self.noticed_s = known.iter().sum::<f64>() / known.len() as f64;
            let noticed = short(self.noticed_s);
            self.measured
                .push(format!("a failure is noticed, and its ranks started, in {noticed}"));
        }
        // Ranks that a host took along died at one moment.
        let at_ms = |failure: &Value| Some((number(failure.get("at_s")?)? * 1e3) as u64);
        let moments: BTreeSet<u64> = failures.iter().filter_map(at_ms).collect();
        let options = report.pointer("/options").and_then(Value::as_array);
        let asked = options.is_some_and(|options| options.iter().any(|word| word == "--inject"));
        if !moments.is_empty() && !asked {
            let between = wall * self.hosts / moments.len() as f64;
            self.mtbf = Some(Duration::from_secs_f64(between.min(1e10)));
        }
    }

    /// Measures what a log of this run's messages costs here.
    fn measure_log(&mut self) {
        if self.messages <= 0.0 {
            return;
        }
        let size = self.bytes / self.messages;
        self.log_s = copy_time(size as usize) + LOG_ENTRY_S;
        self.measured.push(format!(
            "here, a log takes {:.2} µs for a message of {}",
            self.log_s * 1e6,
            text::size(size as u64)
        ));
    }

    /// What logging costs, if this part of the messages is logged.
    fn logging(&self, part: f64) -> f64 {
        1.0 + part * self.messages * self.log_s
    }
}

/// Seconds for the copy of so many bytes to the end of a log, in memory that was used before.
fn copy_time(bytes: usize) -> f64 {
    let payload = vec![1u8; bytes.clamp(1, LOG_ROOM / 2)];
    let mut log = vec![2u8; LOG_ROOM];
    let (begin, mut at, mut copies) = (Instant::now(), 0, 0u32);
    while begin.elapsed() < LOG_MEASURED {
        for _ in 0..16 {
            at = if at + payload.len() > LOG_ROOM { 0 } else { at };
            log[at..at + payload.len()].copy_from_slice(std::hint::black_box(&payload));
            at += payload.len();
            copies += 1;
        }
        std::hint::black_box(&mut log);
    }
    begin.elapsed().as_secs_f64() / f64::from(copies)
}

fn short(seconds: f64) -> String {
    // Odd reports lead to no number.
    let seconds = if seconds.is_nan() { 0.0 } else { seconds.clamp(0.0, 1e10) };
    text::time(Duration::from_secs_f64(seconds))
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
    let report_json: Value = serde_json::from_str(&text).with_context(|| {
        format!("--advise {}: it is no file of --report run.json", report.display())
    })?;
    let mut run =
        Run::of(&report_json).with_context(|| format!("--advise {}", report.display()))?;
    run.measure_log();
    let asked: u32 = line.parts.iter().filter_map(|part| part.ranks).sum();
    let ranks = if asked > 0 { f64::from(asked) } else { run.ranks };
    let hosts = line
        .cli
        .placement
        .hosts
        .as_ref()
        .map_or(run.hosts * ranks / run.ranks, |hosts| hosts.split(',').count() as f64);
    let hosts = hosts.round().clamp(1.0, ranks);
    print!("{}", advice(&run, ranks, hosts, line.cli.testing.mtbf));
    Ok(())
}

/// `mtbf`: that of a host, if the user knows it.
fn advice(run: &Run, ranks: f64, hosts: f64, mtbf: Option<Duration>) -> String {
    let (mtbf, from) = match (mtbf, run.mtbf) {
        (Some(mtbf), _) => (mtbf, "--mtbf"),
        (None, Some(mtbf)) => (mtbf, "seen in the run"),
        (None, None) => (Duration::from_secs(MTBF_DAYS * 86_400), "assumed; --mtbf says it"),
    };
    let rate = hosts / mtbf.as_secs_f64().max(1e-3);
    let mut lines = vec![format!(
        "{} on {}; one host fails every {} ({from}), so the job has a failure every {}",
        text::count(ranks as u64, "rank"),
        text::count(hosts as u64, "host"),
        text::time(mtbf),
        short(1.0 / rate)
    )];
    lines.push(format!("measured: {}", run.measured.join("; ")));
    if !run.assumed.is_empty() {
        lines.push(format!("assumed: {}", run.assumed.join("; ")));
    }
    lines.push("protocol       progress   interval   after a failure".to_owned());
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
    // It is as good as that, and better in a failure; whether there is memory only the user knows.
    lines.push(format!(
        "replicated     as pessimistic; a rank that dies waits {} less for its image, and each rank \
         needs its memory twice",
        short(run.stored_s)
    ));
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
            "checkpoints": { "count": 80, "bytes": 80_000_000u64, "pause_ms_mean": 20.0,
                             "duration_ms_mean": 4000.0 },
            "waves": { "complete": 10, "wait_ms": 80.0 },
            "messages": { "sent": 80_000, "payload_bytes": 800_000_000u64, "gate_wait_ms": 0.0 },
            "failures": [{ "at_s": 10.0, "detect_ms": 500.0, "restore_ms": 2000.0 },
                         { "at_s": 10.0, "detect_ms": null }],
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
        assert_eq!(run.mtbf, Some(Duration::from_secs(200)), "one failure of two hosts in 100 s");
        assert!(Run::of(&json!({ "ranks": 0 })).is_err());
        assert!(Run::of(&json!({ "ranks": -1, "wall_s": 1e300 })).is_err());
        let odd = json!({
            "ranks": 2, "wall_s": 1e-300,
            "checkpoints": { "count": 1, "pause_ms_mean": -1.0, "duration_ms_mean": 1e300 },
            "failures": [{ "detect_ms": -5.0, "restore_ms": 1.0 }],
        });
        advice(&Run::of(&odd).unwrap(), 2.0, 1.0, Some(hours(1)));
        let plain = Run::of(&json!({ "ranks": 2, "wall_s": 1.0 })).unwrap();
        assert_eq!((plain.stop_s, plain.noticed_s, plain.mtbf), (STOP_S, NOTICED_S, None));
    }

    #[test]
    fn failures_that_somebody_asked_for_are_no_rate() {
        let mut report = report();
        report["options"] = json!(["-n", "8", "--inject", "kill:rank=1,at=9s"]);
        let run = Run::of(&report).unwrap();
        assert_eq!((run.mtbf, run.noticed_s), (None, 2.0));
    }

    #[test]
    fn coordination_is_best_where_faults_are_rare_and_logs_where_they_are_many() {
        let mut run = Run::of(&report()).unwrap();
        run.log_s = 500e-6;
        let best = |mtbf| {
            let text = advice(&run, 64.0, 8.0, Some(mtbf));
            let table = text.lines().skip_while(|line| !line.starts_with("protocol  "));
            table.skip(1).flat_map(str::split_whitespace).next().unwrap().to_owned()
        };
        assert_eq!(best(hours(1_000_000)), "coordinated");
        assert!(["pessimistic", "causal"].contains(&best(Duration::from_secs(600)).as_str()));
    }

    #[test]
    fn the_advice_says_what_was_measured_and_what_was_assumed() {
        let plain = Run::of(&json!({ "ranks": 2, "wall_s": 1.0 })).unwrap();
        let text = advice(&plain, 2.0, 1.0, Some(hours(100)));
        let of = |begin: &str| text.lines().find(|line| line.starts_with(begin)).unwrap();
        assert!(of("assumed: ").contains("the run took none"), "{text}");
        assert!(of("assumed: ").contains("a failure is noticed"), "{text}");
        assert!(!text.contains("hierarchical"), "one host has no clusters");
        assert!(of("replicated ").contains("its memory twice"), "{text}");
        assert!(
            text.contains("100 h 00 m (--mtbf), so the job has a failure every 100 h"),
            "{text}"
        );
        let known = advice(&Run::of(&report()).unwrap(), 8.0, 2.0, None);
        assert!(known.contains("3 m 20 s (seen in the run)"), "{known}");
        assert!(known.contains("an image of 1.0 MB stops its rank for 0.02 s"), "{known}");
        assert_eq!(known.matches("assumed").count(), 1, "{known}");
    }

    #[test]
    fn the_copy_of_a_message_takes_time_that_grows_with_its_size() {
        let (little, much) = (copy_time(64), copy_time(1 << 20));
        assert!(little > 0.0 && much > 4.0 * little, "{little} {much}");
        assert!(copy_time(usize::MAX) > 0.0 && copy_time(0) > 0.0);
    }
}
