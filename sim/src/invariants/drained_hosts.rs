//! No incarnation begins on a host that is being emptied while another host can take it.

use super::broken;
use std::collections::BTreeSet;

/// The hosts that users and monitoring have emptied.
#[derive(Debug, Default)]
pub struct DrainedHosts {
    drained: BTreeSet<usize>,
}

impl DrainedHosts {
    /// A host is to be empty.
    pub fn is_drained(&mut self, host: usize) {
        self.drained.insert(host);
    }

    /// A host takes ranks again.
    pub fn takes_ranks(&mut self, host: usize) {
        self.drained.remove(&host);
    }

    /// Another launcher goes on with the job.
    pub fn are_forgotten(&mut self) {
        self.drained.clear();
    }

    /// Whether a host is being emptied.
    #[must_use]
    pub fn contains(&self, host: usize) -> bool {
        self.drained.contains(&host)
    }

    /// The first of the drained hosts.
    #[must_use]
    pub fn first(&self) -> Option<usize> {
        self.drained.first().copied()
    }

    /// A rank is to begin on a host; `able`: the hosts that have an agent and take ranks.
    pub fn begins(&self, rank: usize, host: usize, able: impl Iterator<Item = usize>) {
        let mut others = able.filter(|other| *other != host && !self.drained.contains(other));
        if self.drained.contains(&host)
            && let Some(other) = others.next()
        {
            let how = format!(
                "rank {rank} begins on host {host}, which is drained, and host {other} is up"
            );
            broken("drained-hosts", &how);
        }
    }
}
