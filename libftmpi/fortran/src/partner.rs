//! Private functions of our `libmpi.so.12`, looked up by their names.
//!
//! Another MPI's `libmpi.so.12` may have been loaded before this library: the dynamic linker takes
//! it for ours, because both have one name. Then one line says so. Calls that the other library
//! knows, too, go on; a call that needs one of these functions ends the process.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

/// A function that only our library has.
#[cfg(not(test))]
const OURS: &CStr = c"ftmpi_fortran_section";

/// The functions, with the signatures of `libftmpi/abi/src/fortran.rs` and `sections.rs`.
macro_rules! of_libmpi {
    ($(fn $name:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)?;)*) => { $(
        /// # Safety
        /// As the function of this name in `libftmpi/abi`.
        #[allow(clippy::too_many_arguments)]
        #[inline]
        pub unsafe fn $name($($argument: $kind),*) $(-> $result)? {
            static PLACE: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
            const NAME: &CStr = match CStr::from_bytes_with_nul(
                concat!(stringify!($name), "\0").as_bytes()
            ) {
                Ok(name) => name,
                Err(_) => panic!("a name has no zero"),
            };
            let known = PLACE.load(Ordering::Relaxed);
            let place = if known.is_null() { look_up(&PLACE, NAME) } else { known };
            let function: unsafe extern "C" fn($($kind),*) $(-> $result)? =
                // SAFETY: the function of this name has these parameters.
                unsafe { core::mem::transmute(place) };
            // SAFETY: by the caller.
            unsafe { function($($argument),*) }
        }
    )* };
}

of_libmpi! {
    fn ftmpi_fortran_stage(
        request: c_int, state: *mut c_void, act: unsafe extern "C" fn(*mut c_void, c_int)
    );
    // Parameters: those of the function in `libftmpi/abi/src/sections.rs`.
    fn ftmpi_fortran_section(
        call: *const c_char, kind: c_int, object: c_int, element: u64, dimensions: *const [i64; 2],
        rank: c_int, count: i64, datatype: c_int, whole: c_int, made: *mut c_int
    ) -> c_int;
    fn ftmpi_fortran_partitions(
        call: *const c_char, request: c_int, buffer: *mut c_void, datatype: c_int
    ) -> c_int;
    fn ftmpi_fortran_keyval(kind: c_int, keyval: c_int, is_address: c_int);
    fn ftmpi_fortran_attribute_set(kind: c_int, object: c_int, keyval: c_int, is_address: c_int);
    fn ftmpi_fortran_attribute_get(kind: c_int, object: c_int, keyval: c_int, value: *mut isize);
}

/// The address of a symbol; null if there is none.
fn symbol(name: &CStr) -> *mut c_void {
    // SAFETY: a text that ends.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

#[cold]
fn look_up(place: &AtomicPtr<c_void>, name: &CStr) -> *mut c_void {
    let found = symbol(name);
    if found.is_null() {
        eprintln!("ftmpi: {} is not there: {}", name.to_string_lossy(), stranger());
        std::process::abort();
    }
    place.store(found, Ordering::Relaxed);
    found
}

/// Whose library is in the place of ours, and what to do.
fn stranger() -> String {
    let mut about: libc::Dl_info = libc::Dl_info {
        dli_fname: core::ptr::null(),
        dli_fbase: core::ptr::null_mut(),
        dli_sname: core::ptr::null(),
        dli_saddr: core::ptr::null_mut(),
    };
    let init = symbol(c"MPI_Init");
    // SAFETY: `about` is valid for writing; any address may be asked about.
    let known = !init.is_null() && unsafe { libc::dladdr(init, &raw mut about) } != 0;
    let path = if known && !about.dli_fname.is_null() {
        // SAFETY: the linker's text, which ends and stays as long as the library is loaded.
        unsafe { CStr::from_ptr(about.dli_fname) }.to_string_lossy().into_owned()
    } else {
        "none".into()
    };
    format!(
        "libmpifort.so.12 of ftmpi has got an MPI library that is not ftmpi's ({path}); start the \
         program by ftmpiexec, or load libmpi.so.12 of the same folder first (mpi4py: \
         MPI4PY_LIBMPI)"
    )
}

/// Looks for our library when this one is loaded.
#[cfg(not(test))]
extern "C" fn at_load() {
    if symbol(OURS).is_null() {
        eprintln!("ftmpi: {}", stranger());
    }
}

#[cfg(not(test))]
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = at_load;
