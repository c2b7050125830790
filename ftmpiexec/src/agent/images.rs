//! Images on their way: from a rank's copy-on-write child to the checkpoint server, and back into
//! a new process.
//!
//! Guarantees: an image is committed only if its raw stream was whole; its number and its counts of
//! output belong together; compression and decompression run beside the agent's loop, with bounded
//! memory; a server that is being restarted is waited for.

use super::{Agent, Directory, Event};
use crate::orders::{Image, Report, Start};
use ftmpi_checkpoint::container::{Compression, Decoder, Encoder, ImageId};
use ftmpi_checkpoint::stream::Watcher;
use ftmpi_servers::client::{ClientError, Committed, ImageStore};
use ftmpi_transport::auth::JobKey;
use ftmpi_wire::control::ToRank;
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt;
use tokio::sync::{mpsc, oneshot, watch};

const PIECE_BYTES: usize = 256 << 10;
const PIECES: usize = 8;
const PIPE_BYTES: usize = 1 << 20;
/// A server that does not come back within this time is an error of the job (restart) or costs
/// the image (capture).
const RESTART_PATIENCE: Duration = Duration::from_secs(60);
const CAPTURE_PATIENCE: Duration = Duration::from_secs(10);
const RETRY: Duration = Duration::from_millis(100);
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// An image that a rank was asked for.
#[derive(Debug)]
pub struct TakingImage {
    image: ImageNo,
    asked: Instant,
    begun: Option<Begun>,
    stored: Option<Committed>,
}

/// What the rank told when it was taken.
#[derive(Debug, Clone, Copy)]
pub struct Begun {
    /// Its number.
    pub image: ImageNo,
    /// Bytes of output and error written.
    pub written: [u64; 2],
    /// Bytes of input consumed.
    pub consumed: u64,
}

/// How the transfer ended.
#[derive(Debug)]
pub struct Done {
    image: ImageNo,
    outcome: Result<Committed, String>,
}

/// An image that streams into a new process.
#[derive(Debug)]
pub struct Stream {
    /// The process's end.
    pub pipe: OwnedFd,
    /// Which image.
    pub facts: Image,
}

/// What came of the search for an image.
#[derive(Debug)]
pub struct Restore {
    /// The order.
    pub start: Start,
    /// Images that proved unusable on the way.
    pub unusable: Vec<(ImageNo, String)>,
    /// The stream; none: from the beginning; or why the life cannot begin.
    pub outcome: Result<Option<Stream>, String>,
}

impl Agent {
    pub(super) fn take_image(&mut self, rank: Rank, incarnation: Incarnation, image: ImageNo) {
        let server = self.directory.subscribe();
        let (key, events) = (self.key.clone(), self.events.clone());
        let Some(life) = self.life_mut(rank, incarnation) else { return };
        let (ours, theirs) = match rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC) {
            Ok(pipe) => pipe,
            Err(e) => {
                let report = Report::ImageFailed { image, why: format!("no pipe: {e}") };
                return self.report(rank, incarnation, report);
            }
        };
        let _ = rustix::pipe::fcntl_setpipe_size(&ours, PIPE_BYTES);
        life.image = Some(TakingImage { image, asked: Instant::now(), begun: None, stored: None });
        life.send(&ToRank::TakeImage { image }, vec![theirs], true);
        let id = ImageId { rank, incarnation, image };
        tokio::spawn(async move {
            let outcome = store(id, ours, &key, &server).await;
            let done = Done { image, outcome };
            let _ = events.send(Event::ImageDone { rank, incarnation, done });
        });
    }

    pub(super) fn image_begun(&mut self, rank: Rank, incarnation: Incarnation, begun: Begun) {
        if let Some(life) = self.life_mut(rank, incarnation)
            && let Some(taking) = life.image.as_mut().filter(|taking| taking.image == begun.image)
        {
            taking.begun = Some(begun);
            self.image_complete(rank, incarnation);
        }
    }

    pub(super) fn image_refused(
        &mut self,
        rank: Rank,
        incarnation: Incarnation,
        image: ImageNo,
        why: String,
    ) {
        if let Some(life) = self.life_mut(rank, incarnation)
            && life.image.take_if(|taking| taking.image == image).is_some()
        {
            self.report(rank, incarnation, Report::ImageFailed { image, why });
        }
    }

    pub(super) fn image_done(&mut self, rank: Rank, incarnation: Incarnation, done: Done) {
        let Some(life) = self.life_mut(rank, incarnation) else { return };
        let Some(taking) = life.image.as_mut().filter(|taking| taking.image == done.image) else {
            return;
        };
        match done.outcome {
            Ok(committed) => {
                taking.stored = Some(committed);
                self.image_complete(rank, incarnation);
            }
            Err(why) => {
                life.image = None;
                self.report(rank, incarnation, Report::ImageFailed { image: done.image, why });
            }
        }
    }

    /// The rank's word about an image and the server's receipt may come in either order.
    fn image_complete(&mut self, rank: Rank, incarnation: Incarnation) {
        let Some(life) = self.life_mut(rank, incarnation) else { return };
        let Some(TakingImage { asked, begun: Some(begun), stored: Some(stored), .. }) = life.image
        else {
            return;
        };
        life.image = None;
        let image = Image {
            image: begun.image,
            bytes: stored.bytes,
            written: begun.written,
            consumed: begun.consumed,
        };
        let took_ns = asked.elapsed().as_nanos() as u64;
        let report = Report::ImageCommitted { image, oldest: stored.oldest, took_ns };
        self.report(rank, incarnation, report);
    }
}

