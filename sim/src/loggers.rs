//! One or several event loggers, and how ranks hear what the loggers of other ranks have written
//! (`--stable-vector`). Loggers tell each other, or every host. A message between them is late, and
//! lost when one of its ends dies.

use crate::logger::{Answer, Logger};
use crate::mutants::Mutant;
use crate::protocol_config::Spread;
use ftmpi_protocols::event_log::{ConnId, Promise};
use ftmpi_wire::event_log::Frame;
use ftmpi_wire::{EventNo, Incarnation, Rank};
use std::collections::BTreeMap;

/// Numbers of connections of logger `n` begin at `n << SHIFT`.
const SHIFT: u32 = 40;
/// Among them, the clocks of other loggers.
const FELLOWS: u64 = 1 << 30;

/// Clocks on their way from one logger.
#[derive(Debug, Clone)]
pub struct ClockNews {
    /// From which; and its incarnation, and that of the one that it goes to.
    from: usize,
    starts: (u32, u32),
    /// To which; none: to the hosts.
    to: Option<usize>,
    clocks: Vec<(Rank, EventNo)>,
}

/// All loggers of the job; each rank has one.
pub struct Loggers {
    loggers: Vec<Logger>,
    starts: Vec<u32>,
    spread: Spread,
    /// What the hosts have heard.
    known: BTreeMap<Rank, EventNo>,
    mutant: Option<Mutant>,
}

