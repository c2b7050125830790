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
use crate::ids::ReqId;
use crate::usermem::UserPtr;
use ftmpi_protocols::log_memory::{Block, LogMemory};
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
    /// Messages under way into the log.
    late: Vec<Rest>,
    late_min: usize,
    late_piece: usize,
}

impl Logs {
    pub fn new() -> Self {
        Self {
            memory: LogMemory::default(),
            limit: u64::MAX,
            widened: false,
            late: Vec::new(),
            late_min: LATE_LOG_MIN,
            late_piece: LATE_LOG_PIECE,
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
        (self.limit, self.widened) = (bytes, false);
    }

    /// Nothing cuts the logs: they may grow to twice as much, once.
    pub fn widen_limit(&mut self) {
        if !std::mem::replace(&mut self.widened, true) {
            self.limit = self.limit.saturating_mul(2);
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
