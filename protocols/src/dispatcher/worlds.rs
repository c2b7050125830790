//! Worlds: processes that join the job while it runs, and worlds that leave it before its end.
//!
//! Guarantees:
//! - A world whose processes all are in `MPI_Finalize` waits only for worlds to which a chain of
//!   communicators leads. Where ranks are repeated from the logs of others, it waits for all.
//! - Where all ranks return to a wave, exactly the worlds return that took part in it. Worlds that
//!   began after it are dropped, and every process of theirs has ended before anybody goes on.
//!
//! How worlds begin is in [`spawns`](super::spawns).

use super::Dispatcher;
use super::messages::Command;
use super::notice::EndReason;
use super::rank_state::{RankState, Stage};
use ftmpi_wire::new_processes::World;
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::collections::BTreeSet;
use std::time::Duration;

/// Who asked for new processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asker {
    /// The rank.
    pub rank: Rank,
    /// The incarnation of the rank.
    pub incarnation: Incarnation,
    /// The number of its question ([`ftmpi_wire::new_processes::question_number`]).
    pub number: u64,
}

/// Who has processes join the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A rank, which spawns them.
    Rank(Asker),
    /// A command of the user with this number ([`joins`](super::joins)).
    User(u64),
}

/// Processes that are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Their number.
    pub count: u32,
    /// Indices of hosts that may take them; empty: any.
    pub hosts: Vec<u32>,
    /// Tells their program, with its arguments and surroundings, from others.
    pub program: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Course {
    /// Its processes start for this question or command.
    Begins(Origin),
    Runs,
    /// It ends alone with this exit code: its processes are being ended.
    Ends(i32),
    /// All have ended in order.
    Over,
    /// It never was whole.
    Failed,
    /// All ranks have returned to a wave before it began.
    Dropped,
}

/// What the dispatcher knows of a world.
#[derive(Debug)]
pub(super) struct WorldState {
    pub(super) world: World,
    pub(super) course: Course,
    /// The number of the question for it.
    pub(super) question: u64,
    /// The number of the user's command that has brought it.
    pub(super) join: Option<u64>,
    /// A process of it may have met one of another world.
    pub(super) met: bool,
    /// What is wrong with it, and when it ends for that.
    pub(super) complaint: Option<(Duration, i32, EndReason)>,
    /// Why it ends alone.
    pub(super) why: Option<EndReason>,
    /// What was asked for.
    pub(super) wanted: Vec<Wanted>,
    /// The highest number of a wave when it began.
    pub(super) after: ImageNo,
    /// Worlds to which a communicator of a rank in `MPI_Finalize` leads.
    connected: BTreeSet<usize>,
    finalized: bool,
    exiting: bool,
    /// Its ranks may have images that nobody has given up.
    has_images: bool,
    /// It was dropped, and nobody was told yet.
    parts: bool,
}

impl WorldState {
    pub(super) fn first(size: u32) -> Self {
        Self::new(World::first(size), Course::Runs, Vec::new(), ImageNo(0))
    }

    pub(super) fn new(world: World, course: Course, wanted: Vec<Wanted>, after: ImageNo) -> Self {
        let (question, join) = match course {
            Course::Begins(Origin::Rank(asker)) => (asker.number, None),
            Course::Begins(Origin::User(number)) => (0, Some(number)),
            _ => (0, None),
        };
        Self {
            world,
            course,
            question,
            join,
            met: false,
            complaint: None,
            why: None,
            wanted,
            after,
            connected: BTreeSet::new(),
            finalized: false,
            exiting: false,
            has_images: false,
            parts: false,
        }
    }

    /// Nothing is known any more of what its ranks have reported.
    pub(super) fn forget_reports(&mut self) {
        self.connected.clear();
        self.complaint = None;
        (self.finalized, self.exiting) = (false, false);
    }
}

pub(super) fn is_over(state: &RankState) -> bool {
    matches!(state.stage, Stage::Done(_) | Stage::Ignored)
}

impl Dispatcher {
    pub(super) fn world_index(&self, rank: Rank) -> usize {
        self.worlds.iter().position(|state| state.world.has(rank)).unwrap_or(0)
    }

    pub(super) fn has_several_worlds(&self) -> bool {
        self.worlds.len() > 1
    }

    pub(super) fn states_of(&self, index: usize) -> impl Iterator<Item = (Rank, &RankState)> {
        let processes = self.worlds[index].world.processes();
        processes.map(Rank).filter_map(|rank| Some((rank, self.ranks.get(rank.index())?)))
    }

    /// A rank is about to enter `MPI_Finalize`, and has communicators with these processes.
    pub(super) fn connected(&mut self, rank: Rank, incarnation: Incarnation, with: &[Rank]) {
        if self.living(rank, incarnation).is_none() {
            return;
        }
        let others: Vec<usize> = with.iter().map(|other| self.world_index(*other)).collect();
        let index = self.world_index(rank);
        self.worlds[index].connected.extend(others);
    }

