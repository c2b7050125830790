//! The part of a `--trace` file that a space-time diagram shows.

use crate::cli::RANKS_MAX;
use anyhow::{Context, bail, ensure};
use serde_json::Value;
use std::collections::BTreeMap;

/// A moment, in microseconds since the start of the launcher.
pub type Moment = f64;

/// The contents of a file. Rank indices are below `ranks`.
#[derive(Debug, Default)]
pub struct Recording {
    pub ranks: usize,
    pub protocol: String,
    pub states: Vec<State>,
    pub marks: Vec<Mark>,
    pub arrows: Vec<Arrow>,
    pub waves: Vec<Wave>,
    pub gates: Vec<Gate>,
    /// Messages were recorded.
    pub has_messages: bool,
    /// Only one of so many messages is in the file.
    pub one_of: u64,
}

/// What a rank does for a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct State {
    pub rank: usize,
    pub doing: Doing,
    pub from: Moment,
    pub to: Moment,
    pub incarnation: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// The program runs.
    Computing,
    /// It repeats what an earlier incarnation did.
    Repeating,
    /// There is a process, but the program does not run.
    Away,
    /// There is no process.
    Dead,
}

/// What happens to a rank at a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    pub rank: usize,
    pub at: Moment,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// With the cause, and the image from which the rank goes on.
    Death(String, Option<u64>),
    /// An image stopped the program until this moment.
    Image(u64, Moment),
    /// An image is on stable storage.
    Durable(String),
    /// So many determinants leave for the event logger.
    Determinants(u64),
    /// A message that did not reach this rank.
    Lost(usize),
}

/// A message or a marker.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrow {
    pub from: usize,
    pub to: usize,
    pub sent: Moment,
    pub received: Moment,
    /// On its channel; of a marker the number of its wave.
    pub number: u64,
    pub bytes: u64,
    pub marker: bool,
    /// It waited for the receiver's image.
    pub held: bool,
}

/// A wave of images.
#[derive(Debug, Clone, PartialEq)]
pub struct Wave {
    pub name: String,
    pub from: Moment,
    pub to: Moment,
}

/// A wait for the event logger.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gate {
    pub rank: usize,
    pub from: Moment,
    pub to: Moment,
}

/// What is wrong with another file.
const NO_TRACE: &str =
    "it is no recorded run; write one with ftmpiexec --trace run.trace --trace-messages";

impl Recording {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// It is no file of `--trace`.
    pub fn read(text: &str) -> anyhow::Result<Self> {
        let file: Value = serde_json::from_str(text).context(NO_TRACE)?;
        let events = file.get("traceEvents").and_then(Value::as_array);
        let about = file.get("otherData").filter(|about| about["program"] == "ftmpiexec");
        let (Some(events), Some(about)) = (events, about) else {
            bail!(NO_TRACE);
        };
        let shown = &about["messages"];
        let mut recording = Self {
            protocol: about["protocol"].as_str().unwrap_or_default().to_owned(),
            has_messages: shown.is_object(),
            one_of: shown["one_of"].as_u64().unwrap_or(1),
            ..Self::default()
        };
        let mut open = Open::default();
        for event in events {
            recording.take(event, &mut open);
        }
        let last = recording.states.iter().map(|state| state.rank).max();
        let last = last.context("no rank has run")?;
        ensure!(last < RANKS_MAX, "rank {last}: a job has at most {RANKS_MAX} ranks");
        let known = last + 1;
        recording.ranks = known;
        recording.marks.retain(|mark| mark.rank < known);
        recording.arrows.retain(|arrow| arrow.from < known && arrow.to < known);
        recording.gates.retain(|gate| gate.rank < known);
        Ok(recording)
    }

    fn take(&mut self, event: &Value, open: &mut Open) {
        let text = |key: &str| event[key].as_str().unwrap_or_default();
        let number = |key: &str| event["args"][key].as_u64();
        let (at, args) = (event["ts"].as_f64().unwrap_or(0.0), &event["args"]);
        let to = at + event["dur"].as_f64().unwrap_or(0.0);
        let rank = event["tid"].as_u64().unwrap_or(0) as usize;
        match (text("ph"), text("cat")) {
            ("X", "state") => self.states.push(State {
                rank,
                doing: doing(text("name")),
                from: at,
                to,
                incarnation: number("incarnation").unwrap_or(0),
            }),
            ("X", "image") => {
                let what = What::Image(number("image").unwrap_or(0), to);
                self.marks.push(Mark { rank, at, what });
            }
            ("i", "failure") => {
                let cause = args["cause"].as_str().unwrap_or_default().to_owned();
                self.marks.push(Mark { rank, at, what: What::Death(cause, number("image")) });
            }
            ("i", "event") => {
                let what = What::Determinants(number("count").unwrap_or(1));
                self.marks.push(Mark { rank, at, what });
            }
            ("i", "message") => {
                let what = What::Lost(number("to").unwrap_or(0) as usize);
                self.marks.push(Mark { rank, at, what });
            }
            ("b" | "s", _) => {
                open.begun.insert(text("id").to_owned(), event.clone());
            }
            ("e" | "f", cat) => {
                if let Some(begin) = open.begun.remove(text("id")) {
                    self.close(cat, &begin, event);
                }
            }
            _ => {}
        }
    }

