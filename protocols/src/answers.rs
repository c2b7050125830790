//! The answers to calls that are not deterministic: what a protocol lets a call answer, and what
//! the call has answered. The contract ([`crate::protocol`]), the recorder and the replay share
//! them.

use ftmpi_wire::{Rank, Ssn};
use serde::{Deserialize, Serialize};

/// May this receive match, and which message?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pin {
    /// Any message that fits.
    Free,
    /// Only this message: the match was recorded.
    To(Rank, Ssn),
    /// None yet: recorded events must be repeated first.
    Held,
}

/// Set in the numbers of receives from a named source.
pub const NAMED: u64 = 1 << 63;

/// What a call with a non-deterministic answer must answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Decision {
    /// Nothing is recorded: look, and report the answer.
    Live,
    /// The recorded answer is "nothing".
    Negative,
    /// The recorded answer is this.
    Positive(Answer),
}

/// A positive answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// A number: an index, a count, 1 for "yes".
    Value(u64),
    /// A probe found this message.
    Probed(Rank, Ssn),
    /// The clock showed these bits of a double.
    Clock(u64),
    /// This receive was cancelled.
    Cancelled(u64),
    /// A one-sided request was served in this call. `None`: no further request was served until
    /// something left the rank.
    Served(u64, Option<(Rank, Ssn)>),
    /// This thread went on, with this step; a digest of what was done until then.
    Turn(u32, u64, u64),
    /// No other thread had gone on until this step, when something left the rank.
    Stayed(u64),
}

/// Which thread of the rank goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum NextTurn {
    /// Any: no recorded event is left that says it.
    Free,
    /// The one that went on last: other events of it come first.
    Same,
    /// This thread, with this step; the digest of what was done until then. The one that went on
    /// last has all steps before.
    Other(u32, u64, u64),
    /// The one that went on last, up to this step.
    Until(u64),
}

/// Which one-sided request may be served next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Service {
    /// Any: no recorded service is left.
    Free,
    /// None yet: other recorded events come first.
    Held,
    /// This request in this call. `None`: no other request before this call.
    Recorded(u64, Option<(Rank, Ssn)>),
}
