//! One connection to the checkpoint server: a request, what the catalogue decides, an answer.

use super::error::StoreError;
use super::image_file::ImageReader;
use super::repair::repair_image;
use super::server::{NAME, Server};
use super::upload::Upload;
use crate::server_process::log_line;
use crate::tuning::connection::PIECE_BYTES;
use bytes::Bytes;
use ftmpi_protocols::image_catalogue::{Ask, CheckError, ConnId, Event, Output};
use ftmpi_transport::framed::{FrameError, Framed, Received};
use ftmpi_wire::ImageId;
use ftmpi_wire::image_store::{Answer, Counts, FRAME_BYTES_MAX, Request, Stored};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use tokio::net::TcpStream;
use tokio::sync::watch;

/// Serves the connection to its end.
pub(super) async fn run(server: &Server, conn: ConnId, stream: TcpStream) {
    let frames = Framed::new(stream, FRAME_BYTES_MAX);
    let news = server.flusher.as_ref().map(|flusher| flusher.news.subscribe());
    let mut session =
        Session { server, conn, frames, upload: None, checked: None, same_host: false, news };
    loop {
        match session.frames.reader.recv_or_bulk(Request::data_at).await {
            Ok(Some(received)) => match session.serve(received).await {
                Ok(true) => {}
                Ok(false) | Err(_) => break,
            },
            Ok(None) | Err(FrameError::Io(_)) => break,
            Err(error) => {
                log_line(NAME, format!("a connection ends: {error}"));
                break;
            }
        }
    }
    let upload = session.upload.take();
    drop(session);
    let leave = || {
        server.decide(conn, Event::Lost);
        drop(upload);
        server.forget_removed();
    };
    server.turns.run(leave).await;
}

struct Session<'a> {
    server: &'a Server,
    conn: ConnId,
    frames: Framed<TcpStream, Answer, Request>,
    /// The image that is being received.
    upload: Option<Upload>,
    /// The image that is to be sent.
    checked: Option<ImageReader>,
    /// The client is on this host and can use the file of the image.
    same_host: bool,
    /// Tells when an upload to the object tier has ended.
    news: Option<watch::Receiver<()>>,
}

/// The next part of an image.
enum Piece {
    Bytes(Bytes),
    /// A writer on this host has written it.
    Written {
        bytes: u64,
        places: Vec<u8>,
    },
}

impl Piece {
    fn bytes(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Written { bytes, .. } => *bytes,
        }
    }
}

