//! The process that answers `--metrics`: `ftmpiexec --metrics-page`, which the launcher starts.
//!
//! Guarantees: callers of the page and faults of its code cost the page, not the job. The page has
//! its own descriptors, memory and process. It gets the socket that listens as its standard input,
//! and a socket to the launcher as its standard output. It asks for the state with one byte, and
//! gets one line of JSON. It ends with the launcher.

use crate::tuning::{METRICS_RESTART_PAUSE, METRICS_STARTS_MAX};
use anyhow::Context;
use ftmpi_servers::metrics::{self, StateRequest};
use serde_json::Value;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as Pair;
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::sync::mpsc;

/// The option that makes this program the page.
pub const OPTION: &str = "--metrics-page";
/// The name of the process in lists.
const NAME: &std::ffi::CStr = c"ftmpi-metrics";
/// A question for the state.
const QUESTION: u8 = b'?';

/// Answers callers until the launcher is gone.
///
/// # Errors
/// The launcher has not started this process.
pub fn run() -> anyhow::Result<()> {
    let _ = rustix::thread::set_name(NAME);
    let inherited = |fd: std::os::fd::BorrowedFd<'_>| fd.try_clone_to_owned();
    let about = "only ftmpiexec itself starts a metrics page";
    let listener = TcpListener::from(inherited(std::io::stdin().as_fd()).context(about)?);
    let launcher = Pair::from(inherited(std::io::stdout().as_fd()).context(about)?);
    listener.local_addr().context(about)?;
    launcher.set_nonblocking(true).context(about)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let launcher = UnixStream::from_std(launcher).context(about)?;
        let (ask, questions) = mpsc::unbounded_channel();
        tokio::select! {
            served = metrics::serve(listener, &metrics::catalogue::JOB, ask) => Ok(served?),
            () = pass_on(launcher, questions) => Ok(()),
        }
    })
}

/// Passes questions on to the launcher, one after the other, until the launcher is gone.
async fn pass_on(launcher: UnixStream, mut questions: mpsc::UnboundedReceiver<StateRequest>) {
    let (read, mut write) = launcher.into_split();
    let mut answers = BufReader::new(read).lines();
    loop {
        let question = tokio::select! {
            Some(question) = questions.recv() => question,
            // Nothing was asked: this is the end.
            _ = answers.next_line() => return,
        };
        if write.write_all(&[QUESTION]).await.is_err() {
            return;
        }
        let Ok(Some(answer)) = answers.next_line().await else { return };
        if let Ok(state) = serde_json::from_str::<Value>(&answer) {
            let _ = question.send(state);
        }
    }
}

/// Starts the page on this socket, and again if it ends. `ask` puts a question to the launcher,
/// `tell` says something to the user. Returns when the page is given up.
pub async fn keep(listener: TcpListener, ask: impl Fn(StateRequest), tell: impl Fn(Ended, &str)) {
    for start in 1.. {
        let why = match begin(&listener) {
            Ok((child, page)) => {
                answer(page, &ask).await;
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

fn begin(listener: &TcpListener) -> anyhow::Result<(Child, UnixStream)> {
    let (here, there) = Pair::pair()?;
    here.set_nonblocking(true)?;
    let child = Command::new(std::env::current_exe()?)
        .arg(OPTION)
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
async fn answer(page: UnixStream, ask: &impl Fn(StateRequest)) {
    let (mut read, mut write) = page.into_split();
    while read.read_u8().await.is_ok() {
        let (question, state) = tokio::sync::oneshot::channel();
        ask(question);
        // A launcher that is ending does not answer.
        let Ok(state) = state.await else { return };
        if write.write_all(format!("{state}\n").as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn why_it_ended(mut child: Child) -> String {
    let _ = child.start_kill();
    child.wait().await.map_or_else(|e| e.to_string(), |status| status.to_string())
}
