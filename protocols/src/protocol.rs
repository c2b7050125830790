//! The contract between the engine and a fault-tolerance protocol.
//!
//! A protocol is a pure state machine: the engine tells it what happens ([`Protocol`]'s `on_*`
//! methods), asks it for verdicts, and carries out its [`Command`]s. It owns no socket, clock or
//! thread. What every message-logging protocol shares is not in the protocols but written once:
//! the sender log ([`crate::sender_log`]), duplicate suppression and the `Resume` handshake
//! ([`crate::received`]), and replay ([`crate::replay`]). How each protocol of the family uses this
//! contract is in ARCHITECTURE.md.

use ftmpi_wire::{Determinant, EventNo, ImageNo, Incarnation, Rank, Ssn, Wave};
use serde::{Deserialize, Serialize};

/// What the engine must tell the protocol. A hook that is not wanted costs one predicted branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Hooks {
    /// Keep payloads in the sender log ([`Protocol::logs_payload`] says for whom), and suppress
    /// duplicates.
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
    /// Ask [`Protocol::piggyback`] before a message leaves.
    pub piggyback: bool,
    /// Determinants go to an event logger.
    pub logger: bool,
    /// Messages go to the receiver's memory and come from one's own: the peer at the other end of
    /// every channel is a server that outlives ranks, and what it has stored need not be kept.
    pub memory: bool,
    /// Coordinated waves: messages are counted on each channel, and an incarnation that begins from an image
    /// finds in the images of all ranks together everything that was under way.
    pub channel_state: bool,
}

/// May this message leave?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SendVerdict {
    /// At once.
    Go,
    /// When all own events up to this one are stable.
    After(EventNo),
}

/// What becomes of a message that arrived?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ArrivalVerdict {
    /// Match it.
    Accept,
    /// It is from a state that was rolled back: drop it.
    Orphan,
}

/// May this receive match, and what?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Decision {
    /// Nothing is recorded: look, and report the answer.
    Live,
    /// It answered "nothing" then.
    Negative,
    /// It answered this.
    Positive(Answer),
}

/// A positive answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// A number: an index, a count, 1 for "yes".
    Value(u64),
    /// A probe saw this message.
    Probed(Rank, Ssn),
    /// The clock showed these bits of a double.
    Clock(u64),
    /// This receive was cancelled.
    Cancelled(u64),
    /// In this call a one-sided request was served, or (`None`) no other until something left.
    Served(u64, Option<(Rank, Ssn)>),
}

/// Which one-sided request may be served next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Service {
    /// Any: nothing recorded is left.
    Free,
    /// None yet: other recorded events come first.
    Held,
    /// In this call this request; with `None` no other before this call.
    Recorded(u64, Option<(Rank, Ssn)>),
}

/// Where a rank stands in a wave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    /// The wave has reached it; its image is not taken yet.
    Begun,
    /// Its image is taken, or was given up: what follows on the channel is not in it.
    Cut,
}

/// What one rank tells another about a wave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// Which wave.
    pub wave: Wave,
    /// How far its sender is.
    pub stage: Stage,
    /// Messages that its sender had sent on this channel before it; filled in by the engine.
    pub count: u64,
}

impl Marker {
    /// Bytes on the wire.
    pub const BYTES: usize = 17;

    /// For the wire.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut out = [0; Self::BYTES];
        out[0] = match self.stage {
            Stage::Begun => 1,
            Stage::Cut => 2,
        };
        out[1..9].copy_from_slice(&self.wave.0.to_le_bytes());
        out[9..].copy_from_slice(&self.count.to_le_bytes());
        out
    }

    /// From the wire; `None` for bytes that are no marker.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::BYTES] = bytes.try_into().ok()?;
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let stage = match bytes[0] {
            1 => Stage::Begun,
            2 => Stage::Cut,
            _ => return None,
        };
        Some(Self { wave: Wave(word(1)), stage, count: word(9) })
    }
}

