//! Encoding of one chunk: compression, then encryption; and back.

use super::chunk::{Checksums, FLAG_ELSEWHERE, FLAG_LZ4, FLAG_SEALED, FLAG_STORED, FLAG_ZSTD};
use super::chunk_index::{ChunkIndex, Digest};
use super::chunk_place::ChunkPlace;
use super::encryption::{NONCE_BYTES, SALT_BYTES, Secret, about};
use super::error::ContainerError;
use crate::tuning::{SAMPLE_BYTES, SAMPLES};
use ftmpi_wire::Rank;
use std::fmt;
use std::ops::Range;

/// How chunks are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// Chunks are not compressed.
    Stored,
    /// LZ4 block format. A chunk that hardly shrinks is stored.
    #[default]
    Lz4,
    /// Zstandard of this level, 1 to [`ZSTD_LEVEL_MAX`]. A chunk that hardly shrinks is stored.
    Zstd(u8),
}

/// The highest level of [`Compression::Zstd`].
pub const ZSTD_LEVEL_MAX: u8 = 19;

impl Compression {
    /// The compression of a level as users number them: 0 stored, 1 LZ4, 2 and more Zstandard.
    #[must_use]
    pub fn of_level(level: u8) -> Self {
        match level {
            0 => Self::Stored,
            1 => Self::Lz4,
            level => Self::Zstd(level.min(ZSTD_LEVEL_MAX)),
        }
    }
}

/// Settings for every chunk of a container.
#[derive(Debug, Clone)]
pub(super) struct ChunkOptions {
    pub rank: Rank,
    pub compression: Compression,
    /// Samples of each chunk that LZ4 tries first.
    pub samples: usize,
    pub secret: Option<(Secret, [u8; SALT_BYTES])>,
}

/// A chunk in its stored form.
#[derive(Debug)]
pub(super) struct EncodedChunk {
    pub digest: Option<Digest>,
    /// An earlier container holds the chunk here.
    pub place: Option<ChunkPlace>,
    pub flags: u32,
    /// The range of the stored bytes, unless the chunk is stored raw.
    pub body: Range<usize>,
    /// The checksum of the chunk.
    pub crc: u32,
}

/// Encodes one chunk after the other.
#[derive(Default)]
pub(super) struct ChunkEncoder {
    zstd: Option<zstd::bulk::Compressor<'static>>,
}

impl fmt::Debug for ChunkEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Packer")
    }
}

impl ChunkEncoder {
    /// Encodes the chunk with this number. The stored bytes are appended to `encoded`, except when
    /// an earlier container holds the chunk or the chunk is stored raw ([`FLAG_STORED`]).
    pub fn encode(
        &mut self,
        options: &ChunkOptions,
        before: Option<&ChunkIndex>,
        checksums: Checksums,
        number: u64,
        raw: &[u8],
        encoded: &mut Vec<u8>,
    ) -> EncodedChunk {
        let checksums = Checksums { chunks: number, ..checksums };
        let raw_len = raw.len() as u32;
        let digest = before.map(|before| before.digest(raw));
        if let (Some(before), Some(digest)) = (before, digest)
            && let Some(place) = before.chunks.get(&digest)
        {
            let crc = checksums.chunk(raw_len, FLAG_ELSEWHERE, &place.write());
            let (place, flags) = (Some(*place), place.flags);
            return EncodedChunk { digest: Some(digest), place, flags, body: 0..0, crc };
        }
        let start = encoded.len();
        let head = start + if options.secret.is_some() { NONCE_BYTES } else { 0 };
        encoded.resize(head, 0);
        let first_sample = if options.samples < SAMPLES { number as usize % SAMPLES } else { 0 };
        let samples = first_sample..first_sample + options.samples;
        let mut flags = self.compress(options.compression, samples, raw, (head, encoded));
        if let Some((secret, salt)) = &options.secret {
            if flags == FLAG_STORED {
                encoded.extend_from_slice(raw);
            }
            flags |= FLAG_SEALED;
            let mut sealed = encoded.split_off(start);
            secret.seal(*salt, number, about(options.rank, raw_len, flags), &mut sealed);
            encoded.append(&mut sealed);
        }
        let body = start..encoded.len();
        let stored = if flags == FLAG_STORED { raw } else { &encoded[body.clone()] };
        let crc = checksums.chunk(raw_len, flags, stored);
        EncodedChunk { digest, place: None, flags, body, crc }
    }

