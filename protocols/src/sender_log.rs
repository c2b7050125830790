//! The sender-based payload log of one channel (Johnson & Zwaenepoel; mpich-v-2006 §3.3). It holds
//! every message to one peer, by its number, until no offered image of that peer can need it.
//!
//! The bytes lie in a [`LogMemory`] that all channels of a rank share. They stay in place until
//! their entry is cut, so the engine may send straight from the log.

use crate::blocks::Blocks;
use crate::log_memory::{Block, LogMemory};
use crate::received::{Received, is_reply};
use ftmpi_wire::Ssn;

/// One logged message.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Its number.
    pub ssn: Ssn,
    /// Context of its envelope.
    pub context: u32,
    /// Tag of its envelope.
    pub tag: i32,
    /// Flags of its header.
    pub flags: u8,
    /// Its bytes in the log memory.
    pub payload: Block,
    /// An image of this rank need not have them.
    spared: bool,
}

impl Entry {
    /// It is kept no more.
    pub fn give(&self, memory: &mut LogMemory) {
        if self.spared {
            memory.give_spared(self.payload);
        } else {
            memory.give(self.payload);
        }
    }
}

/// The log of one channel, ascending by number.
#[derive(Debug, Default)]
pub struct SenderLog {
    entries: Blocks<Entry>,
    /// Replies to one-sided operations, which are counted apart.
    replies: Blocks<Entry>,
    cut: Received,
    /// Some entry is spared.
    spares: bool,
}

fn place(entries: &Blocks<Entry>, ssn: Ssn) -> usize {
    match entries.back() {
        Some(last) if last.ssn >= ssn => entries.partition_point(|e| e.ssn < ssn),
        _ => entries.len(),
    }
}

impl SenderLog {
    /// Keeps a message. Numbers may come out of order (a schedule reserves its numbers early).
    ///
    /// # Panics
    /// If the number is there already: the caller counts them.
    pub fn keep(&mut self, ssn: Ssn, context: u32, tag: i32, flags: u8, payload: Block) {
        let entry = Entry { ssn, context, tag, flags, payload, spared: false };
        let entries = if is_reply(ssn) { &mut self.replies } else { &mut self.entries };
        if entries.back().is_none_or(|last| last.ssn < ssn) {
            entries.push_back(entry);
            return;
        }
        let at = place(entries, ssn);
        assert!(entries.get(at).is_none_or(|e| e.ssn != ssn), "message {ssn} logged twice");
        entries.insert(at, entry);
    }

    /// Everything that is kept: messages ascending, then replies ascending.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().chain(self.replies.iter())
    }

    /// Is anything kept?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.replies.is_empty()
    }

    /// One message.
    #[must_use]
    pub fn get(&self, ssn: Ssn) -> Option<&Entry> {
        let entries = if is_reply(ssn) { &self.replies } else { &self.entries };
        entries.get(place(entries, ssn)).filter(|e| e.ssn == ssn)
    }

    /// Takes everything out: messages ascending, then replies ascending.
    pub fn take_all(&mut self) -> impl Iterator<Item = Entry> {
        std::mem::take(&mut self.entries).into_iter().chain(std::mem::take(&mut self.replies))
    }

    /// Drops what the oldest offered image of the peer has received.
    pub fn cut(&mut self, received: &Received, memory: &mut LogMemory) {
        for entries in [&mut self.entries, &mut self.replies] {
            while let Some(entry) = entries.front().filter(|entry| received.contains(entry.ssn)) {
                entry.give(memory);
                entries.pop_front();
            }
            // Behind a message that waits for its receive: it may do so for long.
            if received.has_holes() {
                entries.retain(|entry| {
                    let goes = received.contains(entry.ssn);
                    if goes {
                        entry.give(memory);
                    }
                    !goes
                });
            }
        }
        // An incarnation from an older image may repeat an older cut.
        self.cut.absorb(received);
    }

    /// The newest image of the peer has these, so an image of this rank need not have them. They
    /// are kept for the case that the peer has to begin from an older image.
    pub fn spare(&mut self, received: &Received, memory: &mut LogMemory) {
        for entry in self.entries.iter_mut().chain(self.replies.iter_mut()) {
            if !entry.spared && received.contains(entry.ssn) {
                (entry.spared, self.spares) = (true, true);
                memory.spare(entry.payload);
            }
        }
    }

    /// The next image is to have everything.
    pub fn want_all(&mut self, memory: &mut LogMemory) {
        if !std::mem::take(&mut self.spares) {
            return;
        }
        for entry in self.entries.iter_mut().chain(self.replies.iter_mut()) {
            if std::mem::take(&mut entry.spared) {
                memory.want(entry.payload);
            }
        }
    }

    /// This incarnation began from an image, which did not have what was spared: it is lost.
    pub fn lose_spared(&mut self, memory: &mut LogMemory) {
        if !std::mem::take(&mut self.spares) {
            return;
        }
        for entries in [&mut self.entries, &mut self.replies] {
            entries.retain(|entry| {
                if entry.spared {
                    entry.give(memory);
                    self.cut.insert(entry.ssn);
                }
                !entry.spared
            });
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
        let block = memory.take(bytes.len());
        memory.bytes_mut(block).copy_from_slice(bytes);
        log.keep(Ssn(ssn), 0, 0, 0, block);
    }

    #[test]
    fn keeps_order_and_cuts_behind_holes_too() {
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
        assert_eq!(log.iter().map(|e| e.ssn.0).collect::<Vec<_>>(), [3, 5]);
        assert_eq!(memory.bytes(log.get(Ssn(5)).unwrap().payload), [5; 100]);
        assert!(log.get(Ssn(2)).is_none() && log.get(Ssn(4)).is_none());
        assert_eq!((memory.held(), memory.peak()), (200, 500));
        assert!(log.cut_at().contains(Ssn(4)) && !log.cut_at().contains(Ssn(3)));
    }

    #[test]
    fn what_is_spared_is_lost_with_this_incarnation_and_needed_again_when_the_peer_begins_again() {
        let (mut log, mut memory) = (SenderLog::default(), LogMemory::default());
        for ssn in 1..=6 {
            put(&mut log, &mut memory, ssn, &[ssn as u8; 40_000]);
        }
        let useless = |memory: &LogMemory| memory.useless().map(<[u8]>::len).sum::<usize>();
        let before = useless(&memory);
        let mut received = Received::default();
        [1, 2, 3, 5].iter().for_each(|n| {
            received.insert(Ssn(*n));
        });
        log.spare(&received, &mut memory);
        log.spare(&received, &mut memory);
        assert!(useless(&memory) > before + 3 * 32_000);
        assert_eq!((log.iter().count(), memory.held()), (6, 240_000), "a peer can have it all");
        assert_eq!(memory.bytes(log.get(Ssn(2)).unwrap().payload), [2; 40_000]);
        log.want_all(&mut memory);
        assert_eq!(useless(&memory), before);
        log.spare(&received, &mut memory);
        let mut cut = Received::default();
        cut.insert(Ssn(1));
        log.cut(&cut, &mut memory);
        log.lose_spared(&mut memory);
        assert_eq!(log.iter().map(|e| e.ssn.0).collect::<Vec<_>>(), [4, 6]);
        assert_eq!(memory.held(), 80_000);
        assert_eq!(
            log.cut_at().first_beyond(&cut),
            Some(Ssn(2)),
            "a peer that lacks it cannot be served"
        );
        // Nothing is spared any more.
        log.want_all(&mut memory);
        log.take_all().for_each(|entry| entry.give(&mut memory));
        assert_eq!((memory.held(), useless(&memory)), (0, memory.reserved()));
    }
}
