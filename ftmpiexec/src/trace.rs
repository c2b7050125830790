//! The file of `--trace`: the history of a job in the trace event format, which Perfetto and Chrome
//! (`chrome://tracing`) read, or in the one of OpenTelemetry ([`otlp`]).
//!
//! | what | events |
//! | --- | --- |
//! | a host | a process; its ranks are the threads |
//! | what a rank does | spans (`X`), and in them its calls and the pauses of images ([`calls`]) |
//! | a death | an instant event on the track of its rank |
//! | an image from its order until it is durable, a wave | asynchronous spans (`b`, `e`) |
//! | a message, a marker of a wave, where asked for | a flow (`s`, `f`) ([`messages`]) |
//! | determinants on their way, lost messages | instant events on the track of their rank |
//! | lines about faults | instant events of the launcher, which is process 0 |
//!
//! Guarantees: spans of a track nest. Events are in the order of their times, which count from the
//! start of the launcher, in microseconds. Where calls come fast the file shows some of them: the
//! longest, and an even choice of the others. Each says in `calls` how many calls there were since
//! the one before it, and `otherData` how many there were in all.

mod calls;
mod messages;
mod otlp;

use self::calls::{CallsOf, LANE};
use crate::history::calls::Calls;
use crate::history::messages::Message;
use crate::history::view::with_ends;
use crate::history::{History, Image, Span, State};
use crate::notices;
use ftmpi_protocols::dispatcher::Failure;
use ftmpi_wire::Rank;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

/// The process that stands for the launcher. The host with index i is process i + 1.
const LAUNCHER: u32 = 0;
/// The track of the launcher's lines.
const LINES: u32 = 1;
/// The track of waves.
const WAVES: u32 = 2;

