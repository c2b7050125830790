//! Attributes: their functions of copying and deleting see handles and keys of the standard
//! interface, and predefined attributes have its values.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicI32, Ordering};

use crate::convert::*;
use crate::first::call;
use crate::special::both;

const COPY_IT: usize = 1; // MPI_COMM_DUP_FN and its kin

/// The program's functions of one key and their extra state. It stays as long as the program runs,
/// because objects may have attributes of a key that was freed.
struct Key {
    copy: usize,
    delete: usize,
    extra: *mut c_void,
}

type Copy =
    unsafe extern "C" fn(usize, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
type Delete = unsafe extern "C" fn(usize, c_int, *mut c_void, *mut c_void) -> c_int;

/// Calls the program's function of copying, or does what its constants mean.
///
/// # Safety
/// `key` was made by one of the functions below; the rest comes from the first interface.
unsafe fn copied(
    key: *mut c_void,
    object: usize,
    number: c_int,
    value: *mut c_void,
    out: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: see above.
    let key = unsafe { &*key.cast::<Key>() };
    match key.copy {
        0 => {
            // SAFETY: room for the answer.
            unsafe { *flag = 0 };
            0
        }
        COPY_IT => {
            // SAFETY: room for a value and for the answer.
            unsafe { (*out.cast::<*mut c_void>(), *flag) = (value, 1) };
            0
        }
        function => {
            // SAFETY: the program gave this address as a function of copying.
            let function: Copy = unsafe { core::mem::transmute(function) };
            // SAFETY: as above.
            error_in(unsafe { function(object, keyval_out(number), key.extra, value, out, flag) })
        }
    }
}

/// Calls the program's function of deleting, if there is one.
///
/// # Safety
/// As for `copied`.
unsafe fn deleted(key: *mut c_void, object: usize, number: c_int, value: *mut c_void) -> c_int {
    // SAFETY: see above.
    let key = unsafe { &*key.cast::<Key>() };
    if key.delete == 0 {
        return 0;
    }
    // SAFETY: the program gave this address as a function of deleting.
    let function: Delete = unsafe { core::mem::transmute(key.delete) };
    // SAFETY: as above.
    error_in(unsafe { function(object, keyval_out(number), value, key.extra) })
}

macro_rules! keys {
    ($($copy:ident $delete:ident $out:ident;)*) => { $(
        unsafe extern "C" fn $copy(object: u32, number: c_int, key: *mut c_void, value: *mut c_void,
            out: *mut c_void, flag: *mut c_int) -> c_int
        {
            // SAFETY: called by the first interface with what was given to it.
            unsafe { copied(key, $out(object), number, value, out, flag) }
        }

        unsafe extern "C" fn $delete(object: u32, number: c_int, value: *mut c_void, key: *mut c_void)
            -> c_int
        {
            // SAFETY: as above.
            unsafe { deleted(key, $out(object), number, value) }
        }
    )* };
}

keys! {
    comm_copy comm_delete comm_out;
    type_copy type_delete datatype_out;
    win_copy win_delete win_out;
}

macro_rules! create {
    ($($name:ident / $twin:ident, $at:ident, $old_copy:ident, $old_delete:ident;)*) => { $( both! {
        fn $name / $twin(copy: usize, delete: usize, number: *mut c_int, extra: *mut c_void) -> c_int {
            let key = Box::into_raw(Box::new(Key { copy, delete, extra }));
            let code = call!($at: *mut c_void, *mut c_void, *mut c_int, *mut c_void;
                $old_copy as *mut c_void, $old_delete as *mut c_void, number, key.cast());
            if code == 0 {
                // SAFETY: the call that succeeded wrote it.
                unsafe { *number = keyval_out(*number) };
            } else {
                // SAFETY: nobody else knows of it.
                drop(unsafe { Box::from_raw(key) });
            }
            error_out(code)
        }
    } )* };
}

create! {
    MPI_Comm_create_keyval / PMPI_Comm_create_keyval, Comm_create_keyval, comm_copy, comm_delete;
    MPI_Keyval_create / PMPI_Keyval_create, Comm_create_keyval, comm_copy, comm_delete;
    MPI_Type_create_keyval / PMPI_Type_create_keyval, Type_create_keyval, type_copy, type_delete;
    MPI_Win_create_keyval / PMPI_Win_create_keyval, Win_create_keyval, win_copy, win_delete;
}

// Values of predefined attributes are returned by address: each needs a place of its own.
static HOST: AtomicI32 = AtomicI32::new(0);
static IO: AtomicI32 = AtomicI32::new(0);
static FLAVOR: [AtomicI32; 4] = [const { AtomicI32::new(0) }; 4];
static MODEL: [AtomicI32; 2] = [const { AtomicI32::new(0) }; 2];

/// The address that the program gets for an attribute of the first interface.
///
/// # Safety
/// `value` is what the first interface returned for that key.
unsafe fn attribute_out(number: c_int, value: *mut c_void) -> *mut c_void {
    let read = || {
        // SAFETY: these attributes are addresses of integers.
        unsafe { *value.cast::<c_int>() }
    };
    let stored = |place: &'static AtomicI32, value: c_int| {
        place.store(value, Ordering::Relaxed);
        place.as_ptr().cast::<c_void>()
    };
    match number {
        502 => stored(&IO, rank_out(read())),
        503 => stored(&HOST, rank_out(read())),
        604 => {
            let flavor = flavor_out(read());
            stored(&FLAVOR[(flavor & 3) as usize], flavor)
        }
        605 => {
            let model = model_out(read());
            stored(&MODEL[(model & 1) as usize], model)
        }
        _ => value,
    }
}

