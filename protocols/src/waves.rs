//! The waves of images of a cluster of ranks: which ranks still have to report about the wave under
//! way, and to which wave the cluster returns after a failure.
//!
//! Calling convention: call the methods with what happened; a method that ends a wave returns it
//! ([`Over`]). Queries never change state. The caller passes in time.
//!
//! Guarantees:
//! - A wave counts only when the image of *every* rank of the cluster is durable.
//! - One wave is under way at a time, until every rank has reported about it.
//! - Ranks join and leave between waves. Those return to a wave that took part in it.
//! - The images of the last [`KEPT`] complete waves are kept until a later wave is complete, also
//!   if waves in between fail. A damaged image is therefore survivable.

use ftmpi_wire::{ImageNo, Rank};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// Complete waves that are kept.
pub const KEPT: usize = 2;

/// A stored image, as far as decisions about it need to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageFacts {
    /// Its number.
    pub image: ImageNo,
    /// Bytes stored.
    pub bytes: u64,
    /// Bytes of output and error that the program had written.
    pub written: [u64; 2],
    /// Bytes of input that it had consumed.
    pub consumed: u64,
}

/// The waves of a cluster. An image has the number of its wave.
#[derive(Debug)]
pub struct Waves {
    ranks: Vec<Rank>,
    issued: ImageNo,
    under_way: Option<UnderWay>,
    /// Oldest first.
    complete: VecDeque<Complete>,
    /// Those that took part from the beginning: they return to the start of the program.
    founders: Vec<Rank>,
    /// The last wave that is behind every rank.
    past: ImageNo,
    /// [`KEPT`] waves have been complete: from then on the start of the program is none of the
    /// places to which logs reach back.
    start_gone: bool,
}

#[derive(Debug)]
struct UnderWay {
    wave: ImageNo,
    began: Duration,
    missing: BTreeSet<Rank>,
    images: BTreeMap<Rank, ImageFacts>,
    /// Some rank has no image in it, or it must not count.
    void: bool,
}

#[derive(Debug)]
struct Complete {
    wave: ImageNo,
    images: BTreeMap<Rank, ImageFacts>,
}

/// Every rank was heard about a wave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Over {
    /// Which.
    pub wave: ImageNo,
    /// From its order to the last word about it.
    pub took: Duration,
    /// Bytes stored, of all its images.
    pub bytes: u64,
    /// The oldest wave that is kept, if this one is complete.
    pub complete: Option<ImageNo>,
}

impl Waves {
    /// Of a job of so many ranks, all in one cluster.
    #[must_use]
    pub fn new(size: u32) -> Self {
        Self::of((0..size).map(Rank).collect())
    }

    /// Of these ranks.
    #[must_use]
    pub fn of(ranks: Vec<Rank>) -> Self {
        let (issued, past, complete) = (ImageNo(0), ImageNo(0), VecDeque::new());
        let founders = ranks.clone();
        Self { ranks, issued, under_way: None, complete, founders, past, start_gone: false }
    }

    /// As an earlier run of the job left them: the images of each rank that are offered, and the
    /// highest number that one ever had. `start_offered` holds if servers still offer the start of
    /// all ranks. They hear of a second complete wave, after which logs were cut, with the image
    /// after it, and until then both are there. If an image is missing, it may have been lost. Then
    /// the start counts only if there is nothing else, and the rank that begins there finds out
    /// whether logs reach back so far. A wave of which every rank's image is there is complete,
    /// also if that run's launcher did not live to hear of the last one.
    #[must_use]
    pub fn found(
        ranks: Vec<Rank>,
        images: &[(Vec<ImageFacts>, ImageNo)],
        start_offered: bool,
    ) -> Self {
        let of = |rank: &Rank, wave: ImageNo| {
            let mut images = images[rank.index()].0.iter();
            Some((*rank, *images.find(|image| image.image == wave)?))
        };
        let highest = |rank: &Rank| {
            let (images, highest) = &images[rank.index()];
            images.iter().map(|image| image.image).fold(*highest, Ord::max)
        };
        let first = ranks.first().map_or(&[][..], |rank| &images[rank.index()].0);
        let mut complete: VecDeque<Complete> = first
            .iter()
            .filter_map(|ImageFacts { image: wave, .. }| {
                let images = ranks.iter().map(|rank| of(rank, *wave)).collect::<Option<_>>()?;
                Some(Complete { wave: *wave, images })
            })
            .collect();
        complete.make_contiguous().sort_by_key(|complete| complete.wave);
        while complete.len() > KEPT {
            complete.pop_front();
        }
        let issued = ranks.iter().map(highest).max().unwrap_or_default();
        let second = ImageNo(KEPT as u64);
        let lacks = |rank: &Rank| of(rank, highest(rank)).is_none();
        let lost = ranks.iter().any(lacks) && ranks.iter().all(|rank| highest(rank) >= second);
        let start_gone = !start_offered || complete.len() == KEPT || (lost && !complete.is_empty());
        let past = complete.back().map_or(ImageNo(0), |complete| complete.wave);
        let founders = ranks.clone();
        Self { ranks, issued, under_way: None, complete, founders, past, start_gone }
    }

