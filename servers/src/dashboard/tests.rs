//! Tests with real connections.

use super::*;
use crate::metrics::catalogue::JOB;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A page; the counter tells how often the launcher was asked for the state.
fn page(access: Access) -> (SocketAddr, Arc<AtomicUsize>) {
    let (at, socket) = crate::metrics::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let (ask, mut questions) = mpsc::unbounded_channel::<(Question, StateRequest)>();
    let site = Site {
        page: "<p>page</p>".into(),
        policy: "default-src 'none'".into(),
        catalogue: &JOB,
        access,
    };
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            tokio::spawn(serve(socket, site, ask));
            while let Some((question, request)) = questions.recv().await {
                let state = match question {
                    Question::Metrics => serde_json::json!({ "ranks": 3 }),
                    Question::Status => {
                        serde_json::json!({ "number": count.fetch_add(1, Ordering::SeqCst) })
                    }
                };
                let _ = request.send(state);
            }
        });
    });
    (at, asked)
}

fn open(at: SocketAddr, path: &str, more: &str) -> TcpStream {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\n{more}\r\n").unwrap();
    stream
}

fn get(at: SocketAddr, path: &str, more: &str) -> String {
    let mut text = String::new();
    open(at, path, more).read_to_string(&mut text).unwrap();
    text
}

#[test]
fn pages_and_states_are_served_with_headers_that_protect_them() {
    let (at, _) = page(Access::Loopback);
    let host = format!("Host: {at}\r\n");
    let front = get(at, "/", &host).to_lowercase();
    assert!(front.starts_with("http/1.1 200") && front.ends_with("<p>page</p>"), "{front}");
    for line in [
        "content-security-policy: default-src 'none'",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
        "cache-control: no-store",
    ] {
        assert!(front.contains(line), "{line}");
    }
    assert!(get(at, "/status", &host).contains("{\"number\":0}"));
    assert!(get(at, "/metrics", &host).contains("ftmpi_job_ranks 3"));
    assert!(get(at, "/x", &host).starts_with("HTTP/1.1 404"));
    assert!(get(at, "/", "Host: evil.example\r\n").starts_with("HTTP/1.1 403"));
    let mut stream = TcpStream::connect(at).unwrap();
    write!(stream, "POST / HTTP/1.1\r\n{host}\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 405"), "{text}");
}

#[test]
fn a_token_opens_the_page_once_and_a_cookie_from_then_on() {
    let (at, _) = page(Access::Token("secret".into(), 7));
    let host = "Host: node1:7\r\n";
    assert!(get(at, "/", host).starts_with("HTTP/1.1 403"));
    assert!(get(at, "/events", host).starts_with("HTTP/1.1 403"));
    let first = get(at, "/?token=secret", host);
    assert!(first.starts_with("HTTP/1.1 303") && first.contains("location: /\r\n"), "{first}");
    assert!(first.contains("set-cookie: ftmpi_7=secret;"), "{first}");
    let with_cookie = format!("{host}Cookie: ftmpi_7=secret\r\n");
    assert!(get(at, "/", &with_cookie).starts_with("HTTP/1.1 200"));
}

#[test]
fn all_viewers_see_each_state_and_the_launcher_is_asked_once_for_all() {
    let (at, asked) = page(Access::Loopback);
    let host = format!("Host: {at}\r\n");
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(asked.load(Ordering::SeqCst), 0, "nobody looks");
    let begin = Instant::now();
    let mut viewers: Vec<_> = (0..4).map(|_| BufReader::new(open(at, "/events", &host))).collect();
    let mut seen = Vec::new();
    for viewer in &mut viewers {
        let mut lines = String::new();
        while lines.matches("event: status").count() < 2 {
            assert!(viewer.read_line(&mut lines).unwrap() > 0, "{lines}");
        }
        assert!(lines.contains("text/event-stream"), "{lines}");
        seen.push(lines);
    }
    let most = begin.elapsed().as_secs() as usize + 2;
    assert!((2..=most).contains(&asked.load(Ordering::SeqCst)), "once a second for all");
    drop(viewers);
    // The viewers are known to have gone when the next event cannot be written.
    std::thread::sleep(Duration::from_millis(2500));
    let before = asked.load(Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(1500));
    assert!(asked.load(Ordering::SeqCst) <= before + 1, "nobody looks any more");
}

#[test]
fn viewers_are_bounded_and_one_that_reads_nothing_harms_nobody() {
    let (at, _) = page(Access::Loopback);
    let host = format!("Host: {at}\r\n");
    let silent: Vec<TcpStream> =
        (0..2 * CONNECTIONS_MAX).map(|_| open(at, "/events", &host)).collect();
    let front = get(at, "/", &host);
    assert!(front.starts_with("HTTP/1.1 200"), "{front}");
    drop(silent);
}
