//! The simulated world: a heap of events, channels, failures, images, the logger.

use crate::arena::{Arena, outside};
use crate::fiber::{Fiber, Pause, Stop};
use crate::link::SimLink;
use crate::logger::{Answer, Logger};
use crate::mutants::Mutant;
use crate::programs::Program;
use ftmpi_core::engine::Engine;
use ftmpi_protocols::event_log::ConnId;
use ftmpi_wire::{Header, ImageNo, Incarnation, Rank, event_log};
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

thread_local! {
    static WORLD: Cell<*mut World> = const { Cell::new(std::ptr::null_mut()) };
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
    /// Everything random comes from this.
    pub seed: u64,
    /// Number of ranks.
    pub ranks: usize,
    /// What they run.
    pub program: Program,
    /// Every reception is logged.
    pub all_events: bool,
    /// How many crashes there will be.
    pub crashes: u32,
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
    /// Lives that began from an image.
    pub restored: u32,
    /// Determinants that were replayed.
    pub replayed: u64,
}

/// Something that comes over a channel.
#[derive(Debug)]
pub enum Item {
    /// A frame.
    Frame { header: Header, payload: Vec<u8> },
    /// A frame of whose payload half is there.
    First { header: Header, payload: Vec<u8> },
    /// The other half.
    Rest { payload: Vec<u8> },
}

/// Something that a rank's next poll finds.
#[derive(Debug)]
pub enum News {
    /// A channel.
    Channel(Rank, Incarnation),
    /// A peer's new life.
    Restarted(Rank, Incarnation),
    /// A connection to the logger.
    LoggerUp(ConnId),
    /// It is gone.
    LoggerLost,
    /// A frame of the logger.
    Log(event_log::Frame),
    /// An image is stable.
    Committed(ImageNo, ImageNo),
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
    LoggerDies,
}

