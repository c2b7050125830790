//! Spawns: processes that join the job while it runs.
//!
//! Guarantees:
//! - A spawn has one answer. It succeeds when every process has said hello; if one cannot be
//!   started, or ends before by itself, the others are ended and the job goes on as if nothing had
//!   been asked. A process that is killed before is started again where failures are repaired.
//! - No wave is under way while a world begins: a spawn waits for the wave, and the next wave for
//!   the world. So the images of a wave have all of a world or nothing of it.
//! - Where ranks are repeated, a rank that asks again gets the answer that its earlier incarnation
//!   had, or waits for the same processes. New processes return apart from those that asked.
//! - A number is given again only to the process that is the same in another execution: all have
//!   returned to a wave before its world began, and the same rank has asked for the same again. Its
//!   incarnation is a later one, and what it prints again is known.

use super::Dispatcher;
use super::messages::{Command, Ending};
use super::notice::EndReason;
use super::rank_state::{RankState, Stage};
use super::rollback::Cluster;
use super::worlds::{Asker, Course, Origin, Wanted, WorldState, is_over};
use crate::scheduler::scheduler_process::Note;
use crate::tuning::SPAWN_PATIENCE;
#[cfg(test)]
use ftmpi_wire::Incarnation;
use ftmpi_wire::new_processes::{self, World};
use ftmpi_wire::{ImageNo, Rank, Recovery};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// What was asked for, and the answer.
type Answered = (Vec<Wanted>, Result<Rank, String>);

/// Questions for processes.
#[derive(Debug, Default)]
pub(super) struct Spawns {
    /// Those that wait until no wave is under way, or for a host.
    waiting: VecDeque<(Asker, Vec<Wanted>)>,
    /// What was asked under each number of a rank, and the answer: a replay asks again.
    answers: BTreeMap<(Rank, u64), Answered>,
}

impl Dispatcher {
    /// Whether what ranks ask of the launcher has to wait: an image of the wave under way may have
    /// the question or the answer, and only the launcher knows which. (Where questions are repeated
    /// it does not matter.)
    #[must_use]
    pub fn holds_questions(&self) -> bool {
        let busy = |cluster: &Cluster| cluster.waves.is_under_way() || cluster.is_rolling();
        let all_return = self.settings.traits.all_return();
        self.suspension.is_some() || (all_return && self.clusters.iter().any(busy))
    }

    fn repeats_questions(&self) -> bool {
        new_processes::are_repeated(self.settings.traits)
    }

    /// A wave that is due goes before new processes, if it can begin soon.
    pub(super) fn holds_spawns(&self) -> bool {
        let waits = |since: Duration| self.now < since + SPAWN_PATIENCE;
        let all_return = self.settings.traits.all_return();
        let due = self.wave_due_since.is_some_and(waits) && all_return;
        self.holds_questions() || due
    }

    /// A rank asks for new processes.
    pub(super) fn spawn(&mut self, asker: Asker, wanted: Vec<Wanted>) {
        if self.living(asker.rank, asker.incarnation).is_none() {
            return;
        }
        if !new_processes::are_possible(self.settings.traits) {
            let why = new_processes::impossible(&self.settings.protocol);
            return self.commands.push_back(Command::SpawnOver { asker, outcome: Err(why) });
        }
        if self.repeats_questions() && self.was_asked(asker, &wanted) {
            return;
        }
        if self.holds_spawns() {
            return self.spawns.waiting.push_back((asker, wanted));
        }
        if !self.begin_world(Origin::Rank(asker), &wanted) {
            self.spawns.waiting.push_back((asker, wanted));
        }
    }

    /// An earlier incarnation of the rank has asked this: the answer is the same, or will be.
    fn was_asked(&mut self, asker: Asker, wanted: &[Wanted]) -> bool {
        let answer = self.spawns.answers.get(&(asker.rank, asker.number)).cloned();
        if let Some((before, outcome)) = answer {
            if before == wanted {
                self.commands.push_back(Command::SpawnOver { asker, outcome });
            } else {
                // The other members of the communicator had the first answer.
                self.give_up(1, EndReason::Ordered(another_question(asker)));
            }
            return true;
        }
        let begins = self.worlds.iter_mut().find(|state| {
            matches!(state.course, Course::Begins(Origin::Rank(before))
                if (before.rank, before.number) == (asker.rank, asker.number))
        });
        if let Some(state) = begins {
            state.course = Course::Begins(Origin::Rank(asker));
            return true;
        }
        false
    }

    /// A spawn has its answer.
    fn answer_spawn(
        &mut self,
        origin: Origin,
        wanted: Vec<Wanted>,
        outcome: Result<Rank, (i32, String)>,
    ) {
        let asker = match origin {
            Origin::Rank(asker) => asker,
            Origin::User(number) => return self.join_answered(number, outcome),
        };
        let outcome = outcome.map_err(|(_, why)| why);
        if self.repeats_questions() {
            let key = (asker.rank, asker.number);
            self.spawns.answers.insert(key, (wanted, outcome.clone()));
        }
        self.commands.push_back(Command::SpawnOver { asker, outcome });
    }

