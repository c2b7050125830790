//! The HTTP listener of a metrics page.
//!
//! Guarantees: callers cost a bounded number of descriptors and tasks, and a bounded time each. A
//! caller that sends nothing, reads nothing or never leaves takes nothing from the next one: when
//! all places are taken, the connection that has been open longest ends. The program spends a
//! bounded part of its time on answers.

use super::family::Catalogue;
use super::page::render;
use crate::connections::Connections;
use crate::page_headers::{self, PLAIN_POLICY};
use crate::tuning::metrics::{
    CONNECTION_LIMIT, CONNECTIONS_MAX, HEADERS_MAX, REQUEST_BYTES_MAX, STATE_AGE, STATE_LIMIT,
};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ALLOW, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{Mutex, mpsc, oneshot};

const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";
const HTML_TYPE: &str = "text/html; charset=utf-8";
const TEXT_TYPE: &str = "text/plain; charset=utf-8";

/// A request for the state of the program, to be answered by the program.
pub type StateRequest = oneshot::Sender<Value>;

/// Why there is no metrics page.
#[derive(Debug, thiserror::Error)]
#[error(
    "metrics: cannot listen on {address}: {why}; choose another address or port with --metrics"
)]
pub struct MetricsError {
    address: SocketAddr,
    why: String,
}

/// An answer: status code, type, text.
type Answer = (StatusCode, &'static str, Bytes);

/// Takes the address. Nobody is answered before [`serve`] is called with the socket.
///
/// # Errors
/// The address cannot be listened on.
pub fn bind(address: SocketAddr) -> Result<(SocketAddr, TcpListener), MetricsError> {
    let fail = |error: std::io::Error| MetricsError { address, why: error.to_string() };
    let socket = TcpListener::bind(address).map_err(fail)?;
    socket.set_nonblocking(true).map_err(fail)?;
    Ok((socket.local_addr().map_err(fail)?, socket))
}

/// Answers HTTP requests at this address, in a thread of its own, until the process ends. For a
/// page the thread asks for the state through the channel. It answers 503 when nobody reads the
/// channel any more.
///
/// # Errors
/// The address cannot be listened on.
pub fn listen(
    address: SocketAddr,
    catalogue: &'static Catalogue,
) -> Result<(SocketAddr, mpsc::UnboundedReceiver<StateRequest>), MetricsError> {
    let (ask, requests) = mpsc::unbounded_channel::<StateRequest>();
    let (at, socket) = bind(address)?;
    let fail = |error: std::io::Error| MetricsError { address, why: error.to_string() };
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(fail)?;
    std::thread::Builder::new()
        .name("metrics".into())
        .spawn(move || {
            // Without a page the server serves all the same.
            let _ = runtime.block_on(serve(socket, catalogue, ask));
        })
        .map_err(fail)?;
    Ok((at, requests))
}

/// Answers HTTP requests on this socket of [`bind`].
///
/// # Errors
/// The socket cannot be used.
pub async fn serve(
    socket: TcpListener,
    catalogue: &'static Catalogue,
    ask: mpsc::UnboundedSender<StateRequest>,
) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(socket)?;
    let pages = Arc::new(Pages { catalogue, ask, latest: Mutex::new(None) });
    let mut open = Connections::new(CONNECTIONS_MAX);
    loop {
        let Some((stream, _)) = open.accepted(listener.accept().await).await else { continue };
        let pages = pages.clone();
        open.spawn(async move {
            let service = service_fn(|request: Request<Incoming>| {
                let pages = pages.clone();
                async move { Ok::<_, Infallible>(pages.respond(&request).await) }
            });
            // One answer for each connection: nobody keeps a place between two scrapes.
            let served = http1::Builder::new()
                .keep_alive(false)
                .max_headers(HEADERS_MAX)
                .max_buf_size(REQUEST_BYTES_MAX)
                .serve_connection(TokioIo::new(stream), service);
            // The caller may have gone, or be slow. Then there is nobody to tell.
            let _ = tokio::time::timeout(CONNECTION_LIMIT, served).await;
        });
    }
}

/// What callers get.
struct Pages {
    catalogue: &'static Catalogue,
    ask: mpsc::UnboundedSender<StateRequest>,
    /// The latest page of metrics, and until when it is shown again.
    latest: Mutex<Option<(Instant, Bytes)>>,
}

impl Pages {
    async fn respond(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let (code, content_type, text) = self.answer(request).await;
        let mut response = Response::new(Full::new(text));
        *response.status_mut() = code;
        let headers = response.headers_mut();
        page_headers::add(headers, content_type, PLAIN_POLICY);
        if code == StatusCode::METHOD_NOT_ALLOWED {
            headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        response
    }

    async fn answer(&self, request: &Request<Incoming>) -> Answer {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let text = "only GET is allowed here; see /metrics\n";
            return (StatusCode::METHOD_NOT_ALLOWED, TEXT_TYPE, text.into());
        }
        let program = self.catalogue.program;
        match request.uri().path() {
            "/" => (StatusCode::OK, HTML_TYPE, front_page(program).into()),
            "/metrics" => match self.metrics().await {
                Some(text) => (StatusCode::OK, METRICS_TYPE, text),
                None => {
                    let text = format!("{program} is ending, or busy; ask again\n");
                    (StatusCode::SERVICE_UNAVAILABLE, TEXT_TYPE, text.into())
                }
            },
            _ => {
                let text = "there is nothing here; the metrics are at /metrics\n";
                (StatusCode::NOT_FOUND, TEXT_TYPE, text.into())
            }
        }
    }

