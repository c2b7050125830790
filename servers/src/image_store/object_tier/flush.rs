//! Uploads to the object tier, in the background.
//!
//! Guarantees: the wishes of the catalogue about a rank are carried out in their order. An image is
//! reported as flushed only when the image, its bases and the record are durable in the object
//! store. A container that was removed from the disk is removed from the object store after the
//! catalogue's earlier wishes. If that fails, it stays until the job ends. A server that is asked
//! to end stops between two uploads, if the running one is short. An upload whose sender dies may
//! arrive after everything was removed.

use super::error::ObjectStoreError;
use super::{Listing, ObjectTier};
use crate::image_store::server::{NAME, Server};
use crate::server_process::log_line;
use crate::tuning::object_tier::{BACKOFF_FIRST, BACKOFF_MAX, UNREACHABLE_PAUSE, UPLOADS};
use ftmpi_protocols::image_catalogue::{ConnId, Event, Output, Record};
use ftmpi_wire::{ImageId, Rank};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::{RwLock, mpsc, watch};
use tokio::task::block_in_place;

/// One wish of the catalogue.
#[derive(Debug)]
pub(in crate::image_store) enum Work {
    Flush(ImageId, Record),
    StoreRecord(Rank, Record),
    Remove(ImageId),
}

impl Work {
    fn rank(&self) -> Rank {
        match self {
            Self::Flush(name, _) | Self::Remove(name) => name.rank,
            Self::StoreRecord(rank, _) => *rank,
        }
    }
}

/// The uploads of one server.
#[derive(Debug)]
pub(in crate::image_store) struct Flusher {
    pub object_tier: ObjectTier,
    queues: Vec<mpsc::UnboundedSender<Work>>,
    /// Containers that the object store has.
    there: Mutex<BTreeSet<ImageId>>,
    pub flushed: AtomicU64,
    pub bytes: AtomicU64,
    pub failures: AtomicU64,
    /// Changes when an upload has ended.
    pub news: watch::Sender<()>,
    /// Held by the connection that downloads an image of a rank.
    repair_locks: [tokio::sync::Mutex<()>; 8],
    /// Images that could not be downloaded when they were needed, and stay; and when the store last
    /// failed.
    unreachable_images: Mutex<(BTreeSet<ImageId>, Option<Instant>)>,
    /// Held during an upload. True: no upload begins any more.
    at_work: RwLock<bool>,
}

/// The receiving ends of the queues, for [`Flusher::run`].
pub(in crate::image_store) type Queues = Vec<mpsc::UnboundedReceiver<Work>>;

impl Flusher {
    pub fn new(object_tier: ObjectTier, listing: &Listing) -> (Self, Queues) {
        let (queues, ends) = (0..UPLOADS).map(|_| mpsc::unbounded_channel()).unzip();
        let flusher = Self {
            object_tier,
            queues,
            there: Mutex::new(listing.containers.clone()),
            flushed: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            news: watch::Sender::new(()),
            repair_locks: Default::default(),
            unreachable_images: Mutex::default(),
            at_work: RwLock::new(false),
        };
        (flusher, ends)
    }

    /// Takes an output that concerns the object tier. Other outputs come back.
    pub fn take(&self, output: Output) -> Option<Output> {
        let work = match output {
            Output::Flush(name, record) => Work::Flush(name, record),
            Output::Mirror(rank, record) => Work::StoreRecord(rank, record),
            other => return Some(other),
        };
        self.queue(work);
        None
    }

    /// These containers were removed from the disk.
    pub fn remove(&self, removed: Vec<ImageId>) {
        for name in removed {
            self.queue(Work::Remove(name));
        }
    }

    fn queue(&self, work: Work) {
        // Sending fails only when the server ends.
        let _ = self.queues[work.rank().index() % UPLOADS].send(work);
    }