    /// Something that has begun ends.
    fn close(&mut self, cat: &str, begin: &Value, end: &Value) {
        let at = |event: &Value| event["ts"].as_f64().unwrap_or(0.0);
        let number = |key: &str| begin["args"][key].as_u64().unwrap_or(0);
        let rank = begin["tid"].as_u64().unwrap_or(0) as usize;
        let name = || begin["name"].as_str().unwrap_or_default().to_owned();
        let (from, to) = (at(begin), at(end));
        match cat {
            "message" | "marker" => self.arrows.push(Arrow {
                from: number("from") as usize,
                to: number("to") as usize,
                sent: from,
                // Clocks may be too coarse to tell the two apart.
                received: to.max(from + 1e-3),
                number: number("number"),
                bytes: number("bytes"),
                marker: cat == "marker",
                held: end["args"]["held"] == true,
            }),
            "wave" => self.waves.push(Wave { name: name(), from, to }),
            "gate" => self.gates.push(Gate { rank, from, to }),
            "image" if begin["args"]["lost"].is_null() => {
                self.marks.push(Mark { rank, at: to, what: What::Durable(name()) });
            }
            _ => {}
        }
    }

    /// What happens between two moments; spans are cut.
    pub fn between(mut self, from: Moment, to: Moment) -> Self {
        let inside = |at: Moment| (from..=to).contains(&at);
        self.states.retain(|state| state.from < to && state.to > from);
        for state in &mut self.states {
            (state.from, state.to) = (state.from.max(from), state.to.min(to));
        }
        self.marks.retain(|mark| inside(mark.at));
        for mark in &mut self.marks {
            if let What::Image(_, until) = &mut mark.what {
                *until = until.min(to);
            }
        }
        self.arrows.retain(|arrow| inside(arrow.sent) && inside(arrow.received));
        self.waves.retain(|wave| wave.from < to && wave.to > from);
        for wave in &mut self.waves {
            (wave.from, wave.to) = (wave.from.max(from), wave.to.min(to));
        }
        self.gates.retain(|gate| inside(gate.from) && inside(gate.to));
        self
    }

    /// What a rank does at a moment.
    pub fn doing(&self, rank: usize, at: Moment) -> Option<Doing> {
        let is = |state: &&State| state.rank == rank && (state.from..=state.to).contains(&at);
        self.states.iter().find(is).map(|state| state.doing)
    }
}

/// Events whose ends are still to come, by their names.
#[derive(Debug, Default)]
struct Open {
    begun: BTreeMap<String, Value>,
}

fn doing(name: &str) -> Doing {
    match name {
        "computing" => Doing::Computing,
        "catching up" => Doing::Repeating,
        "dead" | "waiting" => Doing::Dead,
        _ => Doing::Away,
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use serde_json::json;

    /// Rank 1 dies, comes back and repeats; one message is sent again.
    pub fn example() -> String {
        let state = |name: &str, tid: u32, (from, to): (u32, u32), incarnation: u32| {
            json!({ "name": name, "cat": "state", "ph": "X", "ts": from, "dur": to - from, "pid": 1,
                    "tid": tid, "args": { "incarnation": incarnation } })
        };
        let flow = |id: u32, (sent, received): (f64, f64)| {
            let args = json!({ "from": 0, "to": 1, "number": 1, "bytes": 8 });
            let event = |ph: &str, ts: f64, tid: u32, args: &Value| {
                json!({ "name": "message", "cat": "message", "ph": ph, "ts": ts, "pid": 1,
                        "tid": tid, "id": format!("message {id}"), "args": args })
            };
            [event("s", sent, 0, &args), event("f", received, 1, &json!({ "held": false }))]
        };
        let mut events = vec![
            state("computing", 0, (0, 1000), 0),
            state("computing", 1, (0, 400), 0),
            state("dead", 1, (400, 450), 0),
            state("restoring", 1, (450, 700), 1),
            state("catching up", 1, (700, 800), 1),
            state("computing", 1, (800, 1000), 1),
            json!({ "name": "killed", "cat": "failure", "ph": "i", "s": "t", "ts": 400, "pid": 1,
                    "tid": 1, "args": { "cause": "killed by <9>", "image": 1, "replayed": 1 } }),
            json!({ "name": "image pause", "cat": "image", "ph": "X", "ts": 50, "dur": 20, "pid": 1,
                    "tid": 1, "args": { "image": 1 } }),
            json!({ "name": "determinants", "cat": "event", "ph": "i", "s": "t", "ts": 111,
                    "pid": 1, "tid": 1, "args": { "count": 1, "last": 1 } }),
        ];
        events.extend(flow(0, (100.0, 110.0)));
        events.extend(flow(1, (720.0, 720.0)));
        json!({
            "otherData": { "program": "ftmpiexec", "protocol": "pessimistic",
                           "messages": { "messages": 2, "lost": 0, "one_of": 1 } },
            "traceEvents": events,
        })
        .to_string()
    }

    #[test]
    fn a_file_is_read_with_arrows_and_marks() {
        let recording = Recording::read(&example()).unwrap();
        assert_eq!((recording.ranks, recording.arrows.len()), (2, 2));
        assert_eq!(recording.marks.len(), 3);
        assert_eq!(recording.doing(1, 720.0), Some(Doing::Repeating));
        assert!(recording.has_messages && recording.protocol == "pessimistic");
        let part = recording.between(300.0, 760.0);
        assert_eq!((part.arrows.len(), part.marks.len()), (1, 1));
        assert!(part.states.iter().all(|state| state.from >= 300.0 && state.to <= 760.0));
    }

    #[test]
    fn a_rank_that_no_job_has_is_refused() {
        let wrong = example().replace("\"tid\":1", "\"tid\":18446744073709551615");
        assert!(Recording::read(&wrong).is_err());
    }

    #[test]
    fn other_files_are_refused() {
        for text in ["", "[]", "{}", "{\"traceEvents\": []}"] {
            assert!(Recording::read(text).is_err(), "{text}");
        }
    }
}
