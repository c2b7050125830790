//! Stable clocks: up to which of its own events the log of each rank is written, and which
//! connections know it. An acknowledgement names the last event stored of each process
//! (event-logger-2005 §IV-B).
//!
//! A clock is a number by which peers name events. Only changes are sent, and only to connections
//! that asked. With several loggers (event-logger-2005 §VI) a logger passes the clocks of its peer
//! loggers on to its own ranks, but never to another logger. Clocks are in no file: after a restart
//! of the logger a clock is unknown until its rank sends events again.

use super::ConnId;
use ftmpi_wire::event_log::{CLOCKS_MAX, Frame};
use ftmpi_wire::{EventNo, Rank};
use std::collections::{BTreeMap, VecDeque};

/// One rank's clock.
#[derive(Debug, Default)]
struct Clock {
    /// Written.
    stable: EventNo,
    /// Last record of what was announced and is not written, and the clock after it.
    announced: VecDeque<(EventNo, EventNo)>,
    /// When it changed last.
    changed: u64,
    /// A peer logger reported it.
    heard: bool,
}

/// All clocks.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    clocks: BTreeMap<Rank, Clock>,
    /// Ranks by the time of their last change.
    by_change: BTreeMap<u64, Rank>,
    now: u64,
    /// Connections that asked, and the state that was last sent to each.
    watchers: BTreeMap<ConnId, u64>,
}

impl Clocks {
    /// A rank sends records from `first` on; its clock is `clock` after them. Without records it
    /// only says what its clock is: after a restart of the logger nobody else knows.
    pub fn announce(&mut self, rank: Rank, first: EventNo, clock: EventNo, records: usize) {
        let last = EventNo(first.0.saturating_add(records as u64).saturating_sub(1));
        if clock == EventNo(0) || last == EventNo(0) {
            return;
        }
        let announced = &mut self.clocks.entry(rank).or_default().announced;
        if records == 0 {
            if announced.is_empty() {
                announced.push_back((last, clock));
            }
            return;
        }
        // A later incarnation, or the same after a lost connection, sends some again; what an
        // earlier one announced beyond them was never written.
        while announced.back().is_some_and(|&(end, _)| end >= first) {
            announced.pop_back();
        }
        announced.push_back((last, clock));
    }

    /// The rank's log is written up to this record.
    pub fn written(&mut self, rank: Rank, written: EventNo) {
        let Some(clock) = self.clocks.get_mut(&rank) else { return };
        let before = clock.stable;
        while let Some(&(end, number)) = clock.announced.front()
            && end <= written
        {
            clock.announced.pop_front();
            clock.stable = number.max(clock.stable);
        }
        clock.heard = false;
        if clock.stable > before {
            self.changed(rank);
        }
    }

    /// A peer logger reports that the log of one of its ranks is written up to this clock.
    pub fn heard(&mut self, rank: Rank, stable: EventNo) {
        let clock = self.clocks.entry(rank).or_insert(Clock { heard: true, ..Clock::default() });
        if clock.heard && stable > clock.stable {
            clock.stable = stable;
            self.changed(rank);
        }
    }

    fn changed(&mut self, rank: Rank) {
        self.now += 1;
        if let Some(clock) = self.clocks.get_mut(&rank) {
            self.by_change.remove(&clock.changed);
            clock.changed = self.now;
            self.by_change.insert(self.now, rank);
        }
    }

    /// How often anything has changed.
    pub fn changes(&self) -> u64 {
        self.now
    }

    /// This connection wants to know, from the beginning.
    pub fn watch(&mut self, conn: ConnId) {
        self.watchers.insert(conn, 0);
    }

    /// It is gone.
    pub fn forget(&mut self, conn: ConnId) {
        self.watchers.remove(&conn);
    }

