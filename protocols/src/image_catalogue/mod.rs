//! The machine of the checkpoint server: which images of which ranks are there, and who may put
//! one.
//!
//! Calling convention: call [`ImageCatalogue::handle`] with an [`Input`], then carry out the
//! [`Output`]s that it appended, in order, for that connection. An output that names an answering
//! input is answered before the next request of the same connection. Queries never change state.
//!
//! Guarantees:
//! - An image is offered only after it was verified, made durable and published under its name. Its
//!   incarnation must also be the current one at that moment. A late image of a dead incarnation is
//!   refused wherever it was on its way.
//! - The two newest images are offered. The start of the program counts as image 0 until two real
//!   images are there. `oldest` in the answer to a commit is therefore always safe to cut logs at.
//! - Of a coordinated job the store keeps what [`Ask::Keep`] names, and the newest image. These are
//!   the images of the last complete waves, also if later waves fail.
//! - After [`Ask::Return`] nothing later than the image that was returned to is ever offered again.
//! - A fetch gets the newest image that verifies *now*. An image that does not verify is set aside,
//!   and the next older one is tried. If images were there but none is good, and the start is no
//!   longer offered, the answer is a refusal, never "begin at the start".
//! - Each put gets exactly one answer: an early refusal, or the answer to its commit or
//!   abandonment. After an early refusal data is ignored until the commit or abandonment.

mod object_tier;
mod rank_images;
mod requests;

#[cfg(test)]
mod object_tier_tests;
#[cfg(test)]
mod object_tier_waves_tests;
#[cfg(test)]
mod tests;

use ftmpi_wire::image_store::{Answer, Counts, Request, Stored};
use ftmpi_wire::{ImageId, ImageNo, Incarnation, Rank};
use rank_images::RankImages;
use std::collections::BTreeMap;

pub use crate::event_log::ConnId;

/// A [`Request`] without its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in the wire format")]
pub enum Ask {
    Declare { rank: Rank, incarnation: Incarnation },
    Keep { rank: Rank, incarnation: Incarnation, images: [ImageNo; 2] },
    Put { rank: Rank, incarnation: Incarnation, image: ImageNo },
    Data { bytes: u64 },
    Commit,
    Abandon,
    List { rank: Rank },
    Get { rank: Rank, at_most: ImageNo },
    Condemn { rank: Rank, image: ImageNo },
    Return { rank: Rank, incarnation: Incarnation, image: ImageNo },
}

impl From<&Request> for Ask {
    fn from(request: &Request) -> Self {
        match *request {
            Request::Declare { rank, incarnation } => Self::Declare { rank, incarnation },
            Request::Keep { rank, incarnation, images } => Self::Keep { rank, incarnation, images },
            Request::Put { rank, incarnation, image, .. } => Self::Put { rank, incarnation, image },
            Request::Data(ref bytes) => Self::Data { bytes: bytes.len() as u64 },
            Request::Written { bytes, .. } => Self::Data { bytes },
            Request::Commit => Self::Commit,
            Request::Abandon => Self::Abandon,
            Request::List { rank } => Self::List { rank },
            Request::Get { rank, at_most, .. } => Self::Get { rank, at_most },
            Request::Condemn { rank, image } => Self::Condemn { rank, image },
            Request::Return { rank, incarnation, image } => {
                Self::Return { rank, incarnation, image }
            }
        }
    }
}

/// Why a stored image cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckError {
    /// It was removed meanwhile, because newer ones came.
    Gone,
    /// It is damaged or cannot be read.
    Damaged(String),
}

/// What must be known of a rank in addition to its images. The server reads it from its disk after
/// a restart; a server without any other source reads it from the object tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// The living incarnation.
    pub incarnation: Incarnation,
    /// The program's start is still offered: logs were never cut.
    pub start_offered: bool,
    /// With an object tier: ranks have cut their logs at this image or at an earlier one.
    pub oldest: ImageNo,
}

impl Default for Record {
    fn default() -> Self {
        Self { incarnation: Incarnation(0), start_offered: true, oldest: ImageNo(0) }
    }
}

impl Record {
    /// Whether a server that has lost its disk may offer this image of the object tier.
    #[must_use]
    pub fn offers(&self, image: ImageNo) -> bool {
        image >= self.oldest
    }

    /// What is true if both are: the disk's and the object tier's.
    #[must_use]
    pub fn merged(self, other: Self) -> Self {
        Self {
            incarnation: self.incarnation.max(other.incarnation),
            start_offered: self.start_offered && other.start_offered,
            oldest: self.oldest.max(other.oldest),
        }
    }
}

