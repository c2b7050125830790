//! Memory of schedules, kept between operations.
//!
//! Guarantees: a repeated small collective allocates nothing; what is kept is bounded, since it is
//! part of every process image.

use super::schedule::Step;
use crate::usermem::{Scratch, UserPtr};

/// Smallest size that is kept, as a power of two.
const SMALLEST_BITS: u32 = 6;
/// Largest size that is kept (16 MiB), as a power of two.
const LARGEST_BITS: u32 = 24;
const CLASSES: usize = (LARGEST_BITS - SMALLEST_BITS + 1) as usize;
/// Buffers kept of one size.
const KEPT_PER_CLASS: usize = 8;
/// Bytes kept in all.
const KEPT_BYTES_MAX: usize = 32 << 20;
/// Lists of steps kept.
const KEPT_LISTS: usize = 8;

/// The address of a buffer that is lent to steps or requests. Whoever calls this keeps the buffer
/// until they are done, and makes no slice of it meanwhile.
pub(crate) fn lend(scratch: &mut Scratch) -> UserPtr {
    // SAFETY: the contract above; within this crate the owners are schedules, requests and blocking
    // calls, which give a buffer back only when nothing is under way any more.
    unsafe { scratch.ptr() }
}

/// Buffers and lists that are not in use.
#[derive(Default)]
pub struct Pool {
    free: [Vec<Scratch>; CLASSES],
    kept_bytes: usize,
    lists: Vec<(Vec<Step>, Vec<Scratch>)>,
}

/// The class whose buffers hold `len` bytes, if it is kept.
fn class(len: usize) -> Option<usize> {
    let bits = len.max(1).next_power_of_two().trailing_zeros().max(SMALLEST_BITS);
    (bits <= LARGEST_BITS).then_some((bits - SMALLEST_BITS) as usize)
}

impl Pool {
    /// A buffer of at least `len` bytes with any contents.
    pub fn take(&mut self, len: usize) -> Scratch {
        let Some(class) = class(len) else { return Scratch::new(len) };
        if let Some(scratch) = self.free[class].pop() {
            self.kept_bytes -= scratch.len();
            return scratch;
        }
        Scratch::new(1 << (class as u32 + SMALLEST_BITS))
    }

    /// Takes a buffer back.
    pub fn give_back(&mut self, scratch: Scratch) {
        let len = scratch.len();
        if let Some(class) = class(len)
            && len.is_power_of_two()
            && self.free[class].len() < KEPT_PER_CLASS
            && self.kept_bytes + len <= KEPT_BYTES_MAX
        {
            self.kept_bytes += len;
            self.free[class].push(scratch);
        }
    }

    /// Empty lists for a new schedule.
    pub fn take_lists(&mut self) -> (Vec<Step>, Vec<Scratch>) {
        self.lists.pop().unwrap_or_default()
    }

    /// Takes empty lists back.
    pub fn give_back_steps(&mut self, steps: Vec<Step>, scratch: Vec<Scratch>) {
        debug_assert!(steps.is_empty() && scratch.is_empty());
        if self.lists.len() < KEPT_LISTS && steps.capacity() <= 4096 {
            self.lists.push((steps, scratch));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_come_back_and_stay_bounded() {
        let mut pool = Pool::default();
        let a = pool.take(100);
        assert_eq!(a.len(), 128);
        pool.give_back(a);
        assert_eq!(pool.kept_bytes, 128);
        assert_eq!(pool.take(65).len(), 128);
        assert_eq!(pool.kept_bytes, 0);
        for _ in 0..10 {
            pool.give_back(Scratch::new(16 << 20));
        }
        assert_eq!(pool.kept_bytes, 32 << 20);
        assert!(pool.take((16 << 20) + 1).len() > 16 << 20);
    }
}
