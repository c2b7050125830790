//! References from incremental images to their bases: the earlier containers that hold chunks of
//! them.
//!
//! Guarantees: a container stays while an image that is offered, or one that is being received,
//! refers to it. A container that is no longer offered goes with the last image that refers to it.
//! This module has no side effects; [`super::disk`] carries out what it decides.

use super::image_file::image_name;
use crate::files::Files;
use ftmpi_protocols::image_catalogue::ConnId;
use ftmpi_wire::ImageId;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

/// What refers to a base.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Holder {
    /// A stored image.
    Image(ImageId),
    /// An image that this connection sends.
    Upload(ConnId),
}

/// All references in one directory.
#[derive(Debug, Default)]
pub(super) struct BaseRefs {
    rests: BTreeMap<Holder, BTreeSet<ImageId>>,
    /// Bases that are no longer offered, and their bytes.
    retired: BTreeMap<ImageId, u64>,
}

impl BaseRefs {
    /// Notes that `holder` refers to `base`.
    pub fn hold(&mut self, holder: Holder, base: ImageId) {
        self.rests.entry(holder).or_default().insert(base);
    }

    /// The image from this connection has its name now.
    pub fn settle(&mut self, conn: ConnId, name: ImageId) {
        if let Some(bases) = self.rests.remove(&Holder::Upload(conn)) {
            self.rests.insert(Holder::Image(name), bases);
        }
    }

    /// The bases of `holder`.
    pub fn bases(&self, holder: Holder) -> impl Iterator<Item = ImageId> + '_ {
        self.rests.get(&holder).into_iter().flatten().copied()
    }

    /// Whether any holder refers to the container.
    pub fn is_held(&self, base: ImageId) -> bool {
        self.rests.values().any(|bases| bases.contains(&base))
    }

    /// The container is no longer offered, and stays for its holders.
    pub fn retire(&mut self, base: ImageId, bytes: u64) {
        self.retired.insert(base, bytes);
    }

    /// `holder` is gone. Gives the retired bases that nobody refers to any more.
    pub fn release(&mut self, holder: Holder) -> Vec<ImageId> {
        let Some(bases) = self.rests.remove(&holder) else { return Vec::new() };
        let mut free = Vec::new();
        for base in bases {
            if !self.is_held(base) && self.retired.remove(&base).is_some() {
                free.push(base);
            }
        }
        free
    }

    /// Bytes of the bases that are no longer offered.
    pub fn retired_bytes(&self) -> u64 {
        self.retired.values().sum()
    }
}

/// Locks the references of a directory.
pub(super) fn lock(base_refs: &Mutex<BaseRefs>) -> MutexGuard<'_, BaseRefs> {
    base_refs.lock().expect("no panic while it is locked")
}

/// A holder is gone: removes the bases that nobody needs any more.
pub(super) fn release(
    base_refs: &Mutex<BaseRefs>,
    files: &Files,
    dir: &Path,
    holder: Holder,
) -> Vec<ImageId> {
    let mut base_refs = lock(base_refs);
    let free = base_refs.release(holder);
    for base in &free {
        let _ = files.remove(&dir.join(image_name(*base)).with_extension("ground"));
    }
    free
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_wire::{ImageNo, Incarnation, Rank};

    fn name(image: u64) -> ImageId {
        ImageId { rank: Rank(0), image: ImageNo(image), incarnation: Incarnation(0) }
    }

    #[test]
    fn a_base_stays_until_the_last_that_rests_on_it_goes() {
        let mut base_refs = BaseRefs::default();
        let upload = Holder::Upload(ConnId(1));
        base_refs.hold(upload, name(1));
        assert!(base_refs.is_held(name(1)) && !base_refs.is_held(name(2)));
        base_refs.settle(ConnId(1), name(2));
        assert!(base_refs.release(upload).is_empty());
        base_refs.hold(Holder::Image(name(3)), name(1));
        base_refs.retire(name(1), 70);
        assert_eq!(base_refs.retired_bytes(), 70);
        assert!(base_refs.release(Holder::Image(name(2))).is_empty());
        assert_eq!(base_refs.release(Holder::Image(name(3))), [name(1)]);
        assert_eq!(base_refs.retired_bytes(), 0);
    }
}
