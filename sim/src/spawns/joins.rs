//! Commands of the user that bring worlds without a parent (`ftmpiexec --join`).
//!
//! Invariants:
//! - a command hears once how its world has ended, and with which code;
//! - where all return, no return goes behind what was there before the command of a world that has
//!   begun: not to the start, and to no wave that began before the command;
//! - where all return, while a world begins, every world has ended that the user had seen end
//!   before;
//! - a world that has met no other one and fails ends alone: the job goes on.

use super::agents::{Event, Key};
use super::program::{self, Identity, Step};
use super::{Mutant, Returns, World};
use ftmpi_protocols::dispatcher::{EndReason, Input, Wanted};
use ftmpi_wire::new_processes::World as RankWorld;
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::collections::{BTreeMap, BTreeSet};

/// The step that stands for a command in the paths of its processes, with its number.
pub(super) const PATH: usize = 1000;
/// The exit code of a world that fails.
pub(super) const FAILED: i32 = 3;

/// What is known of a command.
#[derive(Debug)]
struct Join {
    asked: u64,
    /// Those whose end the user had seen by then.
    seen: BTreeSet<u64>,
    world: Option<RankWorld>,
    code: Option<i32>,
}

/// All commands.
#[derive(Debug, Default)]
pub(super) struct Joins {
    all: BTreeMap<u64, Join>,
    /// First processes of worlds without a parent that have met others.
    met: BTreeSet<u32>,
}

fn path_of(number: u64) -> Vec<usize> {
    vec![PATH + number as usize]
}

fn first_of(number: u64) -> Identity {
    Identity { path: path_of(number), place: 0 }
}

/// Whether the first process of this world meets one of the first world as soon as it begins.
fn meets(seed: u64, number: u64) -> bool {
    !(seed + number).is_multiple_of(3)
}

/// Whether this process fails when it has done its work.
pub(super) fn fails(seed: u64, identity: &Identity) -> bool {
    let Identity { path, place: 0 } = identity else { return false };
    let [step] = path[..] else { return false };
    let spawns = |step: &Step| matches!(step, Step::Spawn { .. });
    step >= PATH
        && !meets(seed, (step - PATH) as u64)
        && (seed / 2).is_multiple_of(2)
        && !program::steps(seed, identity).iter().any(spawns)
}

impl Joins {
    pub(super) fn begins(&mut self, number: u64, world: RankWorld) {
        let join = self.all.get_mut(&number).expect("a known command");
        assert!(join.world.replace(world).is_none(), "command {number} has a second world");
    }

    /// Processes of these worlds meet.
    pub(super) fn meet(&mut self, one: RankWorld, other: RankWorld) {
        self.met.extend([one.first, other.first]);
    }

    /// Whether processes of this world may have met others.
    pub(super) fn has_met(&self, world: RankWorld) -> bool {
        let is_joined = self.all.values().any(|join| join.world == Some(world));
        !is_joined || self.met.contains(&world.first)
    }

    /// Worlds whose processes do all that they do without failures.
    pub(super) fn that_end_well(&self, seed: u64) -> Vec<RankWorld> {
        let good = self.all.iter().filter(|(number, join)| {
            let refused = join.world.is_none();
            assert!(join.code.is_some(), "command {number} has heard nothing");
            !refused && !fails(seed, &first_of(**number))
        });
        good.filter_map(|(_, join)| join.world).collect()
    }

    /// Whether the process is of a world that fails.
    pub(super) fn is_bad(&self, seed: u64, rank: Rank) -> bool {
        let is_of = |join: &Join| join.world.is_some_and(|world| world.has(rank));
        let found = self.all.iter().find(|(_, join)| is_of(join));
        found.is_some_and(|(number, _)| fails(seed, &first_of(*number)))
    }
}

impl World {
    /// In two of three runs commands come.
    pub(super) fn plan_joins(&mut self) {
        if self.seed.is_multiple_of(3) {
            return;
        }
        for number in 0..1 + self.below(3) {
            let at = 1 + self.below(6000);
            self.after(at, Event::Join(number));
        }
    }

