//! Images on their way back: from the checkpoint server, or the copy on this host, into a new process.
//!
//! Guarantees: a life is declared before its image is looked for, so that nothing of the one before is stored any
//! more; what streams is checked as it goes, and a stream that is not whole is noticed by the new process;
//! decompression runs beside the agent's loop, with bounded memory; a server that is being restarted is waited
//! for.

use super::checkpoint::{CAPTURE_PATIENCE, PIECES, PIPE_BYTES, RETRY, connect};
use super::files::Files;
use super::local::Local;
use super::{AgentEvent, Directory};
use crate::agent_protocol::{Image, Start};
use ftmpi_checkpoint::container::{Decoder, ImageId, Secret};
use ftmpi_servers::client::{ClientError, Fetched, ImageStore};
use ftmpi_servers::image_store::ImageReader;
use ftmpi_transport::auth::JobKey;
use ftmpi_wire::image_store::Counts;
use ftmpi_wire::{ImageNo, ProtocolTraits, Rank};
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot, watch};

/// A server that does not come back within this time is an error of the job.
const RESTART_PATIENCE: Duration = Duration::from_secs(60);

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

/// Where images come from.
#[derive(Debug)]
pub struct Source {
    /// Of the job.
    pub key: JobKey,
    /// Of its images, if they are encrypted.
    pub secret: Option<Secret>,
    /// Where the servers are.
    pub directory: watch::Receiver<Directory>,
    /// In waves all ranks of a cluster begin from images of one wave, and no others.
    pub traits: ProtocolTraits,
    /// Only what the server has read and checked before it is sent.
    pub checked: bool,
    /// Bytes of output and error that are not lost: they were printed, sent to be, or are held here.
    pub told: [u64; 2],
}

/// Declares the new life and finds the newest image for it.
pub async fn fetch(
    start: Start,
    source: Source,
    local: Option<Arc<Local>>,
    files: Files,
    events: mpsc::UnboundedSender<AgentEvent>,
) {
    let mut unusable = Vec::new();
    let mut outcome = find(&start, &source, local, &mut unusable).await;
    if let Ok(found) = &outcome {
        let image = found.as_ref().map_or(ImageNo(0), |stream| stream.facts.image);
        let given_up = match source.traits.gives_up_newer_images() {
            true => give_up(&start, &source, image).await,
            false => Ok(()),
        };
        if let Err(why) = match given_up {
            Ok(()) => files.take_back(image).await,
            Err(why) => Err(why),
        } {
            outcome = Err(why);
        }
    }
    let _ = events.send(AgentEvent::RestoreReady(Box::new(Restore { start, unusable, outcome })));
}

/// Where there are no images: only files are to return.
pub async fn begin_anew(start: Start, files: Files, events: mpsc::UnboundedSender<AgentEvent>) {
    let outcome = files.take_back(ImageNo(0)).await.map(|()| None);
    let restore = Restore { start, unusable: Vec::new(), outcome };
    let _ = events.send(AgentEvent::RestoreReady(Box::new(restore)));
}

/// Images after this one are of a state that is given up: whoever continues the job some day must not take them
/// for a wave, while files and other ranks have gone on from this one.
async fn give_up(start: &Start, source: &Source, image: ImageNo) -> Result<(), String> {
    let since = Instant::now();
    loop {
        let mut server =
            connect(start.rank, &source.key, &source.directory, RESTART_PATIENCE).await?;
        match server.return_to(start.rank, start.incarnation, image).await {
            Ok(()) => return Ok(()),
            Err(error) if since.elapsed() > RESTART_PATIENCE => return Err(error.to_string()),
            Err(_) => tokio::time::sleep(RETRY).await,
        }
    }
}

