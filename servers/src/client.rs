//! The client of the servers: puts, fetches and condemns images, and asks any server for its state.
//!
//! Guarantees: bytes flow with back-pressure, in pieces of [`PIECE_BYTES`], however large an image
//! is. A refusal of the server ends a transfer at once. A server host that vanishes is noticed
//! within the limit of [`set_silence_limit`], also in the middle of a long commit.

use crate::image_store::image_file::ImageReader;
use crate::image_store::same_host_io::{SameHostWriter, WriteProgress, open_same_host};
pub use crate::socket_options::set_silence_limit;
pub use crate::tuning::connection::PIECE_BYTES;
use crate::tuning::connection::STATUS_BYTES_MAX;
use bytes::Bytes;
use ftmpi_transport::auth::{self, AuthError, JobKey};
use ftmpi_transport::framed::{FrameError, Framed, Received};
use ftmpi_wire::hello::Purpose;
use ftmpi_wire::image_store::{Answer, FRAME_BYTES_MAX, RankImages, Request, Stored};
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::fmt::Display;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, ToSocketAddrs};

/// Why a request to a server failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No connection to the server.
    #[error("{0}")]
    Connect(#[from] AuthError),
    /// The connection broke.
    #[error("{server}: {error}")]
    Connection {
        /// The server.
        server: String,
        /// The problem.
        #[source]
        error: FrameError,
    },
    /// The server closed the connection before it answered.
    #[error("{0}: it closed the connection before it answered")]
    Closed(String),
    /// The server refuses; its text says why and what to do. The connection is still good.
    #[error("{server}: {why}")]
    Refused {
        /// The server.
        server: String,
        /// The text of the server.
        why: String,
    },
    /// The answer does not fit the request.
    #[error("{0}: it gave an answer that fits no question; is it of the same version?")]
    Confused(String),
    /// The bytes of an image could not be read or written on this side.
    #[error("cannot pass on the bytes of an image: {0}")]
    Local(#[source] io::Error),
}

/// The server's receipt for an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    /// The number of the image.
    pub image: ImageNo,
    /// Bytes that were stored.
    pub bytes: u64,
    /// The oldest image that is still offered. `ImageNo(0)` is the start of the program.
    pub oldest: ImageNo,
}

/// How an image came.
#[derive(Debug)]
pub enum Fetched {
    /// The image came in pieces.
    Sent(Stored),
    /// The image is to be read from its file.
    SameHost(Box<ImageReader>),
}

/// A connection to a checkpoint server. It does one thing at a time: connect more than once for
/// concurrent transfers. After an error other than [`ClientError::Refused`], drop it.
#[derive(Debug)]
pub struct ImageStore {
    frames: Framed<TcpStream, Request, Answer>,
    server: String,
}

impl ImageStore {
    /// Connects and proves the key, within `within`.
    ///
    /// # Errors
    /// See [`auth::connect`].
    pub async fn connect(
        address: impl ToSocketAddrs + Display,
        key: &JobKey,
        within: Duration,
    ) -> Result<Self, ClientError> {
        let server = format!("checkpoint server {address}");
        let stream = auth::connect(address, key, &Purpose::Images, within).await?;
        crate::socket_options::end_when_peer_vanishes(&stream);
        Ok(Self { frames: Framed::new(stream, FRAME_BYTES_MAX), server })
    }

    /// Uses a connection that proves nothing, for tests.
    #[cfg(test)]
    pub(crate) fn over(stream: TcpStream) -> Self {
        Self { frames: Framed::new(stream, FRAME_BYTES_MAX), server: "a test's server".into() }
    }

    /// Declares the living incarnation. Images of earlier incarnations are refused from now on,
    /// also those that are being sent.
    ///
    /// # Errors
    /// A later incarnation was declared already, or the connection broke.
    pub async fn declare(
        &mut self,
        rank: Rank,
        incarnation: Incarnation,
    ) -> Result<(), ClientError> {
        match self.ask(&Request::Declare { rank, incarnation }).await? {
            Answer::Done => Ok(()),
            other => Err(self.unexpected(other)),
        }
    }

    /// This incarnation begins from this image (0: from the start). Later images are given up,
    /// durably.
    ///
    /// # Errors
    /// A later incarnation was declared, the images cannot be removed now, or the connection broke.
    pub async fn return_to(
        &mut self,
        rank: Rank,
        incarnation: Incarnation,
        image: ImageNo,
    ) -> Result<(), ClientError> {
        match self.ask(&Request::Return { rank, incarnation, image }).await? {
            Answer::Done => Ok(()),
            other => Err(self.unexpected(other)),
        }
    }

