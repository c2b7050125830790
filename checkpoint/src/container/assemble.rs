//! An incremental container made whole: each chunk is put where its place was named.
//!
//! Guarantees: what it gives is an ordinary container of the same image with the same chunks at the
//! same positions, every one of them checked as it is passed on; whatever is missing or damaged is an
//! error that names it. Bounded memory: one chunk.

use super::compression::Unpacker;
use super::decode::{Chunk, Reader};
use super::encryption::SEAL_BYTES;
use super::{
    ContainerError, FLAG_ELSEWHERE, FLAG_TRAILER, ImageId, Place, Summary, Sums,
    TRAILER_BODY_BYTES, header_bytes, prefix, u32_at,
};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{self, Read, Seek};

/// Bytes of one read.
const READ_BYTES: usize = 256 << 10;

/// Why an image cannot be made whole.
#[derive(Debug, thiserror::Error)]
pub enum WholeError {
    /// The container itself.
    #[error(transparent)]
    Container(#[from] ContainerError),
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Read(#[source] io::Error),
    /// A container that it rests on.
    #[error("image {} of life {}, on which it rests: {why}", .base.image, .base.incarnation)]
    Base {
        /// Which.
        base: ImageId,
        /// Why.
        #[source]
        why: io::Error,
    },
}

/// Reads a container and those that it rests on; see the module.
pub struct Whole<F, O> {
    own: F,
    open: O,
    bases: HashMap<ImageId, F>,
    pass: Pass,
    unpacker: Unpacker,
}

/// One way through the container.
#[derive(Debug)]
struct Pass {
    reader: Reader,
    sums: Option<Sums>,
    piece: Vec<u8>,
    ended: bool,
}

impl Pass {
    fn new() -> Self {
        Self { reader: Reader::new(), sums: None, piece: Vec::new(), ended: false }
    }
}

impl<F: std::fmt::Debug, O> std::fmt::Debug for Whole<F, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Whole").field("own", &self.own).field("bases", &self.bases).finish()
    }
}

impl<F: Read + Seek, O: FnMut(ImageId) -> io::Result<F>> Whole<F, O> {
    /// Of the container in `own`; `open` finds those that it rests on, once each.
    pub fn new(own: F, open: O) -> Self {
        let unpacker = Unpacker::new(None);
        Self { own, open, bases: HashMap::new(), pass: Pass::new(), unpacker }
    }

    /// Appends the next bytes of the whole container; false: that was all.
    ///
    /// # Errors
    /// Something is damaged, missing or cannot be read. Then there is nothing more to come.
    pub fn read(&mut self, out: &mut Vec<u8>) -> Result<bool, WholeError> {
        self.step(&mut Target { bytes: 0, kind: Kind::Container(out) })
    }

