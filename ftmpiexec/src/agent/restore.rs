//! Images on their way back: from the checkpoint server, or the copy on this host, into a new
//! process.
//!
//! Guarantees: an incarnation is declared before its image is searched, so that no image of the
//! incarnation before is stored any more. Every stream is checked on the way, and the new process
//! notices a stream that is not whole. Decompression runs outside of the agent's thread, with
//! bounded memory. A server that is being restarted is waited for. Of many ranks that return
//! together, as many are restored side by side as the processors are good for.

use super::checkpoint::connect;
use super::directory::Directory;
use super::errors::RestoreError;
use super::events::AgentEvent;
use super::files::Files;
use super::gate::{Gate, Outlet};
use super::image_results::{Restore, Stream};
use super::local::Local;
use crate::agent_protocol::Start;
use crate::tuning::{
    CAPTURE_PATIENCE, IMAGE_PIECES, IMAGE_PIPE_BYTES, RESTORE_TURN_PATIENCE, RESTORES_MIN,
    RESTORES_PER_CPU, SERVER_PATIENCE, SERVER_RETRY,
};
use ftmpi_checkpoint::container::{Decoder, Secret};
use ftmpi_protocols::dispatcher::ImageFacts;
use ftmpi_servers::client::{ClientError, Fetched, ImageStore};
use ftmpi_servers::image_store::ImageReader;
use ftmpi_transport::auth::JobKey;
use ftmpi_wire::image_store::Counts;
use ftmpi_wire::{ImageId, ImageNo, ProtocolTraits, Rank};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};

/// Where images come from.
#[derive(Debug)]
pub struct Source {
    /// The job's key.
    pub key: JobKey,
    /// Opens the images, if they are encrypted.
    pub secret: Option<Secret>,
    /// Where the servers are.
    pub directory: watch::Receiver<Directory>,
    /// In waves, all ranks of a cluster begin from images of one wave, and from no others.
    pub traits: ProtocolTraits,
    /// Only images that the server has checked as a whole before it sends them.
    pub checked: bool,
    /// Bytes of output and error that are not lost: they were printed, sent, or are held here.
    pub kept_output: [u64; 2],
    /// Restores that run side by side.
    pub turns: Arc<Semaphore>,
}

/// A turn of a restore; it ends when the image is in the process. `None`: the restores before stand
/// still, and this one goes on beside them.
pub type Turn = Option<OwnedSemaphorePermit>;

/// How many ranks this host restores at the same time.
pub fn side_by_side(processors: u32) -> usize {
    (processors as usize).saturating_mul(RESTORES_PER_CPU).max(RESTORES_MIN)
}

async fn turn(source: &Source) -> Turn {
    let turn = source.turns.clone().acquire_owned();
    tokio::time::timeout(RESTORE_TURN_PATIENCE, turn).await.ok()?.ok()
}

/// Declares the new incarnation and finds the newest image for it.
pub async fn fetch(
    start: Start,
    source: Source,
    local: Option<Arc<Local>>,
    files: Files,
    events: mpsc::UnboundedSender<AgentEvent>,
) {
    let turn = turn(&source).await;
    let mut search = Search::new(&start, &source, local, turn);
    let mut outcome = search.run().await;
    let Search { unusable, idle, .. } = search;
    if let Ok(found) = &outcome {
        let image = found.as_ref().map_or(ImageNo(0), |stream| stream.facts.image);
        if let Err(e) = settle_on(image, &start, &source, (files, idle)).await {
            outcome = Err(e);
        }
    }
    let _ = events.send(AgentEvent::RestoreReady(Box::new(Restore { start, unusable, outcome })));
}

/// Where there are no images: only files are to return.
pub async fn begin_without_images(
    start: Start,
    files: Files,
    events: mpsc::UnboundedSender<AgentEvent>,
) {
    let taken_back = files.take_back(ImageNo(0)).await;
    let outcome = taken_back.map(|()| None).map_err(RestoreError::from);
    let restore = Restore { start, unusable: Vec::new(), outcome };
    let _ = events.send(AgentEvent::RestoreReady(Box::new(restore)));
}

