//! The checkpoint server as a real process: killed, damaged, full, and attacked.

mod common;

use common::{Server, WITHIN, block_on, garbage};
use ftmpi_checkpoint::container::{Compression, Encoder};
use ftmpi_servers::client::{self, ClientError, Committed, ImageStore};
use ftmpi_transport::auth::{JobKey, Problem};
use ftmpi_wire::{ImageId, ImageNo, Incarnation, Rank};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

const SERVER: &str = env!("CARGO_BIN_EXE_ftmpi-checkpoint-server");
const R: Rank = Rank(2);
const NEWEST: ImageNo = ImageNo(u64::MAX);

fn start(dir: &Path, key: &JobKey) -> Server {
    Server::start(SERVER, dir, key, &[])
}

async fn connect(server: &Server) -> ImageStore {
    ImageStore::connect(server.address, &server.key, WITHIN).await.unwrap()
}

/// A container of about this size that does not compress.
fn container(image: u64, incarnation: u32, bytes: usize) -> Vec<u8> {
    let id = ImageId { rank: R, incarnation: Incarnation(incarnation), image: ImageNo(image) };
    let mut state = image + 1;
    let raw: Vec<u8> = (0..bytes)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .collect();
    let mut out = Vec::new();
    let mut encoder = Encoder::new(id, Compression::Lz4);
    encoder.push(&raw, &mut out);
    let _ = encoder.finish(&mut out);
    out
}

async fn put(
    store: &mut ImageStore,
    image: u64,
    incarnation: u32,
    bytes: &[u8],
) -> Result<Committed, ClientError> {
    store.put(R, Incarnation(incarnation), ImageNo(image), bytes).await
}

async fn get(store: &mut ImageStore) -> Option<(u64, Vec<u8>)> {
    let mut bytes = Vec::new();
    let stored = store.get(R, NEWEST, &mut bytes).await.unwrap()?;
    Some((stored.image.0, bytes))
}

fn refusal<T: std::fmt::Debug>(result: Result<T, ClientError>) -> String {
    match result {
        Err(error @ ClientError::Refused { .. }) => error.to_string(),
        other => panic!("{other:?} instead of a refusal"),
    }
}

fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == extension))
        .collect();
    files.sort();
    files
}

#[test]
fn keeps_the_two_newest_over_a_kill_and_gives_them_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("images");
    let key = JobKey::generate();
    let server = start(&path, &key);
    let images: Vec<Vec<u8>> = (0..4).map(|n| container(n, 0, 3_000_000)).collect();
    block_on(async {
        let mut store = connect(&server).await;
        assert_eq!(get(&mut store).await, None);
        for n in 1..=3u64 {
            let done = put(&mut store, n, 0, &images[n as usize]).await.unwrap();
            let oldest = ImageNo(n - 1);
            let bytes = images[n as usize].len() as u64;
            assert_eq!(done, Committed { image: ImageNo(n), bytes, oldest });
        }
        // Another image is being received when the server dies.
        let mut late = connect(&server).await;
        let mut put = late.begin(R, Incarnation(0), ImageNo(4)).await.unwrap();
        put.data(container(4, 0, 100_000)[..50_000].to_vec()).await.unwrap();
    });
    server.kill();
    let server = start(&path, &key);
    assert!(files(&path, "part").is_empty());
    block_on(async {
        let mut store = connect(&server).await;
        let numbers: Vec<u64> =
            store.list(R).await.unwrap().images.iter().map(|stored| stored.image.0).collect();
        assert_eq!(numbers, [2, 3]);
        assert_eq!(get(&mut store).await, Some((3, images[3].clone())));
        let mut older = Vec::new();
        let stored = store.get(R, ImageNo(2), &mut older).await.unwrap().unwrap();
        assert_eq!((stored.image, older), (ImageNo(2), images[2].clone()));
        assert_eq!(store.get(Rank(9), NEWEST, Vec::new()).await.unwrap(), None);
        let state = client::status(server.address, &key, WITHIN).await.unwrap();
        assert_eq!(state["ranks"][0]["images"][1]["image"], 3, "{state}");
    });
    use std::os::unix::fs::PermissionsExt;
    let mode = |p: &Path| std::fs::metadata(p).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o700);
    assert!(files(&path, "image").iter().chain(&files(&path, "record")).all(|f| mode(f) == 0o600));
    assert_eq!(server.end(), "");
}