    /// The highest number of a wave so far.
    #[must_use]
    pub fn last_issued(&self) -> ImageNo {
        self.issued
    }

    /// Who takes part.
    #[must_use]
    pub fn ranks(&self) -> &[Rank] {
        &self.ranks
    }

    /// These ranks take part in later waves. None is under way.
    pub fn join(&mut self, ranks: impl Iterator<Item = Rank>) {
        self.ranks.extend(ranks);
        self.ranks.sort_unstable();
        self.ranks.dedup();
    }

    /// These ranks take part in later waves no more.
    pub fn leave(&mut self, leaves: impl Fn(Rank) -> bool) {
        self.ranks.retain(|rank| !leaves(*rank));
    }

    /// The ranks that are in the wave to which everybody returns.
    #[must_use]
    pub fn returning(&self) -> Vec<Rank> {
        match self.complete.back() {
            Some(complete) => complete.images.keys().copied().collect(),
            None => self.founders.clone(),
        }
    }

    /// Whether a rank was in one of the waves that are kept.
    #[must_use]
    pub fn keeps(&self, rank: Rank) -> bool {
        self.complete.iter().any(|complete| complete.images.contains_key(&rank))
    }

    /// The last wave that is behind every rank: what a rank that joins takes as past.
    #[must_use]
    pub fn past(&self) -> ImageNo {
        self.past
    }

    /// Is a wave under way?
    #[must_use]
    pub fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    /// Begins a wave; its number is never used again.
    pub fn begin(&mut self, now: Duration) -> ImageNo {
        self.issued = self.issued.next();
        self.under_way = Some(UnderWay {
            wave: self.issued,
            began: now,
            missing: self.ranks.iter().copied().collect(),
            images: BTreeMap::new(),
            void: false,
        });
        self.issued
    }

    /// The waves whose images are to be kept in addition to the one under way; 0: none.
    #[must_use]
    pub fn kept(&self) -> [ImageNo; KEPT] {
        let mut kept = [ImageNo(0); KEPT];
        for (slot, complete) in kept.iter_mut().zip(self.complete.iter().rev()) {
            *slot = complete.wave;
        }
        kept
    }

    /// The image of this rank is durable.
    pub fn committed(&mut self, now: Duration, rank: Rank, image: ImageFacts) -> Option<Over> {
        let wave = self.under_way.as_mut().filter(|wave| wave.wave == image.image)?;
        wave.images.insert(rank, image);
        wave.missing.remove(&rank);
        self.look(now)
    }

    /// The ranks whose image of the wave under way is durable.
    #[must_use]
    pub fn stored(&self) -> Vec<Rank> {
        self.under_way.iter().flat_map(|wave| wave.images.keys().copied()).collect()
    }

    /// There will be no image of this rank in this wave.
    pub fn failed(&mut self, now: Duration, rank: Rank, image: ImageNo) -> Option<Over> {
        let wave = self.under_way.as_mut().filter(|wave| wave.wave == image)?;
        wave.void = true;
        wave.missing.remove(&rank);
        self.look(now)
    }

    /// This rank has ended: if it still owes an image of the wave under way, none will come.
    pub fn ended(&mut self, now: Duration, rank: Rank) -> Option<Over> {
        let wave = self.under_way.as_ref().filter(|wave| wave.missing.contains(&rank))?.wave;
        self.failed(now, rank, wave)
    }

    /// The wave under way must not count, though its images may be taken.
    pub fn void(&mut self) {
        if let Some(wave) = &mut self.under_way {
            wave.void = true;
        }
    }

    /// Everybody returns: the wave under way is forgotten, and who was in the last complete one
    /// takes part from here on.
    pub fn abandon(&mut self) {
        self.under_way = None;
        self.ranks = self.returning();
        self.past = self.newest().unwrap_or_default();
    }