    pub(super) fn joins_now(&mut self, number: u64) {
        let told = self.joins.all.iter().filter(|(_, join)| join.code.is_some());
        let seen = told.map(|(number, _)| *number).collect();
        let early = if self.strikes(Mutant::JoinTakenEarly) { 2000 } else { 0 };
        let join = Join { asked: self.now + early, seen, world: None, code: None };
        self.joins.all.insert(number, join);
        let count = 1 + self.below(3) as u32;
        let wanted = vec![Wanted { count, hosts: Vec::new(), program: PATH as u64 + number }];
        let input = Input::Join { number, wanted };
        if self.strikes(Mutant::JoinRepeated) {
            let again = Box::new(input.clone());
            self.after(2000, Event::AtLauncher(0, self.hosts[0].agent, again));
        }
        self.handle(input);
    }

    fn command_of(&self, world: RankWorld) -> Option<u64> {
        let mut joins = self.joins.all.iter();
        joins.find(|(_, join)| join.world == Some(world)).map(|(number, _)| *number)
    }

    /// Whether a process ends and lives on: a bug.
    pub(super) fn lives_on(&mut self, rank: Rank) -> bool {
        self.command_of(self.world_of(rank)).is_some() && self.strikes(Mutant::JoinedLivesOn)
    }

    /// What a process of a command does first.
    pub(super) fn meets_first(&mut self, (rank, incarnation): Key) {
        let world = self.world_of(rank);
        let found = self.command_of(world);
        let Some(number) = found.filter(|_| rank.0 == world.first) else { return };
        let meets = meets(self.seed, number);
        if meets {
            self.joins.meet(world, self.world_of(Rank(0)));
        }
        // Each time that the process begins.
        let reports = match self.mutant {
            Some(Mutant::MeetingForgotten) => false,
            Some(Mutant::MeetingInvented) => true,
            _ => meets,
        };
        if reports {
            let host = self.processes[&(rank, incarnation)].host;
            self.report(host, Input::Meet { ranks: [rank, Rank(0)] });
        }
    }

    pub(super) fn join_is_over(&mut self, number: u64, code: i32, reason: Option<EndReason>) {
        let fails = fails(self.seed, &first_of(number));
        let join = self.joins.all.get_mut(&number).expect("a known command");
        assert_eq!(join.code.replace(code), None, "command {number} hears a second end");
        match reason {
            Some(EndReason::Ordered(_)) => {
                assert_eq!((join.world, code), (None, 1), "the job ends before");
            }
            Some(reason) => {
                assert!(fails && code == FAILED, "command {number} hears {reason:?}");
                self.outcome.alone += 1;
            }
            None => assert!(!fails && code == 0, "command {number} hears {code}"),
        }
    }

    /// A process begins at its start.
    pub(super) fn joined_begins(&self, rank: Rank) {
        let again = self.dispatcher.location(rank).1 > Incarnation(0);
        let world = self.world_of(rank);
        if self.returns == Returns::All && again && world.first == 0 {
            self.is_behind_joins(ImageNo(0));
        }
        let mut joins = self.joins.all.values().filter(|_| self.returns == Returns::All);
        let Some(join) = joins.find(|join| join.world == Some(world)) else { return };
        for seen in &join.seen {
            let Some(other) = self.joins.all[seen].world else { continue };
            let mut processes = self.processes.iter();
            let lives = processes.any(|((rank, _), process)| other.has(*rank) && process.lives);
            assert!(!lives, "rank {rank} begins, and the user had seen the end of {other:?}");
        }
    }

    /// All return to this wave.
    pub(super) fn is_behind_joins(&self, wave: ImageNo) {
        let begun = self.begun.get(&wave).copied().unwrap_or(0);
        for (number, join) in self.joins.all.iter().filter(|(_, join)| join.world.is_some()) {
            assert!(
                begun >= join.asked,
                "wave {wave} is before command {number}, whose world began"
            );
        }
    }
}
