//! No rank has two processes. A new process begins where the old one ran, or after the old one has
//! ended with its host. Each incarnation has a higher number than all before, so its messages
//! differ from those of older ones.

use super::broken;
use ftmpi_wire::Incarnation;
use std::collections::BTreeMap;

/// The processes of ranks.
#[derive(Debug, Default)]
pub struct OneProcess {
    /// On which host that of a rank runs.
    living: BTreeMap<usize, usize>,
    /// The last incarnation of each.
    last: BTreeMap<usize, Incarnation>,
}

impl OneProcess {
    /// A host gets the order to start a process of this rank; the host ends its own old ones.
    pub fn is_to_begin(&self, rank: usize, host: usize) {
        if let Some(old) = self.living.get(&rank)
            && *old != host
        {
            let how =
                format!("rank {rank} is started on host {host}, and incarnations on host {old}");
            broken("one-process", &how);
        }
    }

    /// A process begins.
    pub fn begins(&mut self, rank: usize, host: usize, incarnation: Incarnation) {
        if let Some(old) = self.living.insert(rank, host) {
            let how = format!("rank {rank} begins on host {host}, and incarnations on host {old}");
            broken("one-process", &how);
        }
        if let Some(last) = self.last.insert(rank, incarnation)
            && incarnation <= last
        {
            broken(
                "one-process",
                &format!(
                    "incarnation {incarnation} of rank {rank} begins after incarnation {last}"
                ),
            );
        }
    }

    /// It is gone.
    pub fn ends(&mut self, rank: usize) {
        self.living.remove(&rank);
    }
}
