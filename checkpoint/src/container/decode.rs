//! The readers of a container: [`Decoder`] gives the raw bytes, [`Verifier`] only checks.

use super::chunk::{
    CHUNK_BYTES_MAX, Checksums, Chunk, FLAG_ELSEWHERE, FLAG_NOTE, FLAG_SEAL, FLAG_SEALED,
    FLAG_TRAILER, FLAG_ZSTD, PREFIX_BYTES, is_possible,
};
use super::chunk_place::{CHUNK_PLACE_BYTES, ChunkPlace};
use super::compression::ChunkDecoder;
use super::encryption::{ImageSeal, SEAL_BYTES, Secret, tag_of};
use super::error::ContainerError;
use super::header::{HEADER_BYTES, read_header, u32_at, u64_at};
use super::trailer::{NOTE_BYTES_MAX, Summary, TRAILER_BODY_BYTES, trailer_body};
use ftmpi_wire::ImageId;
use std::io::{self, Read, Seek, SeekFrom};

#[derive(Debug)]
enum State {
    Header,
    Prefix,
    Body { raw_len: u32, stored_len: usize, flags: u32, crc: u32 },
    Done,
}

/// The parser that [`Decoder`] and [`Verifier`] share. It gathers one piece at a time.
#[derive(Debug)]
pub(super) struct Reader {
    state: State,
    piece: Vec<u8>,
    pub(super) id: Option<ImageId>,
    checksums: Checksums,
    pub(super) note: Vec<u8>,
    pub(super) seal: Option<[u8; SEAL_BYTES]>,
    bytes: u64,
    failed: Option<ContainerError>,
}

impl Reader {
    pub(super) fn new() -> Self {
        Self {
            state: State::Header,
            piece: Vec::new(),
            id: None,
            checksums: Checksums::new(0),
            note: Vec::new(),
            seal: None,
            bytes: 0,
            failed: None,
        }
    }

    /// Takes bytes and calls `chunk` for each complete chunk. After an error every later call
    /// fails.
    pub(super) fn push(
        &mut self,
        mut bytes: &[u8],
        chunk: &mut impl FnMut(ImageId, Chunk<'_>) -> Result<(), ContainerError>,
    ) -> Result<(), ContainerError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let result = loop {
            if bytes.is_empty() {
                break Ok(());
            }
            let want = match self.state {
                State::Header => HEADER_BYTES,
                State::Prefix => PREFIX_BYTES,
                State::Body { stored_len, .. } => stored_len,
                State::Done => break Err(ContainerError::TrailingBytes),
            };
            let step = if self.piece.is_empty() && bytes.len() >= want {
                let (piece, rest) = bytes.split_at(want);
                bytes = rest;
                self.bytes += want as u64;
                self.piece_done(piece, chunk)
            } else {
                let take = bytes.len().min(want - self.piece.len());
                self.piece.extend_from_slice(&bytes[..take]);
                bytes = &bytes[take..];
                self.bytes += take as u64;
                if self.piece.len() < want {
                    continue;
                }
                let mut piece = std::mem::take(&mut self.piece);
                let step = self.piece_done(&piece, chunk);
                piece.clear();
                self.piece = piece;
                step
            };
            if let Err(error) = step {
                break Err(error);
            }
        };
        self.failed = result.err();
        result
    }

