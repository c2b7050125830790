//! No new incarnation of a cluster begins before all its old ones have ended (protocols.md,
//! *coordinated*: on a failure every rank returns). An old incarnation could still send to a new
//! one what the wave does not know.

use super::broken;
use std::collections::BTreeMap;

/// In which return of its cluster the present incarnation of each rank began.
#[derive(Debug, Default)]
pub struct OneIncarnation {
    began: BTreeMap<usize, u64>,
}

impl OneIncarnation {
    /// An incarnation begins in this return, while these cluster peers of its rank run.
    pub fn begins(&mut self, rank: usize, round: u64, living: impl Iterator<Item = usize>) {
        for cluster_peer in living.filter(|cluster_peer| *cluster_peer != rank) {
            let began = self.began.get(&cluster_peer).copied().unwrap_or(0);
            if began != round {
                let how = format!(
                    "rank {rank} begins in return {round}, and rank {cluster_peer} runs since return {began}"
                );
                broken("one-incarnation", &how);
            }
        }
        self.began.insert(rank, round);
    }
}
