//! Groups: ordered sets of processes (MPI-3.1, 6.3).
//!
//! Guarantees: immutable and cheap to clone. Rank to process takes constant time. Process to rank
//! takes constant time too, unless the members are scattered thinly over a far larger world (then
//! logarithmic). A group of neighbouring processes in ascending order, such as that of
//! `MPI_COMM_WORLD`, needs no table.

use crate::bail;
use crate::error::Result;
use crate::ids::SessionId;
use crate::slab::Slab;
use ftmpi_wire::Rank;
use std::sync::Arc;

/// An ordered set of processes, by their ranks in `MPI_COMM_WORLD`.
#[derive(Debug, Clone)]
pub struct Group(Members);

#[derive(Debug, Clone)]
enum Members {
    /// Member `i` is process `first + i`.
    Range { first: u32, len: u32 },
    /// Member `i` is process `world[i]`.
    Table(Arc<Table>),
}

#[derive(Debug)]
struct Table {
    world: Box<[Rank]>,
    index: Index,
}

/// The map from processes to members.
#[derive(Debug)]
enum Index {
    /// Entry `p - first` is the member that is process `p`, or `ABSENT`.
    Dense { first: u32, members: Box<[u32]> },
    /// Processes with their members, ascending.
    Sparse(Box<[(Rank, u32)]>),
}

const ABSENT: u32 = u32::MAX;

/// How two groups or communicators compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// The same members in the same order (for communicators: the same communicator).
    Identical,
    /// For communicators only: the same groups, another context.
    Congruent,
    /// The same members in another order.
    Similar,
    /// Different members.
    Unequal,
}

impl Index {
    /// Fails if a process occurs twice.
    fn new(world: &[Rank]) -> Result<Self> {
        let first = world.iter().map(|r| r.0).min().unwrap_or(0);
        let last = world.iter().map(|r| r.0).max().unwrap_or(0);
        let span = (last - first) as usize + 1;
        let twice = |rank: Rank| {
            crate::error::ErrorClass::Rank.because(format!("process {rank} is listed twice"))
        };
        if span <= 64 + 16 * world.len() {
            let mut members = vec![ABSENT; span].into_boxed_slice();
            for (i, &rank) in world.iter().enumerate() {
                let slot = &mut members[(rank.0 - first) as usize];
                if *slot != ABSENT {
                    return Err(twice(rank));
                }
                *slot = i as u32;
            }
            return Ok(Self::Dense { first, members });
        }
        let mut sorted: Box<[_]> =
            world.iter().enumerate().map(|(i, &rank)| (rank, i as u32)).collect();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(twice(pair[0].0)),
            None => Ok(Self::Sparse(sorted)),
        }
    }

    fn find(&self, world: Rank) -> Option<u32> {
        match self {
            Self::Dense { first, members } => {
                let member = *members.get(world.0.checked_sub(*first)? as usize)?;
                (member != ABSENT).then_some(member)
            }
            Self::Sparse(sorted) => {
                let at = sorted.binary_search_by_key(&world, |&(rank, _)| rank).ok()?;
                Some(sorted[at].1)
            }
        }
    }
}

impl Group {
    /// The group without members.
    pub const EMPTY: Group = Group(Members::Range { first: 0, len: 0 });

    /// The group of the first `len` processes of the world, in order.
    #[must_use]
    pub const fn identity(len: u32) -> Self {
        Self(Members::Range { first: 0, len })
    }

    /// The group of these processes, in this order; fails if one is listed twice.
    pub fn new(world: &[Rank]) -> Result<Self> {
        let Some(&Rank(first)) = world.first() else { return Ok(Self::EMPTY) };
        if world
            .iter()
            .zip(u64::from(first)..)
            .all(|(rank, expected)| u64::from(rank.0) == expected)
        {
            return Ok(Self(Members::Range { first, len: world.len() as u32 }));
        }
        let index = Index::new(world)?;
        Ok(Self(Members::Table(Arc::new(Table { world: world.into(), index }))))
    }

    /// How many members.
    #[must_use]
    #[inline]
    pub fn len(&self) -> u32 {
        match &self.0 {
            Members::Range { len, .. } => *len,
            Members::Table(table) => table.world.len() as u32,
        }
    }