    /// Answers what had to wait.
    pub(super) fn look_at_spawns(&mut self) {
        for (asker, wanted) in std::mem::take(&mut self.spawns.waiting) {
            // The rank may have died meanwhile; its next incarnation asks again.
            self.spawn(asker, wanted);
        }
        self.look_at_joins();
    }

    /// Has these processes started. `false`: they wait for a host.
    pub(super) fn begin_world(&mut self, origin: Origin, wanted: &[Wanted]) -> bool {
        let parent = match origin {
            Origin::Rank(asker) => Some(asker.rank),
            Origin::User(_) => None,
        };
        let dropped = self.dropped_like(origin, wanted);
        let before: Vec<u32> = dropped.map_or_else(Vec::new, |index| {
            self.states_of(index).map(|(_, state)| state.host).collect()
        });
        // Ranks know the hosts of others: a process is the same only where it was.
        let again = dropped.filter(|_| self.hosts.take_new(&before));
        let placed = match again {
            Some(_) => Ok(before.clone()),
            None => self.place_new(wanted),
        };
        if again.is_none() && self.waits_for_hosts(wanted, &before, placed.is_err()) {
            return false;
        }
        let placed = match placed {
            Ok(placed) => placed,
            Err(why) => {
                self.answer_spawn(origin, wanted.to_vec(), Err((1, why)));
                return true;
            }
        };
        let after = self.clusters.first().map_or(ImageNo(0), |first| first.waves.last_issued());
        let world = match again {
            Some(index) => {
                let world = self.worlds[index].world;
                let (course, wanted) = (Course::Begins(origin), wanted.to_vec());
                self.worlds[index] = WorldState::new(world, course, wanted, after);
                self.begin_again(world, &placed);
                world
            }
            None => {
                let first = self.ranks.len() as u32;
                let world = World { first, size: placed.len() as u32, parent };
                let (course, wanted) = (Course::Begins(origin), wanted.to_vec());
                self.worlds.push(WorldState::new(world, course, wanted, after));
                self.judge.ranks_added(placed.len());
                self.going_on.ranks_added(world.size);
                self.ranks.extend(placed.iter().map(|host| RankState::new(*host)));
                self.join_waves(world);
                self.commands.push_back(Command::Grow { origin, world, hosts: placed.clone() });
                world
            }
        };
        placed.iter().for_each(|host| self.hosts.took(*host));
        if let Some(cluster) = self.cluster_of(Rank(world.first)) {
            self.clusters[cluster].waves.join(world.processes().map(Rank));
        }
        world.processes().for_each(|rank| self.start(Rank(rank)));
        if let Some(parent) = parent {
            self.met([parent, Rank(world.first)]);
        }
        true
    }

    /// New processes take their images in the waves of all, as a cluster of their own, or alone.
    fn join_waves(&mut self, world: World) {
        let clusters = match self.settings.traits.recovery {
            Recovery::None => return,
            Recovery::Waves => return self.cluster_places.resize(self.ranks.len(), 0),
            Recovery::Restart => 0,
            Recovery::ClusterWaves => {
                self.cluster_places.resize(self.ranks.len(), self.clusters.len());
                self.clusters.push(Cluster::of(world.processes().map(Rank).collect()));
                1
            }
        };
        self.note(Note::Grown(world.size, clusters));
    }

    /// Whether new processes wait for a host that is lost and may come back: no other one takes
    /// them, or they are to be the same again there.
    fn waits_for_hosts(&self, wanted: &[Wanted], before: &[u32], none_fits: bool) -> bool {
        let is_named = |host: u32| {
            wanted.iter().any(|part| part.hosts.is_empty() || part.hosts.contains(&host))
        };
        let serves = |host: u32| before.contains(&host) || (none_fits && is_named(host));
        let mut hosts = 0..self.settings.hosts.len() as u32;
        let repaired = self.settings.traits.is_fault_tolerant();
        repaired && hosts.any(|host| serves(host) && self.hosts.comes_back(host))
    }

    /// The world that was dropped and that this rank had asked for, if it asks for the same again.
    /// Numbers of questions are in its images, so they are the same in another execution.
    fn dropped_like(&self, origin: Origin, wanted: &[Wanted]) -> Option<usize> {
        let same = |state: &WorldState| match origin {
            Origin::Rank(asker) => {
                state.world.parent == Some(asker.rank) && state.question == asker.number
            }
            Origin::User(number) => state.join == Some(number),
        };
        self.worlds.iter().rposition(|state| {
            state.course == Course::Dropped && same(state) && state.wanted == wanted
        })
    }

