//! The connection to the event logger: what waits to leave for it, and what it answers.

use crate::engine::tuning::BATCHES_UNDER_WAY;
use ftmpi_wire::EventNo;
use ftmpi_wire::event_log::Frame;
use std::collections::VecDeque;

/// State of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Connection {
    /// Not needed so far.
    Absent,
    /// To be requested.
    Wanted,
    /// Requested from the agent.
    Asked,
    /// Open.
    Open,
}

/// The engine's end of the event log.
#[derive(Debug)]
pub(crate) struct EventLog {
    connection: Connection,
    queue: VecDeque<Frame>,
    /// Last record of a batch that is under way to the logger, and when it left.
    batch: Option<(EventNo, u64)>,
    /// The last records of the batches that are not acknowledged, in order. Above the limit the
    /// last two count as one.
    under_way: VecDeque<EventNo>,
    /// The last batch was not stored at once: its acknowledgement takes a way there and back.
    remote: bool,
}

impl EventLog {
    pub const fn new() -> Self {
        Self {
            connection: Connection::Absent,
            queue: VecDeque::new(),
            batch: None,
            under_way: VecDeque::new(),
            remote: false,
        }
    }

    /// Whether `Engine::work` has something to do here.
    #[inline]
    pub fn has_work(&self) -> bool {
        match self.connection {
            Connection::Wanted => true,
            Connection::Open => !self.queue.is_empty(),
            Connection::Absent | Connection::Asked => false,
        }
    }

    /// Whether frames wait to leave.
    #[inline]
    pub fn has_frames(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Queues a frame; requests the connection if there is none.
    pub fn queue(&mut self, frame: Frame) {
        self.queue.push_back(frame);
        if self.connection == Connection::Absent {
            self.connection = Connection::Wanted;
        }
    }

    /// `true` once for every connection that is to be requested now.
    #[inline]
    pub fn take_request(&mut self) -> bool {
        let wanted = self.connection == Connection::Wanted;
        if wanted {
            self.connection = Connection::Asked;
        }
        wanted
    }

    /// The next frame that may leave.
    #[inline]
    pub fn next_frame(&mut self) -> Option<Frame> {
        if self.connection == Connection::Open { self.queue.pop_front() } else { None }
    }

    /// Whether the logger's answers take time, and another batch may leave for it at once.
    #[inline]
    pub fn is_remote_and_free(&self) -> bool {
        self.remote && self.under_way.len() < BATCHES_UNDER_WAY && self.queue.is_empty()
    }

    /// Whether events are under way to the logger.
    #[inline]
    pub fn is_under_way(&self) -> bool {
        !self.under_way.is_empty()
    }

    /// A batch was stored when it left.
    #[inline]
    pub fn stored_at_once(&mut self) {
        self.remote = false;
    }

    /// A batch up to `last` has left: one at a time is measured.
    #[inline]
    pub fn measure(&mut self, last: EventNo, now_ns: fn() -> u64) {
        self.remote = true;
        if self.under_way.len() == BATCHES_UNDER_WAY {
            self.under_way.pop_back();
        }
        self.under_way.push_back(last);
        if self.batch.is_none() {
            self.batch = Some((last, now_ns()));
        }
    }

    /// Events up to `written` are acknowledged: when the batch that is measured left, if it is
    /// among them.
    #[inline]
    pub fn acknowledged(&mut self, written: EventNo) -> Option<u64> {
        while self.under_way.front().is_some_and(|last| *last <= written) {
            self.under_way.pop_front();
        }
        let (last, since) = self.batch?;
        if last > written {
            return None;
        }
        self.batch = None;
        Some(since)
    }

    /// What is under way will not be acknowledged.
    pub fn forget_batch(&mut self) {
        self.batch = None;
        self.under_way.clear();
    }

    /// The connection is open: what was queued before is queued again, except log cuts.
    pub fn open(&mut self) {
        self.connection = Connection::Open;
        self.forget_batch();
        self.queue.retain(|frame| matches!(frame, Frame::Prune { .. }));
    }

    /// The connection is gone; another one is needed.
    pub fn lost(&mut self) {
        self.connection = Connection::Wanted;
    }

    /// The process was restored: there is no connection, and nothing waits for it.
    pub fn forget(&mut self) {
        self.connection = Connection::Absent;
        self.queue.clear();
        self.under_way.clear();
    }
}
