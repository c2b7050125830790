//! The simulated world: a heap of events, channels, failures, images, the logger.

use crate::arena::{Arena, outside};
use crate::choice::Choice;
use crate::fiber::{Fiber, Pause};
use crate::invariants::dependencies::Truth;
use crate::invariants::{no_orphan_left, recovery_ends};
use crate::loggers::{Loggers, Told};
use crate::memory::Memories;
use crate::mutants::Mutant;
use crate::picture::{Mark, mark};
use crate::programs::Program;
use ftmpi_protocols::event_log::{ConnId, Promise};
use ftmpi_wire::{EventNo, Header, ImageNo, Incarnation, Rank, event_log};
use seen::{Seen, Traffic};
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::rc::Rc;

mod channels;
mod lives;
mod memories;
mod outside;
mod seen;
mod servers;
mod waves;

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
    // SAFETY: set for the length of `World::run`, which does not touch itself while a rank runs;
    // one thread, and `f` does not call back into a rank.
    outside(|| f(unsafe { &mut *world }))
}

/// What is to be simulated.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Which protocol.
    pub choice: Choice,
    /// The cluster of each rank, where images are taken in waves.
    pub clusters: Vec<u32>,
    /// Everything random comes from this.
    pub seed: u64,
    /// Number of ranks.
    pub ranks: usize,
    /// What they run.
    pub program: Program,
    /// Every reception is logged.
    pub all_events: bool,
    /// Every crash is one of all ranks at once.
    pub together: bool,
    /// How many crashes there will be.
    pub crashes: u32,
    /// The logger takes its time.
    pub slow_logger: bool,
    /// How often the logger dies and starts again from its files.
    pub logger_deaths: u32,
    /// At a quiet moment the logger's computer loses power.
    pub power_loss: bool,
    /// How often the whole job loses power: all ranks and all loggers at once.
    pub outages: u32,
    /// Loggers acknowledge what is durable, not what is written.
    pub promise: Promise,
    /// How many channel memories there are, where the protocol has them, and how often one dies.
    pub memories: (usize, u32),
    /// How often a channel breaks whose ends live on.
    pub breaks: u32,
    /// A deliberate bug.
    pub mutant: Option<Mutant>,
    /// Print what happens.
    pub trace: bool,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// What each program returned.
    pub digests: Vec<u64>,
    /// Crashes that took place.
    pub crashes: u32,
    /// Images that were committed.
    pub images: u64,
    /// Waves that were complete.
    pub waves: u64,
    /// Lives that began from an image.
    pub restored: u32,
    /// Lives that were rolled back.
    pub orphans: u64,
    /// Determinants that were replayed.
    pub replayed: u64,
    /// Events of the simulation.
    pub events: u64,
}

/// Something that comes over a channel.
#[derive(Debug)]
pub enum Item {
    /// A frame.
    #[allow(missing_docs)]
    Frame { header: Header, payload: Vec<u8>, truth: Rc<Truth> },
    /// A frame of whose payload half is there.
    #[allow(missing_docs)]
    First { header: Header, payload: Vec<u8>, truth: Rc<Truth> },
    /// The other half.
    #[allow(missing_docs)]
    Rest { payload: Vec<u8>, truth: Rc<Truth> },
}

/// Something that a rank's next poll finds.
#[derive(Debug)]
pub enum News {
    /// A channel.
    Channel(Rank, Incarnation, u64),
    /// The channel to this life of a peer broke, and both live.
    Lost(Rank, Incarnation),
    /// A peer's new life.
    Restarted(Rank, Incarnation),
    /// A connection to the logger.
    LoggerUp(ConnId),
    /// It is gone.
    LoggerLost,
    /// A frame of the logger.
    Log(ConnId, event_log::Frame),
    /// What its host was told by the loggers of others.
    Clocks(Vec<(Rank, EventNo)>),
    /// An image is stable.
    Committed(ImageNo, ImageNo),
    /// An image was lost or will not be taken.
    ImageFailed(ImageNo),
    /// From a channel.
    Item(Rank, Incarnation, Item),
}

