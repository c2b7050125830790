//! Collective access in two phases: which process reads or writes which part of the file for the
//! others (Thakur, Gropp, Lusk: "Data sieving and collective I/O in ROMIO", 1999).
//!
//! If the pieces of several processes interleave, each process would touch the file in many small
//! pieces. Instead some of the processes (*nodes*) take a part of the range each, in windows. Every
//! process sends its pieces of a window to the window's node, or asks the node for them. The node
//! accesses the file in large runs.
//!
//! Guarantees: all processes that have the same offers come to the same plan. The windows of a plan
//! cover its range once. Nothing is written that no process asked for.

use crate::error::{ErrorClass, Result};
use crate::file::view::Run;
use crate::info::Info;
use crate::tuning::{
    IO_NODE_ALIGN, IO_SMALL_READ_BYTES, IO_SMALL_WRITE_BYTES, IO_SPARSE, IO_WINDOW_BYTES,
};

/// Bytes of an encoded [`Offer`].
pub const OFFER: usize = 48;
/// Bytes of an encoded [`Series`].
const SERIES: usize = 32;

/// When to access together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum When {
    /// Exchange, if the pieces of processes interleave and are small.
    #[default]
    Automatic,
    Always,
    Never,
}

/// The wishes of the program, from its hints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hints {
    nodes: u32,
    window: u64,
    read: When,
    write: When,
}

impl Hints {
    /// Reads `cb_nodes`, `cb_buffer_size`, `romio_cb_read` and `romio_cb_write`; what makes no
    /// sense counts as not given, as the standard wants it of hints.
    #[must_use]
    pub fn of(info: &Info) -> Self {
        let text = |key: &[u8]| {
            let value = info.get(key).ok().flatten()?;
            std::str::from_utf8(value).ok().map(str::trim)
        };
        let number = |key| text(key).and_then(|text| text.parse::<u64>().ok()).filter(|&n| n > 0);
        let when = |key| match text(key) {
            Some("enable") => When::Always,
            Some("disable") => When::Never,
            _ => When::Automatic,
        };
        Self {
            nodes: number(b"cb_nodes").map_or(0, |n| u32::try_from(n).unwrap_or(u32::MAX)),
            window: number(b"cb_buffer_size")
                .unwrap_or(IO_WINDOW_BYTES)
                .clamp(IO_NODE_ALIGN, 1 << 30),
            read: when(b"romio_cb_read"),
            write: when(b"romio_cb_write"),
        }
    }
}

/// What each process sends about its access before it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// The first byte and the one behind the last; equal: nothing.
    pub range: (u64, u64),
    /// Bytes of data between them.
    pub bytes: u64,
    /// Pieces that they lie in.
    pub runs: u64,
    /// It cannot take part: its arguments are wrong, or its pieces do not ascend, or it is alone
    /// with the file for the time of an access (atomic mode).
    pub alone: bool,
    /// Its hints; those of the first process count.
    pub hints: Hints,
}

/// Whether runs ascend and do not overlap.
#[must_use]
pub fn ascend(runs: &[Run]) -> bool {
    runs.is_sorted_by(|a, b| a.0 + a.1 as u64 <= b.0)
}

impl Offer {
    /// As bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; OFFER] {
        let way = |when| match when {
            When::Automatic => 0,
            When::Always => 1,
            When::Never => 2,
        };
        let mut out = [0; OFFER];
        out[..8].copy_from_slice(&self.range.0.to_le_bytes());
        out[8..16].copy_from_slice(&self.range.1.to_le_bytes());
        out[16..24].copy_from_slice(&self.hints.window.to_le_bytes());
        out[24..28].copy_from_slice(&self.hints.nodes.to_le_bytes());
        out[28] = u8::from(self.alone);
        out[29] = way(self.hints.read);
        out[30] = way(self.hints.write);
        out[32..40].copy_from_slice(&self.bytes.to_le_bytes());
        out[40..].copy_from_slice(&self.runs.to_le_bytes());
        out
    }

    /// From bytes.
    #[must_use]
    pub fn decode(bytes: &[u8; OFFER]) -> Self {
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        };
        let when = |byte| match byte {
            1 => When::Always,
            2 => When::Never,
            _ => When::Automatic,
        };
        let hints = Hints {
            nodes: word(24) as u32,
            window: word(16),
            read: when(bytes[29]),
            write: when(bytes[30]),
        };
        let (range, alone) = ((word(0), word(8)), bytes[28] != 0);
        Self { range, bytes: word(32), runs: word(40), alone, hints }
    }
}

