//! The web page of a running job: `--dashboard`.
//!
//! | path | what |
//! | --- | --- |
//! | `/` | the page |
//! | `/events` | the state of the job, again and again, as server-sent events |
//! | `/status` | the state of the job once, as JSON |
//! | `/metrics` | the metrics of the job |
//!
//! Guarantees: nothing can be changed here. The launcher is asked once for all viewers, not more
//! often than once a second, and not at all while nobody looks. A job whose state takes long to
//! tell is asked more seldom. A viewer that reads slowly skips states. Connections are bounded as
//! those of the metrics. Who may look is decided in [`access`].

pub mod access;
mod live;
mod owner;

use crate::connections::Connections;
use crate::metrics::{Catalogue, StateRequest, render};
use crate::page_headers;
use crate::tuning::dashboard::{
    CONNECTION_LIMIT, CONNECTIONS_MAX, STATE_LIMIT, STATE_SHARE, VIEW_LIMIT,
};
use crate::tuning::metrics::{HEADERS_MAX, REQUEST_BYTES_MAX};
use access::{Access, Caller, Verdict};
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use live::{Body, Live};
use serde_json::Value;
use std::convert::Infallible;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{Mutex, mpsc, oneshot};

/// What the launcher is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// The values of metrics.
    Metrics,
    /// The state of the job, with what would be lost now.
    Status,
}

/// Where questions go.
pub type Ask = mpsc::UnboundedSender<(Question, StateRequest)>;

/// What is served.
#[derive(Debug)]
pub struct Site {
    /// The page.
    pub page: String,
    /// Its content security policy.
    pub policy: String,
    /// The metrics of the job.
    pub catalogue: &'static Catalogue,
    /// Who may see it.
    pub access: Access,
}

const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// Answers HTTP requests on this socket.
///
/// # Errors
/// The socket cannot be used.
pub async fn serve(socket: TcpListener, site: Site, ask: Ask) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(socket)?;
    let live = Live::start(ask.clone());
    let pages = Arc::new(Pages { site, ask, live, latest: Default::default() });
    let mut open = Connections::new(CONNECTIONS_MAX);
    loop {
        let Some((stream, at)) = open.accepted(listener.accept().await).await else { continue };
        let pages = pages.clone();
        open.spawn(async move {
            let here = stream.local_addr();
            let is_ours = here.is_ok_and(|here| owner::is_ours(at, here));
            let service = service_fn(|request: Request<Incoming>| {
                let pages = pages.clone();
                async move { Ok::<_, Infallible>(pages.respond(&request, is_ours).await) }
            });
            let served = http1::Builder::new()
                .keep_alive(false)
                .max_headers(HEADERS_MAX)
                .max_buf_size(REQUEST_BYTES_MAX)
                .timer(hyper_util::rt::TokioTimer::new())
                .header_read_timeout(CONNECTION_LIMIT)
                .serve_connection(TokioIo::new(stream), service);
            // A browser comes back by itself.
            let _ = tokio::time::timeout(VIEW_LIMIT, served).await;
        });
    }
}

struct Pages {
    site: Site,
    ask: Ask,
    live: Live,
    /// The latest metrics and the latest state, and until when each is shown again.
    latest: [Mutex<Option<(Instant, Bytes)>>; 2],
}

type Answer = (StatusCode, &'static str, Body);

impl Pages {
    async fn respond(&self, request: &Request<Incoming>, is_ours: bool) -> Response<Body> {
        let verdict = self.site.access.decide(Caller { is_ours, ..caller(request) });
        let mut cookie = None;
        let (code, kind, body) = match verdict {
            _ if !matches!(*request.method(), Method::GET | Method::HEAD) => {
                text(StatusCode::METHOD_NOT_ALLOWED, "only GET is allowed here\n")
            }
            Verdict::WrongHost => text(
                StatusCode::FORBIDDEN,
                "this page is for its own host: open it as http://localhost:PORT/\n",
            ),
            Verdict::OtherUser => {
                text(StatusCode::FORBIDDEN, "this page is for the user who started the job\n")
            }
            Verdict::NoToken => text(
                StatusCode::FORBIDDEN,
                "a token is needed: open the address that ftmpiexec printed, with ?token=…\n",
            ),
            Verdict::Remember(value) => {
                cookie = HeaderValue::from_str(&value).ok();
                (StatusCode::SEE_OTHER, TEXT, Body::whole(Bytes::new()))
            }
            Verdict::Allowed => self.answer(request.uri().path()).await,
        };
        let mut response = Response::new(body);
        *response.status_mut() = code;
        page_headers::add(response.headers_mut(), kind, &self.site.policy);
        if let Some(cookie) = cookie {
            response.headers_mut().insert(header::SET_COOKIE, cookie);
            response.headers_mut().insert(header::LOCATION, HeaderValue::from_static("/"));
        }
        response
    }

    async fn answer(&self, path: &str) -> Answer {
        let busy = || text(StatusCode::SERVICE_UNAVAILABLE, "the job is ending, or busy\n");
        match path {
            "/" => (StatusCode::OK, HTML, Body::whole(self.site.page.clone().into())),
            "/events" => match self.live.watch() {
                Some(body) => (StatusCode::OK, "text/event-stream", body),
                None => text(StatusCode::SERVICE_UNAVAILABLE, "too many viewers\n"),
            },
            "/status" => match self.text_of(Question::Status).await {
                Some(text) => (StatusCode::OK, JSON, Body::whole(text)),
                None => busy(),
            },
            "/metrics" => match self.text_of(Question::Metrics).await {
                Some(text) => (StatusCode::OK, METRICS, Body::whole(text)),
                None => busy(),
            },
            _ => text(StatusCode::NOT_FOUND, "there is nothing here; the page is at /\n"),
        }
    }

    /// The answer to a question, which callers in a row share.
    async fn text_of(&self, question: Question) -> Option<Bytes> {
        let mut latest = self.latest[question as usize].lock().await;
        let young = latest.as_ref().filter(|(until, _)| Instant::now() < *until);
        if let Some((_, text)) = young {
            return Some(text.clone());
        }
        let since = Instant::now();
        let (request, answer) = oneshot::channel();
        self.ask.send((question, request)).ok()?;
        let state: Value = tokio::time::timeout(STATE_LIMIT, answer).await.ok()?.ok()?;
        let text = Bytes::from(match question {
            Question::Metrics => render(self.site.catalogue, &state),
            Question::Status => state.to_string(),
        });
        *latest = Some((Instant::now() + since.elapsed() * STATE_SHARE, text.clone()));
        Some(text)
    }
}

fn text(code: StatusCode, text: &'static str) -> Answer {
    (code, TEXT, Body::whole(Bytes::from_static(text.as_bytes())))
}

fn caller(request: &Request<Incoming>) -> Caller<'_> {
    let header =
        |name| request.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    Caller {
        is_ours: false,
        host: header(header::HOST),
        query: request.uri().query(),
        cookie: header(header::COOKIE),
        authorization: header(header::AUTHORIZATION),
    }
}

#[cfg(test)]
mod tests;
