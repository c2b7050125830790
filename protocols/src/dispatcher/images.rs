//! Images of single ranks: when they are due, and what became of them. (`rollback` has the waves.)
//!
//! Guarantees: an image that cannot be restored is never chosen again. A trouble that all images
//! share (a full disk) is reported once.

use super::Dispatcher;
use super::messages::{Command, ImageFacts};
use super::notice::Notice;
use crate::scheduler::scheduler_process::{Note, Order};
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::time::Duration;

impl Dispatcher {
    pub(super) fn image_committed(
        &mut self,
        rank: Rank,
        incarnation: Incarnation,
        image: ImageFacts,
        oldest: ImageNo,
    ) {
        // The server has the image of a rank that is to end, and offers older ones no more. (Where
        // ranks are rolled back, it may be of a state that never was.)
        let counts = self.is_stopping(rank, incarnation)
            && !self.in_waves()
            && !self.settings.traits.gives_up_newer_images();
        if !counts && self.living(rank, incarnation).is_none() {
            return;
        }
        if self.in_waves() {
            return self.wave_image_committed(rank, image);
        }
        self.image_ended(rank);
        self.note(Note::Committed(rank));
        let state = &mut self.ranks[rank.index()];
        let oldest = state.images.committed(image, oldest);
        self.judge.progressed(rank);
        self.image_trouble.take_if(|told| *told == rank);
        self.commands.push_back(Command::ImageCommitted {
            rank,
            incarnation,
            image: image.image,
            oldest,
        });
        self.make_standby(rank);
    }

    pub(super) fn image_unusable(
        &mut self,
        rank: Rank,
        incarnation: Incarnation,
        image: ImageNo,
        why: &str,
    ) {
        if self.is_stopping(rank, incarnation) {
            return self.condemn(rank, image);
        }
        let in_waves = self.in_waves();
        let Some(state) = self.living(rank, incarnation) else { return };
        if in_waves {
            return self.wave_unusable(rank, image, why);
        }
        state.images.condemn(image);
        self.notify(Notice::ImageUnusable { rank, image, why: why.to_owned() });
    }

    pub(super) fn image_failed(
        &mut self,
        rank: Rank,
        incarnation: Incarnation,
        image: ImageNo,
        why: &str,
    ) {
        if self.living(rank, incarnation).is_none() {
            return;
        }
        if self.in_waves() {
            self.wave_image_failed(rank, image);
        } else {
            self.image_ended(rank);
        }
        self.commands.push_back(Command::ImageFailed { rank, incarnation, image });
        self.report_lost_image(rank, image, why);
        self.last_image_failed(rank, image, why);
        if !self.in_waves() {
            self.migration_image_failed(rank, image, why);
        }
    }

    pub(super) fn scheduler_up(&mut self) {
        if let Some(scheduler) = &mut self.scheduler {
            scheduler.joined(self.now);
        }
        self.look_for_images();
    }

    pub(super) fn scheduler_lost(&mut self) {
        if let Some(scheduler) = &mut self.scheduler {
            scheduler.parted();
        }
    }

    pub(super) fn ordered(&mut self, order: Order) {
        if let Some(scheduler) = &mut self.scheduler {
            scheduler.ordered(order);
        }
        self.look_for_images();
    }

    /// The time between two images of a rank, with what is known of their cost; `None` without
    /// images.
    #[must_use]
    pub fn image_interval(&self) -> Option<Duration> {
        self.scheduler.as_ref().map(|scheduler| scheduler.interval(self.now))
    }

    /// No new incarnation is to begin from this image.
    pub(super) fn condemn(&mut self, rank: Rank, image: ImageNo) {
        match self.cluster_of(rank) {
            Some(cluster) => self.clusters[cluster].waves.condemn(image),
            None => self.ranks[rank.index()].images.condemn(image),
        }
    }

    pub(super) fn image_ended(&mut self, rank: Rank) {
        self.note(Note::Ended(rank));
    }

    pub(super) fn note(&mut self, note: Note) {
        match note {
            Note::Hasten => self.wait_for_no_standby(None),
            Note::HastenOne(rank) => self.wait_for_no_standby(Some(rank)),
            _ => {}
        }
        if let Some(scheduler) = &mut self.scheduler {
            scheduler.note(self.now, note);
        }
    }

    /// Every rank would report a full disk at every interval. It is reported once, until the rank
    /// that reported it has an image again.
    fn report_lost_image(&mut self, rank: Rank, image: ImageNo, why: &str) {
        if self.image_trouble.is_none() {
            self.image_trouble = Some(rank);
            self.notify(Notice::ImageLost { rank, image, why: why.to_owned() });
        }
    }

    /// Begins what is due.
    pub(super) fn look_for_images(&mut self) {
        if self.in_waves() {
            return self.look_for_waves();
        }
        let able = |rank: Rank| {
            let owes = match &self.suspension {
                Some(_) => self.owes_last_image(rank),
                None => !self.waits_for_standby(rank),
            };
            // While a rank waits in `MPI_Finalize`, logs of others hold what it has received.
            let works = self.ranks[rank.index()].can_take_image();
            owes && (works || self.waits_for_other_worlds(rank))
        };
        let able: Vec<bool> = (0..self.ranks.len() as u32).map(|rank| able(Rank(rank))).collect();
        let Some(scheduler) = &mut self.scheduler else { return };
        for rank in scheduler.take_due(self.now, |rank| able[rank.index()]) {
            let state = &mut self.ranks[rank.index()];
            let image = state.images.issue();
            let incarnation = state.incarnation;
            self.commands.push_back(Command::TakeImage { rank, incarnation, image, keep: None });
        }
    }
}
