//! Images on their way from a rank's copy-on-write child to the checkpoint server (the way back:
//! [`super::restores`]).
//!
//! Guarantees: an image is committed only if its raw stream was whole, and only after every event that
//! had been written when it was taken is durable: whatever it depends on, own events or those of
//! others, was written before (see `servers::event_store`); its counts of output are part of it;
//! compression runs beside the agent's loop, with bounded memory; a server that is being restarted is waited
//! for. The file of a server on this machine is written here ([`SameHostWriter`]).

use super::local::Copy;
use super::{Agent, AgentEvent, Directory};
use crate::agent_protocol::{Image, Report};
use bytes::Bytes;
use ftmpi_checkpoint::container::{ChunkIndex, Compression, Encoder, ImageId, SALT_BYTES, Secret};
use ftmpi_checkpoint::stream::Watcher;
use ftmpi_servers::client::{self, ClientError, Committed, ImageStore};
use ftmpi_servers::image_note;
use ftmpi_servers::image_store::{SameHostWriter, WriteProgress};
use ftmpi_transport::auth::JobKey;
use ftmpi_wire::control::ToRank;
use ftmpi_wire::image_store::{Counts, Note};
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::fs::File;
use std::io::BufReader;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot, watch};

const PIECE_BYTES: usize = 256 << 10;
/// Headers of records are read ahead so far.
const HEADERS_BYTES: usize = 16 << 10;
pub(super) const PIECES: usize = 8;
pub(super) const PIPE_BYTES: usize = 1 << 20;
/// A server that does not come back within this time costs the image.
pub(super) const CAPTURE_PATIENCE: Duration = Duration::from_secs(10);
pub(super) const RETRY: Duration = Duration::from_millis(100);
/// Events that an image depends on are durable after this time, or it is given up.
const DURABLE_LIMIT: Duration = Duration::from_secs(40);
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// Images that are carried at the same time. One needs two threads of Tokio's (`pack` and `write`, which wait for
/// each other), of which there are 512: were all of them given to the first halves, no second one would ever begin.
/// Ranks whose images come later have children that stand still meanwhile.
pub(super) const AT_ONCE: usize = 200;

/// An image that a rank was asked for.
#[derive(Debug)]
pub struct TakingImage {
    image: ImageNo,
    asked: Instant,
    /// In which of the two rows it is.
    chain: usize,
    /// Takes what the rank tells of it to the transfer, which writes it into the image.
    begun: Option<oneshot::Sender<Begun>>,
}

/// What the rank told when it was taken.
#[derive(Debug, Clone)]
pub struct Begun {
    /// Its number.
    pub image: ImageNo,
    /// Where its streams stood.
    pub counts: Counts,
    /// How long it stood still.
    pub pause_ns: u64,
}

/// How the transfer ended.
#[derive(Debug)]
pub struct Done {
    image: ImageNo,
    outcome: Result<(Committed, Packed), String>,
}

/// What came of packing it.
#[derive(Debug)]
struct Packed {
    counts: Counts,
    /// For the next one of its row.
    known: ChunkIndex,
    /// The copy on this host.
    copy: Option<Copy>,
}

