//! The container: what travels between agent and checkpoint server and lies on disk.
//!
//! Any byte stream, cut into chunks of at most [`CHUNK_BYTES_MAX`] raw bytes, each compressed or
//! stored and checksummed, between a header that says whose it is and a trailer that says how much
//! it was. Behind the chunks may stand a *note*: what must be known of the image without reading it
//! (opaque here).
//!
//! ```text
//! header  (40)  magic "FTMPIIMG" | version u32 | rank u32 | incarnation u32 | 0 u32 | image u64
//!               | 0 u32 | crc32c u32
//! chunk   (16+) raw_len u32 | stored_len u32 | flags u32 | crc32c u32 | stored bytes
//! elsewhere     raw_len u32 | 40 u32 | ELSEWHERE u32 | crc32c u32 | place of the chunk (40)
//! note    (16+) 0 u32 | note_len u32 | NOTE u32 | crc32c u32 | note
//! seal (16+32)  0 u32 | 32 u32 | SEAL u32 | crc32c u32 | seal, of an encrypted image only; before the note
//! trailer (40)  0 u32 | 24 u32 | TRAILER u32 | crc32c u32 | chunks u64 | raw bytes u64
//!               | crc32c of all checksums u32 | note_len u32 (0: there is no note)
//! ```
//! All little-endian. A chunk's checksum covers its position, its lengths and flags, and its stored
//! bytes; the header's checksum begins every chunk's, so chunks of two images cannot be mixed.
//!
//! *Incremental images.* Instead of a chunk there may be its place in an earlier container of the same
//! rank ([`ChunkPlace`]): an image then holds what is new and names what is not. Positions agree, so
//! [`Assembler`] makes an ordinary container of it by putting each chunk where its place was named; that is
//! all that a reader ever sees. [`ChunkIndex`] is what a writer remembers of chunks that are stored.
//!
//! *Encrypted images* ([`Secret`]): each chunk is sealed after it was made small, so its stored bytes, checksum
//! and place are those of the sealed one, and whoever has no key can store, check and make whole all the same.
//!
//! Guarantees: pure (no I/O), incremental, bounded memory (one chunk), and hostile input is refused
//! with a typed error, never a panic. One `push` of n bytes gives at most n × 255 + 1 MiB bytes.

mod assemble;
mod chunk_index;
mod chunk_place;
mod compression;
mod decode;
mod encode;
mod encryption;
mod workers;

pub use assemble::{AssembleError, Assembler};
pub use chunk_index::ChunkIndex;
pub use chunk_place::{CHUNK_PLACE_BYTES, ChunkPlace};
pub use compression::{Compression, ZSTD_LEVEL_MAX};
pub use decode::{Decoder, Verifier, is_sealed, note_of};
pub use encode::Encoder;
pub use encryption::{SALT_BYTES, Secret};

use ftmpi_wire::{ImageNo, Incarnation, Rank};

/// Raw bytes of one chunk at the most.
pub const CHUNK_BYTES_MAX: usize = 1 << 20;

/// First bytes of every container.
pub const MAGIC: [u8; 8] = *b"FTMPIIMG";
/// Version of the format.
pub const VERSION: u32 = 4;
/// Bytes of a note at the most.
pub const NOTE_BYTES_MAX: usize = 64 << 10;

const HEADER_BYTES: usize = 40;
const PREFIX_BYTES: usize = 16;
const TRAILER_BODY_BYTES: usize = 24;
/// Compression never makes a chunk larger: then it is stored. Sealing does.
const STORED_BYTES_MAX: usize = CHUNK_BYTES_MAX + encryption::SEALED_BYTES;

const FLAG_STORED: u32 = 0;
const FLAG_LZ4: u32 = 1;
const FLAG_ZSTD: u32 = 2;
/// Beside one of those.
const FLAG_SEALED: u32 = 0x100;
const FLAG_SEAL: u32 = 0x4c41_4553;
const FLAG_ELSEWHERE: u32 = 0x4553_4c45;
const FLAG_NOTE: u32 = 0x4554_4f4e;
const FLAG_TRAILER: u32 = 0x5452_4c52;

/// Whose image it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ImageId {
    /// Of which rank.
    pub rank: Rank,
    /// Taken in which of its lives.
    pub incarnation: Incarnation,
    /// Its number.
    pub image: ImageNo,
}

/// What a whole container held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// Whose.
    pub id: ImageId,
    /// Number of chunks.
    pub chunks: u64,
    /// Bytes before compression.
    pub raw_bytes: u64,
    /// Bytes of the container.
    pub stored_bytes: u64,
}

