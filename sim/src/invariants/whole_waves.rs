//! A wave counts when the image of every rank in it is durable, and never before (mpich-v-2006 §2;
//! blocking-vs-nonblocking-2008 §3): what counts is returned to.

use super::broken;
use ftmpi_wire::{ImageNo, Rank};
use std::collections::BTreeSet;

/// The images that are durable.
#[derive(Debug, Default)]
pub struct WholeWaves {
    durable: BTreeSet<(ImageNo, usize)>,
}

impl WholeWaves {
    /// One is.
    pub fn is_durable(&mut self, rank: usize, wave: ImageNo) {
        self.durable.insert((wave, rank));
    }

    /// The wave of these ranks counts.
    pub fn counts(&self, wave: ImageNo, ranks: &[Rank]) {
        if let Some(lacking) = ranks.iter().find(|r| !self.durable.contains(&(wave, r.index()))) {
            let how = format!("wave {wave} counts, and the image of rank {lacking} is not durable");
            broken("whole-waves", &how);
        }
    }
}
