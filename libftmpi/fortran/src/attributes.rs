//! Attributes: values are integers in Fortran and pointers in C.
//!
//! Guarantees (MPI-4.1, 19.3.7): a value set in Fortran is read in Fortran as it is, cut or
//! sign-extended where the kinds of the integers differ. C reads it as its address: that of an
//! `int` after `MPI_Attr_put`, of an `MPI_Aint` otherwise. Fortran reads a value set in C as the
//! pointer's bits. Predefined attributes are pointers to the value in C and the value in Fortran,
//! where their key is one higher.
//!
//! libmpi keeps the values with their languages. Every call goes through the C function of its
//! name, so that tools see it. A second, private call then marks the value as Fortran's, or asks
//! for it.
//!
//! The copy and delete procedures of a key are called through a C function here. It finds them in
//! the key's extra state and gets values as they are, from both languages. Keys are few and may be
//! used after they are freed (by attributes that still exist), so that the state is never given
//! back.

use core::ffi::{c_int, c_void};

use ftmpi_entry::fortran;

use crate::marshal::{logical, set};
use crate::partner::{
    ftmpi_fortran_attribute_get, ftmpi_fortran_attribute_set, ftmpi_fortran_keyval,
};

// Kinds of objects, as the two libraries number them.
const COMM: c_int = 0;
const TYPE: c_int = 1;
const WIN: c_int = 2;

type Copy = unsafe extern "C" fn(
    *mut c_int,
    *mut c_int,
    *mut isize,
    *mut isize,
    *mut isize,
    *mut c_int,
    *mut c_int,
);
type Delete = unsafe extern "C" fn(*mut c_int, *mut c_int, *mut isize, *mut isize, *mut c_int);

/// The procedures and the state of a key.
struct Key {
    copy: Copy,
    delete: Delete,
    extra: isize,
    /// Made by an MPI-1 function: values are INTEGERs of 32 bits.
    narrow: bool,
}

impl Key {
    fn leak(copy: Copy, delete: Delete, extra: isize, narrow: bool) -> *mut c_void {
        Box::into_raw(Box::new(Key { copy, delete, extra, narrow })).cast()
    }
}

unsafe extern "C" fn copy(
    mut object: c_int,
    mut keyval: c_int,
    state: *mut c_void,
    value: *mut c_void,
    result: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: `state` is a `Key` that was leaked when the key was made; one thread.
    let key = unsafe { &mut *state.cast::<Key>() };
    // Little-endian: a reference to the wide value is one to its low half, for procedures that read
    // 32 bits.
    let (mut value, mut copied, mut keep, mut code) = (value as isize, 0isize, 0, 0);
    // SAFETY: a Fortran procedure with these arguments.
    unsafe {
        (key.copy)(
            &raw mut object,
            &raw mut keyval,
            &raw mut key.extra,
            &raw mut value,
            &raw mut copied,
            &raw mut keep,
            &raw mut code,
        );
    }
    let copied = if key.narrow { copied as c_int as isize } else { copied };
    // SAFETY: C passes the address of a pointer and of an integer.
    unsafe {
        *flag = logical(keep);
        if keep != 0 {
            *result.cast::<isize>() = copied;
        }
    }
    code
}

unsafe extern "C" fn delete(
    mut object: c_int,
    mut keyval: c_int,
    value: *mut c_void,
    state: *mut c_void,
) -> c_int {
    // SAFETY: as for `copy`.
    let key = unsafe { &mut *state.cast::<Key>() };
    let (mut value, mut code) = (value as isize, 0);
    // SAFETY: a Fortran procedure with these arguments.
    unsafe {
        (key.delete)(
            &raw mut object,
            &raw mut keyval,
            &raw mut value,
            &raw mut key.extra,
            &raw mut code,
        );
    }
    code
}

/// Key of a predefined attribute in C, if it is one: kind "predefined", object "key".
fn predefined(keyval: c_int) -> Option<c_int> {
    let builtin = keyval as u32 >> 30 == 1 && (keyval as u32 >> 26) & 0xf == 9;
    builtin.then_some(if keyval & 1 == 0 { keyval - 1 } else { keyval })
}

const MPI_WIN_BASE: c_int = 0x66000001;
const MPI_WIN_SIZE: c_int = 0x66000003;

/// The Fortran value of what C found under a key.
///
/// # Safety
/// `value` is what the C library returned for `keyval` of the object.
unsafe fn value_of(kind: c_int, object: c_int, keyval: c_int, value: *mut c_void) -> isize {
    match predefined(keyval) {
        None => {
            let mut number = value as isize;
            // SAFETY: the result is ours.
            unsafe { ftmpi_fortran_attribute_get(kind, object, keyval, &raw mut number) };
            number
        }
        Some(MPI_WIN_BASE) => value as isize,
        Some(_) if value.is_null() => 0,
        // SAFETY: predefined attributes point to their value in C.
        Some(MPI_WIN_SIZE) => unsafe { *value.cast::<isize>() },
        // SAFETY: as above.
        Some(_) => unsafe { *value.cast::<c_int>() as isize },
    }
}

fn c_key(keyval: c_int) -> c_int {
    predefined(keyval).unwrap_or(keyval)
}

