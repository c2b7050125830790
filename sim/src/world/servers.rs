//! The event logger in the world: delays, deaths, and what gets lost with them.

use super::{Event, News, World};
use crate::choice::Choice;
use crate::logger::Answer;
use crate::picture::{Mark, mark};
use ftmpi_protocols::event_log::ConnId;
use ftmpi_wire::{Incarnation, Rank, event_log};

impl World {
    pub(super) fn deliver_log(&mut self, answers: Vec<Answer>) {
        for Answer { rank, incarnation, conn, frame } in answers {
            let rank = rank.index();
            if self.lives[rank].incarnation != incarnation {
                continue;
            }
            let key = (usize::MAX, Incarnation(0), rank, incarnation);
            let Some(frame) = frame else {
                self.note(|| format!("logger closes the connection of rank {rank}"));
                if self.lives[rank].logger == Some(conn) {
                    self.lives[rank].logger = None;
                    let at = self.fifo(key, 60);
                    self.after(at, Event::News(rank, incarnation, News::LoggerLost));
                }
                continue;
            };
            if matches!(frame, event_log::Frame::Stable { .. })
                && self.setup.choice == Choice::LogonCarried
            {
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
        let answers = self.logger.frame(conn, frame);
        self.deliver_log(answers);
        let (write, sync) = if self.setup.slow_logger { (1500, 4000) } else { (30, 400) };
        let write = self.below(write);
        let sync = write + self.below(sync);
        self.after(write, Event::LoggerWrites);
        self.after(sync, Event::LoggerSyncs);
    }

    pub(super) fn logger_opens(&mut self, rank: usize, incarnation: Incarnation) {
        if self.is_alive((rank, incarnation)) {
            let (conn, answers) = self.logger.connect(Rank(rank as u32), incarnation);
            self.after(1, Event::News(rank, incarnation, News::LoggerUp(conn)));
            self.deliver_log(answers);
        }
    }

    /// Its files stay; every connection is lost, with what is under way on it.
    pub(super) fn logger_dies(&mut self, power: bool) {
        self.note(|| format!("the logger dies{}", if power { " of a loss of power" } else { "" }));
        mark(self.now, || Mark::LoggerDies);
        self.logger.restart(power);
        if !power && self.below(2) == 0 {
            // A rank on the same computer.
            let rank = self.below(self.lives.len() as u64) as usize;
            self.crash(rank);
        }
        for rank in 0..self.lives.len() {
            if self.lives[rank].logger.take().is_some() {
                let incarnation = self.lives[rank].incarnation;
                let delay = 1 + self.below(200);
                self.after(delay, Event::News(rank, incarnation, News::LoggerLost));
            }
        }
    }

    /// A rank hears that it is connected.
    pub(super) fn logger_is_up(&mut self, rank: usize, conn: ConnId) {
        if self.logger.is_open(conn) {
            self.lives[rank].logger = Some(conn);
        } else {
            // It has died meanwhile.
            self.lives[rank].news.push_front(News::LoggerLost);
        }
    }

    /// A frame to the logger.
    pub fn log(&mut self, rank: usize, frame: event_log::Frame) {
        let Some(conn) = self.lives[rank].logger else { return };
        let incarnation = self.lives[rank].incarnation;
        // What is under way for long is lost with its rank: then there are orphans.
        let slow = self.setup.choice.rolls_back() && self.setup.slow_logger;
        let spread = if slow { 150 } else { 60 };
        let at = self.fifo((rank, incarnation, usize::MAX, Incarnation(0)), spread);
        self.after(at, Event::AtLogger(rank, conn, frame));
    }

    /// A connection to the logger is wanted.
    pub fn open_logger(&mut self, rank: usize) {
        let incarnation = self.lives[rank].incarnation;
        let delay = 1 + self.below(100);
        self.after(delay, Event::LoggerOpens(rank, incarnation));
    }
}
