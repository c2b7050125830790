//! No incarnation begins on a host that is being emptied while another host can take it. Whoever is
//! there when that begins, or just arrives there, moves or is said to stay.

use super::broken;
use ftmpi_wire::Incarnation;
use std::collections::{BTreeMap, BTreeSet};

/// The hosts that users and monitoring have emptied.
#[derive(Debug, Default)]
pub struct DrainedHosts {
    drained: BTreeSet<usize>,
    /// The ranks that were on a host when it was drained, by host and rank.
    present: BTreeMap<(usize, usize), Incarnation>,
}

impl DrainedHosts {
    /// A host is to be empty.
    pub fn is_drained(&mut self, host: usize) {
        self.drained.insert(host);
    }

    /// A rank is on a host whose emptying begins.
    pub fn is_present(&mut self, host: usize, rank: usize, incarnation: Incarnation) {
        self.present.insert((host, rank), incarnation);
    }

    /// The ranks that were on a host when its emptying began: hosts, ranks, incarnations.
    pub fn present(&self) -> impl Iterator<Item = (usize, usize, Incarnation)> {
        self.present.iter().map(|(&(host, rank), &incarnation)| (host, rank, incarnation))
    }

    /// Nothing moves a rank that is still there, and nobody has said that it stays.
    pub fn is_forgotten(&self, host: usize, rank: usize) {
        let how = format!("rank {rank} stays on host {host}, which is drained, without a word");
        broken("drained-hosts", &how);
    }

    /// A host takes ranks again.
    pub fn takes_ranks(&mut self, host: usize) {
        self.drained.remove(&host);
        self.present.retain(|(on, _), _| *on != host);
    }

    /// Another launcher goes on with the job.
    pub fn are_forgotten(&mut self) {
        self.drained.clear();
        self.present.clear();
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
