//! Groups (MPI-4.1, 7.3).

use crate::calls::{Job, enter, on_job};
use crate::communicators::comparison;
use crate::constants::{MPI_PROC_NULL, MPI_UNDEFINED};
use crate::decode::length;
use crate::handle::Group;
use crate::memory::{In, Out, OutArray};
use ftmpi_core::error::Result;
use ftmpi_core::group::{self as core, GroupId};
use ftmpi_core::mpi::CommId;
use ftmpi_entry::entry;
use std::ffi::c_int;

impl Group {
    /// The group that this handle names.
    pub fn id(self) -> Result<GroupId> {
        match (self, self.made_index()) {
            (Self::EMPTY, _) => Ok(GroupId::EMPTY),
            (_, Some(index)) if index > GroupId::EMPTY.0 => Ok(GroupId(index)),
            _ => Err(self.refuse()),
        }
    }

    pub fn of(id: GroupId) -> Self {
        if id == GroupId::EMPTY { Self::EMPTY } else { Self::made(id.0) }
    }

    fn look(self, job: &Job) -> Result<&core::Group> {
        job.groups.get(self.id()?)
    }

    /// The handle of a new group that is made from this one; an empty one needs no new object.
    fn derive(self, job: &mut Job, group: core::Group) -> Result<Self> {
        if group.is_empty() {
            return Ok(Self::EMPTY);
        }
        let session = job.groups.session(self.id()?)?;
        Ok(Self::of(job.groups.insert_of(group, session)?))
    }
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Group_size(group: Group, size: Out<c_int>) -> c_int {
    on_job("MPI_Group_size", |job| size.put(group.look(job)?.len() as c_int))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Group_rank(group: Group, rank: Out<c_int>) -> c_int {
    on_job("MPI_Group_rank", |job| {
        job.comm_rank(CommId::WORLD)?;
        let me = job.engine.me();
        rank.put(group.look(job)?.local(me).map_or(MPI_UNDEFINED, |rank| rank as c_int))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Group_translate_ranks(
    group1: Group,
    n: c_int,
    ranks1: In<c_int>,
    group2: Group,
    ranks2: OutArray<c_int>,
) -> c_int {
    on_job("MPI_Group_translate_ranks", |job| {
        let n = length("n", n)?;
        let (from, to) = (group1.look(job)?, group2.look(job)?);
        // The two arrays may be the same: each element is read before it is written.
        for i in 0..n {
            let rank = ranks1.slice(n)?[i];
            let translated = if rank == MPI_PROC_NULL {
                MPI_PROC_NULL
            } else {
                from.translate(i64::from(rank), to)?.map_or(MPI_UNDEFINED, |rank| rank as c_int)
            };
            ranks2.put(i, translated)?;
        }
        Ok(())
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Group_compare(group1: Group, group2: Group, result: Out<c_int>) -> c_int {
    on_job("MPI_Group_compare", |job| {
        result.put(comparison(group1.look(job)?.compare(group2.look(job)?)))
    })
}

/// Operations on two groups.
macro_rules! pairs {
    ($(fn $name:ident, $method:ident;)*) => { $(
        #[entry(guard = enter)]
        pub extern "C" fn $name(group1: Group, group2: Group, newgroup: Out<Group>) -> c_int {
            on_job(stringify!($name), |job| {
                let made = group1.look(job)?.$method(group2.look(job)?);
                // The union with an empty group is of the session of the other.
                let of = if group1 == Group::EMPTY { group2 } else { group1 };
                newgroup.put(of.derive(job, made)?)
            })
        }
    )* };
}

pairs! {
    fn MPI_Group_union, union;
    fn MPI_Group_intersection, intersection;
    fn MPI_Group_difference, difference;
}

macro_rules! lists {
    ($(fn $name:ident, $method:ident;)*) => { $(
        #[entry(guard = enter)]
        pub extern "C" fn $name(group: Group, n: c_int, ranks: In<c_int>, newgroup: Out<Group>) -> c_int {
            on_job(stringify!($name), |job| {
                let ranks = ranks.slice(length("n", n)?)?;
                let made = group.look(job)?.$method(ranks.iter().map(|&rank| i64::from(rank)))?;
                newgroup.put(group.derive(job, made)?)
            })
        }
    )* };
}

lists! {
    fn MPI_Group_incl, incl;
    fn MPI_Group_excl, excl;
}

macro_rules! ranges {
    ($(fn $name:ident, $method:ident;)*) => { $(
        #[entry(guard = enter)]
        pub extern "C" fn $name(
            group: Group, n: c_int, ranges: In<[c_int; 3]>, newgroup: Out<Group>,
        ) -> c_int {
            on_job(stringify!($name), |job| {
                let made = group.look(job)?.$method(ranges.slice(length("n", n)?)?)?;
                newgroup.put(group.derive(job, made)?)
            })
        }
    )* };
}

ranges! {
    fn MPI_Group_range_incl, range_incl;
    fn MPI_Group_range_excl, range_excl;
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Group_free(group: Out<Group>) -> c_int {
    on_job("MPI_Group_free", |job| {
        job.groups.free(group.get()?.id()?)?;
        group.put(Group::NULL)
    })
}