    fn look(&mut self, now: Duration) -> Option<Over> {
        let UnderWay { wave, began, images, void, .. } =
            self.under_way.take_if(|wave| wave.missing.is_empty())?;
        self.past = wave;
        let took = now.saturating_sub(began);
        let bytes = images.values().map(|image| image.bytes).sum();
        if !void {
            self.complete.push_back(Complete { wave, images });
            while self.complete.len() > KEPT {
                self.complete.pop_front();
            }
            self.start_gone |= self.complete.len() == KEPT;
        }
        let complete = self.complete.front().filter(|_| !void).map(|oldest| oldest.wave);
        Some(Over { wave, took, bytes, complete })
    }

    /// The wave to which everybody returns; none: the start of the program.
    #[must_use]
    pub fn newest(&self) -> Option<ImageNo> {
        self.complete.back().map(|complete| complete.wave)
    }

    /// The oldest wave to which logs of what came from outside reach back; none: to the start.
    #[must_use]
    pub fn oldest(&self) -> Option<ImageNo> {
        self.complete.front().filter(|_| self.start_gone).map(|complete| complete.wave)
    }

    /// So many complete waves are kept.
    #[must_use]
    pub fn count(&self) -> usize {
        self.complete.len()
    }

    /// The image from which this rank goes on there.
    #[must_use]
    pub fn image_of(&self, rank: Rank) -> Option<ImageFacts> {
        self.complete.back().and_then(|complete| complete.images.get(&rank).copied())
    }

    /// How far back logs of what came from outside must reach after a wave whose oldest kept one is
    /// this. Two places to return to are always kept, and the start of the program (number 0)
    /// counts as one.
    #[must_use]
    pub fn reach(&self, oldest: ImageNo) -> ImageNo {
        if self.start_gone { oldest } else { ImageNo(0) }
    }

    /// Do such logs still reach back to the start?
    #[must_use]
    pub fn can_return_to_the_start(&self) -> bool {
        !self.start_gone
    }

    /// Is there anything to return to, for ranks that need such logs?
    #[must_use]
    pub fn can_return(&self) -> bool {
        !self.complete.is_empty() || !self.start_gone
    }

    /// This wave and those after it are none to return to.
    pub fn condemn_from(&mut self, wave: ImageNo) {
        self.complete.retain(|complete| complete.wave < wave);
    }

