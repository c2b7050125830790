//! The event logger as a real process: killed, damaged, full, and attacked.

mod common;

use common::{RankConnection, Server, WITHIN, block_on, events, garbage, throughput};
use ftmpi_servers::client;
use ftmpi_transport::auth::{JobKey, Problem};
use ftmpi_wire::EventNo;
use ftmpi_wire::event_log::Frame;
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;

const LOGGER: &str = env!("CARGO_BIN_EXE_ftmpi-event-logger");

fn start(dir: &Path, key: &JobKey) -> Server {
    Server::start(LOGGER, dir, key, &[])
}

fn log_files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "events"))
        .collect();
    files.sort();
    files
}

/// Runs a server until these events of rank 0 are durable, and kills it.
fn log_of(dir: &Path, key: &JobKey, batches: &[std::ops::RangeInclusive<u64>]) {
    let server = start(dir, key);
    block_on(async {
        let mut rank = RankConnection::open(&server, 0, 0).await.unwrap();
        for range in batches {
            rank.append(range.clone()).await.unwrap();
            rank.durable(*range.end()).await;
        }
    });
    server.kill();
}

#[test]
fn stores_acknowledges_and_gives_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events");
    let server = start(&path, &JobKey::generate());
    block_on(async {
        let mut rank = RankConnection::open(&server, 3, 0).await.unwrap();
        rank.append(1..=10).await.unwrap();
        rank.written(10).await;
        rank.durable(10).await;
        rank.append(11..=4000).await.unwrap();
        rank.append(4001..=8000).await.unwrap();
        rank.append(8001..=12000).await.unwrap();
        rank.written(12000).await;
        let mut next = RankConnection::open(&server, 3, 1).await.unwrap();
        assert_eq!(next.fetch(1).await.unwrap(), events(1..=12000));
        assert_eq!(next.fetch(9999).await.unwrap(), events(9999..=12000));
        assert_eq!(next.fetch(12001).await.unwrap(), []);
        let end = loop {
            match rank.next().await {
                Some(Frame::Ack { .. }) => {}
                other => break other,
            }
        };
        assert_eq!(end, Some(Frame::Refused), "the old incarnation is refused");
        assert_eq!(rank.next().await, None);
        let Err(error) = RankConnection::open(&server, 3, 0).await else { panic!("let in") };
        assert!(matches!(error.problem, Problem::Stale), "{error}");
        let state = client::status(server.address, &server.key, WITHIN).await.unwrap();
        assert_eq!(state["ranks"][0]["written"], 12000, "{state}");
    });
    use std::os::unix::fs::PermissionsExt;
    let mode = |p: &Path| std::fs::metadata(p).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o700);
    assert!(log_files(&path).iter().all(|f| mode(f) == 0o600));
    assert_eq!(server.end(), "");
}

#[test]
fn killed_in_mid_stream_it_comes_back_and_nothing_acknowledged_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let key = JobKey::generate();
    let (mut made, mut written, mut durable) = (0, 0, 0);
    for round in 0..6u64 {
        let server = start(dir.path(), &key);
        let pid = rustix::process::Pid::from_raw(server.pid() as i32).unwrap();
        block_on(async {
            let mut rank = RankConnection::open(&server, 0, 0).await.unwrap();
            // Events that are not known to be durable are sent again, and then new ones.
            let mut next: u64 = durable + 1;
            let deadline = Instant::now() + Duration::from_millis(60 + 30 * round);
            let (mut killed, before) = (false, written);
            loop {
                let last = if next > made { next + 36 } else { made.min(next + 1000) };
                if rank.append(next..=last).await.is_err() {
                    break;
                }
                made = made.max(last);
                next = last + 1;
                if !killed && written > before + 200 && Instant::now() > deadline {
                    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
                    killed = true;
                }
                // Some requests are under way when the logger dies.
                while written + 500 < last {
                    match rank.next().await {
                        Some(Frame::Ack { written: w, durable: d }) => {
                            written = written.max(w.0);
                            durable = durable.max(d.0);
                        }
                        None => return,
                        other => panic!("{other:?}"),
                    }
                }
            }
        });
        assert!(server.kill().lines().all(|l| l.contains("unfinished write")));
    }
    assert!(written > 1000, "only {written} written");
    let server = start(dir.path(), &key);
    block_on(async {
        let mut rank = RankConnection::open(&server, 0, 1).await.unwrap();
        let stored = rank.fetch(1).await.unwrap();
        assert!(stored.len() as u64 >= written, "{} of {written}", stored.len());
        assert_eq!(stored, events(1..=stored.len() as u64));
    });
}

