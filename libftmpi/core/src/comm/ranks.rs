//! Translation between ranks in a communicator and ranks in `MPI_COMM_WORLD`.
//!
//! Guarantees: to the world in constant time, back in logarithmic time; a communicator whose ranks
//! are those of the world needs no table.

use ftmpi_wire::Rank;
use std::rc::Rc;

/// The members of one side of a communicator, in order.
#[derive(Debug, Clone)]
pub enum Ranks {
    /// Rank `i` is rank `i` of the world; this many.
    Identity(u32),
    /// Rank `i` is `world[i]`.
    Table(Rc<Table>),
}

/// Members in order, and the same sorted for the way back.
#[derive(Debug)]
pub struct Table {
    world: Box<[Rank]>,
    sorted: Box<[(Rank, u32)]>,
}

impl PartialEq for Ranks {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && (0..self.len()).all(|i| self.world(i) == other.world(i))
    }
}

impl Eq for Ranks {}

impl Ranks {
    /// From members in order.
    #[must_use]
    pub fn new(world: &[Rank]) -> Self {
        if world.iter().enumerate().all(|(i, r)| r.index() == i) {
            return Self::Identity(world.len() as u32);
        }
        let mut sorted: Box<[(Rank, u32)]> =
            world.iter().enumerate().map(|(i, r)| (*r, i as u32)).collect();
        sorted.sort_unstable();
        Self::Table(Rc::new(Table { world: world.into(), sorted }))
    }

    /// How many members.
    #[inline]
    #[must_use]
    pub fn len(&self) -> u32 {
        match self {
            Self::Identity(size) => *size,
            Self::Table(table) => table.world.len() as u32,
        }
    }

    /// Whether there is no member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Rank in the world of member `rank`, which must exist.
    #[inline]
    #[must_use]
    pub fn world(&self, rank: u32) -> Rank {
        match self {
            Self::Identity(_) => Rank(rank),
            Self::Table(table) => table.world[rank as usize],
        }
    }

    /// The member that is `world` in the world.
    #[inline]
    #[must_use]
    pub fn local(&self, world: Rank) -> Option<u32> {
        match self {
            Self::Identity(size) => (world.0 < *size).then_some(world.0),
            Self::Table(table) => {
                let at = table.sorted.binary_search_by_key(&world, |(r, _)| *r).ok()?;
                Some(table.sorted[at].1)
            }
        }
    }

    /// All members in order.
    #[must_use]
    pub fn to_vec(&self) -> Vec<Rank> {
        (0..self.len()).map(|i| self.world(i)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let ranks = Ranks::new(&[Rank(5), Rank(0), Rank(9)]);
        assert_eq!(ranks.len(), 3);
        for i in 0..3 {
            assert_eq!(ranks.local(ranks.world(i)), Some(i));
        }
        assert_eq!(ranks.local(Rank(1)), None);
        assert!(matches!(Ranks::new(&[Rank(0), Rank(1)]), Ranks::Identity(2)));
        assert_eq!(Ranks::Identity(2).local(Rank(2)), None);
    }
}
