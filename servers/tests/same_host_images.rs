//! Images that their writer puts into the server's file. The server is a real process.

mod common;

use common::{Server, WITHIN, block_on};
use ftmpi_checkpoint::container::{ChunkIndex, Compression, Encoder, Verifier};
use ftmpi_servers::client::{ClientError, Committed, Fetched, ImageStore};
use ftmpi_servers::files::Pieces;
use ftmpi_servers::image_store::{Part, SameHostWriter, WriteProgress};
use ftmpi_transport::auth::JobKey;
use ftmpi_wire::image_store::{Note, Room};
use ftmpi_wire::{ImageId, ImageNo, Incarnation, Rank};
use proptest::prelude::*;
use std::path::Path;

const SERVER: &str = env!("CARGO_BIN_EXE_ftmpi-checkpoint-server");
const R: Rank = Rank(2);
const INCARNATION: Incarnation = Incarnation(0);
const CHUNK: usize = 64 << 10;

async fn connect(server: &Server) -> ImageStore {
    ImageStore::connect(server.address, &server.key, WITHIN).await.unwrap()
}

/// Memory that does not compress. Every third chunk differs between images.
fn memory(image: u64, chunks: u64) -> Vec<u8> {
    let of = |chunk: u64| {
        let mut state = chunk * 7919 + if chunk.is_multiple_of(3) { image } else { 0 };
        (0..CHUNK).map(move |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
    };
    (0..chunks).flat_map(of).collect()
}

/// The container of this memory, whose bases are the chunks in `known`; and the index afterwards.
fn container(image: u64, chunks: u64, known: Option<ChunkIndex>) -> (Vec<u8>, ChunkIndex) {
    let id = ImageId { rank: R, incarnation: INCARNATION, image: ImageNo(image) };
    let mut encoder = match known {
        Some(known) => Encoder::incremental(id, Compression::Lz4, known),
        None => Encoder::incremental(id, Compression::Lz4, ChunkIndex::default()),
    };
    let mut out = Vec::new();
    for chunk in memory(image, chunks).chunks(CHUNK) {
        encoder.push(chunk, &mut out);
        encoder.cut(&mut out);
    }
    encoder.flush(&mut out);
    let bases = encoder.bases().iter().map(|base| (base.incarnation, base.image)).collect();
    let note = ftmpi_servers::image_note::encode(&Note { bases, ..Note::default() });
    let (_, known) = encoder.finish_with(&note, &mut out);
    (out, known)
}

/// These bytes as an encoder hands them over, with the places that are among them.
fn parts(bytes: &[u8]) -> Vec<Part> {
    let (mut pieces, mut verifier, mut parts) = (Pieces::new(300_000), Verifier::new(), Vec::new());
    for more in bytes.chunks(300_000) {
        let mut places = Vec::new();
        // What is damaged has no places behind the damage.
        let _ = verifier.push_with(more, &mut |place| place.append_to(&mut places));
        pieces.memory().extend_from_slice(more);
        let piece = pieces.take().unwrap_or_else(|| pieces.take_rest().unwrap());
        parts.push(Part { piece, places });
    }
    parts.extend(pieces.take_rest().map(|piece| Part { piece, places: Vec::new() }));
    parts
}

/// Writes all of it; reports are left out.
fn write_all(writing: &mut SameHostWriter, bytes: &[u8]) {
    parts(bytes).into_iter().for_each(|part| drop(writing.push(part).unwrap()));
}

/// Writes an image into the server's file, and reports it.
async fn put(store: &mut ImageStore, image: u64, bytes: &[u8]) -> Result<Committed, ClientError> {
    let (mut put, writing) = store.begin_same_host(R, INCARNATION, ImageNo(image)).await?;
    let mut writing = writing.expect("the server is on this machine");
    for part in parts(bytes) {
        if let Some(news) = writing.push(part).unwrap() {
            put.written(news).await?;
        }
    }
    put.written(writing.finish().unwrap()).await?;
    put.commit().await
}

async fn raw(store: &mut ImageStore) -> Option<(ImageNo, Vec<u8>)> {
    let (pieces, _queue) = tokio::sync::mpsc::channel(1);
    match store.get_pieces(R, ImageNo(u64::MAX), true, pieces).await.unwrap()? {
        Fetched::SameHost(mut file) => {
            let mut raw = Vec::new();
            let mut image = None;
            while file.read_raw(&mut raw).unwrap() {
                image = image.or(file.id().map(|id| id.image));
            }
            Some((image.unwrap(), raw))
        }
        other => panic!("{other:?} from a server on this machine"),
    }
}

fn refusal<T: std::fmt::Debug>(result: Result<T, ClientError>) -> String {
    match result {
        Err(error @ ClientError::Refused { .. }) => error.to_string(),
        other => panic!("{other:?} instead of a refusal"),
    }
}

fn count(dir: &Path, extension: &str) -> usize {
    let names = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    names.filter(|path| path.extension().is_some_and(|e| e == extension)).count()
}

fn start(dir: &Path, options: &[&str]) -> Server {
    Server::start(SERVER, dir, &JobKey::generate(), options)
}

#[test]
fn images_written_on_the_servers_host_are_images() {
    let dir = tempfile::tempdir().unwrap();
    let key = JobKey::generate();
    let server = Server::start(SERVER, dir.path(), &key, &[]);
    block_on(async {
        let mut store = connect(&server).await;
        let mut known = None;
        let mut bytes = Vec::new();
        for image in 1..=4 {
            let made = container(image, 150, known);
            // Unchanged chunks are not written again.
            bytes.push(made.0.len());
            let committed = put(&mut store, image, &made.0).await.unwrap();
            assert_eq!(committed.bytes, made.0.len() as u64);
            known = Some(made.1);
            assert_eq!(raw(&mut store).await, Some((ImageNo(image), memory(image, 150))));
        }
        // Now and then all chunks are written.
        assert!(bytes[1..3].iter().all(|&more| more < bytes[0] / 2), "{bytes:?}");
    });
    server.kill();
    let server = Server::start(SERVER, dir.path(), &key, &[]);
    block_on(async {
        let mut store = connect(&server).await;
        assert_eq!(raw(&mut store).await, Some((ImageNo(4), memory(4, 150))));
        // Sending the bytes still works, also in turn with this.
        let (bytes, _) = container(5, 20, None);
        store.put(R, INCARNATION, ImageNo(5), &bytes[..]).await.unwrap();
        assert_eq!(raw(&mut store).await, Some((ImageNo(5), memory(5, 20))));
        put(&mut store, 6, &container(6, 1, None).0).await.unwrap();
        assert_eq!(raw(&mut store).await, Some((ImageNo(6), memory(6, 1))));
    });
}

#[test]
fn a_writer_that_cannot_write_there_sends_the_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path(), &[]);
    block_on(async {
        let mut store = connect(&server).await;
        let (bytes, _) = container(1, 20, None);
        let (mut put, _) = store.begin_same_host(R, INCARNATION, ImageNo(1)).await.unwrap();
        for piece in bytes.chunks(100_000) {
            put.data(piece.to_vec()).await.unwrap();
        }
        put.commit().await.unwrap();
        assert_eq!(raw(&mut store).await, Some((ImageNo(1), memory(1, 20))));
    });
}

