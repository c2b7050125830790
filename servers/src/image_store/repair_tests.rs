//! Images that the disk loses, or damages, while the server runs.

use super::object_tier::ObjectTier;
use super::object_tier::fault_tests::{Faulty, Truth, connect, container, directory};
use super::{Server, begin};
use crate::files::Files;
use ftmpi_checkpoint::container::ChunkIndex;
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const R: Rank = Rank(3);

/// What happens to a file.
fn spoil(path: &Path, how: usize) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    match how {
        0 => return fs::remove_file(path).unwrap(),
        1 => bytes[middle] ^= 4,
        2 => bytes.truncate(middle),
        _ => bytes.clear(),
    }
    fs::write(path, bytes).unwrap();
}

fn files(dir: &Path, suffix: &str) -> Vec<PathBuf> {
    let all = fs::read_dir(dir).unwrap().flatten().map(|entry| entry.path());
    all.filter(|path| path.to_str().unwrap().ends_with(suffix)).collect()
}

/// Stores this number of images, or, without a number, stores until an image has a base that is no
/// longer offered. All images are in the object tier then. Returns the number of the last one.
async fn stored(store: &Faulty, dir: &Path, last: Option<u64>) -> (Arc<Server>, Truth, ImageNo) {
    let object_tier = ObjectTier::over(Arc::new(store.clone()));
    let server = begin(Some(object_tier), dir, None, false, Files::default()).await.unwrap();
    let (mut images, mut truth) = (connect(&server, 1).await, Truth::new(false));
    let mut known = ChunkIndex::default();
    let mut image = 0;
    while last.map_or(files(dir, ".ground").is_empty(), |last| image < last) {
        image += 1;
        assert!(image < 20, "nothing rests on what is gone");
        let bytes = container(image, false, &mut known);
        truth.begins(image, false);
        let put = images.put(R, Incarnation(0), ImageNo(image), bytes.as_slice()).await.unwrap();
        truth.committed(image, put.oldest.0);
        while !server
            .catalogue
            .lock()
            .unwrap()
            .ranks()
            .any(|state| state.newest_in_object_store == Some(ImageNo(image)))
        {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // Older images are gone, or kept as bases.
        while files(dir, ".image").len() > 2 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    (server, truth, ImageNo(image))
}

fn run(test: impl Future<Output = ()>) {
    let mut threads = tokio::runtime::Builder::new_multi_thread();
    let threads = threads.worker_threads(2).enable_all().build().unwrap();
    let ended =
        threads.block_on(async { tokio::time::timeout(Duration::from_secs(60), test).await });
    ended.expect("it waits for something that does not come");
    threads.shutdown_timeout(Duration::from_secs(10));
}

/// The images that a rank is given, newest first.
async fn offered(server: &Arc<Server>, truth: &Truth, about: &str) -> Vec<ImageNo> {
    static CALLERS: AtomicU64 = AtomicU64::new(2);
    let mut images = connect(server, CALLERS.fetch_add(1, Ordering::Relaxed)).await;
    assert!(truth.judge(&mut images, about).await, "{about}: nothing was offered");
    let mut found = Vec::new();
    let mut next = ImageNo(u64::MAX);
    while let Ok(Some(stored)) = images.get(R, next, tokio::io::sink()).await {
        found.push(stored.image);
        next = ImageNo(stored.image.0 - 1);
    }
    found
}

#[test]
fn what_the_disk_loses_comes_from_the_object_tier() {
    for how in 0..4 {
        for which in [".image", ".ground", ""] {
            run(async {
                let (store, dir) = (Faulty::good(), directory());
                let (server, truth, last) = stored(&store, dir.path(), None).await;
                let about = format!("way {how}, files *{which}");
                for path in files(dir.path(), which) {
                    if path.extension().is_some_and(|e| e == "image" || e == "ground") {
                        spoil(&path, how);
                    }
                }
                let both = [last, ImageNo(last.0 - 1)];
                assert_eq!(offered(&server, &truth, &about).await, both, "{about}");
                assert!(files(dir.path(), ".damaged").is_empty(), "{about}");
                assert!(files(dir.path(), ".part").is_empty(), "{about}");
                // The repair lasts, and the object tier still has the image.
                drop(server);
                fs::remove_dir_all(dir.path()).unwrap();
                fs::create_dir(dir.path()).unwrap();
                let object_tier = ObjectTier::over(Arc::new(store.clone()));
                let server =
                    begin(Some(object_tier), dir.path(), None, false, Files::default()).await;
                let found = offered(&server.unwrap(), &truth, &about).await;
                assert_eq!(found, both, "{about}");
            });
        }
    }
}

#[test]
fn older_images_serve_if_the_object_tier_does_not_answer() {
    for (suffix, how) in
        [(".image", 0), (".image", 1), (".image", 2), (".ground", 0), (".ground", 3)]
    {
        let (store, dir) = (Faulty::good(), directory());
        let (mut truth, mut last) = (Truth::new(false), ImageNo(0));
        let about = format!("way {how}, files *{suffix}");
        run(async {
            let server;
            (server, truth, last) = stored(&store, dir.path(), None).await;
            // The newest image, or a base of the older one.
            let newest =
                |path: &&PathBuf| path.to_str().unwrap().contains(&format!("i{:020}", last.0));
            let all = files(dir.path(), suffix);
            spoil(all.iter().find(newest).unwrap_or(&all[0]), how);
            store.answers(false);
            let found = offered(&server, &truth, &about).await;
            assert_eq!(found.len(), 1, "{about}: {found:?}");
        });
        // What is there was not given up.
        store.answers(true);
        run(async {
            let object_tier = ObjectTier::over(Arc::new(store.clone()));
            let server = begin(Some(object_tier), dir.path(), None, false, Files::default()).await;
            let found = offered(&server.unwrap(), &truth, &about).await;
            assert_eq!(found, [last, ImageNo(last.0 - 1)], "{about}");
        });
    }
}

/// Files are lost or damaged while no server runs: bases, and images that have bases.
#[test]
fn a_server_that_begins_takes_damaged_images_from_the_object_tier() {
    for (suffix, how) in [(".image", 0), (".image", 2), (".ground", 0), (".ground", 2)] {
        let (store, dir) = (Faulty::good(), directory());
        let (mut truth, mut last) = (Truth::new(false), ImageNo(0));
        run(async {
            (_, truth, last) = stored(&store, dir.path(), None).await;
        });
        for path in files(dir.path(), suffix) {
            spoil(&path, how);
        }
        let about = format!("way {how}, files *{suffix}");
        for turn in 0..2 {
            run(async {
                let object_tier = ObjectTier::over(Arc::new(store.clone()));
                let server =
                    begin(Some(object_tier), dir.path(), None, false, Files::default()).await;
                let found = offered(&server.unwrap(), &truth, &about).await;
                assert_eq!(found, [last, ImageNo(last.0 - 1)], "{about}");
            });
            if turn == 0 {
                // The object tier has not lost anything either.
                for entry in fs::read_dir(dir.path()).unwrap().flatten() {
                    fs::remove_file(entry.path()).unwrap();
                }
            }
        }
    }
}

#[test]
fn many_may_ask_for_the_same() {
    run(async {
        let (store, dir) = (Faulty::good(), directory());
        let (server, truth, last) = stored(&store, dir.path(), None).await;
        files(dir.path(), ".image").iter().for_each(|path| spoil(path, 1));
        let before = store.calls.load(Ordering::Relaxed);
        let (server, truth) = (&server, &truth);
        let asking = (0..6).map(|_| offered(server, truth, "many"));
        for found in futures_util::future::join_all(asking).await {
            assert_eq!(found, [last, ImageNo(last.0 - 1)]);
        }
        let calls = store.calls.load(Ordering::Relaxed) - before;
        assert!(calls <= 2 * 2, "each was taken once: {calls} calls");
    });
}
