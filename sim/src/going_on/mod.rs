//! Jobs that go on without ranks that die, simulated: the facade and engine of each rank, the
//! dispatcher with its agreements, and between them messages and news that are late.
//!
//! Ranks die inside of any call, several of them, also in the middle of a frame. Connections break
//! before anybody hears of the death. A seed stands for one run.
//!
//! Invariants, each looked at from outside:
//! - an agreement has one outcome, whoever hears it ([`Seen::agreed`]);
//! - a shrink leaves out exactly the members whose death was known at its end;
//! - a revocation reaches every living member;
//! - no living rank is taken for dead, and what a call reports as done is right;
//! - everybody that lives comes to the end of its program.

mod link;
mod program;
#[cfg(test)]
mod tests;

use corosensei::stack::{Stack, StackPointer};
use corosensei::{Coroutine, CoroutineResult};
use ftmpi_protocols::dispatcher::{Command, Dispatcher, Ending, Input, Settings};
use ftmpi_protocols::judge::Policy;
use ftmpi_wire::group_news::{Agreed, AgreementName, GroupName, GroupNews, GroupRequest};
use ftmpi_wire::{Header, Incarnation, ProtocolTraits, Rank};
use link::{Stop, Why};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::time::Duration;

/// More steps than any right run has.
const STEPS_MAX: u64 = 400_000;
const STACK_BYTES: usize = 512 << 10;

/// A deliberate bug, which the invariants must find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// One member hears another outcome of an agreement.
    OutcomeDiffers,
    /// One rank does not hear of a revocation.
    RevocationLost,
    /// One rank does not hear of a death.
    DeathUntold,
    /// An outcome has a dead member among the living.
    DeadIncluded,
}

/// A frame, or a part of one, on its way.
pub(super) struct Item {
    at: u64,
    header: Header,
    payload: Vec<u8>,
    /// The sender died in the middle of it.
    broken: bool,
}

/// What a rank hears of its agent.
pub(super) enum News {
    Channel(usize),
    Lost(usize),
    Group(GroupNews),
}

/// What was seen, for the invariants.
#[derive(Default)]
pub(super) struct Seen {
    /// Deaths that the dispatcher has told, in their order.
    told: Vec<Rank>,
    /// Members of each agreement.
    members: BTreeMap<AgreementName, BTreeSet<Rank>>,
    /// What members heard as the outcome of the n-th agreement of an epoch.
    agreed: BTreeMap<(usize, usize), (i32, bool)>,
    /// The members of each epoch, as they heard it.
    epochs: BTreeMap<usize, Vec<Rank>>,
    pub(super) revoked: BTreeSet<GroupName>,
    /// What each rank does, for the reader of a failure.
    pub(super) doing: Vec<String>,
}

/// The world between the ranks.
pub(super) struct World {
    random: u64,
    pub(super) now: u64,
    pub(super) size: usize,
    channels: BTreeMap<(usize, usize), VecDeque<Item>>,
    joined: BTreeSet<(usize, usize)>,
    news: Vec<VecDeque<(u64, News)>>,
    reports: Vec<VecDeque<(u64, Input)>>,
    dispatcher: Dispatcher,
    pub(super) alive: Vec<bool>,
    over: Vec<bool>,
    /// The process has ended well.
    gone: Vec<bool>,
    /// Calls of its link that a rank still makes before it dies.
    pub(super) lives: Vec<Option<u64>>,
    pub(super) seen: Seen,
    mutant: Option<Mutant>,
    /// The mutant has struck.
    struck: bool,
}

pub(super) type Shared = Rc<RefCell<World>>;

impl World {
    fn new(seed: u64, mutant: Option<Mutant>) -> Self {
        let mut random = seed;
        let size = 2 + draw(&mut random) as usize % 5;
        let settings = Settings {
            hosts: vec!["host".into()],
            placement: vec![0; size],
            protocol: "none".into(),
            traits: ProtocolTraits::NONE,
            places: Vec::new(),
            restarts_max: 0,
            recovery: Policy::ignore(),
            clusters: None,
            standbys: Vec::new(),
            together: false,
            storage_patience: Duration::from_secs(1),
            images: None,
        };
        let mut world = Self {
            random,
            now: 0,
            size,
            channels: BTreeMap::new(),
            joined: BTreeSet::new(),
            news: (0..size).map(|_| VecDeque::new()).collect(),
            reports: (0..size).map(|_| VecDeque::new()).collect(),
            dispatcher: Dispatcher::new(settings),
            alive: vec![true; size],
            over: vec![false; size],
            gone: vec![false; size],
            lives: vec![None; size],
            seen: Seen { doing: vec![String::new(); size], ..Seen::default() },
            mutant,
            struck: false,
        };
        world.handle(Input::AgentUp { host: 0 });
        let incarnation = Incarnation(0);
        for rank in (0..size as u32).map(Rank) {
            world.handle(Input::Spawned { rank, incarnation });
            let (resumed, can_image) = (None, false);
            world.handle(Input::Hello { rank, incarnation, resumed, can_image });
        }
        // All but one may die.
        for _ in 0..world.below(size as u64) {
            let rank = world.below(size as u64) as usize;
            world.lives[rank] = Some(1 + world.below(1500));
        }
        world
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        draw(&mut self.random) % bound
    }

