//! `--metrics` of a real job: the page follows the conventions, and the state of a rank changes.

use ftmpi_servers::metrics::text_format::{self, Page};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A port that is free now.
fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).unwrap()
}

/// `None`: nobody listens, or not any more.
fn get(address: SocketAddr, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    text.starts_with("HTTP/1.1 200").then_some(())?;
    Some(text.split_once("\r\n\r\n")?.1.to_owned())
}

fn state(page: &Page, rank: &str) -> Option<String> {
    let family = page.families.get("ftmpi_rank_state")?;
    let current = family
        .samples
        .iter()
        .filter(|(labels, value)| labels.get("rank").is_some_and(|of| of == rank) && *value > 0.0);
    let states: Vec<_> = current.map(|(labels, _)| labels["state"].clone()).collect();
    assert_eq!(states.len(), 1, "a rank is in one state: {states:?}");
    Some(states[0].clone())
}

/// A look at the page takes longer on a busy machine than some states last: then another job shows
/// them.
pub fn metrics_show_how_the_state_of_a_rank_changes(directory: &Path) {
    let shows_a_change = |_| {
        let [before, after] = states_around_a_death(directory);
        before.iter().any(|state| state == "running")
            && after.iter().any(|state| state != "running")
    };
    assert!(
        (0..20).any(shows_a_change),
        "no page has the event logger, and a rank that runs and dies"
    );
}

/// Kills rank 1 of a job and follows the page until the job ends. The result: the states of its
/// first incarnation (none if no page had the figures of the event logger), and of the next one.
fn states_around_a_death(directory: &Path) -> [Vec<String>; 2] {
    let address = free_address();
    let line = format!(
        "-n 3 --protocol pessimistic --ckpt off --inject kill:rank=1,at=300ms --metrics {address} RANK long"
    );
    let mut job = super::command(directory, &line)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("ftmpiexec starts");
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let (mut front, mut last, mut logger_seen) = (None, None, false);
    let deadline = Instant::now() + Duration::from_secs(60);
    while job.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "the job hangs");
        front = front.or_else(|| get(address, "/"));
        let Some(text) = get(address, "/metrics") else {
            std::thread::sleep(Duration::from_millis(2));
            continue;
        };
        let page = text_format::parse(&text).unwrap();
        page.check_conventions().unwrap();
        let logger = [("kind", "event-logger"), ("server", "0")];
        logger_seen |= page.value("ftmpi_job_server_up", &logger) == Some(1.0)
            && page.value("ftmpi_event_logger_uptime_seconds", &logger[1..]).is_some();
        let Some(state) = state(&page, "1") else { continue };
        match page.value("ftmpi_rank_incarnation", &[("rank", "1")]) {
            Some(0.0) => before.push(state),
            _ => after.push(state),
        }
        last = Some(page);
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(job.wait().unwrap().success());
    assert!(front.is_some_and(|page| page.contains("/metrics")));
    if !logger_seen {
        before.clear();
    }
    let known = ["waiting", "restoring", "catching_up", "running", "done"];
    assert!(!after.is_empty() && after.iter().all(|state| known.contains(&&**state)), "{after:?}");
    let last = last.unwrap();
    for (rank, failures, incarnation) in [("0", 0.0, 0.0), ("1", 1.0, 1.0), ("2", 0.0, 0.0)] {
        let labels = [("rank", rank)];
        assert_eq!(last.value("ftmpi_rank_failures_total", &labels), Some(failures));
        assert_eq!(last.value("ftmpi_rank_incarnation", &labels), Some(incarnation));
    }
    assert_eq!(last.value("ftmpi_job_failures_total", &[]), Some(1.0));
    let (labels, _) = &last.families["ftmpi_rank_sent_messages_total"].samples[0];
    assert!(!labels["host"].is_empty(), "{labels:?}");
    [before, after]
}

/// Callers who hold connections, and the death of the page itself, cost the job nothing.
pub fn callers_of_metrics_cost_the_page_and_not_the_job(directory: &Path) {
    let address = free_address();
    let line = format!("-n 2 --protocol none --metrics {address} RANK wrapped");
    let job = super::command(directory, &line)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("ftmpiexec starts");
    let of_launcher = |what: &str| {
        std::fs::read_dir(format!("/proc/{}/{what}", job.id())).map_or(0, Iterator::count)
    };
    let wait_for_page = || {
        let deadline = Instant::now() + Duration::from_secs(20);
        while get(address, "/metrics").is_none() {
            assert!(Instant::now() < deadline, "no page");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    wait_for_page();
    let (descriptors, threads) = (of_launcher("fd"), of_launcher("task"));
    let idle: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(address).unwrap()).collect();
    wait_for_page();
    assert!(of_launcher("fd") <= descriptors + 2, "the launcher has idle connections");
    assert!(of_launcher("task") <= threads + 2, "the launcher has threads for idle connections");
    let pages = children_named(job.id(), "ftmpi-metrics");
    assert_eq!(pages.len(), 1, "the page is a process of its own");
    signal(pages[0], "KILL");
    // Another one comes.
    std::thread::sleep(Duration::from_millis(100));
    wait_for_page();
    drop(idle);
    signal(job.id(), "TERM");
    let output = job.wait_with_output().unwrap();
    super::expect(
        &output,
        143,
        "the metrics page ended (signal: 9 (SIGKILL)); it is started again",
    );
}

fn signal(process: u32, name: &str) {
    let kill = Command::new("kill").args(["-s", name, &process.to_string()]).status();
    assert!(kill.unwrap().success());
}

fn children_named(parent: u32, name: &str) -> Vec<u32> {
    // Each thread has its own children.
    let threads = std::fs::read_dir(format!("/proc/{parent}/task")).unwrap().flatten();
    let children = threads.map(|thread| std::fs::read_to_string(thread.path().join("children")));
    let children: String = children.map(Result::unwrap_or_default).collect();
    let named = |pid: &u32| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == name)
    };
    children.split_whitespace().filter_map(|pid| pid.parse().ok()).filter(named).collect()
}
