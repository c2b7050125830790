//! The calls of MPI in a job, as agents tell them (`--trace`).
//!
//! Guarantees: memory is bounded ([`crate::tuning::trace`]). Each span says for how many calls it
//! stands. Sums contain all calls. Times count from the start of the launcher: each host's clock is
//! compared with the launcher's at every report, and the quickest report counts.

use super::messages::Messages;
use super::view::seconds;
use crate::call_spans::{CallReport, CallSpan, thin};
use crate::tuning::trace::{CLOCK_JUMP_NS, SPANS_MAX, SPANS_RANK_MIN};
use ftmpi_wire::{Incarnation, Rank};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// A span of a rank. Its begin is nanoseconds since the start of the launcher.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// What and when.
    pub span: CallSpan,
    /// Of this incarnation.
    pub incarnation: Incarnation,
}

impl AsMut<CallSpan> for Call {
    fn as_mut(&mut self) -> &mut CallSpan {
        &mut self.span
    }
}

/// Calls of one function.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    calls: u64,
    ns: u64,
    longest_ns: u64,
}

#[derive(Debug, Default)]
struct OfRank {
    incarnation: Incarnation,
    /// For each name of this incarnation its index in [`Calls::names`].
    names: Vec<u16>,
    spans: Vec<Call>,
    /// One of so many (a power of two) spans is kept, and those that are longer than `long_ns`.
    one_of: u32,
    long_ns: u64,
    seen: u32,
    /// Calls of spans that were not kept since the last one that was, by kind.
    left_out: [u32; 8],
    sums: BTreeMap<u16, Sum>,
    lost: u64,
}

/// All calls.
#[derive(Debug, Default)]
pub struct Calls {
    names: Vec<String>,
    ranks: Vec<OfRank>,
    /// What the launcher's clock is ahead of that of a host.
    ahead_ns: BTreeMap<u32, i64>,
    messages: Messages,
}

/// Where the time of a rank in MPI went.
#[derive(Debug, Clone, Serialize)]
pub struct MpiTime {
    rank: Rank,
    /// The longest first.
    calls: Vec<TimeOfCall>,
}

#[derive(Debug, Clone, Serialize)]
struct TimeOfCall {
    name: String,
    /// Estimated where calls came fast.
    calls: u64,
    time_s: f64,
    longest_ms: f64,
}

/// How much of the calls spans show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Shown {
    /// Calls of all ranks, estimated where they came fast.
    pub calls: u64,
    /// Spans for them.
    pub spans: u64,
    /// Records that were overwritten before the agent read them.
    pub records_lost: u64,
}

impl Calls {
    /// A report of a rank on this host.
    pub fn take(
        &mut self,
        now: Duration,
        (host, rank, incarnation): (u32, Rank, Incarnation),
        report: CallReport,
    ) {
        let room = (SPANS_MAX / self.ranks.len().max(rank.index() + 1)).max(SPANS_RANK_MIN);
        if self.ranks.len() <= rank.index() {
            self.ranks.resize_with(rank.index() + 1, OfRank::default);
        }
        let ahead = self.ahead(now, host, report.now_ns);
        let new: Vec<u16> = report.names.iter().map(|name| self.index_of(name)).collect();
        self.messages.take(rank, incarnation, ahead, &report.messages);
        let of_rank = &mut self.ranks[rank.index()];
        if of_rank.incarnation != incarnation {
            of_rank.incarnation = incarnation;
            of_rank.names.clear();
        }
        of_rank.names.extend(new);
        of_rank.lost += report.lost;
        for sum in report.sums {
            let Some(name) = of_rank.names.get(usize::from(sum.name)) else { continue };
            let known = of_rank.sums.entry(*name).or_default();
            known.calls = known.calls.saturating_add(sum.calls);
            known.ns = known.ns.saturating_add(sum.ns);
            known.longest_ns = known.longest_ns.max(sum.longest_ns);
        }
        for span in report.spans {
            let name = of_rank.names.get(usize::from(span.name)).copied().unwrap_or(u16::MAX);
            let begin_ns = span.begin_ns.saturating_add_signed(ahead);
            of_rank.add(Call { span: CallSpan { begin_ns, name, ..span }, incarnation });
        }
        of_rank.make_room(room);
    }