    /// What has changed since the last call for this connection. A rank (`own`) knows its own
    /// clock. Another logger (`None`) does not get what loggers sent.
    pub fn news(&mut self, conn: ConnId, own: Option<Rank>, out: &mut Vec<Frame>) {
        let Some(told) = self.watchers.get_mut(&conn) else { return };
        let wanted = |rank: &Rank| match own {
            Some(own) => *rank != own,
            None => !self.clocks[rank].heard,
        };
        let changed: Vec<_> = self
            .by_change
            .range(*told + 1..)
            .filter(|&(_, rank)| wanted(rank))
            .map(|(_, rank)| (*rank, self.clocks[rank].stable))
            .collect();
        *told = self.now;
        out.extend(
            changed.chunks(CLOCKS_MAX).map(|clocks| Frame::Stable { clocks: clocks.into() }),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(clocks: &mut Clocks, conn: u64) -> Vec<(u32, u64)> {
        let mut frames = Vec::new();
        clocks.news(ConnId(conn), Some(Rank(9)), &mut frames);
        entries(frames)
    }

    fn entries(frames: Vec<Frame>) -> Vec<(u32, u64)> {
        let entries = frames.into_iter().flat_map(|frame| match frame {
            Frame::Stable { clocks } => clocks,
            other => panic!("{other:?}"),
        });
        entries.map(|(rank, clock)| (rank.0, clock.0)).collect()
    }

    #[test]
    fn what_an_earlier_incarnation_announced_and_lost_is_never_sent() {
        let mut clocks = Clocks::default();
        clocks.watch(ConnId(1));
        clocks.announce(Rank(0), EventNo(6), EventNo(7), 2);
        // It died; the log ends at 5, and its next incarnation goes on there.
        clocks.announce(Rank(0), EventNo(6), EventNo(100), 3);
        clocks.written(Rank(0), EventNo(7));
        assert_eq!(told(&mut clocks, 1), []);
        clocks.written(Rank(0), EventNo(8));
        assert_eq!(told(&mut clocks, 1), [(0, 100)]);
    }

    #[test]
    fn clocks_of_another_logger_go_to_ranks_but_to_no_logger() {
        let mut clocks = Clocks::default();
        clocks.watch(ConnId(1));
        clocks.watch(ConnId(2));
        clocks.heard(Rank(4), EventNo(7));
        clocks.heard(Rank(4), EventNo(5));
        clocks.announce(Rank(0), EventNo(1), EventNo(3), 3);
        clocks.written(Rank(0), EventNo(3));
        assert_eq!(told(&mut clocks, 1), [(4, 7), (0, 3)]);
        let mut frames = Vec::new();
        clocks.news(ConnId(2), None, &mut frames);
        assert_eq!(entries(frames), [(0, 3)]);
        // Nobody else knows better than its own logger.
        clocks.heard(Rank(0), EventNo(9));
        assert_eq!(told(&mut clocks, 1), []);
    }

    #[test]
    fn a_clock_can_be_announced_without_records() {
        let mut clocks = Clocks::default();
        clocks.watch(ConnId(1));
        clocks.announce(Rank(0), EventNo(1), EventNo(3), 0);
        clocks.announce(Rank(0), EventNo(5), EventNo(4), 0);
        assert_eq!(told(&mut clocks, 1), []);
        clocks.written(Rank(0), EventNo(4));
        assert_eq!(told(&mut clocks, 1), [(0, 4)]);
    }

    #[test]
    fn only_what_is_written_and_new_is_sent() {
        let mut clocks = Clocks::default();
        clocks.watch(ConnId(1));
        clocks.announce(Rank(0), EventNo(1), EventNo(2), 4);
        clocks.announce(Rank(0), EventNo(5), EventNo(6), 4);
        assert_eq!(told(&mut clocks, 1), []);
        clocks.written(Rank(0), EventNo(7));
        assert_eq!(told(&mut clocks, 1), [(0, 2)]);
        clocks.announce(Rank(3), EventNo(1), EventNo(1), 1);
        clocks.written(Rank(3), EventNo(1));
        clocks.written(Rank(0), EventNo(8));
        assert_eq!(told(&mut clocks, 1), [(3, 1), (0, 6)]);
        assert_eq!(told(&mut clocks, 1), []);
        assert_eq!(told(&mut clocks, 2), [], "does not want to know");
        clocks.watch(ConnId(2));
        assert_eq!(told(&mut clocks, 2).len(), 2);
    }
}
