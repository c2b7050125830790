//! The header of a container: the first bytes, which name the image and the version of the format.

use super::error::ContainerError;
use ftmpi_wire::{ImageId, ImageNo, Incarnation, Rank};

/// First bytes of every container.
pub const MAGIC: [u8; 8] = *b"FTMPIIMG";
/// Version of the format.
pub const VERSION: u32 = 4;
/// Bytes of the header.
pub(super) const HEADER_BYTES: usize = 40;

pub(super) fn header_bytes(id: ImageId) -> [u8; HEADER_BYTES] {
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

pub(super) fn read_header(bytes: &[u8]) -> Result<(ImageId, u32), ContainerError> {
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

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
