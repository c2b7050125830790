//! The first messages on every TCP connection, after both sides have proved that they hold the
//! job's key (`ftmpi_transport::auth`): who calls, and what for.

use crate::{Incarnation, Rank};
use serde::{Deserialize, Serialize};

/// Version of everything in this crate, and of what goes through shared memory; both sides must
/// agree.
pub const PROTOCOL_VERSION: u32 = 11;

/// Bytes of a job's key.
pub const KEY_BYTES: usize = 32;

/// What an authenticated connection is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// To the launcher: the agent of host number `host` reports.
    Agent {
        /// Index in the launcher's list of hosts.
        host: u32,
    },
    /// To an agent: a message channel between two ranks; the descriptor goes to rank `to`.
    Channel {
        /// The rank that asks.
        from: Rank,
        /// Its incarnation.
        from_incarnation: Incarnation,
        /// The rank that is wanted.
        to: Rank,
        /// The incarnation that the asker knows of.
        to_incarnation: Incarnation,
        /// How often the two incarnations have lost their connection, as far as the asker knows.
        round: u32,
    },
    /// To an event logger: determinants of one rank follow.
    Events {
        /// The rank that it belongs to.
        rank: Rank,
        /// The incarnation of the rank.
        incarnation: Incarnation,
    },
    /// To a checkpoint server: requests of [`image_store`](crate::image_store) follow.
    Images,
    /// To an event logger: answer *yes* when everything that was written before is on stable
    /// storage.
    Durable,
    /// To a server: answer with its state and close (health check, statistics).
    Status,
    /// To an event logger: send what is written of your ranks
    /// ([`Frame::Stable`](crate::event_log::Frame)), and then what changes.
    Clocks,
    /// From the launcher to an event logger: listen to these others.
    PeerLoggers {
        /// Where they are.
        addresses: Vec<std::net::SocketAddr>,
    },
    /// To a checkpoint scheduler: the launcher sends what happens and receives what is due.
    Schedule,
    /// To a channel memory: frames for one rank follow. If the caller is that rank itself,
    /// everything that was sent to it comes back.
    Memory {
        /// Who calls.
        from: Rank,
        /// The incarnation of the rank.
        incarnation: Incarnation,
        /// Whose memory.
        to: Rank,
    },
    /// To an agent: keep this connection. The agent of another host sees by it whether the way
    /// between the two hosts works.
    Path {
        /// Index of the caller's host.
        host: u32,
    },
    /// To an agent: say for how many milliseconds the launcher has not answered you (8 bytes,
    /// little-endian).
    LauncherSilence,
    /// To a server: are you there? Any answer will do, also a refusal.
    Ping,
}

/// The callee's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Welcome {
    /// Go on.
    Yes,
    /// That incarnation is dead, or not the living one.
    Stale,
    /// Not now, and why: the obstacle may go away.
    Later(String),
    /// No, and why.
    No(String),
}
