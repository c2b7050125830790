//! What the images of this rank hold: it decides what may be cut from logs.

use ftmpi_protocols::received::Received;
use ftmpi_wire::{EventNo, ImageNo, Rank};
use std::collections::VecDeque;

/// What an image of this rank holds.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub image: ImageNo,
    pub events: EventNo,
    pub received: Vec<Received>,
    /// Place in the stream out of the rank's channel memory.
    pub place: u64,
    /// For each peer, its image that the logs in this image reach back to; 0: as far as in memory.
    pub reach: Vec<ImageNo>,
}

/// The images of this rank that may be asked for, oldest first.
#[derive(Debug)]
pub(crate) struct Snapshots {
    list: VecDeque<Snapshot>,
    /// The oldest image that may be asked for.
    oldest: ImageNo,
    /// The newest image that is offered.
    newest: ImageNo,
    /// Images leave out of the logs what the newest image of the receiver has.
    lean: bool,
}

impl Snapshots {
    pub const fn new() -> Self {
        Self { list: VecDeque::new(), oldest: ImageNo(0), newest: ImageNo(0), lean: false }
    }

    /// Images leave out of the logs what the newest image of each receiver has, or not.
    pub fn set_lean(&mut self, lean: bool) {
        self.lean = lean;
    }

    /// Whether images leave out of the logs what the newest image of each receiver has.
    pub fn are_lean(&self) -> bool {
        self.lean
    }

    /// An image was taken.
    pub fn add(&mut self, snapshot: Snapshot) {
        self.list.push_back(snapshot);
    }

    /// The image was not taken after all, or was lost.
    pub fn forget(&mut self, image: ImageNo) {
        self.list.retain(|snapshot| snapshot.image != image);
    }

    /// The incarnation begins from this image.
    pub fn begin_from(&mut self, image: ImageNo) {
        self.newest = image;
    }

    /// `image` is stable, and nobody asks for one before `oldest`. `Some`: the oldest one, if this
    /// rank knows what it holds.
    pub fn committed(&mut self, image: ImageNo, oldest: ImageNo) -> Option<&Snapshot> {
        self.newest = image.max(self.newest);
        while self.list.front().is_some_and(|snapshot| snapshot.image < oldest) {
            self.list.pop_front();
        }
        let front = self.list.front().filter(|front| front.image == oldest)?;
        self.oldest = oldest;
        Some(front)
    }

    /// The oldest image that may be asked for.
    pub fn oldest(&self) -> Option<&Snapshot> {
        self.list.front().filter(|front| front.image == self.oldest)
    }

    /// The newest image that is offered, where images are lean.
    pub fn newest_lean(&self) -> Option<&Snapshot> {
        self.list.iter().find(|snapshot| self.lean && snapshot.image == self.newest)
    }

    /// This image.
    pub fn of(&self, image: ImageNo) -> Option<&Snapshot> {
        self.list.iter().find(|snapshot| snapshot.image == image)
    }

    /// Number of the last image that was taken, or that the process began from; 0: none.
    pub fn last_taken(&self) -> u64 {
        self.list.back().map_or(0, |snapshot| snapshot.image.0)
    }

    /// Whether no image reaches back to this image of a peer, or to a newer one.
    pub fn all_reach_before(&self, peer: Rank, image: ImageNo) -> bool {
        self.list.iter().all(|snapshot| snapshot.reach[peer.index()] < image)
    }
}
