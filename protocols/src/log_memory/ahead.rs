//! Log memory that is touched ahead of need, while the rank waits anyway.
//!
//! A log that grows meets memory for the first time, and that costs many times a copy, most of all
//! in virtual machines. So while it grows, some memory beyond what is held is wanted warm. The
//! caller asks for one piece after the other ([`LogMemory::next_cold`]) and touches it.
//!
//! Guarantees: no more is warm ahead than is wanted (and one piece). What is made ahead, with what
//! is held, stays within the limit of the log. A log that is filled again with memory that it had
//! before wants nothing. Images leave all of it out.

use super::{LogMemory, Slab};
use crate::tuning::{AHEAD_MAX, AHEAD_MIN, AHEAD_SHARE, SLAB_MAX};

/// Bytes of a huge page. Slabs of at least so many are meant for them.
pub const HUGE: usize = 2 << 20;

/// Memory for a first touch. It has no contents.
#[derive(Debug)]
pub struct Cold<'a> {
    /// The bytes.
    pub bytes: &'a mut [u8],
    /// It is part of a slab of so many bytes.
    pub slab: usize,
}

impl Slab {
    /// Bytes from the front that have been touched.
    pub(super) fn warm(&self) -> usize {
        self.touched.max(self.used)
    }

    /// Bytes that can be given out and are warm.
    fn ready(&self) -> usize {
        self.warm().min(self.end) - self.used.min(self.end)
    }
}

impl LogMemory {
    /// Whether the log meets memory that it never had before.
    #[inline]
    #[must_use]
    pub fn grows(&self) -> bool {
        self.grows
    }

    pub(super) fn note_length(&mut self, len: usize) {
        if len <= AHEAD_MAX {
            self.longest = self.longest.max(len);
        }
    }

    /// Makes this many bytes ready and touches them, so that a log that grows into them causes no
    /// page faults. First touches cost time, most of all where a virtual machine asks its host for
    /// memory.
    pub fn reserve(&mut self, bytes: usize) {
        const PAGE: usize = 4096;
        while self.reserved < bytes {
            let slab = self.fresh(SLAB_MAX.min((bytes - self.reserved).next_multiple_of(1 << 20)));
            for page in self.slabs[slab as usize].memory.chunks_mut(PAGE) {
                // A compiler must not see that it is zero already.
                page[0] = std::hint::black_box(0);
            }
            let s = &mut self.slabs[slab as usize];
            (s.touched, s.again) = (s.end, true);
            self.spare.push(slab);
        }
        self.ready = self.ready.max(bytes);
    }

    /// Bytes that are to be warm beyond what is held.
    pub(super) fn wanted_ahead(&self, limit: u64) -> usize {
        if !self.grows {
            return 0;
        }
        let room = limit.saturating_sub(self.held);
        let wanted = (self.held / AHEAD_SHARE).clamp(AHEAD_MIN, AHEAD_MAX as u64).min(self.held);
        wanted.min(room) as usize
    }

    /// Bytes that are warm and not held, where blocks will come.
    #[must_use]
    pub fn ahead(&self) -> usize {
        let slabs = self.spare.iter().chain([&self.current]);
        slabs.filter_map(|slab| self.slabs.get(*slab as usize)).map(Slab::ready).sum()
    }

    /// Whether less is warm than is wanted.
    #[must_use]
    pub fn lacks_ready(&self, limit: u64) -> bool {
        self.ahead() < self.wanted_ahead(limit)
    }