impl Agent {
    pub(super) fn take_image(
        &mut self,
        rank: Rank,
        incarnation: Incarnation,
        image: ImageNo,
        keep: Option<[ImageNo; 2]>,
    ) {
        let server = self.directory.subscribe();
        let (key, events) = (self.key.clone(), self.events.clone());
        let host = self.host_name();
        let packing = Packing {
            compression: Compression::of_level(self.job.as_ref().map_or(1, |job| job.compress)),
            workers: workers(self.processors as usize, self.processes.len()),
            secret: self.secret.clone(),
        };
        let Some(process) = self.process_mut(rank, incarnation) else { return };
        let (ours, theirs) = match rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC) {
            Ok(pipe) => pipe,
            Err(e) => {
                let report = Report::ImageFailed { image, why: format!("no pipe: {e}") };
                return self.report(rank, incarnation, report);
            }
        };
        let _ = rustix::pipe::fcntl_setpipe_size(&ours, PIPE_BYTES);
        let (begun, told) = oneshot::channel();
        let (chain, known) = process.chains.next(keep);
        process.image =
            Some(TakingImage { image, asked: Instant::now(), chain, begun: Some(begun) });
        process.send(&ToRank::TakeImage { image }, vec![theirs], true);
        let id = ImageId { rank, incarnation, image };
        let program = process.program();
        let copy = self.local.as_ref().map(|local| local.begin(id));
        let about = About { told, host, program, known, copy, packing };
        let turns = self.images_at_once.clone();
        tokio::spawn(async move {
            let turn = turns.acquire_owned().await.ok();
            let outcome = store(id, keep, ours, about, turn, (&key, &server)).await;
            let done = Done { image, outcome };
            let done = Box::new(done);
            let _ = events.send(AgentEvent::ImageDone { rank, incarnation, done });
        });
    }

    pub(super) fn image_begun(&mut self, rank: Rank, incarnation: Incarnation, begun: Begun) {
        if let Some(process) = self.process_mut(rank, incarnation)
            && let Some(taking) =
                process.image.as_mut().filter(|taking| taking.image == begun.image)
            && let Some(tell) = taking.begun.take()
        {
            let _ = tell.send(begun);
        }
    }

    pub(super) fn image_refused(
        &mut self,
        rank: Rank,
        incarnation: Incarnation,
        image: ImageNo,
        why: String,
    ) {
        if let Some(process) = self.process_mut(rank, incarnation)
            && process.image.take_if(|taking| taking.image == image).is_some()
        {
            self.report(rank, incarnation, Report::ImageFailed { image, why });
        }
    }

    pub(super) fn image_done(&mut self, rank: Rank, incarnation: Incarnation, done: Done) {
        let Some(process) = self.process_mut(rank, incarnation) else { return };
        let Some(taking) = process.image.take_if(|taking| taking.image == done.image) else {
            return;
        };
        let report = match done.outcome {
            Ok((committed, Packed { counts, known, .. })) => {
                let Counts { written, consumed } = counts;
                process.chains.stored(taking.chain, done.image, known);
                let Committed { image, bytes, oldest } = committed;
                process.written_of.push((image, written));
                let image = Image { image, bytes, written, consumed };
                let took_ns = taking.asked.elapsed().as_nanos() as u64;
                Report::ImageCommitted { image, oldest, took_ns }
            }
            Err(why) => Report::ImageFailed { image: done.image, why },
        };
        self.report(rank, incarnation, report);
    }
}

/// Connects to the rank's checkpoint server, again and again until `patience` is over.
pub(super) async fn connect(
    rank: Rank,
    key: &JobKey,
    directory: &watch::Receiver<Directory>,
    patience: Duration,
) -> Result<ImageStore, String> {
    let since = Instant::now();
    loop {
        let address = directory.borrow().checkpoint_servers.get(rank.index()).copied();
        let Some(address) = address else { return Err("there is no checkpoint server".into()) };
        match ImageStore::connect(address, key, CONNECT_LIMIT).await {
            Ok(store) => return Ok(store),
            Err(e) if since.elapsed() > patience => return Err(e.to_string()),
            Err(_) => tokio::time::sleep(RETRY).await,
        }
    }
}

/// What goes into an image's note.
#[derive(Debug)]
struct About {
    /// What the rank tells.
    told: oneshot::Receiver<Begun>,
    host: String,
    program: String,
    /// What is stored already of what will be in it; nothing if images are whole.
    known: Option<ChunkIndex>,
    /// The copy on this host.
    copy: Option<Copy>,
    packing: Packing,
}

/// Threads beside the one that reads an image, where the ranks leave processors to them. Where they do not, each
/// hand-over of what one processor has at hand to another one is time that the ranks lack.
fn workers(processors: usize, ranks: usize) -> usize {
    if ranks >= processors { 0 } else { (processors / ranks.max(1)).max(1) }
}

/// How its container is made.
#[derive(Debug)]
struct Packing {
    compression: Compression,
    workers: usize,
    secret: Option<Secret>,
}

/// Carries one image to the server.
async fn store(
    id: ImageId,
    keep: Option<[ImageNo; 2]>,
    pipe: OwnedFd,
    about: About,
    turn: Option<OwnedSemaphorePermit>,
    (key, directory): (&JobKey, &watch::Receiver<Directory>),
) -> Result<(Committed, Packed), String> {
    // Begins at once: the rank's child must not wait for the connection.
    let (pieces, mut queue) = mpsc::channel(PIECES);
    let packing = tokio::task::spawn_blocking(move || pack(id, File::from(pipe), about, &pieces));
    let mut server = connect(id.rank, key, directory, CAPTURE_PATIENCE).await?;
    let text = |e: ClientError| e.to_string();
    if let Some(images) = keep {
        server.keep(id.rank, id.incarnation, images).await.map_err(text)?;
    }
    let (mut put, near) =
        server.begin_same_host(id.rank, id.incarnation, id.image).await.map_err(text)?;
    let mut written = None;
    if let Some(writing) = near {
        let (tell, mut told) = mpsc::channel(PIECES);
        let writing = tokio::task::spawn_blocking(move || write(writing, queue, &tell));
        while let Some(news) = told.recv().await {
            put.written(news).await.map_err(text)?;
        }
        match writing.await.unwrap_or_else(|e| Err(format!("writing it failed: {e}"))) {
            Ok(writing) => written = Some(writing),
            Err(why) => {
                put.abandon().await.map_err(text)?;
                return Err(why);
            }
        }
    } else {
        while let Some(piece) = queue.recv().await {
            put.data(piece).await.map_err(text)?;
        }
    }
    match packing.await {
        Ok(Ok(mut packed)) => {
            if let Some(writing) = written {
                let last = tokio::task::spawn_blocking(move || writing.finish()).await;
                match last.unwrap_or_else(|e| Err(format!("writing it failed: {e}"))) {
                    Ok(news) => put.written(news).await.map_err(text)?,
                    Err(why) => {
                        put.abandon().await.map_err(text)?;
                        return Err(why);
                    }
                }
            }
            // What is left needs nobody's thread.
            drop(turn);
            let mut loggers = directory.borrow().event_loggers.clone();
            loggers.sort_unstable();
            loggers.dedup();
            if let Err(why) = client::durable(&loggers, key, DURABLE_LIMIT).await {
                put.abandon().await.map_err(text)?;
                return Err(why);
            }
            let committed = put.commit().await.map_err(text)?;
            if let Some(copy) = packed.copy.take() {
                let _ = tokio::task::spawn_blocking(move || copy.commit(keep)).await;
            }
            Ok((committed, packed))
        }
        Ok(Err(why)) => {
            put.abandon().await.map_err(text)?;
            Err(why)
        }
        Err(e) => Err(format!("packing it failed: {e}")),
    }
}

