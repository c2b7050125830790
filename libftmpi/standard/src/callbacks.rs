//! Functions that a program passes: user operations, error handlers, generalized requests, data
//! representations. They see handles, statuses and codes of the standard interface.
//!
//! Operations and error handlers carry no state of their own. Each function of the program
//! therefore gets one of a fixed number of functions here, for as long as the program runs. The
//! same function always gets the same one. A callback that carries a state is found in it.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::convert::*;
use crate::first::call;
use crate::special::both;
use crate::status::{First, Standard};

/// Rows and columns of each family of functions: room for 256 different ones.
const SIDE: usize = 16;

/// The program's functions of one family.
struct Family([[AtomicUsize; SIDE]; SIDE]);

impl Family {
    const fn new() -> Self {
        Self([const { [const { AtomicUsize::new(0) }; SIDE] }; SIDE])
    }

    /// The place that stands for a function; none, if there are too many.
    fn place(&self, function: usize) -> Option<(usize, usize)> {
        for (a, row) in self.0.iter().enumerate() {
            for (b, slot) in row.iter().enumerate() {
                let taken =
                    slot.compare_exchange(0, function, Ordering::Relaxed, Ordering::Relaxed);
                if taken.is_ok() || taken == Err(function) {
                    return Some((a, b));
                }
            }
        }
        None
    }

    fn get(&self, a: usize, b: usize) -> usize {
        self.0[a][b].load(Ordering::Relaxed)
    }
}

/// All functions of a family, as a table of rows and columns.
macro_rules! table {
    ($name:ident) => {{
        macro_rules! row {
            ($a:literal) => {
                [
                    $name::<$a, 0> as *const () as usize,
                    $name::<$a, 1> as *const () as usize,
                    $name::<$a, 2> as *const () as usize,
                    $name::<$a, 3> as *const () as usize,
                    $name::<$a, 4> as *const () as usize,
                    $name::<$a, 5> as *const () as usize,
                    $name::<$a, 6> as *const () as usize,
                    $name::<$a, 7> as *const () as usize,
                    $name::<$a, 8> as *const () as usize,
                    $name::<$a, 9> as *const () as usize,
                    $name::<$a, 10> as *const () as usize,
                    $name::<$a, 11> as *const () as usize,
                    $name::<$a, 12> as *const () as usize,
                    $name::<$a, 13> as *const () as usize,
                    $name::<$a, 14> as *const () as usize,
                    $name::<$a, 15> as *const () as usize,
                ]
            };
        }
        [
            row!(0),
            row!(1),
            row!(2),
            row!(3),
            row!(4),
            row!(5),
            row!(6),
            row!(7),
            row!(8),
            row!(9),
            row!(10),
            row!(11),
            row!(12),
            row!(13),
            row!(14),
            row!(15),
        ]
    }};
}

/// No room for another function: the code of `MPI_ERR_NO_MEM`, with a word on why.
#[cold]
fn full(what: &str) -> c_int {
    eprintln!(
        "libmpi_abi.so.1: more than {} different functions were passed as {what}",
        SIDE * SIDE
    );
    39
}

// ---- operations ----

macro_rules! operations {
    ($($name:ident / $twin:ident, $at:ident, $call:ident, $family:ident, $count:ty;)*) => { $(
        static $family: Family = Family::new();

        unsafe extern "C" fn $call<const A: usize, const B: usize>(
            input: *mut c_void, inout: *mut c_void, count: *mut $count, datatype: *mut u32)
        {
            // SAFETY: the program gave this address as a function of this shape; the first
            // interface passes a datatype by address.
            unsafe {
                let function: unsafe extern "C" fn(*mut c_void, *mut c_void, *mut $count, *mut usize) =
                    core::mem::transmute($family.get(A, B));
                let mut handle = datatype_out(*datatype);
                function(input, inout, count, &mut handle);
            }
        }

        both! {
            fn $name / $twin(function: usize, commute: c_int, op: *mut usize) -> c_int {
                let place = if function == 0 { 0 } else {
                    match $family.place(function) {
                        Some((a, b)) => table!($call)[a][b],
                        None => return full("reduction operations"),
                    }
                };
                let mut made = op_in(0x20);
                let code = call!($at: usize, c_int, *mut u32; place, commute, &mut made);
                if code == 0 && !op.is_null() {
                    // SAFETY: the program promised room for a handle.
                    unsafe { *op = op_out(made) };
                }
                error_out(code)
            }
        }
    )* };
}

