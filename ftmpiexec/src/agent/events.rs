//! What an agent waits for.

use super::control::Datagram;
use super::directory::RankKey;
use super::image_results::{Restore, StoredImage};
use super::looks::Found;
use super::standbys::StandbyFetched;
use super::start::StartOutcome;
use crate::agent_protocol::{Report, ToAgent};
use ftmpi_transport::auth::Authenticated;
use ftmpi_wire::{EventNo, Incarnation, Rank};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// What the agent's tasks report to its one thread.
#[derive(Debug)]
pub enum AgentEvent {
    /// The launcher sent a message.
    Order(Box<ToAgent>),
    /// The connection to the launcher ended.
    LauncherGone,
    /// A rank sent a message.
    FromRank { rank: Rank, incarnation: Incarnation, datagram: Datagram },
    /// What a rank said when it entered `MPI_Init` was looked at.
    Looked(RankKey, Found),
    /// Libraries of ranks were looked at.
    PluginsFound(Vec<(RankKey, super::plugins::Found)>),
    /// A rank's control socket closed, or the rank sent a datagram that is not allowed.
    ControlClosed {
        rank: Rank,
        incarnation: Incarnation,
        /// The process that had the socket: an incarnation may try several processes.
        pid: u32,
        why: Option<String>,
    },
    /// A rank has been silent since its control socket closed.
    ControlGrace { rank: Rank, incarnation: Incarnation, pid: u32 },
    /// A rank's process has ended and is not reaped yet.
    Exited { rank: Rank, incarnation: Incarnation },
    /// The output of a rank has been read to its end.
    Drained { rank: Rank, incarnation: Incarnation },
    /// Text of a rank is held: the rank must make it final.
    TextHeld { rank: Rank, incarnation: Incarnation },
    /// Time to look whether the rank has made its held text final.
    Unsettled { rank: Rank, incarnation: Incarnation },
    /// A report for the launcher about an incarnation, unless the incarnation has ended.
    Report { rank: Rank, incarnation: Incarnation, report: Report },
    /// Two ranks of this host could not be joined a while ago.
    JoinAgain {
        from: RankKey,
        to: RankKey,
        /// The wait before the next attempt.
        pause: Duration,
    },
    /// A channel that a rank asked for is connected.
    Connected(NewSocket),
    /// The agent of another rank asks for a channel.
    Incoming(Box<Authenticated>),
    /// The agent of another rank was sent the answer *yes*.
    Accepted(NewSocket),
    /// All other agents were asked for how long the launcher has been silent to them. None: not
    /// all of them could be reached.
    OthersSaid { asked: Instant, shortest: Option<Duration> },
    /// An event logger told all hosts which events of its ranks are stored.
    StableClocks(Vec<(Rank, EventNo)>),
    /// A connection to a rank's event logger.
    LoggerConnected { rank: Rank, incarnation: Incarnation, socket: OwnedFd },
    /// The search for the image of a restart has ended: start the process.
    RestoreReady(Box<Restore>),
    /// The process of an incarnation was started, or could not be.
    ProcessStarted(Box<StartOutcome>),
    /// The search for the image of a standby has ended.
    StandbyFetched(Box<StandbyFetched>),
    /// A standby has read its image.
    StandbyFilled { rank: Rank, serial: u64 },
    /// The process of a standby has ended and is not reaped yet.
    StandbyExited { rank: Rank, serial: u64 },
    /// An incarnation that is to begin in its standby was declared.
    StandbyMayGo(Box<Restore>),
    /// The health command says something new.
    Health { bad: Option<String> },
    /// An image of a rank was stored or lost.
    ImageDone { rank: Rank, incarnation: Incarnation, done: Box<StoredImage> },
}

/// A socket that joins a rank of this host with a peer.
#[derive(Debug)]
pub struct NewSocket {
    /// The rank of this host.
    pub rank: RankKey,
    /// The peer.
    pub peer: RankKey,
    /// The round in which the rank asked for the socket.
    pub round: u32,
    /// The connected socket.
    pub socket: OwnedFd,
}
