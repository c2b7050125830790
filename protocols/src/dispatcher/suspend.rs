//! The orderly interruption of a job: a last image of every rank, then the end. A later launcher
//! continues from there (the time limit of a batch system is close, or the machine will be shut
//! down).
//!
//! Guarantees: the interruption ends, at the latest when the time is over. The older images of the
//! ranks are kept in any case, also if the last ones fail. A job whose program ends meanwhile ends
//! in order, with its own code.

use super::rank_state::Stage;
use super::{Dispatcher, EndReason, LastImages, Notice};
use crate::scheduler::scheduler_process::Note;
use ftmpi_wire::{ImageNo, Rank};
use std::time::Duration;

/// Exit code of a job that was interrupted and can be continued (`EX_TEMPFAIL` of `sysexits.h`: try
/// again later).
pub const SUSPENDED: i32 = 75;

/// The last images that are waited for.
#[derive(Debug)]
pub(super) struct Suspension {
    begun: Duration,
    until: Duration,
    /// For each rank, the highest number that its images had when this began.
    before: Vec<ImageNo>,
    /// Why there is no last image of a rank.
    failed: Vec<Option<String>>,
}

impl Dispatcher {
    /// The user wants the job to stop so that it can be continued.
    pub(super) fn suspend(&mut self, grace: Duration) {
        if self.scheduler.is_none() {
            return self.suspended(LastImages::None);
        }
        if self.suspension.is_none() {
            self.notify(Notice::LastImages { grace });
            self.suspension = Some(Suspension {
                begun: self.now,
                until: self.now.saturating_add(grace),
                before: self.all_ranks().map(|rank| self.images_before(rank)).collect(),
                failed: vec![None; self.ranks.len()],
            });
            self.look_at_suspension();
        }
    }

    /// A last image was lost. It is not tried again: the time is short.
    pub(super) fn last_image_failed(&mut self, rank: Rank, image: ImageNo, why: &str) {
        if let Some(suspension) = &mut self.suspension
            && image > suspension.before[rank.index()]
        {
            suspension.failed[rank.index()].get_or_insert_with(|| why.to_owned());
        }
    }

    fn all_ranks(&self) -> impl Iterator<Item = Rank> + use<> {
        (0..self.ranks.len() as u32).map(Rank)
    }

    /// The highest number of its images so far.
    pub(super) fn images_before(&self, rank: Rank) -> ImageNo {
        match self.cluster_of(rank) {
            Some(cluster) => self.clusters[cluster].waves.last_issued(),
            None => self.ranks[rank.index()].images.last_issued(),
        }
    }

    /// The newest image that it could go on from; of a wave only if that is complete.
    pub(super) fn newest_image(&self, rank: Rank) -> ImageNo {
        let newest = match self.cluster_of(rank) {
            Some(cluster) => self.clusters[cluster].waves.newest(),
            None => self.ranks[rank.index()].images.newest(),
        };
        newest.unwrap_or_default()
    }

    /// Whether this rank still owes its last image.
    pub(super) fn owes_last_image(&self, rank: Rank) -> bool {
        let Some(suspension) = &self.suspension else { return true };
        self.newest_image(rank) <= suspension.before[rank.index()]
            && suspension.failed[rank.index()].is_none()
    }

    /// Asks for what is missing; ends when nothing is, or time is over.
    pub(super) fn look_at_suspension(&mut self) {
        let Some(suspension) = &self.suspension else { return };
        let (begun, until) = (suspension.begun, suspension.until);
        let owing: Vec<Rank> = self
            .all_ranks()
            .filter(|rank| self.may_take_images_yet(*rank))
            .filter(|rank| self.owes_last_image(*rank))
            .collect();
        if let Some(scheduler) = &mut self.scheduler {
            for rank in &owing {
                let wave = self.cluster_places.get(rank.index());
                let due = wave.map_or(Note::HastenOne(*rank), |n| Note::HastenWave(*n as u32));
                scheduler.note(self.now, due);
            }
        }
        if !owing.is_empty() && self.now < until {
            return;
        }
        let failed = suspension.failed.iter().enumerate();
        let mut without: Vec<(Rank, Option<String>)> = failed
            .filter_map(|(rank, why)| Some((Rank(rank as u32), Some(why.clone()?))))
            .chain(owing.iter().map(|rank| (*rank, None)))
            .collect();
        without.sort();
        let (missing, size) = (without.len(), self.ranks.len());
        self.suspended(match without.into_iter().next() {
            None => LastImages::All { took: self.now - begun },
            Some((rank, why)) => LastImages::Some { missing, size, rank, why },
        });
    }

    /// A last image of it may still come: if it is taken in a wave, of all of its cluster.
    fn may_take_images_yet(&self, rank: Rank) -> bool {
        let may = |rank: &Rank| self.ranks[rank.index()].may_take_images_yet();
        match self.cluster_of(rank) {
            Some(cluster) => self.clusters[cluster].waves.ranks().iter().all(may),
            None => may(&rank),
        }
    }

    fn suspended(&mut self, images: LastImages) {
        self.give_up(SUSPENDED, EndReason::Suspended(images));
    }
}

impl super::rank_state::RankState {
    /// A last image of it may still come.
    fn may_take_images_yet(&self) -> bool {
        let able = match self.stage {
            Stage::Running => self.can_image,
            Stage::Waiting | Stage::Stopping | Stage::Starting | Stage::Spawned => true,
            Stage::Done(_) | Stage::Ignored => false,
        };
        able && !self.finalizing && self.exiting.is_none()
    }
}
