//! What `libmpifort.so.12` and the modules `mpi` and `mpi_f08` need from the C library, beyond the
//! functions of the standard.

use crate::attributes::from_fortran::{self, KindNumber};
use crate::calls::{enter, job};
use crate::handle::Keyval;
use crate::memory::Out;
use crate::status::MpiStatus;
use ftmpi_core::mpi::Request;
use ftmpi_core::request::Staging;
use std::ffi::{c_int, c_void};

/// A variable that Fortran start-up code writes once and C code reads, or whose address is a
/// sentinel.
#[repr(transparent)]
pub struct Shared<T>(std::cell::UnsafeCell<T>);

// SAFETY: this library never accesses the contents of these variables. The program and the Fortran
// library do so by the rules of MPI, before threads exist.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    const fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }
}

/// The address of the variable itself is what counts.
macro_rules! sentinels {
    ($($name:ident: $type:ty = $value:expr;)*) => { $(
        #[unsafe(no_mangle)]
        pub static $name: Shared<$type> = Shared::new($value);
    )* };
}

sentinels! {
    MPIR_F08_MPI_STATUS_IGNORE_OBJ: MpiStatus = MpiStatus::EMPTY;
    MPIR_F08_MPI_STATUSES_IGNORE_OBJ: [MpiStatus; 1] = [MpiStatus::EMPTY];
    MPIR_F08_MPI_IN_PLACE: c_int = 0;
    MPIR_F08_MPI_BOTTOM: c_int = 0;
    // `.true.` and `.false.` of the Fortran compiler.
    MPIR_fortran_true: c_int = 1;
    MPIR_fortran_false: c_int = 0;
    // Set by the Fortran library to the addresses of its `MPI_STATUS_IGNORE` and
    // `MPI_STATUSES_IGNORE`.
    MPI_F_STATUS_IGNORE: *mut c_int = std::ptr::null_mut();
    MPI_F_STATUSES_IGNORE: *mut c_int = std::ptr::null_mut();
}

#[unsafe(no_mangle)]
pub static MPI_F08_STATUS_IGNORE: Shared<*const c_void> =
    Shared::new(&raw const MPIR_F08_MPI_STATUS_IGNORE_OBJ as *const c_void);
#[unsafe(no_mangle)]
pub static MPI_F08_STATUSES_IGNORE: Shared<*const c_void> =
    Shared::new(&raw const MPIR_F08_MPI_STATUSES_IGNORE_OBJ as *const c_void);

/// `MPI_DUP_FN` of `mpi.h`: an attribute copy function that keeps the value.
///
/// # Safety
/// Called by us or by a program as an attribute copy function: the last two arguments are writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIR_Dup_fn(
    _object: c_int,
    _keyval: c_int,
    _state: *mut c_void,
    value: *mut c_void,
    new_value: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the caller passes the places of the new value and of the flag.
    unsafe {
        new_value.cast::<*mut c_void>().write(value);
        flag.write(1);
    }
    0
}

// Private functions for our libmpifort.so.12, which calls them after the functions of the standard:
// attributes know from which language they came. `is_address` tells integers of the kind of
// addresses from default ones.

/// The program has made this key in Fortran.
#[unsafe(no_mangle)]
pub extern "C" fn ftmpi_fortran_keyval(kind: KindNumber, keyval: Keyval, is_address: c_int) {
    let _guard = enter(&"");
    from_fortran::keyval(kind, keyval, is_address);
}

/// What happens to memory that stands for array sections of the program.
type Stage = unsafe extern "C" fn(state: *mut c_void, what: c_int);

struct Sections {
    state: *mut c_void,
    act: Stage,
}

impl Sections {
    fn act(&self, what: c_int) {
        // SAFETY: our Fortran library gave both, and has its function for the length of the
        // process.
        unsafe { (self.act)(self.state, what) }
    }
}

impl Staging for Sections {
    fn begin(&mut self) {
        self.act(0);
    }

    fn end(&mut self) {
        self.act(1);
    }
}

impl Drop for Sections {
    fn drop(&mut self) {
        self.act(2);
    }
}

/// Array sections with gaps take part in this collective by copies. `act(state, 0)` copies in when
/// it begins again, `act(state, 1)` copies out when it is complete, and `act(state, 2)` gives the
/// memory back.
#[unsafe(no_mangle)]
pub extern "C" fn ftmpi_fortran_stage(request: u32, state: *mut c_void, act: Stage) {
    let _guard = enter(&"");
    if let Some(job) = job() {
        job.stage_request(Request(request), Box::new(Sections { state, act }));
    }
}

/// The program has set this attribute in Fortran.
#[unsafe(no_mangle)]
pub extern "C" fn ftmpi_fortran_attribute_set(
    kind: KindNumber,
    object: u32,
    keyval: Keyval,
    is_address: c_int,
) {
    let _guard = enter(&"");
    from_fortran::set(kind, object, keyval, is_address);
}

/// The program has got this attribute in Fortran: stores the value, or leaves what C got.
#[unsafe(no_mangle)]
pub extern "C" fn ftmpi_fortran_attribute_get(
    kind: KindNumber,
    object: u32,
    keyval: Keyval,
    value: Out<isize>,
) {
    let _guard = enter(&"");
    if let Some(number) = from_fortran::get(kind, object, keyval) {
        value.put_if_wanted(number as isize);
    }
}
