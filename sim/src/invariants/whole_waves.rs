//! A wave counts when the image of every rank in it is durable, and never before (mpich-v-2006 §2;
//! blocking-vs-nonblocking-2008 §3). A wave that counts can be returned to, and is kept as long as
//! that is possible.

use super::broken;
use ftmpi_wire::ImageNo;
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
    pub fn counts(&self, wave: ImageNo, ranks: &[usize]) {
        if let Some(lacking) = ranks.iter().find(|rank| !self.durable.contains(&(wave, **rank))) {
            let how = format!("wave {wave} counts, and the image of rank {lacking} is not durable");
            broken("whole-waves", &how);
        }
    }

    /// The disk has damaged one.
    pub fn is_damaged(&mut self, rank: usize, wave: ImageNo) {
        self.durable.remove(&(wave, rank));
    }

    /// The rank is to return to this wave, and its image is not there.
    pub fn lacks(&self, rank: usize, wave: ImageNo) {
        if self.durable.contains(&(wave, rank)) {
            let how = format!("rank {rank} returns to wave {wave}, whose image was removed");
            broken("whole-waves", &how);
        }
    }
}
