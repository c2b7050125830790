//! The images of one rank.

use super::object_tier::Level;
use super::{RankState, Record};
use ftmpi_wire::image_store::{self, Stored};
use ftmpi_wire::{ImageId, ImageNo, Incarnation, Rank};
use std::collections::{BTreeMap, BTreeSet};

/// Images that are kept, the start of the program included.
pub(super) const KEPT: usize = 2;

#[derive(Debug)]
pub(super) struct RankImages {
    /// The living incarnation.
    pub incarnation: Incarnation,
    /// The incarnation that a restart of the server would find.
    pub durable: Incarnation,
    /// Logs were never cut: a restart from the program's start is still possible.
    pub start_offered: bool,
    /// What is offered.
    pub images: BTreeMap<ImageNo, Stored>,
    /// The highest number that was ever published.
    pub highest: ImageNo,
    /// Images that are kept in addition to the newest, where waves decide that.
    pub keep: Option<[ImageNo; 2]>,
    /// Images that were not named when `keep` was sent last: of waves that came to nothing.
    pub void: BTreeSet<ImageNo>,
    /// How many were found damaged.
    pub set_aside: u64,
    /// What the object tier has, if there is one.
    pub level: Option<Level>,
}

impl RankImages {
    /// Of a rank that nothing is known of; `object tier`: there is one.
    pub fn new(object_tier: bool, waves_cut_logs: bool) -> Self {
        Self {
            incarnation: Incarnation(0),
            durable: Incarnation(0),
            start_offered: true,
            images: BTreeMap::new(),
            highest: ImageNo(0),
            keep: None,
            void: BTreeSet::new(),
            set_aside: 0,
            level: object_tier.then(|| Level::new(waves_cut_logs)),
        }
    }

    pub fn state(&self, rank: Rank) -> RankState {
        RankState {
            rank,
            incarnation: self.incarnation,
            start_offered: self.start_offered,
            images: self.images.values().copied().collect(),
            set_aside: self.set_aside,
            newest_in_object_store: self.level.as_ref().and_then(|l| l.flushed.last().copied()),
        }
    }

    /// For a launcher that continues the job.
    pub fn describe(&self) -> image_store::RankImages {
        image_store::RankImages {
            incarnation: self.incarnation,
            start_offered: self.start_offered,
            highest: self.highest,
            images: self.images.values().copied().collect(),
        }
    }

    /// For stable storage, as it is now.
    pub fn record(&self) -> Record {
        Record {
            incarnation: self.incarnation,
            start_offered: self.start_offered,
            oldest: self.level.as_ref().map_or(ImageNo(0), |level| level.floor),
        }
    }

    /// This incarnation was found, or put, on stable storage.
    pub fn is_stored(&mut self, incarnation: Incarnation) {
        self.durable = self.durable.max(incarnation);
        self.incarnation = self.incarnation.max(incarnation);
    }

    /// Why this incarnation is not the living one, if it is not.
    pub fn is_over(&self, rank: Rank, incarnation: Incarnation) -> Option<String> {
        (incarnation < self.incarnation).then(|| {
            format!(
                "incarnation {} of rank {rank} was declared already: incarnation {incarnation} is over",
                self.incarnation
            )
        })
    }

    /// Why this incarnation may not put this image, if it may not.
    pub fn objection(&self, name: ImageId) -> Option<String> {
        let ImageId { rank, image, incarnation } = name;
        if incarnation < self.incarnation {
            return Some(format!(
                "image {image} of rank {rank} was taken in its incarnation {incarnation}, but \
                 incarnation {} is the present one: it is refused",
                self.incarnation
            ));
        }
        (image <= self.highest).then(|| {
            format!(
                "image {image} of rank {rank} comes too late: image {} is already there",
                self.highest
            )
        })
    }

    /// The newest image of at most this number.
    pub fn newest(&self, at_most: ImageNo) -> Option<Stored> {
        self.images.range(..=at_most).next_back().map(|(_, stored)| *stored)
    }

    /// Whether enough images are there to give up the program's start.
    pub fn start_is_spare(&self, waves_cut_logs: bool) -> bool {
        let enough = match (&self.level, self.keep) {
            // They name the second of two complete ones.
            (_, Some([_, older])) => waves_cut_logs && older > ImageNo(0),
            (None, None) => self.images.len() >= KEPT,
            // There is a floor only when the record there does not offer the start either.
            (Some(level), None) => level.floor > ImageNo(0),
        };
        self.start_offered && enough
    }

    /// Takes out what is too old to be kept.
    pub fn take_surplus(&mut self, rank: Rank) -> Vec<ImageId> {
        let numbers: Vec<ImageNo> = match self.keep {
            Some(keep) => {
                let stays = |image: &ImageNo| keep.contains(image) || *image == self.highest;
                self.images.keys().copied().filter(|image| !stays(image)).collect()
            }
            None => {
                let surplus = self.images.len().saturating_sub(KEPT);
                self.images.keys().copied().take(surplus).collect()
            }
        };
        self.take_all(rank, numbers)
    }

    /// Takes out images of waves that came to nothing.
    pub fn take_void(&mut self, rank: Rank) -> Vec<ImageId> {
        let numbers = std::mem::take(&mut self.void).into_iter().collect();
        self.take_all(rank, numbers)
    }

    /// Takes out the image before the newest one, which must be enough now. (In waves: the newest
    /// wave that is complete.)
    pub fn take_older(&mut self, rank: Rank) -> Vec<ImageId> {
        let newest = match self.keep {
            Some([newest, _]) => newest,
            None => self.images.keys().next_back().copied().unwrap_or(ImageNo(0)),
        };
        if !self.images.contains_key(&newest) {
            return Vec::new();
        }
        let older = self.images.range(..newest).map(|(image, _)| *image).collect();
        self.take_all(rank, older)
    }

    /// Takes out these, unless the object tier needs them.
    fn take_all(&mut self, rank: Rank, numbers: Vec<ImageNo>) -> Vec<ImageId> {
        let needed =
            |image: &ImageNo| self.level.as_ref().is_some_and(|l| l.needs(*image, self.keep));
        let numbers: Vec<ImageNo> = numbers.into_iter().filter(|image| !needed(image)).collect();
        numbers.into_iter().filter_map(|image| self.take(rank, image)).collect()
    }

    /// Takes out one image.
    pub fn take(&mut self, rank: Rank, image: ImageNo) -> Option<ImageId> {
        let stored = self.images.remove(&image)?;
        if let Some(level) = &mut self.level {
            level.flushed.remove(&image);
        }
        Some(ImageId { rank, image, incarnation: stored.incarnation })
    }

    /// The oldest point from which the rank can still be restarted.
    pub fn oldest(&self) -> ImageNo {
        if self.start_offered {
            return ImageNo(0);
        }
        if let Some(level) = &self.level {
            return level.floor;
        }
        self.images.keys().next().copied().unwrap_or(self.highest)
    }
}
