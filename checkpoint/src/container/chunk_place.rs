//! The place of a chunk in an earlier container.

use super::chunk::{Checksums, PREFIX_BYTES, is_possible, prefix};
use super::encryption::{ChunkTag, TAG_BYTES};
use super::header::{header_bytes, u32_at, u64_at};
use ftmpi_wire::{ImageId, ImageNo, Incarnation, Rank};
use std::io::{self, Read, Seek, SeekFrom};

/// Bytes of an encoded place.
pub const CHUNK_PLACE_BYTES: usize = 40;

/// The place of one chunk in an earlier container of the same rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkPlace {
    /// The incarnation that took the earlier image.
    pub incarnation: Incarnation,
    /// The number of the earlier image.
    pub image: ImageNo,
    /// The position of the chunk among the chunks.
    pub(super) index: u64,
    /// The offset of the chunk's header in the container.
    pub(super) offset: u64,
    /// Fields of the chunk's header.
    pub(super) raw_len: u32,
    pub(super) stored_len: u32,
    pub(super) flags: u32,
    pub(super) crc: u32,
    /// The tag of an encrypted chunk, for the writer. The encoded place does not hold it, because
    /// the chunk does.
    pub(super) tag: ChunkTag,
}

impl ChunkPlace {
    /// Bytes of the chunk in its container, with its header.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        PREFIX_BYTES as u64 + u64::from(self.stored_len)
    }

    pub(super) fn write(&self) -> [u8; CHUNK_PLACE_BYTES] {
        let mut bytes = [0; CHUNK_PLACE_BYTES];
        bytes[0..4].copy_from_slice(&self.incarnation.0.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.crc.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.image.0.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.index.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.offset.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.stored_len.to_le_bytes());
        bytes[36..40].copy_from_slice(&self.flags.to_le_bytes());
        bytes
    }

    /// Decodes a place. `None`: no such place is possible.
    pub(super) fn read(raw_len: u32, bytes: &[u8]) -> Option<Self> {
        if bytes.len() != CHUNK_PLACE_BYTES {
            return None;
        }
        let place = Self {
            incarnation: Incarnation(u32_at(bytes, 0)),
            crc: u32_at(bytes, 4),
            image: ImageNo(u64_at(bytes, 8)),
            index: u64_at(bytes, 16),
            offset: u64_at(bytes, 24),
            raw_len,
            stored_len: u32_at(bytes, 32),
            flags: u32_at(bytes, 36),
            tag: [0; TAG_BYTES],
        };
        is_possible(raw_len, place.stored_len as usize, place.flags).then_some(place)
    }

    /// Appends the place in the form that [`Self::parse_all`] reads.
    pub fn append_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.raw_len.to_le_bytes());
        out.extend_from_slice(&self.write());
    }

    /// The places in these bytes. `None` stands for a place that is not possible.
    pub fn parse_all(encoded_places: &[u8]) -> impl Iterator<Item = Option<Self>> {
        encoded_places.chunks(size_of::<u32>() + CHUNK_PLACE_BYTES).map(|one| {
            let (raw_len, place) = one.split_first_chunk()?;
            Self::read(u32::from_le_bytes(*raw_len), place)
        })
    }

    /// The container that holds the chunk.
    #[must_use]
    pub fn container(&self, rank: Rank) -> ImageId {
        ImageId { rank, incarnation: self.incarnation, image: self.image }
    }

    /// Checks that the container has a chunk with this header at the place. The chunk's bytes are
    /// not read.
    ///
    /// # Errors
    /// The container has another chunk there, or cannot be read.
    pub fn check_prefix(&self, mut container: impl Read + Seek) -> io::Result<()> {
        let mut found = [0; PREFIX_BYTES];
        container.seek(SeekFrom::Start(self.offset))?;
        container.read_exact(&mut found)?;
        if found == prefix(self.raw_len, self.stored_len, self.flags, self.crc) {
            return Ok(());
        }
        Err(self.wrong("there is another chunk"))
    }

    /// Reads the chunk into `stored` and checks it.
    ///
    /// # Errors
    /// The chunk is missing, is damaged, or cannot be read.
    pub(super) fn read_chunk(
        &self,
        rank: Rank,
        mut container: impl Read + Seek,
        stored: &mut Vec<u8>,
    ) -> io::Result<()> {
        self.check_prefix(&mut container)?;
        stored.clear();
        stored.resize(self.stored_len as usize, 0);
        container.read_exact(stored)?;
        let mut checksums = Checksums::new(u32_at(&header_bytes(self.container(rank)), 36));
        checksums.chunks = self.index;
        if checksums.chunk(self.raw_len, self.flags, stored) == self.crc {
            return Ok(());
        }
        Err(self.wrong("it is damaged there"))
    }

    fn wrong(&self, what: &str) -> io::Error {
        let text = format!("chunk {} of image {}: {what}", self.index, self.image);
        io::Error::new(io::ErrorKind::InvalidData, text)
    }
}
