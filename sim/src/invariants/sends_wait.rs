//! Pessimistic logging: before a message leaves, the logger has written every earlier event of its
//! sender (mpich-v-2006 §2: events are safely logged before the process can impact the system). An
//! answer that reveals a match waits for the event of that match: the acknowledgement of a
//! synchronous send, and, to a cluster peer, the answer to an announcement. The logger's file
//! decides, not the answer that the rank received.

use super::broken;
use ftmpi_wire::{EventNo, Rank, Ssn};
use std::collections::BTreeMap;

/// What waits in each rank, and what is written of each.
#[derive(Debug, Default)]
pub struct SendsWait {
    /// The last event of the rank when the message was asked about first.
    asked: BTreeMap<(usize, Rank, Ssn), EventNo>,
    written: BTreeMap<usize, EventNo>,
    /// The event that records the match of a message: rank, sender, number.
    matched: BTreeMap<(usize, Rank, Ssn), EventNo>,
}

impl SendsWait {
    /// An incarnation of this rank begins; what waits in its image waits for nothing
    /// (`stable_images`).
    pub fn begins(&mut self, rank: usize) {
        self.asked.retain(|(of, ..), _| *of != rank);
        self.matched.retain(|(of, ..), _| *of != rank);
    }

    /// The rank asks whether this message may leave; its last event was `last`.
    pub fn asks(&mut self, rank: usize, to: Rank, ssn: Ssn, last: EventNo) {
        self.asked.entry((rank, to, ssn)).or_insert(last);
    }

    /// So much is written of the events of this rank. (A loss of power takes nothing back that
    /// anybody needs.)
    pub fn is_written(&mut self, rank: usize, up_to: EventNo) -> EventNo {
        let written = self.written.entry(rank).or_default();
        *written = up_to.max(*written);
        *written
    }

    /// All that is left of it after everything lost power.
    pub fn loses_power(&mut self, rank: usize, left: EventNo) {
        self.written.insert(rank, left);
    }

    /// The rank has recorded the match of a message as this event.
    pub fn matches(&mut self, rank: usize, source: Rank, ssn: Ssn, event: EventNo) {
        self.matched.insert((rank, source, ssn), event);
    }

    /// An answer leaves that reveals the match of a message.
    pub fn answers(&self, rank: usize, source: Rank, ssn: Ssn) {
        let written = self.written.get(&rank).copied().unwrap_or_default();
        if let Some(&event) = self.matched.get(&(rank, source, ssn))
            && event > written
        {
            let how = format!(
                "the answer to message {ssn} of rank {source} leaves rank {rank} before event {event}, \
                 its match, is written"
            );
            broken("sends-wait", &how);
        }
    }

    /// The message leaves.
    pub fn leaves(&self, rank: usize, to: Rank, ssn: Ssn) {
        let written = self.written.get(&rank).copied().unwrap_or_default();
        if let Some(&last) = self.asked.get(&(rank, to, ssn))
            && last > written
        {
            let how = format!(
                "message {ssn} of rank {rank} to rank {to} leaves after event {last}, and only {written} \
                 are written"
            );
            broken("sends-wait", &how);
        }
    }
}