    /// A process of a later world has ended in order: its slot is free.
    pub(super) fn leaves_slot(&mut self, rank: Rank) {
        if self.world_index(rank) > 0 {
            self.gives_slot_back(rank);
        }
    }

    /// The rank counts on its host no more, or on the one where its next incarnation was to begin.
    pub(super) fn gives_slot_back(&mut self, rank: Rank) {
        let state = &mut self.ranks[rank.index()];
        let counts_on = state.moves_to.take().unwrap_or(state.host);
        if !std::mem::replace(&mut state.without_slot, true) {
            self.hosts.left(counts_on);
        }
    }

    /// Whether nobody needs this rank any more, though the job goes on.
    pub(super) fn is_released(&self, rank: Rank) -> bool {
        self.worlds[self.world_index(rank)].exiting
    }

    /// The worlds that a chain of communicators joins with this one.
    fn component(&self, index: usize) -> BTreeSet<usize> {
        let mut all = BTreeSet::from([index]);
        loop {
            let before = all.len();
            for (other, state) in self.worlds.iter().enumerate() {
                if all.contains(&other) {
                    all.extend(&state.connected);
                } else if state.connected.iter().any(|joined| all.contains(joined)) {
                    all.insert(other);
                }
            }
            if all.len() == before {
                return all;
            }
        }
    }

    /// Whether the processes of a world may be repeated, or repeat others: a process that may be
    /// repeated needs the logs of all that it has ever met.
    fn must_stay(&self, index: usize) -> bool {
        self.settings.traits.replays()
            && (self.worlds[index].join.is_none() || self.worlds[index].met)
    }

    /// Worlds that wait for nobody else go on, while others are in the middle of their work.
    pub(super) fn look_at_parted_worlds(&mut self) {
        if !self.has_several_worlds() {
            return;
        }
        let replays = self.settings.traits.replays();
        for index in 0..self.worlds.len() {
            let (course, join) = (self.worlds[index].course, self.worlds[index].join);
            if !matches!(course, Course::Begins(_) | Course::Runs) || (replays && join.is_none()) {
                continue;
            }
            let of = self.cluster_of(Rank(self.worlds[index].world.first)).filter(|_| replays);
            let mut clusters = self.clusters.iter().enumerate();
            let in_wave = clusters.any(|(number, cluster)| {
                of.is_none_or(|of| of == number) && cluster.waves.is_under_way()
            });
            let joined = self.component(index);
            let all = |test: fn(&RankState) -> bool| {
                let mut states = joined.iter().flat_map(|index| self.states_of(*index));
                states.all(|(_, state)| test(state) || is_over(state))
            };
            // An image that is taken after they hear it knows that all were there; an earlier image
            // does not: they hear it when no wave is under way.
            let finalized = all(|state| state.finalizing) && !in_wave;
            let exiting = all(|state| state.finalizing && state.exiting.is_some());
            let (stays, over) = (self.must_stay(index), all(|_| false));
            let living: Vec<(Rank, Incarnation)> = self
                .states_of(index)
                .filter(|(_, state)| !is_over(state))
                .map(|(rank, state)| (rank, state.incarnation))
                .collect();
            let known = &mut self.worlds[index];
            let tell_finalized = finalized && !std::mem::replace(&mut known.finalized, finalized);
            let tell_exiting = exiting && !stays && !std::mem::replace(&mut known.exiting, exiting);
            let world = known.world;
            if over {
                self.leaves_waves(world);
            }
            if over && index > 0 {
                self.worlds[index].course = Course::Over;
                self.commands.push_back(Command::WorldOver(world));
            }
            if over || exiting && stays {
                self.join_over(index, None);
            }
            for (rank, incarnation) in living {
                if tell_finalized {
                    self.commands.push_back(Command::AllFinalized { rank, incarnation });
                }
                if tell_exiting {
                    self.commands.push_back(Command::AllExiting { rank, incarnation });
                }
            }
        }
    }

    // ---- waves --------------------------------------------------------------------------------

    /// Whether this rank is in `MPI_Finalize` and waits there for others, who may be at work for
    /// long. An image of it is worth having: it reports again what it has reported.
    pub(super) fn waits_for_other_worlds(&self, rank: Rank) -> bool {
        let state = &self.ranks[rank.index()];
        self.has_several_worlds()
            && state.stage == Stage::Running
            && state.can_image
            && state.finalizing
            && state.exiting.is_none()
            && !self.all_finalized
            && !self.worlds[self.world_index(rank)].finalized
    }