/// The work of each process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    low: u64,
    high: u64,
    /// Bytes of the range that each node has.
    share: u64,
    window: u64,
    /// Processes that access the file.
    pub nodes: usize,
    size: usize,
}

impl Plan {
    /// The plan of all whose offers these are; `None`: each accesses the file alone.
    #[must_use]
    pub fn of(offers: &[Offer], write: bool) -> Option<Self> {
        let hints = offers.first()?.hints;
        let when = if write { hints.write } else { hints.read };
        if offers.len() < 2 || when == When::Never || offers.iter().any(|offer| offer.alone) {
            return None;
        }
        let mut ranges: Vec<(u64, u64)> =
            offers.iter().map(|offer| offer.range).filter(|range| range.0 < range.1).collect();
        ranges.sort_unstable();
        let low = ranges.first()?.0;
        let mut high = low;
        let mut interleaved = false;
        for range in &ranges {
            interleaved |= range.0 < high;
            high = high.max(range.1);
        }
        let sum = |of: fn(&Offer) -> u64| offers.iter().map(of).fold(0, u64::saturating_add);
        let (bytes, runs) = (sum(|offer| offer.bytes), sum(|offer| offer.runs).max(1));
        let small = bytes / runs < if write { IO_SMALL_WRITE_BYTES } else { IO_SMALL_READ_BYTES };
        if when != When::Always && !(interleaved && small) {
            return None;
        }
        // Few data far apart: the windows would be many and almost empty.
        if bytes < (high - low) / IO_SPARSE {
            return None;
        }
        let wanted = if hints.nodes == 0 { offers.len() } else { hints.nodes as usize };
        let nodes = wanted.min(offers.len());
        let share = (high - low).div_ceil(nodes as u64).next_multiple_of(IO_NODE_ALIGN);
        Some(Self { low, high, share, window: hints.window, nodes, size: offers.len() })
    }

    /// The rank of a node: they are dealt out evenly, for neighbours often share a machine.
    #[must_use]
    pub fn rank(&self, node: usize) -> usize {
        node * self.size / self.nodes
    }

    /// The node that this rank is.
    #[must_use]
    pub fn node(&self, rank: usize) -> Option<usize> {
        (0..self.nodes).find(|&node| self.rank(node) == rank)
    }

    /// How often pieces are exchanged.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.share.min(self.high - self.low + IO_NODE_ALIGN).div_ceil(self.window)
    }

    /// The part of a node's share that it handles in a round, from and to; empty behind its share.
    #[must_use]
    pub fn window(&self, node: usize, round: u64) -> (u64, u64) {
        // The first share begins at the boundary below, so that all others begin at one.
        let base = self.low - self.low % IO_NODE_ALIGN;
        let begin = base.saturating_add((node as u64).saturating_mul(self.share));
        let end = if node + 1 == self.nodes {
            self.high
        } else {
            begin.saturating_add(self.share).min(self.high)
        };
        let from = begin.saturating_add(round.saturating_mul(self.window));
        let last = node + 1 == self.nodes && round + 1 == self.rounds();
        let to = if last { end } else { from.saturating_add(self.window).min(end) };
        if from < to { (from, to) } else { (end, end) }
    }
}

/// A part of a run: where in the file, how long, and where in the packed data of its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Part {
    pub at: u64,
    pub len: usize,
    pub packed: u64,
}

/// Runs of one process, in order, with the places of their data.
pub struct Course<'a> {
    runs: &'a [Run],
    packed: Vec<u64>,
}

impl<'a> Course<'a> {
    /// The index of runs that ascend.
    #[must_use]
    pub fn new(runs: &'a [Run]) -> Self {
        let mut sum = 0;
        let begin = |run: &Run| {
            sum += run.1 as u64;
            sum - run.1 as u64
        };
        let packed = runs.iter().map(begin).collect();
        Self { runs, packed }
    }

    /// The part of it that lies in a window.
    pub fn within(&self, window: (u64, u64)) -> impl Iterator<Item = Part> + '_ {
        let first = self.runs.partition_point(|run| run.0 + run.1 as u64 <= window.0);
        let behind = self.runs.partition_point(|run| run.0 < window.1).max(first);
        (first..behind).map(move |i| {
            let (at, len) = self.runs[i];
            let from = at.max(window.0);
            let to = (at + len as u64).min(window.1);
            Part { at: from, len: (to - from) as usize, packed: self.packed[i] + (from - at) }
        })
    }
}