    /// An image of this wave is damaged: it is none to return to.
    pub fn condemn(&mut self, wave: ImageNo) {
        self.complete.retain(|complete| complete.wave != wave);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    fn image(wave: ImageNo) -> ImageFacts {
        ImageFacts { image: wave, bytes: 5, written: [0; 2], consumed: 0 }
    }

    fn whole_wave(waves: &mut Waves) -> ImageNo {
        let wave = waves.begin(S);
        for rank in 0..3 {
            waves.committed(2 * S, Rank(rank), image(wave));
        }
        wave
    }

    #[test]
    fn a_wave_counts_when_all_images_are_durable_and_not_before() {
        let mut waves = Waves::new(3);
        let wave = waves.begin(S);
        assert_eq!(waves.committed(S, Rank(0), image(wave)), None);
        assert_eq!(waves.committed(S, Rank(2), image(wave)), None);
        assert_eq!(waves.newest(), None);
        let over = waves.committed(3 * S, Rank(1), image(wave)).unwrap();
        assert_eq!(over, Over { wave, took: 2 * S, bytes: 15, complete: Some(wave) });
        assert_eq!((waves.newest(), waves.image_of(Rank(1))), (Some(wave), Some(image(wave))));
    }

    #[test]
    fn failed_and_abandoned_waves_leave_the_complete_ones_alone() {
        let mut waves = Waves::new(3);
        let (first, second) = (whole_wave(&mut waves), whole_wave(&mut waves));
        let third = waves.begin(S);
        waves.committed(S, Rank(0), image(third));
        waves.failed(S, Rank(1), third);
        let over = waves.committed(S, Rank(2), image(third)).unwrap();
        assert_eq!((over.complete, waves.newest()), (None, Some(second)));
        assert_eq!(waves.kept(), [second, first]);
        let fourth = waves.begin(S);
        waves.abandon();
        assert_eq!(waves.committed(S, Rank(0), image(fourth)), None, "its incarnation is over");
        waves.condemn(second);
        assert_eq!((waves.newest(), waves.kept()), (Some(first), [first, ImageNo(0)]));
        let fifth = whole_wave(&mut waves);
        assert!(fifth > fourth, "numbers are never used again");
        assert_eq!(waves.kept(), [fifth, first]);
    }

    #[test]
    fn the_waves_of_an_earlier_run_are_those_of_which_all_images_are_there() {
        let images = |numbers: &[u64], highest| {
            (numbers.iter().map(|n| image(ImageNo(*n))).collect::<Vec<_>>(), ImageNo(highest))
        };
        // Rank 1 is of another cluster; wave 7 was under way, wave 8 had only been ordered.
        let found = [images(&[3, 5, 7], 7), images(&[9], 9), images(&[3, 5], 8)];
        let ranks = vec![Rank(0), Rank(2)];
        let mut waves = Waves::found(ranks.clone(), &found, true);
        assert_eq!((waves.kept(), waves.last_issued()), ([ImageNo(5), ImageNo(3)], ImageNo(8)));
        assert_eq!(waves.image_of(Rank(2)), Some(image(ImageNo(5))));
        assert_eq!(waves.begin(S), ImageNo(9), "numbers are never used again");
        let nothing = [images(&[3], 3), images(&[], 0), images(&[], 1)];
        let none = Waves::found(ranks.clone(), &nothing, true);
        assert_eq!((none.newest(), none.can_return()), (None, true));
        // High numbers alone say nothing: these waves were never complete.
        let void = [images(&[3], 3), images(&[], 0), images(&[4], 4)];
        assert!(Waves::found(ranks.clone(), &void, true).can_return_to_the_start());
        assert!(!Waves::found(ranks.clone(), &found, true).can_return_to_the_start());
        // One of two may have been lost, or all.
        let one = [images(&[3], 4), images(&[], 0), images(&[3, 4], 4)];
        assert!(!Waves::found(ranks.clone(), &one, true).can_return_to_the_start());
        let all = [images(&[], 4), images(&[], 0), images(&[], 4)];
        assert!(Waves::found(ranks.clone(), &all, true).can_return());
        assert!(!Waves::found(ranks, &nothing, false).can_return());
    }

    #[test]
    fn logs_reach_back_to_the_start_until_two_waves_are_complete() {
        let mut waves = Waves::of(vec![Rank(0), Rank(1), Rank(2)]);
        let first = whole_wave(&mut waves);
        assert_eq!(waves.reach(first), ImageNo(0));
        waves.condemn(first);
        assert!(waves.can_return(), "to the start");
        let second = whole_wave(&mut waves);
        assert_eq!(waves.reach(second), ImageNo(0));
        let third = whole_wave(&mut waves);
        assert_eq!(waves.reach(second), second);
        waves.condemn(third);
        assert!(waves.can_return());
        waves.condemn(second);
        assert!(!waves.can_return(), "logs were cut to the second");
    }

    #[test]
    fn those_return_to_a_wave_that_took_part_in_it() {
        let mut waves = Waves::new(3);
        let first = whole_wave(&mut waves);
        waves.join([Rank(3), Rank(4)].into_iter());
        assert_eq!(waves.past(), first, "what the new ranks take as past");
        let second = waves.begin(S);
        (0..4).for_each(|rank| assert_eq!(waves.committed(S, Rank(rank), image(second)), None));
        assert!(waves.committed(S, Rank(4), image(second)).is_some());
        waves.leave(|rank| rank == Rank(4));
        assert_eq!(waves.ranks(), [0, 1, 2, 3].map(Rank));
        let third = waves.begin(S);
        (0..3).for_each(|rank| assert_eq!(waves.committed(S, Rank(rank), image(third)), None));
        let over = waves.ended(S, Rank(3)).expect("it was the last one");
        assert_eq!((over.complete, waves.ended(S, Rank(3))), (None, None), "a void wave");
        assert_eq!(waves.past(), third);
        waves.abandon();
        assert_eq!((waves.ranks(), waves.past()), (&[0, 1, 2, 3, 4].map(Rank)[..], second));
        assert!(waves.keeps(Rank(4)) && !waves.keeps(Rank(5)));
        waves.condemn(second);
        waves.abandon();
        assert_eq!((waves.ranks(), waves.past()), (&[0, 1, 2].map(Rank)[..], first));
        waves.condemn(first);
        assert_eq!(waves.returning(), [0, 1, 2].map(Rank), "the start");
    }

    #[test]
    fn a_void_wave_is_heard_out_and_does_not_count() {
        let mut waves = Waves::new(3);
        let wave = waves.begin(S);
        waves.void();
        for rank in 0..3 {
            let over = waves.committed(S, Rank(rank), image(wave));
            assert_eq!(over.is_some(), rank == 2);
        }
        assert_eq!(waves.newest(), None);
    }
}