/// The incarnation begins from this image (0: from the start): newer images are given up if they
/// describe another course, and files return. `idle`: a connection to the server, if one is open.
async fn settle_on(
    image: ImageNo,
    start: &Start,
    source: &Source,
    (files, idle): (Files, Option<ImageStore>),
) -> Result<(), RestoreError> {
    if source.traits.gives_up_newer_images() {
        give_up_newer(start, source, image, idle).await?;
    }
    Ok(files.take_back(image).await?)
}

/// Gives up the images after this one. A later launcher that continues the job must not take them
/// for a wave, while files and other ranks have gone on from this image.
async fn give_up_newer(
    start: &Start,
    source: &Source,
    image: ImageNo,
    mut idle: Option<ImageStore>,
) -> Result<(), RestoreError> {
    let since = Instant::now();
    loop {
        let mut server = match idle.take() {
            Some(server) => server,
            None => reach(start.rank, source).await?,
        };
        match server.return_to(start.rank, start.incarnation, image).await {
            Ok(()) => return Ok(()),
            Err(e) if since.elapsed() > SERVER_PATIENCE => {
                return Err(RestoreError::Refused(e.to_string()));
            }
            Err(_) => tokio::time::sleep(SERVER_RETRY).await,
        }
    }
}

/// Connects to the checkpoint server of a rank.
async fn reach(rank: Rank, source: &Source) -> Result<ImageStore, RestoreError> {
    let connected = connect(rank, &source.key, &source.directory, SERVER_PATIENCE).await;
    connected.map_err(|e| RestoreError::Refused(e.to_string()))
}

/// The search for the image of one incarnation.
struct Search<'a> {
    start: &'a Start,
    source: &'a Source,
    /// The copies on this host, until they have been looked at.
    local: Option<Arc<Local>>,
    /// Images that may still be tried, newest first.
    candidates: Vec<ImageFacts>,
    unusable: Vec<(ImageNo, String)>,
    /// The server was asked for images that the launcher does not know, or must not be asked.
    asked_for_newer: bool,
    /// A file of a server on this host may be read here.
    same_host: bool,
    turn: Turn,
    /// The connection to the server, when the server has answered all that it was asked.
    idle: Option<ImageStore>,
}

/// What an attempt of the search leads to.
enum Step {
    /// The search has ended.
    Done(Result<Option<Stream>, RestoreError>),
    /// Another attempt, at once.
    Again,
    /// Another attempt after a pause, because of this.
    Later(String),
}

impl<'a> Search<'a> {
    fn new(start: &'a Start, source: &'a Source, local: Option<Arc<Local>>, turn: Turn) -> Self {
        Self {
            start,
            source,
            local,
            candidates: start.images.clone(),
            unusable: Vec::new(),
            asked_for_newer: source.traits.in_waves() || start.no_newer,
            same_host: !source.checked,
            turn,
            idle: None,
        }
    }

    async fn run(&mut self) -> Result<Option<Stream>, RestoreError> {
        let since = Instant::now();
        loop {
            let problem = match self.attempt().await? {
                Step::Done(outcome) => return outcome,
                Step::Again => continue,
                Step::Later(problem) => problem,
            };
            if since.elapsed() > SERVER_PATIENCE {
                return Err(RestoreError::Unreachable(problem));
            }
            tokio::time::sleep(SERVER_RETRY).await;
        }
    }

