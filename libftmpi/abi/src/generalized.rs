//! Generalized requests: calling the program's functions.
//!
//! Guarantees: they run when the call has done everything else and nothing of MPI is borrowed. What
//! they return reaches the program as the standard says (MPI-4.1, 13.2): as the call's own code for
//! one request, in the status for several.

use crate::calls::{Job, enter, job, nowhere, on_requests, raise_code};
use crate::constants::MPI_SUCCESS;
use crate::decode::{StatusOut, StatusesOut};
use crate::memory::Out;
use crate::status::MpiStatus;
use ftmpi_core::bail;
use ftmpi_core::error::ErrorClass;
use ftmpi_core::mpi::{CallbackKind, PendingCallback, Request};
use ftmpi_core::request::Callbacks;
use ftmpi_entry::entry;
use ftmpi_runtime::outside;
use std::ffi::{c_int, c_void};

/// Where the statuses of a call go.
#[derive(Clone, Copy)]
pub enum Places {
    /// The status is not wanted.
    None,
    One(StatusOut),
    Many(StatusesOut),
}

/// Ends a call that completes requests or looks at their status: calls the functions of generalized
/// requests.
#[inline(always)]
pub fn settle(call: &'static str, code: c_int, places: Places) -> c_int {
    match job() {
        Some(job) if job.has_callbacks() => call_back(call, code, places, job.take_callbacks()),
        _ => code,
    }
}

#[cold]
fn call_back(
    call: &'static str,
    code: c_int,
    places: Places,
    pending: Vec<PendingCallback>,
) -> c_int {
    let mut code = code;
    for PendingCallback { kind, callbacks, place } in pending {
        let (mut status, mut failure) = (MpiStatus::EMPTY, MPI_SUCCESS);
        if kind != CallbackKind::Free {
            failure = query(callbacks, &mut status);
        }
        if kind != CallbackKind::Query {
            let freed = free(callbacks);
            failure = if failure == MPI_SUCCESS { freed } else { failure };
        }
        match places {
            Places::None => {}
            Places::One(one) => one.set_if_wanted(status, false),
            Places::Many(many) => {
                status.error = failure;
                many.at(place).set_if_wanted(status, true);
            }
        }
        if failure != MPI_SUCCESS && code == MPI_SUCCESS {
            let text = "a function of a generalized request failed";
            let raised = match places {
                Places::Many(_) => ErrorClass::InStatus.number(),
                _ => failure,
            };
            code = raise_code(call, nowhere(), raised, text);
        }
    }
    code
}

fn query(callbacks: Callbacks, status: &mut MpiStatus) -> c_int {
    // SAFETY: the program gave this address as an `MPI_Grequest_query_function`.
    let function: unsafe extern "C" fn(*mut c_void, *mut MpiStatus) -> c_int =
        unsafe { std::mem::transmute(callbacks.query) };
    // SAFETY: with the state that it gave along; the status lives for the length of the call.
    outside(|| unsafe { function(callbacks.state as *mut c_void, status) })
}

fn free(callbacks: Callbacks) -> c_int {
    // SAFETY: the program gave this address as an `MPI_Grequest_free_function`.
    let function: unsafe extern "C" fn(*mut c_void) -> c_int =
        unsafe { std::mem::transmute(callbacks.free) };
    // SAFETY: with the state that it gave along, once.
    outside(|| unsafe { function(callbacks.state as *mut c_void) })
}

/// `MPI_Cancel` of a generalized request: what its function answers; `None` for all other requests.
pub fn cancel(job: &Job, request: Request) -> Option<impl FnOnce() -> c_int + use<>> {
    let (callbacks, complete) = job.generalized(request)?;
    Some(move || {
        // SAFETY: the program gave this address as an `MPI_Grequest_cancel_function`.
        let function: unsafe extern "C" fn(*mut c_void, c_int) -> c_int =
            unsafe { std::mem::transmute(callbacks.cancel) };
        // SAFETY: with the state that it gave along.
        outside(|| unsafe { function(callbacks.state as *mut c_void, c_int::from(complete)) })
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Grequest_start(
    query_fn: *mut c_void,
    free_fn: *mut c_void,
    cancel_fn: *mut c_void,
    extra_state: *mut c_void,
    request: Out<Request>,
) -> c_int {
    on_requests("MPI_Grequest_start", |job| {
        for (name, function) in
            [("query_fn", query_fn), ("free_fn", free_fn), ("cancel_fn", cancel_fn)]
        {
            if function.is_null() {
                bail!(Arg, "{name} is a null pointer");
            }
        }
        request.put(job.grequest_start(Callbacks {
            query: query_fn as usize,
            free: free_fn as usize,
            cancel: cancel_fn as usize,
            state: extra_state as usize,
        })?)
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_Grequest_complete(request: Request) -> c_int {
    let code = on_requests("MPI_Grequest_complete", |job| job.grequest_complete(request));
    settle("MPI_Grequest_complete", code, Places::None)
}
