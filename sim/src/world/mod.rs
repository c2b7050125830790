//! The simulated world: a heap of events, channels, failures, images, the logger.

use crate::arena::{Arena, outside};
use crate::fault::Fault;
use crate::fiber::{Fiber, Pause};
use crate::invariants::dependencies::Truth;
use crate::invariants::{no_orphan_left, recovery_ends};
use crate::loggers::Loggers;
use crate::memory::Memories;
use crate::picture::{Mark, mark};
use dispatch::Dispatch;
use ftmpi_protocols::dispatcher::Ending;
use ftmpi_protocols::event_log::ConnId;
use ftmpi_wire::{ImageNo, Incarnation};
use seen::{Seen, Traffic};
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::rc::Rc;

mod agents;
mod channels;
mod chaos;
mod cuts;
mod dispatch;
mod event;
mod files;
mod handle;
mod hosts;
mod memories;
mod migrations;
mod models;
mod outside;
mod processes;
mod rings;
mod seen;
mod servers;
mod setup;
pub mod shared;
mod standbys;
mod suspension;

use event::Event;
pub use event::{Item, News};
pub use files::SimDisk;
pub use setup::{Outcome, Setup};

thread_local! {
    static WORLD: Cell<*mut World> = const { Cell::new(std::ptr::null_mut()) };
}

/// Panics inside a simulation are results, not news: keeps them from the terminal.
pub fn quiet_panics() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if WORLD.with(Cell::get).is_null() {
            before(panic);
        }
    }));
}

/// Access to the world from inside a rank; what is allocated meanwhile is the world's.
pub fn with<T>(f: impl FnOnce(&mut World) -> T) -> T {
    let world = WORLD.with(Cell::get);
    assert!(!world.is_null(), "inside a simulation");
    // SAFETY: set for the length of `World::run`, which does not touch itself while a rank runs.
    // There is one thread, and `f` does not call back into a rank.
    outside(|| f(unsafe { &mut *world }))
}

/// The incarnations at the ends of a channel, the smaller one first.
type Ends = ((usize, Incarnation), (usize, Incarnation));

#[derive(Clone)]
struct Image {
    number: ImageNo,
    memory: Vec<u8>,
    committed: bool,
    /// What its state depends on, and what has gone over its channels.
    truth: Rc<Truth>,
    traffic: Traffic,
}

struct Process {
    arena: Arena,
    fiber: Option<Fiber>,
    incarnation: Incarnation,
    /// Where it runs, or where the one before it ran.
    host: usize,
    news: VecDeque<News>,
    images: Vec<Image>,
    /// Processes that have read one of them, by host.
    standbys: BTreeMap<usize, standbys::Standby>,
    due: Option<ImageNo>,
    /// It gives itself up because this image has less of its log than a peer needs.
    too_lean: Option<ImageNo>,
    /// When it is woken next, if nothing comes.
    wakes: Option<u64>,
    /// The waves whose images are kept in addition to the next one.
    kept: Option<Vec<ImageNo>>,
    /// The highest number of an image that was ever durable, and whether logs may have been cut.
    highest: ImageNo,
    start_given_up: bool,
    /// The agent knows that logs are cut at this image.
    cut_at: ImageNo,
    restored: bool,
    /// The incarnation that fetches its image, or tries one that is damaged.
    starting: Option<Incarnation>,
    /// It has reported that it is an orphan, and does nothing more.
    orphan: bool,
    /// It reports at once that its program is over; it has; all ranks have; it exits.
    hasty: bool,
    finalizing: bool,
    all_finalized: bool,
    exiting: bool,
    logger: Option<ConnId>,
    /// Its replay is over.
    caught_up: bool,
    /// The incarnations of the peers that it has a channel to.
    ways: BTreeMap<usize, (Incarnation, u64)>,
    digest: Option<u64>,
    /// When what was sent before a death stops arriving.
    cut: BTreeMap<Incarnation, u64>,
}

