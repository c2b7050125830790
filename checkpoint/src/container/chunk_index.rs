//! What a writer of images remembers of chunks that are stored already.
//!
//! Contents are told apart by 128 bits of HighwayHash, a pseudo-random function whose key is drawn for each
//! writer and told to nobody, so that no program and nobody who feeds one can make two different chunks with the
//! same hash, and chance does not. (BLAKE3, which needs no secret, takes two and a half times as long.) A writer keeps two of these and takes them in turn, so that the two
//! images that are kept have no chunk in common: a damaged chunk never costs both.

use super::ChunkPlace;
use highway::{HighwayHash, HighwayHasher, Key};
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

/// Hash of a chunk's raw bytes.
pub(super) type Digest = [u64; 2];

/// Incremental images in a row before there is a whole one again.
const CHAIN_IMAGES_MAX: u32 = 16;
/// A whole one is made, too, when the containers of the row take so many percent of what is used of
/// them: the price of incremental images on the disk.
const CHAIN_BYTES_PERCENT_MAX: u64 = 150;

/// The chunks of the newest image of one row of images: one whole image and those that rest on it.
#[derive(Debug, Clone)]
pub struct ChunkIndex {
    key: [u64; 4],
    pub(super) chunks: HashMap<Digest, ChunkPlace>,
    /// Bytes of all containers of the row.
    chain_bytes: u64,
    images: u32,
}

impl Default for ChunkIndex {
    fn default() -> Self {
        // The standard library's secret numbers.
        let secret = RandomState::new();
        let key = [0u64, 1, 2, 3].map(|word| secret.hash_one(word));
        Self { key, chunks: HashMap::new(), chain_bytes: 0, images: 0 }
    }
}

impl ChunkIndex {
    pub(super) fn digest(&self, raw: &[u8]) -> Digest {
        HighwayHasher::new(Key(self.key)).hash128(raw)
    }

    /// What to make the next image of the row with: nothing, if it is to be whole.
    #[must_use]
    pub fn for_next_image(self) -> Self {
        let used: u64 = self.chunks.values().map(ChunkPlace::bytes).sum();
        if self.images >= CHAIN_IMAGES_MAX
            || self.chain_bytes > used.saturating_mul(CHAIN_BYTES_PERCENT_MAX) / 100
        {
            return Self::default();
        }
        self
    }

    /// After an image that was made of this: `chunks` are its chunks, `bytes` those of its container.
    pub(super) fn after_image(&self, chunks: HashMap<Digest, ChunkPlace>, bytes: u64) -> Self {
        Self {
            key: self.key,
            chunks,
            chain_bytes: self.chain_bytes + bytes,
            images: self.images + 1,
        }
    }
}
