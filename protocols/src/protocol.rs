//! The contract between the engine and a fault-tolerance protocol.
//!
//! A protocol is a pure state machine: the engine tells it what happens ([`Protocol`]'s `on_*`
//! methods), asks it for verdicts, and carries out its [`Command`]s. It owns no socket, clock or
//! thread. What every message-logging protocol shares is not in the protocols but written once:
//! the sender log ([`crate::sender_log`]), duplicate suppression and the `Resume` handshake
//! ([`crate::received`]), and replay ([`crate::replay`]). How each protocol of the family uses this
//! contract is in ARCHITECTURE.md.

use ftmpi_wire::{Determinant, EventNo, Incarnation, Rank, Ssn};

/// What the engine must tell the protocol. A hook that is not wanted costs one predicted branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hooks {
    /// Keep the payload of every message in the sender log, and suppress duplicates.
    pub log_payload: bool,
    /// Matches of wildcard receives become determinants.
    pub wildcard_matches: bool,
    /// Matches of all receives become determinants.
    pub all_matches: bool,
    /// Outcomes of tests, probes, cancels become determinants.
    pub outcomes: bool,
    /// Values of the clock become determinants.
    pub clock: bool,
    /// Ask [`Protocol::on_send`] before a message leaves.
    pub sends: bool,
    /// Ask [`Protocol::on_arrival`] before a message is matched.
    pub arrivals: bool,
    /// [`Protocol::piggyback`] adds bytes to every message.
    pub piggyback: bool,
}

/// May this message leave?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendVerdict {
    /// At once.
    Go,
    /// When all own events up to this one are stable.
    After(EventNo),
    /// Not before [`Command::Release`] (a blocking wave has closed the channel).
    Hold,
}

/// What becomes of a message that arrived?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrivalVerdict {
    /// Match it.
    Accept,
    /// Match it, and keep a copy as state of its channel (a wave is open).
    AcceptAndRecord,
    /// Keep it back until [`Command::Release`].
    Hold,
    /// It is from a state that was rolled back: drop it.
    Orphan,
}

/// May this receive match, and what?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pin {
    /// Whatever comes first.
    Free,
    /// Only this message: it was recorded.
    To(Rank, Ssn),
    /// Nothing yet: what is recorded must be repeated first.
    Held,
}

/// Set in the numbers of receives from a named source.
pub const NAMED: u64 = 1 << 63;

/// What a call with a non-deterministic answer is to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Nothing is recorded: look, and report the answer.
    Live,
    /// It answered "nothing" then.
    Negative,
    /// It answered this.
    Positive(Answer),
}

/// A positive answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// A number: an index, a count, 1 for "yes".
    Value(u64),
    /// A probe saw this message.
    Probed(Rank, Ssn),
    /// The clock showed these bits of a double.
    Clock(u64),
    /// This receive was cancelled.
    Cancelled(u64),
}

/// What a protocol wants done. Carried out in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Send these determinants to the event logger; the first has number `first`.
    Log {
        /// Number of the first.
        first: EventNo,
        /// The determinants.
        records: Vec<Determinant>,
    },
    /// Events before this number are no longer needed by any offered image.
    Prune {
        /// First event still needed.
        below: EventNo,
    },
    /// A frame of the protocol's own to one peer.
    Send {
        /// To whom.
        to: Rank,
        /// Encoded by the protocol.
        payload: Vec<u8>,
    },
    /// Receives that were [`Pin::Held`] may match, in the order in which they were posted.
    FreeHeld,
    /// Messages that were held may go and arrive.
    Release,
    /// Take an image of this rank now (a wave reached it).
    TakeImage,
    /// Recovery is impossible; the text says what is lost and why.
    GiveUp(String),
}

/// A fault-tolerance protocol.
pub trait Protocol {
    /// What it wants to be told; constant over its life.
    fn hooks(&self) -> Hooks;

    /// A message of the program wants to leave.
    fn on_send(&mut self, _to: Rank, _ssn: Ssn) -> SendVerdict {
        SendVerdict::Go
    }

    /// Appends what must travel with the message.
    fn piggyback(&mut self, _to: Rank, _out: &mut Vec<u8>) {}

    /// A message arrived that is no duplicate.
    fn on_arrival(&mut self, _from: Rank, _ssn: Ssn, _piggyback: &[u8]) -> ArrivalVerdict {
        ArrivalVerdict::Accept
    }

    /// Receive number `post` is being posted: may it match freely? Wildcard receives are counted
    /// apart from the others, whose numbers have the bit [`NAMED`] and are asked about because they
    /// may have been cancelled.
    fn pin(&mut self, _post: u64) -> Pin {
        Pin::Free
    }

    /// Receive number `post` took this message; 0 for receives from a named source.
    fn on_match(&mut self, _post: u64, _source: Rank, _ssn: Ssn) {}

    /// A call with a non-deterministic answer is being made.
    fn decide(&mut self) -> Decision {
        Decision::Live
    }

    /// After [`Decision::Live`]: it answered "nothing".
    fn on_negative(&mut self) {}

    /// After [`Decision::Live`]: it answered this.
    fn on_answer(&mut self, _answer: Answer) {}

    /// Something recorded is still to be repeated.
    fn replaying(&self) -> bool {
        false
    }

    /// Recorded events are left, also such as need not be told: no image may be taken, for its
    /// number of the last event would be ahead of its state.
    fn repeating(&self) -> bool {
        self.replaying()
    }

    /// Every own event so far that something that leaves now would reveal; it may leave when this
    /// one is stable.
    fn gate(&self) -> EventNo {
        EventNo(0)
    }

    /// Number of the last own event: an image taken now needs nothing before it, and may be taken
    /// only when it is stable.
    fn last_event(&self) -> EventNo {
        EventNo(0)
    }

    /// The logger says what is stable.
    fn on_stable(&mut self, _written: EventNo, _durable: EventNo) {}

    /// Up to which event the own ones are stable.
    fn stable(&self) -> EventNo {
        EventNo(u64::MAX)
    }

    /// The rank waits, or something wants to leave: ship what has been gathered.
    fn flush(&mut self) {}

    /// An image is to be taken: what has only been counted so far becomes an event.
    fn settle(&mut self) {}

    /// The logger was lost and is there again: ship again what was not acknowledged.
    fn on_logger_back(&mut self) {}

    /// A new life of this rank begins after an image (or the start) whose last event was `last`;
    /// these events follow it in the log.
    fn on_restart(&mut self, _last: EventNo, _recorded: Vec<Determinant>) {}

    /// A peer got a new life.
    fn on_peer_restart(&mut self, _peer: Rank, _incarnation: Incarnation) {}

    /// A frame of this protocol's own.
    fn on_frame(&mut self, _from: Rank, _payload: &[u8]) {}

    /// The oldest image that is still offered was taken after this event.
    fn on_oldest_image(&mut self, _events: EventNo) {}

    /// Determinants made in this life and before.
    fn determinants(&self) -> u64 {
        0
    }

    /// What it wants done next.
    fn next_command(&mut self) -> Option<Command> {
        None
    }
}