/// The world.
pub struct World {
    setup: Setup,
    random: u64,
    now: u64,
    order: u64,
    heap: BinaryHeap<Reverse<(u64, u64)>>,
    events: BTreeMap<u64, Event>,
    processes: Vec<Process>,
    last_arrival: BTreeMap<(usize, Incarnation, usize, Incarnation), u64>,
    /// Channels that are there, by a number that is never used again.
    channels: BTreeMap<Ends, u64>,
    /// Broken ones, and how many of their ends have not heard of it.
    broken: BTreeMap<Ends, u32>,
    waiting: Vec<((usize, Incarnation), (usize, Incarnation))>,
    /// Channels without room, and until when.
    full: BTreeMap<(usize, usize), u64>,
    /// Frames of which a part has left, by their ends: on which channel, and what they bring along.
    half: BTreeMap<(usize, usize), (u64, Rc<Truth>)>,
    logger: Loggers,
    rings: Vec<rings::Ring>,
    memories: Memories,
    /// Two hosts that do not reach each other.
    cut: Option<cuts::Cut>,
    /// What is drawn from the model.
    draws: Option<ftmpi_faults::Draws>,
    crashes_left: u32,
    /// The next failure kills two ranks at once: the rank that it hits, and the rank before it.
    with_neighbour: bool,
    dispatch: Dispatch,
    outside: outside::Outside,
    files: files::SimFiles,
    shared: shared::Shared,
    seen: Seen,
    outcome: Outcome,
}

/// A random number below `limit`.
fn below(random: &mut u64, limit: u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    (*random >> 11) % limit.max(1)
}

