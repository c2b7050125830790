//! Functions that a program passes: user operations, error handlers, generalized requests, data
//! representations.
//!
//! Operations and the error handlers of communicators, windows and sessions have the same arguments
//! in both languages (references to integers). So C gets the Fortran procedure itself. The others
//! are called through a C function here, which finds the Fortran procedure in the extra state that
//! C hands back.
//!
//! Guarantees: the procedures of a generalized request get the variable that the program passed as
//! its extra state, as under MPICH. It is not a copy: the program sees what the procedures write
//! there. It has to live until the request is freed.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

use ftmpi_entry::fortran;

use crate::c::mpi;
use crate::marshal::set;
use crate::text::Text;

const MPI_ERR_OTHER: c_int = 15;

#[fortran]
unsafe fn MPI_Op_create(
    user_fn: *mut c_void,
    commute: *mut c_int,
    op: *mut c_int,
    ierror: *mut c_int,
) {
    set(ierror, c::Op_create(user_fn, (*commute != 0) as c_int, op));
}

#[fortran]
unsafe fn MPI_Op_create_c(
    user_fn: *mut c_void,
    commute: *mut c_int,
    op: *mut c_int,
    ierror: *mut c_int,
) {
    set(ierror, c::Op_create_c(user_fn, (*commute != 0) as c_int, op));
}

#[fortran]
unsafe fn MPI_Comm_create_errhandler(
    function: *mut c_void,
    errhandler: *mut c_int,
    ierror: *mut c_int,
) {
    set(ierror, c::Comm_create_errhandler(function, errhandler));
}

#[fortran]
unsafe fn MPI_Errhandler_create(function: *mut c_void, errhandler: *mut c_int, ierror: *mut c_int) {
    set(ierror, c::Comm_create_errhandler(function, errhandler));
}

#[fortran]
unsafe fn MPI_Win_create_errhandler(
    function: *mut c_void,
    errhandler: *mut c_int,
    ierror: *mut c_int,
) {
    set(ierror, c::Win_create_errhandler(function, errhandler));
}

#[fortran]
unsafe fn MPI_Session_create_errhandler(
    function: *mut c_void,
    errhandler: *mut c_int,
    ierror: *mut c_int,
) {
    set(ierror, c::Session_create_errhandler(function, errhandler));
}

// ---- Error handlers of files ----

// A file is a pointer in C and an integer in Fortran, and an error handler carries no extra state.
// Each of a fixed number of C functions remembers one Fortran procedure.

const FILE_HANDLERS: usize = 16;
static FILE_HANDLER: [AtomicPtr<c_void>; FILE_HANDLERS] =
    [const { AtomicPtr::new(core::ptr::null_mut()) }; FILE_HANDLERS];

type FileHandler = unsafe extern "C" fn(*mut *mut c_void, *mut c_int);

unsafe extern "C" fn file_handler<const I: usize>(file: *mut *mut c_void, code: *mut c_int) {
    let procedure = FILE_HANDLER[I].load(Ordering::Relaxed);
    // SAFETY: the slot was filled with a Fortran procedure of these arguments before C learnt of
    // this function, and is never emptied.
    unsafe {
        let procedure: unsafe extern "C" fn(*mut c_int, *mut c_int) =
            core::mem::transmute(procedure);
        let mut handle = mpi::File_c2f(*file);
        procedure(&raw mut handle, code);
    }
}

static FILE_TRAMPOLINES: [FileHandler; FILE_HANDLERS] = [
    file_handler::<0>,
    file_handler::<1>,
    file_handler::<2>,
    file_handler::<3>,
    file_handler::<4>,
    file_handler::<5>,
    file_handler::<6>,
    file_handler::<7>,
    file_handler::<8>,
    file_handler::<9>,
    file_handler::<10>,
    file_handler::<11>,
    file_handler::<12>,
    file_handler::<13>,
    file_handler::<14>,
    file_handler::<15>,
];

/// The C function that calls `procedure`; none, if there are too many different ones.
fn trampoline(procedure: *mut c_void) -> Option<FileHandler> {
    for (slot, function) in FILE_HANDLER.iter().zip(FILE_TRAMPOLINES) {
        let empty = core::ptr::null_mut();
        let taken = slot.compare_exchange(empty, procedure, Ordering::Relaxed, Ordering::Relaxed);
        if taken.is_ok() || taken == Err(procedure) {
            return Some(function);
        }
    }
    None
}