    async fn metrics(&self) -> Option<Bytes> {
        // Who waits here gets the page of the caller before.
        let mut latest = self.latest.lock().await;
        let young = latest.as_ref().filter(|(until, _)| Instant::now() < *until);
        if let Some((_, text)) = young {
            return Some(text.clone());
        }
        let since = Instant::now();
        let (request, answer) = oneshot::channel();
        self.ask.send(request).ok()?;
        let state = tokio::time::timeout(STATE_LIMIT, answer).await.ok()?.ok()?;
        let text = Bytes::from(render(self.catalogue, &state));
        *latest = Some((Instant::now() + since.elapsed() * STATE_AGE, text.clone()));
        Some(text)
    }
}

fn front_page(program: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><title>{program}</title></head>\n<body><h1>{program}</h1>\n\
         <p><a href=\"/metrics\">Metrics</a> in the text format of Prometheus.</p></body></html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::family::{Family, Source};
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    static CATALOGUE: Catalogue =
        Catalogue { program: "x", families: &[Family::gauge("x_a", "A.", Source::Value("/a"))] };

    fn get(at: SocketAddr, line: &str) -> String {
        let mut stream = TcpStream::connect(at).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        // A request that is too long is refused before all of it is written.
        let _ = write!(stream, "{line} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        text
    }

    fn get_until(at: SocketAddr, line: &str, text: &str) -> String {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let page = get(at, line);
            if page.contains(text) {
                return page;
            }
            assert!(Instant::now() < deadline, "{page}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// A page whose program counts how often it is asked; it stops answering after so many times.
    fn page(times: usize) -> (SocketAddr, Arc<AtomicUsize>) {
        let (at, mut requests) = listen("127.0.0.1:0".parse().unwrap(), &CATALOGUE).unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = asked.clone();
        std::thread::spawn(move || {
            for _ in 0..times {
                let Some(request) = requests.blocking_recv() else { return };
                let number = counter.fetch_add(1, Ordering::SeqCst);
                let _ = request.send(serde_json::json!({ "a": number + 1 }));
            }
            requests.close();
        });
        (at, asked)
    }

    #[test]
    fn metrics_and_a_front_page_are_served_and_unknown_paths_get_404() {
        let (at, _) = page(2);
        for (path, value) in [("GET /metrics", "x_a 1"), ("GET /metrics?x=y", "x_a 2")] {
            // A page is shown again for a while.
            let page = get_until(at, path, value);
            assert!(page.starts_with("HTTP/1.1 200"), "{page}");
            assert!(page.contains("version=0.0.4"), "{page}");
        }
        let front = get(at, "GET /");
        assert!(front.starts_with("HTTP/1.1 200"), "{front}");
        assert!(front.contains("href=\"/metrics\"") && front.contains("text/html"), "{front}");
        for header in ["x-content-type-options: nosniff", "default-src 'none'", "no-store"] {
            assert!(front.contains(header), "{header}: {front}");
        }
        let head = get(at, "HEAD /");
        assert!(head.starts_with("HTTP/1.1 200") && !head.contains("href"), "{head}");
        let unknown = get(at, "GET /metric");
        assert!(unknown.starts_with("HTTP/1.1 404") && unknown.contains("/metrics"), "{unknown}");
        assert!(get(at, "POST /metrics").starts_with("HTTP/1.1 405"));
        get_until(at, "GET /metrics", "HTTP/1.1 503");
        let taken = listen(at, &CATALOGUE).unwrap_err().to_string();
        assert!(taken.contains("cannot listen") && taken.contains("--metrics"), "{taken}");
    }

    #[test]
    fn idle_and_slow_callers_cost_bounded_descriptors_and_no_page() {
        let (at, asked) = page(usize::MAX);
        let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let before = open();
        let idle: Vec<TcpStream> =
            (0..4 * CONNECTIONS_MAX).map(|_| TcpStream::connect(at).unwrap()).collect();
        // One that never ends its request, one that sends no HTTP, one that reads nothing.
        for begin in ["GET /metrics HTTP/1.1\r\nHost: ", "\x16\x03\x01 hello\r\n\r\n"] {
            TcpStream::connect(at).unwrap().write_all(begin.as_bytes()).unwrap();
        }
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(2 * REQUEST_BYTES_MAX));
        assert!(!get(at, long.trim_end()).starts_with("HTTP/1.1 200"));
        for _ in 0..3 {
            let page = get(at, "GET /metrics");
            assert!(page.starts_with("HTTP/1.1 200") && page.contains("x_a"), "{page}");
        }
        // The callers' ends are in this process, too. Other tests of this process open a few.
        let ours = open().saturating_sub(before + idle.len());
        assert!(ours < CONNECTIONS_MAX + 60, "{ours} descriptors for idle callers");
        assert!(asked.load(Ordering::SeqCst) <= 3);
        drop(idle);
    }
}
