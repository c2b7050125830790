//! The processes of ranks: how they begin, what the engine asks the world, how they end.

use super::{Setup, Truth, World, with};
use crate::fiber::{Fiber, Stop};
use crate::link::SimLink;
use crate::mutants::Mutant;
use crate::picture::{Mark, mark};
use ftmpi_core::engine::Engine;
use ftmpi_core::mpi::Mpi;
use ftmpi_protocols::dispatcher::{Ending, Input};
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::collections::BTreeMap;

impl World {
    /// The process of a rank begins, from this image of it or from the start.
    pub(super) fn start(
        &mut self,
        rank: usize,
        incarnation: Incarnation,
        from: Option<ImageNo>,
        round: u64,
    ) -> Option<usize> {
        if self.in_waves() {
            let cluster_peers = self.cluster_peers_of(rank).into_iter();
            let living =
                cluster_peers.filter(|cluster_peer| self.processes[*cluster_peer].fiber.is_some());
            self.seen.one_incarnation.begins(rank, round, living);
        }
        let hasty = self.below(4) == 0;
        let setup = self.setup.clone();
        let process = &mut self.processes[rank];
        process.incarnation = incarnation;
        process.news.clear();
        (process.due, process.wakes) = (None, None);
        process.kept = None;
        process.logger = None;
        process.caught_up = process.incarnation == Incarnation(0);
        process.ways.clear();
        process.digest = None;
        (process.finalizing, process.all_finalized, process.exiting) = (false, false, false);
        (process.hasty, process.orphan, process.too_lean) = (hasty, false, None);
        process.restored = from.is_some();
        self.seen.last_images.begins(rank, from);
        self.seen.one_process.begins(rank, process.host, incarnation);
        if let Some(number) = from {
            let mut images = process.images.iter();
            let image = images.find(|image| image.number == number).expect("it is stored");
            let memory = image.memory.clone();
            let seen = (Truth::clone(&image.truth), image.traffic.clone());
            process.arena.restore(&memory);
            let fiber = self.fibers_of(rank);
            self.processes[rank].fiber = Some(fiber);
            self.seen_to_begin(rank, Some(seen));
            // What the incarnation before had not stored is refused from now on.
            let waves = self.in_waves();
            let images = &mut self.processes[rank].images;
            images.retain(|i| i.number <= number || (i.committed && !waves));
            self.outcome.restored += 1;
            self.note(|| format!("rank {rank} begins again from image {number}"));
            mark(self.now, || Mark::Starts(rank, Some(number)));
        } else {
            process.images.clear();
            process.arena.clear();
            self.seen_to_begin(rank, None);
            let incarnations = self.incarnations_known_to(rank);
            let arena = &self.processes[rank].arena;
            // Never dropped: an image has what is here a second time, and an incarnation from it
            // may come to its end, too.
            let given = std::mem::ManuallyDrop::new((setup, incarnations));
            let fiber = Fiber::new(arena, move |stop| body(rank, stop, &given.0, &given.1));
            self.processes[rank].fiber = Some(fiber);
            FIBERS
                .with(|f| f.borrow_mut().insert((std::ptr::from_ref(self) as usize, rank), fiber));
            self.note(|| format!("rank {rank} starts"));
            mark(self.now, || Mark::Starts(rank, None));
        }
        let (host, name) = (self.host_of(rank), Rank(rank as u32));
        self.report(host, Input::Spawned { rank: name, incarnation });
        self.report(host, Input::Hello { rank: name, incarnation, resumed: from, can_image: true });
        let waiting = std::mem::take(&mut self.waiting);
        for (a, b) in waiting {
            self.connect(a, b);
        }
        Some(rank)
    }

    /// The coroutine of a rank lies at the same place in every incarnation.
    fn fibers_of(&self, rank: usize) -> Fiber {
        FIBERS.with(|f| f.borrow()[&(std::ptr::from_ref(self) as usize, rank)])
    }

