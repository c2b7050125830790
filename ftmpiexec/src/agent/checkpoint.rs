//! Images on their way from a rank's copy-on-write child to the checkpoint server. The way back is
//! in [`super::restore`].
//!
//! Guarantees: an image is committed only if its raw stream was whole, and only after every event
//! that had been written when the image was taken is durable. Everything that the image depends on,
//! own events or those of other ranks, was written before (`servers::event_store`). The counts of
//! the output are part of the image. Compression runs outside of the agent's thread, with bounded
//! memory. A server that is being restarted is waited for. For a server on this host, the agent
//! writes the server's file itself ([`SameHostWriter`]).

use super::Agent;
use super::directory::Directory;
use super::errors::CheckpointError;
use super::events::AgentEvent;
use super::image_cost::{KernelTime, Sharing};
use super::image_packing::{PackJob, pack, workers};
use super::image_results::{Packed, StoredImage};
use crate::agent_protocol::Report;
use crate::tuning::{
    CAPTURE_PATIENCE, CONNECT_LIMIT, DURABLE_LIMIT, IMAGE_PARTS, IMAGE_PIECE_BYTES,
    IMAGE_PIPE_BYTES, SERVER_RETRY,
};
use bytes::Bytes;
use ftmpi_checkpoint::container::Compression;
use ftmpi_protocols::dispatcher::ImageFacts;
use ftmpi_servers::client::{self, Committed, ImageStore};
use ftmpi_servers::image_store::{Part, SameHostWriter, WriteProgress};
use ftmpi_transport::auth::JobKey;
use ftmpi_wire::control::ToRank;
use ftmpi_wire::image_store::Counts;
use ftmpi_wire::{ImageId, ImageNo, Incarnation, Rank};
use std::fmt::Display;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot, watch};

/// An image that a rank was asked for.
#[derive(Debug)]
pub struct TakingImage {
    image: ImageNo,
    asked: Instant,
    /// The chain that the image belongs to.
    chain: usize,
    /// Passes what the rank reports of the image to the transfer, which writes it into the image.
    begun: Option<oneshot::Sender<Begun>>,
}

/// What the rank reported when the image was taken.
#[derive(Debug, Clone)]
pub struct Begun {
    /// The image's number.
    pub image: ImageNo,
    /// Where the program's streams stood.
    pub counts: Counts,
    /// How long the rank stood still.
    pub pause_ns: u64,
    /// What its process had spent in the kernel by then.
    pub kernel_time: Option<KernelTime>,
}

fn server_error(e: impl Display) -> CheckpointError {
    CheckpointError::Server(e.to_string())
}

impl Agent {
    /// Asks a rank for an image and begins the transfer.
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
        let compression = Compression::of_level(self.job.as_ref().map_or(1, |job| job.compress));
        let sharing =
            Sharing { ranks: self.ranks.count(), processors: self.hardware.processors as usize };
        let secret = self.images.secret.clone();
        let Some(process) = self.ranks.get_mut(rank, incarnation) else { return };
        let (ours, theirs) = match rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC) {
            Ok(pipe) => pipe,
            Err(e) => {
                let report = Report::ImageFailed { image, why: format!("no pipe: {e}") };
                return self.link.report(rank, incarnation, report);
            }
        };
        let _ = rustix::pipe::fcntl_setpipe_size(&ours, IMAGE_PIPE_BYTES);
        let (sender, begun) = oneshot::channel();
        let (chain, known) = process.chains.next(keep);
        let asked = Instant::now();
        process.image = Some(TakingImage { image, asked, chain, begun: Some(sender) });
        process.send(&ToRank::TakeImage { image }, vec![theirs], true);
        let id = ImageId { rank, incarnation, image };
        let program = process.program();
        let copy = self.images.local.as_ref().map(|local| local.begin(id));
        let job = PackJob {
            begun,
            host,
            program,
            known,
            copy,
            compression,
            workers: workers(sharing),
            shrinks: process.images_shrink,
            secret,
            process: (process.pid(), process.kernel_time),
            sharing,
        };
        let turns = self.images.turns.clone();
        tokio::spawn(async move {
            let turn = turns.acquire_owned().await.ok();
            let outcome = store(id, keep, ours, job, turn, (&key, &server)).await;
            let done = Box::new(StoredImage { image, outcome });
            let _ = events.send(AgentEvent::ImageDone { rank, incarnation, done });
        });
    }

    /// A rank reports that its image is being written.
    pub(super) fn image_begun(&mut self, rank: Rank, incarnation: Incarnation, begun: Begun) {
        if let Some(process) = self.ranks.get_mut(rank, incarnation)
            && let Some(taking) =
                process.image.as_mut().filter(|taking| taking.image == begun.image)
            && let Some(sender) = taking.begun.take()
        {
            let _ = sender.send(begun);
        }
    }

    /// A rank could not take the image that it was asked for.
    pub(super) fn image_refused(
        &mut self,
        rank: Rank,
        incarnation: Incarnation,
        image: ImageNo,
        why: String,
    ) {
        if let Some(process) = self.ranks.get_mut(rank, incarnation)
            && process.image.take_if(|taking| taking.image == image).is_some()
        {
            self.link.report(rank, incarnation, Report::ImageFailed { image, why });
        }
    }

    /// The transfer of an image has ended.
    pub(super) fn image_done(&mut self, rank: Rank, incarnation: Incarnation, done: StoredImage) {
        let Some(process) = self.ranks.get_mut(rank, incarnation) else { return };
        let Some(taking) = process.image.take_if(|taking| taking.image == done.image) else {
            return;
        };
        let report = match done.outcome {
            Ok((committed, Packed { counts, known, shrinks, cost, kernel_time, .. })) => {
                process.kernel_time = kernel_time;
                process.images_shrink = shrinks;
                let Counts { written, consumed } = counts;
                process.chains.stored(taking.chain, done.image, known);
                let Committed { image, bytes, oldest } = committed;
                process.written_at_image.push((image, written));
                let image = ImageFacts { image, bytes, written, consumed };
                let took_ns = taking.asked.elapsed().as_nanos() as u64;
                let cost_ns = cost.as_nanos() as u64;
                Report::ImageCommitted { image, oldest, took_ns, cost_ns }
            }
            Err(e) => Report::ImageFailed { image: done.image, why: e.to_string() },
        };
        self.link.report(rank, incarnation, report);
        if self.images.local.as_ref().is_some_and(|local| local.lacks_room()) {
            let host = self.host_name();
            self.link.notice(format!(
                "not all images are kept on {host}: they would leave the program too little room \
                 (see --local-dir and --image-space); the servers have them"
            ));
        }
    }
}

