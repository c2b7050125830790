//! What goes through the table, as `postcard` encodes it: variants and numbers as varints, in the
//! order in which they stand here.
//!
//! An [`Input`] is one call of a method of [`Protocol`](ftmpi_protocols::protocol::Protocol) or its
//! parts, whose documentation explains it. A [`Reply`] has the answer, the commands that came of
//! the call, and the state of the queries afterwards, so that queries cost no call.

use ftmpi_protocols::protocol::{
    Answer, ArrivalVerdict, Command, Counts, Decision, Hooks, Marker, Pin, Readiness, SendVerdict,
    Service,
};
use ftmpi_wire::control::ProtocolConfig;
use ftmpi_wire::{Determinant, EventNo, ImageNo, Incarnation, Rank, Ssn};
use serde::{Deserialize, Serialize};

/// For `make`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// From the command line.
    pub config: ProtocolConfig,
    /// Whose protocol.
    pub me: Rank,
    /// The incarnation of each rank now.
    pub incarnations: Vec<Incarnation>,
}

/// What happens, or is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "each is the method of that name")]
pub enum Input<'a> {
    Hooks,
    LogsPayload(Rank),
    SharesWaves(Rank),
    OnSend(Rank, Ssn),
    HasPiggyback(Rank),
    Piggyback(Rank),
    OnPiggyback(Rank, &'a [u8]),
    OnArrival(Rank, Ssn),
    Refuses(Rank),
    Pin(u64),
    OnMatch(u64, Rank, Ssn),
    Decide,
    OnNegative,
    OnAnswer(Answer),
    ServiceRepeated,
    OnStable(EventNo, EventNo),
    Flush,
    Settle,
    Commit,
    OnLoggerBack,
    OnStableClocks(Vec<(Rank, EventNo)>),
    OnNewIncarnation(EventNo, Vec<Incarnation>),
    OnRestart(EventNo, Vec<Determinant>),
    OnPeerRestart(Rank, Incarnation),
    Resume(Rank),
    OnJoined(Rank, &'a [u8]),
    OnParted(Rank),
    OnFrame(Rank, &'a [u8]),
    OnOldestImage(EventNo),
    OnImageDue(ImageNo),
    ImageReady(ImageNo, Vec<(Rank, u64)>),
    OnImageOver(ImageNo),
    OnReturn(ImageNo),
    Greeting,
}

/// What it answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "each is the type of that name")]
pub enum Output<'a> {
    Nothing,
    Hooks(Hooks),
    Bool(bool),
    Send(SendVerdict),
    Arrival(ArrivalVerdict),
    Pin(Pin),
    Decision(Decision),
    Readiness(Readiness),
    Marker(Option<Marker>),
    Bytes(&'a [u8]),
}

/// How things stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "each is the method of that name")]
pub struct Standing {
    pub next_service: Service,
    pub replaying: bool,
    pub repeating: bool,
    pub gathering: bool,
    pub is_awaited: bool,
    pub stands_still: bool,
    pub gate: EventNo,
    pub last_event: EventNo,
    pub stable: EventNo,
    pub recorded: u64,
    pub determinants: u64,
    pub counts: Counts,
}

impl Default for Standing {
    fn default() -> Self {
        Self {
            next_service: Service::Free,
            replaying: false,
            repeating: false,
            gathering: false,
            is_awaited: false,
            stands_still: true,
            gate: EventNo(0),
            last_event: EventNo(0),
            stable: EventNo(u64::MAX),
            recorded: 0,
            determinants: 0,
            counts: Counts::default(),
        }
    }
}

/// The answer to an [`Input`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply<'a> {
    /// What was asked.
    #[serde(borrow)]
    pub output: Output<'a>,
    /// Afterwards.
    pub standing: Standing,
    /// What it wants done.
    pub commands: Vec<Command>,
}
