//! Memory of the sender logs of one rank: slabs that are filled from the front and used again when
//! all of a slab has been cut.
//!
//! Logs live long and die in the order in which they were born (an image of a peer lets everything
//! before it go), so there is nothing to be gained from free lists of single blocks, while slabs keep
//! neighbours together, waste nothing to size classes, and touch fresh pages, whose first touch costs
//! many times the copy into them, only as long as the log grows: the slab that was emptied last is
//! filled next. Large slabs are meant to lie on huge pages; that is the business of the allocator.

/// Size of the first slab; each new one is twice as large, up to [`SLAB_MAX`].
const SLAB_MIN: usize = 64 << 10;
const SLAB_MAX: usize = 4 << 20;
/// Blocks begin on cache lines.
const ALIGN: usize = 64;
/// Bytes in empty slabs that are kept for reuse: as much as is held, and this much at least.
const SPARE_MIN: usize = 16 << 20;
const NO_SLAB: u32 = u32::MAX;

/// A place in the log memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    slab: u32,
    offset: u32,
    len: usize,
}

impl Block {
    /// Its bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Has it none?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[derive(Debug, Default)]
struct Slab {
    memory: Box<[u8]>,
    /// Bytes given out from the front.
    used: usize,
    /// Blocks that are held.
    live: usize,
}

/// The slabs, and the account of what the logs hold.
#[derive(Debug)]
pub struct LogMemory {
    slabs: Vec<Slab>,
    /// The slab that is being filled.
    current: u32,
    /// Empty slabs, the warmest last.
    spare: Vec<u32>,
    spare_bytes: usize,
    /// Places in `slabs` without memory.
    vacant: Vec<u32>,
    next_size: usize,
    held: u64,
    peak: u64,
}

impl Default for LogMemory {
    fn default() -> Self {
        Self {
            slabs: Vec::new(),
            current: NO_SLAB,
            spare: Vec::new(),
            spare_bytes: 0,
            vacant: Vec::new(),
            next_size: SLAB_MIN,
            held: 0,
            peak: 0,
        }
    }
}

impl LogMemory {
    /// A place for `len` bytes, with unspecified contents.
    #[inline]
    #[must_use]
    pub fn take(&mut self, len: usize) -> Block {
        self.held += len as u64;
        self.peak = self.peak.max(self.held);
        if len == 0 {
            return Block { slab: NO_SLAB, offset: 0, len };
        }
        if let Some(slab) = self.slabs.get_mut(self.current as usize)
            && slab.memory.len() - slab.used >= len
        {
            let offset = slab.used as u32;
            slab.used = (slab.used + len).next_multiple_of(ALIGN).min(slab.memory.len());
            slab.live += 1;
            return Block { slab: self.current, offset, len };
        }
        self.take_elsewhere(len)
    }

    #[cold]
    fn take_elsewhere(&mut self, len: usize) -> Block {
        if len > SLAB_MAX / 4 {
            // A slab of its own; the current one goes on being filled.
            let size = len.next_multiple_of(1 << 20);
            let slab = self.empty_slab(size, size + size / 2);
            let s = &mut self.slabs[slab as usize];
            (s.used, s.live) = (s.memory.len(), 1);
            return Block { slab, offset: 0, len };
        }
        let old = self.current;
        self.current = NO_SLAB;
        if self.slabs.get(old as usize).is_some_and(|slab| slab.live == 0) {
            self.retire(old);
        }
        self.current = self.empty_slab(len, SLAB_MAX);
        let slab = &mut self.slabs[self.current as usize];
        slab.used = len.next_multiple_of(ALIGN).min(slab.memory.len());
        slab.live = 1;
        Block { slab: self.current, offset: 0, len }
    }

