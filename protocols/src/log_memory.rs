//! Memory of the sender logs of one rank: slabs that are filled from the front, and used again when
//! all of a slab has been cut.
//!
//! Logged messages live long and die in the order of their birth, because an image of a peer frees
//! all messages before it. Free lists of single blocks would gain nothing. Slabs keep neighbours
//! together and waste nothing to size classes. They touch fresh pages only while the log grows. The
//! slab that was emptied last is filled next. The memory that is kept is the most that was held
//! since the image before the last one. Large slabs are meant for huge pages; the allocator
//! provides them.
//!
//! An image of the rank need not contain all of this memory. Empty slabs and the room between
//! blocks have no contents. Blocks may be *spared* ([`LogMemory::spare`]): they are held for a peer
//! that might begin from an older image, and images leave them out. Logs for several peers share a
//! slab, and the peers take their images one after the other. So the wanted bytes are counted by
//! the page ([`LogMemory::useless`]).

mod ahead;

pub use ahead::{Cold, HUGE};

use crate::tuning::{
    KEPT_MIN, OWN_MIN, SLAB_MAX, SLAB_MIN, SLAB_SHARE, SLAB_USUAL, UNIT, UNITS_MIN,
};
use std::ops::Range;

/// Blocks begin on cache lines, and their places are counted in them.
const ALIGN: usize = 64;
/// A slab is filled up to here: what lies behind has no number. (A longer block, alone in its slab,
/// begins at 0.)
const FILLED_MAX: usize = (u32::MAX as usize) * ALIGN;
const NO_SLAB: u32 = u32::MAX;

/// A place in the log memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    slab: u32,
    /// Where it begins, in units of [`ALIGN`]. A slab that was made for one huge message may be
    /// longer than 4 GiB, and is filled with short ones later.
    line: u32,
    len: usize,
}

impl Block {
    fn range(self) -> Range<usize> {
        let begin = self.line as usize * ALIGN;
        begin..begin + self.len
    }

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
    /// How far they may go.
    end: usize,
    /// Bytes from the front that had their first touch before they were given out.
    touched: usize,
    /// It was filled before, and is used again.
    again: bool,
    /// Blocks that are held.
    live: usize,
    /// How many blocks of each unit an image wants (no more than 65: blocks begin on cache lines).
    wanted: Box<[u8]>,
}

impl Slab {
    fn new(size: usize) -> Self {
        let (memory, wanted) = (vec![0; size], vec![0; size.div_ceil(UNIT)]);
        let end = size.min(FILLED_MAX);
        Self { memory: memory.into(), end, wanted: wanted.into(), ..Self::default() }
    }

    /// Gives out the next `len` bytes, at least one.
    #[inline]
    fn fill(&mut self, len: usize) {
        let begin = self.used;
        self.used = (begin + len).next_multiple_of(ALIGN).min(self.end);
        self.live += 1;
        self.wanted_in(begin..begin + len).iter_mut().for_each(|count| *count += 1);
    }

    /// The counts of the units in which these bytes are.
    #[inline]
    fn wanted_in(&mut self, bytes: Range<usize>) -> &mut [u8] {
        &mut self.wanted[bytes.start / UNIT..=(bytes.end - 1) / UNIT]
    }

    /// It is empty.
    fn empty(&mut self) {
        (self.touched, self.again) = (self.warm(), true);
        self.used = 0;
        self.end = self.memory.len().min(FILLED_MAX);
        debug_assert!(self.wanted.iter().all(|count| *count == 0), "nothing is wanted of it");
    }

    /// What no image wants.
    fn useless(&self) -> impl Iterator<Item = &[u8]> {
        let runs = self.wanted.chunk_by(|a, b| (*a == 0) == (*b == 0));
        let runs = runs.scan(0, |next, run| {
            let begin = std::mem::replace(next, *next + run.len());
            Some((run[0] == 0, begin..*next))
        });
        runs.filter(|(useless, units)| *useless && units.len() >= UNITS_MIN).map(|(_, units)| {
            &self.memory[units.start * UNIT..self.memory.len().min(units.end * UNIT)]
        })
    }
}

/// The slabs, and the account of what the logs hold.
#[derive(Debug)]
pub struct LogMemory {
    slabs: Vec<Slab>,
    /// The slab that is being filled.
    current: u32,
    /// Empty slabs, the warmest last.
    spare: Vec<u32>,
    /// Bytes of all slabs.
    reserved: usize,
    /// Places in `slabs` without memory.
    vacant: Vec<u32>,
    next_size: usize,
    held: u64,
    peak: u64,
    /// The most that was held since the last image, and between it and the one before.
    highest: [u64; 2],
    /// Bytes in slabs that were asked for beforehand and are never given back.
    ready: usize,
    /// More is held than since the image before the last one, in a slab that was never filled.
    grows: bool,
    /// The longest block that might have a slab made for it ahead of need.
    longest: usize,
}

