//! When an image of this rank may be taken, and when everything that has happened is stable.
//!
//! Guarantees: neither happens in the middle of a replay. No image is taken before the rank's own
//! events are stable and (in waves) its channels are as the protocol wants them.

use super::Engine;
use super::link::{Captured, Link};
use super::tuning::{IMAGE_AGAIN_AFTER_S, IMAGE_PATIENCE_PART, IMAGE_PATIENCE_S};
use ftmpi_protocols::protocol::Readiness;
use ftmpi_wire::{ImageNo, Rank};

/// Whether a program stands still for an image that has waited so many seconds. If the logger is
/// slower than the first patience, a program that receives all the time may never be in a state
/// that depends on stable events only. A later patience is long enough for any logger.
fn stands_still(waited: f64) -> bool {
    if waited <= IMAGE_PATIENCE_S {
        return true;
    }
    let turns = (waited / IMAGE_AGAIN_AFTER_S).log(4.0).floor();
    let begun = IMAGE_AGAIN_AFTER_S * 4f64.powf(turns);
    turns >= 0.0 && waited - begun <= begun * IMAGE_PATIENCE_PART
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
        self.state.snapshots.last_taken()
    }

    pub(super) fn is_repeating(&self) -> bool {
        self.state.protocol.repeating() || self.state.recovery.is_fetching()
    }

    /// Says that everything is stable on which this state depends, as it was when the agent asked;
    /// if the agent asked, and it is so.
    pub(super) fn settle_if_due(&mut self) -> bool {
        if !self.link.settle_due() || self.is_repeating() {
            return false;
        }
        let mut asked = self.settle_asked;
        if asked != Some(self.restores()) {
            // Printed text may depend on the fact that nothing more was served until now. It is
            // noted once: a program that polls would make new events all the time, and none of its
            // text would ever be final.
            self.state.note_no_service();
            self.state.note_all_steps();
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

    /// Takes the image that is due. It needs all own events stable: that takes a round trip to the
    /// logger, during which the program must make no new ones. Not during a replay, which could not
    /// go on here.
    pub(super) fn take_image_if_possible(&mut self) {
        while self.link.image_due().is_some() && !self.is_repeating() {
            if !self.take_due_image() {
                if !self.state.protocol.stands_still()
                    && !self.link.shares()
                    && !self.state.waves.are_settling()
                    && !stands_still(self.link.clock() - self.image_waits_since())
                {
                    // The program goes on; its next call comes back here.
                    return self.link.remind();
                }
                self.look_from_outside();
                self.link.rest();
            }
        }
    }

    /// Whether everything that an image taken now would depend on is stable. In a wave the other
    /// ranks must also be as far as the protocol demands.
    fn image_safe(&mut self, image: ImageNo) -> Readiness {
        if self.is_repeating() {
            // An incarnation that has not caught up is part of the image that it began from.
            return Readiness::NotYet;
        }
        if self.state.waves.are_counted() {
            self.image_waits_since();
        }
        self.state.protocol.on_image_due(image);
        // The markers leave now: while a rank stands still nothing else may give it work.
        self.work();
        let (protocol, channels) = (&self.state.protocol, &self.state.channels);
        if channels.iter().any(|peer| peer.wave.is_broken()) {
            return Readiness::NotYet;
        }
        let readiness = {
            let mut open = channels
                .iter()
                .enumerate()
                .filter(|(_, peer)| peer.cluster_peer && peer.phase.is_there())
                .map(|(index, peer)| (Rank(index as u32), peer.received.count()));
            protocol.image_ready(image, &mut open)
        };
        // Only then: each look makes an event of the negative answers so far. A program that asks
        // again and again would never see all of them stable.
        let settling = readiness == Readiness::Now && !self.is_settled();
        self.state.waves.set_settling(settling);
        if settling { Readiness::NotYet } else { readiness }
    }

    /// Takes the image that is due, if this is a safe moment.
    pub(super) fn take_due_image(&mut self) -> bool {
        let Some(image) = self.link.image_due() else { return false };
        match self.image_safe(image) {
            Readiness::Now => {}
            Readiness::NotYet => return false,
            Readiness::Never => {
                self.link.refuse(image, "its wave went on without this rank");
                self.state.waves.take_since();
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
        let memory = self.state.logs.memory_mut();
        memory.image_comes();
        let captured = self.link.capture(image, &mut memory.useless());
        match captured {
            Captured::Running => {}
            Captured::Refused { lasts } => {
                self.state.snapshots.forget(image);
                self.state.snapshots.refused(lasts);
            }
            Captured::Restored(incarnations) => {
                memory.restored();
                self.restored(image, &incarnations);
                return true;
            }
        }
        self.state.image_over(image);
        self.work();
        true
    }

    /// At the end of a call of a rank that shares memory. Others may already stand still for this
    /// image, and what the program stores from here on must not be in their images.
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