impl Loggers {
    /// As many as the way of spreading needs.
    #[must_use]
    pub fn new(spread: Spread, promise: Promise, mutant: Option<Mutant>) -> Self {
        let count = if spread == Spread::One { 1 } else { 2 };
        let logger = |n: u64| Logger::new(n << SHIFT, promise, mutant);
        let mut loggers = Self {
            loggers: (0..count).map(logger).collect(),
            starts: vec![0; count as usize],
            spread,
            known: BTreeMap::new(),
            mutant,
        };
        (0..count as usize).for_each(|n| loggers.listen(n));
        loggers
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> usize {
        self.loggers.len()
    }

    /// Which is this rank's.
    #[must_use]
    pub fn of_rank(&self, rank: Rank) -> usize {
        rank.index() % self.loggers.len()
    }

    /// Whether this rank's is that one.
    #[must_use]
    pub fn serves(&self, logger: usize, rank: usize) -> bool {
        rank % self.loggers.len() == logger
    }

    fn of(&mut self, conn: ConnId) -> &mut Logger {
        &mut self.loggers[(conn.0 >> SHIFT) as usize]
    }

    /// The listeners of this logger begin again, as after its restart.
    fn listen(&mut self, logger: usize) {
        for listener in 0..self.loggers.len() as u64 {
            self.loggers[logger].peer_logger_listens(ConnId(FELLOWS + listener));
        }
    }

    /// One dies and starts again from its files.
    pub fn restart(&mut self, logger: usize, power: bool) {
        self.loggers[logger].restart(power);
        self.starts[logger] += 1;
        self.listen(logger);
        // What it had heard of the others it must hear again.
        for other in (0..self.loggers.len()).filter(|other| *other != logger) {
            self.loggers[other].peer_logger_listens(ConnId(FELLOWS + logger as u64));
        }
    }

    /// See [`Logger::damage`].
    pub fn damage(&mut self, rank: Rank, behind: usize) -> bool {
        let logger = self.of_rank(rank);
        self.loggers[logger].damage(rank, behind)
    }

    /// See [`Logger::take_refused`].
    pub fn take_refused(&mut self) -> Vec<(Rank, Incarnation, String)> {
        self.loggers.iter_mut().flat_map(Logger::take_refused).collect()
    }

    /// See [`Logger::connect`].
    pub fn connect(&mut self, rank: Rank, incarnation: Incarnation) -> (ConnId, Vec<Answer>) {
        let logger = self.of_rank(rank);
        self.loggers[logger].connect(rank, incarnation)
    }

    /// See [`Logger::frame`].
    pub fn frame(&mut self, conn: ConnId, frame: Frame) -> Vec<Answer> {
        self.of(conn).frame(conn, frame)
    }

    /// See [`Logger::lost`].
    pub fn lost(&mut self, conn: ConnId) -> Vec<Answer> {
        self.of(conn).lost(conn)
    }

    /// See [`Logger::is_open`].
    #[must_use]
    pub fn is_open(&self, conn: ConnId) -> bool {
        self.loggers[(conn.0 >> SHIFT) as usize].is_open(conn)
    }

    /// See [`Logger::written`].
    #[must_use]
    pub fn written(&self, rank: Rank) -> EventNo {
        self.loggers[self.of_rank(rank)].written(rank)
    }

    /// See [`Logger::take_pruned`].
    pub fn take_pruned(&mut self) -> Vec<(Rank, EventNo)> {
        self.loggers.iter_mut().flat_map(Logger::take_pruned).collect()
    }

    /// All write what is in memory.
    pub fn write(&mut self) -> Vec<Answer> {
        self.loggers.iter_mut().flat_map(Logger::write).collect()
    }

    /// All make durable what is written.
    pub fn sync(&mut self) -> Vec<Answer> {
        self.loggers.iter_mut().flat_map(Logger::sync).collect()
    }

    /// One does.
    pub fn sync_one(&mut self, logger: usize) -> Vec<Answer> {
        self.loggers[logger].sync()
    }

    /// The clocks that loggers send now, to each other or to the hosts.
    pub fn news(&mut self) -> Vec<ClockNews> {
        let count = self.loggers.len();
        let mut news = Vec::new();
        for from in 0..count {
            let to: Vec<Option<usize>> = match self.spread {
                Spread::One | Spread::Apart | Spread::Carried => Vec::new(),
                Spread::Shared => (0..count).filter(|to| *to != from).map(Some).collect(),
                Spread::Broadcast => vec![None],
            };
            for to in to {
                let listener = ConnId(FELLOWS + to.unwrap_or(from) as u64);
                let mut clocks = self.loggers[from].news_for_peer_logger(listener);
                if self.mutant == Some(Mutant::PeerLoggerToldTooFar) {
                    clocks.iter_mut().for_each(|(_, clock)| *clock = clock.next());
                }
                if !clocks.is_empty() {
                    let starts = (self.starts[from], to.map_or(0, |to| self.starts[to]));
                    news.push(ClockNews { from, starts, to, clocks });
                }
            }
        }
        news
    }

    /// The clocks arrive. The result: what ranks must hear at once.
    pub fn on_clock_news(&mut self, news: ClockNews) -> Option<Vec<(Rank, EventNo)>> {
        let ClockNews { from, starts, to, clocks } = news;
        let Some(to) = to else {
            for &(rank, clock) in &clocks {
                let known = self.known.entry(rank).or_default();
                *known = clock.max(*known);
            }
            return Some(clocks);
        };
        if starts == (self.starts[from], self.starts[to]) {
            self.loggers[to].peer_logger_reports(&clocks);
        }
        None
    }

    /// All hosts begin again, and listen again.
    pub fn hosts_forget(&mut self) {
        self.known.clear();
        for logger in 0..self.loggers.len() {
            self.loggers[logger].peer_logger_listens(ConnId(FELLOWS + logger as u64));
        }
    }

    /// What a new incarnation hears from its host.
    #[must_use]
    pub fn known(&self) -> Vec<(Rank, EventNo)> {
        self.known.iter().map(|(rank, clock)| (*rank, *clock)).collect()
    }

    /// Whether loggers send clocks of other ranks to their own.
    #[must_use]
    pub fn tell_of_others(&self) -> bool {
        matches!(self.spread, Spread::One | Spread::Shared)
    }
}