impl Default for LogMemory {
    fn default() -> Self {
        Self {
            slabs: Vec::new(),
            current: NO_SLAB,
            spare: Vec::new(),
            reserved: 0,
            vacant: Vec::new(),
            next_size: SLAB_MIN,
            held: 0,
            peak: 0,
            highest: [0; 2],
            ready: 0,
            grows: false,
            longest: 0,
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
            return Block { slab: NO_SLAB, line: 0, len };
        }
        if let Some(slab) = self.slabs.get_mut(self.current as usize)
            && slab.end - slab.used >= len
        {
            let line = (slab.used / ALIGN) as u32;
            slab.fill(len);
            return Block { slab: self.current, line, len };
        }
        self.take_elsewhere(len)
    }

    #[cold]
    fn take_elsewhere(&mut self, len: usize) -> Block {
        let higher = self.held > self.highest[0].max(self.highest[1]);
        self.note_height();
        self.note_length(len);
        // Until the slab says otherwise.
        self.grows = higher;
        let slab = if len > OWN_MIN {
            let size = len.next_multiple_of(1 << 20);
            let fits = self.take_spare(size, size + size / 2);
            match fits.or_else(|| self.take_spare(len, usize::MAX)) {
                Some(slab) if self.size_of(slab) > size + size / 2 => self.fill_next(slab),
                fits => {
                    // A slab of its own; the current one goes on being filled.
                    let slab = fits.unwrap_or_else(|| self.fresh(size));
                    let s = &mut self.slabs[slab as usize];
                    self.grows &= !s.again;
                    // Nothing else is put behind it.
                    s.end = len;
                    s.fill(len);
                    return Block { slab, line: 0, len };
                }
            }
        } else {
            let slab = self.take_spare(len, usize::MAX).unwrap_or_else(|| {
                let size = self.usual_size(len);
                self.fresh(size)
            });
            self.fill_next(slab)
        };
        self.slabs[slab as usize].fill(len);
        Block { slab, line: 0, len }
    }

    fn size_of(&self, slab: u32) -> usize {
        self.slabs[slab as usize].memory.len()
    }

    /// Makes an empty slab the one that is filled.
    fn fill_next(&mut self, slab: u32) -> u32 {
        let old = std::mem::replace(&mut self.current, slab);
        self.grows &= !self.slabs[slab as usize].again;
        if self.slabs.get(old as usize).is_some_and(|slab| slab.live == 0) {
            self.retire(old);
        }
        slab
    }

    /// The warmest spare slab of `least` to `most` bytes.
    fn take_spare(&mut self, least: usize, most: usize) -> Option<u32> {
        let fits = |&slab: &u32| (least..=most).contains(&self.size_of(slab));
        let at = self.spare.iter().rposition(fits)?;
        Some(self.spare.remove(at))
    }

    /// How large the next slab for short blocks is to be.
    fn usual_size(&mut self, len: usize) -> usize {
        while self.next_size < len {
            self.next_size *= 2;
        }
        let size = self.next_size;
        if size < SLAB_USUAL || self.reserved / SLAB_SHARE >= size {
            self.next_size = (size * 2).min(SLAB_MAX);
        }
        size
    }

    fn fresh(&mut self, size: usize) -> u32 {
        self.reserved += size;
        let fresh = Slab::new(size);
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
        self.slabs[slab as usize].empty();
        if self.reserved > self.kept() {
            self.give_back(slab);
        } else {
            self.spare.push(slab);
        }
    }

    fn give_back(&mut self, slab: u32) {
        let gone = std::mem::take(&mut self.slabs[slab as usize]);
        self.reserved -= gone.memory.len();
        self.vacant.push(slab);
    }

    /// Bytes of slabs that are not too many.
    fn kept(&self) -> usize {
        // What is held does not fill its slabs to the last byte.
        let highest = self.highest[0].max(self.highest[1]) as usize;
        KEPT_MIN.max(self.ready).max(highest + highest / 8)
    }

    fn note_height(&mut self) {
        self.highest[0] = self.highest[0].max(self.held);
    }

