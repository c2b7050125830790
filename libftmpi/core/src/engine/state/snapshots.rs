//! What the images of this rank hold: it decides what may be cut from logs.

use super::super::tuning::REFUSALS_MAX;
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
    /// Images that were not taken or were lost since the last one that is stable.
    refused: u32,
    /// One of them for a reason that does not pass by itself.
    lasting: bool,
    /// Peers have cut their logs although this rank has no image of what they dropped.
    unprotected: bool,
    /// That was not said yet.
    unsaid: bool,
}

impl Snapshots {
    pub const fn new() -> Self {
        Self {
            list: VecDeque::new(),
            oldest: ImageNo(0),
            newest: ImageNo(0),
            lean: false,
            refused: 0,
            lasting: false,
            unprotected: false,
            unsaid: false,
        }
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

    /// An image was not taken, or was lost. `lasts`: the reason does not pass by itself.
    pub fn refused(&mut self, lasts: bool) {
        self.refused = self.refused.saturating_add(1);
        self.lasting |= lasts;
    }

    /// Whether this rank has no image to expect.
    pub fn are_impossible(&self) -> bool {
        self.lasting || self.refused >= REFUSALS_MAX
    }

    /// A peer was told to cut its log although this rank has no image.
    #[cold]
    pub fn given_way(&mut self) {
        self.unsaid |= !self.unprotected;
        self.unprotected = true;
    }

    /// Whether that is to be said now. Once.
    #[inline]
    pub fn take_given_way(&mut self) -> bool {
        std::mem::take(&mut self.unsaid)
    }

    fn are_possible(&mut self) {
        (self.refused, self.lasting, self.unprotected) = (0, false, false);
    }

    /// The incarnation begins from this image.
    pub fn begin_from(&mut self, image: ImageNo) {
        self.newest = image;
        self.are_possible();
    }

    /// `image` is stable, and nobody asks for one before `oldest`. `Some`: the oldest one, if this
    /// rank knows what it holds.
    pub fn committed(&mut self, image: ImageNo, oldest: ImageNo) -> Option<&Snapshot> {
        self.newest = image.max(self.newest);
        self.are_possible();
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
        // An image from before the peer has joined has nothing for it.
        let before = |snapshot: &Snapshot| {
            snapshot.reach.get(peer.index()).is_none_or(|reach| *reach < image)
        };
        self.list.iter().all(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lasting_reason_counts_at_once_and_others_after_many() {
        let mut snapshots = Snapshots::new();
        (1..REFUSALS_MAX).for_each(|_| snapshots.refused(false));
        assert!(!snapshots.are_impossible());
        snapshots.refused(false);
        assert!(snapshots.are_impossible());
        snapshots.committed(ImageNo(1), ImageNo(1));
        assert!(!snapshots.are_impossible());
        snapshots.refused(true);
        assert!(snapshots.are_impossible());
        snapshots.begin_from(ImageNo(1));
        assert!(!snapshots.are_impossible());
    }

    #[test]
    fn it_is_said_once_until_there_is_an_image() {
        let mut snapshots = Snapshots::new();
        assert!(!snapshots.take_given_way());
        snapshots.given_way();
        snapshots.given_way();
        assert!(snapshots.take_given_way() && !snapshots.take_given_way());
        snapshots.given_way();
        assert!(!snapshots.take_given_way());
        snapshots.committed(ImageNo(1), ImageNo(1));
        snapshots.given_way();
        assert!(snapshots.take_given_way());
    }
}
