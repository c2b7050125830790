//! The checkpoint server: moves images between connections, the catalogue and the files.
//!
//! Each connection has a task. What takes long (receiving, verifying, syncing, sending) runs
//! concurrently. Decisions of the catalogue and changes of file names happen one at a time, so the
//! catalogue and the disk always agree.
//!
//! With `--object-store` committed images are copied to the object tier as well: see
//! [`object_tier`].

mod base_refs;
mod disk;
mod error;
pub(crate) mod image_file;
mod object_tier;
mod record_file;
mod repair;
pub(crate) mod same_host_io;
mod server;
mod session;
mod turns;
mod upload;

use crate::files::Files;
use crate::private_directory::PrivateDir;
use crate::server_process;
use crate::tuning::connection::STATUS_LIMIT;
use crate::tuning::image_store::{
    FIRST_REACH_LIMIT, LATER_REACH_LIMIT, LOOK_AT_ROOM, REMOVE_ALL_LIMIT, SHUTDOWN_LIMIT,
};
use crate::{checksummed_file, metrics};
pub use disk::Disk;
pub use error::StoreError;
use ftmpi_options::servers::CheckpointServerArgs;
use ftmpi_protocols::image_catalogue::{ConnId, ImageCatalogue, Record};
use ftmpi_transport::auth::Authenticated;
use ftmpi_wire::ImageId;
use ftmpi_wire::hello::{Purpose, Welcome};
pub use image_file::{ImageReader, open_container, parse_image_name};
use object_tier::flush::Flusher;
use object_tier::{Listing, ObjectTier};
pub use same_host_io::{Part, SameHostWriter, WriteProgress, open_same_host};
use server::{NAME, Server};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
pub use upload::Upload;

/// The file that names the object store of this directory, once the store was reached.
const MARKER: &str = "object-store";
const MARKER_KIND: &str = "ftmpi-object-store";

/// Runs the server until it is asked to end.
///
/// # Errors
/// The server cannot start. The text says why.
pub fn run(args: CheckpointServerArgs) -> anyhow::Result<()> {
    server_process::raise_descriptor_limit();
    let threads = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
    let outcome = runtime.block_on(serve(args));
    // Images that are being received are not waited for.
    runtime.shutdown_timeout(Duration::from_millis(100));
    outcome
}

async fn serve(args: CheckpointServerArgs) -> anyhow::Result<()> {
    let ending = server_process::shutdown_requested(args.server.exit_with_parent);
    let object_tier = args.object_store.as_deref().map(ObjectTier::open).transpose()?;
    if let (Some(object_tier), true) = (&object_tier, args.forget) {
        let forgotten = tokio::time::timeout(REMOVE_ALL_LIMIT, object_tier.remove_all()).await;
        return match forgotten {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(why)) => Err(anyhow::anyhow!("not all is removed: {why}")),
            Err(_) => Err(anyhow::anyhow!("not all is removed: {} is slow", object_tier.address())),
        };
    }
    let files = Files::slowed_by(args.server.slow_disk);
    let server = begin(object_tier, &args.dir, args.max_bytes, args.waves_cut_logs, files).await?;
    let mut listener =
        server_process::listen(&args.server, server_process::begin(&args.server)?).await?;
    if let Some(address) = args.server.metrics {
        let (_, mut questions) = metrics::listen(address, &metrics::catalogue::CHECKPOINT_SERVER)?;
        let server = server.clone();
        tokio::spawn(async move {
            while let Some(question) = questions.recv().await {
                let _ = question.send(server.status());
            }
        });
    }
    if server.leaves_room {
        let server = server.clone();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(LOOK_AT_ROOM).await;
                tokio::task::block_in_place(|| server.look_at_room());
            }
        });
    }
    server_process::announce(&args.server, listener.local_addr()?)?;
    let accepting = async {
        let mut next_conn = 0;
        loop {
            let next = listener.next().await;
            server.rejected.store(listener.rejected(), Ordering::Relaxed);
            // Strangers are counted in the status, without a line each.
            let Ok(caller) = next else { continue };
            next_conn += 1;
            tokio::spawn(receive(server.clone(), ConnId(next_conn), caller));
        }
    };
    tokio::select! {
        why = ending => {
            let _ = why?;
            if let Some(flusher) = &server.flusher {
                flusher.end(SHUTDOWN_LIMIT).await;
            }
            Ok(())
        }
        () = accepting => unreachable!("it accepts for ever"),
    }
}