    /// An image of this rank is to be taken: what was held before the last one counts no more.
    pub fn image_comes(&mut self) {
        self.note_height();
        self.highest = [self.held, self.highest[0]];
        self.longest = 0;
        while self.reserved > self.kept() && !self.spare.is_empty() {
            // The one that was not used for the longest time.
            let coldest = self.spare.remove(0);
            self.give_back(coldest);
        }
    }

    /// Memory whose contents an image need not have. An incarnation that begins from the image
    /// finds other contents there, such as zeros. (Empty slabs, what was not filled of others, what
    /// lies between blocks, and blocks that are spared.)
    pub fn useless(&self) -> impl Iterator<Item = &[u8]> {
        self.slabs.iter().flat_map(Slab::useless)
    }

    /// Images need not have this block, although it is held. Once.
    pub fn spare(&mut self, block: Block) {
        if let Some(slab) = self.slabs.get_mut(block.slab as usize) {
            slab.wanted_in(block.range()).iter_mut().for_each(|count| *count -= 1);
        }
    }

    /// They need it after all.
    pub fn want(&mut self, block: Block) {
        if let Some(slab) = self.slabs.get_mut(block.slab as usize) {
            slab.wanted_in(block.range()).iter_mut().for_each(|count| *count += 1);
        }
    }

    /// Gives a place back.
    pub fn give(&mut self, block: Block) {
        self.spare(block);
        self.give_spared(block);
    }