    async fn attempt(&mut self) -> Result<Step, RestoreError> {
        let start = self.start;
        let mut server = reach(start.rank, self.source).await?;
        let mut declared = server.declare(start.rank, start.incarnation).await;
        if declared.is_ok() && start.no_newer {
            let newest = start.images.first().map_or(ImageNo(0), |newest| newest.image);
            declared = server.return_to(start.rank, start.incarnation, newest).await;
        }
        if let Err(e) = declared {
            return Ok(Step::Later(e.to_string()));
        }
        let Some(newest) = self.candidates.first().map(|newest| newest.image) else {
            return Ok(Step::Done(self.nothing_left()));
        };
        // The incarnation is declared by now: no image of the old one is stored any more.
        if let Some(local) = self.local.take()
            && let Some(stream) =
                stream_copy(local, self.source.secret.clone(), start, (newest, &mut self.turn))
                    .await
        {
            self.idle = Some(server);
            return Ok(Step::Done(Ok(Some(stream))));
        }
        let (same_host, candidates, gate) = (self.same_host, &self.candidates, None);
        let wanted = Wanted { newest, same_host, candidates, gate };
        let secret = self.source.secret.clone();
        let found = stream(server, secret, start.rank, (wanted, &mut self.turn)).await;
        Ok(match found {
            Ok(Some((stream, idle))) => {
                self.idle = idle;
                let newer = self.candidates.iter().filter(|c| c.image > stream.facts.image);
                let skipped = newer.map(|c| (c.image, "the server found it damaged".to_owned()));
                self.unusable.extend(skipped);
                Step::Done(Ok(Some(stream)))
            }
            Ok(None) => {
                self.skip_all("the server does not have it any more");
                self.candidates.clear();
                Step::Again
            }
            Err(Problem::Final(e)) => self.refused(newest, e).await,
            // The server looks for itself, and offers what is good.
            Err(Problem::SameHost) => {
                self.same_host = false;
                Step::Again
            }
            Err(Problem::Passing(why)) => Step::Later(why),
        })
    }

    /// No image is left to try.
    fn nothing_left(&self) -> Result<Option<Stream>, RestoreError> {
        if self.start.or_beginning {
            Ok(None)
        } else if self.unusable.is_empty() {
            Err(RestoreError::NothingLeft)
        } else {
            Err(RestoreError::AllUnusable(self.unusable.clone()))
        }
    }

    fn skip_all(&mut self, why: &str) {
        self.unusable.extend(self.candidates.iter().map(|image| (image.image, why.to_owned())));
    }

    /// The server has no image up to `newest` for a reason that another question would not change.
    async fn refused(&mut self, newest: ImageNo, e: RestoreError) -> Step {
        if !std::mem::replace(&mut self.asked_for_newer, true) {
            // Images that were committed while their rank was dying may be unknown to the launcher,
            // and may have replaced those that it knows.
            let newer = newer_images(self.start.rank, newest, self.source).await;
            if newer.is_empty() {
                return Step::Later(e.to_string());
            }
            self.candidates.splice(0..0, newer);
            return Step::Again;
        }
        // The server has looked at all images that it has.
        if self.start.or_beginning {
            self.skip_all(&e.to_string());
            return Step::Done(Ok(None));
        }
        if self.source.traits.in_waves() {
            // The cluster may have another wave.
            self.skip_all(&e.to_string());
        }
        Step::Done(Err(e))
    }
}

/// What the server offers after `than`, newest first: the images with which no text is lost, or
/// else all of them. (The text of a host that died is lost unless it had been sent.)
async fn newer_images(rank: Rank, than: ImageNo, source: &Source) -> Vec<ImageFacts> {
    let server = connect(rank, &source.key, &source.directory, CAPTURE_PATIENCE).await;
    let Ok(mut server) = server else { return Vec::new() };
    let Ok(stored) = server.list(rank).await else { return Vec::new() };
    let newer = stored.images.iter().rev().filter(|stored| stored.image > than);
    let facts = newer.map(|stored| {
        let Counts { written, consumed } = stored.counts;
        ImageFacts { image: stored.image, bytes: stored.bytes, written, consumed }
    });
    let all: Vec<ImageFacts> = facts.collect();
    let lossless = |image: &&ImageFacts| lost_bytes(image.written, source.kept_output) == 0;
    let good: Vec<ImageFacts> = all.iter().filter(lossless).copied().collect();
    if good.is_empty() { all } else { good }
}

/// How many bytes of output a program had written that can no longer be printed.
pub fn lost_bytes(written: [u64; 2], kept: [u64; 2]) -> u64 {
    written.iter().zip(kept).map(|(written, kept)| written.saturating_sub(kept)).sum()
}

/// The image, and the connection if the server has nothing more to send; `None`: no image.
type Found = Option<(Stream, Option<ImageStore>)>;

enum Problem {
    /// The server refuses.
    Final(RestoreError),
    /// The server may be restarting.
    Passing(String),
    /// The file that a server on this host named is damaged.
    SameHost,
}

