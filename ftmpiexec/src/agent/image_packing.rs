//! Packs an image: reads the raw stream of a rank's copy-on-write child, and makes the container.
//!
//! Guarantees: an error if the stream was not a whole image. The bytes of the stream are copied
//! once, into memory from which the disk takes them.

use super::checkpoint::Begun;
use super::errors::CheckpointError;
use super::image_cost::{KernelTime, Seen, Sharing};
use super::image_results::Packed;
use super::local::Copy;
use crate::tuning::IMAGE_READ_BYTES;
use ftmpi_checkpoint::container::{
    CHUNK_BYTES_MAX, ChunkIndex, Compression, Encoder, SALT_BYTES, Secret,
};
use ftmpi_checkpoint::stream::StreamChecker;
use ftmpi_servers::files::{Piece, Pieces};
use ftmpi_servers::image_note;
use ftmpi_servers::image_store::Part;
use ftmpi_transport::auth::JobKey;
use ftmpi_wire::ImageId;
use ftmpi_wire::image_store::Note;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// What the packing of an image needs.
#[derive(Debug)]
pub struct PackJob {
    /// What the rank reports.
    pub begun: oneshot::Receiver<Begun>,
    /// This host.
    pub host: String,
    /// The program of the rank.
    pub program: String,
    /// The chunks that are stored already; `None` if the image is to be whole.
    pub known: Option<ChunkIndex>,
    /// The copy on this host.
    pub copy: Option<Copy>,
    /// How chunks are compressed.
    pub compression: Compression,
    /// Threads in addition to the one that reads the image.
    pub workers: usize,
    /// Whether compression made the image before smaller, if that is known.
    pub shrinks: Option<bool>,
    /// Encrypts the image.
    pub secret: Option<Secret>,
    /// The process, and what it had spent in the kernel when its last image had been streamed.
    pub process: (Option<u32>, Option<KernelTime>),
    /// Who else needs the processors.
    pub sharing: Sharing,
}

/// Threads in addition to the one that reads an image: as many as the ranks leave processors to
/// them. Where they leave none, a second thread would only take time from the ranks.
pub fn workers(sharing: Sharing) -> usize {
    let Sharing { ranks, processors } = sharing;
    if sharing.leaves_no_processor() { 0 } else { (processors / ranks.max(1)).max(1) }
}

/// Processor time of the calling thread.
fn time_of_this_thread() -> Duration {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(spent.tv_sec as u64, spent.tv_nsec as u32)
}

impl PackJob {
    /// The encoder of the image, and how many bytes it emits at a time at most (except at the end).
    fn encoder(&mut self, id: ImageId) -> (Encoder, usize) {
        let encoder = match self.known.take() {
            Some(known) => Encoder::incremental(id, self.compression, known),
            None => Encoder::new(id, self.compression),
        };
        let (mut workers, mut encoder) = (self.workers, encoder);
        // What LZ4 does not make smaller is hashed and copied only. A second processor would have
        // to fetch it first.
        let is_noise = self.compression == Compression::Lz4 && self.shrinks == Some(false);
        if is_noise {
            encoder = encoder.expecting_noise();
        }
        let is_sealed = self.secret.is_some();
        if !is_sealed && (is_noise || self.compression == Compression::Stored) {
            workers = 0;
        }
        if let Some(secret) = self.secret.take() {
            let mut salt = [0; SALT_BYTES];
            // The bytes of a fresh key are random numbers of the kernel.
            salt.copy_from_slice(&JobKey::generate().bytes()[..SALT_BYTES]);
            encoder = encoder.sealed(secret, salt);
        }
        (encoder.with_workers(workers), (workers + 1) * (CHUNK_BYTES_MAX + CHUNK_BYTES_MAX / 16))
    }
}

/// Where the container goes.
struct Way<'a> {
    parts: &'a mpsc::Sender<Part>,
    copy: &'a mut Option<Copy>,
}

impl Way<'_> {
    /// Sends a piece, and the places that the encoder has put into the container by now.
    fn send(&mut self, piece: Piece, places: Vec<u8>) -> Result<(), CheckpointError> {
        if let Some(copy) = self.copy.as_mut() {
            copy.write(piece.bytes());
        }
        let part = Part { piece, places };
        self.parts.blocking_send(part).map_err(|_| CheckpointError::GivenUp)
    }
}

/// Reads a raw stream and sends the container in parts; an error if the stream was not a whole
/// image.
pub fn pack(
    id: ImageId,
    mut pipe: File,
    mut job: PackJob,
    parts: &mpsc::Sender<Part>,
) -> Result<Packed, CheckpointError> {
    let began = time_of_this_thread();
    let (mut encoder, step) = job.encoder(id);
    let (mut pieces, mut way) = (Pieces::new(step), Way { parts, copy: &mut job.copy });
    let stream_error = |e: &dyn Display| CheckpointError::Stream(e.to_string());
    let mut watcher = StreamChecker::new();
    // Large reads: each read wakes the child, which fills the pipe again.
    let mut buffer = vec![0; IMAGE_READ_BYTES];
    loop {
        let mut bytes = match pipe.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => &buffer[..count],
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(CheckpointError::Read(e.to_string())),
        };
        while !bytes.is_empty() {
            let (now, rest) = bytes.split_at(bytes.len().min(watcher.piece_left()));
            watcher.push(now).map_err(|e| stream_error(&e))?;
            if watcher.at_piece() {
                encoder.push_chunk(now, pieces.memory());
            } else {
                encoder.push(now, pieces.memory());
            }
            if let Some(piece) = pieces.take() {
                way.send(piece, encoder.take_places())?;
            }
            bytes = rest;
        }
    }
    watcher.finish().map_err(|e| stream_error(&e))?;
    let kernel_time = job.process.0.and_then(KernelTime::of);
    // The rank's report and its stream come on different ways. A whole stream without a report
    // means that the rank died at this moment.
    let begun = job.begun.blocking_recv().map_err(|_| CheckpointError::RankDied)?;
    encoder.flush(pieces.memory());
    let shrinks = encoder.shrinks().or(job.shrinks);
    let taken = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let note = Note {
        counts: begun.counts,
        taken_ms: taken.map_or(0, |since| since.as_millis() as u64),
        host: job.host,
        program: job.program,
        pause_ns: begun.pause_ns,
        bases: encoder.bases().iter().map(|base| (base.incarnation, base.image)).collect(),
    };
    let places = encoder.take_places();
    let (_, known) = encoder.finish_with(&image_note::encode(&note), pieces.memory());
    if let Some(piece) = pieces.take_rest() {
        way.send(piece, places)?;
    }
    let cost = Seen {
        pause: Duration::from_nanos(begun.pause_ns),
        before: job.process.1,
        begin: begun.kernel_time,
        end: kernel_time,
        packing: time_of_this_thread().saturating_sub(began),
        sharing: job.sharing,
    }
    .cost();
    Ok(Packed { counts: begun.counts, known, shrinks, copy: job.copy, cost, kernel_time })
}
