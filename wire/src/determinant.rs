//! Determinants: what a replay must repeat because the program could not know it beforehand
//! (mpich-v-2006 §3.3; event-logger-2005 §II). Never the payload.
//!
//! There are two families. A *match* says which message a receive took; it is looked up by the
//! number of the receive. An *outcome* says what a call returned (a test, a probe, a clock);
//! outcomes are consumed in program order. Both share one sequence of [`EventNo`](crate::EventNo)s,
//! so that "stable up to n" is one number.

use crate::{DecodeError, EventNo, Incarnation, Rank, Ssn};
use serde::{Deserialize, Serialize};

/// One non-deterministic event of a rank. 32 bytes on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Determinant {
    /// Receive number `post` of the rank took message `ssn` of `source`.
    Match {
        /// Negative answers since the last event: a replay must repeat them before this match.
        fails: u32,
        /// The n-th wildcard receive that the rank posted. 0 for a receive from a named source,
        /// which replay does not need (`--events all` records it nevertheless).
        post: u64,
        /// Who sent the message.
        source: Rank,
        /// Which message of that sender.
        ssn: Ssn,
    },
    /// After `fails` negative answers (tests and probes that found nothing), a call answered with a
    /// success that needs only a number: the index that `MPI_Waitany` chose, 1 for a successful
    /// test.
    Outcome {
        /// Negative answers since the last event.
        fails: u32,
        /// The answer.
        value: u64,
    },
    /// After `fails` negative answers a probe saw message `ssn` of `source`.
    Probed {
        /// Negative answers since the last event.
        fails: u32,
        /// Who sent the message.
        source: Rank,
        /// Which message of that sender.
        ssn: Ssn,
    },
    /// `fails` negative answers, reported before something leaves the rank.
    Failed {
        /// Negative answers since the last event.
        fails: u32,
    },
    /// `MPI_Wtime` returned the double with these bits.
    Clock {
        /// Negative answers since the last event.
        fails: u32,
        /// Bits of the double.
        bits: u64,
    },
    /// `MPI_Cancel` cancelled receive number `post`: a replay must not let it match before.
    Cancelled {
        /// Negative answers since the last event.
        fails: u32,
        /// The n-th wildcard receive, or the n-th of the others with the highest bit set.
        post: u64,
    },
    /// Only in a log: the next `count` records are no events of this rank, but those of `creator`
    /// from number `first` on. The events behind them depend on these (causal logging).
    Witness {
        /// Whose events follow.
        creator: Rank,
        /// Their number.
        count: u32,
        /// Number of the first.
        first: EventNo,
    },
    /// In its `call`-th call since it has windows the rank served a one-sided request. Without a
    /// message: it had served nothing more when something left it.
    Served {
        /// Negative answers since the last event.
        fails: u32,
        /// Which call.
        call: u64,
        /// Sender and number of the request.
        message: Option<(Rank, Ssn)>,
    },
    /// Another thread of the rank went on, with step `step`. Steps are what the threads of a rank
    /// do inside the library, one at a time: a call begins, ends, or goes on after a wait.
    Turn {
        /// Negative answers since the last event.
        fails: u32,
        /// Which thread.
        thread: u32,
        /// The number of its first step.
        step: u64,
        /// A digest of what the threads had done until then.
        digest: u64,
    },
    /// No other thread had gone on until this step, when something left the rank.
    Stayed {
        /// Negative answers since the last event.
        fails: u32,
        /// The step.
        step: u64,
    },
    /// Only in a log: the records behind it depend on this event of another rank, which was not
    /// known to be stable (optimistic logging).
    Depends {
        /// Whose event.
        rank: Rank,
        /// In which of its incarnations.
        incarnation: Incarnation,
        /// Its place in that rank's log.
        place: EventNo,
    },
    /// Only in a log: here an incarnation of this rank began, after the record at place `after`;
    /// everything between is void (optimistic logging).
    Begins {
        /// The incarnation.
        incarnation: Incarnation,
        /// Place of the last record that it repeated.
        after: EventNo,
    },
}

impl Determinant {
    /// Bytes of one record.
    pub const BYTES: usize = 32;

    /// Encodes: kind, `fails`, `source`, three words by kind.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let (kind, fails, source, a, b) = match *self {
            Self::Match { fails, post, source, ssn } => (1u32, fails, source.0, post, ssn.0),
            Self::Outcome { fails, value } => (2, fails, 0, value, 0),
            Self::Probed { fails, source, ssn } => (3, fails, source.0, 0, ssn.0),
            Self::Failed { fails } => (4, fails, 0, 0, 0),
            Self::Clock { fails, bits } => (5, fails, 0, bits, 0),
            Self::Cancelled { fails, post } => (6, fails, 0, post, 0),
            Self::Witness { creator, count, first } => (7, count, creator.0, first.0, 0),
            Self::Served { fails, call, message: Some((source, ssn)) } => {
                (8, fails, source.0, call, ssn.0)
            }
            Self::Served { fails, call, message: None } => (8, fails, u32::MAX, call, 0),
            Self::Depends { rank, incarnation, place } => (9, incarnation.0, rank.0, place.0, 0),
            Self::Begins { incarnation, after } => (10, incarnation.0, 0, after.0, 0),
            Self::Turn { fails, thread, step, digest } => (11, fails, thread, step, digest),
            Self::Stayed { fails, step } => (12, fails, 0, step, 0),
        };
        let mut out = [0; Self::BYTES];
        out[0..4].copy_from_slice(&kind.to_le_bytes());
        out[4..8].copy_from_slice(&fails.to_le_bytes());
        out[8..12].copy_from_slice(&source.to_le_bytes());
        out[16..24].copy_from_slice(&a.to_le_bytes());
        out[24..32].copy_from_slice(&b.to_le_bytes());
        out
    }

    /// Decodes one record.
    ///
    /// # Errors
    /// A wrong length or an unknown kind.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        if bytes.len() != Self::BYTES {
            return Err(DecodeError::new("determinant", "wrong length"));
        }
        let word32 = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let word64 = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let (fails, source, a, b) = (word32(4), Rank(word32(8)), word64(16), word64(24));
        Ok(match word32(0) {
            1 => Self::Match { fails, post: a, source, ssn: Ssn(b) },
            2 => Self::Outcome { fails, value: a },
            3 => Self::Probed { fails, source, ssn: Ssn(b) },
            4 => Self::Failed { fails },
            5 => Self::Clock { fails, bits: a },
            6 => Self::Cancelled { fails, post: a },
            7 => Self::Witness { creator: source, count: fails, first: EventNo(a) },
            8 if source.0 == u32::MAX => Self::Served { fails, call: a, message: None },
            8 => Self::Served { fails, call: a, message: Some((source, Ssn(b))) },
            9 => Self::Depends { rank: source, incarnation: Incarnation(fails), place: EventNo(a) },
            10 => Self::Begins { incarnation: Incarnation(fails), after: EventNo(a) },
            11 => Self::Turn { fails, thread: source.0, step: a, digest: b },
            12 => Self::Stayed { fails, step: a },
            _ => return Err(DecodeError::new("determinant", "unknown kind")),
        })
    }
}
