//! The socket where users ask the running job.
//!
//! The socket is in the directory of the job; a job without a directory has a folder for it
//! (`ftmpi_servers::job_control`). Guarantees: only the user of the job and the administrator are
//! answered, whoever can reach the socket. A request is bounded in bytes and in time, and so is the
//! number of users at a time. A user who goes away keeps no place. A request that makes no sense is
//! refused, and costs nothing else.
//!
//! One line asks: a request (`ftmpi_wire::job_control`), or the word `images`, as `ftmpi-ckpt
//! request` writes it.

mod verbs;

pub use verbs::Pending;
use verbs::say;

use super::events::{ImageAnswers, LauncherEvent};
use super::joins::serve_command;
use super::{Launcher, notices};
use crate::text::count;
use crate::tuning::{CONTROL_CONNECTIONS_MAX, LOOK_WHO_WAITS, QUESTION_LIMIT};
use ftmpi_protocols::dispatcher::Input;
use ftmpi_servers::connections::Connections;
use ftmpi_servers::job_control::Registration;
use ftmpi_wire::job_control::{Answer, REQUEST_BYTES_MAX, Request, SOCKET, VERSION, Verb};
use ftmpi_wire::{ImageNo, Rank};
use serde_json::json;
use std::collections::BTreeSet;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Interest};
use tokio::net::unix::OwnedWriteHalf;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;

/// How the answers to a request for images look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// For the word `images`.
    Word,
    /// For a request.
    Request,
}

/// A user who waits for images of these ranks.
#[derive(Debug)]
struct ImageRequest {
    ranks: BTreeSet<Rank>,
    /// How many ranks have no new image.
    failed: usize,
    answers: ImageAnswers,
    style: Style,
}

/// Why a rank has no new image, where no image failed.
pub(super) const PROGRAM_ENDS: &str = "its program ends";
pub(super) const PROCESS_ENDED: &str = "its process has ended; ask again when the rank is back";

/// All users who wait for images.
#[derive(Debug, Default)]
pub struct ImageRequests(Vec<ImageRequest>);

impl ImageRequests {
    /// A user asks for images of these ranks.
    fn add(&mut self, ranks: BTreeSet<Rank>, answers: ImageAnswers, style: Style) {
        self.0.push(ImageRequest { ranks, failed: 0, answers, style });
        self.finish();
    }

    /// An image of a rank was stored, with this number and so many bytes; or why there is none.
    pub fn answer(&mut self, rank: Rank, outcome: Result<(ImageNo, u64), &str>) {
        for request in &mut self.0 {
            if !request.ranks.remove(&rank) {
                continue;
            }
            request.failed += usize::from(outcome.is_err());
            match (request.style, outcome) {
                (Style::Word, Ok((image, bytes))) => {
                    let answer = json!({ "rank": rank, "image": image, "bytes": bytes });
                    let _ = request.answers.send(answer.to_string());
                }
                (Style::Word, Err(why)) => {
                    let answer = json!({ "rank": rank, "why": why });
                    let _ = request.answers.send(answer.to_string());
                }
                (Style::Request, Ok((image, bytes))) => {
                    let (rank, image) = (rank.0, image.0);
                    say(&request.answers, &Answer::Image { rank, image, bytes });
                }
                (Style::Request, Err(why)) => {
                    let (rank, why) = (rank.0, why.to_owned());
                    say(&request.answers, &Answer::NoImage { rank, why });
                }
            }
        }
        self.finish();
    }