#[test]
fn late_images_of_a_dead_incarnation_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let key = JobKey::generate();
    let server = start(dir.path(), &key);
    block_on(async {
        let mut old = connect(&server).await;
        let mut new = connect(&server).await;
        put(&mut old, 1, 0, &container(1, 0, 1000)).await.unwrap();
        let bytes = container(2, 0, 2_000_000);
        let mut late = old.begin(R, Incarnation(0), ImageNo(2)).await.unwrap();
        late.data(bytes[..1_000_000].to_vec()).await.unwrap();
        new.declare(R, Incarnation(1)).await.unwrap();
        // The refusal is noticed during the transfer, or at the commit.
        let outcome = match late.data(bytes[1_000_000..].to_vec()).await {
            Ok(()) => refusal(late.commit().await),
            refused => refusal(refused),
        };
        assert!(outcome.contains("incarnation 1 is the present one"), "{outcome}");
        assert_eq!(get(&mut new).await.unwrap().0, 1);
        put(&mut new, 2, 1, &container(2, 1, 1000)).await.unwrap();
    });
    server.kill();
    let server = start(dir.path(), &key);
    block_on(async {
        let mut store = connect(&server).await;
        let text = refusal(put(&mut store, 3, 0, &container(3, 0, 1000)).await);
        assert!(text.contains("incarnation 1 is the present one"), "{text}");
        assert!(refusal(store.declare(R, Incarnation(0)).await).contains("over"));
        // The connection is still good.
        put(&mut store, 3, 1, &container(3, 1, 1000)).await.unwrap();
    });
}

#[test]
fn a_damaged_newest_gives_way_to_the_older() {
    let dir = tempfile::tempdir().unwrap();
    let key = JobKey::generate();
    let server = start(dir.path(), &key);
    let older = container(1, 0, 500_000);
    block_on(async {
        let mut store = connect(&server).await;
        put(&mut store, 1, 0, &older).await.unwrap();
        put(&mut store, 2, 0, &container(2, 0, 500_000)).await.unwrap();
        let newest = files(dir.path(), "image").remove(1);
        let mut bytes = std::fs::read(&newest).unwrap();
        bytes[250_000] ^= 1;
        std::fs::write(&newest, bytes).unwrap();
        assert_eq!(get(&mut store).await, Some((1, older.clone())));
        assert_eq!(files(dir.path(), "damaged").len(), 1, "kept for a look");
    });
    let said = server.kill();
    assert!(said.contains("image 2 of rank 2 is damaged") && said.contains("image 1 serves"));
    let server = start(dir.path(), &key);
    block_on(async {
        let mut store = connect(&server).await;
        assert_eq!(get(&mut store).await, Some((1, older.clone())));
        store.condemn(R, ImageNo(1)).await.unwrap();
        let text = refusal(store.get(R, NEWEST, Vec::new()).await);
        assert!(text.contains("cannot be restarted"), "{text}");
    });
}

#[test]
fn damaged_and_foreign_containers_are_not_taken() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path(), &JobKey::generate());
    block_on(async {
        let mut store = connect(&server).await;
        let good = container(1, 0, 3_000_000);
        let text = refusal(put(&mut store, 1, 0, &good[..good.len() - 1]).await);
        assert!(text.contains("image 1 of rank 2"), "{text}");
        let mut flipped = good.clone();
        flipped[1000] ^= 8;
        let text = refusal(put(&mut store, 1, 0, &flipped).await);
        assert!(text.contains("damaged") && text.contains("older images stand"), "{text}");
        let text = refusal(put(&mut store, 1, 0, &container(2, 0, 10)).await);
        assert!(text.contains("was announced"), "{text}");
        refusal(put(&mut store, 1, 0, b"").await);
        let trailing = [good.as_slice(), b"more"].concat();
        refusal(put(&mut store, 1, 0, &trailing).await);
        assert_eq!(get(&mut store).await, None);
        assert!(files(dir.path(), "part").is_empty());
        put(&mut store, 1, 0, &good).await.unwrap();
        assert_eq!(get(&mut store).await, Some((1, good)));
        let abandoned = store.begin(R, Incarnation(0), ImageNo(2)).await.unwrap();
        abandoned.abandon().await.unwrap();
        assert!(files(dir.path(), "part").is_empty());
    });
}

#[test]
fn a_quota_refuses_and_older_images_stand() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(SERVER, dir.path(), &JobKey::generate(), &["--max-bytes", "2500K"]);
    block_on(async {
        let mut store = connect(&server).await;
        put(&mut store, 1, 0, &container(1, 0, 1_000_000)).await.unwrap();
        put(&mut store, 2, 0, &container(2, 0, 1_000_000)).await.unwrap();
        // The image is much larger than the socket's buffers: the refusal must come in between.
        let text = refusal(put(&mut store, 3, 0, &container(3, 0, 30_000_000)).await);
        assert!(text.contains("2560000 bytes") && text.contains("does not fit"), "{text}");
        assert_eq!(get(&mut store).await.unwrap().0, 2);
        assert!(files(dir.path(), "part").is_empty());
        put(&mut store, 3, 0, &container(3, 0, 300_000)).await.unwrap();
    });
}