    /// A time after everything before in a queue.
    fn later(&mut self, last: Option<u64>) -> u64 {
        let delay = if self.below(8) == 0 { self.below(400) } else { self.below(20) };
        last.unwrap_or(0).max(self.now + delay)
    }

    fn tell(&mut self, rank: usize, news: News) {
        let last = self.news[rank].back().map(|(at, _)| *at);
        let at = self.later(last);
        self.news[rank].push_back((at, news));
    }

    fn report(&mut self, rank: usize, input: Input) {
        let last = self.reports[rank].back().map(|(at, _)| *at);
        let at = self.later(last);
        self.reports[rank].push_back((at, input));
    }

    pub(super) fn asks(&mut self, rank: usize, request: GroupRequest) {
        if let GroupRequest::Contribute(part) = &request {
            let members = ftmpi_wire::group_news::ranks_of(&part.members, self.size as u32);
            self.seen.members.insert(part.name, members.collect());
        }
        self.report(rank, Input::Group(Rank(rank as u32), Incarnation(0), request));
    }

    pub(super) fn joins(&mut self, a: usize, b: usize) {
        if self.alive[b] && self.joined.insert((a.min(b), a.max(b))) {
            self.tell(a, News::Channel(b));
            self.tell(b, News::Channel(a));
        }
    }

    pub(super) fn send(&mut self, from: usize, to: usize, header: Header, payload: Vec<u8>) {
        let last = self.channels.get(&(from, to)).and_then(|queue| queue.back()).map(|i| i.at);
        let at = self.later(last);
        let item = Item { at, header, payload, broken: false };
        self.channels.entry((from, to)).or_default().push_back(item);
    }

    /// A rank is killed. What it sent last may be lost, or be there in part.
    fn dies(&mut self, rank: usize) {
        self.alive[rank] = false;
        for to in 0..self.size {
            let keep = {
                let len = self.channels.get(&(rank, to)).map_or(0, VecDeque::len) as u64;
                self.below(len + 1) as usize
            };
            let broken = self.below(2) == 0;
            if let Some(queue) = self.channels.get_mut(&(rank, to)) {
                queue.truncate(keep);
                if let Some(last) = queue.back_mut() {
                    last.broken = broken;
                }
            }
            let joined = self.joined.contains(&(rank.min(to), rank.max(to)));
            if joined && to != rank && self.below(2) == 0 {
                self.tell(to, News::Lost(rank));
            }
        }
        let (rank_name, incarnation) = (Rank(rank as u32), Incarnation(0));
        let ending = Ending::Signal(9);
        let input = Input::Ended { rank: rank_name, incarnation, ending, progress: 0 };
        self.report(rank, input);
    }

    fn handle(&mut self, input: Input) {
        self.dispatcher.handle(Duration::from_millis(self.now), input);
        while let Some(command) = self.dispatcher.next_command() {
            match command {
                Command::News { news, to } => self.spread(&news, to.as_deref()),
                Command::End { code, reason, .. } => {
                    let all_dead = self.alive.iter().all(|alive| !alive);
                    assert!(all_dead, "the job ends: {code} {reason:?}");
                }
                _ => {}
            }
        }
    }

    fn spread(&mut self, news: &GroupNews, to: Option<&[Rank]>) {
        match news {
            GroupNews::Failed(rank) => {
                assert!(!self.alive[rank.index()], "rank {rank} lives and is taken for dead");
                self.seen.told.push(*rank);
            }
            GroupNews::Revoked(group) => {
                self.seen.revoked.insert(*group);
            }
            GroupNews::Agreed(agreed) => {
                let members = &self.seen.members[&agreed.name];
                let told = self.seen.told.iter().copied();
                let dead: Vec<Rank> = told.filter(|rank| members.contains(rank)).collect();
                assert_eq!(agreed.dead, dead, "the dead of an outcome are those that were told");
            }
        }
        for rank in 0..self.size {
            let meant = to.is_none_or(|to| to.contains(&Rank(rank as u32)));
            if self.alive[rank] && meant {
                let news = self.mutated(rank, news.clone());
                news.into_iter().for_each(|news| self.tell(rank, News::Group(news)));
            }
        }
    }

    /// The mutants' place.
    fn mutated(&mut self, rank: usize, mut news: GroupNews) -> Option<GroupNews> {
        if rank == 0 || self.struck {
            return Some(news);
        }
        let (struck, kept) = match (self.mutant, &mut news) {
            (Some(Mutant::OutcomeDiffers), GroupNews::Agreed(Agreed { words, .. })) => {
                words[0] ^= 1;
                (true, true)
            }
            (Some(Mutant::DeadIncluded), GroupNews::Agreed(Agreed { dead, .. })) => {
                dead.pop();
                (false, true)
            }
            (Some(Mutant::RevocationLost), GroupNews::Revoked(_))
            | (Some(Mutant::DeathUntold), GroupNews::Failed(_)) => (true, false),
            _ => (false, true),
        };
        self.struck = struck;
        kept.then_some(news)
    }

