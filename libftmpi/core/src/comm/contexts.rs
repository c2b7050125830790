//! Which context ids are free on this rank, and the generation that names each use of an id.
//!
//! A context is an id and a generation: `generation << 16 | id`. Ids come in pairs: even for
//! point-to-point, odd for collectives. A communicator or window that is made takes an id that is
//! free on all its members. Ids are given again, and in a replay the messages of all later
//! communicators arrive at once. So no id is given twice in one generation, and a message names the
//! communicator that it was sent on and no other.
//!
//! The members combine their [proposals](Offer::proposal): bit by bit the ids that are free
//! everywhere, and the greatest generation of any member. If the generation has no id left that is
//! free on all, a later one begins. The wire carries the low bits of the generation
//! ([`GENERATIONS`]).
//!
//! The lower half of the ids is for calls that wait for the agreement. Non-blocking calls use the
//! upper half. Each of them offers a few ids of its own until it is complete. So agreements at the
//! same time cannot choose the same id. The parent and the number of the call decide the ids. The
//! ids are the same on all ranks, and scattered so that two offers have few ids in common.
//!
//! Guarantees: an id is not given again while a communicator, or a request on a freed one, uses it.
//! Two communicators of a rank differ in id or generation, unless more than
//! [`GENERATIONS`]` - 1` generations lie between them.

use super::Members;
use crate::tuning::GENERATIONS;
use std::rc::Rc;

/// Where the generation begins in a context.
pub const GENERATION_SHIFT: u32 = 16;

/// Pairs of context ids.
const PAIRS: usize = 1 << 15;

/// The ids of this rank.
#[derive(Debug)]
pub struct Contexts {
    /// Bit set: no communicator has the pair, and no call is offered it.
    free: Box<[u64]>,
    /// Bit set: not given in this generation.
    fresh: Box<[u64]>,
    /// The latest generation of any agreement so far.
    generation: u64,
    /// Generations that the wire tells apart.
    generations: u64,
    /// Freed communicators on which requests may still be open.
    lingering: Vec<Rc<Members>>,
}

impl Default for Contexts {
    fn default() -> Self {
        let full = || vec![u64::MAX; PAIRS / 64].into();
        let (free, fresh) = (full(), full());
        Self { free, fresh, generation: 0, generations: GENERATIONS, lingering: Vec::new() }
    }
}

fn pair_of(context: u32) -> (usize, u64) {
    let pair = (context & 0xffff) as usize / 2;
    (pair / 64, 1 << (pair % 64))
}

impl Contexts {
    /// So few pairs in each half that ids are given again soon, for tests; `generations`: so many
    /// of them are told apart.
    #[must_use]
    pub fn narrow(pairs: u32, generations: u64) -> Self {
        let full = |pairs| vec![(1u64 << pairs) - 1; 2].into();
        let (free, fresh) = (full(pairs), full(63));
        Self { free, fresh, generation: 0, generations, lingering: Vec::new() }
    }

    /// Words (64 bits) of the ids for calls that wait.
    #[must_use]
    pub fn words(&self) -> usize {
        self.free.len() / 2
    }

    /// Takes a context.
    pub fn take(&mut self, context: u32) {
        let (word, bit) = pair_of(context);
        self.free[word] &= !bit;
        self.fresh[word] &= !bit;
    }

    /// Offers ids for the `sequence`-th call on a communicator of this context. No other call is
    /// offered them until they are withdrawn.
    pub fn offer(&mut self, context: u32, sequence: u32) -> Offer {
        self.reclaim();
        let mut mixed = (u64::from(context) << 32 | u64::from(sequence)) + 0x9e37_79b9_7f4a_7c15;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let (step, start) = (mixed as usize | 1, (mixed >> 32) as usize);
        let pairs = 32 * self.free.len();
        let mut offer = Offer { step, start, pairs, proposal: [0; Offer::WORDS] };
        for i in 0..Offer::PAIRS {
            let pair = offer.pair(i);
            let (word, bit) = (pair / 64, 1 << (pair % 64));
            if self.free[word] & bit != 0 {
                self.free[word] &= !bit;
                let fresh = u64::from(self.fresh[word] & bit != 0);
                offer.proposal[i / 64] |= fresh << (i % 64);
                offer.proposal[Offer::PAIRS / 64 + i / 64] |= 1 << (i % 64);
            }
        }
        offer.proposal[Offer::WORDS - 1] = self.generation;
        offer
    }