/// What happened, on which connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// The connection.
    pub conn: ConnId,
    /// What happened on it.
    pub event: Event,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A request came.
    Request(Ask),
    /// Outcome of [`Output::Persist`].
    Persisted(Result<(), String>),
    /// [`Output::Create`] or [`Output::Write`] failed. (No input when they succeed.)
    WriteFailed(String),
    /// Outcome of [`Output::Verify`]: whether it is whole, sound, and the one that was announced;
    /// what its note says.
    Verified(Result<Counts, String>),
    /// Outcome of [`Output::Publish`].
    Published(Result<(), String>),
    /// Outcome of [`Output::Check`].
    Checked(Result<(), CheckError>),
    /// Outcome of [`Output::GiveUp`].
    GaveUp(Result<(), String>),
    /// [`Output::Send`] could not read to the end; the connection is to be closed.
    SendFailed(String),
    /// The connection ended.
    Lost,
    /// Outcome of [`Output::Flush`]; on a connection that is the rank's flushes' own.
    Flushed(ImageId, Result<(), String>),
    /// After [`Output::AwaitObjectTier`]: a flush has ended since.
    ObjectTierProgress,
}

/// What the shell has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Make this record durable; answer with [`Event::Persisted`].
    Persist {
        /// The rank that it belongs to.
        rank: Rank,
        /// What.
        record: Record,
    },
    /// Open a temporary file for this image.
    Create(ImageId),
    /// Append this request's data to the temporary file.
    Write,
    /// Check the temporary file's container and make it durable; answer with [`Event::Verified`].
    Verify(ImageId),
    /// Give the temporary file its name, durably; answer with [`Event::Published`] before the
    /// machine gets any other input.
    Publish(ImageId),
    /// Remove the temporary file.
    Discard,
    /// Remove a stored image; failure is no harm.
    Remove(ImageId),
    /// Remove these stored images, durably; answer with [`Event::GaveUp`] before the machine gets
    /// any other input.
    GiveUp(Vec<ImageId>),
    /// Rename a stored image so that it is not found again, but can be looked at.
    SetAside(ImageId),
    /// Verify a stored image as it is now; answer with [`Event::Checked`].
    Check(ImageId),
    /// Send [`Answer::Image`], its bytes in [`Answer::Data`], and [`Answer::End`].
    Send(ImageId, Stored),
    /// Send this answer.
    Answer(Answer),
    /// Close the connection; the text is for the log of the server.
    Close(String),
    /// Report this in the log of the server.
    Say(String),
    /// Put this image, with what it rests on, into the object tier, durably, and then the record;
    /// answer with [`Event::Flushed`]. What was asked for a rank is done in the order in which it
    /// was asked.
    Flush(ImageId, Record),
    /// Put this record into the object tier, if it can be.
    Mirror(Rank, Record),
    /// Answer with [`Event::ObjectTierProgress`] when a flush has ended after this was decided.
    AwaitObjectTier,
}

/// State of one rank's images, for status requests.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct RankState {
    /// The rank that it belongs to.
    pub rank: Rank,
    /// The living incarnation.
    pub incarnation: Incarnation,
    /// The start of the program is still offered.
    pub start_offered: bool,
    /// Offered images, oldest first.
    pub images: Vec<Stored>,
    /// Images that were found damaged.
    pub set_aside: u64,
    /// The newest image that is in the object store, if there is one.
    pub newest_in_object_store: Option<ImageNo>,
}

/// What a connection is in the middle of.
#[derive(Debug)]
enum Phase {
    /// A declaration is being persisted.
    Declaring {
        rank: Rank,
        incarnation: Incarnation,
    },
    /// An image comes.
    Receiving {
        name: ImageId,
        bytes: u64,
    },
    /// It was refused; the rest of it comes.
    Swallowing,
    Verifying {
        name: ImageId,
        bytes: u64,
    },
    Publishing {
        name: ImageId,
        bytes: u64,
        counts: Counts,
    },
    /// It is published; the record that the start is no longer offered is being persisted.
    Closing {
        name: ImageId,
        bytes: u64,
    },
    /// Of a wave: it is published and on its way to the object tier.
    Flushing {
        name: ImageId,
        bytes: u64,
    },
    /// After a flush: the record that logs may be cut further is being persisted.
    GivingUp {
        rank: Rank,
        record: Record,
    },
    Checking {
        rank: Rank,
        at_most: ImageNo,
        stored: Stored,
    },
    Sending {
        rank: Rank,
        image: ImageNo,
    },
    /// The images after one to which the rank returns are being removed.
    Returning {
        rank: Rank,
        images: Vec<Stored>,
    },
}

impl Phase {
    fn has_temporary(&self) -> bool {
        matches!(self, Self::Receiving { .. } | Self::Verifying { .. } | Self::Publishing { .. })
    }
}

