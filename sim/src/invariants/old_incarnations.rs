//! A message of an earlier incarnation of a peer is refused after the news of a later incarnation
//! (protocols.md, *restart handshake*: every frame carries the incarnation). The later incarnation
//! sends the same messages again, and any other message was never sent.

use super::broken;
use ftmpi_wire::{Incarnation, Rank};
use std::collections::BTreeMap;

/// The latest incarnation of each peer that each rank has heard of.
#[derive(Debug, Default)]
pub struct OldIncarnations {
    heard: BTreeMap<(usize, Rank), Incarnation>,
}

impl OldIncarnations {
    /// An incarnation of this rank begins, and has heard of nothing.
    pub fn begins(&mut self, rank: usize) {
        self.heard.retain(|(of, _), _| *of != rank);
    }

    /// It hears of this incarnation of a peer.
    pub fn hears(&mut self, rank: usize, peer: Rank, incarnation: Incarnation) {
        let heard = self.heard.entry((rank, peer)).or_insert(incarnation);
        *heard = incarnation.max(*heard);
    }

    /// It takes what this incarnation of a peer has sent.
    pub fn takes(&self, rank: usize, peer: Rank, incarnation: Incarnation) {
        if let Some(heard) = self.heard.get(&(rank, peer))
            && incarnation < *heard
        {
            let how = format!(
                "rank {rank} takes what incarnation {incarnation} of rank {peer} sent, and knows of incarnation {heard}"
            );
            broken("old-incarnations", &how);
        }
    }
}