#[fortran]
unsafe fn MPI_File_create_errhandler(
    function: *mut c_void,
    errhandler: *mut c_int,
    ierror: *mut c_int,
) {
    let code = match trampoline(function) {
        Some(handler) => c::File_create_errhandler(handler as *mut c_void, errhandler),
        None => MPI_ERR_OTHER,
    };
    set(ierror, code);
}

// ---- Generalized requests ----

/// The procedures of one request and their extra state: the program's own variable, which they may
/// change.
struct Request {
    query: unsafe extern "C" fn(*mut isize, *mut c_int, *mut c_int),
    free: unsafe extern "C" fn(*mut isize, *mut c_int),
    cancel: unsafe extern "C" fn(*mut isize, *mut c_int, *mut c_int),
    extra: *mut isize,
}

unsafe extern "C" fn query(state: *mut c_void, status: *mut c_void) -> c_int {
    // SAFETY: `state` is the box that `MPI_Grequest_start` gave to C; C frees a request once.
    let request = unsafe { &*state.cast::<Request>() };
    let mut code = 0;
    // SAFETY: a Fortran procedure with these arguments.
    unsafe { (request.query)(request.extra, status.cast(), &raw mut code) };
    code
}

unsafe extern "C" fn free(state: *mut c_void) -> c_int {
    // SAFETY: as above; this is the last call for the request.
    let request = unsafe { Box::from_raw(state.cast::<Request>()) };
    let mut code = 0;
    // SAFETY: a Fortran procedure with these arguments.
    unsafe { (request.free)(request.extra, &raw mut code) };
    code
}

unsafe extern "C" fn cancel(state: *mut c_void, complete: c_int) -> c_int {
    // SAFETY: as above.
    let request = unsafe { &*state.cast::<Request>() };
    let (mut code, mut complete) = (0, crate::marshal::logical(complete));
    // SAFETY: a Fortran procedure with these arguments.
    unsafe { (request.cancel)(request.extra, &raw mut complete, &raw mut code) };
    code
}

#[fortran]
unsafe fn MPI_Grequest_start(
    query_fn: unsafe extern "C" fn(*mut isize, *mut c_int, *mut c_int),
    free_fn: unsafe extern "C" fn(*mut isize, *mut c_int),
    cancel_fn: unsafe extern "C" fn(*mut isize, *mut c_int, *mut c_int),
    extra_state: *mut isize,
    request: *mut c_int,
    ierror: *mut c_int,
) {
    let state = Box::into_raw(Box::new(Request {
        query: query_fn,
        free: free_fn,
        cancel: cancel_fn,
        extra: extra_state,
    }));
    let code = c::Grequest_start(
        query as *mut c_void,
        free as *mut c_void,
        cancel as *mut c_void,
        state.cast(),
        request,
    );
    if code != 0 {
        drop(Box::from_raw(state));
    }
    set(ierror, code);
}

// ---- Data representations of files ----

/// A conversion function that counts in `C`: there is a form for large counts.
type Conversion<C> = unsafe extern "C" fn(
    *mut c_void,
    *mut c_int,
    *mut C,
    *mut c_void,
    *mut i64,
    *mut isize,
    *mut c_int,
);
type Extent = unsafe extern "C" fn(*mut c_int, *mut isize, *mut isize, *mut c_int);

/// The procedures of one representation. They stay as long as the program runs.
struct Representation<C> {
    read: Conversion<C>,
    write: Conversion<C>,
    extent: Extent,
    extra: isize,
}

macro_rules! conversion {
    ($name:ident, $field:ident) => {
        unsafe extern "C" fn $name<C>(
            user: *mut c_void,
            mut datatype: c_int,
            mut count: C,
            file: *mut c_void,
            mut position: i64,
            state: *mut c_void,
        ) -> c_int {
            // SAFETY: `state` is the representation given to C at registration, never freed.
            let x = unsafe { &mut *state.cast::<Representation<C>>() };
            let mut code = 0;
            // SAFETY: a Fortran procedure with these arguments.
            unsafe {
                (x.$field)(
                    user,
                    &raw mut datatype,
                    &raw mut count,
                    file,
                    &raw mut position,
                    &raw mut x.extra,
                    &raw mut code,
                );
            }
            code
        }
    };
}
conversion!(read_conversion, read);
conversion!(write_conversion, write);

