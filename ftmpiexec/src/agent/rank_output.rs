//! What the agent keeps of its ranks' output over all incarnations.

use super::output_hold::OutputHold;
use super::output_window::{Forwarded, Window};
use ftmpi_wire::Rank;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The output of the ranks of this host.
#[derive(Debug)]
pub struct RankOutput {
    /// Room for output on the way to the launcher.
    pub window: Window,
    forwarded: BTreeMap<Rank, Forwarded>,
    /// Held text of incarnations that were killed. It is printed only if no other incarnation comes
    /// after them.
    dead_holds: BTreeMap<Rank, Arc<OutputHold>>,
}

impl RankOutput {
    /// Nothing has been written yet.
    pub fn new() -> Self {
        let (forwarded, dead_holds) = (BTreeMap::new(), BTreeMap::new());
        Self { window: Window::new(), forwarded, dead_holds }
    }

    /// How much of a rank's output has left this agent.
    pub fn forwarded(&mut self, rank: Rank) -> Forwarded {
        self.forwarded.entry(rank).or_default().clone()
    }

    /// Bytes of a rank's output that are not lost: they were printed, sent to be printed, or are
    /// held here.
    pub fn kept(&mut self, rank: Rank, printed: [u64; 2]) -> [u64; 2] {
        let forwarded = self.forwarded(rank).both();
        let held = self.dead_holds.get(&rank).map_or([0; 2], |hold| hold.ends());
        std::array::from_fn(|stream| printed[stream].max(forwarded[stream]).max(held[stream]))
    }

    /// Keeps the held text of an incarnation that was killed.
    pub fn keep_held(&mut self, rank: Rank, hold: Arc<OutputHold>) {
        self.dead_holds.insert(rank, hold);
    }

    /// The next incarnation of a rank begins from an image at which the program had written
    /// `written`. The dead incarnation's text up to there is final, because the image is durable.
    /// The next incarnation writes the rest again, or something else.
    pub fn continue_from(&mut self, rank: Rank, written: Option<[u64; 2]>) {
        let hold = self.dead_holds.remove(&rank);
        if let (Some(hold), Some(written)) = (hold, written) {
            hold.release(written);
        }
    }

    /// Held text of incarnations that have no successor.
    pub fn dead_holds(&self) -> impl Iterator<Item = &Arc<OutputHold>> {
        self.dead_holds.values()
    }
}