    /// Sends the container that `reader` gives, and waits until it is durable.
    ///
    /// If `reader` fails, the server forgets the image and the error is [`ClientError::Local`]; the
    /// connection is still good then. If this future is dropped, drop the connection too: the
    /// server then forgets the image.
    ///
    /// # Errors
    /// The server refuses (stale incarnation, damaged container, no space), or the connection
    /// broke.
    pub async fn put(
        &mut self,
        rank: Rank,
        incarnation: Incarnation,
        image: ImageNo,
        mut reader: impl AsyncRead + Unpin,
    ) -> Result<Committed, ClientError> {
        let mut put = self.begin(rank, incarnation, image).await?;
        let mut piece = Vec::with_capacity(PIECE_BYTES);
        loop {
            piece.clear();
            // Pipes give little at a time: fill the piece.
            let filled = loop {
                match (&mut reader)
                    .take((PIECE_BYTES - piece.len()) as u64)
                    .read_buf(&mut piece)
                    .await
                {
                    Ok(0) => break Ok(()),
                    Ok(_) if piece.len() < PIECE_BYTES => {}
                    Ok(_) => break Ok(()),
                    Err(error) => break Err(error),
                }
            };
            if let Err(error) = filled {
                put.abandon().await?;
                return Err(ClientError::Local(error));
            }
            if piece.is_empty() {
                return put.commit().await;
            }
            put.data(std::mem::take(&mut piece)).await?;
            piece.reserve(PIECE_BYTES);
        }
    }

    /// Names the images that the server is to keep in addition to the next one.
    ///
    /// # Errors
    /// The connection broke.
    pub async fn keep(
        &mut self,
        rank: Rank,
        incarnation: Incarnation,
        images: [ImageNo; 2],
    ) -> Result<(), ClientError> {
        match self.ask(&Request::Keep { rank, incarnation, images }).await? {
            Answer::Done => Ok(()),
            other => Err(self.unexpected(other)),
        }
    }