/// Connects to the rank's checkpoint server, again and again until `patience` is over.
async fn connect(
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

/// Carries one image to the server.
async fn store(
    id: ImageId,
    pipe: OwnedFd,
    key: &JobKey,
    directory: &watch::Receiver<Directory>,
) -> Result<Committed, String> {
    // Begins at once: the rank's child must not wait for the connection.
    let (pieces, mut queue) = mpsc::channel(PIECES);
    let packing = tokio::task::spawn_blocking(move || pack(id, File::from(pipe), &pieces));
    let mut server = connect(id.rank, key, directory, CAPTURE_PATIENCE).await?;
    let text = |e: ClientError| e.to_string();
    let mut put = server.begin(id.rank, id.incarnation, id.image).await.map_err(text)?;
    while let Some(piece) = queue.recv().await {
        put.data(piece).await.map_err(text)?;
    }
    match packing.await {
        Ok(Ok(())) => put.commit().await.map_err(text),
        Ok(Err(why)) => {
            put.abandon().await.map_err(text)?;
            Err(why)
        }
        Err(e) => Err(format!("packing it failed: {e}")),
    }
}

/// Raw stream in, container out; an error if the stream was not a whole image.
fn pack(id: ImageId, mut pipe: File, pieces: &mpsc::Sender<Vec<u8>>) -> Result<(), String> {
    let mut encoder = Encoder::new(id, Compression::default());
    let mut watcher = Watcher::new();
    let mut raw = vec![0; PIECE_BYTES];
    let mut out = Vec::new();
    let give = |out: &mut Vec<u8>, least: usize| {
        while !out.is_empty() && out.len() >= least {
            let rest = out.split_off(out.len().min(PIECE_BYTES));
            let piece = std::mem::replace(out, rest);
            pieces.blocking_send(piece).map_err(|_| "its transfer was given up".to_owned())?;
        }
        Ok::<(), String>(())
    };
    loop {
        match pipe.read(&mut raw) {
            Ok(0) => break,
            Ok(count) => {
                watcher.push(&raw[..count]).map_err(|e| e.to_string())?;
                encoder.push(&raw[..count], &mut out);
                give(&mut out, PIECE_BYTES)?;
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(format!("reading it from the rank: {e}")),
        }
    }
    watcher.finish().map_err(|e| e.to_string())?;
    let _ = encoder.finish(&mut out);
    give(&mut out, 1)
}

/// Declares the new life and finds the newest image for it.
pub async fn fetch(
    start: Start,
    key: JobKey,
    directory: watch::Receiver<Directory>,
    events: mpsc::UnboundedSender<Event>,
) {
    let mut unusable = Vec::new();
    let outcome = find(&start, &key, &directory, &mut unusable).await;
    let _ = events.send(Event::RestoreReady(Box::new(Restore { start, unusable, outcome })));
}

async fn find(
    start: &Start,
    key: &JobKey,
    directory: &watch::Receiver<Directory>,
    unusable: &mut Vec<(ImageNo, String)>,
) -> Result<Option<Stream>, String> {
    let since = Instant::now();
    let mut candidates = start.images.clone();
    loop {
        let mut server = connect(start.rank, key, directory, RESTART_PATIENCE).await?;
        let declared = server.declare(start.rank, start.incarnation).await;
        let attempt = match (declared, candidates.first()) {
            (Err(e), _) => Err(e),
            (Ok(()), None) if start.or_beginning => return Ok(None),
            (Ok(()), None) => {
                return Err(format!(
                    "none of its images can be restored, and the logs no longer reach back to the \
                     start of the program ({})",
                    unusable
                        .iter()
                        .map(|(image, why)| format!("image {image}: {why}"))
                        .collect::<Vec<_>>()
                        .join("; ")
                ));
            }
            (Ok(()), Some(newest)) => Ok(newest.image),
        };
        let problem = match attempt {
            Ok(newest) => match stream(server, start, newest).await {
                Ok(Found::Image(stream)) => {
                    for skipped in candidates.iter().filter(|c| c.image > stream.facts.image) {
                        unusable.push((skipped.image, "the server found it damaged".into()));
                    }
                    return Ok(Some(stream));
                }
                Ok(Found::Nothing) => {
                    for skipped in candidates.drain(..) {
                        unusable
                            .push((skipped.image, "the server does not have it any more".into()));
                    }
                    continue;
                }
                // The server has looked at all that it has: asking again gives the same answer.
                Err(Problem::Final(why)) if start.or_beginning => {
                    unusable.extend(candidates.iter().map(|image| (image.image, why.clone())));
                    return Ok(None);
                }
                Err(Problem::Final(why)) => return Err(why),
                Err(Problem::Passing(why)) => why,
            },
            Err(e) => e.to_string(),
        };
        if since.elapsed() > RESTART_PATIENCE {
            return Err(format!("its images cannot be fetched: {problem}"));
        }
        tokio::time::sleep(RETRY).await;
    }
}

enum Found {
    Image(Stream),
    Nothing,
}

enum Problem {
    /// The server refuses.
    Final(String),
    /// It may be restarting.
    Passing(String),
}

/// Begins to stream the newest image up to `newest`; returns when its name is known.
async fn stream(mut server: ImageStore, start: &Start, newest: ImageNo) -> Result<Found, Problem> {
    let rank = start.rank;
    let (ours, mut theirs) = tokio::io::duplex(PIPE_BYTES);
    let fetching = tokio::spawn(async move { server.get(rank, newest, ours).await });
    let (pieces, queue) = mpsc::channel(PIECES);
    tokio::spawn(async move {
        loop {
            let mut piece = Vec::with_capacity(PIECE_BYTES);
            match theirs.read_buf(&mut piece).await {
                Ok(1..) if pieces.send(piece).await.is_ok() => {}
                _ => return,
            }
        }
    });
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|e| Problem::Passing(format!("no pipe: {e}")))?;
    let _ = rustix::pipe::fcntl_setpipe_size(&write, PIPE_BYTES);
    let (named, name) = oneshot::channel();
    tokio::task::spawn_blocking(move || unpack(queue, File::from(write), named));
    match name.await {
        Ok(Ok(id)) if id.rank == rank => {
            match start.images.iter().find(|offered| offered.image == id.image) {
                Some(facts) => Ok(Found::Image(Stream { pipe: read, facts: *facts })),
                None => Ok(Found::Nothing),
            }
        }
        Ok(Ok(id)) => Err(Problem::Final(format!("the server sent an image of rank {}", id.rank))),
        Ok(Err(why)) => Err(Problem::Passing(why)),
        // Not a byte came: the server's answer says why.
        Err(_) => match fetching.await {
            Ok(Ok(None)) => Ok(Found::Nothing),
            Ok(Ok(Some(_))) => Err(Problem::Passing("the server sent an empty image".into())),
            Ok(Err(e @ ClientError::Refused { .. })) => Err(Problem::Final(e.to_string())),
            Ok(Err(e)) => Err(Problem::Passing(e.to_string())),
            Err(e) => Err(Problem::Passing(e.to_string())),
        },
    }
}

/// Container in, raw stream out. A damaged or short container ends the raw stream early, which the
/// boot library notices ([`ftmpi_checkpoint::boot_abi::EXIT_IMAGE_DAMAGED`]).
fn unpack(
    mut queue: mpsc::Receiver<Vec<u8>>,
    mut pipe: File,
    named: oneshot::Sender<Result<ImageId, String>>,
) {
    let mut named = Some(named);
    let mut decoder = Decoder::new();
    let mut raw = Vec::new();
    while let Some(piece) = queue.blocking_recv() {
        raw.clear();
        if let Err(e) = decoder.push(&piece, &mut raw) {
            if let Some(named) = named.take() {
                let _ = named.send(Err(e.to_string()));
            }
            return;
        }
        if let Some(id) = decoder.id()
            && let Some(named) = named.take()
        {
            let _ = named.send(Ok(id));
        }
        if pipe.write_all(&raw).is_err() {
            return;
        }
    }
}

/// Tells the server that an image must never be offered again; if it cannot be told now, the
/// dispatcher's list leaves the image out all the same.
pub async fn condemn(
    rank: Rank,
    image: ImageNo,
    key: JobKey,
    directory: watch::Receiver<Directory>,
) {
    if let Ok(mut server) = connect(rank, &key, &directory, CAPTURE_PATIENCE).await {
        let _ = server.condemn(rank, image).await;
    }
}
