//! `pthread_create`: a thread learns its number ([`crate::threads::thread_numbers`]).

use crate::base::rank;
use crate::interpose::next_function::next;
use crate::threads::thread_numbers::{self, Function};
use core::ffi::{c_int, c_void};
use libc::{pthread_attr_t, pthread_t};

/// See `pthread_create(3)`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    function: Function,
    argument: *mut c_void,
) -> c_int {
    let next = next!(
        c"pthread_create",
        libc::ENOSYS,
        fn(*mut pthread_t, *const pthread_attr_t, Function, *mut c_void) -> c_int
    );
    if !rank::is_rank() {
        // SAFETY: by the caller.
        return unsafe { next(thread, attributes, function, argument) };
    }
    thread_numbers::make(function, argument, |function, argument| {
        // SAFETY: by the caller; the function takes this argument.
        unsafe { next(thread, attributes, function, argument) }
    })
}