    /// An empty slab of at least `least` bytes; a spare one only up to `most`.
    fn empty_slab(&mut self, least: usize, most: usize) -> u32 {
        let fits = |&&slab: &&u32| (least..=most).contains(&self.slabs[slab as usize].memory.len());
        if let Some(&slab) = self.spare.iter().rev().find(fits) {
            self.spare.retain(|&other| other != slab);
            self.spare_bytes -= self.slabs[slab as usize].memory.len();
            return slab;
        }
        let size = if least > SLAB_MAX / 4 {
            least
        } else {
            while self.next_size < least {
                self.next_size *= 2;
            }
            let size = self.next_size;
            self.next_size = (size * 2).min(SLAB_MAX);
            size
        };
        let fresh = Slab { memory: vec![0; size].into_boxed_slice(), used: 0, live: 0 };
        match self.vacant.pop() {
            Some(slab) => {
                self.slabs[slab as usize] = fresh;
                slab
            }
            None => {
                self.slabs.push(fresh);
                (self.slabs.len() - 1) as u32
            }
        }
    }

    /// A slab is empty: kept for reuse, or given back if there is plenty.
    #[cold]
    fn retire(&mut self, slab: u32) {
        let s = &mut self.slabs[slab as usize];
        s.used = 0;
        if self.spare_bytes + s.memory.len() > SPARE_MIN.max(self.held as usize) {
            s.memory = Box::default();
            self.vacant.push(slab);
        } else {
            self.spare_bytes += s.memory.len();
            self.spare.push(slab);
        }
    }

    /// Gives a place back.
    pub fn give(&mut self, block: Block) {
        self.held -= block.len as u64;
        let Some(slab) = self.slabs.get_mut(block.slab as usize) else { return };
        slab.live -= 1;
        if slab.live == 0 {
            if block.slab == self.current {
                slab.used = 0;
            } else {
                self.retire(block.slab);
            }
        }
    }

    /// What is there.
    #[inline]
    #[must_use]
    pub fn bytes(&self, block: Block) -> &[u8] {
        match self.slabs.get(block.slab as usize) {
            Some(slab) => &slab.memory[block.offset as usize..block.offset as usize + block.len],
            None => &[],
        }
    }

    /// What is there, for filling.
    #[inline]
    #[must_use]
    pub fn bytes_mut(&mut self, block: Block) -> &mut [u8] {
        match self.slabs.get_mut(block.slab as usize) {
            Some(slab) => {
                &mut slab.memory[block.offset as usize..block.offset as usize + block.len]
            }
            None => &mut [],
        }
    }

    /// Bytes of payload held now.
    #[must_use]
    #[inline]
    pub fn held(&self) -> u64 {
        self.held
    }

    /// The most that was ever held.
    #[must_use]
    #[inline]
    pub fn peak(&self) -> u64 {
        self.peak
    }

    /// Bytes of all slabs.
    #[must_use]
    pub fn reserved(&self) -> usize {
        self.slabs.iter().map(|slab| slab.memory.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn what_is_held_stays_as_it_was_written() {
        let mut memory = LogMemory::default();
        let mut held = VecDeque::new();
        let mut random = 12345u64;
        for n in 0..20_000u64 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let len = match random >> 60 {
                0 => 0,
                1 => (random >> 33) as usize % 3_000_000,
                _ => (random >> 33) as usize % 3000,
            };
            let block = memory.take(len);
            memory.bytes_mut(block).fill(n as u8);
            held.push_back((block, n as u8));
            if random.is_multiple_of(97) || held.len() > 400 {
                for _ in 0..(random >> 40) as usize % (held.len() + 1) {
                    let (block, value) = held.pop_front().unwrap();
                    assert!(memory.bytes(block).iter().all(|&byte| byte == value));
                    memory.give(block);
                }
            }
            assert_eq!(
                memory.held(),
                held.iter().map(|(block, _)| block.len() as u64).sum::<u64>()
            );
        }
        held.drain(..).for_each(|(block, _)| memory.give(block));
        assert_eq!(memory.held(), 0);
        assert!(memory.reserved() <= SPARE_MIN + 2 * SLAB_MAX, "{}", memory.reserved());
    }

    #[test]
    fn what_was_cut_is_filled_again() {
        let mut memory = LogMemory::default();
        let mut first = None;
        for _ in 0..1000 {
            let blocks: Vec<_> = (0..100).map(|_| memory.take(10_000)).collect();
            blocks.into_iter().for_each(|block| memory.give(block));
            let reserved = memory.reserved();
            assert_eq!(*first.get_or_insert(reserved), reserved);
        }
    }
}
