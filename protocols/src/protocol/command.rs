//! What a protocol orders the engine to do, and what it counts.

use super::Marker;
use ftmpi_wire::{Determinant, EventNo, Rank};
use serde::{Deserialize, Serialize};

/// What a protocol wants done. The engine carries out commands in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// Send these determinants to the event logger.
    Log {
        /// Number of the first determinant.
        first: EventNo,
        /// Number of the last own event up to here, by which peers name it.
        clock: EventNo,
        /// The determinants; none: only ask what is stable.
        records: Vec<Determinant>,
    },
    /// No offered image needs events before this number any more.
    Prune {
        /// First event that is still needed.
        below: EventNo,
    },
    /// A frame of the protocol's own to one peer.
    Send {
        /// The receiver.
        to: Rank,
        /// Encoded by the protocol.
        payload: Vec<u8>,
    },
    /// The same, but before all messages that wait to leave:
    /// [`Piggybacking::piggyback`](super::Piggybacking::piggyback) relies on that order.
    SendFirst {
        /// The receiver.
        to: Rank,
        /// Encoded by the protocol.
        payload: Vec<u8>,
    },
    /// Make a channel to this peer. [`Protocol::on_joined`](super::Protocol::on_joined) follows
    /// when messages flow.
    Join {
        /// The peer.
        to: Rank,
    },
    /// Receives that were [`Pin::Held`](super::Pin::Held) may match, in the order of their posting.
    FreeHeld,
    /// Send this marker to every peer with an open channel, before all frames that wait to leave
    /// and are not begun. The engine fills in how many messages went before the marker.
    Mark(Marker),
    /// After the markers nothing leaves before [`Command::Release`].
    HoldSends,
    /// Keep back what comes from this peer from here on, until [`Command::Release`].
    HoldFrom(Rank),
    /// What was held may go and arrive.
    Release,
    /// From here on a message that leaves is kept, so that an image contains it.
    KeepSent,
    /// What was kept of sent messages is in an image, or of no use.
    ForgetSent,
    /// This incarnation depends on what was lost. It must end, and another one must begin from an
    /// image. The text names the loss.
    RollBack(String),
    /// Recovery is impossible. The text says what is lost and why.
    GiveUp(String),
}

/// What a protocol counts for reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Events that travelled before messages.
    pub piggyback_events: u64,
    /// Bytes of all that travelled before messages, headers included.
    pub piggyback_bytes: u64,
    /// Events of this incarnation that came from the logger.
    pub recovered_from_logger: u64,
    /// Events of this incarnation that only peers knew.
    pub recovered_from_peers: u64,
    /// Events of other ranks that are held because they are not known to be stable.
    pub held_events: u64,
}
