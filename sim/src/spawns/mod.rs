//! Jobs whose processes spawn others, simulated: the dispatcher of a real job, and processes,
//! agents, images and the event logger as a model. After a failure all return to a wave, or a world
//! does, or one process. Messages of one connection keep their order and are late. Processes and
//! hosts die at any moment: before, during and after a spawn.
//!
//! Invariants, each looked at from outside. Where all return:
//! - no wave is under way while a world begins ([`World::begins`], [`World::orders_image`]);
//! - the images of a wave have all of a world or nothing of it, and what returns to it is exactly
//!   what was in it ([`World::returns`]);
//! - when a process begins, no process of a state that was given up lives ([`World::begins`]);
//! - a number is given again only to the same process in another execution ([`World::answers`]).
//!
//! Where a world or a process returns ([`logging`]):
//! - a spawn begins one world, and every incarnation that asks for it hears of that world;
//! - while a process may be repeated, none has left that it may have met.
//!
//! Where commands of the user bring worlds, see [`joins`].
//!
//! Everywhere:
//! - no process begins while an earlier incarnation of it lives;
//! - a question has one answer, and a spawn fails only if its program is bad;
//! - the job ends, and every process has done all that it does without failures
//!   ([`World::check_end`]).

mod agents;
mod joins;
mod logging;
mod program;
#[cfg(test)]
mod tests;

use agents::{Event, Host, Process};
use ftmpi_protocols::dispatcher::{
    Asker, Command, Dispatcher, Input, Notice, Origin, Settings, Wanted,
};
use ftmpi_protocols::judge::Policy;
use ftmpi_protocols::scheduler;
use ftmpi_wire::new_processes::World as RankWorld;
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use program::{Course, Identity, Step};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// No run takes so long (milliseconds).
const TIME_MAX: u64 = 400_000;
/// Failures come until then.
const FAULTS_UNTIL: u64 = 12_000;

/// A deliberate bug, which the invariants must find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// An incarnation does not ask again what is open in its image.
    OpenQuestionForgotten,
    /// An incarnation asks again what was answered last.
    AnswerForgotten,
    /// The end of a process that is to end is reported before it ends.
    EndReportedEarly,
    /// A process of a later world begins at its start although an image is given.
    ImageNotUsed,
    /// The order of an image overtakes an answer.
    AnswerOvertaken,
    /// A process asks before what led to the question is stable.
    AskedTooEarly,
    /// An incarnation that begins from an image numbers its questions from zero.
    NumbersFromZero,
    /// A spawned process ends while others may need its log.
    LeavesEarly,
    /// The launcher hands a command of the user over twice.
    JoinRepeated,
    /// A command is handed over before its user has looked at the job for the last time.
    JoinTakenEarly,
    /// A process that a command brought lives on after its end was reported.
    JoinedLivesOn,
    /// An agent reports another exit code than a process had.
    CodeLost,
    /// Processes of two worlds meet, and nobody reports that.
    MeetingForgotten,
    /// A meeting is reported of a world that has met no other one.
    MeetingInvented,
}

/// What returns after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Returns {
    /// All processes, to a wave.
    All,
    /// The cluster of the process, to a wave of its own: a spawned world is one.
    World,
    /// The process alone, to its image.
    Process,
}

impl Returns {
    /// All of them.
    pub const EACH: [Self; 3] = [Self::All, Self::World, Self::Process];
}

/// The model of a job.
pub(super) struct World {
    seed: u64,
    returns: Returns,
    logs: logging::Logs,
    joins: joins::Joins,
    random: u64,
    now: u64,
    events: BTreeMap<(u64, u64), Event>,
    event: u64,
    dispatcher: Dispatcher,
    hosts: Vec<Host>,
    processes: BTreeMap<(Rank, Incarnation), Process>,
    images: BTreeMap<(ImageNo, Rank), Course>,
    /// The path of each world, by its first number.
    paths: BTreeMap<Rank, (RankWorld, Vec<usize>)>,
    /// Worlds of which a process was started at its beginning, and whose spawn has no answer.
    unborn: BTreeSet<Rank>,
    /// When worlds ended, and when waves began.
    ended: BTreeMap<Rank, u64>,
    begun: BTreeMap<ImageNo, u64>,
    under_way: Option<ImageNo>,
    /// Where processes were when they had nothing more to do.
    done: BTreeMap<Rank, Course>,
    mutant: Option<Mutant>,
    struck: bool,
    outcome: Outcome,
    over: bool,
}

