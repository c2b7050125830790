//! The writer of a container: raw bytes in, container out.

use super::chunk::{
    CHUNK_BYTES_MAX, Checksums, FLAG_ELSEWHERE, FLAG_SEALED, FLAG_STORED, PREFIX_BYTES, prefix,
};
use super::chunk_index::{ChunkIndex, Digest};
use super::chunk_place::{CHUNK_PLACE_BYTES, ChunkPlace};
use super::compression::{ChunkEncoder, ChunkOptions, Compression, EncodedChunk};
use super::encryption::{ImageSeal, SALT_BYTES, Secret, TAG_BYTES, tag_of};
use super::header::{HEADER_BYTES, header_bytes, u32_at};
use super::trailer::{NOTE_BYTES_MAX, Summary, emit_note, emit_seal, emit_trailer};
use super::workers::{Batch, WorkerTask, Workers};
use crate::tuning::{BATCH_BYTES, SAMPLES, SAMPLES_OF_NOISE, SHRINKS_FROM};
use ftmpi_wire::ImageId;
use std::collections::HashMap;
use std::sync::Arc;

/// The chunks that earlier images hold, and those that this image adds.
#[derive(Debug)]
struct Incremental {
    before: Arc<ChunkIndex>,
    chunks: HashMap<Digest, ChunkPlace>,
}

/// Makes a container of a raw stream.
///
/// Call `push` with the bytes, `cut` where the stream has a natural boundary, then `finish`. A cut
/// lets unchanged data fall into the same chunks again.
#[derive(Debug)]
pub struct Encoder {
    id: ImageId,
    options: ChunkOptions,
    chunk_encoder: ChunkEncoder,
    /// Number of the next chunk.
    number: u64,
    seal: Option<ImageSeal>,
    /// The number of threads that encode chunks. With 0 the calling thread encodes them.
    threads: usize,
    /// The threads, once there is work for them.
    workers: Option<Workers>,
    /// Chunks that wait for the threads.
    waiting: Vec<(u64, Vec<u8>)>,
    waiting_bytes: usize,
    /// Buffers of chunks that are done, to be used again.
    spare: Vec<Vec<u8>>,
    header_due: bool,
    checksums: Checksums,
    pending: Vec<u8>,
    /// The stored bytes of the current chunk.
    encoded: Vec<u8>,
    emitted: u64,
    /// The offset of the next chunk in the container.
    offset: u64,
    incremental: Option<Incremental>,
    /// See [`Self::take_places`].
    places: Vec<u8>,
    /// Raw bytes of new chunks that are stored smaller, and of others.
    compressed: (u64, u64),
}

impl Encoder {
    /// Begins a container for this image.
    #[must_use]
    pub fn new(id: ImageId, compression: Compression) -> Self {
        let seed = u32_at(&header_bytes(id), 36);
        Self {
            id,
            options: ChunkOptions { rank: id.rank, compression, samples: SAMPLES, secret: None },
            chunk_encoder: ChunkEncoder::default(),
            number: 0,
            seal: None,
            threads: 0,
            workers: None,
            waiting: Vec::new(),
            waiting_bytes: 0,
            spare: Vec::new(),
            header_due: true,
            checksums: Checksums::new(seed),
            pending: Vec::with_capacity(CHUNK_BYTES_MAX),
            encoded: Vec::new(),
            emitted: 0,
            offset: HEADER_BYTES as u64,
            incremental: None,
            places: Vec::new(),
            compressed: (0, 0),
        }
    }

    /// Begins a container for this image. Of the chunks in `known` it holds only the places.
    #[must_use]
    pub fn incremental(id: ImageId, compression: Compression, known: ChunkIndex) -> Self {
        let before = known.for_next_image();
        // The next image of the same program has about as many chunks.
        let chunks = HashMap::with_capacity(before.chunks.len());
        Self {
            incremental: Some(Incremental { before: Arc::new(before), chunks }),
            ..Self::new(id, compression)
        }
    }

    /// Encrypts the container. Call it before the first byte. `salt` must be random bytes that no
    /// other container uses.
    #[must_use]
    pub fn sealed(mut self, secret: Secret, salt: [u8; SALT_BYTES]) -> Self {
        self.seal = Some(secret.begin(self.id));
        self.options.secret = Some((secret, salt));
        self
    }

