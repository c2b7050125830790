//! The functions of `libmpi.so.12`, looked up once when this library is loaded.
//!
//! They have the same names as ours, so ordinary linking would find ours again. The profiling names
//! are taken: a tool stands before this interface, not between the two.

use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::functions::NAMES;

const UNKNOWN: *mut c_void = core::ptr::null_mut();
static TABLE: [AtomicPtr<c_void>; NAMES.len()] = [const { AtomicPtr::new(UNKNOWN) }; NAMES.len()];
static LIBRARY: AtomicPtr<c_void> = AtomicPtr::new(UNKNOWN);

/// The function with this place in `NAMES`.
#[inline(always)]
pub fn next(place: usize) -> *mut c_void {
    let function = TABLE[place].load(Ordering::Relaxed);
    if function.is_null() { missing(place) } else { function }
}

/// A symbol of the first library; null if it has none of that name.
pub fn symbol(name: &CStr) -> *mut c_void {
    let library = LIBRARY.load(Ordering::Relaxed);
    if library.is_null() {
        return core::ptr::null_mut();
    }
    // SAFETY: a handle from `dlopen` that is never closed, and a text that ends.
    unsafe { libc::dlsym(library, name.as_ptr()) }
}

#[cold]
fn missing(place: usize) -> *mut c_void {
    look_up();
    let function = TABLE[place].load(Ordering::Relaxed);
    if function.is_null() {
        eprintln!(
            "libmpi_abi.so.1: libmpi.so.12 of the same installation was not found, or lacks {}: put both \
             into one folder",
            NAMES[place].to_string_lossy()
        );
        std::process::abort();
    }
    function
}

/// Fills the table. Done when the library is loaded; again by the first call that finds it empty.
extern "C" fn look_up() {
    // SAFETY: a constant text. The library is there already, because ours needs it; it stays.
    let library = unsafe { libc::dlopen(c"libmpi.so.12".as_ptr(), libc::RTLD_NOW) };
    if library.is_null() {
        return;
    }
    LIBRARY.store(library, Ordering::Relaxed);
    for (place, name) in TABLE.iter().zip(NAMES) {
        place.store(symbol(name), Ordering::Relaxed);
    }
}

/// Runs `look_up` when the library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = look_up;

/// Calls a function of the first library: `call!(Comm_size: u32, *mut c_void; comm, place)`.
macro_rules! call {
    ($name:ident : $($kind:ty),* ; $($value:expr),*) => {{
        let function: unsafe extern "C" fn($($kind),*) -> core::ffi::c_int =
            // SAFETY: the function of this name in `include/mpi.table` has these parameters.
            unsafe { core::mem::transmute($crate::first::next($crate::functions::at::$name)) };
        // SAFETY: the program's arguments, under the promises that it makes to MPI.
        unsafe { function($($value),*) }
    }};
}
pub(crate) use call;

/// Asks the first library for one `int` about an object.
pub fn ask(function: *mut c_void, handle: u32) -> c_int {
    let mut answer = 0;
    // SAFETY: the callers pass functions of the shape `(handle, int *)`.
    let function: unsafe extern "C" fn(u32, *mut c_int) -> c_int =
        unsafe { core::mem::transmute(function) };
    // SAFETY: the place lives for the length of the call.
    if unsafe { function(handle, &mut answer) } == 0 { answer } else { 0 }
}