/// Needs the right to mount; says so and passes without it.
#[test]
fn a_full_disk_refuses_and_older_images_stand() {
    let dir = tempfile::tempdir().unwrap();
    let mount = |program: &str, args: &[&str]| {
        std::process::Command::new(program).args(args).arg(dir.path()).output()
    };
    let mounted = mount("mount", &["-t", "tmpfs", "-o", "size=3m", "tmpfs"]);
    if !mounted.is_ok_and(|output| output.status.success()) {
        eprintln!("no right to mount: not tested");
        return;
    }
    let result = std::panic::catch_unwind(|| {
        // Without a limit of its own the server would leave room on the disk.
        let server = Server::start(
            SERVER,
            dir.path(),
            &JobKey::generate(),
            &["--max-bytes", "1000000000000"],
        );
        block_on(async {
            let mut store = connect(&server).await;
            put(&mut store, 1, 0, &container(1, 0, 1_000_000)).await.unwrap();
            put(&mut store, 2, 0, &container(2, 0, 1_000_000)).await.unwrap();
            let text = refusal(put(&mut store, 3, 0, &container(3, 0, 9_000_000)).await);
            assert!(text.contains("No space left") && text.contains("make room"), "{text}");
            assert_eq!(get(&mut store).await.unwrap().0, 2);
            put(&mut store, 3, 0, &container(3, 0, 100_000)).await.unwrap();
        });
    });
    mount("umount", &["-l"]).unwrap();
    if let Err(panic) = result {
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn strangers_and_other_keys_disturb_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path(), &JobKey::generate());
    block_on(async {
        let strangers = garbage(server.address).await;
        let mut store = connect(&server).await;
        put(&mut store, 1, 0, &container(1, 0, 1_000_000)).await.unwrap();
        drop(strangers);
        let other = ImageStore::connect(server.address, &JobKey::generate(), WITHIN).await;
        let Err(ClientError::Connect(error)) = other else { panic!("{other:?}") };
        assert!(matches!(error.problem, Problem::WrongKey), "{error}");
        assert_eq!(get(&mut store).await.unwrap().0, 1);
    });
}

#[test]
fn many_connections_put_at_the_same_time() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path(), &JobKey::generate());
    block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for rank in 0..32u32 {
            let (address, key) = (server.address, server.key.clone());
            tasks.spawn(async move {
                let mut store = ImageStore::connect(address, &key, WITHIN).await.unwrap();
                for image in 1..=4 {
                    let id = ImageId {
                        rank: Rank(rank),
                        incarnation: Incarnation(0),
                        image: ImageNo(image),
                    };
                    let mut bytes = Vec::new();
                    let mut encoder = Encoder::new(id, Compression::Lz4);
                    encoder.push(&vec![rank as u8; 200_000], &mut bytes);
                    let _ = encoder.finish(&mut bytes);
                    let done = store.put(id.rank, id.incarnation, id.image, &bytes[..]).await;
                    assert_eq!(done.unwrap().oldest, ImageNo(image - 1));
                }
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.unwrap();
        }
    });
    assert_eq!(files(dir.path(), "image").len(), 64);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    /// After any change to a stored image the image is not given out.
    #[test]
    fn no_damage_of_a_file_leads_to_a_wrong_image(
        at in any::<prop::sample::Index>(), cut in any::<bool>(), bits in 1u8..=255,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let key = JobKey::generate();
        let server = start(dir.path(), &key);
        let older = container(1, 0, 5000);
        block_on(async {
            let mut store = connect(&server).await;
            put(&mut store, 1, 0, &older).await.unwrap();
            put(&mut store, 2, 0, &container(2, 0, 5000)).await.unwrap();
        });
        server.kill();
        let newest = files(dir.path(), "image").remove(1);
        let mut bytes = std::fs::read(&newest).unwrap();
        let at = at.index(bytes.len());
        if cut {
            bytes.truncate(at);
        } else {
            bytes[at] ^= bits;
        }
        std::fs::write(&newest, &bytes).unwrap();
        let server = start(dir.path(), &key);
        block_on(async {
            let mut store = connect(&server).await;
            assert_eq!(get(&mut store).await, Some((1, older)));
        });
    }
}
