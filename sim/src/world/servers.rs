//! The event loggers in the world: delays, deaths, and what is lost with them.

use super::{Event, News, World};
use crate::logger::Answer;
use crate::loggers::ClockNews;
use crate::mutants::Mutant;
use crate::picture::{Mark, mark};
use ftmpi_protocols::dispatcher::Input;
use ftmpi_protocols::event_log::ConnId;
use ftmpi_wire::{EventNo, Incarnation, Rank, event_log};

impl World {
    pub(super) fn deliver_log(&mut self, answers: Vec<Answer>) {
        for (rank, below) in self.logger.take_pruned() {
            self.forgets_events(rank, below);
        }
        for Answer { rank, incarnation, conn, frame } in answers {
            let rank = rank.index();
            if self.processes[rank].incarnation != incarnation {
                continue;
            }
            let key = (usize::MAX, Incarnation(0), rank, incarnation);
            let Some(frame) = frame else {
                self.note(|| format!("logger closes the connection of rank {rank}"));
                if self.processes[rank].logger == Some(conn) {
                    self.processes[rank].logger = None;
                    let at = self.fifo(key, 60);
                    self.after(at, Event::News(rank, incarnation, News::LoggerLost));
                }
                continue;
            };
            if matches!(frame, event_log::Frame::Stable { .. }) && !self.logger.tell_of_others() {
                continue;
            }
            self.note(|| format!("logger tells rank {rank}: {frame:?}"));
            let at = self.fifo(key, 60);
            self.after(at, Event::News(rank, incarnation, News::Log(conn, frame)));
        }
    }

    /// A frame reaches the logger.
    pub(super) fn at_logger(&mut self, rank: usize, conn: ConnId, frame: event_log::Frame) {
        self.note(|| format!("logger gets from rank {rank}: {frame:?}"));
        if let event_log::Frame::Append { records, .. } = &frame {
            mark(self.now, || Mark::Logs(rank, records.len()));
        }
        self.empty_ring(rank);
        let answers = self.logger.frame(conn, frame);
        self.deliver_log(answers);
        let (write, sync) = match self.setup.slow_logger {
            // An incarnation begins and fetches while its log is on its way to the disk.
            _ if self.setup.mutant == Some(Mutant::AnsweredBeforeDurable) => (30, 40_000),
            true => (1500, 4000),
            false => (30, 400),
        };
        let write = self.below(write);
        let sync = write + self.below(sync);
        self.after(write, Event::LoggerWrites);
        let logger = self.logger.of_rank(Rank(rank as u32));
        self.after(sync, Event::LoggerSyncs(logger));
    }

    pub(super) fn logger_opens(&mut self, rank: usize, incarnation: Incarnation) {
        if self.is_alive((rank, incarnation)) {
            self.retire_ring(rank);
            let (conn, answers) = self.logger.connect(Rank(rank as u32), incarnation);
            if self.report_refused() {
                return self.deliver_log(answers);
            }
            self.after(1, Event::News(rank, incarnation, News::LoggerUp(conn)));
            self.deliver_log(answers);
            let known = self.logger.known();
            if !known.is_empty() {
                self.clocks_reach(rank, known);
            }
        }
    }

    /// Loggers send what they have written, to each other or to the hosts.
    pub(super) fn spread_clocks(&mut self) {
        for news in self.logger.news() {
            // Late, as often as not; each pair keeps its order, but a clock only grows.
            let delay = 1 + self.below(600);
            self.after(delay, Event::ClocksArrive(news));
        }
    }

    pub(super) fn clocks_arrive(&mut self, news: ClockNews) {
        self.note(|| format!("what is written becomes known: {news:?}"));
        let Some(clocks) = self.logger.on_clock_news(news) else { return };
        for rank in 0..self.processes.len() {
            self.clocks_reach(rank, clocks.clone());
        }
    }

    fn clocks_reach(&mut self, rank: usize, clocks: Vec<(Rank, EventNo)>) {
        let own = Rank(rank as u32);
        let clocks: Vec<_> = clocks.into_iter().filter(|(of, _)| *of != own).collect();
        let incarnation = self.processes[rank].incarnation;
        let delay = 1 + self.below(60);
        self.after(delay, Event::News(rank, incarnation, News::Clocks(clocks)));
    }

    /// Its files stay; every connection is lost, with what is under way on it.
    pub(super) fn logger_dies(&mut self, power: bool) {
        self.note(|| format!("the logger dies{}", if power { " of a loss of power" } else { "" }));
        mark(self.now, || Mark::LoggerDies);
        let all = self.logger.count();
        let which = if all > 1 { self.below(all as u64) as usize } else { 0 };
        if power {
            (0..self.processes.len()).for_each(|rank| {
                self.is_written(rank);
            });
            // One instant of one logger has what it depends on, of several only that of all.
            (0..all).for_each(|logger| self.logger.restart(logger, true));
        } else {
            self.logger.restart(which, false);
            self.syncs_later(which);
            let served: Vec<_> =
                (0..self.processes.len()).filter(|rank| self.logger.serves(which, *rank)).collect();
            // It finds them in its directory.
            served.into_iter().for_each(|rank| self.retire_ring(rank));
        }
        if !power && self.below(2) == 0 {
            // A rank on the same computer.
            let rank = self.below(self.processes.len() as u64) as usize;
            self.crash(rank);
        }
        self.connections_end((!power).then_some(which));
    }