/// Finds what the disk and the object tier hold, and starts the uploads.
async fn begin(
    object_tier: Option<ObjectTier>,
    dir: &Path,
    max_bytes: Option<u64>,
    waves_cut_logs: bool,
    files: Files,
) -> anyhow::Result<Arc<Server>> {
    let mut catalogue = ImageCatalogue::new(max_bytes.unwrap_or(u64::MAX));
    let dir = PrivateDir::take(dir)?;
    let found = match &object_tier {
        Some(object_tier) => look(object_tier, &dir, &files).await?,
        None => None,
    };
    if object_tier.is_some() {
        catalogue = catalogue.with_object_tier();
    }
    if waves_cut_logs {
        catalogue = catalogue.with_waves_that_cut_logs();
    }
    let disk = Disk::open(dir, files.clone(), &mut catalogue, |line| {
        server_process::log_line(NAME, line)
    })?;
    let _ = disk.take_removed();
    let known = found.is_some();
    let listing = found.unwrap_or_default();
    let (flusher, queues) = match object_tier {
        Some(object_tier) => {
            let (flusher, queues) = Flusher::new(object_tier, &listing);
            (Some(flusher), Some(queues))
        }
        None => (None, None),
    };
    let server = Arc::new(Server {
        catalogue: Mutex::new(catalogue),
        turns: turns::Turns::of_this_machine(),
        disk,
        leaves_room: max_bytes.is_none(),
        flusher,
        started: Instant::now(),
        connections: AtomicU64::new(0),
        bytes_received: AtomicU64::new(0),
        bytes_sent: AtomicU64::new(0),
        rejected: AtomicU64::new(0),
    });
    if let Some(queues) = queues {
        join_object_tier(&server, known.then_some(&listing), &files).await?;
        Flusher::run(&server, queues);
    }
    Ok(server)
}

/// Lists the object tier and downloads what this directory lacks. `None`: the store does not
/// answer, and this directory does not need it.
async fn look(
    object_tier: &ObjectTier,
    dir: &PrivateDir,
    files: &Files,
) -> anyhow::Result<Option<Listing>> {
    let marker = dir.path().join(MARKER);
    let reached = match checksummed_file::read(&marker, MARKER_KIND, 1) {
        Ok(address) => {
            address == object_tier.address().as_bytes()
                && record_file::records_are_sound(dir.path())?
        }
        Err(_) => false,
    };
    let patience = if reached { LATER_REACH_LIMIT } else { FIRST_REACH_LIMIT };
    let listing = match object_tier::reach(object_tier, patience).await {
        Ok(listing) => listing,
        Err(error) if reached => {
            server_process::log_line(NAME, format!("{error:#}; going on with what is here"));
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let taken = object_tier::recover::recover(object_tier, &listing, dir.path(), files, |line| {
        server_process::log_line(NAME, line)
    })
    .await
    .map_err(anyhow::Error::msg)?;
    if taken.containers > 0 {
        server_process::log_line(
            NAME,
            format!(
                "{} images ({:.1} MB) were not here and came from {}",
                taken.containers,
                taken.bytes as f64 / 1e6,
                object_tier.address()
            ),
        );
    }
    Ok(Some(listing))
}

/// Tells the catalogue what the object tier holds, and stores in the object tier what the catalogue
/// relies on from now on.
async fn join_object_tier(
    server: &Arc<Server>,
    listing: Option<&Listing>,
    files: &Files,
) -> anyhow::Result<()> {
    let Some(flusher) = &server.flusher else { return Ok(()) };
    let (mut records, mut out) = (Vec::new(), Vec::new());
    {
        let mut catalogue = server.catalogue.lock().expect("no panic while it is locked");
        for state in catalogue.ranks().collect::<Vec<_>>() {
            let rank = state.rank;
            let name = |image, incarnation| ImageId { rank, image, incarnation };
            let names: Vec<ImageId> =
                state.images.iter().map(|stored| name(stored.image, stored.incarnation)).collect();
            let record = listing.map(|listing| listing.record(rank).unwrap_or_default());
            let whole = flusher.whole(server, &names);
            let flushed = whole.into_iter().map(|name| name.image);
            for old in catalogue.restore_object_tier(rank, record, flushed) {
                server.disk.remove(old);
            }
        }
        if listing.is_some() {
            records = catalogue.tier_records();
        }
        catalogue.flush_all(&mut out);
    }
    if let Some(listing) = listing {
        for (rank, record) in records {
            if listing.record(rank) != Some(record) && record != Record::default() {
                let stored = flusher.object_tier.put_record(rank, record).await;
                stored.map_err(anyhow::Error::msg)?;
            }
        }
        flusher.remove_unneeded(server);
        let marker = server.disk.path().join(MARKER);
        let address = flusher.object_tier.address().as_bytes();
        checksummed_file::write(files, &marker, MARKER_KIND, 1, address)?;
    }
    for output in out {
        let _ = flusher.take(output);
    }
    Ok(())
}

async fn receive(server: Arc<Server>, conn: ConnId, caller: Authenticated) {
    let Authenticated { mut stream, purpose, responder, .. } = caller;
    crate::socket_options::end_when_peer_vanishes(&stream);
    let welcome = match purpose {
        Purpose::Images | Purpose::Status => Welcome::Yes,
        _ => Welcome::No("this is a checkpoint server".into()),
    };
    let accepted = welcome == Welcome::Yes;
    if responder.answer(&mut stream, welcome).await.is_err() || !accepted {
        return;
    }
    if purpose == Purpose::Status {
        let state = server.status().to_string();
        let telling = async {
            let _ = stream.write_all(state.as_bytes()).await;
            let _ = stream.shutdown().await;
        };
        let _ = tokio::time::timeout(STATUS_LIMIT, telling).await;
        return;
    }
    server.connections.fetch_add(1, Ordering::Relaxed);
    session::run(&server, conn, stream).await;
    server.connections.fetch_sub(1, Ordering::Relaxed);
}

#[cfg(all(test, feature = "object-store"))]
mod repair_tests;
