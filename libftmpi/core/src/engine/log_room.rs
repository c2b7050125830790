//! Room in the sender log: messages wait while it is full, until images have cut it.

use super::{Engine, Link};
use ftmpi_wire::control::FromRank;

impl<L: Link> Engine<L> {
    /// If the sender log is above its limit: asks for images, which let it be cut, and waits until
    /// it was, up to a minute. Not within a schedule; the calls that run schedules ask themselves.
    #[inline]
    pub fn make_log_room(&mut self) {
        if self.state.memory.held() > self.state.log_limit {
            self.wait_for_log_room();
        }
    }

    #[cold]
    fn wait_for_log_room(&mut self) {
        const PATIENCE_S: f64 = 60.0;
        const ASK_EVERY_S: f64 = 0.1;
        let begin = self.link.clock();
        let mut asked = f64::NEG_INFINITY;
        while self.state.memory.held() > self.state.log_limit
            && !self.state.protocol.repeating()
            && self.state.fetch.is_none()
        {
            let now = self.link.clock();
            if now - begin > PATIENCE_S {
                let megabytes = self.state.memory.held() >> 20;
                // From here on it may grow to twice as much before we wait again.
                self.state.log_limit = self.state.log_limit.saturating_mul(2);
                self.link.notify_agent(FromRank::Warning {
                    text: if self.state.hooks.memory {
                        format!(
                            "{megabytes} MiB that it sent have been waiting for channel memories for \
                             a minute; are their disks full or too slow?"
                        )
                    } else {
                        format!(
                            "its sender log holds {megabytes} MiB and no image has let it be cut for \
                             a minute; if memory runs out, take images more often (--ckpt-interval) \
                             or find out why they fail"
                        )
                    },
                });
                return;
            }
            if now - asked > ASK_EVERY_S && !self.state.hooks.memory {
                asked = now;
                let bytes = self.state.memory.held();
                self.link.notify_agent(FromRank::LogFull { bytes });
            }
            self.block();
        }
    }

    /// Memory for the sender log, if there is one, that need not be touched for the first time while it grows.
    pub fn reserve_log(&mut self, bytes: u64) {
        if self.state.hooks.log_payload {
            self.state.memory.reserve(bytes as usize);
        }
    }

    /// Images leave out of the sender log what the newest image of its receiver has. Then a rank that has restarted
    /// cannot serve a peer whose newest image turns out to be damaged.
    pub fn lean_images(&mut self, lean: bool) {
        self.state.set_lean_images(lean);
    }

    /// Bytes of payload that the sender log may hold before it asks for images.
    pub fn set_log_limit(&mut self, bytes: u64) {
        self.state.log_limit = bytes;
    }
}