macro_rules! attributes {
    ($create:ident, $get:ident, $set:ident,
     $c_create:ident, $c_get:ident, $c_set:ident, $kind:ident, $integer:ty, $narrow:literal) => {
        #[fortran]
        unsafe fn $create(
            copy_fn: Copy,
            delete_fn: Delete,
            keyval: *mut c_int,
            extra_state: *mut $integer,
            ierror: *mut c_int,
        ) {
            let state = Key::leak(copy_fn, delete_fn, *extra_state as isize, $narrow);
            let code = c::$c_create(copy as *mut c_void, delete as *mut c_void, keyval, state);
            if code == 0 {
                ftmpi_fortran_keyval($kind, *keyval, !$narrow as c_int);
            }
            set(ierror, code);
        }

        #[fortran]
        unsafe fn $get(
            object: *mut c_int,
            keyval: *mut c_int,
            attribute: *mut $integer,
            flag: *mut c_int,
            ierror: *mut c_int,
        ) {
            let (mut value, mut found): (*mut c_void, c_int) = (core::ptr::null_mut(), 0);
            let code = c::$c_get(*object, c_key(*keyval), (&raw mut value).cast(), &raw mut found);
            if code == 0 {
                *flag = logical(found);
                if found != 0 {
                    *attribute = value_of($kind, *object, *keyval, value) as $integer;
                }
            }
            set(ierror, code);
        }

        #[fortran]
        unsafe fn $set(
            object: *mut c_int,
            keyval: *mut c_int,
            attribute: *mut $integer,
            ierror: *mut c_int,
        ) {
            let value = *attribute as isize as *mut c_void;
            let code = c::$c_set(*object, c_key(*keyval), value);
            if code == 0 {
                ftmpi_fortran_attribute_set($kind, *object, *keyval, !$narrow as c_int);
            }
            set(ierror, code);
        }
    };
}

attributes!(
    MPI_Keyval_create,
    MPI_Attr_get,
    MPI_Attr_put,
    Comm_create_keyval,
    Comm_get_attr,
    Comm_set_attr,
    COMM,
    c_int,
    true
);
attributes!(
    MPI_Comm_create_keyval,
    MPI_Comm_get_attr,
    MPI_Comm_set_attr,
    Comm_create_keyval,
    Comm_get_attr,
    Comm_set_attr,
    COMM,
    isize,
    false
);
attributes!(
    MPI_Type_create_keyval,
    MPI_Type_get_attr,
    MPI_Type_set_attr,
    Type_create_keyval,
    Type_get_attr,
    Type_set_attr,
    TYPE,
    isize,
    false
);
attributes!(
    MPI_Win_create_keyval,
    MPI_Win_get_attr,
    MPI_Win_set_attr,
    Win_create_keyval,
    Win_get_attr,
    Win_set_attr,
    WIN,
    isize,
    false
);

// ---- Predefined procedures: passed to the functions above and called by them ----

macro_rules! predefined_procedures {
    ($null_copy:ident, $null_delete:ident, $dup:ident, $integer:ty) => {
        #[fortran]
        unsafe fn $null_copy(
            _object: *mut c_int,
            _keyval: *mut c_int,
            _extra: *mut $integer,
            _value: *mut $integer,
            _copied: *mut $integer,
            flag: *mut c_int,
            ierror: *mut c_int,
        ) {
            *flag = 0;
            set(ierror, 0);
        }

        #[fortran]
        unsafe fn $null_delete(
            _object: *mut c_int,
            _keyval: *mut c_int,
            _value: *mut $integer,
            _extra: *mut $integer,
            ierror: *mut c_int,
        ) {
            set(ierror, 0);
        }

        #[fortran]
        unsafe fn $dup(
            _object: *mut c_int,
            _keyval: *mut c_int,
            _extra: *mut $integer,
            value: *mut $integer,
            copied: *mut $integer,
            flag: *mut c_int,
            ierror: *mut c_int,
        ) {
            *copied = *value;
            *flag = 1;
            set(ierror, 0);
        }
    };
}

predefined_procedures!(MPI_Null_copy_fn, MPI_Null_delete_fn, MPI_Dup_fn, c_int);
predefined_procedures!(MPI_Comm_null_copy_fn, MPI_Comm_null_delete_fn, MPI_Comm_dup_fn, isize);
predefined_procedures!(MPI_Type_null_copy_fn, MPI_Type_null_delete_fn, MPI_Type_dup_fn, isize);
predefined_procedures!(MPI_Win_null_copy_fn, MPI_Win_null_delete_fn, MPI_Win_dup_fn, isize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predefined_keys_are_known_in_both_languages() {
        const TAG_UB: c_int = 0x64400001;
        assert_eq!(predefined(TAG_UB), Some(TAG_UB));
        assert_eq!(predefined(TAG_UB + 1), Some(TAG_UB));
        assert_eq!(predefined(0x66000004), Some(MPI_WIN_SIZE));
        // A key that a program made, and none at all.
        assert_eq!(predefined(0xa4400000u32 as c_int), None);
        assert_eq!(predefined(0x24000000), None);
    }
}