    /// Begins an image whose bytes the caller pushes; see [`Put`].
    ///
    /// # Errors
    /// The connection broke. Later calls report a refusal.
    pub async fn begin(
        &mut self,
        rank: Rank,
        incarnation: Incarnation,
        image: ImageNo,
    ) -> Result<Put<'_>, ClientError> {
        let request = Request::Put { rank, incarnation, image, same_host: false };
        self.frames.send(&request).await.map_err(|e| self.broken(e))?;
        Ok(Put { store: self })
    }

    /// Begins an image as [`Self::begin`] does. If the server is on this host, the caller may write
    /// the image into a file: then it calls [`Put::written`] instead of [`Put::data`].
    ///
    /// # Errors
    /// The server refuses, or the connection broke.
    pub async fn begin_same_host(
        &mut self,
        rank: Rank,
        incarnation: Incarnation,
        image: ImageNo,
    ) -> Result<(Put<'_>, Option<SameHostWriter>), ClientError> {
        let request = Request::Put { rank, incarnation, image, same_host: true };
        match self.ask(&request).await {
            Ok(Answer::Room(room)) => Ok((Put { store: self }, SameHostWriter::open(&room))),
            Ok(Answer::Done) => Ok((Put { store: self }, None)),
            Ok(other) => Err(self.unexpected(other)),
            Err(refused @ ClientError::Refused { .. }) => {
                self.end_refused().await?;
                Err(refused)
            }
            Err(error) => Err(error),
        }
    }

    /// Ends a transfer that the server has refused.
    async fn end_refused(&mut self) -> Result<(), ClientError> {
        self.frames.send(&Request::Abandon).await.map_err(|e| self.broken(e))
    }

    /// The images of this rank.
    ///
    /// # Errors
    /// The connection broke.
    pub async fn list(&mut self, rank: Rank) -> Result<RankImages, ClientError> {
        match self.ask(&Request::List { rank }).await? {
            Answer::RankImages(shelf) => Ok(shelf),
            other => Err(self.unexpected(other)),
        }
    }

    /// Writes the container of the newest good image, with a number of at most `at_most`, to
    /// `writer`. `None`: there is no image, and the rank begins at its start.
    ///
    /// # Errors
    /// The server refuses if images were there, none is good any more, and the start is no longer
    /// offered. Or the connection broke, or `writer` failed (then drop this connection).
    pub async fn get(
        &mut self,
        rank: Rank,
        at_most: ImageNo,
        mut writer: impl AsyncWrite + Unpin,
    ) -> Result<Option<Stored>, ClientError> {
        let stored = match self.ask(&Request::Get { rank, at_most, same_host: false }).await? {
            Answer::Image(stored) => stored,
            Answer::NoImage => return Ok(None),
            other => return Err(self.unexpected(other)),
        };
        let mut rest = stored.bytes;
        while let Some(piece) = self.next_piece(&mut rest).await? {
            writer.write_all(&piece).await.map_err(ClientError::Local)?;
        }
        writer.flush().await.map_err(ClientError::Local)?;
        Ok(Some(stored))
    }

    /// Fetches an image as [`Self::get`] does, in pieces. If its file can be read from here, the
    /// file is opened instead, unless `near` is false. Pieces are verified by the server; a file is
    /// verified as it is read. Drop this connection if `pieces` closes early.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn get_pieces(
        &mut self,
        rank: Rank,
        at_most: ImageNo,
        mut near: bool,
        pieces: tokio::sync::mpsc::Sender<Bytes>,
    ) -> Result<Option<Fetched>, ClientError> {
        let stored = loop {
            match self.ask(&Request::Get { rank, at_most, same_host: near }).await? {
                Answer::Image(stored) => break stored,
                Answer::NoImage => return Ok(None),
                Answer::SameHost(file) if near => {
                    if let Some(file) = open_same_host(rank, &file) {
                        return Ok(Some(Fetched::SameHost(Box::new(file))));
                    }
                    near = false;
                }
                other => return Err(self.unexpected(other)),
            }
        };
        let mut rest = stored.bytes;
        while let Some(piece) = self.next_piece(&mut rest).await? {
            if pieces.send(piece).await.is_err() {
                return Err(ClientError::Local(io::ErrorKind::BrokenPipe.into()));
            }
        }
        Ok(Some(Fetched::Sent(stored)))
    }

    /// The next bytes of an image, of which `rest` bytes are missing.
    async fn next_piece(&mut self, rest: &mut u64) -> Result<Option<Bytes>, ClientError> {
        match self.frames.reader.recv_or_bulk(Answer::data_at).await {
            Ok(Some(Received::Bulk(piece))) if piece.len() as u64 <= *rest => {
                *rest -= piece.len() as u64;
                Ok(Some(piece))
            }
            Ok(Some(Received::Message(Answer::End))) if *rest == 0 => Ok(None),
            Ok(Some(Received::Message(other))) => Err(self.unexpected(other)),
            Ok(Some(Received::Bulk(_))) => Err(ClientError::Confused(self.server.clone())),
            Ok(None) => Err(ClientError::Closed(self.server.clone())),
            Err(error) => Err(self.broken(error)),
        }
    }

    /// Reports that this image was found damaged at its restore. It is no longer offered.
    ///
    /// # Errors
    /// The connection broke.
    pub async fn condemn(&mut self, rank: Rank, image: ImageNo) -> Result<(), ClientError> {
        match self.ask(&Request::Condemn { rank, image }).await? {
            Answer::Done => Ok(()),
            other => Err(self.unexpected(other)),
        }
    }

    async fn ask(&mut self, request: &Request) -> Result<Answer, ClientError> {
        self.frames.send(request).await.map_err(|e| self.broken(e))?;
        self.answer().await
    }

    /// The next answer. A refusal becomes an error.
    async fn answer(&mut self) -> Result<Answer, ClientError> {
        match self.frames.recv().await {
            Ok(Some(Answer::Refused(why))) => {
                Err(ClientError::Refused { server: self.server.clone(), why })
            }
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => Err(ClientError::Closed(self.server.clone())),
            Err(error) => Err(self.broken(error)),
        }
    }

    fn broken(&self, error: FrameError) -> ClientError {
        ClientError::Connection { server: self.server.clone(), error }
    }

    fn unexpected(&self, answer: Answer) -> ClientError {
        match answer {
            Answer::Refused(why) => ClientError::Refused { server: self.server.clone(), why },
            _ => ClientError::Confused(self.server.clone()),
        }
    }
}

/// An image that is being sent: push its bytes, then call [`Put::commit`] or [`Put::abandon`]. In
/// any other case drop the [`ImageStore`]: the server forgets an image whose connection ends.
#[derive(Debug)]
#[must_use = "an image must be committed or abandoned"]
pub struct Put<'a> {
    store: &'a mut ImageStore,
}

