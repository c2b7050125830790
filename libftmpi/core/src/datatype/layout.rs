//! Where the bytes of a datatype lie: a tree of loops over runs.
//!
//! A typemap may have billions of entries (a vector of vectors), so it is never expanded. A
//! [`Layout`] keeps loops as loops, joins neighbouring runs, and turns regular lists of runs into
//! loops. Parts are shared between types.
//!
//! Guarantees: runs are visited in the order of the typemap, for every range of the packed stream.
//! Entering in the middle costs the depth of the tree times a binary search, so that a pipeline can
//! pack piece by piece. Every displacement of a run fits an `i64`; construction fails otherwise.

use crate::error::{ErrorClass, Result};
use crate::tuning::LAYOUT_EXPAND_RUNS;
use crate::usermem::RunVisitor;
use std::sync::Arc;

/// A shape at a displacement.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    disp: i64,
    shape: Shape,
}

#[derive(Debug, Clone)]
enum Shape {
    Empty,
    Run { len: u64 },
    Strided { count: u64, stride: i64, len: u64 },
    Loop(Arc<Repeat>),
    Runs(Arc<Runs>),
    Seq(Arc<Seq>),
}

/// `count` copies of a body, `stride` bytes apart.
#[derive(Debug)]
struct Repeat {
    count: u64,
    stride: i64,
    body: Layout,
    /// Bytes of data in one copy.
    each: u64,
    /// Runs in all copies.
    runs: u64,
    bounds: (i64, i64),
}

/// An irregular list of runs.
#[derive(Debug)]
struct Runs {
    disps: Box<[i64]>,
    /// Position of each run in the packed stream; one more entry at the end: the size.
    starts: Box<[u64]>,
    bounds: (i64, i64),
}

/// One layout after the other.
#[derive(Debug)]
struct Seq {
    parts: Box<[Layout]>,
    /// Position of each part in the packed stream; one more entry at the end: the size.
    starts: Box<[u64]>,
    runs: u64,
    bounds: (i64, i64),
}

fn too_large() -> crate::error::MpiError {
    ErrorClass::Arg.because("the datatype does not fit the address space")
}

fn narrow(value: i128) -> Result<i64> {
    i64::try_from(value).map_err(|_| too_large())
}

impl Layout {
    /// No data.
    pub(super) const EMPTY: Layout = Layout { disp: 0, shape: Shape::Empty };

    /// One run of `len` bytes.
    pub(super) fn run(disp: i64, len: u64) -> Self {
        if len == 0 { Self::EMPTY } else { Self { disp, shape: Shape::Run { len } } }
    }

    /// Bytes of data.
    pub(super) fn size(&self) -> u64 {
        match &self.shape {
            Shape::Empty => 0,
            Shape::Run { len } => *len,
            Shape::Strided { count, len, .. } => count * len,
            Shape::Loop(node) => node.count * node.each,
            Shape::Runs(node) => node.starts[node.disps.len()],
            Shape::Seq(node) => node.starts[node.parts.len()],
        }
    }

    /// How many runs are visited in all.
    pub(super) fn runs(&self) -> u64 {
        match &self.shape {
            Shape::Empty => 0,
            Shape::Run { .. } => 1,
            Shape::Strided { count, .. } => *count,
            Shape::Loop(node) => node.runs,
            Shape::Runs(node) => node.disps.len() as u64,
            Shape::Seq(node) => node.runs,
        }
    }

    /// If the data is one run: its displacement and length.
    pub(super) fn single_run(&self) -> Option<(i64, u64)> {
        match self.shape {
            Shape::Run { len } => Some((self.disp, len)),
            _ => None,
        }
    }

