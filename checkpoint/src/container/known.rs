//! What a writer of images remembers of chunks that are stored already.
//!
//! Contents are told apart by their BLAKE3 hash, cut to 128 bits: two different chunks of one job with
//! the same hash do not occur. A writer keeps two of these and takes them in turn, so that the two
//! images that are kept have no chunk in common: a damaged chunk never costs both.

use super::Place;
use std::collections::HashMap;

/// Hash of a chunk's raw bytes.
pub(super) type Digest = [u8; 16];

/// Incremental images in a row before there is a whole one again.
const IN_A_ROW: u32 = 16;
/// A whole one is made, too, when the containers of the row take so many percent of what is used of
/// them: the price of incremental images on the disk.
const PERCENT: u64 = 150;

/// The chunks of the newest image of one row of images: one whole image and those that rest on it.
#[derive(Debug, Clone, Default)]
pub struct Known {
    pub(super) chunks: HashMap<Digest, Place>,
    /// Bytes of all containers of the row.
    row_bytes: u64,
    images: u32,
}

impl Known {
    pub(super) fn digest(raw: &[u8]) -> Digest {
        let mut digest = [0; 16];
        digest.copy_from_slice(&blake3::hash(raw).as_bytes()[..16]);
        digest
    }

    /// What to make the next image of the row with: nothing, if it is to be whole.
    #[must_use]
    pub fn usable(self) -> Self {
        let used: u64 = self.chunks.values().map(Place::bytes).sum();
        if self.images >= IN_A_ROW || self.row_bytes > used.saturating_mul(PERCENT) / 100 {
            return Self::default();
        }
        self
    }

    /// After an image that was made of this: `chunks` are its chunks, `bytes` those of its container.
    pub(super) fn followed_by(&self, chunks: HashMap<Digest, Place>, bytes: u64) -> Self {
        Self { chunks, row_bytes: self.row_bytes + bytes, images: self.images + 1 }
    }
}
