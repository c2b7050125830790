//! Questions about the standard ABI of MPI-5 and about the hardware.
//!
//! Guarantees: the answers are those of a library with the interface of MPICH and of gfortran's
//! representation of `LOGICAL`; setting another one is refused.

use crate::calls::{anywhere, enter, enter_first, on_job};
use crate::environment::joined;
use crate::handle::Info;
use crate::memory::{BufMut, Out};
use ftmpi_core::bail;
use ftmpi_core::error::Result;
use ftmpi_core::info;
use ftmpi_core::usermem::UserPtr;
use ftmpi_entry::entry;
use std::ffi::c_int;

/// Asks for the version of the *standard* ABI: this library has the interface of MPICH.
#[entry]
pub extern "C" fn MPI_Abi_get_version(major: Out<c_int>, minor: Out<c_int>) -> c_int {
    anywhere("MPI_Abi_get_version", || {
        major.put(-1)?;
        minor.put(-1)
    })
}

/// An info object with these entries.
fn described(job: &mut crate::calls::Job, entries: &[(&str, &str)], out: Out<Info>) -> Result<()> {
    let mut info = info::Info::new();
    for (key, value) in entries {
        info.set(key.as_bytes(), value.as_bytes())?;
    }
    out.put(Info::of(job.infos.insert(info)?))
}

#[entry(guard = enter_first)]
pub extern "C" fn MPI_Abi_get_info(info: Out<Info>) -> c_int {
    joined("MPI_Abi_get_info", |job| {
        let sizes = [("mpi_aint_size", "8"), ("mpi_count_size", "8"), ("mpi_offset_size", "8")];
        described(job, &sizes, info)
    })
}

/// Sizes in bytes of gfortran's default kinds, and the types of fixed size that it has.
const FORTRAN: [(&str, &str); 23] = [
    ("mpi_logical_size", "4"),
    ("mpi_integer_size", "4"),
    ("mpi_real_size", "4"),
    ("mpi_double_precision_size", "8"),
    ("mpi_logical1_supported", "false"),
    ("mpi_logical2_supported", "false"),
    ("mpi_logical4_supported", "false"),
    ("mpi_logical8_supported", "false"),
    ("mpi_logical16_supported", "false"),
    ("mpi_integer1_supported", "true"),
    ("mpi_integer2_supported", "true"),
    ("mpi_integer4_supported", "true"),
    ("mpi_integer8_supported", "true"),
    ("mpi_integer16_supported", "true"),
    ("mpi_real2_supported", "false"),
    ("mpi_real4_supported", "true"),
    ("mpi_real8_supported", "true"),
    ("mpi_real16_supported", "true"),
    ("mpi_complex4_supported", "false"),
    ("mpi_complex8_supported", "true"),
    ("mpi_complex16_supported", "true"),
    ("mpi_complex32_supported", "true"),
    ("mpi_double_complex_supported", "true"),
];

#[entry(guard = enter_first)]
pub extern "C" fn MPI_Abi_get_fortran_info(info: Out<Info>) -> c_int {
    joined("MPI_Abi_get_fortran_info", |job| described(job, &FORTRAN, info))
}

#[entry(guard = enter_first)]
pub extern "C" fn MPI_Abi_set_fortran_info(_info: Info) -> c_int {
    joined("MPI_Abi_set_fortran_info", |_| {
        bail!(Abi, "the Fortran types are fixed: this library has its own Fortran interface")
    })
}

/// The bytes of a truth value of this size, at `place`.
fn store(value: i64, size: usize, place: BufMut) -> Result<()> {
    if place.is_null() {
        bail!(Arg, "the place for a truth value is a null pointer");
    }
    // SAFETY: not null; the caller promised `size` bytes, as many as are written.
    unsafe { UserPtr::new(place) }.write(&value.to_le_bytes()[..size]);
    Ok(())
}

/// Sizes of a `LOGICAL` that can be held in eight bytes.
fn logical_size(size: c_int) -> Result<usize> {
    match size {
        1 | 2 | 4 | 8 => Ok(size as usize),
        _ => bail!(Arg, "logical_size is {size}, must be 1, 2, 4 or 8"),
    }
}

#[entry]
pub extern "C" fn MPI_Abi_get_fortran_booleans(
    size: c_int,
    yes: BufMut,
    no: BufMut,
    is_set: Out<c_int>,
) -> c_int {
    anywhere("MPI_Abi_get_fortran_booleans", || {
        let size = logical_size(size)?;
        store(1, size, yes)?;
        store(0, size, no)?;
        is_set.put(1)
    })
}

#[entry]
pub extern "C" fn MPI_Abi_set_fortran_booleans(size: c_int, _yes: BufMut, _no: BufMut) -> c_int {
    anywhere("MPI_Abi_set_fortran_booleans", || {
        logical_size(size)?;
        bail!(Abi, "the truth values are fixed: this library has its own Fortran interface")
    })
}

/// Hardware that `MPI_Comm_split_type` could be guided by: none is known by name.
#[entry(guard = enter)]
pub extern "C" fn MPI_Get_hw_resource_info(info: Out<Info>) -> c_int {
    on_job("MPI_Get_hw_resource_info", |job| described(job, &[], info))
}
