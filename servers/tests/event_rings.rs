//! Event rings between a rank and a real event logger process: what was stored is there, whichever
//! process is killed.

mod common;

use common::{RankConnection, Server, WITHIN, block_on, event, events};
use ftmpi_servers::client;
use ftmpi_transport::auth::{self, JobKey, Problem};
use ftmpi_transport::event_ring::{Put, Writer, file_of};
use ftmpi_wire::EventNo;
use ftmpi_wire::event_log::Frame;
use ftmpi_wire::hello::Purpose;
use std::path::{Path, PathBuf};
use std::time::Duration;

const LOGGER: &str = env!("CARGO_BIN_EXE_ftmpi-event-logger");

fn start(dir: &Path, key: &JobKey) -> Server {
    Server::start(LOGGER, dir, key, &["--rings"])
}

fn rings(dir: &Path) -> Vec<PathBuf> {
    let paths = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|end| end == "ring")).collect()
}

/// A rank on the host of its logger.
struct SameHostRank {
    connection: RankConnection,
    ring: Writer,
    next: u64,
}

impl SameHostRank {
    async fn open(server: &Server, rank: u32, incarnation: u32, next: u64) -> Self {
        let mut connection = RankConnection::open(server, rank, incarnation).await.unwrap();
        let Some(Frame::EventRing { process, descriptor, cookie }) = connection.next().await else {
            panic!("no ring is offered");
        };
        let file = file_of(process, descriptor).unwrap();
        Self { connection, ring: Writer::map_anywhere(&file, cookie).unwrap(), next }
    }

    fn store(&mut self) -> Put {
        let (first, clock) = (EventNo(self.next), EventNo(0));
        let mut bytes = Vec::new();
        Frame::Append { first, clock, records: vec![event(self.next)] }.encode(&mut bytes);
        let outcome = self.ring.put(&bytes);
        self.next += u64::from(outcome == Put::Stored);
        outcome
    }

    fn store_many(&mut self, count: u64) {
        (0..count).for_each(|_| assert_eq!(self.store(), Put::Stored));
    }
}

async fn everything_of(server: &Server, rank: u32, incarnation: u32) -> usize {
    let mut next = RankConnection::open(server, rank, incarnation).await.unwrap();
    let same_host = next.next().await;
    assert!(matches!(same_host, Some(Frame::EventRing { .. })), "{same_host:?}");
    let told = next.fetch(1).await.unwrap();
    assert_eq!(told, events(1..=told.len() as u64));
    told.len()
}

#[test]
fn events_in_a_ring_reach_the_next_incarnation_and_the_old_one_stores_nothing_more() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path(), &JobKey::generate());
    block_on(async {
        for round in 0..30 {
            let mut old = SameHostRank::open(&server, round, 0, 1).await;
            old.store_many(100);
            assert_eq!(everything_of(&server, round, 1).await, 100);
            assert_eq!(old.store(), Put::Refused);
        }
    });
    server.end();
}

#[test]
fn what_is_in_a_ring_survives_the_death_of_rank_and_logger() {
    let dir = tempfile::tempdir().unwrap();
    let key = JobKey::generate();
    for incarnation in 0..6 {
        let server = start(dir.path(), &key);
        // The connection stays open: otherwise the logger empties the ring at once.
        let same_host = block_on(async {
            let stored = u64::from(incarnation) * 500;
            if incarnation > 0 {
                assert_eq!(everything_of(&server, 0, incarnation * 2).await as u64, stored);
            }
            let mut same_host =
                SameHostRank::open(&server, 0, incarnation * 2 + 1, stored + 1).await;
            same_host.store_many(500);
            same_host
        });
        assert_eq!(rings(dir.path()).len(), 1);
        server.kill();
        drop(same_host);
    }
    // A clean end leaves nothing but logs.
    let server = start(dir.path(), &key);
    block_on(async { assert_eq!(everything_of(&server, 0, 12).await, 3000) });
    server.end();
}

#[test]
fn an_image_may_count_on_what_was_stored_before_it() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path(), &JobKey::generate());
    block_on(async {
        let mut same_host = SameHostRank::open(&server, 0, 0, 1).await;
        for round in 1..=20 {
            same_host.store_many(10);
            drop(
                auth::connect(server.address, &server.key, &Purpose::Durable, WITHIN)
                    .await
                    .unwrap(),
            );
            let state = client::status(server.address, &server.key, WITHIN).await.unwrap();
            assert!(state["ranks"][0]["durable"].as_u64() >= Some(round * 10), "{state}");
        }
        // The room is given back, and the socket continues where the ring ends.
        while same_host.next < 40_000 {
            if same_host.store() == Put::Refused {
                same_host.connection.send(&Frame::LookIntoRing).await.unwrap();
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        same_host.connection.append(same_host.next..=same_host.next + 9).await.unwrap();
        same_host.connection.written(same_host.next + 9).await;
        same_host.next += 10;
        same_host.store_many(10);
        assert_eq!(everything_of(&server, 0, 1).await as u64, same_host.next - 1);
    });
    server.end();
}

/// This holds also when the logger has seen the ring, and dies afterwards.
#[test]
fn a_damaged_ring_is_no_log() {
    for seen in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let key = JobKey::generate();
        let server = start(dir.path(), &key);
        let same_host = block_on(async {
            let mut same_host = SameHostRank::open(&server, 0, 0, 1).await;
            same_host.store_many(3);
            assert_eq!(
                same_host.ring.put(b"this is no event, but as long as a prefix"),
                Put::Stored
            );
            same_host
        });
        // When the connection ends, the logger empties the ring.
        let same_host = if seen { None } else { Some(same_host) };
        if seen {
            std::thread::sleep(Duration::from_millis(200));
        }
        server.kill();
        drop(same_host);
        let server = start(dir.path(), &key);
        block_on(async {
            let refused = RankConnection::open(&server, 0, 1).await.err().expect("it is refused");
            let Problem::Refused(why) = &refused.problem else { panic!("{refused}") };
            assert!(why.contains("rank 0") && why.contains("damaged"), "{why}");
            // Other ranks are served.
            assert_eq!(everything_of(&server, 1, 0).await, 0);
        });
        let said = server.kill();
        assert!(said.contains("damaged"), "{said}");
    }
}