    /// What the launcher's clock is ahead of the host's: the quickest report shows it best.
    fn ahead(&mut self, now: Duration, host: u32, host_ns: u64) -> i64 {
        let seen = (now.as_nanos() as i64).wrapping_sub(host_ns as i64);
        let known = self.ahead_ns.entry(host).or_insert(seen);
        if seen < *known || seen.wrapping_sub(*known) > CLOCK_JUMP_NS {
            *known = seen;
        }
        *known
    }

    fn index_of(&mut self, name: &str) -> u16 {
        let known = self.names.iter().position(|known| known == name);
        let index = known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        u16::try_from(index).unwrap_or(u16::MAX)
    }

    /// The name of the function of a span.
    pub fn name(&self, span: &CallSpan) -> &str {
        self.names.get(usize::from(span.name)).map_or("?", String::as_str)
    }

    /// Spans of a rank, in the order of their ends.
    pub fn of(&self, rank: Rank) -> &[Call] {
        self.ranks.get(rank.index()).map_or(&[], |of_rank| &of_rank.spans)
    }

    /// Messages, with `--trace-messages`.
    pub fn messages(&self) -> &Messages {
        &self.messages
    }

    /// Time in MPI of each rank that has told any.
    pub fn times(&self) -> Vec<MpiTime> {
        let of_rank = |(rank, of_rank): (usize, &OfRank)| {
            let mut sums: Vec<(u16, Sum)> =
                of_rank.sums.iter().map(|(n, sum)| (*n, *sum)).collect();
            sums.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.ns));
            let of_call = |(name, sum): (u16, Sum)| TimeOfCall {
                name: self.names.get(usize::from(name)).cloned().unwrap_or_default(),
                calls: sum.calls,
                time_s: seconds(Duration::from_nanos(sum.ns)),
                longest_ms: (sum.longest_ns as f64 / 1e3).round() / 1e3,
            };
            MpiTime { rank: Rank(rank as u32), calls: sums.into_iter().map(of_call).collect() }
        };
        let mut times: Vec<MpiTime> = self.ranks.iter().enumerate().map(of_rank).collect();
        times.retain(|time| !time.calls.is_empty());
        times
    }

    /// How much of the calls spans show.
    pub fn shown(&self) -> Shown {
        use ftmpi_wire::call_trace::Kind;
        let is_call = |call: &&Call| call.span.kind == Kind::Call as u8;
        Shown {
            calls: self.ranks.iter().flat_map(|of| of.sums.values()).map(|sum| sum.calls).sum(),
            spans: self.ranks.iter().map(|of| of.spans.iter().filter(is_call).count() as u64).sum(),
            records_lost: self.ranks.iter().map(|of| of.lost).sum(),
        }
    }
}

impl OfRank {
    fn add(&mut self, mut call: Call) {
        use ftmpi_wire::call_trace::Kind;
        let kind = usize::from(call.span.kind).min(self.left_out.len() - 1);
        self.seen = self.seen.wrapping_add(1);
        let is_long = call.span.length_ns > self.long_ns || call.span.kind == Kind::Image as u8;
        if self.one_of > 1 && !self.seen.is_multiple_of(self.one_of) && !is_long {
            self.left_out[kind] = self.left_out[kind].saturating_add(call.span.calls);
            return;
        }
        let before = std::mem::take(&mut self.left_out[kind]);
        call.span.calls = call.span.calls.saturating_add(before);
        self.spans.push(call);
    }

