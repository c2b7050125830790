//! Agreements of ranks that go on without others (`MPIX_Comm_agree`, `MPIX_Comm_shrink`).
//!
//! The machine stands where all deaths become known. Calling convention: call
//! [`Agreements::contribute`] with each contribution and [`Agreements::died`] with each death, then
//! drain [`Agreements::next_outcome`].
//!
//! Guarantees:
//! - An agreement ends once: when every member has contributed or is dead. Its outcome is one
//!   value, so no two members hear different ones.
//! - The dead of an outcome are exactly the members whose death was known then.
//! - A contribution counts also if its sender died after it. A second one of the same rank does
//!   not.
//!
//! The services are those of Bland et al., "Post-failure recovery of MPI communication capability"
//! (IJHPCA 2013). A failure detector that everybody believes takes the place of their consensus
//! among the ranks.

use ftmpi_wire::Rank;
use ftmpi_wire::group_news::{Agreed, AgreementName, Contribution, ranks_of};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// An agreement that has not ended.
#[derive(Debug)]
struct Open {
    members: BTreeSet<Rank>,
    /// Members that have neither contributed nor died.
    awaited: BTreeSet<Rank>,
    contributed: BTreeSet<Rank>,
    words: Vec<u64>,
    /// What all that contributed have acknowledged.
    acknowledged: BTreeSet<Rank>,
}

/// The outcome, and who is to hear it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// What all hear.
    pub agreed: Agreed,
    /// The members that live.
    pub to: Vec<Rank>,
}

/// The machine.
#[derive(Debug)]
pub struct Agreements {
    size: u32,
    open: BTreeMap<AgreementName, Open>,
    /// In the order of their deaths.
    dead: Vec<Rank>,
    outcomes: VecDeque<Outcome>,
}

/// Combines a contribution into the words so far: bitwise and, of the last word the greatest.
fn combine(words: &mut [u64], more: &[u64]) {
    let last = words.len().saturating_sub(1);
    for (i, (word, more)) in words.iter_mut().zip(more).enumerate() {
        *word = if i == last { *more.max(word) } else { *word & more };
    }
}

impl Agreements {
    /// Agreements among the ranks of a job of this size.
    #[must_use]
    pub fn new(size: u32) -> Self {
        Self { size, open: BTreeMap::new(), dead: Vec::new(), outcomes: VecDeque::new() }
    }

    /// So many more ranks.
    pub fn ranks_added(&mut self, ranks: u32) {
        self.size += ranks;
    }

    /// The ranks that have died, in their order.
    #[must_use]
    pub fn dead(&self) -> &[Rank] {
        &self.dead
    }

    /// A rank takes part. What a dead rank is said to contribute does not count.
    pub fn contribute(&mut self, from: Rank, contribution: Contribution) {
        let Contribution { name, members, words, acknowledged } = contribution;
        if self.dead.contains(&from) {
            return;
        }
        let (size, dead) = (self.size, &self.dead);
        let open = self.open.entry(name).or_insert_with(|| {
            let members: BTreeSet<Rank> = ranks_of(&members, size).collect();
            let awaited = members.iter().copied().filter(|rank| !dead.contains(rank)).collect();
            Open {
                members,
                awaited,
                contributed: BTreeSet::new(),
                words: words.clone(),
                acknowledged: acknowledged.iter().copied().collect(),
            }
        });
        if !open.awaited.remove(&from) {
            return;
        }
        open.contributed.insert(from);
        combine(&mut open.words, &words);
        open.acknowledged.retain(|rank| acknowledged.contains(rank));
        self.look_at(name);
    }

    /// A rank has died.
    pub fn died(&mut self, rank: Rank) {
        if self.dead.contains(&rank) {
            return;
        }
        self.dead.push(rank);
        let concerned = |open: &Open| open.members.contains(&rank);
        let names = self.open.iter().filter(|(_, open)| concerned(open)).map(|(name, _)| *name);
        for name in names.collect::<Vec<_>>() {
            if let Some(open) = self.open.get_mut(&name) {
                open.awaited.remove(&rank);
            }
            self.look_at(name);
        }
    }

    /// The next agreement that has ended.
    pub fn next_outcome(&mut self) -> Option<Outcome> {
        self.outcomes.pop_front()
    }