    /// Nothing is on its way, and all that live are at the end of their programs.
    pub(super) fn is_quiet(&self) -> bool {
        let ended = (0..self.size).all(|rank| !self.alive[rank] || self.over[rank]);
        let hears = |rank: usize| self.alive[rank] && !self.gone[rank];
        let heard = (0..self.size).all(|rank| !hears(rank) || self.news[rank].is_empty());
        ended && heard && self.reports.iter().all(VecDeque::is_empty)
    }

    pub(super) fn is_over(&mut self, rank: usize) {
        self.over[rank] = true;
    }

    // ---- what ranks saw -----------------------------------------------------------------------

    pub(super) fn saw_agreement(&mut self, number: (usize, usize), outcome: (i32, bool)) {
        let first = *self.seen.agreed.entry(number).or_insert(outcome);
        assert_eq!(first, outcome, "agreement {number:?} has two outcomes");
    }

    pub(super) fn saw_epoch(&mut self, epoch: usize, members: Vec<Rank>) {
        if let Some(before) = epoch.checked_sub(1).and_then(|e| self.seen.epochs.get(&e)) {
            let lost = before.iter().filter(|rank| !members.contains(rank));
            for rank in lost {
                assert!(!self.alive[rank.index()], "a shrink left out rank {rank}, which lives");
            }
        }
        let first = self.seen.epochs.entry(epoch).or_insert_with(|| members.clone());
        assert_eq!(*first, members, "the members of epoch {epoch} differ");
    }
}

/// The next number of a sequence (splitmix64).
fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The stack of a rank.
struct HeapStack(Box<[u8]>);

// SAFETY: base and limit enclose memory that the box owns as long as the stack lives.
unsafe impl Stack for HeapStack {
    fn base(&self) -> StackPointer {
        let top = self.0.as_ptr().addr() + self.0.len();
        NonZeroUsize::new(top & !15).expect("not null")
    }

    fn limit(&self) -> StackPointer {
        NonZeroUsize::new(self.0.as_ptr().addr() + 4096).expect("not null")
    }
}

type Routine = Coroutine<(), Why, (), HeapStack>;

/// What a run came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Ranks that died.
    pub deaths: usize,
    /// Communicators of those who were left.
    pub shrinks: usize,
    /// Revocations.
    pub revocations: usize,
    /// Steps of ranks.
    pub steps: u64,
}

/// Runs a seed.
///
/// # Panics
/// An invariant is broken.
#[must_use]
pub fn run(seed: u64, mutant: Option<Mutant>) -> Outcome {
    let world: Shared = Rc::new(RefCell::new(World::new(seed, mutant)));
    let size = world.borrow().size;
    let mut ranks: Vec<Option<Routine>> = (0..size)
        .map(|me| {
            let world = Rc::clone(&world);
            let stack = HeapStack(vec![0; STACK_BYTES].into());
            Some(Coroutine::with_stack(stack, move |yielder, ()| {
                program::run(me, seed, &world, Stop::new(yielder));
            }))
        })
        .collect();
    loop {
        let (due, rank) = {
            let mut world = world.borrow_mut();
            world.now += 1;
            let waits = || (world.seen.doing.clone(), world.alive.clone(), world.over.clone());
            assert!(world.now < STEPS_MAX, "some rank waits for ever: {:?}", waits());
            let now = world.now;
            let ready = |queue: &VecDeque<(u64, Input)>| queue.front().is_some_and(|f| f.0 <= now);
            let due: Vec<Input> = (0..size)
                .filter_map(|rank| {
                    let queue = &mut world.reports[rank];
                    if ready(queue) { queue.pop_front().map(|(_, input)| input) } else { None }
                })
                .collect();
            (due, world.below(size as u64) as usize)
        };
        due.into_iter().for_each(|input| world.borrow_mut().handle(input));
        if let Some(routine) = &mut ranks[rank] {
            match routine.resume(()) {
                CoroutineResult::Yield(Why::Rests) => {}
                CoroutineResult::Yield(Why::Dies) => {
                    world.borrow_mut().dies(rank);
                    ranks[rank] = None;
                }
                CoroutineResult::Return(()) => {
                    world.borrow_mut().gone[rank] = true;
                    ranks[rank] = None;
                }
            }
        }
        if ranks.iter().all(Option::is_none) {
            break;
        }
    }
    let world = world.borrow();
    Outcome {
        deaths: world.alive.iter().filter(|alive| !**alive).count(),
        shrinks: world.seen.epochs.len().saturating_sub(1),
        revocations: world.seen.revoked.len(),
        steps: world.now,
    }
}