impl World {
    /// Runs a simulation to its end.
    ///
    /// # Errors
    /// What went wrong: a program that saw something wrong, a rank that gave up, a hang.
    pub fn run(setup: Setup) -> Result<Outcome, Fault> {
        setup.program.prepare();
        let mut random = setup.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x1234_5678_9ABC_DEF1;
        let dispatch = Dispatch::new(&setup, |limit| below(&mut random, limit));
        let mut world = Box::new(World {
            random,
            dispatch,
            now: 0,
            order: 0,
            heap: BinaryHeap::new(),
            events: BTreeMap::new(),
            processes: (0..setup.ranks)
                .map(|rank| Process {
                    arena: Arena::new(),
                    fiber: None,
                    incarnation: Incarnation(0),
                    host: setup.host_of(rank),
                    news: VecDeque::new(),
                    images: Vec::new(),
                    standbys: BTreeMap::new(),
                    due: None,
                    wakes: None,
                    kept: None,
                    highest: ImageNo(0),
                    start_given_up: false,
                    cut_at: ImageNo(0),
                    restored: false,
                    starting: None,
                    orphan: false,
                    too_lean: None,
                    hasty: false,
                    finalizing: false,
                    all_finalized: false,
                    exiting: false,
                    logger: None,
                    caught_up: true,
                    ways: BTreeMap::new(),
                    digest: None,
                    cut: BTreeMap::new(),
                })
                .collect(),
            last_arrival: BTreeMap::new(),
            channels: BTreeMap::new(),
            broken: BTreeMap::new(),
            waiting: Vec::new(),
            full: BTreeMap::new(),
            half: BTreeMap::new(),
            logger: Loggers::new(setup.variant.spread(), setup.promise, setup.mutant),
            rings: (0..setup.ranks).map(|_| rings::Ring::default()).collect(),
            memories: Memories::new(setup.memories.0, setup.mutant),
            cut: None,
            draws: None,
            crashes_left: setup.crashes,
            with_neighbour: false,
            outside: outside::Outside::default(),
            files: files::SimFiles::default(),
            shared: shared::Shared::default(),
            seen: Seen::of(&setup),
            outcome: Outcome {
                digests: Vec::new(),
                crashes: 0,
                images: 0,
                waves: 0,
                restored: 0,
                moved: 0,
                promoted: 0,
                orphans: 0,
                replayed: 0,
                events: 0,
                refused: false,
            },
            setup,
        });
        mark(0, || Mark::Begin(world.processes.len()));
        WORLD.with(|w| w.set(&raw mut *world));
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            Self::main_loop(&raw mut *world)
        }));
        WORLD.with(|w| w.set(std::ptr::null_mut()));
        match result {
            Ok(result) => result,
            Err(panic) => Err(Fault::of_panic(&*panic)),
        }
    }

    fn main_loop(this: *mut Self) -> Result<Outcome, Fault> {
        // SAFETY: the world lives in `run`. While a rank runs (`step`), no reference to it is held
        // here, and `with` makes its own.
        let world = unsafe { &mut *this };
        world.launch();
        world.plan_failures();
        world.plan_model();
        for events in 0..recovery_ends::EVENTS_MAX {
            // SAFETY: as above.
            let world = unsafe { &mut *this };
            if let Some((code, reason)) = world.dispatch.end.take() {
                if world.seen.refused.explains(code, reason.as_ref()) {
                    let mut outcome = world.outcome.clone();
                    (outcome.refused, outcome.events) = (true, events);
                    return Ok(outcome);
                }
                if code != 0 {
                    return Err(Fault::Ended { code, reason: reason.map(Box::new) });
                }
                let without_result = |process: &Process| process.digest.is_none();
                if let Some(rank) = world.processes.iter().position(without_result) {
                    return Err(Fault::Unended { rank });
                }
                if let Some(orphan) = no_orphan_left::find(&world.seen.dependencies) {
                    return Err(orphan);
                }
                let mut outcome = world.outcome.clone();
                outcome.orphans = world.seen.rolled_back;
                outcome.moved = world.moved();
                outcome.events = events;
                outcome.digests =
                    world.processes.iter().filter_map(|process| process.digest).collect();
                return Ok(outcome);
            }
            let Some(Reverse((time, order))) = world.heap.pop() else {
                return Err(Fault::Stuck(world.describe()));
            };
            world.now = time;
            let event = world.events.remove(&order).expect("an event is handled once");
            if let Some(rank) = world.handle(event) {
                Self::step(this, rank);
            }
        }
        // SAFETY: as above.
        Err(Fault::Endless(unsafe { &*this }.describe()))
    }

    fn describe(&self) -> String {
        let state = |process: &Process| match (process.fiber.is_some(), process.digest.is_some()) {
            (_, true) => "over",
            (true, _) => "waits",
            (false, _) => "dead",
        };
        let states: Vec<_> = self.processes.iter().map(state).collect();
        format!("at {} ranks are {states:?}", self.now)
    }

    /// Lets a rank run until it pauses.
    fn step(this: *mut Self, rank: usize) {
        // SAFETY: as in `main_loop`: the references end before the rank runs.
        let (fiber, arena) = {
            // SAFETY: as above.
            let world = unsafe { &mut *this };
            let Some(fiber) = world.processes[rank].fiber else { return };
            (fiber, &raw const world.processes[rank].arena)
        };
        // SAFETY: arenas are not moved or dropped while the world runs.
        let pause = fiber.step(unsafe { &*arena });
        // SAFETY: the rank has paused.
        let world = unsafe { &mut *this };
        let incarnation = world.processes[rank].incarnation;
        match pause {
            Pause::Rest => {
                let delay = 40 + world.below(100);
                if world.processes[rank].news.is_empty() {
                    // It is woken when something comes; a last resort finds what is missing.
                    world.wake(rank, 2000 + delay);
                } else {
                    world.wake(rank, 1);
                }
            }
            Pause::Relax => {
                let delay = 1 + world.below(40);
                world.wake(rank, delay);
            }
            Pause::Image => {
                let (truth, traffic) = world.seen_in_image(rank);
                let process = &mut world.processes[rank];
                let number = process.due.take().expect("an image was due");
                let memory = process.arena.image();
                process.images.push(Image { number, memory, committed: false, truth, traffic });
                let delay = world.below(400);
                world.note(|| format!("rank {rank} takes image {number}"));
                mark(world.now, || Mark::Image(rank, number));
                world.after(delay, Event::Commit(rank, incarnation, number));
                world.after(1, Event::Wake(rank, incarnation));
            }
            Pause::Die => {
                world.crash(rank);
                if world.below(4) == 0 {
                    let other = world.below(world.processes.len() as u64) as usize;
                    world.crash(other);
                }
                let ranks = world.processes.len();
                if std::mem::take(&mut world.with_neighbour) {
                    world.crash((rank + ranks - 1) % ranks);
                }
                if world.setup.together {
                    (0..ranks).for_each(|other| world.crash(other));
                }
            }
            Pause::RollBack => world.is_orphan(rank),
            Pause::Over => {
                world.exits(rank);
                world.ended(rank, incarnation, Ending::Code(0));
            }
        }
    }

    fn note(&self, text: impl FnOnce() -> String) {
        if self.setup.trace {
            println!("{:>8} {}", self.now, text());
        }
    }

    /// A random number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        below(&mut self.random, limit)
    }

    fn after(&mut self, delay: u64, event: Event) {
        self.order += 1;
        self.heap.push(Reverse((self.now + delay, self.order)));
        self.events.insert(self.order, event);
    }

    /// Lets a rank run later, although other things may come first.
    fn wake(&mut self, rank: usize, delay: u64) {
        // Each event for the rank lets it run as well, and each time it asks to be woken again. A
        // program that looks again and again would do so ever more often, until a run has too many
        // events.
        let at = self.now + delay;
        let process = &mut self.processes[rank];
        if process.wakes.is_some_and(|known| known > self.now && known <= at) {
            return;
        }
        process.wakes = Some(at);
        self.after(delay, Event::Wake(rank, self.processes[rank].incarnation));
    }

    fn is_alive(&self, (rank, incarnation): (usize, Incarnation)) -> bool {
        self.processes[rank].fiber.is_some() && self.processes[rank].incarnation == incarnation
    }
}