    /// Displacement of the first byte and of the byte after the last one; `None` without data.
    pub(super) fn bounds(&self) -> Option<(i64, i64)> {
        let (low, high) = match &self.shape {
            Shape::Empty => return None,
            Shape::Run { len } => (0, *len as i64),
            Shape::Strided { count, stride, len } => {
                let reach = stride.wrapping_mul((count - 1) as i64);
                (reach.min(0), reach.max(0).wrapping_add(*len as i64))
            }
            Shape::Loop(node) => node.bounds,
            Shape::Runs(node) => node.bounds,
            Shape::Seq(node) => node.bounds,
        };
        Some((self.disp.wrapping_add(low), self.disp.wrapping_add(high)))
    }

    /// Whether every run begins at or behind the end of the one before it. The time depends on the
    /// description, not on the number of runs.
    pub(super) fn is_ascending(&self) -> bool {
        let apart = |count: u64, stride: i64, (low, high): (i64, i64)| {
            count < 2 || i128::from(stride) >= i128::from(high) - i128::from(low)
        };
        match &self.shape {
            Shape::Empty | Shape::Run { .. } => true,
            Shape::Strided { count, stride, len } => apart(*count, *stride, (0, *len as i64)),
            // An ascending layout begins at its lowest byte and ends at its highest.
            Shape::Loop(node) => {
                let bounds = node.body.bounds().unwrap_or_default();
                node.body.is_ascending() && apart(node.count, node.stride, bounds)
            }
            Shape::Runs(node) => node
                .disps
                .windows(2)
                .zip(node.starts.windows(2))
                .all(|(at, n)| i128::from(at[1]) >= i128::from(at[0]) + i128::from(n[1] - n[0])),
            Shape::Seq(node) => {
                let ends = |two: &[Self]| match (two[0].bounds(), two[1].bounds()) {
                    (Some(before), Some(behind)) => before.1 <= behind.0,
                    _ => true,
                };
                node.parts.iter().all(Self::is_ascending) && node.parts.windows(2).all(ends)
            }
        }
    }

    /// The same, `by` bytes further on.
    pub(super) fn shifted(&self, by: i64) -> Result<Self> {
        let Some((low, high)) = self.bounds() else { return Ok(Self::EMPTY) };
        narrow(i128::from(low) + i128::from(by))?;
        narrow(i128::from(high) + i128::from(by))?;
        Ok(Self { disp: self.disp.wrapping_add(by), shape: self.shape.clone() })
    }

    /// `count` copies, `stride` bytes apart.
    pub(super) fn repeated(&self, count: u64, stride: i64) -> Result<Self> {
        let Some((low, high)) = self.bounds() else { return Ok(Self::EMPTY) };
        if count == 0 {
            return Ok(Self::EMPTY);
        }
        if count == 1 {
            return Ok(self.clone());
        }
        let size = u128::from(self.size()) * u128::from(count);
        if size > i64::MAX as u128 {
            return Err(too_large());
        }
        // A distance outside of the address space is refused, also if both its ends are inside. So
        // every place between them is a product of `i64`s.
        let reach = i128::from(narrow(i128::from(stride) * i128::from(count - 1))?);
        let bounds =
            (narrow(i128::from(low) + reach.min(0))?, narrow(i128::from(high) + reach.max(0))?);
        let disp = self.disp;
        let shape = match &self.shape {
            Shape::Run { len } if stride == *len as i64 => Shape::Run { len: len * count },
            Shape::Run { len } => Shape::Strided { count, stride, len: *len },
            Shape::Strided { count: inner, stride: step, len }
                if i128::from(stride) == i128::from(*step) * i128::from(*inner) =>
            {
                Shape::Strided { count: inner * count, stride: *step, len: *len }
            }
            Shape::Loop(node)
                if i128::from(stride) == i128::from(node.stride) * i128::from(node.count) =>
            {
                return node.body.shifted(disp)?.repeated(node.count * count, node.stride);
            }
            _ if self.runs().saturating_mul(count) <= LAYOUT_EXPAND_RUNS => {
                let mut builder = Builder::new();
                for i in 0..count {
                    builder.push(&self.shifted(stride * i as i64)?);
                }
                return builder.finish();
            }
            _ => Shape::Loop(Arc::new(Repeat {
                count,
                stride,
                body: Self { disp: 0, shape: self.shape.clone() },
                each: self.size(),
                runs: self.runs().saturating_mul(count),
                bounds: (bounds.0.wrapping_sub(disp), bounds.1.wrapping_sub(disp)),
            })),
        };
        Ok(Self { disp, shape })
    }