    /// As [`Self::read`], but appends the raw bytes of the chunks, each of which is looked at once. Not of
    /// encrypted images. Only the end says that it was all.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_raw(&mut self, out: &mut Vec<u8>) -> Result<bool, WholeError> {
        self.step(&mut Target { bytes: 0, kind: Kind::Raw(out) })
    }

    /// Whose it is, once the first bytes were read.
    #[must_use]
    pub fn id(&self) -> Option<ImageId> {
        self.pass.reader.id
    }

    fn step(&mut self, out: &mut Target<'_>) -> Result<bool, WholeError> {
        let Self { own, open, bases, pass, unpacker } = self;
        if pass.ended {
            return Ok(false);
        }
        pass.piece.resize(READ_BYTES, 0);
        let count = own.read(&mut pass.piece).map_err(WholeError::Read)?;
        if count == 0 {
            pass.ended = true;
            let reader = std::mem::replace(&mut pass.reader, Reader::new());
            let (seal, note) = (reader.seal, reader.note.clone());
            reader.finish()?;
            // A container that ended well had a header.
            let Some(mut sums) = pass.sums else { return Ok(false) };
            let mut end = Vec::new();
            if let Some(seal) = seal {
                emit_seal(&seal, &mut sums, &mut end);
            }
            if !note.is_empty() {
                emit_note(&note, &mut sums, &mut end);
            }
            emit_trailer(&sums, &mut end);
            out.put(&end);
            return Ok(true);
        }
        let mut failed = None;
        let (mut header_due, mut sums) = (pass.sums.is_none(), pass.sums);
        let mut stored_elsewhere = Vec::new();
        // The header is known when the first chunk comes, at the latest at the end.
        let result = pass.reader.push(&pass.piece[..count], &mut |id, chunk| {
            let sums = sums.get_or_insert_with(|| seeded(id));
            if std::mem::take(&mut header_due) {
                out.put(&header_bytes(id));
            }
            if chunk.flags != FLAG_ELSEWHERE {
                if let Kind::Raw(out) = &mut out.kind {
                    return raw_of(id, chunk, unpacker, out);
                }
                // At the same place in the same image: its checksum is right there, too.
                put(sums, chunk, out);
                return Ok(());
            }
            let Chunk { index, raw_len, stored, .. } = chunk;
            let bad = ContainerError::BadChunk { chunk: index };
            let place = Place::read(raw_len, stored).ok_or(bad)?;
            let base = place.container(id.rank);
            let mut fetch = || {
                let file = match bases.entry(base) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => new.insert(open(base)?),
                };
                place.fetch(id.rank, file, &mut stored_elsewhere)
            };
            if let Err(why) = fetch() {
                failed = Some(WholeError::Base { base, why });
                return Err(ContainerError::Elsewhere { chunk: index });
            }
            let (flags, stored) = (place.flags, stored_elsewhere.as_slice());
            if let Kind::Raw(out) = &mut out.kind {
                return raw_of(id, Chunk { raw_len, flags, stored, ..chunk }, unpacker, out);
            }
            let crc = sums.chunk(raw_len, flags, stored);
            put(sums, Chunk { raw_len, flags, crc, stored, ..chunk }, out);
            Ok(())
        });
        if let Some(error) = failed {
            pass.ended = true;
            return Err(error);
        }
        if let Err(error) = result {
            pass.ended = true;
            return Err(error.into());
        }
        if sums.is_none()
            && let Some(id) = pass.reader.id
        {
            out.put(&header_bytes(id));
            sums = Some(seeded(id));
        }
        pass.sums = sums;
        Ok(true)
    }

    /// Reads all of it and tells what it holds (`stored_bytes` are those of the whole container);
    /// then [`Self::read`] begins at the start again.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn check(&mut self) -> Result<Summary, WholeError> {
        let mut target = Target { bytes: 0, kind: Kind::Nothing };
        let mut id = None;
        while self.step(&mut target)? {
            id = id.or(self.pass.reader.id);
        }
        let (Some(id), Some(sums)) = (id, self.pass.sums) else {
            return Err(ContainerError::Truncated { bytes: target.bytes }.into());
        };
        self.own.rewind().map_err(WholeError::Read)?;
        self.pass = Pass::new();
        Ok(Summary {
            id,
            chunks: sums.chunks,
            raw_bytes: sums.raw_bytes,
            stored_bytes: target.bytes,
        })
    }
}

/// Where the whole container goes, and how many bytes went.
struct Target<'a> {
    bytes: u64,
    kind: Kind<'a>,
}

enum Kind<'a> {
    /// It is only counted.
    Nothing,
    /// To somebody.
    Container(&'a mut Vec<u8>),
    /// What is in its chunks.
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

fn raw_of(
    id: ImageId,
    chunk: Chunk<'_>,
    unpacker: &mut Unpacker,
    out: &mut Vec<u8>,
) -> Result<(), ContainerError> {
    let Chunk { index, raw_len, flags, stored, .. } = chunk;
    unpacker.unpack(id.rank, raw_len, flags, stored, out).map_err(|why| why.of(index))
}

fn seeded(id: ImageId) -> Sums {
    Sums::new(u32_at(&header_bytes(id), 36))
}

fn put(sums: &mut Sums, chunk: Chunk<'_>, out: &mut Target<'_>) {
    let Chunk { raw_len, flags, crc, stored, .. } = chunk;
    out.put(&prefix(raw_len, stored.len() as u32, flags, crc));
    out.put(stored);
    sums.count(raw_len, crc);
}

pub(super) fn emit_seal(seal: &[u8; SEAL_BYTES], sums: &mut Sums, out: &mut Vec<u8>) {
    let crc = sums.chunk(0, super::FLAG_SEAL, seal);
    out.extend_from_slice(&prefix(0, SEAL_BYTES as u32, super::FLAG_SEAL, crc));
    out.extend_from_slice(seal);
    sums.seal(crc);
}

pub(super) fn emit_note(note: &[u8], sums: &mut Sums, out: &mut Vec<u8>) {
    let crc = sums.chunk(0, super::FLAG_NOTE, note);
    out.extend_from_slice(&prefix(0, note.len() as u32, super::FLAG_NOTE, crc));
    out.extend_from_slice(note);
    sums.note(note.len(), crc);
}

pub(super) fn emit_trailer(sums: &Sums, out: &mut Vec<u8>) {
    let body = sums.trailer_body();
    let crc = sums.chunk(0, FLAG_TRAILER, &body);
    out.extend_from_slice(&prefix(0, TRAILER_BODY_BYTES as u32, FLAG_TRAILER, crc));
    out.extend_from_slice(&body);
}
