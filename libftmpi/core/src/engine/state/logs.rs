//! The memory of the sender logs, and long messages that leave before the log has them.
//!
//! A long message is pushed from the program's buffer. Its way into the log fills the time in which
//! the rank would only wait: for the answer to the announcement, for room in the channel, or for
//! its receiver. A receiver that sends as much in return copies at the same time.
//!
//! Guarantees: the log has all of a message before the program may have its buffer back, and before
//! its entry is read or dropped. A rank that dies before that loses the log with everything else,
//! and repeats the call. An image has the program's buffer as well, and an incarnation that begins
//! from it gives all sends that had not left to the log.

use super::super::tuning::{LATE_LOG_MIN, LATE_LOG_PIECE};
use super::log_ahead::LogAhead;
use crate::ids::ReqId;
use crate::usermem::UserPtr;
use ftmpi_protocols::log_memory::{Block, Cold, HUGE, LogMemory};
use ftmpi_wire::Rank;

/// The rest of a message that the log does not have yet.
#[derive(Debug)]
struct Rest {
    to: Rank,
    request: ReqId,
    block: Block,
    from: UserPtr,
    /// Bytes that the log has.
    done: usize,
}

/// Memory of the sender logs; the entries are in the peers.
pub(crate) struct Logs {
    memory: LogMemory,
    /// Bytes that the logs may hold before images are asked for.
    limit: u64,
    /// The limit was doubled.
    widened: bool,
    /// Bytes above which images are asked for: half the limit, more once they were asked for.
    mark: u64,
    /// Messages under way into the log.
    late: Vec<Rest>,
    late_min: usize,
    late_piece: usize,
    /// When memory is made ready for the log.
    pub ahead: LogAhead,
}

impl Logs {
    pub fn new() -> Self {
        Self {
            memory: LogMemory::default(),
            limit: u64::MAX,
            widened: false,
            mark: u64::MAX,
            late: Vec::new(),
            late_min: LATE_LOG_MIN,
            late_piece: LATE_LOG_PIECE,
            ahead: LogAhead::new(),
        }
    }

    /// The memory.
    #[inline]
    pub fn memory(&self) -> &LogMemory {
        &self.memory
    }

    /// The memory, to be changed.
    #[inline]
    pub fn memory_mut(&mut self) -> &mut LogMemory {
        &mut self.memory
    }

    /// Whether the logs hold more than they may.
    #[inline]
    pub fn are_full(&self) -> bool {
        self.memory.held() > self.limit
    }

    /// Sets the bytes that the logs may hold.
    pub fn set_limit(&mut self, bytes: u64) {
        (self.limit, self.widened, self.mark) = (bytes, false, bytes / 2);
    }

    /// Whether images are to be asked for: before the logs are full, they may be cut in time.
    #[inline]
    pub fn want_images(&self) -> bool {
        self.memory.held() > self.mark
    }

    /// Images were asked for. The logs are cut when each receiver has two newer images, so images
    /// are asked for again before the logs are full.
    pub fn asked_early(&mut self) {
        self.mark = self.memory.held().saturating_add(self.limit / 4).min(self.limit);
    }

    /// The logs were cut: images are asked for a quarter later, or when half the limit is held.
    pub fn were_cut(&mut self) {
        let later = self.memory.held().saturating_add(self.limit / 4).min(self.limit);
        self.mark = self.mark.min(later.max(self.limit / 2));
    }

    /// Nothing cuts the logs: they may grow to twice as much, once.
    pub fn widen_limit(&mut self) {
        if !std::mem::replace(&mut self.widened, true) {
            self.limit = self.limit.saturating_mul(2);
            self.mark = self.limit;
        }
    }

    /// From which length on messages may come into the log late, and how much of them at a time.
    pub fn set_late(&mut self, from: usize, piece: usize) {
        (self.late_min, self.late_piece) = (from.max(1), piece.max(1));
    }

    /// Whether a message of this length may come into the log late.
    #[inline]
    pub fn take_late(&self, len: usize) -> bool {
        len >= self.late_min
    }

    /// Whether any message is under way into the log.
    #[inline]
    pub fn have_late(&self) -> bool {
        !self.late.is_empty()
    }

