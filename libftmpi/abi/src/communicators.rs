//! Communicators: making, comparing, naming, freeing (MPI-4.1, 7.4 to 7.8).
//!
//! Guarantees: attribute callbacks of the program run between two uses of the job, never inside
//! one, because they may call MPI again.

use crate::attributes;
use crate::calls::{anywhere, enter, on_comm, print_line};
use crate::constants::{
    MPI_COMM_TYPE_HW_GUIDED, MPI_COMM_TYPE_HW_UNGUIDED, MPI_COMM_TYPE_RESOURCE_GUIDED,
    MPI_COMM_TYPE_SHARED, MPI_CONGRUENT, MPI_IDENT, MPI_MAX_OBJECT_NAME, MPI_SIMILAR,
    MPI_UNDEFINED, MPI_UNEQUAL,
};
use crate::handle::{Comm, Group, Info};
use crate::memory::{Out, OutText, Text};
use ftmpi_core::bail;
use ftmpi_core::group::Comparison;
use ftmpi_core::mpi::{Request, SplitType};
use ftmpi_entry::entry;
use std::ffi::c_int;

#[entry(guard = enter)]
pub extern "C" fn MPI_Comm_rank(comm: Comm, rank: Out<c_int>) -> c_int {
    on_comm("MPI_Comm_rank", comm, |job, comm| rank.put(job.comm_rank(comm)? as c_int))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Comm_size(comm: Comm, size: Out<c_int>) -> c_int {
    on_comm("MPI_Comm_size", comm, |job, comm| size.put(job.comm_size(comm)? as c_int))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Comm_test_inter(comm: Comm, flag: Out<c_int>) -> c_int {
    on_comm("MPI_Comm_test_inter", comm, |job, comm| {
        flag.put(c_int::from(job.comm_test_inter(comm)?))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Comm_remote_size(comm: Comm, size: Out<c_int>) -> c_int {
    on_comm("MPI_Comm_remote_size", comm, |job, comm| {
        size.put(job.comm_remote_size(comm)? as c_int)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Comm_group(comm: Comm, group: Out<Group>) -> c_int {
    on_comm("MPI_Comm_group", comm, |job, comm| group.put(Group::of(job.comm_group(comm)?)))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Comm_remote_group(comm: Comm, group: Out<Group>) -> c_int {
    on_comm("MPI_Comm_remote_group", comm, |job, comm| {
        group.put(Group::of(job.comm_remote_group(comm)?))
    })
}

/// The constant for the outcome of a comparison.
pub fn comparison(outcome: Comparison) -> c_int {
    match outcome {
        Comparison::Identical => MPI_IDENT,
        Comparison::Congruent => MPI_CONGRUENT,
        Comparison::Similar => MPI_SIMILAR,
        Comparison::Unequal => MPI_UNEQUAL,
    }
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Comm_compare(comm1: Comm, comm2: Comm, result: Out<c_int>) -> c_int {
    on_comm("MPI_Comm_compare", comm1, |job, first| {
        result.put(comparison(job.comm_compare(first, comm2.id()?)?))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Comm_dup(comm: Comm, newcomm: Out<Comm>) -> c_int {
    let _ = newcomm.put(Comm::NULL); // What is left when a copy function refuses.
    let kept = match attributes::copies("MPI_Comm_dup", comm) {
        Ok(kept) => kept,
        Err(code) => return code,
    };
    on_comm("MPI_Comm_dup", comm, |job, old| {
        let new = job.comm_dup(old)?;
        attributes::give(new, kept)?;
        newcomm.put(Comm::of(new))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Comm_dup_with_info(comm: Comm, info: Info, newcomm: Out<Comm>) -> c_int {
    let _ = newcomm.put(Comm::NULL); // What is left when a copy function refuses.
    let kept = match attributes::copies("MPI_Comm_dup_with_info", comm) {
        Ok(kept) => kept,
        Err(code) => return code,
    };
    on_comm("MPI_Comm_dup_with_info", comm, |job, old| {
        let info = info.optional_id()?;
        let new = job.comm_dup_with_info(old, info)?;
        attributes::give(new, kept)?;
        newcomm.put(Comm::of(new))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Comm_idup(comm: Comm, newcomm: Out<Comm>, request: Out<Request>) -> c_int {
    let _ = newcomm.put(Comm::NULL); // What is left when a copy function refuses.
    let kept = match attributes::copies("MPI_Comm_idup", comm) {
        Ok(kept) => kept,
        Err(code) => return code,
    };
    on_comm("MPI_Comm_idup", comm, |job, old| {
        let (new, pending) = job.comm_idup(old)?;
        attributes::give(new, kept)?;
        newcomm.put(Comm::of(new))?;
        request.put(pending)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Comm_idup_with_info(
    comm: Comm,
    info: Info,
    newcomm: Out<Comm>,
    request: Out<Request>,
) -> c_int {
    let _ = newcomm.put(Comm::NULL); // What is left when a copy function refuses.
    let kept = match attributes::copies("MPI_Comm_idup_with_info", comm) {
        Ok(kept) => kept,
        Err(code) => return code,
    };
    on_comm("MPI_Comm_idup_with_info", comm, |job, old| {
        let info = info.optional_id()?;
        let (new, pending) = job.comm_idup(old)?;
        if let Some(info) = info {
            job.comm_set_info(new, info)?;
        }
        attributes::give(new, kept)?;
        newcomm.put(Comm::of(new))?;
        request.put(pending)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Comm_create(comm: Comm, group: Group, newcomm: Out<Comm>) -> c_int {
    on_comm("MPI_Comm_create", comm, |job, comm| {
        newcomm.put(Comm::NULL)?; // What is left when the call fails.
        newcomm.put(Comm::of_member(job.comm_create(comm, group.id()?)?))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Comm_create_group(
    comm: Comm,
    group: Group,
    tag: c_int,
    newcomm: Out<Comm>,
) -> c_int {
    on_comm("MPI_Comm_create_group", comm, |job, comm| {
        newcomm.put(Comm::NULL)?; // What is left when the call fails.
        newcomm.put(Comm::of_member(job.comm_create_group(comm, group.id()?, tag)?))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Comm_split(
    comm: Comm,
    color: c_int,
    key: c_int,
    newcomm: Out<Comm>,
) -> c_int {
    on_comm("MPI_Comm_split", comm, |job, comm| {
        newcomm.put(Comm::NULL)?; // What is left when the call fails.
        let color = (color != MPI_UNDEFINED).then_some(color);
        newcomm.put(Comm::of_member(job.comm_split(comm, color, key)?))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Comm_split_type(
    comm: Comm,
    split_type: c_int,
    key: c_int,
    info: Info,
    newcomm: Out<Comm>,
) -> c_int {
    on_comm("MPI_Comm_split_type", comm, |job, comm| {
        newcomm.put(Comm::NULL)?; // What is left when the call fails.
        let split = match split_type {
            // Splitting by hardware finer than a host is not offered: by MPI's rules every process
            // then is without a communicator.
            MPI_UNDEFINED | MPI_COMM_TYPE_HW_UNGUIDED => None,
            MPI_COMM_TYPE_HW_GUIDED | MPI_COMM_TYPE_RESOURCE_GUIDED => {
                let wanted = match info.optional_id()? {
                    Some(info) => job.infos.get(info)?.get(b"mpi_hw_resource_type")?,
                    None => None,
                };
                (wanted == Some(&b"mpi_shared_memory"[..])).then_some(SplitType::Shared)
            }
            MPI_COMM_TYPE_SHARED => Some(SplitType::Shared),
            other => bail!(Arg, "split_type is {other}, which is no MPI_COMM_TYPE"),
        };
        let new = job.comm_split_type(comm, split, key)?;
        if let (Some(new), Some(info)) = (new, info.optional_id()?) {
            job.comm_set_info(new, info)?;
        }
        newcomm.put(Comm::of_member(new))
    })
}

/// Calls the delete functions of a communicator, if it may be freed.
fn give_up_attributes(call: &'static str, comm: Comm) -> std::result::Result<(), c_int> {
    // (The return code does not show it: an error handler may make it MPI_SUCCESS.)
    let mut may_go = false;
    let code = on_comm(call, comm, |job, id| {
        job.comm_may_go(id)?;
        may_go = true;
        Ok(())
    });
    if may_go { attributes::delete_all(call, comm) } else { Err(code) }
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Comm_free(comm: Out<Comm>) -> c_int {
    let handle = comm.get().unwrap_or(Comm::NULL);
    if let Err(code) = give_up_attributes("MPI_Comm_free", handle) {
        return code;
    }
    on_comm("MPI_Comm_free", handle, |job, id| {
        let lost = job.lost_with(id);
        job.comm_free(id)?;
        if let Some(lost) = lost {
            print_line(&format!("MPI_Comm_free: {lost}"));
        }
        comm.put(Comm::NULL)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Comm_disconnect(comm: Out<Comm>) -> c_int {
    let handle = comm.get().unwrap_or(Comm::NULL);
    if let Err(code) = give_up_attributes("MPI_Comm_disconnect", handle) {
        return code;
    }
    on_comm("MPI_Comm_disconnect", handle, |job, id| {
        job.comm_disconnect(id)?;
        comm.put(Comm::NULL)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Comm_get_parent(parent: Out<Comm>) -> c_int {
    on_comm("MPI_Comm_get_parent", Comm::WORLD, |job, _| {
        parent.put(Comm::of_member(job.comm_get_parent()))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Comm_set_name(comm: Comm, name: Text) -> c_int {
    on_comm("MPI_Comm_set_name", comm, |job, comm| job.comm_set_name(comm, name.get("comm_name")?))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Comm_get_name(
    comm: Comm,
    name: OutText<MPI_MAX_OBJECT_NAME>,
    length: Out<c_int>,
) -> c_int {
    if comm == Comm::NULL {
        // MPI-4.1 7.8: null handles have names, too.
        return anywhere("MPI_Comm_get_name", || length.put(name.put("MPI_COMM_NULL")? as c_int));
    }
    on_comm("MPI_Comm_get_name", comm, |job, comm| {
        let stored = name.put(job.comm_get_name(comm)?)?;
        length.put(stored as c_int)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Comm_set_info(comm: Comm, info: Info) -> c_int {
    on_comm("MPI_Comm_set_info", comm, |job, comm| match info.optional_id()? {
        Some(info) => job.comm_set_info(comm, info),
        None => Ok(()),
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Comm_get_info(comm: Comm, info: Out<Info>) -> c_int {
    on_comm("MPI_Comm_get_info", comm, |job, comm| info.put(Info::of(job.comm_get_info(comm)?)))
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Intercomm_create(
    local: Comm,
    local_leader: c_int,
    peer: Comm,
    remote_leader: c_int,
    tag: c_int,
    newcomm: Out<Comm>,
) -> c_int {
    on_comm("MPI_Intercomm_create", local, |job, comm| {
        newcomm.put(Comm::NULL)?; // What is left when the call fails.
        // The peer communicator and the remote leader are significant at the local leader only.
        let leads = job.comm_rank(comm)? as c_int == local_leader;
        let peer = if leads { peer.id()? } else { comm };
        newcomm.put(Comm::of(job.intercomm_create(
            comm,
            local_leader as u32,
            peer,
            remote_leader as u32,
            tag,
        )?))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Intercomm_merge(inter: Comm, high: c_int, newcomm: Out<Comm>) -> c_int {
    on_comm("MPI_Intercomm_merge", inter, |job, comm| {
        newcomm.put(Comm::NULL)?; // What is left when the call fails.
        newcomm.put(Comm::of(job.intercomm_merge(comm, high != 0)?))
    })
}
