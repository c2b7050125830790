//! Raw bytes in, container out.

use super::{
    CHUNK_BYTES_MAX, FLAG_LZ4, FLAG_NOTE, FLAG_STORED, FLAG_TRAILER, ImageId, NOTE_BYTES_MAX,
    PREFIX_BYTES, Summary, Sums, TRAILER_BODY_BYTES, header_bytes, prefix, u32_at,
};

/// How chunks are made small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// Not at all.
    Stored,
    /// LZ4 block format; a chunk that does not shrink is stored.
    #[default]
    Lz4,
}

/// Makes a container of a raw stream: `push` as the bytes come, then `finish`.
#[derive(Debug)]
pub struct Encoder {
    id: ImageId,
    compression: Compression,
    header_due: bool,
    sums: Sums,
    pending: Vec<u8>,
    packed: Vec<u8>,
    emitted: u64,
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
        }
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
        self.finish_with(&[], out)
    }

    /// The raw stream is whole: appends the rest, a note (if it is not empty) and the trailer.
    ///
    /// # Panics
    /// With a note of more than [`NOTE_BYTES_MAX`] bytes.
    #[must_use]
    pub fn finish_with(mut self, note: &[u8], out: &mut Vec<u8>) -> Summary {
        assert!(note.len() <= NOTE_BYTES_MAX, "a note has at most {NOTE_BYTES_MAX} bytes");
        let before = out.len();
        self.emit_header(out);
        if !self.pending.is_empty() {
            self.emit_pending(out);
        }
        if !note.is_empty() {
            let crc = self.sums.chunk(0, FLAG_NOTE, note);
            out.extend_from_slice(&prefix(0, note.len() as u32, FLAG_NOTE, crc));
            out.extend_from_slice(note);
            self.sums.note(note.len(), crc);
        }
        let body = self.sums.trailer_body();
        let crc = self.sums.chunk(0, FLAG_TRAILER, &body);
        out.extend_from_slice(&prefix(0, TRAILER_BODY_BYTES as u32, FLAG_TRAILER, crc));
        out.extend_from_slice(&body);
        self.emitted += (out.len() - before) as u64;
        Summary {
            id: self.id,
            chunks: self.sums.chunks,
            raw_bytes: self.sums.raw_bytes,
            stored_bytes: self.emitted,
        }
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
        let raw_len = raw.len() as u32;
        let crc = self.sums.chunk(raw_len, flags, stored);
        out.reserve(PREFIX_BYTES + stored.len());
        out.extend_from_slice(&prefix(raw_len, stored.len() as u32, flags, crc));
        out.extend_from_slice(stored);
        self.sums.count(raw_len, crc);
    }
}
