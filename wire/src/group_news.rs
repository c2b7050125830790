//! What ranks hear and say when a job goes on without ranks that have died
//! (`docs/internals/going-on-without-ranks.md`).
//!
//! Guarantees: the launcher makes all news, and every rank hears them in one order. A communicator
//! is named by its context and its least world rank: two communicators of one context have no
//! member in common.

use crate::Rank;
use serde::{Deserialize, Serialize};

/// A communicator, to those who are not in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GroupName {
    /// Its context.
    pub context: u32,
    /// The least world rank among its members.
    pub least: Rank,
}

/// One agreement on a communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AgreementName {
    /// The communicator.
    pub group: GroupName,
    /// The how many-th agreement of the communicator it is.
    pub number: u32,
}

/// What a rank wants all to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum GroupRequest {
    /// `MPIX_Comm_revoke`
    Revoke(GroupName),
    /// The rank's part in an agreement.
    Contribute(Contribution),
    /// `MPI_Abort` on a communicator: its members end, and the others go on.
    Abort {
        /// The members, as ranges of world ranks (first and last).
        members: Vec<(Rank, Rank)>,
        /// The program's code.
        code: i32,
    },
}

/// The part of a rank in an agreement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contribution {
    /// Which agreement.
    pub name: AgreementName,
    /// The members of the communicator, as ranges of world ranks (first and last).
    pub members: Vec<(Rank, Rank)>,
    /// The words that are combined: bitwise and, of the last word the greatest.
    pub words: Vec<u64>,
    /// Members whose death the rank has acknowledged.
    pub acknowledged: Vec<Rank>,
}

/// How an agreement ended. All members that live hear the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agreed {
    /// Which agreement.
    pub name: AgreementName,
    /// The words of all contributions, combined.
    pub words: Vec<u64>,
    /// The members that were dead then, in the order of their deaths.
    pub dead: Vec<Rank>,
    /// All of them were acknowledged by all that contributed.
    pub all_acknowledged: bool,
}

/// What ranks hear.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum GroupNews {
    /// The rank has died, and the others go on.
    Failed(Rank),
    /// A member has revoked the communicator.
    Revoked(GroupName),
    /// An agreement has ended.
    Agreed(Agreed),
}

/// Revocations that are remembered: the newest ones. A rank that begins later is a member of no
/// communicator that is older than its world, so the old ones concern nobody.
pub const REVOCATIONS_KEPT: usize = 1000;

/// Adds news to those that ranks which begin later will hear.
pub fn keep_for_latecomers(kept: &mut Vec<GroupNews>, news: &GroupNews) {
    if !news.is_for_latecomers() {
        return;
    }
    kept.push(news.clone());
    let is_revocation = |news: &&GroupNews| matches!(news, GroupNews::Revoked(_));
    if kept.iter().filter(is_revocation).count() > REVOCATIONS_KEPT {
        let oldest = kept.iter().position(|news| is_revocation(&news));
        oldest.map(|at| kept.remove(at));
    }
}

impl GroupNews {
    /// Whether ranks that begin later must hear it as well. What was agreed on concerns only ranks
    /// that took part.
    fn is_for_latecomers(&self) -> bool {
        matches!(self, Self::Failed(_) | Self::Revoked(_))
    }
}

/// Ascending ranks as ranges.
#[must_use]
pub fn ranges(ranks: impl IntoIterator<Item = Rank>) -> Vec<(Rank, Rank)> {
    let mut sorted: Vec<Rank> = ranks.into_iter().collect();
    sorted.sort_unstable();
    let mut ranges: Vec<(Rank, Rank)> = Vec::new();
    for rank in sorted {
        match ranges.last_mut() {
            Some((_, last)) if rank.0 <= last.0.saturating_add(1) => *last = rank,
            _ => ranges.push((rank, rank)),
        }
    }
    ranges
}

/// The ranks of ranges, below `size`.
pub fn ranks_of(ranges: &[(Rank, Rank)], size: u32) -> impl Iterator<Item = Rank> {
    ranges.iter().flat_map(move |(first, last)| (first.0..=last.0.min(size.max(1) - 1)).map(Rank))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_name_their_ranks() {
        let ranks = [4, 0, 1, 2, 7, 8].map(Rank);
        let short = ranges(ranks);
        let (zero, two) = (Rank(0), Rank(2));
        assert_eq!(short, [(zero, two), (Rank(4), Rank(4)), (Rank(7), Rank(8))]);
        let back: Vec<u32> = ranks_of(&short, 100).map(|rank| rank.0).collect();
        assert_eq!(back, [0, 1, 2, 4, 7, 8]);
        // What a damaged message names is not counted up.
        let damaged = [(Rank(1), Rank(u32::MAX))];
        assert_eq!(ranks_of(&damaged, 3).count(), 2);
        assert_eq!(ranks_of(&[], 0).count(), 0);
    }

    #[test]
    fn all_deaths_and_the_newest_revocations_are_kept() {
        let revoked = |context| GroupNews::Revoked(GroupName { context, least: Rank(0) });
        let agreed = GroupNews::Agreed(Agreed {
            name: AgreementName { group: GroupName { context: 2, least: Rank(0) }, number: 1 },
            words: Vec::new(),
            dead: Vec::new(),
            all_acknowledged: true,
        });
        let mut kept = Vec::new();
        keep_for_latecomers(&mut kept, &GroupNews::Failed(Rank(1)));
        keep_for_latecomers(&mut kept, &agreed);
        let all = 2 * REVOCATIONS_KEPT as u32;
        (0..all).for_each(|context| keep_for_latecomers(&mut kept, &revoked(context)));
        keep_for_latecomers(&mut kept, &GroupNews::Failed(Rank(2)));
        assert_eq!(kept.len(), REVOCATIONS_KEPT + 2);
        assert_eq!(kept[..2], [GroupNews::Failed(Rank(1)), revoked(all / 2)]);
        assert_eq!(kept[REVOCATIONS_KEPT..], [revoked(all - 1), GroupNews::Failed(Rank(2))]);
    }
}