#[test]
fn only_the_very_file_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a").to_str().unwrap().to_owned();
    std::fs::write(&path, "what somebody else keeps").unwrap();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let boot = boot.trim().to_owned();
    for boot in [boot, "another".into(), String::new()] {
        let room = Room { path: path.clone(), identity: [1, 2, 3, 4, 0], boot };
        assert!(SameHostWriter::open(&room).is_none());
    }
    assert_eq!(std::fs::read(&path).unwrap(), b"what somebody else keeps");
}

#[test]
fn an_announced_file_must_exist() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path(), &[]);
    block_on(async {
        let mut store = connect(&server).await;
        let (bytes, _) = container(1, 20, None);
        let len = bytes.len() as u64;
        // More bytes, fewer, none; and bytes both on the connection and through the file.
        for told in [len + 1, len - 1, 0, u64::MAX] {
            let (mut put, writing) =
                store.begin_same_host(R, INCARNATION, ImageNo(1)).await.unwrap();
            let mut writing = writing.unwrap();
            write_all(&mut writing, &bytes);
            writing.finish().unwrap();
            let outcome = put.written(WriteProgress { bytes: told, places: Vec::new() }).await;
            let text = match outcome {
                Ok(()) => refusal(put.commit().await),
                refused => refusal(refused),
            };
            let right = ["announced", "may store", "too little room"];
            assert!(right.iter().any(|part| text.contains(part)), "{text}");
        }
        let (mut put, _) = store.begin_same_host(R, INCARNATION, ImageNo(1)).await.unwrap();
        put.written(WriteProgress { bytes: 5, places: Vec::new() }).await.unwrap();
        let text = match put.data(bytes.clone()).await {
            Ok(()) => refusal(put.commit().await),
            refused => refusal(refused),
        };
        assert!(text.contains("both on the connection"), "{text}");
        // A file that holds another image, and a file that is cut.
        let (other, _) = container(2, 20, None);
        assert!(refusal(self::put(&mut store, 1, &other).await).contains("image"));
        let text = refusal(self::put(&mut store, 1, &bytes[..bytes.len() - 1]).await);
        assert!(text.contains("its end is damaged"), "{text}");
        assert_eq!((count(dir.path(), "part"), count(dir.path(), "image")), (0, 0));
        self::put(&mut store, 1, &bytes).await.unwrap();
    });
}