    /// Whether there is no member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The process that is member `rank`.
    #[must_use]
    #[inline]
    pub fn world(&self, rank: u32) -> Option<Rank> {
        match &self.0 {
            Members::Range { first, len } => (rank < *len).then(|| Rank(first + rank)),
            Members::Table(table) => table.world.get(rank as usize).copied(),
        }
    }

    /// The member that this process is.
    #[must_use]
    #[inline]
    pub fn local(&self, world: Rank) -> Option<u32> {
        match &self.0 {
            Members::Range { first, len } => {
                world.0.checked_sub(*first).filter(|member| member < len)
            }
            Members::Table(table) => table.index.find(world),
        }
    }

    /// The members in order.
    pub fn iter(&self) -> impl Iterator<Item = Rank> {
        (0..self.len()).filter_map(|rank| self.world(rank))
    }

    /// The members in order.
    #[must_use]
    pub fn to_vec(&self) -> Vec<Rank> {
        self.iter().collect()
    }

    /// The member that a program names, checked.
    fn member(&self, rank: i64) -> Result<Rank> {
        match u32::try_from(rank).ok().and_then(|rank| self.world(rank)) {
            Some(world) => Ok(world),
            None => bail!(Rank, "rank {rank} is not in a group of {} processes", self.len()),
        }
    }

    /// `MPI_Group_incl`: the listed members in the listed order.
    pub fn incl(&self, ranks: impl IntoIterator<Item = i64>) -> Result<Group> {
        let world: Vec<Rank> =
            ranks.into_iter().map(|rank| self.member(rank)).collect::<Result<_>>()?;
        Self::new(&world)
    }

    /// `MPI_Group_excl`: all but the listed members.
    pub fn excl(&self, ranks: impl IntoIterator<Item = i64>) -> Result<Group> {
        let mut out = vec![false; self.len() as usize];
        for rank in ranks {
            self.member(rank)?;
            if std::mem::replace(&mut out[rank as usize], true) {
                bail!(Rank, "rank {rank} is listed twice");
            }
        }
        let world: Vec<Rank> =
            self.iter().zip(out).filter(|(_, out)| !out).map(|(rank, _)| rank).collect();
        Self::new(&world)
    }

    /// The ranks of triplets (first, last, stride), every one checked.
    fn expand(&self, ranges: &[[i32; 3]]) -> Result<Vec<i64>> {
        let mut ranks = Vec::new();
        for &[first, last, stride] in ranges {
            if stride == 0 {
                bail!(Arg, "a range of ranks has stride 0");
            }
            if (stride > 0 && first > last) || (stride < 0 && first < last) {
                bail!(Arg, "the range {first}, {last}, {stride} never reaches its end");
            }
            let mut rank = i64::from(first);
            loop {
                self.member(rank)?;
                if ranks.len() >= self.len() as usize {
                    bail!(Rank, "the ranges list a rank twice");
                }
                ranks.push(rank);
                rank += i64::from(stride);
                if (stride > 0 && rank > i64::from(last)) || (stride < 0 && rank < i64::from(last))
                {
                    break;
                }
            }
        }
        Ok(ranks)
    }

    /// `MPI_Group_range_incl`: triplets of first rank, last rank, stride.
    pub fn range_incl(&self, ranges: &[[i32; 3]]) -> Result<Group> {
        self.incl(self.expand(ranges)?)
    }

    /// `MPI_Group_range_excl`
    pub fn range_excl(&self, ranges: &[[i32; 3]]) -> Result<Group> {
        self.excl(self.expand(ranges)?)
    }

    /// From distinct processes.
    fn of_distinct(world: Vec<Rank>) -> Group {
        Self::new(&world).expect("members of a group are distinct")
    }

    /// `MPI_Group_union`: all members of `self`, then those of `other` that are not in `self`.
    #[must_use]
    pub fn union(&self, other: &Group) -> Group {
        let more = other.iter().filter(|&rank| self.local(rank).is_none());
        Self::of_distinct(self.iter().chain(more).collect())
    }

    /// `MPI_Group_intersection`: the members of `self` that are in `other`, in the order of `self`.
    #[must_use]
    pub fn intersection(&self, other: &Group) -> Group {
        Self::of_distinct(self.iter().filter(|&rank| other.local(rank).is_some()).collect())
    }