/// One event.
#[derive(Debug, Clone, Serialize)]
struct TraceEvent {
    name: String,
    cat: &'static str,
    ph: &'static str,
    /// Microseconds.
    ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    pid: u32,
    tid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// Whom an instant event concerns: its track (`t`) or its process (`p`).
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    /// A flow ends at the span around this moment (`e`).
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
    args: Value,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TraceFile {
    display_time_unit: &'static str,
    other_data: Value,
    trace_events: Vec<TraceEvent>,
}

/// What a trace is made from.
#[derive(Debug)]
pub struct Traced<'a> {
    /// What happened.
    pub history: &'a History,
    /// What ranks called.
    pub calls: &'a Calls,
    /// Their messages, where asked for.
    pub messages: &'a [Message],
    /// Failures and rollbacks of ranks, each with the time when it died.
    pub failures: Vec<(&'a Failure, Duration)>,
    /// Names of the hosts.
    pub hosts: Vec<&'a str>,
    /// Number of ranks.
    pub ranks: usize,
    /// The end of the job.
    pub end: Duration,
    /// What the file says of the job as a whole.
    pub about: Value,
    /// A name that no other job has.
    pub job_id: &'a str,
    /// When the launcher began, since 1970.
    pub began: Duration,
}

/// What a rank did, and until when.
type StatesOfRank = Vec<(Span, Duration)>;

impl Traced<'_> {
    /// Writes the file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, path: &Path) -> std::io::Result<()> {
        let mut file = BufWriter::new(std::fs::File::create(path)?);
        if path.to_string_lossy().ends_with(otlp::SUFFIX) {
            otlp::write(self, &self.events().0, &mut file)?;
        } else {
            serde_json::to_writer(&mut file, &self.file())?;
            file.write_all(b"\n")?;
        }
        file.flush()
    }

    fn file(&self) -> TraceFile {
        let (mut events, lanes) = self.events();
        let mut trace_events = self.names(&lanes);
        trace_events.append(&mut events);
        TraceFile { display_time_unit: "ms", other_data: self.about.clone(), trace_events }
    }

    /// All events in the order of their times, and how many tracks each rank needs.
    fn events(&self) -> (Vec<TraceEvent>, Vec<usize>) {
        let (mut events, lanes, states) = self.states();
        messages::flows(self.messages, &states, &mut events);
        events.extend(self.failures.iter().map(|(failure, died)| death(self, failure, *died)));
        self.images(&mut events);
        self.waves(&mut events);
        events.extend(self.history.events().map(|line| TraceEvent {
            s: Some("p"),
            args: json!({ "text": line.text, "rank": line.rank }),
            ..event(short(&line.text), "line", "i", line.at, (LAUNCHER, LINES))
        }));
        // Of two spans that begin together the longer one is around the other.
        let length = |event: &TraceEvent| event.dur.unwrap_or(0.0);
        events.sort_by(|a, b| a.ts.total_cmp(&b.ts).then(length(b).total_cmp(&length(a))));
        (events, lanes)
    }

    /// Names and order of processes and threads.
    fn names(&self, lanes: &[usize]) -> Vec<TraceEvent> {
        let name = |what: &str, track, args: Value| TraceEvent {
            args,
            ..event(what.to_owned(), "__metadata", "M", Duration::ZERO, track)
        };
        let mut names = vec![
            name("process_name", (LAUNCHER, 0), json!({ "name": "ftmpiexec" })),
            name("process_sort_index", (LAUNCHER, 0), json!({ "sort_index": -1 })),
            name("thread_name", (LAUNCHER, LINES), json!({ "name": "what was said" })),
            name("thread_name", (LAUNCHER, WAVES), json!({ "name": "waves" })),
        ];
        for (index, host) in self.hosts.iter().enumerate() {
            let pid = index as u32 + 1;
            names.push(name("process_name", (pid, 0), json!({ "name": format!("host {host}") })));
            names.push(name("process_sort_index", (pid, 0), json!({ "sort_index": pid })));
        }
        for rank in (0..self.ranks as u32).map(Rank) {
            // A rank that has moved has a track on each of its hosts.
            let mut hosts: Vec<u32> = self.history.spans(rank).map(|span| span.host).collect();
            hosts.sort_unstable();
            hosts.dedup();
            let lanes = 0..lanes[rank.index()] as u32;
            for (host, lane) in hosts.iter().flat_map(|host| lanes.clone().map(move |l| (host, l)))
            {
                let track = (host + 1, rank.0 + LANE * lane);
                let text = match lane {
                    0 => format!("rank {rank}"),
                    _ => format!("rank {rank}, another thread"),
                };
                names.push(name("thread_name", track, json!({ "name": text })));
                names.push(name("thread_sort_index", track, json!({ "sort_index": rank })));
            }
        }
        names
    }

    /// States of ranks, and in them calls and pauses; how many tracks each rank needs; the states
    /// themselves.
    fn states(&self) -> (Vec<TraceEvent>, Vec<usize>, Vec<StatesOfRank>) {
        let mut pauses: BTreeMap<Rank, Vec<&Image>> = BTreeMap::new();
        for image in self.history.images().filter(|image| image.taken.is_some()) {
            pauses.entry(image.rank).or_default().push(image);
        }
        let (mut events, mut lanes, mut all_states) = (Vec::new(), Vec::new(), Vec::new());
        for rank in (0..self.ranks as u32).map(Rank) {
            let mut pauses = pauses.remove(&rank).unwrap_or_default();
            pauses.sort_by_key(|image| image.taken);
            let spans = with_ends(self.history.spans(rank), self.end);
            let states: StatesOfRank =
                spans.filter(|(span, _)| span.state != State::Done).collect();
            for (span, to) in &states {
                events.push(TraceEvent {
                    dur: Some(microseconds(*to) - microseconds(span.from)),
                    args: json!({ "incarnation": span.incarnation }),
                    ..event(state_name(span.state), "state", "X", span.from, track(*span, rank))
                });
            }
            let (all, calls) = (self.calls, self.calls.of(rank));
            let of_rank = CallsOf { rank, calls, images: &pauses, all };
            lanes.push(of_rank.events(&states, &mut events));
            all_states.push(states);
        }
        for rank in (0..self.ranks as u32).map(Rank) {
            messages::determinants(rank, self.calls.of(rank), &all_states, &mut events);
        }
        (events, lanes, all_states)
    }

    fn images(&self, events: &mut Vec<TraceEvent>) {
        for image in self.history.images() {
            let host = self.history.spans(image.rank).last().map_or(0, |span| span.host);
            let track = (host + 1, image.rank.0);
            let args = json!({ "bytes": image.bytes, "lost": image.lost });
            let id = format!("image {}.{}", image.rank, image.image);
            let ended = image.ended.unwrap_or(self.end);
            let name = format!("image {}", image.image);
            asynchronous(events, name, (id, "image"), (image.ordered, ended), (track, args));
        }
    }

    fn waves(&self, events: &mut Vec<TraceEvent>) {
        for (index, wave) in self.history.waves().enumerate() {
            let args = json!({ "complete": wave.complete, "bytes": wave.bytes });
            let (name, id) = (format!("wave {}", wave.wave), format!("wave {index}"));
            let track = (LAUNCHER, WAVES);
            asynchronous(events, name, (id, "wave"), (wave.from, wave.to), (track, args));
        }
    }
}

