//! What agents tell the launcher of the calls of their ranks (`--trace`), and a bounded choice of
//! spans: the longest, and an even choice of the others.

use crate::message_ends::MessageEnd;
use crate::tuning::trace::LONGEST_PART;
use serde::{Deserialize, Serialize};

/// What a rank has recorded of its calls since the last report of its incarnation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallReport {
    /// The clock of the host now: the times of spans are of this clock.
    pub now_ns: u64,
    /// Names of functions that are new. Spans and sums count names from the first report on.
    pub names: Vec<String>,
    /// The longest, and an even choice of the others, in the order of their ends.
    pub spans: Vec<CallSpan>,
    /// Sums over all calls, estimated where only some of them were recorded.
    pub sums: Vec<CallSum>,
    /// Ends of messages, with `--trace-messages`.
    pub messages: Vec<MessageEnd>,
    /// Records that were overwritten before the agent read them.
    pub lost: u64,
}

/// A part of a rank's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSpan {
    /// [`ftmpi_wire::call_trace::Kind`]
    pub kind: u8,
    /// Of the function.
    pub name: u16,
    /// This call and the calls before it that no span is for.
    pub calls: u32,
    /// When it began.
    pub begin_ns: u64,
    /// How long it took.
    pub length_ns: u64,
    /// The other rank, if one is known (`NO_PEER`).
    pub peer: u32,
    /// Bytes, or the number of an image.
    pub value: u64,
}

/// Calls of one function.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSum {
    /// Of the function.
    pub name: u16,
    /// How many.
    pub calls: u64,
    /// Their time.
    pub ns: u64,
    /// The longest that was recorded.
    pub longest_ns: u64,
}

/// Leaves so many spans. What counts the calls of spans that are left out is the next span of the
/// same kind. Also the length from which on spans were kept for their length.
pub fn thin<T: AsMut<CallSpan>>(mut spans: Vec<T>, room: usize) -> (Vec<T>, u64) {
    let room = room.max(1);
    if spans.len() <= room {
        return (spans, u64::MAX);
    }
    let mut lengths: Vec<u64> = spans.iter_mut().map(|span| span.as_mut().length_ns).collect();
    let longest = (room / LONGEST_PART).clamp(1, lengths.len());
    let (_, limit, _) = lengths.select_nth_unstable_by(longest - 1, |a, b| b.cmp(a));
    let limit = *limit;
    // Of those that are as long as the limit only some are among the longest.
    let longer =
        spans.iter_mut().filter_map(|span| (span.as_mut().length_ns > limit).then_some(()));
    let (mut equal_left, others) = (longest - longer.count(), spans.len() - longest);
    let others_room = room - longest;
    let mut kept = Vec::with_capacity(room);
    let mut left_out = [0u32; 256];
    // Adds up to `others` for each span that is kept.
    let mut share = 0;
    for mut item in spans {
        let span = item.as_mut();
        let is_equal = span.length_ns == limit && equal_left > 0;
        equal_left -= usize::from(is_equal);
        let keep = if is_equal || span.length_ns > limit {
            true
        } else {
            share += others_room;
            let keep = share >= others;
            share -= if keep { others } else { 0 };
            keep
        };
        let before = &mut left_out[usize::from(span.kind)];
        if keep {
            span.calls = span.calls.saturating_add(std::mem::take(before));
            kept.push(item);
        } else {
            *before = before.saturating_add(span.calls);
        }
    }
    (kept, limit)
}

impl AsMut<Self> for CallSpan {
    fn as_mut(&mut self) -> &mut Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_wire::call_trace::{Kind, NO_PEER};

    fn call(begin_ns: u64, length_ns: u64) -> CallSpan {
        let kind = Kind::Call as u8;
        CallSpan { kind, name: 0, calls: 2, begin_ns, length_ns, peer: NO_PEER, value: 0 }
    }

    #[test]
    fn the_longest_and_an_even_choice_are_kept_and_all_calls_are_counted() {
        let length = |at: u64| if at % 100 == 17 { 1_000_000 + at } else { at % 7 };
        let spans: Vec<CallSpan> = (0..1000).map(|at| call(10 * at, length(at))).collect();
        let (kept, limit) = thin(spans.clone(), 100);
        assert_eq!(limit, 6);
        assert!((90..=100).contains(&kept.len()), "{}", kept.len());
        assert_eq!(kept.iter().filter(|span| span.length_ns >= 1_000_000).count(), 10);
        assert!(kept.is_sorted_by_key(|span| span.begin_ns));
        let first_half = kept.iter().filter(|span| span.begin_ns < 5000).count();
        assert!((40..=65).contains(&first_half), "{first_half}");
        let counted: u32 = kept.iter().map(|span| span.calls).sum();
        let behind = (10_000 - kept.last().unwrap().begin_ns) as u32 / 10 - 1;
        assert_eq!(counted, 2 * (1000 - behind));
        assert_eq!(thin(spans.clone(), 1000).0, spans);
        assert_eq!(thin(spans, 1).0.len(), 1);
        let equal: Vec<CallSpan> = (0..1000).map(|at| call(at, 5)).collect();
        assert_eq!(thin(equal, 100).0.len(), 100);
    }
}
