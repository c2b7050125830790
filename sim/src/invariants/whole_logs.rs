//! A log has no hole. A logger that dies keeps what it called written; one whose computer loses
//! power keeps what it called durable (protocols.md: *servers write before they acknowledge*).

use super::broken;
use ftmpi_wire::{EventNo, Rank};
use std::collections::BTreeMap;

/// What one logger has acknowledged.
#[derive(Debug, Default)]
pub struct WholeLogs {
    acknowledged: BTreeMap<Rank, (EventNo, EventNo)>,
}

impl WholeLogs {
    /// It acknowledges this to a rank.
    pub fn acknowledges(&mut self, rank: Rank, written: EventNo, durable: EventNo) {
        let known = self.acknowledged.entry(rank).or_default();
        *known = (written.max(known.0), durable.max(known.1));
    }

    /// Records are put behind the last one.
    pub fn append(rank: Rank, last: EventNo, first: EventNo) {
        if last.next() != first {
            let how = format!("event {first} of rank {rank} comes behind event {last}");
            broken("whole-logs", &how);
        }
    }

    /// The logger begins again, and so much of the log is there.
    pub fn restarts(&self, rank: Rank, last: EventNo, power: bool) {
        let (written, durable) = self.acknowledged.get(&rank).copied().unwrap_or_default();
        let promised = if power { durable } else { written };
        if last < promised {
            let how =
                format!("{promised} events of rank {rank} were acknowledged, and {last} are there");
            broken("whole-logs", &how);
        }
    }

    /// A loss of power takes what was only written from those who do not need it.
    pub fn forgets(&mut self, rank: Rank, last: EventNo) {
        if let Some(known) = self.acknowledged.get_mut(&rank) {
            *known = (known.0.min(last), known.1.min(last));
        }
    }

    /// The log was thrown away, and begins again.
    pub fn log_begins_again(&mut self, rank: Rank) {
        self.acknowledged.remove(&rank);
    }
}
