//! A job that is suspended without a failure, and before its grace is over, has a last image of
//! every rank that can still take one. The continued job begins from these images.
//!
//! A rank that has a last image begins from it in any case, unless the disk damages the image.

use super::broken;
use ftmpi_wire::ImageNo;
use std::collections::{BTreeMap, BTreeSet};

/// The last images of a job.
#[derive(Debug, Default)]
pub struct LastImages {
    /// Since the suspension was wanted: the images that were ordered, and whether nothing failed.
    ordered: Option<BTreeSet<(usize, ImageNo)>>,
    in_order: bool,
    /// From what ranks are to go on.
    expected: BTreeMap<usize, ImageNo>,
}

impl LastImages {
    /// From now on images are last ones.
    pub fn are_wanted(&mut self) {
        if self.ordered.is_none() {
            (self.ordered, self.in_order) = (Some(BTreeSet::new()), true);
        }
    }

    /// A rank is to take an image.
    pub fn is_ordered(&mut self, rank: usize, image: ImageNo) {
        if let Some(ordered) = &mut self.ordered {
            ordered.insert((rank, image));
        }
    }

    /// Something did: a rank, a host, an image.
    pub fn fails(&mut self) {
        self.in_order = false;
    }

    /// The job ends as ordered; `early`: before its grace is over. For each rank the image from
    /// which it goes on, and whether it could take one until now.
    pub fn job_ends(&mut self, early: bool, ranks: impl Iterator<Item = (Option<ImageNo>, bool)>) {
        let ordered = self.ordered.take().unwrap_or_default();
        for (rank, (image, able)) in ranks.enumerate() {
            match image.filter(|image| ordered.contains(&(rank, *image))) {
                Some(last) => {
                    self.expected.insert(rank, last);
                }
                None if early && able && self.in_order => {
                    let how =
                        format!("rank {rank} is to go on from {image:?}, which is no last one");
                    broken("last-images", &how);
                }
                None => {}
            }
        }
    }

    /// Everything is gone before the job has ended as ordered.
    pub fn job_is_lost(&mut self) {
        self.ordered = None;
    }

    /// These ranks need other images.
    pub fn are_damaged(&mut self, ranks: &[usize]) {
        self.expected.retain(|rank, _| !ranks.contains(rank));
    }

    /// A rank begins from this image.
    pub fn begins(&mut self, rank: usize, from: Option<ImageNo>) {
        if let Some(last) = self.expected.remove(&rank)
            && from != Some(last)
        {
            let how = format!("rank {rank} goes on from {from:?}, and its last image is {last}");
            broken("last-images", &how);
        }
    }
}