    fn piece_done(
        &mut self,
        piece: &[u8],
        chunk: &mut impl FnMut(ImageId, Chunk<'_>) -> Result<(), ContainerError>,
    ) -> Result<(), ContainerError> {
        let index = self.checksums.chunks;
        match self.state {
            State::Header => {
                let (id, seed) = read_header(piece)?;
                self.id = Some(id);
                self.checksums = Checksums::new(seed);
                self.state = State::Prefix;
            }
            State::Prefix => {
                let (raw_len, stored_len) = (u32_at(piece, 0), u32_at(piece, 4) as usize);
                let (flags, crc) = (u32_at(piece, 8), u32_at(piece, 12));
                let possible = match flags {
                    FLAG_ELSEWHERE => {
                        (1..=CHUNK_BYTES_MAX).contains(&(raw_len as usize))
                            && stored_len == CHUNK_PLACE_BYTES
                    }
                    FLAG_SEAL => raw_len == 0 && stored_len == SEAL_BYTES && self.seal.is_none(),
                    FLAG_NOTE => {
                        raw_len == 0
                            && (1..=NOTE_BYTES_MAX).contains(&stored_len)
                            && self.note.is_empty()
                    }
                    FLAG_TRAILER => raw_len == 0 && stored_len == TRAILER_BODY_BYTES,
                    _ => is_possible(raw_len, stored_len, flags),
                };
                // Only the trailer follows the note. Only note and trailer follow the seal.
                let ordered = (self.note.is_empty() || flags == FLAG_TRAILER)
                    && (self.seal.is_none() || matches!(flags, FLAG_NOTE | FLAG_TRAILER));
                if !possible || !ordered {
                    return Err(ContainerError::BadChunk { chunk: index });
                }
                self.state = State::Body { raw_len, stored_len, flags, crc };
            }
            State::Body { raw_len, flags, crc, .. } => {
                if self.checksums.chunk(raw_len, flags, piece) != crc {
                    return Err(ContainerError::ChunkChecksum { chunk: index });
                }
                if flags == FLAG_TRAILER {
                    if piece != trailer_body(&self.checksums) {
                        return Err(ContainerError::Trailer { chunks: index });
                    }
                    self.state = State::Done;
                } else if flags == FLAG_SEAL {
                    let mut seal = [0; SEAL_BYTES];
                    seal.copy_from_slice(piece);
                    self.seal = Some(seal);
                    self.checksums.seal(crc);
                    self.state = State::Prefix;
                } else if flags == FLAG_NOTE {
                    self.note = piece.to_vec();
                    self.checksums.note(piece.len(), crc);
                    self.state = State::Prefix;
                } else {
                    let id = self.id.ok_or(ContainerError::NotAnImage)?;
                    chunk(id, Chunk { index, raw_len, flags, crc, stored: piece })?;
                    self.checksums.count(raw_len, crc);
                    self.state = State::Prefix;
                }
            }
            State::Done => return Err(ContainerError::TrailingBytes),
        }
        Ok(())
    }

    /// The seal of the image does not fit its chunks.
    fn fail_with_seal(&mut self) -> ContainerError {
        let error = ContainerError::Seal { chunks: self.checksums.chunks };
        self.failed = Some(error);
        error
    }

    /// Whether the trailer came.
    pub(super) fn is_complete(&self) -> bool {
        matches!(self.state, State::Done) && self.failed.is_none()
    }

    pub(super) fn finish(self) -> Result<Summary, ContainerError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        match (self.state, self.id) {
            (State::Done, Some(id)) => Ok(Summary {
                id,
                chunks: self.checksums.chunks,
                raw_bytes: self.checksums.raw_bytes,
                stored_bytes: self.bytes,
            }),
            _ => Err(ContainerError::Truncated { bytes: self.bytes }),
        }
    }
}

/// Gives the raw stream of a container.
///
/// The bytes it gives are right as far as they go. Only `finish` says that they are complete. The
/// last chunk of an encrypted image is given when the seal of the image is verified.
#[derive(Debug)]
pub struct Decoder {
    reader: Reader,
    chunk_decoder: ChunkDecoder,
    seal: Option<ImageSeal>,
    held: Vec<u8>,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// A decoder at the beginning of a container.
    #[must_use]
    pub fn new() -> Self {
        Self::with_secret(None)
    }

    /// A decoder at the beginning of a container. With a secret the container must be encrypted,
    /// without one it must not.
    #[must_use]
    pub fn with_secret(secret: Option<Secret>) -> Self {
        let chunk_decoder = ChunkDecoder::new(secret);
        Self { reader: Reader::new(), chunk_decoder, seal: None, held: Vec::new() }
    }

    /// Takes bytes of the container. Appends the raw bytes of the chunks that are complete.
    ///
    /// # Errors
    /// The container is damaged. No later call succeeds.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), ContainerError> {
        let Self { reader, chunk_decoder, seal, held } = self;
        reader.push(bytes, &mut |id, Chunk { index: chunk, raw_len, flags, stored, .. }| {
            if flags == FLAG_ELSEWHERE {
                return Err(ContainerError::Elsewhere { chunk });
            }
            let mut target = &mut *out;
            if let Some(secret) = chunk_decoder.secret() {
                seal.get_or_insert_with(|| secret.begin(id)).chunk(tag_of(stored));
                target.append(held);
                target = held;
            }
            chunk_decoder
                .decode(id.rank, raw_len, flags, stored, target)
                .map_err(|why| why.of(chunk))
        })?;
        match (chunk_decoder.secret(), reader.id) {
            (Some(secret), Some(id)) if reader.is_complete() => {
                let wanted = seal.take().unwrap_or_else(|| secret.begin(id)).finish(&reader.note);
                if reader.seal.is_none_or(|found| wanted != found) {
                    return Err(reader.fail_with_seal());
                }
                out.append(held);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The image, once the header came.
    #[must_use]
    pub fn id(&self) -> Option<ImageId> {
        self.reader.id
    }

    /// The note, once it came. It is empty if there is none.
    #[must_use]
    pub fn note(&self) -> &[u8] {
        &self.reader.note
    }

    /// Whether the trailer came.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.reader.is_complete()
    }

    /// Ends the container.
    ///
    /// # Errors
    /// Bytes are missing or damaged.
    pub fn finish(self) -> Result<Summary, ContainerError> {
        self.reader.finish()
    }
}

/// Checks a container without decoding chunks: every checksum, every length, the trailer.
#[derive(Debug)]
pub struct Verifier {
    reader: Reader,
}

impl Default for Verifier {
    fn default() -> Self {
        Self::new()
    }
}

impl Verifier {
    /// A verifier at the beginning of a container.
    #[must_use]
    pub fn new() -> Self {
        Self { reader: Reader::new() }
    }

