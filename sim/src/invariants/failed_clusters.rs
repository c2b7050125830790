//! Only ranks of clusters in which something failed return to a wave; all others go on (HydEE;
//! protocols.md, *hierarchical*).

use super::broken;
use std::collections::BTreeSet;

/// Clusters in which something has failed since they returned last.
#[derive(Debug, Default)]
pub struct FailedClusters {
    failed: BTreeSet<usize>,
}

impl FailedClusters {
    /// A process died, or a connection between two cluster peers broke.
    pub fn fails(&mut self, cluster: usize) {
        self.failed.insert(cluster);
    }

    /// A process of this cluster comes to its end before the program does.
    pub fn ends(&self, rank: usize, cluster: usize) {
        if !self.failed.contains(&cluster) {
            let how = format!("rank {rank} is to return, and nothing of its cluster has failed");
            broken("failed-clusters", &how);
        }
    }

    /// All its old incarnations have ended.
    pub fn returns(&mut self, cluster: usize) {
        self.failed.remove(&cluster);
    }
}