/// The server looks at both ends. What is between them was made by the encoder a moment ago, and is
/// verified when it is read.
#[test]
fn damage_on_the_way_is_not_restored() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path(), &[]);
    block_on(async {
        let mut store = connect(&server).await;
        let (good, _) = container(1, 20, None);
        for at in [20, good.len() - 30] {
            let mut bytes = good.clone();
            bytes[at] ^= 1;
            refusal(put(&mut store, 1, &bytes).await);
            assert_eq!(raw(&mut store).await, None);
        }
        let mut bytes = good.clone();
        bytes[good.len() / 2] ^= 1;
        put(&mut store, 1, &bytes).await.unwrap();
        let (pieces, _queue) = tokio::sync::mpsc::channel(1);
        let found = store.get_pieces(R, ImageNo(1), true, pieces).await.unwrap();
        let Some(Fetched::SameHost(mut file)) = found else { panic!("{found:?}") };
        let mut raw = Vec::new();
        let why = loop {
            match file.read_raw(&mut raw) {
                Ok(more) => assert!(more),
                Err(why) => break why,
            }
        };
        assert!(why.to_string().contains("checksum"), "{why}");
        // The server finds it, too, before it sends the image.
        let (pieces, _queue) = tokio::sync::mpsc::channel(1);
        assert!(store.get_pieces(R, ImageNo(1), false, pieces).await.unwrap().is_none());
    });
}

#[test]
fn limits_and_incarnations_hold_here_too() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path(), &["--max-bytes", "3M"]);
    block_on(async {
        let (mut store, mut new) = (connect(&server).await, connect(&server).await);
        put(&mut store, 1, &container(1, 30, None).0).await.unwrap();
        assert!(refusal(put(&mut store, 2, &container(2, 30, None).0).await).contains("may store"));
        assert_eq!(raw(&mut store).await, Some((ImageNo(1), memory(1, 30))));
        let bytes = container(3, 2, None).0;
        let (mut late, writing) = store.begin_same_host(R, INCARNATION, ImageNo(3)).await.unwrap();
        let mut writing = writing.unwrap();
        write_all(&mut writing, &bytes);
        new.declare(R, Incarnation(1)).await.unwrap();
        let outcome = late.written(writing.finish().unwrap()).await;
        let text = match outcome {
            Ok(()) => refusal(late.commit().await),
            refused => refusal(refused),
        };
        assert!(text.contains("incarnation"), "{text}");
        assert!(
            refusal(store.begin_same_host(R, INCARNATION, ImageNo(4)).await.map(|_| ()))
                .contains("incarnation")
        );
        assert_eq!((count(dir.path(), "part"), count(dir.path(), "image")), (0, 1));
    });
}

#[test]
fn a_server_that_dies_leaves_nothing_half_done() {
    let dir = tempfile::tempdir().unwrap();
    let key = JobKey::generate();
    let server = Server::start(SERVER, dir.path(), &key, &[]);
    let bytes = container(1, 100, None).0;
    let mut writing = block_on(async {
        let mut store = connect(&server).await;
        let (_, writing) = store.begin_same_host(R, INCARNATION, ImageNo(1)).await.unwrap();
        let mut writing = writing.unwrap();
        write_all(&mut writing, &bytes[..bytes.len() / 2]);
        server.kill();
        writing
    });
    let server = Server::start(SERVER, dir.path(), &key, &[]);
    // The writer continues, into a file that has no name any more.
    write_all(&mut writing, &bytes[bytes.len() / 2..]);
    writing.finish().unwrap();
    block_on(async {
        let mut store = connect(&server).await;
        assert_eq!(raw(&mut store).await, None);
        assert_eq!((count(dir.path(), "part"), count(dir.path(), "image")), (0, 0));
        put(&mut store, 1, &bytes).await.unwrap();
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn no_false_announcement_becomes_an_image(
        bytes in any::<u64>(), places in prop::collection::vec(any::<u8>(), 0..200),
        content in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let server = start(dir.path(), &[]);
        block_on(async {
            let mut store = connect(&server).await;
            let (mut put, _) = store.begin_same_host(R, INCARNATION, ImageNo(1)).await.unwrap();
            let file = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
            let part = file.into_iter().find(|p| p.extension().is_some_and(|e| e == "part")).unwrap();
            std::fs::write(part, &content).unwrap();
            for bytes in [bytes, content.len() as u64] {
                if put.written(WriteProgress { bytes, places: places.clone() }).await.is_err() {
                    return;
                }
            }
            refusal(put.commit().await);
            let mut store = connect(&server).await;
            assert_eq!(raw(&mut store).await, None);
        });
    }
}