/// May the image that is due be taken at this moment?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Readiness {
    /// Yes.
    Now,
    /// Later: something is still to come.
    NotYet,
    /// It comes too late: the wave that it belongs to went on without it.
    Never,
}

/// What a protocol wants done. Carried out in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// Send these determinants to the event logger; the first has number `first`.
    Log {
        /// Number of the first.
        first: EventNo,
        /// Number of the last own event up to here, by which peers name it.
        clock: EventNo,
        /// The determinants; none: only ask what is stable.
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
    /// The same, but before all messages that wait to leave: [`Protocol::piggyback`] counts on it.
    SendFirst {
        /// To whom.
        to: Rank,
        /// Encoded by the protocol.
        payload: Vec<u8>,
    },
    /// Make a channel to this peer; [`Protocol::on_joined`] tells when messages flow.
    Join {
        /// To whom.
        to: Rank,
    },
    /// Receives that were [`Pin::Held`] may match, in the order in which they were posted.
    FreeHeld,
    /// To every peer with whom a channel is open: this marker, before anything that waits to leave
    /// and is not begun. The engine adds how many messages went before it.
    Mark(Marker),
    /// After the markers nothing leaves before [`Command::Release`].
    HoldSends,
    /// What comes from this peer from here on is kept back until [`Command::Release`].
    HoldFrom(Rank),
    /// What was held may go and arrive.
    Release,
    /// From here on a message that leaves is kept, so that an image has it.
    KeepSent,
    /// What was kept of sent messages is in an image, or of no use.
    ForgetSent,
    /// This incarnation depends on what was lost: it is to end, and another to begin from an image; the text
    /// says on what.
    RollBack(String),
    /// Recovery is impossible; the text says what is lost and why.
    GiveUp(String),
}

/// What a protocol counts of its own, for reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Events that were put before messages, and their bytes.
    pub piggyback_events: u64,
    /// Bytes of all that was put before messages.
    pub piggyback_bytes: u64,
    /// Events of this incarnation that the logger told.
    pub recovered_from_logger: u64,
    /// Events of this incarnation that only peers knew.
    pub recovered_from_peers: u64,
    /// Events of other ranks that are held because they are not known to be stable.
    pub held_events: u64,
}

/// A fault-tolerance protocol.
pub trait Protocol {
    /// What it wants to be told; constant over its incarnation.
    fn hooks(&self) -> Hooks;

    /// Whether payloads for this peer are logged; constant, asked once for each.
    fn logs_payload(&self, _peer: Rank) -> bool {
        self.hooks().log_payload
    }

    /// Whether this peer takes its images in the same waves and returns to them together with this
    /// rank; constant, asked once for each. Payloads for it are not logged.
    fn shares_waves(&self, _peer: Rank) -> bool {
        self.hooks().channel_state
    }

    /// A message of the program wants to leave. May be asked again about the same message.
    fn on_send(&mut self, _to: Rank, _ssn: Ssn) -> SendVerdict {
        SendVerdict::Go
    }

    /// Whether there may be a piggyback for this peer: something was added since it was asked for
    /// last.
    fn has_piggyback(&self, _to: Rank) -> bool {
        true
    }

    /// A message, or something else that reveals a match, is about to leave: appends what the peer
    /// must know first; it goes as a frame of its own directly before. Asked when the frame really
    /// leaves, so that one which is sent again carries what is known then.
    fn piggyback(&mut self, _to: Rank, _out: &mut Vec<u8>) {}

    /// What a peer put before a message.
    fn on_piggyback(&mut self, _from: Rank, _piggyback: &[u8]) {}

    /// A message, or something else that reveals a match, arrived that is no duplicate.
    fn on_arrival(&mut self, _from: Rank, _ssn: Ssn) -> ArrivalVerdict {
        ArrivalVerdict::Accept
    }

