//! Worlds: processes that join the job while it runs, and worlds that leave it before its end.
//!
//! Guarantees: a spawn has one answer. It succeeds when every process has said hello; if one cannot
//! be started, or ends before, the others are ended and the job goes on as if nothing had been
//! asked. A world whose processes all are in `MPI_Finalize` waits only for worlds to which a chain
//! of communicators leads. Numbers of processes are never given again.

use super::Dispatcher;
use super::messages::{Command, Ending};
use super::rank_state::{RankState, Stage};
use ftmpi_wire::new_processes::World;
use ftmpi_wire::{Incarnation, Rank};
use std::collections::{BTreeMap, BTreeSet};

/// Who asked for new processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asker {
    /// The rank.
    pub rank: Rank,
    /// In which incarnation.
    pub incarnation: Incarnation,
    /// The number of its question.
    pub number: u32,
}

/// Processes that are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// How many.
    pub count: u32,
    /// Indices of hosts that may take them; empty: any.
    pub hosts: Vec<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Course {
    /// Its processes start for this question.
    Begins(Asker),
    Runs,
    Over,
}

/// What the dispatcher knows of a world.
#[derive(Debug)]
pub(super) struct WorldState {
    world: World,
    course: Course,
    /// Worlds to which a communicator of a rank in `MPI_Finalize` leads.
    connected: BTreeSet<usize>,
    finalized: bool,
    exiting: bool,
}

impl WorldState {
    pub(super) fn first(size: u32) -> Self {
        Self::new(World::first(size), Course::Runs)
    }

    fn new(world: World, course: Course) -> Self {
        Self { world, course, connected: BTreeSet::new(), finalized: false, exiting: false }
    }
}

fn is_over(state: &RankState) -> bool {
    matches!(state.stage, Stage::Done(_) | Stage::Ignored)
}

impl Dispatcher {
    fn world_index(&self, rank: Rank) -> usize {
        self.worlds.iter().position(|state| state.world.has(rank)).unwrap_or(0)
    }

    pub(super) fn has_several_worlds(&self) -> bool {
        self.worlds.len() > 1
    }

    fn states_of(&self, index: usize) -> impl Iterator<Item = (Rank, &RankState)> {
        let processes = self.worlds[index].world.processes();
        processes.map(Rank).filter_map(|rank| Some((rank, self.ranks.get(rank.index())?)))
    }

    /// A rank asks for new processes.
    pub(super) fn spawn(&mut self, asker: Asker, wanted: &[Wanted]) {
        if self.living(asker.rank, asker.incarnation).is_none() {
            return;
        }
        if self.settings.traits.is_fault_tolerant() {
            let why = format!(
                "protocol {} cannot bring new processes back after a failure; start the job with \
                 --protocol none",
                self.settings.protocol
            );
            return self.commands.push_back(Command::SpawnOver { asker, outcome: Err(why) });
        }
        let placed = match self.place_new(wanted) {
            Ok(placed) => placed,
            Err(why) => {
                return self.commands.push_back(Command::SpawnOver { asker, outcome: Err(why) });
            }
        };
        let first = self.ranks.len() as u32;
        let world = World { first, size: placed.len() as u32, parent: Some(asker.rank) };
        self.worlds.push(WorldState::new(world, Course::Begins(asker)));
        self.judge.ranks_added(placed.len());
        self.going_on.ranks_added(world.size);
        for host in &placed {
            self.hosts.took(*host);
            self.ranks.push(RankState::new(*host));
        }
        self.commands.push_back(Command::Grow { asker, world, hosts: placed });
        world.processes().for_each(|rank| self.start(Rank(rank)));
    }

    /// A host for each of the processes: one with a free slot if there is any.
    fn place_new(&self, wanted: &[Wanted]) -> Result<Vec<u32>, String> {
        let mut more = BTreeMap::new();
        let mut placed = Vec::new();
        for wanted in wanted {
            for _ in 0..wanted.count {
                let host = self.hosts.for_new(&more, &wanted.hosts);
                let Some(host) = host else {
                    let total: u32 = wanted.count;
                    return Err(format!(
                        "no host takes {total} more processes ({} fit): its slots are limited by \
                         max_slots, or it is drained",
                        placed.len()
                    ));
                };
                *more.entry(host).or_insert(0) += 1;
                placed.push(host);
            }
        }
        Ok(placed)
    }

    /// A rank said hello: its world may be whole now.
    pub(super) fn look_at_birth(&mut self, rank: Rank) {
        let index = self.world_index(rank);
        let Course::Begins(asker) = self.worlds[index].course else { return };
        if self.states_of(index).all(|(_, state)| state.stage == Stage::Running) {
            self.worlds[index].course = Course::Runs;
            let outcome = Ok(Rank(self.worlds[index].world.first));
            self.commands.push_back(Command::SpawnOver { asker, outcome });
        }
    }

    /// A process could not be started, or has ended. `true`: its world was not whole yet, so the
    /// spawn has failed, and that is all.
    pub(super) fn was_unborn(&mut self, rank: Rank, why: impl FnOnce() -> String) -> bool {
        let index = self.world_index(rank);
        let Course::Begins(asker) = self.worlds[index].course else { return false };
        self.worlds[index].course = Course::Over;
        for number in self.worlds[index].world.processes() {
            let other = Rank(number);
            let state = &mut self.ranks[other.index()];
            let incarnation = state.incarnation;
            let runs = !is_over(state) && other != rank;
            state.stage = Stage::Ignored;
            self.hosts.left(state.host);
            if runs {
                self.commands.push_back(Command::Kill { rank: other, incarnation });
            }
        }
        let why = format!("process {}: {}", rank.0 - self.worlds[index].world.first, why());
        self.commands.push_back(Command::SpawnOver { asker, outcome: Err(why) });
        self.commands.push_back(Command::WorldOver(self.worlds[index].world));
        self.look_who_is_left(1);
        true
    }

    /// Why a process that ended before `MPI_Init` is no process of a world.
    pub(super) fn unborn_end(ending: Ending) -> String {
        format!("it ended before all had called MPI_Init ({ending})")
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
            let host = self.ranks[rank.index()].host;
            self.hosts.left(host);
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

    /// Worlds that wait for nobody else go on, while others are in the middle of their work.
    pub(super) fn look_at_parted_worlds(&mut self) {
        if !self.has_several_worlds() {
            return;
        }
        for index in 0..self.worlds.len() {
            if self.worlds[index].course == Course::Over {
                continue;
            }
            let joined = self.component(index);
            let all = |test: fn(&RankState) -> bool| {
                let mut states = joined.iter().flat_map(|index| self.states_of(*index));
                states.all(|(_, state)| test(state) || is_over(state))
            };
            let finalized = all(|state| state.finalizing);
            let exiting = finalized && all(|state| state.exiting.is_some());
            let over = all(|_| false);
            let living: Vec<(Rank, Incarnation)> = self
                .states_of(index)
                .filter(|(_, state)| !is_over(state))
                .map(|(rank, state)| (rank, state.incarnation))
                .collect();
            let known = &mut self.worlds[index];
            let tell_finalized = finalized && !std::mem::replace(&mut known.finalized, finalized);
            let tell_exiting = exiting && !std::mem::replace(&mut known.exiting, exiting);
            let world = known.world;
            if over && index > 0 {
                known.course = Course::Over;
                self.commands.push_back(Command::WorldOver(world));
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
}
