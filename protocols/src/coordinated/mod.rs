//! Coordinated checkpoints: all ranks take their images in *waves*, and a failure returns every
//! rank to the last complete wave (Chandy & Lamport; blocking-vs-nonblocking-2008 §3).
//!
//! Guarantees: the images of a wave are a consistent cut. No message is in the state of its
//! receiver but not in the state of its sender (no orphan). A message that left before its sender's
//! image and came after its receiver's is in one of the two images (none is lost). Between waves a
//! message costs a count on each side and nothing else.
//!
//! What both kinds have in common is here; [`blocking`] and [`nonblocking`] say what a rank does
//! when a wave reaches it. The wave reaches a rank by the dispatcher's order, or by the first
//! marker of a peer, whichever comes first. Then:
//!
//! 1. It *begins*: tells all peers with whom a channel is open ([`Stage::Begun`]), with the number
//!    of messages sent before.
//! 2. From there to its image nothing that it sends can be lost. The message is held (blocking) or
//!    kept (non-blocking), and in both cases the image has it.
//! 3. The image is taken when all these peers have begun and everything that they had sent before
//!    has come. What is older than both marks is received; what is younger is in the image of its
//!    sender.
//! 4. What a peer sends after its own image is *late*: it waits until ours is taken.
//!
//! It is the sender that keeps the channel's state, not the receiver as in the papers. An image is
//! a copy of the process at one moment. What a receiver collects afterwards would have to be stored
//! separately and given back at a restore. What the sender keeps is simply in its memory. It is
//! needed only for the short time between the two markers. The restart handshake of the logging
//! protocols ("this is what I have") names what of it is sent again.
//!
//! Markers carry wave and counts, so neither the order between channels nor a marker's position
//! matters. An image waits until as many messages have come as were sent.

pub mod blocking;
pub mod nonblocking;
#[cfg(test)]
mod tests;

use crate::protocol::*;
use ftmpi_wire::{ImageNo, Rank, Wave};
use std::collections::{BTreeMap, VecDeque};

/// Name of the setting that chooses the kind of wave.
pub const WAVE: &str = "wave";
/// Its values.
pub const BLOCKING: &str = "blocking";
/// Its values.
pub const NONBLOCKING: &str = "nonblocking";

/// What the kinds of waves differ in.
pub trait Kind {
    /// The wave reaches this rank.
    fn begin(&self, wave: Wave, commands: &mut VecDeque<Command>);
    /// A peer is in the wave, and the own image is not taken yet.
    fn heard(&self, from: Rank, stage: Stage, commands: &mut VecDeque<Command>);
    /// Our image is taken, or there will be none.
    fn over(&self, wave: Wave, commands: &mut VecDeque<Command>);
    /// The program stands still until the image is taken.
    fn stands_still(&self) -> bool;
}

/// The wave that has reached this rank and whose image is not taken yet.
#[derive(Debug)]
struct UnderWay {
    wave: Wave,
    /// Who has begun it, and how many messages it had sent us before.
    begun: BTreeMap<Rank, u64>,
}

/// The protocol `coordinated`. An image has the number of its wave.
#[derive(Debug)]
pub struct Coordinated<K> {
    kind: K,
    /// The last wave that is behind this rank.
    past: Wave,
    under_way: Option<UnderWay>,
    commands: VecDeque<Command>,
}

impl<K: Kind> Coordinated<K> {
    /// Before the first wave.
    #[must_use]
    pub fn new(kind: K) -> Self {
        Self { kind, past: Wave(0), under_way: None, commands: VecDeque::new() }
    }

    /// The wave reaches this rank, unless it has.
    fn begin(&mut self, wave: Wave) {
        match &self.under_way {
            Some(under_way) if under_way.wave >= wave => return,
            // A later wave begins only after every rank has reported about this one. So this wave
            // was given up, and the news is still on its way.
            Some(under_way) => self.finish(under_way.wave),
            None => {}
        }
        self.under_way = Some(UnderWay { wave, begun: BTreeMap::new() });
        self.kind.begin(wave, &mut self.commands);
    }

    fn finish(&mut self, wave: Wave) {
        self.under_way = None;
        self.past = wave;
        self.kind.over(wave, &mut self.commands);
    }
}

impl<K: Kind> Protocol for Coordinated<K> {
    fn hooks(&self) -> Hooks {
        Hooks { channel_state: true, ..Hooks::default() }
    }

    fn on_frame(&mut self, from: Rank, payload: &[u8]) {
        let Some(marker) = Marker::decode(payload) else { return };
        if marker.wave <= self.past {
            return;
        }
        self.begin(marker.wave);
        if let Some(under_way) = self.under_way.as_mut().filter(|u| u.wave == marker.wave) {
            under_way.begun.entry(from).or_insert(marker.count);
            self.kind.heard(from, marker.stage, &mut self.commands);
        }
    }

    fn next_command(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }
}

impl<K: Kind> Logging for Coordinated<K> {}

impl<K: Kind> Determinants for Coordinated<K> {}

impl<K: Kind> Piggybacking for Coordinated<K> {}

impl<K: Kind> Waves for Coordinated<K> {
    fn on_image_due(&mut self, image: ImageNo) {
        if image.0 > self.past.0 {
            self.begin(Wave(image.0));
        }
    }

    fn image_ready(
        &self,
        image: ImageNo,
        peers: &mut dyn Iterator<Item = (Rank, u64)>,
    ) -> Readiness {
        match &self.under_way {
            Some(under_way) if under_way.wave.0 == image.0 => {
                let mut peers = peers;
                let all = Iterator::all(&mut peers, |(peer, received)| {
                    under_way.begun.get(&peer).is_some_and(|&sent| received >= sent)
                });
                if all { Readiness::Now } else { Readiness::NotYet }
            }
            _ if image.0 > self.past.0 => Readiness::NotYet,
            _ => Readiness::Never,
        }
    }

    fn stands_still(&self) -> bool {
        self.kind.stands_still()
    }

    fn on_image_over(&mut self, image: ImageNo) {
        let wave = Wave(image.0);
        // News of a wave that never reached this rank may come after the next wave has.
        let is_behind = self.under_way.as_ref().is_some_and(|under_way| under_way.wave > wave);
        if wave > self.past && !is_behind {
            // The other ranks wait for the marker, also in a wave that will not be complete.
            self.begin(wave);
            self.finish(wave);
        }
    }

    fn on_return(&mut self, image: ImageNo) {
        self.past = Wave(image.0);
        self.under_way = None;
        self.commands.clear();
    }

    fn greeting(&self) -> Option<Marker> {
        let (wave, stage) = match &self.under_way {
            Some(under_way) => (under_way.wave, Stage::Begun),
            None if self.past > Wave(0) => (self.past, Stage::Cut),
            None => return None,
        };
        Some(Marker { wave, stage, count: 0 })
    }
}

/// The marker that all peers get.
fn mark(wave: Wave, stage: Stage) -> Command {
    Command::Mark(Marker { wave, stage, count: 0 })
}