async fn find(
    start: &Start,
    source: &Source,
    mut local: Option<Arc<Local>>,
    unusable: &mut Vec<(ImageNo, String)>,
) -> Result<Option<Stream>, String> {
    let since = Instant::now();
    let Source { key, secret, directory, traits, checked, .. } = source;
    let in_waves = traits.in_waves();
    let mut candidates = start.images.clone();
    let (mut asked_for_others, mut near) = (in_waves || start.no_newer, !checked);
    loop {
        let mut server = connect(start.rank, key, directory, RESTART_PATIENCE).await?;
        let mut declared = server.declare(start.rank, start.incarnation).await;
        if declared.is_ok() && start.no_newer {
            let newest = start.images.first().map_or(ImageNo(0), |newest| newest.image);
            declared = server.return_to(start.rank, start.incarnation, newest).await;
        }
        let attempt = match (declared, candidates.first()) {
            (Err(e), _) => Err(e),
            (Ok(()), None) if start.or_beginning => return Ok(None),
            (Ok(()), None) if unusable.is_empty() => {
                return Err("no image of it is left (of its cluster, if images are taken in waves), and the \
                            logs no longer reach back to the start of the program"
                    .to_owned());
            }
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
        // Declared by now, so that nothing of the old life is stored any more.
        if let (Ok(newest), Some(local)) = (&attempt, local.take())
            && let Some(stream) = stream_copy(local, secret.clone(), start, *newest).await
        {
            return Ok(Some(stream));
        }
        let problem = match attempt {
            Ok(newest) => {
                match stream(server, secret.clone(), start.rank, &candidates, (newest, near)).await
                {
                    Ok(Found::Image(stream)) => {
                        for skipped in candidates.iter().filter(|c| c.image > stream.facts.image) {
                            unusable.push((skipped.image, "the server found it damaged".into()));
                        }
                        return Ok(Some(stream));
                    }
                    Ok(Found::Nothing) => {
                        for skipped in candidates.drain(..) {
                            unusable.push((
                                skipped.image,
                                "the server does not have it any more".into(),
                            ));
                        }
                        continue;
                    }
                    // Images that were committed when their rank was dying may be unknown to the launcher, and
                    // have taken the places of those that it knows.
                    Err(Problem::Final(why)) if !asked_for_others => {
                        asked_for_others = true;
                        let newer = newer_images(start.rank, newest, source).await;
                        if newer.is_empty() {
                            why
                        } else {
                            candidates.splice(0..0, newer);
                            continue;
                        }
                    }
                    // The server has looked at all that it has: asking again gives the same answer.
                    Err(Problem::Final(why)) if start.or_beginning => {
                        unusable.extend(candidates.iter().map(|image| (image.image, why.clone())));
                        return Ok(None);
                    }
                    Err(Problem::Final(why)) => {
                        // Of a wave: its cluster may have another one.
                        if in_waves {
                            unusable
                                .extend(candidates.iter().map(|image| (image.image, why.clone())));
                        }
                        return Err(why);
                    }
                    // The server looks for itself, and offers what is good.
                    Err(Problem::Near) => {
                        near = false;
                        continue;
                    }
                    Err(Problem::Passing(why)) => why,
                }
            }
            Err(e) => e.to_string(),
        };
        if since.elapsed() > RESTART_PATIENCE {
            return Err(format!("its images cannot be fetched: {problem}"));
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// What the server offers besides, newest first: those before which no text is lost, or else all of them. (The
/// text of a host that died died with it, unless it had been sent.)
async fn newer_images(rank: Rank, than: ImageNo, source: &Source) -> Vec<Image> {
    let server = connect(rank, &source.key, &source.directory, CAPTURE_PATIENCE).await;
    let Ok(mut server) = server else { return Vec::new() };
    let Ok(shelf) = server.list(rank).await else { return Vec::new() };
    let newer = shelf.images.iter().rev().filter(|stored| stored.image > than);
    let facts = newer.map(|stored| {
        let Counts { written, consumed } = stored.counts;
        Image { image: stored.image, bytes: stored.bytes, written, consumed }
    });
    let all: Vec<Image> = facts.collect();
    let good: Vec<Image> =
        all.iter().filter(|image| ahead(image.written, source.told) == 0).copied().collect();
    if good.is_empty() { all } else { good }
}

/// How many bytes of output a program had written that nobody can print any more.
pub fn ahead(written: [u64; 2], told: [u64; 2]) -> u64 {
    written.iter().zip(told).map(|(written, told)| written.saturating_sub(told)).sum()
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
    /// The file that it named is no good.
    Near,
}

/// Begins to stream the copy on this host, if there is a good one.
async fn stream_copy(
    local: Arc<Local>,
    secret: Option<Secret>,
    start: &Start,
    image: ImageNo,
) -> Option<Stream> {
    let facts = *start.images.iter().find(|offered| offered.image == image)?;
    let rank = start.rank;
    let found = tokio::task::spawn_blocking(move || local.find(rank, image)).await;
    let mut copy = found.ok().flatten()?;
    let (pipe, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).ok()?;
    let _ = rustix::pipe::fcntl_setpipe_size(&write, PIPE_BYTES);
    let (named, _) = oneshot::channel();
    tokio::task::spawn_blocking(move || {
        // What is missing the new process notices, as with the server's.
        let source = |piece: &mut Vec<u8>| matches!(copy.read(piece), Ok(true));
        unpack(source, secret, File::from(write), named);
    });
    Some(Stream { pipe, facts })
}

/// Begins to stream the newest image up to `newest`; returns when its name is known.
async fn stream(
    mut server: ImageStore,
    secret: Option<Secret>,
    rank: Rank,
    candidates: &[Image],
    (newest, near): (ImageNo, bool),
) -> Result<Found, Problem> {
    let (pieces, mut queue) = mpsc::channel(PIECES);
    let mut fetching =
        tokio::spawn(async move { server.get_pieces(rank, newest, near, pieces).await });
    let pipe = || rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC);
    let (read, write) = pipe().map_err(|e| Problem::Passing(format!("no pipe: {e}")))?;
    let _ = rustix::pipe::fcntl_setpipe_size(&write, PIPE_BYTES);
    let (named, name) = oneshot::channel();
    let first = tokio::select! {
        biased;
        Some(first) = queue.recv() => Some(first),
        // Before the first byte: where it lies, or why there is none.
        answer = &mut fetching => match answer {
            Ok(Ok(Some(Fetched::SameHost(mut file)))) => {
                tokio::task::spawn_blocking(move || {
                    let write = File::from(write);
                    if secret.is_none() {
                        return pour(&mut file, write, named);
                    }
                    let source = |piece: &mut Vec<u8>| matches!(file.read(piece), Ok(true));
                    unpack(source, secret, write, named);
                });
                let found = named_image(name.await, rank, candidates, read);
                return found.map_err(|_| Problem::Near);
            }
            Ok(Ok(None)) => return Ok(Found::Nothing),
            Ok(Ok(Some(Fetched::Sent(_)))) => queue.recv().await,
            Ok(Err(e @ ClientError::Refused { .. })) => return Err(Problem::Final(e.to_string())),
            Ok(Err(e)) => return Err(Problem::Passing(e.to_string())),
            Err(e) => return Err(Problem::Passing(e.to_string())),
        },
    };
    let Some(mut next) = first else {
        return Err(Problem::Passing("the server sent an empty image".into()));
    };
    tokio::task::spawn_blocking(move || {
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
        unpack(source, secret, File::from(write), named);
    });
    named_image(name.await, rank, candidates, read)
}

fn named_image(
    name: Result<Result<ImageId, String>, oneshot::error::RecvError>,
    rank: Rank,
    candidates: &[Image],
    pipe: OwnedFd,
) -> Result<Found, Problem> {
    match name {
        Ok(Ok(id)) if id.rank == rank => {
            match candidates.iter().find(|offered| offered.image == id.image) {
                Some(facts) => Ok(Found::Image(Stream { pipe, facts: *facts })),
                None => Ok(Found::Nothing),
            }
        }
        Ok(Ok(id)) => Err(Problem::Final(format!("the server sent an image of rank {}", id.rank))),
        Ok(Err(why)) => Err(Problem::Passing(why)),
        Err(_) => Err(Problem::Passing("the image broke off at its begin".into())),
    }
}

/// Container in (`source` appends its next bytes; false: that was all), raw stream out. A damaged or
/// short container ends the raw stream early, which the boot library notices
/// ([`ftmpi_checkpoint::boot_abi::EXIT_IMAGE_DAMAGED`]).
fn unpack(
    mut source: impl FnMut(&mut Vec<u8>) -> bool,
    secret: Option<Secret>,
    mut pipe: File,
    named: oneshot::Sender<Result<ImageId, String>>,
) {
    let mut named = Some(named);
    let mut decoder = Decoder::with_secret(secret);
    let (mut piece, mut raw) = (Vec::new(), Vec::new());
    while source(&mut piece) {
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
        piece.clear();
        raw.clear();
    }
}

/// As [`unpack`], of a file that can be read here: one thread reads and checks, one writes.
fn pour(file: &mut ImageReader, mut pipe: File, named: oneshot::Sender<Result<ImageId, String>>) {
    let mut named = Some(named);
    let (full, ready) = std::sync::mpsc::sync_channel::<Vec<u8>>(2);
    let (empty, again) = std::sync::mpsc::channel::<Vec<u8>>();
    std::thread::scope(move |scope| {
        // Ends with this side, so that the writer ends, too.
        let full = full;
        scope.spawn(move || {
            for mut raw in ready {
                if pipe.write_all(&raw).is_err() {
                    return;
                }
                raw.clear();
                let _ = empty.send(raw);
            }
        });
        loop {
            let mut raw = again.try_recv().unwrap_or_default();
            let more = file.read_raw(&mut raw);
            if let Some(named) = named.take() {
                let id = file.id().ok_or("it has no begin");
                let _ = named.send(match &more {
                    Ok(_) => id.map_err(str::to_owned),
                    Err(why) => Err(why.clone()),
                });
            }
            // What is missing the new process notices.
            if !matches!(more, Ok(true)) || full.send(raw).is_err() {
                return;
            }
        }
    });
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

#[cfg(test)]
#[path = "restore_tests.rs"]
mod tests;