    /// A wave of these ranks begins.
    pub(super) fn images_of_worlds(&mut self, ranks: &[Rank]) {
        for state in self.worlds.iter_mut().skip(1) {
            state.has_images |= ranks.contains(&Rank(state.world.first));
        }
    }

    /// A wave is complete: the images of a world that had ended before all waves that are kept
    /// serve no more.
    pub(super) fn forget_worlds(&mut self, cluster: usize) {
        let waves = &self.clusters[cluster].waves;
        for state in self.worlds.iter_mut().skip(1) {
            let serves = state.course != Course::Over || waves.keeps(Rank(state.world.first));
            if !serves && std::mem::take(&mut state.has_images) {
                self.commands.push_back(Command::ForgetImages(state.world));
            }
        }
    }

    /// A wave does not wait for the image of a rank that has ended.
    pub(super) fn owes_no_image(&mut self, rank: Rank) {
        if self.has_several_worlds()
            && let Some(cluster) = self.cluster_of(rank)
        {
            let waves = &mut self.clusters[cluster].waves;
            let (stored, over) = (waves.stored(), waves.ended(self.now, rank));
            self.wave_over(cluster, over, &stored);
        }
    }

    /// The processes of a world take part in later waves no more.
    pub(super) fn leaves_waves(&mut self, world: World) {
        if let Some(cluster) = self.cluster_of(Rank(world.first)) {
            self.clusters[cluster].waves.leave(|rank| world.has(rank));
        }
    }

    /// Whether the world of this rank began after the wave to which all have returned.
    pub(super) fn is_dropped(&self, rank: Rank) -> bool {
        self.worlds[self.world_index(rank)].course == Course::Dropped
    }

    /// All return to this wave, in which these ranks take part. Those that are dead have no process
    /// that must be ended first.
    pub(super) fn return_worlds(&mut self, wave: ImageNo, returning: &[Rank], dead: &[Rank]) {
        self.worlds.iter_mut().for_each(WorldState::forget_reports);
        for index in 1..self.worlds.len() {
            let (world, course) = (self.worlds[index].world, self.worlds[index].course);
            let after = self.worlds[index].after;
            if returning.contains(&Rank(world.first)) {
                self.worlds[index].course = Course::Runs;
                self.takes_slots_again(index);
                continue;
            }
            match course {
                Course::Over | Course::Ends(_) if after < wave => {}
                Course::Failed | Course::Dropped => {}
                Course::Over | Course::Begins(_) | Course::Runs | Course::Ends(_) => {
                    self.is_dropped_now(index);
                    (self.worlds[index].course, self.worlds[index].parts) = (Course::Dropped, true);
                    if course != Course::Over {
                        world.processes().for_each(|number| self.drop_rank(Rank(number), dead));
                    }
                }
            }
        }
    }

    /// Whether every process has ended of the worlds that were dropped.
    pub(super) fn dropped_have_ended(&self) -> bool {
        let dropped = (0..self.worlds.len()).filter(|n| self.worlds[*n].parts);
        let mut states = dropped.flat_map(|index| self.states_of(index));
        states.all(|(_, state)| state.stage != Stage::Stopping)
    }

    /// Everybody hears that the incarnations of worlds that were dropped are over, and with them
    /// what they have done to files.
    pub(super) fn part_with_dropped(&mut self) {
        for index in 1..self.worlds.len() {
            if !std::mem::take(&mut self.worlds[index].parts) {
                continue;
            }
            let world = self.worlds[index].world;
            for rank in world.processes().map(Rank) {
                let state = &mut self.ranks[rank.index()];
                state.incarnation = state.incarnation.next();
                let (incarnation, host) = (state.incarnation, state.host);
                self.commands.push_back(Command::Announce { rank, incarnation, host });
            }
            self.commands.push_back(Command::WorldOver(world));
        }
    }

    /// Processes of a world that had ended begin again.
    fn takes_slots_again(&mut self, index: usize) {
        for rank in self.worlds[index].world.processes().map(Rank) {
            let state = &mut self.ranks[rank.index()];
            if std::mem::take(&mut state.without_slot) {
                self.hosts.took(state.moves_to.unwrap_or(state.host));
            }
        }
    }

    fn drop_rank(&mut self, rank: Rank, dead: &[Rank]) {
        self.waits_no_more(rank);
        let state = &mut self.ranks[rank.index()];
        let incarnation = state.incarnation;
        state.stage = match state.stage {
            Stage::Starting | Stage::Spawned | Stage::Running if !dead.contains(&rank) => {
                self.commands.push_back(Command::Kill { rank, incarnation });
                Stage::Stopping
            }
            Stage::Stopping if !dead.contains(&rank) => Stage::Stopping,
            _ => Stage::Ignored,
        };
        self.gives_slot_back(rank);
        self.migrates_no_more(rank);
    }
}
