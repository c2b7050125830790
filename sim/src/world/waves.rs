//! Coordinated jobs in the world: orders of waves, images that count or do not, and the return of
//! all ranks, by the very machine that the dispatcher uses ([`ftmpi_protocols::waves`]).

use super::{Event, Image, News, World};
use crate::mutants::Mutant;
use crate::picture::{Mark, mark};
use ftmpi_protocols::dispatcher::ImageFacts;
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::time::Duration;

impl World {
    fn time(&self) -> Duration {
        Duration::from_micros(self.now)
    }

    /// Is this the simulation of a coordinated job?
    #[must_use]
    pub fn in_waves(&self) -> bool {
        self.waves.is_some()
    }

    /// Begins a wave, if all ranks are there.
    pub(super) fn ask_wave(&mut self) {
        let all = !self.rolling && self.lives.iter().all(|life| life.fiber.is_some());
        let now = self.time();
        let Some(waves) = self.waves.as_mut().filter(|waves| all && !waves.is_under_way()) else {
            return;
        };
        let wave = waves.begin(now);
        self.note(|| format!("wave {wave} is ordered"));
        for rank in 0..self.lives.len() {
            let incarnation = self.lives[rank].incarnation;
            let delay = self.below(150);
            self.after(delay, Event::Order(rank, incarnation, wave));
        }
    }

    /// The order reaches its rank, or gets lost on its last steps.
    pub(super) fn order(&mut self, rank: usize, wave: ImageNo) {
        if self.below(25) == 0 {
            self.image_failed(rank, wave);
        } else {
            self.lives[rank].due = Some(wave);
        }
    }

    /// There will be no image of this rank in this wave; the rank hears of it.
    pub fn image_failed(&mut self, rank: usize, wave: ImageNo) {
        self.note(|| format!("no image of rank {rank} in wave {wave}"));
        let now = self.time();
        self.lives[rank].due = None;
        self.lives[rank].images.retain(|image| image.number != wave);
        if let Some(waves) = &mut self.waves {
            waves.failed(now, Rank(rank as u32), wave);
        }
        let incarnation = self.lives[rank].incarnation;
        let delay = self.below(200);
        self.after(delay, Event::News(rank, incarnation, News::ImageFailed(wave)));
    }

    /// Now and then an image is refused.
    pub fn refuses_image(&mut self) -> bool {
        self.in_waves() && self.below(25) == 0
    }

    /// An image is durable.
    pub(super) fn wave_commit(&mut self, rank: usize, incarnation: Incarnation, wave: ImageNo) {
        let now = self.time();
        let mutant = self.setup.mutant;
        if self.lives[rank].incarnation != incarnation {
            // Of a life that was declared dead.
            self.lives[rank].images.retain(|image| image.number != wave);
            return;
        }
        if self.below(25) == 0 {
            return self.image_failed(rank, wave);
        }
        let Some(waves) = &mut self.waves else { return };
        let mut kept = waves.kept().to_vec();
        kept.push(wave);
        if mutant == Some(Mutant::OldWaveRemoved) {
            kept = vec![wave];
        }
        self.lives[rank].images.retain(|image: &Image| kept.contains(&image.number));
        self.outcome.images += 1;
        let facts = ImageFacts { image: wave, bytes: 1, written: [0; 2], consumed: 0 };
        let mut over = waves.committed(now, Rank(rank as u32), facts);
        if mutant == Some(Mutant::IncompleteWave) {
            for other in 0..self.lives.len() as u32 {
                over = over.or(waves.committed(now, Rank(other), facts));
            }
        }
        if over.is_some_and(|over| over.complete.is_some()) {
            self.outcome.waves += 1;
            self.note(|| format!("wave {wave} is complete"));
        }
    }

    /// A rank of a coordinated job dies.
    pub(super) fn crash_in_wave(&mut self, rank: usize) {
        self.end_life(rank);
        self.detect();
    }

    fn end_life(&mut self, rank: usize) {
        self.note(|| format!("rank {rank} ends"));
        let cut = self.now + self.below(300);
        let life = &mut self.lives[rank];
        life.fiber = None;
        life.digest = None;
        life.cut.insert(life.incarnation, cut);
        life.incarnation = life.incarnation.next();
    }

    /// Something is wrong: sooner or later the dispatcher knows.
    fn detect(&mut self) {
        if !self.rolling {
            self.rolling = true;
            let delay = self.below(300);
            self.after(delay, Event::RollBack);
        } else {
            self.look_whether_all_ended();
        }
    }

    /// Two that live lost their channel.
    pub fn channel_lost(&mut self, rank: usize, peer: usize, incarnation: Incarnation) {
        self.note(|| format!("rank {rank} has lost its channel to rank {peer}"));
        if self.in_waves() && self.lives[peer].incarnation == incarnation {
            self.detect();
        }
    }

    /// The old lives are ended, each when its agent hears of it.
    pub(super) fn roll_back(&mut self) {
        if let Some(waves) = &mut self.waves {
            waves.abandon();
        }
        self.round += 1;
        self.ending = true;
        for rank in 0..self.lives.len() {
            if self.lives[rank].fiber.is_some() {
                let incarnation = self.lives[rank].incarnation;
                let delay = self.below(300);
                self.after(delay, Event::Kill(rank, incarnation));
            }
        }
        self.look_whether_all_ended();
    }

    pub(super) fn kill(&mut self, rank: usize, incarnation: Incarnation) {
        if self.is_alive((rank, incarnation)) {
            mark(self.now, || Mark::Dies(rank));
            self.end_life(rank);
            self.look_whether_all_ended();
        }
    }

    fn look_whether_all_ended(&mut self) {
        if !self.ending || self.lives.iter().any(|life| life.fiber.is_some()) {
            return;
        }
        (self.rolling, self.ending) = (false, false);
        // Now and then an image of the newest wave is damaged.
        if self.below(8) == 0
            && let Some(waves) = &mut self.waves
            && let Some(newest) = waves.newest()
        {
            waves.condemn(newest);
        }
        let target = self.waves.as_ref().and_then(|waves| waves.newest());
        self.note(|| format!("all return to {target:?}"));
        for rank in 0..self.lives.len() {
            let delay = self.below(600);
            self.after(delay, Event::Return(rank, self.round));
        }
    }
}