    /// Takes bytes of the container.
    ///
    /// # Errors
    /// The container is damaged. No later call succeeds.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), ContainerError> {
        self.push_with(bytes, &mut |_| ())
    }

    /// Takes bytes of the container. Calls `place` for each chunk that an earlier container holds.
    ///
    /// # Errors
    /// The container is damaged. No later call succeeds.
    pub fn push_with(
        &mut self,
        bytes: &[u8],
        place: &mut impl FnMut(ChunkPlace),
    ) -> Result<(), ContainerError> {
        self.reader.push(bytes, &mut |_, Chunk { index: chunk, raw_len, flags, stored, .. }| {
            if flags == FLAG_ELSEWHERE {
                place(ChunkPlace::read(raw_len, stored).ok_or(ContainerError::BadChunk { chunk })?);
            }
            Ok(())
        })
    }

    /// The image, once the header came.
    #[must_use]
    pub fn id(&self) -> Option<ImageId> {
        self.reader.id
    }

    /// The note, once it came. It is empty if there is none.
    #[must_use]
    pub fn note(&self) -> &[u8] {
        &self.reader.note
    }

    /// Whether the trailer came.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.reader.is_complete()
    }

    /// Ends the container.
    ///
    /// # Errors
    /// Bytes are missing or damaged.
    pub fn finish(self) -> Result<Summary, ContainerError> {
        self.reader.finish()
    }
}

/// Whether a container's first chunk is encrypted. If an earlier container holds that chunk, its
/// place tells.
///
/// # Errors
/// The container cannot be read.
pub fn is_sealed(mut file: impl Read + Seek) -> io::Result<bool> {
    let mut begin = [0; HEADER_BYTES + PREFIX_BYTES + CHUNK_PLACE_BYTES];
    file.rewind()?;
    file.read_exact(&mut begin)?;
    let flags = u32_at(&begin, HEADER_BYTES + 8);
    if flags == FLAG_ELSEWHERE {
        return Ok(u32_at(&begin, HEADER_BYTES + PREFIX_BYTES + 36) & FLAG_SEALED != 0);
    }
    Ok(flags & FLAG_SEALED != 0 && flags & !FLAG_SEALED <= FLAG_ZSTD)
}

/// Reads the note of a complete container without reading the rest. The note is empty if there is
/// none. Only the note's own checksum is verified; [`Verifier`] checks the image.
///
/// # Errors
/// The container cannot be read, or its end is damaged.
pub fn note_of(mut file: impl Read + Seek) -> io::Result<Vec<u8>> {
    let bad = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let mut header = [0; HEADER_BYTES];
    file.rewind()?;
    file.read_exact(&mut header)?;
    let (_, seed) = read_header(&header).map_err(|e| bad(&e.to_string()))?;
    let end_bytes = PREFIX_BYTES + TRAILER_BODY_BYTES;
    let mut end = vec![0; end_bytes];
    file.seek(SeekFrom::End(-(end_bytes as i64)))?;
    file.read_exact(&mut end)?;
    let body = &end[PREFIX_BYTES..];
    let mut checksums = Checksums::new(seed);
    checksums.chunks = u64_at(body, 0);
    if u32_at(&end, 8) != FLAG_TRAILER || checksums.chunk(0, FLAG_TRAILER, body) != u32_at(&end, 12)
    {
        return Err(bad("its end is damaged or missing"));
    }
    let len = u32_at(body, 20) as usize;
    if len == 0 {
        return Ok(Vec::new());
    }
    if len > NOTE_BYTES_MAX {
        return Err(bad("its note is impossibly long"));
    }
    file.seek(SeekFrom::End(-((end_bytes + PREFIX_BYTES + len) as i64)))?;
    let mut note = vec![0; PREFIX_BYTES + len];
    file.read_exact(&mut note)?;
    let stored = note.split_off(PREFIX_BYTES);
    if u32_at(&note, 8) != FLAG_NOTE || checksums.chunk(0, FLAG_NOTE, &stored) != u32_at(&note, 12)
    {
        return Err(bad("its note is damaged"));
    }
    Ok(stored)
}
