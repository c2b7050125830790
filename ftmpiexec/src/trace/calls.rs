//! What a rank recorded of its calls, as events of a trace: calls and pauses of images as spans
//! within the rank's states, waits for the event logger as asynchronous spans.
//!
//! Guarantees: spans of a track nest. Where calls of several threads overlap, they are on tracks of
//! their own. A call that goes on in the next state of its rank is cut where the state changes.

use super::{TraceEvent, asynchronous, event, microseconds};
use crate::history::calls::{Call, Calls};
use crate::history::{Image, Span, State};
use ftmpi_wire::Rank;
use ftmpi_wire::call_trace::{Kind, NO_PEER};
use serde_json::{Map, Value};
use std::time::Duration;

/// Tracks of one rank: more threads than this are not told apart.
const LANES_MAX: usize = 16;
/// The number of the track of a rank's further threads: this times the thread, and the rank.
pub const LANE: u32 = 10_000_000;

/// A span on its way to a track. Times are whole microseconds.
#[derive(Debug, Clone)]
struct Item {
    from: u64,
    to: u64,
    /// A pause of an image: it is cut where it does not fit, since it may come from another clock.
    pause: bool,
    event: TraceEvent,
}

/// The calls and pauses of one rank.
#[derive(Debug)]
pub struct CallsOf<'a> {
    pub rank: Rank,
    pub calls: &'a [Call],
    /// Images of the rank that were taken.
    pub images: &'a [&'a Image],
    /// All calls, which know the names of functions.
    pub all: &'a Calls,
}

impl CallsOf<'_> {
    /// The events within these states; the result says how many tracks they use.
    pub fn events(&self, states: &[(Span, Duration)], events: &mut Vec<TraceEvent>) -> usize {
        let mut lanes_used = 1;
        for &(state, to) in states {
            if state.state == State::Done {
                continue;
            }
            let (from_us, to_us) = (whole(state.from), whole(to));
            let mut items: Vec<Item> = self
                .calls
                .iter()
                .filter(|call| call.incarnation == state.incarnation)
                .filter_map(|call| self.item(call, (from_us, to_us)))
                .collect();
            self.pauses_of_the_launcher((state, to), &mut items);
            items.sort_by_key(|item| (item.from, std::cmp::Reverse(item.to)));
            lanes_used = lanes_used.max(lay_out(items, (state.host + 1, self.rank.0), events));
        }
        self.gates(states, events);
        lanes_used
    }

    fn item(&self, call: &Call, (from, to): (u64, u64)) -> Option<Item> {
        let span = &call.span;
        let pause = span.kind == Kind::Image as u8;
        if !pause && span.kind != Kind::Call as u8 {
            return None;
        }
        // A rank may have written anything.
        let end_ns = span.begin_ns.saturating_add(span.length_ns);
        let (begin, end) = (span.begin_ns / 1000, end_ns / 1000);
        if begin >= to || end < from || (end == from && begin < end) {
            return None;
        }
        let (name, cat) = match pause {
            true => ("image pause", "image"),
            false => (self.all.name(span), "mpi"),
        };
        let at = Duration::from_micros(begin.max(from));
        let event = TraceEvent {
            args: self.arguments(call),
            ..event(name.to_owned(), cat, "X", at, (0, 0))
        };
        Some(Item { from: begin.max(from), to: end.min(to), pause, event })
    }

    fn arguments(&self, call: &Call) -> Value {
        let (span, mut args) = (&call.span, Map::new());
        args.insert("us".into(), (span.length_ns as f64 / 1e3).into());
        if span.kind == Kind::Image as u8 {
            args.insert("image".into(), span.value.into());
            return Value::Object(args);
        }
        args.insert("calls".into(), span.calls.into());
        if span.peer != NO_PEER {
            args.insert("peer".into(), span.peer.into());
        }
        if span.value > 0 {
            args.insert("bytes".into(), span.value.into());
        }
        Value::Object(args)
    }

    /// Pauses that the rank did not record itself.
    fn pauses_of_the_launcher(&self, (span, to): (Span, Duration), items: &mut Vec<Item>) {
        if !matches!(span.state, State::Running | State::CatchingUp) {
            return;
        }
        let recorded = |image: &Image| {
            let of_image = |call: &&Call| call.span.kind == Kind::Image as u8;
            self.calls.iter().filter(of_image).any(|call| call.span.value == image.image.0)
        };
        let mut calls: Vec<(u64, u64)> = items.iter().map(|item| (item.from, item.to)).collect();
        calls.sort_unstable();
        let mut free = whole(span.from);
        for image in self.images {
            let Some((taken, pause)) = image.taken else { continue };
            // The report of a pause may come after that of the death of its rank.
            let from = whole(taken.saturating_sub(pause)).max(free);
            let mut until = whole(taken.min(to));
            let inside = calls.partition_point(|(begin, _)| *begin <= from);
            let crossing = calls[inside..].iter().take_while(|(begin, _)| *begin < until);
            if let Some((begin, _)) = crossing.clone().find(|(_, end)| *end > until) {
                until = *begin;
            }
            if from >= until || recorded(image) {
                continue;
            }
            free = until;
            let mut args = Map::new();
            args.insert("image".into(), image.image.0.into());
            let at = Duration::from_micros(from);
            let event = event("image pause".to_owned(), "image", "X", at, (0, 0));
            let event = TraceEvent { args: Value::Object(args), ..event };
            items.push(Item { from, to: until, pause: true, event });
        }
    }

    /// Waits for the event logger: the program may go on meanwhile.
    fn gates(&self, states: &[(Span, Duration)], events: &mut Vec<TraceEvent>) {
        let gates = self.calls.iter().filter(|call| call.span.kind == Kind::Gate as u8);
        for (number, gate) in gates.enumerate() {
            let of_incarnation = |(state, _): &&(Span, Duration)| {
                state.incarnation == gate.incarnation && state.state != State::Done
            };
            let Some((state, _)) = states.iter().find(of_incarnation) else { continue };
            let from = Duration::from_nanos(gate.span.begin_ns);
            let to = from + Duration::from_nanos(gate.span.length_ns);
            let track = (state.host + 1, self.rank.0);
            let id = format!("gate {}.{number}", self.rank);
            let mut args = Map::new();
            args.insert("to".into(), gate.span.peer.into());
            args.insert("waits".into(), gate.span.calls.into());
            let name = "wait for the event logger".to_owned();
            asynchronous(events, name, (id, "gate"), (from, to), (track, Value::Object(args)));
        }
    }
}