    fn make_room(&mut self, room: usize) {
        if self.spans.len() <= room {
            return;
        }
        // What comes from now on is thinned like what is there.
        let (spans, long_ns) = thin(std::mem::take(&mut self.spans), room / 2);
        (self.spans, self.long_ns) = (spans, long_ns);
        self.one_of = (2 * self.one_of.max(1)).min(1 << 30);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_spans::CallSum;
    use ftmpi_wire::call_trace::{Kind, NO_PEER};

    const S: u64 = 1_000_000_000;

    fn report(second: u64, names: &[&str], spans: u64) -> CallReport {
        let span = |at: u64| CallSpan {
            kind: Kind::Call as u8,
            name: (at % 2) as u16,
            calls: 3,
            begin_ns: second * S + at * 1000,
            length_ns: 10 + at,
            peer: NO_PEER,
            value: 0,
        };
        CallReport {
            now_ns: (second + 1) * S,
            names: names.iter().map(ToString::to_string).collect(),
            spans: (0..spans).map(span).collect(),
            sums: vec![CallSum { name: 1, calls: 3 * spans, ns: S / 2, longest_ns: 70 }],
            messages: Vec::new(),
            lost: 1,
        }
    }

    #[test]
    fn names_belong_to_an_incarnation_and_times_are_those_of_the_launcher() {
        let mut calls = Calls::default();
        let rank = Rank(1);
        let at = |seconds: u64, ms: u64| Duration::from_millis(1000 * seconds + ms);
        // The host's clock is 100 s ahead, and the second report is the quicker one.
        let first = report(100, &["MPI_Send", "MPI_Recv"], 2);
        calls.take(at(1, 50), (0, rank, Incarnation(0)), first);
        calls.take(at(2, 10), (0, rank, Incarnation(0)), report(101, &[], 2));
        calls.take(
            at(3, 10),
            (0, rank, Incarnation(1)),
            report(102, &["MPI_Bcast", "MPI_Send"], 1),
        );
        let spans = calls.of(rank);
        let names: Vec<&str> = spans.iter().map(|call| calls.name(&call.span)).collect();
        assert_eq!(names, ["MPI_Send", "MPI_Recv", "MPI_Send", "MPI_Recv", "MPI_Bcast"]);
        let begins: Vec<u64> = spans.iter().map(|call| call.span.begin_ns / 1_000_000).collect();
        assert_eq!(begins, [50, 50, 1010, 1010, 2010]);
        let times = serde_json::to_value(calls.times()).unwrap();
        assert_eq!(times[0]["rank"], 1);
        assert_eq!(times[0]["calls"][0]["name"], "MPI_Recv");
        assert_eq!(
            (&times[0]["calls"][0]["calls"], &times[0]["calls"][0]["time_s"]),
            (&12.into(), &1.0.into())
        );
        assert_eq!(times[0]["calls"][1]["name"], "MPI_Send");
        assert_eq!(calls.shown(), Shown { calls: 15, spans: 5, records_lost: 3 });
        assert!(calls.of(Rank(7)).is_empty());
    }

    #[test]
    fn memory_is_bounded_and_what_is_kept_is_spread_over_the_run() {
        let mut calls = Calls::default();
        // Many ranks: each has little room.
        calls.ranks.resize_with(SPANS_MAX / SPANS_RANK_MIN, OfRank::default);
        let rounds = 500;
        for second in 0..rounds {
            let names: &[&str] = if second == 0 { &["MPI_Send", "MPI_Recv"] } else { &[] };
            let now = Duration::from_secs(second + 1);
            calls.take(now, (0, Rank(0), Incarnation(0)), report(second, names, 8));
        }
        let spans = calls.of(Rank(0));
        assert!(spans.len() <= SPANS_RANK_MIN && spans.len() >= SPANS_RANK_MIN / 4);
        let late = |call: &&Call| call.span.begin_ns > rounds * S / 2;
        let late = spans.iter().filter(late).count();
        assert!((spans.len() / 5..=spans.len() * 4 / 5).contains(&late), "{late} {}", spans.len());
        let stand_for: u64 = spans.iter().map(|call| u64::from(call.span.calls)).sum();
        assert!(stand_for > 3 * 8 * rounds * 9 / 10 && stand_for <= 3 * 8 * rounds, "{stand_for}");
        assert_eq!(calls.shown().calls, 3 * 8 * rounds);
    }
}
