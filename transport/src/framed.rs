//! Typed messages over an authenticated connection: postcard frames behind a `u32` length
//! (little-endian), each bounded by a limit that the user of the connection gives.
//!
//! Guarantees: a frame longer than the limit is refused before its memory is asked for. Bytes after
//! a decoded message, or a message that is not one, end the connection with an error. Receiving may
//! be cancelled at any time without losing a frame.

use bytes::buf::Chain;
use bytes::{Buf, Bytes, BytesMut};
use futures_util::{SinkExt, StreamExt};
use serde::{Serialize, de::DeserializeOwned};
use std::marker::PhantomData;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio_util::codec::{FramedRead, FramedWrite, LengthDelimitedCodec};

/// Why a frame could not be sent or received.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The connection broke, or a frame was longer than the limit.
    #[error("connection lost: {0}")]
    Io(#[from] std::io::Error),
    /// The bytes of a frame are no message of the expected kind.
    #[error("the other side sent a malformed message; are all hosts on the same version?")]
    Malformed,
    /// A message to be sent is longer than the limit.
    #[error("a message of {bytes} bytes is longer than a frame may be ({limit})")]
    TooLong {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
}

fn codec(limit: usize) -> LengthDelimitedCodec {
    LengthDelimitedCodec::builder().little_endian().max_frame_length(limit).new_codec()
}

/// A connection that sends `Out` and receives `In`.
#[derive(Debug)]
pub struct Framed<S, Out, In> {
    /// Receives.
    pub reader: FrameReader<ReadHalf<S>, In>,
    /// Sends.
    pub writer: FrameWriter<WriteHalf<S>, Out>,
}

impl<S, Out, In> Framed<S, Out, In>
where
    S: AsyncRead + AsyncWrite,
    Out: Serialize,
    In: DeserializeOwned,
{
    /// Frames of at most `limit` bytes over this stream.
    pub fn new(stream: S, limit: usize) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        Self { reader: FrameReader::new(reader, limit), writer: FrameWriter::new(writer, limit) }
    }

    /// Sends one message; see [`FrameWriter::send`].
    ///
    /// # Errors
    /// See [`FrameError`].
    pub async fn send(&mut self, message: &Out) -> Result<(), FrameError> {
        self.writer.send(message).await
    }

    /// Receives one message; see [`FrameReader::recv`].
    ///
    /// # Errors
    /// See [`FrameError`].
    pub async fn recv(&mut self) -> Result<Option<In>, FrameError> {
        self.reader.recv().await
    }

    /// The two directions, to be used by two tasks.
    pub fn split(self) -> (FrameReader<ReadHalf<S>, In>, FrameWriter<WriteHalf<S>, Out>) {
        (self.reader, self.writer)
    }
}

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub enum Received<In> {
    /// A message.
    Message(In),
    /// The bytes of one.
    Bulk(Bytes),
}

/// The receiving direction.
#[derive(Debug)]
pub struct FrameReader<R, In> {
    frames: FramedRead<R, LengthDelimitedCodec>,
    kind: PhantomData<fn() -> In>,
}

impl<R: AsyncRead + Unpin, In: DeserializeOwned> FrameReader<R, In> {
    /// Frames of at most `limit` bytes from this stream.
    pub fn new(stream: R, limit: usize) -> Self {
        Self { frames: FramedRead::new(stream, codec(limit)), kind: PhantomData }
    }

    /// The next message. Where `bulk` finds the begin of a message's bytes, gives these bytes
    /// alone, without a copy. `None` when the other side has closed between two frames.
    ///
    /// # Errors
    /// See [`FrameError`]; the connection is of no use afterwards.
    pub async fn recv_or_bulk(
        &mut self,
        bulk: impl Fn(&[u8]) -> Option<usize>,
    ) -> Result<Option<Received<In>>, FrameError> {
        let Some(frame) = self.frames.next().await else { return Ok(None) };
        let mut frame = frame?;
        Ok(Some(match bulk(&frame) {
            Some(at) => {
                frame.advance(at);
                Received::Bulk(frame.freeze())
            }
            None => Received::Message(decode(&frame)?),
        }))
    }

