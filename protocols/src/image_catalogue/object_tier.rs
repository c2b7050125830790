//! The third level of storage: an object store to which images go when they are committed.
//!
//! Guarantees, for each rank:
//! - One image is on its way at a time, always the newest that is not there. Overtaken images are
//!   passed over.
//! - *Logs are cut only at what the object tier has.* `oldest` in the answer to a commit is then
//!   the floor of the tier. It is not the oldest image that the server offers. The floor is the
//!   older of the two newest images whose flush was completed. Both stay on the server's disk as
//!   well.
//! - A [`Record`] among the images states what the tier offers. It is written before logs are cut.
//!   A server that has lost its disk offers no image before the record's `oldest`. It does not
//!   offer the start of the program unless the record says so. Logs therefore reach back to
//!   everything that it offers.
//! - *Waves go there together.* The image of a wave is answered when its flush has ended. No wave
//!   begins before the answer to the wave before it. The images in the tier are therefore of the
//!   same waves, however slow some ranks are.
//! - Where logs are cut when a wave is complete ([`ImageCatalogue::with_waves_that_cut_logs`]), a
//!   failed flush is a failed image, and images go there in their order. Otherwise the image
//!   counts: the disks of the servers are as good a place.
//! - *The floor is a number of its own*: durable first in the tier, then on the server's disk
//!   ([`Record::oldest`]), and only then sent. It does not follow from the images that are there:
//!   the image at the floor may be damaged although its copy in the tier is sound.

use super::rank_images::{KEPT, RankImages};
use super::{ConnId, ImageCatalogue, Output, Phase, Record};
use ftmpi_wire::image_store::{Answer, Stored};
use ftmpi_wire::{ImageId, ImageNo, Rank};
use std::collections::BTreeSet;

/// What the object tier has of one rank.
#[derive(Debug, Default)]
pub(super) struct Level {
    /// Offered images that are there.
    pub flushed: BTreeSet<ImageNo>,
    /// The one on its way, and the floor when it is there.
    pub under_way: Option<(ImageNo, ImageNo)>,
    /// Where logs may be cut.
    pub floor: ImageNo,
    /// The record there does not offer the program's start.
    given_up: bool,
    /// The last flush failed, and that was reported.
    complained: bool,
    /// The first image that came since this server began: from then on it is known whether waves
    /// decide what is kept.
    since: Option<ImageNo>,
    /// Logs are cut when a wave is complete.
    waves_cut_logs: bool,
}

impl Level {
    pub fn new(waves_cut_logs: bool) -> Self {
        Self { waves_cut_logs, ..Self::default() }
    }

    /// This image has come.
    pub fn came(&mut self, image: ImageNo) {
        self.since.get_or_insert(image);
    }

    /// Whether the server's disk must keep this image; `keep`: the complete waves, where there are
    /// any.
    pub fn needs(&self, image: ImageNo, keep: Option<[ImageNo; 2]>) -> bool {
        // A launcher that begins again takes waves for complete that it finds on the disks, where
        // the object tiers may not have them. They do have one that was committed under its eyes,
        // and those before it.
        let certain = |newest| self.since.is_some_and(|since| since <= newest);
        if self.waves_cut_logs && keep.is_some_and(|[newest, _]| !certain(newest)) {
            return true;
        }
        // The image at the floor, too: a server that cannot ask its object tier takes the floor
        // from its disk.
        self.floor == image
            || self.under_way.is_some_and(|(under_way, _)| under_way == image)
            || self.flushed.iter().rev().take(KEPT).any(|newest| *newest == image)
    }
}

impl RankImages {
    /// The record as it is to be in the object tier, when it has `with` as well.
    fn tier_record(&mut self, with: Option<ImageNo>) -> Record {
        let (incarnation, waves) = (self.incarnation, self.keep.is_some());
        let start_here = self.start_offered;
        let Some(level) = &mut self.level else { return Record::default() };
        let mut newest: Vec<ImageNo> = level.flushed.iter().copied().chain(with).collect();
        newest.sort_unstable();
        newest.dedup();
        // Under waves nothing is logged, so there is nothing that could be cut.
        let enough = level.since.is_some() && !waves && newest.len() >= KEPT;
        let oldest = if enough { newest[newest.len() - KEPT] } else { level.floor };
        if enough || !start_here {
            level.given_up = true;
        }
        // Never back behind what is written already, or will have been when this is.
        let coming = level.under_way.map_or(ImageNo(0), |(_, floor)| floor);
        let oldest = oldest.max(level.floor).max(coming);
        Record { incarnation, start_offered: !level.given_up, oldest }
    }
}

impl ImageCatalogue {
    /// From now on there is an object tier; before anything else.
    #[must_use]
    pub fn with_object_tier(mut self) -> Self {
        self.object_tier = true;
        self
    }

    /// What the object tier has of a rank: `record` (`None`: it cannot be asked now) and the
    /// images, whole with all that they rest on. After what was found on disk, before the first
    /// input. What is before the floor is not offered, and comes back to be removed.
    pub fn restore_object_tier(
        &mut self,
        rank: Rank,
        record: Option<Record>,
        flushed: impl IntoIterator<Item = ImageNo>,
    ) -> Vec<ImageId> {
        let rank_images = self.rank_images(rank);
        let Some(level) = &mut rank_images.level else { return Vec::new() };
        level.given_up = !rank_images.start_offered || record.is_some_and(|r| !r.start_offered);
        level.floor = level.floor.max(record.map_or(ImageNo(0), |record| record.oldest));
        let floor = level.floor;
        level.flushed =
            flushed.into_iter().filter(|image| rank_images.images.contains_key(image)).collect();
        // Older ones are there only because a server died before it removed them.
        let older: Vec<ImageNo> =
            rank_images.images.range(..floor).map(|(image, _)| *image).collect();
        older.into_iter().filter_map(|image| rank_images.take(rank, image)).collect()
    }