    /// Encodes chunks on this number of threads while the calling thread takes the next bytes. The
    /// container is the same with any number of threads. With 0 the least processor time is used,
    /// but the container takes longer.
    #[must_use]
    pub fn with_workers(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// The chunks of the image before did not become smaller ([`Self::shrinks`]): fewer samples of
    /// each chunk are tried.
    #[must_use]
    pub fn expecting_noise(mut self) -> Self {
        self.options.samples = SAMPLES_OF_NOISE;
        self
    }

    /// Ends the chunk and emits everything that was pushed.
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        self.cut(out);
        let before = out.len();
        self.emit_waiting(out);
        self.emitted += (out.len() - before) as u64;
    }

    /// Ends the chunk.
    pub fn cut(&mut self, out: &mut Vec<u8>) {
        if !self.pending.is_empty() {
            let before = out.len();
            self.emit_header(out);
            self.emit_pending(out);
            self.emitted += (out.len() - before) as u64;
        }
    }

    /// The other containers that hold chunks of this one, as of the last call of [`Self::flush`].
    pub fn bases(&self) -> Vec<ImageId> {
        let places = self.incremental.iter().flat_map(|incremental| incremental.chunks.values());
        let mut bases: Vec<_> = places.map(|place| place.container(self.id.rank)).collect();
        bases.retain(|base| *base != self.id);
        bases.sort_unstable_by_key(|base| (base.image, base.incarnation));
        bases.dedup();
        bases
    }

    /// Takes raw bytes. Appends to `out` what is ready of the container.
    pub fn push(&mut self, mut raw: &[u8], out: &mut Vec<u8>) {
        let before = out.len();
        self.emit_header(out);
        if self.pending.len() == CHUNK_BYTES_MAX {
            self.emit_pending(out);
        }
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

    /// As [`Self::push`] and [`Self::cut`]; bytes that are a whole chunk are not copied before.
    pub fn push_chunk(&mut self, raw: &[u8], out: &mut Vec<u8>) {
        if !self.pending.is_empty() || raw.is_empty() || raw.len() > CHUNK_BYTES_MAX {
            self.push(raw, out);
            return self.cut(out);
        }
        let before = out.len();
        self.emit_header(out);
        self.emit_chunk(raw, out);
        self.emitted += (out.len() - before) as u64;
    }

    /// The places of chunks in earlier containers that were emitted since the last call, as
    /// [`ChunkPlace::parse_all`] reads them.
    pub fn take_places(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.places)
    }

    /// Whether compression made chunks of this container notably smaller; `None` if none was tried.
    #[must_use]
    pub fn shrinks(&self) -> Option<bool> {
        let (shrunk, stored) = self.compressed;
        (shrunk + stored > 0).then_some(shrunk > stored / SHRINKS_FROM)
    }

    /// The raw stream is complete: appends the rest and the trailer.
    #[must_use]
    pub fn finish(self, out: &mut Vec<u8>) -> Summary {
        self.finish_with(&[], out).0
    }

    /// The raw stream is complete: appends the rest, a note if it is not empty, and the trailer.
    /// The index that comes back is for the next image of the chain. Use it once this image is
    /// stored.
    ///
    /// # Panics
    /// The note has more than [`NOTE_BYTES_MAX`] bytes.
    #[must_use]
    pub fn finish_with(mut self, note: &[u8], out: &mut Vec<u8>) -> (Summary, ChunkIndex) {
        assert!(note.len() <= NOTE_BYTES_MAX, "a note has at most {NOTE_BYTES_MAX} bytes");
        let before = out.len();
        self.emit_header(out);
        if !self.pending.is_empty() {
            self.emit_pending(out);
        }
        self.emit_waiting(out);
        if let Some(seal) = self.seal.take() {
            emit_seal(seal.finish(note).as_bytes(), &mut self.checksums, out);
        }
        if !note.is_empty() {
            emit_note(note, &mut self.checksums, out);
        }
        emit_trailer(&self.checksums, out);
        self.emitted += (out.len() - before) as u64;
        let summary = Summary {
            id: self.id,
            chunks: self.checksums.chunks,
            raw_bytes: self.checksums.raw_bytes,
            stored_bytes: self.emitted,
        };
        let known = self
            .incremental
            .map(|incremental| incremental.before.after_image(incremental.chunks, self.emitted));
        (summary, known.unwrap_or_default())
    }

