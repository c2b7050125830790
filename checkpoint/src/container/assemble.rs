//! Assembly of an incremental image: each chunk is put where its place stands.
//!
//! Guarantees: the result is an ordinary container of the same image, with the same chunks at the
//! same positions. Every chunk is checked as it is passed on. What is missing or damaged gives an
//! error that names it. Memory is bounded by one chunk.

use super::chunk::{Checksums, Chunk, FLAG_ELSEWHERE, prefix};
use super::chunk_place::ChunkPlace;
use super::compression::ChunkDecoder;
use super::decode::Reader;
use super::error::ContainerError;
use super::header::{header_bytes, u32_at};
use super::trailer::{Summary, emit_note, emit_seal, emit_trailer};
use ftmpi_wire::ImageId;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{self, BufRead, Seek};

/// Why an image cannot be assembled.
#[derive(Debug, thiserror::Error)]
pub enum AssembleError {
    /// The container of the image itself is damaged.
    #[error(transparent)]
    Container(#[from] ContainerError),
    /// The container of the image cannot be read.
    #[error("the image cannot be read: {0}")]
    Read(#[source] io::Error),
    /// A container that holds chunks of the image is damaged or missing.
    #[error("the image needs image {} of incarnation {}: {why}", .base.image, .base.incarnation)]
    Base {
        /// The container.
        base: ImageId,
        /// The problem.
        #[source]
        why: io::Error,
    },
}

/// Reads a container and those that hold chunks of it.
pub struct Assembler<F, O> {
    own: F,
    open: O,
    bases: HashMap<ImageId, F>,
    pass: Pass,
    chunk_decoder: ChunkDecoder,
}

/// One pass through the container.
#[derive(Debug)]
struct Pass {
    reader: Reader,
    checksums: Option<Checksums>,
    ended: bool,
}

impl Pass {
    fn new() -> Self {
        Self { reader: Reader::new(), checksums: None, ended: false }
    }
}

impl<F: std::fmt::Debug, O> std::fmt::Debug for Assembler<F, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Whole").field("own", &self.own).field("bases", &self.bases).finish()
    }
}

impl<F: BufRead + Seek, O: FnMut(ImageId) -> io::Result<F>> Assembler<F, O> {
    /// Assembles the container in `own`, in steps of what that has in its buffer. `open` opens each
    /// container that holds chunks of it, once.
    pub fn new(own: F, open: O) -> Self {
        let chunk_decoder = ChunkDecoder::new(None);
        Self { own, open, bases: HashMap::new(), pass: Pass::new(), chunk_decoder }
    }

    /// Appends the next bytes of the complete container. `false`: there are no more.
    ///
    /// # Errors
    /// A part is damaged, missing or cannot be read. No more bytes come then.
    pub fn read(&mut self, out: &mut Vec<u8>) -> Result<bool, AssembleError> {
        self.step(&mut Target { bytes: 0, kind: Kind::Container(out) })
    }

