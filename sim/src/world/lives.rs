//! The lives of ranks: how they begin, what they are asked, how they end.

use super::{Event, News, Setup, Truth, World, with};
use crate::fiber::{Fiber, Stop};
use crate::link::SimLink;
use crate::mutants::Mutant;
use crate::picture::{Mark, mark};
use ftmpi_core::engine::Engine;
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::collections::BTreeMap;

impl World {
    pub(super) fn start(&mut self, rank: usize) {
        let choice = self.below(8);
        if self.in_waves() {
            let (mates, round) = (self.mates_of(rank), self.round_of(rank));
            let living = mates.into_iter().filter(|mate| self.lives[*mate].fiber.is_some());
            self.seen.one_life.begins(rank, round, living);
        }
        let setup = self.setup.clone();
        let life = &mut self.lives[rank];
        life.news.clear();
        life.due = None;
        life.logger = None;
        life.caught_up = life.incarnation == Incarnation(0);
        life.ways.clear();
        life.digest = None;
        // The newest image, or now and then the one before it, as if the newest were damaged.
        let offered: Vec<_> = life.images.iter().filter(|i| i.committed).collect();
        let cluster = self.clusters.iter().find(|c| c.has(rank));
        let image = if let Some(cluster) = cluster {
            cluster.waves.newest().map(|wave| {
                let mut images = life.images.iter();
                images.find(|i| i.number == wave).expect("the image of a complete wave is there")
            })
        } else {
            match (offered.len(), choice) {
                (0, _) => None,
                (1, 0) if !life.start_gone => None,
                (count, 0) if count > 1 => Some(offered[count - 2]),
                (count, _) => Some(offered[count - 1]),
            }
        };
        life.restored = image.is_some();
        if let Some(image) = image {
            let (number, memory) = (image.number, image.memory.clone());
            let seen = (Truth::clone(&image.truth), image.traffic.clone());
            life.arena.restore(&memory);
            let fiber = self.fibers_of(rank);
            self.lives[rank].fiber = Some(fiber);
            self.seen_to_begin(rank, Some(seen));
            // A damaged newer one is gone.
            self.lives[rank].images.retain(|i| i.number <= number);
            self.outcome.restored += 1;
            self.note(|| format!("rank {rank} lives again from image {number}"));
            mark(self.now, || Mark::Starts(rank, Some(number)));
        } else {
            life.images.clear();
            life.restored = false;
            life.arena.clear();
            self.seen_to_begin(rank, None);
            let incarnations: Vec<_> = self.lives.iter().map(|l| l.incarnation).collect();
            let arena = &self.lives[rank].arena;
            let fiber = Fiber::new(arena, move |stop| body(rank, stop, &setup, &incarnations));
            self.lives[rank].fiber = Some(fiber);
            FIBERS
                .with(|f| f.borrow_mut().insert((std::ptr::from_ref(self) as usize, rank), fiber));
            self.note(|| format!("rank {rank} starts"));
            mark(self.now, || Mark::Starts(rank, None));
        }
        let waiting = std::mem::take(&mut self.waiting);
        for (a, b) in waiting {
            self.connect(a, b);
        }
    }

    /// The coroutine of a rank lies at the same place in every life.
    fn fibers_of(&self, rank: usize) -> Fiber {
        FIBERS.with(|f| f.borrow()[&(std::ptr::from_ref(self) as usize, rank)])
    }

    pub(super) fn crash(&mut self, rank: usize) {
        if self.lives[rank].fiber.is_none() || self.crashes_left == 0 {
            return;
        }
        self.crashes_left -= 1;
        self.outcome.crashes += 1;
        self.note(|| format!("rank {rank} dies"));
        self.falls(rank);
    }

    /// Its process is gone.
    pub(super) fn falls(&mut self, rank: usize) {
        mark(self.now, || Mark::Dies(rank));
        match self.in_waves() {
            true => self.crash_in_wave(rank),
            false => self.die(rank),
        }
    }

    /// A rank depends on what was lost, and its agent has ended it; its cluster returns with it.
    pub(super) fn end_orphan(&mut self, rank: usize) {
        if self.setup.mutant == Some(Mutant::OrphanReturnsAlone) {
            return self.die(rank);
        }
        self.falls(rank);
    }