/// Pieces of the same length at the same distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Series {
    at: u64,
    len: u64,
    stride: u64,
    count: u64,
}

/// Appends a description of these parts: their number of series, then these.
pub fn describe(parts: impl Iterator<Item = Part>, out: &mut Vec<u8>) {
    let head = out.len();
    out.extend_from_slice(&[0; 8]);
    let mut number = 0u64;
    let mut current: Option<Series> = None;
    let write = |series: Series, out: &mut Vec<u8>| {
        for word in [series.at, series.len, series.stride, series.count] {
            out.extend_from_slice(&word.to_le_bytes());
        }
    };
    for part in parts {
        let len = part.len as u64;
        match &mut current {
            Some(series) if series.count == 1 && series.len == len => {
                series.stride = part.at - series.at;
                series.count = 2;
            }
            Some(series)
                if series.len == len && part.at == series.at + series.stride * series.count =>
            {
                series.count += 1;
            }
            _ => {
                if let Some(done) =
                    current.replace(Series { at: part.at, len, stride: len, count: 1 })
                {
                    write(done, out);
                    number += 1;
                }
            }
        }
    }
    if let Some(done) = current {
        write(done, out);
        number += 1;
    }
    out[head..head + 8].copy_from_slice(&number.to_le_bytes());
}

/// Reads a description: the runs, their bytes together, and what comes behind it. `window` is what
/// they must lie in.
pub fn described(bytes: &[u8], window: (u64, u64)) -> Result<(Vec<Run>, u64, &[u8])> {
    let broken = || ErrorClass::Intern.because("a description of an access to a file is damaged");
    let (head, mut rest) = bytes.split_first_chunk::<8>().ok_or_else(broken)?;
    let number = u64::from_le_bytes(*head);
    let (mut runs, mut sum) = (Vec::new(), 0u64);
    for _ in 0..number {
        let (series, behind) = rest.split_at_checked(SERIES).ok_or_else(broken)?;
        rest = behind;
        let words = series.as_chunks::<8>().0;
        let [at, len, stride, count] = [0, 1, 2, 3].map(|i| u64::from_le_bytes(words[i]));
        let reach = || stride.checked_mul(count.checked_sub(1)?)?.checked_add(at)?.checked_add(len);
        let fits = reach().is_some_and(|end| end <= window.1) && at >= window.0 && len > 0;
        if !fits || (count > 1 && stride < len) {
            return Err(broken());
        }
        sum += len * count;
        runs.extend((0..count).map(|i| (at + i * stride, len as usize)));
    }
    Ok((runs, sum, rest))
}