macro_rules! get {
    ($($name:ident / $twin:ident, $at:ident, $in:ident;)*) => { $( both! {
        fn $name / $twin(object: usize, number: c_int, value: *mut *mut c_void, flag: *mut c_int) -> c_int {
            let code = call!($at: u32, c_int, *mut *mut c_void, *mut c_int;
                $in(object), keyval_in(number), value, flag);
            // SAFETY: the call that succeeded wrote both.
            unsafe {
                if code == 0 && *flag != 0 {
                    *value = attribute_out(number, *value);
                }
            }
            error_out(code)
        }
    } )* };
}

get! {
    MPI_Attr_get / PMPI_Attr_get, Comm_get_attr, comm_in;
    MPI_Comm_get_attr / PMPI_Comm_get_attr, Comm_get_attr, comm_in;
    MPI_Type_get_attr / PMPI_Type_get_attr, Type_get_attr, datatype_in;
    MPI_Win_get_attr / PMPI_Win_get_attr, Win_get_attr, win_in;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_in_place_of_functions() {
        let key = |copy| Key { copy, delete: 0, extra: core::ptr::null_mut() };
        let value: *mut c_void = core::ptr::without_provenance_mut(77);
        for (copy, expected) in [(0, (0, 0)), (COPY_IT, (77, 1))] {
            let (mut key, mut out, mut flag) = (key(copy), 0usize, 9);
            let at = (&raw mut key).cast();
            // SAFETY: all places live.
            let code = unsafe { copied(at, 0x101, 5, value, (&raw mut out).cast(), &mut flag) };
            assert_eq!((code, (out, flag)), (0, expected));
            // SAFETY: as above.
            assert_eq!(unsafe { deleted(at, 0x101, 5, value) }, 0);
        }
    }

    #[test]
    fn functions_see_the_standards_handles_and_keys() {
        unsafe extern "C" fn copy(
            comm: usize,
            key: c_int,
            extra: *mut c_void,
            _: *mut c_void,
            _: *mut c_void,
            flag: *mut c_int,
        ) -> c_int {
            assert_eq!((comm, key, extra as usize), (0x101, 501, 3));
            // SAFETY: the test's own place.
            unsafe { *flag = 1 };
            16 // MPI_ERR_OTHER of the standard
        }
        let mut key = Key {
            copy: copy as *const () as usize,
            delete: 0,
            extra: core::ptr::without_provenance_mut(3),
        };
        let (mut out, mut flag) = (0usize, 0);
        // SAFETY: all places live; the handle and the key are the first interface's.
        let code = unsafe {
            comm_copy(
                0x4400_0000,
                0x6440_0001,
                (&raw mut key).cast(),
                core::ptr::null_mut(),
                (&raw mut out).cast(),
                &mut flag,
            )
        };
        assert_eq!((code, flag), (15, 1));
    }

    #[test]
    fn flavors_have_different_places() {
        let mut stored = Vec::new();
        for first in 1..=4 {
            let mut value: c_int = first;
            // SAFETY: the address of an integer.
            let out = unsafe { attribute_out(604, (&raw mut value).cast()) }.cast::<c_int>();
            // SAFETY: a static place.
            assert_eq!(unsafe { *out }, 310 + first);
            stored.push(out);
        }
        stored.dedup();
        assert_eq!(stored.len(), 4);
    }
}