struct Image {
    number: ImageNo,
    memory: Vec<u8>,
    committed: bool,
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
    /// The lives of the peers that it has a channel to.
    ways: BTreeMap<usize, Incarnation>,
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
    channels: BTreeMap<((usize, Incarnation), (usize, Incarnation)), bool>,
    waiting: Vec<((usize, Incarnation), (usize, Incarnation))>,
    logger: Logger,
    crashes_left: u32,
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
                    ways: BTreeMap::new(),
                    digest: None,
                    cut: BTreeMap::new(),
                })
                .collect(),
            last_arrival: BTreeMap::new(),
            channels: BTreeMap::new(),
            waiting: Vec::new(),
            logger: Logger::default(),
            crashes_left: setup.crashes,
            outcome: Outcome {
                digests: Vec::new(),
                crashes: 0,
                images: 0,
                restored: 0,
                replayed: 0,
            },
            setup,
        });
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
            world.after(delay, Event::Start(rank));
        }
        if world.crashes_left > 0 {
            let delay = world.below(3000);
            world.after(delay, Event::Crash);
        }
        let delay = 100 + world.below(600);
        world.after(delay, Event::AskImage);
        if world.below(3) == 0 {
            let delay = world.below(3000);
            world.after(delay, Event::LoggerDies);
        }
        for _ in 0..4_000_000u64 {
            // SAFETY: as above.
            let world = unsafe { &mut *this };
            if world.crashes_left == 0 && world.lives.iter().all(|life| life.digest.is_some()) {
                let mut outcome = world.outcome.clone();
                outcome.digests = world.lives.iter().filter_map(|life| life.digest).collect();
                return Ok(outcome);
            }
            let Some(Reverse((time, order))) = world.heap.pop() else {
                return Err(format!("hang: nothing happens any more; {}", world.describe()));
            };
            world.now = time;
            let event = world.events.remove(&order).expect("an event is handled once");
            if let Some(rank) = world.handle(event) {
                Self::step(this, rank);
            }
        }
        // SAFETY: as above.
        Err(format!("hang: too many events; {}", unsafe { &*this }.describe()))
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
                let life = &mut world.lives[rank];
                let number = life.due.take().expect("an image was due");
                life.last_image = life.last_image.max(number.0);
                let memory = life.arena.image();
                life.images.push(Image { number, memory, committed: false });
                let delay = world.below(400);
                world.note(|| format!("rank {rank} takes image {number}"));
                world.after(delay, Event::Commit(rank, incarnation, number));
                world.after(1, Event::Wake(rank, incarnation));
            }
            Pause::Die => world.crash(rank),
            Pause::Over => unreachable!("a rank serves its log until the end"),
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
            Event::Arrive { from, to, item } => {
                let cut = self.lives[from.0].cut.get(&from.1).copied().unwrap_or(u64::MAX);
                if !self.is_alive(to) || self.now > cut {
                    return None;
                }
                self.lives[to.0].news.push_back(News::Item(Rank(from.0 as u32), from.1, item));
                Some(to.0)
            }
            Event::Open { a, b } => {
                self.connect(a, b);
                None
            }
            Event::Start(rank) => {
                self.start(rank);
                Some(rank)
            }
            Event::Crash => {
                if self.crashes_left > 0 {
                    let rank = self.below(self.lives.len() as u64) as usize;
                    let all = self.below(12) == 0;
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
            Event::Commit(rank, incarnation, number) => {
                let life = &mut self.lives[rank];
                // A late image of a dead life is refused.
                if life.incarnation != incarnation || life.fiber.is_none() {
                    life.images.retain(|image| image.number != number);
                    return None;
                }
                self.outcome.images += 1;
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
                self.note(|| format!("logger gets from rank {rank}: {frame:?}"));
                let answers = self.logger.frame(conn, frame);
                self.deliver_log(answers);
                None
            }
            Event::LoggerOpens(rank, incarnation) => {
                if self.is_alive((rank, incarnation)) {
                    let (conn, answers) = self.logger.connect(Rank(rank as u32), incarnation);
                    self.after(1, Event::News(rank, incarnation, News::LoggerUp(conn)));
                    self.deliver_log(answers);
                }
                None
            }
            Event::LoggerDies => {
                // Its file stays; every connection is lost, with what is under way on it.
                for rank in 0..self.lives.len() {
                    if let Some(conn) = self.lives[rank].logger.take() {
                        let answers = self.logger.lost(conn);
                        self.deliver_log(answers);
                        let incarnation = self.lives[rank].incarnation;
                        self.after(1, Event::News(rank, incarnation, News::LoggerLost));
                    }
                }
                None
            }
        }
    }

    fn deliver_log(&mut self, answers: Vec<Answer>) {
        for Answer { rank, incarnation, frame } in answers {
            let rank = rank.index();
            if self.lives[rank].incarnation != incarnation {
                continue;
            }
            let Some(frame) = frame else {
                self.note(|| format!("logger closes the connection of rank {rank}"));
                self.lives[rank].logger = None;
                let at = self.fifo((usize::MAX, Incarnation(0), rank, incarnation), 60);
                self.after(at, Event::News(rank, incarnation, News::LoggerLost));
                continue;
            };
            self.note(|| format!("logger tells rank {rank}: {frame:?}"));
            let key = (usize::MAX, Incarnation(0), rank, incarnation);
            let at = self.fifo(key, 60);
            self.after(at, Event::News(rank, incarnation, News::Log(frame)));
        }
    }

    /// A delay that keeps the order of a channel.
    fn fifo(&mut self, key: (usize, Incarnation, usize, Incarnation), spread: u64) -> u64 {
        let slow = if self.below(20) == 0 { 20 } else { 1 };
        let at = self.now + 1 + self.below(spread * slow);
        let last = self.last_arrival.entry(key).or_insert(0);
        *last = at.max(*last);
        *last - self.now
    }

    fn start(&mut self, rank: usize) {
        let choice = self.below(8);
        let setup = self.setup.clone();
        let life = &mut self.lives[rank];
        life.news.clear();
        life.due = None;
        life.logger = None;
        life.ways.clear();
        life.digest = None;
        // The newest image, or now and then the one before it, as if the newest were damaged.
        let offered: Vec<_> = life.images.iter().filter(|i| i.committed).collect();
        let image = match (offered.len(), choice) {
            (0, _) => None,
            (1, 0) if !life.start_gone => None,
            (count, 0) if count > 1 => Some(offered[count - 2]),
            (count, _) => Some(offered[count - 1]),
        };
        life.restored = image.is_some();
        if let Some(image) = image {
            let (number, memory) = (image.number, image.memory.clone());
            life.arena.restore(&memory);
            let fiber = self.fibers_of(rank);
            self.lives[rank].fiber = Some(fiber);
            // A damaged newer one is gone.
            self.lives[rank].images.retain(|i| i.number <= number);
            self.outcome.restored += 1;
            self.note(|| format!("rank {rank} lives again from image {number}"));
        } else {
            life.images.clear();
            life.arena.clear();
            let incarnations: Vec<_> = self.lives.iter().map(|l| l.incarnation).collect();
            let arena = &self.lives[rank].arena;
            let fiber = Fiber::new(arena, move |stop| body(rank, stop, &setup, &incarnations));
            self.lives[rank].fiber = Some(fiber);
            FIBERS
                .with(|f| f.borrow_mut().insert((std::ptr::from_ref(self) as usize, rank), fiber));
            self.note(|| format!("rank {rank} starts"));
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

    fn crash(&mut self, rank: usize) {
        if self.lives[rank].fiber.is_none() || self.crashes_left == 0 {
            return;
        }
        self.crashes_left -= 1;
        self.outcome.crashes += 1;
        self.note(|| format!("rank {rank} dies"));
        let cut = self.now + self.below(300);
        let life = &mut self.lives[rank];
        life.fiber = None;
        life.digest = None;
        life.cut.insert(life.incarnation, cut);
        life.incarnation = life.incarnation.next();
        let incarnation = life.incarnation;
        if let Some(conn) = life.logger.take() {
            let answers = self.logger.lost(conn);
            self.deliver_log(answers);
        }
        let delay = self.below(800);
        self.after(delay, Event::Start(rank));
        for other in 0..self.lives.len() {
            if other != rank {
                // Tell it when what the dead life sent can no longer come: the link ends its
                // channels with the news.
                let delay = cut - self.now + 1 + self.below(500);
                let life = self.lives[other].incarnation;
                let news = News::Restarted(Rank(rank as u32), incarnation);
                self.after(delay, Event::News(other, life, news));
            }
        }
    }

    fn connect(&mut self, a: (usize, Incarnation), b: (usize, Incarnation)) {
        let key = (a.min(b), a.max(b));
        let current = |w: &Self, x: (usize, Incarnation)| w.lives[x.0].incarnation == x.1;
        if !current(self, a) || !current(self, b) || self.channels.contains_key(&key) {
            return;
        }
        if self.is_alive(a) && self.is_alive(b) {
            self.channels.insert(key, true);
            for (x, y) in [(a, b), (b, a)] {
                let delay = 1 + self.below(50);
                let key = (y.0, y.1, x.0, x.1);
                let at = self.now + delay;
                self.last_arrival.insert(key, at + 1);
                self.after(delay, Event::News(x.0, x.1, News::Channel(Rank(y.0 as u32), y.1)));
            }
        } else {
            self.waiting.push((a, b));
        }
    }

    // What a rank's link asks for.

    /// Now and then a channel has no room.
    pub fn refuses_push(&mut self) -> bool {
        self.below(12) == 0
    }

    /// A frame leaves.
    pub fn send(&mut self, from: usize, to: usize, header: Header, payload: Vec<u8>) {
        let a = (from, self.lives[from].incarnation);
        let Some(&incarnation) = self.lives[from].ways.get(&to) else { return };
        let b = (to, incarnation);
        self.note(|| {
            let Header { kind, context, tag, len, ssn, .. } = header;
            format!(
                "rank {from} sends rank {to} {kind:?} {ssn} context {context} tag {tag} len {len}"
            )
        });
        let key = (a.0, a.1, b.0, b.1);
        let split = payload.len() > 16 && self.below(3) == 0;
        let at = self.fifo(key, 50);
        if split {
            let whole = payload.clone();
            self.after(at, Event::Arrive { from: a, to: b, item: Item::First { header, payload } });
            let at = self.fifo(key, 200);
            let item = Item::Rest { payload: whole };
            self.after(at, Event::Arrive { from: a, to: b, item });
        } else {
            self.after(at, Event::Arrive { from: a, to: b, item: Item::Frame { header, payload } });
        }
    }

    /// A channel is wanted.
    pub fn open(&mut self, from: usize, to: usize, incarnation: Incarnation) {
        let a = (from, self.lives[from].incarnation);
        let delay = 1 + self.below(100);
        self.after(delay, Event::Open { a, b: (to, incarnation) });
    }

    /// What has come.
    pub fn next_news(&mut self, rank: usize) -> Option<News> {
        let news = self.lives[rank].news.pop_front();
        match &news {
            Some(News::Item(from, _, Item::Frame { header, .. } | Item::First { header, .. })) => {
                self.note(|| {
                    format!("rank {rank} gets {:?} {} of {from}", header.kind, header.ssn)
                });
            }
            Some(other) => self.note(|| format!("rank {rank} hears {}", name_of(other))),
            None => {}
        }
        if let Some(News::LoggerUp(conn)) = &news {
            self.lives[rank].logger = Some(*conn);
        }
        if let Some(News::Channel(peer, incarnation)) = &news {
            self.lives[rank].ways.insert(peer.index(), *incarnation);
        }
        news
    }

    /// A frame to the logger.
    pub fn log(&mut self, rank: usize, frame: event_log::Frame) {
        let Some(conn) = self.lives[rank].logger else { return };
        let incarnation = self.lives[rank].incarnation;
        let at = self.fifo((rank, incarnation, usize::MAX, Incarnation(0)), 60);
        self.after(at, Event::AtLogger(rank, conn, frame));
    }

    /// A connection to the logger is wanted.
    pub fn open_logger(&mut self, rank: usize) {
        let incarnation = self.lives[rank].incarnation;
        let delay = 1 + self.below(100);
        self.after(delay, Event::LoggerOpens(rank, incarnation));
    }

    /// A replay is over.
    pub fn caught_up(&mut self, rank: usize, replayed: u64) {
        self.outcome.replayed += replayed;
        self.note(|| format!("rank {rank} has caught up ({replayed} events)"));
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
            "rendezvous" => 80,
            _ => 600,
        };
        let dies = self.below(odds) == 0;
        if dies {
            self.note(|| format!("rank {rank} comes to {name}"));
        }
        dies
    }

    /// The image that is due.
    #[must_use]
    pub fn image_due(&self, rank: usize) -> Option<ImageNo> {
        self.lives[rank].due
    }

    /// Did this life begin from an image that was just put back?
    pub fn was_restored(&mut self, rank: usize) -> bool {
        std::mem::take(&mut self.lives[rank].restored)
    }

    /// A program is over.
    pub fn finished(&mut self, rank: usize, digest: u64) {
        if self.lives[rank].digest.replace(digest).is_none() {
            self.note(|| format!("rank {rank} is over: {digest:x}"));
        }
    }
}

fn name_of(news: &News) -> String {
    match news {
        News::Item(from, ..) => format!("the rest of a frame of {from}"),
        News::Log(_) => "the logger".to_owned(),
        other => format!("{other:?}"),
    }
}

thread_local! {
    static FIBERS: std::cell::RefCell<BTreeMap<(usize, usize), Fiber>> =
        const { std::cell::RefCell::new(BTreeMap::new()) };
}

/// What runs in a rank's coroutine.
fn body(rank: usize, stop: Stop, setup: &Setup, incarnations: &[Incarnation]) {
    let protocol = crate::mutants::protocol(setup.all_events, setup.mutant);
    let link = SimLink::new(rank, stop);
    let mut engine = Engine::new(link, Rank(rank as u32), incarnations, protocol);
    if incarnations[rank] > Incarnation(0) {
        engine.replay_from_start();
    }
    let digest = setup.program.run(&mut engine, setup.ranks);
    engine.drain();
    loop {
        // Again and again: an image may have been taken here, and this be a later life.
        with(|world| world.finished(rank, digest));
        engine.block();
    }
}
