//! Raw bytes in, container out.

use super::known::Digest;
use super::whole::{emit_note, emit_trailer};
use super::{
    CHUNK_BYTES_MAX, FLAG_ELSEWHERE, FLAG_LZ4, FLAG_STORED, HEADER_BYTES, ImageId, Known,
    NOTE_BYTES_MAX, PLACE_BYTES, PREFIX_BYTES, Place, Summary, Sums, header_bytes, prefix, u32_at,
};
use std::collections::HashMap;

/// How chunks are made small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// Not at all.
    Stored,
    /// LZ4 block format; a chunk that does not shrink is stored.
    #[default]
    Lz4,
}

/// What an incremental encoder has of the images before, and what it learns of this one.
#[derive(Debug)]
struct Row {
    before: Known,
    chunks: HashMap<Digest, Place>,
}

/// Makes a container of a raw stream: `push` as the bytes come, `cut` where the stream has a natural
/// boundary (so that what did not change falls into the same chunks again), then `finish`.
#[derive(Debug)]
pub struct Encoder {
    id: ImageId,
    compression: Compression,
    header_due: bool,
    sums: Sums,
    pending: Vec<u8>,
    packed: Vec<u8>,
    emitted: u64,
    /// Where the next chunk begins.
    offset: u64,
    row: Option<Row>,
}

impl Encoder {
    /// A container for this image.
    #[must_use]
    pub fn new(id: ImageId, compression: Compression) -> Self {
        let seed = u32_at(&header_bytes(id), 36);
        Self {
            id,
            compression,
            header_due: true,
            sums: Sums::new(seed),
            pending: Vec::with_capacity(CHUNK_BYTES_MAX),
            packed: Vec::new(),
            emitted: 0,
            offset: HEADER_BYTES as u64,
            row: None,
        }
    }

    /// A container for this image; of chunks that are `known` it has only the place.
    #[must_use]
    pub fn incremental(id: ImageId, compression: Compression, known: Known) -> Self {
        let before = known.usable();
        // Those of the same program at the next moment are about as many.
        let chunks = HashMap::with_capacity(before.chunks.len());
        Self { row: Some(Row { before, chunks }), ..Self::new(id, compression) }
    }

    /// A chunk ends here.
    pub fn cut(&mut self, out: &mut Vec<u8>) {
        if !self.pending.is_empty() {
            let before = out.len();
            self.emit_pending(out);
            self.emitted += (out.len() - before) as u64;
        }
    }

    /// The containers, other than this one, that chunks were found in until now.
    pub fn bases(&self) -> Vec<ImageId> {
        let places = self.row.iter().flat_map(|row| row.chunks.values());
        let mut bases: Vec<_> = places.map(|place| place.container(self.id.rank)).collect();
        bases.retain(|base| *base != self.id);
        bases.sort_unstable_by_key(|base| (base.image, base.incarnation));
        bases.dedup();
        bases
    }

    /// Takes raw bytes; appends to `out` what is ready of the container.
    pub fn push(&mut self, mut raw: &[u8], out: &mut Vec<u8>) {
        let before = out.len();
        self.emit_header(out);
        while !raw.is_empty() {
            let take = raw.len().min(CHUNK_BYTES_MAX - self.pending.len());
            let (now, rest) = raw.split_at(take);
            if self.pending.is_empty() && take == CHUNK_BYTES_MAX {
                self.emit_chunk(now, out);
            } else {
                self.pending.extend_from_slice(now);
                if self.pending.len() == CHUNK_BYTES_MAX {
                    self.emit_pending(out);
                }
            }
            raw = rest;
        }
        self.emitted += (out.len() - before) as u64;
    }

    /// The raw stream is whole: appends the rest and the trailer.
    #[must_use]
    pub fn finish(self, out: &mut Vec<u8>) -> Summary {
        self.finish_with(&[], out).0
    }

    /// The raw stream is whole: appends the rest, a note (if it is not empty) and the trailer. What is
    /// known then is for the next image of the row, once this one is stored.
    ///
    /// # Panics
    /// With a note of more than [`NOTE_BYTES_MAX`] bytes.
    #[must_use]
    pub fn finish_with(mut self, note: &[u8], out: &mut Vec<u8>) -> (Summary, Known) {
        assert!(note.len() <= NOTE_BYTES_MAX, "a note has at most {NOTE_BYTES_MAX} bytes");
        let before = out.len();
        self.emit_header(out);
        if !self.pending.is_empty() {
            self.emit_pending(out);
        }
        if !note.is_empty() {
            emit_note(note, &mut self.sums, out);
        }
        emit_trailer(&self.sums, out);
        self.emitted += (out.len() - before) as u64;
        let summary = Summary {
            id: self.id,
            chunks: self.sums.chunks,
            raw_bytes: self.sums.raw_bytes,
            stored_bytes: self.emitted,
        };
        let known = self.row.map(|row| row.before.followed_by(row.chunks, self.emitted));
        (summary, known.unwrap_or_default())
    }

    fn emit_header(&mut self, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.header_due) {
            out.extend_from_slice(&header_bytes(self.id));
        }
    }

    fn emit_pending(&mut self, out: &mut Vec<u8>) {
        let mut pending = std::mem::take(&mut self.pending);
        self.emit_chunk(&pending, out);
        pending.clear();
        self.pending = pending;
    }

    fn emit_chunk(&mut self, raw: &[u8], out: &mut Vec<u8>) {
        let digest = self.row.as_ref().map(|_| Known::digest(raw));
        if let (Some(row), Some(digest)) = (&mut self.row, digest)
            && let Some(place) = row.before.chunks.get(&digest)
        {
            row.chunks.insert(digest, *place);
            let (raw_len, body) = (raw.len() as u32, place.write());
            let crc = self.sums.chunk(raw_len, FLAG_ELSEWHERE, &body);
            out.extend_from_slice(&prefix(raw_len, PLACE_BYTES as u32, FLAG_ELSEWHERE, crc));
            out.extend_from_slice(&body);
            self.sums.count(raw_len, crc);
            self.offset += (PREFIX_BYTES + PLACE_BYTES) as u64;
            return;
        }
        let mut flags = FLAG_STORED;
        if self.compression == Compression::Lz4 {
            self.packed.resize(lz4_flex::block::get_maximum_output_size(raw.len()), 0);
            // An error (which that size excludes) would only mean that the chunk is stored.
            if let Ok(len) = lz4_flex::block::compress_into(raw, &mut self.packed)
                && len < raw.len()
            {
                self.packed.truncate(len);
                flags = FLAG_LZ4;
            }
        }
        let stored = if flags == FLAG_LZ4 { &self.packed[..] } else { raw };
        let (raw_len, stored_len) = (raw.len() as u32, stored.len() as u32);
        let crc = self.sums.chunk(raw_len, flags, stored);
        if let (Some(row), Some(digest)) = (&mut self.row, digest) {
            let ImageId { incarnation, image, .. } = self.id;
            let (index, offset) = (self.sums.chunks, self.offset);
            let place =
                Place { incarnation, image, index, offset, raw_len, stored_len, flags, crc };
            row.chunks.insert(digest, place);
        }
        out.reserve(PREFIX_BYTES + stored.len());
        out.extend_from_slice(&prefix(raw_len, stored_len, flags, crc));
        out.extend_from_slice(stored);
        self.offset += (PREFIX_BYTES + stored.len()) as u64;
        self.sums.count(raw_len, crc);
    }
}
