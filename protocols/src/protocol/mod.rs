//! The contract between the engine and a fault-tolerance protocol.
//!
//! A protocol is a pure state machine. It owns no socket, clock or thread.
//!
//! Calling convention, as for every machine of this crate: call `on_*` with what happened, then
//! drain [`Protocol::next_command`] until it returns `None`. Queries (methods with `&self`) never
//! change state.
//!
//! The contract has five parts. Every protocol implements all of them. Every method but
//! [`Protocol::hooks`] has a default, so a part that does not concern a protocol is an empty
//! `impl`.
//!
//! | part | about |
//! | --- | --- |
//! | [`Protocol`] | channels, restarts, commands |
//! | [`Determinants`] | non-deterministic events: recorded once, repeated by a new incarnation |
//! | [`Logging`] | the event logger: what is stable, and what waits for it |
//! | [`Piggybacking`] | what travels with messages; orphans |
//! | [`Waves`] | coordinated images |
//!
//! A logging protocol implements [`Records`] instead of [`Determinants`]: the recorder then does
//! the work. What else every logging protocol shares is in [`crate::sender_log`],
//! [`crate::received`] (duplicate suppression and the `Resume` handshake) and [`crate::replay`].
//! `docs/protocols/` has one page for each protocol.

mod command;
mod determinants;
mod logging;
mod piggybacking;
mod waves;

pub use crate::answers::{Answer, Decision, NAMED, NextTurn, Pin, Service};
pub use command::{Command, Counts};
pub use determinants::{Determinants, Records};
pub use logging::{Logging, SendVerdict};
pub use piggybacking::{ArrivalVerdict, Piggybacking};
pub use waves::{Marker, Readiness, Stage, Waves};

use ftmpi_wire::{EventNo, Incarnation, Rank};
use serde::{Deserialize, Serialize};

/// What the engine must report to the protocol. A hook that is off costs one predicted branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Hooks {
    /// Keep payloads in the sender log ([`Protocol::logs_payload`] decides for which peers), and
    /// suppress duplicates.
    pub log_payload: bool,
    /// Matches of wildcard receives become determinants.
    pub wildcard_matches: bool,
    /// Matches of all receives become determinants.
    pub all_matches: bool,
    /// Outcomes of tests, probes, cancels become determinants.
    pub outcomes: bool,
    /// Values of the clock become determinants.
    pub clock: bool,
    /// Ask [`Logging::on_send`] before a message leaves.
    pub sends: bool,
    /// Ask [`Piggybacking::on_arrival`] before a message is matched.
    pub arrivals: bool,
    /// Ask [`Piggybacking::piggyback`] before a message leaves.
    pub piggyback: bool,
    /// Determinants go to an event logger.
    pub logger: bool,
    /// Messages go to the receiver's channel memory and come from the own one. The peer at the
    /// other end of every channel is then a server that outlives ranks. What the server has stored
    /// need not be kept.
    pub memory: bool,
    /// Coordinated waves: messages are counted on each channel. The images of all ranks together
    /// contain every message that was under way.
    pub channel_state: bool,
}

/// The core of a fault-tolerance protocol; the module documentation lists the other parts.
pub trait Protocol: Determinants + Logging + Piggybacking + Waves {
    /// What the engine must report; constant for the whole run of the protocol.
    fn hooks(&self) -> Hooks;

    /// Whether payloads for this peer are logged; constant, asked once for each peer.
    fn logs_payload(&self, _peer: Rank) -> bool {
        self.hooks().log_payload
    }

    /// Whether this peer takes its images in the same waves as this rank, and returns to them
    /// together with it. The answer is constant and asked once for each peer. Payloads for such a
    /// peer are not logged.
    fn shares_waves(&self, _peer: Rank) -> bool {
        self.hooks().channel_state
    }

    /// So many more processes are in the job. They take no images in the waves of this rank.
    fn on_newcomers(&mut self, _count: usize) {}

    /// A new incarnation of this rank begins after an image (or the start) whose last event was
    /// `last`. `incarnations` are those of all ranks now. [`Logging::on_restart`] follows when the
    /// logger has sent the recorded events, or at once without a logger.
    fn on_new_incarnation(&mut self, _last: EventNo, _incarnations: &[Incarnation]) {}

    /// A peer got a new incarnation.
    fn on_peer_restart(&mut self, _peer: Rank, _incarnation: Incarnation) {}

    /// Appends what the peer must learn when a channel to it begins.
    fn resume(&mut self, _peer: Rank, _out: &mut Vec<u8>) {}

    /// Messages flow to this peer. `resume` is what the peer's [`Protocol::resume`] wrote.
    fn on_joined(&mut self, _peer: Rank, _resume: &[u8]) {}

    /// The channel to this peer is gone, with all frames that were under way on it.
    fn on_parted(&mut self, _peer: Rank) {}

    /// A frame of this protocol's own has arrived ([`Command::Send`]).
    fn on_frame(&mut self, _from: Rank, _payload: &[u8]) {}

    /// The protocol's own counters, for reports.
    fn counts(&self) -> Counts {
        Counts::default()
    }

    /// The next thing that the engine must do, in order; `None`: nothing is left.
    fn next_command(&mut self) -> Option<Command> {
        None
    }
}
