//! Memory of schedules, kept between operations.
//!
//! Guarantees: a repeated small collective allocates nothing; what is kept is bounded, since it is
//! part of every process image.

use super::step::{Awaited, Step};
use crate::ids::ReqId;
use crate::tuning::{
    POOL_KEPT_BYTES_MAX, POOL_KEPT_LISTS, POOL_KEPT_PER_CLASS, POOL_KEPT_STEPS, POOL_LARGEST_BITS,
    POOL_SMALLEST_BITS,
};
use crate::usermem::{Scratch, UserPtr};

const CLASSES: usize = (POOL_LARGEST_BITS - POOL_SMALLEST_BITS + 1) as usize;

/// The address of a buffer for steps or requests. The caller keeps the buffer until they are done,
/// and makes no slice of it meanwhile.
pub(crate) fn address_of(scratch: &mut Scratch) -> UserPtr {
    // SAFETY: the contract above. Within this crate the owners are schedules, requests and blocking
    // calls, which give a buffer back only when nothing is under way any more.
    unsafe { scratch.ptr() }
}

/// The lists of an operation without a schedule.
#[derive(Default)]
pub struct ShortLists {
    /// Receives that the next fence carries out.
    pub awaited: Vec<Awaited>,
    /// Sends that are not complete.
    pub sends: Vec<ReqId>,
    /// Memory of the operation.
    pub scratch: Vec<Scratch>,
}

/// Buffers and lists that are not in use.
#[derive(Default)]
pub struct Pool {
    short: ShortLists,
    free: [Vec<Scratch>; CLASSES],
    kept_bytes: usize,
    lists: Vec<(Vec<Step>, Vec<Scratch>)>,
}

/// The class whose buffers hold `len` bytes, if it is kept.
fn class(len: usize) -> Option<usize> {
    let bits = len.max(1).next_power_of_two().trailing_zeros().max(POOL_SMALLEST_BITS);
    (bits <= POOL_LARGEST_BITS).then_some((bits - POOL_SMALLEST_BITS) as usize)
}

impl Pool {
    /// A buffer of at least `len` bytes with any contents.
    pub fn take(&mut self, len: usize) -> Scratch {
        let Some(class) = class(len) else { return Scratch::new(len) };
        if let Some(scratch) = self.free[class].pop() {
            self.kept_bytes -= scratch.len();
            return scratch;
        }
        Scratch::new(1 << (class as u32 + POOL_SMALLEST_BITS))
    }

    /// Takes a buffer back.
    pub fn give_back(&mut self, scratch: Scratch) {
        let len = scratch.len();
        if let Some(class) = class(len)
            && len.is_power_of_two()
            && self.free[class].len() < POOL_KEPT_PER_CLASS
            && self.kept_bytes + len <= POOL_KEPT_BYTES_MAX
        {
            self.kept_bytes += len;
            self.free[class].push(scratch);
        }
    }

    /// Empty lists for an operation without a schedule.
    #[inline]
    pub fn take_short_lists(&mut self) -> ShortLists {
        std::mem::take(&mut self.short)
    }

    /// Takes empty lists back.
    #[inline]
    pub fn give_back_short_lists(&mut self, lists: ShortLists) {
        debug_assert!(lists.awaited.is_empty() && lists.sends.is_empty());
        debug_assert!(lists.scratch.is_empty());
        self.short = lists;
    }

    /// Empty lists for a new schedule.
    pub fn take_lists(&mut self) -> (Vec<Step>, Vec<Scratch>) {
        self.lists.pop().unwrap_or_default()
    }

    /// Takes empty lists back.
    pub fn give_back_steps(&mut self, steps: Vec<Step>, scratch: Vec<Scratch>) {
        debug_assert!(steps.is_empty() && scratch.is_empty());
        if self.lists.len() < POOL_KEPT_LISTS && steps.capacity() <= POOL_KEPT_STEPS {
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