operations! {
    MPI_Op_create / PMPI_Op_create, Op_create, reduce, OPERATIONS, c_int;
    MPI_Op_create_c / PMPI_Op_create_c, Op_create_c, reduce_large, LARGE_OPERATIONS, i64;
}

// ---- error handlers ----

macro_rules! handlers {
    ($($name:ident / $twin:ident, $at:ident, $call:ident, $family:ident, $handle:ty, $out:ident;)*) => { $(
        static $family: Family = Family::new();

        unsafe extern "C" fn $call<const A: usize, const B: usize>(object: *mut $handle, code: *mut c_int) {
            // SAFETY: the program gave this address as an error handler, which may take more
            // arguments than these two, but not fewer; both come by address.
            unsafe {
                let function: unsafe extern "C" fn(*mut usize, *mut c_int, ...) =
                    core::mem::transmute($family.get(A, B));
                let was = error_out(*code);
                let (mut handle, mut left) = ($out(*object), was);
                function(&mut handle, &mut left);
                // The call returns the code that the handler leaves.
                if left != was {
                    *code = error_in(left);
                }
            }
        }

        both! {
            fn $name / $twin(function: usize, handler: *mut usize) -> c_int {
                let place = if function == 0 { 0 } else {
                    match $family.place(function) {
                        Some((a, b)) => table!($call)[a][b],
                        None => return full("error handlers"),
                    }
                };
                let mut made = errhandler_in(0x140);
                let code = call!($at: usize, *mut u32; place, &mut made);
                if code == 0 && !handler.is_null() {
                    // SAFETY: the program promised room for a handle.
                    unsafe { *handler = errhandler_out(made) };
                }
                error_out(code)
            }
        }
    )* };
}

handlers! {
    MPI_Comm_create_errhandler / PMPI_Comm_create_errhandler, Comm_create_errhandler, comm_failed,
        COMM_HANDLERS, u32, comm_out;
    MPI_Win_create_errhandler / PMPI_Win_create_errhandler, Win_create_errhandler, win_failed,
        WIN_HANDLERS, u32, win_out;
    MPI_Session_create_errhandler / PMPI_Session_create_errhandler, Session_create_errhandler,
        session_failed, SESSION_HANDLERS, u32, session_out;
    MPI_File_create_errhandler / PMPI_File_create_errhandler, File_create_errhandler, file_failed,
        FILE_HANDLERS, usize, file_out;
}

// ---- generalized requests ----

/// The program's functions of one request; freed with the request.
struct Request {
    query: unsafe extern "C" fn(*mut c_void, *mut Standard) -> c_int,
    free: unsafe extern "C" fn(*mut c_void) -> c_int,
    cancel: unsafe extern "C" fn(*mut c_void, c_int) -> c_int,
    extra: *mut c_void,
}

unsafe extern "C" fn query(state: *mut c_void, status: *mut First) -> c_int {
    // SAFETY: the state that was given to the first interface, and its own status.
    unsafe {
        let request = &*state.cast::<Request>();
        let mut standard = Standard::of(&*status);
        let code = (request.query)(request.extra, &mut standard);
        *status = standard.to_first();
        error_in(code)
    }
}

unsafe extern "C" fn free(state: *mut c_void) -> c_int {
    // SAFETY: the state that was given to the first interface; this is the last call for it.
    let request = unsafe { Box::from_raw(state.cast::<Request>()) };
    // SAFETY: the program's function.
    error_in(unsafe { (request.free)(request.extra) })
}

unsafe extern "C" fn cancel(state: *mut c_void, complete: c_int) -> c_int {
    // SAFETY: the state that was given to the first interface.
    let request = unsafe { &*state.cast::<Request>() };
    // SAFETY: the program's function.
    error_in(unsafe { (request.cancel)(request.extra, complete) })
}

both! {
    fn MPI_Grequest_start / PMPI_Grequest_start(
        query_fn: unsafe extern "C" fn(*mut c_void, *mut Standard) -> c_int,
        free_fn: unsafe extern "C" fn(*mut c_void) -> c_int,
        cancel_fn: unsafe extern "C" fn(*mut c_void, c_int) -> c_int,
        extra: *mut c_void, request: *mut usize) -> c_int
    {
        let state =
            Box::into_raw(Box::new(Request { query: query_fn, free: free_fn, cancel: cancel_fn, extra }));
        let mut made = request_in(0x180);
        let code = call!(Grequest_start: *mut c_void, *mut c_void, *mut c_void, *mut c_void, *mut u32;
            query as *mut c_void, free as *mut c_void, cancel as *mut c_void, state.cast(), &mut made);
        if code != 0 {
            // SAFETY: nobody else knows of it.
            drop(unsafe { Box::from_raw(state) });
        } else if !request.is_null() {
            // SAFETY: the program promised room for a handle.
            unsafe { *request = request_out(made) };
        }
        error_out(code)
    }
}