#[derive(Debug)]
enum Event {
    /// For this life of a rank.
    News(usize, Incarnation, News),
    /// Something on the channel between these lives.
    Arrive {
        from: (usize, Incarnation),
        to: (usize, Incarnation),
        way: u64,
        item: Item,
    },
    Open {
        a: (usize, Incarnation),
        b: (usize, Incarnation),
    },
    Wake(usize, Incarnation),
    Start(usize),
    Crash,
    AskImage,
    Commit(usize, Incarnation, ImageNo),
    /// A frame reaches the logger.
    AtLogger(usize, ConnId, event_log::Frame),
    LoggerOpens(usize, Incarnation),
    LoggerWrites,
    LoggerSyncs(usize),
    /// Loggers tell each other, or the hosts.
    Told(Told),
    LoggerDies,
    /// A frame reaches a channel memory, or a rank from it.
    AtMemory(ConnId, Header, Vec<u8>),
    FromMemory(ConnId, Item),
    MemoriesWrite,
    MemoryDies,
    MemoryHearsEnd(ConnId),
    PowerLoss,
    /// Everything loses power.
    Outage,
    ChannelBreaks,
    /// A wave is to begin at this rank.
    Order(usize, Incarnation, ImageNo),
    /// The dispatcher knows of a failure in a cluster.
    RollBack(usize),
    /// An old life is to end.
    Kill(usize, Incarnation),
    /// A new life begins, if this is still the same return of its cluster.
    Return(usize, u64),
}

/// The lives at the ends of a channel, the smaller one first.
type Ends = ((usize, Incarnation), (usize, Incarnation));

struct Image {
    number: ImageNo,
    memory: Vec<u8>,
    committed: bool,
    /// What its state depends on, and what has gone over its channels.
    truth: Rc<Truth>,
    traffic: Traffic,
}

struct Life {
    arena: Arena,
    fiber: Option<Fiber>,
    incarnation: Incarnation,
    news: VecDeque<News>,
    images: Vec<Image>,
    last_image: u64,
    /// Two images have been offered: the start of the program is not, any more.
    start_gone: bool,
    due: Option<ImageNo>,
    restored: bool,
    logger: Option<ConnId>,
    /// Its replay is over.
    caught_up: bool,
    /// The lives of the peers that it has a channel to.
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
    lives: Vec<Life>,
    last_arrival: BTreeMap<(usize, Incarnation, usize, Incarnation), u64>,
    /// Channels that are there, by a number that is never used again.
    channels: BTreeMap<Ends, u64>,
    /// Broken ones, and how many of their ends have not heard of it.
    broken: BTreeMap<Ends, u32>,
    waiting: Vec<((usize, Incarnation), (usize, Incarnation))>,
    logger: Loggers,
    memories: Memories,
    crashes_left: u32,
    /// Whoever dies next takes the rank before it along.
    with_neighbour: bool,
    /// The ranks that return together; none, if each does on its own.
    clusters: Vec<waves::Cluster>,
    outside: outside::Outside,
    seen: Seen,
    outcome: Outcome,
}