#[test]
fn a_torn_end_is_cut_off_and_the_rest_serves() {
    let dir = tempfile::tempdir().unwrap();
    let key = JobKey::generate();
    log_of(dir.path(), &key, &[1..=10, 11..=20]);
    let file = &log_files(dir.path())[0];
    let bytes = std::fs::metadata(file).unwrap().len();
    std::fs::OpenOptions::new().write(true).open(file).unwrap().set_len(bytes - 1).unwrap();
    let server = start(dir.path(), &key);
    block_on(async {
        let mut rank = RankConnection::open(&server, 0, 0).await.unwrap();
        rank.append(11..=25).await.unwrap();
        rank.written(25).await;
        let mut rank = RankConnection::open(&server, 0, 1).await.unwrap();
        assert_eq!(rank.fetch(1).await.unwrap(), events(1..=25));
    });
    let said = server.end();
    assert!(said.contains("cut off after event 10"), "{said}");
}

#[test]
fn a_flipped_bit_is_reported_and_never_replayed_and_running_ranks_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let key = JobKey::generate();
    log_of(dir.path(), &key, &[1..=10, 11..=20, 21..=30]);
    let file = &log_files(dir.path())[0];
    let mut bytes = std::fs::read(file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    std::fs::write(file, &bytes).unwrap();
    for _ in 0..2 {
        // The damage is remembered over further restarts.
        let server = start(dir.path(), &key);
        block_on(async {
            let mut rank = RankConnection::open(&server, 0, 1).await.unwrap();
            assert_eq!(rank.fetch(21).await.unwrap(), events(21..=30));
            assert_eq!(rank.fetch(26).await.unwrap(), events(26..=30));
            assert_eq!(rank.fetch(5).await, None);
            // What is behind the damage was durable, and an image may need no more.
            let Err(error) = RankConnection::open(&server, 0, 1).await else { panic!("let in") };
            let text = error.to_string();
            assert!(matches!(error.problem, Problem::Refused(_)), "{text}");
            assert!(text.contains("has lost the events before 21"), "{text}");
            // Other ranks are not concerned.
            let mut other = RankConnection::open(&server, 1, 0).await.unwrap();
            other.append(1..=1).await.unwrap();
            other.written(1).await;
        });
        let said = server.kill();
        assert!(said.contains("event log of rank 0 has lost the events before 21"), "{said}");
        std::fs::remove_file(log_files(dir.path()).last().unwrap()).unwrap();
    }
    let server = start(dir.path(), &key);
    block_on(async {
        // A living incarnation continues after the gap, and prunes it away.
        let mut rank = RankConnection::open(&server, 0, 1).await.unwrap();
        rank.append(31..=40).await.unwrap();
        rank.written(40).await;
        let mut rank = RankConnection::open(&server, 0, 2).await.unwrap();
        assert_eq!(rank.fetch(20).await, None);
        let mut rank = RankConnection::open(&server, 0, 3).await.unwrap();
        assert_eq!(rank.fetch(31).await.unwrap(), events(31..=40));
    });
    server.kill();
    let server = start(dir.path(), &key);
    block_on(async {
        let mut rank = RankConnection::open(&server, 0, 3).await.unwrap();
        assert_eq!(rank.fetch(31).await.unwrap(), events(31..=40));
    });
    assert_eq!(server.end(), "", "it is whole again");
}

#[test]
fn another_jobs_key_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path(), &JobKey::generate());
    block_on(async {
        let other = JobKey::generate();
        let result = RankConnection::open_with(server.address, &other, 0, 0).await;
        let Err(error) = result else { panic!("let in") };
        assert!(matches!(error.problem, Problem::WrongKey), "{error}");
    });
    assert!(log_files(dir.path()).is_empty());
}

#[test]
fn strangers_and_garbage_disturb_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path(), &JobKey::generate());
    block_on(async {
        let mut rank = RankConnection::open(&server, 0, 0).await.unwrap();
        let strangers = garbage(server.address).await;
        rank.append(1..=10).await.unwrap();
        rank.written(10).await;
        let mut other = RankConnection::open(&server, 1, 0).await.unwrap();
        other.append(1..=10).await.unwrap();
        other.written(10).await;
        // A client that has the key but sends nonsense is disconnected.
        other.stream.write_all(&[0xff; 100]).await.unwrap();
        while let Some(frame) = other.next().await {
            assert!(matches!(frame, Frame::Ack { .. }));
        }
        drop(strangers);
        rank.append(11..=20).await.unwrap();
        rank.written(20).await;
    });
    let pages = std::fs::read_to_string(format!("/proc/{}/statm", server.pid())).unwrap();
    let resident: u64 = pages.split(' ').nth(1).unwrap().parse().unwrap();
    assert!(resident * 4096 < 64 << 20, "{resident} pages");
}

