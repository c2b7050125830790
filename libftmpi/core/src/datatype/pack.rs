//! Copying between typed buffers and packed streams (MPI-4.1, 5.2).
//!
//! The packed stream of `count` values is the bytes of their typemaps, one after the other. All
//! copies work on any range of the stream. A message can be packed into a ring piece by piece, and
//! a truncated one unpacked as far as it goes.

use super::Datatype;
use crate::error::{ErrorClass, Result};
use crate::tuning::COPY_PIECE_BYTES;
use crate::usermem::{Gather, RunVisitor, Scatter, Scratch, UserPtr};

impl Datatype {
    /// The length of the range from `from` that lies inside the stream of `count` values and is not
    /// longer than `limit`.
    fn clamp(&self, count: u64, from: u64, limit: usize) -> usize {
        let total = self.size().saturating_mul(count);
        total.saturating_sub(from).min(limit as u64) as usize
    }

    /// Shows `visitor` where the bytes `from..to` of the stream of `count` values lie, in order,
    /// relative to the buffer. The range is cut to the stream.
    pub fn for_each_run<V: RunVisitor>(&self, count: u64, from: u64, to: u64, visitor: &mut V) {
        let to = from + self.clamp(count, from, to.saturating_sub(from) as usize) as u64;
        if from >= to {
            return;
        }
        if self.is_contiguous() {
            let disp = self.0.true_lb.wrapping_add(from as i64);
            visitor.run(disp, (to - from) as usize);
        } else if count == 1 {
            self.0.layout.walk(0, from, to, visitor);
        } else {
            self.0.layout.walk_copies(self.extent(), self.size(), 0, from, to, visitor);
        }
    }

    /// Packs the stream of `count` values at `buffer`, from byte `from` of the stream on, into
    /// `out`. Returns how many bytes were written: less than `out` holds only at the stream's end.
    pub fn pack(&self, buffer: UserPtr, count: u64, from: u64, out: &mut [u8]) -> usize {
        let len = self.clamp(count, from, out.len());
        if self.is_contiguous() {
            let disp = self.0.true_lb.wrapping_add(from as i64);
            buffer.offset(disp).read(&mut out[..len]);
            return len;
        }
        let mut gather = Gather::new(buffer, &mut out[..len]);
        self.for_each_run(count, from, from + len as u64, &mut gather);
        gather.filled()
    }

    /// Packs `len` bytes of the stream from `from` on and appends them to `out`. Returns how many
    /// bytes that were (less than `len` only at the stream's end).
    pub fn pack_append(
        &self,
        buffer: UserPtr,
        count: u64,
        from: u64,
        len: usize,
        out: &mut Vec<u8>,
    ) -> usize {
        let len = self.clamp(count, from, len);
        if self.is_contiguous() {
            buffer.offset(self.0.true_lb.wrapping_add(from as i64)).append_to(len, out);
            return len;
        }
        Gather::append(buffer, len, out, |gather| {
            self.for_each_run(count, from, from + len as u64, gather);
        });
        len
    }

    /// The whole stream of `count` values.
    #[must_use]
    pub fn packed(&self, buffer: UserPtr, count: u64) -> Vec<u8> {
        let mut out = Vec::new();
        self.pack_append(buffer, count, 0, usize::MAX, &mut out);
        out
    }

    /// Unpacks `data`, which is the stream from byte `from` on, into `count` values at `buffer`.
    /// Returns how many bytes had room: less than `data` only at the stream's end.
    pub fn unpack(&self, buffer: UserPtr, count: u64, from: u64, data: &[u8]) -> usize {
        let len = self.clamp(count, from, data.len());
        if self.is_contiguous() {
            buffer.offset(self.0.true_lb.wrapping_add(from as i64)).write(&data[..len]);
            return len;
        }
        let mut scatter = Scatter::new(buffer, &data[..len]);
        self.for_each_run(count, from, from + len as u64, &mut scatter);
        len
    }

    /// A buffer of our own for `count` values of this type.
    pub fn scratch(&self, count: u64) -> Result<TypedScratch> {
        let span = self.span(count).and_then(|(low, high)| {
            // Keeps the values as aligned as they are in a buffer of the program.
            let low = low.div_euclid(16).checked_mul(16)?;
            Some((low, usize::try_from(high.checked_sub(low)?).ok()?))
        });
        let Some((low, len)) = span else {
            return Err(ErrorClass::NoMem
                .because(format!("{count} values of the datatype do not fit into memory")));
        };
        Ok(TypedScratch { low, bytes: Scratch::new(len) })
    }
}

/// A buffer of our own that holds typed values.
#[derive(Debug)]
pub struct TypedScratch {
    low: i64,
    bytes: Scratch,
}

impl TypedScratch {
    /// The address that the displacements of the values are relative to.
    ///
    /// # Safety
    /// As for [`Scratch::ptr`]: the result must not be used after this buffer was dropped.
    #[must_use]
    pub unsafe fn base(&mut self) -> UserPtr {
        // SAFETY: passed on to the caller; no slice of the scratch is held here.
        unsafe { self.bytes.ptr() }.offset(-self.low)
    }
}

/// Copies `source_count` values of `source_type` to `target_count` values of `target_type`, as a
/// message to oneself would. Returns the bytes copied: the shorter of both streams.
pub fn copy(
    source: UserPtr,
    source_count: u64,
    source_type: &Datatype,
    target: UserPtr,
    target_count: u64,
    target_type: &Datatype,
) -> u64 {
    let total = source_type
        .size()
        .saturating_mul(source_count)
        .min(target_type.size().saturating_mul(target_count));
    if total == 0 {
        return 0;
    }
    if let (Some((from, _)), Some((to, _))) =
        (source_type.block(source_count), target_type.block(target_count))
    {
        source.offset(from).copy_to(target.offset(to), total as usize);
        return total;
    }
    let mut piece = Vec::with_capacity(COPY_PIECE_BYTES.min(total as usize));
    let mut done = 0;
    while done < total {
        let len = COPY_PIECE_BYTES.min((total - done) as usize);
        piece.clear();
        source_type.pack_append(source, source_count, done, len, &mut piece);
        target_type.unpack(target, target_count, done, &piece);
        done += len as u64;
    }
    total
}
