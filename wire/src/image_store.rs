//! Requests of an agent to a checkpoint server, and its answers: postcard frames, each behind a
//! `u32` length (little-endian) of at most [`FRAME_BYTES_MAX`] bytes.
//!
//! An image travels as a *container* (`ftmpi_checkpoint::container`): a byte stream of checksummed
//! chunks. The server stores it as it is and verifies it before it commits or offers it.

use crate::{ImageNo, Incarnation, Rank};
use serde::{Deserialize, Serialize};

/// Bytes of one frame at the most.
pub const FRAME_BYTES_MAX: usize = 8 << 20;

/// A request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// This incarnation of the rank is the living one from now on: refuse images of earlier ones.
    Declare {
        /// The rank that it belongs to.
        rank: Rank,
        /// The living incarnation.
        incarnation: Incarnation,
    },
    /// The images of this rank are taken in waves. From the next image on that image and these (0:
    /// none) are kept, instead of the newest two, and the start of the program is always offered.
    /// Other images go when room is short: the wave before this one is over, and they belong to
    /// none of the named waves.
    Keep {
        /// The rank that it belongs to.
        rank: Rank,
        /// The incarnation that takes the next one.
        incarnation: Incarnation,
        /// Images of complete waves.
        images: [ImageNo; 2],
    },
    /// An image begins; [`Request::Data`] frames and one [`Request::Commit`] or
    /// [`Request::Abandon`] follow on this connection.
    Put {
        /// The rank that it belongs to.
        rank: Rank,
        /// In which incarnation it was taken.
        incarnation: Incarnation,
        /// Its number.
        image: ImageNo,
        /// The put is answered. [`Answer::Room`]: the sender is on the same host and may write the
        /// file itself; [`Request::Written`] frames then replace the data. Otherwise
        /// [`Answer::Done`].
        same_host: bool,
    },
    /// Bytes of the container, in order.
    Data(#[serde(with = "serde_bytes")] Vec<u8>),
    /// So many more bytes of the container, as their encoder made them, are or will soon be in the
    /// named file.
    Written {
        /// How many.
        bytes: u64,
        /// The places of chunks of other containers that are among them, as they stand there, each
        /// behind the length of its chunk.
        #[serde(with = "serde_bytes")]
        places: Vec<u8>,
    },
    /// The container is whole: verify, make durable, keep the newest two, answer.
    Commit,
    /// Forget what was put.
    Abandon,
    /// What is there of this rank?
    List {
        /// The rank that it belongs to.
        rank: Rank,
    },
    /// Send the newest image of this rank that verifies and whose number is at most `at_most`.
    Get {
        /// The rank that it belongs to.
        rank: Rank,
        /// No image after this one (`u64::MAX` for the newest).
        at_most: ImageNo,
        /// The answer may be [`Answer::SameHost`].
        same_host: bool,
    },
    /// This image was found damaged at its restore: never offer it again.
    Condemn {
        /// The rank that it belongs to.
        rank: Rank,
        /// The image.
        image: ImageNo,
    },
    /// This incarnation begins from this image (0: from the start of the program), and may take
    /// another course than the earlier ones. Images after it belong to a state that was given up.
    /// They are removed, durably, before the answer.
    Return {
        /// The rank that it belongs to.
        rank: Rank,
        /// The incarnation.
        incarnation: Incarnation,
        /// From where.
        image: ImageNo,
    },
}

impl Request {
    /// What stands before `len` bytes of [`Request::Data`] in its encoding.
    #[must_use]
    pub fn data_head(len: usize) -> Vec<u8> {
        bulk_head(&Self::Data(Vec::new()), len)
    }

    /// Where the bytes of `Data` begin in this message, if it is one: to be taken without a copy.
    #[must_use]
    pub fn data_at(message: &[u8]) -> Option<usize> {
        bulk_at(&Self::data_head(0), message)
    }
}

impl Answer {
    /// What stands before `len` bytes of [`Answer::Data`] in its encoding.
    #[must_use]
    pub fn data_head(len: usize) -> Vec<u8> {
        bulk_head(&Self::Data(Vec::new()), len)
    }

    /// Where the bytes of `Data` begin in this message, if it is one: to be taken without a copy.
    #[must_use]
    pub fn data_at(message: &[u8]) -> Option<usize> {
        bulk_at(&Self::data_head(0), message)
    }
}

