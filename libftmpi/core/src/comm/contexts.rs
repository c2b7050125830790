//! Which context ids are free on this rank.
//!
//! A new communicator takes the lowest id that is free on all its ranks: they combine their masks
//! with a bitwise and. Ids come in pairs: even for point-to-point, odd for collectives.
//!
//! Guarantees: an id is not given again while a communicator, or a request on a freed one, uses it.

use super::Members;
use std::rc::Rc;

/// Pairs of context ids.
const PAIRS: usize = 1 << 15;
/// 64 pairs each.
const WORDS: usize = PAIRS / 64;

/// The ids of this rank.
#[derive(Debug)]
pub struct Contexts {
    /// Bit set: free.
    free: Box<[u64]>,
    /// Freed communicators on which requests may still be open.
    lingering: Vec<Rc<Members>>,
}

impl Default for Contexts {
    fn default() -> Self {
        Self { free: vec![u64::MAX; WORDS].into(), lingering: Vec::new() }
    }
}

impl Contexts {
    /// Words of the mask.
    pub const WORDS: usize = WORDS;

    /// Takes a context.
    pub fn take(&mut self, context: u16) {
        let pair = usize::from(context / 2);
        self.free[pair / 64] &= !(1 << (pair % 64));
    }

    /// The communicator is gone; its context becomes free with its last request.
    pub fn release(&mut self, members: Rc<Members>) {
        self.lingering.push(members);
    }

    /// Words `from..from + out.len()` of the mask of free ids.
    pub fn mask(&mut self, from: usize, out: &mut [u64]) {
        let free = &mut self.free;
        self.lingering.retain(|members| {
            let in_use = Rc::strong_count(members) > 1;
            if !in_use {
                let pair = usize::from(members.context / 2);
                free[pair / 64] |= 1 << (pair % 64);
            }
            in_use
        });
        out.copy_from_slice(&self.free[from..from + out.len()]);
    }

    /// The lowest context in a combined mask whose first word is number `from`.
    #[must_use]
    pub fn lowest(from: usize, mask: &[u64]) -> Option<u16> {
        let word = mask.iter().position(|&w| w != 0)?;
        let pair = (from + word) * 64 + mask[word].trailing_zeros() as usize;
        Some((pair * 2) as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Group;

    #[test]
    fn ids_come_back_with_the_last_request() {
        let mut contexts = Contexts::default();
        contexts.take(0);
        contexts.take(2);
        let mut mask = [0; 2];
        contexts.mask(0, &mut mask);
        assert_eq!(Contexts::lowest(0, &mask), Some(4));
        let members =
            Rc::new(Members { context: 2, local: Group::identity(1), me: 0, remote: None });
        let request = Rc::clone(&members);
        contexts.release(members);
        contexts.mask(0, &mut mask);
        assert_eq!(Contexts::lowest(0, &mask), Some(4));
        drop(request);
        contexts.mask(0, &mut mask);
        assert_eq!(Contexts::lowest(0, &mask), Some(2));
        assert_eq!(Contexts::lowest(3, &[0, 1 << 5]), Some((4 * 64 + 5) * 2));
        assert_eq!(Contexts::lowest(0, &[0, 0]), None);
    }
}