unsafe extern "C" fn file_extent<C>(
    mut datatype: c_int,
    extent: *mut isize,
    state: *mut c_void,
) -> c_int {
    // SAFETY: as for conversions.
    let x = unsafe { &mut *state.cast::<Representation<C>>() };
    let mut code = 0;
    // SAFETY: a Fortran procedure with these arguments.
    unsafe { (x.extent)(&raw mut datatype, extent, &raw mut x.extra, &raw mut code) };
    code
}

// Passed, not called: they stand for "no conversion". Those behind the first two are what gfortran
// makes of the procedures of MPICH's module, with which a program may have been compiled.
macro_rules! null_conversions {
    ($($name:ident, $count:ty;)*) => {$(
        /// `MPI_CONVERSION_FN_NULL`, in the form that its count says.
        ///
        /// # Safety
        /// Called by Fortran with references.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, reason = "gfortran's name")]
        pub unsafe extern "C" fn $name(
            _user: *mut c_void,
            _datatype: *mut c_int,
            _count: *mut $count,
            _file: *mut c_void,
            _position: *mut i64,
            _extra: *mut isize,
            ierror: *mut c_int,
        ) {
            set(ierror, 0);
        }
    )*};
}

null_conversions! {
    mpi_conversion_fn_null_c_, i64;
    __mpi_f08_callbacks_MOD_mpi_conversion_fn_null, c_int;
    __mpi_f08_callbacks_MOD_mpi_conversion_fn_null_c, i64;
}

#[fortran]
unsafe fn MPI_Conversion_fn_null(
    _user: *mut c_void,
    _datatype: *mut c_int,
    _count: *mut c_int,
    _file: *mut c_void,
    _position: *mut i64,
    _extra: *mut isize,
    ierror: *mut c_int,
) {
    set(ierror, 0);
}

/// The function that stands for no conversion, for each kind of count.
trait Count: Sized {
    const NULL: [Conversion<Self>; 2];
}

impl Count for c_int {
    const NULL: [Conversion<Self>; 2] =
        [mpi_conversion_fn_null_, __mpi_f08_callbacks_MOD_mpi_conversion_fn_null];
}

impl Count for i64 {
    const NULL: [Conversion<Self>; 2] =
        [mpi_conversion_fn_null_c_, __mpi_f08_callbacks_MOD_mpi_conversion_fn_null_c];
}

/// The C function for a conversion: none, where the program passed `MPI_CONVERSION_FN_NULL`.
fn unless_null<C: Count>(procedure: Conversion<C>, function: *mut c_void) -> *mut c_void {
    if C::NULL.iter().any(|&null| core::ptr::fn_addr_eq(procedure, null)) {
        core::ptr::null_mut()
    } else {
        function
    }
}

type RegisterInC = unsafe extern "C" fn(
    *const core::ffi::c_char,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut c_void,
) -> c_int;

unsafe fn register<C: Count>(name: &Text, in_c: RegisterInC, x: Representation<C>) -> c_int {
    let read = unless_null(x.read, read_conversion::<C> as *mut c_void);
    let write = unless_null(x.write, write_conversion::<C> as *mut c_void);
    let state = Box::into_raw(Box::new(x));
    // SAFETY: the state and the functions belong together, and live as long as the program.
    let code =
        unsafe { in_c(name.as_ptr(), read, write, file_extent::<C> as *mut c_void, state.cast()) };
    if code != 0 {
        // SAFETY: C has not taken it.
        drop(unsafe { Box::from_raw(state) });
    }
    code
}

#[fortran]
unsafe fn MPI_Register_datarep(
    datarep: *mut u8,
    read: Conversion<c_int>,
    write: Conversion<c_int>,
    extent: Extent,
    extra_state: *mut isize,
    ierror: *mut c_int,
    datarep_length: usize,
) {
    let name = Text::take(datarep, datarep_length);
    let x = Representation { read, write, extent, extra: *extra_state };
    set(ierror, register(&name, c::Register_datarep, x));
}

#[fortran]
unsafe fn MPI_Register_datarep_c(
    datarep: *mut u8,
    read: Conversion<i64>,
    write: Conversion<i64>,
    extent: Extent,
    extra_state: *mut isize,
    ierror: *mut c_int,
    datarep_length: usize,
) {
    let name = Text::take(datarep, datarep_length);
    let x = Representation { read, write, extent, extra: *extra_state };
    set(ierror, register(&name, c::Register_datarep_c, x));
}