    /// Appends the compressed chunk to `encoded`, which has `head` bytes, if compression is
    /// worthwhile. Raw chunks cost nothing to read.
    fn compress(
        &mut self,
        how: Compression,
        samples: Range<usize>,
        raw: &[u8],
        (head, encoded): (usize, &mut Vec<u8>),
    ) -> u32 {
        let (room, flags) = match how {
            Compression::Stored => return FLAG_STORED,
            Compression::Lz4 if looks_incompressible(raw, samples) => return FLAG_STORED,
            Compression::Lz4 => (lz4_flex::block::get_maximum_output_size(raw.len()), FLAG_LZ4),
            Compression::Zstd(_) => (zstd::zstd_safe::compress_bound(raw.len()), FLAG_ZSTD),
        };
        encoded.resize(head + room, 0);
        // The room excludes errors. An error would only mean that the chunk is stored raw.
        let len = match how {
            Compression::Zstd(level) => self
                .zstd(level)
                .and_then(|zstd| zstd.compress_to_buffer(raw, &mut encoded[head..]).ok()),
            _ => lz4_flex::block::compress_into(raw, &mut encoded[head..]).ok(),
        };
        match len.filter(|len| is_worthwhile(*len, raw.len())) {
            Some(len) => {
                encoded.truncate(head + len);
                flags
            }
            None => {
                encoded.truncate(head);
                FLAG_STORED
            }
        }
    }

    fn zstd(&mut self, level: u8) -> Option<&mut zstd::bulk::Compressor<'static>> {
        if self.zstd.is_none() {
            self.zstd = zstd::bulk::Compressor::new(i32::from(level)).ok();
        }
        self.zstd.as_mut()
    }
}

/// Whether a stored form is so much smaller that it is worth the time to decode it.
fn is_worthwhile(len: usize, raw_len: usize) -> bool {
    len < raw_len - raw_len / 16
}

/// Whether LZ4 cannot make these samples of a chunk smaller. Sample 0 is at its begin, the last one
/// at its end.
fn looks_incompressible(raw: &[u8], mut samples: Range<usize>) -> bool {
    if raw.len() < 8 * SAMPLE_BYTES {
        return false;
    }
    let mut room = [0; SAMPLE_BYTES + SAMPLE_BYTES / 8];
    samples.all(|number| {
        let at = number % SAMPLES * (raw.len() - SAMPLE_BYTES) / (SAMPLES - 1);
        let made = lz4_flex::block::compress_into(&raw[at..at + SAMPLE_BYTES], &mut room);
        !made.is_ok_and(|len| is_worthwhile(len, SAMPLE_BYTES))
    })
}

/// Why a chunk cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunkDecodeError {
    Decompress,
    Sealed,
    NotSealed,
    Opened,
}

impl ChunkDecodeError {
    /// The error for the chunk with this number.
    pub fn of(self, chunk: u64) -> ContainerError {
        match self {
            Self::Decompress => ContainerError::Decompress { chunk },
            Self::Sealed => ContainerError::Sealed { chunk },
            Self::NotSealed => ContainerError::NotSealed { chunk },
            Self::Opened => ContainerError::Opened { chunk },
        }
    }
}

/// Decodes one chunk after the other.
#[derive(Debug, Default)]
pub(super) struct ChunkDecoder {
    secret: Option<Secret>,
    body: Vec<u8>,
}

impl ChunkDecoder {
    pub fn new(secret: Option<Secret>) -> Self {
        Self { secret, body: Vec::new() }
    }

    pub fn secret(&self) -> Option<&Secret> {
        self.secret.as_ref()
    }

    /// Appends the raw bytes of a chunk to `out`. The checksum of the chunk must be verified
    /// before.
    pub fn decode(
        &mut self,
        rank: Rank,
        raw_len: u32,
        flags: u32,
        stored: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), ChunkDecodeError> {
        let body = match (&self.secret, flags & FLAG_SEALED != 0) {
            (None, false) => stored,
            (None, true) => return Err(ChunkDecodeError::Sealed),
            (Some(_), false) => return Err(ChunkDecodeError::NotSealed),
            (Some(secret), true) => {
                let about = about(rank, raw_len, flags);
                secret.open(about, stored, &mut self.body).ok_or(ChunkDecodeError::Opened)?;
                &self.body
            }
        };
        let start = out.len();
        let encoded = flags & !FLAG_SEALED;
        if encoded == FLAG_STORED {
            out.extend_from_slice(body);
            return Ok(());
        }
        out.resize(start + raw_len as usize, 0);
        let len = match encoded {
            FLAG_ZSTD => zstd::bulk::decompress_to_buffer(body, &mut out[start..]).ok(),
            _ => lz4_flex::block::decompress_into(body, &mut out[start..]).ok(),
        };
        if len == Some(raw_len as usize) {
            return Ok(());
        }
        out.truncate(start);
        Err(ChunkDecodeError::Decompress)
    }
}