impl Put<'_> {
    /// Sends the next bytes of the container, at most a few less than
    /// [`FRAME_BYTES_MAX`](ftmpi_wire::image_store::FRAME_BYTES_MAX). Waits while the server is
    /// slower. After a refusal nothing more is to be sent, also no commit.
    ///
    /// # Errors
    /// The server refuses (no space, stale), or the connection broke.
    pub async fn data(&mut self, bytes: impl Into<Bytes>) -> Result<(), ClientError> {
        let bytes = bytes.into();
        let head = Request::data_head(bytes.len());
        let Framed { reader, writer } = &mut self.store.frames;
        // The server sends before the end only to refuse.
        let early = tokio::select! {
            biased;
            early = reader.recv() => early,
            sent = writer.send_bulk(&head, bytes) => return sent.map_err(|e| self.store.broken(e)),
        };
        Err(self.spoken(early).await)
    }

    /// Reports bytes of the container that were written into the file, as [`Self::data`] sends
    /// them.
    ///
    /// # Errors
    /// As [`Self::data`].
    pub async fn written(
        &mut self,
        WriteProgress { bytes, places }: WriteProgress,
    ) -> Result<(), ClientError> {
        let message = Request::Written { bytes, places };
        let Framed { reader, writer } = &mut self.store.frames;
        let early = tokio::select! {
            biased;
            early = reader.recv() => early,
            sent = writer.send(&message) => return sent.map_err(|e| self.store.broken(e)),
        };
        Err(self.spoken(early).await)
    }

    /// The error for an answer that comes before the end.
    async fn spoken(&mut self, early: Result<Option<Answer>, FrameError>) -> ClientError {
        match early {
            Ok(Some(Answer::Refused(why))) => match self.store.end_refused().await {
                Ok(()) => ClientError::Refused { server: self.store.server.clone(), why },
                Err(error) => error,
            },
            Ok(Some(other)) => self.store.unexpected(other),
            Ok(None) => ClientError::Closed(self.store.server.clone()),
            Err(error) => self.store.broken(error),
        }
    }

    /// Ends the container, and waits until the server has verified it and made it durable.
    ///
    /// # Errors
    /// The server refuses (stale incarnation, damaged container, no space), or the connection
    /// broke.
    pub async fn commit(self) -> Result<Committed, ClientError> {
        match self.store.ask(&Request::Commit).await? {
            Answer::Committed { image, bytes, oldest } => Ok(Committed { image, bytes, oldest }),
            other => Err(self.store.unexpected(other)),
        }
    }

    /// Makes the server forget what was sent.
    ///
    /// # Errors
    /// The connection broke.
    pub async fn abandon(self) -> Result<(), ClientError> {
        match self.store.ask(&Request::Abandon).await {
            Ok(Answer::Done) | Err(ClientError::Refused { .. }) => Ok(()),
            Ok(other) => Err(self.store.unexpected(other)),
            Err(error) => Err(error),
        }
    }
}

/// Why events are not known to be durable.
#[derive(Debug, thiserror::Error)]
pub enum DurableError {
    /// A logger cannot make them durable, or does not answer.
    #[error("event logger {0}")]
    Logger(#[source] AuthError),
    /// The task that asks has ended.
    #[error("the event loggers cannot be asked: {0}")]
    Task(#[from] tokio::task::JoinError),
}

/// Waits until all these event loggers have everything on stable storage that was written before.
///
/// # Errors
/// A logger cannot, or does not answer within `within`. The text says which.
pub async fn durable(
    loggers: &[std::net::SocketAddr],
    key: &JobKey,
    within: Duration,
) -> Result<(), DurableError> {
    // The loggers are asked concurrently: the slowest one counts.
    let mut asking = tokio::task::JoinSet::new();
    for address in loggers.iter().copied() {
        let key = key.clone();
        asking.spawn(async move {
            let since = std::time::Instant::now();
            loop {
                match auth::connect(address, &key, &Purpose::Durable, within).await {
                    Ok(_) => return Ok(()),
                    // The logger may be restarting.
                    Err(e) if e.problem.is_transient() && since.elapsed() < within => {
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                    Err(e) => return Err(DurableError::Logger(e)),
                }
            }
        });
    }
    while let Some(answer) = asking.join_next().await {
        answer??;
    }
    Ok(())
}

/// The state of a server, as JSON. It is also a health check.
///
/// # Errors
/// Nobody answers within `within`, or the server holds another job's key.
pub async fn status(
    address: impl ToSocketAddrs + Display,
    key: &JobKey,
    within: Duration,
) -> Result<serde_json::Value, ClientError> {
    let server = address.to_string();
    let asking = async {
        let stream = auth::connect(address, key, &Purpose::Status, within).await?;
        let mut text = Vec::new();
        let mut limited = stream.take(STATUS_BYTES_MAX);
        limited.read_to_end(&mut text).await.map_err(|error| ClientError::Connection {
            server: server.clone(),
            error: FrameError::Io(error),
        })?;
        serde_json::from_slice(&text).map_err(|_| ClientError::Confused(server.clone()))
    };
    tokio::time::timeout(within, asking)
        .await
        .unwrap_or_else(|_| Err(ClientError::Closed(server.clone())))
}
