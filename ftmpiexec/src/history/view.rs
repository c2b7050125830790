//! The history of a job as files show it: times are seconds since the start of the launcher, or
//! milliseconds where the name says so.

use super::calls::Calls;
use super::{History, Image, LeftOut, Span, State, Subject};
use crate::call_spans::{CallSpan, thin};
use crate::tuning::trace::PAGE_SPANS_MAX;
use ftmpi_wire::Rank;
use ftmpi_wire::call_trace::Kind;
use serde::Serialize;
use std::time::Duration;

/// The history of a job.
#[derive(Debug, Serialize)]
pub struct Timeline {
    ranks: Vec<RankView>,
    images: Vec<ImageView>,
    waves: Vec<WaveView>,
    events: Vec<EventView>,
    /// With `--trace`: the longest calls of MPI, and an even choice of the others.
    calls: Vec<CallsView>,
    left_out: LeftOut,
}

#[derive(Debug, Serialize)]
struct CallsView {
    rank: Rank,
    spans: Vec<CallView>,
}

#[derive(Debug, Serialize)]
struct CallView {
    name: String,
    from_s: f64,
    to_s: f64,
    /// This call and the calls before it that are not shown.
    calls: u32,
}

#[derive(Debug, Serialize)]
struct RankView {
    rank: Rank,
    spans: Vec<SpanView>,
}

#[derive(Debug, Serialize)]
struct SpanView {
    state: State,
    from_s: f64,
    to_s: f64,
    /// Index of the host.
    host: u32,
    incarnation: u32,
}

#[derive(Debug, Serialize)]
struct ImageView {
    rank: Rank,
    image: u64,
    ordered_s: f64,
    /// When the rank went on.
    taken_s: Option<f64>,
    pause_ms: Option<f64>,
    /// When the image was durable, or was lost.
    ended_s: Option<f64>,
    bytes: u64,
    /// Why it was lost.
    lost: Option<String>,
}

#[derive(Debug, Serialize)]
struct WaveView {
    wave: u64,
    from_s: f64,
    to_s: f64,
    complete: bool,
    bytes: u64,
}

#[derive(Debug, Serialize)]
struct EventView {
    at_s: f64,
    subject: Subject,
    rank: Option<Rank>,
    text: String,
}

/// Time of all ranks in each state. The sum is the number of ranks times the duration of the job.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize)]
pub struct RankTime {
    /// The program computed, sent and received.
    pub running_s: f64,
    /// Images stopped the program.
    pub image_pauses_s: f64,
    /// Sends waited for the event logger.
    pub gate_waits_s: f64,
    /// The process had ended, and that was not known.
    pub dead_s: f64,
    /// A new process started from an image, or from the start of the program.
    pub restoring_s: f64,
    /// What an earlier incarnation had done was repeated.
    pub catching_up_s: f64,
    /// A living rank was ended, because it had to return to an earlier state.
    pub stopping_s: f64,
    /// Waiting for a host, and starting.
    pub starting_s: f64,
    /// The program had ended, and others ran.
    pub done_s: f64,
}

/// Seconds, with microseconds.
pub fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e6
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

/// Each span with its end: the begin of the next one, or the end of the history.
pub fn with_ends(
    spans: impl Iterator<Item = Span>,
    end: Duration,
) -> impl Iterator<Item = (Span, Duration)> {
    let mut spans = spans.peekable();
    std::iter::from_fn(move || {
        let span = spans.next()?;
        let to = spans.peek().map_or(end, |next| next.from);
        Some((span, to.max(span.from)))
    })
}

impl Timeline {
    /// The history until `end`.
    pub fn new((history, calls): (&History, &Calls), ranks: usize, end: Duration) -> Self {
        let of_rank = |rank: Rank| RankView {
            rank,
            spans: with_ends(history.spans(rank), end).map(SpanView::new).collect(),
        };
        Self {
            ranks: (0..ranks as u32).map(Rank).map(of_rank).collect(),
            images: history.images().map(ImageView::new).collect(),
            waves: history
                .waves()
                .map(|wave| WaveView {
                    wave: wave.wave.0,
                    from_s: seconds(wave.from),
                    to_s: seconds(wave.to),
                    complete: wave.complete,
                    bytes: wave.bytes,
                })
                .collect(),
            events: history
                .events()
                .map(|event| EventView {
                    at_s: seconds(event.at),
                    subject: event.subject,
                    rank: event.rank,
                    text: event.text.clone(),
                })
                .collect(),
            calls: calls_of(calls, ranks),
            left_out: history.left_out(),
        }
    }
}