fn death(traced: &Traced<'_>, failure: &Failure, died: Duration) -> TraceEvent {
    let at = with_ends(traced.history.spans(failure.rank), traced.end)
        .filter(|(span, _)| span.from <= died)
        .last()
        .map_or((1, failure.rank.0), |(span, _)| track(span, failure.rank));
    let cause = notices::cause(&failure.cause);
    TraceEvent {
        s: Some("t"),
        args: json!({ "cause": cause, "image": failure.image, "replayed": failure.replayed }),
        ..event(short(&cause), "failure", "i", died, at)
    }
}

fn asynchronous(
    events: &mut Vec<TraceEvent>,
    name: String,
    (id, cat): (String, &'static str),
    (from, to): (Duration, Duration),
    (track, args): ((u32, u32), Value),
) {
    let id = Some(id);
    let begin = event(name.clone(), cat, "b", from, track);
    events.push(TraceEvent { id: id.clone(), args, ..begin });
    events.push(TraceEvent { id, ..event(name, cat, "e", to.max(from), track) });
}

fn event(
    name: String,
    cat: &'static str,
    ph: &'static str,
    at: Duration,
    (pid, tid): (u32, u32),
) -> TraceEvent {
    let (ts, args) = (microseconds(at), Value::Object(serde_json::Map::new()));
    TraceEvent { name, cat, ph, ts, dur: None, pid, tid, id: None, s: None, bp: None, args }
}

fn track(span: Span, rank: Rank) -> (u32, u32) {
    (span.host + 1, rank.0)
}

/// Whole microseconds: sums of such numbers are exact, so spans that meet do not overlap.
fn microseconds(time: Duration) -> f64 {
    time.as_micros() as f64
}

fn state_name(state: State) -> String {
    match state {
        State::Running => "computing".to_owned(),
        state => state.name().replace('_', " "),
    }
}

/// The begin of a line: names of events are short.
fn short(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_protocols::dispatcher::{Activity, Cause, Ending};
    use ftmpi_wire::{ImageNo, Incarnation};

    fn ms(number: u64) -> Duration {
        Duration::from_millis(number)
    }

    /// Rank 1 takes an image, dies in the middle of the next one and moves to another host.
    fn history() -> History {
        let mut history = History::new(2);
        let rank = Rank(1);
        for rank in [Rank(0), rank] {
            history.rank_is(ms(0), rank, (0, Incarnation(0)), Activity::Starting);
            history.rank_is(ms(10), rank, (0, Incarnation(0)), Activity::Running);
        }
        history.image_ordered(ms(20), rank, ImageNo(1));
        history.image_taken(ms(35), rank, ImageNo(1), ms(5));
        history.image_durable(ms(60), rank, ImageNo(1), 77);
        history.image_ordered(ms(90), rank, ImageNo(2));
        // Its report is late: the death was before.
        history.image_taken(ms(104), rank, ImageNo(2), ms(9));
        history.process_ended(rank, ms(100));
        history.rank_is(ms(110), rank, (1, Incarnation(1)), Activity::Restoring);
        history.rank_is(ms(150), rank, (1, Incarnation(1)), Activity::Running);
        history
    }

    fn file(history: &History) -> Value {
        files(history).0
    }

    /// The file for Perfetto, and the lines of OTLP.
    fn files(history: &History) -> (Value, String) {
        let failure = Failure {
            rank: Rank(1),
            incarnation: Incarnation(1),
            at: ms(110),
            cause: Cause::Ended(Ending::Signal(9)),
            alone: false,
            named: None,
            hello_at: None,
            image: Some(ImageNo(1)),
            caught_up_at: None,
            replayed: 0,
        };
        let calls = Calls::default();
        let message = Message {
            from: Rank(0),
            to: Rank(1),
            number: 1,
            bytes: 8,
            marker: false,
            held: true,
            sent_ns: 15_000_000,
            received_ns: Some(15_000_700),
            incarnation: Incarnation(0),
        };
        let traced = Traced {
            history,
            calls: &calls,
            messages: &[message],
            failures: vec![(&failure, ms(100))],
            hosts: vec!["a", "b"],
            ranks: 2,
            end: ms(200),
            about: json!({}),
            job_id: "0123456789abcdef01234567",
            began: Duration::from_secs(1_700_000_000),
        };
        let mut lines = Vec::new();
        otlp::write(&traced, &traced.events().0, &mut lines).unwrap();
        let file = serde_json::to_value(traced.file()).unwrap();
        (file, String::from_utf8(lines).unwrap())
    }

    /// Spans of the lines of OTLP, and what is true of all.
    #[test]
    fn spans_of_opentelemetry_lie_in_their_parents_and_have_links() {
        let (_, lines) = files(&history());
        let mut spans: BTreeMap<String, Value> = BTreeMap::new();
        for line in lines.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            for resource in line["resourceSpans"].as_array().unwrap() {
                for span in resource["scopeSpans"][0]["spans"].as_array().unwrap() {
                    let id = span["spanId"].as_str().unwrap().to_owned();
                    assert!(id.len() == 16 && span["traceId"].as_str().unwrap().len() == 32);
                    assert!(spans.insert(id, span.clone()).is_none(), "{span}");
                }
            }
        }
        let time = |span: &Value, key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
        for span in spans.values() {
            let (from, to) = (time(span, "startTimeUnixNano"), time(span, "endTimeUnixNano"));
            assert!(from <= to && from >= 1_700_000_000_000_000_000, "{span}");
            for link in span["links"].as_array().unwrap() {
                assert!(spans.contains_key(link["spanId"].as_str().unwrap()), "{span}");
            }
            let parent = span["parentSpanId"].as_str().unwrap();
            assert_eq!(parent.is_empty(), span["name"] == "job", "{span}");
            let Some(parent) = spans.get(parent) else { continue };
            // A rank that has moved was asked for an image on its first host.
            let is_image = span["name"].as_str().unwrap().starts_with("image ");
            assert!(is_image || from >= time(parent, "startTimeUnixNano"), "{span} {parent}");
        }
        let named = |name: &str| spans.values().filter(|span| span["name"] == name).count();
        assert_eq!((named("job"), named("rank 1"), named("rank 0")), (1, 2, 1));
        let links: usize = spans.values().map(|span| span["links"].as_array().unwrap().len()).sum();
        assert_eq!(links, 1, "one message");
        let died = |span: &&Value| span["events"].to_string().contains("SIGKILL");
        assert_eq!(spans.values().filter(died).count(), 1);
    }

    #[test]
    fn spans_of_a_track_nest_and_events_are_in_order() {
        let file = file(&history());
        let events = file["traceEvents"].as_array().unwrap();
        let mut open: BTreeMap<(u64, u64), Vec<f64>> = BTreeMap::new();
        let mut asynchronous: BTreeMap<&str, &str> = BTreeMap::new();
        let mut flows = std::collections::BTreeSet::new();
        let mut last = 0.0;
        for event in events.iter().filter(|event| event["ph"] != "M") {
            let ts = event["ts"].as_f64().unwrap();
            assert!(ts >= last, "{event}");
            last = ts;
            let id = event["id"].as_str().unwrap_or_default();
            match event["ph"].as_str().unwrap() {
                "X" => {
                    let track = (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
                    let ends = open.entry(track).or_default();
                    ends.retain(|end| *end > ts);
                    let end = ts + event["dur"].as_f64().unwrap();
                    assert!(ends.last().is_none_or(|outer| end <= *outer), "{event}");
                    ends.push(end);
                }
                "b" => assert!(asynchronous.insert(id, "b").is_none(), "{event}"),
                "e" => assert_eq!(asynchronous.insert(id, "e"), Some("b"), "{event}"),
                "s" => assert!(flows.insert(id.to_owned()), "{event}"),
                "f" => assert!(flows.contains(id) && event["bp"] == "e", "{event}"),
                "i" => assert!(["t", "p"].contains(&event["s"].as_str().unwrap())),
                other => panic!("{other}"),
            }
        }
        assert_eq!((asynchronous.len(), flows.len()), (2, 1));
        assert!(asynchronous.values().all(|ph| *ph == "e"));
    }

    #[test]
    fn a_rank_has_a_track_on_each_of_its_hosts_and_its_death_is_on_the_first() {
        let file = file(&history());
        let events = file["traceEvents"].as_array().unwrap();
        let named = |name: &str| -> Vec<(u64, u64, f64)> {
            let numbers = |event: &Value| {
                let number = |key: &str| event[key].as_u64().unwrap();
                (number("pid"), number("tid"), event["ts"].as_f64().unwrap())
            };
            events.iter().filter(|event| event["name"] == name).map(numbers).collect()
        };
        let rounded = |list: Vec<(u64, u64, f64)>| -> Vec<(u64, u64, u64)> {
            list.into_iter().map(|(pid, tid, ts)| (pid, tid, (ts / 1e3).round() as u64)).collect()
        };
        assert_eq!(rounded(named("computing")), [(1, 0, 10), (1, 1, 10), (2, 1, 150)]);
        assert_eq!(rounded(named("dead")), [(1, 1, 100)]);
        assert_eq!(rounded(named("killed by signal 9 (SIGKILL)")), [(1, 1, 100)]);
        // The second pause ends after the death: it is cut off there.
        assert_eq!(rounded(named("image pause")), [(1, 1, 30), (1, 1, 95)]);
        assert_eq!(named("thread_name").len(), 5);
    }
}
