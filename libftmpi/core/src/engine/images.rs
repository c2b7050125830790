//! When an image of this rank may be taken, and when everything that has happened is stable.
//!
//! Guarantees: neither happens in the middle of a replay, and no image is taken before the rank's own
//! events are stable and (in waves) its channels are as the protocol wants them.

use super::Engine;
use super::link::{Captured, Link};
use ftmpi_protocols::protocol::Readiness;

/// How long a program stands still at first for an image that has to wait for others, if its protocol
/// would let it go on: usually they are as quick as we are.
const EDGE_PATIENCE_S: f64 = 0.02;
/// When it stands still again if that was not enough (and then after four times as long, and so on).
const AGAIN_AFTER_S: f64 = 0.25;
/// For this part of the time that the image has waited.
const PART: f64 = 0.25;

/// Whether a program stands still for an image that has waited so many seconds. One that receives all the
/// time may never be in a state that depends on stable events only, if the logger is slower than the first
/// patience; a later one is long enough for any logger.
fn stands_still(waited: f64) -> bool {
    if waited <= EDGE_PATIENCE_S {
        return true;
    }
    let turns = (waited / AGAIN_AFTER_S).log(4.0).floor();
    let begun = AGAIN_AFTER_S * 4f64.powf(turns);
    turns >= 0.0 && waited - begun <= begun * PART
}

impl<L: Link> Engine<L> {
    pub(super) fn settle_while_due(&mut self) {
        while self.link.settle_due() && !self.is_repeating() {
            if !self.settle_if_due() {
                self.look_from_outside();
                self.link.rest();
            }
        }
    }

    /// Number of the last image that was taken of this process, or that it began from; 0: none.
    #[must_use]
    pub fn newest_image(&self) -> u64 {
        self.state.snapshots.back().map_or(0, |snapshot| snapshot.image.0)
    }

    pub(super) fn is_repeating(&self) -> bool {
        self.state.protocol.repeating() || self.state.fetch.is_some()
    }

    /// Says that all is stable that this state, as it was when that became wanted, depends on, if that is
    /// wanted and so.
    pub(super) fn settle_if_due(&mut self) -> bool {
        if !self.link.settle_due() || self.is_repeating() {
            return false;
        }
        let mut asked = self.settle_asked;
        if asked != Some(self.restores()) {
            // What was printed may tell that nothing more was served until now. (Once: a program that polls
            // would make new events all the time, and none of its text would ever be final.)
            self.state.note_no_service();
        }
        self.settle_or_commit(&mut asked);
        self.settle_asked = asked;
        let protocol = &self.state.protocol;
        let settled = protocol.stable() >= protocol.last_event();
        if settled {
            self.settle_asked = None;
            self.link.settled();
        }
        settled
    }

    /// An image needs all own events stable: that takes a round trip to the logger, during which
    /// the program must make no new ones. Not while a replay is going on: it cannot go on here.
    pub(super) fn take_image_if_possible(&mut self) {
        while self.link.image_due().is_some() && !self.is_repeating() {
            if !self.take_due_image() {
                if !self.state.protocol.stands_still()
                    && !self.link.shares()
                    && !self.state.waves.settling
                    && !stands_still(self.link.clock() - self.image_waits_since())
                {
                    // The program goes on; we come back at its next call.
                    return self.link.remind();
                }
                self.look_from_outside();
                self.link.rest();
            }
        }
    }

    /// Takes the image that is due, if this is a safe moment.
    pub(super) fn take_due_image(&mut self) -> bool {
        let Some(image) = self.link.image_due() else { return false };
        match self.image_safe(image) {
            Readiness::Now => {}
            Readiness::NotYet => return false,
            Readiness::Never => {
                self.link.refuse(image, "its wave went on without this rank");
                self.state.waves.since = None;
                return true;
            }
        }
        match self.link.stands(image) {
            Readiness::Now => {}
            Readiness::NotYet => return false,
            Readiness::Never => {
                self.link.refuse(image, "ranks that share memory did not all stand still for it");
                self.state.image_over(image);
                self.work();
                return true;
            }
        }
        self.image_taken(image);
        self.state.memory.image_comes();
        let captured = self.link.capture(image, &mut self.state.memory.useless());
        match captured {
            Captured::Running => {}
            Captured::Refused => self.state.forget_image(image),
            Captured::Restored(incarnations) => {
                self.restored(image, &incarnations);
                return true;
            }
        }
        self.state.image_over(image);
        self.work();
        true
    }

    /// At the end of a call of a rank that shares memory: others may stand still for this image already, and
    /// what the program stores from here on must not be in theirs.
    pub(super) fn stand_if_due(&mut self) {
        if self.link.shares() && self.link.image_due().is_some() {
            self.take_image_if_possible();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::stands_still;

    #[test]
    fn a_program_stands_still_longer_and_longer_and_not_for_long() {
        let times = (0..200_000).map(|ms| f64::from(ms) / 1000.0);
        let (mut longest, mut now, mut all) = (0.0f64, 0.0, 0.0);
        for waited in times {
            now = if stands_still(waited) { now + 0.001 } else { 0.0 };
            all += if now > 0.0 { 0.001 } else { 0.0 };
            longest = longest.max(now);
            assert!(all <= 0.021 + waited * 0.3, "{all} of {waited} s");
        }
        assert!(longest > 15.0);
        assert!(stands_still(0.0) && !stands_still(0.1) && stands_still(0.3) && !stands_still(0.4));
    }
}