    /// Shows `visitor` the bytes `from..to` of the packed stream of one copy, displaced by `at`.
    pub(super) fn walk<V: RunVisitor>(&self, at: i64, from: u64, to: u64, visitor: &mut V) {
        debug_assert!(from < to && to <= self.size());
        let at = at.wrapping_add(self.disp);
        match &self.shape {
            Shape::Empty => {}
            Shape::Run { .. } => visitor.run(at.wrapping_add(from as i64), (to - from) as usize),
            Shape::Strided { stride, len, .. } => {
                walk_strided(*stride, *len, at, from, to, visitor);
            }
            Shape::Loop(node) => {
                node.body.walk_copies(node.stride, node.each, at, from, to, visitor)
            }
            Shape::Runs(node) => node.walk(at, from, to, visitor),
            Shape::Seq(node) => node.walk(at, from, to, visitor),
        }
    }

    /// Shows `visitor` the bytes `from..to` of the packed stream of many copies, `stride` apart,
    /// of `each` bytes of data.
    pub(super) fn walk_copies<V: RunVisitor>(
        &self,
        stride: i64,
        each: u64,
        at: i64,
        from: u64,
        to: u64,
        visitor: &mut V,
    ) {
        if let Shape::Run { len } = self.shape {
            return walk_strided(stride, len, at.wrapping_add(self.disp), from, to, visitor);
        }
        let place = |i: u64| at.wrapping_add(stride.wrapping_mul(i as i64));
        let (mut first, skip) = (from / each, from % each);
        let (last, rest) = (to / each, to % each);
        if skip > 0 {
            let end = if first == last { rest } else { each };
            self.walk(place(first), skip, end, visitor);
            if first == last {
                return;
            }
            first += 1;
        }
        for i in first..last {
            self.walk(place(i), 0, each, visitor);
        }
        if rest > 0 {
            self.walk(place(last), 0, rest, visitor);
        }
    }
}

/// Shows the bytes `from..to` of runs of `len` bytes, `stride` apart.
fn walk_strided<V: RunVisitor>(
    stride: i64,
    len: u64,
    at: i64,
    from: u64,
    to: u64,
    visitor: &mut V,
) {
    let place = |i: u64| at.wrapping_add(stride.wrapping_mul(i as i64));
    let (mut first, skip) = (from / len, from % len);
    let (last, rest) = (to / len, to % len);
    if skip > 0 {
        let end = if first == last { rest } else { len };
        visitor.run(place(first).wrapping_add(skip as i64), (end - skip) as usize);
        if first == last {
            return;
        }
        first += 1;
    }
    if first < last {
        visitor.strided(place(first), stride, len as usize, (last - first) as usize);
    }
    if rest > 0 {
        visitor.run(place(last), rest as usize);
    }
}

/// The index of the entry of `starts` that holds stream position `from`.
fn entry_at(starts: &[u64], from: u64) -> usize {
    if from == 0 { 0 } else { starts.partition_point(|&start| start <= from) - 1 }
}

impl Runs {
    fn walk<V: RunVisitor>(&self, at: i64, from: u64, to: u64, visitor: &mut V) {
        let mut position = from;
        for i in entry_at(&self.starts, from)..self.disps.len() {
            let end = self.starts[i + 1].min(to);
            let disp =
                at.wrapping_add(self.disps[i]).wrapping_add((position - self.starts[i]) as i64);
            visitor.run(disp, (end - position) as usize);
            position = end;
            if position == to {
                break;
            }
        }
    }
}