/// Why a container is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ContainerError {
    /// The first bytes are not those of an image.
    #[error("not an image: wrong magic number; use an older image")]
    NotAnImage,
    /// Made by another version of ftmpi.
    #[error(
        "image format {0} is unknown here (this is format {VERSION}); use the ftmpi that made it"
    )]
    Version(u32),
    /// The header's checksum is wrong.
    #[error("image damaged: checksum of the header; use an older image")]
    HeaderChecksum,
    /// A chunk has impossible lengths or flags.
    #[error("image damaged: chunk {chunk} has impossible lengths or flags; use an older image")]
    BadChunk {
        /// Which, from 0.
        chunk: u64,
    },
    /// A chunk's checksum is wrong.
    #[error("image damaged: checksum of chunk {chunk}; use an older image")]
    ChunkChecksum {
        /// Which, from 0.
        chunk: u64,
    },
    /// A chunk's checksum is right but it does not decompress to its length.
    #[error("image damaged: chunk {chunk} does not decompress; use an older image")]
    Decompress {
        /// Which, from 0.
        chunk: u64,
    },
    /// A chunk is in another image, and this reader wants whole ones.
    #[error("chunk {chunk} of the image is in an earlier one, which is not at hand")]
    Elsewhere {
        /// Which, from 0.
        chunk: u64,
    },
    /// A chunk is encrypted.
    #[error(
        "the image is encrypted, and its key is not at hand (it is in the job's directory or where --image-key said)"
    )]
    Sealed {
        /// Which, from 0.
        chunk: u64,
    },
    /// A chunk is not encrypted, and should be.
    #[error(
        "chunk {chunk} of the image is not encrypted, as all of this job are; use an older image"
    )]
    NotSealed {
        /// Which, from 0.
        chunk: u64,
    },
    /// A chunk cannot be decrypted.
    #[error(
        "chunk {chunk} of the image was not encrypted with this key, or was changed; use an older image"
    )]
    Opened {
        /// Which, from 0.
        chunk: u64,
    },
    /// Chunks of an encrypted image that do not belong together.
    #[error(
        "the image was put together of {chunks} chunks that do not belong together; use an older image"
    )]
    Seal {
        /// Chunks that came.
        chunks: u64,
    },
    /// The trailer does not agree with the chunks.
    #[error(
        "image damaged: the trailer does not agree with its {chunks} chunks; use an older image"
    )]
    Trailer {
        /// Chunks that came.
        chunks: u64,
    },
    /// Bytes after the trailer.
    #[error("image damaged: bytes after its end; use an older image")]
    TrailingBytes,
    /// The bytes end before the trailer.
    #[error("image incomplete: it breaks off after {bytes} bytes; use an older image")]
    Truncated {
        /// Bytes of the container that came.
        bytes: u64,
    },
}

/// The running checksums, which both directions compute alike.
#[derive(Debug, Clone, Copy)]
struct Checksums {
    seed: u32,
    chunks: u64,
    raw_bytes: u64,
    all: u32,
    note_bytes: u32,
}

impl Checksums {
    fn new(seed: u32) -> Self {
        Self { seed, chunks: 0, raw_bytes: 0, all: seed, note_bytes: 0 }
    }

    /// Checksum of the chunk that comes next.
    fn chunk(&self, raw_len: u32, flags: u32, stored: &[u8]) -> u32 {
        let mut words = [0u8; 20];
        words[0..4].copy_from_slice(&raw_len.to_le_bytes());
        words[4..8].copy_from_slice(&(stored.len() as u32).to_le_bytes());
        words[8..12].copy_from_slice(&flags.to_le_bytes());
        words[12..20].copy_from_slice(&self.chunks.to_le_bytes());
        crc32c::crc32c_append(crc32c::crc32c_append(self.seed, &words), stored)
    }

    fn count(&mut self, raw_len: u32, crc: u32) {
        self.chunks += 1;
        self.raw_bytes += u64::from(raw_len);
        self.all = crc32c::crc32c_append(self.all, &crc.to_le_bytes());
    }

    /// The seal stands behind all chunks.
    fn seal(&mut self, crc: u32) {
        self.all = crc32c::crc32c_append(self.all, &crc.to_le_bytes());
    }

    /// The note stands behind all chunks.
    fn note(&mut self, bytes: usize, crc: u32) {
        self.note_bytes = bytes as u32;
        self.all = crc32c::crc32c_append(self.all, &crc.to_le_bytes());
    }

    fn trailer_body(&self) -> [u8; TRAILER_BODY_BYTES] {
        let mut body = [0u8; TRAILER_BODY_BYTES];
        body[0..8].copy_from_slice(&self.chunks.to_le_bytes());
        body[8..16].copy_from_slice(&self.raw_bytes.to_le_bytes());
        body[16..20].copy_from_slice(&self.all.to_le_bytes());
        body[20..24].copy_from_slice(&self.note_bytes.to_le_bytes());
        body
    }
}

fn prefix(raw_len: u32, stored_len: u32, flags: u32, crc: u32) -> [u8; PREFIX_BYTES] {
    let mut bytes = [0u8; PREFIX_BYTES];
    for (slot, word) in bytes.chunks_exact_mut(4).zip([raw_len, stored_len, flags, crc]) {
        slot.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

fn header_bytes(id: ImageId) -> [u8; HEADER_BYTES] {
    let mut bytes = [0u8; HEADER_BYTES];
    bytes[0..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes[12..16].copy_from_slice(&id.rank.0.to_le_bytes());
    bytes[16..20].copy_from_slice(&id.incarnation.0.to_le_bytes());
    bytes[24..32].copy_from_slice(&id.image.0.to_le_bytes());
    let crc = crc32c::crc32c(&bytes[..36]);
    bytes[36..40].copy_from_slice(&crc.to_le_bytes());
    bytes
}

fn read_header(bytes: &[u8]) -> Result<(ImageId, u32), ContainerError> {
    if bytes[..8] != MAGIC {
        return Err(ContainerError::NotAnImage);
    }
    let crc = u32_at(bytes, 36);
    if crc != crc32c::crc32c(&bytes[..36]) {
        return Err(ContainerError::HeaderChecksum);
    }
    let version = u32_at(bytes, 8);
    if version != VERSION {
        return Err(ContainerError::Version(version));
    }
    let id = ImageId {
        rank: Rank(u32_at(bytes, 12)),
        incarnation: Incarnation(u32_at(bytes, 16)),
        image: ImageNo(u64_at(bytes, 24)),
    };
    Ok((id, crc))
}

#[cfg(test)]
mod encryption_tests;
#[cfg(test)]
mod tests;