#[test]
fn pruned_files_go_and_the_rest_serves() {
    let dir = tempfile::tempdir().unwrap();
    let key = JobKey::generate();
    let server = start(dir.path(), &key);
    let size = || -> u64 {
        log_files(dir.path()).iter().map(|f| std::fs::metadata(f).unwrap().len()).sum()
    };
    block_on(async {
        let mut rank = RankConnection::open(&server, 0, 0).await.unwrap();
        for n in 0..40 {
            rank.append(n * 4000 + 1..=(n + 1) * 4000).await.unwrap();
        }
        rank.written(160_000).await;
        assert!(size() > 5_000_000);
        rank.send(&Frame::Prune { below: EventNo(160_001) }).await.unwrap();
        rank.append(160_001..=160_010).await.unwrap();
        rank.written(160_010).await;
        assert!(size() < 10_000);
    });
    server.kill();
    let server = start(dir.path(), &key);
    block_on(async {
        let mut rank = RankConnection::open(&server, 0, 1).await.unwrap();
        assert_eq!(rank.fetch(160_001).await.unwrap(), events(160_001..=160_010));
        let mut rank = RankConnection::open(&server, 0, 2).await.unwrap();
        assert_eq!(rank.fetch(160_000).await, None, "not there any more");
    });
}

#[test]
fn acknowledgements_can_be_delayed() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(LOGGER, dir.path(), &JobKey::generate(), &["--delay", "150ms"]);
    block_on(async {
        let mut rank = RankConnection::open(&server, 0, 0).await.unwrap();
        let start = Instant::now();
        for n in 1..=200 {
            rank.append(n..=n).await.unwrap();
        }
        rank.written(200).await;
        // Each wait ends by itself, and not one after the other (30 s).
        let took = start.elapsed().as_millis();
        assert!((150..20_000).contains(&took), "{took} ms");
    });
}

#[test]
fn a_second_server_on_the_same_directory_and_a_bad_key_are_one_clear_line() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path(), &JobKey::generate());
    let attempt = |key: &str| {
        let output = std::process::Command::new(LOGGER)
            .arg("--dir")
            .arg(dir.path())
            .env("FTMPI_KEY", key)
            .output()
            .unwrap();
        assert!(!output.status.success() && output.stdout.is_empty());
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        text
    };
    assert!(attempt(&"0".repeat(64)).contains("in use by another server"));
    drop(server);
    assert!(attempt("secret").contains("64 hexadecimal digits"));
}

/// A process that is killed when the value is dropped.
struct Killed(std::process::Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn it_ends_with_its_parent() {
    let dir = tempfile::tempdir().unwrap();
    // A shell that starts the server, prints its process id, and waits to be killed.
    let parent = std::process::Command::new("sh")
        .args(["-c", "\"$0\" --dir \"$1\" --exit-with-parent $$ & echo $!; wait", LOGGER])
        .arg(dir.path())
        .env("FTMPI_KEY", JobKey::generate().to_hex())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // The processes must also end when this test fails: a reader of its output would wait for
    // theirs.
    let mut parent = Killed(parent);
    let stdout = parent.0.stdout.take().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stdout));
    // The server may be quicker than the shell that prints the process id.
    let both = [lines.next().unwrap().unwrap(), lines.next().unwrap().unwrap()];
    let listens = both.iter().position(|line| line.starts_with("listening on "));
    let pid = &both[1 - listens.expect("the server tells its address")];
    drop(parent);
    let status = || std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let deadline = Instant::now() + Duration::from_secs(5);
    while !(status().is_empty() || status().contains("State:\tZ")) {
        assert!(Instant::now() < deadline, "still there: {}", status());
        std::thread::sleep(Duration::from_millis(10));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// After any damage the server starts, and gives no part of the log as if it were complete.
    #[test]
    fn no_damage_of_the_file_leads_to_a_wrong_event(
        at in any::<prop::sample::Index>(), cut in any::<bool>(), bits in 1u8..=255,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let key = JobKey::generate();
        log_of(dir.path(), &key, &[1..=3, 4..=4, 5..=9]);
        let file = log_files(dir.path()).remove(0);
        let mut bytes = std::fs::read(&file).unwrap();
        let at = at.index(bytes.len());
        if cut {
            bytes.truncate(at);
        } else {
            bytes[at] ^= bits;
        }
        std::fs::write(&file, &bytes).unwrap();
        let server = start(dir.path(), &key);
        block_on(async {
            let mut rank = RankConnection::open(&server, 0, 1).await.unwrap();
            // A log that ends early is not given: the logger had said that all of it was durable.
            // Where the damage is in what no event needs, the log is whole.
            if let Some(found) = rank.fetch(1).await {
                assert_eq!(found, events(1..=9));
            }
        });
    }
}

