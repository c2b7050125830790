//! Numbers of threads that are the same in every incarnation: a replay must know which thread is
//! which.
//!
//! The first thread has 1, its children have 2, 3, … in the order in which it makes them. The
//! number of any other thread comes from that of its parent and from its place among the children.
//! A thread that was made in another way than by `pthread_create` has 0.
//!
//! Guarantees: a thread has its number before it runs a function of the program. Nothing is
//! allocated, and no lock is taken.

use crate::threads::thread_notes;
use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering;

/// The first thread.
const FIRST: u32 = 1;
/// Set in the numbers of threads whose parent is not the first one.
const DEEP: u32 = 1 << 31;

/// What a thread runs.
pub type Function = extern "C" fn(*mut c_void) -> *mut c_void;

// SAFETY: the signatures are those of the C side.
unsafe extern "C" {
    safe fn ftmpi_boot_thread_function() -> Function;
    safe fn ftmpi_boot_thread_argument(
        function: Function,
        argument: *mut c_void,
        number: u32,
    ) -> *mut c_void;
    fn ftmpi_boot_thread_not_made(argument: *mut c_void);
}

/// The calling thread is the process's first one.
pub fn begin() {
    thread_notes::of_caller().number.store(FIRST, Ordering::Relaxed);
}

/// See [`ftmpi_checkpoint::boot_abi::BootTable::thread`].
pub extern "C" fn of_caller() -> u32 {
    thread_notes::of_caller().number.load(Ordering::Relaxed)
}

/// The number of the `n`-th child of a thread.
fn child_of(parent: u32, n: u32) -> u32 {
    match parent {
        0 => 0,
        FIRST if n < DEEP - FIRST => FIRST + n,
        _ => {
            let both = u64::from(parent) << 32 | u64::from(n);
            DEEP | (both.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as u32
        }
    }
}

/// Makes a thread by `create`, which gets a function and its argument and answers as
/// `pthread_create` does.
pub fn make(
    function: Function,
    argument: *mut c_void,
    create: impl FnOnce(Function, *mut c_void) -> c_int,
) -> c_int {
    let parent = thread_notes::of_caller();
    let n = parent.children.fetch_add(1, Ordering::Relaxed) + 1;
    let number = child_of(parent.number.load(Ordering::Relaxed), n);
    let place = ftmpi_boot_thread_argument(function, argument, number);
    if place.is_null() {
        return create(function, argument);
    }
    let code = create(ftmpi_boot_thread_function(), place);
    if code != 0 {
        // SAFETY: the place is from there, and no thread has it.
        unsafe { ftmpi_boot_thread_not_made(place) };
    }
    code
}
