//! The socket in the job's directory: whoever may write there can ask for images.
//!
//! One line asks (`images`), lines of JSON answer: one for each rank, with its image or why there is
//! none, and a last one that says that this was all.

use super::{Launcher, LauncherEvent};
use crate::output::Printer;
use ftmpi_protocols::dispatcher::Input;
use ftmpi_servers::metrics;
use ftmpi_wire::{ImageNo, Rank};
use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;

const NAME: &str = "control";
/// A question has at most so many bytes and takes at most this long.
const QUESTION_BYTES_MAX: u64 = 256;
const QUESTION_LIMIT: Duration = Duration::from_secs(5);

/// Somebody who waits for images.
#[derive(Debug)]
pub struct ImageRequest {
    ranks: BTreeSet<Rank>,
    answers_to: mpsc::UnboundedSender<String>,
}

/// What became of an image: its number and bytes, or why there is none.
pub type ImageOutcome<'a> = (Rank, Result<(ImageNo, u64), &'a str>);

/// Listens in this directory.
///
/// # Errors
/// No socket can be made there (some shared file systems have none).
pub fn listen(directory: &Path, events: mpsc::UnboundedSender<LauncherEvent>) -> io::Result<()> {
    // The name of a socket is short; that of a directory need not be.
    let folder = std::fs::File::open(directory)?;
    let path = format!("/proc/self/fd/{}/{NAME}", folder.as_raw_fd());
    // Of a launcher that died; we hold the lock.
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path)?;
    tokio::spawn(async move {
        let _folder = folder;
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, events.clone()));
        }
    });
    Ok(())
}

/// The job is over.
pub fn close(directory: &Path) {
    let _ = std::fs::remove_file(directory.join(NAME));
}

async fn serve(stream: UnixStream, events: mpsc::UnboundedSender<LauncherEvent>) {
    let (read, mut write) = stream.into_split();
    let mut question = String::new();
    let mut read = BufReader::new(read.take(QUESTION_BYTES_MAX));
    let asked = tokio::time::timeout(QUESTION_LIMIT, read.read_line(&mut question)).await;
    if !matches!(asked, Ok(Ok(1..))) {
        return;
    }
    let (answers_to, mut answers) = mpsc::unbounded_channel::<String>();
    match question.trim() {
        "images" => {
            let _ = events.send(LauncherEvent::ImagesWanted(answers_to));
        }
        other => {
            let answer = serde_json::json!({ "error": format!("`{other}` is unknown here") });
            let _ = answers_to.send(answer.to_string());
            drop(answers_to);
        }
    }
    while let Some(answer) = answers.recv().await {
        if write.write_all(format!("{answer}\n").as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Whoever asks at this address hears what the report would say now.
pub(super) fn serve_metrics(
    address: SocketAddr,
    printer: &Printer,
    events: &mpsc::UnboundedSender<LauncherEvent>,
) -> anyhow::Result<()> {
    let (at, mut questions) = metrics::listen(address, &metrics::catalogue::JOB)?;
    printer.notice(format!("metrics at http://{at}/metrics"));
    let events = events.clone();
    tokio::spawn(async move {
        while let Some(question) = questions.recv().await {
            let _ = events.send(LauncherEvent::StateWanted(question));
        }
    });
    Ok(())
}

impl Launcher {
    pub(super) fn images_wanted(&mut self, answers_to: mpsc::UnboundedSender<String>) {
        let ranks = self.dispatcher.can_take_images().into_iter().collect();
        self.requests.push(ImageRequest { ranks, answers_to });
        self.notify_dispatcher(Input::ImagesWanted);
        self.answer_requests(None);
    }

    /// An image of this rank came, or did not.
    pub(super) fn answer_requests(&mut self, outcome_of: Option<ImageOutcome<'_>>) {
        self.requests.retain_mut(|request| {
            if let Some((rank, outcome)) = &outcome_of
                && request.ranks.remove(rank)
            {
                let answer = match outcome {
                    Ok((image, bytes)) => {
                        serde_json::json!({ "rank": rank, "image": image, "bytes": bytes })
                    }
                    Err(why) => serde_json::json!({ "rank": rank, "why": why }),
                };
                let _ = request.answers_to.send(answer.to_string());
            }
            let done = request.ranks.is_empty();
            if done {
                let _ = request.answers_to.send(serde_json::json!({ "done": true }).to_string());
            }
            !done
        });
    }
}