/// Needs the right to mount; says so and passes without it.
#[test]
fn a_full_disk_is_reported_and_nothing_is_lost_when_there_is_room_again() {
    let dir = tempfile::tempdir().unwrap();
    let mount = |program: &str, args: &[&str]| {
        std::process::Command::new(program).args(args).arg(dir.path()).output()
    };
    let mounted = mount("mount", &["-t", "tmpfs", "-o", "size=1m", "tmpfs"]);
    if !mounted.is_ok_and(|output| output.status.success()) {
        eprintln!("no right to mount: not tested");
        return;
    }
    let result = std::panic::catch_unwind(|| {
        let server = start(dir.path(), &JobKey::generate());
        block_on(async {
            let mut rank = RankConnection::open(&server, 0, 0).await.unwrap();
            rank.append(1..=1000).await.unwrap();
            rank.written(1000).await;
            std::fs::write(dir.path().join("filler"), vec![1; 2 << 20]).unwrap_err();
            rank.append(1001..=5000).await.unwrap();
            while let Some(frame) = rank.next().await {
                let Frame::Ack { written, .. } = frame else { panic!("{frame:?}") };
                assert_eq!(written, EventNo(1000));
            }
            let Err(error) = RankConnection::open(&server, 0, 0).await else { panic!("let in") };
            let text = error.to_string();
            assert!(text.contains("No space left") && text.contains("make room"), "{text}");
            std::fs::remove_file(dir.path().join("filler")).unwrap();
            let mut rank = RankConnection::open(&server, 0, 0).await.unwrap();
            rank.append(1001..=5000).await.unwrap();
            rank.written(5000).await;
            let mut rank = RankConnection::open(&server, 0, 1).await.unwrap();
            assert_eq!(rank.fetch(1).await.unwrap(), events(1..=5000));
        });
        server.end();
    });
    mount("umount", &["-l"]).unwrap();
    if let Err(panic) = result {
        std::panic::resume_unwind(panic);
    }
}

/// The benchmark (`cargo bench -p ftmpi-servers`), so small that it only shows that it still runs.
#[test]
fn determinants_can_be_counted_per_second() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path(), &JobKey::generate());
    block_on(async {
        assert!(throughput::round_trip(&server, 9, 10).await > 0.0);
        for (ranks, per_frame) in [(0..3, 1), (3..6, 64)] {
            let rate = throughput::determinants(&server, ranks, per_frame, 3000).await;
            assert!(rate.by_clock > 0.0 && rate.by_processor > 0.0, "{rate:?}");
        }
        let state = client::status(server.address, &server.key, WITHIN).await.unwrap();
        assert_eq!(state["ranks"][1]["written"], 1000, "{state}");
        assert_eq!(state["ranks"][4]["written"], 15 * 64, "{state}");
    });
    server.end();
}

#[test]
fn a_promise_of_durability_is_kept_and_events_are_acknowledged_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let (key, durable) = (JobKey::generate(), ["--acknowledge", "durable"]);
    let server = Server::start(LOGGER, dir.path(), &key, &durable);
    block_on(async {
        let mut rank = RankConnection::open(&server, 0, 0).await.unwrap();
        for n in 0..20 {
            rank.append(n * 10 + 1..=n * 10 + 10).await.unwrap();
        }
        let mut last = EventNo(0);
        while last < EventNo(200) {
            match rank.next().await {
                Some(Frame::Ack { written, durable }) => {
                    assert_eq!(written, durable);
                    last = written;
                }
                other => panic!("{other:?}"),
            }
        }
        // An incarnation that asks directly after them hears of all of them.
        rank.append(201..=300).await.unwrap();
        let mut next = RankConnection::open(&server, 0, 1).await.unwrap();
        let told = next.fetch(1).await.unwrap();
        assert!(told.len() >= 200 && told == events(1..=told.len() as u64), "{}", told.len());
        let state = client::status(server.address, &server.key, WITHIN).await.unwrap();
        assert_eq!(
            (&state["acknowledges"], &state["power_lost"]),
            (&"durable".into(), &false.into())
        );
    });
    server.end();
}