    fn look_at(&mut self, name: AgreementName) {
        if self.open.get(&name).is_none_or(|open| !open.awaited.is_empty()) {
            return;
        }
        let Some(open) = self.open.remove(&name) else { return };
        let among = |rank: &Rank| open.members.contains(rank);
        let dead: Vec<Rank> = self.dead.iter().copied().filter(among).collect();
        let all_acknowledged = dead.iter().all(|rank| open.acknowledged.contains(rank));
        let to = open.contributed.into_iter().filter(|rank| !dead.contains(rank)).collect();
        let agreed = Agreed { name, words: open.words, dead, all_acknowledged };
        self.outcomes.push_back(Outcome { agreed, to });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_wire::group_news::{GroupName, ranges};
    use proptest::prelude::*;

    const GROUP: GroupName = GroupName { context: 4, least: Rank(0) };

    fn part(number: u32, words: &[u64], acknowledged: &[u32]) -> Contribution {
        Contribution {
            name: AgreementName { group: GROUP, number },
            members: ranges((0..4).map(Rank)),
            words: words.to_vec(),
            acknowledged: acknowledged.iter().copied().map(Rank).collect(),
        }
    }

    #[test]
    fn an_agreement_ends_when_all_have_contributed_or_died() {
        let mut all = Agreements::new(4);
        all.contribute(Rank(0), part(1, &[7, 1], &[]));
        all.contribute(Rank(1), part(1, &[6, 9], &[]));
        // It died after its part.
        all.died(Rank(1));
        all.contribute(Rank(2), part(1, &[13, 2], &[1]));
        assert_eq!(all.next_outcome(), None);
        all.died(Rank(3));
        let outcome = all.next_outcome().unwrap();
        assert_eq!(
            (outcome.agreed.words.as_slice(), outcome.agreed.all_acknowledged),
            (&[4, 9][..], false)
        );
        assert_eq!(
            (outcome.agreed.dead, outcome.to),
            (vec![Rank(1), Rank(3)], vec![Rank(0), Rank(2)])
        );
        assert_eq!(all.next_outcome(), None);
        // The next one is among those who are left, and they know of all deaths.
        all.contribute(Rank(2), part(2, &[1, 0], &[1, 3]));
        all.contribute(Rank(3), part(2, &[0, 0], &[]));
        all.contribute(Rank(0), part(2, &[1, 0], &[3, 1]));
        let outcome = all.next_outcome().unwrap().agreed;
        assert_eq!((outcome.words, outcome.all_acknowledged), (vec![1, 0], true));
    }

    proptest! {
        /// Whatever the order of contributions and deaths: one outcome for each agreement that
        /// living ranks have all joined, with exactly the dead, and the words of those who
        /// contributed.
        #[test]
        fn any_order_of_parts_and_deaths_agrees(
            steps in proptest::collection::vec((0u32..4, any::<bool>(), any::<u8>()), 0..24),
        ) {
            let mut all = Agreements::new(4);
            let mut next = [0u32; 4];
            let mut dead: Vec<Rank> = Vec::new();
            let mut given: BTreeMap<u32, BTreeMap<Rank, u64>> = BTreeMap::new();
            let mut ended: BTreeSet<u32> = BTreeSet::new();
            for (rank, dies, word) in steps {
                let (me, place) = (Rank(rank), rank as usize);
                if dead.contains(&me) {
                    continue;
                }
                if dies && dead.len() < 3 {
                    dead.push(me);
                    all.died(me);
                } else if !dies && (next[place] == 0 || ended.contains(&next[place])) {
                    // A rank goes on to the next agreement when it has heard the last outcome.
                    next[place] += 1;
                    given.entry(next[place]).or_default().insert(me, u64::from(word));
                    all.contribute(me, part(next[place], &[u64::from(word), 0], &[]));
                }
                while let Some(Outcome { agreed, to }) = all.next_outcome() {
                    prop_assert!(ended.insert(agreed.name.number), "it ended twice");
                    prop_assert_eq!(&agreed.dead, &dead);
                    let parts = &given[&agreed.name.number];
                    prop_assert_eq!(agreed.words[0], parts.values().fold(u64::MAX, |a, b| a & b));
                    let living = (0..4).map(Rank).filter(|rank| !dead.contains(rank));
                    prop_assert_eq!(living.collect::<Vec<_>>(), to);
                }
            }
            for (number, parts) in given {
                let missing = (0..4).map(Rank).any(|r| !dead.contains(&r) && !parts.contains_key(&r));
                prop_assert_eq!(!missing, ended.contains(&number), "agreement {}", number);
            }
        }
    }
}