    /// The next message; `None` when the other side has closed between two frames.
    ///
    /// # Errors
    /// See [`FrameError`]; the connection is of no use afterwards.
    pub async fn recv(&mut self) -> Result<Option<In>, FrameError> {
        match self.frames.next().await {
            None => Ok(None),
            Some(frame) => Ok(Some(decode(&frame?)?)),
        }
    }
}

/// The sending direction.
#[derive(Debug)]
pub struct FrameWriter<W, Out> {
    frames: FramedWrite<W, LengthDelimitedCodec>,
    /// What is left of a frame of [`Self::send_bulk`] that was given up.
    begun: Option<Chain<Bytes, Bytes>>,
    limit: usize,
    kind: PhantomData<fn(Out)>,
}

impl<W: AsyncWrite + Unpin, Out: Serialize> FrameWriter<W, Out> {
    /// Frames of at most `limit` bytes into this stream.
    pub fn new(stream: W, limit: usize) -> Self {
        let frames = FramedWrite::new(stream, codec(limit));
        Self { frames, begun: None, limit, kind: PhantomData }
    }

    /// Sends one message whose encoding is `head` followed by `bulk`, without copying the bulk, and
    /// waits until the system took it all. The call may be given up at any time: the rest of the
    /// frame goes before what is sent next.
    ///
    /// # Errors
    /// See [`FrameError`].
    pub async fn send_bulk(&mut self, head: &[u8], bulk: Bytes) -> Result<(), FrameError> {
        let bytes = head.len() + bulk.len();
        if bytes > self.limit {
            return Err(FrameError::TooLong { bytes, limit: self.limit });
        }
        self.flush().await?;
        let mut front = BytesMut::with_capacity(size_of::<u32>() + head.len());
        // No longer than the limit of a frame, which a `u32` holds.
        front.extend_from_slice(&(bytes as u32).to_le_bytes());
        front.extend_from_slice(head);
        self.begun = Some(front.freeze().chain(bulk));
        self.finish_begun().await
    }

    async fn finish_begun(&mut self) -> Result<(), FrameError> {
        while let Some(rest) = &mut self.begun {
            if !rest.has_remaining() {
                self.begun = None;
                break;
            }
            if self.frames.get_mut().write_buf(rest).await? == 0 {
                return Err(FrameError::Io(std::io::ErrorKind::WriteZero.into()));
            }
        }
        Ok(())
    }

    /// Sends one message and waits until the system took it all.
    ///
    /// # Errors
    /// See [`FrameError`].
    pub async fn send(&mut self, message: &Out) -> Result<(), FrameError> {
        self.feed(message).await?;
        self.flush().await
    }

    /// Takes one message into the buffer, waiting only when that is full; [`FrameWriter::flush`]
    /// sends what is left.
    ///
    /// # Errors
    /// See [`FrameError`].
    pub async fn feed(&mut self, message: &Out) -> Result<(), FrameError> {
        let bytes = encode(message, self.limit)?;
        self.finish_begun().await?;
        Ok(self.frames.feed(bytes).await?)
    }

    /// Sends what was fed.
    ///
    /// # Errors
    /// See [`FrameError`].
    pub async fn flush(&mut self) -> Result<(), FrameError> {
        self.finish_begun().await?;
        Ok(SinkExt::<Bytes>::flush(&mut self.frames).await?)
    }

    /// Sends what was fed, and that nothing follows. The other side sees the end; its messages may
    /// still come.
    ///
    /// # Errors
    /// See [`FrameError`].
    pub async fn close(&mut self) -> Result<(), FrameError> {
        self.finish_begun().await?;
        Ok(SinkExt::<Bytes>::close(&mut self.frames).await?)
    }
}

