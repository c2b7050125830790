//! What the C++ bindings of MPICH (`libmpichcxx.so.12`, `libmpicxx.so.12`) need from the C library,
//! beyond the functions of the standard: MPI-2.2 had bindings for C++, and MPICH has them still.
//!
//! The bindings give the C library a function of theirs, which calls the program's functions with
//! C++ objects. The three names and signatures are MPICH's (`src/binding/cxx/initcxx.cxx`).

use crate::calls::{enter, job};
use crate::handle::{Errhandler, Keyval, Op};
use crate::handle_ids::File;
use ftmpi_core::attribute::Callbacks;
use ftmpi_core::datatype;
use ftmpi_core::mpi::Language;
use ftmpi_runtime::outside;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The functions of the bindings that call an operation and an error handler of the program.
static CALL_OP: AtomicUsize = AtomicUsize::new(0);
static CALL_HANDLER: AtomicUsize = AtomicUsize::new(0);

type CallOp = unsafe extern "C" fn(*const c_void, *mut c_void, c_int, u32, usize);
type CallHandler = unsafe extern "C" fn(c_int, *mut c_int, *mut c_int, usize);
type CopyProxy = unsafe extern "C" fn(
    usize,
    c_int,
    c_int,
    *mut c_void,
    c_int,
    *mut c_void,
    *mut *mut c_void,
    *mut c_int,
) -> c_int;
type DeleteProxy =
    unsafe extern "C" fn(usize, c_int, c_int, c_int, *mut c_void, *mut c_void) -> c_int;

/// The value of an attribute is a pointer (`MPIR_ATTR_PTR`).
const POINTER: c_int = 0;

/// The operation is a function of C++.
#[unsafe(no_mangle)]
pub extern "C" fn MPII_Op_set_cxx(op: Op, call: usize) {
    let _guard = enter(&"");
    CALL_OP.store(call, Ordering::Relaxed);
    if let (Some(job), Ok(id)) = (job(), op.id()) {
        job.ops.set_invoke(id, invoke);
    }
}

fn invoke(
    function: usize,
    input: *mut c_void,
    inout: *mut c_void,
    count: usize,
    datatype: &datatype::Datatype,
) {
    // SAFETY: the bindings gave this function, before they made any operation.
    let call: CallOp = unsafe { std::mem::transmute(CALL_OP.load(Ordering::Relaxed)) };
    crate::operations::in_parts(input, inout, count, datatype, |input, inout, len, handle| {
        // SAFETY: both buffers hold `len` values.
        outside(|| unsafe { call(input, inout, len, handle, function) });
    });
}

/// The error handler is a function of C++.
#[unsafe(no_mangle)]
pub extern "C" fn MPII_Errhandler_set_cxx(handler: Errhandler, call: usize) {
    let _guard = enter(&"");
    CALL_HANDLER.store(call, Ordering::Relaxed);
    if let (Some(job), Ok(id)) = (job(), handler.id()) {
        job.errhandler_set_language(id, Language::Cxx);
    }
}

/// Calls an error handler of the program through the bindings. It may leave by an exception.
pub fn run_handler(function: usize, handle: &mut c_int, code: &mut c_int) {
    /// What the handles of MPICH say about their kind.
    const KIND_SHIFT: u32 = 26;
    let kind = match (*handle as u32) >> KIND_SHIFT & 0xf {
        1 => 0,
        8 => 2,
        _ => 1,
    };
    // SAFETY: the bindings gave this function, before they made any handler.
    let call: CallHandler = unsafe { std::mem::transmute(CALL_HANDLER.load(Ordering::Relaxed)) };
    // SAFETY: both arguments live for the length of the call.
    outside(|| unsafe { call(kind, handle, code, function) });
}

/// The same for a handler of files. The bindings take the address of the handle, which is a
/// pointer, for that of a number.
pub fn run_handler_of_file(function: usize, file: &mut File, code: &mut c_int) {
    const KIND: c_int = 1;
    // SAFETY: the bindings gave this function, before they made any handler.
    let call: CallHandler = unsafe { std::mem::transmute(CALL_HANDLER.load(Ordering::Relaxed)) };
    let handle: *mut c_int = std::ptr::from_mut(file).cast();
    // SAFETY: both arguments live for the length of the call.
    outside(|| unsafe { call(KIND, handle, code, function) });
}

/// The functions of a key, behind the proxies of the bindings.
struct Proxied {
    copy: usize,
    delete: usize,
    copy_proxy: usize,
    delete_proxy: usize,
    state: usize,
}

/// The functions of the key are functions of C++.
#[unsafe(no_mangle)]
pub extern "C" fn MPII_Keyval_set_proxy(keyval: Keyval, copy_proxy: usize, delete_proxy: usize) {
    let _guard = enter(&"");
    let (Some(job), Ok(id)) = (job(), keyval.id()) else { return };
    job.keyvals.replace_callbacks(id, |callbacks| {
        // Keys are few, and a freed key lives as long as objects hold it: the state stays.
        let proxied = Box::leak(Box::new(Proxied {
            copy: callbacks.copy,
            delete: callbacks.delete,
            copy_proxy,
            delete_proxy,
            state: callbacks.extra_state,
        }));
        let address = |there: usize, function: usize| if there == 0 { 0 } else { function };
        Callbacks {
            copy: address(callbacks.copy, copy as *const () as usize),
            delete: address(callbacks.delete, delete as *const () as usize),
            extra_state: std::ptr::from_mut(proxied).expose_provenance(),
            ..callbacks
        }
    });
}

/// # Safety
/// `state` is a [`Proxied`]; the last two arguments are writable.
unsafe extern "C" fn copy(
    handle: u32,
    keyval: u32,
    state: *mut c_void,
    value: *mut c_void,
    new_value: *mut *mut c_void,
    keep: *mut c_int,
) -> c_int {
    // SAFETY: by the caller; the bindings gave the proxy.
    unsafe {
        let to = &*state.cast::<Proxied>();
        let proxy: CopyProxy = std::mem::transmute(to.copy_proxy);
        let state = std::ptr::with_exposed_provenance_mut(to.state);
        let (handle, keyval) = (handle as c_int, keyval as c_int);
        proxy(to.copy, handle, keyval, state, POINTER, value, new_value, keep)
    }
}

/// # Safety
/// `state` is a [`Proxied`].
unsafe extern "C" fn delete(
    handle: u32,
    keyval: u32,
    value: *mut c_void,
    state: *mut c_void,
) -> c_int {
    // SAFETY: by the caller; the bindings gave the proxy.
    unsafe {
        let to = &*state.cast::<Proxied>();
        let proxy: DeleteProxy = std::mem::transmute(to.delete_proxy);
        let state = std::ptr::with_exposed_provenance_mut(to.state);
        proxy(to.delete, handle as c_int, keyval as c_int, POINTER, value, state)
    }
}
