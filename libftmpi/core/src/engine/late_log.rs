//! Long messages that leave before the sender log has them.
//!
//! Such a message is pushed from the program's buffer; the way of its bytes into the log fills the time in which the
//! rank would only wait: for the answer to the announcement, for room in the channel, and at last for nothing, when
//! its receiver is at work on it. A receiver that sends as much in return copies at the same time.
//!
//! Guarantees: the log has all of it before the program may have its buffer back, and before its entry is read or
//! let go for any reason. Whoever dies before that loses the log with everything else, and repeats the call; an image
//! has the program's buffer as well, and a life that begins from it gives all sends that had not left to the log.

use super::{Engine, Link, ReqId, State};
use crate::usermem::UserPtr;
use ftmpi_protocols::log_memory::Block;
use ftmpi_wire::Rank;

/// Shorter messages are logged at the call.
const LATE_FROM: usize = 16 << 10;
/// Bytes that are copied between two looks at the channels: some microseconds.
const PIECE: usize = 32 << 10;

/// The rest of a message that the log does not have yet.
struct Rest {
    to: Rank,
    request: ReqId,
    block: Block,
    from: UserPtr,
    /// Bytes that it has.
    done: usize,
}

/// The messages under way into the log.
pub(super) struct LateLog {
    rests: Vec<Rest>,
    from: usize,
    piece: usize,
}

impl LateLog {
    pub(super) const fn new() -> Self {
        Self { rests: Vec::new(), from: LATE_FROM, piece: PIECE }
    }

    /// Whether a message of this length may come late.
    #[inline]
    pub(super) fn takes(&self, len: usize) -> bool {
        len >= self.from
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.rests.is_empty()
    }
}

impl State {
    /// The payload at `from`, which stays there until the request is complete, comes into this block of the log later.
    pub(super) fn log_later(&mut self, to: Rank, request: ReqId, block: Block, from: UserPtr) {
        self.late_log.rests.push(Rest { to, request, block, from, done: 0 });
    }

    /// Copies a little of what the log lacks.
    #[cold]
    pub(super) fn log_a_piece(&mut self) {
        let Some(rest) = self.late_log.rests.first_mut() else { return };
        let end = (rest.done + self.late_log.piece).min(rest.block.len());
        let to = &mut self.memory.bytes_mut(rest.block)[rest.done..end];
        rest.from.offset(rest.done as i64).store_away(to);
        rest.done = end;
        if end == rest.block.len() {
            self.late_log.rests.remove(0);
        }
    }

    /// The log gets all that it lacks of those.
    #[cold]
    fn finish_late(&mut self, of: impl Fn(&Rest) -> bool) {
        let memory = &mut self.memory;
        self.late_log.rests.retain(|rest| {
            if !of(rest) {
                return true;
            }
            let to = &mut memory.bytes_mut(rest.block)[rest.done..];
            rest.from.offset(rest.done as i64).store_away(to);
            false
        });
    }

    /// The program gets its buffer back.
    #[inline]
    pub(super) fn finish_late_of(&mut self, request: ReqId) {
        if !self.late_log.is_empty() {
            self.finish_late(|rest| rest.request == request);
        }
    }

    /// Somebody asks for what the log has for this rank.
    #[inline]
    pub(super) fn finish_late_to(&mut self, rank: Rank) {
        if !self.late_log.is_empty() {
            self.finish_late(|rest| rest.to == rank);
        }
    }

    /// What has not left of this send leaves from the log, which has all of it.
    pub(super) fn send_from_log(&mut self, request: ReqId) {
        self.finish_late_of(request);
        let memory = &self.memory;
        for (&(to, ssn), waiting) in &mut self.pending {
            if waiting.request == Some(request)
                && waiting.owned.is_none()
                && let Some(entry) = self.peers[to.index()].log.get(ssn)
            {
                waiting.payload = UserPtr::own(memory.bytes(entry.payload));
            }
        }
        for super::Peer { queue, log, .. } in &mut self.peers {
            let outs = queue.iter_mut().filter(|out| out.request == Some(request));
            for out in outs.filter(|out| out.owned.is_none()) {
                if let Some(entry) = log.get(out.frame.header.ssn) {
                    out.frame.payload = UserPtr::own(memory.bytes(entry.payload));
                }
            }
        }
    }
}

impl<L: Link> Engine<L> {
    /// From which length on messages may come into the log late, and how much of them at a time.
    pub fn set_late_log(&mut self, from: usize, piece: usize) {
        (self.state.late_log.from, self.state.late_log.piece) = (from.max(1), piece.max(1));
    }
}