    fn die(&mut self, rank: usize) {
        let cut = self.now + self.below(300);
        let life = &mut self.lives[rank];
        life.fiber = None;
        life.digest = None;
        life.cut.insert(life.incarnation, cut);
        let dead = life.incarnation;
        life.incarnation = dead.next();
        let incarnation = life.incarnation;
        if let Some(conn) = life.logger.take() {
            let answers = self.logger.lost(conn);
            self.deliver_log(answers);
        }
        self.life_leaves_memories(rank, dead);
        let delay = self.below(800);
        self.after(delay, Event::Start(rank));
        for other in 0..self.lives.len() {
            // (To memories lives of ranks make no difference.)
            if other != rank && !self.has_memories() {
                // Tell it when what the dead life sent can no longer come: the link ends its
                // channels with the news.
                let delay = cut - self.now + 1 + self.below(500);
                let life = self.lives[other].incarnation;
                let news = News::Restarted(Rank(rank as u32), incarnation);
                self.after(delay, Event::News(other, life, news));
            }
        }
    }

    /// A replay is over.
    pub fn caught_up(&mut self, rank: usize, replayed: u64) {
        self.outcome.replayed += replayed;
        self.lives[rank].caught_up = true;
        self.note(|| format!("rank {rank} has caught up ({replayed} events)"));
        mark(self.now, || Mark::CaughtUp(rank));
    }

    /// Time.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Number of ranks.
    #[must_use]
    pub fn size(&self) -> usize {
        self.lives.len()
    }

    /// The life of a rank.
    #[must_use]
    pub fn incarnation(&self, rank: usize) -> Incarnation {
        self.lives[rank].incarnation
    }

    /// Does this rank die here?
    pub fn dies_at(&mut self, rank: usize, name: &'static str) -> bool {
        if self.crashes_left == 0 {
            return false;
        }
        let odds = match name {
            "replay" | "image" => 10,
            "wave" => 40,
            "told" => 3,
            "acted" => 20,
            "rendezvous" => 80,
            _ => 600,
        };
        let dies = self.below(odds) == 0;
        if dies {
            // What it did came of what that one told.
            self.with_neighbour = name == "told";
            self.note(|| format!("rank {rank} comes to {name}"));
        }
        dies
    }

    /// The image that is due.
    #[must_use]
    pub fn image_due(&self, rank: usize) -> Option<ImageNo> {
        self.lives[rank].due
    }

    /// It will not be taken.
    pub fn refuse_image(&mut self, rank: usize) {
        if let Some(image) = self.lives[rank].due.take() {
            self.image_failed(rank, image);
        }
    }

    /// Did this life begin from an image that was just put back?
    pub fn was_restored(&mut self, rank: usize) -> bool {
        std::mem::take(&mut self.lives[rank].restored)
    }

    /// A program is over.
    pub fn finished(&mut self, rank: usize, digest: u64) {
        if self.lives[rank].digest.replace(digest).is_none() {
            self.note(|| format!("rank {rank} is over: {digest:x}"));
            mark(self.now, || Mark::Over(rank));
        }
    }
}

thread_local! {
    static FIBERS: std::cell::RefCell<BTreeMap<(usize, usize), Fiber>> =
        const { std::cell::RefCell::new(BTreeMap::new()) };
}

/// What runs in a rank's coroutine.
fn body(rank: usize, stop: Stop, setup: &Setup, incarnations: &[Incarnation]) {
    let me = Rank(rank as u32);
    let inner = setup.choice.make(setup.all_events, me, incarnations, &setup.clusters);
    let protocol = crate::mutants::protocol(inner, me, setup.mutant);
    let link = SimLink::new(rank, stop, setup.mutant, setup.choice.has_memories());
    let mut engine = Engine::new(link, me, incarnations, protocol);
    if incarnations[rank] > Incarnation(0) {
        engine.replay_from_start();
    }
    let digest = setup.program.run(&mut engine, setup.ranks);
    engine.drain();
    engine.conclude();
    if setup.mutant == Some(Mutant::LeavesEarly) {
        return with(|world| world.finished(rank, digest));
    }
    loop {
        // Again and again: an image may have been taken here, and this be a later life.
        with(|world| world.finished(rank, digest));
        engine.block();
    }
}