/// What is asked of the server.
struct Wanted<'a> {
    /// The newest image that will do.
    newest: ImageNo,
    /// Whether a file on this host will do.
    same_host: bool,
    /// The images that the server may send.
    candidates: &'a [ImageFacts],
    /// What holds the end of the image back, for a standby.
    gate: Option<Gate>,
}

/// Begins to stream the copy on this host, if there is a good one.
async fn stream_copy(
    local: Arc<Local>,
    secret: Option<Secret>,
    start: &Start,
    (image, turn): (ImageNo, &mut Turn),
) -> Option<Stream> {
    let facts = *start.images.iter().find(|offered| offered.image == image)?;
    let rank = start.rank;
    let found = tokio::task::spawn_blocking(move || local.find(rank, image)).await;
    let mut copy = found.ok().flatten()?;
    let (pipe, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).ok()?;
    let _ = rustix::pipe::fcntl_setpipe_size(&write, IMAGE_PIPE_BYTES);
    let (name_sender, _) = oneshot::channel();
    let turn = turn.take();
    tokio::task::spawn_blocking(move || {
        let _turn = turn;
        // The new process notices what is missing, as with the server's stream.
        let source = |piece: &mut Vec<u8>| matches!(copy.read(piece), Ok(true));
        unpack(source, secret, Outlet::new(write, None), name_sender);
    });
    Some(Stream { pipe, facts })
}

/// Begins to stream the newest image that will do; returns when its name is known.
async fn stream(
    mut server: ImageStore,
    secret: Option<Secret>,
    rank: Rank,
    (wanted, turn): (Wanted<'_>, &mut Turn),
) -> Result<Found, Problem> {
    let Wanted { newest, same_host, candidates, gate } = wanted;
    let (pieces, mut queue) = mpsc::channel(IMAGE_PIECES);
    let mut fetching = tokio::spawn(async move {
        let fetched = server.get_pieces(rank, newest, same_host, pieces).await;
        fetched.map(|fetched| fetched.map(|fetched| (fetched, server)))
    });
    let pipe = || rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC);
    let (read, write) = pipe().map_err(|e| Problem::Passing(format!("no pipe: {e}")))?;
    let _ = rustix::pipe::fcntl_setpipe_size(&write, IMAGE_PIPE_BYTES);
    let (name_sender, name) = oneshot::channel();
    let first = tokio::select! {
        biased;
        Some(first) = queue.recv() => Some(first),
        // Before the first byte: where the image lies, or why there is none.
        answer = &mut fetching => match answer {
            Ok(Ok(Some((Fetched::SameHost(mut file), server)))) => {
                let turn = turn.take();
                begin(gate.is_some(), move || {
                    let _turn = turn;
                    let write = Outlet::new(write, gate);
                    if secret.is_none() {
                        return pour(&mut file, write, name_sender);
                    }
                    let source = |piece: &mut Vec<u8>| matches!(file.read(piece), Ok(true));
                    unpack(source, secret, write, name_sender);
                });
                let found = named_image(name.await, rank, candidates, (read, Some(server)));
                return found.map_err(|_| Problem::SameHost);
            }
            Ok(Ok(None)) => return Ok(None),
            Ok(Ok(Some((Fetched::Sent(_), _)))) => queue.recv().await,
            Ok(Err(e @ ClientError::Refused { .. })) => return Err(Problem::Final(RestoreError::Refused(e.to_string()))),
            Ok(Err(e)) => return Err(Problem::Passing(e.to_string())),
            Err(e) => return Err(Problem::Passing(e.to_string())),
        },
    };
    let Some(mut next) = first else {
        return Err(Problem::Passing("the server sent an empty image".into()));
    };
    let turn = turn.take();
    begin(gate.is_some(), move || {
        let _turn = turn;
        let source = |piece: &mut Vec<u8>| {
            if next.is_empty() {
                match queue.blocking_recv() {
                    Some(bytes) => next = bytes,
                    None => return false,
                }
            }
            piece.extend_from_slice(&std::mem::take(&mut next));
            true
        };
        unpack(source, secret, Outlet::new(write, gate), name_sender);
    });
    named_image(name.await, rank, candidates, (read, None))
}

