//! Frames to and from the event logger (docs/internals/life-of-a-message.md).
//!
//! Guarantees: an event counts as stable only when the logger, or the ring that it shares with this
//! rank, has it. Fetched events are complete and in order, or the incarnation ends with a message.

use super::link::Link;
use super::state::State;
use super::state::recovery::Progress;
use ftmpi_wire::EventNo;
use ftmpi_wire::event_log::Frame;

impl State {
    /// Hands over what waits for the logger. Events that the logger stores at once need no
    /// acknowledgement.
    pub(super) fn hand_to_logger<L: Link>(&mut self, link: &mut L) {
        while let Some(frame) = self.event_log.next_frame() {
            let stored = link.log(&frame);
            let Frame::Append { first, records, .. } = frame else { continue };
            if records.is_empty() {
                continue;
            }
            let last = EventNo(first.0 + records.len() as u64 - 1);
            if stored {
                self.event_log.stored_at_once();
                self.counters.stored_same_host += records.len() as u64;
                self.protocol.on_stable(last, EventNo(0));
                self.commands_to_queues();
            } else {
                self.event_log.measure(last, self.now_ns);
            }
        }
    }

    /// Something was recorded. It leaves for a logger on another host when it happens, not with the
    /// next message of this rank: the way there and back passes while the program computes
    /// (mpich-v-2006, 3.3; o2p-2009, 3.3). A few batches are under way at a time. What is recorded
    /// meanwhile follows an acknowledgement. A logger of this host stores events when they leave,
    /// so nothing would be gained there.
    #[inline]
    pub(super) fn ship(&mut self) {
        if self.event_log.is_remote_and_free() {
            self.ship_now();
        }
    }

    #[cold]
    fn ship_now(&mut self) {
        self.protocol.flush();
        self.commands_to_queues();
    }

    /// The event logger is connected, for the first time or again.
    pub(super) fn on_logger_connected(&mut self) {
        self.event_log.open();
        if self.hooks.piggyback {
            self.event_log.queue(Frame::Watch);
        }
        match self.recovery.next_to_fetch() {
            Some(from) => self.event_log.queue(Frame::Fetch { from }),
            None => self.protocol.on_logger_back(),
        }
        self.commands_to_queues();
        self.channels.mark_busy(self.me);
    }

    /// A frame of the event logger.
    pub(super) fn on_logger_frame(&mut self, frame: Frame) {
        let me = self.me;
        match frame {
            Frame::Ack { written, durable } => {
                if let Some(since) = self.event_log.acknowledged(written) {
                    self.counters.logger_round_trips += 1;
                    self.counters.logger_round_trip_ns += (self.now_ns)().saturating_sub(since);
                }
                self.protocol.on_stable(written, durable);
                self.commands_to_queues();
                self.ship();
            }
            Frame::Stable { clocks } => self.protocol.on_stable_clocks(&clocks),
            Frame::Events { first, records } => {
                if let Progress::Gap { expected } = self.recovery.fetched(first, records) {
                    self.recovery.fail(format!(
                        "rank {me} cannot be recovered: the event logger has its events only from \
                         {first} on, and {expected} is needed"
                    ));
                }
            }
            Frame::End { next } => {
                if let Progress::Gap { expected } = self.recovery.fetched_all(next) {
                    self.recovery.fail(format!(
                        "rank {me} cannot be recovered: the event logger ends at event {next}, \
                         and {expected} was expected"
                    ));
                }
            }
            Frame::Refused => self.recovery.fail(format!(
                "rank {me}: the event logger refuses this incarnation, since a newer one exists"
            )),
            Frame::Append { .. }
            | Frame::Prune { .. }
            | Frame::Fetch { .. }
            | Frame::EventRing { .. }
            | Frame::LookIntoRing
            | Frame::Watch => {}
        }
    }
}