/// Puts spans onto as few tracks as let them nest. The result is how many that are.
fn lay_out(items: Vec<Item>, (pid, tid): (u32, u32), events: &mut Vec<TraceEvent>) -> usize {
    let mut lanes: Vec<Vec<u64>> = vec![Vec::new()];
    for mut item in items {
        let fits = |open: &mut Vec<u64>, to: u64| {
            open.retain(|end| *end > item.from);
            open.last().is_none_or(|outer| to <= *outer)
        };
        let mut lane = 0;
        while !fits(&mut lanes[lane], item.to) {
            if item.pause || lane + 1 == LANES_MAX {
                item.to = *lanes[lane].last().unwrap_or(&item.to);
                break;
            }
            lane += 1;
            if lane == lanes.len() {
                lanes.push(Vec::new());
            }
        }
        lanes[lane].push(item.to);
        let dur = Some((item.to - item.from) as f64);
        events.push(TraceEvent { pid, tid: tid + LANE * lane as u32, dur, ..item.event });
    }
    lanes.len()
}

fn whole(time: Duration) -> u64 {
    microseconds(time) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_spans::CallSpan;
    use ftmpi_wire::{ImageNo, Incarnation};
    use serde_json::json;

    fn us(number: u64) -> Duration {
        Duration::from_micros(number)
    }

    fn call(kind: Kind, (from_us, to_us): (u64, u64)) -> Call {
        let span = CallSpan {
            kind: kind as u8,
            name: 0,
            calls: 4,
            begin_ns: from_us * 1000,
            length_ns: (to_us - from_us) * 1000,
            peer: 3,
            value: 1,
        };
        Call { span, incarnation: Incarnation(0) }
    }

    fn events(calls: &[Call], images: &[&Image]) -> (Vec<TraceEvent>, usize) {
        let state = |state, from| Span { state, from, host: 0, incarnation: Incarnation(0) };
        let states = [
            (state(State::CatchingUp, us(100)), us(500)),
            (state(State::Running, us(500)), us(1000)),
        ];
        let all = Calls::default();
        let of = CallsOf { rank: Rank(2), calls, images, all: &all };
        let mut events = Vec::new();
        let lanes = of.events(&states, &mut events);
        (events, lanes)
    }

    /// Track, begin, end.
    fn times(events: &[TraceEvent]) -> Vec<(u32, u64, u64)> {
        let spans = events.iter().filter(|event| event.ph == "X");
        let end = |event: &TraceEvent| (event.ts + event.dur.unwrap()) as u64;
        spans.map(|event| (event.tid, event.ts as u64, end(event))).collect()
    }

    #[test]
    fn a_call_is_cut_where_the_state_changes_and_at_the_ends() {
        let calls = [
            call(Kind::Call, (50, 200)),
            call(Kind::Call, (400, 600)),
            call(Kind::Call, (950, 2000)),
        ];
        let (events, lanes) = events(&calls, &[]);
        let expected = [(2, 100, 200), (2, 400, 500), (2, 500, 600), (2, 950, 1000)];
        assert_eq!((times(&events), lanes), (expected.to_vec(), 1));
        assert_eq!(events[0].args, json!({ "us": 150.0, "calls": 4, "peer": 3, "bytes": 1 }));
    }

    #[test]
    fn a_call_of_any_numbers_is_no_reason_to_panic() {
        let mut beyond = call(Kind::Call, (500, 600));
        (beyond.span.begin_ns, beyond.span.length_ns) = (u64::MAX - 5, u64::MAX);
        let mut long = call(Kind::Call, (600, 700));
        long.span.length_ns = u64::MAX;
        let (events, _) = events(&[beyond, long], &[]);
        assert_eq!(times(&events), [(2, 600, 1000)]);
    }

    #[test]
    fn calls_of_several_threads_are_on_tracks_of_their_own() {
        let calls = [
            call(Kind::Call, (510, 700)),
            call(Kind::Call, (600, 800)),
            call(Kind::Call, (700, 710)),
        ];
        let (events, lanes) = events(&calls, &[]);
        assert_eq!(lanes, 2);
        assert_eq!(times(&events), [(2, 510, 700), (2 + LANE, 600, 800), (2, 700, 710)]);
    }

    #[test]
    fn pauses_nest_in_calls_whoever_tells_them() {
        let image = |number, taken| Image {
            rank: Rank(2),
            image: ImageNo(number),
            ordered: us(0),
            taken: Some((us(taken), us(50))),
            ended: None,
            bytes: 0,
            lost: None,
        };
        // The first is recorded by the rank, the second ends in a call by the launcher's clock, the
        // third begins in a call.
        let images = [image(1, 560), image(2, 720), image(3, 920)];
        let calls = [
            call(Kind::Image, (520, 540)),
            call(Kind::Call, (510, 600)),
            call(Kind::Call, (700, 800)),
            call(Kind::Call, (850, 900)),
        ];
        let (events, lanes) = events(&calls, &images.iter().collect::<Vec<_>>());
        assert_eq!(lanes, 1);
        let pauses: Vec<TraceEvent> = events.iter().filter(|e| e.cat == "image").cloned().collect();
        assert_eq!(times(&pauses), [(2, 520, 540), (2, 670, 700), (2, 870, 900)]);
    }

    #[test]
    fn a_gate_is_an_asynchronous_span() {
        let (events, _) = events(&[call(Kind::Gate, (510, 700))], &[]);
        let phases: Vec<&str> = events.iter().map(|event| event.ph).collect();
        assert_eq!(phases, ["b", "e"]);
        assert_eq!(events[0].args, json!({ "to": 3, "waits": 4 }));
    }
}