    fn emit_header(&mut self, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.header_due) {
            out.extend_from_slice(&header_bytes(self.id));
        }
    }

    fn emit_pending(&mut self, out: &mut Vec<u8>) {
        let mut pending = std::mem::take(&mut self.pending);
        if self.threads > 0 {
            self.pending = self.spare.pop().unwrap_or_default();
            self.queue_for_workers(pending, out);
            return;
        }
        self.emit_chunk(&pending, out);
        pending.clear();
        self.pending = pending;
    }

    fn emit_chunk(&mut self, raw: &[u8], out: &mut Vec<u8>) {
        if self.threads > 0 {
            let mut chunk = self.spare.pop().unwrap_or_default();
            chunk.extend_from_slice(raw);
            self.queue_for_workers(chunk, out);
            return;
        }
        let number = self.number;
        self.number += 1;
        let mut encoded = std::mem::take(&mut self.encoded);
        encoded.clear();
        let before = self.incremental.as_ref().map(|incremental| &*incremental.before);
        let made = self.chunk_encoder.encode(
            &self.options,
            before,
            self.checksums,
            number,
            raw,
            &mut encoded,
        );
        self.emit_encoded(&made, raw, &encoded, out);
        self.encoded = encoded;
    }

    /// Adds a chunk to those that the threads encode together.
    fn queue_for_workers(&mut self, chunk: Vec<u8>, out: &mut Vec<u8>) {
        self.waiting_bytes += chunk.len();
        self.waiting.push((self.number, chunk));
        self.number += 1;
        if self.waiting_bytes >= self.threads * BATCH_BYTES {
            self.exchange_with_workers(out);
        }
    }

    /// Hands the waiting chunks to the threads, and emits the chunks that the threads have encoded.
    fn exchange_with_workers(&mut self, out: &mut Vec<u8>) {
        self.waiting_bytes = 0;
        let mut workers = self.workers.take().unwrap_or_else(|| {
            let before = self.incremental.as_ref().map(|incremental| incremental.before.clone());
            let task =
                WorkerTask { options: self.options.clone(), before, checksums: self.checksums };
            Workers::new(self.threads, &task)
        });
        let done = workers.collect();
        workers.submit(&mut self.waiting);
        out.reserve(done.iter().flat_map(|batch| &batch.made).map(|made| made.body.len()).sum());
        for mut batch in done {
            let Batch { chunks, made, encoded } = &mut batch;
            for ((_, raw), made) in chunks.iter().zip(&*made) {
                self.emit_encoded(made, raw, encoded, out);
            }
            self.spare.extend(chunks.drain(..).map(|(_, mut chunk)| {
                chunk.clear();
                chunk
            }));
            workers.recycle(batch);
        }
        self.workers = Some(workers);
    }

    /// Emits everything that was taken.
    fn emit_waiting(&mut self, out: &mut Vec<u8>) {
        if self.threads > 0 {
            // The first call emits the chunks that are being encoded, the second one those that
            // wait.
            self.exchange_with_workers(out);
            self.exchange_with_workers(out);
        }
    }

    fn emit_encoded(&mut self, made: &EncodedChunk, raw: &[u8], encoded: &[u8], out: &mut Vec<u8>) {
        let EncodedChunk { digest, place, flags, ref body, crc } = *made;
        let raw_len = raw.len() as u32;
        if let Some(place) = place {
            if let (Some(incremental), Some(digest)) = (&mut self.incremental, digest) {
                incremental.chunks.insert(digest, place);
            }
            if let Some(seal) = &mut self.seal {
                seal.chunk(place.tag);
            }
            place.append_to(&mut self.places);
            let body = place.write();
            out.extend_from_slice(&prefix(raw_len, CHUNK_PLACE_BYTES as u32, FLAG_ELSEWHERE, crc));
            out.extend_from_slice(&body);
            self.checksums.count(raw_len, crc);
            self.offset += (PREFIX_BYTES + CHUNK_PLACE_BYTES) as u64;
            return;
        }
        let of_way = match flags & !FLAG_SEALED {
            FLAG_STORED => &mut self.compressed.1,
            _ => &mut self.compressed.0,
        };
        *of_way += u64::from(raw_len);
        let stored = if flags == FLAG_STORED { raw } else { &encoded[body.clone()] };
        let mut tag = [0; TAG_BYTES];
        if let Some(seal) = &mut self.seal {
            tag = tag_of(stored);
            seal.chunk(tag);
        }
        let stored_len = stored.len() as u32;
        if let (Some(incremental), Some(digest)) = (&mut self.incremental, digest) {
            let ImageId { incarnation, image, .. } = self.id;
            let (index, offset) = (self.checksums.chunks, self.offset);
            let place = ChunkPlace {
                incarnation,
                image,
                index,
                offset,
                raw_len,
                stored_len,
                flags,
                crc,
                tag,
            };
            incremental.chunks.insert(digest, place);
        }
        out.reserve(PREFIX_BYTES + stored.len());
        out.extend_from_slice(&prefix(raw_len, stored_len, flags, crc));
        out.extend_from_slice(stored);
        self.offset += (PREFIX_BYTES + stored.len()) as u64;
        self.checksums.count(raw_len, crc);
    }
}
