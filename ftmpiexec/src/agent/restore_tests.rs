//! The search for an image on a real checkpoint server that has replaced the images which the
//! launcher knows.

use super::*;
use ftmpi_checkpoint::container::{Compression, Encoder};
use ftmpi_options::servers::{CheckpointServerArgs, ServerArgs};
use ftmpi_protocols::registry;
use ftmpi_servers::image_note;
use ftmpi_servers::image_store;
use ftmpi_wire::Incarnation;
use ftmpi_wire::control::{Events, ProtocolConfig};
use ftmpi_wire::image_store::Note;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Duration;

const R: Rank = Rank(1);
const WITHIN: Duration = Duration::from_secs(20);

/// Runs a server in a thread, to the end of this process.
fn server(dir: &Path, key: &JobKey) -> SocketAddr {
    let key_file = dir.join("key");
    key.write_file(&key_file).unwrap();
    let (read, write) = std::io::pipe().unwrap();
    let args = CheckpointServerArgs {
        server: ServerArgs {
            listen: "127.0.0.1:0".parse().unwrap(),
            port_range: None,
            key_file: Some(key_file),
            announce_fd: Some(write.as_raw_fd() as u32),
            exit_with_parent: None,
            silence: Duration::from_secs(12),
            slow_disk: Duration::ZERO,
            metrics: None,
        },
        dir: dir.join("images"),
        max_bytes: None,
        object_store: None,
        waves_cut_logs: false,
        forget: false,
    };
    std::thread::spawn(move || {
        let _open = write;
        image_store::run(args)
    });
    let mut line = String::new();
    BufReader::new(read).read_line(&mut line).unwrap();
    line.trim().strip_prefix("listening on ").unwrap().parse().unwrap()
}

/// The image with this number, taken after ten times as many bytes of output.
fn container(image: u64) -> Vec<u8> {
    let id = ImageId { rank: R, incarnation: Incarnation(0), image: ImageNo(image) };
    let mut out = Vec::new();
    let mut encoder = Encoder::new(id, Compression::Lz4);
    encoder.push(&[image as u8; 5000], &mut out);
    let counts = Counts { written: [10 * image, 0], consumed: 0 };
    let _ = encoder.finish_with(&image_note::encode(&Note { counts, ..Note::default() }), &mut out);
    out
}

fn known(image: u64) -> ImageFacts {
    let written = [10 * image, 0];
    ImageFacts { image: ImageNo(image), bytes: 1, written, consumed: 0 }
}

fn start(incarnation: u32, images: &[u64]) -> Start {
    Start {
        rank: R,
        incarnation: Incarnation(incarnation),
        images: images.iter().map(|image| known(*image)).collect(),
        or_beginning: false,
        no_newer: false,
        past: ImageNo(0),
        printed: [0; 2],
        fed: false,
        inject: Vec::new(),
        actual_command: None,
        oversubscribed: false,
        loaded: None,
        files: Vec::new(),
        files_since: ImageNo(0),
    }
}

/// While a rank was dying its last images were committed, and replaced those that the launcher
/// knows.
#[test]
fn images_that_the_launcher_does_not_know_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let key = JobKey::generate();
    let address = server(dir.path(), &key);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut store = ImageStore::connect(address, &key, WITHIN).await.unwrap();
        store.declare(R, Incarnation(0)).await.unwrap();
        for image in 1..=4 {
            let bytes = container(image);
            store.put(R, Incarnation(0), ImageNo(image), bytes.as_slice()).await.unwrap();
        }
        let directory = Directory { checkpoint_servers: vec![address; 2], ..Directory::default() };
        let (_sender, directory) = watch::channel(directory);
        let traits = |in_waves| match in_waves {
            true => of_library(registry::RECOVERY_WAVES),
            false => of_library("restart"),
        };
        let source = |kept: u64, in_waves| Source {
            key: key.clone(),
            secret: None,
            directory: directory.clone(),
            traits: traits(in_waves),
            checked: false,
            kept_output: [kept, 0],
            turns: Arc::new(Semaphore::new(1)),
        };
        let mut incarnation = 0;
        let mut find = async |images: &[u64], source: Source| {
            incarnation += 1;
            let start = start(incarnation, images);
            let mut search = Search::new(&start, &source, None, None);
            let found = search.run().await;
            (found.map(|stream| stream.unwrap().facts), search.unusable.len())
        };
        // The newest image whose output is kept; if there is none, the newest.
        for (kept, wanted) in [(40, 4), (39, 3), (30, 3), (29, 4)] {
            let (found, unusable) = find(&[2, 1], source(kept, false)).await;
            assert_eq!(
                (found, unusable),
                (Ok(known_by_server(&store_list(&mut store).await, wanted)), 0)
            );
        }
        // An image that the launcher knows is there: the server is not asked for newer ones.
        let (found, _) = find(&[3, 2], source(40, false)).await;
        assert_eq!(found.unwrap().image, ImageNo(3));
        // The ranks of a wave begin together, so no other image will do.
        let (found, _) = find(&[2, 1], source(40, true)).await;
        found.unwrap_err();
    });
}

