//! Environment (MPI-4.1, chapter 9): functions without error code, or with arguments that Fortran
//! does not have.

use core::ffi::{c_double, c_int, c_void};

use ftmpi_entry::fortran;

use crate::marshal::{logical, set};
use crate::text::Text;

#[fortran]
unsafe fn MPI_Init(ierror: *mut c_int) {
    set(ierror, c::Init(core::ptr::null_mut(), core::ptr::null_mut()));
}

#[fortran]
unsafe fn MPI_Init_thread(required: *mut c_int, provided: *mut c_int, ierror: *mut c_int) {
    let (argc, argv) = (core::ptr::null_mut(), core::ptr::null_mut());
    set(ierror, c::Init_thread(argc, argv, *required, provided));
}

#[fortran]
unsafe fn MPI_Pcontrol(level: *mut c_int) {
    // No error code: a program that passes `level` alone, as the standard has it, leaves any word
    // in the place of a second argument.
    let _ = c::Pcontrol(*level);
}

#[fortran]
unsafe fn MPI_Wtime() -> c_double {
    c::Wtime()
}

#[fortran]
unsafe fn MPI_Wtick() -> c_double {
    c::Wtick()
}

#[fortran]
unsafe fn MPI_Aint_add(base: *mut isize, displacement: *mut isize) -> isize {
    c::Aint_add(*base, *displacement)
}

#[fortran]
unsafe fn MPI_Aint_diff(minuend: *mut isize, subtrahend: *mut isize) -> isize {
    c::Aint_diff(*minuend, *subtrahend)
}

// Fortran has no pointer to give back: the buffer's address is dropped.
#[fortran(mpif)]
unsafe fn MPI_Buffer_detach(_buffer: *mut c_void, size: *mut c_int, ierror: *mut c_int) {
    let mut address: *mut c_void = core::ptr::null_mut();
    set(ierror, c::Buffer_detach((&raw mut address).cast(), size));
}

#[fortran(mpif)]
unsafe fn MPI_Comm_detach_buffer(
    comm: *mut c_int,
    _buffer: *mut c_void,
    size: *mut c_int,
    ierror: *mut c_int,
) {
    let mut address: *mut c_void = core::ptr::null_mut();
    set(ierror, c::Comm_detach_buffer(*comm, (&raw mut address).cast(), size));
}

#[fortran(mpif)]
unsafe fn MPI_Session_detach_buffer(
    session: *mut c_int,
    _buffer: *mut c_void,
    size: *mut c_int,
    ierror: *mut c_int,
) {
    let mut address: *mut c_void = core::ptr::null_mut();
    set(ierror, c::Session_detach_buffer(*session, (&raw mut address).cast(), size));
}

/// Room in C for a text of which the program wants `length` characters; bounded, because the number
/// is the program's.
fn wanted(length: c_int) -> Text {
    Text::room(length.clamp(0, 1 << 20) as usize + 1)
}

#[fortran]
unsafe fn MPI_Info_get(
    info: *mut c_int,
    key: *mut u8,
    valuelen: *mut c_int,
    value: *mut u8,
    flag: *mut c_int,
    ierror: *mut c_int,
    key_length: usize,
    value_length: usize,
) {
    let key = Text::take(key, key_length);
    let mut text = wanted(*valuelen);
    let mut found = 0;
    let length = (*valuelen).min(1 << 20);
    let code = c::Info_get(*info, key.as_ptr(), length, text.as_mut_ptr(), &raw mut found);
    if code == 0 {
        *flag = logical(found);
        if found != 0 {
            text.give(value, value_length);
        }
    }
    set(ierror, code);
}

// The length in C counts the zero byte, in Fortran it does not.
#[fortran]
unsafe fn MPI_Info_get_string(
    info: *mut c_int,
    key: *mut u8,
    buflen: *mut c_int,
    value: *mut u8,
    flag: *mut c_int,
    ierror: *mut c_int,
    key_length: usize,
    value_length: usize,
) {
    let key = Text::take(key, key_length);
    let asked = (*buflen).clamp(0, 1 << 20);
    let mut text = wanted(asked);
    let mut length = if asked == 0 { 0 } else { asked + 1 };
    let mut found = 0;
    let code =
        c::Info_get_string(*info, key.as_ptr(), &raw mut length, text.as_mut_ptr(), &raw mut found);
    if code == 0 {
        *flag = logical(found);
        if found != 0 {
            if asked > 0 {
                text.give(value, value_length);
            }
            *buflen = (length - 1).max(0);
        }
    }
    set(ierror, code);
}

#[fortran]
unsafe fn MPI_Info_create_env(info: *mut c_int, ierror: *mut c_int) {
    set(ierror, c::Info_create_env(0, core::ptr::null_mut(), info));
}

#[fortran]
unsafe fn MPI_Session_get_nth_pset(
    session: *mut c_int,
    info: *mut c_int,
    n: *mut c_int,
    pset_len: *mut c_int,
    pset_name: *mut u8,
    ierror: *mut c_int,
    name_length: usize,
) {
    let asked = (*pset_len).clamp(0, 1 << 20);
    let mut text = wanted(asked);
    let mut length = if asked == 0 { 0 } else { asked + 1 };
    let code = c::Session_get_nth_pset(*session, *info, *n, &raw mut length, text.as_mut_ptr());
    if code == 0 {
        if asked > 0 {
            text.give(pset_name, name_length);
        }
        *pset_len = (length - 1).max(0);
    }
    set(ierror, code);
}

// The call itself is what counts: it keeps the compiler from moving accesses to the buffer across
// it.
#[fortran]
unsafe fn MPI_F_sync_reg(_buffer: *mut c_void) {}
