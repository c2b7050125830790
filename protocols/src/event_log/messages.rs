//! Inputs and outputs of the event log.

use ftmpi_wire::event_log::Frame;
use ftmpi_wire::hello::Welcome;
use ftmpi_wire::{Determinant, EventNo, Incarnation, Rank};

/// A connection, as numbered by the shell; never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u64);

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A caller proved the key; determinants of this rank will follow.
    Hello {
        /// Its connection.
        conn: ConnId,
        /// The rank of the determinants.
        rank: Rank,
        /// The incarnation of the rank.
        incarnation: Incarnation,
    },
    /// Outcome of [`Output::Fence`].
    Fenced {
        /// As in the output.
        conn: ConnId,
        /// Or why it could not be written.
        outcome: Result<(), String>,
    },
    /// A frame came.
    Frame {
        /// On this connection.
        conn: ConnId,
        /// The frame.
        frame: Frame,
    },
    /// What came is no frame: another version sent it, or memory was damaged.
    Malformed {
        /// On this connection.
        conn: ConnId,
        /// One line.
        why: String,
    },
    /// Outcome of [`Output::Compare`], before the next frame of that connection.
    Compared {
        /// As in the output.
        conn: ConnId,
        /// Whether they are the same; or why they cannot be read.
        outcome: Result<bool, String>,
    },
    /// Everything of this rank that was given out by [`Output::Append`] is in its file.
    Written {
        /// The rank that it belongs to.
        rank: Rank,
    },
    /// What was given out since the last [`Input::Written`] could not be written, and is not there.
    WriteFailed {
        /// The rank that it belongs to.
        rank: Rank,
        /// The reason.
        why: String,
    },
    /// The rank's events up to this one are on stable storage.
    Durable {
        /// The rank that it belongs to.
        rank: Rank,
        /// The last one.
        up_to: EventNo,
    },
    /// [`Output::Stream`] found that stored events cannot be read.
    ReadFailed {
        /// To whom they were to be sent.
        conn: ConnId,
        /// The reason.
        why: String,
    },
    /// A connection ended.
    Lost {
        /// The connection.
        conn: ConnId,
    },
}

/// What the shell has to do, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Write to the rank's log that this incarnation is alive; answer with [`Input::Fenced`].
    Fence {
        /// For the answer.
        conn: ConnId,
        /// The rank of the log.
        rank: Rank,
        /// The living incarnation.
        incarnation: Incarnation,
    },
    /// Answer the hello; on anything but [`Welcome::Yes`], close afterwards.
    Welcome {
        /// The connection of the receiver.
        conn: ConnId,
        /// The answer.
        welcome: Welcome,
    },
    /// Append to the rank's log; answer with [`Input::Written`] or [`Input::WriteFailed`], at the
    /// latest when no more input is waiting. Several may be written at once.
    Append {
        /// The rank of the log.
        rank: Rank,
        /// The incarnation that they come from.
        incarnation: Incarnation,
        /// Number of the first record.
        first: EventNo,
        /// The determinants.
        records: Vec<Determinant>,
    },
    /// Are these the same as what is stored under their numbers? Answer with [`Input::Compared`].
    Compare {
        /// For the answer.
        conn: ConnId,
        /// The rank of the log.
        rank: Rank,
        /// Number of the first record.
        first: EventNo,
        /// The determinants.
        records: Vec<Determinant>,
    },
    /// Send [`Frame::Ack`]; an older one that was not sent yet may be left out.
    Ack {
        /// The connection of the receiver.
        conn: ConnId,
        /// Last event in the file.
        written: EventNo,
        /// Last event on stable storage.
        durable: EventNo,
    },
    /// Send the stored events from `from` to before `next`, then [`Frame::End`].
    Stream {
        /// The connection of the receiver.
        conn: ConnId,
        /// The rank of the log.
        rank: Rank,
        /// The first one.
        from: EventNo,
        /// The one after the last.
        next: EventNo,
    },
    /// Events before this one may be removed.
    Prune {
        /// The rank of the log.
        rank: Rank,
        /// The first one that is needed.
        below: EventNo,
    },
    /// What is stored is of no use; the log begins again with this number.
    Restart {
        /// The rank of the log.
        rank: Rank,
        /// Number of the first event to come.
        first: EventNo,
    },
    /// Send [`Frame::Refused`] and close.
    Refuse {
        /// The connection of the receiver.
        conn: ConnId,
    },
    /// Close; the text is for the log of the server (empty: nothing to report).
    Close {
        /// Which connection.
        conn: ConnId,
        /// One line.
        why: String,
    },
    /// Report this in the log of the server.
    Say {
        /// One line.
        text: String,
    },
}

/// What a log on disk holds, found when the logger starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The latest incarnation that was fenced or appended.
    pub incarnation: Incarnation,
    /// The first event that is there (or would be).
    pub base: EventNo,
    /// The last event that is there and whole.
    pub last: EventNo,
    /// What lay behind it was damaged: one line that says where and how.
    pub damage: Option<String>,
    /// Events before the first one are missing by damage, not because they were pruned: one line.
    pub lost: Option<String>,
}

/// State of one rank's log, for status requests.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct RankState {
    /// The rank that it belongs to.
    pub rank: Rank,
    /// The living incarnation.
    pub incarnation: Incarnation,
    /// Whether it is connected.
    pub connected: bool,
    /// First event that is kept.
    pub base: EventNo,
    /// Last event in the file.
    pub written: EventNo,
    /// Last event on stable storage.
    pub durable: EventNo,
    /// What is wrong with it, if something is.
    pub problem: Option<String>,
}

/// When events are acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Promise {
    /// In the file: they survive the death of every process. All logs of one logger are durable up
    /// to one instant, so a loss of power leaves a state that once was, of one logger.
    #[default]
    Written,
    /// On stable storage, what depends on an event of another logger is acknowledged after that
    /// event. So a loss of power leaves the logs of several loggers in agreement.
    Durable,
}