/// The traits of a library's protocol with this kind of recovery.
fn of_library(recovery: &str) -> ProtocolTraits {
    let settings = vec![(registry::RECOVERY.to_owned(), recovery.to_owned())];
    let config =
        ProtocolConfig { name: "plugin".into(), events: Events::All, log_wtime: true, settings };
    registry::traits(&config)
}

/// In waves a newer image belongs to a wave that all ranks have abandoned. Otherwise it stays: the
/// rank repeats what it did until then.
#[test]
fn a_rank_of_a_library_in_waves_gives_up_images_that_are_newer_than_its_wave() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    for (recovery, left) in [(registry::RECOVERY_WAVES, vec![1]), ("restart", vec![1, 2])] {
        let dir = tempfile::tempdir().unwrap();
        let key = JobKey::generate();
        let address = server(dir.path(), &key);
        runtime.block_on(async {
            let mut store = ImageStore::connect(address, &key, WITHIN).await.unwrap();
            store.declare(R, Incarnation(0)).await.unwrap();
            for image in 1..=2 {
                let bytes = container(image);
                store.put(R, Incarnation(0), ImageNo(image), bytes.as_slice()).await.unwrap();
            }
            let servers = vec![address; 2];
            let directory = Directory { checkpoint_servers: servers, ..Directory::default() };
            let (_publish, directory) = watch::channel(directory);
            let source = Source {
                key: key.clone(),
                secret: None,
                directory,
                traits: of_library(recovery),
                checked: false,
                kept_output: [0; 2],
                turns: Arc::new(Semaphore::new(1)),
            };
            let files = Files {
                job: 0,
                paths: Vec::new(),
                since: ImageNo(0),
                incarnations: vec![Incarnation(1); 2],
            };
            let (events, mut restored) = mpsc::unbounded_channel();
            fetch(start(1, &[1]), source, None, files, events).await;
            let Some(AgentEvent::RestoreReady(restore)) = restored.recv().await else {
                panic!("the search has no end");
            };
            assert_eq!(restore.outcome.unwrap().unwrap().facts.image, ImageNo(1));
            let offered: Vec<u64> =
                store_list(&mut store).await.iter().map(|image| image.image.0).collect();
            assert_eq!(offered, left, "recovery {recovery}");
        });
    }
}

async fn store_list(store: &mut ImageStore) -> Vec<ImageFacts> {
    let stored = store.list(R).await.unwrap();
    let facts = |stored: &ftmpi_wire::image_store::Stored| ImageFacts {
        image: stored.image,
        bytes: stored.bytes,
        written: stored.counts.written,
        consumed: stored.counts.consumed,
    };
    stored.images.iter().map(facts).collect()
}

fn known_by_server(all: &[ImageFacts], image: u64) -> ImageFacts {
    let found = all.iter().find(|one| one.image == ImageNo(image)).unwrap();
    assert_eq!(found.written, [10 * image, 0]);
    *found
}

/// A restore waits for its turn, and gives the turn back when the image is in the process.
#[test]
fn ranks_are_restored_in_turns() {
    assert_eq!((side_by_side(0), side_by_side(1), side_by_side(64)), (4, 4, 128));
    let dir = tempfile::tempdir().unwrap();
    let key = JobKey::generate();
    let address = server(dir.path(), &key);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut store = ImageStore::connect(address, &key, WITHIN).await.unwrap();
        store.declare(R, Incarnation(0)).await.unwrap();
        store.put(R, Incarnation(0), ImageNo(1), container(1).as_slice()).await.unwrap();
        let directory = Directory { checkpoint_servers: vec![address; 2], ..Directory::default() };
        let (_sender, directory) = watch::channel(directory);
        let turns = Arc::new(Semaphore::new(1));
        let source = Source {
            key: key.clone(),
            secret: None,
            directory,
            traits: of_library(registry::RECOVERY_WAVES),
            checked: false,
            kept_output: [0; 2],
            turns: turns.clone(),
        };
        let incarnations = vec![Incarnation(1); 2];
        let files = Files { job: 0, paths: Vec::new(), since: ImageNo(0), incarnations };
        let taken = turns.clone().acquire_owned().await.unwrap();
        let (events, mut inbox) = mpsc::unbounded_channel();
        tokio::spawn(fetch(start(1, &[1]), source, None, files, events));
        let early = tokio::time::timeout(Duration::from_millis(200), inbox.recv()).await;
        assert!(early.is_err(), "another restore has the turn");
        drop(taken);
        let ready = tokio::time::timeout(WITHIN, inbox.recv()).await.unwrap();
        let Some(AgentEvent::RestoreReady(restore)) = ready else {
            panic!("the search has no end");
        };
        assert_eq!(restore.outcome.unwrap().unwrap().facts.image, ImageNo(1));
        // The process reads the image, or is gone: the turn ends in both cases.
        let back = tokio::time::timeout(WITHIN, turns.acquire()).await;
        assert!(back.is_ok(), "the turn ends");
    });
}