    /// Gives a place back that is spared.
    pub fn give_spared(&mut self, block: Block) {
        self.note_height();
        self.held -= block.len as u64;
        let Some(slab) = self.slabs.get_mut(block.slab as usize) else { return };
        slab.live -= 1;
        if slab.live == 0 {
            if block.slab == self.current {
                slab.empty();
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
            Some(slab) => &slab.memory[block.range()],
            None => &[],
        }
    }

    /// What is there, for filling.
    #[inline]
    #[must_use]
    pub fn bytes_mut(&mut self, block: Block) -> &mut [u8] {
        match self.slabs.get_mut(block.slab as usize) {
            Some(slab) => &mut slab.memory[block.range()],
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
        self.reserved
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
        let sum = |memory: &LogMemory| memory.slabs.iter().map(|s| s.memory.len()).sum::<usize>();
        assert_eq!(memory.reserved(), sum(&memory));
        // What was held at most is kept until the second image from then.
        assert!(memory.reserved() <= memory.kept() + SLAB_MAX, "{}", memory.reserved());
        memory.image_comes();
        assert_eq!(memory.highest, [0, memory.peak()]);
        memory.image_comes();
        assert!(memory.reserved() <= KEPT_MIN.max(SLAB_MAX), "{}", memory.reserved());
        assert_eq!(memory.reserved(), sum(&memory));
    }

    /// Periods of the same traffic between images, cut at the second image. After the first few
    /// periods hardly any new memory is touched, with messages of any size.
    #[test]
    fn periods_of_the_same_traffic_need_no_fresh_memory() {
        for sizes in [&[100usize, 5000][..], &[40_000], &[3_000_000], &[900_000, 1_100_000, 64]] {
            let mut memory = LogMemory::default();
            let mut periods = VecDeque::new();
            let mut settled = 0;
            for period in 0..12 {
                let mut blocks = Vec::new();
                let mut sent = 0;
                while sent < 100 << 20 {
                    for &len in sizes {
                        blocks.push(memory.take(len));
                        sent += len;
                    }
                }
                periods.push_back(blocks);
                memory.image_comes();
                if periods.len() > 2 {
                    periods.pop_front().unwrap().into_iter().for_each(|block| memory.give(block));
                }
                match period {
                    0..6 => settled = memory.reserved(),
                    _ => {
                        let other = memory.reserved().abs_diff(settled);
                        assert!(other <= settled / 16, "{sizes:?} in period {period}: {other}");
                    }
                }
            }
            assert!(memory.useless().map(<[u8]>::len).sum::<usize>() >= 80 << 20);
            assert!(memory.reserved() < 500 << 20, "{}", memory.reserved());
        }
    }

    /// Logs for three peers that are cut one after the other, in slabs that they share.
    #[test]
    fn gaps_are_useless_and_what_is_held_is_not() {
        let mut memory = LogMemory::default();
        let mut of_peers = [(); 3].map(|()| VecDeque::new());
        let mut random = 7u64;
        for turn in 0..3000usize {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let len = match random >> 61 {
                0 => (random >> 40) as usize % 2_000_000,
                1..=3 => (random >> 40) as usize % 100,
                _ => (UNITS_MIN + 1) * UNIT + (random >> 40) as usize % 100_000,
            };
            let block = memory.take(len);
            memory.bytes_mut(block).fill(turn as u8 | 1);
            of_peers[turn % 3].push_back((block, turn as u8 | 1));
            if turn % 100 == 99 {
                let log = &mut of_peers[turn / 100 % 3];
                let keeps = log.len() / 8;
                log.drain(..log.len() - keeps).for_each(|(block, _)| memory.give(block));
                let next = &mut of_peers[(turn / 100 + 1) % 3];
                let spared: Vec<_> = next.drain(..next.len() / 2).collect();
                spared.iter().for_each(|(block, _)| memory.spare(*block));
                // An image: zeros where nothing is held.
                let useless: Vec<Range<usize>> = memory
                    .useless()
                    .map(|piece| piece.as_ptr().addr()..piece.as_ptr().addr() + piece.len())
                    .collect();
                for slab in &mut memory.slabs {
                    let begin = slab.memory.as_ptr().addr();
                    let here = begin..begin + slab.memory.len();
                    for piece in useless.iter().filter(|p| !p.is_empty() && here.contains(&p.start))
                    {
                        slab.memory[piece.start - begin..piece.end - begin].fill(0);
                    }
                }
                for (block, value) in of_peers.iter().flatten() {
                    assert!(memory.bytes(*block).iter().all(|byte| byte == value));
                }
                // Blocks shorter than a gap, and the ends of slabs of their own, are all that is
                // neither.
                let total: usize = useless.iter().map(|piece| piece.len()).sum();
                let wanted = of_peers.iter().flatten().map(|(block, _)| block.len());
                let held = wanted.sum::<usize>();
                assert!(total + held <= memory.reserved());
                assert!(
                    memory.reserved() - total - held <= memory.reserved() / 8,
                    "{total} {held}"
                );
                if turn % 200 == 99 {
                    // An incarnation that begins from this image has lost them.
                    spared.into_iter().for_each(|(block, _)| memory.give_spared(block));
                } else {
                    for (block, value) in spared.into_iter().rev() {
                        memory.want(block);
                        memory.bytes_mut(block).fill(value);
                        of_peers[(turn / 100 + 1) % 3].push_front((block, value));
                    }
                }
            }
        }
        of_peers.iter_mut().for_each(|log| log.drain(..).for_each(|(block, _)| memory.give(block)));
        assert_eq!(memory.useless().map(<[u8]>::len).sum::<usize>(), memory.reserved());
    }

    #[test]
    fn what_is_ready_is_filled_first_and_stays() {
        let mut memory = LogMemory::default();
        memory.reserve(100 << 20);
        let ready = memory.reserved();
        assert!((100 << 20..=128 << 20).contains(&ready), "{ready}");
        let mut random = 99u64;
        for _ in 0..4 {
            let mut blocks = Vec::new();
            while memory.held() < 60 << 20 {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                blocks.push(memory.take([64, 1000, 70_000, 2_000_000][(random >> 62) as usize]));
            }
            assert_eq!(memory.reserved(), ready);
            blocks.into_iter().for_each(|block| memory.give(block));
            memory.image_comes();
            memory.image_comes();
            assert_eq!(memory.reserved(), ready);
        }
        memory.reserve(0);
        assert_eq!(memory.reserved(), ready);
    }

    /// A slab that was made for one huge message is filled with short ones when that was cut.
    /// Hardly any of its memory is touched.
    #[test]
    fn blocks_behind_four_gibibytes_are_places_of_their_own() {
        const LEN: usize = OWN_MIN - 100;
        let mut memory = LogMemory::default();
        let huge = memory.take((4 << 30) + (8 << 20));
        memory.give(huge);
        assert_eq!(memory.spare.len(), 1, "it is kept");
        let blocks: Vec<_> = (0..4100).map(|_| memory.take(LEN)).collect();
        assert!(blocks.iter().all(|block| block.slab == huge.slab));
        let mut end = 0;
        for &block in &blocks {
            let begin = memory.bytes(block).as_ptr() as usize;
            assert!(begin >= end && memory.bytes(block).len() == LEN);
            end = begin + LEN;
        }
        let (first, last) = (blocks[0], blocks[4099]);
        assert!(last.range().start > u32::MAX as usize);
        memory.bytes_mut(first)[..3].copy_from_slice(b"old");
        memory.bytes_mut(last)[..3].copy_from_slice(b"new");
        assert_eq!(memory.bytes(first)[..3], *b"old");
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