    /// The record of every known rank, as the object tier must have it before the server may rely
    /// on it.
    pub fn tier_records(&mut self) -> Vec<(Rank, Record)> {
        self.by_rank
            .iter_mut()
            .map(|(rank, rank_images)| (*rank, rank_images.tier_record(None)))
            .collect()
    }

    /// Begins to flush what is waiting; once, after [`Self::restore_object_tier`].
    pub fn flush_all(&mut self, out: &mut Vec<Output>) {
        let ranks: Vec<Rank> = self.by_rank.keys().copied().collect();
        for rank in ranks {
            self.flush_next(rank, out);
        }
    }

    /// The next image to upload: the newest one, or in order the oldest that is not in the tier.
    /// None, if it is there already or another image of the rank is on its way.
    pub(super) fn flush_next(&mut self, rank: Rank, out: &mut Vec<Output>) {
        let in_order = self.waves_cut_logs;
        let rank_images = self.rank_images(rank);
        let Some(level) = rank_images.level.as_ref().filter(|level| level.under_way.is_none())
        else {
            return;
        };
        let next = if in_order {
            rank_images.images.iter().find(|(image, _)| !level.flushed.contains(image))
        } else {
            let newest = rank_images.images.last_key_value();
            newest.filter(|(image, _)| level.flushed.last().is_none_or(|there| there < image))
        };
        let Some((&image, &Stored { incarnation, .. })) = next else { return };
        let record = rank_images.tier_record(Some(image));
        if let Some(level) = &mut rank_images.level {
            level.under_way = Some((image, record.oldest));
        }
        out.push(Output::Flush(ImageId { rank, image, incarnation }, record));
    }

    /// An incarnation was declared: the record in the object tier is updated as well.
    pub(super) fn mirror(&mut self, rank: Rank, out: &mut Vec<Output>) {
        let rank_images = self.rank_images(rank);
        if rank_images.level.is_some() {
            let record = rank_images.tier_record(None);
            out.push(Output::Mirror(rank, record));
        }
    }

    pub(super) fn flushed(
        &mut self,
        conn: ConnId,
        name: ImageId,
        outcome: Result<(), String>,
        out: &mut Vec<Output>,
    ) {
        let ImageId { rank, image, .. } = name;
        let rank_images = self.rank_images(rank);
        let is_offered = rank_images.images.contains_key(&image);
        let Some(level) = &mut rank_images.level else { return };
        let Some((_, floor)) = level.under_way.take_if(|(under_way, _)| *under_way == image) else {
            return;
        };
        let failed = outcome.is_err();
        let news = match outcome {
            Ok(()) if level.complained => Some("the object store takes images again".to_owned()),
            Err(why) if !level.complained => Some(format!(
                "image {image} of rank {rank} is not in the object store yet: {why}; it is tried \
                 again, and logs are not cut before it is there"
            )),
            _ => None,
        };
        level.complained = failed;
        out.extend(news.map(Output::Say));
        if !failed {
            // It may have been found damaged meanwhile: then it does not count.
            let raised = is_offered && floor > level.floor;
            if is_offered {
                level.flushed.insert(image);
            }
            if raised {
                let start_offered = rank_images.start_offered && rank_images.keep.is_some();
                let record = Record { start_offered, oldest: floor, ..rank_images.record() };
                self.phases.insert(conn, Phase::GivingUp { rank, record });
                out.push(Output::Persist { rank, record });
                return;
            }
            // After a restart nobody has said yet whether waves decide what is kept, and which.
            if level.since.is_some() {
                out.extend(rank_images.take_surplus(rank).into_iter().map(Output::Remove));
            }
        }
        self.flush_next(rank, out);
    }

    /// Whether the image of a wave that came on this connection can be answered for.
    pub(super) fn object_tier_progress(&mut self, conn: ConnId, out: &mut Vec<Output>) {
        let there_only = self.waves_cut_logs;
        let Some(Phase::Flushing { name, bytes }) = self.phases.remove(&conn) else { return };
        let ImageId { rank, image, .. } = name;
        let rank_images = self.rank_images(rank);
        let oldest = rank_images.oldest();
        let Some(level) = &rank_images.level else { return };
        let refused = |why: &str| {
            Answer::Refused(format!("image {image} of rank {rank} {why}; older images stand"))
        };
        let answer = if level.flushed.contains(&image) {
            Answer::Committed { image, bytes, oldest }
        } else if !rank_images.images.contains_key(&image) {
            refused("was found damaged before it was in the object store")
        } else if level.complained && there_only {
            refused("is not in the object store")
        } else if level.complained {
            Answer::Committed { image, bytes, oldest }
        } else {
            self.phases.insert(conn, Phase::Flushing { name, bytes });
            return out.push(Output::AwaitObjectTier);
        };
        out.push(Output::Answer(answer));
    }

    /// The record that logs may be cut further was stored, or not, after a flush.
    pub(super) fn gave_up(
        &mut self,
        rank: Rank,
        record: Record,
        outcome: Result<(), String>,
        out: &mut Vec<Output>,
    ) {
        let rank_images = self.rank_images(rank);
        match outcome {
            Ok(()) => {
                rank_images.start_offered = record.start_offered;
                if let Some(level) = &mut rank_images.level {
                    level.floor = record.oldest;
                }
            }
            Err(why) => out.push(Output::Say(format!(
                "logs of rank {rank} are not cut yet: its record cannot be stored: {why}"
            ))),
        }
        let surplus = self.rank_images(rank).take_surplus(rank);
        out.extend(surplus.into_iter().map(Output::Remove));
        self.flush_next(rank, out);
    }
}