    /// `MPI_Group_difference`: the members of `self` that are not in `other`.
    #[must_use]
    pub fn difference(&self, other: &Group) -> Group {
        Self::of_distinct(self.iter().filter(|&rank| other.local(rank).is_none()).collect())
    }

    /// `MPI_Group_compare`
    #[must_use]
    pub fn compare(&self, other: &Group) -> Comparison {
        if self.len() != other.len() {
            Comparison::Unequal
        } else if self.iter().eq(other.iter()) {
            Comparison::Identical
        } else if self.iter().all(|rank| other.local(rank).is_some()) {
            Comparison::Similar
        } else {
            Comparison::Unequal
        }
    }

    /// `MPI_Group_translate_ranks` for one rank: the rank in `other` of member `rank`, if it is a
    /// member there; fails if it is no member here.
    pub fn translate(&self, rank: i64, other: &Group) -> Result<Option<u32>> {
        Ok(other.local(self.member(rank)?))
    }
}

impl PartialEq for Group {
    fn eq(&self, other: &Self) -> bool {
        self.compare(other) == Comparison::Identical
    }
}

impl Eq for Group {}

/// The number of a group; [`GroupId::EMPTY`] is `MPI_GROUP_EMPTY`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupId(pub u32);

impl GroupId {
    /// `MPI_GROUP_EMPTY`.
    pub const EMPTY: Self = Self(0);
}

/// All groups that the program holds, and the session from which each comes.
#[derive(Debug, Default)]
pub struct GroupTable(Slab<(Group, Option<SessionId>)>);

impl GroupTable {
    /// Stores a group that comes from no session.
    pub fn insert(&mut self, group: Group) -> Result<GroupId> {
        self.insert_of(group, None)
    }

    /// Stores a group that comes from a session, or from a communicator or another group of one.
    pub fn insert_of(&mut self, group: Group, session: Option<SessionId>) -> Result<GroupId> {
        Ok(GroupId(1 + self.0.insert((group, session))?))
    }

    /// The session from which it comes. (`MPI_GROUP_EMPTY` is of all.)
    pub fn session(&self, id: GroupId) -> Result<Option<SessionId>> {
        self.get(id)?;
        Ok(id.0.checked_sub(1).and_then(|index| self.0.get(index)?.1))
    }

    /// The group with this number.
    pub fn get(&self, id: GroupId) -> Result<&Group> {
        const EMPTY: &Group = &Group::EMPTY;
        if id == GroupId::EMPTY {
            return Ok(EMPTY);
        }
        match self.0.get(id.0 - 1) {
            Some((group, _)) => Ok(group),
            None => bail!(Group, "there is no group with this handle: was it freed?"),
        }
    }