/// Of a message that ends with bytes: what comes before `len` of them. `empty` has none.
fn bulk_head(empty: &impl Serialize, len: usize) -> Vec<u8> {
    let mut head = postcard::to_allocvec(empty).unwrap_or_default();
    // Its last byte is the length 0.
    head.pop();
    head.extend(postcard::to_allocvec(&len).unwrap_or_default());
    head
}

/// `empty`: the message without bytes.
fn bulk_at(empty: &[u8], message: &[u8]) -> Option<usize> {
    let rest = message.strip_prefix(empty.strip_suffix(&[0])?)?;
    let (len, bytes) = postcard::take_from_bytes::<usize>(rest).ok()?;
    (bytes.len() == len).then_some(message.len() - len)
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// Done (declare, abandon, condemn).
    Done,
    /// The image is durable and will be offered; older ones than `oldest` are gone.
    Committed {
        /// Its number.
        image: ImageNo,
        /// Bytes stored.
        bytes: u64,
        /// The oldest image that is still offered.
        oldest: ImageNo,
    },
    /// It cannot be done; the text says why and what to do.
    Refused(String),
    /// What is there of that rank.
    RankImages(RankImages),
    /// This image follows in [`Answer::Data`] frames, ended by [`Answer::End`].
    Image(Stored),
    /// Bytes of the container, in order.
    Data(#[serde(with = "serde_bytes")] Vec<u8>),
    /// That was the image.
    End,
    /// Instead of [`Answer::Image`] and what follows it: the image verifies, and lies in this file.
    /// The server keeps no hold of it.
    SameHost(SameHostFile),
    /// There is no image of that rank.
    NoImage,
    /// The image that was announced may be written to this file, which is empty.
    Room(Room),
}

/// One image in the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// Its number.
    pub image: ImageNo,
    /// In which incarnation of the rank it was taken.
    pub incarnation: Incarnation,
    /// Bytes of the container: in a list those that it takes, before its bytes those that come.
    pub bytes: u64,
    /// Where the program's streams stood.
    pub counts: Counts,
}

/// A file that processes on the same host can read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SameHostFile {
    /// Which image it is.
    pub stored: Stored,
    /// The directory of the server's images.
    pub directory: String,
    /// What distinguishes it from a file of the same name elsewhere: device, inode, seconds and
    /// nanoseconds of its last change, bytes.
    pub identity: [u64; 5],
}

/// A file that processes on the same host can write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Room {
    /// Where it is.
    pub path: String,
    /// What distinguishes it from a file of the same name elsewhere, as in [`SameHostFile`].
    pub identity: [u64; 5],
    /// Which machine, and since which start of it.
    pub boot: String,
}

/// Where the program stood outside of its memory when an image was taken. A launcher that continues
/// the job must know it, though all other processes of the job are gone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Bytes of standard output and error that it had written.
    pub written: [u64; 2],
    /// Bytes of standard input that it had consumed.
    pub consumed: u64,
}

/// What an image's container holds in addition to its chunks, as JSON, so that tools of other
/// versions can read it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Note {
    /// See there.
    pub counts: Counts,
    /// When it was taken: milliseconds since 1970.
    pub taken_ms: u64,
    /// Where.
    pub host: String,
    /// The program's file.
    pub program: String,
    /// How long the rank stood still, in nanoseconds.
    pub pause_ns: u64,
    /// The images of this rank that it rests on (incarnation, number): chunks of it are there.
    pub bases: Vec<(Incarnation, ImageNo)>,
}

/// All about the images of one rank.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankImages {
    /// The living incarnation.
    pub incarnation: Incarnation,
    /// The start of the program is still offered: logs were never cut.
    pub start_offered: bool,
    /// The highest number that was ever used.
    pub highest: ImageNo,
    /// The images that are offered, oldest first.
    pub images: Vec<Stored>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_and_bytes_are_a_message() {
        for len in [0, 1, 127, 128, 256 << 10, 5 << 20] {
            let bytes = vec![7; len];
            let message = [Request::data_head(len), bytes.clone()].concat();
            assert_eq!(Request::data_at(&message), Some(message.len() - len));
            assert_eq!(Request::data_at(&message[..message.len() - 1]), None);
            assert_eq!(postcard::from_bytes(&message), Ok(Request::Data(bytes.clone())));
            let message = [Answer::data_head(len), bytes.clone()].concat();
            assert_eq!(Answer::data_at(&message), Some(message.len() - len));
            assert_eq!(postcard::from_bytes(&message), Ok(Answer::Data(bytes)));
        }
        let other = postcard::to_stdvec(&Request::Commit).unwrap();
        assert_eq!(Request::data_at(&other), None);
    }
}
