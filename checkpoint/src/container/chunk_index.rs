//! The index of stored chunks that a writer of incremental images keeps.
//!
//! 128 bits of HighwayHash distinguish chunks. The key of this pseudo-random function is drawn for
//! each writer and kept secret. Therefore nobody who supplies a program's data can make two
//! different chunks with the same hash, and chance does not either.
//!
//! A writer keeps two indexes and uses them in turn. The two images that are kept have no chunk in
//! common: one damaged chunk never costs both.

use super::chunk_place::ChunkPlace;
use crate::tuning::{CHAIN_BYTES_PERCENT_MAX, CHAIN_IMAGES_MAX};
use highway::{HighwayHash, HighwayHasher, Key};
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

/// Hash of a chunk's raw bytes.
pub(super) type Digest = [u64; 2];

/// The chunks of the newest image of one chain. A chain is a complete image and the incremental
/// images that refer to it.
#[derive(Debug, Clone)]
pub struct ChunkIndex {
    key: [u64; 4],
    pub(super) chunks: HashMap<Digest, ChunkPlace>,
    /// Bytes of all containers of the chain.
    chain_bytes: u64,
    images: u32,
}

impl Default for ChunkIndex {
    fn default() -> Self {
        // The secret comes from the random keys of the standard library.
        let secret = RandomState::new();
        let key = [0u64, 1, 2, 3].map(|word| secret.hash_one(word));
        Self { key, chunks: HashMap::new(), chain_bytes: 0, images: 0 }
    }
}

impl ChunkIndex {
    pub(super) fn digest(&self, raw: &[u8]) -> Digest {
        HighwayHasher::new(Key(self.key)).hash128(raw)
    }

    /// The index for the next image of the chain. It is empty if that image must be complete.
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

    /// The index after an image that was made with this one. `chunks` are the chunks of that image,
    /// `bytes` the bytes of its container.
    pub(super) fn after_image(&self, chunks: HashMap<Digest, ChunkPlace>, bytes: u64) -> Self {
        Self {
            key: self.key,
            chunks,
            chain_bytes: self.chain_bytes + bytes,
            images: self.images + 1,
        }
    }
}