impl Seq {
    fn walk<V: RunVisitor>(&self, at: i64, from: u64, to: u64, visitor: &mut V) {
        let mut position = from;
        for i in entry_at(&self.starts, from)..self.parts.len() {
            let start = self.starts[i];
            let end = self.starts[i + 1].min(to);
            self.parts[i].walk(at, position - start, end - start, visitor);
            position = end;
            if position == to {
                break;
            }
        }
    }
}

/// Builds a layout from parts in the order of the typemap, joining what touches.
pub(super) struct Builder {
    /// Runs since the last part.
    runs: Vec<(i64, u64)>,
    parts: Vec<Layout>,
    size: u128,
}

/// Collects visited runs into a builder.
struct Collect<'a>(&'a mut Builder);

impl RunVisitor for Collect<'_> {
    fn run(&mut self, disp: i64, len: usize) {
        self.0.push_run(disp, len as u64);
    }
}

impl Builder {
    pub(super) fn new() -> Self {
        Self { runs: Vec::new(), parts: Vec::new(), size: 0 }
    }

    fn push_run(&mut self, disp: i64, len: u64) {
        match self.runs.last_mut() {
            Some((last, length)) if last.wrapping_add(*length as i64) == disp => *length += len,
            _ => self.runs.push((disp, len)),
        }
    }

    /// Appends a part.
    pub(super) fn push(&mut self, layout: &Layout) {
        let size = layout.size();
        if size == 0 {
            return;
        }
        self.size += u128::from(size);
        if layout.runs() <= LAYOUT_EXPAND_RUNS {
            layout.walk(0, 0, size, &mut Collect(self));
        } else {
            self.flush();
            self.parts.push(layout.clone());
        }
    }

    /// Turns the runs since the last part into a part.
    fn flush(&mut self) {
        let runs = std::mem::take(&mut self.runs);
        let Some(&(first, len)) = runs.first() else { return };
        if runs.len() == 1 {
            self.parts.push(Layout::run(first, len));
            return;
        }
        // In 128 bits: two runs may be farther apart than an `i64` can say.
        let stride = i128::from(runs[1].0) - i128::from(first);
        let regular = i64::try_from(stride * (runs.len() as i128 - 1)).is_ok()
            && runs.iter().enumerate().all(|(i, run)| {
                run.1 == len && i128::from(run.0) == i128::from(first) + stride * i as i128
            });
        if regular {
            let shape = Shape::Strided { count: runs.len() as u64, stride: stride as i64, len };
            self.parts.push(Layout { disp: first, shape });
            return;
        }
        let mut starts = Vec::with_capacity(runs.len() + 1);
        let mut position = 0;
        let (mut low, mut high) = (i64::MAX, i64::MIN);
        for &(disp, len) in &runs {
            starts.push(position);
            position += len;
            low = low.min(disp);
            high = high.max(disp.wrapping_add(len as i64));
        }
        starts.push(position);
        let node = Runs {
            disps: runs.iter().map(|run| run.0).collect(),
            starts: starts.into(),
            bounds: (low, high),
        };
        self.parts.push(Layout { disp: 0, shape: Shape::Runs(Arc::new(node)) });
    }

    /// The layout of all parts.
    pub(super) fn finish(mut self) -> Result<Layout> {
        if self.size > i64::MAX as u128 {
            return Err(too_large());
        }
        self.flush();
        if self.parts.len() <= 1 {
            return Ok(self.parts.pop().unwrap_or(Layout::EMPTY));
        }
        let mut starts = Vec::with_capacity(self.parts.len() + 1);
        let mut position = 0;
        let mut runs = 0u64;
        let (mut low, mut high) = (i64::MAX, i64::MIN);
        for part in &self.parts {
            starts.push(position);
            position += part.size();
            runs = runs.saturating_add(part.runs());
            if let Some(bounds) = part.bounds() {
                low = low.min(bounds.0);
                high = high.max(bounds.1);
            }
        }
        starts.push(position);
        let node =
            Seq { parts: self.parts.into(), starts: starts.into(), runs, bounds: (low, high) };
        Ok(Layout { disp: 0, shape: Shape::Seq(Arc::new(node)) })
    }
}
