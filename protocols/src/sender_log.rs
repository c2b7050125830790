//! The sender-based payload log of one channel (Johnson & Zwaenepoel; mpich-v-2006 §3.2): every
//! message to one peer, by its number, until no offered image of that peer can need it.
//!
//! Buffers are recycled through a [`LogMemory`]: a copy into fresh pages costs several times a copy
//! into warm ones. The bytes of an entry stay where they are until it is cut, so that the engine
//! may send straight from the log.

use crate::received::Received;
use ftmpi_wire::Ssn;
use std::collections::VecDeque;

/// One logged message.
#[derive(Debug)]
pub struct Entry {
    /// Its number.
    pub ssn: Ssn,
    /// Context of its envelope.
    pub context: u16,
    /// Tag of its envelope.
    pub tag: i32,
    /// Flags of its header.
    pub flags: u8,
    payload: Block,
}

impl Entry {
    /// The bytes.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        self.payload.bytes()
    }
}

/// A recycled buffer: `capacity` is a size class, `len` what is used.
#[derive(Debug, Default)]
pub struct Block {
    memory: Box<[u8]>,
    len: usize,
}

impl Block {
    /// What is used of it.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.memory[..self.len]
    }

    /// What is used of it, for filling.
    #[must_use]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[..self.len]
    }
}

/// Free buffers by size class (powers of two), and the account of what the logs hold.
#[derive(Debug)]
pub struct LogMemory {
    free: [Vec<Box<[u8]>>; 48],
    held: u64,
    peak: u64,
}

impl Default for LogMemory {
    fn default() -> Self {
        Self { free: [const { Vec::new() }; 48], held: 0, peak: 0 }
    }
}

impl LogMemory {
    fn class(len: usize) -> usize {
        len.next_power_of_two().trailing_zeros().max(6) as usize
    }

    /// A buffer of `len` bytes with unspecified contents.
    #[inline]
    #[must_use]
    pub fn take(&mut self, len: usize) -> Block {
        self.held += len as u64;
        self.peak = self.peak.max(self.held);
        if len == 0 {
            return Block::default();
        }
        let class = Self::class(len);
        let memory = self.free[class].pop().unwrap_or_else(|| Self::fresh(class));
        Block { memory, len }
    }

    #[cold]
    fn fresh(class: usize) -> Box<[u8]> {
        vec![0; 1 << class].into_boxed_slice()
    }

    /// Gives a buffer back.
    pub fn give(&mut self, block: Block) {
        self.held -= block.len as u64;
        if !block.memory.is_empty() {
            self.free[Self::class(block.memory.len())].push(block.memory);
        }
    }

    /// Bytes of payload held now.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.held
    }

    /// The most that was ever held.
    #[must_use]
    pub fn peak(&self) -> u64 {
        self.peak
    }
}

/// The log of one channel, ascending by number.
#[derive(Debug, Default)]
pub struct SenderLog {
    entries: VecDeque<Entry>,
    cut: Received,
}

impl SenderLog {
    /// Keeps a message. Numbers may come out of order (a schedule reserves its numbers early).
    ///
    /// # Panics
    /// If the number is there already: the caller counts them.
    pub fn keep(&mut self, ssn: Ssn, context: u16, tag: i32, flags: u8, payload: Block) -> &Entry {
        let entry = Entry { ssn, context, tag, flags, payload };
        let at = match self.entries.back() {
            Some(last) if last.ssn > ssn => self.entries.partition_point(|e| e.ssn < ssn),
            _ => self.entries.len(),
        };
        assert!(self.entries.get(at).is_none_or(|e| e.ssn != ssn), "message {ssn} logged twice");
        if at == self.entries.len() {
            self.entries.push_back(entry);
        } else {
            self.entries.insert(at, entry);
        }
        &self.entries[at]
    }

    /// Everything that is kept, ascending.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// Is anything kept?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// One message.
    #[must_use]
    pub fn get(&self, ssn: Ssn) -> Option<&Entry> {
        let at = self.entries.partition_point(|e| e.ssn < ssn);
        self.entries.get(at).filter(|e| e.ssn == ssn)
    }

    /// Drops what the oldest offered image of the peer has received.
    pub fn cut(&mut self, received: &Received, memory: &mut LogMemory) {
        while let Some(entry) = self.entries.pop_front() {
            if entry.ssn > received.contiguous() {
                self.entries.push_front(entry);
                break;
            }
            memory.give(entry.payload);
        }
        // A life from an older image may repeat an older cut.
        if received.contiguous() > self.cut.contiguous() {
            self.cut = received.clone();
        }
    }

    /// What was cut: a peer that has less than this cannot be served.
    #[must_use]
    pub fn cut_at(&self) -> &Received {
        &self.cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(log: &mut SenderLog, memory: &mut LogMemory, ssn: u64, bytes: &[u8]) {
        let mut block = memory.take(bytes.len());
        block.bytes_mut().copy_from_slice(bytes);
        log.keep(Ssn(ssn), 0, 0, 0, block);
    }

    #[test]
    fn keeps_order_and_cuts_only_what_is_contiguous() {
        let (mut log, mut memory) = (SenderLog::default(), LogMemory::default());
        for ssn in [1, 4, 2, 3, 5] {
            put(&mut log, &mut memory, ssn, &[ssn as u8; 100]);
        }
        assert_eq!(log.iter().map(|e| e.ssn.0).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
        let mut received = Received::default();
        for n in [1, 2, 4] {
            received.insert(Ssn(n));
        }
        log.cut(&received, &mut memory);
        assert_eq!(log.iter().map(|e| e.ssn.0).collect::<Vec<_>>(), [3, 4, 5]);
        assert_eq!(log.get(Ssn(4)).unwrap().payload(), [4; 100]);
        assert!(log.get(Ssn(2)).is_none());
        assert_eq!((memory.held(), memory.peak()), (300, 500));
    }

    #[test]
    fn memory_is_recycled() {
        let mut memory = LogMemory::default();
        let block = memory.take(1000);
        let place = block.bytes().as_ptr();
        memory.give(block);
        assert_eq!(memory.take(600).bytes().as_ptr(), place);
    }
}
