//! The end of a container: seal, note and trailer.

use super::chunk::{Checksums, FLAG_NOTE, FLAG_SEAL, FLAG_TRAILER, prefix};
use super::encryption::SEAL_BYTES;
use ftmpi_wire::ImageId;

/// Bytes of a note at most.
pub const NOTE_BYTES_MAX: usize = 64 << 10;
/// Bytes of the trailer behind its chunk header.
pub(super) const TRAILER_BODY_BYTES: usize = 24;

/// What a complete container holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// The image.
    pub id: ImageId,
    /// Number of chunks.
    pub chunks: u64,
    /// Bytes before compression.
    pub raw_bytes: u64,
    /// Bytes of the container.
    pub stored_bytes: u64,
}

/// What the trailer holds.
pub(super) fn trailer_body(checksums: &Checksums) -> [u8; TRAILER_BODY_BYTES] {
    let mut body = [0u8; TRAILER_BODY_BYTES];
    body[0..8].copy_from_slice(&checksums.chunks.to_le_bytes());
    body[8..16].copy_from_slice(&checksums.raw_bytes.to_le_bytes());
    body[16..20].copy_from_slice(&checksums.all.to_le_bytes());
    body[20..24].copy_from_slice(&checksums.note_bytes.to_le_bytes());
    body
}

pub(super) fn emit_seal(seal: &[u8; SEAL_BYTES], checksums: &mut Checksums, out: &mut Vec<u8>) {
    let crc = checksums.chunk(0, FLAG_SEAL, seal);
    out.extend_from_slice(&prefix(0, SEAL_BYTES as u32, FLAG_SEAL, crc));
    out.extend_from_slice(seal);
    checksums.seal(crc);
}

pub(super) fn emit_note(note: &[u8], checksums: &mut Checksums, out: &mut Vec<u8>) {
    let crc = checksums.chunk(0, FLAG_NOTE, note);
    out.extend_from_slice(&prefix(0, note.len() as u32, FLAG_NOTE, crc));
    out.extend_from_slice(note);
    checksums.note(note.len(), crc);
}

pub(super) fn emit_trailer(checksums: &Checksums, out: &mut Vec<u8>) {
    let body = trailer_body(checksums);
    let crc = checksums.chunk(0, FLAG_TRAILER, &body);
    out.extend_from_slice(&prefix(0, TRAILER_BODY_BYTES as u32, FLAG_TRAILER, crc));
    out.extend_from_slice(&body);
}