    /// Everything that arrives from this peer is an orphan for now.
    fn refuses(&self, _from: Rank) -> bool {
        false
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

    /// Which one-sided request may be served next?
    fn next_service(&self) -> Service {
        Service::Free
    }

    /// What [`Service::Recorded`] said was repeated.
    fn service_repeated(&mut self) {}

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

    /// Something is about to be done that nobody can take back: as [`Protocol::settle`], and whatever
    /// this state depends on, also events of others, goes to stable storage. It is there when
    /// [`Protocol::last_event`], as it is now, is stable. (An image needs less: it holds what its rank
    /// knows of others.)
    fn commit(&mut self) {
        self.settle();
    }

    /// The logger was lost and is there again: ship again what was not acknowledged.
    fn on_logger_back(&mut self) {}

    /// The logger says up to which of their own event numbers the events of these ranks are stable.
    fn on_stable_clocks(&mut self, _clocks: &[(Rank, EventNo)]) {}

    /// A peer that is being recovered waits for us to answer it.
    fn is_awaited(&self) -> bool {
        false
    }

    /// A new incarnation of this rank begins after an image (or the start) whose last event was `last`;
    /// these are the incarnations of all ranks now. [`Protocol::on_restart`] follows when the logger has
    /// told the recorded events, or at once without a logger.
    fn on_new_incarnation(&mut self, _last: EventNo, _lives: &[Incarnation]) {}

    /// How many determinants this incarnation has to repeat.
    fn recorded(&self) -> u64 {
        0
    }

    /// What this incarnation is to repeat is still being gathered from the peers.
    fn gathering(&self) -> bool {
        false
    }

    /// A new incarnation of this rank begins after an image (or the start) whose last event was `last`;
    /// these events follow it in the log.
    fn on_restart(&mut self, _last: EventNo, _recorded: Vec<Determinant>) {}

    /// A peer got a new incarnation.
    fn on_peer_restart(&mut self, _peer: Rank, _incarnation: Incarnation) {}

    /// Appends what the peer is to be told when a channel to it begins.
    fn resume(&mut self, _peer: Rank, _out: &mut Vec<u8>) {}

    /// Messages flow to this peer, which said this at the begin of the channel.
    fn on_joined(&mut self, _peer: Rank, _said: &[u8]) {}

    /// The channel to this peer is gone, with whatever was under way on it.
    fn on_parted(&mut self, _peer: Rank) {}

    /// A frame of this protocol's own.
    fn on_frame(&mut self, _from: Rank, _payload: &[u8]) {}

    /// The oldest image that is still offered was taken after this event.
    fn on_oldest_image(&mut self, _events: EventNo) {}

    /// What it has counted.
    fn counts(&self) -> Counts {
        Counts::default()
    }

    /// Determinants made in this incarnation and before.
    fn determinants(&self) -> u64 {
        0
    }

    /// This image was asked for; told again and again until it is taken.
    fn on_image_due(&mut self, _image: ImageNo) {}

    /// May it be taken now? `peers` are those with whom a channel is open, each with the number of
    /// messages that we have of it.
    fn image_ready(
        &self,
        _image: ImageNo,
        _peers: &mut dyn Iterator<Item = (Rank, u64)>,
    ) -> Readiness {
        Readiness::Now
    }

    /// Whether a rank whose image is due stands still until it is taken.
    fn stands_still(&self) -> bool {
        true
    }

    /// The image was taken and this incarnation goes on; or it was refused, or never will be.
    fn on_image_over(&mut self, _image: ImageNo) {}

    /// All ranks that share waves begin new incarnations from images with this number; this one has.
    fn on_return(&mut self, _image: ImageNo) {}

    /// First word on a new channel; its count is 0.
    fn greeting(&self) -> Option<Marker> {
        None
    }

    /// What it wants done next.
    fn next_command(&mut self) -> Option<Command> {
        None
    }
}