    fn stored(&self) -> std::sync::MutexGuard<'_, BTreeSet<ImageId>> {
        self.there.lock().expect("no panic while it is locked")
    }

    /// Those of these images that the object store has with all their bases.
    pub fn whole(&self, server: &Server, names: &[ImageId]) -> Vec<ImageId> {
        let whole = |name: &&ImageId| self.has_all(&server.disk.chain(**name));
        names.iter().filter(whole).copied().collect()
    }

    /// Waits until no other connection downloads images of this rank.
    pub async fn lock_rank(&self, rank: Rank) -> tokio::sync::MutexGuard<'_, ()> {
        self.repair_locks[rank.index() % self.repair_locks.len()].lock().await
    }

    fn unreachable_images(
        &self,
    ) -> std::sync::MutexGuard<'_, (BTreeSet<ImageId>, Option<Instant>)> {
        self.unreachable_images.lock().expect("no panic while it is locked")
    }

    fn take_kept(&self, name: ImageId) -> bool {
        self.unreachable_images().0.remove(&name)
    }

    /// These images could not be downloaded for a reason that may pass. They stay in the object
    /// store when the disk sets them aside.
    pub fn keep_unreachable(&self, names: &[ImageId]) {
        self.unreachable_images().0.extend(names);
    }

    /// The object store does not answer.
    pub fn set_unreachable(&self) {
        self.unreachable_images().1 = Some(Instant::now());
    }

    /// Whether the object store did not answer a moment ago. Then nobody needs to wait for it.
    pub fn is_unreachable(&self) -> bool {
        self.unreachable_images().1.is_some_and(|at| at.elapsed() < UNREACHABLE_PAUSE)
    }

    /// Whether the object store has all these containers.
    pub fn has_all(&self, names: &[ImageId]) -> bool {
        let there = self.stored();
        names.iter().all(|name| there.contains(name))
    }

    /// Removes from the object store what the disk does not need.
    pub fn remove_unneeded(&self, server: &Server) {
        let strangers: Vec<ImageId> =
            self.stored().iter().copied().filter(|name| !server.disk.needs(*name)).collect();
        self.remove(strangers);
    }

    /// Lets no upload begin any more. Returns when the running one has ended, or after this time.
    pub async fn end(&self, patience: Duration) {
        if let Ok(mut ended) = tokio::time::timeout(patience, self.at_work.write()).await {
            *ended = true;
        }
    }

    /// Starts the uploads.
    pub fn run(server: &Arc<Server>, queues: Queues) {
        for queue in queues {
            tokio::spawn(work(server.clone(), queue));
        }
    }

    async fn flush(
        &self,
        server: &Server,
        name: ImageId,
        record: Record,
    ) -> Result<(), ObjectStoreError> {
        for container in server.disk.chain(name) {
            if self.stored().contains(&container) {
                continue;
            }
            let file = block_in_place(|| server.disk.container(container));
            let bytes = self.object_tier.put_container(container, file?).await?;
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
            self.stored().insert(container);
        }
        self.object_tier.put_record(name.rank, record).await
    }
}

async fn work(server: Arc<Server>, mut queue: mpsc::UnboundedReceiver<Work>) {
    let Some(flusher) = &server.flusher else { return };
    let mut backoff = BACKOFF_FIRST;
    while let Some(work) = queue.recv().await {
        let ended = flusher.at_work.read().await;
        if *ended {
            return;
        }
        match work {
            Work::Flush(name, record) => {
                let outcome = flusher.flush(&server, name, record).await;
                drop(ended);
                if outcome.is_ok() {
                    backoff = BACKOFF_FIRST;
                    flusher.flushed.fetch_add(1, Ordering::Relaxed);
                } else {
                    flusher.failures.fetch_add(1, Ordering::Relaxed);
                    if server.is_offered(name) {
                        tokio::time::sleep(backoff).await;
                        backoff = (backoff * 2).min(BACKOFF_MAX);
                    }
                }
                // Connections of clients are numbered from 1.
                let conn = ConnId(u64::MAX - u64::from(name.rank.0));
                block_in_place(|| {
                    for output in server
                        .decide(conn, Event::Flushed(name, outcome.map_err(|e| e.to_string())))
                    {
                        if let Output::Remove(old) = output {
                            server.disk.remove(old);
                        }
                    }
                    server.forget_removed();
                });
                flusher.news.send_replace(());
            }
            Work::StoreRecord(rank, record) => {
                if let Err(why) = flusher.object_tier.put_record(rank, record).await {
                    flusher.failures.fetch_add(1, Ordering::Relaxed);
                    log_line(
                        NAME,
                        format!("the record of rank {rank} is not in the object store: {why}"),
                    );
                }
            }
            Work::Remove(name) => {
                if server.disk.needs(name)
                    || !flusher.stored().contains(&name)
                    || flusher.take_kept(name)
                {
                    continue;
                }
                match flusher.object_tier.remove_container(name).await {
                    Ok(()) => {
                        flusher.stored().remove(&name);
                    }
                    Err(_) => {
                        flusher.failures.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
        }
    }
}