// ---- data representations ----

/// The program's functions of one representation. They stay as long as the program runs.
struct Representation {
    read: usize,
    write: usize,
    extent: usize,
    extra: *mut c_void,
}

unsafe extern "C" fn file_extent(datatype: u32, extent: *mut isize, state: *mut c_void) -> c_int {
    // SAFETY: the state that was given to the first interface.
    let x = unsafe { &*state.cast::<Representation>() };
    // SAFETY: the program gave this address as a function of extents.
    let function: unsafe extern "C" fn(usize, *mut isize, *mut c_void) -> c_int =
        unsafe { core::mem::transmute(x.extent) };
    // SAFETY: as above.
    error_in(unsafe { function(datatype_out(datatype), extent, x.extra) })
}

macro_rules! representations {
    ($($name:ident / $twin:ident, $at:ident, $read:ident, $write:ident, $count:ty;)*) => { $(
        representations! { conversion $read, read, $count }
        representations! { conversion $write, write, $count }

        both! {
            fn $name / $twin(name: *mut c_void, read: usize, write: usize, extent: usize, extra: *mut c_void)
                -> c_int
            {
                let state = Box::into_raw(Box::new(Representation { read, write, extent, extra }));
                let unless_null = |given: usize, ours: usize| if given == 0 { 0 } else { ours };
                let code = call!($at: *mut c_void, usize, usize, usize, *mut c_void;
                    name,
                    unless_null(read, $read as *const () as usize),
                    unless_null(write, $write as *const () as usize),
                    unless_null(extent, file_extent as *const () as usize),
                    state.cast());
                if code != 0 {
                    // SAFETY: nobody else knows of it.
                    drop(unsafe { Box::from_raw(state) });
                }
                error_out(code)
            }
        }
    )* };
    (conversion $name:ident, $field:ident, $count:ty) => {
        unsafe extern "C" fn $name(user: *mut c_void, datatype: u32, count: $count, file: *mut c_void,
            position: i64, state: *mut c_void) -> c_int
        {
            // SAFETY: the state that was given to the first interface.
            let x = unsafe { &*state.cast::<Representation>() };
            type Convert = unsafe extern "C" fn(*mut c_void, usize, $count, *mut c_void, i64,
                *mut c_void) -> c_int;
            // SAFETY: the program gave this address as a function of conversion.
            let function: Convert = unsafe { core::mem::transmute(x.$field) };
            // SAFETY: as above.
            error_in(unsafe { function(user, datatype_out(datatype), count, file, position, x.extra) })
        }
    };
}

representations! {
    MPI_Register_datarep / PMPI_Register_datarep, Register_datarep, read_small, write_small, c_int;
    MPI_Register_datarep_c / PMPI_Register_datarep_c, Register_datarep_c, read_large, write_large, i64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_function_has_one_place() {
        let family = Family::new();
        assert_eq!(family.place(100), Some((0, 0)));
        assert_eq!(family.place(200), Some((0, 1)));
        assert_eq!(family.place(100), Some((0, 0)));
        for function in 1000..1000 + SIDE * SIDE - 2 {
            assert!(family.place(function).is_some());
        }
        assert_eq!(family.place(5), None);
        assert_eq!(family.get(0, 1), 200);
    }

    #[test]
    fn operations_see_the_standards_datatypes() {
        unsafe extern "C" fn function(
            _: *mut c_void,
            inout: *mut c_void,
            count: *mut c_int,
            datatype: *mut usize,
        ) {
            // SAFETY: the test's own places.
            unsafe {
                assert_eq!((*count, *datatype), (3, 0x209));
                *inout.cast::<c_int>() = 1;
            }
        }
        let (a, b) = OPERATIONS.place(function as *const () as usize).unwrap();
        let called: unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut u32) =
            // SAFETY: all functions of the family have this shape.
            unsafe { core::mem::transmute(table!(reduce)[a][b]) };
        let (mut inout, mut count, mut int) = (0 as c_int, 3, 0x4c00_0405);
        // SAFETY: all places live.
        unsafe { called(core::ptr::null_mut(), (&raw mut inout).cast(), &mut count, &mut int) };
        assert_eq!(inout, 1);
    }
}
