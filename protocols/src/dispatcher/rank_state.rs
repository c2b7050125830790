//! What the dispatcher knows of one rank, and of its images.

use super::messages::ImageFacts;
use super::standbys::Standby;
use ftmpi_wire::{ImageNo, Incarnation};
use std::time::Duration;

/// Where an incarnation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// For an agent.
    Waiting,
    /// The agent has the order.
    Starting,
    /// The process runs.
    Spawned,
    /// It said hello.
    Running,
    /// It is being ended, because all ranks return to an earlier wave.
    Stopping,
    /// The program has ended, with this code.
    Done(i32),
    /// It has failed, and the others go on without it.
    Ignored,
}

/// One rank.
#[derive(Debug)]
pub(super) struct RankState {
    pub(super) host: u32,
    pub(super) incarnation: Incarnation,
    pub(super) stage: Stage,
    pub(super) finalizing: bool,
    pub(super) exiting: Option<i32>,
    pub(super) can_image: bool,
    /// It repeats what an earlier incarnation did, or is about to.
    pub(super) behind: bool,
    /// Some incarnation of it said hello.
    pub(super) joined: bool,
    pub(super) images: Images,
    /// The host of its next incarnation, if that is another one.
    pub(super) moves_to: Option<u32>,
    /// The process that takes the place of the present incarnation.
    pub(super) standby: Option<Standby>,
    /// Standbys that were lost in a row; `None`: no other is made.
    pub(super) lost_standbys: Option<u32>,
    /// When another one is made in place of one that was lost.
    pub(super) standby_again: Option<Duration>,
    /// It counts on no host: its world was spawned, and it has ended or was dropped.
    pub(super) without_slot: bool,
}

impl RankState {
    pub(super) fn new(host: u32) -> Self {
        Self {
            host,
            incarnation: Incarnation(0),
            stage: Stage::Waiting,
            finalizing: false,
            exiting: None,
            can_image: false,
            behind: false,
            joined: false,
            images: Images::default(),
            moves_to: None,
            standby: None,
            lost_standbys: Some(0),
            standby_again: None,
            without_slot: false,
        }
    }

    pub(super) fn new_incarnation(&mut self) {
        self.incarnation = self.incarnation.next();
        self.stage = Stage::Waiting;
        self.finalizing = false;
        self.exiting = None;
        self.can_image = false;
        self.behind = true;
    }

    pub(super) fn is_stopping(&self, incarnation: Incarnation) -> bool {
        self.stage == Stage::Stopping && self.incarnation == incarnation
    }

    /// Images after `MPI_Finalize` has begun would save nothing worth having.
    pub(super) fn can_take_image(&self) -> bool {
        self.stage == Stage::Running && self.can_image && !self.finalizing && self.exiting.is_none()
    }
}

/// The images of one rank whose commit the dispatcher knows.
#[derive(Debug, Default)]
pub(super) struct Images {
    /// Oldest first.
    kept: Vec<ImageFacts>,
    issued: ImageNo,
    /// Logs have been cut: the start of the program can no longer be replayed.
    cut: bool,
    /// What the store has behind these is given up before an incarnation begins from one of them.
    no_newer: bool,
}

impl Images {
    /// As an earlier run left them.
    pub(super) fn found(mut kept: Vec<ImageFacts>, start_offered: bool, highest: ImageNo) -> Self {
        kept.sort_by_key(|kept| kept.image);
        let issued = kept.last().map_or(highest, |newest| highest.max(newest.image));
        Self { kept, issued, cut: !start_offered, no_newer: false }
    }

    /// A fresh number; numbers are never used again, even if the image is lost.
    pub(super) fn issue(&mut self) -> ImageNo {
        self.issued = self.issued.next();
        self.issued
    }

    /// Takes note of a commit. The result is how far back logs must reach: to the oldest image that
    /// the server offers. That may be the start of the program (number 0), which the server gives
    /// up when there are two other ways to recover. It may also be an image that the dispatcher
    /// does not know.
    pub(super) fn committed(&mut self, image: ImageFacts, oldest_offered: ImageNo) -> ImageNo {
        self.kept.retain(|kept| kept.image >= oldest_offered && kept.image != image.image);
        self.kept.push(image);
        self.kept.sort_by_key(|kept| kept.image);
        self.cut |= oldest_offered > ImageNo(0);
        oldest_offered
    }

    pub(super) fn condemn(&mut self, image: ImageNo) {
        self.kept.retain(|kept| kept.image != image);
    }

    /// This image and those after it serve no more.
    pub(super) fn condemn_from(&mut self, image: ImageNo) {
        self.kept.retain(|kept| kept.image < image);
        self.no_newer = true;
    }

    pub(super) fn no_newer(&self) -> bool {
        self.no_newer
    }

    /// An incarnation has begun from one of them.
    pub(super) fn begun(&mut self) {
        self.no_newer = false;
    }

    pub(super) fn newest(&self) -> Option<ImageNo> {
        self.kept.last().map(|kept| kept.image)
    }

    /// Logs reach back to this one; none: to the start of the program.
    pub(super) fn oldest(&self) -> Option<ImageNo> {
        self.kept.first().filter(|_| self.cut).map(|kept| kept.image)
    }

    pub(super) fn last_issued(&self) -> ImageNo {
        self.issued
    }

    pub(super) fn newest_first(&self) -> Vec<ImageFacts> {
        self.kept.iter().rev().copied().collect()
    }

    pub(super) fn reach_back_to_the_start(&self) -> bool {
        !self.cut
    }
}