fn calls_of(calls: &Calls, ranks: usize) -> Vec<CallsView> {
    let room = PAGE_SPANS_MAX / ranks.max(1);
    let of_rank = |rank: Rank| {
        let all = calls.of(rank).iter().map(|call| call.span);
        let (spans, _) = thin(all.filter(|span| span.kind == Kind::Call as u8).collect(), room);
        let view = |span: &CallSpan| CallView {
            name: calls.name(span).to_owned(),
            from_s: seconds(Duration::from_nanos(span.begin_ns)),
            to_s: seconds(Duration::from_nanos(span.begin_ns + span.length_ns)),
            calls: span.calls,
        };
        CallsView { rank, spans: spans.iter().map(view).collect() }
    };
    let views = (0..ranks as u32).map(Rank).map(of_rank);
    views.filter(|view| !view.spans.is_empty()).collect()
}

impl SpanView {
    fn new((span, to): (Span, Duration)) -> Self {
        Self {
            state: span.state,
            from_s: seconds(span.from),
            to_s: seconds(to),
            host: span.host,
            incarnation: span.incarnation.0,
        }
    }
}

impl ImageView {
    fn new(image: &Image) -> Self {
        Self {
            rank: image.rank,
            image: image.image.0,
            ordered_s: seconds(image.ordered),
            taken_s: image.taken.map(|(at, _)| seconds(at)),
            pause_ms: image.taken.map(|(_, pause)| milliseconds(pause)),
            ended_s: image.ended.map(seconds),
            bytes: image.bytes,
            lost: image.lost.clone(),
        }
    }
}

impl RankTime {
    /// The time until `end`. Pauses of images and waits for the event logger are part of the time
    /// in which ranks run; those of incarnations that died may be missing.
    pub fn new(history: &History, end: Duration, pauses: Duration, gate_waits: Duration) -> Self {
        let total = |state| history.total(state, end);
        let running = total(State::Running);
        let pauses = pauses.min(running);
        let gate_waits = gate_waits.min(running - pauses);
        Self {
            running_s: seconds(running - pauses - gate_waits),
            image_pauses_s: seconds(pauses),
            gate_waits_s: seconds(gate_waits),
            dead_s: seconds(total(State::Dead)),
            restoring_s: seconds(total(State::Restoring)),
            catching_up_s: seconds(total(State::CatchingUp)),
            stopping_s: seconds(total(State::Stopping)),
            starting_s: seconds(total(State::Waiting) + total(State::Starting)),
            done_s: seconds(total(State::Done)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_protocols::dispatcher::Activity;
    use ftmpi_wire::{ImageNo, Incarnation};

    const S: Duration = Duration::from_secs(1);

    fn history() -> History {
        let mut history = History::new(2);
        for rank in [Rank(0), Rank(1)] {
            history.rank_is(Duration::ZERO, rank, (0, Incarnation(0)), Activity::Starting);
            history.rank_is(S, rank, (0, Incarnation(0)), Activity::Running);
        }
        history.image_ordered(2 * S, Rank(1), ImageNo(1));
        history.image_taken(3 * S, Rank(1), ImageNo(1), S / 2);
        history.event(4 * S, Subject::Failure, Some(Rank(1)), "</script>");
        history
    }

    #[test]
    fn spans_end_where_the_next_begin_and_the_last_with_the_job() {
        let view =
            serde_json::to_value(Timeline::new((&history(), &Calls::default()), 2, 5 * S)).unwrap();
        let spans = &view["ranks"][1]["spans"];
        assert_eq!(spans[0]["to_s"], spans[1]["from_s"]);
        assert_eq!(spans[1]["to_s"], 5.0);
        assert_eq!(spans[1]["state"], "running");
        assert_eq!(view["images"][0]["pause_ms"], 500.0);
        assert_eq!(view["images"][0]["ended_s"], serde_json::Value::Null);
        assert_eq!(view["events"][0]["subject"], "failure");
    }

    #[test]
    fn the_time_of_all_ranks_adds_up() {
        let time = RankTime::new(&history(), 5 * S, S / 2, S);
        assert_eq!((time.running_s, time.image_pauses_s, time.gate_waits_s), (6.5, 0.5, 1.0));
        assert_eq!(time.starting_s, 2.0);
        let more = RankTime::new(&history(), 5 * S, 7 * S, 7 * S);
        assert_eq!((more.running_s, more.image_pauses_s, more.gate_waits_s), (0.0, 7.0, 1.0));
    }
}