/// Connects to the rank's checkpoint server, again and again until `patience` is over.
pub(super) async fn connect(
    rank: Rank,
    key: &JobKey,
    directory: &watch::Receiver<Directory>,
    patience: Duration,
) -> Result<ImageStore, CheckpointError> {
    let since = Instant::now();
    loop {
        let address = directory.borrow().checkpoint_servers.get(rank.index()).copied();
        let Some(address) = address else { return Err(CheckpointError::NoServer) };
        match ImageStore::connect(address, key, CONNECT_LIMIT).await {
            Ok(store) => return Ok(store),
            Err(e) if since.elapsed() > patience => return Err(server_error(e)),
            Err(_) => tokio::time::sleep(SERVER_RETRY).await,
        }
    }
}

/// Carries one image to the server.
async fn store(
    id: ImageId,
    keep: Option<[ImageNo; 2]>,
    pipe: OwnedFd,
    job: PackJob,
    turn: Option<OwnedSemaphorePermit>,
    (key, directory): (&JobKey, &watch::Receiver<Directory>),
) -> Result<(Committed, Packed), CheckpointError> {
    // Packing begins at once: the rank's child must not wait for the connection.
    let (parts, mut queue) = mpsc::channel(IMAGE_PARTS);
    let packing = tokio::task::spawn_blocking(move || pack(id, File::from(pipe), job, &parts));
    let mut server = connect(id.rank, key, directory, CAPTURE_PATIENCE).await?;
    if let Some(images) = keep {
        server.keep(id.rank, id.incarnation, images).await.map_err(server_error)?;
    }
    let (mut put, same_host) =
        server.begin_same_host(id.rank, id.incarnation, id.image).await.map_err(server_error)?;
    // From here on a failure tells the server that the image will not come.
    macro_rules! or_abandon {
        ($result:expr) => {
            match $result {
                Ok(value) => value,
                Err(e) => {
                    put.abandon().await.map_err(server_error)?;
                    return Err(e);
                }
            }
        };
    }
    let mut written = None;
    if let Some(writing) = same_host {
        let (sender, mut progress) = mpsc::channel(IMAGE_PARTS);
        let writing = tokio::task::spawn_blocking(move || write(writing, queue, &sender));
        while let Some(step) = progress.recv().await {
            put.written(step).await.map_err(server_error)?;
        }
        let writing = writing.await.unwrap_or_else(|e| Err(CheckpointError::Task(e.to_string())));
        written = Some(or_abandon!(writing));
    } else {
        while let Some(Part { piece, .. }) = queue.recv().await {
            let mut rest = Bytes::from_owner(piece);
            while !rest.is_empty() {
                let piece = rest.split_to(rest.len().min(IMAGE_PIECE_BYTES));
                put.data(piece).await.map_err(server_error)?;
            }
        }
    }
    let packed = packing.await.map_err(|e| CheckpointError::Task(e.to_string()))?;
    let mut packed = or_abandon!(packed);
    if let Some(writing) = written {
        let last = tokio::task::spawn_blocking(move || writing.finish()).await;
        let last = match last {
            Ok(last) => last.map_err(|e| CheckpointError::File(e.to_string())),
            Err(e) => Err(CheckpointError::Task(e.to_string())),
        };
        put.written(or_abandon!(last)).await.map_err(server_error)?;
    }
    // The rest needs no thread of this host.
    drop(turn);
    let mut loggers = directory.borrow().event_loggers.clone();
    loggers.sort_unstable();
    loggers.dedup();
    let durable = client::durable(&loggers, key, DURABLE_LIMIT).await;
    or_abandon!(durable.map_err(|e| CheckpointError::Events(e.to_string())));
    let committed = put.commit().await.map_err(server_error)?;
    if let Some(copy) = packed.copy.take() {
        let _ = tokio::task::spawn_blocking(move || copy.commit(keep)).await;
    }
    Ok((committed, packed))
}

/// Writes the parts to the file of a server on this host, and reports how far the file is.
fn write(
    mut writing: SameHostWriter,
    mut parts: mpsc::Receiver<Part>,
    progress: &mpsc::Sender<WriteProgress>,
) -> Result<SameHostWriter, CheckpointError> {
    while let Some(part) = parts.blocking_recv() {
        let step = writing.push(part).map_err(|e| CheckpointError::File(e.to_string()))?;
        if let Some(step) = step {
            progress.blocking_send(step).map_err(|_| CheckpointError::GivenUp)?;
        }
    }
    Ok(writing)
}