fn encode<T: Serialize>(message: &T, limit: usize) -> Result<Bytes, FrameError> {
    let bytes = postcard::to_stdvec(message).map_err(|_| FrameError::Malformed)?;
    if bytes.len() > limit {
        return Err(FrameError::TooLong { bytes: bytes.len(), limit });
    }
    Ok(bytes.into())
}

fn decode<T: DeserializeOwned>(frame: &BytesMut) -> Result<T, FrameError> {
    match postcard::take_from_bytes(frame) {
        Ok((message, [])) => Ok(message),
        _ => Err(FrameError::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_wire::image_store::{Answer, Request};
    use ftmpi_wire::{ImageNo, Rank};
    use proptest::prelude::*;
    use tokio::io::AsyncWriteExt;

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
    }

    #[test]
    fn messages_arrive_in_order_and_the_end_is_seen() {
        block_on(async {
            let (a, b) = tokio::io::duplex(64);
            let mut a = Framed::<_, Request, Answer>::new(a, 4096);
            let mut b = Framed::<_, Answer, Request>::new(b, 4096);
            let sent = [
                Request::List { rank: Rank(3) },
                Request::Data(vec![7; 1000]),
                Request::Get { rank: Rank(3), at_most: ImageNo(u64::MAX), same_host: false },
            ];
            let sender = async {
                for request in &sent {
                    a.send(request).await.unwrap();
                }
                drop(a);
            };
            let receiver = async {
                for request in &sent {
                    assert_eq!(b.recv().await.unwrap().as_ref(), Some(request));
                }
                assert!(b.recv().await.unwrap().is_none());
            };
            tokio::join!(sender, receiver);
        });
    }

    #[test]
    fn a_bulk_that_was_given_up_is_finished_before_the_next_message() {
        block_on(async {
            let (a, b) = tokio::io::duplex(64);
            let mut a = Framed::<_, Request, Answer>::new(a, 4096);
            let mut b = Framed::<_, Answer, Request>::new(b, 4096);
            let bytes: Vec<u8> = (0..1000).map(|i| (i % 251) as u8).collect();
            let head = Request::data_head(bytes.len());
            // The stream takes only its beginning, and nobody waits for the rest.
            let sending = a.writer.send_bulk(&head, Bytes::from(bytes.clone()));
            let at_once = std::time::Duration::ZERO;
            assert!(tokio::time::timeout(at_once, sending).await.is_err());
            let sender = async {
                a.send(&Request::Commit).await.unwrap();
                a.writer.send_bulk(&Request::data_head(3), Bytes::from_static(&[1, 2, 3])).await
            };
            let receiver = async {
                assert_eq!(b.recv().await.unwrap(), Some(Request::Data(bytes)));
                assert_eq!(b.recv().await.unwrap(), Some(Request::Commit));
                let bulk = b.reader.recv_or_bulk(Request::data_at).await.unwrap();
                assert_eq!(bulk, Some(Received::Bulk(Bytes::from_static(&[1, 2, 3]))));
            };
            let (sent, ()) = tokio::join!(sender, receiver);
            sent.unwrap();
            let long = a.writer.send_bulk(&head, Bytes::from(vec![0; 4096])).await;
            assert!(matches!(long, Err(FrameError::TooLong { .. })));
        });
    }

    #[test]
    fn what_is_too_long_is_refused_on_both_sides() {
        block_on(async {
            let (mut a, b) = tokio::io::duplex(64);
            let mut b = Framed::<_, Request, Request>::new(b, 100);
            let long = Request::Data(vec![0; 101]);
            assert!(matches!(b.send(&long).await, Err(FrameError::TooLong { .. })));
            a.write_all(&u32::MAX.to_le_bytes()).await.unwrap();
            assert!(matches!(b.recv().await, Err(FrameError::Io(_))));
        });
    }

    proptest! {
        #[test]
        fn hostile_bytes_end_with_an_error_or_the_end(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            block_on(async {
                let mut frames = FrameReader::<_, Request>::new(bytes.as_slice(), 1 << 16);
                while let Ok(Some(_)) = frames.recv().await {}
            });
        }
    }
}
