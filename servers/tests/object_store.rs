//! The checkpoint server with an object store (a directory): its disk is lost, and images come
//! back.

#![cfg(feature = "object-store")]

mod common;

use common::{Server, WITHIN, block_on};
use ftmpi_checkpoint::container::{ChunkIndex, Compression, Encoder};
use ftmpi_servers::client::{ClientError, Committed, ImageStore, status};
use ftmpi_servers::image_note;
use ftmpi_transport::auth::JobKey;
use ftmpi_wire::image_store::Note;
use ftmpi_wire::{ImageId, ImageNo, Incarnation, Rank};
use std::path::Path;
use std::time::{Duration, Instant};

const SERVER: &str = env!("CARGO_BIN_EXE_ftmpi-checkpoint-server");
const R: Rank = Rank(2);
const NEWEST: ImageNo = ImageNo(u64::MAX);

/// An image whose bases are the chunks in `known`.
fn container(image: u64, known: &mut ChunkIndex) -> Vec<u8> {
    let id = ImageId { rank: R, incarnation: Incarnation(1), image: ImageNo(image) };
    let mut out = Vec::new();
    let mut encoder = Encoder::incremental(id, Compression::Lz4, std::mem::take(known));
    for piece in 0..6_u64 {
        let changed = if piece == image % 6 { image } else { 0 };
        let bytes: Vec<u8> =
            (0..40_000_u64).map(|n| (n * n + piece * 7 + changed * 3) as u8).collect();
        encoder.push(&bytes, &mut out);
        encoder.cut(&mut out);
    }
    let bases = encoder.bases().iter().map(|base| (base.incarnation, base.image)).collect();
    let about = Note { bases, ..Note::default() };
    let (_, after) = encoder.finish_with(&image_note::encode(&about), &mut out);
    *known = after;
    out
}

async fn connect(server: &Server) -> ImageStore {
    ImageStore::connect(server.address, &server.key, WITHIN).await.unwrap()
}

async fn put(store: &mut ImageStore, image: u64, bytes: &[u8]) -> Committed {
    store.put(R, Incarnation(1), ImageNo(image), bytes).await.unwrap()
}

/// Waits until the server says that this image is in the object store.
async fn flushed(server: &Server, image: u64) {
    let since = Instant::now();
    loop {
        let state = status(server.address, &server.key, WITHIN).await.unwrap();
        if state["ranks"][0]["newest_in_object_store"] == image {
            return;
        }
        assert!(since.elapsed() < Duration::from_secs(30), "{state:#}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn wipe(dir: &Path) {
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        std::fs::remove_file(entry.path()).unwrap();
    }
}

#[test]
fn a_lost_disk_costs_nothing_that_was_flushed() {
    let (dir, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let address = format!("file://{}/job/server", store.path().display());
    let options = ["--object-store", &address];
    let key = JobKey::generate();
    let server = Server::start(SERVER, dir.path(), &key, &options);
    let mut rows = [ChunkIndex::default(), ChunkIndex::default()];
    block_on(async {
        let mut images = connect(&server).await;
        images.declare(R, Incarnation(1)).await.unwrap();
        for image in 1..=7 {
            let bytes = container(image, &mut rows[image as usize % 2]);
            let committed = put(&mut images, image, &bytes).await;
            // Logs reach back to what was in the object store before.
            let oldest = u64::saturating_sub(image, 2);
            assert_eq!(committed.oldest, ImageNo(oldest), "after image {image}");
            flushed(&server, image).await;
        }
    });
    server.kill();
    wipe(dir.path());
    let server = Server::start(SERVER, dir.path(), &key, &options);
    block_on(async {
        let mut images = connect(&server).await;
        let shelf = images.list(R).await.unwrap();
        let numbers: Vec<_> = shelf.images.iter().map(|stored| stored.image.0).collect();
        assert!(numbers.ends_with(&[6, 7]), "{numbers:?}");
        assert!(!shelf.start_offered);
        assert_eq!(shelf.incarnation, Incarnation(1));
        for wanted in [7, 6] {
            let mut bytes = Vec::new();
            let stored = images.get(R, ImageNo(wanted), &mut bytes).await.unwrap().unwrap();
            assert_eq!(stored.image, ImageNo(wanted));
        }
        // A dead incarnation is still dead.
        let late = images.put(R, Incarnation(0), ImageNo(9), &[][..]).await;
        assert!(matches!(late, Err(ClientError::Refused { .. })), "{late:?}");
        // The server continues as before.
        let committed = put(&mut images, 8, &container(8, &mut rows[0])).await;
        assert!(committed.oldest >= ImageNo(6), "{committed:?}");
        flushed(&server, 8).await;
    });
    let said = server.end();
    assert!(said.contains("were not here and came from"), "{said}");
    // A damaged object is passed over, and the one before serves.
    wipe(dir.path());
    let folder = store.path().join("job/server");
    let mut names: Vec<_> =
        std::fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.path()).collect();
    names.retain(|path| path.extension().is_some_and(|e| e == "image"));
    names.sort();
    let newest = names.last().unwrap();
    let mut bytes = std::fs::read(newest).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(newest, bytes).unwrap();
    let server = Server::start(SERVER, dir.path(), &key, &options);
    block_on(async {
        let mut bytes = Vec::new();
        let stored = connect(&server).await.get(R, NEWEST, &mut bytes).await.unwrap().unwrap();
        assert_eq!(stored.image, ImageNo(7));
    });
    assert!(server.end().contains("cannot be used"));
    // The job has ended.
    let forget = std::process::Command::new(SERVER)
        .arg("--dir")
        .arg(dir.path())
        .args(options)
        .arg("--forget")
        .status()
        .unwrap();
    assert!(forget.success());
    assert!(!folder.exists() && !store.path().join("job").exists());
}

#[test]
fn a_store_that_is_not_there_is_one_line_and_no_secret_is_taken() {
    let dir = tempfile::tempdir().unwrap();
    for (address, wanted) in [
        ("ftp://x/y", "s3://BUCKET/PREFIX"),
        ("s3://key:secret@bucket/x", "environment"),
        ("file:///proc/nowhere/x", "/proc/nowhere"),
    ] {
        let output = std::process::Command::new(SERVER)
            .arg("--dir")
            .arg(dir.path())
            .args(["--object-store", address])
            .env("FTMPI_KEY", JobKey::generate().to_hex())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(wanted), "{address}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}