    pub(super) fn crash(&mut self, rank: usize) {
        if self.processes[rank].fiber.is_none() || self.crashes_left == 0 {
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
        if self.in_waves() {
            let cluster = self.cluster_of(rank);
            self.seen.failed_clusters.fails(cluster);
            self.others_return_too(cluster);
        }
        let incarnation = self.processes[rank].incarnation;
        self.end_process(rank);
        self.ended(rank, incarnation, Ending::Signal(9));
    }

    /// A rank depends on what was lost, reports it, and waits for its end.
    pub(super) fn is_orphan(&mut self, rank: usize) {
        if std::mem::replace(&mut self.processes[rank].orphan, true) {
            return;
        }
        if self.in_waves() {
            let cluster = self.cluster_of(rank);
            self.seen.failed_clusters.fails(cluster);
        }
        if self.setup.mutant == Some(Mutant::OrphanReturnsAlone) && self.returns_alone(rank) {
            return;
        }
        let (host, incarnation) = (self.host_of(rank), self.processes[rank].incarnation);
        let before = self.processes[rank].too_lean.take();
        let (rank, why) = (Rank(rank as u32), "an orphan".to_owned());
        self.report(host, Input::Orphan { rank, incarnation, why, before });
    }

    /// What comes with the end of a process: connections are gone, what was under way may still
    /// arrive.
    pub(super) fn end_process(&mut self, rank: usize) {
        self.note(|| format!("rank {rank} ends"));
        self.seen.last_images.fails();
        self.seen.one_process.ends(rank);
        if self.in_waves() {
            let cluster = self.cluster_of(rank);
            self.seen.failed_clusters.ends(rank, cluster);
        }
        let cut = self.now + self.below(300);
        let process = &mut self.processes[rank];
        process.fiber = None;
        process.digest = None;
        let dead = process.incarnation;
        process.cut.insert(dead, cut);
        process.incarnation = dead.next();
        let conn = process.logger.take();
        self.retire_ring(rank);
        self.leaves_ring(rank);
        if let Some(conn) = conn {
            let answers = self.logger.lost(conn);
            self.deliver_log(answers);
        }
        self.process_leaves_memories(rank, dead);
    }

    /// A process ends as it should.
    pub(super) fn exits(&mut self, rank: usize) {
        self.processes[rank].fiber = None;
        self.seen.one_process.ends(rank);
    }

    /// A replay is over.
    pub fn caught_up(&mut self, rank: usize, replayed: u64) {
        self.outcome.replayed += replayed;
        self.processes[rank].caught_up = true;
        let (host, incarnation) = (self.host_of(rank), self.processes[rank].incarnation);
        let name = Rank(rank as u32);
        self.report(host, Input::CaughtUp { rank: name, incarnation, replayed });
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
        self.processes.len()
    }

    /// The incarnation of a rank.
    #[must_use]
    pub fn incarnation(&self, rank: usize) -> Incarnation {
        self.processes[rank].incarnation
    }

    /// Does this rank die here?
    pub fn dies_at(&mut self, rank: usize, name: &'static str) -> bool {
        if self.crashes_left == 0 {
            return false;
        }
        let odds = match name {
            "replay" | "image" => 10,
            "wave" => 40,
            "heard" => 3,
            "acted" => 20,
            "rendezvous" => 80,
            _ => 600,
        };
        let dies = self.below(odds) == 0;
        if dies {
            // What it did came of what the rank before it sent.
            self.with_neighbour = name == "heard";
            self.note(|| format!("rank {rank} comes to {name}"));
        }
        dies
    }

    /// The image that is due.
    #[must_use]
    pub fn image_due(&self, rank: usize) -> Option<ImageNo> {
        self.processes[rank].due
    }

    /// It will not be taken.
    pub fn refuse_image(&mut self, rank: usize) {
        if let Some(image) = self.processes[rank].due.take() {
            self.image_failed(rank, image);
        }
    }

    /// Did this incarnation begin from an image that was just put back?
    pub fn was_restored(&mut self, rank: usize) -> bool {
        std::mem::take(&mut self.processes[rank].restored)
    }

    /// A program is over.
    pub fn finished(&mut self, rank: usize, digest: u64) {
        if self.processes[rank].digest.replace(digest).is_none() {
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
    let inner = setup.variant.make(setup.all_events, me, incarnations, &setup.clusters);
    let protocol = crate::mutants::protocol(inner, me, setup.ranks, setup.mutant);
    let memories = setup.variant.has_memories();
    let link = SimLink::new(rank, stop, setup.mutant, memories, incarnations[0]);
    let mut engine = Engine::new(link, me, incarnations, protocol);
    engine.lean_images(setup.lean_images);
    if setup.seed.is_multiple_of(2) {
        engine.set_piggyback_part(60);
    }
    if setup.seed % 4 < 3 {
        engine.set_late_log(1 + (setup.seed / 4 % 64) as usize, 1 + (setup.seed / 7 % 40) as usize);
    }
    if incarnations[rank] > Incarnation(0) {
        engine.replay_from_start();
    }
    if setup.program.needs_mpi() {
        // Every rank is on a host of its own, as far as it knows.
        let mut mpi = Mpi::new(engine, (0..setup.ranks as u32).collect(), false);
        let digest = setup.program.run_over_mpi(&mut mpi);
        stay(rank, &mut mpi.engine, digest);
    }
    let digest = setup.program.run(&mut engine, setup.ranks);
    if setup.mutant == Some(Mutant::LeavesEarly) {
        engine.drain();
        engine.conclude();
        return with(|world| world.finished(rank, digest));
    }
    stay(rank, &mut engine, digest)
}

/// A program is over; its rank serves others until all are.
fn stay(rank: usize, engine: &mut Engine<SimLink>, digest: u64) -> ! {
    engine.drain();
    engine.conclude();
    loop {
        // Again and again: an image may have been taken here, and this be a later incarnation.
        with(|world| world.finished(rank, digest));
        engine.block();
    }
}
