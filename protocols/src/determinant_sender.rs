//! The rank's side of the event log: records on their way to stable storage. They are kept until
//! they are durable there, so a logger that dies loses nothing.
//!
//! Records are numbered by their place in the log. Causal logging puts events of other ranks
//! between a rank's own ([`Determinant::Witness`]). A [`Cursor`] counts the own ones, by which
//! peers name them. Without foreign events both numbers are the same.

use crate::protocol::Command;
use ftmpi_wire::{Determinant, EventNo, event_log::RECORDS_MAX};
use std::collections::VecDeque;

/// A place in a log, as the number of own events before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cursor {
    /// Own events so far.
    pub clock: EventNo,
    /// So many of the records that follow are another rank's.
    pub foreign: u32,
}

impl Cursor {
    /// Goes past one record.
    #[inline]
    pub fn pass(&mut self, record: &Determinant) {
        match *record {
            _ if self.foreign > 0 => self.foreign -= 1,
            Determinant::Witness { count, .. } => self.foreign = count,
            _ => self.clock = self.clock.next(),
        }
    }
}

/// Stands where a record of another rank was announced and then lost.
pub const VOID: Determinant = Determinant::Failed { fails: 0 };

/// Records on their way.
#[derive(Debug, Default)]
pub struct DeterminantSender {
    /// In order; kept until durable.
    kept: VecDeque<Determinant>,
    /// Before the first of them: its number, and the cursor there.
    pruned: EventNo,
    at_pruned: Cursor,
    /// The last that was handed to the logger's connection.
    sent: EventNo,
    at_sent: Cursor,
    /// Written by the logger up to here.
    written: EventNo,
    at_written: Cursor,
    /// The last record.
    last: EventNo,
}

impl DeterminantSender {
    /// Adds a record.
    #[inline]
    pub fn push(&mut self, record: Determinant) {
        self.last = self.last.next();
        self.kept.push_back(record);
    }

    /// Number of the last record.
    #[must_use]
    pub fn last(&self) -> EventNo {
        self.last
    }

    /// Number of the last record that the logger has written.
    #[must_use]
    pub fn written(&self) -> EventNo {
        self.written
    }

    /// Own events that the logger has written.
    #[must_use]
    pub fn stable_clock(&self) -> EventNo {
        self.at_written.clock
    }

    /// Records that have not been handed over.
    #[inline]
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.last.0 - self.sent.0
    }

    /// Records under way that are not acknowledged.
    #[inline]
    #[must_use]
    pub fn under_way(&self) -> u64 {
        self.sent.0 - self.written.0
    }

    fn after(&self, number: EventNo) -> usize {
        (number.0 - self.pruned.0) as usize
    }

    /// Hands over all that waits.
    pub fn send(&mut self, commands: &mut VecDeque<Command>) {
        while self.sent < self.last {
            let from = self.after(self.sent);
            let records: Vec<_> = self.kept.range(from..).take(RECORDS_MAX).copied().collect();
            records.iter().for_each(|record| self.at_sent.pass(record));
            let first = self.sent.next();
            self.sent = EventNo(self.sent.0 + records.len() as u64);
            commands.push_back(Command::Log { first, clock: self.at_sent.clock, records });
        }
    }

    /// Asks what is stable.
    pub fn ask(&mut self, commands: &mut VecDeque<Command>) {
        let (first, clock) = (self.sent.next(), self.at_sent.clock);
        commands.push_back(Command::Log { first, clock, records: Vec::new() });
    }

    /// The logger acknowledges records.
    pub fn acknowledged(&mut self, written: EventNo, durable: EventNo) {
        let written = written.min(self.last);
        while self.written < written {
            // A durable record was written first, so nothing of this is gone.
            let record = self.kept[self.after(self.written)];
            self.at_written.pass(&record);
            self.written = self.written.next();
        }
        while self.pruned < durable.min(self.written) {
            let Some(record) = self.kept.pop_front() else { break };
            self.at_pruned.pass(&record);
            self.pruned = self.pruned.next();
        }
    }

    /// The logger was lost and is there again: all that is not durable goes once more.
    pub fn logger_back(&mut self, commands: &mut VecDeque<Command>) {
        commands.retain(|c| !matches!(c, Command::Log { .. }));
        (self.sent, self.at_sent) = (self.pruned, self.at_pruned);
        self.send(commands);
    }

    /// A new incarnation begins after record `last`, and the logger has these behind it. What the
    /// image kept and what was recorded since is written, but perhaps not durable yet: kept as this
    /// incarnation's own is.
    pub fn restart(&mut self, last: EventNo, recorded: &[Determinant]) {
        if last < self.pruned {
            // Only an image of a later state could say so.
            self.kept.clear();
            self.pruned = last;
        }
        self.kept.truncate(self.after(last));
        if self.kept.is_empty() {
            self.pruned = last;
            self.at_pruned = self.at_written;
        }
        self.kept.extend(recorded);
        self.last = EventNo(last.0 + recorded.len() as u64);
        let mut cursor = self.at_pruned;
        self.kept.iter().for_each(|record| cursor.pass(record));
        (self.written, self.sent) = (self.last, self.last);
        (self.at_written, self.at_sent) = (cursor, cursor);
        for _ in 0..cursor.foreign {
            self.push(VOID);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_wire::Rank;

    const OWN: Determinant = Determinant::Outcome { fails: 0, value: 1 };

    fn witness(count: u32) -> Determinant {
        Determinant::Witness { creator: Rank(2), count, first: EventNo(4) }
    }

    #[test]
    fn own_events_are_counted_apart_from_those_of_others() {
        let (mut determinant_sender, mut commands) =
            (DeterminantSender::default(), VecDeque::new());
        for record in [OWN, witness(2), OWN, OWN, OWN] {
            determinant_sender.push(record);
        }
        determinant_sender.send(&mut commands);
        let Some(Command::Log { first, clock, records }) = commands.pop_front() else { panic!() };
        assert_eq!((first, clock, records.len()), (EventNo(1), EventNo(2), 5));
        determinant_sender.acknowledged(EventNo(4), EventNo(3));
        assert_eq!(
            (determinant_sender.stable_clock(), determinant_sender.under_way()),
            (EventNo(1), 1)
        );
        determinant_sender.logger_back(&mut commands);
        let Some(Command::Log { first, clock, records }) = commands.pop_front() else { panic!() };
        assert_eq!((first, clock, records.len()), (EventNo(4), EventNo(2), 2));
    }

    #[test]
    fn a_log_that_ends_within_records_of_another_rank_is_filled_up() {
        let (mut determinant_sender, mut commands) =
            (DeterminantSender::default(), VecDeque::new());
        determinant_sender.restart(EventNo(0), &[OWN, witness(3), OWN]);
        assert_eq!(
            (determinant_sender.stable_clock(), determinant_sender.waiting()),
            (EventNo(1), 2)
        );
        determinant_sender.push(OWN);
        determinant_sender.send(&mut commands);
        let Some(Command::Log { clock, records, .. }) = commands.pop_front() else { panic!() };
        assert_eq!((clock, records), (EventNo(2), vec![VOID, VOID, OWN]));
    }
}
