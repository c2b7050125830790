//! Only orphans roll back: who ends its incarnation for the sake of others depends on an event that
//! is lost (o2p-2009; Strom and Yemini 1985).

use super::broken;
use super::dependencies::{Dependencies, Truth};

/// A rank ends its incarnation as an orphan, and depended on this.
pub fn rolls_back(rank: usize, why: &str, truth: &Truth, known: &Dependencies) {
    if known.lost(truth).is_none() {
        let how = format!("rank {rank} is no orphan and rolls back: {why}; {truth:?}");
        broken("only-orphans", &how);
    }
}
