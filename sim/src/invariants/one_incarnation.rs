//! No new life of a cluster begins before all its old ones have ended (protocols.md, *coordinated*: on a
//! failure every rank returns): an old one could still send to a new one what the wave does not know.

use super::broken;
use std::collections::BTreeMap;

/// In which return of its cluster the present life of each rank began.
#[derive(Debug, Default)]
pub struct OneLife {
    began: BTreeMap<usize, u64>,
}

impl OneLife {
    /// A life begins in this return, while these mates of its rank live.
    pub fn begins(&mut self, rank: usize, round: u64, living: impl Iterator<Item = usize>) {
        for mate in living.filter(|mate| *mate != rank) {
            let began = self.began.get(&mate).copied().unwrap_or(0);
            if began != round {
                let how = format!(
                    "rank {rank} begins in return {round}, and rank {mate} lives since return {began}"
                );
                broken("one-life", &how);
            }
        }
        self.began.insert(rank, round);
    }
}