    /// The first round of a logger that has begun again.
    pub(super) fn syncs_later(&mut self, logger: usize) {
        let delay = 1 + self.below(400);
        self.after(delay, Event::LoggerSyncs(logger));
    }

    /// Those of one logger, or of all.
    fn connections_end(&mut self, logger: Option<usize>) {
        for rank in 0..self.processes.len() {
            if logger.is_some_and(|logger| !self.logger.serves(logger, rank)) {
                continue;
            }
            if self.processes[rank].logger.take().is_some() {
                let incarnation = self.processes[rank].incarnation;
                let delay = 1 + self.below(200);
                self.after(delay, Event::News(rank, incarnation, News::LoggerLost));
            }
        }
    }

    /// What an image depends on is made durable before it counts.
    pub(super) fn loggers_sync_for_an_image(&mut self) {
        if self.setup.mutant != Some(Mutant::ImageBeforeDurable) {
            self.empty_rings(None);
            let answers = self.logger.sync();
            self.deliver_log(answers);
            self.spread_clocks();
        }
    }

    /// The whole job loses power: every process is gone, and of the logs what was not durable. Of
    /// several loggers each has its own last instant.
    pub(super) fn outage(&mut self) {
        self.note(|| "everything loses power".to_owned());
        mark(self.now, || Mark::LoggerDies);
        (0..self.logger.count()).for_each(|logger| self.logger.restart(logger, true));
        self.lose_rings();
        for rank in 0..self.processes.len() {
            let left = self.logger.written(Rank(rank as u32));
            self.seen.sends_wait.loses_power(rank, left);
        }
        let living = self.processes.iter().filter(|process| process.fiber.is_some());
        self.outcome.crashes += living.count() as u32;
        self.seen.suspension_ends.is_over(self.now);
        self.seen.last_images.job_is_lost();
        self.everything_ends();
        // What hosts had heard is gone with them; loggers send it again.
        self.logger.hosts_forget();
    }

    /// A rank hears that it is connected.
    pub(super) fn logger_is_up(&mut self, rank: usize, conn: ConnId) {
        if self.logger.is_open(conn) {
            self.processes[rank].logger = Some(conn);
            self.leaves_ring(rank);
        } else {
            // It has died meanwhile.
            self.processes[rank].news.push_front(News::LoggerLost);
        }
    }

    /// A frame to the logger; `true`: what is in it is as good as written.
    pub fn log(&mut self, rank: usize, frame: event_log::Frame) -> bool {
        let Some(conn) = self.processes[rank].logger else { return false };
        if self.store_near(rank, conn, &frame) {
            return true;
        }
        let incarnation = self.processes[rank].incarnation;
        // What is under way for long is lost with its rank: then there are orphans, or a peer holds
        // it.
        let variant = self.setup.variant;
        let unaided = variant.rolls_back() || variant.causal(true).is_some();
        let slow = unaided && self.setup.slow_logger;
        let spread = if slow { 150 } else { 60 };
        let at = self.fifo((rank, incarnation, usize::MAX, Incarnation(0)), spread);
        self.after(at, Event::AtLogger(rank, conn, frame));
        false
    }

    /// A connection to the logger is wanted.
    pub fn open_logger(&mut self, rank: usize) {
        let incarnation = self.processes[rank].incarnation;
        let delay = 1 + self.below(100);
        self.after(delay, Event::LoggerOpens(rank, incarnation));
    }

    /// Agents report ranks that will never be served. False: all will be.
    fn report_refused(&mut self) -> bool {
        let refused = self.logger.take_refused();
        let any = !refused.is_empty();
        for (rank, incarnation, why) in refused {
            self.note(|| format!("the logger refuses rank {rank} for ever: {why}"));
            self.seen.refused.is_refused(rank, &why);
            let for_good = self.setup.mutant != Some(Mutant::RefusalTakenForTrouble);
            let host = self.host_of(rank.index());
            self.report(host, Input::LoggerTrouble { rank, incarnation, why, for_good });
        }
        any
    }

    /// The disk damages the end of a log. Its logger finds it when it begins again, and the rank
    /// may be the next to die: then nothing can bring it back.
    pub(super) fn log_damaged(&mut self) {
        let rank = self.below(self.processes.len() as u64) as usize;
        let behind = 1 + self.below(12) as usize;
        // It was durable, and ranks that heard so go on with that.
        self.is_written(rank);
        if self.logger.damage(Rank(rank as u32), behind) {
            self.note(|| {
                format!("the log of rank {rank} is damaged {behind} events before its end")
            });
            let logger = self.logger.of_rank(Rank(rank as u32));
            self.logger.restart(logger, false);
            self.syncs_later(logger);
            self.connections_end(Some(logger));
            if self.below(2) == 0 {
                self.crash(rank);
            }
        }
    }
}
