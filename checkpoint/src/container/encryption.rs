//! Encryption: chunks that only the holder of the job's image key can read, and images that only
//! the holder can make.
//!
//! Guarantees: every chunk is encrypted by XChaCha20-Poly1305 under a nonce that is never used
//! twice. A nonce is 16 random bytes of the container and the number of the chunk. The encryption
//! binds a chunk to its rank, length and kind. A keyed BLAKE3 hash, the *seal*, covers the image's
//! identity, the tags of all chunks in their order, and the note. A reader therefore notices chunks
//! of another image, another order, or another note. Both keys are derived from the image key and
//! used for nothing else.
//!
//! Not hidden are: the identity of the image, its note, the lengths of chunks, and which chunks an
//! earlier image of the rank holds.

use chacha20poly1305::{AeadInPlace, KeyInit, Tag, XChaCha20Poly1305, XNonce};
use ftmpi_wire::{ImageId, Rank};
use std::fmt;

/// Bytes that encryption adds to a chunk: nonce before, tag after.
pub(super) const SEALED_BYTES: usize = NONCE_BYTES + TAG_BYTES;
pub(super) const NONCE_BYTES: usize = 24;
pub(super) const TAG_BYTES: usize = 16;
/// Bytes of the seal of an image.
pub(super) const SEAL_BYTES: usize = 32;
/// Random bytes that each container needs.
pub const SALT_BYTES: usize = 16;

/// The tag of an encrypted chunk. It is zero for a chunk that is not encrypted.
pub(super) type ChunkTag = [u8; TAG_BYTES];

/// Encrypts and decrypts images. The `Debug` form does not show the keys.
#[derive(Clone)]
pub struct Secret {
    chunks: XChaCha20Poly1305,
    whole: [u8; 32],
}

impl Secret {
    /// Derives the keys from the image key of a job.
    #[must_use]
    pub fn new(key: &[u8; 32]) -> Self {
        let chunks = blake3::derive_key("ftmpi 2026-11 chunks of images", key);
        let whole = blake3::derive_key("ftmpi 2026-11 seals of whole images", key);
        Self { chunks: XChaCha20Poly1305::new(&chunks.into()), whole }
    }

    /// Encrypts what follows [`NONCE_BYTES`] bytes of room in `bytes`.
    pub(super) fn seal(
        &self,
        salt: [u8; SALT_BYTES],
        number: u64,
        about: [u8; 12],
        bytes: &mut Vec<u8>,
    ) {
        let mut nonce = [0; NONCE_BYTES];
        nonce[..SALT_BYTES].copy_from_slice(&salt);
        nonce[SALT_BYTES..].copy_from_slice(&number.to_le_bytes());
        let (room, body) = bytes.split_at_mut(NONCE_BYTES);
        room.copy_from_slice(&nonce);
        let tag = self
            .chunks
            .encrypt_in_place_detached(XNonce::from_slice(&nonce), &about, body)
            .expect("a chunk is far below the cipher's limit");
        bytes.extend_from_slice(&tag);
    }

    /// Puts the decrypted bytes into `body`. `None`: they were not encrypted with this secret, or
    /// were changed.
    pub(super) fn open(&self, about: [u8; 12], stored: &[u8], body: &mut Vec<u8>) -> Option<()> {
        let (nonce, rest) = stored.split_at_checked(NONCE_BYTES)?;
        let (sealed, tag) = rest.split_at_checked(rest.len().checked_sub(TAG_BYTES)?)?;
        body.clear();
        body.extend_from_slice(sealed);
        let (nonce, tag) = (XNonce::from_slice(nonce), Tag::from_slice(tag));
        self.chunks.decrypt_in_place_detached(nonce, &about, body, tag).ok()
    }

    /// Begins the seal of an image.
    pub(super) fn begin(&self, id: ImageId) -> ImageSeal {
        let mut hasher = blake3::Hasher::new_keyed(&self.whole);
        hasher.update(&id.rank.0.to_le_bytes());
        hasher.update(&id.incarnation.0.to_le_bytes());
        hasher.update(&id.image.0.to_le_bytes());
        ImageSeal { hasher, chunks: 0 }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The seal of an image, as it grows.
#[derive(Debug)]
pub(super) struct ImageSeal {
    hasher: blake3::Hasher,
    chunks: u64,
}

impl ImageSeal {
    /// Adds the next chunk.
    pub fn chunk(&mut self, tag: ChunkTag) {
        self.hasher.update(&tag);
        self.chunks += 1;
    }

    /// Ends the seal after the last chunk.
    pub fn finish(mut self, note: &[u8]) -> blake3::Hash {
        self.hasher.update(&self.chunks.to_le_bytes());
        self.hasher.update(note);
        self.hasher.finalize()
    }
}

/// What the encryption of a chunk is bound to.
pub(super) fn about(rank: Rank, raw_len: u32, flags: u32) -> [u8; 12] {
    let mut about = [0; 12];
    about[0..4].copy_from_slice(&rank.0.to_le_bytes());
    about[4..8].copy_from_slice(&raw_len.to_le_bytes());
    about[8..12].copy_from_slice(&flags.to_le_bytes());
    about
}

/// The tag of an encrypted chunk in its stored form.
pub(super) fn tag_of(stored: &[u8]) -> ChunkTag {
    let mut tag = [0; TAG_BYTES];
    if let Some(at) = stored.len().checked_sub(TAG_BYTES) {
        tag.copy_from_slice(&stored[at..]);
    }
    tag
}