/// A run of a node's buffer: parts that touch or overlap, as one.
#[must_use]
pub fn merged(sorted: impl Iterator<Item = Run>, gap: u64) -> Vec<Run> {
    let mut out: Vec<Run> = Vec::new();
    for (at, len) in sorted {
        match out.last_mut() {
            Some(last) if at <= last.0 + last.1 as u64 + gap => {
                last.1 = last.1.max((at + len as u64 - last.0) as usize);
            }
            _ => out.push((at, len)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(from: u64, to: u64) -> Offer {
        Offer {
            range: (from, to),
            bytes: to - from,
            runs: (to - from) / 8,
            alone: false,
            hints: Hints::of(&Info::default()),
        }
    }

    fn hints(pairs: &[(&str, &str)]) -> Hints {
        let mut info = Info::new();
        for (key, value) in pairs {
            info.set(key.as_bytes(), value.as_bytes()).unwrap();
        }
        Hints::of(&info)
    }

    #[test]
    fn offers_come_back_and_decide() {
        let mut all = [offer(0, 1000), offer(10, 1010), offer(0, 0)];
        for given in all {
            assert_eq!(Offer::decode(&given.encode()), given);
        }
        assert!(Plan::of(&all, true).is_some());
        assert!(Plan::of(&[offer(0, 10), offer(10, 20)], true).is_none());
        all[0].hints = hints(&[("romio_cb_write", "disable")]);
        assert_eq!(Offer::decode(&all[0].encode()), all[0]);
        assert!(Plan::of(&all, true).is_none() && Plan::of(&all, false).is_some());
        all[0].hints = hints(&[("cb_nodes", "1"), ("cb_buffer_size", "nonsense")]);
        assert_eq!(Plan::of(&all, true).map(|plan| plan.nodes), Some(1));
        let far =
            [Offer { bytes: 10, ..offer(0, 1 << 30) }, Offer { bytes: 10, ..offer(5, 1 << 30) }];
        assert!(Plan::of(&far, true).is_none());
        let large = [Offer { runs: 1, ..offer(0, 1000) }, Offer { runs: 2, ..offer(10, 1010) }];
        assert!(Plan::of(&large, true).is_none());
        all[1].alone = true;
        assert!(Plan::of(&all, true).is_none());
        let mut apart = [offer(0, 10), offer(10, 20)];
        apart[0].hints = hints(&[("romio_cb_read", "enable")]);
        assert!(Plan::of(&apart, false).is_some() && Plan::of(&apart, true).is_none());
    }

    #[test]
    fn windows_cover_the_range_once() {
        let cases =
            [(0, 100_000), (5, 6), (4095, 4097), (1 << 40, (1 << 40) + 123_457), (9999, 40_000)];
        for (low, high) in cases {
            for size in 2..7 {
                for nodes in 1..=size {
                    let mut offers = vec![offer(low, high); size];
                    offers[0].hints =
                        hints(&[("cb_nodes", &nodes.to_string()), ("cb_buffer_size", "8192")]);
                    let plan = Plan::of(&offers, true).unwrap();
                    let mut windows: Vec<_> = (0..plan.nodes)
                        .flat_map(|node| (0..plan.rounds()).map(move |r| plan.window(node, r)))
                        .filter(|window| window.0 < window.1)
                        .collect();
                    windows.sort_unstable();
                    let mut at = windows[0].0;
                    assert!(at <= low && at + IO_NODE_ALIGN > low);
                    for window in windows {
                        assert_eq!(window.0, at, "{low} {high} {size} {nodes}");
                        at = window.1;
                    }
                    assert_eq!(at, high, "{low} {high} {size} {nodes}");
                    let ranks: Vec<_> = (0..nodes).map(|node| plan.rank(node)).collect();
                    assert!(ranks.is_sorted_by(|a, b| a < b) && ranks[nodes - 1] < size);
                }
            }
        }
    }

    #[test]
    fn descriptions_come_back_and_regular_ones_are_short() {
        let runs: Vec<Run> = (0..1000).map(|i| (100 + 24 * i, 8)).collect();
        let course = Course::new(&runs);
        let mut bytes = Vec::new();
        describe(course.within((0, 1 << 20)), &mut bytes);
        assert_eq!(bytes.len(), 8 + SERIES);
        bytes.extend_from_slice(b"data");
        let (back, sum, rest) = described(&bytes, (0, 1 << 20)).unwrap();
        assert_eq!((back, sum, rest), (runs.clone(), 8000, &b"data"[..]));
        let parts: Vec<Part> = course.within((104, 130)).collect();
        let cut = [Part { at: 104, len: 4, packed: 4 }, Part { at: 124, len: 6, packed: 8 }];
        assert_eq!(parts, cut);
        let uneven: Vec<Run> = vec![(0, 4), (6, 4), (12, 4), (20, 1), (30, 2)];
        bytes.clear();
        describe(Course::new(&uneven).within((0, 100)), &mut bytes);
        assert_eq!(described(&bytes, (0, 100)).unwrap().0, uneven);
        assert_eq!(merged(uneven.iter().copied(), 2), [(0, 16), (20, 1), (30, 2)]);
        assert!(ascend(&uneven) && !ascend(&[(5, 5), (9, 1)]));
    }

    #[test]
    fn damaged_descriptions_are_refused_or_stay_within_the_window() {
        let mut draw = 88172645463325252u64;
        let mut next = || {
            draw ^= draw << 13;
            draw ^= draw >> 7;
            draw ^= draw << 17;
            draw
        };
        for _ in 0..20_000 {
            let runs: Vec<Run> = (0..next() % 6)
                .map(|i| (100 * i + next() % 40, 1 + (next() % 50) as usize))
                .collect();
            let mut bytes = Vec::new();
            describe(Course::new(&runs).within((0, 1000)), &mut bytes);
            for _ in 0..1 + next() % 3 {
                let place = next() as usize % bytes.len();
                bytes[place] = next() as u8;
            }
            bytes.truncate(next() as usize % (2 * bytes.len()) + 1);
            if let Ok((runs, sum, _)) = described(&bytes, (0, 1000)) {
                assert!(runs.iter().all(|run| run.0 + run.1 as u64 <= 1000));
                assert_eq!(sum, runs.iter().map(|run| run.1 as u64).sum::<u64>());
            }
        }
    }
}