    /// The payload at `from` comes into this block of the log later. It stays there until the
    /// request is complete.
    pub fn log_later(&mut self, to: Rank, request: ReqId, block: Block, from: UserPtr) {
        self.late.push(Rest { to, request, block, from, done: 0 });
    }

    /// Whether the log grows, and less is ready for it than is wanted.
    #[inline]
    pub fn lack_ready(&self) -> bool {
        self.memory.grows() && self.memory.lacks_ready(self.limit)
    }

    /// Memory whose first touch is due while the rank waits, and whether small pages are wanted for
    /// it. `None`: enough is ready.
    pub fn next_cold(&mut self) -> Option<(&mut [u8], bool)> {
        let (piece, small) = (self.ahead.piece(), self.ahead.small());
        let Cold { bytes, slab } = self.memory.next_cold(piece, self.limit)?;
        Some((bytes, small && slab >= HUGE))
    }

    /// Copies a piece of what the log lacks.
    #[cold]
    pub fn log_a_piece(&mut self) {
        let Some(rest) = self.late.first_mut() else { return };
        let end = (rest.done + self.late_piece).min(rest.block.len());
        let to = &mut self.memory.bytes_mut(rest.block)[rest.done..end];
        rest.from.offset(rest.done as i64).store_away(to);
        rest.done = end;
        if end == rest.block.len() {
            self.late.remove(0);
        }
    }

    /// The log gets all that it lacks of the messages that `of` names.
    #[cold]
    fn finish_late(&mut self, of: impl Fn(&Rest) -> bool) {
        let memory = &mut self.memory;
        self.late.retain(|rest| {
            if !of(rest) {
                return true;
            }
            let to = &mut memory.bytes_mut(rest.block)[rest.done..];
            rest.from.offset(rest.done as i64).store_away(to);
            false
        });
    }

    /// The program gets its buffer back: the log gets all of this request.
    #[inline]
    pub fn finish_late_of(&mut self, request: ReqId) {
        if self.have_late() {
            self.finish_late(|rest| rest.request == request);
        }
    }

    /// The log for this rank is read or cut: it gets all that it lacks.
    #[inline]
    pub fn finish_late_to(&mut self, rank: Rank) {
        if self.have_late() {
            self.finish_late(|rest| rest.to == rank);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_wanted_twice_before_the_logs_are_full() {
        let mut logs = Logs::new();
        logs.set_limit(1000);
        let mut blocks = Vec::new();
        // What is held when images are asked for.
        let mut grow = |logs: &mut Logs, count: usize| {
            let mut asked = Vec::new();
            for _ in 0..count {
                blocks.push(logs.memory_mut().take(50));
                if logs.want_images() && !logs.are_full() {
                    asked.push(logs.memory().held());
                    logs.asked_early();
                }
            }
            let cut = blocks.len() / 2;
            (asked, blocks.drain(..cut).collect::<Vec<_>>())
        };
        let (asked, half) = grow(&mut logs, 20);
        assert_eq!(asked, [550, 850]);
        half.into_iter().for_each(|block| logs.memory_mut().give(block));
        logs.were_cut();
        // 500 are held.
        let (asked, _) = grow(&mut logs, 11);
        assert_eq!(asked, [800]);
        assert!(logs.are_full() && logs.want_images());
    }

    #[test]
    fn a_cut_that_leaves_more_than_half_is_not_the_last_one() {
        let mut logs = Logs::new();
        logs.set_limit(1000);
        let mut blocks: Vec<_> = (0..18).map(|_| logs.memory_mut().take(50)).collect();
        logs.asked_early();
        assert!(!logs.want_images());
        blocks.drain(..6).for_each(|block| logs.memory_mut().give(block));
        logs.were_cut();
        // 600 are held.
        let mut held = logs.memory().held();
        while !logs.want_images() {
            blocks.push(logs.memory_mut().take(50));
            held = logs.memory().held();
        }
        assert_eq!(held, 900);
        assert!(!logs.are_full());
    }

    #[test]
    fn logs_without_a_limit_want_no_images() {
        let mut logs = Logs::new();
        logs.set_limit(u64::MAX);
        let block = logs.memory_mut().take(10 << 20);
        assert!(!logs.want_images());
        logs.memory_mut().give(block);
        logs.were_cut();
        assert!(!logs.want_images());
    }
}
