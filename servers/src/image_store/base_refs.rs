//! Which stored images others rest on: an incremental image names chunks of earlier ones
//! (`ftmpi_checkpoint::container`).
//!
//! Guarantees: a container is not removed while an image that is offered, or one that is on its way,
//! rests on it; one that is not offered any more goes when the last of those goes. Pure; the disk
//! carries out what is said here.

use ftmpi_protocols::image_catalogue::{ConnId, ImageName};
use std::collections::{BTreeMap, BTreeSet};

/// Who rests on something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Holder {
    /// An image that is there.
    Image(ImageName),
    /// One that comes on this connection.
    Upload(ConnId),
}

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct BaseRefs {
    rests: BTreeMap<Holder, BTreeSet<ImageName>>,
    /// Not offered any more, and their bytes.
    retired: BTreeMap<ImageName, u64>,
}

impl BaseRefs {
    /// `holder` rests on `base`.
    pub fn hold(&mut self, holder: Holder, base: ImageName) {
        self.rests.entry(holder).or_default().insert(base);
    }

    /// What came on this connection is there under its name.
    pub fn settle(&mut self, conn: ConnId, name: ImageName) {
        if let Some(bases) = self.rests.remove(&Holder::Upload(conn)) {
            self.rests.insert(Holder::Image(name), bases);
        }
    }

    /// What `holder` rests on.
    pub fn bases(&self, holder: Holder) -> impl Iterator<Item = ImageName> + '_ {
        self.rests.get(&holder).into_iter().flatten().copied()
    }

    /// Whether anybody rests on it.
    pub fn is_held(&self, base: ImageName) -> bool {
        self.rests.values().any(|bases| bases.contains(&base))
    }

    /// It is not offered any more, but kept for those that rest on it.
    pub fn retire(&mut self, base: ImageName, bytes: u64) {
        self.retired.insert(base, bytes);
    }

    /// `holder` is gone: gives the retired ones that nobody rests on any more.
    pub fn release(&mut self, holder: Holder) -> Vec<ImageName> {
        let Some(bases) = self.rests.remove(&holder) else { return Vec::new() };
        let mut free = Vec::new();
        for base in bases {
            if !self.is_held(base) && self.retired.remove(&base).is_some() {
                free.push(base);
            }
        }
        free
    }

    /// Bytes of what is kept only for others.
    pub fn retired_bytes(&self) -> u64 {
        self.retired.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_wire::{ImageNo, Incarnation, Rank};

    fn name(image: u64) -> ImageName {
        ImageName { rank: Rank(0), image: ImageNo(image), incarnation: Incarnation(0) }
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