impl World {
    /// Runs a simulation to its end.
    ///
    /// # Errors
    /// What went wrong: a program that saw something wrong, a rank that gave up, a hang.
    pub fn run(setup: Setup) -> Result<Outcome, String> {
        let mut world = Box::new(World {
            random: setup.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x1234_5678_9ABC_DEF1,
            now: 0,
            order: 0,
            heap: BinaryHeap::new(),
            events: BTreeMap::new(),
            lives: (0..setup.ranks)
                .map(|_| Life {
                    arena: Arena::new(),
                    fiber: None,
                    incarnation: Incarnation(0),
                    news: VecDeque::new(),
                    images: Vec::new(),
                    last_image: 0,
                    start_gone: false,
                    due: None,
                    restored: false,
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
            logger: Loggers::new(setup.choice.spread(), setup.promise, setup.mutant),
            memories: Memories::new(setup.memories.0, setup.mutant),
            crashes_left: setup.crashes,
            with_neighbour: false,
            clusters: waves::clusters(&setup),
            outside: outside::Outside::default(),
            seen: Seen::default(),
            outcome: Outcome {
                digests: Vec::new(),
                crashes: 0,
                images: 0,
                waves: 0,
                restored: 0,
                orphans: 0,
                replayed: 0,
                events: 0,
            },
            setup,
        });
        mark(0, || Mark::Begin(world.lives.len()));
        WORLD.with(|w| w.set(&raw mut *world));
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            Self::main_loop(&raw mut *world)
        }));
        WORLD.with(|w| w.set(std::ptr::null_mut()));
        match result {
            Ok(result) => result,
            Err(panic) => Err(panic
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()))
                .unwrap_or_else(|| "a panic".to_owned())),
        }
    }

    fn main_loop(this: *mut Self) -> Result<Outcome, String> {
        // SAFETY: the world lives in `run`. While a rank runs (`step`), no reference to it is held
        // here, and `with` makes its own.
        let world = unsafe { &mut *this };
        let ranks = world.lives.len();
        for rank in 0..ranks {
            let delay = world.below(200);
            let start = if world.in_waves() { Event::Return(rank, 0) } else { Event::Start(rank) };
            world.after(delay, start);
        }
        if world.crashes_left > 0 {
            let delay = world.below(3000);
            world.after(delay, Event::Crash);
        }
        let delay = 100 + world.below(600);
        world.after(delay, Event::AskImage);
        for _ in 0..world.setup.logger_deaths {
            let delay = world.below(6000);
            world.after(delay, Event::LoggerDies);
        }
        for _ in 0..world.setup.memories.1 {
            let delay = world.below(6000);
            world.after(delay, Event::MemoryDies);
        }
        for _ in 0..world.setup.breaks {
            let delay = world.below(6000);
            world.after(delay, Event::ChannelBreaks);
        }
        for _ in 0..world.setup.outages {
            let delay = world.below(6000);
            world.after(delay, Event::Outage);
        }
        if world.setup.power_loss {
            let delay = world.below(5000);
            world.after(delay, Event::PowerLoss);
        }
        let mut patience = no_orphan_left::EVENTS_MAX;
        for events in 0..recovery_ends::EVENTS_MAX {
            // SAFETY: as above.
            let world = unsafe { &mut *this };
            if world.crashes_left == 0
                && !world.is_rolling()
                && world.lives.iter().all(|life| life.digest.is_some())
            {
                if let Some(orphan) = no_orphan_left::find(&world.seen.dependencies) {
                    // It may not have heard yet.
                    patience -= 1;
                    if patience == 0 {
                        return Err(orphan);
                    }
                } else {
                    let mut outcome = world.outcome.clone();
                    outcome.orphans = world.seen.rolled_back;
                    outcome.events = events;
                    outcome.digests = world.lives.iter().filter_map(|life| life.digest).collect();
                    return Ok(outcome);
                }
            }
            let Some(Reverse((time, order))) = world.heap.pop() else {
                return Err(recovery_ends::stuck(&world.describe()));
            };
            world.now = time;
            let event = world.events.remove(&order).expect("an event is handled once");
            if let Some(rank) = world.handle(event) {
                Self::step(this, rank);
            }
        }
        // SAFETY: as above.
        Err(recovery_ends::endless(&unsafe { &*this }.describe()))
    }

    fn describe(&self) -> String {
        let state = |life: &Life| match (life.fiber.is_some(), life.digest.is_some()) {
            (_, true) => "over",
            (true, _) => "waits",
            (false, _) => "dead",
        };
        let states: Vec<_> = self.lives.iter().map(state).collect();
        format!("at {} ranks are {states:?}", self.now)
    }

    /// Lets a rank run until it pauses.
    fn step(this: *mut Self, rank: usize) {
        // SAFETY: as in `main_loop`: the references end before the rank runs.
        let (fiber, arena) = {
            // SAFETY: as above.
            let world = unsafe { &mut *this };
            let Some(fiber) = world.lives[rank].fiber else { return };
            (fiber, &raw const world.lives[rank].arena)
        };
        // SAFETY: arenas are not moved or dropped while the world runs.
        let pause = fiber.step(unsafe { &*arena });
        // SAFETY: the rank has paused.
        let world = unsafe { &mut *this };
        let incarnation = world.lives[rank].incarnation;
        match pause {
            Pause::Rest => {
                let delay = 40 + world.below(100);
                if world.lives[rank].news.is_empty() {
                    // It is woken when something comes; a last resort finds what is missing.
                    world.after(2000 + delay, Event::Wake(rank, incarnation));
                } else {
                    world.after(1, Event::Wake(rank, incarnation));
                }
            }
            Pause::Relax => {
                let delay = 1 + world.below(40);
                world.after(delay, Event::Wake(rank, incarnation));
            }
            Pause::Image => {
                let (truth, traffic) = world.seen_in_image(rank);
                let life = &mut world.lives[rank];
                let number = life.due.take().expect("an image was due");
                life.last_image = life.last_image.max(number.0);
                let memory = life.arena.image();
                life.images.push(Image { number, memory, committed: false, truth, traffic });
                let delay = world.below(400);
                world.note(|| format!("rank {rank} takes image {number}"));
                mark(world.now, || Mark::Image(rank, number));
                world.after(delay, Event::Commit(rank, incarnation, number));
                world.after(1, Event::Wake(rank, incarnation));
            }
            Pause::Die => {
                world.crash(rank);
                if world.below(4) == 0 {
                    let other = world.below(world.lives.len() as u64) as usize;
                    world.crash(other);
                }
                let ranks = world.lives.len();
                if std::mem::take(&mut world.with_neighbour) {
                    world.crash((rank + ranks - 1) % ranks);
                }
                if world.setup.together {
                    (0..ranks).for_each(|other| world.crash(other));
                }
            }
            Pause::RollBack => world.end_orphan(rank),
            Pause::Over => world.lives[rank].fiber = None,
        }
    }

    fn note(&self, text: impl FnOnce() -> String) {
        if self.setup.trace {
            println!("{:>8} {}", self.now, text());
        }
    }

    /// A random number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) % limit.max(1)
    }

    fn after(&mut self, delay: u64, event: Event) {
        self.order += 1;
        self.heap.push(Reverse((self.now + delay, self.order)));
        self.events.insert(self.order, event);
    }

    fn is_alive(&self, (rank, incarnation): (usize, Incarnation)) -> bool {
        self.lives[rank].fiber.is_some() && self.lives[rank].incarnation == incarnation
    }

    /// Does what an event says; the rank that runs next, if one does.
    fn handle(&mut self, event: Event) -> Option<usize> {
        match event {
            Event::Wake(rank, incarnation) => self.is_alive((rank, incarnation)).then_some(rank),
            Event::News(rank, incarnation, news) => {
                if !self.is_alive((rank, incarnation)) {
                    return None;
                }
                self.lives[rank].news.push_back(news);
                Some(rank)
            }
            Event::Arrive { from, to, way, item } => {
                if self.channels.get(&(from.min(to), from.max(to))) != Some(&way) {
                    // It broke meanwhile.
                    return None;
                }
                let cut = self.lives[from.0].cut.get(&from.1).copied().unwrap_or(u64::MAX);
                if !self.is_alive(to)
                    || (self.now > cut && self.setup.mutant != Some(Mutant::IncarnationNotChecked))
                {
                    return None;
                }
                self.lives[to.0].news.push_back(News::Item(Rank(from.0 as u32), from.1, item));
                Some(to.0)
            }
            Event::Open { a, b } => {
                if self.has_memories() {
                    self.memory_opens(a, b.0);
                } else {
                    self.connect(a, b);
                }
                None
            }
            Event::AtMemory(conn, header, payload) => {
                self.at_memory(conn, header, payload);
                None
            }
            Event::FromMemory(conn, item) => self.memory_says(conn, item),
            Event::MemoriesWrite => {
                self.memories.write();
                self.memories_speak();
                None
            }
            Event::MemoryDies => {
                self.memory_dies();
                None
            }
            Event::MemoryHearsEnd(conn) => {
                self.memories.lost(conn);
                None
            }
            Event::Start(rank) => {
                self.start(rank);
                Some(rank)
            }
            Event::Crash => {
                if self.lives.iter().all(|life| life.fiber.is_none() && life.digest.is_some()) {
                    self.crashes_left = 0;
                }
                if self.crashes_left > 0 {
                    let rank = self.below(self.lives.len() as u64) as usize;
                    let all = self.below(12) == 0 || self.setup.together;
                    let two = self.below(6) == 0;
                    let count = if all { self.lives.len() } else { 1 + usize::from(two) };
                    for k in 0..count {
                        self.crash((rank + k) % self.lives.len());
                    }
                    let delay = self.below(4000);
                    self.after(delay, Event::Crash);
                }
                None
            }
            Event::AskImage if self.in_waves() => {
                self.ask_wave();
                let delay = 50 + self.below(900);
                self.after(delay, Event::AskImage);
                None
            }
            Event::Order(rank, incarnation, wave) => {
                if !self.is_alive((rank, incarnation)) {
                    return None;
                }
                self.order(rank, wave);
                Some(rank)
            }
            Event::RollBack(cluster) => {
                self.roll_back(cluster);
                None
            }
            Event::Kill(rank, incarnation) => {
                self.kill(rank, incarnation);
                None
            }
            Event::Return(rank, round) => {
                if self.round_of(rank) != round {
                    return None;
                }
                self.start(rank);
                Some(rank)
            }
            Event::AskImage => {
                let rank = self.below(self.lives.len() as u64) as usize;
                let life = &mut self.lives[rank];
                if life.fiber.is_some() && life.due.is_none() {
                    let number = ImageNo(life.last_image + 1);
                    life.due = Some(number);
                }
                let delay = 50 + self.below(500);
                self.after(delay, Event::AskImage);
                None
            }
            Event::Commit(rank, incarnation, number) if self.in_waves() => {
                self.wave_commit(rank, incarnation, number);
                None
            }
            Event::Commit(rank, incarnation, number) => {
                let life = &mut self.lives[rank];
                // A late image of a dead life is refused.
                let late = life.incarnation != incarnation || life.fiber.is_none();
                if late {
                    life.images.retain(|image| image.number != number);
                    return None;
                }
                if !life.images.iter().any(|image| image.number == number) {
                    return None;
                }
                self.loggers_sync_for_an_image();
                self.outcome.images += 1;
                let life = &mut self.lives[rank];
                for image in &mut life.images {
                    image.committed |= image.number == number;
                }
                let committed: Vec<_> =
                    life.images.iter().filter(|i| i.committed).map(|i| i.number).collect();
                let oldest = committed[committed.len().saturating_sub(2)];
                life.images.retain(|image| image.number >= oldest);
                // Before there are two, the start of the program is one of those offered.
                if committed.len() >= 2 {
                    life.start_gone = true;
                    let news = News::Committed(number, oldest);
                    let delay = self.below(200);
                    self.after(delay, Event::News(rank, incarnation, news));
                }
                None
            }
            Event::AtLogger(rank, conn, frame) => {
                self.at_logger(rank, conn, frame);
                None
            }
            Event::LoggerOpens(rank, incarnation) => {
                self.logger_opens(rank, incarnation);
                None
            }
            Event::LoggerWrites => {
                let answers = self.logger.write();
                self.deliver_log(answers);
                self.spread_clocks();
                None
            }
            Event::LoggerSyncs(logger) => {
                // All logs of one logger at one instant, but each logger in its own time.
                let answers = self.logger.sync_one(logger);
                self.deliver_log(answers);
                self.spread_clocks();
                None
            }
            Event::Told(told) => {
                self.clocks_told(told);
                None
            }
            Event::LoggerDies => {
                self.logger_dies(false);
                None
            }
            Event::ChannelBreaks => {
                if self.has_memories() {
                    self.memory_connection_breaks();
                } else {
                    self.channel_breaks();
                }
                None
            }
            Event::Outage => {
                self.outage();
                None
            }
            Event::PowerLoss => {
                // Only while nobody needs what would be lost.
                if self.crashes_left == 0
                    && self.lives.iter().all(|life| life.fiber.is_some() && life.caught_up)
                {
                    self.logger_dies(true);
                } else {
                    self.after(200, Event::PowerLoss);
                }
                None
            }
        }
    }
}
