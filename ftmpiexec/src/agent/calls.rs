//! What ranks record of their calls (`--trace`), on its way from their rings to the launcher.
//!
//! Guarantees: the launcher hears a bounded number of spans of each rank, and the sums over all.
//! Each span says how many calls are before it that the launcher does not hear of.

use super::page::Page;
use crate::call_spans::{CallReport, CallSpan, CallSum, thin};
use crate::message_ends::{self, MessageEnd};
use crate::tuning::trace::{
    MESSAGE_ENDS_A_SPAN, SPANS_A_SECOND, SPANS_A_SECOND_MIN, SPANS_A_SECOND_RANK,
};
use ftmpi_wire::Rank;
use ftmpi_wire::call_trace::{Kind, Reader, Record, WORDS};
use ftmpi_wire::status::PAGE_BYTES;
use std::collections::BTreeMap;

/// The reader of the ring of one incarnation.
#[derive(Debug, Default)]
pub struct CallCollector {
    reader: Reader,
    /// Names that the launcher has.
    names_told: usize,
    lost_told: u64,
}

impl CallCollector {
    /// What rank `me` has recorded since the last time, with `room` spans and some times as many
    /// ends of messages; none: nothing.
    pub fn collect(&mut self, page: &Page, me: Rank, room: usize) -> Option<CallReport> {
        const FIRST: usize = PAGE_BYTES / 8;
        if page.words() < FIRST + WORDS {
            return None;
        }
        let (mut spans, mut messages) = (Vec::new(), Vec::new());
        let mut sums: BTreeMap<u16, CallSum> = BTreeMap::new();
        self.reader.take(
            |index| page.get(FIRST + index),
            |record| {
                if record.kind == Kind::Call {
                    let sum = sums.entry(record.name).or_default();
                    sum.name = record.name;
                    sum.calls += u64::from(record.weight);
                    let weight = u64::from(record.weight);
                    sum.ns = sum.ns.saturating_add(record.length_ns.saturating_mul(weight));
                    sum.longest_ns = sum.longest_ns.max(record.length_ns);
                }
                match MessageEnd::of(&record) {
                    Some(end) => messages.push(end),
                    None => spans.push(span(&record)),
                }
            },
        );
        let lost = self.reader.lost() - std::mem::replace(&mut self.lost_told, self.reader.lost());
        if spans.is_empty() && messages.is_empty() && lost == 0 {
            return None;
        }
        let (spans, _) = thin(spans, room);
        message_ends::thin(&mut messages, me.0, MESSAGE_ENDS_A_SPAN * room);
        let names = self.reader.names()[self.names_told..].to_vec();
        self.names_told += names.len();
        let now_ns = monotonic_ns();
        let sums = sums.into_values().collect();
        Some(CallReport { now_ns, names, spans, sums, messages, lost })
    }
}

/// Spans of a rank that the launcher hears of in a second, where the host has so many ranks.
pub fn room(ranks: usize) -> usize {
    (SPANS_A_SECOND / ranks.max(1)).clamp(SPANS_A_SECOND_MIN, SPANS_A_SECOND_RANK)
}

fn span(record: &Record) -> CallSpan {
    let Record { kind, name, calls, begin_ns, length_ns, peer, value, .. } = *record;
    CallSpan { kind: kind as u8, name, calls, begin_ns, length_ns, peer, value }
}

fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_wire::call_trace::{self, NO_PEER, Writer};
    use std::sync::atomic::AtomicU64;

    #[test]
    fn what_a_rank_records_is_collected_once() {
        let (page, fd) = Page::create(true).unwrap();
        let words: Vec<AtomicU64> = (0..call_trace::WORDS).map(|_| AtomicU64::new(0)).collect();
        let mut writer = Writer::new(&words).unwrap();
        let mut collector = CallCollector::default();
        assert_eq!(collector.collect(&page, Rank(0), 10), None);
        writer.name("MPI_Recv");
        let call = |number: u64| Record {
            kind: Kind::Call,
            name: 0,
            weight: 3,
            calls: 3,
            begin_ns: 100 * number,
            length_ns: 10,
            peer: NO_PEER,
            value: 0,
        };
        (0..30).for_each(|number| writer.write(&call(number)));
        for number in 0..30 {
            writer.write(&Record { kind: Kind::Sent, peer: 1, value: number, ..call(number) });
        }
        for (index, word) in words.iter().enumerate() {
            let bytes = word.load(std::sync::atomic::Ordering::Relaxed).to_ne_bytes();
            if bytes != [0; 8] {
                rustix::io::pwrite(&fd, &bytes, (PAGE_BYTES + 8 * index) as u64).unwrap();
            }
        }
        let report = collector.collect(&page, Rank(0), 10).unwrap();
        assert_eq!(report.names, ["MPI_Recv"]);
        assert!(report.spans.len() <= 10);
        let shown = report.messages.len();
        assert!((1..=30).contains(&shown) && report.messages.iter().all(|end| !end.received));
        assert_eq!(report.sums, [CallSum { name: 0, calls: 90, ns: 900, longest_ns: 10 }]);
        assert_eq!(collector.collect(&page, Rank(0), 10), None);
        let (plain, _) = Page::create(false).unwrap();
        assert_eq!(CallCollector::default().collect(&plain, Rank(0), 10), None);
    }
}