/// Writes what comes to the file of a server on this machine, and tells how far it is.
fn write(
    mut writing: SameHostWriter,
    mut pieces: mpsc::Receiver<Bytes>,
    tell: &mpsc::Sender<WriteProgress>,
) -> Result<SameHostWriter, String> {
    while let Some(piece) = pieces.blocking_recv() {
        if let Some(news) = writing.push(&piece)? {
            tell.blocking_send(news).map_err(|_| "its transfer was given up".to_owned())?;
        }
    }
    Ok(writing)
}

/// Raw stream in, container out; an error if the stream was not a whole image.
fn pack(
    id: ImageId,
    pipe: File,
    about: About,
    pieces: &mpsc::Sender<Bytes>,
) -> Result<Packed, String> {
    let About { told, host, program, known, mut copy, packing } = about;
    let encoder = match known {
        Some(known) => Encoder::incremental(id, packing.compression, known),
        None => Encoder::new(id, packing.compression),
    };
    let mut encoder = encoder.with_workers(packing.workers);
    if let Some(secret) = packing.secret {
        let mut salt = [0; SALT_BYTES];
        // The first of a fresh key's bytes: from the kernel's random numbers.
        salt.copy_from_slice(&JobKey::generate().bytes()[..SALT_BYTES]);
        encoder = encoder.sealed(secret, salt);
    }
    let mut watcher = Watcher::new();
    let mut out = Vec::new();
    let mut give = |out: &mut Vec<u8>, least: usize| {
        if out.len() < least {
            return Ok(());
        }
        let next = Vec::with_capacity(out.len() + out.len() / 8);
        let mut rest = Bytes::from(std::mem::replace(out, next));
        while !rest.is_empty() {
            let piece = rest.split_to(rest.len().min(PIECE_BYTES));
            if let Some(copy) = &mut copy {
                copy.write(&piece);
            }
            pieces.blocking_send(piece).map_err(|_| "its transfer was given up".to_owned())?;
        }
        Ok::<(), String>(())
    };
    // Large pieces go past its buffer.
    let mut pipe = BufReader::with_capacity(HEADERS_BYTES, pipe);
    loop {
        let read = encoder
            .fill(&mut pipe, watcher.piece_left())
            .map_err(|e| format!("reading it from the rank: {e}"))?;
        if read.is_empty() {
            break;
        }
        watcher.push(read).map_err(|e| e.to_string())?;
        if watcher.at_piece() {
            encoder.cut(&mut out);
        } else {
            encoder.push(&[], &mut out);
        }
        give(&mut out, PIECE_BYTES)?;
    }
    watcher.finish().map_err(|e| e.to_string())?;
    // Its word and its stream come on different ways. A whole stream that no word follows has lost
    // its rank in this very moment.
    let begun =
        told.blocking_recv().map_err(|_| "its rank died before it told of it".to_owned())?;
    encoder.flush(&mut out);
    let taken = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let note = Note {
        counts: begun.counts,
        taken_ms: taken.map_or(0, |since| since.as_millis() as u64),
        host,
        program,
        pause_ns: begun.pause_ns,
        bases: encoder.bases().iter().map(|base| (base.incarnation, base.image)).collect(),
    };
    let (_, known) = encoder.finish_with(&image_note::encode(&note), &mut out);
    give(&mut out, 1)?;
    Ok(Packed { counts: begun.counts, known, copy })
}
