//! The socket in the job's directory, where users ask for images, and the address for metrics.
//!
//! Every user who may write in the directory may ask. One line asks (`images`). Lines of JSON
//! answer: one for each rank, with its image or why there is none, and a last line that ends the
//! answer.

use super::events::{ImageAnswers, LauncherEvent};
use super::{Launcher, notices};
use crate::metrics_page;
use crate::output::Printer;
use crate::tuning::{CONTROL_CONNECTIONS_MAX, QUESTION_BYTES_MAX, QUESTION_LIMIT};
use ftmpi_protocols::dispatcher::Input;
use ftmpi_servers::connections::Connections;
use ftmpi_servers::metrics;
use ftmpi_wire::{ImageNo, Rank};
use serde_json::json;
use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::path::Path;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;

const NAME: &str = "control";

/// A user who waits for images of these ranks.
#[derive(Debug)]
struct ImageRequest {
    ranks: BTreeSet<Rank>,
    answers: ImageAnswers,
}

/// All users who wait for images.
#[derive(Debug, Default)]
pub struct ImageRequests(Vec<ImageRequest>);

impl ImageRequests {
    /// A user asks for images of these ranks.
    fn add(&mut self, ranks: BTreeSet<Rank>, answers: ImageAnswers) {
        self.0.push(ImageRequest { ranks, answers });
        self.finish();
    }

    /// An image of a rank was stored, with this number and so many bytes; or why there is none.
    pub fn answer(&mut self, rank: Rank, outcome: Result<(ImageNo, u64), &str>) {
        for request in &mut self.0 {
            if request.ranks.remove(&rank) {
                let answer = match outcome {
                    Ok((image, bytes)) => json!({ "rank": rank, "image": image, "bytes": bytes }),
                    Err(why) => json!({ "rank": rank, "why": why }),
                };
                let _ = request.answers.send(answer.to_string());
            }
        }
        self.finish();
    }

    /// Ends the answers that are complete.
    fn finish(&mut self) {
        self.0.retain(|request| {
            let done = request.ranks.is_empty();
            if done {
                let _ = request.answers.send(json!({ "done": true }).to_string());
            }
            !done
        });
    }
}

/// Listens in this directory.
///
/// # Errors
/// No socket can be made there: some shared file systems have none.
fn listen(directory: &Path, events: mpsc::UnboundedSender<LauncherEvent>) -> io::Result<()> {
    // The name of a socket must be short; the path of a directory may be long.
    let folder = std::fs::File::open(directory)?;
    let path = format!("/proc/self/fd/{}/{NAME}", folder.as_raw_fd());
    // The socket of a launcher that died: this launcher holds the lock now.
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path)?;
    tokio::spawn(async move {
        let _folder = folder;
        let mut open = Connections::new(CONTROL_CONNECTIONS_MAX);
        loop {
            let Some((stream, _)) = open.accepted(listener.accept().await).await else { continue };
            open.spawn(serve(stream, events.clone()));
        }
    });
    Ok(())
}

/// Removes the socket: the job is over.
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
    let (sender, mut answers) = mpsc::unbounded_channel::<String>();
    match question.trim() {
        "images" => {
            let _ = events.send(LauncherEvent::ImagesWanted(sender));
        }
        other => {
            let _ =
                sender.send(json!({ "error": format!("`{other}` is unknown here") }).to_string());
            drop(sender);
        }
    }
    while let Some(answer) = answers.recv().await {
        if write.write_all(format!("{answer}\n").as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Answers every request at this address with what the report would say now, in a process of its
/// own.
///
/// # Errors
/// The address cannot be used.
pub fn serve_metrics(
    address: SocketAddr,
    printer: &Printer,
    events: &mpsc::UnboundedSender<LauncherEvent>,
) -> anyhow::Result<()> {
    let (at, socket) = metrics::bind(address)?;
    printer.notice(notices::metrics_at(at));
    let (asking, telling) = (events.clone(), events.clone());
    let ask = move |question| {
        let _ = asking.send(LauncherEvent::StateWanted(question));
    };
    let tell = move |ended, why: &str| {
        let _ = telling.send(LauncherEvent::Notice(notices::metrics_ended(ended, why)));
    };
    tokio::spawn(metrics_page::keep(socket, ask, tell));
    Ok(())
}

impl Launcher {
    /// Lets users ask for images through the job's directory, if there is one.
    pub(super) fn listen_in_directory(&self) {
        if let Some(directory) = self.store.directory()
            && let Err(e) = listen(directory.path(), self.events.clone())
        {
            self.printer.notice(notices::no_control_socket(&e));
        }
    }

    /// A user asks for an image of every rank.
    pub(super) fn images_wanted(&mut self, answers: ImageAnswers) {
        let ranks = self.dispatcher.can_take_images().into_iter().collect();
        self.notify_dispatcher(Input::ImagesWanted);
        self.requests.add(ranks, answers);
    }
}