    /// Ends the answers that are complete, and forgets users who have gone.
    fn finish(&mut self) {
        self.0.retain(|request| {
            if request.answers.is_closed() {
                return false;
            }
            let done = request.ranks.is_empty();
            if done {
                match request.style {
                    Style::Word => {
                        let _ = request.answers.send(json!({ "done": true }).to_string());
                    }
                    Style::Request if request.failed == 0 => {
                        say(&request.answers, &Answer::Done("these are all images".to_owned()));
                    }
                    Style::Request => {
                        let failed = count(request.failed, "rank");
                        let verb = if request.failed == 1 { "has" } else { "have" };
                        let why = format!("{failed} {verb} no new image, for the reasons above");
                        say(&request.answers, &Answer::Refused(why));
                    }
                }
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
    let path = format!("/proc/self/fd/{}/{SOCKET}", folder.as_raw_fd());
    // The socket of a launcher that died: this launcher holds the lock now.
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path)?;
    tokio::spawn(async move {
        let _folder = folder;
        let mut open = Connections::new(CONTROL_CONNECTIONS_MAX);
        loop {
            let Some((stream, _)) = open.accepted(listener.accept().await).await else { continue };
            if !is_allowed(&stream) {
                continue;
            }
            open.spawn(serve(stream, events.clone()));
        }
    });
    Ok(())
}

/// Removes the socket: the job is over.
pub fn close(directory: &Path) {
    let _ = std::fs::remove_file(directory.join(SOCKET));
}

/// The user of this job, and the administrator.
fn is_allowed(stream: &UnixStream) -> bool {
    let own = rustix::process::geteuid().as_raw();
    stream.peer_cred().is_ok_and(|peer| peer.uid() == own || peer.uid() == 0)
}

/// What a line of a user asks for.
///
/// # Errors
/// It makes no sense here; the text is for the user.
fn request_of(line: &str) -> Result<Verb, String> {
    let request: Request = serde_json::from_str(line)
        .map_err(|e| format!("this is no request ({e}); use the ftmpi-ctl of this ftmpi"))?;
    if request.version != VERSION {
        let theirs = request.version;
        return Err(format!(
            "the launcher speaks version {VERSION} and not {theirs}; use the ftmpi-ctl of this ftmpi"
        ));
    }
    Ok(request.verb)
}

async fn serve(stream: UnixStream, events: mpsc::UnboundedSender<LauncherEvent>) {
    let (read, mut write) = stream.into_split();
    let mut question = String::new();
    let mut read = BufReader::new(read.take(REQUEST_BYTES_MAX));
    let asked = tokio::time::timeout(QUESTION_LIMIT, read.read_line(&mut question)).await;
    if !matches!(asked, Ok(Ok(1..))) {
        return;
    }
    let (sender, mut answers) = mpsc::unbounded_channel::<String>();
    match question.trim() {
        "images" => {
            let _ = events.send(LauncherEvent::ImagesWanted(sender));
        }
        line => match request_of(line) {
            Ok(Verb::Join(request)) => {
                // Such a connection stays, and takes no place of other users.
                tokio::spawn(serve_command(request, read, write, events));
                return;
            }
            Ok(verb) => {
                let _ = events.send(LauncherEvent::Asked { verb, answers: sender });
            }
            Err(why) => {
                say(&sender, &Answer::Refused(why));
                drop(sender);
            }
        },
    }
    loop {
        let answer = tokio::select! {
            answer = answers.recv() => answer,
            () = gone(&mut read, &write) => None,
        };
        let Some(answer) = answer else { return };
        if write.write_all(format!("{answer}\n").as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Returns when the user has gone. One who only says nothing more still waits for the answer.
pub async fn gone(read: &mut (impl AsyncReadExt + Unpin), write: &OwnedWriteHalf) {
    let mut rest = [0; 64];
    while matches!(read.read(&mut rest).await, Ok(1..)) {}
    while write.ready(Interest::WRITABLE).await.is_ok_and(|ready| !ready.is_write_closed()) {
        tokio::time::sleep(LOOK_WHO_WAITS).await;
    }
}

impl Launcher {
    /// Lets users ask, through the job's directory if there is one, and lists the job among those
    /// that run here.
    pub(super) fn listen_for_users(&mut self) {
        let directory = self.store.directory().map(|directory| directory.path().to_owned());
        if let Some(directory) = &directory
            && let Err(e) = listen(directory, self.events.clone())
        {
            return self.printer.notice(notices::no_control_socket(&e));
        }
        // Nobody needs to be listed: the directory of a job names the job as well.
        self.registration = Registration::make(std::process::id(), directory.as_deref()).ok();
        if let Some(folder) = self.registration.as_ref().and_then(Registration::folder) {
            let _ = listen(folder, self.events.clone());
        }
    }

    /// A user asks for an image of every rank.
    pub(super) fn images_wanted(&mut self, answers: ImageAnswers) {
        self.take_images_for(answers, Style::Word);
    }

    /// As [`Launcher::images_wanted`], by a request.
    fn images_asked(&mut self, answers: ImageAnswers) {
        if self.plan.ckpt_interval.is_none() {
            return say(&answers, &Answer::Refused(notices::no_images_here()));
        }
        self.take_images_for(answers, Style::Request);
    }

    fn take_images_for(&mut self, answers: ImageAnswers, style: Style) {
        let ranks: BTreeSet<Rank> = self.dispatcher.can_take_images().into_iter().collect();
        if ranks.is_empty() && style == Style::Request {
            let why = "no rank can take an image now: ftmpi-ctl status says what the ranks do";
            return say(&answers, &Answer::Refused(why.to_owned()));
        }
        self.notify_dispatcher(Input::ImagesWanted);
        self.requests.add(ranks, answers, style);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_without_an_image_does_not_keep_the_others_waiting() {
        let (sender, mut answers) = mpsc::unbounded_channel();
        let mut requests = ImageRequests::default();
        requests.add(BTreeSet::from([Rank(0), Rank(1)]), sender, Style::Request);
        requests.answer(Rank(0), Ok((ImageNo(3), 10)));
        requests.answer(Rank(1), Err(PROGRAM_ENDS));
        requests.answer(Rank(1), Err(PROGRAM_ENDS));
        let lines: Vec<String> = std::iter::from_fn(|| answers.try_recv().ok()).collect();
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[1].contains("its program ends"), "{lines:?}");
        assert!(lines[2].contains("1 rank has no new image"), "{lines:?}");
    }

    #[tokio::test]
    async fn a_user_who_goes_away_waits_no_more() {
        let (sender, mut events) = mpsc::unbounded_channel();
        let mut asks = async |close_only_writing: bool| {
            let (mut user, ours) = UnixStream::pair().unwrap();
            let serving = tokio::spawn(serve(ours, sender.clone()));
            user.write_all(b"images\n").await.unwrap();
            let Some(LauncherEvent::ImagesWanted(answers)) = events.recv().await else {
                panic!("a question")
            };
            if close_only_writing {
                user.shutdown().await.unwrap();
            }
            (user, answers, serving)
        };
        let (user, answers, serving) = asks(false).await;
        drop(user);
        tokio::time::timeout(10 * LOOK_WHO_WAITS, answers.closed()).await.unwrap();
        serving.await.unwrap();
        // Who only says nothing more is answered.
        let (mut user, answers, serving) = asks(true).await;
        tokio::time::sleep(LOOK_WHO_WAITS * 2).await;
        answers.send("{}".to_owned()).unwrap();
        drop(answers);
        let mut text = String::new();
        user.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "{}\n");
        serving.await.unwrap();
    }

    #[test]
    fn a_line_that_is_no_request_is_refused_with_what_to_use() {
        let migrate = r#"{"version":1,"verb":{"migrate":{"rank":3,"to":"b"}}}"#;
        assert_eq!(request_of(migrate), Ok(Verb::Migrate { rank: 3, to: "b".into() }));
        for wrong in [
            "",
            "status",
            "{}",
            r#"{"version":1,"verb":"reboot"}"#,
            r#"{"version":1,"verb":{"migrate":{"rank":-1,"to":"b"}}}"#,
            r#"{"version":1,"verb":{"migrate":{"rank":1,"to":"b","force":true}}}"#,
            r#"{"version":2,"verb":"status"}"#,
            &"[".repeat(4000),
        ] {
            let why = request_of(wrong).unwrap_err();
            assert!(why.contains("use the ftmpi-ctl of this ftmpi"), "{wrong}: {why}");
        }
    }
}
