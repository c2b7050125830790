//! Coordinated images: markers, and the moment at which an image may be taken.

use ftmpi_wire::{ImageNo, Rank, Wave};
use serde::{Deserialize, Serialize};

/// Where a rank stands in a wave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    /// The wave has reached the rank; its image is not taken yet.
    Begun,
    /// The image of the rank is taken, or was given up: what follows on the channel is not in it.
    Cut,
}

/// A message between two ranks about a wave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// Which wave.
    pub wave: Wave,
    /// How far the sender is.
    pub stage: Stage,
    /// Messages that the sender had sent on this channel before the marker; the engine fills it in.
    pub count: u64,
}

impl Marker {
    /// Bytes on the wire.
    pub const BYTES: usize = 17;

    /// For the wire.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut out = [0; Self::BYTES];
        out[0] = match self.stage {
            Stage::Begun => 1,
            Stage::Cut => 2,
        };
        out[1..9].copy_from_slice(&self.wave.0.to_le_bytes());
        out[9..].copy_from_slice(&self.count.to_le_bytes());
        out
    }

    /// From the wire; `None` for bytes that are no marker.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::BYTES] = bytes.try_into().ok()?;
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let stage = match bytes[0] {
            1 => Stage::Begun,
            2 => Stage::Cut,
            _ => return None,
        };
        Some(Self { wave: Wave(word(1)), stage, count: word(9) })
    }
}

/// May the image that is due be taken at this moment?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Readiness {
    /// Yes.
    Now,
    /// Later: something is still to come.
    NotYet,
    /// It comes too late: the wave went on without it.
    Never,
}

/// The part of a protocol that takes images in waves.
pub trait Waves {
    /// This image was ordered; reported again and again until it is taken.
    fn on_image_due(&mut self, _image: ImageNo) {}

    /// May the image be taken now? `peers` are those with an open channel, each with the number of
    /// messages that have arrived from it.
    fn image_ready(
        &self,
        _image: ImageNo,
        _peers: &mut dyn Iterator<Item = (Rank, u64)>,
    ) -> Readiness {
        Readiness::Now
    }

    /// Whether a rank whose image is due stands still until it is taken.
    fn stands_still(&self) -> bool {
        true
    }

    /// The image was taken and this process goes on; or the image was refused, or never will be.
    fn on_image_over(&mut self, _image: ImageNo) {}

    /// All ranks that share waves begin new incarnations from images with this number; this rank
    /// has.
    fn on_return(&mut self, _image: ImageNo) {}

    /// The first message on a new channel; its count is 0.
    fn greeting(&self) -> Option<Marker> {
        None
    }
}