/// Begins to write an image. What waits at a gate has a thread of its own: there are only so many
/// for work that ends soon.
fn begin(gated: bool, work: impl FnOnce() + Send + 'static) {
    if gated {
        // Without a thread the pipe is closed, and there is no standby.
        let _ = std::thread::Builder::new().name("standby".to_owned()).spawn(work);
    } else {
        tokio::task::spawn_blocking(work);
    }
}

/// Takes the image whose name came first in the stream, if it is one of the candidates.
fn named_image(
    name: Result<Identified, oneshot::error::RecvError>,
    rank: Rank,
    candidates: &[ImageFacts],
    (pipe, idle): (OwnedFd, Option<ImageStore>),
) -> Result<Found, Problem> {
    match name {
        Ok(Ok(id)) if id.rank == rank => {
            match candidates.iter().find(|offered| offered.image == id.image) {
                Some(facts) => Ok(Some((Stream { pipe, facts: *facts }, idle))),
                None => Ok(None),
            }
        }
        Ok(Ok(id)) => Err(Problem::Final(RestoreError::WrongRank(id.rank))),
        Ok(Err(e)) => Err(Problem::Passing(e.to_string())),
        Err(_) => Err(Problem::Passing("the image broke off at its beginning".into())),
    }
}

/// Why the beginning of an image cannot be read; the text of the decoder.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Unreadable(String);

/// The name at the beginning of an image.
type Identified = Result<ImageId, Unreadable>;

/// The sender of an image's name, used once.
struct NameSender(Option<oneshot::Sender<Identified>>);

impl NameSender {
    fn send(&mut self, name: Identified) {
        if let Some(sender) = self.0.take() {
            let _ = sender.send(name);
        }
    }
}

/// Reads a container and writes the raw stream. `source` appends its next bytes and returns `false`
/// at the end. A damaged or short container ends the raw stream early, which the boot library
/// notices ([`ftmpi_checkpoint::boot_abi::EXIT_IMAGE_DAMAGED`]).
fn unpack(
    mut source: impl FnMut(&mut Vec<u8>) -> bool,
    secret: Option<Secret>,
    mut pipe: Outlet,
    name_sender: oneshot::Sender<Identified>,
) {
    let mut name_sender = NameSender(Some(name_sender));
    let mut decoder = Decoder::with_secret(secret);
    let (mut piece, mut raw) = (Vec::new(), Vec::new());
    while source(&mut piece) {
        if let Err(e) = decoder.push(&piece, &mut raw) {
            return name_sender.send(Err(Unreadable(e.to_string())));
        }
        if let Some(id) = decoder.id() {
            name_sender.send(Ok(id));
        }
        if pipe.write_all(&raw).is_err() {
            return;
        }
        piece.clear();
        raw.clear();
    }
    pipe.end();
}

/// As [`unpack`], for a file that can be read here: one thread reads and checks, one writes.
fn pour(file: &mut ImageReader, mut pipe: Outlet, name: oneshot::Sender<Identified>) {
    let mut name_sender = NameSender(Some(name));
    let (full, ready) = std::sync::mpsc::sync_channel::<Vec<u8>>(2);
    let (empty, again) = std::sync::mpsc::channel::<Vec<u8>>();
    std::thread::scope(move |scope| {
        // Dropped with this closure, so that the writer ends, too.
        let full = full;
        scope.spawn(move || {
            for mut raw in ready {
                if pipe.write_all(&raw).is_err() {
                    return;
                }
                raw.clear();
                let _ = empty.send(raw);
            }
            pipe.end();
        });
        loop {
            let mut raw = again.try_recv().unwrap_or_default();
            let more = file.read_raw(&mut raw);
            name_sender.send(match &more {
                Ok(_) => {
                    file.id().ok_or_else(|| Unreadable("the image has no beginning".to_owned()))
                }
                Err(e) => Err(Unreadable(e.to_string())),
            });
            // The new process notices what is missing.
            if !matches!(more, Ok(true)) || full.send(raw).is_err() {
                return;
            }
        }
    });
}

/// Has the server never offer an image again. If the server does not answer now, the dispatcher's
/// list leaves the image out all the same.
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

#[path = "restore_standby.rs"]
pub mod standby;
#[cfg(test)]
#[path = "restore_tests.rs"]
mod tests;
