//! Which context ids are free on this rank.
//!
//! A new communicator takes the lowest id that is free on all its ranks: they combine their masks
//! with a bitwise and. Ids come in pairs: even for point-to-point, odd for collectives.
//!
//! The lower half is for calls that wait for the agreement. Non-blocking calls use the upper half.
//! Each of them offers a few ids of its own until it is complete, so that agreements at the same
//! time cannot choose the same id. The parent and the number of the call decide which ids: the same
//! on all ranks, and scattered, so that two offers have few ids in common.
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
    /// Words (64 bits) of the mask for calls that wait.
    pub const WORDS: usize = WORDS / 2;
    /// Takes a context.
    pub fn take(&mut self, context: u16) {
        let pair = usize::from(context / 2);
        self.free[pair / 64] &= !(1 << (pair % 64));
    }

    /// Offers ids for the `sequence`-th call on a communicator of this context. No other call is
    /// offered them until they are withdrawn.
    pub fn offer(&mut self, context: u16, sequence: u32) -> Offer {
        self.reclaim();
        let mut mixed = (u64::from(context) << 32 | u64::from(sequence)) + 0x9e37_79b9_7f4a_7c15;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let (step, start) = (mixed as usize | 1, (mixed >> 32) as usize);
        let mut offer = Offer { step, start, mask: [0; Offer::WORDS] };
        for i in 0..64 * Offer::WORDS {
            let pair = offer.pair(i);
            let free = &mut self.free[pair / 64];
            if *free >> (pair % 64) & 1 == 1 {
                *free &= !(1 << (pair % 64));
                offer.mask[i / 64] |= 1 << (i % 64);
            }
        }
        offer
    }

    /// Ends an offer.
    pub fn withdraw(&mut self, offer: &Offer) {
        for i in (0..64 * Offer::WORDS).filter(|i| offer.mask[i / 64] >> (i % 64) & 1 == 1) {
            let pair = offer.pair(i);
            self.free[pair / 64] |= 1 << (pair % 64);
        }
    }

    /// The communicator is gone; its context becomes free with its last request.
    pub fn release(&mut self, members: Rc<Members>) {
        self.lingering.push(members);
    }

    /// Words (64 bits) `from..from + out.len()` of the mask of free ids.
    pub fn mask(&mut self, from: usize, out: &mut [u64]) {
        self.reclaim();
        out.copy_from_slice(&self.free[from..from + out.len()]);
    }

    /// Frees the contexts of communicators without requests.
    fn reclaim(&mut self) {
        let free = &mut self.free;
        self.lingering.retain(|members| {
            let in_use = Rc::strong_count(members) > 1;
            if !in_use {
                let pair = usize::from(members.context / 2);
                free[pair / 64] |= 1 << (pair % 64);
            }
            in_use
        });
    }

    /// The lowest context in a combined mask whose first word is number `from`.
    #[must_use]
    pub fn lowest(from: usize, mask: &[u64]) -> Option<u16> {
        let word = mask.iter().position(|&w| w != 0)?;
        let pair = (from + word) * 64 + mask[word].trailing_zeros() as usize;
        Some((pair * 2) as u16)
    }
}

/// Ids of the upper half that one agreement may choose from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    step: usize,
    start: usize,
    /// The ids of the offer that are free on this rank.
    pub mask: [u64; Self::WORDS],
}

impl Offer {
    /// Words (64 bits) of the mask.
    pub const WORDS: usize = 8;

    /// Number `i` of the ids. The step is odd, so that all ids differ.
    fn pair(&self, i: usize) -> usize {
        PAIRS / 2 + self.start.wrapping_add(i.wrapping_mul(self.step)) % (PAIRS / 2)
    }

    /// The first context in a combined mask.
    #[must_use]
    pub fn first(&self, mask: &[u64; Self::WORDS]) -> Option<u16> {
        let word = mask.iter().position(|&w| w != 0)?;
        Some((self.pair(word * 64 + mask[word].trailing_zeros() as usize) * 2) as u16)
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

    #[test]
    fn offers_under_way_never_overlap() {
        let mut contexts = Contexts::default();
        let mut seen = std::collections::HashSet::new();
        let mut offers = Vec::new();
        for sequence in 0..50 {
            let offer = contexts.offer(sequence as u16 % 3 * 2, sequence);
            let count: u32 = offer.mask.iter().map(|w| w.count_ones()).sum();
            assert!(count > 50, "only {count} ids are left");
            for i in (0..512).filter(|i| offer.mask[i / 64] >> (i % 64) & 1 == 1) {
                assert!(offer.pair(i) >= PAIRS / 2 && seen.insert(offer.pair(i)));
            }
            offers.push(offer);
        }
        for offer in &offers {
            let context = offer.first(&offer.mask).unwrap();
            assert!(usize::from(context / 2) >= PAIRS / 2);
            contexts.withdraw(offer);
        }
        assert!(contexts.free.iter().all(|&word| word == u64::MAX));
    }
}
