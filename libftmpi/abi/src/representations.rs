//! Data representations that the program registers (MPI-4.1, 14.5.3).
//!
//! Guarantees: a conversion function is called with the handle that the program used, and only for
//! memory that the program gave. The number of values never exceeds what its kind of count can
//! hold. An extent function is called only for predefined types.

use crate::calls::enter;
use crate::files::on_no_file;
use crate::handle::Datatype;
use crate::memory::Text;
use ftmpi_core::bail;
use ftmpi_core::datatype::Builtin;
use ftmpi_core::file::represent::{Conversion, Custom};
use ftmpi_entry::entry;
use std::ffi::{c_int, c_void};

fn state(custom: &Custom) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(custom.state)
}

/// Calls an `MPI_Datarep_conversion_function`.
fn convert(custom: &Custom, function: usize, what: Conversion) -> c_int {
    // SAFETY: the program gave this address as a function of this type.
    let function: unsafe extern "C" fn(
        *mut c_void,
        Datatype,
        c_int,
        *mut c_void,
        i64,
        *mut c_void,
    ) -> c_int = unsafe { std::mem::transmute(function) };
    let (user, file) = (what.user.as_ptr(), what.file.as_ptr());
    let handle = Datatype::of(what.datatype);
    // SAFETY: the program's buffer holds what the call says. The library's buffer has room for so
    // many values of the size that the program's extent function returned. The caller counts within
    // an `int`.
    unsafe {
        function(user, handle, what.count as c_int, file, what.position as i64, state(custom))
    }
}

/// Calls an `MPI_Datarep_conversion_function_c`.
fn convert_large(custom: &Custom, function: usize, what: Conversion) -> c_int {
    // SAFETY: the program gave this address as a function of this type.
    let function: unsafe extern "C" fn(
        *mut c_void,
        Datatype,
        i64,
        *mut c_void,
        i64,
        *mut c_void,
    ) -> c_int = unsafe { std::mem::transmute(function) };
    let (user, file) = (what.user.as_ptr(), what.file.as_ptr());
    let handle = Datatype::of(what.datatype);
    // SAFETY: as above.
    unsafe { function(user, handle, what.count as i64, file, what.position as i64, state(custom)) }
}

/// Calls an `MPI_Datarep_extent_function`.
fn size_of(custom: &Custom, builtin: Builtin) -> Result<i64, c_int> {
    // SAFETY: the program gave this address as a function of this type.
    let function: unsafe extern "C" fn(Datatype, *mut isize, *mut c_void) -> c_int =
        unsafe { std::mem::transmute(custom.extent) };
    let mut extent = 0;
    // SAFETY: the place is ours.
    match unsafe { function(Datatype::of_builtin(builtin), &mut extent, state(custom)) } {
        0 => Ok(extent as i64),
        code => Err(code),
    }
}

macro_rules! register {
    ($(fn $name:ident, $convert:ident;)*) => { $(
        #[entry(guard = enter)]
        pub extern "C" fn $name(
            name: Text, read: *mut c_void, write: *mut c_void, extent: *mut c_void, state: *mut c_void,
        ) -> c_int {
            on_no_file(stringify!($name), |job| {
                if extent.is_null() {
                    bail!(Arg, "dtype_file_extent_fn is a null pointer");
                }
                let given = |function: *mut c_void| (!function.is_null()).then_some(function as usize);
                job.register_representation(Custom {
                    name: name.name("datarep")?.to_owned(),
                    read: given(read),
                    write: given(write),
                    extent: extent as usize,
                    state: state.expose_provenance(),
                    convert: $convert,
                    size_of,
                })
            })
        }
    )* };
}

register! {
    fn MPI_Register_datarep, convert;
    fn MPI_Register_datarep_c, convert_large;
}
