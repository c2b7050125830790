//! Messages as flows of a trace, which viewers draw as arrows: from the moment when a message left
//! to the moment when it came. Markers of waves are flows, too; determinants on their way to the
//! event logger, and messages that were lost, are instant events.

use super::{TraceEvent, event};
use crate::history::calls::Call;
use crate::history::messages::Message;
use crate::history::{Span, State};
use ftmpi_wire::Rank;
use ftmpi_wire::call_trace::Kind;
use serde_json::{Value, json};
use std::time::Duration;

/// The states of all ranks, with their ends.
pub type States = [Vec<(Span, Duration)>];

/// The track of a rank at a time: ranks move.
fn track(states: &States, rank: Rank, at: Duration) -> (u32, u32) {
    let of_rank = states.get(rank.index()).map_or(&[][..], Vec::as_slice);
    let next = of_rank.partition_point(|(span, _)| span.from <= at);
    let host = of_rank.get(next.saturating_sub(1)).map_or(0, |(span, _)| span.host);
    (host + 1, rank.0)
}

/// Adds the events of these messages.
pub fn flows(messages: &[Message], states: &States, events: &mut Vec<TraceEvent>) {
    for (index, message) in messages.iter().enumerate() {
        let sent = Duration::from_nanos(message.sent_ns);
        let from = track(states, message.from, sent);
        let name = match message.marker {
            true => format!("marker of wave {}", message.number),
            false => "message".to_owned(),
        };
        let cat = if message.marker { "marker" } else { "message" };
        let args = json!({
            "from": message.from, "to": message.to, "number": message.number, "bytes": message.bytes,
            "incarnation": message.incarnation,
        });
        let Some(received) = message.received_ns.map(Duration::from_nanos) else {
            let name = format!("lost with rank {}", message.to);
            let lost = event(name, cat, "i", sent, from);
            events.push(TraceEvent { s: Some("t"), args, ..lost });
            continue;
        };
        let to = track(states, message.to, received);
        let id = Some(format!("message {index}"));
        let leaves = event(name.clone(), cat, "s", sent, from);
        events.push(TraceEvent { id: id.clone(), args, ..leaves });
        let comes = event(name, cat, "f", received, to);
        let args = json!({ "held": message.held });
        events.push(TraceEvent { id, bp: Some("e"), args, ..comes });
    }
}

/// Adds when determinants of a rank left for the event logger.
pub fn determinants(rank: Rank, calls: &[Call], states: &States, events: &mut Vec<TraceEvent>) {
    for call in calls.iter().filter(|call| call.span.kind == Kind::Logged as u8) {
        let at = Duration::from_nanos(call.span.begin_ns);
        let lives = |(span, to): &(Span, Duration)| {
            span.incarnation == call.incarnation && span.state != State::Done && at <= *to
        };
        if !states.get(rank.index()).is_some_and(|of_rank| of_rank.iter().any(lives)) {
            continue;
        }
        let args: Value = json!({ "count": call.span.calls, "last": call.span.value });
        let logged = event("determinants".to_owned(), "event", "i", at, track(states, rank, at));
        events.push(TraceEvent { s: Some("t"), args, ..logged });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_wire::Incarnation;

    fn states() -> Vec<Vec<(Span, Duration)>> {
        let ms = Duration::from_millis;
        let span = |host, from| {
            let state = State::Running;
            Span { state, from: ms(from), host, incarnation: Incarnation(host) }
        };
        vec![
            vec![(span(0, 0), ms(100))],
            // It moves.
            vec![(span(0, 0), ms(50)), (span(1, 50), ms(100))],
        ]
    }

    fn message(received_ns: Option<u64>) -> Message {
        Message {
            from: Rank(0),
            to: Rank(1),
            number: 4,
            bytes: 8,
            marker: false,
            held: false,
            sent_ns: 10_000_000,
            received_ns,
            incarnation: Incarnation(0),
        }
    }

    #[test]
    fn a_flow_begins_at_the_sender_and_ends_on_the_host_of_the_receiver() {
        let mut events = Vec::new();
        let marker = Message { marker: true, received_ns: Some(20_000_000), ..message(None) };
        flows(&[message(Some(60_000_000)), marker, message(None)], &states(), &mut events);
        let seen: Vec<(&str, &str, u32, u32)> =
            events.iter().map(|e| (e.ph, e.cat, e.pid, e.tid)).collect();
        let expected = [
            ("s", "message", 1, 0),
            ("f", "message", 2, 1),
            ("s", "marker", 1, 0),
            ("f", "marker", 1, 1),
            ("i", "message", 1, 0),
        ];
        assert_eq!(seen, expected);
        assert_eq!(events[0].id, events[1].id);
        assert_ne!(events[0].id, events[2].id);
        assert_eq!(events[4].name, "lost with rank 1");
    }
}
