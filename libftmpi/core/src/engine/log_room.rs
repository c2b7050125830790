//! Room in the sender log. When half of it is taken, images are asked for: they mostly cut the log
//! before it is full. While it is full, messages wait.

use super::Engine;
use super::link::Link;
use super::state::log_ahead::Due;
use super::tuning::{LOG_ROOM_ASK_EVERY_S, LOG_ROOM_PATIENCE_S};
use ftmpi_wire::control::FromRank;

impl<L: Link> Engine<L> {
    /// If the sender log is above half its limit: asks for images, which let it be cut. If it is
    /// above its limit: waits until it was cut. Not within a schedule: the calls that run schedules
    /// ask themselves.
    ///
    /// Peers of which no image can be taken are asked too: they give up what they have received
    /// ([`State::give_way`](super::state::State::give_way)), and the log is cut without images.
    #[inline]
    pub fn make_log_room(&mut self) {
        if self.state.logs.want_images() {
            self.ask_for_log_room();
        }
    }

    #[cold]
    fn ask_for_log_room(&mut self) {
        if self.state.logs.are_full() {
            self.wait_for_log_room();
        } else if !self.state.protocol.repeating() {
            self.state.logs.asked_early();
            // Logs in channel memories are cut without images.
            if !self.state.hooks.memory {
                let bytes = self.state.logs.memory().held();
                self.link.notify_agent(FromRank::LogFull { bytes, waits: false });
            }
        }
    }

    #[cold]
    fn wait_for_log_room(&mut self) {
        let mut begin = self.link.clock();
        let mut asked = f64::NEG_INFINITY;
        while self.state.logs.are_full()
            && !self.state.protocol.repeating()
            && !self.state.recovery.is_fetching()
        {
            let now = self.link.clock();
            if now - begin > LOG_ROOM_PATIENCE_S {
                begin = now;
                self.tell_log_stays_full();
                self.state.logs.widen_limit();
                continue;
            }
            if now - asked > LOG_ROOM_ASK_EVERY_S && !self.state.hooks.memory {
                asked = now;
                let bytes = self.state.logs.memory().held();
                self.link.notify_agent(FromRank::LogFull { bytes, waits: true });
                self.state.plead_for_room();
                self.work();
            }
            self.block_alone();
        }
    }

    fn tell_log_stays_full(&mut self) {
        let megabytes = self.state.logs.memory().held() >> 20;
        let text = if self.state.hooks.memory {
            format!(
                "{megabytes} MiB of its messages have waited for channel memories for a minute; look \
                 whether the disks of the channel memories are full or slow"
            )
        } else {
            format!(
                "its sender log holds {megabytes} MiB, and no image has let it be cut for a minute, so \
                 it waits; look whether ranks answer (--verbose) and whether the storage of images is \
                 slow, or give more room (--log-limit)"
            )
        };
        self.link.notify_agent(FromRank::Warning { text });
    }

    /// Reserves memory for the sender log, if there is one: the first touch of its pages happens
    /// now and not while the log grows.
    pub fn reserve_log(&mut self, bytes: u64) {
        if self.state.hooks.log_payload {
            self.state.logs.memory_mut().reserve(bytes as usize);
        }
    }

    /// The rank waits, and its log grows: the first touch of more memory happens now, step by step,
    /// and not when a message is logged. `true`: a step was made, so look again.
    #[cold]
    pub(super) fn make_log_ready(&mut self) -> bool {
        let state = &mut self.state;
        if state.hooks.memory || !self.link.has_idle_processor() {
            return false;
        }
        let progress = state.counters.messages_sent + state.counters.messages_received;
        let begin = L::now_ns();
        if state.logs.ahead.waits(progress, begin) == Due::Soon {
            self.link.rest_briefly();
            return false;
        }
        let Some((bytes, small)) = state.logs.next_cold() else { return false };
        self.link.touch(bytes, small);
        state.logs.ahead.took(L::now_ns().saturating_sub(begin));
        true
    }

    /// Images leave out of the sender log what the newest image of its receiver has. Then a rank
    /// that has restarted cannot serve a peer whose newest image turns out to be damaged.
    pub fn lean_images(&mut self, lean: bool) {
        let hooks = &self.state.hooks;
        let lean = lean && hooks.log_payload && !hooks.memory;
        self.state.snapshots.set_lean(lean);
    }

    /// No image of this rank will ever be taken.
    pub fn expect_no_images(&mut self) {
        self.state.snapshots.refused(true);
    }

    /// Bytes of payload that the sender log may hold before it asks for images.
    pub fn set_log_limit(&mut self, bytes: u64) {
        self.state.logs.set_limit(bytes);
    }

    /// From which length on messages may come into the log late, and how much of them at a time.
    pub fn set_late_log(&mut self, from: usize, piece: usize) {
        self.state.logs.set_late(from, piece);
    }
}
