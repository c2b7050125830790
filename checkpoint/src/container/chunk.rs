//! A chunk of a container: its header ([`prefix`]) and its checksum ([`Checksums`]).
//!
//! A chunk's checksum covers its position, its lengths, its flags and its stored bytes. It begins
//! with the checksum of the container's header. Chunks of two images cannot be exchanged,
//! therefore.

use super::encryption::SEALED_BYTES;

/// Raw bytes of one chunk at most.
pub const CHUNK_BYTES_MAX: usize = 1 << 20;
/// Bytes of a chunk's header.
pub(super) const PREFIX_BYTES: usize = 16;
/// Stored bytes of one chunk at most. Compression never makes a chunk larger; encryption does.
pub(super) const STORED_BYTES_MAX: usize = CHUNK_BYTES_MAX + SEALED_BYTES;

/// The chunk holds the raw bytes.
pub(super) const FLAG_STORED: u32 = 0;
/// The chunk is compressed by LZ4.
pub(super) const FLAG_LZ4: u32 = 1;
/// The chunk is compressed by Zstandard.
pub(super) const FLAG_ZSTD: u32 = 2;
/// The chunk is encrypted. This flag comes with one of the flags above.
pub(super) const FLAG_SEALED: u32 = 0x100;
/// The seal of an encrypted image.
pub(super) const FLAG_SEAL: u32 = 0x4c41_4553;
/// The place of a chunk in an earlier container.
pub(super) const FLAG_ELSEWHERE: u32 = 0x4553_4c45;
/// The note.
pub(super) const FLAG_NOTE: u32 = 0x4554_4f4e;
/// The trailer.
pub(super) const FLAG_TRAILER: u32 = 0x5452_4c52;

/// A chunk, or the place of one, whose checksum is right.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunk<'a> {
    pub index: u64,
    pub raw_len: u32,
    pub flags: u32,
    pub crc: u32,
    pub stored: &'a [u8],
}

/// The running checksums of a container. Writer and reader compute them alike.
#[derive(Debug, Clone, Copy)]
pub(super) struct Checksums {
    pub seed: u32,
    pub chunks: u64,
    pub raw_bytes: u64,
    /// The checksum of all checksums.
    pub all: u32,
    pub note_bytes: u32,
}

impl Checksums {
    /// Of a container whose header has this checksum.
    pub fn new(seed: u32) -> Self {
        Self { seed, chunks: 0, raw_bytes: 0, all: seed, note_bytes: 0 }
    }

    /// The checksum of the next chunk.
    pub fn chunk(&self, raw_len: u32, flags: u32, stored: &[u8]) -> u32 {
        let mut words = [0u8; 20];
        words[0..4].copy_from_slice(&raw_len.to_le_bytes());
        words[4..8].copy_from_slice(&(stored.len() as u32).to_le_bytes());
        words[8..12].copy_from_slice(&flags.to_le_bytes());
        words[12..20].copy_from_slice(&self.chunks.to_le_bytes());
        crc32c::crc32c_append(crc32c::crc32c_append(self.seed, &words), stored)
    }

    /// Counts a chunk.
    pub fn count(&mut self, raw_len: u32, crc: u32) {
        self.chunks += 1;
        self.raw_bytes += u64::from(raw_len);
        self.all = crc32c::crc32c_append(self.all, &crc.to_le_bytes());
    }

    /// Counts the seal, which follows all chunks.
    pub fn seal(&mut self, crc: u32) {
        self.all = crc32c::crc32c_append(self.all, &crc.to_le_bytes());
    }

    /// Counts the note, which follows the seal.
    pub fn note(&mut self, bytes: usize, crc: u32) {
        self.note_bytes = bytes as u32;
        self.all = crc32c::crc32c_append(self.all, &crc.to_le_bytes());
    }
}

/// A chunk's header.
pub(super) fn prefix(raw_len: u32, stored_len: u32, flags: u32, crc: u32) -> [u8; PREFIX_BYTES] {
    let mut bytes = [0u8; PREFIX_BYTES];
    for (slot, word) in bytes.chunks_exact_mut(4).zip([raw_len, stored_len, flags, crc]) {
        slot.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// Whether lengths and flags of a chunk's header can be true.
pub(super) fn is_possible(raw_len: u32, stored_len: usize, flags: u32) -> bool {
    let raw_len = raw_len as usize;
    let added = if flags & FLAG_SEALED == 0 { 0 } else { SEALED_BYTES };
    let Some(body) = stored_len.checked_sub(added) else { return false };
    let fits = match flags & !FLAG_SEALED {
        FLAG_STORED => raw_len > 0 && body == raw_len,
        FLAG_LZ4 | FLAG_ZSTD => body > 0 && body < raw_len,
        _ => false,
    };
    fits && raw_len <= CHUNK_BYTES_MAX && stored_len <= STORED_BYTES_MAX
}