    /// The next memory that is to be touched, to the next multiple of `piece` bytes in its slab;
    /// counts as touched from now on. `None`: enough is warm, or the log would pass its limit.
    pub fn next_cold(&mut self, piece: usize, limit: u64) -> Option<Cold<'_>> {
        if !self.lacks_ready(limit) {
            return None;
        }
        let is_cold = |slab: &Slab| slab.warm() < slab.end;
        let known = [self.current].into_iter().chain(self.spare.iter().copied());
        let mut cold = known.filter(|slab| self.slabs.get(*slab as usize).is_some_and(is_cold));
        let slab = match cold.next() {
            Some(slab) => slab,
            None => self.make_ahead(limit)?,
        };
        let slab = &mut self.slabs[slab as usize];
        let begin = slab.warm();
        slab.touched = (begin + 1).next_multiple_of(piece).min(slab.end);
        Some(Cold { slab: slab.memory.len(), bytes: &mut slab.memory[begin..slab.touched] })
    }

    /// Makes a slab before it is needed. It is the first that is given back.
    fn make_ahead(&mut self, limit: u64) -> Option<u32> {
        let next_size = self.next_size;
        // What repeats finds a slab of its own, unless that is more than is wanted.
        let longest = if self.longest <= self.wanted_ahead(limit) { self.longest } else { 1 };
        let size = self.usual_size(longest);
        if (self.reserved + size) as u64 > limit {
            self.next_size = next_size;
            return None;
        }
        let slab = self.fresh(size);
        self.spare.insert(0, slab);
        Some(slab)
    }

    /// This incarnation begins from an image, which had only what is held.
    pub fn restored(&mut self) {
        self.slabs.iter_mut().for_each(|slab| slab.touched = 0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Block;
    use super::*;

    const PIECE: usize = 64 << 10;

    /// Makes ready all that is wanted; its bytes.
    fn make_ready(memory: &mut LogMemory, limit: u64) -> usize {
        let mut sum = 0;
        while let Some(cold) = memory.next_cold(PIECE, limit) {
            assert!(!cold.bytes.is_empty() && cold.bytes.len() <= PIECE);
            cold.bytes[0] = 1;
            sum += cold.bytes.len();
        }
        sum
    }

    fn fill(memory: &mut LogMemory, len: usize, sum: usize) -> Vec<Block> {
        let mut blocks = Vec::new();
        for n in 0..sum / len {
            let block = memory.take(len);
            memory.bytes_mut(block).fill(n as u8 | 1);
            blocks.push(block);
        }
        blocks
    }

    #[test]
    fn a_log_that_grows_finds_its_memory_ready() {
        for len in [4096, 70_000, 1 << 20, 3 << 20, 8 << 20] {
            let mut memory = LogMemory::default();
            let (mut blocks, mut cold) = (Vec::new(), 0);
            while memory.held() < 100 << 20 {
                let warm = memory.ahead();
                blocks.push(memory.take(len));
                if memory.held() > 40 << 20 && warm < len {
                    cold += len;
                }
                make_ready(&mut memory, u64::MAX);
                let wanted = memory.wanted_ahead(u64::MAX);
                assert!(memory.ahead() <= wanted.max(len) + PIECE, "{len}: {}", memory.ahead());
                assert!(wanted as u64 <= memory.held());
            }
            assert_eq!(cold, 0, "{len}");
            // No more slabs than one ahead, and what does not fit into their ends.
            let most = memory.held() + memory.held() / 2 + (2 * AHEAD_MAX) as u64;
            assert!(memory.reserved() as u64 <= most, "{len}: {}", memory.reserved());
        }
    }

    #[test]
    fn what_was_made_ready_is_no_part_of_images_and_is_not_held() {
        let mut memory = LogMemory::default();
        let blocks = fill(&mut memory, 10_000, 40 << 20);
        let held = memory.held();
        assert!(make_ready(&mut memory, u64::MAX) >= 4 << 20);
        assert_eq!(memory.held(), held);
        let useless: usize = memory.useless().map(<[u8]>::len).sum();
        assert!(useless >= memory.ahead() - 8192, "{useless} of {}", memory.ahead());
        for (n, block) in blocks.iter().enumerate() {
            assert!(memory.bytes(*block).iter().all(|byte| *byte == n as u8 | 1));
        }
    }

    #[test]
    fn the_limit_of_the_log_is_never_passed() {
        let mut memory = LogMemory::default();
        let limit = 20 << 20;
        let mut blocks = Vec::new();
        while memory.held() < limit {
            blocks.push(memory.take(50_000));
            let before = memory.reserved();
            make_ready(&mut memory, limit);
            assert!(memory.reserved() == before || memory.reserved() as u64 <= limit);
            assert!(memory.wanted_ahead(limit) as u64 <= limit.saturating_sub(memory.held()));
        }
        assert_eq!(make_ready(&mut memory, limit), 0);
    }

    #[test]
    fn a_log_that_does_not_grow_wants_nothing_and_gives_back_what_it_did_not_use() {
        let mut memory = LogMemory::default();
        assert_eq!(make_ready(&mut memory, u64::MAX), 0, "nothing was ever logged");
        let mut periods = std::collections::VecDeque::new();
        for period in 0..12 {
            let mut sum = 0;
            let mut blocks = Vec::new();
            for _ in 0..30 {
                blocks.append(&mut fill(&mut memory, 20_000, 1 << 20));
                sum += make_ready(&mut memory, u64::MAX);
            }
            periods.push_back(blocks);
            memory.image_comes();
            if periods.len() > 2 {
                periods.pop_front().unwrap().into_iter().for_each(|block| memory.give(block));
            }
            assert!(period < 6 || sum == 0, "{sum} in period {period}");
        }
        periods.drain(..).flatten().for_each(|block| memory.give(block));
        memory.image_comes();
        memory.image_comes();
        assert!(memory.reserved() <= 48 << 20, "{}", memory.reserved());
    }

    #[test]
    fn small_logs_stay_small() {
        let mut memory = LogMemory::default();
        let _block = memory.take(1000);
        assert!(make_ready(&mut memory, u64::MAX) <= PIECE);
        assert!(memory.reserved() <= 64 << 10);
    }

    #[test]
    fn an_incarnation_that_begins_from_an_image_has_nothing_ready() {
        let mut memory = LogMemory::default();
        let _blocks = fill(&mut memory, 10_000, 8 << 20);
        assert!(make_ready(&mut memory, u64::MAX) > 0);
        memory.restored();
        assert_eq!(memory.ahead(), 0);
        assert!(make_ready(&mut memory, u64::MAX) > 0);
    }
}