/// Without its ring a log would end too early. A write that was never finished does not count.
#[test]
fn a_ring_that_cannot_be_used_ends_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let key = JobKey::generate();
    let server = start(dir.path(), &key);
    let same_host = block_on(async {
        let mut same_host = SameHostRank::open(&server, 0, 0, 1).await;
        same_host.store_many(3);
        same_host
    });
    server.kill();
    drop(same_host);
    let ring = rings(dir.path()).remove(0);
    let whole = std::fs::read(&ring).unwrap();
    let fails = || {
        let started = std::process::Command::new(LOGGER)
            .arg("--dir")
            .arg(dir.path())
            .env("FTMPI_KEY", key.to_hex())
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        assert!(!started.status.success());
        String::from_utf8(started.stderr).unwrap()
    };
    // The rank in the header of the ring.
    let mut damaged = whole.clone();
    damaged[16..24].fill(0xff);
    std::fs::write(&ring, &damaged).unwrap();
    let said = fails();
    assert!(said.contains(ring.to_str().unwrap()) && said.contains("no rank"), "{said}");
    assert_eq!(std::fs::read(&ring).unwrap(), damaged, "it is kept");
    // Nothing that can be opened, as without a free descriptor.
    std::fs::remove_file(&ring).unwrap();
    std::fs::create_dir(&ring).unwrap();
    let said = fails();
    assert!(said.contains(ring.to_str().unwrap()), "{said}");
    std::fs::remove_dir(&ring).unwrap();
    std::fs::write(&ring, &whole).unwrap();
    let unfinished = [dir.path().join("98.ring"), dir.path().join("99.ring")];
    std::fs::write(&unfinished[0], b"").unwrap();
    std::fs::write(&unfinished[1], vec![0; whole.len()]).unwrap();
    let server = start(dir.path(), &key);
    assert!(unfinished.iter().all(|path| !path.exists()));
    block_on(async { assert_eq!(everything_of(&server, 0, 1).await, 3) });
    server.end();
}

#[test]
fn only_who_asks_for_it_gets_a_ring() {
    let dir = tempfile::tempdir().unwrap();
    let key = JobKey::generate();
    for options in [&["--delay", "10ms", "--rings"][..], &["--acknowledge", "durable", "--rings"]] {
        let server = Server::start(LOGGER, dir.path(), &key, options);
        block_on(async {
            let mut rank = RankConnection::open(&server, 5, 0).await.unwrap();
            assert_eq!(rank.fetch(1).await, Some(Vec::new()));
        });
        assert!(rings(dir.path()).is_empty());
        server.end();
    }
}

/// Needs the right to mount; says so and passes without it.
#[test]
fn what_finds_no_room_in_the_log_stays_in_the_ring() {
    let dir = tempfile::tempdir().unwrap();
    let mount = |program: &str, args: &[&str]| {
        std::process::Command::new(program).args(args).arg(dir.path()).output()
    };
    let mounted = mount("mount", &["-t", "tmpfs", "-o", "size=4m", "tmpfs"]);
    if !mounted.is_ok_and(|output| output.status.success()) {
        eprintln!("no right to mount: not tested");
        return;
    }
    let key = JobKey::generate();
    let result = std::panic::catch_unwind(|| {
        let server = start(dir.path(), &key);
        let stored = block_on(async {
            let mut same_host = SameHostRank::open(&server, 0, 0, 1).await;
            std::fs::write(dir.path().join("filler"), vec![1; 8 << 20]).unwrap_err();
            // Until the logger notices that it cannot write, and seals the ring.
            while same_host.next < 1_000_000 {
                if same_host.store() == Put::Refused {
                    break;
                }
                if same_host.next.is_multiple_of(1000) {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
            let stored = same_host.next - 1;
            assert!(stored > 0);
            let Err(error) = RankConnection::open(&server, 0, 1).await else { panic!("let in") };
            assert!(error.to_string().contains("make room"), "{error}");
            stored
        });
        // The ring stays after the death of the logger, too.
        server.kill();
        let server = start(dir.path(), &key);
        block_on(async {
            let Err(error) = RankConnection::open(&server, 0, 1).await else { panic!("let in") };
            assert!(error.to_string().contains("make room"), "{error}");
            std::fs::remove_file(dir.path().join("filler")).unwrap();
            assert_eq!(everything_of(&server, 0, 2).await as u64, stored);
        });
        server.end();
    });
    mount("umount", &["-l"]).unwrap();
    if let Err(panic) = result {
        std::panic::resume_unwind(panic);
    }
}
