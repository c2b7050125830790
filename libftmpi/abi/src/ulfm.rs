//! User-level failure mitigation: the `MPIX_` functions that go on without ranks that have died.
//!
//! Names and numbers are those of MPICH, where MPICH has them; `is_revoked`, `iagree`, `ishrink`
//! and `ack_failed` are those of the proposal to the MPI Forum.

use crate::calls::{enter, on_comm};
use crate::handle::{Comm, Group};
use crate::memory::Out;
use ftmpi_core::bail;
use ftmpi_core::error::Result;
use ftmpi_core::mpi::Request;
use ftmpi_core::usermem::UserPtr;
use ftmpi_entry::entry;
use std::ffi::c_int;

/// The flag of an agreement, which is read at the call and written at its end.
fn flag_at(flag: *mut c_int) -> Result<UserPtr> {
    if flag.is_null() {
        bail!(Arg, "flag is a null pointer");
    }
    // SAFETY: the program gives an integer that lives until the agreement has ended.
    Ok(unsafe { UserPtr::new(flag.cast()) })
}

#[entry(guard = enter)]
pub extern "C" fn MPIX_Comm_revoke(comm: Comm) -> c_int {
    on_comm("MPIX_Comm_revoke", comm, |job, comm| job.comm_revoke(comm))
}

#[entry(guard = enter)]
pub extern "C" fn MPIX_Comm_is_revoked(comm: Comm, flag: Out<c_int>) -> c_int {
    on_comm("MPIX_Comm_is_revoked", comm, |job, comm| {
        flag.put(c_int::from(job.comm_is_revoked(comm)?))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPIX_Comm_shrink(comm: Comm, newcomm: Out<Comm>) -> c_int {
    on_comm("MPIX_Comm_shrink", comm, |job, comm| newcomm.put(Comm::of(job.comm_shrink(comm)?)))
}

#[entry(guard = enter)]
pub extern "C" fn MPIX_Comm_ishrink(
    comm: Comm,
    newcomm: Out<Comm>,
    request: Out<Request>,
) -> c_int {
    on_comm("MPIX_Comm_ishrink", comm, |job, comm| {
        let (new, pending) = job.comm_ishrink(comm)?;
        newcomm.put(Comm::of(new))?;
        request.put(pending)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPIX_Comm_agree(comm: Comm, flag: *mut c_int) -> c_int {
    on_comm("MPIX_Comm_agree", comm, |job, comm| job.comm_agree(comm, flag_at(flag)?))
}

#[entry(guard = enter)]
pub extern "C" fn MPIX_Comm_iagree(comm: Comm, flag: *mut c_int, request: Out<Request>) -> c_int {
    on_comm("MPIX_Comm_iagree", comm, |job, comm| {
        request.put(job.comm_iagree(comm, flag_at(flag)?)?)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPIX_Comm_failure_ack(comm: Comm) -> c_int {
    on_comm("MPIX_Comm_failure_ack", comm, |job, comm| job.comm_failure_ack(comm))
}

#[entry(guard = enter)]
pub extern "C" fn MPIX_Comm_failure_get_acked(comm: Comm, group: Out<Group>) -> c_int {
    on_comm("MPIX_Comm_failure_get_acked", comm, |job, comm| {
        group.put(Group::of(job.comm_failure_get_acked(comm)?))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPIX_Comm_get_failed(comm: Comm, group: Out<Group>) -> c_int {
    on_comm("MPIX_Comm_get_failed", comm, |job, comm| {
        group.put(Group::of(job.comm_get_failed(comm)?))
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPIX_Comm_ack_failed(
    comm: Comm,
    num_to_ack: c_int,
    num_acked: Out<c_int>,
) -> c_int {
    on_comm("MPIX_Comm_ack_failed", comm, |job, comm| {
        num_acked.put(job.comm_ack_failed(comm, i64::from(num_to_ack))? as c_int)
    })
}
