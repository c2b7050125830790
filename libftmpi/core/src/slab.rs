//! A table of objects under small numbers, which become MPI handles.
//!
//! Guarantees: insert, look-up and removal in constant time. The number that an insertion gets
//! depends only on the insertions and removals before it. So a replayed rank gives its objects the
//! same handles. Numbers are reused (last freed, first used). There is no generation, because a
//! handle of the MPICH ABI has no room for one.

use crate::bail;
use crate::error::Result;

/// The largest number of objects of one kind: what fits the index bits of a handle.
pub const MAX_OBJECTS: u32 = 1 << 26;

#[derive(Debug, Clone)]
enum Slot<T> {
    Full(T),
    /// The next free slot, or `NONE`.
    Free(u32),
}

const NONE: u32 = u32::MAX;

/// Objects under numbers from 0.
#[derive(Debug, Clone)]
pub struct Slab<T> {
    slots: Vec<Slot<T>>,
    free: u32,
    len: u32,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Slab<T> {
    /// An empty table.
    #[must_use]
    pub const fn new() -> Self {
        Self { slots: Vec::new(), free: NONE, len: 0 }
    }

    /// Stores `value` and returns its number; fails with `MPI_ERR_NO_MEM` when the handles of this
    /// kind are used up.
    #[inline]
    pub fn insert(&mut self, value: T) -> Result<u32> {
        if self.free != NONE {
            let index = self.free;
            let slot = &mut self.slots[index as usize];
            if let Slot::Free(next) = *slot {
                self.free = next;
            }
            *slot = Slot::Full(value);
            self.len += 1;
            return Ok(index);
        }
        self.append(value)
    }

    #[cold]
    fn append(&mut self, value: T) -> Result<u32> {
        let index = self.slots.len() as u32;
        if index >= MAX_OBJECTS {
            bail!(
                NoMem,
                "{MAX_OBJECTS} objects of one kind are alive: free handles that are not used"
            );
        }
        self.slots.push(Slot::Full(value));
        self.len += 1;
        Ok(index)
    }

    /// The number that the next insertion will get.
    #[must_use]
    pub fn next_index(&self) -> u32 {
        if self.free == NONE { self.slots.len() as u32 } else { self.free }
    }

    /// The object under this number.
    #[must_use]
    #[inline]
    pub fn get(&self, index: u32) -> Option<&T> {
        match self.slots.get(index as usize) {
            Some(Slot::Full(value)) => Some(value),
            _ => None,
        }
    }

    /// The object under this number, to be changed.
    #[must_use]
    #[inline]
    pub fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        match self.slots.get_mut(index as usize) {
            Some(Slot::Full(value)) => Some(value),
            _ => None,
        }
    }

    /// Whether there is an object under this number.
    #[must_use]
    pub fn contains(&self, index: u32) -> bool {
        self.get(index).is_some()
    }

    /// Takes the object under this number out; the number becomes free.
    pub fn remove(&mut self, index: u32) -> Option<T> {
        let slot = self.slots.get_mut(index as usize)?;
        if !matches!(slot, Slot::Full(_)) {
            return None;
        }
        let Slot::Full(value) = std::mem::replace(slot, Slot::Free(self.free)) else {
            return None;
        };
        self.free = index;
        self.len -= 1;
        Some(value)
    }

    /// Frees the number of an object that owns nothing: it is not dropped, which would cost a look
    /// at what it is.
    #[inline]
    pub fn forget(&mut self, index: u32) {
        if let Some(slot @ Slot::Full(_)) = self.slots.get_mut(index as usize) {
            std::mem::forget(std::mem::replace(slot, Slot::Free(self.free)));
            self.free = index;
            self.len -= 1;
        }
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there is no object.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All objects in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.slots.iter().enumerate().filter_map(|(i, slot)| match slot {
            Slot::Full(value) => Some((i as u32, value)),
            Slot::Free(_) => None,
        })
    }

    /// All objects in the order of their numbers, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut T)> {
        self.slots.iter_mut().enumerate().filter_map(|(i, slot)| match slot {
            Slot::Full(value) => Some((i as u32, value)),
            Slot::Free(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn behaves_like_a_map(steps in prop::collection::vec((any::<bool>(), 0u32..20), 0..200)) {
            let mut slab = Slab::new();
            let mut model = BTreeMap::new();
            for (step, (insert, index)) in steps.into_iter().enumerate() {
                if insert {
                    let expected = slab.next_index();
                    let at = slab.insert(step).unwrap();
                    prop_assert_eq!(at, expected);
                    prop_assert!(model.insert(at, step).is_none());
                } else if step % 3 == 0 {
                    slab.forget(index);
                    model.remove(&index);
                } else {
                    prop_assert_eq!(slab.remove(index), model.remove(&index));
                }
                prop_assert_eq!(slab.len(), model.len());
                prop_assert_eq!(slab.is_empty(), model.is_empty());
                prop_assert!(slab.iter().map(|(i, v)| (i, *v)).eq(model.iter().map(|(i, v)| (*i, *v))));
            }
        }
    }
}