    /// Ends an offer.
    pub fn withdraw(&mut self, offer: &Offer) {
        let free = &offer.proposal[Offer::PAIRS / 64..];
        for i in (0..Offer::PAIRS).filter(|i| free[i / 64] >> (i % 64) & 1 == 1) {
            let pair = offer.pair(i);
            self.free[pair / 64] |= 1 << (pair % 64);
        }
    }

    /// The context that an offer leads to, with the combined proposal of all members. The caller
    /// takes it before it waits for anything.
    pub fn outcome(&mut self, offer: &Offer, combined: &[u64]) -> Option<u32> {
        let (i, generation) = choose(combined)?;
        Some(self.context(offer.pair(i), generation))
    }

    /// The communicator is gone; its context becomes free with its last request.
    pub fn release(&mut self, members: Rc<Members>) {
        self.lingering.push(members);
    }

    /// A proposal of the ids of up to `words` words from number `from` on. Every call may be
    /// offered these.
    pub fn proposal(&mut self, from: usize, words: usize) -> Vec<u64> {
        self.reclaim();
        let words = from..(from + words).min(self.words());
        let free = &self.free[words.clone()];
        let mut out: Vec<u64> =
            free.iter().zip(&self.fresh[words]).map(|(free, fresh)| free & fresh).collect();
        out.extend(free);
        out.push(self.generation);
        out
    }

    /// The lowest context of the combined [proposal](Contexts::proposal) from word `from` on.
    pub fn lowest(&mut self, from: usize, combined: &[u64]) -> Option<u32> {
        let (i, generation) = choose(combined)?;
        Some(self.context(from * 64 + i, generation))
    }

    /// This use of a pair. A generation begins with its first use: all pairs are fresh in it.
    fn context(&mut self, pair: usize, generation: u64) -> u32 {
        if generation > self.generation {
            self.generation = generation;
            self.fresh.fill(u64::MAX);
        }
        ((generation % self.generations) as u32) << GENERATION_SHIFT | (pair * 2) as u32
    }

    /// Frees the contexts of communicators without requests.
    fn reclaim(&mut self) {
        let free = &mut self.free;
        self.lingering.retain(|members| {
            let in_use = Rc::strong_count(members) > 1;
            if !in_use {
                let (word, bit) = pair_of(members.context);
                free[word] |= bit;
            }
            in_use
        });
    }
}

/// Combines the proposals of two members: ids that both have free, the later generation.
pub fn combine(proposal: &mut [u64], other: &[u64]) {
    let last = proposal.len().saturating_sub(1);
    for (at, (ours, theirs)) in proposal.iter_mut().zip(other).enumerate() {
        *ours = if at == last { (*ours).max(*theirs) } else { *ours & *theirs };
    }
}

/// The pair that the members choose of a combined proposal, and its generation. A pair that is
/// fresh on those who have reached the latest generation has not been given in it on the others
/// either. One that is only free begins the next generation, which no member has reached.
fn choose(combined: &[u64]) -> Option<(usize, u64)> {
    let (generation, pairs) = combined.split_last()?;
    let (fresh, free) = pairs.split_at(pairs.len() / 2);
    let first = |mask: &[u64]| {
        let word = mask.iter().position(|&word| word != 0)?;
        Some(word * 64 + mask[word].trailing_zeros() as usize)
    };
    match first(fresh) {
        Some(pair) => Some((pair, *generation)),
        None => first(free).map(|pair| (pair, generation + 1)),
    }
}

/// Ids of the upper half that one agreement may choose from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    step: usize,
    start: usize,
    /// Pairs of the upper half.
    pairs: usize,
    /// What this rank brings into the agreement: pairs of the offer that are free and were not
    /// given in this generation, those that are free, the generation.
    pub proposal: [u64; Self::WORDS],
}

impl Offer {
    /// Pairs that it names.
    const PAIRS: usize = 512;
    /// Words (64 bits) of a proposal.
    pub const WORDS: usize = 2 * Self::PAIRS / 64 + 1;

