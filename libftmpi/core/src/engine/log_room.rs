//! Room in the sender log: messages wait while it is full, until images have cut it.

use super::Engine;
use super::link::Link;
use super::tuning::{LOG_ROOM_ASK_EVERY_S, LOG_ROOM_PATIENCE_S};
use ftmpi_wire::control::FromRank;

impl<L: Link> Engine<L> {
    /// If the sender log is above its limit: asks for images, which let it be cut, and waits until
    /// it was cut, up to a minute. Not within a schedule: the calls that run schedules ask
    /// themselves.
    #[inline]
    pub fn make_log_room(&mut self) {
        if self.state.logs.are_full() {
            self.wait_for_log_room();
        }
    }

    #[cold]
    fn wait_for_log_room(&mut self) {
        let begin = self.link.clock();
        let mut asked = f64::NEG_INFINITY;
        while self.state.logs.are_full()
            && !self.state.protocol.repeating()
            && !self.state.recovery.is_fetching()
        {
            let now = self.link.clock();
            if now - begin > LOG_ROOM_PATIENCE_S {
                let megabytes = self.state.logs.memory().held() >> 20;
                self.state.logs.double_limit();
                self.link.notify_agent(FromRank::Warning {
                    text: if self.state.hooks.memory {
                        format!(
                            "{megabytes} MiB of its messages have waited for channel memories for a \
                             minute; look whether the disks of the channel memories are full or slow"
                        )
                    } else {
                        format!(
                            "its sender log holds {megabytes} MiB, and no image has let it be cut for \
                             a minute; if memory runs out, take images more often (--ckpt-interval) \
                             or find out why they fail"
                        )
                    },
                });
                return;
            }
            if now - asked > LOG_ROOM_ASK_EVERY_S && !self.state.hooks.memory {
                asked = now;
                let bytes = self.state.logs.memory().held();
                self.link.notify_agent(FromRank::LogFull { bytes });
            }
            self.block();
        }
    }

    /// Reserves memory for the sender log, if there is one: the first touch of its pages happens
    /// now and not while the log grows.
    pub fn reserve_log(&mut self, bytes: u64) {
        if self.state.hooks.log_payload {
            self.state.logs.memory_mut().reserve(bytes as usize);
        }
    }

    /// Images leave out of the sender log what the newest image of its receiver has. Then a rank
    /// that has restarted cannot serve a peer whose newest image turns out to be damaged.
    pub fn lean_images(&mut self, lean: bool) {
        let hooks = &self.state.hooks;
        let lean = lean && hooks.log_payload && !hooks.memory;
        self.state.snapshots.set_lean(lean);
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