    /// Appends the next raw bytes of the chunks, as [`Self::read`] does with those of the
    /// container. Each chunk is checked. Encrypted images cannot be read so. Only `false` says that
    /// the bytes are complete.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_raw(&mut self, out: &mut Vec<u8>) -> Result<bool, AssembleError> {
        self.step(&mut Target { bytes: 0, kind: Kind::Raw(out) })
    }

    /// The image, once the first bytes were read.
    #[must_use]
    pub fn id(&self) -> Option<ImageId> {
        self.pass.reader.id
    }

    fn step(&mut self, out: &mut Target<'_>) -> Result<bool, AssembleError> {
        let Self { own, open, bases, pass, chunk_decoder } = self;
        if pass.ended {
            return Ok(false);
        }
        let piece = next_bytes(own).map_err(AssembleError::Read)?;
        let count = piece.len();
        if count == 0 {
            pass.ended = true;
            let reader = std::mem::replace(&mut pass.reader, Reader::new());
            let (seal, note) = (reader.seal, reader.note.clone());
            reader.finish()?;
            // A container without a header does not end well.
            let Some(mut checksums) = pass.checksums else { return Ok(false) };
            let mut end = Vec::new();
            if let Some(seal) = seal {
                emit_seal(&seal, &mut checksums, &mut end);
            }
            if !note.is_empty() {
                emit_note(&note, &mut checksums, &mut end);
            }
            emit_trailer(&checksums, &mut end);
            out.put(&end);
            return Ok(true);
        }
        let mut failed = None;
        let (mut header_due, mut checksums) = (pass.checksums.is_none(), pass.checksums);
        let mut stored_elsewhere = Vec::new();
        // The header is known when the first chunk comes, or at the end.
        let result = pass.reader.push(piece, &mut |id, chunk| {
            let checksums = checksums.get_or_insert_with(|| checksums_of(id));
            if std::mem::take(&mut header_due) {
                out.put(&header_bytes(id));
            }
            if chunk.flags != FLAG_ELSEWHERE {
                if let Kind::Raw(out) = &mut out.kind {
                    return raw_of(id, chunk, chunk_decoder, out);
                }
                // The chunk keeps its place in its image, so its checksum stays right.
                put(checksums, chunk, out);
                return Ok(());
            }
            let Chunk { index, raw_len, stored, .. } = chunk;
            let bad = ContainerError::BadChunk { chunk: index };
            let place = ChunkPlace::read(raw_len, stored).ok_or(bad)?;
            let base = place.container(id.rank);
            let mut read_chunk = || {
                let file = match bases.entry(base) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => new.insert(open(base)?),
                };
                place.read_chunk(id.rank, file, &mut stored_elsewhere)
            };
            if let Err(why) = read_chunk() {
                failed = Some(AssembleError::Base { base, why });
                return Err(ContainerError::Elsewhere { chunk: index });
            }
            let (flags, stored) = (place.flags, stored_elsewhere.as_slice());
            if let Kind::Raw(out) = &mut out.kind {
                return raw_of(id, Chunk { raw_len, flags, stored, ..chunk }, chunk_decoder, out);
            }
            let crc = checksums.chunk(raw_len, flags, stored);
            put(checksums, Chunk { raw_len, flags, crc, stored, ..chunk }, out);
            Ok(())
        });
        own.consume(count);
        if let Some(error) = failed {
            pass.ended = true;
            return Err(error);
        }
        if let Err(error) = result {
            pass.ended = true;
            return Err(error.into());
        }
        if checksums.is_none()
            && let Some(id) = pass.reader.id
        {
            out.put(&header_bytes(id));
            checksums = Some(checksums_of(id));
        }
        pass.checksums = checksums;
        Ok(true)
    }

    /// Reads and checks everything, and gives a summary; `stored_bytes` are those of the complete
    /// container. [`Self::read`] begins at the start afterwards.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn check(&mut self) -> Result<Summary, AssembleError> {
        let mut target = Target { bytes: 0, kind: Kind::Nothing };
        let mut id = None;
        while self.step(&mut target)? {
            id = id.or(self.pass.reader.id);
        }
        let (Some(id), Some(checksums)) = (id, self.pass.checksums) else {
            return Err(ContainerError::Truncated { bytes: target.bytes }.into());
        };
        self.own.rewind().map_err(AssembleError::Read)?;
        self.pass = Pass::new();
        Ok(Summary {
            id,
            chunks: checksums.chunks,
            raw_bytes: checksums.raw_bytes,
            stored_bytes: target.bytes,
        })
    }
}

/// The destination of the complete container, and the bytes it received.
struct Target<'a> {
    bytes: u64,
    kind: Kind<'a>,
}

enum Kind<'a> {
    /// The bytes are only counted.
    Nothing,
    /// The bytes of the container are appended here.
    Container(&'a mut Vec<u8>),
    /// The raw bytes of the chunks are appended here.
    Raw(&'a mut Vec<u8>),
}

impl Target<'_> {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        if let Kind::Container(out) = &mut self.kind {
            out.extend_from_slice(bytes);
        }
    }
}

/// The next bytes of a file; none at its end.
fn next_bytes(file: &mut impl BufRead) -> io::Result<&[u8]> {
    while let Err(e) = file.fill_buf() {
        if e.kind() != io::ErrorKind::Interrupted {
            return Err(e);
        }
    }
    // The bytes are there by now.
    file.fill_buf()
}

fn raw_of(
    id: ImageId,
    chunk: Chunk<'_>,
    chunk_decoder: &mut ChunkDecoder,
    out: &mut Vec<u8>,
) -> Result<(), ContainerError> {
    let Chunk { index, raw_len, flags, stored, .. } = chunk;
    chunk_decoder.decode(id.rank, raw_len, flags, stored, out).map_err(|why| why.of(index))
}

fn checksums_of(id: ImageId) -> Checksums {
    Checksums::new(u32_at(&header_bytes(id), 36))
}

fn put(checksums: &mut Checksums, chunk: Chunk<'_>, out: &mut Target<'_>) {
    let Chunk { raw_len, flags, crc, stored, .. } = chunk;
    out.put(&prefix(raw_len, stored.len() as u32, flags, crc));
    out.put(stored);
    checksums.count(raw_len, crc);
}
