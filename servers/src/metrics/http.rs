//! The HTTP listener of a metrics page.

use super::family::Catalogue;
use super::page::render;
use serde_json::Value;
use std::net::SocketAddr;
use tiny_http::{Header, Method, Request, Response};
use tokio::sync::{mpsc, oneshot};

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
type Answer = (u16, &'static str, String);

/// Answers HTTP requests at this address, in a thread of its own, until the process ends. For each
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
    let state = move || {
        let (request, answer) = oneshot::channel();
        ask.send(request).ok()?;
        answer.blocking_recv().ok()
    };
    let fail = |why: &dyn std::fmt::Display| MetricsError { address, why: why.to_string() };
    let server = tiny_http::Server::http(address).map_err(|error| fail(&error))?;
    let at = server.server_addr().to_ip().ok_or_else(|| fail(&"it has no address"))?;
    std::thread::Builder::new()
        .name("metrics".into())
        .spawn(move || {
            for request in server.incoming_requests() {
                let (code, content_type, text) = answer(&request, catalogue, &state);
                let response = Response::from_string(text).with_status_code(code);
                // The caller may have gone. Then there is nobody to tell.
                let _ = match Header::from_bytes("Content-Type", content_type) {
                    Ok(header) => request.respond(response.with_header(header)),
                    Err(()) => request.respond(response),
                };
            }
        })
        .map_err(|error| fail(&error))?;
    Ok((at, requests))
}

fn answer(
    request: &Request,
    catalogue: &'static Catalogue,
    state: &impl Fn() -> Option<Value>,
) -> Answer {
    if !matches!(request.method(), Method::Get | Method::Head) {
        return (405, TEXT_TYPE, "only GET is allowed here; see /metrics\n".into());
    }
    let path = request.url().split('?').next().unwrap_or_default();
    match path {
        "/" => (200, HTML_TYPE, front_page(catalogue.program)),
        "/metrics" => match state() {
            Some(state) => (200, METRICS_TYPE, render(catalogue, &state)),
            None => (503, TEXT_TYPE, format!("{} is ending\n", catalogue.program)),
        },
        _ => (404, TEXT_TYPE, "there is nothing here; the metrics are at /metrics\n".into()),
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

    static CATALOGUE: Catalogue =
        Catalogue { program: "x", families: &[Family::gauge("x_a", "A.", Source::Value("/a"))] };

    fn get(at: SocketAddr, line: &str) -> String {
        let mut stream = TcpStream::connect(at).unwrap();
        write!(stream, "{line} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn metrics_and_a_front_page_are_served_and_unknown_paths_get_404() {
        let (at, mut requests) = listen("127.0.0.1:0".parse().unwrap(), &CATALOGUE).unwrap();
        let answering = std::thread::spawn(move || {
            for _ in 0..2 {
                let request = requests.blocking_recv().unwrap();
                request.send(serde_json::json!({ "a": 1 })).unwrap();
            }
            requests.close();
        });
        for path in ["GET /metrics", "GET /metrics?x=y"] {
            let page = get(at, path);
            assert!(page.starts_with("HTTP/1.1 200") && page.contains("x_a 1"), "{page}");
            assert!(page.contains("version=0.0.4"), "{page}");
        }
        let front = get(at, "GET /");
        assert!(front.starts_with("HTTP/1.1 200"), "{front}");
        assert!(front.contains("href=\"/metrics\"") && front.contains("text/html"), "{front}");
        let unknown = get(at, "GET /metric");
        assert!(unknown.starts_with("HTTP/1.1 404") && unknown.contains("/metrics"), "{unknown}");
        assert!(get(at, "POST /metrics").starts_with("HTTP/1.1 405"));
        answering.join().unwrap();
        assert!(get(at, "GET /metrics").starts_with("HTTP/1.1 503"));
        let taken = listen(at, &CATALOGUE).unwrap_err().to_string();
        assert!(taken.contains("cannot listen") && taken.contains("--metrics"), "{taken}");
    }
}
