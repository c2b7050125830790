//! The processes that answer `--metrics` and `--dashboard`: `ftmpiexec --metrics-page` and
//! `ftmpiexec --dashboard-page`, which the launcher starts.
//!
//! Guarantees: callers of a page and faults of its code cost the page, not the job. A page has its
//! own descriptors, memory and process. It gets the socket that listens as its standard input, and
//! a socket to the launcher as its standard output. The launcher writes one line of settings. Then
//! the page asks with one byte, and gets one line of JSON. It ends with the launcher.

use crate::pages;
use crate::tuning::{METRICS_RESTART_PAUSE, METRICS_STARTS_MAX, PAGE_LINGER};
use anyhow::Context;
use ftmpi_servers::dashboard::access::Access;
use ftmpi_servers::dashboard::{self, Question, Site};
use ftmpi_servers::metrics::{self, StateRequest};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ffi::CStr;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as Pair;
use std::process::Stdio;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::process::{Child, Command};
use tokio::sync::mpsc;

/// A page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    /// The metrics, for Prometheus.
    Metrics,
    /// The state of the job, for people.
    Dashboard,
}

impl Page {
    /// The page that this option makes this program, if it is one.
    pub fn of_option(option: &str) -> Option<Self> {
        [Self::Metrics, Self::Dashboard].into_iter().find(|page| page.option() == option)
    }

    const fn option(self) -> &'static str {
        match self {
            Self::Metrics => "--metrics-page",
            Self::Dashboard => "--dashboard-page",
        }
    }

    /// The name of the process in lists.
    const fn process_name(self) -> &'static CStr {
        match self {
            Self::Metrics => c"ftmpi-metrics",
            Self::Dashboard => c"ftmpi-dashboard",
        }
    }

    /// What it is called in messages.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Metrics => "the metrics page",
            Self::Dashboard => "the dashboard",
        }
    }
}

/// What a page is told first.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Settings {
    /// What callers must have.
    pub token: Option<String>,
}

/// A question for the metrics.
const METRICS: u8 = b'?';
/// A question for the state of the job.
const STATUS: u8 = b's';

type Asked = (Question, StateRequest);

/// Answers callers until the launcher is gone.
///
/// # Errors
/// The launcher has not started this process.
pub fn run(page: Page) -> anyhow::Result<()> {
    // The name of the process, whichever of its threads runs this.
    let _ = std::fs::write("/proc/self/comm", page.process_name().to_bytes());
    let inherited = |fd: std::os::fd::BorrowedFd<'_>| fd.try_clone_to_owned();
    let about = "only ftmpiexec itself starts this page";
    let listener = TcpListener::from(inherited(std::io::stdin().as_fd()).context(about)?);
    let launcher = Pair::from(inherited(std::io::stdout().as_fd()).context(about)?);
    let address = listener.local_addr().context(about)?;
    launcher.set_nonblocking(true).context(about)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let launcher = UnixStream::from_std(launcher).context(about)?;
        let (read, write) = launcher.into_split();
        let mut lines = BufReader::new(read).lines();
        let settings = lines.next_line().await?.context(about)?;
        let settings: Settings = serde_json::from_str(&settings).context(about)?;
        let (ask, questions) = mpsc::unbounded_channel();
        let passing = pass_on((lines, write), questions);
        match page {
            Page::Metrics => {
                let (states, mut requests) = mpsc::unbounded_channel();
                tokio::spawn(async move {
                    while let Some(request) = requests.recv().await {
                        let _ = ask.send((Question::Metrics, request));
                    }
                });
                tokio::select! {
                    served = metrics::serve(listener, &metrics::catalogue::JOB, states) => Ok(served?),
                    () = passing => Ok(()),
                }
            }
            Page::Dashboard => {
                let (page, policy) = pages::dashboard();
                let access = Access::of(address, settings.token);
                let site = Site { page, policy, catalogue: &metrics::catalogue::JOB, access };
                let mut serving = std::pin::pin!(dashboard::serve(listener, site, ask));
                tokio::select! {
                    served = &mut serving => Ok(served?),
                    // Viewers are told that the job has ended.
                    () = passing => {
                        let _ = tokio::time::timeout(PAGE_LINGER, serving).await;
                        Ok(())
                    }
                }
            }
        }
    })
}

/// Passes questions on to the launcher, one after the other, until the launcher is gone.
async fn pass_on<R: AsyncBufRead + Unpin>(
    (mut answers, mut write): (Lines<R>, OwnedWriteHalf),
    mut questions: mpsc::UnboundedReceiver<Asked>,
) {
    loop {
        let (question, request) = tokio::select! {
            Some(question) = questions.recv() => question,
            // Nothing was asked: this is the end.
            _ = answers.next_line() => return,
        };
        let byte = match question {
            Question::Metrics => METRICS,
            Question::Status => STATUS,
        };
        if write.write_all(&[byte]).await.is_err() {
            return;
        }
        let Ok(Some(answer)) = answers.next_line().await else { return };
        if let Ok(state) = serde_json::from_str::<Value>(&answer) {
            let _ = request.send(state);
        }
    }
}

/// Starts a page on this socket, and again if it ends. `ask` puts a question to the launcher,
/// `tell` says something to the user. Returns when the page is given up.
pub async fn keep(
    (page, settings): (Page, Settings),
    listener: TcpListener,
    ask: impl Fn(Question, StateRequest),
    tell: impl Fn(Ended, &str),
) {
    for start in 1.. {
        let why = match begin(page, &listener) {
            Ok((child, socket)) => {
                answer(socket, &settings, &ask).await;
                why_it_ended(child).await
            }
            Err(e) => format!("{e:#}"),
        };
        if start == METRICS_STARTS_MAX {
            return tell(Ended::ForGood, &why);
        }
        tell(Ended::StartsAgain, &why);
        tokio::time::sleep(METRICS_RESTART_PAUSE).await;
    }
}

/// What becomes of a page that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It is started again.
    StartsAgain,
    /// The job goes on without it.
    ForGood,
}

fn begin(page: Page, listener: &TcpListener) -> anyhow::Result<(Child, UnixStream)> {
    let (here, there) = Pair::pair()?;
    here.set_nonblocking(true)?;
    let child = Command::new(std::env::current_exe()?)
        .arg(page.option())
        .stdin(Stdio::from(OwnedFd::from(listener.try_clone()?)))
        .stdout(Stdio::from(OwnedFd::from(there)))
        .stderr(Stdio::null())
        // Ctrl-C is for the launcher.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    Ok((child, UnixStream::from_std(here)?))
}

/// Answers the page's questions to its end.
async fn answer(page: UnixStream, settings: &Settings, ask: &impl Fn(Question, StateRequest)) {
    let (mut read, mut write) = page.into_split();
    let settings = serde_json::to_string(settings).unwrap_or_default();
    if write.write_all((settings + "\n").as_bytes()).await.is_err() {
        return;
    }
    while let Ok(byte) = read.read_u8().await {
        let (request, state) = tokio::sync::oneshot::channel();
        ask(if byte == STATUS { Question::Status } else { Question::Metrics }, request);
        // A launcher that is ending does not answer.
        let Ok(state) = state.await else { return };
        if write.write_all(format!("{state}\n").as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn why_it_ended(mut child: Child) -> String {
    let _ = tokio::time::timeout(2 * PAGE_LINGER, child.wait()).await;
    let _ = child.start_kill();
    child.wait().await.map_or_else(|e| e.to_string(), |status| status.to_string())
}