/// What a run came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Processes that were killed, hosts that were lost.
    pub faults: u64,
    /// Returns of all ranks.
    pub returns: u64,
    /// Spawns that had an answer.
    pub spawns: u64,
    /// Numbers that were given again, or answers that were.
    pub again: u64,
    /// Processes of later worlds that began from an image.
    pub restored: u64,
    /// Complete waves.
    pub waves: u64,
    /// Worlds that commands brought and that began.
    pub joins: u64,
    /// Worlds that ended alone, by a failure of their own.
    pub alone: u64,
}

impl std::ops::AddAssign for Outcome {
    fn add_assign(&mut self, other: Self) {
        self.faults += other.faults;
        self.returns += other.returns;
        self.spawns += other.spawns;
        self.again += other.again;
        self.restored += other.restored;
        self.waves += other.waves;
        self.joins += other.joins;
        self.alone += other.alone;
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { faults, returns, spawns, again, restored, waves, joins, alone } = self;
        write!(
            f,
            "{faults} faults, {returns} returns, {waves} complete waves, {spawns} spawns answered, "
        )?;
        write!(
            f,
            "{again} of them with the same processes again, {restored} spawned processes from images, \
             {joins} worlds joined, {alone} failed alone"
        )
    }
}

impl World {
    fn new(seed: u64, returns: Returns, mutant: Option<Mutant>) -> Self {
        let mut random = seed;
        let size = 1 + draw(&mut random) as u32 % 2;
        let interval = Duration::from_millis(100 + draw(&mut random) % 1500);
        let settings = Settings {
            hosts: vec!["a".into(), "b".into()],
            placement: (0..size).map(|rank| rank % 2).collect(),
            protocol: "of this run".into(),
            traits: returns.traits(),
            places: Vec::new(),
            restarts_max: u32::MAX,
            recovery: Policy::default(),
            clusters: returns.clusters(seed, size),
            standbys: Vec::new(),
            together: false,
            storage_patience: Duration::MAX,
            images: Some(scheduler::Settings {
                interval,
                at_once_max: 4,
                policy: scheduler::Policy::Periodic,
                cost_limit: None,
            }),
        };
        let first = RankWorld::first(size);
        Self {
            seed,
            returns,
            logs: logging::Logs::default(),
            joins: joins::Joins::default(),
            random,
            now: 0,
            events: BTreeMap::new(),
            event: 0,
            dispatcher: Dispatcher::new(settings),
            hosts: (0..2).map(|_| Host::default()).collect(),
            processes: BTreeMap::new(),
            images: BTreeMap::new(),
            paths: BTreeMap::from([(Rank(0), (first, Vec::new()))]),
            unborn: BTreeSet::new(),
            ended: BTreeMap::new(),
            begun: BTreeMap::new(),
            under_way: None,
            done: BTreeMap::new(),
            mutant,
            struck: false,
            outcome: Outcome::default(),
            over: false,
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        draw(&mut self.random) % bound.max(1)
    }

    fn after(&mut self, delay: u64, event: Event) {
        self.event += 1;
        self.events.insert((self.now + delay, self.event), event);
    }

    /// Whether the bug strikes here: once in a run.
    fn strikes(&mut self, mutant: Mutant) -> bool {
        let strikes = self.mutant == Some(mutant) && !self.struck;
        self.struck |= strikes;
        strikes
    }

    fn identity(&self, rank: Rank) -> Identity {
        let mut worlds = self.paths.values();
        let (world, path) = worlds.find(|(world, _)| world.has(rank)).expect("a known world");
        Identity { path: path.clone(), place: rank.0 - world.first }
    }

    fn world_of(&self, rank: Rank) -> RankWorld {
        let mut worlds = self.paths.values().map(|(world, _)| *world);
        worlds.find(|world| world.has(rank)).expect("a known world")
    }

    // ---- the launcher -------------------------------------------------------------------------

    fn handle(&mut self, input: Input) {
        self.dispatcher.handle(Duration::from_millis(self.now), input);
        while let Some(command) = self.dispatcher.next_command() {
            self.obey(command);
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::StartAgent { host } => {
                let delay = 1 + self.below(80);
                self.after(delay, Event::AgentStarts(host as usize));
            }
            Command::Start { rank, incarnation, host, ref images, .. } => {
                match images.first() {
                    Some(image) => self.returns(rank, image.image),
                    None => self.begins(rank),
                }
                self.order(host as usize, (rank, incarnation), command);
            }
            Command::Grow { origin: Origin::User(number), world, .. } => {
                let path = vec![joins::PATH + number as usize];
                self.begins_once(&path);
                self.paths.insert(Rank(world.first), (world, path));
                self.joins.begins(number, world);
            }
            Command::Joined { first, .. } => {
                self.unborn.remove(&first);
                self.ended.remove(&first);
                self.outcome.joins += 1;
            }
            Command::JoinOver { number, code, reason } => self.join_is_over(number, code, reason),
            Command::Grow { origin: Origin::Rank(asker), world, .. } => {
                self.joins.meet(self.world_of(asker.rank), world);
                let mut path = self.identity(asker.rank).path;
                let course = &self.processes[&(asker.rank, asker.incarnation)].course;
                path.push(course.at);
                self.begins_once(&path);
                self.paths.insert(Rank(world.first), (world, path));
            }
            Command::SpawnOver { asker, ref outcome } => {
                self.answers(asker, outcome);
                let (host, _) = self.dispatcher.location(asker.rank);
                let (host, key) = (host as usize, (asker.rank, asker.incarnation));
                let agent = self.hosts[host].agent;
                match outcome.is_ok() && self.strikes(Mutant::AnswerOvertaken) {
                    true => self.after(3000, Event::AtHost(host, agent, key, Box::new(command))),
                    false => self.order(host, key, command),
                }
            }
            // What it has done is done no more.
            Command::Announce { rank, .. } => {
                self.done.remove(&rank);
            }
            Command::WorldOver(world) => {
                self.logs.failed.insert(Rank(world.first));
                self.unborn.remove(&Rank(world.first));
                self.ended.insert(Rank(world.first), self.now);
            }
            Command::TakeImage { rank, incarnation, image, .. } => {
                self.orders_image(image);
                let (host, _) = self.dispatcher.location(rank);
                self.order(host as usize, (rank, incarnation), command);
            }
            Command::WaveOver(over) => {
                self.under_way = None;
                self.outcome.waves += u64::from(over.complete.is_some());
            }
            Command::Kill { rank, incarnation }
            | Command::AllFinalized { rank, incarnation }
            | Command::AllExiting { rank, incarnation }
            | Command::Die { rank, incarnation, .. } => {
                if matches!(command, Command::AllExiting { .. }) {
                    self.all_may_leave(rank);
                }
                let (host, _) = self.dispatcher.location(rank);
                self.order(host as usize, (rank, incarnation), command);
            }
            Command::Notify(Notice::Restarting { .. }) => self.outcome.returns += 1,
            Command::Notify(Notice::Returning { .. }) => {
                (self.under_way, self.outcome.returns) = (None, self.outcome.returns + 1);
                self.unborn.clear();
            }
            Command::End { code, reason, .. } => {
                assert_eq!((code, reason), (0, None), "the job has failed");
                self.over = true;
            }
            _ => {}
        }
    }

    /// A process is ordered to begin at its start.
    fn begins(&mut self, rank: Rank) {
        self.no_old_process_lives(rank);
        self.joined_begins(rank);
        if self.returns != Returns::All {
            return self.repeats(rank);
        }
        assert_eq!(self.under_way, None, "rank {rank} begins while a wave is under way");
        let first = Rank(self.world_of(rank).first);
        if first > Rank(0) {
            self.unborn.insert(first);
        }
    }

    /// A process is ordered to go on from an image of this wave.
    fn returns(&mut self, rank: Rank, wave: ImageNo) {
        self.no_old_process_lives(rank);
        let course = self.images.get(&(wave, rank)).cloned();
        let course = course.unwrap_or_else(|| panic!("rank {rank} is not in wave {wave}"));
        self.outcome.restored += u64::from(!course.identity.path.is_empty());
        if self.returns != Returns::All {
            return self.repeats(rank);
        }
        self.is_behind_joins(wave);
        for (step, child) in course.children {
            let Some(child) = child else { continue };
            let world = self.world_of(child);
            let ended_before = self.ended.get(&child).is_some_and(|at| *at <= self.begun[&wave]);
            let has_all =
                world.processes().all(|number| self.images.contains_key(&(wave, Rank(number))));
            assert!(
                has_all || ended_before,
                "rank {rank} has in wave {wave} the world {world:?} of its step {step}, and the wave has not"
            );
        }
    }

    /// Other processes of the job have the state that this one begins in.
    fn no_old_process_lives(&self, rank: Rank) {
        for ((other, incarnation), process) in &self.processes {
            let current = self.dispatcher.location(*other).1;
            assert!(
                !process.lives || *incarnation == current,
                "rank {rank} begins while incarnation {incarnation} of rank {other} lives"
            );
        }
    }

    fn orders_image(&mut self, image: ImageNo) {
        if self.returns != Returns::All {
            return;
        }
        assert!(self.unborn.is_empty(), "wave {image} begins while worlds do: {:?}", self.unborn);
        self.under_way = Some(image);
        self.begun.entry(image).or_insert(self.now);
    }

    fn answers(&mut self, asker: Asker, outcome: &Result<Rank, String>) {
        self.outcome.spawns += 1;
        if let Ok(first) = outcome {
            self.unborn.remove(first);
        }
        let Some(process) = self.processes.get(&(asker.rank, asker.incarnation)) else { return };
        let course = &process.course;
        let steps = program::steps(self.seed, &course.identity);
        let Some(Step::Spawn { count, bad }) = steps.get(course.at).copied() else {
            panic!("{asker:?} hears of a spawn in step {}", course.at);
        };
        assert_eq!(outcome.is_err(), bad, "the spawn of {asker:?}: {outcome:?}");
        let count = count + course.choices.get(&(asker.number as u32)).copied().unwrap_or(0);
        if self.returns != Returns::All {
            let known = self.logs.answers.insert((asker.rank, asker.number), outcome.clone().ok());
            assert!(known.is_none_or(|known| known == outcome.clone().ok()), "{asker:?} {known:?}");
            self.outcome.again += u64::from(known.is_some());
        }
        if let Ok(first) = outcome {
            self.ended.remove(first);
            let (world, path) = &self.paths[first];
            let mut wanted = course.identity.path.clone();
            wanted.push(course.at);
            assert_eq!((world.size, path), (count, &wanted), "{asker:?} got another world");
            let begins_again = self.dispatcher.location(*first).1 > Incarnation(0);
            self.outcome.again += u64::from(self.returns == Returns::All && begins_again);
        }
    }

    /// What is asked for. In some runs all programs look the same, but for those that are bad: the
    /// same program is bad each time.
    fn wanted(&self, path: &[usize], count: u32, bad: bool) -> Vec<Wanted> {
        let good = if self.seed.is_multiple_of(2) { 7 } else { path.len() as u64 };
        let program = if bad { 1000 + good } else { good };
        vec![Wanted { count, hosts: Vec::new(), program }]
    }

    /// Each process that the program has without failures has done everything.
    fn check_end(&self) {
        let mut open: Vec<RankWorld> = vec![self.paths[&Rank(0)].0];
        open.extend(self.joins.that_end_well(self.seed));
        let (mut seen, mut known) = (BTreeSet::new(), BTreeSet::new());
        while let Some(world) = open.pop() {
            for rank in world.processes().map(Rank) {
                let course = self.done.get(&rank);
                let course = course.unwrap_or_else(|| panic!("rank {rank} has not ended"));
                known.insert(rank);
                assert!(seen.insert(course.identity.clone()), "{:?} ran twice", course.identity);
                let steps = program::steps(self.seed, &course.identity);
                let spawns = steps.iter().filter(|step| matches!(step, Step::Spawn { .. }));
                assert_eq!(course.children.len(), spawns.count(), "spawns of rank {rank}");
                let children = course.children.iter().filter_map(|(_, child)| *child);
                open.extend(children.map(|child| self.world_of(child)));
            }
        }
        for rank in self.done.keys().filter(|rank| !self.joins.is_bad(self.seed, **rank)) {
            assert!(known.contains(rank), "rank {rank} ran and nobody knows it");
        }
    }
}

/// The next number of a sequence (splitmix64).
pub(super) fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Runs a seed.
///
/// # Panics
/// An invariant is broken.
#[must_use]
pub fn run(seed: u64, returns: Returns, mutant: Option<Mutant>) -> Outcome {
    let mut world = World::new(seed, returns, mutant);
    while let Some(command) = world.dispatcher.next_command() {
        world.obey(command);
    }
    world.after(50, Event::Tick);
    world.plan_joins();
    let first = 300 + world.below(2500);
    world.after(first, Event::Fault);
    while !world.over {
        let ((at, _), event) = world.events.pop_first().expect("ticks go on");
        world.now = at;
        assert!(at < TIME_MAX, "the job does not end: {}", world.picture());
        world.happens(event);
    }
    world.check_end();
    world.outcome
}