    /// Processes of a world that was dropped get new incarnations.
    fn begin_again(&mut self, world: World, placed: &[u32]) {
        for (number, &host) in world.processes().zip(placed) {
            let rank = Rank(number);
            let incarnation = self.ranks[rank.index()].incarnation.next();
            self.ranks[rank.index()] =
                RankState { incarnation, behind: true, ..RankState::new(host) };
            self.commands.push_back(Command::Announce { rank, incarnation, host });
        }
    }

    /// A host for each of the processes: one with a free slot if there is any.
    fn place_new(&self, all: &[Wanted]) -> Result<Vec<u32>, String> {
        let mut more = BTreeMap::new();
        let mut placed = Vec::new();
        for wanted in all {
            for _ in 0..wanted.count {
                let host = self.hosts.for_new(&more, &wanted.hosts);
                let Some(host) = host else {
                    let total: u32 = all.iter().map(|part| part.count).sum();
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

    /// Whether the world of this rank is not whole yet.
    pub(super) fn is_unborn(&self, rank: Rank) -> bool {
        matches!(self.worlds[self.world_index(rank)].course, Course::Begins(_))
    }

    /// A rank said hello: its world may be whole now.
    pub(super) fn look_at_birth(&mut self, rank: Rank) {
        let index = self.world_index(rank);
        let Course::Begins(origin) = self.worlds[index].course else { return };
        if self.states_of(index).all(|(_, state)| state.stage == Stage::Running) {
            self.worlds[index].course = Course::Runs;
            // Until now no wave could begin.
            self.wave_due_since = self.wave_due_since.map(|_| self.now);
            let state = &self.worlds[index];
            let (wanted, first) = (state.wanted.clone(), Rank(state.world.first));
            self.answer_spawn(origin, wanted, Ok(first));
        }
    }

    /// A process could not be started, or has ended. `true`: its world was not whole yet, so the
    /// spawn has failed, and that is all.
    pub(super) fn was_unborn(
        &mut self,
        rank: Rank,
        code: i32,
        why: impl FnOnce() -> String,
    ) -> bool {
        let index = self.world_index(rank);
        if !self.is_unborn(rank) {
            return false;
        }
        let why = format!("process {}: {}", rank.0 - self.worlds[index].world.first, why());
        self.unborn_fails(index, Some(rank), (code, why));
        true
    }

    /// A world that is not whole yet ends. `ended`: this process needs not be ended.
    pub(super) fn unborn_fails(&mut self, index: usize, ended: Option<Rank>, why: (i32, String)) {
        let Course::Begins(origin) = self.worlds[index].course else { return };
        let world = self.worlds[index].world;
        self.worlds[index].course = Course::Failed;
        for number in world.processes() {
            let other = Rank(number);
            let state = &mut self.ranks[other.index()];
            let incarnation = state.incarnation;
            let runs = !is_over(state) && Some(other) != ended;
            state.stage = Stage::Ignored;
            self.gives_slot_back(other);
            self.migrates_no_more(other);
            if runs {
                self.commands.push_back(Command::Kill { rank: other, incarnation });
            }
        }
        self.leaves_waves(world);
        self.answer_spawn(origin, self.worlds[index].wanted.clone(), Err(why));
        self.commands.push_back(Command::WorldOver(world));
        self.look_who_is_left(1);
    }

    /// Why a process that ended before `MPI_Init` is no process of a world.
    pub(super) fn unborn_end(ending: Ending) -> String {
        format!("it ended before all had called MPI_Init ({ending})")
    }

    /// Whether the end of a process is a failure that is repaired before its world is whole: it was
    /// killed from outside. A process that ends by itself, crashes, or leaves its agent, would do
    /// so again.
    pub(super) fn is_repaired(&self, ending: Ending) -> bool {
        const FROM_OUTSIDE: [i32; 5] = [1, 2, 3, 9, 15];
        let killed = match ending {
            Ending::Signal(signal) => FROM_OUTSIDE.contains(&signal),
            Ending::Memory(_) => true,
            _ => false,
        };
        self.settings.traits.is_fault_tolerant() && killed
    }

    /// The incarnation of each process of the newest world that lives.
    #[cfg(test)]
    pub(super) fn incarnations_of_newest(&self) -> Vec<Incarnation> {
        let newest = self.worlds.len() - 1;
        self.states_of(newest).map(|(_, state)| state.incarnation).collect()
    }
}

/// A replay does not ask what its earlier incarnation has asked.
fn another_question(asker: Asker) -> String {
    let (rank, (_, count)) = (asker.rank, new_processes::lane_and_count(asker.number));
    format!(
        "question {count} of rank {rank} was another one in its earlier incarnation: its threads \
         spawn at the same time, or what it spawns depends on what MPI does not see; --protocol \
         coordinated repeats no questions"
    )
}
