//! Functions that MPI-2 deprecated and MPI-3 removed: in Fortran their addresses and displacements
//! are INTEGERs of 32 bits, which C does not have.

use core::ffi::{c_int, c_void};

use ftmpi_entry::fortran;

use crate::marshal::set;
use crate::special::buffer;

/// `MPI_ERR_ARG`: an address that a 32-bit INTEGER cannot hold.
const DOES_NOT_FIT: c_int = 12;

fn narrow(value: isize, target: *mut c_int) -> c_int {
    match c_int::try_from(value) {
        // SAFETY: Fortran passes an INTEGER.
        Ok(v) => unsafe {
            *target = v;
            0
        },
        Err(_) => DOES_NOT_FIT,
    }
}

#[fortran]
unsafe fn MPI_Address(location: *mut c_void, address: *mut c_int, ierror: *mut c_int) {
    let mut wide = 0;
    let code = c::Get_address(buffer(location), &raw mut wide);
    // Old programs use differences of such addresses and accept that the upper half is lost.
    *address = wide as c_int;
    set(ierror, code);
}

#[fortran]
unsafe fn MPI_Type_extent(datatype: *mut c_int, extent: *mut c_int, ierror: *mut c_int) {
    let (mut lower, mut wide) = (0, 0);
    let code = c::Type_get_extent(*datatype, &raw mut lower, &raw mut wide);
    set(ierror, if code == 0 { narrow(wide, extent) } else { code });
}

#[fortran]
unsafe fn MPI_Type_lb(datatype: *mut c_int, displacement: *mut c_int, ierror: *mut c_int) {
    let (mut lower, mut extent) = (0, 0);
    let code = c::Type_get_extent(*datatype, &raw mut lower, &raw mut extent);
    set(ierror, if code == 0 { narrow(lower, displacement) } else { code });
}

#[fortran]
unsafe fn MPI_Type_ub(datatype: *mut c_int, displacement: *mut c_int, ierror: *mut c_int) {
    let (mut lower, mut extent) = (0, 0);
    let code = c::Type_get_extent(*datatype, &raw mut lower, &raw mut extent);
    set(ierror, if code == 0 { narrow(lower + extent, displacement) } else { code });
}

#[fortran]
unsafe fn MPI_Type_hvector(
    count: *mut c_int,
    blocklength: *mut c_int,
    stride: *mut c_int,
    oldtype: *mut c_int,
    newtype: *mut c_int,
    ierror: *mut c_int,
) {
    let stride = *stride as isize;
    set(ierror, c::Type_create_hvector(*count, *blocklength, stride, *oldtype, newtype));
}

/// The same displacements as C has them.
///
/// # Safety
/// `p` points to `count` integers, if `count` is positive.
unsafe fn widen(p: *const c_int, count: c_int) -> Vec<isize> {
    if count <= 0 {
        return Vec::new();
    }
    // SAFETY: the caller's promise.
    unsafe { core::slice::from_raw_parts(p, count as usize) }.iter().map(|&d| d as isize).collect()
}

#[fortran]
unsafe fn MPI_Type_hindexed(
    count: *mut c_int,
    blocklengths: *mut c_int,
    displacements: *mut c_int,
    oldtype: *mut c_int,
    newtype: *mut c_int,
    ierror: *mut c_int,
) {
    let wide = widen(displacements, *count);
    let code = c::Type_create_hindexed(*count, blocklengths, wide.as_ptr(), *oldtype, newtype);
    set(ierror, code);
}

#[fortran]
unsafe fn MPI_Type_struct(
    count: *mut c_int,
    blocklengths: *mut c_int,
    displacements: *mut c_int,
    types: *mut c_int,
    newtype: *mut c_int,
    ierror: *mut c_int,
) {
    let wide = widen(displacements, *count);
    let code = c::Type_create_struct(*count, blocklengths, wide.as_ptr(), types, newtype);
    set(ierror, code);
}