    /// Number `i` of the ids. The step is odd, so that all ids differ.
    fn pair(&self, i: usize) -> usize {
        self.pairs + self.start.wrapping_add(i.wrapping_mul(self.step)) % self.pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Group;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn ids_come_back_with_the_last_request() {
        let mut contexts = Contexts::default();
        contexts.take(0);
        contexts.take(2);
        let lowest = |contexts: &mut Contexts| {
            let proposal = contexts.proposal(0, 2);
            contexts.lowest(0, &proposal)
        };
        assert_eq!(lowest(&mut contexts), Some(4));
        let members =
            Rc::new(Members { context: 2, local: Group::identity(1), me: 0, remote: None });
        let request = Rc::clone(&members);
        contexts.release(members);
        contexts.proposal(0, 2);
        assert_eq!(contexts.free[0] & 2, 0, "a request is open");
        drop(request);
        contexts.proposal(0, 2);
        assert_eq!(contexts.free[0] & 2, 2);
        assert_eq!(lowest(&mut contexts), Some(4), "it was given in this generation");
        contexts.fresh.fill(0);
        assert_eq!(lowest(&mut contexts), Some(1 << 16 | 2), "the next generation begins");
        assert_eq!(
            contexts.lowest(3, &[0, 1 << 5, 0, 1 << 5, 1]),
            Some((1 << 16) | ((4 * 64 + 5) * 2))
        );
        assert_eq!(contexts.lowest(0, &[0, 0, 7]), None);
    }

    #[test]
    fn offers_under_way_never_overlap() {
        let mut contexts = Contexts::default();
        let mut seen = HashSet::new();
        let mut offers = Vec::new();
        for sequence in 0..50 {
            let offer = contexts.offer(sequence % 3 * 2, sequence);
            let free = &offer.proposal[Offer::PAIRS / 64..2 * Offer::PAIRS / 64];
            let count: u32 = free.iter().map(|w| w.count_ones()).sum();
            assert!(count > 50, "only {count} ids are left");
            for i in (0..512).filter(|i| free[i / 64] >> (i % 64) & 1 == 1) {
                assert!(offer.pair(i) >= PAIRS / 2 && seen.insert(offer.pair(i)));
            }
            offers.push(offer);
        }
        for offer in &offers {
            let context = contexts.outcome(offer, &offer.proposal).unwrap();
            assert!((context & 0xffff) as usize / 2 >= PAIRS / 2);
            contexts.withdraw(offer);
        }
        assert!(contexts.free.iter().all(|&word| word == u64::MAX));
    }

    proptest! {
        /// Ranks make and free communicators of some of them, two agreements of a rank now and then
        /// at a time: no rank ever gets the same context twice.
        #[test]
        fn no_context_is_given_twice(
            steps in proptest::collection::vec((1u8..16, any::<bool>(), any::<u8>()), 1..200),
        ) {
            let mut ranks: Vec<Contexts> = (0..4).map(|_| Contexts::narrow(3, GENERATIONS)).collect();
            let mut given: Vec<HashSet<u32>> = vec![HashSet::new(); 4];
            let mut alive: Vec<(u8, Vec<Rc<Members>>)> = Vec::new();
            let mut open: Vec<(u8, Vec<Offer>)> = Vec::new();
            let of = |members: u8| (0..4usize).filter(move |rank| members >> rank & 1 == 1);
            for (number, (members, waits, choice)) in (0..).zip(steps) {
                let offers = of(members).map(|rank| ranks[rank].offer(0, number)).collect();
                open.push((members, offers));
                if waits && open.len() < 3 {
                    continue;
                }
                let (members, offers) = open.remove(usize::from(choice) % open.len());
                let mut combined = offers[0].proposal;
                offers.iter().for_each(|offer| combine(&mut combined, &offer.proposal));
                let mut made = Vec::new();
                for (rank, offer) in of(members).zip(&offers) {
                    ranks[rank].withdraw(offer);
                    let Some(context) = ranks[rank].outcome(offer, &combined) else { continue };
                    ranks[rank].take(context);
                    prop_assert!(given[rank].insert(context), "{context:#x} twice on rank {rank}");
                    let local = Group::identity(4);
                    made.push(Rc::new(Members { context, local, me: rank as u32, remote: None }));
                }
                if !made.is_empty() {
                    prop_assert!(made.iter().all(|members| members.context == made[0].context));
                    alive.push((members, made));
                }
                if choice % 2 == 1 && !alive.is_empty() {
                    let (members, freed) = alive.swap_remove(usize::from(choice) % alive.len());
                    of(members).zip(freed).for_each(|(rank, members)| ranks[rank].release(members));
                }
            }
        }
    }
}