    /// `MPI_Group_free`. Freeing `MPI_GROUP_EMPTY` does nothing: calls may return it.
    pub fn free(&mut self, id: GroupId) -> Result<()> {
        if id != GroupId::EMPTY && self.0.remove(id.0 - 1).is_none() {
            bail!(Group, "there is no group with this handle: was it freed before?");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorClass;
    use proptest::prelude::*;

    /// Distinct ranks in any order: few or many, dense or scattered.
    fn members() -> impl Strategy<Value = Vec<Rank>> {
        (0usize..30, 0u32..40, prop::sample::select(vec![1u32, 2, 5000])).prop_flat_map(
            |(len, first, step)| {
                let all: Vec<Rank> = (0..40).map(|i| Rank(first + i * step)).collect();
                prop_oneof![
                    Just(all[..len].to_vec()),
                    Just(all.clone()).prop_shuffle().prop_map(move |all| all[..len].to_vec()),
                ]
            },
        )
    }

    fn naive_find(members: &[Rank], rank: Rank) -> Option<u32> {
        members.iter().position(|&r| r == rank).map(|i| i as u32)
    }

    proptest! {
        #[test]
        fn set_operations_are_those_of_lists(a in members(), b in members()) {
            let (ga, gb) = (Group::new(&a).unwrap(), Group::new(&b).unwrap());
            prop_assert_eq!(ga.to_vec(), a.clone());
            for rank in a.iter().chain(&b).copied().chain([Rank(0), Rank(41), Rank(u32::MAX)]) {
                prop_assert_eq!(ga.local(rank), naive_find(&a, rank));
            }
            prop_assert_eq!(ga.world(a.len() as u32), None);
            let union: Vec<Rank> =
                a.iter().chain(b.iter().filter(|r| !a.contains(r))).copied().collect();
            prop_assert_eq!(ga.union(&gb).to_vec(), union);
            let both: Vec<Rank> = a.iter().filter(|r| b.contains(r)).copied().collect();
            prop_assert_eq!(ga.intersection(&gb).to_vec(), both);
            let only: Vec<Rank> = a.iter().filter(|r| !b.contains(r)).copied().collect();
            prop_assert_eq!(ga.difference(&gb).to_vec(), only);
            let (mut sa, mut sb) = (a.clone(), b.clone());
            sa.sort();
            sb.sort();
            let expected = if a == b {
                Comparison::Identical
            } else if sa == sb {
                Comparison::Similar
            } else {
                Comparison::Unequal
            };
            prop_assert_eq!(ga.compare(&gb), expected);
            for (i, &rank) in a.iter().enumerate() {
                prop_assert_eq!(ga.translate(i as i64, &gb).unwrap(), naive_find(&b, rank));
            }
            prop_assert!(ga.translate(a.len() as i64, &gb).is_err());
        }

        #[test]
        fn ranges_are_lists(a in members(), ranges in prop::collection::vec(any::<[i8; 3]>(), 0..3)) {
            let group = Group::new(&a).unwrap();
            let ranges: Vec<[i32; 3]> =
                ranges.iter().map(|r| [r[0] as i32 % 30, r[1] as i32 % 30, r[2] as i32 % 5]).collect();
            // The list as the standard writes it, or nothing if it is refused.
            let mut list = Some(Vec::new());
            for &[first, last, stride] in &ranges {
                if stride == 0 || (last - first).signum() * stride.signum() < 0 {
                    list = None;
                    break;
                }
                if let Some(list) = &mut list {
                    list.extend((0..=(last - first) / stride).map(|i| i64::from(first + i * stride)));
                }
            }
            let distinct = |list: &Vec<i64>| {
                let mut sorted = list.clone();
                sorted.sort_unstable();
                sorted.dedup();
                sorted.len() == list.len()
                    && list.iter().all(|r| (0..a.len() as i64).contains(r))
            };
            match list.filter(distinct) {
                None => {
                    prop_assert!(group.range_incl(&ranges).is_err());
                    prop_assert!(group.range_excl(&ranges).is_err());
                }
                Some(list) => {
                    let incl: Vec<Rank> = list.iter().map(|&r| a[r as usize]).collect();
                    prop_assert_eq!(group.range_incl(&ranges).unwrap().to_vec(), incl.clone());
                    prop_assert_eq!(group.incl(list.iter().copied()).unwrap().to_vec(), incl.clone());
                    let excl: Vec<Rank> = a.iter().filter(|r| !incl.contains(r)).copied().collect();
                    prop_assert_eq!(group.range_excl(&ranges).unwrap().to_vec(), excl.clone());
                    prop_assert_eq!(group.excl(list).unwrap().to_vec(), excl);
                }
            }
        }
    }

    #[test]
    fn a_group_lists_no_process_twice() {
        for far in [8, 1 << 30] {
            let twice = Group::new(&[Rank(7), Rank(far), Rank(7)]);
            assert_eq!(twice.unwrap_err().class, ErrorClass::Rank);
        }
        assert!(Group::identity(3).incl([0, 0]).is_err());
        assert!(Group::identity(3).range_incl(&[[0, i32::MAX, 1]]).is_err());
    }

    #[test]
    fn the_table_keeps_the_empty_group() {
        let mut table = GroupTable::default();
        let id = table.insert(Group::identity(4)).unwrap();
        assert_eq!(table.get(id).unwrap().len(), 4);
        assert!(table.get(GroupId::EMPTY).unwrap().is_empty());
        table.free(id).unwrap();
        table.free(GroupId::EMPTY).unwrap();
        assert_eq!(table.free(id).unwrap_err().class, ErrorClass::Group);
        assert!(table.get(id).is_err());
        let session = Some(SessionId(3));
        let id = table.insert_of(Group::identity(4), session).unwrap();
        assert_eq!(table.session(id).unwrap(), session);
        assert_eq!(table.session(GroupId::EMPTY).unwrap(), None);
    }
}