impl Session<'_> {
    /// Serves one request. `false`: the connection is to be closed.
    async fn serve(&mut self, received: Received<Request>) -> Result<bool, FrameError> {
        let (ask, data) = match received {
            Received::Bulk(bytes) => (Ask::Data { bytes: bytes.len() as u64 }, Piece::Bytes(bytes)),
            Received::Message(request) => {
                self.same_host = matches!(
                    request,
                    Request::Get { same_host: true, .. } | Request::Put { same_host: true, .. }
                );
                let ask = Ask::from(&request);
                match request {
                    Request::Data(bytes) => (ask, Piece::Bytes(bytes.into())),
                    Request::Written { bytes, places } => (ask, Piece::Written { bytes, places }),
                    _ => (ask, Piece::Bytes(Bytes::new())),
                }
            }
        };
        // A request for a file to write is answered in any case: by this function, or by a refusal.
        let mut room_due = self.same_host && matches!(ask, Ask::Put { .. });
        self.server.bytes_received.fetch_add(data.bytes(), Ordering::Relaxed);
        let mut events = VecDeque::from([Event::Request(ask)]);
        while let Some(event) = events.pop_front() {
            if let Some(news) = &mut self.news {
                news.mark_unchanged();
            }
            let server = self.server;
            let decided = server.turns.run(|| server.decide(self.conn, event)).await;
            for output in decided {
                match output {
                    Output::Send(_, stored) => match self.send(stored).await? {
                        Ok(()) => {}
                        Err(why) => events.push_back(Event::SendFailed(why.into())),
                    },
                    Output::AwaitObjectTier => {
                        if !self.wait_for_flush().await? {
                            return Ok(false);
                        }
                        events.push_back(Event::ObjectTierProgress);
                    }
                    Output::Check(name) => {
                        let checked = self.check(name).await;
                        let outcome = checked.map(|checked| self.checked = Some(checked));
                        events.push_back(Event::Checked(outcome));
                    }
                    Output::Answer(answer) => {
                        room_due = false;
                        self.frames.send(&answer).await?;
                    }
                    Output::Close(why) => {
                        if !why.is_empty() {
                            log_line(NAME, format!("a connection ends: {why}"));
                        }
                        return Ok(false);
                    }
                    other => {
                        let done = server.turns.run(|| self.store(&other, &data)).await;
                        if let Some(event) = done {
                            events.push_back(event);
                        }
                    }
                }
            }
        }
        if room_due {
            let room = self.upload.as_ref().and_then(Upload::room);
            self.frames.send(&room.map_or(Answer::Done, Answer::Room)).await?;
        }
        Ok(true)
    }

    /// Waits until an upload to the object tier has ended since the last decision of the catalogue.
    /// `false`: the client is gone, or spoke out of turn.
    async fn wait_for_flush(&mut self) -> Result<bool, FrameError> {
        let Some(news) = &mut self.news else { return Ok(false) };
        tokio::select! {
            biased;
            changed = news.changed() => Ok(changed.is_ok()),
            early = self.frames.reader.recv_or_bulk(Request::data_at) => early.map(|_| false),
        }
    }

    async fn check(&mut self, name: ImageId) -> Result<ImageReader, CheckError> {
        self.checked = None;
        let (disk, turns) = (&self.server.disk, &self.server.turns);
        // A client that reads the file itself verifies it. Verifying it twice would take twice the
        // time.
        if self.same_host
            && let Some(check_ends) = turns.run(|| disk.check_ends(name)).await
        {
            return Ok(check_ends);
        }
        match turns.run(|| disk.check(name)).await {
            Err(why) => repair_image(self.server, name, why).await,
            whole => whole,
        }
    }

    /// Carries out what takes long and concerns this connection only.
    fn store(&mut self, output: &Output, data: &Piece) -> Option<Event> {
        match *output {
            Output::Create(name) => {
                self.upload = None;
                match self.server.disk.receive(self.conn, name.rank) {
                    Ok(upload) => self.upload = Some(upload),
                    Err(why) => return Some(Event::WriteFailed(why.into())),
                }
            }
            Output::Write => {
                let upload = self.upload.as_mut()?;
                let done = match data {
                    Piece::Bytes(bytes) => upload.write(bytes),
                    Piece::Written { bytes, places } => upload.written(*bytes, places),
                };
                if let Err(why) = done {
                    return Some(Event::WriteFailed(why.into()));
                }
            }
            Output::Verify(name) => {
                return Some(Event::Verified(self.verify(name).map_err(String::from)));
            }
            Output::Discard => self.upload = None,
            Output::Remove(name) => {
                self.server.disk.remove(name);
                self.server.forget_removed();
            }
            // These were carried out under the lock of the catalogue, or by the caller.
            Output::Check(_)
            | Output::Publish(_)
            | Output::Persist { .. }
            | Output::SetAside(_)
            | Output::GiveUp(_)
            | Output::Say(_)
            | Output::Flush(..)
            | Output::Mirror(..)
            | Output::AwaitObjectTier
            | Output::Send(..)
            | Output::Answer(_)
            | Output::Close(_) => {}
        }
        None
    }

    fn verify(&mut self, name: ImageId) -> Result<Counts, StoreError> {
        match self.upload.as_mut() {
            Some(upload) => upload.finish(name),
            None => Err(StoreError::Empty),
        }
    }

    /// Sends an image. Outer error: the connection broke. Inner error: the image cannot be read to
    /// its end.
    async fn send(&mut self, stored: Stored) -> Result<Result<(), StoreError>, FrameError> {
        let Some(mut checked) = self.checked.take() else {
            return Ok(Err(StoreError::Unverified));
        };
        // The size that travels is that of the complete container.
        let stored = Stored { bytes: checked.bytes, ..stored };
        if let (true, Some(near)) = (self.same_host, checked.near(stored)) {
            self.frames.send(&Answer::SameHost(near)).await?;
            return Ok(Ok(()));
        }
        self.frames.writer.feed(&Answer::Image(stored)).await?;
        let mut ready = Vec::new();
        loop {
            match self.server.turns.run(|| checked.read(&mut ready)).await {
                Ok(true) => {}
                Ok(false) => break,
                Err(why) => return Ok(Err(why)),
            }
            let mut rest = Bytes::from(std::mem::take(&mut ready));
            while !rest.is_empty() {
                let piece = rest.split_to(rest.len().min(PIECE_BYTES));
                self.server.bytes_sent.fetch_add(piece.len() as u64, Ordering::Relaxed);
                let head = Answer::data_head(piece.len());
                self.frames.writer.send_bulk(&head, piece).await?;
            }
        }
        self.frames.writer.send(&Answer::End).await?;
        Ok(Ok(()))
    }
}
