//! Predefined attributes of communicators and windows (MPI-3.1, 6.7 and 11.2.6): C programs get the
//! addresses of their values.

use crate::calls::job;
use crate::constants::{MPI_ANY_SOURCE, MPI_PROC_NULL, TAG_UB};
use crate::error_codes;
use crate::handle::{Keyval, Win};
use ftmpi_core::bail;
use ftmpi_core::error::Result;
use ftmpi_core::usermem::UserPtr;
use std::ffi::c_void;
use std::sync::atomic::{AtomicI32, Ordering};

/// Values of the permanent attributes: C programs get their addresses.
static PERMANENT: [AtomicI32; 7] = [
    AtomicI32::new(TAG_UB),
    AtomicI32::new(MPI_PROC_NULL),
    AtomicI32::new(MPI_ANY_SOURCE),
    AtomicI32::new(0),
    AtomicI32::new(1),
    AtomicI32::new(crate::constants::MPI_ERR_LASTCODE),
    AtomicI32::new(0),
];

/// `MPI_LASTUSEDCODE` follows the codes that the program adds.
pub fn last_used_code_changed() {
    PERMANENT[5].store(error_codes::last_used_code(), Ordering::Relaxed);
}

/// Set once, when MPI starts: how many processes the hosts of the job take, and the part of a
/// `:`-separated command, or of a spawn, to which this rank belongs.
pub fn set_job(universe: u32, part: u32) {
    PERMANENT[4].store(universe as i32, Ordering::Relaxed);
    PERMANENT[6].store(part as i32, Ordering::Relaxed);
}

/// The address of the value of a permanent attribute of every communicator.
pub fn permanent(key: Keyval) -> Option<*mut c_void> {
    let index = match key {
        Keyval::TAG_UB => 0,
        Keyval::HOST => 1,
        Keyval::IO => 2,
        Keyval::WTIME_IS_GLOBAL => 3,
        Keyval::UNIVERSE_SIZE => 4,
        Keyval::LASTUSEDCODE => 5,
        Keyval::APPNUM => 6,
        _ => return None,
    };
    Some(PERMANENT[index].as_ptr().cast())
}

/// The predefined attributes: the address of the memory, and addresses of the others' values.
pub fn of_window(win: Win, key: Keyval) -> Result<Option<*mut c_void>> {
    let Some(job) = job() else { bail!(Other, "MPI does not run") };
    let (base, values) = job.win_values(win.id()?)?;
    let address: *const c_void = match key {
        Keyval::WIN_BASE => return Ok(Some(UserPtr::as_ptr(base))),
        Keyval::WIN_SIZE => (&raw const values.0).cast(),
        Keyval::WIN_DISP_UNIT => (&raw const values.1).cast(),
        Keyval::WIN_CREATE_FLAVOR => (&raw const values.2).cast(),
        Keyval::WIN_MODEL => (&raw const values.3).cast(),
        _ => return Ok(None),
    };
    Ok(Some(address.cast_mut()))
}