/// The machine.
#[derive(Debug)]
pub struct ImageCatalogue {
    by_rank: BTreeMap<Rank, RankImages>,
    /// Connections that are in the middle of something.
    phases: BTreeMap<ConnId, Phase>,
    bytes_max: u64,
    /// Bytes that are free on the disk, if images must leave room there; else `u64::MAX`.
    free: u64,
    retired_bytes: u64,
    /// Whether there is a third level.
    object_tier: bool,
    /// Whether logs are cut when a wave is complete.
    waves_cut_logs: bool,
}

impl ImageCatalogue {
    /// Without any image; stores at most `bytes_max` bytes (`u64::MAX`: as many as the disk takes).
    #[must_use]
    pub fn new(bytes_max: u64) -> Self {
        let (by_rank, phases) = (BTreeMap::new(), BTreeMap::new());
        Self {
            by_rank,
            phases,
            bytes_max,
            free: u64::MAX,
            retired_bytes: 0,
            object_tier: false,
            waves_cut_logs: false,
        }
    }

    /// Logs are cut when a wave is complete. With an object tier a wave counts only when it is
    /// there, and the program's start is given up when two have been complete. Before anything
    /// else.
    #[must_use]
    pub fn with_waves_that_cut_logs(mut self) -> Self {
        self.waves_cut_logs = true;
        self
    }

    /// A rank whose record was found on disk; before the first input.
    pub fn restore_record(&mut self, rank: Rank, record: Record) {
        let rank_images = self.rank_images(rank);
        rank_images.is_stored(record.incarnation);
        rank_images.start_offered = record.start_offered;
        if let Some(level) = &mut rank_images.level {
            level.floor = record.oldest;
        }
    }

    /// An image that was found on disk, set aside or under its name; before the first input.
    /// `counts`: what its note says; `None`: it is set aside.
    pub fn restore_image(&mut self, name: ImageId, bytes: u64, counts: Option<Counts>) {
        let rank_images = self.rank_images(name.rank);
        rank_images.is_stored(name.incarnation);
        rank_images.highest = rank_images.highest.max(name.image);
        match counts {
            None => rank_images.set_aside += 1,
            Some(counts) => {
                let ImageId { image, incarnation, .. } = name;
                rank_images.images.insert(image, Stored { image, incarnation, bytes, counts });
            }
        }
    }

    /// State of every rank.
    pub fn ranks(&self) -> impl Iterator<Item = RankState> + '_ {
        self.by_rank.iter().map(|(rank, rank_images)| rank_images.state(*rank))
    }

    /// Whether this image is offered.
    #[must_use]
    pub fn offers(&self, name: ImageId) -> bool {
        let stored = self
            .by_rank
            .get(&name.rank)
            .and_then(|rank_images| rank_images.images.get(&name.image));
        stored.is_some_and(|stored| stored.incarnation == name.incarnation)
    }

    /// Bytes of all images that are there or on their way.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let stored = self.by_rank.values().flat_map(|s| s.images.values()).map(|i| i.bytes);
        let coming = self.phases.values().map(|phase| match phase {
            Phase::Receiving { bytes, .. }
            | Phase::Verifying { bytes, .. }
            | Phase::Publishing { bytes, .. } => *bytes,
            _ => 0,
        });
        stored.chain(coming).fold(self.retired_bytes, u64::saturating_add)
    }

    /// Bytes that are stored in addition: of images that are not offered and that others rest on.
    pub fn retired_bytes(&mut self, bytes: u64) {
        self.retired_bytes = bytes;
    }

    /// So many bytes are free on the disk now, where images leave as much room as they take. So the
    /// program can write its results where its images are.
    pub fn leave_room(&mut self, free: u64) {
        self.free = free;
    }

    /// Time has passed, and others may have filled the disk: older images go if there is no room.
    pub fn look_at_room(&mut self, out: &mut Vec<Output>) {
        if self.bytes() > self.free {
            self.make_room(out);
        }
    }

    /// Takes one input; appends what is to be done for that connection.
    pub fn handle(&mut self, input: Input, out: &mut Vec<Output>) {
        let conn = input.conn;
        match input.event {
            Event::Request(ask) => self.request(conn, ask, out),
            Event::Persisted(outcome) => self.persisted(conn, outcome, out),
            Event::WriteFailed(why) => self.write_failed(conn, why, out),
            Event::Verified(outcome) => self.verified(conn, outcome, out),
            Event::Published(outcome) => self.published(conn, outcome, out),
            Event::GaveUp(outcome) => self.returned(conn, outcome, out),
            Event::Checked(outcome) => self.checked(conn, outcome, out),
            Event::SendFailed(why) => self.send_failed(conn, why, out),
            Event::Flushed(name, outcome) => self.flushed(conn, name, outcome, out),
            Event::ObjectTierProgress => self.object_tier_progress(conn, out),
            Event::Lost => {
                let phase = self.phases.remove(&conn);
                if phase.is_some_and(|phase| phase.has_temporary()) {
                    out.push(Output::Discard);
                }
            }
        }
    }
}
