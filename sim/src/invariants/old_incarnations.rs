//! What an earlier life of a peer sent is not taken after the news that it has a later one
//! (protocols.md, *restart handshake*: every frame carries the incarnation): a later life sends the same
//! again, and what it does not send again was never sent.

use super::broken;
use ftmpi_wire::{Incarnation, Rank};
use std::collections::BTreeMap;

/// The latest life of each peer that each rank has heard of.
#[derive(Debug, Default)]
pub struct OldLives {
    heard: BTreeMap<(usize, Rank), Incarnation>,
}

impl OldLives {
    /// A life of this rank begins, and has heard of nothing.
    pub fn begins(&mut self, rank: usize) {
        self.heard.retain(|(of, _), _| *of != rank);
    }

    /// It hears of this life of a peer.
    pub fn hears(&mut self, rank: usize, peer: Rank, life: Incarnation) {
        let heard = self.heard.entry((rank, peer)).or_insert(life);
        *heard = life.max(*heard);
    }

    /// It takes what this life of a peer has sent.
    pub fn takes(&self, rank: usize, peer: Rank, life: Incarnation) {
        if let Some(heard) = self.heard.get(&(rank, peer))
            && life < *heard
        {
            let how = format!(
                "rank {rank} takes what life {life} of rank {peer} sent, and knows of life {heard}"
            );
            broken("old-lives", &how);
        }
    }
}
